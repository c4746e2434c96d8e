"""Error of MWEM by rounds and epsilon, compared with noise on answers and cells, and audits of transcripts."""

import math

import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("error-of-mwem").names


def test_the_demo_reads_well():
    check_demo("error-of-mwem")


def test_the_question_has_448_counts_of_256_cells(found):
    assert found.counts.n_answers == 448
    assert found.cells.n_answers == 256
    assert found.counts.sensitivity("replace_one") == 112.0  # two cells of each of 56 tables
    assert found.cells.sensitivity("replace_one") == 2.0


def test_more_rounds_help_only_with_a_large_budget(found):
    assert all(found.mwem[e, 32] < 0.8 * found.mwem[e, 8] for e in (1.0, 3.0, 10.0))
    assert found.mwem[0.1, 32] > 1.1 * found.mwem[0.1, 8]
    assert found.mwem[10.0, 8] > 0.9 * found.mwem[1.0, 8]
    assert found.mwem[1.0, 8] < 0.7 * found.mwem[1.0, 1]


def test_mwem_beats_noise_on_answers_and_noise_on_cells_beats_mwem(found):
    for epsilon, answers, cells in zip(found.EPSILONS, found.on_answers, found.on_cells, strict=True):
        best = min(found.mwem[epsilon, rounds] for rounds in found.ROUNDS)
        assert (found.mwem[epsilon, 8] < answers) == (epsilon <= 1.0)
        assert (cells < best) == (epsilon >= 0.1)
    assert min(found.mwem[0.03, rounds] for rounds in found.ROUNDS) > 0.9 * found.no_data


def test_noise_on_cells_has_the_deviation_of_the_formula(found):
    # The largest of 448 sums of 32 Laplace variables each is about three standard deviations, for each epsilon.
    for epsilon, error in zip(found.EPSILONS, found.on_cells, strict=True):
        assert 2.3 < error * epsilon / found.deviation[8] < 4.0
    assert found.deviation[8] == pytest.approx(2.0 * math.sqrt(2.0 * 32.0) / 2_000)


def test_an_audit_at_a_positive_delta_shows_less_with_more_rounds(found):
    bounds = [result.bound.epsilon for result in found.audits.values()]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > 1.3
    assert bounds[-1] < 0.7
    for result in found.audits.values():
        assert result.verdict is Verdict.CONSISTENT


def test_a_selection_that_is_not_accounted_for_breaks_the_claim(found):
    assert found.unaccounted.verdict is Verdict.VIOLATION
    assert found.unaccounted.bound.epsilon <= found.broken.exact_guarantee().epsilon(0.0)
