from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from tests.attacks.attack_laws import TARGET, auc, outputs, rates

from dpassay.attacks.base import Attack, Target
from dpassay.attacks.distinguishing.classifier import Classifier
from dpassay.attacks.distinguishing.events import ConstantScorer, EventScorer, fit_scorer, mark
from dpassay.attacks.distinguishing.threshold import Threshold, ThresholdScorer
from dpassay.mechanisms.core import AttackError, Outputs

RNG = np.random.default_rng


def with_events(values: np.ndarray, **labels: np.ndarray) -> Outputs:
    """`values` with the rows of each label zeroed and marked; `_` in a label stands for a blank."""
    events = np.full(len(values), "", dtype="U32")
    values = values.copy()
    for label, rows in labels.items():
        events[rows] = label.replace("_", " ")
        values[rows] = 0.0
    return Outputs(values, events)


def score_of(scorer: EventScorer, *labels: str) -> list[float]:
    return scorer.score(Outputs(np.zeros(len(labels)), np.array(labels))).tolist()


def test_ordinary_outputs_are_passed_through_untouched() -> None:
    for values in (np.arange(4.0), np.arange(4), np.zeros((4, 2)), np.array([True, False])):
        plain = Outputs(values)
        assert mark(plain) is plain


def test_rows_that_are_not_finite_become_events_and_zeros() -> None:
    marked = mark(Outputs(np.array([1.0, np.nan, np.inf, -np.inf])))
    assert marked.values.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert marked.events is not None
    assert marked.events.tolist() == ["", "nan", "inf", "-inf"]


def test_events_of_vectors_contain_positions() -> None:
    nan, inf = np.nan, np.inf
    original = np.array([[0.0, 1.0, 2.0], [nan, 1.0, nan], [0.0, -inf, inf], [0.0, 1.0, nan]])
    marked = mark(Outputs(original))
    assert marked.events is not None
    assert marked.events.tolist() == ["", "nan at 0, 2", "inf at 2; -inf at 1", "nan at 2"]
    assert marked.values[1:].tolist() == [[0.0] * 3] * 3
    assert np.isnan(original[1, 0]), "the caller's array is not written to"
    many = mark(Outputs(np.full((2, 5, 40), nan)))
    assert many.events is not None
    assert many.events.shape == (2,)
    assert len(many.events[0]) == 60


def test_marking_keeps_existing_events() -> None:
    marked = mark(Outputs(np.array([0.0, np.nan, np.nan]), np.array(["raised ValueError", "", "odd"])))
    assert marked.events is not None
    assert marked.events.tolist() == ["raised ValueError", "nan", "odd"]


def test_without_events_scores_are_those_of_the_attack() -> None:
    values0, values1 = RNG(0).normal(size=(2, 200))
    scorer = fit_scorer(Threshold(), TARGET, *outputs(values0, values1 + 1), RNG(0))
    assert np.array_equal(scorer.score(Outputs(values0)), values0)


def test_an_event_on_one_side_only_settles_the_side() -> None:
    rng = RNG(1)
    out = with_events(rng.normal(size=400), raised_A=np.arange(10))
    in_ = with_events(rng.normal(size=400), None_=np.arange(10), nan=np.arange(20, 40))
    scorer = fit_scorer(Threshold(), TARGET, out, in_, rng)
    assert score_of(scorer, "raised A", "None ", "nan") == [-np.inf, np.inf, np.inf]


def test_eight_events_on_one_side_outrank_all_ordinary_outputs() -> None:
    """log((8 + 1/2) / (1/2)) = 2.8 is less than the best ordinary outputs have, but no output is as certain."""
    rng = RNG(2)
    for n_events, certain in ((8, True), (3, False)):
        out = with_events(rng.normal(6.0, 1.0, 4_000), nan=np.arange(n_events))
        in_ = with_events(rng.normal(-6.0, 1.0, 4_000), None_=np.arange(n_events))
        scorer = fit_scorer(Threshold(), TARGET, out, in_, rng)
        assert np.isinf(score_of(scorer, "nan", "None ")).tolist() == [certain, certain]


def test_an_event_that_is_rarer_on_side_1_lies_below_ordinary_outputs() -> None:
    """The ordinary outputs say nothing, so any difference in the events is more extreme than all of them."""
    rng = RNG(2)
    out = with_events(rng.normal(size=2_000), nan=np.arange(600), inf=np.arange(600, 700))
    in_ = with_events(rng.normal(size=2_000), nan=np.arange(100), inf=np.arange(600, 1_600))
    scorer = fit_scorer(Threshold(), TARGET, out, in_, rng)
    nan, inf = score_of(scorer, "nan", "inf")
    ordinary = scorer.score(Outputs(rng.normal(size=1_000)))
    assert nan < ordinary.min()
    assert inf > ordinary.max()


def test_events_are_placed_by_their_log_odds_among_the_scores() -> None:
    """Ordinary outputs N(0, 1) against N(1, 1), their log odds x - 1/2; labels with log odds log 1/4, 0, log 4."""
    rng, n = RNG(3), 40_000
    rare, even, common = np.arange(500), np.arange(2_000, 4_000), np.arange(4_000, 6_000)
    out = with_events(rng.normal(0, 1, n), down=common, even=even, up=rare)
    in_ = with_events(rng.normal(1, 1, n), down=rare, even=even, up=common)
    scorer = fit_scorer(Threshold(), TARGET, out, in_, rng)
    assert score_of(scorer, "down", "even", "up") == pytest.approx([0.5 - np.log(4), 0.5, 0.5 + np.log(4)], abs=0.25)


def test_an_uninformative_event_does_not_blur_ordinary_outputs() -> None:
    rng, n = RNG(4), 50_000
    sides = [with_events(rng.laplace(shift, 1.0, n), nan=np.arange(n // 5)) for shift in (0.0, 1.0)]
    scorer = fit_scorer(Threshold(), TARGET, *sides, rng)
    fpr, tpr = rates(*(scorer.score(side) for side in sides))
    common = fpr > 0.05
    assert np.log(tpr[common] / fpr[common]).max() > 0.9, "four fifths of the runs still show epsilon = 1"


def test_new_labels_have_the_log_odds_of_all_events() -> None:
    rng = RNG(5)
    out = with_events(rng.normal(size=500), raised_A=np.arange(100))
    scorer = fit_scorer(Threshold(), TARGET, out, Outputs(rng.normal(size=500)), rng)
    assert score_of(scorer, "raised B", "raised A") == [-np.inf, -np.inf]
    assert score_of(scorer, "", "zzz")[1] == -np.inf


def test_events_after_a_pilot_without_events_score_as_side_1() -> None:
    scorer = fit_scorer(Threshold(), TARGET, *outputs(*RNG(6).normal(size=(2, 50))), RNG(0))
    assert scorer.score(Outputs(np.array([0.5, np.nan]))).tolist()[1] == np.inf
    assert score_of(scorer, "", "None") == [0.0, np.inf]


def test_the_attack_is_trained_on_ordinary_rows_only() -> None:
    seen: list[Outputs] = []

    @dataclass(frozen=True)
    class Spy(Attack):
        def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> ConstantScorer:
            seen.extend([pilot0, pilot1])
            return ConstantScorer()

    values = np.arange(1.0, 7.0)
    fit_scorer(Spy(), TARGET, with_events(values, nan=np.array([0, 3])), Outputs(np.append(values, np.nan)), RNG(0))
    assert [o.values.tolist() for o in seen] == [[2.0, 3.0, 5.0, 6.0], values.tolist()]
    assert all(o.events is None for o in seen)


def test_sides_with_events_only_are_distinguished() -> None:
    every = np.arange(60)
    mixed = with_events(np.zeros(60), nan=every[:20], None_=every[20:])
    other = with_events(np.zeros(60), nan=every[:45], None_=every[45:])
    scorer = fit_scorer(Classifier(), TARGET, mixed, other, RNG(0))
    assert auc(scorer.score(mixed), scorer.score(other)) > 0.6


def test_a_side_of_events_against_a_side_of_numbers_is_distinguished() -> None:
    events, numbers = with_events(np.zeros(60), nan=np.arange(60)), Outputs(RNG(0).normal(size=60))
    for out, in_ in ((events, numbers), (numbers, events)):
        scorer = fit_scorer(Classifier(), TARGET, out, in_, RNG(0))
        assert auc(scorer.score(out), scorer.score(in_)) == 1.0


def test_outputs_of_different_shape_are_distinguished() -> None:
    short, long = Outputs(np.zeros((40, 3))), Outputs(np.zeros((40, 4)))
    scorer = fit_scorer(Classifier(), TARGET, short, long, RNG(0))
    assert set(scorer.score(short)) == {-np.inf}
    assert set(scorer.score(long)) == {np.inf}


def test_outputs_of_a_new_shape_are_events() -> None:
    values = RNG(7).normal(size=(2, 50, 3))
    scorer = fit_scorer(Threshold(statistic="sum"), TARGET, *outputs(*values), RNG(0))
    assert scorer.score(Outputs(np.zeros((2, 4)))).tolist() == [np.inf, np.inf]


def test_without_a_pilot_any_shape_is_ordinary() -> None:
    @dataclass(frozen=True)
    class Sum(Attack):
        minimum_pilot: ClassVar[int] = 0

        def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> ThresholdScorer:
            return ThresholdScorer("sum", 1.0)

    scorer = fit_scorer(Sum(), TARGET, *outputs(np.empty(0), np.empty(0)), RNG(0))
    assert scorer.score(Outputs(np.ones((2, 4)))).tolist() == [4.0, 4.0]
    assert scorer.score(Outputs(np.array([1.0, np.nan]))).tolist() == [1.0, np.inf]


def test_a_small_pilot_is_refused_for_its_size_even_if_it_holds_events() -> None:
    values = np.append(np.zeros(20), np.nan)
    with pytest.raises(AttackError, match="at least 30"):
        fit_scorer(Classifier(), TARGET, *outputs(values, values), RNG(0))


def test_infinite_scores_of_the_attack_keep_their_place() -> None:
    @dataclass(frozen=True)
    class Witness:
        def score(self, outputs: Outputs) -> np.ndarray:
            return np.where(outputs.values > 2, np.inf, np.where(outputs.values < -2, -np.inf, outputs.values))

    class Sure(Attack):
        def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Witness:
            return Witness()

    rng = RNG(8)
    sides = [with_events(rng.normal(m, 2.0, 5_000), nan=np.arange(500)) for m in (-1, 1)]
    scorer = fit_scorer(Sure(), TARGET, *sides, rng)
    (place,) = score_of(scorer, "nan")
    assert abs(place) < 1.0
    assert not np.isnan(scorer.score(sides[0])).any()


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.array([0.0, np.nan, 1.0]), "returned NaN for an ordinary output"),
        (np.zeros((3, 1)), r"shape \(3,\), but returned shape \(3, 1\)"),
    ],
)
def test_a_scorer_that_breaks_its_contract_is_refused(scores: np.ndarray, message: str) -> None:
    @dataclass(frozen=True)
    class Broken:
        def score(self, outputs: Outputs) -> np.ndarray:
            return scores

    with pytest.raises(AttackError, match=message):
        EventScorer(Broken(), ((),)).score(Outputs(np.zeros(3)))


def test_event_scorers_pickle_and_score_each_run_by_itself() -> None:
    rng = RNG(9)
    sides = [
        with_events(rng.normal(m, 1.0, 300), nan=np.arange(k), None_=np.arange(50, 60)) for m, k in ((0, 5), (1, 20))
    ]
    scorer = pickle.loads(pickle.dumps(fit_scorer(Classifier(), TARGET, *sides, rng)))
    fresh = sides[1]
    assert fresh.events is not None
    whole = scorer.score(fresh)
    parts = [scorer.score(Outputs(fresh.values[i : i + 7], fresh.events[i : i + 7])) for i in range(0, 300, 7)]
    assert np.array_equal(whole, np.concatenate(parts))
