"""The exponential mechanism for a coin: its Beta law, its widths, and how it compares with noisy counts."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError
from dpassay.mechanisms.literature.selection import BernoulliParameter
from dpassay.mechanisms.noise.laplace import Laplace

FALSE_ALARM = 1e-6
GRID = np.linspace(0.1, 0.9, 4001)


def tosses(heads, tails):
    return np.repeat([1.0, 0.0], [heads, tails])


def losses(mechanism, before, after):
    return mechanism.log_density(Outputs(GRID), tosses(*after)) - mechanism.log_density(Outputs(GRID), tosses(*before))


@pytest.mark.parametrize(("heads", "tails"), [(0, 0), (3, 0), (50, 50), (4000, 900), (900, 4000)])
def test_estimates_have_a_beta_law_cut_off_at_the_ends(heads, tails):
    mechanism = BernoulliParameter(0.5)
    whole = stats.beta(1.0 + mechanism.exponent * heads, 1.0 + mechanism.exponent * tails)
    low, high = whole.cdf([0.1, 0.9])
    drawn = mechanism.release(tosses(heads, tails), 50_000, np.random.default_rng(1)).values
    assert drawn.min() >= 0.1
    assert drawn.max() <= 0.9
    assert stats.kstest(drawn, lambda x: (whole.cdf(x) - low) / (high - low)).pvalue > FALSE_ALARM
    density = np.exp(mechanism.log_density(Outputs(GRID), tosses(heads, tails)))
    np.testing.assert_allclose(density, whole.pdf(GRID) / (high - low), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize(
    ("epsilon", "heads", "tails"), [(1.0, 1500, 0), (1.0, 1632, 0), (0.1, 0, 15_000), (1.0, 10**5, 7)]
)
def test_a_share_outside_the_interval_leaves_an_exponential_law_at_its_end(epsilon, heads, tails):
    """With x the distance from the nearer end, the density is that of the incomplete Beta function, which underflows:
    here by quadrature in 10^5 cells of 60 lengths of its decay."""
    mechanism, data = BernoulliParameter(epsilon), tosses(heads, tails)
    end, sign = (0.9, -1.0) if heads else (0.1, 1.0)
    a, b = mechanism.exponent * heads, mechanism.exponent * tails
    x = np.linspace(0.0, min(0.8, 60.0 / abs(a / end - b / (1.0 - end))), 100_001)
    log_density = a * np.log((end + sign * x) / end) + b * np.log((1.0 - end - sign * x) / (1.0 - end))
    cells = np.exp(log_density)
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (cells[1:] + cells[:-1]))])
    drawn = mechanism.release(data, 20_000, np.random.default_rng(1)).values
    law = lambda y: np.interp(y, x, cumulative / cumulative[-1])  # noqa: E731
    assert stats.kstest(np.abs(drawn - end), law).pvalue > FALSE_ALARM
    wanted = log_density - np.log(cumulative[-1] * x[1])
    result = mechanism.log_density(Outputs(end + sign * x), data)
    np.testing.assert_allclose(result[1:-1], wanted[1:-1], atol=1e-6)


@pytest.mark.parametrize("heads", [1500, 1632, 10**6])
def test_losses_on_extreme_data_stay_within_the_claim(heads):
    mechanism, pair = BernoulliParameter(1.0), (tosses(heads, 0), tosses(heads + 1, 0))
    for data in pair:
        outputs = mechanism.release(data, 2000, np.random.default_rng(2))
        loss = mechanism.log_density(outputs, pair[1]) - mechanism.log_density(outputs, pair[0])
        assert np.abs(loss).max() <= mechanism.bounded_range().eta


def test_exact_curve_is_a_number_at_large_epsilon():
    for epsilon in (300.0, 1e3, 1e6):
        mechanism = BernoulliParameter(epsilon)
        assert 0.2 * epsilon < mechanism.exact_guarantee().epsilon(0.0) <= mechanism.bounded_range().eta


def test_a_record_counts_little():
    # epsilon 0.1 / (2 ln 10) under add_remove; ln 9 in place of ln 10 where a record is replaced
    assert BernoulliParameter(0.1).exponent == pytest.approx(0.0217147, abs=5e-8)
    assert BernoulliParameter(0.1, relation="replace_one").sensitivity == pytest.approx(math.log(9.0))


def test_widths_of_the_losses_are_known():
    """With the exponent 0.0217147: 2 c ln 9 = 0.095424 for a replaced record, c ln 9 = 0.047712 for an added one."""
    mechanism = BernoulliParameter(0.1)
    replaced, added = losses(mechanism, (50, 50), (51, 49)), losses(mechanism, (50, 50), (51, 50))
    assert np.ptp(replaced) == pytest.approx(0.095424, abs=6e-7)
    assert np.ptp(added) == pytest.approx(0.047712, abs=6e-7)
    assert np.ptp(added) == pytest.approx(mechanism.bounded_range().eta, rel=1e-12)
    assert [replaced.min(), replaced.max()] == pytest.approx([-0.0479, 0.0475], abs=6e-5)
    edge = losses(mechanism, (100, 0), (99, 1))
    assert [edge.min(), edge.max()] == pytest.approx([-0.0288, 0.0666], abs=6e-5)


def test_claim_is_loose_and_the_range_of_replaced_records_is_all_of_it():
    assert BernoulliParameter(0.1, relation="replace_one").bounded_range().eta == pytest.approx(0.1)
    assert 0.03 < BernoulliParameter(0.1).exact_guarantee().epsilon(0.0) < 0.05


def test_noisy_counts_win_by_a_factor_of_the_number_of_records():
    """Slopes of log variance in log n, sampling aside: -2 for Laplace noise on the counts, -1 for this mechanism."""
    sizes, rng = np.array([10_000, 100_000]), np.random.default_rng(2)
    counted, chosen = [], []
    for n in sizes:
        noisy = n / 2 + Laplace(0.1).release(0.0, 100_000, rng).values
        other = n / 2 + Laplace(0.1).release(0.0, 100_000, rng).values
        counted.append(np.var(noisy / (noisy + other)))
        chosen.append(BernoulliParameter(0.1).mean_and_deviation(tosses(n // 2, n // 2))[1] ** 2)
    slope = [np.diff(np.log(variance))[0] / np.diff(np.log(sizes))[0] for variance in (counted, chosen)]
    assert slope == pytest.approx([-2.0, -1.0], abs=0.05)
    assert chosen[1] > 1000 * counted[1]


def test_scale_of_the_loss_on_the_counts_is_private_but_wasteful():
    """ln 9 / 0.1 = 21.97 on a count that moves by 1: epsilon 0.0455, and twice that where a record is replaced."""
    added, replaced = (Laplace(0.1, sensitivity=s) for s in (1.0, 2.0))
    assert (added.scale, replaced.scale) == pytest.approx((10.0, 20.0))
    wasteful = Laplace(0.1, sensitivity=math.log(9.0)).scale
    shown = [Laplace(move / wasteful).exact_guarantee().epsilon(0.0) for move in (1, 2)]
    assert shown == pytest.approx([0.0455, 0.0910], abs=6e-5)
    assert wasteful == pytest.approx(21.97, abs=5e-3)


def test_what_is_no_pair_of_tosses_is_refused():
    mechanism = BernoulliParameter(0.1)
    with pytest.raises(ParameterError, match="vector of 0"):
        mechanism.release(np.array([0.0, 2.0]), 1, np.random.default_rng(0))
    with pytest.raises(NeighboursError):
        mechanism.bind(Neighbours(tosses(1, 1), tosses(1, 3), "add_remove"))
    with pytest.raises(ParameterError, match="lower must be below upper"):
        BernoulliParameter(0.1, lower=0.6, upper=0.5)
