"""Numbers that a config expects: the digits of claims, the intervals of bounds, and what is reported."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from dpassay.audit import audit
from dpassay.audit.bounds.pair.joint import JointExact
from dpassay.experiments.present.results.expectations import _half_unit, _repetition_interval, unmet
from dpassay.experiments.runs.runner import run
from dpassay.mechanisms import Gaussian, Laplace
from dpassay.mechanisms.core import ConfigError

CONFIG = """
[mechanism]
name = "laplace"
epsilon = 1.0
[attack]
name = "likelihood-ratio"
[audit]
trials = 4_000
delta = 0.0
[[sweep.case]]
name = "fixed event"
audit = { bounds = [{ name = "joint-exact", threshold = 0.99, direction = "in" }] }
expected = { claim = 1.0, exact = CLAIM, lower_bound = BOUND }
published = { Another = 0.9 }
"""


def result_of(folder, **stated):
    """Run the config with these numbers."""
    text = CONFIG
    for name, value in ({"CLAIM": 1.0, "BOUND": 0.94} | stated).items():
        text = text.replace(name, str(value))
    (folder / "question.toml").write_text(text)
    return run(folder / "question.toml", out=folder / "out").result


@pytest.mark.parametrize(
    ("stated", "half"), [(4.77457, 5e-6), (0.1, 5e-4), (1.0, 5e-3), (12.0, 0.05), (1234.0, 0.05), (0.00123, 5e-6)]
)
def test_half_a_unit_is_of_the_last_digit_or_the_third(stated, half):
    assert _half_unit(stated) == pytest.approx(half)


def test_right_numbers_are_met_and_stand_in_the_table(tmp_path, without_power, without_pictures):
    result = result_of(tmp_path)
    assert unmet(result) == []
    row = result.to_frame().iloc[0]
    assert (row["expected_claim"], row["expected_exact"], row["expected_lower_bound"]) == (1.0, 1.0, 0.94)
    head = result.text().table.head
    assert [name for name in head if name == "Another" or name.startswith("expected")] == [
        "expected claim", "expected exact", "expected lower bound", "Another",
    ]  # fmt: skip


@pytest.mark.parametrize(("wrong", "named"), [({"CLAIM": 1.01}, "exact"), ({"BOUND": 0.5}, "lower_bound")])
def test_a_wrong_number_is_named(wrong, named, tmp_path, without_power, without_pictures):
    (sentence,) = unmet(result_of(tmp_path, **wrong))
    assert f"{named} is" in sentence
    assert "fixed event" in sentence


def test_a_wrong_verdict_is_named(tmp_path, without_power, without_pictures):
    result = result_of(tmp_path)
    wrong, right = (replace(result, expected={"verdict": verdict}) for verdict in ("violation", "consistent"))
    (sentence,) = unmet(wrong)
    assert "fixed event" in sentence
    assert sentence.endswith("verdict is consistent, but the config expects violation.")
    assert unmet(right) == []


def test_expected_numbers_change_no_result(tmp_path, without_power, without_pictures):
    (tmp_path / "b").mkdir()
    a, b = result_of(tmp_path), result_of(tmp_path / "b", BOUND=0.5)
    assert a.fingerprint == b.fingerprint
    assert a.points[0].result == b.points[0].result


@pytest.mark.parametrize("value", ["true", '"1"', "nan"])
def test_what_is_not_a_number_is_refused(value, tmp_path):
    with pytest.raises(ConfigError, match="expected of the case 'fixed event' must be a table"):
        result_of(tmp_path, BOUND=value)


def test_an_unknown_number_is_refused(tmp_path):
    (tmp_path / "question.toml").write_text(CONFIG.replace("exact = CLAIM", "truth = 1.0").replace("BOUND", "1.0"))
    with pytest.raises(ConfigError, match="from claim, exact, lower_bound to a finite number"):
        run(tmp_path / "question.toml", out=tmp_path / "out")


@pytest.mark.parametrize(
    ("mechanism", "threshold", "delta"), [(Laplace(1.0), 0.99, 0.0), (Gaussian(1.0, 1e-2), 0.5, 1e-2)]
)
def test_two_repetitions_differ_by_the_interval_rarely(mechanism, threshold, delta, without_power):
    """At significance 0.2, by counted pairs; at a third of the interval most pairs are outside."""
    bound = JointExact(threshold=threshold, direction="in")
    results = [
        audit(mechanism, attack="likelihood-ratio", bound=bound, trials=2_000, delta=delta, seed=seed)
        for seed in range(160)
    ]
    bounds = np.array([result.bound.epsilon for result in results])
    intervals = np.array([_repetition_interval(result, 0.2) for result in results])
    differences = np.abs(bounds[::2] - bounds[1::2])
    assert intervals.min() > 0.0
    assert (differences > intervals[::2]).sum() <= binom.isf(1e-6, 80, 0.2)
    assert (differences > intervals[::2] / 3.0).sum() > binom.isf(1e-6, 80, 0.2)


def test_a_pilot_leaves_no_interval(without_power):
    assert _repetition_interval(audit(Laplace(1.0), trials=4_000, seed=0), 1e-6) == 0.0
