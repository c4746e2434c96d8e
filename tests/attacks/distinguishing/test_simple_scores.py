"""Log ratios of shifted noise are those of the exact laws, and statistics are the ones in which the sides differ."""

import numpy as np
import pytest
from scipy import stats
from tests.attacks.attack_laws import check_scorer

from dpassay.attacks.distinguishing.simple_scores import NoiseRatio, Statistic, _shift_of_medians
from dpassay.mechanisms import Outputs

RNG = np.random.default_rng
CENTRES, SHIFT = np.array([2.0, -1.0, 0.5]), np.array([1.0, 0.0, -0.5])
SCALES = np.array([1.0, 3.0, 0.4])
LAWS = {"laplace": (stats.laplace, "laplace"), "gaussian": (stats.norm, "normal")}


def rows(name, n=200_000, seed=0):
    noise = getattr(RNG(seed), LAWS[name][1])
    return CENTRES + SCALES * noise(size=(n, 3)), CENTRES + SHIFT + SCALES * noise(size=(n, 3))


@pytest.mark.parametrize("name", LAWS)
def test_the_log_ratio_of_noise_is_that_of_its_law(name):
    scorer = NoiseRatio.fit(rows(name), SHIFT)
    fresh, law = rows(name, 500, seed=1)[0], LAWS[name][0]
    exact = (law.logpdf(fresh, CENTRES + SHIFT, SCALES) - law.logpdf(fresh, CENTRES, SCALES)).sum(axis=1)
    assert scorer.noise == name
    assert scorer.columns.tolist() == [0, 2]
    np.testing.assert_allclose(scorer.score(Outputs(fresh)), exact, atol=0.05)
    check_scorer(scorer, fresh)


def test_laplace_log_ratios_are_flat_to_the_last_bit_beyond_both_centres():
    d, sides = 7, [RNG(side).laplace(size=(3_000, 7)) + 0.1 * side for side in (0, 1)]
    scorer = NoiseRatio.fit((sides[0], sides[1]), np.full(d, 0.1) * (1.0 + 1e-15 * np.arange(d)))
    up = RNG(2).random((500, d)) < 0.5
    scores = scorer.of_rows(np.where(up, 5.0, -5.0) + RNG(3).normal(size=(500, d)))
    of_counts = {count: np.unique(scores[up.sum(axis=1) == count]) for count in np.unique(up.sum(axis=1))}
    assert {len(values) for values in of_counts.values()} == {1}


def test_one_number_that_moves_is_described_as_an_interval():
    sides = RNG(0).laplace(size=(3_000, 1)), RNG(1).laplace(size=(3_000, 1)) - 2.0
    scorer = NoiseRatio.fit(sides, np.array([-2.0]))
    grid = np.linspace(-3.0, 1.0, 101)[:, None]
    for above in (True, False):
        text = scorer.describe(0.3, above=above)
        assert scorer.describes_outputs(0.3, above=above)
        end = float(text.rpartition(" ")[2])
        assert text.startswith("the output is at most" if above else "the output is at least")
        held = (scorer.of_rows(grid) >= 0.3) == above
        assert np.array_equal(held, (grid[:, 0] <= end) if above else (grid[:, 0] >= end))


def test_no_shift_suggests_no_score():
    assert NoiseRatio.fit(rows("laplace", 50), np.zeros(3)) is None


def test_medians_move_where_more_than_chance_moves_them():
    shift = _shift_of_medians(rows("gaussian", 2_000))
    assert np.flatnonzero(shift).tolist() == [0, 2]
    np.testing.assert_allclose(shift, SHIFT, atol=0.15)
    rngs = [RNG(seed) for seed in range(20)]
    sides = [(rng.laplace(size=(300, 50)), rng.laplace(size=(300, 50))) for rng in rngs]
    still = [np.flatnonzero(_shift_of_medians(side)) for side in sides]
    assert sum(map(len, still)) <= 1


def normal(rng, n, d=5):
    return rng.normal(size=(n, d))


def one_shifted(rng, n, side):
    return normal(rng, n) + 0.7 * side * np.eye(5)[3]


def one_wider(rng, n, side):
    return normal(rng, n) * (1.0 + 1.0 * side * np.eye(5)[1])


def all_shifted(rng, n, side):
    return normal(rng, n) + 0.35 * side


def all_wider(rng, n, side):
    return normal(rng, n) * (1.0 + 0.4 * side)


def smallest_lower(rng, n, side):
    x = normal(rng, n)
    at = x.argmin(axis=1)
    x[np.arange(n), at] -= 0.8 * side
    return x


def equal_more_often(rng, n, side):
    x = normal(rng, n)
    x[:, 4] = np.where(rng.random(n) < 0.05 + 0.4 * side, x[:, 0], x[:, 4])
    return x


STATISTICS = {
    "coordinate": (one_shifted, 3, "coordinate 3 is at least"),
    "distance": (one_wider, 1, "the distance of coordinate 1 from"),
    "sum": (all_shifted, 0, "the sum of the coordinates is at least"),
    "norm": (all_wider, 0, "the Euclidean norm of the coordinates, each on its scale, is at least"),
    "order": (smallest_lower, 0, "the coordinate of rank 1 of 5 is at most"),
    "values": (equal_more_often, 0, "the number of distinct coordinates is at most"),
}


@pytest.mark.parametrize("kind", STATISTICS)
def test_the_statistic_in_which_the_sides_differ_is_found_and_described(kind):
    draw, index, words = STATISTICS[kind]
    scorer = Statistic.fit((draw(RNG(0), 3_000, 0), draw(RNG(1), 3_000, 1)), 0.0)
    out, in_ = (scorer.score(Outputs(draw(RNG(2 + side), 500, side))) for side in (0, 1))
    assert (scorer.kind, scorer.index) == (kind, index)
    assert in_.mean() > out.mean()
    assert scorer.describe(float(np.median(in_))).startswith(words)
    check_scorer(scorer, draw(RNG(4), 301, 0))


def test_statistics_of_many_coordinates_are_those_that_differ_most():
    sides = [RNG(side).normal(size=(600, 500)) for side in (0, 1)]
    sides[1][:, 417] += 1.0
    scorer = Statistic.fit((sides[0], sides[1]), 0.0)
    assert (scorer.kind, scorer.index) == ("coordinate", 417)
