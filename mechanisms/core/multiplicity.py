"""Corrections for multiple testing: over sweeps, pairs, attacks, bounds and test sessions.

    bonferroni   p-values, with weights       Pr[any false rejection] <= a    any dependence; lower bounds too
    holm         p-values, with weights       Pr[any false rejection] <= a    any dependence; at least as strong
    e_bh         e-values                     E[share of false rejections] <= a    any dependence

Each returns *adjusted* values, in the order of the input: reject the hypotheses whose adjusted value is <= a. Fixed
before looking: all hypotheses and the weights. A null p-value satisfies Pr[p <= a] <= a, a null e-value has mean at
most 1; there are no other assumptions. The first two control the family-wise error and so support a verdict; `e_bh`
controls the false discovery rate, which suits a survey of many mechanisms: of the mechanisms that it reports as broken,
an expected share of at most a is reported wrongly.

The levels hold because
    bonferroni   Pr[some null p_i <= a w_i] <= sum a w_i <= a;
    holm         consider the null that is rejected first: at that step all nulls remained, so that its p-value was at
                 most a w_i / (sum of the weights of the nulls), which happens for some null with probability <= a;
    e_bh         with k rejections each has E_i >= K / (a k), so that its share 1 / k of them is at most a E_i / K, and
                 the expectation of the sum of a E_i / K over the nulls is at most a.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Bools, Floats
from .errors import ParameterError
from .validation import open_unit, whole


def bonferroni(p_values: ArrayLike, *, weights: Sequence[float] | None = None) -> list[float]:
    """Return p-values adjusted by Bonferroni's inequality: p_i / w_i with weights of sum 1, at most 1.

    Args:
        p_values: one for each hypothesis, in [0, 1].
        weights: > 0, fixed before looking; only their proportions matter. None gives equal weights.

    Raises:
        ParameterError: a value out of range, or not as many weights as p-values.

    Example:
        >>> bonferroni([0.125, 0.25, 0.5])
        [0.375, 0.75, 1.0]
        >>> bonferroni([0.125, 0.25, 0.5], weights=[2, 1, 1])
        [0.25, 1.0, 1.0]
    """
    p = _p_values(p_values)
    w = _weights(weights, len(p))
    return _listed(p * (w.sum() / w))


def shared_confidence(confidence: float, n: int) -> float:
    """Return the confidence for each of `n` lower bounds such that all hold at `confidence` (Bonferroni).

    The largest of the bounds is then also a lower bound at `confidence`.

    Example:
        >>> shared_confidence(0.95, 5)
        0.99
    """
    open_unit(confidence=confidence)
    whole(1, n=n)
    return 1.0 - (1.0 - confidence) / n


def holm(p_values: ArrayLike, *, weights: Sequence[float] | None = None) -> list[float]:
    """Return p-values adjusted by the method of Holm (1979); rejecting those <= a has family-wise error <= a.

    The smallest p_i / w_i is compared with a, the next after the weight of the first is released, and so on until one
    is not rejected.

    Args:
        p_values, weights: see `bonferroni`.

    Example:
        >>> holm([0.125, 0.25, 0.5])
        [0.375, 0.5, 0.5]
    """
    p = _p_values(p_values)
    w = _weights(weights, len(p))
    order = np.argsort(p / w, kind="stable")
    remaining = np.cumsum(w[order][::-1])[::-1]  # total weight of the hypotheses that are not yet rejected
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] / w[order] * remaining)
    return _listed(adjusted)


def e_bh(e_values: Sequence[float]) -> list[float]:
    """Return e-values adjusted by the e-BH procedure; rejecting those <= a has false discovery rate <= a.

    At a, the k largest e-values are rejected, k the largest number with E_(k) >= K / (a k). **Not family-wise**: of
    many rejections, some are expected to be wrong.

    Args:
        e_values: one for each hypothesis, >= 0, +inf allowed.

    Returns:
        For each hypothesis, the smallest a, at most 1, at which it is rejected.

    References:
        Wang and Ramdas (2022), JRSS B 84, arXiv:2009.02824, section 4.

    Example:
        >>> e_bh([100.0, 50.0, 1.0])
        [0.03, 0.03, 1.0]
    """
    e = _vector("e_values", e_values, "be >= 0", lambda e: e >= 0.0)
    order = np.argsort(-e, kind="stable")
    with np.errstate(divide="ignore", over="ignore"):
        level = len(e) / (np.arange(1, len(e) + 1) * e[order])
    adjusted = np.empty_like(e)
    adjusted[order] = np.minimum.accumulate(level[::-1])[::-1]
    return _listed(adjusted)


def e_from_p(p_values: ArrayLike) -> Floats:
    """Return e-values from p-values: the mean over k in (0, 1) of k p^(k - 1).

    The mean is (1 - p + p ln p) / (p ln^2 p). Use it for `e_bh` over audits that have p-values only; like every map
    from p-values to e-values it loses power.

    References:
        Vovk and Wang (2021), Annals of Statistics 49, arXiv:1912.06116, equation (2).

    Example:
        >>> e_from_p([1e-6, 1e-3, 1.0]).round(2).tolist()
        [5239.14, 20.79, 0.5]
    """
    p = _p_values(p_values)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = -np.log(p)
        exact = (1.0 - p - p * x) / (p * x * x)
        near_one = 0.5 + x * (1.0 / 6.0 + x / 24.0)  # the series of (e^x - 1 - x) / x^2
    return np.where(p == 0.0, np.inf, np.where(x < 1e-3, near_one, exact))


def _p_values(values: ArrayLike) -> Floats:
    return _vector("p_values", values, "lie in [0, 1]", lambda p: (p >= 0.0) & (p <= 1.0))


def _weights(weights: Sequence[float] | None, n: int) -> Floats:
    if weights is None:
        return np.ones(n)
    w = _vector("weights", weights, "be finite and > 0", lambda w: (w > 0.0) & np.isfinite(w))
    if len(w) != n:
        raise ParameterError(
            f"weights must be one for each of the {n} hypotheses, but are {len(w)}.", argument="weights"
        )
    return w


def _vector(name: str, values: ArrayLike, allowed: str, usable: Callable[[Floats], Bools]) -> Floats:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise ParameterError(f"{name} must be a list of numbers, but have shape {vector.shape}.", argument=name)
    wrong = vector[~usable(vector)]
    if len(wrong):
        raise ParameterError(f"{name} must {allowed}, but hold {float(wrong[0])!r}.", argument=name)
    return vector


def _listed(adjusted: Floats) -> list[float]:
    return [float(a) for a in np.minimum(1.0, adjusted)]
