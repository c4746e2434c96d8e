# %% [markdown]
# # Is this table anonymous if an attack on it is right about every third person?
#
# Data protection law names three risks of a table without names (Article 29 Working Party, 2014): a person can be
# singled out, records of the same person can be linked, and information about a person can be inferred. In a town of
# 800 people we attack two synthetic tables in these three ways: copies of the people, and rows that fit noisy counts.

# %%
import numpy as np

from dpassay.attacks.people.disclosure import AttributeDisclosure, Linkability, SinglingOut
from dpassay.audit.metrics import disclosure
from dpassay.experiments.data.people import people
from dpassay.experiments.report.plots import figure_of
from dpassay.experiments.report.plots.gain import SuccessByAttack
from dpassay.mechanisms.literature.synthetic_data import FixedMarginals, GraphicalModel, SelectMeasureGenerate
from dpassay.mechanisms.noise.queries import Domain

SEED = 2014

town, rng = people(n=1_200, seed=SEED), np.random.default_rng(SEED)
illness = np.unique(town["illness"], return_inverse=True)[1]
place, birthday = rng.integers(0, 9, len(town)), town["born"].dt.day_of_year
codes = np.column_stack([town["age"], birthday, town["sex"] == "male", place, illness]).astype(np.int64)
halves, known = (codes[:400], codes[400:800]), codes[800:]
domain, ordered = Domain.of({"age": 100, "birthday": 367, "sex": 2, "place": 9, "illness": 20}), ("age", "birthday")
attacks = {
    "singling out": SinglingOut(domain, ordered, n_columns=4),
    "linkability": Linkability(domain, ordered, first=("age", "sex", "place"), second=("birthday", "illness")),
    "inference": AttributeDisclosure(domain, ordered, secret="illness"),
}
marginals = (("sex", "illness"), ("age",), ("birthday",), ("place",))
counts = FixedMarginals(marginals, standard_deviation=2.0, relation="replace_one")
private = SelectMeasureGenerate(domain, counts, GraphicalModel(), view="table", n_rows=400)
tables = {"copies": [rng.permutation(half) for half in halves]}
tables["private"] = [np.asarray(private.release(half, 1, rng).values[0]) for half in halves]

# %%
ages = [
    np.array(["under 20", "20 to 39", "40 to 64", "65 or more"])[np.digitize(h[:, 0], (20, 40, 65))] for h in halves
]
options = {"known": known, "n_attacked": 200, "seed": SEED}
found = {}
for table, pair in tables.items():
    for risk, attack in attacks.items():
        found[table, risk] = disclosure(attack, pair, halves, groups=ages, **options)
figure_of(SuccessByAttack({", ".join(names): result.overall for names, result in found.items()}), height=5.0)

# %% [markdown]
# - **Singling out**: a description made from a row of the table fits exactly one person.
# - **Linkability**: age, sex and place of a person are matched with a birthday and an illness.
# - **Inference**: all other attributes are known, and the illness is that of the nearest rows.
#
# The people are in two halves, and each half has its own table. So every attack has two baselines: a guess without any
# table, and the same attack on the table of the *other* half, which does not contain the person.

# %%
import pandas as pd


def points(rate):
    """Format a gain in percentage points, with its 95% interval."""
    return f"{100 * rate.value:+.0f} ({100 * rate.lower:+.0f} to {100 * rate.upper:+.0f})"


rows = {}
for names, result in found.items():
    total = result.overall
    rates = [total.attack, *(over.success for over in total.over)]
    rows[", ".join(names)] = [*(f"{rate.value:.1%}" for rate in rates), points(total.headline)]
columns = ["correct", "no table", "other half", "gain, points (95%)"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("table, attack")

# %% [markdown]
# ## The surprise
#
# Singling out succeeds for about a third of the people in the private table too, and this is no leak. It succeeds about
# as often with the table of other people, and without any table: a random description of four attributes often fits
# exactly one person. Only the gain over the better baseline is due to the person's record. All attacks gain
# from the copies, and none has a significant gain from the private table.
#
# ## Who is hit most
#
# A mean hides small groups. The intervals of all people and of four age groups hold simultaneously with 95%
# confidence, so the worst group may be selected after the measurement.

# %%
rows = {
    ", ".join(names): [points(r.overall.headline), r.worst[0], points(r.worst[1].headline)]
    for names, r in found.items()
}
columns = ["gain, all people", "worst age", "its gain"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("table, attack")

# %% [markdown]
# ## What the guarantee allows
#
# A person who is replaced moves two counts in each of four marginals, so the private table has μ = √8 / 2. An attack
# that is right with probability p without the person is right with probability at most Φ(Φ⁻¹(p) + μ) with the person.

# %%
claim = private.guarantee()
allowed = {}
for risk in attacks:
    without = found["private", risk].overall["without the person"].success
    p = np.linspace(without.lower, without.upper, 200)
    allowed[risk] = float((1.0 - claim.tradeoff(p) - p).max())
    gain = points(found["private", risk].overall.headline)
    print(f"{risk:12} measured gain {gain}, allowed {100 * allowed[risk]:+.0f} points")

# %% [markdown]
# ## What one would wrongly conclude
#
# - "The attack is right about every third person, so the table leaks." Compare with the attack on a table without the
#   person. What is learned from other people is what a table is published for.
# - "No gain, so the table is private." Three attacks failed on average people. The guarantee would allow much more, and
#   another attack may find it. An audit of the worst case tests the guarantee.
# - "The mean gain is small, so everyone is safe." Look at the worst group.
#
# ## Exercise
#
# The town publishes the copies, and protects the illness by swapping: the column of illnesses is permuted at random
# among the rows. Predict for each of the three attacks whether it keeps most of its gain, some of it, or nothing.

# %% [markdown] tags=["answer"]
# Inference keeps nothing: the illness of the nearest row is that of somebody else. Linkability keeps very little, since
# birthday and illness together no longer belong to a person. Singling out keeps a significant part, by descriptions
# without the illness: age, birthday, sex and place are still those of a real person. Protecting a column does not make
# the table anonymous.

# %% tags=["answer"]
swapped = [np.column_stack([half[:, :4], rng.permutation(half[:, 4])]) for half in halves]
after_swap = {risk: disclosure(attack, swapped, halves, **options).overall for risk, attack in attacks.items()}
for risk, gain in after_swap.items():
    print(f"{risk:12} gain {points(gain.headline)}, {'significant' if gain.significant else 'not significant'}")

# %% [markdown]
# ## See also
#
# - `dpassay demo synthetic-is-not-private`: an audit that finds what a metric of copies misses.
# - `dpassay run synthetic-epsilons`: the guarantee of a private table, tested.
# - `docs/attacks/disclosure.md`: the attacks, and the intervals of gains.
#
# ## Run it
#
# `dpassay demo disclosure` takes about 5 s.
