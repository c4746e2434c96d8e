"""Laws of the noisy sums of DP-SGD, and of the broken trainers."""

import math
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
from scipy import stats
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.claims import CUT, EPSILONS, FINE, RELATIONS, ROUNDING, Case, case

from dpassay.mechanisms.core import AccountingError, Neighbours, Relation
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd import (
    DPSGD,
    AdaptiveClippingDPSGD,
    BandedNoise,
    BufferedToeplitzNoise,
    TreeNoise,
    TruncatedPoisson,
)
from dpassay.mechanisms.learning.dp_sgd.broken.base import MicroStepsCounted, ReplacedCountedAsAdded
from dpassay.mechanisms.learning.dp_sgd.broken.batches import (
    BatchNormalised,
    ClippedCountReleased,
    EmptyBatchSkipped,
    LossReleased,
    WeightedCountedAsPoisson,
    WeightedPoissonSampling,
)
from dpassay.mechanisms.learning.dp_sgd.broken.clipping import (
    BaseNotFrozen,
    CountNotAccounted,
    LayerNotClipped,
    MeanClipped,
    MicrobatchMeanClipped,
    NoiseOnAverage,
    PerLayerFullClip,
    RawMeanMixedIn,
)
from dpassay.mechanisms.learning.dp_sgd.broken.divisors import ExpectedBatchSizeOfData, RealisedBatchSize
from dpassay.mechanisms.learning.dp_sgd.broken.noise import (
    BandedOverlapIgnored,
    BiasWithoutNoise,
    NoiseAfterAdam,
    NoiseAfterMomentum,
    NoiseDividedTwice,
    NoiseOfFixedSeed,
    NoiseOfSumOnMean,
    NoiseReusedInLayers,
    NoiseReusedInSteps,
    ToeplitzUsedOnce,
    TreeDepthIgnored,
)
from dpassay.mechanisms.learning.dp_sgd.broken.sampling import (
    AllocationReused,
    CyclicCountedAsPoisson,
    OneAllocation,
    ShuffledCountedAsPoisson,
    TruncatedCountedAsPoisson,
)
from dpassay.mechanisms.learning.dp_sgd.sampling import PoissonSampling
from dpassay.mechanisms.learning.dp_sgd.steps import Cosine
from dpassay.mechanisms.learning.models import LogisticRegression

MODEL = LogisticRegression(1)
SCHEMES = {
    "full-batch": ({}, 0, 1.0),
    "poisson": ({"sampling_probability": 0.3}, 0, 0.3),
    "random-allocation": ({"batches_per_epoch": 2}, 2, 0.0),
    "cyclic-poisson": ({"sampling_probability": 0.3, "batches_per_epoch": 2}, 2, 0.3),
    "truncated-poisson": ({"sampling_probability": 0.6, "largest_batch": 1, "n_records": 3}, 1, 0.6),
    "fixed-size": ({"batch_size": 2, "n_records": 3}, 2, 0.0),
    "cyclic": ({"batch_size": 1, "n_records": 2}, 1, 0.0),
    "shuffled": ({"batch_size": 1, "n_records": 2}, 1, 0.0),
}


SLOW = ("poisson", "cyclic-poisson", "truncated-poisson")


def dp_sgd():
    for (sampling, (options, size, rate)), relation, noise in product(SCHEMES.items(), RELATIONS, (0.7, 3.0)):
        if sampling in SLOW and noise < 1.0:
            continue  # privacy-loss distributions of little noise take seconds
        for steps in (2,) if sampling in SLOW or noise < 1.0 else (1, 2):
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
    yield from correlated(trainers_with(NOISES))
    whole = {"model": MODEL, "noise_multiplier": 1.5, "sampling": "full-batch", "batch_size": 1}
    for view, learning_rate in product(("trajectory", "final"), (0.1, Cosine(0.1))):
        mechanism = DPSGD(**whole, steps=2, view=view, learning_rate=learning_rate)
        distance = math.sqrt(2) / 1.5
        if view == "final" and isinstance(learning_rate, Cosine):
            rates = learning_rate.rates(2)
            distance = float(rates.sum() / np.linalg.norm(rates)) / 1.5
        yield Case(mechanism, mechanism.worst_case(), laws.gaussian_shown(distance, EPSILONS), FINE, worst=True)


def noise_covariance(mechanism):
    """Covariance of the noise of the steps along one direction, from impulses: one run for each fresh number."""
    steps = mechanism.steps
    correlate, impulses = mechanism.step_noise.correlate(steps), np.eye(steps)[:, None, :].copy()
    for step in impulses:
        correlate(step)
    return mechanism.noise_multiplier**2 * impulses[:, 0] @ impulses[:, 0].T


def correlated(make, pairs=True, scale=1.0):
    """Trainers on fixed batches: runs without noise say how the sums move, impulses how the noise is correlated."""
    for mechanism in make:
        precision = np.linalg.inv(scale**2 * noise_covariance(mechanism))
        silent = replace(mechanism, noise_multiplier=0.0, directions=np.eye(mechanism.network.n_parameters))
        n = getattr(mechanism.scheme, "n_records", None) or 3
        others = in_each_place(mechanism, n) if pairs else ()
        for i, pair in enumerate([mechanism.worst_case(), *others]):
            sums = [silent.release(pair.side(s), 1, np.random.default_rng(0)).values[0] for s in (0, 1)]
            difference = sums[1] - sums[0]
            distance = math.sqrt(np.einsum("sp,st,tp->", difference, precision, difference))
            yield Case(mechanism, pair, laws.gaussian_shown(distance, EPSILONS), ROUNDING, worst=i == 0)


def in_each_place(mechanism, n):
    """The record in each place of the order, full and half as large."""
    for place in range(n if mechanism.scheme.ordered else 1):
        for size in (1.0, 0.5):
            side1 = np.outer(np.ones(n), mechanism.canary)
            side1[place] = size * mechanism.canary
            side0 = side1.copy()
            side0[place] *= -1.0 if mechanism.relation is Relation.REPLACE_ONE else 0.0
            if mechanism.relation is Relation.ADD_REMOVE:
                side0 = np.delete(side0, place, axis=0)
            sides = (mechanism._only_gradients(mechanism.clip_norm * side) for side in (side0, side1))
            yield Neighbours(*sides, mechanism.relation)


NOISES = (
    TreeNoise(),
    TreeNoise(estimate="nodes"),
    TreeNoise(estimate="complete"),
    BandedNoise(3),
    BandedNoise(9, entries="square-root"),
    BufferedToeplitzNoise(2),
)


def trainers_with(noises):
    batches = {"full-batch": {"batch_size": 2}, "cyclic": {"batch_size": 2, "n_records": 6}}
    for noise, (sampling, options), relation, steps in product(noises, batches.items(), RELATIONS, (5, 8)):
        if sampling == "full-batch" or relation is not Relation.ADD_REMOVE:
            options = options | {"relation": relation, "noise": noise, "steps": steps, "clip_norm": 2.0}
            yield DPSGD(MODEL, noise_multiplier=1.5, sampling=sampling, view="noisy_gradients", **options)


def broken_noise(kind, scale=lambda mechanism: 1.0):
    for relation in (Relation.ZERO_OUT, Relation.REPLACE_ONE):
        mechanism = kind(relation=relation)
        yield from correlated([mechanism], pairs=False, scale=scale(mechanism))


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
    read |= dict.fromkeys((LossReleased, ClippedCountReleased), lambda v: v[:, :, -1])
    results = [read.get(kind, lambda v: v)(values).reshape(20, -1) for values in outputs]
    apart = np.abs(results[0][0] - results[1][0]).max() > 0.1
    same = all(np.abs(values - values[0]).max() < 1e-9 for values in results)
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


def batch_normalised():
    """Logistic regression at 0: the gradient of an example is (1/2 - y) times its scaled features, then clipped."""
    for records, noise, clip in ((1, 3.73, 0.1), (4, 3.73, 0.1), (4, 6.0, 0.4), (9, 6.0, 0.2)):
        mechanism = BatchNormalised(records=records, noise_multiplier=noise, clip_norm=clip)
        x, y = np.append(np.zeros(records), 1.0), np.append(np.ones(records), 0.0)
        scaled = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
        distance = abs(np.clip((0.5 - y) * scaled, -clip, clip).sum()) / clip / noise
        yield Case(mechanism, mechanism.worst_case(), laws.gaussian_shown(distance, EPSILONS), FINE, worst=True)


def empty_batch_skipped():
    """A step is 0 or normal; the law of a step without a batch is the first cell."""
    for q, steps, noise in ((0.1, 2, 1.74), (0.5, 1, 3.0), (0.3, 2, 2.0)):
        scheme = PoissonSampling(sampling_probability=q, expected_batch_size=1)
        mechanism = EmptyBatchSkipped(sampling=scheme, steps=steps, noise_multiplier=noise)
        edges = laws.EDGES if steps == 1 else laws.COARSE
        for others in (0, 1, 2):
            pair = mechanism._pair(1.0, *[0.0] * others)
            none, one = (laws.normal(centre / noise, 1.0, edges) for centre in (0.0, 1.0))
            rest = (1 - q) ** others
            without = np.append(rest, (1 - rest) * none)
            with_it = np.append((1 - q) * rest, (1 - q) * (1 - rest) * none + q * one)
            two = (laws.joint(*[law] * steps) for law in (without, with_it))
            yield case(mechanism, pair, *two, CUT, worst=others == 0, beyond=False)


def weighted_as_poisson():
    for weights, noise, steps in (((3.0, 1.0), 1.5, 2), ((11.0, *[1.0] * 9), 1.24, 2), ((1.0, 2.0, 3.0), 2.0, 1)):
        scheme = WeightedPoissonSampling(sampling_probability=0.1, expected_batch_size=1, weights=weights)
        mechanism = WeightedCountedAsPoisson(sampling=scheme, noise_multiplier=noise, steps=steps)
        for place in {int(np.argmax(weights)), 0, len(weights) - 1}:
            rate = 0.1 * weights[place] / np.mean(weights)
            norms = np.eye(len(weights))[place]
            pair = Neighbours(mechanism._along(0 * norms), mechanism._along(norms), "zero_out")
            ways = [[(1.0, (0.0,) * steps)], laws.sampled_sums([1.0], "poisson", 0, rate, steps)]
            two = (laws.noisy_sums(way, noise) for way in ways)
            yield case(mechanism, pair, *two, CUT, worst=place == np.argmax(weights))


def replaced_as_added():
    for noise, steps in ((7.46, 4), (2.0, 1)):
        mechanism = ReplacedCountedAsAdded(noise_multiplier=noise, steps=steps)
        for i, pair in enumerate([mechanism.worst_case(), *gradient_pairs(mechanism, 3.0)]):
            silent = replace(mechanism, noise_multiplier=0.0, directions=np.eye(mechanism.network.n_parameters))
            sums = [silent.release(pair.side(s), 1, np.random.default_rng(0)).values[0, 0] for s in (0, 1)]
            distance = math.sqrt(steps) * float(np.linalg.norm(sums[1] - sums[0])) / noise
            if distance > 1e-9:
                yield Case(mechanism, pair, laws.gaussian_shown(distance, EPSILONS), ROUNDING, worst=i == 0)


def truncated_as_poisson():
    """One step on batches of -1, of which one may be +1 instead."""
    n, rate, largest = 6, 0.5, 2
    sampling = TruncatedPoisson(sampling_probability=rate, largest_batch=largest, expected_batch_size=3, n_records=n)
    mechanism = TruncatedCountedAsPoisson(steps=1, noise_multiplier=1.5, sampling=sampling)
    sides = [[-1.0] * (n - 1), [1.0] + [-1.0] * (n - 1)]
    ways = [laws.sampled_sums(side, "truncated-poisson", largest, rate, 1) for side in sides]
    yield case(mechanism, mechanism.worst_case(), *(laws.noisy_sums(way, 1.5) for way in ways), FINE, worst=True)


def cyclic_as_poisson():
    """Only the first of the steps shows the record."""
    mechanism = CyclicCountedAsPoisson()
    p0, shifted_law = laws.normal(0.0, 1.0), laws.normal(1.0, 1.0)
    yield case(mechanism, mechanism.worst_case(), p0, laws.mixture([0.5, 0.5], [p0, shifted_law]), 1e-4, worst=True)


def allocation_reused():
    """The mean of 4 epochs of 2 batches: the shift is in one of two places, with half of the noise."""
    one = OneAllocation(batches_per_epoch=2, expected_batch_size=1)
    mechanism = AllocationReused(steps=8, noise_multiplier=3.0, sampling=one)
    near, far = (laws.normal(centre, 1.0, laws.COARSE) for centre in (0.0, 2.0 / 3.0))
    p1 = laws.mixture([0.5, 0.5], [laws.joint(near, far), laws.joint(far, near)])
    yield case(mechanism, mechanism.worst_case(), laws.joint(near, near), p1, CUT, worst=True)


def counted(kind, **options):
    """Sums and counts without noise, over all directions, relative to the noise of either."""
    for relation in RELATIONS:
        mechanism = kind(relation=relation, **options)
        silent = replace(mechanism, noise_multiplier=0.0, directions=np.eye(mechanism.network.n_parameters))
        m = mechanism.network.n_parameters
        deviations = np.append(np.full(m, mechanism.sum_noise), mechanism.count_noise)
        pairs = [mechanism.worst_case()]
        pairs += [replace_gradients(pair, mechanism, 1e8) for pair in gradient_pairs(mechanism, 1.0)]
        for i, pair in enumerate(pairs):
            sums = [silent.release(pair.side(s), 1, np.random.default_rng(0)).values[0] for s in (0, 1)]
            distance = float(np.linalg.norm((sums[1] - sums[0]) / deviations))
            attained = i == 0 and relation is not Relation.REPLACE_ONE
            yield Case(mechanism, pair, laws.gaussian_shown(distance, EPSILONS), ROUNDING, worst=attained)


def replace_gradients(pair, mechanism, factor):
    """The same pair with larger gradients, which are clipped in every step; blank ones stay blank."""
    sides = (mechanism._only_gradients(factor * TrainingData.of(pair.side(s)).gradients) for s in (0, 1))
    return Neighbours(*sides, mechanism.relation)


CLAIMS = {
    "broken-dp-sgd-batch-norm": batch_normalised,
    "broken-dp-sgd-loss-released": lambda: revealing(LossReleased),
    "broken-dp-sgd-clipped-count-released": lambda: revealing(ClippedCountReleased),
    "broken-dp-sgd-empty-batch-skipped": empty_batch_skipped,
    "broken-dp-sgd-weighted-as-poisson": weighted_as_poisson,
    "broken-dp-sgd-replaced-as-added": replaced_as_added,
    "broken-dp-sgd-base-not-frozen": lambda: revealing(BaseNotFrozen),
    "dp-sgd": dp_sgd,
    "broken-dp-sgd-mean-clipped": lambda: shifted(MeanClipped, 30.0),
    "broken-dp-sgd-microbatch-mean-clipped": lambda: shifted(MicrobatchMeanClipped, 6.0, beyond=(Relation.ADD_REMOVE,)),
    "broken-dp-sgd-noise-on-average": lambda: shifted(NoiseOnAverage, 1.0, microbatch_size=2),
    "broken-dp-sgd-layers-clipped-apart": lambda: shifted(PerLayerFullClip, 30.0),
    "broken-dp-sgd-layer-not-clipped": lambda: shifted(LayerNotClipped, 100.0, beyond=RELATIONS),
    "broken-dp-sgd-raw-mean-mixed-in": lambda: shifted(RawMeanMixedIn, 100.0, beyond=RELATIONS),
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
    "broken-dp-sgd-tree-depth-ignored": lambda: broken_noise(TreeDepthIgnored, lambda m: m._factor),
    "broken-dp-sgd-banded-overlap-ignored": lambda: broken_noise(BandedOverlapIgnored),
    "broken-dp-sgd-toeplitz-used-once": lambda: broken_noise(ToeplitzUsedOnce),
    "broken-dp-sgd-noise-after-adam": lambda: shifted(NoiseAfterAdam, 3.0, beyond=RELATIONS),
    "adaptive-clipping": lambda: counted(
        AdaptiveClippingDPSGD,
        model=MODEL,
        steps=3,
        noise_multiplier=2.0,
        count_noise=1.5,
        sampling="full-batch",
        batch_size=4,
        view="noisy_gradients",
    ),
    "broken-dp-sgd-count-not-accounted": lambda: counted(CountNotAccounted),
    "broken-dp-sgd-truncated-as-poisson": truncated_as_poisson,
    "broken-dp-sgd-cyclic-as-poisson": cyclic_as_poisson,
    "broken-dp-sgd-allocation-reused": allocation_reused,
    "broken-dp-sgd-micro-steps": lambda: shifted(MicroStepsCounted, 3.0),
}
