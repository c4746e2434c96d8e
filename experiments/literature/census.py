"""Synthetic people of census blocks: ages, sexes and races distributed as in a large country, by block."""

from __future__ import annotations

import numpy as np

from ...mechanisms.core import Floats, Ints, whole
from ...mechanisms.literature.query_release.tables.table_set import RACES, census_domain

FIVE_YEARS = (57, 61, 65, 66, 66, 69, 69, 66, 62, 60, 63, 66, 64, 55, 45, 30, 19, 12, 5, 2)
"""People per thousand aged 0 to 4, 5 to 9 and so on to 95 to 99, about as in the United States of 2020."""
RACE_SHARES = (0.62, 0.12, 0.06, 0.20)
"""Shares of RACES in the whole country."""
CONCENTRATION = 6.0
"""Similarity of blocks: the shares of races in a block are Dirichlet with this total concentration."""


def _ages_law() -> Floats:
    """Return the probability of each age from 0 to 110, which is 0 from 100 on."""
    law = np.zeros(111)
    law[:100] = np.repeat(FIVE_YEARS, 5)
    return np.asarray(law / law.sum())


def _female_share() -> Floats:
    """Return the probability that a person is female, by age: 0.49 for children, rising from 60 on to 0.72."""
    return np.interp(np.arange(111), [0, 20, 60, 100], [0.489, 0.495, 0.51, 0.72])


def population() -> Floats:
    """Return the probability of each type of `census_domain(1)`, `(n_types,)`: public knowledge without any table.

    Example:
        >>> law = population()
        >>> law.shape, round(float(law.sum()), 9)
        ((888,), 1.0)
    """
    sexes = np.stack([_female_share(), 1.0 - _female_share()]) * _ages_law()
    return np.asarray((sexes[:, None, :] * np.array(RACE_SHARES)[None, :, None]).reshape(-1))


def census_blocks(*, n: int = 60, n_blocks: int = 2, seed: int = 0) -> Ints:
    """Generate synthetic people of census blocks: age, sex, race and, for several blocks, block; equally many in each.

    Args:
        n: people in each block, >= 1.
        n_blocks: 1 to 26.
        seed: of the generator, >= 0.

    Example:
        >>> census_blocks(n=2, n_blocks=1).tolist()
        [[49, 0, 2], [21, 0, 0]]
    """
    whole(1, n=n)
    whole(0, seed=seed)
    census_domain(n_blocks)
    rng = np.random.default_rng(seed)
    rows = []
    for block in range(n_blocks):
        ages = rng.choice(111, size=n, p=_ages_law())
        sexes = (rng.random(n) >= _female_share()[ages]).astype(np.int64)
        races = rng.choice(len(RACES), size=n, p=rng.dirichlet(CONCENTRATION * np.array(RACE_SHARES)))
        place = [np.full(n, block)] if n_blocks > 1 else []
        rows.append(np.column_stack([ages, sexes, races, *place]))
    return np.concatenate(rows).astype(np.int64)
