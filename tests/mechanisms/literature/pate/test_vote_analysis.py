"""The data-dependent cost of answers: against exact Renyi divergences, and how it is published."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from scipy.special import logsumexp

from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms.accounting import GaussianDP
from dpassay.mechanisms.accounting.kinds.two_laws import TwoGaussiansDP
from dpassay.mechanisms.core import AccountingError, ParameterError
from dpassay.mechanisms.literature.pate import ConfidentGNMax, GNMax, LNMax, PrivateEpsilon, data_dependent
from dpassay.mechanisms.literature.pate.broken import EpsilonOfVotes
from dpassay.mechanisms.literature.pate.data_dependent_epsilon import _noise_divergences
from dpassay.mechanisms.literature.pate.renyi import (
    CHECK_DEVIATION_RATIO,
    gaussian_divergences,
    laplace_divergences,
    log_check_miss,
    log_gaussian_miss,
    log_laplace_miss,
)
from dpassay.mechanisms.literature.pate.smooth_sensitivity import MAX_VOTE_STEPS, SteppedBound
from dpassay.mechanisms.literature.pate.winners import log_gaussian_winner, log_laplace_majority, log_laplace_winner

ORDERS = np.array([1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
ROUNDING = 1e-12


def divergence(log_p, log_q):
    """Return the Renyi divergences of two finite laws at ORDERS."""
    a = ORDERS[:, None]
    return logsumexp(a * log_p + (1 - a) * log_q, axis=1) / (ORDERS - 1)


def neighbours(votes):
    """Return all votes of one query with a vote moved, `(n, n_classes)`."""
    moves = np.eye(len(votes), dtype=int)[None] - np.eye(len(votes), dtype=int)[:, None]
    moved = (votes + moves).reshape(-1, len(votes))
    return moved[(moved >= 0).all(axis=1) & (moved != votes).any(axis=1)]


def some_votes(seed, n_classes):
    rng = np.random.default_rng(seed)
    for _ in range(12):
        yield rng.multinomial(int(rng.integers(5, 250)), rng.dirichlet(np.full(n_classes, 0.3)))


GAUSSIAN = (
    log_gaussian_winner,
    lambda votes, sd: gaussian_divergences(log_gaussian_miss(votes, sd), sd, ORDERS),
    (5.0, 10.0, 40.0),
)
LAPLACE = (
    log_laplace_winner,
    lambda votes, rate: laplace_divergences(log_laplace_miss(votes, rate), rate, ORDERS),
    (0.02, 0.1, 0.4),
)

ONE_DRAW = (
    log_laplace_majority,
    lambda votes, rate: laplace_divergences(log_laplace_majority(votes, rate).min(axis=1), 0.5 * rate, ORDERS),
    (0.02, 0.1, 0.4),
)


@pytest.mark.parametrize(
    ("law", "bound", "scales", "n_classes"),
    [(*GAUSSIAN, 2), (*GAUSSIAN, 4), (*LAPLACE, 2), (*LAPLACE, 4), (*ONE_DRAW, 2)],
    ids=["GNMax-2", "GNMax-4", "LNMax-2", "LNMax-4", "LNMax-one-draw"],
)
def test_bound_is_above_the_exact_divergence_on_every_table_of_votes(law, bound, scales, n_classes):
    below = 0
    for scale in scales:
        for votes in some_votes(n_classes, n_classes):
            allowed = bound(votes[None], scale)[0]
            own, *others = law(np.vstack([votes, neighbours(votes)]), scale)
            for other in others:
                assert (divergence(own, other) <= allowed + ROUNDING).all()
            below += (allowed < bound(np.full((1, n_classes), 10), scale)[0]).any()
    assert below > 5  # that is, the bound is not that for all votes


def test_bound_may_fail_from_the_neighbour_to_the_votes_that_were_cast():
    """A divergence has a direction: why the number is no guarantee."""
    votes, moved = np.array([[58, 2]]), np.array([[57, 3]])
    allowed = gaussian_divergences(log_gaussian_miss(votes, 5.0), 5.0, ORDERS)[0]
    forth, back = log_gaussian_winner(votes, 5.0)[0], log_gaussian_winner(moved, 5.0)[0]
    assert (divergence(forth, back) <= allowed).all()
    assert (divergence(back, forth) > allowed).any()


@pytest.mark.parametrize("above", [-300.0, -40.0, 0.0, 3.0, 90.0, 400.0])
def test_bound_of_a_check_is_above_its_exact_divergence(above):
    for sd in (20.0, 100.0):
        allowed = gaussian_divergences(log_check_miss(np.array([above]), sd), CHECK_DEVIATION_RATIO * sd, ORDERS)[0]
        assert (allowed <= ORDERS / (2 * sd**2) + ROUNDING).all()
        own, *moved = ([stats.norm.logcdf(x / sd), stats.norm.logcdf(-x / sd)] for x in (above, above + 1, above - 1))
        for other in moved:
            assert (divergence(np.array(own), np.array(other)) <= allowed + ROUNDING).all()


def test_formula_is_that_of_the_paper_written_out():
    """At q = 1e-6, sigma = 40 and order 10, without logarithms."""
    q, sigma, order = 1e-6, 40.0, 10.0
    mu2 = sigma * math.sqrt(-math.log(q))
    mu1 = mu2 + 1
    e1, e2 = mu1 / sigma**2, mu2 / sigma**2
    a = (1 - q) / (1 - (q * math.exp(e2)) ** ((mu2 - 1) / mu2))
    b = math.exp(e1) / q ** (1 / (mu1 - 1))
    expected = math.log((1 - q) * a ** (order - 1) + q * b ** (order - 1)) / (order - 1)
    bound = gaussian_divergences(np.array([math.log(q)]), sigma, np.array([order]))[0, 0]
    assert bound == pytest.approx(expected, rel=1e-7)
    assert bound < 1e-2 * order / sigma**2


def test_clear_votes_cost_several_times_less_than_torn_votes():
    aggregator = ConfidentGNMax(200.0, 150.0, 40.0, n_queries=640)
    tables = [np.tile([n, 250 - n, *[0] * 8], (640, 1)) for n in (240, 125)]
    clear, torn = (data_dependent(aggregator, votes).epsilon(1e-5) for votes in tables)
    rho = aggregator.rho(640)
    assert torn == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e5)), rel=1e-3)
    assert 2.0 < torn / clear < 6.0


def test_cost_is_that_of_all_checks_and_of_the_given_answers():
    aggregator = ConfidentGNMax(200.0, 150.0, 40.0, n_queries=2)
    votes = np.array([[130, 120, *[0] * 8]] * 2)
    both, one, none = (
        data_dependent(aggregator, votes, answered=given, orders=ORDERS).divergences
        for given in ([True, True], [True, False], [False, False])
    )
    np.testing.assert_allclose(both - one, ORDERS / 1600)
    np.testing.assert_allclose(none, 2 * ORDERS / (2 * 150.0**2), rtol=1e-6)


# --- smooth sensitivity -----------------------------------------------------------------------------------------------


def test_a_moved_vote_moves_the_place_on_the_grid_by_at_most_one_vote():
    for n_classes in (2, 3, 5):
        bound = SteppedBound(7.0, n_classes, 4.0, 125.0)
        for votes in some_votes(9, n_classes):
            place = bound.places(log_gaussian_miss(votes[None], 7.0))
            moved = bound.places(log_gaussian_miss(neighbours(votes), 7.0))
            assert np.abs(moved - place).max() <= MAX_VOTE_STEPS


def test_stepped_bound_is_above_the_plain_one_and_close():
    votes = np.array([[k, 250 - k, 0] for k in range(125, 251)])
    log_miss = log_gaussian_miss(votes, 40.0)
    plain = gaussian_divergences(log_miss, 40.0, np.array([20.0]))[:, 0]
    stepped = SteppedBound(40.0, 3, 20.0, 125.0).divergences(log_miss)
    assert (stepped >= plain - ROUNDING).all()
    assert stepped.sum() < 1.01 * plain.sum()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_smooth_sensitivity_is_smooth_and_bounds_changes_of_epsilon(n_classes):
    """Random tables of three queries, of which one teacher changes one to three votes."""
    aggregator = ConfidentGNMax(30.0, 12.0, 6.0, n_teachers=50, n_classes=n_classes, n_queries=3)
    mechanism = PrivateEpsilon(aggregator, order=4.0, beta=0.1, noise=1.0, answered=(True, True, False))
    rng, moves = np.random.default_rng(n_classes), 0
    for _ in range(60):
        votes = rng.multinomial(50, rng.dirichlet(np.full(n_classes, 0.2)), size=3)
        other = votes.copy()
        for row in other[: rng.integers(1, 4)]:
            row[rng.choice(np.flatnonzero(row))] -= 1
            row[rng.integers(n_classes)] += 1
        first, second = (mechanism.epsilon(table) for table in (votes, other))
        s0, s1 = (mechanism.deviation(table) for table in (votes, other))
        assert abs(first - second) <= min(s0, s1) + ROUNDING
        assert abs(math.log(s0 / s1)) <= 0.1 + ROUNDING
        moves += first != second
    assert moves > 20


def test_claim_of_the_noise_is_the_largest_divergence_of_two_gaussians():
    """Over all distances up to the smaller size and all ratios of sizes, by optimisation."""
    beta, noise = 0.05, 2.0
    for order in (1.5, 4.0, 8.0):

        def minus(v, a=order):
            ratio = math.exp(v)
            mixed = a * ratio**2 + 1 - a
            shift = a * min(1.0, ratio) ** 2 / (2 * noise**2 * mixed)
            return -(shift - math.log(math.sqrt(mixed) / ratio**a) / (a - 1))

        largest = max(-minus(v) for v in np.linspace(-beta, beta, 401))
        claimed = _noise_divergences(np.array([order]), beta, noise)[0]
        assert claimed == pytest.approx(largest, rel=1e-12)
        x, end = np.linspace(-60.0, 60.0, 200_001), math.exp(-beta)
        p, q = stats.norm.logpdf(x), stats.norm.logpdf(x, end / noise, end)
        integral = math.log(integrate.trapezoid(np.exp(order * p + (1 - order) * q), x)) / (order - 1)
        assert claimed == pytest.approx(integral, rel=1e-9)


def test_curve_of_two_gaussians_is_that_of_an_integral():
    x = np.linspace(-30.0, 30.0, 300_001)
    p = stats.norm.pdf(x)
    for scale, epsilon in ((1.2, 0.0), (1.2, 2.0), (0.7, 1.0), (0.7, 3.0)):
        q = stats.norm.pdf(x, 2.0, scale)
        gaps = [integrate.trapezoid(np.maximum(0.0, a - math.exp(epsilon) * b), x) for a, b in ((p, q), (q, p))]
        assert TwoGaussiansDP(0.0, 1.0, 2.0, scale).delta(epsilon) == pytest.approx(max(gaps), abs=1e-8)
    assert TwoGaussiansDP(1.0, 3.0, -2.0, 3.0).delta(0.4) == pytest.approx(GaussianDP(1.0).delta(0.4), rel=1e-12)
    assert TwoGaussiansDP(1.0, 3.0, 1.0, 3.0).epsilon(0.0) == 0.0
    inverse = TwoGaussiansDP(0.0, 1.0, 2.0, 1.2).epsilon(1e-3)
    root = optimize.brentq(lambda e: TwoGaussiansDP(0.0, 1.0, 2.0, 1.2).delta(e) - 1e-3, 0.1, 30.0)
    assert inverse == pytest.approx(root, rel=1e-9)


# --- the planted fault ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [GNMax(40.0, n_queries=50), LNMax(0.05, n_queries=50)])
def test_an_epsilon_that_is_published_without_noise_is_caught(base, without_power):
    result = audit(EpsilonOfVotes(base), trials=2_000, confidence=0.9999, delta=1e-2, seed=0)
    assert result.verdict is Verdict.VIOLATION


def test_an_epsilon_that_is_published_with_noise_is_not_caught(without_power):
    base = GNMax(40.0, n_queries=50)
    broken, twin = EpsilonOfVotes(base), PrivateEpsilon(base)
    pair = broken.worst_case()
    assert twin.epsilon(pair.d0) != twin.epsilon(pair.d1)
    for one in (pair, twin.worst_case()):
        assert audit(twin, one, trials=2_000, confidence=0.9999, delta=1e-2, seed=0).verdict is not Verdict.VIOLATION


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"aggregator": LNMax(0.1)}, "aggregator"),
        ({"order": 1.0}, "order"),
        ({"order": 900.0}, "order"),
        ({"answered": (True, False)}, "answered"),
    ],
)
def test_wrong_options_are_named(options, argument):
    with pytest.raises(ParameterError, match=argument):
        PrivateEpsilon(**{"aggregator": GNMax(40.0)} | options)


def test_too_large_a_beta_has_no_claim():
    with pytest.raises(AccountingError, match="beta"):
        PrivateEpsilon(GNMax(40.0), beta=5.0).guarantee()


def test_answered_is_checked():
    with pytest.raises(ParameterError, match="answered"):
        data_dependent(GNMax(40.0, n_classes=2), [[200, 50]], answered=[True, False])
