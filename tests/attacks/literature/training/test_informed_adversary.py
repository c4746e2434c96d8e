"""One record of a regression, from its coefficients and all other records."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from dpassay.attacks.literature.training import (
    InformedAdversary,
    PerturbedOutput,
    Regression,
    prior_success,
    solver_error,
)
from dpassay.mechanisms.core import AttackError, ParameterError
from dpassay.mechanisms.literature.convex import OutputPerturbation

FALSE_ALARM = 1e-6
RNG = np.random.default_rng(2022)
X = RNG.normal(size=(50, 5))
TARGETS = {
    "squared": RNG.normal(size=50),
    "logistic": RNG.integers(0, 2, size=50),
    "poisson": RNG.poisson(2.0, size=50),
    "softmax": RNG.integers(0, 4, size=50),
}


def without(record, loss):
    return np.delete(X, record, axis=0), np.delete(TARGETS[loss], record)


@pytest.mark.parametrize("penalise_intercept", [False, True])
@pytest.mark.parametrize("strength", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("loss", TARGETS)
def test_exact_coefficients_give_the_record_to_rounding(loss, strength, penalise_intercept):
    """The known answer for n = 50, d = 5, logistic, ridge 0.1: an error below 1e-12 (Balle et al. 2022 state 1e-6)."""
    model = Regression(loss, strength=strength, penalise_intercept=penalise_intercept, n_classes=4)
    coefficients = model.minimise(X, TARGETS[loss])
    for record in (0, 17):
        recovered = InformedAdversary(model, *without(record, loss)).recover(coefficients)
        np.testing.assert_allclose(recovered.x[0], X[record], atol=1e-12)
        np.testing.assert_allclose(recovered.y[0], TARGETS[loss][record], atol=1e-12)
        assert not recovered.only_direction
        assert not model.link.labels or recovered.inconsistency[0] < 1e-12


@pytest.mark.parametrize("loss", TARGETS)
def test_the_minimiser_is_one(loss):
    """Its gradient is 0, by the differences of the objective, and moving away in any direction raises it."""
    model = Regression(loss, strength=0.3, n_classes=4)
    rows, targets = model.read(X, TARGETS[loss])
    theta = model.minimise(X, TARGETS[loss]).reshape(model.n_outputs, -1)
    for _ in range(20):
        step = 1e-3 * RNG.normal(size=theta.shape)
        assert model._value(theta + step, rows, targets) > model._value(theta, rows, targets)
    at, direction = theta + 0.1, RNG.normal(size=theta.shape)
    ahead, behind = (model._value(at + s * direction, rows, targets) for s in (1e-6, -1e-6))
    np.testing.assert_allclose(
        np.vdot(model.gradient(at[None], rows, targets)[0], direction), (ahead - behind) / 2e-6, rtol=1e-6
    )
    gradients = [model.gradient((at + s * direction)[None], rows, targets)[0] for s in (1e-6, -1e-6)]
    np.testing.assert_allclose(
        model.hessian(at, rows) @ direction.ravel(), (gradients[0] - gradients[1]).ravel() / 2e-6, rtol=1e-5, atol=1e-6
    )


@pytest.mark.filterwarnings("ignore:.*line search")  # with tol=1e-14 newton-cg ends at the rounding errors
@pytest.mark.parametrize(
    ("loss", "estimator", "strength"),
    [
        ("squared", Ridge(alpha=0.5), 0.5),
        ("logistic", LogisticRegression(C=2.0, tol=1e-14, solver="newton-cholesky"), 0.5),
        ("poisson", PoissonRegressor(alpha=0.01, tol=1e-14, solver="newton-cholesky"), 0.5),
        ("softmax", LogisticRegression(C=2.0, tol=1e-14, solver="newton-cg", max_iter=1000), 0.5),
    ],
)
def test_records_are_recovered_from_scikit_learn(loss, estimator, strength):
    """As published there: the table of penalties in `Regression` is right, to the 1e-6 that is asked of the attack."""
    estimator.fit(X, TARGETS[loss])
    coefficients = np.column_stack([np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_)]).ravel()
    model = Regression(loss, strength=strength, n_classes=4)
    recovered = InformedAdversary(model, *without(3, loss)).recover(coefficients)
    np.testing.assert_allclose(recovered.x[0], X[3], atol=1e-6)
    np.testing.assert_allclose(recovered.y[0], TARGETS[loss][3], atol=1e-6)


def test_solver_error_is_the_measured_error():
    model, y = Regression("logistic", strength=0.1), TARGETS["logistic"]
    exact = model.minimise(X, y)
    assert solver_error(model, exact, X, y, 7).error < 1e-12
    for off in (1e-8, 1e-4, 1e-2):
        coefficients = exact + off
        recovered = InformedAdversary(model, *without(7, "logistic")).recover(coefficients)
        predicted = solver_error(model, coefficients, X, y, 7)
        np.testing.assert_allclose(predicted.error, np.abs(recovered.x[0] - X[7]).max(), rtol=1e-6)
        assert recovered.inconsistency[0] > 0.01 * off
    spoilt = solver_error(model, exact + 1.0, X, y, 7)
    assert spoilt.relative > 1.0
    assert "nothing can be recovered" in str(spoilt)
    assert "attributes have error" in str(predicted)


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
def test_without_intercept_only_an_anchor_gives_the_length(loss):
    model = Regression(loss, strength=0.2, intercept=False, n_classes=4)
    coefficients = model.minimise(X, TARGETS[loss])
    recovered = InformedAdversary(model, *without(0, loss)).recover(coefficients)
    assert recovered.only_direction
    assert np.isnan(recovered.y).all()
    np.testing.assert_allclose(abs(recovered.direction[0] @ X[0]), np.linalg.norm(X[0]), rtol=1e-10)
    anchored = InformedAdversary(model, *without(0, loss), anchor=(2, X[0, 2])).recover(coefficients)
    np.testing.assert_allclose(anchored.x[0], X[0], atol=1e-11)
    np.testing.assert_allclose(anchored.y[0], TARGETS[loss][0], atol=1e-11)


def test_output_perturbation_hides_a_record_that_is_exact_without_noise():
    """The model of Chaudhuri et al. has no intercept; rows with a constant last attribute serve as one."""
    rows = np.column_stack([X, np.ones(50)])
    rows /= 2.0 * np.linalg.norm(rows, axis=1).max()
    y, mechanism = TARGETS["logistic"], OutputPerturbation(epsilon=1.0, regularisation=0.01)
    model = Regression("logistic", strength=50 * 0.01, intercept=False)
    adversary = InformedAdversary(model, rows[1:], y[1:], anchor=(5, rows[0, 5]))
    np.testing.assert_allclose(adversary.recover(mechanism.fit((rows, y))).x[0], rows[0], atol=1e-9)
    noisy = mechanism.release((rows, y), 200, np.random.default_rng(0)).values
    errors = np.linalg.norm(adversary.recover(noisy).x - rows[0], axis=1)
    assert np.median(errors) > np.linalg.norm(rows[1:].mean(axis=0) - rows[0])


@pytest.mark.parametrize("noise_sd", [1e-3, 1e-2, 1e-1])
def test_success_under_noise_is_as_computed(noise_sd):
    """Least squares, where the curve is exact: a binomial test of each attribute."""
    curve, runs = PerturbedOutput(Regression(strength=0.5), X, TARGETS["squared"], record=3), 4000
    noisy = curve.coefficients + noise_sd * np.random.default_rng(1).normal(size=(runs, 6))
    recovered = InformedAdversary(curve.regression, *without(3, "squared")).recover(noisy)
    hits = np.sum(np.abs(recovered.x - X[3]) <= 0.1, axis=0)
    for n, p in zip(hits, curve.success(noise_sd, tolerance=0.1), strict=True):
        assert min(binom.cdf(n, runs, p), binom.sf(n - 1, runs, p)) > FALSE_ALARM / 10


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_the_error_under_little_noise_is_as_computed(loss):
    curve = PerturbedOutput(Regression(loss, strength=0.5), X, TARGETS[loss], record=3)
    noisy = curve.coefficients + 1e-6 * np.random.default_rng(1).normal(size=(4000, 6))
    recovered = InformedAdversary(curve.regression, *without(3, loss)).recover(noisy)
    measured = np.sqrt(np.mean((recovered.x - X[3]) ** 2))
    assert abs(measured / curve.error(1e-6) - 1.0) < 0.08  # 4,000 runs of 5 attributes: far above 5 standard errors


def test_prior_success_is_the_share_in_the_fullest_window():
    values, tolerance = RNG.normal(size=60), 0.25
    brute = max(np.mean(np.abs(values - centre) <= tolerance) for centre in np.linspace(-4, 4, 2_001))
    assert prior_success(values, tolerance=tolerance) == pytest.approx(brute, abs=1 / 60 + 1e-12)
    assert prior_success(values, tolerance=tolerance) >= brute


def test_a_record_outside_the_data_cannot_be_recovered():
    """The release of a population without the person: there is nothing to recover, and the attack says so."""
    model = Regression("squared", strength=0.1)
    others = without(0, "squared")
    with pytest.raises(AttackError, match="those of the known records only"):
        InformedAdversary(model, *others).recover(model.minimise(*others))


def test_a_record_that_is_fitted_exactly_cannot_be_recovered():
    few, y = X[:5], TARGETS["squared"][:5]
    with pytest.raises(AttackError, match="4 known records and 6 coefficients"):
        InformedAdversary(Regression(), few[1:], y[1:]).recover(Regression().minimise(few, y))
    marked = np.column_stack([X, np.arange(50) == 0])
    model = Regression()
    coefficients = model.minimise(marked, TARGETS["squared"])
    with pytest.raises(AttackError, match="attribute 5 is constant in the known records"):
        InformedAdversary(model, marked[1:], TARGETS["squared"][1:]).recover(coefficients)
    penalised = Regression(strength=0.1)  # a penalty keeps the coefficient from serving the record alone
    recovered = InformedAdversary(penalised, marked[1:], TARGETS["squared"][1:]).recover(
        penalised.minimise(marked, TARGETS["squared"])
    )
    np.testing.assert_allclose(recovered.x[0], marked[0], atol=1e-9)


def test_invalid_input_is_refused_with_its_argument():
    model, y = Regression("logistic"), TARGETS["logistic"]
    adversary = InformedAdversary(model, X, y)
    for call, argument in [
        (lambda: adversary.recover(np.zeros(5)), "parameters"),
        (lambda: adversary.recover(np.full(6, np.nan)), "parameters"),
        (lambda: InformedAdversary(model, X, y + 1), "y"),
        (lambda: InformedAdversary(Regression("poisson"), X, y - 0.5), "y"),
        (lambda: InformedAdversary(model, X, y, anchor=(5, 1.0)), "anchor"),
        (lambda: InformedAdversary(model, X, y, anchor=(0, 0.0)), "anchor"),
        (lambda: PerturbedOutput(Regression(intercept=False), X, y), "regression"),
        (lambda: PerturbedOutput(Regression(), X, y, record=50), "record"),
        (lambda: solver_error(Regression(intercept=False), np.zeros(5), X, y, 0), "regression"),
        (lambda: prior_success([], tolerance=1.0), "values"),
    ]:
        with pytest.raises(ParameterError) as refused:
            call()
        assert refused.value.argument == argument
    with pytest.raises(AttackError, match="no minimiser"):
        Regression("logistic").minimise(X[:4], [0, 0, 1, 1])
