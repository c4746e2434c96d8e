"""Synthetic tables: docs/mechanisms/generators.md and docs/mechanisms/plausible-deniability.md."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from stated import DOCS, Number

from dpassay.experiments.data.datasets import load
from dpassay.experiments.demos import get
from dpassay.experiments.literature.adult import ADULT, FIVE, _made_up, census
from dpassay.mechanisms.core import DataError
from dpassay.mechanisms.literature.synthetic_data import CodedTable, GraphicalModel

GENERATORS = DOCS / "mechanisms" / "generators.md"
GENERATOR_ROWS = {
    "direct": "| direct | {0.000} | {1.000} | {0.000} |",
    "graphical model": "| graphical model | {0.000} | {1.000} | {0.000} |",
    "relaxed table (softmax)": "| relaxed table (softmax) | {0.000} | {1.000} | {0.008} |",
    "generator network": "| generator network | {0.002} | {1.000} | {0.013} |",
    "local consistency": "| local consistency | {0.000} | **{0.000}** | {0.000} |",
    "gradual update": "| gradual update | {0.000} | {1.000} | {0.000} |",
}


def deniable_records() -> list[float]:
    """Two rows of the demo of that name on Adult, in per cent: marginals, and omega 10."""
    rows = get("deniable-records").run().utility
    return [100.0 * value for name in ("marginals", "omega 10") for value in rows[name]]


def has_adult() -> bool:
    """Whether the census of 1994 is at hand."""
    try:
        load("adult")
    except DataError:
        return False
    return True


@cache
def on_cube() -> dict[str, tuple[float, float, float]]:
    """Distance, loss and excess of each generator on eight cells."""
    return get("five-generators").run().results


def generator_row(name: str) -> list[float]:
    """Distance, loss and excess of a generator."""
    return list(on_cube()[name])


def five_marginals(name: str) -> list[float]:
    """Return the errors of measured and fitted marginals of Adult or the synthetic census, each in the page's order."""
    table = census()[1] if name == "adult" else CodedTable.of(ADULT, _made_up())
    rng = np.random.default_rng(2019)
    measured = FIVE.measure(table, GraphicalModel(), 10, rng)
    fitted = GraphicalModel().fit(ADULT, measured, rng)
    answers = {marginal.attributes: marginal.answers for marginal in measured}
    rows = []
    for names in (*FIVE.marginals, ("sex", "income>50K"), ("education-num", "occupation")):
        kinds, exact = [answers[names]] if names in answers else [], table.marginal(names)
        kinds.append(fitted.marginal(names))
        rows.append([float(np.abs(counts - exact).sum(axis=-1).mean() / len(table)) for counts in kinds])
    return [error for row in rows for error in row]


ON_ADULT = (
    Number(
        "five-marginals-adult",
        GENERATORS,
        """| Adult | {0.0115} {0.0115} | {0.0639} {0.0503} | {0.1606} {0.1090} | {0.0075} {0.0069} |
        {0.1690} {0.1099} | {0.0311} | {0.5048} |""",
        lambda: five_marginals("adult"),
        0.000051,
        1,
    ),
    Number(
        "deniable-records",
        DOCS / "mechanisms" / "plausible-deniability.md",
        """| marginals | {76.5} | {77.3} | {77.0} | {85.9} | {82.0} | {100.0} |
        | omega 11 | 79.6 | 80.7 | 80.5 | 68.3 | 63.0 | 100.0 |
        | omega 10 | {79.0} | {80.8} | {80.2} | {69.4} | {63.8} | {100.0} |""",
        deniable_records,
        2.0,
        12,
    ),
)
"""What is measured on the census of 1994, and left out without it."""
NUMBERS = (
    Number(
        "five-marginals-synthetic",
        GENERATORS,
        """| synthetic census | {0.0115} {0.0110} | {0.0639} {0.0636} | {0.1606} {0.1591} | {0.0075} {0.0074} |
        {0.1690} {0.1595} | {0.2036} | {0.6043} |""",
        lambda: five_marginals("synthetic"),
        0.000051,
        1,
    ),
    *(
        Number(
            f"generator-{name.split(' ')[0]}",
            GENERATORS,
            row,
            partial(generator_row, name),
            0.0006,
            9,
        )
        for name, row in GENERATOR_ROWS.items()
    ),
    *(ON_ADULT if has_adult() else ()),
)
