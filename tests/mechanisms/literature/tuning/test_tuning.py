"""The best of a random number of runs: laws of the number, what it costs, and what a fixed number really costs."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpassay.audit import Verdict, audit
from dpassay.mechanisms import ConcentratedDP, GaussianDP, Laplace, Outputs, PureDP, RenyiDP
from dpassay.mechanisms.combinators import PostProcessed
from dpassay.mechanisms.core import AccountingError, ParameterError
from dpassay.mechanisms.literature.tuning import (
    BestOfRepetitions,
    FirstGoodEnough,
    NegativeBinomialRepetitions,
    NoisyCandidate,
    PoissonRepetitions,
    RandomMechanism,
)
from dpassay.mechanisms.literature.tuning.broken import BestOfK

FALSE_ALARM = 1e-6
LAWS = [
    NegativeBinomialRepetitions(1.0, 0.1),
    NegativeBinomialRepetitions(0.0, 0.05),
    NegativeBinomialRepetitions(2.5, 0.3),
    NegativeBinomialRepetitions(-0.5, 0.1),
    PoissonRepetitions(4.0),
]


def masses(law, most=400):
    """P[K = 0], P[K = 1], ..., from the definitions."""
    k = np.arange(most)
    if isinstance(law, PoissonRepetitions):
        return stats.poisson.pmf(k, law.expected)
    if law.shape == 0.0:
        return stats.logser.pmf(k, 1.0 - law.stopping)
    steps = [
        (1.0 - law.stopping) ** n * math.prod((i + law.shape) / (i + 1.0) for i in range(n)) for n in range(1, most)
    ]
    return np.append(0.0, np.array(steps) / (law.stopping**-law.shape - 1.0))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_number_of_runs_has_its_law_and_its_mean(law):
    known = masses(law)
    assert known.sum() == pytest.approx(1.0, abs=1e-9)
    assert law.mean == pytest.approx(known @ np.arange(len(known)), rel=1e-8)
    assert law.none == pytest.approx(known[0], abs=1e-12)
    drawn = np.minimum(law.draw(20_000, np.random.default_rng(1)), 12)
    expected = 20_000 * np.append(known[:12], known[12:].sum())
    counts = np.bincount(drawn, minlength=13)
    assert not counts[expected == 0].any()
    assert stats.chisquare(counts[expected > 0], expected[expected > 0]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_weight_of_the_best_run_is_the_derivative_of_the_pgf(law):
    known, t = masses(law), np.array([0.0, 0.3, 0.9, 0.99])
    derivative = [known @ (np.arange(len(known)) * x ** np.maximum(np.arange(len(known)) - 1.0, 0.0)) for x in t]
    np.testing.assert_allclose(np.exp(law.log_weight(1.0 - t)), derivative, rtol=2e-3)


def test_pure_claims_are_two_three_and_more_times_that_of_one_run():
    assert NegativeBinomialRepetitions(0.0, 0.01).guarantee(PureDP(0.5)).epsilon(0.0) == 1.0
    assert NegativeBinomialRepetitions(1.0, 0.01).guarantee(PureDP(0.5)).epsilon(0.0) == 1.5
    assert NegativeBinomialRepetitions(-0.5, 0.01).guarantee(PureDP(0.5)).epsilon(0.0) == 0.75
    assert FirstGoodEnough(epsilon=0.5).guarantee().epsilon(0.0) == 1.0


def test_many_candidates_and_rare_stops_come_near_the_pure_claims():
    three = BestOfRepetitions(NoisyCandidate(1.0, 400), repetitions=NegativeBinomialRepetitions(1.0, 1e-3))
    two = FirstGoodEnough(NoisyCandidate(1.0, 400), stopping=1e-4)
    assert 2.95 < three.exact_guarantee().epsilon(0.0) <= 3.0
    assert 1.95 < two.exact_guarantee().epsilon(0.0) <= 2.0


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_renyi_claim_is_above_the_exact_divergence(law):
    """Densities of the best of Gaussian runs, on a fine grid, on the worst case and on one candidate that moves."""
    mechanism = BestOfRepetitions(NoisyCandidate(0.6, 3, noise="gaussian"), repetitions=law)
    claim = mechanism.guarantee()
    assert isinstance(claim, RenyiDP)
    scores = np.linspace(-12.0, 12.0, 4001)
    pair = mechanism.worst_case()
    for d0, d1 in ((pair.d0, pair.d1), (pair.d1, pair.d0), (np.zeros(3), np.ones(3)), (np.ones(3), np.zeros(3))):
        p, q = (
            np.array([mechanism.log_density(Outputs(np.column_stack([np.full(4001, c), scores])), d) for c in range(3)])
            for d in (d1, d0)
        )
        for order in (2.0, 5.0, 20.0):
            moment = integrate.trapezoid(np.exp(order * p + (1.0 - order) * q), scores).sum() + law.none
            exact = math.log(moment) / (order - 1.0)
            assert 0.0 < exact < claim.divergences[claim.orders.index(order)]


@pytest.mark.parametrize(("shape", "stopping"), [(1.0, 0.1), (0.0, 0.05), (2.5, 0.3)])
def test_claim_of_gaussian_runs_is_that_of_the_theorem(shape, stopping):
    """Theorem 2 of Papernot and Steinke (2022), with divergences order mu^2 / 2: its best second order is
    sqrt(2 ln(1 / stopping)) / mu, which costs (1 + shape) (mu sqrt(2 ln(1 / stopping)) - mu^2 / 2)."""
    mu, law = 0.3, NegativeBinomialRepetitions(shape, stopping)
    claim = law.guarantee(GaussianDP(mu))
    again = (1.0 + shape) * (mu * math.sqrt(2.0 * math.log(1.0 / stopping)) - mu**2 / 2.0)
    for order in (2.0, 8.0, 64.0):
        result = claim.divergences[claim.orders.index(order)]
        assert result == pytest.approx(order * mu**2 / 2.0 + again + math.log(law.mean) / (order - 1.0), rel=1e-3)


def test_claim_of_a_poisson_number_of_gaussian_runs_is_that_of_the_theorem():
    """Theorem 6: the mean times the delta of one run at ln(1 + 1 / (order - 1)), in closed form, comes on top."""
    mu = 0.3
    claim = PoissonRepetitions(10.0).guarantee(GaussianDP(mu))
    for order in (2.0, 5.0, 20.0):
        t = math.log1p(1.0 / (order - 1.0))
        delta = stats.norm.cdf(mu / 2.0 - t / mu) - math.exp(t) * stats.norm.cdf(-mu / 2.0 - t / mu)
        known = order * mu**2 / 2.0 + 10.0 * delta + math.log(10.0) / (order - 1.0)
        assert claim.divergences[claim.orders.index(order)] == pytest.approx(known, rel=1e-9)


def test_renyi_claims_do_not_grow_with_the_mean_beyond_a_logarithm():
    once = GaussianDP(0.3)
    few, many = (NegativeBinomialRepetitions(0.0, g).guarantee(once).epsilon(1e-5) for g in (0.1, 1e-4))
    assert once.epsilon(1e-5) < few < many < 4.0 * once.epsilon(1e-5)
    assert PoissonRepetitions(30.0).guarantee(ConcentratedDP(0.02)).epsilon(1e-5) < 30.0 * once.epsilon(1e-5) / 4.0


def test_sorting_finds_the_best_and_ties_ignore_the_order_of_runs():
    mechanism = BestOfRepetitions(NoisyCandidate(1.0, 6), repetitions=PoissonRepetitions(2.0))
    outputs = mechanism.release(np.arange(6.0), 2_000, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    times = PoissonRepetitions(2.0).draw(2_000, rng)
    runs = NoisyCandidate(1.0, 6).release(np.arange(6.0), times.sum(), rng).values
    start = 0
    for i, n in enumerate(times):
        part = runs[start : start + n]
        start += n
        assert (outputs.events[i] == "no run") == (n == 0)
        if n:
            np.testing.assert_array_equal(outputs.values[i], part[part[:, 1].argmax()])


def test_best_of_twenty_runs_is_detected_but_a_random_number_is_not(without_power):
    broken = audit(BestOfK(epsilon=0.3, k=20), trials=40_000, confidence=0.9999, seed=0)
    assert broken.verdict is Verdict.VIOLATION
    assert broken.bound.epsilon > 0.7
    for mechanism in (
        BestOfRepetitions(epsilon=0.3, repetitions=NegativeBinomialRepetitions(1.0, 0.05)),
        FirstGoodEnough(epsilon=0.3),
    ):
        assert audit(mechanism, trials=10_000, confidence=0.9999, seed=0).verdict is Verdict.CONSISTENT


def test_private_trainings_of_any_kind_are_tuned_by_a_public_score():
    trials = RandomMechanism(
        (Laplace(0.5, sensitivity=1.0), Laplace(0.2, sensitivity=1.0)), score=lambda y: -abs(y - 3.0)
    )
    mechanism = BestOfRepetitions(trials)
    assert mechanism.guarantee().epsilon(0.0) == 1.5
    assert mechanism.output_law() is None
    values = mechanism.release(3.0, 500, np.random.default_rng(0)).values
    assert values.shape == (500, 3)
    np.testing.assert_allclose(values[:, 2], -abs(values[:, 1] - 3.0))
    assert np.median(values[:, 2]) > np.median(trials.release(3.0, 500, np.random.default_rng(0)).values[:, 2])


def test_the_first_good_training_is_published_and_zero_runs_keep_the_shape():
    trials = RandomMechanism((Laplace(0.5), Laplace(0.2)), score=lambda y: -abs(y - 3.0))
    assert trials.release(3.0, 0, np.random.default_rng(0)).values.shape == (0, 3)
    outputs = FirstGoodEnough(trials, threshold=-0.5).release(3.0, 200, np.random.default_rng(1))
    ordinary = np.ones(200, dtype=bool) if outputs.events is None else outputs.events == ""
    assert ordinary.sum() > 150
    assert (abs(outputs.values[ordinary, 1] - 3.0) <= 0.5).all()


def test_what_is_no_training_or_no_score_is_refused():
    with pytest.raises(ParameterError, match="one is 3"):
        RandomMechanism((Laplace(1.0), 3), score=len)
    with pytest.raises(ParameterError, match=r"shape \(5,\), but gave shape \(2,\)"):
        RandomMechanism((Laplace(1.0),), score=lambda y: y[:2]).release(0.0, 5, np.random.default_rng(0))
    twice = PostProcessed(Laplace(1.0), lambda y: np.stack([y, y], axis=1))
    two = RandomMechanism((Laplace(1.0), twice), score=lambda y: np.zeros(len(y)))
    with pytest.raises(ParameterError, match="outputs of one shape"):
        two.release(0.0, 50, np.random.default_rng(0))


def test_options_out_of_range_are_refused_with_the_way_out():
    with pytest.raises(ParameterError, match="shape must be > -1"):
        NegativeBinomialRepetitions(shape=-1.0)
    with pytest.raises(ParameterError, match=r"shape must be at most 261 with stopping = 0\.1"):
        NegativeBinomialRepetitions(shape=400.0)
    with pytest.raises(ParameterError, match="expected must be >= 1"):
        PoissonRepetitions(0.5)
    with pytest.raises(ParameterError, match="outputs end with a score"):
        BestOfRepetitions(Laplace(1.0))
    with pytest.raises(ParameterError, match="Use BestOfRepetitions"):
        FirstGoodEnough(NoisyCandidate(1.0, 3, noise="gaussian"))
    with pytest.raises(AccountingError, match="no pure guarantee"):
        PoissonRepetitions(3.0).guarantee(RenyiDP((math.inf,), (1.0,)))
