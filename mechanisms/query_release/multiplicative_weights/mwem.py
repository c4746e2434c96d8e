"""Multiplicative weights with the exponential mechanism (MWEM)."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...accounting import ConcentratedDP, PureDP
from ...core.arrays import Floats
from ...core.constraints import OpenUnit, Positive
from ...core.guarantee import Guarantee
from ...noise.laplace import draw_laplace, laplace_log_density
from ...noise.statistics.laplace_choice import LaplaceChoiceDP
from ...selection.sparse_vector.threshold_integral import panels
from .gaussian_choice import GaussianChoiceDP
from .measured import MeasuredWeights

_REACH, _GAUSSIAN_REACH = 40.0, 10.0
"""Range of the integration beyond the centres, in scales of the noise."""


@dataclass(frozen=True)
class MWEM(MeasuredWeights):
    """MWEM: in each round, selection of a query with a large error, and a measurement with Laplace noise.

    The mechanism starts with the uniform distribution A over the cells of the domain. In each of T rounds

        selection     query q with probability proportional to exp(epsilon_s |q(x) - n q(A)| / (2 move))
        measurement   m = q(x) + Laplace(move / epsilon_m)
        weights       A(c) <- A(c) exp(q(c) (m - n q(A)) / 2n), normalised

    where epsilon_s + epsilon_m = epsilon / T and `move` is the largest change of one answer between neighbours. (Hardt,
    Ligett and McSherry 2012, figure 1, where both get half.)

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
        * epsilon-DP: each round is an exponential mechanism whose utilities change by at most `move`, at epsilon_s, and
          a Laplace mechanism on one answer, at epsilon_m, both chosen adaptively from earlier outputs.
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
        return self.move / self.measurement_epsilon

    def guarantee(self) -> Guarantee:
        """Return `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def _draw(self, size: int, rng: np.random.Generator) -> Floats:
        return draw_laplace(self.noise_scale, (size,), rng)

    def _noise_log_density(self, noise: Floats) -> Floats:
        return laplace_log_density(noise, self.noise_scale)

    def _panels(self, centres: Floats) -> Floats:
        return panels(centres, self.noise_scale / 2.0, _REACH * self.noise_scale)

    def _choice_curve(self, log0: Floats, log1: Floats, distances: Floats) -> Guarantee:
        return LaplaceChoiceDP.of_logs(log0, log1, distances, self.relation)


@dataclass(frozen=True)
class GaussianMWEM(MeasuredWeights):
    """MWEM with Gaussian noise, with a guarantee by zero-concentrated differential privacy.

    The mechanism is `MWEM` with N(0, sigma^2) on the measured count, sigma^2 = move^2 / (2 rho_m), and an exponential
    mechanism at epsilon_s = sqrt(8 rho_s), where rho_s + rho_m = rho / T. Its log ratios lie in an interval of length
    epsilon_s, which implies (epsilon_s^2 / 8)-zCDP (Cesar and Rogers 2021, from Hoeffding's lemma), four times better
    than the implication of epsilon_s-DP.

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
        return self.move / math.sqrt(2.0 * (1.0 - self.selection_share) * self.rho / self.rounds)

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
