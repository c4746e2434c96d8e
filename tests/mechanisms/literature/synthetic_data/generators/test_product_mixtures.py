import math
from itertools import product

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import chi2

from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.synthetic_data import NoisyMarginal
from dpassay.mechanisms.literature.synthetic_data.generators import GeneratorNetwork, RelaxedTable
from dpassay.mechanisms.literature.synthetic_data.generators.product_mixtures import (
    Mixture,
    _mixture_answers,
    _mixture_gradients,
    _parts_of_runs,
    adam,
    through_softmax,
)
from dpassay.mechanisms.noise.queries import Domain

SHAPES = [(3,), (2, 3), (3, 2, 2), (2, 3, 2, 2), (2, 1, 3, 2, 2)]


def columns_of(shape, size=2, n_rows=4, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.random((size, n_rows, n)) for n in shape]


@pytest.mark.parametrize("shape", SHAPES)
def test_answers_are_means_over_rows_of_products_of_weights(shape):
    columns = columns_of(shape)
    result = _mixture_answers(columns).reshape(2, *shape)
    for run, *cell in product(range(2), *map(range, shape)):
        rows = [
            math.prod(column[run, row, value] for column, value in zip(columns, cell, strict=True)) for row in range(4)
        ]
        assert result[(run, *cell)] == pytest.approx(sum(rows) / 4, rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_differences_of_the_answers(shape):
    columns, rng, step = columns_of(shape), np.random.default_rng(1), 1e-6
    weights = rng.normal(size=(2, math.prod(shape)))
    for k, gradient in enumerate(_mixture_gradients(columns, weights)):
        assert gradient.shape == columns[k].shape
        for _ in range(5):
            place = tuple(rng.integers(0, columns[k].shape))
            moved = [column.copy() for column in columns]
            moved[k][place] += step
            change = ((_mixture_answers(moved) - _mixture_answers(columns)) * weights).sum() / step
            assert gradient[place] == pytest.approx(change, abs=1e-8)


def test_gradient_goes_through_the_softmax():
    rng, step = np.random.default_rng(0), 1e-6
    logits, weights = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
    gradient = through_softmax(softmax(logits, axis=-1), weights)
    for place in np.ndindex(logits.shape):
        moved = logits.copy()
        moved[place] += step
        change = ((softmax(moved, axis=-1) - softmax(logits, axis=-1)) * weights).sum() / step
        assert gradient[place] == pytest.approx(change, abs=1e-7)


def test_adam_goes_to_the_minimum_and_leaves_the_start_alone():
    aim, start = [np.array([[1.0, -2.0]]), np.array([[[30.0]]])], [np.zeros((1, 2)), np.full((1, 1, 1), 29.0)]
    results = adam(start, lambda now: [a - b for a, b in zip(now, aim, strict=True)], steps=400, rate=0.1)
    for one, other in zip(results, aim, strict=True):
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
    (result,) = adam([np.zeros(1)], lambda now: [np.array([next(slopes)])], steps=2, rate=0.1)
    assert result[0] == pytest.approx(x, rel=1e-9)


def test_adam_stays_in_its_range():
    seen = []

    def gradients(now):
        seen.append(now[0].copy())
        return [np.array([1.0, -1.0])]

    (result,) = adam([np.full(2, 0.5)], gradients, steps=50, rate=0.1, low=0.0, high=1.0)
    np.testing.assert_allclose(result, [0.0, 1.0])
    assert np.min(seen) >= 0.0
    assert np.max(seen) <= 1.0


DOMAIN = Domain({"a": 2, "b": 3, "c": 4})


def mixture(size=2, n_mixed=5, seed=0):
    rng = np.random.default_rng(seed)
    columns = {k: rng.dirichlet(0.3 * np.ones(n), (size, n_mixed)) for k, n in ((0, 2), (2, 4))}
    return Mixture(DOMAIN, np.array([100.0, 200.0]), columns)


def test_attributes_in_any_order_have_the_same_counts():
    fitted = mixture()
    one, other = fitted.marginal(["a", "c"]).reshape(2, 2, 4), fitted.marginal(["c", "a"]).reshape(2, 4, 2)
    np.testing.assert_allclose(one, other.transpose(0, 2, 1))


def test_what_was_not_measured_is_uniform_and_independent():
    fitted = mixture()
    joint = fitted.marginal(["b", "a"]).reshape(2, 3, 2)
    np.testing.assert_allclose(joint, np.tile(fitted.marginal(["a"])[:, None, :] / 3, (1, 3, 1)))


def test_records_are_drawn_from_the_mixture():
    fitted = mixture()
    tables = fitted.table(40_000, np.random.default_rng(1))
    assert tables.shape == (2, 40_000, 3)
    expected = fitted.marginal(DOMAIN.names) / fitted.total[:, None] * 40_000
    counts = DOMAIN.histogram(tables)
    distance = ((counts - expected) ** 2 / expected).sum(axis=1)
    assert (distance < chi2.isf(5e-7, 23)).all()


def test_values_of_weight_zero_are_never_drawn():
    columns = {0: np.array([[[1.0, 0.0]]]), 1: np.array([[[0.0, 0.3, 0.0]]]), 2: np.zeros((1, 1, 4))}
    table = Mixture(DOMAIN, np.ones(1), columns).table(5_000, np.random.default_rng(0))[0]
    assert set(table[:, 0]) == {0}
    assert set(table[:, 1]) == {1}
    assert set(table[:, 2]) == {0, 1, 2, 3}  # no weight at all: uniform


def test_a_marginal_too_large_for_memory_is_refused_before_it_is_built():
    wide = Domain(dict.fromkeys("abcdef", 100))
    fitted = Mixture(wide, np.ones(1), {0: np.full((1, 5, 100), 0.01)})
    with pytest.raises(ParameterError, match="GB"):
        fitted.marginal("abcdef")


def test_parts_hold_every_run_once():
    parts = list(_parts_of_runs(10, 2**24 // 3))
    assert [(part.start, part.stop) for part in parts] == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert [(part.start, part.stop) for part in _parts_of_runs(2, 2**30)] == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    "generator", [RelaxedTable(n_rows=4, steps=20), GeneratorNetwork(n_samples=4, hidden=(6,), steps=20)]
)
def test_runs_that_are_fitted_in_parts_are_fitted_alike(generator, monkeypatch):
    measured = [NoisyMarginal(("a", "c"), np.random.default_rng(0).normal(20.0, 9.0, (5, 8)), 1.0)]
    whole = generator.fit(DOMAIN, measured, np.random.default_rng(1)).marginal(("a", "c"))
    monkeypatch.setattr(
        "dpassay.mechanisms.literature.synthetic_data.generators.product_mixtures.MAX_BLOCK_ENTRIES", 250
    )
    in_parts = generator.fit(DOMAIN, measured, np.random.default_rng(1)).marginal(("a", "c"))
    np.testing.assert_allclose(in_parts, whole, rtol=1e-9)
