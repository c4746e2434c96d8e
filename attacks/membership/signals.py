"""Signals: one number per model and record, computed from the predicted probabilities. Higher = more like a member.

    p_k: predicted probability of class k; y: label of the record

    loss               log p_y                                                       (minus the loss)
    confidence         p_y
    entropy            sum_k p_k log p_k                                             (minus the entropy)
    modified-entropy   (1 - p_y) log p_y + sum_{k != y} p_k log(1 - p_k)             (Song and Mittal 2021, minus)
    margin             log p_y - max_{k != y} log p_k                                (difference of logits)
    rescaled-logit     log p_y - log sum_{k != y} p_k                                (Carlini et al. 2022)
    correct            1 if no class is more probable than y, else 0
    gradient-norm      - || gradient of the loss ||                                  (white box: the model gives it)

All are computed from log probabilities: `1 - p_y` is never formed by subtraction, so that a record on which the model's
error probability is 1e-17 still has a distinct value. Log probabilities below `MIN_LOG_PROBABILITY` (a class that is
new to the model) are replaced by `MIN_LOG_PROBABILITY`, which has the effect of adding 1e-45 to each probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import AttackError, Floats

Labels = NDArray[Any]

MIN_LOG_PROBABILITY = float(np.log(1e-45))
"""Smallest log probability that is distinguished from 0."""


def loss(log_p: Floats, y: Labels) -> Floats:
    """Return the log probability of the label: minus the cross-entropy loss (Yeom et al. 2018).

    Args:
        log_p: `(..., n_records, n_classes)` log probabilities.
        y: `(n_records,)` labels 0 .. n_classes - 1.

    Returns:
        Signal, `(..., n_records)`.

    Example:
        >>> p = np.log([[0.7, 0.2, 0.1]])
        >>> loss(p, np.array([0])).round(4)
        array([-0.3567])
    """
    return np.maximum(_of_label(log_p, y), MIN_LOG_PROBABILITY)


def confidence(log_p: Floats, y: Labels) -> Floats:
    """Return the probability of the label."""
    return np.exp(_of_label(log_p, y))


def entropy(log_p: Floats, y: Labels) -> Floats:
    """Return minus the entropy of the prediction, nats; the label is not used.

    Example:
        >>> entropy(np.log([[0.7, 0.2, 0.1]]), np.array([0])).round(4)
        array([-0.8018])
    """
    floored = np.maximum(log_p, MIN_LOG_PROBABILITY)
    return np.asarray(np.sum(np.exp(floored) * floored, axis=-1))


def _modified_entropy(log_p: Floats, y: Labels) -> Floats:
    """Return minus the modified entropy: 0 for a certain, correct prediction, towards -inf for a certain, wrong one.

    References:
        Song and Mittal (2021), "Systematic evaluation of privacy risks of machine learning models", equation (8).

    Example:
        >>> _modified_entropy(np.log([[0.7, 0.2, 0.1]]), np.array([0])).round(4)
        array([-0.1622])
    """
    floored = np.maximum(log_p, MIN_LOG_PROBABILITY)
    of_class = np.exp(floored) * _log_complements(log_p)
    rest = np.exp(_of_label(_log_complements(log_p), y))
    return np.asarray(rest * _of_label(floored, y) + np.sum(of_class, axis=-1) - _of_label(of_class, y))


def margin(log_p: Floats, y: Labels) -> Floats:
    """Return the log probability of the label minus that of the best other class: the difference of their logits.

    Example:
        >>> margin(np.log([[0.7, 0.2, 0.1]]), np.array([0])).round(4)
        array([1.2528])
    """
    best_other = np.max(_without_label(log_p, y), axis=-1)
    return np.asarray(loss(log_p, y) - np.maximum(best_other, MIN_LOG_PROBABILITY))


def rescaled_logit(log_p: Floats, y: Labels) -> Floats:
    """Return the log odds of the label: nearly normal over models, hence the signal of LiRA.

    References:
        Carlini et al. (2022), "Membership inference attacks from first principles", section V-C.

    Example:
        >>> rescaled_logit(np.log([[0.7, 0.2, 0.1]]), np.array([0])).round(4)
        array([0.8473])
        >>> rescaled_logit(np.array([[-1e-17, np.log(1e-17)]]), np.array([0])).round(2)
        array([39.14])
    """
    return np.asarray(loss(log_p, y) - _log_sum(_without_label(log_p, y)))


def correct(log_p: Floats, y: Labels) -> Floats:
    """Return 1 where no class is more probable than the label, else 0."""
    right: Floats = (_of_label(log_p, y) >= np.max(log_p, axis=-1)).astype(np.float64)
    return right


SIGNALS: dict[str, Callable[[Floats, Labels], Floats]] = {
    "loss": loss,
    "confidence": confidence,
    "entropy": entropy,
    "modified-entropy": _modified_entropy,
    "margin": margin,
    "rescaled-logit": rescaled_logit,
    "correct": correct,
}
"""Signals that need only log probabilities."""


def from_loss(name: str, log_p: Floats) -> Floats:
    """Compute a signal from the log probability of the label: "confidence" or "rescaled-logit".

    Args:
        name: one of `LOSS_SIGNALS`.
        log_p: minus the cross-entropy loss, any shape, at most 0.

    Raises:
        AttackError: a value above 0, which is not the logarithm of a probability.

    Example:
        >>> from_loss("rescaled-logit", np.log([0.7])).round(4)  # log(0.7 / 0.3)
        array([0.8473])
    """
    if (log_p > 0.0).any():
        raise AttackError(
            f"signal {name!r} is computed from 'loss' if that is the log probability of the label, minus the "
            f"cross-entropy, at most 0; but 'loss' has {float(log_p.max()):.4g}. If that is a cross-entropy, change "
            "its sign (signals are higher for members); if it is log p - log(1 - p), give it as 'rescaled-logit' "
            "(shadows_of(rescaled_logits=...)); for another signal use an attack with the option signal='loss', such "
            "as lira."
        )
    return LOSS_SIGNALS[name](np.maximum(log_p, MIN_LOG_PROBABILITY))


def _log_odds(log_p: Floats) -> Floats:
    """Return log p - log(1 - p), the latter at least `MIN_LOG_PROBABILITY`."""
    others = np.full_like(log_p, MIN_LOG_PROBABILITY)
    likely = log_p > -math.log(2.0)  # selects the form of log(1 - p) that is accurate
    with np.errstate(divide="ignore"):
        others[likely] = np.log(-np.expm1(log_p[likely]))
    others[~likely] = np.log1p(-np.exp(log_p[~likely]))
    return log_p - np.maximum(others, MIN_LOG_PROBABILITY)


LOSS_SIGNALS: dict[str, Callable[[Floats], Floats]] = {"confidence": np.exp, "rescaled-logit": _log_odds}
"""Signals that need only the probability of the label."""

RESIDUAL_SIGNAL = "residual"
"""Signal of a regression, prediction less target: without a direction, for attacks that fit laws of it."""

WHITE_BOX_SIGNALS = ("gradient-norm", "gradient-inner-product")
"""Signals that need the model's gradients."""

LABEL_ONLY_SIGNALS = ("noise-robustness", "boundary-distance")
"""Signals of `LabelOnlyLearner`, which needs the predicted class only."""


def _of_label(values: Floats, y: Labels) -> Floats:
    """Return `values[..., i, y[i]]`."""
    return np.asarray(values[..., np.arange(len(y)), y.astype(np.int64)])


def _without_label(log_p: Floats, y: Labels) -> Floats:
    """Return a copy in which the label has probability 0."""
    others = np.array(log_p, dtype=np.float64)
    others[..., np.arange(len(y)), y.astype(np.int64)] = -np.inf
    return others


def _log_complements(log_p: Floats) -> Floats:
    """Return log(1 - p_k) of every class, at least `MIN_LOG_PROBABILITY`; of the likeliest as the sum of the others."""
    first = np.argmax(log_p, axis=-1)[..., None]
    rest = np.array(log_p, dtype=np.float64)
    np.put_along_axis(rest, first, -np.inf, axis=-1)
    complements = np.log1p(
        -np.exp(np.minimum(rest, 0.0)), where=rest < 0.0, out=np.full_like(rest, MIN_LOG_PROBABILITY)
    )
    np.put_along_axis(complements, first, _log_sum(rest)[..., None], axis=-1)
    return np.asarray(np.maximum(complements, MIN_LOG_PROBABILITY))


def _log_sum(log_p: Floats) -> Floats:
    """Return log sum_k p_k, at least `MIN_LOG_PROBABILITY`."""
    top = np.maximum(np.max(log_p, axis=-1, keepdims=True), MIN_LOG_PROBABILITY)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(top[..., 0] + np.log(np.sum(np.exp(log_p - top), axis=-1)), MIN_LOG_PROBABILITY))
