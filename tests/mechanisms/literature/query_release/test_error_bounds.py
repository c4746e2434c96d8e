"""The known rates of query release: how they grow, and what is refused."""

import math

import pytest

from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.query_release.error_bounds import error_rate

SIZES = {"n_queries": 1000, "n_cells": 100, "n_records": 10**7, "epsilon": 0.5}


@pytest.mark.parametrize(
    ("norm", "pure", "records", "queries", "cells"),
    [(2, True, 1 / 2, 1.0, 3 / 4), (2, False, 1 / 2, 0.0, 1 / 4),
     (math.inf, True, 1 / 3, 1 / 3, 1 / 3), (math.inf, False, 1 / 2, 1 / 2, 1 / 4)],
)  # fmt: skip
def test_rates_grow_with_the_powers_of_the_literature(norm, pure, records, queries, cells):
    start = error_rate(**SIZES, norm=norm, pure=pure)
    for change, power in (
        ({"n_records": 10**9}, 100.0**-records),
        ({"epsilon": 0.005}, 100.0**records),
        ({"n_queries": 1000**2}, 2.0**queries),
        ({"n_cells": 100**2}, 2.0**cells),
    ):
        assert error_rate(**(SIZES | change), norm=norm, pure=pure) == pytest.approx(min(1.0, start * power))


def test_no_rate_is_above_1_and_other_norms_are_refused():
    assert error_rate(n_queries=9, n_cells=9, n_records=1, epsilon=0.1, norm=2, pure=True) == 1.0
    with pytest.raises(ParameterError, match="norm must be 2 or inf"):
        error_rate(**SIZES, norm=1, pure=True)
