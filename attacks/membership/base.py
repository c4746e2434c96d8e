"""The interface of this folder: read this first.

    Shadows            many models of random halves of the records, and what each says about each record
    MembershipAttack   one score for each (target model, record); higher = the record was in

Every model is a target once, and a reference for the others. The score of target t uses the signals of t, and the
signals and the inclusion of the *other* models: never the inclusion of t, nor that of its complement where models come
in pairs. What the complement says counts in scales that are common to all targets alone (the thresholds that entropy
tries, the smallest variance of LiRA). A membership metric is no bound on epsilon: see `dpassay.audit.membership`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.errors import AttackError, plural
from ...mechanisms.validation import Options

if TYPE_CHECKING:
    from .shadows import Shadows

Floats = NDArray[np.float64]


class MembershipAttack(metaclass=Options):
    """Tells members from non-members. Subclasses are frozen dataclasses whose fields are the options."""

    name: ClassVar[str]
    """The name in the catalogue."""

    needs_population: ClassVar[bool] = False
    """Whether it learns from records that no model was trained on."""

    learns_each_record: ClassVar[bool] = False
    """Whether it learns from the other models, for each record, a rule on many numbers."""

    @property
    def minimum_references(self) -> int:
        """Fewest models besides the target (and its complement) from which it can score."""
        return 0

    def on(self, signal: str) -> str:
        """What it is called where it reads a signal that is not its own: "lira on density"."""
        return f"{self.name} on {signal}"

    @abstractmethod
    def scores_of(self, shadows: Shadows) -> Floats:
        """Scores without the checks of `score`."""

    def score(self, shadows: Shadows) -> Floats:
        """One score for each target model and record, higher = member.

        Args:
            shadows: models, and their signals on the records.

        Returns:
            `(n_models, n_records)`; NaN where this record has too few references under this target.

        Raises:
            AttackError: too few models, a signal that these models do not give, or no population where one is needed.
        """
        self.check_references(len(shadows), paired=shadows.paired)
        if self.needs_population and shadows.population is None:
            raise AttackError(
                f"attack {self.name!r} learns from records that are in no model and are not scored. Give some: "
                "train_shadows(..., population=(X, y))."
            )
        return self.scores_of(shadows)

    def check_references(self, n_models: int, *, paired: bool) -> None:
        """Raises `AttackError` if so many models, with complements or without, leave too few references."""
        aside = "itself and its complement" if paired else "itself"
        left = n_models - (2 if paired else 1)
        if left < self.minimum_references:
            raise AttackError(
                f"attack {self.name!r} needs at least {self.minimum_references} reference models a target besides "
                f"{aside}, but {plural(n_models, 'model')} leave {max(left, 0)}. "
                f"Train n_models={_even(self.minimum_references + n_models - left)} or more.",
                argument="n_models",
            )


def _even(n: int) -> int:
    """The next even number: models come in pairs."""
    return n + n % 2
