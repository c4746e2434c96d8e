"""Rules on the low level of outputs: levels, repeated values, rare labels, and the log odds that they add."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from dpassay.attacks.distinguishing.low_level.labels import MIN_LABEL_RUNS, LabelOdds
from dpassay.attacks.distinguishing.low_level.repeats import MIN_LEVEL_RUNS, Repeats
from dpassay.attacks.distinguishing.low_level.rules import (
    NO_LEVEL,
    ROW_STATISTICS,
    Decimals,
    Granularity,
    RowStatistic,
    rules_for,
)
from dpassay.attacks.distinguishing.low_level.screen import (
    PILOT_LEVEL,
    LevelOdds,
    fit_level_odds,
    largest_log_ratio,
    log_p_value,
)


def column(*values):
    return np.array(values, dtype=np.float64)[:, None]


def lowest_power(value):
    """e of an odd multiple of 2^e, by exact arithmetic."""
    fraction = Fraction(value)
    down = fraction.denominator.bit_length() - 1
    up = (fraction.numerator & -fraction.numerator).bit_length() - 1
    return up - down


def test_granularity_is_that_of_exact_arithmetic():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.laplace(size=300), rng.integers(1, 5000, 50), 2.0 ** rng.integers(-1070, 1000, 50)])
    assert Granularity(None).levels(values[:, None]).tolist() == [lowest_power(value) for value in values.tolist()]


def test_granularity_by_size_distinguishes_sizes():
    rule = Granularity(0, by_size=True)
    small, large, zero = rule.levels(column(0.75, 1.25, 0.0)).tolist()
    assert len({small, large, zero}) == 3
    assert rule.describe(small) == "coordinate 0 is an odd multiple of 2^-2 and its size is from 2^-1 to 2^0"
    assert rule.describe(large) == "coordinate 0 is an odd multiple of 2^-2 and its size is from 2^0 to 2^1"
    assert rule.describe(zero) == "coordinate 0 is 0"


@pytest.mark.parametrize("places", range(9))
def test_decimals_are_those_that_python_writes(places):
    values = np.round(np.random.default_rng(places).laplace(scale=30.0, size=200), places)
    for value, level in zip(values.tolist(), Decimals(None).levels(values[:, None]).tolist(), strict=True):
        written = Decimal(repr(value)).normalize()
        exponent = int(written.as_tuple().exponent)
        digit = written.as_tuple().digits[-1]
        assert level == (10 * -exponent + digit if value else -60)


def test_decimals_survive_the_rounding_of_an_addition():
    marked = np.round(np.random.default_rng(0).laplace(size=1000), 6) + 1e-7
    assert set((Decimals(None).levels(marked[:, None]) // 10).tolist()) == {7}


def test_noise_has_too_many_decimals():
    levels = Decimals(None).levels(np.random.default_rng(0).laplace(size=1000)[:, None])
    assert np.count_nonzero(levels == NO_LEVEL) >= 995


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1235, "the output has 4 decimals, and the last is 5"),
        (17.0, "the last digit of the output, a whole number, is 7"),
        (1700.0, "the output is a multiple of 10^2"),
        (np.pi, "the output has more decimals than 12"),
    ],
)
def test_decimals_in_words(value, text):
    rule = Decimals(None)
    assert rule.describe(int(rule.levels(column(value))[0])) == text


@pytest.mark.parametrize(
    ("name", "row", "value"),
    [
        ("largest", [2, -1, 0, 7, 0], 3),
        ("smallest", [2, -1, 0, 7, 0], 1),
        ("distinct", [2, -1, 0, 7, 0], 4),
        ("ties", [2, 0, 0, 0, 7], 2),
        ("ascents", [2, -1, 0, 7, 0], 2),
        ("zeros", [2, -1, 0, 7, 0], 2),
        ("negatives", [2, -1, 0, -7, 0], 2),
        ("gap", [2, -1, 0.5, 7, 0], 0.5),
        ("autocorrelation", [1, -1, 1, -1, 0], -0.75),
    ],
)
def test_statistics_of_a_vector(name, row, value):
    assert ROW_STATISTICS[name][0](np.array([row], dtype=np.float64)).tolist() == [value]


def test_every_order_has_a_code_of_its_own():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5000, 4))
    codes = ROW_STATISTICS["order"][0](rows)
    orders = [tuple(order) for order in np.argsort(rows, axis=1).tolist()]
    assert len(set(zip(orders, codes.tolist(), strict=True))) == len(set(orders)) == len(set(codes.tolist())) == 24


def test_a_statistic_of_many_values_is_cut_at_quantiles():
    rows = np.random.default_rng(0).normal(size=(4000, 3))
    rule = RowStatistic.learn("gap", rows)
    counts = np.unique(rule.levels(rows), return_counts=True)[1]
    assert len(counts) == 32
    assert counts.min() > 100
    assert rule.describe(0).startswith("the smallest gap between two coordinates < ")


def test_one_number_has_no_order_and_few_coordinates_are_read_one_by_one():
    single, wide = np.zeros((10, 1)), np.zeros((10, 50))
    assert len(rules_for(single, most_coordinates=9, bits=True)) == 3
    assert len(rules_for(single, most_coordinates=9, bits=False)) == 1
    assert len(rules_for(wide, most_coordinates=9, bits=False)) == 9 + len(ROW_STATISTICS)


@pytest.mark.filterwarnings("error")
def test_extreme_numbers_have_levels_without_warnings():
    largest = np.finfo(np.float64).max
    rows = np.array([[largest, -largest], [5e-324, -2.3e-308], [0.0, 1e300], [1e17, -1e-17]])
    for rule in rules_for(rows, most_coordinates=2, bits=True):
        levels = rule.levels(rows)
        assert levels.shape == (4,)
        assert all(rule.describe(int(level)) for level in levels)


RNG = np.random.default_rng


def pilot(n=300, values=400, columns=1, seed=0):
    """Some values often, many once, and none."""
    rng = RNG(seed)
    rows = np.concatenate([rng.integers(0, 3, (n // 2, columns)), rng.integers(0, values, (n - n // 2, columns))])
    return rows.astype(np.float64), rng.integers(0, 2, n)


def test_left_out_levels_equal_those_learned_without_the_row():
    rows, sides = pilot()
    repeats = Repeats.learn(rows, sides, None)
    left_out = repeats.levels_left_out(rows, sides)
    rare = [i for i in range(len(rows)) if np.count_nonzero(rows == rows[i]) < MIN_LEVEL_RUNS]
    assert len(rare) > 100
    for i in rare:
        without = Repeats.learn(np.delete(rows, i, 0), np.delete(sides, i), None)
        assert left_out[i] == without.levels(rows[[i]])[0]


def test_frequent_values_have_separate_described_levels():
    rows, sides = pilot()
    repeats = Repeats.learn(rows, sides, None)
    levels = repeats.levels(np.array([[0.0], [1.0], [2.0], [1e9]]))
    assert [repeats.describe(int(level)) for level in levels[:3]] == [f"the output is {k}.0 exactly" for k in (0, 1, 2)]
    assert repeats.describe(int(levels[3])) == "the output occurred never on side 0 of the pilot and never on side 1"


def test_counts_of_rare_values_are_described():
    rows = np.array([5.0] + [6.0] * 3 + [7.0] * 9)[:, None]
    repeats = Repeats.learn(rows, np.array([0] + [1] * 3 + [0] * 4 + [1] * 5), None)
    text = [repeats.describe(int(level)) for level in repeats.levels(np.array([[5.0], [6.0], [7.0]]))]
    assert text == [
        "the output occurred once on side 0 of the pilot and never on side 1",
        "the output occurred never on side 0 of the pilot and 2 to 3 times on side 1",
        "the output occurred 4 to 7 times on side 0 of the pilot and 4 to 7 times on side 1",
    ]


def test_a_whole_output_repeats_only_where_all_coordinates_do():
    rows = np.array([[1.0, 2.0]] * 20 + [[2.0, 1.0]] * 20 + [[1.0, 1.0]])
    repeats = Repeats.learn(rows, np.zeros(41, dtype=np.int64), None)
    levels = repeats.levels(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [2.0, 2.0]]))
    assert len(set(levels.tolist())) == 4
    assert repeats.describe(int(levels[0])) == "the output is [1.0, 2.0] exactly"
    one = Repeats.learn(rows, np.zeros(41, dtype=np.int64), 1)
    assert one.describe(int(one.levels(rows[:1])[0])) == "coordinate 1 is 2.0 exactly"


def test_values_that_never_repeat_give_no_rule():
    assert Repeats.learn(RNG(0).normal(size=(500, 2)), RNG(1).integers(0, 2, 500), None) is None


def test_vectors_on_a_grid_have_digests_of_their_own():
    grid = np.stack(np.meshgrid(*[np.arange(40.0)] * 3), axis=-1).reshape(-1, 3)
    repeats = Repeats.learn(np.concatenate([grid, grid[:1]]), np.zeros(len(grid) + 1, dtype=np.int64), None)
    assert len(repeats.keys) == len(grid)


def counts_of(n_labels=2_000, n=3_000, shared=0.5, seed=0):
    """Runs of labels drawn evenly: some from those of both sides, the others from those of one side."""
    rng = np.random.default_rng(seed)
    draws = [np.where(rng.random(n) < shared, 0, 1 + side) * n_labels + rng.integers(0, n_labels, n) for side in (0, 1)]
    return np.stack([np.bincount(side, minlength=3 * n_labels) for side in draws]), n_labels


def test_left_out_log_odds_are_those_of_the_remaining_counts():
    counts, _ = counts_of()
    odds = LabelOdds.learn(counts, (3_000, 3_000))
    for label in np.flatnonzero((counts[1] > 0) & (counts.sum(axis=0) <= MIN_LABEL_RUNS))[:200]:
        a, b = counts[0, label], counts[1, label] - 1
        class_odds = odds.classes[a, b]
        assert odds.left_out(np.array([label]), 1)[0] == (odds.own[label] if np.isnan(class_odds) else class_odds)


def test_a_class_has_the_log_odds_of_fresh_runs():
    """Brute force: of the fresh runs whose label the pilot saw a times on side 0 and b times on side 1."""
    counts, _ = counts_of()
    fresh, _ = counts_of(n=400_000, seed=1)
    odds = LabelOdds.learn(counts, (3_000, 3_000))
    for a, b in [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1)]:
        alike = (counts[0] == a) & (counts[1] == b)
        out, in_ = fresh[:, alike].sum(axis=1)
        assert math.exp(odds.classes[a, b]) == pytest.approx(in_ / out, rel=0.35)


def test_new_labels_have_the_odds_of_labels_that_occur_once():
    counts = np.zeros((2, 130), dtype=np.int64)
    counts[0, :30], counts[1, 30:] = 1, 1
    odds = LabelOdds.learn(counts, (1_000, 1_000))
    assert odds.of_new() == pytest.approx(math.log(100.5 / 30.5))
    assert odds.by_class


def test_few_labels_keep_their_own_counts():
    counts = np.array([[0, 3, 90, 0], [2, 3, 80, 9]])
    odds = LabelOdds.learn(counts, (200, 200))
    assert not odds.by_class
    assert odds.of_labels().tolist() == pytest.approx([math.log(5.0), 0.0, math.log(80.5 / 90.5), math.inf])
    assert odds.of_new() == pytest.approx(math.log(94.5 / 93.5))


N = 4_000


def sample(seed, leak=0.0, skill=1.0):
    """Sides, a calibrated score, and levels: level 3 is likelier on side 1 by `leak` in log odds."""
    rng = np.random.default_rng(seed)
    sides = np.repeat([0, 1], N // 2)
    x = rng.normal(size=N) + skill * sides  # log odds of side 1: skill (x - skill / 2)
    rare = rng.random(N) < 0.1 * np.where(sides == 1, math.exp(leak), 1.0)
    return np.where(rare, 3, rng.integers(0, 3, N)), sides, skill * (x - skill / 2)


def test_a_level_adds_the_log_odds_that_the_score_misses():
    added = [float(fit_level_odds(*sample(seed, leak=1.0)).of(np.array([3]))[0]) for seed in range(20)]
    assert np.mean(added) == pytest.approx(1.0, abs=0.15)


def test_a_level_of_one_side_only_adds_the_smoothed_log_odds_of_its_counts():
    levels, sides = np.repeat([0, 1, 2], [500, 500, 33]), np.repeat([0, 1, 1], [500, 500, 33])
    added = fit_level_odds(levels, sides, np.full(len(levels), -math.log(533 / 500))).of(np.array([2]))[0]
    assert added == pytest.approx(math.log(33.5 / 0.5), abs=1e-3)


def test_a_level_that_the_score_explains_adds_nothing():
    _, sides, scores = sample(0, skill=2.0)
    levels = (scores > 0.5).astype(np.int64)  # a level that points to side 1 strongly, as the score does
    assert log_p_value(levels, sides, np.zeros(N)) < -100.0
    assert log_p_value(levels, sides, scores) > math.log(1e-3)


@pytest.mark.parametrize("skill", [0.0, 1.0, 3.0])
def test_uninformative_levels_are_rarely_significant(skill):
    taken = sum(log_p_value(*sample(seed, skill=skill)) <= math.log(0.05) for seed in range(200))
    assert taken <= stats.binom.isf(1e-6, 200, 0.05)


def test_an_informative_level_is_significant():
    assert log_p_value(*sample(0, leak=1.0)) < math.log(1e-6)


def test_unequal_sides_do_not_make_a_level():
    levels, sides, scores = sample(0)
    fewer = np.flatnonzero((sides == 0) | (np.arange(N) % 3 == 0))
    assert log_p_value(levels[fewer], sides[fewer], scores[fewer]) > math.log(1e-3)


def test_levels_that_the_pilot_lacked_add_nothing():
    assert LevelOdds(np.array([2, 5]), np.array([1.0, -1.0])).of(np.array([1, 2, 5, 9])).tolist() == [
        0.0,
        1.0,
        -1.0,
        0.0,
    ]
    assert fit_level_odds(np.arange(100), np.arange(100) % 2, np.zeros(100)).of(np.arange(3)).tolist() == [0.0] * 3


def test_largest_log_ratio_is_that_of_every_threshold():
    rng = np.random.default_rng(0)
    out, in_ = rng.normal(size=150).round(1), rng.normal(0.7, size=200).round(1)

    def ratio(gain, n_gain, loss, n_loss):
        if not gain or loss == n_loss:
            return -math.inf
        lower = stats.beta.ppf(PILOT_LEVEL, gain, n_gain - gain + 1)
        return math.log(lower / stats.beta.ppf(1 - PILOT_LEVEL, loss + 1, n_loss - loss))

    best = max(
        max(
            ratio(np.sum(in_ >= t), 200, np.sum(out >= t), 150),
            ratio(np.sum(out < t), 150, np.sum(in_ < t), 200),
        )
        for t in np.concatenate([out, in_])
    )
    assert largest_log_ratio(out, in_) == pytest.approx(best)


def test_largest_log_ratio_of_equal_or_empty_sides_is_0():
    same = special.ndtri((np.arange(500) + 0.5) / 500)
    assert largest_log_ratio(same, same) < 0.02
    assert largest_log_ratio(np.empty(0), same) == 0.0
