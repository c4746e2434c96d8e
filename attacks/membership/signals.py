"""Signals: one number a model and record, read off the predicted probabilities. Higher = more like a member.

    p_k: predicted probability of class k; y: label of the record

    loss               log p_y                                                       (minus the loss)
    confidence         p_y
    entropy            sum_k p_k log p_k                                             (minus the entropy)
    modified-entropy   (1 - p_y) log p_y + sum_{k != y} p_k log(1 - p_k)             (Song and Mittal 2021, minus)
    margin             log p_y - max_{k != y} log p_k                                (difference of logits)
    rescaled-logit     log p_y - log sum_{k != y} p_k                                (Carlini et al. 2022)
    correct            1 if no class is more probable than y, else 0
    gradient-norm      - || gradient of the loss ||                                  (white box: the model gives it)

All are computed from log probabilities: `1 - p_y` is never formed by subtraction, so that a record on which the model
is sure to 1e-17 still has its own value. Log probabilities below `FLOOR` (a class that the model has never seen) count
as `FLOOR`, which is what adding 1e-45 to each probability does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.errors import AttackError

Floats = NDArray[np.float64]
Labels = NDArray[Any]

FLOOR = float(np.log(1e-45))
"""Smallest log probability that is distinguished from 0."""


def loss(log_p: Floats, y: Labels) -> Floats:
    """Log probability of the label: minus the cross-entropy loss (Yeom et al. 2018).

    Args:
        log_p: `(..., n_records, n_classes)` log probabilities.
        y: `(n_records,)` labels 0 .. n_classes - 1.

    Returns:
        `(..., n_records)`.

    Example:
        >>> p = np.log([[0.7, 0.2, 0.1]])
        >>> loss(p, np.array([0])).round(4)
        array([-0.3567])
    """
    return np.maximum(_of_label(log_p, y), FLOOR)


def confidence(log_p: Floats, y: Labels) -> Floats:
    """Probability of the label."""
    return np.exp(_of_label(log_p, y))


def entropy(log_p: Floats, y: Labels) -> Floats:
    """Minus the entropy of the prediction, nats; the label does not enter.

    Example:
        >>> entropy(np.log([[0.7, 0.2, 0.1]]), np.array([0])).round(4)
        array([-0.8018])
    """
    floored = np.maximum(log_p, FLOOR)
    return np.asarray(np.sum(np.exp(floored) * floored, axis=-1))


def modified_entropy(log_p: Floats, y: Labels) -> Floats:
    """Minus the modified entropy: 0 for a sure and right prediction, towards -inf for a sure and wrong one.

    References:
        Song and Mittal (2021), "Systematic evaluation of privacy risks of machine learning models", equation (8).

    Example:
        >>> modified_entropy(np.log([[0.7, 0.2, 0.1]]), np.array([0])).round(4)
        array([-0.1622])
    """
    floored = np.maximum(log_p, FLOOR)
    of_class = np.exp(floored) * _log_complements(log_p)
    rest = np.exp(_of_label(_log_complements(log_p), y))
    return np.asarray(rest * _of_label(floored, y) + np.sum(of_class, axis=-1) - _of_label(of_class, y))


def margin(log_p: Floats, y: Labels) -> Floats:
    """Log probability of the label less that of the best other class: the difference of their logits.

    Example:
        >>> margin(np.log([[0.7, 0.2, 0.1]]), np.array([0])).round(4)
        array([1.2528])
    """
    best_other = np.max(_without_label(log_p, y), axis=-1)
    return np.asarray(loss(log_p, y) - np.maximum(best_other, FLOOR))


def rescaled_logit(log_p: Floats, y: Labels) -> Floats:
    """Log odds of the label: nearly normal over models, hence the signal of LiRA.

    References:
        Carlini et al. (2022), "Membership inference attacks from first principles", section V-C.

    Example:
        >>> rescaled_logit(np.log([[0.7, 0.2, 0.1]]), np.array([0])).round(4)
        array([0.8473])
        >>> rescaled_logit(np.array([[-1e-17, np.log(1e-17)]]), np.array([0])).round(2)
        array([39.14])
    """
    return np.asarray(loss(log_p, y) - _log_others(log_p, y))


def correct(log_p: Floats, y: Labels) -> Floats:
    """1 where no class is more probable than the label, else 0."""
    right: Floats = (_of_label(log_p, y) >= np.max(log_p, axis=-1)).astype(np.float64)
    return right


SIGNALS: dict[str, Callable[[Floats, Labels], Floats]] = {
    "loss": loss,
    "confidence": confidence,
    "entropy": entropy,
    "modified-entropy": modified_entropy,
    "margin": margin,
    "rescaled-logit": rescaled_logit,
    "correct": correct,
}
"""Those that need no more than log probabilities."""


def from_loss(name: str, log_p: Floats) -> Floats:
    """A signal that follows from the log probability of the label alone: "confidence" or "rescaled-logit".

    Args:
        name: one of `FROM_LOSS`.
        log_p: minus the cross-entropy loss, any shape, at most 0.

    Raises:
        AttackError: a value above 0, of which no probability is the logarithm.

    Example:
        >>> from_loss("rescaled-logit", np.log([0.7])).round(4)  # log(0.7 / 0.3)
        array([0.8473])
    """
    if (log_p > 0.0).any():
        raise AttackError(
            f"signal {name!r} follows from 'loss' where that is the log probability of the label, minus the "
            f"cross-entropy, at most 0; but 'loss' holds {float(log_p.max()):.4g}. Turn its sign (signals are higher "
            f"for members), or give {name!r} itself."
        )
    return FROM_LOSS[name](np.maximum(log_p, FLOOR))


def _log_odds(log_p: Floats) -> Floats:
    """log p - log(1 - p), the latter at least `FLOOR`."""
    others = np.full_like(log_p, FLOOR)
    sure = log_p > -math.log(2.0)  # which of the two forms of log(1 - p) keeps its digits
    with np.errstate(divide="ignore"):
        others[sure] = np.log(-np.expm1(log_p[sure]))
    others[~sure] = np.log1p(-np.exp(log_p[~sure]))
    return log_p - np.maximum(others, FLOOR)


FROM_LOSS: dict[str, Callable[[Floats], Floats]] = {"confidence": np.exp, "rescaled-logit": _log_odds}
"""Those that the probability of the label alone gives."""

WHITE_BOX = ("gradient-norm", "gradient-inner-product")
"""Those that the model itself must give."""


def _of_label(values: Floats, y: Labels) -> Floats:
    """`values[..., i, y[i]]`."""
    return np.asarray(values[..., np.arange(len(y)), y.astype(np.int64)])


def _without_label(log_p: Floats, y: Labels) -> Floats:
    """A copy in which the label has probability 0."""
    others = np.array(log_p, dtype=np.float64)
    others[..., np.arange(len(y)), y.astype(np.int64)] = -np.inf
    return others


def _log_others(log_p: Floats, y: Labels) -> Floats:
    """log sum_{k != y} p_k, at least `FLOOR`."""
    return _log_sum(_without_label(log_p, y))


def _log_complements(log_p: Floats) -> Floats:
    """log(1 - p_k) of every class, at least `FLOOR`; for the most probable one as the sum of the others."""
    first = np.argmax(log_p, axis=-1)[..., None]
    rest = np.array(log_p, dtype=np.float64)
    np.put_along_axis(rest, first, -np.inf, axis=-1)
    complements = np.log1p(-np.exp(np.minimum(rest, 0.0)), where=rest < 0.0, out=np.full_like(rest, FLOOR))
    np.put_along_axis(complements, first, _log_sum(rest)[..., None], axis=-1)
    return np.asarray(np.maximum(complements, FLOOR))


def _log_sum(log_p: Floats) -> Floats:
    """log sum_k p_k, at least `FLOOR`."""
    top = np.maximum(np.max(log_p, axis=-1, keepdims=True), FLOOR)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(top[..., 0] + np.log(np.sum(np.exp(log_p - top), axis=-1)), FLOOR))
