"""The numbers of bounds next to claims, and what a title and a caption say of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...audit.results.text import percent
from ..results.formatting import IN_FAMILY, NOTHING_ASSUMED, percent_range, refuted_text


@dataclass(frozen=True)
class Series:
    """One line: the audits that share every swept parameter except the one on the x axis, in its order.

    Args:
        name: the shared parameters, such as "k = 4"; empty when there is only one line.
        x, bound, claim, exact_epsilon, ceiling: `(n,)` epsilons; exact_epsilon is NaN where it is not known.
        free: `(n,)` the largest lower bound that assumes nothing about the curve; NaN where all assume something.
        guess: `(n,)` best guesses, which nothing guarantees; NaN where there is none, empty where none was asked for.
        violation: `(n,)` whether the verdict, corrected over the sweep, is a violation.
    """

    name: str
    x: tuple[float, ...]
    bound: tuple[float, ...]
    claim: tuple[float, ...]
    exact_epsilon: tuple[float, ...]
    ceiling: tuple[float, ...]
    violation: tuple[bool, ...]
    free: tuple[float, ...]
    guess: tuple[float, ...] = ()


@dataclass(frozen=True)
class Lines:
    """Lower bound, claim, exact value and ceiling along a sweep, or of one audit: the numbers, and what they say.

    Args:
        series: one or more lines.
        x_name: the parameter on the x axis.
        delta: " at δ = ..." when all audits share it, else empty.
        confidence: of each bound.
        assumed: whether any bound leans on a family of trade-off curves.
    """

    series: tuple[Series, ...]
    x_name: str
    delta: str
    confidence: float
    assumed: bool

    @property
    def height(self) -> float:
        """Inches: a single audit is a few bars, a sweep needs room."""
        return 2.6 if self.n_points == 1 else 4.2

    @property
    def bound_name(self) -> str:
        """What the bounds are called."""
        return f"lower bound, {IN_FAMILY}" if self.assumed else "lower bound"

    @property
    def with_free(self) -> bool:
        """Whether bounds that assume nothing are drawn as well."""
        return self.assumed and any(math.isfinite(v) for s in self.series for v in s.free)

    @property
    def n_points(self) -> int:
        return sum(len(s.x) for s in self.series)

    @property
    def title(self) -> str:
        """How much of the claim was shown, and whether any is refuted."""
        if refuted := sum(sum(s.violation) for s in self.series):
            return refuted_text(refuted, self.n_points, self._elsewhere)
        shares = [b / c for s in self.series for b, c in zip(s.bound, s.claim, strict=True) if 0.0 < c < math.inf]
        if not shares:
            return "No claim is refuted" if self.n_points > 1 else "The claim is not refuted"
        family = f", {IN_FAMILY}" if self.assumed else ""
        more = "" if self._below() else "; what is more is within chance"
        return f"The attack shows {percent_range(shares)} of what is claimed{family}{more}"

    @property
    def caption(self) -> str:
        """How to read it."""
        known = not self.exact and any(not math.isnan(t) for s in self.series for t in s.exact_epsilon)
        exact = " “exact” is the true epsilon of the pair, where it is known." if known else ""
        family = f" “{self.bound_name}” holds only if the trade-off curve is one of that family." * self.assumed
        free = f" “lower bound, {NOTHING_ASSUMED}” holds whatever the curve." * self.with_free
        elsewhere = " A violation whose bound stays below its claim is refuted at another delta: see the table."
        return (
            f"Each lower bound is below the true epsilon with {percent(self.confidence)} confidence; the claim says "
            "that the truth is at most the claim. A bound above its claim refutes it; a bound close under it shows "
            "that the analysis is tight. The ceiling is the largest bound that this many trials could have given."
            f"{family}{free}{exact}{elsewhere * bool(self._elsewhere)}"
        )

    def shared(self, name: str) -> tuple[float, ...] | None:
        """The values that every line has in common, such as one claim for all of them; None if they differ."""
        first, *others = [(s.x, getattr(s, name)) for s in self.series]
        return first[1] if others and all(repr(other) == repr(first) for other in others) else None

    @property
    def exact(self) -> bool:
        """Whether the claims are the exact values, so that one line shows both."""
        return all(
            math.isclose(c, t, rel_tol=1e-6) for s in self.series for c, t in zip(s.claim, s.exact_epsilon, strict=True)
        )

    @property
    def top(self) -> float:
        """The largest finite epsilon that has to be seen; ceilings need not be."""
        drawn = [v for s in self.series for v in (*s.bound, *s.claim, *s.exact_epsilon, *s.free) if math.isfinite(v)]
        return max(drawn, default=1.0) or 1.0

    @property
    def _elsewhere(self) -> int:
        """Violations whose bound stays below the claim: they are refuted at another delta."""
        return sum(v and b <= c for s in self.series for v, b, c in zip(s.violation, s.bound, s.claim, strict=True))

    def _below(self) -> bool:
        return all(b <= c for s in self.series for b, c in zip(s.bound, s.claim, strict=True))
