"""What a configuration names, built: datasets, mechanisms, attacks, bounds, claims.

Tables with a `name` become objects by the catalogues; a table inside the options of a mechanism does so too, such as
query = {name = "count", above = 15.0} or, for a mechanism that wraps another one, base = {name = "laplace", ...}.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attacks.base import Attack
from attacks.catalogue import catalogue as attacks
from audit.bounds.base import Bound
from audit.bounds.catalogue import catalogue as bounds
from experiments import datasets, examples
from experiments.config import DataSection, Named, NeighboursSection
from mechanisms.base import Dataset, Mechanism, Neighbours, Relation
from mechanisms.catalogue import catalogue as mechanisms
from mechanisms.errors import ParameterError, RelationError
from mechanisms.guarantees.base import Guarantee
from mechanisms.learning.catalogue import samplings, schedules
from mechanisms.learning.models.catalogue import catalogue as models
from mechanisms.queries.catalogue import catalogue as queries
from mechanisms.records import check_records, n_records, remove_record, replace_record, zero_record
from mechanisms.registry import Catalogue

guarantees = Catalogue(
    "guarantee",
    {
        "pure": "mechanisms.guarantees:PureDP",
        "approximate": "mechanisms.guarantees:ApproximateDP",
        "gaussian": "mechanisms.guarantees:GaussianDP",
        "laplace": "mechanisms.guarantees:LaplaceDP",
        "concentrated": "mechanisms.guarantees:ConcentratedDP",
    },
)
INSIDE = {
    "query": queries,
    "base": mechanisms,
    "model": models,
    "sampling": samplings,
    "learning_rate": schedules,
}
"""Option of a mechanism -> catalogue of the table that may stand there."""
SEARCHED = 20_000
"""Records that are tried, at most, to find the one that matters most."""


def build_mechanism(section: Named) -> Mechanism:
    """The mechanism that [mechanism] names."""
    return mechanisms.build(section.name, **_options(section.options))  # type: ignore[no-any-return]


def build_claim(section: Named | None) -> Guarantee | None:
    """The guarantee that [claim] names; None leaves the claim to the mechanism."""
    return None if section is None else guarantees.build(section.name, **section.options)


def build_attack(section: Named) -> str | Attack:
    """The attack that [attack] names; "auto" is left to `audit`."""
    if section.name == "auto":
        if section.options:
            raise ParameterError(f"attack 'auto' has no options, but {', '.join(section.options)} is given. Name one.")
        return "auto"
    attack: Attack = attacks.build(section.name, **_options(section.options))
    return attack


def build_bound(entry: Any) -> str | Bound:
    """One of the bounds of [audit]: a name, or a table with a name and options; "auto" is left to `audit`."""
    if entry == "auto":
        return "auto"
    options = dict(entry) if isinstance(entry, Mapping) else {"name": entry}
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise ParameterError(f"bounds must hold names, or tables with a name, but hold {entry!r}.")
    bound: Bound = bounds.build(name, **_options(options))
    return bound


def load_data(section: DataSection) -> Dataset:
    """The dataset that [data] names, or its chosen columns and records; an `(X, y)` pair if there is a target."""
    data = datasets.load(section.name, **section.options)
    if section.column is not None and section.columns is not None:
        raise ParameterError("give either column or columns, but not both.")
    if section.column is not None:
        return datasets.columns(data, [section.column], name=section.name)[section.column].to_numpy()
    if section.columns is not None:
        wanted = [*section.columns, *([section.target] if section.target else [])]
        data = datasets.columns(data, wanted, name=section.name)
    if section.target is not None:
        data = examples.with_target(data, section.target, name=section.name)
    data = examples.with_classes(data, section.classes, name=section.name)
    data = examples.first(data, section.n_records, name=section.name)
    return examples.scaled(data, section.scale, name=section.name)


def build_pair(section: NeighboursSection, data: Dataset | None, mechanism: Mechanism) -> Neighbours | None:
    """The pair that [neighbours] describes; None is the worst case that the mechanism itself knows.

    With a dataset, side 1 is the dataset, and in side 0 one record is missing, replaced or blank, after the relation.
    The record "worst-case" is the first of those that move the answer of the query most, in the L1 norm.
    """
    relation = mechanism.relation if section.relation is None else Relation.of(section.relation)
    if relation is not mechanism.relation:
        raise RelationError(
            f"relation is {relation.value!r}, but the guarantee of the mechanism speaks of "
            f"{mechanism.relation.value!r}. Give both the same."
        )
    if data is None:
        if section.record != "worst-case" or section.replacement is not None:
            raise ParameterError("record and replacement need a dataset to take the record from: add [data].")
        return None
    if (section.replacement is None) == (relation is Relation.REPLACE_ONE):
        needs = "needs the record's value in d0" if relation is Relation.REPLACE_ONE else "has no use for one"
        raise ParameterError(f"replacement is {section.replacement!r}, but relation {relation.value!r} {needs}.")
    if section.record != "worst-case":
        pair = _pair(relation, data, section.record, section.replacement)
        check_records(pair)
        return pair
    return _worst_pair(relation, data, section.replacement, getattr(mechanism, "query", None))


def _pair(relation: Relation, data: Dataset, record: int, replacement: Any) -> Neighbours:
    """Side 1 is `data`; side 0 lacks the record, or holds another one in its place."""
    if relation is Relation.REPLACE_ONE:
        return replace_record(data, record, replacement)
    return remove_record(data, record) if relation is Relation.ADD_REMOVE else zero_record(data, record)


def _worst_pair(relation: Relation, data: Dataset, replacement: Any, query: Any) -> Neighbours:
    """The pair whose answers lie furthest apart."""
    if query is None:
        raise ParameterError("record is 'worst-case', but this mechanism has no query to search with. Name one.")
    candidates = _distinct_records(data)
    if len(candidates) > SEARCHED:
        raise ParameterError(
            f"record is 'worst-case', but {len(candidates):,} records are more than the {SEARCHED:,} that are "
            "searched. Give the position of one."
        )
    answer1 = np.asarray(query(data), dtype=np.float64)
    moves = [_move(query, answer1, _pair(relation, data, int(record), replacement)) for record in candidates]
    return _pair(relation, data, int(candidates[int(np.argmax(moves))]), replacement)


def _move(query: Any, answer1: Any, pair: Neighbours) -> float:
    return float(np.abs(answer1 - np.asarray(query(pair.d0), dtype=np.float64)).sum())


def _distinct_records(data: Dataset) -> Any:
    """Positions of the records, of equal ones only the first where that is easy to tell."""
    if isinstance(data, np.ndarray) and data.ndim == 1:
        return np.sort(np.unique(data, return_index=True)[1])
    return np.arange(n_records(data) or 0)


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with lists as tuples, and tables that have a catalogue built."""
    return {key: _option(key, value) for key, value in options.items()}


def _option(key: str, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_option("", inside) for inside in value)
    if not isinstance(value, Mapping) or key not in INSIDE:
        return value
    options = _options({k: v for k, v in value.items() if k != "name"})
    if not isinstance(value.get("name"), str):
        raise ParameterError(f"{key} must be a table with a name, such as {{name = ...}}, but is {dict(value)!r}.")
    return INSIDE[key].build(value["name"], **options)
