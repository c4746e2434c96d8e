"""Metrics of membership: known answers, coverage of the intervals, and what they refuse to resolve."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.literature.synthetic_tables import GroundhogMembership
from dpassay.attacks.membership import Shadows, draw_inclusion
from dpassay.attacks.membership.comparisons import DifficultyCalibration
from dpassay.attacks.membership.likelihood_ratios import LiRA
from dpassay.attacks.membership.thresholds import Entropy, LossThreshold
from dpassay.audit.bounds.numerics import binomial
from dpassay.audit.metrics.membership import MembershipResult, evaluate
from dpassay.audit.metrics.membership.evaluate import measure, name_of
from dpassay.audit.metrics.membership.feature_baseline import feature_baseline
from dpassay.audit.metrics.membership.records import (
    MAX_EXACT_PAIRS,
    RADEMACHER_RATIO,
    _half_sums,
    _signed_rank_tail,
    models_needed,
    record_table,
)
from dpassay.audit.metrics.membership.roc import Pooled
from dpassay.mechanisms.accounting import GaussianDP
from dpassay.mechanisms.core import AttackError, ParameterError

N = 4_000
GRID = stats.norm.ppf((np.arange(N) + 0.5) / N)


def one_model(out, in_):
    scores = np.concatenate([out, in_])[None]
    return Pooled.of(scores, np.arange(scores.size)[None] >= len(out))


def shadows_of(n_models, n_records, rng, *, shift=0.0, spread=0.0, exposed=None, paired=True):
    inclusion = draw_inclusion(n_models, n_records, rng, design="pairs" if paired else "bernoulli")
    moved = shift * np.ones(n_records) if exposed is None else shift * exposed
    values = rng.normal(size=inclusion.shape) + moved * inclusion + spread * rng.normal(size=n_records)
    partner = np.arange(n_models) ^ 1 if paired else None
    signals = {"loss": values, "rescaled-logit": values}
    return Shadows(
        inclusion, np.zeros(n_records), signals, X=rng.normal(size=(n_records, 2)), partner=partner, fair=True
    )


# --- ROC --------------------------------------------------------------------------------------------------------------


def test_auc_equals_the_share_of_pairs_won_with_ties_as_halves():
    rng = np.random.default_rng(0)
    out, in_ = rng.integers(0, 6, 40).astype(float), rng.integers(1, 7, 30).astype(float)
    wins = (in_[:, None] > out).mean() + 0.5 * (in_[:, None] == out).mean()
    assert one_model(out, in_).auc == pytest.approx(wins)


def test_metrics_of_two_normal_laws_a_unit_apart():
    pooled = one_model(GRID, GRID + 1.0)
    assert pooled.auc == pytest.approx(0.7602, abs=2e-4)
    assert pooled.best()[0] == pytest.approx(0.3829, abs=5e-4)
    for fpr, tpr in ((0.1, 0.389), (0.01, 0.0924)):
        assert pooled.rate_at(fpr, 0.95).tpr == pytest.approx(tpr, abs=1.5e-3)


def test_the_interval_of_one_model_is_that_of_delong():
    rng = np.random.default_rng(1)
    out, in_ = rng.normal(size=60), rng.normal(size=40) + 1
    pooled = one_model(out, in_)
    wins = (in_[:, None] > out).astype(float)
    delong = wins.mean(axis=1).var(ddof=1) / 40 + wins.mean(axis=0).var(ddof=1) / 60
    low, high = pooled.auc_interval(0.95)
    logit = lambda p: math.log(p / (1 - p))  # noqa: E731
    expected = 1.959964 * math.sqrt(delong) / (pooled.auc * (1 - pooled.auc))
    assert (logit(high) - logit(low)) / 2 == pytest.approx(expected, rel=1e-6)


def test_rates_are_never_interpolated_and_say_when_they_rest_on_too_few():
    out, in_ = np.arange(100.0), np.array([98.5, 99.5, 50.0, 0.5])
    pooled = one_model(out, in_)
    rate = pooled.rate_at(0.01, 0.95)
    assert (rate.tpr, rate.false_positives, rate.resolvable) == (0.5, 1, False)
    assert pooled.rate_at(0.001, 0.95).tpr == 0.25
    assert pooled.rate_at(0.1, 0.95).resolvable
    assert not one_model(out[:99], in_).rate_at(0.1, 0.95).resolvable


def test_an_interval_of_a_rate_covers_errors_of_threshold_and_members():
    """By hand: 1000 non-members, FPR 10 %, and a level of 0.0125 for each of four errors."""
    few = stats.binom.ppf(0.0125, 1000, 0.1) - 1  # with this many above, the true FPR is at most 10 %
    many = stats.binom.isf(0.0125, 1000, 0.1) + 1  # ... and at least
    pooled = one_model(np.arange(1000.0), np.arange(1000.0)[::5] + 100.5)
    rate = pooled.rate_at(0.1, 0.95)
    hits = [np.sum(pooled.ordered[1] > 999 - few), np.sum(pooled.ordered[1] >= 1000 - many)]
    assert hits[0] < 200 * rate.tpr == 40 < hits[1]
    assert rate.lower == pytest.approx(float(binomial.lower(hits[0], 200, 0.0125)))
    assert rate.upper == pytest.approx(float(binomial.upper(hits[1], 200, 0.0125)))
    assert (one_model(np.arange(5.0), np.arange(9.0)).rate_at(0.1, 0.95).lower) == 0.0  # 5 say nothing about 10 %


@pytest.mark.parametrize(
    ("fpr", "n"),
    [
        (0.1, 100),
        (0.001, 100),
        (0.01, 1_000),
        pytest.param(0.01, 100, marks=pytest.mark.slow),
        pytest.param(0.1, 1_000, marks=pytest.mark.slow),
        pytest.param(0.001, 1_000, marks=pytest.mark.slow),
    ],
)
def test_intervals_of_rates_cover_the_rate_at_the_true_false_positive_rate(n, fpr):
    """At 0.05. The limits of the members above the threshold of these same non-members miss in 20 % to 77 %."""
    truth, repeats, missed, too_high = stats.norm.sf(stats.norm.isf(fpr) - 2.0), 300, 0, []
    for seed in range(repeats):
        rng = np.random.default_rng([seed, n, 12])
        rate = one_model(rng.normal(size=n), rng.normal(size=n) + 2.0).rate_at(fpr, 0.95)
        missed += not rate.lower <= truth <= rate.upper
        too_high.append(rate.tpr - truth)
    assert missed <= stats.binom.isf(1e-6, repeats, 0.05)
    assert np.mean(too_high) > -4.9 * np.std(too_high) / np.sqrt(repeats)
    if fpr * n == 0.1:  # ten times too few non-members, and the rate is far too high
        assert np.mean(too_high) > 0.15


def test_intervals_of_rates_cover_where_models_and_records_are_shared():
    """LiRA on models that share records; the truth is the mean over ten times as many. Nominal miss 0.2."""
    large = shadows_of(12, 40_000, np.random.default_rng(20), shift=1.0, spread=1.0)
    attack = LiRA(variance="global")
    truth = Pooled.of(attack.score(large), large.inclusion).rate_at(0.1, 0.8).tpr
    missed, repeats = 0, 120
    for seed in range(repeats):
        shadows = shadows_of(12, 150, np.random.default_rng([seed, 21]), shift=1.0, spread=1.0)
        rate = Pooled.of(attack.score(shadows), shadows.inclusion, shadows.partners).rate_at(0.1, 0.8)
        missed += not rate.lower <= truth <= rate.upper
    assert missed <= stats.binom.isf(1e-6, repeats, 0.2)


def test_ties_at_the_threshold_are_not_counted_as_hits():
    pooled = one_model(np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 2.0]))
    assert pooled.rate_at(0.25, 0.95).tpr == 0.5
    assert pooled.rate_at(0.5, 0.95).tpr == 1.0


def test_perfect_separation_has_an_interval_that_is_not_empty():
    low, high = one_model(np.zeros(30), np.ones(20)).auc_interval(0.95)
    assert high == 1.0
    assert low == pytest.approx(0.025 ** (1 / 20))


def test_the_curve_has_the_counts_of_its_thresholds():
    rng = np.random.default_rng(2)
    pooled = one_model(rng.normal(size=5_000), rng.normal(size=4_000) + 1)
    tally = pooled.tally()
    out, in_ = pooled.ordered
    assert len(tally.thresholds) <= 450
    np.testing.assert_array_equal(tally.hits_out, [(out >= t).sum() for t in tally.thresholds])
    np.testing.assert_array_equal(tally.hits_in, [(in_ >= t).sum() for t in tally.thresholds])
    assert {0, 1, 2, 3}.issubset(tally.hits_out.tolist())


def test_scores_of_members_only_have_no_metrics():
    with pytest.raises(ParameterError, match="of members and of non-members"):
        Pooled.of(np.zeros((1, 3)), np.ones((1, 3), dtype=bool))


@pytest.mark.parametrize(("paired", "shift", "spread"), [(True, 0.0, 0.0), (True, 0.7, 1.0), (False, 0.7, 1.0)])
def test_auc_intervals_cover_where_models_and_records_are_shared(paired, shift, spread):
    """Scores of LiRA: difficulty shared by the models, references by the targets. Nominal miss 0.2."""
    truth = []
    missed = 0
    repeats = 120
    for seed in range(repeats):
        shadows = shadows_of(12, 150, np.random.default_rng([seed, 5]), shift=shift, spread=spread, paired=paired)
        pooled = Pooled.of(LiRA(variance="global").score(shadows), shadows.inclusion, shadows.partners)
        truth.append((pooled.auc, *pooled.auc_interval(0.8)))
    mean = np.mean([auc for auc, _, _ in truth])
    missed = sum(not low <= mean <= high for _, low, high in truth)
    assert missed <= stats.binom.ppf(1 - 1e-6, repeats, 0.2)


def with_model_effects(kind, n_models, n_records, rng):
    """Scores, and who was in, of models that differ strongly."""
    inclusion = draw_inclusion(n_models, n_records, rng)
    noise, of_model = rng.normal(size=inclusion.shape), rng.normal(size=(n_models, 1))
    of_pair = np.repeat(rng.normal(size=(n_models // 2, 1)), 2, axis=0)
    moved = {
        "shift": 3.0 * of_model + 3.0 * inclusion,
        "pairs shift": 3.0 * of_pair + 3.0 * inclusion,
        "leak": 2.0 * np.abs(of_model) * inclusion,
        "pairs leak": (1.0 + of_pair) * inclusion,
        "both leak": (1.0 + of_model + rng.normal(size=n_records)) * inclusion,
        "none": 3.0 * of_model,
    }
    return noise + moved[kind], inclusion


@pytest.mark.parametrize("n_models", [8, 64])
@pytest.mark.parametrize("kind", ["shift", "pairs shift", "leak", "pairs leak", "both leak", "none"])
def test_auc_intervals_cover_where_models_differ_strongly(kind, n_models):
    """Nominal miss 0.2, of the mean AUC of as many models; without a variance over models 40 to 80 %."""
    n_records, repeats = 100, 80
    partners, intervals = np.arange(n_models) ^ 1, []
    for seed in range(repeats):
        drawn = with_model_effects(kind, n_models, n_records, np.random.default_rng([seed, n_models, 14]))
        pooled = Pooled.of(*drawn, partners)
        intervals.append((pooled.auc, *pooled.auc_interval(0.8)))
    auc, lower, upper = np.array(intervals).T
    missed = np.count_nonzero((auc.mean() < lower) | (auc.mean() > upper))
    assert missed <= stats.binom.isf(1e-6, repeats, 0.2)
    if kind == "none":
        assert np.count_nonzero((lower > 0.5) | (upper < 0.5)) <= stats.binom.isf(1e-6, repeats, 0.2)


def test_the_jackknife_leaves_out_one_model_at_a_time():
    scores, inclusion = with_model_effects("shift", 10, 30, np.random.default_rng(15))
    scores = np.round(scores)  # with ties
    pooled = Pooled.of(scores, inclusion, np.arange(10) ^ 1)
    kept = [np.arange(10) // 2 != pair for pair in range(5)]
    without = [Pooled.of(scores[rows], inclusion[rows], np.arange(8) ^ 1).auc for rows in kept]
    assert pooled._jackknife() == pytest.approx(4 / 5 * np.sum((without - np.mean(without)) ** 2), rel=1e-9)


@pytest.mark.parametrize(("n_models", "paired"), [(2, True), (6, True), (3, False)])
def test_too_few_models_have_no_interval_and_say_how_many_it_takes(n_models, paired):
    """Whether two models differ by chance or much is not seen in one pair."""
    shadows = shadows_of(n_models, 200, np.random.default_rng(0), shift=2.0, paired=paired)
    result = evaluate(shadows, "loss", features=False)
    assert (result["loss"].auc_lower, result["loss"].auc_upper) == (0.0, 1.0)
    assert (result["loss"].rates[0].lower, result["loss"].rates[0].upper) == (0.0, 1.0)
    assert f"{n_models} models are too few to estimate their variance. At least 8 in pairs" in result.summary()
    enough = evaluate(shadows_of(8, 200, np.random.default_rng(0), shift=2.0), "loss", features=False)
    assert "too few to estimate" not in enough.summary()
    assert enough["loss"].auc_lower > 0.7


def test_intervals_widen_where_a_whole_model_leaks_more():
    rng = np.random.default_rng(3)
    inclusion = rng.random((6, 500)) < 0.5
    scores = rng.normal(size=(6, 500)) + inclusion * np.array([0, 0, 0, 2, 2, 2])[:, None]
    clustered = np.subtract(*Pooled.of(scores, inclusion).auc_interval(0.95))
    flat = np.subtract(*one_model(scores[~inclusion], scores[inclusion]).auc_interval(0.95))
    assert clustered / flat > 3
    rate, naive = (
        p.rate_at(0.1, 0.95) for p in (Pooled.of(scores, inclusion), one_model(scores[~inclusion], scores[inclusion]))
    )
    assert rate.upper - rate.lower > 2 * (naive.upper - naive.lower)


def test_held_out_advantage_is_not_optimistic():
    in_sample, held_out = [], []
    for seed in range(200):
        rng = np.random.default_rng([seed, 9])
        pooled = one_model(rng.normal(size=50), rng.normal(size=50))
        in_sample.append(pooled.best()[0])
        held_out.append(pooled.held_out_advantage())
    assert np.mean(in_sample) > 0.1
    assert abs(np.mean(held_out)) < 4.9 * np.std(held_out) / np.sqrt(200)


# --- records and groups -----------------------------------------------------------------------------------------------


def test_record_table_equals_a_loop():
    rng = np.random.default_rng(4)
    scores, inclusion = rng.normal(size=(10, 6)), rng.random((10, 6)) < 0.5
    scores[0, 0] = np.nan
    table = record_table(scores, inclusion, threshold=0.3, fpr=0.01, confidence=0.9)
    for x in range(6):
        there = ~np.isnan(scores[:, x])
        in_, out = scores[inclusion[:, x] & there, x], scores[~inclusion[:, x] & there, x]
        assert table.auc[x] == pytest.approx((in_[:, None] > out).mean())
        assert table.tpr[x] == pytest.approx((in_ > 0.3).mean())
        assert table.upper[x] == pytest.approx(float(binomial.upper((in_ > 0.3).sum(), len(in_), 0.05)))
        test = stats.mannwhitneyu(in_, out, alternative="greater", method="asymptotic")
        assert table.p_value[x] == pytest.approx(test.pvalue)


def test_records_that_leak_are_exposed_and_the_others_are_not():
    exposed = np.arange(300) < 20
    shadows = shadows_of(64, 300, np.random.default_rng(5), shift=5.0, exposed=exposed)
    table = evaluate(shadows, ["lira"], features=False)["lira"].records
    assert set(table.exposed()) == set(range(20))
    assert (table.benjamini_hochberg[:20] < 1e-6).all()


@pytest.mark.parametrize("n_records", [40, 600, 5_000])
def test_models_needed_are_the_fewest_that_can_expose_a_record(n_records):
    enough = models_needed(n_records)
    for n_models in (enough - 2, enough):
        inclusion = np.tile(np.arange(n_models) % 2 == 0, (n_records, 1)).T
        scores = np.where(inclusion, np.arange(n_records) == 3, 0) + 1e-9 * np.arange(n_models)[:, None]
        table = record_table(scores, inclusion, threshold=0.5, fpr=0.01, confidence=0.95)
        assert table.p_value.min() == table.p_value[3] == table.least_p_value
        assert table.resolvable == (n_models == enough)
        assert table.exposed().tolist() == [3] * table.resolvable


def test_too_few_models_to_expose_any_record_are_reported():
    for paired, least, needed in ((True, 0.062, 20), (False, 0.015, 14)):
        few, enough = (shadows_of(n, 40, np.random.default_rng(5), shift=9.0, paired=paired) for n in (8, needed))
        result = evaluate(few, ["loss"], features=False)
        assert f"smallest possible p-value is {least}, times 40 records. At least {needed} models" in result.summary()
        assert result.text().table.rows[0][1][-1] == "-"
        result = evaluate(enough, ["loss"], features=False)
        assert "cannot expose a record" not in result.summary()
        exposed = int(result.text().table.rows[0][1][-1])
        assert exposed == 40 if paired else 0 < exposed <= 40


@pytest.mark.parametrize("attack", ["loss", "lira", "calibration", "attack-r"])
def test_records_that_do_not_leak_are_rarely_exposed(attack):
    wrong, repeats = 0, 30
    for seed in range(repeats):
        shadows = shadows_of(32, 60, np.random.default_rng([seed, 6]), spread=2.0)
        scores = evaluate(shadows, [attack], features=False)[attack]
        wrong += len(scores.records.exposed(0.2)) > 0
    assert wrong <= stats.binom.ppf(1 - 1e-6, repeats, 0.2)


def shadows_with_ties(n_models, n_records, rng, *, share=0.3, paired=True):
    """Signals of two values, such as "a row of the table is equal to the record", that do not depend on the coins."""
    shadows = shadows_of(n_models, n_records, rng, paired=paired)
    values = (rng.random(shadows.inclusion.shape) < share).astype(float)
    return replace(shadows, signals={"loss": values, "rescaled-logit": values})


@pytest.mark.parametrize(
    ("attack", "make"),
    [
        ("lira", shadows_of),
        ("lira", shadows_with_ties),
        ("calibration", shadows_with_ties),
        ("attack-r", shadows_with_ties),
    ],
)
def test_a_record_that_does_not_leak_rarely_has_a_small_p_value(attack, make):
    """Also where many scores are equal but for the references, and where these say which direction is up."""
    n_records = 600
    shadows = make(128, n_records, np.random.default_rng(8))
    p_value = evaluate(shadows, [attack], features=False).attacks[0].records.p_value
    for level in (0.2, 0.01):
        assert np.count_nonzero(p_value <= level) <= stats.binom.isf(1e-6, n_records, level)


def test_scores_with_references_are_compared_in_pairs_of_complements():
    rng = np.random.default_rng(9)
    inclusion = draw_inclusion(20, 7, rng)
    scores = rng.integers(0, 3, inclusion.shape) + 2.0 * inclusion * (np.arange(7) < 3)
    scores[4:6, 1] = np.nan
    options = {"threshold": 0.3, "fpr": 0.01, "confidence": 0.9, "partners": np.arange(20) ^ 1}
    table = record_table(scores, inclusion, **options)
    for x in range(7):
        more = [scores[m, x] - scores[m ^ 1, x] for m in range(20) if inclusion[m, x]]
        won, untied = sum(d > 0 for d in more), sum(d != 0 and not np.isnan(d) for d in more)
        assert table.p_value[x] == pytest.approx(min(1.0, 2.0 * stats.binom.sf(won - 1, untied, 0.5)))
    assert table.least_p_value == pytest.approx(2.0 * 0.5**10)
    assert table.pair_weight == 1.0
    assert [models_needed(n, pair_weight=1.0) for n in (1, 600)] == [12, 30]
    halved = record_table(scores, inclusion, **options, pair_weight=0.5)
    assert (halved.p_value >= table.p_value).all()
    assert halved.least_p_value == pytest.approx(2.0 * 0.5**5)
    assert models_needed(600, pair_weight=0.5) == 60


def test_signed_ranks_have_the_p_value_of_all_signs():
    """Ties, pairs that tie, missing scores; beside all 2^m signs of the differences that are seen."""
    rng = np.random.default_rng(12)
    inclusion = draw_inclusion(18, 30, rng)
    scores = rng.integers(0, 6, inclusion.shape) + 1.5 * inclusion * (rng.random(30) < 0.5)
    scores[:, :5] = rng.normal(size=(18, 5))
    scores[2:4, 7] = np.nan
    scores[0, 8], scores[1, 8], scores[4:6, 9] = np.inf, -np.inf, np.inf
    options = {"threshold": 0.3, "fpr": 0.01, "confidence": 0.9, "partners": np.arange(18) ^ 1, "alone": True}
    table = record_table(scores, inclusion, **options)
    for x in range(30):
        pairs = [(scores[m, x], scores[m ^ 1, x]) for m in range(18) if inclusion[m, x]]
        more = np.array([a - b for a, b in pairs if a != b and not np.isnan(a)])
        ranks = stats.rankdata(np.abs(more))
        signs = np.array(list(itertools.product((0, 1), repeat=len(more))))
        assert table.p_value[x] == pytest.approx(np.mean(signs @ ranks >= ranks[more > 0].sum() - 1e-9))
        if x < 5:
            exact = stats.wilcoxon(more, alternative="greater", method="exact").pvalue
            assert table.p_value[x] == pytest.approx(exact)
    assert table.least_p_value == pytest.approx(0.5**9)
    assert (table.pair_weight, table.one_sided) == (1.0, True)
    assert [models_needed(n, pair_weight=1.0, one_sided=True) for n in (1, 600)] == [10, 28]


def test_the_p_value_of_many_signed_ranks_is_an_upper_bound():
    for weights in (tuple(range(2, 202, 2)), (2,) * 100, tuple(range(1, 30)), (1,) * 7):
        law, total = _half_sums(weights), sum(weights)
        assert law[0] == pytest.approx(1.0)
        spread = np.sqrt(np.sum(np.square(weights)))
        bound = RADEMACHER_RATIO * stats.norm.sf((2.0 * np.arange(total + 1) - total) / spread)
        assert (np.minimum(1.0, bound) >= law * (1.0 - 1e-9)).all()
    many = tuple(range(2, 2 * MAX_EXACT_PAIRS + 4, 2))
    assert 1e-6 < _signed_rank_tail(many, round(0.75 * sum(many))) < 1e-4
    assert _signed_rank_tail(many, 0) == 1.0


def without_leak(kind, n_models, n_records, rng):
    """Scores of pairs of complements in which no record says whether it is in, but models and other records do."""
    inclusion = draw_inclusion(n_models, n_records, rng)
    shape, hard = inclusion.shape, rng.normal(size=n_records)
    if kind == "others":  # each record is predicted by the others that are in
        weights = rng.normal(size=(n_records, n_records)) / np.sqrt(n_records)
        np.fill_diagonal(weights, 0.0)
        values = hard + 2.0 * (2.0 * inclusion - 1.0) @ weights.T + 0.5 * rng.normal(size=shape)
    elif kind == "twin":  # ... by one other
        values = hard + 3.0 * np.roll(inclusion, 1, axis=1) + 0.5 * rng.normal(size=shape)
    elif kind == "models":  # a model has larger losses on all records, and some are skewed
        values = np.exp(1.5 * rng.normal(size=(n_models, 1)) + hard) * rng.exponential(size=shape)
    else:  # "ties": right or wrong
        values = (np.roll(inclusion, 1, axis=1) + rng.random(shape) + 0.3 * rng.normal(size=(n_models, 1)) > 1.2) * 1.0
    signals = {"loss": values, "rescaled-logit": values}
    return Shadows(inclusion, np.zeros(n_records), signals, partner=np.arange(n_models) ^ 1, fair=True)


@pytest.mark.parametrize("kind", ["others", "twin", "models", "ties"])
@pytest.mark.parametrize(
    ("attack", "n_models", "n_records"), [("loss", 16, 20), ("loss", 200, 20), ("loss", 40, 100), ("lira", 40, 50)]
)
def test_a_table_without_leak_rarely_has_an_exposed_record(attack, n_models, n_records, kind):
    """At 0.2. Ranks of all scores, as if the two models of a pair were independent, exposed some in 40 to 95 %."""
    wrong, repeats = 0, 25
    for seed in range(repeats):
        shadows = without_leak(kind, n_models, n_records, np.random.default_rng([seed, n_models, n_records, 13]))
        wrong += len(evaluate(shadows, attack, features=False).attacks[0].records.exposed(0.2)) > 0
    assert wrong <= stats.binom.isf(1e-6, repeats, 0.2)


def test_two_models_expose_no_record():
    shadows = without_leak("twin", 2, 100, np.random.default_rng(0))
    assert evaluate(shadows, "loss", features=False)["loss"].records is None


def test_complements_that_are_not_named_are_refused():
    """Without partners they would count as independent models."""
    shadows = replace(without_leak("twin", 16, 100, np.random.default_rng(0)), partner=None)
    with pytest.raises(ParameterError, match=r"models 0 and 1 .* complements.*partner=") as caught:
        evaluate(shadows, "loss", features=False)
    assert caught.value.argument == "partner"
    evaluate(without_leak("twin", 16, 100, np.random.default_rng(0)), "loss", features=False)


def test_rules_learned_for_each_record_keep_the_level():
    """Thirty numbers of each model that mean nothing: pairs are scored by rules that hold each other."""
    rng, n_records = np.random.default_rng(11), 8_000
    inclusion = draw_inclusion(64, n_records, rng)
    shadows = Shadows(
        inclusion, np.zeros(n_records), summaries=rng.normal(size=(64, 30)), partner=np.arange(64) ^ 1, fair=True
    )
    p_value = evaluate(shadows, [GroundhogMembership()], features=False).attacks[0].records.p_value
    for level in (0.2, 0.01, 0.001):
        assert np.count_nonzero(p_value <= level) <= stats.binom.isf(1e-6, n_records, level)


@pytest.mark.parametrize("attack", ["lira", "calibration", "attack-r"])
def test_comparisons_within_records_are_unknown_without_complements(attack):
    """The references of a target lack its own value on its own side only: equal signals become unequal by its bit."""
    missed, repeats = 0, 30
    for seed in range(repeats):
        shadows = shadows_with_ties(40, 10, np.random.default_rng([seed, 10]), share=0.05, paired=False)
        result = evaluate(shadows, [attack], groups=np.zeros(10), confidence=0.8, features=False)
        metrics = result.attacks[0]
        missed += not metrics.auc_lower <= 0.5 <= metrics.auc_upper
        assert (metrics.groups[0].lower, metrics.groups[0].upper) == (metrics.auc_lower, metrics.auc_upper)
    assert missed <= stats.binom.isf(1e-6, repeats, 0.2)
    one = evaluate(shadows_with_ties(100, 1, np.random.default_rng(0), paired=False), [attack], features=False)
    assert (one.attacks[0].auc_lower, one.attacks[0].auc_upper) == (0.0, 1.0)


@pytest.mark.parametrize("attack", ["lira", "calibration", "attack-r", pytest.param("bavaria", marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", [shadows_of, shadows_with_ties])
def test_records_without_complements_that_do_not_leak_rarely_have_small_p_values(attack, make):
    """With half of the models as references; with shared ones, records with ties had p-values near 0."""
    n_records = 500
    shadows = make(80, n_records, np.random.default_rng(8), paired=False)
    table = evaluate(shadows, [attack], features=False).attacks[0].records
    for level in (0.2, 0.01):
        assert np.count_nonzero(table.p_value <= level) <= stats.binom.isf(1e-6, n_records, level)
    assert table.n_references == 40


def test_scores_that_share_references_would_have_small_p_values():
    shadows = shadows_with_ties(128, 1_500, np.random.default_rng(8), paired=False)
    scores = DifficultyCalibration().score(shadows)
    table = record_table(scores, shadows.inclusion, threshold=0.0, fpr=0.01, confidence=0.9)
    assert np.count_nonzero(table.p_value <= 0.01) > stats.binom.isf(1e-6, 1_500, 0.01)


def test_intervals_of_single_records_without_complements_cover_their_rates():
    """Members N(2, 1), others N(0, 1): the rate of a record, given its references, is known."""
    rng, confidence = np.random.default_rng(14), 0.8
    inclusion = rng.random((80, 1_000)) < 0.5
    signal = rng.normal(size=inclusion.shape) + 2.0 * inclusion
    shadows = Shadows(inclusion, np.zeros(1_000), {"loss": signal}, fair=True)
    table = evaluate(shadows, "calibration", confidence=confidence, features=False)["calibration"].records
    out = np.ma.array(signal[:40], mask=inclusion[:40]).mean(axis=0).data
    held_out = signal[40:] - out
    threshold = np.quantile(held_out[~inclusion[40:]], 0.99, method="higher")
    rate = stats.norm.sf(threshold + out - 2.0)
    missed = np.count_nonzero((table.lower > rate) | (table.upper < rate))
    assert missed <= stats.binom.isf(1e-6, 1_000, 1.0 - confidence)
    assert np.mean(table.upper - table.lower) < 0.5


def test_a_record_that_leaks_is_exposed_without_complements():
    rng = np.random.default_rng(15)
    inclusion = rng.random((80, 100)) < 0.5
    signal = rng.normal(size=inclusion.shape) + 6.0 * inclusion * (np.arange(100) < 3)
    result = evaluate(Shadows(inclusion, np.zeros(100), {"loss": signal}, fair=True), "calibration", features=False)
    assert set(result["calibration"].records.exposed()) == {0, 1, 2}
    assert "the first 40 models are references only" in result.summary()
    assert type(result).from_json(result.to_json())["calibration"].records.n_references == 40


@pytest.mark.parametrize(("n_models", "reason"), [(14, "7 are too few"), (16, "At least 48 models, half of them")])
def test_too_few_models_without_complements_are_explained(n_models, reason):
    shadows = shadows_of(n_models, 1_500, np.random.default_rng(16), paired=False)
    assert reason in evaluate(shadows, "calibration", features=False).summary()


def test_groups_are_measured_apart():
    groups = np.repeat(["quiet", "loud"], 100)
    shadows = shadows_of(8, 200, np.random.default_rng(7), shift=2.0, exposed=np.arange(200) >= 100)
    rows = {row.group: row for row in evaluate(shadows, ["loss"], groups=groups, features=False)["loss"].groups}
    assert rows["quiet"].lower < 0.5 < rows["quiet"].upper
    assert rows["loud"].lower > 0.8
    assert rows["loud"].n_in + rows["loud"].n_out == 800
    with pytest.raises(ParameterError, match="groups must be one name a record"):
        evaluate(shadows, ["loss"], groups=groups[:3])


# --- feature baseline -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classifier", ["logistic", "boosting"])
def test_feature_baseline_of_a_feature_shifted_by_one(classifier):
    rng = np.random.default_rng(8)
    member = np.arange(6_000) % 2 == 0
    baseline = feature_baseline(rng.normal(size=(6_000, 1)) + member[:, None], member, classifier=classifier)
    assert abs(baseline.auc - 0.7602) < 4.9 * np.sqrt(0.76 * 0.24 / 3_000) + (0.01 if classifier == "boosting" else 0)
    assert baseline.shifted


@pytest.mark.parametrize("repeats", [30, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("n", "n_features", "confidence"), [(200, 3, 0.8), (400, 40, 0.95)])
def test_feature_baseline_of_a_random_split_covers_one_half(n, n_features, confidence, repeats):
    """Folds that were counted as independent missed it in a fifth of the cases at 0.95."""
    missed = 0
    for seed in range(repeats):
        rng = np.random.default_rng([seed, 10])
        baseline = feature_baseline(rng.normal(size=(n, n_features)), rng.random(n) < 0.5, confidence=confidence)
        missed += not baseline.lower <= 0.5 <= baseline.upper
    assert missed <= stats.binom.isf(1e-6, repeats, 1.0 - confidence)


def test_an_attack_on_shifted_data_is_reported_as_confounded():
    rng = np.random.default_rng(9)
    member = np.arange(2_000) % 2 == 0
    X = rng.normal(size=(2_000, 1)) + member[:, None]
    shadows = Shadows(member[None], np.zeros(2_000), {"loss": X.T}, X=X)  # the model repeats the feature
    result = evaluate(shadows, ["loss"])
    assert result.confounded
    assert result.text().headline in result.summary()
    assert "Membership cannot be told" in result.text().headline
    assert result["loss"].records is None


# --- the result -------------------------------------------------------------------------------------------------------


def result_of(**options):
    shadows = shadows_of(12, 200, np.random.default_rng(11), shift=1.5)
    attacks = ["loss", "lira", LiRA(mode="offline-tail")]
    return evaluate(shadows, attacks, groups=np.arange(200) % 2, claim=GaussianDP(1.0), **options)


def test_the_summary_marks_what_is_unresolvable_and_promises_no_epsilon():
    text = result_of().summary()
    assert "No bound on epsilon follows" in text
    assert "?: unresolvable" in text
    assert "TPR@0.1 % FPR" in text
    assert "lira(mode='offline-tail')" in text


def test_an_attack_with_many_tied_highest_scores_is_explained():
    rng = np.random.default_rng(0)
    inclusion = draw_inclusion(8, 400, rng)
    values = rng.normal(size=(8, 400)) + inclusion
    tied = [np.minimum(values, most) for most in (0.0, 1.7, np.inf)]  # about 50, 4.5 and no % of non-members
    partner = np.arange(8) ^ 1
    notes = [evaluate(Shadows(inclusion, np.zeros(400), {"loss": x}, partner=partner), "loss").summary() for x in tied]
    note = "loss: no member is detected at {} % false positives, as more non-members than that share the highest score"
    assert [note.format(percent) in text for percent, text in zip((10, 1), notes[:2], strict=True)] == [True, True]
    assert "no member is detected" not in notes[2]


def test_an_auc_far_below_one_half_is_a_note_on_the_sign():
    rng = np.random.default_rng(0)
    inclusion = draw_inclusion(8, 200, rng, design="bernoulli")
    turned = Shadows(inclusion, np.zeros(200), {"loss": rng.normal(size=(8, 200)) - inclusion})
    right = Shadows(inclusion, np.zeros(200), {"loss": rng.normal(size=(8, 200)) + inclusion})
    blind = Shadows(inclusion, np.zeros(200), {"loss": rng.normal(size=(8, 200))})
    notes = ["loss: AUC below one half. The scores may have the wrong sign" in evaluate(one, "loss").summary()
            for one in (turned, right, blind)]  # fmt: skip
    assert notes == [True, False, False]


def test_variants_of_an_attack_have_names_of_their_own():
    assert name_of(LiRA()) == "lira"
    assert name_of(LiRA(variance="record")) == "lira(variance='record')"
    assert name_of(LiRA(signal="density")) == "lira on density"
    assert name_of(LiRA(signal="density", variance="record")) == "lira on density(variance='record')"
    assert name_of(LossThreshold()) == "loss"
    assert name_of(LossThreshold(signal="closest-record")) == "threshold on closest-record"
    assert name_of(Entropy()) == "entropy"


def test_unusable_attacks_are_skipped_with_the_reason_or_raise_if_named():
    shadows = shadows_of(4, 100, np.random.default_rng(12))
    result = evaluate(shadows, features=False)
    skipped = dict(result.skipped)
    assert "n_models=6" in skipped["lira"]
    assert "population" in skipped["exposure"]
    assert {"loss", "calibration"}.issubset(m.attack for m in result.attacks)
    with pytest.raises(AttackError, match="n_models=6"):
        evaluate(shadows, "lira")


@pytest.mark.parametrize(
    ("attacks", "message"), [([], "is empty"), ((), "is empty"), (3, "but hold 3"), (["loss", 3], "but hold 3")]
)
def test_what_names_no_attack_is_refused(attacks, message):
    with pytest.raises(ParameterError, match=f"^attacks must .*{message}"):
        evaluate(shadows_of(4, 100, np.random.default_rng(12)), attacks)


def test_missing_scores_are_counted_and_left_out():
    shadows = shadows_of(8, 50, np.random.default_rng(13), shift=1.0)
    scores = shadows.signal("loss").copy()
    scores[:, :5] = np.nan
    metrics = measure("some", scores, shadows)
    assert metrics.n_missing == 40
    assert metrics.n_in + metrics.n_out == 360
    assert np.isnan(metrics.records.auc[:5]).all()
    assert (metrics.records.holm[:5] == 1).all()
    result = MembershipResult((metrics,), 8, 50, "pairs", 0.95)
    np.testing.assert_array_equal(MembershipResult.from_json(result.to_json())["some"].records.auc, metrics.records.auc)


def test_unknown_attacks_and_rates_are_named():
    result = result_of()
    with pytest.raises(ParameterError, match="attack must be one of"):
        result["rmia"]
    with pytest.raises(ParameterError, match="fpr must be one of"):
        result["loss"].rate_at(0.5)


# --- records by attacks -----------------------------------------------------------------------------------------------


def test_vulnerability_has_a_row_a_record_and_a_column_an_attack():
    shadows = leaking_records(np.random.default_rng(41))
    result = evaluate(shadows, ["loss", "calibration", "lira"])
    table = result.vulnerability()
    assert table.shape == (200, 3)
    assert list(table.columns) == ["loss", "calibration", "lira"]
    np.testing.assert_array_equal(table["lira"], result["lira"].records.tpr)
    np.testing.assert_array_equal(result.vulnerability("auc")["loss"], result["loss"].records.auc)
    assert table["lira"][:20].mean() > table["lira"][20:].mean() + 0.3


def test_rank_correlations_are_those_of_spearman():
    from scipy.stats import spearmanr

    result = evaluate(leaking_records(np.random.default_rng(42)), ["calibration", "lira", "loss"])
    table, found = result.vulnerability(), result.rank_correlations()
    assert found.loc["calibration", "lira"] == pytest.approx(spearmanr(table["calibration"], table["lira"]).statistic)
    np.testing.assert_allclose(np.diag(found), 1.0)
    assert found.loc["calibration", "lira"] > 4.9 / np.sqrt(199)  # unrelated ranks exceed it in 1e-6 of the cases


def test_vulnerability_without_any_table_of_records_is_refused():
    rng = np.random.default_rng(43)
    inclusion = rng.random((14, 100)) < 0.5
    shadows = Shadows(inclusion, np.zeros(100), {"loss": rng.normal(size=(14, 100))})
    result = evaluate(shadows, ["loss", "calibration"])
    assert list(result.vulnerability().columns) == ["loss"]
    assert "read the records of 'loss'" in result.summary()
    with pytest.raises(ParameterError, match="references 16"):
        evaluate(shadows, ["calibration"]).vulnerability()
    with pytest.raises(ParameterError, match="by"):
        result.vulnerability("p")


def leaking_records(rng):
    """64 models in pairs on 200 records, the first 20 of which leak."""
    half = rng.random((32, 200)) < 0.5
    inclusion = np.stack([half, ~half], axis=1).reshape(64, 200)
    loss = -rng.exponential(size=inclusion.shape) - 3.0 + 2.5 * inclusion * (np.arange(200) < 20)
    loss = np.minimum(loss + rng.normal(scale=0.3, size=200), -1e-3)
    return Shadows(inclusion, np.zeros(200), {"loss": loss}, partner=np.arange(64) ^ 1, fair=True)
