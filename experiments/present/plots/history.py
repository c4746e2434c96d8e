"""Evidence of a history of builds against a claim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from .style import BLUE, CLAIM, MUTED, PURPLE, VIOLATION, Plot, is_narrow, style_axes

Line = tuple[float, ...]


@dataclass(frozen=True)
class EvidenceOverBuilds(Plot):
    """Evidence of both kinds of pools after each build, as powers of ten.

    Args:
        of_code, of_all: evidence of the builds with the same code, and of all builds.
        code_limit, all_limit: evidence at which each refutes the claim.
        new_code: whether the code of each build is new; the evidence of the code begins anew there.
        new_entry: whether the evidence of all builds begins anew at each build, after an alarm.
        violations: numbers of the builds that are violations.
        claim: the claim, in words.
    """

    of_code: Line
    of_all: Line
    code_limit: Line
    all_limit: Line
    new_code: tuple[bool, ...]
    new_entry: tuple[bool, ...]
    violations: tuple[int, ...]
    claim: str

    @property
    def title(self) -> str:
        n = len(self.of_all)
        found = f"build {self.violations[0]} refutes the claim" if self.violations else "the claim is not refuted"
        return f"Evidence of {n} {'build' if n == 1 else 'builds'}: {found}"

    @property
    def caption(self) -> str:
        return (
            f"Evidence against {self.claim} after each build, as a power of ten, from the builds with the same code "
            "(a line begins where the code is new) and from all builds since the last alarm. A line that reaches its "
            "limit (dotted) refutes that the claim is true in all builds of the line. Crosses mark builds whose "
            "verdict is a violation."
        )

    @property
    def height(self) -> float:
        """Height in inches."""
        return 3.8

    def _draw(self, ax: Axes) -> None:
        """Draw the evidence into `ax`."""
        numbers = np.arange(1, len(self.of_all) + 1)
        shown: list[Line2D] = []
        for values, limits, begins, colour, name, marker in (
            (self.of_all, self.all_limit, self.new_entry, BLUE, "all builds", "o"),
            (self.of_code, self.code_limit, self.new_code, PURPLE, "this code", "s"),
        ):
            style: dict[str, Any] = {"color": colour.light, "marker": marker, "markersize": 3.5, "linewidth": 1.4}
            for part in np.split(np.arange(len(numbers)), [i for i, new in enumerate(begins) if new and i]):
                ax.plot(numbers[part], np.array(values)[part], **style)
            ax.step(numbers, limits, where="mid", color=colour.light, linestyle=":", linewidth=1.2)
            shown.append(Line2D([], [], label=name, **style))
        shown.append(Line2D([], [], label="limit", color=MUTED.light, linestyle=":", linewidth=1.2))
        if self.violations:
            top = [max(self.of_code[i - 1], self.of_all[i - 1]) for i in self.violations]
            cross: dict[str, Any] = {"color": VIOLATION.light, "marker": "X", "linestyle": "none", "markersize": 7.0}
            ax.plot(self.violations, top, **cross)
            shown.append(Line2D([], [], label="violation", **cross))
        ax.axhline(0.0, color=CLAIM.light, linewidth=0.8)
        style_axes(ax, title=self.title, x="build", y="evidence, power of ten", handles=shown, columns=4)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=6 if is_narrow(ax) else 12, integer=True))
        lowest = min(min(self.of_all), -1.0)
        highest = max(*self.of_all, *self.of_code, *self.code_limit, *self.all_limit)
        ax.set_ylim(min(lowest, max(min(self.of_code), -4.0)) - 0.4, highest + 0.6)


def power_of_ten(logs: Sequence[float]) -> Line:
    """Return natural logarithms as powers of ten."""
    return tuple(value / math.log(10.0) for value in logs)
