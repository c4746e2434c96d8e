"""One independent random stream for every chunk of trials, derived from the root seed alone.

Streams are keyed by (stage, side, chunk index) through `numpy.random.SeedSequence`, so pilot and evaluation
trials, and the two sides, never share randomness, and the numbers do not depend on workers or on the order of work.
"""

from __future__ import annotations

import secrets
from enum import IntEnum

import numpy as np

from ...mechanisms.core import ParameterError


class Stage(IntEnum):
    """The purpose of a random stream."""

    PROBE = 0
    PILOT = 1
    EVALUATION = 2
    FIT = 3
    SEARCH = 4
    CONFIRMATION = 5
    COINS = 6
    TRAINING = 7
    BUILD = 8
    NO_ANSWER = 9

    @property
    def label(self) -> str:
        """Name in the store and in messages."""
        return self.name.lower()


def root_seed(seed: int | None) -> int:
    """Return `seed`, or fresh entropy from the operating system if it is None, to be recorded in the result."""
    if seed is None:
        return secrets.randbits(62)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ParameterError(argument="seed", value=seed, allowed="be a whole number >= 0, or None for a fresh one")
    return int(seed)


def stream(seed: int, stage: Stage, side: int = 0, index: int = 0) -> np.random.Generator:
    """Return the generator of one chunk."""
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(stage, side, index)))


def child_seed(seed: int, stage: Stage, index: int = 0) -> int:
    """Return the root seed of an audit inside a larger one, independent of those of other stages and indices.

    >>> child_seed(0, Stage.SEARCH, 1) == child_seed(0, Stage.SEARCH, 1) != child_seed(0, Stage.CONFIRMATION)
    True
    """
    entropy = np.random.SeedSequence(entropy=seed, spawn_key=(stage, 0, index)).generate_state(1, np.uint64)
    return int(entropy[0]) >> 2
