"""p-values: the probability that a non-member scores as high.

    normal      the normal limit: an approximation for any number of columns
    chernoff    a bound that always holds, for any number of columns
    exact       the exact distribution, rounded to the safe side; up to some 20,000 columns
    empirical   the rank among people of reference; valid for dependent columns

The first three are conditional on the release, and hold for non-members whose columns are independent with the given
frequencies: the score is then a sum of independent terms that take two values each. Dependent columns make the true
spread larger. The last one requires only that the person, if not in the study, and the people of reference are
exchangeable.

For many people at once: `benjamini_hochberg`, and `holm` of `dpassay.mechanisms.core.multiplicity`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from ....mechanisms.core import Floats, Ints, ParameterError, plural
from .base import Linear

GRID_DEVIATIONS = 14.0
"""Range of the exact distribution, in standard deviations; larger values are treated as infinite."""
N_CELLS = 2**16
"""Number of cells of the exact distribution."""
ROUNDING_PROBABILITY = 1e-13
"""Error probability allowed for the sum of rounding errors."""
MIN_REFERENCES = 10
"""Smallest number of people of reference for an empirical p-value: with fewer, no p-value is below 1/11."""
TILTS = np.geomspace(0.05, 100.0, 60)


def normal(scores: ArrayLike, linear: Linear, frequencies: Floats) -> Floats:
    """Return 1 - Phi of the standardised scores `(N,)`: valid in the limit of many columns of similar weight."""
    return np.asarray(ndtr(-_standard(scores, linear, frequencies)))


def chernoff(scores: ArrayLike, linear: Linear, frequencies: Floats) -> Floats:
    """Return the Chernoff bound on the p-value, never too small, `(N,)`.

    min over t of e^(K(t) - t x), with K the cumulant generating function of non-members. Every t gives a bound
    (Chernoff 1952); the smallest of 60 is returned.
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


def exact(scores: ArrayLike, linear: Linear, frequencies: Floats, *, n_cells: int = N_CELLS) -> Floats:
    """Return Pr[a non-member scores as high], never too small, `(N,)`: by convolution, column by column.

    Args:
        scores: `(N,)`, scores of `linear`.
        linear: score of one release.
        frequencies: frequencies of non-members, `(d,)`.
        n_cells: number of cells of the grid; time is proportional to n_cells times d.

    Guarantees:
        * A slope is rounded to whole cells. The resulting error of the score is a sum of independent errors; their mean
          is added to the score, and in addition the smaller of the largest deviation from the mean and the deviation
          exceeded with probability at most 1e-13 (Hoeffding 1963). The 1e-13 is added to the p-value.
        * Mass above the grid is treated as infinite; mass below is kept in the lowest cell.
    """
    x = _standard(scores, linear, frequencies)
    slopes = _standard_slopes(linear, frequencies)
    used = slopes != 0.0
    slopes, p = slopes[used], frequencies[used]
    width = 2.0 * GRID_DEVIATIONS / n_cells
    steps = np.rint(slopes / width).astype(np.int64)
    mass, mass_above, centre = _convolved(steps, p, n_cells)
    error = slopes - width * steps
    largest_error = float((np.maximum(error, 0.0) - error * p).sum())
    hoeffding_error = math.sqrt(-0.5 * math.log(ROUNDING_PROBABILITY) * float(np.square(error).sum()))
    shift, slack = (largest_error, 0.0) if largest_error <= hoeffding_error else (hoeffding_error, ROUNDING_PROBABILITY)
    # score = width (cell - origin) + (width * centre - mean) + centred error; both means are of the rounded sum
    cells = (x - shift - 1e-9) / width - centre
    tail = np.append(np.cumsum(mass[::-1])[::-1], 0.0) + mass_above
    return np.asarray(np.minimum(1.0, tail[np.clip(np.ceil(cells).astype(np.int64), 0, n_cells)] + slack))


def _convolved(jumps: Ints, p: Floats, n_cells: int) -> tuple[Floats, float, float]:
    """Return the law of sum_j jumps_j (y_j - p_j): masses of cells, mass above, and c: cell i is the value i + c."""
    mass, next_mass = np.zeros(n_cells), np.empty(n_cells)
    origin = n_cells // 2
    mass[origin] = 1.0
    mass_above, total, recentred = 0.0, 0.0, 0
    for jump, share in zip(jumps.tolist(), p.tolist(), strict=True):
        total += jump * share
        recentring = round(total) - recentred
        recentred += recentring
        next_mass[:] = 0.0
        moves = ((1.0 - share, -recentring), (share, jump - recentring))
        mass_above += sum(_move(next_mass, mass, *move) for move in moves)
        mass, next_mass = next_mass, mass
    return mass, mass_above, recentred - total - origin


def _move(into: Floats, mass: Floats, share: float, cells: int) -> float:
    """Add a share of `mass`, moved up by `cells`, to `into`; return the mass above. Mass below stays in the lowest."""
    n = len(mass)
    cells = max(-n, min(n, cells))
    if cells >= 0:
        into[cells:] += share * mass[: n - cells]
        return share * float(mass[n - cells :].sum())
    into[: n + cells] += share * mass[-cells:]
    into[0] += share * float(mass[:-cells].sum())
    return 0.0


def empirical(scores: ArrayLike, reference: ArrayLike) -> Floats:
    """Return (1 + number of people of reference who score as high) / (1 + number of people of reference), `(N,)`.

    Valid for a non-member who is exchangeable with the people of reference given release and frequencies: the people of
    reference must not be used for the frequencies, nor be in the study.

    Raises:
        ParameterError: fewer than ten people of reference.
    """
    reference_scores = np.sort(np.asarray(reference, dtype=np.float64))
    if len(reference_scores) < MIN_REFERENCES:
        raise ParameterError(
            f"there are {plural(len(reference_scores), 'person', 'people')} of reference, with whom no p-value is "
            f"below 1/{len(reference_scores) + 1}. Give {MIN_REFERENCES} or more, and 999 for a p-value of 0.001.",
            argument="reference",
        )
    n_below = np.searchsorted(reference_scores, np.asarray(scores, dtype=np.float64), side="left")
    return np.asarray((1.0 + len(reference_scores) - n_below) / (1.0 + len(reference_scores)))


def _standard(scores: ArrayLike, linear: Linear, frequencies: Floats) -> Floats:
    """Return the scores in standard deviations of non-members."""
    deviation = float(np.sqrt(linear.variance(frequencies)))
    centred = np.asarray(scores, dtype=np.float64) - linear.mean(frequencies)
    return centred / deviation if deviation > 0.0 else np.zeros_like(centred)


def _standard_slopes(linear: Linear, frequencies: Floats) -> Floats:
    """Return the slopes in standard deviations of non-members."""
    return linear.standardised(frequencies).slopes


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Return adjusted p-values `(N,)`: of people named at a level, at most that share are non-members on average.

    Given the release, the p-values of non-members are independent of each other and of all others (Benjamini and
    Hochberg 1995); p-values from the same people of reference are positively dependent, which suffices (Bates, Candès,
    Lei, Romano and Sesia 2023, theorem 2).

    Example:
        >>> benjamini_hochberg([0.01, 0.5, 0.02]).tolist()
        [0.03, 0.5, 0.03]
    """
    from scipy.stats import false_discovery_control

    p = np.asarray(p_values, dtype=np.float64)
    return np.asarray(false_discovery_control(p)) if p.size else p
