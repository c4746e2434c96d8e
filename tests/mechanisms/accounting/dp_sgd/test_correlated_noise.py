"""Sensitivity of correlated noise against all sets of steps and signs; amplification against its law."""

import math
from itertools import chain, combinations, product

import numpy as np
import pytest

from dpassay.mechanisms.accounting import (
    AnyOrder,
    FixedOrder,
    GaussianDP,
    MinSeparation,
    PrivacyLossDP,
    amplified_banded,
)
from dpassay.mechanisms.accounting.dp_sgd.correlated_noise import correlated_gaussian, count_bands
from dpassay.mechanisms.core import AccountingError
from dpassay.mechanisms.learning.dp_sgd.noise import BandedNoise, BufferedToeplitzNoise, TreeNoise

FALSE_ALARM = 1e-6
NOISES = {
    "tree": TreeNoise(),
    "nodes": TreeNoise(estimate="nodes"),
    "complete": TreeNoise(estimate="complete"),
    "banded 2": BandedNoise(2),
    "banded 3": BandedNoise(3),
    "square root 3": BandedNoise(3, entries="square-root"),
    "square root": BandedNoise(100, entries="square-root"),
    "series": BufferedToeplitzNoise(scales=(0.4, 0.3), decays=(0.5, 0.9)),
}
STEPS = (1, 2, 5, 7, 8)


def signed(n, seed):
    """A lower triangular matrix with negative entries too."""
    lower = np.tril(np.random.default_rng(seed).normal(size=(n, n)))
    np.fill_diagonal(lower, 1.0 + np.abs(np.diag(lower)))
    return lower


def strategies(n):
    return {name: noise.strategy(n) for name, noise in NOISES.items()} | {f"signed {s}": signed(n, s) for s in range(3)}


def allowed(participation, n):
    """Every set that the words of the class allow, by a test of each subset."""
    for steps in chain.from_iterable(combinations(range(n), k) for k in range(1, n + 1)):
        gaps = np.diff(steps)
        match participation:
            case FixedOrder(b):
                fits = list(steps) == list(range(steps[0], n, b)) and steps[0] < b
            case AnyOrder(b):
                fits = len({step // b for step in steps}) == len(steps)
            case MinSeparation(b, participations=k):
                fits = (gaps >= b).all() and (k is None or len(steps) <= k)
        if fits:
            yield list(steps)


def largest_shift(strategy, participation, dimension):
    """Over all allowed sets: signs for one dimension, otherwise random unit gradients too."""
    rng, largest = np.random.default_rng(0), 0.0
    for steps in allowed(participation, len(strategy)):
        columns = strategy[:, steps]
        if dimension == 1:
            gradients = np.array(list(product((1.0, -1.0), repeat=len(steps) - 1)), ndmin=2)
            gradients = np.column_stack([np.ones(len(gradients)), gradients])[:, :, None]
        else:
            gradients = rng.normal(size=(20, len(steps), dimension))
            gradients /= np.linalg.norm(gradients, axis=2, keepdims=True)
        largest = max(largest, float(np.linalg.norm(columns @ gradients, axis=(1, 2)).max()))
    return largest


PARTICIPATIONS = [
    *(FixedOrder(b) for b in (1, 2, 3, 8)),
    *(AnyOrder(b) for b in (1, 2, 3, 8)),
    *(MinSeparation(b, participations=k) for b in (1, 2, 3, 8) for k in (None, 1, 2)),
]


@pytest.mark.parametrize("participation", PARTICIPATIONS, ids=str)
def test_sensitivity_lies_between_those_of_all_sets_and_signs(participation):
    for n in STEPS:
        for name, strategy in strategies(n).items():
            found = participation.sensitivity(strategy)
            shift = largest_shift(strategy, participation, 1)
            assert found.attained <= shift * (1 + 1e-9), (n, name)
            assert shift <= found.upper * (1 + 1e-9), (n, name)
            if found.exact:
                assert shift == pytest.approx(found.upper, rel=1e-9), (n, name)
            if n == 5:
                assert largest_shift(strategy, participation, 3) <= found.upper * (1 + 1e-9), (n, name)


@pytest.mark.parametrize("name", NOISES)
def test_sensitivity_is_exact_where_theorems_say_so(name):
    """Known steps and no negative product; orthogonal columns; decreasing Toeplitz coefficients; one participation."""
    for n in STEPS:
        strategy = NOISES[name].strategy(n)
        assert all(FixedOrder(b).sensitivity(strategy).exact for b in (1, 2, 3))
        assert MinSeparation(1, participations=1).sensitivity(strategy).exact
        assert MinSeparation(count_bands(strategy)).sensitivity(strategy).exact
        if name in ("square root 3", "square root", "series"):
            assert all(MinSeparation(b).sensitivity(strategy).exact for b in (1, 2, 3))


def test_separated_participations_in_columns_of_norm_one_add_up_as_if_independent():
    """sqrt(k) times the largest column norm (Choquette-Choo et al. 2023), but not with fewer steps between them."""
    strategy = BandedNoise(3).strategy(8)
    for k in (1, 2, 3):
        participation = MinSeparation(3, participations=k)
        assert participation.sensitivity(strategy).upper == pytest.approx(math.sqrt(k), rel=1e-9)
    assert MinSeparation(2, participations=3).sensitivity(strategy).attained > 1.05 * math.sqrt(3)


def test_the_sensitivity_of_another_matrix_or_pattern_is_too_small():
    """What the broken trainers claim: each must be below the shift that some set shows."""
    tree, banded, series = (NOISES[name].strategy(8) for name in ("complete", "banded 3", "series"))
    assert 1.05 * math.sqrt(8) < largest_shift(tree, FixedOrder(1), 1)
    assert 1.05 * math.sqrt(4) < largest_shift(banded, FixedOrder(2), 1)
    assert largest_shift(series, FixedOrder(4), 1) > 1.05


def test_independent_noise_has_the_guarantee_of_the_gaussian_mechanism():
    for participation, uses in ((FixedOrder(1), 6), (FixedOrder(4), 2), (AnyOrder(4), 2), (MinSeparation(1), 6)):
        assert correlated_gaussian(np.eye(6), participation, 2.0) == GaussianDP(math.sqrt(uses) / 2.0)
    assert not correlated_gaussian(np.eye(6), FixedOrder(1), 2.0, exact=False).exact
    assert not correlated_gaussian(signed(6, 0), FixedOrder(1), 2.0).exact


# --- amplification ----------------------------------------------------------------------------------------------------


def shown(strategy, sigma, groups, rate, group, size, rng):
    """Privacy losses of the record of a group, in C G + Z, by the mixture over its participations; both sides."""
    n = len(strategy)
    uses = np.arange(group, n, groups)
    included = np.array(list(product((0.0, 1.0), repeat=len(uses))))
    centres = included @ strategy[:, uses].T
    weights = rate ** included.sum(1) * (1 - rate) ** (len(uses) - included.sum(1))
    losses = []
    for side in (0, 1):
        drawn = centres[rng.choice(len(weights), p=weights, size=size)] if side else 0.0
        values = drawn + sigma * rng.normal(size=(size, n))
        exponents = (values @ centres.T - 0.5 * np.sum(centres**2, axis=1)) / sigma**2
        losses.append(np.log(np.exp(exponents) @ weights))
    return losses


EPSILONS = np.array([0.0, 0.25, 0.5, 1.0, 1.5])


def deltas(losses):
    """delta(epsilon) of both directions, each a mean of numbers in [0, 1]."""
    without, with_record = losses
    forward = [np.maximum(0.0, -np.expm1(e - with_record)).mean() for e in EPSILONS]
    backward = [np.maximum(0.0, -np.expm1(e + without)).mean() for e in EPSILONS]
    return np.maximum(forward, backward)


@pytest.mark.parametrize("relation", ["add_remove", "zero_out"])
def test_amplified_claim_is_that_of_the_law_it_is_derived_from(relation):
    """With columns of norm 1 the worst group attains it: two-sided, by Hoeffding's limit over all comparisons."""
    size, rng = 400_000, np.random.default_rng(0)
    limit = math.sqrt(math.log(40 / FALSE_ALARM) / (2 * size))
    strategy = BandedNoise(2).strategy(4)
    claim = amplified_banded(strategy, 0.8, groups=2, sampling_probability=0.3, relation=relation).delta(EPSILONS)
    for group in (0, 1):
        seen = deltas(shown(strategy, 0.8, 2, 0.3, group, size, rng))
        assert np.all(np.abs(seen - claim) <= limit + 1e-4)
    assert claim[0] > 20 * limit


def test_overlapping_participations_are_refused_an_amplified_claim():
    """They show more than it would allow."""
    size, rng = 200_000, np.random.default_rng(0)
    limit = math.sqrt(math.log(20 / FALSE_ALARM) / (2 * size))
    strategy = BandedNoise(3).strategy(3)
    false = PrivacyLossDP.gaussian(0.8, sampling_probability=0.5, steps=3).delta(EPSILONS)
    assert np.any(deltas(shown(strategy, 0.8, 1, 0.5, 0, size, rng)) > false + limit)
    with pytest.raises(AccountingError, match="can take part again after 1 steps"):
        amplified_banded(strategy, 0.8, groups=1, sampling_probability=0.5)


def test_amplification_counts_the_possible_participations():
    strategy, epsilons = BandedNoise(3).strategy(10), np.array([0.1, 1.0])
    claim = amplified_banded(strategy, 1.2, groups=4, sampling_probability=0.2)
    poisson = PrivacyLossDP.gaussian(1.2, sampling_probability=0.2, steps=3)
    np.testing.assert_allclose(claim.delta(epsilons), poisson.delta(epsilons), rtol=1e-9)
    whole = amplified_banded(strategy, 1.2, groups=4, sampling_probability=1.0)
    assert whole.epsilon(1e-5) == pytest.approx(GaussianDP(math.sqrt(3) / 1.2).epsilon(1e-5), rel=1e-3)
