"""Many queries at once: errors of six mechanisms by number of records, and noise for the wrong sensitivity."""

import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict
from dpassay.mechanisms.noise.queries import Workload


@pytest.fixture(scope="module")
def found():
    return played("query-release").names


def test_the_demo_reads_well():
    check_demo("query-release")


def test_a_strategy_beats_noise_on_every_answer(found):
    for errors in (found.largest, found.root_mean_square):
        for kind, factor in (("Laplace", 15.0), ("Gaussian", 1.9)):
            assert all(
                each > factor * strategy for each, strategy in zip(errors[kind], errors[f"matrix, {kind}"], strict=True)
            )


def test_noise_on_counts_falls_like_one_over_n_and_the_others_do_not(found):
    for errors in (found.largest, found.root_mean_square):
        for name in ("Laplace", "Gaussian", "matrix, Laplace", "matrix, Gaussian"):
            assert errors[name][0] / errors[name][-1] == pytest.approx(1000.0, rel=0.1)
        for name in ("MWEM", "small database"):
            assert errors[name][0] / errors[name][-1] < 2.0


def test_delta_helps_noise_on_every_answer_and_harms_the_strategy(found):
    for errors in (found.largest, found.root_mean_square):
        assert errors["Gaussian"][0] < errors["Laplace"][0] / 3.0
        assert errors["matrix, Gaussian"][0] > 1.5 * errors["matrix, Laplace"][0]


def test_mwem_has_the_smallest_error_for_a_hundred_records(found):
    assert min((errors[0], name) for name, errors in found.largest.items() if name != "no data")[1] == "MWEM"
    assert found.largest["matrix, Laplace"][0] > 0.8 * found.largest["no data"][0]


def test_a_record_changes_half_of_the_answers_and_two_cells(found):
    assert 120 < found.l1 < 200
    cells = Workload.identity({"cell": 64})
    assert cells.sensitivity("replace_one", norm=1) == 2.0
    assert found.change < 2.0


def test_the_rates_are_ordered_and_fall(found):
    for word in ("root mean square", "largest"):
        pure, approximate = (found.rates[f"{word}, {kind}"] for kind in ("pure", "approximate"))
        assert all(one >= other for one, other in zip(pure, approximate, strict=True))
        assert pure == sorted(pure, reverse=True)


def test_noise_for_the_published_counts_breaks_the_claim(found):
    assert found.wrong.verdict is Verdict.VIOLATION
    assert found.wrong.bound.epsilon <= 4.0
    assert found.wrong.bound.epsilon > 2.0
