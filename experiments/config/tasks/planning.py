"""The tasks of an experiment, checked before the first run.

Every point of a sweep is built, and its parts are checked against each other, when the configuration is loaded, so that
a sweep does not fail at its last point after hours.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ....mechanisms.core import Catalogue
from ..config_errors import at
from ..overrides import apply
from ..schema import Config
from ..source import Source
from ..sweep import combinations, places, point_seed, settings
from .base import PointTask
from .membership import ShadowTask, TrainedTask
from .pair import PairTask
from .point import Loader, Point
from .search import SearchTask

MAX_AUDITS = 10_000
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


def plan_tasks(config: Config, source: Source) -> list[PointTask]:
    """Build every task of the experiment; raise `ConfigError` with location and point if one cannot be run."""
    if (n_points := prod(map(len, config.sweep.values()))) > MAX_AUDITS:
        shown = f"{n_points:,}" if n_points < 10**15 else "more than 10^15"
        raise source.error(
            ("sweep",), f"the sweep has {shown} audits, but at most {MAX_AUDITS:,} are run. Leave some values out."
        )
    table = {key: value for key, value in config.resolved().items() if key != "sweep"}
    load, tasks = Loader(), []
    for parameters in combinations(config.sweep):
        there = replace(source, swept=places(config.sweep, parameters))
        with at(parameters):
            point = Config.check(apply(table, settings(parameters)), there) if parameters else config
            seed = point_seed(config.seed, parameters)
            tasks.append(_kind(point).plan(Point(point, there, parameters, seed, n_points, load)))
    return tasks


def _kind(config: Config) -> type[PointTask]:
    """Return the type of task for a configuration."""
    if config.membership is not None:
        return ShadowTask if config.data is None or config.data.shadows is None else TrainedTask
    if config.search is not None:
        return SearchTask
    kind: type[PointTask] = PairTask if config.game is None else games.get(config.game.name)
    return kind
