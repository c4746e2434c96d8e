"""Singling out: a description that matches exactly one person."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np

from ....mechanisms.core.arrays import Bools, Ints
from ....mechanisms.core.constraints import PositiveInt, one_of_names
from ....mechanisms.core.errors import ParameterError
from .base import Disclosure, Scene
from .predicates import Predicates

KINDS = ("univariate", "multivariate")


@dataclass(frozen=True)
class SinglingOut(Disclosure):
    """Attack that guesses: a description that matches one row of the table matches one person of the data.

    A person is singled out if one of the descriptions matches the person and no bystander. Without the release, as many
    random descriptions are tried.

    Args:
        kind: "univariate", rare and extreme values of one attribute; "multivariate", some attributes of random rows.
        n_predicates: largest number of descriptions made from a table, >= 1. With more, more match a person by
            chance: the baselines use equally many.
        n_columns: number of attributes in a multivariate description, from 1 to all.

    References:
        Giomi et al. (2023), section 5.2, for the descriptions; Cohen and Nissim (2020), "Towards formalizing the GDPR's
        notion of singling out": a description that matches a share w of the population singles out with probability
        n w (1 - w)^(n - 1), which is 1/e at w = 1/n and needs no release.

    Example:
        >>> table = np.array([[0, 0], [0, 1], [1, 0]])
        >>> attack = SinglingOut({"a": 2, "b": 2}, n_columns=2)
        >>> empty = np.empty((0, 2), dtype=np.int64)
        >>> attack.right(table, Scene(np.array([[1, 0], [1, 1]]), table[:2], empty), np.random.default_rng(0))
        array([ True, False])
    """

    _: KW_ONLY
    kind: Annotated[str, one_of_names(*KINDS)] = "multivariate"
    n_predicates: PositiveInt = 1_000
    n_columns: PositiveInt = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_columns > len(self.domain.names):
            raise ParameterError(
                argument="n_columns", value=self.n_columns, allowed=f"be at most {len(self.domain.names)}, all columns"
            )

    def right(self, released: Ints, scene: Scene, rng: np.random.Generator) -> Bools:
        """Return a mask of the people whom a description from the table matches, and no bystander."""
        return _singled_out(self.predicates(released, rng), scene)

    def guessed(self, scene: Scene, rng: np.random.Generator) -> Bools:
        """Return a mask of the people whom a random description matches, and no bystander."""
        return _singled_out(self.random_predicates(rng), scene)

    def guesses(self, released: Ints, scene: Scene, rng: np.random.Generator) -> Bools:
        """Return a mask of the descriptions that match exactly one of the people, `(n_descriptions,)`.

        These are not independent draws, because they concern the same people.
        """
        return np.asarray(self.predicates(released, rng).counts(scene.people) == 1)

    def predicates(self, released: Ints, rng: np.random.Generator) -> Predicates:
        """Return the descriptions made from a table."""
        ordered = self.places(self.ordered)
        if self.kind == "univariate":
            return Predicates.rare(self.domain, released, ordered, self.n_predicates, rng)
        return Predicates.of_rows(self.domain, released, ordered, self.n_columns, self.n_predicates, rng)

    def random_predicates(self, rng: np.random.Generator) -> Predicates:
        """Return equally many random descriptions, made from the domain only."""
        n_columns = 1 if self.kind == "univariate" else self.n_columns
        return Predicates.random(self.domain, self.places(self.ordered), n_columns, self.n_predicates, rng)


def _singled_out(predicates: Predicates, scene: Scene) -> Bools:
    unmatched = predicates[predicates.counts(scene.bystanders) == 0]
    return np.asarray(unmatched.matches(scene.people).any(axis=0))
