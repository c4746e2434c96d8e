"""Gaussian noise that is correlated between steps: the matrix mechanism on the gradients of training.

The noisy sums of all steps are G + C^-1 Z, with one row for each step: G holds the clipped sums, Z independent Gaussian
noise and C, the strategy, is lower triangular. To release them is to release C G + Z, a Gaussian mechanism, and the
next batch may depend on the earlier noisy sums (Denisov, McMahan, Rush, Smith and Thakurta 2022, Theorem 2.1). A record
whose gradients, of norm at most 1, are in the steps of the set pi moves C G by at most

    sens(C)^2 = max over pi of  sum over i, j in pi of |X_ij|,    X = C^T C

(Choquette-Choo, McMahan, Rush and Thakurta 2023, Equation 5). It is attained by equal gradients if no X_ij is negative.
The sets pi that the batches allow are a `Participation`:

    FixedOrder       every b-th step from one of the first b: cyclic batches; b = 1 for full batches
    AnyOrder         one step of each epoch of b steps: shuffled batches
    MinSeparation    steps that are at least b apart, at most k of them; b = 1 for any steps
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from ...core import AccountingError, Bools, Floats, Guarantee, Options, PositiveInt, Relation, positive
from ..kinds.gaussian import GaussianDP
from ..kinds.privacy_loss import PrivacyLossDP

SENSITIVITY_TOLERANCE = 1e-9
"""Relative difference below which two sensitivities are equal."""


class Sensitivity(NamedTuple):
    """Sensitivity of a strategy to a record whose gradients have norm at most 1.

    Args:
        upper: an upper bound.
        attained: the shift by a record with the same unit gradient in all its steps, for one of the allowed sets.
    """

    upper: float
    attained: float

    @property
    def exact(self) -> bool:
        """True if the upper bound is attained."""
        return self.upper <= self.attained * (1.0 + SENSITIVITY_TOLERANCE)


class Participation(Options):
    """Sets of steps in which one record may take part; subclasses are frozen dataclasses."""

    @abstractmethod
    def patterns(self, steps: int) -> Bools:
        """Return some of the allowed sets as a mask, `(n_patterns, steps)`, the likely worst ones among them."""

    @abstractmethod
    def largest_sums(self, values: Floats) -> Floats:
        """Return the largest sum of the entries of an allowed set, `(n,)`, for nonnegative values `(n, steps)`."""

    def sensitivity(self, strategy: Floats) -> Sensitivity:
        """Return the sensitivity of a strategy C, `(steps, steps)`.

        The upper bound adds the largest possible sums of the rows of |C^T C|, for the worst set of rows (Choquette-Choo
        et al. 2023, Algorithm 4).
        """
        gram = np.asarray(strategy).T @ strategy
        rows = self.largest_sums(np.abs(gram))
        return Sensitivity(float(np.sqrt(self.largest_sums(rows[None, :])[0])), self._attained(gram)[0])

    def first_step(self, strategy: Floats) -> int:
        """Return the first step of the worst of the `patterns` for equal gradients."""
        pattern = self.patterns(len(strategy))[self._attained(strategy.T @ strategy)[1]]
        return int(np.flatnonzero(pattern)[0])

    def _attained(self, gram: Floats) -> tuple[float, int]:
        """Return the largest shift by equal gradients over the `patterns`, and its index."""
        patterns = self.patterns(len(gram)).astype(np.float64)
        squares = np.einsum("pi,pi->p", patterns @ gram, patterns)
        best = int(np.argmax(squares > squares.max() * (1.0 - SENSITIVITY_TOLERANCE)))
        return float(np.sqrt(squares[best])), best


@dataclass(frozen=True)
class FixedOrder(Participation):
    """Steps j, j + b, j + 2 b, ... of a record in batch j of b, the same batches in every epoch.

    Args:
        batches_per_epoch: b, >= 1; 1 for full batches.
    """

    batches_per_epoch: PositiveInt = 1

    def patterns(self, steps: int) -> Bools:
        batches = np.arange(min(self.batches_per_epoch, steps))
        return np.asarray(np.arange(steps) % self.batches_per_epoch == batches[:, None])

    def largest_sums(self, values: Floats) -> Floats:
        return np.asarray((values @ self.patterns(values.shape[1]).T).max(axis=1))

    def sensitivity(self, strategy: Floats) -> Sensitivity:
        """Return the sensitivity; the upper bound is the largest sum of |C^T C| over each set."""
        gram = strategy.T @ strategy
        return Sensitivity(self._attained(np.abs(gram))[0], self._attained(gram)[0])


@dataclass(frozen=True)
class AnyOrder(Participation):
    """One step of each epoch, in any order of the batches.

    Args:
        batches_per_epoch: b, >= 1.
    """

    batches_per_epoch: PositiveInt

    def patterns(self, steps: int) -> Bools:
        """Return the sets of records that are in the same batch of every epoch."""
        return FixedOrder(self.batches_per_epoch).patterns(steps)

    def largest_sums(self, values: Floats) -> Floats:
        return np.asarray(
            np.maximum.reduceat(values, np.arange(0, values.shape[1], self.batches_per_epoch), axis=1).sum(axis=1)
        )


@dataclass(frozen=True)
class MinSeparation(Participation):
    """Steps of which any two are at least `separation` apart.

    Args:
        separation: b, >= 1; 1 for any set of steps.
        participations: k, the largest number of steps of a record, >= 1; None for as many as fit.
    """

    separation: PositiveInt = 1
    _: KW_ONLY
    participations: PositiveInt | None = None

    def most(self, steps: int) -> int:
        """Return the largest number of steps of a record."""
        fitting = -(-steps // self.separation)
        return fitting if self.participations is None else min(self.participations, fitting)

    def patterns(self, steps: int) -> Bools:
        """Return the sets of equally spaced steps, one for each first step."""
        distance = np.arange(steps) - np.arange(steps)[:, None]
        last = (self.most(steps) - 1) * self.separation
        return np.asarray((distance >= 0) & (distance <= last) & (distance % self.separation == 0))

    def largest_sums(self, values: Floats) -> Floats:
        """Return the largest sums by dynamic programming (Choquette-Choo et al. 2023, Algorithm 3).

        In each round the last column holds the best sum of at most k values from each step on.
        """
        n = values.shape[1]
        best = np.zeros((len(values), n + self.separation))
        for _ in range(self.most(n)):
            best[:, :n] = values + best[:, self.separation :]
            best = np.maximum.accumulate(best[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(best[:, 0])

    def sensitivity(self, strategy: Floats) -> Sensitivity:
        """Return the sensitivity, with two cases in which it is always exact.

        With at most `separation` bands the columns of an allowed set are orthogonal, and the squared norms add up
        (Choquette-Choo et al. 2023, Theorem 2). For a Toeplitz strategy of nonnegative coefficients that do not
        increase, equally spaced steps from the first on are the worst (Kalinin and Lampert 2024, Theorem 2).
        """
        if count_bands(strategy) <= self.separation:
            largest = float(np.sqrt(self.largest_sums(np.sum(strategy**2, axis=0)[None, :])[0]))
            return Sensitivity(largest, largest)
        general = super().sensitivity(strategy)
        return Sensitivity(general.attained, general.attained) if _decreasing_toeplitz(strategy) else general


def _decreasing_toeplitz(strategy: Floats) -> bool:
    """Return True for a lower triangular Toeplitz matrix with nonnegative coefficients that do not increase."""
    n = len(strategy)
    column = strategy[:, 0]
    same = all(np.allclose(strategy[j:, j], column[: n - j], rtol=1e-12, atol=0.0) for j in range(n))
    return bool(same and column[-1] >= 0.0 and np.all(np.diff(column) <= 0.0))


def correlated_gaussian(
    strategy: Floats,
    participation: Participation,
    noise_multiplier: float,
    *,
    relation: Relation | None = None,
    exact: bool = True,
) -> GaussianDP:
    """Return the guarantee of noisy sums G + C^-1 Z, all of which are released.

    Args:
        strategy: C, lower triangular with a positive diagonal, `(steps, steps)`.
        participation: the sets of steps in which a record may take part.
        noise_multiplier: standard deviation of Z / sensitivity of one sum under `relation`, > 0.
        relation: the neighbouring relation.
        exact: whether the steps of a record are known; otherwise the curve is an upper bound.

    Returns:
        `GaussianDP(sens(C) / noise_multiplier)`; exact if the sensitivity is, and the steps are known.

    Example:
        >>> print(correlated_gaussian(np.eye(4), FixedOrder(2), 2.0 ** 0.5))
        GaussianDP(mu=1)
    """
    positive(noise_multiplier=noise_multiplier)
    sensitivity = participation.sensitivity(strategy)
    return GaussianDP(sensitivity.upper / noise_multiplier, relation, exact=exact and sensitivity.exact)


def amplified_banded(
    strategy: Floats,
    noise_multiplier: float,
    *,
    groups: int,
    sampling_probability: float,
    relation: str | Relation = Relation.ADD_REMOVE,
) -> Guarantee:
    """Return the guarantee of a banded strategy on Poisson samples of b groups of the records in turn.

    Each record is in one group, fixed and public; step t samples each record of group t mod b with probability q. If C
    has at most b bands, the columns of two steps of a record have no row in common, and each of its ceil(steps / b)
    possible participations is a Poisson-sampled Gaussian with noise multiplier sigma / (largest column norm).
    (Choquette-Choo et al. 2023, Theorem 4.)

    Args:
        strategy: C, lower triangular, `(steps, steps)`.
        noise_multiplier: standard deviation of Z / sensitivity of one sum, > 0.
        groups: b, >= the number of bands of C.
        sampling_probability: q, in (0, 1].
        relation: add_remove or zero_out.

    Raises:
        AccountingError: more bands than groups: no theorem combines amplification with overlapping participations.

    Example:
        >>> claim = amplified_banded(np.eye(4), 1.0, groups=2, sampling_probability=0.1)
        >>> claim.epsilon(1e-5) == PrivacyLossDP.gaussian(1.0, sampling_probability=0.1, steps=2).epsilon(1e-5)
        True
    """
    positive(noise_multiplier=noise_multiplier)
    if (bands := count_bands(strategy)) > groups:
        raise AccountingError(
            f"the strategy has {bands} bands, but a record can take part again after {groups} steps: amplification by "
            "sampling is proved only if its participations share no row. Use at most that many bands.",
            argument="bands",
        )
    largest = float(np.linalg.norm(strategy, axis=0).max())
    return PrivacyLossDP.gaussian(
        noise_multiplier / largest,
        sampling_probability=sampling_probability,
        steps=-(-len(strategy) // groups),
        relation=relation,
    )


def count_bands(strategy: Floats) -> int:
    """Return the number of diagonals of a lower triangular matrix from the main one to the last that is not 0."""
    rows, columns = np.nonzero(strategy)
    return int((rows - columns).max()) + 1
