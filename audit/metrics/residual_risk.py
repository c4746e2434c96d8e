"""Residual risks by the definition of Giomi et al. (2023), for comparison with published ones; not bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from ...attacks.people.disclosure.base import Disclosure, PeopleGroups
from ...mechanisms.core import ParameterError, open_unit, whole
from .disclosure import same_rows

NO_COVERAGE = "no coverage: guesses about the same records are counted as independent, and the interval is a normal one"


@dataclass(frozen=True)
class ResidualRisk:
    """Residual risk (attack - control) / (1 - control), and an interval that has no coverage.

    Args:
        value: the risk, cut to [0, 1].
        interval: (low, high), cut to [0, 1].
        attack: (centre, half-width) of Wilson's interval of the success on used records.
        control: the same for control records.
        level: nominal level of the intervals.
        label: starts with "no coverage: " and gives the reason.
    """

    value: float
    interval: tuple[float, float]
    attack: tuple[float, float]
    control: tuple[float, float]
    level: float
    label: str = NO_COVERAGE


def residual_risk(
    attack: Disclosure, released: Any, used: Any, unused: Any, *, known: Any = None, level: float = 0.95, seed: int = 0
) -> ResidualRisk:
    """Compute the risk of one release, by the definition of Giomi et al. (2023), section 4.

    Args:
        attack: one of the three attacks.
        released: the synthetic table.
        used: the records from which it was made.
        unused: equally many control records of the same population, since the number of descriptions that fit one
            record depends on the number of records.
        known: records of others, for attacks that learn from them.
        level: of the intervals.
        seed: of the attack's random choices; attack and control use the same seed.

    Raises:
        ParameterError: different numbers of records, records outside the domain, or control records equal to the used
            or the released ones.
    """
    open_unit(level=level)
    whole(0, seed=seed)
    table, records, control = (attack.domain.records(rows) for rows in (released, used, unused))
    if len(records) != len(control) or not len(records):
        raise ParameterError(
            f"unused must have as many records as used, {len(records)}, but has {len(control)}. Leave some out.",
            argument="unused",
        )
    if same_rows(control) in (same_rows(records), same_rows(table)):
        what = "used" if same_rows(control) == same_rows(records) else "released"
        raise ParameterError(
            f"unused must be control records that the release does not depend on, but equals the records of {what}. "
            "Pass records of other people of the same population.",
            argument="unused",
        )
    others = attack.domain.records(known) if known is not None else records[:0]
    attacked = [PeopleGroups(rows, rows[:0], others) for rows in (records, control)]
    hits = [attack.published_correct(table, groups, np.random.default_rng(seed)) for groups in attacked]
    return of_counts(*((int(success.sum()), len(success)) for success in hits), level=level)


def of_counts(attack: tuple[int, int], control: tuple[int, int], *, level: float = 0.95) -> ResidualRisk:
    """Compute the residual risk from (successes, guesses) of attack and control.

    Example:
        >>> risk = of_counts((70, 100), (40, 100))
        >>> round(risk.value, 3), tuple(round(end, 3) for end in risk.interval)
        (0.484, (0.315, 0.654))
    """
    open_unit(level=level)
    (p1, half_width1), (p0, half_width0) = _wilson(*attack, level), _wilson(*control, level)
    value = (p1 - p0) / (1.0 - p0)
    half_width = math.hypot(half_width1 / (1.0 - p0), half_width0 * (1.0 - p1) / (1.0 - p0) ** 2)
    low, centre, high = (min(max(end, 0.0), 1.0) for end in (value - half_width, value, value + half_width))
    return ResidualRisk(centre, (low, high), (p1, half_width1), (p0, half_width0), level)


def _wilson(k: int, n: int, level: float) -> tuple[float, float]:
    """Return centre and half-width of Wilson's interval (1927) for k of n; (0.5, 0.5) for n = 0."""
    z2 = float(ndtri(0.5 * (1.0 + level))) ** 2
    if n == 0:
        return 0.5, 0.5
    half_width = math.sqrt(z2) / (n + z2) * math.sqrt(k * (n - k) / n + 0.25 * z2)
    return (k + 0.5 * z2) / (n + z2), half_width
