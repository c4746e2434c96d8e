"""The audits of an experiment, checked before the first trial.

Every point of a sweep is built, and its parts are checked against each other, when the configuration is loaded, so that
a sweep does not fail at its last point after hours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, TypeVar, cast

from ....audit.bounds.base import Bound
from ....audit.bounds.catalogue import catalogue as bound_methods, choose_bounds
from ....audit.evidence.statement import Statement
from ....audit.results.with_estimates import check_estimates
from ....mechanisms.adapters.functions.target import load_target
from ....mechanisms.core.base import Dataset, Mechanism
from ....mechanisms.core.errors import DpassayError, RelationError
from ....mechanisms.core.guarantee import Guarantee
from ....mechanisms.core.registry import Catalogue
from ....mechanisms.learning.models.base import Model
from ..config_errors import at, pointing_at
from ..overrides import apply
from ..schema import Config
from ..sections import AuditSection, DataSection
from ..source import Source
from ..sweep import combinations, places, point_seed, settings, swept_keys
from . import build, own
from .base import Task
from .pair import PairTask
from .search import SearchTask

T = TypeVar("T")
MOST_AUDITS = 10_000
"""Largest number of audits of one experiment."""
games = Catalogue(
    "game",
    "dpassay.experiments.config.tasks",
    {
        "one-run": "one_run:OneRunTask",
        "reconstruction": "reconstruction:ReconstructionTask",
    },
)
"""Tasks of the games of [game]; their keys are in `sections.GAMES`. Without [game] the task is `PairTask`."""


def plan_tasks(config: Config, source: Source) -> list[Task]:
    """Build every audit of the experiment; raise `ConfigError` with location and point if one cannot be run."""
    if config.game is not None and _counts_trials(config):
        name, counted = config.game.name, games.get(config.game.name).counted
        raise source.error(
            ("audit", "trials"),
            f"[audit] trials is not used in the game {name!r}: leave it out, and set {counted} in [game].",
        )
    if config.game is not None and config.audit.estimates:
        raise source.error(
            ("audit", "estimates"),
            f"[audit] estimates are not used in the game {config.game.name!r}: leave them out.",
        )
    if own.is_own(config.mechanism):
        with pointing_at(source, "mechanism", config.mechanism):
            own.check_allowed(config.mechanism, source.allowed)
    load = _Loader()
    if (n_points := prod(map(len, config.sweep.values()))) > MOST_AUDITS:
        shown = f"{n_points:,}" if n_points < 10**15 else "more than 10^15"
        raise source.error(
            ("sweep",), f"the sweep has {shown} audits, but at most {MOST_AUDITS:,} are run. Leave some values out."
        )
    table = {key: value for key, value in config.resolved().items() if key != "sweep"}
    points = combinations(config.sweep)
    return [_task(config, table, source, point, load, len(points)) for point in points]


def _counts_trials(config: Config) -> bool:
    """Return whether the number of trials is set, or swept over."""
    is_set = config.audit.trials != AuditSection.model_fields["trials"].default
    return is_set or any("audit.trials" in swept_keys(key, values) for key, values in config.sweep.items())


def _task(
    config: Config,
    table: Mapping[str, Any],
    source: Source,
    parameters: dict[str, Any],
    load: _Loader,
    n_hypotheses: int,
) -> Task:
    """Build and check the audit at one point; `table` is the resolved configuration without the sweep."""
    source = replace(source, swept=places(config.sweep, parameters))
    with at(parameters):
        point = Config.check(apply(table, settings(parameters)), source)
        with pointing_at(source, "mechanism", point.mechanism):
            mechanism = _own(point, source, load) if own.is_own(point.mechanism) else _listed(point, load)
        kind = _kind(point)
        if point.game is not None and point.audit.stop is not None:
            raise source.error(
                ("audit", "stop"), f"[audit] stop is not used in the game {point.game.name!r}: leave it out."
            )
        with pointing_at(source, "audit.bounds"):
            bounds = tuple(_bound(entry) for entry in point.audit.bounds)
            choose_bounds(bounds, reads=kind.evidence_type(point), stop=point.audit.stop)
        with pointing_at(source, "audit.estimates"):
            estimates = check_estimates(point.audit.estimates)
        with pointing_at(source, "claim", point.claim):
            claim = None if point.claim is None else build.build_entry(point.claim, build.guarantees)
        with pointing_at(source, "data", point.data):
            data = None if point.data is None else load(point.data)
        shared = {
            "parameters": parameters,
            "seed": point_seed(config.seed, parameters),
            "bounds": bounds,
            "claim": claim,
            "delta": point.audit.delta,
            "confidence": point.audit.confidence,
            "estimates": estimates,
        }
        task = kind.plan(point, source, mechanism, data, shared)
        _check_claim(task, point, source, n_hypotheses)
        return task


def _listed(point: Config, load: _Loader) -> Mechanism:
    """Build a mechanism of the catalogue."""
    train = None if point.data is None else partial(load.worst_case_initial, point.data)
    rest = None if point.data is None else partial(load.rest, point.data)
    return build.build_mechanism(point.mechanism, train, rest)


def _own(point: Config, source: Source, load: _Loader) -> Mechanism:
    """Build a mechanism from code of the user, which the source allows."""
    target = own.check_allowed(point.mechanism, source.allowed)

    def claim() -> Guarantee | None:
        with pointing_at(source, "claim", point.claim):
            return None if point.claim is None else build.build_entry(point.claim, build.guarantees)

    def data() -> Dataset | None:
        with pointing_at(source, "data", point.data):
            return None if point.data is None else load(point.data)

    return own.build_own(point.mechanism, point.neighbours, target, load=load.code, data=data, claim=claim)


def _bound(entry: Any) -> str | Bound[Any]:
    """Build a bound of [audit]; "auto" is resolved by `audit`."""
    if entry == "auto":
        return "auto"
    bound: Bound[Any] = build.build_listed("bounds", entry, bound_methods)
    return bound


def _kind(point: Config) -> type[Task]:
    """Return the type of task for a configuration."""
    if point.search is not None:
        return SearchTask
    kind: type[Task] = PairTask if point.game is None else games.get(point.game.name)
    return kind


def _check_claim(task: Task, point: Config, source: Source, n_hypotheses: int) -> None:
    """Raise `ConfigError` for a claim that cannot be tested with this configuration."""
    with pointing_at(source, "mechanism", point.mechanism):
        task.mechanism.guarantee()
    try:
        Statement.about(
            task.mechanism,
            task.claim,
            delta=task.delta,
            confidence=task.confidence,
            n_hypotheses=n_hypotheses,
            relation=task.mechanism.relation,
        )
    except RelationError:
        with pointing_at(source, "claim"):
            raise
    except DpassayError:
        with pointing_at(source, "audit", point.audit):
            raise


class _Loader:
    """Cache that loads each dataset once, and trains each initial model once, for all points."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def __call__(self, section: DataSection) -> Dataset:
        return self._once(section.model_dump_json(), lambda: build.load_data(section))

    def code(self, target: str) -> Any:
        """Load an object of an allowed module; the module is run once for it."""
        return self._once(f"code {target}", lambda: load_target(target))

    def rest(self, section: DataSection) -> Dataset:
        """Load the records that n_records leaves out."""
        return self._once(f"rest of {section.model_dump_json()}", lambda: build.load_rest(section))

    def worst_case_initial(self, section: DataSection, model: Model, options: Mapping[str, Any]) -> Any:
        """Train worst-case initial parameters on the records that n_records leaves out."""
        public, data = self.rest(section), section.model_dump_json()
        key = f"{model!r} with {json.dumps(options, sort_keys=True)} on the rest of {data}"
        return self._once(key, lambda: build.train_initial(model, options, public))

    def _once(self, key: str, make: Callable[[], T]) -> T:
        if key not in self._known:
            self._known[key] = make()
        return cast(T, self._known[key])
