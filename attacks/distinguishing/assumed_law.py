"""The likelihood ratio of a law that the auditor assumes: for a function whose noise is known, but not its law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...mechanisms.base import LogDensity, Outputs
from ...mechanisms.errors import ParameterError
from ..base import Attack, Scorer, Target
from .likelihood_ratio import LikelihoodRatioScorer


@dataclass(frozen=True, kw_only=True)
class AssumedLaw(Attack):
    """Scores an output by log p1(output) - log p0(output) under a law that the auditor names.

    A function has no output law. Whoever reads its code, or guesses, often knows the law all the same: numpy's Laplace
    noise of scale 10 on a sum. Written as a mechanism of the library, its law is what this attack reads, down to the
    last bit where it is the law of floats.

    Args:
        law: of the outputs, with a method `log_density(outputs, dataset)`, such as a mechanism with a `query` that
            computes the noise-free answers of the datasets.

    Raises:
        ParameterError: `law` has no `log_density`.

    Guarantees:
        * The bound is valid whatever the law is: a score that was fixed before the trials is. With a wrong law it shows
          less, and nothing from outputs that are impossible under both datasets.

    Example:
        >>> from dpassay.audit import audit
        >>> from dpassay.mechanisms import Neighbours, PureDP
        >>> from dpassay.mechanisms.broken.floats import FloatLaplace
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
        if not callable(getattr(self.law, "log_density", None)):
            raise ParameterError(
                f"law must have a method log_density(outputs, dataset), such as Laplace(epsilon=0.1), but is "
                f"{self.law!r}.",
                argument="law",
            )

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        """The scorer; the pilot outputs are not looked at."""
        return LikelihoodRatioScorer(self.law, target.neighbours.d0, target.neighbours.d1)
