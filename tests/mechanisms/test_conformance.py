"""What every mechanism of the catalogue must do: the checks of `dpassay.testing`. A new one is found by its name.

Required options are taken from SAMPLE by their name; a new required option needs an entry there.
"""

import inspect
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from dpassay.mechanisms.accounting import LaplaceDP, PureDP
from dpassay.mechanisms.catalogue import build, catalogue, get
from dpassay.mechanisms.core import base
from dpassay.mechanisms.core.base import Mechanism, Neighbours, Outputs
from dpassay.mechanisms.core.relation import Relation
from dpassay.mechanisms.learning.models import LogisticRegression
from dpassay.mechanisms.literature.pate import GNMax, LNMax
from dpassay.mechanisms.literature.query_release.tables import CensusDomain, GroupCount, TableSet, group
from dpassay.mechanisms.literature.synthetic_data import DirectGenerator, FixedMarginals
from dpassay.mechanisms.literature.tuning import NegativeBinomialRepetitions
from dpassay.mechanisms.local import RandomizedResponse
from dpassay.mechanisms.noise.laplace import Laplace
from dpassay.mechanisms.noise.queries import Domain, Marginals, Workload
from dpassay.testing import MECHANISM_CHECKS, ConformanceError, MechanismCase, check_mechanism
from dpassay.testing.mechanisms import audit_agrees_with_the_claim

SAMPLE = {
    "epsilon": 0.8,
    "k": 4,
    "n_candidates": 3,
    "base": Laplace(0.8),
    "times": 2,
    "n_queries": 4,
    "model": LogisticRegression(2),
    "steps": 2,
    "noise_multiplier": 2.0,
    "mu": 1.0,
    "rate": 0.4,
    "delta": 1e-4,
    "n_records": 20,
    "randomizer": RandomizedResponse(0.8),
    "n_users": 5,
    "bound": 2,
    "rounded_to": 5,
    "domain": Domain({"sex": 2, "race": 3}),
    "selection": FixedMarginals((("sex",), ("race", "sex")), standard_deviation=2.0),
    "generator": DirectGenerator(),
    "workload": Workload({"cell": 3}, [[1, 0, 0], [0, 1, 0]]),
    "rho": 0.1,
    "threshold": 6.0,
    "marginals": Marginals({"a": 2, "b": 2}, 1),
    "aggregator": GNMax(8.0, n_teachers=60, n_classes=3, n_queries=2),
}
FEW_TABLES = TableSet(
    CensusDomain({"sex": ("female", "male"), "block": ("A", "B")}, ages=(0, 99)),
    tuple(GroupCount(people) for people in (group(block="A"), group(sex="female", block="A"), group(ages=(0, 17)))),
)
FEW_PEOPLE = {
    "geography": [1, 2],
    "domain": {"sex": 2, "age": 2},
    "structural_zeros": [{"sex": [0], "age": [1]}],
    "queries": [{"level": "nation", "attributes": ["age"]}, {"level": "county", "share": 2}],
    "invariants": [{"level": "state"}],
}
FEW_VOTES = {
    "threshold": 4.0,
    "check_deviation": 2.0,
    "answer_deviation": 3.0,
    "n_teachers": 6,
    "n_classes": 3,
    "n_queries": 2,
}
EXTRA = {
    "gaussian": {"noise_multiplier": 2.0},
    **{name: {"k": 2} for name in ("peeling-top-k", "gumbel-top-k", "gumbel-top-k-counts", "large-margin")},
    "laplace-top-k": {"k": 2, "epsilon": 0.15},
    "dp-sgd": {"sampling": "full-batch", "batch_size": 1, "view": "noisy_gradients"},
    "adaptive-clipping": {"sampling": "full-batch", "batch_size": 1, "view": "noisy_gradients", "count_noise": 4.0},
    "broken-float-laplace": {"bits": 12},
    "broken-float-gaussian": {"bits": 6},
    "broken-rounded-sum": {"dtype": "float16"},
    "column-means": {"noise_multiplier": 2.0},
    "gaussian-subset-counts": {"standard_deviation": 3.0},
    "grid-laplace": {"granularity": 0.25, "sensitivity": 0.6},
    "broken-family-counts-roots": {"parents": {"x1": ["x2"], "x2": ["x3"]}, "order": ("x3", "x2", "x1")},
    "noisy-tables": {"tables": FEW_TABLES},
    **{name: {"rounds": 1} for name in ("mwem", "gaussian-mwem", "broken-mwem-unpaid-selection")},
    "broken-online-weights-exact-errors": {"threshold": 4.0},
    "dual-query": {"n_records": 2, "rounds": 2, "samples": 1},
    "broken-dual-query-samples-counted-once": {"n_records": 2, "rounds": 2, "samples": 2},
    "laplace-matrix": {"view": "measurements"},
    **{name: {"noise_multiplier": 2.0} for name in ("gaussian-matrix", "broken-gaussian-matrix")},
    **dict.fromkeys(("gaussian-top-down", "geometric-top-down", "broken-top-down-invariants"), FEW_PEOPLE),
    "swapped-tables": {"tables": FEW_TABLES},
    "best-of-repetitions": {"n_candidates": 4, "repetitions": NegativeBinomialRepetitions(1.0, 0.5)},
    "first-good-enough": {"n_candidates": 4, "threshold": -2.0, "stopping": 0.001},
    "broken-best-of-k": {"n_candidates": 4, "k": 2},
    "broken-resampled": {"n_records": 5, "n_rows": 3},
    "count-mean-sketch": {"n_buckets": 8},
    "lnmax": {"n_teachers": 6, "n_classes": 3},
    "gnmax": {"standard_deviation": 3.0, "n_teachers": 6, "n_classes": 3, "n_queries": 2},
    "confident-gnmax": FEW_VOTES,
    "interactive-gnmax": FEW_VOTES | {"threshold": 2.0, "student": (0.5, 0.3, 0.2), "confidence": 0.4},
    "sample-and-aggregate": {"aggregator": LNMax(0.4, n_teachers=6, n_classes=3)},
    "pate": {"aggregator": LNMax(0.4, n_teachers=6, n_classes=3, n_queries=2), "view": "labels"},
    "private-vote-epsilon": {"order": 3.0},
    "broken-votes-epsilon-of-votes": {"aggregator": LNMax(0.8, n_teachers=6, n_classes=3)},
    "broken-votes-abstention-not-accounted": FEW_VOTES | {"n_queries": 5, "max_answers": 1, "check_deviation": 1.0},
}
"""Options that a mechanism needs besides the required ones, and those with which its exact curve is known."""
NO_DENSITY = {"noisy-projected-sgd", "broken-votes-teachers-kept", "post-processed", "swapped-tables"}
"""Mechanisms whose output law is not known: what stands on densities is not asked of them."""

NO_NOISE = {"broken-votes-check-without-noise", "broken-zero-sensitivity", "rounded-subset-counts"}
NAMES = [name for name in catalogue if not name.startswith("broken-dp-sgd-") and name not in NO_NOISE]
"""Broken trainers, and what adds no noise, have laws that no correct mechanism has, and tests of their own."""


GRID = {"repeated": 1e-3}
"""Distance of the exact curve above the claim where both are computed on a grid of losses."""
CHECKS = [check for check in MECHANISM_CHECKS if check is not audit_agrees_with_the_claim]
"""The checks but the audit: the mechanisms of the library are audited in `tests/audit`."""


@cache
def sample(name: str) -> Mechanism:
    parameters = inspect.signature(get(name)).parameters.values()
    extra = EXTRA.get(name, {})
    required = {p.name: SAMPLE[p.name] for p in parameters if p.default is p.empty and p.name not in extra}
    mechanism = build(name, **(required | extra))
    assert isinstance(mechanism, Mechanism)
    return mechanism


@cache
def case(name: str) -> MechanismCase:
    return MechanismCase(sample(name), slack=GRID.get(name, 1e-9))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_mechanism_of_the_catalogue_passes(name, check):
    check(case(name))


@pytest.mark.parametrize("name", NAMES)
def test_only_mechanisms_without_a_density_are_let_off(name):
    assert (sample(name).output_law() is None) == (name in NO_DENSITY)


def test_a_mechanism_has_eight_public_members_all_in_the_overview():
    members = [name for name in {**vars(Mechanism), **Mechanism.__annotations__} if not name.startswith("_")]
    assert len(members) <= 8
    lines = [line.split()[0] for line in base.__doc__.splitlines() if line.startswith("    ")]
    assert set(members) <= set(lines)


class Sloppy(Laplace):
    """Laplace noise with the fault that the name of the subclass states.

    Args:
        epsilon: the claim.

    Example:
        >>> Sloppy(1.0).epsilon
        1.0
    """


class HalfOfTheNoise(Sloppy):
    def release(self, dataset, size, rng):
        return Outputs(float(np.sum(dataset)) + rng.laplace(scale=0.5 / self.epsilon, size=size))


class OneDrawForAll(Sloppy):
    def release(self, dataset, size, rng):
        return Outputs(np.full(size, float(np.sum(dataset)) + rng.laplace(scale=1.0 / self.epsilon)))


class OwnRandomness(Sloppy):
    def release(self, dataset, size, rng):
        return super().release(dataset, size, np.random.default_rng())


class EqualSides(Sloppy):
    def worst_case(self):
        return Neighbours(1.0, 1.0, Relation.ADD_REMOVE)


class ChangesTheData(Sloppy):
    def worst_case(self):
        return Neighbours(np.array([0.0]), np.array([1.0]), Relation.ADD_REMOVE)

    def release(self, dataset, size, rng):
        outputs = super().release(dataset[0], size, rng)
        dataset += 1.0
        return outputs


class ClaimsTooLittle(Sloppy):
    def guarantee(self):
        return PureDP(self.epsilon / 2.0, relation=self.relation)

    def exact_guarantee(self):
        return LaplaceDP(self.epsilon, relation=self.relation)


@dataclass(frozen=True)
class OptionNotDescribed(Sloppy):
    __doc__ = Sloppy.__doc__
    offset: float = 0.0


@pytest.mark.parametrize(
    ("fault", "checks"),
    [
        (HalfOfTheNoise, {"density_ratio_averages_to_one", "exact_curve_is_that_of_the_densities"}),
        (OneDrawForAll, {"density_ratio_averages_to_one"}),
        (OwnRandomness, {"release_depends_on_the_generator_only"}),
        (EqualSides, {"worst_case_differs_and_is_accepted"}),
        (ChangesTheData, {"release_depends_on_the_generator_only"}),
        (OptionNotDescribed, {"docstring_states_arguments_and_has_an_example"}),
        (ClaimsTooLittle, {"claim_covers_the_exact_curve", "audit_agrees_with_the_claim"}),
    ],
)
def test_faults_are_found_by_the_check_that_names_them(fault, checks):
    with pytest.raises(ConformanceError) as raised:
        check_mechanism(fault(1.0))
    assert checks <= {name for name, problem in raised.value.failures if "Error:" not in problem}
