"""Running sums of noisy answers: the law of the answers, and their guarantee."""

import numpy as np
import pytest

from dpassay.mechanisms import Laplace, Neighbours, Outputs
from dpassay.mechanisms.noise.additive.laplace import PrefixSums


def test_sums_are_those_of_the_noisy_answers_of_the_same_stream():
    answers = np.array([3.0, -1.0, 4.0])
    released = (kind(0.5, n_queries=3).release(answers, 50, np.random.default_rng(1)) for kind in (PrefixSums, Laplace))
    sums, noisy = (outputs.values for outputs in released)
    np.testing.assert_allclose(sums, np.cumsum(noisy, axis=1))


def test_likelihood_ratio_is_that_of_the_noisy_answers():
    """In exact numbers a change of variables of determinant 1."""
    pair = Neighbours(np.ones(10), 2.0 * np.ones(10), "add_remove")
    sums, noisy = PrefixSums(1.0, sensitivity=10.0, n_queries=10), Laplace(1.0, sensitivity=10.0, n_queries=10)
    assert sums.bind(pair) is sums
    answers = noisy.release(pair.d0, 100, np.random.default_rng(2))
    for side in (pair.d0, pair.d1):
        summed = sums.log_density(Outputs(np.cumsum(answers.values, axis=1)), side)
        np.testing.assert_allclose(summed, noisy.log_density(answers, side), rtol=1e-9)


def test_every_answer_moving_by_one_shares_the_budget():
    all_low = Outputs(np.cumsum(-np.ones((1, 10)), axis=1))
    mechanism = PrefixSums(1.0, sensitivity=10.0, n_queries=10)
    ratio = mechanism.log_density(all_low, np.zeros(10)) - mechanism.log_density(all_low, np.ones(10))
    assert ratio[0] == pytest.approx(1.0, rel=1e-12)
    assert mechanism.guarantee().epsilon(0.0) == 1.0
