"""Attribute inference: an unknown value of a person, from the rows most similar to the person."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core.arrays import Bools, Ints
from ....mechanisms.core.constraints import NonNegativeInt, PositiveInt
from ....mechanisms.core.errors import AttackError, ParameterError
from ..base import LABEL, AttributeInference, Sensitive
from ..imputation import Imputation
from .base import Disclosure, Scene
from .gower import neighbours


@dataclass(frozen=True)
class AttributeDisclosure(Disclosure):
    """Guess of the most frequent value among the rows nearest in the known attributes.

    Args:
        secret: the attribute to infer.
        given: known attributes of a person; empty: all others.
        n_neighbours: nearest rows, >= 1; rows as near as the last one are included. Of equally frequent values the
            lowest code is guessed.
        within: largest error of a correct guess, in codes; above 0 only if the secret is ordered.
        attack: another attack on tables, of `dpassay.attacks.attribute_inference`, such as `CorrectAttribution()`; None: nearest
            rows, by Gower's distance.
        baseline: attack without the release.

    References:
        Giomi et al. (2023), section 5.4, whose baseline guesses the value of a random row: weaker than the most
        frequent value, and than an imputation from the known attributes (Jayaraman and Evans 2022).

    Example:
        >>> table = np.array([[0, 0, 1], [1, 0, 0], [2, 2, 1]])
        >>> attack = AttributeDisclosure({"a": 3, "b": 3, "c": 2}, secret="c")
        >>> empty = np.empty((0, 3), dtype=np.int64)
        >>> attack.right(table, Scene(np.array([[2, 2, 1], [1, 0, 1]]), empty, empty), np.random.default_rng(0))
        array([ True, False])
    """

    _: KW_ONLY
    secret: str
    given: tuple[str, ...] = ()
    n_neighbours: PositiveInt = 1
    within: NonNegativeInt = 0
    attack: AttributeInference | None = None
    baseline: AttributeInference = field(default_factory=Imputation)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.names("secret", [self.secret])
        given = self.names("given", self.given) or tuple(name for name in self.domain.names if name != self.secret)
        object.__setattr__(self, "given", given)
        if self.secret in given or not given:
            raise ParameterError(argument="given", value=given, allowed="name some attributes, and not the secret")
        if self.within and self.secret not in self.ordered:
            raise ParameterError(
                f"within must be 0 if the secret is a category: {self.secret!r} is not among ordered.",
                argument="within",
            )
        if self.domain.shape[self.domain.index(self.secret)] < 2:
            raise ParameterError(argument="secret", value=self.secret, allowed="have two values or more")

    def right(self, released: Ints, scene: Scene, rng: np.random.Generator) -> Bools:
        """Return a mask of the people whose value is guessed from the table."""
        if self.attack is None:
            return self._close(self._nearest(released, scene.people), scene.people)
        return self._by(self.attack, self._people(released), scene)

    def guessed(self, scene: Scene, rng: np.random.Generator) -> Bools:
        """Return a mask of the people whose value the baseline guesses; raise `AttackError` if no people are known."""
        return self._by(self.baseline, None, scene)

    def _nearest(self, rows: Ints, people: Ints) -> Ints:
        places, values = self.places(self.given), rows[:, self.domain.index(self.secret)]
        one_hot = np.eye(self.domain.shape[self.domain.index(self.secret)])[values]
        guesses = np.empty(len(people), dtype=np.int64)
        scales = self.scales(self.given)
        for block, nearest in neighbours(people[:, places], rows[:, places], scales, self.n_neighbours):
            guesses[block] = (nearest @ one_hot).argmax(axis=1)
        return guesses

    def _by(self, attack: AttributeInference, released: object, scene: Scene) -> Bools:
        if not len(scene.known):
            raise AttackError("others of the population must be known, to learn from. Give known=, records of them.")
        known = self._people(scene.known)
        counts = np.bincount(known[1], minlength=self.domain.shape[self.domain.index(self.secret)])
        secret = Sensitive(LABEL, np.arange(len(counts)), counts / counts.sum())
        return self._close(attack.guess(released, self._people(scene.people), secret, known), scene.people)

    def _people(self, records: Ints) -> tuple[NDArray[np.float64], Ints]:
        """Return the known attributes as numbers (one-hot for categories, codes if ordered), and the secret."""
        columns = []
        for name in self.given:
            codes, n_values = records[:, self.domain.index(name)], self.domain.shape[self.domain.index(name)]
            columns.append(codes[:, None] / n_values if name in self.ordered else np.eye(n_values)[codes])
        return np.hstack(columns), records[:, self.domain.index(self.secret)]

    def _close(self, guess: Ints, people: Ints) -> Bools:
        return np.asarray(np.abs(guess - people[:, self.domain.index(self.secret)]) <= self.within)
