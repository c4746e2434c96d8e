"""The estimators of jax-privacy on the samples of the certificate. Needs the extra `jax`; imported on request.

Each is called as documented, in both directions where it supports both, at the same significance. `kind` is `peer`: the
miss rates are reported for comparison, and do not affect the certificate.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...mechanisms.accounting import GaussianDP
from ...mechanisms.core import ParameterError
from .methods import PEER, CoverageSetup, Number, Sample

MAX_SCORES = 20_000
"""Scores a side beyond which peers do not run: they take seconds there."""
Estimator = Callable[[Any, float, float], float]


@dataclass(frozen=True)
class PeerMethod:
    """An estimator `(auditor, significance, delta) -> epsilon` of another library.

    `gaussian` marks an estimator that assumes a Gaussian law; it runs on no other.
    """

    name: str
    estimator: Estimator
    auditor: Callable[..., Any]
    gaussian: bool = False
    kind: ClassVar[str] = PEER
    slow: ClassVar[bool] = False

    def measure(self, setup: CoverageSetup) -> Number | None:
        """Return the measure; None if the estimator assumes another law, or is too slow."""
        significance = 1.0 - setup.confidence
        mismatched = self.gaussian and not isinstance(setup.law.curve, GaussianDP)
        if mismatched or max(setup.n_out, setup.n_in) > MAX_SCORES:
            return None

        def number(sample: Sample) -> float:
            scores = sample.whole_in_order
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                epsilon = self.estimator(self.auditor(scores.in_, scores.out), significance, setup.delta)
            return float(epsilon) if math.isfinite(epsilon) else 0.0

        return Number(number)


def jax_privacy_methods() -> list[PeerMethod]:
    """Return the peers: Clopper-Pearson with three strategies, the Gaussian conversion, and the raw counts.

    Raises:
        ParameterError: jax-privacy is not installed.
    """
    try:
        from jax_privacy import auditing
    except ImportError as error:
        raise ParameterError(
            f"peers needs jax-privacy, which cannot be imported ({error}). In a checkout of dpassay: "
            "pip install '.[jax]', or leave it out.",
            argument="peers",
        ) from error
    strategies = {
        "bonferroni": auditing.Bonferroni(),
        "split": auditing.Split(seed=0),
        "10 splits": auditing.MultiSplit(num_samples=10, seed=0),
    }
    methods = [
        PeerMethod(f"jax-privacy, clopper-pearson, {name}", _clopper_pearson(strategy), auditing.CanaryScoreAuditor)
        for name, strategy in strategies.items()
    ]
    return [
        *methods,
        PeerMethod("jax-privacy, from gdp", _gaussian, auditing.CanaryScoreAuditor, gaussian=True),
        PeerMethod("jax-privacy, raw counts", _raw_counts, auditing.CanaryScoreAuditor),
    ]


def _clopper_pearson(strategy: Any) -> Estimator:
    def estimate(auditor: Any, significance: float, delta: float) -> float:
        return float(auditor.epsilon_clopper_pearson(significance, delta, one_sided=False, threshold_strategy=strategy))

    return estimate


def _gaussian(auditor: Any, significance: float, delta: float) -> float:
    return float(auditor.epsilon_from_gdp(significance, delta))


def _raw_counts(auditor: Any, _significance: float, delta: float) -> float:
    """Return the estimate from raw counts, with the default minimum of 50 counts; it has no significance."""
    return float(auditor.epsilon_raw_counts(delta=delta, one_sided=False))
