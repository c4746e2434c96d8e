"""Broken plausible deniability and federated averaging, and their correct twins, under audit."""

import pytest

from dpassay.audit import Verdict, audit
from dpassay.mechanisms.learning.models.architectures import LogisticRegression
from dpassay.mechanisms.literature.federated import FederatedAveraging, LocalNoiseAveraging
from dpassay.mechanisms.literature.federated.broken import NoiseOfMeanOnSum, PerRecordClipping, RealisedClients
from dpassay.mechanisms.literature.synthetic_data.deniability.broken import (
    DeterministicTest,
    NoPrivacyTest,
    NoReleaseSeen,
    PairsWithoutNoise,
    RootsWithoutNoise,
)

FAULTS = (DeterministicTest, NoPrivacyTest, NoReleaseSeen, PairsWithoutNoise, RootsWithoutNoise)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_caught_and_their_twins_are_not(fault, without_power):
    options = {"attack": "likelihood-ratio", "trials": 20_000, "confidence": 0.9999, "seed": 3}
    assert audit(fault(), **options).verdict is Verdict.VIOLATION
    twin = audit(fault().twin(), **options)
    assert twin.verdict is not Verdict.VIOLATION
    assert twin.bound.epsilon <= fault().twin().exact_guarantee().epsilon(twin.delta)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_deterministic_test_falls_under_both_relations(relation, without_power):
    """k records of a kind against k - 1."""
    result = audit(DeterministicTest(relation=relation), attack="likelihood-ratio", trials=5_000, delta=0.01, seed=1)
    assert result.verdict is Verdict.VIOLATION


@pytest.mark.parametrize("fault", [RealisedClients, PerRecordClipping, NoiseOfMeanOnSum])
def test_faults_of_federated_averaging_are_caught_and_their_twins_are_not(fault, without_power):
    options = {"trials": 20_000, "confidence": 0.9999, "delta": 1e-5, "seed": 3}
    assert audit(fault(), **options).verdict is Verdict.VIOLATION
    twin = audit(fault().twin(), fault().worst_case(), **options)
    assert twin.verdict is not Verdict.VIOLATION


def test_sampled_rounds_of_a_client_come_near_their_claim(without_power):
    learner = FederatedAveraging(LogisticRegression(4), noise_multiplier=2.0, rounds=2, sampling_probability=0.5)
    result = audit(learner, trials=40_000, delta=1e-2, seed=1)
    assert result.verdict is Verdict.CONSISTENT
    assert 0.75 * result.claim < result.bound.epsilon


def test_messages_of_a_client_come_near_their_claim(without_power):
    result = audit(LocalNoiseAveraging(LogisticRegression(4), noise_multiplier=2.0), trials=100_000, delta=1e-3, seed=1)
    assert result.verdict is Verdict.CONSISTENT
    assert 0.75 * result.claim < result.bound.epsilon
