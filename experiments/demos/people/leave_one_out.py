# %% [markdown]
# # Leave one out
#
# A learner may generalise, leak little about almost all records, and still reveal one person: generalisation is a
# statement about the average record, differential privacy about every record.
#
# Private empirical risk minimisation has two losses of parameters theta: L_train(theta), the mean over the n records,
# and L_test(theta), the expectation over new ones. Their gap is the gain of an adversary on the average record.

# %%
"""Generalisation is not privacy: learners of equal accuracy, one of which reveals an outlier of its training data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....audit import AuditResult, PairScores, audit_scores
from ....mechanisms.core.arrays import Floats
from ....mechanisms.learning.base import TrainingData
from ....mechanisms.learning.dp_sgd.accounting import calibrate_noise
from ....mechanisms.learning.dp_sgd.mechanism import DPSGD
from ....mechanisms.learning.dp_sgd.sampling.full_batch import FullBatch
from ....mechanisms.learning.models.architectures import LogisticRegression
from ...report.plots.style import AMBER, BLUE, MUTED, VIOLATION, style_axes, write
from ..demo import Demo

SEED = 74
POOL, N_RECORDS, N_TEST = 1_000, 200, 500
"""Numbers of records in the pool, in each training set, and in the test set."""
RUNS = 150
"""Number of models with the outlier, and of models without it."""
OUTLIER, ITS_LABEL = np.array([0.0, 2.5]), 1
EPSILON, DELTA, STEPS = 1.0, 1e-5, 30


@dataclass(frozen=True, eq=False)
class Trained:
    """Margins of models on labels, positive for correct predictions.

    Args:
        train: margins of the training records of each model, `(n_models, N_RECORDS)`, for models without the outlier.
        test: margins of new records, `(n_models, N_TEST)`.
        out, in_: margins of the outlier, by models without it and with it.
    """

    train: Floats
    test: Floats
    out: Floats
    in_: Floats

    @property
    def train_error(self) -> float:
        """Share of misclassified training records: L_train for the zero-one loss."""
        return float((self.train <= 0.0).mean())

    @property
    def test_error(self) -> float:
        """Share of misclassified new records: L_test for the zero-one loss."""
        return float((self.test <= 0.0).mean())

    @property
    def average_advantage(self) -> float:
        """Membership advantage on the average record."""
        return advantage(self.test.ravel(), self.train.ravel())

    @property
    def outlier_advantage(self) -> float:
        """Membership advantage on the outlier."""
        return advantage(self.out, self.in_)


def advantage(out: Floats, in_: Floats) -> float:
    """Return TPR - FPR on the second half of the scores, for the threshold that is best on the first half."""
    first, second = ([side[: len(side) // 2] for side in (out, in_)], [side[len(side) // 2 :] for side in (out, in_)])
    thresholds = np.unique(np.quantile(np.concatenate(first), np.linspace(0.0, 1.0, 201)))
    gains = [(first[1] >= t).mean() - (first[0] >= t).mean() for t in thresholds]
    best = thresholds[int(np.argmax(gains))]
    return float((second[1] >= best).mean() - (second[0] >= best).mean())


def people(n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    """Return records of two classes, a Gaussian each, in two features."""
    y = rng.integers(0, 2, size=n)
    return 0.4 * rng.normal(size=(n, 2)) + np.outer(2 * y - 1, [0.6, 0.0]), y


@dataclass(frozen=True, eq=False)
class LeaveOneOutTrial:
    """Data of all models: the pool with the outlier last, new records, and the training set of each model."""

    data: TrainingData
    new: TrainingData
    inclusion: NDArray[np.bool_]

    @classmethod
    def make(cls, rng: np.random.Generator) -> LeaveOneOutTrial:
        """Draw the data: model 2 k has N_RECORDS random records of the pool, model 2 k + 1 others and the outlier."""
        X, y = people(POOL, rng)
        inclusion = np.zeros((2 * RUNS, POOL + 1), dtype=bool)
        for model in inclusion:
            model[rng.choice(POOL, N_RECORDS, replace=False)] = True
        inclusion[1::2, POOL] = True
        data = TrainingData(np.vstack([X, OUTLIER]), np.append(y, ITS_LABEL))
        return cls(data, TrainingData(*people(N_TEST, rng)), inclusion)

    def scored(self, pool: Floats, new: Floats) -> Trained:
        """Return the margins from the decision values of all models, `(n_models, n)`, positive for class 1."""
        margins = pool * (2 * self.data.y - 1)
        train = margins[::2][self.inclusion[::2]].reshape(RUNS, N_RECORDS)
        return Trained(train, new[::2] * (2 * self.new.y - 1), margins[::2, -1], margins[1::2, -1])


# %% [markdown]
# ## 1. Three learners
#
# A support vector machine in its dual form is a list of weighted records, which always contains an outlier. Logistic
# regression has three parameters, to which each record contributes little. With noise in its training, this is
# guaranteed for every record.


# %%
def machines(trial: LeaveOneOutTrial) -> tuple[list[Any], Trained]:
    """Return support vector machines with a Gaussian kernel, and their margins."""
    from sklearn.svm import SVC

    data = trial.data
    models = [SVC(C=1.0, gamma=2.0).fit(data.X[rows], data.y[rows]) for rows in trial.inclusion]
    pool, new = (np.array([m.decision_function(X) for m in models]) for X in (data.X, trial.new.X))
    return models, trial.scored(pool, new)


def regressions(trial: LeaveOneOutTrial, noise_multiplier: float, rng: np.random.Generator) -> Trained:
    """Return the margins of logistic regressions by gradient descent with clipping and noise."""
    learner = regression(noise_multiplier)
    models = learner.fit_subsets(trial.data, trial.inclusion, rng)
    pool, new = (models.outputs(X)[:, :, 0].astype(np.float64) for X in (trial.data.X, trial.new.X))
    return trial.scored(pool, new)


def regression(noise_multiplier: float) -> DPSGD:
    """Return the trainer of `regressions`."""
    return DPSGD(
        LogisticRegression(2),
        steps=STEPS,
        noise_multiplier=noise_multiplier,
        sampling=FullBatch(expected_batch_size=N_RECORDS),
        learning_rate=2.0,
    )


# %%
@dataclass(frozen=True, eq=False)
class LeaveOneOutFindings:
    """Results of the demo: learners by name, audits of the private claim on the outlier, and machines."""

    learners: dict[str, Trained]
    audits: dict[str, AuditResult]
    trial: LeaveOneOutTrial
    machines: list[Any]
    noise_multiplier: float


def main(out: Path | None = None) -> LeaveOneOutFindings:
    """Run the demo: three learners of equal accuracy, one of which reveals an outlier, and one of which is private.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo, rng = Demo(out=out), np.random.default_rng(SEED)
    trial = LeaveOneOutTrial.make(rng)
    noise = calibrate_noise(epsilon=EPSILON, delta=DELTA, sampling="full-batch", steps=STEPS)
    models, margins = machines(trial)
    learners = {
        "support vectors": margins,
        "regression": regressions(trial, 0.0, rng),
        "private regression": regressions(trial, noise, rng),
    }
    claim = regression(noise).guarantee()
    audits = {
        name: audit_scores(PairScores(learner.out, learner.in_), claim=claim, delta=DELTA, seed=SEED)
        for name, learner in learners.items()
    }
    findings = LeaveOneOutFindings(learners, audits, trial, models, noise)
    _print_results(demo, findings)
    draw(demo, findings)
    return findings


def _print_results(demo: Demo, findings: LeaveOneOutFindings) -> None:
    demo.chapter("Equal on average")
    demo.say(
        f"""
        {2 * RUNS} models of each learner, each trained on a random subset of {N_RECORDS} of {POOL:,} records; half of
        them also on an outlier, which is far from all other records. L_train and L_test are error rates. The advantage
        is TPR - FPR of an adversary who observes the margin of a record and does not know the others; the lower bound
        on epsilon is that of the outlier:
        """
    )
    columns = ["learner", "L_train", "L_test", "average", "outlier", "epsilon >=", "claim of 1"]
    rows = []
    for name, learner in findings.learners.items():
        result = findings.audits[name]
        numbers = (learner.train_error, learner.test_error, learner.average_advantage, learner.outlier_advantage)
        rows.append([name, *(f"{x:.3f}" for x in numbers), f"{result.bound.epsilon:.2f}", result.verdict.value])
    demo.table(columns, rows)
    demo.say(
        """
        The claim is a trade-off curve, of which epsilon = 1 at delta = 1e-5 is one point: it can be refuted at other
        points.

        All three learners generalise: training error and test error agree, and the advantage on the average record is
        small. Nevertheless, the support vector machine reveals the outlier in every run: it is a support vector, and
        the model contains it literally. Only the last learner guarantees privacy, for the outlier and for all other
        records, even against an adversary who knows the remaining records.
        """
    )


def draw(demo: Demo, findings: LeaveOneOutFindings) -> None:
    """Draw two panels: a machine and its support vectors, and the three learners."""
    demo.panels(
        "leave-one-out",
        lambda ax: _draw_plane(ax, findings),
        lambda ax: _draw_learners(ax, findings),
        title="Leave one out",
        description="Left: a support vector machine trained on an outlier. Right: errors and advantages.",
    )


def _draw_plane(ax: Axes, findings: LeaveOneOutFindings) -> None:
    """Draw the decision boundary of one machine with the outlier, and its support vectors."""
    machine, rows = findings.machines[1], findings.trial.inclusion[1, :-1]
    X, y = findings.trial.data.X[:-1][rows], findings.trial.data.y[:-1][rows]
    for label, colour in ((0, AMBER), (1, BLUE)):
        ax.scatter(X[y == label, 0], X[y == label, 1], s=10, color=colour.light)
    ax.scatter(
        machine.support_vectors_[:, 0],
        machine.support_vectors_[:, 1],
        s=36,
        facecolors="none",
        edgecolors=MUTED.light,
        linewidths=0.8,
    )
    ax.scatter(OUTLIER[0], OUTLIER[1], s=36, color=VIOLATION.light, marker="D")
    write(ax, 0.2, 2.5, "outlier, in the model", VIOLATION)
    across = np.linspace(-2.2, 2.2, 120), np.linspace(-1.6, 3.1, 120)
    grid = np.stack(np.meshgrid(*across), axis=-1)
    values = machine.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    ax.contour(*across, values, levels=[0.0], colors=[MUTED.light], linewidths=1.2)
    style_axes(ax, title="Circles: support vectors, which are records", x="first feature", y="second feature")


def _draw_learners(ax: Axes, findings: LeaveOneOutFindings) -> None:
    """Draw three numbers of each learner, side by side."""
    learners = findings.learners.values()
    series = {
        "L_test": (MUTED, [learner.test_error for learner in learners]),
        "advantage, average": (BLUE, [learner.average_advantage for learner in learners]),
        "advantage, outlier": (VIOLATION, [learner.outlier_advantage for learner in learners]),
    }
    for place, (name, (colour, values)) in enumerate(series.items()):
        ax.bar(np.arange(3) + 0.26 * (place - 1), values, 0.24, color=colour.light, label=name)
    ax.axhline(0.0, color=MUTED.light, linewidth=0.8)
    ax.set_xticks(range(3), [name.replace(" ", "\n", 1) for name in findings.learners])
    ax.set_ylim(-0.12, 1.08)
    style_axes(ax, title="Equal errors, but one record revealed", x="", y="error; TPR - FPR")


# %%
if __name__ == "__main__":
    main()
