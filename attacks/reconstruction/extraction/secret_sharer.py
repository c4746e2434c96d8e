"""The secret-sharer attack: the candidate that the private language model finds most probable."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core.base import Outputs
from ....mechanisms.core.constraints import NonNegative, Positive, check_fields
from ....mechanisms.core.errors import AttackError
from ....mechanisms.core.validation import whole
from ....mechanisms.learning.ngrams.alphabet import Alphabet
from ....mechanisms.learning.ngrams.model import NGramModel
from ....mechanisms.learning.ngrams.ngram_counts import NGramCounts
from ..base import Guesser, OneOf, Reconstructor, SecretTarget
from .exposure import ranks


@dataclass(frozen=True)
class SecretSharer(Reconstructor):
    """Guess of the candidate text to which a model of the noisy counts gives the highest probability.

    The canary of Carlini et al. (2019) as a game: in each round one of the candidates is drawn and planted in one
    record, the counts are released once, and the candidates are ranked. The attack uses only what a user of the model
    sees, its probabilities, and nothing about the other texts; `MaximumLikelihood` knows them and has the best success
    probability.

    Args:
        smoothing: smoothing of the model, > 0.
        least: largest count that is treated as noise, >= 0.

    Raises:
        AttackError: a mechanism other than `NGramCounts`, or a secret other than the text of one known record.

    Example:
        >>> secret = OneOf.in_record(["abab", ""], 1, ["aaaa", "bbbb"])
        >>> target = SecretTarget(NGramCounts(50.0, n=2, contribution=3), secret)
        >>> guesser = SecretSharer().fit(target, np.random.default_rng(0))
        >>> guesser.guess(Outputs(np.array([[3, 2, 1, 0], [0, 2, 1, 3]]))).tolist()
        [0, 1]
    """

    _: KW_ONLY
    smoothing: Positive = 0.1
    least: NonNegative = 0.0

    def __post_init__(self) -> None:
        check_fields(self)

    def check(self, target: SecretTarget) -> None:
        """Raise `AttackError` if there is no language model, or no text to guess."""
        if not isinstance(target.mechanism, NGramCounts):
            raise AttackError(
                "the secret-sharer attack reads the counts of n-grams that NGramCounts releases, but the mechanism is "
                f"{type(target.mechanism).__name__}."
            )
        if not isinstance(target.secret, OneOf) or target.secret.record is None:
            raise AttackError(
                "the secret-sharer attack guesses the text of one known record, but the secret is "
                f"{type(target.secret).__name__}. Build it with OneOf.in_record(texts, record, candidates)."
            )

    def fit(self, target: SecretTarget, rng: np.random.Generator) -> Guesser:
        """Return the guesser; no runs are made."""
        return self.ranker(target)

    def ranker(self, target: SecretTarget) -> Ranker:
        """Return the ranker of the candidates, whose `guess` is the best candidate."""
        self.check(target)
        mechanism: Any = target.mechanism
        secret: Any = target.secret
        texts = tuple(str(candidate[secret.record]) for candidate in secret.candidates)
        alphabet = Alphabet(mechanism.alphabet)
        if not all(alphabet.encode([text]).lengths[0] for text in texts):
            raise AttackError("the secret-sharer attack compares texts, but one of the candidates is empty.")
        return Ranker(alphabet, mechanism.n, texts, self.smoothing, self.least)


@dataclass(frozen=True, eq=False)
class Ranker:
    """Log probability of each candidate under the model of each run."""

    alphabet: Alphabet
    n: int
    texts: tuple[str, ...]
    smoothing: float
    least: float

    def scores(self, outputs: Outputs) -> NDArray[np.float64]:
        """Return log probabilities, `(size, n_candidates)`."""
        options = {"least": self.least, "smoothing": self.smoothing}
        return NGramModel.from_counts(outputs.values, self.n, self.alphabet, **options).log_probability(self.texts)

    def guess(self, outputs: Outputs) -> NDArray[np.int64]:
        """Return the first of the candidates with the highest probability, `(size,)`."""
        return np.asarray(self.scores(outputs).argmax(axis=1))


def canary_ranks(
    target: SecretTarget, n_rounds: int, rng: np.random.Generator, *, attack: SecretSharer | None = None
) -> NDArray[np.int64]:
    """Return the rank of the planted canary in independent rounds, each with a fresh canary and a fresh run.

    If the model contains no information on the canary, its rank is r or better with probability at most r / k. With r
    fixed beforehand, `Successes((ranks <= r).sum(), n_rounds, r / k)` is therefore evidence for the bound
    `reconstruction`.

    Args:
        target: counts of n-grams, and a secret of k equally probable texts.
        n_rounds: >= 1.
        rng: random generator of canaries and runs.
        attack: scorer of the candidates; None: the default options.

    Returns:
        `(n_rounds,)` ranks from 1 to k, grouped by canary, not in the order of the rounds.

    Raises:
        AttackError: another kind of target, or candidates that are not equally probable.
    """
    whole(1, n_rounds=n_rounds)
    ranker, secret = (attack or SecretSharer()).ranker(target), target.secret
    assert isinstance(secret, OneOf)
    if not secret.is_uniform:
        raise AttackError("ranks are compared with r / k, which needs candidates that are equally probable.")
    all_ranks = []
    for place, size in enumerate(secret.draw(n_rounds, rng).tolist()):
        if size:
            outputs = target.mechanism.release(secret.candidates[place], size, rng)
            all_ranks.append(ranks(ranker.scores(outputs), np.full(size, place)))
    return np.concatenate(all_ranks)
