"""Generated queries: the counts, which sets are drawn, and columns of real values."""

from itertools import combinations

import numpy as np
import pytest
from tests.attacks.table_laws import REAL, TABLE, Bootstrap, sides, target

from dpassay.attacks.literature.synthetic_tables import generated_queries
from dpassay.attacks.literature.synthetic_tables.generated_queries import (
    AgreementCounts,
    GeneratedQueries,
    draw_queries,
)
from dpassay.attacks.literature.synthetic_tables.levels import Levels, agreeing
from dpassay.mechanisms.core import ParameterError


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 130])
def test_counts_are_those_of_a_loop(n_rows):
    rng = np.random.default_rng(n_rows)
    tables, record = rng.integers(0, 3, (4, n_rows, 5)), np.array([0, 1, 2, 0, 1])
    queries = draw_queries(5, 12, (1, 2, 3), rng)
    counts = AgreementCounts(np.repeat(record[:, None], 2, axis=1)[None].astype(float), queries).of(tables)
    naive = [[sum(all(row[list(q)] == record[list(q)]) for row in table) for q in queries] for table in tables]
    assert counts.tolist() == naive


def test_sets_are_distinct_and_of_the_requested_orders():
    queries = draw_queries(10, 60, (1, 2, 3), np.random.default_rng(0))
    assert len(queries) == len(set(queries)) == 60
    assert queries[0] == tuple(range(10))
    assert [sum(len(q) == k for q in queries) for k in (1, 2, 3)] == [10, 24, 25]
    assert set(draw_queries(4, 100, (2,), np.random.default_rng(0))) == {(0, 1, 2, 3), *combinations(range(4), 2)}


def test_real_values_agree_if_in_the_same_bin():
    values = np.random.default_rng(0).random((10_000, 1))
    low, high = Levels.learn(values).interval(0.55, 0)
    assert (low, high) == (pytest.approx(0.5, abs=0.02), pytest.approx(0.6, abs=0.02))
    lowest, highest = Levels.learn(values).interval(0.01, 0)[0], Levels.learn(values).interval(0.99, 0)[1]
    assert (lowest, highest) == (-np.inf, np.inf)


def test_unknown_values_have_the_next_lower_level():
    levels = Levels.learn(np.array([[2, 0.5], [4, 1.5], [2, 0.5]]))
    assert levels.shape == (2, 2)
    assert levels.code(np.array([[[2, 0], [4, 0], [3, 0], [1, 0], [9, 0]]]), 0).tolist() == [[0, 1, 0, 0, 1]]
    whole = Levels.learn(np.array([[0], [1], [2]]))
    assert whole.code(np.array([[[2], [0], [7]]]), 0).tolist() == [[2, 0, 2]]


def test_the_pilot_does_not_choose_the_sets():
    attack, rng = GeneratedQueries(n_queries=20), np.random.default_rng
    one = attack.features(target(), *(o.values for o in sides(Bootstrap(), seed=1)), rng(0))
    other = attack.features(target(), *(o.values for o in sides(Bootstrap(), seed=2)), rng(0))
    assert one.queries == other.queries
    assert one.intervals.tolist() == [[[9, 9]] * 5]
    real = attack.features(target(REAL), *(o.values for o in sides(Bootstrap(), REAL)), rng(0))
    assert (real.intervals[0, :, 0] <= REAL.d1[-1]).all()
    assert (real.intervals[0, :, 1] >= REAL.d1[-1]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"orders": ()}, "orders must hold at least one"), ({"orders": (0, 2)}, "orders must be")],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        GeneratedQueries(**options)


def test_a_data_frame_is_a_table():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(TABLE, columns=list("abcde"))
    from dpassay.mechanisms.core import remove_record

    pair = remove_record(frame, -1)
    attack = GeneratedQueries(n_queries=5).features(target(pair), TABLE[None], TABLE[None], np.random.default_rng(0))
    assert attack.intervals[0, :, 0].tolist() == [9] * 5


@pytest.mark.parametrize(
    ("value", "expected"), [(np.inf, 0), (-np.inf, 0), (np.nan, 0), (1e300, 0), (2.5, 0), (2.0, 4)]
)
def test_a_value_that_no_whole_number_equals_agrees_with_none(value, expected):
    tables = np.array([[[1], [2], [2]], [[2], [3], [2]]])
    assert agreeing(tables, (value, value), 0).sum() == expected


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (0, 2), (5, 16)])
def test_ones_are_counted_alike_by_every_version_of_numpy(shape):
    words = np.random.default_rng(0).integers(2**64, size=shape, dtype=np.uint64)
    ones = [sum(int(word).bit_count() for word in row) for row in words]
    assert generated_queries._ones(words).sum(axis=1, dtype=np.float64).tolist() == ones
    assert generated_queries._count_ones(words).sum(axis=1, dtype=np.float64).tolist() == ones
