"""Unlearning by functions of the user, as a mechanism to audit: is an unlearned model like a retrained one?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import Dataset, Guarantee, Neighbours, ParameterError, Relation, n_records, remove_record
from .functions.function import FunctionMechanism


def forgetting(
    retrain: Callable[[Dataset, np.random.Generator], Any],
    unlearn: Callable[[Dataset, Sequence[int], np.random.Generator], Any],
    records: Dataset,
    forget: Sequence[int],
    *,
    claim: Guarantee,
) -> FunctionMechanism:
    """Return the mechanism whose side 0 is `retrain` without some records, and side 1 `unlearn` of these records.

    Each call trains a model with its own random start and batches. Return what the adversary sees of it: its
    parameters, or its answers to fixed questions, such as the log probabilities of the forgotten records.

    Args:
        retrain: `retrain(rest, rng)` trains on `rest`, which has the form of `records`.
        unlearn: `unlearn(records, forget, rng)` trains on `records`, then forgets those at the positions `forget`.
        records: an array, a list, a DataFrame, or a tuple of these with equal lengths, such as `(X, y)`.
        forget: positions of the records to forget, each once; some records must remain.
        claim: the guarantee under test, such as `ApproximateDP(1.0, 1e-5)`.

    Raises:
        ParameterError: no position, one that occurs twice or is out of range, or no record that remains.
        ReleaseError: the functions cannot be called, or change the records.

    Example:
        >>> from dpassay.mechanisms import ApproximateDP
        >>> records = np.array([0.0, 0.1, 5.0])
        >>> mean = lambda data, rng: data.mean() + rng.normal(scale=0.1)
        >>> keep_all = lambda data, forget, rng: mean(data, rng)
        >>> question = forgetting(mean, keep_all, records, [2], claim=ApproximateDP(1.0, 1e-5))
        >>> sides = [question.neighbours.side(side) for side in (0, 1)]
        >>> means = [question.release(side, 9, np.random.default_rng(0)).values.mean() for side in sides]
        >>> [round(float(mean), 1) for mean in means]
        [0.1, 1.7]
    """
    positions = [int(position) for position in forget]
    total = n_records(records)
    if not positions or total is None or len(set(positions)) < len(positions) or len(positions) >= total:
        allowed = f"hold different positions of records, at least one and fewer than all ({total})"
        raise ParameterError(argument="forget", value=forget, allowed=allowed)
    if not all(0 <= position < total for position in positions):
        raise ParameterError(argument="forget", value=forget, allowed=f"hold whole numbers from 0 to {total - 1}")
    rest = records
    for position in sorted(positions, reverse=True):
        rest = remove_record(rest, position).d0

    def model(history: dict[str, Any], rng: np.random.Generator) -> Any:
        if history["forget"]:
            return unlearn(history["records"], history["forget"], rng)
        return retrain(history["records"], rng)

    histories = ({"records": rest, "forget": []}, {"records": records, "forget": positions})
    pair = Neighbours(*histories, Relation.ADD_REMOVE)
    return FunctionMechanism(model, claim=claim, neighbours=pair, records=False)
