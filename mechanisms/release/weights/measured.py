"""Rounds of multiplicative weights: choose a query that is answered badly, measure it, move the weights.

A run is its transcript, the chosen queries and their noisy answers: the weights are a function of it. So its exact law
is a product over the rounds, of the probability that the exponential mechanism chooses the query, given the weights
that the rounds before have led to, and the density of the noise on its answer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from ...base import Dataset, LogDensity, Neighbours, Outputs
from ...guarantees.base import Guarantee
from ...queries.base import Floats
from ...validation import one_of, whole
from .base import WorkloadRelease
from .updates import Chosen, Updates, blocks

VIEWS = ("transcript", "distribution", "answers")
MOST_NUMBERS = 40_000_000
"""Up to this many probabilities of transcripts, cut into cells, and weights of cells, the exact curve is computed."""
SEEN = 0.01
"""Probability from which on a choice counts for the worst case."""
NODES = 8
"""Gauss-Legendre nodes a panel."""


@dataclass(frozen=True)
class MeasuredWeights(WorkloadRelease):
    """Multiplicative weights with the exponential mechanism, and noise of a kind that the subclass gives.

    Args:
        workload, n_records, relation: as for `WorkloadRelease`.
        rounds: queries that are measured, >= 1.
        replays: how often, after each round, the weights are moved by all measurements so far once more, >= 0.
        synthetic: "average" of the distributions that the rounds began with, or "last", the one after all of them.
        view: what is released, one of `VIEWS`.
    """

    _: KW_ONLY
    rounds: int = 10
    replays: int = 0
    synthetic: str = "average"
    view: str = "transcript"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(1, rounds=self.rounds)
        whole(0, replays=self.replays)
        one_of(("average", "last"), synthetic=self.synthetic)
        one_of(VIEWS, view=self.view)

    @property
    @abstractmethod
    def selection_epsilon(self) -> float:
        """Of the exponential mechanism in one round."""

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """Of the noise on one measured count: what distances are divided by in the curve."""

    @abstractmethod
    def _draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Noise on one count in each run."""

    @abstractmethod
    def _noise_log_density(self, noise: Floats) -> Floats:
        """Log density of the noise on a count."""

    @abstractmethod
    def _panels(self, centres: Floats) -> Floats:
        """Edges of panels, on each of which the noise around these centres has a smooth density."""

    @abstractmethod
    def _choice_curve(self, log0: Floats, log1: Floats, distances: Floats) -> Guarantee:
        """Of a choice that is seen, of these log probabilities, and a number of centres `distances` scales apart."""

    @property
    def selection_rate(self) -> float:
        """What the error of a query is multiplied by before the best one is chosen with Gumbel noise of scale 1."""
        return self.selection_epsilon / (2.0 * self.move)

    @cached_property
    def updates(self) -> Updates:
        """The steps of the weights."""
        return Updates(self.workload.matrix, float(self.n_records))

    # --- release ------------------------------------------------------------------------------------------------------

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` runs: transcripts `(size, rounds, 2)`, each row the number of a query and its noisy answer;
        distributions `(size, n_cells)`; or their answers to the workload, as counts, `(size, n_queries)`."""
        exact = self.answers(dataset)
        return Outputs(np.concatenate([self._block(exact, runs.stop - runs.start, rng) for runs in self._blocks(size)]))

    def _blocks(self, size: int) -> Iterator[slice]:
        return blocks(size, max(self.workload.matrix.shape))

    def _block(self, exact: Floats, size: int, rng: np.random.Generator) -> Floats:
        log_weights, total = self.updates.uniform(size), np.zeros((size, self.workload.matrix.shape[1]))
        transcript = np.empty((size, self.rounds, 2))
        for done in range(self.rounds):
            if self.view != "transcript":
                total += np.exp(log_weights)
            utility = self.selection_rate * np.abs(exact - self.updates.answers(log_weights))
            chosen = (utility - np.log(rng.standard_exponential(utility.shape))).argmax(axis=1)
            transcript[:, done, 0], transcript[:, done, 1] = chosen, exact[chosen] + self._draw(size, rng)
            self._move(log_weights, transcript[:, : done + 1])
        return self._seen(transcript, total / self.rounds if self.synthetic == "average" else np.exp(log_weights))

    def _move(self, log_weights: Floats, transcript: Floats) -> None:
        """The weights after the last round of the transcript, from those before it."""
        if not transcript.shape[1]:
            return
        chosen, measured = transcript[:, :, 0].astype(np.int64), transcript[:, :, 1]
        self.updates.apply(log_weights, chosen[:, -1], measured[:, -1])
        for place in list(range(transcript.shape[1])) * self.replays:
            self.updates.apply(log_weights, chosen[:, place], measured[:, place])

    def _seen(self, transcript: Floats, distribution: Floats) -> Floats:
        if self.view == "transcript":
            return transcript
        return distribution if self.view == "distribution" else self.n_records * self.workload.of(distribution)

    # --- law ----------------------------------------------------------------------------------------------------------

    def output_law(self) -> LogDensity | None:
        """Its own, of transcripts; None for what is computed from them."""
        return self if self.view == "transcript" else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density of each transcript under `dataset`, shape `(size,)`; -inf where a number is no query's."""
        values, exact = np.asarray(outputs.values, dtype=np.float64), self.answers(dataset)
        parts = [self._log_densities(values[runs], exact) for runs in self._blocks(len(values))]
        return np.concatenate(parts)

    def _log_densities(self, transcripts: Floats, exact: Floats) -> Floats:
        numbers = transcripts[:, :, 0]
        possible = ((numbers >= 0) & (numbers < len(exact)) & (numbers == np.floor(numbers))).all(axis=1)
        transcripts = np.where(possible[:, None, None], transcripts, 0.0)
        log_weights, log_density = self.updates.uniform(len(transcripts)), np.zeros(len(transcripts))
        for done in range(self.rounds):
            self._move(log_weights, transcripts[:, :done])
            chosen = transcripts[:, done, 0].astype(np.int64)
            log_p = self._log_probabilities(log_weights, exact)
            log_density += np.take_along_axis(log_p, chosen[:, None], axis=1)[:, 0]
            log_density += self._noise_log_density(transcripts[:, done, 1] - exact[chosen])
        return np.where(possible, log_density, -np.inf)

    def _log_probabilities(self, log_weights: Floats, exact: Floats) -> Floats:
        """Log probability of each query to be chosen in each run, `(size, n_queries)`."""
        error = np.abs(exact - self.updates.answers(log_weights))
        return np.asarray(log_softmax(self.selection_rate * error, axis=1))

    def worst_case(self) -> Neighbours:
        """Of pairs whose other records lie in one or two cells, the one that the first round tells most about.

        No pair attains the claim: selection gives its whole epsilon only on a query that is all but never chosen, whose
        error grows while that of all others shrinks. Queries chosen less than once in a hundred runs are left out here.
        """
        return max(self.pairs(), key=self._first_round)

    def _first_round(self, neighbours: Neighbours) -> float:
        """The largest privacy loss of the first round, of the choice and of the measurement."""
        exact = [self.answers(side) for side in (neighbours.d0, neighbours.d1)]
        log_p = [self._log_probabilities(self.updates.uniform(1), answers)[0] for answers in exact]
        losses = np.abs(log_p[1] - log_p[0]) + np.abs(exact[1] - exact[0]) / self.noise_scale
        return float(losses[np.maximum(*log_p) >= np.log(SEEN)].max(initial=0.0))

    # --- exact curve --------------------------------------------------------------------------------------------------

    def exact_guarantee(self) -> Guarantee | None:
        """The exact curve of `worst_case()` for transcripts; None where there are too many, and for other views."""
        return self.curve(self.worst_case())

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """The exact curve of a pair for transcripts; None where there are too many, and for other views.

        All choices are enumerated, and all measurements but the last are integrated by Gauss-Legendre panels; the last
        is in closed form. With one round nothing is cut into cells.
        """
        exact = [self.answers(side) for side in (neighbours.d0, neighbours.d1)]
        nodes = [self._noise_nodes(*centres) for centres in zip(*exact, strict=True)]
        n_prefixes = sum(len(values) for values, _ in nodes) ** (self.rounds - 1)
        if self.view != "transcript" or n_prefixes * sum(self.workload.matrix.shape) > MOST_NUMBERS:
            return None
        log_weights, transcripts = self.updates.uniform(1), np.empty((1, 0, 2))
        laws = [np.zeros(1), np.zeros(1)]
        for _ in range(self.rounds - 1):
            transcripts, laws, rows = self._measured(transcripts, laws, log_weights, nodes, exact)
            log_weights = log_weights[rows]
            self._move(log_weights, transcripts)
        laws = [law[:, None] + self._log_probabilities(log_weights, e) for law, e in zip(laws, exact, strict=True)]
        distances = np.broadcast_to(np.abs(exact[1] - exact[0]) / self.noise_scale, laws[0].shape).ravel()
        return self._choice_curve(laws[0].ravel(), laws[1].ravel(), distances)

    def _measured(
        self,
        transcripts: Floats,
        laws: list[Floats],
        log_weights: Floats,
        nodes: list[tuple[Floats, Floats]],
        exact: list[Floats],
    ) -> tuple[Floats, list[Floats], Chosen]:
        """Transcripts with one round more, their log probabilities on both sides, and which one each continues."""
        chances = [self._log_probabilities(log_weights, e) for e in exact]
        longer: list[Floats] = []
        grown: list[list[Floats]] = [[], []]
        rows: list[Chosen] = []
        for query, (values, weights) in enumerate(nodes):
            row, place = (index.ravel() for index in np.indices((len(transcripts), len(values))))
            new = np.column_stack([np.full(len(row), float(query)), values[place]])[:, None]
            longer.append(np.concatenate([transcripts[row], new], axis=1))
            rows.append(row)
            for side in (0, 1):
                noise = self._noise_log_density(values - exact[side][query]) + np.log(weights)
                grown[side].append(laws[side][row] + chances[side][row, query] + noise[place])
        return np.concatenate(longer), [np.concatenate(side) for side in grown], np.concatenate(rows)

    def _noise_nodes(self, *centres: float) -> tuple[Floats, Floats]:
        """Nodes and weights of a quadrature over a noisy answer that is centred on one of two numbers."""
        edges = self._panels(np.unique(centres))
        x, w = np.polynomial.legendre.leggauss(NODES)
        half = 0.5 * np.diff(edges)[:, None]
        return (0.5 * (edges[:-1] + edges[1:])[:, None] + half * x).ravel(), (half * w).ravel()
