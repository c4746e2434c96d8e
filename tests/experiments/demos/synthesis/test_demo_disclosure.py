"""Three risks of synthetic tables: copies give people away, a private table none that could be shown."""

import numpy as np
import pytest
from scipy.stats import norm

from dpassay.experiments.demos.synthesis import disclosure as lecture
from dpassay.experiments.demos.synthesis.disclosure import AGES, ATTACKS
from dpassay.mechanisms import GaussianDP


@pytest.fixture(scope="module")
def found():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lecture, "N_ATTACKED", 60)
        return lecture.main()


@pytest.mark.parametrize("risk", ATTACKS)
def test_copies_gain_by_every_attack_and_the_private_table_by_none(found, risk):
    copied, private = (found.disclosed[name, risk] for name in ("copies", "private"))
    assert copied.everybody.headline.lower > 0.2
    assert not private.everybody.shown
    assert not private.worst[1].shown
    assert set(copied.groups) | set(copied.left_out) == set(AGES)


def test_the_gain_that_is_allowed_is_that_of_the_gaussian_curve(found):
    # Who is replaced moves eight counts by one, under noise of standard deviation 2.
    mu = np.sqrt(8.0) / 2.0
    assert lecture.PRIVATE.guarantee() == GaussianDP(mu, relation="replace_one")
    for risk, most in found.allowed.items():
        without = found.disclosed["private", risk].everybody["without the person"].success
        p0 = np.array([without.lower, without.value, without.upper])
        gains = norm.cdf(norm.ppf(p0) + mu) - p0
        assert gains.max() - 1e-9 <= most < 2.0 * norm.cdf(mu / 2.0) - 1.0 + 1e-9  # the largest of all, at Phi(-mu / 2)
        assert found.disclosed["private", risk].everybody.headline.value < most
