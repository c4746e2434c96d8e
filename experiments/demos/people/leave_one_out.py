# %% [markdown]
# # Leave one out
#
# A learner may generalise, and hide almost everybody, and still give one person away: generalisation is a statement
# about the average record, differential privacy about every record.
#
# Private empirical risk minimisation has two losses of parameters theta: L_train(theta), the mean over the n records,
# and L_test(theta), the expectation over new ones. Their gap is what an adversary gains on the average record.

# %%
"""Generalisation is not privacy: learners of equal accuracy, of which one shows that an outlier was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....audit import AuditResult, PairScores, audit_scores
from ....mechanisms.learning import DPSGD, FullBatch, LogisticRegression, TrainingData
from ....mechanisms.learning.accounting import calibrate_noise
from ...plots.style.canvas import style_axes, write
from ...plots.style.palette import AMBER, BLUE, MUTED, VIOLATION
from ..lecture import Lecture

Floats = NDArray[np.float64]
SEED = 74
POOL, N_RECORDS, N_TEST = 1_000, 200, 500
"""Records that there are, those that a model is trained on, and new ones."""
RUNS = 150
"""Models with the outlier, and as many without."""
OUTLIER, ITS_LABEL = np.array([0.0, 2.5]), 1
EPSILON, DELTA, STEPS = 1.0, 1e-5, 30


@dataclass(frozen=True, eq=False)
class Trained:
    """How sure models are of labels: margins, positive where the model is right.

    Args:
        train: of the records that each model was trained on, `(n_models, N_RECORDS)`, models without the outlier.
        test: of new records, `(n_models, N_TEST)`.
        out, in_: of the outlier, by models without it and with it.
    """

    train: Floats
    test: Floats
    out: Floats
    in_: Floats

    @property
    def train_error(self) -> float:
        """Share of the training records that are classified wrongly: L_train for the zero-one loss."""
        return float((self.train <= 0.0).mean())

    @property
    def test_error(self) -> float:
        """Share of new records that are: L_test."""
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
    """TPR - FPR of the threshold that is best on the first half of the scores, on the second half."""
    first, second = ([side[: len(side) // 2] for side in (out, in_)], [side[len(side) // 2 :] for side in (out, in_)])
    thresholds = np.unique(np.quantile(np.concatenate(first), np.linspace(0.0, 1.0, 201)))
    gains = [(first[1] >= t).mean() - (first[0] >= t).mean() for t in thresholds]
    best = thresholds[int(np.argmax(gains))]
    return float((second[1] >= best).mean() - (second[0] >= best).mean())


def people(n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    """Two classes, a Gaussian cloud each, in two features."""
    y = rng.integers(0, 2, size=n)
    return 0.4 * rng.normal(size=(n, 2)) + np.outer(2 * y - 1, [0.6, 0.0]), y


@dataclass(frozen=True, eq=False)
class Trial:
    """Who trains whom: the pool with the outlier last, new records, and the training set of each model."""

    data: TrainingData
    new: TrainingData
    inclusion: NDArray[np.bool_]

    @classmethod
    def make(cls, rng: np.random.Generator) -> Trial:
        """Model 2 k has N_RECORDS random records of the pool, model 2 k + 1 others and the outlier."""
        X, y = people(POOL, rng)
        inclusion = np.zeros((2 * RUNS, POOL + 1), dtype=bool)
        for model in inclusion:
            model[rng.choice(POOL, N_RECORDS, replace=False)] = True
        inclusion[1::2, POOL] = True
        data = TrainingData(np.vstack([X, OUTLIER]), np.append(y, ITS_LABEL))
        return cls(data, TrainingData(*people(N_TEST, rng)), inclusion)

    def scored(self, pool: Floats, new: Floats) -> Trained:
        """From the decision values of all models, `(n_models, n)`: positive for class 1."""
        margins = pool * (2 * self.data.y - 1)
        train = margins[::2][self.inclusion[::2]].reshape(RUNS, N_RECORDS)
        return Trained(train, new[::2] * (2 * self.new.y - 1), margins[::2, -1], margins[1::2, -1])


# %% [markdown]
# ## 1. Three learners
#
# A support vector machine in its dual form is a list of records with weights: what lies alone is always on the
# list. Logistic regression is three numbers, to which each record contributes a little. With noise in its training it
# promises that for every record.


# %%
def machines(trial: Trial) -> tuple[list[Any], Trained]:
    """Support vector machines with a Gaussian kernel."""
    from sklearn.svm import SVC

    data = trial.data
    models = [SVC(C=1.0, gamma=2.0).fit(data.X[rows], data.y[rows]) for rows in trial.inclusion]
    pool, new = (np.array([m.decision_function(X) for m in models]) for X in (data.X, trial.new.X))
    return models, trial.scored(pool, new)


def regressions(trial: Trial, noise_multiplier: float, rng: np.random.Generator) -> Trained:
    """Logistic regressions by gradient descent, clipped and with noise where there is any."""
    learner = regression(noise_multiplier)
    models = learner.fit_subsets(trial.data, trial.inclusion, rng)
    pool, new = (models.outputs(X)[:, :, 0].astype(np.float64) for X in (trial.data.X, trial.new.X))
    return trial.scored(pool, new)


def regression(noise_multiplier: float) -> DPSGD:
    """The trainer of `regressions`."""
    return DPSGD(
        LogisticRegression(2),
        steps=STEPS,
        noise_multiplier=noise_multiplier,
        sampling=FullBatch(expected_batch_size=N_RECORDS),
        learning_rate=2.0,
    )


# %%
@dataclass(frozen=True, eq=False)
class Findings:
    """What the lecture found: learners by name, the audits of the private claim on the outlier, and machines."""

    learners: dict[str, Trained]
    audits: dict[str, AuditResult]
    trial: Trial
    machines: list[Any]
    noise_multiplier: float


def main(out: Path | None = None) -> Findings:
    """Three learners that are right equally often: one gives an outlier away, one hides most, one promises it.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture, rng = Lecture(out=out), np.random.default_rng(SEED)
    trial = Trial.make(rng)
    noise = calibrate_noise(epsilon=EPSILON, delta=DELTA, sampling="full-batch", steps=STEPS)
    models, shown = machines(trial)
    learners = {
        "support vectors": shown,
        "regression": regressions(trial, 0.0, rng),
        "private regression": regressions(trial, noise, rng),
    }
    claim = regression(noise).guarantee()
    audits = {
        name: audit_scores(PairScores(one.out, one.in_), claim=claim, delta=DELTA, seed=SEED)
        for name, one in learners.items()
    }
    found = Findings(learners, audits, trial, models, noise)
    _tell(lecture, found)
    draw(lecture, found)
    return found


def _tell(lecture: Lecture, found: Findings) -> None:
    lecture.chapter("Equal on average")
    lecture.say(
        f"""
        {2 * RUNS} models of each learner, each trained on its own {N_RECORDS} of {POOL:,} records; half of them on an
        outlier too, which lies far from all others. L_train and L_test are shares of wrong answers. Advantage is TPR -
        FPR of an adversary who sees how sure the model is of a record, and does not know the others; epsilon is that
        of the outlier:
        """
    )
    columns = ["learner", "L_train", "L_test", "average", "outlier", "epsilon >=", "claim of 1"]
    rows = []
    for name, one in found.learners.items():
        result = found.audits[name]
        numbers = (one.train_error, one.test_error, one.average_advantage, one.outlier_advantage)
        rows.append([name, *(f"{x:.3f}" for x in numbers), f"{result.bound.epsilon:.2f}", result.verdict.value])
    lecture.table(columns, rows)
    lecture.say(
        """
        The claim is a curve, of which epsilon = 1 at delta = 1e-5 is one point: it can be refuted elsewhere.

        All three generalise: what holds for the records of training holds for new ones, and the average record is
        hidden. The machine nevertheless shows the outlier in every single run: it is a support vector, and stands in
        the model word for word. Only the last learner promises anything to it, and to everybody else; what it says of
        those whose other records are known, too.
        """
    )


def draw(lecture: Lecture, found: Findings) -> None:
    """Two panels: a machine and its support vectors, and the three learners."""
    lecture.panels(
        "leave-one-out",
        lambda ax: _draw_plane(ax, found),
        lambda ax: _draw_learners(ax, found),
        title="Leave one out",
        description="Left: a support vector machine that was trained on an outlier. Right: errors and advantages.",
    )


def _draw_plane(ax: Axes, found: Findings) -> None:
    """Where one machine with the outlier says class 1, and its support vectors."""
    machine, rows = found.machines[1], found.trial.inclusion[1, :-1]
    X, y = found.trial.data.X[:-1][rows], found.trial.data.y[:-1][rows]
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
    style_axes(ax, title="Ringed: support vectors, which are records", x="first feature", y="second feature")


def _draw_learners(ax: Axes, found: Findings) -> None:
    """Three numbers of each learner, side by side."""
    shown = {
        "L_test": (MUTED, [one.test_error for one in found.learners.values()]),
        "advantage, average": (BLUE, [one.average_advantage for one in found.learners.values()]),
        "advantage, outlier": (VIOLATION, [one.outlier_advantage for one in found.learners.values()]),
    }
    for place, (name, (colour, values)) in enumerate(shown.items()):
        ax.bar(np.arange(3) + 0.26 * (place - 1), values, 0.24, color=colour.light, label=name)
    ax.axhline(0.0, color=MUTED.light, linewidth=0.8)
    ax.set_xticks(range(3), [name.replace(" ", "\n", 1) for name in found.learners])
    ax.set_ylim(-0.12, 1.08)
    style_axes(ax, title="Equal errors, and one record given away", x="", y="error; TPR - FPR")


# %%
if __name__ == "__main__":
    main()
