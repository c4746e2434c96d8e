# %% [markdown]
# # Five marginals of a census
#
# Synthetic data in three steps: five tables of counts are chosen, noise is added to each count, and a table of records
# is made that explains the noisy counts. Only the second step touches the data, and so only it costs privacy. The data
# are the census of 1994 where the data directory has it ("adult" of `dpassay list datasets`), else a made-up one.
#
# Our names and the usual symbols: `standard_deviation` sigma, `fitted` P_theta.

# %%
"""Five noisy marginals of a census, synthetic records made from them, their errors, and what an audit shows of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy.optimize import brentq

from ....audit import audit
from ....mechanisms import GaussianDP
from ....mechanisms.records import remove_record
from ....mechanisms.relation import Relation
from ....mechanisms.synthesis import GraphicalModel, SelectMeasureGenerate, Table
from ...plots.style.canvas import logarithmic, style_axes
from ...plots.style.palette import AMBER, BLUE
from ..lecture import Lecture
from .generators.census import ADULT, FIVE, census

SEED = 2019
N_DRAWS = 10
"""Draws of the noise that errors are averaged over."""
NOT_MEASURED = (("sex", "income>50K"), ("education-num", "occupation"))
NOISES = (50.0, 4.97)
"""Standard deviations of a count: that of the example, and one at which mu is 0.45."""
DELTA = 1e-6


def error(found: NDArray[np.float64], exact: NDArray[np.float64]) -> float:
    """Sum of absolute differences of the cells, as a share of the records: 0 is exact, 2 is all wrong; mean of runs."""
    return float(np.abs(found - exact).sum(axis=-1).mean() / exact.sum())


# %% [markdown]
# ## 1. What it costs
#
# One record is in one cell of each of the five tables: added or removed, it moves five counts by one.


# %%
def cost(lecture: Lecture) -> dict[str, tuple[float, float, float]]:
    """rho, textbook and exact epsilon of each relation."""
    found = {}
    for relation in ("add_remove", "replace_one"):
        chosen = replace(FIVE, relation=Relation.of(relation))
        claim = chosen.concentrated(ADULT)
        found[relation] = (claim.rho, claim.textbook_epsilon(DELTA), chosen.guarantee(ADULT).epsilon(DELTA))
    lecture.chapter("1. What it costs")
    lecture.say(
        f"""
        Five marginals of 14 attributes; every count gets Gaussian noise of standard deviation {NOISES[0]:g}.
        Concentrated DP, its textbook epsilon at delta = {DELTA:g}, and the exact one:
        """
    )
    rows = [[relation, f"{rho:.4f}", f"{book:.5f}", f"{exact:.5f}"] for relation, (rho, book, exact) in found.items()]
    lecture.table(["relation", "rho", "textbook epsilon", "exact epsilon"], rows)
    return found


# %% [markdown]
# ## 2. What it is worth
#
# The fitted distribution is nearer to the truth than the answers that it was fitted to: noise that no distribution has
# is projected away. What was not measured is as good as independence given what was.


# %%
def worth(lecture: Lecture, table: Table) -> dict[tuple[str, ...], tuple[float, float]]:
    """Error of each marginal as measured (NaN where it was not) and as fitted."""
    rng = np.random.default_rng(SEED)
    generator = GraphicalModel()
    measured = FIVE.measure(table, generator, N_DRAWS, rng)
    fitted = generator.fit(ADULT, measured, rng)
    answers = {one.attributes: one.answers for one in measured}
    found: dict[tuple[str, ...], tuple[float, float]] = {}
    for names in (*FIVE.marginals, *NOT_MEASURED):
        exact = table.marginal(names)
        before = error(answers[names], exact) if names in answers else float("nan")
        found[names] = (before, error(fitted.marginal(names), exact))
    lecture.chapter("2. What it is worth")
    lecture.say("Error of a marginal: sum of absolute differences of its counts / number of records.")
    rows = [
        [", ".join(names), "-" if before != before else f"{before:.4f}", f"{after:.4f}"]
        for names, (before, after) in found.items()
    ]
    lecture.table(["marginal", "as measured", "as fitted"], rows)
    return found


# %% [markdown]
# ## 3. What it shows
#
# The noisy counts of the record's five cells, with the record and without it: the likelihood ratio of the rest is 1.


# %%
def shown(lecture: Lecture, table: Table) -> dict[float, tuple[float, float]]:
    """mu of the claim, and the lower bound on it, for two noises."""
    pair = remove_record(table.records, 0)
    found = {}
    for noise, trials in zip(NOISES, (1_000_000, 100_000), strict=True):
        mechanism = SelectMeasureGenerate(ADULT, replace(FIVE, standard_deviation=noise), GraphicalModel())
        result = audit(mechanism, pair, bound="accountant-family", trials=trials, delta=DELTA, seed=SEED)
        found[noise] = (math.sqrt(len(FIVE.marginals)) / noise, mu_of(result.bound.epsilon))
    lecture.chapter("3. What the measurements show")
    lecture.say(
        """
        Who sees the noisy counts, and knows everybody but one person, shows so much of the claim mu = sqrt(5) / noise,
        with 95 % confidence:
        """
    )
    rows = [[f"{noise:g}", f"{mu:.4f}", f"{bound:.4f}", f"{bound / mu:.0%}"] for noise, (mu, bound) in found.items()]
    lecture.table(["noise", "mu", "mu at least", "of the claim"], rows)
    return found


def mu_of(epsilon: float) -> float:
    """mu of the Gaussian curve that has this epsilon at DELTA."""
    return 0.0 if epsilon <= 0.0 else float(brentq(lambda mu: GaussianDP(mu).epsilon(DELTA) - epsilon, 1e-6, 20.0))


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture, and what the data were."""

    data: str
    cost: dict[str, tuple[float, float, float]]
    worth: dict[tuple[str, ...], tuple[float, float]]
    shown: dict[float, tuple[float, float]]


def main(out: Path | None = None) -> Findings:
    """Five noisy marginals of a census: their price, synthetic data made from them, and what an audit shows.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    name, table = census()
    lecture.say(f"The data: {name}, {len(table):,} records of {len(ADULT.names)} attributes.")
    found = Findings(name, cost(lecture), worth(lecture, table), shown(lecture, table))
    lecture.chapter("To take home")
    lecture.say("What is measured costs; what is made of it is free, and may even be nearer to the truth.")
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Errors of the marginals, as measured and as fitted."""
    lecture.panels(
        "five-marginals",
        lambda ax: _draw_errors(ax, found.worth),
        title="Five marginals of a census",
        description="Error of each marginal as measured and as fitted; the last two were not measured.",
        size=(9.0, 4.2),
    )


def _draw_errors(ax: Axes, found: dict[tuple[str, ...], tuple[float, float]]) -> None:
    places = np.arange(len(found))
    before, after = np.array(list(found.values())).T
    ax.plot(
        before, places, marker="o", markersize=10, fillstyle="none", linewidth=0, color=AMBER.light, label="as measured"
    )
    ax.plot(after, places, marker="s", markersize=4, linewidth=0, color=BLUE.light, label="as fitted")
    ax.set_yticks(places, [", ".join(names) for names in found])
    ax.invert_yaxis()
    logarithmic(ax.xaxis, 0.005, 1.0)
    style_axes(ax, title="Fitting takes noise off", x="error: sum of differences of counts / records", y="")


# %%
if __name__ == "__main__":
    main()
