"""Likelihood ratio of a law assumed by the auditor: for a function without a known output law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...mechanisms.core.base import LogDensity, Outputs
from ...mechanisms.core.errors import ParameterError
from ..base import Attack, Scorer, Target
from .likelihood_ratio import LikelihoodRatioScorer


@dataclass(frozen=True, kw_only=True)
class AssumedLaw(Attack):
    """Scores an output by log p1(output) - log p0(output) under a law given by the auditor.

    A plain function has no `output_law`, but an auditor who reads its code often knows or can guess the law: for
    example, numpy's Laplace noise of scale 10 on a sum. The law is given as a mechanism of the library; if that
    mechanism has the law of floating-point noise, the score uses the outputs down to the last bit.

    Args:
        law: of the outputs, with a method `log_density(outputs, dataset)`, such as a mechanism with a `query` that
            computes the noise-free answers of the datasets.

    Raises:
        ParameterError: `law` has no `log_density`.

    Guarantees:
        * The bound is valid whatever the law is, because the score is fixed before the trials. A wrong law makes the
          bound smaller, and outputs that are impossible under both datasets are not used.

    Example:
        >>> from dpassay.audit import audit
        >>> from dpassay.mechanisms import Neighbours, PureDP
        >>> from dpassay.mechanisms.broken.floats import (FloatLaplace)
        >>> def noisy_sum(records, size, rng):
        ...     return np.sum(records) + rng.laplace(0.0, 10.0, size=size)
        >>> pair = Neighbours(np.zeros(1), np.array([0.0, 1.0]), "add_remove")
        >>> attack = AssumedLaw(law=FloatLaplace(epsilon=0.1, sampler="numpy", query=np.sum))
        >>> result = audit(noisy_sum, pair, claim=PureDP(0.1), delta=0.0, attack=attack, trials=5000, seed=0)
        >>> result.verdict.value, result.bound.epsilon > 5.0
        ('violation', True)
    """

    law: LogDensity

    minimum_pilot: ClassVar[int] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(getattr(self.law, "log_density", None)):
            raise ParameterError(
                f"law must have a method log_density(outputs, dataset), such as Laplace(epsilon=0.1), but is "
                f"{self.law!r}.",
                argument="law",
            )

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        """Return the scorer; the pilot outputs are not used."""
        return LikelihoodRatioScorer(self.law, target.neighbours.d0, target.neighbours.d1)
