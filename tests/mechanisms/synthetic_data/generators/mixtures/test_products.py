import math
from itertools import product

import numpy as np
import pytest

from dpassay.mechanisms.synthetic_data.generators.mixtures import products
from dpassay.mechanisms.synthetic_data.generators.mixtures.adam import descend

SHAPES = [(3,), (2, 3), (3, 2, 2), (2, 3, 2, 2), (2, 1, 3, 2, 2)]


def columns_of(shape, size=2, n_rows=4, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.random((size, n_rows, n)) for n in shape]


@pytest.mark.parametrize("shape", SHAPES)
def test_answers_are_means_over_rows_of_products_of_weights(shape):
    columns = columns_of(shape)
    found = products.answers(columns).reshape(2, *shape)
    for run, *cell in product(range(2), *map(range, shape)):
        rows = [
            math.prod(column[run, row, value] for column, value in zip(columns, cell, strict=True)) for row in range(4)
        ]
        assert found[(run, *cell)] == pytest.approx(sum(rows) / 4, rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_differences_of_the_answers(shape):
    columns, rng, step = columns_of(shape), np.random.default_rng(1), 1e-6
    weights = rng.normal(size=(2, math.prod(shape)))
    for k, gradient in enumerate(products.gradients(columns, weights)):
        assert gradient.shape == columns[k].shape
        for _ in range(5):
            place = tuple(rng.integers(0, columns[k].shape))
            moved = [column.copy() for column in columns]
            moved[k][place] += step
            change = ((products.answers(moved) - products.answers(columns)) * weights).sum() / step
            assert gradient[place] == pytest.approx(change, abs=1e-8)


def test_gradient_goes_through_the_softmax():
    rng, step = np.random.default_rng(0), 1e-6
    logits, weights = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
    gradient = products.through_softmax(products.softmax(logits), weights)
    for place in np.ndindex(logits.shape):
        moved = logits.copy()
        moved[place] += step
        change = ((products.softmax(moved) - products.softmax(logits)) * weights).sum() / step
        assert gradient[place] == pytest.approx(change, abs=1e-7)


def test_softmax_of_large_numbers_is_a_distribution():
    np.testing.assert_allclose(products.softmax(np.array([1e4, 0.0, -1e4])), [1.0, 0.0, 0.0])


def test_adam_goes_to_the_minimum_and_leaves_the_start_alone():
    aim, start = [np.array([[1.0, -2.0]]), np.array([[[30.0]]])], [np.zeros((1, 2)), np.full((1, 1, 1), 29.0)]
    found = descend(start, lambda now: [a - b for a, b in zip(now, aim, strict=True)], steps=400, rate=0.1)
    for one, other in zip(found, aim, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    assert not start[0].any()


def test_first_steps_of_adam_are_those_of_its_authors():
    """Kingma and Ba 2015, algorithm 1, by hand; the rate falls from 0.1 to half of it in the second of two steps."""
    g1, g2 = 2.0, -1.0
    m, v = 0.1 * g1, 0.001 * g1**2
    x = -0.1 * (m / 0.1) / math.sqrt(v / 0.001)
    m, v = 0.9 * m + 0.1 * g2, 0.999 * v + 0.001 * g2**2
    x -= 0.05 * (m / (1 - 0.9**2)) / math.sqrt(v / (1 - 0.999**2))
    slopes = iter([g1, g2])
    (found,) = descend([np.zeros(1)], lambda now: [np.array([next(slopes)])], steps=2, rate=0.1)
    assert found[0] == pytest.approx(x, rel=1e-9)


def test_adam_stays_in_its_range():
    seen = []

    def gradients(now):
        seen.append(now[0].copy())
        return [np.array([1.0, -1.0])]

    (found,) = descend([np.full(2, 0.5)], gradients, steps=50, rate=0.1, low=0.0, high=1.0)
    np.testing.assert_allclose(found, [0.0, 1.0])
    assert np.min(seen) >= 0.0
    assert np.max(seen) <= 1.0
