"""Laws of noise on answers, cut into cells."""

import math
from collections import Counter
from itertools import product

import numpy as np
from scipy import stats
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.claims import CUT, FINE, RELATIONS, case

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.noise.broken import ClassicGaussian, LaplaceInverseScale, LaplaceUnitSensitivity
from dpassay.mechanisms.noise.broken_floats import FloatGaussian, FloatLaplace, LoopCountReleased, RoundedSum
from dpassay.mechanisms.noise.counters import GaussianCounters
from dpassay.mechanisms.noise.discrete_gaussian import DiscreteGaussian
from dpassay.mechanisms.noise.gaussian import Gaussian
from dpassay.mechanisms.noise.geometric import Geometric
from dpassay.mechanisms.noise.grid import GridLaplace
from dpassay.mechanisms.noise.laplace import Laplace, PrefixSums
from dpassay.mechanisms.noise.snapping import Snapping
from dpassay.mechanisms.noise.staircase import Staircase


def additive(make, law, steps=(1.0, 0.6), hidden=FINE):
    """One answer that moves by a share of the sensitivity, and two answers that share the move."""
    for relation, sensitivity in product(RELATIONS, (1.0, 3.0)):
        one, two = (make(sensitivity=sensitivity, relation=relation, n_queries=n) for n in (1, 2))
        for step in steps:
            d1 = step * sensitivity
            pair = Neighbours(0.0, d1, relation)
            yield case(one, pair, law(one, 0.0), law(one, d1), hidden, worst=step == 1.0)
        shares = (0.5, 0.5) if one.norm == 1.0 else (0.6, 0.8)
        moved = sensitivity * np.array(shares)
        coarse = [laws.joint(*(law(two, a, laws.COARSE) for a in answers)) for answers in (np.zeros(2), moved)]
        yield case(two, Neighbours(np.zeros(2), moved, relation), *coarse, CUT)


def laplace():
    for epsilon in (0.4, 1.0, 3.0):
        yield from additive(
            lambda epsilon=epsilon, **kw: Laplace(epsilon, **kw),
            lambda m, a, edges=laws.EDGES: laws.laplace(a / m.sensitivity * m.epsilon, 1.0, edges),
        )


def gaussian():
    makers = (
        lambda **kw: Gaussian(noise_multiplier=0.8, **kw),
        lambda **kw: Gaussian(0.9, 1e-4, calibration="classic", **kw),
        lambda **kw: Gaussian(0.9, 1e-4, calibration="classic-log-1", **kw),
        lambda **kw: Gaussian(3.0, 1e-2, **kw),
    )
    for make in makers:
        yield from additive(make, lambda m, a, e=laws.EDGES: laws.normal(a / m.standard_deviation, 1.0, e))


def geometric():
    bounds = ({}, {"lower": -2, "upper": 4}, {"lower": 1}, {"upper": -3})
    for relation, sensitivity, bound in product(RELATIONS, (1, 2, 3), bounds):
        mechanism = Geometric(0.9, sensitivity=sensitivity, relation=relation, **bound)
        rate, start = 0.9 / sensitivity, bound.get("lower", min(0, bound.get("upper", 3) - sensitivity))
        for d0, d1 in ((start, start + sensitivity), (0, 1), (-9, -9 + sensitivity), (5, 5 - sensitivity)):
            pair = Neighbours(float(d0), float(d1), relation)
            two = [laws.geometric(d, rate, bound.get("lower"), bound.get("upper")) for d in (d0, d1)]
            yield case(mechanism, pair, *two, worst=(d0, d1) == (start, start + sensitivity))
    vector = Geometric(0.9, sensitivity=2, n_queries=2)
    p0, p1 = (laws.geometric(d, 0.45, -20, 20, reach=60) for d in (0, 1))
    yield case(vector, Neighbours(np.zeros(2), np.ones(2), "add_remove"), laws.joint(p0, p0), laws.joint(p1, p1))


def snapping():
    """Also pairs that lie otherwise in the cells of the rounding, and answers and outputs beyond the bounds."""
    for epsilon, sensitivity, bound in product((0.3, 1.0, 3.0), (1.0, 2.5), (40.0, 17.3)):
        mechanism = Snapping(epsilon, sensitivity=sensitivity, bound=bound)
        scale = sensitivity / epsilon
        grid = 2.0 ** math.ceil(math.log2(scale * (1 + 1e-12)))
        edges = np.arange(0.5 - math.ceil(bound / grid), math.ceil(bound / grid)) * grid
        for start in (grid / 2, 0.0, -0.7, bound - sensitivity, bound - sensitivity / 2, -2 * bound):
            pair = Neighbours(start, start + sensitivity, "add_remove")
            two = [laws.laplace(np.clip(d, -bound, bound) / scale, 1.0, edges / scale) for d in (pair.d0, pair.d1)]
            yield case(mechanism, pair, *two, worst=start == grid / 2, beyond=True)


def discrete_gaussian():
    for multiplier, sensitivity, relation in product((0.4, 1.0, 3.0), (1, 3), RELATIONS):
        mechanism = DiscreteGaussian(multiplier, sensitivity=sensitivity, relation=relation)
        for d1 in range(1, sensitivity + 1):
            two = [laws.discrete_gaussian(d, multiplier * sensitivity) for d in (0, d1)]
            yield case(mechanism, Neighbours(0.0, float(d1), relation), *two, worst=d1 == sensitivity)
    for moved in ((2, 0), (1, 1), (1, -1)):
        vector = DiscreteGaussian(0.7, sensitivity=2, n_queries=2)
        two = [laws.joint(*(laws.discrete_gaussian(d, 1.4, 20) for d in ds)) for ds in ((0, 0), moved)]
        yield case(vector, Neighbours(np.zeros(2), np.array(moved), "add_remove"), *two, worst=moved == (2, 0))


def staircase():
    """Answers that move by less than the sensitivity meet the claim, but not the curve of those that move by all."""
    for epsilon, gamma, sensitivity in product((0.4, 1.0, 3.0), (None, 0.2, 0.5, 0.9), (1.0, 2.5)):
        mechanism = Staircase(epsilon, gamma=gamma, sensitivity=sensitivity)
        for step in (1.0, 0.35):
            d1, edges = step * sensitivity, []
            for d in (0.0, d1):
                edges += [d + (k + c) * sensitivity for k in range(-60, 61) for c in (0.0, mechanism.step)]
                edges += [d - (k + c) * sensitivity for k in range(-60, 61) for c in (0.0, mechanism.step)]
            edges = np.unique(edges)
            two = [laws.staircase(edges - d, epsilon, mechanism.step, sensitivity) for d in (0.0, d1)]
            pair = Neighbours(0.0, d1, "add_remove")
            yield case(mechanism, pair, *two, worst=step == 1.0, beyond=True)


def grid_laplace():
    for epsilon, sensitivity, granularity in product((0.4, 2.0), (1.0, 0.6, 0.1), (0.25, 0.125)):
        mechanism = GridLaplace(epsilon, sensitivity=sensitivity, granularity=granularity)
        steps = math.ceil(sensitivity / granularity)
        worst = steps * granularity - sensitivity
        for start in (worst, 0.0, 0.05, -0.3):
            places = [math.floor(start / granularity), math.floor((start + sensitivity) / granularity)]
            two = [laws.geometric(place, epsilon / steps) for place in places]
            pair = Neighbours(start, start + sensitivity, "add_remove")
            yield case(mechanism, pair, *two, worst=start == worst)


def tabled(noise, *answers, weights=None):
    """The laws of sums that are listed one by one."""
    weights = [1 / len(noise)] * len(noise) if weights is None else weights
    sides = [Counter() for _ in answers]
    for side, answer in zip(sides, answers, strict=True):
        for z, w in zip(noise, weights, strict=True):
            side[z + answer] += w
    results = list({*sides[0], *sides[1]})
    return [np.array([side[y] for y in results]) for side in sides]


def broken_float_gaussian():
    """Every pair of draws in turn, each pair of outputs a number of its own."""
    n = 16
    for sampler, multiplier in product(("box-muller", "polar"), (0.5, 2.0)):
        mechanism, noise = FloatGaussian(multiplier, sampler=sampler, bits=4), []
        for i, j in product(range(n), repeat=2):
            if sampler == "box-muller":
                radius, angle = np.sqrt(-2 * np.log((i + 1) / n)), 2 * np.pi * (j / n)
                noise.append((radius * np.cos(angle), radius * np.sin(angle)))
            elif 0 < (s := (2 * (i / n) - 1) ** 2 + (2 * (j / n) - 1) ** 2) < 1:
                noise.append(tuple((2 * (k / n) - 1) * np.sqrt(-2 * np.log(s) / s) for k in (i, j)))
        noise = [complex(x * multiplier, y * multiplier) for x, y in noise]
        for d1 in ([1.0, 0.0], [0.6, 0.8]):
            pair = Neighbours([0.0, 0.0], d1, "add_remove")
            yield case(mechanism, pair, *tabled(noise, 0, complex(*d1)), worst=d1[1] == 0.0, beyond=True)


def broken_rounded_sum():
    """Every float of 16 bits in turn, with the mass of the numbers that are rounded to it."""
    floats = np.sort(np.arange(2**16, dtype=np.uint16).view(np.float16))
    floats = np.unique(floats[np.isfinite(floats)])
    wide = floats.astype(float)
    edges = 0.5 * (wide[1:] + wide[:-1])
    for epsilon in (0.5, 2.0):
        mechanism = RoundedSum(epsilon, dtype="float16")
        for d1 in (1.0, 0.5):
            with np.errstate(over="ignore"):
                outputs = [(floats + np.float16(d)).astype(float) for d in (0.0, d1)]
            values, at = np.unique(np.concatenate(outputs), return_inverse=True)
            masses = laws.cells(stats.laplace(scale=1 / epsilon).cdf, edges)
            two = [np.bincount(part, masses, minlength=len(values)) for part in np.split(at, 2)]
            yield case(mechanism, Neighbours(0.0, d1, "add_remove"), *two, worst=d1 == 1.0, beyond=True)


def broken_loop_count_released():
    for epsilon in (0.2, 1.0, 3.0):
        a = math.exp(-epsilon)
        z, thrown = np.arange(-120, 121), np.arange(120)
        masses = np.outer((1 - a) / (1 + a) * a ** np.abs(z), (1 + a) / 2 * ((1 - a) / 2) ** thrown)
        turns = np.abs(z)[:, None] + 1 + thrown
        two = []
        for count in (0, 1):
            places = (z + count + 121)[:, None] * 300 + turns
            two.append(np.bincount(places.ravel(), masses.ravel(), minlength=250 * 300))
        yield case(LoopCountReleased(epsilon), Neighbours(0.0, 1.0, "add_remove"), *two, worst=True)


def broken_float_laplace():
    """Every draw in turn, each output a number of its own."""
    for sampler, bits, epsilon in product(("sign", "inverse-cdf"), (3, 6), (0.3, 1.0)):
        mechanism, n = FloatLaplace(epsilon, sampler=sampler, bits=bits), 2**bits
        if sampler == "sign":
            noise = [sign * np.log((k + 1) / n) / epsilon for k in range(n) for sign in (1, -1)]
        else:
            noise = [np.log(2 * k / n) if 2 * k < n else -np.log(2 - 2 * k / n) for k in range(1, n)]
            noise = [z / epsilon for z in noise]
        for d1 in (1.0, 0.5):
            two = tabled([float(z) for z in noise], 0.0, d1)
            yield case(mechanism, Neighbours(0.0, d1, "add_remove"), *two, worst=d1 == 1.0, beyond=True)


def prefix_sums():
    """The laws of the terms: sums of them and they tell each other."""
    yield from additive(
        lambda **kw: PrefixSums(0.7, **kw),
        lambda m, a, edges=laws.EDGES: laws.laplace(a / m.sensitivity * m.epsilon, 1.0, edges),
    )


def gaussian_counters():
    """Two counters that move, one of them alone, and one that never does."""
    for mu, sensitivities in product((0.5, 2.0), ((1.0,), (1.0, 3.0), (2.0, 0.0))):
        mechanism = GaussianCounters(mu, sensitivities=sensitivities)
        moving = np.count_nonzero(sensitivities)
        whole = laws.normal(0.0, 1.0), laws.normal(mu, 1.0)  # the likelihood ratio looks along the move alone
        yield case(mechanism, mechanism.worst_case(), *whole, FINE, worst=True)
        alone = laws.normal(0.0, 1.0), laws.normal(mu / math.sqrt(moving), 1.0)
        d0 = np.zeros(len(sensitivities))
        yield case(mechanism, Neighbours(d0, d0 + np.eye(len(d0))[0] * sensitivities[0], "add_remove"), *alone, FINE)


def broken_laplace_scale():
    for epsilon in (0.4, 2.0):
        yield from additive(
            lambda epsilon=epsilon, **kw: LaplaceInverseScale(epsilon, **kw),
            lambda m, a, edges=laws.EDGES: laws.laplace(a / (m.sensitivity * m.epsilon), 1.0, edges),
        )


def broken_laplace_sensitivity():
    yield from additive(
        lambda **kw: LaplaceUnitSensitivity(0.6, **kw), lambda m, a, e=laws.EDGES: laws.laplace(a * 0.6, 1.0, e)
    )


def broken_classic_gaussian():
    for epsilon, delta in ((7.0, 0.1), (4.0, 0.01), (0.9, 1e-4)):
        scale = math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
        yield from additive(
            lambda epsilon=epsilon, delta=delta, **kw: ClassicGaussian(epsilon, delta, **kw),
            lambda m, a, e=laws.EDGES, scale=scale: laws.normal(a / (m.sensitivity * scale), 1.0, e),
        )


CLAIMS = {
    "broken-classic-gaussian": broken_classic_gaussian,
    "laplace": laplace,
    "gaussian": gaussian,
    "geometric": geometric,
    "snapping": snapping,
    "discrete-gaussian": discrete_gaussian,
    "staircase": staircase,
    "grid-laplace": grid_laplace,
    "broken-float-laplace": broken_float_laplace,
    "broken-float-gaussian": broken_float_gaussian,
    "broken-rounded-sum": broken_rounded_sum,
    "broken-loop-count-released": broken_loop_count_released,
    "prefix-sums": prefix_sums,
    "gaussian-counters": gaussian_counters,
    "broken-laplace-scale": broken_laplace_scale,
    "broken-laplace-sensitivity": broken_laplace_sensitivity,
}
