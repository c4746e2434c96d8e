"""Graphical models against the direct method, closed forms and brute force; junction trees by their definition."""

import itertools

import numpy as np
import pytest

from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.synthetic_data import DirectGenerator, GraphicalModel, NoisyMarginal
from dpassay.mechanisms.literature.synthetic_data.generators.junction_tree import JunctionTree
from dpassay.mechanisms.noise.queries.domain import Domain

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "d": 4, "e": 2, "f": 3})
CIRCLE = (("a", "b"), ("c", "b"), ("c", "d"), ("d", "a"), ("e",))
CHAIN = (("b", "a"), ("b", "c"), ("c", "d"), ("f", "e"))
WIDE = (("a", "b", "c"), ("c", "d"), ("d", "e", "f"), ("a", "f"))


def noisy(marginals, size=3, deviation=8.0, noise="gaussian", seed=0):
    rng = np.random.default_rng(seed)
    cells = np.random.default_rng(1).dirichlet(np.full(DOMAIN.n_cells, 0.3)).reshape(DOMAIN.shape)
    results = []
    for names in marginals:
        places = [DOMAIN.index(name) for name in names]
        exact = 400.0 * np.einsum(cells, range(6), places).ravel()
        draw = rng.normal if noise == "gaussian" else rng.laplace
        scale = deviation if noise == "gaussian" else deviation / np.sqrt(2.0)
        results.append(NoisyMarginal(names, draw(exact, scale, (size, len(exact))), deviation, noise))
    return results


def fit(generator, measured, **options):
    return generator.fit(DOMAIN, measured, np.random.default_rng(0), **options)


@pytest.mark.parametrize(
    ("marginals", "noise"), [(CIRCLE, "gaussian"), (CHAIN, "laplace"), (WIDE, "gaussian"), (WIDE, "laplace")]
)
def test_it_finds_what_the_direct_method_finds_measured_or_not(marginals, noise):
    options = {"n_steps": 800, "tolerance": 1e-6}
    measured = noisy(marginals, size=2, noise=noise)
    direct, model = (fit(kind(**options), measured) for kind in (DirectGenerator, GraphicalModel))
    np.testing.assert_array_equal(direct.total, model.total)
    for names in [*marginals, ("d", "b"), ("f", "a", "c"), ("e", "a"), DOMAIN.names]:
        np.testing.assert_allclose(model.marginal(names), direct.marginal(names), atol=0.02)


def test_a_chain_of_exact_marginals_has_its_closed_form():
    """p(a, b, c) = p(a, b) p(b, c) / p(b): each end is independent of the other given the middle."""
    joint = np.random.default_rng(2).dirichlet(np.ones(12)).reshape(2, 3, 2)
    ab, bc, b = joint.sum(axis=2), joint.sum(axis=0), joint.sum(axis=(0, 2))
    measured = [
        NoisyMarginal(("a", "b"), 900.0 * ab.reshape(1, 6), 0.5),
        NoisyMarginal(("b", "c"), 900.0 * bc.reshape(1, 6), 0.5),
    ]
    result = fit(GraphicalModel(n_steps=3000, tolerance=1e-10), measured, n_records=900).marginal(("a", "c"))
    np.testing.assert_allclose(result.reshape(2, 2), 900.0 * (ab / b) @ bc, atol=0.01)


def test_what_is_not_measured_is_uniform_and_independent():
    result = fit(GraphicalModel(), [NoisyMarginal(("a",), np.array([[30.0, 70.0]]), 1.0)]).marginal(("d", "a"))
    np.testing.assert_allclose(result, [np.tile([7.5, 17.5], 4)], atol=1e-3)


def test_each_run_is_fitted_as_if_it_were_alone():
    measured = noisy(CIRCLE, size=7)
    together = fit(GraphicalModel(), measured).marginal(("a", "c"))
    for run in range(7):
        alone = fit(GraphicalModel(), [one.of_runs(np.array([run])) for one in measured])
        np.testing.assert_allclose(together[run], alone.marginal(("a", "c"))[0], rtol=1e-9)


def test_negative_answers_make_cells_empty_and_nothing_breaks():
    result = fit(GraphicalModel(), [NoisyMarginal(("a", "b"), np.array([[500.0, -4e3, 20.0, -9e5, 300.0, 1.0]]), 0.1)])
    assert np.isfinite(result.marginal(("a", "b"))).all()
    np.testing.assert_allclose(result.marginal(("b",)).sum(), result.total[0])


@pytest.mark.parametrize("marginals", [CIRCLE, CHAIN, WIDE, tuple(itertools.combinations(DOMAIN.names, 2))])
def test_a_junction_tree_has_every_marginal_and_is_connected_by_attribute(marginals):
    tree = JunctionTree.of(DOMAIN, marginals)
    assert all(tree.holder(names) is not None for names in marginals)
    assert {name for names in tree.cliques for name in names} == set(DOMAIN.names)
    assert all(parent < number for number, parent in enumerate(tree.parents))
    for name in DOMAIN.names:  # connected: one clique of those that hold it has a parent that does not
        holding = [number for number, names in enumerate(tree.cliques) if name in names]
        tops = [number for number in holding if name not in tree.separators[number]]
        assert len(tops) == 1


def test_a_circle_is_cut_where_it_costs_least():
    """Of the circle a-b-c-d, joining b and d costs 2 x 3 x 4 twice, joining a and c 2 x 3 x 2 and 2 x 4 x 2."""
    tree = JunctionTree.of(DOMAIN, CIRCLE)
    assert {("a", "b", "c"), ("a", "c", "d")} < set(tree.cliques)
    assert tree.n_cells == 12 + 16 + 2 + 3


def test_a_too_large_tree_is_refused_with_its_size_before_it_is_built():
    domain = Domain({f"x{i}": 40 for i in range(8)})
    pairs = list(itertools.combinations(domain.names, 2))
    measured = [NoisyMarginal(names, np.ones((1, 1600)), 1.0) for names in pairs]
    with pytest.raises(ParameterError, match=r"marginals too large for memory.* 6,553,600,000,000 cells, 52,428.8 GB"):
        GraphicalModel().fit(domain, measured, np.random.default_rng(0))


def test_tables_have_the_fitted_marginals_but_for_rounding():
    fitted = fit(GraphicalModel(), noisy(WIDE))
    rows = 3000
    tables = fitted.table(rows, np.random.default_rng(3))
    assert tables.shape == (3, rows, 6)
    for names in (*WIDE, ("a", "e"), ("b", "f")):
        expected = fitted.marginal(names) * (rows / fitted.total[:, None])
        size = expected.shape[1]
        counts = np.stack([np.bincount(DOMAIN.cells(table, names), minlength=size) for table in tables])
        z = (counts - expected) / np.sqrt(np.maximum(expected * (1.0 - expected / rows), 1.0))
        assert np.abs(z).max() < 5.0
    root = fitted.tree.cliques[0]
    expected = fitted.marginal(root) * (rows / fitted.total[:, None])
    counts = np.stack([np.bincount(DOMAIN.cells(table, root), minlength=expected.shape[1]) for table in tables])
    assert np.abs(counts - expected).max() <= 1.0
