"""Runs of a private selection: a random candidate, its output, and its score as the last number.

NoisyCandidate     the index of a candidate, and its score with noise
RandomMechanism    the output of one of several mechanisms, with a score that only looks at this output
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ..base import Dataset, LogDensity, Mechanism, Neighbours, Outputs, Workers
from ..errors import ParameterError, plural
from ..guarantees import GaussianDP, LaplaceDP, PureDP, RenyiDP
from ..guarantees.base import Guarantee
from ..guarantees.conversion.convert import to_renyi
from ..noise.laplace import draw_laplace, laplace_log_density
from ..queries.answers import check_distance
from ..queries.base import Floats
from ..relation import Relation
from ..validation import one_of, positive, whole
from .base import Cells, Trial

NOISES = ("laplace", "gaussian")
MOST_SCALES = 1000.0
"""Of the noise, in one piece of an integral, that are cut finely; the middle of a longer one holds e^-40 of the law."""
_BLOCK = 2_000_000
"""Numbers that are held at once."""


@dataclass(frozen=True)
class NoisyCandidate(Trial):
    """One of `n_candidates` hyper-parameters at random, and its score on the private data with noise.

    What is tuned in its barest form: which candidate is tried does not depend on the data, and its score is all that
    is learned of them.

    Args:
        epsilon: of one run, > 0: the noise has scale sensitivity / epsilon (Laplace) or standard deviation
            sensitivity / epsilon (Gaussian), so that one run is epsilon-DP, or epsilon-Gaussian DP.
        n_candidates: at least 1; the dataset is the vector `(n_candidates,)` of their scores.
        sensitivity: largest change of any single score between neighbours, > 0.
        noise: "laplace" or "gaussian".
        relation: the neighbouring relation that `sensitivity` holds for.

    Example:
        >>> NoisyCandidate(epsilon=1.0, n_candidates=3).release([0.0, 5.0, 1.0], 2, np.random.default_rng(0)).values
        array([[2.        , 2.01732777],
               [1.        , 4.46946379]])
    """

    epsilon: float
    n_candidates: int
    _: KW_ONLY
    sensitivity: float = 1.0
    noise: str = "laplace"
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))
        positive(epsilon=self.epsilon, sensitivity=self.sensitivity)
        whole(1, n_candidates=self.n_candidates)
        one_of(NOISES, noise=self.noise)

    @property
    def scale(self) -> float:
        """Of the noise: sensitivity / epsilon."""
        return self.sensitivity / self.epsilon

    def scores(self, dataset: Dataset) -> Floats:
        """Score of each candidate, shape `(n_candidates,)`."""
        found = np.asarray(dataset, dtype=np.float64)
        if found.shape != (self.n_candidates,) or not np.isfinite(found).all():
            raise ParameterError(
                f"the dataset must be {self.n_candidates} finite scores, one a candidate (n_candidates), but is "
                f"{found!r}.",
                argument="dataset",
            )
        return found

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`(size, 2)`: candidate and noisy score of each run."""
        chosen = rng.integers(self.n_candidates, size=size)
        if self.noise == "laplace":
            noise = draw_laplace(self.scale, (size,), rng)
        else:
            noise = self.scale * rng.standard_normal(size)
        return Outputs(np.column_stack([chosen, self.scores(dataset)[chosen] + noise]))

    def chances(self, scores: Floats, dataset: Dataset) -> tuple[Floats, Floats]:
        """Averages over the candidates."""
        distinct, counts = np.unique(self.scores(dataset), return_counts=True)
        shares, asked = counts / self.n_candidates, np.asarray(scores)
        worse, better = np.empty((2, len(asked)))
        block = max(1, _BLOCK // len(distinct))
        for start in range(0, len(asked), block):
            some = slice(start, start + block)
            distance = (asked[some, np.newaxis] - distinct) / self.scale
            if self.noise == "gaussian":
                worse[some], better[some] = ndtr(distance) @ shares, ndtr(-distance) @ shares
            else:
                tail = 0.5 * np.exp(-np.abs(distance))
                worse[some] = np.where(distance < 0, tail, 1 - tail) @ shares
                better[some] = np.where(distance < 0, 1 - tail, tail) @ shares
        return worse, better

    def cells(self, pair: Neighbours, cuts: tuple[float, ...] = ()) -> Cells:
        """Candidates that move alike are one; scores are integrated between the scores on both sides, and 40 scales
        beyond them, by Simpson's rule."""
        moves, first, times = np.unique(
            np.column_stack([self.scores(pair.d0), self.scores(pair.d1)]), axis=0, return_index=True, return_counts=True
        )
        ends = np.unique(
            np.concatenate([moves.ravel(), moves.ravel() - 40 * self.scale, moves.ravel() + 40 * self.scale, cuts])
        )
        widths = np.maximum(self.scale, np.diff(ends) / MOST_SCALES) / 100.0
        scores, weights = zip(*map(_simpson, ends[:-1], ends[1:], widths), strict=True)
        score, weight = np.concatenate(scores), np.concatenate(weights)
        outputs = np.column_stack([np.repeat(first, len(score)), np.tile(score, len(first))])
        return Cells(outputs.astype(np.float64), np.outer(times, weight).ravel())

    def output_law(self) -> LogDensity:
        """Its own: see `log_density`."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Log density of candidates and noisy scores, shape `(size,)`."""
        chosen = outputs.values[:, 0].astype(np.int64)
        away = outputs.values[:, 1] - self.scores(dataset)[chosen]
        if self.noise == "laplace":
            density = laplace_log_density(away, self.scale)
        else:
            density = -0.5 * (away / self.scale) ** 2 - np.log(self.scale * np.sqrt(2 * np.pi))
        return np.asarray(density - np.log(self.n_candidates))

    def guarantee(self) -> Guarantee:
        """`LaplaceDP(epsilon)`, or `GaussianDP(epsilon)`: which candidate was tried tells nothing."""
        kind = LaplaceDP if self.noise == "laplace" else GaussianDP
        return kind(self.epsilon, relation=self.relation)

    def worst_case(self) -> Neighbours:
        """Candidate 0 gains and all others lose: it is tried rarely, and then stands out."""
        d0 = np.zeros(self.n_candidates)
        d0[0] = -self.sensitivity
        d1 = np.full(self.n_candidates, -self.sensitivity)
        d1[0] = 0.0
        return Neighbours(d0, d1, self.relation)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        check_distance(
            self.scores(neighbours.d0), self.scores(neighbours.d1), sensitivity=self.sensitivity, norm=np.inf
        )
        return self


def _simpson(start: float, end: float, width: float) -> tuple[Floats, Floats]:
    """Points and weights of the composite rule, with steps of at most `width`."""
    steps = 2 * max(1, int(np.ceil((end - start) / (2.0 * width))))
    weights = np.full(steps + 1, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    return np.linspace(start, np.nextafter(end, start), steps + 1), weights * (end - start) / (3.0 * steps)


@dataclass(frozen=True)
class RandomMechanism(Trial):
    """The output of one of several private mechanisms, chosen at random: a training run with one of several settings.

    Args:
        mechanisms: at least one, all for the same relation; their outputs have one shape.
        score: a function from outputs `(size, ...)` to `(size,)` scores, higher is better. It must not look at the
            private data: it may hold public ones.

    Guarantees:
        * The largest of the guarantees of the mechanisms, at each order; the largest epsilon if all are pure.
    """

    mechanisms: tuple[Mechanism, ...]
    score: Callable[[NDArray[Any]], NDArray[Any]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "mechanisms", tuple(self.mechanisms))
        for one in self.mechanisms:
            if not isinstance(one, Mechanism):
                raise ParameterError(f"mechanisms must be Mechanisms, but one is {one!r}.", argument="mechanisms")
        if not self.mechanisms or len({mechanism.relation for mechanism in self.mechanisms}) != 1:
            raise ParameterError(
                f"mechanisms must be at least one, all for one relation, but are {self.mechanisms!r}.",
                argument="mechanisms",
            )
        if not callable(self.score):
            raise ParameterError(f"score must be a function of outputs, but is {self.score!r}.", argument="score")
        object.__setattr__(self, "relation", self.mechanisms[0].relation)

    @property
    def workers(self) -> Workers:
        """Processes, if one of the mechanisms needs them."""
        found = {mechanism.workers for mechanism in self.mechanisms}
        return next(kind for kind in (Workers.HERE, Workers.PROCESSES, Workers.THREADS) if kind in found)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`(size, 1 + k + 1)`: the number of the mechanism, its output in one row, and the score."""
        chosen = rng.integers(len(self.mechanisms), size=size)
        rows: NDArray[np.float64] | None = None
        for number, mechanism in enumerate(self.mechanisms):
            runs = np.flatnonzero(chosen == number)
            if not runs.size and (size or number):
                continue
            flat, scores = self._scored(mechanism.release(dataset, runs.size, rng))
            if rows is None:
                rows = np.empty((size, flat.shape[1] + 2))
            if flat.shape[1] + 2 != rows.shape[1]:
                raise ParameterError(
                    f"mechanisms must give outputs of one shape, but some are {plural(rows.shape[1] - 2, 'number')} "
                    f"and others {flat.shape[1]}.",
                    argument="mechanisms",
                )
            rows[runs, 1:-1], rows[runs, -1] = flat, scores
        assert rows is not None
        rows[:, 0] = chosen
        return Outputs(rows)

    def _scored(self, outputs: Outputs) -> tuple[Floats, Floats]:
        """Each output in one row, `(size, k)`, and its score."""
        if outputs.events is not None:
            raise ParameterError("a mechanism gave an exceptional output, which has no score.", argument="mechanisms")
        scores = np.asarray(self.score(outputs.values), dtype=np.float64)
        if scores.shape != (len(outputs),):
            raise ParameterError(
                f"score must give one number an output, shape ({len(outputs)},), but gave shape {scores.shape}.",
                argument="score",
            )
        return outputs.values.reshape(len(outputs), int(np.prod(outputs.values.shape[1:]))), scores

    def chances(self, scores: Floats, dataset: Dataset) -> None:
        """Not known."""

    def guarantee(self) -> Guarantee:
        """The worst of the mechanisms."""
        each = [mechanism.guarantee() for mechanism in self.mechanisms]
        if all(part.default_delta == 0.0 for part in each):
            return PureDP(max(part.epsilon(0.0) for part in each), relation=self.relation)
        curves = [to_renyi(part) for part in each]
        orders = sorted(set.intersection(*(set(curve.orders) for curve in curves)))
        largest = [
            max(dict(zip(curve.orders, curve.divergences, strict=True))[order] for curve in curves) for order in orders
        ]
        return RenyiDP(tuple(orders), tuple(largest), self.relation)

    def exact_guarantee(self) -> None:
        """Not known."""

    def worst_case(self) -> Neighbours:
        """That of the first mechanism."""
        return self.mechanisms[0].worst_case()

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        """With every mechanism fitted to the pair."""
        return replace(self, mechanisms=tuple(mechanism.fitted_to(neighbours) for mechanism in self.mechanisms))
