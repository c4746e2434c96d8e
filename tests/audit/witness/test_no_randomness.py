"""A fixed seed is told from a memory by runs in fresh interpreters: the first is a violation, the second no verdict."""

import threading

import numpy as np
import pytest
import replayed_functions as replayed

from dpassay.audit import PrivacyViolation, assert_private, audit
from dpassay.audit.trials.guards.unvarying import Unvarying, only_output
from dpassay.audit.trials.plan import Chunk
from dpassay.audit.trials.seeds import Stage
from dpassay.audit.witness import CERTAIN, Kind
from dpassay.audit.witness.no_randomness import Replayed, no_randomness
from dpassay.mechanisms import Neighbours, Outputs, PureDP
from dpassay.mechanisms.external.calls import fresh
from dpassay.mechanisms.external.calls.fresh import FreshRun
from dpassay.mechanisms.external.forms import Form
from dpassay.mechanisms.guarantees import ApproximateDP

pytestmark = pytest.mark.usefixtures("without_power")

PAIR = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")
OPTIONS = {"trials": 100, "seed": 0, "attack": "threshold", "bound": "clopper-pearson"}
CLAIM = ApproximateDP(60.0, 0.1)
"""Beyond what 100 trials could refute."""


def by_hand(function):
    fresh.keep(function)
    return fresh.run(function, PAIR, 1, style="one-run", form=Form(), records=True)


@pytest.mark.parametrize(
    "function", [replayed.congruential, pytest.param(replayed.remembering_a_seed, marks=pytest.mark.slow)]
)
def test_a_function_that_is_seeded_from_its_data_is_a_violation_with_a_witness(function):
    result = audit(function, PAIR, claim=CLAIM, **OPTIONS)
    assert (result.verdict.value, result.refuted_by, result.dependence) == ("violation", "witness", None)
    (found,) = result.witnesses
    assert (found.kind, found.delta) == (Kind.NO_RANDOMNESS, CERTAIN)
    assert found.outputs == tuple((repr(function(PAIR.side(side), None)),) for side in (0, 1))
    assert found.datasets == ("[1.0, 0.0]", "[1.0, 0.0, 1.0]")


def test_a_test_that_a_function_without_randomness_fails_shows_the_witness():
    with pytest.raises(
        PrivacyViolation, match=r"VIOLATION:  no randomness: legacy\(\) always gives .*it sets the random"
    ):
        assert_private(replayed.legacy, PAIR, claim=PureDP(1.0), **OPTIONS)


@pytest.mark.parametrize("function", [replayed.remembering, pytest.param(replayed.hashing, marks=pytest.mark.slow)])
def test_what_repeats_in_one_process_only_is_no_violation(function):
    result = audit(function, PAIR, claim=CLAIM, **OPTIONS)
    assert (result.verdict.value, result.witnesses) == ("dependent", ())
    assert "a run in a fresh one gives another" in result.dependence


def test_the_twin_that_draws_its_seed_is_clean():
    result = audit(replayed.congruential_from_the_rng, PAIR, claim=CLAIM, **OPTIONS)
    assert (result.verdict.value, result.witnesses, result.dependence) == ("underpowered", (), None)
    assert not any("never drawn from" in text for text in result.warnings)


def test_the_rng_is_told_from_a_global_state_that_is_set_and_from_entropy():
    drawn, set_and_read = by_hand(replayed.of_two_sources)
    assert (list(drawn.drawn), drawn.outside) == (["the rng that is given"], ())
    assert (list(set_and_read.drawn), set_and_read.outside) == (["the global random state of numpy"], ("entropy",))


def test_what_a_function_keeps_is_not_carried_along():
    kept = {}

    def memoised(dataset, rng):
        return kept.setdefault(len(dataset), rng.laplace())

    fresh.keep(memoised)
    memoised(PAIR.d1, np.random.default_rng(5))
    assert by_hand(memoised)[1].output == ((np.random.default_rng(1).laplace(),), "")


def test_what_cannot_be_pickled_is_not_replayed():
    lock = threading.Lock()

    def locking(dataset, rng):
        with lock:
            return 0.0

    assert by_hand(locking) is None


def seen(*values):
    unvarying = Unvarying()
    for side, value in enumerate(values):
        outputs = Outputs(np.full(3, value))
        unvarying.add(Chunk(Stage.EVALUATION, side, 0, 0, 3), {"only_output": only_output(outputs)})
    return unvarying


def ran(*values, drawn=("a", "a"), outside=()):
    return tuple(FreshRun((v,), "", {"numpy": d} if d else {}, outside) for v, d in zip(values, drawn, strict=True))


@pytest.mark.parametrize(
    ("runs", "witnessed"),
    [
        ((ran(1.0, 1.0), ran(2.0, 2.0)), True),
        ((ran(1.0, 1.0, drawn=("", "")), ran(2.0, 2.0, drawn=("", ""))), True),
        ((ran(1.0, 1.0, drawn=("a", "b")), ran(2.0, 2.0)), False),  # drawn from, and left where it came to
        ((ran(1.0, 1.0), ran(2.0, 2.0, outside=("open cache.bin",))), False),
        ((ran(1.0, 1.0), ran(2.0, 3.0)), False),
        ((ran(1.0, 1.0), ran(3.0, 3.0)), False),  # not what the trials gave
        (None, False),
    ],
)
def test_a_witness_needs_one_output_a_side_and_nothing_that_could_be_chance_or_memory(runs, witnessed):
    replayed = Replayed(runs, seen(1.0, 2.0))
    found = no_randomness(replayed, CLAIM, mechanism="f", n_runs=3, datasets=None)
    assert (len(found) == 1) is witnessed
    assert replayed.remembered == (runs is not None and runs[1] == ran(2.0, 3.0))


def test_equal_outputs_on_both_sides_are_not_worth_a_replay():
    assert (seen(1.0, 2.0).differs, seen(1.0, 1.0).differs) == (True, False)
