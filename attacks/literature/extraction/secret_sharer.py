"""The secret-sharer attack, and exposure: the rank of a planted canary among all texts that could have been planted.

A canary is drawn uniformly from a space of |R| texts. With rank = 1 + number of other texts to which the model gives
a probability at least as large,

    exposure = log2 |R| - log2 rank        bits; log2 |R| at most (Carlini et al. 2019, definition 6)

A canary that was never in the data has a uniform rank: its mean exposure is log2 |R| - log2(|R|!) / |R|, which tends to
1 / ln 2 = 1.443 bits. A learner that is epsilon-DP when the canary is replaced by another ranks the true one first with
probability at most e^epsilon / (e^epsilon + |R| - 1). An exposure estimated with a fitted law is an
`ExtrapolatedExposure` and not evidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ....mechanisms.core.arrays import Floats, Ints
from ....mechanisms.core.base import Outputs
from ....mechanisms.core.constraints import NonNegative, Positive
from ....mechanisms.core.errors import AttackError, ParameterError
from ....mechanisms.core.guarantee import Guarantee
from ....mechanisms.core.root_finding import bisect
from ....mechanisms.core.validation import whole
from ....mechanisms.literature.ngrams.alphabet import Alphabet
from ....mechanisms.literature.ngrams.model import NGramModel
from ....mechanisms.literature.ngrams.ngram_counts import NGramCounts
from ...membership.memorization import exposure_of_rank
from ...reconstruction.base import Guesser, Reconstructor, SecretTarget, record_secret


def ranks(scores: ArrayLike, place: ArrayLike) -> Ints:
    """Return 1 + the number of other candidates that score at least as high as the true one.

    Args:
        scores: `(..., n_candidates)`, higher = likelier.
        place: `(...)` index of the true candidate.
    """
    values = np.asarray(scores, dtype=np.float64)
    if not values.shape or not values.shape[-1]:
        raise ParameterError("candidates must not be empty, but there are no scores.", argument="candidates")
    true = np.take_along_axis(values, np.asarray(place)[..., None], axis=-1)
    return np.asarray((values >= true).sum(axis=-1), dtype=np.int64)


def exposure(model: NGramModel, candidates: Sequence[str], canary: str) -> Floats:
    """Return the exact exposure of a canary among all candidates; `()`, or `(n_runs,)` for many runs.

    Args:
        model: model under attack.
        candidates: all texts that the canary was drawn from, itself included.
        canary: one of the candidates.

    Raises:
        ParameterError: no candidates, or a canary that is not one of them.
    """
    if canary not in candidates:
        raise ParameterError(argument="canary", value=canary, allowed=f"be one of the {len(candidates)} candidates")
    index = list(candidates).index(canary)
    scores = model.log_probability(candidates)
    return exposure_of_rank(ranks(scores, np.full(scores.shape[:-1], index)), len(candidates))


@dataclass(frozen=True)
class ExtrapolatedExposure:
    """Exposure estimated from sampled alternatives: a number without coverage.

    Args:
        sampled: bits, from the share of the samples that score at least as high, including the canary itself.
        value: bits, from the tail of a skew-normal law fitted to the samples: it can exceed `limit`.
        limit: largest possible value of `sampled`: log2(samples + 1).
        label: why there is no coverage.
    """

    sampled: float
    value: float
    limit: float
    label: str = "no coverage: a skew-normal law is fitted to sampled alternatives"


def extrapolated_exposure(canary: float, samples: ArrayLike) -> ExtrapolatedExposure:
    """Estimate the exposure from scores of randomly drawn alternatives (Carlini et al. 2019, section 4.3).

    Args:
        canary: log probability of the canary.
        samples: `(n,)` log probabilities of alternatives, uniform from the space; at least 8, not all equal.

    Raises:
        ParameterError: fewer samples, or samples without spread.
    """
    from scipy.stats import skewnorm

    values = np.asarray(samples, dtype=np.float64).ravel()
    if len(values) < 8 or not np.isfinite(values).all() or np.ptp(values) == 0.0:
        raise ParameterError(
            f"samples must be at least 8 finite numbers that are not all the same, but are {len(values)} from "
            f"{values.min(initial=math.inf):.4g} to {values.max(initial=-math.inf):.4g}. Sample more alternatives.",
            argument="samples",
        )
    above = int((values >= canary).sum())
    shape, centre, scale = skewnorm.fit(values)
    tail = float(skewnorm.logsf(canary, shape, centre, scale))
    bits = -tail / math.log(2.0) if math.isfinite(tail) else math.inf
    return ExtrapolatedExposure(-math.log2((1 + above) / (1 + len(values))), bits, math.log2(1 + len(values)))


def max_first_rank_probability(guarantee: Guarantee, size: int) -> float:
    """Return the largest probability with which a canary can be ranked first, or guessed, under a guarantee.

    The guarantee holds when the canary is replaced by another; the probability is the gamma with
    gamma = 1 - f((1 - gamma) / (size - 1)). For epsilon-DP it is e^epsilon / (e^epsilon + size - 1).

    Example:
        >>> from dpassay.mechanisms import PureDP
        >>> round(max_first_rank_probability(PureDP(1.0), 1024), 6) == round(math.e / (math.e + 1023), 6)
        True
    """
    whole(2, size=size)

    def too_large(gamma: float) -> bool:
        return 1.0 - float(guarantee.tradeoff((1.0 - gamma) / (size - 1))) <= gamma

    return bisect(too_large, 1.0 / size, 1.0, steps=60)[1]


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
        >>> from dpassay.attacks.reconstruction import OneOf
        >>> secret = OneOf.in_record(["abab", ""], 1, ["aaaa", "bbbb"])
        >>> target = SecretTarget(NGramCounts(50.0, n=2, contribution=3), secret)
        >>> guesser = SecretSharer().fit(target, np.random.default_rng(0))
        >>> guesser.guess(Outputs(np.array([[3, 2, 1, 0], [0, 2, 1, 3]]))).tolist()
        [0, 1]
    """

    _: KW_ONLY
    smoothing: Positive = 0.1
    least: NonNegative = 0.0

    def check(self, target: SecretTarget) -> None:
        if not isinstance(target.mechanism, NGramCounts):
            raise AttackError(
                "the secret-sharer attack reads the counts of n-grams that NGramCounts releases, but the mechanism is "
                f"{type(target.mechanism).__name__}."
            )
        record_secret(target, "the secret-sharer attack")

    def fit(self, target: SecretTarget, rng: np.random.Generator) -> Guesser:
        return self.ranker(target)

    def ranker(self, target: SecretTarget) -> Ranker:
        """Return the ranker of the candidates, whose `guess` is the best candidate."""
        self.check(target)
        mechanism: Any = target.mechanism
        secret = record_secret(target, "the secret-sharer attack")
        texts = tuple(str(candidate[secret.record]) for candidate in secret.candidates)
        alphabet = Alphabet(mechanism.alphabet)
        if not all(alphabet.encode([text]).lengths[0] for text in texts):
            raise AttackError("the secret-sharer attack compares texts, but one of the candidates is empty.")
        return Ranker(alphabet, mechanism.n, texts, self.smoothing, self.least)


@dataclass(frozen=True, eq=False)
class Ranker:
    """Guesser of the first of the candidates with the highest probability under the model of each run."""

    alphabet: Alphabet
    n: int
    texts: tuple[str, ...]
    smoothing: float
    least: float

    def scores(self, outputs: Outputs) -> Floats:
        """Return log probabilities, `(size, n_candidates)`."""
        options = {"least": self.least, "smoothing": self.smoothing}
        return NGramModel.from_counts(outputs.values, self.n, self.alphabet, **options).log_probability(self.texts)

    def guess(self, outputs: Outputs) -> Ints:
        return np.asarray(self.scores(outputs).argmax(axis=1))


def canary_ranks(
    target: SecretTarget, n_rounds: int, rng: np.random.Generator, *, attack: SecretSharer | None = None
) -> Ints:
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
    ranker, secret = (attack or SecretSharer()).ranker(target), record_secret(target, "the secret-sharer attack")
    if not secret.is_uniform:
        raise AttackError("ranks are compared with r / k, which needs candidates that are equally probable.")
    all_ranks = []
    for index, size in enumerate(secret.draw(n_rounds, rng).tolist()):
        if size:
            outputs = target.mechanism.release(secret.candidates[index], size, rng)
            all_ranks.append(ranks(ranker.scores(outputs), np.full(size, index)))
    return np.concatenate(all_ranks)
