"""Synthetic short mails: public phrases, and in some of them a code that belongs to one person."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import unit_interval, whole

NAMES = (
    "Ada",
    "Ben",
    "Cleo",
    "Dan",
    "Eve",
    "Finn",
    "Gus",
    "Hana",
    "Ida",
    "Jon",
    "Kim",
    "Leo",
    "Mia",
    "Ned",
    "Oda",
    "Pia",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
PHRASES = (
    "shall we meet on {day} at {hour}?",
    "the report is due on {day}, please send me your part.",
    "thank you for the notes of {day}.",
    "I will be away on {day}, {name} knows what to do.",
    "can you call {name} before {hour} on {day}?",
    "the train leaves at {hour}, see you there.",
    "lunch on {day} with {name}?",
    "the room for {day} is booked from {hour} on.",
    "sorry, I am late: traffic. Start without me.",
    "{name} has the keys, ask before {hour}.",
)
CODE = "the code of my door is {code}."
"""Phrase with the six digits of one person."""


def mails(*, n: int = 500, with_code: float = 0.0, seed: int = 0) -> NDArray[np.str_]:
    """Generate `n` short mails, one per person, each ending in a line break.

    A share `with_code` of the mails contains a random code of six digits.
    """
    whole(1, n=n)
    whole(0, seed=seed)
    unit_interval(with_code=with_code)
    rng = np.random.default_rng(seed)
    has_code = rng.random(n) < with_code
    return np.array([_mail(rng, bool(flag)) for flag in has_code])


def _mail(rng: np.random.Generator, with_code: bool) -> str:
    """Generate one mail: greeting, one or two phrases, name."""
    to, other, sender = (NAMES[i] for i in rng.permutation(len(NAMES))[:3])
    chosen = [PHRASES[i] for i in rng.permutation(len(PHRASES))[: 1 + int(rng.integers(2))]]
    if with_code:
        chosen.append(CODE)
    filled = " ".join(chosen).format(
        day=DAYS[int(rng.integers(len(DAYS)))], hour=int(rng.integers(8, 19)), name=other, code=code(rng)
    )
    return f"Hi {to}, {filled} {sender}\n"


def code(rng: np.random.Generator) -> str:
    """Generate a code of six digits."""
    return f"{int(rng.integers(10**6)):06d}"
