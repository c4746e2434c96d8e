"""Probabilities of answers against a noisy threshold, integrated over its noise.

Given the noisy threshold t = threshold + rho, the answers are independent: query i stays below it with probability
F((t - q_i) / s), F the distribution function of Laplace noise of scale 1 and s the scale of the query noise. So

    Pr[answers] = integral of f((t - threshold) / r) / r  *  product of F((t - q_i) / s) over the answers below
                                                         *  product of 1 - F((t - q_i) / s) over the answers above  dt

with f the density of the threshold noise, of scale r. It depends only on the numbers of answers below and above for
each value. The integrand is smooth between the corners, which are the threshold and the distinct answers, and nearly
exponential away from them: Gauss-Legendre panels that widen away from the corners give a relative accuracy of 1e-12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from ...accounting.numerics.laplace import laplace_log_cdf, log_laplace
from ...accounting.numerics.quadrature import gauss_legendre
from ...core import AccountingError, Floats, Ints

if TYPE_CHECKING:
    from scipy.interpolate import CubicHermiteSpline

Counts = Ints

N_NODES = 16
"""Gauss-Legendre nodes per panel."""
PANEL_GROWTH = 1.4
"""Ratio of the widths of successive panels, away from a corner."""
TAIL_SCALES = 60.0
"""Range of the integral beyond the last corner, in scales: the omitted part is e^-60 of the density there."""
MERGE_DISTANCE = 1e-9
"""Distance of two corners, in steps, up to which they are merged."""
MAX_ANSWER_DISTANCE = 1e6
"""Largest distance of answers from the threshold, in noise scales: more distant answers are clipped."""
PANEL_PARTS = 40
"""Parts of a panel in an interpolated curve."""


@dataclass(frozen=True)
class ThresholdIntegral:
    """The integral of the module docstring, for one dataset.

    Args:
        threshold, threshold_scale: centre and scale of the noisy threshold, scale > 0.
        query_scale: scale of the query noise, > 0.
        values: the distinct answers of the queries.
    """

    threshold: float
    threshold_scale: float
    query_scale: float
    values: tuple[float, ...]

    def log_probability(self, n_below: Counts, n_above: Counts) -> Floats:
        """Return the log probability of these numbers of queries below and above the threshold, for each value.

        Args:
            n_below, n_above: `(n, len(values))` counts.

        Returns:
            `(n,)` logarithms.
        """
        return np.asarray(logsumexp(self._log_terms(n_below, n_above), axis=1))

    def log_probability_up_to(self, n_below: tuple[int, ...], limit: Floats) -> Floats:
        """Return the log probability that `n_below` queries of each value are below a threshold below `limit`.

        Interpolated by cubics on the logarithm, within about 1e-8.
        """
        first, slope, start, spline = _curve(self, n_below)
        inside = spline(np.clip(limit, first, spline.x[-1]))
        return np.asarray(np.where(limit < first, start + slope * (limit - first), inside))

    def _log_terms(self, n_below: Counts, n_above: Counts) -> Floats:
        nodes, log_weights = self._nodes
        offset = (nodes - np.array(self.values)[:, None]) / self.query_scale
        return np.asarray(log_weights + n_below @ laplace_log_cdf(offset) + n_above @ laplace_log_cdf(-offset))

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        """Nodes, and the log of weight times density of the threshold."""
        return self._quadrature(panels(self._corners, self._step, TAIL_SCALES * self._widest))

    def _quadrature(self, edges: Floats) -> tuple[Floats, Floats]:
        nodes, weights = gauss_legendre(edges, N_NODES)
        return nodes, np.log(weights) + self._log_density(nodes)

    def _log_density(self, t: Floats) -> Floats:
        return log_laplace(t, self.threshold, self.threshold_scale)

    @property
    def _corners(self) -> Floats:
        corners = np.unique([self.threshold, *self.values])
        return np.asarray(corners[np.append(True, np.diff(corners) > MERGE_DISTANCE * self._step)])

    @property
    def _step(self) -> float:
        """Width of the panels at the corners."""
        return min(self.threshold_scale, self.query_scale) / 2.0

    @property
    def _widest(self) -> float:
        return max(self.threshold_scale, self.query_scale)


threshold_integral = lru_cache(maxsize=64)(ThresholdIntegral)
"""Cached `ThresholdIntegral`, so that equal arguments share the nodes."""


@lru_cache(maxsize=256)
def _curve(integral: ThresholdIntegral, n_below: tuple[int, ...]) -> tuple[float, float, float, CubicHermiteSpline]:
    """Return the log integral up to a limit: the first corner, its slope and value there, and the curve beyond.

    Below the first corner the integrand is one exponential, and so is the integral.
    """
    from scipy.interpolate import CubicHermiteSpline  # slow to import

    corners, counts = integral._corners, np.array(n_below)
    coarse = panels(corners, integral._step, TAIL_SCALES * integral._widest)
    coarse = coarse[coarse >= corners[0]]
    inside = coarse[:-1, None] + np.diff(coarse)[:, None] * np.arange(PANEL_PARTS) / PANEL_PARTS
    edges = np.append(inside.ravel(), coarse[-1])
    nodes, log_weights = integral._quadrature(edges)

    def log_below(t: Floats) -> Floats:
        return np.asarray(counts @ laplace_log_cdf((t - np.array(integral.values)[:, None]) / integral.query_scale))

    slope = 1.0 / integral.threshold_scale + counts.sum() / integral.query_scale
    log_integrand = integral._log_density(edges) + log_below(edges)
    start = log_integrand[0] - np.log(slope)
    parts = logsumexp((log_weights + log_below(nodes)).reshape(-1, N_NODES), axis=1)
    log_integral = np.logaddexp.accumulate(np.concatenate([[start], parts]))
    return (
        float(corners[0]),
        slope,
        start,
        CubicHermiteSpline(edges, log_integral, np.exp(log_integrand - log_integral)),
    )


def panels(corners: Floats, step: float, reach: float) -> Floats:
    """Return the edges of panels from `reach` below the first corner to `reach` above the last corner.

    The panels are `step` wide at the corners.

    Raises:
        AccountingError: floats do not resolve panels of this width next to these corners.
    """
    largest = float(np.abs(corners).max())
    if not (math.isfinite(largest + reach) and 8.0 * math.ulp(largest) < step and (largest + reach) / step < math.inf):
        raise AccountingError(
            f"the noise of a threshold or a query has scale {2.0 * step:.3g}, which floats cannot resolve next to "
            f"answers up to {largest:.3g}, so that its output distribution cannot be integrated. Choose another "
            "epsilon, or scale the answers."
        )
    longest = max(reach, float(np.ptp(corners)))
    widths = step * PANEL_GROWTH ** np.arange(1 + int(np.log(1.0 + longest / step) / np.log(PANEL_GROWTH)))
    steps = np.cumsum(widths)
    edges = [corners[0] - reach, *(corners[0] - steps[steps < reach]), corners[-1] + reach]
    edges += [*(corners[-1] + steps[steps < reach]), *corners]
    for low, high in pairwise(corners):
        half = steps[steps < 0.5 * (high - low)]
        edges += [*(low + half), *(high - half), 0.5 * (low + high)]
    return np.unique(edges)
