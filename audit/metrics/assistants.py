"""Audit of an assistant with retrieval or memory: which canary documents are in its store, guessed from its answers.

    canary documents -> toss a coin for each unit -> build the store with the included ones -> ask for every document
        -> scores of units, from the answers -> Coins.audit, guesses "in" only

Null hypothesis: the assistant, from the building of its store to its last answer to any account, satisfies the claim
for the unit, added or removed. The unit is a document, or a person with several documents.

Level. Let B be the bits of the units, in two disjoint parts: P of the pilot units, C of the units that count. Which
units are the pilot is fixed by their order, before the toss. Under the null hypothesis all answers T together are
(epsilon, delta)-DP in each bit of C, given any value of P, since the bits are independent. The prompts may depend on
earlier answers: adaptive questions are part of T. The score of a unit that counts is h(T, P): the attack, the
combination over the accounts and the weights of the classifier are functions of the answers and of the pilot bits,
never of a bit in C. So the guesses are functions of T, given P, which is all that the one-run bound asks for; it
assumes nothing of the assistant, and no independence between units. The bound counts the bits of C only. Fixed before
looking: the pilot, the number of accounts, the signal or its choice by the pilot, and the numbers of guesses, all of
them "in".

Accounts. With k accounts T holds the answers to all of them: what k colluding accounts see. A claim for one account is
no claim for k: by basic composition it is k times as large. Audits for several k with the same coins share the level
(`looks`); each is a function of the same store, so that the union bound is all that they need.

Excluded canaries are the baseline: what the assistant answers about documents that it never had.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...attacks.canaries.documents import CanaryDocuments
from ...attacks.membership.answer_signals import LEARNED, SIGNALS, UnitAnswers
from ...mechanisms.core import Guarantee, ParameterError, ReleaseError, UnknownNameError, called_as, plural, whole
from ..bounds.base import LedgerEntry
from ..bounds.catalogue import build, choose_bounds
from ..evidence.scores import BitScores
from ..games.coins import Coins
from ..power.remedies import with_pilot
from ..results.audit_result import AuditResult
from ..trials.answers import Answers

PILOT = 0.2
"""Default share of the units that are the pilot."""


@called_as("audit_assistant(ask, canaries, coins, claim=PureDP(1.0))")
def audit_assistant(
    assistant: Any,
    canaries: CanaryDocuments,
    coins: Coins,
    *,
    claim: Guarantee,
    delta: float | None = None,
    accounts: int = 1,
    signal: str | None = None,
    pilot: float = PILOT,
    budget: int | None = None,
    answers: Path | str | None = None,
    confidence: float = 0.95,
    looks: int = 1,
) -> AuditResult:
    """Ask an assistant for all canary documents, and audit its claim.

    Args:
        assistant: function `ask(prompt, account=...)`, or an object with such a method, built with
            `canaries.texts(coins.included_ids)`. It returns the answer as text, or a dictionary with `answer` and
            `log_probability`, that of the secret. A function of the prompt alone has one account.
        canaries: documents, such as those of `secret_documents`.
        coins: `Coins.toss(canaries.units)`.
        claim: the guarantee of the assistant for one unit, for the answers to all accounts together.
        delta: see `Coins.audit`.
        accounts: number of accounts, named "account 1" and so on, >= 1, each of which asks every question.
        signal: "verbatim", "overlap", "probability" or "learned", chosen before looking; None to choose the attack on
            the pilot.
        pilot: share of the units that are the pilot, the first ones in order, in (0, 1); unused with a signal that
            learns nothing.
        budget: largest number of questions; None for as many as there are.
        answers: JSONL file that keeps the answers: an interrupted run continues from it. None keeps none.
        confidence, looks: see `Coins.audit`. For several numbers of accounts, `looks` is how many.

    Returns:
        The audit; its ledger has the attack, and how it was chosen.

    Raises:
        ParameterError: a budget below the number of questions, coins of other units, answers of another audit.
        ReleaseError: the assistant raises, or answers nothing. Answers before it are kept.

    Example:
        >>> from dpassay.attacks.canaries import secret_documents
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> canaries = secret_documents(500, seed=0)
        >>> coins = Coins.toss(canaries.units, seed=1)
        >>> store = canaries.texts(coins.included_ids)
        >>> def ask(prompt):
        ...     return next((text for text in store if prompt.split(" of ")[1][:-1] in text), "I do not know.")
        >>> result = audit_assistant(ask, canaries, coins, claim=PureDP(1.0))
        >>> result.verdict.value, round(result.bound.epsilon, 2)
        ('violation', 3.08)
    """
    asked = Answers(canaries.digest, coins.digest, None if answers is None else Path(answers))
    check_plan(canaries, coins, signal, pilot)
    ask_all(assistant, canaries, asked, accounts=accounts, budget=budget)
    return audit_answers(
        asked,
        canaries,
        coins,
        claim=claim,
        delta=delta,
        accounts=accounts,
        signal=signal,
        pilot=pilot,
        confidence=confidence,
        looks=looks,
    )


def check_plan(canaries: CanaryDocuments, coins: Coins, signal: str | None, pilot: float) -> None:
    """Check what an audit needs before a question is asked.

    Raises:
        UnknownNameError: no such signal.
        ParameterError: coins of other units than those of the canaries, or a pilot out of range.
    """
    if signal is not None and signal not in SIGNALS:
        raise UnknownNameError("signal", signal, SIGNALS)
    if not 0.0 < pilot < 1.0:
        raise ParameterError(argument="pilot", value=pilot, allowed="be a share of the units, more than 0, less than 1")
    if coins.ids != canaries.units:
        other = sorted(set(coins.ids) ^ set(canaries.units))
        reason = f"{other[0]!r} is not in both" if other else "their order differs"
        raise ParameterError(
            f"coins must be tossed for the {plural(len(canaries.units), 'unit')} of the canaries, in their order, but "
            f"{reason}. Give the coins with which the store was built: Coins.toss(canaries.units).",
            argument="coins",
        )


def ask_all(
    assistant: Any,
    canaries: CanaryDocuments,
    answers: Answers,
    *,
    accounts: int = 1,
    budget: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Ask all questions that have no answer yet, account by account, in the order of the documents.

    Args:
        assistant, canaries, accounts, budget: see `audit_assistant`.
        answers: where the answers are kept.
        progress: called with the number of answers and of questions, after each answer.

    Raises:
        ParameterError, ReleaseError: see `audit_assistant`.
    """
    whole(1, accounts=accounts)
    questions = list(_questions(canaries, accounts))
    if budget is not None and budget < len(questions):
        asked = f"{plural(accounts, 'account')} and {plural(len(canaries.documents), 'document')}"
        raise ParameterError(
            f"budget must be at least {len(questions)}, the number of questions of {asked}, but is {budget}. Raise it, "
            "or make fewer canaries, with new coins.",
            argument="budget",
        )
    ask = _ask_of(assistant, accounts)
    for n_asked, (key, prompt) in enumerate(questions, start=1):
        if answers.get(key) is None:
            answers.add(
                key, *_answered(ask, prompt, f"account {key[1] + 1}", f"question {n_asked} of {len(questions)}")
            )
            if progress is not None:
                progress(n_asked, len(questions))


def audit_answers(
    answers: Answers,
    canaries: CanaryDocuments,
    coins: Coins,
    *,
    claim: Guarantee,
    delta: float | None = None,
    accounts: int = 1,
    signal: str | None = None,
    pilot: float = PILOT,
    confidence: float = 0.95,
    looks: int = 1,
) -> AuditResult:
    """Audit a claim with answers to all questions; arguments and result as for `audit_assistant`.

    Raises:
        ParameterError: coins of other units, missing answers, or a pilot that is too small.
    """
    whole(1, accounts=accounts)
    check_plan(canaries, coins, signal, pilot)
    learns = signal is None or signal == LEARNED
    is_pilot = np.arange(len(coins.ids)) < (round(pilot * len(coins.ids)) if learns else 0)
    counts = ~is_pilot
    if not counts.any():
        raise ParameterError("pilot leaves no unit that counts. Make more canaries.", argument="pilot")
    scores, attack = _collected(answers, canaries, accounts).scores(signal, is_pilot, coins.included[is_pilot])
    counted = coins.among(np.array(coins.ids)[counts].tolist())
    result = counted.audit(
        dict(zip(counted.ids, scores[counts].tolist(), strict=True)),
        claim=claim,
        delta=delta,
        confidence=confidence,
        bound=[build(bound.name, negatives=0.0) for bound in choose_bounds("auto", reads=BitScores, claim=claim)],
        looks=looks,
        source=f"answers to {plural(accounts, 'account')}",
    )
    n_pilot = int(is_pilot.sum())
    by = "the caller" if signal is not None else "the largest AUC on the pilot"
    pilot_text = f"the first {n_pilot} units" if n_pilot else "none"
    ledger = (
        LedgerEntry("attack", f"{attack}, by {by}", "fixed before the counted units were compared with their coins"),
        LedgerEntry("pilot", pilot_text, "not counted in the bound"),
        LedgerEntry("accounts", f"{accounts}, whose answers are combined", "the claim is for all of them together"),
    )
    advice = with_pilot(result.remedies, n_pilot / len(coins.ids))
    return replace(
        result,
        mechanism="assistant",
        attack=f"{attack} of the answers",
        ledger=(*ledger, *result.ledger),
        remedies=advice,
    )


def _questions(canaries: CanaryDocuments, accounts: int) -> Iterator[tuple[tuple[int, int, int], str]]:
    for account in range(accounts):
        for document, canary in enumerate(canaries.documents):
            for turn, question in enumerate(canary.questions):
                yield (document, account, turn), question


def _ask_of(assistant: Any, accounts: int) -> Callable[[str, str], Any]:
    ask = getattr(assistant, "ask", assistant)
    if not callable(ask):
        raise ParameterError(
            "assistant must be a function ask(prompt, account=...), or an object with such a method, but is "
            f"{type(assistant).__name__}.",
            argument="assistant",
        )
    try:
        parameters = inspect.signature(ask).parameters
    except (TypeError, ValueError):
        parameters = {}  # type: ignore[assignment]
    if "account" in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return lambda prompt, account: ask(prompt, account=account)
    if accounts > 1:
        raise ParameterError(
            f"accounts must be 1 for a function of the prompt alone, but is {accounts}. Write ask(prompt, account).",
            argument="accounts",
        )
    return lambda prompt, account: ask(prompt)


def _answered(ask: Callable[[str, str], Any], prompt: str, account: str, which: str) -> tuple[str, float]:
    """Return the answer and the log probability of the secret, NaN for none."""
    kept = "The answers before it are kept, if there is a file for them: the same call continues."
    try:
        returned = ask(prompt, account)
    except Exception as error:
        cause = str(error) if isinstance(error, ReleaseError) else f"{type(error).__name__}: {error}."
        raise ReleaseError(f"the assistant failed at {which}: {cause} {kept}") from error
    stated = returned if isinstance(returned, Mapping) else {"answer": returned}
    text, log_probability = stated.get("answer"), stated.get("log_probability")
    if not isinstance(text, str) or not text.strip():
        raise ReleaseError(
            f"the assistant must answer with text, not empty, but answered {returned!r:.80} to {which}. If it refuses, "
            f"let it say so. {kept}"
        )
    try:
        number = math.nan if log_probability is None else float(log_probability)
    except (TypeError, ValueError):
        raise ReleaseError(
            f"log_probability must be a number, but is {log_probability!r:.80} at {which}. {kept}"
        ) from None
    if number > 0.0 or math.isinf(number):
        raise ReleaseError(
            f"log_probability must be a natural logarithm, finite and at most 0, but is {number:g} at {which}. {kept}"
        )
    return text, number


def _collected(answers: Answers, canaries: CanaryDocuments, accounts: int) -> UnitAnswers:
    """Return the answers to the first accounts, the turns of a conversation joined."""
    questions = list(_questions(canaries, accounts))
    missing = sum(answers.get(key) is None for key, _ in questions)
    if missing:
        raise ParameterError(
            f"answers must hold an answer to each of {len(questions)} questions, but {missing} are missing. Ask "
            "them first, with the same file: `dpassay ask --command` does.",
            argument="answers",
        )
    texts = [[""] * len(canaries.documents) for _ in range(accounts)]
    log_probabilities = np.full((accounts, len(canaries.documents)), np.nan)
    for (document, account, turn), _ in questions:
        text, number = answers.get((document, account, turn)) or ("", math.nan)
        texts[account][document] += f" {text}"
        log_probabilities[account, document] = number  # of the last turn
    return UnitAnswers(canaries.documents, texts, log_probabilities)


__all__ = ["PILOT", "ask_all", "audit_answers", "audit_assistant", "check_plan"]
