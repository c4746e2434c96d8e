"""Values that the pilot saw: how often, and on which side."""

import numpy as np

from dpassay.attacks.distinguishing.low_level.repeats import OFTEN, Repeats

RNG = np.random.default_rng


def pilot(n=300, values=400, columns=1, seed=0):
    """Some values often, many once, and none."""
    rng = RNG(seed)
    rows = np.concatenate([rng.integers(0, 3, (n // 2, columns)), rng.integers(0, values, (n - n // 2, columns))])
    return rows.astype(np.float64), rng.integers(0, 2, n)


def test_a_row_that_is_left_out_has_the_level_that_it_would_have_without_it():
    rows, sides = pilot()
    repeats = Repeats.learn(rows, sides, None)
    left_out = repeats.levels_left_out(rows, sides)
    rare = [i for i in range(len(rows)) if np.count_nonzero(rows == rows[i]) < OFTEN]
    assert len(rare) > 100
    for i in rare:
        without = Repeats.learn(np.delete(rows, i, 0), np.delete(sides, i), None)
        assert left_out[i] == without.levels(rows[[i]])[0]


def test_frequent_values_are_levels_of_their_own_and_are_named():
    rows, sides = pilot()
    repeats = Repeats.learn(rows, sides, None)
    levels = repeats.levels(np.array([[0.0], [1.0], [2.0], [1e9]]))
    assert [repeats.describe(int(level)) for level in levels[:3]] == [f"the output is {k}.0 exactly" for k in (0, 1, 2)]
    assert repeats.describe(int(levels[3])) == "the output occurred never on side 0 of the pilot and never on side 1"


def test_counts_of_rare_values_are_told_in_words():
    rows = np.array([5.0] + [6.0] * 3 + [7.0] * 9)[:, None]
    repeats = Repeats.learn(rows, np.array([0] + [1] * 3 + [0] * 4 + [1] * 5), None)
    words = [repeats.describe(int(level)) for level in repeats.levels(np.array([[5.0], [6.0], [7.0]]))]
    assert words == [
        "the output occurred once on side 0 of the pilot and never on side 1",
        "the output occurred never on side 0 of the pilot and 2 to 3 times on side 1",
        "the output occurred 4 to 7 times on side 0 of the pilot and 4 to 7 times on side 1",
    ]


def test_a_whole_output_repeats_only_where_all_coordinates_do():
    rows = np.array([[1.0, 2.0]] * 20 + [[2.0, 1.0]] * 20 + [[1.0, 1.0]])
    repeats = Repeats.learn(rows, np.zeros(41, dtype=np.int64), None)
    levels = repeats.levels(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [2.0, 2.0]]))
    assert len(set(levels.tolist())) == 4
    assert repeats.describe(int(levels[0])) == "the output is (1.0, 2.0) exactly"
    one = Repeats.learn(rows, np.zeros(41, dtype=np.int64), 1)
    assert one.describe(int(one.levels(rows[:1])[0])) == "coordinate 1 is 2.0 exactly"


def test_what_never_repeats_teaches_nothing():
    assert Repeats.learn(RNG(0).normal(size=(500, 2)), RNG(1).integers(0, 2, 500), None) is None


def test_vectors_on_a_grid_have_digests_of_their_own():
    grid = np.stack(np.meshgrid(*[np.arange(40.0)] * 3), axis=-1).reshape(-1, 3)
    repeats = Repeats.learn(np.concatenate([grid, grid[:1]]), np.zeros(len(grid) + 1, dtype=np.int64), None)
    assert len(repeats.keys) == len(grid)
