"""Assistants that answer from documents, with TF-IDF and extractive answers: leaking ones, and one with a claim.

    Retrieval           answers with the nearest document                         no claim
    ThresholdRetrieval  the same, if the document is near enough                  no claim
    Memory              remembers what its accounts say                           no claim; with `private`, one account
                                                                                  sees nothing of another one
    TwoAgents           a second agent removes all numbers from the answer        no claim
    NoisyVotes          documents vote for a word of a public list                reads * epsilon for one document

**Claim of NoisyVotes.** A document takes part in a question if its similarity to it is above a threshold, and if it
has taken part in fewer than `reads` questions before. Both depend on the document, the questions and nothing else:
vectors are hashed word counts, without the weights of TF-IDF, which depend on all documents. The answer is the word
with the largest epsilon * votes + standard Gumbel noise: a word with n votes has a probability proportional to
exp(epsilon n). A document multiplies one of these weights by e^epsilon, and no probability by more than e^epsilon or
less than e^-epsilon: each question in which it takes part costs epsilon, and others cost nothing. By adaptive
composition the answers to all questions are (reads * epsilon)-DP for a document, added or removed (individual
accounting: Feldman and Zrnic 2021). With `budget_by_account`, an intentionally broken variant, each account has `reads`
of its own: the same claim then holds for one account, and k accounts together see k * reads * epsilon.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ...mechanisms.core import Floats

UNKNOWN = "I do not know."


class Retrieval:
    """Naive retrieval: the document with the largest cosine similarity of TF-IDF vectors is the answer.

    Args:
        documents: the store.
    """

    def __init__(self, documents: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._documents = list(documents)
        self._vectorizer = TfidfVectorizer()
        self._vectors = self._vectorizer.fit_transform(self._documents)

    def nearest(self, prompt: str) -> tuple[str, float]:
        """Return the nearest document and its similarity."""
        similarity = (self._vectors @ self._vectorizer.transform([prompt]).T).toarray().ravel()
        best = int(similarity.argmax())
        return self._documents[best], float(similarity[best])

    def ask(self, prompt: str, account: str = "") -> str:
        """Return the nearest document."""
        return self.nearest(prompt)[0]


class ThresholdRetrieval(Retrieval):
    """Retrieval that answers only if a document is near enough."""

    threshold = 0.6

    def ask(self, prompt: str, account: str = "") -> str:
        """Return the nearest document, or that there is none."""
        document, similarity = self.nearest(prompt)
        return document if similarity >= self.threshold else UNKNOWN


class Memory:
    """Assistant that remembers each message that begins with "Remember:", and answers from what it remembers.

    Args:
        private: whether an account sees its own messages only.
    """

    def __init__(self, *, private: bool = False) -> None:
        self._private = private
        self._remembered: dict[str, list[str]] = defaultdict(list)
        self._retrieval: dict[str, Retrieval] = {}

    def ask(self, prompt: str, account: str = "") -> str:
        """Remember a message, or answer a question."""
        owner = account if self._private else ""
        if prompt.startswith("Remember:"):
            self._remembered[owner].append(prompt.removeprefix("Remember: "))
            self._retrieval.pop(owner, None)
            return "I will."
        if not self._remembered[owner]:
            return UNKNOWN
        if owner not in self._retrieval:
            self._retrieval[owner] = Retrieval(self._remembered[owner])
        return self._retrieval[owner].ask(prompt)


class TwoAgents(ThresholdRetrieval):
    """An agent that retrieves, and one that removes all numbers from what the first has found."""

    def ask(self, prompt: str, account: str = "") -> str:
        """Return the answer of the second agent."""
        found = super().ask(prompt, account)
        if found == UNKNOWN:
            return "There is no such record."
        return f"A record was found: {re.sub('[0-9]+', '[removed]', found)}"


class NoisyVotes:
    """Answers by noisy votes of the documents that are near the question: see the module.

    Args:
        documents: the store.
        words: public list of possible answers; a document votes for the first of its words in it.
        epsilon: of one question, for a document that takes part, > 0.
        reads: number of questions in which a document takes part at most, >= 1.
        budget_by_account: intentionally broken: each account has `reads` of its own.
        seed: of the noise; None takes it from the operating system.
    """

    threshold = 0.75

    def __init__(
        self,
        documents: Sequence[str],
        words: Sequence[str],
        *,
        epsilon: float,
        reads: int = 1,
        budget_by_account: bool = False,
        seed: int | None = None,
    ) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer

        self._words, self._epsilon, self._reads = tuple(words), epsilon, reads
        self._by_account = budget_by_account
        self._vectorizer = HashingVectorizer(n_features=2**14, alternate_sign=False)
        self._vectors = self._vectorizer.transform([*documents, "-"])  # the last row stands for an empty store
        place = {word: i for i, word in enumerate(self._words)}
        votes = [next((place[w] for w in re.findall(r"\w+", text) if w in place), -1) for text in (*documents, "-")]
        self._votes = np.array(votes)
        self._read: dict[str, Floats] = defaultdict(lambda: np.zeros(len(votes)))
        self._rng = np.random.default_rng(seed)

    def similarity(self, prompt: str) -> Floats:
        """Return the cosine similarity of each document to a question."""
        return np.asarray((self._vectors @ self._vectorizer.transform([prompt]).T).toarray().ravel())

    def ask(self, prompt: str, account: str = "") -> str:
        """Return the word with the most noisy votes."""
        similarity = self.similarity(prompt)
        read = self._read[account if self._by_account else ""]
        takes_part = (similarity >= self.threshold) & (read < self._reads) & (self._votes >= 0)
        read += takes_part
        votes = np.bincount(self._votes[takes_part], minlength=len(self._words))
        return self._words[int(np.argmax(self._epsilon * votes + self._rng.gumbel(size=len(votes))))]


__all__ = ["Memory", "NoisyVotes", "Retrieval", "ThresholdRetrieval", "TwoAgents"]
