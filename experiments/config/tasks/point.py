"""A configuration at one point of its sweep: what its tables describe, built once, with errors at their lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar, cast

from ....mechanisms.adapters.functions.target import load_target
from ....mechanisms.core import Dataset, Guarantee, Mechanism
from ....mechanisms.learning.models.base import Model
from ..config_errors import pointing_at
from ..schema import Config
from ..sections import DataSection, Named
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

    def build(self, path: str, make: Callable[..., T], *args: Any) -> T:
        """Return `make(value, *args)` for the table or key at a dotted path.

        Raises:
            ConfigError: `make` raises; it has the line of the key that the argument of the error names.
        """
        value: Any = self.config
        for key in path.split("."):
            value = getattr(value, key)
        with pointing_at(self.source, path, value):
            return make(value, *args)

    @cached_property
    def data(self) -> Dataset | None:
        """Dataset of [data]; None without one."""
        return self.build("data", lambda data: None if data is None else self.load(build.load_data, data))

    @cached_property
    def claim(self) -> Guarantee | None:
        """Guarantee of [claim]; None without one."""
        return self.build("claim", build.build_claim)

    @cached_property
    def mechanism(self) -> Mechanism:
        """Mechanism of [mechanism]: code of the user, or an entry of the catalogue."""
        return self.build("mechanism", self._mechanism)

    def _mechanism(self, section: Named) -> Mechanism:
        if own.is_own(section):
            thing = self.load(load_target, own.check_allowed(section, self.source.allowed))
            if (made := own.build_own(section, thing)) is not None:
                return made
            return own.build_function(section, thing, self.claim, self.config.neighbours, self.data)
        if (data := self.config.data) is None:
            return build.build_mechanism(section)
        rest = partial(self.load, build.load_rest, data)
        return build.build_mechanism(section, partial(self.load, _initial, self.load, data), rest)


def _initial(load: Loader, data: DataSection, model: Model, options: Mapping[str, Any]) -> Any:
    """Train worst-case initial parameters on the records that n_records leaves out."""
    return build.train_initial(model, options, load(build.load_rest, data))


__all__ = ["Loader", "Point"]
