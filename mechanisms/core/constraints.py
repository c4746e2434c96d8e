"""Constraints on the parameters of a class, declared with their fields.

    @dataclass(frozen=True)
    class Laplace(Mechanism):
        epsilon: Positive
        n_queries: Annotated[int, at_least(1)] = 1
        noise: Annotated[str, one_of_names("laplace", "gaussian")] = "laplace"
        delta: Delta | None = None

Classes that derive from `Options` (mechanisms, guarantees, attacks, canaries, bounds) check their fields when they are
constructed: `Options.__post_init__` calls `check_fields`. A class with a `__post_init__` of its own calls
`super().__post_init__()` first; a dataclass that derives from something else calls `check_fields(self)`. A field whose
annotation allows None may be None. A class that repeats a field without a constraint inherits the constraint.
`tests/mechanisms/core/test_constraints.py` gives every declared field every bad value.

Errors are `ParameterError` with argument, value, what is allowed, and advice.
"""

from __future__ import annotations

import inspect
import math
import sys
from abc import ABCMeta
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union, get_args, get_origin

from .errors import ParameterError, unknown_name_message
from .relation import Relation
from .validation import (
    delta_range,
    finite,
    instance,
    non_negative,
    one_of,
    open_unit,
    positive,
    true_or_false,
    unit_interval,
    whole,
)


def _adds_or_replaces(**values: Any) -> None:
    """Check that each value is a relation other than zero_out, or the name of one: no record is blank."""
    for name, value in values.items():
        if Relation.of(value) is Relation.ZERO_OUT:
            raise ParameterError(argument=name, value="zero_out", allowed="be add_remove or replace_one")


NOT_NUMBERS = ("1", True, None, math.nan)


@dataclass(frozen=True)
class Constraint:
    """Condition on one value.

    Args:
        check: called as `check(name=value)`; raises `ParameterError`.
        good: a value that it takes, or the class of such values, for the tests.
        bad: values that it refuses, for the tests.
    """

    check: Callable[..., None]
    good: Any
    bad: tuple[Any, ...]


def at_least(minimum: int) -> Constraint:
    """Return the constraint to whole numbers from `minimum` on."""
    return Constraint(partial(whole, minimum), minimum, (minimum - 1, minimum + 0.5, *NOT_NUMBERS))


def one_of_names(*names: str) -> Constraint:
    """Return the constraint to one of some names."""
    return Constraint(partial(one_of, names), names[0], ("no such name", 1, None))


def instance_of(kind: type[Any], example: str) -> Constraint:
    """Return the constraint to instances of a class; the error gives `example`, which constructs one."""
    return Constraint(partial(instance, kind, example), kind, ("no such object", 1, None))


Finite: TypeAlias = Annotated[float, Constraint(finite, 0.5, (math.inf, -math.inf, *NOT_NUMBERS))]
Positive: TypeAlias = Annotated[float, Constraint(positive, 0.5, (0.0, -1.0, math.inf, *NOT_NUMBERS))]
NonNegative: TypeAlias = Annotated[float, Constraint(non_negative, 0.5, (-1.0, math.inf, *NOT_NUMBERS))]
OpenUnit: TypeAlias = Annotated[float, Constraint(open_unit, 0.5, (0.0, 1.0, -0.1, *NOT_NUMBERS))]
UnitInterval: TypeAlias = Annotated[float, Constraint(unit_interval, 0.5, (-0.1, 1.1, *NOT_NUMBERS))]
PositiveProbability: TypeAlias = Annotated[Positive, Constraint(unit_interval, 0.5, (1.1, *NOT_NUMBERS))]
Delta: TypeAlias = Annotated[float, Constraint(delta_range, 0.5, (-0.1, 1.0, *NOT_NUMBERS))]
PositiveInt: TypeAlias = Annotated[int, at_least(1)]
NonNegativeInt: TypeAlias = Annotated[int, at_least(0)]
AddOrReplace: TypeAlias = Annotated[
    Relation, Constraint(_adds_or_replaces, Relation.REPLACE_ONE, ("zero_out", "no such name", 1, None))
]
Flag: TypeAlias = Annotated[bool, Constraint(true_or_false, True, (1, 0.0, "yes", None))]


@dataclass(frozen=True)
class FieldConstraint:
    """Constraint of one field, and whether the field may be None."""

    name: str
    constraint: Constraint
    optional: bool

    def check(self, value: Any) -> None:
        """Raise `ParameterError` for a value that the field may not have."""
        if not (value is None and self.optional):
            self.constraint.check(**{self.name: value})


@cache
def constraints_of(cls: type[Any]) -> tuple[FieldConstraint, ...]:
    """Return the constraints that a dataclass declares or inherits, in the order of its fields."""
    declared: dict[str, tuple[FieldConstraint, ...]] = {}
    for base in reversed(cls.__mro__):
        for name, annotation in inspect.get_annotations(base).items():
            declared[name] = tuple(_of_annotation(name, annotation, base)) or declared.get(name, ())
    options = [field.name for field in fields(cls) if field.init] if is_dataclass(cls) else []
    return tuple(constraint for name in options for constraint in declared.get(name, ()))


def _of_annotation(name: str, annotation: Any, owner: type[Any]) -> Iterator[FieldConstraint]:
    """Yield the constraints in one annotation; one that names types which are imported for type checkers has none."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, vars(sys.modules[owner.__module__]))
        except (NameError, TypeError):
            return
    optional = get_origin(annotation) in (Union, UnionType) and NoneType in get_args(annotation)
    choices = [kind for kind in get_args(annotation) if kind is not NoneType] if optional else [annotation]
    if len(choices) == 1 and get_origin(choices[0]) is Annotated:
        for item in get_args(choices[0])[1:]:
            if isinstance(item, Constraint):
                yield FieldConstraint(name, item, optional)


def check_fields(instance: Any) -> None:
    """Check every field of a dataclass that declares a constraint.

    Raises:
        ParameterError: the first field, in order, whose value its constraint refuses.
    """
    for field in constraints_of(type(instance)):  # type: ignore[arg-type]
        field.check(getattr(instance, field.name))


class SuggestsOptions(ABCMeta):
    """Metaclass whose error for an unknown option proposes the nearest option names.

    The error is still the `TypeError` of Python.
    """

    if not TYPE_CHECKING:  # a type checker reads the signature of the class

        @property
        def __signature__(cls) -> inspect.Signature:  # otherwise inspect shows the signature of __call__
            signature = inspect.signature(cls.__init__)
            return signature.replace(parameters=list(signature.parameters.values())[1:])

        def __call__(cls, *args: Any, **options: Any) -> Any:
            try:
                return super().__call__(*args, **options)
            except TypeError as error:
                if (message := _unknown_option(cls, options)) is None:
                    raise
                raise TypeError(message).with_traceback(error.__traceback__) from None


def _unknown_option(cls: type[Any], options: Collection[str]) -> str | None:
    """Return a message about the first unknown option, or None if all are known."""
    parameters = inspect.signature(cls).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return None
    unknown = next((name for name in options if name not in parameters), None)
    return None if unknown is None else unknown_name_message(f"option of {cls.__name__}:", unknown, parameters)


class Options(metaclass=SuggestsOptions):
    """Base of the classes that users configure: frozen dataclasses whose declared constraints are checked."""

    def __post_init__(self) -> None:
        check_fields(self)
