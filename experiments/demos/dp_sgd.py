# %% [markdown]
# # DP-SGD: accountants and attacks
#
# A classifier of handwritten digits is trained with differential privacy: every gradient is clipped, noise is added,
# and an accountant composes the privacy loss of all steps. The resulting epsilon is a guarantee against *any*
# attacker. Does the guarantee hold? And what do attacks achieve in practice?
#
# Run the cells from top to bottom, or the whole demo with `dpassay demo dp-sgd`.

# %%
"""A private classifier: epsilons of four accountants, lower bounds of four attacks, and a bug in the clipping."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...attacks.base import Attack
from ...attacks.canaries import Canary, ClipBKD, Dirac, Mislabelled, Natural
from ...attacks.distinguishing.canary_attacks import CanaryLoss
from ...attacks.distinguishing.likelihood_ratio import LikelihoodRatio
from ...audit import AuditResult, audit
from ...mechanisms.accounting.dp_sgd.noisy_sgd import epsilon_curves
from ...mechanisms.broken.dp_sgd_clipping import MeanClipped
from ...mechanisms.learning.dp_sgd.accounting import calibrate_noise
from ...mechanisms.learning.dp_sgd.mechanism import DPSGD
from ...mechanisms.learning.models.architectures import SoftmaxRegression
from ..data.datasets import digits
from .demo import Demo

SEED = 2016
EPSILON, DELTA = 8.0, 1e-5
RECORDS, STEPS = 250, 40
CONFIDENCE = 0.999
"""Confidence of each of six bounds, high enough that all of them hold in a demo with high probability."""

# %% [markdown]
# ## 1. A private classifier
#
# 250 digits of 8 x 8 pixels, softmax regression, 40 steps over all records. The noise is the smallest with
# epsilon = 8 at delta = 1e-5 by the accountant. The accuracy is a mean over twenty models.


# %%
def split() -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return training digits, `X, y`, and test digits, `X, y`."""
    X, y = digits()
    order = np.random.default_rng(SEED).permutation(len(X))
    train, test = order[:RECORDS], order[RECORDS:]
    return X[train], y[train], X[test], y[test]


def accuracy(mechanism: DPSGD) -> float:
    """Return the mean accuracy of twenty models on the test digits."""
    X, y, others, labels = split()
    models = mechanism.fit((X, y), 20, np.random.default_rng(SEED))
    return float((models.log_probabilities(others).argmax(axis=2) == labels).mean())


def the_classifier(demo: Demo) -> tuple[DPSGD, tuple[NDArray[np.float64], NDArray[np.int64]], float, float]:
    """Return the learner, its data, and its accuracy with and without noise."""
    X, y, *_ = split()
    noise = calibrate_noise(epsilon=EPSILON, delta=DELTA, sampling="full-batch", steps=STEPS)
    learner = DPSGD(
        SoftmaxRegression(64, 10),
        steps=STEPS,
        noise_multiplier=noise,
        sampling="full-batch",
        batch_size=RECORDS,
        learning_rate=8.0,
        dtype="float32",
    )

    private, plain = accuracy(learner), accuracy(replace(learner, noise_multiplier=0.0))
    demo.chapter("1. A private classifier")
    demo.say(
        f"""
        {RECORDS} handwritten digits, softmax regression, {STEPS} steps. Each gradient is clipped to norm 1, and the sum
        gets noise of standard deviation {noise:.2f} in each of its 650 coordinates: the smallest noise for which the
        accountant guarantees epsilon = {EPSILON:g} at delta = {DELTA:g}.

        The accuracy on test digits is {private:.0%}; without noise, {plain:.0%}.
        """
    )
    return learner, (X, y), private, plain


# %% [markdown]
# ## 2. Four accountants
#
# All four accountants analyse the same training, with samples of 1 % of the records and a noise multiplier of 4. Their
# upper bounds are all valid, and differ by more than a factor of ten. The moments accountant made private deep learning
# practical by a tighter analysis, with the same noise (Abadi et al. 2016).


# %%
def the_accountants(demo: Demo) -> dict[str, float]:
    """Return accountant -> epsilon of 100 epochs."""
    demo.chapter("2. Four accountants, one training")
    curves = epsilon_curves(4.0, sampling_probability=0.01, steps=[10_000], delta=DELTA)
    epsilons = {name: float(values[0]) for name, values in curves.items()}
    demo.say(
        """
        Four accountants give upper bounds on the epsilon of the same training: 100 epochs, each step on a random 1 % of
        the records, noise multiplier 4.
        """
    )
    demo.table(["accountant", "upper bound on epsilon"], [[name, f"{value:.3f}"] for name, value in epsilons.items()])
    demo.say("The noise is the same in every row. Only the analysis becomes tighter.")
    return epsilons


def draw_accountants(demo: Demo) -> None:
    """Draw the epsilons of the accountants against the number of epochs."""
    if demo.out is None:
        return
    from ..report.plots.accountants import AccountantCurves

    curves = AccountantCurves.of_setting(delta=DELTA)
    demo.panels("accountants", curves.plot, title=curves.title, description=curves.caption, size=(6.0, 4.0))


# %% [markdown]
# ## 3. Four attackers
#
# The guarantee is about the presence of one record. Each attacker chooses the record, and observes less or more of the
# training: the final model only, or every noisy step. Each uses 1,000 trainings with the record and 1,000 without.


# %%
@dataclass(frozen=True)
class Attacker:
    """Attacker: a description, the canary, the score, and the view of the training."""

    sees: str
    canary: Canary
    attack: Attack
    view: str = "final"


ATTACKERS = (
    Attacker("final model, an ordinary digit", Natural(), CanaryLoss()),
    Attacker("final model, a digit with a wrong label", Mislabelled(), CanaryLoss()),
    Attacker("final model, a crafted record", ClipBKD(), CanaryLoss()),
    Attacker("every noisy step, a crafted gradient", Dirac(), LikelihoodRatio(), view="noisy_gradients"),
)


def the_attackers(demo: Demo, learner: DPSGD, data: tuple[NDArray[np.float64], NDArray[np.int64]]) -> list[AuditResult]:
    """Return the audits of the attackers, from the weakest to the strongest."""
    results = []
    for attacker in ATTACKERS:
        mechanism, pair = attacker.canary.stage(data, replace(learner, view=attacker.view))
        results.append(
            audit(
                mechanism,
                pair,
                attack=attacker.attack,
                bound="accountant-family",
                trials=1_000,
                delta=DELTA,
                confidence=CONFIDENCE,
                seed=SEED,
            )
        )
    demo.chapter("3. Four attackers, one guarantee")
    demo.say(
        """
        Each attacker trains the classifier 1,000 times with a record of its choice and 1,000 times without it, and
        tries to distinguish the two. The success gives a lower bound on epsilon with 99.9 % confidence.
        """
    )
    demo.table(
        ["view and record of the attacker", "lower bound", "claim"],
        [
            [attacker.sees, f"{result.bound.epsilon:.2f}", f"{result.claim:.2f}"]
            for attacker, result in zip(ATTACKERS, results, strict=True)
        ],
    )
    demo.say(
        """
        From the final model, this attack learns little about an ordinary record. This does not prove that the record is
        safe: a lower bound describes one attack, and a better attack may achieve more. The guarantee holds for every
        record and every attacker, and an attacker with a crafted record comes close to it, even without access to the
        steps: the accountant is nearly tight.

        (The bounds have one assumption, stated in each result: the trade-off curve is that of Gaussian noise.)
        """
    )
    return results


# %% [markdown]
# ## 4. A bug
#
# Clipping each gradient takes more work than clipping their mean. A trainer that clips the mean has a similar accuracy,
# and reports the same epsilon.


# %%
def the_bug(demo: Demo, learner: DPSGD, private: float) -> tuple[AuditResult, AuditResult, float]:
    """Audit a trainer that clips the mean of the batch, and its correct twin."""
    broken = MeanClipped()
    options = {"trials": 200, "delta": DELTA, "confidence": CONFIDENCE, "seed": SEED}
    wrong, right = audit(broken, **options), audit(broken.twin(), broken.worst_case(), **options)  # type: ignore[arg-type]
    demo.chapter("4. A bug")
    demo.say(
        f"""
        It is faster to clip the mean gradient of the batch than every gradient in it, but the accountant assumes
        per-example clipping, and reports the same epsilon. An audit on a small example with claimed epsilon =
        {wrong.claim:.2f}, with 200 trainings on each side:
        """
    )
    demo.table(
        ["clipped", "lower bound", "claim", "p-value", "verdict"],
        [
            [name, f"{r.bound.epsilon:.2f}", f"{r.claim:.2f}", f"{r.p_value:.2g}", r.verdict.value]
            for name, r in (("the mean of the batch", wrong), ("each gradient", right))
        ],
    )
    options_of = {field.name: getattr(learner, field.name) for field in fields(learner) if field.init}
    broken_accuracy = accuracy(MeanClipped(**options_of))
    demo.say(
        f"""
        The accuracy does not reveal the bug: with the broken trainer, our classifier has an accuracy of
        {broken_accuracy:.0%} on test digits; with the correct one, {private:.0%}.
        """
    )
    return wrong, right, broken_accuracy


# %% [markdown]
# ## Conclusion


# %%
@dataclass(frozen=True)
class DpSgdFindings:
    """Results of the demo.

    Args:
        private, plain: accuracy with and without noise.
        broken_accuracy: accuracy of the trainer that clips the mean, with the same noise.
        accountants: accountant -> epsilon of the same training.
        attackers: audits, from the weakest attacker to the strongest.
        wrong, right: audits of the trainer that clips the mean, and of its correct twin.
    """

    private: float
    plain: float
    broken_accuracy: float
    accountants: dict[str, float]
    attackers: list[AuditResult]
    wrong: AuditResult
    right: AuditResult


def main(out: Path | None = None) -> DpSgdFindings:
    """Run the demo; figures are saved in `out`."""
    demo = Demo(out=out)
    learner, data, private, plain = the_classifier(demo)
    accountants = the_accountants(demo)
    draw_accountants(demo)
    attackers = the_attackers(demo, learner, data)
    wrong, right, broken_accuracy = the_bug(demo, learner, private)
    demo.chapter("Conclusion")
    demo.say(
        """
        Epsilon limits the strongest attack on the worst-case record, and good accountants are nearly tight. One attack
        on an ordinary record may achieve much less, which does not limit better attacks. An audit tests whether the
        code satisfies the assumptions of the accountant.
        """
    )
    return DpSgdFindings(private, plain, broken_accuracy, accountants, attackers, wrong, right)


if __name__ == "__main__":
    main()
