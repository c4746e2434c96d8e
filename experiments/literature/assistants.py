"""Assistants that answer from documents, with TF-IDF and extractive answers: leaking ones, and one with a claim.

    Retrieval           answers with the nearest document                         no claim
    ThresholdRetrieval  the same, if the document is near enough                  no claim
    Memory              remembers what its accounts say                           no claim; with `private`, one account
                                                                                  sees nothing of another one
    TwoAgents           a second agent removes all numbers from the answer        no claim
    NoisyVotes          documents vote for a word of a public list                reads * epsilon for one document
    NoisyRelevance      says whether a document is near, by a noisy score         GDP(1 / sigma) for one account

**Who takes part.** In the last two a document takes part in a question if its similarity to it is above a threshold,
and if it has taken part in fewer than `reads` questions before. Both depend on the document, the questions and nothing
else: vectors are hashed word counts, without the weights of TF-IDF, which depend on all documents. By adaptive
composition a document costs what the questions cost in which it takes part, and nothing for others (individual
accounting: Feldman and Zrnic 2021).

**Claim of NoisyVotes.** The answer is the word with the largest epsilon * votes + standard Gumbel noise: a word with n
votes has a probability proportional to exp(epsilon n). A document multiplies one of these weights by e^epsilon, and no
probability by more than e^epsilon or less than e^-epsilon: a question costs epsilon, and all of them are
(reads * epsilon)-DP for a document, added or removed. With `budget_by_account`, an intentionally broken variant, each
account has `reads` of its own: the same claim then holds for one account, and k accounts together see
k * reads * epsilon.

**Claim of NoisyRelevance.** The score of a question is 1 if a document takes part, else 0, and normal noise of standard
deviation sigma is added before anything is decided by it. A document changes one score by at most 1 for each account,
which reads it once: sqrt(k) / sigma Gaussian DP for k accounts together, where one account has 1 / sigma (Burnat 2026,
"Auditing privacy in multi-tenant RAG under account collusion"). The mean of k scores separates stores with and without
the document with an AUC of Phi(sqrt(k / 2) / sigma).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ...mechanisms.core import Bools, Floats

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


class _Reads:
    """Store in which a document takes part in questions that are near it, `reads` times for each account, or in all."""

    threshold = 0.75

    def __init__(self, documents: Sequence[str], reads: int, *, by_account: bool) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer

        self._reads, self._by_account = reads, by_account
        self._vectorizer = HashingVectorizer(n_features=2**14, alternate_sign=False)
        self._vectors = self._vectorizer.transform([*documents, "-"])  # the last row stands for an empty store
        self._read: dict[str, Floats] = defaultdict(lambda: np.zeros(self._vectors.shape[0]))

    def similarity(self, prompt: str) -> Floats:
        """Return the cosine similarity of each document to a question."""
        return np.asarray((self._vectors @ self._vectorizer.transform([prompt]).T).toarray().ravel())

    def takes_part(self, prompt: str, account: str) -> Bools:
        """Return which documents take part in a question, and count it."""
        read = self._read[account if self._by_account else ""]
        result = (self.similarity(prompt) >= self.threshold) & (read < self._reads)
        result[-1] = False
        read += result
        return result


class NoisyVotes(_Reads):
    """Answers by noisy votes of the documents that are near the question: see the module.

    Args:
        documents: the store.
        words: public list of possible answers; a document votes for the first of its words in it.
        epsilon: of one question, for a document that takes part, > 0.
        reads: number of questions in which a document takes part at most, >= 1.
        budget_by_account: intentionally broken: each account has `reads` of its own.
        seed: of the noise; None takes it from the operating system.
    """

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
        super().__init__(documents, reads, by_account=budget_by_account)
        self._words, self._epsilon = tuple(words), epsilon
        place = {word: i for i, word in enumerate(self._words)}
        votes = [next((place[w] for w in re.findall(r"\w+", text) if w in place), -1) for text in (*documents, "-")]
        self._votes = np.array(votes)
        self._rng = np.random.default_rng(seed)

    def ask(self, prompt: str, account: str = "") -> str:
        """Return the word with the most noisy votes."""
        cast = self._votes[self.takes_part(prompt, account) & (self._votes >= 0)]
        votes = np.bincount(cast, minlength=len(self._words))
        return self._words[int(np.argmax(self._epsilon * votes + self._rng.gumbel(size=len(votes))))]


class NoisyRelevance(_Reads):
    """Says whether a document is near the question, by a score with normal noise that each account draws anew.

    Args:
        documents: the store.
        sigma: standard deviation of the noise, > 0.
        seed: of the noise; None takes it from the operating system.
    """

    def __init__(self, documents: Sequence[str], *, sigma: float, seed: int | None = None) -> None:
        super().__init__(documents, reads=1, by_account=True)
        self._sigma, self._rng = sigma, np.random.default_rng(seed)

    def ask(self, prompt: str, account: str = "") -> dict[str, str | float]:
        """Return whether the noisy score is above 1/2, and the score, less a constant, as a log probability."""
        score = float(self.takes_part(prompt, account).any()) + self._sigma * self._rng.normal()
        stated = min(0.0, score - 1.0 - 6.0 * self._sigma)  # cut off with probability 1e-9
        return {"answer": "A record was found." if score > 0.5 else UNKNOWN, "log_probability": stated}


__all__ = ["Memory", "NoisyRelevance", "NoisyVotes", "Retrieval", "ThresholdRetrieval", "TwoAgents"]
