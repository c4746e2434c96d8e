"""Fast single-precision normals: their law, in the middle, in the tails and jointly."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.learning.dp_sgd.steps import MAX_BLOCK_ENTRIES, standard_normal

FALSE_ALARM = 1e-6


def drawn(*shape, dtype=np.float32, seed=0):
    out = np.full(shape, np.nan, dtype=dtype)
    standard_normal(out, np.random.default_rng(seed))
    return out


def test_double_precision_is_the_sampler_of_numpy():
    np.testing.assert_array_equal(drawn(9, 7, dtype=np.float64), np.random.default_rng(0).standard_normal((9, 7)))


def test_values_are_standard_normal():
    values = drawn(1_000_000).astype(float)
    assert stats.kstest(values, "norm").pvalue > FALSE_ALARM
    n = len(values)
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
        limit = stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(variance / n)
        assert abs(np.mean(values**power) - mean) < limit


def test_tails_hold_as_much_as_they_should():
    n = 4_000_000
    size = np.abs(drawn(n).astype(float))
    for limit in (3.0, 4.0, 4.5):
        expected = 2 * stats.norm.sf(limit)
        assert stats.binomtest(int(np.sum(size > limit)), n, expected).pvalue > FALSE_ALARM
    assert 4.8 < size.max() < 7.5


def test_pairs_that_share_a_word_are_independent():
    """Cosine and sine of one angle lie half a piece apart: counts over a grid of equally likely cells."""
    values = drawn(16, 2, MAX_BLOCK_ENTRIES // 2).transpose(1, 0, 2).reshape(2, -1).astype(float)
    n = values.shape[1]
    cells = np.minimum((stats.norm.cdf(values) * 8).astype(int), 7)
    counts = np.bincount(8 * cells[0] + cells[1], minlength=64)
    statistic = np.sum((counts - n / 64) ** 2) / (n / 64)
    assert statistic < stats.chi2.isf(FALSE_ALARM, 63)
    squares = np.corrcoef(values**2)[0, 1]
    assert abs(squares) < stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(n)


@pytest.mark.parametrize("shape", [(0,), (1,), (2,), (5,), (3, 7), (2, 0), (3, MAX_BLOCK_ENTRIES // 2 + 1)])
def test_every_shape_is_filled(shape):
    assert np.isfinite(drawn(*shape)).all()
    assert len(np.unique(drawn(*shape))) >= 0.98 * np.prod(shape)  # 24 bits repeat


def test_the_largest_words_are_finite():
    class Extreme:
        def __init__(self, word):
            self.word = word

        def integers(self, low, high, size, dtype, endpoint):
            assert (low, high, endpoint) == (0, 2**64 - 1, True)
            return np.full(size, self.word, dtype=dtype)

    for word in (0, 2**64 - 1, 2**63, 2**24 - 1, 2**23):
        out = np.empty(4, dtype=np.float32)
        standard_normal(out, Extreme(word))
        assert np.isfinite(out).all()
        assert np.abs(out).max() < 7.5
