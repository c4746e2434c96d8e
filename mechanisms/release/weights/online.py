"""Private multiplicative weights online: a stream of queries, answered by a distribution as long as that is right."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...base import Dataset, LogDensity, Neighbours, Outputs
from ...guarantees import ConcentratedDP, PureDP
from ...guarantees.base import Guarantee
from ...noise.laplace import draw_laplace, laplace_log_density
from ...queries.base import Floats
from ...sparse_vector.numerical import NumericalSparseVector
from ...statistics.laplace_choice import LaplaceChoiceDP
from ...validation import finite, one_of, open_unit, positive, whole
from .base import WorkloadRelease, shown
from .stretches import log_stretch
from .updates import Updates, blocks

VIEWS = ("transcript", "answers")


@dataclass(frozen=True)
class OnlineWeights(WorkloadRelease):
    """Private multiplicative weights: a numerical sparse vector over the errors of a distribution that learns.

    The queries of the workload come one after the other. The distribution A begins uniform. For each query q,

        lazy      |q(x) - n q(A)| + Laplace is below a noisy threshold: the answer is n q(A), and costs nothing
        update    else: the answer is m = q(x) + Laplace, and A(c) <- A(c) exp(q(c) (m - n q(A)) / 2n), normalised

    After `n_updates` updates the rest is answered by A. (Hardt and Rothblum 2010; as here, with sparse vector at its
    heart, Dwork and Roth 2014, algorithm 6, who ask for the error and for its negative instead of its size.)

    Args:
        workload: the queries, in the order of the stream.
        n_records: as for `MWEM`.
        epsilon: the claim, > 0.
        delta: None for an epsilon-DP mechanism: one `NumericalSparseVector` with all updates. Strictly between 0 and 1
            for (epsilon, delta): each update ends a sparse vector of its own, with a threshold that is drawn anew.
        threshold: on the error, as a count, >= 0.
        n_updates: after which the records are not looked at any more, >= 1.
        view: "transcript": `(size, n_queries)`, the released m at an update, else 0; or "answers" to all queries.
        relation: the neighbouring relation of the claim.

    Guarantees:
        * delta None: epsilon-DP, as `NumericalSparseVector`: errors move by at most `move`, whatever was released.
        * Else rho-zCDP with the rho of (epsilon, delta): each of the `n_updates` stretches is epsilon_0-DP, epsilon_0 =
          sqrt(2 rho / n_updates), and so epsilon_0^2 / 2 concentrated (Bun and Steinke 2016, proposition 1.4).
        * The law of transcripts is exact up to a quadrature over each threshold (about 1e-8); `exact_guarantee()`
          where there is one update.

    Example:
        >>> from dpassay.mechanisms.queries import Workload
        >>> mechanism = OnlineWeights(Workload.prefixes({"age": 8}), 200, epsilon=5.0, threshold=40.0, n_updates=2)
        >>> found = mechanism.release(np.repeat([1, 6], 100), 3, np.random.default_rng(0)).values
        >>> found.shape, int((found != 0.0).sum(axis=1).max())
        ((3, 8), 2)
    """

    _: KW_ONLY
    epsilon: float
    delta: float | None = None
    threshold: float
    n_updates: int = 1
    view: str = "transcript"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(epsilon=self.epsilon)
        if self.delta is not None:
            open_unit(delta=self.delta)
        finite(threshold=self.threshold)
        whole(1, n_updates=self.n_updates)
        one_of(VIEWS, view=self.view)

    @cached_property
    def sparse_vector(self) -> NumericalSparseVector:
        """What the scales of all noise are from: of the whole stream, or of one stretch."""
        stretches, epsilon = self.n_updates, self.epsilon
        if self.delta is not None:
            stretches, epsilon = 1, math.sqrt(2.0 * self._concentrated.rho / self.n_updates)
        return NumericalSparseVector(
            epsilon,
            self.workload.n_answers,
            threshold=self.threshold,
            stop_after=stretches,
            sensitivity=self.move,
            relation=self.relation,
        )

    @property
    def redraws(self) -> bool:
        """Whether the threshold is drawn anew after each update."""
        return self.delta is not None

    @property
    def threshold_scale(self) -> float:
        """Scale of the noise on the threshold."""
        return self.sparse_vector.threshold_scale

    @property
    def query_scale(self) -> float:
        """Scale of the noise on the error of each query."""
        return self.sparse_vector.query_scale

    @property
    def value_scale(self) -> float:
        """Scale of the noise on a released answer."""
        return self.sparse_vector.value_scale

    @property
    def _concentrated(self) -> ConcentratedDP:
        return ConcentratedDP.for_budget(epsilon=self.epsilon, delta=self.delta or 0.5, relation=self.relation)

    @cached_property
    def updates(self) -> Updates:
        """The steps of the weights."""
        return Updates(self.workload.matrix, float(self.n_records))

    def guarantee(self) -> Guarantee:
        """`PureDP(epsilon)`, or the `ConcentratedDP` of (epsilon, delta)."""
        return PureDP(self.epsilon, relation=self.relation) if self.delta is None else self._concentrated

    # --- release ------------------------------------------------------------------------------------------------------

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` independent runs, shape `(size, n_queries)`: query after query, all runs at once."""
        exact = self.answers(dataset)
        parts = blocks(size, max(self.workload.matrix.shape))
        return Outputs(np.concatenate([self._block(exact, runs.stop - runs.start, rng) for runs in parts]))

    def _block(self, exact: Floats, size: int, rng: np.random.Generator) -> Floats:
        log_weights, left = self.updates.uniform(size), np.full(size, self.n_updates)
        transcript, answers = np.zeros((size, len(exact))), np.zeros((size, len(exact)))
        bar = self.threshold + draw_laplace(self.threshold_scale, (size,), rng)
        for query, truth in enumerate(exact):
            own = self._own_answer(log_weights, query)
            seen = np.abs(truth - own) + draw_laplace(self.query_scale, (size,), rng)
            rows = np.flatnonzero((seen >= bar) & (left > 0))
            measured = truth + draw_laplace(self.value_scale, (len(rows),), rng)
            transcript[rows, query], answers[:, query] = measured, own
            answers[rows, query] = measured
            self._update(log_weights, rows, query, measured)
            left[rows] -= 1
            if self.redraws:
                bar[rows] = self.threshold + draw_laplace(self.threshold_scale, (len(rows),), rng)
        return transcript if self.view == "transcript" else answers

    def _own_answer(self, log_weights: Floats, query: int) -> Floats:
        """What each run's distribution answers to one query, as a count."""
        return np.asarray(self.n_records * (np.exp(log_weights) @ self.workload.matrix[query]))

    def _update(self, log_weights: Floats, rows: NDArray[np.int64], query: int, measured: Floats) -> None:
        moved = log_weights[rows]
        self.updates.apply(moved, np.full(len(rows), query), measured)
        log_weights[rows] = moved

    # --- law ----------------------------------------------------------------------------------------------------------

    def output_law(self) -> LogDensity | None:
        """Its own, of transcripts; None for answers."""
        return self if self.view == "transcript" else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density of each transcript under `dataset`, shape `(size,)`; -inf where more is updated than can be."""
        values, exact = np.asarray(outputs.values, dtype=np.float64), self.answers(dataset)
        parts = blocks(len(values), max(self.workload.matrix.shape))
        return np.concatenate([self._log_densities(values[runs], exact) for runs in parts])

    def _log_densities(self, values: Floats, exact: Floats) -> Floats:
        above = values != 0.0
        before = np.cumsum(above, axis=1) - above
        errors = np.abs(exact - self._own_answers(values, above))
        log_density = np.where(above, laplace_log_density(values - exact, self.value_scale), 0.0).sum(axis=1)
        for stretch in range(self.n_updates if self.redraws else 1):
            here = before == stretch if self.redraws else before < self.n_updates
            log_density += self._log_stretch(errors, here & ~above, here & above)
        return np.where(above.sum(axis=1) <= self.n_updates, log_density, -np.inf)

    def _log_stretch(self, errors: Floats, below: NDArray[np.bool_], above: NDArray[np.bool_]) -> Floats:
        """Log probability that these errors are below, and those above, one noisy threshold."""
        return log_stretch(
            errors, below, above, threshold=self.threshold, scales=(self.threshold_scale, self.query_scale)
        )

    def _own_answers(self, values: Floats, above: NDArray[np.bool_]) -> Floats:
        """What each run's distribution answered to each query when it came."""
        log_weights, found = self.updates.uniform(len(values)), np.empty(values.shape)
        for query in range(values.shape[1]):
            found[:, query] = self._own_answer(log_weights, query)
            rows = np.flatnonzero(above[:, query])
            self._update(log_weights, rows, query, values[rows, query])
        return found

    # --- exact curve --------------------------------------------------------------------------------------------------

    def worst_case(self) -> Neighbours:
        """Of pairs whose other records lie in one or two cells, the one whose first update shows most to trials; see
        `shown`."""
        return self._worst

    @cached_property
    def _worst(self) -> Neighbours:
        return max(self.pairs(), key=lambda pair: shown(self._first_update(pair), self.epsilon))

    def exact_guarantee(self) -> Guarantee | None:
        """The exact curve of `worst_case()` for transcripts of at most one update; else None."""
        return self.curve(self.worst_case())

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """The exact curve of a pair for transcripts of at most one update; else None."""
        return self._first_update(neighbours) if self.n_updates == 1 and self.view == "transcript" else None

    def _first_update(self, neighbours: Neighbours) -> LaplaceChoiceDP:
        """When the first update comes, if it comes, and what is released then.

        Until then the distribution is uniform, and the errors are the same in all runs.
        """
        exact = [self.answers(side) for side in (neighbours.d0, neighbours.d1)]
        n_queries = self.workload.n_answers
        above = np.eye(n_queries + 1, n_queries, dtype=np.bool_)
        below = ~np.logical_or.accumulate(above, axis=1)
        own = self.updates.answers(self.updates.uniform(1))
        laws = [self._log_stretch(np.broadcast_to(np.abs(e - own), above.shape), below, above) for e in exact]
        distances = np.append(np.abs(exact[1] - exact[0]) / self.value_scale, 0.0)
        return LaplaceChoiceDP.of_logs(laws[0], laws[1], distances, self.relation)
