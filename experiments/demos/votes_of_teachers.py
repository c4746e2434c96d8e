# %% [markdown]
# # Votes of teachers
#
# Two hundred and fifty teachers vote on a label, and only the noisy winner is told. This lecture shows what an answer
# gives away: next to nothing where the teachers agree, most at a tie; and why the number that says so is a secret.
#
# Our names and the usual symbols: `standard_deviation` sigma, `threshold` T, `check_deviation` sigma_1,
# `answer_deviation` sigma_2, the order of Renyi alpha.

# %%
"""PATE: what an answer costs, from teachers to a student, and an epsilon that must not be published."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ...attacks.distinguishing.canary_loss import CanaryLoss
from ...audit import audit
from ...mechanisms.broken.ensembles import EpsilonOfVotes
from ...mechanisms.ensembles import (
    PATE,
    ConfidentGNMax,
    EstimatorTeachers,
    GNMax,
    KernelTeachers,
    LNMax,
    PrivateEpsilon,
    Teachers,
    count_votes,
    data_dependent,
)
from ...mechanisms.ensembles.aggregators import Aggregator, CheckedGNMax
from ...mechanisms.guarantees import ConcentratedDP, GaussianDP
from ..data import load
from ..data.examples import with_target
from ..plots.style.canvas import EndLabel, end_labels, style_axes
from ..plots.style.palette import BLUE, CLAIM
from .lecture import Lecture
from .students_of_votes import Votes, student_of_answers

SEED = 250
DELTA = 1e-5
LEADS = (0, 20, 50, 100, 150, 200, 240)
ORDER = 20.0


# %% [markdown]
# ## 1. A clear vote and a tie
#
# GNMax with sigma = 40. The bound for all votes does not look at them; the data-dependent one of Papernot et al. (2018)
# does. Between the two labels a vote is moved.


# %%
def one_answer(lecture: Lecture) -> dict[int, tuple[float, float]]:
    """Lead -> epsilon of a thousand answers at such votes, and the same for all votes."""
    aggregator = GNMax(40.0, n_classes=2, n_queries=1_000)
    everywhere = ConcentratedDP(aggregator.rho).textbook_epsilon(DELTA)
    found = {}
    for lead in LEADS:
        ones = (250 + lead) // 2
        votes = np.tile([250 - ones, ones], (1_000, 1))
        found[lead] = (data_dependent(aggregator, votes).epsilon(DELTA), everywhere)
    lecture.chapter("1. A clear vote and a tie")
    lecture.say(
        f"""
        250 teachers vote for one of two labels, Gaussian noise of standard deviation 40 is added to both counts, and
        the larger one wins. A thousand such answers have epsilon {everywhere:.2f} at delta = 1e-5, whatever the votes.
        On votes that are far apart they cost much less:
        """
    )
    lecture.table(["lead of the winner", "epsilon on these votes"], [[k, f"{v[0]:.2f}"] for k, v in found.items()])
    return found


# %% [markdown]
# ## 2. From teachers to a student


# %%
@dataclass(frozen=True)
class Row:
    """What one aggregator makes of one dataset.

    Attributes:
        answered, asked: queries with a label, and all.
        for_all_votes: epsilon at delta of these answers and all checks, whatever the votes, by the textbook.
        claim: the same by the tight curve: Gaussian DP for Gaussian noise, optimal composition for Laplace noise.
        on_these_votes: the data-dependent one; a secret.
        right: share of the labels that are right.
        student, baseline: accuracy of the student, and of the nearest of all private records.
    """

    data: str
    aggregator: str
    answered: int
    asked: int
    for_all_votes: float
    claim: float
    on_these_votes: float
    right: float
    student: float
    baseline: float


def votes_on(name: str, *, n_teachers: int, n_queries: int, directory: str | None = None) -> Votes:
    """Teachers of disjoint parts of a dataset, "digits", "mnist" or "adult", and their votes on public points."""
    (X, y), (points, truth), (Z, z), teachers, baseline = _split(name, directory)
    queries, truth, unlabelled = points[:n_queries], truth[:n_queries], points[n_queries:]
    start = time.perf_counter()
    n_classes = int(y.max()) + 1
    counts = count_votes(teachers.labels(X, y, queries, n_teachers, n_classes), n_classes)
    seconds = time.perf_counter() - start
    right = float((baseline.teach(X, y, Z, n_classes) == z).mean())
    return Votes(name, counts, queries, truth, unlabelled, Z, z, right, seconds)


def _split(name: str, directory: str | None) -> tuple[Any, Any, Any, Teachers, Teachers]:
    """Private records, public points, points to judge by, teachers, and what learns without privacy."""
    from ...mechanisms.ensembles import NearestTeachers

    where = {} if directory is None else {"directory": directory}
    if name == "mnist":
        (X, y), (Z, z) = _pair(load("mnist", **where)), _pair(load("mnist", part="test", **where))
        X, Z = X.astype(np.float32), Z.astype(np.float32)
        public = (Z[:9000], z[:9000]), (Z[9000:], z[9000:])
        return (X, y), *public, KernelTeachers(width=0.5, ridge=0.1), NearestTeachers()
    if name == "adult":
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.tree import DecisionTreeClassifier

        X, y = _pair(with_target(load("adult", **where), "income>50K", name="adult"))
        order = np.random.default_rng(SEED).permutation(len(y))
        X, y = X[order], y[order]
        public = (X[-9000:-5000], y[-9000:-5000]), (X[-5000:], y[-5000:])
        tree = DecisionTreeClassifier(max_depth=5, random_state=0)
        boosted = HistGradientBoostingClassifier(max_iter=60, random_state=0)
        return (X[:-9000], y[:-9000]), *public, EstimatorTeachers(tree), EstimatorTeachers(boosted)
    X, y = _pair(load("digits"))
    order = np.random.default_rng(SEED).permutation(len(y))
    X, y = X[order] / 16.0, y[order]
    public = (X[1200:1500], y[1200:1500]), (X[1500:], y[1500:])
    return (X[:1200], y[:1200]), *public, KernelTeachers(), NearestTeachers()


def _pair(data: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Features and labels."""
    X, y = data
    return np.asarray(X), np.asarray(y, dtype=np.int64)


def row(votes: Votes, aggregator: Aggregator, *, delta: float = DELTA, seed: int = SEED) -> Row:
    """One run: labels, a student of these, and what it costs."""
    labels = aggregator.release(votes.counts, 1, np.random.default_rng(seed)).values[0]
    given = labels >= 0
    student = student_of_answers(votes, labels)
    if isinstance(aggregator, CheckedGNMax):
        rho = aggregator.rho(int(given.sum()))
        everywhere = ConcentratedDP(rho).textbook_epsilon(delta)
        claim = GaussianDP(math.sqrt(2.0 * rho)).epsilon(delta)
    else:
        claim = aggregator.guarantee().epsilon(delta)
        everywhere = data_dependent(aggregator, _torn(votes.counts)).epsilon(delta)
    return Row(
        votes.name,
        type(aggregator).__name__,
        int(given.sum()),
        len(given),
        everywhere,
        claim,
        data_dependent(aggregator, votes.counts, answered=given).epsilon(delta),
        float((labels[given] == votes.truth[given]).mean()),
        student,
        votes.baseline,
    )


def _torn(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Votes that cost most: all labels alike, as nearly as whole numbers allow."""
    n, m = int(counts[0].sum()), counts.shape[1]
    worst = np.full(counts.shape, n // m)
    worst[:, : n % m] += 1
    return worst


def pipeline(lecture: Lecture) -> list[Row]:
    """Digits, 50 teachers, three aggregators."""
    votes = votes_on("digits", n_teachers=50, n_queries=300)
    options = {"n_teachers": 50, "n_classes": 10, "n_queries": 300}
    aggregators = (LNMax(0.1, **options), GNMax(10.0, **options), ConfidentGNMax(35.0, 20.0, 8.0, **options))
    found = [row(votes, aggregator) for aggregator in aggregators]
    lecture.chapter("2. From teachers to a student")
    lecture.say(
        """
        1,200 handwritten digits are dealt to 50 teachers, 24 each. They label 300 others, and a student learns from
        these labels alone. LNMax and GNMax answer everything; Confident-GNMax only where enough teachers agree.
        """
    )
    lecture.table(
        ["aggregator", "answered", "epsilon, all votes", "epsilon, these votes", "labels right", "student"],
        [
            [
                r.aggregator,
                r.answered,
                f"{r.for_all_votes:.2f}",
                f"{r.on_these_votes:.2f}",
                f"{r.right:.1%}",
                f"{r.student:.1%}",
            ]
            for r in found
        ],
    )
    lecture.say(f"The nearest of all 1,200 digits, without privacy: {found[0].baseline:.1%}.")
    return found


# %% [markdown]
# ## 3. The epsilon is data


# %%
def secret_epsilon(lecture: Lecture) -> tuple[float, float, float]:
    """The two epsilons of a pair, and the deviation of the noise that hides the difference."""
    base = GNMax(40.0, n_queries=200)
    broken, right = EpsilonOfVotes(base), PrivateEpsilon(base)
    pair = broken.worst_case()
    first, second = broken.epsilon(pair.d0), broken.epsilon(pair.d1)
    deviation = right.deviation(pair.d0)
    lecture.chapter("3. The epsilon is data")
    lecture.say(
        f"""
        "Our answers had epsilon {first:.3f}." With one teacher voting otherwise it would have been {second:.3f}:
        whoever knows all records but one can tell. The smooth sensitivity of the number at order {ORDER:g} asks
        for noise of standard deviation {deviation:.2f}, and publishing it costs epsilon
        {right.guarantee().epsilon(DELTA):.2f} besides.
        """
    )
    return first, second, deviation


# %% [markdown]
# ## 4. What the student remembers


# %%
def loss_of_the_student(lecture: Lecture) -> tuple[float, float, float]:
    """Claim, and bounds from the labels and from the loss of the student on the record."""
    base = GNMax(8.0, n_teachers=20, n_classes=2, n_queries=20)
    options: dict[str, Any] = {"trials": 4_000, "delta": 1e-2, "seed": SEED}
    labels = audit(PATE(base, view="labels"), **options)
    student = audit(PATE(base, steps=5), attack=CanaryLoss(), **options)
    assert labels.claim is not None
    lecture.chapter("4. What the student remembers")
    lecture.say(
        f"""
        An audit of the whole path on the worst pair of records, at delta = 0.01: the claim is {labels.claim:.2f}, the
        labels show {labels.bound.epsilon:.2f}, and the loss of the student on the record {student.bound.epsilon:.2f}.
        """
    )
    return labels.claim, labels.bound.epsilon, student.bound.epsilon


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture."""

    one_answer: dict[int, tuple[float, float]]
    pipeline: list[Row]
    secret_epsilon: tuple[float, float, float]
    loss_of_the_student: tuple[float, float, float]


def main(out: Path | None = None) -> Findings:
    """Votes of teachers: PATE from teachers to a student, what an answer costs, and an epsilon that is itself a secret.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    found = Findings(one_answer(lecture), pipeline(lecture), secret_epsilon(lecture), loss_of_the_student(lecture))
    lecture.chapter("To take home")
    lecture.say("A clear vote barely leaks, a tie leaks most, and which of the two it was is a secret as well.")
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Epsilon of a thousand answers against the lead."""
    lecture.panels(
        "votes-of-teachers",
        lambda ax: _draw_leads(ax, found),
        title="Votes of teachers",
        description="Epsilon of a thousand answers of GNMax against the lead of the winner, and for all votes.",
        size=(6.5, 4.0),
    )


def _draw_leads(ax: Axes, found: Findings) -> None:
    these, every = ([value[i] for value in found.one_answer.values()] for i in (0, 1))
    ax.plot(LEADS, every, color=CLAIM.light, linewidth=1.4)
    ax.plot(LEADS, these, marker="o", color=BLUE.light, linewidth=2)
    ax.set_ylim(0.0, 1.1 * every[0])
    style_axes(ax, title="A thousand answers, sigma = 40", x="lead of the winner, votes", y="epsilon at delta 1e-5")
    end_labels(ax, [EndLabel(every[-1], "all votes", CLAIM), EndLabel(these[-1], "these votes", BLUE)])


# %%
if __name__ == "__main__":
    main()
