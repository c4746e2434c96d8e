"""From published means and people to p-values: was this person in the study?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...mechanisms.errors import ParameterError, plural
from ...mechanisms.studies.populations import check_frequencies
from ...mechanisms.studies.study import check_people
from ...mechanisms.validation import one_of
from . import nulls
from .base import Linear, People, Statistic, check_released, varying
from .differences import Homer
from .inner_product import InnerProduct
from .likelihood_ratio import LikelihoodRatio
from .multiple import benjamini_hochberg, holm

Floats = NDArray[np.float64]
NULLS: dict[str, Callable[[ArrayLike, Linear, Floats], Floats]] = {
    "normal": nulls.normal,
    "chernoff": nulls.chernoff,
    "exact": nulls.exact,
}
MANY_COLUMNS = 10_000
"""Columns from which on "auto" takes the bound and not the distribution itself."""


@dataclass(frozen=True, eq=False)
class Traced:
    """What `trace` found about each of N people.

    Args:
        scores: `(N,)`, higher = in the study.
        p_values: `(N,)`: how often a stranger scores as high; for each person by themselves.
        null: where these come from.
        notes: what was left out, clipped or estimated, in words.

    These are no lower bounds on epsilon: how surely one person is found is a statement about this release. For epsilon,
    audit the mechanism with the attack "tracing".
    """

    scores: Floats
    p_values: Floats
    null: str
    notes: tuple[str, ...]

    def holm(self) -> Floats:
        """p-values for all N together: with level a, a stranger is named with probability a at most."""
        return holm(self.p_values)

    def benjamini_hochberg(self) -> Floats:
        """p-values of which at most a share a of those named at level a are strangers, on average."""
        return benjamini_hochberg(self.p_values)


def trace(
    released: ArrayLike,
    people: People,
    *,
    frequencies: ArrayLike | None = None,
    reference: ArrayLike | None = None,
    statistic: Statistic | None = None,
    null: str = "auto",
    seed: int = 0,
) -> Traced:
    """Scores people by the published means of a study, and says how often a stranger would score as high.

    Args:
        released: published means, `(d,)`.
        people: those who are looked for, `(N, d)` of zeros and ones, or `PackedPeople`.
        frequencies: public, `(d,)`; from people who are neither in the study nor in `people` nor in `reference`.
        reference: people of the same population who are neither in the study nor in `people`, `(m, d)`. Without
            frequencies, one half of them, chosen by `seed`, gives the frequencies, and the other half the p-values.
        statistic: of `dpassay.attacks.tracing`; None for `InnerProduct()`.
        null: "normal", "chernoff" or "exact", which trust the frequencies and that columns are independent;
            "empirical", which trusts the reference alone; "auto": empirical with a reference, else exact, or chernoff
            for more than 10,000 columns.
        seed: of the halves, a whole number >= 0.

    Returns:
        Scores and p-values, and in `notes` what was left out.

    Raises:
        ParameterError: shapes that do not fit, frequencies outside [0, 1], no column that varies, too few people of
            reference, neither frequencies nor reference, or a null that does not go with what is given.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> study, strangers = (rng.integers(0, 2, size=(50, 2_000)) for _ in range(2))
        >>> found = trace(study.mean(axis=0), np.concatenate([study, strangers]), frequencies=np.full(2_000, 0.5))
        >>> named = found.holm() <= 0.01
        >>> int(named[:50].sum()), int(named[50:].sum())
        (50, 0)
    """
    statistic = InnerProduct() if statistic is None else statistic
    if not isinstance(statistic, Statistic):
        allowed = "be a statistic of dpassay.attacks.tracing, such as Homer()"
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
            "released must be one release, shape (d,). For several, use Statistic.score.", argument="released"
        )
    notes += _noted(statistic, released, frequencies)
    linear = statistic.linear(released, frequencies)
    scores = linear.scores(people)
    if null == "empirical":
        assert reference is not None
        p_values = nulls.empirical(scores - linear.rounding, linear.scores(reference))  # equal rows score alike
    else:
        p_values = NULLS[null](scores, linear, frequencies)
    return Traced(scores, p_values, null, tuple(notes))


def _which_null(null: str, frequencies: ArrayLike | None, reference: ArrayLike | None, n_attributes: int) -> str:
    """The name of the null that is meant; raises `ParameterError` where it does not go with what is given."""
    one_of((*NULLS, "empirical", "auto"), null=null)
    if frequencies is None and reference is None:
        raise ParameterError("give public frequencies, or people of reference, or both.", argument="frequencies")
    if null == "auto":
        if reference is not None:
            return "empirical"
        return "exact" if n_attributes <= MANY_COLUMNS else "chernoff"
    if null == "empirical" and reference is None:
        raise ParameterError("null is 'empirical', which needs people of reference: give reference.", argument="null")
    if null != "empirical" and frequencies is None:
        raise ParameterError(
            f"null is {null!r}, which trusts the frequencies, but these are estimated from the reference. Use "
            "null='empirical', or give public frequencies.",
            argument="null",
        )
    return null


def _halves(reference: NDArray[np.uint8], seed: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Two halves of the people of reference, no one in both."""
    if len(reference) < 2 * nulls.FEWEST:
        raise ParameterError(
            f"reference holds {plural(len(reference), 'person', 'people')}, but half of them give the frequencies and "
            f"half the p-values: give {2 * nulls.FEWEST} or more, or public frequencies.",
            argument="reference",
        )
    order = np.random.default_rng(seed).permutation(len(reference))
    half = len(reference) // 2
    return reference[order[:half]], reference[order[half:]]


def _noted(statistic: Statistic, released: Floats, frequencies: Floats) -> list[str]:
    """What is left out or clipped, in words."""
    constant = int(np.count_nonzero(~varying(frequencies)))
    outside = int(np.count_nonzero((released < 0.0) | (released > 1.0)))
    notes = []
    if constant:
        notes.append(f"{constant:,} of {plural(len(frequencies), 'column')} are constant in the population: left out")
    if outside and isinstance(statistic, Homer | LikelihoodRatio):
        notes.append(f"{outside:,} means lie outside [0, 1]: clipped to it")
    return notes
