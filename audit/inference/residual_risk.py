"""The risks as Giomi et al. (2023) compute them: to be compared with published ones. Estimates, not bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from ...attacks.synthesis.disclosure.base import Disclosure, Scene
from ...mechanisms.errors import ParameterError
from ...mechanisms.validation import open_unit, whole
from .disclosure import same_rows

LABEL = "no coverage: guesses about the same records are counted as independent, and the interval is a normal one"


@dataclass(frozen=True)
class ResidualRisk:
    """Residual risk (attack - control) / (1 - control), and an interval that has no coverage.

    Args:
        value: the risk, cut to [0, 1].
        interval: (low, high), cut to [0, 1].
        attack: (Wilson's centre, half its width) of the success on records that were used.
        control: ... on records that were not.
        level: what the intervals are named after.
        label: starts with "no coverage: " and says why there is none.
    """

    value: float
    interval: tuple[float, float]
    attack: tuple[float, float]
    control: tuple[float, float]
    level: float
    label: str = LABEL


def residual_risk(
    attack: Disclosure, released: Any, used: Any, unused: Any, *, known: Any = None, level: float = 0.95, seed: int = 0
) -> ResidualRisk:
    """The risk of one release, by the definition of Giomi et al. (2023), section 4.

    Args:
        attack: which of the three.
        released: the synthetic table.
        used: the records that it was made of.
        unused: as many control records of the same population: how many descriptions fit one record goes with the
            number of records.
        known: records of others, for attacks that learn from them.
        level: of the intervals.
        seed: of the attack's choices; attack and control have the same.

    Raises:
        ParameterError: different numbers of records, records out of the domain, or control records that are the used
            or the released ones.
    """
    open_unit(level=level)
    whole(0, seed=seed)
    table, records, control = (attack.domain.records(one) for one in (released, used, unused))
    if len(records) != len(control) or not len(records):
        raise ParameterError(
            f"unused must have as many records as used, {len(records)}, but has {len(control)}. Leave some out.",
            argument="unused",
        )
    if same_rows(control) in (same_rows(records), same_rows(table)):
        what = "used" if same_rows(control) == same_rows(records) else "released"
        raise ParameterError(
            f"unused must be control records that the release does not depend on, but holds exactly those of {what}. "
            "Give records of other people of the same population.",
            argument="unused",
        )
    others = attack.domain.records(known) if known is not None else records[:0]
    scenes = [Scene(some, some[:0], others) for some in (records, control)]
    hits = [attack.guesses(table, scene, np.random.default_rng(seed)) for scene in scenes]
    return of_counts(*((int(some.sum()), len(some)) for some in hits), level=level)


def of_counts(attack: tuple[int, int], control: tuple[int, int], *, level: float = 0.95) -> ResidualRisk:
    """The same from (successes, guesses).

    Example:
        >>> found = of_counts((70, 100), (40, 100))
        >>> round(found.value, 3), tuple(round(end, 3) for end in found.interval)
        (0.484, (0.315, 0.654))
    """
    open_unit(level=level)
    (p1, reach1), (p0, reach0) = wilson(*attack, level), wilson(*control, level)
    value = (p1 - p0) / (1.0 - p0)
    reach = math.hypot(reach1 / (1.0 - p0), reach0 * (1.0 - p1) / (1.0 - p0) ** 2)
    low, centre, high = (min(max(end, 0.0), 1.0) for end in (value - reach, value, value + reach))
    return ResidualRisk(centre, (low, high), (p1, reach1), (p0, reach0), level)


def wilson(k: int, n: int, level: float) -> tuple[float, float]:
    """Centre and half the width of Wilson's interval (1927) for k of n; (0.5, 0.5) for n = 0."""
    z2 = float(ndtri(0.5 * (1.0 + level))) ** 2
    if n == 0:
        return 0.5, 0.5
    reach = math.sqrt(z2) / (n + z2) * math.sqrt(k * (n - k) / n + 0.25 * z2)
    return (k + 0.5 * z2) / (n + z2), reach
