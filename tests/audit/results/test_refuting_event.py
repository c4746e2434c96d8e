"""A violation shows what was seen: the rule in words, counts, and the first outputs of each side in the event."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpassay.attacks.base import Attack
from dpassay.audit import AuditResult, PairScores, Verdict, audit, audit_scores
from dpassay.audit.results.refuting_event import RefutingEvent, points_to_side_1
from dpassay.audit.trials.examples import Examples, examples, text
from dpassay.audit.trials.plan import Chunk
from dpassay.audit.trials.seeds import Stage
from dpassay.experiments.present.results.sweep import SweepResult, corrected
from dpassay.mechanisms import Laplace, Neighbours, PureDP
from dpassay.mechanisms.adapters.functions.forms import BELOW_ZERO, ResultForm
from dpassay.mechanisms.adapters.functions.names import ResultNames
from dpassay.mechanisms.core import Outputs, number
from dpassay.mechanisms.noise.broken import LaplaceInverseScale

NAMES = ResultNames(ResultForm())
PAIR = Neighbours(["al", "al"], ["al", "al", "bob"], "add_remove")


def histogram(dataset, rng):
    return {key: dataset.count(key) + rng.laplace() for key in sorted(set(dataset))}


@dataclass(frozen=True)
class Reader:
    """Scores the number itself, and says so."""

    def score(self, outputs):
        return np.asarray(outputs.values, dtype=np.float64)

    def describe(self, threshold, *, above=True):
        return f"the answer is {'at least' if above else 'below'} {threshold:.3g}"


class Reading(Attack):
    minimum_pilot = 0

    def fit(self, target, pilot0, pilot1, rng):
        return Reader()


@pytest.fixture(scope="module")
def leak():
    return audit(histogram, PAIR, claim=PureDP(1.0), trials=400, seed=0)


def test_a_key_of_one_side_is_in_three_example_outputs(leak):
    event = leak.deciding
    assert event.above
    assert event.outputs0 == ()
    assert len(event.outputs1) == 3
    assert all(output.startswith("keys al, bob: [") for output in event.outputs1)
    for shown in (leak.summary(), leak.summary(details=False)):
        assert "on side 1   300 of 300 = 1\n" in shown
        assert "on side 0   0 of 300 = 0\n" in shown
        assert "outputs 1   keys al, bob: [" in shown
        assert "outputs 0" not in shown


def test_outputs_are_the_first_of_the_plan_whoever_runs_it(tmp_path):
    broken, options = LaplaceInverseScale(0.2), {"trials": 2_000, "seed": 0}
    plain = audit(broken, **options)
    assert plain.deciding is not None
    assert audit(broken, n_jobs=2, store=tmp_path, **options).to_json() == plain.to_json()
    assert audit(broken, store=tmp_path, **options).to_json() == plain.to_json()
    assert AuditResult.from_json(plain.to_json()).deciding == plain.deciding


def test_example_outputs_are_in_the_event_and_its_rule_is_in_words():
    result = audit(LaplaceInverseScale(0.2), attack=Reading(), trials=2_000, seed=0)
    event = result.deciding
    inside = [float(output) for output in event.outputs0 + event.outputs1]
    assert inside
    assert all((value >= event.threshold) == event.above for value in inside)
    assert event.rule == f"the answer is {'at least' if event.above else 'below'} {event.threshold:.3g}"
    assert f"rule        {event.rule}" in result.summary(details=False)
    assert event.rule in result.summary()


def test_the_report_shows_them_too(leak):
    points, verdict, entry = corrected([{}], [leak], confidence=0.95)
    sweep = SweepResult("a", "a", "", leak.fingerprint, 0, 0.95, points, verdict, (entry,))
    (part,) = sweep.text().parts
    assert part.examples == leak.text().examples
    assert "keys al, bob" in dict(part.examples)["outputs 1"]


def test_what_refutes_nothing_shows_nothing():
    assert audit(Laplace(1.0), trials=500, seed=0).deciding is None
    rng = np.random.default_rng(0)
    scores = audit_scores(PairScores(rng.normal(size=500), rng.normal(9, size=500)), claim=PureDP(0.1), delta=0.0)
    assert scores.verdict is Verdict.VIOLATION
    assert scores.deciding is None  # there are scores, and no outputs


def test_stopping_early_and_counting_on_a_grid_keep_them(monkeypatch):
    stopped = audit(LaplaceInverseScale(0.2), trials=2_000, stop="anytime", seed=0)
    assert stopped.verdict is Verdict.VIOLATION
    monkeypatch.setattr("dpassay.audit.trials.plan.MAX_KEPT_SCORES", 500)
    result = audit(LaplaceInverseScale(0.2), trials=2_000, seed=0)
    assert result.deciding.outputs0 or result.deciding.outputs1


def test_the_event_is_the_one_that_points_to_the_side():
    assert points_to_side_1((1, 500), (1000, 1000))
    assert not points_to_side_1((500, 999), (1000, 1000))


@pytest.mark.parametrize(
    ("values", "events", "shown"),
    [
        ([0.1 + 0.2], None, "0.30000000000000004"),
        ([3], None, "3"),
        ([BELOW_ZERO], None, "-0.0"),
        ([[1.0, 2.5]], None, "[1.0, 2.5]"),
        ([list(range(20))], None, "[0, 1, 2, 3, 4, 5, 6, 7, ... 20 numbers]"),
        ([0.0], ["raised ValueError: no"], "raised ValueError: no"),
    ],
)
def test_outputs_are_shown_with_all_their_digits(values, events, shown):
    labels = None if events is None else np.array(events)
    assert text(Outputs(np.array(values), labels), 0, NAMES) == shown


def test_the_first_chunks_count_in_whatever_order_they_arrive():
    chunks = [Chunk(Stage.EVALUATION, 1, index, 2 * index, 2) for index in range(6)]
    outputs = [Outputs(np.array([2.0 * index, 2.0 * index + 1])) for index in range(6)]
    kept = []
    for order in (range(6), reversed(range(6)), (3, 0, 5, 1, 4, 2)):
        collected = Examples()
        collected.follow([3.0])
        for index in order:
            scores = np.asarray(outputs[index].values)
            collected.add(chunks[index], examples(outputs[index], scores, collected.followed, NAMES))
        kept.append((collected.of(3.0, above=True), collected.of(3.0, above=False), collected.of(4.0, above=True)))
    assert kept == [(((), ("3.0", "4.0", "5.0")), ((), ("0.0", "1.0", "2.0")), None)] * 3


def test_the_name_of_an_event_has_its_score(leak):
    assert replace(leak.deciding, above=False).name == f"score < {number(leak.deciding.threshold)}"
    assert RefutingEvent("", 0.25, True, (), ()).name == "score >= 0.25"
