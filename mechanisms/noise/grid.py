"""Laplace noise on a grid: the answer and the noise are multiples of one power of two, and so is their sum."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

import numpy as np

from ..core import Floats, Guarantee, Mechanism, Neighbours, Outputs, ParameterError, Positive, Relation, example
from .base import MAX_EXACT_INTEGER, PureNoise
from .geometric import Geometric
from .queries.answers import refuse_worst_case
from .queries.base import AnyQuery

MAX_SCALE_STEPS = 2.0**30
"""Largest scale of the noise in steps of the grid."""
MAX_EXACT_STEPS = 4096
"""Largest number of grid steps between answers for which the exact curve is computed."""


@dataclass(frozen=True)
class GridLaplace(PureNoise):
    """Laplace noise on a grid: answer, noise and output are multiples of one power of two.

    The answer is rounded down to a multiple of `granularity`, and two-sided geometric noise is added in such multiples.
    Both are exact in floats, and so is their sum: outputs are the multiples of `granularity` for every answer.
    Rounding can place answers at distance `sensitivity` ceil(sensitivity / granularity) steps apart, and the noise is
    scaled to that distance; on a fine grid it is Laplace noise up to a relative granularity / sensitivity.

    Args:
        epsilon: the claim, > 0.
        granularity: width of the grid, a power of two, such as 2^-20.
        sensitivity: largest distance between the answers on neighbours, > 0.
        query: computes the answer from the dataset; None when the dataset is the answer.
        relation: the neighbouring relation that `sensitivity` and the claim hold for.

    Guarantees:
        * epsilon-DP, since `Geometric` on the index of the grid point is (Ghosh, Roughgarden and Sundararajan
          2009), for answers up to 2^53 grid points.
        * Up to 4,096 steps between answers the whole curve of the claim is exact, and the worst case attains it.
        * The grid is never so fine that noise drawn from uniform numbers of 53 bits would leave out grid points.

    Example:
        >>> mechanism = GridLaplace(epsilon=1.0, granularity=2.0**-10)
        >>> values = mechanism.release(0.3, 1000, np.random.default_rng(0)).values
        >>> set(values * 2.0**10 % 1.0)
        {np.float64(0.0)}
    """

    _example = example(granularity=0.25, sensitivity=0.6)

    epsilon: Positive
    _: KW_ONLY
    granularity: Positive = 2.0**-20
    sensitivity: float = 1.0
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE
    n_queries: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if math.frexp(self.granularity)[0] != 0.5:
            nearest = 2.0 ** round(math.log2(self.granularity))
            raise ParameterError(
                f"granularity must be a power of two, so that sums on the grid are exact, but is {self.granularity!r}. "
                f"Set granularity={nearest!r}.",
                argument="granularity",
            )
        finest = self.sensitivity / self.epsilon / MAX_SCALE_STEPS
        if self.granularity < finest:
            raise ParameterError(
                f"granularity must be at least scale of the noise / 2^30 = {finest:g}, but is {self.granularity:g}. "
                "On a finer grid the noise would leave out points. Set "
                f"granularity={2.0 ** math.ceil(math.log2(finest))!r}.",
                argument="granularity",
            )

    @cached_property
    def on_grid(self) -> Geometric:
        """Mechanism on the indices of the grid points."""
        steps = math.ceil(self.sensitivity / self.granularity)
        return Geometric(self.epsilon, sensitivity=steps, relation=self.relation)

    def guarantee(self) -> Guarantee:
        """Return the exact curve of `Geometric` at ceil(sensitivity / granularity); on fine grids, `PureDP`."""
        if self.on_grid.sensitivity > MAX_EXACT_STEPS:
            return super().guarantee()
        return self.on_grid.guarantee()

    def _centre(self, answers: Floats) -> Floats:
        """Return the answer, rounded down to the grid."""
        if np.any(np.abs(answers) > MAX_EXACT_INTEGER * self.granularity):
            raise ParameterError(
                f"the answer must lie within 2^53 grid points of 0, but is {answers}. Choose a larger granularity."
            )
        return np.floor(answers / self.granularity) * self.granularity

    def bind(self, neighbours: Neighbours) -> Mechanism:
        fitted = super().bind(neighbours)
        for side in (neighbours.d0, neighbours.d1):
            self._centre(self.answers(side))
        return fitted

    def worst_case(self) -> Neighbours:
        """Return answers `sensitivity` apart, the larger one on the grid: rounding places them the most steps apart."""
        refuse_worst_case(type(self).__name__, self.query)
        upper = self.on_grid.sensitivity * self.granularity
        return Neighbours(upper - self.sensitivity, upper, self.relation)

    def log_density_around(self, answers: Floats, outputs: Outputs) -> Floats:
        """Return the log probability of each output, shape `(size,)`; -inf off the grid."""
        steps = Outputs(outputs.values / self.granularity)
        return self.on_grid.log_density_around(self._centre(answers) / self.granularity, steps)

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        return self.on_grid._draw(shape, rng) * self.granularity

    def _noise_log_density(self, noise: Floats) -> Floats:
        return self.on_grid._noise_log_density(noise / self.granularity)
