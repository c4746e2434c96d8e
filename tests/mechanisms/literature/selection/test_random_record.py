"""A random record published: (0, 1/n), and what that allows."""

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.accounting import compose
from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError
from dpassay.mechanisms.literature.selection import PublishRandomRecord


def test_every_record_is_published_once_in_n_runs():
    chosen = PublishRandomRecord(5).release(np.arange(5.0), 100_000, np.random.default_rng(1)).values
    assert stats.chisquare(np.bincount(chosen.astype(int), minlength=5)).pvalue > 1e-6


def test_target_is_published_with_probability_one_over_n():
    mechanism = PublishRandomRecord(20)
    pair = mechanism.worst_case()
    target = Outputs(pair.d1[-1:])
    assert np.exp(mechanism.log_density(target, pair.d1))[0] == pytest.approx(0.05)
    assert np.isneginf(mechanism.log_density(target, pair.d0))[0]
    for epsilon in (0.0, 1.0, 50.0):
        assert mechanism.guarantee().delta(epsilon) == pytest.approx(0.05, rel=1e-12)


def test_equal_records_are_counted_together():
    law = PublishRandomRecord(4).log_density(Outputs(np.array([7.0, 8.0, 9.0])), np.array([7.0, 7.0, 7.0, 9.0]))
    assert np.exp(law) == pytest.approx([0.75, 0.0, 0.25])


def test_many_publications_add_up_as_independent_chances():
    claim = PublishRandomRecord(100).guarantee()
    assert compose([claim] * 10, accounting="optimal").delta(0.0) == pytest.approx(1.0 - 0.99**10)
    assert compose([claim] * 10, accounting="basic").delta(0.0) == pytest.approx(0.1)


def test_datasets_that_are_no_neighbours_are_refused():
    mechanism = PublishRandomRecord(3)
    with pytest.raises(ParameterError, match="n_records is 3"):
        mechanism.release(np.zeros(4), 1, np.random.default_rng(0))
    with pytest.raises(NeighboursError):
        mechanism.bind(Neighbours([1.0, 2.0, 3.0], [4.0, 5.0, 3.0], "replace_one"))
