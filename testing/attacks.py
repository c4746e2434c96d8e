"""What every attack on a pair keeps: higher score = side 1, run by run, from pilot runs and rng alone."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..attacks.base import Attack, Scorer, Target
from ..attacks.distinguishing.events import fit_scorer
from ..mechanisms.core import Floats, Outputs
from ..mechanisms.noise.laplace import Laplace
from .conformance import Check, require, run_checks

N_PILOT = 2_000
MIN_AUC = 0.7
"""AUC that an attack reaches on its target where no other is stated."""


@dataclass(frozen=True, eq=False)
class AttackCase:
    """An attack on a target that it can distinguish.

    Args:
        attack: any instance.
        target: mechanism and pair; Laplace noise on a count by default.
        least_auc: smallest area under the ROC curve that the attack must reach there.
    """

    attack: Attack
    target: Target
    least_auc: float = MIN_AUC

    def sides(self, n: int, seed: int) -> tuple[Outputs, Outputs]:
        """Return `n` runs on side 0 and on side 1."""
        rng, pair = np.random.default_rng(seed), self.target.neighbours
        return tuple(self.target.mechanism.release(pair.side(side), n, rng) for side in (0, 1))  # type: ignore[return-value]

    def fit(self) -> Scorer:
        """Return the attack, fitted to pilot runs."""
        return fit_scorer(self.attack, self.target, *self.sides(N_PILOT, 0), np.random.default_rng(1))

    @cached_property
    def scorer(self) -> Scorer:
        """The fitted attack, made once."""
        return self.fit()


def higher_score_means_side_1(case: AttackCase) -> None:
    """Check the direction and the power of the scores."""
    out, in_ = (case.scorer.score(outputs) for outputs in case.sides(N_PILOT, 2))
    auc = _auc(out, in_)
    advice = " Are the scores reversed?" if auc < 0.5 else ""
    require(auc >= case.least_auc, f"the AUC of its scores is {auc:.3f}, below {case.least_auc:g}.{advice}")


def scores_have_one_number_per_run(case: AttackCase) -> None:
    """Check shape and type, that runs are scored one by one, also by a pickled scorer, and that outputs stay."""
    values = case.sides(501, 4)[0].values
    before = values.copy()
    scores = case.scorer.score(Outputs(values))
    require(scores.shape == (501,), f"scores of 501 runs must have shape (501,), but have {scores.shape}.")
    require(scores.dtype == np.float64, f"scores must be float64, but are {scores.dtype}.")
    require(not np.isnan(scores).any(), "a score is NaN. Give an output without a score the smallest one.")
    copy = pickle.loads(pickle.dumps(case.scorer))
    parts = np.concatenate(
        [copy.score(Outputs(part)) for part in (values[:1], values[1:167], values[167:], values[:0])]
    )
    require(
        np.allclose(parts, scores, rtol=1e-9, atol=1e-12),
        "scores of runs depend on the other runs that are scored with them. Fix everything in fit.",
    )
    require(np.array_equal(values, before, equal_nan=True), "score changes the outputs. Work on a copy.")


def scorers_are_determined_by_pilot_and_rng(case: AttackCase) -> None:
    """Check that two fits with the same pilot runs and seed give the same scores."""
    fresh = case.sides(500, 3)[1]
    require(
        case.fit().score(fresh).tobytes() == case.scorer.score(fresh).tobytes(),
        "two fits on the same pilot runs with the same seed differ. Draw all randomness from rng.",
    )


def only_attacks_that_learn_depend_on_the_pilot(case: AttackCase) -> None:
    """Check `minimum_pilot`: 0 for an attack whose scores do not depend on pilot runs."""
    if case.attack.minimum_pilot:
        return
    fresh = case.sides(200, 5)[0]
    scores, other_scores = (
        case.attack.fit(case.target, *case.sides(N_PILOT, seed), np.random.default_rng(0)).score(fresh)
        for seed in (0, 6)
    )
    require(
        np.array_equal(scores, other_scores),
        "its scores depend on pilot runs, but minimum_pilot is 0. Set minimum_pilot to the number that fit needs.",
    )


def docstring_has_an_example(case: AttackCase) -> None:
    """Check the docstring of the class."""
    text = inspect.getdoc(type(case.attack)) or ""
    require("Example:" in text, "the docstring of its class must have an `Example:`.")


ATTACK_CHECKS: Sequence[Check[AttackCase]] = (
    higher_score_means_side_1,
    scores_have_one_number_per_run,
    scorers_are_determined_by_pilot_and_rng,
    only_attacks_that_learn_depend_on_the_pilot,
    docstring_has_an_example,
)
"""The checks of an attack, in order."""


def check_attack(attack: Attack, target: Target | None = None, *, least_auc: float = MIN_AUC) -> None:
    """Run all checks on an attack.

    Args:
        attack: any instance.
        target: mechanism and pair that the attack can distinguish; by default Laplace noise of scale 2/3 on a count.
        least_auc: smallest area under the ROC curve that it must reach there, in (0.5, 1].

    Raises:
        ConformanceError: with each check that failed, the problem, and what to do.
        ParameterError: it is no attack.

    Example:
        >>> from dpassay.attacks.distinguishing import Threshold
        >>> check_attack(Threshold())
    """
    if target is None:
        mechanism = Laplace(epsilon=1.5)
        target = Target(mechanism, mechanism.worst_case())
    run_checks(AttackCase(attack, target, least_auc), ATTACK_CHECKS, attack, Attack)


def _auc(out: Floats, in_: Floats) -> float:
    out = np.sort(out)
    wins = np.searchsorted(out, in_, side="left") + np.searchsorted(out, in_, side="right")
    return float(wins.sum()) / (2.0 * len(out) * len(in_))
