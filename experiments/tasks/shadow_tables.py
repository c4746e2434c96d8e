"""Membership attacks on synthetic tables, asked by [membership]: every model is a table of half of the records.

makes_tables          whether a mechanism is a synthesiser
asked                 shadow tables, records, attacks, population and groups
check_model_attack    refuses what reads a table, where models predict labels
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...attacks.catalogue import catalogue as pair_attacks
from ...attacks.membership.base import MembershipAttack
from ...attacks.membership.catalogue import catalogue as membership_attacks
from ...attacks.membership.shadow.lira import LiRA
from ...attacks.membership.target.threshold import Loss
from ...attacks.synthesis.base import ReleasesTables
from ...attacks.synthesis.shadows import SIGNALS, ShadowTables
from ...attacks.synthesis.summaries import GroundhogMembership
from ...mechanisms.errors import ParameterError, unknown_name_message
from ...mechanisms.registry import Catalogue
from ..config.config_errors import pointing_at
from ..config.sections import DataSection, MembershipSection
from ..config.source import Source
from . import build

GROUNDHOG = Catalogue("attack on tables", {"groundhog": "dpassay.attacks.synthesis.summaries:GroundhogMembership"})
FEWEST = 10
"""Records: halves of fewer may be empty."""


def makes_tables(mechanism: Any) -> bool:
    """Whether it is a synthesiser; raises `ParameterError` for one that does not release tables of one size."""
    if not isinstance(mechanism, ReleasesTables):
        return False
    if mechanism.view != "table":
        raise ParameterError(
            f"view must be 'table', since attacks of [membership] read synthetic tables, but is {mechanism.view!r}. "
            "What else is released is audited on a pair: leave [membership] out.",
            argument="view",
        )
    if getattr(mechanism, "n_rows", 0) is None:
        raise ParameterError(
            "n_rows is missing: the halves of the records are not equally large, and so would their tables be. Give a "
            "number of rows, such as n_rows = 1000.",
            argument="n_rows",
        )
    return True


def asked(mechanism: Any, section: MembershipSection, data: DataSection, source: Source) -> dict[str, Any]:
    """The fields of a `Study` that are different for tables; raises `ConfigError`."""
    with pointing_at(source, "membership", section):
        attacks = _attacks(section)
        if section.by_label:
            raise ParameterError(
                "by_label is for models that predict labels; of a synthetic table, by_attribute names an attribute.",
                argument="by_label",
            )
    with pointing_at(source, "data", data):
        records = _coded(mechanism, build.load_data(data))
        if len(records) < FEWEST:
            raise ParameterError(
                f"the dataset must have {FEWEST} records or more, since each table of [membership] is made of half of "
                f"them, but has {len(records)}. Raise n_records.",
                argument="n_records",
            )
    with pointing_at(source, "membership", section):
        population = section.population
        public = None if population is None else _coded(mechanism, build.load_rest(data, n=population))
        groups = None if section.by_attribute is None else _groups(mechanism, section.by_attribute, records)
    read = [str(signal) for signal in (getattr(attack, "signal", None) for attack in attacks) if signal]
    statistics = "all" if any(isinstance(attack, GroundhogMembership) for attack in attacks) else None
    signals = {signal: SIGNALS[signal] for signal in read or ["closest-record"]}
    tables = ShadowTables(mechanism, signals, public, statistics)
    return {"learner": tables, "records": records, "attacks": attacks, "population": public, "groups": groups}


def check_model_attack(entry: Any) -> None:
    """Raises `ParameterError` for an entry of the list that reads a table, where models predict labels."""
    options = dict(entry) if isinstance(entry, Mapping) else {"name": entry}
    for given in (options.get("name"), options.get("signal")):
        if given in SIGNALS or given in GROUNDHOG:
            raise ParameterError(
                f"attacks holds {given!r}, which reads synthetic tables, but the mechanism trains models. Name an "
                "attack on models, such as 'loss' or 'lira', or a synthesiser as the mechanism.",
                argument="attacks",
            )


def _attacks(section: MembershipSection) -> tuple[MembershipAttack, ...]:
    """The attacks that are named; else summary statistics, and the likelihood ratio of each signal."""
    if section.attacks is None:
        return (GroundhogMembership(), *(LiRA(signal=signal) for signal in SIGNALS))
    return tuple(map(_attack, section.attacks))


def _attack(entry: Any) -> MembershipAttack:
    """An entry of the list: the name of a signal, which is then ranked by itself, or an attack that reads one."""
    name: Any = entry.get("name") if isinstance(entry, Mapping) else entry
    if name in SIGNALS and isinstance(entry, str):
        return Loss(signal=name)
    if name == GroundhogMembership.name:
        groundhog: MembershipAttack = build.build_listed("attacks", entry, GROUNDHOG)
        return groundhog
    if name in SIGNALS or name in pair_attacks:
        raise ParameterError(
            f"attacks holds {name!r}, which is made for a pair of tables. Here a signal of tables goes by its name "
            f'alone, one of {", ".join(SIGNALS)}, or is read by an attack: {{name = "lira", signal = "density"}}.',
            argument="attacks",
        )
    if isinstance(name, str) and name not in membership_attacks:
        readers = [reader for reader in membership_attacks if hasattr(membership_attacks.get(reader), "signal")]
        message = unknown_name_message("attack on tables", name, [*GROUNDHOG, *SIGNALS, *readers])
        raise ParameterError(message, argument="attacks", value=name)
    attack = build.build_member_attack(entry)
    if isinstance(entry, Mapping) and entry.get("signal", "density") not in SIGNALS:
        message = unknown_name_message(f"signal of tables in {name!r}:", entry["signal"], SIGNALS)
        raise ParameterError(message, argument="attacks", value=entry["signal"])
    if getattr(attack, "signal", None) not in SIGNALS:
        raise ParameterError(
            f"attack {attack.name!r} reads what a model predicts, and a synthetic table predicts nothing. Name a "
            f"signal of tables, {', '.join(SIGNALS)}, or an attack that reads one: "
            '{name = "lira", signal = "density"}.',
            argument="attacks",
        )
    return attack


def _coded(mechanism: Any, data: Any) -> Any:
    """The records as codes of the domain, `(n, d)`."""
    if isinstance(data, tuple):
        raise ParameterError(
            "a synthetic table has attributes, and no labels to predict: leave target out, or choose a dataset without."
        )
    return mechanism.domain.records(data)


def _groups(mechanism: Any, attribute: str, records: Any) -> list[str]:
    """The group of each record: its value of an attribute."""
    if attribute not in mechanism.domain.names:
        raise ParameterError(
            f"by_attribute must be an attribute of the domain, one of {', '.join(mechanism.domain.names)}, but is "
            f"{attribute!r}.",
            argument="by_attribute",
        )
    return [f"{attribute} {value}" for value in records[:, mechanism.domain.index(attribute)]]
