"""[game] name = "reconstruction": the category of one record is drawn anew in each round, and guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from ...audit.bounds.base import Evidence
from ...audit.evidence.scores import Successes
from ...audit.games.reconstruction import GUESS, reconstruction_game
from ...mechanisms.base import Dataset, Mechanism
from ...mechanisms.errors import ParameterError
from ...mechanisms.local.base import LocalMechanism
from ...mechanisms.records import replace_record
from ..config.config_errors import pointing_at
from ..config.schema import Config
from ..config.sections import GameSection, Named, NeighboursSection, Whole
from ..config.source import Source
from .base import PlayedTask


class ReconstructionSection(GameSection):
    """[game] name = "reconstruction"."""

    name: Literal["reconstruction"] = Field(description="'reconstruction'")
    n_rounds: Whole = Field(ge=1, description="a whole number >= 1: each a fresh secret, a fresh run and one guess")


@dataclass(frozen=True, eq=False, kw_only=True)
class ReconstructionTask(PlayedTask):
    """Rounds in which the category of one record is drawn, and guessed.

    Args:
        dataset, values, record, n_rounds: as for `dpassay.audit.games.reconstruction_game`.
    """

    section: ClassVar[type[GameSection] | None] = ReconstructionSection
    makes: ClassVar[type[Evidence]] = Successes
    counted: ClassVar[str] = "n_rounds"

    dataset: Dataset
    values: Sequence[Any]
    record: int
    n_rounds: int

    @classmethod
    def plan(
        cls, here: Config, source: Source, mechanism: Mechanism, data: Dataset | None, shared: dict[str, Any]
    ) -> Self:
        """The dataset with its secret, under a guarantee that holds for any two of its values."""
        game: Any = here.game
        with pointing_at(source, "game", game):
            dataset, values, record = _secret(here.neighbours, here.attack, data, mechanism)
        with pointing_at(source, "neighbours", here.neighbours):
            mechanism.fitted_to(replace_record(dataset, record, values[0]))
        secret = {"dataset": dataset, "values": values, "record": record}
        return cls(**shared, mechanism=mechanism, **secret, n_rounds=game.n_rounds)

    @property
    def attack_name(self) -> str:
        return GUESS

    def play(self, **options: Any) -> Successes:
        """Secrets, runs, guesses."""
        options |= {"record": self.record, "n_rounds": self.n_rounds, "seed": self.seed}
        return reconstruction_game(self.mechanism, self.dataset, self.values, **options)


def _secret(
    section: NeighboursSection, attack: Named, data: Dataset | None, mechanism: Mechanism
) -> tuple[Dataset, range, int]:
    """The dataset, the categories of the secret, and its place; without [data] there is one record, the secret."""
    if not isinstance(mechanism, LocalMechanism):
        raise ParameterError(
            "name is 'reconstruction', which guesses a category, such as that of k-ary-randomized-response, not what "
            f"{type(mechanism).__name__} releases.",
            argument="name",
        )
    unread = [key for key in ("relation", "replacement", "canary") if getattr(section, key) is not None]
    if unread:
        raise ParameterError(
            f"name is 'reconstruction', which reads of [neighbours] the record alone: leave {unread[0]} out.",
            argument="name",
        )
    if attack.name != "auto" or attack.options:
        raise ParameterError(
            f"name is 'reconstruction', which guesses the likeliest category: leave the attack {attack.name!r} out.",
            argument="name",
        )
    dataset = np.zeros(1, dtype=np.int64) if data is None else data
    return dataset, range(mechanism.n_categories), 0 if section.record == "worst-case" else section.record


__all__ = ["ReconstructionSection", "ReconstructionTask"]
