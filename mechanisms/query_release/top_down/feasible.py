"""Feasibility of the values of the invariants: tables that satisfy them exist, or a minimal conflict is reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...core.errors import ParameterError, plural
from .geography import Geography
from .queries import Invariant


@dataclass(frozen=True, eq=False)
class FeasibleTotal:
    """Value of an invariant at one node; `row`, shape `(n_counties * n_groups,)`, selects the people counted."""

    row: Floats
    value: float
    words: str


def check_feasible(geography: Geography, invariants: Sequence[Invariant], kinds: NDArray[np.bool_]) -> None:
    """Raise `ParameterError` if no tables have the values of the invariants.

    If real tables exist, integer tables exist too, because the kinds of people are nested or disjoint.

    Args:
        geography: the geography of the nodes.
        invariants: the invariants; those without values are left out.
        kinds: the possible cells that each invariant counts, shape `(n_invariants, n_possible)`.
    """
    totals = _totals(geography, invariants, kinds)
    for total in totals:
        if total.value and not total.row.any():
            raise ParameterError(
                f"the invariant {total.words} cannot hold: the structural zeros leave no cell for such people.",
                argument="invariants",
            )
    if not totals or _fits(totals):
        return
    conflict = list(totals)
    for total in totals:
        remaining = [other for other in conflict if other is not total]
        conflict = conflict if _fits(remaining) else remaining
    raise ParameterError(
        f"the invariants contradict each other, so that no tables satisfy them: "
        f"{'; '.join(total.words for total in conflict)}. Correct one of these values, or leave `values` out to use "
        "the values of the data.",
        argument="invariants",
    )


def _totals(geography: Geography, invariants: Sequence[Invariant], kinds: NDArray[np.bool_]) -> list[FeasibleTotal]:
    """Return one total for each value of an invariant, over groups of cells that the same invariants count."""
    groups = np.unique(kinds, axis=1) if len(kinds) else kinds
    totals = []
    for invariant, kind in zip(invariants, groups, strict=True):
        n_nodes = geography.n_nodes(invariant.level)
        if invariant.values is not None and len(invariant.values) != n_nodes:
            raise ParameterError(
                f"the invariant {invariant} must have {plural(n_nodes, 'value')}, one for each, but has "
                f"{len(invariant.values)}.",
                argument="invariants",
            )
        for node, value in enumerate(invariant.values or ()):
            row = np.outer(geography.of_counties(invariant.level) == node, kind).astype(np.float64).ravel()
            totals.append(FeasibleTotal(row, value, f"{invariant.counted(value)} in {invariant.level} {node}"))
    return totals


def _fits(totals: Sequence[FeasibleTotal]) -> bool:
    """Return True if some non-negative numbers have these sums."""
    from scipy.optimize import linprog

    if not totals:
        return True
    rows, values = np.array([total.row for total in totals]), np.array([total.value for total in totals])
    return bool(linprog(np.zeros(rows.shape[1]), A_eq=rows, b_eq=values, bounds=(0, None), method="highs").success)
