"""The audits of an experiment, checked before the first trial.

Every point of a sweep is built, and its parts are checked against each other, when the configuration is loaded, so that
a sweep does not fail at its last point after hours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

from ....audit.bounds.catalogue import choose_bounds
from ....audit.evidence.statement import Statement
from ....audit.results.with_estimates import check_estimates
from ....mechanisms.core.base import Dataset
from ....mechanisms.core.errors import DpassayError, RelationError
from ....mechanisms.learning.models.base import Model
from ..config_errors import at, pointing_at
from ..games import catalogue as games
from ..overrides import apply
from ..schema import Config
from ..sections import AuditSection, DataSection
from ..source import Source
from ..sweep import combinations, places, point_seed, settings, swept_keys
from . import build
from .base import Task
from .pair import PairTask
from .search import SearchTask

T = TypeVar("T")


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
    load = _Loader()
    points = combinations(config.sweep)
    return [_task(config, source, point, load, len(points)) for point in points]


def _counts_trials(config: Config) -> bool:
    """Return whether the number of trials is set, or swept over."""
    is_set = config.audit.trials != AuditSection.model_fields["trials"].default
    return is_set or any("audit.trials" in swept_keys(key, values) for key, values in config.sweep.items())


def _task(config: Config, source: Source, parameters: dict[str, Any], load: _Loader, n_hypotheses: int) -> Task:
    """Build and check the audit at one point."""
    source = replace(source, swept=places(config.sweep, parameters))
    with at(parameters):
        table = {key: value for key, value in config.resolved().items() if key != "sweep"}
        here = Config.check(apply(table, settings(parameters)), source)
        with pointing_at(source, "mechanism", here.mechanism):
            train = None if here.data is None else partial(load.worst_case_initial, here.data)
            rest = None if here.data is None else partial(load.rest, here.data)
            mechanism = build.build_mechanism(here.mechanism, train, rest)
        kind = _kind(here)
        if here.game is not None and here.audit.stop is not None:
            raise source.error(
                ("audit", "stop"), f"[audit] stop is not used in the game {here.game.name!r}: leave it out."
            )
        with pointing_at(source, "audit.bounds"):
            bounds = tuple(build.build_bound(entry) for entry in here.audit.bounds)
            choose_bounds(bounds, reads=kind.makes_here(here), stop=here.audit.stop)
        with pointing_at(source, "audit.estimates"):
            estimates = check_estimates(here.audit.estimates)
        with pointing_at(source, "claim", here.claim):
            claim = build.build_claim(here.claim)
        with pointing_at(source, "data", here.data):
            data = None if here.data is None else load(here.data)
        shared = {
            "parameters": parameters,
            "seed": point_seed(config.seed, parameters),
            "bounds": bounds,
            "claim": claim,
            "delta": here.audit.delta,
            "confidence": here.audit.confidence,
            "estimates": estimates,
        }
        task = kind.plan(here, source, mechanism, data, shared)
        _check_claim(task, here, source, n_hypotheses)
        return task


def _kind(here: Config) -> type[Task]:
    """Return the type of task for a configuration."""
    if here.search is not None:
        return SearchTask
    kind: type[Task] = PairTask if here.game is None else games.get(here.game.name)
    return kind


def _check_claim(task: Task, here: Config, source: Source, n_hypotheses: int) -> None:
    """Raise `ConfigError` for a claim that cannot be tested with this configuration."""
    with pointing_at(source, "mechanism", here.mechanism):
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
        with pointing_at(source, "audit", here.audit):
            raise


class _Loader:
    """Cache that loads each dataset once, and trains each initial model once, for all points."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def __call__(self, section: DataSection) -> Dataset:
        return self._once(section.model_dump_json(), lambda: build.load_data(section))

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
