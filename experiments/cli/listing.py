"""Entries of `dpassay list`: names with one-line summaries."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable
from pathlib import Path

from ...mechanisms.core.errors import UnknownNameError
from ...mechanisms.core.registry import Catalogue
from ..config.source import CONFIGS, shipped

DEMOS = Path(__file__).parents[1] / "demos"


def entries(kind: str) -> dict[str, str]:
    """Return name -> summary of every entry of a kind; raises `UnknownNameError` for an unknown kind."""
    if kind not in KINDS:
        raise UnknownNameError("kind", kind, KINDS)
    return KINDS[kind][0]()


def kinds() -> dict[str, str]:
    """Return kind -> description, with the place where it is used."""
    return {name: line for name, (_, line) in KINDS.items()}


def demos() -> dict[str, str]:
    """Return name -> first line of each demo, which are the files that can be run directly."""
    summaries = {}
    for path in sorted(DEMOS.rglob("*.py"), key=lambda path: path.stem):
        text = path.read_text(encoding="utf-8")
        if '__name__ == "__main__"' in text:
            summaries[path.stem.replace("_", "-")] = _first_line(text.split('"""')[1])
    return summaries


def _mechanisms() -> dict[str, str]:
    from ...mechanisms.catalogue import catalogue

    return _summaries(catalogue)


def _attacks() -> dict[str, str]:
    from ...attacks.catalogue import catalogue

    return _summaries(catalogue)


def _membership() -> dict[str, str]:
    from ...attacks.membership.catalogue import catalogue

    return _summaries(catalogue)


def _reconstructors() -> dict[str, str]:
    from ...attacks.reconstruction.catalogue import catalogue

    return _summaries(catalogue)


def _tracing() -> dict[str, str]:
    from ...attacks.membership.tracing.statistics import catalogue

    return _summaries(catalogue)


def _populations() -> dict[str, str]:
    from ...mechanisms.noise.studies.populations import populations

    return _summaries(populations)


def _bounds() -> dict[str, str]:
    from ...audit.bounds.catalogue import catalogue

    return _summaries(catalogue)


def _games() -> dict[str, str]:
    from ..config.games import catalogue

    return _summaries(catalogue)


def _guarantees() -> dict[str, str]:
    from ..config.tasks.build import guarantees

    return _summaries(guarantees)


def _queries() -> dict[str, str]:
    from ...mechanisms.noise.queries.catalogue import catalogue

    return _summaries(catalogue)


def _strategies() -> dict[str, str]:
    from ...mechanisms.query_release.catalogue import strategies

    return _summaries(strategies)


def _selections() -> dict[str, str]:
    from ...mechanisms.synthetic_data.catalogue import selections

    return _summaries(selections)


def _generators() -> dict[str, str]:
    from ...mechanisms.synthetic_data.catalogue import generators

    return _summaries(generators)


def _repetitions() -> dict[str, str]:
    from ...mechanisms.selection.tuning.catalogue import repetitions

    return _summaries(repetitions)


def _experiments() -> dict[str, str]:
    return {name: tomllib.loads((CONFIGS / f"{name}.toml").read_text("utf-8")).get("title", "") for name in shipped()}


def _datasets() -> dict[str, str]:
    from ..data.datasets import LOADERS

    return {name: _first_line(inspect.getdoc(loader) or "") for name, loader in LOADERS.items()}


def _systems() -> dict[str, str]:
    from ..systems import load

    return {system.title: f"{system.guarantee}; {system.shown_by}" for system in load()}


def _summaries(catalogue: Catalogue) -> dict[str, str]:
    return {name: _summary(catalogue, name) for name in catalogue}


def _summary(catalogue: Catalogue, name: str) -> str:
    """Return the first line of an entry, or its missing requirement if it is not installed."""
    try:
        return catalogue.summary(name)
    except ImportError as error:
        return f"(not available: {error})"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


KINDS: dict[str, tuple[Callable[[], dict[str, str]], str]] = {
    "mechanisms": (_mechanisms, "audited algorithms: [mechanism]"),
    "queries": (_queries, "functions of a dataset that a mechanism computes: query = { name = ... } in [mechanism]"),
    "strategies": (_strategies, "strategy matrices of the matrix mechanism: strategy = { name = ... } in [mechanism]"),
    "selections": (
        _selections,
        "rules that choose the measured marginals: selection = { name = ... } of select-measure-generate",
    ),
    "generators": (
        _generators,
        "generators of tables from noisy marginals: generator = { name = ... } of select-measure-generate",
    ),
    "repetitions": (
        _repetitions,
        "distributions of the number of repetitions: repetitions = { name = ... } of best-of-repetitions",
    ),
    "games": (_games, "audits other than many runs on a pair of datasets: [game]"),
    "guarantees": (_guarantees, "claims that replace the guarantee of the mechanism: [claim]"),
    "attacks": (_attacks, "attacks that distinguish the runs on two datasets: [attack]"),
    "membership": (_membership, "membership attacks with shadow models: dpassay.audit.metrics.membership.evaluate"),
    "tracing": (_tracing, "test statistics of the attack on published means: statistic = ... in [attack]"),
    "populations": (
        _populations,
        "public frequencies of the columns of a study: population = { name = ... } of column-means",
    ),
    "reconstructors": (_reconstructors, "attacks that reconstruct a secret: [attack] in the game 'reconstruction'"),
    "bounds": (_bounds, "methods that compute a lower bound on epsilon from attack scores: bounds in [audit]"),
    "datasets": (_datasets, "datasets from scikit-learn, synthetic, or in a data directory: [data]"),
    "experiments": (_experiments, "configurations included in dpassay: dpassay run NAME"),
    "demos": (demos, "demonstrations with explanations: dpassay demo NAME"),
    "systems": (
        _systems,
        "systems of the literature, with their guarantees and the evidence for them; see docs/systems.md",
    ),
}
