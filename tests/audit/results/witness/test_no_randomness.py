"""Outputs that never vary: a finding and no proof, since entropy and memories may be out of sight."""

import math
import threading

import numpy as np
import pytest
import replayed_functions as replayed
from scipy import stats

from dpassay.audit import PrivacyViolation, assert_private, audit
from dpassay.audit.results.witness.base import CERTAIN, Kind
from dpassay.audit.results.witness.no_randomness import Replayed, doubt, no_randomness
from dpassay.audit.trials.constant_outputs import Unvarying, only_output
from dpassay.audit.trials.plan import Chunk
from dpassay.audit.trials.seeds import Stage
from dpassay.mechanisms import Neighbours, Outputs, PureDP
from dpassay.mechanisms.accounting import ApproximateDP
from dpassay.mechanisms.adapters.functions import fresh_runs as fresh
from dpassay.mechanisms.adapters.functions.first_runs import FirstRuns
from dpassay.mechanisms.adapters.functions.forms import Form
from dpassay.mechanisms.adapters.functions.fresh_runs import Fresh, FreshRun

pytestmark = pytest.mark.usefixtures("without_power")

PAIR = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")
OPTIONS = {"trials": 100, "seed": 0, "attack": "threshold", "bound": "clopper-pearson"}
CLAIM = ApproximateDP(60.0, 0.1)
"""Beyond what 100 trials could refute."""


def by_hand(function):
    """The first run of each side in a fresh interpreter."""
    fresh.keep(function)
    found = fresh.run(function, PAIR, 1, copies=3, style="one-run", form=Form(), records=True)
    assert len(found.out) == len(found.in_) == 3
    return found.out[0], found.in_[0]


@pytest.mark.parametrize(
    "function", [replayed.congruential, pytest.param(replayed.remembering_a_seed, marks=pytest.mark.slow)]
)
def test_a_function_that_is_seeded_from_its_data_is_a_finding_and_the_bound_decides(function):
    shown = audit(function, PAIR, claim=PureDP(1.0), **OPTIONS)
    assert (shown.verdict.value, shown.refuted_by, shown.dependence) == ("violation", "bound", None)
    hidden = audit(function, PAIR, claim=CLAIM, **OPTIONS)
    assert (hidden.verdict.value, hidden.dependence) == ("underpowered", None)
    for result in (shown, hidden):
        (found,) = result.witnesses
        assert (found.kind, found.delta, found.refutes) == (Kind.NO_RANDOMNESS, CERTAIN, False)
        assert found.outputs == tuple((repr(function(PAIR.side(side), None)),) for side in (0, 1))
        assert found.datasets == ("[1.0, 0.0]", "[1.0, 0.0, 1.0]")


def test_a_test_that_a_function_without_randomness_fails_shows_the_finding():
    with pytest.raises(PrivacyViolation, match=r"no randomness: legacy\(\) gave .*it sets its random"):
        assert_private(replayed.legacy, PAIR, claim=PureDP(1.0), **OPTIONS)


@pytest.mark.parametrize("function", [replayed.remembering, pytest.param(replayed.hashing, marks=pytest.mark.slow)])
@pytest.mark.parametrize("claim", [CLAIM, PureDP(1.0)])
def test_what_repeats_in_one_process_only_is_no_violation(function, claim):
    result = audit(function, PAIR, claim=claim, **OPTIONS)
    assert (result.verdict.value, result.witnesses) == ("dependent", ())
    assert "a run in a fresh process gives another" in result.dependence


def test_the_twin_that_draws_its_seed_is_clean():
    result = audit(replayed.congruential_from_the_rng, PAIR, claim=CLAIM, **OPTIONS)
    assert (result.verdict.value, result.witnesses, result.dependence) == ("underpowered", (), None)
    assert not any("never drawn from" in text for text in result.warnings)


def test_the_rng_is_told_from_a_global_state_that_is_set_and_from_entropy():
    drawn, set_and_read = by_hand(replayed.of_two_sources)
    assert (list(drawn.drawn), drawn.outside) == (["the given rng"], ())
    assert (list(set_and_read.drawn), set_and_read.outside) == (["the global random state of numpy"], ("entropy",))


def test_the_hash_of_a_text_is_noticed():
    assert by_hand(replayed.hashing)[0].outside == ("the hash of a text",)


def test_what_a_function_keeps_is_not_carried_along():
    kept = {}

    def memoised(dataset, rng):
        return kept.setdefault(len(dataset), rng.laplace())

    fresh.keep(memoised)
    memoised(PAIR.d1, np.random.default_rng(5))
    found = fresh.run(memoised, PAIR, 1, copies=20, style="one-run", form=Form(), records=True)
    assert len({one.output for one in (*found.out, *found.in_)}) == 40
    assert not fresh.is_made_anew(memoised)


def test_an_import_makes_the_function_of_a_module_anew_for_each_run():
    function = replayed.logging
    fresh.keep(function)
    function(PAIR.d1, np.random.default_rng(5))
    found = fresh.run(function, PAIR, 1, copies=5, style="one-run", form=Form(), records=True)
    assert fresh.is_made_anew(function)
    assert [one.values for one in (*found.out, *found.in_)] == [(1.0,)] * 10  # a log of one entry


def test_generators_of_the_function_go_on_from_another_state_in_each_copy():
    mine = np.random.default_rng(0)
    found = fresh_runs(lambda dataset, rng: mine.random(), copies=5)
    assert len({one.output for one in (*found.out, *found.in_)}) == 10


def fresh_runs(function, copies):
    fresh.keep(function)
    return fresh.run(function, PAIR, 1, copies=copies, style="one-run", form=Form(), records=True)


def test_what_cannot_be_pickled_is_not_replayed():
    lock = threading.Lock()

    def locking(dataset, rng):
        with lock:
            return 0.0

    assert fresh_runs(locking, 1) is None


def seen(*values):
    unvarying = Unvarying()
    for side, value in enumerate(values):
        outputs = Outputs(np.full(3, value))
        unvarying.add(Chunk(Stage.EVALUATION, side, 0, 0, 3), {"only_output": only_output(outputs)})
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
    fresh_ones = tuple(Fresh(*sides, held) for *sides, held in zip(out, in_, kept, strict=True))
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
def test_a_finding_needs_one_output_a_side_and_nothing_that_could_be_chance_or_memory(replayed, found):
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


def test_runs_of_rare_outputs_are_called_dependent_no_more_often_than_they_may():
    """Trials that never vary by chance, and fresh runs of the same law, at a rate where a miscount shows."""
    rng, alarms, looked_at = np.random.default_rng(0), 0, 0
    n, m, rate, level = 40, 2 * 40, 0.01, 0.2
    for _ in range(4_000):
        if rng.random(n).min() > rate and rng.random(n).min() > rate:
            looked_at += 1
            values = np.where(rng.random((2, m)) > rate, [[1.0], [2.0]], 9.0)
            runs = [tuple(FreshRun((value,), "") for value in side) for side in values]
            found = Replayed((Fresh(*runs, {}),), seen(1.0, 2.0)).dependence(n, level)
            alarms += found is not None
    assert looked_at > 1_000
    assert alarms <= stats.binom.isf(1e-6, 4_000, level)  # all trials count, those that vary as no alarm


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
    found = doubt(first, replayed)
    assert (found is None) is (what is None)
    if found is not None:
        assert what in found.what
        assert found.copies_count is copies_count


def test_equal_outputs_on_both_sides_are_not_worth_a_replay():
    assert (seen(1.0, 2.0).differs, seen(1.0, 1.0).differs) == (True, False)
