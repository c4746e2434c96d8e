"""Claims of correlated noise against runs, by the likelihood ratio of the law that the batches and the noise have."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.learning.dp_sgd.claims_dp_sgd import NOISES, SCHEMES, noise_covariance

from dpassay.attacks.base import Target
from dpassay.attacks.distinguishing.gradient_product import GradientProduct
from dpassay.attacks.membership.gradients import canary_log_ratio
from dpassay.audit import audit
from dpassay.mechanisms.accounting import GaussianDP, amplified_banded
from dpassay.mechanisms.core import AccountingError, Outputs, Relation
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd import DPSGD, BandedNoise, BufferedToeplitzNoise, TreeNoise

FALSE_ALARM = 1e-6
RUNS, STEPS = 30_000, 4
EPSILONS = np.array([0.0, 0.5, 1.0, 2.0, 3.0])
GRID = list(product(NOISES, SCHEMES, Relation, (1.0, 2.5)))
LIMIT = math.sqrt(math.log(4 * len(EPSILONS) * len(GRID) / FALSE_ALARM) / (2 * RUNS))
"""Hoeffding's limit on a mean of numbers in [0, 1], on both sides, over both directions and the whole grid."""


def trainer(noise, sampling, relation, noise_multiplier):
    options = {"batch_size": 2} | SCHEMES[sampling][0]
    return DPSGD(
        "linear-regression", n_features=1, steps=STEPS, noise=noise, sampling=sampling, relation=relation,
        noise_multiplier=noise_multiplier, view="noisy_gradients", **options,
    )  # fmt: skip


def enumerated(mechanism, sampling):
    """The log density of observations on either side of the worst case, by every way to draw the batches."""
    _, size, rate = SCHEMES[sampling]
    pair, precision = mechanism.worst_case(), np.linalg.inv(noise_covariance(mechanism))
    ways = []
    for side in (0, 1):
        along = TrainingData.of(pair.side(side)).gradients @ mechanism.canary / mechanism.clip_norm
        ways.append(laws.sampled_sums(list(map(float, along)), sampling, size, rate, STEPS))

    def log_density(values, way):
        weights, centres = np.log([w for w, _ in way]), np.array([c for _, c in way])
        rest = values[:, None, :] - centres
        return logsumexp(weights - 0.5 * np.einsum("rks,st,rkt->rk", rest, precision, rest), axis=1)

    return lambda values, side: log_density(values, ways[side])


def shown(mechanism, sampling):
    """delta at EPSILONS of the worst case, in both directions, from runs."""
    pair, log_density, deltas = mechanism.worst_case(), enumerated(mechanism, sampling), []
    for side in (0, 1):
        values = mechanism.release(pair.side(side), RUNS, np.random.default_rng([7, side])).values[:, :, 0]
        loss = log_density(values, side) - log_density(values, 1 - side)
        deltas.append([np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - loss))).mean() for epsilon in EPSILONS])
    return np.max(deltas, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", SCHEMES)
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_no_claim_is_below_what_runs_show(noise, sampling):
    """Exact claims are attained too; accounted for as independent noise, a record in all steps shows more."""
    checked = 0
    for relation, noise_multiplier in product(Relation, (1.0, 2.5)):
        mechanism = trainer(noise, sampling, relation, noise_multiplier)
        try:
            claim = mechanism.guarantee()
        except AccountingError:
            continue
        seen = shown(mechanism, sampling)
        assert np.all(seen <= claim.delta(EPSILONS) + LIMIT)
        if claim.exact:
            assert np.all(seen >= claim.delta(EPSILONS) - LIMIT)
        if sampling == "full-batch" and noise_multiplier == 2.5:
            uses = math.sqrt(STEPS) * (2.0 if relation is Relation.REPLACE_ONE else 1.0)
            assert np.any(seen > GaussianDP(uses / noise_multiplier).delta(EPSILONS) + LIMIT)
        checked += 1
    assert checked >= {"cyclic-poisson": 2, "truncated-poisson": 0}.get(sampling, 4)


FEW_BANDS = [BandedNoise(1), BandedNoise(2), BandedNoise(2, entries="square-root")]
"""Noise with no more bands than cyclic Poisson samples have blocks, so that the sampling amplifies."""


@pytest.mark.parametrize("noise_multiplier", [1.0, 2.5])
@pytest.mark.parametrize("noise", FEW_BANDS, ids=repr)
def test_cyclic_poisson_samples_amplify_noise_of_few_bands(noise, noise_multiplier):
    """The claim is not below what runs show, attained with columns of norm 1, and below that of all visits."""
    mechanism = trainer(noise, "cyclic-poisson", "zero_out", noise_multiplier)
    claim, seen = mechanism.guarantee().delta(EPSILONS), shown(mechanism, "cyclic-poisson")
    assert np.all(seen <= claim + LIMIT)
    if noise.entries == "optimised":
        assert np.all(seen >= claim - LIMIT)
    visits = GaussianDP(math.sqrt(2) / noise_multiplier).delta(EPSILONS)
    assert visits[0] > claim[0] + 4 * LIMIT
    whole = replace(mechanism, sampling_probability=1.0).guarantee().delta(EPSILONS)
    np.testing.assert_allclose(whole, visits, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("noise", FEW_BANDS, ids=repr)
def test_the_law_of_cyclic_poisson_samples_is_that_of_all_their_draws(noise):
    """On the worst case, up to one constant; with more bands than blocks no law is stated."""
    mechanism = trainer(noise, "cyclic-poisson", "zero_out", 1.3)
    pair, log_density = mechanism.worst_case(), enumerated(mechanism, "cyclic-poisson")
    outputs = mechanism.release(pair.d1, 20, np.random.default_rng(5))
    found = [mechanism.output_law().log_density(outputs, pair.side(side)) for side in (0, 1)]
    expected = [log_density(outputs.values[:, :, 0], side) for side in (0, 1)]
    constant = found[0][0] - expected[0][0]
    np.testing.assert_allclose(np.subtract(found, expected), constant, rtol=1e-9, atol=1e-9)
    assert trainer(BandedNoise(3), "cyclic-poisson", "zero_out", 1.3).output_law() is None


@pytest.mark.parametrize("noise", [BandedNoise(3), TreeNoise(), BufferedToeplitzNoise(2)], ids=repr)
def test_more_bands_than_blocks_are_not_amplified(noise):
    """The claim is that of a record in all visits of its block, and `amplified_banded` refuses."""
    mechanism = trainer(noise, "cyclic-poisson", "zero_out", 1.0)
    claim = mechanism.guarantee()
    shift = np.linalg.norm(noise.strategy(STEPS)[:, ::2].sum(axis=1))
    assert claim.mu >= shift * (1.0 - 1e-9)
    assert not claim.exact
    whole = replace(mechanism, sampling_probability=1.0)
    assert whole.guarantee().mu == pytest.approx(claim.mu)
    with pytest.raises(AccountingError, match="bands"):
        amplified_banded(noise.strategy(STEPS), 1.0, groups=2, sampling_probability=0.3)
    for relation in ("add_remove", "replace_one"):
        with pytest.raises(AccountingError, match="cyclic Poisson"):
            replace(mechanism, relation=relation).guarantee()


@pytest.mark.parametrize("noise", [TreeNoise(), BandedNoise(3), BufferedToeplitzNoise(2)], ids=repr)
def test_observed_sums_have_the_density_of_their_law(noise):
    """E[p1 / p0] under side 0 and E[p0 / p1] under side 1 are 1; with the law of independent noise they are not."""
    mechanism = trainer(noise, "cyclic", "zero_out", 3.0)
    wrong = replace(mechanism, noise="independent").output_law()
    for side in (0, 1):
        pair = mechanism.worst_case()
        outputs = mechanism.release(pair.side(side), RUNS, np.random.default_rng([3, side]))
        for law, holds in ((mechanism.output_law(), True), (wrong, False)):
            own, other = (law.log_density(outputs, pair.side(s)) for s in (side, 1 - side))
            ratio = np.exp(other - own)
            error = abs(ratio.mean() - 1.0) / (ratio.std() / math.sqrt(RUNS))
            assert (error < stats.norm.isf(FALSE_ALARM / 12)) == holds


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_density_is_normalised(noise):
    """Against the multivariate normal density of the covariance from impulses."""
    mechanism = trainer(noise, "full-batch", "add_remove", 1.7)
    law = stats.multivariate_normal(np.ones(STEPS), noise_covariance(mechanism))
    values = np.random.default_rng(0).normal(size=(5, STEPS))
    found = mechanism.output_law().log_density(Outputs(values[:, :, None]), mechanism.worst_case().d1)
    np.testing.assert_allclose(found, law.logpdf(values), rtol=1e-9)


@pytest.mark.parametrize("momentum", [0.0, 0.5])
@pytest.mark.parametrize("noise", [TreeNoise(), BandedNoise(3), BufferedToeplitzNoise(2)], ids=repr)
def test_all_iterates_give_the_likelihood_ratio_of_all_noisy_sums(noise, momentum):
    """The gradient product of the trajectory, and the score of a gradient canary, of the runs with the same seed."""
    sums = replace(trainer(noise, "full-batch", "add_remove", 2.0), momentum=momentum)
    pair = sums.worst_case()
    observed = sums.release(pair.d1, 50, np.random.default_rng(0))
    own, other = (sums.output_law().log_density(observed, pair.side(side)) for side in (1, 0))
    iterates = replace(sums, view="trajectory")
    outputs = iterates.release(pair.d1, 50, np.random.default_rng(0))
    none = Outputs(outputs.values[:0])
    scorer = GradientProduct().fit(Target(iterates, pair), none, none, np.random.default_rng(0))
    np.testing.assert_allclose(scorer.score(outputs), own - other, rtol=1e-8, atol=1e-8)
    canary = canary_log_ratio(observed.values, noise_multiplier=2.0, strategy=noise.strategy(STEPS))
    np.testing.assert_allclose(canary[:, 0], own - other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("noise", [TreeNoise(), BandedNoise(4), BufferedToeplitzNoise(2)], ids=repr)
@pytest.mark.usefixtures("without_power")
def test_an_audit_comes_close_to_the_claim(noise):
    mechanism = replace(trainer(noise, "cyclic", "zero_out", 2.0), steps=8, batch_size=4, n_records=16)
    result = audit(mechanism, trials=20_000, seed=0, delta=1e-5, bound="accountant-family")
    assert 0.9 * result.claim < result.bound.epsilon <= result.claim
