"""Each membership attack on laws whose answer is known, and against a brute-force twin."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from tests.attacks.membership_laws import Z_ALARM, auc, gaussian, one_target, softmax_shadows, tpr_at

from dpassay.attacks.membership.comparisons import AttackP, AttackR, DifficultyCalibration, Exposure, exposure
from dpassay.attacks.membership.gradients import canary_log_ratio
from dpassay.attacks.membership.learned import QuantileRegression, ShadowClassifier
from dpassay.attacks.membership.likelihood_ratios import BASE, RMIA, LiRA
from dpassay.attacks.membership.shadows import Shadows
from dpassay.attacks.membership.thresholds import CorrectnessGap, Entropy, LossThreshold, ModifiedEntropy
from dpassay.mechanisms.core import AttackError, ParameterError

N = 40_000
GRID = ndtri((np.arange(N) + 0.5) / N)
"""Exact quantiles of the standard normal law: scores without noise."""


def near(observed, expected, n):
    """Within the limits of a binomial share of n trials, false alarm 1e-6 (an AUC varies no more than that)."""
    return abs(observed - expected) < Z_ALARM * np.sqrt(expected * (1 - expected) / n)


# --- no references ----------------------------------------------------------------------------------------------------


def test_loss_has_the_auc_of_two_normal_laws_a_unit_apart():
    shadows = one_target(GRID, GRID - 1.0, np.zeros((0, 2 * N)))
    scores = LossThreshold().score(shadows)
    assert auc(scores, shadows.inclusion) == pytest.approx(ndtr(1 / np.sqrt(2)), abs=1e-4)
    assert tpr_at(scores, shadows.inclusion, 0.01) == pytest.approx(0.0924, abs=2e-4)


def test_correctness_gap_of_memorised_data_is_half_the_generalisation_gap():
    right = np.concatenate([np.ones(100), np.repeat([1.0, 0.0], [80, 20])])
    shadows = Shadows(np.arange(200)[None] < 100, np.zeros(200), {"correct": right[None]})
    scores, member = CorrectnessGap().score(shadows), shadows.inclusion
    balanced = 0.5 * (scores[member].mean() + (1 - scores[~member]).mean())
    assert balanced == pytest.approx(0.6)
    assert auc(scores, member) == pytest.approx(0.6)


# --- calibration, Attack-R, BASE --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_references", "expected"), [(1, 0.0527), (4, None), (100, 0.0915)])
def test_calibration_has_the_power_of_its_number_of_references(n_references, expected):
    """Without sampling noise: pairs (noise of the target, mean of the references) on a lattice of the unit square."""
    n = 10_000
    target, mean = (ndtri(u) for u in ((np.arange(n) + 0.5) / n, (np.arange(n) * 0.6180339887 + 0.5) % 1.0))
    difficulty = 3.0 * np.sin(np.arange(n))
    references = np.tile(difficulty + mean / np.sqrt(n_references), (n_references, 2))
    shadows = one_target(target + difficulty + 1.0, target + difficulty, references)
    theory = ndtr(1 / np.sqrt(1 + 1 / n_references) + ndtri(0.01))
    if expected is not None:
        assert theory == pytest.approx(expected, abs=5e-5)
    power = tpr_at(DifficultyCalibration().score(shadows)[:1], shadows.inclusion[:1], 0.01)
    assert power == pytest.approx(theory, abs=2e-3)


def test_calibration_offsets_are_those_of_the_other_models():
    rng = np.random.default_rng(8)
    shadows = gaussian(8, 30, 1.0, rng, name="loss")
    values, inclusion = shadows.signal("loss"), shadows.inclusion
    for offset in ("out-mean", "out-median", "in-mean", "midpoint"):
        scores = DifficultyCalibration(offset=offset).score(shadows)
        for t, x in ((0, 0), (3, 7), (7, 29)):
            rest = [j for j in range(8) if j not in (t, t ^ 1)]
            ins = [values[j, x] for j in rest if inclusion[j, x]]
            outs = [values[j, x] for j in rest if not inclusion[j, x]]
            expected = {
                "out-mean": np.mean(outs),
                "out-median": np.median(outs),
                "in-mean": np.mean(ins),
                "midpoint": 0.5 * (np.mean(ins) + np.mean(outs)),
            }[offset]
            assert scores[t, x] == pytest.approx(values[t, x] - expected)


def test_attack_r_with_one_reference_is_the_sign_of_the_calibrated_score():
    rng = np.random.default_rng(9)
    values = rng.normal(size=(2, 300)).round(1)
    shadows = one_target(values[0, :150], values[0, 150:], values[1:])
    calibrated = DifficultyCalibration().score(shadows)[0]
    np.testing.assert_array_equal(AttackR().score(shadows)[0], calibrated >= 0)
    assert (calibrated == 0).any()


def test_attack_r_equals_a_loop():
    shadows = gaussian(10, 25, 0.5, np.random.default_rng(10), name="loss")
    values, scores = shadows.signal("loss"), AttackR().score(shadows)
    for t in range(10):
        for x in range(25):
            out = [j for j in range(10) if j not in (t, t ^ 1) and not shadows.inclusion[j, x]]
            assert scores[t, x] == pytest.approx(np.mean([values[t, x] >= values[j, x] for j in out]))


def test_base_online_with_one_reference_is_the_calibrated_score():
    rng = np.random.default_rng(11)
    values = -rng.gamma(2.0, size=(2, 200))
    shadows = one_target(values[0, :100], values[0, 100:], values[1:])
    np.testing.assert_allclose(BASE().score(shadows)[0], DifficultyCalibration().score(shadows)[0], rtol=1e-9)


def test_base_is_the_log_of_the_ratio_of_rmia():
    shadows = softmax_shadows(8, 60, np.random.default_rng(12), leak=1.0)
    np.testing.assert_allclose(BASE().score(shadows), RMIA().log_ratios(shadows), rtol=1e-9, atol=1e-12)
    out = BASE(mode="offline", alpha=1.0).score(shadows)
    np.testing.assert_allclose(out, RMIA(mode="offline", a=1.0).log_ratios(shadows), rtol=1e-9, atol=1e-12)


def test_base_keeps_its_digits_where_likelihoods_underflow():
    values = -1000.0 - np.random.default_rng(1).gamma(2.0, size=(2, 10))
    shadows = one_target(values[0, :5], values[0, 5:], values[1:])
    np.testing.assert_allclose(BASE().score(shadows)[0], values[0] - values[1], rtol=1e-9)


# --- LiRA -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "area", "power"),
    [("online", 0.9214, 0.3721), ("offline-tail", 0.9214, 0.3721), ("offline-density", 0.8551, 0.2824)],
)
def test_lira_with_known_laws_has_the_printed_auc_and_power(mode, area, power):
    # Two references of each kind at mean +- 1/sqrt(2) have exactly the mean and the variance 1 of their law.
    n, half = 2 * N, np.sqrt(0.5)
    member = np.arange(n) < N
    target = np.where(member, np.concatenate([GRID, GRID]) + 2.0, np.concatenate([GRID, GRID]))
    references = np.array([2.0 - half, 2.0 + half, -half, half])[:, None] * np.ones(n)
    inclusion = np.concatenate([member[None], np.array([[True], [True], [False], [False]]) * np.ones((4, n), bool)])
    shadows = Shadows(inclusion, np.zeros(n), {"rescaled-logit": np.concatenate([target[None], references])})
    for variance in ("record", "global"):
        scores = LiRA(mode=mode, variance=variance).score(shadows)[:1]
        assert auc(scores, member[None]) == pytest.approx(area, abs=1e-3)
        assert tpr_at(scores, member[None], 0.01) == pytest.approx(power, abs=1e-3)


def test_lira_equals_a_loop_over_targets_and_records():
    shadows = gaussian(12, 20, 1.5, np.random.default_rng(13), spread=3.0)
    phi, inclusion = shadows.signal("rescaled-logit"), shadows.inclusion

    def log_normal(x, mean, variance):
        return -0.5 * ((x - mean) ** 2 / variance + np.log(variance))

    online, tail = LiRA(variance="record").score(shadows), LiRA(mode="offline-tail", variance="record").score(shadows)
    pooled = LiRA(variance="global").score(shadows)
    for t in range(12):
        rest = [j for j in range(12) if j not in (t, t ^ 1)]
        laws = []
        for x in range(20):
            sides = [[phi[j, x] for j in rest if inclusion[j, x] == side] for side in (True, False)]
            laws.append([(np.mean(s), np.var(s, ddof=1)) for s in sides])
        common = [np.mean([law[side][1] for law in laws]) for side in (0, 1)]  # all records have the same freedom
        for x, ((mean_in, var_in), (mean_out, var_out)) in enumerate(laws):
            expected = log_normal(phi[t, x], mean_in, var_in) - log_normal(phi[t, x], mean_out, var_out)
            assert online[t, x] == pytest.approx(expected)
            assert tail[t, x] == pytest.approx((phi[t, x] - mean_out) / np.sqrt(var_out))
            expected = log_normal(phi[t, x], mean_in, common[0]) - log_normal(phi[t, x], mean_out, common[1])
            assert pooled[t, x] == pytest.approx(expected)


def test_global_variance_is_not_inflated_by_how_much_records_differ():
    shadows = gaussian(20, 500, 0.0, np.random.default_rng(14), spread=30.0)
    variance = shadows.others(shadows.signal("rescaled-logit")).pooled_variance
    assert np.abs(variance - 1.0).max() < Z_ALARM * np.sqrt(2 / (9 * 500)) * 1.5


def test_lira_tail_does_not_saturate():
    values = np.array([[40.0, 50.0], [-1.0, -1.0], [1.0, 1.0]])
    shadows = one_target(values[0, :1], values[0, 1:], values[1:], name="rescaled-logit")
    first, second = LiRA(mode="offline-tail").score(shadows)[0]
    assert first < second


def test_lira_fits_each_record_from_64_models_on():
    for n_models, variance in ((62, "global"), (64, "record")):
        shadows = gaussian(n_models, 30, 1.0, np.random.default_rng(15))
        np.testing.assert_array_equal(LiRA().score(shadows), LiRA(variance=variance).score(shadows))


# --- against the population -------------------------------------------------------------------------------------------


def test_attack_p_has_the_false_positive_rate_of_its_threshold():
    rng = np.random.default_rng(16)
    n = 20_000
    shadows = one_target(rng.normal(size=10) + 1, rng.normal(size=n), np.zeros((0, n + 10)))
    population = Shadows(np.zeros((1, n), dtype=bool), np.zeros(n), {"loss": rng.normal(size=(1, n))})
    scores = AttackP().score(Shadows(shadows.inclusion, shadows.y, shadows.signals, population=population))
    for level in (0.1, 0.01):  # the threshold is as uncertain as the share
        observed = float(np.mean(scores[~shadows.inclusion] > 1 - level))
        assert abs(observed - level) < Z_ALARM * np.sqrt(2 * level * (1 - level) / n)


def test_attack_p_equals_a_matrix_of_all_pairs():
    shadows = softmax_shadows(4, 50, np.random.default_rng(17))
    values, z = shadows.signal("loss"), shadows.population.signal("loss")
    np.testing.assert_array_equal(AttackP().score(shadows), (z[:, None, :] < values[:, :, None]).mean(axis=2))


@pytest.mark.parametrize("mode", ["online", "offline"])
@pytest.mark.parametrize("gamma", [1.0, 2.0])
@pytest.mark.parametrize("apart", [True, False])
def test_rmia_equals_the_matrix_of_all_pairs_exactly(mode, gamma, apart):
    shadows = softmax_shadows(6, 40, np.random.default_rng(18), leak=1.0)
    # Ties: the first records are copies of each other, and of some of the population.
    log_p = shadows.log_probabilities.copy()
    log_p[:, 1:5] = log_p[:, :1]
    y, inclusion = shadows.y.copy(), shadows.inclusion.copy()
    y[1:5], inclusion[:, 1:5] = y[0], inclusion[:, :1]
    population = shadows.population if apart else None
    shadows = Shadows(inclusion, y, log_probabilities=log_p, population=population, partner=shadows.partner)
    attack = RMIA(mode=mode, gamma=gamma)
    r_x = attack.log_ratios(shadows)
    r_z = attack.log_ratios(population) if apart else r_x
    beaten = r_z[:, None, :] < r_x[:, :, None] - np.log(gamma)
    size = r_z.shape[1] - (0 if apart else 1)  # a record never beats itself, and is not counted
    np.testing.assert_array_equal(attack.score(shadows), beaten.sum(axis=2) / size)


def test_rmia_ratios_equal_their_formula():
    shadows = softmax_shadows(6, 10, np.random.default_rng(19))
    p = np.exp(shadows.signal("loss"))
    online, offline = RMIA().log_ratios(shadows), RMIA(mode="offline", a=0.3).log_ratios(shadows)
    for t in range(6):
        for x in range(10):
            rest = [j for j in range(6) if j not in (t, t ^ 1)]
            mean_out = np.mean([p[j, x] for j in rest if not shadows.inclusion[j, x]])
            assert online[t, x] == pytest.approx(np.log(p[t, x] / np.mean(p[rest, x])))
            assert offline[t, x] == pytest.approx(np.log(p[t, x] / (0.5 * (1.3 * mean_out + 0.7))))


def test_rmia_with_constant_references_is_attack_p():
    rng = np.random.default_rng(20)
    target = -rng.gamma(1.0, size=60)
    values = np.concatenate([target[None], np.full((2, 60), -0.7)])
    shadows = one_target(values[0, :30], values[0, 30:], values[1:])
    shadows = Shadows(shadows.inclusion, shadows.y, {"loss": values, "confidence": np.exp(values)})
    np.testing.assert_array_equal(RMIA(gamma=1.0).score(shadows)[0], AttackP().score(shadows)[0])


def test_rmia_refuses_a_gamma_by_which_a_record_beats_itself():
    with pytest.raises(ParameterError, match="gamma must be >= 1"):
        RMIA(gamma=0.5).score(gaussian(4, 10, 0.0, np.random.default_rng(0), name="loss"))


def test_exposure_of_the_first_of_1024_is_ten_bits():
    assert exposure([9.0], np.arange(8.0).repeat(128)[:1023]) == pytest.approx([10.0])


def test_exposure_of_a_canary_that_was_never_in_is_1_443_bits_on_average():
    rng = np.random.default_rng(21)
    n = 20_000
    bits = exposure(rng.normal(size=n), rng.normal(size=100_000))
    # Exponential with mean and standard deviation 1 / ln 2.
    assert abs(bits.mean() - 1 / np.log(2)) < Z_ALARM / np.log(2) / np.sqrt(n) + 0.01


def test_exposure_ties_count_against_the_canary():
    assert exposure([1.0], [1.0, 1.0, 0.0]) == pytest.approx([np.log2(4 / 3)])


def test_exposure_orders_records_as_attack_p_does():
    shadows = softmax_shadows(4, 50, np.random.default_rng(22))
    rank = [np.argsort(np.argsort(attack.score(shadows), axis=1), axis=1) for attack in (Exposure(), AttackP())]
    assert np.abs(rank[0] - rank[1]).max() <= 50  # same order up to ties
    assert Exposure().score(shadows).max() <= np.log2(41)


# --- learned ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classifier", ["logistic", "boosting"])
def test_shadow_classifier_reaches_the_best_auc_of_one_normal_feature(classifier):
    shadows = gaussian(8, 2_500, 1.0, np.random.default_rng(24))
    result = auc(ShadowClassifier(classifier=classifier).score(shadows), shadows.inclusion)
    slack = 0.0 if classifier == "logistic" else 0.02
    assert abs(result - ndtr(1 / np.sqrt(2))) < Z_ALARM * np.sqrt(0.76 * 0.24 / 10_000) + slack


def test_shadow_classifier_has_auc_one_half_on_permuted_bits():
    shadows = gaussian(8, 2_500, 1.0, np.random.default_rng(25))
    bits = np.random.default_rng(26).permuted(shadows.inclusion[::2], axis=1)
    shuffled = np.stack([bits, ~bits], axis=1).reshape(8, -1)
    unrelated = Shadows(shuffled, shadows.y, shadows.signals, partner=shadows.partner)
    assert abs(auc(ShadowClassifier().score(unrelated), shuffled) - 0.5) < Z_ALARM * np.sqrt(1 / 12 / 5_000)


def test_class_thresholds_of_modified_entropy_level_classes_that_differ():
    rng = np.random.default_rng(27)
    inclusion = rng.random((10, 1_000)) < 0.5
    y = np.arange(1_000) % 2
    signal = rng.normal(size=(10, 1_000)) + inclusion + 6.0 * y
    shadows = Shadows(inclusion, y, {"modified-entropy": signal, "entropy": signal})
    plain = auc(ModifiedEntropy(thresholds="none").score(shadows), inclusion)
    for attack in (ModifiedEntropy(), Entropy()):
        levelled = auc(attack.score(shadows), inclusion)
        assert levelled == pytest.approx(ndtr(1 / np.sqrt(2)), abs=0.025)
        assert plain < levelled - 0.08


def test_class_thresholds_maximise_the_balanced_accuracy():
    rng = np.random.default_rng(28)
    inclusion = rng.random((6, 80)) < 0.5
    signal = rng.normal(size=(6, 80)) + 2 * inclusion
    shadows = Shadows(inclusion, np.zeros(80), {"modified-entropy": signal})
    threshold = (signal - ModifiedEntropy(n_bins=10_000).score(shadows))[:, 0]
    for t in range(6):
        rest = np.arange(6) != t
        values, bits = signal[rest], inclusion[rest]

        def gap(at, values=values, bits=bits):
            return (values[bits] >= at).mean() - (values[~bits] >= at).mean()

        assert gap(threshold[t]) == pytest.approx(max(gap(at) for at in values.ravel()), abs=0.01)


@pytest.mark.parametrize("regressor", ["linear", "boosting"])
def test_quantile_regression_levels_groups_of_different_difficulty(regressor):
    rng = np.random.default_rng(29)
    n, n_models = 4_000, 3

    def drawn(size, bits):
        group = np.arange(size) % 2
        values = rng.normal(size=(n_models, size)) + 4.0 * group + bits
        return group[:, None].astype(float), {"rescaled-logit": values}

    inclusion = rng.random((n_models, n)) < 0.5
    X, signals = drawn(n, inclusion)
    Z, outside = drawn(n, 0.0)
    population = Shadows(np.zeros((n_models, n), dtype=bool), np.zeros(n), outside, X=Z)
    shadows = Shadows(inclusion, np.zeros(n), signals, X=X, population=population)
    scores = QuantileRegression(regressor=regressor).score(shadows)
    size = n_models * n / 2
    assert near(tpr_at(scores, inclusion, 0.01), 0.0924, size / 10)
    assert tpr_at(LossThreshold(signal="rescaled-logit").score(shadows), inclusion, 0.01) < 0.0924
    assert near(float(np.mean(scores[~inclusion] > ndtri(0.99))), 0.01, size / 4)


@pytest.mark.parametrize("regressor", ["linear", "boosting"])
def test_without_a_population_it_learns_on_the_scored_records(regressor):
    """Groups whose signals differ by 4: the AUC is nearly that of two normal laws 1 apart, Phi(1 / sqrt 2)."""
    rng = np.random.default_rng(31)
    inclusion, group = rng.random((2, 4_000)) < 0.5, np.arange(4_000) % 2
    signal = rng.normal(size=inclusion.shape) + 4.0 * group + inclusion
    shadows = Shadows(inclusion, np.zeros(4_000), {"rescaled-logit": signal}, X=group[:, None].astype(float))
    error = np.sqrt(1 / 12 * (2 / 4_000))  # of an AUC, at most, over 2 x 2,000 scores on each side
    levelled = auc(QuantileRegression(regressor=regressor).score(shadows), inclusion)
    assert abs(levelled - ndtr(1 / np.sqrt(2))) < 5 * error
    assert auc(signal, inclusion) < levelled - 0.1


@pytest.mark.parametrize("regressor", ["linear", "boosting"])
def test_a_score_above_zero_exceeds_the_quantile(regressor):
    """Laws that are not normal, of different spread: 5 % of fresh non-members of each group are above the quantile."""
    rng = np.random.default_rng(32)
    n, group = 4_000, np.arange(4_000) % 2
    X = group[:, None].astype(float)
    laws = [rng.exponential(size=(1, n)) * np.where(group, 5.0, 0.5) for _ in range(2)]
    nobody = np.zeros((1, n), dtype=bool)
    population = Shadows(nobody, np.zeros(n), {"loss": laws[0]}, X=X)
    shadows = Shadows(nobody, np.zeros(n), {"loss": laws[1]}, X=X, population=population)
    attack = QuantileRegression(regressor=regressor, signal="loss", quantile=0.95, ridge=0.0)
    for scores in (attack.score(shadows), attack.score(replace(shadows, population=None))):
        for chosen in (group == 0, group == 1):
            assert near(float(np.mean(scores[:, chosen] > 0)), 0.05, n / 4)  # a quantile of n / 2, n / 2 scores


def test_leave_one_out_is_a_fit_without_the_record():
    rng = np.random.default_rng(33)
    rows, values = np.column_stack([np.ones(30), rng.normal(size=(30, 4))]), rng.normal(size=(30, 2))
    found, _ = QuantileRegression(ridge=0.05)._linear(rows, values, None)
    penalty = 0.05 * 30 * np.diag([0.0, 1.0, 1.0, 1.0, 1.0])
    for i in range(30):
        rest = np.arange(30) != i
        weights = np.linalg.solve(rows[rest].T @ rows[rest] + penalty, rows[rest].T @ values[rest])
        np.testing.assert_allclose(found[i], rows[i] @ weights, rtol=1e-9)


def test_quantile_regression_learns_the_spread_too():
    rng = np.random.default_rng(30)
    n = 4_000
    X = rng.integers(0, 2, size=(n, 1)).astype(float)
    values = rng.normal(size=(1, n)) * np.where(X[:, 0] > 0, 5.0, 0.5)
    population = Shadows(np.zeros((1, n), dtype=bool), np.zeros(n), {"rescaled-logit": values}, X=X)
    shadows = Shadows(
        np.ones((1, 2), dtype=bool),
        np.zeros(2),
        {"rescaled-logit": np.array([[5.0, 5.0]])},
        X=np.array([[0.0], [1.0]]),
        population=population,
    )
    assert QuantileRegression().score(shadows)[0] == pytest.approx([10.0, 1.0], rel=0.1, abs=0.1)


# --- white box --------------------------------------------------------------------------------------------------------


def test_canary_log_ratio_of_full_batches_is_linear():
    """Hence normal with mean -+ mu^2 / 2 and variance mu^2, mu = sqrt(steps) / sigma, for noise of sd sigma."""
    observed = np.random.default_rng(31).normal(size=(100, 50))
    expected = (observed - 0.5).sum(axis=0) / 3.0**2
    np.testing.assert_allclose(canary_log_ratio(observed, noise_multiplier=3.0), expected, rtol=1e-12)


def test_canary_log_ratio_under_poisson_sampling_is_the_mixture():
    s = np.array([[0.3, -1.0], [1.2, 0.4]])
    q, sigma = 0.2, 1.5
    density = lambda x, mean: np.exp(-0.5 * ((x - mean) / sigma) ** 2)  # noqa: E731
    expected = np.log((1 - q) * density(s, 0) + q * density(s, 1)) - np.log(density(s, 0))
    result = canary_log_ratio(s, noise_multiplier=sigma, sampling_probability=q)
    assert result == pytest.approx(expected.sum(axis=0))


# --- what cannot be done ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attack", "n_models", "needed"),
    [
        (LiRA(), 4, 6),
        (LiRA(mode="offline-tail"), 2, 4),
        (DifficultyCalibration(), 2, 4),
        (RMIA(), 2, 4),
        (AttackR(), 2, 4),
    ],
)
def test_too_few_models_are_refused_with_the_needed_number(attack, n_models, needed):
    shadows = softmax_shadows(n_models, 30, np.random.default_rng(32))
    with pytest.raises(AttackError, match=f"n_models={needed}"):
        attack.score(shadows)
    attack.score(softmax_shadows(needed, 30, np.random.default_rng(32)))


def test_records_without_references_are_nan_and_the_others_are_not():
    inclusion = np.array([[True, True, False], [True, False, False], [False, True, False]])
    shadows = Shadows(inclusion, np.zeros(3), {"loss": np.zeros((3, 3))})
    scores = DifficultyCalibration().score(shadows)
    out_references = [[1, 1, 2], [1, 0, 2], [0, 1, 2]]
    np.testing.assert_array_equal(np.isnan(scores), np.array(out_references) == 0)


def test_an_attack_that_learns_from_a_population_asks_for_one():
    with pytest.raises(AttackError, match="population"):
        Exposure().score(gaussian(4, 10, 0.0, np.random.default_rng(0)))


def test_quantile_regression_asks_for_features_and_enough_records():
    shadows = gaussian(4, 9, 0.0, np.random.default_rng(0))
    with pytest.raises(AttackError, match="features"):
        QuantileRegression(signal="loss").score(shadows)
    with pytest.raises(AttackError, match="10 records or more, but has 9"):
        QuantileRegression(signal="loss").score(replace(shadows, X=np.zeros((9, 1))))
