# %% [markdown]
# # Is a synthetic record private if many people could have produced it?
#
# A program draws a real record, changes some of its attributes, and releases the result only if at least k = 20 records
# could have produced it with about the same probability (plausible deniability). Each person can say: it was not me.
# Does it follow that the release hardly depends on one person?

# %%
from dpassay.audit import audit
from dpassay.experiments.report.plots import LadderPlot, figure_of
from dpassay.mechanisms.literature.synthetic_data.deniability import DeniableRelease
from dpassay.mechanisms.literature.synthetic_data.deniability.broken import (
    DeterministicTest,
    NoPrivacyTest,
    NoReleaseSeen,
)

SEED = 2017

mechanisms = {
    "k, without noise": DeterministicTest(k=20),
    "no test": NoPrivacyTest(k=20),
    "noisy k": NoReleaseSeen(k=20),
    "noisy k, half withheld": DeniableRelease(k=20),
}
options = {"trials": 20_000, "delta": 1e-3, "confidence": 0.999, "seed": SEED}
audits = {name: audit(mechanism, **options) for name, mechanism in mechanisms.items()}
figure_of(LadderPlot.from_results(audits))

# %% [markdown]
# All four make the claim of Bindschaedler, Shokri and Gunter (2017), whose test has a noisy threshold: the number of
# plausible records must be at least k plus Laplace noise. The exact ε follows from the distribution of the outputs.

# %%
import pandas as pd

rows = {}
for name, result in audits.items():
    exact = mechanisms[name].exact_guarantee().epsilon(1e-3)
    rows[name] = [result.claim, exact, result.bound.epsilon, str(result.verdict)]
columns = ["claimed", "exact", "lower bound", "verdict"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).round(3).rename_axis("release, at delta = 0.001")

# %% [markdown]
# ## The surprise
#
# - **Deniable is not private.** If exactly 20 records could have produced a release, it appears. If one of them leaves,
#   it never appears. One record decides, so ε is infinite. Noise on the threshold repairs this: with d records too few
#   the test is still passed with probability e^(−ε0 d) / 2.
# - **The third row is the published mechanism, and its claim is false** for whoever sees that nothing was released. The
#   theorem is about released records. Take 40 records that pass, and one outlier that cannot: with the outlier,
#   nothing is released in 1 run of 41. Without it, that practically never happens.
# - **A coin repairs it.** If half of the runs release nothing, whatever the data are, "nothing" proves nothing.
#
# For every whole t below k the theorem gives ε = ε0 + log(1 + γ / t) at δ = e^(−ε0 (k − t)), where γ is the largest
# ratio of probabilities that counts as "about the same". A larger k helps, but ε remains above ε0.

# %% tags=["hide-input"]
import numpy as np

from dpassay.experiments.report.plots.style import AMBER, BLUE, CLAIM, GREEN, EndLabel, end_labels, panels, style_axes
from dpassay.mechanisms.literature.synthetic_data.deniability import DeniabilityDP
from dpassay.mechanisms.literature.synthetic_data.deniability.plausible_deniability import pass_log_probability


def draw_test(ax):
    """Draw the probability of passing the test with k = 50."""
    counts, labels = np.arange(20.0, 81.0), []
    for epsilon0, colour in ((0.1, AMBER), (0.3, GREEN), (1.0, BLUE)):
        passing = np.exp(pass_log_probability(counts - 50.0, epsilon0))
        ax.plot(counts, passing, color=colour.light)
        labels.append(EndLabel(passing[-1], f"ε0 = {epsilon0:g}", colour))
    ax.step(counts, counts >= 50.0, where="post", color=CLAIM.light, linewidth=1.4)
    style_axes(ax, title="k = 50. Steps: no noise", x="number of plausible records", y="probability of passing")
    end_labels(ax, labels)


def draw_theorem(ax):
    """Draw epsilon of the theorem against delta."""
    exponents, labels = np.linspace(-14.0, -2.0, 200), []
    for n_plausible, colour in ((20, AMBER), (50, GREEN), (200, BLUE)):
        curve = np.asarray(DeniabilityDP(n_plausible, 4.0, 1.0).epsilon(10.0**exponents))
        ax.plot(exponents, np.where(np.isfinite(curve), curve, np.nan), color=colour.light)
        labels.append(EndLabel(curve[-1], f"k = {n_plausible}", colour))
    ax.set_ylim(1.0, 2.0)
    style_axes(ax, title="The theorem, γ = 4 and ε0 = 1", x="log10 δ", y="ε")
    end_labels(ax, labels)


panels(
    draw_test,
    draw_theorem,
    alt="Left: the probability of passing the test rises smoothly with noise. Right: epsilon falls with delta and k.",
)

# %% [markdown]
# ## What the records are worth
#
# One part of a table is used to learn a Bayesian network, privately. The others are the real records that are changed:
# ω of their 11 attributes are drawn anew from the network. We train classifiers on 4,000 synthetic records and test
# them on real ones. Two other classifiers try to distinguish the synthetic records from real ones: 50% is ideal. The
# last column estimates the share of records that pass the test.

# %%
from dpassay.experiments.data.incomes import income_records
from dpassay.mechanisms.literature.synthetic_data.deniability import learn_generator

N, K, GAMMA, EPSILON0 = 4_000, 50, 4.0, 1.0

rng = np.random.default_rng(SEED)
source, domain, everyone = income_records(rng)
test, other, train = np.split(everyone, [N, 2 * N])
learned = learn_generator(train, domain, rng=rng, epsilon_entropy=0.05, epsilon_table=0.2)
structure, tables_epsilon = (guarantee.epsilon(1e-6) for guarantee in learned.guarantees())
one_record = DeniabilityDP(K, GAMMA, EPSILON0)


def synthetic(resampled):
    """Return 4,000 released records, and the share of records that pass the test (half of these are withheld)."""
    mechanism = learned.release(resampled, k=K, gamma=GAMMA, epsilon0=EPSILON0)
    outputs = mechanism.release(learned.seeds, 15 * N, rng).values
    released = outputs[outputs >= 0]
    return domain.records_in(released[:N]), min(1.0, 2.0 * len(released) / len(outputs))


kinds = {"real": (train[:N], 1.0)}
kinds["marginals"] = np.column_stack([rng.permutation(column)[:N] for column in learned.seeds.T]), 1.0
for name, omega in {"11": (11,), "10": (10,), "9": (9,), "9 to 11": (9, 10, 11), "5 to 11": range(5, 12)}.items():
    kinds[f"omega {name}"] = synthetic(tuple(omega))
print(f"{source}: {len(everyone):,} records; epsilon of the structure {structure:.2f}, of the tables")
print(f"{tables_epsilon:.2f}, of one released record {one_record.epsilon(1e-6):.2f}, each at delta = 1e-6")

# %%
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

tree = DecisionTreeClassifier(max_depth=8, random_state=0)
forest = RandomForestClassifier(40, min_samples_leaf=3, random_state=0)
boosted = AdaBoostClassifier(n_estimators=40, random_state=0)
label = domain.index("income>50K")


def income(records):
    """Return the accuracies of three classifiers of income that are trained on the records, on real ones."""
    (X, y), (Z, z) = ((np.delete(table, label, axis=1), table[:, label]) for table in (records, test))
    return [float(model.fit(X, y).score(Z, z)) for model in (tree, forest, boosted)]


def distinguished(records):
    """Return the accuracies of two classifiers that distinguish the records from real ones."""
    n = min(len(records), len(other))
    rows = rng.permutation(2 * n)
    table, real = np.vstack([records[:n], other[:n]])[rows], (np.arange(2 * n) < n)[rows]
    return [float(model.fit(table[:n], real[:n]).score(table[n:], real[n:])) for model in (forest, tree)]


utility = {name: [*income(records), *distinguished(records), passed] for name, (records, passed) in kinds.items()}
columns = ["tree", "forest", "AdaBoost", "forest tells", "tree tells", "pass"]
pd.DataFrame.from_dict(utility, orient="index", columns=columns).map("{:.1%}".format).rename_axis("records")

# %% [markdown]
# The records are better than independent marginals, and not as good as real ones. But the seeds contribute nothing that
# a classifier needs: with ω = 11 all attributes are drawn anew, so that no real record is used at all, and these
# records are about as good. They have no privacy loss beyond that of the network, however many are drawn. With seeds,
# each record has one more, and the losses of 4,000 records add up.

# %%
from dpassay.mechanisms.accounting.composition.advanced import AdvancedComposition

delta_of_one = 1e-6 / (2 * N)
epsilon_of_one = one_record.epsilon(delta_of_one)
all_records = AdvancedComposition((epsilon_of_one,) * N, (delta_of_one,) * N, "kov").epsilon(1e-6)
print(f"4,000 records with omega = 11: epsilon = {max(structure, tables_epsilon):.2f}, that of the network")
print(f"4,000 records with seeds: the theorem and advanced composition prove epsilon = {all_records:,.0f}")

# %% [markdown]
# So the test makes one record deniable at a moderate ε, and does not make a table private. For a table, measure noisy
# statistics once, and draw any number of records from them.
#
# ## What one would wrongly conclude
#
# - "Each record is deniable, so the table is." Deniability is a property of one release. A table is 4,000 releases.
# - "The theorem is wrong." It is right about what it covers. What it does not cover, "nothing was released", is visible
#   to anyone who counts the records.
# - "A classifier of 70% accuracy tells the records apart, so they leak." It finds differences between the network and
#   people. This is a loss of utility. Privacy is about one record more or less.
#
# ## Exercise
#
# Make the published mechanism ten times as strict: `NoReleaseSeen(k=200)`. A record is released only if about 200
# people could have produced it. Predict what happens to the claim, and to the verdict.

# %% [markdown] tags=["answer"]
# The claim decreases, and the verdict is still a violation. A larger k does not hide the outlier: with 400 records that
# pass and one that cannot, nothing is released in 1 run of 401. That is rarer, but still more than δ = 0.001.

# %% tags=["answer"]
stricter = audit(NoReleaseSeen(k=200), **(options | {"trials": 200_000}))
print(f"claim {stricter.claim:.3f}, lower bound {stricter.bound.epsilon:.3f}, {stricter.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo five-marginals`: a table from noisy statistics.
# - `dpassay run plausible-deniability`: the correct and the broken mechanisms, in one report.
# - `docs/mechanisms/plausible-deniability.md`: the theorem, its proof for withheld runs, and the learning.
#
# ## Run it
#
# `dpassay demo deniable-records` takes about 10 s.
