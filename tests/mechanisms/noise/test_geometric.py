"""Geometric: sampler against law, truncation, exact curve for numbers and vectors by brute force, refusals."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from tests.mechanisms.noise.frequencies import p_value_of

from dpassay.mechanisms.core import Neighbours, Outputs, ParameterError
from dpassay.mechanisms.noise.geometric import Geometric

FALSE_ALARM = 1e-6


def law(epsilon: float, sensitivity: int, answer: int, outputs: np.ndarray) -> np.ndarray:
    a = math.exp(-epsilon / sensitivity)
    return (1 - a) / (1 + a) * a ** np.abs(outputs - answer)


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return max(np.maximum(p - math.exp(epsilon) * q, 0).sum(), np.maximum(q - math.exp(epsilon) * p, 0).sum())


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(1.0, 1), (0.5, 3), (3.0, 1)])
def test_noise_has_the_geometric_law(epsilon, sensitivity):
    values = Geometric(epsilon, sensitivity=sensitivity).release(5, 200_000, np.random.default_rng(1)).values
    assert values.dtype == np.int64
    outputs = np.arange(0, 11)
    assert p_value_of(values, outputs, law(epsilon, sensitivity, 5, outputs)) > FALSE_ALARM


def test_variance_is_the_known_one():
    # 2 a / (1 - a)^2, a = e^-epsilon: 1.84135 at epsilon 1, 199.833 at 0.1
    for epsilon, variance in ((1.0, 1.84135), (0.1, 199.833)):
        a = Geometric(epsilon).ratio
        assert 2 * a / (1 - a) ** 2 == pytest.approx(variance, rel=5e-6)
        values = Geometric(epsilon).release(0, 200_000, np.random.default_rng(2)).values.astype(float)
        spread = np.std(values**2) / math.sqrt(len(values))
        assert abs(np.mean(values**2) - variance) < stats.norm.isf(FALSE_ALARM / 2) * spread


@pytest.mark.parametrize(("lower", "upper"), [(0, 10), (None, 4), (3, None), (-2, 3), (5, 8)])
@pytest.mark.parametrize("answer", [-1, 0, 4, 9])
def test_truncated_noise_has_its_log_probability_as_law(lower, upper, answer):
    mechanism = Geometric(0.6, lower=lower, upper=upper)
    outputs = np.arange(-40 if lower is None else lower, (60 if upper is None else upper) + 1)
    probability = np.exp(mechanism.log_density(Outputs(outputs), answer))
    assert probability.sum() == pytest.approx(1.0, abs=1e-9)
    values = mechanism.release(answer, 100_000, np.random.default_rng(3)).values
    assert p_value_of(values, outputs, probability) > FALSE_ALARM


def test_log_density_refuses_what_cannot_happen():
    outputs = Outputs(np.array([-1.0, 0.0, 0.5, 3.0, 4.0]))
    truncated = Geometric(1.0, lower=0, upper=3)
    assert np.isneginf(truncated.log_density(outputs, 1)).tolist() == [True, False, True, False, True]
    assert np.isneginf(Geometric(1.0).log_density(outputs, 1)).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("sensitivity", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_curve_with_lumped_tails_is_the_curve_of_the_whole_law(epsilon, sensitivity):
    outputs = np.arange(-800 * sensitivity, 801 * sensitivity)
    p, q = law(epsilon, sensitivity, 0, outputs), law(epsilon, sensitivity, sensitivity, outputs)
    claim = Geometric(epsilon, sensitivity=sensitivity).guarantee()
    for t in (0.0, 0.3 * epsilon, 0.7 * epsilon, 0.99 * epsilon):
        assert claim.delta(t) == pytest.approx(hockey_stick(p, q, t), rel=1e-9, abs=1e-13)
    assert claim.epsilon(0.0) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("first", [1, 2, 3])
def test_no_split_of_the_sensitivity_over_two_queries_is_worse_than_none(first):
    """Brute force over the plane: the steps (first, 4 - first) against the claim, which is that of (4, 0)."""
    epsilon, sensitivity = 1.0, 4
    outputs = np.arange(-150, 155)
    p = np.outer(law(epsilon, sensitivity, 0, outputs), law(epsilon, sensitivity, 0, outputs))
    moved = [law(epsilon, sensitivity, step, outputs) for step in (first, sensitivity - first)]
    claim = Geometric(epsilon, sensitivity=sensitivity, n_queries=2).guarantee()
    for t in np.linspace(0.0, 0.99, 12):
        split = hockey_stick(p, np.outer(*moved), t)
        assert split <= claim.delta(t) + 1e-12
        assert split > 0.3 * claim.delta(t) or t > 0.5  # the twin is not empty


@pytest.mark.parametrize(("lower", "upper"), [(None, None), (0, None), (None, 0), (None, 50), (-3, -1), (10, 12)])
def test_worst_case_lies_within_the_bounds_and_attains_the_claim(lower, upper):
    mechanism = Geometric(1.0, sensitivity=2, lower=lower, upper=upper)
    pair = mechanism.worst_case()
    outputs = np.arange(-300 if lower is None else lower, (300 if upper is None else upper) + 1)
    p, q = (np.exp(mechanism.log_density(Outputs(outputs), pair.side(side))) for side in (0, 1))
    for t in (0.0, 0.5, 0.9):
        assert hockey_stick(p, q, t) == pytest.approx(mechanism.guarantee().delta(t), rel=1e-9)


def test_frequent_event_has_the_known_probabilities():
    # Pr[y <= c] = 1 / (1 + a) against a / (1 + a)
    mechanism = Geometric(1.0, lower=0, upper=1)
    a = math.exp(-1.0)
    p0, p1 = (math.exp(mechanism.log_density(Outputs(np.array([0])), d)[0]) for d in (0, 1))
    assert (p0, p1) == (pytest.approx(1 / (1 + a)), pytest.approx(a / (1 + a)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 1.0, "lower": 0.5}, "lower must be a whole number"),
        ({"epsilon": 1.0, "sensitivity": 3, "lower": 0, "upper": 2}, "upper - lower must be at least sensitivity = 3"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        Geometric(**options)


def test_whole_sensitivity_may_be_written_as_a_float():
    assert Geometric(1.0, sensitivity=2.0) == Geometric(1.0, sensitivity=2)


def test_answers_that_are_not_whole_are_refused():
    with pytest.raises(ParameterError, match="Use Laplace for real numbers"):
        Geometric(1.0).bind(Neighbours(0.0, 0.5, "add_remove"))


@pytest.mark.parametrize("n_moved", [1, 2])
def test_answers_that_move_by_one_have_the_curve_of_their_joint_law(n_moved):
    noise = Geometric(2.0, sensitivity=n_moved)
    outputs = Outputs(np.array(list(itertools.product(range(-20, 22), repeat=n_moved))))
    densities = (noise.log_density_around(answers, outputs) for answers in (np.zeros(n_moved), np.ones(n_moved)))
    law0, law1 = map(np.exp, densities)
    for epsilon in (0.0, 0.5, 1.5):
        delta = np.maximum(law1 - math.exp(epsilon) * law0, 0.0).sum()
        assert noise.exact_curve(n_moved).delta(epsilon) == pytest.approx(delta, abs=1e-7)
    assert Geometric(2.0, sensitivity=7).exact_curve(2) is None
