"""The demos: the layout of their output, and every number that they teach."""

import math

import numpy as np
import pytest
from tests.experiments.demo_runs import check_reading, demos_in, play

from dpassay.audit import Verdict
from dpassay.experiments.demos import catalogue, get, glyph_like, randomized_response
from dpassay.experiments.demos.demo import Demo
from dpassay.experiments.demos.rounds_of_votes import one_round, two_rounds
from dpassay.mechanisms.accounting import ConcentratedDP, GaussianDP
from dpassay.mechanisms.core.errors import ParameterError
from dpassay.mechanisms.learning.pate import ConfidentGNMax

LOG_3 = math.log(3.0)


@pytest.mark.parametrize("name", list(catalogue))
def test_every_demo_of_the_catalogue_has_a_main_with_a_summary(name):
    assert get(name).__name__ == "main"
    assert catalogue.summary(name).endswith(".")


@demos_in("")
def test_a_demo_reads_well_in_a_pipe(name):
    check_reading(name)


def test_brackets_in_a_demo_are_text_and_not_markup(capsys):
    Demo().say("a list [1, 2] and a [bold] word")
    assert "a list [1, 2] and a [bold] word" in capsys.readouterr().out


def test_a_folder_that_cannot_be_made_is_refused_before_the_demo_begins(tmp_path, capsys):
    (tmp_path / "report.html").touch()
    for out in (tmp_path / "report.html", tmp_path / "report.html" / "inside"):
        with pytest.raises(ParameterError, match=r"out must be a folder.* Choose another folder") as refused:
            randomized_response.main(out=out)
        assert refused.value.argument == "out"
    assert capsys.readouterr().out == ""


@pytest.fixture(scope="module")
def surveyed():
    return play("randomized-response")


class TestRandomizedResponse:
    def test_two_coins_say_yes_in_three_quarters_and_one_quarter_of_cases(self, surveyed):
        yes = surveyed.yes
        limit = 5.0 * math.sqrt(3 / 16 / 1_000_000)  # 5 standard deviations: false alarm 6e-7
        assert yes[True] == pytest.approx(0.75, abs=limit)
        assert yes[False] == pytest.approx(0.25, abs=limit)

    def test_the_investigator_moves_from_2_percent_to_3_in_52(self, surveyed):
        assert surveyed.posterior == pytest.approx(3 / 52, rel=1e-12)
        assert round(surveyed.posterior, 3) == 0.058  # Grosse, CSC 2515 lecture 11, slide 14

    def test_the_estimator_varies_as_the_formula_says(self, surveyed):
        # N Var = 3/4 + m (1 - m): 0.7696, 0.84, 1.0 for m = 0.02, 0.1, 0.5
        spreads = surveyed.spreads
        assert [s.formula for s in spreads] == pytest.approx([0.7696, 0.84, 1.0], rel=1e-12)
        assert [s.formula / s.truthful for s in spreads] == pytest.approx([39.265, 9.3333, 4.0], rel=1e-4)
        # A sample variance of 20,000 nearly normal estimates has relative deviation sqrt(2 / 20,000) = 1 %.
        for spread in spreads:
            assert spread.simulated == pytest.approx(spread.formula, rel=5.2 * math.sqrt(2 / 20_000))

    def test_a_curator_loses_almost_nothing(self, surveyed):
        local, central = surveyed.local_and_central_variance
        assert local == pytest.approx(1e-4, rel=1e-12)
        assert central == pytest.approx(2.5e-5 + 2 / LOG_3**2 * 1e-8, rel=1e-12)
        assert round(central, 10) == 2.50166e-5

    def test_the_attack_finds_log_3_from_below(self, surveyed):
        bounds = [result.bound.epsilon for result in surveyed.fair]
        assert bounds[0] == min(bounds)
        assert bounds[-1] == max(bounds)
        assert 0.985 * LOG_3 < bounds[-1] <= LOG_3
        assert {result.verdict for result in surveyed.fair} == {Verdict.CONSISTENT}

    def test_the_biased_coin_is_caught_with_enough_runs_and_not_before(self, surveyed):
        truth = math.log(1 + 0.52 / 0.48**2)
        assert [result.verdict for result in surveyed.biased][-1] is Verdict.VIOLATION
        assert surveyed.biased[0].verdict is Verdict.CONSISTENT
        assert LOG_3 < surveyed.biased[-1].bound.epsilon <= truth

    def test_the_figure_is_saved(self, surveyed, tmp_path, capsys):
        randomized_response.draw(Demo(out=tmp_path), surveyed)
        assert {path.name for path in tmp_path.iterdir()} == {"randomized-response.svg", "randomized-response.png"}
        assert capsys.readouterr().out.count("figure: ") == 2

    def test_two_coins_are_the_library_s_randomised_response(self):
        yes = randomized_response.two_coins(np.array([True] * 4000 + [False] * 4000), np.random.default_rng(1))
        survey = randomized_response.SURVEY
        expected = np.array([survey.p_true, survey.p_other])
        assert yes.reshape(2, -1).mean(axis=1) == pytest.approx(expected, abs=5 * math.sqrt(3 / 16 / 4000))


@pytest.fixture(scope="module")
def found():
    return play("add-or-replace")


class TestAddOrReplace:
    def test_the_noise_is_ten_people(self, found):
        assert found.scale == 10.0  # Grosse, CSC 2515 lecture 11, slide 30

    def test_the_claim_is_tight_when_one_person_is_added(self, found):
        assert found.added.verdict is Verdict.CONSISTENT
        assert 0.093 < found.added.bound.epsilon <= 0.1

    def test_the_same_noise_leaks_twice_as_much_when_one_person_is_replaced(self, found):
        assert found.replaced.verdict is Verdict.VIOLATION
        assert 0.185 < found.replaced.bound.epsilon <= 0.2

    def test_both_repairs_keep_the_claim(self, found):
        for result in (found.both_repaired, found.one_repaired):
            assert result.verdict is Verdict.CONSISTENT
            assert 0.088 < result.bound.epsilon <= 0.1


@pytest.fixture(scope="module")
def trained():
    return play("dp-sgd")


class TestDPSGD:
    def test_the_private_classifier_learns(self, trained):
        assert 0.75 < trained.private < trained.plain

    def test_accuracy_does_not_show_the_bug(self, trained):
        assert trained.broken_accuracy > trained.private - 0.02

    def test_the_moments_accountant_says_1_26(self, trained):
        result = trained.accountants
        assert result["moments accountant"] == pytest.approx(1.2586, abs=5e-5)  # Abadi et al. (2016): 1.26
        assert list(result.values()) == sorted(result.values(), reverse=True)
        assert result["strong composition"] > 10 * result["moments accountant"]

    def test_attackers_who_see_and_choose_more_find_more_and_none_too_much(self, trained):
        ordinary, mislabelled, crafted, gradient = (result.bound.epsilon for result in trained.attackers)
        assert ordinary < mislabelled < min(crafted, gradient)
        assert ordinary < 2.0
        assert crafted > 5.0
        assert gradient > 6.0
        assert {result.verdict for result in trained.attackers} == {Verdict.CONSISTENT}
        assert all("GaussianDP" in result.bound.assumptions[0] for result in trained.attackers)

    def test_clipping_the_mean_is_caught_and_its_cure_is_not(self, trained):
        assert trained.wrong.verdict is Verdict.VIOLATION
        assert trained.right.verdict is Verdict.CONSISTENT


class TestVotesOfTeachers:
    def test_a_tie_costs_what_all_votes_may_and_a_clear_vote_much_less(self):
        results = list(play("votes-of-teachers").one_answer.values())
        assert results[0][0] == pytest.approx(results[0][1], rel=1e-3)
        assert results[-1][0] < 0.1 * results[-1][1]
        assert all(these <= every * (1 + 1e-3) for these, every in results)

    def test_checked_answers_are_more_often_right_and_students_learn(self):
        _lnmax, gnmax, confident = play("votes-of-teachers").pipeline
        assert confident.answered < gnmax.answered == 300
        assert confident.right > gnmax.right > 0.8
        assert confident.on_these_votes < confident.for_all_votes
        assert min(gnmax.student, confident.student) > 0.8

    def test_epsilon_tells_the_pair_and_the_student_no_more_than_the_claim(self):
        result = play("votes-of-teachers")
        first, second, deviation = result.secret_epsilon
        assert abs(first - second) > 0.05
        assert deviation > abs(first - second)
        claim, labels, student = result.loss_of_the_student
        assert 0.3 < student < claim
        assert labels < claim


@pytest.fixture
def votes(monkeypatch):
    """Of 60 teachers, with nine classes."""
    for name, value in (("N_TEACHERS", 60), ("N_CLASSES", 9), ("N_RECORDS", 40), ("WRONG_LABELS", 0.1)):
        monkeypatch.setattr(glyph_like, name, value)
    return glyph_like.votes(300, n_judged=400, seed=1)


def test_teachers_of_the_stand_in_are_right_more_often_together_than_alone(votes):
    assert votes.counts.shape == (300, 9)
    assert (votes.counts.sum(axis=1) == 60).all()
    alone = (votes.counts[np.arange(300), votes.truth] / 60).mean()
    together = (votes.counts.argmax(axis=1) == votes.truth).mean()
    assert 0.5 < alone < together - 0.05
    assert votes.baseline == pytest.approx(0.9 + 0.1 / 9, abs=0.05)  # nine in ten labels are right


def test_probabilities_are_those_of_the_nearest_means():
    rng = np.random.default_rng(2)
    centres = 3.0 * np.eye(glyph_like.N_CLASSES, glyph_like.N_FEATURES, dtype=np.float32)
    labels = rng.integers(4, size=400)
    records = centres[labels] + rng.standard_normal((400, glyph_like.N_FEATURES), dtype=np.float32)
    said = glyph_like.probabilities(centres[:4], records, labels)
    np.testing.assert_allclose(said.sum(axis=1), 1.0)
    assert (said.argmax(axis=1) == np.arange(4)).all()
    assert (said[:, 4:] == 0.0).all()  # classes of no record


def test_rounds_add_up_what_they_cost(votes):
    row = two_rounds(votes, 35.0, 10.0, 4.0, n_first=150, confidence=0.8)
    rho = 300 / (2 * 10.0**2) + row.answered / 4.0**2
    assert row.for_all_votes == pytest.approx(ConcentratedDP(rho).textbook_epsilon(1e-5))
    assert row.claim == pytest.approx(GaussianDP(math.sqrt(2 * rho)).epsilon(1e-5))
    assert row.on_these_votes < row.claim < row.for_all_votes
    assert (row.asked, row.data) == (300, "glyph-like")


def test_a_second_round_needs_fewer_answers_for_as_good_a_student(votes):
    """The student is confirmed where the teachers do not contradict it, which costs the check alone."""
    aggregator = ConfidentGNMax(35.0, 10.0, 4.0, n_teachers=60, n_classes=9, n_queries=300)
    one, two = one_round(votes, aggregator), two_rounds(votes, 35.0, 10.0, 4.0, n_first=150, confidence=0.8)
    assert two.answered < 0.75 * one.answered
    assert two.student > one.student - 0.05
    assert two.claim < one.claim
