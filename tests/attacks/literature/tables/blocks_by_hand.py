"""Known blocks, and blocks enumerated without any solver."""

import itertools
from collections import Counter

import numpy as np

from dpassay.attacks.literature.tables import PublishedTables
from dpassay.mechanisms.literature.query_release.tables import CensusDomain, GroupCount, MeanAge, MedianAge, group

SEVEN = CensusDomain({"sex": ("female", "male"), "race": ("Black", "White")})
SEVEN_MARRIED = CensusDomain((*SEVEN.attributes, ("status", ("single", "married"))))
BLACK, BLACK_WOMEN, MARRIED = group(race="Black"), group(sex="female", race="Black"), group(status="married")
ROWS = {
    group(): (7, 30, 38),
    group(sex="female"): (4, 30, 33.5),
    group(sex="male"): (3, 30, 44),
    BLACK: (4, 51, 48.5),
    group(race="White"): (3, 24, 24),
    BLACK_WOMEN: (3, 36, 36.7),
    MARRIED: (4, 51, 54),
}
"""A block of seven: count, median and mean age of each group that is published (Garfinkel, Abowd, Martindale 2019)."""


def seven(*withheld, married=False):
    """Its published tables but for pairs (group, kind of statistic)."""
    cells = {}
    for people, values in ROWS.items():
        for kind, value in zip((GroupCount, MedianAge, MeanAge), values, strict=True):
            if (married or people is not MARRIED) and (people, kind) not in withheld:
                cells[kind(people)] = value
    return PublishedTables.of(SEVEN_MARRIED if married else SEVEN, cells)


def every_block(domain, n_people):
    """All blocks of so many people, each once, shape `(n_blocks, n_people, 1 + n_attributes)`."""
    types = np.array(list(itertools.combinations_with_replacement(range(domain.n_types), n_people)))
    return domain.every_type[types.reshape(len(types), n_people)]


def keys(blocks):
    """Blocks as multisets of people."""
    return Counter(tuple(sorted(map(tuple, np.asarray(block).tolist()))) for block in blocks)
