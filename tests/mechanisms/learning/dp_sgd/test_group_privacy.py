"""Claims for groups of Poisson-sampled records: another accountant, the empirical curve, and the group of one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.mechanisms.learning.dp_sgd.empirical import empirical_curves

from dpassay.mechanisms.accounting import GaussianDP, PrivacyLossDP, sampled_group_gaussian
from dpassay.mechanisms.core import AccountingError, Neighbours
from dpassay.mechanisms.learning.dp_sgd import DPSGD, GroupPrivacy
from dpassay.mechanisms.learning.models import LogisticRegression

EPSILONS = np.array([0.0, 0.2, 0.5, 1.0, 2.0, 4.0])
DELTAS = np.array([1e-9, 1e-5, 1e-2])
CELLS = [
    pytest.param(noise, q, k, marks=pytest.mark.slow if k > 2 else ())
    for noise in (1.0, 3.0)
    for q in (0.2, 0.6)
    for k in (2, 5)
]
LIMIT = math.log(2.0 * 2.0 * 2.0 * 3 * len(CELLS) * len(EPSILONS) / 1e-6)
RUNS = 40_000


def grouped(noise, q, k):
    options = {"sampling": "poisson", "sampling_probability": q, "batch_size": 1, "view": "noisy_gradients"}
    return GroupPrivacy(DPSGD(LogisticRegression(1), steps=3, noise_multiplier=noise, **options), size=k)


def pair_of(mechanism, norms):
    """No record, and gradient records of these norms, some of them in the opposite direction."""
    base = mechanism.base
    sides = (base._only_gradients(np.outer(values, base.canary)) for values in (np.empty(0), np.asarray(norms)))
    return Neighbours(*sides, base.relation)


@pytest.mark.parametrize(
    ("noise", "q", "k", "steps", "published"),
    [(2.0, 0.01, 4, 100, 0.870238), (1.0, 0.3, 3, 4, 17.805816), (4.0, 0.5, 8, 10, 19.777138)],
)
def test_epsilon_is_that_of_a_mixture_of_gaussians_by_dp_accounting(noise, q, k, steps, published):
    """At delta 1e-5, by from_mixture_gaussian_mechanism of dp-accounting 0.6 at interval 1e-4, which takes a minute."""
    claim = sampled_group_gaussian(noise, sampling_probability=q, size=k, steps=steps)
    assert claim.epsilon(1e-5) == pytest.approx(published, rel=2e-5)


@pytest.mark.parametrize(("noise", "q", "k"), CELLS)
def test_equal_gradients_attain_the_claim_and_other_ones_do_not_exceed_it(noise, q, k):
    mechanism = grouped(noise, q, k)
    claim = mechanism.guarantee().delta(EPSILONS)
    equal = list(empirical_curves(mechanism, EPSILONS, runs=RUNS, log_limit=LIMIT, pair=pair_of(mechanism, [1.0] * k)))
    assert all(np.all(claim >= mean - spread) for mean, spread in equal)
    assert np.all(claim <= np.max([mean + spread for mean, spread in equal], axis=0))
    fewer = grouped(noise, q, k - 1).guarantee().delta(EPSILONS)
    assert any(np.any(fewer < mean - spread) for mean, spread in equal)  # power: k records exceed the claim for k - 1
    mixed = pair_of(mechanism, [1.0, -1.0, 0.7, 1.0, -0.2][:k])
    curves = empirical_curves(mechanism, EPSILONS, runs=RUNS, log_limit=LIMIT, pair=mixed)
    assert all(np.all(claim >= mean - spread) for mean, spread in curves)


def test_one_record_and_full_batches_are_special_cases():
    one = sampled_group_gaussian(1.5, sampling_probability=0.2, size=1, steps=3).epsilon(DELTAS)
    poisson = PrivacyLossDP.gaussian(1.5, sampling_probability=0.2, steps=3).epsilon(DELTAS)
    np.testing.assert_allclose(one, poisson, rtol=1e-4)
    whole = sampled_group_gaussian(4.0, sampling_probability=1.0, size=3, steps=2).epsilon(DELTAS)
    np.testing.assert_allclose(whole, GaussianDP(3.0 * math.sqrt(2.0) / 4.0).epsilon(DELTAS), rtol=1e-4)


@pytest.mark.parametrize("noise", [0.05, 0.1, 0.3])
def test_weak_noise_shows_all_sums_with_a_sampled_record(noise):
    """Far below the group the likelihood ratio is the chance of an empty sample, to the last digit."""
    claim = sampled_group_gaussian(noise, sampling_probability=0.3, size=2).delta(EPSILONS)
    edges = np.append(np.linspace(-9.0 * noise, 2.0 + 9.0 * noise, 20_001), np.inf)
    q, p1, p2 = (np.diff(stats.norm.cdf(edges, j, noise)) for j in range(3))
    p = 0.49 * q + 0.42 * p1 + 0.09 * p2
    shown = np.maximum(0.0, p - np.exp(EPSILONS)[:, None] * q).sum(axis=1)
    assert np.all(claim >= shown - 1e-12)  # the accuracy of losses on a grid
    np.testing.assert_allclose(claim, shown, rtol=1e-3)


def test_sums_of_many_records_count_as_infinite_losses():
    """A shift beyond 29 standard deviations; below, the claim agrees with that of a group that cannot be as large."""
    large = sampled_group_gaussian(1.0, sampling_probability=0.5, size=40)
    beyond = stats.binom.sf(29, 40, 0.5)
    assert large.delta(2000.0) == pytest.approx(beyond, rel=1e-6)
    assert np.all(large.delta(EPSILONS) <= 1.0)
    assert np.isfinite(large.epsilon(1.01 * beyond))
    assert np.all(
        large.delta(EPSILONS) >= sampled_group_gaussian(1.0, sampling_probability=0.5, size=29).delta(EPSILONS)
    )
    rare = sampled_group_gaussian(1.0, sampling_probability=0.001, size=60).epsilon(1e-5)
    smaller, larger = (sampled_group_gaussian(1.0, sampling_probability=0.001, size=k).epsilon(1e-5) for k in (29, 100))
    assert smaller < rare < larger < 20.0
    known = sampled_group_gaussian(1.0, sampling_probability=1.0, size=40).epsilon(1e-5)
    assert known == pytest.approx(GaussianDP(40.0).epsilon(1e-5), rel=1e-4)


def test_groups_under_replace_one_are_refused():
    with pytest.raises(AccountingError, match="replace_one"):
        sampled_group_gaussian(1.0, sampling_probability=0.5, size=2, relation="replace_one")


def test_groups_under_correlated_noise_have_the_claim_without_sampling():
    """A mixture over independent noise would be below what the group shows."""
    base = grouped(2.0, 0.3, 3).base
    correlated = GroupPrivacy(replace(base, noise="tree"), size=3).guarantee().epsilon(DELTAS)
    mu = replace(base, noise="tree").guarantee().mu
    np.testing.assert_allclose(correlated, GaussianDP(3.0 * mu).epsilon(DELTAS), rtol=1e-9)
    assert np.all(correlated > GroupPrivacy(base, size=3).guarantee().epsilon(DELTAS))
