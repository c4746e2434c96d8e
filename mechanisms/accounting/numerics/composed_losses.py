"""Composition of privacy-loss distributions by Fourier transforms, above the exact probabilities in double precision.

Losses are multiples k h of the interval h. A part with probabilities p_i(k) that occurs n_i times contributes

    P = p_1^(*n_1) * p_2^(*n_2) * ...        (a convolution)

A transform in double precision has an absolute error of about 1e-16 times the largest probability, so that it says
nothing about probabilities far in the tails. Tilted probabilities q_i(k) = p_i(k) e^(theta k h - kappa_i(theta)), with
kappa_i the log moment-generating function of part i, have the convolution Q(k) = P(k) e^(theta k h - kappa(theta)),
kappa = sum n_i kappa_i: the same numbers with their maximum elsewhere. Each of several theta gives the upper limit

    P(k) <= (max(Q^(k), 0) + E) e^(kappa(theta) - theta k h)

with Q^ the computed convolution and E a bound on its error, and the smallest limit is taken for each k: every choice
of theta is valid.

**The bound E.** A fast transform of N numbers is a linear network of at most log2 N + 2 levels, whose paths have
weights of absolute value 1; each level has a relative error of at most 6 u, with u = 2^-53, for radices up to 11
(Higham 2002, "Accuracy and Stability of Numerical Algorithms", Section 24.1). So each of its outputs has the error
e sum |inputs| at most, with e = 6 (log2 N + 2) u. Let A_i = |F_i| + e for the transforms F_i of the q_i, and
G = prod A_i^n_i. Powers of complex numbers by squaring have the relative error 4 n u; with that of A_i^n_i, so that

    E = 1/N sum over frequencies of  G (e + sum_i n_i (e / A_i + (4 + |log A_i|) u)).

The relative errors of the q_i and of the last factor are at most a few u times the exponents, and are added.

**Window.** Chernoff's inequality bounds the losses outside of the window by `TAIL_PROBABILITY`, which counts as an
infinite loss. The transform is circular: probabilities outside of the window are added inside it, which never lowers a
limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ...core import Floats

TAIL_PROBABILITY = 1e-22
"""Largest probability of losses outside of the window, which is added to that of an infinite loss."""
_LEVELS = (1e-5, 1e-13)
"""Probabilities of the tails for which the tilted laws are made; each is exact around one of them."""
_SPILL = 1e-18
"""Probability of a tilted law outside of the window."""
_UNIT = 2.0**-53
_NEGLIGIBLE = -80.0
"""Logarithm of the size of a transform below which it counts as 0."""
_MAX_WINDOW_RATIO = 1.5
"""Largest end of the window for the sake of a tilted law, as a multiple of that for `TAIL_PROBABILITY`."""
_MAX_BLOCK_EXPONENT = 30.0
"""Largest exponent inside a block of losses, whose moments are summed together."""
_TILTS = np.geomspace(0.4, 60.0, 14)
"""Candidates for theta times the standard deviation of the composed loss."""


@dataclass(frozen=True, eq=False)
class _Part:
    """Probabilities of the losses `first`, `first` + 1, ... (times the interval), composed `count` times."""

    probabilities: Floats
    first: int
    infinite: float
    count: int

    def log_moments(self, thetas: Floats) -> Floats:
        """Return the logarithm of the sum of p(k) e^(theta k) at each theta per interval.

        With k = m b + r, it is the sum over m of e^(theta m b) times a sum over r < b: one product of matrices, and
        about 2 sqrt(n) exponentials in place of n.
        """
        n = len(self.probabilities)
        size = max(1, min(math.isqrt(n), int(_MAX_BLOCK_EXPONENT / np.abs(thetas).max(initial=1e-300))))
        blocks = np.zeros((-(-n // size), size))
        blocks.flat[:n] = self.probabilities
        inside = np.exp(np.outer(np.arange(size), thetas))
        with np.errstate(divide="ignore"):
            logs = np.log(np.einsum("br,rt->bt", blocks, inside))  # without the threads of a matrix product
        logs += np.outer(self.first + size * np.arange(len(blocks)), thetas)
        top = logs.max(axis=0)
        return np.asarray(top + np.log(np.exp(logs - top).sum(axis=0)))


def composed_losses(parts: Sequence[tuple[Any, int]]) -> Any:
    """Return the pessimistic `PrivacyLossDistribution` of independent releases.

    Args:
        parts: (distribution of dp-accounting, number of releases >= 1), all on one grid.
    """
    from dp_accounting.pld import privacy_loss_distribution as plds

    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    removed = _convolved([(pld._pmf_remove, count) for pld, count in parts])
    if all(pld._pmf_add is pld._pmf_remove for pld, _ in parts):
        return plds.PrivacyLossDistribution(removed)
    return plds.PrivacyLossDistribution(removed, _convolved([(pld._pmf_add, count) for pld, count in parts]))


def _convolved(pmfs: Sequence[tuple[Any, int]]) -> Any:
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    dense = [(pmf.to_dense_pmf(), count) for pmf, count in pmfs]
    parts = [_part(pmf, count) for pmf, count in dense]
    finite = sum(part.count * math.log1p(-min(part.infinite, 1.0 - _UNIT)) for part in parts)
    first, probabilities, outside = _limits(parts)
    infinite = min(1.0, outside - math.expm1(finite))
    return DensePLDPmf(dense[0][0]._discretization, first, probabilities, infinite, True)


def _part(pmf: Any, count: int) -> _Part:
    probabilities = np.maximum(0.0, np.asarray(pmf._probs, dtype=np.float64))
    support = np.flatnonzero(probabilities)
    low, high = (int(support[0]), int(support[-1]) + 1) if len(support) else (0, 1)
    return _Part(probabilities[low:high], int(pmf._lower_loss) + low, float(pmf._infinity_mass), count)


def _limits(parts: Sequence[_Part]) -> tuple[int, Floats, float]:
    """Return the first loss of the window, upper limits of the probabilities from there on, and the tail outside."""
    lowest = sum(part.count * part.first for part in parts)
    highest = sum(part.count * (part.first + len(part.probabilities) - 1) for part in parts)
    if lowest == highest or any(not part.probabilities.any() for part in parts):
        mass = math.prod(float(part.probabilities.sum()) ** part.count for part in parts)
        return lowest, np.array([mass]), 0.0
    deviation = math.sqrt(sum(part.count * _variance(part) for part in parts)) or 1.0
    tilts = _TILTS / deviation
    moments = _log_moments(parts, tilts)
    upper = (moments[:, None] - np.log([*_LEVELS, TAIL_PROBABILITY / 2.0])) / tilts[:, None]
    tail = upper[:, -1].min()
    with np.errstate(divide="ignore", invalid="ignore"):  # losses beyond which a tilted law has the probability _SPILL
        ends = (moments[:, None] - moments - math.log(_SPILL)) / (tilts[:, None] - tilts)
    ends = np.where(tilts[:, None] > tilts, ends, np.inf).min(axis=0)
    inside = ends <= _MAX_WINDOW_RATIO * tail
    inside[0] = True
    thetas = np.unique([0.0, *tilts[np.argmin(np.where(inside[:, None], upper[:, :-1], np.inf), axis=0)]])
    end = min(highest, math.ceil(max(tail, ends[np.isin(tilts, thetas)].max())))
    down = _log_moments(parts, -tilts[::3])
    start = max(lowest, math.floor(((math.log(TAIL_PROBABILITY / 2.0) - down) / tilts[::3]).max()))
    n = fft.next_fast_len(end - start + 1, real=True)
    n = max(n, fft.next_fast_len(max(len(part.probabilities) for part in parts), real=True))
    best = np.full(end - start + 1, np.inf)
    for theta in thetas:
        np.minimum(best, _tilted(parts, float(theta), start, len(best), n), out=best)
    return start, best, 0.0 if (start, end) == (lowest, highest) else TAIL_PROBABILITY


def _variance(part: _Part) -> float:
    steps, weights = np.arange(float(len(part.probabilities))), part.probabilities / part.probabilities.sum()
    mean = float(np.sum(weights * steps))
    return float(np.sum(weights * (steps - mean) ** 2))


def _log_moments(parts: Sequence[_Part], thetas: Floats) -> Floats:
    return np.asarray(sum(part.count * part.log_moments(thetas) for part in parts))


def _tilted(parts: Sequence[_Part], theta: float, start: int, size: int, n: int) -> Floats:
    """Return the upper limits from the transform of length `n` of the laws that are tilted by `theta`."""
    error = 6.0 * (math.log2(n) + 2.0) * _UNIT
    transforms, slack, shift, total = [], 1e-14, 0, 0.0
    log_size, relative = np.zeros(n // 2 + 1), np.full(n // 2 + 1, error)
    for part in parts:
        moment = float(part.log_moments(np.array([theta]))[0])
        exponents = theta * np.arange(float(part.first), part.first + len(part.probabilities)) - moment
        transforms.append(fft.rfft(part.probabilities * np.exp(exponents), n))
        magnitude = np.abs(transforms[-1]) + error
        logs = np.log(magnitude)
        log_size += part.count * logs
        relative += part.count * (error / magnitude + (4.0 + np.abs(logs)) * _UNIT)
        largest = max(abs(float(exponents[0])), abs(float(exponents[-1])))
        slack += 2.0 * _UNIT * part.count * (largest + abs(moment) + 4.0)
        shift += part.count * part.first
        total += part.count * moment
    used = log_size > _NEGLIGIBLE
    product = np.zeros(n // 2 + 1, dtype=np.complex128)
    product[used] = math.prod(
        _power(transform[used], part.count) for transform, part in zip(transforms, parts, strict=True)
    )
    spread = np.exp(log_size) * np.where(used, relative, 1.0)
    absolute = 2.0 * float(spread.sum()) / n
    values = np.roll(fft.irfft(product, n), (shift - start) % n)[:size]
    exponents = total - theta * np.arange(float(start), start + size)
    slack += 4.0 * _UNIT * (abs(total) + max(abs(float(exponents[0])), abs(float(exponents[-1]))))
    with np.errstate(over="ignore"):
        return np.asarray((np.maximum(values, 0.0) + absolute) * np.exp(exponents + slack))


def _power(values: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """Return values^count by squaring, several times faster than `**`."""
    result = None
    while True:
        if count & 1:
            result = values if result is None else result * values
        count >>= 1
        if not count:
            assert result is not None
            return result
        values = values * values
