# %% [markdown]
# # Is a shuffled epoch as private as the random batches of the accountant?
#
# A program trains for 100 steps on batches of expected size 1 out of 100 records, with noise multiplier 1. Its
# accountant assumes Poisson sampling: each record enters each batch with probability 1/100, independently. Its data
# loader does what most data loaders do: it shuffles the records, and each is in exactly one batch of the epoch.

# %%
from dpassay.audit import audit
from dpassay.experiments.report.plots import LadderPlot, figure_of
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.dp_sgd.broken.sampling import ShuffledCountedAsPoisson
from dpassay.mechanisms.learning.dp_sgd.sampling import PoissonSampling

SEED = 2024
RUNS, STEPS, DELTA = 20_000, 100, 1e-5

shuffled = ShuffledCountedAsPoisson()
common = {"steps": STEPS, "noise_multiplier": 1.0, "view": "noisy_gradients", "relation": "zero_out"}
batches = PoissonSampling(sampling_probability=1 / STEPS, expected_batch_size=1)
poisson = DPSGD(shuffled.model, sampling=batches, **common)
options = {"trials": RUNS, "delta": DELTA, "seed": SEED}
found = {
    "Poisson samples": audit(poisson, **options),
    "shuffled batches": audit(shuffled, **options),
}
figure_of(LadderPlot.from_results(found))

# %% [markdown]
# Each bar ends at a lower bound on ε at δ = 1e-5, with 95% confidence. The shuffled batches are drawn from 99 people
# whose gradients are −C, and Anna, whose gradient is C on one side and replaced by 0 on the other; the Poisson samples
# from Anna alone, which is the worst dataset for them. The attack is the likelihood ratio of all noisy sums. It knows
# how batches are drawn, not which batch Anna is in.

# %%
from dpassay.mechanisms.accounting.dp_sgd.deterministic_batches import shuffled_epsilon_at_least

for name, result in found.items():
    print(f"{name:16} claim {result.claim:.3f}, lower bound {result.bound.epsilon:.3f}, {result.verdict}")
at_least = shuffled_epsilon_at_least(1.0, batches=STEPS, delta=DELTA)
correct = shuffled.twin().guarantee().epsilon(DELTA)
print(f"epsilon of shuffled batches, by calculation: at least {at_least:.2f}, at most {correct:.2f}")

# %% [markdown]
# ## The surprise
#
# The two programs differ in the order of the records alone, and the expected number of uses of Anna's record is one in
# both. But ε is more than five times the claim.
#
# Sampling amplifies privacy because nobody knows in which steps Anna takes part. With Poisson samples the batches have
# random sizes: a sum of 0 may be an empty batch. With shuffled batches of one record every sum is −C except Anna's, so
# her batch betrays itself by its sum, unless the noise is large. Then the attacker has what the theorem assumes to be
# secret, and her one use of Gaussian noise costs what it costs without sampling: ε = 4.38.
#
# ## What one would wrongly conclude
#
# - "A permutation is random too." It is, and it may amplify for other parameters. But it is another law, in which the
#   batches depend on each other, and the theorem for Poisson samples does not speak of it.
# - "We fix it with more steps per epoch." With 1,000 steps the claim of Poisson sampling is 0.15, and shuffled batches
#   have ε of at least 2.88 (Chua and others, 2024).
# - "The bound is far below 4.06, so the true ε is smaller." At δ = 1e-5 the worst events are too rare for twenty
#   thousand runs. The verdict needs only that the bound exceeds the claim, at this δ or at another one.
#
# ## Exercise
#
# Go back to Poisson samples, which keep the claim. Now publish, with each noisy sum, the list of the records in its
# batch, "for reproducibility"; or fix the seed of the sampler, which is the same. Predict the verdict.

# %% [markdown] tags=["answer"]
# `violation`. Anna takes part K times, K binomial with mean 1. Who knows the steps subtracts the other gradients and
# adds up K noisy copies of hers: nothing is amplified, and K = 2 or 3 costs more than one use. The sampling is correct,
# but the sample is no longer secret.

# %% tags=["answer"]
import numpy as np

from dpassay.audit import PairScores, audit_scores

rng = np.random.default_rng(SEED)


def loss_of_known_steps(present):
    """Return the log likelihood ratio of the noisy sums of the steps with Anna, for each run."""
    uses = rng.binomial(STEPS, 1 / STEPS, RUNS)
    return uses * (present - 0.5) + np.sqrt(uses) * rng.standard_normal(RUNS)


scores = PairScores(loss_of_known_steps(0), loss_of_known_steps(1))
listed = audit_scores(scores, mechanism=poisson, delta=DELTA, seed=SEED)
print(f"claim {listed.claim:.3f}, lower bound {listed.bound.epsilon:.3f}, {listed.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo shuffled-responses`: another amplification that a list of names removes.
# - `dpassay run dp-sgd-sampling`: what the claims of sampling schemes are worth.
# - `docs/reference/learning.md`: the sampling schemes of DP-SGD and their accounting.
#
# ## Run it
#
# `dpassay demo shuffled-batches` takes about 6 s.
