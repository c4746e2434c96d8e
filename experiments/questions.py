"""The audits of an experiment, checked before the first trial of the first one runs.

A sweep that fails at its last point after hours is a poor joke: every point is built, and its parts are checked against
each other, when the configuration is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from attacks.base import Attack
from attacks.catalogue import choose
from audit.api import audit
from audit.bounds.base import Bound
from audit.question import as_bounds
from audit.results import AuditResult
from audit.trials.plan import MINIMUM_TRIALS
from experiments import build
from experiments.config import Config, DataSection, Named
from experiments.overrides import apply
from experiments.source import Source
from experiments.sweep import combinations, folder_name, point_seed, point_text, settings
from mechanisms.base import Dataset, Mechanism, Neighbours
from mechanisms.errors import ConfigError, DpassayError, ParameterError, RelationError
from mechanisms.guarantees.base import Guarantee
from mechanisms.validation import whole

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Question:
    """One audit, ready to run.

    Args:
        parameters: sweep key -> value that make this one of the points of a sweep.
        seed: root of its random streams.
        mechanism, neighbours, attack, bounds, claim, trials, delta, confidence, stop: as for `audit.audit`.
    """

    parameters: dict[str, Any]
    seed: int
    mechanism: Mechanism
    neighbours: Neighbours | None
    attack: str | Attack
    bounds: tuple[str | Bound, ...]
    claim: Guarantee | None
    trials: int
    delta: float | None
    confidence: float
    stop: str | None = None

    @property
    def folder(self) -> str:
        """Name of the folder of its trials."""
        return folder_name(self.parameters)

    def answer(self, *, family: int, n_jobs: int | None, store: Path | None, progress: Any) -> AuditResult:
        """Runs the audit; what goes wrong is told with the point at which it did."""
        try:
            return audit(
                self.mechanism,
                self.neighbours,
                attack=self.attack,
                bound=self.bounds,
                trials=self.trials,
                delta=self.delta,
                confidence=self.confidence,
                claim=self.claim,
                stop=self.stop,
                family=family,
                seed=self.seed,
                n_jobs=n_jobs,
                store=store,
                progress=progress,
            )
        except DpassayError as error:
            if self.parameters:
                error.add_note(f"at {point_text(self.parameters)}")
            raise


def questions(config: Config, source: Source) -> list[Question]:
    """Every audit of the experiment; raises `ConfigError` if any of them cannot be run, with its place and point."""
    load = _Loader()
    return [_question(config, source, point, load) for point in combinations(config.sweep)]


def _question(config: Config, source: Source, parameters: dict[str, Any], load: _Loader) -> Question:
    """The audit at one point, built and checked."""
    source = replace(source, swept=tuple(parameters))
    with _at(parameters):
        table = {key: value for key, value in config.resolved().items() if key != "sweep"}
        here = Config.check(apply(table, settings(parameters)), source)
        with _pointing_at(source, "mechanism", here.mechanism):
            public = None if here.data is None else partial(load.rest, here.data)
            mechanism = build.build_mechanism(here.mechanism, public)
        with _pointing_at(source, "attack", here.attack):
            attack = build.build_attack(here.attack)
        with _pointing_at(source, "audit.bounds"):
            bounds = tuple(build.build_bound(entry) for entry in here.audit.bounds)
            as_bounds(bounds, here.audit.stop)
        with _pointing_at(source, "claim", here.claim):
            claim = build.build_claim(here.claim)
        with _pointing_at(source, "data", here.data):
            data = None if here.data is None else load(here.data)
        with _pointing_at(source, "neighbours"):
            mechanism, pair = build.build_stage(here.neighbours, data, mechanism)
        with _pointing_at(source, "audit.trials"):
            whole(MINIMUM_TRIALS, trials=here.audit.trials)
        question = Question(
            parameters=parameters,
            seed=point_seed(config.seed, parameters),
            mechanism=mechanism,
            neighbours=pair,
            attack=attack,
            bounds=bounds,
            claim=claim,
            trials=here.audit.trials,
            delta=here.audit.delta,
            confidence=here.audit.confidence,
            stop=here.audit.stop,
        )
        _check_together(question, source)
        return question


def _check_together(question: Question, source: Source) -> None:
    """Raises `ConfigError` where parts that are right on their own do not fit together."""
    mechanism = question.mechanism
    with _pointing_at(source, "neighbours"):
        pair = mechanism.worst_case() if question.neighbours is None else question.neighbours
        mechanism.check(pair)
    with _pointing_at(source, "attack"):
        choose(question.attack, mechanism, pair)
    claim = mechanism.guarantee() if question.claim is None else question.claim
    with _pointing_at(source, "claim"):
        if claim.relation is not None and claim.relation is not pair.relation:
            raise RelationError(
                f"relation of the claim is {claim.relation.value!r}, that of the pair {pair.relation.value!r}. Leave "
                "it out, or give both the same."
            )
    with _pointing_at(source, "audit.delta"):
        delta = claim.default_delta if question.delta is None else question.delta
        if delta is None:
            raise ParameterError(f"delta is missing: the claim {claim} is a whole curve. Add a delta, such as 1e-5.")
        if not math.isfinite(float(claim.epsilon(delta))):
            raise ParameterError(
                f"delta is {delta:g}, where the claim {claim} is infinite. Try a larger one, such as 1e-5."
            )


class _Loader:
    """Loads each dataset once, however many points there are."""

    def __init__(self) -> None:
        self._loaded: dict[str, Dataset] = {}

    def __call__(self, section: DataSection) -> Dataset:
        return _remember(self._loaded, section.model_dump_json(), lambda: build.load_data(section))

    def rest(self, section: DataSection) -> Dataset:
        """The records that n_records leaves out."""
        return _remember(self._loaded, f"rest of {section.model_dump_json()}", lambda: build.load_rest(section))


def _remember(memory: dict[str, T], key: str, make: Callable[[], T]) -> T:
    if key not in memory:
        memory[key] = make()
    return memory[key]


@contextmanager
def _at(parameters: dict[str, Any]) -> Iterator[None]:
    """Adds the point of the sweep to whatever is wrong with it."""
    try:
        yield
    except ConfigError as error:
        if not parameters:
            raise
        raise ConfigError(f"{error}\n  at the point {point_text(parameters)} of the sweep") from error


@contextmanager
def _pointing_at(source: Source, table: str, section: Named | None = None) -> Iterator[None]:
    """Turns an error in building or checking a table into a `ConfigError` with the place of the key it speaks of."""
    try:
        yield
    except ConfigError:
        raise
    except DpassayError as error:
        path = tuple(table.split("."))
        key = _spoken_of(str(error), section)
        place = (*path, key) if key else path
        raise source.error(place, f"[{path[0]}] {error}") from error


def _spoken_of(message: str, section: Named | None) -> str | None:
    """The key of a section that an error message names: its subject, or the first of its keys in quotes."""
    if section is None:
        return None
    keys = [*section.options, "name"]
    for key in keys:
        if re.match(rf"{re.escape(key)}\b", message):
            return key
    quoted = [(message.find(f"{key!r}"), key) for key in keys if f"{key!r}" in message]
    return min(quoted)[1] if quoted else "name" if f"{section.name!r}" in message else None
