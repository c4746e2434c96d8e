"""Conversions from one kind of guarantee to another; an error if no implemented theorem gives the conversion.

    to_approximate    any kind                                          at one delta
    to_concentrated   pure, Laplace, Gaussian, concentrated, bounded range, pairs of finite distributions
    to_renyi          the same kinds, each by its exact divergence      at a list of orders
    to_privacy_loss   pure, approximate, Laplace, Gaussian, bounded range, pairs of finite distributions, privacy-loss
                      distributions

Each result is a valid bound for every mechanism with the given guarantee, and keeps its relation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from scipy.special import expit, hyp1f1, logsumexp

from ...core import AccountingError, Floats, Guarantee, ParameterError, delta_range
from ..kinds.approximate import ApproximateDP, PureDP
from ..kinds.bounded_range import BoundedRange
from ..kinds.concentrated import ConcentratedDP
from ..kinds.exact import SMALL, ExactDP, log_ratio
from ..kinds.gaussian import GaussianDP
from ..kinds.laplace import LaplaceDP
from ..kinds.privacy_loss import INTERVAL, PrivacyLossDP, checked_interval
from ..kinds.profile import MAX_EPSILON
from ..kinds.renyi import ORDERS, RenyiDP


def nominal(guarantee: Guarantee) -> tuple[float, float] | None:
    """Return the (epsilon, delta) at which a guarantee is usually stated, or None for a curve without such a point.

    Defined for pure, Laplace and approximate DP, bounded range, and pairs of finite distributions with the same
    possible outputs.
    """
    if isinstance(guarantee, (PureDP, LaplaceDP, ApproximateDP)):
        return guarantee.nominal_epsilon, guarantee.default_delta
    if isinstance(guarantee, BoundedRange):
        return guarantee.eta, 0.0
    if isinstance(guarantee, ExactDP) and guarantee.default_delta is not None:
        return guarantee.epsilon(0.0), 0.0
    return None


def to_approximate(guarantee: Guarantee, *, delta: float) -> ApproximateDP:
    """Return the (epsilon(delta), delta)-DP guarantee, one point of the curve.

    Raises:
        AccountingError: the guarantee has no finite epsilon at this delta.

    Example:
        >>> print(to_approximate(GaussianDP(1.0), delta=1e-5))
        ApproximateDP(epsilon=4.37718, delta=1e-05)
    """
    delta_range(delta=delta)
    epsilon = float(guarantee.epsilon(delta))
    if not math.isfinite(epsilon):
        raise AccountingError(f"{guarantee} has no finite epsilon at delta = {delta:g}; choose a larger delta.")
    return ApproximateDP(epsilon, delta, guarantee.relation)


# --- zCDP ---------------------------------------------------------------------------------------------------------


@singledispatch
def to_concentrated(guarantee: Guarantee) -> ConcentratedDP:
    """Return the zCDP guarantee with the least rho that an implemented theorem gives.

    pure      rho = epsilon tanh(epsilon / 2), below the textbook epsilon^2 / 2. Randomized response dominates, and its
              divergence of order a is (c(a - 1/2) - c(1/2)) / (a - 1) with c(u) = log cosh(u epsilon). The slope
              c'(u) = epsilon tanh(u epsilon) is at most 2u c'(1/2) for u >= 1/2, whose mean over [1/2, a - 1/2] is
              a c'(1/2). Attained in the limit a -> 1.
    Laplace   rho = epsilon - 1 + e^-epsilon, its Kullback-Leibler divergence. With v = (a - 1/2)^2 the divergence of
              order a, times a - 1, is log(cosh(sqrt(v) epsilon) + sinh(sqrt(v) epsilon) / (2 sqrt(v))) - epsilon / 2:
              an entire function of order 1/2 of v whose zeros are real and negative, so that its logarithm is
              concave in v, hence below its tangent at v = 1/4, where it is 0.
    Gaussian  rho = mu^2 / 2 (Bun, Steinke 2016, Proposition 1.6), with equality at every order.
    range     rho = eta^2 / 8 by Hoeffding's lemma for a loss in an interval of length eta (Cesar, Rogers 2021).

    Raises:
        AccountingError: no theorem gives a finite rho, for example for (epsilon, delta)-DP.

    Example:
        >>> print(to_concentrated(GaussianDP(1.0)), to_concentrated(PureDP(1.0)))
        ConcentratedDP(rho=0.5) ConcentratedDP(rho=0.462117)
    """
    raise _refusal(guarantee, "zCDP", "accounting='privacy-loss' keeps the whole curve.")


@to_concentrated.register
def _(guarantee: ConcentratedDP) -> ConcentratedDP:
    return guarantee


@to_concentrated.register
def _(guarantee: PureDP) -> ConcentratedDP:
    epsilon = guarantee.nominal_epsilon
    return ConcentratedDP(epsilon * math.tanh(0.5 * epsilon), guarantee.relation)


@to_concentrated.register
def _(guarantee: LaplaceDP) -> ConcentratedDP:
    epsilon = guarantee.nominal_epsilon
    return ConcentratedDP(float(_beyond_linear(np.array(-epsilon))), guarantee.relation)


@to_concentrated.register
def _(guarantee: GaussianDP) -> ConcentratedDP:
    return ConcentratedDP(0.5 * guarantee.mu**2, guarantee.relation)


@to_concentrated.register
def _(guarantee: BoundedRange) -> ConcentratedDP:
    return ConcentratedDP(guarantee.eta**2 / 8.0, guarantee.relation)


@to_concentrated.register
def _(guarantee: ExactDP) -> ConcentratedDP:
    """Convert the pure guarantee that the pair satisfies."""
    pure = nominal(guarantee)
    if pure is None:
        raise _refusal(guarantee, "zCDP", "Some output is possible on one side only.")
    return to_concentrated(PureDP(pure[0], guarantee.relation))


# --- Renyi --------------------------------------------------------------------------------------------------------


@singledispatch
def to_renyi(guarantee: Guarantee, *, orders: Sequence[float] | None = None) -> RenyiDP:
    """Return the Renyi divergences at finite orders (None: `renyi.ORDERS`), each exact for the dominating pair.

    Mironov (2017), Table II, for randomized response (hence pure DP), Laplace and Gaussian.

    Raises:
        AccountingError: the divergences are infinite or not known at these orders.

    Example:
        >>> [round(d, 4) for d in to_renyi(LaplaceDP(1.0), orders=(2.0, 10.0)).divergences]
        [0.6191, 0.9287]
    """
    raise _refusal(guarantee, "Renyi DP", "accounting='privacy-loss' keeps the whole curve.")


@to_renyi.register
def _(guarantee: RenyiDP, *, orders: Sequence[float] | None = None) -> RenyiDP:
    if orders is None or tuple(map(float, orders)) == guarantee.orders:
        return guarantee
    known = dict(zip(guarantee.orders, guarantee.divergences, strict=True))
    missing = [order for order in orders if order not in known]
    if missing:
        raise AccountingError(f"{guarantee} has no divergence at order {missing[0]:g}; choose from the listed orders.")
    return RenyiDP(tuple(orders), tuple(known[order] for order in orders), guarantee.relation)


@to_renyi.register
def _(guarantee: ConcentratedDP, *, orders: Sequence[float] | None = None) -> RenyiDP:
    used = _orders(orders)
    return RenyiDP(tuple(used), tuple(guarantee.rho * used), guarantee.relation)


@to_renyi.register
def _(guarantee: GaussianDP, *, orders: Sequence[float] | None = None) -> RenyiDP:
    return to_renyi(to_concentrated(guarantee), orders=orders)


@to_renyi.register
def _(guarantee: PureDP, *, orders: Sequence[float] | None = None) -> RenyiDP:
    """Return log(cosh((a - 1/2) epsilon) / cosh(epsilon / 2)) / (a - 1) at each order a.

    The ratio minus 1 is 2 sinh(a epsilon / 2) sinh((a - 1) epsilon / 2) / cosh(epsilon / 2): a product, which is
    accurate for small epsilons, and is computed in logarithms, so that large epsilons do not overflow.
    """
    used, e = _orders(orders), guarantee.nominal_epsilon
    with np.errstate(divide="ignore"):
        log_sinh = np.log(-np.expm1(-used * e)) + np.log(-np.expm1((1.0 - used) * e))
    divergences = np.logaddexp(0.0, (used - 1.0) * e + log_sinh - np.log1p(np.exp(-e))) / (used - 1.0)
    return RenyiDP(tuple(used), tuple(np.clip(divergences, 0.0, e)), guarantee.relation)


@to_renyi.register
def _(guarantee: LaplaceDP, *, orders: Sequence[float] | None = None) -> RenyiDP:
    """Return log(w e^((a - 1) epsilon) + (1 - w) e^(-a epsilon)) / (a - 1) with w = a / (2a - 1), at each order a.

    If the divergence is small, the linear terms of the two exponentials are omitted, since they cancel.
    """
    used, e = _orders(orders), guarantee.nominal_epsilon
    share, up, down = used / (2.0 * used - 1.0), (used - 1.0) * e, -used * e
    moment = share * _beyond_linear(np.minimum(up, 1.0)) + (1.0 - share) * _beyond_linear(down)
    large = np.logaddexp(np.log(share) + up, np.log1p(-share) + down)
    divergences = np.where(up < 1.0, np.log1p(moment), large) / (used - 1.0)
    return RenyiDP(tuple(used), tuple(np.clip(divergences, 0.0, e)), guarantee.relation)


@to_renyi.register
def _(guarantee: BoundedRange, *, orders: Sequence[float] | None = None) -> RenyiDP:
    """Return the largest divergence over all pairs with two outputs, of loss t and t - eta (see `BoundedRange`).

    The moment of order a is proportional to e^((a - 1) t) (e^eta - c) - e^(a t) (1 - c) with c = e^-((a - 1) eta), and
    largest at e^t = (1 - 1/a) (e^eta - c) / (1 - c).
    """
    used, eta = _orders(orders), guarantee.eta
    c = (used - 1.0) * eta
    t = np.log1p(-1.0 / used) + eta + np.log(-np.expm1(-used * eta)) - np.log(-np.expm1(-c))
    t = np.clip(t, 0.0, eta)
    with np.errstate(divide="ignore"):
        log_upper = np.log(-np.expm1(t - eta)) - np.log(-np.expm1(-eta))
        log_rest = t - eta + np.log(-np.expm1(-t)) - np.log(-np.expm1(-eta))
    small, first = np.minimum(used * eta, 1.0) / (used * eta), np.exp(log_upper - t)
    up, down = (_beyond_linear(used * small * x) - used * _beyond_linear(small * x) for x in (t, t - eta))
    near = np.log1p(first * up + np.exp(log_rest + eta - t) * down)
    far = np.logaddexp(log_upper + (used - 1.0) * t, log_rest + (used - 1.0) * (t - eta))
    divergences = np.where(used * eta < 1.0, near, far) / (used - 1.0)
    return RenyiDP(tuple(used), tuple(np.clip(divergences, 0.0, eta)), guarantee.relation)


@to_renyi.register
def _(guarantee: ExactDP, *, orders: Sequence[float] | None = None) -> RenyiDP:
    if guarantee.default_delta is None:
        raise AccountingError(
            f"{guarantee} has outputs that one side cannot produce: every Renyi divergence is infinite. "
            "Use accounting='privacy-loss'."
        )
    used, (log0, log1) = _orders(orders), guarantee.log_laws
    shared = log0 > -np.inf
    log0, log1 = log0[shared], log1[shared]
    divergences = np.maximum(_log_moments(log1, log0, used), _log_moments(log0, log1, used)) / (used - 1.0)
    return RenyiDP(tuple(used), tuple(divergences), guarantee.relation)


def _log_moments(log_upper: Floats, log_lower: Floats, orders: Floats) -> Floats:
    """Return log sum upper^a lower^(1 - a) at each order a, >= 0.

    For two similar laws the sum is computed as 1 + sum lower (e^(a l) - 1 - a (e^l - 1)) with l = log(upper / lower):
    the subtracted terms add up to 0, and no term is negative.
    """
    a, loss = orders[:, np.newaxis], log_upper - log_lower
    upper, lower = np.exp(log_upper), np.exp(log_lower)
    normal = np.minimum(upper, lower) > SMALL
    loss[normal] = log_ratio(upper[normal], lower[normal])
    moments = lower * (_beyond_linear(np.minimum(a * loss, 1.0)) - a * _beyond_linear(np.minimum(loss, 1.0)))
    near = np.log1p(np.maximum(0.0, moments.sum(axis=1)))
    far = logsumexp(a * log_upper + (1.0 - a) * log_lower, axis=1)
    return np.asarray(np.where(orders * np.abs(loss).max() < 1.0, near, np.maximum(0.0, far)))


def _beyond_linear(x: Floats) -> Floats:
    """Return e^x - 1 - x, without cancellation."""
    near = np.clip(x, -1.0, 1.0)
    return np.asarray(np.where(np.abs(x) < 1.0, 0.5 * near**2 * hyp1f1(1.0, 3.0, near), np.expm1(x) - x))


def _orders(orders: Sequence[float] | None) -> Floats:
    """Return the orders as an array, checked to be finite and > 1."""
    order_array = np.array(ORDERS if orders is None else orders, dtype=np.float64)
    if not np.all((order_array > 1.0) & np.isfinite(order_array)):
        raise ParameterError(f"orders must be finite and > 1, but are {order_array.tolist()}.", argument="orders")
    return order_array


# --- privacy loss -------------------------------------------------------------------------------------------------


@singledispatch
def to_privacy_loss(guarantee: Guarantee, *, interval: float = INTERVAL, fixed_sides: bool = False) -> PrivacyLossDP:
    """Return the privacy-loss distribution of the dominating pair, on a grid.

    The mass of a loss between two grid points is split between them so that its probabilities under both sides are kept
    (Doroshenko et al. 2022, "connect the dots"): pessimistic, with an error of the order of interval^2.

    Args:
        guarantee: the guarantee to convert.
        interval: grid interval, > 0.
        fixed_sides: the meaning of an asymmetric pair of distributions. False: a guarantee, which bounds any mechanism
            with its curve, also with the sides swapped, so that it is made symmetric before it is composed with others.
            True: two known laws on one known pair of datasets, p0 on side 0 and p1 on side 1.

    Raises:
        AccountingError: the guarantee has no dominating pair (zCDP, Renyi DP), or another grid.

    Example:
        >>> round(to_privacy_loss(PureDP(1.0)).epsilon(0.01), 6)
        0.986227
    """
    raise _refusal(guarantee, "a privacy-loss distribution", "accounting='renyi' composes it with other kinds.")


@to_privacy_loss.register
def _(guarantee: PrivacyLossDP, *, interval: float = INTERVAL, fixed_sides: bool = False) -> PrivacyLossDP:
    if not math.isclose(guarantee.interval, interval, rel_tol=1e-9):
        raise AccountingError(
            f"{guarantee} has its losses on a grid of {guarantee.interval:g}, but {interval:g} is requested. "
            f"Give interval={guarantee.interval:g}."
        )
    return guarantee


@to_privacy_loss.register
def _(guarantee: GaussianDP, *, interval: float = INTERVAL, fixed_sides: bool = False) -> PrivacyLossDP:
    on_grid = PrivacyLossDP.gaussian(1.0 / guarantee.mu, interval=interval)
    return PrivacyLossDP.from_pld(on_grid.pld, relation=guarantee.relation, description=str(guarantee))


@to_privacy_loss.register
def _(guarantee: LaplaceDP, *, interval: float = INTERVAL, fixed_sides: bool = False) -> PrivacyLossDP:
    on_grid = PrivacyLossDP.laplace(guarantee.nominal_epsilon, interval=interval)
    return PrivacyLossDP.from_pld(on_grid.pld, relation=guarantee.relation, description=str(guarantee))


@to_privacy_loss.register(PureDP)
@to_privacy_loss.register(ApproximateDP)
def _(guarantee: PureDP | ApproximateDP, *, interval: float = INTERVAL, fixed_sides: bool = False) -> PrivacyLossDP:
    loss = guarantee.nominal_epsilon * np.array([1.0, -1.0])
    infinite = guarantee.default_delta
    masses = _on_grid(loss, (1.0 - infinite) * expit(loss), infinite, interval)
    return _from_masses(masses, masses, guarantee, interval)


@to_privacy_loss.register
def _(guarantee: BoundedRange, *, interval: float = INTERVAL, fixed_sides: bool = False) -> PrivacyLossDP:
    """Return the distribution for logistic noise shifted by eta, which has the curve of the guarantee.

    delta is replaced by chords in e^epsilon, whose bends are the probabilities under the other side.
    """
    if guarantee.eta > MAX_EPSILON:  # equivalent to pure eta-DP, up to e^-350 in delta
        return to_privacy_loss(PureDP(guarantee.eta, guarantee.relation), interval=interval)
    checked_interval(interval, 2.0 * guarantee.eta)
    points = interval * np.arange(math.ceil(guarantee.eta / interval) + 2.0)
    slopes = np.diff(guarantee._delta(points)) / (np.exp(points[:-1]) * math.expm1(interval))
    under_other = np.maximum(0.0, np.diff(slopes))
    own = np.exp(points[1:-1]) * under_other
    rest = 1.0 - math.fsum(own) - math.fsum(under_other)
    masses = -len(own), np.maximum(0.0, np.concatenate([under_other[::-1], [rest], own])), 0.0
    return _from_masses(masses, masses, guarantee, interval)


@to_privacy_loss.register
def _(guarantee: ExactDP, *, interval: float = INTERVAL, fixed_sides: bool = False) -> PrivacyLossDP:
    pair = guarantee if fixed_sides or _is_symmetric(guarantee) else guarantee.symmetric()
    log0, log1 = pair.log_laws
    return _from_masses(_pair_masses(log1, log0, interval), _pair_masses(log0, log1, interval), guarantee, interval)


Masses = tuple[int, Floats, float]
"""The lowest loss on the grid, probabilities from there on, and probability of an infinite loss."""


def _pair_masses(log_upper: Floats, log_lower: Floats, interval: float) -> Masses:
    both = (log_upper > -np.inf) & (log_lower > -np.inf)
    upper = np.exp(log_upper)
    return _on_grid(log_upper[both] - log_lower[both], upper[both], float(upper[log_lower == -np.inf].sum()), interval)


def _on_grid(losses: Floats, probabilities: Floats, infinite: float, interval: float) -> Masses:
    """Split the mass of each loss between its two neighbours on the grid.

    With w the share of the upper neighbour, the probability under the other side is kept:
    w e^-upper + (1 - w) e^-lower = e^-loss.
    """
    below = np.floor(losses / interval + 1e-9)
    share = np.clip(np.expm1(below * interval - losses) / math.expm1(-interval), 0.0, 1.0)
    grid = np.concatenate([below, below + 1.0])
    mass = np.concatenate([(1.0 - share) * probabilities, share * probabilities])
    if not mass.any():
        return 0, np.zeros(1), infinite
    grid, mass = grid[mass > 0.0], mass[mass > 0.0]
    first = grid.min()
    checked_interval(interval, interval * float(grid.max() - first))
    masses: Floats = np.bincount((grid - first).astype(np.int64), mass).astype(np.float64, copy=False)
    return int(first), masses, infinite


def _from_masses(remove: Masses, add: Masses, guarantee: Guarantee, interval: float) -> PrivacyLossDP:
    from dp_accounting.pld.pld_pmf import DensePLDPmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    removed, added = (DensePLDPmf(interval, *masses, True) for masses in (remove, add))
    same = remove[::2] == add[::2] and np.array_equal(remove[1], add[1])
    pld = PrivacyLossDistribution(removed, None if same else added)
    return PrivacyLossDP.from_pld(pld, relation=guarantee.relation, description=str(guarantee))


def _is_symmetric(guarantee: ExactDP) -> bool:
    """Return True if swapping the sides keeps the law of the losses."""
    log0, log1 = guarantee.log_laws
    forward, backward = np.lexsort((log0, log1)), np.lexsort((log1, log0))
    return bool(
        np.allclose(log1[forward], log0[backward], rtol=1e-12, atol=1e-12)
        and np.allclose(log0[forward], log1[backward], rtol=1e-12, atol=1e-12)
    )


def _refusal(guarantee: Guarantee, target: str, way_out: str) -> AccountingError:
    return AccountingError(
        f"no implemented theorem converts {guarantee} to {target}. {way_out} One point of its curve is "
        "to_approximate(guarantee, delta=...)."
    )
