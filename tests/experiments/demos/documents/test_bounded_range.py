"""The exponential mechanism and permute-and-flip: widths of the losses, and the rho that they need."""

import math

import numpy as np
import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict
from dpassay.mechanisms.selection import PermuteAndFlip


@pytest.fixture(scope="module")
def found():
    return played("bounded-range").names


def test_the_demo_reads_well():
    check_demo("bounded-range")


def test_the_exponential_mechanism_has_width_epsilon_on_every_pair(found):
    assert found.widths["exponential"] == pytest.approx(np.full(len(found.leads), 0.5))


def test_permute_and_flip_is_as_private_and_wider(found):
    assert np.abs(found.losses["permute-and-flip"]).max() == pytest.approx(0.5)
    assert (found.widths["permute-and-flip"] > 0.5).all()
    at_equal = found.widths["permute-and-flip"][np.argmin(np.abs(found.leads))]
    half = PermuteAndFlip(0.25, 2, monotone=True)  # the published pair, (0, 0) and (0, 1)
    published = np.ptp(half.log_probabilities([0.0, 0.0]) - half.log_probabilities([0.0, 1.0]))
    assert published == pytest.approx(0.25 + math.log(2.0 - math.exp(-0.25)))
    assert at_equal == pytest.approx(0.5 + math.log(2.0 - math.exp(-0.5)))


def test_the_exponential_mechanism_needs_an_eighth_and_permute_and_flip_more(found):
    for epsilon, (exponential, flip) in found.rhos.items():
        assert 0.94 * epsilon**2 / 8.0 < exponential <= epsilon**2 / 8.0
        assert 1.9 * epsilon**2 / 8.0 < flip <= epsilon**2 / 2.0
    assert round(found.rhos[0.1][1] / (0.1**2 / 8.0), 1) == 3.8  # as the text says


def test_the_rho_of_the_exponential_mechanism_is_refuted_for_permute_and_flip(found):
    assert found.audits["exponential"].verdict is Verdict.CONSISTENT
    flip = found.audits["permute-and-flip"]
    assert flip.verdict is Verdict.VIOLATION
    assert flip.bound.epsilon > flip.claim


def test_laplace_noise_exceeds_epsilon_only_with_more_than_two_candidates(found):
    assert found.laplace_widths[2] <= 0.5
    assert found.laplace_widths[20] > 0.55
