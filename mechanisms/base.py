"""The interfaces of this package: read this first.

    Relation     how two neighbouring datasets may differ: relation.py
    Neighbours   a pair of datasets and the relation between them
    Outputs      what `size` runs of a mechanism returned, exceptional outputs included
    Mechanism    a randomised algorithm with a claimed guarantee
    LogDensity   the distribution of its outputs, where it is known
    KnownCurve   what these give away on any pair, where that is known
    known_law    the distribution of the outputs of a mechanism, or a named error
    Workers      who may run it: threads, processes, or this process alone

A mechanism has eight public members; a subclass gives the first four, and overrides the others where it knows more:

    relation            the relation that its guarantee holds for
    release             `size` independent runs on a dataset, at once
    guarantee           the claim
    worst_case          a pair on which the claim is tight, or nearly so
    fitted_to           checks a pair, and adapts the mechanism to it where that is needed
    exact_guarantee     the exact curve on the worst case, where it is known; differs from the claim in `broken/`
    output_law          the distribution of its outputs, where it is known, for the likelihood ratio
    workers             which workers suit `release`

Side 0 ("out") runs on `d0`, without the record in question; side 1 ("in") runs on `d1`, with it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .errors import ParameterError, RelationError
from .relation import Relation
from .validation import Options

if TYPE_CHECKING:
    from .guarantees.base import Guarantee

Dataset: TypeAlias = Any
"""Whatever the mechanism takes: an array, a DataFrame, an `(X, y)` pair, a vector of query answers."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A pair of datasets that differ in one record.

    Args:
        d0: the dataset of side 0, without the record.
        d1: the dataset of side 1, with it.
        relation: a `Relation` or its name: "add_remove", "replace_one" or "zero_out".

    Raises:
        ParameterError: an unknown relation.

    Whether the two are neighbours is checked by the mechanism, which knows its datasets: `Mechanism.fitted_to`.
    """

    d0: Dataset
    d1: Dataset
    relation: Relation

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))

    def side(self, side: int) -> Dataset:
        """`d0` or `d1`."""
        return self.d1 if side else self.d0


@dataclass(frozen=True, eq=False)
class Outputs:
    """What `size` independent runs returned. Run is axis 0.

    Args:
        values: `(size, ...)` numbers; zeros in a row whose output is exceptional.
        events: None when every run returned an ordinary finite value; otherwise `(size,)` strings: "" for an
            ordinary run, else the exceptional output, such as "nan", "None", "raised ValueError".

    No run is ever dropped: an event on one side only is a leak.
    """

    values: NDArray[Any]
    events: NDArray[np.str_] | None = None

    def __post_init__(self) -> None:
        if self.events is not None and self.events.shape != self.values.shape[:1]:
            raise ParameterError(
                f"events must have one entry a run, {self.values.shape[:1]}, but have shape {self.events.shape}.",
                argument="events",
            )

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)


class Mechanism(metaclass=Options):
    """A randomised algorithm with a claimed guarantee.

    Subclasses are frozen dataclasses: their fields are the configuration; datasets and `rng` are call arguments.
    """

    relation: Relation
    """The relation that the guarantee holds for."""

    @abstractmethod
    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` independent runs on `dataset` at once.

        Args:
            dataset: whatever the mechanism takes.
            size: number of runs, >= 1.
            rng: the only source of randomness.

        Returns:
            Outputs whose `values` have shape `(size, ...)`.
        """

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The claim: epsilon as a function of delta, and the trade-off curve, that theory or the author states."""

    @abstractmethod
    def worst_case(self) -> Neighbours:
        """A pair on which the claim is tight, or nearly so."""

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        """The mechanism to run on this pair, after checking the pair; most return themselves.

        Raises:
            RelationError: the claim holds for another relation.
            NeighboursError: the datasets are not neighbours under it.
        """
        if neighbours.relation is not self.relation:
            raise RelationError(
                f"the guarantee of {type(self).__name__} holds for relation {self.relation.value!r}, but the pair has "
                f"{neighbours.relation.value!r}. Give a pair under {self.relation.value!r}, or a mechanism whose "
                f"guarantee holds under {neighbours.relation.value!r}."
            )
        return self

    def exact_guarantee(self) -> Guarantee | None:
        """The exact curve on `worst_case()` where it is known; differs from the claim in `broken/`."""
        claim = self.guarantee()
        return claim if claim.exact else None

    def output_law(self) -> LogDensity | None:
        """The distribution of the outputs; None where it is not known."""
        return None

    @property
    def workers(self) -> Workers:
        """Which workers suit `release`; threads, unless Python code does the work."""
        return Workers.THREADS


class LogDensity(Protocol):
    """The distribution of the outputs of a mechanism. It can be pickled, since workers receive it."""

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density (or log probability) of each output under `dataset`, shape `(size,)`; -inf where impossible."""
        ...


@runtime_checkable
class KnownCurve(Protocol):
    """An output law that also knows what it gives away on any pair, not only on the worst case."""

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """The exact curve of the pair; None where it cannot be computed."""
        ...


def known_law(mechanism: Mechanism) -> LogDensity:
    """Return the output law of a mechanism.

    Raises:
        ParameterError: it is not known.
    """
    law = mechanism.output_law()
    if law is None:
        raise unknown_law(mechanism)
    return law


def unknown_law(mechanism: Mechanism) -> ParameterError:
    """Return the error that says that the output law of a mechanism is not known."""
    return ParameterError(
        f"the law of the outputs of {type(mechanism).__name__} is not known: its output_law() is None. "
        "Take a mechanism whose law is known, or an attack that needs no densities, such as 'classifier'.",
        argument="mechanism",
        value=mechanism,
    )


class Workers(StrEnum):
    """Who may run a mechanism."""

    THREADS = "threads"
    """numpy does the work and frees the interpreter lock."""
    PROCESSES = "processes"
    """Python code does the work."""
    HERE = "here"
    """Its runs are independent in one process only."""
