r"""Tables of results as LaTeX: a `tabular` of booktabs, for a paper.

    frame -> chosen columns -> headings, numbers, escaped text -> tabular

The preamble needs \usepackage{booktabs} only. Numbers are printed as in the report, in math mode; every other text is
escaped, so that no name of a file or a parameter is read as a command.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ....audit.bounds.numerics.binomial import SMALLEST_P_VALUE
from ....mechanisms.core import confidence_text, line, number
from .parameters import short_keys

if TYPE_CHECKING:
    import pandas as pd

    from ....audit.metrics.membership.result import MembershipResult
    from ....audit.metrics.table_risk.result import RiskResult
    from .sweep import SweepResult

AUDITS = {
    "claim": r"$\varepsilon$ claimed",
    "epsilon_lower": r"$\varepsilon$ at least",
    "exact_epsilon": r"$\varepsilon$ exact",
    "delta": r"$\delta$",
    "trials_per_side": "trials",
    "detectable": "detectable",
    "p_adjusted": "$p$ (Holm)",
    "verdict": "verdict",
}
"""Column of `SweepResult.to_frame` -> heading; swept parameters come first, columns without a value are left out."""
ATTACKS = {
    "attack": "attack",
    "auc": "AUC",
    "auc_lower": "from",
    "auc_upper": "to",
    "tpr_at_0.01": "TPR at 1 % FPR",
    "tpr_at_0.01_lower": "from",
    "tpr_at_0.01_upper": "to",
    "tpr_at_0.001": "TPR at 0.1 % FPR",
}
"""Column of `MembershipResult.to_frame` -> heading."""
DIGITS = {"trials_per_side": 12, "n_in": 12, "n_out": 12, "p_adjusted": 2}
"""Significant digits, where they are not 4."""
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}


def escape(text: str) -> str:
    r"""Return one line of text that LaTeX prints literally.

    >>> escape("a_b & 5 %")
    'a\\_b \\& 5 \\%'
    """
    return "".join(_SPECIAL.get(character, character) for character in line(text))


def sweep_table(sweep: SweepResult) -> str:
    """Return the audits of a sweep as LaTeX: parameters, claim, bound, power, corrected p-value and verdict."""
    frame = sweep.to_frame()
    frame["verdict"] = frame["verdict"].mask(frame["weak"], "consistent, weak")
    names = sweep.parameter_names
    headings = dict(zip(names, map(escape, short_keys(names)), strict=True))
    used = {name: heading for name, heading in AUDITS.items() if frame[name].notna().any()}
    level = confidence_text(sweep.confidence).removesuffix(" %")
    note = f"Lower bounds at {level} % confidence each; verdicts at {level} % jointly."
    return tabular(frame, headings | used, note=note)


def membership_table(result: MembershipResult) -> str:
    """Return the metrics of membership attacks as LaTeX, one row per attack."""
    frame = result.to_frame()
    note = f"Intervals at {confidence_text(result.confidence)} confidence, one attack at a time."
    return tabular(frame, {name: escape(heading) for name, heading in ATTACKS.items() if name in frame}, note=note)


def risk_table(result: RiskResult) -> str:
    """Return the comparisons of a synthetic table as LaTeX, one row per comparison."""
    frame = result.to_frame()
    return tabular(frame, {str(name): escape(str(name).replace("_", " ")) for name in frame})


def tabular(frame: pd.DataFrame, headings: Mapping[str, str], *, note: str = "") -> str:
    """Return columns of a table as a `tabular` of booktabs.

    Args:
        frame: the numbers.
        headings: column -> heading in LaTeX, in the order of the table.
        note: text of a comment on the first line.
    """
    columns = [
        [_at_most(name, value) + _cell(value, DIGITS.get(name, 4)) for value in frame[name]] for name in headings
    ]
    alignment = "".join("r" if _numeric(frame[name]) else "l" for name in headings)
    rows = [" & ".join(cells) + r" \\" for cells in zip(*columns, strict=True)]
    comment = [f"% {line(note)}"] if note else []
    return "\n".join(
        [
            *comment,
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            " & ".join(headings.values()) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _at_most(name: str, value: Any) -> str:
    """Return the sign of a p-value that is as small as p-values get."""
    return r"$\le$ " if name == "p_adjusted" and value <= SMALLEST_P_VALUE else ""


def _numeric(values: Iterable[Any]) -> bool:
    return all(value is None or (_is_number(value)) for value in values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _cell(value: Any, digits: int) -> str:
    """Return a value as LaTeX: a number in math mode, a missing one as a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "--"
    if not _is_number(value):
        return escape(str(value))
    if math.isinf(value):
        return r"$\infty$" if value > 0 else r"$-\infty$"
    power = re.fullmatch(r"(-?[\d.]+)e([+-]?\d+)", number(float(value), digits))
    if power:
        return rf"${power[1]} \times 10^{{{int(power[2])}}}$"
    return f"${number(float(value), digits)}$".replace("\N{MINUS SIGN}", "-").replace(",", "{,}")


__all__ = ["escape", "membership_table", "sweep_table", "tabular"]
