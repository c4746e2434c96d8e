"""Interfaces of the synthetic data package: read this module first.

Synthetic data by select, measure, generate: choose marginals, measure them with noise, and generate a table that fits
the answers. Only the first two steps access the data.

    Table         the records of a dataset, coded, with their exact marginals
    Measured      one marginal, measured with noise in all runs or in some
    Selection     chooses the measured marginals and their noise; only this step reads the data and has a privacy cost
    Generator     fits a distribution to the measurements: post-processing, without privacy cost
    Synthesised   the fitted distribution of each run: its marginals, and tables drawn from it

Axis 0 is the run everywhere. A marginal is a tuple of attribute names; its cells are numbered in C order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats, Ints
from ...core.base import Dataset, Neighbours
from ...core.constraints import AddOrReplace, Options, check_fields, one_of_names
from ...core.errors import ParameterError, unknown_name_message
from ...core.guarantee import Guarantee
from ...core.registry import named_in
from ...core.relation import Relation
from ...noise.queries.domain import Domain

Marginal: TypeAlias = tuple[str, ...]
NOISES = ("gaussian", "laplace")
"""Possible noise distributions of a measurement."""


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Coded records of a dataset, with their exact marginals.

    Args:
        domain: domain of the records.
        records: shape `(n_records, n_attributes)`, checked: see `CodedTable.of`.
    """

    domain: Domain
    records: Ints
    _counted: dict[Marginal, Floats] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, domain: Domain, dataset: Dataset) -> CodedTable:
        """Return the dataset as a table over `domain`; raise `ParameterError` if it does not fit."""
        return cls(domain, domain.records(dataset))

    def __len__(self) -> int:
        return len(self.records)

    def marginal(self, attributes: Sequence[str]) -> Floats:
        """Return the number of records in each cell, shape `(n_cells,)`."""
        names = tuple(attributes)
        if names not in self._counted:
            cells = self.domain.cells(self.records, names)
            counts = np.bincount(cells, minlength=self.domain.project(names).n_cells)
            self._counted[names] = counts.astype(np.float64)
        return self._counted[names]


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """One marginal, measured with independent noise on each cell.

    Args:
        attributes: attributes of the marginal, in the order of its cells.
        answers: noisy counts, shape `(size, n_cells)`: one row per run that measured the marginal.
        standard_deviation: standard deviation of the noise of a cell, > 0: one number, or one per row, shape `(size,)`.
        noise: distribution of the noise, "gaussian" or "laplace".
        runs: run of each row, shape `(size,)`; None if the rows are all runs, in order.
    """

    attributes: Marginal
    answers: Floats
    standard_deviation: float | Floats
    noise: Annotated[str, one_of_names(*NOISES)] = "gaussian"
    runs: Ints | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.answers.ndim != 2:
            raise ParameterError(
                f"answers must have shape (size, n_cells), but have {self.answers.shape}.", argument="answers"
            )

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def run_numbers(self) -> Ints:
        """Run of each row, shape `(size,)`."""
        return np.arange(len(self)) if self.runs is None else self.runs

    @property
    def deviations(self) -> Floats:
        """Standard deviation of a cell in each row, shape `(size,)`."""
        return np.broadcast_to(np.asarray(self.standard_deviation, dtype=np.float64), (len(self),))

    def of_runs(self, runs: Ints) -> NoisyMarginal:
        """Return only the rows of these runs, renumbered from 0; all of them must have measured the marginal."""
        rows = runs
        if self.runs is not None:
            order = np.argsort(self.runs)
            rows = order[np.searchsorted(self.runs[order], runs)]
        return replace(self, answers=self.answers[rows], standard_deviation=self.deviations[rows], runs=None)


def n_runs(measured: Sequence[NoisyMarginal]) -> int:
    """Return the number of runs: from a marginal that all runs measured, otherwise the last run with a measurement."""
    sizes = [len(measurement) for measurement in measured if measurement.runs is None]
    if sizes:
        return sizes[0]
    return 1 + max(
        (int(measurement.runs.max()) for measurement in measured if measurement.runs is not None and len(measurement)),
        default=-1,
    )


def _groups_of_runs(measured: Sequence[NoisyMarginal], size: int) -> list[tuple[Ints, list[NoisyMarginal]]]:
    """Return groups of runs that measured the same marginals, each with its measurements renumbered from run 0."""
    has_measured = np.zeros((size, len(measured)), dtype=np.bool_)
    for column, measurement in enumerate(measured):
        has_measured[measurement.run_numbers, column] = True
    patterns, group = np.unique(has_measured, axis=0, return_inverse=True)
    groups = []
    for number, pattern in enumerate(patterns):
        runs = np.flatnonzero(group.reshape(-1) == number)
        included = [measurement for measurement, included in zip(measured, pattern, strict=True) if included]
        groups.append((runs, [measurement.of_runs(runs) for measurement in included]))
    return groups


def _estimated_total(measured: Sequence[NoisyMarginal], size: int) -> Floats:
    """Return the estimated number of records in each run, shape `(size,)`, at least 1.

    The sum of each measured marginal is an estimate with variance n_cells * standard_deviation^2; these estimates are
    averaged with weights inverse to the variance.
    """
    sums, weights = np.zeros(size), np.zeros(size)
    for measurement in measured:
        runs = measurement.run_numbers
        weight = 1.0 / (measurement.answers.shape[1] * measurement.deviations**2)
        sums[runs] += weight * measurement.answers.sum(axis=1)
        weights[runs] += weight
    return np.maximum(1.0, sums / np.maximum(weights, np.finfo(np.float64).tiny))


class FittedDistribution(ABC):
    """A fitted distribution for each run.

    Attributes:
        domain: domain of the records.
        total: estimated number of records in each run, shape `(size,)`.
    """

    domain: Domain
    total: Floats

    @abstractmethod
    def marginal(self, attributes: Sequence[str]) -> Floats:
        """Return expected counts in a table of `total` records, shape `(size, n_cells)`, for any marginal."""

    @abstractmethod
    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        """Return one table per run with `n_rows` records, shape `(size, n_rows, n_attributes)`."""


@named_in("dpassay.mechanisms.literature.synthetic_data.catalogue:generators")
@dataclass(frozen=True)
class Generator(Options):
    """Method that fits distributions to measured marginals; subclasses are frozen dataclasses of options.

    Post-processing: it reads the measured answers, the distribution of their noise, the public domain and, if it is
    public, the number of records. It never reads the data.

    Attributes:
        deterministic: True if the fit is a function of the answers, without random draws.
        holds_domain: True if the fit holds the whole domain of each run, so that runs that measured different marginals
            can be fitted together: a marginal that a run did not measure is passed with infinite noise.
    """

    deterministic: ClassVar[bool] = False
    holds_domain: ClassVar[bool] = False

    def fit(
        self,
        domain: Domain,
        measured: Sequence[NoisyMarginal],
        rng: np.random.Generator,
        *,
        n_records: int | None = None,
    ) -> FittedDistribution:
        """Return the fitted distribution of each run.

        Args:
            domain: domain of the records.
            measured: at least one marginal in each run; different runs may have measured different ones.
            rng: random source of generators that are random; others draw nothing.
            n_records: number of records if it is public; None: estimated from the measurements.

        Raises:
            ParameterError: nothing was measured, or the model would be too large for memory.
        """
        if not measured or not (size := n_runs(measured)):
            raise ParameterError("measured must hold at least one marginal, but is empty.", argument="measured")
        if all(measurement.runs is None for measurement in measured):
            return self._fit(domain, measured, self._total(measured, size, n_records), rng)
        parts = []
        for runs, group in _groups_of_runs(measured, size):
            if not group:
                raise ParameterError(
                    f"measured must hold at least one marginal for each run, but run {runs[0]} has none.",
                    argument="measured",
                )
            parts.append((runs, self._fit(domain, group, self._total(group, len(runs), n_records), rng)))
        return GroupedDistribution(domain, size, parts)

    @staticmethod
    def _total(measured: Sequence[NoisyMarginal], size: int, n_records: int | None) -> Floats:
        if n_records is None:
            return _estimated_total(measured, size)
        return np.full(size, float(max(1, n_records)))

    @abstractmethod
    def _fit(
        self, domain: Domain, measured: Sequence[NoisyMarginal], total: Floats, rng: np.random.Generator
    ) -> FittedDistribution:
        """Return the fit if all runs measured the same marginals; `total`, `(size,)`, is their number of records."""


class GroupedDistribution(FittedDistribution):
    """Fitted distributions of groups of runs that measured different marginals.

    Args:
        domain: domain of the records.
        size: number of runs.
        parts: the runs of each group, and the fit of the group.
    """

    def __init__(self, domain: Domain, size: int, parts: Sequence[tuple[Ints, FittedDistribution]]) -> None:
        self.domain, self._size, self._parts = domain, size, parts
        self.total = self._gathered(lambda part: part.total)

    def marginal(self, attributes: Sequence[str]) -> Floats:
        return self._gathered(lambda part: part.marginal(attributes))

    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        return self._gathered(lambda part: part.table(n_rows, rng))

    def _gathered(self, select_rows: Callable[[FittedDistribution], NDArray[np.generic]]) -> NDArray:  # type: ignore[type-arg]
        """Return one array with the rows of all groups, in the order of the runs."""
        gathered: NDArray[np.generic] | None = None
        for runs, part in self._parts:
            rows = select_rows(part)
            if gathered is None:
                gathered = np.empty((self._size, *rows.shape[1:]), dtype=rows.dtype)
            gathered[runs] = rows
        assert gathered is not None
        return gathered


@named_in("dpassay.mechanisms.literature.synthetic_data.catalogue:selections")
class MarginalSelection(Options):
    """Choice and noisy measurement of marginals; subclasses are frozen dataclasses of options.

    A selection may take one round or many, and may choose by the data if its `guarantee` accounts for this. Only the
    contents of `transcript` are released.

    Attributes:
        relation: the neighbouring relation that its guarantee holds for.
    """

    relation: AddOrReplace

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "relation", Relation.of(self.relation))

    @property
    def sensitivity(self) -> float:
        """Number of cells of a marginal that a neighbour moves by one: the sensitivity of an L1 distance."""
        return 1.0 if self.relation is Relation.ADD_REMOVE else 2.0

    @abstractmethod
    def candidates(self, domain: Domain) -> tuple[Marginal, ...]:
        """Return every marginal that may be measured, each once; raise `ParameterError` if they do not fit `domain`."""

    @abstractmethod
    def measure(
        self, table: CodedTable, generator: Generator, size: int, rng: np.random.Generator
    ) -> tuple[NoisyMarginal, ...]:
        """Return the measurements of `size` independent runs, in the order in which they were made.

        Args:
            table: the data.
            generator: for selections that look at the current fit between rounds; others ignore it.
            size: number of runs, >= 1.
            rng: the only source of randomness.
        """

    @abstractmethod
    def guarantee(self, domain: Domain) -> Guarantee:
        """Return the guarantee of choosing and measuring together."""

    def exact_guarantee(self, domain: Domain) -> Guarantee | None:
        """Return the exact curve of `transcript` on `worst_case(domain)`, or None if it is unknown."""
        claim = self.guarantee(domain)
        return claim if claim.exact else None

    def worst_case(self, domain: Domain) -> Neighbours:
        """Return a pair on which the guarantee is tight, or nearly so: see `_one_record_apart`."""
        return _one_record_apart(domain, self.relation)

    def transcript(self, domain: Domain, measured: Sequence[NoisyMarginal], size: int) -> Floats:
        """Return everything that the selection releases, one row per run: the measurements that an attacker sees.

        The row holds the number of measurements of each candidate, then the mean answers of each, zero if it was not
        measured; a single fixed round omits the numbers (see `FixedMarginals`). Selections in which the order of the
        choices matters override this method.
        """
        candidates = self.candidates(domain)
        times = np.zeros((size, len(candidates)))
        answers = [np.zeros((size, domain.project(names).n_cells)) for names in candidates]
        for measurement in measured:
            runs = measurement.run_numbers
            index = candidates.index(measurement.attributes)
            times[runs, index] += 1.0
            answers[index][runs] += measurement.answers
        for index, total in enumerate(answers):
            total /= np.maximum(1.0, times[:, index, None])
        return np.concatenate([times, *answers], axis=1)

    def log_density(self, transcripts: Floats, table: CodedTable, generator: Generator) -> Floats | None:
        """Return the log density of each transcript if the data are `table`, `(size,)`; None if it is unknown.

        Args:
            transcripts: return value of `transcript`.
            table: the data.
            generator: the generator passed to `measure`, for selections that look at the fit between rounds.
        """
        return None

    def has_density(self, generator: Generator) -> bool:
        """Return True if `log_density` is known."""
        return False


def _one_record_apart(domain: Domain, relation: Relation, n_records: int = 20) -> Neighbours:
    """Return a pair that differs in one record of last values, added or in place of one; all others have values 0."""
    zeros = np.zeros((n_records, len(domain.names)), dtype=np.int64)
    other = np.array([domain.shape], dtype=np.int64) - 1
    if relation is Relation.ADD_REMOVE:
        return Neighbours(zeros, np.concatenate([zeros, other]), relation)
    return Neighbours(zeros, np.concatenate([zeros[:-1], other]), relation)


def checked_marginals(domain: Domain, marginals: Sequence[Sequence[str]]) -> tuple[Marginal, ...]:
    """Return the marginals as tuples of names, after checking them against `domain`.

    Raises:
        ParameterError: an empty list, an empty marginal, an unknown attribute, an attribute twice in one marginal, or a
            marginal twice, regardless of the order of its attributes.
    """
    if not marginals:
        raise ParameterError(
            "marginals must hold at least one tuple of attributes, such as ('sex', 'race'), but is empty.",
            argument="marginals",
        )
    checked: dict[frozenset[str], Marginal] = {}
    for marginal in marginals:
        names = (marginal,) if isinstance(marginal, str) else tuple(marginal)
        for name in names:
            if name not in domain.names:
                message = unknown_name_message("attribute", str(name), domain.names)
                raise ParameterError(message, argument="marginals", value=name)
        if not names or len(set(names)) < len(names):
            raise ParameterError(
                f"marginals must be tuples of different attributes, at least one each, but hold {names!r}.",
                argument="marginals",
            )
        if frozenset(names) in checked:
            raise ParameterError(
                f"marginals hold {names!r} twice. List it once: the noise budget of both then gives one better answer.",
                argument="marginals",
            )
        checked[frozenset(names)] = names
    return tuple(checked.values())


def check_public_rows(n_rows: int | None, relation: Relation) -> None:
    """Raise `ParameterError` if a table would have as many rows as records, and their number is private."""
    if n_rows is None and relation is not Relation.REPLACE_ONE:
        raise ParameterError(
            "n_rows is missing: under 'add_remove' the number of records is private, and a table would leak it. "
            "Set a public number of rows, such as n_rows=1000.",
            argument="n_rows",
        )
