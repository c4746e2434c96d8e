"""Poisson sampling: independent inclusion of every record, as the accountants of the subsampled Gaussian assume."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ....accounting import PrivacyLossDP, RenyiDP
from ....accounting.dp_sgd.correlated_noise import MinSeparation, Participation
from ....accounting.kinds.renyi import MomentsDP
from ....core import Guarantee, ParameterError, Positive, PositiveProbability, Relation, plural
from ...base import AnyFloats
from .base import DENSE_RATE, BatchDraw, Draws, Mask, Rows, Sampling, gaussian_exponent, padded
from .full_batch import FullBatch

MAX_SUBSETS = 2**10
"""Largest number of subsets of gradient records in the mixture density, each with its Gaussian."""

POISSON_ACCOUNTANTS: Mapping[str, Callable[..., Guarantee]] = MappingProxyType(
    {"privacy-loss": PrivacyLossDP.gaussian, "renyi": RenyiDP.gaussian, "moments": MomentsDP.gaussian}
)


@dataclass(frozen=True)
class PoissonSampling(Sampling):
    """Independent inclusion of each record in each step with probability `sampling_probability`.

    Args:
        sampling_probability: in (0, 1].
        expected_batch_size: the public number by which updates are divided, > 0.

    Example:
        >>> scheme = PoissonSampling(sampling_probability=0.5, expected_batch_size=2)
        >>> draw = next(scheme.draws(4, 3, None, np.random.default_rng(0)))
        >>> draw.included.shape
        (3, 4)
    """

    relation: ClassVar[Relation] = Relation.ADD_REMOVE
    accountants: ClassVar[tuple[str, ...]] = tuple(POISSON_ACCOUNTANTS)
    rates: ClassVar[tuple[str, ...]] = ("sampling_probability",)
    option_names: ClassVar[Mapping[str, str]] = {"expected_batch_size": "batch_size"}
    tight: ClassVar[bool] = True

    _: KW_ONLY
    sampling_probability: PositiveProbability
    expected_batch_size: Positive

    @property
    def divisor(self) -> float:
        return float(self.expected_batch_size)

    def width(self, n_records: int) -> int:
        expected = self.sampling_probability * n_records
        return n_records if self.sampling_probability >= DENSE_RATE else int(expected + 2.5 * expected**0.5) + 1

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Draws:
        rate = float(self.sampling_probability)
        while rate == 1.0:
            yield BatchDraw(None, inclusion)
        while rate >= DENSE_RATE:
            drawn = rng.random((n_runs, n_records)) < rate
            yield BatchDraw(None, drawn if inclusion is None else drawn & inclusion)
        flat = None if inclusion is None else np.ascontiguousarray(inclusion).reshape(-1)
        starts = n_records * np.arange(n_runs + 1)
        while True:
            positions = successes(n_runs * n_records, rate, rng)
            if flat is not None:
                positions = positions[flat[positions]]
            yield padded(positions, starts)

    @property
    def inclusion_probability(self) -> float:
        return float(self.sampling_probability)

    @classmethod
    def account(
        cls, noise_multiplier: float, *, steps: int, relation: Relation, accounting: str, **rates: float
    ) -> Guarantee:
        """Return the composition of the Gaussian on a Poisson sample, by privacy-loss distribution or Renyi moments."""
        return POISSON_ACCOUNTANTS[accounting](noise_multiplier, steps=steps, relation=relation, **rates)

    @classmethod
    def participation(cls, *, relation: Relation, **rates: float) -> Participation:
        """Return any steps: no amplification by sampling is claimed with correlated noise.

        Raises:
            AccountingError: a subclass, in which other records may change with the batches: it states its own.
        """
        return MinSeparation(1) if cls is PoissonSampling else super().participation(relation=relation, **rates)

    def own_rates(self) -> dict[str, float]:
        return {"sampling_probability": self.sampling_probability}

    def guarantee(self, noise_multiplier: float, *, steps: int, relation: Relation) -> Guarantee:
        """Return the guarantee by the first accountant; at rate 1 that of full batches, exact for every relation."""
        if self.sampling_probability == 1.0:
            return FullBatch().guarantee(noise_multiplier, steps=steps, relation=relation)
        return super().guarantee(noise_multiplier, steps=steps, relation=relation)

    def log_likelihood(self, values: AnyFloats, shifts: AnyFloats) -> AnyFloats:
        """Return the log density: each step is a mixture over the subsets of the contributing records."""
        rate = self.sampling_probability
        if rate == 1.0:
            return FullBatch().log_likelihood(values, shifts)
        return np.asarray(sampled_sums_log_likelihood(values, shifts, np.full(len(shifts), rate)).sum(axis=1))


def sampled_sums_log_likelihood(values: AnyFloats, shifts: AnyFloats, rates: AnyFloats) -> AnyFloats:
    """Return the log density of each step, `(n_runs, steps)`: a mixture over the subsets of the contributing records.

    Args:
        values, shifts: as for `Sampling.log_likelihood`.
        rates: probability of each record, `(n_records,)`, in [0, 1).

    Raises:
        ParameterError: more than 10 records contribute.
    """
    contributes = np.any(shifts != 0.0, axis=1)
    shifts, rates = shifts[contributes], rates[contributes]
    if 2 ** len(shifts) > MAX_SUBSETS:
        raise ParameterError(
            f"{plural(len(shifts), 'gradient record')} are observed: a Poisson sample of them has too many "
            f"possible sums for a density. Use at most {int(math.log2(MAX_SUBSETS))}, or another attack."
        )
    subsets = (np.arange(2 ** len(shifts))[:, None] >> np.arange(len(shifts))) & 1
    with np.errstate(divide="ignore"):  # a record of rate 0 is never sampled
        weights = np.where(subsets == 1, np.log(rates), np.log1p(-rates)).sum(axis=1)
    terms = (
        weight + gaussian_exponent(values, subset @ shifts) for weight, subset in zip(weights, subsets, strict=True)
    )
    return np.asarray(reduce(np.logaddexp, terms))


def successes(n: int, rate: float, rng: np.random.Generator) -> Rows:
    """Draw the increasing positions of the successes among `n` independent trials of probability `rate`, in (0, 1).

    The gaps between successes are geometric, and floor(E / -log(1 - rate)) is geometric for a standard exponential E
    (Devroye 1986, X.2): the time grows with the successes, not with the trials.
    """
    scale = -1.0 / np.log1p(-rate)
    last, blocks = -1, []
    while last < n:
        expected = rate * max(0, n - 1 - last)
        gaps = rng.standard_exponential(int(expected + 6.0 * np.sqrt(expected)) + 16)
        gaps *= scale
        np.minimum(gaps, n, out=gaps)
        positions = np.cumsum(gaps.astype(np.intp))
        positions += np.arange(last + 1, last + 1 + len(positions))
        last = int(positions[-1])
        blocks.append(positions)
    all_positions = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    return all_positions[: np.searchsorted(all_positions, n)]
