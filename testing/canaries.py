"""What every canary keeps: one record differs, at its place, and data that do not fit are refused by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..attacks.canaries.base import Canary
from ..mechanisms.core import Neighbours, ParameterError, Relation
from ..mechanisms.learning.base import TrainingData, differing, shared
from ..mechanisms.learning.dp_sgd.mechanism import DPSGD
from ..mechanisms.learning.dp_sgd.sampling.full_batch import FullBatch
from ..mechanisms.learning.models.architectures import SoftmaxRegression
from .conformance import Check, require, run_checks

N_RECORDS, N_FEATURES, N_CLASSES = 12, 4, 3


@dataclass(frozen=True, eq=False)
class CanaryCase:
    """A canary that replaces one record below 12, in made data of 4 features and 3 classes."""

    canary: Canary

    @property
    def records(self) -> tuple[Any, Any]:
        """Features `(12, 4)`, of which the third is always 0, and labels."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(N_RECORDS, N_FEATURES))
        X[:, 2] = 0.0
        return X, rng.integers(0, N_CLASSES, N_RECORDS)

    def learner(self, relation: Relation = Relation.ADD_REMOVE) -> DPSGD:
        """Return a trainer with this relation."""
        model = SoftmaxRegression(N_FEATURES, N_CLASSES)
        sampling = FullBatch(expected_batch_size=N_RECORDS)
        return DPSGD(model, steps=5, noise_multiplier=2.0, sampling=sampling, relation=relation)

    def pair(self, relation: Relation) -> Neighbours:
        """Return the pair of the canary under a relation."""
        return self.canary.pair(self.records, self.learner(relation))


def only_the_canary_differs(case: CanaryCase) -> None:
    """Check under each relation that the sides are neighbours, share all other records, and differ in one."""
    for relation in Relation:
        pair = case.pair(relation)
        only0, only1 = differing(pair)
        counts, expected = (len(only0), len(only1)), (int(relation is not Relation.ADD_REMOVE), 1)
        require(counts == expected, f"under {relation} the sides have {counts} records of their own, not {expected}.")
        rest, (X, y) = shared(pair), case.records
        others = np.delete(np.column_stack([X, y]), case.canary.record, axis=0)
        remaining = np.column_stack([rest.X, rest.y])
        require(
            sorted(remaining.tolist()) == sorted(others.tolist()),
            f"under {relation} the records besides record {case.canary.record} are changed.",
        )
        if relation is Relation.ZERO_OUT:
            require(not np.any(only0.X) and not np.any(only0.y), "under zero_out the record of side 0 must be zeros.")


def alone_it_is_the_only_record(case: CanaryCase) -> None:
    """Check the option `alone`."""
    for relation in Relation:
        pair = CanaryCase(replace(case.canary, alone=True)).pair(relation)
        sizes = (len(pair.d0), len(pair.d1))
        require(sizes == (int(relation is not Relation.ADD_REMOVE), 1), f"alone, under {relation}: {sizes} records.")


def data_that_do_not_fit_are_refused(case: CanaryCase) -> None:
    """Check a record out of range, features that the model does not have, and gradient records."""
    (X, y), n_parameters = case.records, SoftmaxRegression(N_FEATURES, N_CLASSES).n_parameters
    gradients = TrainingData(X, y, np.ones((1, n_parameters)))
    beyond = replace(case.canary, record=N_RECORDS)
    _refused(lambda: beyond.pair(case.records, case.learner()), "record", "a record beyond the data")
    _refused(lambda: case.canary.pair((X[:, :3], y), case.learner()), "features", "records with fewer features")
    _refused(lambda: case.canary.pair(gradients, case.learner()), "gradient", "gradient records")


def docstring_has_a_summary(case: CanaryCase) -> None:
    """Check the docstring of the class."""
    require(inspect.getdoc(type(case.canary)), "its class must have a docstring.")


def _refused(call: Callable[[], Any], word: str, what: str) -> None:
    try:
        call()
    except ParameterError as error:
        require(word in str(error), f"{what} are refused without the word {word!r}: {error}")
        return
    require(False, f"{what} are accepted. Raise ParameterError; see Canary.pair.")


CANARY_CHECKS: Sequence[Check[CanaryCase]] = (
    only_the_canary_differs,
    alone_it_is_the_only_record,
    data_that_do_not_fit_are_refused,
    docstring_has_a_summary,
)
"""The checks of a canary, in order."""


def check_canary(canary: Canary) -> None:
    """Run all checks on a canary that stands for one record.

    Args:
        canary: any instance whose `record` is below 12 and that makes one copy.

    Raises:
        ConformanceError: with each check that failed, the problem, and what to do.
        ParameterError: it is no canary.

    Example:
        >>> from dpassay.attacks.canaries import Mislabelled
        >>> check_canary(Mislabelled())
    """
    run_checks(CanaryCase(canary), CANARY_CHECKS, canary, Canary)
