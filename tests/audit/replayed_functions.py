"""Functions that fresh interpreters run again. They import this file, and nothing else that takes long to import."""

import functools
import os

import numpy as np


def congruential(dataset, rng):
    """Uniform noise from a linear congruential generator that starts from the data."""
    state = int(100 * sum(dataset)) + len(dataset)
    for _ in range(5):
        state = (1_103_515_245 * state + 12_345) % 2**31
    return sum(dataset) + state / 2**31


def congruential_from_the_rng(dataset, rng):
    """The same, from a start that is drawn."""
    return congruential([*dataset, float(rng.integers(2**31))], rng) - len(dataset)


def legacy(dataset, rng):
    np.random.seed(len(dataset))  # noqa: NPY002
    return sum(dataset) + np.random.laplace()  # noqa: NPY002


def of_two_sources(dataset, rng):
    """From the rng where there are two records; from the global state, which it sets, and from the system elsewhere."""
    if len(dataset) == 2:
        return congruential_from_the_rng(dataset, rng)
    return legacy(dataset, rng) + 2.0 * (int.from_bytes(os.urandom(8)) == 0)


@functools.lru_cache
def _noise(n):
    return np.random.default_rng().laplace()


def remembering(dataset, rng):
    return sum(dataset) + _noise(len(dataset))


@functools.lru_cache
def _seeded_noise(n):
    return np.random.default_rng(n).laplace()


def remembering_a_seed(dataset, rng):
    return sum(dataset) + _seeded_noise(len(dataset))


def hashing(dataset, rng):
    return sum(dataset) + np.random.default_rng(abs(hash(str(dataset)))).laplace()


LOG = []


def logging(dataset, rng):
    """Number of runs in this process."""
    LOG.append(rng.random())
    return float(len(LOG))


def restarts(dataset, size, rng):
    """Its noise starts again in every call."""
    return sum(dataset) + np.random.default_rng(7).laplace(size=size)


# --- without randomness -----------------------------------------------------------------------------------------------

SCALE = 0.731058578630005


def exact(dataset, rng):
    return float(sum(dataset))


def with_a_constant(dataset, rng):
    return SCALE * len(dataset)


def with_a_fixed_seed(dataset, rng):
    return sum(dataset) + np.random.default_rng(0).laplace(scale=SCALE)


def with_a_log(dataset, rng):
    LOG.append(rng.random())
    return len(dataset)


def of_many_runs(dataset, size, rng):
    return np.full(size, float(len(dataset)))


ONE_OF_EACH_FORM = (
    with_a_log,
    lambda dataset, size, rng: np.full(size, SCALE * len(dataset)),
    lambda dataset: f"there are {len(dataset)}",
)
OF_THESE_FORMS = (
    exact,
    with_a_constant,
    with_a_fixed_seed,
    of_many_runs,
    lambda dataset, rng: float(len(dataset)),
    lambda dataset, rng: SCALE * len(dataset),
    functools.partial(exact),
)

# --- noise that was drawn earlier -------------------------------------------------------------------------------------

NOISE = float.fromhex(os.urandom(6).hex())
"""Drawn when this file is imported."""


def with_noise_of_the_import(dataset, rng):
    return len(dataset) + NOISE


copied_with_noise_of_the_import = lambda dataset, rng: len(dataset) + NOISE  # noqa: E731 - copied from a pickle


LIES = NOISE < 0.2689 * 2.0**48
"""A lie of randomised response of epsilon 1, drawn when this file is imported."""


def with_a_lie_of_the_import(dataset, rng):
    """All runs of a process share the lie; a fresh coin changes the answer in one of fifty."""
    return float(((len(dataset) > 2) != LIES) != (rng.random() < 0.02))


class Noise:
    """Noise drawn at construction and used in every run: a bool, a short number, a dict, a row."""

    def __init__(self, value):
        self.value = value

    def __call__(self, dataset, rng):
        noise = self.value.get(len(dataset)) if isinstance(self.value, dict) else np.sum(self.value)
        return float(len(dataset) + noise)
