"""Signals of texts from the log probabilities of their tokens under a language model. Higher = more like a member.

    l_t: natural logarithm of Pr[token t | tokens before it], t = 1 .. T; m_t and s_t: mean and standard deviation of
    log Pr[z | tokens before t] for a token z drawn from the model; r_t: log probability under a reference model

    loss             mean_t l_t                       minus the log perplexity (Yeom et al. 2018, Carlini et al. 2021)
    zlib             mean_t l_t / bits                minus the ratio of the log perplexity and the length of the text
                                                      compressed by zlib, in bits (Carlini et al. 2021, section 5.1)
    min-k            mean of the smallest l_t         over max(1, floor(k T)) tokens (Shi et al. 2024)
    min-k++          mean of the smallest z_t         z_t = (l_t - m_t) / s_t (Zhang et al. 2024)
    reference        (sum_t l_t - sum_t r_t) / T      log likelihood ratio, per token of the model under attack: with
                                                      equal tokens the difference of the losses
    reference-ratio  - (mean_t l_t) / (mean_t r_t)    minus the ratio of log perplexities (Carlini et al. 2021, 5.1)
    exposure         log2 k - log2 rank               of a canary among itself and its k - 1 alternatives, by sum_t l_t
                                                      (Carlini et al. 2019)

Each signal of a text is a function of the outputs of the models on this text and its alternatives, never of its
membership or of other texts. z_t is moved to its limit e^(-l_t / 2) where rounding exceeds it (see `scored_texts`), and
is 0 where s_t = 0: there the model is uniform or certain.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ...mechanisms.core import AttackError, Bools, Floats, UnknownNameError, positive, unit_interval
from .comparisons import exposure
from .scored_texts import ScoredTexts, largest_z

MIN_K_SHARE = 0.2
"""Default share k of the tokens of min-k and min-k++, that of Shi et al. (2024)."""


def loss(texts: ScoredTexts, share: float = MIN_K_SHARE) -> Floats:
    """Return the mean log probability of a token: minus the log perplexity."""
    return np.array([row.mean() for row in texts.tokens])


def _zlib_ratio(texts: ScoredTexts, share: float = MIN_K_SHARE) -> Floats:
    """Return minus the log perplexity divided by the number of bits of the compressed text."""
    strings = _required(texts.texts, "zlib", "text")
    bits = [8.0 * len(zlib.compress(text.encode("utf-8", "surrogatepass"))) for text in strings]
    return np.asarray(loss(texts) / np.array(bits))


def min_k(texts: ScoredTexts, share: float = MIN_K_SHARE) -> Floats:
    """Return the mean of the `share` smallest log probabilities of each text."""
    return np.array([_mean_of_smallest(row, share) for row in texts.tokens])


def _min_k_plus_plus(texts: ScoredTexts, share: float = MIN_K_SHARE) -> Floats:
    """Return the mean of the `share` smallest standardised log probabilities of each text."""
    means = _required(texts.means, "min-k++", "means and standard_deviations")
    deviations = _required(texts.standard_deviations, "min-k++", "means and standard_deviations")
    rows = []
    for row, m, s in zip(texts.tokens, means, deviations, strict=True):
        spread = np.asarray(s) > 0.0
        limit = largest_z(row)
        with np.errstate(over="ignore"):
            z = np.where(spread, (row - np.asarray(m)) / np.where(spread, s, 1.0), 0.0)
        rows.append(_mean_of_smallest(np.clip(z, -limit, limit), share))
    return np.array(rows)


def against_reference(texts: ScoredTexts, share: float = MIN_K_SHARE) -> Floats:
    """Return the log likelihood ratio of the model and the reference, per token of the model."""
    n_tokens = np.array([len(row) for row in texts.tokens])
    return np.asarray((texts.total - _reference_total(texts, "reference")) / n_tokens)


def _reference_ratio(texts: ScoredTexts, share: float = MIN_K_SHARE) -> Floats:
    """Return minus the ratio of the log perplexity under the model and under the reference."""
    rows = _required(texts.reference_log_probabilities, "reference-ratio", "reference_log_probabilities")
    perplexity = np.array([-np.mean(row) for row in rows])
    if (perplexity <= 0.0).any():
        raise AttackError(
            f"signal 'reference-ratio' divides by the log perplexity of the reference, which is 0 for "
            f"{texts.names[int(np.argmin(perplexity))]!r}. Use 'reference'."
        )
    return np.asarray(loss(texts) / perplexity)


def _exposure_of_canaries(texts: ScoredTexts, share: float = MIN_K_SHARE) -> Floats:
    """Return the exposure of each canary in bits; NaN for texts without alternatives."""
    alternatives = _required(texts.alternatives, "exposure", "alternatives")
    return np.array(
        [
            math.nan if others is None else float(exposure([total], others)[0])
            for total, others in zip(texts.total, alternatives, strict=True)
        ]
    )


def _reference_total(texts: ScoredTexts, signal: str) -> Floats:
    rows = _required(texts.reference_log_probabilities, signal, "reference_log_probabilities")
    return np.array([np.sum(row) for row in rows])


def _required(values: Any, signal: str, field: str) -> Any:
    if values is None:
        raise AttackError(f"signal {signal!r} needs {field}, which these texts do not have.")
    return values


def _mean_of_smallest(values: Floats, share: float) -> float:
    size = max(1, math.floor(share * len(values) * (1.0 + 1e-12)))
    return float(np.partition(values, size - 1)[:size].mean())


TEXT_SIGNALS: dict[str, Callable[[ScoredTexts, float], Floats]] = {
    "loss": loss,
    "zlib": _zlib_ratio,
    "min-k": min_k,
    "min-k++": _min_k_plus_plus,
    "reference": against_reference,
    "reference-ratio": _reference_ratio,
    "exposure": _exposure_of_canaries,
}
"""Name -> signal."""


def signal_of(name: str, texts: ScoredTexts, *, share: float = MIN_K_SHARE) -> Floats:
    """Return one signal, `(n_texts,)`, higher = more like a member.

    NaN only for the exposure of a text that is no canary.

    Args:
        name: one of `TEXT_SIGNALS`.
        texts: texts with the log probabilities of their tokens.
        share: share k of the tokens of min-k and min-k++, in (0, 1].

    Raises:
        UnknownNameError: no such signal.
        AttackError: the texts lack a field that the signal needs.
    """
    if name not in TEXT_SIGNALS:
        raise UnknownNameError("signal", name, TEXT_SIGNALS)
    positive(share=share)
    unit_interval(share=share)
    return TEXT_SIGNALS[name](texts, share)


def default_signal(texts: ScoredTexts) -> str:
    """Return the signal of an audit without a choice: "reference-ratio" if there is a reference, otherwise "loss".

    The rule reads which fields exist, and no values: the signal is fixed before the scores are seen. On n-gram models
    the ratio is close to the better one of "loss", which is best on random strings, and "reference", which is better on
    natural texts.
    """
    return "loss" if texts.reference_log_probabilities is None else "reference-ratio"


def blind_features(texts: ScoredTexts) -> Floats:
    """Return features of the texts without any model, `(n_texts, n_features)`: lengths, characters, hashed words.

    If they separate members from non-members, the two were drawn differently (Das, Zhang and Tramer 2024, "Blind
    baselines beat membership inference attacks for foundation models"), and success shows no memorisation.
    """
    lengths = np.array([[len(row)] for row in texts.tokens], dtype=np.float64)
    if texts.texts is None:
        return lengths
    return np.column_stack([lengths, np.array([_surface(text) for text in texts.texts])])


WORD_BINS = 32


def _surface(text: str) -> list[float]:
    raw, n = text.encode("utf-8", "surrogatepass"), len(text)
    kinds = (str.isdigit, str.isupper, str.isspace, str.isalpha)
    words = np.zeros(WORD_BINS)
    for word in text.split():
        words[zlib.crc32(word.encode("utf-8", "surrogatepass")) % WORD_BINS] += 1.0
    shares = [sum(map(kind, text)) / n for kind in kinds]
    return [float(n), len(zlib.compress(raw)) / n, *shares, *np.log1p(words).tolist()]


def split_by(values: Floats, member: Bools) -> tuple[Floats, Floats]:
    """Return the values of non-members and of members, without NaN."""
    known = ~np.isnan(values)
    return values[known & ~member], values[known & member]
