# %% [markdown]
# # Can noisy counts of large groups reveal what every single person answered?
#
# Each of n = 100 people has a secret bit. A system counts the ones in any group of people, and adds Gaussian noise of
# standard deviation 2, 4 or 8 to each count. An attacker asks for m random groups, about half of the people each, and
# looks for the column of bits whose exact counts are closest to the answers.

# %%
import numpy as np

from dpassay.attacks.literature.answers import BoxedLeastSquares, least_squares_accuracy
from dpassay.experiments.report.plots.style import EndLabel, end_labels, logarithmic, panels, series_colour, style_axes
from dpassay.mechanisms.literature.counts import GaussianSubsetCounts

SEED = 2003
N_PEOPLE, N_COLUMNS = 100, 40
QUERIES, NOISES = (50, 100, 200, 500, 1_000, 3_000), (2.0, 4.0, 8.0)
rng = np.random.default_rng(SEED)
secrets = rng.integers(0, 2, (N_COLUMNS, N_PEOPLE))


def correct_bits(system):
    """Return the share of bits that least squares finds, over 40 secret columns."""
    answers = np.concatenate([system.release(column, 1, rng).values for column in secrets])
    return float(BoxedLeastSquares().decode(system.subsets, answers).accuracy(secrets).mean())


shares = {
    noise: [correct_bits(GaussianSubsetCounts(N_PEOPLE, m, standard_deviation=noise)) for m in QUERIES]
    for noise in NOISES
}

# %% tags=["hide-input"]
ms = np.geomspace(N_PEOPLE + 1, QUERIES[-1], 100).astype(int)


def draw_queries(ax):
    labels = []
    for i, (noise, values) in enumerate(shares.items()):
        colour = series_colour(i)
        ax.plot(QUERIES, values, marker="o", linewidth=0, color=colour.light)
        ax.plot(ms, [least_squares_accuracy(N_PEOPLE, m, noise) for m in ms], color=colour.light)
        labels.append(EndLabel(values[-1], f"noise {noise:g}", colour))
    logarithmic(ax.xaxis, 45, 3_400)
    ax.set_xticks(QUERIES, [f"{m:,}" for m in QUERIES])
    ax.set_ylim(0.48, 1.02)
    style_axes(ax, title="Points: measured. Lines: formula", x="number of queries m", y="share of correct bits")
    end_labels(ax, labels)


panels(
    draw_queries,
    alt="Share of correct bits against the number of queries, for noise of standard deviation 2, 4 and 8. All rise "
    "from little above one half at 50 queries to nearly 1 at 3,000 queries.",
    size=(7.0, 4.2),
)

# %% [markdown]
# A guess is right for one half of the bits. The lines are Φ(√(m − n) / (4 · noise)), the accuracy of least squares
# without the knowledge that bits lie between 0 and 1, for m > n. With this knowledge the attack is a little better.

# %%
import pandas as pd

predicted = {m: [least_squares_accuracy(N_PEOPLE, m, noise) for noise in NOISES] for m in (500, 3_000)}
table = pd.DataFrame(shares, index=pd.Index([f"{m:,}" for m in QUERIES], name="queries m")).T.rename_axis("noise")
print("Share of correct bits:")
table.assign(**{f"formula, {m:,}": values for m, values in predicted.items()}).round(3)

# %% [markdown]
# ## The surprise
#
# An error of 4 in a count of fifty people seems to hide one person well, and no single answer says much about
# anybody. But each answer is one equation about the same 100 unknowns. Errors that are small against √n protect no
# column of n bits, whatever their form (Dinur and Nissim, 2003), and larger errors need more queries. A few huge errors
# do not help either: if some answers are arbitrary numbers and the others are exact, L1 decoding finds the column
# (Dwork, McSherry and Talwar, 2007), where least squares fails.

# %%
from dpassay.attacks.literature.answers import L1Decoding

groups = rng.integers(0, 2, (500, N_PEOPLE))
arbitrary = {}
for wrong in (50, 100, 150):
    bits = rng.integers(0, 2, N_PEOPLE)
    counts = groups @ bits
    counts[rng.choice(500, wrong, replace=False)] = rng.integers(0, N_PEOPLE, wrong)
    decoders = {"L1 decoding": L1Decoding(), "least squares": BoxedLeastSquares()}
    arbitrary[wrong] = {name: float(d.decode(groups, counts).accuracy(bits)[0]) for name, d in decoders.items()}
pd.DataFrame(arbitrary).T.rename_axis("arbitrary answers of 500").round(3)

# %% [markdown]
# ## What one would wrongly conclude
#
# - "So refuse odd groups, repeat the noise of repeated queries, and suppress small counts." A commercial system did
#   all three. Its query language had arithmetic, and a condition such as "the fractional part of 10 √(7 id) is below
#   one half" describes a group that is as good as random (Cohen and Nissim, 2020).

# %%
from dpassay.attacks.literature.answers import SubsetQueryAttack
from dpassay.mechanisms import Gaussian
from dpassay.mechanisms.literature.counts import Answerer

bits = rng.integers(0, 2, 120)
system = Answerer(bits, rng, noise=Gaussian(noise_multiplier=4.0), memory="sticky", suppressed_below=4.0)
careful = float(SubsetQueryAttack(n_primes=40).attack(system, np.arange(3_000, 3_120)).accuracy(bits)[0])
print(f"correct after {system.n_asked:,} such queries: {careful:.1%} of 120 bits, in spite of three defences")

# %% [markdown]
# - "Then add more noise." How much? One budget for all answers says it: with noise for a total of ε, no attack guesses
#   a bit with probability above e^ε / (1 + e^ε). The noise of each answer then grows with the number of answers.

# %%
import math

from dpassay.mechanisms.literature.counts import LaplaceSubsetCounts

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
systems = {epsilon: LaplaceSubsetCounts(epsilon, N_PEOPLE, 500) for epsilon in EPSILONS}
budget = pd.DataFrame(
    {
        "scale of the noise": [system.noise.scale for system in systems.values()],
        "correct bits": [correct_bits(system) for system in systems.values()],
        "ceiling of any attack": [1.0 / (1.0 + math.exp(-epsilon)) for epsilon in EPSILONS],
    },
    index=pd.Index(EPSILONS, name="ε of 500 answers"),
)
budget.round(3)

# %% [markdown]
# The noise for ε = 1 is larger than any count: 500 answers about 100 people cannot all be accurate and private. And a
# share near one half at ε = 10 does not make ε = 10 safe: the ceiling says what the guarantee excludes, and this is
# one attack.
#
# ## Exercise
#
# Now the answers are nearly exact: noise of standard deviation 0.01. With m = 25, 50 or 75 queries there are fewer
# equations than unknowns, and infinitely many columns of numbers fit all answers. Predict the share of correct bits.

# %% [markdown] tags=["answer"]
# Bits lie between 0 and 1, and this leaves few columns that fit: for random equations in general position the column is
# the only one, typically, as soon as m exceeds n / 2 (Donoho and Tanner, 2010). So 75 queries find nearly all of 100
# bits, and 50 find most of them. Knowing the range of the answers is worth half of the equations.

# %% tags=["answer"]
few = {m: correct_bits(GaussianSubsetCounts(N_PEOPLE, m, standard_deviation=0.01)) for m in (25, 50, 75)}
for m, share in few.items():
    print(f"{m} nearly exact answers: {share:.1%} of the bits are correct")

# %% [markdown]
# ## See also
#
# - `dpassay demo repeated-answers`: the same query, many times.
# - `dpassay demo query-release`: how accurate many answers can be under one budget.
# - `docs/attacks/attacks-on-answers.md`: all decoders, and the bound on ε that a reconstruction implies.
#
# ## Run it
#
# `dpassay demo column-from-counts` takes about 6 s.
