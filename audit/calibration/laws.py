"""Laws (distributions) of scores with a known exact curve, on which bounds are measured.

law = laplace_ratio(1.0)
law.curve.epsilon(0.0)              the true epsilon, 1 for this law
next(law.draws(rng, 200, 200))      scores of one audit
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...mechanisms.accounting import ExactDP, GaussianDP, LaplaceDP, PrivacyLossDP
from ...mechanisms.accounting.kinds.profile import ProfileGuarantee
from ...mechanisms.core import Floats, Guarantee, Positive, parameter_text, unit_interval
from ..evidence.scores import PairCounts, PairScores, Scores, Tally

Sampler = Callable[[np.random.Generator, int], Floats]
SAMPLES_PER_BATCH = 256
"""Number of samples of a finite law in one batch."""


class Law(Protocol):
    """Distributions of the scores of both sides.

    Attributes:
        name: for tables.
        curve: the exact guarantee of the pair of distributions; a bound that exceeds `curve.epsilon(delta)` is a miss.
    """

    @property
    def name(self) -> str: ...

    @property
    def curve(self) -> Guarantee: ...

    @property
    def claim(self) -> Guarantee:
        """Guarantee of an accountant; gives the family of bounds that assume one."""

    def draws(self, rng: np.random.Generator, n_out: int, n_in: int) -> Iterator[Scores]:
        """Yield independent samples of `n_out` and `n_in` scores, without end."""


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """Law of finitely many scores: a sample is its counts, drawn in batches.

    Args:
        name: for tables.
        scores: `(m,)` increasing.
        p_out, p_in: `(m,)` their probabilities on side 0 and side 1.
    """

    name: str
    scores: Floats
    p_out: Floats
    p_in: Floats

    @property
    def curve(self) -> Guarantee:
        return ExactDP(self.p_out, self.p_in)

    @property
    def claim(self) -> Guarantee:
        """Exact guarantee of the law."""
        return self.curve

    def draws(self, rng: np.random.Generator, n_out: int, n_in: int) -> Iterator[Scores]:
        while True:
            counts = (
                rng.multinomial(n_out, self.p_out, size=SAMPLES_PER_BATCH),
                rng.multinomial(n_in, self.p_in, size=SAMPLES_PER_BATCH),
            )
            hits = [np.flip(np.cumsum(np.flip(side, axis=1), axis=1), axis=1) for side in counts]
            for hits_out, hits_in in zip(*hits, strict=True):
                yield PairCounts(Tally(self.scores, hits_out, hits_in, n_out, n_in))


@dataclass(frozen=True, eq=False)
class SampledLaw:
    """Law of scores from two samplers `(rng, size) -> (size,)`, with the exact curve.

    `account()` returns the guarantee of an accountant, where it is not the exact curve.
    """

    name: str
    sample_out: Sampler
    sample_in: Sampler
    curve: Guarantee
    account: Callable[[], Guarantee] | None = None

    @property
    def claim(self) -> Guarantee:
        """Guarantee of an accountant."""
        return self.curve if self.account is None else self.account()

    def draws(self, rng: np.random.Generator, n_out: int, n_in: int) -> Iterator[Scores]:
        while True:
            yield PairScores(self.sample_out(rng, n_out), self.sample_in(rng, n_in))


def randomized_response(epsilon: float, delta: float = 0.0) -> FiniteLaw:
    """Return the worst case of (epsilon, delta)-DP: randomised response with an atom of mass delta on each side."""
    lie = (1.0 - delta) * math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
    p_out = np.array([delta, (1.0 - delta) - lie, lie, 0.0])
    atom = f" with an atom of {parameter_text(delta)}" if delta else ""
    return FiniteLaw(
        f"randomized response{atom}, epsilon {parameter_text(epsilon)}", np.arange(4.0), p_out, p_out[::-1]
    )


def k_ary_randomized_response(epsilon: float, k: int) -> FiniteLaw:
    """Return randomised response over k >= 3 values; the scores are the value of side 0, another, that of side 1."""
    truth, lie = 1.0, math.exp(-epsilon)
    p_out = np.array([truth, (k - 2) * lie, lie]) / (truth + (k - 1) * lie)
    return FiniteLaw(
        f"{k}-ary randomized response, epsilon {parameter_text(epsilon)}", np.arange(3.0), p_out, p_out[::-1]
    )


def geometric(epsilon: float, reach: int = 12) -> FiniteLaw:
    """Return two-sided geometric noise around 0 and around 1, truncated at distance `reach`: many ties."""
    values = np.arange(-reach, reach + 2.0)
    p_out, p_in = _geometric_law(epsilon, reach, at=0), _geometric_law(epsilon, reach, at=1)
    return FiniteLaw(f"geometric, epsilon {parameter_text(epsilon)}", values, p_out, p_in)


def all_equal() -> FiniteLaw:
    """Return the law of a constant score: epsilon is 0."""
    return FiniteLaw("all equal", np.zeros(1), np.ones(1), np.ones(1))


def no_leak() -> SampledLaw:
    """Return standard normal noise on both sides: epsilon is 0, and the claim, which is true, is `LaplaceDP(1)`."""

    def noise(rng: np.random.Generator, size: int) -> Floats:
        return rng.normal(size=size)

    return SampledLaw("no leak", noise, noise, ExactDP(np.ones(1), np.ones(1)), lambda: LaplaceDP(1.0))


def laplace(epsilon: float) -> SampledLaw:
    """Return Laplace noise around 0 and around 1; the output is the score."""
    scale = 1.0 / epsilon
    return SampledLaw(
        f"laplace, epsilon {parameter_text(epsilon)}",
        lambda rng, size: rng.laplace(0.0, scale, size),
        lambda rng, size: rng.laplace(1.0, scale, size),
        LaplaceDP(epsilon),
    )


def laplace_ratio(epsilon: float) -> SampledLaw:
    """Return the log likelihood ratio of Laplace noise: atoms at -epsilon and +epsilon, a density between."""
    outputs = laplace(epsilon)

    def ratio(sample: Sampler) -> Sampler:
        return lambda rng, size: epsilon * (2.0 * np.clip(sample(rng, size), 0.0, 1.0) - 1.0)

    name = f"laplace ratio, epsilon {parameter_text(epsilon)}"
    return SampledLaw(name, ratio(outputs.sample_out), ratio(outputs.sample_in), outputs.curve)


def gaussian(mu: float) -> SampledLaw:
    """Return normal noise around 0 and around mu: the likelihood ratio is unbounded in the tails."""
    return SampledLaw(
        f"gaussian, mu {parameter_text(mu)}",
        lambda rng, size: rng.normal(0.0, 1.0, size),
        lambda rng, size: rng.normal(mu, 1.0, size),
        GaussianDP(mu),
    )


def subsampled_gaussian(noise_multiplier: float, sampling_probability: float) -> SampledLaw:
    """Return one step of DP-SGD on a Poisson sample: the record, if it is drawn, adds 1 to normal noise."""
    return SampledLaw(
        f"subsampled gaussian, noise {parameter_text(noise_multiplier)}, rate {parameter_text(sampling_probability)}",
        lambda rng, size: rng.normal(0.0, noise_multiplier, size),
        lambda rng, size: rng.normal(0.0, noise_multiplier, size) + (rng.random(size) < sampling_probability),
        SubsampledGaussianDP(noise_multiplier, sampling_probability),
        lambda: PrivacyLossDP.gaussian(noise_multiplier, sampling_probability=sampling_probability),
    )


@dataclass(frozen=True, repr=False)
class SubsampledGaussianDP(ProfileGuarantee):
    """Exact curve of N(0, s^2) against (1 - q) N(0, s^2) + q N(1, s^2), in closed form.

    With H the profile of the Gaussian pair (mu = 1 / s), the event at which the likelihood ratio passes e^epsilon gives

        record present    q H(ln(1 + (e^epsilon - 1) / q))
        record absent     r H(ln(q e^epsilon / r)) with r = 1 - e^epsilon (1 - q), or 0 where r <= 0

    and delta is the larger of the two.

    Args:
        noise_multiplier: s > 0.
        sampling_probability: q in (0, 1].

    Example:
        >>> unsampled = SubsampledGaussianDP(1.0, 1.0)
        >>> round(unsampled.delta(1.0), 6) == round(GaussianDP(1.0).delta(1.0), 6)
        True
        >>> round(SubsampledGaussianDP(1.0, 0.1).epsilon(1e-5), 4)
        1.6845
    """

    noise_multiplier: Positive
    sampling_probability: Positive
    relation = None
    exact = True

    def __post_init__(self) -> None:
        super().__post_init__()
        unit_interval(sampling_probability=self.sampling_probability)

    def _parameters(self) -> Mapping[str, float]:
        return {"noise_multiplier": self.noise_multiplier, "sampling_probability": self.sampling_probability}

    def _delta(self, epsilon: Floats) -> Floats:
        q, profile = self.sampling_probability, GaussianDP(1.0 / self.noise_multiplier).delta
        present = q * np.asarray(profile(np.log1p(np.expm1(epsilon) / q)))
        complement = -np.expm1(epsilon + math.log1p(-q)) if q < 1.0 else np.ones_like(epsilon)
        possible = complement > 0.0
        ratio = np.where(possible, math.log(q) + epsilon - np.log(np.where(possible, complement, 1.0)), np.inf)
        absent = np.where(possible, complement, 0.0) * np.asarray(profile(np.maximum(ratio, 0.0)))
        return np.asarray(np.maximum(present, absent), dtype=np.float64)


def _geometric_law(epsilon: float, reach: int, at: int) -> Floats:
    """Return the probabilities of noise around `at`, with the mass beyond -reach and reach + 1 on these two values."""
    ratio = math.exp(-epsilon)
    distance = np.abs(np.arange(-reach, reach + 2) - at)
    p = (1.0 - ratio) / (1.0 + ratio) * ratio**distance
    p[[0, -1]] = ratio ** distance[[0, -1]] / (1.0 + ratio)
    return np.asarray(p)
