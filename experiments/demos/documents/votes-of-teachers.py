# %% [markdown]
# # When does a vote of teachers reveal what one teacher thinks?
#
# 250 teachers learn from disjoint parts of private data, so one person is known to one teacher. They vote on the label
# of a public record. Gaussian noise of standard deviation 40 is added to the counts of both labels, and only the winner
# is released (PATE, Papernot et al. 2018). A thousand such labels train a public student. What do they cost?

# %%
import numpy as np

from dpassay.experiments.report.plots.style import BLUE, CLAIM, EndLabel, end_labels, panels, style_axes
from dpassay.mechanisms.accounting import ConcentratedDP
from dpassay.mechanisms.literature.pate import GNMax, data_dependent

SEED = 250

gnmax = GNMax(40.0, n_classes=2, n_queries=1_000)
all_votes = ConcentratedDP(gnmax.rho).textbook_epsilon(1e-5)
by_lead = {}
for lead in (0, 20, 50, 100, 150, 200, 240):
    votes = np.tile([(250 - lead) // 2, (250 + lead) // 2], (1_000, 1))
    by_lead[lead] = data_dependent(gnmax, votes).epsilon(1e-5)


def draw(ax):
    """Draw epsilon against the lead."""
    ax.axhline(all_votes, color=CLAIM.light)
    ax.plot(list(by_lead), list(by_lead.values()), marker="o", color=BLUE.light)
    ax.set_ylim(0.0, 1.1 * all_votes)
    style_axes(ax, title="A thousand answers", x="lead of the winner, votes", y="epsilon at delta = 1e-5")
    end_labels(ax, [EndLabel(all_votes, "all votes", CLAIM), EndLabel(by_lead[240], "these votes", BLUE)])


panels(draw, alt="Epsilon of a thousand answers falls with the lead of the winner, far below that for all votes.")

# %%
print(f"for all votes: epsilon = {all_votes:.2f}")
print(", ".join(f"lead {lead}: {epsilon:.2f}" for lead, epsilon in by_lead.items()))

# %% [markdown]
# The upper line holds whatever the votes are. The other is data-dependent: it holds for these votes. At a tie one
# teacher may decide, so a tie costs as much as is possible. With a clear majority the noise practically never changes
# the winner, whatever one teacher does, and the answer is almost free.
#
# ## From teachers to a student
#
# 50 teachers learn from 24 handwritten digits each, and label 300 others. A student learns from these labels only.
# LNMax has Laplace noise. Confident-GNMax answers only if enough teachers agree, by a noisy check. The table has ε for
# all votes and for these votes, and the shares of correct labels and of correct predictions of the student.

# %%
import pandas as pd

from dpassay.experiments.literature.votes.teachers import row, votes_on
from dpassay.mechanisms.literature.pate import ConfidentGNMax, LNMax

digits = votes_on("digits", n_teachers=50, n_queries=300)
options = {"n_teachers": 50, "n_classes": 10, "n_queries": 300}
aggregators = (LNMax(0.1, **options), GNMax(10.0, **options), ConfidentGNMax(35.0, 20.0, 8.0, **options))
results = [row(digits, aggregator, seed=SEED) for aggregator in aggregators]
print(f"nearest neighbour among all 1,200 digits, without privacy: {digits.baseline:.1%}")
frame = pd.DataFrame(
    [[r.aggregator, r.answered, r.for_all_votes, r.on_these_votes, r.right, r.student] for r in results],
    columns=["aggregator", "answered", "all votes", "these votes", "labels", "student"],
)
frame.set_index("aggregator").round(3)

# %% [markdown]
# ## The surprise
#
# The smaller ε is a secret. It is computed from the votes, so it tells something about them: whoever publishes "our
# answers had ε = ..." publishes a function of private data without noise. We audit the release of 200 labels with this
# number, and its repair, which adds noise by the smooth sensitivity of the number.

# %%
from dpassay.audit import audit
from dpassay.experiments.report.plots import LadderPlot, figure_of
from dpassay.mechanisms.literature.pate import PrivateEpsilon
from dpassay.mechanisms.literature.pate.broken import EpsilonOfVotes

base = GNMax(40.0, n_queries=200)
exact_number, noisy_number = EpsilonOfVotes(base), PrivateEpsilon(base)
pair = exact_number.worst_case()
first, second, deviation = exact_number.epsilon(pair.d0), exact_number.epsilon(pair.d1), noisy_number.deviation(pair.d0)
print(f"epsilon on the votes of a pair that differs by one teacher: {first:.3f} and {second:.3f}")
print(f"standard deviation of the noise of the repair: {deviation:.2f}")
published = {"trials": 2_000, "delta": 1e-5, "confidence": 0.999, "seed": SEED}
audits = {"with the exact number": audit(exact_number, **published)}
audits["the noisy number"] = audit(noisy_number, **published)
figure_of(LadderPlot.from_results(audits))

# %% [markdown]
# The noise of the repair is larger than the difference, and the published number is of limited use: for the guarantee,
# quote the ε for all votes.
#
# ## What one would wrongly conclude
#
# - "Our ε was 0.44." It was so on these votes, and nobody may be told. Only the ε for all votes is a guarantee.
# - "The student is a step away from the votes, so it leaks less." The student is post-processing, so it leaks at most
#   what the labels do. It may leak nearly as much: below, an attack uses only the loss of the student on one record.

# %%
from dpassay.attacks.distinguishing.canary_attacks import CanaryLoss
from dpassay.mechanisms.literature.pate import PATE

few = GNMax(8.0, n_teachers=20, n_classes=2, n_queries=20)
audited = {"trials": 4_000, "delta": 1e-2, "confidence": 0.999, "seed": SEED}
labels = audit(PATE(few, view="labels"), **audited)
student = audit(PATE(few, steps=5), attack=CanaryLoss(), **audited)
print(f"claim {labels.claim:.2f}; lower bound from the labels {labels.bound.epsilon:.2f},")
print(f"from the loss of the student on the record {student.bound.epsilon:.2f}")

# %% [markdown]
# ## Exercise
#
# "The check of Confident-GNMax only selects queries, it publishes no count. So it needs no noise." Predict the verdict
# for the claim of the answers alone, `CheckWithoutNoise`.

# %% [markdown] tags=["answer"]
# A violation. Whether there is an answer is public too. If exactly as many teachers agree as the threshold asks for,
# one teacher decides whether the query is answered, and the difference is visible with certainty: ε is infinite.

# %% tags=["answer"]
from dpassay.mechanisms.literature.pate.broken import CheckWithoutNoise

no_noise = audit(CheckWithoutNoise(200.0, 150.0, 40.0, n_queries=5), **published)
print(f"claim {no_noise.claim:.2f}, lower bound {no_noise.bound.epsilon:.2f}, {no_noise.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo dp-sgd`: noise on gradients instead of votes.
# - `dpassay run pate`: every part of PATE, audited.
# - `docs/mechanisms/pate.md`: results on MNIST, Adult and a stand-in for Glyph.
#
# ## Run it
#
# `dpassay demo votes-of-teachers` takes about 5 s.
