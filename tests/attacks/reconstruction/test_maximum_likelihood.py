"""The most probable secret, against brute force over all guesses."""

from itertools import product

import numpy as np
import pytest

from dpassay.attacks.reconstruction import FairBits, MaximumLikelihood, OneOf, Reconstructor, SecretTarget
from dpassay.attacks.reconstruction.catalogue import catalogue, choose
from dpassay.attacks.reconstruction.maximum_likelihood import _MostProbableBits
from dpassay.mechanisms import KAryRandomizedResponse, Mechanism, Neighbours, Outputs
from dpassay.mechanisms.accounting import PureDP
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.core import AttackError, ParameterError, Relation, UnknownNameError
from dpassay.mechanisms.literature.local import OneTimeRAPPOR

K_ARY = KAryRandomizedResponse(epsilon=1.0, k=4)
CHANNEL = K_ARY.channel()
FOREIGN = FunctionMechanism(lambda d, rng: d[0], claim=PureDP(1.0), neighbours=Neighbours([0], [1], "replace_one"))


def guesser(mechanism, secret):
    return MaximumLikelihood().fit(SecretTarget(mechanism, secret), np.random.default_rng(0))


@pytest.mark.parametrize("prior", [None, [0.1, 0.2, 0.3, 0.4]])
@pytest.mark.parametrize("near", [0, 1])
def test_no_guess_is_right_with_a_larger_posterior_probability(prior, near):
    close = np.abs(np.subtract.outer(range(4), range(4))) <= near if near else None
    secret = OneOf((0, 1, 2, 3), prior, close)
    guesses = guesser(K_ARY, secret).guess(Outputs(np.arange(4)))
    for message, guess in enumerate(guesses):
        joint = secret.probabilities * CHANNEL[:, message]
        won = [joint[secret.correct(np.arange(4), np.full(4, other))].sum() for other in range(4)]
        assert won[guess] == pytest.approx(max(won), rel=1e-12)


class WeightedCount(Mechanism):
    """Laplace noise on a weighted sum of the bits: the bits hang together, given the output."""

    relation = Relation.REPLACE_ONE
    weights = np.array([1.0, 2.0, 4.0])

    def release(self, dataset, size, rng):
        return Outputs(self.weights @ dataset + rng.laplace(size=size))

    def guarantee(self):
        return PureDP(4.0)

    def worst_case(self):
        return Neighbours(np.zeros(3), np.ones(3), self.relation)

    def output_law(self):
        return self

    def log_density(self, outputs, dataset):
        return -np.abs(outputs.values - self.weights @ dataset)


def test_bits_have_their_posterior_log_odds():
    seen = np.linspace(-3.0, 9.0, 13)
    scores = guesser(WeightedCount(), FairBits.column(3)).guess(Outputs(seen))
    for output, row in zip(seen, scores, strict=True):
        density = {bits: np.exp(-abs(output - WeightedCount.weights @ bits)) for bits in product([0, 1], repeat=3)}
        for place, score in enumerate(row):
            one, zero = (sum(p for bits, p in density.items() if bits[place] == value) for value in (1, 0))
            assert score == pytest.approx(np.log(one / zero), rel=1e-9, abs=1e-12)


def test_the_score_of_an_independent_bit_is_that_of_its_answer():
    outputs = Outputs(np.array(list(product([0, 1], repeat=3))))
    scores = guesser(KAryRandomizedResponse(epsilon=1.0, k=2), FairBits.column(3)).guess(outputs)
    np.testing.assert_allclose(scores, 2.0 * outputs.values - 1.0, rtol=1e-12)


def test_scores_of_local_bits_equal_those_over_all_columns():
    """Any number of them, under a law of several numbers a message, with values that differ from record to record."""
    mechanism = OneTimeRAPPOR(k=4)
    secret = FairBits(np.array([0, 3, 1]), np.array([2, 1, 1]))
    outputs = mechanism.release(secret.zeros, 50, np.random.default_rng(0))
    fast = guesser(mechanism, secret)
    columns = np.array(list(product([False, True], repeat=3)))
    slow = _MostProbableBits(mechanism.output_law(), tuple(secret.dataset(column) for column in columns), columns)
    assert type(fast) is not type(slow)
    np.testing.assert_allclose(fast.guess(outputs), slow.guess(outputs), rtol=1e-9, atol=1e-12)
    assert (fast.guess(outputs)[:, 2] == 0.0).all()


def test_an_impossible_output_gives_score_0():
    scores = guesser(KAryRandomizedResponse(epsilon=1.0, k=2), FairBits.column(2)).guess(Outputs(np.full((1, 2), 7)))
    assert scores.tolist() == [[0.0, 0.0]]


def test_auto_takes_the_first_that_supports_the_target():
    assert choose("auto", SecretTarget(K_ARY, OneOf((0, 1))))[0] == "maximum-likelihood"
    assert choose(MaximumLikelihood(), SecretTarget(K_ARY, OneOf((0, 1))))[0] == "maximum-likelihood"


def test_unusable_targets_are_refused():
    with pytest.raises(AttackError, match="needs the output law"):
        choose("maximum-likelihood", SecretTarget(FOREIGN, OneOf(([0], [1]))))
    with pytest.raises(AttackError, match="at most 10 bits, but the secret has 11"):
        choose("maximum-likelihood", SecretTarget(WeightedCount(), FairBits.column(11)))
    with pytest.raises(UnknownNameError, match="maximum-likelihood"):
        choose("maximum-likelyhood", SecretTarget(K_ARY, OneOf((0, 1))))
    with pytest.raises(ParameterError, match="an instance of Reconstructor, but is 3"):
        choose(3, SecretTarget(K_ARY, OneOf((0, 1))))


@pytest.mark.parametrize("name", list(catalogue))
def test_every_entry_is_a_reconstructor(name):
    assert issubclass(catalogue.get(name), Reconstructor)
