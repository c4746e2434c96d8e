"""Decoders of subset counts: known answers, brute force, and what they say when they cannot be sure."""

import math

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.optimize import linprog, lsq_linear

from dpassay.attacks.literature.answers import (
    BoxedLeastSquares,
    DecodingStatus,
    Exhaustive,
    GaussianLikelihood,
    IntegerProgramme,
    L1Decoding,
    LinearProgramme,
    least_squares_accuracy,
    likelihood,
)
from dpassay.attacks.literature.answers.exhaustive import _all_columns
from dpassay.attacks.literature.answers.likelihood import flipped
from dpassay.mechanisms.core import ParameterError

FALSE_ALARM = 1e-6
EVERY = (
    BoxedLeastSquares(), L1Decoding(), LinearProgramme(), GaussianLikelihood(), IntegerProgramme(), Exhaustive(),
)  # fmt: skip
each = pytest.mark.parametrize("decoder", EVERY, ids=lambda decoder: type(decoder).__name__)


def problem(n, m, runs=1, noise=0.0, seed=0):
    """Random queries, columns, and answers with Gaussian noise."""
    rng = np.random.default_rng([seed, n, m])
    queries, bits = rng.integers(0, 2, (m, n)), rng.integers(0, 2, (runs, n))
    return queries, bits, bits @ queries.T + noise * rng.standard_normal((runs, m))


def fewest_right(share, n):
    """Right bits among n, below which a share of right bits is refuted."""
    return stats.binom.ppf(FALSE_ALARM, n, share) / n


@each
def test_exact_answers_to_enough_queries_give_every_bit(decoder):
    queries, bits, answers = problem(10, 30, runs=4)
    decoded = decoder.decode(queries, answers)
    np.testing.assert_array_equal(decoded.bits, bits)
    assert decoded.values.min() >= 0.0
    assert decoded.values.max() <= 1.0
    assert set(decoded.status) <= {DecodingStatus.OPTIMAL, DecodingStatus.LOCAL}
    assert decoded.accuracy(bits).tolist() == [1.0] * 4


@each
def test_runs_are_decoded_independently(decoder):
    queries, _, answers = problem(6, 20, runs=3, noise=1.0)
    answers[1, 4] = np.nan
    together = decoder.decode(queries, answers)
    for run in range(3):
        alone = decoder.decode(queries, answers[run])
        np.testing.assert_allclose(together.values[run], alone.values[0], atol=1e-5)
        assert together.status[run] is alone.status[0]


@each
def test_an_unanswered_query_has_no_effect(decoder):
    queries, _, answers = problem(6, 20, noise=1.0)
    answers[0, [3, 7]] = np.nan
    kept = np.delete(np.arange(20), [3, 7])
    fewer = decoder.decode(queries[kept], answers[:, kept])
    np.testing.assert_allclose(decoder.decode(queries, answers).values, fewer.values, atol=1e-6)


@each
def test_a_record_that_no_query_counts_has_no_guess_but_a_note(decoder):
    queries, bits, _ = problem(6, 20)
    queries[:, 2] = 0
    decoded = decoder.decode(queries, bits @ queries.T)
    assert decoded.values[0, 2] == 0.5
    assert "no query counts record 2" in decoded.notes[0]
    np.testing.assert_array_equal(np.delete(decoded.bits, 2, axis=1), np.delete(bits, 2, axis=1) == 1)
    nothing = decoder.decode(queries, np.full(20, np.nan))
    assert (nothing.values == 0.5).all()
    assert "nothing is known" in nothing.notes[0]


@each
def test_notes_state_what_too_few_queries_determine(decoder):
    queries, _bits, answers = problem(8, 3)
    decoded = decoder.decode(queries, answers)
    assert "3 queries fix 3 combinations of 8 bits" in decoded.notes[0]
    assert np.abs(decoded.values[0] @ queries.T - answers[0]).max() < 0.01 or isinstance(decoder, GaussianLikelihood)


@each
@pytest.mark.parametrize("bit", [0, 1])
def test_a_constant_column_is_recovered(decoder, bit):
    queries, _, _ = problem(8, 30)
    assert decoder.decode(queries, queries.sum(axis=1) * bit).bits.tolist() == [[bool(bit)] * 8]


@pytest.mark.parametrize(
    ("queries", "answers", "message"),
    [
        ([1, 0], [1], "shape"),
        ([[2, 0]], [1], "0 and 1"),
        ([[1, 0]], [1, 2], "one per query"),
        ([[1, 0]], [math.inf], "finite"),
    ],
)
def test_invalid_queries_and_answers_are_refused(queries, answers, message):
    with pytest.raises(ParameterError, match=message) as error:
        BoxedLeastSquares().decode(queries, answers)
    assert error.value.argument in {"queries", "answers"}


# --- exhaustive -------------------------------------------------------------------------------------------------------


def test_columns_that_fit_all_subset_counts_are_at_most_4_errors_apart():
    queries = _all_columns(8)
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, 8)
    answers = bits @ queries.T + rng.uniform(-1.0, 1.0, 256)
    kept = Exhaustive(error=1.0).consistent(queries, answers)
    assert (kept == (bits == 1)).all(axis=1).any()
    apart = (kept[:, None] != kept[None]).sum(axis=2)
    assert apart.max() <= 4


def test_columns_that_fit_are_those_of_a_loop():
    queries, _bits, answers = problem(5, 6, noise=0.7, seed=3)
    for error in (0.3, 1.0, 2.0):
        loop = [z for z in _all_columns(5) if all(abs(q @ z - a) <= error for q, a in zip(queries, answers[0]))]  # noqa: B905
        kept = Exhaustive(error=error).consistent(queries, answers)
        assert {tuple(z) for z in kept} == {tuple(z) for z in loop}
        decoded = Exhaustive(error=error).decode(queries, answers)
        expected = (DecodingStatus.INFEASIBLE, DecodingStatus.OPTIMAL, DecodingStatus.SEVERAL)
        assert decoded.status[0] is expected[min(len(loop), 2)]
        if loop:
            np.testing.assert_allclose(decoded.values[0], np.mean(loop, axis=0))


def test_exhaustive_refuses_more_than_16_records():
    with pytest.raises(ParameterError, match="at most 16 records"):
        Exhaustive().decode(np.ones((1, 17)), [3])


# --- linear programmes ------------------------------------------------------------------------------------------------


def primal(queries, answers, *, largest):
    """The programmes as they are written down: the sum of differences, or the largest of them."""
    m, n = queries.shape
    slack = np.ones((m, 1)) if largest else np.eye(m)
    rows = np.block([[queries, -slack], [-queries, -slack]])
    cost = np.concatenate([np.zeros(n), np.ones(slack.shape[1])])
    limits = [(0, 1)] * n + [(0, None)] * slack.shape[1]
    return linprog(cost, A_ub=rows, b_ub=np.concatenate([answers, -answers]), bounds=limits).fun


@pytest.mark.parametrize("noise", [0.5, 3.0])
@pytest.mark.parametrize(("n", "m"), [(12, 40), (20, 8)])
def test_duals_have_the_optimum_of_the_primal_programmes(n, m, noise):
    queries, _, answers = problem(n, m, noise=noise)
    off = np.abs(L1Decoding().decode(queries, answers).values[0] @ queries.T - answers[0])
    assert off.sum() == pytest.approx(primal(queries, answers[0], largest=False), abs=1e-6)
    off = np.abs(LinearProgramme().decode(queries, answers).values[0] @ queries.T - answers[0])
    assert off.max() == pytest.approx(primal(queries, answers[0], largest=True), abs=1e-6)


def test_notes_on_infeasible_answers_state_the_smallest_error():
    queries, _, answers = problem(10, 60, noise=1.0)
    needed = primal(queries, answers[0], largest=True)
    decoded = LinearProgramme(error=0.5 * needed).decode(queries, answers)
    assert decoded.status == (DecodingStatus.INFEASIBLE,)
    assert f"the smallest error that fits is {needed:.4g}" in decoded.notes[0]
    assert LinearProgramme(error=1.001 * needed).decode(queries, answers).status == (DecodingStatus.OPTIMAL,)
    program = IntegerProgramme(error=0.5 * needed).decode(queries, answers)
    assert program.status == (DecodingStatus.INFEASIBLE,)


@pytest.mark.parametrize("decoder", [L1Decoding, LinearProgramme, IntegerProgramme])
def test_a_time_limit_gives_a_partial_result_with_a_note(decoder):
    queries, bits, answers = problem(60, 400, noise=6.0)
    decoded = decoder(time_limit=1e-4).decode(queries, answers)
    assert decoded.status == (DecodingStatus.TIME_LIMIT,)
    assert "1e-4 s" in decoded.notes[0]
    assert decoded.accuracy(bits)[0] > 0.5


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3])
def test_only_l1_decoding_survives_arbitrary_errors(share):
    """n = 100, m = 500; reference runs: 1.00 each, against 0.65, 0.61, 0.56."""
    queries, bits, answers = problem(100, 500)
    rng = np.random.default_rng(1)
    wrong = rng.choice(500, int(share * 500), replace=False)
    answers[0, wrong] = rng.integers(0, 100, len(wrong))
    assert L1Decoding().decode(queries, answers).accuracy(bits)[0] == 1.0
    assert BoxedLeastSquares().decode(queries, answers).accuracy(bits)[0] < 0.8


# --- least squares ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(30, 120), (30, 33), (30, 20)])
@pytest.mark.parametrize("noise", [0.5, 5.0])
def test_least_squares_is_that_of_scipy(n, m, noise):
    queries, _, answers = problem(n, m, runs=5, noise=noise)
    decoded = BoxedLeastSquares().decode(queries, answers)
    for run in range(5):
        best = lsq_linear(queries.astype(float), answers[run], bounds=(0, 1), method="bvls")
        cost = 0.5 * np.sum((queries @ decoded.values[run] - answers[run]) ** 2)
        assert cost <= best.cost + 1e-4 * (1.0 + best.cost)
        if m > n + 10:
            np.testing.assert_allclose(decoded.values[run], best.x, atol=1e-4)


@pytest.mark.parametrize("noise", [1.0, 2.0, 4.0, 8.0])
def test_least_squares_is_as_accurate_as_the_formula_says(noise):
    """Phi(1 / (2 noise sqrt(4 / (m - n)))) without a box, at n = 100, m = 500: 1.00, 0.994, 0.894, 0.734."""
    queries, bits, answers = problem(100, 500, runs=400, noise=noise)
    predicted = least_squares_accuracy(100, 500, noise)
    right = BoxedLeastSquares().decode(queries, answers).accuracy(bits)
    error = right.std(ddof=1) / math.sqrt(400)
    assert right.mean() >= predicted - stats.norm.isf(FALSE_ALARM) * error
    assert right.mean() <= predicted + 0.025
    unboxed = np.linalg.lstsq(queries, answers.T, rcond=None)[0].T > 0.5
    seen = (unboxed == bits).mean(axis=1)
    assert abs(seen.mean() - predicted) <= stats.norm.isf(FALSE_ALARM) * seen.std(ddof=1) / 20 + 0.003


def test_knowing_the_noise_helps_where_queries_are_few():
    queries, bits, answers = problem(100, 110, runs=2000, noise=8.0)
    plain, drawn = (BoxedLeastSquares(noise=noise).decode(queries, answers).accuracy(bits) for noise in (0.0, 8.0))
    gain = drawn - plain
    assert gain.mean() > stats.norm.isf(FALSE_ALARM) * gain.std(ddof=1) / math.sqrt(2000)


# --- likelihood -------------------------------------------------------------------------------------------------------


def posterior(columns, queries, answers, noise, prior, power):
    """Minus log posterior of every column."""
    off = np.abs(columns @ queries.T - answers) ** power
    odds = np.log1p(-np.asarray(prior)) - np.log(prior)
    return off.sum(axis=1) / (noise if power == 1 else 2 * noise**2) + columns @ odds


@pytest.mark.parametrize("prior", [None, (0.1, 0.9, 0.5, 0.5, 0.3, 0.7, 0.2, 0.6)])
def test_integer_programme_finds_all_best_columns(prior):
    columns = _all_columns(8).astype(float)
    for seed in range(3):
        queries, _, answers = problem(8, 9, noise=1.5, seed=seed)
        costs = posterior(columns, queries, answers[0], 2.0, prior or [0.5] * 8, 1)
        best = columns[costs <= costs.min() + 1e-9]  # sums of absolute differences are often equal
        decoded = IntegerProgramme(scale=2.0, prior=prior, most_solutions=50).decode(queries, answers)
        assert decoded.status == ((DecodingStatus.SEVERAL,) if len(best) > 1 else (DecodingStatus.OPTIMAL,))
        np.testing.assert_allclose(decoded.values[0], best.mean(axis=0))


def test_a_best_column_is_not_called_unique_after_a_time_limit(monkeypatch):
    solve = likelihood._Programme.solve

    def second_runs_out(programme, without):
        return solve(programme, without) if not without else optimize.OptimizeResult(status=1, x=None, fun=None)

    queries, answers = [[1, 1, 0], [0, 1, 1]], [1, 1]
    assert IntegerProgramme().decode(queries, answers).status == (DecodingStatus.SEVERAL,)
    monkeypatch.setattr(likelihood._Programme, "solve", second_runs_out)
    decoded = IntegerProgramme().decode(queries, answers)
    assert decoded.status == (DecodingStatus.TIME_LIMIT,)
    assert "it was not determined within" in decoded.notes[0]


def test_integer_programme_reports_equally_good_columns():
    queries, _, answers = problem(5, 9)
    rounded = answers + np.random.default_rng(5).integers(-1, 2, answers.shape)
    bounded = IntegerProgramme(error=1.0, most_solutions=40).decode(queries, rounded)
    kept = Exhaustive(error=1.0).consistent(queries, rounded)
    assert len(kept) > 1
    assert bounded.status == (DecodingStatus.SEVERAL,)
    np.testing.assert_allclose(bounded.values[0], kept.mean(axis=0))


@pytest.mark.parametrize("prior", [None, (0.1, 0.9, 0.5, 0.5, 0.3, 0.7, 0.2, 0.6)])
def test_no_flip_of_two_bits_improves_the_gaussian_likelihood(prior):
    columns = _all_columns(8).astype(float)
    queries, _, answers = problem(8, 9, runs=50, noise=1.5)
    decoded = GaussianLikelihood(noise=1.5, prior=prior).decode(queries, answers)
    best = 0
    for run in range(50):
        costs = posterior(columns, queries, answers[run], 1.5, prior or [0.5] * 8, 2)
        mine = costs[(columns == decoded.values[run]).all(axis=1)][0]
        near = np.abs(columns - decoded.values[run]).sum(axis=1) <= 2
        assert mine <= costs[near].min() + 1e-9
        best += mine <= costs.min() + 1e-9
    assert best >= 40


def test_flips_never_make_the_rounded_least_squares_worse():
    queries, _, answers = problem(40, 60, runs=20, noise=3.0)
    start = BoxedLeastSquares().decode(queries, answers).bits.astype(float)
    better = flipped((queries.T @ queries).astype(float), answers @ queries, start)
    before, after = (((bits @ queries.T - answers) ** 2).sum(axis=1) for bits in (start, better))
    assert (after <= before + 1e-9).all()
    assert (after < before - 1e-9).any()


def test_prior_decides_about_records_that_no_query_counts():
    queries, bits, _ = problem(4, 20)
    queries[:, 1] = 0
    for decoder in (GaussianLikelihood, IntegerProgramme):
        decoded = decoder(prior=(0.5, 0.8, 0.5, 0.5)).decode(queries, bits @ queries.T)
        assert decoded.values[0, 1] == 0.8
        with pytest.raises(ParameterError, match="each of the 4 records"):
            decoder(prior=(0.5,)).decode(queries, bits @ queries.T)
