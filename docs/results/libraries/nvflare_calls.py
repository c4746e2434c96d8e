"""Calls of a privacy filter of NVFlare, in process, on the parameters of one client."""

import logging

import numpy as np
from nvflare.apis.dxo import DXO, DataKind
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.filters.svt_privacy import SVTPrivacy

logging.disable(logging.CRITICAL)


def filtered(parameters):
    sparse_vector = SVTPrivacy(fraction=0.5, epsilon=1.0, epsilon_release=1.0, gamma=1.0, tau=0.5)
    dxo = DXO(DataKind.WEIGHT_DIFF, data=parameters)
    return sparse_vector.process_dxo(dxo, Shareable(), FLContext()).data


def vector(values, rng):
    np.random.seed(rng.integers(2**32))
    return np.round(filtered({"layer": np.array(values, dtype=float)})["layer"], 6)


def scalar(value, rng):
    np.random.seed(rng.integers(2**32))
    return filtered({"layer": np.zeros(3), "temperature": np.array(float(value))})["temperature"]
