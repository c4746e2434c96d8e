"""Repeated releases: shapes, density, composed claims, truth."""

import math

import numpy as np
import pytest

from dpassay.mechanisms.accounting import ExactDP, PureDP
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.combinators.repeated import Repeated
from dpassay.mechanisms.core import AccountingError, Neighbours, NeighboursError, Outputs, ParameterError, Workers
from dpassay.mechanisms.local.broken import BiasedCoinResponse
from dpassay.mechanisms.local.randomized_response import RandomizedResponse
from dpassay.mechanisms.noise.gaussian import Gaussian
from dpassay.mechanisms.noise.geometric import Geometric
from dpassay.mechanisms.noise.laplace import Laplace


@pytest.mark.parametrize(
    ("base", "answers", "shape"), [(Laplace(1.0), 0.0, (7, 3)), (Laplace(1.0, n_queries=2), [0.0, 1.0], (7, 3, 2))]
)
def test_rounds_are_rows_and_releases_come_next(base, answers, shape):
    repeated = Repeated(base, 3)
    outputs = repeated.release(answers, 7, np.random.default_rng(1))
    assert outputs.values.shape == shape
    direct = base.release(answers, 21, np.random.default_rng(1)).values
    np.testing.assert_array_equal(outputs.values.reshape(direct.shape), direct)


@pytest.mark.parametrize("base", [Laplace(1.0), Laplace(1.0, n_queries=2), RandomizedResponse(1.0)])
def test_log_density_is_the_sum_over_the_releases(base):
    repeated = Repeated(base, 4)
    dataset = repeated.worst_case().d1
    outputs = repeated.release(dataset, 9, np.random.default_rng(2))
    one_by_one = sum(base.log_density(Outputs(outputs.values[:, i]), dataset) for i in range(4))
    np.testing.assert_allclose(repeated.output_law().log_density(outputs, dataset), one_by_one, rtol=1e-12)


def test_density_is_offered_only_where_the_base_has_one():
    pair = Neighbours([1], [1, 2], "add_remove")
    function = FunctionMechanism(lambda data, rng: rng.laplace(), claim=PureDP(1.0), neighbours=pair)
    assert Repeated(Laplace(1.0), 2).output_law() is not None
    assert Repeated(function, 2).output_law() is None
    assert Repeated(function, 2).workers is Workers.PROCESSES
    assert Repeated(Laplace(1.0), 2).workers is Workers.THREADS


def test_it_pickles_with_its_density():
    import pickle

    repeated = pickle.loads(pickle.dumps(Repeated(Laplace(1.0), 2)))
    assert repeated.output_law().log_density(Outputs(np.zeros((1, 2))), 0.0)[0] == pytest.approx(-2 * math.log(2))


def test_exceptional_outputs_of_single_releases_make_an_event_of_the_round():
    calls = []

    def sometimes_nothing(data, rng):
        calls.append(data)
        return None if len(calls) % 6 == 0 else 1.0

    pair = Neighbours([1], [1, 2], "add_remove")
    repeated = Repeated(FunctionMechanism(sometimes_nothing, claim=PureDP(1.0), neighbours=pair), 3)
    calls.clear()  # those that showed the form
    outputs = repeated.release([1], 4, np.random.default_rng(0))
    assert outputs.events.tolist() == ["", "ok, ok, None"] * 2
    assert outputs.values[outputs.events != ""].tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("base", [Laplace(0.1), Geometric(0.1), RandomizedResponse(0.1)])
def test_basic_composition_adds(base):
    assert Repeated(base, 20).guarantee().epsilon(0.0) == pytest.approx(2.0, rel=1e-9)


def test_accountants_are_ordered_as_theory_says():
    # Kairouz, Oh and Viswanath: 100 times 0.1 at delta 1e-6 is 4.775 at best, basic composition says 9.98
    claims = {
        name: Repeated(Laplace(0.1), 100, accounting=name).guarantee().epsilon(1e-6)
        for name in ("basic", "advanced", "optimal", "privacy-loss")
    }
    assert claims["privacy-loss"] < claims["optimal"] < claims["advanced"] < claims["basic"]
    assert claims["optimal"] == pytest.approx(4.775, abs=5e-4)


def test_exact_guarantee_is_below_every_claim_and_k_epsilon_at_delta_zero():
    repeated = Repeated(Laplace(0.5), 4)
    truth = repeated.exact_guarantee()
    assert truth.epsilon(0.0) == pytest.approx(2.0, abs=1e-3)
    for delta in (1e-3, 1e-2, 0.1):
        assert truth.epsilon(delta) < Repeated(Laplace(0.5), 4, accounting="optimal").guarantee().epsilon(delta)


@pytest.mark.parametrize(("heads", "exact"), [(0.6, 10.17801), (0.4, 5.24223)])
def test_exact_guarantee_of_an_asymmetric_mechanism_is_of_both_laws(heads, exact):
    base = BiasedCoinResponse(heads=heads)
    laws = [np.array([1.0]), np.array([1.0])]
    for _ in range(8):
        laws = [
            np.outer(law, each).ravel()
            for law, each in zip(laws, (base.exact_guarantee().p0, base.exact_guarantee().p1), strict=True)
        ]
    product, truth = ExactDP(*laws), Repeated(base, 8).exact_guarantee()
    assert product.epsilon(0.1) == pytest.approx(exact, abs=1e-5)
    assert 0.0 <= truth.epsilon(0.1) - product.epsilon(0.1) < 1e-3
    levels = np.linspace(0.05, 5.0, 12)
    np.testing.assert_allclose(truth.delta(levels), product.delta(levels), atol=1e-5)


def test_exact_guarantee_of_gaussian_noise_is_closed_form():
    assert Repeated(Gaussian(noise_multiplier=2.0), 4).exact_guarantee().mu == pytest.approx(1.0)
    assert Repeated(Gaussian(noise_multiplier=2.0), 4).guarantee().mu == pytest.approx(1.0)


def test_the_pair_is_that_of_the_base():
    repeated = Repeated(Laplace(1.0), 2)
    repeated.bind(repeated.worst_case())
    assert repeated.relation is repeated.base.relation
    with pytest.raises(NeighboursError):
        repeated.bind(Neighbours(0, 2, "add_remove"))


def test_bad_options_are_refused():
    with pytest.raises(ParameterError, match="base must be a Mechanism"):
        Repeated("laplace", 2)
    with pytest.raises(ParameterError, match="Did you mean"):
        Repeated(Laplace(1.0), 2, accounting="advance")
    with pytest.raises(AccountingError):
        Repeated(Gaussian(noise_multiplier=1.0), 2, accounting="advanced")
