"""Attribute inference measured: an attack on a release, beside imputation and a release without these people."""

from __future__ import annotations

from typing import Any

from ...attacks.inference.base import AttributeInference, People, Sensitive
from ...attacks.inference.imputation import Imputation
from .gain import Gain, gain


def attribute_gain(
    attack: AttributeInference,
    released: Any,
    people: People,
    sensitive: Sensitive,
    *,
    known: People,
    without_people: Any = None,
    baseline: AttributeInference | None = None,
    confidence: float = 0.95,
) -> Gain:
    """What an attack on people whose data were used gains over what is guessed anyway.

    Args:
        attack: how the attribute is inferred.
        released: what was made from data with these people: a fitted model, or a synthetic table.
        people: features `(n, d)` and labels `(n,)` of a random sample of them.
        sensitive: what is inferred.
        known: others of the same population, of whom the attacker knows everything.
        without_people: the same kind of release, made from as much data without any of these people; None: not there.
        baseline: what is guessed without the release, `Imputation()` if None.
        confidence: of each interval.

    Raises:
        AttackError: the attack cannot use the release.
        ParameterError: a value that is not among those of `sensitive`.
    """
    guess = Imputation() if baseline is None else baseline
    return gain(
        attack.right(released, people, sensitive, known),
        without_release=guess.right(None, people, sensitive, known),
        without_person=None if without_people is None else attack.right(without_people, people, sensitive, known),
        confidence=confidence,
    )
