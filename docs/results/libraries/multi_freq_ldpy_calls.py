"""Calls of multi-freq-ldpy, which draws from numpy, also in functions compiled by numba."""

import numpy as np
from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client


def subset(value):
    return SS_Client(int(value), 20, 1.0)


def sorted_subset(value):
    return np.sort(SS_Client(int(value), 20, 1.0))


def fake_data(values):
    return RSpFD_GRR_Client([int(value) for value in values], [4, 4, 4], 3, 1.0)


def randomized_response(value):
    return GRR_Client(int(value), 8, 1.0)
