"""Mixins of the intentionally broken mechanisms: read this first.

    guarantee()         the claim: false, or for a bug that wastes noise far from tight
    exact_guarantee()   the true curve on `worst_case()`, None where it is not known
    cause               the bug, in one sentence
    source              paper or bug report; "Constructed" for a bug that has not been reported
    twin()              the correct mechanism with the same options

A bug that has its correct twin in the same class has the option `correct`; other classes name it in `correct_class`.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, ClassVar

from ..core import Guarantee, Relation, Tier
from . import ExactDP, PureDP


class Broken:
    """Mixin of an intentionally broken mechanism, a dataclass: the cause of its bug, the source, the correct twin."""

    _tier: ClassVar[Tier | None] = Tier.BROKEN

    cause: ClassVar[str]
    """The bug, in one sentence."""
    source: ClassVar[str]
    """Paper or bug report."""
    correct_class: ClassVar[type[Any] | None] = None
    """Class of the correct twin, which shares options with this class; None if `twin` is written out."""

    def twin(self) -> Any:
        """Return the correct twin with the same options; None if no correct mechanism takes the same datasets."""
        broken: Any = self
        options = {field.name: getattr(self, field.name) for field in fields(broken) if field.init}
        if "correct" in options:
            return replace(broken, correct=True)
        if self.correct_class is None:
            return None
        shared = (field.name for field in fields(self.correct_class) if field.init and field.name in options)
        return self.correct_class(**{name: options[name] for name in shared})


class BrokenPureDP(Broken):
    """Mixin of a broken mechanism that claims pure differential privacy."""

    epsilon: float
    relation: Relation

    def guarantee(self) -> Guarantee:
        """Return the claim, `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)


def certain_leak(relation: Relation) -> ExactDP:
    """Return the curve of outputs that distinguish the sides with certainty: epsilon is infinite at every delta < 1."""
    return ExactDP([1.0, 0.0], [0.0, 1.0], relation)
