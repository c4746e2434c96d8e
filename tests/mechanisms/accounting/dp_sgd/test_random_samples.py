"""Accountants of random allocation and of truncated Poisson samples."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as plds
from scipy import stats
from scipy.special import gammaln, logsumexp

from dpassay.mechanisms.accounting import GaussianDP, PrivacyLossDP, random_allocation, truncated_poisson
from dpassay.mechanisms.accounting.dp_sgd.random_allocation import MAX_RATIO, _one_of
from dpassay.mechanisms.core import AccountingError, ParameterError

DELTAS = np.array([1e-9, 1e-5, 1e-2, 0.3])
EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0])

# --- random allocation ------------------------------------------------------------------------------------------------


def log_moment(noise_multiplier, t, order):
    """log E_Q (S / t)^order, from the power series of the moments of one term: exact at whole orders."""
    j = np.arange(order + 1.0)
    one = j * (j - 1.0) / (2.0 * noise_multiplier**2) - gammaln(j + 1.0)
    total = one
    for _ in range(t - 1):
        total = np.array([logsumexp(total[: i + 1] + one[i::-1]) for i in range(order + 1)])
    return total[order] + gammaln(order + 1.0) - order * math.log(t)


@pytest.mark.parametrize(("noise", "t"), [(1.0, 10), (0.7, 7), (4.0, 100), (2.0, 33)])
def test_moments_of_the_finite_pair_are_just_above_the_exact_ones(noise, t):
    pair = _one_of(noise, t)
    assert pair.p1[pair.p0 == 0.0].sum() < 1e-15
    assert pair.p0[pair.p1 == 0.0].sum() < 1e-15
    both = (pair.p0 > 0.0) & (pair.p1 > 0.0)
    log0, log1 = np.log(pair.p0[both]), np.log(pair.p1[both])
    for order in (2, 3):
        exact = log_moment(noise, t, order)
        assert exact < logsumexp(order * log1 + (1 - order) * log0) < 1.001 * exact


@pytest.mark.parametrize("noise", [0.5, 1.0, 5.0])
def test_one_batch_is_the_gaussian_mechanism(noise):
    claim, gaussian = random_allocation(noise, batches_per_epoch=1), GaussianDP(1.0 / noise)
    np.testing.assert_allclose(claim.epsilon(DELTAS), gaussian.epsilon(DELTAS), rtol=2e-3, atol=1e-4)
    assert np.all(claim.delta(EPSILONS) >= gaussian.delta(EPSILONS) * (1.0 - 1e-9))


@pytest.mark.parametrize("noise", [0.6, 2.0])
def test_two_batches_have_the_curve_of_the_plane(noise):
    """E (S / 2 - e^epsilon)+ and E (1 - e^epsilon S / 2)+ over two normal numbers, by quadrature on a grid."""
    z, width = np.linspace(-9.0, 9.0 + 1.0 / noise, 1501, retstep=True)
    u = np.exp(z / noise - 0.5 / noise**2)
    ratio = 0.5 * (u[:, None] + u[None, :])
    weight = width * stats.norm.pdf(z)
    claim = random_allocation(noise, batches_per_epoch=2)
    for epsilon in (0.1, 0.7, 1.5):
        gaps = ratio - math.exp(epsilon), 1.0 - math.exp(epsilon) * ratio
        forward, backward = (float(weight @ np.maximum(0.0, gap) @ weight) for gap in gaps)
        assert claim.delta(epsilon) > max(forward, backward) * (1.0 - 1e-4)
        assert claim.delta(epsilon) == pytest.approx(forward, rel=3e-3)


@pytest.mark.parametrize(
    ("noise", "t", "k", "epochs", "published"),
    [
        (1.0, 10, 1, 1, 2.1903),
        (1.0, 100, 1, 1, 0.6239),
        (0.5, 100, 1, 1, 5.3971),
        (1.0, 10, 1, 4, 3.8520),
        (2.0, 10, 3, 2, 2.9853),
        (2.0, 100, 5, 4, 2.1482),
    ],
)
def test_epsilon_is_that_of_another_accountant(noise, t, k, epochs, published):
    """At delta 1e-5, by gaussian_allocation_epsilon_configurable of pld-accounting 2.0 (an upper bound).

    Its loss_discretization was 0.01 for the first three rows and 0.02 for the others.
    """
    claim = random_allocation(noise, batches_per_epoch=t, participations=k, epochs=epochs)
    assert 0.99 * published < claim.epsilon(1e-5) < published


def test_all_steps_are_those_of_full_batches():
    claim = random_allocation(4.0, batches_per_epoch=6, participations=6, epochs=2)
    expected = GaussianDP(math.sqrt(12.0) / 4.0).epsilon(DELTAS)
    np.testing.assert_allclose(claim.epsilon(DELTAS), expected, rtol=2e-3, atol=1e-3)


def test_allocation_is_below_poisson_sampling_at_a_small_delta_and_above_it_at_a_large_one():
    """A record surely takes part in an epoch, but never twice."""
    claim = random_allocation(0.3, batches_per_epoch=10)
    poisson = PrivacyLossDP.gaussian(0.3, sampling_probability=0.1, steps=10)
    assert claim.epsilon(1e-5) < 0.5 * poisson.epsilon(1e-5)
    assert claim.epsilon(0.3) > poisson.epsilon(0.3) + 0.3


def test_more_batches_and_fewer_participations_are_more_private():
    epsilons = [random_allocation(1.0, batches_per_epoch=t).epsilon(1e-5) for t in (1, 2, 3, 5, 8, 13, 50, 200)]
    assert np.all(np.diff(epsilons) < 0.0)
    several = [random_allocation(1.0, batches_per_epoch=12, participations=k).epsilon(1e-5) for k in (1, 2, 5, 12)]
    assert np.all(np.diff(several) > 0.0)


def test_weak_noise_has_the_claim_of_known_steps(monkeypatch):
    """Likelihood ratios of the allocation are no floats there."""
    claim = random_allocation(0.02, batches_per_epoch=4, participations=2, epochs=3)
    np.testing.assert_allclose(claim.epsilon(DELTAS), GaussianDP(math.sqrt(6.0) / 0.02).epsilon(DELTAS), rtol=1e-4)
    pair, below = _one_of(1.001 / MAX_RATIO, 1), random_allocation(0.999 / MAX_RATIO, batches_per_epoch=1)
    assert np.all(pair.epsilon(DELTAS) < 1.01 * below.epsilon(DELTAS))
    monkeypatch.setattr("dpassay.mechanisms.accounting.dp_sgd.random_allocation._one_of", lambda noise, t: 1 // 0)
    random_allocation(0.999 / MAX_RATIO, batches_per_epoch=1)
    with pytest.raises(ZeroDivisionError):  # the finite pair; its distribution on the grid takes seconds
        random_allocation(1.001 / MAX_RATIO, batches_per_epoch=1)


def test_allocation_refuses_what_is_unknown():
    with pytest.raises(AccountingError, match="replace_one"):
        random_allocation(1.0, batches_per_epoch=3, relation="replace_one")
    with pytest.raises(ParameterError, match="participations must be at most batches_per_epoch = 3"):
        random_allocation(1.0, batches_per_epoch=3, participations=4)


# --- truncated Poisson samples ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "q", "largest", "n", "steps", "close"),
    [
        (1.0, 0.01, 120, 10_000, 10, 0.01),
        pytest.param(1.0, 0.01, 120, 10_000, 100, 0.01, marks=pytest.mark.slow),
        (1.0, 0.5, 10, 20, 1, 0.1),
        (2.0, 0.9, 1, 3, 4, 0.3),
    ],
)
def test_truncated_claim_is_between_poisson_sampling_and_dp_accounting(noise, q, largest, n, steps, close):
    """dp-accounting 0.6 takes the looser curve of a replaced record where the batch is full."""
    claim = truncated_poisson(noise, sampling_probability=q, largest_batch=largest, n_records=n, steps=steps)
    uncut = PrivacyLossDP.gaussian(noise, sampling_probability=q, steps=steps)
    step = plds.from_truncated_subsampled_gaussian_mechanism(n, q, largest, noise, value_discretization_interval=1e-3)
    theirs = step.self_compose(steps).get_epsilon_for_delta(1e-5)
    assert uncut.epsilon(1e-5) < claim.epsilon(1e-5) <= theirs
    assert claim.epsilon(1e-5) > (1.0 - close) * theirs


def test_samples_that_are_never_cut_are_poisson_samples():
    uncut = PrivacyLossDP.gaussian(1.0, sampling_probability=0.2, steps=3)
    for largest in (50, 80):
        claim = truncated_poisson(1.0, sampling_probability=0.2, largest_batch=largest, n_records=50, steps=3)
        np.testing.assert_array_equal(claim.epsilon(DELTAS), uncut.epsilon(DELTAS))


def test_a_full_batch_of_one_exchanges_records():
    """At rate 1 and batches of 1 of n, the one record is another with probability 1 / n, at twice the distance."""
    n = 5
    claim = truncated_poisson(3.0, sampling_probability=1.0, largest_batch=1, n_records=n, steps=2)
    expected = PrivacyLossDP.gaussian(1.5, sampling_probability=1.0 / n, steps=2)
    np.testing.assert_allclose(claim.epsilon(DELTAS), expected.epsilon(DELTAS), rtol=1e-6)


@pytest.mark.parametrize("relation", ["zero_out", "replace_one"])
def test_truncated_samples_are_refused_under_other_relations(relation):
    with pytest.raises(AccountingError, match=relation):
        truncated_poisson(1.0, sampling_probability=0.5, largest_batch=2, n_records=5, relation=relation)
