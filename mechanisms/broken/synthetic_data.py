"""Intentionally broken synthetic data: records are copied, or a selection of measurements leaks.

For a selection whose scores have a larger sensitivity: `dpassay.mechanisms.broken.selection.HalvedScoreSensitivity`.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..accounting import ApproximateDP
from ..core.arrays import Floats, Ints
from ..core.base import Dataset, Neighbours, Outputs
from ..core.constraints import Positive, PositiveInt, at_least
from ..core.errors import ParameterError
from ..core.guarantee import Guarantee
from ..core.records import RecordsMechanism
from ..core.relation import Relation
from ..noise.queries.domain import Domain
from ..synthetic_data.base import CodedTable, Generator
from ..synthetic_data.selection import spanning_trees as trees
from ..synthetic_data.selection.aim import AIM
from ..synthetic_data.selection.mst import LARGEST_WORST_CASE, MST, RARE, worst_case_clusters
from .base import Broken, BrokenPureDP


@dataclass(frozen=True)
class Resampled(BrokenPureDP, RecordsMechanism):
    """Broken: rows drawn independently from a generative model that is the uniform distribution on the records.

    This model has the highest likelihood, and each record is in its table with probability 1 - (1 - 1/n)^n, 63.4 %
    for n = 100. A record that was drawn has no protection.

    Args:
        epsilon: the claim, > 0; false.
        n_records: number of records, >= 2; a dataset is a table `(n_records, n_columns)` of numbers.
        n_rows: number of rows of a synthetic table; None for n_records.

    Example:
        >>> broken = Resampled(1.0, n_records=100)
        >>> broken.guarantee().delta(1.0), round(broken.exact_guarantee().delta(1.0), 5)
        (0.0, 0.63397)
    """

    cause = "Rows of a generative model are assumed to be independent of any person, since each is freshly drawn."
    source = "A common thought experiment about generative models; the bootstrap, Efron (1979)."

    epsilon: Positive
    _: KW_ONLY
    n_records: Annotated[int, at_least(2)] = 100
    n_rows: PositiveInt | None = None
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    @property
    def drawn(self) -> int:
        """Number of rows of a synthetic table."""
        return self.n_records if self.n_rows is None else self.n_rows

    @property
    def share_shown(self) -> float:
        """Probability that a record is in the synthetic table: 1 - (1 - 1/n)^n_rows."""
        return -float(np.expm1(self.drawn * np.log1p(-1.0 / self.n_records)))

    def records(self, dataset: Dataset) -> NDArray[Any]:
        """Return the records, `(n_records, n_columns)`; raise `ParameterError` unless n_records numeric rows."""
        table = np.asarray(dataset)
        if table.ndim != 2 or len(table) != self.n_records or table.dtype.kind not in "biuf":
            raise ParameterError(
                f"n_records is {self.n_records}, but the dataset has shape {table.shape}, dtype {table.dtype}. Give a "
                "table of numbers, one row per record.",
                argument="n_records",
            )
        return table

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return one synthetic table per run, `(size, n_rows, n_columns)`."""
        table = self.records(dataset)
        return Outputs(table[rng.integers(self.n_records, size=(size, self.drawn))])

    def exact_guarantee(self) -> Guarantee:
        """Return (0, delta)-DP: a table that contains the differing record is impossible on the other side."""
        return ApproximateDP(0.0, self.share_shown, self.relation, exact=True)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log probability of each table of ordered rows, `(size,)`; -inf if a row is not a record."""
        records, rows = self.records(dataset), outputs.values
        if rows.shape[2] != records.shape[1]:
            return np.full(len(rows), -np.inf)
        share = _copies(records, rows.reshape(-1, rows.shape[2])) / self.n_records
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(share).reshape(rows.shape[:2]).sum(axis=1))

    def worst_case(self) -> Neighbours:
        """Return n_records distinct records, of which the last differs on `d1`."""
        d0 = np.arange(self.n_records)[:, None]
        d1 = d0.copy()
        d1[-1] = self.n_records
        return Neighbours(d0, d1, self.relation)

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self.records(dataset)


def _copies(records: NDArray[Any], rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of records equal to each row, `(n_rows,)`, by labels of prefixes, column by column."""
    record_label, row_label = np.zeros(len(records), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    matched = np.ones(len(rows), dtype=np.bool_)
    for column, values in zip(records.T, rows.T, strict=True):
        levels, record_level = np.unique(column, return_inverse=True)
        row_level = np.minimum(np.searchsorted(levels, values), len(levels) - 1)
        prefixes, record_label = np.unique(record_label * len(levels) + record_level, return_inverse=True)
        row_prefix = row_label * len(levels) + row_level
        row_label = np.minimum(np.searchsorted(prefixes, row_prefix), len(prefixes) - 1)
        matched &= (levels[row_level] == values) & (prefixes[row_label] == row_prefix)
    return np.where(matched, np.bincount(record_label)[row_label], 0)


@dataclass(frozen=True)
class BestTree(Broken, MST):
    """Broken: MST with the maximum spanning tree of the exact scores, instead of the exponential mechanism.

    The measurements have all the noise of MST, and the claim is the same; but the measured pairs reveal which
    scores are largest, and one record can change their order. Epsilon is infinite at every delta below the
    probability of a tree that the other side cannot select: about 2/3 on `worst_case`, where three pairs tie until
    a record decides for the first.

    Args:
        rho, shares, compress, relation: as for `MST`.
        penalty: as for `MST`, with default 0: pairs tie only if their numbers of cells have no effect.

    Example:
        >>> selection, domain = BestTree(0.5), Domain({"a": 2, "b": 2, "c": 2})
        >>> print(selection.guarantee(domain), selection.exact_guarantee(domain))
        ConcentratedDP(rho=0.5) None
    """

    cause = 'The tree is treated as public, since it "only" selects the measurements.'
    source = "Constructed; the selection of McKenna, Miklau and Sheldon (2021) without its noise."
    correct_class = MST

    penalty: float = 0.0

    def choose(self, scores: Floats, rate: float, rng: np.random.Generator) -> Ints:
        return trees.draw(_ranks(scores), 1e9, rng)

    def log_chosen(self, scores: Floats, chosen: Ints, rate: float) -> Floats:
        best = self.choose(scores, rate, np.random.default_rng(0))
        return np.where((best == chosen).all(axis=1), 0.0, -np.inf)

    def worst_case(self, domain: Domain) -> Neighbours:
        """Return two groups of records whose scores all tie on side 0; on side 1 attributes 0 and 1 score highest."""
        if len(domain.names) < 3 or min(domain.shape) < 2:
            return super().worst_case(domain)
        return worst_case_clusters(domain.shape, self.relation, min(LARGEST_WORST_CASE, self._enough(domain)), 0)

    def exact_guarantee(self, domain: Domain) -> Guarantee | None:
        """Return None: the probability of each tree depends on noise that decides between ties."""
        return None


def _ranks(scores: Floats) -> Floats:
    """Return the rank of each score in its run, all distinct; among equal scores the first ranks highest."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.empty_like(scores)
    np.put_along_axis(
        ranks, order, -np.broadcast_to(np.arange(scores.shape[1], dtype=np.float64), scores.shape), axis=1
    )
    return ranks


@dataclass(frozen=True)
class MergedByExactCounts(Broken, MST):
    """Broken: MST that merges values of a low exact count, instead of a low noisy count.

    The compressed domain is released with the measurements, and reveals for each value on which side of the
    threshold its exact count is: a record that moves a count across the threshold is detected with certainty.
    Epsilon is infinite at every delta below 1 where an attribute has three values or more; with two, merging one of
    them has no effect.

    Args:
        rho, shares, penalty, compress, relation: as for `MST`.

    Example:
        >>> from dpassay.mechanisms.synthetic_data import CodedTable
        >>> selection, domain = MergedByExactCounts(0.5), Domain({"a": 3, "b": 2})
        >>> pair = selection.worst_case(domain)
        >>> [CodedTable.of(domain, side).marginal(("a",)).tolist() for side in (pair.d0, pair.d1)]
        [[7.0, 0.0, 50.0], [8.0, 0.0, 50.0]]
    """

    cause = "The domain is compressed before the measurements, by exact counts."
    source = "Constructed; the compression of McKenna, Miklau and Sheldon (2021) without its noise."
    correct_class = MST

    def kept(self, answers: Floats, table: CodedTable, place: int) -> NDArray[np.bool_]:
        exact = table.marginal((table.domain.names[place],))
        return np.broadcast_to(exact >= RARE * self.noise(table.domain).one_way, answers.shape)

    def worst_case(self, domain: Domain) -> Neighbours:
        """Return tables in which value 0 of the widest attribute is one record below the threshold on side 0."""
        widest = int(np.argmax(domain.shape))
        below = max(0, math.ceil(RARE * self.noise(domain).one_way) - 1)
        records = np.array([size - 1 for size in domain.shape]) * np.ones((below + 50, 1), dtype=np.int64)
        records[:below, widest] = 0
        new = records[:1].copy()
        new[0, widest] = 0
        rest = records if self.relation is Relation.ADD_REMOVE else records[:-1]
        return Neighbours(records, np.concatenate([rest, new]), self.relation)

    def exact_guarantee(self, domain: Domain) -> Guarantee | None:
        """Return None: no finite curve holds."""
        return None

    def log_density(self, transcripts: Floats, table: CodedTable, generator: Generator) -> Floats:
        """Return the log density; -inf where the merged values, visible as equal counts, are not those of `table`."""
        log_density = super().log_density(transcripts, table, generator)
        domain = table.domain
        candidates = self.candidates(domain)
        d = len(domain.names)
        ends = np.cumsum([len(candidates) - d, *(domain.project(names).n_cells for names in candidates)])
        rounds, *answers = np.split(transcripts, ends[:-1], axis=1)
        for edge, (a, b) in enumerate(trees.pairs(d)):
            runs = np.flatnonzero(rounds[:, edge] > 0)
            counts = answers[d + edge][runs].reshape(len(runs), domain.shape[a], domain.shape[b])
            for attribute, lines in ((a, counts), (b, counts.transpose(0, 2, 1))):
                merged = (np.abs(lines[:, :, None] - lines[:, None]).max(axis=3, initial=0.0) == 0).sum(axis=2) > 1
                rare = ~self.kept(answers[attribute][runs], table, attribute)
                differs = (merged != (rare & (rare.sum(axis=1, keepdims=True) > 1))).any(axis=1)
                log_density[runs[differs]] = -np.inf
        return log_density


@dataclass(frozen=True)
class AnnealingNotAccounted(Broken, AIM):
    """Broken: AIM that accounts for each round with rho / rounds, not with its actual cost.

    When little was learned the noise is halved and the epsilon of the next selection doubled, which costs four times as
    much, but the accounting does not change. The claim is rho. A run that learns little in each of k rounds spends rho
    / rounds * (1 + 4 + 16 + ...), until the accounted cost reaches rho: with 9 rounds of 3 attributes up to (2.7 + 1 +
    4 + 16 + 64 + 256) / 9 = 38 times rho. The cost of a run depends on the data, and is largest for few records, from
    which there is little to learn.

    Args:
        rho, workload, rounds, measuring, largest_model, relation: as for `AIM`.

    Example:
        >>> selection, domain = AnnealingNotAccounted(0.1, workload=2, rounds=9), Domain({"a": 2, "b": 2, "c": 2})
        >>> print(selection.guarantee(domain))
        ConcentratedDP(rho=0.1)
    """

    cause = (
        "The cost of a round is computed once, at the start, and not again when annealing makes a round four times "
        "as expensive."
    )
    source = "Constructed; the annealing of McKenna, Mullins, Sheldon and Miklau (2022) without its accounting."
    correct_class = AIM

    def accounted_cost(self, cost: Floats, domain: Domain) -> Floats:
        return np.full(len(cost), self.rho / self.n_rounds(domain))
