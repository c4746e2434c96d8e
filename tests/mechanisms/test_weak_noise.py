"""Weak noise, and next to none: every claim, exact curve and density is a number, up to epsilon a million.

e^710 is no float, e^-745 is 0, and an exact curve that reads 0 for a small probability lies above its claim. A density
of 0 where the claim leaves no delta is a witness against it, and a false one: see dpassay.audit.results.witness.
"""

import math
from functools import cache, partial

import numpy as np
import pytest
from tests.mechanisms.test_conformance import sample
from tests.mechanisms.test_larger_rates import rescaled

from dpassay.mechanisms.catalogue import catalogue
from dpassay.mechanisms.core import Mechanism, ParameterError

EPSILONS = (1e-6, 1.0, 50.0, 351.0, 709.0, 711.0, 745.0, 1e6)
DELTAS = np.array([0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9])
LEVELS = np.array([0.0, 1e-3, 1.0, 50.0, 300.0, 400.0, 700.0, 720.0, 1e4, 1e6, 1e7, 1e300, np.inf])
RATES = np.array([0.0, 1e-300, 1e-100, 1e-9, 1e-3, 0.1, 0.5, 0.9, 1.0])
BESIDE = {709.0, 745.0}
"""Epsilons beside another one, at which the trade-off, which has no powers of e, is the same."""


def of_about(epsilon, name, _value, power):
    """An option with which the privacy loss is about epsilon: at sensitivity 1 for noise and mu."""
    if name == "mu" or power < 0.0:
        return math.sqrt(2.0 * epsilon) ** power
    return epsilon


NETWORKS = {
    "adaptive-clipping",
    "dp-sgd",
    "fine-tuning",
    "federated-averaging",
    "federated-local-noise",
    "noisy-projected-sgd",
}
LEFT_OUT = {"laplace-top-k"} | NETWORKS
"""A theorem for small epsilons; and training, whose claims are compositions: tests/mechanisms/accounting."""
NAMES = [name for name in catalogue if not name.startswith("broken-") and name not in LEFT_OUT]
REFUSED = {
    "staircase": "epsilon must be at most 700",
    "snapping": "bound must lie above",
    "private-vote-epsilon": "all tables of votes have equal cost",
    **dict.fromkeys(("piecewise", "hybrid-mean", "sampled-attributes"), "epsilon must be at most 60"),
    "noisy-max-with-gap": "density of the gap is known",
}
"""Where a mechanism says by name what it cannot do."""
GRID = {"laplace-matrix", "naive-bayes-counts", "noisy-entropies", "noisy-family-counts", "repeated", "sum-and-count"}
GRID |= {"laplace-subset-counts"}
"""Exact curves that are privacy-loss distributions: seconds each, and above the exact ones by a grid."""
FIRST = dict.fromkeys(("stability-histogram", "propose-test-release", "deniable-release", "large-margin"), 1)
"""Place of the least epsilon: below it, worst cases have more than a million records, or the claim is refused."""


@cache
def weak(name, epsilon):
    """The mechanism of this name with noise for about this epsilon; None without such an option, or where refused."""
    return unless_refused(name, lambda: rescaled(sample(name), partial(of_about, epsilon)))


def three_views(guarantee, *, hull=True):
    """epsilon, delta and trade-off, which are numbers and monotone; without the hull 1 - fpr for the trade-off."""
    fnr = guarantee.tradeoff(RATES) if hull else 1.0 - RATES
    views = np.asarray(guarantee.epsilon(DELTAS)), np.asarray(guarantee.delta(LEVELS)), fnr
    for view in views:
        assert not np.isnan(view).any()
        finite = view[np.isfinite(view)]
        assert (np.diff(finite) <= 1e-9 * np.maximum(1.0, finite[1:])).all()
    epsilon, delta, fnr = views
    assert (epsilon >= 0.0).all()
    assert not np.isinf(epsilon[np.argmax(np.isfinite(epsilon)) :]).any()
    assert ((delta >= 0.0) & (delta <= 1.0)).all()
    assert ((fnr >= 0.0) & (fnr <= 1.0 - RATES + 1e-12)).all()
    return views


def unless_refused(name, make):
    """What `make` returns; None where the mechanism refuses by name."""
    try:
        return make()
    except ParameterError as refusal:
        if REFUSED.get(name, "no refusal is known") not in str(refusal):
            raise
        return None


@cache
def views_of_claim(name, epsilon):
    return three_views(weak(name, epsilon).guarantee())


@pytest.mark.parametrize("name", NAMES)
def test_claims_are_numbers_at_every_epsilon(name):
    for epsilon in EPSILONS[FIRST.get(name, 0) :]:
        if weak(name, epsilon) is not None:
            views_of_claim(name, epsilon)
            claim = weak(name, epsilon).guarantee()
            assert math.isfinite(claim.epsilon(claim.default_delta or 1e-6))


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in GRID else n for n in NAMES])
def test_exact_curves_keep_below_their_claims_at_every_epsilon(name):
    """An exact curve that a class does not define is its claim."""
    for epsilon in (1.0, 351.0, 711.0, 1e6) if name in GRID else EPSILONS[FIRST.get(name, 0) :]:
        mechanism = weak(name, epsilon)
        if mechanism is None or type(mechanism).exact_guarantee is Mechanism.exact_guarantee:
            continue
        exact = unless_refused(name, mechanism.exact_guarantee)
        if exact is None:
            continue
        claimed, attained = views_of_claim(name, epsilon), three_views(exact, hull=epsilon not in BESIDE)
        grid = 1e-4 * max(100.0, epsilon) if name in GRID else 1e-9 * max(1.0, epsilon)
        assert ((attained[0] <= claimed[0] + grid) | np.isinf(claimed[0])).all()
        if name not in GRID:
            assert (attained[1] <= claimed[1] + 1e-9).all()
            assert (attained[2] >= claimed[2] - 1e-9).all()


@pytest.mark.parametrize("name", NAMES)
def test_no_output_of_weak_noise_is_impossible(name):
    for epsilon in (50.0, 351.0, 745.0, 1e4, 1e6):
        mechanism = weak(name, epsilon)
        law = None if mechanism is None else mechanism.output_law()
        if law is None:
            continue
        pair, no_delta_left = mechanism.worst_case(), float(mechanism.guarantee().delta(math.inf)) == 0.0
        for side in (0, 1):
            outputs = mechanism.release(pair.side(side), 50, np.random.default_rng(side))
            for other in (0, 1):
                density = unless_refused(name, partial(law.log_density, outputs, pair.side(other)))
                if density is not None:
                    assert not np.isnan(density).any()
                    assert np.isfinite(density).all() or (side != other and not no_delta_left)
