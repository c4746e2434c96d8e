"""Intentionally broken unlearning: noise for one forgotten record while several are forgotten."""

from __future__ import annotations

from dataclasses import dataclass

from ...accounting.broken import Broken
from ...core import example
from .certified import CertifiedUnlearning


@dataclass(frozen=True)
class NoiseForOneRecord(Broken, CertifiedUnlearning):
    """Broken: the noise covers the distance of one forgotten record, however many are forgotten.

    Example:
        >>> right, broken = (kind(n_records=1000, n_forget=10) for kind in (CertifiedUnlearning, NoiseForOneRecord))
        >>> round(right.standard_deviation / broken.standard_deviation, 4)
        100.0
    """

    _example = example(n_records=40, n_forget=10, regularisation=1.0)

    cause = "The noise is computed for one record and used for a request that deletes several."
    source = "Constructed."
    correct_class = CertifiedUnlearning

    def _distance(self, n_forget: int) -> float:
        return super()._distance(1)
