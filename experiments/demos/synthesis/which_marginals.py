# %% [markdown]
# # Which marginals leak my row?
#
# A statistics office makes synthetic data by MST: it counts every attribute, chooses pairs of attributes by the data,
# counts these too, all with noise, and draws a table from that. Everything that it knows of you went through these
# counts and through the choice of the pairs. Here is what each of them gives away of one person.
#
# Our names and the usual symbols: `standard_deviation` sigma, mu of Gaussian differential privacy 1 / sigma.

# %%
"""Which marginals leak my row: what each count of MST, and each of its choices, gives away of one person."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....audit import PairScores, audit_scores
from ....mechanisms import GaussianDP, Neighbours
from ....mechanisms.queries.domain import Domain
from ....mechanisms.relation import Relation
from ....mechanisms.synthesis import MST, Table
from ....mechanisms.synthesis.selection import spanning_trees
from ...plots.style.canvas import style_axes
from ...plots.style.palette import AMBER, BLUE, GREEN
from ..lecture import Lecture

SEED = 2021
N_PEOPLE = 400
N_RUNS = 10_000
DOMAIN = Domain.of({"sex": 2, "age": 4, "school": 3, "job": 4, "income": 2})
YOU = np.array([[1, 0, 2, 3, 1]])
"""A young woman with a degree, in a rare job, with a high income."""
SELECTION = MST(rho=1.0)
DELTA = 0.1
"""Where the bounds are read: a mu of 0.4 has there an epsilon well above zero."""


def people() -> NDArray[np.int64]:
    """The others: older people have been to school longer, and have better jobs and incomes."""
    rng = np.random.default_rng(SEED)
    sex, age = rng.integers(0, 2, N_PEOPLE), rng.choice(4, N_PEOPLE, p=[0.3, 0.3, 0.25, 0.15])
    school = np.minimum(2, rng.binomial(2, 0.15 + 0.2 * age))
    job = np.minimum(3, rng.poisson(0.3 + 0.6 * school))
    income = rng.random(N_PEOPLE) < 0.1 + 0.2 * job
    return np.column_stack([sex, age, school, job, income])


@dataclass(frozen=True, eq=False)
class Part:
    """One thing that is published.

    Args:
        name: the attributes, or the choice.
        measured: how often it is measured without and with the record.
        mu: of its noise where it is measured, exactly; NaN for the choice.
        audited: lower bound on that from the cell of the record, given that it was measured (the noise does not depend
            on that); NaN where too few runs measured it.
        information: what it gives away on average: mean log likelihood ratio with the record, in nats.
        others: other people in the cell of the record.
    """

    name: str
    measured: tuple[float, float]
    mu: float
    audited: float
    information: float
    others: int


# %% [markdown]
# ## 1. Where the record goes
#
# The record stands in one cell of each marginal, and raises its count by one. The log likelihood ratio of all that is
# published is the sum of those of its parts, so that its mean with the record is the sum of theirs:
#
#     sum over attributes 1 / (2 sigma^2)  +  that of the choices  +  sum over pairs Pr[chosen] / (2 sigma^2)


# %%
def parts() -> list[Part]:
    """What each attribute, the choice, and each pair give away."""
    pair = Neighbours(people(), np.concatenate([people(), YOU]), Relation.ADD_REMOVE)
    tables = [Table.of(DOMAIN, pair.side(side)) for side in (0, 1)]
    noise, candidates = SELECTION.noise(DOMAIN), SELECTION.candidates(DOMAIN)
    d = len(DOMAIN.names)
    sides = []
    for side, table in enumerate(tables):
        rng = np.random.default_rng([SEED, side])
        sides.append(_runs(table, rng))
    found = []
    for place, names in enumerate(candidates):
        cell = int(DOMAIN.cells(YOU, names)[0])
        deviation = noise.one_way if place < d else noise.two_way
        seen = [side[place][side[place][:, cell] != 0.0, cell] for side in sides]
        often = (len(seen[0]) / N_RUNS, len(seen[1]) / N_RUNS)
        information = often[1] / (2.0 * deviation**2)
        others = int(tables[0].marginal(names)[cell])
        found.append(Part(" x ".join(names), often, 1.0 / deviation, _audited(seen, deviation), information, others))
    choice = Part("choice of the pairs", (1.0, 1.0), math.nan, math.nan, _choice(tables), 0)
    return [*found[:d], choice, *found[d:]]


def _runs(table: Table, rng: np.random.Generator) -> list[NDArray[np.float64]]:
    """The noisy counts of each candidate in each run, zeros where it was not measured."""
    measured = SELECTION.measure(table, None, N_RUNS, rng)  # type: ignore[arg-type]
    shown = SELECTION.transcript(DOMAIN, measured, N_RUNS)
    sizes = [DOMAIN.project(one).n_cells for one in SELECTION.candidates(DOMAIN)]
    n_pairs = len(sizes) - len(DOMAIN.names)
    return np.split(shown[:, n_pairs:], np.cumsum(sizes)[:-1], axis=1)


def _choice(tables: list[Table]) -> float:
    """Mean log ratio of the probabilities of the tree, given the noisy attributes, with the record."""
    rng, noise = np.random.default_rng([SEED, 2]), SELECTION.noise(DOMAIN)
    alone = [tables[1].marginal((n,)) + noise.one_way * rng.standard_normal((N_RUNS, k)) for n, k in DOMAIN.attributes]
    scores = [SELECTION.model(alone, table).scores(table) for table in tables]
    chosen = SELECTION.choose(scores[1], noise.rate, rng)
    out, in_ = (spanning_trees.log_probability(one, chosen, noise.rate) for one in scores)
    return float(np.mean(in_ - out))


def _audited(seen: list[NDArray[np.float64]], deviation: float) -> float:
    """The mu that goes with the epsilon that the counts of the cell show at DELTA, with 95 % confidence."""
    if min(map(len, seen)) < N_RUNS // 5:
        return math.nan
    bound = audit_scores(PairScores(*seen), claim=GaussianDP(1.0 / deviation), delta=DELTA).bound.epsilon
    low, high = 0.0, 10.0
    while high - low > 1e-4:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if GaussianDP(middle).epsilon(DELTA) <= bound else (low, middle)
    return low


def where_it_goes(lecture: Lecture) -> list[Part]:
    """The table of all parts."""
    found = parts()
    lecture.chapter("1. Where the record goes")
    lecture.say(
        f"""
        {N_PEOPLE} people and you: {", ".join(DOMAIN.names)}. MST with rho 1 counts the attributes, chooses four of the
        ten pairs, and counts these. In each marginal you raise one count by one:
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
        for part in found
    ]
    heads = [
        "published",
        "measured without / with you",
        "mu if measured",
        "mu shown",
        "nats given away",
        "others in your cell",
    ]
    lecture.table(heads, rows)
    total = sum(part.information for part in found)
    choice = next(part for part in found if part.name.startswith("choice"))
    lecture.say(
        f"""
        The second column is how often the marginal was measured. "Mu" is that of Gaussian differential privacy, and "mu
        shown" the lower bound of an audit of the noisy count of your cell, with 95 % confidence for each marginal.
        "Nats" are the mean log likelihood ratio of what is published, with you against without. Only runs that measured
        the marginal have such a count, so that bound, like the mu beside it, is about these runs alone: how well the
        count tells you, once it is there. It says nothing of the runs that did not measure it, nor of what the choice
        of the pairs gives away by itself; that has its own row. Where fewer than a fifth of the runs measured it, none
        is shown.

        In all {total:.3f} nats, at most the rho of 1 that was promised. Every measured marginal has the same noise, and
        so gives away the same; what differs is how often it is measured. The choice of the pairs gives away
        {choice.information / total:.1%}: it was paid for with a third of the budget, and one record among {N_PEOPLE}
        rarely turns it.
        """
    )
    return found


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture."""

    parts: list[Part]


def main(out: Path | None = None) -> Findings:
    """Which marginals leak my row: what each count and each choice of MST gives away of one person.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    found = Findings(where_it_goes(lecture))
    lecture.chapter("To take home")
    lecture.say(
        """
        A table drawn from these counts can give away no more than they do. Who may see the counts, sees you best in the
        marginals that are measured most often; being alone in a cell changes nothing about that, since noise does not
        ask how many others there are.
        """
    )
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Two panels: what each part gives away, and how often each pair is measured without and with the record."""
    lecture.panels(
        "which-marginals",
        lambda ax: _draw_information(ax, found.parts),
        lambda ax: _draw_pairs(ax, found.parts),
        title="Which marginals leak my row",
        description="Left: mean log likelihood ratio of each part. Right: how often each pair is measured.",
        size=(11.0, 5.0),
    )


def _draw_information(ax: Axes, found: list[Part]) -> None:
    colours = [AMBER.light if math.isnan(part.mu) else BLUE.light for part in found]
    ax.barh([part.name for part in found], [part.information for part in found], color=colours)
    ax.invert_yaxis()
    style_axes(ax, title="What each part gives away", x="mean log likelihood ratio (nats)", y="published")


def _draw_pairs(ax: Axes, found: list[Part]) -> None:
    pairs = [part for part in found if " x " in part.name]
    places = np.arange(len(pairs))
    for side, (colour, label) in enumerate(((BLUE, "without the record"), (GREEN, "with it"))):
        values = [part.measured[side] for part in pairs]
        ax.barh(places + 0.4 * side - 0.2, values, height=0.4, color=colour.light, label=label)
    ax.set_yticks(places, [part.name for part in pairs])
    ax.invert_yaxis()
    style_axes(ax, title="How often each pair is measured", x="share of runs", y="pair of attributes")


# %%
if __name__ == "__main__":
    main()
