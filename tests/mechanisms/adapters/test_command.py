"""Any executable as a mechanism."""

import shlex
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dpassay.audit import audit
from dpassay.mechanisms import Neighbours, PureDP
from dpassay.mechanisms.adapters.command import Command, PlainCommand
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.core import AlwaysRaisesError, ParameterError, ReleaseError

COIN = """
import json, random, sys
asked = json.load(sys.stdin)
rng = random.Random(asked["seed"])
for _ in range(asked["size"]):
    print(sum(asked["dataset"]) + rng.random())
"""


def program(code, **options):
    return Command(shlex.join([sys.executable, "-c", code]), **options)


def call(code, dataset=(1, 2), size=3, seed=0, **options):
    return program(code, **options)(dataset, size, np.random.default_rng(seed))


def test_it_gets_dataset_size_and_seed_and_gives_one_outcome_a_line():
    outcomes = call(COIN, dataset=np.array([1, 2]), size=5)
    assert len(outcomes) == 5
    assert all(3 <= outcome < 4 for outcome in outcomes)


def test_the_seed_comes_from_the_generator():
    assert call(COIN, seed=1) == call(COIN, seed=1)
    assert call(COIN, seed=1) != call(COIN, seed=2)


def test_every_kind_of_json_is_an_outcome():
    lines = ["1", "[1, 2]", '{"a": 1}', '"text"', "null", "NaN", ""]
    outcomes = call(f"print({chr(10).join(lines)!r})", size=6)
    assert outcomes[:5] == [1, [1, 2], {"a": 1}, "text", None]
    assert outcomes[5] != outcomes[5]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print(1)", r"was asked for size=3 runs and wrote 1 line: expected one per run"),
        ("print('x\\n' * 3)", r"wrote 'x', which is not JSON"),
        ("import sys; sys.exit('out of memory')", r"ended with exit code 1\. The end of its stderr: out of memory"),
    ],
)
def test_a_program_that_fails_is_refused_with_what_it_said(code, message):
    with pytest.raises(ReleaseError, match=message):
        call(code)


def test_a_program_that_does_not_exist_is_refused():
    with pytest.raises(ReleaseError, match="'no-such-program' cannot be started: No such file"):
        Command("no-such-program")([1], 1, np.random.default_rng(0))


def test_a_program_that_hangs_is_stopped():
    with pytest.raises(ReleaseError, match=r"took longer than timeout=0\.2 seconds"):
        call("import time; time.sleep(30)", timeout=0.2)


@pytest.mark.parametrize(("line", "message"), [("", "but is empty"), ("echo 'x", "No closing quotation")])
def test_a_command_line_that_is_none_is_refused(line, message):
    with pytest.raises(ParameterError, match=message):
        Command(line)


def test_a_program_becomes_a_mechanism_and_its_own_errors_stay_readable():
    pair = Neighbours([1, 2], [1, 2, 3], "add_remove")
    mechanism = FunctionMechanism(program(COIN), claim=PureDP(1.0), neighbours=pair, style="many-runs")
    assert mechanism.release(pair.d1, 7, np.random.default_rng(0)).values.shape == (7,)
    with pytest.raises(ReleaseError, match="which is not JSON"):
        FunctionMechanism(program("print('x\\n' * 2)"), claim=PureDP(1.0), neighbours=pair, style="many-runs")


def test_a_child_that_outlives_its_program_is_ended_without_delay(tmp_path):
    left = tmp_path / "left"
    code = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"open({str(left)!r}, 'w').write(str(p.pid)); print('1\\n' * 3)"
    )
    assert call(code, timeout=60) == [1, 1, 1]
    assert _ends(int(left.read_text()))


def test_children_of_a_program_that_hangs_are_ended_with_it(tmp_path):
    left = tmp_path / "left"
    code = (
        "import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"open({str(left)!r}, 'w').write(f'{{p.pid}}\\n'); time.sleep(600)"
    )
    for timeout in (1, 10, 100):
        with pytest.raises(ReleaseError, match=f"took longer than timeout={timeout} seconds"):
            call(code, timeout=timeout)
        if left.exists() and left.read_text().endswith("\n"):
            break  # on a busy machine a second may not be enough to start a child
    assert _ends(int(left.read_text()))


def _ends(process):
    """Whether a process is gone, or a zombie that nobody has asked about, within two minutes."""
    for _ in range(1200):
        try:
            if "\nState:\tZ" in Path(f"/proc/{process}/status").read_text():
                return True
        except OSError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.stdout.buffer.write(b'\\xff\\n' * 3)", "wrote output that is not UTF-8"),
        ("print('[' * 100_000)", "which is not JSON"),
        ("print('9' * 5_000)", "which is not JSON"),
        ("import sys; sys.stderr.buffer.write(b'\\xff' * 10_000); sys.exit(3)", "ended with exit code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended with exit code -9"),
    ],
)
def test_what_no_reader_expects_is_refused(code, message):
    with pytest.raises(ReleaseError, match=message):
        call(code, size=1)


def test_lines_end_where_json_has_them_end():
    assert call("print('\"a\\u2028b\"')", size=1) == ["a\u2028b"]


# --- programs that know nothing of the library -----------------------------------------------------------------------

AWK_MEAN = (
    'awk \'BEGIN {srand(ENVIRON["DPASSAY_SEED"] + 0)} {total += $1} END {for (i = 0; i < ENVIRON["DPASSAY_RUNS"]; i++) '
    "{u = rand() - 0.5; print total - SCALE * (u < 0 ? -1 : 1) * log(1 - 2 * (u < 0 ? -u : u) + 1e-300)}}'"
)
PAIR = Neighbours(np.array([1.0, 1.0]), np.array([1.0, 1.0, 1.0]), "add_remove")


def plain(line, dataset=(1, 2), size=3, **options):
    return PlainCommand(line, **options)(dataset, size, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("dataset", "text"),
    [
        (np.array([1.5, 2.0]), "1.5\n2.0\n"),
        (np.array([[1, 2], [3, 4]]), "1 2\n3 4\n"),
        (["al", "bob"], "al\nbob\n"),
        (3.5, "3.5\n"),
        ([], ""),
        ([{"age": 3}], '{"age": 3}\n'),
        ([("al", 3)], '["al", 3]\n'),
    ],
)
def test_a_plain_program_reads_one_record_a_line(tmp_path, dataset, text):
    seen = tmp_path / "seen"
    assert plain(f"sh -c 'tee {seen} | wc -l'", dataset, 1) == [float(text.count("\n"))]
    assert seen.read_text() == text


def test_it_writes_numbers_vectors_json_or_any_text():
    lines = ["3.5", "1 2", "1, 2.5", "[1, null]", '{"a": 1}', "nan", "too few", "-inf"]
    result = plain(shlex.join(["printf", "%s\\n", *lines]), size=len(lines))
    assert result[:5] == [3.5, [1.0, 2.0], [1.0, 2.5], [1, None], {"a": 1}]
    assert np.isnan(result[5])
    assert result[6:] == ["too few", -np.inf]


def test_a_program_is_started_until_there_are_enough_lines():
    assert plain("echo 7", size=3) == [7, 7, 7]
    assert plain("sh -c 'echo 1; echo 2'", size=3) == [1, 2, 1]
    assert plain("sh -c 'seq $DPASSAY_RUNS'", size=3) == [1, 2, 3]
    seeds = plain("sh -c 'echo $DPASSAY_SEED'", size=5)
    assert len(set(seeds)) == 5
    assert seeds == plain("sh -c 'echo $DPASSAY_SEED'", size=5)


def test_a_start_that_fails_is_a_release_and_so_is_silence():
    result = FunctionMechanism(
        PlainCommand("sh -c 'read first; read second && exit 3; echo 1'"),
        claim=PureDP(1.0),
        neighbours=Neighbours([1], [1, 2], "add_remove"),
    )
    rng = np.random.default_rng(0)
    assert result.release([1], 2, rng).events is None
    assert set(result.release([1, 2], 2, rng).events) == {"raised ProgramFailed: exit code 3"}
    assert plain("true", size=2) == ["", ""]
    assert plain("sh -c 'kill -9 $$'", size=1)[0].message == "signal 9"


def test_a_program_that_always_fails_or_hangs_is_an_error():
    with pytest.raises(AlwaysRaisesError, match="first runs failed on both sides: raised ProgramFailed: exit code 4"):
        FunctionMechanism(PlainCommand("sh -c 'exit 4'"), claim=PureDP(1.0), neighbours=PAIR)
    with pytest.raises(ReleaseError, match=r"took longer than timeout=0\.2 seconds"):
        plain("sleep 60", timeout=0.2)
    with pytest.raises(ReleaseError, match="cannot be started"):
        plain("no-such-program-anywhere")


@pytest.mark.parametrize(("scale", "verdict"), [("1", "consistent"), ("0.2", "violation")])
def test_a_script_of_awk_is_audited(scale, verdict, without_power):
    script = PlainCommand(AWK_MEAN.replace("SCALE", scale))
    assert audit(script, PAIR, claim=PureDP(1.0), trials=2_000, attack="threshold", seed=0).verdict.value == verdict
