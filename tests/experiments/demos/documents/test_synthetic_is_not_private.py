"""Synthetic rows that copy people or leak one person, a metric that misses the leak, and noisy counts."""

import math

import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict
from dpassay.mechanisms import GaussianDP


@pytest.fixture(scope="module")
def found():
    return played("synthetic-is-not-private").names


def test_the_demo_reads_well():
    check_demo("synthetic-is-not-private")


def test_63_percent_of_the_records_are_in_the_table(found):
    for n, share in found.shares.items():
        # The mean of 1,000 shares between 0 and 1: Hoeffding's bound, false alarm 1e-6 over the seven.
        assert abs(share - (1 - (1 - 1 / n) ** n)) < math.sqrt(math.log(1.4e7) / 2_000)


def test_one_patient_has_a_diagnosis_of_her_own(found):
    assert (found.clinic[:, 3] == 5).sum() == 1
    assert not (found.pair.d1[:, 3] == 5).any() or not (found.pair.d0[:, 3] == 5).any()
    assert round(1 - 0.99**100, 2) == 0.63  # as the text says


def test_the_metric_detects_copies_and_misses_a_leak_that_audits_detect(found):
    assert found.metric["copies"] > 0.6
    for name in ("exact columns", "noisy columns"):
        assert abs(found.metric[name] - 0.5) < 0.05
    verdicts = {name: result.verdict for name, result in found.audits.items()}
    assert verdicts == {
        "copies": Verdict.VIOLATION,
        "exact columns": Verdict.VIOLATION,
        "noisy columns": Verdict.CONSISTENT,
    }
    assert min(found.audits[name].bound.epsilon for name in ("copies", "exact columns")) > 4.0


def test_the_claim_is_that_of_eight_counts(found):
    mu = math.sqrt(8.0) / 4.0  # two counts of each of four columns, under noise of standard deviation 4
    assert found.claim == GaussianDP(mu, relation="replace_one")


def test_noise_costs_little_more_than_drawing_rows_does(found):
    assert all(found.noisy[name] < found.exact[name] + 0.08 for name in found.exact)


def test_a_filter_of_copies_passes_the_metric_and_leaks_as_before(found):
    assert found.closer(found.filtered) < found.metric["exact columns"]
    assert found.repaired.verdict is Verdict.VIOLATION
    assert found.repaired.bound.epsilon > 4.0
