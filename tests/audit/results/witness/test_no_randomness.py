"""Outputs that never vary: a finding and no proof, since entropy and memories may be out of sight."""

import itertools
import math
import threading

import numpy as np
import pytest
from scipy import stats
from tests.audit import replayed_functions as replayed

from dpassay.audit import assert_private, audit
from dpassay.audit.results.witness.base import CERTAIN_DELTA, WitnessKind
from dpassay.audit.results.witness.no_randomness import (
    Replayed,
    no_randomness,
    suspect_shared_noise,
    suspect_stored_run,
)
from dpassay.audit.trials.plan import Chunk
from dpassay.audit.trials.repeated_outputs import DistinctOutputs, common_output_digest
from dpassay.audit.trials.seeds import Stage
from dpassay.mechanisms import Neighbours, Outputs, PureDP
from dpassay.mechanisms.accounting import ApproximateDP
from dpassay.mechanisms.adapters.functions import fresh_runs as fresh
from dpassay.mechanisms.adapters.functions.first_runs import FirstRuns
from dpassay.mechanisms.adapters.functions.forms import ResultForm
from dpassay.mechanisms.adapters.functions.fresh_runs import FreshObservations, FreshRun
from dpassay.mechanisms.core import PrivacyViolation

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

PAIR = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")
OPTIONS = {"trials": 100, "seed": 0, "attack": "threshold", "bound": "clopper-pearson"}
CLAIM = ApproximateDP(60.0, 0.1)
"""Beyond what 100 trials could refute."""


def by_hand(function):
    """The first run of each side in a fresh interpreter."""
    fresh.store_function(function)
    results = fresh.run(function, PAIR, 1, copies=3, style="one-run", form=ResultForm(), records=True)
    assert len(results.out) == len(results.in_) == 3
    return results.out[0], results.in_[0]


@pytest.mark.parametrize(
    ("function", "claim"),
    [
        (replayed.congruential, CLAIM),
        pytest.param(replayed.congruential, PureDP(1.0), marks=pytest.mark.slow),
        pytest.param(replayed.remembering_a_seed, CLAIM, marks=pytest.mark.slow),
        pytest.param(replayed.remembering_a_seed, PureDP(1.0), marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("few_copies")
def test_a_seed_from_the_data_is_a_finding_and_the_bound_decides(function, claim):
    result = audit(function, PAIR, claim=claim, **OPTIONS)
    refuted_by = None if claim is CLAIM else "bound"
    assert (result.refuted_by, result.dependence) == (refuted_by, None)
    assert result.verdict.value == ("violation" if refuted_by else "underpowered")
    (witness,) = result.witnesses
    assert (witness.kind, witness.delta, witness.refutes) == (WitnessKind.NO_RANDOMNESS, CERTAIN_DELTA, False)
    assert witness.outputs == tuple((repr(function(PAIR.side(side), None)),) for side in (0, 1))
    assert witness.datasets == ("[1.0, 0.0]", "[1.0, 0.0, 1.0]")


@pytest.mark.usefixtures("few_copies")
def test_assert_private_shows_the_finding():
    with pytest.raises(PrivacyViolation, match=r"no randomness: legacy\(\) gave .*it sets its random"):
        assert_private(replayed.legacy, PAIR, claim=PureDP(1.0), **OPTIONS)


@pytest.mark.parametrize("function", [replayed.remembering, pytest.param(replayed.hashing, marks=pytest.mark.slow)])
@pytest.mark.parametrize("claim", [PureDP(1.0), pytest.param(CLAIM, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("few_copies")
def test_what_repeats_in_one_process_only_is_no_violation(function, claim):
    result = audit(function, PAIR, claim=claim, **OPTIONS)
    assert (result.verdict.value, result.witnesses) == ("dependent", ())
    assert "a run in a fresh process gives another" in result.dependence


def test_the_twin_that_draws_its_seed_is_clean():
    result = audit(replayed.congruential_from_the_rng, PAIR, claim=CLAIM, **OPTIONS)
    assert (result.verdict.value, result.witnesses, result.dependence) == ("underpowered", (), None)
    assert not any("never drawn from" in text for text in result.warnings)


def test_the_rng_the_global_state_and_entropy_are_distinguished():
    drawn, set_and_read = by_hand(replayed.of_two_sources)
    assert (list(drawn.drawn), drawn.outside) == (["the given rng"], ())
    assert (list(set_and_read.drawn), set_and_read.outside) == (["the global random state of numpy"], ("entropy",))


def test_the_hash_of_a_text_is_noticed():
    assert by_hand(replayed.hashing)[0].outside == ("the hash of a text",)


def test_what_a_function_keeps_is_not_carried_along():
    kept = {}

    def memoised(dataset, rng):
        return kept.setdefault(len(dataset), rng.laplace())

    fresh.store_function(memoised)
    memoised(PAIR.d1, np.random.default_rng(5))
    result = fresh.run(memoised, PAIR, 1, copies=20, style="one-run", form=ResultForm(), records=True)
    assert len({one.output for one in (*result.out, *result.in_)}) == 40
    assert not fresh.is_imported_again(memoised)


def test_an_import_makes_the_function_of_a_module_anew_for_each_run():
    function = replayed.logging
    fresh.store_function(function)
    function(PAIR.d1, np.random.default_rng(5))
    result = fresh.run(function, PAIR, 1, copies=5, style="one-run", form=ResultForm(), records=True)
    assert fresh.is_imported_again(function)
    assert [one.values for one in (*result.out, *result.in_)] == [(1.0,)] * 10  # a log of one entry


def test_generators_of_the_function_go_on_from_another_state_in_each_copy():
    mine = np.random.default_rng(0)
    result = fresh_runs(lambda dataset, rng: mine.random(), copies=5)
    assert len({one.output for one in (*result.out, *result.in_)}) == 10


def fresh_runs(function, copies):
    fresh.store_function(function)
    return fresh.run(function, PAIR, 1, copies=copies, style="one-run", form=ResultForm(), records=True)


def test_what_cannot_be_pickled_is_not_replayed():
    lock = threading.Lock()

    def locking(dataset, rng):
        with lock:
            return 0.0

    assert fresh_runs(locking, 1) is None


def seen(*values):
    unvarying = DistinctOutputs()
    for side, value in enumerate(values):
        outputs = Outputs(np.full(3, value))
        unvarying.add(Chunk(Stage.EVALUATION, side, 0, 0, 3), {"only_output": common_output_digest(outputs)})
    return unvarying


def ran(*values, drawn=("a", "a"), outside=(), copies=1):
    """Runs of one side in two interpreters, `copies` in each."""
    return tuple(
        (FreshRun((value,), "", (), {"numpy": state} if state else {}, outside),) * copies
        for value, state in zip(values, drawn, strict=True)
    )


def undrawn(value):
    return ran(value, value, drawn=("", ""))


def both(out, in_, kept=({}, {}), **options):
    fresh_ones = tuple(FreshObservations(*sides, held) for *sides, held in zip(out, in_, kept, strict=True))
    return Replayed(fresh_ones, seen(1.0, 2.0), **options)


@pytest.mark.parametrize(
    ("replayed", "found"),
    [
        (both(ran(1.0, 1.0), ran(2.0, 2.0)), True),
        (both(ran(1.0, 1.0, drawn=("", "")), ran(2.0, 2.0, drawn=("", ""))), True),
        (both(ran(1.0, 1.0, drawn=("a", "b")), ran(2.0, 2.0)), False),  # drawn from, and left where it came to
        (both(ran(1.0, 1.0), ran(2.0, 2.0, outside=("open cache.bin",))), False),
        (both(ran(1.0, 1.0), ran(2.0, 3.0)), False),
        (both(ran(1.0, 1.0), ran(3.0, 3.0)), False),  # not what the trials gave
        (Replayed((), seen(1.0, 2.0)), False),
    ],
)
def test_a_finding_excludes_chance_and_stored_state(replayed, found):
    assert (len(no_randomness(replayed, CLAIM, mechanism="f", n_runs=3, datasets=None)) == 1) is found


def test_fresh_runs_that_differ_are_counted_against_chance():
    """All places of j different outputs among n + m are as likely: C(m, j) / C(n + m, j), and two sides."""
    replayed = both(ran(1.0, 1.0, copies=5), ran(2.0, 3.0, copies=5))
    for n in (10, 1_000):
        chance = 2.0 * math.comb(10, 5) / math.comb(n + 10, 5)
        assert replayed.dependence(n, 1.001 * chance).p_value == pytest.approx(chance)
        assert replayed.dependence(n, 0.999 * chance) is None
    assert both(ran(1.0, 1.0), ran(2.0, 2.0)).dependence(10, 0.5) is None
    assert Replayed((), seen(1.0, 2.0)).dependence(10, 0.5) is None


def test_rare_outputs_are_called_dependent_at_most_at_the_level():
    """Exact: all numbers of different fresh runs up to 12 a side; more are counted as alarms."""
    n, m, level, quiet = 40, 2 * 40, 0.2, np.zeros((13, 13))
    for n_others in itertools.product(range(13), repeat=2):
        out, in_ = (
            (FreshRun((9.0,), ""),) * k + (FreshRun((value,), ""),) * (m - k)
            for k, value in zip(n_others, (1.0, 2.0), strict=True)
        )
        quiet[n_others] = Replayed((FreshObservations(out, in_, {}),), seen(1.0, 2.0)).dependence(n, level) is None
    for rate in (0.001, 0.003, 0.01, 0.03):
        probabilities = stats.binom.pmf(np.arange(13), m, rate)
        trials_never_vary = (1.0 - rate) ** (2 * n)
        assert trials_never_vary * (1.0 - probabilities @ quiet @ probabilities) <= level


@pytest.mark.parametrize(
    ("first", "replayed", "what", "copies_count"),
    [
        (FirstRuns(), Replayed((), seen(1.0, 2.0)), "cannot run", False),
        (FirstRuns(), both(ran(1.0, 1.0), ran(2.0, 2.0, outside=("open noise.bin",))), "reads open noise.bin", False),
        (FirstRuns(held=("its x",), changed=("its y",)), both(undrawn(1.0), undrawn(2.0)), "stores its x", False),
        (FirstRuns(held=("its x",)), both(ran(1.0, 1.0), ran(2.0, 2.0)), "stores its x", False),
        (FirstRuns(held=("its x",), written=("its x",)), both(undrawn(1.0), undrawn(2.0)), "stores its x", False),
        (FirstRuns(held=("its x",), written=("its x",)), both(ran(1.0, 1.0), ran(2.0, 2.0)), None, None),  # an option
        (FirstRuns(changed=("its y",)), both(ran(1.0, 1.0), ran(2.0, 2.0)), "keeps its y", True),
        (
            FirstRuns(),
            both(ran(1.0, 1.0), ran(2.0, 2.0), ({"its z": "a"}, {"its z": "b"}), before={"its z": "a"}, made_anew=True),
            "keeps its z",
            True,
        ),
        (FirstRuns(), both(ran(1.0, 1.0), ran(2.0, 2.0, outside=("entropy",))), None, None),
    ],
)
def test_what_may_be_a_memory_is_doubted(first, replayed, what, copies_count):
    results = suspect_stored_run(first, replayed)
    assert (results is None) is (what is None)
    if results is not None:
        assert what in results.what
        assert results.copies_count is copies_count


def test_equal_outputs_on_both_sides_are_not_worth_a_replay():
    assert (seen(1.0, 2.0).differs, seen(1.0, 1.0).differs) == (True, False)


def copies_of(out, in_):
    """Fresh runs with these outputs of one number."""
    sides = (tuple(FreshRun((float(value),), "", (1,)) for value in values) for values in (out, in_))
    return Replayed((FreshObservations(*sides, kept={}),), DistinctOutputs())


def both_imported(*kept, varying=()):
    """One run a side of two imported copies with this state."""
    fresh_ones = tuple(
        FreshObservations((FreshRun((1.0,), "", (1,)),), (FreshRun((2.0,), "", (1,)),), held, varying) for held in kept
    )
    return Replayed(fresh_ones, seen(1.0, 2.0), before=kept[0], made_anew=True)


def leaving(*digests):
    """Copies whose runs leave this state."""
    runs = [tuple(FreshRun((value,), "", (1,), left={"its x": d}) for d in digests) for value in (1.0, 2.0)]
    return Replayed((FreshObservations(*runs, {}),), seen(1.0, 2.0))


@pytest.mark.parametrize("digits", [15, 0], ids=["continuous", "tied"])
def test_independent_runs_with_a_state_are_doubted_at_most_at_the_level(digits, monkeypatch):
    monkeypatch.setattr("dpassay.audit.results.witness.no_randomness.SHARED_LEVEL", 0.2)
    rng, first, n = np.random.default_rng(5), FirstRuns(changed=("its global 'calls'",)), 150
    doubted = 0
    for _ in range(n):
        runs = tuple(Outputs(rng.normal(size=(150, 1)).round(digits)) for _ in (0, 1))
        copies = copies_of(*rng.normal(size=(2, 100)).round(digits))
        doubted += suspect_shared_noise(first, (), copies, runs) is not None
    assert doubted <= stats.binom.isf(1e-6, n, 0.2)


def test_noise_that_all_runs_of_a_process_share_is_doubted():
    rng, first = np.random.default_rng(6), FirstRuns(changed=("its global 'noise'",))
    runs = tuple(Outputs(side + rng.laplace() + rng.laplace(scale=0.05, size=(150, 1))) for side in (0, 1))
    copies = copies_of(rng.laplace(size=100), 1 + rng.laplace(size=100))
    assert suspect_shared_noise(first, (), copies, runs).copies_count


@pytest.mark.parametrize(
    ("first", "stored", "replayed", "what"),
    [
        (FirstRuns(changed=("its x",)), ("its x",), Replayed((), seen(1.0, 2.0)), "cannot run"),
        (FirstRuns(changed=("its x",)), (), Replayed((), seen(1.0, 2.0)), None),  # a counter
        (FirstRuns(imported=("its x",)), (), both_imported({"its x": "a"}, {"its x": "a"}), None),  # a constant
        (FirstRuns(imported=("its x",)), (), both_imported({"its x": "a"}, {"its x": "b"}), "stores its x"),
        (FirstRuns(imported=("its x",)), (), both_imported(*[{"its x": "a"}] * 2, varying=("its x",)), "stores its x"),
        (FirstRuns(changed=("its x",)), ("its x",), leaving("a", "a"), None),  # a deterministic cache
        (FirstRuns(changed=("its x",)), ("its x",), leaving("a", "b"), "keeps its x"),
        (FirstRuns(changed=("its x",)), (), leaving("a", "b"), None),  # a log
    ],
)
def test_state_that_each_process_draws_again_is_doubted_whatever_the_outputs_are(first, stored, replayed, what):
    runs = tuple(Outputs(np.full((4, 1), value)) for value in (1.0, 2.0))
    found = suspect_shared_noise(first, stored, replayed, runs)
    assert (found is None) is (what is None)
    assert found is None or what in found.what


def test_empty_and_exceptional_outputs_are_not_compared():
    first, copies = FirstRuns(changed=("its global 'noise'",)), copies_of([0.0] * 100, [1.0] * 100)
    empty = Outputs(np.empty((150, 0)))
    raised = Outputs(np.zeros((150, 1)), np.array(["raised ValueError"] * 150))
    assert suspect_shared_noise(first, (), copies, (empty, raised)) is None
