"""Checks of the query, or vector of answers, that mechanisms add noise to or select by.

With `query=None` the dataset of a mechanism is the vector of answers, which is how a mechanism is audited on its worst
case; with a query, the dataset is any argument of the query.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import Dataset, Floats, Neighbours, NeighboursError, ParameterError, check_records, plural
from .base import AnyQuery, Query

DISTANCE_TOLERANCE = 1e-9
"""Relative tolerance when a distance is compared with a sensitivity: sums of floats are not exact."""


def check_query(mechanism: Any, *, norm: float, n_name: str) -> None:
    """Raise `ParameterError` unless the query of a mechanism is callable, and of the declared shape and sensitivity.

    Args:
        mechanism: has `query`, `sensitivity`, `relation`, and the number of answers under the name `n_name`.
        norm: norm of the sensitivity.
        n_name: field with the number of answers, such as "n_queries".
    """
    query, sensitivity, relation = mechanism.query, mechanism.sensitivity, mechanism.relation
    if query is None:
        return
    if not callable(query):
        raise ParameterError(f"query must be None or a function of the dataset, but is {query!r}.", argument="query")
    if not isinstance(query, Query):
        return
    n_answers = getattr(mechanism, n_name)
    if query.n_answers != n_answers:
        raise ParameterError(
            f"{n_name} is {n_answers}, but {query!r} gives {query.n_answers}. Set {n_name}={query.n_answers}.",
            argument=n_name,
        )
    needed = query.sensitivity(relation, norm=norm)
    if sensitivity < needed * (1.0 - DISTANCE_TOLERANCE):
        raise ParameterError(
            f"sensitivity is {sensitivity:g}, but {query!r} has {needed:g} under {relation.value!r} (L{norm:g} norm). "
            f"Set sensitivity={needed:g}.",
            argument="sensitivity",
        )


def evaluate(query: AnyQuery | None, dataset: Dataset, *, n_answers: int, n_name: str) -> Floats:
    """Return the answers on `dataset`, shape `()` or `(n_answers,)`; raise `ParameterError` for any other shape."""
    try:
        answers = np.asarray(dataset if query is None else query(dataset), dtype=np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        source = "the dataset must be numbers when query is None" if query is None else f"{query!r} must give numbers"
        raise ParameterError(
            f"{source}, but {error}. Give the answers as numbers, or a query that computes them."
        ) from error
    if n_answers == 1 and answers.shape == (1,):
        answers = answers.reshape(())
    expected_shape = () if n_answers == 1 else (n_answers,)
    if answers.shape != expected_shape:
        source = "the dataset (query is None, so it is the vector of answers)" if query is None else repr(query)
        raise ParameterError(
            f"{n_name} is {n_answers}, but {source} gives answers of shape {answers.shape}, not {expected_shape}. Set "
            f"{n_name} to the number of answers, or give a query with {plural(n_answers, 'answer')}.",
            argument=n_name,
        )
    if not np.isfinite(answers).all():
        raise ParameterError(f"the answers must be finite numbers, but are {answers}.")
    return answers


def check_distance(answers0: Floats, answers1: Floats, *, sensitivity: float, norm: float) -> None:
    """Raise `NeighboursError` if two vectors of answers lie further apart than the sensitivity."""
    distance = float(np.linalg.norm(np.atleast_1d(answers1 - answers0), ord=norm))
    if distance > sensitivity * (1.0 + DISTANCE_TOLERANCE):
        raise NeighboursError(
            f"the answers on d0 and d1 lie {distance:g} apart in the L{norm:g} norm, but neighbours are at most "
            f"sensitivity = {sensitivity:g} apart. Bring the pair closer, or declare sensitivity={distance:g}."
        )


def check_pair(
    neighbours: Neighbours,
    query: AnyQuery | None,
    answers: Callable[[Dataset], Floats],
    *,
    sensitivity: float,
    norm: float,
) -> None:
    """Raise `NeighboursError` unless the datasets are neighbours: in their answers, or with a query in their records.

    With a query the distance of the answers is deliberately not checked: a wrong declared sensitivity is for the audit
    to detect.
    """
    answers0, answers1 = answers(neighbours.d0), answers(neighbours.d1)
    if query is None:
        check_distance(answers0, answers1, sensitivity=sensitivity, norm=norm)
    else:
        check_records(neighbours)


def unit_step(step: float, n_answers: int) -> tuple[float | Floats, float | Floats]:
    """Return two answer vectors, all zero except for the first entry, which is 0 and `step`."""
    if n_answers == 1:
        return 0.0, step
    d1 = np.zeros(n_answers)
    d1[0] = step
    return np.zeros(n_answers), d1


def refuse_worst_case(mechanism: str, query: AnyQuery | None) -> None:
    """Raise `NeighboursError` if there is a query: the records that change its answers most are unknown."""
    if query is not None:
        raise NeighboursError(
            f"the worst case of {mechanism} is known for answers only, but it has the query {query!r}. Give neighbours "
            "(see dpassay.mechanisms.core.records.remove_record), or set query=None to audit the noise alone."
        )
