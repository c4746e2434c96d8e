"""Interface of shadow releases other than models that predict labels, for [membership]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ....mechanisms.core import Catalogue
from ..sections import MembershipSection
from .point import Point

catalogue = Catalogue("kind of shadow releases", "dpassay", {}, group="dpassay.shadow_releases")


class ShadowReleases(ABC):
    """A kind of release that a membership study is made of, such as synthetic tables, with its own attacks."""

    @abstractmethod
    def applies(self, mechanism: Any) -> bool:
        """Return whether the mechanism makes such releases; raise `ParameterError` for options that do not fit."""

    @abstractmethod
    def fields(self, section: MembershipSection, mechanism: Any, point: Point) -> dict[str, Any]:
        """Return learner, records, attacks, population and groups of a `ShadowTask`."""

    @abstractmethod
    def refuse(self, entry: Any) -> None:
        """Raise `ParameterError` for an attack on such releases in a study of models that predict labels."""


def kinds() -> list[ShadowReleases]:
    """Return one instance of each registered kind."""
    return [catalogue.build(name) for name in catalogue]
