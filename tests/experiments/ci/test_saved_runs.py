"""Saved results read for a comparison, and files that are none."""

import json

import numpy as np
import pytest
from tests.experiments.made_results import laplace_result, laplace_sweep

from dpassay.experiments.ci.checked import claims_of
from dpassay.experiments.ci.comparison import compare
from dpassay.experiments.ci.saved_runs import load, run_notes
from dpassay.experiments.config.sweep import folder_name
from dpassay.mechanisms.core import ResultError

CONFIG = '[mechanism]\nname = "laplace"\n[audit]\ntrials = {trials}\n[sweep]\n"mechanism.epsilon" = [0.5, 1.0]\n'


def written(folder, *, trials, seconds, version):
    """A run directory with a sweep of two claims."""
    sweep = laplace_sweep((0.5, 1.0))
    folder.mkdir()
    (folder / "results.json").write_text(sweep.to_json())
    (folder / "config.toml").write_text(CONFIG.format(trials=trials))
    places = [folder_name(point.parameters) for point in sweep.points]
    (folder / "times.json").write_text(json.dumps(dict(zip(places, seconds, strict=True))))
    (folder / "environment.json").write_text(json.dumps({"versions": {"numpy": version}}))
    return folder


def test_time_settings_and_versions_of_two_runs_are_compared(tmp_path):
    first = load(written(tmp_path / "a", trials=1000, seconds=(1.0, 2.0), version="1"))
    second = load(written(tmp_path / "b", trials=500, seconds=(1.0, 5.0), version="2") / "results.json")
    notes = run_notes(first, second, compare(first.checked, second.checked))
    assert notes == [
        "differs: audit.trials: 1000 -> 500",
        'differs: version of numpy: "1" -> "2"',
        "time: 3.0 s -> 6.0 s (2 times)",
        "time: largest growth in epsilon = 1: 2.0 s -> 5.0 s",
    ]
    assert run_notes(first, first, compare(first.checked, first.checked))[:1] == ["time: 3.0 s -> 3.0 s (1 times)"]


def test_results_without_a_run_directory_have_no_time_or_config(tmp_path):
    (tmp_path / "one.json").write_text(laplace_result().to_json())
    (tmp_path / "results.json").write_text(laplace_sweep().to_json())
    for name in ("one.json", "results.json"):
        found = load(tmp_path / name)
        assert found.total_seconds is None
        assert run_notes(found, found, compare(found.checked, found.checked)) == []
    (tmp_path / "session.json").write_text(claims_of(laplace_sweep()).to_json())
    assert load(tmp_path / "session.json").checked == claims_of(laplace_sweep())


def test_a_damaged_configuration_beside_results_is_left_out(tmp_path):
    folder = written(tmp_path / "a", trials=10, seconds=(1, 1), version="1")
    (folder / "config.toml").write_text("[[[")
    (folder / "environment.json").write_text("[]")
    (folder / "times.json").write_text('{"x": []}')
    found = load(folder)
    assert (found.config, found.versions, found.total_seconds) == ({}, {}, None)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("absent.json", None, "there is no such file"),
        ("folder", None, "the run is not finished"),
        ("a.json", "", "not readable as JSON"),
        ("a.json", "[]", "no result with claims"),
        ("a.json", "{}", "no result with claims"),
        ("a.json", '{"format": ["x"]}', "no result with claims"),
        ("a.json", '{"format": "dpassay.membership-result"}', "which test no claim"),
        ("a.json", '{"format": "dpassay.audit-result", "version": 4}', "do not match their sha256"),
        ("a.json", '{"format": "dpassay.checked-claims", "version": 99}', "newer dpassay"),
        ("a.json", b"\xff\xfe", "cannot be read"),
    ],
)
def test_what_is_no_result_is_refused_by_name(tmp_path, name, text, said):
    (tmp_path / "folder").mkdir()
    if text is not None:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ResultError, match=said):
        load(tmp_path / name)


def test_damaged_files_end_in_a_named_error(tmp_path):
    """Bytes of a valid file replaced, removed and repeated, at 150 random places."""
    rng, file = np.random.default_rng(0), tmp_path / "a.json"
    intact = claims_of(laplace_sweep((0.5, 1.0))).to_json().encode()
    for _ in range(150):
        start, length = int(rng.integers(len(intact))), int(rng.integers(1, 20))
        filling = rng.integers(32, 127, rng.integers(0, 20)).astype(np.uint8).tobytes()
        damaged = intact[:start] + filling + intact[start + length :]
        file.write_bytes(damaged)
        try:
            assert load(file).checked == claims_of(laplace_sweep((0.5, 1.0)))
            assert json.loads(damaged) == json.loads(intact)
        except ResultError:
            continue
