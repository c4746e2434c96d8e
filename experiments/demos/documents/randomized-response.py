# %% [markdown]
# # What does a randomised answer reveal, and does an audit notice a biased coin?
#
# "Have you ever dodged your taxes?" Before you answer, toss a coin in secret. Heads: tell the truth. Tails: toss it
# again, and say yes on heads, no on tails (Warner, 1965). Every answer is deniable, since it may come from the coin.
# The claim is ε = ln 3 = 1.0986 for each person. Now one survey uses a coin that falls on heads 52 times in 100.

# %%
import math

from dpassay.audit import audit
from dpassay.experiments.report.plots import BoundClaim, figure_of
from dpassay.mechanisms import RandomizedResponse
from dpassay.mechanisms.local.broken import BiasedCoinResponse

SEED = 1965

survey, biased_survey = RandomizedResponse.two_coin(), BiasedCoinResponse(heads=0.52)
runs = (1_000, 10_000, 100_000, 1_000_000)
fair = {n: audit(survey, trials=n, confidence=0.999, seed=SEED) for n in runs}
biased = {n: audit(biased_survey, trials=n, confidence=0.999, seed=SEED) for n in runs}
figure_of(BoundClaim.from_results({"fair coins": fair, "biased coin": biased}, x="runs on each side"))

# %% [markdown]
# Each point is an audit: it runs the survey many times on Bob who dodges and many times on Bob who does not, and turns
# the counts of yes and no into a lower bound on ε, which is at most the true ε with probability 0.999.

# %%
import pandas as pd

columns = {
    "fair coins": [f"{result.bound.epsilon:.4f}" for result in fair.values()],
    "verdict": [str(result.verdict) for result in fair.values()],
    "biased coin": [f"{result.bound.epsilon:.4f}" for result in biased.values()],
    "its verdict": [str(result.verdict) for result in biased.values()],
}
pd.DataFrame(columns, index=pd.Index([f"{n:,}" for n in runs], name="runs on each side"))

# %% [markdown]
# ## What the number ε means
#
# Tammy, the tax investigator, believes that Bob dodges with probability 0.02. He says yes, and her belief becomes
#
#     0.02 · 3/4 / (0.02 · 3/4 + 0.98 · 1/4) = 3/52 = 0.0577
#
# For every belief, an answer multiplies the odds by 3 or divides them by 3. This factor is e^ε. It holds for each
# person, and nobody has to trust the data collector (local privacy).

# %%
beliefs = (0.001, 0.02, 0.1, 0.5, 0.9)
after = {prior: [survey.posterior(prior=prior, answer=answer) for answer in (0, 1)] for prior in beliefs}
pd.DataFrame(
    {"after no": [no for no, _ in after.values()], "after yes": [yes for _, yes in after.values()]},
    index=pd.Index(beliefs, name="belief"),
).round(4)

# %% [markdown]
# ## The surprise
#
# The answers of the biased survey look the same: two heads too many in a hundred show neither in one answer nor in a
# thousand. But people now tell the truth slightly too often. A "no" changes the odds by 1 + 0.52 / 0.48² = 3.26 instead
# of 3, so the true ε is 1.18, above the claim. With a million runs the audit refutes the claim, whatever the proof of
# the protocol says: the proof is right, and the coin is not that of the proof.

# %%
true_epsilon = biased_survey.exact_guarantee().epsilon(0.0)
print(f"true epsilon of the biased survey: {true_epsilon:.4f}, claimed: {math.log(3):.4f}\n")
print(biased[1_000_000].evidence())

# %% [markdown]
# ## What one would wrongly conclude
#
# - "A thousand runs found nothing, so the coin is fair." `consistent` says that this many runs did not refute the
#   claim. For a difference of 0.08 in ε, a thousand runs are too few.
# - "The bound grows with the number of runs." Each bound is a random number of its own: a larger audit is closer to ε
#   on average, and may still give a slightly lower bound than a smaller one.
# - "The attack found ln 3 without knowing it." The attack is the likelihood ratio, which knows the coins. Here this is
#   no advantage: there are two answers, and every sensible attack calls a yes a dodger.
# - "Noise ruins the survey." It averages out over many people. If a share m dodges, yes has probability 1/4 + m/2, so
#   2 · (share of yes) − 1/2 estimates m, and N · variance = 3/4 + m (1 − m), where truthful answers give m (1 − m).

# %%
import numpy as np

rng = np.random.default_rng(SEED)


def two_coins(dodges):
    """Return an answer for each person, True for yes."""
    first, second = rng.integers(0, 2, size=(2, *dodges.shape), dtype=np.int8).astype(bool)
    return np.where(first, dodges, second)


n_surveys, n_people = 20_000, 400
shares = (0.02, 0.1, 0.5)
formula = [n_people * survey.estimator_variance(share, n_people) for share in shares]
truthful = [share * (1.0 - share) for share in shares]
simulated = []
for share in shares:
    answers = two_coins(rng.random((n_surveys, n_people), dtype=np.float32) < share)
    simulated.append(n_people * float(np.var(survey.estimate_mean(answers))))
print(f"N * variance of the estimate in {n_surveys:,} simulated surveys of {n_people} people:")
pd.DataFrame(
    {"truthful": truthful, "formula": formula, "simulated": simulated}, index=pd.Index(shares, name="share m")
).round(4)

# %% [markdown]
# A trusted curator would do better: people tell the truth, and Laplace noise of scale 1 / ln 3 = 0.91 people is added
# once, to the total. At the same ε, and m = 1/2, the curator loses almost nothing, and the two coins double the
# standard error for every number of people. This is the cost of local privacy.

# %%
sizes = (100, 10_000, 1_000_000)
central = {n: 0.25 / n + 2.0 / (math.log(3) * n) ** 2 for n in sizes}
local = {n: survey.estimator_variance(0.5, n) for n in sizes}
errors = {
    "truthful": [0.5 / math.sqrt(n) for n in sizes],
    "curator": [math.sqrt(central[n]) for n in sizes],
    "two coins": [math.sqrt(local[n]) for n in sizes],
}
print("Standard error of the estimated share:")
pd.DataFrame(errors, index=pd.Index([f"{n:,}" for n in sizes], name="people")).map("{:.3%}".format)

# %% [markdown]
# ## Exercise
#
# Take the other coin: heads 48 times in 100. It is as far from fair as the first one. Change `heads=0.52` to
# `heads=0.48` in the first cell, and predict the verdict with a million runs before you run it.

# %% [markdown] tags=["answer"]
# `consistent`. With fewer heads people tell the truth less often. A "yes" changes the odds by 1 + 1 / 0.52 = 2.92, and
# a "no" by 1 + 0.48 / 0.52² = 2.78. Both are less than 3: the coin is wrong, and the claim still holds. A lower bound
# tests the claim, not the code.

# %% tags=["answer"]
shy_survey = BiasedCoinResponse(heads=0.48)
shy = audit(shy_survey, trials=1_000_000, confidence=0.999, seed=SEED)
print(f"lower bound {shy.bound.epsilon:.4f}, claim {shy.claim:.4f}, {shy.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo add-or-replace`: what ε means depends on the neighbouring relation.
# - `dpassay run randomized-response-survey`: the survey as an experiment, with a report.
# - `docs/mechanisms/local.md`: local mechanisms, and the accuracy of their estimates.
#
# ## Run it
#
# `dpassay demo randomized-response` takes about 5 s.
