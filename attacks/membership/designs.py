"""Designs of reference models: what the references of a target saw, and the attacks that can use them.

    both        references with and without each record: random halves, fair coins
    offline     the references saw none of the records, such as a base model, or models of other data
    disjoint    no record was in two models
    same        all models saw the same records

An attack that compares a record with references needs them for members *and* for non-members of the target, and what
they saw must not follow from what the target saw: references that were trained on the target's own split, or on the
records that it did not see, have higher signals on one side without any leak of the target. `form_for` returns the form
of an attack that a design allows (LiRA offline, for references without the records), and `Design.problem` says by its
name why there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...mechanisms.core import Bools, DpassayError, Ints, fixed, percent
from .base import MembershipAttack
from .shadows import Shadows

MAX_SHARE_DIFFERENCE = 0.1
"""Difference of the shares of references with a record, between members and non-members, from which on references are
no longer unrelated to the target, if it is not chance."""
COIN_DEVIATIONS = 5.0
"""Standard deviations of that difference, under independent coins."""
MIN_REPORTED_DIFFERENCE = 0.05
"""Difference of the standard deviation of a score, from unequal numbers of references, that is reported."""
DESIGNED_LEVEL = 1e-3
"""Largest probability under fair coins of a training set with all or none of the records that is not a coincidence."""


@dataclass(frozen=True)
class Side:
    """References of the members, or of the non-members, of the targets.

    Args:
        with_record: share of the records with a reference that saw them.
        without_record: share with a reference that did not.
        both: share with both.
        seen_by: mean share of the references that saw a record.
        n_out: mean number of references that did not.
    """

    with_record: float
    without_record: float
    both: float
    seen_by: float
    n_out: float


@dataclass(frozen=True)
class Design:
    """What the references of some targets saw.

    Args:
        members, non_members: references of the records that the targets saw, and of those that they did not.
        related: whether what a reference saw depends on what the target saw, beyond chance.
        n_references: number of references of the first target.
    """

    members: Side
    non_members: Side
    related: bool
    n_references: int

    @classmethod
    def of(cls, shadows: Shadows, targets: Ints) -> Design:
        """Return the design for these targets, `(n_targets,)` indices of models."""
        zeros = np.zeros(shadows.inclusion.shape)
        n_in, n_out = (shadows.others(zeros, which=side).count[targets] for side in ("in", "out"))
        member = shadows.inclusion[targets]
        members, others = (_side(n_in[mask], n_out[mask]) for mask in (member, ~member))
        difference, total = members.seen_by - others.seen_by, n_in + n_out
        counts = np.maximum([member.sum(), (~member).sum()], 1)
        chance = np.sqrt(0.25 / max(float(total.mean()), 1.0) * np.sum(1.0 / counts))
        related = abs(difference) > MAX_SHARE_DIFFERENCE and abs(difference) > COIN_DEVIATIONS * chance
        return cls(members, others, bool(related), int(total[0].max(initial=0)))

    @property
    def offline(self) -> bool:
        """True if the references saw none of the records."""
        return self.members.with_record == self.non_members.with_record == 0.0

    @property
    def name(self) -> str:
        """What the references saw, in words."""
        inside, outside = self.members, self.non_members
        if self.offline:
            return "the references saw none of the records"
        if inside.without_record == outside.without_record == 0.0:
            return "the references saw all of the records"
        if inside.without_record == outside.with_record == 0.0:
            return "all models saw the same records"
        if inside.with_record == outside.without_record == 0.0:
            return "the references saw exactly the records that the target did not see"
        if inside.with_record == 0.0:
            return "no reference saw a record that the target saw (disjoint training sets)"
        if outside.with_record == 0.0:
            return "no reference saw a record that the target did not see"
        if inside.without_record == 0.0:
            return "every reference saw all records that the target saw"
        if outside.without_record == 0.0:
            return "every reference saw all records that the target did not see"
        if self.related:
            return (
                f"what the references saw depends on what the target saw: members are in {percent(inside.seen_by)} "
                f"of the references, non-members in {percent(outside.seen_by)}"
            )
        return "some references saw a record, and some did not"

    def problem(self, attack: MembershipAttack) -> str | None:
        """Return why these references do not serve the attack; None if they do, or if it uses none."""
        needs, sides = attack.references, (self.members, self.non_members)
        works = {
            "": True,
            "any": not self.related,
            "out": all(side.without_record > 0.0 for side in sides),
            "in": all(side.with_record > 0.0 for side in sides),
            "both": all(side.both > 0.0 for side in sides),
            "learned": all(side.with_record > 0.0 and side.without_record > 0.0 for side in sides),
        }[needs]
        if works or self.n_references == 0:  # without references another error is raised
            return None
        required = {
            "any": "references whose records are unrelated to those of the target",
            "out": "references without the record, for members and for non-members",
            "in": "references with the record, for members and for non-members",
            "both": "references with and references without the record, for members and for non-members",
            "learned": "members and non-members of references, on both sides of the target's own split",
        }[needs]
        return (
            f"attack {attack.name!r} needs {required}, but {self.name}. Use an attack on the target alone, such as "
            "'loss', or train references on random halves of the records."
        )

    @property
    def unequal(self) -> str | None:
        """Warning of scores that differ between members and non-members without a leak; None if they do not."""
        counts = self.members.n_out, self.non_members.n_out
        if min(counts) == 0.0 or self.n_references == 0:
            return None
        spread = [np.sqrt(1.0 + 1.0 / count) for count in counts]
        if abs(spread[0] / spread[1] - 1.0) < MIN_REPORTED_DIFFERENCE:
            return None
        return (
            f"members are compared with {fixed(counts[0], 1)} references without the record on average, non-members "
            f"with {fixed(counts[1], 1)}: the scores of the side with fewer vary more, without any leak. Read the AUC; "
            "at low false positive rates the true positive rates are "
            f"{'too high' if counts[0] < counts[1] else 'too low'}."
        )


def _side(n_in: Ints, n_out: Ints) -> Side:
    if not n_in.size:
        return Side(0.0, 0.0, 0.0, 0.0, 0.0)
    return Side(
        with_record=float(np.mean(n_in > 0)),
        without_record=float(np.mean(n_out > 0)),
        both=float(np.mean((n_in > 0) & (n_out > 0))),
        seen_by=float(np.mean(n_in / np.maximum(n_in + n_out, 1))),
        n_out=float(np.mean(n_out)),
    )


def possible_targets(inclusion: Bools) -> Ints:
    """Return the models that can be targets: those with members and non-members.

    A model that saw all or none of the records is only a reference, unless that can be the result of fair coins.

    Example:
        >>> inclusion = np.zeros((3, 100), dtype=bool)
        >>> inclusion[0, ::2] = True
        >>> possible_targets(inclusion)
        array([0])
    """
    mixed = inclusion.any(axis=1) & ~inclusion.all(axis=1)
    by_chance = len(inclusion) * 2.0 ** (1 - inclusion.shape[1]) > DESIGNED_LEVEL
    return np.arange(len(inclusion)) if by_chance or not mixed.any() else np.flatnonzero(mixed)


def form_for(attack: MembershipAttack, shadows: Shadows, design: Design) -> MembershipAttack:
    """Return the attack with the signal that these models give, and in the mode that the design allows.

    A single signal, such as a margin, takes the place of the default one. Where references with and without each record
    are missing, or related to the target, the offline mode takes the place of the online one; where all references saw
    all records, calibration subtracts the mean of those.
    """
    adapted: Any = attack
    if attack.any_signal and len(shadows.signals) == 1 and shadows.log_probabilities is None:
        try:
            shadows.signal(adapted.signal)
        except DpassayError:
            adapted = replace(adapted, signal=next(iter(shadows.signals)))
    forms: list[MembershipAttack] = [adapted, *(replace(adapted, **options) for options in adapted.other_forms)]
    if design.offline:
        forms = [*forms[1:], adapted]
    return next((form for form in forms if design.problem(form) is None), forms[0])


def offline_form(attack: MembershipAttack) -> MembershipAttack | None:
    """Return the attack in its offline mode, which does not assume that references leak as the target does.

    None for an attack without such a mode, and for one that has no references or is in that mode.

    Example:
        >>> from dpassay.attacks.membership.likelihood_ratios import LiRA
        >>> offline_form(LiRA()).mode
        'offline-tail'
    """
    for options in attack.other_forms:
        if getattr(attack, "mode", None) == "online" and "mode" in options:
            return replace(attack, **options)  # type: ignore[type-var]
    return None
