"""[game] secret: what is drawn in each round of a reconstruction."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ...attacks.reconstruction.base import FairBits, OneOf, Secret
from ...mechanisms.base import Dataset, Mechanism
from ...mechanisms.errors import ParameterError, plural
from ...mechanisms.local.base import LocalMechanism
from ...mechanisms.record_edits import is_pandas
from ...mechanisms.records import n_records
from ..config.sections import Number, Section, Values, Whole

KINDS = ("values", "candidates", "bits")


class SecretSection(Section):
    """[game] secret: one of three kinds; without it the category of a local mechanism."""

    values: Values | None = Field(
        default=None,
        description="a list of two or more: what may stand in the record, or, without [data], whole datasets",
    )
    candidates: Whole | None = Field(
        default=None, ge=2, description="a whole number >= 2: one of so many records of [data], from the first on"
    )
    bits: Annotated[Whole, Field(ge=1)] | str | None = Field(
        default=None, description="a whole number >= 1, a column of so many coins, or the name of a column of [data]"
    )
    prior: Annotated[tuple[Number, ...], Field(strict=False)] | None = Field(
        default=None, description="a list of probabilities, one a value or candidate; by default all equal"
    )
    tolerance: float | None = Field(
        default=None, ge=0, description="a number >= 0: how far a guessed value may lie from the true one"
    )
    reference: Any = Field(
        default=None, description="the dataset that each of the values, given without [data], is a neighbour of"
    )

    @property
    def kind(self) -> str:
        """The one of `KINDS` that is given; raises `ParameterError` where that is not one."""
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ParameterError(
                f"secret must have one of {', '.join(KINDS)}, but has {' and '.join(given) or 'none of them'}.",
                argument="secret",
            )
        return given[0]


def build_secret(section: SecretSection | None, data: Dataset | None, mechanism: Mechanism, record: int) -> Secret:
    """The secret that is asked for.

    Args:
        section: None for the category of a local mechanism.
        data: None where there is no [data].
        mechanism: says what its categories are.
        record: the place of the secret in the data.

    Raises:
        ParameterError: no such secret.
    """
    if section is None:
        return _category(data, mechanism, record)
    kind = section.kind
    _refuse_unread(section, kind)
    if kind == "bits":
        return _bits(section.bits, data)
    if kind == "candidates":
        return _one_record(section, data)
    return _one_value(section, data, record)


def _refuse_unread(section: SecretSection, kind: str) -> None:
    """Raises `ParameterError` for a key that says nothing about this kind of secret."""
    read = {"values": ("prior", "tolerance", "reference"), "candidates": ("prior",), "bits": ()}[kind]
    unread = [
        key for key in ("prior", "tolerance", "reference") if getattr(section, key) is not None and key not in read
    ]
    if unread:
        raise ParameterError(f"secret has {unread[0]}, which {kind} have no use for: leave it out.", argument="secret")


def _category(data: Dataset | None, mechanism: Mechanism, record: int) -> OneOf:
    """Of a local mechanism; without [data] there is one record."""
    if not isinstance(mechanism, LocalMechanism):
        raise ParameterError(
            f"secret must say what is guessed from what {type(mechanism).__name__} releases, such as "
            "secret = {values = [0, 1]}, secret = {candidates = 10} or secret = {bits = 100}. Without it the secret is "
            "the category of a local mechanism, such as k-ary-randomized-response.",
            argument="name",
        )
    dataset = np.zeros(1, dtype=np.int64) if data is None else data
    return OneOf.in_record(dataset, record, range(mechanism.n_categories))


def _bits(bits: int | str | None, data: Dataset | None) -> FairBits:
    """A column of coins: the whole dataset, or a column of a table."""
    if isinstance(bits, int):
        if data is not None:
            raise ParameterError(
                f"secret has bits = {bits}, a column of coins that is the whole dataset: leave [data] out. For coins "
                'in one column of a table: bits = "NAME OF THE COLUMN".',
                argument="secret",
            )
        return FairBits.column(bits)
    known = [str(column) for column in getattr(data, "columns", ())]
    if data is None or bits not in known:
        there = (
            "there is no [data]" if data is None else f"that has {', '.join(known)}" if known else "that is no table"
        )
        keep = " (leave `column` out of [data], which keeps one column alone, or give `columns`)"
        raise ParameterError(
            f"secret has bits = {bits!r}, which must be a column of the table in [data], but {there}"
            f"{'' if known or data is None else keep}. For a column of 100 coins and nothing else: leave [data] out, "
            "and give bits = 100.",
            argument="secret",
        )
    table: Any = data
    return FairBits(table.assign(**{str(bits): 0}), table.assign(**{str(bits): 1}))


def _one_value(section: SecretSection, data: Dataset | None, record: int) -> OneOf:
    """One of the values, in a record of the data, or as the whole dataset."""
    values: Any = section.values
    twice = next((value for place, value in enumerate(values) if value in values[:place]), None)
    if twice is not None:
        raise ParameterError(
            f"secret has {twice!r} twice among its values, which nobody could tell apart: give each once.",
            argument="secret",
        )
    close = None if section.tolerance is None else _within(values, section.tolerance)
    if data is None:
        reference = None if section.reference is None else np.asarray(section.reference)
        return OneOf(tuple(np.asarray(value) for value in values), section.prior, close, reference=reference)
    if section.reference is not None:
        raise ParameterError("secret has reference, which is for values without [data].", argument="secret")
    records = [tuple(value) for value in values] if isinstance(data, tuple) else list(values)
    return OneOf.in_record(data, record, records, prior=section.prior, close=close)


def _within(values: Any, tolerance: float) -> Any:
    """Which values lie within the tolerance of which, in the largest of their coordinates."""
    try:
        numbers = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "secret has tolerance, which is for values that are numbers.", argument="secret"
        ) from error
    return np.abs(numbers[:, None] - numbers[None, :]).max(axis=2) <= tolerance


def _one_record(section: SecretSection, data: Dataset | None) -> OneOf:
    """One of the first records, next to all that come after them."""
    k, n = int(section.candidates or 0), n_records(data) or 0
    if n < k:
        there = "there is no [data]" if data is None else f"[data] has {n}"
        raise ParameterError(
            f"secret needs {plural(k, 'record')} of [data] as candidates, but {there}.", argument="secret"
        )
    rows = [[place, *range(k, n)] for place in range(k)]
    whole: Any = data if isinstance(data, tuple) else (data,)
    found = [tuple(_of(part, kept) for part in whole) for kept in rows]
    candidates = tuple(found) if isinstance(data, tuple) else tuple(one for (one,) in found)
    return OneOf(candidates, section.prior, record=0)


def _of(part: Any, rows: list[int]) -> Any:
    """These rows of a column."""
    if is_pandas(part):
        return part.iloc[rows]
    return part[rows] if isinstance(part, np.ndarray) else [part[row] for row in rows]


__all__ = ["SecretSection", "build_secret"]
