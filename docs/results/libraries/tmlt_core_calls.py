"""Calls of tmlt.core on single numbers, without Spark; the noise comes from its own generator."""

import numpy as np
from tmlt.core.domains.numpy_domains import NumpyFloatDomain
from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise, AddLaplaceNoise

GEOMETRIC = AddGeometricNoise(alpha=1)
LAPLACE = AddLaplaceNoise(input_domain=NumpyFloatDomain(), scale=1)


def geometric(value, rng):
    return GEOMETRIC(np.int64(value))


def laplace(value, rng):
    return LAPLACE(np.float64(value))
