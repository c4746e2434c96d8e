"""Methods of unlearning that pass the usual test, and leave a trace."""

import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("forgetting").names


def test_the_demo_reads_well():
    check_demo("forgetting")


def test_every_method_passes_the_usual_test(found):
    for row in found.table.values():
        assert float(row["wrong labels predicted"]) < 0.01
        assert float(row["accuracy"]) > 0.88


def test_only_training_again_is_consistent(found):
    for name, result in found.results.items():
        assert result.verdict is (Verdict.CONSISTENT if name == "trained again" else Verdict.VIOLATION), name


def test_the_certificate_covers_all_records_or_is_refuted(found):
    right, broken = found.certified.values()
    assert (right.verdict, broken.verdict) == (Verdict.CONSISTENT, Verdict.VIOLATION)
    assert found.noise["noise for 20 records"] == pytest.approx(400.0 * found.noise["noise for one record"], rel=0.01)


def test_records_with_right_labels_leave_less(found):
    for name, result in found.similar.items():
        assert result.bound.epsilon < found.results[name].bound.epsilon
