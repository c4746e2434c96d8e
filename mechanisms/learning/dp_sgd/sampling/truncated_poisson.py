"""Truncated Poisson sampling: Poisson samples that are cut at a largest size, for batches of a fixed shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from typing import ClassVar

import numpy as np

from ....accounting import PrivacyLossDP
from ....accounting.dp_sgd.truncated_poisson import truncated_poisson
from ....accounting.numerics.binomial import binomial_pmf, binomial_sf
from ....core import AccountingError, ParameterError, Positive, PositiveInt, PositiveProbability, Relation, plural
from ...base import AnyFloats
from .base import BatchDraw, Draws, Mask, Sampling, gaussian_exponent
from .fixed_size import common_and_differing


@dataclass(frozen=True)
class TruncatedPoisson(Sampling):
    """Poisson samples, of which a uniform subset of `largest_batch` records is used where they are larger.

    Args:
        sampling_probability: inclusion probability of a record before the cut, in (0, 1].
        largest_batch: size at which a batch is cut, >= 1.
        expected_batch_size: the public number by which updates are divided, > 0.
        n_records: the public number of records of the larger of two neighbouring datasets; None leaves it unspecified,
            and the guarantee unavailable.

    References:
        Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang (2024), "Scalable DP-SGD: shuffling vs. Poisson
        subsampling", Section 3.

    Example:
        >>> scheme = TruncatedPoisson(sampling_probability=0.9, largest_batch=2, expected_batch_size=2)
        >>> draw = next(scheme.draws(5, 3, None, np.random.default_rng(0)))
        >>> draw.rows.shape, draw.included.sum(axis=1).max().item()
        ((3, 2), 2)
    """

    relation: ClassVar[Relation] = Relation.ADD_REMOVE
    accountants: ClassVar[tuple[str, ...]] = ("privacy-loss",)
    rates: ClassVar[tuple[str, ...]] = ("sampling_probability", "largest_batch", "n_records")
    option_names: ClassVar[Mapping[str, str]] = {"expected_batch_size": "batch_size"}

    _: KW_ONLY
    sampling_probability: PositiveProbability
    largest_batch: PositiveInt
    expected_batch_size: Positive
    n_records: PositiveInt | None = None

    @property
    def divisor(self) -> float:
        return float(self.expected_batch_size)

    def width(self, n_records: int) -> int:
        return min(self.largest_batch, n_records)

    def check(self, n_records: int) -> None:
        if self.n_records is not None and n_records not in (self.n_records - 1, self.n_records):
            raise ParameterError(
                f"the data hold {plural(n_records, 'record')}, but the larger of two neighbouring datasets holds "
                f"n_records = {self.n_records}. Give that many records or one less, or another n_records.",
                argument="n_records",
            )

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Draws:
        """Yield the records with the smallest of independent uniform keys, of those with a key below the rate."""
        width = self.width(n_records)
        while True:
            keys = rng.random((n_runs, n_records))
            if inclusion is not None:
                keys[~inclusion] = np.inf
            rows = np.argpartition(keys, width - 1, axis=1)[:, :width] if n_records else np.empty((n_runs, 0), np.intp)
            yield BatchDraw(rows, np.take_along_axis(keys, rows, axis=1) < self.sampling_probability)

    @property
    def inclusion_probability(self) -> float:
        """Probability of a batch place for one of `n_records` records; before the cut if that number is not set."""
        if self.n_records is None:
            return float(self.sampling_probability)
        sizes = np.arange(self.n_records + 1)
        return float(np.minimum(sizes, self.largest_batch) @ self._sizes(self.n_records)) / self.n_records

    @property
    def worst_case_records(self) -> int:
        return self._known_records(ParameterError)

    @classmethod
    def account(
        cls, noise_multiplier: float, *, steps: int, relation: Relation, accounting: str, **rates: float
    ) -> PrivacyLossDP:
        """Return the composition of the mixture over whether the other records fill the batch."""
        return truncated_poisson(
            noise_multiplier,
            sampling_probability=rates["sampling_probability"],
            largest_batch=int(rates["largest_batch"]),
            n_records=int(rates["n_records"]),
            steps=steps,
            relation=relation,
        )

    def own_rates(self) -> dict[str, float]:
        return {
            "sampling_probability": self.sampling_probability,
            "largest_batch": self.largest_batch,
            "n_records": self._known_records(AccountingError),
        }

    def log_likelihood(self, values: AnyFloats, shifts: AnyFloats) -> AnyFloats:
        """Return the log density: each step is a mixture over the size of the batch, and over one differing record."""
        n = len(shifts)
        if not n:
            return np.asarray(gaussian_exponent(values, np.zeros(values.shape[2])).sum(axis=1))
        common, differing = common_and_differing(shifts)
        largest = min(self.largest_batch, n)
        chances = self._sizes(n)[: largest + 1]
        chances[largest] = float(binomial_sf(largest - 1, n, self.sampling_probability))
        terms = []
        for size, chance in enumerate(chances):
            inside = size / n if differing is not None else 0.0
            centres = [(1.0 - inside, size * common)]
            if differing is not None:
                centres.append((inside, (size - 1) * common + differing))
            terms += [
                math.log(chance * weight) + gaussian_exponent(values, centre)
                for weight, centre in centres
                if chance * weight > 0.0
            ]
        return np.asarray(reduce(np.logaddexp, terms).sum(axis=1))

    def _sizes(self, n: int) -> AnyFloats:
        """Return the probability of each size of the Poisson sample of n records, `(n + 1,)`."""
        return binomial_pmf(np.arange(n + 1), n, float(self.sampling_probability))

    def _known_records(self, kind: type[AccountingError | ParameterError]) -> int:
        if self.n_records is None:
            raise kind(
                "the guarantee and the worst case of TruncatedPoisson depend on the number of records, which is not "
                "read from the data. Give n_records, a public constant."
            )
        return self.n_records
