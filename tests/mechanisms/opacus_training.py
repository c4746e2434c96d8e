"""A small training with Opacus, for the tests with the real PyTorch and for those with a stand-in."""

from dpassay.attacks.distinguishing.threshold import Threshold
from dpassay.mechanisms.adapters.opacus import OpacusTraining

NORM = Threshold(statistic="norm")


def training(**changes):
    options = {
        "make_model": lambda: None,
        "make_optimizer": lambda parameters: None,
        "n_records": 12,
        "batch_size": 4,
        "noise_multiplier": 1.0,
    }
    return OpacusTraining(**options | changes)
