"""Broken synthetic data: audits refute it and not the twins; laws of resampled records."""

import math

import numpy as np
import pytest

from dpassay.audit import Verdict, audit
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.core import NeighboursError, ParameterError, remove_record, replace_record
from dpassay.mechanisms.literature.synthetic_data import AIM, MST, CodedTable, DirectGenerator, SelectMeasureGenerate
from dpassay.mechanisms.literature.synthetic_data.broken import Resampled
from dpassay.mechanisms.literature.synthetic_data.catalogue import selections
from dpassay.mechanisms.literature.synthetic_data.selection.broken import (
    AnnealingNotAccounted,
    BestTree,
    MergedByExactCounts,
)
from dpassay.mechanisms.noise.queries.domain import Domain

pytestmark = pytest.mark.usefixtures("without_power")


BITS, WIDE = Domain({"a": 2, "b": 2, "c": 2}), Domain({"a": 4, "b": 2, "c": 2})
FAST = DirectGenerator(n_steps=40, tolerance=0.02)
DELTA = 0.01


def aim_pair(relation="add_remove"):
    """Few records, all alike but for one: there is little to learn."""
    return AIM(0.1, relation=relation).worst_case(BITS)


CASES = {
    "tree": (BestTree(0.2), MST(0.2), BITS, 1500),
    "compression": (MergedByExactCounts(0.2), MST(0.2), WIDE, 1000),
    "annealing": (AnnealingNotAccounted(0.05, workload=2, rounds=12), AIM(0.05, workload=2, rounds=12), BITS, 500),
}
"""Broken, its right twin, the domain, trials a side."""


def verdict(selection, domain, pair, trials, seed, confidence=0.9999):
    mechanism = SelectMeasureGenerate(domain, selection, FAST)
    return audit(mechanism, neighbours=pair, delta=DELTA, trials=trials, seed=seed, confidence=confidence)


@pytest.mark.parametrize("name", ["tree", "compression", pytest.param("annealing", marks=pytest.mark.slow)])
def test_bug_is_detected_and_the_twin_passes_on_the_same_pair(name):
    broken, twin, domain, trials = CASES[name]
    pair = broken.worst_case(domain)
    caught = verdict(broken, domain, pair, trials, 0)
    assert caught.verdict is Verdict.VIOLATION
    assert verdict(twin, domain, pair, trials, 0).verdict is not Verdict.VIOLATION


def test_best_tree_shows_a_record_for_certain_where_scores_tie():
    selection = BestTree(0.2)
    tables = [CodedTable.of(BITS, side) for side in (selection.worst_case(BITS).d0, selection.worst_case(BITS).d1)]
    rng = np.random.default_rng(0)
    first = [selection.transcript(BITS, selection.measure(t, FAST, 300, rng), 300)[:, 0] == 1 for t in tables]
    assert first[0].mean() < 0.5
    assert first[1].all()
    shown = selection.transcript(BITS, selection.measure(tables[0], FAST, 300, rng), 300)
    impossible = np.isneginf(selection.log_density(shown, tables[1], FAST))
    assert impossible.mean() > 0.5
    assert np.isfinite(selection.log_density(shown, tables[0], FAST)).all()


def test_merging_by_exact_counts_is_certain_on_both_sides():
    selection = MergedByExactCounts(0.2)
    pair = selection.worst_case(WIDE)
    tables = [CodedTable.of(WIDE, side) for side in (pair.d0, pair.d1)]
    for own, other in (tables, tables[::-1]):
        shown = selection.transcript(WIDE, selection.measure(own, FAST, 200, np.random.default_rng(1)), 200)
        assert np.isfinite(selection.log_density(shown, own, FAST)).all()
        assert np.isneginf(selection.log_density(shown, other, FAST)).all()


def test_annealing_that_is_not_accounted_for_spends_many_times_the_budget():
    broken, twin, domain, *_ = CASES["annealing"]
    table = CodedTable.of(domain, aim_pair().d0)
    for selection, low, high in ((broken, 2.0, 2000.0), (twin, 0.999999, 1.000001)):
        measured = selection.measure(table, FAST, 50, np.random.default_rng(2))
        spent = np.zeros(50)
        for number, one in enumerate(measured):
            runs = np.arange(50) if one.runs is None else one.runs
            whole = 0.5 / (selection.measuring * one.deviations**2)
            spent[runs] += whole * (selection.measuring if number < 3 else 1.0)
        assert low < spent.min() / selection.rho
        assert spent.max() / selection.rho < high


def test_worst_cases_are_neighbours_under_both_relations():
    for relation in ("add_remove", "replace_one"):
        for selection, domain in (
            (BestTree(0.2, relation=relation), BITS),
            (MergedByExactCounts(0.2, relation=relation), WIDE),
        ):
            pair = selection.worst_case(domain)
            assert isinstance(pair, Neighbours)
            SelectMeasureGenerate(domain, selection, FAST).bind(pair)


def test_every_slip_stands_in_the_catalogue():
    assert {type(case[0]) for case in CASES.values()} == {
        selections.get(name) for name in selections if name.startswith("broken-")
    }


def test_63_percent_of_the_records_stand_in_the_table_verbatim():
    broken = Resampled(1.0, n_records=100)
    assert broken.share_shown == pytest.approx(0.63397, abs=5e-6)
    assert Resampled(1.0, n_records=10**6).share_shown == pytest.approx(1 - 1 / math.e, abs=1e-6)
    n = 4_000
    tables = broken.release(np.arange(100)[:, None], n, np.random.default_rng(0)).values[:, :, 0]
    distinct = (np.diff(np.sort(tables, axis=1), axis=1) > 0).sum(axis=1) + 1
    # The share in a table lies between 0 and 1: Hoeffding's bound on its mean, false alarm 1e-6.
    assert abs(distinct.mean() / 100 - broken.share_shown) < math.sqrt(math.log(2e6) / (2 * n))


def test_log_probability_is_that_of_a_loop():
    broken, rng = Resampled(1.0, n_records=5, n_rows=3), np.random.default_rng(1)
    records = np.array([[0, 1], [0, 1], [2, 2], [3, 0], [1, 1]])
    outputs = broken.release(records, 30, rng)
    outputs.values[0, 1] = [2, 3]
    shares = [[sum((row == x).all() for x in records) / 5 for row in table] for table in outputs.values]
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(broken.log_density(outputs, records), np.log(shares).sum(axis=1), rtol=1e-12)
    assert np.isneginf(broken.log_density(outputs, records)[0])


def test_an_audit_finds_delta_and_no_epsilon_is_enough(without_power):
    result = audit(Resampled(1.0, n_records=20), delta=0.5, trials=4_000, seed=0)
    assert result.verdict is Verdict.VIOLATION
    assert result.bound.epsilon > 4.0


@pytest.mark.parametrize(
    ("options", "message"),
    [({"n_records": 1}, "n_records must be"), ({"n_rows": 0}, "n_rows must be"), ({"epsilon": -1.0}, "epsilon must")],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ParameterError, match=message):
        Resampled(**{"epsilon": 1.0} | options)


def test_wrong_datasets_are_refused():
    broken = Resampled(1.0, n_records=3)
    with pytest.raises(ParameterError, match=r"n_records is 3, but the dataset has shape \(4, 1\)"):
        broken.release(np.zeros((4, 1)), 1, np.random.default_rng(0))
    table = np.array([[0], [1], [2]])
    with pytest.raises(NeighboursError):
        broken.bind(replace_record(table, 0, np.array([0])))
    with pytest.raises(Exception, match="replace_one"):
        broken.bind(remove_record(table, 0))
