# %% [markdown]
# # Many queries at once
#
# The mean answers to 256 queries, from noise on each, from a strategy, and from one distribution that answers them all;
# and next to them the four rates that theory knows.
#
# Our names and the usual symbols: `n_queries` k, `n_cells` T, `n_records` n.

# %%
"""Measured errors of six mechanisms that answer a workload, against the known rates of query release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....mechanisms import Gaussian, Laplace, Mechanism
from ....mechanisms.queries import Domain, Workload
from ....mechanisms.relation import Relation
from ....mechanisms.release.error_rates import error_rate
from ....mechanisms.release.matrix import GaussianMatrix, LaplaceMatrix
from ....mechanisms.release.weights import MWEM, SmallDatabase
from ...plots.style.canvas import EndLabel, end_labels, logarithmic, style_axes
from ...plots.style.palette import CLAIM, MUTED, series_colour
from ..lecture import Lecture

SEED = 2010
EPSILON, DELTA = 1.0, 1e-6
N_CELLS, N_QUERIES = 64, 256
SIZES = (100, 1_000, 10_000, 100_000)
"""Numbers of records."""
RUNS = 60
NORMS = {"root mean square": 2.0, "largest": math.inf}

Floats = NDArray[np.float64]


def workload() -> Workload:
    """Random sets of cells."""
    return Workload.random(Domain((("cell", N_CELLS),)), N_QUERIES, seed=SEED)


def records(n: int) -> NDArray[np.int64]:
    """Cells whose shares fall like 1 / rank, as even as whole records allow."""
    weights = np.cumsum(1.0 / np.arange(1, N_CELLS + 1))
    return np.searchsorted(weights / weights[-1], (np.arange(n) + 0.5) / n)[:, None]


def mechanisms(queries: Workload, n: int) -> dict[str, tuple[Mechanism, bool]]:
    """Each of one privacy, with whether it is epsilon-DP or (epsilon, delta)-DP."""
    relation = Relation.REPLACE_ONE
    shared: dict[str, Any] = {"n_queries": N_QUERIES, "query": queries, "relation": relation}
    l1, l2 = (queries.sensitivity(relation, norm=norm) for norm in (1.0, 2.0))
    return {
        "Laplace": (Laplace(EPSILON, sensitivity=l1, **shared), True),
        "matrix, Laplace": (LaplaceMatrix(EPSILON, workload=queries, relation=relation), True),
        "MWEM": (MWEM(queries, n, epsilon=EPSILON, rounds=8, view="answers"), True),
        "small database": (SmallDatabase(queries, n, epsilon=EPSILON, n_rows=3), True),
        "Gaussian": (Gaussian(EPSILON, DELTA, sensitivity=l2, **shared), False),
        "matrix, Gaussian": (GaussianMatrix(EPSILON, DELTA, workload=queries, relation=relation), False),
    }


def errors(mechanism: Mechanism, queries: Workload, n: int) -> tuple[float, float]:
    """Of mean answers, over runs: the mean root of the mean square, and the mean largest error."""
    dataset, rng = records(n), np.random.default_rng([SEED, n])
    values = mechanism.release(dataset, RUNS, rng).values
    means = queries.of(values / 3.0) if isinstance(mechanism, SmallDatabase) else values / n
    away = np.abs(means - queries(dataset) / n)
    return float(np.sqrt((away**2).mean(axis=1)).mean()), float(away.max(axis=1).mean())


# %% [markdown]
# ## 1. Six mechanisms
#
# Noise on every answer; noise on a strategy, and least squares; weights that are moved by a few measured answers; a
# database of three rows.


# %%
def measured(lecture: Lecture) -> dict[str, list[tuple[float, float]]]:
    """Errors of each mechanism at each number of records."""
    queries = workload()
    made = {n: mechanisms(queries, n) for n in SIZES}
    found = {name: [errors(made[n][name][0], queries, n) for n in SIZES] for name in made[SIZES[0]]}
    lecture.chapter("1. Six mechanisms")
    lecture.say(
        f"""
        {N_QUERIES} random sets of {N_CELLS} cells: which share of the records lies in each? All of it at epsilon
        {EPSILON:g} (Gaussian noise with delta {DELTA:g}), one record replaced. The largest error of the {N_QUERIES}
        answers, on average over {RUNS} runs:
        """
    )
    lecture.table(
        ["mechanism", *(f"{n:,} records" for n in SIZES)],
        [[name, *(f"{largest:.4f}" for _, largest in each)] for name, each in found.items()],
    )
    lecture.say(
        """
        Noise on every answer is hopeless while there are few records, and falls like 1/n. Noise on a strategy falls as
        fast, from a far lower start. The weights begin as uniform, so that they are no worse than a guess with any
        number of records; but eight measured answers, or three rows, do not get better for ever.
        """
    )
    return found


# %% [markdown]
# ## 2. What is known
#
# The error of the best mechanism for the worst workload: four rates, for two norms and for pure and approximate
# differential privacy. Constants are suppressed.


# %%
def rates(n: int) -> dict[tuple[float, bool], float]:
    """The four rates at n records."""
    sizes = {"n_queries": N_QUERIES, "n_cells": N_CELLS, "n_records": n}
    return {
        (norm, pure): error_rate(**sizes, epsilon=EPSILON, norm=norm, pure=pure)
        for norm in NORMS.values()
        for pure in (True, False)
    }


def known(lecture: Lecture) -> dict[int, dict[tuple[float, bool], float]]:
    """The four rates at each number of records."""
    found = {n: rates(n) for n in SIZES}
    lecture.chapter("2. What is known")
    lecture.say(
        """
        No constants, so that only the slopes can be compared, and they are for the worst of all workloads. Between pure
        and approximate differential privacy there is a gap in theory; where it is open, the pure column is the best
        mechanism that is known:
        """
    )
    lecture.table(
        ["error", "privacy", *(f"{n:,} records" for n in SIZES)],
        [
            [word, "pure" if pure else "approximate", *(f"{found[n][norm, pure]:.4f}" for n in SIZES)]
            for word, norm in NORMS.items()
            for pure in (True, False)
        ],
    )
    return found


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture."""

    measured: dict[str, list[tuple[float, float]]]
    known: dict[int, dict[tuple[float, bool], float]]


def main(out: Path | None = None) -> Findings:
    """Many queries at once: the error of six mechanisms, and the four rates that theory knows.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    found = Findings(measured(lecture), known(lecture))
    lecture.chapter("To take home")
    lecture.say("Choose what to measure: at one epsilon, a fifteenth of the error of noise on every answer, or less.")
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Two panels: both errors against the number of records."""
    lecture.panels(
        "query-release",
        lambda ax: _draw_errors(ax, found, 0),
        lambda ax: _draw_errors(ax, found, 1),
        title="Many queries at once",
        description="Errors of six mechanisms against the number of records, and the known rates, without constants.",
        size=(11.0, 4.6),
    )


def _draw_errors(ax: Axes, found: Findings, which: int) -> None:
    labels, seen, word = [], [], list(NORMS)[which]
    for place, (name, each) in enumerate(found.measured.items()):
        values = [both[which] for both in each]
        ax.plot(SIZES, values, marker="o", color=series_colour(place).light, linewidth=1.6)
        labels.append(EndLabel(values[-1], name, series_colour(place)))
        seen += values
    for pure, colour, style in ((True, CLAIM, "--"), (False, MUTED, ":")):
        values = [found.known[n][NORMS[word], pure] for n in SIZES]
        ax.plot(SIZES, values, color=colour.light, linewidth=1.4, linestyle=style)
        labels.append(EndLabel(values[-1], f"rate, {'pure' if pure else 'approximate'}", colour))
        seen += values
    logarithmic(ax.xaxis, SIZES[0] / 1.15, SIZES[-1] * 1.15)
    logarithmic(ax.yaxis, min(seen) / 1.5, max(seen) * 1.5)
    style_axes(
        ax, title=f"{word.capitalize()} error; broken lines: known rates", x="records", y=f"{word} error of a mean"
    )
    end_labels(ax, labels)


# %%
if __name__ == "__main__":
    main()
