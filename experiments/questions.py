"""The audits of an experiment, checked before the first trial of the first one runs.

A sweep that fails at its last point after hours is a poor joke: every point is built, and its parts are checked against
each other, when the configuration is read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

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
from experiments.sweep import combinations, folder_name, places, point_seed, point_text, settings
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
    source = replace(source, swept=places(config.sweep, parameters))
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
        with _pointing_at(source, "neighbours", here.neighbours):
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
        _check_together(question, here.mechanism, source)
        return question


def _check_together(question: Question, section: Named, source: Source) -> None:
    """Raises `ConfigError` where parts that are right on their own do not fit together."""
    mechanism = question.mechanism
    with _pointing_at(source, "neighbours"):
        pair = mechanism.worst_case() if question.neighbours is None else question.neighbours
        mechanism.check(pair)
    with _pointing_at(source, "attack"):
        choose(question.attack, mechanism, pair)
    with _pointing_at(source, "mechanism", section):
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
def _pointing_at(source: Source, table: str, section: BaseModel | None = None) -> Iterator[None]:
    """Turns an error in building or checking a table into a `ConfigError` with the place of the key it speaks of."""
    try:
        yield
    except ConfigError:
        raise
    except DpassayError as error:
        path, text = tuple(table.split(".")), str(error)
        if key := _spoken_of(text, section):
            raise source.error((*path, key), f"[{path[0]}] {text}") from error
        changed = _changed(text, source)
        with_ = "" if changed or not source.settings else f"\n  with {_shown(source.settings)}"
        raise source.error(changed or path, f"[{path[0]}] {text}{with_}") from error


def _changed(message: str, source: Source) -> tuple[str, ...] | None:
    """The key, set by the sweep or by hand, whose name an error message holds: parts do not fit since it was set."""
    for key in (*source.swept, *source.settings):
        *table, name = key.split(".")
        if name != "name" and "sweep" not in table and re.search(rf"\b{re.escape(name)}\b", message):
            return (*table, name)
    return None


def _shown(settings: Mapping[str, Any]) -> str:
    """What was set by hand, as it was written."""
    return " ".join(
        f"--set {key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in settings.items()
    )


def _spoken_of(message: str, section: BaseModel | None) -> str | None:
    """The key of a section that an error message names: its subject, or the first in quotes of its keys and names.

    What stands in a table inside, as in `canary = {name = ...}`, is spoken of by the key of that table.
    """
    if section is None:
        return None
    words: dict[str, str] = {}
    names: dict[str, str] = {}
    for key, value in section.model_dump(exclude_defaults=True).items():
        inside = dict(value) if isinstance(value, Mapping) else {}
        if name := inside.pop("name", value if key == "name" else None):
            names[str(name)] = key
        for word in (key, *inside):
            words.setdefault(word, key)
    for word, key in words.items():
        if re.match(rf"(unknown )?{re.escape(word)}\b", message):
            return key
    for kind in (words, names):
        if quoted := [(message.find(f"{word!r}"), key) for word, key in kind.items() if f"{word!r}" in message]:
            return min(quoted)[1]
    return None
