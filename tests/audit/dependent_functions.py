"""Functions with noise of every descent, each of which is 1-DP in every single run: Laplace noise of scale 1 on a sum
whose sensitivity is 1, or a coin that tells the truth with probability e / (1 + e).

`INDEPENDENT` draw every run anew, however strangely, and an audit must find them consistent. `DEPENDENT` reuse noise
from run to run: an audit cannot judge them, and must not call them broken.
"""

from __future__ import annotations

import functools
import math
import os
import random
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import stats

from dpassay.mechanisms import Neighbours

PAIR = Neighbours([1.0, 3.0], [1.0, 3.0, 1.0], "add_remove")
TRUE = math.e / (1 + math.e)
Maker = Callable[[int], Callable[..., Any]]


def inverse(u):
    """Laplace noise of scale 1 from a uniform number."""
    return -math.copysign(math.log1p(-2 * abs(u - 0.5)), 0.5 - u)


def answer(dataset, u):
    """The coin of `dataset`, by a uniform number."""
    return float((u < TRUE) == (len(dataset) > 2))


# --- independent ------------------------------------------------------------------------------------------------------


def reused_array(seed):
    array = np.zeros(2)

    def release(dataset, rng):
        array[:] = sum(dataset) + rng.laplace(), 7.0
        return array

    return release


def reused_view(seed):
    array = np.zeros(5)

    def release(dataset, rng):
        array[3] = sum(dataset) + rng.laplace()
        return array[3:4]

    return release


def reused_dict(seed):
    kept = {"sum": 0.0, "parts": [0.0]}

    def release(dataset, rng):
        kept["sum"] = kept["parts"][0] = sum(dataset) + rng.laplace()
        return kept

    return release


def reused_by_many(seed):
    arrays = {}

    def release(dataset, size, rng):
        array = arrays.setdefault(size, np.empty(size))
        array[:] = sum(dataset) + rng.laplace(size=size)
        return array

    return release


def closure(seed):
    mine = np.random.default_rng(seed)
    return lambda dataset, rng: sum(dataset) + mine.laplace()


def coin_in_a_closure(seed):
    mine = random.Random(seed)
    return lambda dataset, rng: answer(dataset, mine.random())


def coin_of_many_in_a_closure(seed):
    mine = np.random.default_rng(seed)
    return lambda dataset, size, rng: ((mine.random(size) < TRUE) == (len(dataset) > 2)).astype(float)


def default_argument(seed):
    own = np.random.default_rng(seed)

    def release(dataset, rng, mine=own):
        return answer(dataset, mine.random())

    return release


def keyword_default(seed):
    own = np.random.RandomState(seed)

    def release(dataset, rng, *, mine=own):
        return sum(dataset) + mine.laplace()

    return release


class Attribute:
    """Keeps its generator where its noise is."""

    def __init__(self, seed):
        self.noise = np.random.default_rng(seed)

    def __call__(self, dataset, rng):
        return answer(dataset, self.noise.random())

    def method(self, dataset, rng):
        return sum(dataset) + self.noise.laplace()


def bound_method(seed):
    return Attribute(seed).method


def iterated(seed):
    """Noise from a Python generator, which no process can send to another."""
    drawn = iter(np.random.default_rng(seed).random, 2.0)
    return lambda dataset: answer(dataset, next(drawn))


def global_numpy(seed):
    return lambda dataset, rng: sum(dataset) + np.random.laplace()  # noqa: NPY002


def coin_of_global_numpy(seed):
    return lambda dataset, rng: answer(dataset, np.random.random())  # noqa: NPY002


def global_python(seed):
    return lambda dataset, rng: answer(dataset, random.random())


def operating_system(seed):
    return lambda dataset, rng: sum(dataset) + inverse(int.from_bytes(os.urandom(6)) / 2**48)


def coin_of_secrets(seed):
    return lambda dataset, rng: answer(dataset, secrets.randbelow(10**9) / 10**9)


def seeded_anew(seed):
    return lambda dataset, rng: sum(dataset) + np.random.default_rng().laplace()


def derived(seed):
    return lambda dataset, rng: sum(dataset) + np.random.default_rng(int(rng.integers(2**62))).laplace()


def spawned(seed):
    return lambda dataset, rng: answer(dataset, rng.spawn(1)[0].random())


def in_a_thread(seed):
    def release(dataset, rng):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: sum(dataset) + rng.laplace()).result()

    return release


INDEPENDENT: tuple[Maker, ...] = (
    reused_array,
    reused_view,
    reused_dict,
    reused_by_many,
    closure,
    coin_in_a_closure,
    coin_of_many_in_a_closure,
    default_argument,
    keyword_default,
    Attribute,
    bound_method,
    iterated,
    global_numpy,
    coin_of_global_numpy,
    global_python,
    operating_system,
    coin_of_secrets,
    seeded_anew,
    derived,
    spawned,
    in_a_thread,
)


# --- dependent --------------------------------------------------------------------------------------------------------


def memoised(seed):
    kept = {}
    return lambda dataset, rng: sum(dataset) + kept.setdefault(len(dataset), rng.laplace())


def cached(seed):
    @functools.lru_cache
    def noise(n):
        return np.random.default_rng([seed, n]).laplace()

    return lambda dataset, rng: sum(dataset) + noise(len(dataset))


def used_four_times(seed):
    left: list[float] = []

    def release(dataset, rng):
        if not left:
            left.extend([rng.laplace()] * 4)
        return sum(dataset) + left.pop()

    return release


def cycled(seed):
    """The same hundred noises, over and over."""
    pool = np.random.default_rng(seed).laplace(size=100).tolist()
    place = [0]

    def release(dataset, rng):
        place[0] = (place[0] + 1) % len(pool)
        return sum(dataset) + pool[place[0]]

    return release


def antithetic(seed):
    waiting: list[float] = []

    def release(dataset, rng):
        if not waiting:
            waiting.append(rng.laplace())
            return sum(dataset) + waiting[0]
        return sum(dataset) - waiting.pop()

    return release


def antithetic_halves(seed):
    def release(dataset, size, rng):
        noise = rng.laplace(size=(size + 1) // 2)
        return sum(dataset) + np.concatenate([noise, -noise])[:size]

    return release


def autoregression(steps, keep, first):
    """Laplace noise of scale 1 whose Gaussian copula is an autoregression: shape of `steps`."""
    states = np.empty(len(steps))
    for i, step in enumerate(steps):
        first = states[i] = keep * first + math.sqrt(1 - keep**2) * step
    return stats.laplace.ppf(stats.norm.cdf(states)), first


def autoregressive_within_calls(seed, keep=0.9):
    def release(dataset, size, rng):
        return sum(dataset) + autoregression(rng.normal(size=size), keep, rng.normal())[0]

    return release


def autoregressive_across_runs(seed, keep=0.99):
    state = [np.random.default_rng(seed).normal()]

    def release(dataset, size, rng):
        noise, state[0] = autoregression(rng.normal(size=size), keep, state[0])
        return sum(dataset) + noise

    return release


def one_noise_a_call(seed):
    return lambda dataset, size, rng: np.full(size, sum(dataset) + rng.laplace())


def drifting(seed, step=0.002):
    """The noise has another centre in every run, which is no secret and moves on."""
    place = [0]

    def release(dataset, size, rng):
        place[0] += size
        return sum(dataset) + step * np.arange(place[0] - size, place[0]) + rng.laplace(size=size)

    return release


DEPENDENT: tuple[Maker, ...] = (
    memoised,
    cached,
    used_four_times,
    cycled,
    antithetic,
    antithetic_halves,
    autoregressive_within_calls,
    autoregressive_across_runs,
    one_noise_a_call,
    drifting,
)
