"""Evaluation of thousands of points of a claimed curve, against drawing and sorting a million normal numbers."""

from __future__ import annotations

import numpy as np
from benchmarks.measure import against_sorting

from dpassay.mechanisms.accounting import GaussianDP, PrivacyLossDP
from dpassay.mechanisms.core import Guarantee


def there_and_back(claim: Guarantee, deltas: np.ndarray) -> None:
    claim.delta(claim.epsilon(deltas))


def main() -> None:
    gaussian = GaussianDP(1.0)
    sampled = PrivacyLossDP.gaussian(4.0, sampling_probability=0.01, steps=10_000)
    deltas = np.geomspace(1e-300, 0.5, 5_000)
    against_sorting("GaussianDP, 5,000 points", lambda: there_and_back(gaussian, deltas), 0.5)
    deltas = np.geomspace(1e-10, 0.3, 1_000)
    against_sorting("PrivacyLossDP, 1,000 points", lambda: there_and_back(sampled, deltas), 0.5)
