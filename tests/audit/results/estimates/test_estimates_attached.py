"""Best guesses next to the bound of a result: asked for by name, shown everywhere, and of no weight in the verdict."""

from dataclasses import replace

import pytest

from dpassay.audit import AuditResult, BitScores, audit, audit_scores
from dpassay.audit.evidence.scores import PairCounts
from dpassay.audit.results.estimates.posterior import bayesian
from dpassay.audit.results.with_estimates import ESTIMATES, with_estimates
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.tasks.planning import plan_tasks
from dpassay.experiments.runs.runner import run
from dpassay.mechanisms import Laplace, PureDP
from dpassay.mechanisms.core import ConfigError, ParameterError, ResultError

CONFIG = 'seed = 3\n[mechanism]\nname = "laplace"\nepsilon = 1.0\n[audit]\ntrials = 2_000\n'


@pytest.fixture(scope="module")
def result():
    return audit(Laplace(epsilon=1.0), trials=5_000, seed=0)


def test_guesses_read_the_event_of_the_bound_and_change_nothing_else(result):
    guessed = with_estimates(result, list(ESTIMATES))
    assert [one.method for one in guessed.estimates] == list(ESTIMATES)
    assert replace(guessed, estimates=()) == result
    counts = PairCounts(result.tally)
    wanted = bayesian(counts, threshold=result.bound.threshold, delta=result.delta, level=result.confidence)
    assert guessed.estimates[0] == wanted
    assert result.bound.epsilon < wanted.value
    assert AuditResult.from_json(guessed.to_json()) == guessed
    assert guessed.summary().count("estimate, no guarantee") == 3
    assert "estimate" not in result.summary()
    assert with_estimates(result, []) == result


def test_a_guess_far_above_the_claim_is_no_violation(result):
    between = 0.5 * (result.bound.epsilon + with_estimates(result, ["bayesian"]).estimates[0].value)
    kept = with_estimates(replace(result, claim=between), ["bayesian"])
    assert kept.estimates[0].value > kept.claim
    kept.check()  # the verdict follows from bound, claim and ceiling, whatever is guessed
    with pytest.raises(ResultError, match="the verdict is 'consistent', but"):
        replace(result, claim=0.98 * result.bound.epsilon).check()


def test_a_guess_that_the_counts_do_not_allow_is_a_warning(result):
    nowhere = audit(Laplace(epsilon=1.0), trials=2_000, seed=0, stop="anytime")
    assert nowhere.bound.threshold is None
    guessed = with_estimates(nowhere, ["bayesian", "plug-in"])
    assert [one.method for one in guessed.estimates] == ["plug-in"]
    assert any("no estimate 'bayesian': betting uses no single event" in text for text in guessed.warnings)


def test_names_and_games_that_do_not_fit_are_refused(result):
    with pytest.raises(ParameterError, match=r"Did you mean 'bayesian'"):
        with_estimates(result, ["baysian"])
    with pytest.raises(ParameterError, match=r"must be a list of names, such as \['bayesian'\]"):
        with_estimates(result, "bayesian")
    bits = [[True, False] * 50]
    of_bits = audit_scores(BitScores(bits, bits), claim=PureDP(8.0), delta=0.0)
    with pytest.raises(ParameterError, match="the game is 'membership'"):
        with_estimates(of_bits, ["bayesian"])


def test_a_config_asks_for_them(tmp_path, one_picture, without_pixels):
    (tmp_path / "mine.toml").write_text(CONFIG + 'estimates = ["bayesian", "katz-log"]\n')
    done = run(tmp_path / "mine.toml", out=tmp_path / "out")
    assert [one.method for one in done.result.points[0].result.estimates] == ["bayesian", "katz-log"]
    assert {"estimate_bayesian", "estimate_katz_log"} <= set(done.result.to_frame().columns)
    assert "estimate, no guarantee (katz-log)" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('estimates = ["baysian"]\n', "mine.toml:7: .*Did you mean 'bayesian'"),
        ('estimates = "bayesian"\n', r"mine.toml:7: .*estimates must be a list"),
        (
            'estimates = ["bayesian"]\n[game]\nname = "reconstruction"\nn_rounds = 100\n',
            "mine.toml:7: .*estimates is not used in the game 'reconstruction'",
        ),
    ],
)
def test_what_is_wrong_in_a_config_is_shown_with_its_line(tmp_path, lines, message):
    path = tmp_path / "mine.toml"
    path.write_text((CONFIG.replace("trials = 2_000", "confidence = 0.9") if "[game]" in lines else CONFIG) + lines)
    with pytest.raises(ConfigError, match=message):
        plan_tasks(*Config.load(path))
