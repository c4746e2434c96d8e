# %% [markdown]
# # What does an anonymous answer reveal, and what if it carries a user id?
#
# People answer "Have you ever dodged your taxes?" with two coins, which is ε₀ = ln 3 = 1.0986 for each of them. A
# shuffler removes their names and sends the answers on in random order. Nobody adds any further noise. How small does ε
# become, by the theorems and in truth, at δ = 1e-6?

# %%
import pandas as pd

from dpassay.experiments.report.plots import style
from dpassay.mechanisms import RandomizedResponse
from dpassay.mechanisms.accounting.amplification.closed_form import shuffled_epsilon
from dpassay.mechanisms.literature.shuffle import Shuffled

SEED = 2021
DELTA = 1e-6
PEOPLE = (1_000, 10_000, 100_000)

survey = RandomizedResponse.two_coin()
surveys = {n: Shuffled(survey, n_users=n) for n in PEOPLE}
lines = {
    "before the shuffler": ([survey.epsilon] * len(PEOPLE), style.CLAIM),
    "formula": ([shuffled_epsilon(survey.epsilon, n, DELTA, form="simplified") for n in PEOPLE], style.PURPLE),
    "numerical bound": ([shuffled.guarantee().epsilon(DELTA) for shuffled in surveys.values()], style.BLUE),
    "exact": ([shuffled.exact_guarantee().epsilon(DELTA) for shuffled in surveys.values()], style.GREEN),
}

# %% tags=["hide-input"]


def draw(ax):
    """Draw epsilon against the number of people."""
    for values, colour in lines.values():
        ax.plot(PEOPLE, values, "o-", color=colour.light, markersize=4)
    style.logarithmic(ax.xaxis, PEOPLE[0], PEOPLE[-1])
    style.logarithmic(ax.yaxis, 0.008, 2.0)
    style.style_axes(ax, title="Shuffling divides ε by about √n", x="people n", y="ε at δ = 1e-6")
    style.end_labels(ax, [style.EndLabel(values[-1], name, colour) for name, (values, colour) in lines.items()])


style.panels(
    draw,
    alt="Epsilon of shuffled answers against the number of people, by a formula, by a numerical bound and exactly.",
    size=(8.4, 3.8),
)

# %% [markdown]
# The formula is ln(1 + 16 · (e^ε₀ − 1)/(e^ε₀ + 1) · √(e^ε₀ ln(4/δ)/n)), the simplified form of Theorem 3.1 of Feldman,
# McMillan and Talwar (2021); the numerical bound is their Theorem 3.2. Both hold for every local mechanism. The exact ε
# is that of two coins, where the shuffled answers are equivalent to the number of yes, if nobody but Anna may dodge.

# %%
table = pd.DataFrame({name: values for name, (values, _) in lines.items()}, index=pd.Index(PEOPLE, name="people"))
table.round(4)

# %% [markdown]
# ## The surprise
#
# One in two answers is a toss of the second coin, whatever its sender did. These answers are the crowd in which Anna
# hides: among n people about n/2 answers are noise, the number of yes among them has a standard deviation of about
# √(n/8), and Anna changes it by one at most. So the gain is √n, for no loss of accuracy. The formula is seven to
# fourteen times the exact ε: its constant 16 makes it short, not tight.
#
# The gain comes from one property alone: no answer can be traced to its sender. A programmer adds a user id to each
# message, "only to remove duplicates". The answers still arrive in random order.

# %%
import numpy as np

from dpassay.audit import PairScores, audit_scores

rng = np.random.default_rng(SEED)
N, RUNS = 1_000, 5_000


def answer_about_anna(dodges):
    """Run the survey, shuffle messages (user id, answer), and return the answer next to id 0, for each run."""
    answers = survey.release(np.array([dodges] + [0] * (N - 1)), RUNS, rng).values
    ids = rng.permuted(np.tile(np.arange(N, dtype=np.int16), (RUNS, 1)), axis=1)
    messages = np.take_along_axis(answers, ids, axis=1)
    return messages[ids == 0]


scores = PairScores(answer_about_anna(0), answer_about_anna(1))
with_id = audit_scores(scores, mechanism=surveys[N], delta=DELTA, attack="look up the id", seed=SEED)
print(f"claim of the shuffled survey of {N:,} people: {with_id.claim:.4f}")
print(f"with user ids: lower bound {with_id.bound.epsilon:.4f} of at most {survey.epsilon:.4f}, {with_id.verdict}")

# %% [markdown]
# The whole gain is lost: ε is ln 3 again, for a thousand people or for a million. What remains is what the coins of
# Anna herself ensure.
#
# ## What one would wrongly conclude
#
# - "Shuffling adds noise." It adds none. It hides which noise belongs to whom.
# - "The survey leaks as much as the formula says." A theorem for all local mechanisms is an upper bound. Here the count
#   of yes has a binomial law, and its exact ε is computed.
# - "We use a random pseudonym, not a name." Whoever can connect it to Anna, by another message, a time stamp or an
#   address, needs no name. The theorem asks that no message identifies its sender.
# - "Everybody can hide among everybody." Only honest users count. Those who reveal their answer to the attacker, or
#   answer without coins, are no crowd.
#
# ## Exercise
#
# In place of the id, each of the 100,000 messages carries one of 100 towns of 1,000 people each. Anna's town is known.
# Predict her exact ε at δ = 1e-6 from the table, and by what factor the towns increase it.

# %% [markdown] tags=["answer"]
# Anna hides among the people of her town only: ε is that of 1,000 people, whose answers are counted apart. A hundredth
# of the crowd costs a factor of a little more than √100 = 10. A user id is a town with one inhabitant.

# %% tags=["answer"]
in_town, in_country = table["exact"][1_000], table["exact"][100_000]
print(f"{in_town:.4f} in a town, {in_country:.4f} in the country: a factor of {in_town / in_country:.1f}")

# %% [markdown]
# ## See also
#
# - `dpassay demo randomized-response`: the two coins of one person.
# - `dpassay run trust-models`: one count in the central, local and shuffle model.
# - `docs/mechanisms/local.md`: local mechanisms, and shuffling.
#
# ## Run it
#
# `dpassay demo shuffled-responses` takes about 4 s.
