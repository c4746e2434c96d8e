"""Laws of local randomisers and of their shuffled messages."""

import math
from itertools import combinations, combinations_with_replacement, product

import numpy as np
from scipy.linalg import hadamard
from scipy.special import expit
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.claims import case

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.local import (
    RAPPOR,
    CountMeanSketch,
    Duchi,
    DuchiVector,
    HadamardResponse,
    Hybrid,
    LocalHashing,
    OneTimeRAPPOR,
    Piecewise,
    SampledAttributes,
    SubsetSelection,
)
from dpassay.mechanisms.literature.local.broken import RangeAssumed, TiesInBothSets
from dpassay.mechanisms.literature.shuffle import Shuffled
from dpassay.mechanisms.local import KAryRandomizedResponse, RandomizedResponse, UnaryEncoding
from dpassay.mechanisms.local.broken import BiasedCoinResponse


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


def count_mean_sketch():
    """All functions v -> (a v + b mod prime) mod g, and all vectors of g bits, one of which is set."""
    for epsilon, k, prime, g in ((0.3, 3, 3, 2), (1.0, 3, 5, 3), (3.0, 2, 5, 4)):
        half = expit(epsilon / 2)
        bits = flipped_bits(np.eye(g), half, 1 - half)
        hashed = np.array([[[(a * v + b) % prime % g for b in range(prime)] for a in range(prime)] for v in range(k)])
        channel = [np.ravel(bits[hashed[v]]) / prime**2 for v in range(k)]
        yield from local(CountMeanSketch(epsilon, k, n_buckets=g, prime=prime), np.array(channel))


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
    result = {}
    for sent, mass in np.ndenumerate(law):
        result[tuple(sorted(sent))] = result.get(tuple(sorted(sent)), 0.0) + mass
    return np.array([result[key] for key in sorted(result)])


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


def one_bit_means(make, limit):
    """Laws of the two messages for numbers on a grid, and of two users, one of whom differs."""
    for epsilon in (0.3, 1.0, 2.5):
        mechanism, c = make(epsilon), (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
        law = {x: np.clip([0.5 - x / (2 * c), 0.5 + x / (2 * c)], 0.0, 1.0) for x in np.linspace(-limit, limit, 5)}
        for a, b in product(law, repeat=2):
            if a != b:
                yield case(mechanism, Neighbours(a, b, "replace_one"), law[a], law[b], worst=(a, b) == (-limit, limit))
                both = [laws.joint(law[x], law[b]) for x in (a, b)]
                yield case(mechanism, Neighbours([a, b], [b, b], "replace_one"), *both)


def pieces(epsilon, x, cuts):
    """Masses between cuts that hold the ends of the interval of x (Wang et al. 2019, equations 4 and 5)."""
    h = math.exp(epsilon / 2)
    c = (h + 1) / (h - 1)
    low = (c + 1) / 2 * x - (c - 1) / 2
    middle = 0.5 * (cuts[1:] + cuts[:-1])
    near = (low < middle) & (middle < low + c - 1)
    return np.diff(cuts) * (h * h - h) / (2 * h + 2) * np.where(near, 1.0, 1.0 / h**2)


def number_laws(kind, epsilon, *numbers):
    """The laws of messages for some numbers, cut at the ends of all intervals; last, the two messages of Duchi."""
    h = math.exp(epsilon / 2)
    c, high = (h + 1) / (h - 1), (h * h + 1) / (h * h - 1)
    ends = [(c + 1) / 2 * x + side * (c - 1) / 2 for x in numbers for side in (-1, 1)]
    cuts = np.unique(np.append(ends, [-c, c]))
    share = {"duchi": 0.0, "piecewise": 1.0, "hybrid": 1.0 - 1.0 / h if epsilon > 0.61 else 0.0}[kind]
    for x in numbers:
        two = np.array([0.5 - x / (2 * high), 0.5 + x / (2 * high)])
        yield np.concatenate([share * pieces(epsilon, x, cuts), (1 - share) * two])


def numbers(make, kind):
    for epsilon in (0.3, 1.0, 4.0):
        mechanism = make(epsilon)
        for a, b in product((-1.0, -0.4, 0.0, 0.1, 1.0), repeat=2):
            if a != b:
                two = list(number_laws(kind, epsilon, a, b))
                yield case(mechanism, Neighbours(a, b, "replace_one"), *two, worst=(a, b) == (-1.0, 1.0))
                both = [laws.joint(law, two[1]) for law in two]
                yield case(mechanism, Neighbours([a, b], [b, b], "replace_one"), *both)


def sampled_attributes():
    """Each set of sampled numbers is equally likely, and visible."""
    for kind, epsilon, d, k in (
        ("hybrid", 1.5, 2, 1),
        ("piecewise", 1.6, 3, 2),
        ("duchi", 2.0, 3, 2),
        ("hybrid", 2.0, 2, 2),
    ):
        mechanism = SampledAttributes(epsilon, d, kind=kind, n_sampled=k)
        ones = np.ones(d)
        for a, b in (
            (-ones, ones),
            (ones, -ones),
            (-ones, 0.5 * ones),
            (np.linspace(-1, 1, d), np.linspace(0.9, -1, d)),
        ):
            each = [list(number_laws(kind, epsilon / k, *two)) for two in zip(a, b, strict=True)]
            sets = list(combinations(range(d), k))
            two = [np.concatenate([laws.joint(*(each[j][side] for j in one)) for one in sets]) for side in (0, 1)]
            pair = Neighbours(a, b, "replace_one")
            yield case(
                mechanism, pair, *(law / len(sets) for law in two), worst=bool((a == -ones).all() and (b == ones).all())
            )


def duchi_vector():
    """All vectors v, and all messages: e^epsilon times likelier where the inner product with v is not negative."""
    for d, epsilon in ((1, 1.0), (2, 0.5), (3, 1.0), (4, 2.0)):
        signs = np.array(list(product((-1, 1), repeat=d)))
        weights = np.where(signs @ signs.T >= 0, math.exp(epsilon), 1.0)
        channel = weights / weights.sum(axis=1, keepdims=True)
        ones, mechanism = np.ones(d), DuchiVector(epsilon, d)
        for a, b in (
            (-ones, ones),
            (ones, -ones),
            (-ones, 0.5 * ones),
            (np.linspace(-1, 0, d), np.linspace(0.9, -1, d)),
        ):
            two = [np.prod((1 + signs * x) / 2, axis=1) @ channel for x in (a, b)]
            worst = bool((a == -ones).all() and (b == ones).all())
            yield case(mechanism, Neighbours(a, b, "replace_one"), *two, worst=worst)


def ties_in_both_sets():
    """Uniform in one of two sets of vectors of signs, which overlap if d is even."""
    for d, epsilon in ((2, 0.5), (3, 1.0), (4, 2.0)):
        signs = np.array(list(product((-1, 1), repeat=d)))
        products = signs @ signs.T
        above, below = (side / side.sum(axis=1, keepdims=True) for side in (products >= 0, products <= 0))
        channel = expit(epsilon) * above + expit(-epsilon) * below
        ones, mechanism = np.ones(d), TiesInBothSets(epsilon, d)
        for b in (np.append(-1.0, ones[1:]), -ones, 0.5 * ones):
            two = [np.prod((1 + signs * x) / 2, axis=1) @ channel for x in (ones, b)]
            worst = bool(b[0] == -1.0 and (b[1:] == 1.0).all())
            yield case(mechanism, Neighbours(ones, b, "replace_one"), *two, worst=worst, beyond=not worst)


CLAIMS = {
    "broken-duchi-vector-ties": ties_in_both_sets,
    "duchi-vector": duchi_vector,
    "count-mean-sketch": count_mean_sketch,
    "piecewise": lambda: numbers(Piecewise, "piecewise"),
    "hybrid-mean": lambda: numbers(Hybrid, "hybrid"),
    "sampled-attributes": sampled_attributes,
    "duchi": lambda: one_bit_means(Duchi, 1.0),
    "broken-duchi-range-assumed": lambda: one_bit_means(RangeAssumed, 1.5),
    "randomized-response": randomized_response,
    "k-ary-randomized-response": k_ary_randomized_response,
    "unary-encoding": unary_encoding,
    "local-hashing": local_hashing,
    "subset-selection": subset_selection,
    "hadamard-response": hadamard_response,
    "one-time-rappor": one_time_rappor,
    "rappor": rappor,
    "shuffled": shuffled,
    "broken-randomized-response": broken_randomized_response,
}
