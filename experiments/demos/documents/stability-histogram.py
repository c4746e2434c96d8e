# %% [markdown]
# # Does it matter whether a histogram lists counts above a threshold or from it on?
#
# A hospital publishes how often each diagnosis occurs. It does not know all diagnoses in advance, so it adds two-sided
# geometric noise Z, with Pr[Z = z] proportional to a^|z|, to the counts that are positive, and lists those above a
# threshold T. With a = e^(−ε/2) and T = ⌈(2/ε) ln(1/δ)⌉ this is (ε, δ)-DP if one record is replaced. Our claim is ε = 1
# and δ = 0.05. A second program compares by >= in place of >.

# %%
from dpassay.audit import audit
from dpassay.experiments.report.plots import style
from dpassay.mechanisms.literature.statistics.broken.histograms import HistogramAtThreshold

SEED = 2009
EPSILON, DELTA, RUNS = 1.0, 0.05, 1_000_000

at_threshold = HistogramAtThreshold(epsilon=EPSILON, delta=DELTA, relation="replace_one")
above = at_threshold.twin()
programs = {"lists > T": above, "lists >= T": at_threshold}
results = {name: audit(program, trials=RUNS, seed=SEED) for name, program in programs.items()}
deltas = {name: program.exact_guarantee().delta(EPSILON) for name, program in programs.items()}

# %% tags=["hide-input"]
import numpy as np

T = above.threshold


def draw(ax):
    """Draw the law of a count of 1 with noise, and the two thresholds."""
    a = np.exp(-EPSILON / 2)
    values = np.arange(-6, 13)
    law = (1 - a) / (1 + a) * a ** np.abs(values - 1.0)
    colour = np.where(values > T, style.GREEN.light, np.where(values == T, style.VIOLATION.light, style.MUTED.light))
    ax.bar(values, law, color=colour, width=0.8)
    style.write(ax, T + 0.2, 0.03, f"listed by > {T}: {deltas['lists > T']:.4f}", style.GREEN, ha="left")
    style.write(
        ax, T - 0.3, 0.05, f"listed by >= {T} too: {deltas['lists >= T']:.4f} in all", style.VIOLATION, ha="left"
    )
    style.style_axes(ax, title="One patient with a rare diagnosis", x="noisy count", y="probability")
    ax.set_xticks(range(-6, 13, 2))


style.panels(
    draw, alt="Law of the noisy count of one patient, with the share above and from the threshold.", size=(8.4, 3.6)
)

# %% [markdown]
# Anna is the only patient with her diagnosis. Without her it is not listed, whatever the noise; with her it is listed
# if 1 + Z is large enough. For an event that happens on one side only, δ must be at least its probability, whatever ε
# is. For > it is a^T/(1 + a), and for >= it is a^(T−1)/(1 + a), e^(1/2) = 1.65 times as much.

# %%
for name, result in results.items():
    print(f"{name}: delta {deltas[name]:.4f} at epsilon 1; lower bound on epsilon at delta 0.05:", end=" ")
    print(f"{result.bound.epsilon:.2f}, {result.verdict}")

# %% [markdown]
# ## The surprise
#
# One character turns a δ of 0.0310 into 0.0511, above the claimed 0.05, and the loss is not a slightly larger ε: for no
# ε at all is the second program (ε, 0.05)-DP. The audit shows this as a bound that only its number of runs limits.
#
# A review of the output would notice nothing. Both programs list the same common diagnoses with the same noise.
#
# ## What one would wrongly conclude
#
# - "We tested at δ = 1e-6, and it was private." It was: the threshold is rounded up to a whole number, T = 28, and the
#   rounding compensates for the bug. Whether it does depends on ε and δ; the table shows some.
# - "Empty bins are zero, so they need no noise." This holds because a count of one is listed rarely. The threshold
#   takes the place of their noise, and is the reason for δ.
# - "The audit proves δ > 0.05." It says with 95% confidence that ε and δ do not both hold on this pair.

# %%
import pandas as pd

rows = {}
for delta in (0.05, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
    bug = HistogramAtThreshold(epsilon=EPSILON, delta=delta, relation="replace_one")
    rows[f"{delta:g}"] = {"T": bug.threshold, "> T": bug.twin().unique_probability, ">= T": bug.unique_probability}
by_delta = pd.DataFrame(rows).T.rename_axis("claimed delta")
by_delta["claim of >="] = np.where(by_delta[">= T"] > by_delta.index.astype(float), "broken", "holds")
by_delta.assign(T=by_delta["T"].astype(int)).map(lambda value: f"{value:.3g}" if isinstance(value, float) else value)

# %% [markdown]
# ## Exercise
#
# Count a patient who is added or removed, `relation="add_remove"`, in place of one who is replaced. Then a = e^(−ε),
# T = ⌈(1/ε) ln(1/δ)⌉ = 3, and a program with >= lists Anna with probability a²/(1 + a). Is the claim (1, 0.05) broken
# by less or by more than before?

# %% [markdown] tags=["answer"]
# By more: the probability is 0.0989, almost twice the claimed δ. A step of the threshold now costs a factor of e^ε in
# place of e^(ε/2). The correct program has 0.0364.

# %% tags=["answer"]
added = HistogramAtThreshold(epsilon=EPSILON, delta=DELTA, relation="add_remove")
added_result = audit(added, trials=100_000, seed=SEED)
print(f"T = {added.threshold}: {added.unique_probability:.4f}, correct {added.twin().unique_probability:.4f};", end=" ")
print(f"{added_result.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo add-or-replace`: the relation doubles ε, with the same noise.
# - `dpassay demo local-sensitivity`: noise that adapts to the data, without a threshold or δ.
# - `docs/mechanisms/noise.md`: counts, histograms and their sensitivities.
#
# ## Run it
#
# `dpassay demo stability-histogram` takes about 3 s.
