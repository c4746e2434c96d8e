import dataclasses
import json
import multiprocessing
import os
import sys
from datetime import datetime
from itertools import pairwise

import numpy as np
import pytest

from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.results.saved import digest
from dpassay.experiments.ci import history as module
from dpassay.experiments.ci.history import Build, History
from dpassay.experiments.ci.saved_runs import load
from dpassay.experiments.present.plots.style import save
from dpassay.mechanisms import Gaussian, Laplace, Neighbours, PureDP
from dpassay.mechanisms.core import NoAnswerError, ParameterError, ResultError, StoreError

PAIR = Neighbours(np.array([1.0, 0.0]), np.array([1.0, 0.0, 1.0]), "add_remove")
RIGHT, WRONG = Laplace(epsilon=1.0), Laplace(epsilon=1.4)


def audited(builds, mechanism=RIGHT, *, claim=1.0, trials=100, seed=None):
    """Return the audit of a build."""
    seed = builds.seed if seed is None else seed
    return audit(mechanism, claim=PureDP(claim), trials=trials, seed=seed, history=builds, confidence=1 - 1e-6)


def add(file, mechanism=RIGHT, *, claim=1.0, trials=500, **options):
    """Add a build of `mechanism` to a history, and return the history."""
    with History.opened(file, **options) as builds:
        return builds.add(audited(builds, mechanism, claim=claim, trials=trials))


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """The lines of a history of four builds."""
    file = tmp_path_factory.mktemp("history") / "audits.jsonl"
    for k in range(4):
        add(file, dataclasses.replace(RIGHT, epsilon=1.0 + 0.001 * k))
    return file.read_bytes().splitlines(keepends=True)


@pytest.fixture
def file(tmp_path, lines):
    file = tmp_path / "audits.jsonl"
    file.write_bytes(b"".join(lines))
    return file


def changed(line, **fields):
    """Return a line with other fields, and a digest that fits them."""
    content = json.loads(line) | fields
    del content["sha256"]
    return json.dumps(content | {"sha256": digest(content)}, separators=(",", ":")).encode() + b"\n"


def test_each_build_has_a_seed_of_its_own_and_follows_the_line_before(file):
    history = History.read(file)
    builds = history.builds
    assert [build.number for build in builds] == [1, 2, 3, 4]
    assert len({build.seed for build in builds}) == len({build.code for build in builds}) == 4
    assert all(after.previous == before.digest for before, after in pairwise(builds))
    assert datetime.fromisoformat(builds[0].time).tzinfo is not None
    assert b"".join(build.line for build in builds) == file.read_bytes()


def test_seeds_follow_from_the_name_of_the_file_and_the_seed(tmp_path):
    seeds = set()
    for name, seed in (("a.jsonl", 0), ("b.jsonl", 0), ("a.jsonl", 1), ("a.jsonl", 0)):
        with History.opened(tmp_path / name, seed=seed) as builds:
            seeds.add(builds.seed)
    assert len(seeds) == 3


CHANGES = ["digit", "removed", "twice", "verdict", "evidence", "seed", "e-values"]
PLACES = [(change, place) for change in CHANGES for place in range(4) if (change, place) != ("removed", 3)]


@pytest.mark.parametrize(("change", "place"), PLACES)
def test_a_changed_line_is_refused_with_its_number(file, lines, place, change):
    build = json.loads(lines[place])
    versions = {
        "digit": [lines[place].replace(b'"trials":500', b'"trials":600')],
        "removed": [],
        "twice": [lines[place]] * 2,
        "verdict": [changed(lines[place], verdict="violation")],
        "evidence": [changed(lines[place], of_all=build["of_all"] | {"log_evidence": -1.0})],
        "seed": [changed(lines[place], seed=build["seed"] + 1)],
        "e-values": [changed(lines[place], log_e_values=[3.0] * 10)],
    }
    file.write_bytes(b"".join([*lines[:place], *versions[change], *lines[place + 1 :]]))
    refused = place + 1 + (change == "twice")
    with pytest.raises(ResultError, match=f"audits.jsonl, line {refused}: "):
        History.read(file)


def test_a_line_that_was_changed_with_all_that_follows_from_it_breaks_the_chain(file, lines):
    file.write_bytes(b"".join([lines[0], changed(lines[1], time="2020-01-01T00:00:00Z"), *lines[2:]]))
    with pytest.raises(ResultError, match="line 3: it does not follow the line before"):
        History.read(file)


def test_lines_removed_at_the_end_are_seen_by_the_last_digest_alone(file, lines):
    whole = History.read(file)
    file.write_bytes(b"".join(lines[:3]))
    assert History.read(file).last.digest == whole.builds[2].digest != whole.last.digest


@pytest.mark.parametrize("content", [b"not JSON\n", b"{}\n", b"[1]\n", b"\xff\n", b"\n", b"", b'{"format": 1}\n'])
def test_another_file_is_refused(tmp_path, content):
    file = tmp_path / "other.jsonl"
    file.write_bytes(content)
    with pytest.raises(ResultError):
        History.read(file)
    if content:
        with pytest.raises(ResultError):
            add(file)
        assert file.read_bytes() == content


def test_an_interrupted_line_is_no_build_and_is_replaced(file, lines):
    file.write_bytes(b"".join([*lines[:3], lines[3][:100]]))
    assert len(History.read(file).builds) == 3
    again = add(file, dataclasses.replace(RIGHT, epsilon=1.003))
    (fourth,) = again.builds[3:]
    assert fourth.log_e_values == Build.from_json(lines[3].decode()).log_e_values
    assert len(History.read(file).builds) == 4


def test_an_audit_of_another_seed_or_without_the_history_is_refused(file):
    before = file.read_bytes()
    with History.opened(file) as builds:
        result = audit(RIGHT, trials=100, seed=builds.seed)
        with pytest.raises(ParameterError, match="needs an audit of its own"):
            builds.add(result)
    with History.opened(file) as builds:
        result = audited(builds, seed=builds.history.builds[0].seed)
        with pytest.raises(ParameterError, match="the seed is"):
            builds.add(result)
    assert file.read_bytes() == before


def test_one_audit_adds_one_line(file):
    with History.opened(file) as builds:
        result = audited(builds)
        builds.add(result)
        with pytest.raises(ParameterError):
            builds.add(result)


def test_another_claim_or_level_is_refused_and_adds_nothing(file):
    before = file.read_bytes()
    with pytest.raises(ParameterError, match="a history is about one claim"):
        add(file, claim=2.0)
    with pytest.raises(ParameterError, match="since its first line"):
        add(file, level=0.05)
    assert file.read_bytes() == before


@pytest.mark.usefixtures("few_chunks", "without_power")
def test_a_function_with_a_generator_of_its_own_adds_no_evidence(tmp_path):
    def release(dataset, rng):
        return len(dataset) + float(state.laplace())

    state = np.random.default_rng(0)
    with History.opened(tmp_path / "audits.jsonl") as builds:
        result = audit(release, PAIR, claim=PureDP(1.0), trials=100, seed=builds.seed, history=builds)
        last = builds.add(result).last
    assert "generator of its own" in last.left_out
    assert last.log_e_values == (0.0,) * 10
    assert last.of_code.log_evidence == pytest.approx(0.0, abs=1e-12)


def test_a_build_without_an_answer_on_one_side_is_a_violation_and_adds_no_evidence(tmp_path, monkeypatch):
    def stopped(*given):
        raise NoAnswerError("a call took longer")

    monkeypatch.setattr("dpassay.audit.api._run_audit", stopped)
    answered = lambda source, pair, style, call, seconds, number: call.side == 0  # noqa: E731 - one line
    monkeypatch.setattr(sys.modules["dpassay.audit.games.no_answer"], "answers_within", answered)
    options = {"claim": PureDP(1.0), "confidence": 1 - 1e-6, "timeout": 0.1}
    for _ in range(2):
        with History.opened(tmp_path / "audits.jsonl") as builds:
            result = audit(lambda dataset, rng: 0.0, PAIR, seed=builds.seed, history=builds, **options)
            history = builds.add(result)
        assert history.verdict is Verdict.VIOLATION
        assert (set(history.last.log_e_values), history.last.left_out) == ({0.0}, "a call gave no answer")


def test_the_same_pilot_outputs_again_add_no_evidence(file, lines):
    with History.opened(file) as builds:
        result = audited(builds)
        builds.keep(dataclasses.replace(builds.kept, outputs=builds.history.builds[1].outputs))
        build = builds.add(result).last
    assert "those of an earlier build" in build.left_out
    assert set(build.log_e_values) == {0.0}


@pytest.mark.usefixtures("without_power")
def test_small_builds_of_a_bug_refute_the_claim_together(tmp_path):
    file = tmp_path / "audits.jsonl"
    builds = (add(file, WRONG, trials=400) for _ in range(20))
    history = next(history for history in builds if history.verdict is Verdict.VIOLATION)
    last, n = history.last, len(history.builds)
    assert last.own.verdict is Verdict.CONSISTENT
    assert last.of_code.alarm
    assert n > 1
    text = history.text()
    assert text.headline.startswith("Violation")
    assert "refute the claim" in text.answer
    same, other = add(file, WRONG, trials=60), add(file, RIGHT, trials=60)
    assert (same.verdict, other.verdict) == (Verdict.VIOLATION, Verdict.CONSISTENT)
    assert f"build {n} refuted the claim, and the code has not changed" in " ".join(same.text().answer.split()).lower()
    assert same.last.of_code.entry == 2
    assert load(file).checked.verdict is Verdict.CONSISTENT
    assert "with other code were violations" in " ".join(other.text().answer.split())
    figure = history.plot()
    assert "refutes the claim" in figure.axes[0].get_title("left")


def test_the_picture_is_written_beside_the_file(file):
    history = History.read(file)
    plot = history.evidence_plot()
    files = save(history.plot(), file.with_suffix(""), title=plot.title, description=plot.caption)
    assert {path.suffix for path in files} == {".svg", ".png"}
    assert all(path.stat().st_size > 1_000 for path in files)


def write_while_locked(file, entered):
    add(file, dataclasses.replace(RIGHT, epsilon=1.5))
    entered.set()


def test_a_second_process_waits_and_both_builds_are_added(file):
    context = multiprocessing.get_context("fork")
    entered = context.Event()
    with History.opened(file) as builds:
        other = context.Process(target=write_while_locked, args=(file, entered))
        other.start()
        assert not entered.wait(1.0)
        result = audited(builds)
        builds.add(result)
    other.join(60.0)
    history = History.read(file)
    assert len(history.builds) == 6
    assert history.builds[4].seed != history.builds[5].seed


def test_without_locks_the_second_of_two_builds_is_refused(file, monkeypatch):
    monkeypatch.setattr(module, "lock", lambda *_, **__: None)
    with History.opened(file) as builds:
        result = audited(builds)
        add(file)
        before = file.read_bytes()
        with pytest.raises(StoreError, match="another process has added a build"):
            builds.add(result)
    assert file.read_bytes() == before


def test_a_second_program_in_a_file_and_a_cut_line_are_named(tmp_path):
    file = tmp_path / "audits.jsonl"
    assert add(file, RIGHT).text().warnings == ()
    (warning,) = add(file, Gaussian(sensitivity=1.0, noise_multiplier=9.0)).text().warnings
    assert "Keep a file for each program" in warning
    file.write_bytes(file.read_bytes() + b'{"number": 3')
    assert "the last line of audits.jsonl has no end" in History.read(file).text().warnings[-1]


def test_a_damaged_line_has_one_advice(file):
    file.write_text("print()\n")
    with pytest.raises(ResultError, match="begin another history") as caught:
        History.read(file)
    assert "run the same command" not in str(caught.value)


def test_a_failed_write_leaves_the_builds_as_they_were(file, lines, monkeypatch):
    write = os.write
    with History.opened(file) as builds:
        result = audited(builds)

        def fail(descriptor, content):
            write(descriptor, content[:50])
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", fail)
            with pytest.raises(StoreError, match="No space left"):
                builds.add(result)
    assert len(History.read(file).builds) == 4
    assert len(add(file).builds) == 5


def test_a_link_is_not_followed(tmp_path, file):
    link = tmp_path / "link.jsonl"
    link.symlink_to(file)
    with pytest.raises(StoreError, match="symbolic link"):
        add(link)


def test_the_audit_is_the_same_with_and_without_a_history(tmp_path):
    with History.opened(tmp_path / "audits.jsonl") as builds:
        result = audit(RIGHT, trials=500, seed=builds.seed, history=builds)
        assert result == audit(RIGHT, trials=500, seed=builds.seed)
