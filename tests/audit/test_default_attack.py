"""The default attack on functions: close to the best score of the same trials, and its level is that of the bound."""

import numpy as np
import pytest
from benchmarks.bench_default_attack import Cell, gaussian, gaussian_ratio, laplace, laplace_ratio
from scipy import stats

from dpassay.attacks.base import Target
from dpassay.attacks.distinguishing import Classifier, Portfolio
from dpassay.attacks.distinguishing.events import fit_scorer
from dpassay.audit import audit
from dpassay.audit.bounds.pair.joint import JointExact
from dpassay.audit.evidence.scores import PairScores
from dpassay.audit.evidence.statement import Statement
from dpassay.mechanisms import Neighbours, PureDP

QUICK = Portfolio(classifier=Classifier(model="logistic"))
"""As "auto", without the contest of classifiers."""
CELLS = {
    "laplace, one of 64 moves": Cell("", laplace, laplace_ratio, (1.0, *[0.0] * 63), 0.0),
    "laplace, all of 4 move": Cell("", laplace, laplace_ratio, (0.25,) * 4, 0.0),
    "gaussian, all of 64 move": Cell("", gaussian, gaussian_ratio, (0.5,) * 64, 1e-5),
}


@pytest.mark.parametrize("name", CELLS)
def test_the_bound_is_nearly_that_of_the_best_score(name):
    """The shift is known from runs at the same seed; learned log odds reach .5 to .8."""
    cell, n = CELLS[name], 10_000
    mechanism = cell.mechanism()
    bounds = []
    for attack in (QUICK, cell.best()):
        rng, bounds_of_attack = np.random.default_rng(0), []
        for _ in range(3):
            pilot, counted = (
                [mechanism.release(mechanism.neighbours.side(side), size, rng) for side in (0, 1)]
                for size in (n // 4, n - n // 4)
            )
            scorer = fit_scorer(attack, Target(mechanism, mechanism.neighbours), *pilot, np.random.default_rng(1))
            scores = PairScores(*(scorer.score(side) for side in counted))
            fixed = JointExact().fix(
                Statement(mechanism.claim, delta=cell.delta), PairScores(*scorer.score_pilot(*pilot)), scores.sizes
            )
            bounds_of_attack.append(fixed.lower_bound(scores).epsilon)
        bounds.append(np.mean(bounds_of_attack))
    assert bounds[0] >= 0.93 * bounds[1]


# --- level ------------------------------------------------------------------------------------------------------------

PAIR = Neighbours([0.0], [1.0], "replace_one")


def alike(dataset, size, rng):
    return rng.normal(size=(size, 3))


def laplace_vector(dataset, size, rng):
    return dataset[0] * np.array([1.0, 0.0]) + rng.laplace(size=(size, 2))


def randomised_response(dataset, size, rng):
    keeps = rng.random(size) < np.e / (1.0 + np.e)
    return np.where(keeps, dataset[0], 1.0 - dataset[0])


LEVEL = {alike: (0.0, 40), laplace_vector: (1.0, 25), randomised_response: (1.0, 25)}
"""True epsilon, which the best event reaches, and number of audits of the fast test."""


@pytest.mark.usefixtures("without_power", "few_chunks")
@pytest.mark.parametrize(
    "function",
    [*LEVEL, *(pytest.param(function, marks=pytest.mark.slow, id=f"{function.__name__}-many") for function in LEVEL)],
)
def test_the_default_attack_keeps_the_level_at_a_tight_claim(request, function):
    many = "many" in request.node.name
    epsilon, audits = LEVEL[function][0], 300 if many else LEVEL[function][1]
    options = {"claim": PureDP(1.0), "trials": 100, "confidence": 0.8, "attack": "auto" if many else QUICK}
    bounds = np.array([audit(function, PAIR, seed=seed, **options).bound.epsilon for seed in range(audits)])
    assert (bounds > epsilon).sum() <= stats.binom.isf(1e-6, audits, 0.2)
