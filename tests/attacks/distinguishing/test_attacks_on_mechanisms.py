"""The attacks on the library's own mechanisms."""

from __future__ import annotations

import numpy as np
import pytest
from tests.attacks.attack_laws import auc

from dpassay.attacks.base import Target
from dpassay.attacks.catalogue import choose
from dpassay.attacks.distinguishing import Classifier
from dpassay.attacks.distinguishing.events import fit_scorer
from dpassay.mechanisms import (
    Gaussian,
    Geometric,
    KAryRandomizedResponse,
    Laplace,
    Mechanism,
    RandomizedResponse,
    Repeated,
)

PURE = [
    Laplace(epsilon=0.7),
    Laplace(epsilon=0.7, n_queries=3),
    Geometric(epsilon=0.7),
    RandomizedResponse(epsilon=0.7),
    KAryRandomizedResponse(epsilon=0.7, k=5),
    Repeated(RandomizedResponse(epsilon=0.35), times=2),
]
TESTED_ELSEWHERE = [
    pytest.param(mechanism, marks=pytest.mark.slow) for mechanism in (PURE[0], Gaussian(epsilon=1.0, delta=1e-5))
]
"""Single numbers with the noise of two laws of attack_laws, which the classifier is tried on by itself."""


def sides(mechanism: Mechanism, n: int, seed: int):
    pair, rng = mechanism.worst_case(), np.random.default_rng(seed)
    return mechanism.release(pair.d0, n, rng), mechanism.release(pair.d1, n, rng)


@pytest.mark.parametrize("mechanism", PURE, ids=repr)
def test_likelihood_ratios_reach_but_never_exceed_epsilon(mechanism: Mechanism) -> None:
    """A pure guarantee bounds the log likelihood ratio of every output; on the worst-case pair it is attained."""
    target = Target(mechanism, mechanism.worst_case())
    name, attack = choose("auto", target)
    assert name == "likelihood-ratio"
    out, in_ = sides(mechanism, 5_000, seed=1)
    scores = attack.fit(target, out, in_, np.random.default_rng(0)).score(in_)
    epsilon = mechanism.guarantee().epsilon(0.0)
    assert scores.max() == pytest.approx(epsilon, abs=1e-8)
    assert scores.min() >= -epsilon - 1e-8


@pytest.mark.parametrize("mechanism", [*PURE[1:], *TESTED_ELSEWHERE], ids=repr)
def test_the_classifier_reaches_90_percent_of_the_likelihood_ratio(mechanism: Mechanism) -> None:
    pilot, fresh = sides(mechanism, 10_000, seed=2), sides(mechanism, 20_000, seed=3)
    target = Target(mechanism, mechanism.worst_case())
    _, optimal = choose("auto", target)
    learned, best = (fit_scorer(a, target, *pilot, np.random.default_rng(0)) for a in (Classifier(), optimal))
    reached, possible = (auc(*(scorer.score(side) for side in fresh)) - 0.5 for scorer in (learned, best))
    assert reached >= 0.9 * possible
