"""Laws of the noisy votes of teachers that are drawn for each label."""

from itertools import product

from scipy import stats
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.claims import case

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.pate import TeacherVotes
from dpassay.mechanisms.literature.pate.broken import SamePartForAll, TeachersKept, VoteScaleInverse


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


CLAIMS = {
    "teacher-votes": lambda: votes(TeacherVotes, first_of_each, lambda rate: 1 / rate),
    "broken-votes-same-part": lambda: votes(SamePartForAll, lambda y, k: k * y[k - 1], lambda rate: 1 / rate),
    "broken-votes-teachers-kept": teachers_kept,
    "broken-votes-scale": lambda: votes(VoteScaleInverse, first_of_each, lambda rate: rate),
}
