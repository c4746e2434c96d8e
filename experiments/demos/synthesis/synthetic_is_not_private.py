# %% [markdown]
# # Synthetic is not private
#
# "The data are synthetic: none of these people exists." This demo compares three generators of synthetic rows from a
# hundred patients by a common privacy metric, and by an audit.

# %%
"""Synthetic rows that copy people or leak one person, a similarity metric that misses the leak, and a private table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....attacks.membership.synthetic_data import GeneratedQueries
from ....attacks.membership.synthetic_data.records import share_closer
from ....audit import AuditResult, audit
from ....mechanisms import Guarantee, Neighbours, Relation
from ....mechanisms.broken.synthetic_data import Resampled
from ....mechanisms.core.records import replace_record
from ....mechanisms.noise.queries import Domain
from ....mechanisms.synthetic_data import FixedMarginals, GraphicalModel, SelectMeasureGenerate
from ...report.plots.style import AMBER, CLAIM, GREEN, EndLabel, end_labels, logarithmic, style_axes, write
from ..demo import Demo

SEED = 1979
N_PATIENTS = 100
DOMAIN = {"age": 9, "sex": 2, "region": 4, "diagnosis": 6}
"""Attributes and numbers of values; ages are decades, from under 10 to over 80."""
RARE = (2, 0, 3, 5)
"""Record of a woman in her twenties with a unique diagnosis."""
SIZES = (2, 5, 10, 30, 100, 300, 1000)
DEVIATION = 4.0
DELTA = 1e-3
TRIALS = 2_000
TABLES = 100

Records = NDArray[np.int64]


def patients(seed: int) -> Records:
    """Return the codes of a hundred patients, `(n, 4)`: diagnoses depend on age; diagnosis 5 does not occur."""
    rng = np.random.default_rng([SEED, seed])
    age = rng.binomial(8, 0.6, N_PATIENTS)
    diagnosis = np.clip(rng.binomial(3, 0.2, N_PATIENTS) + (age > 5), 0, 4)
    return np.column_stack([age, rng.integers(0, 2, N_PATIENTS), rng.integers(0, 4, N_PATIENTS), diagnosis])


def pair() -> Neighbours:
    """Return the clinic with the woman, and with an ordinary patient in her place."""
    records = patients(0)
    ordinary = records[-1].copy()
    records[-1] = RARE
    return replace_record(records, N_PATIENTS - 1, ordinary)


# %% [markdown]
# ## 1. A generative model
#
# The best-fitting model of a hundred records is their empirical distribution. Each row is drawn independently.


# %%
def best_model(demo: Demo) -> dict[int, float]:
    """Return the measured share of the records that occur in a table of equal size, by the number of records."""
    shares = {}
    for n in SIZES:
        tables = Resampled(1.0, n_records=n).release(np.arange(n)[:, None], 1_000, np.random.default_rng(n)).values
        in_order = np.sort(tables[:, :, 0], axis=1)
        shares[n] = float(np.mean((np.diff(in_order, axis=1) > 0).sum(axis=1) + 1) / n)
    demo.chapter("1. A generative model")
    demo.say(
        """
        The model is the empirical distribution of the records, which has the best fit. It draws n rows independently.
        What share of the n people occurs in the table unchanged?
        """
    )
    demo.table(
        ["records n", *(f"{n:,}" for n in SIZES)],
        [
            ["in the table", *(f"{share:.1%}" for share in shares.values())],
            ["1 - (1 - 1/n)^n", *(f"{Resampled(1.0, n_records=n).share_shown:.1%}" for n in SIZES)],
        ],
    )
    demo.say(
        """
        63.2 %, or 1 - 1/e. An invertible transformation, such as adding ten years to every age, changes nothing.
        Random generation and realistic rows do not provide privacy.
        """
    )
    return shares


# %% [markdown]
# ## 2. A metric, and an audit
#
# The distance to the closest record: are the rows closer to the patients than to a hundred other people? An audit tests
# a different property: does the distribution of the table depend on her record?


# %%
def independent_columns(records: Records, size: int, rng: np.random.Generator) -> Records:
    """Return rows with independent columns, each drawn from the exact shares of its values: `(size, n, d)`."""
    n, d = records.shape
    return np.stack([records[rng.integers(n, size=(size, n)), column] for column in range(d)], axis=2)


def private_columns() -> SelectMeasureGenerate:
    """Return a synthesiser with independent columns, each drawn from noisy counts."""
    marginals = tuple((name,) for name in DOMAIN)
    selection = FixedMarginals(marginals, standard_deviation=DEVIATION, relation=Relation.REPLACE_ONE)
    return SelectMeasureGenerate(Domain.of(DOMAIN), selection, GraphicalModel(), view="table")


@dataclass(frozen=True)
class GeneratorResult:
    """Metric and audit of one generator.

    Args:
        name: name of the generator.
        closer: share of rows that are closer to the patients than to others, mean over many tables.
        result: the audit.
    """

    name: str
    closer: float
    result: AuditResult


def generators(demo: Demo) -> dict[str, GeneratorResult]:
    """Return the metric and the audit of each generator."""
    private = private_columns()
    examined = {
        "the records": _examined("the records", Resampled(1.0, n_records=N_PATIENTS)),
        "exact columns": _examined("exact columns", independent_columns, claim=private.guarantee()),
        "private columns": _examined("private columns", private),
    }
    demo.chapter("2. A metric, and an audit")
    demo.say(
        f"""
        One patient has a unique diagnosis. The model above is compared with two that draw every column independently:
        one from the exact shares of its values, one from counts with Gaussian noise of standard deviation
        {DEVIATION:g}. The metric is the share of rows closer to the patients than to a hundred others; 50 % passes. The
        audit runs each generator with her and with an ordinary patient in her place, {TRIALS:,} times each.
        """
    )
    demo.table(
        ["generator", "closer to patients", f"lower bound (delta {DELTA:g})", "claim", "verdict"],
        [
            [
                generator.name,
                f"{generator.closer:.0%}",
                f"{generator.result.bound.epsilon:.2f}",
                f"{generator.result.claim:.2f}",
                generator.result.verdict.value,
            ]
            for generator in examined.values()
        ],
    )
    demo.say(
        """
        The metric detects the copies. It does not detect the leak of the second generator, which copies no record, but
        releases her diagnosis in two of three tables with her and in none without her. The audit detects both. With
        noise, the lower bound is within the claim, which holds for every patient and every attack.
        """
    )
    return examined


def _examined(name: str, generator: Any, claim: Guarantee | None = None) -> GeneratorResult:
    training, reference = pair().d1, patients(1)
    release: Callable[..., Any] = getattr(generator, "release", generator)
    tables = np.asarray(release(training, TABLES, np.random.default_rng(SEED)))
    attack = "auto" if isinstance(generator, Resampled) else GeneratedQueries(model="logistic")
    result = audit(generator, pair(), claim=claim, delta=DELTA, attack=attack, trials=TRIALS, seed=SEED)
    return GeneratorResult(name, float(share_closer(tables, training, reference).mean()), result)


# %% [markdown]
# ## 3. Utility
#
# Noise reduces the utility of the table: what is the error of its shares?


# %%
def cost(demo: Demo) -> dict[str, tuple[float, float]]:
    """Return the mean total variation distance of each column: exact columns, private columns."""
    records = pair().d1
    tables = [
        independent_columns(records, TABLES, np.random.default_rng(SEED)),
        np.asarray(private_columns().release(records, TABLES, np.random.default_rng(SEED)).values),
    ]
    distances = {}
    for place, (name, n_values) in enumerate(DOMAIN.items()):
        shares = np.bincount(records[:, place], minlength=n_values) / len(records)
        errors = [
            np.abs((table[:, :, place, None] == np.arange(n_values)).mean(axis=1) - shares).sum(axis=1).mean() / 2
            for table in tables
        ]
        distances[name] = (float(errors[0]), float(errors[1]))
    demo.chapter("3. Utility")
    demo.say("Mean total variation distance of the shares of a column from those of the patients:")
    demo.table(
        ["column", "exact columns", "private columns"],
        [[name, *(f"{error:.1%}" for error in errors)] for name, errors in distances.items()],
    )
    demo.say(
        """
        For a hundred people, the error due to noise is similar to that of random sampling of rows. With ten times as
        many people, the error due to noise is a tenth, and that of sampling a third.
        """
    )
    return distances


# %%
@dataclass(frozen=True)
class SyntheticIsNotPrivateFindings:
    """Results of the demo."""

    best_model: dict[int, float]
    generators: dict[str, GeneratorResult]
    cost: dict[str, tuple[float, float]]


def main(out: Path | None = None) -> SyntheticIsNotPrivateFindings:
    """Run the demo: synthetic copies of 63 % of the people, a leak that a metric misses, and a private table.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    findings = SyntheticIsNotPrivateFindings(best_model(demo), generators(demo), cost(demo))
    demo.chapter("Conclusion")
    demo.say(
        "Synthetic describes the generation of a table. Private means that the table hardly depends on any one person."
    )
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: SyntheticIsNotPrivateFindings) -> None:
    """Draw two panels: share of records in the table by their number, and metric and audit of three generators."""
    demo.panels(
        "synthetic-is-not-private",
        lambda ax: _draw_shares(ax, findings),
        lambda ax: _draw_generators(ax, findings),
        title="Synthetic is not private",
        description="Left: share of the records that occur in a table drawn from them. Right: the bound of an audit "
        "against the share of rows closer to the patients, for three generators.",
    )


def _draw_shares(ax: Axes, findings: SyntheticIsNotPrivateFindings) -> None:
    sizes = np.unique(np.geomspace(SIZES[0], SIZES[-1], 200).astype(int))
    ax.plot(sizes, [Resampled(1.0, n_records=int(n)).share_shown for n in sizes], color=AMBER.light, linewidth=1.4)
    ax.plot(SIZES, list(findings.best_model.values()), marker="o", color=AMBER.light, linewidth=0)
    ax.axhline(1.0 - np.exp(-1.0), color=CLAIM.light, linewidth=1.0, linestyle="--")
    logarithmic(ax.xaxis, SIZES[0] / 1.15, SIZES[-1] * 1.15)
    ax.set_ylim(0.6, 0.77)
    style_axes(ax, title="Records in a table drawn from them", x="records n, and rows", y="share of the records")
    end_labels(ax, [EndLabel(1.0 - np.exp(-1.0), "1 - 1/e", CLAIM)])


def _draw_generators(ax: Axes, findings: SyntheticIsNotPrivateFindings) -> None:
    claim = findings.generators["private columns"].result.claim
    ax.axhline(claim, color=CLAIM.light, linewidth=1.4)
    ax.axvline(0.5, color=CLAIM.light, linewidth=1.0, linestyle="--")
    write(ax, 0.9, claim + 0.08, f"claim {claim:.2f}", CLAIM)
    write(ax, 0.505, 1.2, "passes the metric", CLAIM)
    for name, generator in findings.generators.items():
        colour = GREEN if name == "private columns" else AMBER
        epsilon = generator.result.bound.epsilon
        ax.plot([generator.closer], [epsilon], marker="o", color=colour.light, linewidth=0)
        write(ax, generator.closer + 0.018, epsilon + 0.1, name, colour)
    ax.set_xlim(0.4, 1.02)
    ax.set_ylim(0.0, 1.25 * max(generator.result.bound.epsilon for generator in findings.generators.values()))
    style_axes(
        ax,
        title="Metric and audit of three generators",
        x="rows closer to the patients than to others (share)",
        y=f"lower bound on epsilon (delta {DELTA:g})",
    )


# %%
if __name__ == "__main__":
    main()
