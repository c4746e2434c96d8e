"""Shadow models made of normal numbers, whose best attacks are known."""

from dataclasses import replace

import numpy as np
from scipy import special

from dpassay.attacks.membership.shadows import Shadows, draw_inclusion
from dpassay.attacks.membership.signals import LABEL_ONLY_SIGNALS, WHITE_BOX_SIGNALS

Z_ALARM = 4.9
"""Standard errors of a two-sided test with a false-alarm rate of 1e-6."""


def auc(scores, inclusion):
    """Share of pairs in which the member scores higher; ties as halves."""
    there = ~np.isnan(scores)
    out, in_ = np.sort(scores[there & ~inclusion]), scores[there & inclusion]
    below = np.searchsorted(out, in_, side="left") + np.searchsorted(out, in_, side="right")
    return float(below.mean() / (2 * len(out)))


def tpr_at(scores, inclusion, fpr):
    """Share of the members above the threshold that a share `fpr` of the non-members exceeds."""
    out, in_ = np.sort(scores[~inclusion]), scores[inclusion]
    return float(np.mean(in_ > out[len(out) - 1 - int(fpr * len(out))]))


def one_target(signal_in, signal_out, references, *, name="loss"):
    """One target with half of the records, and references without any of them.

    `signal_in`, `signal_out`: signals of the target on its members and on others; `references`: (n_references, n).
    """
    n_in = len(signal_in)
    member = np.arange(n_in + len(signal_out)) < n_in
    values = np.concatenate([np.concatenate([signal_in, signal_out])[None], references])
    inclusion = np.concatenate([member[None], np.zeros(references.shape, dtype=bool)])
    return Shadows(inclusion, np.zeros(len(member)), {name: values})


def gaussian(n_models, n_records, shift, rng, *, design="pairs", name="rescaled-logit", spread=0.0):
    """Signals N(difficulty + shift * bit, 1), difficulty N(0, spread^2)."""
    inclusion = draw_inclusion(n_models, n_records, rng, design=design)
    values = rng.normal(size=inclusion.shape) + shift * inclusion + spread * rng.normal(size=n_records)
    partner = np.arange(n_models) ^ 1 if design == "pairs" else None
    return Shadows(inclusion, np.zeros(n_records), {name: values}, partner=partner, fair=True)


def softmax_shadows(n_models, n_records, rng, *, leak=0.0, n_classes=4, n_population=40, design="pairs"):
    """Random logits, of the same law for members and others if `leak` is 0; all that any attack can read."""
    inclusion = draw_inclusion(n_models, n_records, rng, design=design)
    population = _softmax(np.zeros((n_models, n_population), dtype=bool), rng, leak, n_classes)
    partner = np.arange(n_models) ^ 1 if design == "pairs" else None
    return replace(_softmax(inclusion, rng, leak, n_classes), population=population, partner=partner, fair=True)


def _softmax(inclusion, rng, leak, n_classes):
    n_models, n = inclusion.shape
    y = rng.integers(n_classes, size=n)
    logits = rng.normal(size=(n, n_classes)) + rng.normal(size=(n_models, n, n_classes))
    logits[:, np.arange(n), y] += 1.0 + leak * inclusion
    others = {
        name: rng.normal(size=inclusion.shape) + leak * inclusion for name in (*WHITE_BOX_SIGNALS, *LABEL_ONLY_SIGNALS)
    }
    log_p = logits - special.logsumexp(logits, axis=-1, keepdims=True)
    return Shadows(inclusion, y, others, log_probabilities=log_p, X=rng.normal(size=(n, 3)))
