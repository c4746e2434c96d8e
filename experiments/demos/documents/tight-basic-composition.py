# %% [markdown]
# # Basic composition is optimal. Is its epsilon ever seen?
#
# A person counts in k queries. Each count is published with Laplace noise of scale 4: ε = 0.25 per count. By basic
# composition, all counts together have ε = 0.25 k at δ = 0, and no smaller ε holds: if every output is at least the
# larger count, the likelihood ratio is e^(0.25 k), exactly. How much of this does an audit find?

# %%
from dpassay.audit import audit
from dpassay.experiments.report.plots import BoundClaim, figure_of
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.combinators import Repeated

SEED = 2006
RUNS = 100_000

sizes = (1, 2, 4, 8, 16, 32, 64)
all_counts = {k: Repeated(Laplace(0.25), times=k) for k in sizes}
audits = {k: audit(counts, trials=RUNS, confidence=0.999, seed=SEED) for k, counts in all_counts.items()}
figure_of(BoundClaim.from_results({"k counts": audits}, x="number of counts k"))

# %% [markdown]
# Both axes are logarithmic. The claim is exact, and no attack exceeds this one, the likelihood ratio of all k outputs.
# Still the bound falls behind, long before it comes near the ceiling, the largest bound that so many runs can give.

# %%
import pandas as pd

from dpassay.mechanisms.noise.laplace import orthant_probabilities

visible = {k: orthant_probabilities(0.25 * k, k)[1] for k in sizes}
composed = pd.DataFrame(
    {
        "epsilon at delta 0": [f"{0.25 * k:g}" for k in sizes],
        "probability of the ratio": [f"{visible[k]:.2g}" for k in sizes],
        "lower bound": [f"{audits[k].bound.epsilon:.2f}" for k in sizes],
        "epsilon at delta 1e-6": [f"{all_counts[k].exact_guarantee().epsilon(1e-6):.2f}" for k in sizes],
    },
    index=pd.Index(sizes, name="k"),
)
composed

# %% [markdown]
# ## The surprise
#
# The event with the ratio e^(0.25 k) has probability 2^-k: each of k outputs must fall on the upper side of its count.
# For k = 64 it is 5e-20, and nobody will ever see it. The theorem is optimal because of an event that does not happen.
#
# What does happen is a sum of k independent losses, each between −0.25 and 0.25. Its mean is 0.0288 k, since the mean
# loss of one count is ε + e^(−ε) − 1, about ε²/2. It scatters by about 0.24 √k around it.

# %%
import numpy as np

rng = np.random.default_rng(SEED)
losses = {}
for k in (4, 64):
    outputs = rng.laplace(loc=1.0, scale=4.0, size=(RUNS, k))  # the person is in
    losses[k] = ((np.abs(outputs) - np.abs(outputs - 1.0)) / 4.0).sum(axis=1)
    reached = np.sum(losses[k] > 0.25 * k - 1e-9)
    print(f"k = {k:2}: mean loss {losses[k].mean():.3f}, largest loss {losses[k].max():.2f}, ", end="")
    print(f"limit {0.25 * k:g} reached in {reached:,} of {RUNS:,} runs")

# %% tags=["hide-input"]
from dpassay.experiments.report.plots import panels
from dpassay.experiments.report.plots.style import CLAIM, SIDE1, style_axes


def drawn(k):
    """Return a function that draws the losses of k counts."""

    def draw(ax):
        limit = 0.25 * k
        ax.hist(losses[k], bins=np.linspace(-limit, limit, 65), color=SIDE1.light, weights=np.full(RUNS, 1.0 / RUNS))
        ax.axvline(limit, color=CLAIM.light, linestyle="--", linewidth=1.0)
        style_axes(ax, title=f"{k} counts, limit {limit:g}", x="privacy loss", y="share of the runs")

    return draw


panels(
    drawn(4),
    drawn(64),
    size=(9.0, 3.4),
    alt="Histograms of the privacy loss. With 4 counts many runs reach the limit; with 64 counts none comes near it.",
)

# %% [markdown]
# ## What one would wrongly conclude
#
# - "The bound is a third of the claim, so the noise is more private than claimed, or the attack is weak." The claim is
#   exact, and the attack is the best one. The rest would take more runs than anyone has.
# - "Then ε at δ = 0 is wrong." It is right, and it answers a question about the rarest output. Allow a δ for rare
#   outputs, and ε grows like √k (last column of the table): this is advanced composition.
# - "No audit of many releases finds a bug." A bug changes typical losses too. A claim of advanced composition, at a
#   δ > 0, is near the losses that happen.

# %% [markdown]
# ## Exercise
#
# A program claims half of the epsilon: 0.125 k at δ = 0, for the same counts. The claim is false for every k. Replace
# the claim by `PureDP(0.125 * k)` in the first cell, and predict the verdicts for k = 4 and k = 64.

# %% [markdown] tags=["answer"]
# k = 4: `violation`. One run in 16 has the ratio e^1, where the claim allows e^0.5. k = 64: `consistent`, though the
# claim is 8 and the truth 16. To refute it, the runs must show an event that is e^8, about 3,000 times, as likely with
# the person as without. Such outputs are too rare among 100,000. The claim is just as false.

# %% tags=["answer"]
from dpassay.mechanisms.accounting import PureDP

halved = {k: audit(all_counts[k], claim=PureDP(0.125 * k), trials=RUNS, confidence=0.999, seed=SEED) for k in (4, 64)}
for k, result in halved.items():
    print(f"k = {k}: lower bound {result.bound.epsilon:.2f}, claim {result.claim:g}, {result.verdict}")
print(f"64 losses sum to more than 8 in {np.sum(losses[64] > 8.0):,} of {RUNS:,} runs")

# %% [markdown]
# ## See also
#
# - `dpassay demo basic-or-advanced`: when the theorem for δ > 0 gives less noise.
# - `dpassay run laplace-composition`: three accountants for k releases of one count.
# - `docs/explanation/composition.md`: the theorems of composition.
#
# ## Run it
#
# `dpassay demo tight-basic-composition` takes about 4 s.
