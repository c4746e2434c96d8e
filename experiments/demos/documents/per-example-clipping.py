# %% [markdown]
# # Does it matter whether DP-SGD clips each gradient or their mean?
#
# In each step DP-SGD clips gradients to norm C, averages the B gradients of a batch, and adds Gaussian noise with
# standard deviation zC/B to the average. Two programs differ in one line: the first clips each gradient and then
# averages, the second averages and then clips. Both claim ε = 1 at δ = 1e-5 after four steps with z = 7.46.

# %%
import numpy as np

from dpassay.audit import audit
from dpassay.experiments.report.plots import BoundClaim, figure_of
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd.broken.clipping import MeanClipped
from dpassay.mechanisms.learning.dp_sgd.sampling import FullBatch

SEED = 2016
SIZES = (2, 5, 10, 20)


def canary_of_norm(norm, size):
    """Return size - 1 people with gradient -2 C in one direction, to whom comes a canary with gradient norm * C."""
    direction = MeanClipped().canary
    sides = [np.outer(norms, direction) for norms in ([-2.0] * (size - 1), [-2.0] * (size - 1) + [norm])]
    return Neighbours(*(TrainingData(np.empty((0, 4)), np.empty(0), rows) for rows in sides), "add_remove")


clip_mean = {size: MeanClipped(sampling=FullBatch(expected_batch_size=size)) for size in SIZES}
clip_each = {size: trainer.twin() for size, trainer in clip_mean.items()}
options = {"trials": 10_000, "delta": 1e-5, "seed": SEED}
mean = {size: audit(clip_mean[size], canary_of_norm(4.0 * size, size), **options) for size in SIZES}
each = {size: audit(clip_each[size], canary_of_norm(4.0 * size, size), **options) for size in SIZES}
figure_of(BoundClaim.from_results({"clips the mean": mean, "clips each gradient": each}, x="batch size B"))

# %% [markdown]
# Each point is a lower bound on ε with 95% confidence, from ten thousand runs on B − 1 people and as many with the
# canary: one more person, whose gradient points the other way and has norm 4BC. A canary may be anything: the claim is
# about every dataset. An attack that sees every noisy sum tells how often the two sides can be distinguished.

# %%
for size in SIZES:
    print(f"B = {size:2}: clips the mean {mean[size].bound.epsilon:.2f}, {mean[size].verdict};", end=" ")
    print(f"clips each {each[size].bound.epsilon:.2f}, {each[size].verdict}")
print(f"the most that so many runs can show: {mean[20].bound.ceiling:.2f}")

# %% [markdown]
# ## The surprise
#
# If each gradient is clipped, the canary adds at most C to the sum, hence C/B to the average: the noise zC/B is z times
# that. If the mean is clipped, it has norm C in the direction of the B − 1 people before the canary comes, and norm C
# in the direction of the canary afterwards. It moves by 2C, which is 2B times the declared sensitivity. The noise has
# not changed, so the noise multiplier is in fact z/(2B), and the larger the batch, the less private the training.
#
# The bounds of the audit stop growing at what its number of runs can show. The true curve does not stop.

# %%
import pandas as pd

truth = [clip_mean[size].exact_guarantee() for size in SIZES]
claimed = clip_each[2].guarantee()
pd.DataFrame(
    {
        "mu": [law.mu for law in truth],
        "mu / claimed": [law.mu / claimed.mu for law in truth],
        "true epsilon": [law.epsilon(1e-5) for law in truth],
    },
    index=pd.Index(SIZES, name="B"),
).round(2)

# %% [markdown]
# ## What one would wrongly conclude
#
# - "It trains well, and the norm of the update is at most C, so it is right." The bound on the *update* holds in both
#   programs. Privacy needs a bound on what *one person* changes. The function `clip_grad_norm_` of ordinary training
#   gives the former only.
# - "A large batch hides one person among many." It does if each of the B people moves the mean by at most C/B. If only
#   the mean is clipped, one person can decide its direction.
# - "Nobody has a gradient of norm 4BC." A mislabelled record of a model that is otherwise certain has a large gradient,
#   and the claim has no exception for it.
#
# ## Exercise
#
# The audit inserted a canary of norm 4BC. Give it norm C, by `canary_of_norm(1.0, size)`, as if it had been clipped
# before. Predict the verdict on the program that clips the mean, for B = 10.

# %% [markdown] tags=["answer"]
# `consistent`, and the bound is close to 0: the mean of the nine others with the canary is (−18 + 1)/10 = −1.7 in units
# of C, which is clipped to −1, as is −1.8 without the canary. The outputs have the same law on both sides. The bug is
# still there, and this pair does not show it. An audit tests a claim on the pair that it is given.

# %% tags=["answer"]
tame = audit(clip_mean[10], canary_of_norm(1.0, 10), **options)
print(f"lower bound {tame.bound.epsilon:.4f}, {tame.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo dp-sgd`: a classifier of digits, its accountants, and attacks of several strengths.
# - `dpassay run bugs`: this bug among others, each with its correct twin.
# - `docs/reference/bugs.md`: the list of bugs, with their causes and sources.
#
# ## Run it
#
# `dpassay demo per-example-clipping` takes about 3 s.
