"""The median with noise scaled to its smooth sensitivity."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated

import numpy as np

from ...accounting import ApproximateDP, PureDP
from ...accounting.kinds.two_laws import TwoCauchysDP, log_cauchy, two_laplaces
from ...accounting.numerics.laplace import log_laplace
from ...core.arrays import Floats
from ...core.base import Data, Dataset, Neighbours, Outputs
from ...core.constraints import Delta, Positive, one_of_names
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import RecordsMechanism
from ...core.relation import Relation
from ...noise.laplace import draw_laplace
from .median_sensitivity import BoundedMedian

MIN_RELATIVE_SENSITIVITY = 1e-140
"""Smallest sensitivity that noise is scaled to, as a fraction of the range of the values."""


@dataclass(frozen=True)
class SmoothSensitivityMedian(RecordsMechanism):
    """Smooth sensitivity: the median plus S(x) / alpha times noise, with S the smooth sensitivity.

    S(x) = max over k of e^(-beta k) A_k(x), with A_k the largest local sensitivity within k replacements: it is at
    least the local sensitivity, and changes by a factor of at most e^beta between neighbours, so that the noise scale
    leaks little. (Nissim, Raskhodnikova and Smith 2007, definition 2.2, lemmas 2.6 to 2.9.)

        noise        alpha          beta                        claim
        "cauchy"     epsilon / 6    epsilon / 6                 epsilon-DP
        "laplace"    epsilon / 2    epsilon / (2 ln(2 / delta)) (epsilon, delta)-DP

    Args:
        epsilon: the claim, > 0.
        noise: "cauchy" or "laplace"; see the table.
        delta: of the claim with Laplace noise, in (0, 1); 0 with Cauchy noise.
        lower, upper: public bounds of the values, lower < upper.

    Raises:
        ParameterError: `delta` does not match `noise`, or a value is out of range.

    Guarantees:
        * The claim holds under replace_one for any number of records. It is not attained: the two steps of the proof,
          a moved centre and a changed scale, do not have their worst outputs in the same place.

    Example:
        >>> mechanism = SmoothSensitivityMedian(epsilon=1.0, noise="cauchy")
        >>> concentrated = [0.49] * 50 + [0.5] + [0.51] * 50
        >>> round(mechanism.scale(concentrated), 3)  # Laplace noise for the global sensitivity has scale 1
        0.102
    """

    _dataset = Data.REALS

    epsilon: Positive = 1.0
    _: KW_ONLY
    noise: Annotated[str, one_of_names("cauchy", "laplace")] = "cauchy"
    delta: Delta = 0.0
    lower: float = 0.0
    upper: float = 1.0
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.delta > 0.0) != (self.noise == "laplace"):
            raise ParameterError(
                f"delta is {self.delta!r}, but {self.noise} noise has a claim with delta "
                f"{'0: leave it out' if self.noise == 'cauchy' else 'above 0, such as 1e-6'}.",
                argument="delta",
            )
        _ = self.median

    @property
    def median(self) -> BoundedMedian:
        """The median and its sensitivities."""
        return BoundedMedian(self.lower, self.upper)

    @property
    def alpha(self) -> float:
        """Largest move of the centre, in units of the noise."""
        return self.epsilon / (6.0 if self.noise == "cauchy" else 2.0)

    @property
    def beta(self) -> float:
        """Largest change of ln S between neighbours."""
        return self.epsilon / (6.0 if self.noise == "cauchy" else 2.0 * math.log(2.0 / self.delta))

    def scale(self, dataset: Dataset) -> float:
        """Return S(x) / alpha, the scale of the noise on this dataset.

        S is at least `MIN_RELATIVE_SENSITIVITY` times the range, which keeps it smooth: e^-beta is 0 as a float at a
        large epsilon.
        """
        return (
            max(self.median.smooth(dataset, self.beta), MIN_RELATIVE_SENSITIVITY * (self.upper - self.lower))
            / self.alpha
        )

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy medians, shape `(size,)`."""
        if self.noise == "cauchy":
            values: Floats = rng.standard_cauchy(size) * self.scale(dataset)
        else:
            values = draw_laplace(self.scale(dataset), (size,), rng)
        return Outputs(values + self.median(dataset))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`."""
        law = log_cauchy if self.noise == "cauchy" else log_laplace
        return law(outputs.values.astype(np.float64, copy=False), self.median(dataset), self.scale(dataset))

    def guarantee(self) -> Guarantee:
        """Return `PureDP(epsilon)` or `ApproximateDP(epsilon, delta)`."""
        if self.noise == "cauchy":
            return PureDP(self.epsilon, relation=self.relation)
        return ApproximateDP(self.epsilon, self.delta, self.relation)

    def worst_case(self) -> Neighbours:
        """Return five records at the lower bound or at v above it; one record moves from one to the other.

        With v = e^(-3 beta) (upper - lower) the median moves by all of S on side 1, and S changes by e^beta: two
        replacements on side 0, and three on side 1, are needed until the upper bound matters. For large beta v is
        larger, so that no distance within side 1 exceeds it.
        """
        second = math.exp(-2.0 * self.beta)
        share = max(math.exp(-3.0 * self.beta), second / (1.0 + second))
        high = self.lower + share * (self.upper - self.lower)
        d0, d1 = (np.repeat([self.lower, high], [low, 5 - low]) for low in (3, 2))
        return Neighbours(d0, d1, self.relation)

    def exact_guarantee(self) -> Guarantee:
        pair = self.worst_case()
        (centre0, scale0), (centre1, scale1) = ((self.median(d), self.scale(d)) for d in (pair.d0, pair.d1))
        curve = TwoCauchysDP if self.noise == "cauchy" else two_laplaces
        return curve(centre0, scale0, centre1, scale1, self.relation)
