"""Logistic regression by output and objective perturbation, and noisy projected SGD."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import dpassay.mechanisms.literature.convex.regularised_logistic as regularised_logistic
from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms.accounting import ApproximateDP, GaussianDP, RenyiDP
from dpassay.mechanisms.accounting.dp_sgd.noisy_sgd import (
    largest_formula_epsilon,
    projected_sgd_standard_deviation,
    projected_sgd_step,
)
from dpassay.mechanisms.catalogue import build
from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError, ReleaseError
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd.steps import InverseSquareRoot
from dpassay.mechanisms.literature.convex.objective_perturbation import ObjectivePerturbation
from dpassay.mechanisms.literature.convex.output_perturbation import OutputPerturbation
from dpassay.mechanisms.literature.convex.projected_sgd import NoisyProjectedSGD
from dpassay.mechanisms.literature.convex.regularised_logistic import (
    GRADIENT_TOLERANCE,
    SignedExamples,
    minimise,
    spherical_log_density,
    spherical_noise,
)

pytestmark = pytest.mark.usefixtures("without_power")

FALSE_ALARM = 1e-6


def examples(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    return X, (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)


# --- the solver -------------------------------------------------------------------------------------------------------


def test_minimiser_is_that_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    X, y = examples(200, 5)
    for strength in (1e-3, 0.1):
        model = LogisticRegression(C=1 / (200 * strength), fit_intercept=False, tol=1e-12, solver="newton-cholesky")
        twin = model.fit(X, y).coef_[0]
        assert_allclose(OutputPerturbation(1.0, regularisation=strength).fit((X, y)), twin, atol=1e-7)


@pytest.mark.parametrize("strength", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4])
def test_every_run_converges_to_its_own_minimiser(strength, scale):
    X, y = examples(50, 4, seed=3)
    data = SignedExamples.of((X, y))
    linear = scale * np.random.default_rng(1).normal(size=(60, 4))
    minimisers = minimise(data, strength, linear)
    w = (2 * y - 1)[:, None] * X
    for f, b in zip(minimisers, linear, strict=True):
        gradient = -(w.T @ (1 / (1 + np.exp(np.minimum(700, w @ f))))) / 50 + strength * f + b / 50
        assert np.linalg.norm(gradient) <= 2 * GRADIENT_TOLERANCE * (1 + np.linalg.norm(b) / 50)
    assert_allclose(minimise(data, strength, linear[:1])[0], minimisers[0], rtol=1e-6)


def test_blocks_and_wide_data_change_nothing(monkeypatch):
    X, y = examples(30, 6)
    linear = np.random.default_rng(2).normal(size=(25, 6))
    usual = minimise(SignedExamples.of((X, y)), 0.01, linear)
    monkeypatch.setattr(regularised_logistic, "_MAX_BLOCK_ENTRIES", 200)
    small = SignedExamples.of((X, y))
    assert small.wide
    assert len(small.blocks(25)) == 25
    assert_allclose(minimise(small, 0.01, linear), usual, atol=1e-9)


def test_equal_examples_count_as_often_as_they_occur():
    X, y = examples(10, 2)
    data = SignedExamples.of((np.repeat(X, 3, axis=0), np.repeat(y, 3)))
    assert len(data.rows) == 10
    assert data.n_examples == 30
    once = minimise(SignedExamples.of((X, y)), 0.1, np.zeros((1, 2)))
    assert_allclose(minimise(data, 0.1, np.zeros((1, 2))), once, atol=1e-11)


def test_a_minimisation_that_does_not_converge_is_an_error(monkeypatch):
    monkeypatch.setattr(regularised_logistic, "_ITERATIONS", 1)
    with pytest.raises(ReleaseError, match="not converged"):
        ObjectivePerturbation(1.0).release(examples(), 5, np.random.default_rng(0))


# --- the noise --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 7])
def test_noise_has_a_gamma_radius_and_a_uniform_direction(d):
    noise = spherical_noise(20_000, d, 3.0, np.random.default_rng(d))
    radius = np.linalg.norm(noise, axis=1)
    assert stats.kstest(radius, stats.gamma(d, scale=1 / 3.0).cdf).pvalue > FALSE_ALARM
    share = (noise[:, 0] / radius) ** 2  # Beta(1/2, (d-1)/2)
    if d > 1:
        assert stats.kstest(share, stats.beta(0.5, 0.5 * (d - 1)).cdf).pvalue > FALSE_ALARM
    assert stats.binomtest(int((noise[:, 0] > 0).sum()), 20_000).pvalue > FALSE_ALARM


def test_noise_density_is_laplace_in_one_dimension_and_normalised_in_two():
    z = np.linspace(-3, 3, 7)[:, None]
    assert_allclose(spherical_log_density(z, 2.0), stats.laplace(scale=0.5).logpdf(z[:, 0]), atol=1e-12)
    side = np.linspace(-12, 12, 1201)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    assert_allclose(np.exp(spherical_log_density(plane, 2.0)).sum() * (side[1] - side[0]) ** 2, 1.0, rtol=1e-3)


# --- output perturbation ----------------------------------------------------------------------------------------------


def test_minimisers_of_neighbours_differ_by_at_most_the_sensitivity():
    """2 / (n regularisation) for any pair; with one feature at most 1.06 / (n regularisation), which is nearly met."""
    rng, n, largest = np.random.default_rng(0), 12, 0.0
    for trial in range(400):
        strength, d = 10 ** rng.uniform(-3, 1), 1 + trial % 2
        mechanism = OutputPerturbation(1.0, regularisation=strength)
        X = rng.normal(size=(n, d)) * rng.choice([0.01, 1.0])
        X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
        y, other, x = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.normal(size=d)
        Z, other[1:] = X.copy(), y[1:]
        Z[0] = x / max(1.0, np.linalg.norm(x))
        moved = n * strength * np.linalg.norm(mechanism.fit((X, y)) - mechanism.fit((Z, other)))
        assert moved <= (1.06 if d == 1 else 2.0)
        largest = max(largest, moved)
    assert largest > 0.8


def test_output_perturbation_adds_noise_of_its_rate_to_one_fit():
    X, y = examples()
    mechanism = OutputPerturbation(2.0, regularisation=0.05)
    outputs = mechanism.release((X, y), 20_000, np.random.default_rng(4))
    radius = np.linalg.norm(outputs.values - mechanism.fit((X, y)), axis=1)
    assert stats.kstest(radius, stats.gamma(3, scale=2 / (40 * 0.05 * 2.0)).cdf).pvalue > FALSE_ALARM
    density = mechanism.log_density(outputs, TrainingData(X, y))
    assert_allclose(density, spherical_log_density(outputs.values - mechanism.fit((X, y)), 2.0), rtol=1e-12)


# --- objective perturbation -------------------------------------------------------------------------------------------


def test_budget_of_the_objective_is_split_as_in_the_paper():
    """Both branches of Algorithm 2, with c = 1/4."""
    strength, rate = ObjectivePerturbation(1.0, regularisation=0.1).strength_and_rate(100)
    assert (strength, rate) == (0.1, pytest.approx((1 - math.log(1 + 2 * 0.25 / 10 + 0.25**2 / 100)) / 2))
    strength, rate = ObjectivePerturbation(0.1, regularisation=1e-4).strength_and_rate(100)
    assert rate == pytest.approx(0.1 / 4)
    assert strength == pytest.approx(0.25 / (100 * math.expm1(0.1 / 4)))
    assert strength > 1e-4


def test_linear_terms_are_recovered_from_the_coefficients():
    X, y = examples()
    mechanism = ObjectivePerturbation(0.5, regularisation=0.02)
    strength, rate = mechanism.strength_and_rate(40)
    b = spherical_noise(200, 3, rate, np.random.default_rng(0))
    outputs = Outputs(minimise(SignedExamples.of((X, y)), strength, b))
    assert_allclose(mechanism.linear_terms(outputs, (X, y)), b, atol=1e-9)


@pytest.mark.parametrize(("epsilon", "regularisation"), [(3.0, 0.05), (0.2, 1e-3)])
def test_density_of_the_coefficients_is_what_they_are_drawn_from(epsilon, regularisation):
    X, y = examples(8, 1)
    mechanism = ObjectivePerturbation(epsilon, regularisation=regularisation)
    f = np.linspace(-400, 400, 400_001)
    density = np.exp(mechanism.log_density(Outputs(f[:, None]), (X, y)))
    cdf = np.cumsum(density) * (f[1] - f[0])
    assert_allclose(cdf[-1], 1.0, rtol=1e-4)
    drawn = mechanism.release((X, y), 20_000, np.random.default_rng(8)).values[:, 0]
    assert stats.kstest(drawn, lambda x: np.interp(x, f, cdf)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("epsilon", "regularisation"), [(1.0, 0.5), (1.0, 0.01), (0.1, 1e-4)])
@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
def test_no_loss_exceeds_epsilon_on_random_pairs(kind, epsilon, regularisation):
    """The theorem itself: the log ratio of the densities on a grid of the plane, for pairs of all kinds."""
    mechanism, rng = kind(epsilon, regularisation=regularisation), np.random.default_rng(6)
    angles, largest = np.linspace(0, 2 * np.pi, 25)[:-1], 0.0
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    grid = Outputs(np.concatenate([r * circle for r in np.logspace(-2, 3, 26)]))
    for _ in range(20):
        X, y = examples(6, 2, seed=rng.integers(1 << 30))
        Z, other = X.copy(), y.copy()
        Z[0], other[0] = -X[0] * rng.choice([1.0, -1.0]), rng.integers(0, 2)
        loss = mechanism.log_density(grid, (X, y)) - mechanism.log_density(grid, (Z, other))
        largest = max(largest, float(np.abs(loss).max()))
    assert largest <= epsilon * (1 + 1e-9)
    if regularisation == 0.5 or kind is ObjectivePerturbation:  # else the examples outweigh the one that differs
        assert largest > 0.2 * epsilon


# --- both -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
def test_audit_stays_below_the_claim_and_comes_near_the_truth(kind):
    mechanism = kind(2.0, regularisation=0.1)
    result = audit(mechanism, trials=4000, delta=0.0, seed=1)
    assert result.verdict is not Verdict.VIOLATION
    truth = mechanism.exact_guarantee().epsilon(0.0)
    assert 0.75 * truth < result.bound.epsilon < truth < result.claim / 2


class QuarterNoise(OutputPerturbation):
    """Noise for the sensitivity of a mean, 1 / (2 n regularisation)."""

    def rate(self, n_records):
        return 4.0 * super().rate(n_records)


def test_audit_catches_a_quarter_of_the_noise():
    assert audit(QuarterNoise(1.0), trials=4000, delta=0.0, seed=1).verdict is Verdict.VIOLATION


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        ([[0.5, 0.5]], [2], "labels 0 and 1"),
        ([[0.9, 0.9]], [1], "norm at most 1"),
        (np.empty((0, 2)), [], "empty"),
        ([[np.nan, 0.0]], [1], "finite"),
    ],
)
def test_examples_that_break_the_theorem_are_refused(kind, X, y, match):
    with pytest.raises(ParameterError, match=match):
        kind(1.0).release((np.asarray(X), np.asarray(y)), 3, np.random.default_rng(0))


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation, NoisyProjectedSGD])
def test_pairs_and_options_are_checked(kind):
    with pytest.raises(ParameterError, match="replace_one"):
        kind(1.0, relation="add_remove")
    X, y = examples(30)
    other = y.copy()
    other[:2] = 1 - y[:2]
    with pytest.raises(NeighboursError):
        kind(1.0).bind(Neighbours((X, y), (X, other), "replace_one"))
    with pytest.raises(ParameterError, match="gradient"):
        kind(1.0).release(TrainingData(X, y, np.ones((1, 3))), 2, np.random.default_rng(0))


# --- noisy projected SGD ----------------------------------------------------------------------------------------------


def test_last_iterate_of_the_worst_pair_has_the_law_of_the_book():
    """theta_T is the sum of a Binomial(T, 1/n) number of steps n L and of T Gaussians: mean and variance of both sides,
    as z- and chi-squared tests."""
    n, size = 8, 30_000
    mechanism = NoisyProjectedSGD(1.0, n_records=n, standard_deviation=3.0, claim="renyi")
    pair = mechanism.worst_case()
    for side, sign in ((0, -1.0), (1, 1.0)):
        last = mechanism.release(pair.side(side), size, np.random.default_rng([2, side])).values[:, 0]
        variance = 64 * 9.0 + n**2 * 64 * (1 / n) * (1 - 1 / n)
        z = (last.mean() - sign * 64) / math.sqrt(variance / size)
        assert abs(z) < stats.norm.isf(FALSE_ALARM / 2)
        assert last.var() == pytest.approx(variance, rel=8 * math.sqrt(2 / size))


def test_increments_of_the_iterates_are_those_of_the_algorithm():
    """theta_t - theta_(t-1) = -rate_t (n g_I + N_t): the gradient of a record at random, n times, and the noise."""
    n, sigma, steps, size = 4, 3.0, 3, 100_000
    X, y = np.array([[0.2], [0.4], [0.9], [0.6]]), np.array([0, 1, 1, 0])
    mechanism = NoisyProjectedSGD(
        1.0, n_records=n, steps=steps, standard_deviation=sigma, learning_rate=0.5, view="all", claim="renyi"
    )
    iterates = mechanism.release((X, y), size, np.random.default_rng(2)).values
    moves = np.diff(np.concatenate([np.zeros((size, 1, 1)), iterates], axis=1), axis=1)[:, :, 0]
    signed = np.array([-0.2, 0.4, 0.9, -0.6])  # a linear loss: minus the gradient

    def law(x):
        return stats.norm.cdf((np.asarray(x)[:, None] - 0.5 * n * signed) / (0.5 * sigma)).mean(axis=1)

    for step in moves.T:
        assert stats.kstest(step, law).pvalue > 1e-6
    assert np.abs(np.corrcoef(moves.T) - np.eye(steps)).max() < 6.0 / math.sqrt(size)
    assert stats.kstest(moves[:, 0], lambda x: law(np.asarray(x) / 1.05)).pvalue < 1e-6  # power


def test_all_iterates_end_with_the_last_and_stay_in_the_ball():
    X, y = examples(30)
    options = {"n_records": 30, "steps": 20, "radius": 0.5, "loss": "logistic", "standard_deviation": 1.0}
    options["claim"] = "renyi"
    options["learning_rate"] = InverseSquareRoot(0.01)
    every = NoisyProjectedSGD(1.0, **options, view="all").release((X, y), 50, np.random.default_rng(1)).values
    last = NoisyProjectedSGD(1.0, **options).release((X, y), 50, np.random.default_rng(1)).values
    assert every.shape == (50, 20, 3)
    assert_array_equal(every[:, -1], last)
    norms = np.linalg.norm(every, axis=2)
    assert norms.max() <= 0.5 * (1 + 1e-12)
    assert np.isclose(norms, 0.5).any()
    wide, free = (
        NoisyProjectedSGD(1.0, **options | {"radius": radius}).release((X, y), 50, np.random.default_rng(1)).values
        for radius in (1e6, None)
    )
    assert_array_equal(wide, free)


@pytest.mark.parametrize("loss", ["linear", "logistic"])
def test_gradients_are_those_of_the_loss_clipped(loss):
    rng = np.random.default_rng(0)
    mechanism = NoisyProjectedSGD(1.0, n_records=6, loss=loss, lipschitz=0.7)
    rows, theta = 2.0 * rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    gradients = mechanism._gradients(rows, theta)
    losses = {"linear": lambda m: -m, "logistic": lambda m: np.logaddexp(0, -m)}
    for g, w, at in zip(gradients, rows, theta, strict=True):
        steps = 1e-6 * np.eye(3)
        plain = [(losses[loss](w @ (at + h)) - losses[loss](w @ (at - h))) / 2e-6 for h in steps]
        assert_allclose(g, np.array(plain) * min(1.0, 0.7 / np.linalg.norm(plain)), atol=1e-8)
    assert np.isclose(np.linalg.norm(gradients, axis=1), 0.7).any()


def test_formula_is_the_claim_and_the_renyi_bound_is_twenty_times_below():
    formula = NoisyProjectedSGD(1.0, n_records=100)
    renyi = NoisyProjectedSGD(1.0, n_records=100, claim="renyi")
    assert formula.guarantee().epsilon(1e-5) == 1.0
    assert formula.guarantee().default_delta == renyi.guarantee().default_delta == 1e-5
    assert isinstance(renyi.guarantee(), RenyiDP)
    by_limit = GaussianDP(2 * 100 / renyi.sigma).epsilon(1e-5)
    assert by_limit < renyi.guarantee().epsilon(1e-5) < 0.058
    assert build("noisy-projected-sgd", epsilon=1.0, n_records=100) == formula


def test_audit_of_projected_sgd_is_far_below_the_claim():
    result = audit(NoisyProjectedSGD(1.0, n_records=10), trials=3000, seed=0)
    assert result.verdict is Verdict.CONSISTENT
    assert result.bound.epsilon < 0.3


def test_audit_catches_a_sixtieth_of_the_noise_of_projected_sgd():
    """Noise multiplier 0.91: the 400 steps are 1.5-Gaussian DP in the limit, epsilon 7 at delta 1e-5."""
    noise = NoisyProjectedSGD(1.0, n_records=20).sigma / 60
    too_little = NoisyProjectedSGD(1.0, n_records=20, standard_deviation=noise, claim="renyi")
    claim = ApproximateDP(1.0, 1e-5)
    assert audit(too_little, trials=3000, seed=0, claim=claim, delta=1e-5).verdict is Verdict.VIOLATION


def test_another_number_of_records_is_refused():
    with pytest.raises(ParameterError, match="n_records = 30"):
        NoisyProjectedSGD(1.0, n_records=30).release(examples(29), 2, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"standard_deviation": 1.0}, "standard_deviation of at least"),
        ({"steps": 17}, r"at most n_records\^2 = 16 steps"),
    ],
)
def test_the_formula_is_no_claim_for_less_noise_or_more_steps(options, message):
    with pytest.raises(ParameterError, match=message):
        NoisyProjectedSGD(epsilon=1.0, n_records=4, **options)
    assert NoisyProjectedSGD(epsilon=1.0, n_records=4, claim="renyi", **options).guarantee().epsilon(1e-5) > 0


@pytest.mark.parametrize(("n", "delta"), [(2, 1e-10), (2, 0.5), (30, 1e-5), (30, 0.01)])
def test_the_formula_is_accepted_just_where_its_theorem_holds(n, delta):
    largest = largest_formula_epsilon(delta)
    assert projected_sgd_step(
        projected_sgd_standard_deviation(largest, delta, n_records=n), delta, n_records=n, lipschitz=1.0, steps=n * n
    )[0] == pytest.approx(1.2564)
    taken = NoisyProjectedSGD(0.999 * largest, delta, n_records=n)
    assert replace(taken, claim="renyi").guarantee().epsilon(delta) < 0.5 * taken.epsilon
    for epsilon in (1.001 * largest, 300.0):
        with pytest.raises(ParameterError, match=r"theorem for epsilon up to .* before sampling, a step would be"):
            NoisyProjectedSGD(epsilon, delta, n_records=n)
        assert NoisyProjectedSGD(epsilon, delta, n_records=n, claim="renyi").guarantee().epsilon(1e-5) > 0
    noise = projected_sgd_standard_deviation(largest, delta, n_records=n)
    assert (
        NoisyProjectedSGD(300.0, delta, n_records=n, standard_deviation=noise * 1.001).guarantee().epsilon(delta) == 300
    )


def test_the_formula_is_false_far_beyond_its_theorem():
    """delta(300) of all 900 iterates, from the privacy losses of runs, where 0.01 would be claimed."""
    mechanism = NoisyProjectedSGD(300.0, 0.01, n_records=30, claim="renyi", view="all")
    shift, size = 30.0 / mechanism.sigma, 500
    iterates = mechanism.release(mechanism.worst_case().d1, size, np.random.default_rng(0)).values[:, :, 0]
    sums = np.diff(iterates, axis=1, prepend=0.0) / mechanism.sigma
    losses = np.sum([s * np.logaddexp(math.log(29), s * shift * sums - shift**2 / 2) for s in (1, -1)], axis=(0, 2))
    mean = np.mean(np.maximum(0.0, -np.expm1(np.minimum(0.0, 300.0 - losses))))
    assert mean - math.sqrt(math.log(1 / FALSE_ALARM) / (2 * size)) > 0.5
