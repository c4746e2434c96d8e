"""Properties of every bound on the scores of a pair."""

from dataclasses import replace
from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.audit import calls

from dpassay.audit.bounds.catalogue import build, catalogue
from dpassay.audit.bounds.families import family_of
from dpassay.audit.bounds.numerics.unconditional import Ordering
from dpassay.audit.bounds.pair.betting import Betting
from dpassay.audit.bounds.pair.family import Family
from dpassay.audit.bounds.pair.joint import JointExact
from dpassay.audit.evidence.scores import PairScores
from dpassay.mechanisms.accounting import GaussianDP
from dpassay.mechanisms.core import ParameterError

PAIR = [name for name in catalogue if catalogue.get(name).reads is PairScores]
VARIANTS = [
    Family(1.0, curve_family=family_of(GaussianDP(1.0))),
    Betting(1.0),
    Betting((0.5, 1.5), direction="both"),
    Betting(),
]


def at_one(name):
    """The bound of this name, with the threshold 1 if it has one."""
    return build(name, **({"threshold": 1.0} if "threshold" in signature(catalogue.get(name)).parameters else {}))


BOUNDS = [*VARIANTS, *(at_one(name) for name in PAIR if name not in {bound.name for bound in VARIANTS})]
every = pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: f"{bound.name}-{getattr(bound, 'threshold', '')}")
confidences = st.sampled_from([0.3, 0.5, 0.8, 0.95, 0.99, 1 - 1e-6, 1 - 1e-11])
deltas = st.sampled_from([1e-5, 0.01, 0.1, 0.3])


@st.composite
def samples(draw):
    """Rounded normal scores, with ties, of unequal sides."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n_out, n_in, shift = draw(st.integers(5, 120)), draw(st.integers(5, 120)), draw(st.sampled_from([0.0, 1.0, 4.0]))
    return PairScores(rng.normal(size=n_out).round(1), (rng.normal(size=n_in) + shift).round(1))


def rounding(bound, scores):
    """Return by how much a bound may break a relation: sums of the joint test are rounded by 0.02 standard errors."""
    if not isinstance(bound, JointExact):
        return 1e-3 if isinstance(bound, Family) else 1e-9
    out, in_ = scores.hits(1.0)
    return 0.02 * float(Ordering().spread(in_, out, scores.n_in, scores.n_out)) + 1e-5


@every
@settings(max_examples=8)
@given(scores=samples(), levels=st.tuples(confidences, confidences), between=st.tuples(deltas, deltas))
def test_bound_falls_with_confidence_and_delta_and_stays_below_the_ceiling(bound, scores, levels, between):
    (low, high), (few, many), room = sorted(levels), sorted(between), rounding(bound, scores)
    smallest = calls.lower_bound(bound, scores, delta=few, confidence=high)
    assert 0.0 <= smallest.epsilon <= smallest.ceiling + room
    assert smallest.epsilon <= calls.lower_bound(bound, scores, delta=few, confidence=low).epsilon + room
    if getattr(bound, "threshold", None) != "online":  # events that are learned depend on delta
        assert smallest.epsilon >= calls.lower_bound(bound, scores, delta=many, confidence=high).epsilon - room


@every
@settings(max_examples=8)
@given(scores=samples(), seed=st.integers(0, 1000))
def test_bound_depends_only_on_the_order_of_the_values(bound, scores, seed):
    """Doubling is exact in floating point; only a sequential bound reads the order of the runs."""
    level, rng = {"delta": 0.01, "confidence": 0.9}, np.random.default_rng(seed)
    reordered = (lambda side: side) if bound.anytime else rng.permutation
    doubled = PairScores(2 * reordered(scores.out), 2 * reordered(scores.in_))
    threshold = getattr(bound, "threshold", "online")
    other = bound if threshold == "online" else replace(bound, threshold=2 * np.asarray(threshold))
    plain, mapped = (calls.lower_bound(*pair, **level) for pair in ((bound, scores), (other, doubled)))
    assert (mapped.epsilon, mapped.hits) == (plain.epsilon, plain.hits)


@pytest.mark.parametrize("name", ["clopper-pearson", "joint-exact", "accountant-family", "betting"])
@pytest.mark.parametrize(("pilot", "counts"), [(None, "0 and 0"), (PairScores([], np.zeros(3)), "0 and 3")])
def test_pilot_without_scores_on_both_sides_is_refused(name, pilot, counts):
    with pytest.raises(ParameterError, match=f"needs pilot scores on both sides, but there are {counts}. Run pilot"):
        calls.fixed(build(name, threshold="pilot"), (5, 5), delta=0.0, confidence=0.95, pilot=pilot)
