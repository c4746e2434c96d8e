"""Claims for groups of Poisson-sampled records: another accountant, the empirical curve, and the group of one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.mechanisms.learning.dp_sgd.empirical import empirical_curves

from dpassay.mechanisms.accounting import GaussianDP, PrivacyLossDP, sampled_group_gaussian
from dpassay.mechanisms.core.base import Neighbours
from dpassay.mechanisms.core.errors import AccountingError
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
