"""A configuration at one point of its sweep: what its tables describe, built once, with errors at their lines."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

from ....mechanisms.adapters.functions.target import load_target
from ....mechanisms.core import Dataset, Guarantee, Mechanism
from ..config_errors import section_at
from ..schema import Config
from ..sections import Named
from ..source import Source
from . import build, own

T = TypeVar("T")


class Loader:
    """Cache of what all points share: a dataset or an object of the user is loaded once, a model trained once."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def __call__(self, make: Callable[..., T], *args: Any) -> T:
        """Return `make(*args)`, called once for equal texts of the arguments."""
        key = (make, *map(repr, args))
        if key not in self._known:
            self._known[key] = make(*args)
        return cast(T, self._known[key])


@dataclass(frozen=True, eq=False)
class Point:
    """A configuration at one point of its sweep, from which a task is built.

    Args:
        config: the configuration, with the settings of the point.
        source: locates errors.
        parameters: sweep key -> value at this point.
        seed: of the point.
        n_hypotheses: number of points of the sweep.
        load: shared by all points.
    """

    config: Config
    source: Source
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    n_hypotheses: int = 1
    load: Loader = field(default_factory=Loader)

    def section(self, path: str) -> AbstractContextManager[Any]:
        """Return a context with the table, or the value of the key, at a dotted path.

        An error of the block becomes a `ConfigError` with the line of the key that the argument of the error names.
        """
        return section_at(self.config, self.source, path)

    @cached_property
    def data(self) -> Dataset | None:
        """Dataset of [data]; None without one."""
        with self.section("data") as section:
            return None if section is None else self.load(build.load_data, section)

    @cached_property
    def claim(self) -> Guarantee | None:
        """Guarantee of [claim]; None without one."""
        with self.section("claim") as section:
            return None if section is None else build.build_entry(build.guarantees, section.name, section.options)

    @cached_property
    def mechanism(self) -> Mechanism:
        """Mechanism of [mechanism]: code of the user, or an entry of the catalogue."""
        with self.section("mechanism") as section:
            if own.is_own(section):
                return own.build_own(section, self.own(section), self.claim, self.config.neighbours, self.data)
            return build.build_mechanism(section, self.config.data, self.load)

    def own(self, section: Named) -> Any:
        """Return the object of the user that a table names, whose module is allowed."""
        return self.load(load_target, own.check_allowed(section, self.source.allowed))


__all__ = ["Loader", "Point"]
