"""Noisy answers of teachers: their laws, their claims, and how far a claim is from what an answer shows."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import erfc

from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.accounting import ConcentratedDP
from dpassay.mechanisms.core import NeighboursError, Outputs, ParameterError
from dpassay.mechanisms.literature.pate import ConfidentGNMax, GNMax, InteractiveGNMax, LNMax, count_votes
from dpassay.mechanisms.literature.pate.broken import AbstentionNotAccounted, CheckWithoutNoise
from dpassay.mechanisms.literature.pate.winners import log_gaussian_winner, log_laplace_winner

FALSE_ALARM = 1e-6
TEN = [120, 90, 20, 10, 5, 5, 0, 0, 0, 0]
TWO = {"n_teachers": 100, "n_classes": 2}


def chi_square(counts, expected):
    """p-value of counts, cells that are expected fewer than five times put together."""
    few = expected < 5.0
    counts, expected = (np.append(a[~few], a[few].sum()) for a in (counts, expected))
    kept = expected > 0.0
    assert counts[~kept].sum() == 0
    return stats.chisquare(counts[kept], expected[kept] * counts.sum() / expected[kept].sum()).pvalue


@pytest.mark.parametrize("lead", [0, 1, 7, 60, 250])
def test_two_labels_have_the_closed_forms(lead):
    votes = np.array([[125 + lead, 125]])
    for sd in (3.0, 40.0):
        np.testing.assert_allclose(
            log_gaussian_winner(votes, sd)[0],
            stats.norm.logcdf([lead / (sd * 2**0.5), -lead / (sd * 2**0.5)]),
            rtol=1e-11,
            atol=1e-15,
        )
    x, behind = 0.05 * lead, log_laplace_winner(votes, 0.05)[0, 1]
    assert math.exp(behind) == pytest.approx((2 + x) / 4 * math.exp(-x), rel=1e-12)
    three = np.array([[125 + lead, 125, 0]])  # a third label far behind, and the general way of computing
    assert log_laplace_winner(100 * three, 0.05)[0, 1] == pytest.approx(
        log_laplace_winner(100 * votes, 0.05)[0, 1], rel=1e-9
    )


@pytest.mark.parametrize(
    "mechanism",
    [
        LNMax(0.05),
        GNMax(40.0),
        ConfidentGNMax(120.0, 30.0, 40.0),
        InteractiveGNMax(90.0, 30.0, 40.0, student=(0.05, 0.86, *[0.0] * 6, 0.09, 0.0)),
    ],
)
def test_labels_have_their_law(mechanism):
    labels = mechanism.release(TEN, 100_000, np.random.default_rng(3)).values[:, 0]
    law = np.exp(mechanism.log_labels(np.array([TEN])))[0]
    counts = np.bincount(labels % 11, minlength=11)
    assert chi_square(counts, 100_000 * law) > FALSE_ALARM
    law[:3] = law[2::-1]  # and not another one
    assert chi_square(counts, 100_000 * law) < FALSE_ALARM


def test_one_draw_answers_by_its_law():
    mechanism = LNMax(0.05, draws="one", **TWO)
    labels = mechanism.release([60, 40], 100_000, np.random.default_rng(3)).values[:, 0]
    law = np.exp(mechanism.log_labels(np.array([[60, 40]])))[0]
    assert law[1] == pytest.approx(stats.laplace.sf(50 - 40, scale=20.0), rel=1e-12)
    assert stats.binomtest(int(labels.sum()), 100_000, law[1]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("sure", [0.86, 0.79])
def test_interactive_answers_are_those_of_algorithm_2(sure):
    """The teachers answer where noisy max_j (n_j - M p_j) reaches T; else the student, if it is sure enough."""
    student = np.array([0.05, sure, *[0.0] * 6, 0.95 - sure, 0.0])
    mechanism = InteractiveGNMax(90.0, 30.0, 40.0, student=tuple(student), confidence=0.8)
    labels = mechanism.release(TEN, 100_000, np.random.default_rng(4)).values[:, 0]
    largest = max(n - 250 * p for n, p in zip(TEN, student, strict=True))
    passes = stats.norm.sf((90.0 - largest) / 30.0)
    z = np.linspace(-8.0, 8.0, 4001)  # the noise on one label, of which the others must stay below
    winner = [
        integrate.trapezoid(
            stats.norm.pdf(z)
            * np.prod([stats.norm.cdf(z + (n - m) / 40.0) for j, m in enumerate(TEN) if j != i], axis=0),
            z,
        )
        for i, n in enumerate(TEN)
    ]
    law = np.append(passes * np.array(winner), 0.0)
    law[1 if sure > 0.8 else 10] += 1.0 - passes
    counts = np.bincount(labels % 11, minlength=11)
    assert chi_square(counts, 100_000 * law) > FALSE_ALARM
    no_student = InteractiveGNMax(90.0, 30.0, 40.0, confidence=0.8)
    assert mechanism.support(np.array([TEN]))[0] == pytest.approx(largest)
    assert no_student.support(np.array([TEN]))[0] == pytest.approx(120 - 25)


def test_runs_are_drawn_in_blocks_without_repeating_one():
    values = GNMax(40.0, n_queries=600).release(np.tile(TEN, (600, 1)), 400, np.random.default_rng(0)).values
    assert len(np.unique(values, axis=0)) == 400


def test_no_query_is_asked_after_the_last_answer():
    mechanism = ConfidentGNMax(100.0, 30.0, 40.0, n_queries=6, max_answers=2)
    votes, rng = np.tile(TEN, (6, 1)), np.random.default_rng(0)
    values = mechanism.release(votes, 20_000, rng).values
    given = (values >= 0).sum(axis=1)
    assert given.max() == 2
    passes = stats.norm.cdf(20.0 / 30.0)
    both = stats.binom.sf(1, 6, passes)
    assert abs((given == 2).mean() - both) < 5 * math.sqrt(both * (1 - both) / 20_000)
    late = Outputs(np.array([[0, 0, 0, -1, -1, -1], [0, 0, -1, -1, -1, -1]]))
    np.testing.assert_array_equal(np.isfinite(mechanism.log_density(late, votes)), [False, True])


@pytest.mark.parametrize(
    "mechanism",
    [
        LNMax(0.4, **TWO),
        LNMax(0.4, draws="one", **TWO),
        GNMax(4.0, **TWO),
        ConfidentGNMax(55.0, 9.0, 5.0, **TWO),
    ],
)
@pytest.mark.parametrize("ones", [0, 20, 49, 50, 54, 99])
def test_no_pair_exceeds_the_claim(mechanism, ones):
    """Every move of one vote, from the law of one answer."""
    laws = [np.exp(mechanism.log_labels(np.array([[100 - n, n]])))[0] for n in (ones, ones + 1)]
    epsilon = np.linspace(0.0, 3.0, 31)
    for p, q in (laws, laws[::-1]):
        delta = np.maximum(0.0, p - np.exp(epsilon)[:, None] * q).sum(axis=1)
        assert (delta <= mechanism.guarantee().delta(epsilon) + 1e-12).all()


def test_cost_of_an_answer_is_that_of_the_papers():
    assert LNMax(0.05).guarantee().epsilon(0.0) == pytest.approx(0.1)
    assert GNMax(40.0).rho == pytest.approx(1 / 1600)
    check = ConfidentGNMax(200.0, 150.0, 40.0)
    assert check.rho(0) == pytest.approx(1 / 45_000)
    assert check.rho(1) == pytest.approx(1 / 45_000 + 1 / 1600)
    mu = check.guarantee().mu
    assert mu**2 / 2 == pytest.approx(check.rho(1))


@pytest.mark.parametrize(
    ("published", "n_queries", "n_answered", "check", "answer", "delta"),
    [
        (3.17, 640, 286, 150, 40, 1e-5),
        (12.7, 8500, 3098, 200, 40, 1e-6),
        (4.34, 1500, 524, 200, 40, 1e-5),
        (10.1, 12_000, 10_762, 500, 100, 1e-8),
    ],
)
def test_published_epsilons_are_those_of_the_textbook_conversion(
    published, n_queries, n_answered, check, answer, delta
):
    """MNIST, SVHN, Adult and Glyph of Papernot et al. (2018): rho + 2 sqrt(rho log(1 / delta)), checks included."""
    mechanism = ConfidentGNMax(200.0, float(check), float(answer), n_queries=n_queries)
    epsilon = ConcentratedDP(mechanism.rho(n_answered)).textbook_epsilon(delta)
    assert float(f"{epsilon:.3g}") == published


def test_count_votes_counts_what_a_loop_counts():
    labels = np.random.default_rng(0).integers(4, size=(9, 5))
    slow = [[sum(labels[t, q] == c for t in range(9)) for c in range(4)] for q in range(5)]
    assert count_votes(labels, 4).tolist() == slow


# --- planted faults ---------------------------------------------------------------------------------------------------

ABSTAINING = {"threshold": 200.0, "check_deviation": 3.0, "answer_deviation": 30.0, "n_queries": 500}
UNCHECKED = {"threshold": 200.0, "check_deviation": 150.0, "answer_deviation": 40.0, "n_queries": 5}


@pytest.mark.parametrize(
    ("broken", "twin"),
    [
        (AbstentionNotAccounted(**ABSTAINING), ConfidentGNMax(**ABSTAINING, max_answers=5)),
        (CheckWithoutNoise(**UNCHECKED), ConfidentGNMax(**UNCHECKED)),
    ],
)
def test_checks_without_budget_are_caught_and_checks_with_one_are_not(broken, twin, without_power):
    options = {"trials": 2_000, "confidence": 1 - FALSE_ALARM, "delta": 1e-2, "seed": 0}
    result = audit(broken, **options)
    assert result.verdict is Verdict.VIOLATION
    assert result.bound.epsilon <= broken.exact_guarantee().epsilon(1e-2)
    assert audit(twin, broken.worst_case(), **options).verdict is not Verdict.VIOLATION


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ([60, 41], "n_teachers = 100"),
        ([50.5, 49.5], "whole"),
        ([101, -1], "whole"),
        ([50, 25, 25], "shape"),
        ("ab", "shape"),
    ],
)
def test_votes_are_checked(dataset, message):
    with pytest.raises(ParameterError, match=message):
        GNMax(5.0, **TWO).release(dataset, 1, np.random.default_rng(0))


@pytest.mark.parametrize("other", [[52, 48], [50, 50]])
def test_neighbours_differ_by_one_teacher(other):
    with pytest.raises(NeighboursError, match="one teacher"):
        GNMax(5.0, **TWO).bind(Neighbours([50, 50], other, "replace_one"))


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: InteractiveGNMax(1.0, 1.0, 1.0, student=(0.5, 0.6)), "student"),
        (lambda: AbstentionNotAccounted(200.0, 1.0, 1.0, n_queries=5), "max_answers"),
        (lambda: CheckWithoutNoise(100.0, 1.0, 1.0), "threshold"),
        (lambda: count_votes([[0, 3]], 3), "labels"),
    ],
)
def test_wrong_options_are_named(make, argument):
    with pytest.raises(ParameterError, match=argument):
        make()


def test_bound_on_the_miss_is_a_sum_of_error_functions():
    votes = np.array([TEN])
    miss = 1.0 - np.exp(log_gaussian_winner(votes, 40.0)).max()
    assert miss <= sum(0.5 * erfc((120 - n) / 80.0) for n in TEN[1:])
