"""Three learners of equal accuracy, and one outlier."""

import numpy as np
import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("leave-one-out").names


def test_the_demo_reads_well():
    check_demo("leave-one-out")


def test_learners_are_right_equally_often_and_hide_the_average_record(found):
    errors = [row["error"] for row in found.table.values()]
    assert max(errors) - min(errors) < 0.02
    for row in found.table.values():
        # 150 models share 1,500 new records of a true error near 0.07: 5 standard deviations are 0.033
        assert abs(row["error"] - row["training error"]) < 0.04
        assert row["advantage, average"] < 0.12


def test_a_machine_leaks_the_outlier_and_the_private_learner_does_not(found):
    machine, plain, private = found.table.values()
    assert machine["advantage, outlier"] == 1.0
    assert plain["advantage, outlier"] < 0.6
    assert private["advantage, outlier"] < 0.5  # 0.11 at most, and a standard deviation of 0.08 of 75 runs a side
    verdicts = [result.verdict for result in found.audits.values()]
    assert verdicts[0] is Verdict.VIOLATION
    assert verdicts[2] is Verdict.CONSISTENT
    assert found.claim.epsilon(1e-5) == pytest.approx(1.0, abs=1e-3)


def test_a_support_vector_machine_holds_records_and_always_the_outlier(found):
    assert found.with_outlier == [False, True] * (found.N_MODELS // 2)
    pool = {row.tobytes() for row in found.X}
    for machine in found.machines[:20]:
        assert {row.tobytes() for row in np.asarray(machine.support_vectors_)} <= pool


def test_an_ordinary_record_is_hardly_revealed(found):
    assert found.ordinary < 0.5
