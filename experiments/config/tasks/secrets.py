"""[game] secret: the secret that each round of a reconstruction draws."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ....attacks.reconstruction.base import FairBits, OneOf, Secret
from ....mechanisms.core.base import Dataset, Mechanism
from ....mechanisms.core.errors import ParameterError, plural
from ....mechanisms.core.record_edits import is_pandas
from ....mechanisms.core.records import n_records
from ....mechanisms.local.base import LocalMechanism
from ..sections import Number, Section, Values, Whole

KINDS = ("values", "candidates", "bits")


class SecretSection(Section):
    """[game] secret: one of three kinds; the default is the category of a local mechanism."""

    values: Values | None = Field(
        default=None,
        description="a list of two or more possible values of the record, or, without [data], whole datasets",
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
        """Kind of the secret; raises `ParameterError` unless exactly one of `KINDS` is set."""
        kinds = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ParameterError(
                f"secret must have one of {', '.join(KINDS)}, but has {' and '.join(kinds) or 'none of them'}.",
                argument="secret",
            )
        return kinds[0]


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
    kind = section.kind
    _refuse_unused(section, kind)
    if kind == "bits":
        return _bits(section.bits, data)
    if kind == "candidates":
        return _one_record(section, data)
    return _one_value(section, data, record)


def _refuse_unused(section: SecretSection, kind: str) -> None:
    """Raise `ParameterError` for a key that this kind of secret does not use."""
    used = {"values": ("prior", "tolerance", "reference"), "candidates": ("prior",), "bits": ()}[kind]
    unused = [
        key for key in ("prior", "tolerance", "reference") if getattr(section, key) is not None and key not in used
    ]
    if unused:
        raise ParameterError(f"secret has {unused[0]}, which {kind} do not use: leave it out.", argument="secret")


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


def _bits(bits: int | str | None, data: Dataset | None) -> FairBits:
    """Return a column of fair coins: the whole dataset, or a column of a table."""
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
        reference = None if section.reference is None else np.asarray(section.reference)
        return OneOf(tuple(np.asarray(value) for value in values), section.prior, close, reference=reference)
    if section.reference is not None:
        raise ParameterError("secret has reference, which is for values without [data].", argument="secret")
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


def _one_record(section: SecretSection, data: Dataset | None) -> OneOf:
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


__all__ = ["SecretSection", "build_secret"]
