"""The lectures: every number that they teach."""

import contextlib
import functools
import io
import math

import numpy as np
import pytest

from dpassay.attacks.reconstruction.answers import least_squares_accuracy
from dpassay.audit import Verdict
from dpassay.audit.power import Detectable
from dpassay.experiments.demos import catalogue, get, randomized_response
from dpassay.experiments.demos.answers import error_of_mwem
from dpassay.experiments.demos.lecture import Lecture
from dpassay.experiments.demos.people import leave_one_out
from dpassay.experiments.demos.synthesis import deniable_records

LOG_3 = math.log(3.0)


@pytest.mark.parametrize("name", list(catalogue))
def test_every_demo_of_the_catalogue_has_a_main_with_a_summary(name):
    assert get(name).__name__ == "main"
    assert catalogue.summary(name).endswith(".")


@pytest.fixture(scope="module")
def play(tmp_path_factory):
    """A function that plays a lecture, once: what it found, what it printed, and the folder of its figures.

    What an audit could have detected is not searched for: no lecture speaks of it.
    """

    @functools.cache
    def once(name):
        out = tmp_path_factory.mktemp("figures") if name == "randomized-response" else None
        with contextlib.redirect_stdout(io.StringIO()) as printed, pytest.MonkeyPatch.context() as patch:
            patch.setattr("dpassay.audit.power.detectable_epsilon", lambda *_, **__: Detectable(1.0, "any"))
            found = get(name)(out)
        return found, printed.getvalue(), out

    return once


@pytest.fixture(scope="module")
def played(play):
    found, _, out = play("randomized-response")
    return found, out


class TestRandomizedResponse:
    def test_two_coins_say_yes_in_three_quarters_and_one_quarter_of_cases(self, played):
        yes = played[0].yes
        limit = 5.0 * math.sqrt(3 / 16 / 1_000_000)  # 5 standard deviations: false alarm 6e-7
        assert yes[True] == pytest.approx(0.75, abs=limit)
        assert yes[False] == pytest.approx(0.25, abs=limit)

    def test_the_investigator_moves_from_2_percent_to_3_in_52(self, played):
        assert played[0].posterior == pytest.approx(3 / 52, rel=1e-12)
        assert round(played[0].posterior, 3) == 0.058  # Grosse, CSC 2515 lecture 11, slide 14

    def test_the_estimator_varies_as_the_formula_says(self, played):
        # N Var = 3/4 + m (1 - m): 0.7696, 0.84, 1.0 for m = 0.02, 0.1, 0.5
        spreads = played[0].spreads
        assert [s.formula for s in spreads] == pytest.approx([0.7696, 0.84, 1.0], rel=1e-12)
        assert [s.formula / s.truthful for s in spreads] == pytest.approx([39.265, 9.3333, 4.0], rel=1e-4)
        # A sample variance of 20,000 nearly normal estimates has relative deviation sqrt(2 / 20,000) = 1 %.
        for spread in spreads:
            assert spread.simulated == pytest.approx(spread.formula, rel=5.2 * math.sqrt(2 / 20_000))

    def test_a_curator_loses_almost_nothing(self, played):
        local, central = played[0].local_and_central_variance
        assert local == pytest.approx(1e-4, rel=1e-12)
        assert central == pytest.approx(2.5e-5 + 2 / LOG_3**2 * 1e-8, rel=1e-12)
        assert round(central, 10) == 2.50166e-5

    def test_the_attack_finds_log_3_from_below(self, played):
        bounds = [result.bound.epsilon for result in played[0].fair]
        assert bounds[0] == min(bounds)
        assert bounds[-1] == max(bounds)
        assert 0.985 * LOG_3 < bounds[-1] <= LOG_3
        assert {result.verdict for result in played[0].fair} == {Verdict.CONSISTENT}

    def test_the_biased_coin_is_caught_with_enough_runs_and_not_before(self, played):
        truth = math.log(1 + 0.52 / 0.48**2)
        assert [result.verdict for result in played[0].biased][-1] is Verdict.VIOLATION
        assert played[0].biased[0].verdict is Verdict.CONSISTENT
        assert LOG_3 < played[0].biased[-1].bound.epsilon <= truth

    def test_the_figure_is_saved(self, played):
        assert {path.name for path in played[1].iterdir()} == {"randomized-response.svg", "randomized-response.png"}

    def test_two_coins_are_the_library_s_randomised_response(self):
        yes = randomized_response.two_coins(np.array([True] * 4000 + [False] * 4000), np.random.default_rng(1))
        survey = randomized_response.SURVEY
        expected = np.array([survey.p_true, survey.p_other])
        assert yes.reshape(2, -1).mean(axis=1) == pytest.approx(expected, abs=5 * math.sqrt(3 / 16 / 4000))


@pytest.fixture(scope="module")
def found(play):
    return play("add-or-replace")[0]


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
def trained(play):
    return play("dp-sgd")[0]


class TestDPSGD:
    def test_the_private_classifier_learns(self, trained):
        assert 0.75 < trained.private < trained.plain

    def test_accuracy_does_not_show_the_slip(self, trained):
        assert trained.slipped > trained.private - 0.02

    def test_the_moments_accountant_says_1_26(self, trained):
        found = trained.accountants
        assert found["moments accountant"] == pytest.approx(1.2586, abs=5e-5)  # Abadi et al. (2016): 1.26
        assert list(found.values()) == sorted(found.values(), reverse=True)
        assert found["strong composition"] > 10 * found["moments accountant"]

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


@pytest.fixture(scope="module")
def recovered(play):
    return play("row-of-a-regression")[0]


class TestRowOfARegression:
    def test_the_patient_comes_out_to_the_last_digit(self, recovered):
        assert recovered.error < 1e-6

    def test_only_the_gain_counts_and_it_is_most_of_it(self, recovered):
        gain = recovered.gain
        assert gain.attack.value == 1.0
        assert gain.headline.lower > 0.75
        assert 0.05 < gain["without the person"].success.value < gain["without the release"].success.value < 0.2

    def test_rounding_hides_less_the_more_digits_are_printed(self, recovered):
        shares = list(recovered.digits.values())
        assert shares[2] < 0.2 < shares[3] < 0.9 < shares[4] <= shares[-1]

    def test_noise_does_as_the_formula_says(self, recovered):
        curve = recovered.noise
        spread = 5.0 * math.sqrt(0.25 / (20 * 100))
        assert curve.measured == pytest.approx(curve.theory, abs=spread)
        assert curve.theory[-1] < curve.blind < 0.99 < curve.theory[0]

    def test_a_promise_hides_the_patient_and_leaves_the_predictions(self, recovered):
        hits, accuracy = zip(*(recovered.private[e] for e in (10.0, 1e6)), strict=True)
        assert hits[0] < 0.25 < 0.99 < hits[1]
        assert accuracy[0] > accuracy[1] - 0.05


@pytest.fixture(scope="module")
def visited(play):
    return play("medical-visits")[0]


class TestMedicalVisits:
    def test_place_birth_date_and_sex_tell_people_apart_and_the_year_of_birth_does_not(self, visited):
        unique = visited.unique
        assert unique["ZIP, birth date, sex"] == pytest.approx(0.86, abs=0.01)  # Sweeney (2000): 87 %
        assert unique["in places of real sizes"] == pytest.approx(0.689, abs=0.002)
        assert unique["ZIP, year of birth, sex"] < 0.005

    def test_the_register_names_nearly_everybody_and_all_of_it_is_gained(self, visited):
        assert visited.linked.attack.value > 0.75
        assert visited.linked.headline.lower > 0.6
        assert visited.linked["without the person"].success.value < 0.15

    def test_groups_with_one_illness_are_rarer_the_larger_the_groups(self, visited):
        shares = list(visited.constant.values())
        assert shares == sorted(shares, reverse=True)
        assert shares[0] > 0.0

    def test_two_tables_say_more_than_one_and_the_more_the_smaller_k(self, visited):
        assert all(row.two > row.one for row in visited.rows)
        assert [row.two for row in visited.rows] == sorted((row.two for row in visited.rows), reverse=True)
        assert all(row.gained.headline.lower > 0.0 for row in visited.rows[:3])
        assert visited.rows[0].certain > 0.05

    def test_noise_leaves_nothing_to_be_gained_and_keeps_the_totals(self, visited):
        assert not visited.cure.gained.shown
        # odds of any illness against any other move by e^2 at most: two tables, in each of which two counts move
        before = visited.cure.gained["without the release"].success.value
        assert before < visited.cure.informed < math.e**2 * before
        assert visited.cure.error < 0.25


LONG = {"error-of-mwem", "five-generators", "five-marginals"}
"""Lectures of 15 seconds and more, whose numbers have tests of their own."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in catalogue]
)
def test_a_lecture_reads_well_in_a_pipe(name, play):
    _, text, _ = play(name)
    assert text.count("──") > 3
    assert max(map(len, text.splitlines())) <= 92
    assert "\x1b" not in text
    assert "{" not in text


def test_brackets_in_a_lecture_are_text_and_not_markup(capsys):
    Lecture().say("a list [1, 2] and a [bold] word")
    assert "a list [1, 2] and a [bold] word" in capsys.readouterr().out


class TestRepeatedAnswers:
    def test_the_mean_has_the_error_of_the_formula_and_a_budget_turns_it_round(self, play):
        found = play("repeated-answers")[0].spreads
        for fresh, sticky, scaled, formula, k in zip(
            found.fresh, found.sticky, found.scaled, found.formula, found.n_answers, strict=True
        ):
            assert fresh == pytest.approx(formula, rel=0.15)  # 5 standard deviations of 2,000 desks and more
            assert sticky == pytest.approx(math.sqrt(2.0), rel=0.2)
            assert scaled == pytest.approx(formula * k, rel=0.2)

    def test_no_rule_beats_the_exact_optimum_and_the_likelihood_ratio_reaches_it(self, play):
        found = play("repeated-answers")[0].guesses
        for mean, median, ratio, optimum in zip(
            found.mean, found.median, found.likelihood_ratio, found.optimum, strict=True
        ):
            limit = 5.0 * math.sqrt(0.25 / 20_000)  # 5 standard deviations: false alarm 6e-7
            assert max(mean, median, ratio) <= optimum + limit
            assert ratio == pytest.approx(optimum, abs=limit)
        assert found.optimum[0] == pytest.approx(1.0 - 0.5 * math.exp(-0.5), abs=1e-3)

    def test_the_budget_gives_three_answers_and_the_audit_refutes_the_claim(self, play):
        found = play("repeated-answers")[0]
        assert found.answers_of_a_budget == 3
        assert found.audit.verdict is Verdict.VIOLATION


class TestColumnFromCounts:
    def test_accuracy_grows_with_queries_and_follows_the_formula(self, play):
        found = play("column-from-counts")[0].many_counts
        for noise in (2.0, 4.0, 8.0):
            predicted = least_squares_accuracy(100, 500, noise)
            assert predicted - 0.03 <= found[noise, 500] <= predicted + 0.04
            assert found[noise, 50] < found[noise, 500] < found[noise, 3000] + 0.01

    def test_l1_decoding_survives_what_least_squares_does_not(self, play):
        for l1, squares in play("column-from-counts")[0].wrong_answers.values():
            assert l1 == 1.0
            assert squares < 0.85

    def test_a_careful_system_gives_the_column_and_a_budget_does_not(self, play):
        found = play("column-from-counts")[0]
        assert found.careful_system > 0.95
        for epsilon, right in found.a_budget.items():
            assert right <= 1.0 / (1.0 + math.exp(-epsilon)) + 5.0 * math.sqrt(0.25 / 4000)
        assert found.a_budget[1.0] < 0.6


class TestVotesOfTeachers:
    def test_a_tie_costs_what_all_votes_may_and_a_clear_vote_much_less(self, play):
        found = list(play("votes-of-teachers")[0].one_answer.values())
        assert found[0][0] == pytest.approx(found[0][1], rel=1e-3)
        assert found[-1][0] < 0.1 * found[-1][1]
        assert all(these <= every * (1 + 1e-3) for these, every in found)

    def test_checked_answers_are_more_often_right_and_students_learn(self, play):
        _lnmax, gnmax, confident = play("votes-of-teachers")[0].pipeline
        assert confident.answered < gnmax.answered == 300
        assert confident.right > gnmax.right > 0.8
        assert confident.on_these_votes < confident.for_all_votes
        assert min(gnmax.student, confident.student) > 0.8

    def test_epsilon_tells_the_pair_and_the_student_no_more_than_the_claim(self, play):
        found = play("votes-of-teachers")[0]
        first, second, deviation = found.secret_epsilon
        assert abs(first - second) > 0.05
        assert deviation > abs(first - second)
        claim, labels, student = found.loss_of_the_student
        assert 0.3 < student < claim
        assert labels < claim


class TestTopDown:
    def test_each_step_of_the_processing_brings_the_tables_nearer_and_least_squares_as_predicted(self, play):
        found = play("top-down")[0].errors
        for level in ("nation", "state", "county"):
            noise, linear, kept, whole = (
                found.root_mean_square[step, level] for step in ("noise", "least-squares", "non-negative", "whole")
            )
            assert linear == pytest.approx(found.predicted[level], rel=0.06)
            assert noise > 1.1 * linear
            assert linear * 1.01 > kept
            assert whole == pytest.approx(kept, rel=0.01)
        assert found.root_mean_square["whole", "county"] < 0.9 * found.root_mean_square["least-squares", "county"]

    def test_the_smallest_counties_gain_people_and_the_large_ones_pay(self, play):
        found = play("top-down")[0].errors
        order = np.argsort(found.sizes)
        assert (found.bias[1, order[:2]] > 5.0).all()
        assert found.bias[1, order[-2:]].sum() < -10.0
        assert np.abs(found.bias[0]).max() < 5.0

    def test_only_the_pair_that_differs_in_an_invariant_is_told_apart(self, play):
        found = play("top-down")[0].audits
        assert found.kept.verdict is Verdict.CONSISTENT
        assert found.forgotten.verdict is Verdict.VIOLATION
        assert found.forgotten.witness is not None
        assert "differs in an invariant" in found.refused
        assert 1.0 < found.tables.bound.epsilon < found.measurements.bound.epsilon


class TestQueryRelease:
    def test_a_strategy_is_better_than_noise_on_every_answer_and_all_noise_falls_like_the_number_of_records(self, play):
        found = play("query-release")[0].measured
        for which in (0, 1):
            first, last = ({name: each[place][which] for name, each in found.items()} for place in (0, -1))
            for kind in ("Laplace", "Gaussian"):
                assert last[f"matrix, {kind}"] < last[kind] / (15.0 if kind == "Laplace" else 1.9)
                assert first[kind] / last[kind] == pytest.approx(1000.0, rel=0.1)
            assert first["MWEM"] < first["Gaussian"]

    def test_the_rates_are_ordered(self, play):
        for n, rates in play("query-release")[0].known.items():
            assert all(rates[norm, True] >= rates[norm, False] for norm in (2.0, math.inf)), n


@pytest.fixture(scope="module")
def traced(play):
    return play("in-this-study")[0]


class TestInThisStudy:
    def test_exact_and_rounded_means_name_the_patients_and_no_stranger(self, traced):
        for release in ("exact", "rounded to 10 %"):
            patients, strangers = traced.named[release]
            assert patients >= 70
            assert strangers == 0

    def test_private_means_name_nobody(self, traced):
        assert traced.named["private, mu = 1"] == (0, 0)

    def test_scores_follow_the_formula_and_private_ones_stay_below_half_of_mu(self, traced):
        # A difference of two means of 200 scores has deviation 0.1, and 4 % of z comes from whose row it is.
        for curve in traced.curves.values():
            for measured, formula in zip(curve.measured, curve.formula, strict=True):
                assert measured == pytest.approx(formula, rel=0.2, abs=0.5)
        assert max(traced.curves["private, mu = 1"].formula) < 0.5
        assert traced.curves["exact"].formula == pytest.approx(
            [math.sqrt(d / 100) for d in (50, 200, 1000, 5000, 20_000)]
        )

    def test_linked_columns_accuse_strangers_by_the_formula_and_not_by_the_reference(self, traced):
        assert traced.accused["formula"] > 0.1
        assert traced.accused["people of reference"] < 0.03


@pytest.mark.slow
class TestFiveMarginals:
    """A claim of 1/1000 concentrated DP, and the errors on Adult, where it is there."""

    def test_five_counts_with_noise_50_have_the_known_price(self, play):
        found = play("five-marginals")[0].cost
        assert found["add_remove"][0] == pytest.approx(1e-3)
        assert round(found["add_remove"][1], 5) == 0.23608
        assert round(found["replace_one"][1], 5) == 0.33445

    def test_fitting_takes_a_third_off_large_marginals_and_leaves_small_ones(self, play):
        """McKenna, Miklau and Sheldon (2021) saw up to 30 %, about 3 %, and 0.02 and 0.5 where nothing was measured."""
        found = play("five-marginals")[0]
        if found.data != "Adult":
            pytest.skip("the data directory has no Adult")
        for names in (("sex", "hours-per-week"), ("marital-status", "occupation", "income>50K")):
            before, after = found.worth[names]
            assert 0.6 * before < after < 0.75 * before
        before, after = found.worth["marital-status", "sex"]
        assert 0.9 * before < after < 1.1 * before
        assert found.worth["sex", "income>50K"][1] == pytest.approx(0.02, abs=0.015)
        assert found.worth["education-num", "occupation"][1] == pytest.approx(0.5, abs=0.02)

    def test_measured_answers_show_nine_tenths_of_a_small_claim_and_nearly_all_of_a_larger_one(self, play):
        (small, shown), (larger, more) = play("five-marginals")[0].shown.values()
        assert small == pytest.approx(math.sqrt(5) / 50)
        assert 0.9 * small < shown < small
        assert 0.95 * larger < more < larger


@pytest.fixture(scope="module")
def deniable(play):
    return play("deniable-records")[0]


class TestDeniableRecords:
    def test_claims_hold_for_the_right_mechanism_alone(self, deniable):
        right, *wrong = deniable.exact_epsilons.values()
        assert right[1] < right[0]
        assert all(exact > 10 * claimed for claimed, exact in wrong)

    def test_classifiers_learn_more_from_records_than_from_marginals(self, deniable):
        real, marginals, *made = (row[:3] for row in deniable.utility.values())
        for row in made:
            assert all(m + 0.01 < one < r for m, one, r in zip(marginals, row, real, strict=True))

    def test_made_records_are_told_apart_less_than_marginals(self, deniable):
        real, marginals, *made = (row[3:5] for row in deniable.utility.values())
        assert real == pytest.approx([0.5, 0.5], abs=5.0 * math.sqrt(0.25 / 4_000))
        for row in made:
            assert all(0.5 < one < m for one, m in zip(row, marginals, strict=True))

    def test_figure_shows_both_panels(self, tmp_path):
        with contextlib.redirect_stdout(io.StringIO()):
            deniable_records.draw(Lecture(out=tmp_path))
        assert (tmp_path / "deniable-records.svg").exists()


def test_mwem_learns_from_few_answers_what_noise_on_all_would_drown():
    few, some = (error_of_mwem.mwem_error(1.0, rounds) for rounds in (1, 8))
    assert some < 0.6 * few
    assert 2 * some < 240 / error_of_mwem.PEOPLE * math.log(960)  # the mean of the largest of 960 is beyond ln 960


class TestSyntheticIsNotPrivate:
    def test_63_percent_of_the_records_stand_in_the_table(self, play):
        for n, share in play("synthetic-is-not-private")[0].best_model.items():
            # The mean of 1,000 shares between 0 and 1: Hoeffding's bound, false alarm 1e-6 over the seven.
            assert abs(share - (1 - (1 - 1 / n) ** n)) < math.sqrt(math.log(1.4e7) / 2_000)

    def test_the_metric_sees_the_copies_and_passes_a_generator_that_the_audit_refutes(self, play):
        found = play("synthetic-is-not-private")[0].generators
        assert found["the records"].closer > 0.6
        for name in ("exact columns", "private columns"):
            assert abs(found[name].closer - 0.5) < 0.05
        verdicts = {name: one.result.verdict for name, one in found.items()}
        assert verdicts == {
            "the records": Verdict.VIOLATION,
            "exact columns": Verdict.VIOLATION,
            "private columns": Verdict.CONSISTENT,
        }
        assert min(found[name].result.bound.epsilon for name in ("the records", "exact columns")) > 4.0

    def test_noise_costs_little_more_than_drawing_rows_does(self, play):
        for exact, private in play("synthetic-is-not-private")[0].cost.values():
            assert private < exact + 0.08


@pytest.fixture(scope="module")
def left_out(play):
    return play("leave-one-out")[0]


class TestLeaveOneOut:
    def test_learners_are_right_equally_often_and_hide_the_average_record(self, left_out):
        errors = [one.test_error for one in left_out.learners.values()]
        assert max(errors) - min(errors) < 0.015
        for one in left_out.learners.values():
            assert one.test_error - one.train_error < 0.02
            assert one.average_advantage < 0.12

    def test_one_of_them_gives_the_outlier_away_and_only_the_private_one_keeps_its_promise(self, left_out):
        shown, plain, private = left_out.learners.values()
        assert shown.outlier_advantage == 1.0
        assert plain.outlier_advantage < 0.6
        assert private.outlier_advantage < 0.3  # 0.11 at most, and a standard deviation of 0.08 of 75 runs a side
        verdicts = [result.verdict for result in left_out.audits.values()]
        assert verdicts[0] is Verdict.VIOLATION
        assert verdicts[2] is Verdict.CONSISTENT

    def test_a_support_vector_machine_holds_records_and_always_the_outlier(self, left_out):
        pool = {row.tobytes() for row in left_out.trial.data.X}
        for place, machine in enumerate(left_out.machines):
            held = {row.tobytes() for row in machine.support_vectors_}
            assert held <= pool
            assert (leave_one_out.OUTLIER.tobytes() in held) == bool(place % 2)

    def test_figure_shows_both_panels(self, left_out, tmp_path):
        with contextlib.redirect_stdout(io.StringIO()):
            leave_one_out.draw(Lecture(out=tmp_path), left_out)
        assert (tmp_path / "leave-one-out.svg").exists()
