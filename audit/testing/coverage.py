"""How often a bound exceeds the truth, measured on laws whose exact curve is known.

    law = laplace_ratio(1.0)
    found = misses(SimultaneousBand(), law, repeats=2000, n_out=200, n_in=200, confidence=0.8, seed=1)
    assert found.holds

A miss rate above the significance is never accepted as bad luck beyond a false alarm of 1e-6, and a bound that forgot a
correction shows best at a large significance, such as 0.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from audit.bounds.base import Bound
from audit.bounds.binomial import quantile
from audit.games import Floats, PairCounts, PairScores, Scores, Tally
from mechanisms.guarantees import ExactDP, GaussianDP, LaplaceDP
from mechanisms.guarantees.base import Guarantee
from mechanisms.validation import whole

FALSE_ALARM = 1e-6


class Law(Protocol):
    """The laws of the scores of both sides.

    Attributes:
        name: for tables.
        curve: the exact guarantee of the pair of laws; a bound that exceeds `curve.epsilon(delta)` is a miss.
    """

    @property
    def name(self) -> str: ...

    @property
    def curve(self) -> Guarantee: ...

    def draws(self, rng: np.random.Generator, n_out: int, n_in: int) -> Iterator[Scores]:
        """Independent samples of `n_out` and `n_in` scores, without end."""


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """Finitely many scores: a sample is its counts, drawn many at a time.

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

    def draws(self, rng: np.random.Generator, n_out: int, n_in: int) -> Iterator[Scores]:
        while True:
            counts = rng.multinomial(n_out, self.p_out, size=256), rng.multinomial(n_in, self.p_in, size=256)
            hits = [np.flip(np.cumsum(np.flip(side, axis=1), axis=1), axis=1) for side in counts]
            for hits_out, hits_in in zip(*hits, strict=True):
                yield PairCounts(Tally(self.scores, hits_out, hits_in, n_out, n_in))


@dataclass(frozen=True, eq=False)
class SampledLaw:
    """Scores from two samplers `(rng, size) -> (size,)`, and the exact curve of the two laws."""

    name: str
    sample_out: Callable[[np.random.Generator, int], Floats]
    sample_in: Callable[[np.random.Generator, int], Floats]
    curve: Guarantee

    def draws(self, rng: np.random.Generator, n_out: int, n_in: int) -> Iterator[Scores]:
        while True:
            yield PairScores(self.sample_out(rng, n_out), self.sample_in(rng, n_in))


def randomized_response(epsilon: float, delta: float = 0.0) -> FiniteLaw:
    """The worst case of (epsilon, delta)-DP: an atom of mass delta on either side, randomised response between."""
    lie = (1.0 - delta) / (1.0 + math.exp(epsilon))
    p_out = np.array([delta, (1.0 - delta) - lie, lie, 0.0])
    name = f"randomized response, epsilon {epsilon:g}" + (f", delta {delta:g}" if delta else "")
    return FiniteLaw(name, np.arange(4.0), p_out, p_out[::-1])


def geometric(epsilon: float, reach: int = 12) -> FiniteLaw:
    """Two-sided geometric noise around 0 and around 1, cut off `reach` away: ties everywhere."""
    values = np.arange(-reach, reach + 2.0)
    p_out, p_in = _geometric_law(epsilon, reach, at=0), _geometric_law(epsilon, reach, at=1)
    return FiniteLaw(f"geometric, epsilon {epsilon:g}", values, p_out, p_in)


def all_equal() -> FiniteLaw:
    """One score whatever happens: epsilon is 0."""
    return FiniteLaw("all equal", np.zeros(1), np.ones(1), np.ones(1))


def laplace(epsilon: float) -> SampledLaw:
    """Laplace noise around 0 and around 1; the output is the score."""
    scale = 1.0 / epsilon
    return SampledLaw(
        f"laplace, epsilon {epsilon:g}",
        lambda rng, size: rng.laplace(0.0, scale, size),
        lambda rng, size: rng.laplace(1.0, scale, size),
        LaplaceDP(epsilon),
    )


def laplace_ratio(epsilon: float) -> SampledLaw:
    """The likelihood ratio of Laplace noise: atoms at -epsilon and +epsilon, a density between."""
    outputs = laplace(epsilon)

    def ratio(sample: Callable[[np.random.Generator, int], Floats]) -> Callable[[np.random.Generator, int], Floats]:
        return lambda rng, size: epsilon * (2.0 * np.clip(sample(rng, size), 0.0, 1.0) - 1.0)

    name = f"laplace ratio, epsilon {epsilon:g}"
    return SampledLaw(name, ratio(outputs.sample_out), ratio(outputs.sample_in), outputs.curve)


def gaussian(mu: float) -> SampledLaw:
    """Normal noise around 0 and around mu: the ratio grows without limit, so that tails tempt."""
    return SampledLaw(
        f"gaussian, mu {mu:g}",
        lambda rng, size: rng.normal(0.0, 1.0, size),
        lambda rng, size: rng.normal(mu, 1.0, size),
        GaussianDP(mu),
    )


@dataclass(frozen=True)
class Coverage:
    """How a bound did on a law.

    Args:
        bound, law: names.
        truth: exact epsilon at delta.
        repeats: independent audits.
        misses: those whose bound exceeded the truth.
        significance: the miss rate that is allowed.
        mean: mean of the bounds.
    """

    bound: str
    law: str
    truth: float
    repeats: int
    misses: int
    significance: float
    mean: float

    @property
    def allowed(self) -> int:
        """Most misses that a bound at its level shows, but for a probability of 1e-6."""
        return quantile(1.0 - FALSE_ALARM, self.repeats, self.significance)

    @property
    def holds(self) -> bool:
        """Whether the misses are within what is allowed."""
        return self.misses <= self.allowed


def misses(
    bound: Bound,
    law: Law,
    *,
    repeats: int,
    n_out: int,
    n_in: int,
    confidence: float,
    seed: int,
    delta: float = 0.0,
    n_pilot: int = 0,
) -> Coverage:
    """Repeats the whole way from pilot to bound, and counts how often the bound exceeds the truth.

    Args:
        bound: what is examined.
        law: where the scores come from.
        repeats: independent audits.
        n_out, n_in: evaluation scores on each side.
        confidence, delta: of the bound.
        seed: of all samples.
        n_pilot: pilot scores on each side, drawn afresh for each audit and handed to `bound.prepare`; 0 for none.

    Example:
        >>> from audit.bounds.clopper_pearson import ClopperPearson
        >>> fixed = ClopperPearson(threshold=2.0)
        >>> found = misses(fixed, randomized_response(1.0), repeats=500, n_out=100, n_in=100, confidence=0.8, seed=1)
        >>> found.holds
        True
    """
    whole(1, repeats=repeats, n_out=n_out, n_in=n_in)
    whole(0, n_pilot=n_pilot)
    found = bounds_drawn(
        bound,
        law,
        repeats=repeats,
        n_out=n_out,
        n_in=n_in,
        confidence=confidence,
        seed=seed,
        delta=delta,
        n_pilot=n_pilot,
    )
    truth = float(law.curve.epsilon(delta))
    above = int(np.count_nonzero(found > truth * (1.0 + 1e-12)))
    return Coverage(bound.name, law.name, truth, repeats, above, 1.0 - confidence, float(found.mean()))


def bounds_drawn(
    bound: Bound,
    law: Law,
    *,
    repeats: int,
    n_out: int,
    n_in: int,
    confidence: float,
    seed: int,
    delta: float = 0.0,
    n_pilot: int = 0,
) -> Floats:
    """The `(repeats,)` bounds of independent audits, arguments as in `misses`."""
    evaluation, pilot = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    scores = law.draws(evaluation, n_out, n_in)
    pilots = law.draws(pilot, n_pilot, n_pilot) if n_pilot else None
    level = {"delta": delta, "confidence": confidence}
    found = np.empty(repeats)
    for i in range(repeats):
        ready = bound if pilots is None else bound.prepare(next(pilots), **level, n_out=n_out, n_in=n_in)
        found[i] = ready.lower_bound(next(scores), **level).epsilon
    return found


def _geometric_law(epsilon: float, reach: int, at: int) -> Floats:
    """Noise around `at`, with all mass beyond -reach and reach + 1 on those two values."""
    ratio = math.exp(-epsilon)
    distance = np.abs(np.arange(-reach, reach + 2) - at)
    p = (1.0 - ratio) / (1.0 + ratio) * ratio**distance
    p[[0, -1]] = ratio ** distance[[0, -1]] / (1.0 + ratio)
    return np.asarray(p)


__all__ = [
    "FALSE_ALARM",
    "Coverage",
    "FiniteLaw",
    "Law",
    "SampledLaw",
    "all_equal",
    "bounds_drawn",
    "gaussian",
    "geometric",
    "laplace",
    "laplace_ratio",
    "misses",
    "randomized_response",
]
