"""Conformance tests of all bounds of bits in the catalogue. A new bound is tested through its catalogue line.

Those of pairs: test_certificate.py.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.audit import calls
from tests.audit.one_run_laws import bit_misses, check_p_value, random_game, response

from dpassay.audit.bounds.bits.one_run import OneRun
from dpassay.audit.bounds.bits.one_run_fdp import OneRunFDP
from dpassay.audit.bounds.catalogue import build, catalogue
from dpassay.audit.bounds.families import family_of
from dpassay.audit.evidence.scores import BitScores
from dpassay.mechanisms.accounting import GaussianDP, LaplaceDP

GAUSSIAN = family_of(GaussianDP(1.0))

every = pytest.mark.parametrize("name", [name for name in catalogue if catalogue.get(name).reads is BitScores])


@every
@pytest.mark.usefixtures("without_refusals")
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_bound_never_exceeds_exact_epsilon_more_often_than_it_may(name, epsilon):
    coverage = bit_misses(build(name), response(epsilon), shape=(1, 60), repeats=1000, confidence=0.8)
    assert coverage.holds, coverage


@every
def test_perfect_attack_reaches_the_ceiling_and_a_random_one_gives_0(name):
    bits = np.arange(400)[None, :] % 2 == 1
    perfect = calls.lower_bound(build(name), BitScores(bits, np.where(bits, 1.0, -1.0)), delta=0.0, confidence=0.95)
    assert perfect.epsilon == pytest.approx(perfect.ceiling, rel=1e-6)
    assert perfect.epsilon > 3.0
    blind = BitScores(bits, np.zeros(bits.shape))
    assert calls.lower_bound(build(name), blind, delta=0.0, confidence=0.95).epsilon == 0.0


BOUNDS = [
    OneRun(),
    OneRun(guesses=50),
    OneRun(guesses=(0.1, 0.5), negatives=0.0),
    OneRun(delta_term="published"),
    OneRunFDP(curve_family=GAUSSIAN),
    OneRunFDP(curve_family=GAUSSIAN, guesses=(0.1, 0.5), negatives=0.0),
    OneRunFDP(curve_family=family_of(LaplaceDP(1.0)), guesses=50),
]
options = pytest.mark.parametrize("bound", BOUNDS, ids=lambda b: f"{b.name}-{BOUNDS.index(b)}")


@options
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), exponent=st.floats(0.31, 12), step=st.floats(1.0, 4.0))
def test_bound_falls_with_confidence_and_delta_but_not_below_zero(bound, seed, exponent, step):
    scores, alpha = random_game(seed), 10**-exponent
    lower_bound = calls.lower_bound(bound, scores, delta=1e-5, confidence=1 - alpha)
    at_higher_confidence = calls.lower_bound(bound, scores, delta=1e-5, confidence=1 - alpha / step)
    assert 0.0 <= at_higher_confidence.epsilon <= lower_bound.epsilon + 1e-6
    at_larger_delta = calls.lower_bound(bound, scores, delta=1e-5 * step, confidence=1 - alpha)
    assert at_larger_delta.epsilon <= lower_bound.epsilon + 1e-9
    assert lower_bound.epsilon <= lower_bound.ceiling + 1e-6


@options
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_bound_depends_only_on_the_order_of_the_scores(bound, seed):
    scores = random_game(seed, n_runs=2)
    epsilon = calls.lower_bound(bound, scores, delta=1e-6, confidence=0.9).epsilon
    order = np.random.default_rng(seed).permutation(scores.n_bits)
    for other in (
        BitScores(scores.bits, np.arctan(3 * scores.scores) - 7),
        BitScores(scores.bits.ravel()[order][None, :], scores.scores.ravel()[order][None, :]),
        BitScores(scores.bits.reshape(8, -1), scores.scores.reshape(8, -1)),  # several runs are one run
    ):
        assert calls.lower_bound(bound, other, delta=1e-6, confidence=0.9).epsilon == epsilon
    swapped = replace(bound, negatives=1 - bound.negatives)
    mirrored = BitScores(~scores.bits, -scores.scores)
    assert calls.lower_bound(swapped, mirrored, delta=1e-6, confidence=0.9).epsilon == epsilon


@options
def test_p_value_is_where_the_bound_passes_epsilon(bound):
    for epsilon in (0.4, 1.3) if isinstance(bound, OneRunFDP) else (0.0, 0.4, 1.3):  # 0 is not in the family
        check_p_value(bound, epsilon)


def test_sizes_in_a_list_become_a_tuple():
    assert build("one-run", guesses=[0.1, 0.5]) == OneRun(guesses=(0.1, 0.5))
    assert build("one-run-fdp", guesses=[0.1, 50]) == OneRunFDP(guesses=(0.1, 50))
