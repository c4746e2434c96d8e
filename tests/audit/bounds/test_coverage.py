"""Coverage of the bounds on laws with a known exact curve; broken twins are detected.

False alarms: 1e-6 a test. At significance 0.2 a missing correction shows best.
"""

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats
from tests.audit import calls
from tests.audit.coverage import Coverage, count_misses

from dpassay.audit.bounds.base import LowerBound, PairBound
from dpassay.audit.bounds.numerics.rectangle import Rectangle
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.bounds.pair.simultaneous import SimultaneousBand
from dpassay.audit.calibration.laws import (
    FiniteLaw,
    all_equal,
    gaussian,
    geometric,
    laplace,
    laplace_ratio,
    randomized_response,
)
from dpassay.audit.evidence.scores import PairCounts, PairScores, Tally

LAWS = [
    (randomized_response(1.0), 0.0),
    (randomized_response(0.3), 0.0),
    (randomized_response(1.0, 0.1), 0.1),
    (geometric(0.7), 0.0),
    (geometric(0.7), 0.05),
    (laplace(1.0), 0.0),
    (laplace_ratio(0.5), 0.0),
    (gaussian(1.0), 0.1),
    (all_equal(), 0.0),
]
SIZES = [(60, 60), (8, 120)]


def label(value):
    return f"{value[0].name}, delta {value[1]}".replace(", ", "-").replace(" ", "-")


def rates(law):
    """Return the exact rates at which each side reaches each threshold, `(m,)` and `(m,)`."""
    if isinstance(law, FiniteLaw):
        return tuple(np.cumsum(side[::-1])[::-1].clip(0.0, 1.0) for side in (law.p_out, law.p_in))
    noise = {"laplace, epsilon 1": stats.laplace, "gaussian, mu 1": stats.norm}[law.name]
    return tuple(noise.sf(np.linspace(-6.0, 7.0, 261), place) for place in (0, 1))


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("law", [law for law in LAWS if "ratio" not in law[0].name], ids=label)
@pytest.mark.parametrize("sizes", [*SIZES, (1, 1), (250, 90)], ids=str)
def test_bound_keeps_its_level_exactly_at_any_threshold(sizes, law, confidence):
    """Summed over all counts, without a margin; a threshold from pilot scores is one of these, whichever it is."""
    law, delta = law
    n_out, n_in = sizes
    hits = np.arange(n_out + 1)[:, None], np.arange(n_in + 1)
    fixed = calls.fixed(ClopperPearson(threshold=1.0), sizes, delta=delta, confidence=confidence)
    bounds = fixed._limits(hits, n_out, n_in).epsilon_lower(delta)
    for k_out, k_in in ((0, n_in), (n_out // 3, n_in // 2), (n_out, 0)):
        event = Tally(np.array([0.0, 1.0]), np.array([n_out, k_out]), np.array([n_in, k_in]), n_out, n_in)
        assert bounds[k_out, k_in] == fixed.lower_bound(PairCounts(event)).epsilon
    missed = (bounds > law.curve.epsilon(delta) * (1 + 1e-12)).astype(float)
    out, in_ = (stats.binom.pmf(np.arange(n + 1), n, p[:, None]) for n, p in zip(sizes, rates(law), strict=True))
    assert ((out @ missed) * in_).sum(axis=1).max() <= 1 - confidence


@pytest.mark.parametrize("law", LAWS, ids=label)
@pytest.mark.parametrize(
    ("bound", "n_pilot"),
    [(SimultaneousBand(), 0), (ClopperPearson(), 50)],
    ids=["simultaneous-band", "clopper-pearson"],
)
def test_bound_never_exceeds_exact_epsilon_more_often_than_it_may(bound, n_pilot, law):
    level = {"confidence": 0.8, "delta": law[1], "n_pilot": n_pilot}
    coverages = [
        count_misses(bound, law[0], repeats=120, n_out=n_out, n_in=n_in, seed=seed, **level)
        for seed, (n_out, n_in) in enumerate(SIZES)
    ]
    assert all(one.holds for one in coverages), coverages


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("law", LAWS, ids=label)
@pytest.mark.parametrize(
    ("bound", "n_pilot"),
    [(SimultaneousBand(), 0), (ClopperPearson(), 200)],
    ids=["simultaneous-band", "clopper-pearson"],
)
def test_bound_never_exceeds_exact_epsilon_in_long_runs(bound, n_pilot, law, confidence):
    sizes = {"n_out": 1000, "n_in": 1000}
    coverage = count_misses(
        bound, law[0], repeats=4000, **sizes, confidence=confidence, seed=99, delta=law[1], n_pilot=n_pilot
    )
    assert coverage.holds, coverage


# --- broken twins: the same harness has to catch them ----------------------------------------------------------------


class _Twin(calls.Own, PairBound):
    """An intentionally broken bound."""

    name: ClassVar[str] = "twin"

    def epsilon(self, scores, delta, significance):
        raise NotImplementedError

    def lower_bound_at(self, scores, *, delta, confidence):
        result = float(np.max(self.epsilon(scores, delta, 1 - confidence)))
        return LowerBound(result, delta, confidence, self.name, scores.n_out + scores.n_in, math.inf)


def limits(tally, significance, **changes):
    fields = {"n_out": tally.n_out, "n_in": tally.n_in, "significance": significance / 2} | changes
    return Rectangle.at(tally.hits_out, tally.hits_in, **fields)


class _BestThreshold(_Twin):
    """Bug: the largest bound over all thresholds, each at the full level."""

    def epsilon(self, scores, delta, significance):
        return limits(scores.tally, significance).epsilon_lower(delta)


class _PlugIn(_Twin):
    """Bug: the observed rates, without limits."""

    def epsilon(self, scores, delta, significance):
        return limits(scores.tally, 1 - 1e-9).epsilon_lower(delta)


class _ForgetsDelta(_Twin):
    """Bug: the bound is computed at delta 0 for every delta."""

    def lower_bound_at(self, scores, *, delta, confidence):
        return replace(calls.lower_bound(SimultaneousBand(), scores, delta=0.0, confidence=confidence), delta=delta)


class _MixesTies(_Twin):
    """Bug: side 0 is counted above each threshold, and side 1 at or above it."""

    def epsilon(self, scores, delta, significance):
        tally = scores.tally
        above = np.append(tally.hits_out[1:], 0)
        return limits(replace(tally, hits_out=above), significance / 100).epsilon_lower(delta)


class _OneSize(_Twin):
    """Bug: both sides have the size of the larger side."""

    def epsilon(self, scores, delta, significance):
        return limits(scores.tally, significance / 100, n_out=max(scores.n_out, scores.n_in)).epsilon_lower(delta)


@pytest.mark.parametrize(
    ("twin", "law", "delta", "sizes", "confidence"),
    [
        (_BestThreshold(), laplace(1.0), 0.0, (400, 400), 0.8),
        (_PlugIn(), randomized_response(1.0), 0.0, (120, 120), 0.8),
        (_PlugIn(), laplace_ratio(0.5), 0.0, (120, 120), 0.95),
        (_ForgetsDelta(), randomized_response(1.0, 0.1), 0.1, (400, 400), 0.95),
        (_ForgetsDelta(), gaussian(1.0), 0.3, (100, 100), 0.95),
        (_MixesTies(), geometric(0.7), 0.0, (120, 120), 0.95),
        (_MixesTies(), all_equal(), 0.0, (120, 120), 0.95),
        (_OneSize(), randomized_response(0.3), 0.0, (15, 300), 0.95),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, _Twin) else None,
)
def test_broken_twin_is_caught(twin, law, delta, sizes, confidence):
    coverage = count_misses(
        twin, law, repeats=300, n_out=sizes[0], n_in=sizes[1], confidence=confidence, seed=5, delta=delta
    )
    assert not coverage.holds, coverage


# --- the harness itself ----------------------------------------------------------------------------------------------


def test_allowed_misses_have_a_false_alarm_rate_of_one_in_a_million():
    coverage = Coverage("b", "l", 1.0, repeats=2000, misses=0, significance=0.2, mean=0.0)
    assert 475 < coverage.allowed < 495  # 400 and 4.75 standard deviations of 17.9
    assert replace(coverage, misses=coverage.allowed).holds
    assert not replace(coverage, misses=coverage.allowed + 1).holds


@pytest.mark.parametrize(
    ("law", "delta"), [(randomized_response(1.0, 0.1), 0.1), (geometric(0.7), 0.0), (laplace(1.0), 0.0)]
)
def test_laws_know_their_exact_epsilon(law, delta):
    assert law.curve.epsilon(delta) == pytest.approx(0.7 if "geometric" in law.name else 1.0, rel=1e-9)


def test_laws_draw_from_what_they_state():
    rng = np.random.default_rng(1)
    law = geometric(0.7)
    drawn = next(law.draws(rng, 200_000, 200_000)).tally
    np.testing.assert_allclose(drawn.hits_out / 200_000, np.cumsum(law.p_out[::-1])[::-1], atol=0.006)
    np.testing.assert_allclose(drawn.hits_in / 200_000, np.cumsum(law.p_in[::-1])[::-1], atol=0.006)
    assert law.p_out.sum() == pytest.approx(1, abs=1e-14)
    scores = next(laplace_ratio(1.0).draws(rng, 100_000, 100_000))
    assert isinstance(scores, PairScores)
    assert np.mean(scores.in_ == 1.0) == pytest.approx(0.5, abs=0.01)
    assert np.mean(scores.out == 1.0) == pytest.approx(0.5 / math.e, abs=0.01)


def test_same_seed_gives_the_same_misses_and_pilots_are_not_the_evaluation():
    question = {"repeats": 50, "n_out": 40, "n_in": 40, "confidence": 0.8, "n_pilot": 40}
    first, second = (count_misses(ClopperPearson(), laplace(1.0), seed=4, **question) for _ in range(2))
    assert first == second
    assert first.mean != count_misses(ClopperPearson(), laplace(1.0), seed=5, **question).mean
