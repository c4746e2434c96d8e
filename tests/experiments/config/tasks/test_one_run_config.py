"""The game of one run in a configuration: [game] name = "one-run"."""

import json

import numpy as np
import pytest
from tests.experiments.made_configs import EXAMPLES, GRADIENTS, planned, refused

from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.results.audit_result import AuditResult
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.tasks.one_run import OneRunTask
from dpassay.experiments.config.tasks.pair import PairTask
from dpassay.experiments.config.tasks.planning import plan_tasks
from dpassay.experiments.present.plots.draw import plots_of
from dpassay.experiments.present.plots.tradeoff import Tradeoff
from dpassay.experiments.runs.runner import run
from dpassay.mechanisms.accounting import GaussianDP


def answer(text, **settings):
    (task,) = planned(text, **settings)
    assert isinstance(task, OneRunTask)
    return task.answer(task.run())


def test_gradients_of_every_step_are_attacked_with_bounds_of_one_run():
    result = answer(GRADIENTS)
    assert [bound.method for bound in result.bounds] == ["one-run-fdp", "one-run"]
    assert result.game.describe_trials(result.trials) == "1 run with 400 canaries, each in or out by the toss of a coin"
    assert result.claim == pytest.approx(GaussianDP(10**0.5 / 4.0).epsilon(1e-5))
    bounds = [answer(GRADIENTS, seed=seed).bound.epsilon for seed in range(4)]
    assert 0.25 * result.claim < np.mean(bounds) <= max(bounds) < result.claim
    assert result.verdict is Verdict.CONSISTENT
    assert result.claim < result.detectable < 4.0 * result.claim
    assert AuditResult.from_json(result.to_json()) == result


def test_more_runs_count_more_bits(without_power):
    assert answer(GRADIENTS, **{"game.n_runs": 4}).bound.n_trials == 1600


def test_canaries_that_are_examples_take_the_places_of_records():
    (task,) = planned(EXAMPLES)
    X, y = data_of(task)
    assert (task.canaries.n_examples, task.records.n_examples) == (30, 10)
    assert task.canaries.X.tolist() == X[:30].tolist()
    assert (task.canaries.y != y[:30]).all()
    assert task.records.y.tolist() == y[30:].tolist()
    game = task.run()
    assert game.bits.shape == (1, 30)
    assert 5 < game.bits.sum() < 25
    assert answer(EXAMPLES).attack == "loss"


def data_of(task):
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[:40] / 16.0, y[:40]


def test_an_attack_with_references_gets_them():
    assert answer(EXAMPLES, **{"attack.name": "lira", "game.n_references": 8}).attack == "lira"
    results = refused(EXAMPLES, **{"attack.name": "lira"})
    assert "--set attack.name" in results
    assert "set n_references = 4 or more in [game], which is 0" in results


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mechanism.view": "final"}, 'set view = "noisy_gradients" in [mechanism]'),
        ({"attack.name": "classifier"}, "must be 'likelihood-ratio'"),
        ({"neighbours.canary": "blank"}, "would be the same record 400 times"),
        ({"game.n_canaries": 900}, "weights belong to dead features"),
        ({"audit.bounds": ["joint-exact"]}, "does not read the bits of one run with many canaries"),
        ({"audit.stop": "anytime"}, "stop is not used in the game 'one-run'"),
        ({"mechanism.relation": "zero_out"}, "'zero_out'"),
        ({"game.name": "two"}, "game.name must be 'one-run'"),
        ({"game.n_canaries": 0}, "game.n_canaries must be a whole number >= 1"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(settings, message):
    assert message in refused(GRADIENTS, **settings)


def test_a_game_without_canaries_data_or_trainer_is_refused():
    assert "game.n_canaries is missing" in refused(GRADIENTS.replace("n_canaries = 400\n", ""))
    assert "needs [data], and canary" in refused(GRADIENTS.replace('[neighbours]\ncanary = "dirac"\n', ""))
    laplace = '[mechanism]\nname = "laplace"\nepsilon = 1.0\n[game]\nname = "one-run"\nn_canaries = 5\n'
    assert "needs a trainer, such as dp-sgd, not Laplace" in refused(laplace)


def test_bounds_of_one_run_are_refused_for_a_pair_before_anything_runs():
    laplace = '[mechanism]\nname = "laplace"\nepsilon = 1.0\n[audit]\nbounds = ["one-run"]\n'
    assert "'one-run' does not read the scores of runs on a pair" in refused(laplace)


def test_a_case_of_a_sweep_may_play_another_game(tmp_path, without_power, without_pixels):
    """Pairs and one run side by side, as on the ladder, drawn and reported."""
    pair = GRADIENTS.replace('[game]\nname = "one-run"\nn_canaries = 400\n', "").replace(
        "[audit]\n", "[audit]\ntrials = 100\nbounds = ['accountant-family']\n"
    )
    text = f"""{pair}
[[sweep.case]]
name = "a pair"
[[sweep.case]]
name = "one run"
game = {{ name = "one-run", n_canaries = 400 }}
audit = {{ bounds = ["one-run-fdp"] }}
"""
    (tmp_path / "both.toml").write_text(text)
    config, source = Config.load(tmp_path / "both.toml")
    first, second = plan_tasks(config, source)
    assert (type(first), type(second)) == (PairTask, OneRunTask)
    done = run(tmp_path / "both.toml", out=tmp_path / "out")
    figures = {path.name for path in done.files if path.suffix == ".png"}
    assert {"audit-01-profile.png", "audit-02-tradeoff.png", "audit-02-scores.png"} <= figures
    assert "audit-02-profile.png" not in figures
    page = (tmp_path / "out" / "report.html").read_text()
    assert "1 × 400 canaries" in page
    assert "100 a side" in page
    assert "In 1 of 2 audits, the program was run many times on two datasets" in page
    assert "In 1 of 2 audits, a coin was tossed for each of many canaries" in page
    table = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [point["result"]["trials"]["n_canaries"] for point in table["points"]] == [None, 400]


def test_scores_of_one_run_stand_in_no_band(without_power):
    """One run makes all of them: the band of independent runs would claim too much."""
    result = answer(GRADIENTS)
    plot = Tradeoff.from_result(result)
    assert plot.of_bits
    assert not plot.crossed
    assert "this curve has no confidence band" in plot.caption
    assert list(plots_of(result)) == ["tradeoff", "scores"]
    labels = [line.get_label() for line in plot.plot().lines]
    assert not any("upper curve" in str(label) for label in labels)
    assert np.isfinite(plot.fnr).all()
