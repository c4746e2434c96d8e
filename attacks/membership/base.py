"""Interface of membership attacks: read this first.

    Shadows            many models of random halves of the records, and the signals of each model on each record
    MembershipAttack   one score for each (target model, record); higher = member

Every model is a target once, and a reference for the others. The score of target t uses the signals of t, and the
signals and the inclusion of the *other* models: never the inclusion of t, nor the inclusion of its complement if models
come in pairs. The signals of the complement are used only in scales common to all targets (the candidate thresholds of
entropy, the smallest variance of LiRA). A membership metric is no bound on epsilon: see
`dpassay.audit.metrics.membership`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ...mechanisms.core import AttackError, Floats, Options, plural

if TYPE_CHECKING:
    from .shadows import Shadows


class MembershipAttack(Options):
    """Base class of membership attacks. Subclasses are frozen dataclasses whose fields are the options."""

    name: ClassVar[str]
    """Name in the catalogue."""

    needs_population: ClassVar[bool] = False
    """True if the attack learns from records that no model was trained on."""

    learns_each_record: ClassVar[bool] = False
    """True if the attack learns a rule with many inputs for each record from the other models."""

    additive: ClassVar[bool] = False
    """True if scores are log likelihood ratios, which are added over records that are in together."""

    any_signal: ClassVar[bool] = False
    """True if the option `signal` can be any signal, higher for members."""

    other_forms: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """Options for other references than the default ones, in order of preference: "offline" where these saw none of the
    records."""

    @property
    def references(self) -> str:
        """References that a score needs: "" for none, else models that saw the record: "in", "out", "both" or "any".

        "learned" is for a rule that is learned from members and non-members of the references.
        """
        return ""

    @property
    def minimum_references(self) -> int:
        """Smallest number of models needed, not counting the target (and its complement)."""
        return 0

    def on(self, signal: str) -> str:
        """Return the display name of the attack on a signal other than its default: "lira on density"."""
        return f"{self.name} on {signal}"

    @abstractmethod
    def scores_of(self, shadows: Shadows) -> Floats:
        """Return scores without the checks of `score`."""

    def score(self, shadows: Shadows) -> Floats:
        """Return one score for each target model and record, higher = member.

        Args:
            shadows: models, and their signals on the records.

        Returns:
            `(n_models, n_records)`; NaN where the record has too few references for the target.

        Raises:
            AttackError: too few models, a signal that these models do not give, or a missing population.
        """
        self.check_references(len(shadows), paired=shadows.paired)
        if self.needs_population and shadows.population is None:
            raise AttackError(
                f"attack {self.name!r} learns from records that are in no model and are not scored. Give some: "
                "train_shadows(..., population=(X, y)), or population_losses and the like with your own outputs."
            )
        return self.scores_of(shadows)

    def check_references(self, n_models: int, *, paired: bool) -> None:
        """Raise `AttackError` if `n_models`, with complements or without, leaves too few references."""
        excluded = "itself and its complement" if paired else "itself"
        n_references = n_models - (2 if paired else 1)
        if n_references < self.minimum_references:
            needed = self.minimum_references + n_models - n_references
            raise AttackError(
                f"attack {self.name!r} compares with {plural(self.minimum_references, 'reference model')} or more per "
                f"target, not counting {excluded}, but there are {max(n_references, 0)}. Give references of a model, "
                f"or train n_models={needed + needed % 2} or more shadow models.",  # models come in pairs
                argument="n_models",
            )
