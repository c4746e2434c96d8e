"""The lecture on what each count of MST gives away: its parts add up to what the exact law says."""

import contextlib
import io
import math

import numpy as np
import pytest

from dpassay.experiments.demos.synthesis import which_marginals
from dpassay.mechanisms.synthesis import Table


@pytest.fixture(scope="module")
def found():
    with contextlib.redirect_stdout(io.StringIO()), pytest.MonkeyPatch.context() as patch:
        patch.setattr(which_marginals, "N_RUNS", 3000)
        return which_marginals.main().parts


def test_parts_add_up_to_the_mean_log_ratio_of_all_that_is_shown(found):
    selection, domain = which_marginals.SELECTION, which_marginals.DOMAIN
    out, in_ = (Table.of(domain, rows) for rows in (which_marginals.people(), _with_you()))
    shown = selection.transcript(domain, selection.measure(in_, None, 3000, np.random.default_rng(9)), 3000)
    loss = np.subtract(*(selection.log_density(shown, table, None) for table in (in_, out)))
    total = sum(part.information for part in found)
    assert abs(total - loss.mean()) < 5 * loss.std() / math.sqrt(3000)
    assert total < selection.rho


def _with_you():
    return np.concatenate([which_marginals.people(), which_marginals.YOU])


def test_audited_mu_comes_near_the_exact_one_and_stays_below_it(found):
    ratios = [part.audited / part.mu for part in found if not math.isnan(part.audited)]
    assert len(ratios) >= 8
    assert all(0.6 < ratio < 1.0 for ratio in ratios)


def test_four_pairs_are_measured_and_all_attributes(found):
    for side in (0, 1):
        assert sum(part.measured[side] for part in found if " x " in part.name) == pytest.approx(4.0)
    assert sum(part.measured == (1.0, 1.0) for part in found) >= 5
