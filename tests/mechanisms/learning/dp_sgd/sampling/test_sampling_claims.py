"""Claims of sampling schemes against runs on the worst pair: none is below the empirical curve, and some are tight."""

import math
from itertools import product

import numpy as np
import pytest
from tests.mechanisms.learning.dp_sgd.empirical import empirical_curves

from dpassay.mechanisms.learning.dp_sgd import (
    DPSGD,
    BandedNoise,
    CyclicPoisson,
    PoissonSampling,
    RandomAllocation,
    TruncatedPoisson,
)
from dpassay.mechanisms.learning.dp_sgd.accounting import _steps_guarantee
from dpassay.mechanisms.learning.models import LogisticRegression

FALSE_ALARM = 1e-6
RUNS = 40_000
EPSILONS = np.array([0.0, 0.2, 0.5, 1.0, 2.0, 3.0])
STEPS = 6


def allocation(t, k):
    return RandomAllocation(batches_per_epoch=t, participations=k, expected_batch_size=1)


def truncated(q, largest, n):
    return TruncatedPoisson(sampling_probability=q, largest_batch=largest, expected_batch_size=1, n_records=n)


JAX_EPSILONS = [
    (1.0, 1000, "poisson", {"sampling_probability": 0.01}, 1.828244),
    (0.7, 100, "poisson", {"sampling_probability": 0.05}, 7.881466),
    (2.0, 2000, "poisson", {"sampling_probability": 256 / 50_000}, 0.433201),
    (1.0, 1000, "cyclic-poisson", {"sampling_probability": 0.1, "batches_per_epoch": 10}, 7.046603),
    (0.8, 400, "cyclic-poisson", {"sampling_probability": 0.4, "batches_per_epoch": 16}, 19.934602),
    (2.0, 100, "cyclic-poisson", {"sampling_probability": 0.5, "batches_per_epoch": 8}, 4.531171),
]
"""epsilon at delta 1e-5 by DpsgdTrainingAccountant(PldAccountantConfig()).compute_epsilon(steps, DpParams(...)) of
jax-privacy 2.0.0 with dp-accounting 0.6.0: num_samples 10,000 (50,000 and 800 in the last of each), batch_size the
expected one, cycle_length the number of blocks."""
JAX_TRUNCATED = [
    (1.0, 1000, {"sampling_probability": 0.01, "largest_batch": 110, "n_records": 10_000}, 7.681989),
    (2.0, 50, {"sampling_probability": 0.1, "largest_batch": 45, "n_records": 400}, 3.699548),
]
"""The same with truncated_batch_size."""

TIGHT = [
    PoissonSampling(sampling_probability=0.3, expected_batch_size=1),
    *(
        CyclicPoisson(sampling_probability=p, batches_per_epoch=b, expected_batch_size=1)
        for p in (0.2, 0.7)
        for b in (2, 4)
    ),
    *(allocation(t, 1) for t in (1, 2, 3, 6)),
]
"""Schemes whose claims are attained on the worst pair, where all epochs are whole."""
LOOSE = [
    allocation(4, 1),  # the last epoch is incomplete
    *(allocation(t, k) for t, k in ((3, 2), (6, 2), (6, 5))),
    *(truncated(q, largest, n) for (q, n), largest in product(((0.3, 4), (0.6, 6)), (1, 2, 4))),
]
NOISES = (0.6, 1.0, 2.5)
CELLS = [(scheme, noise) for scheme in (*TIGHT, *LOOSE) for noise in NOISES]
LIMIT = math.log(2.0 * 2.0 * len(EPSILONS) * len(CELLS) / FALSE_ALARM)


def trainer(scheme, noise):
    return DPSGD(LogisticRegression(1), steps=STEPS, noise_multiplier=noise, sampling=scheme, view="noisy_gradients")


def empirical(scheme, noise):
    return empirical_curves(trainer(scheme, noise), EPSILONS, runs=RUNS, log_limit=LIMIT)


def name(cell):
    return f"{cell[0]}, {cell[1]}"


@pytest.mark.parametrize(("noise", "steps", "sampling", "rates", "published"), JAX_EPSILONS)
def test_epsilon_is_that_of_jax_privacy(noise, steps, sampling, rates, published):
    """Also for banded noise of as many bands as blocks, whose accounting there is that of cyclic Poisson samples."""
    options = {"sampling": sampling, "steps": steps, "relation": "zero_out"} | rates
    noises = ["independent"]
    if sampling == "cyclic-poisson":
        noises.append(BandedNoise(rates["batches_per_epoch"], entries="square-root"))
    for kind in noises:
        claim = _steps_guarantee(noise, noise=kind, **options)
        assert claim.epsilon(1e-5) == pytest.approx(published, rel=1e-5)


@pytest.mark.parametrize(("noise", "steps", "rates", "published"), JAX_TRUNCATED)
def test_epsilon_of_cut_samples_is_below_that_of_jax_privacy(noise, steps, rates, published):
    """It takes the curve of a replaced record in full batches, which it calls slightly loose; here one is exchanged."""
    epsilon = _steps_guarantee(noise, sampling="truncated-poisson", steps=steps, **rates).epsilon(1e-5)
    rate = rates["sampling_probability"]
    assert _steps_guarantee(noise, sampling="poisson", steps=steps, sampling_probability=rate).epsilon(1e-5) < epsilon
    assert 0.8 * published < epsilon < published


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS, ids=name)
def test_no_claim_is_below_the_empirical_curve(cell):
    """In either direction; all comparisons together raise a false alarm with probability 1e-6."""
    claim = trainer(*cell).guarantee().delta(EPSILONS)
    for mean, spread in empirical(*cell):
        assert np.all(claim >= mean - spread)


@pytest.mark.slow
@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell[0] in TIGHT], ids=name)
def test_a_tight_claim_is_within_the_limits_of_the_empirical_curve(cell):
    claim = trainer(*cell).guarantee().delta(EPSILONS)
    upper = np.max([mean + spread for mean, spread in empirical(*cell)], axis=0)
    assert np.all(claim <= upper)


@pytest.mark.slow
@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell[0] in TIGHT], ids=name)
def test_the_claim_of_more_noise_is_below_the_empirical_curve(cell):
    """Power: a claim for 1.3 times the noise fails the first test."""
    scheme, noise = cell
    claim = trainer(scheme, 1.3 * noise).guarantee().delta(EPSILONS)
    assert any(np.any(claim < mean - spread) for mean, spread in empirical(*cell))
