# %% [markdown]
# # May noise be scaled to the sensitivity of a median at the data at hand?
#
# A company publishes the median of 101 salaries between 0 and 1. In the worst case one person moves a median from 0 to
# 1, so Laplace noise of scale 1/ε would hide everything. But here 50 people earn 0.49, the median is 0.5, and Anna, the
# next, earns 0.51: one person can move this median by 0.01 at most. So the program adds noise of scale 0.01/ε, ε = 1.

# %%
import numpy as np

from dpassay.audit import audit
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.literature.statistics import SmoothSensitivityMedian
from dpassay.mechanisms.literature.statistics.broken.median import LocalSensitivityMedian

SEED = 2007

company = np.array([0.49] * 50 + [0.5, 0.51] + [1.0] * 49)
with_a_raise = np.where(company == 0.51, 1.0, company)
pair = Neighbours(company, with_a_raise, "replace_one")
local = LocalSensitivityMedian(epsilon=1.0)
smooth = SmoothSensitivityMedian(epsilon=1.0, noise="laplace", delta=1e-6)
programs = {"local sensitivity": local, "smooth sensitivity": smooth, "global sensitivity": local.twin()}
results = {name: audit(program, pair, trials=100_000, seed=SEED) for name, program in programs.items()}

# %% tags=["hide-input"]
from dpassay.experiments.report.plots import style
from dpassay.mechanisms import Outputs

points = np.linspace(-0.5, 1.5, 2001)


def draw(program, title, top):
    """Return a function that draws the density of the published median on both sides of the pair."""

    def panel(ax):
        for data, colour, label in (
            (company, style.SIDE0, "Anna earns 0.51"),
            (with_a_raise, style.SIDE1, "Anna earns 1"),
        ):
            density = np.exp(program.log_density(Outputs(points), data))
            ax.plot(points, density, color=colour.light, label=label)
        ax.set_ylim(0.0, top)
        style.style_axes(ax, title=title, x="published median", y="density")

    return panel


style.panels(
    draw(local, "Local sensitivity", 5.0),
    draw(smooth, "Smooth sensitivity", 0.6),
    alt="Density of the published median for both salaries of Anna, with two kinds of noise.",
    size=(10.0, 3.6),
)

# %% [markdown]
# The median is 0.5 on both sides: Anna's raise does not move it. (On the left the narrow peak, cut off here, reaches a
# density of 50.) But her salary was what held the median in place from above. Without it, one more raise would move the
# median to 1, so its local sensitivity is 0.5, and the noise is fifty times as wide.

# %%
scale_of = {
    "local sensitivity": local.noise_scale,
    "smooth sensitivity": smooth.scale,
    "global sensitivity": local.twin().noise_scale,
}
for name, result in results.items():
    print(f"{name:18} scales {scale_of[name](company):.4f} and {scale_of[name](with_a_raise):.4f},", end=" ")
    print(f"lower bound {result.bound.epsilon:.2f}, {result.verdict}")

# %% [markdown]
# ## The surprise
#
# The noise is calibrated on each dataset to what one person can change, and the output does not change on average. Yet
# one output suffices: a published median of 0.7 is 20 scales away from 0.5 on one side, and less than half a scale on
# the other. The *scale* of the noise is a statistic of the data like any other, and was published without noise. No ε
# is large enough at δ = 0, since the ratio of the two densities has no upper limit.
#
# ## What one would wrongly conclude
#
# - "One output does not reveal a variance." One output far from the centre does. The worst case over outputs counts.
# - "Sensitivity is the most that one person changes." It is, over all pairs of datasets, not at this one: the scale may
#   depend on public numbers only, or must itself be private.
# - "So only the global sensitivity is left." The smooth sensitivity is a bound on the local one that changes by a
#   factor of at most e^β if one record changes (Nissim, Raskhodnikova and Smith, 2007). With Laplace noise this costs a
#   little δ. It helps where the data stay concentrated after a few changes; in this company they do not.

# %%
import pandas as pd

concentrated = np.concatenate([np.linspace(0.45, 0.55, 100), [0.5]])
others = {"this company": company, "everybody within 0.05 of 0.5": concentrated}
pd.DataFrame(
    {name: [scale(data) for scale in scale_of.values()] for name, data in others.items()}, index=scale_of
).round(4)

# %% [markdown]
# ## Exercise
#
# A colleague repairs the program with a floor: the noise has scale max(0.1, local sensitivity)/ε, "so that it is never
# tiny". Predict the verdict of the audit, and the ε at δ = 0.

# %% [markdown] tags=["answer"]
# `violation`, and ε is still infinite at δ = 0. The scales are 0.1 and 0.5 in place of 0.01 and 0.5: they still differ
# by a factor that one person decides, and far from the centre the narrower density is smaller by any factor.

# %% tags=["answer"]


class WithFloor(LocalSensitivityMedian):
    """Noise of scale max(0.1, local sensitivity) / epsilon."""

    def noise_scale(self, dataset):
        """Return the scale."""
        return max(0.1 / self.epsilon, super().noise_scale(dataset))


floor = WithFloor(epsilon=1.0)
repaired = audit(floor, pair, trials=100_000, seed=SEED)
print(f"scales {floor.noise_scale(company):g} and {floor.noise_scale(with_a_raise):g}:", end=" ")
print(f"lower bound {repaired.bound.epsilon:.2f}, {repaired.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo stability-histogram`: a threshold that adapts to the data, at the cost of δ.
# - `dpassay run statistics`: statistics with data-dependent noise.
# - `docs/mechanisms/noise.md`: smooth sensitivity, propose-test-release, and the others.
#
# ## Run it
#
# `dpassay demo local-sensitivity` takes about 3 s.
