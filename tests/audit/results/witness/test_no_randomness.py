"""Outputs that never vary: a finding and no proof, since entropy and memories may be out of sight."""

import pytest
from tests.audit import replayed_functions as replayed
from tests.audit.randomness.made import own_runs, seen

from dpassay.audit import assert_private, audit
from dpassay.audit.results.witness.base import CERTAIN_DELTA, WitnessKind
from dpassay.audit.results.witness.no_randomness import no_randomness
from dpassay.mechanisms import Neighbours, PureDP
from dpassay.mechanisms.accounting import ApproximateDP
from dpassay.mechanisms.core import PrivacyViolation

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

PAIR = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")
OPTIONS = {"trials": 100, "seed": 0, "attack": "threshold", "bound": "clopper-pearson"}
CLAIM = ApproximateDP(60.0, 0.1)
"""Beyond what 100 trials could refute."""


@pytest.mark.parametrize(
    ("function", "claim"),
    [
        (replayed.congruential, CLAIM),
        pytest.param(replayed.congruential, PureDP(1.0), marks=pytest.mark.slow),
        pytest.param(replayed.remembering_a_seed, CLAIM, marks=pytest.mark.slow),
        pytest.param(replayed.remembering_a_seed, PureDP(1.0), marks=pytest.mark.slow),
    ],
)
def test_a_seed_from_the_data_is_a_finding_and_the_bound_decides(function, claim):
    result = audit(function, PAIR, claim=claim, **OPTIONS)
    refuted_by = None if claim is CLAIM else "bound"
    assert (result.refuted_by, result.dependence) == (refuted_by, None)
    assert result.verdict.value == ("violation" if refuted_by else "underpowered")
    (witness,) = result.witnesses
    assert (witness.kind, witness.delta, witness.refutes) == (WitnessKind.NO_RANDOMNESS, CERTAIN_DELTA, False)
    assert witness.outputs == tuple((repr(function(PAIR.side(side), None)),) for side in (0, 1))
    assert witness.datasets == ("[1.0, 0.0]", "[1.0, 0.0, 1.0]")


def test_assert_private_shows_the_finding():
    with pytest.raises(PrivacyViolation, match=r"no randomness: legacy\(\) gave .*it sets its random"):
        assert_private(replayed.legacy, PAIR, claim=PureDP(1.0), **OPTIONS)


@pytest.mark.parametrize("function", [replayed.remembering, pytest.param(replayed.hashing, marks=pytest.mark.slow)])
@pytest.mark.parametrize("claim", [PureDP(1.0), pytest.param(CLAIM, marks=pytest.mark.slow)])
def test_what_repeats_in_one_process_only_is_no_violation(function, claim):
    result = audit(function, PAIR, claim=claim, **OPTIONS)
    assert (result.verdict.value, result.witnesses) == ("dependent", ())
    assert "a run in a fresh process gives another" in result.dependence


def test_the_twin_that_draws_its_seed_is_clean():
    result = audit(replayed.congruential_from_the_rng, PAIR, claim=CLAIM, **OPTIONS)
    assert (result.verdict.value, result.witnesses, result.dependence) == ("underpowered", (), None)
    assert not any("never drawn from" in text for text in result.warnings)


@pytest.mark.parametrize(
    ("fresh", "found"),
    [
        (own_runs([1.0, 1.0], [2.0, 2.0]), True),
        (own_runs([1.0, 1.0], [2.0, 2.0], left=("a", "a")), True),  # it sets a state, the same in each process
        (own_runs([1.0, 1.0], [2.0, 2.0], left=("a", "b")), False),  # drawn from, and left where it came to
        (own_runs([1.0, 1.0], [2.0, 2.0], read={"file /tmp/cache.bin"}), False),
        (own_runs([1.0, 1.0], [2.0, 2.0], read={"entropy"}), False),
        (own_runs([1.0, 1.0], [2.0, 3.0]), False),
        (own_runs([1.0, 1.0], [3.0, 3.0]), False),  # not what the trials gave
        (own_runs([], []), False),
    ],
)
def test_a_finding_excludes_chance_and_stored_state(fresh, found):
    witnesses = no_randomness(fresh, seen(1.0, 2.0), CLAIM, mechanism="f", n_runs=3, datasets=None)
    assert (len(witnesses) == 1) is found
