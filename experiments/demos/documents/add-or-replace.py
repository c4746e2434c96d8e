# %% [markdown]
# # Does an epsilon mean anything without its neighbouring relation?
#
# How many Canadians have blue eyes, and how many do not? We publish both counts with Laplace noise of scale 10 and
# claim ε = 0.1. The noise is fixed. The only question is what two neighbouring datasets are: does one person come, or
# does one person change?

# %%
from dpassay.audit import audit
from dpassay.experiments.report.plots import LadderPlot, figure_of
from dpassay.mechanisms import Laplace, Neighbours
from dpassay.mechanisms.noise.broken import LaplaceUnitSensitivity

SEED = 30
TRIALS = 1_000_000

one_more = Neighbours([0.0, 0.0], [1.0, 0.0], "add_remove")
one_changed = Neighbours([1.0, 0.0], [0.0, 1.0], "replace_one")
counts = Laplace(0.1, n_queries=2, relation="add_remove")
same_noise = LaplaceUnitSensitivity(0.1, sensitivity=2.0, n_queries=2, relation="replace_one")
added = audit(counts, one_more, trials=TRIALS, seed=SEED)
replaced = audit(same_noise, one_changed, trials=TRIALS, seed=SEED)
figure_of(LadderPlot.from_results({"one person comes": added, "one person changes": replaced}))

# %% [markdown]
# Each bar ends at a lower bound on ε: what an attack on a million runs per side shows with 95% confidence. The
# vertical lines are the claims.

# %%
for name, result in (("comes", added), ("changes", replaced)):
    print(f"one person {name}: claim {result.claim}, lower bound {result.bound.epsilon:.4f}, {result.verdict}")
print(f"scale of the noise in both: {counts.scale:g} people")

# %% [markdown]
# ## The surprise
#
# The same noise keeps its claim under `add_remove` and breaks it under `replace_one`. If Anna comes, one of the two
# counts increases by one. If the colour of her eyes changes, one count increases *and* the other decreases: the counts
# move by 2 in L1 distance, and ε doubles to 0.2.
#
# Neither relation is wrong. They answer different questions: was Anna counted, or what colour are her eyes?
#
# ## What one would wrongly conclude
#
# "The noise has scale 1 / ε, so ε holds." Scale 1 / ε is right for a sensitivity of 1, and the sensitivity depends on
# the relation. The library refuses to guess: it compares the relation of the claim with that of the pair, and the
# distance of the pair with the sensitivity.

# %%
from dpassay.mechanisms.core.errors import NeighboursError, RelationError

for relation in ("add_remove", "replace_one"):
    try:
        audit(Laplace(0.1, n_queries=2, relation=relation), one_changed, trials=TRIALS, seed=SEED)
    except (RelationError, NeighboursError) as refusal:
        print(f"{type(refusal).__name__}: {refusal}\n")

# %% [markdown]
# A program without this check is a common bug; `LaplaceUnitSensitivity` above is one. There are two repairs. Publish
# both counts with scale 20. Or publish one count with scale 10: under `replace_one` the number of people is public, and
# it determines the other count.

# %%
both = Laplace(0.1, sensitivity=2.0, n_queries=2, relation="replace_one")
single = Laplace(0.1, relation="replace_one")
repaired = audit(both, one_changed, trials=TRIALS, seed=SEED)
one_count = audit(single, Neighbours(1.0, 0.0, "replace_one"), trials=TRIALS, seed=SEED)
figure_of(LadderPlot.from_results({"two counts, scale 20": repaired, "one count, scale 10": one_count}))

# %% [markdown]
# ## Exercise
#
# The country publishes counts of four eye colours instead of two, each with Laplace noise of scale 10. The claim is
# ε = 0.1 for one person who comes, and ε = 0.2 for one person who changes. Predict both verdicts. Does the number of
# colours matter?

# %% [markdown] tags=["answer"]
# Both claims hold, and both are tight. A person has one colour, so whoever comes moves one count, and whoever changes
# moves two, however many colours there are.

# %% tags=["answer"]
four = Laplace(0.1, n_queries=4, relation="add_remove")
four_changed = Laplace(0.2, sensitivity=2.0, n_queries=4, relation="replace_one")
comes = audit(four, Neighbours([0.0] * 4, [1.0, 0, 0, 0], "add_remove"), trials=TRIALS, seed=SEED)
changes = audit(four_changed, Neighbours([1.0, 0, 0, 0], [0, 1.0, 0, 0], "replace_one"), trials=TRIALS, seed=SEED)
for result in (comes, changes):
    print(f"claim {result.claim:g}: lower bound {result.bound.epsilon:.4f}, {result.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo randomized-response`: the same audit where nobody has to be trusted.
# - `dpassay run bugs`: wrong sensitivities and other bugs, each with its correct twin.
# - `docs/mechanisms/noise.md`: counts, their queries and sensitivities.
#
# ## Run it
#
# `dpassay demo add-or-replace` takes about 3 s.
