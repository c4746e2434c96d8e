"""The mechanism that an event of dp-accounting describes, with the epsilon that the library computes for it."""

import dp_accounting
import numpy as np
from dp_accounting.rdp import RdpAccountant

DELTA, NOISE = 1e-5, 1.0


def stated_epsilon():
    """Return epsilon of one Gaussian mechanism with noise multiplier 1 under replace_one, by its Renyi accountant."""
    accountant = RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    return accountant.compose(dp_accounting.GaussianDpEvent(NOISE)).get_epsilon(DELTA)


def gaussian_sum(dataset, size, rng):
    """Return noisy sums; six digits, since the low bits of floats leak by themselves."""
    return np.round(dataset.clip(-1, 1).sum() + rng.normal(scale=NOISE, size=size), 6)
