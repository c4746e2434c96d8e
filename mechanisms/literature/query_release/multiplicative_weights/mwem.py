"""Multiplicative weights with the exponential mechanism (MWEM), with Laplace and with Gaussian noise.

Each round chooses a query with a large error, and measures it. The transcript of a run consists of the chosen queries
and their noisy answers; the weights are a function of it. The exact law of the transcript is a product over the rounds
of the probability that the exponential mechanism chooses the query, given the weights after the previous rounds, and
the density of the noise on the answer.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy.special import log_ndtr, log_softmax, ndtr

from ....accounting import ConcentratedDP, PureMechanism
from ....accounting.numerics.laplace import laplace_log_density
from ....accounting.numerics.quadrature import gauss_legendre
from ....core.arrays import Floats, Ints
from ....core.base import Dataset, LogDensity, Neighbours, Outputs, example
from ....core.constraints import NonNegativeInt, OpenUnit, Positive, PositiveInt, one_of_names
from ....core.guarantee import Guarantee
from ....noise.laplace import draw_laplace
from ....selection.sparse_vector.threshold_integral import panels
from ...statistics.laplace_choice import ChoiceDP, LaplaceChoiceDP
from .base import MultiplicativeWeightsUpdate, WorkloadRelease, blocks

VIEWS = ("transcript", "distribution", "answers")
MAX_TRANSCRIPT_ENTRIES = 40_000_000
"""Largest number of probabilities of discretised transcripts and weights for which the exact curve is computed."""
MIN_CHOICE_PROBABILITY = 0.01
"""Smallest probability of a choice that matters for the worst case."""
N_NODES = 8
"""Gauss-Legendre nodes per panel."""


@dataclass(frozen=True)
class BaseMWEM(WorkloadRelease):
    """Base class of multiplicative weights with the exponential mechanism and additive noise.

    Args:
        rounds: number of queries that are measured, >= 1.
        replays: number of further updates by all measurements so far after each round, >= 0.
        synthetic: "average" of the distributions before each round, or "last", the distribution after all rounds.
        view: the released output, one of `VIEWS`.
    """

    _example = example(rounds=1)

    _: KW_ONLY
    rounds: PositiveInt = 10
    replays: NonNegativeInt = 0
    synthetic: Annotated[str, one_of_names("average", "last")] = "average"
    view: Annotated[str, one_of_names(*VIEWS)] = "transcript"

    @property
    @abstractmethod
    def selection_epsilon(self) -> float:
        """Epsilon of the exponential mechanism in one round."""

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """Scale of the noise on one measured count, the unit of distances in the curve."""

    @abstractmethod
    def _draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Draw the noise on one count in each run."""

    @abstractmethod
    def _noise_log_density(self, noise: Floats) -> Floats:
        """Return the log density of the noise on a count."""

    @abstractmethod
    def _panels(self, centres: Floats) -> Floats:
        """Return the edges of panels, on each of which the noise around these centres has a smooth density."""

    @abstractmethod
    def _choice_curve(self, log0: Floats, log1: Floats, distances: Floats) -> Guarantee:
        """Return the curve of an observed choice with these log probabilities and a number at these distances."""

    @property
    def selection_rate(self) -> float:
        """Factor of the error of a query before the choice with Gumbel noise of scale 1."""
        return self.selection_epsilon / (2.0 * self.sensitivity)

    @cached_property
    def updates(self) -> MultiplicativeWeightsUpdate:
        """Update rule of the weights."""
        return MultiplicativeWeightsUpdate(self.workload.matrix, float(self.n_records))

    # --- release ------------------------------------------------------------------------------------------------------

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the outputs of `size` runs, according to `view`.

        Returns:
            Transcripts `(size, rounds, 2)`, each row the number of a query and its noisy answer; distributions
            `(size, n_cells)`; or their answers to the workload, as counts, `(size, n_queries)`.
        """
        exact = self.answers(dataset)
        return Outputs(np.concatenate([self._block(exact, runs.stop - runs.start, rng) for runs in self._blocks(size)]))

    def _blocks(self, size: int) -> Iterator[slice]:
        return blocks(size, max(self.workload.matrix.shape))

    def _block(self, exact: Floats, size: int, rng: np.random.Generator) -> Floats:
        log_weights, total = self.updates.uniform(size), np.zeros((size, self.workload.matrix.shape[1]))
        transcript = np.empty((size, self.rounds, 2))
        for step in range(self.rounds):
            if self.view != "transcript":
                total += np.exp(log_weights)
            utility = self.selection_rate * np.abs(exact - self.updates.answers(log_weights))
            chosen = (utility - np.log(rng.standard_exponential(utility.shape))).argmax(axis=1)
            transcript[:, step, 0], transcript[:, step, 1] = chosen, exact[chosen] + self._draw(size, rng)
            self._move(log_weights, transcript[:, : step + 1])
        return self._seen(transcript, total / self.rounds if self.synthetic == "average" else np.exp(log_weights))

    def _move(self, log_weights: Floats, transcript: Floats) -> None:
        """Update the weights by the last round of the transcript, and by the replays."""
        if not transcript.shape[1]:
            return
        chosen, measured = transcript[:, :, 0].astype(np.int64), transcript[:, :, 1]
        self.updates.apply(log_weights, chosen[:, -1], measured[:, -1])
        for step in list(range(transcript.shape[1])) * self.replays:
            self.updates.apply(log_weights, chosen[:, step], measured[:, step])

    def _seen(self, transcript: Floats, distribution: Floats) -> Floats:
        if self.view == "transcript":
            return transcript
        return distribution if self.view == "distribution" else self.n_records * self.workload.of(distribution)

    # --- law ----------------------------------------------------------------------------------------------------------

    def output_law(self) -> LogDensity | None:
        """Return self, the law of transcripts; None for the other views."""
        return self if self.view == "transcript" else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each transcript under `dataset`, shape `(size,)`; -inf for an unknown query."""
        values, exact = np.asarray(outputs.values, dtype=np.float64), self.answers(dataset)
        parts = [self._log_densities(values[runs], exact) for runs in self._blocks(len(values))]
        return np.concatenate(parts)

    def _log_densities(self, transcripts: Floats, exact: Floats) -> Floats:
        numbers = transcripts[:, :, 0]
        possible = ((numbers >= 0) & (numbers < len(exact)) & (numbers == np.floor(numbers))).all(axis=1)
        transcripts = np.where(possible[:, None, None], transcripts, 0.0)
        log_weights, log_density = self.updates.uniform(len(transcripts)), np.zeros(len(transcripts))
        for step in range(self.rounds):
            self._move(log_weights, transcripts[:, :step])
            chosen = transcripts[:, step, 0].astype(np.int64)
            log_p = self._log_probabilities(log_weights, exact)
            log_density += np.take_along_axis(log_p, chosen[:, None], axis=1)[:, 0]
            log_density += self._noise_log_density(transcripts[:, step, 1] - exact[chosen])
        return np.where(possible, log_density, -np.inf)

    def _log_probabilities(self, log_weights: Floats, exact: Floats) -> Floats:
        """Return the log probability of each query to be chosen in each run, `(size, n_queries)`."""
        error = np.abs(exact - self.updates.answers(log_weights))
        return np.asarray(log_softmax(self.selection_rate * error, axis=1))

    def worst_case(self) -> Neighbours:
        """Return the pair, with other records in one or two cells, with the largest loss in the first round.

        No pair attains the claim: the selection attains its epsilon only on a query with a negligible probability,
        whose error increases while all other errors decrease. Queries chosen less than once in a hundred runs are left
        out. At larger rates another query may be rare: pairs are compared by the loss at the rate of the claim, plus a
        third of that at three times this rate.
        """
        return max(self.pairs(), key=lambda pair: self._first_round(pair, 1.0) + self._first_round(pair, 3.0) / 3.0)

    def _first_round(self, neighbours: Neighbours, factor: float) -> float:
        """Return the largest privacy loss of the first round, of choice and measurement, at `factor` times the rate."""
        exact = [self.answers(side) for side in (neighbours.d0, neighbours.d1)]
        start = self.updates.uniform(1)
        log_p = [log_softmax(factor * self._log_probabilities(start, answers)[0]) for answers in exact]
        losses = np.abs(log_p[1] - log_p[0]) + factor * np.abs(exact[1] - exact[0]) / self.noise_scale
        return float(losses[np.maximum(*log_p) >= np.log(MIN_CHOICE_PROBABILITY)].max(initial=0.0))

    # --- exact curve --------------------------------------------------------------------------------------------------

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()` for transcripts; None if there are too many, or for other views."""
        return self.curve(self.worst_case())

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """Return the exact curve of a pair for transcripts; None if there are too many, or for other views.

        All choices are enumerated, and all measurements except the last are integrated by Gauss-Legendre panels; the
        last is in closed form. With one round there is no discretisation.
        """
        exact = [self.answers(side) for side in (neighbours.d0, neighbours.d1)]
        nodes = [self._noise_nodes(*centres) for centres in zip(*exact, strict=True)]
        n_prefixes = sum(len(values) for values, _ in nodes) ** (self.rounds - 1)
        if self.view != "transcript" or n_prefixes * sum(self.workload.matrix.shape) > MAX_TRANSCRIPT_ENTRIES:
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
    ) -> tuple[Floats, list[Floats], Ints]:
        """Return transcripts with one further round, their log probabilities on both sides, and their predecessors."""
        log_choices = [self._log_probabilities(log_weights, e) for e in exact]
        extended: list[Floats] = []
        extended_laws: list[list[Floats]] = [[], []]
        rows: list[Ints] = []
        for query, (values, weights) in enumerate(nodes):
            row, node = (index.ravel() for index in np.indices((len(transcripts), len(values))))
            new = np.column_stack([np.full(len(row), float(query)), values[node]])[:, None]
            extended.append(np.concatenate([transcripts[row], new], axis=1))
            rows.append(row)
            for side in (0, 1):
                noise = self._noise_log_density(values - exact[side][query]) + np.log(weights)
                extended_laws[side].append(laws[side][row] + log_choices[side][row, query] + noise[node])
        return np.concatenate(extended), [np.concatenate(side) for side in extended_laws], np.concatenate(rows)

    def _noise_nodes(self, *centres: float) -> tuple[Floats, Floats]:
        """Return nodes and weights of a quadrature over a noisy answer that is centred on one of two numbers."""
        return gauss_legendre(self._panels(np.unique(centres)), N_NODES)


_CENTRE_TOLERANCE = 1e-12
"""Distance below which two centres are equal."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class GaussianChoiceDP(ChoiceDP):
    """Exact curve of an observed choice, and a number with Gaussian noise whose centre depends on it.

    Choice i has probability weights0[i] on side 0 and weights1[i] on side 1; then a number is released, with Gaussian
    noise around centres at a distance of distances[i] standard deviations.

    Given the choice, the excess of one law over e^t times the other is, for any real t and d = distances[i],

        Phi(d/2 - t/d) - e^t Phi(-d/2 - t/d),   and (1 - e^t)+ for d = 0   (Balle and Wang 2018, theorem 8)

    and delta(epsilon) is its mean over the choices, with t = epsilon minus the log ratio of the weights.

    Args:
        weights0, weights1: `(n_choices,)`, probabilities, each summing to 1 within 1e-6.
        distances: `(n_choices,)`, >= 0; 0 for a choice after which no number is released.
        relation: the neighbouring relation; None for that of the pair on which it is compared.

    Raises:
        ParameterError: weights that are not probabilities, or not as many as distances.

    Example:
        >>> both_ways = GaussianChoiceDP([0.5, 0.5], [0.25, 0.75], [1.0, 1.0])
        >>> both_ways.epsilon(0.0), round(both_ways.delta(1.0), 6)
        (inf, 0.179151)
    """

    def _excess(self, threshold: Floats, distances: Floats) -> Floats:
        t, d = threshold, np.maximum(distances, _CENTRE_TOLERANCE)
        with np.errstate(invalid="ignore", over="ignore"):
            different = ndtr(0.5 * d - t / d) - np.exp(t + log_ndtr(-0.5 * d - t / d))
        equal = -np.expm1(np.minimum(t, 0.0))
        return np.where((distances < _CENTRE_TOLERANCE) | ~np.isfinite(t), equal, np.maximum(different, 0.0))

    def _epsilon(self, delta: Floats) -> Floats:
        bounded = np.array_equal(*self._possible) and not self.distances.any()
        largest = self._log_ratios.max(initial=0.0) if bounded else np.inf
        return np.asarray(np.where(delta == 0.0, largest, np.minimum(largest, super()._epsilon(delta))))


_REACH, _GAUSSIAN_REACH = 40.0, 10.0
"""Range of the integration beyond the centres, in scales of the noise."""


@dataclass(frozen=True)
class MWEM(PureMechanism, BaseMWEM):
    """MWEM: in each round, selection of a query with a large error, and a measurement with Laplace noise.

    The mechanism starts with the uniform distribution A over the cells of the domain. In each of T rounds

        selection     query q with probability proportional to exp(epsilon_s |q(x) - n q(A)| / (2 sensitivity))
        measurement   m = q(x) + Laplace(sensitivity / epsilon_m)
        weights       A(c) <- A(c) exp(q(c) (m - n q(A)) / 2n), normalised

    where epsilon_s + epsilon_m = epsilon / T and `sensitivity` is the largest change of one answer between neighbours.
    (Hardt, Ligett and McSherry 2012, figure 1, where both get half.)

    Args:
        workload: the queries, over the cells of a domain, as a matrix in memory.
        n_records: public, >= 1: the number of records under replace_one and zero_out; under add_remove only a scale,
            which must not depend on the data.
        epsilon: the claim, > 0.
        selection_share: share of epsilon for the selection, strictly between 0 and 1.
        rounds: number of queries that are measured, >= 1.
        replays: number of further updates by all measurements so far after each round, >= 0.
        synthetic: "average" of the distributions before each round, or "last", the distribution after all rounds.
        view: the released output. "transcript": the chosen queries and their noisy answers `(size, rounds, 2)`, from
            which the other views are computed; "distribution": `(size, n_cells)`; "answers": the answers of the
            distribution to the workload, as counts, `(size, n_queries)`.
        relation: the neighbouring relation of the claim.

    Guarantees:
        * epsilon-DP: each round is an exponential mechanism whose utilities change by at most `sensitivity`, at
          epsilon_s, and a Laplace mechanism on one answer, at epsilon_m, both chosen adaptively from earlier outputs.
        * The law of transcripts is exact; `exact_guarantee()` is their curve on the worst case, up to a quadrature over
          all measurements except the last (about 1e-6 in delta), where that is feasible.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Workload
        >>> mechanism = MWEM(Workload.prefixes({"age": 16}), n_records=100, epsilon=5.0, rounds=4, view="answers")
        >>> ages = np.repeat([3, 9], 50)
        >>> answers = mechanism.release(ages, 200, np.random.default_rng(0)).values
        >>> answers.shape, bool(np.abs(answers.mean(axis=0) - mechanism.answers(ages)).max() < 35.0)
        ((200, 16), True)
    """

    _: KW_ONLY
    epsilon: Positive
    selection_share: OpenUnit = 0.5

    @property
    def selection_epsilon(self) -> float:
        return self.selection_share * self.epsilon / self.rounds

    @property
    def measurement_epsilon(self) -> float:
        """Epsilon of the Laplace noise of one round."""
        return (1.0 - self.selection_share) * self.epsilon / self.rounds

    @property
    def noise_scale(self) -> float:
        """Scale of the Laplace noise on one measured count."""
        return self.sensitivity / self.measurement_epsilon

    def _draw(self, size: int, rng: np.random.Generator) -> Floats:
        return draw_laplace(self.noise_scale, (size,), rng)

    def _noise_log_density(self, noise: Floats) -> Floats:
        return laplace_log_density(noise, self.noise_scale)

    def _panels(self, centres: Floats) -> Floats:
        return panels(centres, self.noise_scale / 2.0, _REACH * self.noise_scale)

    def _choice_curve(self, log0: Floats, log1: Floats, distances: Floats) -> Guarantee:
        return LaplaceChoiceDP.of_logs(log0, log1, distances, self.relation)


@dataclass(frozen=True)
class GaussianMWEM(BaseMWEM):
    """MWEM with Gaussian noise, with a guarantee by zero-concentrated differential privacy.

    The mechanism is `MWEM` with N(0, sigma^2) on the measured count, sigma^2 = sensitivity^2 / (2 rho_m), and an
    exponential mechanism at epsilon_s = sqrt(8 rho_s), where rho_s + rho_m = rho / T. Its log ratios lie in an interval
    of length epsilon_s, which implies (epsilon_s^2 / 8)-zCDP (Cesar and Rogers 2021, from Hoeffding's lemma), four
    times better than the implication of epsilon_s-DP.

    Args:
        workload, n_records, rounds, replays, synthetic, view, relation: as for `MWEM`.
        rho: the claim, > 0.
        selection_share: share of rho for the selection, strictly between 0 and 1.

    Guarantees:
        * rho-zCDP: concentrated divergences add up over the rounds (Bun and Steinke 2016, lemma 2.3).
        * The law of transcripts is exact, and `exact_guarantee()` is computed as for `MWEM`.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Workload
        >>> mechanism = GaussianMWEM(Workload.prefixes({"age": 16}), n_records=100, rho=0.5, rounds=4)
        >>> mechanism.noise_scale, mechanism.selection_epsilon
        (2.82842712474619, 0.7071067811865476)
    """

    _: KW_ONLY
    rho: Positive
    selection_share: OpenUnit = 0.5

    @property
    def selection_epsilon(self) -> float:
        return math.sqrt(8.0 * self.selection_share * self.rho / self.rounds)

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise on one measured count."""
        return self.sensitivity / math.sqrt(2.0 * (1.0 - self.selection_share) * self.rho / self.rounds)

    def guarantee(self) -> Guarantee:
        """Return `ConcentratedDP(rho)`."""
        return ConcentratedDP(self.rho, relation=self.relation)

    def _draw(self, size: int, rng: np.random.Generator) -> Floats:
        return self.noise_scale * rng.standard_normal(size)

    def _noise_log_density(self, noise: Floats) -> Floats:
        log_scale = math.log(self.noise_scale) + 0.5 * math.log(2.0 * math.pi)
        return np.asarray(-0.5 * (noise / self.noise_scale) ** 2 - log_scale)

    def _panels(self, centres: Floats) -> Floats:
        low, high = centres[0] - _GAUSSIAN_REACH * self.noise_scale, centres[-1] + _GAUSSIAN_REACH * self.noise_scale
        return np.linspace(low, high, 2 + int(2.0 * (high - low) / self.noise_scale))

    def _choice_curve(self, log0: Floats, log1: Floats, distances: Floats) -> Guarantee:
        return GaussianChoiceDP.of_logs(log0, log1, distances, self.relation)
