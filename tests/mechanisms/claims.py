"""Cases of the test of all claims: a mechanism, a pair, and what independently derived laws show on it.

`test_claims_brute_force.py` reads the table `CLAIMS` of each module below `tests/mechanisms` that has one. The table
maps a name of the catalogue to a function that yields

    a `Case`, or
    (mechanism, pair, p0, p1[, hidden], worst): the laws of both sides, and whether the pair is the worst case, or
    (mechanism, pair, p0, p1, options): with options of `Case`.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from tests.mechanisms import claims_laws as laws

from dpassay.mechanisms.core import Mechanism, Neighbours, Relation

EPSILONS = np.array([0.0, 0.05, 0.2, 0.5, 0.9, 1.0, 1.5, 2.5, 4.0, 7.0])
CUT = 4e-3
"""What cutting two or three Gaussians into coarse cells may hide; one Gaussian or Laplace, cut finely: 2e-5."""
FINE = 2e-5
ROUNDING = 1e-9
RELATIONS = tuple(Relation)


@dataclass(frozen=True, eq=False)
class Case:
    """A mechanism and its laws on a pair.

    Args:
        mechanism, pair: the pair is checked to be one that the claim holds for.
        delta: what the laws show at EPSILONS.
        hidden: the most that cutting the laws into cells may hide.
        worst: whether it is the worst case of the mechanism.
        beyond: the pair may show more than the truth, which is that of the worst case: where nothing bounds it, or
            where no pair shows the most everywhere.
    """

    mechanism: Mechanism
    pair: Neighbours
    delta: NDArray[np.float64]
    hidden: float = ROUNDING
    worst: bool = False
    beyond: bool = field(default=False, kw_only=True)


def case(mechanism, pair, p0, p1, hidden=ROUNDING, **options):
    return Case(mechanism, pair, laws.shown(p0, p1, EPSILONS), hidden, **options)


def as_case(found):
    """Return the case that a function of `CLAIMS` has yielded."""
    if isinstance(found, Case):
        return found
    *arguments, last = found
    return case(*arguments, **last) if isinstance(last, dict) else case(*arguments, worst=last, beyond=not last)


def two_gaussians(found):
    """Yield cases of two normal laws of one deviation from (mechanism, pair, distance, worst)."""
    for mechanism, pair, distance, worst in found:
        yield Case(mechanism, pair, laws.gaussian_shown(distance, EPSILONS), FINE, worst=worst)
