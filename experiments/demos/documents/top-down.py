# %% [markdown]
# # Who pays for the consistency of a census?
#
# 20,000 simulated people live in twelve counties of three states. The census measures tables of relationship, age and
# race at every level with noise (ρ = 0.1 in total), and then makes them consistent: counties add up to states and these
# to the nation, no count is negative, all are integers. Two totals are published without noise, as invariants: the
# people of each state and the householders of each county.

# %%
import numpy as np

from dpassay.experiments.data.people import place_sizes
from dpassay.mechanisms.literature.query_release.top_down import LEVELS, GaussianTopDown

SEED = 2020
rng = np.random.default_rng(SEED)
sizes = rng.permutation(place_sizes(12, mean=1.0, spread=1.9))
county = rng.choice(12, size=20_000, p=sizes / sizes.sum())
age = rng.choice(3, size=20_000, p=(0.19, 0.65, 0.16))  # below 15, 15 to 64, older
relationship = np.full(20_000, 2)  # householder, partner, other
for group, shares in ((1, (0.50, 0.28, 0.22)), (2, (0.62, 0.26, 0.12))):
    relationship[age == group] = rng.choice(3, size=np.count_nonzero(age == group), p=shares)
race = rng.choice(3, size=20_000, p=(0.75, 0.2, 0.05))
people = np.column_stack([county, relationship, age, race != 1, race != 0]).astype(int)

census = GaussianTopDown(0.1, geography=(5, 4, 3))
released = census.release(people, 100, rng).values.astype(float)
tables = {
    step: census.post_processing.tables(released, step=step) for step in ("least-squares", "non-negative", "whole")
}
exact = census.plan.counts(people)
bias = {step: (tables[step]["county"] - exact).sum(axis=2) for step in ("least-squares", "whole")}

# %% tags=["hide-input"]
from dpassay.experiments.report.plots.style import (
    EndLabel,
    end_labels,
    logarithmic,
    panels,
    series_colour,
    style_axes,
)

NAMES = {"noise": "noise", "least-squares": "least squares", "non-negative": "non-negative", "whole": "integer"}
answers, _ = census.plan.split(released)
tables["noise"] = dict(zip((query.level for query in census.queries[1::2]), answers[1::2], strict=True))
truth = {level: census.geography.sums(exact, "county", level) for level in LEVELS}
error = {
    NAMES[step]: [np.sqrt(((tables[step][level] - truth[level]) ** 2).mean()) for level in LEVELS] for step in NAMES
}
residents = exact.sum(axis=1)
order = np.argsort(residents)


def draw_errors(ax):
    for place, values in enumerate(error.values()):
        ax.plot(range(3), values, marker="o", color=series_colour(place).light, linewidth=1.6)
    ax.set_xticks(range(3), LEVELS)
    ax.set_xlim(-0.2, 2.2)
    ax.set_ylim(0.0, 8.0)
    style_axes(ax, title="Error of a cell after each step", x="level", y="root mean square error (people)")
    end_labels(ax, [EndLabel(values[-1], name, series_colour(k)) for k, (name, values) in enumerate(error.items())])


def draw_bias(ax):
    labels = []
    for step, place in (("least-squares", 1), ("whole", 3)):
        mean, deviation = bias[step].mean(axis=0)[order], bias[step].std(axis=0)[order] / np.sqrt(100)
        colour = series_colour(place)
        ax.errorbar(residents[order], mean, 2.0 * deviation, marker="o", color=colour.light, linewidth=1.6)
        labels.append(EndLabel(mean[-1], NAMES[step], colour))
    logarithmic(ax.xaxis, residents.min() / 1.3, residents.max() * 1.3)
    style_axes(ax, title="Bias of county totals", x="people of the county", y="mean error (people)")
    end_labels(ax, labels)


panels(
    draw_errors,
    draw_bias,
    alt="Left: root mean square error of a cell at the levels nation, state and county, after each step; the error of "
    "the counties falls with each step up to non-negative tables. Right: mean error of the number of people by size of "
    "the county: around zero for least squares, positive for the smallest counties and negative for larger ones after "
    "rounding to non-negative integers.",
)

# %% [markdown]
# Left: least squares combine the levels, since all of them measure the same people. Their error is predicted without
# data. At the counties, non-negative tables are more accurate still. Right: mean error of the number of people of a
# county over 100 releases, with bars of two standard errors.

# %%
import pandas as pd

predicted = [np.sqrt(variances.mean()) for variances in census.variances().values()]
print("Root mean square error of a cell, in people:")
pd.DataFrame({**error, "predicted for least squares": predicted}, index=pd.Index(LEVELS, name="level")).round(2)

# %% [markdown]
# ## The surprise
#
# The step that makes the tables more accurate makes them unfair. Most cells of a small county are empty, and the error
# of an empty cell cannot be negative: the smallest counties gain people. The total of a state is an invariant, so other
# counties of the state lose the same number. Least squares are unbiased, but contain negative counts.

# %%
means = pd.DataFrame(
    {
        NAMES[step]: [f"{m:+.1f} ± {2 * s:.1f}" for m, s in zip(b.mean(axis=0), b.std(axis=0) / 10.0, strict=True)]
        for step, b in bias.items()
    },
    index=pd.Index([f"{n:,.0f}" for n in residents], name="people of the county"),
)
print("Mean error of the number of people, ± two standard errors over 100 releases:")
means.iloc[order]

# %% [markdown]
# ## What one would wrongly conclude
#
# - "An error of five people is negligible." The noise is the same in all counties. In the smallest it is a large share.
# - "The mean error over all counties is zero, so there is no bias." The invariants force it to be zero.
# - "The release has ρ = 0.1, so a person is protected." Only between datasets that agree on all invariants. A person
#   who becomes a householder changes a published number. The library refuses such a pair:

# %%
from dpassay.mechanisms.core.errors import NeighboursError
from dpassay.mechanisms.literature.query_release.top_down import GeometricTopDown
from dpassay.mechanisms.literature.query_release.top_down.broken import InvariantsIgnored

claims_all = InvariantsIgnored(1.0)
try:
    GeometricTopDown(1.0).bind(claims_all.worst_case())
except NeighboursError as refusal:
    print(refusal)

# %% [markdown]
# ## Exercise
#
# Two releases with geometric noise and the same two kinds of invariants. One claims ε = 1 for pairs that agree on the
# invariants, the other claims it for all pairs. Predict both verdicts, and how many runs the audit needs.

# %% [markdown] tags=["answer"]
# The first is `consistent`, the second a `violation`. One run suffices: a number of householders without noise is
# possible under one dataset of the pair and impossible under the other. Noise on everything else cannot help.

# %% tags=["answer"]
from dpassay.audit import audit

kept = audit(GeometricTopDown(1.0), trials=40_000, seed=SEED, confidence=0.9999)
forgotten = audit(claims_all, trials=4_000, seed=SEED, confidence=0.9999)
print(f"equal invariants: lower bound {kept.bound.epsilon:.3f}, {kept.verdict}")
print(f"all pairs: {forgotten.verdict}" + (", by a witness" if forgotten.witness else ""))

# %% [markdown]
# ## See also
#
# - `dpassay run top-down`: audits of the measurements and the tables, and of a claim without invariants.
# - `dpassay demo query-release`: measuring one set of counts to answer another.
# - `docs/mechanisms/top-down.md`: the algorithm, its errors and its claims.
#
# ## Run it
#
# `dpassay demo top-down` takes about 7 s.
