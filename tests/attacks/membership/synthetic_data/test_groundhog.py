"""Summary statistics of tables against numpy, table by table."""

import numpy as np
import pytest
from tests.attacks.table_laws import PAIR, REAL, target

from dpassay.attacks.membership.synthetic_data import Groundhog
from dpassay.mechanisms.core.errors import ParameterError


def statistics(kind, tables, pair=PAIR):
    return Groundhog(statistics=kind).features(target(pair), tables, tables, np.random.default_rng(0)).of(tables)


def test_statistics_are_those_of_a_loop():
    tables = np.random.default_rng(0).integers(0, 4, (6, 20, 5)) + 0.0
    tables[0, :, 1] = 2.0  # a constant column
    naive = [[*t.mean(axis=0), *np.median(t, axis=0), *t.var(axis=0)] for t in tables]
    np.testing.assert_allclose(statistics("naive", tables), naive)
    levels = (0, 1, 2, 3, 9)
    shares = [[np.mean(t[:, j] == level) for j in range(5) for level in levels] for t in tables]
    np.testing.assert_allclose(statistics("histogram", tables), shares)
    with np.errstate(invalid="ignore"):
        correlations = [np.nan_to_num(np.corrcoef(t.T)[np.triu_indices(5, 1)]) for t in tables]
    np.testing.assert_allclose(statistics("correlation", tables), correlations, atol=1e-9)
    together = statistics("all", tables)
    assert together.shape == (6, 15 + 25 + 10)


@pytest.mark.parametrize("pair", [PAIR, REAL])
def test_statistics_do_not_depend_on_the_order_of_rows_in_any_digit(pair):
    """A tree may cut between two values that differ in the last digit alone."""
    rng = np.random.default_rng(2)
    tables = pair.d1[rng.integers(len(pair.d1), size=(200, 20))]
    shuffled = tables[:, rng.permutation(20)]
    features = Groundhog().features(target(pair), tables, tables, rng)
    np.testing.assert_array_equal(features.of(shuffled), features.of(tables))


def test_a_real_column_is_cut_into_ten_bins():
    tables = np.random.default_rng(1).random((40, 20, 5))
    shares = statistics("histogram", tables, REAL)
    assert shares.shape == (40, 50)
    np.testing.assert_allclose(shares.reshape(40, 5, 10).sum(axis=2), 1.0)


def test_unknown_statistics_are_named():
    with pytest.raises(ParameterError, match="unknown statistics 'mean'"):
        Groundhog(statistics="mean")
