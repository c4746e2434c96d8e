"""Entries of `dpassay list`: names with one-line summaries."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib import import_module

from ...mechanisms.accounting.broken import Broken
from ...mechanisms.core import Catalogue, Mechanism, ParameterError, Tier, UnknownNameError
from ...mechanisms.tiers import tier_of_class
from ..config.source import named


def entries(kind: str, tier: Tier | None = None) -> dict[str, str]:
    """Return name -> summary of every entry of a kind, or of those in a trust tier.

    Raises:
        UnknownNameError: an unknown kind.
        ParameterError: a tier of a kind that has none.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind", kind, KINDS)
    if tier is not None and kind != "mechanisms":
        raise ParameterError(f"{kind} have no trust tier, only mechanisms have one. Leave out --tier.", argument="tier")
    source = KINDS[kind][0]
    return source() if callable(source) else _summaries(source, tier)


def kinds() -> dict[str, str]:
    """Return kind -> description, with the place where it is used."""
    return {name: line for name, (_, line) in KINDS.items()}


def demos() -> dict[str, str]:
    """Return name -> title and running time of each demo."""
    from ..demos import document, names

    return {name: document(name).summary for name in names()}


def _broken() -> dict[str, str]:
    """Return the broken mechanisms, and the broken parts of mechanisms."""
    parts = _summaries("mechanisms.literature.synthetic_data.catalogue:selections", Tier.BROKEN)
    return entries("mechanisms", Tier.BROKEN) | parts


def _experiments() -> dict[str, str]:
    return {name: tomllib.loads(path.read_text("utf-8")).get("title", "") for name, path in named().items()}


def _systems() -> dict[str, str]:
    from ..systems import load

    return {system.title: f"{system.guarantee}; {system.shown_by}" for system in load()}


def _summaries(path: str, tier: Tier | None = None) -> dict[str, str]:
    """Return name -> summary of every entry of the catalogue at "package.module:name" of dpassay, or of a tier."""
    module, _, name = path.partition(":")
    catalogue: Catalogue = getattr(import_module(f"dpassay.{module}"), name)
    named = ((entry, _summary(catalogue, entry, tier)) for entry in catalogue)
    return {entry: summary for entry, summary in named if summary}


def _summary(catalogue: Catalogue, name: str, wanted: Tier | None) -> str:
    """Return first line, tier and origin of an entry, or its missing requirement; "" for one of another tier."""
    try:
        kind, origin = catalogue.get(name), catalogue.entry(name).origin
    except ImportError as error:
        return f"(not available: {error})" if wanted is None else ""
    tier = tier_of_class(kind) if isinstance(kind, type) and issubclass(kind, Mechanism | Broken) else None
    marks = [mark for mark in (tier, "" if origin == "core" else origin) if mark]
    line = " ".join([catalogue.summary(name), *([f"[{', '.join(marks)}]"] if marks else [])])
    return line if wanted in (None, tier) else ""


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


KINDS: dict[str, tuple[str | Callable[[], dict[str, str]], str]] = {
    "mechanisms": ("mechanisms.catalogue:catalogue", "audited algorithms: [mechanism]"),
    "broken": (_broken, "intentionally broken twins of mechanisms, each with a documented bug: [mechanism]"),
    "queries": (
        "mechanisms.noise.queries.catalogue:catalogue",
        "functions of a dataset that a mechanism computes: query = { name = ... } in [mechanism]",
    ),
    "strategies": (
        "mechanisms.literature.query_release.catalogue:strategies",
        "strategy matrices of the matrix mechanism: strategy = { name = ... } in [mechanism]",
    ),
    "selections": (
        "mechanisms.literature.synthetic_data.catalogue:selections",
        "rules that choose the measured marginals: selection = { name = ... } of select-measure-generate",
    ),
    "generators": (
        "mechanisms.literature.synthetic_data.catalogue:generators",
        "generators of tables from noisy marginals: generator = { name = ... } of select-measure-generate",
    ),
    "repetitions": (
        "mechanisms.literature.tuning.catalogue:repetitions",
        "distributions of the number of repetitions: repetitions = { name = ... } of best-of-repetitions",
    ),
    "games": (
        "experiments.config.tasks.planning:games",
        "audits other than many runs on a pair of datasets: [game]",
    ),
    "guarantees": (
        "experiments.config.tasks.build:guarantees",
        "claims that replace the guarantee of the mechanism: [claim]",
    ),
    "attacks": ("attacks.catalogue:catalogue", "attacks that distinguish the runs on two datasets: [attack]"),
    "membership": (
        "attacks.membership.catalogue:catalogue",
        "membership attacks with shadow models: dpassay.audit.metrics.membership.evaluate",
    ),
    "tracing": (
        "attacks.literature.tracing.statistics:catalogue",
        "test statistics of the attack on published means: statistic = ... in [attack]",
    ),
    "populations": (
        "mechanisms.literature.studies.populations:populations",
        "public frequencies of the columns of a study: population = { name = ... } of column-means",
    ),
    "reconstructors": (
        "attacks.reconstruction.catalogue:catalogue",
        "attacks that reconstruct a secret: [attack] in the game 'reconstruction'",
    ),
    "bounds": (
        "audit.bounds.catalogue:catalogue",
        "methods that compute a lower bound on epsilon from attack scores: bounds in [audit]",
    ),
    "datasets": (
        "experiments.data.datasets:catalogue",
        "datasets from scikit-learn, synthetic, or in a data directory: [data]",
    ),
    "experiments": (_experiments, "configurations included in dpassay: dpassay run NAME"),
    "demos": (demos, "demonstrations with explanations: dpassay demo NAME"),
    "systems": (
        _systems,
        "systems of the literature, with their guarantees and the evidence for them; in full: make site",
    ),
}
"""Kind -> catalogue, imported when it is listed, or function that returns the entries; and a description."""
