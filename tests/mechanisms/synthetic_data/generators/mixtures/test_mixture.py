import numpy as np
import pytest
from scipy.stats import chi2

from dpassay.mechanisms.core.errors import ParameterError
from dpassay.mechanisms.noise.queries import Domain
from dpassay.mechanisms.synthetic_data import Measured
from dpassay.mechanisms.synthetic_data.generators.mixtures import GeneratorNetwork, RelaxedTable
from dpassay.mechanisms.synthetic_data.generators.mixtures.mixture import Mixture, parts_of_runs

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
    parts = list(parts_of_runs(10, 2**24 // 3))
    assert [(part.start, part.stop) for part in parts] == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert [(part.start, part.stop) for part in parts_of_runs(2, 2**30)] == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    "generator", [RelaxedTable(n_rows=4, steps=20), GeneratorNetwork(n_samples=4, hidden=(6,), steps=20)]
)
def test_runs_that_are_fitted_in_parts_are_fitted_alike(generator, monkeypatch):
    measured = [Measured(("a", "c"), np.random.default_rng(0).normal(20.0, 9.0, (5, 8)), 1.0)]
    whole = generator.fit(DOMAIN, measured, np.random.default_rng(1)).marginal(("a", "c"))
    monkeypatch.setattr("dpassay.mechanisms.synthetic_data.generators.mixtures.mixture.LARGEST", 250)
    in_parts = generator.fit(DOMAIN, measured, np.random.default_rng(1)).marginal(("a", "c"))
    np.testing.assert_allclose(in_parts, whole, rtol=1e-9)
