"""Runs in fresh processes: equal where all noise comes from the given streams, and else different."""

import math
import os
import secrets
import signal
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.audit import replayed_functions as replayed

from dpassay.audit.randomness.experiment import fresh_processes, n_needed, single_runs
from dpassay.mechanisms import Neighbours, PureDP
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.adapters.functions.isolated import Call, Request, ask
from dpassay.mechanisms.adapters.functions.source import source_of

pytestmark = pytest.mark.usefixtures("many_processes", "new_interpreters")

MAX_PROCESSES, N_FEW, N_ALONE = 128, 8, 4
PAIR = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")


def experiment(function, n=3, **options):
    return fresh_processes(FunctionMechanism(function, claim=PureDP(1.0), neighbours=PAIR, **options), PAIR, 0, n)


def exact_noise(dataset, rng):
    return sum(dataset) + rng.laplace()


def of_many(dataset, size, rng):
    return {"sum": sum(dataset) + rng.laplace(size=size), "n": np.full(size, len(dataset))}


def raising(dataset, rng):
    if rng.random() < 0.3:
        raise ValueError("unlucky")
    return rng.random()


def from_the_global_state(dataset):
    return sum(dataset) + np.random.laplace()  # noqa: NPY002


@pytest.mark.parametrize("function", [exact_noise, of_many, raising, from_the_global_state, replayed.restarts])
def test_runs_are_equal_where_all_noise_comes_from_the_given_streams(function):
    fresh = experiment(function)
    assert (fresh.n, fresh.can_run, fresh.repeats_here, fresh.read) == (3, True, True, frozenset())
    assert fresh.draws is (function is not replayed.restarts)


def test_a_process_imports_numpy_and_nothing_else_that_takes_long():
    FunctionMechanism(replayed.exact, claim=PureDP(1.0), neighbours=PAIR)
    call = Call(0, 1, np.random.default_rng(0), 0)
    (answer,) = ask(source_of(replayed.exact), PAIR, "one-run", [Request((call,))])
    assert {name.partition(".")[0] for name in answer.modules} == {"numpy"}


def test_own_runs_differ_between_processes():
    fresh = experiment(exact_noise)
    assert len({value for sides in fresh.own for side in sides for value in side.values.tolist()}) == 3 * 2 * 64


def test_entropy_is_seen_and_repeats_nothing():
    fresh = experiment(lambda dataset, rng: sum(dataset) + secrets.randbits(40))
    assert (fresh.repeats_here, fresh.read, fresh.draws) == (False, frozenset({"entropy"}), True)


def test_the_hash_of_a_text_differs_between_processes():
    fresh = experiment(replayed.hashing)
    assert (fresh.repeats_here, fresh.read) == (False, frozenset({"the hash of a text"}))


@dataclass(frozen=True)
class Key:
    name: str


@pytest.mark.parametrize(("used", "read"), [(lambda key: {key: 1}[key], set()), (hash, {"the hash of a text"})])
def test_the_hash_of_a_key_of_a_dictionary_is_no_source_of_noise(used, read):
    assert experiment(lambda dataset, rng: rng.laplace() + 0 * used(Key("a"))).read == read


def test_what_a_function_keeps_is_not_carried_along():
    kept = {}

    def memoised(dataset, rng):
        return kept.setdefault(len(dataset), rng.laplace())

    fresh = experiment(memoised)
    assert not fresh.repeats_here
    assert [len(set(sides[0].values.tolist())) for sides in fresh.own] == [1, 1, 1]
    out, in_ = single_runs(FunctionMechanism(memoised, claim=PureDP(1.0), neighbours=PAIR), PAIR, 0, 3)
    assert len({*out.values.tolist(), *in_.values.tolist()}) == 6


def test_many_processes_are_copies_of_few_where_imports_take_long(monkeypatch):
    monkeypatch.setattr("dpassay.audit.randomness.experiment.SLOW_SECONDS", 0.0)
    fresh = experiment(exact_noise, N_FEW + 5)
    assert (fresh.n, fresh.repeats_here) == (N_FEW + 5, True)
    assert not experiment(replayed.with_noise_of_the_import, N_FEW + 5).repeats_here


def test_slow_processes_are_fewer(monkeypatch):
    monkeypatch.setattr("dpassay.audit.randomness.experiment.MAX_SECONDS", 0.0)
    assert experiment(exact_noise, 50).n == N_FEW


def test_a_function_that_cannot_be_copied_is_not_run():
    waiting = (value for value in iter(float, 1.0))
    fresh = experiment(lambda dataset, rng: next(waiting))
    assert (fresh.source, fresh.can_run) == (None, False)


def test_noise_far_below_the_size_of_the_numbers_is_seen():
    kept = []

    def release(dataset, rng):
        kept[:] = kept or [rng.laplace()]
        return 1e12 + kept[0]

    assert not experiment(release).repeats_here


def test_generators_of_a_function_do_not_repeat_each_other():
    first, second = np.random.default_rng(1), np.random.default_rng(2)
    fresh = experiment(lambda dataset, rng: first.random() - second.random())
    assert all((part.values != 0.0).all() for sides in fresh.own for part in sides)


def test_slow_runs_are_enough_to_compare_those_of_a_process(monkeypatch):
    monkeypatch.setattr("dpassay.audit.randomness.experiment.CALL_SECONDS", 0.0)
    assert {len(part) for sides in experiment(exact_noise).own for part in sides} == {4}


def test_a_lock_is_no_hindrance():
    lock = threading.Lock()

    def locking(dataset, rng):
        with lock:
            return rng.random()

    assert experiment(locking).repeats_here


def test_processes_that_fail_are_none():
    def exiting(dataset, rng):
        import os
        import sys

        if "pytest" not in sys.modules:
            os._exit(0)
        return rng.random()

    fresh = experiment(exiting, 16)
    assert (fresh.n, fresh.n_asked, fresh.can_run) == (0, N_ALONE, False)


def test_a_process_that_leaves_others_running_answers_at_once():
    def forking(dataset, rng):
        import os
        import sys
        import time

        if "pytest" not in sys.modules and os.fork() == 0:
            time.sleep(600)
        return rng.random()

    assert experiment(forking).repeats_here


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="children are listed in /proc")
def test_an_interrupted_experiment_leaves_no_process():
    def slow(dataset, rng):
        import sys
        import time

        if "pytest" not in sys.modules:
            time.sleep(600)
        return rng.random()

    mechanism = FunctionMechanism(slow, claim=PureDP(1.0), neighbours=PAIR)
    before = set(_children())

    def interrupt(*_):
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            fresh_processes(mechanism, PAIR, 0, 8)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
    assert set(_children()) <= before


def _children():
    return [int(child) for child in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("significance", [1e-3, 1e-6])
def test_a_lie_shows_in_one_of_the_processes(epsilon, significance):
    n, rate = n_needed(epsilon, significance), 1.0 / (1.0 + math.exp(epsilon))
    assert (1.0 - rate) ** n <= significance or n == MAX_PROCESSES
    assert n == N_FEW or (1.0 - rate) ** (n - 1) > significance
    assert n_needed(1e6, significance) == MAX_PROCESSES


def test_the_function_of_a_module_has_an_address_and_no_numbers():
    for function in (replayed.with_a_constant, replayed.with_noise_of_the_import, replayed.remembering):
        FunctionMechanism(function, claim=PureDP(1.0), neighbours=PAIR)
        assert source_of(function).numbers[""].size == 0
