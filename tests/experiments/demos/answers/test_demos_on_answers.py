"""Demos on answers to queries: every number that they teach."""

import math

import numpy as np
import pytest
from tests.experiments.demo_runs import check_reading, demos_in, play

from dpassay.audit import Verdict
from dpassay.experiments.demos.answers import error_of_mwem


@demos_in("answers")
def test_a_demo_reads_well_in_a_pipe(name):
    check_reading(name)


class TestTopDown:
    def test_each_processing_step_reduces_the_error_as_predicted(self):
        result = play("top-down").errors
        for level in ("nation", "state", "county"):
            noise, linear, kept, whole = (
                result.root_mean_square[step, level] for step in ("noise", "least-squares", "non-negative", "whole")
            )
            assert linear == pytest.approx(result.predicted[level], rel=0.06)
            assert noise > 1.1 * linear
            assert linear * 1.01 > kept
            assert whole == pytest.approx(kept, rel=0.01)
        assert result.root_mean_square["whole", "county"] < 0.9 * result.root_mean_square["least-squares", "county"]

    def test_the_smallest_counties_gain_people_and_the_large_ones_pay(self):
        result = play("top-down").errors
        order = np.argsort(result.sizes)
        assert (result.bias[1, order[:2]] > 5.0).all()
        assert result.bias[1, order[-2:]].sum() < -10.0
        assert np.abs(result.bias[0]).max() < 5.0

    def test_only_the_pair_that_differs_in_an_invariant_is_told_apart(self):
        results = play("top-down").audits
        assert results.kept.verdict is Verdict.CONSISTENT
        assert results.forgotten.verdict is Verdict.VIOLATION
        assert results.forgotten.witness is not None
        assert "differs in an invariant" in results.refused
        assert 1.0 < results.tables.bound.epsilon < results.measurements.bound.epsilon


class TestQueryRelease:
    def test_a_strategy_beats_noise_per_answer_and_noise_falls_with_records(self):
        results = play("query-release").measured
        for which in (0, 1):
            first, last = ({name: each[place][which] for name, each in results.items()} for place in (0, -1))
            for kind in ("Laplace", "Gaussian"):
                assert last[f"matrix, {kind}"] < last[kind] / (15.0 if kind == "Laplace" else 1.9)
                assert first[kind] / last[kind] == pytest.approx(1000.0, rel=0.1)
            assert first["MWEM"] < first["Gaussian"]

    def test_the_rates_are_ordered(self):
        for n, rates in play("query-release").known.items():
            assert all(rates[norm, True] >= rates[norm, False] for norm in (2.0, math.inf)), n


def test_mwem_learns_from_few_answers_what_noise_on_all_would_drown():
    few, some = (error_of_mwem.mwem_error(1.0, rounds) for rounds in (1, 8))
    assert some < 0.6 * few
    assert 2 * some < 240 / error_of_mwem.PEOPLE * math.log(960)  # the mean of the largest of 960 is beyond ln 960
