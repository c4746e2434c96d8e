# %% [markdown]
# # How many answers should MWEM measure?
#
# 2,000 people have eight bits each, and we ask for all 448 counts of tables of three bits. MWEM starts with a uniform
# distribution. In each of T rounds it selects a count on which its distribution has a large error, measures it with
# noise, and reweights the distribution. Each round gets ε / T: more rounds learn more of the data, with more noise.

# %%
import numpy as np

from dpassay.mechanisms import Laplace
from dpassay.mechanisms.literature.query_release.multiplicative_weights import MWEM
from dpassay.mechanisms.noise.queries import Domain, Workload

SEED = 2012
ROUNDS, EPSILONS, RUNS = (1, 2, 4, 8, 16, 32), (0.03, 0.1, 0.3, 1.0, 3.0, 10.0), 20
rng = np.random.default_rng(SEED)
bits = [rng.random(2_000) < 0.3]
for _ in range(7):  # each bit mostly repeats the one before
    bits.append(np.where(rng.random(2_000) < 0.2, rng.random(2_000) < 0.3, bits[-1]))
people = np.column_stack(bits).astype(int)
domain = Domain.of({f"bit {i}": 2 for i in range(8)})
counts, cells = Workload.marginals(domain, 3), Workload.identity(domain)


def worst_error(answers):
    """Return the largest error of the 448 counts as a share of the people, averaged over runs."""
    return np.abs(answers - counts(people)).max(axis=1).mean() / 2_000


no_data = worst_error(counts.of(np.full((1, 256), 2_000 / 256)))
mwem = {}
for epsilon in EPSILONS:
    for rounds in ROUNDS:
        mechanism = MWEM(counts, 2_000, epsilon=epsilon, rounds=rounds, replays=1, synthetic="last", view="answers")
        mwem[epsilon, rounds] = worst_error(mechanism.release(people, RUNS, rng).values)

# %% [markdown]
# There are two simple alternatives. Noise on every answer: a replaced record changes two cells in each of 56 tables.
# Noise on every cell: a replaced record changes two of the 256 cells, and each count is a sum of 32 cells.

# %%
import pandas as pd

noise = {"n_queries": 448, "relation": "replace_one", "sensitivity": counts.sensitivity("replace_one")}
on_answers = [worst_error(Laplace(e, query=counts, **noise).release(people, RUNS, rng).values) for e in EPSILONS]
noise = {"n_queries": 256, "relation": "replace_one", "sensitivity": cells.sensitivity("replace_one")}
on_cells = [
    worst_error(counts.of(Laplace(e, query=cells, **noise).release(people, RUNS, rng).values)) for e in EPSILONS
]
print(f"Largest error of all counts, as a share of the people. Without data: {no_data:.3f}")
table = {f"MWEM, {rounds} rounds": [mwem[e, rounds] for e in EPSILONS] for rounds in ROUNDS}
table |= {"noise on answers": on_answers, "noise on cells": on_cells}
pd.DataFrame(table, index=[f"ε = {e:g}" for e in EPSILONS]).T.rename_axis("mechanism").map("{:.3f}".format)

# %% tags=["hide-input"]
from dpassay.experiments.report.plots.style import (
    AMBER,
    BLUE,
    GREEN,
    MUTED,
    VIOLATION,
    EndLabel,
    end_labels,
    logarithmic,
    panels,
    style_axes,
)


def draw_lines(ax, x, lines):
    """Draw named lines, and the error without data."""
    for (_, values), colour in zip(lines.items(), (BLUE, AMBER, GREEN, VIOLATION), strict=False):
        ax.plot(x, values, marker="o", color=colour.light, linewidth=1.6)
    ax.axhline(no_data, color=MUTED.light, linewidth=1.2, linestyle=":")
    logarithmic(ax.xaxis, x[0] / 1.15, x[-1] * 1.15)
    logarithmic(ax.yaxis, 1e-3, 30.0)
    colours = (BLUE, AMBER, GREEN, VIOLATION)
    labels = [EndLabel(values[-1], name, c) for (name, values), c in zip(lines.items(), colours, strict=False)]
    end_labels(ax, [*labels, EndLabel(no_data, "no data", MUTED)])


def by_rounds(ax):
    draw_lines(ax, ROUNDS, {f"ε = {e:g}": [mwem[e, t] for t in ROUNDS] for e in (0.1, 1.0, 10.0)})
    style_axes(ax, title="MWEM by number of rounds", x="rounds", y="largest error, share of the people")


def by_epsilon(ax):
    few, many = ([mwem[e, t] for e in EPSILONS] for t in (8, 32))
    draw_lines(ax, EPSILONS, {"8 rounds": few, "32 rounds": many, "on answers": on_answers, "on cells": on_cells})
    style_axes(ax, title="Comparison with noise", x="epsilon", y="largest error, share of the people")


panels(
    by_rounds,
    by_epsilon,
    alt="Left: the error of MWEM falls with the number of rounds for a large epsilon, and not for a small one. Right: "
    "MWEM has a smaller error than noise on all answers, except for the largest epsilons, and noise on the cells has "
    "the smallest error of all except for the smallest epsilon.",
)

# %% [markdown]
# With ε ≥ 1, thirty-two rounds are better than eight. With ε = 0.1 they are worse. With eight rounds the error stops
# falling at about ε = 1: a larger budget does not help, only more rounds do.
#
# ## The surprise
#
# MWEM with eight rounds beats noise on every answer for all ε up to 1. Then noise on every cell, the simplest
# mechanism of all, beats MWEM, for every ε of the table from 0.1 on. And where MWEM is the best of the three, with
# ε = 0.03, it is not much better than the distribution that it started with.
#
# What MWEM is made for is a domain too large for noise on its cells. With d bits, a count of three bits is a sum of
# 2^(d − 3) cells, and its noise has a standard deviation of 2√2 / ε · 2^((d − 3) / 2) people:

# %%
deviation = {d: 2.0 * np.sqrt(2.0) * 2 ** ((d - 3) / 2) / 2_000 for d in (8, 12, 16, 20)}
for d, share in deviation.items():
    print(f"{d} bits, noise on cells with ε = 1: standard deviation of a count {share:.3f} of the people")

# %% [markdown]
# ## What one would wrongly conclude
#
# - "MWEM beats its baseline, so it is accurate." That depends on the baseline. Include the answer without data, and a
#   mechanism that is made for the size of the domain.
# - "We tried six numbers of rounds and published the best." The choice depends on the errors, which depend on the data:
#   it has a privacy cost of its own.
# - "The claim adds up over the rounds, so the leak does." The claim is for the worst case in each round, which
#   rarely happens in all of them. An audit at δ = 0.01 of the transcript, whose distribution is known exactly:

# %%
from dpassay.audit import audit
from dpassay.experiments.report.plots import BoundClaim, figure_of

tiny = Workload(Domain.of({"cell": 3}), np.eye(2, 3))
audits = {
    rounds: audit(MWEM(tiny, 20, epsilon=2.0, rounds=rounds), trials=20_000, delta=0.01, seed=SEED)
    for rounds in (1, 2, 5, 10)
}
figure_of(BoundClaim.from_results({"lower bound": audits}, x="rounds"))

# %% [markdown]
# This is the reason for Gaussian noise and concentrated differential privacy, which count the average loss rather than
# the largest one.
#
# ## Exercise
#
# A program spends all of ε / T on the noise of the measured count: "the name of the selected count is not data".
# Predict the verdict for one round and the claim ε = 2.

# %% [markdown] tags=["answer"]
# `violation`. The selected count is the one with a large error, which depends on the data. The selection is an
# exponential mechanism, and has its own ε.

# %% tags=["answer"]
from dpassay.mechanisms.literature.query_release.multiplicative_weights.broken import UnaccountedSelection

broken = UnaccountedSelection(Workload.identity({"cell": 3}), n_records=30, epsilon=2.0, rounds=1)
unaccounted = audit(broken, trials=100_000, confidence=0.999, seed=SEED)
print(f"true ε {broken.exact_guarantee().epsilon(0.0):.3f}, claim {unaccounted.claim:g}", end=", ")
print(f"lower bound {unaccounted.bound.epsilon:.3f}: {unaccounted.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo query-release`: six mechanisms for many queries, by number of records.
# - `dpassay run multiplicative-weights`: audits of MWEM and its relatives.
# - `docs/mechanisms/multiplicative-weights.md`: the algorithms and their claims.
#
# ## Run it
#
# `dpassay demo error-of-mwem` takes about 7 s.
