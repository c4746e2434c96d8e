"""Audited code is hostile code: however it leaves, there is an outcome or an error that names it."""

import os
import signal
import sys
import threading
import time
import warnings
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from tests.audit.hostile_functions import (
    CASES,
    CHANGES,
    PATCHES,
    from_global_numpy,
    hanging_on,
    noisy,
    patching,
    to_another_directory,
    without_json,
    without_modules,
)

from dpassay.audit import audit
from dpassay.mechanisms import Mechanism, Neighbours, PureDP
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.core import DpassayError, ParameterError, ReleaseError

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

PAIR = Neighbours([1, 0], [1, 0, 1], "add_remove")


def audited(function, **options):
    given = {"trials": 20, "seed": 0, "bound": "clopper-pearson", "attack": "threshold"} | options
    return audit(function, PAIR, claim=PureDP(1.0), **given)


@pytest.fixture(scope="module", autouse=True)
def _imported():
    """What the first audit of a process imports changes its environment; that is not the audited code's doing."""
    audited(noisy)


def process():
    return (
        Path.cwd(),
        dict(os.environ),
        np.geterr(),
        list(warnings.filters),
        [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)],
        signal.getitimer(signal.ITIMER_REAL),
        np.random.get_state()[1].tolist(),  # noqa: NPY002
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_exit_is_an_outcome_or_a_named_error_and_changes_are_undone(case):
    before = process()
    if case.error is not None:
        with pytest.raises(case.error) as raised:
            audited(case.function, **case.options)
        assert case.says in str(raised.value)
    else:
        result = audited(case.function, **case.options)
        if case.event is not None:
            (label, counts), *others = result.events.items()
            assert label.startswith(case.event)
            assert not others
            assert counts[0] == 0 < counts[1]
            result.summary().encode("utf-8")
        assert case.says in " ".join(result.warnings)
        given = [text for text in result.warnings if "never varied" not in text]  # a side may always raise
        assert bool(given) == (case.function in CHANGES)
        assert type(result).from_json(result.to_json()) == result
    assert process() == before


@pytest.mark.parametrize(("patch", "after"), list(zip(PATCHES, cycle([0, 20]), strict=False)))
def test_a_patched_name_of_a_module_is_put_back_and_named(patch, after):
    """In the first runs, of which there are 12, or in the trials: what the library then calls would break it."""
    module, name = PATCHES[patch]
    before = getattr(module, name)
    try:
        result = audited(patching(module, name, after=after))
        message = " ".join(result.warnings)
    except DpassayError as error:
        message = " ".join([str(error), *getattr(error, "__notes__", ())])
    finally:
        left, module.__dict__[name] = getattr(module, name), before
    assert left is before
    assert patch in message


@pytest.mark.parametrize(
    ("function", "names"), [(without_json, ("json", "zipfile")), (without_modules, ("sys.modules",))]
)
def test_what_is_taken_out_of_sys_modules_is_put_back_and_named(function, names):
    modules, content = sys.modules, dict(sys.modules)
    result = audited(function)
    assert sys.modules is modules
    assert {name: sys.modules.get(name) for name in content} == content
    assert all(name in " ".join(result.warnings) for name in names)


def test_changes_and_global_randomness_repeat_with_the_seed_and_in_workers():
    def changing(dataset, rng):
        return to_another_directory(dataset, rng) + from_global_numpy(dataset, rng)

    serial = audited(changing).to_json()
    assert audited(changing).to_json() == serial
    assert audited(changing, n_jobs=2).to_json() == serial
    assert audited(changing, seed=1).to_json() != serial


@pytest.mark.parametrize("swallows", [True, False])
def test_a_real_interrupt_ends_an_audit_even_if_the_function_catches_it(swallows):
    runs, under_way = iter(range(10_000)), threading.Event()

    def slow(dataset, rng):
        if next(runs) == 5:
            under_way.set()
        time.sleep(0.05)
        return noisy(dataset, rng)

    def swallowing(dataset, rng):
        try:
            slow(dataset, rng)
        except BaseException:
            return 0.0
        return noisy(dataset, rng)

    def interrupt():
        under_way.wait()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        audited(swallowing if swallows else slow, trials=10_000)
    thread.join()


def test_what_another_alarm_raises_gets_through():
    """As pytest-timeout does it."""

    def late(*_):
        raise TimeoutError("the test took too long")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(TimeoutError, match="the test took too long"):
            audited(hanging_on)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_a_worker_that_dies_is_an_error_with_the_name_of_the_function():
    parent = os.getpid()

    def dying(dataset, rng):
        if os.getpid() != parent:
            os._exit(3)
        return noisy(dataset, rng)

    def crashing(dataset, rng):
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return noisy(dataset, rng)

    dying.__qualname__, crashing.__qualname__ = "dying", "crashing"
    for function, how in ((dying, r"EXIT\(3\)"), (crashing, r"SIGKILL\(-9\)")):
        with pytest.raises(ReleaseError, match=rf"{function.__name__}.* died \(.*{how}"):
            audited(function, n_jobs=2)


def test_a_function_that_cannot_be_sent_to_workers_is_named():
    lock = threading.Lock()

    def holding(dataset, rng):
        with lock:
            return noisy(dataset, rng)

    with pytest.raises(ReleaseError, match="cannot be sent to worker processes"):
        audited(holding, n_jobs=2)


class Foreign(FunctionMechanism.__mro__[1]):  # a mechanism of a user
    relation = PAIR.relation

    def release(self, dataset, size, rng):
        raise GeneratorExit

    def guarantee(self):
        return PureDP(1.0)

    def worst_case(self):
        return PAIR

    def bind(self, neighbours):
        return self


def test_mechanisms_of_users_are_guarded_too():
    assert Foreign.__mro__[1] is Mechanism
    with pytest.raises(ReleaseError, match="raised GeneratorExit in release"):
        audit(Foreign(), trials=60, seed=0)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), "soon"])
def test_a_timeout_is_a_positive_number(timeout):
    with pytest.raises(ParameterError, match="timeout"):
        audited(noisy, timeout=timeout)


def test_too_many_trials_are_refused_and_many_chunks_take_no_memory():
    from dpassay.audit.trials.plan import MAX_TRIALS, plan_trials
    from dpassay.audit.trials.seeds import Stage

    options = {"bytes_per_run": 8, "learns": False, "chooses": True, "vectorised": True}
    with pytest.raises(ParameterError, match="trials must be at most 100,000,000,000 per side"):
        plan_trials(10**18, **options)
    chunks = next(plan_trials(MAX_TRIALS, **options).rounds())
    assert len(chunks) > 10**6
    assert chunks[-1].start + chunks[-1].size == chunks.end
    assert next(plan_trials(MAX_TRIALS, **options).chunks(Stage.EVALUATION)) == chunks[0]


def test_outputs_that_are_too_wide_are_refused_with_their_size():
    def wide(dataset, rng):
        return rng.normal(size=100_000)

    with pytest.raises(ParameterError, match=r"one output takes 800,000 bytes \(100,000 numbers\)"):
        audited(wide, trials=1_000, attack="auto")
