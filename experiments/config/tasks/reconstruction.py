"""[game] name = "reconstruction": each round draws a new secret, and guesses it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....attacks.reconstruction.base import FairBits, OneOf, Reconstructor, Secret, SecretTarget
from ....attacks.reconstruction.catalogue import catalogue as reconstructors, choose
from ....audit.bounds.base import Evidence
from ....audit.evidence.scores import BitScores, Successes
from ....audit.games.reconstruction import reconstruction_game
from ....audit.trials.options import RunOptions
from ....mechanisms.core import Dataset, Mechanism, ParameterError, is_pandas, n_records, plural, rectangular
from ....mechanisms.local.base import LocalMechanism
from ...tasks.base import HERE
from ..schema import Config
from ..sections import NeighboursSection, SecretSection
from . import build
from .base import PlayedTask
from .point import Point


@dataclass(frozen=True, eq=False, kw_only=True)
class ReconstructionTask(PlayedTask):
    """Audit by rounds in which a secret is drawn, and guessed.

    Args:
        secret, n_rounds: as for `dpassay.audit.games.reconstruction_game`.
        attack_name, attack: name and object of the attack.
    """

    makes: ClassVar[type[Evidence]] = Successes

    secret: Secret
    name: str
    attack: Reconstructor
    n_rounds: int

    @classmethod
    def evidence_type(cls, config: Config) -> type[Evidence]:
        """Return `BitScores` for a secret of bits, else `Successes`."""
        secret = getattr(config.game, "secret", None)
        return Successes if secret is None or secret.bits is None else BitScores

    @classmethod
    def parts(cls, point: Point) -> dict[str, Any]:
        """Build the secret, check that the guarantee holds for all pairs of its values, and build the attack."""
        data, mechanism = point.data, point.mechanism
        with point.section("neighbours") as section:
            record = _record(section, data)
        with point.section("game") as game:
            secret = build_secret(game.secret, data, mechanism, record)
            for pair in secret.neighbours(mechanism.relation):
                mechanism.bind(pair)
        with point.section("attack") as section:
            name, attack = choose(build.build_attack(section, reconstructors), SecretTarget(mechanism, secret))
        return {"secret": secret, "name": name, "attack": attack, "n_rounds": game.n_rounds}

    @property
    def attack_name(self) -> str:
        return self.name

    def estimate(self) -> int:
        """Return the number of rounds."""
        return self.n_rounds

    def run(self, options: RunOptions = HERE) -> Any:
        """Draw secrets, run the mechanism, and return the evidence from the guesses."""
        rounds: dict[str, Any] = {"attack": self.attack, "n_rounds": self.n_rounds, "seed": self.seed}
        return reconstruction_game(self.mechanism, self.secret, **rounds, **vars(options))


def _record(section: NeighboursSection, data: Dataset | None) -> int:
    """Return the index of the record with the secret."""
    record, n = 0 if section.record == "worst-case" else section.record, n_records(data)
    if data is not None and n is not None and record >= n:
        raise ParameterError(
            f"record must be the position of one of the {n:,} records of [data], 0 to {n - 1}, but is {record}.",
            argument="record",
        )
    return record


def build_secret(section: SecretSection | None, data: Dataset | None, mechanism: Mechanism, record: int) -> Secret:
    """Build the secret of a configuration.

    Args:
        section: None for the category of a local mechanism.
        data: None without [data].
        mechanism: defines the categories of a local mechanism.
        record: index of the record with the secret.

    Raises:
        ParameterError: the secret is not valid.
    """
    if section is None:
        return _category(data, mechanism, record)
    build, used = _BUILDERS[section.kind]
    for key in ("prior", "tolerance", "reference"):
        if getattr(section, key) is not None and key not in used:
            raise ParameterError(f"secret has {key}, which {section.kind} do not use: leave it out.", argument="secret")
    return build(section, data, record)


def _category(data: Dataset | None, mechanism: Mechanism, record: int) -> OneOf:
    """Return the category of a local mechanism as the secret; without [data] there is one record."""
    if not isinstance(mechanism, LocalMechanism):
        raise ParameterError(
            f"secret must be set for {type(mechanism).__name__}, such as "
            "secret = {values = [0, 1]}, secret = {candidates = 10} or secret = {bits = 100}. Without it the secret is "
            "the category of a local mechanism, such as k-ary-randomized-response.",
            argument="name",
        )
    dataset = np.zeros(1, dtype=np.int64) if data is None else data
    return OneOf.in_record(dataset, record, range(mechanism.n_categories))


def _bits(section: SecretSection, data: Dataset | None, record: int) -> FairBits:
    """Return a column of fair coins: the whole dataset, or a column of a table."""
    bits = section.bits
    if isinstance(bits, int):
        if data is not None:
            raise ParameterError(
                f"secret has bits = {bits}, a column of coins that is the whole dataset: leave [data] out. For coins "
                'in one column of a table: bits = "COLUMN NAME".',
                argument="secret",
            )
        return FairBits.column(bits)
    known = [str(column) for column in getattr(data, "columns", ())]
    if data is None or bits not in known:
        reason = (
            "there is no [data]" if data is None else f"that has {', '.join(known)}" if known else "that is not a table"
        )
        keep = " (leave `column` out of [data], which selects a single column, or set `columns`)"
        raise ParameterError(
            f"secret has bits = {bits!r}, which must be a column of the table in [data], but {reason}"
            f"{'' if known or data is None else keep}. For a dataset of 100 coins: leave [data] out, "
            "and set bits = 100.",
            argument="secret",
        )
    table: Any = data
    return FairBits(table.assign(**{str(bits): 0}), table.assign(**{str(bits): 1}))


def _one_value(section: SecretSection, data: Dataset | None, record: int) -> OneOf:
    """Return one of the values as the secret, in a record of the data, or as the whole dataset."""
    values: Any = section.values
    duplicate = next((value for place, value in enumerate(values) if value in values[:place]), None)
    if duplicate is not None:
        raise ParameterError(
            f"secret has {duplicate!r} twice among its values, which must be distinct: list each once.",
            argument="secret",
        )
    close = None if section.tolerance is None else _within(values, section.tolerance)
    if data is None:
        reference = None if section.reference is None else rectangular(secret=section.reference)
        return OneOf(tuple(rectangular(secret=value) for value in values), section.prior, close, reference=reference)
    if section.reference is not None:
        raise ParameterError("secret has reference, which is for values without [data].", argument="secret")
    if isinstance(data, tuple) and not all(isinstance(value, list) and len(value) == len(data) for value in values):
        raise ParameterError(
            f"secret has values that are not pairs of features and a label, as [data] with target has: {values!r}.",
            argument="secret",
        )
    records = [tuple(value) for value in values] if isinstance(data, tuple) else list(values)
    return OneOf.in_record(data, record, records, prior=section.prior, close=close)


def _within(values: Any, tolerance: float) -> Any:
    """Return the matrix of pairs of values within the tolerance, in the largest of their coordinates."""
    try:
        numbers = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "secret has tolerance, which is for values that are numbers.", argument="secret"
        ) from error
    return np.abs(numbers[:, None] - numbers[None, :]).max(axis=2) <= tolerance


def _one_record(section: SecretSection, data: Dataset | None, record: int) -> OneOf:
    """Return one of the first records as the secret, together with all records after them."""
    k, n = int(section.candidates or 0), n_records(data) or 0
    if n < k:
        reason = "there is no [data]" if data is None else f"[data] has {n}"
        raise ParameterError(
            f"secret needs {plural(k, 'record')} of [data] as candidates, but {reason}.", argument="secret"
        )
    rows = [[place, *range(k, n)] for place in range(k)]
    whole: Any = data if isinstance(data, tuple) else (data,)
    datasets = [tuple(_take(part, indices) for part in whole) for indices in rows]
    candidates = tuple(datasets) if isinstance(data, tuple) else tuple(dataset for (dataset,) in datasets)
    return OneOf(candidates, section.prior, record=0)


def _take(part: Any, rows: list[int]) -> Any:
    """Return these rows of a column."""
    if is_pandas(part):
        return part.iloc[rows]
    return part[rows] if isinstance(part, np.ndarray) else [part[row] for row in rows]


_BUILDERS: dict[str, tuple[Callable[[SecretSection, Dataset | None, int], Secret], tuple[str, ...]]] = {
    "values": (_one_value, ("prior", "tolerance", "reference")),
    "candidates": (_one_record, ("prior",)),
    "bits": (_bits, ()),
}
"""Kind of a secret -> function that builds it, and the other keys that it uses."""

__all__ = ["ReconstructionTask", "build_secret"]
