"""A violation stays a violation whatever the outputs are, whatever decides, and whatever fails to explain it."""

import json
from itertools import product

import numpy as np
import pytest
from typer.testing import CliRunner

import dpassay.audit.games.conclude as conclusion
import dpassay.audit.games.diagnostics as diagnostics
import dpassay.audit.games.pair as pair
import dpassay.audit.results.text as text
import dpassay.audit.trials.examples as kept
import dpassay.audit.trials.work as work
from dpassay.audit import AuditResult, assert_private, audit
from dpassay.audit.results.witness.event import EventRule, rule_of
from dpassay.experiments.cli.commands import app
from dpassay.experiments.present.plots import draw as drawing
from dpassay.experiments.present.results.sweep import SweepResult, corrected
from dpassay.mechanisms import Laplace, Neighbours, Outputs, PureDP
from dpassay.mechanisms.core import PrivacyViolation
from dpassay.mechanisms.noise.broken import LaplaceInverseScale

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

PAIR = Neighbours([1.0, 3.0], [1.0, 3.0, 1.0], "add_remove")
OPTIONS = {"claim": PureDP(1.0), "trials": 100, "seed": 0, "bound": "clopper-pearson"}
ORDINARY = {
    "scalar": lambda rng: rng.normal(),
    "array": lambda rng: rng.normal(size=4),
    "matrix": lambda rng: rng.normal(size=(2, 2)),
    "empty": lambda rng: np.empty(0),
    "list": lambda rng: rng.normal(size=3).tolist(),
    "ragged": lambda rng: [1.0] * int(rng.integers(3)),
    "dict": lambda rng: {"a": rng.normal(), "b": rng.normal(size=2)},
    "tuple": lambda rng: (rng.normal(), 1),
    "text": lambda rng: "yes" if rng.random() < 0.5 else "no",
    "none": lambda rng: None,
}
EXCEPTIONAL = {
    "exception": lambda rng: int("too many"),  # raises ValueError
    "none": lambda rng: None,
    "shape": lambda rng: rng.normal(size=7),
    "nan": lambda rng: float("nan"),
    "row of nan": lambda rng: np.full(4, np.nan),
    "text": lambda rng: "leak",
}
FAST = {("array", "exception"), ("array", "none"), ("dict", "shape"), ("list", "row of nan"), ("none", "exception")}
CASES = [
    pytest.param(one, other, side, marks=() if side == 1 and (one, other) in FAST else pytest.mark.slow)
    for one, other, side in product(ORDINARY, EXCEPTIONAL, (0, 1))
    if (one, other) != ("none", "none")
]


@pytest.mark.parametrize(("ordinary", "exceptional", "side"), CASES)
def test_exceptional_outputs_of_one_side_are_a_violation(ordinary, exceptional, side):
    of_two, of_three = (ORDINARY[ordinary], EXCEPTIONAL[exceptional])[:: 1 if side else -1]

    def release(dataset, rng):
        return of_two(rng) if len(dataset) == 2 else of_three(rng)

    result = audit(release, PAIR, **OPTIONS)
    assert result.verdict.value == "violation"
    assert not any("is missing" in warning for warning in result.warnings)
    assert result.deciding is not None
    assert AuditResult.from_json(result.to_json()) == result
    assert "VIOLATION" in result.summary()


class Raising(Laplace):
    """Vectors of noise; a known event on side 1. Outputs are built by the mechanism itself."""

    def release(self, dataset, size, rng):
        outputs = rng.laplace(size=(size, 3))
        return Outputs(outputs, np.full(size, "failed")) if np.ravel(dataset)[0] > 0.0 else Outputs(outputs)

    def output_law(self):
        return None


def test_events_of_a_mechanism_are_a_violation_beside_vectors():
    result = audit(Raising(epsilon=1.0), **OPTIONS | {"claim": None})
    assert (result.verdict.value, result.event_rule) == ("violation", EventRule(("failed",), atoms=()))


FILE = """
import numpy as np

def raises(dataset, rng):
    if len(dataset) > 2:
        raise ValueError("too many")
    return rng.normal(size=4)

def returns_none(dataset, rng):
    return None if len(dataset) > 2 else {"a": rng.normal(), "b": rng.normal(size=2)}
"""


@pytest.mark.parametrize("name", ["raises", "returns_none"])
def test_they_are_violations_for_assert_private_and_for_the_command(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vectors.py").write_text(FILE)
    functions = {}
    exec(FILE, functions)
    with pytest.raises(PrivacyViolation, match="event"):
        assert_private(functions[name], PAIR, **OPTIONS)
    arguments = (f"vectors.py:{name}", "--epsilon", "1", "--d0", "[1, 3]", "--d1", "[1, 3, 1]", "--trials", "100")
    done = CliRunner().invoke(app, ["check", *arguments, "--witness", "w.json"])
    assert done.exit_code == 1
    assert json.loads((tmp_path / "w.json").read_text())["counts"]["rule"]["atoms"] == []


def test_the_rule_of_an_event_without_ordinary_outputs_is_its_labels():
    class Events:
        def score(self, outputs):
            return np.where(outputs.events == "bad", 1.0, 0.0)

    rows = Outputs(np.random.default_rng(0).normal(size=(3, 2)), np.array(["", "", "bad"]))
    assert rule_of(Events(), rows, rows, 0.5) == EventRule(("bad",), atoms=())


def broken(*given, **named):
    raise RuntimeError("a broken step")


STEPS = {
    "rule": (pair, "event_rule"),
    "deciding event": (pair, "deciding_event"),
    "datasets": (pair, "as_json"),
    "exact curve": (pair.AuditSetup, "exact_guarantee"),
    "witnesses": (diagnostics, "impossible_outputs"),
    "warnings": (diagnostics.Diagnostics, "warnings"),
    "notes": (diagnostics.Diagnostics, "notes"),
    "claimed curve": (conclusion, "claim_curve"),
    "power": (conclusion, "detectable"),
    "law": (work, "impossible"),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_fails_is_a_warning_and_leaves_the_violation(name, monkeypatch):
    where, attribute = STEPS[name]
    monkeypatch.setattr(where, attribute, broken)
    result = audit(LaplaceInverseScale(epsilon=0.5), attack="threshold", **OPTIONS | {"claim": None, "trials": 2_000})
    assert result.verdict.value == "violation"
    assert any("RuntimeError: a broken step" in warning for warning in result.warnings)
    assert AuditResult.from_json(result.to_json()) == result
    assert "a broken step" in result.summary()
    assert result.plot() is not None


@pytest.mark.parametrize("name", ["_event", "witnessed"])
def test_words_that_fail_are_a_warning_in_the_table_and_in_the_evidence(name, monkeypatch):
    result = audit(LaplaceInverseScale(epsilon=0.5), **OPTIONS | {"claim": None, "trials": 2_000})
    monkeypatch.setattr(text, name, broken)
    for shown in (result.summary(), result.summary(details=False)):
        assert "VIOLATION" in shown
        assert "RuntimeError: a broken step" in shown


def test_an_output_without_a_text_has_the_reason_instead(monkeypatch):
    monkeypatch.setattr(kept, "text", broken)
    result = audit(LaplaceInverseScale(epsilon=0.5), **OPTIONS | {"claim": None, "trials": 2_000})
    assert result.verdict.value == "violation"
    assert "a broken step" in result.deciding.outputs1[0]


def test_a_figure_that_fails_is_left_out_and_the_others_are_drawn(monkeypatch, tmp_path, without_pixels):
    result = audit(LaplaceInverseScale(epsilon=0.5), **OPTIONS | {"claim": None, "trials": 2_000})
    points, verdict, entry = corrected([{}], [result], confidence=0.95)
    sweep = SweepResult("mine", "Title", "Words", "f" * 64, 0, 0.95, points, verdict, (entry,))
    monkeypatch.setitem(drawing.OF_AN_AUDIT, "profile", broken)
    with pytest.warns(RuntimeWarning, match="audit-01-profile is missing: RuntimeError: a broken step"):
        files = drawing.draw_all(sweep, tmp_path)
    assert {"bound-claim", "audit-01-tradeoff"} <= {file.stem for file in files}


def test_a_real_interrupt_is_no_failed_step(monkeypatch):
    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(pair, "as_json", interrupted)
    with pytest.raises(KeyboardInterrupt):
        audit(LaplaceInverseScale(epsilon=0.5), **OPTIONS | {"claim": None, "trials": 2_000})
