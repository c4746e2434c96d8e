# %% [markdown]
# # Is a table of film ratings anonymous if it has numbers instead of names?
#
# In 2006 Netflix published 100 million ratings by 480,000 customers, with numbers instead of names. Over coffee, a
# colleague tells you about a few films: how she liked them and, to within two weeks, when she saw them. Is that enough
# to find her number, and with it all her other ratings? Here are 2,000 simulated customers with about 40 ratings each.

# %%
import numpy as np

from dpassay.attacks.literature.linkage import BackgroundKnowledge, ScoreboardRH, link_people
from dpassay.experiments.data.people import ratings
from dpassay.experiments.report.plots.style import EndLabel, end_labels, panels, series_colour, style_axes

SEED = 2006
KNOWN = (1, 2, 4, 8)
table = ratings(n=2_000, seed=SEED)
rng = np.random.default_rng(SEED)
targets, calibration = np.split(rng.permutation(2_000)[:350], [150])
knowledge = {
    "films and dates": lambda n: BackgroundKnowledge(n, days=14),
    "half as many wrong films too": lambda n: BackgroundKnowledge(n, days=14, n_wrong=n // 2),
    "films without dates": lambda n: BackgroundKnowledge(n, days=None),
}
attack = ScoreboardRH()  # gap of 1.5 standard deviations
linked = {
    name: [link_people(table, targets, attack, known(n), rng) for n in KNOWN] for name, known in knowledge.items()
}


# %% tags=["hide-input"]
def draw_linked(ax):
    labels = []
    for i, (name, results) in enumerate(linked.items()):
        shares = [result.correct.mean() for result in results]
        ax.plot(KNOWN, shares, marker="o", color=series_colour(i).light, linewidth=2)
        labels.append(EndLabel(shares[-1], name, series_colour(i)))
    ax.set_ylim(0.0, 1.02)
    style_axes(ax, title="Customers found among 2,000", x="known films", y="share of customers")
    end_labels(ax, labels)


panels(
    draw_linked,
    alt="Share of customers whose number is found, against the number of known films, with dates, with dates and wrong "
    "films, and without dates: all three reach nearly all customers with eight films.",
    size=(7.5, 4.2),
)

# %% [markdown]
# The attack of Narayanan and Shmatikov (2008) adds for each known film a weight for stars and dates that are close, and
# a larger one for films that few people have rated. It names the record with the highest score if this exceeds the
# second highest by 1.5 standard deviations of all scores.

# %%
import pandas as pd

from dpassay.audit.bounds.numerics import binomial


def percentage(mask):
    """Return the share of the people in a mask, with its 99% confidence interval."""
    k, n = np.count_nonzero(mask), len(mask)
    return f"{k / n:.0%} ({binomial.lower(k, n, 0.005):.0%} to {binomial.upper(k, n, 0.005):.0%})"


columns = {name: [percentage(result.correct) for result in results] for name, results in linked.items()}
print(f"Customers of {len(targets)} that are found, with 99% confidence intervals:")
pd.DataFrame(columns, index=pd.Index(KNOWN, name="known films"))

# %% [markdown]
# ## The surprise
#
# There is no unusual column here, such as a birth date. Films are shared by many people, and so are dates. It is the
# combination that is unique, for almost everybody: there are far more pairs of films and months than customers. So
# there is no column to remove or to make coarser, and no line between identifying columns and others: every rating
# identifies, and every rating is what one learns.

# %%
from scipy.sparse import csr_array, triu


def alone(keys):
    """Return the share of the pairs of ratings of a customer that no other customer has, compared by `keys`."""
    column = table.groupby(keys).ngroup()
    has = csr_array((np.ones(len(table)), (table["person"], column)))
    together = triu(has.T @ has, k=1).data  # number of customers with both, for each pair
    return float((together == 1.0).sum() / together.sum())


table["month"] = table["day"] // 30
pairs = {", ".join(keys): alone(keys) for keys in (["item"], ["item", "stars"], ["item", "month"])}
for keys, part in pairs.items():
    print(f"compared by {keys}: {part:.1%} of all pairs of ratings occur once")

# %% [markdown]
# ## What one would wrongly conclude
#
# - "Nearly everybody is found, so a match is proof." How often does the attack name someone if the colleague is not a
#   customer at all? Search again in the ratings of all others, where every match is false.

# %%
strict = {}
for n in (2, 4, 8):
    known = BackgroundKnowledge(n)
    gap = link_people(table, calibration, attack, known, rng).gap_for(0.02)
    result = link_people(table, targets, attack, known, rng)
    strict[n] = result, result.at(gap)
rows = [
    (n, f"{each.least:.2f}", percentage(each.correct), percentage(each.wrong), percentage(each.false))
    for n, results in strict.items()
    for each in results
]
pd.DataFrame(rows, columns=["known films", "gap", "found", "another named", "absent, but named"])

# %% [markdown]
# With the published gap of 1.5 many people who are not in the table get a number. A larger gap, chosen on 200 other
# customers so that about 2% of absent people are named, costs many matches with two known films and few with eight.
# Report the rate of false matches with every rate of success.
#
# - "So 99% of the customers of Netflix could be found." These are simulated ratings, and show how the attack works. In
#   the data of Netflix, 8 films of which 2 may be wrong, with dates to 14 days, were enough for 99% of the records
#   (Narayanan and Shmatikov, 2008). There were 240 times as many customers, and each had rated more films.
# - "Only ratings leak that the attacker knew." The known films find the record; the rest of it is new.
#
# ## Exercise
#
# The publisher moves every date by up to 60 days, at random. So the attacker knows dates to 60 days only, and uses
# `ScoreboardRH(days=60)` with `BackgroundKnowledge(8, days=60)`. Predict the share of customers who are found.

# %% [markdown] tags=["answer"]
# Still nearly all. Even without any dates eight films suffice, so noise on the dates cannot prevent it. Noise prevents
# the attack only if it hides whether a film was rated at all, and a table with such noise on every customer and film is
# of little use. Counts of ratings can be released with differential privacy; the table of all customers cannot.

# %% tags=["answer"]
moved = link_people(table, targets, ScoreboardRH(days=60.0), BackgroundKnowledge(8, days=60), rng)
print(f"dates moved by up to 60 days: {moved.correct.mean():.1%} of the customers are found with eight films")

# %% [markdown]
# ## See also
#
# - `dpassay demo medical-visits`: linkage by ZIP code, birth date and sex, and what k-anonymity leaves.
# - `dpassay demo in-this-study`: many weak columns, and one person among a hundred.
# - `docs/attacks/linkage.md`: the attack, its options, and the choice of the gap.
#
# ## Run it
#
# `dpassay demo netflix-ratings` takes about 8 s.
