"""Gain of attribute inference, measured on two releases of disjoint halves of the people."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...attacks.attribute_inference.base import AttributeInference, People, Sensitive
from ...attacks.attribute_inference.imputation import Imputation
from ...mechanisms.core.errors import ParameterError
from .gain import Gain, gain


def attribute_gain(
    attack: AttributeInference,
    releases: tuple[Any, Any],
    people: tuple[People, People],
    sensitive: Sensitive,
    *,
    known: People,
    baseline: AttributeInference | None = None,
    confidence: float = 0.95,
) -> Gain:
    """Measure the gain of an attack on people in the data over the baselines.

    Each release is attacked about its own people, and serves as the release without the person for those of the other
    half. By chance one of two releases is more accurate for all people: as the two are exchanged, this effect cancels,
    and the gain measures what a release leaks about its own people only.

    Args:
        attack: the attribute inference attack.
        releases: two fitted models, or two synthetic tables, made in the same way.
        people: features `(n, d)` and labels `(n,)` of equally many people of the first and of the second release,
            disjoint random halves of one population.
        sensitive: the attribute to infer.
        known: other people of the same population, whose records the attacker knows.
        baseline: attack without the release, `Imputation()` if None.
        confidence: of each interval.

    Raises:
        AttackError: the attack cannot use the releases.
        ParameterError: not two releases, different numbers of people, or a value that is not one of `sensitive`.

    Guarantees:
        The intervals hold for these two releases, and for people from the population of those attacked.
    """
    if len(releases) != 2 or len(people) != 2 or len(np.asarray(people[0][1])) != len(np.asarray(people[1][1])):
        raise ParameterError(
            "releases and people must be two each, with equally many people, so that the quality of a release cancels: "
            "split the people at random, and make one release of each half.",
            argument=("releases", "people"),
        )
    guess = Imputation() if baseline is None else baseline
    pairs = [(releases[i], releases[1 - i], people[i]) for i in (0, 1)]
    return gain(
        np.concatenate([attack.correct(own, who, sensitive, known) for own, _, who in pairs]),
        without_release=np.concatenate([guess.correct(None, who, sensitive, known) for *_, who in pairs]),
        without_person=np.concatenate([attack.correct(other, who, sensitive, known) for _, other, who in pairs]),
        confidence=confidence,
    )
