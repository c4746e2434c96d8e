"""One run of a private selection: a random candidate, its output, and its score as the last number.

TuningTrial        interface of one run
NoisyCandidate     the index of a candidate, and its noisy score
RandomMechanism    the output of one of several mechanisms, and a score that is a function of this output
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ...accounting import GaussianDP, LaplaceDP, PureDP, RenyiDP
from ...accounting.conversion.convert import to_renyi
from ...accounting.numerics.laplace import laplace_cdf, laplace_log_density
from ...accounting.numerics.quadrature import simpson
from ...core.arrays import Floats
from ...core.base import Data, Dataset, Mechanism, Neighbours, Outputs, Workers
from ...core.constraints import Positive, PositiveInt, one_of_names
from ...core.errors import ParameterError, plural
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...noise.laplace import draw_laplace
from ...noise.queries.answers import check_distance


class TuningTrial(Mechanism):
    """A mechanism whose outputs are rows `(size, k)` of numbers, the last of which is a score: higher is better."""

    _dataset = Data.ANSWERS

    def chances(self, scores: Floats, dataset: Dataset) -> tuple[Floats, Floats] | None:
        """Return the probabilities that a run on `dataset` has a lower and a higher score; None if not known."""

    def cells(self, pair: Neighbours, cuts: tuple[float, ...] = ()) -> OutcomeCells | None:
        """Return the points of a numerical integral of the densities of both sides; None if not known.

        Args:
            pair: the pair whose outputs are integrated.
            cuts: scores at which densities may jump.
        """


@dataclass(frozen=True, eq=False)
class OutcomeCells:
    """Outputs `(n, k)` as the nodes of a numerical integral, and their weights `(n,)`."""

    outputs: Floats
    weights: Floats


NOISES = ("laplace", "gaussian")
MAX_PIECE_SCALES = 1000.0
"""Longest finely divided piece of an integral, in noise scales; the middle of a longer piece has mass e^-40."""
_MAX_BLOCK_ENTRIES = 2_000_000
"""Largest number of floats in memory at once."""


@dataclass(frozen=True)
class NoisyCandidate(TuningTrial):
    """A random one of `n_candidates` hyper-parameters, and its noisy score on the private data.

    The simplest form of hyper-parameter tuning: the choice of the candidate does not depend on the data, and only its
    score does.

    Args:
        epsilon: epsilon of one run, > 0: the noise has scale sensitivity / epsilon (Laplace) or standard deviation
            sensitivity / epsilon (Gaussian), so that one run is epsilon-DP, or epsilon-Gaussian DP (Dwork, McSherry,
            Nissim and Smith 2006; Dong, Roth and Su 2022).
        n_candidates: at least 1; the dataset is the vector `(n_candidates,)` of their scores.
        sensitivity: largest change of any single score between neighbours, > 0.
        noise: "laplace" or "gaussian".
        relation: the neighbouring relation of `sensitivity`.

    Example:
        >>> NoisyCandidate(epsilon=1.0, n_candidates=3).release([0.0, 5.0, 1.0], 2, np.random.default_rng(0)).values
        array([[2.        , 2.01732777],
               [1.        , 4.46946379]])
    """

    epsilon: Positive
    n_candidates: PositiveInt
    _: KW_ONLY
    sensitivity: Positive = 1.0
    noise: Annotated[str, one_of_names(*NOISES)] = "laplace"
    relation: Relation = Relation.REPLACE_ONE

    @property
    def scale(self) -> float:
        """Scale of the noise, sensitivity / epsilon."""
        return self.sensitivity / self.epsilon

    def scores(self, dataset: Dataset) -> Floats:
        """Return the score of each candidate, shape `(n_candidates,)`."""
        scores = np.asarray(dataset, dtype=np.float64)
        if scores.shape != (self.n_candidates,) or not np.isfinite(scores).all():
            raise ParameterError(
                f"the dataset must be {self.n_candidates} finite scores, one a candidate (n_candidates), but is "
                f"{scores!r}.",
                argument="dataset",
            )
        return scores

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the candidate and the noisy score of each run, `(size, 2)`."""
        chosen = rng.integers(self.n_candidates, size=size)
        if self.noise == "laplace":
            noise = draw_laplace(self.scale, (size,), rng)
        else:
            noise = self.scale * rng.standard_normal(size)
        return Outputs(np.column_stack([chosen, self.scores(dataset)[chosen] + noise]))

    def chances(self, scores: Floats, dataset: Dataset) -> tuple[Floats, Floats]:
        """Return the probabilities of a lower and a higher score, averaged over the candidates."""
        distinct, counts = np.unique(self.scores(dataset), return_counts=True)
        shares, levels = counts / self.n_candidates, np.asarray(scores)
        below = ndtr if self.noise == "gaussian" else laplace_cdf
        worse, better = np.empty((2, len(levels)))
        block = max(1, _MAX_BLOCK_ENTRIES // len(distinct))
        for start in range(0, len(levels), block):
            block_rows = slice(start, start + block)
            distance = (levels[block_rows, np.newaxis] - distinct) / self.scale
            worse[block_rows], better[block_rows] = below(distance) @ shares, below(-distance) @ shares
        return worse, better

    def cells(self, pair: Neighbours, cuts: tuple[float, ...] = ()) -> OutcomeCells:
        """Return the nodes of Simpson's rule, from 40 scales below the least score to 40 above the largest.

        Candidates with equal scores on both sides are merged.
        """
        moves, first, times = np.unique(
            np.column_stack([self.scores(pair.d0), self.scores(pair.d1)]), axis=0, return_index=True, return_counts=True
        )
        ends = np.unique(
            np.concatenate([moves.ravel(), moves.ravel() - 40 * self.scale, moves.ravel() + 40 * self.scale, cuts])
        )
        widths = np.maximum(self.scale, np.diff(ends) / MAX_PIECE_SCALES) / 100.0
        scores, weights = zip(*map(_nodes, ends[:-1], ends[1:], widths), strict=True)
        score, weight = np.concatenate(scores), np.concatenate(weights)
        outputs = np.column_stack([np.repeat(first, len(score)), np.tile(score, len(first))])
        return OutcomeCells(outputs.astype(np.float64), np.outer(times, weight).ravel())

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of candidates and noisy scores, shape `(size,)`."""
        chosen = outputs.values[:, 0].astype(np.int64)
        offset = outputs.values[:, 1] - self.scores(dataset)[chosen]
        if self.noise == "laplace":
            density = laplace_log_density(offset, self.scale)
        else:
            density = -0.5 * (offset / self.scale) ** 2 - np.log(self.scale * np.sqrt(2 * np.pi))
        return np.asarray(density - np.log(self.n_candidates))

    def guarantee(self) -> Guarantee:
        """Return `LaplaceDP(epsilon)`, or `GaussianDP(epsilon)`: the choice of the candidate leaks nothing."""
        kind = LaplaceDP if self.noise == "laplace" else GaussianDP
        return kind(self.epsilon, relation=self.relation)

    def worst_case(self) -> Neighbours:
        """Return a pair on which candidate 0 gains and all others lose: it is tried rarely, and then stands out."""
        d0 = np.zeros(self.n_candidates)
        d0[0] = -self.sensitivity
        d1 = np.full(self.n_candidates, -self.sensitivity)
        d1[0] = 0.0
        return Neighbours(d0, d1, self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        check_distance(
            self.scores(neighbours.d0), self.scores(neighbours.d1), sensitivity=self.sensitivity, norm=np.inf
        )


def _nodes(start: float, end: float, width: float) -> tuple[Floats, Floats]:
    """Return the nodes and weights of Simpson's rule below `end`, with steps of at most `width`."""
    nodes, weights = simpson(np.array([start, end]), 2 * max(1, int(np.ceil((end - start) / (2.0 * width)))))
    return np.minimum(nodes, np.nextafter(end, start)), weights


@dataclass(frozen=True)
class RandomMechanism(TuningTrial):
    """A random one of several private mechanisms, such as training runs with several settings, and its score.

    Args:
        mechanisms: at least one, all for the same relation; their outputs have one shape.
        score: a function from outputs `(size, ...)` to `(size,)` scores, higher is better. It must not use the private
            data; it may use public data.

    Guarantees:
        * The largest Renyi divergence of the mechanisms at each order; the largest epsilon if all are pure.
    """

    mechanisms: tuple[Mechanism, ...]
    score: Callable[[NDArray[Any]], NDArray[Any]]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mechanisms", tuple(self.mechanisms))
        for mechanism in self.mechanisms:
            if not isinstance(mechanism, Mechanism):
                raise ParameterError(f"mechanisms must be Mechanisms, but one is {mechanism!r}.", argument="mechanisms")
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
        """Most restrictive kind of workers of the mechanisms."""
        kinds = {mechanism.workers for mechanism in self.mechanisms}
        return next(kind for kind in (Workers.THIS_PROCESS, Workers.PROCESSES, Workers.THREADS) if kind in kinds)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the index of the mechanism, its output in one row, and the score, `(size, 1 + k + 1)`."""
        chosen = rng.integers(len(self.mechanisms), size=size)
        rows: Floats | None = None
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
        """Return each output in one row, `(size, k)`, and its score."""
        if outputs.events is not None:
            raise ParameterError("a mechanism gave an exceptional output, which has no score.", argument="mechanisms")
        scores = np.asarray(self.score(outputs.values), dtype=np.float64)
        if scores.shape != (len(outputs),):
            raise ParameterError(
                f"score must give one number per output, shape ({len(outputs)},), but gave shape {scores.shape}.",
                argument="score",
            )
        return outputs.values.reshape(len(outputs), int(np.prod(outputs.values.shape[1:]))), scores

    def chances(self, scores: Floats, dataset: Dataset) -> None:
        """Return None: the law of the scores is not known."""

    def guarantee(self) -> Guarantee:
        """Return the worst guarantee of the mechanisms."""
        guarantees = [mechanism.guarantee() for mechanism in self.mechanisms]
        if all(part.default_delta == 0.0 for part in guarantees):
            return PureDP(max(part.epsilon(0.0) for part in guarantees), relation=self.relation)
        curves = [to_renyi(part) for part in guarantees]
        orders = sorted(set.intersection(*(set(curve.orders) for curve in curves)))
        largest = [
            max(dict(zip(curve.orders, curve.divergences, strict=True))[order] for curve in curves) for order in orders
        ]
        return RenyiDP(tuple(orders), tuple(largest), self.relation)

    def exact_guarantee(self) -> None:
        """Return None: the exact curve is not known."""

    def worst_case(self) -> Neighbours:
        """Return the worst case of the first mechanism."""
        return self.mechanisms[0].worst_case()

    def bind(self, neighbours: Neighbours) -> Mechanism:
        """Return the mechanism with all its mechanisms fitted to the pair."""
        return replace(self, mechanisms=tuple(mechanism.bind(neighbours) for mechanism in self.mechanisms))
