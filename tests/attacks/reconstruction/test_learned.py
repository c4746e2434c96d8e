"""The learned attack beside the best there is, and on functions of which nothing is known but what they return."""

import pickle
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.learners.multiclass import fit_classes
from dpassay.attacks.literature.answers import BoxedLeastSquares
from dpassay.attacks.reconstruction import (
    FairBits,
    LearnedReconstruction,
    MaximumLikelihood,
    OneOf,
    Secret,
    SecretTarget,
)
from dpassay.attacks.reconstruction.catalogue import catalogue, choose
from dpassay.attacks.reconstruction.learned import EventColumns
from dpassay.audit import audit_scores
from dpassay.audit.bounds.reconstruction import Reconstruction
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.games import reconstruction_game
from dpassay.mechanisms import Gaussian, KAryRandomizedResponse, Laplace, Neighbours, Outputs
from dpassay.mechanisms.accounting import PureDP
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.core import AttackError
from dpassay.mechanisms.literature.counts import GaussianSubsetCounts

FALSE_ALARM = 1e-6
QUARTERS = (0.0, 1 / 3, 2 / 3, 1.0)
NEAR = np.abs(np.subtract.outer(range(4), range(4))) <= 1


def noisy_sum(dataset, size, rng):
    return sum(dataset) + rng.laplace(scale=1.0, size=size)


def noisy_sum_of_half_the_scale(dataset, size, rng):
    """Broken: epsilon is 2."""
    return sum(dataset) + rng.laplace(scale=0.5, size=size)


def noisy_counts(dataset, rng):
    """Overlapping counts of six bits."""
    return np.convolve(dataset, [1, 1, 1], mode="full") + rng.normal(scale=0.5, size=len(dataset) + 2)


def raising(dataset, rng):
    """Broken: an exception says that the value is 1, and NaN that it is 2."""
    if dataset[0] == 1.0 and rng.random() < 0.3:
        raise ValueError("one")
    if dataset[0] == 2.0:
        return float("nan")
    return rng.laplace()


def success(target, attack, n_rounds=4_000):
    """The share of rounds that are won."""
    secret = target.secret
    guesser = attack.fit(target, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    counts = secret.draw(n_rounds, rng)
    won = 0
    for truth, size in enumerate(counts):
        guesses = guesser.guess(target.run(secret.candidates[truth], int(size), rng))
        won += np.count_nonzero(secret.correct(np.full(size, truth), guesses))
    return won / n_rounds


PLAYED = {
    "Laplace": (Laplace(epsilon=2.0, relation="replace_one"), OneOf(QUARTERS)),
    "Laplace, a prior and near guesses": (
        Laplace(epsilon=2.0, relation="replace_one"),
        OneOf(QUARTERS, prior=[0.1, 0.2, 0.3, 0.4], close=NEAR),
    ),
    "k-ary": (KAryRandomizedResponse(epsilon=1.0, k=6), OneOf(tuple(range(6)))),
    "Gaussian": (Gaussian(noise_multiplier=0.5, n_queries=4), OneOf(tuple(np.eye(4)), reference=np.zeros(4))),
}


@pytest.mark.parametrize("name", PLAYED)
def test_success_is_near_the_optimum(name):
    """On the same rounds; maximum likelihood is beaten by chance alone, and missed by less than 5 %."""
    target = SecretTarget(*PLAYED[name])
    best, learned = success(target, MaximumLikelihood()), success(target, LearnedReconstruction(pilot_runs=1_000))
    assert learned > 0.95 * best
    assert stats.binom.sf(round(learned * 4_000) - 1, 4_000, best) > FALSE_ALARM
    assert best > 1.1 * target.secret.prior_success or target.secret.close is not None


def test_the_prior_decides_if_outputs_are_uninformative():
    mechanism = Laplace(epsilon=0.01, relation="replace_one")
    guesser = LearnedReconstruction().fit(
        SecretTarget(mechanism, OneOf((0.0, 1.0), prior=[0.1, 0.9])), np.random.default_rng(0)
    )
    assert (guesser.guess(Outputs(np.linspace(-50.0, 50.0, 11))) == 1).all()


def test_many_distinct_outputs_without_order_are_counted():
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.full(60, 0.3), size=3)
    rows = np.concatenate([rng.choice(60, size=(1_000, 1), p=law) for law in laws]).astype(np.float64)
    name, model = fit_classes(rows, np.repeat(np.arange(3), 1_000), 0)
    assert name == "table"
    true = laws[:, rows[:, 0].astype(int)] / laws[:, rows[:, 0].astype(int)].sum(axis=0)
    assert np.abs(model.probabilities(rows) - true.T).mean() < 0.05
    np.testing.assert_allclose(model.probabilities(np.array([[61.0]])), 1 / 3)


def test_trees_learn_an_interaction_of_two_numbers():
    """Each number alone says nothing: their sum modulo 3 is the secret."""
    rng = np.random.default_rng(0)
    truths = np.repeat(np.arange(3), 600)
    cells = rng.integers(0, 3, 1_800)
    rows = np.column_stack([cells, (truths - cells) % 3]) + rng.uniform(size=(1_800, 2))
    name, model = fit_classes(rows, truths, 0)
    assert name == "boosting"
    assert (model.probabilities(rows).argmax(axis=1) == truths).mean() > 0.95


def test_auto_refutes_only_the_broken_function(without_power):
    secret = OneOf.in_record([5.0, 0.0], 1, [0.0, 1.0])
    verdicts = []
    for function in (noisy_sum, noisy_sum_of_half_the_scale):
        game = reconstruction_game(function, secret, n_rounds=10_000, seed=0, claim=PureDP(1.0))
        result = audit_scores(game, claim=PureDP(1.0), bound=Reconstruction(candidates=2))
        verdicts.append(result.verdict)
        scale = 1.0 if function is noisy_sum else 0.5
        best = 1.0 - 0.5 * np.exp(-0.5 / scale)
        assert stats.binom.sf(game.n_success - 1, game.n_runs, best) > FALSE_ALARM
        assert game.n_success > 0.97 * best * game.n_runs
    assert verdicts == [Verdict.CONSISTENT, Verdict.VIOLATION]


@pytest.mark.parametrize("features", ["auto", pytest.param("coordinates", marks=pytest.mark.slow)])
def test_workers_change_nothing(features):
    attack, secret = LearnedReconstruction(pilot_runs=200, features=features), OneOf(QUARTERS)
    options = {"attack": attack, "n_rounds": 500, "seed": 0}
    played = [
        reconstruction_game(Laplace(2.0, relation="replace_one"), secret, **options, n_jobs=n_jobs) for n_jobs in (1, 2)
    ]
    assert played[0] == played[1]


def test_exceptional_runs_are_columns():
    """The value 1 is known by its exceptions, and 2 by its NaN."""
    secret = OneOf.in_record([0.0], 0, [0.0, 1.0, 2.0])
    game = reconstruction_game(
        raising, secret, attack=LearnedReconstruction(pilot_runs=500), n_rounds=900, seed=0, claim=PureDP(1.0)
    )
    assert stats.binomtest(game.n_success, 900, (1.0 + 0.3 + 1.0) / 3).pvalue > FALSE_ALARM


def test_outputs_that_are_all_exceptional_are_learned_from():
    pilot = Outputs(np.zeros(4), np.array(["a", "b", "a", "c"]))
    columns = EventColumns.learn("auto", pilot)
    assert columns.columns(Outputs(np.zeros(3), np.array(["b", "never seen", ""]))).tolist() == [
        [1.0, 0.0, 1.0, 0.0],
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]


def test_bits_are_learned_nearly_as_well_as_with_known_queries():
    target = SecretTarget(GaussianSubsetCounts(12, 40, standard_deviation=1.5), FairBits.column(12))
    rng = np.random.default_rng(1)
    bits = target.secret.draw(400, rng)
    answers = np.concatenate([target.run(target.secret.dataset(row), 1, rng).values for row in bits])
    accuracies = [
        ((attack.fit(target, np.random.default_rng(0)).guess(Outputs(answers)) > 0) == bits).mean()
        for attack in (BoxedLeastSquares(), LearnedReconstruction(pilot_runs=1_000))
    ]
    assert accuracies[1] > 0.96 * accuracies[0]
    assert accuracies[0] > 0.75


def test_bits_in_the_counts_of_a_function_are_guessed_by_auto():
    game = reconstruction_game(noisy_counts, FairBits.column(6), n_rounds=200, seed=0, claim=PureDP(1.0))
    right = ((game.scores > 0) == game.bits).mean()
    columns = np.array(list(product([0, 1], repeat=6)))
    counts = np.array([np.convolve(column, [1, 1, 1], mode="full") for column in columns])
    truths = np.random.default_rng(1).integers(0, 64, 2_000)
    seen = counts[truths] + np.random.default_rng(2).normal(scale=0.5, size=(2_000, 8))
    posterior = np.exp(-2.0 * ((seen[:, None] - counts) ** 2).sum(axis=2))
    odds = (posterior @ (2 * columns - 1)) > 0.0
    best = (odds == (columns[truths] == 1)).mean()
    assert 0.95 * best < right < 1.05 * best


def test_bits_are_guessed_from_answers_that_are_not_linear():
    """A record that is 2 or 5, sent as it is or as any other category: 5 and 2 lie on either side of others."""
    mechanism = KAryRandomizedResponse(epsilon=3.0, k=8)
    target = SecretTarget(mechanism, FairBits(np.full(3, 2), np.full(3, 5)))
    guesser = LearnedReconstruction().fit(target, np.random.default_rng(0))
    scores = guesser.guess(Outputs(np.array([[2, 5, 2], [5, 2, 5]])))
    assert ((scores > 0) == [[False, True, False], [True, False, True]]).all()


def test_constant_outputs_give_no_guess():
    for secret, pilot in ((FairBits.column(3), 200), (OneOf(([0, 0, 0], [1, 0, 0])), 30)):
        guesser = LearnedReconstruction(pilot_runs=pilot).fit(_said(np.zeros((1, 2)), secret), np.random.default_rng(0))
        guesses = guesser.guess(Outputs(np.zeros((5, 2))))
        assert (np.abs(guesses) < 0.2).all()
        assert len(guesser.guess(Outputs(np.zeros((0, 2))))) == 0


class _Said:
    """Releases the same output always."""

    def __init__(self, values):
        self.values = values

    def release(self, dataset, size, rng):
        values = self.values(dataset) if callable(self.values) else self.values
        return Outputs(np.repeat(values, size, axis=0))


def _said(values, secret):
    return SecretTarget(_Said(values), secret)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array(["a"]), "are not numbers"),
        (np.zeros((1, 200_000)), "200,000 numbers are too large"),
        (lambda dataset: np.zeros((1, 1 + int(sum(dataset)))), r"varies with the secret: \(1,\) and \(2,\)"),
    ],
)
def test_unusable_outputs_are_refused(values, message):
    with pytest.raises(AttackError, match=message):
        LearnedReconstruction().fit(_said(values, OneOf(([0], [1]))), np.random.default_rng(0))


def test_other_secrets_are_refused():
    class Another(Secret):
        prior_success = 0.5

        def neighbours(self, relation):
            return iter(())

    claimed = FunctionMechanism(noisy_sum, claim=PureDP(1.0), neighbours=Neighbours([0], [1], "replace_one"))
    with pytest.raises(AttackError, match="no reconstruction attack of the library guesses Another from what Function"):
        choose("auto", SecretTarget(claimed, Another()))


def test_learned_is_the_last_choice_of_auto_and_pickles():
    assert list(catalogue.entries)[-1] == "learned"
    target = SecretTarget(Laplace(epsilon=1.0, relation="replace_one"), OneOf((0.0, 1.0)))
    assert choose("auto", target)[0] == "maximum-likelihood"
    guesser = LearnedReconstruction(pilot_runs=100).fit(target, np.random.default_rng(0))
    outputs = Outputs(np.linspace(-2.0, 3.0, 20))
    assert (pickle.loads(pickle.dumps(guesser)).guess(outputs) == guesser.guess(outputs)).all()
