"""Audits of the matrix mechanism are near its claim, and detect noise that is scaled to the workload."""

import pytest

from dpassay.audit import Verdict, audit
from dpassay.mechanisms.literature.query_release.matrix import (
    GaussianMatrixMechanism,
    HierarchicalStrategy,
    IdentityStrategy,
    LaplaceMatrixMechanism,
)
from dpassay.mechanisms.literature.query_release.matrix.broken import (
    GaussianNoiseForWorkload,
    LaplaceNoiseForWorkload,
    _eight_cells,
)
from dpassay.mechanisms.noise.queries import Workload

pytestmark = pytest.mark.usefixtures("without_power")

AUDIT = {"trials": 50_000, "seed": 3, "confidence": 1 - 1e-6, "attack": "likelihood-ratio"}
TREE = {"workload": _eight_cells(), "strategy": HierarchicalStrategy()}


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_lower_bound_comes_near_the_claim_and_not_above_it(relation):
    prefixes = Workload.prefixes({"age": 8})
    laplace = LaplaceMatrixMechanism(1.0, workload=prefixes, strategy=IdentityStrategy(), relation=relation)
    gaussian = GaussianMatrixMechanism(1.0, 1e-2, workload=prefixes, relation=relation)
    for mechanism, delta in ((laplace, 0.0), (gaussian, 1e-2)):
        result = audit(mechanism, delta=delta, **AUDIT)
        assert result.verdict is not Verdict.VIOLATION
        assert 0.75 <= result.bound.epsilon <= 1.0


@pytest.mark.parametrize(
    ("broken", "twin", "delta"),
    [
        (LaplaceNoiseForWorkload(0.5), LaplaceMatrixMechanism(0.5, view="measurements", **TREE), 0.0),
        (GaussianNoiseForWorkload(1.0, 1e-2), GaussianMatrixMechanism(1.0, 1e-2, **TREE), 1e-2),
    ],
)
def test_noise_for_the_workload_is_refuted_and_for_the_strategy_is_not(broken, twin, delta):
    result = audit(broken, delta=delta, **AUDIT)
    assert result.verdict is Verdict.VIOLATION
    assert result.bound.epsilon <= broken.exact_guarantee().epsilon(delta)
    assert audit(twin, delta=delta, **AUDIT).verdict is not Verdict.VIOLATION
