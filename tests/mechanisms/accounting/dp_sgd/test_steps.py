"""The accountants of DP-SGD: moments, samples of fixed size, shuffled batches, strong composition, calibration."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import logsumexp

from dpassay.mechanisms.accounting import (
    ApproximateDP,
    GaussianDP,
    MomentsDP,
    PrivacyLossDP,
    RenyiDP,
    compose,
    deterministic_batches,
    epsilon_curves,
    fixed_size_gaussian,
    fixed_size_losses,
    least_noise_multiplier,
    shuffled_epsilon_at_least,
    strong_composition,
)
from dpassay.mechanisms.accounting.dp_sgd.fixed_size import _log_moments
from dpassay.mechanisms.accounting.dp_sgd.noisy_sgd import (
    printed_strong_composition,
    projected_sgd_epsilon,
    projected_sgd_standard_deviation,
)
from dpassay.mechanisms.core import AccountingError, ParameterError
from dpassay.mechanisms.learning.dp_sgd.accounting import _scheme_named, _steps_guarantee, calibrate_noise

ABADI = {"sampling_probability": 0.01}

# --- moments ----------------------------------------------------------------------------------------------------------


def test_moments_conversion_is_invertible_and_above_the_tight_one():
    claim = MomentsDP.gaussian(2.0, sampling_probability=0.05, steps=300)
    newer = RenyiDP(claim.orders, claim.divergences)
    deltas = np.logspace(-12, -1, 23)
    epsilons = claim.epsilon(deltas)
    assert_allclose(claim.delta(epsilons), deltas, rtol=1e-9)
    assert np.all(newer.epsilon(deltas) < epsilons)
    assert claim.epsilon(0.0) == math.inf
    assert isinstance(compose([claim, claim]), RenyiDP)


def test_pure_moments_are_pure():
    claim = MomentsDP((2.0, math.inf), (0.5, 1.0))
    assert claim.epsilon(0.0) == 1.0
    assert claim.delta(1.0) == 0.0


# --- samples of fixed size --------------------------------------------------------------------------------------------


def collinear_divergence(order, q, sigma, c, a, b):
    """D_order((1-q) N(c) + q N(a) || (1-q) N(c) + q N(b)) on the line, by quadrature: a lower value of the supremum."""
    reach = 2.0 * order + 12 * sigma
    x = np.linspace(-reach, reach, 40_001)
    log_p = np.logaddexp(math.log1p(-q) + stats.norm.logpdf(x, c, sigma), math.log(q) + stats.norm.logpdf(x, a, sigma))
    log_r = np.logaddexp(math.log1p(-q) + stats.norm.logpdf(x, c, sigma), math.log(q) + stats.norm.logpdf(x, b, sigma))
    return (logsumexp(order * log_p + (1 - order) * log_r) + math.log(x[1] - x[0])) / (order - 1)


CENTRES = {
    "replace_one": [(0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.5, -0.5), (-0.5, 0.5, -0.5), (0.0, 1.0, 0.3)],
    "zero_out": [(-1.0, 1.0, 0.0), (-1.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 1.0, 0.0), (0.2, -1.0, 0.0)],
}


@pytest.mark.parametrize("relation", list(CENTRES))
@pytest.mark.parametrize("sigma", [0.6, pytest.param(1.5, marks=pytest.mark.slow), 5.0])
@pytest.mark.parametrize("q", [0.01, pytest.param(0.3, marks=pytest.mark.slow), 0.9])
def test_fixed_size_bound_is_above_the_divergence_of_collinear_centres(relation, sigma, q):
    claim = fixed_size_gaussian(sigma, sampling_probability=q, relation=relation)
    for order in (2, 3, 7, 40):
        bound = claim.divergences[claim.orders.index(order)]
        for centres in CENTRES[relation]:
            assert collinear_divergence(order, q, sigma, *centres) <= bound * (1 + 1e-9)


def test_fixed_size_bound_is_nearly_tight_for_large_noise():
    """With much noise the leading term is exact: the bound exceeds a pair on a line by a few percent."""
    claim = fixed_size_gaussian(5.0, sampling_probability=0.02)
    for order, excess in ((2, 1.03), (8, 1.05), (20, 1.15)):
        truth = max(collinear_divergence(order, 0.02, 5.0, *centres) for centres in CENTRES["replace_one"])
        assert claim.divergences[order - 2] <= excess * truth


@pytest.mark.parametrize("reach", [1.0, 2.0])
@pytest.mark.parametrize("sigma", [0.6, 2.0, 5.0])
def test_moments_of_three_gaussians_are_bounded_over_triangles(reach, sigma):
    """M_j by its alternating sum for even j, on triangles in the plane; attained at j = 2."""
    logs = _log_moments(sigma, reach, 12)
    bounds = np.exp(logs[:7])
    largest = dict.fromkeys((2, 4, 6), 0.0)
    for ac, bc, ab in itertools.product(np.linspace(0, reach, 9), np.linspace(0, 1, 9), np.linspace(0, 1, 9)):
        if ab > ac + bc + 1e-12 or abs(ac - bc) > ab + 1e-12:
            continue
        for j in largest:
            i = np.arange(j + 1.0)
            exponent = (j - 1) * ((j - i) * ac**2 + i * bc**2) - i * (j - i) * ab**2
            terms = np.array([(-1) ** k * math.comb(j, k) for k in range(j + 1)]) * np.exp(exponent / (2 * sigma**2))
            largest[j] = max(largest[j], terms.sum())
    assert_allclose(bounds[2], largest[2], rtol=1e-12)
    for j in (4, 6):
        assert largest[j] <= bounds[j]
    assert np.all(2 * logs[3:12:2] <= logs[2:11:2] + logs[4:13:2] + 1e-12)


def test_fixed_size_bound_covers_an_exact_mixture_over_all_samples():
    """Five records, samples of two, contributions on the line: both laws written out, both directions."""
    sigma, contributions = 0.8, np.array([-0.5, 0.1, 0.5, -0.3])
    x = np.linspace(-12, 12, 8001)

    def law(last):
        values = np.append(contributions, last)
        sums = [values[list(chosen)].sum() for chosen in itertools.combinations(range(5), 2)]
        return logsumexp([stats.norm.logpdf(x, s, sigma) for s in sums], axis=0) - math.log(len(sums))

    claim = fixed_size_gaussian(sigma, sampling_probability=0.4)
    for first, second in itertools.permutations((0.5, -0.5, 0.0), 2):
        p, r = law(first), law(second)
        for order in (2, 5, 12):
            divergence = (logsumexp(order * p + (1 - order) * r) + math.log(x[1] - x[0])) / (order - 1)
            assert divergence <= claim.divergences[order - 2]


def test_fixed_size_bound_is_below_theorem_nine_and_below_no_sampling():
    """The published bound in the setting of the moments accountant, with its constants for pairs: 2.44."""
    q, sigma, orders = 0.01, 4.0, np.arange(2, 65)
    published = []
    for order in map(int, orders):
        terms = [math.comb(order, j) * q**j * 2 * math.exp(j * (j - 1) / (2 * sigma**2)) for j in range(3, order + 1)]
        second = min(4 * math.expm1(1 / sigma**2), 2 * math.exp(1 / sigma**2))
        published.append(math.log1p(math.comb(order, 2) * q**2 * second + sum(terms)) / (order - 1))
    theorem = RenyiDP(tuple(orders), tuple(10_000 * np.array(published))).epsilon(1e-5)
    ours = fixed_size_gaussian(sigma, sampling_probability=q, steps=10_000)
    poisson = RenyiDP.gaussian(sigma, sampling_probability=q, steps=10_000).epsilon(1e-5)
    assert_allclose([theorem, ours.epsilon(1e-5), poisson], [2.4414, 1.0602, 1.0355], rtol=1e-4)
    for noise in (0.2, 1.0, 30.0):
        sampled = fixed_size_gaussian(noise, sampling_probability=0.99)
        assert np.all(np.array(sampled.divergences) <= np.array(sampled.orders) / (2 * noise**2) * (1 + 1e-12))
    whole = fixed_size_gaussian(2.0, sampling_probability=1.0, steps=3)
    assert_allclose(whole.divergences, 3 * np.array(whole.orders) / 8.0)


def test_fixed_size_bound_grows_with_sampling_and_falls_with_noise():
    by_rate = [fixed_size_gaussian(2.0, sampling_probability=q).epsilon(1e-5) for q in (0.001, 0.01, 0.1, 0.5, 1.0)]
    by_noise = [fixed_size_gaussian(z, sampling_probability=0.1).epsilon(1e-5) for z in (0.3, 1.0, 3.0, 10.0)]
    assert np.all(np.diff(by_rate) > 0)
    assert np.all(np.diff(by_noise) < 0)


@pytest.mark.parametrize(
    ("sigma", "q", "steps"),
    [(2.0, 0.01, 100), (1.0, 0.1, 100), (0.5, 0.01, 10), (10.0, 0.01, 10_000), (61.0, 1e-3, 10**6)],
)
def test_fixed_size_losses_are_between_poisson_sampling_and_the_renyi_bound(sigma, q, steps):
    """Above Poisson samples of the same rate; with much noise both have the central limit."""
    losses, renyi = (
        bound(sigma, sampling_probability=q, steps=steps).epsilon(1e-5)
        for bound in (fixed_size_losses, fixed_size_gaussian)
    )
    limit = GaussianDP(q * math.sqrt(steps) / sigma).epsilon(1e-5)
    assert limit < losses < renyi
    if steps < 10**6:  # the grid of Poisson losses is too coarse there
        poisson = PrivacyLossDP.gaussian(sigma, sampling_probability=q, steps=steps).epsilon(1e-5)
        assert poisson < losses < 1.12 * poisson
    else:
        assert losses < 1.02 * limit


def test_fixed_size_losses_of_all_records_are_those_of_the_gaussian():
    for sigma, steps in ((0.5, 1), (2.0, 3)):
        losses = fixed_size_losses(sigma, sampling_probability=1.0, steps=steps)
        gaussian = GaussianDP(math.sqrt(steps) / sigma).epsilon(np.array([1e-8, 1e-3, 0.1]))
        assert_allclose(losses.epsilon(np.array([1e-8, 1e-3, 0.1])), gaussian, rtol=1e-4)


def test_fixed_size_losses_are_refused_under_zero_out():
    with pytest.raises(AccountingError, match="zero_out"):
        fixed_size_losses(1.0, sampling_probability=0.1, relation="zero_out")


def test_fixed_size_has_no_bound_under_add_remove():
    with pytest.raises(AccountingError, match="replace_one"):
        fixed_size_gaussian(1.0, sampling_probability=0.1, relation="add_remove")
    with pytest.raises(ParameterError, match="sampling_probability"):
        fixed_size_gaussian(1.0, sampling_probability=1.1)


# --- shuffled and cyclic batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batches", "noise", "lower", "upper"),
    [
        (10, 0.7, 6.65, 6.65),
        (10, 1.0, 4.34, 4.38),
        (100, 0.5, 10.00, 10.00),
        (100, 0.7, 6.64, 6.65),
        (100, 1.0, 4.06, 4.38),
        (1000, 0.7, 6.53, 6.65),
        (1000, 1.0, 2.88, 4.38),
        (10, 0.4, 13.2, 13.2),
    ],
)
def test_shuffled_epoch_lies_between_its_event_and_deterministic_batches(batches, noise, lower, upper):
    """Three digits of the table of Chua et al. (2024), recomputed."""
    bound = shuffled_epsilon_at_least(noise, batches=batches, delta=1e-5)
    claim = deterministic_batches(noise).epsilon(1e-5)
    assert_allclose([bound, claim], [lower, upper], atol=0.0051 if lower < 13 else 0.05)
    assert bound <= claim


def test_shuffled_event_is_what_simulation_shows():
    """The best threshold's two probabilities against draws of the maximum: binomial limits, false alarm 1e-6."""
    rng, batches, s, c, n = np.random.default_rng(5), 100, 1.0, 4.2, 200_000
    for shift in (1.0, 2.0):
        largest = np.maximum(s * stats.norm.ppf(rng.random(n) ** (1 / (batches - 1))), shift + s * rng.normal(size=n))
        p = 1 - stats.norm.cdf(c - shift) * stats.norm.cdf(c) ** (batches - 1)
        low, high = stats.binom.interval(1 - 1e-6, n, p)
        assert low <= np.count_nonzero(largest >= c) <= high
    p, q = (1 - stats.norm.cdf(c - m) * stats.norm.cdf(c) ** 99 for m in (2.0, 1.0))
    assert shuffled_epsilon_at_least(s, batches=batches, delta=1e-5) >= math.log((p - 1e-5) / q)


def test_one_batch_is_the_gaussian_mechanism():
    for relation in ("zero_out", "replace_one"):
        bound = shuffled_epsilon_at_least(1.3, batches=1, delta=1e-5, relation=relation)
        assert_allclose(bound, GaussianDP(1 / 1.3).epsilon(1e-5), rtol=1e-3)


def test_shuffled_batches_are_not_what_poisson_accounting_says():
    poisson = PrivacyLossDP.gaussian(1.0, sampling_probability=0.01, steps=100).epsilon(1e-5)
    assert_allclose(poisson, 0.72, atol=0.005)
    assert shuffled_epsilon_at_least(1.0, batches=100, delta=1e-5) > 5 * poisson


def test_epochs_compose_and_only_cyclic_batches_are_exact():
    claim = deterministic_batches(2.0, epochs=9, order="cyclic", relation="replace_one")
    assert claim.mu == 1.5
    assert claim.exact
    assert claim.relation == "replace_one"
    assert not deterministic_batches(2.0, epochs=9).exact
    for make in (lambda r: deterministic_batches(1.0, relation=r), lambda r: shuffled_at_least(r)):
        with pytest.raises(AccountingError, match="moves others"):
            make("add_remove")
    with pytest.raises(ParameterError, match="delta"):
        shuffled_epsilon_at_least(1.0, batches=3, delta=0.0)


def shuffled_at_least(relation):
    return shuffled_epsilon_at_least(1.0, batches=3, delta=1e-5, relation=relation)


# --- strong composition -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "printed"), [(10_000, 9.34), (40_000, 24.22)])
def test_printed_strong_composition_is_reproduced_and_is_below_the_theorem(steps, printed):
    """Abadi et al. (2016), Section 3.2, to 0.3 %: amplification taken as q epsilon."""
    setting = {"sampling_probability": 0.01, "steps": steps, "delta": 1e-5}
    assert_allclose(printed_strong_composition(4.0, **setting), printed, rtol=3e-3)
    assert strong_composition(4.0, **setting).epsilon(1e-5) > 1.5 * printed


def test_strong_composition_is_the_composition_of_amplified_steps():
    q, steps, delta = 0.02, 50, 1e-6
    of_step = delta / (2 * q * steps)
    epsilon = math.log1p(q * math.expm1(GaussianDP(0.5).epsilon(of_step)))
    parts = [ApproximateDP(epsilon, q * of_step)] * steps
    twin = compose(parts, accounting="advanced", form="drv10").epsilon(delta)
    ours = strong_composition(2.0, sampling_probability=q, steps=steps, delta=delta, form="drv10")
    assert_allclose(ours.epsilon(delta), twin, rtol=1e-12)


def test_accountants_stand_in_their_order_at_every_number_of_steps():
    curves = epsilon_curves(4.0, sampling_probability=0.01, steps=[100, 1000, 10_000], delta=1e-5)
    values = np.array(list(curves.values()))
    assert values.shape == (4, 3)
    assert np.all(np.diff(values, axis=0) < 0)
    assert np.all(np.diff(values, axis=1) > 0)
    twins = [kind.gaussian(4.0, **ABADI, steps=1000) for kind in (MomentsDP, RenyiDP, PrivacyLossDP)]
    assert_allclose(values[1:, 1], [twin.epsilon(1e-5) for twin in twins], rtol=1e-9)
    assert_allclose(curves["Renyi"][2], 1.0355, rtol=1e-4)
    assert_allclose(curves["privacy loss"][2], 0.947, rtol=5e-3)


def test_projected_sgd_formula_omits_the_mean_of_the_loss():
    """sigma = 122194.54, noise multiplier 61.097; the mean of the loss that was left out is 0.0205."""
    sigma = projected_sgd_standard_deviation(1.0, 1e-5, n_records=1000)
    assert_allclose(sigma, 122194.54, rtol=1e-7)
    assert_allclose(projected_sgd_epsilon(sigma, 1e-5, n_records=1000), 1 + 1 / (4 * math.log(2e5)), rtol=1e-9)
    assert_allclose(projected_sgd_standard_deviation(2.0, 1e-5, n_records=1000, lipschitz=3.0), 1.5 * sigma)


def test_projected_sgd_formula_is_twenty_times_too_large():
    """0.047 by the central limit; the Renyi bound for samples of fixed size proves 0.053."""
    sigma = projected_sgd_standard_deviation(1.0, 1e-5, n_records=1000)
    proved = fixed_size_gaussian(sigma / 2000, sampling_probability=1e-3, steps=10**6).epsilon(1e-5)
    assert_allclose(proved, 0.0529, rtol=1e-3)
    assert 1.0 < proved / GaussianDP(2000 / sigma).epsilon(1e-5) < 1.15


def test_projected_sgd_formula_refuses_too_little_noise():
    with pytest.raises(AccountingError, match=r"1\.2564"):
        projected_sgd_epsilon(100.0, 1e-5, n_records=100)


# --- which theorem for which batches, and how much noise --------------------------------------------------------------


def test_each_way_of_drawing_batches_has_its_own_theorem():
    def epsilon(sampling, steps=100, **options):
        return _steps_guarantee(1.0, sampling=sampling, steps=steps, **options).epsilon(1e-5)

    assert_allclose(epsilon("full-batch"), GaussianDP(10.0).epsilon(1e-5))
    assert_allclose(epsilon("full-batch", relation="replace_one"), GaussianDP(20.0).epsilon(1e-5))
    cyclic = epsilon("cyclic", batches_per_epoch=30, relation="zero_out")
    assert_allclose(cyclic, GaussianDP(2.0).epsilon(1e-5))  # three epochs and a broken one
    fixed = {"sampling_probability": 0.1, "relation": "replace_one"}
    for accounting, bound in ((None, fixed_size_losses), ("renyi", fixed_size_gaussian)):
        halved = bound(0.5, sampling_probability=0.1, steps=5).epsilon(1e-5)
        assert_allclose(epsilon("fixed-size", steps=5, accounting=accounting, **fixed), halved)
    poisson = [
        epsilon("poisson", sampling_probability=0.01, accounting=name) for name in _scheme_named("poisson").accountants
    ]
    assert poisson[0] < poisson[1] < poisson[2]


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"sampling": "shuffled", "relation": "zero_out"}, ParameterError, "batches_per_epoch is needed"),
        ({"sampling": "shuffled", "batches_per_epoch": 5}, AccountingError, "add_remove"),
        ({"sampling": "shuffled", "batches_per_epoch": 5, "sampling_probability": 0.1}, ParameterError, "not use"),
        ({"sampling": "shuffled", "batches_per_epoch": 5, "accounting": "privacy-loss"}, ParameterError, "not hold"),
        ({"sampling": "poisson", "batches_per_epoch": 5}, ParameterError, "belongs to"),
        ({"sampling": "poisson", "sampling_probability": 0.1, "relation": "replace_one"}, AccountingError, "replace"),
        ({"sampling": "fixed-size", "sampling_probability": 0.1}, AccountingError, "add_remove"),
        (
            {"sampling": "fixed-size", "relation": "zero_out", "accounting": "privacy-loss"},
            ParameterError,
            "under 'zero_out' 'fixed-size' batches are accounted for by renyi",
        ),
        ({"sampling": "random"}, ParameterError, "Known: cyclic"),
    ],
)
def test_what_no_theorem_covers_is_refused(options, error, match):
    with pytest.raises(error, match=match):
        _steps_guarantee(1.0, steps=10, **options)


@pytest.mark.parametrize(("steps", "noise"), [pytest.param(2760, 3.906, marks=pytest.mark.slow), (11049, 7.683)])
def test_calibrated_noise_is_the_least_that_is_enough(steps, noise):
    """1024 of 14,732 records a step, epsilon 4 at delta 2e-5, by privacy loss: three decimals computed elsewhere."""
    setting = {"sampling": "poisson", "sampling_probability": 1024 / 14732, "steps": steps}
    calibrated = calibrate_noise(epsilon=4.0, delta=2e-5, **setting)
    assert_allclose(calibrated, noise, atol=1.1e-3)
    assert _steps_guarantee(calibrated, **setting).epsilon(2e-5) <= 4.0
    assert _steps_guarantee(calibrated / 1.0002, **setting).epsilon(2e-5) > 4.0


@pytest.mark.slow
def test_calibrated_noise_for_few_steps():
    calibrated = calibrate_noise(
        epsilon=4.0, delta=2e-5, sampling="poisson", sampling_probability=1024 / 14732, steps=42
    )
    assert_allclose(calibrated, 0.901, atol=6e-4)


@pytest.mark.parametrize(("epsilon", "q", "steps", "midpoint"), [(5.0, 0.05, 100, 0.9033), (4.0, 0.01, 10, 0.5713)])
def test_calibration_does_not_stop_at_a_midpoint_that_overshoots(epsilon, q, steps, midpoint):
    """Where a published bisection returns the middle of its bracket, with epsilon above the target."""
    setting = {"sampling": "poisson", "sampling_probability": q, "steps": steps, "accounting": "renyi"}
    calibrated = calibrate_noise(epsilon=epsilon, delta=1e-5, **setting, tolerance=0.01)
    assert _steps_guarantee(midpoint, **setting).epsilon(1e-5) > epsilon
    assert _steps_guarantee(calibrated, **setting).epsilon(1e-5) <= epsilon


@pytest.mark.parametrize("tolerance", [0.1, 1e-2, 1e-4])
@pytest.mark.parametrize("epsilon", [0.01, 0.7, 5.0, 60.0])
def test_calibration_returns_enough_noise_whatever_the_tolerance(epsilon, tolerance):
    for start in (1e-3, 1.0, 1e4):
        evaluated = []

        def claim(noise, evaluated=evaluated):
            evaluated.append(noise)
            return GaussianDP(3.0 / noise)

        calibrated = least_noise_multiplier(claim, epsilon=epsilon, delta=1e-6, tolerance=tolerance, start=start)
        least = 3.0 / GaussianDP.for_budget(epsilon=epsilon, delta=1e-6).mu
        assert least <= calibrated * (1 + 1e-12)
        assert calibrated <= least * (1 + tolerance)
        assert calibrated in evaluated
        assert len(evaluated) < 40


def test_calibration_stops_where_no_noise_is_enough():
    with pytest.raises(AccountingError, match="no noise multiplier"):
        least_noise_multiplier(lambda _: ApproximateDP(1.0, 1e-3), epsilon=0.5, delta=1e-5)
    with pytest.raises(ParameterError, match="epsilon"):
        calibrate_noise(epsilon=0.0, delta=1e-5, sampling="full-batch", steps=1)
