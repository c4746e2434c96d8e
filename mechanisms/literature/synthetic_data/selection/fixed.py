"""A fixed list of marginals, each measured once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np

from ....accounting import ConcentratedDP
from ....core import Floats, Guarantee, Outputs, ParameterError, Positive, Relation, one_of_names
from ....noise.gaussian import Gaussian
from ....noise.laplace import Laplace
from ....noise.queries.domain import Domain
from ....noise.queries.marginals import Marginals
from ..base import NOISES, CodedTable, Generator, Marginal, MarginalSelection, NoisyMarginal, checked_marginals


@dataclass(frozen=True)
class FixedMarginals(MarginalSelection):
    """A given list of marginals, measured in one round; the choice is public and has no privacy cost.

    Every cell of every marginal gets independent noise of the same standard deviation: given directly, or calibrated to
    the claim. An added or removed record moves one cell of each of k marginals, a replaced record two.

    Args:
        marginals: the marginals, at least one tuple of attributes.
        noise: "gaussian" or "laplace".
        standard_deviation: standard deviation of the noise of a cell, > 0; or
        epsilon: the claim of all marginals together, > 0, with
        delta: strictly between 0 and 1 for Gaussian noise; omitted for Laplace noise.
        relation: "add_remove" or "replace_one".

    Guarantees:
        * Gaussian noise: mu-Gaussian DP with mu = sqrt(k) / standard_deviation, or sqrt(2 k) under "replace_one",
          exactly; hence mu^2 / 2 concentrated DP.
        * Laplace noise of scale b: epsilon-DP with epsilon = k / b, or 2 k / b, and the curve of one count that moves
          by k, or 2 k; k, or 2 k, counts that move by 1 leak less.
        * The law of the measured answers is known.

    Example:
        >>> selection = FixedMarginals((("sex",), ("sex", "race")), standard_deviation=10.0)
        >>> domain = Domain({"sex": 2, "race": 5})
        >>> print(selection.guarantee(domain))
        GaussianDP(mu=0.141421)
        >>> print(selection.concentrated(domain))
        ConcentratedDP(rho=0.01)
    """

    marginals: tuple[Marginal, ...]
    _: KW_ONLY
    noise: Annotated[str, one_of_names(*NOISES)] = "gaussian"
    standard_deviation: Positive | None = None
    epsilon: float | None = None
    delta: float | None = None
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        names = tuple((marginal,) if isinstance(marginal, str) else tuple(marginal) for marginal in self.marginals)
        object.__setattr__(self, "marginals", names)
        if self.standard_deviation is None:
            if self.epsilon is None or (self.delta is None) == (self.noise == "gaussian"):
                needs = "epsilon and delta" if self.noise == "gaussian" else "epsilon, but no delta"
                raise ParameterError(f"give standard_deviation, or, for {self.noise} noise, {needs}.")
        elif self.epsilon is not None or self.delta is not None:
            raise ParameterError("give either standard_deviation, or epsilon and delta, but not both.")

    def candidates(self, domain: Domain) -> tuple[Marginal, ...]:
        marginals = checked_marginals(domain, self.marginals)
        if not Marginals(domain, marginals).sensitivity(self.relation):
            raise ParameterError(
                argument="marginals",
                value=marginals,
                allowed="hold an attribute of at least two values under 'replace_one', where the number of records, "
                "the only number that a single cell counts, is public and needs no noise",
            )
        return marginals

    def _noise(self, domain: Domain) -> Gaussian | Laplace:
        """Return Gaussian or Laplace noise on the cells of all marginals, concatenated, as a mechanism on records."""
        cells = Marginals(domain, self.candidates(domain))
        if self.noise == "gaussian":
            sensitivity = cells.sensitivity(self.relation, norm=2.0)
            multiplier = None if self.standard_deviation is None else self.standard_deviation / sensitivity
            return Gaussian(
                self.epsilon,
                self.delta,
                noise_multiplier=multiplier,
                sensitivity=sensitivity,
                n_queries=cells.n_answers,
                query=cells,
                relation=self.relation,
            )
        sensitivity = cells.sensitivity(self.relation, norm=1.0)
        epsilon = self.epsilon
        if epsilon is None:
            assert self.standard_deviation is not None
            epsilon = math.sqrt(2.0) * sensitivity / self.standard_deviation
        return Laplace(epsilon, sensitivity=sensitivity, n_queries=cells.n_answers, query=cells, relation=self.relation)

    def deviation(self, domain: Domain) -> float:
        """Return the standard deviation of the noise of a cell."""
        noise = self._noise(domain)
        return noise.standard_deviation if isinstance(noise, Gaussian) else math.sqrt(2.0) * noise.scale

    def concentrated(self, domain: Domain) -> ConcentratedDP:
        """Return the claim as usually stated, mu^2 / 2 or epsilon^2 / 2; `guarantee` is exact and stronger."""
        noise = self._noise(domain)
        parameter = noise.mu if isinstance(noise, Gaussian) else noise.epsilon
        return ConcentratedDP(0.5 * parameter**2, relation=self.relation)

    def measure(
        self, table: CodedTable, generator: Generator, size: int, rng: np.random.Generator
    ) -> tuple[NoisyMarginal, ...]:
        names, deviation = self.candidates(table.domain), self.deviation(table.domain)
        answers = self._noise(table.domain).release(table.records, size, rng).values.reshape(size, -1)
        parts = Marginals(table.domain, names).parts(answers)
        return tuple(
            NoisyMarginal(marginal, part, deviation, self.noise) for marginal, part in zip(names, parts, strict=True)
        )

    def guarantee(self, domain: Domain) -> Guarantee:
        return self._noise(domain).guarantee()

    def exact_guarantee(self, domain: Domain) -> Guarantee | None:
        """Return the claim for Gaussian noise; None for Laplace noise if more than one cell moves, which leaks less."""
        moved = Marginals(domain, self.candidates(domain)).sensitivity(self.relation, norm=1.0)
        return self.guarantee(domain) if self.noise == "gaussian" or moved == 1.0 else None

    def transcript(self, domain: Domain, measured: Sequence[NoisyMarginal], size: int) -> Floats:
        """Return the answers, concatenated over the marginals, shape `(size, n_answers)`."""
        return np.concatenate([measurement.answers for measurement in measured], axis=1)

    def has_density(self, generator: Generator) -> bool:
        return True

    def log_density(self, transcripts: Floats, table: CodedTable, generator: Generator) -> Floats:
        """Return the log density of the noise of all cells."""
        answers = transcripts if transcripts.shape[1] > 1 else transcripts[:, 0]
        return self._noise(table.domain).log_density(Outputs(answers), table.records)
