"""Conformance tests of all bounds of bits in the catalogue. A new bound is tested through its catalogue line.

Those of pairs: test_certificate.py.
"""

import numpy as np
import pytest
from tests.audit import asked
from tests.audit.one_run_laws import bit_misses, response

from dpassay.audit.bounds.catalogue import build, catalogue
from dpassay.audit.evidence.scores import BitScores

every = pytest.mark.parametrize("name", [name for name in catalogue if catalogue.get(name).reads is BitScores])


@every
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_bound_never_exceeds_exact_epsilon_more_often_than_it_may(name, epsilon):
    coverage = bit_misses(build(name), response(epsilon), shape=(1, 60), repeats=1000, confidence=0.8)
    assert coverage.holds, coverage


@every
def test_a_perfect_attack_reaches_the_ceiling_and_a_random_one_shows_nothing(name):
    bits = np.arange(400)[None, :] % 2 == 1
    perfect = asked.lower_bound(build(name), BitScores(bits, np.where(bits, 1.0, -1.0)), delta=0.0, confidence=0.95)
    assert perfect.epsilon == pytest.approx(perfect.ceiling, rel=1e-6)
    assert perfect.epsilon > 3.0
    blind = BitScores(bits, np.zeros(bits.shape))
    assert asked.lower_bound(build(name), blind, delta=0.0, confidence=0.95).epsilon == 0.0


@every
@pytest.mark.parametrize("epsilon", [0.5, 1.5])
def test_p_value_is_where_the_bound_passes_the_claim(name, epsilon):
    (scores,) = response(2.0).draws(1, (1, 100), seed=3)
    p = asked.p_value(build(name), scores, epsilon=epsilon, delta=0.0)
    assert 1e-9 < p < 0.2
    above, below = (
        asked.lower_bound(build(name), scores, delta=0.0, confidence=1 - p * factor).epsilon
        for factor in (1.001, 0.999)
    )
    assert below <= epsilon * (1 + 1e-6) <= above * (1 + 2e-6)
