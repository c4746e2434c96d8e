"""People in census tables: their possible attributes and ages, and groups of people.

A block is an array of whole numbers, one row per person: the age, and the index of the value of each attribute. A kind
is a combination of the values of all attributes, and a type is a kind and an age. Tables count people of types, so a
block is a histogram over types, and the order of its people does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....core import Bools, Dataset, Ints, ParameterError, plural, unknown_name_message, whole

Where = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Group:
    """People whose attributes have one of the given values and whose age lies in a range; see `group`.

    Args:
        where: each restricted attribute with its allowed values.
        ages: lowest and highest age, both included; None for all ages.

    Example:
        >>> str(Group()), str(group(sex="female", ages=(0, 17)))
        ('all people', 'female aged 0 to 17')
    """

    where: Where = ()
    ages: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.ages is not None:
            whole(0, lowest_age=self.ages[0])
            whole(self.ages[0], highest_age=self.ages[1])

    def __str__(self) -> str:
        values = " ".join(" or ".join(values) for _, values in self.where)
        if self.ages is None:
            return values or "all people"
        low, high = self.ages
        aged = f"aged {low}" if low == high else f"aged {low} to {high}"
        return f"{values} {aged}".strip()


def group(*, ages: tuple[int, int] | int | None = None, **where: str | Sequence[str]) -> Group:
    """Return the group with these values: `group(sex="female", race=("Black", "White"), ages=(0, 17))`.

    Args:
        ages: lowest and highest age, both included; one number for a single age; None for all ages.
        where: for each restricted attribute, its value or a sequence of values.
    """
    if isinstance(ages, int):
        ages = (ages, ages)
    pairs = (
        (name, (allowed,) if isinstance(allowed, str) else tuple(allowed)) for name, allowed in sorted(where.items())
    )
    return Group(tuple(pairs), ages)


@dataclass(frozen=True)
class CensusDomain:
    """Possible people: an age, and a value of each attribute.

    Args:
        attributes: name and values of each attribute, at least one value; may be a dict.
        ages: lowest and highest age, both included.

    Example:
        >>> domain = CensusDomain({"sex": ("female", "male")}, ages=(0, 99))
        >>> domain.n_types
        200
        >>> block = domain.people([(8, "female"), (66, "male")])
        >>> block.tolist(), domain.shown(block)
        ([[8, 0], [66, 1]], ['8 female', '66 male'])
    """

    attributes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    ages: tuple[int, int] = (0, 110)

    def __post_init__(self) -> None:
        attributes: object = self.attributes
        pairs = attributes.items() if isinstance(attributes, Mapping) else self.attributes
        object.__setattr__(self, "attributes", tuple((name, tuple(values)) for name, values in pairs))
        object.__setattr__(self, "ages", (self.ages[0], self.ages[1]))
        whole(0, lowest_age=self.ages[0])
        whole(self.ages[0], highest_age=self.ages[1])
        for name, values in self.attributes:
            if not values or len(set(values)) < len(values):
                raise ParameterError(
                    f"attributes: {name!r} must have distinct values, at least one, but has {values!r}.",
                    argument="attributes",
                )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each attribute."""
        return tuple(len(values) for _, values in self.attributes)

    @property
    def n_ages(self) -> int:
        """Number of ages."""
        return self.ages[1] - self.ages[0] + 1

    @property
    def n_types(self) -> int:
        """Number of types of people: kinds times ages."""
        return math.prod(self.sizes) * self.n_ages

    @cached_property
    def every_type(self) -> Ints:
        """One person of each type, in the order of their numbers, shape `(n_types, 1 + n_attributes)`."""
        kinds = np.indices(self.sizes).reshape(len(self.sizes), -1).T if self.sizes else np.zeros((1, 0))
        ages = np.tile(np.arange(self.ages[0], self.ages[1] + 1), len(kinds))
        return np.column_stack([ages, np.repeat(kinds, self.n_ages, axis=0)]).astype(np.int64)

    def people(self, rows: Iterable[Sequence[object]]) -> Ints:
        """Return the block for rows of an age and the attribute values, `(n_people, 1 + n_attributes)`."""
        encoded_rows = []
        for age, *values in rows:
            if len(values) != len(self.attributes):
                raise ParameterError(
                    f"a person must have an age and {plural(len(self.attributes), 'value')}, but is "
                    f"{(age, *values)!r}.",
                    argument="rows",
                )
            numbers = [
                self._number(name, known, value) for (name, known), value in zip(self.attributes, values, strict=True)
            ]
            encoded_rows.append([age, *numbers])
        return self.checked(np.array(encoded_rows, dtype=np.int64).reshape(len(encoded_rows), 1 + len(self.attributes)))

    def checked(self, block: Dataset) -> Ints:
        """Return the block as whole numbers; raise `ParameterError` for a wrong shape or a value out of range."""
        rows = np.asarray(block)
        if rows.ndim != 2 or rows.shape[1] != 1 + len(self.attributes) or rows.dtype.kind not in "iuf":
            raise ParameterError(
                f"a block must be numbers of shape (n_people, {1 + len(self.attributes)}), an age and the number of "
                f"the value of each attribute, but is {rows.dtype} of shape {rows.shape}.",
                argument="dataset",
            )
        low = np.array([self.ages[0], *(0 for _ in self.sizes)])
        high = np.array([self.ages[1], *(size - 1 for size in self.sizes)])
        invalid = ~((rows >= low) & (rows <= high) & (rows == np.floor(rows)))
        if invalid.any():
            person, column = np.argwhere(invalid)[0]
            name = ["age", *(name for name, _ in self.attributes)][column]
            raise ParameterError(
                f"{name} of person {person} must be a whole number from {low[column]} to {high[column]}, but is "
                f"{rows[person, column]!r}.",
                argument="dataset",
            )
        return rows.astype(np.int64)

    def types(self, block: Ints) -> Ints:
        """Return the type number of each person of a checked block, or of many, shape `block.shape[:-1]`."""
        kinds = np.zeros(block.shape[:-1], dtype=np.int64)
        for column, size in enumerate(self.sizes, start=1):
            kinds = kinds * size + block[..., column]
        return np.asarray(kinds * self.n_ages + block[..., 0] - self.ages[0])

    def histogram(self, block: Dataset) -> Ints:
        """Return the number of people of each type, shape `(n_types,)`."""
        return np.bincount(self.types(self.checked(block)), minlength=self.n_types)

    def block_of(self, histogram: Ints) -> Ints:
        """Return the people of a histogram, in the order of their types."""
        return np.repeat(self.every_type, histogram, axis=0)

    def members(self, people: Group) -> Bools:
        """Return a mask `(n_types,)` of the types in a group; raise `ParameterError` for an impossible group."""
        inside = np.ones(self.n_types, dtype=np.bool_)
        if people.ages is not None:
            low, high = people.ages
            if high < self.ages[0] or low > self.ages[1]:
                raise ParameterError(
                    f"group {str(people)!r}: its ages must meet those of the domain, {self.ages[0]} to "
                    f"{self.ages[1]}. Give ages within, or a domain with more ages.",
                    argument="ages",
                )
            inside &= (self.every_type[:, 0] >= low) & (self.every_type[:, 0] <= high)
        columns = {name: (column, values) for column, (name, values) in enumerate(self.attributes, start=1)}
        for name, values in people.where:
            if name not in columns:
                message = unknown_name_message(f"attribute of group {str(people)!r}:", name, columns)
                raise ParameterError(message, argument="group", value=name)
            column, known = columns[name]
            inside &= np.isin(self.every_type[:, column], [self._number(name, known, value) for value in values])
        return inside

    def shown(self, block: Ints) -> list[str]:
        """Return each person as text: the age and the attribute values."""
        values = [values for _, values in self.attributes]
        return [" ".join([str(age), *(v[i] for v, i in zip(values, kind, strict=True))]) for age, *kind in block]

    def _number(self, name: str, known: tuple[str, ...], value: object) -> int:
        if value not in known:
            raise ParameterError(
                unknown_name_message(f"value of {name}", str(value), known), argument=name, value=value
            )
        return known.index(str(value))
