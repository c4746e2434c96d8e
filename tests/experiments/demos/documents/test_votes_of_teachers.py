"""Votes of teachers: what an answer costs, who may know the data-dependent epsilon, and what a student leaks."""

import itertools

import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("votes-of-teachers").names


def test_the_demo_reads_well():
    check_demo("votes-of-teachers")


def test_a_tie_costs_what_all_votes_may_and_a_clear_vote_much_less(found):
    assert found.by_lead[0] == pytest.approx(found.all_votes, rel=1e-3)
    assert round(found.by_lead[240], 2) == 0.44  # as the text says
    assert found.by_lead[240] < 0.1 * found.all_votes
    epsilons = list(found.by_lead.values())
    assert all(later <= earlier * (1 + 1e-3) for earlier, later in itertools.pairwise(epsilons))


def test_checked_answers_are_more_often_right_and_students_learn(found):
    _lnmax, gnmax, confident = found.results
    assert confident.answered < gnmax.answered == 300
    assert confident.right > gnmax.right > 0.8
    assert confident.on_these_votes < confident.for_all_votes
    assert min(gnmax.student, confident.student) > 0.8


def test_the_exact_number_distinguishes_the_pair_and_the_noisy_one_does_not(found):
    assert abs(found.first - found.second) > 0.05
    assert found.deviation > abs(found.first - found.second)
    exact, noisy = found.audits.values()
    assert exact.verdict is Verdict.VIOLATION
    assert noisy.verdict is Verdict.CONSISTENT


def test_the_student_leaks_about_as_much_as_the_labels_and_less_than_the_claim(found):
    assert 0.3 < found.student.bound.epsilon < found.student.claim
    assert found.labels.bound.epsilon < found.labels.claim


def test_a_check_without_noise_breaks_the_claim_of_the_answers(found):
    assert found.no_noise.verdict is Verdict.VIOLATION
    assert round(found.no_noise.claim, 4) == 0.2637
