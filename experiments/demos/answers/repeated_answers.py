# %% [markdown]
# # Ask again
#
# A desk answers counts with Laplace noise, and each answer alone is private. Somebody asks the same question a hundred
# times. This lecture measures what the average gives away, how far the best possible attack could go, and what three
# remedies do.
#
# Our names and the usual symbols: `epsilon` ε of one answer, `n_answers` K.

# %%
"""Averaging repeated answers: the mean of K noisy counts, the best use of them, and what a budget does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....attacks.reconstruction.answers import Averaging
from ....audit import AuditResult, audit
from ....mechanisms import Laplace, Neighbours, PureDP, Relation, Repeated
from ....mechanisms.counts import Answerer
from ...plots.style.canvas import EndLabel, end_labels, logarithmic, style_axes
from ...plots.style.palette import AMBER, BLUE, CLAIM, GREEN, VIOLATION
from ..lecture import Lecture

SEED = 119
EPSILON = 1.0
ANSWERS = (1, 4, 16, 64, 100)
N_PEOPLE = 40
N_DESKS = 2_000
"""Desks that are asked at once, each with noise of its own."""


# %% [markdown]
# ## 1. The mean of K answers
#
# One answer has standard deviation √2/ε. The mean of K fresh ones has √2/(ε√K).


# %%
@dataclass(frozen=True)
class Spreads:
    """Standard deviation of the mean of K answers: measured, and by the formula."""

    n_answers: tuple[int, ...]
    fresh: tuple[float, ...]
    sticky: tuple[float, ...]
    scaled: tuple[float, ...]
    formula: tuple[float, ...]


def the_mean(lecture: Lecture) -> Spreads:
    """Fresh noise, sticky noise, and noise that is scaled to the number of answers."""
    people = np.tile(np.arange(N_PEOPLE) % 4 == 0, (N_DESKS, 1))
    everyone = np.ones(N_PEOPLE)
    rng = np.random.default_rng([SEED, 1])

    def spread(k: int, epsilon: float, memory: str) -> float:
        desk = Answerer(people, rng, noise=Laplace(epsilon), memory=memory)
        return float(Averaging(k).count(desk, everyone).std())

    fresh = tuple(spread(k, EPSILON, "fresh") for k in ANSWERS)
    sticky = tuple(spread(k, EPSILON, "sticky") for k in ANSWERS)
    scaled = tuple(spread(k, EPSILON / k, "fresh") for k in ANSWERS)
    formula = tuple(math.sqrt(2.0 / k) / EPSILON for k in ANSWERS)
    found = Spreads(ANSWERS, fresh, sticky, scaled, formula)
    lecture.chapter("1. The mean of K answers")
    lecture.say(
        f"""
        "How many of these {N_PEOPLE} people are ill?" The desk adds Laplace noise of scale 1 and says 11.3. Each such
        answer is private, with epsilon 1. So we ask again, and take the mean; {N_DESKS:,} desks at once, to see how far
        the mean is off:
        """
    )
    lecture.table(
        ["answers", "fresh noise", "sqrt(2) / sqrt(K)"],
        [[k, f"{s:.4f}", f"{f:.4f}"] for k, s, f in zip(ANSWERS, fresh, formula, strict=True)],
    )
    lecture.say(
        """
        A hundred answers make the error ten times smaller: 0.14 instead of 1.4. That is enough to see one person come
        or go.
        """
    )
    return found


# %% [markdown]
# ## 2. Is Bob ill?
#
# Somebody who knows everyone but Bob subtracts the others; what is left is 0 or 1, with the noise of the mean. The best
# use of K answers is not their mean but their likelihood ratio, and how often that is right is known exactly: with D
# the total variation distance of the K answers, (1 + D) / 2.


# %%
@dataclass(frozen=True)
class Guesses:
    """How often Bob's bit is guessed: by the mean, the median, the likelihood ratio, and at best."""

    n_answers: tuple[int, ...]
    mean: tuple[float, ...]
    median: tuple[float, ...]
    likelihood_ratio: tuple[float, ...]
    optimum: tuple[float, ...]


def is_bob_ill(lecture: Lecture, n_games: int = 20_000) -> Guesses:
    """The three rules on the same answers, and the exact optimum."""
    rng = np.random.default_rng([SEED, 2])
    rows = []
    for k in ANSWERS:
        bob = rng.integers(0, 2, n_games)
        noise = Repeated(Laplace(EPSILON), k).release(0.0, n_games, rng).values
        answers = np.asarray(noise + bob[:, None], dtype=np.float64)
        rules = (answers.mean(axis=1) > 0.5, np.median(answers, axis=1) > 0.5, _likelier_one(answers))
        right = [float((rule == (bob == 1)).mean()) for rule in rules]
        exact = Repeated(Laplace(EPSILON), k).exact_guarantee()
        assert exact is not None
        rows.append((*right, 0.5 + 0.5 * float(exact.delta(0.0))))
    mean, median, ratio, optimum = zip(*rows, strict=True)
    found = Guesses(ANSWERS, mean, median, ratio, optimum)
    lecture.chapter("2. Is Bob ill?")
    lecture.say(
        f"""
        Whoever knows the other {N_PEOPLE - 1} can subtract them. Bob tossed a fair coin; how often is he guessed?
        Epsilon 1 allows 0.731, that is e / (1 + e), and not more:
        """
    )
    lecture.table(
        ["answers", "by the mean", "by the median", "by the likelihood ratio", "best possible"],
        [[k, *(f"{value:.4f}" for value in row)] for k, row in zip(ANSWERS, rows, strict=True)],
    )
    lecture.say(
        """
        One answer keeps its promise. Sixteen break it, whatever rule is used, and the likelihood ratio reaches the
        optimum that the theory of composition gives, to the last digit that so many games can show.
        """
    )
    return found


def _likelier_one(answers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether all answers together are likelier around 1 than around 0."""
    return np.asarray((np.abs(answers) - np.abs(answers - 1.0)).sum(axis=1) > 0.0)


# %% [markdown]
# ## 3. Remedies
#
# The same lie for the same question; or a budget: K answers of ε/K each, and no more when it is spent.


# %%
def the_remedies(lecture: Lecture, spreads: Spreads) -> float:
    """What the mean shows under each remedy; how many answers a budget of 3 gives."""
    desk = Answerer(np.ones(N_PEOPLE), np.random.default_rng([SEED, 3]), noise=Laplace(EPSILON), budget=3.0)
    given = float(np.count_nonzero(~np.isnan(desk.ask_again(np.ones(N_PEOPLE), 100))))
    lecture.chapter("3. What helps")
    lecture.say(
        """
        The same lie to the same question: noise is drawn once for each set of people. Or a budget: who wants K answers
        gets each with epsilon / K, so that all together are private. The error of the mean is then
        """
    )
    lecture.table(
        ["answers", "fresh", "the same lie", "epsilon / K each"],
        [
            [k, *(f"{v:.4f}" for v in row)]
            for k, *row in zip(ANSWERS, spreads.fresh, spreads.sticky, spreads.scaled, strict=True)
        ],
    )
    lecture.say(
        f"""
        With a budget, asking more makes the mean worse: every answer pays for the others. A desk that refuses when
        epsilon 3 is spent gave {given:.0f} of 100 answers. The same lie costs nothing for this question, but two sets
        that differ in Bob alone are two questions: the demo column-from-counts goes through that door.
        """
    )
    return given


# %% [markdown]
# ## 4. The audit
#
# A desk that answers K times and claims ε for all of them, audited without being told how it works.


# %%
def forgetful_desk(dataset: NDArray[np.float64], size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The mean of 16 answers, each with Laplace noise of scale 1 / epsilon, to two digits."""
    noise = Laplace(EPSILON).release(0.0, 16 * size, rng).values.reshape(size, 16)
    return np.asarray(np.round(np.sum(dataset) + noise.mean(axis=1), 2))


def the_audit(lecture: Lecture, trials: int = 20_000) -> AuditResult:
    """The claim of one answer, tested on the mean of sixteen."""
    pair = Neighbours(np.ones(3), np.ones(4), Relation.ADD_REMOVE)
    result = audit(forgetful_desk, neighbours=pair, claim=PureDP(EPSILON), trials=trials, seed=SEED)
    lecture.chapter("4. The audit")
    lecture.say("The mean of 16 answers, with the claim of one of them:")
    lecture.show(result.evidence())
    return result


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture."""

    spreads: Spreads
    guesses: Guesses
    answers_of_a_budget: float
    audit: AuditResult


def main(out: Path | None = None) -> Findings:
    """Ask again: what the mean of repeated answers gives away, and what a budget does.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    spreads = the_mean(lecture)
    found = Findings(spreads, is_bob_ill(lecture), the_remedies(lecture, spreads), the_audit(lecture))
    lecture.chapter("To take home")
    lecture.say("Noise that is drawn again can be averaged away. Privacy is a budget, and every answer is paid for.")
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Two panels: the error of the mean, and how often Bob is guessed, against the number of answers."""
    lecture.panels(
        "repeated-answers",
        lambda ax: _draw_spreads(ax, found.spreads),
        lambda ax: _draw_guesses(ax, found.guesses),
        title="Averaging repeated answers",
        description="Left: error of the mean against the number of answers. Right: how often a bit is guessed.",
    )


def _draw_spreads(ax: Axes, found: Spreads) -> None:
    labels = []
    for values, colour, name in (
        (found.fresh, BLUE, "fresh noise"),
        (found.sticky, AMBER, "the same lie"),
        (found.scaled, GREEN, "budget: epsilon / K"),
    ):
        ax.plot(found.n_answers, values, marker="o", color=colour.light, linewidth=2)
        labels.append(EndLabel(values[-1], name, colour))
    logarithmic(ax.xaxis, 0.9, 130.0)
    logarithmic(ax.yaxis, 0.1, 20.0)
    style_axes(ax, title="Only fresh noise averages out", x="answers to the same question", y="error of the mean")
    end_labels(ax, labels)


def _draw_guesses(ax: Axes, found: Guesses) -> None:
    ceiling = 1.0 / (1.0 + math.exp(-EPSILON))
    ax.axhline(ceiling, color=CLAIM.light, linewidth=1.4)
    ax.plot(found.n_answers, found.optimum, color=VIOLATION.light, linewidth=2)
    ax.plot(found.n_answers, found.mean, marker="o", color=BLUE.light, linewidth=0)
    labels = [
        EndLabel(ceiling, "what epsilon 1 allows", CLAIM),
        EndLabel(found.optimum[-1], "best possible", VIOLATION),
        EndLabel(found.mean[-1] - 0.03, "by the mean", BLUE),
    ]
    logarithmic(ax.xaxis, 0.9, 130.0)
    ax.set_ylim(0.5, 1.02)
    style_axes(ax, title="Sixteen answers break the promise", x="answers", y="how often Bob is guessed")
    end_labels(ax, labels)


# %%
if __name__ == "__main__":
    main()
