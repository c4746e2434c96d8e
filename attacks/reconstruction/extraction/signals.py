"""Signals that a text was in the training data, from the probabilities that a model gives it. Higher = it was.

A high probability alone shows common texts as well as memorised ones. The other signals divide by a measure of how
common a text is: another model, the same text in lower case, a general compressor (Carlini et al. 2021, section 5.1).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.errors import ParameterError, UnknownNameError
from ....mechanisms.learning.ngrams.model import NGramModel

Signal: TypeAlias = Callable[[NGramModel, Sequence[str], NGramModel | None], Floats]

WINDOW = 10
"""Symbols of a window."""


def scores(name: str, model: NGramModel, texts: Sequence[str], reference: NGramModel | None = None) -> Floats:
    """Return the signal of each text, `(n_texts,)`; `(n_runs, n_texts)` for the models of many runs.

    Args:
        name: one of `SIGNALS`.
        model: model under attack.
        texts: candidates.
        reference: a model of other texts of the same kind, for "reference".

    Raises:
        UnknownNameError: no such signal.
        ParameterError: no texts, or an input of the signal is missing.
    """
    if name not in SIGNALS:
        raise UnknownNameError("signal", name, SIGNALS)
    if not len(texts):
        raise ParameterError("texts must not be empty, but there is no candidate.", argument="texts")
    return SIGNALS[name](model, texts, reference)


def perplexity(model: NGramModel, texts: Sequence[str], reference: NGramModel | None = None) -> Floats:
    """Return -ln perplexity: the mean log probability of a symbol."""
    return np.asarray(model.log_probability(texts) / _lengths(model, texts))


def against_reference(model: NGramModel, texts: Sequence[str], reference: NGramModel | None = None) -> Floats:
    """Return ln(perplexity under the reference / perplexity)."""
    if reference is None:
        raise ParameterError(
            "reference must be a model of other texts for the signal 'reference', but is None. Train one on texts that "
            "the attacker has, or take another signal.",
            argument="reference",
        )
    return perplexity(model, texts) - perplexity(reference, texts)


def against_lower_case(model: NGramModel, texts: Sequence[str], reference: NGramModel | None = None) -> Floats:
    """Return ln(perplexity of the text in lower case / perplexity): a memorised text has its capitals."""
    lowered = [text.lower() for text in texts]
    symbols = set(model.alphabet.symbols)
    if any(
        symbol not in symbols for text in lowered for symbol in (text if model.alphabet.of_characters else text.split())
    ):
        raise ParameterError(
            "alphabet must contain the lower-case letters for the signal 'lower-case', but lacks some. Add them, or "
            "take another signal.",
            argument="alphabet",
        )
    return perplexity(model, texts) - perplexity(model, lowered)


def against_zlib(model: NGramModel, texts: Sequence[str], reference: NGramModel | None = None) -> Floats:
    """Return bits that zlib needs / bits that the model needs: a text of one repeated word is short for both."""
    packed = np.array([8.0 * len(zlib.compress(text.encode())) for text in texts])
    return np.asarray(packed / np.maximum(-model.log_probability(texts) / np.log(2.0), 1e-9))


def best_window(model: NGramModel, texts: Sequence[str], reference: NGramModel | None = None) -> Floats:
    """Return the largest mean log probability of `WINDOW` consecutive symbols: detects a memorised part of a text."""
    lengths = _lengths(model, texts)
    window_scores = np.empty(len(texts))
    for length in np.unique(lengths):
        index = np.flatnonzero(lengths == length)
        log_p = model.log_probabilities([texts[i] for i in index.tolist()])
        width = min(WINDOW, int(length))
        sums = np.cumsum(log_p, axis=-1)
        windows = sums[..., width - 1 :].copy()
        windows[..., 1:] -= sums[..., :-width]
        best = windows.max(axis=-1) / width
        if window_scores.shape[:-1] != best.shape[:-1]:
            window_scores = np.empty((*best.shape[:-1], len(texts)))
        window_scores[..., index] = best
    return window_scores


def _lengths(model: NGramModel, texts: Sequence[str]) -> Floats:
    return model.alphabet.encode(texts).lengths.astype(np.float64)


SIGNALS: dict[str, Signal] = {
    "perplexity": perplexity,
    "reference": against_reference,
    "lower-case": against_lower_case,
    "zlib": against_zlib,
    "window": best_window,
}
"""Name -> signal."""
