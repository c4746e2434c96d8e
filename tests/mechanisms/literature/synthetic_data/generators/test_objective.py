import numpy as np
import pytest
from scipy.stats import laplace, norm

from dpassay.mechanisms.literature.synthetic_data.base import NoisyMarginal
from dpassay.mechanisms.literature.synthetic_data.generators.objective import LeastSquaresProblem, marginal_loss
from dpassay.mechanisms.literature.synthetic_data.generators.product_mixtures import Mixture
from dpassay.mechanisms.noise.queries import Domain

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})


def law(size=2, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(12), size=size).reshape(size, 2, 3, 2)


def test_marginals_are_in_the_order_of_the_domain_not_of_measurement():
    p = law()
    ca = p.sum(axis=2).transpose(0, 2, 1)  # c first
    total = np.array([10.0, 20.0])
    problem = LeastSquaresProblem.of(
        DOMAIN, [NoisyMarginal(("c", "a"), total[:, None] * ca.reshape(2, -1), 1.0)], total
    )
    assert problem.regions == ((0, 2),)
    np.testing.assert_allclose(problem.shares[0], p.sum(axis=2))


def test_a_marginal_measured_twice_counts_once_by_its_precision():
    p = law().sum(axis=3)
    twice = [
        NoisyMarginal(("a", "b"), 10.0 * p.reshape(2, -1), np.array([1.0, 2.0])),
        NoisyMarginal(("b", "a"), 10.0 * p.transpose(0, 2, 1).reshape(2, -1) + 5.0, 2.0),
        NoisyMarginal(("c",), np.ones((2, 2)), 1.0),
    ]
    problem = LeastSquaresProblem.of(DOMAIN, twice, np.array([10.0, 10.0]))
    assert problem.regions == ((0, 1), (2,))
    np.testing.assert_allclose(problem.shares[0][0], p[0] + 0.5 * 0.2)  # weights 1 and 1/4
    np.testing.assert_allclose(problem.shares[0][1], p[1] + 0.5 * 0.5)  # weights 1/4 and 1/4
    ratio = problem.precisions[0] / problem.precisions[1]
    np.testing.assert_allclose(ratio, [1.25, 0.5])


@pytest.mark.parametrize(("noise", "kind"), [("gaussian", norm), ("laplace", laplace)])
def test_marginal_loss_is_the_negative_log_density_up_to_a_constant(noise, kind):
    """Not only in proportion to it: between any two distributions the differences are the same."""
    rng = np.random.default_rng(0)
    scale = 3.0 if noise == "gaussian" else 3.0 / np.sqrt(2.0)
    answers = [rng.normal(20.0, 10.0, (2, 6)), rng.normal(50.0, 10.0, (2, 2))]
    measured = [
        NoisyMarginal(("a", "b"), answers[0], 3.0, noise=noise),
        NoisyMarginal(("c",), answers[1], 3.0, noise=noise),
    ]
    gaps = []
    for seed in (0, 1):
        columns = {k: np.random.default_rng(seed).dirichlet(np.ones(n), (2, 4)) for k, n in enumerate(DOMAIN.shape)}
        fitted = Mixture(DOMAIN, np.array([100.0, 120.0]), columns)
        density = sum(
            kind.logpdf(y, fitted.marginal(one.attributes), scale).sum(axis=1)
            for y, one in zip(answers, measured, strict=True)
        )
        gaps.append(marginal_loss(fitted, measured) + density)
    np.testing.assert_allclose(gaps[0], gaps[1])
