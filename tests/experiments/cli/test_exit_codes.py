"""Exit codes for audited code that changes or ends its process, and for standard streams that fail.

Most commands run in forks of one process that has imported the library, which is faster than to start a process each.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.audit.hostile_functions import ENDINGS, leaking, noisy

from dpassay.experiments.cli import supervisor

ROOT = Path(__file__).parents[3]
HOSTILE = ROOT / "tests" / "audit" / "hostile_functions.py"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}

DRIVER = """
import gc, json, os, sys, tempfile
from tests.audit import hostile_functions
import dpassay.audit.power.power
from dpassay.audit.power.power import Detectable
from dpassay.experiments.cli import check, commands as cli, supervisor
from dpassay.audit.games import diagnostics
from dpassay.audit.randomness import experiment
from typer.testing import CliRunner

# the power takes longer than the audit, and no verdict depends on it
dpassay.audit.power.power.detectable_epsilon = lambda *given, **options: Detectable(1.0, "any")
supervisor.LAST_SECONDS = 0.5
dpassay.audit.trials.plan.CHUNKS_PER_SIDE = 4
experiment.N_FEW = experiment.MAX_PROCESSES = diagnostics.N_FEW = 2  # each imports all hostile functions
cases = json.load(sys.stdin)
audit, results = check.audit, {}

def audit_once(mechanism, *given, **options):
    # two functions are audited once, since their results do not depend on the streams
    name = getattr(mechanism.function, "__name__", "")
    if name not in ("noisy", "leaking"):
        return audit(mechanism, *given, **options)
    if name not in results:
        results[name] = audit(mechanism, *given, **options)
    return results[name]

check.audit = audit_once
for (name, words, _, _), code in zip(cases, (0, 1)):
    assert CliRunner().invoke(cli.app, words).exit_code == code, name
assert list(results) == ["noisy", "leaking"]
CliRunner().invoke(cli.app, ["list", "mechanisms"])  # imports what it lists
gc.freeze()

def redirect(where, number):
    if where == "closed":
        return os.close(number)
    if where == "unread":
        reading, writing = os.pipe()
        os.close(reading)
    else:
        writing = os.open(where, os.O_WRONLY | os.O_CREAT)
    os.dup2(writing, number)
    os.close(writing)

def begin(words, out, err):
    redirect(out, 1)
    redirect(err, 2)
    sys.stdout = None if out == "closed" else open(1, "w", closefd=False)
    sys.stderr = None if err == "closed" else open(2, "w", closefd=False)
    try:
        cli.run_app(words)
    finally:
        sys.stdout.flush()

def report_ended():
    child, status = os.wait()
    name, folder, *files = running.pop(child)
    texts = [open(p).read() if p.startswith(folder) else "" for p in files]
    print(json.dumps([name, os.waitstatus_to_exitcode(status), *texts]), flush=True)

running = {}
for name, words, out, err in cases:
    if len(running) == 3:  # some wait for seconds, for threads that do not end
        report_ended()
    folder = tempfile.mkdtemp()
    out, err = (where or f"{folder}/{which}" for where, which in ((out, "out"), (err, "err")))
    child = os.fork()
    if child == 0:
        try:
            begin(words, out, err)
        except SystemExit as end:
            if out.startswith(folder) and err.startswith(folder):
                sys.stderr.flush()
                os._exit(end.code)  # streams that are files need no orderly exit, which is slow
            raise
    running[child] = (name, folder, out, err)
while running:
    report_ended()
"""
CHECK = ["--epsilon", "1", "--d0", "[1, 0]", "--d1", "[1, 0, 1]", "--attack", "threshold", "--trials", "100", "--quiet"]
STREAMS = {
    "out full": (leaking, "/dev/full", "", 2),
    "out closed": (leaking, "closed", "", 1),
    "out unread": (leaking, "unread", "", 141),
    "err full": (leaking, "", "/dev/full", 1),
    "err closed": (leaking, "", "closed", 1),
    "err unread": (leaking, "", "unread", 1),
    "both closed": (leaking, "closed", "closed", 1),
    "both full": (leaking, "/dev/full", "/dev/full", 2),
    "both unread": (leaking, "unread", "unread", 141),
    "kept, out full": (noisy, "/dev/full", "", 2),
    "kept, out closed": (noisy, "closed", "", 0),
    "kept, out unread": (noisy, "unread", "", 141),
}
"""Function, stdout, stderr, exit code."""
OTHERS = {
    "list unread": (["list", "mechanisms"], "unread", "", 141),
    "list full": (["list", "mechanisms"], "/dev/full", "", 2),
    "help full": (["--help"], "/dev/full", "", 2),
    "mistake, err full": (["check", "nothing.py:f"], "", "/dev/full", 2),
    "usage, err closed": (["check", "--epsilon", "much"], "", "closed", 2),
    "no command, err unread": (["chekc"], "", "unread", 2),
    "program": (["check", "--command", "true", *CHECK], "", "", 2),
}
RELEASE = "\ndef release(dataset, rng):\n    return sum(dataset) + rng.laplace(scale={scale})\n"
NULL_BYTES = """
import contextlib, os
for descriptor in range(3, 256):
    with contextlib.suppress(OSError):
        os.write(descriptor, bytes(1))
"""
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
    "import asks to be ended": ("import os, time; os.kill(os.getpid(), 15); time.sleep(60)" + LEAKS, 2),
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
    "null bytes to all descriptors": (NULL_BYTES + LEAKS, 1),
    "null bytes to all descriptors, then an end": (NULL_BYTES + "os._exit(0)" + LEAKS, 2),
    "prints": ("print('\\x1b[2J verdict   consistent')" + LEAKS, 1),
}
"""A module whose function `release` is checked, and the exit code."""


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
MODULES["processes are left"] = (LEAVING + "release = leaving\n", 0)
LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_{0}, ({1}, {1}))"
OF_EXIT_CODES = """
import dpassay.experiments.cli.application as module
module.exit_code_of = lambda *given, **options: 0
"""
CHEATS = {
    "no path": "import sys; sys.path.clear()",
    "no finders": "import sys; sys.meta_path.clear()",
    "no modules": "import sys; sys.modules.clear()",
    "no hook of exceptions": "import sys; sys.excepthook = None",
    "no files": LIMIT.format("NOFILE", 3),
    "little memory": LIMIT.format("AS", 200 * 2**20),
    "little time": LIMIT.format("CPU", 1),
    "no file sizes": LIMIT.format("FSIZE", 0),
    "no processes": LIMIT.format("NPROC", 0),
    "exit codes": OF_EXIT_CODES,
    "verdict": "import dpassay.audit.evidence.verdict as v; v.Verdict.VIOLATION._value_ = 'consistent'",
    "sys.exit": "import sys; sys.exit = lambda *given: __import__('os')._exit(0)",
    "os.write": "import os; w = os.write; os.write = lambda fd, b: w(fd, b[:-1] + bytes(1))",
    "no descriptors": "import os; os.closerange(3, 256)",
    "max": "import builtins; builtins.max = lambda *given, **options: 0",
    "log": "import math; math.log = lambda *given: 0.0",
    "closed stdout": "import sys; sys.stdout.close()",
    "hook of the audit": "import os, sys; sys.addaudithook(lambda event, _: os._exit(0) if event == 'open' else None)",
    "trace": "import os, sys; sys.settrace(lambda *given: os._exit(0))",
    "profile": "import sys; sys.setprofile(lambda *given: None)",
    "kills the parent": "import os; os.kill(os.getppid(), 9)",
    "no garbage collection": "import gc; gc.disable()",
}
"""Beginning of a module that changes its process, or more, so that its leak may not be reported."""
if os.geteuid() == 0:
    CHEATS |= {
        "another user": "import os; os.setuid(65534)",
        "another root": "import os, tempfile; os.chroot(tempfile.mkdtemp()); os.chdir('/')",
    }
WITHOUT_VERDICT = {"trace", "kills the parent"}
MODULES |= {name: (text + LEAKS, 2 if name in WITHOUT_VERDICT else 1) for name, text in CHEATS.items()}


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
    token = f"LEFT_BY_{folder}_{os.getpid()}"
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        cwd=folder,
        env=ENVIRONMENT | {"PYTHONPATH": os.pathsep.join([ENVIRONMENT["PYTHONPATH"], str(ROOT)]), token: "1"},
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=900,
    )
    endings = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(endings) == len(cases), done.stderr
    assert not _with_token(token), "a process outlives its command"
    assert len(_leaving(folder)) == 1
    return {name: rest for name, *rest in endings}


@pytest.mark.parametrize("function", ENDINGS, ids=lambda function: function.__name__)
def test_code_that_ends_its_process_gives_no_verdict(ended, function):
    expected, says = ENDINGS[function]
    code, _, err = ended[function.__name__]
    assert (code, says in err) == (expected, True), err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", [*STREAMS, *OTHERS])
def test_exit_codes_are_right_when_streams_fail(ended, name):
    code, _, err = ended[name]
    assert code == (STREAMS | OTHERS)[name][-1], err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", MODULES)
def test_exit_codes_are_right_whatever_an_import_does(ended, name):
    code, _, err = ended[name]
    assert code == MODULES[name][-1], err
    assert "Traceback" not in err


def test_a_verdict_is_printed_once_even_if_the_function_forks(ended):
    assert ended["forking"][1].count("verdict ") == 1


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize(("number", "code"), [(None, 0), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_no_process_outlives_a_command_with_workers(tmp_path, number, code):
    """The child, both workers and each of them again in processes that left their group and ignore SIGTERM."""
    (tmp_path / "leaving.py").write_text(LEAVING)
    token = f"LEFT_BY_{tmp_path.name}_{os.getpid()}"
    function, trials = ("leaving", "100") if number is None else ("leaving_slowly", "20000")
    words = ["check", f"leaving.py:{function}", *CHECK, "--trials", trials, "--jobs", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "dpassay", *words],
        cwd=tmp_path,
        env=ENVIRONMENT | {token: "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    if number is not None:
        _wait_until(lambda: len(_leaving(tmp_path)) == 3 or process.poll() is not None)
        process.send_signal(number)
    _, err = process.communicate(timeout=300)  # a process that is left would hold the pipe
    assert process.returncode == code, err
    assert b"Traceback" not in err
    _wait_until(lambda: number is None or not _with_token(token))
    assert not _with_token(token)
    assert len(processes := _leaving(tmp_path)) >= 2  # one worker may do all the work
    shared = [path.name for path in Path("/dev/shm").glob("*")]
    assert not [name for name in shared for pid in processes if f"-{pid}-" in name or f"_{pid}_" in name]


def _leaving(folder):
    """Return the processes that have run the function `leaving`."""
    return [path.name.removeprefix("left-") for path in folder.glob("left-*")]


def _wait_until(condition):
    deadline = time.monotonic() + 120
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)


def _with_token(token):
    """Return the processes whose environment contains the token; those that have ended have none."""
    processes = set()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if token.encode() in environment.read_bytes():
                processes.add(int(environment.parent.name))
    return processes


def test_an_alarm_after_the_end_of_a_child_is_no_error():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    supervisor._kill(child.pid)
