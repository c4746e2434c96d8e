"""Intentionally broken divisors in DP-SGD: they depend on the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import binom

from ....accounting import ExactDP
from ....accounting.numerics.cells import radius_laws
from ....core import Guarantee, Neighbours, PositiveInt, Relation
from ...base import AnyFloats
from ...models import LogisticRegression
from ...models.base import Model
from ..sampling import BatchSampling, FullBatch, PoissonSampling, Sampling
from ..sampling.base import Mask
from ..training import Batch, Trainer
from .base import BrokenDPSGD

NINE_FEATURES = LogisticRegression(9)
ALL_BY_TWO = FullBatch(expected_batch_size=2)
HALF = PoissonSampling(sampling_probability=0.5, expected_batch_size=1)
"""Defaults of the two trainers."""


class _SizeOfData(Trainer):
    def train(
        self, n_runs: int, rng: np.random.Generator, inclusion: Mask | None = None
    ) -> Iterator[tuple[AnyFloats, AnyFloats]]:
        """Count the records of each run, then train."""
        self.n_records = np.array([[len(self.data)]]) if inclusion is None else inclusion.sum(axis=1)[:, None]
        yield from super().train(n_runs, rng, inclusion)

    def divisor(self, batch: Batch) -> Any:
        """Return int(sampling probability * number of records), at least 1, `(n_runs, 1)`."""
        return expected_size(self.recipe.sampling, self.n_records)


class _SizeOfBatch(Trainer):
    def divisor(self, batch: Batch) -> Any:
        """Return the number of records in each batch, `(n_runs, 1)`; 1 for an empty one."""
        return np.maximum(1.0, batch_sizes(batch, self.dtype))[:, None]


@dataclass(frozen=True, eq=False)
class _DivisorFromData(BrokenDPSGD):
    model: Model | str = NINE_FEATURES
    steps: int = 1
    noise_multiplier: float = 3.73
    view: str = "final"
    records: PositiveInt = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self._requires(Relation.ADD_REMOVE, "under which the number of records is public and dividing by it is correct")

    @property
    def law_is_known(self) -> bool:
        return False

    def worst_case(self) -> Neighbours:
        """Return `records` gradient records of norm 0, and one more on side 1."""
        return self._pair(0.0, *[0.0] * self.records)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of one step whose final parameters are observed; None in all other cases."""
        started_at_zero = self.recipe.initial is not None and not self.recipe.initial.any()
        if self.steps > 1 or self.view != "final" or self.projection is not None or not started_at_zero:
            return None
        if not self.noise_multiplier:
            return None
        divisors0, divisors1 = self._divisors(self.records), self._divisors(self.records + 1)
        p0, p1 = radius_laws(divisors0, divisors1, self.network.n_parameters)
        return ExactDP(p0, p1, relation=self.relation)

    def _divisors(self, n_records: int) -> dict[float, float]:
        """Return the probability of each divisor."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class ExpectedBatchSizeOfData(_DivisorFromData):
    """Broken: DP-SGD that divides by the expected batch size, computed from the private number of records.

        theta_t = theta_(t-1) - learning_rate * S_t / int(sampling_probability * n)

    With one record more, all noise is smaller. With d parameters, each observed in every step, n = 2 against 3 has
    epsilon 11, 21, 66 at d = 1, 10, 100 and delta = 1e-5, for every noise multiplier; n = 100 against 101 has 0.59
    at d = 100 and 28.6 at d = 100,000. Correct: a public constant.

    Args:
        records: n of the smaller side of the worst-case pair, >= 1.
        all others: as for `DPSGD`. Defaults: logistic regression of 9 features (d = 10), one full batch, noise
            multiplier 3.73; the final parameters are observed.

    Example:
        >>> broken = ExpectedBatchSizeOfData()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 21.0)
    """

    cause = "The number of records n is taken from the data."
    source = "meta-pytorch/opacus, issues 571 and 819 (v1.0.0 to 1.6.0)."

    sampling: Sampling | str = ALL_BY_TWO

    trainer_class: ClassVar[type[Trainer]] = _SizeOfData

    def _divisors(self, n_records: int) -> dict[float, float]:
        return {float(expected_size(self.scheme, n_records)): 1.0}


@dataclass(frozen=True, eq=False)
class RealisedBatchSize(_DivisorFromData):
    """Broken: DP-SGD with Poisson sampling that divides by the number of records that were sampled.

        theta_t = theta_(t-1) - learning_rate * S_t / |batch|

    The scale of the noise leaks the size of the batch, and the latter the number of records: two records are
    never sampled from one. Correct: the expected batch size, a public constant.

    Args:
        records: n of the smaller side of the worst-case pair, >= 1.
        all others: as for `DPSGD`. Defaults: logistic regression of 9 features, one Poisson step of rate 0.5, noise
            multiplier 2.5; the final parameters are observed.

    Example:
        >>> broken = RealisedBatchSize()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 5.1)
    """

    cause = "The sum is divided by the realised batch size, which is correct only for batches of a fixed size."
    source = "Abadi et al. (2016), Algorithm 1, divides by the expected size; Ponomareva et al. (2023), Section 5.6."

    noise_multiplier: float = 2.5
    sampling: Sampling | str = HALF
    records: int = 1

    trainer_class: ClassVar[type[Trainer]] = _SizeOfBatch

    def _divisors(self, n_records: int) -> dict[float, float]:
        if isinstance(self.scheme, BatchSampling):
            return {float(self.scheme.batch_size): 1.0}
        rate = getattr(self.scheme, "sampling_probability", 1.0)
        sizes = np.arange(n_records + 1)
        probabilities = binom(n_records, sizes) * rate**sizes * (1.0 - rate) ** (n_records - sizes)
        divisors: dict[float, float] = {}
        for size, probability in zip(sizes, probabilities, strict=True):
            divisors[max(1.0, float(size))] = divisors.get(max(1.0, float(size)), 0.0) + float(probability)
        return divisors


def batch_sizes(batch: Batch, dtype: np.dtype[Any]) -> AnyFloats:
    """Return the number of records in the batch of each run, `(n_runs,)`; `(1,)` if it is the same in all runs."""
    included = np.full((1, batch.inputs.shape[-2]), True) if batch.included is None else batch.included
    sizes: AnyFloats = included.sum(axis=1, dtype=dtype)
    return sizes if batch.gradients is None else sizes + batch.gradients.sum(axis=1)


def expected_size(sampling: Sampling, n_records: ArrayLike) -> AnyFloats:
    """Return int(sampling probability * number of records), at least 1."""
    return np.maximum(1.0, np.floor(getattr(sampling, "sampling_probability", 1.0) * np.asarray(n_records)))
