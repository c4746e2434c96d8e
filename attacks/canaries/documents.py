"""Canary documents for assistants with retrieval or memory: each has a secret, and a question for it.

Null hypothesis of the audit: see `dpassay.audit.metrics.assistants`. Any documents that are fixed before the coins are
tossed are valid; the secrets are random, so that nothing but the document makes them likely.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from ...mechanisms.core import ParameterError, whole

TOPICS = (
    "access code",
    "case number",
    "account number",
    "file reference",
    "invoice number",
    "room key",
    "badge number",
)
"""What a secret is, in the words of a document; one for each document of a unit."""
SYLLABLES = [f"{consonant}{vowel}" for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


@dataclass(frozen=True)
class CanaryDocument:
    """A document, and what is asked for it.

    Args:
        unit: the unit of the claim that it belongs to: a document, or a person with several documents.
        document: its text, for the store of the assistant.
        secret: words of the document that nothing else makes likely.
        questions: turns of one conversation, from the first on; they do not have the secret.

    Raises:
        ParameterError: an empty text, a secret that is not in the document, or that is in a question.
    """

    unit: str
    document: str
    secret: str
    questions: tuple[str, ...]

    def __post_init__(self) -> None:
        texts = {"unit": self.unit, "document": self.document, "secret": self.secret}
        for name, text in [*texts.items(), *(("questions", question) for question in self.questions)]:
            if not isinstance(text, str) or not text.strip():
                raise ParameterError(f"{name} must be text, not empty, but is {text!r}.", argument=name)
        if not self.questions:
            raise ParameterError("questions must hold one question or more, but is empty.", argument="questions")
        if self.secret not in self.document:
            raise ParameterError(
                f"secret must be a part of the document, but {self.secret!r} is not in {self.document[:60]!r}.",
                argument="secret",
            )
        if any(self.secret in question for question in self.questions):
            raise ParameterError(
                f"questions must not have the secret, but one has {self.secret!r}: an assistant that repeats the "
                "question would seem to know it.",
                argument="questions",
            )


@dataclass(frozen=True, eq=False)
class CanaryDocuments:
    """Canary documents of one audit, in a fixed order.

    Args:
        documents: all of them, of included and excluded units.

    Raises:
        ParameterError: no documents, or two with the same text.

    Example:
        >>> canaries = secret_documents(2, seed=0)
        >>> canaries.documents[0].document
        'The access code of Tupuna Gokebi is 56976559.'
        >>> canaries.texts(canaries.units[:1]) == [canaries.documents[0].document]
        True
    """

    documents: tuple[CanaryDocument, ...]

    def __post_init__(self) -> None:
        if not self.documents:
            raise ParameterError("documents must hold one canary or more, but is empty.", argument="documents")
        if len({canary.document for canary in self.documents}) < len(self.documents):
            raise ParameterError("documents must differ, but two have the same text.", argument="documents")

    @property
    def units(self) -> tuple[str, ...]:
        """The units, in the order of their first documents: the ids of the coins."""
        return tuple(dict.fromkeys(canary.unit for canary in self.documents))

    def texts(self, units: Collection[str]) -> list[str]:
        """Return the texts of the documents of some units, such as `included_ids` of the coins."""
        chosen = set(units)
        return [canary.document for canary in self.documents if canary.unit in chosen]

    @property
    def digest(self) -> str:
        """SHA-256 digest of all documents, in hexadecimal."""
        return hashlib.sha256(json.dumps([astuple(canary) for canary in self.documents]).encode()).hexdigest()


def secret_documents(
    n: int, *, seed: int, per_unit: int = 1, vocabulary: Sequence[str] | None = None, n_tokens: int = 8
) -> CanaryDocuments:
    """Return documents of n units, each with a random secret of a made-up person.

    Args:
        n: number of units, 1 to 100,000.
        seed: seed of names and secrets, which must not be that of coins or of the assistant.
        per_unit: number of documents of a unit, 1 to 7: more than 1 for a claim about persons.
        vocabulary: words of the secrets; None for the decimal digits.
        n_tokens: number of words, or digits, of a secret, >= 1.

    Raises:
        ParameterError: a number out of range, or fewer than two words.
    """
    whole(1, n=n, per_unit=per_unit, n_tokens=n_tokens)
    whole(0, seed=seed)
    if n > 100_000 or per_unit > len(TOPICS):
        name, value, limit = ("n", n, 100_000) if n > 100_000 else ("per_unit", per_unit, len(TOPICS))
        raise ParameterError(argument=name, value=value, allowed=f"be at most {limit:,}")
    words = list("0123456789") if vocabulary is None else list(dict.fromkeys(vocabulary))
    if len(words) < 2:
        raise ParameterError("vocabulary must hold two different words or more.", argument="vocabulary")
    rng = np.random.default_rng(seed)
    names = dict[str, None]()
    while len(names) < n:
        drawn = [SYLLABLES[i] for i in rng.integers(len(SYLLABLES), size=6)]
        names[f"{''.join(drawn[:3]).capitalize()} {''.join(drawn[3:]).capitalize()}"] = None
    between = "" if vocabulary is None else " "
    canaries = []
    for name in names:
        for topic in TOPICS[:per_unit]:
            secret = between.join(words[i] for i in rng.integers(len(words), size=n_tokens))
            text, question = f"The {topic} of {name} is {secret}.", f"What is the {topic} of {name}?"
            canaries.append(CanaryDocument(name, text, secret, (question,)))
    return CanaryDocuments(tuple(canaries))


__all__ = ["CanaryDocument", "CanaryDocuments", "secret_documents"]
