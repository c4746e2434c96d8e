# %% [markdown]
# # Are medical records anonymous once the names are removed?
#
# A hospital publishes its visits without names: ZIP code, birth date, sex, illness. A voter register, which anybody can
# buy, has names with ZIP code, birth date and sex. Whoever is unique in these three columns has a name again. How many
# people are? And if the columns are made coarser until nobody is unique, is that enough? All people here are simulated.

# %%
import numpy as np

from dpassay.attacks.literature.linkage import expected_unique_share
from dpassay.experiments.data.people import age_shares, place_sizes
from dpassay.experiments.report.plots.style import EndLabel, end_labels, logarithmic, panels, series_colour, style_axes

SEED = 1997
ages = age_shares()  # shares of the population at each year of age
columns = {
    "birth date, sex": np.repeat(ages / 730, 730),
    "birth date": np.repeat(ages / 365, 365),
    "birth year, sex": np.repeat(ages / 2, 2),
}
sizes = np.geomspace(100, 100_000, 61)
unique = {name: [expected_unique_share([n], p) for n in sizes] for name, p in columns.items()}

# %% tags=["hide-input"]
PLACE = 8_465  # people in an average ZIP code of the United States in 1990


def draw_unique(ax):
    labels = []
    for i, (name, shares) in enumerate(unique.items()):
        ax.plot(sizes, shares, color=series_colour(i).light, linewidth=2)
        labels.append(EndLabel(shares[-1], name, series_colour(i)))
    ax.axvline(PLACE, color=series_colour(4).light, linewidth=1, linestyle=(0, (4, 3)))
    logarithmic(ax.xaxis, 100, 100_000)
    ax.set_ylim(0.0, 1.02)
    style_axes(ax, title="Dashed: the average ZIP code", x="people in the ZIP code", y="share of unique people")
    end_labels(ax, labels)


panels(
    draw_unique,
    alt="Share of people who are unique in their ZIP code, against its number of people: by birth date and sex "
    "86 of 100 in a place of average size, by birth year and sex almost nobody.",
    size=(7.0, 4.2),
)

# %% [markdown]
# Sweeney (2000) found that 87% of the people in the United States are likely to be unique by ZIP code, birth date and
# sex, and Golle (2006) found 61%. Both used the census of 1990. Sweeney counts everybody whose place has no more people
# of an age group than there are birth dates and sexes. Golle counts the people who really are unique, on average.

# %%
by_spread = {}
for spread in (0.0, 1.12, 1.37):
    people_in = place_sizes(29_343, spread=spread)
    by_spread[spread] = float(expected_unique_share(people_in, columns["birth date, sex"]))
    share = (people_in**2).sum() / people_in.sum()
    print(f"spread {spread:4}: a random person shares a place with {share:6,.0f}; unique: {by_spread[spread]:.1%}")

# %% [markdown]
# Our share depends on the sizes of places, which are invented: lognormal, 8,465 people on average. If all are equal,
# 86% are unique. But most people live in large places. A spread of 1.12, which reproduces the 87% of Sweeney's
# count, gives 69%, and a spread of 1.37 gives Golle's 61%. His is the number for the United States, as he used the
# sizes and ages of the real places; ours shows what it depends on.
#
# ## A name for each record
#
# In a simulated town, we join the visits with a register, and compare the illness found for 400 people with two
# baselines: a guess from age and sex, and the same attack on another hospital, where these people never were.

# %%
import pandas as pd

from dpassay.attacks.literature.linkage import beliefs_from_groups, link, prior_beliefs
from dpassay.audit.metrics import gain
from dpassay.experiments.data.people import people

town = people(n=24_000, seed=SEED)
town = town.assign(male=(town["sex"] == "male").astype(int), band=town["age"] // 10)
order = np.random.default_rng(SEED).permutation(len(town))
target, a, b, c, d, rest = (town.iloc[part] for part in np.split(order, [400, 1_600, 2_800, 4_400, 6_000]))
hospitals, elsewhere = [pd.concat([target, a]), pd.concat([target, b])], [c, d]
truth, prior = target["illness"].to_numpy(dtype=object), prior_beliefs(rest, "illness", target, ["band", "sex"])
register = pd.concat([target, rest])


def linked(visits):
    """Return for each target whether the join gives the right illness; without a match, guess from age and sex."""
    person, guess = link(visits, register, ["zip", "born", "sex"]).match, prior.guess
    found = (person >= 0) & (person < len(target))
    guess[person[found]] = visits["illness"].to_numpy()[found]
    return guess == truth


def compared(inside, outside):
    """Return the gain of an attack over both baselines."""
    return gain(inside, without_release=prior.correct(truth), without_person=outside, confidence=0.99)


def points(rate):
    """Return a gain in percentage points, with its interval."""
    return f"{100 * rate.value:+.1f} ({100 * rate.lower:+.1f} to {100 * rate.upper:+.1f})"


def shown(result):
    """Return a table of the success of an attack and its baselines, and of the gain."""
    rows = {"attack": ("", result.attack)} | {o.baseline: (points(o.gain), o.success) for o in result.over}
    cells = [(f"{success.value:.1%}", text) for text, success in rows.values()]
    return pd.DataFrame(cells, columns=["right", "gain, points (99% interval)"], index=pd.Index(rows, name="guess"))


by_name = compared(linked(hospitals[0]), linked(elsewhere[0]))
shown(by_name)

# %% [markdown]
# ## The surprise
#
# k-anonymity makes columns coarser until each person shares all of them with k − 1 others. It removes uniqueness, and
# leaves two other leaks. The first is homogeneity. In this table every group has two people:

# %%
from dpassay.mechanisms.literature.synthetic_data.anonymity import global_recoding, mondrian

small = pd.DataFrame(
    {
        "age": [51, 55, 34, 38, 33, 35, 62, 67],
        "male": [0, 0, 0, 0, 1, 1, 1, 1],
        "illness": ["asthma", "ulcer", "flu", "migraine", "HIV", "HIV", "cancer", "flu"],
    }
)
grouped = global_recoding(small, {"age": [30, 40, 50, 60, 70], "male": [0, 1, 2]}, "illness")
grouped.to_frame()

# %% [markdown]
# Rebecca is 55, and has asthma or an ulcer: two of the six illnesses. Ted is 33. Nobody knows which record is his, and
# everybody knows his illness.
#
# The second leak is composition. Let each group have at least three different illnesses (l-diversity), and let a person
# be in two hospitals, which both publish such a table. The illness is in both groups, and often little else is.

# %%
rows = {}
for k in (3, 5, 10, 20):
    tables = [mondrian(t, ["zip", "age", "male"], "illness", k=k, diversity=3) for t in (*hospitals, *elsewhere)]
    one, two, other = (beliefs_from_groups(t, target, prior) for t in (tables[:1], tables[:2], tables[2:]))
    rows[k] = compared(two.correct(truth), other.correct(truth)), one.correct(truth).mean(), two.certain.mean()
two_tables = pd.DataFrame(
    {
        "age and sex": [f"{g['without the release'].success.value:.1%}" for g, *_ in rows.values()],
        "one table": [f"{one:.1%}" for _, one, _ in rows.values()],
        "two tables": [f"{g.attack.value:.1%}" for g, *_ in rows.values()],
        "certain": [f"{certain:.1%}" for *_, certain in rows.values()],
        "gain, points (99% interval)": [points(g.headline) for g, *_ in rows.values()],
    },
    index=pd.Index(rows, name="k"),
)
print("Illnesses of the 400 people that are guessed right:")
two_tables

# %% [markdown]
# "Certain" means that only one illness is in both groups. The gain is that of two tables over the better baseline on
# the same people: what leaks is their own records, not what is true of people of their age and sex.
#
# ## What one would wrongly conclude
#
# - "A larger k is safe." It makes this attack weaker, and there is always more to know: the exercise has an attacker
#   for whom k does not matter (Ganta, Kasiviswanathan and Smith, 2008).
# - "The tables leak because they are exact, so noise of any kind would do." What helps is a guarantee that composes and
#   holds for every attacker. Noisy counts in cells that are fixed beforehand have it: ε = 1/2 for each hospital, so
#   that both together have ε = 1.

# %%
from dpassay.attacks.literature.linkage import beliefs_from_counts
from dpassay.mechanisms.literature.synthetic_data.anonymity import GeneralizedCells

cells = GeneralizedCells(
    {"zip": [10_000, 10_001, 10_002, 10_003], "age": [0, 20, 40, 60, 80, 100], "male": [0, 1, 2]},
    "illness",
    prior.values,
)
counts, rng = cells.mechanism(0.5), np.random.default_rng([SEED, 5])
exact = [cells.table(counts.answers(cells.records(t))) for t in (*hospitals, *elsewhere)]
answers = [counts.release(cells.records(t), 1, rng).values[0] for t in (*hospitals, *elsewhere)]
noisy = [(cells.table(values), counts.rate) for values in answers]
where = cells.cell(target)
inside, outside = (beliefs_from_counts(t, where, prior).correct(truth) for t in (noisy[:2], noisy[2:]))
private = compared(inside, outside)
error = float(np.abs(noisy[0][0].sum(axis=0) - exact[0].sum(axis=0)).mean() / exact[0].sum(axis=0).mean())
print(f"mean error of the number of patients with an illness: {error:.0%} of the mean number")
shown(private)

# %% [markdown]
# ## Exercise
#
# The attacker now knows the records of all other patients of both hospitals. What does this attacker learn from the
# k-anonymous tables with k = 20, and what from the noisy counts?

# %% [markdown] tags=["answer"]
# From the k-anonymous tables: everything. The other 19 illnesses of the group are known, and the last is what remains,
# for every k. From the noisy counts: more than from age and sex, but little. Under ε = 1 in total a changed illness
# multiplies the odds of any two illnesses by at most e², since the guarantee is for one added or removed record, and a
# changed one is both.

# %% tags=["answer"]
own = truth[:, None] == np.array(prior.values, dtype=object)
others = [table[where] - own for table in exact[:2]]
informed = float(beliefs_from_counts(noisy[:2], where, prior, others=others).correct(truth).mean())
print(f"noisy counts, all other patients known: {informed:.1%} of the illnesses guessed right")
print(f"age and sex only: {prior.correct(truth).mean():.1%}")

# %% [markdown]
# ## See also
#
# - `dpassay demo netflix-ratings`: the third leak, linkage of records in which everybody is unique.
# - `dpassay demo disclosure`: singling out and inference from synthetic tables.
# - `docs/attacks/linkage.md`: joins, groups and baselines.
#
# ## Run it
#
# `dpassay demo medical-visits` takes about 3 s.
