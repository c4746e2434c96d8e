"""Distances of OpenDP between two datasets, against slow twins."""

import itertools
import math
from functools import cache

import numpy as np
import pytest

from dpassay.mechanisms.adapters.recording.libraries import distance_in
from dpassay.mechanisms.core import AccountingError


def edits(one, other):
    """Insertions and deletions by the recursion of the longest common subsequence."""

    @cache
    def common(i, j):
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + common(i + 1, j + 1)
        return max(common(i + 1, j), common(i, j + 1))

    return len(one) + len(other) - 2 * common(0, 0)


def changes(one, other):
    """Records to change, by the best order of the other."""
    return min(sum(a != b for a, b in zip(one, order, strict=True)) for order in itertools.permutations(other))


def test_distances_are_those_of_slow_twins():
    rng = np.random.default_rng(0)
    for _ in range(100):
        one, other = (rng.integers(3, size=rng.integers(6)).tolist() for _ in range(2))
        symmetric = sum(abs(one.count(v) - other.count(v)) for v in range(3))
        assert distance_in("SymmetricDistance()", one, other) == symmetric
        assert distance_in("InsertDeleteDistance()", one, other) == edits(tuple(one), tuple(other))
        unequal = len(one) != len(other)
        assert distance_in("ChangeOneDistance()", one, other) == (math.inf if unequal else changes(one, other))
        hamming = math.inf if unequal else sum(a != b for a, b in zip(one, other, strict=True))
        assert distance_in("HammingDistance()", one, other) == hamming


def test_order_counts_where_the_metric_says_so():
    one, other = [1, 2, 3], [3, 1, 2]
    result = {name: distance_in(f"{name}Distance()", one, other) for name in ("Symmetric", "InsertDelete", "ChangeOne")}
    assert result == {"Symmetric": 0.0, "InsertDelete": 2.0, "ChangeOne": 0.0}
    assert distance_in("HammingDistance()", one, other) == 3.0


def test_records_are_rows_and_not_a_number_is_one_record():
    rows = np.array([[1.0, math.nan], [2.0, 3.0]])
    assert distance_in("SymmetricDistance()", rows, rows[::-1].copy()) == 0.0
    assert distance_in("InsertDeleteDistance()", rows, rows[:1].copy()) == 1.0


@pytest.mark.parametrize("metric", ["SymmetricDistance()", "InsertDeleteDistance()"])
def test_datasets_whose_records_are_not_known_are_refused(metric):
    with pytest.raises(AccountingError, match="the records of a str cannot be counted"):
        distance_in(metric, "a,b", "a,b,c")
