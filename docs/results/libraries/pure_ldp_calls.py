"""Calls of pure-ldp, which draws from `random`: without a generator, its state starts from the seed of the audit."""

from pure_ldp.frequency_oracles.direct_encoding import DEClient
from pure_ldp.frequency_oracles.rappor import RAPPORClient
from pure_ldp.frequency_oracles.unary_encoding import UEClient

HASHES = [[lambda text: int(text) % 8]]


def rappor(value):
    bits, _ = RAPPORClient(f=0.5, m=8, hash_funcs=HASHES, num_of_cohorts=1).privatise(int(value))
    return bits


def unary(value):
    return UEClient(epsilon=1, d=8).privatise(int(value))


def direct(value):
    return DEClient(epsilon=1, d=8).privatise(int(value))
