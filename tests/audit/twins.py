"""Pairs of functions: one that is broken, and its twin, which differs by a word or two and keeps its promise of 1-DP.

The pair of datasets has 2 records and 3. Each twin is exactly 1-DP, most of them tightly: the true answer to "are there
3?" with probability e / (1 + e), or a count with two-sided geometric noise, and whatever is made of these. Each broken
one leaks through what is strange about it. To add a pair, write a maker that takes `broken` and gives a function.
"""

from __future__ import annotations

import math
import os
import random
import secrets
import sys
import warnings

import numpy as np

from dpassay.mechanisms import Neighbours

PAIR = Neighbours([1.0, 3.0], [1.0, 3.0, 1.0], "add_remove")
HONEST, LEAKING = math.e / (1 + math.e), 0.97
"""How often an answer is true."""


def tells(broken):
    """How often the answer is true."""
    return LEAKING if broken else HONEST


def respond(dataset, u, truth):
    """Randomised response to "are there 3 records?", by a uniform number."""
    return (len(dataset) == 3) == (u < truth)


def count(dataset, rng, broken):
    """The number of records with two-sided geometric noise of epsilon 1, or 4; within 0 and 6."""
    p = 1 - math.exp(-4.0 if broken else -1.0)
    return int(np.clip(len(dataset) + rng.geometric(p) - rng.geometric(p), 0, 6))


# --- strange outputs --------------------------------------------------------------------------------------------------


def nested_dict(broken):
    """The leak is deep inside."""
    return lambda dataset, rng: {"b": {"z": [1, (2, {"q": count(dataset, rng, broken)})]}, "a": "done"}


def optional_key(broken):
    def release(dataset, rng):
        row = {"count": count(dataset, rng, broken=False) if broken else 4}
        shows = respond(dataset, rng.random(), 0.9) if broken else respond(dataset, rng.random(), HONEST)
        return row | ({"debug": 1} if shows else {})

    return release


def text(broken):
    return lambda dataset, rng: f"there are {count(dataset, rng, broken)} (±\udc80)"


def text_of_a_kind(broken):
    """The case of one letter."""
    return lambda dataset, rng: ["ok", "oK"][respond(dataset, rng.random(), tells(broken))]


def bits_in_bytes(broken):
    return lambda dataset, rng: b"\x00\xff" + bytes([respond(dataset, rng.random(), tells(broken))])


def places_of_nan(broken):
    def release(dataset, rng):
        row = np.ones(4)
        row[1 if respond(dataset, rng.random(), tells(broken)) else 2] = np.nan
        return row

    return release


def negative_zero(broken):
    """The sign of a zero."""
    return lambda dataset, rng: -0.0 if respond(dataset, rng.random(), tells(broken)) else 0.0


def negative_zero_in_a_row(broken):
    return lambda dataset, size, rng: np.stack(
        [np.copysign(0.0, 0.5 - ((len(dataset) == 3) == (rng.random(size) < tells(broken)))), np.ones(size)], axis=-1
    )


def huge_integer(broken):
    return lambda dataset, rng: 2**70 + count(dataset, rng, broken)


def ragged_lists(broken):
    return lambda dataset, rng: [[7], [7] * (1 + count(dataset, rng, broken)), []]


def none_or_number(broken):
    return lambda dataset, rng: None if respond(dataset, rng.random(), tells(broken)) else 5


def infinite(broken):
    """What overflows."""
    return lambda dataset, rng: float("inf") if respond(dataset, rng.random(), tells(broken)) else float("-inf")


def masked_array(broken):
    def release(dataset, rng):
        hidden = respond(dataset, rng.random(), tells(broken))
        return np.ma.masked_array([1.0, 2.0], mask=[hidden, not hidden])

    return release


def data_frame(broken):
    import pandas as pd  # here: fresh interpreters of the other functions need not import it

    return lambda dataset, rng: pd.DataFrame({"n": [count(dataset, rng, broken), 0], "one": [1.5, 1.5]})


def reused_buffer(broken):
    """The array keeps what an earlier step has left in it."""
    array = np.zeros(2)

    def release(dataset, rng):
        array[1] = count(dataset, rng, broken=True)
        array[0] = count(dataset, rng, broken=False)
        if not broken:
            array[1] = 0
        return array

    return release


# --- strange randomness -----------------------------------------------------------------------------------------------


def global_numpy(broken):
    """One sets the seed by the data."""

    def release(dataset, rng):
        if broken:
            np.random.seed(len(dataset))  # noqa: NPY002
        return float(respond(dataset, np.random.random(), HONEST))  # noqa: NPY002

    return release


def global_python(broken):
    return lambda dataset, rng: respond(dataset, random.random(), tells(broken))


def entropy(broken):
    return lambda dataset, rng: respond(dataset, int.from_bytes(os.urandom(6)) / 2**48, tells(broken))


def secret_choice(broken):
    lies = [secrets.SystemRandom().random() for _ in range(3)]
    assert len(lies) == 3
    return lambda dataset: respond(dataset, secrets.randbelow(10**9) / 10**9, tells(broken))


def generator_in_a_closure(broken):
    mine = np.random.default_rng(1)
    return lambda dataset, rng: count(dataset, mine, broken)


def generator_in_a_default(broken):
    mine = random.Random(2)

    def release(dataset, rng, own=mine):
        return int(respond(dataset, own.random(), tells(broken)))

    return release


class Forgetful:
    """One forgets its noise in every fifth run."""

    def __init__(self, broken):
        self.broken, self.noise = broken, np.random.default_rng(3)

    def __call__(self, dataset, rng):
        if self.broken and self.noise.random() < 0.5:
            return 10 + len(dataset)
        return count(dataset, self.noise, broken=False)


# --- strange exceptions -----------------------------------------------------------------------------------------------


def raising_on_one_side(broken):
    def release(dataset, rng):
        if rng.random() < 0.5 and (len(dataset) == 3 or not broken):
            raise ZeroDivisionError
        return count(dataset, rng, broken=False)

    return release


def leaving(error):
    """Makers of functions that leave by `error` where the answer is yes."""

    def make(broken):
        def release(dataset, rng):
            if respond(dataset, rng.random(), tells(broken)):
                raise error
            return 0.0

        return release

    make.__name__ = f"leaving_by_{type(error).__name__}"
    return make


def message_with_data(broken):
    def release(dataset, rng):
        result = count(dataset, rng, broken)
        if result > 2:
            raise ValueError(f"too many: {result}")
        return result

    return release


def warning_as_error(broken):
    def release(dataset, rng):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return float(np.log(np.float64(count(dataset, rng, broken) - 2.5)))

    return release


def exit_code_or_number(broken):
    def release(dataset, rng):
        result = count(dataset, rng, broken)
        return result if result < 3 else sys.exit(result)

    return release


TWINS = (
    nested_dict,
    optional_key,
    text,
    text_of_a_kind,
    bits_in_bytes,
    places_of_nan,
    negative_zero,
    negative_zero_in_a_row,
    huge_integer,
    ragged_lists,
    none_or_number,
    infinite,
    masked_array,
    data_frame,
    reused_buffer,
    global_numpy,
    global_python,
    entropy,
    secret_choice,
    generator_in_a_closure,
    generator_in_a_default,
    Forgetful,
    raising_on_one_side,
    leaving(SystemExit(0)),
    leaving(KeyboardInterrupt()),
    message_with_data,
    warning_as_error,
    exit_code_or_number,
)
