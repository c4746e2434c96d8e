"""The arithmetic of the plugin: shares, confidences, seeds, options. Nothing is run."""

import math
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from dpassay.experiments.plugin.budget import confidence_at, seed_of, share
from dpassay.experiments.plugin.options import merge
from dpassay.mechanisms.core import ParameterError


@given(st.floats(1e-9, 0.5), st.integers(1, 1000))
def test_shares_of_a_session_never_exceed_its_budget(false_alarm, n_tests):
    calls_of_one_test = math.fsum(share(false_alarm, n_tests, call) for call in range(1, 2001))
    assert n_tests * calls_of_one_test <= false_alarm * (1 + 1e-12)


def test_shares_of_endlessly_many_calls_add_up_to_the_whole_budget():
    n = 10_000
    spent = math.fsum(share(1e-6, 1, call) for call in range(1, n + 1))
    tail = 1e-6 * 6 / math.pi**2 / n  # sum of 1/j^2 over j > n lies between 1/(n+1) and 1/n
    assert 1e-6 - tail <= spent <= 1e-6 - tail * n / (n + 1)


@given(st.floats(1e-14, 0.25))
def test_confidence_spends_the_share_up_to_one_float_and_never_more(significance):
    confidence = confidence_at(significance)
    assert 1.0 - confidence <= significance
    assert 1.0 - math.nextafter(confidence, 0.0) > significance


def test_a_share_that_floats_cannot_hold_is_refused_with_the_way_out():
    with pytest.raises(ParameterError, match=r"share .* is 9e-15.*parametrize.*--dp-false-alarm"):
        confidence_at(9e-15)


def test_seeds_of_different_calls_tests_and_roots_differ():
    seeds = Counter(seed_of(r, f"test_{t}.py::test", c) for r in range(20) for t in range(20) for c in range(20))
    assert len(seeds) == 8000
    assert all(0 <= seed < 2**62 for seed in seeds)


def test_a_seed_is_the_one_written_down():
    # python -c "import hashlib; print(int(hashlib.sha256(b'0\0a.py::t\0' + b'1').hexdigest()[:16], 16) >> 2)"
    assert seed_of(0, "a.py::t", 1) == 1416484090819395318


def test_options_of_the_nearer_mark_win():
    module, function, call = {"epsilon": 1.0, "trials": 10}, {"trials": 20, "d0": [], "d1": [1]}, {"epsilon": 2.0}
    assert merge(module, function, call) == {"epsilon": 2.0, "trials": 20, "d0": [], "d1": [1]}


def test_a_nearer_pair_or_claim_replaces_the_farther_one_in_its_other_form():
    far = {"d0": 0, "d1": 1, "relation": "add_remove", "epsilon": 1.0}
    assert merge(far, {"neighbours": "pair", "claim": "mu"}) == {"neighbours": "pair", "claim": "mu"}
    assert merge({"neighbours": "pair", "claim": "mu"}, far) == far


@pytest.mark.parametrize(
    "options",
    [{"claim": "mu", "epsilon": 1.0}, {"neighbours": "pair", "d0": 1}, {"neighbours": "pair", "relation": "r"}],
)
def test_both_forms_at_once_are_refused(options):
    with pytest.raises(ParameterError, match=r"pass either .* or .*, not both"):
        merge(options)


def test_an_unknown_option_is_named_with_the_nearest_one():
    with pytest.raises(ParameterError, match=r"'epsilom'\. Did you mean 'epsilon'\?"):
        merge({"epsilom": 1.0})
