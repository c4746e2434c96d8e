"""Shadow models of other code: the outputs of their models on the records, checked, as `Shadows`.

    losses             cross-entropy, >= 0                       (n_models, n_records[, n_queries])
    log_probabilities  of each class                             (n_models, n_records[, n_queries], n_classes)
    probabilities      of each class                             (n_models, n_records[, n_queries], n_classes)
    the same two       of the label only                         (n_models, n_records)
    logits             of each class, before the softmax         (n_models, n_records[, n_queries], n_classes)
    rescaled_logits    log p - log(1 - p) of the label, as the authors' code of LiRA writes them
                                                                 (n_models, n_records[, n_queries])
    predictions        of a regression; labels are its targets   (n_models, n_records[, n_queries])
    scores             any signal, higher = more like a member   (n_models, n_records[, n_queries])

One model may be given without the axis of models: membership `(n_records,)`, losses `(n_records,)`.

Checks and repairs, none of which reads membership:

    * NaN, numbers beyond 1e150, whose squares overflow, and probabilities or log probabilities of classes that do not
      sum to 1 (logits do not), are refused;
    * saturated entries, such as a loss that is exactly 0 because 1 - 1e-9 is 1 in float32, are replaced by half of the
      smallest positive loss of all models. As they are, their logit would be as large as the floor of the logarithm,
      and one such value moves the normal laws of LiRA far from the others. An infinite loss, of a label with
      probability 0, becomes the largest finite one and log 2, an infinite score the largest or smallest finite one;
    * a prediction of a real target has the loss r^2 / (2 s^2), with r its residual and s^2 the mean of r^2 over all
      models and records, and the signal "residual", r / s. Residuals of models with a record, and of models without it,
      are nearly normal, unlike the logit of exp(-loss): `LiRA(signal="residual")` and `BaVarIA(signal="residual")`;
    * signals with the same value for every record of a model are refused;
    * several queries of a record (augmentations) are averaged, and kept as `Shadows.queries`, over which LiRA and
      BaVarIA add their likelihood ratios (Carlini et al. 2022, section VI-D).

`dpassay.audit.metrics.membership.evaluate` warns of signals that are lower for members.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...mechanisms.core import Bools, Floats, Ints, ParameterError, called_as, tensor_to_array
from .consistency import label_order_warning
from .shadows import Shadows
from .signals import SIGNALS, from_loss

OUTPUT_KINDS = ("losses", "log_probabilities", "logits", "probabilities", "rescaled_logits", "predictions", "scores")
"""Names of the arrays of outputs, one of which is given."""
_SIGNAL_OUTPUTS = {"rescaled-logit": "rescaled_logits", "confidence": "probabilities"}
"""Kinds of outputs that scores with these signals are."""
OTHER_CALLS = {
    name: f"{name} are of tokens, and of texts: give them to dpassay.audit.metrics.membership.evaluate_texts, or as "
    "log_probabilities in a JSONL file to `dpassay text FILE`."
    for name in ("token_logprobs", "token_log_probs", "token_log_probabilities", "token_losses")
}
"""Arrays that other calls read, and these calls."""
SUM_TOLERANCE = 1e-2
"""Largest distance from 1 of a sum of probabilities, which half precision keeps for 1,000 classes."""
MAX_OUTPUT = 1e150
"""Largest absolute value of a finite output: attacks square them."""
MIN_RECORDS_FOR_PAIRS = 60
"""Number of records from which on complementary training sets are not a coincidence."""


@called_as("shadows_of(membership, losses=losses)")
def shadows_of(
    membership: Any,
    *,
    labels: Any = None,
    losses: Any = None,
    log_probabilities: Any = None,
    logits: Any = None,
    probabilities: Any = None,
    rescaled_logits: Any = None,
    predictions: Any = None,
    scores: Any = None,
    signal: str | None = None,
    fair: bool = False,
    **population: Any,
) -> Shadows:
    """Return shadows from the outputs of models that other code has trained.

    Give one of `losses`, `log_probabilities`, `logits`, `probabilities`, `rescaled_logits`, `predictions` and `scores`;
    shapes are above.

    Args:
        membership: `(n_models, n_records)` True where the record was in the training set of the model, or
            `(n_records,)` for one model. Losses of the members and of the non-members of one model, in two arrays:
            `shadows_of(np.arange(n_in + n_out) < n_in, losses=np.concatenate([losses_in, losses_out]))`.
        labels: `(n_records,)` class of each record, 0 to n_classes - 1, required for outputs with classes; or target of
            each record, required for `predictions`.
        signal: name of the signal that `scores` are, such as "margin" (log p of the label minus that of the best other
            class, the hinge score of LiRA) or one of your own, under which attacks with the option `signal` read it.
            By default they are read as "loss": scores that are nowhere above 0 as the log probability of the label.
        fair: whether each record was in each model, or in one model of each complementary pair, by an independent fair
            coin.
        population: outputs of the same models on records that no model was trained on, such as `population_losses`,
            with `population_labels` for outputs with classes.

    Returns:
        Shadows whose models are paired if their training sets are complements.

    Raises:
        ParameterError: no outputs or several kinds, inconsistent shapes, NaN, losses below 0, probabilities that do not
            sum to 1, labels that are no class, or a model whose outputs are all equal.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> membership = rng.random((8, 100)) < 0.5
        >>> logits = rng.normal(size=(8, 100, 3))
        >>> logits[..., 0] += 2.0 * membership
        >>> shadows = shadows_of(membership, labels=np.zeros(100), logits=logits, fair=True)
        >>> len(shadows), shadows.signal("rescaled-logit").shape
        (8, (8, 100))
    """
    for name in population.keys() & OTHER_CALLS.keys():
        raise ParameterError(OTHER_CALLS[name], argument=name)
    member, single = _membership(membership)
    outputs = {
        "losses": losses,
        "log_probabilities": log_probabilities,
        "logits": logits,
        "probabilities": probabilities,
        "rescaled_logits": rescaled_logits,
        "predictions": predictions,
        "scores": scores,
    }
    if single:
        outputs, population = ({k: _as_one_model(v) for k, v in arrays.items()} for arrays in (outputs, population))
    if signal is not None and (not isinstance(signal, str) or not signal or scores is None):
        raise ParameterError(
            argument="signal", value=signal, allowed="be the name of the signal that scores are, given with scores"
        )
    if signal in _SIGNAL_OUTPUTS:
        outputs |= {"scores": None, _SIGNAL_OUTPUTS[str(signal)]: scores}
    signals, y = _signals(outputs, labels, member.shape, prefix="", signal=signal or "loss")
    outside, partner = _population(population, len(member)), _partners(member)
    warnings = () if (warning := _label_order_warning(outputs, y, member)) is None else (warning,)
    return _with_queries(member, y, signals, population=outside, partner=partner, fair=fair, warnings=warnings)


def _label_order_warning(outputs: dict[str, Any], y: Ints, member: Bools) -> str | None:
    """Return a warning about the order of the labels of checked outputs of classes; None if there is none."""
    for kind in ("log_probabilities", "logits", "probabilities"):
        if outputs[kind] is not None and np.ndim(outputs[kind]) > 2:
            log_p = _log_probabilities(kind, _numbers(outputs[kind], kind), kind)
            return label_order_warning(log_p if log_p.ndim == 3 else log_p[:, :, 0], y, member)
    return None


def _as_one_model(values: Any) -> Any:
    """Return outputs of one model with the axis of models; labels and other arrays of records are the caller's."""
    return None if values is None else np.asarray(tensor_to_array(values))[None]


def _with_queries(
    member: Bools, y: NDArray[Any], signals: dict[str, Floats], *, population: Shadows | None = None, **options: Any
) -> Shadows:
    """Return shadows whose signals are means over the queries, with the shadows of each query if there are several."""
    n_queries = next(iter(signals.values())).shape[2]
    means = {name: values.mean(axis=2) for name, values in signals.items()}
    queries: tuple[Shadows, ...] = ()
    if n_queries > 1:
        outside = () if population is None else population.queries
        others = outside if len(outside) == n_queries else [population] * n_queries
        queries = tuple(
            Shadows(member, y, {name: values[:, :, i] for name, values in signals.items()}, population=z, **options)
            for i, z in enumerate(others)
        )
    return Shadows(member, y, means, population=population, queries=queries, **options)


def _membership(values: Any) -> tuple[Bools, bool]:
    """Return membership, `(n_models, n_records)`, and whether it was given for one model, without that axis."""
    member = np.asarray(tensor_to_array(values))
    if member.dtype != np.bool_ and (member.dtype.kind not in "iuf" or not np.isin(member, (0, 1)).all()):
        raise ParameterError(
            f"membership must be True or False, or 1 and 0, but is {member.dtype} with other values.",
            argument="membership",
        )
    if member.ndim not in (1, 2) or member.size == 0:
        raise ParameterError(
            f"membership must have shape (n_models, n_records), or (n_records,) for one model, but has shape "
            f"{member.shape}.",
            argument="membership",
        )
    return np.atleast_2d(member).astype(np.bool_), member.ndim == 1


def _population(population: dict[str, Any], n_models: int) -> Shadows | None:
    """Return shadows of the records that no model was trained on; None if there are none."""
    named = {name.removeprefix("population_"): values for name, values in population.items()}
    for name in population:
        if not name.startswith("population_") or named.keys() - {*OUTPUT_KINDS, "labels"}:
            known = ", ".join(f"population_{kind}" for kind in (*OUTPUT_KINDS, "labels"))
            raise ParameterError(f"unknown argument {name!r}. The population has {known}.", argument=name)
    if not named:
        return None
    if "predictions" in named:
        raise ParameterError(
            "population_predictions are not taken: their losses would have another scale. Give losses and "
            "population_losses, r^2 / (2 s^2) with one s.",
            argument="population_predictions",
        )
    labels = named.pop("labels", None)
    (_, values), *_ = named.items()
    n_records = np.shape(values)[1] if np.ndim(values) > 1 else 0
    signals, y = _signals(named, labels, (n_models, n_records), prefix="population_")
    return _with_queries(np.zeros((n_models, n_records), dtype=np.bool_), y, signals)


def _signals(
    outputs: dict[str, Any], labels: Any, shape: tuple[int, ...], *, prefix: str, signal: str = "loss"
) -> tuple[dict[str, Floats], NDArray[Any]]:
    """Return signals `(*shape, n_queries)` and labels from one kind of outputs."""
    kinds = [kind for kind, values in outputs.items() if values is not None]
    if len(kinds) != 1:
        raise ParameterError(
            f"give one of {', '.join(prefix + kind for kind in OUTPUT_KINDS)}, but {' and '.join(kinds) or 'none'} "
            f"{'are' if len(kinds) > 1 else 'is'} given.",
            argument=prefix + (kinds or ["losses"])[0],
        )
    (kind,) = kinds
    name = prefix + kind
    values = _numbers(outputs[kind], name)
    of_label = kind in ("log_probabilities", "probabilities") and values.ndim == 2
    by_class = kind in ("log_probabilities", "logits", "probabilities") and not of_label
    axes = "n_models, n_records[, n_queries]" + ", n_classes" * by_class
    if values.shape[:2] != shape or values.ndim - by_class not in (2, 3) or 0 in values.shape:
        raise ParameterError(
            f"{name} must have shape ({axes}) with {shape[0]} models and {shape[1]} records, as membership has, but "
            f"has shape {values.shape}.{_transposed(values.shape, shape, name)}",
            argument=name,
        )
    if kind == "predictions":
        y = _targets(labels, shape[1], name, f"{prefix}labels")
    else:
        y = _labels(labels, shape[1], values.shape[-1] if by_class else None, name, f"{prefix}labels")
    if kind == "scores":
        signals = {signal: _finite(values, name)}
    elif kind == "losses":
        signals = of_losses(values, name)
    elif of_label:
        signals = of_losses(_losses_of_labels(kind, values, name), name)
    elif kind == "rescaled_logits":
        signals = _of_rescaled_logits(_finite(values, name))
    elif kind == "predictions":
        signals = _of_predictions(values, y, name)
    else:
        signals = _of_classes(_log_probabilities(kind, values, name), y)
    by_query = {signal: v if v.ndim == 3 else v[:, :, None] for signal, v in signals.items()}
    _check_constant(next(iter(by_query.values())).mean(axis=2), name)
    return by_query, y


def _transposed(actual: tuple[int, ...], shape: tuple[int, ...], name: str) -> str:
    """Return a sentence on exchanged axes, if they explain the shape."""
    if actual[:2] != shape[::-1]:
        return ""
    return f" Models and records are exchanged in one of the two: {name}.swapaxes(0, 1), or membership.T."


def _losses_of_labels(kind: str, values: Floats, name: str) -> Floats:
    """Return minus the log of the probabilities of the labels."""
    low, high = (0.0, 1.0) if kind == "probabilities" else (-np.inf, 0.0)
    if (values < low).any() or (values > high).any():
        raise ParameterError(
            f"{name} of shape (n_models, n_records) must be those of the label, from {low:g} to {high:g}, but range "
            f"from {values.min():.4g} to {values.max():.4g}. If they are another signal, give scores, higher for "
            "members.",
            argument=name,
        )
    with np.errstate(divide="ignore"):
        return np.asarray(-(np.log(values) if kind == "probabilities" else values) + 0.0)


def _of_rescaled_logits(values: Floats) -> dict[str, Floats]:
    """Return the rescaled logits, and the log probability and probability of the label that they determine."""
    loss = np.asarray(-np.logaddexp(0.0, -values))
    return {"loss": loss, "confidence": special.expit(values), "rescaled-logit": values}


def _numbers(values: Any, name: str) -> Floats:
    array = np.asarray(tensor_to_array(values))
    if array.dtype.kind not in "biuf":
        raise ParameterError(f"{name} must be real numbers, but is of type {array.dtype}.", argument=name)
    array = array.astype(np.float64)
    unusable = np.isnan(array)
    if unusable.any():
        first = tuple(int(i) for i in np.argwhere(unusable)[0])
        raise ParameterError(
            f"{name} must not hold NaN, but {int(unusable.sum()):,} of {array.size:,} entries are NaN, the first at "
            f"index {first}. Train that model again, or leave it out.",
            argument=name,
        )
    if (large := np.isfinite(array) & (np.abs(array) > MAX_OUTPUT)).any():
        raise ParameterError(
            f"{name} must lie between -{MAX_OUTPUT:g} and {MAX_OUTPUT:g}, or be infinite, but {int(large.sum()):,} of "
            f"{array.size:,} do not, the first being {array[large][0]:.4g}. Divide all of them by one number.",
            argument=name,
        )
    return array


def _finite(scores: Floats, name: str) -> Floats:
    """Return scores whose infinite entries are replaced by the largest or smallest finite one."""
    finite = scores[np.isfinite(scores)]
    if not len(finite):
        raise ParameterError(f"{name} must have a finite value, but all are infinite.", argument=name)
    return np.clip(scores, finite.min(), finite.max())


def _labels(labels: Any, n_records: int, n_classes: int | None, of: str, name: str) -> NDArray[Any]:
    if labels is None:
        if n_classes is not None:
            raise ParameterError(f"{name} must be given with {of}: the class of each record.", argument=name)
        return np.zeros(n_records, dtype=np.int64)
    y = np.asarray(tensor_to_array(labels))
    if y.shape != (n_records,):
        raise ParameterError(
            f"{name} must have one entry per record, {n_records}, but has shape {y.shape}. If that is the number of "
            "models, models and records are exchanged in membership and outputs: exchange their first two axes.",
            argument=name,
        )
    if n_classes is None:
        return y
    if y.dtype.kind not in "biuf" or not np.isin(y, np.arange(n_classes)).all():
        raise ParameterError(
            f"{name} must be classes from 0 to {n_classes - 1}, as {of} has {n_classes}, but has {np.unique(y)[:5]}.",
            argument=name,
        )
    return y.astype(np.int64)


def _targets(labels: Any, n_records: int, of: str, name: str) -> Floats:
    if labels is None:
        raise ParameterError(f"{name} must be given with {of}: the target of each record.", argument=name)
    y = _numbers(labels, name)
    if y.shape != (n_records,) or not np.isfinite(y).all():
        raise ParameterError(
            f"{name} must be one finite target per record, {n_records}, but has shape {y.shape}.", argument=name
        )
    return y


def _of_predictions(predictions: Floats, y: Floats, name: str) -> dict[str, Floats]:
    """Return the normal log likelihood of the targets, its confidence and logit, and the residuals."""
    if np.isinf(predictions).any():
        raise ParameterError(f"{name} must be finite, but some are infinite.", argument=name)
    residuals = predictions - (y if predictions.ndim == 2 else y[:, None])
    if not residuals.any():
        raise ParameterError(f"{name} must not all be equal to the targets: nothing separates them.", argument=name)
    residuals = residuals / np.sqrt(np.mean(residuals**2))
    return of_losses(0.5 * residuals**2, name) | {"residual": residuals}


def of_losses(losses: Floats, name: str) -> dict[str, Floats]:
    """Return minus the losses, their confidence and logit.

    Losses of 0 become half of the smallest positive one, and infinite losses, of a probability of 0, the largest finite
    one and log 2: half of the smallest probability.
    """
    if (losses < 0.0).any():
        raise ParameterError(
            f"{name} must be cross-entropies, >= 0, but {int((losses < 0.0).sum()):,} of {losses.size:,} are below 0, "
            f"the lowest {losses.min():.4g}. If they are log probabilities of the label, give them as "
            "log_probabilities; if they are log p - log(1 - p), as rescaled_logits; another signal as scores, higher "
            "for members.",
            argument=name,
        )
    positive = losses[(losses > 0.0) & np.isfinite(losses)]
    if not len(positive):
        raise ParameterError(
            f"{name} must have a value that is neither 0 nor infinite: nothing separates the records.", argument=name
        )
    log_p = -np.where(losses == 0.0, 0.5 * positive.min(), np.minimum(losses, positive.max() + np.log(2.0)))
    return {"loss": log_p} | {signal: from_loss(signal, log_p) for signal in ("confidence", "rescaled-logit")}


def _log_probabilities(kind: str, values: Floats, name: str) -> Floats:
    """Return the log probabilities of the classes, checked to be normalised."""
    if kind == "logits":
        if np.isinf(values).any():
            raise ParameterError(f"{name} must be finite, but some are infinite.", argument=name)
        return np.asarray(values - special.logsumexp(values, axis=-1, keepdims=True))
    if kind == "probabilities":
        if (values < 0.0).any():
            raise ParameterError(f"{name} must be >= 0, but the lowest is {values.min():.4g}.", argument=name)
        sums = values.sum(axis=-1)
    else:
        sums = np.exp(special.logsumexp(values, axis=-1))
    wrong = np.abs(sums - 1.0) > SUM_TOLERANCE
    if wrong.any():
        raise ParameterError(
            f"{name} must sum to 1 over the classes{' after exp' if kind != 'probabilities' else ''}, but the sums "
            f"range from {sums.min():.4g} to {sums.max():.4g}. If these are outputs before the softmax, give logits.",
            argument=name,
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values)) if kind == "probabilities" else values


def _of_classes(log_p: Floats, y: NDArray[Any]) -> dict[str, Floats]:
    """Return every signal of log probabilities `(n_models, n_records[, n_queries], n_classes)`.

    Where all classes except the most probable one have probability 0, they share half of the smallest positive
    probability that all other classes of any entry have.
    """
    first = np.argmax(log_p, axis=-1)[..., None]
    rest = np.array(log_p)
    np.put_along_axis(rest, first, -np.inf, axis=-1)
    others = special.logsumexp(rest, axis=-1)
    saturated = np.isneginf(others)
    if saturated.any() and not saturated.all():
        share = others[~saturated].min() - np.log(2.0) - np.log(log_p.shape[-1] - 1.0)
        repaired = np.where(np.isneginf(log_p), share, log_p)
        log_p = np.where(saturated[..., None], repaired, log_p)
    if log_p.ndim == 3:
        return {signal: np.asarray(function(log_p, y)) for signal, function in SIGNALS.items()}
    by_query = np.moveaxis(log_p, 2, 0)
    return {
        signal: np.stack([function(query, y) for query in by_query], axis=2) for signal, function in SIGNALS.items()
    }


def _check_constant(values: Floats, name: str) -> None:
    constant = np.flatnonzero((values == values[:, :1]).all(axis=1)) if values.shape[1] > 1 else np.zeros(0)
    if len(constant):
        raise ParameterError(
            f"{name} must differ between records, but model {int(constant[0])} (from 0 on) has the value "
            f"{values[int(constant[0]), 0]:.4g} for all of them. Leave the model out, or give other outputs.",
            argument=name,
        )


def _partners(member: Bools) -> Ints:
    """Return, for each model, the one model with the complementary training set, or the model itself."""
    partner = np.arange(len(member))
    if member.shape[1] < MIN_RECORDS_FOR_PAIRS:
        return partner
    rows = {row.tobytes(): i for i, row in enumerate(member)}
    if len(rows) < len(member):
        return partner  # repeated training sets: complements are ambiguous
    return np.array([rows.get((~row).tobytes(), i) for i, row in enumerate(member)], dtype=np.int64)
