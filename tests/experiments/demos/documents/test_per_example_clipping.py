"""DP-SGD that clips the mean of a batch, and a canary that reverses it."""

import math

import numpy as np
import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("per-example-clipping").names


def test_the_demo_reads_well():
    check_demo("per-example-clipping")


def test_both_programs_claim_an_epsilon_of_1(found):
    assert found.claimed.mu == pytest.approx(math.sqrt(4) / 7.46)
    for trainer in (*found.clip_mean.values(), *found.clip_each.values()):
        assert trainer.guarantee().epsilon(1e-5) == pytest.approx(1.0, abs=0.005)


def test_the_canary_moves_the_clipped_mean_by_2_c(found):
    for size, law in zip(found.SIZES, found.truth, strict=True):
        sides = [found.canary_of_norm(4.0 * size, size).side(side).gradients.sum(axis=0) / size for side in (0, 1)]
        clipped = [mean / max(1.0, np.linalg.norm(mean)) for mean in sides]
        assert np.linalg.norm(clipped[1] - clipped[0]) == pytest.approx(2.0)
        assert law.mu / found.claimed.mu == pytest.approx(2.0 * size)


def test_clipping_the_mean_breaks_the_claim_for_every_batch_size(found):
    for size, law in zip(found.SIZES, found.truth, strict=True):
        assert found.mean[size].verdict is Verdict.VIOLATION
        assert found.mean[size].bound.epsilon <= law.epsilon(1e-5)
    assert found.mean[5].bound.epsilon > 1.5 * found.mean[2].bound.epsilon
    assert found.mean[20].bound.epsilon <= found.mean[20].bound.ceiling < 9.0


def test_clipping_each_gradient_keeps_the_claim(found):
    for size in found.SIZES:
        assert found.each[size].verdict is Verdict.CONSISTENT
        assert 0.2 < found.each[size].bound.epsilon <= 1.0


def test_a_canary_of_norm_c_does_not_show_the_bug(found):
    assert found.tame.verdict is Verdict.CONSISTENT
    assert found.tame.bound.epsilon < 0.1
