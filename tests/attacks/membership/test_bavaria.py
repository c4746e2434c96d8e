"""BaVarIA: the predictive law, the prior fitted over records, and what it gains."""

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import polygamma
from tests.attacks.membership_laws import Z_ALARM, auc, gaussian, one_target, tpr_at

from dpassay.attacks.membership.likelihood_ratios import (
    BaVarIA,
    LiRA,
    _inverse_trigamma,
    _StudentT,
    _variance_prior,
)
from dpassay.attacks.membership.shadows import Shadows
from dpassay.mechanisms.core import AttackError, ParameterError


def predictive(values, m0, kappa, nu, scale2):
    """Student's t law of one more value, by the textbook update of a normal-inverse-gamma prior, value by value."""
    for value in values:
        scale2 = (nu * scale2 + kappa / (kappa + 1) * (value - m0) ** 2) / (nu + 1)
        m0, kappa, nu = (kappa * m0 + value) / (kappa + 1), kappa + 1, nu + 1
    return stats.t(nu, m0, np.sqrt(scale2 * (1 + 1 / kappa)))


def test_predictive_law_is_the_integral_over_mean_and_variance():
    values, (m0, kappa, nu, scale2) = np.array([0.3, 1.4, -0.2]), (0.5, 0.7, 3.0, 1.6)
    log_s2, mu = np.meshgrid(np.linspace(-8, 12, 401), np.linspace(-40, 40, 2_001), indexing="ij")
    s2 = np.exp(log_s2)

    def evidence(*more):
        prior = stats.invgamma.pdf(s2, nu / 2, scale=nu * scale2 / 2) * stats.norm.pdf(mu, m0, np.sqrt(s2 / kappa))
        return np.sum(s2 * prior * np.prod([stats.norm.pdf(v, mu, np.sqrt(s2)) for v in (*values, *more)], axis=0))

    expected = evidence(2.0) / evidence()
    assert predictive(values, m0, kappa, nu, scale2).pdf(2.0) == pytest.approx(expected, rel=1e-4)


def naive_prior(ins, outs):
    """Prior of the side `ins`: m0 of each record, kappa, nu and scale^2; `ins`, `outs`: values of each record."""
    x, y = (np.array([np.mean(v) for v in side]) for side in (outs, ins))
    slope, intercept = np.polyfit(x, y, 1)
    line = intercept + slope * x
    within = np.mean([np.var(v, ddof=1) for v in ins])
    between = np.mean((y - line) ** 2) - within / len(ins[0])
    d = len(ins[0]) - 1
    logs = np.log([np.var(v, ddof=1) for v in ins]) + np.log(d / 2) - polygamma(0, d / 2)
    excess = np.var(logs, ddof=1) - polygamma(1, d / 2)
    half = brentq(lambda h: polygamma(1, h) - excess, 1e-3, 1e6)
    return line, within / between, 2 * half, np.exp(logs.mean() + polygamma(0, half) - np.log(half))


def test_bavaria_equals_a_loop_over_targets_and_records():
    rng = np.random.default_rng(1)
    shadows = gaussian(12, 40, 1.5, rng, spread=3.0)
    sds = np.sqrt(1 / rng.gamma(2.0, size=40))  # records differ in their variance
    phi = shadows.signal("rescaled-logit") * sds
    shadows = Shadows(shadows.inclusion, shadows.y, {"rescaled-logit": phi}, partner=shadows.partner)
    scores = BaVarIA().score(shadows)
    for t in (0, 7):
        rest = [j for j in range(12) if j not in (t, t ^ 1)]
        ins, outs = ([phi[[j for j in rest if shadows.inclusion[j, x] == s], x] for x in range(40)] for s in (1, 0))
        prior_in, prior_out = naive_prior(ins, outs), naive_prior(outs, ins)
        for x in range(40):
            law_in, law_out = (predictive(v[x], p[0][x], *p[1:]) for v, p in ((ins, prior_in), (outs, prior_out)))
            expected = law_in.logpdf(phi[t, x]) - law_out.logpdf(phi[t, x])
            assert scores[t, x] == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("freedom", [0.5, 3.0, 40.0, 1e5, 1e9])
def test_laws_have_the_density_and_tail_of_student(freedom):
    law = _StudentT(*(np.array([v]) for v in (1.0, 4.0, freedom)))
    exact, points = stats.t(freedom, 1.0, 2.0), np.array([-3.0, 0.0, 1.0, 7.0, 30.0])
    constant = 0.5 * np.log(2 * np.pi) - 0.5 * np.log(2.0)
    np.testing.assert_allclose(law.log_density(points) - constant, exact.logpdf(points), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(law.log_surprise(points), -exact.logsf(points), rtol=1e-4)


def test_inverse_trigamma_inverts():
    x = np.geomspace(1e-4, 1e7, 30)
    np.testing.assert_allclose(_inverse_trigamma(polygamma(1, x)), x, rtol=1e-6)


@pytest.mark.parametrize(("nu", "scale2"), [(4.0, 2.0), (30.0, 0.1)])
def test_variance_prior_is_recovered_from_many_records(nu, scale2):
    """Each estimate is within 4.9 standard errors, which ten groups of records show."""
    rng, d = np.random.default_rng(2), 7
    variances = nu * scale2 / rng.chisquare(nu, size=(10, 4_000))
    sums = variances * rng.chisquare(d, size=variances.shape)
    freedom, scale = _variance_prior(sums, np.full(sums.shape, d + 1), 1e-300)
    for values, truth in ((1 / freedom, 1 / nu), (np.log(scale), np.log(scale2))):
        error = values.std(ddof=1) / np.sqrt(10)
        assert abs(values.mean() - truth) < stats.t.ppf(1 - 5e-7, 9) * error
        assert error < 0.02


def test_equal_variances_give_the_normal_law_with_the_pooled_variance():
    sums = np.full((1, 4_000), 7.0)  # all variances are 1: they differ less than by chance
    freedom, scale2 = _variance_prior(sums, np.full(sums.shape, 8), 1e-300)
    assert freedom[0, 0] > 1e6
    assert scale2[0, 0] == pytest.approx(np.exp(-polygamma(0, 3.5) + np.log(3.5)), rel=1e-3)


def test_bavaria_tends_to_lira_with_many_references():
    rng = np.random.default_rng(4)
    shadows = gaussian(600, 60, 1.0, rng, spread=3.0)
    phi = shadows.signal("rescaled-logit") / np.sqrt(rng.chisquare(2.0, size=60))
    shadows = Shadows(shadows.inclusion, shadows.y, {"rescaled-logit": phi}, partner=shadows.partner)
    ours, lira = BaVarIA().score(shadows), LiRA(variance="record").score(shadows)
    assert np.abs(ours - lira).mean() < 0.02
    assert np.corrcoef(ours.ravel(), lira.ravel())[0, 1] > 0.999


@pytest.mark.parametrize("n_models", [6, 10, 18])
def test_bavaria_detects_more_members_than_lira_with_few_references(n_models):
    """At 1 % FPR, over 20 tables; records differ in difficulty and in variance."""
    gains = []
    for seed in range(20):
        rng = np.random.default_rng([5, seed])
        shadows = gaussian(n_models, 1_000, 2.0, rng, spread=1.0)
        sds = np.sqrt(2.0 / rng.chisquare(4.0, size=1_000))
        phi = shadows.signal("rescaled-logit") * sds + 3.0 * rng.normal(size=1_000)
        shadows = Shadows(shadows.inclusion, shadows.y, {"rescaled-logit": phi}, partner=shadows.partner)
        rates = [tpr_at(a.score(shadows), shadows.inclusion, 0.01) for a in (BaVarIA(), LiRA(variance="global"))]
        rates.append(tpr_at(LiRA(variance="record").score(shadows), shadows.inclusion, 0.01))
        gains.append(rates[0] - np.array(rates[1:]))
    mean, error = np.mean(gains, axis=0), np.std(gains, axis=0, ddof=1) / np.sqrt(20)
    assert (mean > stats.t.ppf(1 - 1e-6, 19) * error).all()


@pytest.mark.parametrize("mode", ["online", "offline"])
@pytest.mark.parametrize("prior", ["regression", "flat"])
@pytest.mark.parametrize("predictive_law", ["student-t", "normal"])
def test_no_leak_has_auc_one_half(mode, prior, predictive_law):
    areas = []
    for seed in range(30):
        shadows = gaussian(8, 200, 0.0, np.random.default_rng([6, seed]), spread=2.0)
        attack = BaVarIA(mode=mode, prior=prior, predictive=predictive_law)
        areas.append(auc(attack.score(shadows), shadows.inclusion))
    assert abs(np.mean(areas) - 0.5) < Z_ALARM * 1.5 * np.std(areas, ddof=1) / np.sqrt(30)


def test_one_reference_a_side_is_enough_for_a_regression():
    shadows = gaussian(4, 2_000, 3.0, np.random.default_rng(7), spread=3.0)
    for mode in ("online", "offline"):
        scores = BaVarIA(mode=mode).score(shadows)
        assert np.isfinite(scores).all()
        assert auc(scores, shadows.inclusion) > 0.8


def test_records_without_references_have_no_score_and_no_warning():
    rng = np.random.default_rng(8)
    shadows = gaussian(5, 300, 1.0, rng, design="bernoulli")
    n_in = shadows.others(shadows.signal("rescaled-logit"), which="in").count
    assert ((n_in == 0) | (n_in == 4)).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(BaVarIA().score(shadows)).all()
        np.testing.assert_array_equal(np.isnan(BaVarIA(prior="flat").score(shadows)), (n_in == 0) | (n_in == 4))
        np.testing.assert_array_equal(np.isnan(BaVarIA(mode="offline").score(shadows)), n_in == 4)
        none_in = one_target(rng.normal(size=30), rng.normal(size=30), rng.normal(size=(3, 60)), name="rescaled-logit")
        assert np.isfinite(BaVarIA(mode="offline").score(none_in)[0]).all()


def test_constant_signals_give_finite_scores():
    inclusion = np.random.default_rng(9).random((8, 50)) < 0.5
    scores = BaVarIA(signal="correct").score(Shadows(inclusion, np.zeros(50), {"correct": np.ones((8, 50))}))
    assert not np.isinf(scores).any()


def test_wrong_options_are_refused():
    for options in ({"prior": "vague"}, {"predictive": "cauchy"}, {"mode": "both"}):
        with pytest.raises(ParameterError):
            BaVarIA(**options)
    with pytest.raises(AttackError, match="compares with 4 reference models or more"):
        BaVarIA(prior="flat").score(gaussian(4, 10, 0.0, np.random.default_rng(0)))
    with pytest.raises(AttackError, match="at least 10"):
        BaVarIA().score(gaussian(8, 9, 0.0, np.random.default_rng(0)))
