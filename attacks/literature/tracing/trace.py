"""Tracing: p-values for whether people are in a study, from its published means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....mechanisms.core import Floats, ParameterError, holm, one_of, plural
from ....mechanisms.literature.studies.populations import check_frequencies, check_people
from .base import Linear, People, TracingStatistic, check_released, varying
from .p_values import MIN_REFERENCES, benjamini_hochberg, chernoff, empirical, exact, normal
from .statistics import Homer, InnerProduct, TracingLikelihoodRatio

NULL_P_VALUES: dict[str, Callable[[ArrayLike, Linear, Floats], Floats]] = {
    "normal": normal,
    "chernoff": chernoff,
    "exact": exact,
}
MIN_CHERNOFF_COLUMNS = 10_000
"""Number of columns above which "auto" uses the Chernoff bound, not the exact distribution."""


@dataclass(frozen=True, eq=False)
class TracingResult:
    """Results of `trace` for N people.

    Args:
        scores: `(N,)`, higher = in the study.
        p_values: `(N,)`: probability that a non-member scores as high; not corrected for N.
        null: method of the p-values.
        notes: notes on data that were left out, clipped or estimated.

    These are no lower bounds on epsilon: the p-values are statements about one release. For epsilon,
    audit the mechanism with the attack "tracing".
    """

    scores: Floats
    p_values: Floats
    null: str
    notes: tuple[str, ...]

    def holm(self) -> Floats:
        """Return p-values corrected for all N: at level a, a non-member is named with probability at most a."""
        return np.array(holm(self.p_values))

    def benjamini_hochberg(self) -> Floats:
        """Return p-values such that at most a share a of those named at level a are non-members, on average."""
        return benjamini_hochberg(self.p_values)


def trace(
    released: ArrayLike,
    people: People,
    *,
    frequencies: ArrayLike | None = None,
    reference: ArrayLike | None = None,
    statistic: TracingStatistic | None = None,
    null: str = "auto",
    seed: int = 0,
) -> TracingResult:
    """Score people by the published means of a study, and return the probability that a non-member scores as high.

    Args:
        released: published means, `(d,)`.
        people: people who are tested, `(N, d)` of zeros and ones, or `PackedPeople`.
        frequencies: public frequencies, `(d,)`; from people who are neither in the study nor in `people` nor in
            `reference`.
        reference: people of the same population who are neither in the study nor in `people`, `(m, d)`. Without
            frequencies, a random half determines the frequencies, and the other half the p-values.
        statistic: a statistic of `dpassay.attacks.literature.tracing`; None for `InnerProduct()`.
        null: "normal", "chernoff" or "exact", which assume that the frequencies are right and the columns independent;
            "empirical", which assumes only that the reference is right; "auto": empirical with a reference, else exact,
            or chernoff for more than 10,000 columns.
        seed: seed of the random halves, a whole number >= 0.

    Returns:
        Scores and p-values, and notes on what was left out.

    Raises:
        ParameterError: inconsistent shapes, frequencies outside [0, 1], no column that varies, too few people of
            reference, neither frequencies nor reference, or a null that needs other inputs.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> study, others = (rng.integers(0, 2, size=(50, 2_000)) for _ in range(2))
        >>> traced = trace(study.mean(axis=0), np.concatenate([study, others]), frequencies=np.full(2_000, 0.5))
        >>> named = traced.holm() <= 0.01
        >>> int(named[:50].sum()), int(named[50:].sum())
        (50, 0)
    """
    statistic = InnerProduct() if statistic is None else statistic
    if not isinstance(statistic, TracingStatistic):
        allowed = "be a statistic of dpassay.attacks.literature.tracing, such as Homer()"
        raise ParameterError(argument="statistic", value=statistic, allowed=allowed)
    null = _which_null(null, frequencies, reference, np.shape(released)[-1] if np.ndim(released) else 0)
    notes: list[str] = []
    if reference is not None:
        reference = check_people(reference, np.shape(reference)[-1] if np.ndim(reference) else 0, "reference")
    if frequencies is None:
        assert reference is not None
        first, reference = _halves(reference, seed)
        frequencies = first.mean(axis=0)
        notes.append(
            f"frequencies are those of {plural(len(first), 'person', 'people')} of reference; the other half gives "
            "the p-values"
        )
    frequencies = check_frequencies(frequencies)
    released = check_released(released, len(frequencies))
    if released.ndim > 1:
        raise ParameterError(
            "released must be one release, shape (d,). For several, use TracingStatistic.score.", argument="released"
        )
    notes += _noted(statistic, released, frequencies)
    linear = statistic.linear(released, frequencies)
    scores = linear.scores(people)
    if null == "empirical":
        assert reference is not None
        p_values = empirical(
            scores - linear.rounding, linear.scores(reference)
        )  # rounding must not separate equal rows
    else:
        p_values = NULL_P_VALUES[null](scores, linear, frequencies)
    return TracingResult(scores, p_values, null, tuple(notes))


def _which_null(null: str, frequencies: ArrayLike | None, reference: ArrayLike | None, n_attributes: int) -> str:
    """Return the name of the null to use; raise `ParameterError` if it needs inputs that are missing."""
    one_of((*NULL_P_VALUES, "empirical", "auto"), null=null)
    if frequencies is None and reference is None:
        raise ParameterError("give public frequencies, or people of reference, or both.", argument="frequencies")
    if null == "auto":
        if reference is not None:
            return "empirical"
        return "exact" if n_attributes <= MIN_CHERNOFF_COLUMNS else "chernoff"
    if null == "empirical" and reference is None:
        raise ParameterError("null is 'empirical', which needs people of reference: give reference.", argument="null")
    if null != "empirical" and frequencies is None:
        raise ParameterError(
            f"null is {null!r}, which assumes the frequencies, but these are estimated from the reference. Use "
            "null='empirical', or give public frequencies.",
            argument="null",
        )
    return null


def _halves(reference: NDArray[np.uint8], seed: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return two disjoint halves of the people of reference."""
    if len(reference) < 2 * MIN_REFERENCES:
        raise ParameterError(
            f"reference has {plural(len(reference), 'person', 'people')}, but half of them give the frequencies and "
            f"half the p-values: give {2 * MIN_REFERENCES} or more, or public frequencies.",
            argument="reference",
        )
    order = np.random.default_rng(seed).permutation(len(reference))
    half = len(reference) // 2
    return reference[order[:half]], reference[order[half:]]


def _noted(statistic: TracingStatistic, released: Floats, frequencies: Floats) -> list[str]:
    """Return notes on what is left out or clipped."""
    constant = int(np.count_nonzero(~varying(frequencies)))
    outside = int(np.count_nonzero((released < 0.0) | (released > 1.0)))
    notes = []
    if constant:
        notes.append(f"{constant:,} of {plural(len(frequencies), 'column')} are constant in the population: left out")
    if outside and isinstance(statistic, Homer | TracingLikelihoodRatio):
        notes.append(f"{outside:,} means lie outside [0, 1]: clipped")
    return notes
