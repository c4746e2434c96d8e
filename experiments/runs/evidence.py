"""Files that a finished run leaves for other readers: evidence card, fields of the registry, and LaTeX table.

    card.json, .md, .html   claim, unit, trials, bound, power, assumptions, ledger, versions, hashes, hazards
    registry.yaml           fields of the OpenDP deployments registry
    results.tex             the table of results for a paper
    statement.json          the card, and the SHA-256 of every other file of the run: a statement of in-toto

All are written from `results.json` and from what the run recorded of itself; nothing is computed again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...audit.metrics.membership.result import MembershipResult
from ...audit.metrics.table_risk.result import RiskResult
from ...mechanisms.core import StoreError
from ..config.schema import Config
from ..present.card.card import Card, Origin, card_of
from ..present.card.registry import registry_yaml
from ..present.results.latex import membership_table, risk_table, sweep_table
from ..present.results.sweep import SweepResult
from .directory import RunDirectory

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"


def write_evidence(
    result: SweepResult | MembershipResult,
    directory: RunDirectory,
    *,
    title: str,
    command: str,
    environment: Mapping[str, Any],
    unit: str = "",
    inputs: Mapping[str, str] | None = None,
) -> tuple[Card, list[Path]]:
    """Write card, registry record and LaTeX table into a run directory that has its numbers; return card and files.

    Args:
        result: the content of results.json.
        directory: the run directory.
        title, unit, command: see `dpassay.experiments.present.card.card.Origin`.
        environment: of the run, as in environment.json.
        inputs: path -> SHA-256 of files outside the directory that the run read.
    """
    from ..present.pages import page

    hashes = {**directory.described_by(), **directory.journals(), **(inputs or {})}
    card = card_of(result, Origin(title, command, environment, unit, hashes))
    texts = {
        "card.json": card.to_json(),
        "card.md": card.to_markdown(),
        "card.html": page("card.html.j2", text=card.text(), title=f"Evidence card: {title}"),
        "registry.yaml": registry_yaml(card),
        "results.tex": latex_table(result),
    }
    for name, text in texts.items():
        directory.write(name, text)
    return card, [directory.path / name for name in texts]


def statement(directory: RunDirectory) -> str:
    """Return the statement on a finished run: its card, or else its numbers, and the SHA-256 of its other files.

    A journal stands for the trials that it lists with theirs. The form is Statement v1 of in-toto, which tools for
    signatures take.

    Raises:
        StoreError: the card or the numbers are missing or damaged.
    """
    name = "card.json" if (directory.path / "card.json").is_file() else "results.json"
    try:
        stated = json.loads(directory.read(name))
        kind = f"urn:{stated['format'].replace('.', ':')}:{stated['version']}"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{directory.path / name} is damaged ({error}).") from error
    files = {name: digest for name, digest in directory.contents().items() if "/chunks/" not in name}
    subject = [{"name": name, "digest": {"sha256": digest}} for name, digest in files.items()]
    content = {"_type": STATEMENT_TYPE, "subject": subject, "predicateType": kind, "predicate": stated}
    return json.dumps(content, indent=1) + "\n"


def latex_table(result: SweepResult | MembershipResult | RiskResult) -> str:
    """Return the table of results as LaTeX."""
    if isinstance(result, RiskResult):
        return risk_table(result)
    return membership_table(result) if isinstance(result, MembershipResult) else sweep_table(result)


def files_read(config: Config, code: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return path -> SHA-256 of the user's files that an experiment reads: tables of [data], and allowed code.

    Args:
        config: the configuration.
        code: name of an allowed module -> its file or module, of which files are hashed.
    """
    files = dict.fromkeys([*config.data_files, *(code or {}).values()])
    return {path: sha256(Path(path).read_bytes()).hexdigest() for path in files if Path(path).is_file()}


__all__ = ["files_read", "latex_table", "statement", "write_evidence"]
