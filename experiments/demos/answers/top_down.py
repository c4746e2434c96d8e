# %% [markdown]
# # Census tables by a top-down algorithm
#
# A nation, its states and their counties: noisy counts at every level, processed to consistent integer tables. This
# demo shows the errors, the bias of the processing, and what the exactly published invariants leak.

# %%
"""TopDown on a synthetic nation: errors by level, bias of small counties, and the leak through invariants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....audit import AuditResult, audit
from ....mechanisms import Neighbours
from ....mechanisms.broken.query_release import InvariantsIgnored
from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.errors import NeighboursError
from ....mechanisms.query_release.top_down import LEVELS, GaussianTopDown, GeometricTopDown, Invariant, LevelQuery
from ...data.people import place_sizes
from ...report.plots.style import EndLabel, end_labels, logarithmic, series_colour, style_axes
from ..demo import Demo

SEED = 2020
COUNTIES = (5, 4, 3)
"""Number of counties of each state."""
N_PEOPLE = 20_000
SPREAD = 1.9
"""Standard deviation of the logarithm of the sizes of the counties."""
RHO = 0.1
RUNS = 100
STEPS = ("noise", "least-squares", "non-negative", "whole")
ADULTS = ((0.50, 0.28, 0.22), (0.62, 0.26, 0.12))
"""Shares of householders, partners and others among people from 15 to 64, and among older people."""


def nation() -> NDArray[np.int64]:
    """Return synthetic people: county, relationship, age, and two flags of race."""
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
# The noise is the same at every level, but the counts differ. Least squares combine the information of all levels.


# %%
@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of the cells of the tables.

    Attributes:
        root_mean_square: (step, level) -> root mean square error of a cell.
        predicted: level -> predicted error of least squares.
        sizes: number of people of each county.
        bias: mean error of the number of people of each county, for least squares and integer tables,
            `(2, n_counties)`.
    """

    root_mean_square: dict[tuple[str, str], float]
    predicted: dict[str, float]
    sizes: Floats
    bias: Floats


def errors(demo: Demo) -> Errors:
    """Measure the errors of the tables over `RUNS` releases."""
    people = nation()
    mechanism = GaussianTopDown(RHO, geography=COUNTIES)  # type: ignore[arg-type]
    outputs = mechanism.release(people, RUNS, np.random.default_rng(SEED)).values.astype(np.float64)
    exact = mechanism.plan.counts(people)
    answers, _ = mechanism.plan.split(outputs)
    detail = dict(zip((query.level for query in mechanism.queries[1::2]), answers[1::2], strict=True))
    tables = {step: mechanism.post_processing.tables(outputs, step=step) for step in STEPS[1:]} | {"noise": detail}
    truth = {level: mechanism.geography.sums(exact, "county", level) for level in LEVELS}
    root_mean_square = {
        (step, level): float(np.sqrt(((tables[step][level] - truth[level]) ** 2).mean()))
        for step in STEPS
        for level in LEVELS
    }
    bias = [(tables[step]["county"] - exact).sum(axis=2).mean(axis=0) for step in ("least-squares", "whole")]
    predicted = {level: float(np.sqrt(variances.mean())) for level, variances in mechanism.variances().items()}
    result = Errors(root_mean_square, predicted, exact.sum(axis=1), np.array(bias))
    _print_errors(demo, result, mechanism)
    _print_bias(demo, result)
    return result


def _print_errors(demo: Demo, errors: Errors, mechanism: GaussianTopDown) -> None:
    demo.chapter("1. Errors by level")
    demo.say(
        f"""
        {N_PEOPLE:,} synthetic people in {len(COUNTIES)} states with {sum(COUNTIES)} counties, and a table of
        {len(mechanism.plan.cells)} cells for each county: relationship, age and race. The mechanism measures the table
        and its marginal by relationship and age at every level, with rho = {RHO:g} in total. Two kinds of cells have no
        noise: structural zeros (householders and partners below 15, people of no race), and the invariants (people of
        each state, householders of each county). Root mean square error of a cell, over {RUNS} releases:
        """
    )
    demo.table(
        ["level", "noise", "least squares", "predicted", "non-negative", "integer"],
        [
            [
                level,
                *(f"{errors.root_mean_square[step, level]:.2f}" for step in STEPS[:2]),
                f"{errors.predicted[level]:.2f}",
                *(f"{errors.root_mean_square[step, level]:.2f}" for step in STEPS[2:]),
            ]
            for level in LEVELS
        ],
    )


# %% [markdown]
# ## 2. Bias of small counties
#
# Non-negative counts have a smaller error, but they are biased.


# %%
def _print_bias(demo: Demo, errors: Errors) -> None:
    order = np.argsort(errors.sizes)
    demo.chapter("2. Bias of small counties")
    demo.say(
        """
        The error of an empty cell cannot be negative. The smallest counties consist of such cells, and have a positive
        bias; as the totals of the states are invariant, large counties have a negative bias. Least squares alone are
        unbiased, but give negative counts. Mean error of the number of people of a county:
        """
    )
    demo.table(
        ["people of the county", "least squares", "integer tables"],
        [[f"{errors.sizes[c]:,.0f}", *(f"{errors.bias[step, c]:+.1f}" for step in (0, 1))] for c in order],
    )


# %% [markdown]
# ## 3. The leak through invariants
#
# Invariants are published exactly: the claim holds only for pairs of datasets with equal invariants.


# %%
@dataclass(frozen=True)
class Audits:
    """Audits of pairs with equal invariants, and of one pair with different invariants.

    Attributes:
        kept: geometric noise, epsilon = 1, a pair with equal invariants.
        forgotten: the same noise, with a claim for all pairs.
        refused: error message of the correct mechanism for a pair with different invariants.
        measurements, tables: audits of the measurements and of the processed tables of a small release.
    """

    kept: AuditResult
    forgotten: AuditResult
    refused: str
    measurements: AuditResult
    tables: AuditResult


def audits(demo: Demo) -> Audits:
    """Run four audits, and show the rejection of a pair."""
    keeps, forgets = GeometricTopDown(1.0), InvariantsIgnored(1.0)
    try:
        keeps.bind(forgets.worst_case())
        refused = ""
    except NeighboursError as error:
        refused = str(error)
    kept = audit(keeps, trials=40_000, seed=SEED, confidence=0.9999)
    forgotten = audit(forgets, trials=4_000, seed=SEED, confidence=0.9999)
    demo.chapter("3. The leak through invariants")
    demo.say(
        f"""
        Epsilon = 1 with geometric noise. For a person who stays in a state and does not become a householder, the lower
        bound is {kept.bound.epsilon:.2f}: {kept.verdict.value}. If the person becomes a householder, the published
        number of households of the county changes, and one output shows it: {forgotten.verdict.value}, by a witness.
        The correct mechanism rejects such a pair:
        """
    )
    demo.say(refused)
    measurements, tables = (_small(view) for view in ("measurements", "tables"))
    demo.say(
        f"""
        Tables are computed from the measurements, so they cannot leak more. On a small release of two states, three
        counties and two sexes with rho = 2, the lower bound of {tables.bound.n_trials:,} trials at delta 0.01 is
        {measurements.bound.epsilon:.2f} for the measurements and {tables.bound.epsilon:.2f} for the tables. The attack
        on the measurements uses their exact distribution, which is unknown for the tables: the smaller bound may be due
        to a weaker attack.
        """
    )
    return Audits(kept, forgotten, refused, measurements, tables)


def _small(view: str) -> AuditResult:
    """Return the audit of a small release, for a person who moves to another county of the same state."""
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
class TopDownFindings:
    """Results of the demo."""

    errors: Errors
    audits: Audits


def main(out: Path | None = None) -> TopDownFindings:
    """Run the demo: errors by level, bias of small counties, and the leak through invariants.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    findings = TopDownFindings(errors(demo), audits(demo))
    demo.chapter("Conclusion")
    demo.say("A claim with invariants must state them: it does not protect the information that they contain.")
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: TopDownFindings) -> None:
    """Draw two panels: errors by level, and the bias of counties against their size."""
    demo.panels(
        "top-down",
        lambda ax: _draw_errors(ax, findings.errors),
        lambda ax: _draw_bias(ax, findings.errors),
        title="Census tables by a top-down algorithm",
        description="Left: error of a cell at each level, after each step. Right: bias of the number of people of a "
        "county.",
        size=(11.0, 4.4),
    )


def _draw_errors(ax: Axes, errors: Errors) -> None:
    labels = []
    for place, step in enumerate(STEPS):
        values = [errors.root_mean_square[step, level] for level in LEVELS]
        ax.plot(range(3), values, marker="o", color=series_colour(place).light, linewidth=1.6)
        labels.append(EndLabel(values[-1], step.replace("-", " "), series_colour(place)))
    ax.set_xticks(range(3), LEVELS)
    ax.set_xlim(-0.2, 2.2)
    ax.set_ylim(0.0, 1.15 * max(errors.root_mean_square.values()))
    style_axes(ax, title="Error after each processing step", x="level", y="root mean square error of a cell (people)")
    end_labels(ax, labels)


def _draw_bias(ax: Axes, errors: Errors) -> None:
    order = np.argsort(errors.sizes)
    labels = []
    for place, (name, values) in enumerate(zip(("least squares", "integer"), errors.bias, strict=True)):
        colour = series_colour((1, 3)[place])
        ax.plot(errors.sizes[order], values[order], marker="o", color=colour.light, linewidth=1.6)
        labels.append(EndLabel(float(values[order][-1]), name, colour))
    logarithmic(ax.xaxis, errors.sizes.min() / 1.3, errors.sizes.max() * 1.3)
    low, high = float(errors.bias.min()), float(errors.bias.max())
    ax.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
    style_axes(ax, title="Bias of county totals", x="people of the county", y="mean error of this number (people)")
    end_labels(ax, labels)


# %%
if __name__ == "__main__":
    main()
