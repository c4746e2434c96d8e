"""Sampling schemes: their laws, exactly, for all records and for subsets."""

import math
from itertools import combinations, islice, permutations

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.learning.dp_sgd.sampling import (
    CyclicBatches,
    FixedSizeSampling,
    FullBatch,
    PoissonSampling,
    ShuffledEpochs,
    fixed_size,
)
from dpassay.mechanisms.learning.dp_sgd.sampling.poisson import successes

pytestmark = pytest.mark.usefixtures("without_power")

FALSE_ALARM = 1e-6


def indicators(scheme, n, n_runs, steps, *, inclusion=None, seed=0):
    """Return how often each record takes part in each step of each run, `(n_runs, steps, n)`."""
    counts = np.zeros((n_runs, steps, n), dtype=int)
    runs = np.arange(n_runs)[:, None]
    draws = islice(scheme.draws(n, n_runs, inclusion, np.random.default_rng(seed)), steps)
    for t, draw in enumerate(draws):
        rows = np.broadcast_to(np.arange(n), (n_runs, n)) if draw.rows is None else draw.rows
        np.add.at(counts[:, t], (runs, rows), 1 if draw.included is None else draw.included.astype(int))
    return counts


def chi_square(counts, expected):
    """Statistic and its limit at the false-alarm rate."""
    counts, expected = np.asarray(counts, dtype=float), np.asarray(expected, dtype=float)
    assert expected.min() > 20
    return np.sum((counts - expected) ** 2 / expected), stats.chi2.isf(FALSE_ALARM, len(counts) - 1)


@pytest.mark.parametrize("rate", [0.02, 0.25, 0.399, 0.4, 0.7])
def test_poisson_inclusions_are_independent_bernoulli(rate):
    """Every one of the joint patterns of 3 records in 2 steps has its product probability."""
    inclusions = indicators(PoissonSampling(sampling_probability=rate, expected_batch_size=1), 3, 400, 100)
    assert inclusions.max() <= 1
    ones = inclusions.sum()
    assert abs(ones - rate * inclusions.size) < stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(
        inclusions.size * rate * (1 - rate)
    )
    pairs = inclusions.reshape(-1, 2 * 3)
    patterns = pairs @ (1 << np.arange(6))
    weights = np.array([bin(k).count("1") for k in range(64)])
    expected = len(pairs) * rate**weights * (1 - rate) ** (6 - weights)
    common = expected > 25
    counts = np.bincount(patterns, minlength=64)
    statistic, limit = chi_square(
        np.append(counts[common], counts[~common].sum() + 30), np.append(expected[common], expected[~common].sum() + 30)
    )
    assert statistic < limit


def test_poisson_inclusions_of_different_runs_are_independent():
    """Runs lie side by side in one long row of trials: the last record of one, and the first of the next."""
    inclusions = indicators(PoissonSampling(sampling_probability=0.2, expected_batch_size=1), 2, 50, 4000)
    left, right = inclusions[:-1, :, 1].ravel(), inclusions[1:, :, 0].ravel()
    counts = np.bincount(2 * left + right, minlength=4)
    statistic, limit = chi_square(counts, len(left) * np.array([0.64, 0.16, 0.16, 0.04]))
    assert statistic < limit


def test_poisson_batch_sizes_are_binomial():
    sizes = (
        indicators(PoissonSampling(sampling_probability=0.1, expected_batch_size=1), 30, 200, 50).sum(axis=2).ravel()
    )
    law = stats.binom.pmf(np.arange(31), 30, 0.1)
    common = len(sizes) * law > 25
    counts = np.bincount(sizes, minlength=31)
    statistic, limit = chi_square(
        np.append(counts[common], counts[~common].sum()), len(sizes) * np.append(law[common], law[~common].sum())
    )
    assert statistic < limit


def test_successes_lie_within_the_trials_for_every_rate():
    assert list(successes(5, 1.0 - 1e-12, np.random.default_rng(0))) == [0, 1, 2, 3, 4]
    assert len(successes(0, 0.5, np.random.default_rng(0))) == 0
    for rate in (1e-9, 1e-3, 0.5, 0.999):
        positions = successes(10_000, rate, np.random.default_rng(1))
        assert np.all(np.diff(positions) > 0)
        assert positions.min(initial=0) >= 0
        assert positions.max(initial=0) < 10_000


def test_successes_draw_more_gaps_until_all_trials_are_covered():
    """Gaps that come three at a time give the positions that the same gaps give at once."""
    gaps = np.random.default_rng(2).standard_exponential(900)

    class Few:
        def __init__(self):
            self.at = 0

        def standard_exponential(self, n):
            self.at += 3
            return gaps[self.at - 3 : self.at].copy()

    class Many:
        def standard_exponential(self, n):
            return gaps.copy()

    few, many = successes(2000, 0.3, Few()), successes(2000, 0.3, Many())
    np.testing.assert_array_equal(few, many)
    assert few[-1] > 1900


def test_poisson_on_subsets_samples_members_only_at_the_same_rate():
    rng = np.random.default_rng(3)
    inclusion = rng.random((300, 12)) < 0.5
    for rate in (0.2, 0.6):
        scheme = PoissonSampling(sampling_probability=rate, expected_batch_size=1)
        inclusions = indicators(scheme, 12, 300, 40, inclusion=inclusion)
        assert inclusions[~inclusion[:, None, :].repeat(40, axis=1)].sum() == 0
        trials = inclusion.sum() * 40
        assert abs(inclusions.sum() - rate * trials) < stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(
            trials * rate * (1 - rate)
        )


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("size", [2, 3])
def test_fixed_size_subsets_are_uniform_without_replacement(monkeypatch, keyed, size):
    monkeypatch.setattr(fixed_size, "MAX_KEYED_RATIO", 100 if keyed else 0)
    inclusions = indicators(FixedSizeSampling(batch_size=size), 5, 100, 200).reshape(-1, 5)
    assert inclusions.max() == 1
    assert np.all(inclusions.sum(axis=1) == size)
    subsets = [sum(1 << i for i in chosen) for chosen in combinations(range(5), size)]
    counts = np.bincount(inclusions @ (1 << np.arange(5)), minlength=32)
    assert counts.sum() == counts[subsets].sum()
    statistic, limit = chi_square(counts[subsets], np.full(len(subsets), len(inclusions) / len(subsets)))
    assert statistic < limit


@pytest.mark.parametrize("keyed", [True, False])
def test_fixed_size_subsets_of_members_are_uniform(monkeypatch, keyed):
    monkeypatch.setattr(fixed_size, "MAX_KEYED_RATIO", 100 if keyed else 0)
    inclusion = np.array([[True, False, True, True, False, True], [True] * 6, [False, True, True, False, False, False]])
    inclusions = indicators(FixedSizeSampling(batch_size=2), 6, 3, 6000, inclusion=inclusion)
    for run, members in enumerate(inclusion):
        inside = np.flatnonzero(members)
        pairs = [(1 << a) + (1 << b) for a, b in combinations(inside, 2)]
        counts = np.bincount(inclusions[run] @ (1 << np.arange(6)), minlength=64)
        assert counts[pairs].sum() == 6000
        if len(pairs) > 1:
            statistic, limit = chi_square(counts[pairs], np.full(len(pairs), 6000 / len(pairs)))
            assert statistic < limit


def test_whole_fixed_size_batches_hold_everything():
    assert np.all(indicators(FixedSizeSampling(batch_size=4), 4, 3, 2) == 1)


@pytest.mark.parametrize("n", [6, 7])
def test_shuffled_epochs_visit_each_record_once(n):
    batches = -(-n // 3)
    inclusions = indicators(ShuffledEpochs(batch_size=3), n, 5, 4 * batches)
    epochs = inclusions.reshape(5, 4, batches, n)
    assert np.all(epochs.sum(axis=2) == 1)
    assert np.all(epochs.sum(axis=3)[:, :, :-1] == 3)
    assert len({inclusions[r].tobytes() for r in range(5)}) == 5
    assert not np.array_equal(epochs[:, 0], epochs[:, 1])


def test_shuffled_orders_are_uniform():
    inclusions = indicators(ShuffledEpochs(batch_size=1), 3, 3000, 3)
    orders = inclusions.argmax(axis=2) @ np.array([9, 3, 1])
    possible = [np.array(p) @ np.array([9, 3, 1]) for p in permutations(range(3))]
    counts = np.bincount(orders, minlength=27)[possible]
    assert counts.sum() == 3000
    statistic, limit = chi_square(counts, np.full(6, 500.0))
    assert statistic < limit


def test_shuffled_epochs_of_subsets_have_their_own_length():
    inclusion = np.zeros((3, 8), dtype=bool)
    inclusion[0, :2], inclusion[1, 1:6], inclusion[2] = True, True, True
    inclusions = indicators(ShuffledEpochs(batch_size=2), 8, 3, 12, inclusion=inclusion)
    for run, batches in enumerate((1, 3, 4)):
        epochs = inclusions[run].reshape(12 // batches, batches, 8).sum(axis=1)
        np.testing.assert_array_equal(epochs, np.tile(inclusion[run].astype(int), (12 // batches, 1)))


def test_cyclic_batches_keep_the_order():
    inclusions = indicators(CyclicBatches(batch_size=2), 5, 2, 6)
    expected = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]])
    np.testing.assert_array_equal(inclusions, np.tile(expected, (2, 2, 1)))


def test_full_batches_hold_every_member():
    inclusion = np.array([[True, False, True], [False, False, False]])
    assert np.all(indicators(FullBatch(), 3, 2, 2) == 1)
    np.testing.assert_array_equal(
        indicators(FullBatch(), 3, 2, 2, inclusion=inclusion), np.repeat(inclusion[:, None, :], 2, axis=1)
    )


@pytest.mark.parametrize("scheme", [FixedSizeSampling, ShuffledEpochs, CyclicBatches])
def test_batches_larger_than_the_data_are_refused(scheme):
    with pytest.raises(ParameterError, match="batch_size is 9, but it is drawn from 4 records only"):
        scheme(batch_size=9).check(4)
    with pytest.raises(ParameterError, match="batch_size is 9, but it is drawn from 4 records only"):
        scheme(batch_size=9, n_records=4)
    with pytest.raises(ParameterError, match="the data hold 12 records, but n_records = 11"):
        scheme(batch_size=9, n_records=11).check(12)


def test_a_subset_smaller_than_a_fixed_size_is_refused():
    inclusion = np.array([[True, True, True], [True, False, False]])
    with pytest.raises(ParameterError, match="batch_size is 2, but it is drawn from 1 record only"):
        next(FixedSizeSampling(batch_size=2).draws(3, 2, inclusion, np.random.default_rng(0)))
