# %% [markdown]
# # Five marginals of a census
#
# Synthetic data in three steps: five marginals are selected, noise is added to each count, and a table of records is
# generated that fits the noisy counts. Only the second step uses the data, so only it has a privacy loss. The data are
# the census of 1994 if it is in the data directory ("adult" of `dpassay list datasets`), else a synthetic census.
#
# Names and symbols: `standard_deviation` sigma, `fitted` P_theta.

# %%
"""Five noisy marginals of a census: privacy loss, errors of the marginals and of synthetic records, and an audit."""

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
from ....mechanisms.core.records import remove_record
from ....mechanisms.core.relation import Relation
from ....mechanisms.synthetic_data import CodedTable, GraphicalModel, SelectMeasureGenerate
from ...data.adult import ADULT, FIVE, census
from ...report.plots.style import AMBER, BLUE, logarithmic, style_axes
from ..demo import Demo

SEED = 2019
N_DRAWS = 10
"""Number of draws of the noise over which errors are averaged."""
NOT_MEASURED = (("sex", "income>50K"), ("education-num", "occupation"))
NOISES = (50.0, 4.97)
"""Standard deviations of the noise of a count: 50, and the value for which mu is 0.45."""
DELTA = 1e-6


def error(counts: NDArray[np.float64], exact: NDArray[np.float64]) -> float:
    """Return the L1 error of the cells divided by the number of records, from 0 (exact) to 2; mean over runs."""
    return float(np.abs(counts - exact).sum(axis=-1).mean() / exact.sum())


# %% [markdown]
# ## 1. Privacy loss
#
# One record is in one cell of each of the five tables: adding or removing it changes five counts by one.


# %%
def cost(demo: Demo) -> dict[str, tuple[float, float, float]]:
    """Return rho, textbook epsilon and exact epsilon of each relation."""
    by_relation = {}
    for relation in ("add_remove", "replace_one"):
        chosen = replace(FIVE, relation=Relation.of(relation))
        claim = chosen.concentrated(ADULT)
        by_relation[relation] = (claim.rho, claim.textbook_epsilon(DELTA), chosen.guarantee(ADULT).epsilon(DELTA))
    demo.chapter("1. Privacy loss")
    demo.say(
        f"""
        Five marginals of 14 attributes; every count gets Gaussian noise of standard deviation {NOISES[0]:g}.
        The rho of concentrated DP, its textbook epsilon at delta = {DELTA:g}, and the exact epsilon:
        """
    )
    rows = [
        [relation, f"{rho:.4f}", f"{book:.5f}", f"{exact:.5f}"] for relation, (rho, book, exact) in by_relation.items()
    ]
    demo.table(["relation", "rho", "textbook epsilon", "exact epsilon"], rows)
    return by_relation


# %% [markdown]
# ## 2. Errors
#
# The fitted distribution has smaller errors than the noisy answers: fitting removes noise that is inconsistent with
# every distribution. Marginals that were not measured are inferred under conditional independence.


# %%
def worth(demo: Demo, table: CodedTable) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return the error of each marginal as measured (NaN if it was not measured) and as fitted."""
    rng = np.random.default_rng(SEED)
    generator = GraphicalModel()
    measured = FIVE.measure(table, generator, N_DRAWS, rng)
    fitted = generator.fit(ADULT, measured, rng)
    answers = {marginal.attributes: marginal.answers for marginal in measured}
    errors: dict[tuple[str, ...], tuple[float, float]] = {}
    for names in (*FIVE.marginals, *NOT_MEASURED):
        exact = table.marginal(names)
        before = error(answers[names], exact) if names in answers else float("nan")
        errors[names] = (before, error(fitted.marginal(names), exact))
    demo.chapter("2. Errors")
    demo.say("Error of a marginal: sum of the absolute errors of its counts, divided by the number of records.")
    rows = [
        [", ".join(names), "-" if before != before else f"{before:.4f}", f"{after:.4f}"]
        for names, (before, after) in errors.items()
    ]
    demo.table(["marginal", "as measured", "as fitted"], rows)
    return errors


# %% [markdown]
# ## 3. Audit
#
# The attack uses the noisy counts of the record's five cells: the likelihood ratio of all other counts is 1.


# %%
def shown(demo: Demo, table: CodedTable) -> dict[float, tuple[float, float]]:
    """Return mu of the claim, and its lower bound, for two noises."""
    pair = remove_record(table.records, 0)
    by_noise = {}
    for noise, trials in zip(NOISES, (1_000_000, 100_000), strict=True):
        mechanism = SelectMeasureGenerate(ADULT, replace(FIVE, standard_deviation=noise), GraphicalModel())
        result = audit(mechanism, pair, bound="accountant-family", trials=trials, delta=DELTA, seed=SEED)
        by_noise[noise] = (math.sqrt(len(FIVE.marginals)) / noise, mu_of(result.bound.epsilon))
    demo.chapter("3. Audit of the measurements")
    demo.say(
        """
        The adversary observes the noisy counts, and knows all people except one. Lower bounds on mu with 95 %
        confidence, compared with the claim mu = sqrt(5) / noise:
        """
    )
    rows = [[f"{noise:g}", f"{mu:.4f}", f"{bound:.4f}", f"{bound / mu:.0%}"] for noise, (mu, bound) in by_noise.items()]
    demo.table(["noise", "mu", "lower bound", "of the claim"], rows)
    return by_noise


def mu_of(epsilon: float) -> float:
    """Return mu of the Gaussian trade-off curve with this epsilon at DELTA."""
    return 0.0 if epsilon <= 0.0 else float(brentq(lambda mu: GaussianDP(mu).epsilon(DELTA) - epsilon, 1e-6, 20.0))


# %%
@dataclass(frozen=True)
class FiveMarginalsFindings:
    """Results of the demo, and the name of the data."""

    data: str
    cost: dict[str, tuple[float, float, float]]
    worth: dict[tuple[str, ...], tuple[float, float]]
    shown: dict[float, tuple[float, float]]


def main(out: Path | None = None) -> FiveMarginalsFindings:
    """Run the demo: privacy loss of five noisy marginals, errors of synthetic data from them, and an audit.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    name, table = census()
    demo.say(f"The data: {name}, {len(table):,} records of {len(ADULT.names)} attributes.")
    findings = FiveMarginalsFindings(name, cost(demo), worth(demo, table), shown(demo, table))
    demo.chapter("Conclusion")
    demo.say("Only measurements have a privacy loss; post-processing has none, and may even reduce the error.")
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: FiveMarginalsFindings) -> None:
    """Draw the errors of the marginals, as measured and as fitted."""
    demo.panels(
        "five-marginals",
        lambda ax: _draw_errors(ax, findings.worth),
        title="Five marginals of a census",
        description="Error of each marginal as measured and as fitted; the last two were not measured.",
        size=(9.0, 4.2),
    )


def _draw_errors(ax: Axes, errors: dict[tuple[str, ...], tuple[float, float]]) -> None:
    places = np.arange(len(errors))
    before, after = np.array(list(errors.values())).T
    ax.plot(
        before, places, marker="o", markersize=10, fillstyle="none", linewidth=0, color=AMBER.light, label="as measured"
    )
    ax.plot(after, places, marker="s", markersize=4, linewidth=0, color=BLUE.light, label="as fitted")
    ax.set_yticks(places, [", ".join(names) for names in errors])
    ax.invert_yaxis()
    logarithmic(ax.xaxis, 0.005, 1.0)
    style_axes(ax, title="Fitting reduces the error", x="error: sum of absolute errors of counts / records", y="")


# %%
if __name__ == "__main__":
    main()
