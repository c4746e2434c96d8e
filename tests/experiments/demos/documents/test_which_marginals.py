"""What each published count of MST, and its choice of pairs, leaks about one record."""

import numpy as np
import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict
from dpassay.mechanisms import GaussianDP


@pytest.fixture(scope="module")
def found():
    return played("which-marginals").names


def test_the_demo_reads_well():
    check_demo("which-marginals")


def test_parts_add_up_to_the_mean_log_ratio_of_whole_transcripts(found):
    spread = np.hypot(found.loss.std() / np.sqrt(2_000), found.log_ratio.std() / np.sqrt(found.n_runs))
    assert abs(found.total - found.loss.mean()) < 5.0 * spread  # false alarm 6e-7
    assert found.total < found.mst.rho
    assert found.choice < found.total / 3.0


def test_four_pairs_are_measured_and_all_attributes(found):
    for shares in found.measured:
        assert shares[5:].sum() == pytest.approx(4.0)
        assert (shares[:5] == 1.0).all()


def test_the_information_depends_on_the_measurements_only(found):
    always = found.information[5:][found.measured[1, 5:] == 1.0]
    assert len(always) >= 2
    assert np.ptp(always) == 0.0
    cells = [rows[0] for name, rows in found.rows.items() if name in found.audits and " x " in name]
    assert max(cells) > 4 * min(cells)


def test_lower_bounds_stay_below_the_exact_epsilon(found):
    assert len(found.audits) >= 8
    for name, result in found.audits.items():
        assert result.verdict is Verdict.CONSISTENT
        assert result.bound.epsilon <= GaussianDP(found.mu[found.names.index(name)]).epsilon(0.1)
    assert np.mean([result.bound.epsilon for result in found.audits.values()]) > 0.03


def test_a_choice_without_noise_breaks_the_claim(found):
    assert found.exact_scores.verdict is Verdict.VIOLATION
