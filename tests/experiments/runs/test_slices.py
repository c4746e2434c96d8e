"""Slices of an experiment and their merge: the bytes of one run, and refusals of what does not belong together."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from tests.experiments.made_configs import EXAMPLES, GRADIENTS, STUDY
from typer.testing import CliRunner

from dpassay.audit.trials.plan import Slice
from dpassay.experiments.cli.commands import app
from dpassay.experiments.config.schema import Config
from dpassay.experiments.runs import run
from dpassay.experiments.runs.directory import RunDirectory
from dpassay.experiments.runs.slices import SliceRecord, merge, run_slice
from dpassay.mechanisms.core import ConfigError, FingerprintError, ParameterError, StoreError

SWEEP = """
seed = 3
[mechanism]
name = "laplace"
[audit]
trials = 2000
[sweep]
"mechanism.epsilon" = [0.5, 1.0]
"""
REFUTED = """
seed = 4
[mechanism]
name = "laplace"
epsilon = 2.0
[claim]
name = "pure"
epsilon = 0.5
[audit]
trials = 4000
stop = "anytime"
bounds = ["betting"]
"""
SECRETS = """
seed = 8
[mechanism]
name = "k-ary-randomized-response"
epsilon = 1.0
k = 4
[game]
name = "reconstruction"
n_rounds = 2000
"""
OWN = """
seed = 5
[mechanism]
name = "code_of_slices:release"
[claim]
name = "pure"
epsilon = 1.0
[neighbours]
d0 = [1.0]
d1 = [1.0, 1.0]
[audit]
trials = 640
"""
CODE = """
import os, time
import numpy as np

def release(dataset, rng):
    time.sleep(float(os.environ.get("SECONDS_A_RUN", 0)))
    return sum(dataset) + rng.laplace()

class Holder:
    def __init__(self):
        self.rng = np.random.default_rng()
    def __call__(self, dataset, rng):
        return sum(dataset) + self.rng.laplace()

stored = Holder()
"""
CONFIGS = {
    "sweep": SWEEP,
    "anytime": REFUTED,
    "secrets": SECRETS,
    "own": OWN,
    "quick": OWN + '[attack]\nname = "threshold"\n',
    "shadows": STUDY.replace("n_models = 8", "n_models = 12"),
    "references": EXAMPLES.replace(
        "n_canaries = 30", 'n_canaries = 30\nn_runs = 2\nn_references = 8\n[attack]\nname = "lira"'
    ),
    "single-runs": GRADIENTS.replace("= 400", "= 60") + '[sweep]\n"mechanism.noise_multiplier" = [4.0, 8.0]\n',
}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "code_of_slices.py").write_text(CODE)
    for name, text in CONFIGS.items():
        (tmp_path / f"{name}.toml").write_text(text)
    return tmp_path


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """The folder of two finished slices of `SECRETS`, and of the whole run."""
    folder = tmp_path_factory.mktemp("once")
    (folder / "secrets.toml").write_text(SECRETS)
    sliced(folder, "secrets", (1, 2), 2)
    run(folder / "secrets.toml", out=folder / "whole")
    return folder


@pytest.fixture
def parts(once, place):
    """Copies of both slices, which a test may change."""
    return [shutil.copytree(once / name, place / name) for name in ("secrets-1", "secrets-2")]


def allowed(place):
    return [str(place / "code_of_slices.py")]


def sliced(place, name, numbers, count, **options):
    return [
        run_slice(place / f"{name}.toml", Slice(number, count), out=place / f"{name}-{number}", **options)
        for number in numbers
    ]


def numbers(done):
    return numbers_in(done.directory)


def numbers_in(directory):
    return (directory / "results.json").read_bytes()


@pytest.mark.usefixtures("without_power", "few_chunks", "without_pictures")
@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "quick"])
def test_merged_slices_have_the_bytes_of_one_run(place, name):
    options = {"allow": allowed(place)} if name == "own" else {}
    whole = run(place / f"{name}.toml", out=place / "whole", **options)
    lines = []
    parts = sliced(place, name, (2, 3, 1), 3, **options)
    assert all(not (part / "results.json").exists() for part in parts)
    merged = merge(parts, place / "merged", report_line=lines.append, **options)
    assert numbers(merged) == numbers(whole)
    assert (merged.directory / "results.csv").read_bytes() == (whole.directory / "results.csv").read_bytes()
    chunks = [sorted(path.name for path in part.rglob("*.npz") if "pilot" not in path.name) for part in parts]
    if name not in ("sweep", "single-runs"):  # whose chunks of different audits have the same names
        assert len({*chunks[0], *chunks[1], *chunks[2]}) == sum(map(len, chunks))
    assert not [line for line in lines if "again" in line]


def test_each_chunk_is_in_exactly_one_slice():
    for n_audits, count, n_chunks in [(1, 1, 1), (1, 7, 3), (1, 100, 64), (3, 4, 58), (10, 3, 1), (7, 100, 58)]:
        seen = [0] * (n_audits * n_chunks)
        for number in range(1, count + 1):
            for audit in range(n_audits):
                share = Slice(number, count, audit, n_audits)
                positions = range(n_chunks)[share.of(n_chunks)]
                assert share.reaches or not positions
                for position in positions:
                    seen[audit * n_chunks + position] += 1
        assert set(seen) == {1}


def test_slices_differ_by_at_most_one_chunk_in_size():
    for count in (2, 5, 33, 100):
        sizes = [len(range(64)[Slice(number, count).of(64)]) for number in range(1, count + 1)]
        assert max(sizes) - min(sizes) <= 1


def test_missing_slices_are_named(place):
    parts = sliced(place, "secrets", (1, 4), 4)
    with pytest.raises(ParameterError, match=r"missing slices of 4: 2 and 3\."):
        merge(parts, place / "merged")
    assert not (place / "merged").exists()


def test_a_slice_that_is_there_twice_is_named(place, parts):
    shutil.copytree(parts[1], place / "copy")
    with pytest.raises(ParameterError, match=r"slice 2 \(.*secrets-2 and .*copy\) of 2 is there more than once"):
        merge([*parts, place / "copy"], place / "merged")


def test_a_slice_that_is_not_finished_is_named(place, parts):
    record = json.loads((parts[0] / "slice.json").read_text())
    (parts[0] / "slice.json").write_text(json.dumps(record | {"finished": False}))
    with pytest.raises(StoreError, match=r"slice 1 \(.*secrets-1\) is not finished"):
        merge(parts, place / "merged")


def test_slices_of_different_configurations_are_refused(place, parts):
    (place / "secrets.toml").write_text(SECRETS.replace("seed = 8", "seed = 9"))
    other = run_slice(place / "secrets.toml", Slice(2, 2), out=place / "other")
    with pytest.raises(FingerprintError, match=r"has another experiment than .*:\n  seed: .* has 8, it has 9"):
        merge([parts[0], other], place / "merged")


@pytest.mark.parametrize(("key", "value"), [("versions", {"numpy": "1.0"}), ("code", "0" * 64)])
def test_slices_of_different_versions_are_refused(place, parts, key, value):
    record = json.loads((parts[1] / "slice.json").read_text())
    of_key = record["derived_by"][key]
    record["derived_by"][key] = of_key | value if isinstance(value, dict) else value
    (parts[1] / "slice.json").write_text(json.dumps(record))
    with pytest.raises(FingerprintError, match=rf"not slices of one experiment(.|\n)*derived_by\.{key}"):
        merge(parts, place / "merged")


def test_a_merge_by_other_software_is_reported(place, parts, without_pictures):
    lines = []
    for part in parts:
        record = json.loads((part / "slice.json").read_text())
        record["derived_by"]["versions"]["numpy"] = "1.0"
        (part / "slice.json").write_text(json.dumps(record))
    merge(parts, place / "merged", report_line=lines.append)
    (line,) = [line for line in lines if "other software" in line]
    assert re.search(r'versions\.numpy: .*secrets-1 has "1\.0", this merge has', line)


def test_slices_of_different_numbers_are_refused(place, parts):
    other = run_slice(place / "secrets.toml", Slice(2, 3), out=place / "other")
    with pytest.raises(FingerprintError, match=r"count: .* has 2, .* has 3"):
        merge([parts[0], other], place / "merged")


@pytest.mark.usefixtures("few_chunks")
def test_slices_with_other_code_of_the_user_are_refused(place):
    first = sliced(place, "quick", (1,), 2, allow=allowed(place))
    (place / "code_of_slices.py").write_text(CODE + "# changed\n")
    second = sliced(place, "quick", (2,), 2, allow=allowed(place))
    with pytest.raises(FingerprintError, match=r"inputs\..*code_of_slices\.py"):
        merge([*first, *second], place / "merged", allow=allowed(place))


def test_a_damaged_chunk_of_a_slice_is_reported_and_run_again(place, parts, once, without_pictures):
    lines = []
    chunk = next(parts[0].rglob("evaluation-*.npz"))
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"x")
    assert numbers(merge(parts, place / "merged", report_line=lines.append)) == numbers_in(once / "whole")
    assert [line for line in lines if "is damaged" in line]


def test_trials_that_a_finished_slice_has_lost_are_reported(place, parts, once):
    shutil.rmtree(parts[1] / "trials")
    lines = []
    done = merge(parts, place / "merged", report_line=lines.append)
    assert [line for line in lines if "secrets-2 are not those of the finished slice" in line]
    assert not [line for line in lines if "secrets-1" in line]
    assert numbers(done) == numbers_in(once / "whole")


@pytest.mark.parametrize(
    ("key", "value"),
    [("number", [1]), ("number", True), ("number", 3), ("count", "2"), ("count", 2.0), ("count", 0), ("name", 5),
     ("inputs", None), ("derived_by", []), ("finished", "no"), ("trials", 1)],
)  # fmt: skip
def test_a_record_with_impossible_values_is_damaged(place, key, value):
    directory = RunDirectory(place / "slice")
    directory.claim(Config.load(place / "secrets.toml")[0])
    SliceRecord(1, 2, "secrets", {}, {}).write(directory)
    assert SliceRecord.read(directory).count == 2
    file = directory.path / "slice.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    with pytest.raises(StoreError, match=rf"slice\.json is damaged: the value of (number|{key}) is none of a slice"):
        SliceRecord.read(directory)


def test_missing_slices_of_a_huge_number_are_counted_at_once(place):
    (part,) = sliced(place, "secrets", (2,), 10**15)
    with pytest.raises(ParameterError, match=r"1, 3, .*, 20, 21 and 999,999,999,999,979 more"):
        merge([part], place / "merged")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[mechanism]\nname = "laplace"\nepsilon = 1.0\n[search]\ndomain = "answers x 1; norm inf"\n',
            r"\[search\] runs its audits one",
        ),
        (GRADIENTS, r"\[game\] has a single run"),
    ],
)
def test_what_cannot_be_sliced_says_so(place, text, message):
    (place / "other.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        run_slice(place / "other.toml", Slice(1, 2), out=place / "out")
    assert not (place / "out").exists()


def test_a_function_with_a_generator_of_its_own_cannot_be_sliced(place):
    (place / "own.toml").write_text(CONFIGS["quick"].replace("release", "stored"))
    with pytest.raises(ParameterError, match=r"generator of its own, and each slice would draw the same numbers"):
        run_slice(place / "own.toml", Slice(1, 2), out=place / "out", allow=allowed(place))


def test_the_directory_of_a_slice_is_neither_a_run_nor_another_slice(place, parts, once):
    part, whole = parts[0], shutil.copytree(once / "whole", place / "whole")
    with pytest.raises(StoreError, match=r"has a slice of an experiment, not a run"):
        run(place / "secrets.toml", out=part)
    with pytest.raises(FingerprintError, match=r"has slice 1/2, not 2/2"):
        run_slice(place / "secrets.toml", Slice(2, 2), out=part)
    with pytest.raises(StoreError, match=r"has a run without slices"):
        run_slice(place / "secrets.toml", Slice(1, 2), out=whole)
    with pytest.raises(StoreError, match=r"has no slice"):
        merge([whole], place / "merged")


def test_a_killed_slice_continues_from_its_chunks(place, without_power, without_pictures):
    whole = run(place / "quick.toml", out=place / "whole", allow=allowed(place))
    other = sliced(place, "quick", (1,), 2, allow=allowed(place))
    part = place / "killed"
    words = ["run", str(place / "quick.toml"), "--allow", *allowed(place), "--slice", "2/2", "--out", str(part)]
    environment = {**os.environ, "SECONDS_A_RUN": "0.01"}
    process = subprocess.Popen([sys.executable, "-m", "dpassay", *words], env=environment, start_new_session=True)
    while len(list(part.rglob("evaluation-*.npz"))) < 3:
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with pytest.raises(StoreError, match=r"slice 2 .* is not finished"):
        merge([*other, part], place / "merged", allow=allowed(place))
    store = part / "trials" / "audit"
    journal = (store / "journal.jsonl").read_text().splitlines()
    journaled = [store / "chunks" / f"{json.loads(line)['chunk']}.npz" for line in journal]
    kept = {path: path.stat().st_mtime_ns for path in journaled}
    assert len(kept) >= 3
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "slice 2/2 is finished" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert numbers(merge([*other, part], place / "merged", allow=allowed(place))) == numbers(whole)


def test_the_command_merges_and_ends_with_the_verdict(place, without_power, without_pictures):
    parts = sliced(place, "anytime", (1, 2), 2)
    done = CliRunner().invoke(app, ["merge", *map(str, parts), "--out", str(place / "merged"), "--quiet"])
    assert done.exit_code == 1, done.output
    assert done.stdout.startswith("✖ Violation: epsilon >= ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--slice", "3"], "--slice must be NUMBER/COUNT"),
        (["--slice", "0/4"], "--slice must be NUMBER/COUNT"),
        (["--slice", "1/2", "--strict"], "--strict cannot be combined with --slice"),
        (["--slice", "1/2", "--cluster", "local:2"], "--cluster cannot be combined with --slice"),
        (["--cluster", "elsewhere"], "--cluster must be the address of a Dask scheduler"),
        (["--cluster", "local:0"], "--cluster must be the address of a Dask scheduler"),
    ],
)
def test_options_that_do_not_fit_are_refused(place, words, message):
    done = CliRunner().invoke(app, ["run", str(place / "secrets.toml"), "--out", str(place / "out"), *words])
    assert done.exit_code == 2
    assert message in done.stderr
