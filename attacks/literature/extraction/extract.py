"""Extraction of training text: generate, rank, and repeat until the best candidates stay the same.

Candidates are ranked by a signal that a text was in the training data, higher = it was. A high probability alone shows
common texts as well as memorised ones. The other signals divide by a measure of how common a text is: another model,
the same text in lower case, a general compressor (Carlini et al. 2021, section 5.1).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TypeAlias

import numpy as np

from ....mechanisms.core import Bools, Floats, Options, ParameterError, PositiveInt, UnknownNameError
from ....mechanisms.literature.ngrams.model import NGramModel
from .generation import Continuations, TextSampling

Signal: TypeAlias = Callable[[NGramModel, Sequence[str], NGramModel | None], Floats]

WINDOW_SYMBOLS = 10
"""Symbols of a window."""


def scores(name: str, model: NGramModel, texts: Sequence[str], reference: NGramModel | None = None) -> Floats:
    """Return the signal of each text, `(n_texts,)`; `(n_runs, n_texts)` for the models of many runs.

    Args:
        name: one of `EXTRACTION_SIGNALS`.
        model: model under attack.
        texts: candidates.
        reference: a model of other texts of the same kind, for "reference".

    Raises:
        UnknownNameError: no such signal.
        ParameterError: no texts, or an input of the signal is missing.
    """
    if name not in EXTRACTION_SIGNALS:
        raise UnknownNameError("signal", name, EXTRACTION_SIGNALS)
    if not len(texts):
        raise ParameterError("texts must not be empty, but there is no candidate.", argument="texts")
    return EXTRACTION_SIGNALS[name](model, texts, reference)


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


def _against_lower_case(model: NGramModel, texts: Sequence[str], reference: NGramModel | None = None) -> Floats:
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


def _against_zlib(model: NGramModel, texts: Sequence[str], reference: NGramModel | None = None) -> Floats:
    """Return bits that zlib needs / bits that the model needs: a text of one repeated word is short for both."""
    packed = np.array([8.0 * len(zlib.compress(text.encode())) for text in texts])
    return np.asarray(packed / np.maximum(-model.log_probability(texts) / np.log(2.0), 1e-9))


def _best_window(model: NGramModel, texts: Sequence[str], reference: NGramModel | None = None) -> Floats:
    """Return the largest mean log probability of `WINDOW_SYMBOLS` symbols in a row, which detects a memorised part."""
    lengths = _lengths(model, texts)
    window_scores = np.empty(len(texts))
    for length in np.unique(lengths):
        index = np.flatnonzero(lengths == length)
        log_p = model.log_probabilities([texts[i] for i in index.tolist()])
        width = min(WINDOW_SYMBOLS, int(length))
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


EXTRACTION_SIGNALS: dict[str, Signal] = {
    "perplexity": perplexity,
    "reference": against_reference,
    "lower-case": _against_lower_case,
    "zlib": _against_zlib,
    "window": _best_window,
}
"""Name -> signal."""


@dataclass(frozen=True, eq=False)
class RankedCandidates:
    """Candidates, the most suspicious first.

    Args:
        texts: distinct texts.
        scores: `(n_texts,)` values of the signal, non-increasing.
        n_written: number of texts that the model generated, repetitions included.
        n_rounds: number of rounds that were run.
        settled: whether the best candidates stayed the same in the last round.
    """

    texts: tuple[str, ...]
    scores: Floats
    n_written: int
    n_rounds: int
    settled: bool

    def holds(self, secrets: Sequence[str]) -> Bools:
        """Return an array `(n_secrets,)`: whether each secret occurs, letter by letter, in one of the candidates.

        Raises:
            ParameterError: no secrets, or an empty one, which occurs in every text.
        """
        if isinstance(secrets, str) or not len(secrets) or not all(secrets):
            raise ParameterError(
                f"secrets must be a list of texts that are not empty, but are {secrets!r}.", argument="secrets"
            )
        return np.array([any(secret in text for text in self.texts) for secret in secrets])


@dataclass(frozen=True)
class Extraction(Options):
    """Generation of texts by a model, with a membership signal to select probable training texts.

    Each round generates `n_texts` more. The first round starts from the prompt, or from nothing; later rounds also
    start from the first symbols of the best candidates so far. It ends when a round adds no new text to the best
    `keep`, or after `rounds`. (Carlini et al. 2021: candidates by sampling, ranked by a membership signal; repeating
    until the signal is strong: Carlini, Tramer, Wallace et al. 2020.)

    Args:
        sampling: how texts are generated.
        n_texts: texts per round, >= 1.
        keep: number of best candidates, >= 1.
        signal: one of `dpassay.attacks.literature.extraction.extract.EXTRACTION_SIGNALS`.
        rounds: largest number of rounds, >= 1.
        prompt: first symbols of the texts.
        stop: a symbol that ends a text: everything after it is cut off; None: no such symbol.
    """

    sampling: TextSampling
    _: KW_ONLY
    n_texts: PositiveInt = 200
    keep: PositiveInt = 20
    signal: str = "reference"
    rounds: PositiveInt = 10
    prompt: str = ""
    stop: str | None = None

    def run(
        self, model: NGramModel, rng: np.random.Generator, *, reference: NGramModel | None = None
    ) -> RankedCandidates:
        """Return the best candidates.

        Args:
            model: model of one run, under attack.
            rng: the only source of randomness.
            reference: reference model for the signal "reference".

        Raises:
            ParameterError: an input of the signal is missing, or all generated texts are empty.
        """
        best: dict[str, float] = {}
        continuations = Continuations(model, self.sampling)
        n_rounds, settled = 0, False
        while n_rounds < self.rounds and not settled:
            n_rounds, previous_best = n_rounds + 1, set(best)
            generated = {text: 0.0 for text in self._generate(continuations, rng, list(best)) if text}
            if not generated and not best:
                raise ParameterError(
                    f"stop must not end every text before it begins, but is {self.stop!r}, and all of the "
                    f"{self.n_texts} generated texts are empty.",
                    argument="stop",
                )
            new_texts = [text for text in generated if text not in best]
            if new_texts:
                best |= dict(zip(new_texts, scores(self.signal, model, new_texts, reference).tolist(), strict=True))
            best = dict(sorted(best.items(), key=lambda item: (-item[1], item[0]))[: self.keep])
            settled = set(best) == previous_best
        return RankedCandidates(tuple(best), np.array(list(best.values())), n_rounds * self.n_texts, n_rounds, settled)

    def _generate(self, continuations: Continuations, rng: np.random.Generator, best: list[str]) -> list[str]:
        """Return new texts; half of them start from the first symbols of the best texts so far."""
        model, length = continuations.model, self.sampling.length
        starts = sorted(
            {model.alphabet.decode(model.alphabet.encode([text]).tokens[: model.n - 1].tolist()) for text in best}
        )
        starts = [start for start in starts if len(model.alphabet.encode([start]).tokens) < length and start]
        n_from_prompt = self.n_texts if not starts else self.n_texts - self.n_texts // 2
        texts = self.sampling.texts(continuations, n_from_prompt, rng, prompt=self.prompt)
        if starts:
            n_per_start = rng.multinomial(
                self.n_texts - n_from_prompt, np.full(len(starts), 1.0 / len(starts))
            ).tolist()
            for start, number in zip(starts, n_per_start, strict=True):
                texts += self.sampling.texts(continuations, number, rng, prompt=start) if number else []
        return texts if self.stop is None else [text.partition(self.stop)[0] for text in texts]
