"""Every claim and every stated truth of the catalogue against laws that are worked out again: see claims_laws.

CASES has an entry for each name of the catalogue, a function that gives `Case`s: a mechanism, a pair, and the two
output laws on it. On every pair the claim must hold, unless the mechanism is broken; on the worst case the truth must
be what the laws show. A new entry of the catalogue needs an entry here, or a reason in EXCUSED.
"""

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats
from scipy.linalg import hadamard
from scipy.special import expit, softmax
from tests.mechanisms import (
    claims_composed,
    claims_counts,
    claims_deniability,
    claims_histogram_tables,
    claims_laws as laws,
    claims_release,
    claims_selection,
    claims_statistics,
    claims_synthesis,
    claims_tables,
    claims_top_down,
    claims_tuning,
    claims_weights,
    sparse_vector_laws,
)
from tests.mechanisms.learning import claims_fine_tuning
from tests.mechanisms.learning.federated import claims_federated
from tests.mechanisms.learning.ngrams import claims_text
from tests.mechanisms.learning.pate import claims_votes

from dpassay.mechanisms.accounting import (
    ApproximateDP,
    ConcentratedDP,
    ExactDP,
    GaussianDP,
    LaplaceDP,
    PrivacyLossDP,
    PureDP,
    RenyiDP,
    compose,
)
from dpassay.mechanisms.accounting.amplification.subsampling import subsample
from dpassay.mechanisms.accounting.composition.grouping import group
from dpassay.mechanisms.accounting.conversion.convert import to_approximate, to_privacy_loss, to_renyi
from dpassay.mechanisms.accounting.kinds.renyi import MomentsDP
from dpassay.mechanisms.broken import BiasedCoinResponse, LaplaceInverseScale, LaplaceUnitSensitivity
from dpassay.mechanisms.broken.dp_sgd import (
    BiasWithoutNoise,
    MicroStepsCounted,
    NoiseAfterMomentum,
    NoiseDividedTwice,
    NoiseOfFixedSeed,
    NoiseOfSumOnMean,
    NoiseReusedInLayers,
    NoiseReusedInSteps,
    ShuffledCountedAsPoisson,
)
from dpassay.mechanisms.broken.dp_sgd_clipping import (
    ExpectedBatchSizeOfData,
    LayerNotClipped,
    MeanClipped,
    MicrobatchMeanClipped,
    NoiseOnAverage,
    PerLayerFullClip,
    RawMeanMixedIn,
    RealisedBatchSize,
)
from dpassay.mechanisms.broken.floats import FloatGaussian, FloatLaplace, LoopCountReleased, RoundedSum
from dpassay.mechanisms.broken.pate import SamePartForAll, TeachersKept, VoteScaleInverse
from dpassay.mechanisms.broken.sparse_vector import (
    NeverStops,
    NoiseWithoutCount,
    NoQueryNoise,
    ReleasesTestedValue,
    TwoBrokenSparseVectors,
)
from dpassay.mechanisms.catalogue import catalogue
from dpassay.mechanisms.combinators.repeated import Repeated
from dpassay.mechanisms.core.base import Mechanism, Neighbours
from dpassay.mechanisms.core.errors import AccountingError
from dpassay.mechanisms.core.relation import Relation
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.convex.objective_perturbation import ObjectivePerturbation
from dpassay.mechanisms.learning.convex.output_perturbation import OutputPerturbation
from dpassay.mechanisms.learning.convex.projected_sgd import NoisyProjectedSGD
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.dp_sgd.steps import Cosine
from dpassay.mechanisms.learning.models import LogisticRegression
from dpassay.mechanisms.learning.pate import TeacherVotes
from dpassay.mechanisms.local import (
    RAPPOR,
    HadamardResponse,
    KAryRandomizedResponse,
    LocalHashing,
    OneTimeRAPPOR,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from dpassay.mechanisms.local.shuffle import Shuffled
from dpassay.mechanisms.noise.counters import GaussianCounters
from dpassay.mechanisms.noise.discrete_gaussian import DiscreteGaussian
from dpassay.mechanisms.noise.gaussian import Gaussian
from dpassay.mechanisms.noise.geometric import Geometric
from dpassay.mechanisms.noise.grid import GridLaplace
from dpassay.mechanisms.noise.laplace import Laplace, PrefixSums
from dpassay.mechanisms.noise.queries.base import Query
from dpassay.mechanisms.noise.queries.catalogue import catalogue as queries
from dpassay.mechanisms.noise.snapping import Snapping
from dpassay.mechanisms.noise.staircase import Staircase
from dpassay.mechanisms.selection import Exponential
from dpassay.mechanisms.selection.sparse_vector import AboveThreshold, NumericalSparseVector

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


# --- noise ------------------------------------------------------------------------------------------------------------


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
    found = list({*sides[0], *sides[1]})
    return [np.array([side[y] for y in found]) for side in sides]


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


def exponential():
    rng = np.random.default_rng(0)
    for epsilon, k, monotone, sensitivity in product((0.3, 1.0, 4.0), (2, 3, 6), (False, True), (1.0, 2.5)):
        mechanism = Exponential(epsilon, k, monotone=monotone, sensitivity=sensitivity, relation="replace_one")
        pairs = [mechanism.worst_case()]
        for _ in range(5):
            start, low = rng.normal(size=k) * 3, 0.0 if monotone else -1.0
            pairs.append(Neighbours(start, start + sensitivity * rng.choice([low, 1.0], size=k), "replace_one"))
        for i, pair in enumerate(pairs):
            if i and np.array_equal(pair.d0, pair.d1):
                continue
            rate = epsilon / sensitivity / (1 if monotone else 2)
            yield case(mechanism, pair, *(softmax(rate * np.asarray(pair.side(s))) for s in (0, 1)), worst=i == 0)


def with_options(cases):
    return lambda: (case(*one, **options) for *one, options in cases())


def prefix_sums():
    """The laws of the terms: sums of them and they tell each other."""
    yield from additive(
        lambda **kw: PrefixSums(0.7, **kw),
        lambda m, a, edges=laws.EDGES: laws.laplace(a / m.sensitivity * m.epsilon, 1.0, edges),
    )


# --- sparse vector ----------------------------------------------------------------------------------------------------

QUADRATURE = 1e-5
"""What the grid of thresholds may hide, or add."""


def sparse_vector(make, law, n_queries=(3, 4), hidden=QUADRATURE):
    """The worst case, a random pair, and one under another relation and sensitivity."""
    rng = np.random.default_rng(2)
    for n in n_queries:
        mechanism = make(n_queries=n, threshold=0.5)
        moved = make(n_queries=n, sensitivity=2.0, relation="replace_one")
        d0 = rng.normal(size=n)
        pairs = [(mechanism, mechanism.worst_case(), True)]
        pairs += [(mechanism, Neighbours(d0, d0 + rng.choice([-1.0, 0.3, 1.0], size=n), "add_remove"), False)]
        pairs += [(moved, Neighbours(d0, d0 + rng.choice([-2.0, 2.0], size=n), "replace_one"), False)]
        for one, pair, worst in pairs:
            yield case(one, pair, law(one, pair.d0), law(one, pair.d1), hidden, worst=worst, beyond=not worst)


def history_law(rho, nu, stop_after=99, redraw=False):
    """The law of answers, from scales in units of sensitivity / epsilon."""

    def law(m, queries):
        unit = m.sensitivity / m.epsilon
        found = sparse_vector_laws.answers(queries, m.threshold, rho * unit, nu * unit, stop_after, redraw)
        return np.array(list(found.values()))

    return law


def above_threshold():
    yield from sparse_vector(lambda **kw: AboveThreshold(1.1, **kw), history_law(2, 4, 1))
    yield from sparse_vector(lambda **kw: AboveThreshold(2.0, stop_after=2, **kw), history_law(2, 8, 2))
    yield from sparse_vector(
        lambda **kw: AboveThreshold(2.0, stop_after=2, redraw=True, **kw), history_law(4, 8, 2, redraw=True)
    )


def value_law(of, *scales):
    def law(m, queries):
        return of(queries, m.threshold, *(scale * m.sensitivity / m.epsilon for scale in scales))

    return law


def numerical_sparse_vector():
    law = value_law(sparse_vector_laws.answers_and_fresh_value, 3, 6, 3)
    yield from sparse_vector(lambda **kw: NumericalSparseVector(1.5, **kw), law, hidden=1e-4)


def broken_sparse_vector_tested_value():
    law = value_law(sparse_vector_laws.answers_and_tested_value, 2, 2)
    yield from sparse_vector(lambda **kw: ReleasesTestedValue(0.9, **kw), law, hidden=1e-4)


def broken_sparse_vector_two():
    def law(m, queries):
        unit = m.sensitivity / m.epsilon
        tested = sparse_vector_laws.answers_and_tested_value(queries, m.threshold, 2 * unit, 2 * unit, n_cells=1000)
        answers = sparse_vector_laws.answers(queries, m.threshold, 4 * unit, 4 / 3 * unit, 1)
        return laws.joint(tested, list(answers.values()))

    yield from sparse_vector(lambda **kw: TwoBrokenSparseVectors(0.47, **kw), law, (4,), hidden=CUT)


# --- local ------------------------------------------------------------------------------------------------------------


def local(mechanism, channel):
    """All pairs of one user's values; and of two users, one of whom differs."""
    k = len(channel)
    for a, b in product(range(k), repeat=2):
        if a != b:
            yield case(mechanism, Neighbours(a, b, "replace_one"), channel[a], channel[b], worst=(a, b) == (0, 1))
            both = [laws.joint(channel[v], channel[b]) for v in (a, b)]
            yield case(mechanism, Neighbours([a, b], [b, b], "replace_one"), *both)


def responses(k, epsilon):
    return (np.ones((k, k)) + np.expm1(epsilon) * np.eye(k)) / (k + np.expm1(epsilon))


def randomized_response():
    for epsilon in (0.2, math.log(3.0), 4.0):
        yield from local(RandomizedResponse(epsilon), responses(2, epsilon))


def k_ary_randomized_response():
    for epsilon, k in product((0.2, 1.0, 4.0), (2, 3, 5)):
        yield from local(KAryRandomizedResponse(epsilon, k), responses(k, epsilon))


def flipped_bits(codes, p, q):
    """Laws of vectors of bits, each sent as 1 with probability p where it is 1, and q where it is 0."""
    return np.array([laws.joint(*[[1 - p, p] if bit else [1 - q, q] for bit in code]) for code in codes])


def unary_encoding():
    for epsilon, k in product((0.3, 2.0), (2, 3)):
        half = expit(epsilon / 2)
        for kind, p, q in (("symmetric", half, 1 - half), ("optimized", 0.5, expit(-epsilon))):
            yield from local(UnaryEncoding(epsilon, k, kind=kind), flipped_bits(np.eye(k), p, q))


def local_hashing():
    """All functions v -> (a v + b mod prime) mod g, and all buckets."""
    for epsilon, k, prime, g in ((0.3, 3, 3, 2), (1.0, 3, 5, 3), (3.0, 2, 5, 5)):
        hashed = np.array([[[(a * v + b) % prime % g for b in range(prime)] for a in range(prime)] for v in range(k)])
        response = responses(g, epsilon)
        channel = [np.ravel(response[hashed[v]]) / prime**2 for v in range(k)]
        yield from local(LocalHashing(epsilon, k, n_buckets=g, prime=prime), np.array(channel))


def subset_selection():
    for epsilon, k, d in ((0.3, 3, 1), (1.0, 4, 2), (2.0, 4, 3)):
        sets = np.array([[v in members for members in combinations(range(k), d)] for v in range(k)])
        weights = np.where(sets, math.exp(epsilon), 1.0)
        mechanism = SubsetSelection(epsilon, k, subset_size=d)
        yield from local(mechanism, weights / weights.sum(axis=1, keepdims=True))


def hadamard_response():
    for epsilon, k in product((0.3, 2.0), (2, 3, 4)):
        size = 4 if k < 4 else 8
        weights = np.where(hadamard(size)[1 : k + 1] > 0, math.exp(epsilon), 1.0)
        yield from local(HadamardResponse(epsilon, k), weights / weights.sum(axis=1, keepdims=True))


FILTERS = np.array([[bit in code for bit in range(20)] for code in ({0, 11, 18}, {3, 10, 13}, {7, 10, 11, 19})])


def bloom(mechanism, p, q):
    """The bits of which the two filters agree say nothing, and are left out."""
    for a, b in product(range(3), repeat=2):
        if a != b:
            differ = FILTERS[a] != FILTERS[b]
            two = flipped_bits(FILTERS[[a, b]][:, differ], p, q)
            yield case(mechanism, Neighbours(a, b, "replace_one"), *two, worst=(a, b) == (0, 1))


def one_time_rappor():
    for f in (0.95, 0.3):
        yield from bloom(OneTimeRAPPOR(f), 1 - f / 2, f / 2)


def rappor():
    for f, p, q in ((0.75, 0.45, 0.55), (0.0, 0.1, 0.6), (0.5, 0.3, 0.9)):
        fair = f * (p + q) / 2
        yield from bloom(RAPPOR(f, p, q), fair + (1 - f) * q, fair + (1 - f) * p)


def counted(channel, users):
    """The law of how often each message was sent: over all tuples of messages, those with the same counts as one."""
    law = laws.joint(*[channel[v] for v in users]).reshape((channel.shape[1],) * len(users))
    found = {}
    for sent, mass in np.ndenumerate(law):
        found[tuple(sorted(sent))] = found.get(tuple(sorted(sent)), 0.0) + mass
    return np.array([found[key] for key in sorted(found)])


def shuffled():
    """All datasets of few users, the one that differs in the first place."""
    for epsilon, k, n in ((0.5, 2, 4), (3.0, 2, 3), (1.0, 3, 3), (2.0, 3, 4), (1.0, 4, 3)):
        randomizer = RandomizedResponse(epsilon) if k == 2 else KAryRandomizedResponse(epsilon, k)
        mechanism, channel = Shuffled(randomizer, n), responses(k, epsilon)
        for others in combinations_with_replacement(range(k), n - 1):
            pair = Neighbours([0, *others], [1, *others], "replace_one")
            worst = others == (0 if k == 2 else 2,) * (n - 1)
            yield case(mechanism, pair, *(counted(channel, pair.side(side)) for side in (0, 1)), worst=worst)


def broken_randomized_response():
    for heads in (0.2, 0.5, 0.6, 0.9):
        p0, p1 = heads * (1 - heads), heads * (2 - heads)
        yield from local(BiasedCoinResponse(heads), np.array([[1 - p0, p0], [1 - p1, p1]]))


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


def worked_out(cases):
    for *arguments, worst in cases():
        yield case(*arguments, worst=worst, beyond=not worst)


# --- learning ---------------------------------------------------------------------------------------------------------


def regression_pairs(n_pairs=3):
    rng = np.random.default_rng(1)
    for _ in range(n_pairs):
        n = int(rng.integers(1, 6))
        X, y = rng.uniform(-1, 1, size=(n, 1)), rng.integers(0, 2, n)
        X2, y2 = X.copy(), y.copy()
        X2[0], y2[0] = rng.choice([-1.0, 1.0]), 1 - y[0]
        X[0] = 1.0
        yield Neighbours((X, y), (X2, y2), "replace_one")


def signed(dataset):
    """w of the examples of one feature, and how many of them there are."""
    data = TrainingData.of(dataset)
    return (2.0 * data.y - 1.0) * data.X[:, 0]


def output_perturbation():
    for epsilon, strength in product((0.5, 3.0), (0.02, 1.0)):
        mechanism = OutputPerturbation(epsilon, regularisation=strength)
        for pair in (mechanism.worst_case(), *regression_pairs()):
            w = [signed(pair.side(side)) for side in (0, 1)]
            rate = len(w[0]) * strength * epsilon / 2
            found = [
                optimize.brentq(lambda f, w=w, c=strength: c * f - np.mean(w * expit(-w * f)), -99, 99, xtol=1e-13)
                for w in w
            ]
            distance = rate * abs(found[1] - found[0])
            two = laws.laplace(0.0, 1.0), laws.laplace(distance, 1.0)
            yield case(mechanism, pair, *two, FINE, worst=len(w[0]) == math.ceil(30 / strength))


def objective_perturbation():
    """A coefficient is at most x where -b is at most the sum of gradients at x plus n strength x."""
    for epsilon, regularisation in product((0.5, 3.0), (0.02, 1.0)):
        mechanism = ObjectivePerturbation(epsilon, regularisation=regularisation)
        for pair in (mechanism.worst_case(), *regression_pairs()):
            w = [np.unique(signed(pair.side(side)), return_counts=True) for side in (0, 1)]
            n = w[0][1].sum()
            left, strength = epsilon - 2 * math.log1p(0.25 / (n * regularisation)), regularisation
            if left <= 0:
                left, strength = epsilon / 2, 0.25 / (n * math.expm1(epsilon / 4))

            def slopes(x, w, total=n * strength):
                values, counts = w
                return total * x - expit(-np.multiply.outer(x, values)) @ (values * counts)

            span = 60.0 / (left * n * strength)
            wide = np.linspace(-span, span, 20_001)
            edges = np.interp(np.linspace(-60.0, 60.0, 4001) / left, slopes(wide, w[0]), wide)  # even in b
            noise = stats.laplace(scale=2 / left)
            two = [laws.cells(lambda x, w=w, noise=noise, b=slopes: noise.cdf(b(x, w)), edges) for w in w]
            yield case(mechanism, pair, *two, 2e-4, worst=n == math.ceil(30 / regularisation))


def noisy_projected_sgd():
    """Linear loss: every step adds n w of a random record; the sums of all steps, and their total."""
    for options in (
        {"epsilon": 1.0, "n_records": 3},
        {"epsilon": 6.0, "delta": 0.01, "n_records": 2},
        {"epsilon": 1.0, "n_records": 3, "standard_deviation": 3.0, "claim": "renyi", "steps": 2},
        {"epsilon": 1.0, "n_records": 2, "standard_deviation": 1.0, "claim": "renyi", "steps": 1},
        {"epsilon": 1.0, "n_records": 4, "standard_deviation": 30.0, "claim": "renyi", "steps": 2},
    ):
        for view, lipschitz in (("last", 1.0), ("all", 2.0)):
            deviation = options.get("standard_deviation")
            scaled = {} if deviation is None else {"standard_deviation": deviation * lipschitz}
            mechanism = NoisyProjectedSGD(**options | scaled, view=view, lipschitz=lipschitz)
            n, steps = mechanism.n_records, min(2, mechanism.n_steps)
            for others in combinations_with_replacement((-1, 0, 1), n - 1):
                ways = [
                    [(n**-steps, way) for way in product(np.multiply(n, (side, *others)), repeat=steps)]
                    for side in (-1, 1)
                ]
                if view == "last":
                    ways = [[(w, (sum(c) / math.sqrt(steps),)) for w, c in way] for way in ways]
                noise = mechanism.sigma / lipschitz
                two = [laws.noisy_sums(way, noise) for way in ways]
                X = np.array([[lipschitz], *([lipschitz * abs(o)] for o in others)])
                y = np.array([0, *(int(o > 0) for o in others)])
                other = y.copy()
                other[0] = 1
                worst = not any(others)
                yield case(mechanism, Neighbours((X, y), (X, other), "replace_one"), *two, CUT, worst=worst)


def repeated():
    for accounting, times in product(("basic", "advanced", "optimal", "renyi", "privacy-loss"), (2, 3)):
        for base, channel in (
            (RandomizedResponse(0.8), responses(2, 0.8)),
            (BiasedCoinResponse(0.3), np.array([[0.79, 0.21], [0.49, 0.51]])),
        ):
            claimed = Repeated(base, times, accounting=accounting)
            two = [laws.joint(*[channel[v]] * times) for v in (0, 1)]
            yield case(claimed, Neighbours(0, 1, "replace_one"), *two, 1e-3, worst=True)
    for times, accounting in product((2, 3), ("basic", "privacy-loss")):
        mechanism = Repeated(Gaussian(noise_multiplier=1.5), times, accounting=accounting)
        delta = laws.gaussian_shown(math.sqrt(times) / 1.5, EPSILONS)
        yield Case(mechanism, mechanism.worst_case(), delta, 1e-3, worst=True)


# --- DP-SGD -----------------------------------------------------------------------------------------------------------

MODEL = LogisticRegression(1)
SCHEMES = {
    "full-batch": ({}, 0, 1.0),
    "poisson": ({"sampling_probability": 0.3}, 0, 0.3),
    "fixed-size": ({"batch_size": 2, "n_records": 3}, 2, 0.0),
    "cyclic": ({"batch_size": 1, "n_records": 2}, 1, 0.0),
    "shuffled": ({"batch_size": 1, "n_records": 2}, 1, 0.0),
}


def dp_sgd():
    for (sampling, (options, size, rate)), relation, noise in product(SCHEMES.items(), RELATIONS, (0.7, 3.0)):
        if sampling == "poisson" and noise < 1.0:
            continue  # privacy-loss distributions of little noise take seconds
        for steps in (2,) if sampling == "poisson" or noise < 1.0 else (1, 2):
            options = {"batch_size": 2} | options
            mechanism = DPSGD(
                MODEL,
                steps=steps,
                noise_multiplier=noise,
                sampling=sampling,
                relation=relation,
                view="noisy_gradients",
                clip_norm=2.0,
                **options,
            )
            try:
                mechanism.guarantee()
            except AccountingError:
                continue  # no claim, nothing to be false
            yield from summed(mechanism, mechanism.noise_multiplier, sampling, size, rate)
    whole = {"model": MODEL, "noise_multiplier": 1.5, "sampling": "full-batch", "batch_size": 1}
    for view, learning_rate in product(("trajectory", "final"), (0.1, Cosine(0.1))):
        mechanism = DPSGD(**whole, steps=2, view=view, learning_rate=learning_rate)
        distance = math.sqrt(2) / 1.5
        if view == "final" and isinstance(learning_rate, Cosine):
            rates = learning_rate.rates(2)
            distance = float(rates.sum() / np.linalg.norm(rates)) / 1.5
        yield Case(mechanism, mechanism.worst_case(), laws.gaussian_shown(distance, EPSILONS), FINE, worst=True)


def apart(found):
    """Two Gaussians of one deviation: what their distance shows."""
    for mechanism, pair, distance, worst in found:
        yield Case(mechanism, pair, laws.gaussian_shown(distance, EPSILONS), FINE, worst=worst)


def records_of(mechanism, relation, n):
    """What the two sides add in clip norms: the record in the front of others, each of which may be anything."""
    instead = {Relation.ADD_REMOVE: [[]], Relation.ZERO_OUT: [[0.0]], Relation.REPLACE_ONE: [[-1.0], [0.3]]}[relation]
    for others in combinations_with_replacement((-1.0, 0.0, 1.0), n - 1):
        for other in instead:
            yield [*other, *others], [1.0, *others]
            yield [*other, *others], [0.5, *others]


def summed(mechanism, deviation, sampling, size, rate):
    n = getattr(mechanism.scheme, "n_records", None) or 3
    worst = mechanism.worst_case()
    along = [TrainingData.of(worst.side(s)).gradients @ mechanism.canary / mechanism.clip_norm for s in (0, 1)]
    chosen = [(list(map(float, along[0])), list(map(float, along[1]))), *records_of(mechanism, mechanism.relation, n)]
    for i, sides in enumerate(chosen):
        data = [TrainingData(np.empty((0, 1)), np.empty(0), np.outer(side, 2.0 * mechanism.canary)) for side in sides]
        ways = [laws.sampled_sums(side, sampling, size, rate, mechanism.steps) for side in sides]
        middle = np.mean([c for way in ways for _, c in way])
        ways = [[(w, tuple(np.subtract(c, middle))) for w, c in way] for way in ways]
        two = [laws.noisy_sums(way, deviation) for way in ways]
        yield case(mechanism, Neighbours(*data, mechanism.relation), *two, CUT, worst=i == 0)


# --- broken trainers --------------------------------------------------------------------------------------------------


def gradient_pairs(mechanism, largest, seed=0, n_pairs=12):
    """Random gradient records along random directions, the record in any place; under zero_out and replace_one the
    others keep theirs."""
    rng = np.random.default_rng(seed)
    d = mechanism.network.n_parameters
    for _ in range(n_pairs):
        n, place = int(rng.integers(0, 6)), 0
        others = rng.normal(size=(n, d)) * rng.uniform(0, largest) / math.sqrt(d)
        others /= np.maximum(1.0, np.linalg.norm(others, axis=1, keepdims=True) / largest)
        record, other = (v * largest / np.linalg.norm(v) for v in rng.normal(size=(2, d)))
        place = int(rng.integers(0, n + 1))
        instead = {Relation.ADD_REMOVE: [], Relation.ZERO_OUT: [0 * record], Relation.REPLACE_ONE: [other]}
        sides = [
            np.array([*others[:place], *middle, *others[place:]]).reshape(-1, d)
            for middle in (instead[mechanism.relation], [record])
        ]
        yield Neighbours(*(mechanism._only_gradients(mechanism.clip_norm * s) for s in sides), mechanism.relation)


def shifted(kind, largest, scale=1.0, beyond=(), **options):
    """Trainers whose noise is Gaussian: runs without noise say how far the sums lie apart, over all directions."""
    for relation in RELATIONS:
        mechanism = kind(relation=relation, **options)
        silent = replace(mechanism, noise_multiplier=0.0, directions=np.eye(mechanism.network.n_parameters))
        pairs = [mechanism.worst_case(), *gradient_pairs(mechanism, largest)]
        for i, pair in enumerate(pairs):
            sums = [silent.release(pair.side(s), 1, np.random.default_rng(0)).values[0] for s in (0, 1)]
            distance = float(np.linalg.norm(sums[1] - sums[0])) / (scale * mechanism.noise_multiplier)
            if distance < 1e-9:
                continue
            delta = laws.gaussian_shown(distance, EPSILONS)
            yield Case(mechanism, pair, delta, ROUNDING, worst=i == 0, beyond=relation in beyond)


def revealing(kind):
    """Trainers of which something is the same in every run on one side, and something else on the other."""
    mechanism = kind()
    pair = mechanism.worst_case()
    outputs = [mechanism.release(pair.side(s), 20, np.random.default_rng(s)).values for s in (0, 1)]
    read = {NoiseReusedInSteps: lambda v: np.diff(v, axis=1), NoiseReusedInLayers: lambda v: np.diff(v, axis=2)}
    found = [read.get(kind, lambda v: v)(values).reshape(20, -1) for values in outputs]
    apart = np.abs(found[0][0] - found[1][0]).max() > 0.1
    same = all(np.abs(values - values[0]).max() < 1e-9 for values in found)
    yield Case(mechanism, pair, np.full(len(EPSILONS), float(apart and same)), worst=True)


def divided(kind, chances, **options):
    """Mixtures over the divisors of N(0, I / divisor^2): all that tells them apart is their radius."""
    mechanism = kind(**options)
    d, edges = mechanism.network.n_parameters, np.geomspace(1e-3, 40.0, 40_001)
    two = [
        laws.mixture(list(side.values()), [laws.cells(stats.chi(d, scale=1 / k).cdf, edges) for k in side])
        for side in chances
    ]
    yield case(mechanism, mechanism.worst_case(), *two, 1e-4, worst=True)


def binomial(n, rate):
    """Divisor of a Poisson sample of n records -> its chance; the empty one is divided by 1."""
    chances = {float(k): float(stats.binom.pmf(k, n, rate)) for k in range(n + 1)}
    chances[1.0] += chances.pop(0.0)
    return chances


def expected_batch_size_of_data():
    yield from divided(ExpectedBatchSizeOfData, ({2.0: 1.0}, {3.0: 1.0}))
    yield from divided(ExpectedBatchSizeOfData, ({5.0: 1.0}, {6.0: 1.0}), records=5, model=LogisticRegression(2))
    half = {"sampling": "poisson", "sampling_probability": 0.5, "batch_size": 1, "records": 3}
    yield from divided(ExpectedBatchSizeOfData, ({1.0: 1.0}, {2.0: 1.0}), **half)


def realised_batch_size():
    for records in (1, 3):
        yield from divided(RealisedBatchSize, (binomial(records, 0.5), binomial(records + 1, 0.5)), records=records)
    whole = {"sampling": "full-batch", "batch_size": 1, "records": 2}
    yield from divided(RealisedBatchSize, ({2.0: 1.0}, {3.0: 1.0}), **whole)


def shuffled_as_poisson():
    """The event that some sum is large, counted from a batch of the others; at least this is shown."""
    mechanism = ShuffledCountedAsPoisson()
    c = np.linspace(-3.0, 9.0, 1201)[:, None]
    none = stats.norm.cdf(c) ** 99
    p1, p0 = (1.0 - none * stats.norm.cdf(c - shift) for shift in (2.0, 1.0))
    yield Case(mechanism, mechanism.worst_case(), np.maximum(0.0, p1 - np.exp(EPSILONS) * p0).max(axis=0), 1.0, True)


# --- queries, whose sensitivities the mechanisms stand on -------------------------------------------------------------

VALUES = (-1.5, 0.0, 0.4, 2.0, 5.0)
"""Records; 0 is blank."""
QUERIES = {
    "count": ({}, {"above": 0.2}, {"below": 0.3}, {"equals": 0.0}),
    "histogram": ({"edges": (-2.0, 0.2, 3.0, 6.0)}, {"categories": (0.4, 2.0)}, {"categories": (5.0,)}),
    "sum": ({}, {"lower": -2.0, "upper": 3.0}, {"lower": 1.0, "upper": 4.0}, {"lower": -3.0, "upper": -1.0}),
    "mean": ({"n_records": 2}, {"lower": -2.0, "upper": 3.0, "n_records": 4}),
    "prefix-counts": ({"thresholds": (-1.0, 0.4, 3.0)}, {"thresholds": (9.0,)}),
    "median-utility": ({"candidates": (-1.0, 0.4, 3.0)}, {"candidates": (0.0, 2.0)}),
    "marginals": ({"domain": {"a": 3}, "marginals": 1}, {"domain": {"a": 3, "b": 1}, "marginals": (("a",), ("b",))}),
    "workload": ({"domain": {"a": 3}, "matrix": ((1.0, -2.0, 0.5), (0.0, 3.0, 3.0))},),
    **{f"{name}-workload": ({"domain": {"a": 3}},) for name in ("identity", "total", "prefixes", "ranges")},
    "marginals-workload": ({"domain": {"a": 3}, "sets": 1},),
    "parities-workload": ({"domain": {"a": 2}, "k": 1},),
    "random-workload": ({"domain": {"a": 3}, "n_queries": 3}, {"domain": {"a": 3}, "n_queries": 2, "seed": 1}),
}


def values_of(domain):
    """The records: of a domain, tuples of codes, the blank one first."""
    return list(np.ndindex(*domain.values())) if domain else VALUES


def neighbouring(relation, values=VALUES):
    """All pairs of up to 3 records, the one that differs in the last place."""
    for n in range(3):
        for others in combinations_with_replacement(values, n):
            for record, other in product(values, repeat=2):
                instead = {"add_remove": [], "zero_out": [0.0 * np.array(record)], "replace_one": [other]}[
                    relation.value
                ]
                yield np.array([*others, *instead]), np.array([*others, record])


@pytest.mark.parametrize("name", list(queries))
@pytest.mark.parametrize("relation", RELATIONS)
def test_answers_of_neighbours_lie_no_further_apart_than_the_sensitivity(name, relation):
    for options in QUERIES[name]:
        query = queries.build(name, **options)
        assert isinstance(query, Query)
        pairs = neighbouring(relation, values_of(options.get("domain")))
        moves = np.array([np.atleast_1d(query(d1)) - np.atleast_1d(query(d0)) for d0, d1 in pairs])
        for norm in (1.0, 2.0, math.inf):
            stated = query.sensitivity(relation, norm=norm)
            assert np.linalg.norm(moves, ord=norm, axis=1).max() <= stated * (1 + 1e-12), (query, norm)
        ranges = moves.max(axis=1) - moves.min(axis=1)
        assert ranges.max() <= query.range_sensitivity(relation) * (1 + 1e-12)
        if query.monotone(relation):
            assert not np.any((moves.min(axis=1) < 0) & (moves.max(axis=1) > 0))


# --- guarantees that are made from others -----------------------------------------------------------------------------


def random_pairs(n_pairs=6):
    rng = np.random.default_rng(4)
    for _ in range(n_pairs):
        k = int(rng.integers(2, 5))
        yield rng.dirichlet(np.full(k, 4.0)), rng.dirichlet(np.full(k, 4.0))


def accountings(p0, p1):
    """Guarantees of a pair of laws, with the accountings that compose them."""
    curve = ExactDP(p0, p1)
    epsilon = curve.epsilon(0.0)
    yield PureDP(epsilon), ("basic", "advanced", "optimal", "renyi", "privacy-loss")
    yield ApproximateDP(0.7 * epsilon, curve.delta(0.7 * epsilon)), ("basic", "advanced", "optimal", "privacy-loss")
    yield curve, ("basic", "renyi", "privacy-loss")
    yield to_renyi(curve), ("basic", "renyi")


def test_compositions_hold_for_the_joint_law():
    for p0, p1 in random_pairs():
        for times in (2, 3):
            joint = laws.shown(laws.joint(*[p0] * times), laws.joint(*[p1] * times), EPSILONS)
            mixed = laws.shown(laws.joint(p0, p1), laws.joint(p1, p0), EPSILONS)
            for part, known in accountings(p0, p1):
                for accounting in known:
                    claimed = compose([part] * times, accounting=accounting).delta(EPSILONS)
                    assert np.all(joint <= claimed + ROUNDING), (part, accounting, times)
                    assert np.all(mixed <= claimed + ROUNDING), (part, accounting, "the other way round")


def test_amplification_by_sampling_holds_for_the_sampled_law():
    """The record is in the sample with probability q."""
    for q in (0.05, 0.4, 1.0):
        for p0, p1 in random_pairs():
            curve = ExactDP(p0, p1)
            seen = laws.shown(p0, (1 - q) * p0 + q * p1, EPSILONS)
            for part in (PureDP(curve.epsilon(0.0)), ApproximateDP(0.3, curve.delta(0.3))):
                amplified = subsample(part, q, sampling="poisson")
                assert np.all(seen <= amplified.delta(EPSILONS) + ROUNDING), (q, part)
        p0, p1 = laws.normal(0.0, 1.0), laws.normal(0.6, 1.0)
        seen = laws.shown(p0, (1 - q) * p0 + q * p1, EPSILONS)
        exact = PrivacyLossDP.gaussian(1 / 0.6, sampling_probability=q).delta(EPSILONS)
        np.testing.assert_allclose(exact, seen, atol=1e-4)
        for claim in (RenyiDP, MomentsDP):
            found = claim.gaussian(1 / 0.6, sampling_probability=q).delta(EPSILONS)
            assert np.all(seen <= found + ROUNDING), (q, claim)


def test_group_privacy_holds_for_records_that_push_the_same_way():
    for size in (2, 3):
        for part, law in (
            (GaussianDP(0.4), lambda shift: laws.normal(0.4 * shift, 1.0)),
            (LaplaceDP(0.4), lambda shift: laws.laplace(0.4 * shift, 1.0)),
            (PureDP(0.4), lambda shift: laws.laplace(0.4 * shift, 1.0)),
            (ApproximateDP(0.2, GaussianDP(0.4).delta(0.2)), lambda shift: laws.normal(0.4 * shift, 1.0)),
            (ConcentratedDP(0.08), lambda shift: laws.normal(0.4 * shift, 1.0)),
        ):
            seen = laws.shown(law(0), law(size), EPSILONS)
            assert np.all(seen <= group(part, size).delta(EPSILONS) + ROUNDING), (part, size)


def test_conversions_never_promise_more_than_the_law_keeps():
    parts = [(ExactDP(p0, p1), laws.shown(p0, p1, EPSILONS)) for p0, p1 in random_pairs()]
    parts += [(GaussianDP(mu), laws.gaussian_shown(mu, EPSILONS)) for mu in (0.3, 2.0)]
    parts += [(LaplaceDP(e), laws.shown(laws.laplace(0.0, 1.0), laws.laplace(e, 1.0), EPSILONS)) for e in (0.3, 2.0)]
    for part, seen in parts:
        for made in (to_renyi(part), to_privacy_loss(part), to_approximate(part, delta=0.01)):
            assert np.all(seen <= made.delta(EPSILONS) + ROUNDING), (part, made)
    for epsilon, k in product((0.5, 3.0), (2, 4)):
        mechanism = Exponential(epsilon, k)
        pair = mechanism.worst_case()
        p0, p1 = (softmax(0.5 * epsilon * np.asarray(pair.side(side))) for side in (0, 1))
        assert np.all(laws.shown(p0, p1, EPSILONS) <= mechanism.bounded_range().delta(EPSILONS) + ROUNDING)


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


# --- votes ------------------------------------------------------------------------------------------------------------


def majority(votes, teachers, scale):
    return [stats.laplace.cdf(teachers / 2 - votes, scale=scale), stats.laplace.sf(teachers / 2 - votes, scale=scale)]


def votes(kind, count, scale):
    """Every pair of label vectors of four records that differ in one; two rounds."""
    for rate, teachers in product((0.4, 2.0), (2, 4)):
        mechanism = kind(rate, n_teachers=teachers, rounds=2)
        for labels, i in product(product((0, 1), repeat=4), range(4)):
            other = [*labels[:i], 1 - labels[i], *labels[i + 1 :]]
            one, two = (majority(count(side, teachers), teachers, scale(rate)) for side in (labels, other))
            yield case(mechanism, Neighbours(labels, other, "replace_one"), laws.joint(one, one), laws.joint(two, two))
        pair = mechanism.worst_case()
        one, two = (majority(count(pair.side(s), teachers), teachers, scale(rate)) for s in (0, 1))
        yield case(mechanism, pair, laws.joint(one, one), laws.joint(two, two), worst=True)


def first_of_each(labels, teachers):
    return sum(labels[:teachers])


def teachers_kept():
    """The number of teachers that have seen the only record of label 1: a walk; two rounds of three teachers."""
    for rate, refit in product((0.4, 2.0), (False, True)):
        mechanism = TeachersKept(rate, n_teachers=3, rounds=2, refit=refit)
        none, one, two = (majority(count, 3, 1 / rate) for count in range(3))
        again = 1 / 3 if not refit else 1.0
        p1 = again * laws.joint(one, one) + (1 - again) * laws.joint(one, two)
        yield case(mechanism, mechanism.worst_case(), laws.joint(none, none), p1, worst=True)


# --- the walk ---------------------------------------------------------------------------------------------------------

ALWAYS = RELATIONS
NO_SINGLE_WORST_CASE = {
    "exponential",  # it is one of a sequence that approaches the claim
    "shuffled",  # what the other users hold makes one dataset worse at some epsilons, another at others
}
CASES = {
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
    "exponential": exponential,
    "randomized-response": randomized_response,
    "k-ary-randomized-response": k_ary_randomized_response,
    "unary-encoding": unary_encoding,
    "local-hashing": local_hashing,
    "subset-selection": subset_selection,
    "hadamard-response": hadamard_response,
    "one-time-rappor": one_time_rappor,
    "rappor": rappor,
    "shuffled": shuffled,
    "output-perturbation": output_perturbation,
    "objective-perturbation": objective_perturbation,
    "noisy-projected-sgd": noisy_projected_sgd,
    "repeated": repeated,
    "prefix-sums": prefix_sums,
    "above-threshold": above_threshold,
    "numerical-sparse-vector": numerical_sparse_vector,
    "broken-sparse-vector-tested-value": broken_sparse_vector_tested_value,
    "broken-sparse-vector-noise-without-count": lambda: sparse_vector(
        lambda **kw: NoiseWithoutCount(0.9, **kw), history_law(4, 4 / 3, 1)
    ),
    "broken-sparse-vector-no-stop": lambda: sparse_vector(lambda **kw: NeverStops(0.9, **kw), history_law(2, 2)),
    "broken-sparse-vector-no-query-noise": lambda: sparse_vector(
        lambda **kw: NoQueryNoise(0.9, **kw), history_law(2, 0)
    ),
    "broken-sparse-vector-two": broken_sparse_vector_two,
    "dp-sgd": dp_sgd,
    "fine-tuning": lambda: apart(claims_fine_tuning.right()),
    "broken-private-encoder": lambda: apart(claims_fine_tuning.pooled()),
    "gaussian-counters": gaussian_counters,
    "teacher-votes": lambda: votes(TeacherVotes, first_of_each, lambda rate: 1 / rate),
    "broken-votes-same-part": lambda: votes(SamePartForAll, lambda y, k: k * y[k - 1], lambda rate: 1 / rate),
    "broken-votes-teachers-kept": teachers_kept,
    "broken-votes-scale": lambda: votes(VoteScaleInverse, first_of_each, lambda rate: rate),
    "broken-laplace-scale": broken_laplace_scale,
    "broken-laplace-sensitivity": broken_laplace_sensitivity,
    "broken-randomized-response": broken_randomized_response,
    **{
        name: lambda cases=cases: worked_out(cases)
        for name, cases in (
            claims_statistics.CASES
            | claims_composed.CASES
            | claims_text.CASES
            | claims_counts.CASES
            | claims_tables.CASES
            | claims_synthesis.CASES
            | claims_histogram_tables.CASES
            | claims_weights.CASES
            | claims_deniability.CASES
            | claims_federated.CASES
            | claims_release.CASES
            | claims_votes.CASES
            | claims_top_down.CASES
        ).items()
    },
    **{name: with_options(cases) for name, cases in (claims_selection.CASES | claims_tuning.CASES).items()},
    "broken-dp-sgd-mean-clipped": lambda: shifted(MeanClipped, 30.0),
    "broken-dp-sgd-microbatch-mean-clipped": lambda: shifted(MicrobatchMeanClipped, 6.0, beyond=(Relation.ADD_REMOVE,)),
    "broken-dp-sgd-noise-on-average": lambda: shifted(NoiseOnAverage, 1.0, microbatch_size=2),
    "broken-dp-sgd-layers-clipped-apart": lambda: shifted(PerLayerFullClip, 30.0),
    "broken-dp-sgd-layer-not-clipped": lambda: shifted(LayerNotClipped, 100.0, beyond=ALWAYS),
    "broken-dp-sgd-raw-mean-mixed-in": lambda: shifted(RawMeanMixedIn, 100.0, beyond=ALWAYS),
    "broken-dp-sgd-noise-divided-twice": lambda: shifted(NoiseDividedTwice, 3.0, scale=0.1),
    "broken-dp-sgd-noise-of-sum-on-mean": lambda: shifted(NoiseOfSumOnMean, 3.0, scale=10.0),
    "broken-dp-sgd-noise-reused-in-steps": lambda: revealing(NoiseReusedInSteps),
    "broken-dp-sgd-noise-reused-in-layers": lambda: revealing(NoiseReusedInLayers),
    "broken-dp-sgd-noise-of-fixed-seed": lambda: revealing(NoiseOfFixedSeed),
    "broken-dp-sgd-bias-without-noise": lambda: revealing(BiasWithoutNoise),
    "broken-dp-sgd-noise-after-momentum": lambda: shifted(NoiseAfterMomentum, 3.0),
    "broken-dp-sgd-expected-batch-size-of-data": expected_batch_size_of_data,
    "broken-dp-sgd-realised-batch-size": realised_batch_size,
    "broken-dp-sgd-shuffled-as-poisson": shuffled_as_poisson,
    "broken-dp-sgd-micro-steps": lambda: shifted(MicroStepsCounted, 3.0),
}
EXCUSED: dict[str, str] = {
    "broken-zero-sensitivity": "it adds no noise: test_counters shows that nothing is hidden",
    "swapped-tables": "it claims nothing",
}
"""Name -> why its laws cannot be worked out again here."""
CLAIMS_HOLD = {
    *(name for name in CASES if not name.startswith("broken-")),
    "broken-dp-sgd-noise-on-average",
    "broken-dp-sgd-noise-of-sum-on-mean",
    "broken-dp-sgd-micro-steps",
}
"""The others claim less than their laws show, for some pair."""


def test_every_mechanism_of_the_catalogue_is_worked_out_again_or_excused():
    assert set(CASES) | set(EXCUSED) == set(catalogue)
    assert not set(CASES) & set(EXCUSED)


@cache
def stated(mechanism, _identity):
    """What the claim and the truth allow at EPSILONS; None where there is no truth."""
    truth = mechanism.exact_guarantee()
    return mechanism.guarantee().delta(EPSILONS), None if truth is None else truth.delta(EPSILONS)


@pytest.mark.parametrize("name", CASES)
def test_claims_and_exact_guarantees_are_what_the_laws_show(name):
    false_claims = worst_cases = 0
    for one in CASES[name]():
        mechanism = one.mechanism
        assert type(mechanism) is catalogue.get(name)
        mechanism.bind(one.pair)
        claim, truth = stated(mechanism, id(mechanism))
        excess = one.delta - claim
        false_claims += bool((excess > ROUNDING).any())
        worst_cases += one.worst
        if name in CLAIMS_HOLD:
            assert excess.max() <= ROUNDING, (mechanism, one.pair, one.delta, claim)
        if truth is None:
            continue
        if one.worst:
            np.testing.assert_allclose(one.delta, truth, atol=one.hidden, err_msg=str(mechanism))
        elif not one.beyond and name not in NO_SINGLE_WORST_CASE:
            assert np.all(one.delta <= truth + ROUNDING), (mechanism, one.pair, one.delta, truth)
    assert worst_cases > 0
    assert (false_claims > 0) == (name not in CLAIMS_HOLD)
