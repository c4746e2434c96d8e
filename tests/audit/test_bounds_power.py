"""What so many trials could have shown."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.bounds.clopper_pearson import ClopperPearson
from audit.bounds.simultaneous import SimultaneousBand
from audit.power import detectable_epsilon, trials_needed
from audit.testing.coverage import bounds_drawn, randomized_response
from mechanisms.errors import ParameterError

BOUNDS = [ClopperPearson(), SimultaneousBand()]


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.name)
@pytest.mark.parametrize(("claim", "delta", "n"), [(1.0, 0.0, 1000), (0.2, 0.0, 400), (2.0, 0.05, 3000)])
def test_perfect_attack_on_the_detectable_epsilon_is_seen_nine_times_in_ten(bound, claim, delta, n):
    level = {"delta": delta, "confidence": 0.95, "n_out": n, "n_in": n}
    found = detectable_epsilon(bound, claim=claim, **level)
    fixed = ClopperPearson(threshold=2.0) if isinstance(bound, ClopperPearson) else bound

    def shown(epsilon):
        return float(
            (bounds_drawn(fixed, randomized_response(epsilon, delta), repeats=400, seed=1, **level) > claim).mean()
        )

    assert shown(found) > 0.9 - 4.8 * math.sqrt(0.09 / 400)
    assert shown(claim + 0.5 * (found - claim)) < 0.8  # and it is not needlessly large


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.name)
def test_detectable_epsilon_falls_towards_the_claim_with_more_trials(bound):
    sizes = [30, 100, 1000, 10_000, 1_000_000]
    found = [detectable_epsilon(bound, claim=1.0, delta=1e-6, confidence=0.95, n_out=n, n_in=n) for n in sizes]
    assert found == sorted(found, reverse=True)
    assert 1.0 < found[-1] < 1.02


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.name)
def test_detectable_epsilon_is_infinite_where_the_ceiling_is_below_the_claim(bound):
    for n in (5, 20, 60, 200):
        ceiling = bound.ceiling(n, n, delta=0.0, confidence=0.95)
        level = {"delta": 0.0, "confidence": 0.95, "n_out": n, "n_in": n}
        assert detectable_epsilon(bound, claim=ceiling + 1e-6, **level) == math.inf
        assert ceiling == 0 or math.isfinite(detectable_epsilon(bound, claim=0.9 * ceiling, **level))


def test_prepared_bound_gives_the_same_power_at_any_threshold():
    level = {"claim": 1.0, "delta": 0.0, "confidence": 0.9, "n_out": 500, "n_in": 700}
    found = {detectable_epsilon(ClopperPearson(threshold=t), **level) for t in (-3.0, 0.0, 1.0, 1e9)}
    assert found == {detectable_epsilon(ClopperPearson(), **level)}


@given(claim=st.floats(0, 3), delta=st.sampled_from([0.0, 1e-5, 0.1]), n=st.integers(20, 5000))
def test_detectable_epsilon_lies_above_the_claim_and_grows_with_probability(claim, delta, n):
    level = {"claim": claim, "delta": delta, "confidence": 0.95, "n_out": n, "n_in": n}
    usual = detectable_epsilon(ClopperPearson(), **level)
    assert claim < usual <= detectable_epsilon(ClopperPearson(), **level, probability=0.99)


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.name)
def test_trials_needed_is_the_inverse_of_detectable_epsilon(bound):
    level = {"claim": 1.0, "delta": 0.01, "confidence": 0.95}
    n = trials_needed(bound, true_epsilon=1.2, **level)
    assert detectable_epsilon(bound, n_out=n, n_in=n, **level) <= 1.2 * 1.002
    assert detectable_epsilon(bound, n_out=int(0.9 * n), n_in=int(0.9 * n), **level) > 1.2


def test_fewest_trials_for_a_claim_of_zero_are_counted_exactly():
    # perfect separation: the bound is ln((1 - h) / h), h = 1 - 0.025^(1/n), above 0 from n = 6 on
    assert trials_needed(ClopperPearson(), claim=0.0, true_epsilon=50.0, delta=0.0, confidence=0.95) == 6


def test_impossible_questions_are_refused():
    with pytest.raises(ParameterError, match=r"true_epsilon must exceed the claim \(1\), but is 1"):
        trials_needed(ClopperPearson(), claim=1.0, true_epsilon=1.0, delta=0.0, confidence=0.95)
    with pytest.raises(ParameterError, match="too close to the claim"):
        trials_needed(ClopperPearson(), claim=1.0, true_epsilon=np.nextafter(1.0, 2), delta=0.0, confidence=0.95)
    with pytest.raises(ParameterError, match="n_out must be a whole number >= 1, but is 0"):
        detectable_epsilon(ClopperPearson(), claim=1.0, delta=0.0, confidence=0.95, n_out=0, n_in=3)
    with pytest.raises(ParameterError, match="probability must lie strictly between 0 and 1"):
        detectable_epsilon(ClopperPearson(), claim=1, delta=0.0, confidence=0.9, n_out=9, n_in=9, probability=1.0)
