"""A violation as a file, and the checker that needs nothing of this library."""

import ast
import contextlib
import importlib.util
import io
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dpassay.audit.results.witness as room
from dpassay.audit import audit
from dpassay.audit.bounds.numerics.unconditional import Ordering, UnconditionalTest
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.evidence.scores import PairScores
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.results.witness.event import EventRule, rule_of
from dpassay.experiments.cli.commands import app
from dpassay.mechanisms import Neighbours, Outputs
from dpassay.mechanisms.accounting import ApproximateDP, PureDP
from dpassay.mechanisms.core import ResultError, StoreError
from dpassay.mechanisms.noise.broken import LaplaceInverseScale

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

CHECKER = Path(room.__path__[0]) / "checker.py"
PAIR = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")
FUNCTIONS = """
import numpy as np

def noisy(dataset, rng):
    return float(np.sum(dataset)) + rng.laplace(scale=0.5)

def private(dataset, rng):
    return float(np.sum(dataset)) + rng.laplace(scale=2.0)

def raising(dataset, rng):
    if len(dataset) == 3 and rng.random() < 0.5:
        raise ValueError("three")
    return float(rng.random() < 0.5)

def bits(dataset, size, rng):
    return np.stack([rng.random(size) < 0.5, rng.random(size) < 0.1 + 0.8 * (len(dataset) == 3)], axis=1).astype(float)

def wide(dataset, rng):
    return np.sum(dataset) * 3.0 + rng.laplace(size=3)

def seeded(dataset, rng):
    return float(np.sum(dataset)) + np.random.default_rng(len(dataset)).laplace()
"""


@pytest.fixture(scope="module")
def checker():
    spec = importlib.util.spec_from_file_location("a_copy_of_the_checker", CHECKER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("witness")
    (folder / "functions.py").write_text(FUNCTIONS)
    return folder


@pytest.fixture(scope="module")
def functions(checker, home):
    return lambda name: checker.load(f"{home / 'functions.py'}:{name}")


def checked(checker, content, target=None, runs=2_000):
    """Whether the checker agrees, and what it says."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        agrees = checker.check(json.loads(json.dumps(content)), target, runs, 1)
    return agrees, printed.getvalue()


def test_the_checker_imports_only_numpy_and_scipy():
    tree = ast.parse(CHECKER.read_text())
    named = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    named |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in named} - set(sys.stdlib_module_names) == {"numpy", "scipy"}


@pytest.mark.parametrize(
    "counts", [(500, 1_000, 184, 1_000), (40, 1_000, 3, 900), (930, 2_000, 300, 2_000), (9, 50, 0, 60)]
)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 0.0), (0.85, 0.0), (0.8, 0.01)])
def test_the_joint_test_of_the_checker_is_that_of_the_library(checker, counts, epsilon, delta):
    k1, n1, k0, n0 = counts
    ours = UnconditionalTest(*counts, Ordering(0.05, 0.01)).probability(epsilon, delta, 0.05)
    theirs = checker.joint(k1, n1, k0, n0, epsilon, delta, 0.05, 0.01)
    assert theirs <= ours * (1 + 1e-9) + 1e-12  # the library rounds up, the checker looks at a grid
    assert theirs >= 0.97 * ours - 1e-4


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_the_limits_of_the_checker_are_those_of_the_library(checker, delta):
    claim = ApproximateDP(0.1, delta) if delta else PureDP(0.1)
    scores = PairScores(np.repeat([0.0, 1.0], [900, 100]), np.repeat([0.0, 1.0], [500, 500]))
    fixed = ClopperPearson(threshold=0.5).fix(Statement(claim, delta=delta), None, (1_000, 1_000))
    bound = checker.clopper_pearson(500, 1_000, 100, 1_000, delta, 0.05)
    assert bound == pytest.approx(fixed.lower_bound(scores).epsilon, rel=1e-9)


@pytest.fixture(scope="module")
def written(functions, home):
    """Return the audit of a function of the file and the content of its witness file, once for each."""

    @cache
    def write(name):
        result = audit(functions(name), PAIR, claim=PureDP(0.5), trials=1_000, seed=0)
        result.to_witness(home / f"{name}.json")
        return result, (home / f"{name}.json").read_text()

    return write


@pytest.mark.parametrize("name", ["noisy", "raising", "bits"])
def test_a_violation_is_checked_from_its_counts_and_in_fresh_runs(checker, written, home, name):
    content = json.loads(written(name)[1])
    assert content["datasets"] == ["[1.0, 0.0]", "[1.0, 0.0, 1.0]"]
    agrees, printed = checked(checker, content, f"{home / 'functions.py'}:{name}")
    assert agrees
    assert "2,000 runs a side: epsilon >=" in printed


def test_a_function_that_is_private_does_not_agree_in_fresh_runs(checker, written, home):
    agrees, printed = checked(checker, json.loads(written("noisy")[1]), f"{home / 'functions.py'}:private")
    assert not agrees
    assert "DOES NOT AGREE" in printed


def test_changed_counts_do_not_refute(checker, written):
    content = json.loads(written("noisy")[1])
    content["counts"]["other"][0] = content["counts"]["likelier"][0]
    assert not checked(checker, content)[0]


def test_an_event_without_a_rule_is_checked_from_its_counts_only(checker, written, home):
    result, content = written("wide")
    agrees, printed = checked(checker, json.loads(content), f"{home / 'functions.py'}:wide")
    assert result.event_rule is None
    assert agrees
    assert "no rule for the event" in printed


def test_a_mechanism_has_a_witness_too(checker, tmp_path):
    result = audit(LaplaceInverseScale(epsilon=0.5), trials=2_000, seed=0, bound="clopper-pearson")
    result.to_witness(tmp_path / "w.json")
    assert checked(checker, json.loads((tmp_path / "w.json").read_text()))[0]


def test_a_claim_that_is_kept_has_none(functions, tmp_path):
    result = audit(functions("private"), PAIR, claim=PureDP(1.0), trials=200, seed=0, confidence=0.999)
    with pytest.raises(ResultError, match=r"only a violation has a witness, but the verdict on .* is 'consistent'"):
        result.to_witness(tmp_path / "w.json")
    broken = audit(LaplaceInverseScale(epsilon=0.5), trials=400, seed=0)
    with pytest.raises(StoreError, match=r"cannot write .*nowhere"):
        broken.to_witness(tmp_path / "nowhere" / "w.json")


def test_the_checker_agrees_with_the_file_that_the_command_writes(home, monkeypatch):
    monkeypatch.chdir(home)
    arguments = ("functions.py:seeded", "--epsilon", "1", "--d0", "[1, 0]", "--d1", "[1, 0, 1]", "--trials", "100")
    done = CliRunner().invoke(app, ["check", *arguments, "--witness", "w.json"])
    assert done.exit_code == 1
    assert "VIOLATION: " in done.stdout
    alone = subprocess.run(
        [sys.executable, "-I", str(CHECKER), "w.json", "functions.py:seeded"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (alone.returncode, alone.stderr) == (0, "")
    assert "no randomness: seeded() gave" in alone.stdout
    assert "result       agrees" in alone.stdout


def test_the_command_writes_no_file_where_the_claim_is_kept(home, monkeypatch):
    monkeypatch.chdir(home)
    arguments = ("functions.py:private", "--epsilon", "1", "--d0", "[1, 0]", "--d1", "[1, 0, 1]", "--trials", "100")
    kept = CliRunner().invoke(app, ["check", *arguments, "--witness", "none.json"])
    assert kept.exit_code == 0
    assert not Path("none.json").exists()


class Above:
    """Scores numbers by their size, and rows by their sum."""

    def score(self, outputs):
        scores = outputs.values.reshape(len(outputs), -1).sum(axis=1)
        return scores if outputs.events is None else np.where(outputs.events == "nan", np.inf, scores)


def test_rules_of_numbers_are_intervals_and_those_of_few_vectors_are_atoms():
    values = np.array([0.0, 1.0, 2.0, 3.0])
    assert rule_of(Above(), Outputs(values), Outputs(values), 1.5) == EventRule(intervals=((2.0, np.inf),))
    rows = np.tile([[0.0, 0.0], [1.0, 1.0]], (5, 1))
    assert rule_of(Above(), Outputs(rows), Outputs(rows), 1.5) == EventRule(atoms=((1.0, 1.0),))
    assert rule_of(Above(), Outputs(values), Outputs(values), 9.0) is None
    with_events = Outputs(values, np.array(["", "nan", "", ""]))
    assert rule_of(Above(), with_events, Outputs(values), 2.5) == EventRule(("nan",), intervals=((3.0, np.inf),))


def test_the_example_of_the_page_prints_what_the_page_shows():
    page = (Path(__file__).parents[4] / "docs" / "explanation" / "witness.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(example, {"__name__": "a_page"})
    assert f"# {printed.getvalue().strip()}" == example.strip().splitlines()[-1]
