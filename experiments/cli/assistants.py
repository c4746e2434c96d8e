"""Assistants on the command line: coins for canary documents, and questions to a program."""

from __future__ import annotations

import secrets
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ...attacks.canaries.documents import secret_documents
from ...audit.games.coins import Coins
from ...audit.metrics.assistants import PILOT, ask_all
from ...mechanisms.adapters.assistants import CommandAssistant, LineAssistant
from ...mechanisms.core import ParameterError, plural
from ..data.canary_files import load_canaries, save_canaries, write_new
from ..tasks.assistants import AssistantAudit
from ..tasks.judgement import planned_for
from .application import print_progress

EVERY = 50
"""Number of questions after which a line of progress is written."""


def toss_documents(
    file: Path, out: Path, documents: Path | None, *, make: int | None, per_unit: int, seed: int | None, **claim: Any
) -> int:
    """Write the coins of canary documents, and the texts of the included ones; with `make`, the canaries too."""
    if documents is None:
        raise ParameterError(
            "--make and --per-unit are for --documents FILE, the texts of the included canaries.", argument="documents"
        )
    for name, path in (("out", out), ("documents", documents), *((("file", file),) if make is not None else ())):
        if path.exists():
            raise ParameterError(f"{name} must be a new file, but {path} exists. Give another name.", argument=name)
    if make is None:
        canaries = load_canaries(file)
    else:
        of_canaries = secrets.randbelow(2**32) if seed is None else seed  # the coins have another stream of it
        canaries = secret_documents(make, seed=of_canaries, per_unit=per_unit)
    planned = planned_for(len(canaries.units), out=out, who="units", negatives=0.0, pilot=PILOT, **claim)
    if make is not None:
        save_canaries(canaries, file)
    coins = Coins.toss(canaries.units, seed=seed, file=out)
    texts = canaries.texts(coins.included_ids)
    write_new(documents, "".join(f"{' '.join(text.split())}\n" for text in texts))
    epsilon, delta = ("E", "D") if claim["epsilon"] is None else (claim["epsilon"], claim["delta"])
    command = ["dpassay", "ask", str(file), "--coins", str(out), "--answers", "answers.jsonl", "--command"]
    sys.stdout.write(
        f"{len(coins.included_ids):,} of {len(coins.ids):,} units are included: {len(texts):,} documents in "
        f"{documents}, one in each line\n"
        f"digest {coins.digest}\n\n{planned}"
        f"Add the documents in {documents} to the store of the assistant, and no others of {file}. Then:\n"
        f"{shlex.join(command)} PROGRAM --epsilon {epsilon} --delta {delta}\n"
    )
    return 0


def ask_program(task: AssistantAudit, command: str | None, *, lines: bool, budget: int | None, timeout: float) -> None:
    """Ask a program all questions that have no answer yet; without a program there must be all answers."""
    if command is None:
        if lines or budget is not None:
            raise ParameterError("--lines and --budget are for --command LINE.", argument="command")
        return
    assistant = (LineAssistant if lines else CommandAssistant)(command, timeout)
    evidence = task.evidence
    if n_known := len(evidence["answers"]):
        print_progress(
            f"{plural(n_known, 'answer')} from {evidence['answers'].file}, not asked again. If the assistant has "
            "changed since, delete the file, or give another one."
        )

    def progress(n_asked: int, n_questions: int) -> None:
        if n_asked % EVERY == 0 or n_asked == n_questions:
            print_progress(f"{n_asked:,} of {n_questions:,} questions")

    with assistant if isinstance(assistant, LineAssistant) else nullcontext(assistant):
        ask_all(
            assistant,
            evidence["canaries"],
            evidence["answers"],
            accounts=task.accounts,
            budget=budget,
            progress=progress,
        )


__all__ = ["ask_program", "toss_documents"]
