# %% [markdown]
# # Reconstruction of a column from counts
#
# A query system answers only counting queries, with a small error on every count. This demo reconstructs a whole
# secret column from such answers, and shows which defences prevent it.
#
# Names and symbols: `n_records` n, `n_queries` m, the public queries A, the answers a = A x + e.

# %%
"""Reconstruction of a secret column from many noisy counts, and its prevention by a privacy budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from ....attacks.reconstruction.answers import BoxedLeastSquares, L1Decoding, SubsetQueryAttack, least_squares_accuracy
from ....mechanisms import Gaussian
from ....mechanisms.noise.counts import Answerer, GaussianSubsetCounts, LaplaceSubsetCounts, SubsetCounts
from ...report.plots.style import AMBER, BLUE, CLAIM, GREEN, EndLabel, end_labels, logarithmic, style_axes
from ..demo import Demo

SEED = 2003
N_PEOPLE = 100
N_COLUMNS = 40
"""Number of secret columns drawn for each setting."""
NOISES = (2.0, 4.0, 8.0)
QUERIES = (50, 100, 200, 500, 1000, 3000)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def decoded(mechanism: SubsetCounts, seed: int) -> float:
    """Return the share of bits that least squares reconstructs correctly, over new random columns."""
    rng = np.random.default_rng([SEED, seed])
    bits = rng.integers(0, 2, (N_COLUMNS, mechanism.n_records))
    answers = np.concatenate([mechanism.release(column, 1, rng).values for column in bits])
    return float(BoxedLeastSquares().decode(mechanism.subsets, answers).accuracy(bits).mean())


# %% [markdown]
# ## 1. Many counts with small noise
#
# Random subsets of half the people; Gaussian noise on every answer. The attack finds the column whose exact counts
# are closest to the answers in least squares: Dwork and Yekhanin (2008).


# %%
def many_counts(demo: Demo) -> dict[tuple[float, int], float]:
    """Return the share of correct bits for each noise and number of queries."""
    accuracies = {
        (noise, m): decoded(GaussianSubsetCounts(N_PEOPLE, m, standard_deviation=noise), m)
        for noise in NOISES
        for m in QUERIES
    }
    demo.chapter("1. Many counts with small noise")
    demo.say(
        f"""
        Each of {N_PEOPLE} people has a secret bit. The system returns the number of ones in any subset, plus noise of
        standard deviation 2, 4 or 8. The attack queries random halves, and finds the column that fits best. Share of
        correct bits:
        """
    )
    demo.table(
        ["noise", *(f"{m:,} queries" for m in QUERIES)],
        [[f"{noise:g}", *(f"{accuracies[noise, m]:.3f}" for m in QUERIES)] for noise in NOISES],
    )
    demo.say(
        f"""
        An error of 4 in a count of fifty people seems safe, but five hundred such counts reveal
        {accuracies[4.0, 500]:.0%} of the bits. The formula Phi(1 / (2 noise sqrt(4 / (m - n)))) predicts
        {least_squares_accuracy(N_PEOPLE, 500, 4.0):.3f}.
        """
    )
    return accuracies


# %% [markdown]
# ## 2. Arbitrary answers
#
# The noise may be large on some answers. L1 decoding is robust to such outliers: Dwork, McSherry and Talwar (2007).


# %%
def wrong_answers(demo: Demo) -> dict[float, tuple[float, float]]:
    """Return the shares of correct bits of L1 decoding and of least squares, if some answers are arbitrary."""
    rng = np.random.default_rng([SEED, 2])
    queries = rng.integers(0, 2, (500, N_PEOPLE))
    accuracies = {}
    for share in (0.1, 0.2, 0.3):
        bits = rng.integers(0, 2, N_PEOPLE)
        answers = queries @ bits
        wrong = rng.choice(500, int(share * 500), replace=False)
        answers[wrong] = rng.integers(0, N_PEOPLE, len(wrong))
        l1, squares = (d.decode(queries, answers).accuracy(bits)[0] for d in (L1Decoding(), BoxedLeastSquares()))
        accuracies[share] = (float(l1), float(squares))
    demo.chapter("2. Arbitrary answers")
    demo.say("The answers are exact, except that some are replaced by arbitrary numbers. Share of correct bits:")
    demo.table(
        ["wrong answers", "L1 decoding", "least squares"],
        [[f"{share:.0%}", *(f"{value:.2f}" for value in row)] for share, row in accuracies.items()],
    )
    demo.say("Least squares is sensitive to the arbitrary answers; L1 decoding is robust.")
    return accuracies


# %% [markdown]
# ## 3. A system with heuristic defences
#
# The same query always gets the same noise, small counts are suppressed, and only conditions on public columns are
# allowed. Arithmetic on an identifier is such a condition: Cohen and Nissim (2020).


# %%
def careful_system(demo: Demo, n_people: int = 120) -> float:
    """Return the share of correct bits against sticky noise of standard deviation 4 and suppression below 4."""
    rng = np.random.default_rng([SEED, 3])
    bits = rng.integers(0, 2, n_people)
    noise = Gaussian(noise_multiplier=4.0)
    desk = Answerer(bits, rng, noise=noise, memory="sticky", suppressed_below=4.0)
    share = SubsetQueryAttack(n_primes=40).attack(desk, np.arange(3000, 3000 + n_people)).accuracy(bits)[0]
    demo.chapter("3. A system with heuristic defences")
    demo.say(
        f"""
        Now the same set always gets the same noise (averaging has no effect), counts below 4 are suppressed, and sets
        must be described by a condition, such as "the fractional part of 10 sqrt(7 id) is below one half". With
        {desk.n_asked:,} such queries, {share:.1%} of {n_people} bits are correct.
        """
    )
    return float(share)


# %% [markdown]
# ## 4. A privacy budget
#
# Noise for one ε over all answers. No attack guesses a bit with probability larger than e^ε / (1 + e^ε).


# %%
def a_budget(demo: Demo) -> dict[float, float]:
    """Return the share of correct bits from 500 answers with one epsilon in total."""
    accuracies = {e: decoded(LaplaceSubsetCounts(e, N_PEOPLE, 500), 4) for e in EPSILONS}
    demo.chapter("4. A privacy budget")
    demo.say(
        f"""
        Noise that grows with the number of answers prevents these attacks. Laplace noise on 500 counts of
        {N_PEOPLE} people, with one epsilon for all answers:
        """
    )
    demo.table(
        ["epsilon of all answers", "correct bits", "ceiling of any attack"],
        [[f"{e:g}", f"{value:.3f}", f"{1 / (1 + math.exp(-e)):.3f}"] for e, value in accuracies.items()],
    )
    demo.say("At epsilon 1, all answers are released, and they do not reveal the column.")
    return accuracies


# %%
@dataclass(frozen=True)
class ColumnFromCountsFindings:
    """Results of the demo."""

    many_counts: dict[tuple[float, int], float]
    wrong_answers: dict[float, tuple[float, float]]
    careful_system: float
    a_budget: dict[float, float]


def main(out: Path | None = None) -> ColumnFromCountsFindings:
    """Run the demo: reconstruction despite noise, arbitrary answers and sticky noise, and prevention by a budget.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    findings = ColumnFromCountsFindings(many_counts(demo), wrong_answers(demo), careful_system(demo), a_budget(demo))
    demo.chapter("Conclusion")
    demo.say("Overly accurate answers to too many queries destroy privacy. A privacy budget accounts for all of them.")
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: ColumnFromCountsFindings) -> None:
    """Draw two panels: correct bits against the number of queries, and against the epsilon of all answers."""
    demo.panels(
        "column-from-counts",
        lambda ax: _draw_queries(ax, findings),
        lambda ax: _draw_budget(ax, findings),
        title="Reconstruction of a column from counts",
        description="Left: correct bits against queries, for three noises. Right: against the epsilon of all answers.",
    )


def _draw_queries(ax: Axes, findings: ColumnFromCountsFindings) -> None:
    labels = []
    numbers_of_queries = np.geomspace(N_PEOPLE + 1, QUERIES[-1], 100).astype(int)
    for noise, colour in zip(NOISES, (BLUE, AMBER, GREEN), strict=True):
        values = [findings.many_counts[noise, m] for m in QUERIES]
        ax.plot(QUERIES, values, marker="o", color=colour.light, linewidth=0)
        curve = [least_squares_accuracy(N_PEOPLE, int(m), noise) for m in numbers_of_queries]
        ax.plot(numbers_of_queries, curve, color=colour.light, linewidth=1.4)
        labels.append(EndLabel(values[-1], f"noise {noise:g}", colour))
    logarithmic(ax.xaxis, QUERIES[0] / 1.15, QUERIES[-1] * 1.15)
    ax.set_ylim(0.48, 1.02)
    style_axes(ax, title="Points: measured. Lines: formula without bounds", x="queries", y="share of correct bits")
    end_labels(ax, labels)


def _draw_budget(ax: Axes, findings: ColumnFromCountsFindings) -> None:
    epsilons = np.geomspace(EPSILONS[0], EPSILONS[-1], 100)
    ax.plot(epsilons, 1.0 / (1.0 + np.exp(-epsilons)), color=CLAIM.light, linewidth=1.4)
    accuracies = [findings.a_budget[e] for e in EPSILONS]
    ax.plot(EPSILONS, accuracies, marker="o", color=BLUE.light, linewidth=2)
    logarithmic(ax.xaxis, EPSILONS[0] / 1.15, EPSILONS[-1] * 1.15)
    ax.set_ylim(0.48, 1.02)
    style_axes(ax, title="500 answers with one budget", x="epsilon of all answers", y="share of correct bits")
    end_labels(ax, [EndLabel(1.0, "ceiling", CLAIM), EndLabel(accuracies[-1], "least squares", BLUE)])


# %%
if __name__ == "__main__":
    main()
