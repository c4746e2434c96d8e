"""A fixed list of marginals: its noise, its claim, and what it refuses."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.synthetic_data import CodedTable, DirectGenerator, FixedMarginals
from dpassay.mechanisms.noise.queries.domain import Domain

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
FIVE = (("a", "b"), ("b", "c"), ("c", "a"), ("a",), ("a", "b", "c"))
FALSE_ALARM = 1e-6


@pytest.mark.parametrize(
    ("relation", "rho", "epsilon"), [("add_remove", 0.001, 0.23608), ("replace_one", 0.002, 0.33445)]
)
def test_five_marginals_at_deviation_50_have_the_claim_of_five_counts(relation, rho, epsilon):
    selection = FixedMarginals(FIVE, standard_deviation=50.0, relation=relation)
    claim = selection.concentrated(DOMAIN)
    assert claim.rho == pytest.approx(rho, rel=1e-12)
    assert round(claim.textbook_epsilon(1e-6), 5) == epsilon
    assert selection.guarantee(DOMAIN).epsilon(1e-6) < claim.epsilon(1e-6) < epsilon
    assert selection.guarantee(DOMAIN).mu == pytest.approx(math.sqrt(2.0 * rho), rel=1e-12)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_each_cell_has_independent_noise_around_its_exact_count(noise):
    data = np.array([[0, 2, 1]] * 30 + [[1, 0, 0]] * 10)
    selection = FixedMarginals(FIVE[:2], noise=noise, standard_deviation=4.0)
    table = CodedTable.of(DOMAIN, data)
    measured = selection.measure(table, DirectGenerator(), 4000, np.random.default_rng(0))
    assert [one.attributes for one in measured] == list(FIVE[:2])
    away = np.concatenate([(one.answers - table.marginal(one.attributes)) / 4.0 for one in measured], axis=1)
    law = stats.norm() if noise == "gaussian" else stats.laplace(scale=math.sqrt(0.5))
    assert stats.kstest(away.ravel(), law.cdf).pvalue > FALSE_ALARM
    correlations = np.corrcoef(away.T)[np.triu_indices(away.shape[1], 1)]
    assert np.abs(correlations).max() < stats.norm.isf(FALSE_ALARM / len(correlations)) / math.sqrt(4000)


def test_noise_is_calibrated_to_the_claim_of_all_marginals_together():
    assert FixedMarginals(FIVE, epsilon=1.0, noise="laplace").deviation(DOMAIN) == pytest.approx(5.0 * math.sqrt(2.0))
    selection = FixedMarginals(FIVE, epsilon=1.0, delta=1e-5, relation="replace_one")
    assert selection.guarantee(DOMAIN).epsilon(1e-5) == pytest.approx(1.0, rel=1e-6)
    assert selection.guarantee(DOMAIN).default_delta == 1e-5


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"epsilon": 1.0},
        {"epsilon": 1.0, "delta": 1e-5, "noise": "laplace"},
        {"epsilon": 1.0, "delta": 1e-5, "standard_deviation": 3.0},
        {"standard_deviation": 0.0},
        {"standard_deviation": 1.0, "noise": "cauchy"},
        {"standard_deviation": 1.0, "relation": "zero_out"},
    ],
)
def test_noise_that_is_not_stated_once_is_refused(options):
    with pytest.raises(ParameterError):
        FixedMarginals(FIVE, **options)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_marginals_of_one_cell_reveal_nothing_if_the_size_is_public(noise):
    options = {"standard_deviation": 2.0, "noise": noise}
    domain = Domain({"a": 2, "only": 1})
    with pytest.raises(ParameterError, match="two values") as caught:
        FixedMarginals((("only",),), relation="replace_one", **options).candidates(domain)
    assert caught.value.argument == "marginals"
    assert FixedMarginals((("only",),), **options).guarantee(domain).delta(0.1) > 0.0
