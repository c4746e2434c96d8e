"""Laws of the noisy answers of teachers, worked out on given votes; as in claims_statistics."""

import math
from functools import cache
from itertools import product

import numpy as np
from scipy import stats
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.literature.statistics.claims_statistics import FINE, ROUNDING

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.pate import (
    PATE,
    ConfidentGNMax,
    GNMax,
    InteractiveGNMax,
    LNMax,
    PrivateEpsilon,
    SampleAndAggregate,
)
from dpassay.mechanisms.literature.pate.broken import AbstentionNotAccounted, CheckWithoutNoise, EpsilonOfVotes
from dpassay.mechanisms.literature.pate.renyi import gaussian_divergences

PAIRS = (((3, 2, 1), (2, 3, 1)), ((0, 6, 0), (1, 5, 0)), ((2, 2, 2), (2, 1, 3)))
"""Votes of six teachers for three labels, one moved."""
FEW = {"n_teachers": 6, "n_classes": 3, "n_queries": 2}


@cache
def winner(votes, noise, scale):
    """Of each label: the one with the most noisy votes. A Gauss rule between whole numbers: densities bend there."""
    low, high = min(votes) - round(40 * scale), max(votes) + round(40 * scale)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    y = (np.arange(low, high)[:, None] + 0.5 * (1.0 + nodes)).ravel()
    law = stats.norm(scale=scale) if noise == "gaussian" else stats.laplace(scale=scale)
    below, density = (np.array([part(y - n) for n in votes]) for part in (law.cdf, law.pdf))
    others = [np.prod(np.delete(below, j, axis=0), axis=0) for j in range(len(votes))]
    return (density * others) @ np.tile(0.5 * weights, high - low)


def twice(law):
    return laws.joint(law, law)


def sides(mechanism):
    """The pairs, and first the worst case of one query."""
    worst = mechanism.worst_case()
    yield tuple(tuple(map(int, side[0])) for side in (worst.d0, worst.d1)), True
    yield from ((pair, False) for pair in PAIRS)


def maxima(kind, noise, scale):
    for option in (0.4, 3.0):
        mechanism = kind(option, n_teachers=6, n_classes=3, n_queries=2)
        for pair, worst in sides(mechanism):
            two = [twice(winner(votes, noise, scale(option))) for votes in pair]
            yield mechanism, Neighbours(*([votes] * 2 for votes in pair), "replace_one"), *two, ROUNDING, worst


def checked(votes, passes, otherwise=3, answer=3.0):
    """Three labels, and no answer."""
    law = np.append(passes * winner(votes, "gaussian", answer), 0.0)
    law[otherwise] += 1.0 - passes
    return law


def passing(above, deviation):
    return stats.norm.cdf(above / deviation)


def confident(max_answers=None, kind=ConfidentGNMax):
    for threshold, deviation in product((4.0, 5.5), (1.0, 3.0)):
        mechanism = kind(threshold, deviation, 3.0, n_teachers=6, n_classes=3, n_queries=2, max_answers=max_answers)
        for pair, worst in sides(mechanism):
            two = []
            for votes in pair:
                law = checked(votes, passing(max(votes) - threshold, deviation))
                both = np.outer(law, law)
                if max_answers == 1:
                    both[:3] = np.outer(law[:3], [0.0, 0.0, 0.0, 1.0])
                two.append(both.ravel())
            yield mechanism, Neighbours(*([votes] * 2 for votes in pair), "replace_one"), *two, ROUNDING, worst


def confident_with_and_without_limit():
    yield from confident()
    yield from confident(1)


def interactive():
    for threshold, student in product((1.0, 3.0), ((0.6, 0.3, 0.1), (0.4, 0.4, 0.2))):
        options = {"confidence": 0.5, "student": student, "n_teachers": 6, "n_classes": 3, "n_queries": 2}
        mechanism = InteractiveGNMax(threshold, 2.0, 3.0, **options)
        for pair, worst in sides(mechanism):
            two = []
            for votes in pair:
                above = max(n - 6 * p for n, p in zip(votes, student, strict=True)) - threshold
                two.append(twice(checked(votes, passing(above, 2.0), 0 if max(student) > 0.5 else 3)))
            yield mechanism, Neighbours(*([votes] * 2 for votes in pair), "replace_one"), *two, ROUNDING, worst


def check_without_noise():
    for threshold in (4.0, 5.0, 6.0):
        mechanism = CheckWithoutNoise(threshold, 1.0, 3.0, n_teachers=6, n_classes=3, n_queries=2)
        for pair, worst in sides(mechanism):
            two = [twice(checked(votes, float(max(votes) >= threshold))) for votes in pair]
            yield mechanism, Neighbours(*([votes] * 2 for votes in pair), "replace_one"), *two, ROUNDING, worst


def published():
    """Labels and the epsilon of these votes: whatever has another one can be told for certain."""
    apart = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    for base in (LNMax(0.8, n_teachers=6, n_classes=3), GNMax(8.0, n_teachers=60, n_classes=2)):
        mechanism = EpsilonOfVotes(base)
        yield mechanism, mechanism.worst_case(), *apart, ROUNDING, True


# --- the epsilon of votes, with noise: a slow twin of its sensitivity -------------------------------------------------


@cache
def stepped(sigma, order, teachers, steps=32):
    """The bound at each place of the grid, one after another, for two labels."""
    results, least = [], order / sigma**2
    for place in range(teachers * steps // 2 + 1):
        log_q = stats.norm.logcdf(-math.sqrt(2.0) * place / (sigma * steps))
        if place:  # at a tie the bound is that for all votes
            least = min(least, float(gaussian_divergences(np.array([log_q]), sigma, np.array([order]))[0, 0]))
        results.append(least)
    return results


@cache
def largest_fall(sigma, order, teachers, place, k, steps=33):
    """From a place that k teachers can reach, by one more."""
    values = stepped(sigma, order, teachers)
    reached = range(max(0, place - k * steps), min(len(values) - 1, place + k * steps) + 1)
    falls = [0.0]
    for one in reached:
        falls.append(values[max(0, one - steps)] - values[one])
        falls.append(values[one] - values[min(len(values) - 1, one + steps)])
    return max(falls)


def noisy_epsilon(leads, sigma, order, teachers, beta, noise, delta):
    """Centre and deviation; a lead of l votes lies at l / 2 moves from a tie."""
    places = [16 * lead for lead in leads]
    centre = sum(stepped(sigma, order, teachers)[p] for p in places) - math.log(delta) / (order - 1)
    smooth = max(
        math.exp(-beta * k) * sum(largest_fall(sigma, order, teachers, p, k) for p in places)
        for k in range(teachers + 1)
    )
    return centre, noise * smooth


def private_epsilon():
    for beta, noise in ((0.05, 3.0), (0.2, 1.0)):
        base = GNMax(5.0, n_teachers=40, n_classes=2, n_queries=2)
        mechanism = PrivateEpsilon(base, order=3.0, beta=beta, noise=noise)
        worst = mechanism.worst_case()
        pairs = [(worst.d0, worst.d1), *([[[20 - a, 20 + a]] * 2 for a in (b, b + 1)] for b in (0, 9, 15, 19))]
        for i, pair in enumerate(pairs):
            leads = [[abs(int(row[1]) - int(row[0])) for row in side] for side in pair]
            (m0, s0), (m1, s1) = (noisy_epsilon(each, 5.0, 3.0, 40, beta, noise, 1e-5) for each in leads)
            two = laws.normal(0.0, 1.0), laws.normal((m1 - m0) / s0, s1 / s0)
            yield mechanism, Neighbours(*pair, "replace_one"), *two, FINE, i == 0


# --- records ----------------------------------------------------------------------------------------------------------


def sample_and_aggregate():
    """Parts of two records: the lower of two labels, or the one that is there twice."""
    mechanism = SampleAndAggregate(LNMax(0.9, n_teachers=3, n_classes=3), statistic="median")
    for records, other in (([0, 1, 2, 2, 2, 2], [0, 0, 2, 2, 2, 2]), ([1, 1, 1, 1, 1, 1], [1, 0, 1, 1, 1, 1])):
        sides = [[min(side[i], side[i + 3]) for i in range(3)] for side in (records, other)]
        two = [winner(tuple(labels.count(c) for c in range(3)), "laplace", 1 / 0.9) for labels in sides]
        yield mechanism, Neighbours(records, other, "replace_one"), *two, ROUNDING, False
    pair = mechanism.worst_case()
    two = [winner(tuple(list(pair.side(s)).count(c) for c in range(3)), "laplace", 1 / 0.9) for s in (0, 1)]
    yield mechanism, pair, *two, ROUNDING, True


def pate():
    """One record a teacher, whose label is its vote on both queries."""
    for base, noise, scale in ((LNMax(0.9, **FEW), "laplace", 1 / 0.9), (GNMax(2.0, **FEW), "gaussian", 2.0)):
        mechanism = PATE(base, view="labels")
        pair = mechanism.worst_case()
        two = [twice(winner(tuple(np.bincount(pair.side(s).y, minlength=3)), noise, scale)) for s in (0, 1)]
        yield mechanism, pair, *two, ROUNDING, True


CLAIMS = {
    "sample-and-aggregate": sample_and_aggregate,
    "pate": pate,
    "private-vote-epsilon": private_epsilon,
    "broken-votes-epsilon-of-votes": published,
    "lnmax": lambda: maxima(LNMax, "laplace", lambda rate: 1.0 / rate),
    "gnmax": lambda: maxima(GNMax, "gaussian", lambda deviation: deviation),
    "confident-gnmax": confident_with_and_without_limit,
    "interactive-gnmax": interactive,
    "broken-votes-abstention-not-accounted": lambda: confident(1, AbstentionNotAccounted),
    "broken-votes-check-without-noise": check_without_noise,
}
