"""Data on which one record gives the most information about the tree that MST chooses.

Two camps of attributes: attributes are positively dependent within a camp and negatively across camps, all equally
strongly. The record of value 0 everywhere then raises the scores of all pairs within a camp by one, and lowers those
across by one. Each attribute is 0 for half of the records, so noise in the counts of single attributes moves the scores
only by the product of two small numbers: choices and counts are independent up to this product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from ...core.arrays import Ints
from ...core.base import Neighbours
from ...core.relation import Relation
from .spanning_trees import pairs

LARGEST = 10**6
"""Largest number of records that are generated."""


def two_clusters(shape: Sequence[int], n_records: int, n_more: int) -> Ints:
    """Return records, shape `(about n_records, n_attributes)`.

    Attributes 0 and 1 are one camp, the others the second one.

    Args:
        shape: number of values of each attribute, >= 2 each.
        n_records: raised until the share of every cell is a whole number of records.
        n_more: number of added records of value 0 everywhere.
    """
    d = len(shape)
    signs = np.array(list(product((1, -1), repeat=d)))
    camp = np.where(np.arange(d) < 2, 1, -1)
    ends = pairs(d)
    steps = 2 ** math.ceil(math.log2(len(ends) + 1))
    agreement = (camp[ends].prod(axis=1) * signs[:, ends[:, 0]] * signs[:, ends[:, 1]]).sum(axis=1)
    cells = np.repeat(signs, (steps + agreement) * math.ceil(n_records / (steps * len(signs))), axis=0)
    records = (cells < 0).astype(np.int64)
    for place, n_values in enumerate(shape):
        others = np.flatnonzero(records[:, place])
        turns = np.arange(len(others)) // math.prod(n - 1 for n in shape[:place])
        records[others, place] = 1 + turns % (n_values - 1)
    return np.concatenate([records, np.zeros((n_more, d), dtype=np.int64)])


def clusters_apart(shape: Sequence[int], relation: Relation, n_records: int, n_more: int) -> Neighbours:
    """Return `two_clusters` with a record of value 0 everywhere, added or in place of one of value 1 everywhere."""
    records = two_clusters(shape, n_records, n_more)
    zeros = np.zeros((1, len(shape)), dtype=np.int64)
    if relation is Relation.ADD_REMOVE:
        return Neighbours(records, np.concatenate([records, zeros]), relation)
    ones = int(np.flatnonzero((records == 1).all(axis=1))[0])
    return Neighbours(records, np.concatenate([np.delete(records, ones, axis=0), zeros]), relation)
