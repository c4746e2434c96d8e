"""Group privacy: the guarantee for datasets that differ in several records."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import AccountingError, Guarantee, whole
from ..kinds.approximate import ApproximateDP, PureDP
from ..kinds.bounded_range import BoundedRange
from ..kinds.concentrated import ConcentratedDP
from ..kinds.gaussian import GaussianDP
from ..kinds.laplace import LaplaceDP


def group(guarantee: Guarantee, size: int) -> Guarantee:
    """Return the guarantee for datasets that are `size` steps of the relation apart.

        pure           size epsilon
        Laplace        size epsilon, with the curve of Laplace noise
        approximate    (size epsilon, delta (e^(size epsilon) - 1) / (e^epsilon - 1))
        Gaussian       size mu
        concentrated   size^2 rho
        bounded range  size eta, as log ratios add along the steps

    Args:
        guarantee: a guarantee of one of these kinds, for one step.
        size: number of steps, >= 1.

    Raises:
        ParameterError: size not a whole number >= 1.
        AccountingError: a guarantee of another kind, or a delta of 1 or more.

    References:
        Dwork, Roth (2014), Theorem 2.2 (pure); Vadhan (2017), Section 2 (approximate); Bun, Steinke (2016),
        Proposition 1.9 (rho); Dong, Roth, Su (2019), Theorem 2.14 (Gaussian and Laplace: shifts of log-concave noise).

    Example:
        >>> print(group(GaussianDP(0.5), 3), group(ApproximateDP(0.5, 1e-6), 3))
        GaussianDP(mu=1.5) ApproximateDP(epsilon=1.5, delta=5.367e-06)
    """
    whole(1, size=size)
    if type(guarantee) not in _GROUPS:
        kinds = ", ".join(kind.__name__ for kind in _GROUPS)
        raise AccountingError(
            f"no implemented theorem gives the group privacy of {guarantee}; it is known for {kinds}. One point of its "
            "curve is to_approximate(guarantee, delta=...), which can be grouped."
        )
    return guarantee if size == 1 else _GROUPS[type(guarantee)](guarantee, int(size))


def _approximate(guarantee: ApproximateDP, size: int) -> ApproximateDP:
    epsilon = guarantee.nominal_epsilon
    factor = _growth(size, epsilon)
    delta = guarantee.nominal_delta * factor if guarantee.nominal_delta else 0.0
    if not delta < 1.0:
        raise AccountingError(
            f"for groups of {size} the delta of {guarantee} grows to {delta:g}, and a delta of 1 or more guarantees "
            f"nothing. It holds for groups up to about {_largest(guarantee)}.",
            argument="size",
        )
    return ApproximateDP(size * epsilon, delta, guarantee.relation)


def _largest(guarantee: ApproximateDP) -> int:
    """Return the largest group size with a delta below 1."""
    epsilon, delta = guarantee.nominal_epsilon, guarantee.nominal_delta
    if epsilon == 0.0:
        return max(1, int(1.0 / delta))
    return max(1, int(np.logaddexp(0.0, epsilon + math.log(-math.expm1(-epsilon)) - math.log(delta)) / epsilon))


_GROUPS: dict[type[Guarantee], Callable[[Any, int], Guarantee]] = {
    PureDP: lambda g, size: PureDP(size * g.nominal_epsilon, g.relation),
    LaplaceDP: lambda g, size: LaplaceDP(size * g.nominal_epsilon, g.relation, exact=g.exact),
    ApproximateDP: _approximate,
    BoundedRange: lambda g, size: BoundedRange(size * g.eta, g.relation),
    GaussianDP: lambda g, size: GaussianDP(size * g.mu, g.relation, exact=g.exact),
    ConcentratedDP: lambda g, size: ConcentratedDP(size * size * g.rho, g.relation),
}


def _growth(size: int, epsilon: float) -> float:
    """Return (e^(size epsilon) - 1) / (e^epsilon - 1), at most e^700, where any delta > 0 becomes 1 or more."""
    if epsilon == 0.0:
        return float(size)
    if size * epsilon < 700.0:
        return float(np.expm1(size * epsilon) / np.expm1(epsilon))
    return math.exp(min((size - 1.0) * epsilon - math.log(-math.expm1(-epsilon)), 700.0))
