"""Checks of attacks, bounds and canaries find planted faults, and say what is wrong."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest
from tests.audit import calls

from dpassay.attacks.base import Attack
from dpassay.attacks.canaries import Mislabelled
from dpassay.attacks.distinguishing import Threshold
from dpassay.audit.bounds.base import LedgerEntry, LowerBound, PairBound
from dpassay.audit.bounds.numerics.rectangle import Rectangle
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson, FixedLimitsBound
from dpassay.mechanisms.core import Mechanism, Outputs, ParameterError, example
from dpassay.mechanisms.noise.laplace import Laplace
from dpassay.testing import ConformanceError, check_attack, check_bound, check_canary, check_mechanism, sample


@dataclass(frozen=True)
class Reversed(Attack):
    """Scores with the wrong sign.

    Example:
        >>> Reversed()
        Reversed()
    """

    minimum_pilot: ClassVar[int] = 1

    def fit(self, target, pilot0, pilot1, rng):
        return Negative(Threshold().fit(target, pilot0, pilot1, rng))


@dataclass(frozen=True)
class Negative:
    inner: object

    def score(self, outputs):
        return -self.inner.score(outputs)


class RanksOfRuns(Reversed):
    """Scores that depend on the other runs: Example: ranks."""

    def fit(self, target, pilot0, pilot1, rng):
        return Ranks(Threshold().fit(target, pilot0, pilot1, rng))


@dataclass(frozen=True)
class Ranks(Negative):
    def score(self, outputs):
        return np.argsort(np.argsort(self.inner.score(outputs))).astype(np.float64)


class OwnRandomness(Reversed):
    """Scores with noise of their own: Example: none."""

    def fit(self, target, pilot0, pilot1, rng):
        return Shifted(Threshold().fit(target, pilot0, pilot1, rng), float(np.random.default_rng().normal()))


@dataclass(frozen=True)
class Shifted(Negative):
    shift: float

    def score(self, outputs):
        return self.inner.score(outputs) + self.shift


@pytest.mark.parametrize(
    ("attack", "check", "words"),
    [
        (Reversed(), "higher_score_means_side_1", "reversed"),
        (RanksOfRuns(), "scores_have_one_number_per_run", "depend on the other runs"),
        (OwnRandomness(), "scorers_are_determined_by_pilot_and_rng", "Draw all randomness from rng"),
    ],
)
def test_faults_of_attacks_are_named(attack, check, words):
    with pytest.raises(ConformanceError) as raised:
        check_attack(attack)
    assert words in dict(raised.value.failures)[check]


class EachLimitAtTheWholeLevel(calls.Own, PairBound):
    """The largest bound of all thresholds, none of them corrected. Example: none."""

    name: ClassVar[str] = "uncorrected"

    def lower_bound_at(self, scores, *, delta, confidence):
        tally = scores.tally
        limits = Rectangle.at(
            tally.hits_out, tally.hits_in, n_out=tally.n_out, n_in=tally.n_in, significance=(1.0 - confidence) / 2
        )
        ledger = (LedgerEntry("thresholds", "all", "none"),)
        epsilon = float(limits.epsilon_lower(delta).max())
        return LowerBound(epsilon, delta, confidence, self.name, scores.n_out + scores.n_in, np.inf, ledger)


@dataclass(frozen=True)
class ThresholdsNotListed(FixedLimitsBound):
    @property
    def thresholds(self):
        return (1e6,)


class Unlisted(ClopperPearson):
    """A bound whose event is not on the grid of counts. Example: none."""

    def fix_event(self, statement, pilot, sizes):
        fixed = ClopperPearson(0.5).fix_event(statement, pilot, sizes)
        return ThresholdsNotListed(fixed.statement, fixed.event, self)


def test_bound_without_a_correction_fails_by_its_measured_coverage():
    with pytest.raises(ConformanceError) as raised:
        check_bound(EachLimitAtTheWholeLevel())
    assert "exceeds the true epsilon too often" in dict(raised.value.failures)["coverage_is_at_least_the_confidence"]


def test_bound_whose_event_is_not_listed_is_named():
    with pytest.raises(ConformanceError) as raised:
        check_bound(Unlisted(), audits=100)
    assert "not in `thresholds`" in dict(raised.value.failures)["counts_give_the_same_bound"]


class ChangesTheOthers(Mislabelled):
    """A canary that shifts the other records as well."""

    def pair(self, dataset, mechanism):
        X, y = dataset
        return super().pair((X + 1e-9, y), mechanism)


class AcceptsAll(Mislabelled):
    """A canary that takes the first record where there is no such one."""

    def pair(self, dataset, mechanism):
        record = self.record if self.record < len(dataset[0]) else 0
        return Mislabelled.pair(replace(self, record=record), dataset, mechanism)


@pytest.mark.parametrize(
    ("canary", "check", "words"),
    [
        (ChangesTheOthers(), "only_the_canary_differs", "are changed"),
        (AcceptsAll(), "data_that_do_not_fit_are_refused", "beyond the data"),
    ],
)
def test_faults_of_canaries_are_named(canary, check, words):
    with pytest.raises(ConformanceError) as raised:
        check_canary(canary)
    assert words in dict(raised.value.failures)[check]


def test_a_right_attack_and_a_right_canary_pass():
    check_attack(Threshold())
    check_canary(Mislabelled())
    assert len(Outputs(np.zeros(1))) == 1


@dataclass(frozen=True)
class Scaled(Laplace):
    """Laplace noise with an option that no other mechanism has."""

    width: float = field(kw_only=True)


class WithExample(Scaled):
    """The same, with an example."""

    _example = example(width=3.0, n_queries=2)


@dataclass(frozen=True)
class WithDefault(WithExample):
    """The same, with a default for one of its options."""

    width: float = field(default=5.0, kw_only=True)


def test_an_example_has_declared_and_usual_values_and_inherits_them():
    made = sample(WithExample)
    assert (made.epsilon, made.width, made.n_queries) == (0.8, 3.0, 2)
    made = sample(WithDefault)
    assert (made.width, made.n_queries) == (5.0, 2)


def test_a_class_without_an_example_of_a_required_option_is_refused_by_name():
    with pytest.raises(ParameterError, match=r"no example of Scaled is known: it needs width\. Declare _example"):
        check_mechanism(Scaled)


@pytest.mark.parametrize(
    ("check", "kind", "given"),
    [
        (check_mechanism, "Mechanism", int),
        (check_mechanism, "Mechanism", 3),
        (check_attack, "Attack", Threshold),
        (check_bound, "Bound", ClopperPearson),
        (check_canary, "Canary", Mislabelled),
        (check_canary, "Canary", 3),
    ],
)
def test_what_is_no_instance_is_refused_in_one_sentence(check, kind, given):
    with pytest.raises(ParameterError, match=f"^{kind.lower()} must be an instance .*of {kind}, but is "):
        check(given)


def test_a_class_that_lacks_methods_is_refused_with_their_names():
    class Unfinished(Mechanism):
        pass

    with pytest.raises(ParameterError, match="Unfinished lacks guarantee, release, worst_case"):
        check_mechanism(Unfinished)
