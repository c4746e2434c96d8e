"""Trust tiers: what makes a mechanism proved, provisional or broken."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from dpassay.audit import audit
from dpassay.audit.results import AuditResult
from dpassay.mechanisms import Laplace, Neighbours, PureDP, Relation
from dpassay.mechanisms.combinators import Parallel, Repeated
from dpassay.mechanisms.core import Tier
from dpassay.mechanisms.noise.broken import LaplaceInverseScale
from dpassay.mechanisms.noise.queries import Count
from dpassay.mechanisms.tiers import tier_of, tier_of_class
from dpassay.testing import ConformanceError, check_mechanism


class Mine(Laplace):
    """Laplace noise of another package."""


class WithoutLaw(Mine):
    """Laplace noise whose law is not known, in a class that says it is proved."""

    _tier = Tier.PROVED

    def output_law(self):
        return None


@dataclass(frozen=True)
class MyCount(Count):
    """A query of another package."""


def function(dataset, rng):
    return sum(dataset) + rng.laplace()


@pytest.mark.parametrize(
    ("mechanism", "tier"),
    [
        (Laplace(1.0), "proved"),
        (Laplace(1.0, query=Count()), "proved"),
        (Repeated(Laplace(1.0), times=2), "proved"),
        (Mine(1.0), "provisional"),
        (Laplace(1.0, query=MyCount()), "provisional"),
        (Laplace(1.0, query=len), "provisional"),
        (Laplace(1.0, query=np.add.reduce), "provisional"),
        (Laplace(1.0, query=partial(sum, start=0)), "provisional"),
        (Repeated(Mine(1.0), times=2), "provisional"),
        (Parallel((Laplace(1.0, query=Count()), Mine(1.0, query=Count()))), "provisional"),
        (LaplaceInverseScale(1.0), "broken"),
        (Repeated(LaplaceInverseScale(1.0), times=2), "broken"),
        (Repeated(Laplace(1.0, query=lambda data: len(data)), times=2), "provisional"),
    ],
)
def test_tier_is_the_least_of_the_class_and_of_its_options(mechanism, tier):
    assert tier_of(mechanism) == tier


def test_another_claim_is_provisional_and_a_broken_twin_stays_broken():
    assert tier_of(Laplace(1.0), Laplace(1.0).guarantee()) == "proved"
    assert tier_of(Laplace(1.0), PureDP(0.5)) == "provisional"
    assert tier_of(LaplaceInverseScale(1.0), PureDP(0.5)) == "broken"


def test_a_class_is_proved_by_its_own_word_only_and_needs_a_law():
    assert tier_of_class(WithoutLaw) is Tier.PROVED
    assert tier_of_class(type("Below", (WithoutLaw,), {})) is Tier.PROVISIONAL
    with pytest.raises(ConformanceError, match="its tier is proved, but its output law is not known"):
        check_mechanism(WithoutLaw(1.0), n_runs=1000)


def test_results_say_the_tier_and_keep_it_when_saved(without_power):
    pair = Neighbours([1], [1, 1], Relation.ADD_REMOVE)
    mine = audit(function, pair, claim=PureDP(1.0), trials=1000, seed=0)
    ours = audit(Laplace(1.0), trials=1000, seed=0)
    assert (mine.tier, ours.tier) == (Tier.PROVISIONAL, Tier.PROVED)
    assert AuditResult.from_json(ours.to_json()).tier is Tier.PROVED
    assert "Laplace(epsilon=1)   [proved]" in ours.summary()
    assert "[provisional]" in mine.summary(details=False)
