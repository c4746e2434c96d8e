"""Every kind of guarantee against its definition, worked out another way: slow, in 60 digits, or printed elsewhere."""

import math

import mpmath
import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from numpy.testing import assert_allclose
from scipy import integrate, optimize, stats

from dpassay.mechanisms.accounting import ApproximateDP, ConcentratedDP, GaussianDP, LaplaceDP, PureDP, RenyiDP
from dpassay.mechanisms.accounting.kinds.renyi import INTEGER_ORDERS, MomentsDP

EPSILONS = np.array([0.0, 1e-6, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 200.0, 1500.0])


# --- pure and approximate -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("nominal", [0.0, 0.1, 1.0, math.log(3.0), 8.0, 50.0])
def test_pure_is_the_curve_of_randomized_response(nominal):
    with mpmath.workdps(60):
        truth = mpmath.exp(nominal) / (1 + mpmath.exp(nominal))
        naive = [max(0.0, float(truth - mpmath.exp(epsilon) * (1 - truth))) for epsilon in EPSILONS]
    assert_allclose(PureDP(nominal).delta(EPSILONS), naive, rtol=1e-13, atol=1e-30)


@pytest.mark.parametrize("epsilon", [1.0, 690.0, 709.0, 710.0, 745.0, 800.0, 1e6])
@pytest.mark.parametrize("claim", [PureDP, LaplaceDP, lambda epsilon: ApproximateDP(epsilon, 0.25)])
def test_tradeoff_is_a_curve_at_every_epsilon(claim, epsilon):
    curve = claim(epsilon).tradeoff([0.0, 1e-320, 1e-305, 0.2, 0.75, 1.0])
    assert curve[0] == 1.0 - claim(epsilon).delta(np.inf)
    assert curve[-1] == 0.0
    assert (np.diff(curve) <= 0.0).all()
    if epsilon > 740.0:
        assert curve[3:].max() < 1e-300


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 30.0])
def test_tradeoff_near_zero_is_one_less_a_steep_line(epsilon):
    fpr = np.exp(-epsilon) * np.array([1e-6, 0.01, 0.2])
    for claim in (PureDP(epsilon), LaplaceDP(epsilon), ApproximateDP(epsilon, 0.0)):
        assert_allclose(claim.tradeoff(fpr), [1.0 - 1e-6, 0.99, 0.8], rtol=1e-13)


def test_pure_epsilon_is_nominal_at_delta_zero_and_less_above():
    claim = PureDP(1.0)
    assert claim.epsilon(0.0) == 1.0
    assert_allclose(claim.epsilon(0.01), math.log(math.e - 0.01 * (1.0 + math.e)), rtol=1e-14)
    assert claim.epsilon(0.4622) == 0.0  # above the total variation tanh(1/2) = 0.462117


@pytest.mark.parametrize(("epsilon", "accuracy"), [(0.1, 0.52498), (1.0, 0.73106), (math.log(3.0), 0.75)])
def test_guessing_accuracy_under_pure_dp(epsilon, accuracy):
    """Balanced accuracy (1 + total variation) / 2 = e^epsilon / (1 + e^epsilon): known answers, 5 digits."""
    assert_allclose(0.5 * (1.0 + PureDP(epsilon).delta(0.0)), accuracy, atol=5e-6)


def test_approximate_guarantees_no_epsilon_below_its_delta():
    claim = ApproximateDP(1.0, 1e-5)
    assert_allclose(claim.epsilon([0.0, 0.99e-5, 1e-5]), [math.inf, math.inf, 1.0])
    assert claim.delta(math.inf) == claim.delta(1.0) == 1e-5


def test_approximate_tradeoff_is_the_three_lines():
    x = np.linspace(0.0, 1.0, 1001)
    e, d = 1.0, 0.05
    lines = [0.0 * x, 1.0 - d - math.exp(e) * x, math.exp(-e) * (1.0 - d - x)]
    assert_allclose(ApproximateDP(e, d).tradeoff(x), np.max(lines, axis=0), atol=1e-15)


def test_zero_epsilon_with_delta_is_publishing_a_random_person():
    claim = ApproximateDP(0.0, 0.01)
    assert claim.epsilon(0.01) == 0.0
    assert_allclose(claim.delta(EPSILONS), 0.01)


# --- Laplace ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nominal", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.5, 2.5])
def test_laplace_profile_is_the_integral_of_the_hockey_stick(nominal, epsilon):
    scale = 1.0 / nominal
    excess = lambda z: max(0.0, stats.laplace.pdf(z, 1, scale) - math.exp(epsilon) * stats.laplace.pdf(z, 0, scale))  # noqa: E731
    kink = 0.5 * (1.0 + epsilon / nominal)
    integral, _ = integrate.quad(excess, -60 * scale, 60 * scale, points=[0.0, min(1.0, kink), 1.0], limit=500)
    assert_allclose(LaplaceDP(nominal).delta(epsilon), integral, atol=1e-9)


@pytest.mark.parametrize("nominal", [0.2, 1.0, 4.0])
def test_laplace_tradeoff_is_that_of_shifted_noise(nominal):
    x = np.array([1e-12, 1e-3, 0.05, 0.1839, 0.184, 0.3, 0.5, 0.7, 0.999])
    shifted = stats.laplace.cdf(stats.laplace.isf(x) - nominal)
    assert_allclose(LaplaceDP(nominal).tradeoff(x), shifted, rtol=1e-12)


# --- Gaussian -----------------------------------------------------------------------------------------------------


def gaussian_delta(mu, epsilon):
    """Balle, Wang (2018), Theorem 8, in 60 digits."""
    with mpmath.workdps(60):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        first, second = mpmath.ncdf(mu / 2 - epsilon / mu), mpmath.ncdf(-mu / 2 - epsilon / mu)
        return first - mpmath.exp(epsilon) * second


@pytest.mark.parametrize("mu", [1e-3, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 40.0])
def test_gaussian_delta_keeps_ten_digits_down_to_1e_300(mu):
    for epsilon in EPSILONS:
        exact = gaussian_delta(mu, epsilon)
        if exact > 1e-300:
            assert_allclose(GaussianDP(mu).delta(epsilon), float(exact), rtol=2e-11)


@pytest.mark.parametrize("mu", [0.01, 0.25, 1.0, 4.0, 10.0])
def test_gaussian_epsilon_solves_the_equation_in_the_tails(mu):
    deltas = np.array([1e-300, 1e-100, 1e-12, 1e-5, 1e-2, 0.3])
    for delta, epsilon in zip(deltas, GaussianDP(mu).epsilon(deltas), strict=True):
        if epsilon > 0.0:
            assert_allclose(float(gaussian_delta(mu, epsilon)), delta, rtol=1e-9)
        else:
            assert gaussian_delta(mu, 0.0) <= delta


@pytest.mark.parametrize(
    ("mu", "expected"),  # at delta 1e-6, 1e-5, 1e-3; four digits, computed with another implementation
    [
        (0.5, [2.2541, 1.9931, 1.3523]),
        (1.0, [4.8866, 4.3772, 3.1387]),
        (2.0, [10.9972, 9.9973, 7.5813]),
        (4.0, [26.357, 24.3816, 19.6241]),
    ],
)
def test_gaussian_epsilon_known_answers(mu, expected):
    assert_allclose(GaussianDP(mu).epsilon([1e-6, 1e-5, 1e-3]), expected, atol=6e-5)


@pytest.mark.parametrize(
    ("epsilon", "delta", "noise_multiplier"),
    [(1.0, 1e-5, 3.7306), (0.5, 1e-6, 8.0576), (4.0, 1e-5, 1 / 0.9249), (8.0, 1e-5, 1 / 1.6660)],
)
def test_least_gaussian_noise_for_a_budget(epsilon, delta, noise_multiplier):
    """Known answers of the analytic Gaussian mechanism, four digits."""
    best = GaussianDP.for_budget(epsilon=epsilon, delta=delta)
    assert_allclose(1.0 / best.mu, noise_multiplier, rtol=1e-4)
    assert best.delta(epsilon) <= delta < GaussianDP(best.mu * (1 + 1e-9)).delta(epsilon)


@pytest.mark.parametrize(("c", "expected"), [(1.0, 0.7589), (1.25, 0.7510), (2.0, 0.7350)])
def test_true_epsilon_of_textbook_gaussian_noise(c, expected):
    """sigma = sqrt(2 log(c/delta)) at epsilon 1, delta 1e-5 is better than it claims: known answers, four digits."""
    sigma = math.sqrt(2.0 * math.log(c / 1e-5))
    assert_allclose(GaussianDP(1.0 / sigma).epsilon(1e-5), expected, atol=6e-5)


def test_gaussian_tradeoff_is_that_of_shifted_noise():
    x = np.array([1e-300, 1e-12, 0.01, 0.5, 0.99, 1.0 - 1e-12])
    assert_allclose(GaussianDP(2.0).tradeoff(x), stats.norm.cdf(stats.norm.isf(x) - 2.0), rtol=1e-10)


# --- concentrated and Renyi ---------------------------------------------------------------------------------------


def naive_epsilon(rho, delta):
    """Canonne, Kamath, Steinke (2020), Proposition 12, minimised by scipy."""
    by_order = lambda a: rho * a + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1)  # noqa: E731
    best = optimize.minimize_scalar(lambda log: by_order(1 + math.exp(log)), bounds=(-15, 15), method="bounded")
    return best.fun


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5, 2.0, 30.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_concentrated_conversion_is_the_best_order(rho, delta):
    assert_allclose(ConcentratedDP(rho).epsilon(delta), max(0.0, naive_epsilon(rho, delta)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5, 2.0, 30.0])
def test_tight_conversion_lies_between_the_gaussian_curve_and_the_textbook(rho):
    deltas = np.array([1e-200, 1e-12, 1e-6, 1e-2])
    tight = ConcentratedDP(rho).epsilon(deltas)
    assert (tight < [ConcentratedDP(rho).textbook_epsilon(delta) for delta in deltas]).all()
    assert (tight >= GaussianDP(math.sqrt(2.0 * rho)).epsilon(deltas)).all()


@pytest.mark.parametrize(("delta", "rho"), [(1e-6, 0.0174689), (1e-5, 0.0208199)])
def test_rho_for_a_budget(delta, rho):
    """Known answers of sqrt(rho) = sqrt(log(1/delta) + epsilon) - sqrt(log(1/delta)) at epsilon 1."""
    budget = ConcentratedDP.for_budget(epsilon=1.0, delta=delta, textbook=True)
    assert_allclose(budget.rho, rho, atol=5e-8)
    tight = ConcentratedDP.for_budget(epsilon=1.0, delta=delta)
    assert tight.rho > rho
    assert 1.0 - 1e-9 <= tight.epsilon(delta) <= 1.0
    assert_allclose(budget.textbook_epsilon(delta), 1.0, rtol=1e-12)


def test_textbook_conversion_known_answer():
    assert_allclose(ConcentratedDP(1e-3).textbook_epsilon(1e-6), 0.23608, atol=5e-6)


def test_nothing_is_leaked_at_rho_zero():
    assert ConcentratedDP(0.0).delta(0.0) == 0.0
    assert ConcentratedDP(0.0).epsilon(0.0) == 0.0


def test_concentrated_total_variation_is_below_pinsker_and_above_gaussian():
    for rho in (1e-6, 0.01, 0.5, 5.0):
        bound = ConcentratedDP(rho).delta(0.0)
        assert GaussianDP(math.sqrt(2.0 * rho)).delta(0.0) <= bound <= math.sqrt(rho / 2.0)


@pytest.mark.parametrize(("steps", "expected"), [(100, 0.13164), (1000, 0.39620), (10_000, 1.25857), (40_000, 2.57587)])
def test_moments_accountant_of_abadi_et_al(steps, expected):
    """q 0.01, noise multiplier 4, delta 1e-5, whole orders, textbook conversion. Abadi et al. (2016) print 1.26 for
    10,000 steps and (about) 2.55 for 40,000; five digits recomputed."""
    accountant = MomentsDP.gaussian(4.0, sampling_probability=0.01, steps=steps)
    assert_allclose(accountant.textbook_epsilon(1e-5), expected, atol=6e-6)
    assert_allclose(accountant.epsilon(1e-5), expected, atol=6e-6)
    assert RenyiDP.gaussian(4.0, sampling_probability=0.01, steps=steps).epsilon(1e-5) < 0.9 * expected


@pytest.mark.parametrize(
    ("q", "z", "steps", "expected"),
    [(0.01, 4.0, 10_000, 1.0355), (256 / 60_000, 1.3, 4_687, 1.106), (256 / 60_000, 1.1, 14_062, 2.597)],
)
def test_tight_moments_accountant(q, z, steps, expected):
    """Computed with dp-accounting, which also uses broken orders: within 0.2 percent."""
    assert_allclose(RenyiDP.gaussian(z, sampling_probability=q, steps=steps).epsilon(1e-5), expected, rtol=2e-3)


@pytest.mark.parametrize(("q", "z"), [(0.2, 1.0), (0.01, 0.5713), (0.5, 0.3), (0.6, 3.0)])
@pytest.mark.parametrize("order", [1.05, 1.7, 2, 2.5, 3, 3.6, 7, 8.3])
def test_sampled_gaussian_divergence_is_the_integral(order, q, z):

    def integrand(x):
        log_ratio = np.logaddexp(math.log1p(-q), math.log(q) + (2.0 * x - 1.0) / (2.0 * z * z))
        return math.exp(order * log_ratio + stats.norm.logpdf(x, scale=z))

    moment, _ = integrate.quad(integrand, -20 * z, order + 20 * z, limit=500, points=[0, order])
    divergence = RenyiDP.gaussian(z, sampling_probability=q, orders=[float(order)]).divergences[0]
    assert_allclose(divergence, math.log(moment) / (order - 1), rtol=1e-7)


@pytest.mark.parametrize(
    ("q", "z"), [(0.01, 0.5713), (0.05, 0.9033), (0.5, 2.0), (0.9, 0.8), (0.3, 0.05), (1e-4, 20.0)]
)
def test_sampled_gaussian_divergence_is_at_most_that_of_dp_accounting(q, z):
    """Its series for other orders overestimates, and is infinite where it does not converge."""
    orders = [order for order in rdp_privacy_accountant.DEFAULT_RDP_ORDERS if order < 80]
    mine = np.array(RenyiDP.gaussian(z, sampling_probability=q, orders=orders).divergences)
    reference = rdp_privacy_accountant._compute_rdp_poisson_subsampled_gaussian(q, z, orders)
    whole = np.array(orders) == np.rint(orders)
    assert_allclose(mine[whole], reference[whole], rtol=1e-7, atol=1e-13)
    assert np.all(mine <= reference * (1.0 + 1e-7) + 1e-12)
    log_moment = mine * (np.array(orders) - 1.0)  # convex in the order
    slopes = np.diff(log_moment) / np.diff(orders)
    assert np.all(np.diff(slopes) > -1e-6 * slopes[1:] - 1e-11)


def test_orders_that_are_not_whole_are_taken_where_noise_is_little():
    """dp-accounting 0.6, its own orders: 4.0638 at 3.6. Whole orders alone give 4.880."""
    claim = RenyiDP.gaussian(0.5713, sampling_probability=0.01, steps=10)
    assert_allclose(claim.epsilon(1e-5), 4.064, atol=5e-4)
    assert claim.best_order(1e-5) == 3.6
    whole = RenyiDP.gaussian(0.5713, sampling_probability=0.01, steps=10, orders=INTEGER_ORDERS)
    assert_allclose(whole.epsilon(1e-5), 4.880, atol=5e-4)
    assert set(MomentsDP.gaussian(0.5713, sampling_probability=0.01).orders) == set(INTEGER_ORDERS)


def test_renyi_of_infinite_order_is_pure_dp():
    x = np.linspace(0.0, 1.2, 7)
    assert_allclose(RenyiDP((math.inf,), (1.0,)).delta(x), PureDP(1.0).delta(x), atol=1e-16)
    assert RenyiDP((2.0, math.inf), (0.4, 1.0)).epsilon(0.0) == 1.0


def test_best_order_is_the_one_that_attains():
    claim = RenyiDP.gaussian(4.0, sampling_probability=0.01, steps=10_000)
    at = claim.orders.index(claim.best_order(1e-5))
    single = RenyiDP((claim.orders[at],), (claim.divergences[at],))
    assert single.epsilon(1e-5) == claim.epsilon(1e-5)
