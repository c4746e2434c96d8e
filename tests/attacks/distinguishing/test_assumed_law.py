"""The law that an auditor names: optimal where it is right, valid where it is wrong, and bit for bit for floats."""

import numpy as np
import pytest

from dpassay.attacks.base import Target
from dpassay.attacks.distinguishing import AssumedLaw, LikelihoodRatio
from dpassay.audit import audit
from dpassay.mechanisms import Laplace, Neighbours, Outputs, PureDP
from dpassay.mechanisms.broken.floats import FloatLaplace
from dpassay.mechanisms.core.errors import ParameterError

PAIR = Neighbours(np.zeros(2), np.array([0.0, 1.0]), "replace_one")


def noisy_sum(records, size, rng):
    return np.sum(records) + rng.laplace(0.0, 2.0, size=size)


def whole_noise(records, size, rng):
    return np.sum(records) + rng.geometric(0.4, size=size) - rng.geometric(0.4, size=size)


def verdict(function, law, claim=0.52):
    options = {"claim": PureDP(claim), "delta": 0.0, "trials": 20_000, "confidence": 1 - 1e-6, "seed": 0}
    return audit(function, PAIR, attack=AssumedLaw(law=law), **options)


def test_scores_are_the_likelihood_ratios_of_the_law():
    law, outputs, rng = Laplace(0.5), Outputs(np.linspace(-3, 4, 50)), np.random.default_rng(0)
    target, nothing = Target(law, law.worst_case()), Outputs(np.empty(0))
    scores = [
        attack.fit(target, nothing, nothing, rng).score(outputs) for attack in (AssumedLaw(law=law), LikelihoodRatio())
    ]
    np.testing.assert_array_equal(*scores)


def test_a_function_with_noise_in_floats_is_refuted_by_the_law_of_floats_alone(without_power):
    floats, real = FloatLaplace(0.5, sampler="numpy", query=np.sum), Laplace(0.5, query=np.sum)
    assert verdict(noisy_sum, floats).verdict.value == "violation"
    assert verdict(noisy_sum, floats).bound.epsilon > 5.0
    shown = verdict(noisy_sum, real)
    assert shown.verdict.value == "consistent"
    assert 0.4 < shown.bound.epsilon <= 0.5


def test_a_function_that_closes_the_holes_is_not(without_power):
    """Its true epsilon is ln(1 / 0.6) = 0.511; its outputs are whole, and no law of floats gives them."""
    shown = verdict(whole_noise, FloatLaplace(0.5, sampler="numpy", query=np.sum))
    assert shown.verdict.value == "consistent"


def test_what_has_no_law_is_refused():
    with pytest.raises(ParameterError, match=r"law must have a method log_density.*but is 'laplace'"):
        AssumedLaw(law="laplace")
