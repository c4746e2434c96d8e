"""Demos on synthetic data: every number that they teach."""

import math

import numpy as np
import pytest
from tests.experiments.demo_runs import check_reading, demos_in, play

from dpassay.experiments.demos.synthesis import which_marginals
from dpassay.mechanisms.synthetic_data import CodedTable


@demos_in("synthesis")
def test_a_demo_reads_well_in_a_pipe(name):
    check_reading(name)


@pytest.fixture(scope="module")
def parts():
    return play("which-marginals").parts


class TestWhichMarginals:
    def test_parts_add_up_to_the_mean_log_ratio_of_all_that_is_shown(self, parts):
        selection, domain, others = which_marginals.SELECTION, which_marginals.DOMAIN, which_marginals.people()
        out, in_ = (CodedTable.of(domain, rows) for rows in (others, np.concatenate([others, which_marginals.YOU])))
        shown = selection.transcript(domain, selection.measure(in_, None, 3000, np.random.default_rng(9)), 3000)
        loss = np.subtract(*(selection.log_density(shown, table, None) for table in (in_, out)))
        total = sum(part.information for part in parts)
        assert abs(total - loss.mean()) < 5 * loss.std() / math.sqrt(3000)
        assert total < selection.rho

    def test_audited_mu_comes_near_the_exact_one_and_stays_below_it(self, parts):
        ratios = [part.audited / part.mu for part in parts if not math.isnan(part.audited)]
        assert len(ratios) >= 8
        assert all(0.6 < ratio < 1.0 for ratio in ratios)

    def test_four_pairs_are_measured_and_all_attributes(self, parts):
        for side in (0, 1):
            assert sum(part.measured[side] for part in parts if " x " in part.name) == pytest.approx(4.0)
        assert sum(part.measured == (1.0, 1.0) for part in parts) >= 5
