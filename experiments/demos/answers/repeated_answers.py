# %% [markdown]
# # Repeated answers
#
# A query system answers counts with Laplace noise, and each single answer is private. An attacker repeats the same
# query a hundred times. This demo measures what the average leaks, what the optimal attack achieves, and the effect of
# several defences.
#
# Names and symbols: `epsilon` ε of one answer, `n_answers` K.

# %%
"""Averaging of repeated answers: the mean of K noisy counts, the optimal attack, and the effect of a budget."""

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
from ....mechanisms.noise.counts import Answerer
from ...report.plots.style import AMBER, BLUE, CLAIM, GREEN, VIOLATION, EndLabel, end_labels, logarithmic, style_axes
from ..demo import Demo

SEED = 119
EPSILON = 1.0
ANSWERS = (1, 4, 16, 64, 100)
N_PEOPLE = 40
N_DESKS = 2_000
"""Number of query systems simulated at once, with independent noise."""


# %% [markdown]
# ## 1. The mean of K answers
#
# One answer has standard deviation √2/ε. The mean of K independent answers has √2/(ε√K).


# %%
@dataclass(frozen=True)
class Spreads:
    """Standard deviation of the mean of K answers, measured and by the formula."""

    n_answers: tuple[int, ...]
    fresh: tuple[float, ...]
    sticky: tuple[float, ...]
    scaled: tuple[float, ...]
    formula: tuple[float, ...]


def the_mean(demo: Demo) -> Spreads:
    """Measure the mean with fresh noise, sticky noise, and noise scaled to the number of answers."""
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
    spreads = Spreads(ANSWERS, fresh, sticky, scaled, formula)
    demo.chapter("1. The mean of K answers")
    demo.say(
        f"""
        "How many of these {N_PEOPLE} people are ill?" The system adds Laplace noise of scale 1 and returns 11.3. Each
        such answer is private, with epsilon 1. We repeat the query, and take the mean. Standard deviation of the mean,
        over {N_DESKS:,} systems:
        """
    )
    demo.table(
        ["answers", "fresh noise", "sqrt(2) / sqrt(K)"],
        [[k, f"{s:.4f}", f"{f:.4f}"] for k, s, f in zip(ANSWERS, fresh, formula, strict=True)],
    )
    demo.say(
        """
        A hundred answers reduce the error by a factor of ten, from 1.4 to 0.14. This reveals the presence of one
        person.
        """
    )
    return spreads


# %% [markdown]
# ## 2. Is Bob ill?
#
# An attacker who knows all people except Bob subtracts the others; the rest is 0 or 1, with the noise of the mean. The
# optimal statistic of K answers is not their mean but their likelihood ratio, whose success rate is known exactly:
# (1 + D) / 2, with D the total variation distance of the K answers.


# %%
@dataclass(frozen=True)
class Guesses:
    """Success rates of guesses of Bob's bit: by the mean, the median, the likelihood ratio, and the optimum."""

    n_answers: tuple[int, ...]
    mean: tuple[float, ...]
    median: tuple[float, ...]
    likelihood_ratio: tuple[float, ...]
    optimum: tuple[float, ...]


def is_bob_ill(demo: Demo, n_games: int = 20_000) -> Guesses:
    """Measure three rules on the same answers, and return them with the exact optimum."""
    rng = np.random.default_rng([SEED, 2])
    rows = []
    for k in ANSWERS:
        bob = rng.integers(0, 2, n_games)
        noise = Repeated(Laplace(EPSILON), k).release(0.0, n_games, rng).values
        answers = np.asarray(noise + bob[:, None], dtype=np.float64)
        rules = (answers.mean(axis=1) > 0.5, np.median(answers, axis=1) > 0.5, _likelier_one(answers))
        success = [float((rule == (bob == 1)).mean()) for rule in rules]
        exact = Repeated(Laplace(EPSILON), k).exact_guarantee()
        assert exact is not None
        rows.append((*success, 0.5 + 0.5 * float(exact.delta(0.0))))
    mean, median, ratio, optimum = zip(*rows, strict=True)
    guesses = Guesses(ANSWERS, mean, median, ratio, optimum)
    demo.chapter("2. Is Bob ill?")
    demo.say(
        f"""
        An attacker who knows the other {N_PEOPLE - 1} people can subtract them. Bob's bit is a fair coin; how often is
        it guessed correctly? Epsilon 1 allows at most e / (1 + e) = 0.731:
        """
    )
    demo.table(
        ["answers", "by the mean", "by the median", "by the likelihood ratio", "optimum"],
        [[k, *(f"{value:.4f}" for value in row)] for k, row in zip(ANSWERS, rows, strict=True)],
    )
    demo.say(
        """
        One answer satisfies this limit. Sixteen answers exceed it with every rule, and the likelihood ratio reaches the
        optimum given by composition theory, within sampling error.
        """
    )
    return guesses


def _likelier_one(answers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return True for each run whose answers are more likely around 1 than around 0."""
    return np.asarray((np.abs(answers) - np.abs(answers - 1.0)).sum(axis=1) > 0.0)


# %% [markdown]
# ## 3. Defences
#
# The same noise for the same query; or a budget: K answers of ε/K each, and no more answers when it is spent.


# %%
def the_remedies(demo: Demo, spreads: Spreads) -> float:
    """Show the error of the mean under each defence, and return the number of answers within a budget of 3."""
    desk = Answerer(np.ones(N_PEOPLE), np.random.default_rng([SEED, 3]), noise=Laplace(EPSILON), budget=3.0)
    n_answered = float(np.count_nonzero(~np.isnan(desk.ask_again(np.ones(N_PEOPLE), 100))))
    demo.chapter("3. Defences")
    demo.say(
        """
        Sticky noise: the noise is drawn once for each set of people. Or a budget: K answers get epsilon / K each, so
        that all of them together are private. Standard deviation of the mean:
        """
    )
    demo.table(
        ["answers", "fresh noise", "sticky noise", "epsilon / K each"],
        [
            [k, *(f"{v:.4f}" for v in row)]
            for k, *row in zip(ANSWERS, spreads.fresh, spreads.sticky, spreads.scaled, strict=True)
        ],
    )
    demo.say(
        f"""
        With a budget, more answers make the mean worse, because they share the budget. A system with a total budget of
        epsilon 3 gave {n_answered:.0f} of 100 answers. Sticky noise prevents averaging of one query, but two sets that
        differ only in Bob are two queries: the demo column-from-counts uses this weakness.
        """
    )
    return n_answered


# %% [markdown]
# ## 4. The audit
#
# A black-box audit of a system that answers K times and claims ε for all answers together.


# %%
def forgetful_desk(dataset: NDArray[np.float64], size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the mean of 16 answers, each with Laplace noise of scale 1 / epsilon, rounded to two digits."""
    noise = Laplace(EPSILON).release(0.0, 16 * size, rng).values.reshape(size, 16)
    return np.asarray(np.round(np.sum(dataset) + noise.mean(axis=1), 2))


def the_audit(demo: Demo, trials: int = 20_000) -> AuditResult:
    """Audit the claim of one answer on the mean of sixteen answers."""
    pair = Neighbours(np.ones(3), np.ones(4), Relation.ADD_REMOVE)
    result = audit(forgetful_desk, neighbours=pair, claim=PureDP(EPSILON), trials=trials, seed=SEED)
    demo.chapter("4. The audit")
    demo.say("The mean of 16 answers, with the claim of one answer:")
    demo.show(result.evidence())
    return result


# %%
@dataclass(frozen=True)
class RepeatedAnswersFindings:
    """Results of the demo."""

    spreads: Spreads
    guesses: Guesses
    answers_of_a_budget: float
    audit: AuditResult


def main(out: Path | None = None) -> RepeatedAnswersFindings:
    """Run the demo: the leak through the mean of repeated answers, and the effect of a budget.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    spreads = the_mean(demo)
    findings = RepeatedAnswersFindings(spreads, is_bob_ill(demo), the_remedies(demo, spreads), the_audit(demo))
    demo.chapter("Conclusion")
    demo.say("Independent noise can be averaged out. A privacy budget has to account for every answer.")
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: RepeatedAnswersFindings) -> None:
    """Draw two panels: error of the mean and success rate of guesses, against the number of answers."""
    demo.panels(
        "repeated-answers",
        lambda ax: _draw_spreads(ax, findings.spreads),
        lambda ax: _draw_guesses(ax, findings.guesses),
        title="Averaging repeated answers",
        description="Left: error of the mean against the number of answers. Right: success rate of guesses of a bit.",
    )


def _draw_spreads(ax: Axes, spreads: Spreads) -> None:
    labels = []
    for values, colour, name in (
        (spreads.fresh, BLUE, "fresh noise"),
        (spreads.sticky, AMBER, "sticky noise"),
        (spreads.scaled, GREEN, "budget: epsilon / K"),
    ):
        ax.plot(spreads.n_answers, values, marker="o", color=colour.light, linewidth=2)
        labels.append(EndLabel(values[-1], name, colour))
    logarithmic(ax.xaxis, 0.9, 130.0)
    logarithmic(ax.yaxis, 0.1, 20.0)
    style_axes(ax, title="Only fresh noise averages out", x="answers to the same query", y="error of the mean")
    end_labels(ax, labels)


def _draw_guesses(ax: Axes, guesses: Guesses) -> None:
    ceiling = 1.0 / (1.0 + math.exp(-EPSILON))
    ax.axhline(ceiling, color=CLAIM.light, linewidth=1.4)
    ax.plot(guesses.n_answers, guesses.optimum, color=VIOLATION.light, linewidth=2)
    ax.plot(guesses.n_answers, guesses.mean, marker="o", color=BLUE.light, linewidth=0)
    labels = [
        EndLabel(ceiling, "ceiling of epsilon 1", CLAIM),
        EndLabel(guesses.optimum[-1], "optimum", VIOLATION),
        EndLabel(guesses.mean[-1] - 0.03, "by the mean", BLUE),
    ]
    logarithmic(ax.xaxis, 0.9, 130.0)
    ax.set_ylim(0.5, 1.02)
    style_axes(ax, title="Sixteen answers exceed the ceiling", x="answers", y="share of correct guesses")
    end_labels(ax, labels)


# %%
if __name__ == "__main__":
    main()
