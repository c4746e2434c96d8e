"""[game] name = "reconstruction": a secret is drawn anew in each round, and guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from ...attacks.reconstruction.base import Reconstructor, Secret, SecretTarget
from ...attacks.reconstruction.catalogue import choose
from ...audit.bounds.base import Evidence
from ...audit.evidence.scores import BitScores, Successes
from ...audit.games.reconstruction import reconstruction_game
from ...mechanisms.base import Dataset, Mechanism
from ...mechanisms.errors import ParameterError
from ...mechanisms.records import n_records
from ..config.config_errors import pointing_at
from ..config.schema import Config
from ..config.sections import GameSection, NeighboursSection, Whole
from ..config.source import Source
from . import build
from .base import PlayedTask
from .secrets import SecretSection, build_secret


class ReconstructionSection(GameSection):
    """[game] name = "reconstruction"."""

    name: Literal["reconstruction"] = Field(description="'reconstruction'")
    n_rounds: Whole = Field(ge=1, description="a whole number >= 1: each a fresh secret, a fresh run and one guess")
    secret: SecretSection | None = Field(
        default=None, description="a table with values, candidates or bits; by default the category of a record"
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class ReconstructionTask(PlayedTask):
    """Rounds in which a secret is drawn, and guessed.

    Args:
        secret, n_rounds: as for `dpassay.audit.games.reconstruction_game`.
        attack_name, attack: the chosen one.
    """

    section: ClassVar[type[GameSection] | None] = ReconstructionSection
    makes: ClassVar[type[Evidence]] = Successes
    counted: ClassVar[str] = "n_rounds"

    secret: Secret
    name: str
    attack: Reconstructor
    n_rounds: int

    @classmethod
    def makes_here(cls, here: Config) -> type[Evidence]:
        """Bit scores of a secret of bits."""
        secret = getattr(here.game, "secret", None)
        return Successes if secret is None or secret.bits is None else BitScores

    @classmethod
    def plan(
        cls, here: Config, source: Source, mechanism: Mechanism, data: Dataset | None, shared: dict[str, Any]
    ) -> Self:
        """The secret, under a guarantee that holds for any two of its values, and an attack that can guess it."""
        game: Any = here.game
        with pointing_at(source, "neighbours", here.neighbours):
            record = _record(here.neighbours, data)
        with pointing_at(source, "game", game):
            secret = build_secret(game.secret, data, mechanism, record)
        with pointing_at(source, "game"):
            for pair in secret.neighbours(mechanism.relation):
                mechanism.fitted_to(pair)
        with pointing_at(source, "attack", here.attack):
            name, attack = choose(build.build_reconstructor(here.attack), SecretTarget(mechanism, secret))
        return cls(**shared, mechanism=mechanism, secret=secret, name=name, attack=attack, n_rounds=game.n_rounds)

    @property
    def attack_name(self) -> str:
        return self.name

    def play(self, **options: Any) -> Successes | BitScores:
        """Secrets, runs, guesses."""
        options |= {"attack": self.attack, "n_rounds": self.n_rounds, "seed": self.seed}
        found: Successes | BitScores = reconstruction_game(self.mechanism, self.secret, **options)
        return found


def _record(section: NeighboursSection, data: Dataset | None) -> int:
    """The place of the secret."""
    unread = [key for key in ("relation", "replacement", "canary", "d0", "d1") if getattr(section, key) is not None]
    if unread:
        raise ParameterError(
            f"the game 'reconstruction' reads of [neighbours] the record alone: leave {unread[0]} out.",
            argument=unread[0],
        )
    record, n = 0 if section.record == "worst-case" else section.record, n_records(data)
    if data is not None and n is not None and record >= n:
        raise ParameterError(
            f"record must be the place of one of the {n:,} records of [data], 0 to {n - 1}, but is {record}.",
            argument="record",
        )
    return record


__all__ = ["ReconstructionSection", "ReconstructionTask"]
