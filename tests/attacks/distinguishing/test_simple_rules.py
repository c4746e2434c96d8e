"""Rules on one number and shares of parts, on laws where the answer is known."""

import math

import numpy as np
import pytest

from dpassay.attacks.distinguishing.events import EventScorer
from dpassay.attacks.distinguishing.simple_rules import OutputSample, SimpleRule
from dpassay.mechanisms.core import OutputNames, Outputs

NAMES = OutputNames()


class Sum:
    """Scores the sum of some numbers; describes scores only."""

    names = NAMES

    def __init__(self, *places):
        self.places = list(places)

    def score(self, outputs):
        return outputs.values[:, self.places].sum(axis=1)

    def describe(self, threshold, *, above=True):
        return "a score"

    def describes_outputs(self, threshold, *, above=True):
        return False


def sample_of(leak, scorer, *, n=2_000, d=6, noise="laplace"):
    """Outputs of `d` numbers with noise; those of side 1 are moved by `leak`, place -> distance."""
    rng = np.random.default_rng(0)
    sides = [getattr(rng, noise)(size=(n, d)) for _ in (0, 1)]
    for place, distance in leak.items():
        sides[1][:, place] += distance
    return OutputSample.of(EventScorer(scorer, ((d,),)), *map(Outputs, sides), NAMES)


def test_the_rule_is_on_the_number_that_leaks():
    sample = sample_of({3: 4.0}, Sum(3))
    rule = sample.rule(4.0, above=True)
    assert (rule.index, rule.exact) == (3, True)
    assert rule.describe(NAMES).startswith("coordinate 3 is at least 4.0")
    assert sample.rule(4.0, above=False).describe(NAMES).startswith("coordinate 3 is at most 3.9")


def test_a_score_of_two_numbers_has_two_parts():
    sample = sample_of({1: 2.0, 4: 2.0}, Sum(1, 4), noise="normal")
    assert not sample.share(1).is_most
    parts = sample.parts()
    assert sorted(parts.names) == ["coordinate 1", "coordinate 4"]
    assert parts.share == pytest.approx(1.0)


def test_a_little_noise_of_other_numbers_leaves_a_rule_that_is_close():
    rng = np.random.default_rng(1)
    out, in_ = rng.normal(size=(2_000, 2)) * [1.0, 0.05], rng.normal(size=(2_000, 2)) * [1.0, 0.05] + [3.0, 0.0]
    sample = OutputSample.of(EventScorer(Sum(0, 1), ((2,),)), Outputs(out), Outputs(in_), NAMES)
    rule = sample.rule(3.0, above=True)
    assert (rule.index, rule.exact) == (0, False)
    assert sample.share(0).share > 0.95
    assert not sample.share(1).is_most


def test_without_an_effect_nothing_is_named():
    sample = sample_of({}, Sum(0, 1, 2))
    assert sample.parts() is None
    assert sample.share(0) is None


def test_a_leak_that_is_spread_over_all_numbers_has_no_few_parts():
    assert sample_of(dict.fromkeys(range(12), 1.0), Sum(*range(12)), d=12).parts() is None


def test_two_tails_are_a_rule():
    rng = np.random.default_rng(2)

    class Size(Sum):
        def score(self, outputs):
            return np.abs(outputs.values[:, 1])

    sides = [rng.normal(size=(3_000, 3)) * [1.0, scale, 1.0] for scale in (1.0, 8.0)]
    sample = OutputSample.of(EventScorer(Size(), ((3,),)), *map(Outputs, sides), NAMES)
    rule = sample.rule(4.0, above=True)
    low, high = rule.intervals
    assert (rule.index, low[0], high[1]) == (1, -math.inf, math.inf)
    assert low[1] == pytest.approx(-4.0, abs=0.1)
    assert high[0] == pytest.approx(4.0, abs=0.1)
    assert " or at least " in rule.describe(NAMES)


def test_few_values_are_listed_and_a_rule_of_values_comes_before_an_interval():
    rng = np.random.default_rng(3)
    out, in_ = rng.integers(0, 3, (2_000, 2)).astype(float), rng.integers(0, 3, (2_000, 2)) + np.array([0.0, 2.0])
    sample = OutputSample.of(EventScorer(Sum(1), ((2,),)), Outputs(out), Outputs(in_), NAMES)
    rule = sample.rule(3.0, above=True)
    assert (rule.values, rule.others, rule.exact) == ((3.0, 4.0), (0.0, 1.0, 2.0), True)
    assert rule.describe(NAMES) == "coordinate 1 is 3.0 or 4.0"


def test_one_other_value_is_negated():
    rule = SimpleRule(0, True, (2,), True, values=(1.0, 2.0, 3.0), others=(0.0,))
    assert rule.describe(NAMES) == "coordinate 0 is not 0.0"


def test_exceptional_outputs_and_other_shapes_are_judged_by_their_score():
    rule = SimpleRule(1, True, (2,), True, intervals=((2.0, math.inf),))
    outputs = Outputs(np.array([[0.0, 3.0], [0.0, 1.0], [0.0, 0.0]]), np.array(["", "", "raised ValueError"]))
    assert rule.holds(outputs, np.array([-1.0, 9.0, 9.0]), 1.0).tolist() == [True, False, True]
    assert rule.holds(Outputs(np.zeros((2, 5))), np.array([0.0, 2.0]), 1.0).tolist() == [False, True]


def test_a_long_output_is_searched_where_it_differs():
    rng = np.random.default_rng(4)
    sides = [rng.normal(size=(600, 1_000)) for _ in (0, 1)]
    sides[1][:, 777] += 6.0
    sample = OutputSample.of(EventScorer(Sum(777), ((1_000,),)), *map(Outputs, sides), NAMES)
    assert sample.rule(3.0, above=True).index == 777
    assert sample.parts().names == ("coordinate 777",)
