"""Numbers without coverage: known values, slow twins, and that nothing takes them for a lower bound."""

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import integrate, stats
from tests.audit import calls

import dpassay.audit.results.estimates as estimates
from dpassay.audit import audit
from dpassay.audit.bounds.base import LowerBound
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.calibration.laws import laplace
from dpassay.audit.evidence.scores import PairCounts, PairScores, Tally
from dpassay.audit.evidence.verdict import judge
from dpassay.audit.results.estimates.base import Estimate
from dpassay.audit.results.estimates.bootstrap import Bins, _acceleration, _bca, _Ratio, plug_in
from dpassay.audit.results.estimates.katz import katz_log
from dpassay.audit.results.estimates.posterior import _Posterior, bayesian
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.core import ParameterError


def counts(k0, n0, k1, n1):
    return PairCounts(Tally(np.array([0.0, 1.0]), np.array([n0, k0]), np.array([n1, k1]), n0, n1))


def rng(seed=0):
    return np.random.default_rng(seed)


def laplace_scores(n=400, seed=1):
    return next(laplace(1.0).draws(rng(seed), n, n))


METHODS = {
    "bayesian": bayesian,
    "katz-log": katz_log,
    "plug-in": lambda scores, **options: plug_in(scores, rng=rng(), **options),
}
each_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


# --- another type than a lower bound ---------------------------------------------------------------------------------


@each_method
def test_estimate_is_labelled_and_is_no_lower_bound(method):
    estimate = method(counts(184, 1000, 500, 1000), threshold=1.0)
    assert isinstance(estimate, Estimate)
    assert not isinstance(estimate, LowerBound)
    assert estimate.label.startswith("no coverage: ")
    assert estimate.n_trials == 2000
    assert not {"epsilon", "confidence", "significance", "ceiling"} & set(dir(estimate))


@each_method
def test_estimate_is_not_accepted_where_a_lower_bound_is(method):
    estimate = method(counts(184, 1000, 500, 1000), threshold=1.0)
    with pytest.raises(TypeError):
        judge(bound=estimate, claim=1.0, ceiling=5.0)
    with pytest.raises(TypeError):
        float(estimate)
    result = replace(audit(Laplace(epsilon=1.0), trials=100, seed=0), bounds=(estimate,))
    for use in (lambda: result.bound, lambda: result.ceiling, result.summary):
        with pytest.raises(AttributeError):
            use()
    with pytest.raises(ParameterError, match="must be a name or a Bound"):
        audit(Laplace(epsilon=1.0), trials=100, seed=0, bound=[estimate])


def test_label_without_the_reason_is_refused():
    with pytest.raises(ParameterError, match=r'label must say why .* but is "?.fine'):
        Estimate(1.0, (0.5, 1.5), 0.95, 0.0, "katz-log", 10, "fine")


def test_catalogue_of_bounds_holds_no_estimate():
    from dpassay.audit.bounds.catalogue import catalogue

    assert not set(METHODS) & set(catalogue)
    assert {name for name in vars(estimates) if name[0] != "_" and callable(vars(estimates)[name])} == {
        "Estimate",
        "bayesian",
        "katz_log",
        "plug_in",
    }


# --- the posterior ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fn", "fp", "n", "expected", "digits"),
    # 5 % quantiles at delta 1e-5, by an independent implementation of the same posterior
    [(500, 184, 1000, 0.8797, 6e-5), (100, 37, 200, 0.7305, 6e-5), (0, 0, 1000, 7.207, 6e-4)],
)
def test_posterior_has_its_known_quantiles(fn, fp, n, expected, digits):
    estimate = bayesian(counts(fp, n, n - fn, n), threshold=1.0, delta=1e-5, level=0.9)
    assert estimate.interval[0] == pytest.approx(expected, abs=digits)


def test_the_prior_dominates_where_there_are_no_errors():
    scores = counts(0, 1000, 1000, 1000)
    exact = calls.ceiling(ClopperPearson(threshold=1.0), 1000, 1000, delta=1e-5, confidence=0.95)
    estimate = bayesian(scores, threshold=1.0, delta=1e-5, level=0.9)
    assert estimate.interval[0] > exact
    assert "prior" in estimate.label
    assert bayesian(scores, threshold=1.0, level=1 - 1e-9).interval[1] > 40.0  # no cap


@cache
def rates_of(a, b, c, d, size=400_000):
    """Samples of the two error rates."""
    return rng(5).beta(a, b, size), rng(6).beta(c, d, size)


def allowed_mass_by_sampling(posterior, epsilon):
    x, y = rates_of(posterior.a, posterior.b, posterior.c, posterior.d)
    e, d = math.exp(epsilon), posterior.delta
    low = np.maximum(0, np.maximum(1 - d - e * x, (1 - d - x) / e))
    high = np.minimum(1, np.minimum(e * (1 - x) + d, 1 - (x - d) / e))
    return np.mean((y >= low) & (y <= high))


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.1])
@pytest.mark.parametrize("errors", [(500.5, 500.5, 184.5, 816.5), (0.5, 20.5, 3.5, 17.5), (900.5, 0.5, 0.5, 30.5)])
@pytest.mark.parametrize("epsilon", [0.05, 0.9, 1.1, 3.0])
def test_mass_is_that_of_samples(errors, delta, epsilon):
    posterior = _Posterior(*errors, delta)
    sampled = allowed_mass_by_sampling(posterior, epsilon)
    assert posterior.mass(epsilon) == pytest.approx(sampled, abs=5 * 0.5 / math.sqrt(400_000))


@pytest.mark.parametrize(
    ("errors", "epsilon"),
    [
        pytest.param(errors, epsilon, marks=[] if i == j else pytest.mark.slow)
        for i, errors in enumerate([(500.5, 500.5, 184.5, 816.5), (0.5, 20.5, 3.5, 17.5), (3.5, 1e5, 2e4, 8e4)])
        for j, epsilon in enumerate([1.0, 0.3, 4.0])
    ],
)
def test_mass_agrees_with_an_adaptive_integral(errors, epsilon):
    posterior = _Posterior(*errors, 1e-3)
    x, y = stats.beta(*errors[:2]), stats.beta(*errors[2:])
    e, d = math.exp(epsilon), posterior.delta

    def inside(u):  # over quantiles of x
        at = x.ppf(u)
        low = max(0, 1 - d - e * at, (1 - d - at) / e)
        high = min(1, e * (1 - at) + d, 1 - (at - d) / e)
        return max(0.0, y.cdf(high) - y.cdf(low))

    cuts = np.concatenate(
        [np.geomspace(1e-12, 1e-2, 15), np.linspace(0.02, 0.98, 40), 1 - np.geomspace(1e-2, 1e-12, 15)]
    )
    expected = sum(integrate.quad(inside, a, b, limit=200)[0] for a, b in itertools.pairwise(cuts))
    assert posterior.mass(epsilon) == pytest.approx(expected, abs=1e-7)


@given(k0=st.integers(0, 50), k1=st.integers(0, 50), delta=st.sampled_from([0.0, 1e-5, 0.1]))
def test_mass_grows_with_epsilon_and_fills_everything(k0, k1, delta):
    posterior = _Posterior(50 - k1 + 0.5, k1 + 0.5, k0 + 0.5, 50 - k0 + 0.5, delta)
    estimate = [posterior.mass(e) for e in (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 60.0)]
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(estimate))
    assert estimate[-1] == pytest.approx(1.0, abs=1e-8)


@settings(max_examples=12)
@given(k0=st.integers(0, 60), k1=st.integers(0, 40), delta=st.sampled_from([0.0, 0.05]))
def test_posterior_does_not_care_which_side_is_which(k0, k1, delta):
    plain = bayesian(counts(k0, 60, k1, 40), threshold=1.0, delta=delta)
    swapped = bayesian(counts(40 - k1, 40, 60 - k0, 60), threshold=1.0, delta=delta)
    assert swapped.value == pytest.approx(plain.value, abs=1e-6)
    assert swapped.interval == pytest.approx(plain.interval, abs=1e-6)


# --- the logarithm of a ratio ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "expected"),
    # z = 1.644854 and 1.959964; with z rounded to 1.6449 the first is .878409
    [(0.9, 0.878412), (0.95, 0.855182)],
)
def test_katz_has_its_known_values(level, expected):
    estimate = katz_log(counts(184, 1000, 500, 1000), threshold=1.0, level=level)
    assert estimate.interval[0] == pytest.approx(expected, abs=1e-6)
    assert estimate.value == pytest.approx(math.log(500 / 184))


def test_katz_with_z_of_the_tables_has_the_value_of_the_tables():
    level = 2 * stats.norm.cdf(1.6449) - 1
    estimate = katz_log(counts(184, 1000, 500, 1000), threshold=1.0, level=level)
    assert estimate.interval[0] == pytest.approx(0.878409, abs=6e-7)


def test_katz_takes_the_complement_where_its_ratio_is_larger():
    estimate = katz_log(counts(500, 1000, 816, 1000), threshold=1.0)
    assert estimate.value == pytest.approx(math.log(500 / 184))


@pytest.mark.parametrize("hits", [(0, 100, 100, 100), (0, 100, 10, 100), (90, 100, 100, 100)])
def test_katz_has_no_value_at_zero_hits(hits):
    with pytest.raises(ParameterError, match="with a 0 the logarithm is undefined"):
        katz_log(counts(*hits), threshold=1.0)


def test_katz_of_an_event_that_never_or_always_happens_is_zero():
    for k in (0, 100):
        assert katz_log(counts(k, 100, k, 100), threshold=1.0).interval == (0.0, 0.0)


def test_katz_at_delta_is_the_delta_method():
    estimate = katz_log(counts(184, 1000, 500, 1000), threshold=1.0, delta=0.05, level=0.9)
    p, q = 0.5, 0.184
    deviation = math.sqrt(p * (1 - p) / (1000 * (p - 0.05) ** 2) + (1 - q) / (1000 * q))
    assert estimate.interval[1] == pytest.approx(math.log(0.45 / q) + 1.644854 * deviation, abs=1e-6)


# --- observed rates, resampled ---------------------------------------------------------------------------------------


def largest_ratio(scores, delta, least):
    """The statistic, threshold by threshold."""
    best = 0.0
    for t in np.unique(np.concatenate([scores.out, scores.in_])):
        k0, k1 = scores.hits(t)
        m0, m1 = scores.n_out - k0, scores.n_in - k1
        for a, n_a, b, n_b in ((k1, scores.n_in, k0, scores.n_out), (m0, scores.n_out, m1, scores.n_in)):
            if min(a, b) >= least and a / n_a > delta:
                best = max(best, math.log((a / n_a - delta) / (b / n_b)))
    return best


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(5))
def test_value_is_the_largest_ratio_of_all_thresholds(seed, delta):
    scores = laplace_scores(100, seed)
    estimate = plug_in(scores, rng=rng(), delta=delta, minimum_hits=5)
    assert estimate.value == pytest.approx(largest_ratio(scores, delta, 5), rel=1e-12)


def test_acceleration_is_that_of_leaving_out_each_score():
    scores = PairScores(np.round(laplace_scores(40).out, 1), np.round(laplace_scores(30, 2).in_, 1))
    seen = Bins.of(scores, None)
    ratio = _Ratio(seen, 0.0, 5)

    def without(side, i):
        sides = [scores.out, scores.in_]
        sides[side] = np.delete(sides[side], i)
        hits = [[np.count_nonzero(s >= t) for t in scores.tally.thresholds] for s in sides]
        return float(ratio(np.array(hits[0]), np.array(hits[1]), len(sides[0]), len(sides[1])))

    cube = square = 0.0
    for side, n in enumerate((scores.n_out, scores.n_in)):
        left = np.array([without(side, i) for i in range(n)])
        influence = (n - 1) * (left.mean() - left)
        cube, square = cube + np.sum(influence**3) / n**3, square + np.sum(influence**2) / n**2
    assert _acceleration(seen, ratio) == pytest.approx(cube / 6 / square**1.5, rel=1e-9)


@pytest.mark.parametrize("interval", ["bca", "percentile"])
def test_interval_of_one_event_is_that_of_scipy(interval):
    scores = counts(90, 600, 300, 700)
    out, in_ = np.repeat([0, 1], [510, 90]), np.repeat([0, 1], [400, 300])
    expected = stats.bootstrap(
        (out, in_),
        lambda a, b, axis: np.log(b.mean(axis=axis) / a.mean(axis=axis)),
        n_resamples=4000,
        method="BCa" if interval == "bca" else "percentile",
        rng=rng(3),
    ).confidence_interval
    estimate = plug_in(scores, rng=rng(4), threshold=1.0, interval=interval, resamples=4000)
    assert estimate.interval == pytest.approx((expected.low, expected.high), abs=0.02)


def test_ties_of_the_resamples_with_the_value_are_no_bias():
    ends = np.array([0.1, 0.9])
    assert _bca(ends, 0.0, np.array([-1.0, 0.0, 0.0, 1.0]), 0.0) == pytest.approx(ends)


def test_resamples_have_the_observed_rates_on_average():
    seen = Bins.of(laplace_scores(300), None)
    out, in_ = seen.resampled(rng(), 4000)
    np.testing.assert_allclose(out.mean(axis=0), seen.hits_out, atol=1.2)
    np.testing.assert_allclose(in_.mean(axis=0), seen.hits_in, atol=1.2)
    assert np.all(np.diff(out, axis=1) <= 0)


def test_best_of_many_thresholds_is_labelled_and_above_the_truth():
    values = [plug_in(laplace_scores(1000, seed), rng=rng(seed), resamples=100).value for seed in range(60)]
    assert np.mean(np.array(values) > 1.0) > 0.9
    estimate = plug_in(laplace_scores(1000), rng=rng())
    assert "best of 256 thresholds, chosen on the scores" in estimate.label
    assert "fixed beforehand" in plug_in(laplace_scores(), rng=rng(), threshold=0.5).label


def test_same_generator_gives_the_same_interval_and_another_another():
    first, second = (plug_in(laplace_scores(), rng=rng(7)) for _ in range(2))
    assert first == second
    assert plug_in(laplace_scores(), rng=rng(8)).interval != first.interval


def test_sides_alike_give_a_small_estimate_and_no_warning():
    estimate = plug_in(PairScores(np.arange(200.0), np.arange(200.0)), rng=rng())
    assert estimate.value == 0.0
    assert estimate.interval[0] <= estimate.interval[1] < math.inf
    same = plug_in(counts(100, 200, 100, 200), rng=rng(), threshold=0.0)
    assert same.interval == (0.0, 0.0)


@pytest.mark.parametrize("delta", [0.0, 0.4])
def test_few_hits_give_a_wide_interval_and_no_warning(delta):
    estimate = plug_in(counts(2, 50, 25, 50), rng=rng(), threshold=1.0, minimum_hits=2, delta=delta)
    assert 0.0 <= estimate.interval[0] <= estimate.interval[1]


# --- properties of all ------------------------------------------------------------------------------------------------


@each_method
@settings(max_examples=8)
@given(seed=st.integers(0, 200))
def test_estimates_ignore_the_order_and_increasing_maps_of_the_scores(method, seed):
    scores = laplace_scores(60, seed)
    mapped = PairScores(np.exp(rng(seed).permutation(scores.out)), np.exp(rng(seed).permutation(scores.in_)))
    options = {"minimum_hits": 2} if method is METHODS["plug-in"] else {}
    assert method(scores, threshold=0.5, **options) == method(mapped, threshold=math.exp(0.5), **options)


@each_method
def test_interval_widens_with_its_level_and_falls_with_delta(method):
    scores = counts(184, 1000, 500, 1000)
    intervals = [method(scores, threshold=1.0, level=level).interval for level in (0.5, 0.8, 0.95, 0.999)]
    assert all(a[0] >= b[0] and a[1] <= b[1] for a, b in itertools.pairwise(intervals))
    values = [method(scores, threshold=1.0, delta=delta).value for delta in (0.0, 1e-3, 0.1, 0.3)]
    assert values == sorted(values, reverse=True)


@each_method
def test_wrong_input_is_named(method):
    with pytest.raises(ParameterError, match="delta"):
        method(counts(1, 5, 2, 5), threshold=1.0, delta=1.0)
    with pytest.raises(ParameterError, match=r"confidence|level"):
        method(counts(1, 5, 2, 5), threshold=1.0, level=1.0)
    with pytest.raises(ParameterError, match="scores on both sides, but there are 0 and 3"):
        method(PairScores(np.empty(0), np.zeros(3)), threshold=0.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": "bootstrap-t"}, "unknown interval 'bootstrap-t'"),
        ({"resamples": 10}, "resamples must be a whole number >= 100, but is 10"),
        ({"minimum_hits": 1}, "minimum_hits must be a whole number >= 2, but is 1"),
        ({"minimum_hits": 300}, "minimum_hits = 300 exceeds the hits of every event"),
    ],
)
def test_wrong_options_of_the_bootstrap_are_named(options, message):
    with pytest.raises(ParameterError, match=message):
        plug_in(laplace_scores(200), rng=rng(), **options)
