# %% [markdown]
# # A column from counts
#
# A desk answers only counts, never about one person, and every count is off by a few. This lecture takes the whole
# column out of such answers, and then shows what stops it.
#
# Our names and the usual symbols: `n_records` n, `n_queries` m, the public queries A, the answers a = A x + e.

# %%
"""Reconstruction of a secret column from many noisy counts, and what noise for a budget does to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from ....attacks.reconstruction.answers import (
    BoxedLeastSquares,
    L1Decoding,
    SubsetQueryAttack,
    least_squares_accuracy,
)
from ....mechanisms import Gaussian
from ....mechanisms.counts import Answerer, GaussianSubsetCounts, LaplaceSubsetCounts, SubsetCounts
from ...plots.style.canvas import EndLabel, end_labels, logarithmic, style_axes
from ...plots.style.palette import AMBER, BLUE, CLAIM, GREEN
from ..lecture import Lecture

SEED = 2003
N_PEOPLE = 100
N_COLUMNS = 40
"""Secret columns that are drawn for each number."""
NOISES = (2.0, 4.0, 8.0)
QUERIES = (50, 100, 200, 500, 1000, 3000)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def decoded(mechanism: SubsetCounts, seed: int) -> float:
    """Share of right bits of least squares, over fresh columns."""
    rng = np.random.default_rng([SEED, seed])
    bits = rng.integers(0, 2, (N_COLUMNS, mechanism.n_records))
    answers = np.concatenate([mechanism.release(column, 1, rng).values for column in bits])
    return float(BoxedLeastSquares().decode(mechanism.subsets, answers).accuracy(bits).mean())


# %% [markdown]
# ## 1. Many counts, a little noise each
#
# Random subsets of half the people; Gaussian noise on every answer. The attack looks for the column whose own counts
# lie nearest to the answers, in the sum of squares: Dwork and Yekhanin (2008).


# %%
def many_counts(lecture: Lecture) -> dict[tuple[float, int], float]:
    """Share of right bits for each noise and number of queries."""
    found = {
        (noise, m): decoded(GaussianSubsetCounts(N_PEOPLE, m, standard_deviation=noise), m)
        for noise in NOISES
        for m in QUERIES
    }
    lecture.chapter("1. Many counts, a little noise each")
    lecture.say(
        f"""
        {N_PEOPLE} people have a secret bit each. The desk says how many ones there are in any subset, plus noise of
        standard deviation 2, 4 or 8. We ask about random halves, and look for the column that fits best. Share of bits
        that are right:
        """
    )
    lecture.table(
        ["noise", *(f"{m:,} queries" for m in QUERIES)],
        [[f"{noise:g}", *(f"{found[noise, m]:.3f}" for m in QUERIES)] for noise in NOISES],
    )
    lecture.say(
        f"""
        A count of fifty people that is off by 4 looks harmless; five hundred of them give
        {found[4.0, 500]:.0%} of the bits, as the formula Phi(1 / (2 noise sqrt(4 / (m - n)))) says:
        {least_squares_accuracy(N_PEOPLE, 500, 4.0):.3f}.
        """
    )
    return found


# %% [markdown]
# ## 2. Wrong answers
#
# Noise may be large on some answers. The sum of absolute differences does not care how large: Dwork, McSherry and
# Talwar (2007).


# %%
def wrong_answers(lecture: Lecture) -> dict[float, tuple[float, float]]:
    """Share of right bits of L1 decoding and of least squares, where some answers are arbitrary."""
    rng = np.random.default_rng([SEED, 2])
    queries = rng.integers(0, 2, (500, N_PEOPLE))
    found = {}
    for share in (0.1, 0.2, 0.3):
        bits = rng.integers(0, 2, N_PEOPLE)
        answers = queries @ bits
        wrong = rng.choice(500, int(share * 500), replace=False)
        answers[wrong] = rng.integers(0, N_PEOPLE, len(wrong))
        l1, squares = (d.decode(queries, answers).accuracy(bits)[0] for d in (L1Decoding(), BoxedLeastSquares()))
        found[share] = (float(l1), float(squares))
    lecture.chapter("2. Answers that are simply wrong")
    lecture.say("The desk answers exactly, but some answers are replaced by any number at all. Share of right bits:")
    lecture.table(
        ["wrong answers", "L1 decoding", "least squares"],
        [[f"{share:.0%}", *(f"{value:.2f}" for value in row)] for share, row in found.items()],
    )
    lecture.say("Least squares chases the wrong answers; the sum of absolute differences lets them be.")
    return found


# %% [markdown]
# ## 3. A careful system
#
# The same question has the same noise, small counts are not given, and only conditions on public columns are allowed.
# Arithmetic on an identifier is such a condition: Cohen and Nissim (2020).


# %%
def careful_system(lecture: Lecture, n_people: int = 120) -> float:
    """Share of right bits against sticky noise of standard deviation 4 and suppression below 4."""
    rng = np.random.default_rng([SEED, 3])
    bits = rng.integers(0, 2, n_people)
    noise = Gaussian(noise_multiplier=4.0)
    desk = Answerer(bits, rng, noise=noise, memory="sticky", suppressed_below=4.0)
    found = SubsetQueryAttack(n_primes=40).attack(desk, np.arange(3000, 3000 + n_people)).accuracy(bits)[0]
    lecture.chapter("3. A careful system")
    lecture.say(
        f"""
        Now the same set always gets the same noise (averaging is useless), counts below 4 are not given, and sets must
        be described by a condition. "The fractional part of 10 sqrt(7 id) is below one half" is a condition. With
        {desk.n_asked:,} of them, {found:.1%} of {n_people} bits are right.
        """
    )
    return float(found)


# %% [markdown]
# ## 4. A budget
#
# Noise for one ε of all answers together. No attack whatever guesses a bit more often than e^ε / (1 + e^ε).


# %%
def a_budget(lecture: Lecture) -> dict[float, float]:
    """Share of right bits from 500 answers that keep epsilon together."""
    found = {e: decoded(LaplaceSubsetCounts(e, N_PEOPLE, 500), 4) for e in EPSILONS}
    lecture.chapter("4. A budget")
    lecture.say(
        f"""
        What stops all of this is noise that grows with the number of answers. Laplace noise on 500 counts of
        {N_PEOPLE} people, with one epsilon for all:
        """
    )
    lecture.table(
        ["epsilon of all answers", "right bits", "no attack has more than"],
        [[f"{e:g}", f"{value:.3f}", f"{1 / (1 + math.exp(-e)):.3f}"] for e, value in found.items()],
    )
    lecture.say("At epsilon 1 the answers are still there, and the column is not in them.")
    return found


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture."""

    many_counts: dict[tuple[float, int], float]
    wrong_answers: dict[float, tuple[float, float]]
    careful_system: float
    a_budget: dict[float, float]


def main(out: Path | None = None) -> Findings:
    """A column from counts: reconstruction through noise, wrong answers and sticky noise, and what stops it.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    found = Findings(many_counts(lecture), wrong_answers(lecture), careful_system(lecture), a_budget(lecture))
    lecture.chapter("To take home")
    lecture.say("Overly accurate answers to too many questions give everything away. A budget is what counts them.")
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Two panels: right bits against queries, and against the epsilon of all answers."""
    lecture.panels(
        "column-from-counts",
        lambda ax: _draw_queries(ax, found),
        lambda ax: _draw_budget(ax, found),
        title="A column from counts",
        description="Left: right bits against queries, for three noises. Right: against the epsilon of all answers.",
    )


def _draw_queries(ax: Axes, found: Findings) -> None:
    labels = []
    more = np.geomspace(N_PEOPLE + 1, QUERIES[-1], 100).astype(int)
    for noise, colour in zip(NOISES, (BLUE, AMBER, GREEN), strict=True):
        values = [found.many_counts[noise, m] for m in QUERIES]
        ax.plot(QUERIES, values, marker="o", color=colour.light, linewidth=0)
        curve = [least_squares_accuracy(N_PEOPLE, int(m), noise) for m in more]
        ax.plot(more, curve, color=colour.light, linewidth=1.4)
        labels.append(EndLabel(values[-1], f"noise {noise:g}", colour))
    logarithmic(ax.xaxis, QUERIES[0] / 1.15, QUERIES[-1] * 1.15)
    ax.set_ylim(0.48, 1.02)
    style_axes(ax, title="Points: seen. Lines: formula without a box", x="queries", y="share of right bits")
    end_labels(ax, labels)


def _draw_budget(ax: Axes, found: Findings) -> None:
    epsilons = np.geomspace(EPSILONS[0], EPSILONS[-1], 100)
    ax.plot(epsilons, 1.0 / (1.0 + np.exp(-epsilons)), color=CLAIM.light, linewidth=1.4)
    seen = [found.a_budget[e] for e in EPSILONS]
    ax.plot(EPSILONS, seen, marker="o", color=BLUE.light, linewidth=2)
    logarithmic(ax.xaxis, EPSILONS[0] / 1.15, EPSILONS[-1] * 1.15)
    ax.set_ylim(0.48, 1.02)
    style_axes(ax, title="500 answers with one budget", x="epsilon of all answers", y="share of right bits")
    end_labels(ax, [EndLabel(1.0, "ceiling", CLAIM), EndLabel(seen[-1], "least squares", BLUE)])


# %%
if __name__ == "__main__":
    main()
