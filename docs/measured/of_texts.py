"""Signals of texts: docs/how-to/language-models.md."""

from __future__ import annotations

from functools import partial

import numpy as np
from stated import DOCS, Number

from dpassay.attacks.membership import ScoredTexts
from dpassay.attacks.membership.token_signals import signal_of
from dpassay.audit import Coins
from dpassay.audit.metrics.membership.roc import Pooled
from dpassay.experiments.data.mails import mails
from dpassay.mechanisms.literature.ngrams import Alphabet, NGramCounts, NGramModel

PAGE = DOCS / "how-to" / "language-models.md"
LETTERS = "abcdefghijklmnopqrstuvwxyz 0123456789"
SIGNALS = ("loss", "min-k", "reference", "reference-ratio")


def written(n: int, seed: int, with_code: float = 0.0) -> list[str]:
    """Mails in the alphabet."""
    found = mails(n=n, seed=seed, with_code=with_code).tolist()
    return ["".join(c for c in mail.lower() if c in LETTERS) for mail in found]


def one_auc(random: bool, private: bool, seed: int) -> list[float]:
    """AUC of the signals on one model."""
    rng, alphabet = np.random.default_rng(seed), Alphabet(LETTERS)
    strings = ["".join(rng.choice(list(LETTERS), 12)) for _ in range(1_000)]
    canaries = strings if random else written(1_000, seed, 1.0)
    coins = Coins.toss(range(1_000), seed=seed)
    texts = [text for text, bit in zip(canaries, coins.included, strict=True) if bit] + written(500, 200 + seed)
    n = 3 if private else 5
    model = NGramModel.fit(texts, n, alphabet)
    if private:
        counts = NGramCounts(8.0, n=3, alphabet=LETTERS, contribution=10 if random else 60).release(texts, 1, rng)
        model = NGramModel.from_counts(counts.values[0], 3, alphabet)
    reference = NGramModel.fit(written(1_000, 100 + seed, 0.5), n, alphabet)
    scored = ScoredTexts(
        [np.squeeze(model.log_probabilities([text])) for text in canaries],
        reference_log_probabilities=[reference.log_probabilities([text])[0] for text in canaries],
    )
    return [Pooled.of(signal_of(name, scored), coins.included).auc for name in SIGNALS]


def aucs(random: bool, private: bool) -> list[float]:
    """Mean AUC of the signals over 8 runs."""
    return [float(auc) for auc in np.mean([one_auc(random, private, seed) for seed in range(8)], axis=0)]


NUMBERS = tuple(
    Number(name, PAGE, row, partial(aucs, random, private), 0.002, seconds=8)
    for name, row, random, private in (
        (
            "texts-random",
            "| 12 random characters | 5-grams, exact | {1.000} | {0.940} | {1.000} | {1.000} |",
            True,
            False,
        ),
        (
            "texts-random-private",
            "| 12 random characters | 3-grams, epsilon = 8 | {0.949} | {0.769} | {0.851} | {0.924} |",
            True,
            True,
        ),
        (
            "texts-mails",
            "| mails, each with a code of six digits | 5-grams, exact | {0.977} | {0.978} | {0.991} | {0.999} |",
            False,
            False,
        ),
        (
            "texts-mails-private",
            "| mails, each with a code of six digits | 3-grams, epsilon = 8 | {0.508} | {0.504} | {0.507} | {0.507} |",
            False,
            True,
        ),
    )
)
