"""A private and a non-private character model, audited through files only, on the command line."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from dpassay.audit import Coins
from dpassay.experiments.cli import app
from dpassay.mechanisms.literature.ngrams import Alphabet, NGramCounts, NGramModel

LETTERS = "abcdefghijklmnop"
N = 600


def dpassay(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ids, coins from the command, and a file of texts for each model."""
    folder = tmp_path_factory.mktemp("texts")
    rng = np.random.default_rng(0)
    canaries = {f"c{i}": "".join(rng.choice(list(LETTERS), 10)) for i in range(N)}
    (folder / "ids.txt").write_text("\n".join(canaries))
    done = dpassay("coins", folder / "ids.txt", "--out", folder / "coins.json", "--seed", 0)
    assert done.exit_code == 0, done.output
    texts = [canaries[id_] for id_ in Coins.load(folder / "coins.json").included_ids]
    alphabet = Alphabet(LETTERS)
    counts = (
        NGramCounts(2.0, n=4, alphabet=LETTERS, contribution=7).release(texts, 1, np.random.default_rng(1)).values[0]
    )
    models = {
        "private": NGramModel.from_counts(counts, 4, alphabet),
        "exact": NGramModel.fit(texts, 4, alphabet),
    }
    for name, model in models.items():
        rows = np.squeeze(model.log_probabilities(list(canaries.values()))).tolist()
        lines = [
            {"id": id_, "text": text, "log_probabilities": row, "prefix_tokens": 4}
            for (id_, text), row in zip(canaries.items(), rows, strict=True)
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


@pytest.mark.parametrize(("name", "code", "verdict"), [("private", 0, "CONSISTENT"), ("exact", 1, "VIOLATION")])
def test_the_private_model_is_consistent_and_the_exact_one_exposed(folder, name, code, verdict):
    words = ["--coins", folder / "coins.json", "--epsilon", 2, "--delta", 1e-5, "-v"]
    done = dpassay("text", folder / f"{name}.jsonl", *words)
    assert done.exit_code == code, done.output
    for part in (verdict, "signal: loss, by the rule", "TPR@1 % FPR", "(n, p)-discoverable", "sealed in coins.json"):
        assert part in done.output
    assert "tossed before its run" in " ".join(done.output.split())


@pytest.mark.parametrize(("name", "code"), [("private", 0), ("exact", 1)])
def test_released_texts_alone_expose_the_exact_model(folder, name, code):
    """The exact model writes texts of which few are canaries; the claim is about all that it writes."""
    alphabet, rng = Alphabet(LETTERS), np.random.default_rng(5)
    coins = Coins.load(folder / "coins.json")
    lines = [json.loads(line) for line in (folder / "exact.jsonl").read_text().splitlines()]
    canaries = {line["id"]: line["text"] for line in lines}
    texts = [canaries[id_] for id_ in coins.included_ids]
    if name == "exact":
        model = NGramModel.fit(texts, 4, alphabet)
    else:
        counts = NGramCounts(2.0, n=4, alphabet=LETTERS, contribution=7).release(texts, 1, rng).values[0]
        model = NGramModel.from_counts(counts, 4, alphabet)
    codes = np.empty((2_000, 0), dtype=np.int64)
    for _ in range(10):
        chances = model.next_symbol(codes[:, -3:])[:, : len(LETTERS)].cumsum(axis=1)
        codes = np.column_stack([codes, (chances < rng.random((2_000, 1)) * chances[:, -1:]).sum(axis=1)])
    (folder / "written.txt").write_text("\n".join("".join(LETTERS[c] for c in row) for row in codes))
    rows = [{"id": id_, "text": text} for id_, text in canaries.items()]
    (folder / "canaries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = [
        "--from-release",
        folder / "written.txt",
        "--coins",
        folder / "coins.json",
        "--epsilon",
        2,
        "--delta",
        1e-5,
    ]
    done = dpassay("text", folder / "canaries.jsonl", *words, "--looks", 9)
    assert done.exit_code == code, done.output


def test_scores_and_reports_are_written_and_replaced(folder, without_pixels):
    words = ["text", folder / "exact.jsonl", "--coins", folder / "coins.json", "--epsilon", 2, "--queries", 10]
    for _ in range(2):
        done = dpassay(*words, "--out", folder / "out", "--signal", "min-k")
        assert done.exit_code == 1, done.output
    assert len((folder / "out" / "signals.csv").read_text().splitlines()) == N + 1
    assert len((folder / "out" / "extraction.csv").read_text().splitlines()) == 3
    for part in ("membership", "audit"):
        page = (folder / "out" / part / "report.html").read_text()
        assert "--signal min-k" in page
        assert dpassay("report", folder / "out" / part).exit_code == (part == "audit")
        assert (folder / "out" / part / "report.html").read_text() == page
    whole = dpassay("report", folder / "out")
    assert (whole.exit_code, "Pass one of them" in " ".join(whole.output.split())) == (2, True)
    other = dpassay(*words, "--out", folder / "out")
    assert (other.exit_code, "other options" in " ".join(other.output.split())) == (2, True)


@pytest.mark.parametrize(("value", "lower"), [(0.0, False), (math.nan, False), (-100.0, False), (0.0, True)])
def test_padding_is_cut_and_stated_in_the_terminal_and_the_ledger(value, lower, folder, tmp_path):
    lines = [json.loads(line) for line in (folder / "exact.jsonl").read_text().splitlines()]
    for i, line in enumerate(lines):
        line["log_probabilities"] += [value] * (i % 7)
    (tmp_path / "padded.jsonl").write_text("\n".join(map(json.dumps, lines)))
    words = ["--coins", folder / "coins.json", "--epsilon", 2, "--looks", 9, *(["--zeros", "tokens"] if lower else [])]
    done = dpassay("text", tmp_path / "padded.jsonl", *words, "-v")
    assert done.exit_code == 1, done.output
    assert done.output.count("padding of log_probabilities") == (0 if lower else 2)
    assert ("padding was cut" in done.output) != lower


def test_without_coins_there_is_no_verdict(folder):
    done = dpassay("text", folder / "exact.jsonl")
    assert done.exit_code == 0
    assert "no text has a known membership" in done.output
    assert "epsilon" not in done.output


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--epsilon", 1], "--epsilon need --coins"),
        (["--signal", "loss"], "--signal need --coins"),
        (["--coins", "{coins}"], "--epsilon is required"),
        (["--coins", "{coins}", "--epsilon", -1], "epsilon must be"),
        (["--coins", "{coins}", "--epsilon", 1, "--signal", "zlb"], "zlib"),
        (["--coins", "{coins}", "--epsilon", 1, "--signal", "reference"], "needs reference_log_probabilities"),
        (["--coins", "{coins}", "--epsilon", 1, "--relation", "zero"], "relation"),
        (["--share", 0], "--share must"),
        (["--queries", 0], "--queries must be"),
        (["--p", 1], "--p must"),
        (["--confidence", 2], "--confidence must"),
    ],
)
def test_options_that_do_not_fit_end_in_a_named_error(folder, words, problem):
    done = dpassay("text", folder / "exact.jsonl", *(str(word).format(coins=folder / "coins.json") for word in words))
    assert done.exit_code == 2, done.output
    assert problem in " ".join(done.output.split())
    assert "unexpected error" not in done.output
