"""A number that a page states, and how it is measured again."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpassay.mechanisms.core import DataError

DOCS = Path(__file__).parents[1]
README = DOCS.parent / "README.md"


@dataclass(frozen=True)
class Number:
    """What a page says.

    Args:
        name: for the command line.
        page: where.
        sentence: the words, with the numbers in braces: "{0.842} of 1".
        measure: gives as many numbers, in that order.
        within: by how much each may be off.
        seconds: about how long it takes.
    """

    name: str
    page: Path
    sentence: str
    measure: Callable[[], Sequence[float]]
    within: float
    seconds: int = 1

    @property
    def said(self) -> list[float]:
        return [float(text.replace(",", "")) for text in re.findall(r"{([^}]*)}", self.sentence)]

    @property
    def is_on_its_page(self) -> bool:
        words = re.sub(r"[{}]", "", self.sentence)
        return " ".join(words.split()) in " ".join(self.page.read_text().split())


def check(number: Number) -> bool:
    """Whether the page says what is measured; prints both. Without a dataset that it needs, it says so."""
    try:
        found = [float(value) for value in number.measure()]
    except DataError as error:
        sys.stdout.write(f"left out  {number.page.name}: {number.sentence}  {error}\n")
        return number.is_on_its_page
    close = np.allclose(found, number.said, rtol=0.0, atol=number.within)
    right = number.is_on_its_page and bool(close)
    measured = ", ".join(f"{value:.4g}" for value in found)
    sys.stdout.write(f"{'ok ' if right else 'OFF'}  {number.page.name}: {number.sentence}  measured: {measured}\n")
    return right
