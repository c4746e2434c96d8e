"""Construction of the objects of a configuration: datasets, mechanisms, attacks, bounds, claims.

The catalogues convert tables with a `name` to objects; this includes tables in the options of a mechanism, such as
query = {name = "count", above = 15.0} or, for a mechanism that wraps another one, base = {name = "laplace", ...}. The
type of the option says which catalogue has the name: see `dpassay.mechanisms.core.registry.named_in`.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, get_args, get_type_hints

from ....attacks.canaries.initial import worst_case_initial
from ....mechanisms.catalogue import catalogue as mechanisms
from ....mechanisms.core import (
    Catalogue,
    Dataset,
    DpassayError,
    Mechanism,
    ParameterError,
    unknown_name_message,
)
from ....mechanisms.core.registry import catalogue_of
from ....mechanisms.learning.dp_sgd.capabilities import SupportsInitialParameters
from ....mechanisms.learning.models.base import Model
from ...data import datasets, examples
from ..sections import DataSection, Named

guarantees = Catalogue(
    "guarantee",
    "dpassay.mechanisms",
    {
        "pure": "accounting:PureDP",
        "approximate": "accounting:ApproximateDP",
        "gaussian": "accounting:GaussianDP",
        "laplace": "accounting:LaplaceDP",
        "concentrated": "accounting:ConcentratedDP",
        "bounded-range": "accounting:BoundedRange",
    },
)


def build_mechanism(
    section: Named, data: DataSection | None = None, load: Callable[..., Any] = operator.call
) -> Mechanism:
    """Build the mechanism of [mechanism].

    The records of [data] beyond n_records are public: public = "rest" stands for their features, and the parameters of
    initial = {name = "worst-case", ...} are trained on them.

    Args:
        section: the table [mechanism].
        data: the table [data]; None without one.
        load: called as `load(make, *args)`; it may return an earlier result of equal arguments.
    """
    options = dict(section.options)
    public, initial = options.get("public"), options.get("initial")
    if isinstance(public, str):
        if public != "rest":
            raise ParameterError(
                argument="public",
                value=public,
                allowed="be 'rest', the records of [data] beyond n_records, or rows of numbers",
            )
        if data is None:
            raise ParameterError(
                "public is 'rest', the records of [data] beyond n_records: add [data] with n_records.",
                argument="public",
            )
        options["public"] = load(load_rest, data)[0]
    if not isinstance(initial, Mapping):
        return build_entry(mechanisms, section.name, options)  # type: ignore[no-any-return]
    del options["initial"]
    mechanism: Mechanism = build_entry(mechanisms, section.name, options)
    if initial.get("name") != "worst-case" or not isinstance(mechanism, SupportsInitialParameters):
        raise ParameterError(
            f"initial must be 'zeros', 'random' or a table {{name = \"worst-case\", ...}} of a dp-sgd, but is "
            f"{dict(initial)!r}.",
            argument="initial",
        )
    if data is None:
        raise ParameterError(
            "initial is 'worst-case', which is trained on public records: add [data] with n_records.",
            argument="initial",
        )
    training = {key: value for key, value in initial.items() if key != "name"}
    started: Mechanism = mechanism.starting_from(load(_train_initial, mechanism.network, training, data, load))
    return started


def _train_initial(model: Model, options: Mapping[str, Any], data: DataSection, load: Callable[..., Any]) -> Any:
    """Train worst-case initial parameters on public records; raise `ParameterError` for an unknown option."""
    public = load(load_rest, data)
    allowed = [p for p in inspect.signature(worst_case_initial).parameters if p not in ("model", "X", "y")]
    for option in options:
        if option not in allowed:
            raise ParameterError(unknown_name_message("option of initial:", option, allowed), argument=option)
    if not isinstance(public, tuple):
        raise ParameterError("public records need features and labels, but the dataset has no target. Add target.")
    X, y = public
    return worst_case_initial(model, X, y, **options)


def build_attack(section: Named, catalogue: Catalogue) -> Any:
    """Build the attack of [attack]; "auto" is resolved by the audit, or by the game."""
    if section.name != "auto":
        return build_entry(catalogue, section.name, section.options)
    if section.options:
        raise ParameterError(
            f"attack 'auto' has no options, but {', '.join(section.options)} is set. Name an attack.", argument="attack"
        )
    return "auto"


def build_listed(key: str, entry: Any, catalogue: Catalogue) -> Any:
    """Build an entry of the list `key` from a name, or a table with a name and options."""
    options = dict(entry) if isinstance(entry, Mapping) else {"name": entry}
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise ParameterError(f"{key} must contain names, or tables with a name, but contain {entry!r}.", argument=key)
    return build_entry(catalogue, name, options)


def load_data(section: DataSection) -> Dataset:
    """Load the dataset of [data], or its chosen columns and records; an `(X, y)` pair if there is a target."""
    data = datasets.load(section.name, **section.options)
    if section.column is not None:
        examples.complete(datasets.columns(data, [section.column], "column", name=section.name), name=section.name)
        return datasets.columns(data, [section.column], "column", name=section.name)[section.column].to_numpy()
    if section.columns is not None:
        names = [*section.columns, *([section.target] if section.target else [])]
        data = datasets.columns(data, names, "columns", name=section.name)
    data = examples.complete(data, name=section.name)
    if section.target is not None:
        data = examples.with_target(data, section.target, name=section.name)
    data = examples.with_classes(data, section.classes, name=section.name)
    data = examples.first(data, section.n_records, name=section.name)
    data = examples.scaled(data, section.scale, name=section.name)
    return examples.with_dead_features(data, section.dead_features, name=section.name)


def load_rest(section: DataSection, *, n: int | None = None) -> Dataset:
    """Load the records that `load_data` leaves out because of n_records, which count as public; the first `n`.

    Raises:
        ParameterError: nothing is left out, or fewer than `n`.
    """
    data = load_data(section.model_copy(update={"n_records": None}))
    n_available = len(data[0]) if isinstance(data, tuple) else len(data)
    n_rest = 0 if section.n_records is None else max(0, n_available - section.n_records)
    if not n_rest:
        raise ParameterError(
            f"n_records must leave public records, but uses all {n_available:,}. Reduce n_records in [data].",
            argument="n_records",
        )
    if n is not None and n > n_rest:
        raise ParameterError(
            f"population must be at most {n_rest:,}, the records that n_records of [data] leaves out, but is {n:,}.",
            argument="population",
        )
    rest = slice(section.n_records, None if n is None else n_available - n_rest + n)
    return (data[0][rest], data[1][rest]) if isinstance(data, tuple) else data[rest]


def build_entry(catalogue: Catalogue, name: str, options: Mapping[str, Any]) -> Any:
    """Build an entry of a catalogue: a table in its options stands for an object of the type of the option."""
    types, objects = get_type_hints(catalogue.get(name)), {}
    for key, value in options.items():
        with _inside(key):
            objects[key] = _object(key, value, types.get(key))
    return catalogue.build(name, **objects)


@contextmanager
def _inside(key: str) -> Iterator[None]:
    """Note in errors that they occurred in the table or list at `key`."""
    try:
        yield
    except DpassayError as error:
        error.option_path = (key, *error.option_path)
        raise


def _object(key: str, value: Any, type_: Any) -> Any:
    """Return the value of an option: a list as a tuple, and a table as an object, if the type has a catalogue."""
    kinds = get_args(type_) or (type_,)
    if isinstance(value, list | tuple):
        objects = []
        for index, item in enumerate(value):
            with _inside(str(index)):
                objects.append(_object(key, item, type_))
        return tuple(objects)
    known = next((known for known in map(catalogue_of, kinds) if known is not None), None)
    if known is None or not isinstance(value, Mapping | str) or (isinstance(value, str) and str in kinds):
        return value
    if isinstance(value, str):
        hint = f'Write {key} = {{ name = "{value}" }}.' if value in known else f"Known names: {', '.join(known)}."
        raise ParameterError(
            argument=key, value=value, allowed="be a table with a name and options, not only a name", advice=hint
        )
    if not isinstance(value.get("name"), str):
        raise ParameterError(
            f"{key} must be a table with a name, such as {{name = ...}}, but is {dict(value)!r}.", argument=key
        )
    return build_entry(known, value["name"], {option: inner for option, inner in value.items() if option != "name"})
