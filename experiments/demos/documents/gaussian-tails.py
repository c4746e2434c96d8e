# %% [markdown]
# # Can the ε of noisy counts be read off the tail?
#
# Two teams publish a count and claim ε = 2 at δ = 0. One adds Laplace noise of scale 1/2, and is right. The other adds
# Gaussian noise of standard deviation 1, and is wrong: the log likelihood ratio of the counts 1 and 0 at output y is
# y − 1/2, without an upper limit. Someone runs both programs, counts outputs above t, and estimates ε as ln(TPR / FPR).

# %%
import numpy as np

from dpassay.audit import PairScores, audit_scores
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.mechanisms import Gaussian, Laplace
from dpassay.mechanisms.accounting import PureDP

SEED = 1933
RUNS, CLAIM = 100_000, PureDP(2.0)

thresholds = np.arange(1.0, 6.01, 0.25)
each = 1.0 - 0.05 / len(thresholds)  # 95% for all thresholds together, by the union bound
rng = np.random.default_rng(SEED)
estimates, bounds = {}, {}
for name, counts in (("Laplace", Laplace(2.0)), ("Gaussian", Gaussian(noise_multiplier=1.0))):
    scores = PairScores(*(counts.release(count, RUNS, rng).values for count in (0.0, 1.0)))
    hits = np.array([scores.hits(t) for t in thresholds])
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates[name] = np.log(hits[:, 1] / hits[:, 0])
    events = [ClopperPearson(threshold=t) for t in thresholds]
    audits = [audit_scores(scores, claim=CLAIM, bound=event, confidence=each) for event in events]
    bounds[name] = np.array([result.bound.epsilon for result in audits])

# %% tags=["hide-input"]
from scipy.stats import laplace, norm

from dpassay.experiments.report.plots import panels
from dpassay.experiments.report.plots.style import AMBER, BOUND, EXACT, style_axes

laws = {"Laplace": laplace(scale=0.5), "Gaussian": norm()}
truth = {name: law.logsf(thresholds - 1.0) - law.logsf(thresholds) for name, law in laws.items()}


def drawn(name):
    """Return a function that draws the estimates, bounds and true log ratios of one mechanism."""

    def draw(ax):
        known = np.isfinite(estimates[name])
        ax.plot(thresholds, truth[name], color=EXACT.light, label="true log ratio")
        ax.plot(thresholds, bounds[name], color=BOUND.light, label="lower bound")
        ax.plot(thresholds[known], estimates[name][known], "o", ms=4, color=AMBER.light, label="point estimate")
        top = thresholds[np.isposinf(estimates[name])]
        ax.plot(top, np.full(len(top), 6.2), "^", ms=5, color=AMBER.light, label="infinite estimate")
        ax.set_ylim(-0.2, 6.4)
        style_axes(ax, title=f"{name} noise, claim 2", x="threshold t", y="epsilon")

    return draw


panels(
    drawn("Laplace"),
    drawn("Gaussian"),
    alt="Epsilon against the threshold for Laplace and Gaussian noise: true log ratio, point estimate and lower bound.",
)

# %% [markdown]
# Each threshold is an event {y ≥ t}. The green line is its exact log ratio: 2 at all these t for Laplace noise, and
# without limit for Gaussian noise. The blue line is below the green one at all t at once, with 95% confidence.

# %%
for name in estimates:
    print(f"{name:8}: largest estimate {np.nanmax(estimates[name]):.2f}, largest bound {bounds[name].max():.2f}")

# %% [markdown]
# ## The surprise
#
# In the far tail the estimate of the honest team scatters too, and it is infinite as soon as only side 1 has an output
# above t. Few outputs lie there, and the largest of many uncertain numbers is too large. The lower bound does the
# opposite: where the outputs run out, it falls back to 0. So let 2,000 people repeat the study of Laplace noise, each
# with 100,000 runs on each side, and report the largest number that they see.

# %%
from dpassay.audit.bounds.numerics.rectangle import Rectangle

PEOPLE = 2_000


def hits_of_people(count):
    """Return the number of outputs above each threshold, `(PEOPLE, n_thresholds)`."""
    above = laws["Laplace"].sf(thresholds - count)
    cells = np.append(-np.diff(above), above[-1])
    below = 1.0 - cells.sum()
    drawn_cells = rng.multinomial(RUNS, np.append(cells, below), size=PEOPLE)[:, :-1]
    return np.cumsum(drawn_cells[:, ::-1], axis=1)[:, ::-1]


false_positives, true_positives = hits_of_people(0.0), hits_of_people(1.0)
with np.errstate(divide="ignore", invalid="ignore"):
    reported = np.nanmax(np.log(true_positives / false_positives), axis=1)
limits = Rectangle.at(false_positives, true_positives, n_out=RUNS, n_in=RUNS, significance=0.5 * (1.0 - each))
bounded = limits.log_ratios(0.0)[0].max(axis=1)
print(f"the estimate exceeds the true epsilon of 2 for {np.mean(reported > 2.0):.1%} of the people,")
print(f"it is infinite for {np.mean(np.isinf(reported)):.1%}, ", end="")
print(f"and the bound exceeds 2 for {np.mean(bounded > 2.0):.1%}")

# %% [markdown]
# ## What one would wrongly conclude
#
# - "The estimates of the Gaussian team are above 2, so its claim is false." The claim is false, but estimates above 2
#   do not show it: nearly everyone gets them for the honest team too. What refutes the claim is a bound above 2.
# - "In the tail the bound is 0, so the tail is safe." The bound is low where there is little evidence.
# - "The bound of Gaussian noise ends near 3, so ε is about 3." No ε holds at δ = 0. More runs see more of the tail, and
#   the bound grows with them, slowly; that of Laplace noise stays below 2.

# %%
from dpassay.audit import audit
from dpassay.experiments.report.plots import BoundClaim, figure_of

gaussian, sizes = Gaussian(noise_multiplier=1.0), (1_000, 10_000, 100_000, 1_000_000)
more_runs = {
    name: {n: audit(mechanism, claim=CLAIM, trials=n, confidence=0.999, seed=SEED) for n in sizes}
    for name, mechanism in (("Laplace", Laplace(2.0)), ("Gaussian", gaussian))
}
figure_of(BoundClaim.from_results(more_runs, x="runs on each side"))

# %% [markdown]
# ## Exercise
#
# The Gaussian team now claims ε = 2 at δ = 0.03. In the last cell, replace `CLAIM` by `ApproximateDP(2.0, 0.03)` for
# Gaussian noise, and predict the verdict. Does the bound still grow without limit?

# %% [markdown] tags=["answer"]
# `consistent`. The events far in the tail have less than δ of the probability and no longer count. At δ = 0.03 the
# exact ε of this noise is 1.83, and the bound approaches it from below. At δ = 0.02 the claim would be false: ε = 2
# needs δ = 0.0209.

# %% tags=["answer"]
from dpassay.mechanisms.accounting import ApproximateDP

relaxed = audit(gaussian, claim=ApproximateDP(2.0, 0.03), trials=1_000_000, confidence=0.999, seed=SEED)
print(f"exact epsilon at delta 0.03: {gaussian.guarantee().epsilon(0.03):.4f}")
print(f"exact delta at epsilon 2: {gaussian.guarantee().delta(2.0):.4f}")
print(f"lower bound {relaxed.bound.epsilon:.4f}, {relaxed.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo nominal-epsilon`: Gaussian noise whose ε at its δ is smaller than the formula says.
# - `dpassay run gaussian-calibrations`: three formulas for the noise, audited.
# - `docs/mechanisms/noise.md`: Laplace and Gaussian noise.
#
# ## Run it
#
# `dpassay demo gaussian-tails` takes about 4 s.
