# %% [markdown]
# # What does it cost to answer 256 questions at once?
#
# 256 random sets of 64 cells, n records: what share of the records lies in each set? All answers together get ε = 1
# (for Gaussian noise with δ = 1e-6), if one record is replaced. Noise on every answer is the obvious mechanism. Others
# measure something else and compute the answers from it.

# %%
import numpy as np

from dpassay.mechanisms import Gaussian, Laplace
from dpassay.mechanisms.literature.query_release.matrix import GaussianMatrixMechanism, LaplaceMatrixMechanism
from dpassay.mechanisms.literature.query_release.multiplicative_weights import MWEM, SmallDatabase
from dpassay.mechanisms.noise.queries import Domain, Workload

SEED = 2010
SIZES, RUNS = (100, 1_000, 10_000, 100_000), 60
queries = Workload.random(Domain((("cell", 64),)), 256, seed=SEED)
l1, l2 = (queries.sensitivity("replace_one", norm=norm) for norm in (1, 2))
asked = {"n_queries": 256, "query": queries, "relation": "replace_one"}
strategy = {"workload": queries, "relation": "replace_one"}
mechanisms = {
    "Laplace": lambda n: Laplace(1.0, sensitivity=l1, **asked),
    "Gaussian": lambda n: Gaussian(1.0, 1e-6, sensitivity=l2, **asked),
    "matrix, Laplace": lambda n: LaplaceMatrixMechanism(1.0, **strategy),
    "matrix, Gaussian": lambda n: GaussianMatrixMechanism(1.0, 1e-6, **strategy),
    "MWEM": lambda n: MWEM(queries, n, epsilon=1.0, rounds=8, view="answers"),
    "small database": lambda n: SmallDatabase(queries, n, epsilon=1.0, n_rows=3),
}

# %% [markdown]
# The matrix mechanisms measure a strategy, here a set of counts that is optimised for the workload, with noise, and
# compute all answers by least squares. MWEM measures eight of the answers, those with a large error, and fits a
# distribution to them. The small database is one of all tables of three rows, selected by the exponential mechanism.
#
# The records have shares proportional to 1 / rank. We measure the largest error of the 256 shares and the root mean
# square, both averaged over 60 runs, and compare them with the guess that all cells are equally frequent, which reads
# no data.

# %%
import pandas as pd

weights = np.cumsum(1.0 / np.arange(1, 65))
largest, root_mean_square = {"no data": []}, {"no data": []}
for n in SIZES:
    records = np.searchsorted(weights / weights[-1], (np.arange(n) + 0.5) / n)[:, None]
    exact, rng = queries(records) / n, np.random.default_rng([SEED, n])
    estimates = {"no data": queries.of(np.full((1, 64), 1.0 / 64))}
    for name, mechanism in mechanisms.items():
        values = mechanism(n).release(records, RUNS, rng).values
        estimates[name] = queries.of(values / 3.0) if name == "small database" else values / n
    for name, shares in estimates.items():
        errors = np.abs(shares - exact)
        largest.setdefault(name, []).append(errors.max(axis=1).mean())
        root_mean_square.setdefault(name, []).append(np.sqrt((errors**2).mean(axis=1)).mean())
print("Largest error of the 256 shares:")
columns = pd.Index([f"{n:,} records" for n in SIZES])
pd.DataFrame(largest, index=columns).T.rename_axis("mechanism").map("{:.4f}".format)

# %% tags=["hide-input"]
from dpassay.experiments.report.plots.style import (
    MUTED,
    EndLabel,
    end_labels,
    logarithmic,
    panels,
    series_colour,
    style_axes,
)


def draw(errors, title):
    """Return a function that draws errors against the number of records."""

    def on(ax):
        labels = []
        for name, values in errors.items():
            colour = MUTED if name == "no data" else series_colour(list(mechanisms).index(name))
            style = {"linestyle": ":"} if name == "no data" else {"marker": "o"}
            ax.plot(SIZES, values, color=colour.light, linewidth=1.6, **style)
            labels.append(EndLabel(values[-1], name, colour))
        logarithmic(ax.xaxis, SIZES[0] / 1.15, SIZES[-1] * 1.15)
        logarithmic(ax.yaxis, 1e-4, 20.0)
        style_axes(ax, title=title, x="records", y="error of a share")
        end_labels(ax, labels)

    return on


panels(
    draw(largest, "Largest error of 256 shares"),
    draw(root_mean_square, "Root mean square error"),
    alt="Errors of six mechanisms and of a guess without data against the number of records. The four mechanisms with "
    "noise on counts fall like 1/n; MWEM and the small database stay level.",
)

# %% [markdown]
# ## The surprise
#
# The best way to answer 256 questions is to ask none of them. Noise on every answer pays for 256 queries: a replaced
# record changes about half of them. The 64 cells are disjoint: a replaced record changes two of their counts by one,
# and their sums answer all 256 questions, and any other set of cells, at no further cost. The optimised strategy is a
# little better still; it measures weighted sums of cells.

# %%
measured = LaplaceMatrixMechanism(1.0, **strategy)
change = measured.measured.sensitivity("replace_one", norm=1)
print(f"L1 sensitivity: {l1:g} of the answers, 2 of the cells, {change:.2f} of the optimised strategy")
gain = largest["Laplace"][-1] / largest["matrix, Laplace"][-1]
print(f"Laplace noise, largest error: on every answer {gain:.0f} times that of the strategy")
gaussian = largest["Gaussian"][-1] / largest["matrix, Gaussian"][-1]
print(f"Gaussian noise: {gaussian:.1f} times")

# %% [markdown]
# ## What one would wrongly conclude
#
# - "δ > 0 buys accuracy." For noise on every answer it does, since the L2 sensitivity of many answers is much smaller
#   than their L1 sensitivity. If a record changes only two counts, Gaussian noise is larger than Laplace noise.
# - "MWEM has the smallest error for a hundred records, so it is the best for small data." Compare it with the guess
#   that reads no data: an error above this line is worth nothing.
# - "MWEM fails, since its error does not fall with n." Eight measured answers cannot determine 64 cells. With more
#   records the number of rounds must grow: see the demo error-of-mwem.
# - "The theory says which mechanism is best." There are known rates of the error for the worst workload, without
#   constants: they tell how errors grow, not how large they are.

# %%
from dpassay.mechanisms.literature.query_release.error_bounds import error_rate

rates = {
    f"{word}, {'pure' if pure else 'approximate'}": [
        error_rate(n_queries=256, n_cells=64, n_records=n, epsilon=1.0, norm=norm, pure=pure) for n in SIZES
    ]
    for word, norm in (("root mean square", 2.0), ("largest", np.inf))
    for pure in (True, False)
}
print("Known rates of the error, without constants:")
pd.DataFrame(rates, index=columns).T.rename_axis("error, privacy").map("{:.4f}".format)

# %% [markdown]
# ## Exercise
#
# The counts of 8 values, measured as a tree: the total, both halves, the quarters and the values. The noise is
# calibrated to the sensitivity of the 8 counts that are published. Predict the verdict of an audit with the claim
# ε = 1, and the true ε, if a record is added or removed.

# %% [markdown] tags=["answer"]
# `violation`. One record is in one of the 8 counts, but in four counts of the tree, and the noise of all four is made
# for one: the true ε is 4. A strategy pays for what it measures, not for what is published.

# %% tags=["answer"]
from dpassay.audit import audit
from dpassay.mechanisms.literature.query_release.matrix.broken import LaplaceNoiseForWorkload

wrong = audit(LaplaceNoiseForWorkload(1.0), trials=20_000, confidence=0.999, seed=SEED)
print(f"lower bound {wrong.bound.epsilon:.3f}, claim {wrong.claim:g}, {wrong.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo error-of-mwem`: how many answers MWEM should measure.
# - `dpassay run query-release`: audits of several strategies.
# - `docs/mechanisms/query-release.md`: the matrix mechanism, its strategies and the known rates.
#
# ## Run it
#
# `dpassay demo query-release` takes about 5 s.
