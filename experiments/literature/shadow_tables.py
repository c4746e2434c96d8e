"""Membership attacks on synthetic tables for [membership]: every shadow model is a table of half of the records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...attacks.catalogue import catalogue as pair_attacks
from ...attacks.literature.synthetic_tables.base import ReleasesTables
from ...attacks.literature.synthetic_tables.groundhog import GroundhogMembership
from ...attacks.literature.synthetic_tables.shadows import TABLE_SIGNALS, ShadowTables
from ...attacks.membership.base import MembershipAttack
from ...attacks.membership.catalogue import catalogue as membership_attacks
from ...attacks.membership.likelihood_ratios import LiRA
from ...attacks.membership.thresholds import LossThreshold
from ...mechanisms.core import Catalogue, ParameterError, unknown_name_message
from ..config.sections import MembershipSection
from ..config.tasks import build
from ..config.tasks.point import Point
from ..config.tasks.shadow_releases import ShadowReleases

GROUNDHOG = Catalogue(
    "attack on tables", "dpassay.attacks.literature.synthetic_tables", {"groundhog": "groundhog:GroundhogMembership"}
)
MIN_RECORDS = 10
"""Smallest number of records: halves of fewer may be empty."""


class TablesOfSynthesisers(ShadowReleases):
    """Tables of synthesisers: every shadow model is a table of half of the records."""

    def applies(self, mechanism: Any) -> bool:
        """Return whether it is a synthesiser; raise `ParameterError` unless it releases tables of one size."""
        if not isinstance(mechanism, ReleasesTables):
            return False
        if mechanism.view != "table":
            raise ParameterError(
                f"view must be 'table', since attacks of [membership] use synthetic tables, but is {mechanism.view!r}. "
                "Other releases are audited on a pair: leave [membership] out.",
                argument="view",
            )
        if getattr(mechanism, "n_rows", 0) is None:
            raise ParameterError(
                "n_rows is missing: the halves of the records, and so their tables, would differ in size. Set a number "
                "of rows, such as n_rows = 1000.",
                argument="n_rows",
            )
        return True

    def fields(self, section: MembershipSection, mechanism: Any, point: Point) -> dict[str, Any]:
        """Return the fields of a `ShadowTask` that are specific to tables; raise an error if it cannot be run."""
        attacks = _attacks(section)
        if section.by_label:
            raise ParameterError(
                "by_label is for models that predict labels; for a synthetic table set by_attribute to an attribute.",
                argument="by_label",
            )
        with point.section("data") as data:
            records = _records(mechanism, point)
        population = section.population
        public = None if population is None else _coded(mechanism, build.load_rest(data, n=population))
        groups = None if section.by_attribute is None else _groups(mechanism, section.by_attribute, records)
        used_signals = [str(signal) for signal in (getattr(attack, "signal", None) for attack in attacks) if signal]
        statistics = "all" if any(isinstance(attack, GroundhogMembership) for attack in attacks) else None
        signals = {signal: TABLE_SIGNALS[signal] for signal in used_signals or ["closest-record"]}
        tables = ShadowTables(mechanism, signals, public, statistics)
        return {"learner": tables, "records": records, "attacks": attacks, "population": public, "groups": groups}

    def refuse(self, entry: Any) -> None:
        """Raise `ParameterError` for an attack on tables, for models that predict labels."""
        options = dict(entry) if isinstance(entry, Mapping) else {"name": entry}
        for name in (options.get("name"), options.get("signal")):
            if isinstance(name, str) and (name in TABLE_SIGNALS or name in GROUNDHOG):
                raise ParameterError(
                    f"attacks contains {name!r}, which needs synthetic tables, but the mechanism trains models. Use an "
                    "attack on models, such as 'loss' or 'lira', or a synthesiser as the mechanism.",
                    argument="attacks",
                )


def _attacks(section: MembershipSection) -> tuple[MembershipAttack, ...]:
    """Return the named attacks; by default summary statistics, and the likelihood ratio of each signal."""
    if section.attacks is None:
        return (GroundhogMembership(), *(LiRA(signal=signal) for signal in TABLE_SIGNALS))
    return tuple(map(_attack, section.attacks))


def _attack(entry: Any) -> MembershipAttack:
    """Build an entry of the list: the name of a signal, which is used as the score, or an attack on a signal."""
    name: Any = entry.get("name") if isinstance(entry, Mapping) else entry
    if not isinstance(name, str):
        build.build_listed("attacks", entry, membership_attacks)  # raises
    if name in TABLE_SIGNALS and isinstance(entry, str):
        return LossThreshold(signal=name)
    if name == GroundhogMembership.name:
        groundhog: MembershipAttack = build.build_listed("attacks", entry, GROUNDHOG)
        return groundhog
    if name in TABLE_SIGNALS or name in pair_attacks:
        raise ParameterError(
            f"attacks contains {name!r}, which is for a pair of tables. In [membership] a signal of tables is a plain "
            f"name, one of {', '.join(TABLE_SIGNALS)}, or an option of an attack: "
            f'{{name = "lira", signal = "density"}}.',
            argument="attacks",
        )
    if name not in membership_attacks:
        readers = [reader for reader in membership_attacks if hasattr(membership_attacks.get(reader), "signal")]
        message = unknown_name_message("attack on tables", name, [*GROUNDHOG, *TABLE_SIGNALS, *readers])
        raise ParameterError(message, argument="attacks", value=name)
    attack: MembershipAttack = build.build_listed("attacks", entry, membership_attacks)
    if isinstance(entry, Mapping) and entry.get("signal", "density") not in list(TABLE_SIGNALS):
        message = unknown_name_message(f"signal of tables in {name!r}:", entry["signal"], TABLE_SIGNALS)
        raise ParameterError(message, argument="attacks", value=entry["signal"])
    if getattr(attack, "signal", None) not in TABLE_SIGNALS:
        raise ParameterError(
            f"attack {attack.name!r} uses the predictions of a model, but a synthetic table predicts nothing. Use a "
            f"signal of tables, {', '.join(TABLE_SIGNALS)}, or an attack on one: "
            '{name = "lira", signal = "density"}.',
            argument="attacks",
        )
    return attack


def _records(mechanism: Any, point: Point) -> Any:
    """Return the coded records of [data]; raise `ParameterError` for too few."""
    records = _coded(mechanism, point.data)
    if len(records) < MIN_RECORDS:
        raise ParameterError(
            f"the dataset must have {MIN_RECORDS} records or more, since each table of [membership] is made of half of "
            f"them, but has {len(records)}. Raise n_records.",
            argument="n_records",
        )
    return records


def _coded(mechanism: Any, data: Any) -> Any:
    """Return the records as codes of the domain, `(n, d)`."""
    if isinstance(data, tuple):
        raise ParameterError(
            "a synthetic table has attributes, but no labels to predict: leave target out, or use a dataset without."
        )
    return mechanism.domain.records(data)


def _groups(mechanism: Any, attribute: str, records: Any) -> list[str]:
    """Return the group of each record: its value of an attribute."""
    if attribute not in mechanism.domain.names:
        raise ParameterError(
            f"by_attribute must be an attribute of the domain, one of {', '.join(mechanism.domain.names)}, but is "
            f"{attribute!r}.",
            argument="by_attribute",
        )
    return [f"{attribute} {value}" for value in records[:, mechanism.domain.index(attribute)]]
