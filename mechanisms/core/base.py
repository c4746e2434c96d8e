"""Interfaces of this package: read this module first.

    Relation     how two neighbouring datasets may differ (relation.py)
    Guarantee    a privacy guarantee: epsilon(delta), delta(epsilon) and the trade-off curve (guarantee.py)
    Neighbours   a pair of datasets and the relation between them
    Outputs      the outputs of `size` runs of a mechanism, exceptional outputs included
    Mechanism    a randomised algorithm with a claimed guarantee
    LogDensity   the output distribution of a mechanism, where it is known
    KnownCurve   a mechanism or output distribution with a known exact curve on any pair
    KnownViews   a mechanism with curves for adversaries who see everything, and only its output
    Workers      how a mechanism may be run: in threads, in processes, or in this process only

A mechanism has eight public members; a subclass defines the first four, and overrides the others where it can:

    relation          the relation that its guarantee holds for
    release           performs `size` independent runs on a dataset in one call
    guarantee         the claim
    worst_case        a pair on which the claim is tight or nearly tight
    bind              checks a pair, and adapts the mechanism to the pair if necessary
    exact_guarantee   the exact curve on the worst case, where it is known; differs from the claim in broken twins
    output_law        the output distribution, where it is known, for the likelihood ratio
    workers           the kind of workers that suits `release`

A mechanism whose outputs have a known law defines `log_density(outputs, dataset)`, and is then its own output law.

Side 0 ("out") runs on `d0`, without the record under attack; side 1 ("in") runs on `d1`, with this record.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .arrays import Floats
from .constraints import Options
from .errors import ParameterError, RelationError
from .output_names import NO_NAMES, OutputNames
from .registry import Tier, named_in
from .relation import Relation
from .validation import called_as

if TYPE_CHECKING:
    from .guarantee import Guarantee

Dataset: TypeAlias = Any
"""Input of a mechanism: an array, a DataFrame, an `(X, y)` pair, or a vector of query answers."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A pair of datasets that differ in one record.

    Args:
        d0: the dataset of side 0, without the record.
        d1: the dataset of side 1, with it.
        relation: a `Relation` or its name: "add_remove", "replace_one" or "zero_out".

    Raises:
        ParameterError: an unknown relation.

    The constructor does not check that the datasets are neighbours: `Mechanism.bind` does.
    """

    d0: Dataset
    d1: Dataset
    relation: Relation

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))

    def side(self, side: int) -> Dataset:
        """Return `d1` for side 1, `d0` for side 0."""
        return self.d1 if side else self.d0


Neighbours.__init__ = called_as("Neighbours(d0, d1, 'add_remove')")(Neighbours.__init__)  # type: ignore[method-assign]


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs of `size` independent runs; axis 0 is the run.

    Args:
        values: `(size, ...)` numbers; zeros in a row whose output is exceptional.
        events: None when every run returned an ordinary finite value; otherwise `(size,)` strings: "" for an
            ordinary run, else the exceptional output, such as "nan", "None", "raised ValueError".
        texts: what numbers that stand for texts mean, for descriptions: number -> label. Usually empty.

    No run is ever dropped: an event on one side only is a leak.
    """

    values: NDArray[Any]
    events: NDArray[np.str_] | None = None
    texts: Mapping[float, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.events is not None and self.events.shape != self.values.shape[:1]:
            raise ParameterError(
                f"events must have one entry a run, {self.values.shape[:1]}, but have shape {self.events.shape}.",
                argument="events",
            )

    @property
    def labels(self) -> NDArray[np.str_]:
        """`events`, with "" for every run where it is None."""
        return np.full(len(self), "") if self.events is None else self.events

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __getitem__(self, runs: slice) -> Outputs:
        return Outputs(self.values[runs], None if self.events is None else self.events[runs], self.texts)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)


class Data(StrEnum):
    """Kinds of datasets of mechanisms."""

    RECORDS = "records"
    """A row for each record, each like one of those of `worst_case()`."""
    REALS = "real numbers"
    """Records that may be any real numbers."""
    ANSWERS = "answers"
    """The vector of answers to queries."""
    SCORES = "scores"
    """The scores of candidates."""
    VOTES = "votes"
    """The votes of teachers for each class."""
    CATEGORY = "category"
    """The category of one user."""
    NUMBERS = "numbers"
    """The bounded numbers of one user."""
    TRAINING = "training data"
    """Features and labels, or clients that have some."""
    OTHER = "other"
    """Texts, graphs, or records with the user of each."""


def example(**options: Any) -> Mapping[str, Any]:
    """Return the options of an example, as a mechanism declares them: see `Mechanism._example`."""
    return MappingProxyType(options)


@named_in("dpassay.mechanisms.catalogue:catalogue")
class Mechanism(Options):
    """A randomised algorithm with a claimed guarantee.

    Subclasses are frozen dataclasses: their fields are the configuration; datasets and `rng` are call arguments.
    """

    relation: Relation
    """The relation that the guarantee holds for."""

    _loss_powers: ClassVar[Mapping[str, float]] = {
        **dict.fromkeys(("epsilon", "epsilon0", "epsilon_each", "mu"), 1.0),
        "rho": 2.0,
        **dict.fromkeys(("noise_multiplier", "standard_deviation", "check_deviation", "answer_deviation"), -1.0),
    }
    """Power of the privacy loss with which each option grows; options that do not scale the loss are left out.

    At three times the loss an option is multiplied by 3^power. Mechanisms within options scale with the options of
    their own. Worst cases are tested with it: they must show a mechanism with several times the loss.
    """

    _tier: ClassVar[Tier | None] = None
    """Trust tier; None for that of the catalogue: see `dpassay.mechanisms.tiers`."""

    _dataset: ClassVar[Data] = Data.RECORDS
    """Kind of the dataset of the example: which data at the edges the tests run it on."""

    _example: ClassVar[Mapping[str, Any]] = {}
    """Values of options for a small instance, which the tests run: required ones, and those that keep it small or give
    it an exact curve. A subclass inherits them; a field that it declares again with a default has this default."""

    def __post_init__(self) -> None:
        """Check the fields, and turn the name of a relation into a `Relation`; a default of None is left as it is."""
        super().__post_init__()
        relation = getattr(self, "relation", None)
        if relation is not getattr(type(self), "relation", None):
            object.__setattr__(self, "relation", Relation.of(relation))  # type: ignore[arg-type]

    @abstractmethod
    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Run the mechanism `size` times, independently, on `dataset`.

        Args:
            dataset: the input of the mechanism.
            size: number of runs, >= 1.
            rng: the only source of randomness.

        Returns:
            Outputs whose `values` have shape `(size, ...)`.
        """

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Return the claim: epsilon(delta) and the trade-off curve that theory or the author states."""

    @abstractmethod
    def worst_case(self) -> Neighbours:
        """Return a pair on which the claim is tight or nearly tight."""

    def bind(self, neighbours: Neighbours) -> Mechanism:
        """Check the pair and return the mechanism to run on it; most mechanisms return self.

        Raises:
            RelationError: the claim holds for another relation.
            NeighboursError: the datasets are not neighbours under this relation.
        """
        if neighbours.relation is not self.relation:
            raise RelationError(
                f"the guarantee of {type(self).__name__} holds for relation {self.relation.value!r}, but the pair has "
                f"{neighbours.relation.value!r}. Give a pair under {self.relation.value!r}, or a mechanism whose "
                f"guarantee holds under {neighbours.relation.value!r}."
            )
        self._check_pair(neighbours)
        return self

    def _check_pair(self, neighbours: Neighbours) -> None:
        """Raise `NeighboursError` or `ParameterError` unless the guarantee covers the pair; for subclasses."""

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve on `worst_case()`, or None if unknown; it differs from the claim in broken twins."""
        claim = self.guarantee()
        return claim if claim.exact else None

    def output_law(self) -> LogDensity | None:
        """Return the distribution of the outputs: the mechanism itself if it has `log_density`; None where unknown."""
        return self if callable(getattr(self, "log_density", None)) else None  # type: ignore[return-value]

    def _output_names(self, texts: Mapping[float, str]) -> OutputNames:
        """Return the names of the numbers of an output; `texts` are those of `Outputs`."""
        return NO_NAMES

    @property
    def workers(self) -> Workers:
        """Kind of workers that suits `release`: threads, unless `release` spends its time in Python code."""
        return Workers.THREADS


class LogDensity(Protocol):
    """Distribution of the outputs of a mechanism; it can be pickled, since workers receive it."""

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density or log probability of each output under `dataset`, `(size,)`; -inf if impossible."""
        ...


@runtime_checkable
class KnownCurve(Protocol):
    """Mechanism, or output law, whose exact curve is known on any pair, not only on the worst case."""

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """Return the exact curve of the pair, or None if it cannot be computed."""
        ...


@runtime_checkable
class KnownViews(Protocol):
    """Mechanism with curves for an adversary who sees everything, and for one who sees only its output."""

    def white_box_guarantee(self) -> Guarantee | None:
        """Return the curve of the worst-case pair if every intermediate release is seen; None where unknown."""
        ...

    def view_guarantee(self, neighbours: Neighbours) -> Guarantee | None:
        """Return the curve of the output on a pair; None where unknown."""
        ...


def known_law(mechanism: Mechanism) -> LogDensity:
    """Return the output law of a mechanism.

    Raises:
        ParameterError: the law is not known.
    """
    law = mechanism.output_law()
    if law is None:
        raise unknown_law(mechanism)
    return law


def unknown_law(mechanism: Mechanism) -> ParameterError:
    """Return the error for a mechanism whose output law is not known."""
    return ParameterError(
        f"the law of the outputs of {type(mechanism).__name__} is not known: its output_law() is None. "
        "Choose a mechanism whose law is known, or an attack that needs no densities, such as 'classifier'.",
        argument="mechanism",
        value=mechanism,
    )


class Workers(StrEnum):
    """Kinds of workers that may run a mechanism."""

    THREADS = "threads"
    """For mechanisms that spend their time in numpy, which releases the interpreter lock."""
    PROCESSES = "processes"
    """For mechanisms that spend their time in Python code."""
    THIS_PROCESS = "this process"
    """For mechanisms whose runs are independent in one process only."""
