"""The five-marginal example: a census table measured once, and explained by each generator."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from .....mechanisms.errors import DataError
from .....mechanisms.queries import Domain
from .....mechanisms.synthesis import FixedMarginals, Generator, Measured, Table
from .....mechanisms.synthesis.generators import (
    DirectGenerator,
    GeneratorNetwork,
    GradualUpdate,
    GraphicalModel,
    LocalConsistency,
    RelaxedTable,
    misfit,
)
from ....data.datasets import load

if TYPE_CHECKING:
    import pandas as pd

SEED = 2022
ADULT = Domain.of(
    {
        "age": 85,
        "workclass": 9,
        "fnlwgt": 100,
        "education-num": 16,
        "marital-status": 7,
        "occupation": 15,
        "relationship": 6,
        "race": 5,
        "sex": 2,
        "capital-gain": 100,
        "capital-loss": 100,
        "hours-per-week": 99,
        "native-country": 42,
        "income>50K": 2,
    }
)
"""Attributes of the census table, in codes: 1.3e19 cells."""
FIVE = FixedMarginals(
    (
        ("marital-status", "sex"),
        ("education-num", "race"),
        ("sex", "hours-per-week"),
        ("workclass",),
        ("marital-status", "occupation", "income>50K"),
    ),
    standard_deviation=50.0,
)
"""The marginals of McKenna, Miklau and Sheldon (2021), and their noise: 1/1000 concentrated DP when a record is added
or removed."""


def census() -> tuple[str, Table]:
    """What it is, and the table: Adult where the data directory has it, else one of its size that is made up."""
    try:
        return "Adult", Table.of(ADULT, load("adult"))
    except DataError:
        return "a made-up census of Adult's size", Table.of(ADULT, made_up())


def made_up(n_records: int = 48_842) -> pd.DataFrame:
    """Records over `ADULT` whose attributes follow a common hidden number, some values common and most rare."""
    import pandas as pd

    rng = np.random.default_rng(SEED)
    hidden = rng.random(n_records)
    columns = {}
    for name, n_values in ADULT.attributes:
        mixed = np.where(rng.random(n_records) < 0.6, hidden, rng.random(n_records))
        columns[name] = np.minimum((n_values * mixed**2.0).astype(np.int64), n_values - 1)
    return pd.DataFrame(columns)


def generators() -> dict[str, Generator]:
    """Those that a domain of this size leaves, of a size that suits it."""
    return {
        "graphical model": GraphicalModel(),
        "relaxed table (softmax)": RelaxedTable(),
        "relaxed table (clipped)": RelaxedTable(softmax=False, learning_rate=0.1),
        "generator network": GeneratorNetwork(),
        "local consistency": LocalConsistency(n_rows=50_000),
        "gradual update": GradualUpdate(n_rows=50_000),
    }


@dataclass(frozen=True)
class Explained:
    """How one generator explains the five marginals.

    Args:
        seconds: CPU time of the fit, one thread.
        misfit: half the squared error of the answers in units of the noise.
        errors: of each marginal, the mean absolute error of a cell: of the fit against the data, in records.
        table: the same of a table of as many records as the data have.
        answers: the same of the noisy answers themselves.
    """

    seconds: float
    misfit: float
    errors: tuple[float, ...]
    table: tuple[float, ...]
    answers: tuple[float, ...]


def explained(table: Table, named: Mapping[str, Generator]) -> dict[str, Explained]:
    """All of them on the same noisy answers."""
    rng = np.random.default_rng(SEED)
    measured = FIVE.measure(table, DirectGenerator(), 1, rng)
    return {name: _explained(table, measured, generator) for name, generator in named.items()}


def _explained(table: Table, measured: tuple[Measured, ...], generator: Generator) -> Explained:
    rng = np.random.default_rng([SEED, 1])
    with threadpool_limits(1):
        start = time.process_time()
        fitted = generator.fit(ADULT, measured, rng)
        found = [fitted.marginal(one.attributes)[0] for one in measured]
        seconds = time.process_time() - start
        drawn = Table(ADULT, fitted.table(len(table), rng)[0])
    exact = [table.marginal(one.attributes) for one in measured]
    return Explained(
        seconds,
        float(misfit(fitted, measured)[0]),
        tuple(float(np.abs(counts - truth).mean()) for counts, truth in zip(found, exact, strict=True)),
        tuple(float(np.abs(drawn.marginal(o.attributes) - t).mean()) for o, t in zip(measured, exact, strict=True)),
        tuple(float(np.abs(one.answers[0] - truth).mean()) for one, truth in zip(measured, exact, strict=True)),
    )
