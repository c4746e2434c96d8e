"""A generative model that is its records: how many stand in the table, and what an attack makes of it."""

import math

import numpy as np
import pytest

from dpassay.audit import Verdict, audit
from dpassay.mechanisms.broken.synthesis import Resampled
from dpassay.mechanisms.core.errors import NeighboursError, ParameterError
from dpassay.mechanisms.core.records import remove_record, replace_record


def test_63_percent_of_the_records_stand_in_the_table_verbatim():
    broken = Resampled(1.0, n_records=100)
    assert broken.share_shown == pytest.approx(0.63397, abs=5e-6)
    assert Resampled(1.0, n_records=10**6).share_shown == pytest.approx(1 - 1 / math.e, abs=1e-6)
    n = 4_000
    tables = broken.release(np.arange(100)[:, None], n, np.random.default_rng(0)).values[:, :, 0]
    distinct = (np.diff(np.sort(tables, axis=1), axis=1) > 0).sum(axis=1) + 1
    # The share in a table lies between 0 and 1: Hoeffding's bound on its mean, false alarm 1e-6.
    assert abs(distinct.mean() / 100 - broken.share_shown) < math.sqrt(math.log(2e6) / (2 * n))


def test_log_probability_is_that_of_a_loop():
    broken, rng = Resampled(1.0, n_records=5, n_rows=3), np.random.default_rng(1)
    records = np.array([[0, 1], [0, 1], [2, 2], [3, 0], [1, 1]])
    outputs = broken.release(records, 30, rng)
    outputs.values[0, 1] = [2, 3]
    shares = [[sum((row == x).all() for x in records) / 5 for row in table] for table in outputs.values]
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(broken.log_density(outputs, records), np.log(shares).sum(axis=1), rtol=1e-12)
    assert np.isneginf(broken.log_density(outputs, records)[0])


def test_an_audit_finds_delta_and_no_epsilon_is_enough(without_power):
    found = audit(Resampled(1.0, n_records=20), delta=0.5, trials=4_000, seed=0)
    assert found.verdict is Verdict.VIOLATION
    assert found.bound.epsilon > 4.0


@pytest.mark.parametrize(
    ("options", "message"),
    [({"n_records": 1}, "n_records must be"), ({"n_rows": 0}, "n_rows must be"), ({"epsilon": -1.0}, "epsilon must")],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ParameterError, match=message):
        Resampled(**{"epsilon": 1.0} | options)


def test_wrong_datasets_are_refused():
    broken = Resampled(1.0, n_records=3)
    with pytest.raises(ParameterError, match=r"n_records is 3, but the dataset has shape \(4, 1\)"):
        broken.release(np.zeros((4, 1)), 1, np.random.default_rng(0))
    table = np.array([[0], [1], [2]])
    with pytest.raises(NeighboursError):
        broken.bind(replace_record(table, 0, np.array([0])))
    with pytest.raises(Exception, match="replace_one"):
        broken.bind(remove_record(table, 0))
