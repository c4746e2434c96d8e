"""Sizes that no machine holds are refused with the numbers that are to blame; what takes long is announced."""

import time

import numpy as np
import pytest

from dpassay.audit.games.rounds import plan_rounds
from dpassay.audit.trials.plan import Chunk
from dpassay.audit.trials.progress import SilentReporter, TimeLeft
from dpassay.audit.trials.seeds import Stage
from dpassay.experiments.config.schema import Config
from dpassay.experiments.runs import limits, runner
from dpassay.experiments.runs.limits import announced, within_limits
from dpassay.experiments.runs.runner import run
from dpassay.mechanisms.core import ConfigError, ParameterError, memory

TRILLION = 10**12
MEMORY, NO_FLOAT = "memory", "cannot be computed"
TOO_LARGE = {
    "rounds of federated averaging": ("federated", "mechanism.rounds", TRILLION, NO_FLOAT),  # of its accountant
    "features of federated averaging": ("federated", "mechanism.n_features", 2**62, MEMORY),
    "records of MWEM": ("multiplicative-weights", "mechanism.n_records", TRILLION, MEMORY),
    "steps of training": ("membership-purchase", "mechanism.steps", 2**62, MEMORY),
    "repetitions": ("laplace-composition", "sweep.mechanism.times", [TRILLION], MEMORY),
    "records of a survey": ("randomized-response-survey", "data.n", 2**62, MEMORY),
}


@pytest.fixture
def config():
    return Config.load("laplace-count", {"mechanism.sensitivity": 1e9})[0]


@pytest.mark.parametrize("what", TOO_LARGE)
def test_a_size_that_no_machine_holds_is_refused_with_its_key(what, tmp_path):
    name, key, value, reason = TOO_LARGE[what]
    with pytest.raises(ConfigError) as caught:
        run(name, settings={key: value}, out=tmp_path / "run")
    message = str(caught.value)
    assert reason in message
    assert f"{key.removeprefix('sweep.')} = {np.max(value):,}" in message


def test_an_allocation_beyond_the_available_memory_is_refused(config, monkeypatch):
    """Else the system grants it, and ends the process later."""
    monkeypatch.setattr(memory, "available_memory", lambda: 2**28)
    with (
        pytest.raises(ConfigError, match=r"needs more memory .* mechanism\.sensitivity = 1e9\. Reduce"),
        within_limits(config),
    ):
        np.empty(2**27)
    np.empty(2**27)  # the limit ends with the context


def test_numbers_beyond_floats_are_refused_where_they_are_extreme(config):
    with (
        pytest.raises(ConfigError, match=r"cannot be computed \(math range error\).* mechanism\.sensitivity = 1e9"),
        within_limits(config),
    ):
        raise OverflowError("math range error")
    with pytest.raises(OverflowError), within_limits(Config.load("laplace-count")[0]):
        raise OverflowError("an error of the library")


def test_too_many_rounds_are_refused_at_once():
    with pytest.raises(ParameterError, match=r"n_rounds must be at most .* but is 1,000,000,000,000"):
        plan_rounds(TRILLION, 2**20)


def test_a_step_without_progress_is_announced_with_the_extreme_numbers(config, monkeypatch):
    monkeypatch.setattr(limits, "SECONDS", 0.01)
    said = []
    with announced("[1/2] epsilon = 1", config, said.append):
        time.sleep(0.1)
    assert said == [
        "[1/2] epsilon = 1: still running after 0.01 seconds. Extreme numbers in the configuration: "
        "mechanism.sensitivity = 1e9."
    ]
    with announced("quick", config, said.append):
        pass
    assert len(said) == 1


class Kept(SilentReporter):
    def __init__(self):
        self.said = []

    def message(self, text):
        self.said.append(text)


def test_remaining_time_is_extrapolated_and_announced_once(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("dpassay.audit.trials.progress.time.monotonic", lambda: now[0])
    reporter, first = Kept(), Chunk(Stage.EVALUATION, 0, 0, 0, 10)
    timed = TimeLeft(first, lambda: 10_000, reporter)
    for now[0] in (1.0, 3.0, 5.0):
        timed.add(10)
    assert reporter.said == ["evaluation: about 25 minutes left, as the first 20 of 10,000 runs show"]
    quick = TimeLeft(first, lambda: 100, reporter)
    now[0] = 10.0
    quick.add(50)
    assert len(reporter.said) == 1


def test_time_left_for_the_other_audits_is_that_of_the_first(tmp_path, monkeypatch, without_pictures):
    def slow(task, *given):
        now[0] += 100.0
        return answered(task, *given)

    now, answered, said = [0.0], runner.run_task, []
    monkeypatch.setattr(runner, "run_task", slow)
    monkeypatch.setattr(runner.time, "monotonic", lambda: now[0])
    settings = {"audit.trials": 200, "sweep": {"mechanism.epsilon": [0.5, 1.0, 2.0]}}
    run("laplace-count", settings=settings, out=tmp_path / "run", report_line=said.append)
    assert [line for line in said if "left" in line] == [
        "about 3 minutes left for the other 2 audits, if each run takes as long"
    ]
