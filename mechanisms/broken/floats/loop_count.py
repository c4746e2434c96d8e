"""Wrong on purpose: integer noise that is drawn in a loop, and a clock that counts its turns."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...guarantees import ExactDP, PureDP
from ...guarantees.base import Guarantee
from ...noise.discrete.geometric import Geometric
from ...relation import Relation
from ...validation import positive


@dataclass(frozen=True)
class LoopCountReleased(Mechanism):
    """Broken: a noisy count, and the number of turns of the loop that drew its noise, which is what a clock shows.

    Two-sided geometric noise, drawn as textbooks do: a sign, then a coin of heads probability a = exp(-epsilon) until
    the first tails, whose number of heads is |Z|; minus 0 is drawn again. Each toss is one turn:

        turns = |Z| + 1 + (attempts thrown away),     each thrown away with probability r = (1 - a) / 2

    The slip: who sees when the answer comes sees |Z|, and so the count itself, up to its side. A count c and an output
    y need at least |y - c| + 1 turns: fewer prove that it was another. (Jin, McMurtry, Rubinstein and Ohrimenko 2022.)
    A sampler that always takes the same time, such as `Geometric`, has no such channel.

    Args:
        epsilon: the claim, > 0: that of the noisy count alone.
        relation: the neighbouring relation.

    Guarantees:
        * The output law is exact; on neighbouring counts four kinds of outputs matter, which gives the exact curve.

    Example:
        >>> broken = LoopCountReleased(epsilon=0.1)
        >>> broken.exact_guarantee().epsilon([0.0, 0.4])
        array([inf, inf])
        >>> broken.release(5, 2, np.random.default_rng(0)).values.shape
        (2, 2)
    """

    epsilon: float
    _: KW_ONLY
    relation: Relation = Relation.ADD_REMOVE
    noise: Geometric = field(init=False, repr=False, compare=False)

    sensitivity: ClassVar[int] = 1

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        object.__setattr__(self, "relation", Relation.of(self.relation))
        object.__setattr__(self, "noise", Geometric(self.epsilon, relation=self.relation))

    @property
    def thrown_away(self) -> float:
        """r: probability that an attempt gives minus 0 and is thrown away."""
        return -0.5 * math.expm1(-self.epsilon)

    def guarantee(self) -> Guarantee:
        """The claim, `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Counts c and c + 1. For one output |Z| differs by one between them, and the side whose |Z| is smaller needs
        one more attempt thrown away: side 1 for outputs above c, side 0 for the others."""
        a, r = self.noise.ratio, self.thrown_away
        near, far = 1.0 / (1.0 + a), a / (1.0 + a)
        #               only side 1      both, above     both, below     only side 0
        p1 = np.array([near * (1.0 - r), near * r, far, 0.0])
        return ExactDP(p1[::-1], p1, relation=self.relation)

    def worst_case(self) -> Neighbours:
        return self.noise.worst_case()

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        self.noise.fitted_to(neighbours)
        return self

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Noisy counts and turns: int64, shape `(size, 2)`."""
        answer = self.noise.answers(dataset)
        noisy = self.noise.release(answer, size, rng).values
        thrown_away = rng.geometric(1.0 - self.thrown_away, size=size) - 1
        return Outputs(np.column_stack([noisy, np.abs(noisy - answer) + 1 + thrown_away]).astype(np.int64))

    def output_law(self) -> LogDensity:
        """Its own: see `log_density`."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log probability of each output under `dataset`, shape `(size,)`; -inf where the turns are too few."""
        noisy, turns = outputs.values[:, 0], outputs.values[:, 1]
        thrown_away = turns - 1 - np.abs(noisy - self.noise.answers(dataset))
        law = self.noise.log_density(Outputs(noisy), dataset) + math.log1p(-self.thrown_away)
        return np.where(thrown_away >= 0, law + thrown_away * math.log(self.thrown_away), -np.inf)
