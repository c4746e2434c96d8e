# %% [markdown]
# # Which marginals leak my row?
#
# A statistics office generates synthetic data by MST: it counts every attribute, selects pairs of attributes depending
# on the data, counts these as well, all with noise, and draws a table from the counts. The output depends on your
# record only through these counts and the selection of the pairs. This demo measures the leak of each of them.
#
# Names and symbols: `standard_deviation` sigma, mu of Gaussian differential privacy 1 / sigma.

# %%
"""Privacy loss of one person in each noisy marginal of MST, and in its selection of pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....audit import PairScores, audit_scores
from ....mechanisms import GaussianDP, Neighbours
from ....mechanisms.core.relation import Relation
from ....mechanisms.noise.queries.domain import Domain
from ....mechanisms.synthetic_data import MST, CodedTable
from ....mechanisms.synthetic_data.selection import spanning_trees
from ...report.plots.style import AMBER, BLUE, GREEN, style_axes
from ..demo import Demo

SEED = 2021
N_PEOPLE = 400
N_RUNS = 10_000
DOMAIN = Domain.of({"sex": 2, "age": 4, "school": 3, "job": 4, "income": 2})
YOU = np.array([[1, 0, 2, 3, 1]])
"""A young woman with a degree, in a rare job, with a high income."""
SELECTION = MST(rho=1.0)
DELTA = 0.1
"""Delta of the bounds, at which a mu of 0.4 has an epsilon well above zero."""


def people() -> NDArray[np.int64]:
    """Return the other people: schooling depends on age, jobs on schooling, and incomes on jobs."""
    rng = np.random.default_rng(SEED)
    sex, age = rng.integers(0, 2, N_PEOPLE), rng.choice(4, N_PEOPLE, p=[0.3, 0.3, 0.25, 0.15])
    school = np.minimum(2, rng.binomial(2, 0.15 + 0.2 * age))
    job = np.minimum(3, rng.poisson(0.3 + 0.6 * school))
    income = rng.random(N_PEOPLE) < 0.1 + 0.2 * job
    return np.column_stack([sex, age, school, job, income])


@dataclass(frozen=True, eq=False)
class Part:
    """One part of the published transcript.

    Args:
        name: the attributes, or the selection.
        measured: shares of runs that measure the part, without and with the record.
        mu: exact mu of its noise if it is measured; NaN for the selection.
        audited: lower bound on mu from the count of the record's cell, given that the part was measured (the noise is
            independent of this event); NaN if too few runs measured it.
        information: mean log likelihood ratio with the record, in nats.
        others: number of other people in the cell of the record.
    """

    name: str
    measured: tuple[float, float]
    mu: float
    audited: float
    information: float
    others: int


# %% [markdown]
# ## 1. Contribution of each part
#
# The record is in one cell of each marginal, and increases its count by one. The log likelihood ratio of the transcript
# is the sum over its parts, and so is its mean with the record:
#
#     sum over attributes 1 / (2 sigma^2)  +  selection of the pairs  +  sum over pairs Pr[selected] / (2 sigma^2)


# %%
def parts() -> list[Part]:
    """Return the privacy loss of each attribute, of the selection, and of each pair."""
    pair = Neighbours(people(), np.concatenate([people(), YOU]), Relation.ADD_REMOVE)
    tables = [CodedTable.of(DOMAIN, pair.side(side)) for side in (0, 1)]
    noise, candidates = SELECTION.noise(DOMAIN), SELECTION.candidates(DOMAIN)
    d = len(DOMAIN.names)
    sides = []
    for side, table in enumerate(tables):
        rng = np.random.default_rng([SEED, side])
        sides.append(_runs(table, rng))
    published = []
    for place, names in enumerate(candidates):
        cell = int(DOMAIN.cells(YOU, names)[0])
        deviation = noise.one_way if place < d else noise.two_way
        counts = [side[place][side[place][:, cell] != 0.0, cell] for side in sides]
        measured = (len(counts[0]) / N_RUNS, len(counts[1]) / N_RUNS)
        information = measured[1] / (2.0 * deviation**2)
        others = int(tables[0].marginal(names)[cell])
        lower_bound = _audited(counts, deviation)
        published.append(Part(" x ".join(names), measured, 1.0 / deviation, lower_bound, information, others))
    choice = Part("choice of the pairs", (1.0, 1.0), math.nan, math.nan, _choice(tables), 0)
    return [*published[:d], choice, *published[d:]]


def _runs(table: CodedTable, rng: np.random.Generator) -> list[NDArray[np.float64]]:
    """Return the noisy counts of each candidate in each run, zeros if it was not measured."""
    measured = SELECTION.measure(table, None, N_RUNS, rng)  # type: ignore[arg-type]
    transcript = SELECTION.transcript(DOMAIN, measured, N_RUNS)
    sizes = [DOMAIN.project(names).n_cells for names in SELECTION.candidates(DOMAIN)]
    n_pairs = len(sizes) - len(DOMAIN.names)
    return np.split(transcript[:, n_pairs:], np.cumsum(sizes)[:-1], axis=1)


def _choice(tables: list[CodedTable]) -> float:
    """Return the mean log ratio of the probabilities of the tree given the noisy attributes, with the record."""
    rng, noise = np.random.default_rng([SEED, 2]), SELECTION.noise(DOMAIN)
    one_way = [
        tables[1].marginal((n,)) + noise.one_way * rng.standard_normal((N_RUNS, k)) for n, k in DOMAIN.attributes
    ]
    scores = [SELECTION.model(one_way, table).scores(table) for table in tables]
    chosen = SELECTION.choose(scores[1], noise.rate, rng)
    out, in_ = (spanning_trees.log_probability(side_scores, chosen, noise.rate) for side_scores in scores)
    return float(np.mean(in_ - out))


def _audited(counts: list[NDArray[np.float64]], deviation: float) -> float:
    """Return the lower bound on mu from the counts of the cell, by the epsilon at DELTA, with 95 % confidence."""
    if min(map(len, counts)) < N_RUNS // 5:
        return math.nan
    bound = audit_scores(PairScores(*counts), claim=GaussianDP(1.0 / deviation), delta=DELTA).bound.epsilon
    low, high = 0.0, 10.0
    while high - low > 1e-4:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if GaussianDP(middle).epsilon(DELTA) <= bound else (low, middle)
    return low


def where_it_goes(demo: Demo) -> list[Part]:
    """Print the table of all parts, and return them."""
    published = parts()
    demo.chapter("1. Contribution of each part")
    demo.say(
        f"""
        {N_PEOPLE} people and you: {", ".join(DOMAIN.names)}. MST with rho 1 counts the attributes, selects four of the
        ten pairs, and counts these. Your record increases one count of each marginal by one:
        """
    )
    rows = [
        [
            part.name,
            f"{part.measured[0]:.0%} / {part.measured[1]:.0%}",
            "" if math.isnan(part.mu) else f"{part.mu:.3f}",
            "" if math.isnan(part.audited) else f"{part.audited:.3f}",
            f"{part.information:.4f}",
            "" if math.isnan(part.mu) else f"{part.others}",
        ]
        for part in published
    ]
    heads = [
        "published",
        "measured without / with you",
        "mu if measured",
        "lower bound on mu",
        "information (nats)",
        "others in your cell",
    ]
    demo.table(heads, rows)
    total = sum(part.information for part in published)
    choice = next(part for part in published if part.name.startswith("choice"))
    demo.say(
        f"""
        The second column is the share of runs that measured the marginal. "Mu" is the parameter of Gaussian
        differential privacy, with a lower bound from an audit of the noisy count of your cell, with 95 % confidence for
        each marginal. "Information" is the mean log likelihood ratio of the published part, with against without your
        record. Mu and its lower bound are conditional on the event that the marginal was measured: they do not cover
        the other runs, nor the leak through the choice of the pairs, which has a separate row. There is no lower bound
        if fewer than a fifth of the runs measured the marginal.

        The total is {total:.3f} nats, at most the guaranteed rho of 1. Measured marginals with the same number of
        attributes have the same noise and the same leak; only the probability of their measurement differs. The choice
        of the pairs contributes
        {choice.information / total:.1%}: it uses a third of the budget, but one record among {N_PEOPLE} rarely
        changes it.
        """
    )
    return published


# %%
@dataclass(frozen=True)
class WhichMarginalsFindings:
    """Results of the demo."""

    parts: list[Part]


def main(out: Path | None = None) -> WhichMarginalsFindings:
    """Run the demo: the privacy loss of one person in each noisy marginal of MST, and in its selection of pairs.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    findings = WhichMarginalsFindings(where_it_goes(demo))
    demo.chapter("Conclusion")
    demo.say(
        """
        By post-processing, a table drawn from these counts leaks no more than the counts. The counts that are measured
        most often leak most. The number of other people in a cell makes no difference, since the noise does not depend
        on it.
        """
    )
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: WhichMarginalsFindings) -> None:
    """Draw two panels: information of each part, and share of runs that measure each pair, by side."""
    demo.panels(
        "which-marginals",
        lambda ax: _draw_information(ax, findings.parts),
        lambda ax: _draw_pairs(ax, findings.parts),
        title="Which marginals leak my row",
        description="Left: mean log likelihood ratio of each part. Right: share of runs that measure each pair.",
        size=(11.0, 5.0),
    )


def _draw_information(ax: Axes, published: list[Part]) -> None:
    colours = [AMBER.light if math.isnan(part.mu) else BLUE.light for part in published]
    ax.barh([part.name for part in published], [part.information for part in published], color=colours)
    ax.invert_yaxis()
    style_axes(ax, title="Information of each part", x="mean log likelihood ratio (nats)", y="published")


def _draw_pairs(ax: Axes, published: list[Part]) -> None:
    pairs = [part for part in published if " x " in part.name]
    places = np.arange(len(pairs))
    for side, (colour, label) in enumerate(((BLUE, "without the record"), (GREEN, "with it"))):
        values = [part.measured[side] for part in pairs]
        ax.barh(places + 0.4 * side - 0.2, values, height=0.4, color=colour.light, label=label)
    ax.set_yticks(places, [part.name for part in pairs])
    ax.invert_yaxis()
    style_axes(ax, title="Measured pairs", x="share of runs", y="pair of attributes")


# %%
if __name__ == "__main__":
    main()
