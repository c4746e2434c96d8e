# %% [markdown]
# # Am I in this study?
#
# A hospital publishes what share of the patients of a study has each of 5,000 genetic variants. No names, no rows, only
# means. You have your own row, perhaps from a service that reads genomes by post, and everybody knows how common each
# variant is among people at large. Can you tell whether you were in the study? Can anybody else who has your row?
#
# Run the cells from top to bottom, or the whole lecture with `dpassay demo in-this-study`.
#
# Our names and the usual symbols: `released` q, `frequencies` p, `n_records` n, `n_attributes` d.

# %%
"""Am I in this study? One row against the published means of a hundred: exact, rounded, and private."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....attacks.tracing import InnerProduct, Traced, expected_z, power, trace
from ....mechanisms.studies import ColumnMeans, Genomes, Study, Uniform
from ...plots.style.canvas import EndLabel, end_labels, style_axes
from ...plots.style.palette import AMBER, BLUE, GREEN
from ..lecture import Lecture

SEED = 2008
PATIENTS, VARIANTS, STRANGERS = 100, 5_000, 1_000
POPULATION = Uniform(low=0.05, high=0.95, seed=SEED)
RELEASES = {
    "exact": {"noise": "none"},
    "rounded to 10 %": {"noise": "none", "decimals": 1},
    "private, mu = 1": {"noise": "gaussian", "noise_multiplier": 1.0},
}
RARE = 0.001
"""False positive rate at which members are counted: one stranger in a thousand."""
COLOURS = (BLUE, AMBER, GREEN)
"""Of the releases, in figures."""


def publisher(release: str, n_attributes: int = VARIANTS) -> ColumnMeans:
    """The hospital's way to publish."""
    return ColumnMeans(PATIENTS, n_attributes, **RELEASES[release])  # type: ignore[arg-type]


# %% [markdown]
# ## 1. You and your neighbour
#
# You are in the study; your neighbour is not. The score of a row is its inner product with what is unusual about the
# means, in standard deviations of people at large:
#
#     T = sum (y_j - p_j) (q_j - p_j) / sqrt(sum p_j (1 - p_j) (q_j - p_j)^2)
#
# You pulled each mean a hundredth of the way towards yourself. That is little in one column and a lot in 5,000.


# %%
def you_and_your_neighbour(lecture: Lecture) -> dict[str, Traced]:
    """Everybody of the study and a thousand strangers, by each of the releases."""
    rng = np.random.default_rng([SEED, 1])
    people = POPULATION.people(PATIENTS + STRANGERS, VARIANTS, rng)
    p = POPULATION.frequencies(VARIANTS)
    found = {}
    for name in RELEASES:
        released = publisher(name).release(people[:PATIENTS], 1, rng).values[0]
        found[name] = trace(released, people, frequencies=p)
    lecture.chapter("1. You and your neighbour")
    lecture.say(
        f"""
        A study of {PATIENTS} patients publishes the share of them who have each of {VARIANTS:,} genetic variants. You
        know your own row, and how common each variant is. You are in the study, your neighbour is not. For both, the
        score, and how often a stranger would score as high:
        """
    )
    you, neighbour = 0, PATIENTS
    rows = [
        [name, *(f"{t.scores[i]:.1f}" for i in (you, neighbour)), *(f"{t.p_values[i]:.1g}" for i in (you, neighbour))]
        for name, t in found.items()
    ]
    lecture.table(["the means are", "your score", "neighbour's", "your p-value", "neighbour's"], rows)
    lecture.say(
        """
        Exact means give you away beyond doubt. Rounding them to whole tens of per cent changes little: an error that is
        made in each of 5,000 columns averages out. Noise that is fitted to the number of columns hides you.
        """
    )
    return found


# %% [markdown]
# ## 2. Everybody at once
#
# Whoever has a list of people can try them all. With Holm's correction, a stranger is named once in a thousand studies.


# %%
def everybody(lecture: Lecture, found: dict[str, Traced]) -> dict[str, tuple[int, int]]:
    """Members and strangers who are named, by release."""
    named = {}
    for name, traced in found.items():
        guilty = traced.holm() <= 0.001
        named[name] = int(guilty[:PATIENTS].sum()), int(guilty[PATIENTS:].sum())
    lecture.chapter("2. Everybody at once")
    lecture.say(
        f"""
        Now somebody tries the rows of all {PATIENTS} patients and of {STRANGERS:,} people who are not in the study, and
        names those whose p-value stays below 0.1 % after a correction for trying {PATIENTS + STRANGERS:,}:
        """
    )
    rows = [[name, f"{m} of {PATIENTS}", f"{s} of {STRANGERS:,}"] for name, (m, s) in named.items()]
    lecture.table(["the means are", "patients named", "strangers named"], rows)
    return named


# %% [markdown]
# ## 3. How many columns does it take?
#
# A member's score lies z standard deviations above a stranger's. Exact means: z = sqrt(d / n). Gaussian noise for
# mu-Gaussian differential privacy: z is at most mu / 2, for ever so many columns, because the noise grows with them.


# %%
@dataclass(frozen=True)
class Curve:
    """z by number of columns: measured and by the formula."""

    columns: tuple[int, ...]
    measured: tuple[float, ...]
    formula: tuple[float, ...]

    @property
    def ratio(self) -> NDArray[np.float64]:
        """sqrt(columns / people)."""
        return np.asarray(np.sqrt(np.array(self.columns) / PATIENTS))


def the_curve(lecture: Lecture, *, runs: int = 200) -> dict[str, Curve]:
    """z of each release from 50 columns to 20,000, over studies of strangers with one person in them or not."""
    columns = (50, 200, 1_000, 5_000, 20_000)
    rng = np.random.default_rng([SEED, 3])
    curves = {}
    for name in RELEASES:
        pairs = [_z(name, d, runs, rng) for d in columns]
        curves[name] = Curve(columns, *(tuple(side) for side in zip(*pairs, strict=True)))
    lecture.chapter("3. How many columns does it take?")
    lecture.say(
        f"""
        With exact means a member scores z = sqrt(d / n) higher than a stranger, whatever the frequencies. Measured on
        {runs} studies with a person and {runs} without, for each number of columns d:
        """
    )
    rows = [
        [f"{d:,}", f"{math.sqrt(d / PATIENTS):.2f}", *(f"{curve.measured[i]:.2f}" for curve in curves.values())]
        for i, d in enumerate(columns)
    ]
    lecture.table(["columns d", "sqrt(d / n)", *RELEASES], rows)
    lecture.say(
        """
        Noise that is fitted to d keeps z below mu / 2 = 0.5 whatever d is: differential privacy allows a score of mu,
        and people who are unlike each other hide you by as much again.
        """
    )
    return curves


def _z(name: str, d: int, runs: int, rng: np.random.Generator) -> tuple[float, float]:
    """z measured, and by the formula."""
    means, p = publisher(name, d), POPULATION.frequencies(d)
    statistic = InnerProduct(weights="best", n_records=PATIENTS, standard_deviation=means.standard_deviation)
    person = POPULATION.people(1, d, rng)
    sides = [
        float(statistic.score(means.release(study, runs, rng).values, person, p).mean())
        for study in (Study(p), Study(p, person[0]))
    ]
    return sides[1] - sides[0], expected_z(p, PATIENTS, means.standard_deviation)


# %% [markdown]
# ## 4. When the p-value itself is wrong
#
# Neighbouring variants are inherited together. The formula for the p-value takes them for independent, and is then far
# too sure of itself. Comparing with people of reference, who are linked in the same way, is right whatever the linkage.


# %%
def linked(lecture: Lecture, *, n_strangers: int = 2_000) -> dict[str, float]:
    """Share of strangers whose p-value is 1 % or less, by where it comes from: variants linked in blocks of 50."""
    genomes = Genomes(block=50, linkage=0.98, population=POPULATION)
    rng = np.random.default_rng([SEED, 4])
    people = genomes.people(PATIENTS + n_strangers + 1_000, VARIANTS, rng)
    study, strangers, reference = np.split(people, [PATIENTS, PATIENTS + n_strangers])
    released, p = study.mean(axis=0), genomes.frequencies(VARIANTS)
    found = {
        "formula": trace(released, strangers, frequencies=p, null="normal"),
        "people of reference": trace(released, strangers, frequencies=p, reference=reference),
    }
    shares = {name: float((traced.p_values <= 0.01).mean()) for name, traced in found.items()}
    lecture.chapter("4. When the p-value itself is wrong")
    lecture.say(
        """
        Neighbouring variants are inherited together. A formula that takes them for independent accuses strangers. Of
        people who are not in the study, a p-value of 1 % or less has:
        """
    )
    lecture.table(["p-value from", "strangers accused"], [[name, f"{share:.1%}"] for name, share in shares.items()])
    lecture.say("Before you accuse somebody, look where the p-value comes from.")
    return shares


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture."""

    traced: dict[str, Traced]
    named: dict[str, tuple[int, int]]
    curves: dict[str, Curve]
    accused: dict[str, float]


def main(out: Path | None = None) -> Findings:
    """Am I in this study? One row against published means: exact, rounded, and private.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    traced = you_and_your_neighbour(lecture)
    found = Findings(traced, everybody(lecture, traced), the_curve(lecture), linked(lecture))
    lecture.chapter("To take home")
    lecture.say(
        """
        Means of many columns are not anonymous. Rounding does not help; noise does, if it grows with the number of
        columns. `dpassay run tracing` turns the scores into lower bounds on epsilon.
        """
    )
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Two panels: z against sqrt(d / n), and members found at one false alarm in a thousand."""
    lecture.panels(
        "in-this-study",
        lambda ax: _draw_scores(ax, found.curves),
        lambda ax: _draw_found(ax, found.curves),
        title="Am I in this study?",
        description="Left: z of members against sqrt(d / n), points measured, lines by the formula. Right: share of "
        "members found at a false positive rate of 0.001, by the formula.",
        size=(11.0, 4.4),
    )


def _draw_scores(ax: Axes, curves: dict[str, Curve]) -> None:
    for curve, colour in zip(curves.values(), COLOURS, strict=True):
        ax.plot(curve.ratio, curve.measured, "o", color=colour.light)
    _draw_lines(ax, curves, float, title="Exact means: z = sqrt(d / n)", y="z of a member's score")


def _draw_found(ax: Axes, curves: dict[str, Curve]) -> None:
    _draw_lines(ax, curves, lambda z: power(z, RARE), title="At one stranger in a thousand", y="share of members found")


def _draw_lines(ax: Axes, curves: dict[str, Curve], height: Callable[[float], float], *, title: str, y: str) -> None:
    """A line of each release: `height` of its z by the formula."""
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
