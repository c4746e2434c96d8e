"""Attribute inference measured: an attack on two releases, each of which is the other's release without the people."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...attacks.inference.base import AttributeInference, People, Sensitive
from ...attacks.inference.imputation import Imputation
from ...mechanisms.errors import ParameterError
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
    """What an attack on people whose data were used gains over what is guessed anyway.

    Each release is attacked about its own people, and each is the release without the person for those of the other
    one. One of two models is the better one by luck, for everybody: as they change places, that cancels, and what is
    left is what a release says of its own people only.

    Args:
        attack: how the attribute is inferred.
        releases: two fitted models, or two synthetic tables, made in the same way.
        people: features `(n, d)` and labels `(n,)` of equally many people of the first and of the second one, random
            halves of one population; nobody is in both.
        sensitive: what is inferred.
        known: others of the same population, of whom the attacker knows everything.
        baseline: what is guessed without the release, `Imputation()` if None.
        confidence: of each interval.

    Raises:
        AttackError: the attack cannot use the releases.
        ParameterError: not two of them, different numbers of people, or a value that is not among those of `sensitive`.

    Guarantees:
        The intervals hold for these two releases, and people like those attacked.
    """
    if len(releases) != 2 or len(people) != 2 or len(np.asarray(people[0][1])) != len(np.asarray(people[1][1])):
        raise ParameterError(
            "releases and people must be two each, with equally many people, so that the luck of a release cancels: "
            "split the people at random, and make one release of each half.",
            argument=("releases", "people"),
        )
    guess = Imputation() if baseline is None else baseline
    pairs = [(releases[i], releases[1 - i], people[i]) for i in (0, 1)]
    return gain(
        np.concatenate([attack.right(own, who, sensitive, known) for own, _, who in pairs]),
        without_release=np.concatenate([guess.right(None, who, sensitive, known) for *_, who in pairs]),
        without_person=np.concatenate([attack.right(other, who, sensitive, known) for _, other, who in pairs]),
        confidence=confidence,
    )
