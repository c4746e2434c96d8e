"""Small-database mechanism: a random small database that approximates the answers to all queries."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from ....accounting import BoundedRange, ExactDP, FiniteMechanism, PureMechanism
from ....core.arrays import Floats, Ints
from ....core.base import Dataset, Neighbours, Outputs
from ....core.constraints import Positive, PositiveInt
from ....core.guarantee import Guarantee
from ....core.validation import open_unit, positive, whole
from ....noise.queries.domain import check_memory
from .base import DETECTABLE_DELTA, WorkloadRelease, blocks

Line: TypeAlias = tuple[int | None, int, Floats, Floats]
"""Cells of the differing record on both sides, and two distributions of the others over the cells."""
RATE_FACTORS = (1.0, 2.0, 4.0, 8.0)
"""Factors of the rate at which pairs are compared."""
BEAM_WIDTH = 4
"""Number of pairs whose neighbours are searched in one step."""
MAX_PAIRS = 128
"""Number of pairs whose curves are computed in one step of the search."""
HALF_WIDTH = 16
"""Number of splits searched on each side of one at which the best database changes."""


@dataclass(frozen=True)
class SmallDatabase(PureMechanism, FiniteMechanism, WorkloadRelease):
    """Exponential mechanism over all databases of `n_rows` rows.

    The error of a database y is the largest difference between the mean answers, max over q of |q(y)/n_rows - q(x)/n|,
    and y is released with probability proportional to exp(-epsilon n error(y) / (2 sensitivity)). The order of the rows
    is irrelevant: the databases are multisets, that is, histograms over the cells, with a uniform base measure. (Blum,
    Ligett and Roth 2008; Dwork and Roth 2014, algorithm 4, whose databases are histograms too.) All databases are
    enumerated, which requires a domain of a few cells.

    Output of a run: `(n_cells,)` whole numbers, the histogram of the database.

    Args:
        workload: the queries, over the cells of a domain.
        n_records: public, >= 1: the number of records.
        epsilon: the claim, > 0.
        n_rows: number of rows of the released database, >= 1; see `rows_needed`.
        relation: the neighbouring relation of the claim.

    Guarantees:
        * epsilon-DP: the error changes by at most sensitivity / n between neighbours (McSherry and Talwar 2007,
          theorem 6).
        * The law of the outputs and the curve of any pair are exact.
        * `excess` bounds the excess error of the released database over the best one.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Workload
        >>> mechanism = SmallDatabase(Workload.prefixes({"age": 4}), n_records=20, epsilon=1.0, n_rows=3)
        >>> mechanism.databases.shape
        (20, 4)
        >>> mechanism.release(np.repeat([1, 2], 10), 2, np.random.default_rng(0)).values.shape
        (2, 4)
    """

    _: KW_ONLY
    epsilon: Positive
    n_rows: PositiveInt = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        n_cells = self.workload.domain.n_cells
        check_memory(_number_of_databases(n_cells, self.n_rows) * (n_cells + self.workload.n_answers), "all databases")

    @cached_property
    def databases(self) -> Ints:
        """All histograms of `n_rows` rows, shape `(n_databases, n_cells)`."""
        n_cells = self.workload.domain.n_cells
        rows = np.array(list(combinations_with_replacement(range(n_cells), self.n_rows)), dtype=np.int64)
        histograms = np.zeros((len(rows), n_cells), dtype=np.int64)
        for position in range(self.n_rows):
            histograms[np.arange(len(rows)), rows[:, position]] += 1
        return histograms

    def errors(self, dataset: Dataset) -> Floats:
        """Return the largest difference of the mean answers of each database, shape `(n_databases,)`."""
        return self._errors_of(self.answers(dataset))

    def _errors_of(self, answers: Floats) -> Floats:
        """Return the errors for answers as counts, `(..., n_queries)`; shape `(..., n_databases)`."""
        largest = np.zeros((*answers.shape[:-1], len(self.databases)))
        for query, means in enumerate(self._means.T):
            np.maximum(largest, np.abs(means - answers[..., query, None] / self.n_records), out=largest)
        return largest

    @cached_property
    def _means(self) -> Floats:
        """Mean answers of each database, shape `(n_databases, n_queries)`."""
        return np.asarray(self.workload.of(self.databases / self.n_rows))

    def log_probabilities(self, dataset: Dataset) -> Floats:
        """Return the log probability of each database, shape `(n_databases,)`."""
        return np.asarray(log_softmax(-self._rate * self.errors(dataset)))

    @property
    def _rate(self) -> float:
        return self.epsilon * self.n_records / (2.0 * self.sensitivity)

    def excess(self, confidence: float) -> float:
        """Return a bound on the excess error over the best database that holds with this confidence.

        The bound is (2 sensitivity / (epsilon n)) ln(number of databases / (1 - confidence)), as for every exponential
        mechanism.
        """
        open_unit(confidence=confidence)
        n_databases = _number_of_databases(self.workload.domain.n_cells, self.n_rows)
        return 2.0 * self.sensitivity / (self.epsilon * self.n_records) * math.log(n_databases / (1.0 - confidence))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the histograms of `size` databases, shape `(size, n_cells)`, drawn by inversion."""
        steps = np.cumsum(np.exp(self.log_probabilities(dataset)))
        return Outputs(self.databases[np.searchsorted(steps[:-1] / steps[-1], rng.random(size), side="right")])

    def bounded_range(self) -> BoundedRange:
        """Return the bounded-range guarantee: all log ratios lie in an interval of length epsilon.

        (Dong, Durfee and Rogers 2020.)
        """
        return BoundedRange(self.epsilon, relation=self.relation)

    def worst_case(self) -> Neighbours:
        """Return the pair whose privacy loss is most detectable at the rate of the claim and at larger rates.

        Pairs are compared by the mean of epsilon_r(delta) / (r epsilon) over the factors r of `RATE_FACTORS`, where
        epsilon_r is the curve of the mechanism at r times its rate, and delta is `DETECTABLE_DELTA` min(1, epsilon).
        The factor 1 alone is no measure: an event with a probability of a few percent may have almost none at three
        times the rate, and the faster mechanism would look private.

        The search starts with the other records in two cells, or spread between one cell and all, and then moves
        records between cells as long as the mean grows. Which mixtures suffice to start: where one database leads all N
        others by a score of G on both sides, it has a probability of at least 1 - N e^-G, and the total variation of
        the sides is at most N e^-G. Epsilon at delta is therefore positive only where two databases have nearly equal
        errors, that is, around the mixtures at which the best database changes. A record moves the difference of two
        scores by at most epsilon, so that these neighbourhoods have a width of a few 1 / epsilon records, whatever
        n_records is; each is searched in steps of 1 / (4 epsilon) records, and of at least one record.

        No pair attains the claim: the closer the log ratio of a database is to epsilon, the rarer the database.
        """
        return self._worst

    @cached_property
    def _worst(self) -> Neighbours:
        unit = np.eye(self.workload.domain.n_cells)
        even = np.full(len(unit), 1.0 / len(unit))
        two = [(cell0, cell1, unit[common], unit[second]) for cell0, cell1, common, second in self._pair_cells()]
        all_cells = [(cell0, cell1, unit[cell1], even) for cell0, cell1 in self._differing_cells()]
        _, pair = max(map(self._climb, (two, all_cells)), key=lambda candidate: candidate[0])
        others = np.repeat(np.arange(len(unit)), pair[2:]).tolist()
        side0, side1 = (self._records([cell] * (cell >= 0) + others) for cell in pair[:2].tolist())
        return Neighbours(side0, side1, self.relation)

    def _climb(self, lines: list[Line]) -> tuple[float, Ints]:
        """Return the best pair that a search from these mixtures finds, after its mean: see `worst_case`."""
        pairs = np.unique(np.concatenate([self._mixtures(*line) for line in lines]), axis=0)
        largest_share, best_pair, failed = -1.0, pairs[0], 0
        while failed < 2:
            shares = self._shares(pairs)
            beam = pairs[np.argsort(-shares, kind="stable")[:BEAM_WIDTH]]
            failed = failed + 1 if shares.max() <= largest_share * (1.0 + 1e-9) else 0
            if failed == 0:
                largest_share, best_pair = float(shares.max()), beam[0]
            pairs = np.unique(np.concatenate([_records_moved(pair) for pair in beam]), axis=0)
        return largest_share, best_pair

    def _mixtures(self, cell0: int | None, cell1: int, first: Floats, last: Floats) -> Ints:
        """Return the pairs around those at which the best database changes, as the others go from `first` to `last`.

        A row is a pair: the cell of the differing record on each side, -1 for none, and the histogram of the others.
        Shape `(n_pairs, 2 + n_cells)`.
        """
        n_others = self.n_records - 1

        def pairs(n_last: Ints) -> Ints:
            spread = np.multiply.outer(n_others - n_last, first.cumsum()) + np.multiply.outer(n_last, last.cumsum())
            others = np.diff(np.rint(spread).astype(np.int64), axis=1, prepend=0)
            return np.insert(others, [0, 0], [-1 if cell0 is None else cell0, cell1], axis=1)

        knots = np.unique(np.linspace(0, n_others, 4 * self.n_rows + 1).astype(np.int64))
        while True:
            changed = np.diff(self._best(pairs(knots))) != 0
            wide = changed & (np.diff(knots) > 1)
            if not wide.any():
                break
            knots = np.union1d(knots, (knots[1:] + knots[:-1])[wide] // 2)
        centres = np.append(knots[1:][changed], [0, n_others // 2, n_others])
        step = max(1, int(0.25 / self.epsilon))
        return pairs(np.unique(np.add.outer(centres, step * np.arange(-HALF_WIDTH, HALF_WIDTH)).clip(0, n_others)))

    def _best(self, pairs: Ints) -> Ints:
        """Return the position of the database of the smallest error on side 0, for each pair."""
        return np.asarray(self._errors_of(self._answers_of(pairs)[0]).argmin(axis=1))

    def _answers_of(self, pairs: Ints) -> tuple[Floats, Floats]:
        """Return the answers on both sides, as counts, `(n_pairs, n_queries)`."""
        columns = np.vstack([self.workload.matrix.T, np.zeros(self.workload.n_answers)])
        others = np.asarray(pairs[:, 2:] @ columns[:-1], dtype=np.float64)
        return others + columns[pairs[:, 0]], others + columns[pairs[:, 1]]

    def _shares(self, pairs: Ints) -> Floats:
        """Return the mean of `worst_case` for each pair; 0 for all but the `MAX_PAIRS` of largest total variation."""
        width = len(self.databases) * self.workload.n_answers
        scores = [self._scores(pairs[part]) for part in blocks(len(pairs), width)]
        selected = np.argsort(-np.concatenate([_distances(*pair) for pair in scores]), kind="stable")[:MAX_PAIRS]
        score0, score1 = (np.concatenate([pair[side] for pair in scores])[selected] for side in (0, 1))
        delta, shares = DETECTABLE_DELTA * min(1.0, self.epsilon), np.zeros(len(pairs))
        for factor in RATE_FACTORS:
            log0, log1 = (np.asarray(log_softmax(factor * score, axis=1)) for score in (score0, score1))
            epsilons = np.maximum(_epsilons(log0, log1, delta), _epsilons(log1, log0, delta))
            shares[selected] += epsilons / (factor * self.epsilon * len(RATE_FACTORS))
        return shares

    def _scores(self, pairs: Ints) -> tuple[Floats, Floats]:
        """Return the scores of all databases on both sides, `(n_pairs, n_databases)`."""
        score0, score1 = (-self._rate * self._errors_of(answers) for answers in self._answers_of(pairs))
        return score0, score1

    def _positions(self, values: NDArray[Any], n_outputs: int) -> Ints:
        """Return the position of each histogram in `databases`, shape `(size,)`; -1 for impossible ones."""
        counts = np.clip(values, 0, self.n_rows).astype(np.int64)
        possible = (counts == values).all(axis=1) & (counts.sum(axis=1) == self.n_rows)
        counts[~possible] = self.databases[0]
        return np.where(possible, self._places(counts), -1)

    def _places(self, counts: Ints) -> Ints:
        """Return the position of each histogram in `databases`, which are in decreasing lexicographic order."""
        n_cells = counts.shape[1]
        remaining, places = np.full(len(counts), self.n_rows), np.zeros(len(counts), dtype=np.int64)
        for cell in range(n_cells - 1):
            after = [0, *(_number_of_databases(n_cells - cell, rows) for rows in range(self.n_rows))]
            places += np.array(after, dtype=np.int64)[remaining - counts[:, cell]]
            remaining -= counts[:, cell]
        return places

    def curve(self, neighbours: Neighbours) -> Guarantee:
        """Return the exact curve of a pair."""
        log0, log1 = (self.log_probabilities(side) for side in (neighbours.d0, neighbours.d1))
        return ExactDP.of_logs(log0, log1, self.relation)


def _records_moved(pair: Ints) -> Ints:
    """Return a pair, and those with 1, 2, 4, ... of the other records moved from one cell to another."""
    unit = np.eye(len(pair) - 2, len(pair), k=2, dtype=np.int64)
    moves = (unit[:, None, :] - unit[None, :, :]).reshape(-1, len(pair))
    steps = 2 ** np.arange(max(1, int(pair[2:].max()).bit_length()))
    moved = (pair + np.multiply.outer(steps, moves)).reshape(-1, len(pair))
    return np.asarray(moved[(moved[:, 2:] >= 0).all(axis=1)])


def _distances(score0: Floats, score1: Floats) -> Floats:
    """Return the sum of the total variations, at the rate and at four times the rate, for each pair of rows."""
    return np.asarray(
        sum(
            np.abs(np.exp(log_softmax(factor * score1, axis=1)) - np.exp(log_softmax(factor * score0, axis=1))).sum(1)
            for factor in (1.0, 4.0)
        )
    )


def _epsilons(log0: Floats, log1: Floats, delta: float) -> Floats:
    """Return the smallest epsilon >= 0 with P1(S) <= e^epsilon P0(S) + delta for all S, for each row of two laws.

    The events that matter are those of the k largest ratios, and epsilon is the largest ln((P1 - delta) / P0) of them.
    """
    order = np.argsort(log0 - log1, axis=1, kind="stable")
    sums0, sums1 = (np.logaddexp.accumulate(np.take_along_axis(log, order, axis=1), axis=1) for log in (log0, log1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.fmax(np.log(np.exp(sums1) - delta) - sums0, 0.0).max(axis=1))


def _number_of_databases(n_cells: int, n_rows: int) -> int:
    """Return the number of multisets of `n_rows` rows out of `n_cells`, C(n_rows + n_cells - 1, n_rows).

    It is at most n_cells^n_rows.

    Example:
        >>> _number_of_databases(4, 3), 4**3
        (20, 64)
    """
    whole(1, n_cells=n_cells)
    whole(0, n_rows=n_rows)
    return math.comb(n_rows + n_cells - 1, n_rows)


def rows_needed(n_queries: int, alpha: float) -> float:
    """Return log2(n_queries) / alpha^2 rows, so that some database answers every query within `alpha`.

    Rows drawn at random from the records have this property with positive probability: by Hoeffding's inequality
    2 n_queries e^(-2 rows alpha^2) < 1 is sufficient, and ln(2 k) / 2 < log2 k for k >= 2. (Blum, Ligett and Roth
    2008.)

    Example:
        >>> round(rows_needed(1000, 0.1), 2)
        996.58
    """
    whole(2, n_queries=n_queries)
    open_unit(alpha=alpha)
    return math.log2(n_queries) / alpha**2


def excess_bound(
    n_queries: int, alpha: float, *, n_cells: int, n_records: int, epsilon: float, failure: float
) -> float:
    """Return a bound on the excess of the error over `alpha` that fails with probability at most `failure`.

    The bound is (2 / (epsilon n)) (rows_needed ln n_cells - ln failure) for queries in [0, 1]: the number of databases
    is at most n_cells^rows. It applies to domains that are too large to enumerate.

    Example:
        >>> round(excess_bound(1000, 0.1, n_cells=2**10, n_records=10**6, epsilon=1.0, failure=0.05), 7)
        0.0138215
    """
    whole(1, n_cells=n_cells, n_records=n_records)
    positive(epsilon=epsilon)
    open_unit(failure=failure)
    log_range = rows_needed(n_queries, alpha) * math.log(n_cells)
    return 2.0 / (epsilon * n_records) * (log_range - math.log(failure))
