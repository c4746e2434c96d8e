"""DualQuery: multiplicative weights on the queries, and a solver for the records.

A drawn query is a number from 0 to 2 m - 1: numbers below m are cells of marginals, "these attributes have these
values", and m + i is the complement of query i. `RecordSolver` finds a record that satisfies as many of the drawn
queries as possible, by exhaustive search or by an integer programme.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import product
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from ....accounting import ConcentratedDP, ExactDP, PureDP
from ....core.arrays import Floats, Ints
from ....core.base import Dataset, LogDensity, Neighbours, Outputs, Workers, example
from ....core.constraints import OpenUnit, Options, Positive, PositiveInt, at_least, one_of_names
from ....core.errors import ParameterError
from ....core.guarantee import Guarantee
from ....core.records import RecordsMechanism
from ....core.relation import Relation
from ....noise.queries.domain import Domain, check_memory
from ....noise.queries.marginals import Marginals
from .base import blocks, checked_records


@dataclass(frozen=True)
class RecordSolver(Options):
    """Base class of solvers for marginals of binary attributes."""

    marginals: Marginals

    @abstractmethod
    def __call__(self, drawn: Ints) -> Ints:
        """Return a best record for each row of drawn queries `(size, n_draws)`, shape `(size, n_attributes)`."""

    @property
    def width(self) -> int:
        """Entries per run in the largest array."""
        return 2 * self.marginals.n_answers

    def votes(self, drawn: Ints) -> Floats:
        """Return the number of draws of each query minus that of its complement, `(size, m)`."""
        m = self.marginals.n_answers
        starts = 2 * m * np.arange(len(drawn))[:, None]
        counts = np.bincount((drawn + starts).ravel(), minlength=2 * m * len(drawn)).reshape(len(drawn), 2 * m)
        return np.asarray(counts[:, :m] - counts[:, m:], dtype=np.float64)

    def score(self, drawn: Ints, records: Ints) -> Floats:
        """Return the total votes for the queries that each record satisfies, shape `(size,)`."""
        votes, rows, scores, first = self.votes(drawn), np.arange(len(records)), np.zeros(len(records)), 0
        for names, size in zip(self.marginals.marginals, self.marginals.sizes, strict=True):
            scores += votes[rows, first + self.marginals.domain.cells(records, names)]
            first += size
        return scores


@dataclass(frozen=True)
class ExhaustiveSolver(RecordSolver):
    """Exhaustive search over the records of the domain, for all runs at once; the first record in a tie."""

    @property
    def width(self) -> int:
        return max(super().width, self.marginals.domain.n_cells)

    def __call__(self, drawn: Ints) -> Ints:
        best = (self.votes(drawn) @ self._matrix.T).argmax(axis=1)
        return self.marginals.domain.records_in(best)

    @cached_property
    def _matrix(self) -> Floats:
        """Indicator of the queries that each record satisfies, `(n_cells, m)`."""
        domain = self.marginals.domain
        check_memory(domain.n_cells * self.marginals.n_answers, "the answers of all records")
        records, indicators, first = domain.records_in(np.arange(domain.n_cells)), [], 0
        for names, size in zip(self.marginals.marginals, self.marginals.sizes, strict=True):
            indicators.append(np.eye(size)[domain.cells(records, names)])
            first += size
        return np.hstack(indicators)


@dataclass(frozen=True)
class IntegerProgrammeSolver(RecordSolver):
    """Integer programme by HiGHS of scipy, one run after the other, without an array of the size of the domain.

    The variables are a bit for each attribute, and a number z in [0, 1] for each drawn query. z is at most each literal
    of a query with positive votes, and at least the sum of the literals minus their number plus 1 for a query with
    negative votes. At the optimum z is 1 exactly if all literals hold.
    """

    def __call__(self, drawn: Ints) -> Ints:
        n_attributes = len(self.marginals.domain.shape)
        return np.array([self._best(votes) for votes in self.votes(drawn)], dtype=np.int64).reshape(-1, n_attributes)

    def _best(self, votes: Floats) -> Ints:
        from scipy.optimize import Bounds, LinearConstraint, milp

        queries = np.flatnonzero(votes)
        d, n = len(self.marginals.domain.shape), len(queries)
        if not n:
            return np.zeros(d, dtype=np.int64)
        rows, upper = [], []
        for position, query in enumerate(queries):
            for row, limit in _constraints(*self._literals[query], votes[query] > 0, d, n, position):
                rows.append(row)
                upper.append(limit)
        solution = milp(
            np.concatenate([np.zeros(d), -votes[queries]]),
            integrality=np.repeat([1, 0], [d, n]),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(np.array(rows), ub=np.array(upper)),
        )
        return np.asarray(np.round(solution.x[:d]), dtype=np.int64)

    @cached_property
    def _literals(self) -> list[tuple[list[int], list[int]]]:
        """Attributes of each query, and their required values."""
        domain, literals = self.marginals.domain, []
        for names, size in zip(self.marginals.marginals, self.marginals.sizes, strict=True):
            places = [domain.index(name) for name in names]
            values = domain.project(names).records_in(np.arange(size))
            literals += [(places, row) for row in values.tolist()]
        return literals


def _constraints(
    attributes: list[int], values: list[int], positive: bool, d: int, n: int, position: int
) -> list[tuple[Floats, float]]:
    """Return rows and upper limits that couple z[position] to its literals: x where the value is 1, else 1 - x."""
    signs = np.array([1.0 if value else -1.0 for value in values])
    if positive:  # z <= x, or z <= 1 - x
        constraints = []
        for attribute, sign in zip(attributes, signs, strict=True):
            row = np.zeros(d + n)
            row[attribute], row[d + position] = -sign, 1.0
            constraints.append((row, 0.0 if sign > 0 else 1.0))
        return constraints
    row = np.zeros(d + n)  # sum of literals - z <= k - 1
    row[attributes], row[d + position] = signs, -1.0
    return [(row, float(len(attributes) - 1 - np.count_nonzero(signs < 0)))]


SOLVERS: dict[str, type[RecordSolver]] = {"all-records": ExhaustiveSolver, "highs": IntegerProgrammeSolver}
"""Solvers by name."""


VIEWS = ("transcript", "table")
MAX_TRANSCRIPTS = 100_000
"""Largest number of transcripts for which the exact curve is computed."""


@dataclass(frozen=True)
class DualQuery(RecordsMechanism):
    """DualQuery on marginals of binary attributes.

    The queries are the cells of the marginals and their complements, 1 - q: 2 m of them. In each of T rounds

        draws     s queries, independent, with probability proportional to exp(eta sum of (q(x)/n - q(r)) over the
                  records r so far): uniform in the first round
        record    r, a record that satisfies as many of these s queries as possible: an integer programme

    and the T records are the synthetic table. (Gaboardi, Gallego Arias, Hsu, Roth and Wu 2014, algorithm 1.) No array
    of the size of the domain is needed, and privacy does not depend on the solver: the records are some function of the
    draws.

    Args:
        marginals: marginals of attributes with two values each.
        n_records: public, >= 1, as for `MWEM`.
        epsilon: the claim, > 0; determines eta.
        delta: None for epsilon-DP; strictly between 0 and 1 for (epsilon, delta), by concentrated divergences.
        rounds: T, >= 2.
        samples: s, >= 1.
        solver: "highs", scipy's mixed-integer solver, one run after the other; or "all-records", an exhaustive search
            over the domain for all runs at once.
        view: "transcript": `(size, rounds, samples + 1)`, the numbers of the drawn queries, and the cell of the record;
            or "table": `(size, rounds, n_attributes)`, the records.
        relation: the neighbouring relation of the claim.

    Guarantees:
        * A draw of round t is an exponential mechanism whose utilities change by (t - 1) / n: it is
          2 eta (t - 1) / n-DP. In total, epsilon = eta T (T - 1) s / n. The utilities of queries increase while those
          of their complements decrease, so that the factor of two is needed.
        * With delta: the log ratios of a draw lie in an interval of that length, so that the mechanism is rho-zCDP with
          rho = s sum of (2 eta (t - 1) / n)^2 / 8 = eta^2 s T (T - 1) (2 T - 1) / (12 n^2).
        * The law of transcripts is exact, given the records in them.

    Example:
        >>> mechanism = DualQuery(Marginals({"a": 2, "b": 2}, 1), n_records=100, epsilon=1.0, rounds=3, samples=2)
        >>> round(mechanism.eta, 6)  # epsilon n / (T (T - 1) s)
        8.333333
        >>> mechanism.release(np.repeat([[0, 1]], 100, axis=0), 2, np.random.default_rng(0)).values.shape
        (2, 3, 3)
    """

    _example = example(
        marginals=Marginals(Domain.of({"a": 2, "b": 2}), (("a",), ("b",))), n_records=2, rounds=2, samples=1
    )

    marginals: Marginals
    n_records: PositiveInt
    _: KW_ONLY
    epsilon: Positive
    delta: OpenUnit | None = None
    rounds: Annotated[int, at_least(2)] = 10
    samples: PositiveInt = 10
    solver: Annotated[str, one_of_names(*SOLVERS)] = "all-records"
    view: Annotated[str, one_of_names(*VIEWS)] = "transcript"
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.marginals, Marginals) or set(self.marginals.domain.shape) != {2}:
            raise ParameterError(
                argument="marginals",
                value=self.marginals,
                allowed="be Marginals of attributes with two values each, such as Marginals({'a': 2, 'b': 2}, 2)",
            )

    @property
    def eta(self) -> float:
        """Learning rate: the increase of the log weight of a query for an error of 1 in one round."""
        rounds, samples = self.rounds, self.accounted_samples
        if self.delta is None:
            return self.epsilon * self.n_records / (rounds * (rounds - 1) * samples)
        squares = samples * rounds * (rounds - 1) * (2 * rounds - 1) / 12.0
        return self.n_records * math.sqrt(self._concentrated.rho / squares)

    @property
    def accounted_samples(self) -> int:
        """Number of draws in a round for which eta accounts: all of them."""
        return self.samples

    @cached_property
    def _concentrated(self) -> ConcentratedDP:
        return ConcentratedDP.for_budget(epsilon=self.epsilon, delta=self.delta or 0.5, relation=self.relation)

    def guarantee(self) -> Guarantee:
        """Return `PureDP(epsilon)`, or the `ConcentratedDP` of (epsilon, delta)."""
        return PureDP(self.epsilon, relation=self.relation) if self.delta is None else self._concentrated

    @property
    def workers(self) -> Workers:
        """Processes if the solver handles one run after the other, else threads."""
        return Workers.PROCESSES if self.solver == "highs" else Workers.THREADS

    @cached_property
    def best_record(self) -> RecordSolver:
        """Solver for the records."""
        return SOLVERS[self.solver](self.marginals)

    # --- release ------------------------------------------------------------------------------------------------------

    def means(self, dataset: Dataset) -> Floats:
        """Return the exact answers, as fractions of `n_records`, shape `(m,)`."""
        records = checked_records(self.marginals.domain, dataset, self.n_records, self.relation)
        return np.asarray(self.marginals(records) / self.n_records)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the outputs of `size` independent runs; see `view`."""
        means = self.means(dataset)
        parts = blocks(size, self.best_record.width)
        return Outputs(np.concatenate([self._block(means, runs.stop - runs.start, rng) for runs in parts]))

    def _block(self, means: Floats, size: int, rng: np.random.Generator) -> Ints:
        transcript = np.empty((size, self.rounds, self.samples + 1), dtype=np.int64)
        errors = np.zeros((size, len(means)))
        for step in range(self.rounds):
            transcript[:, step, :-1] = _drawn(self._log_probabilities(errors), self.samples, rng)
            records = self.best_record(transcript[:, step, :-1])
            transcript[:, step, -1] = self.marginals.domain.cells(records)
            errors += means - self._answers(transcript[:, step, -1])
        return transcript if self.view == "transcript" else self.marginals.domain.records_in(transcript[:, :, -1])

    def _log_probabilities(self, errors: Floats) -> Floats:
        """Return the log probability of each query and then of each complement, `(size, 2 m)`."""
        return np.asarray(log_softmax(self.eta * np.hstack([errors, -errors]), axis=1))

    def _answers(self, cells: Ints) -> Floats:
        """Return the indicator of the queries that each record satisfies, `(size, m)`."""
        return _satisfied_queries(self.marginals, self.marginals.domain.records_in(cells))

    # --- law ----------------------------------------------------------------------------------------------------------

    def output_law(self) -> LogDensity | None:
        """Return self, the law of transcripts given the records in them; None for tables."""
        return self if self.view == "transcript" else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of the draws of each transcript under `dataset`, shape `(size,)`.

        It is -inf if a number is not that of a query. The records are read from the transcript: on both sides they are
        the same function of the draws.
        """
        values, means = np.asarray(outputs.values), self.means(dataset)
        parts = blocks(len(values), 2 * len(means))
        return np.concatenate([self._log_densities(values[runs], means) for runs in parts])

    def _log_densities(self, values: NDArray[np.generic], means: Floats) -> Floats:
        limits = np.append(np.full(self.samples, 2 * len(means)), self.marginals.domain.n_cells)
        whole_numbers = np.clip(values, 0, limits - 1).astype(np.int64)
        possible = (whole_numbers == values).all(axis=(1, 2))
        log_density, errors = np.zeros(len(values)), np.zeros((len(values), len(means)))
        for step in range(self.rounds):
            log_p = self._log_probabilities(errors)
            log_density += np.take_along_axis(log_p, whole_numbers[:, step, :-1], axis=1).sum(axis=1)
            errors += means - self._answers(whole_numbers[:, step, -1])
        return np.where(possible, log_density, -np.inf)

    def worst_case(self) -> Neighbours:
        """Return a pair of records of zeros, except one record of ones on side 1: every marginal changes."""
        zeros = np.zeros((self.n_records, len(self.marginals.domain.shape)), dtype=np.int64)
        if self.relation is Relation.ADD_REMOVE:
            return Neighbours(zeros[1:], zeros, self.relation)
        ones = zeros.copy()
        ones[0] = 1
        return Neighbours(zeros, ones, self.relation)

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self.means(dataset)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()` for transcripts, by enumeration; None if there are too many."""
        return self.curve(self.worst_case())

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """Return the exact curve of a pair for transcripts, by enumeration of all draws; None if there are too many."""
        if self.view != "transcript" or self._n_transcripts > MAX_TRANSCRIPTS:
            return None
        outputs = Outputs(self._transcripts)
        log0, log1 = (self.log_density(outputs, side) for side in (neighbours.d0, neighbours.d1))
        return ExactDP.of_logs(log0, log1, self.relation)

    @property
    def _n_transcripts(self) -> int:
        return int((2 * self.marginals.n_answers) ** (self.samples * self.rounds))

    @cached_property
    def _transcripts(self) -> Ints:
        """All possible draws of the queries, with the records that the solver finds."""
        draws = np.array(list(product(range(2 * self.marginals.n_answers), repeat=self.samples)), dtype=np.int64)
        cells = self.marginals.domain.cells(self.best_record(draws))
        rounds = np.column_stack([draws, cells])
        indices = np.indices((len(rounds),) * self.rounds).reshape(self.rounds, -1).T
        return np.asarray(rounds[indices])


def _satisfied_queries(marginals: Marginals, records: Ints) -> Floats:
    """Return the indicator of the cells of the marginals that contain each record, `(size, m)` zeros and ones."""
    indicators = np.zeros((len(records), marginals.n_answers))
    first, rows = 0, np.arange(len(records))
    for names, size in zip(marginals.marginals, marginals.sizes, strict=True):
        indicators[rows, first + marginals.domain.cells(records, names)] = 1.0
        first += size
    return indicators


def _drawn(log_probabilities: Floats, n_draws: int, rng: np.random.Generator) -> Ints:
    """Draw independently from each row by inversion of the distribution function, `(size, n_draws)`."""
    steps = np.cumsum(np.exp(log_probabilities), axis=1)
    steps = np.minimum(steps / steps[:, -1:], 1.0)
    size, n_queries = steps.shape
    rows = np.arange(size)[:, None]
    positions = np.searchsorted((steps + rows).ravel(), (rng.random((size, n_draws)) + rows).ravel(), side="right")
    return np.asarray(np.minimum(positions.reshape(size, n_draws) - rows * n_queries, n_queries - 1))
