"""Correct k-ary randomised response whose entropy no audit sees, or that remembers it, at any epsilon.

Each maker takes epsilon and gives a function that is exactly epsilon-DP in a process of its own: the answer to "are
there 3 records?" is true with probability e^epsilon / (1 + e^epsilon). Most of them draw it from elsewhere than the
rng; some draw it once, and give the same answer to the same question ever after.
"""

from __future__ import annotations

import array
import builtins
import contextvars
import ctypes
import functools
import itertools
import json
import math
import os
import random
import secrets
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np

from dpassay.mechanisms import Neighbours

PAIR = Neighbours([1.0, 3.0], [1.0, 3.0, 1.0], "add_remove")
SYSTEM = random.SystemRandom()
STARTED = time.time_ns()


def answer(dataset, u, epsilon):
    """The answer, by a uniform number."""
    return float((u < 1.0 / (1.0 + math.exp(-epsilon))) == (len(dataset) > 2))


# --- drawn anew in every run ------------------------------------------------------------------------------------------

libc = ctypes.CDLL(None)


def from_libc(epsilon):
    """The system call of a compiled library."""

    def release(dataset, rng):
        buffer = ctypes.create_string_buffer(8)
        libc.getrandom(buffer, 8, 0)
        return answer(dataset, int.from_bytes(buffer.raw, "little") / 2**64, epsilon)

    return release


def from_rand_of_libc(epsilon):
    return lambda dataset, rng: answer(dataset, libc.rand() / (2**31), epsilon)


def from_the_system(epsilon):
    return lambda dataset, rng: answer(dataset, SYSTEM.random(), epsilon)


def from_secrets(epsilon):
    return lambda dataset: answer(dataset, secrets.randbits(53) / 2**53, epsilon)


def from_uuids(epsilon):
    return lambda dataset, rng: answer(dataset, (uuid.uuid4().int & (2**60 - 1)) / 2**60, epsilon)


def from_a_device(epsilon):
    def release(dataset, rng):
        with Path("/dev/urandom").open("rb") as file:
            return answer(dataset, int.from_bytes(file.read(7)) / 2**56, epsilon)

    return release


def from_a_closure(epsilon):
    mine = random.Random(5)
    return lambda dataset, rng: answer(dataset, mine.random(), epsilon)


def from_a_method_in_a_closure(epsilon):
    draw = np.random.default_rng(5).random
    return lambda dataset, rng: answer(dataset, draw(), epsilon)


class Attribute:
    def __init__(self, epsilon):
        self.epsilon, self.mine = epsilon, np.random.default_rng(6)

    def __call__(self, dataset, rng):
        return answer(dataset, self.mine.random(), self.epsilon)


OWN = np.random.RandomState(7)


def from_a_global(epsilon):
    return lambda dataset, rng: answer(dataset, OWN.random_sample(), epsilon)


def from_a_default(epsilon):
    def release(dataset, rng, mine=random.Random(8)):  # noqa: B008 - one for all
        return answer(dataset, mine.random(), epsilon)

    return release


def from_a_partial(epsilon):
    def release(dataset, rng, *, mine):
        return answer(dataset, mine.random(), epsilon)

    return functools.partial(release, mine=np.random.default_rng(9))


def from_a_python_generator(epsilon):
    def drawing():
        while True:
            yield SYSTEM.random()

    drawn = drawing()
    return lambda dataset, rng: answer(dataset, next(drawn), epsilon)


def from_a_thread(epsilon):
    def release(dataset, rng):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: answer(dataset, SYSTEM.random(), epsilon)).result()

    return release


def counting(epsilon):
    calls = [0]

    def release(dataset, rng):
        calls[0] += 1
        return answer(dataset, rng.random(), epsilon)

    return release


def counting_in_an_attribute(epsilon):
    def release(dataset, rng):
        release.calls += 1
        return answer(dataset, rng.random(), epsilon)

    release.calls = 0
    return release


def logging(epsilon):
    log = []

    def release(dataset, rng):
        log.append(answer(dataset, rng.random(), epsilon))
        return log[-1]

    return release


class Logging:
    def __init__(self, epsilon):
        self.epsilon, self.log, self.last = epsilon, {"n": 0, "answers": []}, None

    def __call__(self, dataset, rng):
        self.last = answer(dataset, SYSTEM.random(), self.epsilon)
        self.log["n"] += 1
        self.log["answers"].append(self.last)
        return self.last


def locked(release):
    """Return `release` behind a lock, which cannot be pickled, so that no fresh interpreter can run it."""
    lock = threading.Lock()

    def run(dataset, rng):
        with lock:
            return release(dataset, rng)

    return run


def counting_behind_a_lock(epsilon):
    return locked(counting(epsilon))


COUNTING = (counting, counting_behind_a_lock, counting_in_an_attribute, logging, Logging)
DRAWN_ANEW = (
    from_libc,
    from_rand_of_libc,
    from_the_system,
    from_secrets,
    from_uuids,
    from_a_device,
    from_a_closure,
    from_a_method_in_a_closure,
    Attribute,
    from_a_global,
    from_a_default,
    from_a_partial,
    from_a_python_generator,
    from_a_thread,
    *COUNTING,
)

# --- drawn once -------------------------------------------------------------------------------------------------------


def at_construction(epsilon):
    u = SYSTEM.random()
    return lambda dataset, rng: answer(dataset, u, epsilon)


class AtConstruction:
    def __init__(self, epsilon):
        self.answers = {n: answer([0] * n, SYSTEM.random(), epsilon) for n in (2, 3)}

    def __call__(self, dataset, rng):
        return self.answers[len(dataset)]


class CoinAtConstruction:
    def __init__(self, epsilon):
        self.lies = SYSTEM.random() > 1.0 / (1.0 + math.exp(-epsilon))

    def __call__(self, dataset):
        return int((len(dataset) > 2) != self.lies)


def in_a_default(epsilon):
    return lambda dataset, rng, u=SYSTEM.random(): answer(dataset, u, epsilon)  # noqa: B008 - drawn once


def in_a_partial(epsilon):
    return functools.partial(lambda dataset, rng, u: answer(dataset, u, epsilon), u=SYSTEM.random())


def memoised(epsilon):
    kept = {}
    return lambda dataset, rng: kept.setdefault(len(dataset), answer(dataset, rng.random(), epsilon))


def memoised_before(epsilon):
    release = memoised(epsilon)
    for side in (0, 1):
        release(PAIR.side(side), SYSTEM)
    return release


def cached(epsilon):
    @functools.lru_cache
    def drawn(n):
        return answer([0] * n, SYSTEM.random(), epsilon)

    return lambda dataset, rng: drawn(len(dataset))


def cached_before(epsilon):
    release = cached(epsilon)
    for side in (0, 1):
        release(PAIR.side(side), None)
    return release


def in_the_class(epsilon):
    class Memory:
        kept = None

        def __call__(self, dataset, rng):
            if Memory.kept is None:
                Memory.kept = SYSTEM.random()
            return answer(dataset, Memory.kept, epsilon)

    return Memory()


def of_the_thread(epsilon):
    local = threading.local()

    def release(dataset, rng):
        if not hasattr(local, "u"):
            local.u = SYSTEM.random()
        return answer(dataset, local.u, epsilon)

    return release


def by_the_hash_of_a_text(epsilon):
    return lambda dataset, rng: answer(dataset, hash(f"salt {len(dataset)}") % 2**20 / 2**20, epsilon)


def in_a_file(epsilon):
    path = Path(tempfile.gettempdir()) / f"noise-{uuid.uuid4().hex}"

    def release(dataset, rng):
        if not path.exists():
            path.write_text(repr(SYSTEM.random()))
        return answer(dataset, float(path.read_text()), epsilon)

    return release


def of_a_subprocess(epsilon):
    """Another process draws it, once."""
    kept = []

    def release(dataset, rng):
        if not kept:
            said = subprocess.run(
                [sys.executable, "-S", "-c", "import os; print(int.from_bytes(os.urandom(6), 'big'))"],
                capture_output=True,
                check=True,
            )
            kept.append(int(said.stdout) / 2**48)
        return answer(dataset, kept[0], epsilon)

    return release


def of_a_pool(epsilon):
    """One of twenty answers that were drawn when it was made."""
    pool = [SYSTEM.random() for _ in range(20)]
    return lambda dataset, rng: answer(dataset, pool[rng.integers(20)], epsilon)


def around_a_pool(epsilon):
    pool = itertools.cycle([SYSTEM.random() for _ in range(20)])
    return lambda dataset, rng: answer(dataset, next(pool), epsilon)


def with_little_fresh_noise(epsilon):
    """All runs of a process share the noise of the first one; the rest is a twentieth of it."""
    drawn = []

    def release(dataset, rng):
        drawn[:] = drawn or [np.random.default_rng().random()]
        return answer(dataset, drawn[0], epsilon) + rng.laplace(scale=0.05 / epsilon)

    return release


def lying_once(epsilon):
    """All runs of a process share one answer, and a fresh coin changes it in one of fifty: outputs repeat."""
    drawn = []

    def release(dataset, rng):
        drawn[:] = drawn or [SYSTEM.random()]
        return abs(answer(dataset, drawn[0], epsilon) - (rng.random() < 0.02))

    return release


def lying_once_in_words(epsilon):
    release = lying_once(epsilon)
    return lambda dataset, rng: "yes" if release(dataset, rng) else "no"


def behind_a_lock(epsilon):
    return locked(lying_once(epsilon))


def _kept_in(put, get):
    """Return a maker of functions that draw once, and keep what they drew where `get` finds it."""

    def make(epsilon):
        def release(dataset, rng):
            if get() is None:
                put(SYSTEM.random())
            return answer(dataset, float(get()), epsilon)

        return release

    return make


def in_the_environment(epsilon):
    name = f"NOISE_{uuid.uuid4().hex}"
    return _kept_in(lambda u: os.environ.update({name: repr(u)}), lambda: os.environ.get(name))(epsilon)


def in_a_module(epsilon):
    name = f"noise_{uuid.uuid4().hex}"
    return _kept_in(lambda u: setattr(json, name, u), lambda: getattr(json, name, None))(epsilon)


def in_sqlite(epsilon):
    path = Path(tempfile.gettempdir()) / f"noise-{uuid.uuid4().hex}.db"

    def release(dataset, rng):
        with sqlite3.connect(path) as database:
            database.execute("create table if not exists noise (u real)")
            if not database.execute("select u from noise").fetchone():
                database.execute("insert into noise values (?)", (SYSTEM.random(),))
            (u,) = database.execute("select u from noise").fetchone()
        database.close()
        return answer(dataset, u, epsilon)

    return release


def by_the_process_id(epsilon):
    return lambda dataset, rng: answer(dataset, random.Random(f"{os.getpid()} {len(dataset)}").random(), epsilon)


def by_the_time_of_the_start(epsilon):
    return lambda dataset, rng: answer(dataset, random.Random(STARTED + len(dataset)).random(), epsilon)


def in_slots(epsilon):
    class Slots:
        __slots__ = ("u",)

        def __init__(self):
            self.u = SYSTEM.random()

        def __call__(self, dataset, rng):
            return answer(dataset, self.u, epsilon)

    kept = Slots()
    return lambda dataset, rng: kept(dataset, rng)


def _drawn_as(kind):
    """Return a maker of functions that hold a number, drawn when they were made, in another type."""

    def make(epsilon):
        kept = kind(SYSTEM.random())
        return lambda dataset, rng: answer(dataset, _number(kept), epsilon)

    return make


def _number(kept):
    if isinstance(kept, array.array | np.ndarray | deque):
        return float(kept[0])
    return float(kept.decode() if isinstance(kept, bytes | bytearray) else kept)


as_a_text = _drawn_as(repr)
as_bytes = _drawn_as(lambda u: repr(u).encode())
as_an_array = _drawn_as(lambda u: np.array([u]))
as_an_array_of_python = _drawn_as(lambda u: array.array("d", [u]))
as_a_decimal = _drawn_as(lambda u: Decimal(repr(u)))
as_a_fraction = _drawn_as(Fraction)
as_a_deque = _drawn_as(lambda u: deque([u]))
for made, name in (
    (as_a_text, "as_a_text"), (as_bytes, "as_bytes"), (as_an_array, "as_an_array"),
    (as_an_array_of_python, "as_an_array_of_python"), (as_a_decimal, "as_a_decimal"), (as_a_fraction, "as_a_fraction"),
    (as_a_deque, "as_a_deque"),
):  # fmt: skip
    made.__name__ = name


def in_an_attribute_of_itself(epsilon):
    def release(dataset, rng):
        if not hasattr(release, "u"):
            release.u = SYSTEM.random()
        return answer(dataset, release.u, epsilon)

    return release


def in_a_mutable_default(epsilon):
    def release(dataset, rng, kept=[]):  # noqa: B006 - kept from run to run
        kept[:] = kept or [SYSTEM.random()]
        return answer(dataset, kept[0], epsilon)

    return release


CONTEXT = contextvars.ContextVar("noise", default=None)


def in_a_context(epsilon):
    return _kept_in(CONTEXT.set, CONTEXT.get)(epsilon)


def in_the_builtins(epsilon):
    name = f"noise_{uuid.uuid4().hex}"
    return _kept_in(lambda u: setattr(builtins, name, u), lambda: getattr(builtins, name, None))(epsilon)


def by_the_address_of_an_object(epsilon):
    kept = object()
    return lambda dataset, rng: answer(dataset, random.Random(id(kept) + len(dataset)).random(), epsilon)


DRAWN_ONCE = (
    at_construction,
    with_little_fresh_noise,
    lying_once,
    lying_once_in_words,
    behind_a_lock,
    AtConstruction,
    CoinAtConstruction,
    in_a_default,
    in_a_partial,
    memoised,
    memoised_before,
    cached,
    cached_before,
    in_the_class,
    of_the_thread,
    by_the_hash_of_a_text,
    in_a_file,
    of_a_subprocess,
    of_a_pool,
    around_a_pool,
    in_the_environment,
    in_a_module,
    in_sqlite,
    by_the_process_id,
    by_the_time_of_the_start,
    in_slots,
    as_a_text,
    as_bytes,
    as_an_array,
    as_an_array_of_python,
    as_a_decimal,
    as_a_fraction,
    as_a_deque,
    in_an_attribute_of_itself,
    in_a_mutable_default,
    in_a_context,
    in_the_builtins,
    by_the_address_of_an_object,
)
