"""A function in a process of its own: the same outputs as here, and nothing of it reaches this process."""

import os
import pickle
import sys
import textwrap
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest

from dpassay.audit import audit
from dpassay.mechanisms import Laplace, Neighbours, PureDP
from dpassay.mechanisms.adapters import IsolatedFunction
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.adapters.functions.guard import Guard
from dpassay.mechanisms.adapters.functions.isolated import packed
from dpassay.mechanisms.adapters.functions.isolated_function import _PROCESSES, NoFunctionError
from dpassay.mechanisms.adapters.functions.isolated_process import unpacked
from dpassay.mechanisms.adapters.functions.source import source_of
from dpassay.mechanisms.adapters.functions.target import load_target, style_of
from dpassay.mechanisms.core import AlwaysRaisesError, ParameterError, ReleaseError, UnknownNameError

pytestmark = pytest.mark.usefixtures("new_interpreters")

PAIR = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")
MODULE = '''
import dataclasses, os, random, signal, sys, time
from decimal import Decimal
from functools import partial
import numpy as np

KEPT = np.random.default_rng(5)

def exact(dataset, rng):
    """Of one run."""
    return sum(dataset) + rng.laplace()

def vector(dataset, size, rng):
    return sum(dataset) + rng.laplace(size=(size, 3))

def columns(dataset, size, rng):
    return {"sum": sum(dataset) + rng.laplace(size=size), "n": np.full(size, len(dataset))}

def with_texts(dataset, size, rng):
    return {"sum": rng.laplace(size=size), "kind": np.array(["a", "b"])[rng.integers(2, size=size)]}

def from_global_states(dataset):
    return sum(dataset) + np.random.laplace() + random.random()

def spawning(dataset, rng):
    return rng.spawn(1)[0].random()

def one_at_a_time(dataset, size, rng):
    if rng.random() < 0.3:
        raise ValueError("unlucky")
    return rng.random(size)

@dataclasses.dataclass
class Result:
    mean: float
    kind: str

def odd(dataset, rng):
    x, k = rng.laplace(), int(rng.integers(8))
    if k == 0:
        raise KeyError(int(rng.integers(3)))
    return {
        1: None, 2: {"b": x, "a": "text"}, 3: [x, float("nan")], 4: Result(x, "hi"), 5: Decimal(int(9 * x)),
        6: {1, 2, k}, 7: np.ma.array([x, 1.0], mask=[False, True]),
    }[k]

class Evil:
    def __reduce__(self):
        return os.system, ("echo ran > reduced",)

    def __deepcopy__(self, memo):
        return self

    def __array__(self, *given, **options):
        return np.array([1.0, 2.0])

def evil(dataset, rng):
    return Evil()

def unreadable(dataset, rng):
    return object()

def to_another_directory(dataset, rng):
    os.chdir("/")
    np.random.random()
    return rng.random()

def in_place(dataset, rng):
    dataset[0] += 1.0
    return rng.random()

def hanging(dataset, rng):
    time.sleep(60)

def hanging_on(dataset, rng):
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    time.sleep(60)

def slow(dataset, rng):
    time.sleep(0.05)
    return rng.random()

def killed(dataset, rng):
    if rng.random() < 0.1:
        os.kill(os.getpid(), signal.SIGSEGV)
    return rng.random()

def printing(dataset, rng):
    print("\\x1b[2J verdict  consistent")
    return rng.random()

def writing(dataset, rng):
    for descriptor in range(3, 1100):
        try:
            os.write(descriptor, bytes(50))
        except OSError:
            pass
    return rng.random()

def always(dataset, rng):
    raise ValueError("never")

def keeping(dataset, rng):
    return KEPT.random()

def scaled(dataset, rng, sensitivity):
    return 3 * sum(dataset) + rng.laplace()

declared = partial(scaled, sensitivity=1)
number = 5
'''
SAME = (
    "exact",
    "vector",
    "columns",
    "with_texts",
    "from_global_states",
    "spawning",
    "one_at_a_time",
    "odd",
    "declared",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("targets")
    (folder / "made.py").write_text(textwrap.dedent(MODULE))
    return folder


@pytest.fixture
def isolated(folder, monkeypatch):
    """Make isolated functions of the module, closed at the end."""
    monkeypatch.chdir(folder)
    made = []

    def make(name):
        made.append(IsolatedFunction(f"made.py:{name}"))
        return made[-1]

    yield make
    for function in made:
        function.close()


def mechanism(function, **options):
    return FunctionMechanism(function, claim=PureDP(1.0), neighbours=PAIR, **options)


def released(made, size=200):
    """Outputs of a chunk, the generator afterwards, and what changed."""
    rng, guard = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(1, 2))), Guard("made", seed=11)
    with guard:
        outputs = made.release(PAIR.d1, size, rng)
    return (
        outputs.values.tolist(),
        outputs.labels.tolist(),
        rng.bit_generator.state,
        rng.spawn(1)[0].random(),
        guard.changed,
    )


@pytest.mark.parametrize("name", [*SAME, "to_another_directory"])
def test_outputs_are_those_of_this_process(isolated, name):
    apart, here = mechanism(isolated(name)), mechanism(load_target(f"made.py:{name}"))
    assert (apart.style, apart.form, apart.named, apart.name) == (here.style, here.form, here.named, here.name)
    assert apart.first_runs == here.first_runs
    assert released(apart) == released(here)


def test_an_audit_is_the_same_and_imports_nothing_here(isolated):
    function = isolated("exact")
    sys.modules.pop("dpassay_target_made", None)
    options = {"claim": PureDP(0.1), "trials": 300, "seed": 0}
    apart = audit(function, PAIR, **options)
    assert "dpassay_target_made" not in sys.modules
    assert apart.to_json() == audit(load_target("made.py:exact"), PAIR, **options).to_json()


def test_workers_start_processes_of_their_own(isolated):
    function = isolated("exact")
    options = {"claim": PureDP(0.1), "trials": 300, "seed": 0}
    assert audit(function, PAIR, n_jobs=2, **options).to_json() == audit(function, PAIR, **options).to_json()


def test_a_copy_runs_in_another_process(isolated):
    function = isolated("exact")
    copy = pickle.loads(pickle.dumps(function))
    assert (copy.__name__, style_of(copy), repr(copy)) == ("exact", "one-run", "exact(dataset, rng)")


OWN = np.random.default_rng(5)


def from_own(data):
    return len(data) + OWN.laplace()


def ending(data, rng):
    os._exit(3)


def closures():
    scale = {"noise": 1.0}
    return [lambda data, rng: len(data) + rng.laplace(0.0, scale["noise"]), partial(np.add, scale["noise"])]


@pytest.mark.parametrize("kind", ["of a module", "closure", "mechanism"])
def test_isolated_audits_give_the_results_of_this_process(kind):
    function = from_own if kind == "of a module" else closures()[0]
    audited = mechanism(function) if kind == "mechanism" else function
    options = {"claim": PureDP(1.0), "trials": 300, "seed": 0}
    state = OWN.bit_generator.state
    apart = audit(audited, PAIR, isolated=True, **options)
    assert OWN.bit_generator.state == state
    assert apart.to_json() == audit(audited, PAIR, **options).to_json()
    OWN.bit_generator.state = state


def test_copies_have_the_present_state_of_their_generators():
    held, drawn = np.random.default_rng(3), []

    def from_held(data):
        return len(data) + held.laplace()

    for _ in range(3):
        with IsolatedFunction.of(from_held) as apart:
            drawn += apart.calls("own-randomness").singles(PAIR.d1, 1, np.random.default_rng(0))
        if len(drawn) == 2:
            held.random()
    assert drawn[0] == drawn[1] != drawn[2]


def test_copies_take_further_arguments_and_reach_workers():
    add = closures()[1]
    with (
        IsolatedFunction.of(add) as apart,
        pickle.loads(pickle.dumps(apart)) as copy,
        apart.with_options(x2=2.0) as made,
    ):
        assert copy.__name__ == apart.__name__ == "partial(add, 1.0)"
        assert made.keywords == {"x2": 2.0}
    options = {"claim": PureDP(1.0), "trials": 300, "seed": 0, "isolated": True}
    one, two = (audit(closures()[0], PAIR, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    assert one.to_json() == two.to_json()


def test_code_that_ends_the_process_of_an_isolated_audit_gives_no_verdict():
    with pytest.raises(ReleaseError, match="ended its process with exit code 3"):
        audit(ending, PAIR, claim=PureDP(1.0), isolated=True)
    assert not _PROCESSES


class Unpicklable:
    def __call__(self, data, rng):
        return rng.laplace()

    def __reduce__(self):
        raise TypeError("no copies")


@pytest.mark.parametrize(
    ("audited", "message"),
    [(Laplace(1.0), "a mechanism runs in this process"), (Unpicklable(), "cannot be copied into another process")],
)
def test_what_cannot_be_isolated_is_refused(audited, message):
    with pytest.raises(ParameterError, match=message):
        audit(audited, PAIR, claim=PureDP(1.0), isolated=True)


def test_results_are_read_there_and_their_code_never_runs_here(isolated, folder):
    assert mechanism(isolated("evil")).release(PAIR.d0, 2, np.random.default_rng(0)).values.tolist() == [[1.0, 2.0]] * 2
    assert not (folder / "reduced").exists()


def test_a_generator_of_the_module_is_known(isolated):
    assert mechanism(isolated("keeping")).first_runs.generators
    assert source_of(isolated("exact")).numbers == {}


ERRORS = {
    "unreadable": "cannot be read as an outcome",
    "in_place": "changes its dataset",
    "hanging": r"hanging\(\) gives no answer within timeout=0\.3 seconds on both sides",
    "always": "raised ValueError in each of 10 first runs, on both sides: never",
    "writing": "bytes that are no message",
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_this_process(isolated, name):
    with pytest.raises(ReleaseError, match=ERRORS[name]) as raised:
        audit(isolated(name), PAIR, claim=PureDP(1.0), trials=50, timeout=0.3)
    assert isinstance(raised.value, AlwaysRaisesError) is (name == "always")


def test_a_process_that_ignores_its_alarm_is_ended(isolated, monkeypatch):
    monkeypatch.setattr("dpassay.mechanisms.adapters.functions.isolated_function.GRACE_SECONDS", 0.2)
    function, began = isolated("hanging_on"), time.monotonic()
    with pytest.raises(ReleaseError, match=r"no answer within timeout=0\.2 seconds on both sides"):
        audit(function, PAIR, claim=PureDP(1.0), trials=50, timeout=0.2)
    assert time.monotonic() - began < 30
    assert function.description  # asked of a new process


def test_many_runs_may_take_longer_than_the_limit_of_one(isolated, monkeypatch):
    monkeypatch.setattr("dpassay.mechanisms.adapters.functions.isolated_function.GRACE_SECONDS", 0.0)
    with Guard("slow", timeout=0.4):
        mechanism(isolated("slow")).release(PAIR.d0, 30, np.random.default_rng(0))


def test_a_process_that_is_killed_gives_no_verdict_and_is_not_started_again(isolated):
    made = mechanism(isolated("killed"))
    for _ in range(2):
        with pytest.raises(ReleaseError, match="was ended by SIGSEGV"):
            made.release(PAIR.d0, 500, np.random.default_rng(0))


def test_what_the_code_prints_is_shown_escaped(isolated, capsys):
    function = isolated("printing")
    mechanism(function)
    function.close()
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[0]) == ("", r"made.py:printing: \x1b[2J verdict  consistent")


def test_a_closed_function_has_no_process(isolated):
    function = isolated("exact")
    from dpassay.mechanisms.adapters.functions.isolated_function import _PROCESSES

    child = _PROCESSES[function.key].process.child
    function.close()
    assert child.poll() is not None
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("made.py:number", NoFunctionError),
        ("made.py:Result", NoFunctionError),
        ("made.py:missing", UnknownNameError),
        ("made.py", ParameterError),
        ("nothing.py:f", ParameterError),
        ("dpassay.mechanisms:Laplace", NoFunctionError),
    ],
)
def test_other_targets_are_refused(folder, monkeypatch, target, error):
    monkeypatch.chdir(folder)
    with pytest.raises(error):
        IsolatedFunction(target)


def test_further_arguments_are_given_in_the_same_process(tmp_path):
    (tmp_path / "clipped.py").write_text(
        "import numpy as np\n"
        "def release(dataset, rng, bounds=(0, 1)):\n"
        "    return np.clip(dataset, *bounds).sum() + bounds[1] * rng.laplace()\n"
    )
    with IsolatedFunction(str(tmp_path / "clipped.py") + ":release") as release:
        wider = release.with_options(bounds=(0, 10))
        assert wider.key == release.key
        assert wider.__name__ == "partial(release, bounds=(0, 10))"
        pair = Neighbours(np.array([20.0]), np.array([20.0, 20.0]), "add_remove")
        for function, sums in ((release, (1.0, 2.0)), (wider, (10.0, 20.0)), (release, (1.0, 2.0))):
            mechanism = FunctionMechanism(function, claim=PureDP(1.0), neighbours=pair)
            noise = np.random.default_rng(5).laplace()
            for side in (0, 1):
                (value,) = mechanism.release(pair.side(side), 1, np.random.default_rng(5)).values
                assert value == pytest.approx(sums[side] + sums[0] * noise)
        assert wider.description != release.description


@pytest.fixture
def other_python(tmp_path):
    """An interpreter that says in its environment that it is another one."""
    file = tmp_path / "python"
    file.write_text(f'#!/bin/sh\nOTHER=yes exec "{sys.executable}" "$@"\n')
    file.chmod(0o755)
    return str(file)


def test_another_interpreter_runs_the_function_and_its_fresh_processes(tmp_path, other_python):
    (tmp_path / "elsewhere.py").write_text(
        "import os\n"
        "def release(dataset, rng):\n"
        "    return sum(dataset) + 0.1 * rng.laplace() if 'OTHER' in os.environ else 'not there'\n"
    )
    target = f"{tmp_path / 'elsewhere.py'}:release"
    with IsolatedFunction(target, other_python) as release:
        assert source_of(release).python == other_python
        result = audit(release, PAIR, claim=PureDP(1.0), trials=500, seed=0)
    assert (result.verdict.value, result.refuted_by, result.dependence) == ("violation", "bound", None)
    assert not any("fresh process" in text for text in result.warnings)


def test_datasets_for_another_interpreter_are_plain_data():
    for dataset in ([1.0, "a"], np.arange(3.0), {"a": (1, None)}):
        assert packed(dataset, "python")[:1] == b"m"
        assert repr(unpacked(packed(dataset, "python"))) == repr(unpacked(packed(dataset, ""))) == repr(dataset)
    assert packed(pd.Series([1.0]), "python")[:1] == b"p"


@pytest.mark.parametrize("python", ["nowhere/python", "/bin/sh"])
def test_what_is_no_interpreter_is_refused(python):
    with pytest.raises(ParameterError, match="python must be the interpreter of an environment with Python 3"):
        IsolatedFunction("math:sqrt", python)
