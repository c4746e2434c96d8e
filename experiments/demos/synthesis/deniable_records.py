# %% [markdown]
# # Deniable records
#
# Each synthetic record is generated from a real seed record, and released if enough other records could have generated
# it. This demo shows what this guarantees, what it does not, and the utility of the records.
#
# Names and symbols: `resampled` omega, `epsilon0` of the noisy threshold, `k` and `gamma` of the test.

# %%
"""Plausible deniability: the test of a synthetic record, its theorem, and classifiers trained on such records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ....mechanisms.broken.deniability import DeterministicTest, NoPrivacyTest, NoReleaseSeen
from ....mechanisms.core.arrays import Ints
from ....mechanisms.core.errors import DataError
from ....mechanisms.noise.queries.domain import Domain
from ....mechanisms.synthetic_data.deniability import DeniabilityDP, DeniableRelease, LearnedGenerator, learn_generator
from ....mechanisms.synthetic_data.deniability.plausible_deniability import pass_log_probability
from ...data.datasets import load
from ...report.plots.style import AMBER, BLUE, CLAIM, GREEN, EndLabel, end_labels, style_axes
from ..demo import Demo

SEED = 2017
N_RECORDS = 4_000
"""Size of the training set of a classifier, and of its test set."""
LABEL = "income>50K"
RESAMPLED = {"11": (11,), "10": (10,), "9": (9,), "9 to 11": (9, 10, 11), "5 to 11": tuple(range(5, 12))}
K, GAMMA, EPSILON0 = 50, 4.0, 1.0


def people(rng: np.random.Generator) -> tuple[str, Domain, Ints]:
    """Return eleven attributes of the census of 1994, in random order; of synthetic people if it is not available."""
    try:
        table: Any = load("adult")
    except DataError:
        return "synthetic people", *made_up(rng)
    columns = {name: table[name].to_numpy() for name in table if name not in ("fnlwgt", "capital-gain", "capital-loss")}
    columns["age"], columns["hours-per-week"] = columns["age"] // 10, columns["hours-per-week"] // 10
    sizes = {"age": 9, "workclass": 9, "education-num": 16, "marital-status": 7, "occupation": 15, "relationship": 6}
    sizes |= {"race": 5, "sex": 2, "hours-per-week": 10, "native-country": 42, LABEL: 2}
    domain = Domain(tuple(sizes.items()))
    records = np.column_stack([columns[name] for name in domain.names]).astype(np.int64)
    return "census of 1994", domain, rng.permutation(records)


def made_up(rng: np.random.Generator) -> tuple[Domain, Ints]:
    """Return 30,000 synthetic people: a mixture of eight product distributions of eleven attributes."""
    sizes = (9, 7, 8, 5, 8, 6, 4, 2, 6, 5, 2)
    names = (*(f"attribute {i + 1}" for i in range(10)), LABEL)
    world = np.random.default_rng(SEED)
    kinds = rng.choice(8, size=30_000, p=world.dirichlet(np.ones(8)))
    columns = []
    for n in sizes:
        steps = np.cumsum(world.dirichlet(np.full(n, 0.25), size=8), axis=1)[:, :-1]
        columns.append((steps[kinds] <= rng.random((len(kinds), 1))).sum(axis=1))
    return Domain(tuple(zip(names, sizes, strict=True))), np.column_stack(columns)


# %% [markdown]
# ## 1. Deniable is not private
#
# With a fixed threshold, one record decides whether others can be released. With a noisy threshold there is a theorem,
# but it covers only released records, and not the event that no record is released.


# %%
def exact_epsilons(demo: Demo) -> dict[str, tuple[float, float]]:
    """Return claimed and exact epsilon at delta = 0.001 of the correct mechanism and of three broken ones."""
    kinds = {
        "noisy threshold, half withheld": DeniableRelease(),
        "threshold without noise": DeterministicTest(),
        "no test": NoPrivacyTest(),
        "non-release is observable": NoReleaseSeen(),
    }
    epsilons = {}
    for name, mechanism in kinds.items():
        truth = mechanism.exact_guarantee()
        assert truth is not None
        epsilons[name] = mechanism.guarantee().epsilon(1e-3), truth.epsilon(1e-3)
    demo.chapter("1. Deniable is not private")
    demo.say(
        """
        A record y is generated from a record d, and released if at least k = 20 records could have generated it with
        about the same probability. Epsilon at delta = 0.001, as claimed by the theorem and as computed exactly from the
        distribution of the outputs:
        """
    )
    demo.table(
        ["mechanism", "claimed", "exact"], [[name, *(f"{e:.3f}" for e in two)] for name, two in epsilons.items()]
    )
    demo.say(
        """
        The last row is the published mechanism. 40 records pass, and one outlier cannot: with it, no record is released
        in 1 run of 41. Withholding half of all runs, independently of the data, is sufficient to hide this event.
        """
    )
    return epsilons


# %% [markdown]
# ## 2. Utility of the records
#
# A Bayesian network is learned privately from half of the table; the other half are the seed records.


# %%
def synthetic(learned: LearnedGenerator, resampled: tuple[int, ...], rng: np.random.Generator) -> tuple[Ints, float]:
    """Return N_RECORDS released records, and the estimated pass rate: twice the share of the runs, at most 1."""
    mechanism = learned.release(resampled, k=K, gamma=GAMMA, epsilon0=EPSILON0)
    outputs = mechanism.release(learned.seeds, 15 * N_RECORDS, rng).values
    released = outputs[outputs >= 0]
    return learned.network.domain.records_in(released[:N_RECORDS]), min(1.0, 2.0 * len(released) / len(outputs))


def classifiers() -> dict[str, Any]:
    """Return a tree, a random forest and AdaBoost."""
    from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {
        "tree": DecisionTreeClassifier(max_depth=8, random_state=0),
        "forest": RandomForestClassifier(40, min_samples_leaf=3, random_state=0),
        "AdaBoost": AdaBoostClassifier(n_estimators=40, random_state=0),
    }


def accuracy(train: Ints, test: Ints, label: int) -> list[float]:
    """Return the accuracies of the three classifiers, trained on `train`, on real records."""
    parts = [(np.delete(table, label, axis=1), table[:, label]) for table in (train, test)]
    return [float(model.fit(*parts[0]).score(*parts[1])) for model in classifiers().values()]


def told_apart(generated: Ints, real: Ints, rng: np.random.Generator) -> list[float]:
    """Return the accuracies of a forest and a tree in distinguishing synthetic from real records: 1/2 is ideal."""
    n = min(len(generated), len(real))
    rows = rng.permutation(2 * n)
    table, label = np.vstack([generated[:n], real[:n]])[rows], (np.arange(2 * n) < n)[rows]
    models = classifiers()
    return [float(models[m].fit(table[:n], label[:n]).score(table[n:], label[n:])) for m in ("forest", "tree")]


def utility(demo: Demo) -> tuple[str, dict[str, list[float]]]:
    """Return the name of the data and, by kind of records, three accuracies, two of the game, and the pass rate."""
    rng = np.random.default_rng(SEED)
    source, domain, records = people(rng)
    test, other, train = np.split(records, [N_RECORDS, 2 * N_RECORDS])
    learned = learn_generator(train, domain, rng=rng, epsilon_entropy=0.05, epsilon_table=0.2)
    label, m = domain.index(LABEL), len(domain.names)
    marginals = np.column_stack([rng.permutation(learned.seeds[:, j])[:N_RECORDS] for j in range(m)])
    tables = {"real": (train[:N_RECORDS], 1.0), "marginals": (marginals, 1.0)}
    tables |= {f"omega {name}": synthetic(learned, omega, rng) for name, omega in RESAMPLED.items()}
    results = {
        name: [*accuracy(generated, test, label), *told_apart(generated, other, rng), share]
        for name, (generated, share) in tables.items()
    }
    structure, parameters = (guarantee.epsilon(1e-6) for guarantee in learned.guarantees())
    demo.chapter("2. Utility of the records")
    demo.say(
        f"""
        {len(records):,} records ({source}) of {m} attributes. The structure is learned with epsilon
        {structure:.2f}, the tables with {parameters:.2f} (delta = 1e-6); one record with {K} plausible seeds, gamma =
        {GAMMA:g} and epsilon0 = {EPSILON0:g} has epsilon {DeniabilityDP(K, GAMMA, EPSILON0).epsilon(1e-6):.2f}.
        Accuracy of classifiers trained on {N_RECORDS:,} records and tested on real ones; of two classifiers that
        distinguish the records from real ones; and the share of the records that pass the test:
        """
    )
    columns = ["records", *classifiers(), "game: forest", "tree", "pass"]
    demo.table(columns, [[name, *(f"{value:.1%}" for value in row)] for name, row in results.items()])
    return source, results


# %%
@dataclass(frozen=True)
class DeniableRecordsFindings:
    """Results of the demo."""

    exact_epsilons: dict[str, tuple[float, float]]
    source: str
    utility: dict[str, list[float]]


def main(out: Path | None = None) -> DeniableRecordsFindings:
    """Run the demo: epsilon of the deniability test, and utility of synthetic records.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    epsilons = exact_epsilons(demo)
    findings = DeniableRecordsFindings(epsilons, *utility(demo))
    draw(demo)
    return findings


def draw(demo: Demo) -> None:
    """Draw two panels: the probability of passing the test, and the epsilon of the theorem."""
    demo.panels(
        "deniable-records",
        _draw_passing,
        _draw_theorem,
        title="Deniable records",
        description="Left: probability of passing the test by the number of records in the bucket. Right: the theorem.",
    )


def _draw_passing(ax: Axes) -> None:
    counts = np.arange(20.0, 81.0, dtype=np.float64)
    labels = []
    for epsilon0, colour in ((0.1, AMBER), (0.3, GREEN), (1.0, BLUE)):
        passing = np.exp(pass_log_probability(np.asarray(counts - K, dtype=np.float64), epsilon0))
        ax.plot(counts, passing, color=colour.light, linewidth=2)
        labels.append(EndLabel(passing[-1], f"epsilon0 {epsilon0:g}", colour))
    ax.step(counts, counts >= K, where="post", color=CLAIM.light, linewidth=1.4)
    style_axes(
        ax, title=f"k = {K}. Thin line: no noise", x="number of plausible seed records", y="probability of passing"
    )
    end_labels(ax, labels)


def _draw_theorem(ax: Axes) -> None:
    exponents, labels = np.linspace(-14.0, -2.0, 200), []
    for k, colour in ((20, AMBER), (50, GREEN), (200, BLUE)):
        epsilons = np.asarray(DeniabilityDP(k, GAMMA, EPSILON0).epsilon(10.0**exponents))
        finite = np.where(np.isfinite(epsilons), epsilons, np.nan)
        ax.plot(exponents, finite, color=colour.light, linewidth=2)
        labels.append(EndLabel(finite[-1], f"k = {k}", colour))
    style_axes(ax, title=f"The theorem, epsilon0 = {EPSILON0:g}", x="log10 delta", y="epsilon")
    ax.set_ylim(1.0, 2.0)
    end_labels(ax, labels)


# %%
if __name__ == "__main__":
    main()
