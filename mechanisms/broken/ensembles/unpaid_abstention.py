"""Intentionally broken accounting: queries that the teachers do not answer are not counted."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

from scipy.special import ndtri

from ...accounting import GaussianDP
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...learning.pate.confident import ConfidentGNMax


@dataclass(frozen=True)
class AbstentionNotAccounted(ConfidentGNMax):
    """Broken: Confident-GNMax whose claim counts only the queries that were answered.

    Bug: the accountant counts a query only when a label is released. But an abstention is the result of a noisy check
    of the votes, too. The claim is that of max_answers checks and answers; n_queries checks are made.
    `ConfidentGNMax` with the same options is correct.

    Where a check passes with a small probability, z standard deviations into the tail, a moved vote changes that
    probability by a factor of about e^(z / check_deviation). The number of queries until max_answers have passed is the
    sum of max_answers geometric variables: its logarithm moves by z / check_deviation, with a standard deviation of
    about 1 / sqrt(max_answers). That is z times as far as is accounted for. The exact curve includes all outcomes.

    Args:
        threshold, check_deviation, answer_deviation, n_teachers, n_classes, n_queries: as for `ConfidentGNMax`.
        max_answers: number of answers that the claim accounts for, >= 1, less than n_queries.

    Example:
        >>> broken = AbstentionNotAccounted(200.0, 3.0, 30.0, n_queries=500)
        >>> claim, exact, correct = broken.guarantee(), broken.exact_guarantee(), ConfidentGNMax.guarantee(broken)
        >>> [round(guarantee.epsilon(1e-5), 3) for guarantee in (claim, exact, correct)]
        [3.16, 6.573, 58.786]
    """

    _: KW_ONLY
    max_answers: int | None = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_answers is None or self.max_answers >= self.n_queries:
            raise ParameterError(
                f"max_answers must be below n_queries = {self.n_queries}, or every query is accounted for, but is "
                f"{self.max_answers}.",
                argument="max_answers",
            )

    @property
    def worst_lead(self) -> int:
        """Lead at which a check passes about max_answers times in n_queries."""
        assert self.max_answers is not None
        votes = self.threshold + self.check_deviation * float(ndtri(self.max_answers / self.n_queries))
        return max(0, math.floor(2.0 * votes) - self.n_teachers)

    def guarantee(self) -> Guarantee:
        """Return `GaussianDP(sqrt(2 rho))` with the rho of max_answers checks and answers."""
        assert self.max_answers is not None
        rho = 1.0 / (2.0 * self.check_deviation**2) + 1.0 / self.answer_deviation**2
        return GaussianDP(math.sqrt(2.0 * self.max_answers * rho), self.relation, exact=False)
