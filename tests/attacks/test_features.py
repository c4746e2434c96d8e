from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dpassay.attacks.learners.features import Features, as_matrix, as_rows, robust_scale
from dpassay.mechanisms.core import AttackError


def naive_columns(row: np.ndarray, centre: np.ndarray, scale: np.ndarray) -> list[float]:
    z = [(x - c) / s for x, c, s in zip(row, centre, scale, strict=True)]
    columns = [*z, sum(z), sum(x > 0 for x in z) / len(z), sum(x * x for x in z) ** 0.5, max(z), min(z)]
    return columns + ([a * b for a, b in combinations(z, 2)] if len(z) <= 8 else [])


@pytest.mark.parametrize("n_coordinates", [2, 3, 8, 9])
def test_columns_agree_with_a_loop_over_rows(n_coordinates: int) -> None:
    values0, values1 = np.random.default_rng(0).normal(3.0, 2.0, size=(2, 25, n_coordinates))
    features = Features.learn("auto", values0, values1)
    naive = [naive_columns(row, features.centre, features.scale) for row in values0]
    assert features.columns(values0) == pytest.approx(np.array(naive), abs=1e-12)


def test_coordinates_alone_and_single_numbers_have_no_summaries() -> None:
    values = np.random.default_rng(1).normal(size=(20, 3))
    assert Features.learn("coordinates", values, values).columns(values).shape == (20, 3)
    assert Features.learn("auto", values[:, 0], values[:, 0]).columns(values[:, 0]).shape == (20, 1)


def test_scales_are_those_of_the_pooled_pilot() -> None:
    values0, values1 = np.arange(0.0, 50.0), np.arange(50.0, 101.0)
    features = Features.learn("auto", values0, values1)
    assert (features.centre, features.scale) == (50.0, 50.0)


def test_the_spread_falls_back_where_the_interquartile_range_is_0() -> None:
    spiky = np.append(np.zeros(9), 10.0)
    centre, scale = robust_scale(np.column_stack([spiky, np.full(10, 7.0)]))
    assert centre.tolist() == [0.0, 7.0]
    assert scale.tolist() == [3.0, 1.0]


def test_outputs_are_flattened() -> None:
    assert as_rows(np.zeros((4, 2, 3), dtype=np.int8)).shape == (4, 6)
    assert as_rows(np.zeros((4, 2, 3), dtype=np.int8)).dtype == np.int8
    assert as_rows(np.zeros(4)).shape == (4, 1)
    assert as_rows(np.zeros((0, 5))).shape == (0, 5)
    assert as_matrix(np.array([1 + 2j])).tolist() == [[1.0, 2.0]]
    assert as_matrix(np.zeros((4, 0))).tolist() == [[0.0]] * 4


@pytest.mark.parametrize("values", [np.array(["a"]), np.array([None]), np.array([{}])])
def test_outputs_that_are_not_numbers_are_refused(values: np.ndarray) -> None:
    with pytest.raises(AttackError, match=r"are not numbers.*Outputs\.events"):
        as_rows(values)
