"""Our graphical model against mbi, the reference implementation: the same measurements, the same optimum."""

import os
import warnings

import numpy as np
import pytest

os.environ |= {"JAX_ENABLE_X64": "1", "JAX_ENABLE_COMPILATION_CACHE": "false"}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("mbi")

from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.synthetic_data import GraphicalModel, NoisyMarginal
from dpassay.mechanisms.literature.synthetic_data.generators.graphical_model import MbiGraphicalModel
from dpassay.mechanisms.literature.synthetic_data.generators.mirror_descent import Likelihood
from dpassay.mechanisms.noise.queries.domain import Domain

pytestmark = pytest.mark.filterwarnings("ignore")
DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "d": 4, "e": 2, "f": 3})
CIRCLE = (("a", "b"), ("c", "b"), ("c", "d"), ("d", "a"), ("e",))
CHAIN = (("b", "a"), ("b", "c"), ("c", "d"), ("f", "e"))
WIDE = (("a", "b", "c"), ("c", "d"), ("d", "e", "f"), ("a", "f"))


def noisy(marginals, deviation=8.0):
    rng = np.random.default_rng(0)
    cells = rng.dirichlet(np.full(DOMAIN.n_cells, 0.3)).reshape(DOMAIN.shape)
    exact = [400.0 * np.einsum(cells, range(6), [DOMAIN.index(n) for n in names]).ravel() for names in marginals]
    return [
        NoisyMarginal(names, rng.normal(counts, deviation, (2, len(counts))), deviation)
        for names, counts in zip(marginals, exact, strict=True)
    ]


def fitted(generator, measured, **options):
    return generator.fit(DOMAIN, measured, np.random.default_rng(0), **options)


def loss(model, measured):
    shares = [model.marginal(one.attributes) / model.total[:, None] for one in measured]
    return Likelihood(measured, model.total).loss_and_slope(shares)[0]


@pytest.mark.parametrize("marginals", [CIRCLE, CHAIN, WIDE])
def test_both_find_the_same_distribution(marginals):
    measured = noisy(marginals)
    ours = fitted(GraphicalModel(n_steps=3000, tolerance=1e-8), measured)
    theirs = fitted(MbiGraphicalModel(n_steps=3000), measured)
    np.testing.assert_allclose(theirs.total, ours.total)
    assert (loss(ours, measured) <= loss(theirs, measured) + 1e-3).all()
    np.testing.assert_allclose(loss(ours, measured), loss(theirs, measured), atol=0.05)
    for names in [*marginals, ("d", "b"), ("f", "a", "c")]:
        np.testing.assert_allclose(ours.marginal(names), theirs.marginal(names), atol=1.0)


def test_tables_of_its_model_are_coded_records_near_its_marginals():
    model = fitted(MbiGraphicalModel(n_steps=300), noisy(CHAIN))
    tables = model.table(2000, np.random.default_rng(1))
    assert tables.shape == (2, 2000, 6)
    for table, expected, total in zip(tables, model.marginal(("b", "a")), model.total, strict=True):
        counts = np.bincount(DOMAIN.cells(DOMAIN.records(table), ("b", "a")), minlength=6)
        assert np.abs(counts - expected * 2000 / total).sum() < 40


def test_laplace_noise_is_refused():
    with pytest.raises(ParameterError, match="gaussian"):
        fitted(MbiGraphicalModel(), [NoisyMarginal(("a",), np.ones((1, 2)), 1.0, "laplace")])
