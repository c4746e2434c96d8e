"""Plausible deniability that is wrong, and its correct twins, under audit."""

import pytest

from dpassay.audit import Verdict, audit
from dpassay.mechanisms.broken.deniability import (
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
    found = audit(DeterministicTest(relation=relation), attack="likelihood-ratio", trials=5_000, delta=0.01, seed=1)
    assert found.verdict is Verdict.VIOLATION
