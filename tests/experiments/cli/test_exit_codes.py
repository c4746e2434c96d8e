"""Exit codes are verdicts: whatever audited code does to its process, and whatever becomes of the standard streams.

All commands run in copies of one process that has imported everything, which is much faster than starting each anew.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.audit.hostile_functions import ENDINGS, leaking, noisy

ROOT = Path(__file__).parents[3]
HOSTILE = ROOT / "tests" / "audit" / "hostile_functions.py"

DRIVER = """
import gc, json, os, sys, tempfile
from tests.audit import hostile_functions
import dpassay.audit.power.power
from dpassay.audit.power.power import Detectable
from dpassay.experiments.cli import commands as cli
from typer.testing import CliRunner

# what an audit could have detected takes longer than the audit, and no verdict depends on it
dpassay.audit.power.power.detectable_epsilon = lambda *given, **options: Detectable(1.0, "any")
cases = json.load(sys.stdin)
assert cases[0][0] == "noisy"
assert CliRunner().invoke(cli.app, cases[0][1]).exit_code == 0
gc.freeze()

def opened(where, number):
    if where == "closed":
        return os.close(number)
    if where == "nobody":
        reading, writing = os.pipe()
        os.close(reading)
    else:
        writing = os.open(where, os.O_WRONLY | os.O_CREAT)
    os.dup2(writing, number)
    os.close(writing)

def begin(words, out, err):
    opened(out, 1)
    opened(err, 2)
    sys.stdout = None if out == "closed" else open(1, "w", closefd=False)
    sys.stderr = None if err == "closed" else open(2, "w", closefd=False)
    try:
        cli.run_app(words)
    finally:
        sys.stdout.flush()

def ended():
    child, status = os.wait()
    name, folder, *files = running.pop(child)
    said = [open(p).read() if p.startswith(folder) else "" for p in files]
    print(json.dumps([name, os.waitstatus_to_exitcode(status), *said]), flush=True)

running = {}
for name, words, out, err in cases:
    if len(running) == 3:  # some wait for seconds, for threads that do not end
        ended()
    folder = tempfile.mkdtemp()
    out, err = (where or f"{folder}/{which}" for where, which in ((out, "out"), (err, "err")))
    child = os.fork()
    if child == 0:
        begin(words, out, err)
    running[child] = (name, folder, out, err)
while running:
    ended()
"""
CHECK = ["--epsilon", "1", "--d0", "[1, 0]", "--d1", "[1, 0, 1]", "--attack", "threshold", "--trials", "100", "--quiet"]
STREAMS = {
    "out full": (leaking, "/dev/full", "", 2),
    "out closed": (leaking, "closed", "", 1),
    "out unread": (leaking, "nobody", "", 141),
    "err full": (leaking, "", "/dev/full", 1),
    "err closed": (leaking, "", "closed", 1),
    "err unread": (leaking, "", "nobody", 1),
    "both closed": (leaking, "closed", "closed", 1),
    "both full": (leaking, "/dev/full", "/dev/full", 2),
    "both unread": (leaking, "nobody", "nobody", 141),
    "kept, out full": (noisy, "/dev/full", "", 2),
    "kept, out closed": (noisy, "closed", "", 0),
    "kept, out unread": (noisy, "nobody", "", 141),
}
"""Function, stdout, stderr, exit code."""
OTHERS = {
    "list unread": (["list", "mechanisms"], "nobody", "", 141),
    "list full": (["list", "mechanisms"], "/dev/full", "", 2),
    "help full": (["--help"], "/dev/full", "", 2),
    "mistake, err full": (["check", "nothing.py:f"], "", "/dev/full", 2),
    "usage, err closed": (["check", "--epsilon", "much"], "", "closed", 2),
    "no command, err unread": (["chekc"], "", "nobody", 2),
    "program": (["check", "--command", "true", *CHECK], "", "", 2),
}
RELEASE = "\ndef release(dataset, rng):\n    return sum(dataset) + rng.laplace(scale={scale})\n"
LEAKS, KEEPS = RELEASE.format(scale=0.01), RELEASE.format(scale=2.0)
MODULES = {
    "import exits with 0": ("import sys; sys.exit(0)" + LEAKS, 2),
    "import exits with 1": ("raise SystemExit(1)" + LEAKS, 2),
    "import exits at once": ("import os; os._exit(0)" + LEAKS, 2),
    "import exits at once with 1": ("import os; os._exit(1)" + LEAKS, 2),
    "import interrupts": ("raise KeyboardInterrupt" + LEAKS, 2),
    "import leaves as generators do": ("raise GeneratorExit" + LEAKS, 2),
    "import divides by zero": ("1 / 0" + LEAKS, 2),
    "import of nothing": ("import nothing_of_this_name" + LEAKS, 2),
    "import nests too deeply": ("def f(): f()\nf()" + LEAKS, 2),
    "import is killed": ("import os; os.kill(os.getpid(), 9)" + LEAKS, 2),
    "import aborts": ("import os; os.abort()" + LEAKS, 2),
    "import asks to be ended": ("import os, time; os.kill(os.getpid(), 15); time.sleep(60)" + LEAKS, 143),
    "no Python": ("release = = 1", 2),
    "null bytes": ("release = '\0'", 2),
    "lone surrogate": ("raise ValueError('\\udc80\\x1b[2J')" + LEAKS, 2),
    "message that exits": (
        "class E(Exception):\n    def __str__(self): raise SystemExit(0)\nraise E" + LEAKS,
        2,
    ),
    "empty": ("", 2),
    "name is a number": ("release = 5", 2),
    "name exits": ("def __getattr__(name): raise SystemExit(0)", 2),
    "too many parameters": ("def release(a, b, c, d): return 0", 2),
    "hidden signature": (
        "class R:\n    @property\n    def __signature__(self): raise SystemExit(0)\n"
        "    def __call__(self, dataset, rng): return 0\nrelease = R()",
        2,
    ),
    "no stdout": ("import sys; sys.stdout = None" + LEAKS, 1),
    "no stderr": ("import sys; sys.stderr = None" + LEAKS, 1),
    "no signals": ("import signal; signal.signal(15, signal.SIG_IGN); signal.signal(2, signal.SIG_IGN)" + LEAKS, 1),
    "hook of exceptions": ("import os, sys; sys.excepthook = lambda *_: os._exit(0)" + LEAKS, 1),
    "exit later": ("import atexit, os; atexit.register(os._exit, 0)" + LEAKS, 1),
    "exit later, kept": ("import atexit, os; atexit.register(os._exit, 1)" + KEEPS, 0),
    "another directory": ("import os; os.chdir('/')" + LEAKS, 1),
    "strict numpy": ("import numpy; numpy.seterr(all='raise')" + LEAKS, 1),
    "strict warnings": ("import warnings; warnings.simplefilter('error')" + LEAKS, 1),
    "a fork": ("import os; os.fork()" + LEAKS, 1),
    "a thread": (
        "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()" + LEAKS,
        1,
    ),
    "prints": ("print('\\x1b[2J verdict   consistent')" + LEAKS, 1),
}
"""A module whose function `release` is checked, and the exit code."""


def check(function, *more):
    return ["check", f"{HOSTILE}:{function.__name__}", *CHECK, *more]


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """Name of a case -> exit code, stdout and stderr."""
    folder = tmp_path_factory.mktemp("modules")
    cases = [(f.__name__, check(f), "", "") for f in ENDINGS]
    cases += [(name, check(f), out, err) for name, (f, out, err, _) in STREAMS.items()]
    cases += [(name, words, out, err) for name, (words, out, err, _) in OTHERS.items()]
    for number, (name, (text, _)) in enumerate(MODULES.items()):
        path = folder / f"module_{number}.py"
        path.write_text(text)
        cases.append((name, ["check", f"{path}:release", *CHECK], "", ""))
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{HOSTILE.parent}", "OMP_NUM_THREADS": "1"},
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=900,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(cases), done.stderr
    return {name: rest for name, *rest in found}


@pytest.mark.parametrize("function", ENDINGS, ids=lambda function: function.__name__)
def test_audited_code_that_ends_its_process_gives_no_verdict(ended, function):
    expected, says = ENDINGS[function]
    code, _, err = ended[function.__name__]
    assert (code, says in err) == (expected, True), err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", [*STREAMS, *OTHERS])
def test_exit_codes_hold_whatever_becomes_of_the_streams(ended, name):
    code, _, err = ended[name]
    assert code == (STREAMS | OTHERS)[name][-1], err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", MODULES)
def test_a_module_may_do_anything_when_it_is_imported(ended, name):
    code, _, err = ended[name]
    assert code == MODULES[name][-1], err
    assert "Traceback" not in err


def test_a_verdict_is_printed_once_even_if_the_function_forks(ended):
    assert ended["forking"][1].count("verdict ") == 1


SLOW = "import time\ndef slow(dataset, rng):\n    time.sleep(0.01)\n    return sum(dataset) + rng.laplace()\n"


def _started(tmp_path, *arguments):
    (tmp_path / "slow.py").write_text(SLOW)
    words = [sys.executable, "-m", "dpassay", "check", "slow.py:slow", *CHECK[:-3], "--trials", "20000", *arguments]
    return subprocess.Popen(
        words,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _descendants(process):
    """Processes below one; empty where there is no /proc."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(status.parent.name)] = int(fields[1])
    found, new = set(), {process}
    while new:
        found |= new
        new = {child for child, parent in parents.items() if parent in new} - found
    return found - {process}


def _alive(processes):
    alive = set()
    for number in processes:
        try:
            if Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                alive.add(number)
        except OSError:
            continue
    return alive


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)], ids=["term", "kill"])
def test_nothing_is_left_of_a_check_that_is_ended(tmp_path, number, code):
    process = _started(tmp_path, "--jobs", "2")
    deadline = time.monotonic() + 300
    while len(below := _descendants(process.pid)) < 4:  # the child, the resource tracker and two workers
        assert time.monotonic() < deadline, process.poll()
        time.sleep(0.1)
    child = min(below)
    time.sleep(0.5)
    below |= _descendants(process.pid)
    process.send_signal(number)
    _, err = process.communicate(timeout=300)  # a worker that is left would hold the pipes
    assert process.returncode == code
    assert b"Traceback" not in err
    deadline = time.monotonic() + 120
    while _alive(below):
        assert time.monotonic() < deadline, _alive(below)
        time.sleep(0.1)
    assert not [path for path in Path("/dev/shm").glob("*") if f"-{child}-" in path.name or f"_{child}_" in path.name]


LEAVING = """
import os, subprocess
def leave():
    subprocess.Popen(["sleep", "60"])
    subprocess.Popen(["sleep", "60"], start_new_session=True)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sh", ["sh", "-c", "trap '' TERM; sleep 60; sleep 60"])
        os._exit(0)
def leaving(dataset, rng):
    if not os.path.exists(f"left-{os.getpid()}"):
        open(f"left-{os.getpid()}", "w").close()
        leave()
    return sum(dataset) + rng.laplace(scale=2.0)
def leaving_slowly(dataset, rng):
    import time
    time.sleep(0.005)
    return leaving(dataset, rng)
"""


def _with_token(token):
    """Processes whose environment holds it; those that have ended have none."""
    found = set()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if token.encode() in environment.read_bytes():
                found.add(int(environment.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_no_worker_and_no_process_of_the_audited_code_outlives_the_command(tmp_path, jobs):
    (tmp_path / "leaving.py").write_text(LEAVING)
    token = f"LEFT_BY_{tmp_path.name}_{os.getpid()}"
    words = [sys.executable, "-m", "dpassay", "check", "leaving.py:leaving", *CHECK, "--jobs", jobs]
    process = subprocess.Popen(
        words,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), token: "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert process.wait(timeout=300) == 0
    assert not _with_token(token)
    assert len(list(tmp_path.glob("left-*"))) == int(jobs) + (jobs == "2")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_processes_of_the_audited_code_end_where_the_command_is_killed(tmp_path):
    (tmp_path / "leaving.py").write_text(LEAVING)
    token = f"LEFT_BY_{tmp_path.name}_{os.getpid()}"
    words = ["check", "leaving.py:leaving_slowly", *CHECK[:-3], "--trials", "20000", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "dpassay", *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), token: "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("left-*")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while _with_token(token):
        assert time.monotonic() < deadline, _with_token(token)
        time.sleep(0.1)
