"""Adult, a census table in codes, its five-marginal example, and a synthetic table of its size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...mechanisms.core import DataError
from ...mechanisms.literature.synthetic_data import CodedTable, FixedMarginals
from ...mechanisms.noise.queries import Domain
from ..data.datasets import load

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
        return "a synthetic census of Adult's size", CodedTable.of(ADULT, _made_up())


def _made_up(n_records: int = 48_842) -> pd.DataFrame:
    """Return synthetic records over `ADULT` whose attributes depend on a hidden variable, with mostly rare values."""
    import pandas as pd

    rng = np.random.default_rng(SEED)
    hidden = rng.random(n_records)
    columns = {}
    for name, n_values in ADULT.attributes:
        mixed = np.where(rng.random(n_records) < 0.6, hidden, rng.random(n_records))
        columns[name] = np.minimum((n_values * mixed**2.0).astype(np.int64), n_values - 1)
    return pd.DataFrame(columns)
