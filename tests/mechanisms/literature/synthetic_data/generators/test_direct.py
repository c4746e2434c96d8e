"""The direct method against known answers and a solver of quadratic programs."""

import numpy as np
import pytest
from scipy import optimize

from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.synthetic_data import DirectGenerator, NoisyMarginal
from dpassay.mechanisms.literature.synthetic_data.generators.direct import Projection, systematic_sample
from dpassay.mechanisms.noise.queries.domain import Domain

CUBE = Domain({"a": 2, "b": 2, "c": 2})
THOROUGH = DirectGenerator(n_steps=20_000, tolerance=1e-12)


def fit(measured, generator=THOROUGH, domain=CUBE, **options):
    return generator.fit(domain, measured, np.random.default_rng(0), **options)


def test_projection_adds_up_and_spreads_in_the_order_of_the_attributes():
    domain = Domain({"a": 2, "b": 3, "c": 4})
    values = np.random.default_rng(0).random((5, 24))
    table = values.reshape(5, 2, 3, 4)
    projection = Projection(domain, ("c", "a"))
    np.testing.assert_allclose(projection.sums(values), table.sum(axis=2).transpose(0, 2, 1).reshape(5, 8))
    part = np.random.default_rng(1).random((5, 8))
    spread = np.broadcast_to(projection.spread(part), table.shape)
    np.testing.assert_allclose(spread[:, :, 0], part.reshape(5, 4, 2).transpose(0, 2, 1))


def test_exact_marginals_give_the_product_conditional_on_the_shared_one():
    """Maximum entropy: a and c are independent given b."""
    joint = np.random.default_rng(2).dirichlet(np.ones(8)).reshape(2, 2, 2)
    ab, bc, b = joint.sum(axis=2), joint.sum(axis=0), joint.sum(axis=(0, 2))
    expected = ab[:, :, None] * bc[None] / b[None, :, None]
    measured = [
        NoisyMarginal(("a", "b"), 500.0 * ab.reshape(1, 4), 1.0),
        NoisyMarginal(("c", "b"), 500.0 * bc.T.reshape(1, 4), 1.0),
    ]
    result = fit(measured, n_records=500).marginal(("a", "b", "c"))
    np.testing.assert_allclose(result[0], 500.0 * expected.ravel(), atol=0.01)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_nothing_on_the_simplex_is_likelier(noise):
    """A cycle of three noisy marginals, which no distribution has: against a solver of scipy's."""
    rng = np.random.default_rng(3)
    names = (("a", "b"), ("b", "c"), ("c", "a"))
    measured = [NoisyMarginal(one, rng.normal(25.0, 12.0, (1, 4)), 10.0, noise) for one in names]
    project = np.concatenate([Projection(CUBE, one).sums(np.eye(8)).T for one in names])
    answers = np.concatenate([one.answers[0] for one in measured])

    def loss(shares):
        residuals = (100.0 * project @ shares - answers) / 10.0
        return 0.5 * np.sum(residuals**2) if noise == "gaussian" else np.sum(np.abs(residuals)) * np.sqrt(2.0)

    if noise == "gaussian":
        rows = np.concatenate([10.0 * project, 1e4 * np.ones((1, 8))])
        best = optimize.nnls(rows, np.append(answers / 10.0, 1e4))[0]
        best = loss(best / best.sum())
    else:  # a linear program: residual = up - down
        scaled = 10.0 * project
        program = optimize.linprog(
            np.concatenate([np.zeros(8), np.full(24, np.sqrt(2.0))]),
            A_eq=np.block([[scaled, -np.eye(12), np.eye(12)], [np.ones((1, 8)), np.zeros((1, 24))]]),
            b_eq=np.append(answers / 10.0, 1.0),
        )
        best = program.fun
    result = loss(fit(measured, n_records=100).shares[0])
    assert best - 1e-6 < result < best + (1e-4 if noise == "gaussian" else 0.1)
    assert loss(np.full(8, 0.125)) > best + 0.5


def test_each_run_is_fitted_as_if_it_were_alone():
    rng = np.random.default_rng(4)
    answers = rng.normal(20.0, 10.0, (6, 4))
    together = fit([NoisyMarginal(("a", "c"), answers, 5.0)], DirectGenerator()).shares
    for run in range(6):
        alone = fit([NoisyMarginal(("a", "c"), answers[[run]], 5.0)], DirectGenerator()).shares
        np.testing.assert_allclose(together[run], alone[0], rtol=1e-12)


def test_tables_have_each_cell_as_often_as_expected_but_for_rounding():
    shares = np.random.default_rng(5).dirichlet(np.full(12, 0.4), size=300)
    cells = systematic_sample(shares, 50, np.random.default_rng(6))
    counts = np.stack([np.bincount(row, minlength=12) for row in cells])
    assert np.abs(counts - 50.0 * shares).max() < 1.0
    one = np.repeat(shares[:1], 20_000, axis=0)
    mean = np.stack([np.bincount(row, minlength=12) for row in systematic_sample(one, 5, np.random.default_rng(7))])
    np.testing.assert_allclose(mean.mean(axis=0), 5.0 * shares[0], atol=5.0 * 0.5 / np.sqrt(20_000))


def test_rows_are_in_random_order():
    fitted = fit([NoisyMarginal(("a",), np.array([[50.0, 50.0]]), 1.0)])
    rows = fitted.table(2000, np.random.default_rng(8))[0, :, 0]
    assert abs(np.corrcoef(rows[1:], rows[:-1])[0, 1]) < 0.11


def test_a_domain_that_is_too_large_is_refused_before_it_is_built():
    large = Domain({f"x{i}": 100 for i in range(6)})
    with pytest.raises(ParameterError, match=r"1,000,000,000,000 numbers would take 8,000.0 GB"):
        fit([NoisyMarginal(("x0",), np.ones((1, 100)), 1.0)], domain=large)


def test_nothing_measured_is_refused():
    with pytest.raises(ParameterError, match="at least one marginal"):
        fit([])
    with pytest.raises(ParameterError, match="run 0 has none"):
        fit([NoisyMarginal(("a",), np.ones((1, 2)), 1.0, runs=np.array([1]))])
