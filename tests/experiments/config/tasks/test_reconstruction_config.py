"""The game of reconstruction in a configuration: [game] name = "reconstruction"."""

import pytest
from tests.experiments.made_configs import planned, refused

from dpassay.attacks.reconstruction import OneOf
from dpassay.audit import audit_scores
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.games import reconstruction_game
from dpassay.audit.results.audit_result import AuditResult
from dpassay.experiments.config.schema import Config
from dpassay.experiments.runs.again import report
from dpassay.experiments.runs.runner import run
from dpassay.mechanisms import KAryRandomizedResponse
from dpassay.mechanisms.core import FingerprintError

GUESSED = """\
[mechanism]
name = "k-ary-randomized-response"
epsilon = 1.0
k = 5
[game]
name = "reconstruction"
n_rounds = 20_000
[audit]
delta = 0.0
bounds = [{ name = "reconstruction", candidates = 5 }]
"""
SURVEY = GUESSED + '[data]\nname = "tax-survey"\nn = 4\n[neighbours]\nrecord = 2\n'
CLAIM = '[claim]\nname = "pure"\nepsilon = 0.8\n'


def answer(text, **settings):
    (task,) = planned(text, **settings)
    return task.answer(task.run())


def test_a_config_plays_the_game_and_concludes_as_the_functions_do():
    mechanism = KAryRandomizedResponse(epsilon=1.0, k=5)
    game = reconstruction_game(mechanism, OneOf.in_record([0], 0, range(5)), n_rounds=20_000, seed=0)
    (task,) = planned(GUESSED)
    bound = task.bounds[0]
    result = answer(GUESSED)
    assert result == audit_scores(
        game, mechanism=mechanism, delta=0.0, confidence=0.9999, bound=bound, attack="maximum-likelihood"
    )
    assert result.verdict is Verdict.CONSISTENT
    assert 0.9 < result.bound.epsilon < 1.0
    assert (result.game.value, result.bound.n_trials) == ("reconstruction", 20_000)
    assert AuditResult.from_json(result.to_json()) == result


def test_a_claim_that_is_too_small_is_refuted_with_evidence():
    result = answer(GUESSED + CLAIM)
    assert result.verdict is Verdict.VIOLATION
    assert result.p_value < 1e-3
    assert "of 20,000 rounds, prior success 0.2" in result.summary(details=False)
    assert "side 0" not in result.summary(details=False)


def test_the_record_of_a_dataset_is_guessed_next_to_the_others():
    (task,) = planned(SURVEY)
    assert [candidate[2] for candidate in task.secret.candidates] == [0, 1, 2, 3, 4]
    assert {len(candidate) for candidate in task.secret.candidates} == {4}
    assert 0.9 < answer(SURVEY).bound.epsilon < 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game.name": "two"}, "game.name must be 'one-run' or 'reconstruction', but is 'two'"),
        ({"game.n_rounds": 0}, "game.n_rounds must be a whole number >= 1"),
        ({"game.n_round": 3}, "unknown key of [game] 'n_round'"),
        ({"game.n_canaries": 3}, "unknown key of [game] 'n_canaries'"),
        ({"audit.trials": 3}, "trials is not used in the game 'reconstruction': leave it out, and set n_rounds"),
        ({"audit.stop": "anytime"}, "stop is not used in the game 'reconstruction'"),
        ({"audit.bounds": ["one-run"]}, "'one-run' does not read the successes of reconstructions"),
        ({"attack.name": "classifier"}, "unknown reconstruction attack 'classifier'. Known:"),
        ({"neighbours.replacement": 1}, "leave replacement out"),
        ({"neighbours.record": 1}, "from -1 to 0, but is 1"),
        (
            {"mechanism": {"name": "laplace", "epsilon": 1.0}},
            "must be set for .* secret = {values =",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(settings, message):
    results = refused(GUESSED, **settings)
    for part in message.split(" .* "):
        assert part in results


def test_a_game_without_rounds_or_name_is_refused():
    assert "game.n_rounds is missing: add a whole number >= 1" in refused(GUESSED.replace("n_rounds = 20_000\n", ""))
    assert "game.name must be" in refused(GUESSED.replace('name = "reconstruction"\nn_rounds', "n_rounds"))
    assert "made.toml:1: game must be a table [game]" in refused("game = 3\n" + GUESSED.split("[game]")[0])
    assert 'made.toml:1: [attack] is a table: write name = "x" below a line [attack].' in refused(
        'attack = "x"\n' + GUESSED.split("[game]")[0]
    )


def test_it_runs_reports_and_resumes_like_the_other_games(tmp_path, without_pixels):
    (tmp_path / "guess.toml").write_text(GUESSED + CLAIM)
    first = run(tmp_path / "guess.toml", out=tmp_path / "one")
    spread = run(tmp_path / "guess.toml", out=tmp_path / "two", n_jobs=2)
    numbers = (tmp_path / "one" / "results.json").read_bytes()
    assert (tmp_path / "two" / "results.json").read_bytes() == numbers
    drawn = {f"{name}.{kind}" for name in ("bound-claim", "audit-01-success") for kind in ("svg", "png")}
    evidence = {"card.md", "card.html", "card.json", "registry.yaml", "results.tex"}
    pages = {"report.html", "report.md"}
    assert {path.name for path in first.files} == {*drawn, "bound-claim-narrow.svg", *evidence, *pages}
    page = (tmp_path / "one" / "report.html").read_text()
    assert "20,000 rounds, each with a fresh secret, a fresh run and one guess" in page
    assert "0 of 1 audits" not in page
    assert "of 20,000 rounds, prior success 0.2" in page
    assert report(tmp_path / "one").verdict is spread.verdict is Verdict.VIOLATION
    (tmp_path / "one" / "results.json").unlink()
    assert run(tmp_path / "guess.toml", out=tmp_path / "one").result == first.result
    assert (tmp_path / "one" / "results.json").read_bytes() == numbers


def test_the_resolved_config_reads_back_and_names_no_trials(tmp_path):
    (tmp_path / "guess.toml").write_text(GUESSED)
    config, _ = Config.load(tmp_path / "guess.toml")
    (tmp_path / "resolved.toml").write_text(config.to_toml())
    assert "trials" not in config.to_toml()
    assert Config.load(tmp_path / "resolved.toml")[0].setup == config.setup


GAUSSIAN = """\
[mechanism]
name = "gaussian"
noise_multiplier = 1.0
n_queries = 2
[game]
name = "reconstruction"
n_rounds = 5_000
secret = { values = [[1, 0], [0, 1], [-1, 0], [0, -1]], reference = [0, 0] }
[audit]
delta = 1e-5
"""
SUM = """\
[mechanism]
name = "laplace"
epsilon = 1.0
sensitivity = 4.0
relation = "replace_one"
query = { name = "sum", lower = 11, upper = 15 }
[data]
name = "wine"
column = "alcohol"
[game]
name = "reconstruction"
n_rounds = 5_000
secret = { values = [11, 12, 13, 14, 15], prior = [0.1, 0.2, 0.4, 0.2, 0.1], tolerance = 1 }
[audit]
"""
COINS = """\
[mechanism]
name = "k-ary-randomized-response"
epsilon = 1.0
k = 2
[game]
name = "reconstruction"
n_rounds = 2
secret = { bits = 400 }
[audit]
"""


def test_values_without_data_are_whole_datasets_next_to_a_reference():
    (task,) = planned(GAUSSIAN)
    assert [candidate.tolist() for candidate in task.secret.candidates] == [[1, 0], [0, 1], [-1, 0], [0, -1]]
    result = answer(GAUSSIAN)
    assert (result.verdict, result.attack) == (Verdict.CONSISTENT, "maximum-likelihood")


def test_values_of_a_record_have_a_prior_and_a_tolerance(without_power):
    (task,) = planned(SUM)
    assert task.secret.prior_success == pytest.approx(0.8)
    assert {len(candidate) for candidate in task.secret.candidates} == {178}
    result = answer(SUM)
    assert "prior success 0.8" in result.summary()
    assert result.verdict is not Verdict.VIOLATION


def test_bits_are_guessed_in_one_run_or_a_few(without_power):
    result = answer(COINS)
    assert (result.trials.per_side, result.trials.n_canaries, result.game.value) == (2, 400, "reconstruction-of-bits")
    assert 0.4 < result.bound.epsilon < 1.0
    assert AuditResult.from_json(result.to_json()) == result


def test_one_of_the_first_records_is_there_with_all_others():
    (task,) = planned(SUM, **{"game.secret": {"candidates": 3}})
    first, second, third = task.secret.candidates
    assert len(first) == len(second) == 176
    assert (first[1:] == second[1:]).all()
    assert (first[1:] == third[1:]).all()
    assert task.secret.prior_success == 1 / 3


def test_a_secret_is_swept_over_like_any_other_option():
    tasks = planned(COINS + '[sweep]\n"game.secret.bits" = [4, 8]\n')
    assert [task.secret.n for task in tasks] == [4, 8]


@pytest.mark.parametrize(
    ("text", "secret", "message"),
    [
        (COINS, {}, "secret must have one of values, candidates, bits, but has none of them"),
        (COINS, {"bits": 3, "values": [0, 1]}, "has values and bits"),
        (COINS, {"bits": 3, "prior": [0.5, 0.5]}, "has prior, which bits do not use"),
        (COINS, {"bits": "smoker"}, "must be a column of the table in [data], but there is no [data]"),
        (COINS, {"candidates": 3}, "needs 3 records of [data] as candidates, but there is no [data]"),
        (COINS, {"values": [0]}, "candidates must be at least 2"),
        (COINS, {"values": [0, 5]}, "from 0 to 1"),
        (COINS, {"values": [0, 1], "prior": [0.5, 0.6]}, "sum to 1"),
        (COINS, {"values": ["a", "b"], "tolerance": 1}, "for values that are numbers"),
        (COINS, {"value": [0, 1]}, "unknown key of [game.secret] 'value'. Did you mean 'values'"),
        (COINS, {"bits": 0}, "secret.bits must be a whole number >= 1"),
        (SUM, {"bits": 3}, "a column of coins that is the whole dataset"),
        (SUM, {"candidates": 300}, "but [data] has 178"),
        (SUM, {"values": [0, 1], "reference": 0}, "reference, which is for values without [data]"),
        (GAUSSIAN, {"values": [[1, 0], [0, 1]]}, "candidates are not neighbours of each other"),
        (GAUSSIAN, {"values": [[2, 0], [0, 1]], "reference": [0, 0]}, "sensitivity"),
        (GAUSSIAN, {"bits": 3}, "play the membership game"),
    ],
)
def test_a_secret_that_cannot_be_drawn_is_refused_before_anything_runs(text, secret, message):
    assert message in refused(text, **{"game.secret": secret})


def test_a_finished_run_on_a_file_that_has_changed_is_not_read_back(tmp_path, without_power, without_pictures):
    table = tmp_path / "people.csv"
    data = f'[data]\nname = "csv"\npath = "{table.as_posix()}"\ncolumn = "sum"\n'
    query = 'query = { name = "count", above = 2 }\n[audit]\ndelta = 0.0\n'
    mechanism = '[mechanism]\nname = "laplace"\nepsilon = 1.0\nrelation = "replace_one"\n' + query
    game = '[game]\nname = "reconstruction"\nn_rounds = 50\nsecret = { values = [0, 5] }\n'
    (tmp_path / "own.toml").write_text(data + mechanism + game)
    table.write_text("sum\n1\n2\n")
    run(tmp_path / "own.toml", out=tmp_path / "out")
    run(tmp_path / "own.toml", out=tmp_path / "out")
    table.write_text("sum\n1\n3\n")
    with pytest.raises(FingerprintError, match="another experiment"):
        run(tmp_path / "own.toml", out=tmp_path / "out")
