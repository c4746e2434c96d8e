"""Guesses of bits: the most extreme scores guess "in" or "out", the others abstain.

The canaries that are guessed, and the guesses, are computed from the scores alone: a guess is a function of the output.
The number of guesses, or the grid of numbers, is fixed beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core import Finite, Floats, ParameterError, UnitInterval, check_fields, number, whole
from ...evidence.scores import BitScores
from ..base import Bound, Evidence, FixedBound, LedgerEntry

FEWEST, FACTOR = 50, 4  # the grid: n/2, n/8, n/32, ... down to at least 50 guesses

Size = int | float


@dataclass(frozen=True)
class Guessing:
    """The rule that selects the guessed bits and their guesses.

    Args:
        size: number of guesses: a whole number, or a share of all bits as a float in (0, 1]; a tuple of these, with a
            Bonferroni correction; or "grid": 1/2, 1/8, 1/32, ... of the bits, down to 50 guesses.
        negatives: share of the guesses that are "out", in [0, 1]. The others, for the highest scores, are "in".
        center: None takes both shares by rank. A number, such as 0 for log-likelihood ratios, guesses the scores
            farthest from it instead, "in" above it and "out" at or below it; `negatives` is not used then.
    """

    size: Size | tuple[Size, ...] | str = "grid"
    negatives: UnitInterval = 0.5
    center: Finite | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if isinstance(self.size, str) and self.size != "grid":
            raise ParameterError(
                f'guesses must be a number, a share, several of these, or "grid", but is {self.size!r}.',
                argument="guesses",
            )
        named = self._named_sizes
        if named is not None and len(named) == 0:
            raise ParameterError(
                'guesses must name at least one size, but is empty. Try guesses="grid".', argument="guesses"
            )
        for size in named or ():
            check_size(size)

    def sizes(self, n_bits: int) -> tuple[int, ...]:
        """Return the numbers of guesses, increasing; they depend on the number of bits only.

        >>> Guessing().sizes(20_000), Guessing(size=(100, 0.5)).sizes(1000)
        ((156, 625, 2500, 10000), (100, 500))
        """
        named = self._named_sizes
        if named is None:
            grid = [max(1, n_bits // 2)]
            while grid[-1] // FACTOR >= FEWEST:
                grid.append(grid[-1] // FACTOR)
            return tuple(reversed(grid))
        sizes = sorted({max(1, int(size * n_bits)) if isinstance(size, float) else int(size) for size in named})
        if sizes[-1] > n_bits:
            raise ParameterError(
                f"guesses must be at most the number of bits, {n_bits}, but is {sizes[-1]}. A share, such as 0.1, "
                "fits every number.",
                argument="guesses",
            )
        return tuple(sizes)

    @property
    def _named_sizes(self) -> tuple[Size, ...] | None:
        """Explicit sizes; None for the grid."""
        if isinstance(self.size, str):
            return None
        return self.size if isinstance(self.size, tuple) else (self.size,)

    def right(self, scores: BitScores, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the number of right guesses for each number of guesses; ties as in `ascending`."""
        bits, flat = scores.bits.ravel(), scores.scores.ravel()
        if self.center is not None:
            order = ascending(-np.abs(flat - self.center))
            right = np.cumsum(bits[order] == (flat[order] > self.center))
            return tuple(int(right[size - 1]) for size in sizes)
        order = ascending(flat)
        ins = np.concatenate([[0], np.cumsum(bits[order])])
        n = len(flat)
        rights = []
        for size in sizes:
            low = round(size * self.negatives)
            rights.append(int(low - ins[low] + ins[n] - ins[n - (size - low)]))
        return tuple(rights)

    def describe(self, sizes: tuple[int, ...], best: int) -> str:
        """Return the text of the ledger entry on the number of guesses."""
        rule = (
            f"{best - round(best * self.negatives)} in and {round(best * self.negatives)} out, by rank"
            if self.center is None
            else f"farthest from {number(self.center)}"
        )
        among = "" if len(sizes) == 1 else f", best of {', '.join(map(str, sizes))}"
        return f"{best} ({rule}){among}"


def ascending(scores: Floats) -> NDArray[np.int64]:
    """Return the order of scores `(n,)` from low to high, with ties in an order that is fixed for each n.

    Ties are not broken by position: in a file with all excluded canaries first, the position is the bit. For every
    dependence of positions on bits, an order drawn at random leaves tied guesses without information on them.
    """
    ties = np.random.default_rng(len(scores)).permutation(len(scores))
    return np.lexsort((ties, scores))


@dataclass(frozen=True)
class GuessBound(Bound[BitScores]):
    """A bound that reads right guesses of bits; its options are those of `Guessing`.

    Args:
        guesses: `Guessing.size`.
        negatives, center: as in `Guessing`.
    """

    reads: ClassVar[type[Evidence]] = BitScores

    guesses: Size | tuple[Size, ...] | str = "grid"
    negatives: UnitInterval = 0.5
    center: Finite | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.guesses, list):  # as a configuration file gives it
            object.__setattr__(self, "guesses", tuple(self.guesses))
        self._guessing()

    def _guessing(self) -> Guessing:
        return Guessing(self.guesses, self.negatives, self.center)


@dataclass(frozen=True)
class FixedGuessBound(FixedBound[BitScores]):
    """A bound on right guesses, for one statement, with numbers of guesses that share the significance."""

    guessing: Guessing
    sizes: tuple[int, ...]
    method: ClassVar[str]

    @property
    def level(self) -> float:
        """Significance of each number of guesses."""
        return self.statement.significance / len(self.sizes)

    def counts(self, scores: object) -> list[tuple[int, int, int]]:
        """Return the numbers of bits, guesses and right guesses, one triple for each number of guesses."""
        checked = bits_only(scores, self.method)
        rights = self.guessing.right(checked, self.sizes)
        return [(checked.n_bits, size, right) for size, right in zip(self.sizes, rights, strict=True)]

    def ledger(self, scores: BitScores, best: tuple[int, int, int]) -> tuple[LedgerEntry, ...]:
        """Return the ledger; the counts `best` gave the bound."""
        n, (n_bits, n_guesses, n_correct) = len(self.sizes), best
        correction = "fixed beforehand" if n == 1 else f"fixed beforehand, Bonferroni over {n}"
        runs = "1 run" if scores.n_runs == 1 else f"{scores.n_runs:,} independent runs"
        guesses = f"{self.guessing.describe(self.sizes, n_guesses)}; {n_correct} right"
        return (
            LedgerEntry("bits", f"{n_bits} in {runs}", "independent fair coins, recorded before the run"),
            LedgerEntry("guesses", guesses, correction),
            LedgerEntry("direction", "both", "in and out guesses are counted together"),
        )


def check_counts(n_bits: int, n_guesses: int, n_correct: int) -> None:
    """Raise `ParameterError` unless 0 <= n_correct <= n_guesses <= n_bits and n_guesses >= 1."""
    whole(1, n_bits=n_bits, n_guesses=n_guesses)
    whole(0, n_correct=n_correct)
    named = {"n_correct": n_correct, "n_guesses": n_guesses, "n_bits": n_bits}
    for (small, value), (large, limit) in pairwise(named.items()):
        if value > limit:
            raise ParameterError(f"{small} must be at most {large} = {limit}, but is {value}.", argument=small)


def bits_only(scores: object, method: str) -> BitScores:
    """Return `scores`; raise `ParameterError` unless they are `BitScores`."""
    if not isinstance(scores, BitScores):
        raise ParameterError(
            f"{method} reads BitScores(bits, scores), but was given {type(scores).__name__}. For the scores of a pair "
            "use another bound, such as 'clopper-pearson'.",
            argument="bound",
        )
    return scores


def check_size(size: Size) -> None:
    """Raise `ParameterError` unless `size` is a number >= 1 or a share in (0, 1]."""
    if isinstance(size, float):
        if not 0.0 < size <= 1.0:
            raise ParameterError(
                f"guesses as a share must lie in (0, 1], but is {size!r}. A number of guesses is an int.",
                argument="guesses",
            )
    else:
        whole(1, guesses=size)
