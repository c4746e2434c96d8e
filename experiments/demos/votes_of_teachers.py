# %% [markdown]
# # Private aggregation of teachers' votes (PATE)
#
# 250 teachers vote on a label, and only the noisy winner is released. This demo shows the privacy loss of an answer: it
# is small if the teachers agree, and largest at a tie; therefore the data-dependent epsilon itself is sensitive.
#
# Names and symbols: `standard_deviation` sigma, `threshold` T, `check_deviation` sigma_1,
# `answer_deviation` sigma_2, the order of Renyi alpha.

# %%
"""PATE: privacy loss of an answer, accuracy of a student, and a data-dependent epsilon that is itself sensitive."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ...attacks.distinguishing.canary_attacks import CanaryLoss
from ...audit import audit
from ...mechanisms.accounting import ConcentratedDP, GaussianDP
from ...mechanisms.broken.pate import EpsilonOfVotes
from ...mechanisms.learning.pate import (
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
from ...mechanisms.learning.pate.aggregator import Aggregator
from ...mechanisms.learning.pate.confident import CheckedGNMax
from ..data import load
from ..data.examples import with_target
from ..report.plots.style import BLUE, CLAIM, EndLabel, end_labels, style_axes
from .demo import Demo
from .students_of_votes import Votes, student_of_answers

SEED = 250
DELTA = 1e-5
LEADS = (0, 20, 50, 100, 150, 200, 240)
ORDER = 20.0


# %% [markdown]
# ## 1. A clear majority and a tie
#
# GNMax with sigma = 40. The data-independent bound holds for all votes; that of Papernot et al. (2018) depends on the
# votes. The votes are for two labels, with increasing majorities.


# %%
def one_answer(demo: Demo) -> dict[int, tuple[float, float]]:
    """Return lead -> data-dependent epsilon of a thousand answers, and the epsilon for all votes."""
    aggregator = GNMax(40.0, n_classes=2, n_queries=1_000)
    everywhere = ConcentratedDP(aggregator.rho).textbook_epsilon(DELTA)
    epsilons = {}
    for lead in LEADS:
        ones = (250 + lead) // 2
        votes = np.tile([250 - ones, ones], (1_000, 1))
        epsilons[lead] = (data_dependent(aggregator, votes).epsilon(DELTA), everywhere)
    demo.chapter("1. A clear majority and a tie")
    demo.say(
        f"""
        250 teachers vote for one of two labels, Gaussian noise of standard deviation 40 is added to both counts, and
        the larger one wins. A thousand such answers have epsilon {everywhere:.2f} at delta = 1e-5, for all votes.
        With a clear majority, the data-dependent epsilon is much smaller:
        """
    )
    demo.table(["lead of the winner", "epsilon on these votes"], [[k, f"{v[0]:.2f}"] for k, v in epsilons.items()])
    return epsilons


# %% [markdown]
# ## 2. From teachers to a student


# %%
@dataclass(frozen=True)
class VotesRow:
    """Results of one aggregator on one dataset.

    Attributes:
        data, aggregator: names of the dataset and of the aggregator.
        answered, asked: numbers of queries with a label, and of all queries.
        for_all_votes: data-independent epsilon at delta of these answers and all checks, by the textbook conversion.
        claim: data-independent epsilon by the tight curve: Gaussian DP for Gaussian noise, optimal composition for
            Laplace noise.
        on_these_votes: data-dependent epsilon, which is sensitive.
        right: share of correct labels.
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
    """Train teachers on disjoint parts of "digits", "mnist" or "adult", and return their votes on public points."""
    (X, y), (points, truth), (Z, z), teachers, baseline = _split(name, directory)
    queries, truth, unlabelled = points[:n_queries], truth[:n_queries], points[n_queries:]
    start = time.perf_counter()
    n_classes = int(y.max()) + 1
    counts = count_votes(teachers.labels(X, y, queries, n_teachers, n_classes), n_classes)
    seconds = time.perf_counter() - start
    accuracy = float((baseline.teach(X, y, Z, n_classes) == z).mean())
    return Votes(name, counts, queries, truth, unlabelled, Z, z, accuracy, seconds)


def _split(name: str, directory: str | None) -> tuple[Any, Any, Any, Teachers, Teachers]:
    """Return private records, public points, evaluation points, teachers, and the non-private baseline."""
    from ...mechanisms.learning.pate import NearestTeachers

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
    """Return features and labels as arrays."""
    X, y = data
    return np.asarray(X), np.asarray(y, dtype=np.int64)


def row(votes: Votes, aggregator: Aggregator, *, delta: float = DELTA, seed: int = SEED) -> VotesRow:
    """Return the results of one run: labels, a student of the labels, and epsilons."""
    labels = aggregator.release(votes.counts, 1, np.random.default_rng(seed)).values[0]
    answered = labels >= 0
    student = student_of_answers(votes, labels)
    if isinstance(aggregator, CheckedGNMax):
        rho = aggregator.rho(int(answered.sum()))
        everywhere = ConcentratedDP(rho).textbook_epsilon(delta)
        claim = GaussianDP(math.sqrt(2.0 * rho)).epsilon(delta)
    else:
        claim = aggregator.guarantee().epsilon(delta)
        everywhere = data_dependent(aggregator, _torn(votes.counts)).epsilon(delta)
    return VotesRow(
        votes.name,
        type(aggregator).__name__,
        int(answered.sum()),
        len(answered),
        everywhere,
        claim,
        data_dependent(aggregator, votes.counts, answered=answered).epsilon(delta),
        float((labels[answered] == votes.truth[answered]).mean()),
        student,
        votes.baseline,
    )


def _torn(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the votes of the largest privacy loss: equal counts of all labels, up to rounding."""
    n, m = int(counts[0].sum()), counts.shape[1]
    worst = np.full(counts.shape, n // m)
    worst[:, : n % m] += 1
    return worst


def pipeline(demo: Demo) -> list[VotesRow]:
    """Return the results of three aggregators with 50 teachers on digits."""
    votes = votes_on("digits", n_teachers=50, n_queries=300)
    options: dict[str, Any] = {"n_teachers": 50, "n_classes": 10, "n_queries": 300}
    aggregators = (LNMax(0.1, **options), GNMax(10.0, **options), ConfidentGNMax(35.0, 20.0, 8.0, **options))
    rows = [row(votes, aggregator) for aggregator in aggregators]
    demo.chapter("2. From teachers to a student")
    demo.say(
        """
        1,200 handwritten digits are divided among 50 teachers, 24 each. They label 300 others, and a student learns
        only from these labels. LNMax and GNMax answer all queries; Confident-GNMax only if enough teachers agree.
        """
    )
    demo.table(
        ["aggregator", "answered", "epsilon, all votes", "epsilon, these votes", "correct labels", "student"],
        [
            [
                r.aggregator,
                r.answered,
                f"{r.for_all_votes:.2f}",
                f"{r.on_these_votes:.2f}",
                f"{r.right:.1%}",
                f"{r.student:.1%}",
            ]
            for r in rows
        ],
    )
    demo.say(f"Accuracy of the nearest neighbour among all 1,200 digits, without privacy: {rows[0].baseline:.1%}.")
    return rows


# %% [markdown]
# ## 3. The data-dependent epsilon


# %%
def secret_epsilon(demo: Demo) -> tuple[float, float, float]:
    """Return the two epsilons of a pair, and the standard deviation of the noise for a private release."""
    base = GNMax(40.0, n_queries=200)
    broken, right = EpsilonOfVotes(base), PrivateEpsilon(base)
    pair = broken.worst_case()
    first, second = broken.epsilon(pair.d0), broken.epsilon(pair.d1)
    deviation = right.deviation(pair.d0)
    demo.chapter("3. The data-dependent epsilon")
    demo.say(
        f"""
        "Our answers had epsilon {first:.3f}." If one teacher had voted differently, it would have been {second:.3f}: an
        attacker who knows all records except one can distinguish the two. By the smooth sensitivity at order
        {ORDER:g}, a private release of epsilon needs noise of standard deviation {deviation:.2f}, and has an additional
        epsilon of {right.guarantee().epsilon(DELTA):.2f}.
        """
    )
    return first, second, deviation


# %% [markdown]
# ## 4. Audit of the student


# %%
def loss_of_the_student(demo: Demo) -> tuple[float, float, float]:
    """Return the claim, and lower bounds from the labels and from the loss of the student on the record."""
    base = GNMax(8.0, n_teachers=20, n_classes=2, n_queries=20)
    options: dict[str, Any] = {"trials": 4_000, "delta": 1e-2, "seed": SEED}
    labels = audit(PATE(base, view="labels"), **options)
    student = audit(PATE(base, steps=5), attack=CanaryLoss(), **options)
    assert labels.claim is not None
    demo.chapter("4. Audit of the student")
    demo.say(
        f"""
        An audit of the whole pipeline on the worst-case pair, at delta = 0.01: the claim is {labels.claim:.2f}, the
        lower bound from the labels is {labels.bound.epsilon:.2f}, and that from the loss of the student on the record
        {student.bound.epsilon:.2f}.
        """
    )
    return labels.claim, labels.bound.epsilon, student.bound.epsilon


# %%
@dataclass(frozen=True)
class VotesOfTeachersFindings:
    """Results of the demo."""

    one_answer: dict[int, tuple[float, float]]
    pipeline: list[VotesRow]
    secret_epsilon: tuple[float, float, float]
    loss_of_the_student: tuple[float, float, float]


def main(out: Path | None = None) -> VotesOfTeachersFindings:
    """Run the demo: PATE from teachers to a student, privacy loss of an answer, and a sensitive epsilon.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    findings = VotesOfTeachersFindings(
        one_answer(demo), pipeline(demo), secret_epsilon(demo), loss_of_the_student(demo)
    )
    demo.chapter("Conclusion")
    demo.say("A clear majority leaks little, a tie leaks most, and the data-dependent epsilon is itself sensitive.")
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: VotesOfTeachersFindings) -> None:
    """Draw epsilon of a thousand answers against the lead."""
    demo.panels(
        "votes-of-teachers",
        lambda ax: _draw_leads(ax, findings),
        title="Epsilon of teachers' votes",
        description="Epsilon of a thousand answers of GNMax against the lead of the winner, and for all votes.",
        size=(6.5, 4.0),
    )


def _draw_leads(ax: Axes, findings: VotesOfTeachersFindings) -> None:
    these_votes, all_votes = ([value[i] for value in findings.one_answer.values()] for i in (0, 1))
    ax.plot(LEADS, all_votes, color=CLAIM.light, linewidth=1.4)
    ax.plot(LEADS, these_votes, marker="o", color=BLUE.light, linewidth=2)
    ax.set_ylim(0.0, 1.1 * all_votes[0])
    style_axes(ax, title="A thousand answers, sigma = 40", x="lead of the winner, votes", y="epsilon at delta 1e-5")
    end_labels(ax, [EndLabel(all_votes[-1], "all votes", CLAIM), EndLabel(these_votes[-1], "these votes", BLUE)])


# %%
if __name__ == "__main__":
    main()
