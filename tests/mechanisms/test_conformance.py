"""What every mechanism of the catalogue must do: the checks of `dpassay.testing`, on the example of its class."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from dpassay import testing
from dpassay.mechanisms.accounting import LaplaceDP, PureDP
from dpassay.mechanisms.catalogue import catalogue, get
from dpassay.mechanisms.core import Mechanism, Neighbours, Outputs, Relation, Tier, base
from dpassay.mechanisms.noise.laplace import Laplace
from dpassay.mechanisms.tiers import tier_of_class
from dpassay.testing import MECHANISM_CHECKS, ConformanceError, MechanismCase, check_mechanism
from dpassay.testing.conformance import run_checks
from dpassay.testing.mechanisms import audit_agrees_with_the_claim

NAMES = [name for name in catalogue if not name.startswith("broken-dp-sgd-")]
"""Broken trainers have laws that no correct mechanism has, and tests of their own."""
GRID = {"repeated": 1e-3}
"""Distance of the exact curve above the claim where both are computed on a grid of losses."""
FAST = [check for check in MECHANISM_CHECKS if check is not audit_agrees_with_the_claim]


@cache
def sample(name: str) -> Mechanism:
    """The example of the class of this name."""
    return testing.sample(get(name))


@cache
def case(name: str) -> MechanismCase:
    return MechanismCase(sample(name), slack=GRID.get(name, 1e-9))


@pytest.mark.parametrize("name", NAMES)
def test_mechanism_of_the_catalogue_passes(name):
    run_checks(case(name), FAST, sample(name), Mechanism)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_an_audit_of_a_mechanism_of_the_catalogue_agrees_with_the_claim(name):
    audit_agrees_with_the_claim(case(name))


def test_names_of_broken_mechanisms_say_so():
    broken = {name for name in catalogue if tier_of_class(get(name)) is Tier.BROKEN}
    assert broken == {name for name in catalogue if name.startswith("broken-")}


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
