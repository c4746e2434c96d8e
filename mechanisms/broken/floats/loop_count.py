"""Intentionally broken integer noise: the number of iterations of its sampling loop leaks through the running time."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...accounting import ExactDP, PureDP
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...core.constraints import Positive
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...noise.geometric import Geometric


@dataclass(frozen=True)
class LoopCountReleased(Mechanism):
    """Broken: a noisy count, and the number of iterations of the sampling loop, which the running time reveals.

    Two-sided geometric noise, drawn as textbooks do: a sign, then a coin of heads probability a = exp(-epsilon) until
    the first tails, whose number of heads is |Z|; minus 0 is drawn again. Each toss is one iteration:

        iterations = |Z| + 1 + (rejected attempts),     each rejected with probability r = (1 - a) / 2

    Bug: the running time reveals |Z|, and with the output the count, up to the sign of Z. A count c and an output y
    need at least |y - c| + 1 iterations: a smaller number refutes c. (Jin, McMurtry, Rubinstein and Ohrimenko 2022.) A
    sampler with constant running time, such as `Geometric`, has no such side channel.

    Args:
        epsilon: the claim, > 0, which is correct for the noisy count without the running time.
        relation: the neighbouring relation.

    Guarantees:
        * The output law is exact; on neighbouring counts it has four classes of outputs, which give the exact curve.

    Example:
        >>> broken = LoopCountReleased(epsilon=0.1)
        >>> broken.exact_guarantee().epsilon([0.0, 0.4])
        array([inf, inf])
        >>> broken.release(5, 2, np.random.default_rng(0)).values.shape
        (2, 2)
    """

    epsilon: Positive
    _: KW_ONLY
    relation: Relation = Relation.ADD_REMOVE
    noise: Geometric = field(init=False, repr=False, compare=False)

    sensitivity: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "relation", Relation.of(self.relation))
        object.__setattr__(self, "noise", Geometric(self.epsilon, relation=self.relation))

    @property
    def thrown_away(self) -> float:
        """Probability r that an attempt gives minus 0 and is rejected."""
        return -0.5 * math.expm1(-self.epsilon)

    def guarantee(self) -> Guarantee:
        """Return the claim, `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of counts c and c + 1.

        For one output |Z| differs by one between the sides, and the side whose |Z| is smaller needs one more rejected
        attempt: side 1 for outputs above c, side 0 for the others.
        """
        a, r = self.noise.ratio, self.thrown_away
        near, far = 1.0 / (1.0 + a), a / (1.0 + a)
        #               only side 1      both, above     both, below     only side 0
        p1 = np.array([near * (1.0 - r), near * r, far, 0.0])
        return ExactDP(p1[::-1], p1, relation=self.relation)

    def worst_case(self) -> Neighbours:
        return self.noise.worst_case()

    def bind(self, neighbours: Neighbours) -> Mechanism:
        self.noise.bind(neighbours)
        return self

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return noisy counts and numbers of iterations, int64, shape `(size, 2)`."""
        answer = self.noise.answers(dataset)
        noisy = self.noise.release(answer, size, rng).values
        n_rejected = rng.geometric(1.0 - self.thrown_away, size=size) - 1
        return Outputs(np.column_stack([noisy, np.abs(noisy - answer) + 1 + n_rejected]).astype(np.int64))

    def output_law(self) -> LogDensity:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log probability of each output under `dataset`, shape `(size,)`; -inf for too few iterations."""
        noisy, iterations = outputs.values[:, 0], outputs.values[:, 1]
        n_rejected = iterations - 1 - np.abs(noisy - self.noise.answers(dataset))
        law = self.noise.log_density(Outputs(noisy), dataset) + math.log1p(-self.thrown_away)
        return np.where(n_rejected >= 0, law + n_rejected * math.log(self.thrown_away), -np.inf)
