# %% [markdown]
# # Tables of a census, from the top down
#
# A nation, its states and their counties: noisy counts at every level, and whole tables that add up. What it costs,
# what the processing repairs and what it bends, and what the numbers that are published exactly give away.

# %%
"""TopDown on a made-up nation: errors by level, bias of small counties, and what its invariants give away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....audit import AuditResult, audit
from ....mechanisms import Neighbours
from ....mechanisms.broken.release import InvariantsForgotten
from ....mechanisms.errors import NeighboursError
from ....mechanisms.release.topdown import LEVELS, GaussianTopDown, GeometricTopDown, Invariant, LevelQuery
from ...data.people import place_sizes
from ...plots.style.canvas import EndLabel, end_labels, logarithmic, style_axes
from ...plots.style.palette import series_colour
from ..lecture import Lecture

SEED = 2020
COUNTIES = (5, 4, 3)
"""Of each state."""
N_PEOPLE = 20_000
SPREAD = 1.9
"""Of the logarithm of the sizes of the counties."""
RHO = 0.1
RUNS = 100
STEPS = ("noise", "least-squares", "non-negative", "whole")
ADULTS = ((0.50, 0.28, 0.22), (0.62, 0.26, 0.12))
"""Householders, partners and others among those from 15 to 64, and among older people."""

Floats = NDArray[np.float64]


def nation() -> NDArray[np.int64]:
    """Made-up people: county, relationship, age, and two flags of race."""
    rng = np.random.default_rng(SEED)
    sizes = rng.permutation(place_sizes(sum(COUNTIES), mean=1.0, spread=SPREAD))
    county = rng.choice(len(sizes), size=N_PEOPLE, p=sizes / sizes.sum())
    age = rng.choice(3, size=N_PEOPLE, p=(0.19, 0.65, 0.16))
    relationship = np.full(N_PEOPLE, 2)
    for group, shares in enumerate(ADULTS, start=1):
        of_group = age == group
        relationship[of_group] = rng.choice(3, size=int(of_group.sum()), p=shares)
    race = rng.choice(3, size=N_PEOPLE, p=(0.75, 0.2, 0.05))
    return np.column_stack([county, relationship, age, race != 1, race != 0]).astype(np.int64)


# %% [markdown]
# ## 1. Errors by level
#
# The noise is the same at every level, and the counts are not. Least squares combine what the levels say of each other.


# %%
@dataclass(frozen=True, eq=False)
class Errors:
    """Of the cells of the tables.

    Attributes:
        root_mean_square: of each step at each level.
        predicted: of the least squares.
        sizes: people of each county.
        bias: mean error of the number of people of each county, for least squares and whole tables,
            `(2, n_counties)`.
    """

    root_mean_square: dict[tuple[str, str], float]
    predicted: dict[str, float]
    sizes: Floats
    bias: Floats


def errors(lecture: Lecture) -> Errors:
    """Errors of the tables of a hundred and more releases."""
    people = nation()
    mechanism = GaussianTopDown(RHO, geography=COUNTIES)  # type: ignore[arg-type]
    outputs = mechanism.release(people, RUNS, np.random.default_rng(SEED)).values.astype(np.float64)
    exact = mechanism.plan.counts(people)
    answers, _ = mechanism.plan.split(outputs)
    detail = dict(zip((query.level for query in mechanism.queries[1::2]), answers[1::2], strict=True))
    tables = {step: mechanism.processing.tables(outputs, step=step) for step in STEPS[1:]} | {"noise": detail}
    truth = {level: mechanism.geography.sums(exact, "county", level) for level in LEVELS}
    found = {
        (step, level): float(np.sqrt(((tables[step][level] - truth[level]) ** 2).mean()))
        for step in STEPS
        for level in LEVELS
    }
    away = [(tables[step]["county"] - exact).sum(axis=2).mean(axis=0) for step in ("least-squares", "whole")]
    predicted = {level: float(np.sqrt(variances.mean())) for level, variances in mechanism.variances().items()}
    result = Errors(found, predicted, exact.sum(axis=1), np.array(away))
    _say_errors(lecture, result, mechanism)
    _say_bias(lecture, result)
    return result


def _say_errors(lecture: Lecture, found: Errors, mechanism: GaussianTopDown) -> None:
    lecture.chapter("1. Errors by level")
    lecture.say(
        f"""
        {N_PEOPLE:,} made-up people in {len(COUNTIES)} states of {sum(COUNTIES)} counties, and a table of
        {len(mechanism.plan.cells)} cells for each: relationship, age and race. At every level the table is measured,
        and its marginal by relationship and age, all of it with rho = {RHO:g}. Two things get no noise: cells where
        nobody can be (householders and partners below 15, people of no race), and the invariants (people of each
        state, householders of each county). Root mean square error of a cell, over {RUNS} releases:
        """
    )
    lecture.table(
        ["level", "noise", "least squares", "predicted", "and no negative number", "and whole"],
        [
            [
                level,
                *(f"{found.root_mean_square[step, level]:.2f}" for step in STEPS[:2]),
                f"{found.predicted[level]:.2f}",
                *(f"{found.root_mean_square[step, level]:.2f}" for step in STEPS[2:]),
            ]
            for level in LEVELS
        ],
    )


# %% [markdown]
# ## 2. Small counties grow
#
# Without negative numbers the error falls, but it is no longer the same in all directions.


# %%
def _say_bias(lecture: Lecture, found: Errors) -> None:
    order = np.argsort(found.sizes)
    lecture.chapter("2. Small counties grow")
    lecture.say(
        """
        A cell with nobody in it cannot err downwards. The smallest counties are made of such cells, and grow; as the
        totals of the states are held, large counties pay for it. Least squares alone have no bias, but tables with
        people below zero. Mean error of the number of people of a county:
        """
    )
    lecture.table(
        ["people of the county", "least squares", "whole tables"],
        [[f"{found.sizes[c]:,.0f}", *(f"{found.bias[step, c]:+.1f}" for step in (0, 1))] for c in order],
    )


# %% [markdown]
# ## 3. What the invariants give away
#
# They are published exactly: the claim holds for pairs that agree on them, and says nothing of others.


# %%
@dataclass(frozen=True)
class Audits:
    """Of pairs that agree on the invariants, and of one that does not.

    Attributes:
        kept: geometric noise, epsilon = 1, a pair that agrees.
        forgotten: the same, claimed for all pairs.
        refused: what the right claim says to that pair.
        measurements, tables: one small release, as it is measured and as it is processed.
    """

    kept: AuditResult
    forgotten: AuditResult
    refused: str
    measurements: AuditResult
    tables: AuditResult


def audits(lecture: Lecture) -> Audits:
    """Four audits, and a refusal."""
    keeps, forgets = GeometricTopDown(1.0), InvariantsForgotten(1.0)
    try:
        keeps.fitted_to(forgets.worst_case())
        refused = ""
    except NeighboursError as error:
        refused = str(error)
    kept = audit(keeps, trials=40_000, seed=SEED, confidence=0.9999)
    forgotten = audit(forgets, trials=4_000, seed=SEED, confidence=0.9999)
    lecture.chapter("3. What the invariants give away")
    lecture.say(
        f"""
        Epsilon = 1 with geometric noise. Someone who stays in a state, and does not become a householder: epsilon is at
        least {kept.bound.epsilon:.2f}, {kept.verdict.value}. Someone who becomes a householder: the published number of
        households of the county is another, and one look is enough: {forgotten.verdict.value}, by a witness. The
        mechanism itself refuses such a pair:
        """
    )
    lecture.say(refused)
    measurements, tables = (_small(view) for view in ("measurements", "tables"))
    lecture.say(
        f"""
        Tables are made of the measurements, so they cannot tell more. On a small release, of two states, three
        counties and two sexes with rho = 2, {tables.bound.n_trials:,} trials show epsilon =
        {measurements.bound.epsilon:.2f} of the measurements and {tables.bound.epsilon:.2f} of the tables, at delta
        0.01. An attack that knows the law of the measurements has no such help with the tables: what they hide may be
        the attack's fault.
        """
    )
    return Audits(kept, forgotten, refused, measurements, tables)


def _small(view: str) -> AuditResult:
    """The audit of a small release: a person who moves from one county to another of the same state."""
    mechanism = GaussianTopDown(
        2.0,
        geography=(1, 2),  # type: ignore[arg-type]
        domain={"sex": 2},  # type: ignore[arg-type]
        structural_zeros=(),
        queries=tuple(LevelQuery(level, ("sex",)) for level in ("state", "county")),
        invariants=(Invariant("state"),),
        view=view,
    )
    people = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]], 10, axis=0)
    moved = people.copy()
    moved[20] = [2, 1]
    pair = Neighbours(people, moved, mechanism.relation)
    return audit(mechanism, pair, trials=4_000, seed=SEED, delta=0.01, confidence=0.9999)


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture."""

    errors: Errors
    audits: Audits


def main(out: Path | None = None) -> Findings:
    """Tables of a census from the top down: errors by level, bias of small counties, and what invariants give away.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    found = Findings(errors(lecture), audits(lecture))
    lecture.chapter("To take home")
    lecture.say("A claim with invariants must name them: it protects nobody from what they say.")
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Two panels: errors by level, and the bias of counties against their size."""
    lecture.panels(
        "top-down",
        lambda ax: _draw_errors(ax, found.errors),
        lambda ax: _draw_bias(ax, found.errors),
        title="Tables of a census, from the top down",
        description="Left: error of a cell at each level, step by step. Right: bias of the people of a county.",
        size=(11.0, 4.4),
    )


def _draw_errors(ax: Axes, found: Errors) -> None:
    labels = []
    for place, step in enumerate(STEPS):
        values = [found.root_mean_square[step, level] for level in LEVELS]
        ax.plot(range(3), values, marker="o", color=series_colour(place).light, linewidth=1.6)
        labels.append(EndLabel(values[-1], step.replace("-", " "), series_colour(place)))
    ax.set_xticks(range(3), LEVELS)
    ax.set_xlim(-0.2, 2.2)
    ax.set_ylim(0.0, 1.15 * max(found.root_mean_square.values()))
    style_axes(ax, title="Each step of the processing", x="level", y="root mean square error of a cell (people)")
    end_labels(ax, labels)


def _draw_bias(ax: Axes, found: Errors) -> None:
    order = np.argsort(found.sizes)
    labels = []
    for place, (name, values) in enumerate(zip(("least squares", "whole"), found.bias, strict=True)):
        colour = series_colour((1, 3)[place])
        ax.plot(found.sizes[order], values[order], marker="o", color=colour.light, linewidth=1.6)
        labels.append(EndLabel(float(values[order][-1]), name, colour))
    logarithmic(ax.xaxis, found.sizes.min() / 1.3, found.sizes.max() * 1.3)
    low, high = float(found.bias.min()), float(found.bias.max())
    ax.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
    style_axes(ax, title="Counties, before and after", x="people of the county", y="mean error of this number (people)")
    end_labels(ax, labels)


# %%
if __name__ == "__main__":
    main()
