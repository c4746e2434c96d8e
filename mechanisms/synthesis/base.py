"""The interfaces of this package: read this first.

Synthetic data by select, measure, generate: choose marginals, measure them with noise, and make a table that explains
the answers. Only the first two touch the data.

    Table         the records of a dataset, coded, with their exact marginals
    Measured      one marginal, measured with noise in every run or in some
    Selection     decides which marginals are measured, with what noise; it alone reads the data, and knows its cost
    Generator     fits a distribution to what was measured: post-processing, which costs nothing
    Synthesised   the fitted distribution of each run: its marginals, and tables drawn from it

Run is axis 0 everywhere. A marginal is a tuple of names of attributes; its cells are numbered in C order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base import Dataset, Neighbours
from ..errors import ParameterError, unknown_name_message
from ..guarantees.base import Guarantee
from ..queries.domain import Domain
from ..relation import Relation
from ..validation import one_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Marginal: TypeAlias = tuple[str, ...]
NOISES = ("gaussian", "laplace")
"""The laws that the noise of a measurement may have."""


@dataclass(frozen=True, eq=False)
class Table:
    """The records of a dataset, coded, with their exact marginals.

    Args:
        domain: of the records.
        records: shape `(n_records, n_attributes)`, checked: see `Table.of`.
    """

    domain: Domain
    records: Ints
    _counted: dict[Marginal, Floats] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, domain: Domain, dataset: Dataset) -> Table:
        """The dataset as a table over `domain`; raises `ParameterError` where it does not fit."""
        return cls(domain, domain.records(dataset))

    def __len__(self) -> int:
        return len(self.records)

    def marginal(self, attributes: Sequence[str]) -> Floats:
        """How many records fall into each cell, shape `(n_cells,)`."""
        names = tuple(attributes)
        if names not in self._counted:
            cells = self.domain.cells(self.records, names)
            counts = np.bincount(cells, minlength=self.domain.project(names).n_cells)
            self._counted[names] = counts.astype(np.float64)
        return self._counted[names]


@dataclass(frozen=True, eq=False)
class Measured:
    """One marginal, measured with independent noise on each cell.

    Args:
        attributes: of the marginal, in the order of its cells.
        answers: noisy counts, shape `(size, n_cells)`: one row a run that measured it.
        standard_deviation: of the noise of a cell, > 0: one number, or one a row, shape `(size,)`.
        noise: its law, "gaussian" or "laplace".
        runs: which runs the rows belong to, shape `(size,)`; None: to all runs, in order.
    """

    attributes: Marginal
    answers: Floats
    standard_deviation: float | Floats
    noise: str = "gaussian"
    runs: Ints | None = None

    def __post_init__(self) -> None:
        one_of(NOISES, noise=self.noise)
        if self.answers.ndim != 2:
            raise ParameterError(
                f"answers must have shape (size, n_cells), but have {self.answers.shape}.", argument="answers"
            )

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def deviations(self) -> Floats:
        """Standard deviation of a cell in each row, shape `(size,)`."""
        return np.broadcast_to(np.asarray(self.standard_deviation, dtype=np.float64), (len(self),))

    def of_runs(self, runs: Ints) -> Measured:
        """Only the rows of these runs, which must all have measured it; they become runs 0, 1, 2 and so on."""
        rows = runs
        if self.runs is not None:
            order = np.argsort(self.runs)
            rows = order[np.searchsorted(self.runs[order], runs)]
        return replace(self, answers=self.answers[rows], standard_deviation=self.deviations[rows], runs=None)


def n_runs(measured: Sequence[Measured]) -> int:
    """How many runs there are: a marginal that all of them measured says so, else the last run that any measured."""
    everywhere = [len(one) for one in measured if one.runs is None]
    if everywhere:
        return everywhere[0]
    return 1 + max((int(one.runs.max()) for one in measured if one.runs is not None and len(one)), default=-1)


def groups_of_runs(measured: Sequence[Measured], size: int) -> list[tuple[Ints, list[Measured]]]:
    """Runs that measured the same marginals, and what each such group measured, as if there were no other runs."""
    took = np.zeros((size, len(measured)), dtype=np.bool_)
    for column, one in enumerate(measured):
        took[slice(None) if one.runs is None else one.runs, column] = True
    patterns, group = np.unique(took, axis=0, return_inverse=True)
    found = []
    for number, pattern in enumerate(patterns):
        runs = np.flatnonzero(group.reshape(-1) == number)
        found.append((runs, [one.of_runs(runs) for one, taken in zip(measured, pattern, strict=True) if taken]))
    return found


def estimated_total(measured: Sequence[Measured]) -> Floats:
    """Estimated number of records in each run, shape `(size,)`, at least 1.

    Each measured marginal adds up to an estimate of variance n_cells * standard_deviation^2; they are averaged with
    weights inverse to it. What all runs measured, as `groups_of_runs` gives it.
    """
    sums = np.stack([one.answers.sum(axis=1) for one in measured])
    weights = np.stack([1.0 / (one.answers.shape[1] * one.deviations**2) for one in measured])
    best: Floats = (weights * sums).sum(axis=0) / weights.sum(axis=0)
    return np.maximum(1.0, best)


class Synthesised(ABC):
    """A fitted distribution for each run.

    Attributes:
        domain: of its records.
        total: estimated number of records in each run, shape `(size,)`.
    """

    domain: Domain
    total: Floats

    @abstractmethod
    def marginal(self, attributes: Sequence[str]) -> Floats:
        """Expected counts in a table of `total` records, shape `(size, n_cells)`: measured marginals or not."""

    @abstractmethod
    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        """One table a run with `n_rows` records, shape `(size, n_rows, n_attributes)`."""


@dataclass(frozen=True)
class Generator(ABC):
    """Fits distributions to measured marginals. Subclasses are frozen dataclasses of options.

    Post-processing: it reads the measured answers, the law of their noise, the public domain and, where it is public,
    the number of records. It never sees the data.

    Attributes:
        deterministic: whether the fit follows from the answers alone, nothing being drawn.
        holds_domain: whether it holds the whole domain of each run, so that runs that measured different marginals can
            be fitted at once: what a run did not measure, it is given with infinite noise.
    """

    deterministic: ClassVar[bool] = False
    holds_domain: ClassVar[bool] = False

    def fit(
        self, domain: Domain, measured: Sequence[Measured], rng: np.random.Generator, *, n_records: int | None = None
    ) -> Synthesised:
        """The fitted distribution of each run.

        Args:
            domain: of the records.
            measured: at least one marginal in each run; different runs may have measured different ones.
            rng: of generators that are random; others draw nothing.
            n_records: number of records where it is public; None: estimated from the measurements.

        Raises:
            ParameterError: nothing was measured, or the model would be too large for memory.
        """
        if not measured or not (size := n_runs(measured)):
            raise ParameterError("measured must hold at least one marginal, but is empty.", argument="measured")
        if all(one.runs is None for one in measured):
            return self._fit(domain, measured, self._total(measured, n_records), rng)
        parts = []
        for runs, own in groups_of_runs(measured, size):
            if not own:
                raise ParameterError(
                    f"measured must hold at least one marginal for each run, but run {runs[0]} has none.",
                    argument="measured",
                )
            parts.append((runs, self._fit(domain, own, self._total(own, n_records), rng)))
        return Grouped(domain, size, parts)

    @staticmethod
    def _total(measured: Sequence[Measured], n_records: int | None) -> Floats:
        if n_records is None:
            return estimated_total(measured)
        return np.full(len(measured[0]), float(max(1, n_records)))

    @abstractmethod
    def _fit(
        self, domain: Domain, measured: Sequence[Measured], total: Floats, rng: np.random.Generator
    ) -> Synthesised:
        """The fit where all runs measured the same marginals; `total`, `(size,)`, is the number of records in each."""


class Grouped(Synthesised):
    """Fitted distributions of groups of runs that measured different marginals.

    Args:
        domain: of the records.
        size: number of runs.
        parts: the runs of each group, and its fit.
    """

    def __init__(self, domain: Domain, size: int, parts: Sequence[tuple[Ints, Synthesised]]) -> None:
        self.domain, self._size, self._parts = domain, size, parts
        self.total = self._gathered(lambda part: part.total)

    def marginal(self, attributes: Sequence[str]) -> Floats:
        return self._gathered(lambda part: part.marginal(attributes))

    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        return self._gathered(lambda part: part.table(n_rows, rng))

    def _gathered(self, of: Callable[[Synthesised], NDArray[np.generic]]) -> NDArray:  # type: ignore[type-arg]
        """One array with the rows of all groups, in the order of the runs."""
        found: NDArray[np.generic] | None = None
        for runs, part in self._parts:
            rows = of(part)
            if found is None:
                found = np.empty((self._size, *rows.shape[1:]), dtype=rows.dtype)
            found[runs] = rows
        assert found is not None
        return found


class Selection(ABC):
    """Which marginals are measured, and with what noise. Subclasses are frozen dataclasses of options.

    It may take one round or many, and choose by the data, as long as its `guarantee` pays for it. Only what
    `transcript` shows leaves it.

    Attributes:
        relation: the neighbouring relation that its guarantee holds for.
    """

    relation: Relation

    @abstractmethod
    def candidates(self, domain: Domain) -> tuple[Marginal, ...]:
        """Every marginal that it may measure, each once; raises `ParameterError` where it does not fit `domain`."""

    @abstractmethod
    def measure(self, table: Table, generator: Generator, size: int, rng: np.random.Generator) -> tuple[Measured, ...]:
        """What `size` independent runs measured, in the order in which it was measured.

        Args:
            table: the data.
            generator: for those who look at the current fit between rounds; others leave it alone.
            size: number of runs, >= 1.
            rng: the only source of randomness.
        """

    @abstractmethod
    def guarantee(self, domain: Domain) -> Guarantee:
        """What choosing and measuring together promise."""

    def exact_guarantee(self, domain: Domain) -> Guarantee | None:
        """The exact curve of what `transcript` shows on `worst_case(domain)`, where it is known."""
        claim = self.guarantee(domain)
        return claim if claim.exact else None

    def worst_case(self, domain: Domain) -> Neighbours:
        """A pair on which its guarantee is tight, or nearly so: see `one_record_apart`."""
        return one_record_apart(domain, self.relation)

    def transcript(self, domain: Domain, measured: Sequence[Measured], size: int) -> Floats:
        """All that the selection gives away, one row a run: what an attacker on the measurements sees.

        How often each of the candidates was measured, then the mean answers of each, zero where it was not measured;
        a single fixed round leaves the numbers out (see `FixedMarginals`). Where the order of choices tells more, a
        selection has its own.
        """
        candidates = self.candidates(domain)
        times = np.zeros((size, len(candidates)))
        answers = [np.zeros((size, domain.project(names).n_cells)) for names in candidates]
        for one in measured:
            runs = np.arange(size) if one.runs is None else one.runs
            place = candidates.index(one.attributes)
            times[runs, place] += 1.0
            answers[place][runs] += one.answers
        for place, total in enumerate(answers):
            total /= np.maximum(1.0, times[:, place, None])
        return np.concatenate([times, *answers], axis=1)

    def log_density(self, transcripts: Floats, table: Table, generator: Generator) -> Floats | None:
        """Log density of each transcript if the data are `table`, shape `(size,)`; None where it is not known.

        Args:
            transcripts: as `transcript` gives them.
            table: the data.
            generator: that of `measure`, for those who looked at the fit between rounds.
        """
        return None

    def has_density(self, generator: Generator) -> bool:
        """Whether `log_density` is known."""
        return False


def one_record_apart(domain: Domain, relation: Relation, n_records: int = 20) -> Neighbours:
    """Records of value 0 in every attribute, of which one is added, or replaced, by the last value of every one."""
    first = np.zeros((n_records, len(domain.names)), dtype=np.int64)
    other = np.array([domain.shape], dtype=np.int64) - 1
    if relation is Relation.ADD_REMOVE:
        return Neighbours(first, np.concatenate([first, other]), relation)
    return Neighbours(first, np.concatenate([first[:-1], other]), relation)


def checked_marginals(domain: Domain, marginals: Sequence[Sequence[str]]) -> tuple[Marginal, ...]:
    """The marginals as tuples of names, after checking them against `domain`.

    Raises:
        ParameterError: an empty list, an empty marginal, an unknown attribute, an attribute twice in one marginal, or a
            marginal twice, in whatever order its attributes stand.
    """
    if not marginals:
        raise ParameterError(
            "marginals must hold at least one tuple of attributes, such as ('sex', 'race'), but is empty.",
            argument="marginals",
        )
    found: dict[frozenset[str], Marginal] = {}
    for given in marginals:
        names = (given,) if isinstance(given, str) else tuple(given)
        for name in names:
            if name not in domain.names:
                message = unknown_name_message("attribute", str(name), domain.names)
                raise ParameterError(message, argument="marginals", value=name)
        if not names or len(set(names)) < len(names):
            raise ParameterError(
                f"marginals must be tuples of different attributes, at least one each, but hold {names!r}.",
                argument="marginals",
            )
        if frozenset(names) in found:
            raise ParameterError(
                f"marginals hold {names!r} twice. Give it once: with the noise of both together, it says more.",
                argument="marginals",
            )
        found[frozenset(names)] = names
    return tuple(found.values())
