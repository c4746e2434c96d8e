# %% [markdown]
# # DP-SGD: the accountant, and what attacks really see
#
# A classifier of handwritten digits is trained with differential privacy: every gradient is clipped, noise is added,
# and an accountant adds up what each step gives away. The number that it arrives at, epsilon, is a promise about *any*
# attacker. Is it a promise that is kept? And what do attackers get in practice?
#
# Run the cells from top to bottom, or the whole lecture with `dpassay demo dp-sgd`.

# %%
"""A private classifier: what four accountants promise, what four attackers find, and one slip that costs everything."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...attacks.base import Attack
from ...attacks.canaries import Canary, ClipBKD, Dirac, Mislabelled, Natural
from ...attacks.distinguishing.canary_loss import CanaryLoss
from ...attacks.distinguishing.likelihood_ratio import LikelihoodRatio
from ...audit import AuditResult, audit
from ...mechanisms.broken.dp_sgd.mean_clipped import MeanClipped
from ...mechanisms.guarantees.steps.noisy_sgd import epsilon_curves
from ...mechanisms.learning import DPSGD, SoftmaxRegression
from ...mechanisms.learning.accounting.calibration import calibrate_noise
from ..data.datasets import digits
from .lecture import Lecture

SEED = 2016
EPSILON, DELTA = 8.0, 1e-5
RECORDS, STEPS = 250, 40
CONFIDENCE = 0.999
"""Of each bound: a class sees six of them, and should not see one fail by bad luck."""

# %% [markdown]
# ## 1. A private classifier
#
# 250 digits of 8 x 8 pixels, softmax regression, 40 steps over all records. The noise is the least for which the
# accountant still says epsilon = 8 at delta = 1e-5. Twenty models at once, because one says little.


# %%
def split() -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Digits to learn from, `X, y`, and others, `X, y`."""
    X, y = digits()
    order = np.random.default_rng(SEED).permutation(len(X))
    train, test = order[:RECORDS], order[RECORDS:]
    return X[train], y[train], X[test], y[test]


def accuracy(mechanism: DPSGD) -> float:
    """Share of the other digits that twenty models are right on."""
    X, y, others, labels = split()
    models = mechanism.fit((X, y), 20, np.random.default_rng(SEED))
    return float((models.log_probabilities(others).argmax(axis=2) == labels).mean())


def the_classifier(lecture: Lecture) -> tuple[DPSGD, tuple[NDArray[np.float64], NDArray[np.int64]], float, float]:
    """The learner, its data, and its accuracy with noise and without."""
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
    lecture.chapter("1. A private classifier")
    lecture.say(
        f"""
        {RECORDS} handwritten digits, softmax regression, {STEPS} steps. Each gradient is clipped to length 1, and the
        sum gets noise of standard deviation {noise:.2f} in each of its 650 coordinates: the least for which the
        accountant still promises epsilon = {EPSILON:g} at delta = {DELTA:g}.

        On digits that it has never seen it is right {private:.0%} of the time; without the noise, {plain:.0%}.
        """
    )
    return learner, (X, y), private, plain


# %% [markdown]
# ## 2. Four accountants
#
# All four look at the same training, with samples of 1 % of the records and a noise multiplier of 4. Their answers are
# theorems, all of them true, and they differ more than tenfold. The moments accountant made private deep learning
# possible by counting better, without a bit of noise less (Abadi et al. 2016).


# %%
def the_accountants(lecture: Lecture) -> dict[str, float]:
    """Accountant -> epsilon of 100 epochs."""
    lecture.chapter("2. Four accountants, one training")
    curves = epsilon_curves(4.0, sampling_probability=0.01, steps=[10_000], delta=DELTA)
    found = {name: float(values[0]) for name, values in curves.items()}
    lecture.say(
        """
        Who says what a training gives away? Here are four theorems about one and the same: 100 epochs, each step on a
        random 1 % of the records, noise multiplier 4.
        """
    )
    lecture.table(["accountant", "epsilon is at most"], [[name, f"{value:.3f}"] for name, value in found.items()])
    lecture.say("The noise is the same in every row. What shrinks is our ignorance about it.")
    return found


def draw_accountants(lecture: Lecture) -> None:
    """Their answers against the number of epochs."""
    if lecture.out is None:
        return
    from ..plots.accountants import AccountantCurves

    curves = AccountantCurves.of_setting(delta=DELTA)
    lecture.panels("accountants", curves.plot, title=curves.title, description=curves.caption, size=(6.0, 4.0))


# %% [markdown]
# ## 3. Four attackers
#
# The promise is about a record that is there or not. Each attacker may choose it, and sees less or more of the
# training: the final model only, or every noisy step. Each plays 1,000 trainings with the record and 1,000 without.


# %%
@dataclass(frozen=True)
class Attacker:
    """Who attacks, what is seen, and by which score."""

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


def the_attackers(
    lecture: Lecture, learner: DPSGD, data: tuple[NDArray[np.float64], NDArray[np.int64]]
) -> list[AuditResult]:
    """Lower bounds on epsilon, from the weakest attacker to the strongest."""
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
    lecture.chapter("3. Four attackers, one promise")
    lecture.say(
        """
        Now the attackers. Each trains our classifier 1,000 times with a record of his choice and 1,000 times without,
        and tries to tell the two apart. What he achieves becomes a lower bound on epsilon that holds with 99.9 %
        confidence.
        """
    )
    lecture.table(
        ["what the attacker sees, and chooses", "epsilon is at least", "promised"],
        [
            [attacker.sees, f"{result.bound.epsilon:.2f}", f"{result.claim:.2f}"]
            for attacker, result in zip(ATTACKERS, results, strict=True)
        ],
    )
    lecture.say(
        """
        From the final model this attack learns little about an ordinary record. That is no proof that the record is
        safe: a lower bound says what one attack found, and a better one may find more. The promise holds for every
        record and every attacker, and whoever may craft the record comes close to it, without seeing the steps: little
        is left to improve in the accountant.

        (The bounds make one assumption, stated in each result: that the curve is that of Gaussian noise.)
        """
    )
    return results


# %% [markdown]
# ## 4. One slip
#
# Clipping each gradient takes more work than clipping their mean. A trainer that clips the mean learns no worse, and
# reports the same epsilon.


# %%
def the_slip(lecture: Lecture, learner: DPSGD, private: float) -> tuple[AuditResult, AuditResult, float]:
    """A trainer that clips the mean of the batch, and its cure."""
    broken = MeanClipped()
    options = {"trials": 200, "delta": DELTA, "confidence": CONFIDENCE, "seed": SEED}
    wrong, right = audit(broken, **options), audit(broken.twin(), broken.worst_case(), **options)  # type: ignore[arg-type]
    lecture.chapter("4. One slip")
    lecture.say(
        f"""
        A colleague finds that it is faster to clip the mean gradient of the batch than every gradient in it. The
        accountant, who is given the same noise, still says the same. Audited on a small example where that is epsilon =
        {wrong.claim:.2f}, with 200 trainings on each side:
        """
    )
    lecture.table(
        ["clips", "epsilon is at least", "promised", "p-value", "verdict"],
        [
            [name, f"{r.bound.epsilon:.2f}", f"{r.claim:.2f}", f"{r.p_value:.2g}", r.verdict.value]
            for name, r in (("the mean of the batch", wrong), ("each gradient", right))
        ],
    )
    options_of = {field.name: getattr(learner, field.name) for field in fields(learner) if field.init}
    slipped = accuracy(MeanClipped(**options_of))
    lecture.say(
        f"""
        Accuracy does not show the slip: as the trainer of our classifier it is right {slipped:.0%} of the time on new
        digits, where the correct one is right {private:.0%} of the time.
        """
    )
    return wrong, right, slipped


# %% [markdown]
# ## What to take home


# %%
@dataclass(frozen=True)
class Findings:
    """What the lecture found.

    Args:
        private, plain: accuracy with noise and without.
        slipped: accuracy of the trainer that clips the mean, with that noise.
        accountants: accountant -> epsilon of the same training.
        attackers: audits, from the weakest attacker to the strongest.
        wrong, right: audits of the trainer that clips the mean, and of its cure.
    """

    private: float
    plain: float
    slipped: float
    accountants: dict[str, float]
    attackers: list[AuditResult]
    wrong: AuditResult
    right: AuditResult


def main(out: Path | None = None) -> Findings:
    """Plays the lecture; figures go to `out`."""
    lecture = Lecture(out=out)
    learner, data, private, plain = the_classifier(lecture)
    accountants = the_accountants(lecture)
    draw_accountants(lecture)
    attackers = the_attackers(lecture, learner, data)
    wrong, right, slipped = the_slip(lecture, learner, private)
    lecture.chapter("To take home")
    lecture.say(
        """
        Epsilon is what the strongest attacker can get out of the worst record, and good accountants come close to it.
        What one attack gets out of your own record may be far less, and does not bound what a better one gets. Whether
        the code does what the accountant assumes is a question that can be measured.
        """
    )
    return Findings(private, plain, slipped, accountants, attackers, wrong, right)


if __name__ == "__main__":
    main()
