"""Five-marginal example: a census table measured once, and fitted by each generator."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from .....mechanisms.core.errors import DataError
from .....mechanisms.noise.queries import Domain
from .....mechanisms.synthetic_data import CodedTable, FixedMarginals, Generator, NoisyMarginal
from .....mechanisms.synthetic_data.generators import (
    DirectGenerator,
    GeneratorNetwork,
    GradualUpdate,
    GraphicalModel,
    LocalConsistency,
    RelaxedTable,
    marginal_loss,
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
"""Marginals and noise of McKenna, Miklau and Sheldon (2021): 1/1000 concentrated DP under add_remove."""


def census() -> tuple[str, CodedTable]:
    """Return name and table of the data: Adult if it is in the data directory, else a synthetic table of its size."""
    try:
        return "Adult", CodedTable.of(ADULT, load("adult"))
    except DataError:
        return "a synthetic census of Adult's size", CodedTable.of(ADULT, made_up())


def made_up(n_records: int = 48_842) -> pd.DataFrame:
    """Return synthetic records over `ADULT` whose attributes depend on a hidden variable, with mostly rare values."""
    import pandas as pd

    rng = np.random.default_rng(SEED)
    hidden = rng.random(n_records)
    columns = {}
    for name, n_values in ADULT.attributes:
        mixed = np.where(rng.random(n_records) < 0.6, hidden, rng.random(n_records))
        columns[name] = np.minimum((n_values * mixed**2.0).astype(np.int64), n_values - 1)
    return pd.DataFrame(columns)


def generators() -> dict[str, Generator]:
    """Return the generators that support a domain of this size, with suitable settings."""
    return {
        "graphical model": GraphicalModel(),
        "relaxed table (softmax)": RelaxedTable(),
        "relaxed table (clipped)": RelaxedTable(softmax=False, learning_rate=0.1),
        "generator network": GeneratorNetwork(),
        "local consistency": LocalConsistency(n_rows=50_000),
        "gradual update": GradualUpdate(n_rows=50_000),
    }


@dataclass(frozen=True)
class CensusExplained:
    """Fit of one generator to the five marginals.

    Args:
        seconds: CPU time of the fit, one thread.
        loss: half the squared error of the answers in units of the noise.
        errors: mean absolute error of a cell of each marginal of the fit, in records.
        table: errors of a synthetic table with as many records as the data.
        answers: errors of the noisy answers.
    """

    seconds: float
    loss: float
    errors: tuple[float, ...]
    table: tuple[float, ...]
    answers: tuple[float, ...]


def explained(table: CodedTable, named: Mapping[str, Generator]) -> dict[str, CensusExplained]:
    """Return the fits of all generators to the same noisy answers."""
    rng = np.random.default_rng(SEED)
    measured = FIVE.measure(table, DirectGenerator(), 1, rng)
    return {name: _explained(table, measured, generator) for name, generator in named.items()}


def _explained(table: CodedTable, measured: tuple[NoisyMarginal, ...], generator: Generator) -> CensusExplained:
    rng = np.random.default_rng([SEED, 1])
    with threadpool_limits(1):
        start = time.process_time()
        fitted = generator.fit(ADULT, measured, rng)
        marginals = [fitted.marginal(answer.attributes)[0] for answer in measured]
        seconds = time.process_time() - start
        drawn = CodedTable(ADULT, fitted.table(len(table), rng)[0])
    exact = [table.marginal(answer.attributes) for answer in measured]
    return CensusExplained(
        seconds,
        float(marginal_loss(fitted, measured)[0]),
        tuple(float(np.abs(counts - truth).mean()) for counts, truth in zip(marginals, exact, strict=True)),
        tuple(float(np.abs(drawn.marginal(o.attributes) - t).mean()) for o, t in zip(measured, exact, strict=True)),
        tuple(float(np.abs(m.answers[0] - truth).mean()) for m, truth in zip(measured, exact, strict=True)),
    )
