"""What the text of an audit says where two of its parts meet: false alarms, witnesses, dependence, labels."""

import dataclasses

import pytest
from tests.experiments.made_results import broken_sweep, laplace_result
from tests.experiments.present.test_forms import MADE, PRIVATE

from dpassay import Laplace, Neighbours, PureDP, audit
from dpassay.audit.bounds.base import LedgerEntry
from dpassay.audit.evidence.game import Game
from dpassay.audit.results.plain import plain
from dpassay.audit.results.refuting_event import RefutingEvent
from dpassay.audit.results.witness import WitnessKind
from dpassay.audit.trials.independence import Dependence
from dpassay.mechanisms.adapters.functions.target import load_target


@pytest.mark.parametrize(("p_value", "n_witness", "repeats"), [(0.01, 0, True), (1e-6, 1, False)])
def test_a_likely_false_alarm_is_repeated_before_its_cause_is_looked_for(p_value, n_witness, repeats):
    result = dataclasses.replace(laplace_result(1.5, claim=1.0), datasets=("[1]", "[2]"), p_value=p_value)
    steps = result.text().next_steps
    assert len(steps) == 2
    assert sum("write a witness" in step for step in steps) == n_witness
    assert steps[0].startswith("Repeat the audit with another seed and confidence=1 - 1e-6.") is repeats
    assert steps[1].startswith("If the claim is refuted again: compare the noise") is repeats


@pytest.mark.parametrize("game", [Game.MEMBERSHIP, Game.RECONSTRUCTION_OF_BITS])
def test_bits_of_one_run_are_repeated_with_new_coins(game):
    """No confidence of 1 - 1e-6 is asked for, at which 1,000 canaries contradict no claim with a delta of 1e-5."""
    result = dataclasses.replace(laplace_result(1.5, claim=1.0), game=game, p_value=0.01, confidence=0.975)
    again = "Repeat the audit with new coins and a new run: a true claim is refuted again with probability at most"
    assert result.text().next_steps[0] == f"{again} 0.025."  # at the level of one of two looks
    assert "repeat it with new coins and a new run before you call the mechanism wrong" in result.text().answer
    scored = dataclasses.replace(result, game=Game.DISTINGUISHING, valid_if="each row is a run.")
    assert scored.text().next_steps[0] == "Repeat the audit on new runs with confidence=1 - 1e-6."


@pytest.mark.parametrize(
    ("size", "pilot", "said"), [(27, 250, "about 5,000 runs"), (25, 250, "about 5,000 runs"), (24, 250, ""), (0, 0, "")]
)
def test_an_attack_that_learned_from_few_runs_says_how_many_would_help(size, pilot, said):
    made = laplace_result(0.5, claim=1.0)
    trials = dataclasses.replace(made.trials, per_side=4 * pilot or 1_000, pilot=pilot, evaluation=3 * pilot or 1_000)
    result = dataclasses.replace(made, learned_numbers=size, trials=trials, exact_epsilon=None)
    told = [step for step in result.text().next_steps if "The attack learned from 250 runs on each side" in step]
    assert len(told) == bool(said)
    assert all(said in step and f"outputs of {size} numbers" in step for step in told)
    violation = dataclasses.replace(laplace_result(1.5, claim=1.0), learned_numbers=size, trials=trials)
    assert not any("learned" in step for step in violation.text().next_steps)


def test_the_size_of_outputs_that_an_attack_learned_from_is_in_the_result():
    def release(dataset, size, rng):
        return rng.laplace(size=(size, 40)) + 0.02 * dataset[0]

    options = {"neighbours": Neighbours([0.0], [1.0], "replace_one"), "claim": PureDP(2.0), "trials": 400, "seed": 0}
    assert audit(release, **options).learned_numbers == 40
    of_one = audit(lambda dataset, size, rng: rng.laplace(size=size) + dataset[0], attack="threshold", **options)
    assert of_one.learned_numbers == 0


def test_outputs_of_a_side_are_one_row_with_those_of_a_witness():
    event = RefutingEvent("output >= 2", 1.5, True, ("0.5",), (PRIVATE[5], "2.5"))
    examples = dataclasses.replace(MADE["witness"](), deciding=event).text().examples
    assert [row for row in examples if row[0].startswith("outputs")] == [
        ("outputs 1", f"{PRIVATE[5]}; 2.5"),
        ("outputs 0", f"0.5; {PRIVATE[4]}"),
    ]


KINDS = """
def kinds(dataset, rng):
    return {"kind": "ok" if len(dataset) > 2 else "bad", "n": 1.0}
"""


def test_the_witness_of_a_function_without_noise_shows_texts_and_not_their_codes(tmp_path):
    (tmp_path / "kinds.py").write_text(KINDS)
    kinds = load_target(f"{tmp_path}/kinds.py:kinds")
    result = audit(kinds, Neighbours([1, 0], [1, 0, 1], "add_remove"), claim=PureDP(1.0), trials=200, seed=0)
    (witness,) = [one for one in result.witnesses if one.kind is WitnessKind.NO_RANDOMNESS]
    assert witness.outputs == (("[kind = 'bad', n = 1.0]",), ("[kind = 'ok', n = 1.0]",))
    assert "gave [kind = 'bad', n = 1.0] on side 0 and [kind = 'ok', n = 1.0] on side 1" in str(witness)


@pytest.mark.parametrize(("p_value", "shown"), [(1e-70, "p <= 1e-10"), (2e-9, "p <= 2e-9")])
def test_the_p_value_of_a_dependence_has_the_floor_of_all(p_value, shown):
    assert f"({shown})" in str(Dependence("chunks", None, p_value, "the rates of chunks differ"))


def test_the_ledger_of_an_experiment_names_its_audits():
    sweep = broken_sweep()
    entry = LedgerEntry("pair", "3 of 9", "chosen on other trials")
    first = dataclasses.replace(sweep.points[0], result=dataclasses.replace(sweep.points[0].result, ledger=(entry,)))
    table = dataclasses.replace(sweep, points=(first, *sweep.points[1:])).text().details[1].table
    assert [cells[-1] for _, cells in table.rows if cells[1] == "3 of 9"] == ["epsilon = 1"]
    others = {cells[-1] for _, cells in table.rows if cells[1] != "3 of 9"}
    assert others == {"the experiment", "epsilon = 2; epsilon = 4"}


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("violation", "verdict"),
        ("weak", "verdict"),
        ("underpowered", "verdict"),
        ("risk clean", "verdict"),
        ("dependent", "result"),
        ("risk without holdout", "result"),
        ("membership", "result"),
    ],
)
def test_a_headline_without_a_verdict_is_no_verdict(name, label):
    assert plain(MADE[name]().text()).startswith(f"{label}  ")


@pytest.mark.parametrize(("trials", "proposed"), [(100, True), (2_000, False)])
def test_a_recording_is_proposed_where_a_function_has_few_runs(trials, proposed):
    pair = Neighbours([1.0], [1.0, 1.0], "add_remove")
    result = audit(lambda d, rng: len(d) + rng.laplace(), pair, claim=PureDP(4.0), trials=trials, seed=0)
    assert any("`record(release, neighbours)`" in step for step in result.text().next_steps) == proposed
    known = audit(Laplace(epsilon=4.0), trials=100, seed=0)
    assert not any("record(" in step for step in known.text().next_steps)
