"""p-values: how often would a stranger score as high?

    normal      the normal limit: an approximation, whatever the number of columns
    chernoff    a bound that always holds, for any number of columns
    exact       the distribution itself, rounded to the safe side; up to some 20,000 columns
    empirical   the rank among people of reference: whatever the columns have to do with each other

The first three are conditional on the release, and hold for strangers whose columns are independent with the given
frequencies: the score is then a sum of independent terms that take two values each. Linked columns make the true spread
larger than they say. The last one asks only that the person, if not in the study, and the people of reference are drawn
alike.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from ...mechanisms.errors import ParameterError, plural
from .base import Linear

Floats = NDArray[np.float64]
REACH = 14.0
"""Standard deviations that the exact distribution is followed to; what lies above counts as infinitely high."""
CELLS = 2**16
"""Cells of the exact distribution."""
SLACK = 1e-13
"""Probability given up for what rounding to cells adds up to."""
FEWEST = 10
"""People of reference that an empirical p-value needs: with fewer, none is below 1/11."""
TILTS = np.geomspace(0.05, 100.0, 60)


def normal(scores: ArrayLike, linear: Linear, frequencies: Floats) -> Floats:
    """1 - Phi of the standardised scores `(N,)`: right in the limit of many columns of similar weight."""
    return np.asarray(ndtr(-_standard(scores, linear, frequencies)))


def chernoff(scores: ArrayLike, linear: Linear, frequencies: Floats) -> Floats:
    """min over t of e^(K(t) - t x), K the cumulant generating function of strangers: never too small, `(N,)`.

    Every t gives a bound (Chernoff 1952); the least of 60 is taken.
    """
    x = _standard(scores, linear, frequencies)
    slopes = _standard_slopes(linear, frequencies)
    centre = float(slopes @ frequencies)
    cumulants = np.empty(len(TILTS))
    for i, t in enumerate(TILTS):
        up, down = t * slopes + np.log(np.maximum(frequencies, 1e-300)), np.log1p(-np.minimum(frequencies, 1.0 - 1e-16))
        cumulants[i] = float(np.where(slopes != 0.0, np.logaddexp(up, down), 0.0).sum()) - t * centre
    log_p = np.min(cumulants[:, None] - TILTS[:, None] * x, axis=0, initial=0.0)
    return np.asarray(np.exp(log_p))


def exact(scores: ArrayLike, linear: Linear, frequencies: Floats, *, n_cells: int = CELLS) -> Floats:
    """Pr[a stranger scores as high], never too small, `(N,)`: by convolution, one column after the other.

    Args:
        scores: `(N,)`, of `linear`.
        linear: of one release.
        frequencies: of strangers, `(d,)`.
        n_cells: of the grid; time is proportional to n_cells times d.

    Guarantees:
        * A slope is rounded to whole cells. What that moves the score by is a sum of independent errors; their mean is
          added to the score, and on top of it as much as they exceed with probability 1e-13 at most (Hoeffding 1963),
          or ever, whichever is less. The 1e-13 is added to the p-value.
        * Mass that leaves the grid above counts as infinitely high; below, it is kept in the lowest cell.
    """
    x = _standard(scores, linear, frequencies)
    slopes = _standard_slopes(linear, frequencies)
    used = slopes != 0.0
    slopes, p = slopes[used], frequencies[used]
    width = 2.0 * REACH / n_cells
    jumps = np.rint(slopes / width).astype(np.int64)
    mass, beyond, centre = _convolved(jumps, p, n_cells)
    error = slopes - width * jumps
    ever = float((np.maximum(error, 0.0) - error * p).sum())
    seldom = math.sqrt(-0.5 * math.log(SLACK) * float(np.square(error).sum()))
    shift, slack = (ever, 0.0) if ever <= seldom else (seldom, SLACK)
    # score = width (cell - origin) + (width * centre - mean) + centred error; both means are of the rounded sum
    cells = (x - shift - 1e-9) / width - centre
    tail = np.append(np.cumsum(mass[::-1])[::-1], 0.0) + beyond
    return np.asarray(np.minimum(1.0, tail[np.clip(np.ceil(cells).astype(np.int64), 0, n_cells)] + slack))


def _convolved(jumps: NDArray[np.int64], p: Floats, n_cells: int) -> tuple[Floats, float, float]:
    """Law of sum_j jumps_j (y_j - p_j): masses of the cells, mass above them, and c: cell i stands for i + c."""
    mass, fresh = np.zeros(n_cells), np.empty(n_cells)
    origin = n_cells // 2
    mass[origin] = 1.0
    beyond, total, drawn_back = 0.0, 0.0, 0
    for jump, share in zip(jumps.tolist(), p.tolist(), strict=True):
        total += jump * share
        back = round(total) - drawn_back
        drawn_back += back
        fresh[:] = 0.0
        beyond += _move(fresh, mass, 1.0 - share, -back) + _move(fresh, mass, share, jump - back)
        mass, fresh = fresh, mass
    return mass, beyond, drawn_back - total - origin


def _move(into: Floats, mass: Floats, share: float, cells: int) -> float:
    """Adds a share of `mass`, moved up by `cells`; returns what leaves above. What would leave below stays lowest."""
    n = len(mass)
    cells = max(-n, min(n, cells))
    if cells >= 0:
        into[cells:] += share * mass[: n - cells]
        return share * float(mass[n - cells :].sum())
    into[: n + cells] += share * mass[-cells:]
    into[0] += share * float(mass[:-cells].sum())
    return 0.0


def empirical(scores: ArrayLike, reference: ArrayLike) -> Floats:
    """(1 + people of reference who score as high) / (1 + people of reference), `(N,)`.

    Valid for a stranger who is exchangeable with the people of reference given release and frequencies: these must not
    have gone into the frequencies that the score uses, nor into the study.

    Raises:
        ParameterError: fewer than ten people of reference.
    """
    known = np.sort(np.asarray(reference, dtype=np.float64))
    if len(known) < FEWEST:
        raise ParameterError(
            f"there are {plural(len(known), 'person', 'people')} of reference, with whom no p-value is below "
            f"1/{len(known) + 1}. Give {FEWEST} or more, and 999 for a p-value of 0.001.",
            argument="reference",
        )
    as_high = len(known) - np.searchsorted(known, np.asarray(scores, dtype=np.float64), side="left")
    return np.asarray((1.0 + as_high) / (1.0 + len(known)))


def _standard(scores: ArrayLike, linear: Linear, frequencies: Floats) -> Floats:
    """Scores in standard deviations of strangers."""
    deviation = float(np.sqrt(linear.variance(frequencies)))
    rest = np.asarray(scores, dtype=np.float64) - linear.mean(frequencies)
    return rest / deviation if deviation > 0.0 else np.zeros_like(rest)


def _standard_slopes(linear: Linear, frequencies: Floats) -> Floats:
    """Slopes in standard deviations of strangers."""
    return linear.standardised(frequencies).slopes
