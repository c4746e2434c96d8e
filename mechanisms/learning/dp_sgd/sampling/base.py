"""Interface of a sampling scheme: read this first.

    Draw       the records of one step
    Sampling   a scheme: how records are drawn, the guarantee, and the likelihood of the observations

Everything that depends on a scheme is in its class. A new scheme is one file and one line of the catalogue.

A scheme is public: the rate, the batch size and the divisor of updates are constants, never computed from the data,
because the number of records may differ between the two sides of a pair. `n_records`, if set, is a public constant too;
the schemes whose guarantee depends on the number of records need it for their claim.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....accounting.dp_sgd.correlated_noise import Participation, correlated_gaussian
from ....core import AccountingError, Bools, Floats, Guarantee, Options, ParameterError, Relation, named_in
from ...base import AnyFloats

Rows = NDArray[np.intp]
Mask = Bools

DENSE_RATE = 0.4
"""Smallest rate at which all records are multiplied by 0 or 1, instead of gathering the sampled records."""


@dataclass(frozen=True, eq=False)
class BatchDraw:
    """Records of one step.

    Args:
        rows: `(n_runs, width)` record numbers; None for all records, in order.
        included: which rows contribute, `(n_runs, width)`; None for all. Rows beyond a run's batch are not included.
    """

    rows: Rows | None
    included: Mask | None


Draws: TypeAlias = Iterator[BatchDraw]
"""A draw for each step."""


@named_in("dpassay.mechanisms.learning.dp_sgd.catalogue:samplings")
@dataclass(frozen=True)
class Sampling(Options):
    """Sampling scheme; subclasses are frozen dataclasses whose fields are the options.

    Attributes:
        relation: default relation of a trainer with this scheme.
        accountants: names of the accountants that cover the scheme under its default relation, the default first.
        rates: names of the numbers that the guarantee depends on, in addition to noise and steps.
        option_names: field -> name of the option in a configuration, for fields whose names differ.
        ordered: whether the position of a record in the data determines its batch.
        same_batches: whether each step has the same batch in every run.
        tight: whether the worst case attains the guarantee of the first of the `accountants`, up to its grid.
    """

    relation: ClassVar[Relation]
    accountants: ClassVar[tuple[str, ...]] = ("none",)
    rates: ClassVar[tuple[str, ...]] = ()
    option_names: ClassVar[Mapping[str, str]] = {}
    ordered: ClassVar[bool] = False
    same_batches: ClassVar[bool] = False
    tight: ClassVar[bool] = False

    # --- how records are drawn ----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def divisor(self) -> float | None:
        """Public number by which the noisy sum of a step is divided; None for the number of records."""

    @abstractmethod
    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Draws:
        """Yield one draw for each step, without end.

        Args:
            n_records: number of records in the data.
            n_runs: number of independent runs.
            inclusion: `(n_runs, n_records)`, the records that each run has; None for all.
            rng: the only source of randomness.
        """

    @abstractmethod
    def width(self, n_records: int) -> int:
        """Return the approximate number of rows of a draw."""

    def check(self, n_records: int) -> None:
        """Raise `ParameterError` if no batch can be drawn from `n_records` records."""

    @property
    @abstractmethod
    def inclusion_probability(self) -> float:
        """Probability that a record takes part in a step; 1 if it depends on an unspecified number of records."""

    @property
    def worst_case_records(self) -> int:
        """Number of records of the larger side of the worst-case pair; 1 if other records change nothing."""
        return 1

    def worst_case_place(self, strategy: Floats) -> int:
        """Return the index of the differing record of the worst-case pair for correlated noise of that strategy."""
        return 0

    # --- the guarantee ------------------------------------------------------------------------------------------------

    @classmethod
    def accountants_under(cls, relation: Relation) -> tuple[str, ...]:
        """Return the names of the accountants that cover the scheme under `relation`, the default first."""
        return cls.accountants

    @classmethod
    def account(
        cls, noise_multiplier: float, *, steps: int, relation: Relation, accounting: str, **rates: float
    ) -> Guarantee:
        """Return the guarantee of `steps` noisy sums, all of which are released.

        Args:
            noise_multiplier: standard deviation of the noise / sensitivity under `relation`, > 0.
            steps: >= 1.
            relation: the neighbouring relation.
            accounting: one of `accountants_under(relation)`.
            rates: numbers for the names in `rates`.

        Raises:
            AccountingError: no known theorem covers the relation, or the scheme.
        """
        raise AccountingError(f"no guarantee is known for {cls.__name__}. Give a claim to audit against.")

    @classmethod
    def participation(cls, *, relation: Relation, **rates: float) -> Participation:
        """Return the sets of steps in which one record may take part, for noise that is correlated between steps.

        Raises:
            AccountingError: the batches of the two sides differ by more than the record.
        """
        raise AccountingError(
            f"no guarantee is known for correlated noise with the batches of {cls.__name__}. Use noise='independent', "
            "or give a claim to audit against.",
            argument="noise",
        )

    @classmethod
    def account_correlated(
        cls, strategy: Floats, noise_multiplier: float, *, relation: Relation, **rates: float
    ) -> Guarantee:
        """Return the guarantee of noisy sums G + C^-1 Z, all of which are released; without amplification by default.

        Args:
            strategy: C, lower triangular, with more than one band, `(steps, steps)`.
            noise_multiplier, relation, rates: as for `account`.

        Raises:
            AccountingError: no known theorem covers the relation, or the scheme.
        """
        participation = cls.participation(relation=relation, **rates)
        return correlated_gaussian(strategy, participation, noise_multiplier, relation=relation, exact=cls.same_batches)

    def own_rates(self) -> dict[str, float]:
        """Return the `rates` of this instance; raise `AccountingError` if a public number that they need is missing."""
        return {}

    def guarantee(self, noise_multiplier: float, *, steps: int, relation: Relation) -> Guarantee:
        """Return the guarantee of this instance by the first of the accountants under `relation`."""
        accounting = self.accountants_under(relation)[0]
        return self.account(noise_multiplier, steps=steps, relation=relation, accounting=accounting, **self.own_rates())

    # --- the likelihood of the observations ---------------------------------------------------------------------------

    def log_likelihood(self, values: AnyFloats, shifts: AnyFloats) -> AnyFloats:
        """Return the log density of noisy sums along m directions, `(n_runs,)`, up to the constant of the noise.

        Args:
            values: `(n_runs, steps, m)`, in units in which the noise has unit covariance.
            shifts: contribution of each record to a step that it takes part in, `(n_records, m)`, in the same units.

        Raises:
            ParameterError: records, or a scheme, for which the density is not known.
        """
        raise ParameterError(f"no density is known for the batches of {type(self).__name__}. Choose another attack.")

    def knows_correlated(self, strategy: Floats) -> bool:
        """Return True if `correlated_log_likelihood` is known for noise of that strategy."""
        return self.same_batches

    def correlated_log_likelihood(self, values: AnyFloats, shifts: AnyFloats, strategy: Floats) -> AnyFloats:
        """Return the log density of C times the noisy sums, `(n_runs,)`, whose noise is independent.

        Args:
            values, shifts: as for `log_likelihood`; the values are those of C times the sums.
            strategy: C, `(steps, steps)`, for which `knows_correlated` holds.

        Raises:
            ParameterError: as for `log_likelihood`.
        """
        return np.asarray(gaussian_exponent(values, strategy @ self.centres(shifts, len(strategy))).sum(axis=1))

    def centres(self, shifts: AnyFloats, steps: int) -> AnyFloats:
        """Return the sum of the contributions of the batch of each step, `(steps, m)`, where `same_batches`."""
        raise ParameterError(f"the batches of {type(self).__name__} differ from run to run. Choose another attack.")


def gaussian_exponent(values: AnyFloats, centre: AnyFloats) -> AnyFloats:
    """Return -|value - centre|^2 / 2, `(n_runs, steps)`."""
    difference = values - centre
    return -0.5 * np.asarray(np.einsum("rtm,rtm->rt", difference, difference))


def padded(positions: Rows, starts: Rows) -> BatchDraw:
    """Return increasing positions in the records of all runs, one row for each run, padded by record 0."""
    counts = np.diff(np.searchsorted(positions, starts))
    included = np.arange(counts.max(initial=0)) < counts[:, None]
    rows = np.zeros(included.shape, dtype=np.intp)
    rows[included] = positions - np.repeat(starts[:-1], counts)
    return BatchDraw(rows, included)


def sampled_rows(taken: Mask) -> BatchDraw:
    """Return the draw of the records that `taken`, `(n_runs, n_records)`, marks: their numbers if they are few."""
    n_runs, n_records = taken.shape
    if taken.sum() >= DENSE_RATE * taken.size:
        return BatchDraw(None, taken)
    return padded(np.flatnonzero(taken), n_records * np.arange(n_runs + 1))


def single_contribution(shifts: AnyFloats, scheme: str) -> AnyFloats | None:
    """Return the shift of the only record that contributes, `(m,)`; None if all shifts are 0.

    Raises:
        ParameterError: several records contribute.
    """
    contributing = shifts[np.any(shifts != 0.0, axis=1)]
    if len(contributing) > 1:
        raise ParameterError(
            f"{len(contributing)} gradient records are observed: the density of {scheme} is known for one. Use one, or "
            "another attack."
        )
    return contributing[0] if len(contributing) else None
