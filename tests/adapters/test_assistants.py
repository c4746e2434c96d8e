"""The program with Chroma on the page on assistants: `dpassay ask` refutes a claim of it."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpassay.experiments.cli import app

pytest.importorskip("chromadb")

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "assistants.md"


def test_naive_retrieval_with_chroma_is_refuted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (program,) = (
        code for code in re.findall(r"```py\n(.*?)```", PAGE.read_text(), flags=re.DOTALL) if "chromadb" in code
    )
    Path("assistant.py").write_text(program)
    toss = "coins canaries.jsonl --make 200 --documents documents.txt --out coins.json --epsilon 1 --seed 1"
    assert CliRunner().invoke(app, shlex.split(toss)).exit_code == 0
    ask = "ask canaries.jsonl --coins coins.json --answers answers.jsonl --lines --epsilon 1 --signal verbatim"
    done = CliRunner().invoke(app, [*shlex.split(ask), "--command", shlex.join([sys.executable, "assistant.py"])])
    assert done.exit_code == 1, done.output
    assert len(Path("answers.jsonl").read_text().splitlines()) > 200, "a head, and an answer a question"
