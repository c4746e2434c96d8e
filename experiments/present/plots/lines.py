"""Numbers of the plots of bounds and claims, with their titles and captions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....audit.results.result_text import Tone
from ....mechanisms.core import confidence_text, percent_range
from .labels import ABOVE, ABOVE_IF, IN_FAMILY, NOTHING_ASSUMED, refuted_text
from .style import Plot

ASSUMED = "; the excess rests on an assumption that no test can check"
BY_CHANCE = "; the excess is within sampling error"
_UNLESS = ", unless it rests on an assumption that no test can check"


@dataclass(frozen=True)
class Series:
    """One line: the audits that share every swept parameter except that on the x axis, ordered by x.

    Args:
        name: the shared parameters, such as "k = 4"; empty when there is only one line.
        x, bound, claim, exact_epsilon, ceiling: `(n,)` swept values and epsilons; exact_epsilon is NaN if unknown.
        free: `(n,)` the largest lower bound without an assumption about the curve; NaN where there is none.
        guess: `(n,)` best guesses, without a guarantee; NaN where there is none, empty if none was requested.
        tones: `(n,)` of the verdicts, corrected over the sweep.
    """

    name: str
    x: tuple[float, ...]
    bound: tuple[float, ...]
    claim: tuple[float, ...]
    exact_epsilon: tuple[float, ...]
    ceiling: tuple[float, ...]
    tones: tuple[Tone, ...]
    free: tuple[float, ...]
    guess: tuple[float, ...] = ()

    @property
    def violation(self) -> tuple[bool, ...]:
        """`(n,)` True where the claim is refuted."""
        return tuple(tone is Tone.VIOLATION for tone in self.tones)

    @property
    def weak(self) -> tuple[bool, ...]:
        """`(n,)` True where the claim is not refuted, and little could have refuted it."""
        return tuple(tone is Tone.WEAK for tone in self.tones)

    @property
    def above(self) -> tuple[bool, ...]:
        """`(n,)` True where the bound exceeds the claim and does not refute it."""
        rows = zip(self.bound, self.claim, self.tones, strict=True)
        return tuple(bound > claim and tone in (Tone.CONSISTENT, Tone.WEAK) for bound, claim, tone in rows)


@dataclass(frozen=True)
class Lines(Plot):
    """Lower bound, claim, exact value and ceiling along a sweep, or of one audit, with title and caption.

    Args:
        series: one or more lines.
        x_name: the parameter on the x axis.
        delta: " at δ = ..." if all audits share it, else empty.
        confidence: confidence of each bound.
        assumes_family: True if any bound assumes a family of trade-off curves.
        conditional: True if a bound exceeds its claim on a condition that no test can check, and refutes nothing.
    """

    series: tuple[Series, ...]
    x_name: str
    delta: str
    confidence: float
    assumes_family: bool
    conditional: bool = False

    @property
    def height(self) -> float:
        """Height in inches: smaller for a single audit, which is a few bars."""
        return 2.6 if self.n_points == 1 else 4.2

    @property
    def bound_name(self) -> str:
        """Name of the bounds in legends."""
        return f"lower bound, {IN_FAMILY}" if self.assumes_family else "lower bound"

    @property
    def with_free(self) -> bool:
        """True if bounds without an assumption are drawn as well."""
        return self.assumes_family and any(math.isfinite(v) for s in self.series for v in s.free)

    @property
    def n_points(self) -> int:
        return sum(len(s.x) for s in self.series)

    @property
    def title(self) -> str:
        """Number of refuted claims, or the share of the claims that the bounds reach."""
        if any(any(s.violation) for s in self.series):
            tones = [tone for s in self.series for tone in s.tones]
            return refuted_text(tones, self._elsewhere, self._above)
        shares = [b / c for s in self.series for b, c in zip(s.bound, s.claim, strict=True) if 0.0 < c < math.inf]
        if not shares:
            return "No claim is refuted" if self.n_points > 1 else "The claim is not refuted"
        family = f", {IN_FAMILY}" if self.assumes_family else ""
        more = "" if not self._above else ASSUMED if self.conditional else BY_CHANCE
        claims = "claims" if self.n_points > 1 else "claim"
        bounds = "lower bounds reach" if self.n_points > 1 else "lower bound reaches"
        return f"The {bounds} {percent_range(shares)} of the {claims}{family}{more}"

    @property
    def caption(self) -> str:
        known = not self.exact and any(not math.isnan(t) for s in self.series for t in s.exact_epsilon)
        exact = " “exact” is the true epsilon of the pair, where it is known." if known else ""
        family = (
            f" “{self.bound_name}” is valid only if the trade-off curve belongs to that family." * self.assumes_family
        )
        free = f" “lower bound, {NOTHING_ASSUMED}” is valid for every trade-off curve." * self.with_free
        open_crosses = (
            " An open cross marks a bound above its claim that is not significant after the correction for the number "
            "of audits."
        ) * bool(self._above and self.n_points > 1 and not self.conditional)
        elsewhere = " A violation whose bound is below its claim is refuted at another delta: see the table."
        return (
            f"Each lower bound is at most the true epsilon with {confidence_text(self.confidence)} confidence; the "
            "claim states that the true epsilon is at most the claim. A bound above its claim refutes the claim"
            f"{_UNLESS * self.conditional}; a bound "
            "close below it shows that the analysis is tight. The ceiling is the largest bound that this number of "
            "trials could give."
            f"{family}{free}{exact}{open_crosses}{elsewhere * bool(self._elsewhere)}"
        )

    def shared(self, name: str) -> tuple[float, ...] | None:
        """Return the values that all lines share, such as one claim for all of them; None if they differ."""
        first, *others = [(s.x, getattr(s, name)) for s in self.series]
        return first[1] if others and all(repr(other) == repr(first) for other in others) else None

    @property
    def exact(self) -> bool:
        """True if the claims equal the exact values, so that one line shows both."""
        return all(
            math.isclose(c, t, rel_tol=1e-6) for s in self.series for c, t in zip(s.claim, s.exact_epsilon, strict=True)
        )

    @property
    def top(self) -> float:
        """Largest finite epsilon that has to be visible, without the ceilings."""
        drawn = [v for s in self.series for v in (*s.bound, *s.claim, *s.exact_epsilon, *s.free) if math.isfinite(v)]
        return max(drawn, default=1.0) or 1.0

    @property
    def _elsewhere(self) -> int:
        """Number of violations whose bound is at most the claim: they are refuted at another delta."""
        return sum(v and b <= c for s in self.series for v, b, c in zip(s.violation, s.bound, s.claim, strict=True))

    @property
    def _above(self) -> int:
        """Number of bounds that exceed their claim and refute nothing."""
        return sum(sum(s.above) for s in self.series)

    @property
    def above_name(self) -> str:
        """Legend text of bounds above their claim that refute nothing."""
        return ABOVE_IF if self.conditional else ABOVE
