"""Figures of membership results hold the numbers that they draw."""

import numpy as np
import pytest

from dpassay.attacks.membership import Shadows, draw_inclusion
from dpassay.audit.metrics.membership import evaluate
from dpassay.audit.metrics.membership.text import answer
from dpassay.experiments.data.datasets import load
from dpassay.experiments.present.plots.membership import (
    MembershipCurve,
    MembershipRoc,
    RecordVulnerability,
    draw_membership,
)
from dpassay.mechanisms.accounting import PureDP


def result_of(n_models=12, shift=2.0, **options):
    rng = np.random.default_rng(0)
    inclusion = draw_inclusion(n_models, 300, rng)
    values = rng.normal(size=inclusion.shape) + shift * inclusion
    signals = {"loss": values, "rescaled-logit": values}
    shadows = Shadows(inclusion, np.zeros(300), signals, partner=np.arange(n_models) ^ 1, fair=True)
    return evaluate(shadows, ["loss", "lira", "attack-r"][: 3 if n_models > 4 else 1], **options)


def test_curves_end_at_everything_and_grow():
    plot = MembershipRoc.from_result(result_of())
    for curve in plot.curves:
        assert (curve.fpr[0], curve.tpr[0]) == (0.0, 0.0)
        assert (curve.fpr[-1], curve.tpr[-1]) == (1.0, 1.0)
        assert (np.diff(curve.fpr) >= 0).all()
        assert (np.diff(curve.tpr) >= 0).all()


def test_only_the_first_curve_has_a_band_and_it_lies_below():
    first, *others = MembershipRoc.from_result(result_of()).curves
    assert (first.low_tpr <= first.tpr + 1e-12).all()
    assert first.low_tpr[np.searchsorted(first.fpr, 0.1)] > 0.2
    assert all(curve.low_tpr is None for curve in others)


def test_the_title_says_what_the_best_attack_finds():
    result = result_of()
    plot = MembershipRoc.from_result(result)
    best = max(result.attacks, key=lambda metrics: metrics.rate_at(0.01).tpr)
    assert plot.curves[0].name == best.attack
    assert f"{100 * best.rate_at(0.01).tpr:.3g} %" in plot.title


def test_the_region_of_a_claim_is_drawn_where_there_is_one():
    texts = [
        [text.get_text() for text in MembershipRoc.from_result(result).plot().get_legend().get_texts()]
        for result in (result_of(), result_of(claim=PureDP(1.0)))
    ]
    assert "forbidden by the claim" not in texts[0]
    assert "forbidden by the claim" in texts[1]
    region = result_of(claim=PureDP(1.0)).region
    at = region.fpr.index(min(region.fpr, key=lambda f: abs(f - 0.1)))
    assert region.tpr[at] == pytest.approx(np.e * region.fpr[at], rel=1e-6)


def test_records_are_counted_next_to_what_chance_gives():
    result = result_of(32)
    plot = RecordVulnerability.from_metrics(result["loss"], result.n_models)
    assert len(plot.auc) == 300
    assert plot.null.sum() == pytest.approx(300, rel=0.01)
    assert plot.n_exposed == len(result["loss"].records.exposed())
    assert plot.n_exposed > 0
    assert plot.title.startswith(f"{plot.n_exposed:,} of 300")
    assert plot.title.endswith("by loss")


def test_too_few_models_to_expose_a_record_are_said():
    result = result_of(24, shift=50.0)
    plot = RecordVulnerability.from_metrics(result["loss"], 24)
    assert (plot.auc == 1.0).all()
    assert plot.n_exposed == 0
    assert plot.title == "Too few models to test any of 300 records individually"
    assert "At least 26 models" in plot.caption
    enough = result_of(26, shift=50.0)
    assert RecordVulnerability.from_metrics(enough["loss"], 26).n_exposed == 300


def test_an_attack_that_finds_nothing_at_small_rates_is_drawn_at_zero():
    first, *_ = MembershipRoc.from_result(result_of()).curves
    late = MembershipCurve("late", np.array([0.0, 0.2, 1.0]), np.array([0.0, 0.9, 1.0]))
    ax = MembershipRoc((first, late), None, 1000, 0.95, True, 0.5).plot()
    (line,) = (line for line in ax.lines if line.get_label() == "late")
    assert tuple(line.get_xydata()[0]) == (0.0, 0.0)
    for low, ticks in ((ax.get_xlim()[0], ax.get_xticklabels()), (ax.get_ylim()[0], ax.get_yticklabels())):
        assert low < 0.0
        assert ticks[0].get_text() == "0"


def test_every_attack_has_a_line_of_its_own():
    first, *_ = MembershipRoc.from_result(result_of()).curves
    curves = [MembershipCurve(f"attack {i}", first.fpr, first.tpr) for i in range(24)]
    ax = MembershipRoc(tuple(curves), None, 1000, 0.95, True, 0.5).plot()
    lines = [line for line in ax.lines if line.get_label().startswith("attack")]
    looks = {(line.get_color(), repr(line._unscaled_dash_pattern)) for line in lines}
    assert len(looks) == len(lines) == 24
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names[:24] == [curve.name for curve in curves]


def test_the_headline_quotes_one_attack_everywhere():
    """The largest AUC, the best rate at 1 % and most exposed records here belong to three different attacks."""
    rng = np.random.default_rng(0)
    inclusion = draw_inclusion(40, 200, rng)
    often = rng.normal(size=inclusion.shape) + 1.5 * inclusion
    rarely = rng.normal(size=inclusion.shape) + 9.0 * inclusion * (rng.random(inclusion.shape) < 0.25)
    result = evaluate(
        Shadows(
            inclusion, np.zeros(200), {"loss": often, "rescaled-logit": rarely}, partner=np.arange(40) ^ 1, fair=True
        ),
        ["loss", "lira"],
    )
    rates = {metrics.attack: metrics.rate_at(0.01).tpr for metrics in result.attacks}
    assert result.headline.attack == max(rates, key=rates.get) != result.best.attack
    assert len(result.headline.records.exposed()) != len(result.best.records.exposed())
    said = answer(result)
    assert said.startswith(f"{result.headline.attack} identifies {100 * result.headline.rate_at(0.01).tpr:.3g} %")
    assert f"its area under the ROC curve (AUC) is {result.headline.auc:.3f}" in said
    assert f"It individually exposes {len(result.headline.records.exposed())} of 200" in said
    left, right = (ax.get_title(loc="left").replace("\n", " ") for ax in draw_membership(result).axes)
    assert result.headline.attack in left
    assert result.headline.attack in right


@pytest.mark.parametrize("n_models", [4, 12])
def test_the_overview_has_records_where_there_are_enough_models(n_models):
    figure = draw_membership(result_of(n_models))
    assert len(figure.axes) == (2 if n_models == 12 else 1)
    figure.canvas.draw()
    assert result_of(n_models).plot().axes


def test_purchase_like_shoppers_are_binary_and_seeded():
    X, y = load("purchase-like", n=500)
    again, other = load("purchase-like", n=500), load("purchase-like", n=500, seed=1)
    assert X.shape == (500, 100)
    assert set(np.unique(X)) == {0.0, 1.0}
    assert set(np.unique(y)) == set(range(20))
    np.testing.assert_array_equal(X, again[0])
    assert (other[0] != X).any()
