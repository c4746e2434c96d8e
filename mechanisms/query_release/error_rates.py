"""Known rates of the smallest error of query release.

k queries with values in [-1, 1] on a domain of T cells, n records, mean answers. The error is the expected largest
error of an answer (norm inf), or the expected root mean square error (norm 2). Constants, and the factor ln(1/delta)
under the root, are suppressed: the rates describe the growth of errors, not their size.

    norm   epsilon-DP                                         (epsilon, delta)-DP
    2      (ln(k)^2 ln(T)^(3/2) / (epsilon n))^(1/2)          (ln(T)^(1/2) / (epsilon n))^(1/2)
           Nikolov, Talwar and Zhang 2013                     Dwork, Rothblum and Vadhan 2010
    inf    (ln(k) ln(T) / (epsilon n))^(1/3)                  (ln(k) ln(T)^(1/2) / (epsilon n))^(1/2)
           Blum, Ligett and Roth 2013                         Hardt and Rothblum 2010; Gupta, Roth and Ullman 2012

The right column is tight (Bun, Ullman and Vadhan 2014). The left one is open: for the norm inf the conjecture is
(ln(k) ln(T) / (epsilon n))^(1/2), for the norm 2 it is (ln(T) / (epsilon n))^(1/2), for every k.
"""

from __future__ import annotations

import math

from ..core.errors import ParameterError
from ..core.validation import positive, whole


def error_rate(*, n_queries: int, n_cells: int, n_records: int, epsilon: float, norm: float, pure: bool) -> float:
    """Return the entry of the table above, for the worst workload of that size; at most 1, the error of a constant.

    Args:
        n_queries: k, >= 2.
        n_cells: T, >= 2.
        n_records: n, >= 1.
        epsilon: > 0.
        norm: 2 or inf.
        pure: True for epsilon-DP, False for (epsilon, delta)-DP.

    Example:
        >>> sizes = {"n_queries": 256, "n_cells": 64, "n_records": 10**6, "epsilon": 1.0}
        >>> [round(error_rate(**sizes, norm=norm, pure=pure), 4) for norm in (2, math.inf) for pure in (True, False)]
        [0.0161, 0.0014, 0.0285, 0.0034]
    """
    whole(2, n_queries=n_queries, n_cells=n_cells)
    whole(1, n_records=n_records)
    positive(epsilon=epsilon)
    if norm not in (2.0, math.inf):
        raise ParameterError(argument="norm", value=norm, allowed="be 2 or inf")
    k, t, records = math.log(n_queries), math.log(n_cells), epsilon * n_records
    rates = {
        (2.0, True): (k**2 * t**1.5 / records) ** (1 / 2),
        (2.0, False): (t**0.5 / records) ** (1 / 2),
        (math.inf, True): (k * t / records) ** (1 / 3),
        (math.inf, False): (k * t**0.5 / records) ** (1 / 2),
    }
    return float(min(1.0, rates[float(norm), bool(pure)]))
