# %% [markdown]
# # Deniable records
#
# Each synthetic record is made of a real one, and released if enough other records could have given it as well. This
# lecture shows what that promises, what it does not, and what the records are good for.
#
# Our names and the usual symbols: `resampled` omega, `epsilon0` of the noisy threshold, `k` and `gamma` of the test.

# %%
"""Plausible deniability: the test of a synthetic record, its theorem, and what classifiers learn from such records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....mechanisms.broken.deniability import DeterministicTest, NoPrivacyTest, NoReleaseSeen
from ....mechanisms.deniability import DeniabilityDP, DeniableRelease, LearnedGenerator, learn_generator
from ....mechanisms.deniability.theorem import pass_log_probability
from ....mechanisms.errors import DataError
from ....mechanisms.queries.domain import Domain
from ...data.datasets import load
from ...plots.style.canvas import EndLabel, end_labels, style_axes
from ...plots.style.palette import AMBER, BLUE, CLAIM, GREEN
from ..lecture import Lecture

Ints = NDArray[np.int64]
SEED = 2017
N_RECORDS = 4_000
"""Records that a classifier learns from, and as many that it is tested on."""
LABEL = "income>50K"
RESAMPLED = {"11": (11,), "10": (10,), "9": (9,), "9 to 11": (9, 10, 11), "5 to 11": tuple(range(5, 12))}
K, GAMMA, EPSILON0 = 50, 4.0, 1.0


def people(rng: np.random.Generator) -> tuple[str, Domain, Ints]:
    """Eleven attributes of the census of 1994, in random order; of made-up people, where it is not at hand."""
    try:
        table: Any = load("adult")
    except DataError:
        return "made-up people", *made_up(rng)
    columns = {name: table[name].to_numpy() for name in table if name not in ("fnlwgt", "capital-gain", "capital-loss")}
    columns["age"], columns["hours-per-week"] = columns["age"] // 10, columns["hours-per-week"] // 10
    sizes = {"age": 9, "workclass": 9, "education-num": 16, "marital-status": 7, "occupation": 15, "relationship": 6}
    sizes |= {"race": 5, "sex": 2, "hours-per-week": 10, "native-country": 42, LABEL: 2}
    domain = Domain(tuple(sizes.items()))
    records = np.column_stack([columns[name] for name in domain.names]).astype(np.int64)
    return "census of 1994", domain, rng.permutation(records)


def made_up(rng: np.random.Generator) -> tuple[Domain, Ints]:
    """30,000 people of eight kinds, each with its own frequencies of the values of eleven attributes."""
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
# With a threshold that everybody knows, one record decides whether others can be released. Noise on the threshold gives
# a theorem; what it says holds for what is released, and not for whether anything is.


# %%
def exact_epsilons(lecture: Lecture) -> dict[str, tuple[float, float]]:
    """Claimed and exact epsilon at delta = 0.001 of the right mechanism and of three wrong ones."""
    kinds = {
        "noisy threshold, half withheld": DeniableRelease(),
        "threshold without noise": DeterministicTest(),
        "no test": NoPrivacyTest(),
        "one sees that nothing is released": NoReleaseSeen(),
    }
    found = {}
    for name, mechanism in kinds.items():
        truth = mechanism.exact_guarantee()
        assert truth is not None
        found[name] = mechanism.guarantee().epsilon(1e-3), truth.epsilon(1e-3)
    lecture.chapter("1. Deniable is not private")
    lecture.say(
        """
        A record y is made of a record d, and released if at least k = 20 records could have given it with about the
        same probability. Everybody's epsilon, at delta = 0.001, as claimed by the theorem and as computed from all
        outputs:
        """
    )
    lecture.table(
        ["mechanism", "claimed", "exact"], [[name, *(f"{e:.3f}" for e in two)] for name, two in found.items()]
    )
    lecture.say(
        """
        The last row is the mechanism as published. 40 records pass, and one of another kind cannot: with it, nothing is
        released in 1 run of 41. To withhold half of all runs, whatever the data, is enough to cover that.
        """
    )
    return found


# %% [markdown]
# ## 2. What the records are good for
#
# A Bayesian network is learned with noise from half of the table; the other half are the seeds.


# %%
def synthetic(learned: LearnedGenerator, resampled: tuple[int, ...], rng: np.random.Generator) -> tuple[Ints, float]:
    """N_RECORDS released records, and the estimated share of records that pass: twice that of the runs, at most 1."""
    mechanism = learned.release(resampled, k=K, gamma=GAMMA, epsilon0=EPSILON0)
    outputs = mechanism.release(learned.seeds, 15 * N_RECORDS, rng).values
    given = outputs[outputs >= 0]
    return learned.network.domain.records_in(given[:N_RECORDS]), min(1.0, 2.0 * len(given) / len(outputs))


def classifiers() -> dict[str, Any]:
    """A tree, a random forest and AdaBoost."""
    from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {
        "tree": DecisionTreeClassifier(max_depth=8, random_state=0),
        "forest": RandomForestClassifier(40, min_samples_leaf=3, random_state=0),
        "AdaBoost": AdaBoostClassifier(n_estimators=40, random_state=0),
    }


def accuracy(train: Ints, test: Ints, label: int) -> list[float]:
    """Accuracy on real records of the three, trained on `train`."""
    parts = [(np.delete(table, label, axis=1), table[:, label]) for table in (train, test)]
    return [float(model.fit(*parts[0]).score(*parts[1])) for model in classifiers().values()]


def told_apart(made: Ints, real: Ints, rng: np.random.Generator) -> list[float]:
    """Accuracy of a forest and a tree that tell made records from real ones, half of each: 1/2 is perfect."""
    n = min(len(made), len(real))
    rows = rng.permutation(2 * n)
    table, label = np.vstack([made[:n], real[:n]])[rows], (np.arange(2 * n) < n)[rows]
    models = classifiers()
    return [float(models[m].fit(table[:n], label[:n]).score(table[n:], label[n:])) for m in ("forest", "tree")]


def utility(lecture: Lecture) -> tuple[str, dict[str, list[float]]]:
    """Name of the data, and by kind of records: three accuracies, two of the game, and the share that passes."""
    rng = np.random.default_rng(SEED)
    source, domain, records = people(rng)
    test, other, train = np.split(records, [N_RECORDS, 2 * N_RECORDS])
    learned = learn_generator(train, domain, rng=rng, epsilon_entropy=0.05, epsilon_table=0.2)
    label, m = domain.index(LABEL), len(domain.names)
    marginals = np.column_stack([rng.permutation(learned.seeds[:, j])[:N_RECORDS] for j in range(m)])
    tables = {"real": (train[:N_RECORDS], 1.0), "marginals": (marginals, 1.0)}
    tables |= {f"omega {name}": synthetic(learned, omega, rng) for name, omega in RESAMPLED.items()}
    found = {
        name: [*accuracy(made, test, label), *told_apart(made, other, rng), share]
        for name, (made, share) in tables.items()
    }
    structure, parameters = (one.epsilon(1e-6) for one in learned.guarantees())
    lecture.chapter("2. What the records are good for")
    lecture.say(
        f"""
        {len(records):,} records ({source}) of {m} attributes. The structure is learned with epsilon
        {structure:.2f}, the tables with {parameters:.2f} (delta = 1e-6), a record with {K} plausible sources, gamma =
        {GAMMA:g} and epsilon0 = {EPSILON0:g} costs {DeniabilityDP(K, GAMMA, EPSILON0).epsilon(1e-6):.2f}. Accuracy of
        classifiers trained on {N_RECORDS:,} records and tested on real ones; of two that tell the records from real
        ones; and the share of the records that pass the test:
        """
    )
    columns = ["records", *classifiers(), "game: forest", "tree", "pass"]
    lecture.table(columns, [[name, *(f"{value:.1%}" for value in row)] for name, row in found.items()])
    return source, found


# %%
@dataclass(frozen=True)
class Findings:
    """What the lecture found."""

    exact_epsilons: dict[str, tuple[float, float]]
    source: str
    utility: dict[str, list[float]]


def main(out: Path | None = None) -> Findings:
    """Synthetic records that many could have given: what that promises, and what classifiers learn from them.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    epsilons = exact_epsilons(lecture)
    found = Findings(epsilons, *utility(lecture))
    draw(lecture)
    return found


def draw(lecture: Lecture) -> None:
    """Two panels: who passes the test, and the epsilon of the theorem."""
    lecture.panels(
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
        ax, title=f"k = {K}. Thin: no noise", x="records that could have given it as likely", y="probability of passing"
    )
    end_labels(ax, labels)


def _draw_theorem(ax: Axes) -> None:
    exponents, labels = np.linspace(-14.0, -2.0, 200), []
    for k, colour in ((20, AMBER), (50, GREEN), (200, BLUE)):
        epsilons = np.asarray(DeniabilityDP(k, GAMMA, EPSILON0).epsilon(10.0**exponents))
        shown = np.where(np.isfinite(epsilons), epsilons, np.nan)
        ax.plot(exponents, shown, color=colour.light, linewidth=2)
        labels.append(EndLabel(shown[-1], f"k = {k}", colour))
    style_axes(ax, title=f"The theorem, epsilon0 = {EPSILON0:g}", x="log10 delta", y="epsilon")
    ax.set_ylim(1.0, 2.0)
    end_labels(ax, labels)


# %%
if __name__ == "__main__":
    main()
