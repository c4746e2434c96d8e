"""Laws of noisy tables: each count is geometric noise around what is counted by hand."""

import numpy as np
from tests.mechanisms import claims_laws as laws

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.query_release.tables import CensusDomain, GroupCount, NoisyTables, TableSet, group

PAIRS = (
    ([[0, 0]], [[1, 1]], (1, 0), (0, 1), True),  # a girl of 0, a boy of 1
    ([[0, 0], [1, 1]], [[0, 0], [0, 1]], (1, 1), (1, 0), False),
    ([[1, 1], [0, 1]], [[1, 1], [1, 0]], (0, 1), (1, 2), True),
)
"""Two blocks, and in each the number of girls and of those aged 1."""


def noisy_tables():
    domain = CensusDomain({"sex": ("female", "male")}, ages=(0, 1))
    tables = TableSet(domain, (GroupCount(group(sex="female")), GroupCount(group(ages=1))))
    for epsilon in (0.5, 2.0):
        mechanism = NoisyTables(epsilon, tables=tables)
        for d0, d1, counts0, counts1, worst in PAIRS:
            pair = Neighbours(np.array(d0), np.array(d1), "replace_one")
            two = [laws.joint(*(laws.geometric(c, epsilon / 2, -30, 30, 90) for c in cs)) for cs in (counts0, counts1)]
            yield mechanism, pair, *two, 1e-6, worst


CLAIMS = {"noisy-tables": noisy_tables}
