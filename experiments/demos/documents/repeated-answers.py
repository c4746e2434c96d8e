# %% [markdown]
# # Does an answer stay private if the same query is asked a hundred times?
#
# "How many of these 40 people are ill?" A query system adds Laplace noise of scale 1 to the count. One answer is
# private, with ε = 1. An attacker knows all people except Bob, asks the same query K times, and takes the mean. Three
# systems claim ε = 1 for Bob: one draws new noise for each answer, one repeats its first noise (sticky noise), and one
# divides a budget, so that each of the K answers has ε / K.

# %%
import numpy as np

from dpassay.attacks.literature.answers import Averaging
from dpassay.audit import audit
from dpassay.experiments.report.plots import BoundClaim, figure_of
from dpassay.mechanisms import Laplace, Neighbours, PureDP
from dpassay.mechanisms.literature.counts import Answerer

SEED = 119
people = np.arange(40) % 4 == 0
healthy, ill = (np.append(people[1:], bob) for bob in (0, 1))


def mean_of(k, epsilon=1.0, memory="fresh"):
    """Return a function that gives the mean of k noisy answers, in `size` independent systems."""
    return lambda bits, size, rng: Averaging(k).count(
        Answerer(np.tile(bits, (size, 1)), rng, noise=Laplace(epsilon), memory=memory), np.ones(40)
    )


answers, options = (1, 4, 16, 64), {"claim": PureDP(1.0), "trials": 10_000, "confidence": 0.999, "seed": SEED}
pair = Neighbours(healthy, ill, "replace_one")
fresh = {k: audit(mean_of(k), neighbours=pair, **options) for k in answers}
sticky = {k: audit(mean_of(k, memory="sticky"), neighbours=pair, **options) for k in answers}
budget = {k: audit(mean_of(k, 1.0 / k), neighbours=pair, **options) for k in answers}
figure_of(BoundClaim.from_results({"fresh": fresh, "sticky": sticky, "budget": budget}, x="answers K"))

# %% [markdown]
# Each point is a lower bound on ε, from 10,000 systems in which Bob is ill and 10,000 in which he is not. The audit
# sees the mean only; it knows neither the noise nor K.

# %%
import pandas as pd

audits = {"fresh noise": fresh, "sticky noise": sticky, "ε / K each": budget}
columns = {name: [f"{r.bound.epsilon:.3f}, {r.verdict}" for r in results.values()] for name, results in audits.items()}
pd.DataFrame(columns, index=pd.Index(answers, name="answers K"))

# %% [markdown]
# ## The error of the mean
#
# One answer has a standard deviation of √2 = 1.41 people. The mean of K independent answers has √(2 / K): with a
# hundred answers 0.14, a small part of one person. Sticky noise does not average out. With a budget, more answers
# make the mean worse: the noise of each one grows like K, and the mean recovers only a factor of √K.

# %%
rng = np.random.default_rng(SEED)
repeats = (1, 4, 16, 64, 100)
spread = {
    "fresh noise": [mean_of(k)(ill, 2_000, rng).std() for k in repeats],
    "√(2 / K)": [np.sqrt(2.0 / k) for k in repeats],
    "sticky noise": [mean_of(k, memory="sticky")(ill, 2_000, rng).std() for k in repeats],
    "ε / K each": [mean_of(k, 1.0 / k)(ill, 2_000, rng).std() for k in repeats],
    "√(2 K)": [np.sqrt(2.0 * k) for k in repeats],
}
print("Standard deviation of the mean over 2,000 systems, in people:")
pd.DataFrame(spread, index=pd.Index(repeats, name="answers K")).round(3)

# %% [markdown]
# ## The surprise
#
# Nothing is wrong with any single answer. Each has ε = 1, and K of them together have K: privacy is spent by answers,
# not by queries, and a system that forgets what it answered forgets what it has spent.
#
# The mean is not even the best attack. If Bob's bit is a fair coin, no rule guesses it from K answers more often than
# (1 + D) / 2, where D is the total variation distance of the answers; for one answer this is 1 − e^(−1/2) / 2 = 0.6967.
# The likelihood ratio attains it. A guarantee of ε = 1 would allow e / (1 + e) = 0.7311, however many answers there
# are.

# %%
from dpassay.audit.bounds.numerics import binomial
from dpassay.mechanisms import Repeated

n_games = 20_000


def share(right):
    """Return the share of right guesses, with its 99.9% confidence interval."""
    k = np.count_nonzero(right)
    low, high = binomial.lower(k, n_games, 0.0005), binomial.upper(k, n_games, 0.0005)
    return k / n_games, float(low), float(high)


optimum, by_mean, by_ratio = {}, {}, {}
for k in repeats:
    mechanism = Repeated(Laplace(1.0), k)
    optimum[k] = 0.5 + 0.5 * mechanism.exact_guarantee().delta(0.0)
    bob = rng.integers(0, 2, n_games)
    noisy = mechanism.release(0.0, n_games, rng).values + bob[:, None]
    by_mean[k] = share((noisy.mean(axis=1) > 0.5) == bob)
    by_ratio[k] = share(((np.abs(noisy) - np.abs(noisy - 1.0)).sum(axis=1) > 0.0) == bob)
text = "{0[0]:.4f} ({0[1]:.4f} to {0[2]:.4f})".format
columns = {"by the mean": map(text, by_mean.values()), "by the likelihood ratio": map(text, by_ratio.values())}
print(f"Share of {n_games:,} guesses that are right, with 99.9% confidence intervals:")
pd.DataFrame(columns | {"optimum": map("{:.4f}".format, optimum.values())}, index=pd.Index(repeats, name="answers K"))

# %% [markdown]
# A measured share may lie above the optimum by chance, which is why it has an interval. For one answer
# both rules are the same.
#
# ## What one would wrongly conclude
#
# - "Each answer is private, so the system is." Guarantees add up. Only a budget for all answers together is a
#   guarantee: here is a system that stops when ε = 3 is spent.

# %%
system = Answerer(ill, rng, noise=Laplace(1.0), budget=3.0)
answered = int(np.count_nonzero(~np.isnan(system.ask_again(np.ones(40), 100))))
print(f"answers to 100 queries: {answered}; epsilon spent: {system.spent:g}")

# %% [markdown]
# - "`consistent` with sticky noise and 64 answers, so sticky noise is private." It protects one query, not one
#   person. The exercise asks another.
# - "The budget is the better system, as its bound is the lowest for many answers." Its claim is the same and is true.
#   The bound is low because the mean is a weak attack on 64 answers of ε = 1/64.
#
# ## Exercise
#
# Sticky noise again. The attacker does not repeat a query: query j counts all people except person j, for 16 people
# other than Bob. The bits of these people are known, so each answer becomes a noisy count of all. Predict the verdict
# on the mean of the 16 counts.

# %% [markdown] tags=["answer"]
# `violation`. The sets differ, so each answer has its own noise, and Bob is in all of them. The attack is that on fresh
# noise. Recognising equal queries does not help against queries that are equivalent.

# %% tags=["answer"]
without_one = 1 - np.eye(40)[:16]


def equivalent_queries(bits, size, rng):
    """Return the mean of 16 sticky answers, each corrected for the person whom it does not count."""
    system = Answerer(np.tile(bits, (size, 1)), rng, noise=Laplace(1.0), memory="sticky")
    return (system.ask_all(without_one) + healthy[:16]).mean(axis=1)


evaded = audit(equivalent_queries, neighbours=pair, **options)
print(f"lower bound {evaded.bound.epsilon:.3f}, claim {evaded.claim:g}, {evaded.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo column-from-counts`: different queries, which reveal a whole column.
# - `dpassay demo add-or-replace`: what the ε of one count means.
# - `docs/attacks/attacks-on-answers.md`: averaging, differencing and other attacks on query systems.
#
# ## Run it
#
# `dpassay demo repeated-answers` takes about 6 s.
