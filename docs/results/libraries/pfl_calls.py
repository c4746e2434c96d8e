"""Calls of pfl on numpy: the sum of the clipped statistics of two users, with noise."""

import numpy as np
from pfl.privacy.laplace_mechanism import LaplaceMechanism
from pfl.stats import MappedVectorStatistics


def statistics(value):
    return MappedVectorStatistics({"update": np.atleast_1d(np.asarray(value, dtype=np.float64))})


def laplace(dataset, rng):
    """Return a noisy sum; six digits, since the low bits of floats leak by themselves."""
    mechanism = LaplaceMechanism(clipping_bound=1.0, epsilon=1.0)
    clipped = [mechanism.constrain_sensitivity(statistics(value))[0] for value in dataset]
    total = clipped[0]
    for one in clipped[1:]:
        total = total + one
    noisy, _ = mechanism.add_noise(total, cohort_size=len(clipped), seed=int(rng.integers(2**31)))
    return round(float(noisy["update"][0]), 6)
