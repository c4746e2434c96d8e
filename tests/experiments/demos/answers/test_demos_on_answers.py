"""Demos on answers to queries: every number that they teach."""

import math

import pytest
from tests.experiments.demo_runs import check_reading, demos_in, play

from dpassay.attacks.reconstruction.answers import least_squares_accuracy
from dpassay.audit import Verdict


@demos_in("answers")
def test_a_demo_reads_well_in_a_pipe(name):
    check_reading(name)


class TestRepeatedAnswers:
    def test_the_mean_has_the_error_of_the_formula_and_a_budget_turns_it_round(self):
        result = play("repeated-answers").spreads
        for fresh, sticky, scaled, formula, k in zip(
            result.fresh, result.sticky, result.scaled, result.formula, result.n_answers, strict=True
        ):
            assert fresh == pytest.approx(formula, rel=0.15)  # 5 standard deviations of 2,000 desks and more
            assert sticky == pytest.approx(math.sqrt(2.0), rel=0.2)
            assert scaled == pytest.approx(formula * k, rel=0.2)

    def test_no_rule_beats_the_exact_optimum_that_the_likelihood_ratio_attains(self):
        result = play("repeated-answers").guesses
        for mean, median, ratio, optimum in zip(
            result.mean, result.median, result.likelihood_ratio, result.optimum, strict=True
        ):
            limit = 5.0 * math.sqrt(0.25 / 20_000)  # 5 standard deviations: false alarm 6e-7
            assert max(mean, median, ratio) <= optimum + limit
            assert ratio == pytest.approx(optimum, abs=limit)
        assert result.optimum[0] == pytest.approx(1.0 - 0.5 * math.exp(-0.5), abs=1e-3)

    def test_the_budget_gives_three_answers_and_the_audit_refutes_the_claim(self):
        result = play("repeated-answers")
        assert result.answers_of_a_budget == 3
        assert result.audit.verdict is Verdict.VIOLATION


class TestColumnFromCounts:
    def test_accuracy_grows_with_queries_and_follows_the_formula(self):
        result = play("column-from-counts").many_counts
        for noise in (2.0, 4.0, 8.0):
            predicted = least_squares_accuracy(100, 500, noise)
            assert predicted - 0.03 <= result[noise, 500] <= predicted + 0.04
            assert result[noise, 50] < result[noise, 500] < result[noise, 3000] + 0.01

    def test_l1_decoding_survives_what_least_squares_does_not(self):
        for l1, squares in play("column-from-counts").wrong_answers.values():
            assert l1 == 1.0
            assert squares < 0.85

    def test_a_careful_system_gives_the_column_and_a_budget_does_not(self):
        results = play("column-from-counts")
        assert results.careful_system > 0.95
        for epsilon, right in results.a_budget.items():
            assert right <= 1.0 / (1.0 + math.exp(-epsilon)) + 5.0 * math.sqrt(0.25 / 4000)
        assert results.a_budget[1.0] < 0.6
