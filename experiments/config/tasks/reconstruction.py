"""[game] name = "reconstruction": each round draws a new secret, and guesses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from ....attacks.reconstruction.base import Reconstructor, Secret, SecretTarget
from ....attacks.reconstruction.catalogue import choose
from ....audit.bounds.base import Evidence
from ....audit.evidence.scores import BitScores, Successes
from ....audit.games.reconstruction import reconstruction_game
from ....mechanisms.core.base import Dataset, Mechanism
from ....mechanisms.core.errors import ParameterError
from ....mechanisms.core.records import n_records
from ..config_errors import pointing_at
from ..schema import Config
from ..sections import GameSection, NeighboursSection, Whole
from ..source import Source
from . import build
from .base import PlayedTask
from .secrets import SecretSection, build_secret


class ReconstructionSection(GameSection):
    """[game] name = "reconstruction"."""

    name: Literal["reconstruction"] = Field(description="'reconstruction'")
    n_rounds: Whole = Field(
        ge=1, description="a whole number >= 1: each round draws a secret, runs once and guesses once"
    )
    secret: SecretSection | None = Field(
        default=None, description="a table with values, candidates or bits; by default the category of a record"
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class ReconstructionTask(PlayedTask):
    """Audit by rounds in which a secret is drawn, and guessed.

    Args:
        secret, n_rounds: as for `dpassay.audit.games.reconstruction_game`.
        attack_name, attack: name and object of the attack.
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
        """Return `BitScores` for a secret of bits, else `Successes`."""
        secret = getattr(here.game, "secret", None)
        return Successes if secret is None or secret.bits is None else BitScores

    @classmethod
    def plan(
        cls, here: Config, source: Source, mechanism: Mechanism, data: Dataset | None, shared: dict[str, Any]
    ) -> Self:
        """Build the secret, check that the guarantee holds for all pairs of its values, and build the attack."""
        game: Any = here.game
        with pointing_at(source, "neighbours", here.neighbours):
            record = _record(here.neighbours, data)
        with pointing_at(source, "game", game):
            secret = build_secret(game.secret, data, mechanism, record)
        with pointing_at(source, "game"):
            for pair in secret.neighbours(mechanism.relation):
                mechanism.bind(pair)
        with pointing_at(source, "attack", here.attack):
            name, attack = choose(build.build_reconstructor(here.attack), SecretTarget(mechanism, secret))
        return cls(**shared, mechanism=mechanism, secret=secret, name=name, attack=attack, n_rounds=game.n_rounds)

    @property
    def attack_name(self) -> str:
        return self.name

    def play(self, **options: Any) -> Successes | BitScores:
        """Draw secrets, run the mechanism, and return the evidence from the guesses."""
        options |= {"attack": self.attack, "n_rounds": self.n_rounds, "seed": self.seed}
        evidence: Successes | BitScores = reconstruction_game(self.mechanism, self.secret, **options)
        return evidence


def _record(section: NeighboursSection, data: Dataset | None) -> int:
    """Return the index of the record with the secret."""
    unused = [key for key in ("relation", "replacement", "canary", "d0", "d1") if getattr(section, key) is not None]
    if unused:
        raise ParameterError(
            f"the game 'reconstruction' uses only the record of [neighbours]: leave {unused[0]} out.",
            argument=unused[0],
        )
    record, n = 0 if section.record == "worst-case" else section.record, n_records(data)
    if data is not None and n is not None and record >= n:
        raise ParameterError(
            f"record must be the position of one of the {n:,} records of [data], 0 to {n - 1}, but is {record}.",
            argument="record",
        )
    return record


__all__ = ["ReconstructionSection", "ReconstructionTask"]
