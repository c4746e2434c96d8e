"""Guesses of bits: the most extreme scores guess "in" or "out", the others abstain.

The canaries that are guessed, and the guesses, are computed from the scores alone: a guess is a function of the output.

**Kinds of guesses.** Guesses "in" and "out", as many of each, suit scores that shift, as with Gaussian noise. A program
that releases a few records verbatim says nothing of the others: only guesses "in" find it, and only if there are about
as many as records released. Where every included record is fitted, and some excluded ones are not, only guesses "out"
are sure. By default all three are counted, each for a grid of numbers.

**Level.** All sets of guesses, and their shares w_s of the significance a, are fixed beforehand by the number of bits,
and the shares add up to 1. Set s has r_s guesses, V_s of them right. Guesses of one kind are guesses with abstention:
the theorems on right guesses (Steinke, Nasr and Jagielski 2023, theorems 3.1 and 5.2; Mahloujifar, Melis and Chaudhuri
2024; proofs in `one_run` and `one_run_fdp`) hold for every choice of r_s bits, and of the guesses of them, that is a
function of the output. They give p_s with Pr[V_s >= v] <= p_s(v) under the null hypothesis, and p_s falls in v. So
set s refutes a true null with probability at most w_s a, and any of them with probability at most a, whatever the
dependence of the counts; the p-value is the least p_s(V_s) / w_s.

**Several bounds on the same guesses.** A second bound q_s on the same counts, with the same shares, needs no further
correction: each rejects from some count on, so that together they reject set s from the smaller of two counts on, and
either of them shows that this has probability at most w_s a.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ....mechanisms.core import Floats, Ints, ParameterError, bisect, integer, number, percent, whole
from ....mechanisms.core.constraints import Finite, UnitInterval, check_fields
from ...evidence.scores import BitScores
from ..base import Bound, Evidence, FixedBound, LedgerEntry

FEWEST, FACTOR = 50, 4  # the grid of guesses in and out: n/2, n/8, n/32, ... down to at least 50 guesses
FEWEST_OF_ONE_KIND, FACTOR_OF_ONE_KIND = 25, 2  # the grid of guesses of one kind: 25, 50, 100, ... up to n/4
FALL = 0.7
"""Share of the significance of a number of guesses of one kind in a grid, relative to that of the next smaller one."""
BOTH, IN, OUT = 0.5, 0.0, 1.0  # shares of the guesses that are "out"
SHARES = {BOTH: 0.45, IN: 0.5, OUT: 0.05}
"""Shares of the significance of the three kinds of guesses, if all of them are counted."""

Size = int | float


@dataclass(frozen=True)
class Guesses:
    """A set of guesses whose right ones are counted together.

    Args:
        size: number of guesses.
        negatives: share of them that are "out", for the lowest scores; the others, for the highest scores, are "in".
        share: share of the significance.
    """

    size: int
    negatives: float = BOTH
    share: float = 1.0

    @property
    def n_out(self) -> int:
        """Number of guesses "out"."""
        return round(self.size * self.negatives)

    @property
    def kind(self) -> str:
        """Kind of the guesses, in words."""
        return {IN: "in only", OUT: "out only"}.get(self.negatives, "in and out")


@dataclass(frozen=True)
class Guessing:
    """The rule that selects the guessed bits and their guesses.

    Args:
        size: number of guesses: a whole number, or a share of all bits as a float in (0, 1]; a tuple of these, which
            share the significance; or "grid": for guesses in and out 1/2, 1/8, 1/32, ... of the bits, down to 50, and
            for guesses of one kind 25, 50, 100, ... up to a quarter of the bits.
        negatives: share of the guesses that are "out", in [0, 1]. The others, for the highest scores, are "in". None
            takes one half, and for a grid on 100 or more bits also guesses "in" only and "out" only (`SHARES`).
        center: None takes both shares by rank. A number, such as 0 for log-likelihood ratios, guesses the scores
            farthest from it instead, "in" above it and "out" at or below it; `negatives` is not used then.
    """

    size: Size | tuple[Size, ...] | str = "grid"
    negatives: UnitInterval | None = None
    center: Finite | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if isinstance(self.size, str) and self.size != "grid":
            raise ParameterError(
                argument="guesses", value=self.size, allowed='be a number, a share, several of these, or "grid"'
            )
        named = self._named_sizes
        if named is not None and len(named) == 0:
            raise ParameterError(
                'guesses must name at least one size, but is empty. Try guesses="grid".', argument="guesses"
            )
        for size in named or ():
            check_size(size)

    def division(self, n_bits: int) -> tuple[Guesses, ...]:
        """Return the sets of guesses, with their shares of the significance; they depend on the number of bits only.

        >>> [(each.size, each.kind) for each in Guessing().division(199)]
        [(99, 'in and out'), (25, 'in only'), (25, 'out only')]
        >>> [(each.size, round(each.share, 3)) for each in Guessing(size=(100, 0.5)).division(1000)]
        [(100, 0.5), (500, 0.5)]
        """
        shares = SHARES if self._all_kinds(n_bits) else {BOTH if self.negatives is None else self.negatives: 1.0}
        division: list[Guesses] = []
        for negatives, share in shares.items():
            sizes = self._sizes(n_bits, negatives)
            weights = [FALL**index if self._falls(negatives) else 1.0 for index in range(len(sizes))]
            division += [
                Guesses(size, negatives, share * weight / sum(weights))
                for size, weight in zip(sizes, weights, strict=True)
            ]
        return tuple(division)

    def _all_kinds(self, n_bits: int) -> bool:
        free = self.negatives is None and self.center is None and self._named_sizes is None
        return free and n_bits // 4 >= FEWEST_OF_ONE_KIND

    def _falls(self, negatives: float) -> bool:
        """Return True if the numbers of guesses are a grid of one kind, whose shares fall."""
        return negatives in (IN, OUT) and self.center is None and self._named_sizes is None

    def _sizes(self, n_bits: int, negatives: float) -> tuple[int, ...]:
        """Return the numbers of guesses, increasing."""
        named = self._named_sizes
        if named is None:
            return _grid_of_one_kind(n_bits) if self._falls(negatives) else _grid(n_bits)
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

    def right(self, scores: BitScores, division: tuple[Guesses, ...]) -> tuple[int, ...]:
        """Return the number of right guesses of each set; ties as in `ascending`."""
        bits, flat = scores.bits.ravel(), scores.scores.ravel()
        if self.center is not None:
            order = ascending(-np.abs(flat - self.center))
            right = np.cumsum(bits[order] == (flat[order] > self.center))
            return tuple(int(right[each.size - 1]) for each in division)
        order = ascending(flat)
        ins = np.concatenate([[0], np.cumsum(bits[order])])
        n = len(flat)
        rights = []
        for each in division:
            size, low = each.size, each.n_out
            rights.append(int(low - ins[low] + ins[n] - ins[n - (size - low)]))
        return tuple(rights)

    def describe(self, division: tuple[Guesses, ...], best: Guesses) -> str:
        """Return the text of the ledger entry on the guesses that gave the bound."""
        rule = (
            f"{best.size - best.n_out} in and {best.n_out} out, by rank"
            if self.center is None
            else f"farthest from {number(self.center)}"
        )
        if len(division) == 1:
            return f"{best.size} ({rule})"
        kinds = dict.fromkeys(each.kind for each in division)
        sizes = {kind: ", ".join(str(each.size) for each in division if each.kind == kind) for kind in kinds}
        among = "; ".join(f"{kind} {listed}" for kind, listed in sizes.items()) if len(kinds) > 1 else sizes[best.kind]
        return f"{best.size} ({rule}), best of {among}"


def _grid(n_bits: int) -> tuple[int, ...]:
    """Return the grid of numbers of guesses in and out."""
    grid = [max(1, n_bits // 2)]
    while grid[-1] // FACTOR >= FEWEST:
        grid.append(grid[-1] // FACTOR)
    return tuple(reversed(grid))


def _grid_of_one_kind(n_bits: int) -> tuple[int, ...]:
    """Return the grid of numbers of guesses of one kind: dense, since as many as there are leaks are needed."""
    grid = [min(FEWEST_OF_ONE_KIND, max(1, n_bits // 4))]
    while grid[-1] * FACTOR_OF_ONE_KIND <= n_bits // 4:
        grid.append(grid[-1] * FACTOR_OF_ONE_KIND)
    return tuple(grid)


def ascending(scores: Floats) -> Ints:
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
    negatives: UnitInterval | None = None
    center: Finite | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.guesses, list):  # as a configuration file gives it
            object.__setattr__(self, "guesses", tuple(self.guesses))
        self.guessing()

    def guessing(self) -> Guessing:
        """Return the rule that selects the guesses."""
        return Guessing(self.guesses, self.negatives, self.center)


def n_shares(bounds: Sequence[Bound[Any]]) -> int:
    """Return the number of shares of the significance: one for each bound, or for all bounds on the same guesses.

    >>> from dpassay.audit.bounds.bits.one_run import OneRun
    >>> from dpassay.audit.bounds.bits.one_run_fdp import OneRunFDP
    >>> n_shares([OneRun(), OneRunFDP()]), n_shares([OneRun(), OneRunFDP(negatives=0.0)])
    (1, 2)
    """
    rules = [bound.guessing() for bound in bounds if isinstance(bound, GuessBound)]
    return len(bounds) - len(rules) + len(set(rules))


@dataclass(frozen=True)
class FixedGuessBound(FixedBound[BitScores]):
    """A bound on right guesses, for one statement, with sets of guesses that share the significance."""

    guessing: Guessing
    division: tuple[Guesses, ...]
    method: ClassVar[str]

    @property
    def levels(self) -> tuple[float, ...]:
        """Significance of each set of guesses."""
        return tuple(self.statement.significance * each.share for each in self.division)

    def counts(self, scores: object) -> list[tuple[int, int, int]]:
        """Return the numbers of bits, guesses and right guesses, one triple for each set of guesses."""
        checked = bits_only(scores, self.method)
        rights = self.guessing.right(checked, self.division)
        return [(checked.n_bits, each.size, right) for each, right in zip(self.division, rights, strict=True)]

    def corrected(self, p_values: Sequence[float]) -> float:
        """Return the p-value over all sets of guesses, from that of each set."""
        return min(1.0, *(p / each.share for p, each in zip(p_values, self.division, strict=True)))

    @abstractmethod
    def refuted_by(self, n_bits: int, n_guesses: int, n_correct: int, level: float) -> bool:
        """Return True if this many right guesses refute the claim at this significance; so do more of them."""

    def reaches_critical_count(self, evidence: BitScores) -> bool:
        """Return True if a set of guesses refutes the claim at its share; faster than bounds, for many games."""
        counts = zip(self.counts(evidence), self.levels, strict=True)
        return any(n_correct >= self._critical(n_bits, size, level) for (n_bits, size, n_correct), level in counts)

    def _critical(self, n_bits: int, n_guesses: int, level: float) -> int:
        """Return the least number of right guesses that refutes the claim, n_guesses + 1 if none does."""

        def refuted(n_correct: float) -> bool:
            return self.refuted_by(n_bits, n_guesses, int(n_correct), level)

        key = n_bits, n_guesses, level
        if key not in self._criticals:
            self._criticals[key] = int(bisect(refuted, 0, n_guesses + 1, middle=integer)[1])
        return self._criticals[key]

    @cached_property
    def _criticals(self) -> dict[tuple[int, int, float], int]:
        return {}

    def by_rank(self, best: int) -> tuple[int, int] | None:
        """Return the numbers of guesses "in" and "out" of one set; None if they are not by rank."""
        each = self.division[best]
        return (each.size - each.n_out, each.n_out) if self.guessing.center is None else None

    def ledger(self, scores: BitScores, counts: Sequence[tuple[int, int, int]], best: int) -> tuple[LedgerEntry, ...]:
        """Return the ledger; the set of guesses with the index `best` gave the bound."""
        runs = "1 run" if scores.n_runs == 1 else f"{scores.n_runs:,} independent runs"
        guesses = f"{self.guessing.describe(self.division, self.division[best])}; {counts[best][2]} right"
        return (
            LedgerEntry("bits", f"{scores.n_bits:,} in {runs}", "independent fair coins, recorded before the run"),
            LedgerEntry("guesses", guesses, _correction(self.division)),
        )


def _correction(division: tuple[Guesses, ...]) -> str:
    """Return how the significance was divided, in words."""
    n, equal = len(division), len({each.share for each in division}) == 1
    if equal:
        return "fixed beforehand" if n == 1 else f"fixed beforehand, Bonferroni over {n}"
    parts = []
    for kind in dict.fromkeys(each.kind for each in division):
        shares = [each.share for each in division if each.kind == kind]
        falls = f" (each number {number(FALL)} times the share of the next smaller one)" * (min(shares) < max(shares))
        parts.append(f"{percent(math.fsum(shares))} {kind}{falls}")
    return f"fixed beforehand; the significance is divided: {', '.join(parts)}"


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
