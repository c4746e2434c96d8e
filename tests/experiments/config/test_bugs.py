"""The bugs of libraries, broken and right, in one config: all are there, and their twins are never flagged."""

import re
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dpassay.audit.evidence.verdict import Verdict
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.source import Source
from dpassay.experiments.config.sweep import expected
from dpassay.experiments.config.tasks.planning import plan_tasks
from dpassay.experiments.runs.runner import run

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "bugs.md").read_text()
TESTS = ROOT / "tests" / "mechanisms"
TRAINERS = "test_broken_dp_sgd.py::"
ROWS = {  # bug -> its rows, each of them broken and right
    "Histogram scale upside down": ("histogram-scale-inverted",),
    "Noisy max returns the value": ("noisy-max-value-laplace", "noisy-max-value-exponential"),
    "Sparse vector releases the tested value": ("sparse-vector-tested-value",),
    "Sparse vector without the number of answers": ("sparse-vector-noise-without-count",),
    "Sparse vector without query noise": ("sparse-vector-no-query-noise",),
    "Sparse vector without stop": ("sparse-vector-no-stop",),
    "Sparse vector with the budget of its threshold": ("sparse-vector-budget-of-threshold",),
    "Classic Gaussian formula for a large epsilon": ("classic-gaussian",),
    "Ties in both sets": ("ties-in-both-sets",),
    "Laplace noise in floats": ("float-laplace",),
    "Gaussian noise in floats, and its timing": ("float-gaussian", "loop-count"),
    "Precision of a sum": ("float-precision-of-sum",),
    "Sums in machine arithmetic": ("sum-wrapped", "sum-rounded", "sum-order"),
    "Regression ignores the upper bound": ("regression-upper-bound-ignored",),
    "Wishart noise": ("wishart-noise",),
    "Clipped copy unused": ("clipped-copy-unused",),
    "Expected batch size of the data": ("expected-batch-size-of-data",),
    "Shuffled batches counted as Poisson samples": ("shuffled-as-poisson",),
    "Mean of a microbatch clipped": ("microbatch-mean-clipped",),
    "Noise on the average, budget for the sum": ("noise-on-average",),
    "Mean of the batch clipped": ("mean-clipped",),
    "Noise divided twice": ("noise-divided-twice",),
    "Noise of the sum on the mean": ("noise-of-sum-on-mean",),
    "Raw mean gradient mixed in": ("raw-mean-mixed-in",),
    "Micro-steps counted as steps": ("micro-steps",),
    "Layers across examples": ("batch-norm",),
    "Statistics of a batch without noise": ("loss-released", "clipped-count-released"),
    "Empty batch skipped": ("empty-batch-skipped",),
    "Weighted samples counted as Poisson samples": ("weighted-as-poisson",),
    "Replaced record counted as added": ("replaced-as-added",),
    "Base model not frozen": ("base-not-frozen",),
    "Sensitivity that is not that of the clipping norm": ("sensitivity-not-of-clip",),
    "Every teacher gets one part": ("votes-same-part",),
    "Parts redrawn, teachers kept": ("votes-teachers-kept",),
    "Vote noise upside down": ("votes-scale-inverted",),
    "Bounds or domain of the data": ("bounds-from-data", "domain-from-data"),
    "Number of rows as divisor": ("divisor-of-data",),
    "NaN survives clipping": ("nan-survives-clipping",),
    "Sensitivity of a selection score halved": ("selection-sensitivity-halved",),
    "Mean with exact counts": ("mean-with-exact-counts", "mean-with-negative-counts"),
    "Histogram lists counts at its threshold": ("histogram-at-threshold",),
    "One zero sensitivity switches all noise off": ("zero-sensitivity",),
}
PINS = {  # bug -> the test of its numbers: all that are in an accountant alone, and some that are not
    "Odometer without the logarithm": "test_broken_accounting.py::test_reading_has_its_known_value",
    "Search for the noise overshoots": f"{TRAINERS}test_a_search_that_returns_the_middle_is_off_by_what_was_reported",
    "End points of a shuffling bound": (
        "test_broken_accounting.py::test_shuffling_bound_holds_in_both_directions_only_without_the_bug"
    ),
    "Shuffled batches counted as Poisson samples": (
        f"{TRAINERS}test_bound_on_shuffled_batches_lies_between_the_two_other_bounds"
    ),
    "Noise on the average, budget for the sum": (
        f"{TRAINERS}test_a_wasteful_trainer_is_not_flagged_and_is_far_below_its_claim"
    ),
    "Noise of the sum on the mean": f"{TRAINERS}test_a_wasteful_trainer_is_not_flagged_and_is_far_below_its_claim",
    "Classic Gaussian formula for a large epsilon": (
        "test_broken_noise.py::test_classic_noise_has_the_epsilon_of_its_curve"
    ),
    "Micro-steps counted as steps": f"{TRAINERS}test_counting_micro_steps_takes_more_noise_the_smaller_they_are",
}
WASTEFUL = {"noise-on-average", "noise-of-sum-on-mean", "micro-steps"}
N_BUGS = 45
SEEDS = 20


@cache
def tasks():
    return {task.parameters["case"]["name"]: task for task in plan_tasks(*Config.load("bugs"))}


def answered(task, trials, seed=1):
    few = replace(task, trials=trials, seed=seed)
    return few.answer(few.run())


def test_every_bug_has_a_broken_and_a_correct_row_or_a_test():
    assert len(ROWS.keys() | PINS.keys()) == N_BUGS
    names = [name for rows in ROWS.values() for name in rows]
    assert {*names} >= WASTEFUL
    wrong = {f"{name} / {'wasteful' if name in WASTEFUL else 'broken'}" for name in names}
    assert tasks().keys() == wrong | {f"{name} / twin" for name in names}
    assert f"audits {len(names)} bugs" in (ROOT / "README.md").read_text()
    for at in PINS.values():
        path, name = at.split("::")
        (file,) = TESTS.rglob(path)
        assert f"def {name}(" in file.read_text()


def test_every_row_expects_the_verdict_of_its_kind():
    kinds = {"broken": "violation", "twin": "consistent", "wasteful": "consistent"}
    of_all = Config.load("bugs")[0].expected
    for name, task in tasks().items():
        assert expected(task.parameters, of_all)["verdict"] == kinds[name.rpartition(" / ")[2]]


def test_broken_and_twin_make_about_the_same_claim():
    """Within a tenth: the Gaussian and the discrete Gaussian on two answers are counted differently."""
    for name in {name.rpartition(" / ")[0] for name in tasks()}:
        claims = {
            task.mechanism.guarantee().epsilon(1e-5) for at, task in tasks().items() if at.startswith(f"{name} / ")
        }
        assert max(claims) <= 1.1 * min(claims), name


def test_the_page_says_of_every_bug_what_shows_it():
    table = re.findall(r"^\| (?!bug |---)(.*?) \|.*\| (.*?) \| .*? \|$", PAGE, flags=re.MULTILINE)
    seen = dict(table)
    assert len(table) == len(seen) == N_BUGS
    assert seen.keys() == ROWS.keys() | PINS.keys()
    for bug, how in seen.items():
        audited = re.findall(r"`([^`]+)`", (re.findall(r"audit: ([^;]*)", how) or [""])[0])
        assert tuple(audited) == ROWS.get(bug, ())
        linked = re.findall(r"accountant: \[.*?\]\(\.\./\.\./tests/mechanisms/.*?([^/]*)\)", how)
        assert linked == ([PINS[bug].split("::")[0]] if bug in PINS else [])


def test_a_few_rows_with_few_trials_come_out_as_they_should(tmp_path, without_power, without_pictures):
    planned = tomllib.loads((ROOT / "experiments" / "configs" / "bugs.toml").read_text())
    few = ("wishart-noise", "domain-from-data", "float-laplace", "votes-scale-inverted", "noise-of-sum-on-mean")
    planned["sweep"]["case"] = [case for case in planned["sweep"]["case"] if case["name"].startswith(few)]
    assert len(planned["sweep"]["case"]) == 2 * len(few)
    path = tmp_path / "few.toml"
    path.write_text(Config.check(planned, Source("few", "few.toml")).to_toml())
    done = run(path, settings={"audit.trials": 2_000}, out=tmp_path / "out")
    for point in done.result.points:
        broken = point.parameters["case"]["name"].endswith("broken")
        assert (point.verdict is Verdict.VIOLATION) == broken


@pytest.mark.slow
@pytest.mark.parametrize("name", [f"{name} / twin" for rows in ROWS.values() for name in rows])
def test_a_twin_is_never_flagged(name, without_power):
    """At most as often as one audit in five may be at significance 0.2, and never at that of the whole test."""
    p_values = np.array([answered(tasks()[name], 2_000, seed).p_value for seed in range(SEEDS)])
    n_twins = sum(map(len, ROWS.values()))
    assert (p_values <= 0.2).sum() <= stats.binom.isf(1e-6 / n_twins, SEEDS, 0.2)
    assert p_values.min() > 1e-6 / (SEEDS * n_twins)
