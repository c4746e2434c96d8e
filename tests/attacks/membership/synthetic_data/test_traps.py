"""Measures that are taken for tests of privacy, and what an audit says beside them."""

import math

import numpy as np
import pytest
from table_laws import OneCopy, Synthesiser

from dpassay.attacks.membership.synthetic_data import ClosestRecord, GeneratedQueries
from dpassay.attacks.membership.synthetic_data.records import share_closer
from dpassay.audit import Verdict, audit
from dpassay.mechanisms import ApproximateDP, PureDP
from dpassay.mechanisms.core.records import replace_record

PEOPLE = np.random.default_rng(0).integers(0, 4, (61, 3))
PEOPLE[-1] = 5
PAIR = replace_record(PEOPLE, 60, PEOPLE[0])


class IndependentColumns(Synthesiser):
    """Each column drawn by itself, from the exact shares of its values."""

    def draw(self, table, shape, rng):
        return np.stack([table[rng.integers(len(table), size=shape), j] for j in range(table.shape[1])], axis=2)


def test_a_leaking_generator_passes_the_share_of_rows_closer_to_the_data(without_power):
    generator = IndependentColumns(n_rows=60)
    strangers = np.random.default_rng(1).integers(0, 4, PEOPLE.shape)
    tables = generator.release(PEOPLE, 200, np.random.default_rng(2)).values
    assert share_closer(tables, PEOPLE, strangers).mean() == pytest.approx(0.5, abs=0.06)
    assert share_closer(PEOPLE[None], PEOPLE, strangers).mean() > 0.7
    attack = GeneratedQueries(n_queries=7, model="logistic")
    found = audit(generator.released, PAIR, claim=PureDP(1.0), delta=0.0, attack=attack, trials=1_000, seed=0)
    assert found.verdict is Verdict.VIOLATION


def test_the_share_of_rows_closer_to_the_data_is_that_of_a_loop():
    rng = np.random.default_rng(3)
    tables, used, unused = rng.integers(0, 3, (4, 9, 3)), *rng.integers(0, 3, (2, 7, 3))

    def nearest(row, records):
        return min(sum(a != b for a, b in zip(row, record, strict=True)) for record in records)

    naive = []
    for table in tables:
        closer = [nearest(row, used) - nearest(row, unused) for row in table]
        naive.append(np.mean([1.0 if gap < 0 else 0.5 if gap == 0 else 0.0 for gap in closer]))
    np.testing.assert_allclose(share_closer(tables, used, unused), naive)


def test_no_false_positive_is_no_infinite_epsilon(without_power):
    """A copy with probability 0.3 is (0, 0.3)-DP, while log(TPR / FPR) has no false positive to divide by."""
    released, options = OneCopy(n_rows=3).released, {"attack": ClosestRecord(), "trials": 2_000, "seed": 0}
    found = audit(released, PAIR, claim=ApproximateDP(0.0, 0.3), delta=0.3, confidence=1 - 1e-6, **options)
    assert found.verdict is not Verdict.VIOLATION
    assert found.bound.epsilon == 0.0
    at_zero = audit(released, PAIR, claim=PureDP(9.0), delta=0.0, **options)
    assert 0.0 < at_zero.bound.epsilon < math.log(2_000)
