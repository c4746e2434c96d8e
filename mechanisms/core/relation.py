"""Neighbouring relations."""

from __future__ import annotations

from enum import StrEnum

from .validation import one_of


class Relation(StrEnum):
    """Neighbouring relation: the way in which two neighbouring datasets differ."""

    ADD_REMOVE = "add_remove"
    """One has one record more than the other."""
    REPLACE_ONE = "replace_one"
    """Both have the same number of records; one record differs."""
    ZERO_OUT = "zero_out"
    """Like `replace_one`, but the record in `d0` is blank (all zeros)."""

    @classmethod
    def of(cls, value: str | Relation) -> Relation:
        """Return the relation named `value`; raises `ParameterError` with the nearest names."""
        one_of([r.value for r in cls], relation=str(value))
        return cls(value)
