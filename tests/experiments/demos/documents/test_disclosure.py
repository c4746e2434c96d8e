"""Three attacks on copies and on a private table, compared with guesses without the person."""

import math

import pytest
from scipy.stats import norm
from tests.experiments.demo_runs import check_demo, played

from dpassay.mechanisms import GaussianDP

RISKS = ("singling out", "linkability", "inference")


@pytest.fixture(scope="module")
def found():
    return played("disclosure").names


def test_the_demo_reads_well():
    check_demo("disclosure")


@pytest.mark.parametrize("risk", RISKS)
def test_copies_gain_by_every_attack_and_the_private_table_by_none(found, risk):
    copied, private = (found.found[table, risk] for table in ("copies", "private"))
    assert copied.overall.headline.lower > 0.4
    assert not private.overall.significant
    assert not private.worst[1].significant
    assert set(copied.groups) | set(copied.left_out) == {"under 20", "20 to 39", "40 to 64", "65 or more"}


def test_the_private_table_and_no_table_single_out_a_third(found):
    total = found.found["private", "singling out"].overall
    for rate in (total.attack, *(over.success for over in total.over)):
        assert 0.25 < rate.value < 0.45


def test_the_gain_that_is_allowed_is_that_of_the_gaussian_curve(found):
    mu = math.sqrt(8.0) / 2.0  # who is replaced moves eight counts by one, under noise of standard deviation 2
    assert found.claim == GaussianDP(mu, relation="replace_one")
    for risk, most in found.allowed.items():
        without = found.found["private", risk].overall["without the person"].success
        gains = norm.cdf(norm.ppf([without.lower, without.value, without.upper]) + mu)
        gains -= [without.lower, without.value, without.upper]
        assert gains.max() - 1e-9 <= most < 2.0 * norm.cdf(mu / 2.0) - 1.0 + 1e-9  # the largest, at Phi(-mu / 2)
        assert found.found["private", risk].overall.headline.value < most


def test_swapping_the_illness_prevents_inference_only(found):
    singling_out, linkability, inference = (found.after_swap[risk] for risk in RISKS)
    assert singling_out.significant
    assert linkability.headline.value < 0.1
    assert not inference.significant
