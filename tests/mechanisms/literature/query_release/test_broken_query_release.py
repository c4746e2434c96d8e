"""Broken answers from one distribution are caught, and their correct twins are not."""

import pytest

from dpassay.audit import Verdict, audit
from dpassay.mechanisms.literature.query_release.multiplicative_weights import (
    MWEM,
    DualQuery,
    PrivateMultiplicativeWeights,
)
from dpassay.mechanisms.literature.query_release.multiplicative_weights.broken import (
    ExactErrors,
    SamplesCountedOnce,
    UnaccountedSelection,
)
from dpassay.mechanisms.noise.queries import Marginals, Workload

pytestmark = pytest.mark.usefixtures("without_power")

TWO = Workload({"cell": 3}, [[1, 0, 0], [0, 1, 0]])
TWINS = {
    "selection": (UnaccountedSelection, MWEM, (TWO, 20), {"epsilon": 2.0, "rounds": 1, "selection_share": 0.9}),
    "errors": (ExactErrors, PrivateMultiplicativeWeights, (TWO, 20), {"epsilon": 1.0, "threshold": 6.0}),
    "samples": (
        SamplesCountedOnce,
        DualQuery,
        (Marginals({"a": 2}, 1), 2),
        {"epsilon": 1.0, "rounds": 2, "samples": 3},
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_fault_is_caught_and_its_twin_is_not(name):
    broken, right, arguments, options = TWINS[name]
    options_of_audit = {"trials": 20_000, "confidence": 0.9999, "seed": 1}
    assert audit(broken(*arguments, **options), **options_of_audit).verdict is Verdict.VIOLATION
    assert audit(right(*arguments, **options), **options_of_audit).verdict is not Verdict.VIOLATION
