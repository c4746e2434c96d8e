# %% [markdown]
# # Do two private choices with the same ε cost the same when repeated?
#
# Two mechanisms choose the best of two candidates, both with ε = 0.5 at δ = 0. The exponential mechanism adds Gumbel
# noise to the utilities. Permute-and-flip adds exponential noise, and chooses better ones more often. We compute the
# privacy loss of every outcome, for many pairs of utilities. No noise is drawn until an audit below.

# %%
import numpy as np

from dpassay.experiments.report.plots import panels
from dpassay.experiments.report.plots.style import AMBER, BLUE, CLAIM, style_axes
from dpassay.mechanisms.selection import Exponential, PermuteAndFlip

SEED = 2021
EPSILON = 0.5

mechanisms = {"exponential": Exponential(EPSILON, 2), "permute-and-flip": PermuteAndFlip(EPSILON, 2)}
leads = np.linspace(-4.0, 4.0, 161)  # of candidate 0 on side 0, in units of the noise
losses = {}
for name, mechanism in mechanisms.items():
    pairs = [mechanism.leading(1, lead) for lead in leads]  # candidate 0 gains, candidate 1 loses
    laws = [[mechanism.log_probabilities(side) for side in (pair.d0, pair.d1)] for pair in pairs]
    losses[name] = np.array([log1 - log0 for log0, log1 in laws])


# %% tags=["hide-input"]
def drawn(name, colour):
    """Return a function that draws the losses of both outcomes of one mechanism."""

    def draw(ax):
        ax.fill_between(leads, losses[name][:, 1], losses[name][:, 0], color=colour.light, alpha=0.25)
        ax.plot(leads, losses[name], color=colour.light)
        for limit in (-EPSILON, EPSILON):
            ax.axhline(limit, color=CLAIM.light, linestyle="--", linewidth=1.0)
        style_axes(ax, title=name, x="lead of candidate 0 on side 0", y="privacy loss of the two outcomes")

    return draw


panels(
    drawn("exponential", BLUE),
    drawn("permute-and-flip", AMBER),
    size=(9.0, 3.6),
    alt="Privacy losses of both outcomes against the lead of candidate 0, between -0.5 and 0.5 for both mechanisms.",
)

# %% [markdown]
# The lines are the losses of the outcomes 0 (top) and 1 (bottom). Both mechanisms stay between −ε and ε. The shaded
# interval has the width ε for the exponential mechanism, at every lead. For permute-and-flip it is wider.

# %%
widths = {name: np.ptp(both, axis=1) for name, both in losses.items()}
for name, width in widths.items():
    print(f"{name:16}: largest loss {np.abs(losses[name]).max():.4f}, ", end="")
    print(f"widths from {width.min():.4f} to {width.max():.4f}")

# %% [markdown]
# ## The surprise
#
# The odds of the exponential mechanism are e^(utility difference), so one person changes them by a factor of e^ε at
# most: bounded range. From ε-DP follows concentrated DP with ρ = ε²/2. From a bounded range ε follows ρ = ε²/8, a
# quarter (Dong, Durfee and Rogers, 2020; Cesar and Rogers, 2021). Here is the ρ that these pairs need: the largest
# Rényi divergence of order α, divided by α, over a grid of α, all pairs and both directions.

# %%
import pandas as pd
from scipy.special import logsumexp

orders = np.geomspace(1.0001, 100.0, 60)[:, np.newaxis]


def rho(mechanism):
    """Return the largest D_alpha / alpha over `orders`, the pairs at all `leads`, and both directions."""
    largest = 0.0
    for lead in leads:
        pair = mechanism.leading(1, lead)
        log0, log1 = (mechanism.log_probabilities(side) for side in (pair.d0, pair.d1))
        for p, q in ((log0, log1), (log1, log0)):
            divergence = logsumexp(orders * p + (1.0 - orders) * q, axis=1) / (orders[:, 0] - 1.0)
            largest = max(largest, float(np.max(divergence / orders[:, 0])))
    return largest


kinds, epsilons = (Exponential, PermuteAndFlip), (0.1, 0.5, 1.0, 2.0)
rhos = {epsilon: [rho(kind(epsilon, 2)) for kind in kinds] for epsilon in epsilons}
pd.DataFrame(
    {epsilon: [epsilon**2 / 8.0, *found, epsilon**2 / 2.0] for epsilon, found in rhos.items()},
    index=["ε²/8", "exponential", "permute-and-flip", "ε²/2"],
).T.rename_axis("epsilon").map("{:.5f}".format)

# %% [markdown]
# ## What one would wrongly conclude
#
# - "Selection costs ε²/8." Bounded range is a property of Gumbel noise, not of selection. Permute-and-flip has no more
#   than ε-DP, whose ρ is ε²/2. At ε = 0.1 it needs at least 3.8 times ε²/8.
# - "Then permute-and-flip is worse." It is better for one choice at the same ε. The difference shows when the choice is
#   repeated, and ρ adds up.
# - "A factor of four in ρ is a factor of four in ε." For many choices ε grows like √ρ: a factor of two.

# %% [markdown]
# ## One rule for both
#
# A library makes 50 choices of ε = 0.5 each and claims ρ = 50 ε²/8 for either mechanism. The audit reads all 50
# outcomes and states ε at δ = 0.05.

# %%
from dpassay.audit import audit
from dpassay.experiments.report.plots import LadderPlot, figure_of
from dpassay.mechanisms.accounting import ConcentratedDP
from dpassay.mechanisms.combinators import Repeated

options = {"trials": 50_000, "delta": 0.05, "confidence": 0.999, "seed": SEED}
claim = ConcentratedDP(50 * EPSILON**2 / 8.0)
audits = {
    name: audit(Repeated(mechanism, 50), mechanism.leading(1, -0.3), claim=claim, **options)
    for name, mechanism in mechanisms.items()
}
for name, result in audits.items():
    print(f"{name}: claim {result.claim:.2f}, lower bound {result.bound.epsilon:.2f}, {result.verdict}")
figure_of(LadderPlot.from_results(audits))

# %% [markdown]
# ## Exercise
#
# Report noisy max with Laplace noise, `ReportNoisyMax(EPSILON, n, noise="laplace")`, is a third way to choose with
# ε = 0.5. Predict the largest width of its losses on the pairs above, for n = 2 candidates. Is it the same for n = 20?

# %% [markdown] tags=["answer"]
# For two candidates the width is at most ε, as for Gumbel noise. For 20 candidates, one of which gains while the others
# lose, it is larger than ε. Some pairs, of few candidates, do not show a bounded range; a proof has to cover all pairs.
# For Gumbel noise it does: the odds of any two candidates depend on their two utilities only.

# %% tags=["answer"]
from dpassay.mechanisms.selection import ReportNoisyMax

laplace_widths = {}
for n in (2, 20):
    noisy_max = ReportNoisyMax(EPSILON, n, noise="laplace")
    pairs = [noisy_max.leading(1, lead) for lead in leads]
    laws = [[noisy_max.log_probabilities(side) for side in (pair.d0, pair.d1)] for pair in pairs]
    laplace_widths[n] = max(float(np.ptp(log1 - log0)) for log0, log1 in laws)
    print(f"{n:2} candidates: largest width {laplace_widths[n]:.4f}, epsilon {EPSILON}")

# %% [markdown]
# ## See also
#
# - `dpassay demo one-shot-top-k`: another property of Gumbel noise only.
# - `dpassay run exponential-choice`: the factor 2 of the exponential mechanism, audited.
# - `docs/mechanisms/selection.md`: private selection, and bounded range under composition.
#
# ## Run it
#
# `dpassay demo bounded-range` takes about 5 s.
