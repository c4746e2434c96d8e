"""The bound from reconstruction: known values, what a guarantee allows, coverage, and broken twins."""

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from tests.audit import calls
from tests.audit.coverage import count_misses

from dpassay.audit.bounds.base import LowerBound, PairBound
from dpassay.audit.bounds.families import family_of, least_member
from dpassay.audit.bounds.reconstruction import Reconstruction, allowed_success, success_lower
from dpassay.audit.evidence.scores import PairScores, Successes
from dpassay.audit.evidence.statement import Statement
from dpassay.mechanisms import KAryRandomizedResponse
from dpassay.mechanisms.accounting import ApproximateDP, ExactDP, GaussianDP, LaplaceDP, PrivacyLossDP, PureDP
from dpassay.mechanisms.core import AccountingError, ParameterError, RelationError

GAUSSIAN = family_of(GaussianDP(1.0))
GUESSED = Successes(60, 100, prior_success=0.1)


def bound_of(successes, *, delta=0.0, confidence=0.95, **options):
    return calls.lower_bound(Reconstruction(**options), successes, delta=delta, confidence=confidence)


def mu_lower(successes):
    return calls.fixed(Reconstruction(), successes.sizes, delta=0.0, confidence=0.95).mu_lower(successes)


def epsilon(successes, **level):
    return bound_of(successes, **level).epsilon


# --- known values ----------------------------------------------------------------------------------------------------


def test_sixty_of_a_hundred_has_its_known_values():
    # formulas by beta and normal quantiles, evaluated independently to 6 digits
    assert success_lower(GUESSED, confidence=0.95) == pytest.approx(0.512976, abs=6e-7)
    assert epsilon(GUESSED) == pytest.approx(1.635059, abs=6e-7)
    assert epsilon(GUESSED, candidates=10) == pytest.approx(2.249, abs=6e-4)
    assert mu_lower(GUESSED) == pytest.approx(1.314083, abs=6e-7)


@pytest.mark.parametrize(
    ("budget", "allowed"),
    # Gaussian mechanism at delta 1e-5, prior_success .01, .1, .5; evaluated independently to 3 digits
    [
        (1, (0.020, 0.155, 0.606)),
        (2, (0.034, 0.218, 0.692)),
        (4, (0.081, 0.361, 0.822)),
        (8, (0.255, 0.650, 0.952)),
        (10, (0.372, 0.764, 0.977)),
    ],
)
def test_allowed_success_of_a_gaussian_mechanism_has_its_known_values(budget, allowed):
    claim = GaussianDP.for_budget(epsilon=budget, delta=1e-5)
    assert [allowed_success(claim, prior_success) for prior_success in (0.01, 0.1, 0.5)] == pytest.approx(
        allowed, abs=6e-4
    )


def test_allowed_success_of_other_guarantees_has_its_known_values():
    assert allowed_success(ApproximateDP(1.0, 1e-5), 0.1) == pytest.approx(0.272, abs=5e-4)
    assert allowed_success(ApproximateDP(2.0, 1e-5), 0.1) == pytest.approx(0.739, abs=5e-4)
    assert allowed_success(GaussianDP(1.0), 0.1) == pytest.approx(0.389, abs=5e-4)


@pytest.mark.parametrize("k", [2, 3, 10, 49])
@pytest.mark.parametrize("claimed", [0.0, 0.3, 1.0, 5.0])
def test_pure_guarantee_allows_the_success_of_randomized_response(k, claimed):
    expected = math.exp(claimed) / (math.exp(claimed) + k - 1)
    assert allowed_success(PureDP(claimed), 1 / k, candidates=k) == pytest.approx(expected, rel=1e-12)


def test_gaussian_with_two_candidates_allows_the_optimal_test():
    # the optimal test between N(0, 1) and N(mu, 1) with equal priors is right with probability Phi(mu / 2)
    assert allowed_success(GaussianDP(1.4), 0.5, candidates=2) == pytest.approx(stats.norm.cdf(0.7), rel=1e-12)


def test_no_attack_on_any_small_mechanism_succeeds_more_often_than_allowed():
    # brute force: every guess function on random laws of 3 candidates over 4 outputs
    rng = np.random.default_rng(5)
    guesses = np.array(list(itertools.product(range(3), repeat=4)))
    for _ in range(20):
        laws = rng.dirichlet(np.full(4, 0.7), size=3)  # laws[z] of the output given z
        best = max(np.mean([laws[z][guess == z].sum() for z in range(3)]) for guess in guesses)
        pairs = [ExactDP(laws[i], laws[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
        worst = ApproximateDP(max(pair.epsilon(0.05) for pair in pairs), 0.05)
        assert best <= allowed_success(worst, 1 / 3, candidates=3) + 1e-9
        reference = [ExactDP(rng_law, law) for rng_law in [rng.dirichlet(np.full(4, 0.7))] for law in laws]
        assert best <= allowed_success(ApproximateDP(max(p.epsilon(0.05) for p in reference), 0.05), 1 / 3) + 1e-9


def test_ceiling_is_reached_when_every_guess_is_right():
    perfect = Successes(200, 200, prior_success=1e-6)
    lower_bound = bound_of(perfect)
    assert lower_bound.epsilon == lower_bound.ceiling == pytest.approx(math.log(0.05 ** (1 / 200) / 1e-6), rel=1e-12)
    lower_bound = bound_of(Successes(200, 200, prior_success=0.1))
    assert lower_bound.ceiling == pytest.approx(math.log(0.9 / -math.expm1(math.log(0.05) / 200)), rel=1e-12)
    among_ten = bound_of(Successes(120, 200, prior_success=0.1), candidates=10)
    assert among_ten.ceiling == epsilon(Successes(200, 200, prior_success=0.1), candidates=10)


@pytest.mark.parametrize(
    "successes", [Successes(0, 50, 0.1), Successes(50, 50, 1.0), Successes(5, 50, 0.1), Successes(25, 50, 0.5)]
)
def test_success_that_chance_explains_gives_the_bound_0(successes):
    assert epsilon(successes) == 0.0
    assert epsilon(successes, candidates=10) == 0.0
    assert epsilon(successes, curve_family=GAUSSIAN, delta=1e-5) == 0.0


def test_delta_may_explain_all_of_it():
    assert epsilon(GUESSED, delta=0.6) == 0.0
    assert 0.0 < epsilon(GUESSED, delta=0.3) < epsilon(GUESSED, delta=0.01) < epsilon(GUESSED)


def test_twin_from_scipy_stats_agrees():
    rng = np.random.default_rng(3)
    for _ in range(200):
        n = int(rng.integers(1, 400))
        w, prior_success = int(rng.integers(0, n + 1)), float(rng.uniform(0.01, 0.99))
        delta, level = rng.choice([0.0, 1e-3, 0.2]), rng.choice([0.5, 0.05, 1e-12])
        gamma = stats.beta.ppf(level, w, n - w + 1) if w else 0.0
        lines = [(gamma - delta) / prior_success, (1 - delta - prior_success) / (1 - gamma)]
        expected = max([0.0] + [math.log(x) for x in lines if x > 0])
        lower_bound = epsilon(Successes(w, n, prior_success), delta=delta, confidence=1 - level)
        assert lower_bound == pytest.approx(expected, abs=1e-4 if level == 1e-12 else 1e-9)


@pytest.mark.parametrize(
    ("kind", "value"), [(GaussianDP, 3.0), (LaplaceDP, 2.0), (PureDP, 1.0), (PrivacyLossDP.gaussian, 1.0)]
)
def test_family_bound_is_the_member_that_allows_just_so_much(kind, value):
    claim = kind(value)
    fixed = Reconstruction(curve_family="claim").fix(Statement(claim, 1e-5), None, (100,))
    lower_bound, gamma = fixed.lower_bound(GUESSED), success_lower(GUESSED, confidence=0.95)
    family = family_of(claim)
    member = least_member(family, lambda one: one.epsilon(1e-5) >= lower_bound.epsilon, start=1)
    assert allowed_success(family.member(member), 0.1) == pytest.approx(gamma, rel=5e-3)
    assert lower_bound.assumptions == (f"the trade-off curve is that of {family.title}",)
    assert lower_bound.epsilon <= lower_bound.ceiling


def test_gaussian_family_bound_is_that_of_mu():
    mu = mu_lower(GUESSED)
    assert epsilon(GUESSED, curve_family=GAUSSIAN, delta=1e-5) == pytest.approx(GaussianDP(mu).epsilon(1e-5), rel=1e-7)


# --- p-values and claims ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", [PureDP(1.0), ApproximateDP(0.5, 0.01), GaussianDP(1.0), LaplaceDP(1.3)], ids=str)
def test_claim_is_refuted_when_the_limit_exceeds_what_it_allows(claim):
    allowed = allowed_success(claim, 0.1)
    for w in range(101):
        successes = Successes(w, 100, prior_success=0.1)
        expected = success_lower(successes, confidence=0.95) > allowed
        assert (calls.curve_test(Reconstruction(), successes, claim, confidence=0.95) is not None) == expected
        tail = max(1e-12, stats.binom.sf(w - 1, 100, allowed))
        assert calls.claim_p_value(Reconstruction(), successes, claim) == pytest.approx(tail, rel=1e-9)


def test_whole_curve_refutes_what_its_epsilon_at_delta_does_not():
    claim, successes = GaussianDP.for_budget(epsilon=4.0, delta=1e-5), Successes(60, 100, prior_success=0.1)
    assert epsilon(successes, delta=1e-5) < 4.0
    violation = calls.curve_test(Reconstruction(), successes, claim, confidence=0.95, delta=1e-5)
    assert violation.delta_lower > violation.delta == pytest.approx(claim.delta(violation.epsilon))
    assert (violation.threshold, violation.hits, violation.fpr) == (None, None, 0.1)


@given(
    w=st.integers(0, 60),
    claim=st.sampled_from([0.0, 0.2, 1.0, 2.0]),
    delta=st.sampled_from([1e-5, 0.1]),
    options=st.sampled_from([{}, {"candidates": 4}, {"candidates": 8}, {"curve_family": GAUSSIAN}]),
)
def test_p_value_is_the_significance_at_which_the_bound_passes_the_claim(w, claim, delta, options):
    successes = Successes(w, 60, prior_success=0.25)
    p = calls.p_value(Reconstruction(**options), successes, epsilon=claim, delta=delta)
    off = 0.02 if "curve_family" in options else 1e-4  # a search, rounded up, or one binomial tail
    if p < 0.97:
        assert epsilon(successes, delta=delta, confidence=1 - p * (1 + off), **options) > claim
    if p > 1e-9:
        assert epsilon(successes, delta=delta, confidence=1 - p * (1 - off), **options) <= claim


# --- properties ------------------------------------------------------------------------------------------------------

successes_of_hundred = st.integers(0, 100)
levels = st.floats(0.5, 1 - 1e-9)
options = st.sampled_from([{}, {"candidates": 10}, {"curve_family": GAUSSIAN}])


@given(
    w=successes_of_hundred, level=levels, other=levels, delta=st.floats(1e-6, 0.4), more=st.floats(1e-6, 0.4), o=options
)
def test_bound_falls_as_confidence_or_delta_grow(w, level, other, delta, more, o):
    (low, high), (few, many) = sorted((level, other)), sorted((delta, more))
    successes = Successes(w, 100, prior_success=0.1)
    lower_bound = epsilon(successes, delta=few, confidence=high, **o)
    assert lower_bound <= epsilon(successes, delta=few, confidence=low, **o) + 1e-12
    assert lower_bound >= epsilon(successes, delta=many, confidence=high, **o) - 1e-12


@given(w=st.integers(0, 99), prior_success=st.floats(0.01, 0.99), delta=st.floats(0.0, 0.4), confidence=levels)
def test_bound_grows_with_success_and_falls_with_what_chance_gives(w, prior_success, delta, confidence):
    level = {"delta": delta, "confidence": confidence}
    lower_bound = epsilon(Successes(w, 100, prior_success), **level)
    assert epsilon(Successes(w + 1, 100, prior_success), **level) >= lower_bound
    assert epsilon(Successes(w, 100, min(1.0, prior_success * 1.1)), **level) <= lower_bound
    assert lower_bound <= bound_of(Successes(w, 100, prior_success), **level).ceiling


@given(w=successes_of_hundred, k=st.integers(2, 40), delta=st.floats(0.0, 0.4), confidence=levels)
def test_candidates_never_weaken_the_bound(w, k, delta, confidence):
    level, successes = {"delta": delta, "confidence": confidence}, Successes(w, 100, prior_success=1 / k)
    assert epsilon(successes, candidates=k, **level) >= epsilon(successes, **level) - 1e-12


def test_many_candidates_give_the_bound_of_the_reference():
    successes = Successes(60, 100, prior_success=0.1)
    assert epsilon(successes, candidates=10**9) == pytest.approx(epsilon(successes), rel=1e-8)


def test_result_holds_what_was_counted_and_what_is_assumed():
    lower_bound = bound_of(GUESSED)
    assert (lower_bound.method, lower_bound.n_trials) == ("reconstruction", 100)
    assert (lower_bound.hits, lower_bound.assumptions) == (None, ())
    assert lower_bound.ledger[0].looked_at == "60 of 100 rounds, prior success 0.1"
    known = bound_of(GUESSED, candidates=10)
    assert known.assumptions == ()  # how the secret is drawn is known, as its prior is; the curve may be any
    assert "neighbours of each other" in known.ledger[2].looked_at
    assert bound_of(GUESSED, curve_family=GAUSSIAN, delta=1e-5).assumptions == (
        "the trade-off curve is that of GaussianDP for some mu",
    )


# --- coverage --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SecretLaw:
    """Rounds of a reconstruction game whose success rate is the largest that the curve allows."""

    name: str
    curve: Any
    prior_success: float
    gamma: float

    def draws(self, rng, n_out, n_in):
        while True:
            yield from (Successes(int(w), n_out, self.prior_success) for w in rng.binomial(n_out, self.gamma, size=256))


def response_law(e, k):
    return SecretLaw(f"{k}-ary response, epsilon {e}", PureDP(e), 1 / k, math.exp(e) / (math.exp(e) + k - 1))


def removal_law(e, prior_success, delta=0.0):
    """Return the law of comparisons with one reference: tight, with pairs of candidates at up to 2 epsilon."""
    return SecretLaw(
        f"removal, epsilon {e}", ApproximateDP(e, delta), prior_success, math.exp(e) * prior_success + delta
    )


def second_line_law(e, prior_success):
    return SecretLaw(f"rest, epsilon {e}", PureDP(e), prior_success, 1 - math.exp(-e) * (1 - prior_success))


def gaussian_law(mu, prior_success):
    return SecretLaw(
        f"gaussian, mu {mu}", GaussianDP(mu), prior_success, stats.norm.cdf(stats.norm.ppf(prior_success) + mu)
    )


HALVES = SecretLaw("gaussian between two", GaussianDP(1.0), 0.5, stats.norm.cdf(0.5))
LAPLACE = SecretLaw("laplace", LaplaceDP(1.0), 0.3, 1 - float(LaplaceDP(1.0).tradeoff(0.3)))
COVERED = [
    (Reconstruction(), response_law(1.0, 10), 0.0),
    (Reconstruction(candidates=10), response_law(1.0, 10), 0.0),
    (Reconstruction(candidates=2), response_law(0.5, 2), 0.0),
    (Reconstruction(candidates=30), response_law(3.0, 30), 0.0),
    (Reconstruction(), removal_law(1.0, 0.1), 0.0),
    (Reconstruction(), removal_law(0.5, 0.2, 0.1), 0.1),
    (Reconstruction(), second_line_law(1.0, 0.6), 0.0),
    (Reconstruction(curve_family=GAUSSIAN), gaussian_law(1.0, 0.1), 1e-5),
    (Reconstruction(candidates=2, curve_family=GAUSSIAN), HALVES, 1e-5),
    (Reconstruction(), gaussian_law(1.0, 0.1), 0.05),
]  # fmt: skip


@pytest.mark.parametrize("repeats", [500, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("confidence", [0.8, pytest.param(0.95, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("bound", "law", "delta"), COVERED, ids=lambda v: v.name if isinstance(v, SecretLaw) else None)
def test_bound_never_exceeds_exact_epsilon_more_often_than_it_may(bound, law, delta, confidence, repeats):
    level = {"confidence": confidence, "delta": delta, "claim": calls.claim_of(bound, delta)}
    repeats = repeats if bound.curve_family is None else repeats // 5
    for n in (20, 300):
        coverage = count_misses(bound, law, repeats=repeats, n_out=n, n_in=n, seed=n, **level)
        assert coverage.holds, coverage


@pytest.mark.parametrize(("bound", "law", "delta"), COVERED[1:3] + COVERED[4:7], ids=str)
def test_bound_at_a_tight_success_rate_misses_almost_as_often_as_it_may(bound, law, delta):
    coverage = count_misses(bound, law, repeats=2000, n_out=5000, n_in=5000, confidence=0.8, seed=1, delta=delta)
    assert coverage.misses / coverage.repeats > 0.16


class _PlugIn(calls.Own, PairBound):
    """Bug: the observed success rate, without a limit."""

    name: ClassVar[str] = "plug-in"

    def lower_bound_at(self, scores, *, delta, confidence):
        result = max(0.0, math.log(max(scores.n_success, 1) / scores.n_runs / scores.prior_success))
        return LowerBound(result, delta, confidence, self.name, scores.n_runs, math.inf)


class _Changed(_PlugIn):
    """Bug: the bound for another statement."""

    name: ClassVar[str] = "changed"

    def __init__(self, change, **options):
        self.change, self.options = change, options

    def lower_bound_at(self, scores, *, delta, confidence):
        level = {"delta": delta, "confidence": confidence} | self.change(delta, confidence)
        return calls.lower_bound(Reconstruction(**self.options), scores, **level)


FORGETS_DELTA = _Changed(lambda delta, confidence: {"delta": 0.0})
TWO_SIDED_LEVEL = _Changed(lambda delta, confidence: {"confidence": 1 - 2 * (1 - confidence)})
PAIRS_UNDER_REMOVAL = _Changed(lambda delta, confidence: {}, candidates=10)


@pytest.mark.parametrize(
    ("twin", "law", "delta"),
    [
        (_PlugIn(), removal_law(1.0, 0.1), 0.0),
        (TWO_SIDED_LEVEL, removal_law(1.0, 0.1), 0.0),
        (FORGETS_DELTA, removal_law(0.5, 0.2, 0.1), 0.1),
        (PAIRS_UNDER_REMOVAL, removal_law(1.0, 0.1), 0.0),
        (Reconstruction(curve_family=GAUSSIAN), LAPLACE, 1e-5),
    ],
    ids=["plug-in", "level of two sides", "forgets delta", "pairs under add-remove", "gaussian family on laplace"],
)  # fmt: skip
def test_broken_twin_is_caught(twin, law, delta):
    level = {"confidence": 0.8, "delta": delta, "claim": calls.claim_of(twin, delta)}
    coverage = count_misses(twin, law, repeats=200, n_out=300, n_in=300, seed=5, **level)
    assert not coverage.holds, coverage


def test_reconstruction_of_randomized_responses_gives_their_epsilon():
    mechanism, rng, n = KAryRandomizedResponse(epsilon=1.0, k=10), np.random.default_rng(8), 20_000
    rounds = rng.multinomial(n, np.full(10, 0.1))  # fresh secrets, uniform on the candidates
    guesses = [mechanism.release(secret, int(size), rng).values for secret, size in enumerate(rounds)]
    right = sum(int(np.count_nonzero(guess == secret)) for secret, guess in enumerate(guesses))
    lower_bound = bound_of(Successes(right, n, prior_success=0.1), candidates=10)
    assert 0.9 < lower_bound.epsilon <= 1.0


# --- wrong input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 0, 0.5), "n_runs must be a whole number >= 1, but is 0"),
        ((-1, 5, 0.5), "n_success must be a whole number >= 0, but is -1"),
        ((6, 5, 0.5), "n_success must be at most n_runs = 5, but is 6"),
        ((1, 5, 0.0), "prior_success must be above 0"),
        ((1, 5, 1.5), r"prior_success must lie in \[0, 1\], but is 1.5"),
        ((1, 5, math.nan), "prior_success must be in .* NaN"),
    ],
)
def test_impossible_successes_are_named(arguments, message):
    with pytest.raises(ParameterError, match=message):
        Successes(*arguments)


def test_wrong_options_and_inputs_are_named():
    with pytest.raises(ParameterError, match="candidates must be a whole number >= 2, but is 1"):
        Reconstruction(candidates=1)
    with pytest.raises(ParameterError, match="unknown curve_family 'gaussian'"):
        Reconstruction(curve_family="gaussian")
    with pytest.raises(ParameterError, match="prior_success must be a multiple of 1 / candidates = 1 / 7"):
        bound_of(GUESSED, candidates=7)
    with pytest.raises(ParameterError, match=r"reads Successes.*was given PairScores"):
        bound_of(PairScores(np.zeros(3), np.ones(3)))
    with pytest.raises(AccountingError, match="delta is 0, where the claim GaussianDP"):
        bound_of(GUESSED, curve_family=GAUSSIAN)
    with pytest.raises(RelationError, match="candidates = 10"):
        Reconstruction(candidates=10).fix(Statement(PureDP(1.0, relation="zero_out"), 0.0), None, (100,))
    with pytest.raises(RelationError, match=r"candidates = 10 compares .* relation 'add_remove'"):
        allowed_success(PureDP(1.0, relation="add_remove"), 0.1, candidates=10)
    for level in ({"delta": 1.0, "confidence": 0.9}, {"delta": 0.0, "confidence": 1.0}):
        with pytest.raises(ParameterError, match=r"delta|confidence"):
            bound_of(GUESSED, **level)
