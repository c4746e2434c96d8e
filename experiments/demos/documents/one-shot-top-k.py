# %% [markdown]
# # Can one draw of noise replace k rounds of private selection?
#
# Which 3 of 5 items are the most popular? The careful way is peeling: choose one by the exponential mechanism, remove
# it, and choose again, three times, with fresh Gumbel noise in each round. The lazy way adds Gumbel noise to the counts
# once, and takes the three largest in order. Is the lazy way still private?

# %%
import numpy as np

from dpassay.mechanisms.literature.selection import GumbelTopK, PeelingTopK

SEED = 2019
RUNS, K = 100_000, 3

counts = np.array([3.0, 2.0, 2.0, 1.0, 0.0])
options = {"epsilon": 1.0, "n_candidates": len(counts), "k": K, "monotone": True}
rng = np.random.default_rng(SEED)


def peeling(noise):
    """Return the rankings of `RUNS` runs, `(RUNS, K)`: the best with fresh noise, K times."""
    left, ranking = np.tile(counts, (RUNS, 1)), []
    for _ in range(K):
        ranking.append(np.argmax(left + noise(size=left.shape), axis=1))
        left[np.arange(RUNS), ranking[-1]] = -np.inf
    return np.column_stack(ranking)


def one_shot(noise):
    """Return the rankings of `RUNS` runs: the K largest noisy counts."""
    return np.argsort(-(counts + noise(size=(RUNS, len(counts)))), axis=1)[:, :K]


# %%
import itertools

from scipy.stats import chi2

from dpassay.mechanisms.core.base import Outputs

rankings = np.array(list(itertools.permutations(range(len(counts)), K)))
law = np.exp(PeelingTopK(**options).log_density(Outputs(rankings), counts))
places = rankings @ np.array([25, 5, 1])


def frequencies(sample):
    """Return how often each ranking occurs, in the order of `rankings`."""
    return np.bincount(sample @ np.array([25, 5, 1]), minlength=125)[places]


def p_value(observed):
    """Return the p-value of Pearson's chi-square test of the counts of all rankings against the law of peeling."""
    expected = RUNS * law
    return float(chi2.sf(np.sum((observed - expected) ** 2 / expected), len(law) - 1))


observed = {"peeling": frequencies(peeling(rng.gumbel)), "one shot": frequencies(one_shot(rng.gumbel))}

# %% tags=["hide-input"]
from dpassay.experiments.report.plots import panels
from dpassay.experiments.report.plots.style import AMBER, BLUE, EXACT, logarithmic, style_axes


def draw(ax):
    """Draw the shares of all rankings against their probabilities."""
    ax.plot([2e-4, 0.2], [2e-4, 0.2], color=EXACT.light, linewidth=1.0, label="equal")
    for (name, seen), colour, mark in zip(observed.items(), (BLUE, AMBER), ("o", "x"), strict=True):
        ax.plot(law, seen / RUNS, mark, ms=4, color=colour.light, label=name)
    for axis in (ax.xaxis, ax.yaxis):
        logarithmic(axis, 2e-4, 0.2)
    style_axes(ax, title="60 rankings", x="probability by peeling", y="share of the runs", columns=3)


panels(
    draw, size=(8.0, 4.4), alt="The shares of the 60 rankings in both samples lie on the line of their probabilities."
)

# %% [markdown]
# Each of the 60 possible rankings is a point, with its exact probability under peeling. Pearson's chi-square test
# compares all of them at once.

# %%
print(f"{len(law)} rankings, the rarest expected {RUNS * law.min():.0f} times in {RUNS:,} runs")
for name, seen in observed.items():
    print(f"{name:8}: p-value against the law of peeling {p_value(seen):.3f}")

# %% [markdown]
# ## The surprise
#
# The two laws are not similar but equal, for all counts, k and ε (Durfee and Rogers, 2019). Among Gumbel variables with
# different locations, which one is the largest does not depend on how large it is. So the rest, given the winner, is
# what a fresh round on the rest would give. One shot takes d draws of noise; peeling takes d + (d − 1) + ... draws. For
# the 10 best of 1,000 items these are 1,000 and 9,955.
#
# Equal laws have equal guarantees: k ε at δ = 0, and k ε²/8 concentrated DP. On the pair of this audit the exact ε is
# 1.56; pairs with rarer events come closer to k ε = 3.

# %%
from dpassay.audit import audit
from dpassay.experiments.report.plots import LadderPlot, figure_of

audits = {
    name: audit(kind(**options), trials=200_000, delta=0.0, confidence=0.99, seed=SEED)
    for name, kind in (("peeling", PeelingTopK), ("one shot", GumbelTopK))
}
for name, result in audits.items():
    print(f"{name:8}: claim {result.claim:.1f}, lower bound {result.bound.epsilon:.3f}, {result.verdict}")
figure_of(LadderPlot.from_results(audits))

# %% [markdown]
# ## What one would wrongly conclude
#
# - "One draw of noise costs one ε." The equality works in both directions: one shot costs what k rounds cost. The 3
#   indices are three answers.
# - "The p-value is large, so the laws are equal." A test never shows equality. The theorem does, and the test would
#   have found a wrong program: see the exercise.
# - "It holds for any noise." It is a property of Gumbel noise.

# %% [markdown]
# ## Exercise
#
# Replace `rng.gumbel` by `rng.laplace`: three rounds of report noisy max, or its noise once. Are the laws still equal?
# Predict whether a chi-square test on 100,000 runs of each notices.

# %% [markdown] tags=["answer"]
# They are not, and the test notices. With Laplace noise the identity of the winner tells something about its value, and
# so about the others, which must be smaller. Fresh noise does not remember this. So no theorem on k rounds applies to
# Laplace noise in one shot: its guarantee needs a proof of its own.

# %% tags=["answer"]
from scipy.stats import chi2_contingency

two_samples = np.array([frequencies(peeling(rng.laplace)), frequencies(one_shot(rng.laplace))])
test = chi2_contingency(two_samples)
print(f"Laplace noise, one shot against three rounds: chi-square {test.statistic:,.0f}, ", end="")
print(f"expected {test.dof} if the laws were equal, p-value {max(test.pvalue, 1e-300):.0e} or less")

# %% [markdown]
# ## See also
#
# - `dpassay demo bounded-range`: why k ε²/8 holds for Gumbel noise, and not for other noise.
# - `dpassay run zoo`: many mechanisms, these among them, compared with published results.
# - `docs/mechanisms/selection.md`: the k best candidates, and their counts.
#
# ## Run it
#
# `dpassay demo one-shot-top-k` takes about 4 s.
