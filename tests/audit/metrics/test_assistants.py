"""Audits of assistants: level, accounts, signals, the file of answers, and what is refused."""

import json

import numpy as np
import pytest
from scipy import stats

from dpassay import ApproximateDP, Coins, PureDP, Verdict
from dpassay.attacks.canaries import CanaryDocument, CanaryDocuments, secret_documents
from dpassay.attacks.membership.answer_signals import UnitAnswers
from dpassay.audit.metrics import audit_assistant
from dpassay.mechanisms.core import AttackError, ParameterError, ReleaseError, UnknownNameError

WORDS = [f"{a}{b}" for a in "abcdefgh" for b in "klmnopqr"]


def made(n=200, seed=1, **options):
    canaries = secret_documents(n, seed=0, **options)
    return canaries, Coins.toss(canaries.units, seed=seed)


def store_of(canaries, coins):
    """Question -> document, of the included canaries."""
    included = set(coins.included_ids)
    return {one.questions[0]: one.document for one in canaries.documents if one.unit in included}


def leaking(canaries, coins):
    store = store_of(canaries, coins)
    return lambda prompt, account: store.get(prompt, "I do not know.")


# --- level ------------------------------------------------------------------------------------------------------------


def refutations(assistant_of, claim, *, runs, canaries, **options):
    """Number of audits at 80 % confidence that refute a claim."""
    refuted = 0
    for run in range(runs):
        coins = Coins.toss(canaries.units, seed=run)
        result = audit_assistant(
            assistant_of(coins, np.random.default_rng(run)), canaries, coins, claim=claim, confidence=0.8, **options
        )
        refuted += result.verdict is Verdict.VIOLATION
    return refuted


def test_pilot_units_are_not_counted_so_that_what_is_learned_of_them_refutes_no_true_claim():
    """Answers of random words are independent of the coins; a classifier of 64 words separates 60 pilot units."""
    canaries = secret_documents(120, seed=0)

    def assistant_of(coins, rng):
        return lambda prompt: " ".join(rng.choice(WORDS, 20))

    runs = 30
    refuted = refutations(assistant_of, PureDP(0.05), runs=runs, canaries=canaries, signal="learned", pilot=0.5)
    assert refuted <= stats.binom.isf(1e-6, runs, 0.2)


@pytest.mark.parametrize(("signal", "accounts"), [("verbatim", 1), pytest.param(None, 2, marks=pytest.mark.slow)])
def test_true_claim_of_randomised_response_is_not_refuted_and_half_of_it_is(signal, accounts):
    """Each unit is answered by a randomised response of its presence with epsilon 2, the same for all accounts."""
    canaries = secret_documents(500, seed=0)

    def assistant_of(coins, rng):
        store = store_of(canaries, coins)
        truth = {one.questions[0]: rng.random() < 1 / (1 + np.exp(-2.0)) for one in canaries.documents}
        secret = {one.questions[0]: one.secret for one in canaries.documents}
        return lambda prompt, account: secret[prompt] if (prompt in store) == truth[prompt] else "nothing"

    runs, options = 25, {"canaries": canaries, "signal": signal, "accounts": accounts}
    assert refutations(assistant_of, PureDP(2.0), runs=runs, **options) <= stats.binom.isf(1e-6, runs, 0.2)
    assert refutations(assistant_of, PureDP(1.0), runs=runs, **options) == runs


def test_audits_of_several_numbers_of_accounts_are_looks_at_the_same_coins():
    canaries, coins = made()
    ask = leaking(canaries, coins)
    results = [
        audit_assistant(ask, canaries, coins, claim=PureDP(1.0), accounts=k, signal=signal, looks=2)
        for k, signal in [(1, None), (2, "overlap")]
    ]
    assert not any("judged before" in warning for result in results for warning in result.warnings)
    third = audit_assistant(ask, canaries, coins, claim=PureDP(1.0), pilot=0.3, looks=2)
    assert any("the 3 looks" in warning for warning in third.warnings)


# --- what is asked, and what it shows ---------------------------------------------------------------------------------


def test_assistant_that_returns_its_documents_is_refuted_with_500_questions():
    canaries, coins = made(500)
    result = audit_assistant(leaking(canaries, coins), canaries, coins, claim=ApproximateDP(2.0, 1e-5), budget=500)
    assert result.verdict is Verdict.VIOLATION
    assert result.bound.epsilon >= 3.0
    choices = {entry.what: entry.looked_at for entry in result.ledger}
    assert choices["attack"] == "verbatim, by the largest AUC on the pilot"
    assert choices["pilot"] == "the first 100 units"
    assert "400 in 1 run" in choices["canaries"]


def test_a_person_with_three_documents_is_one_unit():
    canaries, coins = made(120, per_unit=3)
    assert len(canaries.documents) == 360
    result = audit_assistant(leaking(canaries, coins), canaries, coins, claim=PureDP(1.0), signal="verbatim")
    assert {e.what: e.looked_at for e in result.ledger}["canaries"].startswith("120 in 1 run")
    assert result.verdict is Verdict.VIOLATION


def test_a_leak_in_other_words_is_found_by_the_learned_signal():
    canaries, coins = made(400)
    store = store_of(canaries, coins)

    def ask(prompt):
        return "A record was found." if prompt in store else "There is no such person."

    result = audit_assistant(ask, canaries, coins, claim=PureDP(1.0))
    assert result.attack == "learned of the answers"
    assert result.verdict is Verdict.VIOLATION


def test_a_leak_to_one_of_three_accounts_is_found_by_their_largest_signal_or_the_learned_one():
    canaries, coins = made(400)
    store = store_of(canaries, coins)

    def ask(prompt, account):
        return store.get(prompt, "no") if account == "account 2" else "no"

    assert audit_assistant(ask, canaries, coins, claim=PureDP(1.0), accounts=3).verdict is Verdict.VIOLATION


def test_secrets_are_found_in_other_spellings_and_not_inside_of_other_words():
    canaries = [CanaryDocument("a", "the code is AB 12", "AB 12", ("code?",))]
    texts = ["It is ab12.", "(AB-12)", "ab 123", "xab 12", "none"]
    answers = UnitAnswers(canaries, [[text] for text in texts], np.full((5, 1), np.nan))
    assert answers.signals["verbatim"].ravel().tolist() == [1, 1, 0, 0, 0]


def test_turns_of_a_conversation_are_asked_in_order_and_read_together():
    asked = []
    turns = ("Who are you?", "What is the code?")
    canaries = CanaryDocuments(
        tuple(CanaryDocument(f"unit {i}", f"code {i:08d}", f"{i:08d}", (*turns, f"{i}?")) for i in range(1, 121))
    )
    coins = Coins.toss(canaries.units, seed=0)
    included = set(coins.included_ids)

    def ask(prompt):
        asked.append(prompt)
        number = len(asked) // 3 + 1
        return f"{number:08d}" if prompt == turns[1] and f"unit {number}" in included else "nothing"

    result = audit_assistant(ask, canaries, coins, claim=PureDP(0.5), signal="verbatim")
    assert asked[:4] == [*turns, "1?", turns[0]]
    assert result.verdict is Verdict.VIOLATION


def test_stated_probabilities_are_a_signal():
    canaries, coins = made(400)
    store = store_of(canaries, coins)

    def ask(prompt):
        return {"answer": "no", "log_probability": -1.0 if prompt in store else -9.0}

    result = audit_assistant(ask, canaries, coins, claim=PureDP(1.0), signal="probability")
    assert result.verdict is Verdict.VIOLATION
    with pytest.raises(AttackError, match="log_probability"):
        audit_assistant(lambda prompt: "no", canaries, coins, claim=PureDP(1.0), signal="probability")
    with pytest.raises(ReleaseError, match="at most 0, but is 2 at question 1"):
        audit_assistant(lambda p: {"answer": "no", "log_probability": 2}, canaries, coins, claim=PureDP(1.0))


# --- the file of answers ----------------------------------------------------------------------------------------------


def test_an_interrupted_run_continues_from_its_stored_answers(tmp_path):
    canaries, coins = made(100)
    file, asked = tmp_path / "answers.jsonl", []
    answer = leaking(canaries, coins)

    def stops(prompt):
        asked.append(prompt)
        if len(asked) == 41:
            raise KeyboardInterrupt
        return answer(prompt, "")

    with pytest.raises(KeyboardInterrupt):
        audit_assistant(stops, canaries, coins, claim=PureDP(1.0), answers=file)
    with file.open("a") as stream:
        stream.write('{"document": 40, "acc')  # a line that a killed process has cut
    result = audit_assistant(stops, canaries, coins, claim=PureDP(1.0), answers=file)
    assert len(asked) == 101
    assert asked[40] == asked[41]
    whole = audit_assistant(answer, canaries, Coins.toss(canaries.units, seed=1), claim=PureDP(1.0))
    assert result.bound == whole.bound
    assert all(json.loads(line) for line in file.read_text().splitlines())
    assert len(file.read_text().splitlines()) == 101
    audit_assistant(stops, canaries, coins, claim=PureDP(1.0), answers=file)
    assert len(asked) == 101


def test_answers_of_another_audit_are_refused(tmp_path):
    canaries, coins = made(100)
    file = tmp_path / "answers.jsonl"
    audit_assistant(leaking(canaries, coins), canaries, coins, claim=PureDP(1.0), answers=file)
    with pytest.raises(ParameterError, match="other coins"):
        audit_assistant(str, canaries, Coins.toss(canaries.units, seed=7), claim=PureDP(1.0), answers=file)
    others = secret_documents(100, seed=5)
    with pytest.raises(ParameterError, match="other canaries"):
        audit_assistant(str, others, Coins.toss(others.units, seed=7), claim=PureDP(1.0), answers=file)
    file.write_text("id,answer\n1,no\n")
    with pytest.raises(ParameterError, match="must be a file of answers"):
        audit_assistant(str, canaries, coins, claim=PureDP(1.0), answers=file)


# --- what is refused --------------------------------------------------------------------------------------------------


def failing(prompt):
    raise OSError("no network")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (failing, "failed at question 1 of 100: OSError: no network"),
        (lambda prompt: " ", "must answer with text, not empty, but answered ' ' to question 1"),
        (lambda prompt: None, "must answer with text, not empty, but answered None"),
    ],
)
def test_assistants_without_an_answer_are_refused(ask, message):
    canaries, coins = made(100)
    with pytest.raises(ReleaseError, match=message):
        audit_assistant(ask, canaries, coins, claim=PureDP(1.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 99}, "budget must be at least 100"),
        ({"accounts": 2, "budget": 199}, "budget must be at least 200"),
        ({"accounts": 0}, "accounts must"),
        ({"pilot": 1.0}, "pilot must be a share"),
        ({"pilot": 0.05}, "pilot must hold 5 included and 5 excluded"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    canaries, coins = made(100)
    with pytest.raises(ParameterError, match=message):
        audit_assistant(leaking(canaries, coins), canaries, coins, claim=PureDP(1.0), **options)


def test_coins_of_other_units_unknown_signals_and_what_cannot_be_asked_are_refused():
    canaries, coins = made(100)
    with pytest.raises(ParameterError, match="coins must be tossed for the 100 units"):
        audit_assistant(str, canaries, Coins.toss(range(100), seed=0), claim=PureDP(1.0))
    with pytest.raises(UnknownNameError, match="verbatim"):
        audit_assistant(str, canaries, coins, claim=PureDP(1.0), signal="verbatm")
    with pytest.raises(ParameterError, match="must be a function ask"):
        audit_assistant(3, canaries, coins, claim=PureDP(1.0))
    with pytest.raises(ParameterError, match="accounts must be 1 for a function of the prompt alone"):
        audit_assistant(lambda prompt: "no", canaries, coins, claim=PureDP(1.0), accounts=2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("a", "the code is 12", "13", ("code?",)), "secret must be a part"),
        (("a", "the code is 12", "12", ("is it 12?",)), "must not have the secret"),
        (("a", " ", "12", ("code?",)), "document must be text"),
        (("a", "the code is 12", "12", ()), "one question or more"),
    ],
)
def test_canaries_that_show_nothing_are_refused(fields, message):
    with pytest.raises(ParameterError, match=message):
        CanaryDocument(*fields)


def test_sets_of_canaries_are_checked():
    one = CanaryDocument("a", "the code is 12", "12", ("code?",))
    with pytest.raises(ParameterError, match="two have the same text"):
        CanaryDocuments((one, one))
    with pytest.raises(ParameterError, match="is empty"):
        CanaryDocuments(())
    for options, message in [({"per_unit": 9}, "per_unit must be at most 7"), ({"vocabulary": ["a"]}, "two different")]:
        with pytest.raises(ParameterError, match=message):
            secret_documents(3, seed=0, **options)


@pytest.mark.parametrize("stated", ["high", [-1.0], {}])
def test_a_log_probability_that_is_no_number_is_refused_with_its_question(stated):
    canaries = secret_documents(20, seed=0)
    with pytest.raises(ReleaseError, match=r"log_probability must be a number, but is .* at question 1 of 20"):
        audit_assistant(
            lambda prompt: {"answer": "yes", "log_probability": stated},
            canaries,
            Coins.toss(canaries.units, seed=1),
            claim=PureDP(1.0),
            signal="probability",
        )


def test_what_an_audit_would_need_counts_the_pilot_too():
    canaries, coins = made(96)
    result = audit_assistant(leaking(canaries, coins), canaries, coins, claim=PureDP(2.0))
    assert (result.verdict, result.mechanism) == (Verdict.UNDERPOWERED, "assistant")
    assert result.remedies[0].trials > 96, "77 units count, and 96 are too few"
