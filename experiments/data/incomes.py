"""Incomes of people: eleven attributes of the census of 1994, or of synthetic people where it is not available."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...mechanisms.core import DataError, Ints
from ...mechanisms.noise.queries.domain import Domain
from .datasets import load

LABEL = "income>50K"
SIZES = {"age": 9, "workclass": 9, "education-num": 16, "marital-status": 7, "occupation": 15, "relationship": 6}
SIZES |= {"race": 5, "sex": 2, "hours-per-week": 10, "native-country": 42, LABEL: 2}
"""Attributes of the census, and their numbers of values; ages and hours are divided by ten."""


def income_records(rng: np.random.Generator) -> tuple[str, Domain, Ints]:
    """Return name, domain and records of the census in random order, or of synthetic people without the census."""
    try:
        table: Any = load("adult")
    except DataError:
        return "synthetic people", *_synthetic_incomes(rng)
    columns = {name: table[name].to_numpy() for name in SIZES}
    columns["age"], columns["hours-per-week"] = columns["age"] // 10, columns["hours-per-week"] // 10
    records = np.column_stack([columns[name] for name in SIZES]).astype(np.int64)
    return "census of 1994", Domain(tuple(SIZES.items())), rng.permutation(records)


def _synthetic_incomes(rng: np.random.Generator, *, n: int = 30_000) -> tuple[Domain, Ints]:
    """Return domain and records of synthetic people: a mixture of eight product distributions of eleven attributes.

    The distributions are the same for each `rng`.

    Example:
        >>> domain, records = _synthetic_incomes(np.random.default_rng(1), n=3)
        >>> domain.names[-1], records.shape
        ('income>50K', (3, 11))
    """
    sizes = (9, 7, 8, 5, 8, 6, 4, 2, 6, 5, 2)
    names = (*(f"attribute {i + 1}" for i in range(10)), LABEL)
    world = np.random.default_rng(2017)
    kinds = rng.choice(8, size=n, p=world.dirichlet(np.ones(8)))
    columns = []
    for size in sizes:
        steps = np.cumsum(world.dirichlet(np.full(size, 0.25), size=8), axis=1)[:, :-1]
        columns.append((steps[kinds] <= rng.random((n, 1))).sum(axis=1))
    return Domain(tuple(zip(names, sizes, strict=True))), np.column_stack(columns)
