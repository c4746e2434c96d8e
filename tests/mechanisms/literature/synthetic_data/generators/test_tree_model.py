"""The graphical model of a tree: the best distribution that the whole domain has, whatever tree a run chose."""

import numpy as np
import pytest

from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.synthetic_data import MST, CodedTable, DirectGenerator, NoisyMarginal, TreeModel
from dpassay.mechanisms.noise.queries.domain import Domain

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "e": 4})


def table(n=2000):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, n)
    columns = (z, (z + rng.integers(0, 2, n)) % 3, rng.integers(0, 2, n) * z, 2 * z + rng.integers(0, 2, n))
    return CodedTable.of(DOMAIN, np.column_stack(columns))


@pytest.fixture(scope="module")
def measured():
    return MST(0.05, penalty=0.0).measure(table(), None, 5, np.random.default_rng(1))


def test_different_trees_at_once_give_the_law_of_the_whole_domain(measured):
    assert len({one.attributes for one in measured}) > 4 + 3
    rng = np.random.default_rng(0)
    tree = TreeModel(n_steps=300, tolerance=1e-6).fit(DOMAIN, measured, rng)
    whole = DirectGenerator(n_steps=600, tolerance=1e-5).fit(DOMAIN, measured, rng)
    np.testing.assert_allclose(tree.total, whole.total)
    for names in (("a",), ("b", "a"), ("e", "b"), ("e", "c", "a"), DOMAIN.names):
        np.testing.assert_allclose(tree.marginal(names), whole.marginal(names), atol=4.0)
    distances = [[(one, fit.marginal(one.attributes)) for one in measured] for fit in (tree, whole)]
    ours, best = (
        sum(
            np.sum(((result if one.runs is None else result[one.runs]) - one.answers) ** 2 / one.standard_deviation**2)
            for one, result in parts
        )
        for parts in distances
    )
    assert ours <= best + 0.05


def test_a_run_that_is_done_waits_for_the_others_where_it_is():
    """It is the same whether the others are like it, take far longer, or are not there."""
    rng = np.random.default_rng(1)
    calm = [20.0 + 6.0 * rng.normal(size=(30, size)) for size in (6, 6)]
    wild = [np.where(np.arange(30)[:, None] == 7, one, 300.0 * one) for one in calm]
    results = []
    for answers in (calm, wild, [one[7:8] for one in calm]):
        measured = [
            NoisyMarginal(names, one, 6.0) for names, one in zip((("a", "b"), ("c", "b")), answers, strict=True)
        ]
        results.append(TreeModel(tolerance=20.0).fit(DOMAIN, measured, rng).marginal(("a", "b")))
    np.testing.assert_allclose(results[1][7], results[0][7], rtol=1e-9)
    np.testing.assert_allclose(results[2][0], results[0][7], rtol=1e-9)


def test_rows_of_a_table_follow_the_distribution(measured):
    rng = np.random.default_rng(2)
    fitted = TreeModel().fit(DOMAIN, measured, rng)
    tables = fitted.table(20_000, rng)
    assert tables.shape == (5, 20_000, 4)
    shares = fitted.marginal(DOMAIN.names) / fitted.total[:, None]
    seen = np.stack([DOMAIN.histogram(one) for one in tables]) / 20_000
    assert np.abs(seen - shares).max() < 5 * np.sqrt(0.25 / 20_000)
    assert (seen[shares < 1e-9] == 0).all()


def test_what_nothing_is_known_of_is_even_and_independent():
    answers = np.array([[30.0, 10.0], [5.0, 35.0]])
    fitted = TreeModel().fit(DOMAIN, [NoisyMarginal(("c",), answers, 1.0)], np.random.default_rng(0))
    np.testing.assert_allclose(fitted.marginal(("c",)), answers, atol=0.1)
    np.testing.assert_allclose(fitted.marginal(("b", "c"))[0], np.tile([10.0, 10.0 / 3], 3), atol=0.1)


def test_a_pair_measured_twice_counts_as_its_average():
    once = np.array([[30.0, 0.0, 5.0, 10.0, 20.0, 1.0]])
    rng, generator = np.random.default_rng(0), TreeModel(tolerance=1e-7)
    two = [NoisyMarginal(("a", "b"), once + 3.0, 2.0), NoisyMarginal(("a", "b"), once - 3.0, 2.0)]
    twice, average = (generator.fit(DOMAIN, m, rng) for m in (two, [NoisyMarginal(("a", "b"), once, np.sqrt(2.0))]))
    np.testing.assert_allclose(twice.marginal(("a", "b")), average.marginal(("a", "b")), atol=1e-6)


@pytest.mark.parametrize(
    ("marginals", "message"),
    [
        ((("a", "b", "c"),), "pairs of attributes"),
        ((("a", "b"), ("b", "c"), ("c", "a")), "form a cycle"),
    ],
)
def test_measurements_that_form_no_tree_are_refused(marginals, message):
    measured = [NoisyMarginal(one, np.ones((2, DOMAIN.project(one).n_cells)), 1.0) for one in marginals]
    with pytest.raises(ParameterError, match=message):
        TreeModel().fit(DOMAIN, measured, np.random.default_rng(0))


def test_other_noise_than_gaussian_and_nothing_measured_are_refused():
    with pytest.raises(ParameterError, match="Gaussian"):
        TreeModel().fit(DOMAIN, [NoisyMarginal(("a",), np.ones((1, 2)), 1.0, "laplace")], np.random.default_rng(0))
    with pytest.raises(ParameterError, match="is empty"):
        TreeModel().fit(DOMAIN, [], np.random.default_rng(0))
