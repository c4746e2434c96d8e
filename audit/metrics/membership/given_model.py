"""A given model: whether its outputs tell the records that it was trained on from others.

    members, others     two sets of records, of which the model saw the first and not the second
    predict             the model: a batch of records -> outputs
    references          other models, for attacks that compare with models without the record

The answer is one of three, and none of them is an epsilon, for which fair coins decide before training who is in:

    cannot be told      members and others differ without the model (`feature_baseline.py`): an AUC may show just that;
                        or an AUC is far below 1/2 (`reversed_by`): the sets are exchanged, or the outputs misread
    members are found   the AUC of an attack is above all that the records alone may explain (`found_by`): the limit
                        of the baseline; or 1/2, if the user states that chance alone chose the members
    no evidence         neither

If chance did, and the model leaks nothing, the second is stated with probability (1 - confidence) / 2 at most, up to
the normal approximation of the AUC. Of sets that differ, and look alike to the baseline, it is stated without that
statement only if an attack beats the limit of the baseline; no number of records bounds that probability, since a model
may see a difference that the baseline does not.

No bound on epsilon is computed, also not one of zero-run auditing (arXiv 2605.14591). There the guesses of a model with
epsilon are dominated by independent bits of log odds epsilon + logit e(x), with e(x) the probability that a record x is
a member. That takes membership that is independent over the records given x, whereas two sets of fixed sizes are not,
and an upper limit of e that holds at every record. An estimate of e is no such limit, and no test of two samples makes
it one. Where the probability is known because coins were tossed, `Coins.audit` gives the bound.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ....attacks.membership.base import MembershipAttack
from ....attacks.membership.outputs import OUTPUT_KINDS, shadows_of
from ....attacks.membership.shadows import Shadows
from ....mechanisms.core import Bools, Floats, ParameterError, called_as, one_of, percent, tensor_to_array
from .evaluate import evaluate
from .feature_baseline import MIN_RECORDS
from .result import MembershipResult

Predict = Callable[[Any], Any]
"""A batch of records, or of records and labels, -> outputs, one row a record."""
BY_CLASS = ("probabilities", "log_probabilities", "logits")
"""Outputs with a column for each class."""
OF_LABEL = ("losses", "rescaled_logits", "scores")
"""Outputs that depend on the label of the record, which the function gets."""
BY_CHANCE = 1e-6
"""Probability at which records that are in both sets are refused."""
MAX_LEVELS = 20
"""Number of the most common values of a column of text that the baseline sees."""


@called_as("audit_model(model.predict_proba, (X_train, y_train), (X_test, y_test))")
def audit_model(
    predict: Predict,
    members: Any,
    others: Any,
    references: Sequence[Predict | tuple[Predict, Any]] | None = None,
    groups: Any = None,
    *,
    outputs: str = "probabilities",
    attacks: str | MembershipAttack | Sequence[str | MembershipAttack] | None = None,
    random_split: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
) -> MembershipResult:
    """Measure how well membership attacks on one model tell its members from others.

    Args:
        predict: the model. It is called once, with all records in random order, and returns one row for each. For
            `outputs` that are probabilities, log_probabilities, logits or predictions it gets X, as `predict_proba` of
            scikit-learn does; for losses, rescaled_logits or scores, the pair (X, y), or X where no labels are given.
        members, others: X, or a pair (X, y), of the records that the model was trained on, and of other records from
            the same source. X is an array of numbers, `(n, ...)`, or a DataFrame, whose columns may be text; y has one
            label a record, required for outputs by class and for predictions. At least 10 records each.
        references: functions like `predict`, of models trained on none of these records; or pairs of such a function
            and the records that its model saw, `(n_members + n_others,)` booleans, members first.
        groups: names of groups that get a row each: a pair of arrays, of members and of others.
        outputs: what `predict` returns: "probabilities", "log_probabilities" or "logits" of all classes,
            `(n, n_classes)`, in the order of the sorted labels, or of `classes_` of the model whose method `predict`
            is; "predictions" of a regression, `(n,)`; "losses",
            `(n,)`, >= 0; "rescaled_logits", log p - log(1 - p) of the label; or "scores", higher = more like a member.
        attacks: see `evaluate`; None for all that apply.
        random_split: state that chance alone decided which of these records the model was trained on. It is tested by
            the baseline, and lets `found_by` compare an AUC with 1/2, not with the limit of the baseline.
        confidence: of each interval, and of the baseline without the model.
        seed: of the order of the records, and of the baseline.

    Returns:
        The metrics; `unanswered` says why it cannot be told whether the model leaks, `found_by` has the attacks that
        find members, `most_exposed` the members with the highest scores (record k is the k-th member, from 0 on).

    Raises:
        ParameterError: records or labels of inconsistent shapes, NaN, too few records, others that are members,
            outputs that are not one row a record, or of another kind or order than `outputs` states.

    Guarantees:
        * Nothing is trained on the outputs of members, and the order of the records says nothing.
        * No verdict on a claim, and no bound on epsilon.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> inside = np.random.default_rng(0).random(len(y)) < 0.5
        >>> tree = DecisionTreeClassifier(random_state=0).fit(X[inside], y[inside])
        >>> result = audit_model(tree.predict_proba, (X[inside], y[inside]), (X[~inside], y[~inside]))
        >>> "loss" in result.found_by
        True
    """
    shadows = shadows_of_model(predict, members, others, references or (), outputs=outputs, seed=seed)
    names = names_of_models(len(shadows))
    result = evaluate(
        shadows,
        attacks,
        target=names[0] if len(shadows) > 1 else None,
        models=names,
        groups=None if groups is None else _groups(groups, shadows.inclusion[0]),
        confidence=confidence,
    )
    return replace(result, random_split=random_split)


def names_of_models(n: int) -> list[str]:
    """Return the names of the given model and its references, in the order of `shadows_of_model`."""
    return ["given", *(f"reference {i}" for i in range(1, n))]


def shadows_of_model(
    predict: Predict,
    members: Any,
    others: Any,
    references: Sequence[Predict | tuple[Predict, Any]] = (),
    *,
    outputs: str = "probabilities",
    seed: int = 0,
) -> Shadows:
    """Return the signals of the given model and its references on all records, members first; see `audit_model`."""
    one_of(OUTPUT_KINDS, outputs=outputs)
    X, y, member = _joined(members, others, needs_labels=outputs in (*BY_CLASS, "predictions"))
    order = np.random.default_rng(seed).permutation(len(member))
    batch = _rows_of(X, order) if y is None or outputs not in OF_LABEL else (_rows_of(X, order), y[order])
    functions = [("predict", predict, member)]
    functions += [(f"references[{i}]", *_reference(one, i, len(member))) for i, one in enumerate(references)]
    values = []
    for name, function, _ in functions:
        if not callable(function):
            raise ParameterError(
                f"{name} must be a function of a batch of records, such as model.predict_proba, but is "
                f"{type(function).__name__}.",
                argument=name.partition("[")[0],
            )
        values.append(_answer(function(batch), outputs, len(member), name)[np.argsort(order)])
    if len({value.shape for value in values}) > 1:
        shapes = ", ".join(str(value.shape) for value in values)
        raise ParameterError(
            f"references must return the shape that predict returns, but the shapes are {shapes}.",
            argument="references",
        )
    labels = y
    if y is not None and outputs in BY_CLASS:
        labels = _columns_of_labels(y, getattr(getattr(predict, "__self__", None), "classes_", None), values[0])
    given: dict[str, Any] = {outputs: np.stack(values)}
    shadows = shadows_of(np.stack([saw for *_, saw in functions]), labels=labels, **given)
    return replace(shadows, X=_numbers(X))


def _columns_of_labels(y: NDArray[Any], classes: Any, outputs: Floats) -> NDArray[Any]:
    """Return for each label the column of its class in the outputs.

    Args:
        y: `(n,)` labels.
        classes: those of a model of scikit-learn, one for each column; None if unknown: the columns are then those of
            the sorted labels or, where some classes have no record, of the numbers 0, 1, ...
        outputs: `(n, n_classes)`.

    Raises:
        ParameterError: labels without a column, or columns that belong to other classes, as the outputs show.
    """
    from scipy.optimize import linear_sum_assignment

    n_classes = outputs.shape[1]
    known = np.unique(y) if np.ndim(classes) != 1 or len(classes) != n_classes else np.asarray(classes)
    if len(known) != n_classes:
        known = np.arange(n_classes)
    missing = [label for label in np.unique(y).tolist() if label not in known.tolist()]
    if missing:
        named = ", ".join(map(repr, missing[:3])) + (", ..." if len(missing) > 3 else "")
        raise ParameterError(
            f"labels must each have a column of the outputs, but there {'is' if len(missing) == 1 else 'are'} none for "
            f"{named}: predict returned {n_classes} columns. It must return one for each class, in the order of the "
            f"sorted labels. If classes have no record here, give labels from 0 to {n_classes - 1}, or the method "
            "predict_proba itself, whose model knows its classes.",
            argument="outputs",
        )
    place = {label: column for column, label in enumerate(known.tolist())}
    labels = np.array([place[label] for label in y.tolist()])
    top = np.bincount(labels * n_classes + outputs.argmax(axis=1), minlength=n_classes**2).reshape(n_classes, -1)
    best = top[linear_sum_assignment(top, maximize=True)].sum()
    if best > 0.5 * len(y) and np.trace(top) < 0.5 * best:
        raise ParameterError(
            f"outputs must have their columns in the order of the sorted labels, but the largest one is that of the "
            f"label for {percent(np.trace(top) / len(y))} of the records, and would be for {percent(best / len(y))} in "
            "another order. Reorder the columns, or give the method predict_proba itself, whose model knows its "
            "classes.",
            argument="outputs",
        )
    return labels


def _joined(members: Any, others: Any, *, needs_labels: bool) -> tuple[Any, NDArray[Any] | None, Bools]:
    """Return records, labels and membership of both sets, members first."""
    parts = [_records(members, "members"), _records(others, "others")]
    (X_in, y_in), (X_out, y_out) = parts
    if (y_in is None) != (y_out is None) or (y_in is None and needs_labels):
        lacking = "members" if y_in is None else "others"
        raise ParameterError(
            f"{lacking} must be a pair (X, y), since these outputs are read with the label of each record.",
            argument=lacking,
        )
    n_in, n_out = len(X_in), len(X_out)
    if min(n_in, n_out) < MIN_RECORDS:
        raise ParameterError(
            f"members and others must be at least {MIN_RECORDS} records each, but are {n_in} and {n_out}. An interval "
            "of use takes hundreds.",
            argument="members" if n_in < MIN_RECORDS else "others",
        )
    if hasattr(X_in, "columns") != hasattr(X_out, "columns") or _columns(X_in) != _columns(X_out):
        raise ParameterError(
            f"others must have the columns of members, {_columns(X_in)}, but have {_columns(X_out)}.", argument="others"
        )
    if hasattr(X_in, "columns"):
        import pandas as pd

        X = pd.concat([X_in, X_out], ignore_index=True)
        rows = pd.util.hash_pandas_object(X, index=False).tolist()
    else:
        X = np.concatenate([X_in, X_out])
        rows = [hash(row.tobytes()) for row in X]
    _check_distinct(rows[:n_in], rows[n_in:])
    y = None if y_in is None else np.concatenate([y_in, y_out])
    return X, y, np.arange(n_in + n_out) < n_in


def _check_distinct(members: Sequence[Any], others: Sequence[Any]) -> None:
    """Raise `ParameterError` if more records are in both sets than chance explains.

    If chance splits the records, each of n equal ones into the members with probability p, they are in both sets with
    probability 1 - p^n - (1 - p)^n. The number of such records has a smaller tail than a Poisson law of the same mean
    (Hoeffding 1956).
    """
    inside, outside = Counter(members), Counter(others)
    share = len(members) / (len(members) + len(others))
    counts = [n for n in (inside + outside).values() if n > 1]
    expected = math.fsum(1.0 - share**n - (1.0 - share) ** n for n in counts)
    both = len(inside.keys() & outside.keys())
    if both and special.gammainc(both, expected) <= BY_CHANCE:  # the tail of the Poisson law
        shared = sum(outside[row] for row in inside.keys() & outside.keys())
        raise ParameterError(
            f"others must be records that the model was not trained on, but {shared:,} of {len(others):,} are members "
            "as well. Remove them from the others, or find out whether a file was given twice.",
            argument="others",
        )


def _columns(X: Any) -> Any:
    """Return the columns of a table, or the shape of a record."""
    return list(map(str, X.columns)) if hasattr(X, "columns") else X.shape[1:]


def _records(given: Any, name: str) -> tuple[Any, NDArray[Any] | None]:
    """Return records and labels of one set, checked."""
    X, y = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    if not hasattr(X, "columns"):
        X = np.asarray(tensor_to_array(X))
        if X.ndim == 0 or X.dtype.kind not in "biuf":
            raise ParameterError(
                f"{name} must be records as an array of numbers, (n, ...), or a DataFrame, or a pair of these and "
                f"labels, but are {X.dtype} of shape {X.shape}. Without the records it cannot be tested whether the "
                "two sets differ without the model; for texts see evaluate_texts.",
                argument=name,
            )
        if not np.isfinite(X).all():
            raise ParameterError(
                f"{name} must be finite, but {int((~np.isfinite(X)).sum()):,} entries are NaN or infinite. Replace "
                "them as for the training of the model, or give a DataFrame.",
                argument=name,
            )
    if y is None:
        return X, None
    labels = np.asarray(tensor_to_array(y))
    if labels.shape != (len(X),):
        raise ParameterError(
            f"{name} must be a pair of records and one label each, but have {len(X)} records and labels of shape "
            f"{labels.shape}.",
            argument=name,
        )
    return X, labels


def _reference(given: Any, place: int, n: int) -> tuple[Any, Bools]:
    """Return the function of a reference, and the records that it saw: none, or as given."""
    if not isinstance(given, tuple):
        return given, np.zeros(n, dtype=np.bool_)
    saw = np.asarray(given[1]) if len(given) == 2 else np.zeros(0)
    if saw.shape != (n,) or not np.isin(saw, (0, 1)).all():
        raise ParameterError(
            f"references[{place}] must be a function, or a pair of it and the records that it saw, ({n},) booleans, "
            "members first.",
            argument="references",
        )
    return given[0], saw.astype(np.bool_)


def _rows_of(X: Any, order: NDArray[Any]) -> Any:
    return X.iloc[order].reset_index(drop=True) if hasattr(X, "iloc") else X[order]


def _answer(returned: Any, outputs: str, n: int, name: str) -> Floats:
    """Return the outputs of a function as an array, checked to be one row a record."""
    values = np.asarray(tensor_to_array(returned))
    axes = 2 if outputs in BY_CLASS else 1
    if values.ndim == axes + 1 and axes == 1 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == axes and len(values) == n and values.dtype.kind in "biuf":
        return values.astype(np.float64)
    shape = f"({n}, n_classes)" if axes == 2 else f"({n},)"
    if values.ndim == axes and values.dtype.kind in "biuf":
        advice = f"It must return one row for each of the {n} records, in their order"
    elif axes == 2 and values.ndim == 1:
        advice = (
            "A column alone, such as that of class 1, is not the probability of the label: return all of them "
            "(predict_proba)"
        )
    else:
        advice = "State what it returns with outputs=, one of " + ", ".join(OUTPUT_KINDS)
    raise ParameterError(
        f"{name} must return {outputs} of shape {shape}, but returned {values.dtype} of shape {values.shape}. "
        f"{advice}.",
        argument=name.partition("[")[0],
    )


def _numbers(X: Any) -> Floats:
    """Return the records as numbers for the baseline, `(n, n_features)`: a column for each common value of a text.

    Missing entries have a column of their own, and count as the median of the others.
    """
    if not hasattr(X, "columns"):
        return np.asarray(X, dtype=np.float64).reshape(len(X), -1)
    import pandas as pd

    columns: list[Any] = []
    for i in range(X.shape[1]):
        column = X.iloc[:, i]
        if column.isna().any():
            columns.append(column.isna().to_numpy())
        if pd.api.types.is_numeric_dtype(column):
            numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
            known = np.isfinite(numbers)
            columns.append(np.where(known, numbers, np.median(numbers[known]) if known.any() else 0.0))
        else:
            text = column.astype(str)
            columns += [(text == level).to_numpy() for level in text.value_counts().index[:MAX_LEVELS]]
    return np.column_stack(columns).astype(np.float64)


def _groups(groups: Any, member: Bools) -> NDArray[Any]:
    """Return the group of each record."""
    n_in = int(member.sum())
    sizes = [len(part) for part in groups] if isinstance(groups, (tuple, list)) and len(groups) == 2 else []
    if sizes != [n_in, len(member) - n_in]:
        raise ParameterError(
            f"groups must be a pair of arrays with one name a record, ({n_in},) of members and "
            f"({len(member) - n_in},) of others.",
            argument="groups",
        )
    return np.concatenate([np.asarray(part).astype(str) for part in groups])
