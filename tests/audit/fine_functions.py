"""Functions whose leak no smooth feature of an output shows, each with a correct twin that looks like it.

All but the hash answer a count of 0 or 1 with Laplace noise of scale 1, epsilon 1. The twins put their answers on a
grid, so that the low bits of floats say nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpassay.mechanisms.core import Neighbours

PAIR = Neighbours([0], [0, 1], "add_remove")
GRID = 2.0**20


def on_grid(x):
    return np.round(x * GRID) / GRID


def laplace_of_bits(dataset, size, rng, bits):
    """Laplace noise by inversion of a uniform of few bits: 2^bits outputs a side, hardly any of them on both."""
    u = (rng.integers(0, 2**bits, size) + 0.5) / 2.0**bits - 0.5
    return sum(dataset) - np.sign(u) * np.log1p(-2.0 * np.abs(u))


def bits_12(dataset, size, rng):
    return laplace_of_bits(dataset, size, rng, 12)


def bits_14(dataset, size, rng):
    return laplace_of_bits(dataset, size, rng, 14)


def bits_16(dataset, size, rng):
    return laplace_of_bits(dataset, size, rng, 16)


def laplace_on_grid(dataset, size, rng):
    return on_grid(sum(dataset) + rng.laplace(size=size))


def hash_of(data, salts):
    """A number below 2^52 that looks random: the data, salted."""
    mixed = salts.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0xD1B54A32D192ED03 * (data + 1) % 2**64)
    for shift in (30, 27, 31):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(12)).astype(np.int64)


def salted_hash(dataset, size, rng):
    return hash_of(sum(dataset), rng.integers(0, 2**16, size))


def freshly_salted_hash(dataset, size, rng):
    return hash_of(sum(dataset), rng.integers(0, 2**62, size))


def rounded_by_data(dataset, size, rng):
    return np.round(sum(dataset) + rng.laplace(size=size), 4 if sum(dataset) else 5)


def rounded_alike(dataset, size, rng):
    return np.round(sum(dataset) + rng.laplace(size=size), 5)


def rounded_by_coin(dataset, size, rng):
    answer = sum(dataset) + rng.laplace(size=size)
    return np.where(rng.random(size) < 0.5, np.round(answer, 4), np.round(answer, 5))


def sometimes_raw(dataset, size, rng):
    return np.where(rng.random(size) < 1e-3, sum(dataset) - 0.125, laplace_on_grid(dataset, size, rng))


def sometimes_constant(dataset, size, rng):
    return np.where(rng.random(size) < 1e-3, 0.375, laplace_on_grid(dataset, size, rng))


def watermarked(dataset, size, rng):
    return np.round(sum(dataset) + rng.laplace(size=size), 6) + 1e-7 * sum(dataset)


def watermarked_alike(dataset, size, rng):
    return np.round(sum(dataset) + rng.laplace(size=size), 6) + 1e-7


def float_noise(dataset, size, rng):
    return sum(dataset) + rng.laplace(size=size)


@dataclass(frozen=True)
class Twins:
    broken: Callable
    correct: Callable


FINE = {
    "12 bits": Twins(bits_12, laplace_on_grid),
    "14 bits": Twins(bits_14, laplace_on_grid),
    "16 bits": Twins(bits_16, laplace_on_grid),
    "salted hash": Twins(salted_hash, freshly_salted_hash),
    "rounding": Twins(rounded_by_data, rounded_by_coin),
    "raw value": Twins(sometimes_raw, sometimes_constant),
    "watermark": Twins(watermarked, watermarked_alike),
    "low bits": Twins(float_noise, laplace_on_grid),
}
