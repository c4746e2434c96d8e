"""The estimators of jax-privacy on the samples of the certificate. Needs the extra `peers`; imported on request.

Each is called as its documentation says, on both directions where it can look at both, at the same significance.
`kind` is `peer`: the miss rates are reported next to ours, and decide nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...mechanisms.errors import ParameterError
from ...mechanisms.guarantees import GaussianDP
from .methods import PEER, Number, Question, Sample

LARGEST = 20_000
"""Scores a side beyond which these are not asked: they take seconds there."""
Estimator = Callable[[Any, float, float], float]


@dataclass(frozen=True)
class PeerMethod:
    """An estimator `(auditor, significance, delta) -> epsilon` of another library.

    `gaussian` is one that takes the law to be Gaussian; it is asked about no other.
    """

    name: str
    estimator: Estimator
    auditor: Callable[..., Any]
    gaussian: bool = False
    kind: ClassVar[str] = PEER
    slow: ClassVar[bool] = False

    def measure(self, question: Question) -> Number | None:
        """None where the estimator takes the law for another, or takes too long."""
        significance = 1.0 - question.confidence
        foreign = self.gaussian and not isinstance(question.law.curve, GaussianDP)
        if foreign or max(question.n_out, question.n_in) > LARGEST:
            return None

        def number(sample: Sample) -> float:
            scores = sample.whole_in_order
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found = self.estimator(self.auditor(scores.in_, scores.out), significance, question.delta)
            return float(found) if math.isfinite(found) else 0.0

        return Number(number)


def jax_privacy_methods() -> list[PeerMethod]:
    """Clopper-Pearson with its three strategies, the Gaussian conversion, and the raw counts.

    Raises:
        ParameterError: jax-privacy is not installed.
    """
    try:
        from jax_privacy import auditing
    except ImportError as error:
        raise ParameterError(
            f"peers needs jax-privacy, which cannot be imported ({error}). In a copy of dpassay: "
            "pip install '.[peers]', or leave it out.",
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
    """No significance: an estimate, with the minimum of 50 counts that is the default."""
    return float(auditor.epsilon_raw_counts(delta=delta, one_sided=False))


__all__ = ["PeerMethod", "jax_privacy_methods"]
