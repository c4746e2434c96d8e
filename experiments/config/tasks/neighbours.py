"""The pair of datasets that [neighbours] describes.

The pair is the worst case of the mechanism, or one that differs in a record of a dataset, or one made by a canary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....attacks.canaries.base import Canary
from ....attacks.canaries.catalogue import catalogue as canaries
from ....mechanisms.core.base import Dataset, Mechanism, Neighbours
from ....mechanisms.core.errors import ParameterError, RelationError, plural
from ....mechanisms.core.guarantee import Guarantee
from ....mechanisms.core.records import check_records, n_records, remove_record, replace_record, zero_record
from ....mechanisms.core.relation import Relation
from ....mechanisms.learning.dp_sgd.capabilities import SupportsCanaries, has_capability
from ..sections import NeighboursSection
from . import build

SEARCHED = 20_000
"""Largest number of records that are tried to find the most influential one."""


def build_stage(
    section: NeighboursSection, data: Dataset | None, mechanism: Mechanism
) -> tuple[Mechanism, Neighbours | None]:
    """Return the mechanism for the canary, and the pair; without a canary the pair of `build_pair`."""
    if section.canary is None:
        return mechanism, build_pair(section, data, mechanism)
    if not has_capability(mechanism, SupportsCanaries):
        raise ParameterError(
            f"canary is for a trainer, such as dp-sgd, but the mechanism is {type(mechanism).__name__}.",
            argument="canary",
        )
    if data is None:
        raise ParameterError("canary needs a dataset to insert it into: add [data].", argument="canary")
    _check_relation(section, mechanism)
    canary: Canary = build.build_entry(canaries, section.canary.name, section.canary.options)
    return canary.stage(data, mechanism)


def build_pair(section: NeighboursSection, data: Dataset | None, mechanism: Mechanism) -> Neighbours | None:
    """Build the pair that [neighbours] states or describes; None for the worst case of the mechanism.

    With a dataset, side 1 is the dataset, and in side 0 one record is missing, replaced or blank, by the relation. The
    record "worst-case" is the first of those that change the answer of the query most, in the L1 norm.
    """
    relation = _check_relation(section, mechanism)
    if section.d0 is not None or section.d1 is not None:
        return _stated_pair(section, relation)
    if data is None:
        if section.record != "worst-case" or section.replacement is not None:
            raise ParameterError(
                "record and replacement need a dataset to take the record from: add [data].", argument="record"
            )
        return None
    if (section.replacement is None) == (relation is Relation.REPLACE_ONE):
        needs = "needs the value of the record in d0" if relation is Relation.REPLACE_ONE else "does not use it"
        raise ParameterError(
            f"replacement is {section.replacement!r}, but relation {relation.value!r} {needs}.", argument="replacement"
        )
    if section.record != "worst-case":
        pair = _pair(relation, data, section.record, section.replacement)
        check_records(pair)
        return pair
    if has_capability(mechanism, SupportsCanaries):
        raise ParameterError(
            f"the differing record is missing. Set [neighbours] canary, one of {', '.join(canaries)}, or record, the "
            "position of a record."
        )
    return _worst_pair(relation, data, section.replacement, getattr(mechanism, "query", None))


def pair_of_function(section: NeighboursSection, data: Dataset | None, claim: Guarantee) -> Neighbours:
    """Return the pair of [neighbours] for a function, which has no worst case: d0 and d1, or a record of [data]."""
    relation = Relation.of(section.relation or claim.relation or Relation.ADD_REMOVE)
    if section.d0 is not None or section.d1 is not None:
        return _stated_pair(section, relation)
    if data is None or section.record == "worst-case":
        raise ParameterError(
            "a function has no worst-case pair: set d0 and d1 in [neighbours], or [data] and the position of a record.",
            argument="record",
        )
    return _pair(relation, data, section.record, section.replacement)


def _stated_pair(section: NeighboursSection, relation: Relation) -> Neighbours:
    """Return the pair of datasets in the configuration."""
    if section.d0 is None or section.d1 is None:
        missing = "d0" if section.d0 is None else "d1"
        raise ParameterError(f"{missing} is missing: a pair needs d0 and d1. Set both.", argument=missing)
    return Neighbours(np.asarray(section.d0, dtype=np.float64), np.asarray(section.d1, dtype=np.float64), relation)


def _check_relation(section: NeighboursSection, mechanism: Mechanism) -> Relation:
    """Return the relation of the pair; raise `RelationError` if the mechanism has another one."""
    relation = mechanism.relation if section.relation is None else Relation.of(section.relation)
    if relation is not mechanism.relation:
        raise RelationError(
            f"relation is {relation.value!r}, but the guarantee of the mechanism holds for "
            f"{mechanism.relation.value!r}. Use the same relation for both.",
            argument="relation",
        )
    return relation


def _pair(relation: Relation, data: Dataset, record: int, replacement: Any) -> Neighbours:
    """Return the pair with `data` as side 1; side 0 lacks the record, or has another one instead."""
    if relation is Relation.REPLACE_ONE:
        return replace_record(data, record, replacement)
    return remove_record(data, record) if relation is Relation.ADD_REMOVE else zero_record(data, record)


def _worst_pair(relation: Relation, data: Dataset, replacement: Any, query: Any) -> Neighbours:
    """Return the pair with the largest distance between the answers of the query."""
    if query is None:
        raise ParameterError(
            "record is 'worst-case', but this mechanism has no query to search with. Set a position.", argument="record"
        )
    candidates = np.arange(n_records(data) or 0)
    if isinstance(data, np.ndarray) and data.ndim == 1:
        candidates = np.sort(np.unique(data, return_index=True)[1])  # the first of equal records
    if len(candidates) > SEARCHED:
        raise ParameterError(
            f"record is 'worst-case', but {plural(len(candidates), 'record')} are more than the {SEARCHED:,} that are "
            "searched. Set the position of a record.",
            argument="record",
        )
    answer1 = np.asarray(query(data), dtype=np.float64)
    moves = [_move(query, answer1, _pair(relation, data, int(record), replacement)) for record in candidates]
    return _pair(relation, data, int(candidates[int(np.argmax(moves))]), replacement)


def _move(query: Any, answer1: Any, pair: Neighbours) -> float:
    return float(np.abs(answer1 - np.asarray(query(pair.d0), dtype=np.float64)).sum())


__all__ = ["build_pair", "build_stage", "pair_of_function"]
