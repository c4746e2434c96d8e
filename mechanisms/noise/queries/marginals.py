"""Marginals: counts of the records with each combination of the values of a few attributes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core import Dataset, Floats, ParameterError, Relation, whole
from .base import Query
from .domain import Domain, check_memory


@dataclass(frozen=True)
class Marginals(Query):
    """All cells of several marginals, one marginal after another.

    A record lies in one cell of each marginal. With k marginals, a record that is added or removed changes k counts by
    1 each: L1 sensitivity k, L2 sqrt(k). A record that is replaced changes two counts of each: L1 2 k, L2 sqrt(2 k).
    (Barak, Chaudhuri, Dwork, Kale, McSherry and Talwar 2007, section 3.)

    Args:
        domain: domain of the records; a dict is accepted.
        marginals: attributes of each marginal, at least one marginal; or a whole number k, for all marginals of k
            attributes.

    Example:
        >>> query = Marginals(Domain({"sex": 2, "age": 3}), [("sex",), ("age", "sex")])
        >>> query([[0, 2], [1, 1]])
        array([1., 1., 0., 0., 0., 1., 1., 0.])
        >>> [part.tolist() for part in query.parts(query([[0, 2], [1, 1]]))]
        [[1.0, 1.0], [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]]
        >>> query.sensitivity(Relation.ADD_REMOVE), query.sensitivity(Relation.REPLACE_ONE, norm=2)
        (2.0, 2.0)
    """

    domain: Domain
    marginals: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", Domain.of(self.domain))
        object.__setattr__(self, "marginals", attribute_sets(self.domain, self.marginals))
        check_memory(self.n_answers, "the marginals")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each marginal."""
        return tuple(self.domain.project(names).n_cells for names in self.marginals)

    @property
    def n_answers(self) -> int:
        """Number of cells of all marginals."""
        return sum(self.sizes)

    def __call__(self, dataset: Dataset) -> Floats:
        records = self.domain.records(dataset)
        counts = [
            np.bincount(self.domain.cells(records, names), minlength=size)
            for names, size in zip(self.marginals, self.sizes, strict=True)
        ]
        return np.concatenate(counts).astype(np.float64)

    def parts(self, answers: Floats) -> list[Floats]:
        """Split answers `(..., n_answers)` into one `(..., n_cells)` for each marginal, in the order of the cells."""
        return np.split(answers, np.cumsum(self.sizes)[:-1], axis=-1)

    def sensitivity(self, relation: Relation, *, norm: float = 1.0) -> float:
        n_moved = len(self.sizes)
        if Relation.of(relation) is not Relation.ADD_REMOVE:
            n_moved = 2 * sum(size > 1 for size in self.sizes)
        return float(min(n_moved, 1) if math.isinf(norm) else n_moved ** (1.0 / norm))

    def monotone(self, relation: Relation) -> bool:
        return Relation.of(relation) is Relation.ADD_REMOVE


def attribute_sets(domain: Domain, marginals: int | Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the attributes of each marginal, checked; for a number k, all sets of k attributes.

    Example:
        >>> attribute_sets(Domain({"a": 2, "b": 2, "c": 2}), 2)
        (('a', 'b'), ('a', 'c'), ('b', 'c'))
    """
    if isinstance(marginals, int):
        whole(1, marginals=marginals)
        if marginals > len(domain.names):
            raise ParameterError(
                argument="marginals",
                value=marginals,
                allowed=f"be at most {len(domain.names)}, the number of attributes",
            )
        return attribute_sets(domain, list(itertools.combinations(domain.names, marginals)))
    sets = tuple(() if isinstance(names, str) else tuple(names) for names in marginals)
    if not sets or any(not names or len(set(names)) < len(names) for names in sets):
        raise ParameterError(
            argument="marginals",
            value=marginals,
            allowed="be sets of distinct attributes, at least one",
            advice=f"Give such as [({domain.names[0]!r},)], or a number of attributes from 1 to {len(domain.names)}.",
        )
    for names in sets:
        domain.project(names)
    return sets
