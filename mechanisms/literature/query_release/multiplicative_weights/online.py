"""Private multiplicative weights: a distribution answers a stream of queries while its error is small."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy.special import logsumexp

from ....accounting import ConcentratedDP, PureDP
from ....accounting.numerics.laplace import laplace_log_cdf, laplace_log_density, log_laplace
from ....accounting.numerics.quadrature import gauss_legendre
from ....core.arrays import Bools, Floats, Ints
from ....core.base import Dataset, LogDensity, Neighbours, Outputs, example
from ....core.constraints import Finite, OpenUnit, Positive, PositiveInt, one_of_names
from ....core.guarantee import Guarantee
from ....noise.laplace import draw_laplace
from ....selection.sparse_vector.numerical import NumericalSparseVector
from ...statistics.laplace_choice import LaplaceChoiceDP
from .base import MultiplicativeWeightsUpdate, WorkloadRelease, blocks, detectability

VIEWS = ("transcript", "answers")
NODES, GROWTH, REACH = 8, 3.0, 60.0
"""Nodes per panel, growth factor of the panels away from a corner, and range beyond the last corner in scales."""
MAX_BLOCK_ENTRIES = 2_000_000
"""Largest number of entries in an array of one block of rows."""


@dataclass(frozen=True)
class PrivateMultiplicativeWeights(WorkloadRelease):
    """Private multiplicative weights: a numerical sparse vector over the errors of an adaptive distribution.

    The queries of the workload arrive one after the other. The distribution A is uniform at first. For each query q,

        lazy      |q(x) - n q(A)| + Laplace is below a noisy threshold: the answer is n q(A), at no privacy cost
        update    else: the answer is m = q(x) + Laplace, and A(c) <- A(c) exp(q(c) (m - n q(A)) / 2n), normalised

    After `n_updates` updates, A answers all remaining queries. (Hardt and Rothblum 2010; in this form, based on sparse
    vector, Dwork and Roth 2014, algorithm 6, who test the error and its negative instead of the absolute error.)

    Args:
        workload: the queries, in the order of the stream.
        n_records: as for `MWEM`.
        epsilon: the claim, > 0.
        delta: None for an epsilon-DP mechanism: one `NumericalSparseVector` with all updates. Strictly between 0 and 1
            for (epsilon, delta): each update ends a separate sparse vector with a fresh noisy threshold.
        threshold: threshold on the error, as a count, >= 0.
        n_updates: number of updates after which the records are no longer used, >= 1.
        view: "transcript": `(size, n_queries)`, the released m for an update, else 0; or "answers" to all queries.
        relation: the neighbouring relation of the claim.

    Guarantees:
        * delta None: epsilon-DP by `NumericalSparseVector`: errors change by at most `sensitivity`, given earlier
          outputs.
        * Otherwise rho-zCDP with the rho of (epsilon, delta): each of the `n_updates` stretches is epsilon_0-DP,
          epsilon_0 = sqrt(2 rho / n_updates), and so (epsilon_0^2 / 2)-zCDP (Bun and Steinke 2016, proposition 1.4).
        * The law of transcripts is exact up to a quadrature over each threshold (about 1e-8); `exact_guarantee()` is
          available for one update.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Workload
        >>> prefixes = Workload.prefixes({"age": 8})
        >>> mechanism = PrivateMultiplicativeWeights(prefixes, 200, epsilon=5.0, threshold=40.0, n_updates=2)
        >>> transcripts = mechanism.release(np.repeat([1, 6], 100), 3, np.random.default_rng(0)).values
        >>> transcripts.shape, int((transcripts != 0.0).sum(axis=1).max())
        ((3, 8), 2)
    """

    _example = example(threshold=6.0)

    _: KW_ONLY
    epsilon: Positive
    delta: OpenUnit | None = None
    threshold: Finite
    n_updates: PositiveInt = 1
    view: Annotated[str, one_of_names(*VIEWS)] = "transcript"

    @cached_property
    def sparse_vector(self) -> NumericalSparseVector:
        """Sparse vector that defines all noise scales, for the whole stream or for one stretch."""
        stretches, epsilon = self.n_updates, self.epsilon
        if self.delta is not None:
            stretches, epsilon = 1, math.sqrt(2.0 * self._concentrated.rho / self.n_updates)
        return NumericalSparseVector(
            epsilon,
            self.workload.n_answers,
            threshold=self.threshold,
            stop_after=stretches,
            sensitivity=self.sensitivity,
            relation=self.relation,
        )

    @property
    def redraws(self) -> bool:
        """True if a fresh noisy threshold is drawn after each update."""
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
    def updates(self) -> MultiplicativeWeightsUpdate:
        """Update rule of the weights."""
        return MultiplicativeWeightsUpdate(self.workload.matrix, float(self.n_records))

    def guarantee(self) -> Guarantee:
        """Return `PureDP(epsilon)`, or the `ConcentratedDP` of (epsilon, delta)."""
        return PureDP(self.epsilon, relation=self.relation) if self.delta is None else self._concentrated

    # --- release ------------------------------------------------------------------------------------------------------

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the outputs of `size` independent runs, shape `(size, n_queries)`."""
        exact = self.answers(dataset)
        parts = blocks(size, max(self.workload.matrix.shape))
        return Outputs(np.concatenate([self._block(exact, runs.stop - runs.start, rng) for runs in parts]))

    def _block(self, exact: Floats, size: int, rng: np.random.Generator) -> Floats:
        log_weights, remaining = self.updates.uniform(size), np.full(size, self.n_updates)
        transcript, answers = np.zeros((size, len(exact))), np.zeros((size, len(exact)))
        noisy_threshold = self.threshold + draw_laplace(self.threshold_scale, (size,), rng)
        for query, truth in enumerate(exact):
            predicted = self._own_answer(log_weights, query)
            noisy_error = np.abs(truth - predicted) + draw_laplace(self.query_scale, (size,), rng)
            rows = np.flatnonzero((noisy_error >= noisy_threshold) & (remaining > 0))
            measured = truth + draw_laplace(self.value_scale, (len(rows),), rng)
            transcript[rows, query], answers[:, query] = measured, predicted
            answers[rows, query] = measured
            self._update(log_weights, rows, query, measured)
            remaining[rows] -= 1
            if self.redraws:
                noisy_threshold[rows] = self.threshold + draw_laplace(self.threshold_scale, (len(rows),), rng)
        return transcript if self.view == "transcript" else answers

    def _own_answer(self, log_weights: Floats, query: int) -> Floats:
        """Return the answer of each run's distribution to one query, as a count."""
        return np.asarray(self.n_records * (np.exp(log_weights) @ self.workload.matrix[query]))

    def _update(self, log_weights: Floats, rows: Ints, query: int, measured: Floats) -> None:
        moved = log_weights[rows]
        self.updates.apply(moved, np.full(len(rows), query), measured)
        log_weights[rows] = moved

    # --- law ----------------------------------------------------------------------------------------------------------

    def output_law(self) -> LogDensity | None:
        """Return self, the law of transcripts; None for answers."""
        return self if self.view == "transcript" else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each transcript under `dataset`, shape `(size,)`; -inf for too many updates."""
        values, exact = np.asarray(outputs.values, dtype=np.float64), self.answers(dataset)
        parts = blocks(len(values), max(self.workload.matrix.shape))
        return np.concatenate([self._log_densities(values[runs], exact) for runs in parts])

    def _log_densities(self, values: Floats, exact: Floats) -> Floats:
        above = values != 0.0
        before = np.cumsum(above, axis=1) - above
        errors = np.abs(exact - self._own_answers(values, above))
        log_density = np.where(above, laplace_log_density(values - exact, self.value_scale), 0.0).sum(axis=1)
        for stretch in range(self.n_updates if self.redraws else 1):
            active = before == stretch if self.redraws else before < self.n_updates
            log_density += self._log_comparisons(errors, active & ~above, active & above)
        return np.where(above.sum(axis=1) <= self.n_updates, log_density, -np.inf)

    def _log_comparisons(self, errors: Floats, below: Bools, above: Bools) -> Floats:
        """Return the log probability that the errors are `below` and `above` one noisy threshold."""
        return _log_comparison_probability(
            errors, below, above, threshold=self.threshold, scales=(self.threshold_scale, self.query_scale)
        )

    def _own_answers(self, values: Floats, above: Bools) -> Floats:
        """Return the answer of each run's distribution to each query at its arrival."""
        log_weights, answers = self.updates.uniform(len(values)), np.empty(values.shape)
        for query in range(values.shape[1]):
            answers[:, query] = self._own_answer(log_weights, query)
            rows = np.flatnonzero(above[:, query])
            self._update(log_weights, rows, query, values[rows, query])
        return answers

    # --- exact curve --------------------------------------------------------------------------------------------------

    def worst_case(self) -> Neighbours:
        """Return the pair of `pairs` whose first update is most detectable; see `detectability`."""
        return self._worst

    @cached_property
    def _worst(self) -> Neighbours:
        return max(self.pairs(), key=lambda pair: detectability(self._first_update(pair), self.epsilon))

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()` for transcripts of at most one update; else None."""
        return self.curve(self.worst_case())

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """Return the exact curve of a pair for transcripts of at most one update; else None."""
        return self._first_update(neighbours) if self.n_updates == 1 and self.view == "transcript" else None

    def _first_update(self, neighbours: Neighbours) -> LaplaceChoiceDP:
        """Return the curve of the time of the first update, if there is one, and of the number released then.

        Before the first update the distribution is uniform, and the errors are equal in all runs.
        """
        exact = [self.answers(side) for side in (neighbours.d0, neighbours.d1)]
        n_queries = self.workload.n_answers
        above = np.eye(n_queries + 1, n_queries, dtype=np.bool_)
        below = ~np.logical_or.accumulate(above, axis=1)
        predicted = self.updates.answers(self.updates.uniform(1))
        laws = [self._log_comparisons(np.broadcast_to(np.abs(e - predicted), above.shape), below, above) for e in exact]
        distances = np.append(np.abs(exact[1] - exact[0]) / self.value_scale, 0.0)
        return LaplaceChoiceDP.of_logs(laws[0], laws[1], distances, self.relation)


def _log_comparison_probability(
    queries: Floats, below: Bools, above: Bools, *, threshold: float, scales: tuple[float, float]
) -> Floats:
    """Return the log probability that the queries `below` are below one noisy threshold, and those `above` above it.

    The integral is that of `dpassay.mechanisms.selection.sparse_vector.threshold_integral`,

        integral of f((t - threshold) / r) / r  *  product of F((t - q_i) / s) over the queries below
                                                *  product of 1 - F((t - q_i) / s) over those above     dt

    but the queries differ from run to run, and so do the corners of the integrand. Between two corners Gauss-Legendre
    panels widen away from both.

    Args:
        queries: `(size, n_queries)`, the numbers that are compared.
        below, above: masks of the same shape; queries in neither are not compared.
        threshold: threshold without noise.
        scales: scales of the Laplace noise on the threshold and on the queries, > 0.

    Returns:
        `(size,)`.
    """
    sign = above.astype(np.float64) - below
    cases = np.hstack([sign, np.where(sign == 0.0, threshold, queries)])
    distinct, inverse = _distinct(cases)
    sign, queries = np.hsplit(distinct, 2)
    log_probabilities, widths = np.empty(len(distinct)), _widths(scales)
    rows = max(1, MAX_BLOCK_ENTRIES // (2 * len(widths) * NODES * (queries.shape[1] + 2) ** 2))
    for start in range(0, len(distinct), rows):
        block = slice(start, start + rows)
        log_probabilities[block] = _integrals(sign[block], queries[block], threshold, scales, widths)
    return np.asarray(log_probabilities[inverse])


def _distinct(rows: Floats) -> tuple[Floats, Ints]:
    """Return the distinct rows and the index of each row among them.

    Rows are identified by a sum with irrational weights, or by a slower exact comparison if two sums agree.
    """
    sums = rows @ np.sqrt(np.arange(2.0, 2.0 + rows.shape[1]))
    _, first, inverse = np.unique(sums, return_index=True, return_inverse=True)
    distinct, inverse = rows[first], inverse.reshape(len(rows))
    if (distinct[inverse] == rows).all():
        return distinct, inverse
    distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
    return distinct, inverse.reshape(len(rows))


def _widths(scales: tuple[float, float]) -> Floats:
    """Return the distances of the edges of panels from a corner."""
    step, reach = 0.5 * min(scales), REACH * max(scales)
    n_panels = 2 + int(np.log(reach / step) / np.log(GROWTH))
    return np.asarray(np.minimum(step * (GROWTH ** np.arange(n_panels + 1) - 1.0) / (GROWTH - 1.0), reach))


def _integrals(sign: Floats, queries: Floats, threshold: float, scales: tuple[float, float], widths: Floats) -> Floats:
    edges = _edges(np.column_stack([np.full(len(queries), threshold), queries]), widths)
    t, weights = gauss_legendre(edges, NODES)
    log_terms = log_laplace(t, threshold, scales[0])
    for query, side in zip(queries.T, sign.T, strict=True):
        log_terms += np.where(
            side[:, None] == 0.0, 0.0, laplace_log_cdf(-side[:, None] * (t - query[:, None]) / scales[1])
        )
    return np.asarray(logsumexp(log_terms, b=weights, axis=1))


def _edges(corners: Floats, widths: Floats) -> Floats:
    """Return the edges of panels that widen away from the corners of each row, `(size, n_edges)`; some have width 0."""
    corners = np.sort(corners, axis=1)
    middle = 0.5 * np.diff(corners, axis=1)[:, :, None]
    up = corners[:, :-1, None] + np.minimum(widths, middle)
    down = corners[:, 1:, None] - np.minimum(widths, middle)
    ends = (corners[:, :1] - widths, corners[:, -1:] + widths)
    inner = [side.reshape(len(corners), -1) for side in (up, down)]
    return np.sort(np.concatenate([*ends, *inner], axis=1), axis=1)
