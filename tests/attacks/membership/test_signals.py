"""Signals: known answers, brute force, and predictions so sure that 1 - p is lost."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import special

from dpassay.attacks.membership.signals import MIN_LOG_PROBABILITY, SIGNALS

P = np.log([[0.7, 0.2, 0.1]])
Y = np.array([0])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", -0.3567),
        ("confidence", 0.7),
        ("entropy", -0.8018),
        ("modified-entropy", -0.1622),
        ("margin", 1.2528),
        ("rescaled-logit", 0.8473),
        ("correct", 1.0),
    ],
)
def test_signals_of_one_prediction_are_the_printed_ones(name, value):
    assert SIGNALS[name](P, Y) == pytest.approx([value], abs=5e-5)


@given(st.lists(st.floats(-8, 8), min_size=3, max_size=6), st.integers(0, 2))
def test_signals_equal_their_formulas(logits, label):
    log_p = np.array([logits]) - special.logsumexp(logits)
    p, y = np.exp(log_p[0]), np.array([label])
    rest = np.delete(p, label)
    expected = {
        "loss": np.log(p[label]),
        "confidence": p[label],
        "entropy": np.sum(p * np.log(p)),
        "modified-entropy": rest.sum() * np.log(p[label]) + np.sum(rest * np.log1p(-rest)),
        "margin": np.log(p[label]) - np.log(rest.max()),
        "rescaled-logit": np.log(p[label]) - np.log(rest.sum()),
        "correct": float(p[label] >= rest.max()),
    }
    for name, value in expected.items():
        assert SIGNALS[name](log_p, y) == pytest.approx([value], rel=1e-7, abs=1e-9), name


def test_rescaled_logit_distinguishes_predictions_that_round_to_1():
    sure = np.array([[-1e-17, np.log(1e-17)], [-1e-30, np.log(1e-30)]])
    phi = SIGNALS["rescaled-logit"](sure, np.zeros(2))
    assert phi == pytest.approx([17 * np.log(10), 30 * np.log(10)])


@pytest.mark.parametrize("name", SIGNALS)
def test_signals_are_finite_where_a_class_has_probability_zero(name):
    log_p = np.array([[0.0, -np.inf, -np.inf], [-np.inf, 0.0, -np.inf], [-np.inf, np.log(0.5), np.log(0.5)]])
    values = SIGNALS[name](log_p, np.zeros(3))
    assert np.isfinite(values).all()
    assert np.abs(values).max() <= -2 * MIN_LOG_PROBABILITY
    if name != "entropy":
        assert values[0] > values[1]


def test_modified_entropy_of_certain_predictions():
    logits = np.array([[60.0, 0.0], [-60.0, 0.0]])
    log_p = logits - special.logsumexp(logits, axis=1, keepdims=True)
    right, wrong = SIGNALS["modified-entropy"](log_p, np.zeros(2))
    assert right == pytest.approx(0.0, abs=1e-20)
    assert wrong == pytest.approx(-120.0)


def test_entropy_rewards_a_confident_mistake_and_modified_entropy_does_not():
    log_p = np.log([[0.01, 0.99], [0.6, 0.4]])
    assert np.diff(SIGNALS["entropy"](log_p, np.zeros(2))) < 0
    assert np.diff(SIGNALS["modified-entropy"](log_p, np.zeros(2))) > 0


def test_signals_keep_leading_axes():
    log_p = np.log(np.random.default_rng(0).dirichlet(np.ones(3), size=(5, 4)))
    y = np.array([0, 1, 2, 0])
    for name, signal in SIGNALS.items():
        whole = signal(log_p, y)
        assert whole.shape == (5, 4), name
        assert whole == pytest.approx(np.stack([signal(one, y) for one in log_p])), name
