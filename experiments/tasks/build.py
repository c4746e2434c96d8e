"""What a configuration names, built: datasets, mechanisms, attacks, bounds, claims.

Tables with a `name` become objects by the catalogues; a table inside the options of a mechanism does so too, such as
query = {name = "count", above = 15.0} or, for a mechanism that wraps another one, base = {name = "laplace", ...}.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...attacks.base import Attack
from ...attacks.canaries.base import Canary
from ...attacks.canaries.catalogue import catalogue as canaries
from ...attacks.canaries.initial import worst_case_initial
from ...attacks.catalogue import catalogue as attacks
from ...attacks.membership.base import MembershipAttack
from ...attacks.membership.catalogue import catalogue as membership_attacks
from ...audit.bounds.base import Bound
from ...audit.bounds.catalogue import catalogue as bounds
from ...audit.games.canaries import check_relation
from ...mechanisms.base import Dataset, Mechanism, Neighbours
from ...mechanisms.catalogue import catalogue as mechanisms
from ...mechanisms.errors import ParameterError, RelationError, unknown_name_message
from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.learning.base import Learner, TrainingData
from ...mechanisms.learning.capabilities import StartsAnywhere, TakesCanaries, has
from ...mechanisms.learning.dp_sgd.catalogue import samplings, schedules
from ...mechanisms.learning.models.base import Model
from ...mechanisms.learning.models.catalogue import catalogue as models
from ...mechanisms.local.base import LocalMechanism
from ...mechanisms.queries.catalogue import catalogue as queries
from ...mechanisms.records import check_records, n_records, remove_record, replace_record, zero_record
from ...mechanisms.registry import Catalogue
from ...mechanisms.relation import Relation
from ..config.schema import DataSection, Named, NeighboursSection, OneRunSection
from ..data import datasets, examples

guarantees = Catalogue(
    "guarantee",
    {
        "pure": "dpassay.mechanisms.guarantees:PureDP",
        "approximate": "dpassay.mechanisms.guarantees:ApproximateDP",
        "gaussian": "dpassay.mechanisms.guarantees:GaussianDP",
        "laplace": "dpassay.mechanisms.guarantees:LaplaceDP",
        "concentrated": "dpassay.mechanisms.guarantees:ConcentratedDP",
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


def build_mechanism(section: Named, train: Callable[[Model, Mapping[str, Any]], Any] | None = None) -> Mechanism:
    """The mechanism that [mechanism] names.

    The table initial = {name = "worst-case", ...} has its parameters trained by `train(model, options)`, on records of
    the dataset that are not audited.
    """
    options = dict(section.options)
    initial = options.pop("initial", None)
    if not isinstance(initial, Mapping):
        return mechanisms.build(section.name, **_options(section.options))  # type: ignore[no-any-return]
    mechanism: Mechanism = mechanisms.build(section.name, **_options(options))
    if initial.get("name") != "worst-case" or not isinstance(mechanism, StartsAnywhere):
        raise ParameterError(
            f"initial must be 'zeros', 'random' or a table {{name = \"worst-case\", ...}} of a dp-sgd, but is "
            f"{dict(initial)!r}.",
            argument="initial",
        )
    if train is None:
        raise ParameterError(
            "initial is 'worst-case', which is trained on public records: add [data] with n_records.",
            argument="initial",
        )
    trained = train(mechanism.network, {key: value for key, value in initial.items() if key != "name"})
    started: Mechanism = mechanism.starting_from(trained)
    return started


def train_initial(model: Model, options: Mapping[str, Any], public: Dataset) -> Any:
    """Worst-case initial parameters, trained on public records; raises `ParameterError` for an unknown option."""
    allowed = [p for p in inspect.signature(worst_case_initial).parameters if p not in ("model", "X", "y")]
    for option in options:
        if option not in allowed:
            raise ParameterError(unknown_name_message("option of initial:", option, allowed), argument=option)
    X, y = public
    return worst_case_initial(model, X, y, **options)


def build_claim(section: Named | None) -> Guarantee | None:
    """The guarantee that [claim] names; None leaves the claim to the mechanism."""
    return None if section is None else guarantees.build(section.name, **section.options)


def build_attack(section: Named) -> str | Attack:
    """The attack that [attack] names; "auto" is left to `audit`."""
    if section.name == "auto":
        if section.options:
            raise ParameterError(
                f"attack 'auto' has no options, but {', '.join(section.options)} is given. Name one.", argument="attack"
            )
        return "auto"
    attack: Attack = attacks.build(section.name, **_options(section.options))
    return attack


def build_bound(entry: Any) -> str | Bound[Any]:
    """One of the bounds of [audit]: a name, or a table with a name and options; "auto" is left to `audit`."""
    if entry == "auto":
        return "auto"
    bound: Bound[Any] = _listed("bounds", entry, bounds)
    return bound


def load_data(section: DataSection) -> Dataset:
    """The dataset that [data] names, or its chosen columns and records; an `(X, y)` pair if there is a target."""
    data = datasets.load(section.name, **section.options)
    if section.column is not None and section.columns is not None:
        raise ParameterError("give either column or columns, but not both.", argument=("column", "columns"))
    if section.column is not None:
        return datasets.columns(data, [section.column], "column", name=section.name)[section.column].to_numpy()
    if section.columns is not None:
        wanted = [*section.columns, *([section.target] if section.target else [])]
        data = datasets.columns(data, wanted, "columns", name=section.name)
    if section.target is not None:
        data = examples.with_target(data, section.target, name=section.name)
    data = examples.with_classes(data, section.classes, name=section.name)
    data = examples.first(data, section.n_records, name=section.name)
    data = examples.scaled(data, section.scale, name=section.name)
    return examples.with_dead_features(data, section.dead_features, name=section.name)


def load_rest(section: DataSection) -> Dataset:
    """The records that `load_data` leaves out because of n_records: public ones.

    Raises:
        ParameterError: no features and labels, or nothing is left out.
    """
    everything = load_data(section.model_copy(update={"n_records": None}))
    if not isinstance(everything, tuple):
        raise ParameterError(f"public records need features and labels, but dataset {section.name!r} has no target.")
    X, y = everything
    if section.n_records is None or section.n_records >= len(X):
        raise ParameterError(
            'n_records must leave public records over for initial = {name = "worst-case"}, but takes all '
            f"{len(X):,}. Set n_records in [data].",
            argument="n_records",
        )
    return X[section.n_records :], y[section.n_records :]


def build_canary(section: Named) -> Canary:
    """The canary that [neighbours] names."""
    canary: Canary = canaries.build(section.name, **_options(section.options))
    return canary


def build_stage(
    section: NeighboursSection, data: Dataset | None, mechanism: Mechanism
) -> tuple[Mechanism, Neighbours | None]:
    """The mechanism as it faces the canary, and the pair; without a canary as `build_pair`."""
    if section.canary is None:
        return mechanism, build_pair(section, data, mechanism)
    if section.record != "worst-case" or section.replacement is not None:
        given = "record" if section.replacement is None else "replacement"
        raise ParameterError(
            f"{given} has no place next to canary, which is about a record of its own: canary = {{name = ..., record = "
            "...}.",
            argument=given,
        )
    if not has(mechanism, TakesCanaries):
        raise ParameterError(
            f"canary is for a trainer, such as dp-sgd, but the mechanism is {type(mechanism).__name__}.",
            argument="canary",
        )
    if data is None:
        raise ParameterError("canary needs a dataset to be put in: add [data].", argument="canary")
    _check_relation(section, mechanism)
    return build_canary(section.canary).stage(data, mechanism)


def build_canaries(
    game: OneRunSection, section: NeighboursSection, data: Dataset | None, mechanism: Mechanism
) -> tuple[Mechanism, TrainingData, TrainingData]:
    """The learner, the canaries for which coins are tossed, and the records that are in every run."""
    if not has(mechanism, TakesCanaries) or not isinstance(mechanism, Learner):
        raise ParameterError(
            f"name is 'one-run', which plays with a trainer, such as dp-sgd, not {type(mechanism).__name__}.",
            argument="name",
        )
    if data is None or section.canary is None:
        raise ParameterError(
            "name is 'one-run', which needs [data], and canary in [neighbours] to say of which kind.", argument="name"
        )
    check_relation(mechanism)
    if section.record != "worst-case" or section.replacement is not None:
        raise ParameterError(
            "canary says which records it is about: give record inside its table, and no replacement.",
            argument="canary",
        )
    canaries, records = build_canary(section.canary).several(data, mechanism, game.n_canaries)
    view = "noisy_gradients" if canaries.n_gradients else "final"
    trainer: Any = mechanism
    if trainer.view != view:
        kind = (
            "a gradient, which is seen in every step"
            if canaries.n_gradients
            else "an example, which the model is asked"
        )
        raise ParameterError(
            f'canary is {kind}: set view = "{view}" in [mechanism], which is {trainer.view!r} now.',
            argument=("canary", "view"),
        )
    if canaries.n_gradients and game.n_references:
        raise ParameterError(
            f"n_references is {game.n_references}, but gradients need none: leave it out.", argument="n_references"
        )
    return mechanism, canaries, records


def build_secret(
    section: NeighboursSection, attack: Named, data: Dataset | None, mechanism: Mechanism
) -> tuple[Dataset, range, int]:
    """The dataset, the categories of the secret, and its place; without [data] there is one record, the secret."""
    if not isinstance(mechanism, LocalMechanism):
        raise ParameterError(
            "name is 'reconstruction', which guesses a category, such as that of k-ary-randomized-response, not what "
            f"{type(mechanism).__name__} releases.",
            argument="name",
        )
    unread = [key for key in ("relation", "replacement", "canary") if getattr(section, key) is not None]
    if unread:
        raise ParameterError(
            f"name is 'reconstruction', which reads of [neighbours] the record alone: leave {unread[0]} out.",
            argument="name",
        )
    if attack.name != "auto" or attack.options:
        raise ParameterError(
            f"name is 'reconstruction', which guesses the likeliest category: leave the attack {attack.name!r} out.",
            argument="name",
        )
    dataset = np.zeros(1, dtype=np.int64) if data is None else data
    return dataset, range(mechanism.n_categories), 0 if section.record == "worst-case" else section.record


def build_membership_attack(section: Named, canaries: TrainingData, n_references: int) -> MembershipAttack | None:
    """The attack on canaries that are examples; None for gradients, whose likelihood ratio is known.

    "auto" is the loss of the record.
    """
    if canaries.n_gradients:
        if section.name not in ("auto", "likelihood-ratio") or section.options:
            raise ParameterError(
                f"name must be 'likelihood-ratio' for canaries that are gradients in one run, but is {section.name!r}.",
                argument="name",
            )
        return None
    attack = build_member_attack({"name": "loss" if section.name == "auto" else section.name, **section.options})
    if n_references < attack.minimum_references:
        raise ParameterError(
            f"name is {section.name!r}, an attack that needs {attack.minimum_references} other models or more: set "
            f"n_references = {attack.minimum_references} or more in [game], which is {n_references}.",
            argument="name",
        )
    return attack


def build_member_attack(entry: Any) -> MembershipAttack:
    """One of the attacks of [membership]: a name, or a table with a name and options."""
    attack: MembershipAttack = _listed("attacks", entry, membership_attacks)
    return attack


def build_pair(section: NeighboursSection, data: Dataset | None, mechanism: Mechanism) -> Neighbours | None:
    """The pair that [neighbours] describes; None is the worst case that the mechanism itself knows.

    With a dataset, side 1 is the dataset, and in side 0 one record is missing, replaced or blank, after the relation.
    The record "worst-case" is the first of those that move the answer of the query most, in the L1 norm.
    """
    relation = _check_relation(section, mechanism)
    if data is None:
        if section.record != "worst-case" or section.replacement is not None:
            raise ParameterError(
                "record and replacement need a dataset to take the record from: add [data].", argument="record"
            )
        return None
    if (section.replacement is None) == (relation is Relation.REPLACE_ONE):
        needs = "needs the record's value in d0" if relation is Relation.REPLACE_ONE else "has no use for one"
        raise ParameterError(
            f"replacement is {section.replacement!r}, but relation {relation.value!r} {needs}.", argument="replacement"
        )
    if section.record != "worst-case":
        pair = _pair(relation, data, section.record, section.replacement)
        check_records(pair)
        return pair
    if has(mechanism, TakesCanaries):
        raise ParameterError(
            f"which record is in question? Give [neighbours] canary, one of {', '.join(canaries)}, or record, the "
            "position of one."
        )
    return _worst_pair(relation, data, section.replacement, getattr(mechanism, "query", None))


def _check_relation(section: NeighboursSection, mechanism: Mechanism) -> Relation:
    """The relation that is meant; raises `RelationError` if the mechanism has another one."""
    relation = mechanism.relation if section.relation is None else Relation.of(section.relation)
    if relation is not mechanism.relation:
        raise RelationError(
            f"relation is {relation.value!r}, but the guarantee of the mechanism holds for "
            f"{mechanism.relation.value!r}. Give both the same.",
            argument="relation",
        )
    return relation


def _pair(relation: Relation, data: Dataset, record: int, replacement: Any) -> Neighbours:
    """Side 1 is `data`; side 0 lacks the record, or holds another one in its place."""
    if relation is Relation.REPLACE_ONE:
        return replace_record(data, record, replacement)
    return remove_record(data, record) if relation is Relation.ADD_REMOVE else zero_record(data, record)


def _worst_pair(relation: Relation, data: Dataset, replacement: Any, query: Any) -> Neighbours:
    """The pair whose answers lie furthest apart."""
    if query is None:
        raise ParameterError(
            "record is 'worst-case', but this mechanism has no query to search with. Name one.", argument="record"
        )
    candidates = _distinct_records(data)
    if len(candidates) > SEARCHED:
        raise ParameterError(
            f"record is 'worst-case', but {len(candidates):,} records are more than the {SEARCHED:,} that are "
            "searched. Give the position of one.",
            argument="record",
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


def _listed(key: str, entry: Any, catalogue: Catalogue) -> Any:
    """An entry of the list `key`, built: a name, or a table with a name and options."""
    options = dict(entry) if isinstance(entry, Mapping) else {"name": entry}
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise ParameterError(f"{key} must hold names, or tables with a name, but hold {entry!r}.", argument=key)
    return catalogue.build(name, **_options(options))


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
        raise ParameterError(
            f"{key} must be a table with a name, such as {{name = ...}}, but is {dict(value)!r}.", argument=key
        )
    return INSIDE[key].build(value["name"], **options)
