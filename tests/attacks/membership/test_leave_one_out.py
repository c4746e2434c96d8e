"""Statistics over the other models equal those of a loop that leaves the target, and its complement, out."""

import numpy as np
import pytest

from dpassay.attacks.membership.shadows import Others


def naive(values, mask, partner):
    """(count, mean, variance, median) by a loop."""
    found = np.full((4, *values.shape), np.nan)
    found[0] = 0
    for t in range(len(values)):
        for x in range(values.shape[1]):
            kept = [values[j, x] for j in range(len(values)) if j not in (t, partner[t]) and mask[j, x]]
            found[0, t, x] = len(kept)
            if kept:
                found[1, t, x], found[3, t, x] = np.mean(kept), np.median(kept)
            if len(kept) > 1:
                found[2, t, x] = np.var(kept, ddof=1)
    return found


@pytest.mark.parametrize("design", ["pairs", "bernoulli"])
@pytest.mark.parametrize("which", ["in", "all"])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_statistics_equal_the_naive_twin(design, which, offset):
    rng = np.random.default_rng(3)
    mask = rng.random((8, 40)) < 0.5
    partner = np.arange(8)
    if design == "pairs":
        mask[1::2] = ~mask[::2]
        partner = partner ^ 1
    mask |= which == "all"
    values = rng.normal(size=(8, 40)) + offset
    values[:, :5] = np.round(values[:, :5])  # ties
    others = Others(values, mask, partner)
    count, mean, variance, median = naive(values, mask, partner)
    np.testing.assert_array_equal(others.count, count)
    np.testing.assert_allclose(others.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(others.median, median, rtol=1e-12)
    np.testing.assert_allclose(others.variance, variance, rtol=1e-6 if offset else 1e-10, atol=1e-12)


def test_pooled_variance_is_the_mean_over_records_weighted_by_freedom():
    rng = np.random.default_rng(4)
    mask = rng.random((7, 30)) < 0.5
    values = rng.normal(size=(7, 30)) + 5 * rng.normal(size=30)
    partner = np.arange(7)
    count, _, variance, _ = naive(values, mask, partner)
    weight = np.maximum(count - 1, 0)
    expected = np.nansum(weight * np.nan_to_num(variance), axis=1) / weight.sum(axis=1)
    assert Others(values, mask, partner).pooled_variance[:, 0] == pytest.approx(expected)


def test_what_the_target_says_does_not_move_its_references():
    rng = np.random.default_rng(5)
    mask = rng.random((6, 20)) < 0.5
    values = rng.normal(size=(6, 20))
    changed = values.copy()
    changed[2] += 100.0
    before, after = (Others(v, mask, np.arange(6)) for v in (values, changed))
    for name in ("mean", "median", "variance", "pooled_variance"):
        np.testing.assert_allclose(getattr(before, name)[2], getattr(after, name)[2], rtol=1e-9, err_msg=name)


def test_in_pairs_the_number_of_references_does_not_tell_the_bit_of_the_target():
    rng = np.random.default_rng(6)
    half = rng.random((4, 50)) < 0.5
    mask = np.stack([half, ~half], axis=1).reshape(8, 50)
    values = rng.normal(size=(8, 50))
    assert (Others(values, mask, np.arange(8) ^ 1).count == 3).all()
    alone = Others(values, mask, np.arange(8)).count  # the complement kept: the count gives the bit away
    np.testing.assert_array_equal(alone == 3, mask)
