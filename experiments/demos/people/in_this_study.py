# %% [markdown]
# # Am I in this study?
#
# A hospital publishes the share of the patients of a study who have each of 5,000 genetic variants: only means, no
# names and no rows. You know your own row, for example from a genotyping service, and the frequency of each variant in
# the population is public. Can you infer whether you were in the study? Can an attacker with your row infer it?
#
# Run the cells from top to bottom, or the whole demo with `dpassay demo in-this-study`.
#
# Names and symbols: `released` q, `frequencies` p, `n_records` n, `n_attributes` d.

# %%
"""Membership inference from one row and the published means of a hundred: exact, rounded, and private."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....attacks.membership.tracing import InnerProduct, Traced, expected_z, power, trace
from ....mechanisms.noise.studies import ColumnMeans, Genomes, Study, Uniform
from ...report.plots.style import AMBER, BLUE, GREEN, EndLabel, end_labels, style_axes
from ..demo import Demo

SEED = 2008
PATIENTS, VARIANTS, N_NON_MEMBERS = 100, 5_000, 1_000
POPULATION = Uniform(low=0.05, high=0.95, seed=SEED)
RELEASES = {
    "exact": {"noise": "none"},
    "rounded to 10 %": {"noise": "none", "decimals": 1},
    "private, mu = 1": {"noise": "gaussian", "noise_multiplier": 1.0},
}
RARE = 0.001
"""False positive rate of the reported true positive rates."""
COLOURS = (BLUE, AMBER, GREEN)
"""Colours of the releases in figures."""


def publisher(release: str, n_attributes: int = VARIANTS) -> ColumnMeans:
    """Return the publication mechanism of the hospital."""
    return ColumnMeans(PATIENTS, n_attributes, **RELEASES[release])  # type: ignore[arg-type]


# %% [markdown]
# ## 1. You and your neighbour
#
# You are in the study; your neighbour is not. The score of a row is its inner product with the deviation of the means
# from the population frequencies, in standard deviations over the population:
#
#     T = sum (y_j - p_j) (q_j - p_j) / sqrt(sum p_j (1 - p_j) (q_j - p_j)^2)
#
# Your row shifts each mean by a hundredth of the difference. This is small in one column, but large over 5,000.


# %%
def you_and_your_neighbour(demo: Demo) -> dict[str, Traced]:
    """Trace all members and a thousand non-members, with each of the releases."""
    rng = np.random.default_rng([SEED, 1])
    people = POPULATION.people(PATIENTS + N_NON_MEMBERS, VARIANTS, rng)
    p = POPULATION.frequencies(VARIANTS)
    traced = {}
    for name in RELEASES:
        released = publisher(name).release(people[:PATIENTS], 1, rng).values[0]
        traced[name] = trace(released, people, frequencies=p)
    demo.chapter("1. You and your neighbour")
    demo.say(
        f"""
        A study of {PATIENTS} patients publishes the share of them who have each of {VARIANTS:,} genetic variants. You
        know your row and the frequency of each variant. You are in the study, your neighbour is not. The score of both,
        and the p-value: the probability that a non-member has at least this score:
        """
    )
    you, neighbour = 0, PATIENTS
    rows = [
        [name, *(f"{t.scores[i]:.1f}" for i in (you, neighbour)), *(f"{t.p_values[i]:.1g}" for i in (you, neighbour))]
        for name, t in traced.items()
    ]
    demo.table(["means", "your score", "neighbour's score", "your p-value", "neighbour's p-value"], rows)
    demo.say(
        """
        Exact means reveal your membership with certainty. Rounding them to multiples of 10 % changes little: the
        rounding errors of 5,000 columns average out. Noise calibrated to the number of columns protects you.
        """
    )
    return traced


# %% [markdown]
# ## 2. Many people at once
#
# An attacker with a list of people can test all of them. With Holm's correction, a non-member is named in at most one
# of a thousand studies.


# %%
def all_people(demo: Demo, by_release: dict[str, Traced]) -> dict[str, tuple[int, int]]:
    """Return the numbers of named members and non-members, by release."""
    named = {}
    for name, traced in by_release.items():
        rejected = traced.holm() <= 0.001
        named[name] = int(rejected[:PATIENTS].sum()), int(rejected[PATIENTS:].sum())
    demo.chapter("2. Many people at once")
    demo.say(
        f"""
        An attacker tests the rows of all {PATIENTS} patients and of {N_NON_MEMBERS:,} non-members, and names those
        whose p-value is at most 0.1 % after the correction for {PATIENTS + N_NON_MEMBERS:,} tests:
        """
    )
    rows = [[name, f"{m} of {PATIENTS}", f"{s} of {N_NON_MEMBERS:,}"] for name, (m, s) in named.items()]
    demo.table(["means", "patients named", "non-members named"], rows)
    return named


# %% [markdown]
# ## 3. Number of columns
#
# A member's score is on average z standard deviations above a non-member's. Exact means: z = sqrt(d / n). Gaussian
# noise for mu-Gaussian differential privacy: z is at most mu / 2 for any number of columns, because the noise grows
# with it.


# %%
@dataclass(frozen=True)
class InThisStudyCurve:
    """Measured z and z by the formula, by number of columns."""

    columns: tuple[int, ...]
    measured: tuple[float, ...]
    formula: tuple[float, ...]

    @property
    def ratio(self) -> NDArray[np.float64]:
        """Values of sqrt(columns / people)."""
        return np.asarray(np.sqrt(np.array(self.columns) / PATIENTS))


def the_curve(demo: Demo, *, runs: int = 200) -> dict[str, InThisStudyCurve]:
    """Return z of each release from 50 to 20,000 columns, over random studies with and without one person."""
    columns = (50, 200, 1_000, 5_000, 20_000)
    rng = np.random.default_rng([SEED, 3])
    curves = {}
    for name in RELEASES:
        pairs = [_z(name, d, runs, rng) for d in columns]
        curves[name] = InThisStudyCurve(columns, *(tuple(side) for side in zip(*pairs, strict=True)))
    demo.chapter("3. Number of columns")
    demo.say(
        f"""
        With exact means, a member's score is z = sqrt(d / n) higher than a non-member's, for all frequencies. Measured
        on {runs} studies with a person and {runs} without, for each number of columns d:
        """
    )
    rows = [
        [f"{d:,}", f"{math.sqrt(d / PATIENTS):.2f}", *(f"{curve.measured[i]:.2f}" for curve in curves.values())]
        for i, d in enumerate(columns)
    ]
    demo.table(["columns d", "sqrt(d / n)", *RELEASES], rows)
    demo.say(
        """
        Noise calibrated to d keeps z below mu / 2 = 0.5 for every d: differential privacy allows z = mu, and the
        variation among the other people halves it.
        """
    )
    return curves


def _z(name: str, d: int, runs: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return the measured z, and z by the formula."""
    means, p = publisher(name, d), POPULATION.frequencies(d)
    statistic = InnerProduct(weights="best", n_records=PATIENTS, standard_deviation=means.standard_deviation)
    person = POPULATION.people(1, d, rng)
    sides = [
        float(statistic.score(means.release(study, runs, rng).values, person, p).mean())
        for study in (Study(p), Study(p, person[0]))
    ]
    return sides[1] - sides[0], expected_z(p, PATIENTS, means.standard_deviation)


# %% [markdown]
# ## 4. Invalid p-values
#
# Neighbouring variants are inherited together. The formula for the p-value assumes independence, and gives p-values
# that are much too small. A comparison with a reference sample of the same population is valid for any linkage.


# %%
def linked(demo: Demo, *, n_non_members: int = 2_000) -> dict[str, float]:
    """Return the share of non-members with p-value <= 1 %, by the source of the p-value; linkage in blocks of 50."""
    genomes = Genomes(block=50, linkage=0.98, population=POPULATION)
    rng = np.random.default_rng([SEED, 4])
    people = genomes.people(PATIENTS + n_non_members + 1_000, VARIANTS, rng)
    study, non_members, reference = np.split(people, [PATIENTS, PATIENTS + n_non_members])
    released, p = study.mean(axis=0), genomes.frequencies(VARIANTS)
    by_source = {
        "formula": trace(released, non_members, frequencies=p, null="normal"),
        "reference sample": trace(released, non_members, frequencies=p, reference=reference),
    }
    shares = {name: float((traced.p_values <= 0.01).mean()) for name, traced in by_source.items()}
    demo.chapter("4. Invalid p-values")
    demo.say(
        """
        Neighbouring variants are inherited together. A formula that assumes independence gives too many false
        positives. Share of non-members with a p-value of at most 1 %:
        """
    )
    demo.table(["p-value from", "false positives"], [[name, f"{share:.1%}"] for name, share in shares.items()])
    demo.say("A p-value is only as reliable as its null distribution.")
    return shares


# %%
@dataclass(frozen=True)
class InThisStudyFindings:
    """Results of the demo."""

    traced: dict[str, Traced]
    named: dict[str, tuple[int, int]]
    curves: dict[str, InThisStudyCurve]
    accused: dict[str, float]


def main(out: Path | None = None) -> InThisStudyFindings:
    """Run the demo: membership inference from one row and published means, exact, rounded and private.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    traced = you_and_your_neighbour(demo)
    findings = InThisStudyFindings(traced, all_people(demo, traced), the_curve(demo), linked(demo))
    demo.chapter("Conclusion")
    demo.say(
        """
        Means of many columns are not anonymous. Rounding does not protect; noise does, if it grows with the number of
        columns. `dpassay run tracing` computes lower bounds on epsilon from the scores.
        """
    )
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: InThisStudyFindings) -> None:
    """Draw two panels: z against sqrt(d / n), and the true positive rate at a false positive rate of 0.001."""
    demo.panels(
        "in-this-study",
        lambda ax: _draw_scores(ax, findings.curves),
        lambda ax: _draw_power(ax, findings.curves),
        title="Am I in this study?",
        description="Left: z of members against sqrt(d / n), points measured, lines by the formula. Right: true "
        "positive rate at a false positive rate of 0.001, by the formula.",
        size=(11.0, 4.4),
    )


def _draw_scores(ax: Axes, curves: dict[str, InThisStudyCurve]) -> None:
    for curve, colour in zip(curves.values(), COLOURS, strict=True):
        ax.plot(curve.ratio, curve.measured, "o", color=colour.light)
    _draw_lines(ax, curves, float, title="Exact means: z = sqrt(d / n)", y="z of a member's score")


def _draw_power(ax: Axes, curves: dict[str, InThisStudyCurve]) -> None:
    title = "At a false positive rate of 0.001"
    _draw_lines(ax, curves, lambda z: power(z, RARE), title=title, y="true positive rate")


def _draw_lines(
    ax: Axes, curves: dict[str, InThisStudyCurve], height: Callable[[float], float], *, title: str, y: str
) -> None:
    """Draw one line per release: `height` of its z by the formula."""
    labels = []
    for (name, curve), colour in zip(curves.items(), COLOURS, strict=True):
        values = [height(z) for z in curve.formula]
        ax.plot(curve.ratio, values, color=colour.light, linewidth=2)
        labels.append(EndLabel(values[-1], name, colour))
    ax.set_xlim(0.0, 15.0)
    style_axes(ax, title=title, x="sqrt(columns / people)", y=y)
    end_labels(ax, labels)


# %%
if __name__ == "__main__":
    main()
