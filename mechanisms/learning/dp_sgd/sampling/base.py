"""What a sampling scheme is: read this first.

    Draw       the records that one step sees
    Sampling   a scheme: how records are drawn, what that costs, and how likely what is then seen is

Everything that depends on a scheme stands in its class. A new one is one file and one line of the catalogue.

A scheme is public: its rate, its batch size and the number that updates are divided by are constants, never taken from
the data, because the number of records is not the same on both sides of a pair. `n_records`, where it is given, is a
public constant too; the schemes whose guarantee depends on it need it for their claim.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ....errors import AccountingError, ParameterError
from ....guarantees.base import Guarantee
from ....relation import Relation
from ...base import Floats

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Draw:
    """The records that one step sees.

    Args:
        rows: `(n_runs, width)` record numbers; None for all records, in order.
        included: which of them count, `(n_runs, width)`; None for all. Rows beyond a run's batch are not included.
    """

    rows: Rows | None
    included: Mask | None


@dataclass(frozen=True)
class Sampling(ABC):
    """A sampling scheme. Subclasses are frozen dataclasses whose fields are the options.

    Attributes:
        relation: what a trainer with it takes for its relation where none is named.
        accountants: names of those that know it, the one to use first.
        rates: name -> default, None for none: the numbers that its guarantee depends on, besides noise and steps.
        option_names: field -> its name next to a sampling that is named in a configuration, where it has another there.
        ordered: whether the place of a record in the data decides on its batch.
        same_batches: whether each step has the same batch in every run.
    """

    relation: ClassVar[Relation]
    accountants: ClassVar[tuple[str, ...]] = ("none",)
    rates: ClassVar[Mapping[str, float | None]] = {}
    option_names: ClassVar[Mapping[str, str]] = {}
    ordered: ClassVar[bool] = False
    same_batches: ClassVar[bool] = False

    # --- how records are drawn ----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def divisor(self) -> float | None:
        """The public number that the noisy sum of a step is divided by; None for the number of records."""

    @abstractmethod
    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Iterator[Draw]:
        """One draw a step, without end.

        Args:
            n_records: in the data.
            n_runs: runs at once, independent of each other.
            inclusion: `(n_runs, n_records)`, the records that each run has; None for all.
            rng: the only source of randomness.
        """

    @abstractmethod
    def width(self, n_records: int) -> int:
        """About how many rows a draw has."""

    def check(self, n_records: int) -> None:  # noqa: B027 - nothing to check where any number will do
        """Raises `ParameterError` if no batch can be drawn from this many records."""

    @property
    @abstractmethod
    def inclusion_probability(self) -> float:
        """Probability that a record takes part in a step; 1 where it depends on a number of records that is open."""

    @property
    def worst_case_records(self) -> int:
        """Records of the larger side of the worst-case pair: 1 where the others change nothing."""
        return 1

    # --- what that costs ----------------------------------------------------------------------------------------------

    @classmethod
    def account(
        cls, noise_multiplier: float, *, steps: int, relation: Relation, accounting: str, **rates: float
    ) -> Guarantee:
        """The guarantee of `steps` noisy sums, all of them seen.

        Args:
            noise_multiplier: standard deviation of the noise / sensitivity under `relation`, > 0.
            steps: >= 1.
            relation: the neighbouring relation.
            accounting: one of `accountants`.
            rates: numbers for the names in `rates`.

        Raises:
            AccountingError: no theorem here covers the relation, or the scheme.
        """
        raise AccountingError(f"no guarantee is known for {cls.__name__}. Give a claim of your own to audit against.")

    def own_rates(self) -> dict[str, float]:
        """The `rates` of this instance; raises `AccountingError` where a public number that they need is open."""
        return {}

    def guarantee(self, noise_multiplier: float, *, steps: int, relation: Relation) -> Guarantee:
        """As `account`, by the first of the `accountants`, of this instance."""
        return self.account(
            noise_multiplier, steps=steps, relation=relation, accounting=self.accountants[0], **self.own_rates()
        )

    # --- how likely what is seen is -----------------------------------------------------------------------------------

    def log_likelihood(self, values: Floats, shifts: Floats) -> Floats:
        """Log density of noisy sums along m directions, `(n_runs,)`, but for the constant of the noise.

        Args:
            values: `(n_runs, steps, m)`, in units in which the noise has the unit covariance.
            shifts: what each record adds to a step that it takes part in, `(n_records, m)`, in the same units.

        Raises:
            ParameterError: records, or a scheme, of which the density is not known.
        """
        raise ParameterError(f"no density is known of the batches of {type(self).__name__}. Choose another attack.")


def gaussian_exponent(values: Floats, centre: Floats) -> Floats:
    """-|value - centre|^2 / 2, `(n_runs, steps)`."""
    difference = values - centre
    return -0.5 * np.asarray(np.einsum("rtm,rtm->rt", difference, difference))
