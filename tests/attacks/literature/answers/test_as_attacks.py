"""Decoders in the reconstruction game: what they may be used on, and that private answers stay below their ceiling."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.literature.answers import BoxedLeastSquares, IntegerProgramme, L1Decoding
from dpassay.attacks.literature.answers.base import Decoder
from dpassay.attacks.reconstruction import FairBits, OneOf, SecretTarget
from dpassay.attacks.reconstruction.catalogue import catalogue, choose
from dpassay.audit import audit_scores
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.games.reconstruction import reconstruction_game
from dpassay.mechanisms import Laplace, Outputs
from dpassay.mechanisms.core import AttackError
from dpassay.mechanisms.literature.counts import (
    BoundedNoiseSubsetCounts,
    GaussianSubsetCounts,
    GeometricSubsetCounts,
    LaplaceSubsetCounts,
    RoundedSubsetCounts,
)
from dpassay.mechanisms.literature.counts.broken import UncomposedSubsetCounts

FALSE_ALARM = 1e-6
N = 8
PRIVATE = (
    LaplaceSubsetCounts(1.0, N, 6),
    GeometricSubsetCounts(2.0, N, 6),
    LaplaceSubsetCounts(3.0, N, N, queries=np.eye(N, dtype=int)),
    GaussianSubsetCounts(N, 6, epsilon=1.0, delta=1e-3),
)
"""The third asks about each bit alone, which is the most that can be seen of a bit."""
DECODERS = [name for name in catalogue if issubclass(catalogue.get(name), Decoder)]


def target(mechanism, n=N):
    return SecretTarget(mechanism, FairBits.column(n))


def played(mechanism, attack, n_rounds, seed=0):
    return reconstruction_game(
        mechanism, FairBits.column(mechanism.n_records), attack=attack, n_rounds=n_rounds, seed=seed
    )


def test_every_decoder_is_an_attack_of_the_catalogue():
    assert len(DECODERS) == 6


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_guesses_a_column_from_counts_and_nothing_else(name):
    decoder = catalogue.get(name)()
    decoder.check(target(LaplaceSubsetCounts(1.0, N, 6)))
    with pytest.raises(AttackError, match="decodes subset counts"):
        decoder.check(target(Laplace(1.0)))
    with pytest.raises(AttackError, match=r"FairBits.column\(8\)"):
        decoder.check(target(LaplaceSubsetCounts(1.0, N, 6), n=5))
    assert not decoder.supports(SecretTarget(LaplaceSubsetCounts(1.0, N, 6), OneOf(([0] * N, [1] * N))))


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize(
    "mechanism", [BoundedNoiseSubsetCounts(1, N, 60), RoundedSubsetCounts(3, N, 60)], ids=["bounded", "rounded"]
)
def test_answers_that_are_off_by_one_reveal_the_column(name, mechanism):
    """60 counts of 8 bits: bounded noise, and rounding without any noise."""
    scores = played(mechanism, name, 6)
    right = np.count_nonzero((scores.scores > 0) == scores.bits)
    assert stats.binom.sf(right - 1, 6 * N, 0.5) < FALSE_ALARM
    assert right >= 0.85 * 6 * N


def test_an_exceptional_output_has_no_guess():
    mechanism = LaplaceSubsetCounts(5.0, N, 30)
    guesser = L1Decoding().fit(target(mechanism), np.random.default_rng(0))
    values = mechanism.release(np.ones(N), 2, np.random.default_rng(0)).values
    scores = guesser.guess(Outputs(values, np.array(["", "raised ValueError"])))
    assert (scores[1] == 0.0).all()
    assert (scores[0] != 0.0).any()


@pytest.mark.parametrize("mechanism", PRIVATE, ids=lambda mechanism: type(mechanism).__name__)
@pytest.mark.parametrize("attack", ["maximum-likelihood", "least-squares"])
def test_private_answers_stay_below_the_level_of_the_claim(mechanism, attack, without_power):
    """No rule tells two equally probable values apart more often than (1 + D) / 2, where D is their total variation
    distance, at most delta(0): e^epsilon / (1 + e^epsilon) under pure DP."""
    scores = played(mechanism, attack, 600)
    right = np.count_nonzero((scores.scores > 0) == scores.bits)
    ceiling = 0.5 + 0.5 * float(mechanism.guarantee().delta(0.0))
    assert stats.binom.sf(right - 1, scores.n_bits, ceiling) > FALSE_ALARM
    bound = audit_scores(scores, mechanism=mechanism, delta=mechanism.guarantee().default_delta or 0.0)
    assert bound.verdict is not Verdict.VIOLATION


def test_the_best_attack_on_single_bits_reaches_what_laplace_noise_leaves():
    """1 - e^(-epsilon / 2) / 2 for a bit that is asked about alone."""
    scores = played(PRIVATE[2], "maximum-likelihood", 1500)
    right = np.count_nonzero((scores.scores > 0) == scores.bits)
    expected = 1.0 - 0.5 * math.exp(-1.5)
    limits = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], scores.n_bits, expected)
    assert limits[0] <= right <= limits[1]


@pytest.mark.parametrize("attack", ["auto", "least-squares", "l1-decoding"])
def test_only_an_uncomposed_budget_is_a_violation(attack, without_power):
    broken, right = (kind(0.5, 40, 200) for kind in (UncomposedSubsetCounts, LaplaceSubsetCounts))
    result = audit_scores(played(broken, attack, 5), mechanism=broken, delta=0.0)
    assert result.verdict is Verdict.VIOLATION
    assert result.bound.epsilon <= broken.exact_guarantee().epsilon(0.0)
    assert audit_scores(played(right, attack, 5), mechanism=right, delta=0.0).verdict is not Verdict.VIOLATION


def test_auto_takes_least_squares_for_many_bits():
    assert choose("auto", target(LaplaceSubsetCounts(1.0, N, 6)))[0] == "maximum-likelihood"
    assert choose("auto", target(LaplaceSubsetCounts(1.0, 40, 6), n=40))[0] == "least-squares"


PUBLISHED = {  # n, noise, queries -> share of right bits, 10 trials (Cohen and Nissim 2020)
    (50, 2.0, 50): 0.73, (50, 4.0, 250): 0.81, (50, 8.0, 550): 0.75, (100, 4.0, 550): 0.87, (100, 8.0, 250): 0.63,
}  # fmt: skip


@pytest.mark.parametrize("cell", PUBLISHED)
def test_l1_decoding_is_as_accurate_as_published(cell):
    """Three standard errors of both: ours over 10 rounds as seen, theirs as large, and their rounding to 0.01."""
    n, noise, m = cell
    scores = played(GaussianSubsetCounts(n, m, standard_deviation=noise), "l1-decoding", 10)
    right = ((scores.scores > 0) == scores.bits).mean(axis=1)
    error = math.sqrt(2.0 * right.var(ddof=1) / 10 + 0.01**2 / 12)
    assert abs(right.mean() - PUBLISHED[cell]) <= 3.0 * error


def test_least_squares_beats_l1_decoding_under_gaussian_noise():
    """On the same rounds: the mean of the difference, in standard errors."""
    mechanism = GaussianSubsetCounts(60, 300, standard_deviation=4.0)
    shares = []
    for decoder in (BoxedLeastSquares(), L1Decoding()):
        scores = played(mechanism, decoder, 30)
        shares.append(((scores.scores > 0) == scores.bits).mean(axis=1))
    gain = shares[0] - shares[1]
    assert gain.mean() > 3.0 * gain.std(ddof=1) / math.sqrt(30)


def test_integer_programme_minimises_its_objective_as_well_as_l1_decoding():
    mechanism = LaplaceSubsetCounts(60.0, 12, 40)
    bits = np.random.default_rng(0).integers(0, 2, 12)
    answers = mechanism.release(bits, 1, np.random.default_rng(1)).values
    best, rounded = (d.decode(mechanism.subsets, answers).bits[0] for d in (IntegerProgramme(), L1Decoding()))
    costs = [np.abs(mechanism.subsets @ z.astype(int) - answers[0]).sum() for z in (best, rounded)]
    assert costs[0] <= costs[1] + 1e-6
