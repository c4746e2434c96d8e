# %% [markdown]
# # Synthetic is not private
#
# "The data are synthetic: none of these people exists." A hundred patients, three generators of rows that look like
# them, one metric that is used to call such rows private, and one audit.

# %%
"""Synthetic rows that are people, rows that give one person away, a metric that sees neither, and the cure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....attacks.synthesis import GeneratedQueries
from ....attacks.synthesis.distances import share_closer
from ....audit import AuditResult, audit
from ....mechanisms import Guarantee, Neighbours, Relation
from ....mechanisms.broken.synthesis import Resampled
from ....mechanisms.queries import Domain
from ....mechanisms.records import replace_record
from ....mechanisms.synthesis import FixedMarginals, GraphicalModel, SelectMeasureGenerate
from ...plots.style.canvas import EndLabel, end_labels, logarithmic, style_axes, write
from ...plots.style.palette import AMBER, CLAIM, GREEN
from ..lecture import Lecture

SEED = 1979
N_PATIENTS = 100
DOMAIN = {"age": 9, "sex": 2, "region": 4, "diagnosis": 6}
"""Ages are decades, from under 10 to over 80."""
RARE = (2, 0, 3, 5)
"""A woman in her twenties with a diagnosis that nobody else in the clinic has."""
SIZES = (2, 5, 10, 30, 100, 300, 1000)
DEVIATION = 4.0
DELTA = 1e-3
TRIALS = 2_000
TABLES = 100

Records = NDArray[np.int64]


def patients(seed: int) -> Records:
    """A hundred of them, `(n, 4)` codes: older people are ill in other ways; diagnosis 5 does not occur."""
    rng = np.random.default_rng([SEED, seed])
    age = rng.binomial(8, 0.6, N_PATIENTS)
    diagnosis = np.clip(rng.binomial(3, 0.2, N_PATIENTS) + (age > 5), 0, 4)
    return np.column_stack([age, rng.integers(0, 2, N_PATIENTS), rng.integers(0, 4, N_PATIENTS), diagnosis])


def pair() -> Neighbours:
    """The clinic with the woman, and with somebody ordinary in her place."""
    records = patients(0)
    ordinary = records[-1].copy()
    records[-1] = RARE
    return replace_record(records, N_PATIENTS - 1, ordinary)


# %% [markdown]
# ## 1. A generative model
#
# The best model of a hundred records is the records. It draws every row afresh.


# %%
def best_model(lecture: Lecture) -> dict[int, float]:
    """Share of the records that stand in a table of as many rows, for each number of records, as measured."""
    found = {}
    for n in SIZES:
        tables = Resampled(1.0, n_records=n).release(np.arange(n)[:, None], 1_000, np.random.default_rng(n)).values
        in_order = np.sort(tables[:, :, 0], axis=1)
        found[n] = float(np.mean((np.diff(in_order, axis=1) > 0).sum(axis=1) + 1) / n)
    lecture.chapter("1. A generative model")
    lecture.say(
        """
        The model is the uniform distribution on the records: nothing fits them better. It draws n rows, each afresh,
        and nobody is copied on purpose. How many of the n people stand in the table as they are?
        """
    )
    lecture.table(
        ["records n", *(f"{n:,}" for n in SIZES)],
        [
            ["in the table", *(f"{share:.1%}" for share in found.values())],
            ["1 - (1 - 1/n)^n", *(f"{Resampled(1.0, n_records=n).share_shown:.1%}" for n in SIZES)],
        ],
    )
    lecture.say(
        """
        63.2 % of them, 1 - 1/e. To add ten years to every age changes no more than to subtract them again. That rows
        are drawn, and that they look right, says nothing about whose they are.
        """
    )
    return found


# %% [markdown]
# ## 2. A metric, and an audit
#
# The distance to the closest record: are the rows closer to the patients than to a hundred others? An audit asks
# something else: would the table be another one without her?


# %%
def independent_columns(records: Records, size: int, rng: np.random.Generator) -> Records:
    """Rows whose columns are drawn apart, each from the exact shares of its values: `(size, n, d)`."""
    n, d = records.shape
    return np.stack([records[rng.integers(n, size=(size, n)), column] for column in range(d)], axis=2)


def private_columns() -> SelectMeasureGenerate:
    """The same from counts with noise."""
    marginals = tuple((name,) for name in DOMAIN)
    selection = FixedMarginals(marginals, standard_deviation=DEVIATION, relation=Relation.REPLACE_ONE)
    return SelectMeasureGenerate(Domain.of(DOMAIN), selection, GraphicalModel(), view="table")


@dataclass(frozen=True)
class Generator:
    """What was found out about a generator.

    Args:
        name: of it.
        closer: share of rows that are closer to the patients than to others, the mean of many tables.
        result: the audit.
    """

    name: str
    closer: float
    result: AuditResult


def generators(lecture: Lecture) -> dict[str, Generator]:
    """The metric and the audit of each."""
    private = private_columns()
    found = {
        "the records": _examined("the records", Resampled(1.0, n_records=N_PATIENTS)),
        "exact columns": _examined("exact columns", independent_columns, claim=private.guarantee()),
        "private columns": _examined("private columns", private),
    }
    lecture.chapter("2. A metric, and an audit")
    lecture.say(
        f"""
        One of the patients has a diagnosis that nobody else has. Next to the model above stand two that draw every
        column by itself: one from the exact shares of its values, one from counts with Gaussian noise of standard
        deviation {DEVIATION:g}. The metric is the share of rows closer to the patients than to a hundred others, where
        50 % passes. The audit runs each generator with her and with somebody ordinary in her place,
        {TRIALS:,} times each.
        """
    )
    lecture.table(
        ["generator", "closer to patients", f"epsilon at least (delta {DELTA:g})", "claim", "verdict"],
        [
            [
                one.name,
                f"{one.closer:.0%}",
                f"{one.result.bound.epsilon:.2f}",
                f"{one.result.claim:.2f}",
                one.result.verdict.value,
            ]
            for one in found.values()
        ],
    )
    lecture.say(
        """
        The metric sees the copies. It does not see the second generator, which copies nobody, and writes her diagnosis
        in two tables of three with her and in none without her. The audit sees both. With noise, nothing is seen beyond
        the claim, and nothing can be: that holds for every patient and for every attack.
        """
    )
    return found


def _examined(name: str, generator: Any, claim: Guarantee | None = None) -> Generator:
    used, unused = pair().d1, patients(1)
    release: Callable[..., Any] = getattr(generator, "release", generator)
    tables = np.asarray(release(used, TABLES, np.random.default_rng(SEED)))
    attack = "auto" if isinstance(generator, Resampled) else GeneratedQueries(model="logistic")
    result = audit(generator, pair(), claim=claim, delta=DELTA, attack=attack, trials=TRIALS, seed=SEED)
    return Generator(name, float(share_closer(tables, used, unused).mean()), result)


# %% [markdown]
# ## 3. What it costs
#
# Noise is paid for in the table: how far are its shares from those of the patients?


# %%
def cost(lecture: Lecture) -> dict[str, tuple[float, float]]:
    """For each column the mean distance of its shares, half the l1 norm: exact columns, private columns."""
    records = pair().d1
    tables = [
        independent_columns(records, TABLES, np.random.default_rng(SEED)),
        np.asarray(private_columns().release(records, TABLES, np.random.default_rng(SEED)).values),
    ]
    found = {}
    for place, (name, n_values) in enumerate(DOMAIN.items()):
        shares = np.bincount(records[:, place], minlength=n_values) / len(records)
        errors = [
            np.abs((table[:, :, place, None] == np.arange(n_values)).mean(axis=1) - shares).sum(axis=1).mean() / 2
            for table in tables
        ]
        found[name] = (float(errors[0]), float(errors[1]))
    lecture.chapter("3. What it costs")
    lecture.say("How far the shares of a column lie from those of the patients, on average (total variation):")
    lecture.table(
        ["column", "exact columns", "private columns"],
        [[name, *(f"{error:.1%}" for error in errors)] for name, errors in found.items()],
    )
    lecture.say(
        """
        A hundred people are few: what noise costs is of the size of what drawing rows costs anyway. With ten times as
        many people it is a tenth, and drawing costs a third.
        """
    )
    return found


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture."""

    best_model: dict[int, float]
    generators: dict[str, Generator]
    cost: dict[str, tuple[float, float]]


def main(out: Path | None = None) -> Findings:
    """Synthetic is not private: 63 % of the people verbatim, a leak that a distance does not see, and the cure.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    found = Findings(best_model(lecture), generators(lecture), cost(lecture))
    lecture.chapter("To take home")
    lecture.say("Synthetic says how a table was made. Private says what it would be without you.")
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Two panels: records in the table against their number; what metric and audit say about three generators."""
    lecture.panels(
        "synthetic-is-not-private",
        lambda ax: _draw_shares(ax, found),
        lambda ax: _draw_generators(ax, found),
        title="Synthetic is not private",
        description="Left: share of the records that stand in a table drawn from them. Right: the bound of an audit "
        "against the share of rows closer to the patients, for three generators.",
    )


def _draw_shares(ax: Axes, found: Findings) -> None:
    sizes = np.unique(np.geomspace(SIZES[0], SIZES[-1], 200).astype(int))
    ax.plot(sizes, [Resampled(1.0, n_records=int(n)).share_shown for n in sizes], color=AMBER.light, linewidth=1.4)
    ax.plot(SIZES, list(found.best_model.values()), marker="o", color=AMBER.light, linewidth=0)
    ax.axhline(1.0 - np.exp(-1.0), color=CLAIM.light, linewidth=1.0, linestyle="--")
    logarithmic(ax.xaxis, SIZES[0] / 1.15, SIZES[-1] * 1.15)
    ax.set_ylim(0.6, 0.77)
    style_axes(ax, title="Records in a table drawn from them", x="records n, and rows", y="share of the records")
    end_labels(ax, [EndLabel(1.0 - np.exp(-1.0), "1 - 1/e", CLAIM)])


def _draw_generators(ax: Axes, found: Findings) -> None:
    claim = found.generators["private columns"].result.claim
    ax.axhline(claim, color=CLAIM.light, linewidth=1.4)
    ax.axvline(0.5, color=CLAIM.light, linewidth=1.0, linestyle="--")
    write(ax, 0.9, claim + 0.08, f"claim {claim:.2f}", CLAIM)
    write(ax, 0.505, 1.2, "passes the metric", CLAIM)
    for name, one in found.generators.items():
        colour = GREEN if name == "private columns" else AMBER
        ax.plot([one.closer], [one.result.bound.epsilon], marker="o", color=colour.light, linewidth=0)
        write(ax, one.closer + 0.018, one.result.bound.epsilon + 0.1, name, colour)
    ax.set_xlim(0.4, 1.02)
    ax.set_ylim(0.0, 1.25 * max(one.result.bound.epsilon for one in found.generators.values()))
    style_axes(
        ax,
        title="Three generators, a metric and an audit",
        x="rows closer to the patients than to others (share)",
        y=f"epsilon is at least (delta {DELTA:g})",
    )


# %%
if __name__ == "__main__":
    main()
