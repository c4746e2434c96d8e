"""Assistants on the command line: canaries and coins, questions to a program, verdict, and what is refused."""

import json
import re
import shlex
import sys

import pytest
from typer.testing import CliRunner

from dpassay.experiments.cli import app
from dpassay.experiments.runs.verification import verify
from dpassay.mechanisms.adapters.assistants import CommandAssistant, LineAssistant
from dpassay.mechanisms.core import ReleaseError

ANSWERS = """
import json, sys
store = open("documents.txt").read().splitlines()
for line in sys.stdin:
    asked = json.loads(line)["prompt"].removeprefix("What is the ").removesuffix("?")
    print(json.dumps(next((text for text in store if asked in text), "I do not know.")), flush=True)
"""
STOPS = ANSWERS.replace("for line in sys.stdin:", "for n, line in enumerate(sys.stdin):\n    if n == 30: sys.exit(3)")
ONE = "import sys; asked = sys.stdin.read(); print('I do not know', asked)"


def dpassay(*words):
    done = CliRunner().invoke(app, list(map(str, words)))
    return done.exit_code, " ".join(done.output.split())


def program(text):
    return shlex.join([sys.executable, "-c", text])


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Return the folder of 120 canaries, their coins, and the included documents."""
    monkeypatch.chdir(tmp_path)
    code, seen = dpassay(*toss("--make", 120, "--seed", 0, "--epsilon", 1))
    assert code == 0, seen
    assert "120 units, 96 of them without the pilot, can contradict epsilon 1 at delta 0" in seen
    assert "dpassay ask canaries.jsonl --coins coins.json --answers answers.jsonl --command PROGRAM --epsilon 1" in seen
    return tmp_path


def toss(*words, out="coins.json", documents="documents.txt"):
    return ("coins", "canaries.jsonl", "--out", out, "--documents", documents, *words)


def ask(*words, answers="answers.jsonl", epsilon=1):
    return dpassay("ask", "canaries.jsonl", "--coins", "coins.json", "--answers", answers, "--epsilon", epsilon, *words)


def test_files_of_canaries_hold_the_included_documents_only(files):
    canaries = [json.loads(line) for line in (files / "canaries.jsonl").read_text().splitlines()]
    included = json.loads((files / "coins.json").read_text())["included"]
    stored = (files / "documents.txt").read_text().splitlines()
    assert stored == [one["document"] for one in canaries if one["unit"] in set(included)]


def test_a_leaking_assistant_is_refuted_and_its_run_can_be_verified(files):
    code, seen = ask("--command", program(ANSWERS), "--lines", "--budget", 120, "--out", "audit")
    assert code == 1, seen
    assert "120 of 120 questions" in seen
    assert "VIOLATION" in seen
    assert (files / "audit" / "card.html").exists()
    assert verify(files / "audit", files=files).agrees
    code, again = ask()
    assert code == 1, "the answers in the file are judged without a program"
    assert "VIOLATION" in again


def test_an_interrupted_program_continues(files):
    code, seen = ask("--command", program(STOPS), "--lines")
    assert code == 2
    assert "ended, or closed its output, before it answered" in seen
    assert len((files / "answers.jsonl").read_text().splitlines()) == 31
    code, seen = ask()
    assert code == 2
    assert "90 are missing" in seen
    code, seen = ask("--command", program(ANSWERS), "--lines")
    assert code == 1
    assert "30 answers from answers.jsonl, not asked again. If the assistant has changed since, delete the file" in seen
    assert len((files / "answers.jsonl").read_text().splitlines()) == 121


def test_an_assistant_that_knows_nothing_is_consistent_and_weak_evidence_is_a_failure_with_strict(files):
    (files / "canaries.jsonl").write_text("\n".join((files / "canaries.jsonl").read_text().splitlines()[:20]))
    assert dpassay(*toss("--epsilon", 3, out="c.json", documents="d.txt"))[0] == 2, "20 units show nothing of epsilon 3"
    assert dpassay(*toss("--epsilon", 3, "--force", out="c.json", documents="d.txt"))[0] == 0
    words = ("ask", "canaries.jsonl", "--coins", "c.json", "--answers", "a.jsonl", "--epsilon", 3)
    words = (*words, "--signal", "verbatim", "--command", program(ONE))
    assert dpassay(*words)[0] == 0
    assert dpassay(*words, "--strict")[0] == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--command", "false"], "'false' ended with exit code 1"),
        (["--command", "true"], "must answer with text, not empty"),
        (["--command", "no-such-program"], "cannot be started"),
        (["--command", "no-such-program", "--lines"], "cannot be started"),
        (["--command", "sleep 9", "--timeout", "0.2"], "took longer than"),
        (["--command", "sleep 9", "--timeout", "0.2", "--lines"], "took longer than"),
        (
            ["--command", program("print('INFO loading', flush=True); input()"), "--lines"],
            "wrote 'INFO loading' as an answer",
        ),
        (["--command", program(ANSWERS + "    print('done', flush=True)"), "--lines"], "wrote 'done' "),
        (["--command", "true", "--budget", "119"], "--budget must be at least 120"),
        (["--command", "true", "--accounts", "2", "--budget", "120"], "--budget must be at least 240"),
        (["--signal", "loud", "--command", "true"], "verbatim"),
        ([], "120 are missing. Ask them first"),
        (["--budget", "120"], "are for --command LINE"),
        (["--command", "true", "--coins", "others.json"], "coins must be tossed for the 120 units"),
    ],
)
def test_what_is_refused(files, words, message):
    (files / "ids.txt").write_text("\n".join(f"id {i}" for i in range(120)))
    assert dpassay("coins", "ids.txt", "--out", "others.json")[0] == 0
    code, seen = ask(*words)
    assert code == 2
    assert message in seen, seen


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "line 1 must be one JSON object"),
        ('{"document": "a 1", "secret": "1"}', "line 1 must be one JSON object"),
        ('{"document": "a 1", "secret": "2", "question": "a?"}', "secret must be a part of the document"),
        ("", "one canary or more"),
    ],
)
def test_files_that_hold_no_canaries_are_refused(tmp_path, monkeypatch, line, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "canaries.jsonl").write_text(line)
    code, seen = dpassay(*toss())
    assert code == 2
    assert message in seen, seen
    assert not (tmp_path / "coins.json").exists()


def test_no_file_is_overwritten(files):
    for words in (toss(), toss("--make", 9, out="c.json", documents="d.txt"), toss(out="c.json")):
        code, seen = dpassay(*words)
        assert code == 2
        assert "must be a new file" in seen
    assert dpassay("coins", "canaries.jsonl", "--out", "c.json", "--make", 9)[0] == 2


def test_programs_see_the_account_and_the_question():
    shown = CommandAssistant("sh -c 'read question; echo $DPASSAY_ACCOUNT: $question'")
    assert shown.ask("Who?", account="account 2") == "account 2: Who?"
    remembers = "import sys\nn = 0\nfor line in sys.stdin:\n    n += 1; print(f'\"{n}\"', flush=True)"
    once = LineAssistant(program(remembers))
    for _ in range(2):
        with once as assistant:
            assert [assistant.ask("a", "1"), assistant.ask("b", "2")] == ["1", "2"], "it is started once for all"
    with pytest.raises(ReleaseError, match="exit code 1"):
        CommandAssistant("false").ask("Who?", account="")


def test_what_coins_promise_is_what_answers_can_show(files):
    """A perfect attack on 96 units refutes epsilon 2 only if all of them count; a fifth is the pilot."""
    words = ("coins", "k.jsonl", "--out", "c.json", "--documents", "d.txt", "--epsilon", 2, "--make")
    code, seen = dpassay(*words, 96)
    assert code == 2
    assert "96 units, 77 of them without the pilot, cannot contradict epsilon 2" in seen
    needed = int(re.search(r"with (\d+) canaries in all", seen)[1])
    assert dpassay(*words, needed - 2)[0] == 2
    assert dpassay(*words, needed)[0] == 0


def test_a_program_that_closes_its_output_and_goes_on_is_no_reason_to_wait():
    closes = "import os, sys\nprint('\"a\"', flush=True)\nos.close(1)\nfor line in sys.stdin: pass"
    with LineAssistant(program(closes)) as assistant:
        assert assistant.ask("a", "1") == "a"
        for prompt in ("b", "c"):
            with pytest.raises(ReleaseError, match="closed its output"):
                assistant.ask(prompt, "1")
