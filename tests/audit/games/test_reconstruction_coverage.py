"""Success stays below what the accountant allows, and the epsilon that follows from it covers the true one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.reconstruction import FairBits, OneOf
from dpassay.audit import audit_scores
from dpassay.audit.bounds.bits.one_run import OneRun
from dpassay.audit.bounds.reconstruction import Reconstruction, allowed_success
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.games import reconstruction_game
from dpassay.mechanisms import Gaussian, Geometric, KAryRandomizedResponse, Laplace, Outputs
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.local import OneTimeRAPPOR, SubsetSelection
from dpassay.mechanisms.noise.broken import LaplaceInverseScale

FALSE_ALARM = 1e-6
SIGNIFICANCE, GAMES = 0.2, 150
NEAR = np.abs(np.subtract.outer(range(4), range(4))) <= 1
SKEWED = [0.7, 0.1, 0.1, 0.1]
SPREAD = [0.4, 0.3, 0.2, 0.1]
UNIFORM = None
CATEGORIES, NUMBERS = (0, 1, 2, 3), (0.0, 0.2, 0.7, 1.0)
CORNERS = tuple(np.vstack([np.eye(3), -np.eye(3)[:1]]))
PLAYED = {
    "k-ary": (KAryRandomizedResponse(epsilon=1.0, k=4), {"candidates": CATEGORIES}),
    "k-ary, large epsilon": (KAryRandomizedResponse(epsilon=4.0, k=4), {"candidates": CATEGORIES}),
    "RAPPOR": (OneTimeRAPPOR(k=4), {"candidates": CATEGORIES}),
    "subset selection": (SubsetSelection(epsilon=1.0, k=4), {"candidates": CATEGORIES}),
    "Laplace": (Laplace(epsilon=2.0, relation="replace_one"), {"candidates": NUMBERS}),
    "Laplace, next to a reference": (Laplace(epsilon=2.0), {"candidates": (1.0, -1.0, 0.5, 0.1), "reference": 0.0}),
    "geometric": (Geometric(epsilon=1.0, relation="replace_one"), {"candidates": (0, 1), "prior": [0.3, 0.7]}),
    "Gaussian": (Gaussian(noise_multiplier=0.8, n_queries=3), {"candidates": CORNERS, "reference": np.zeros(3)}),
}


@pytest.mark.parametrize("prior", [UNIFORM, SKEWED, SPREAD], ids=["uniform", "skewed", "spread"])
@pytest.mark.parametrize("close", [None, NEAR], ids=["exact", "near"])
@pytest.mark.parametrize("name", PLAYED)
def test_success_never_exceeds_the_ceiling_of_the_accountant_beyond_chance(name, prior, close):
    mechanism, parts = PLAYED[name]
    if "prior" not in parts:
        parts = parts | {"prior": prior, "close": close}
    game = reconstruction_game(mechanism, OneOf(**parts), n_rounds=20_000, seed=1)
    ceiling = allowed_success(mechanism.guarantee(), game.prior_success)
    assert game.prior_success <= ceiling
    assert stats.binom.sf(game.n_success - 1, game.n_runs, ceiling) > FALSE_ALARM
    assert stats.binom.cdf(game.n_success, game.n_runs, game.prior_success) > FALSE_ALARM  # never worse than blind
    if game.uniform_on and close is None:
        ceiling = allowed_success(mechanism.guarantee(), game.prior_success, candidates=game.uniform_on)
        assert stats.binom.sf(game.n_success - 1, game.n_runs, ceiling) > FALSE_ALARM


def test_the_ceiling_of_a_broken_claim_is_exceeded():
    mechanism = LaplaceInverseScale(epsilon=0.5)
    game = reconstruction_game(mechanism, OneOf((1.0, -1.0), reference=0.0), n_rounds=20_000, seed=1)
    assert stats.binom.sf(game.n_success - 1, game.n_runs, allowed_success(mechanism.guarantee(), 0.5)) < FALSE_ALARM


PRIORS = {"uniform": UNIFORM, "skewed": SKEWED, "spread": SPREAD}
COVERED = {
    f"{name}, {kind}": (prior, close, Reconstruction())
    for name, prior in PRIORS.items()
    for kind, close in (("exact", None), ("near", NEAR))
} | {"candidates": (UNIFORM, None, Reconstruction(candidates=4))}


def best_success(mechanism, prior, close):
    """Return the exact probability that the guess with the largest posterior probability of being close is close."""
    outputs = Outputs(np.array(CATEGORIES))
    law = np.exp([mechanism.output_law().log_density(outputs, one) for one in CATEGORIES])  # (secret, output)
    joint = law * np.full((4, 1), 0.25) if prior is None else law * np.array(prior)[:, None]
    return float((joint.T @ (np.eye(4) if close is None else close)).max(axis=1).sum())


@pytest.mark.parametrize("case", COVERED)
def test_the_bound_covers_the_true_epsilon_at_every_prior(case):
    """At significance 0.2, 60 rounds: over all numbers of successes, whose probability is that of the best guesses."""
    prior, close, bound = COVERED[case]
    mechanism = KAryRandomizedResponse(epsilon=0.3, k=4)
    game = reconstruction_game(mechanism, OneOf(CATEGORIES, prior, close), n_rounds=2_000, seed=1)
    success = best_success(mechanism, prior, close)
    assert FALSE_ALARM < stats.binom.cdf(game.n_success, 2_000, success) < 1 - FALSE_ALARM
    fixed = bound.fix(Statement(mechanism.guarantee(), delta=0.0, confidence=1 - SIGNIFICANCE), None, (60,))
    epsilons = [fixed.lower_bound(replace(game, n_success=k, n_runs=60)).epsilon for k in range(61)]
    missed = stats.binom.pmf(np.arange(61), 60, success) @ (np.array(epsilons) > 0.3)
    assert missed <= SIGNIFICANCE
    if bound.candidates:  # tight: the bound exceeds the truth nearly as often as it may
        assert missed >= 0.5 * SIGNIFICANCE


def test_the_bound_from_bits_covers_the_true_epsilon():
    mechanism, secret = KAryRandomizedResponse(epsilon=1.0, k=2), FairBits.column(20)
    bound = OneRun(guesses=60, center=0.0)
    fixed = bound.fix(Statement(mechanism.guarantee(), delta=0.0, confidence=1 - SIGNIFICANCE), None, (60,))
    games = (reconstruction_game(mechanism, secret, n_rounds=3, seed=seed) for seed in range(GAMES))
    missed = sum(fixed.lower_bound(game).epsilon > 1.0 for game in games)
    assert stats.binom.ppf(FALSE_ALARM, GAMES, 0.4 * SIGNIFICANCE) <= missed
    assert missed <= stats.binom.isf(FALSE_ALARM, GAMES, SIGNIFICANCE)


def test_candidates_need_a_secret_that_is_uniform_on_them():
    mechanism = KAryRandomizedResponse(epsilon=0.3, k=4)
    skewed = reconstruction_game(mechanism, OneOf(CATEGORIES, [0.25, 0.25, 0.5, 0.0]), n_rounds=100, seed=0)
    with pytest.raises(ParameterError, match="candidates is 4, but the secret is not uniform"):
        audit_scores(skewed, mechanism=mechanism, bound=Reconstruction(candidates=4), delta=0.0)
    fair = reconstruction_game(mechanism, OneOf(CATEGORIES), n_rounds=100, seed=0)
    with pytest.raises(ParameterError, match="candidates is 8, but the secret is uniform on 4"):
        audit_scores(fair, mechanism=mechanism, bound=Reconstruction(candidates=8), delta=0.0)
