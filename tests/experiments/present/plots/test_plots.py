"""Figures: the numbers that they hold, and the files that are drawn from them."""

from __future__ import annotations

import dataclasses
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from scipy.special import ndtr, ndtri
from tests.experiments.made_results import (
    broken_sweep,
    coin_result,
    elsewhere_result,
    fine_fpr,
    gaussian_result,
    gaussian_scores,
    laplace_result,
    laplace_scores,
    laplace_sweep,
    pure_curve,
    result_of,
    sweep_of,
)

from dpassay.audit.evidence.scores import PairScores
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.results.audit_result import AuditResult
from dpassay.experiments.present.plots import (
    BoundClaim,
    LadderPlot,
    Profile,
    ScoreHistogram,
    Tradeoff,
    draw_all,
    draw_result,
)
from dpassay.experiments.present.plots.draw import overview, shown
from dpassay.experiments.present.plots.labels import number, one_notation
from dpassay.experiments.present.plots.style import (
    PAGE,
    PALETTE,
    RULE,
    _svg_text,
    described,
    logarithmic,
    new_figure,
    save,
    spread,
)
from dpassay.experiments.present.plots.tradeoff import with_corners
from dpassay.experiments.present.results.parameters import cut, long_key, parameters_text, short_keys, value_text
from dpassay.experiments.present.results.sweep import SweepResult


def odd_result() -> AuditResult:
    """Errors on one side only, scored as infinite."""
    rng = np.random.default_rng(3)
    out = np.concatenate([rng.normal(0.0, 1.0, 4950), np.full(50, -np.inf)])
    in_ = np.concatenate([rng.normal(0.5, 1.0, 4850), np.full(150, np.inf)])
    events = {"raised ValueError": (0, 150), "nan": (50, 0)}
    return result_of(PairScores(out, in_), 1.0, pure_curve(1.0), threshold=math.inf, events=events)


def constant_result() -> AuditResult:
    """One score for every run."""
    return result_of(PairScores(np.zeros(500), np.zeros(500)), 1.0, pure_curve(1.0), threshold=0.0)


def heavy_result() -> AuditResult:
    """Scores with tails that reach a thousand times further than the rest."""
    rng = np.random.default_rng(4)
    scores = PairScores(rng.standard_cauchy(5000), rng.standard_cauchy(5000) + 1.0)
    return result_of(scores, 1.0, pure_curve(1.0), threshold=2.0)


def coarse_result() -> AuditResult:
    """A claim so large that 101 even points hardly touch its curve."""
    coarse = pure_curve(8.0, np.linspace(0.0, 1.0, 101))
    return dataclasses.replace(laplace_result(8.0), claim_curve=coarse)


def nothing_claimed() -> AuditResult:
    """A claim of perfect privacy: delta 0 at every epsilon."""
    curve = dataclasses.replace(pure_curve(1.0), delta=(0.0,) * 101, fnr=tuple(1.0 - np.array(pure_curve(1.0).fpr)))
    return dataclasses.replace(laplace_result(0.5), claim=0.0, claim_curve=curve)


RESULTS: dict[str, AuditResult] = {
    "laplace": laplace_result(),
    "violation": laplace_result(1.5, claim=1.0),
    "gaussian": gaussian_result(),
    "two scores": coin_result(),
    "exceptional outputs": odd_result(),
    "one score": constant_result(),
    "heavy tails": heavy_result(),
    "large claim": laplace_result(6.0),
    "coarse claim": coarse_result(),
    "claim of zero": nothing_claimed(),
    "few trials": laplace_result(0.1, n=60),
    "detects nothing": dataclasses.replace(laplace_result(), detectable=math.inf, exact_epsilon=None),
    "infinite truth": dataclasses.replace(laplace_result(), exact_epsilon=math.inf),
}


# words


def test_numbers_are_short_and_those_that_are_not_finite_have_a_sign() -> None:
    shown = [number(v) for v in (0.98765, 1e-5, 2.5e-7, 123456.0, 0.0, -0.5, math.inf, -math.inf, math.nan, None)]
    assert shown == ["0.9877", "1e-5", "2.5e-7", "123,456", "0", "-0.5", "∞", "−∞", "–", "–"]


def test_the_ticks_of_an_axis_are_written_in_one_notation() -> None:
    assert one_notation([0.0, 0.001, 0.05, 1.0, 100.0]) == ["0", "0.001", "0.05", "1", "100"]
    assert one_notation([1000.0, 10_000.0]) == ["1,000", "10,000"]
    assert one_notation([0.0, 1e-12, 0.1, 1.0]) == ["0", "10⁻¹²", "10⁻¹", "10⁰"]
    assert one_notation([1e-6, 5e-4, 0.1]) == ["1×10⁻⁶", "5×10⁻⁴", "1×10⁻¹"]


def test_parameters_are_written_as_people_do() -> None:
    assert parameters_text({"mechanism.noise_multiplier": 0.5, "a.b.k": 4}) == "noise multiplier = 0.5, k = 4"
    assert parameters_text({"mechanism.delta, claim.delta": 1e-5}) == "delta = 1e-5"
    assert parameters_text({"case": {"name": "black box", "attack": {}}, "mechanism.name": "x"}) == "black box, x"
    assert long_key("mechanism.delta, claim.delta") == "delta of the mechanism"
    assert short_keys(["mechanism.name", "case", "a.k"]) == ["mechanism", "case", "k"]
    assert short_keys(["a.k", "b.k"]) == ["k of the a", "k of the b"]
    assert [value_text(v) for v in ({"name": "laplace"}, {"k": 1}, "x", [1, 2], True)] == [
        "laplace",
        '{"k": 1}',
        "x",
        "[1, 2]",
        "true",
    ]
    assert cut("abcdef", 4) == "abc…"


# layout


def naive_spread(positions: np.ndarray, gap: float) -> np.ndarray:
    """The minimax formula of isotonic regression (Barlow et al., 1972), over all intervals."""
    order = np.argsort(positions, kind="stable")
    y = positions[order] - gap * np.arange(len(positions))
    n = len(y)
    fitted = [max(min(y[j : k + 1].mean() for k in range(i, n)) for j in range(i + 1)) for i in range(n)]
    moved = np.empty(n)
    moved[order] = np.array(fitted) + gap * np.arange(n)
    return moved


@pytest.mark.parametrize("seed", range(5))
def test_labels_are_moved_apart_as_little_as_possible(seed: int) -> None:
    positions = np.random.default_rng(seed).uniform(0, 50, 8)
    moved = spread(positions, 10.0)
    assert np.diff(np.sort(moved)).min() >= 10.0 - 1e-9
    assert np.array_equal(np.argsort(moved), np.argsort(positions))
    np.testing.assert_allclose(moved, naive_spread(positions, 10.0), atol=1e-9)


def test_labels_that_stand_well_apart_stay_where_they_are() -> None:
    np.testing.assert_allclose(spread(np.array([30.0, 0.0, 60.0]), 10.0), [30.0, 0.0, 60.0])


# colours


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.2."""
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", [c for c in PALETTE if c is not RULE])
def test_text_in_every_colour_can_be_read_in_both_themes(colour: Any) -> None:
    assert contrast(colour.light, PAGE[0]) >= 4.5
    assert contrast(colour.dark, PAGE[1]) >= 4.5


# trade-off


def test_tradeoff_holds_the_errors_of_the_raw_scores() -> None:
    scores = gaussian_scores(1.0, 150, np.random.default_rng(0))
    plot = Tradeoff.from_result(result_of(scores, 1.0, pure_curve(1.0), threshold=1.0))
    thresholds = np.unique(np.concatenate([scores.out, scores.in_]))
    naive = [(np.mean(scores.out >= t), np.mean(scores.in_ < t)) for t in thresholds]
    np.testing.assert_allclose(np.column_stack([plot.fpr, plot.fnr])[1:-1], naive, atol=1e-12)
    assert (plot.fpr[0], plot.fnr[0], plot.fpr[-1], plot.fnr[-1]) == (1.0, 0.0, 0.0, 1.0)


def test_tradeoff_says_whether_the_upper_curve_enters_the_forbidden_region() -> None:
    holds, broken = Tradeoff.from_result(laplace_result()), Tradeoff.from_result(laplace_result(1.5, claim=1.0))
    assert (holds.crossed, broken.crossed) == (False, True)
    assert "this line does not enter" in holds.caption
    assert "this line enters" in broken.caption
    assert holds.title != broken.title


def test_a_large_true_claim_is_not_crossed_by_distant_samples() -> None:
    assert not Tradeoff.from_result(coarse_result()).crossed


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.0, 2.3, 4.0])
def test_corners_between_samples_make_a_piecewise_linear_claim_exact(epsilon: float) -> None:
    curve = pure_curve(epsilon, np.linspace(0.0, 1.0, 101))
    x, y = with_corners(np.array(curve.fpr), np.array(curve.fnr))
    fine = pure_curve(epsilon, np.linspace(0.0, 1.0, 4001))
    np.testing.assert_allclose(np.interp(fine.fpr, x, y), fine.fnr, atol=1e-9)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_corners_never_enlarge_what_the_claim_forbids(mu: float) -> None:
    fpr = fine_fpr()
    x, y = with_corners(fpr, ndtr(ndtri(1.0 - fpr) - mu))
    inside = np.linspace(fpr[1], fpr[-2], 5001)
    exact, drawn = ndtr(ndtri(1.0 - inside) - mu), np.interp(inside, x, y)
    assert np.all(drawn <= exact + 1e-9)
    np.testing.assert_allclose(drawn, exact, atol=2e-2)


def test_a_small_error_rate_gets_logarithmic_axes() -> None:
    assert Tradeoff.from_result(laplace_result(6.0)).plot().get_xscale() == "symlog"
    assert Tradeoff.from_result(laplace_result(1.0)).plot().get_xscale() == "linear"


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize(("low", "high"), [(1e-320, 1e300), (1e-300, math.inf), (0.0, 1.0), (1e-5, 1e308)])
def test_a_logarithmic_axis_is_drawn_whatever_its_range(low: float, high: float, zero: bool) -> None:
    ax = new_figure().add_subplot()
    logarithmic(ax.xaxis, low, high, zero=zero)
    assert np.isfinite(ax.get_xlim()).all()
    assert len(ax.get_xticks()) >= 2


# profile


def test_profile_holds_the_claim_and_a_curve_that_a_true_claim_stays_above() -> None:
    result = gaussian_result()
    plot = Profile.from_result(result)
    curve = result.claim_curve
    np.testing.assert_allclose(np.interp(curve.epsilon, plot.epsilon, plot.claim), curve.delta)
    assert np.all(np.diff(plot.lower) <= 1e-12)
    assert np.any(plot.lower > 0)
    assert not plot.crossed
    assert plot.audited == (result.bound.epsilon, result.delta)


def test_profile_shows_more_delta_than_a_false_claim_allows() -> None:
    plot = Profile.from_result(laplace_result(1.5, claim=1.0))
    assert plot.crossed
    assert plot.epsilon[-1] >= 1.5
    assert re.fullmatch(r"At epsilon = 1\S*, delta is at least 0\.\d+; the claim is at most \S+", plot.title)


def test_profile_says_when_nothing_was_shown() -> None:
    plot = Profile.from_result(constant_result())
    assert not np.any(plot.lower)
    assert plot.title == "No positive lower bound on delta at any epsilon; the claim is 0.4621 at epsilon = 0"
    assert any("no positive lower bound" in text.get_text() for text in plot.plot().texts)


# histograms


@pytest.mark.parametrize("name", RESULTS)
def test_histograms_lose_no_run(name: str) -> None:
    plot = ScoreHistogram.from_result(RESULTS[name])
    assert ",," not in plot.caption
    assert plot.out.sum() + plot.atoms_out.sum() == pytest.approx(1.0)
    assert plot.in_.sum() + plot.atoms_in.sum() == pytest.approx(1.0)


def test_histogram_agrees_with_one_of_the_raw_scores() -> None:
    scores = gaussian_scores(1.0, 20_000, np.random.default_rng(0))
    full = dataclasses.replace(result_of(scores, 1.0, pure_curve(1.0), threshold=1.0), tally=scores.tally)
    plot = ScoreHistogram.from_result(full)
    clipped = np.clip(scores.out, plot.edges[0], plot.edges[-1])
    np.testing.assert_allclose(plot.out, np.histogram(clipped, plot.edges)[0] / 20_000, atol=1.01 / 20_000)
    thin = ScoreHistogram.from_result(dataclasses.replace(full, tally=scores.thinned(400)))
    below = [np.mean(scores.out < edge) for edge in thin.edges[1:-1]]
    np.testing.assert_allclose(thin.out.cumsum()[:-1], below, atol=1.5 / 400)


def test_scores_that_many_runs_share_stand_out_as_atoms() -> None:
    scores = laplace_scores(1.0, 20_000, np.random.default_rng(0))
    plot = ScoreHistogram.from_result(result_of(scores, 1.0, pure_curve(1.0), threshold=1.0))
    np.testing.assert_allclose(plot.atoms, [-1.0, 1.0], atol=1e-9)
    assert plot.atoms_out[0] == pytest.approx(np.mean(scores.out <= -1.0), abs=0.01)
    assert plot.atoms_in[1] == pytest.approx(np.mean(scores.in_ >= 1.0), abs=0.01)
    assert plot.out.sum() == pytest.approx(np.mean(np.abs(scores.out) < 1.0), abs=0.01)


def test_scores_that_only_rounding_tells_apart_are_one_atom() -> None:
    rng = np.random.default_rng(0)
    scores = laplace_scores(1.0, 5000, rng)
    shaken = PairScores(scores.out + rng.normal(0, 1e-15, 5000), scores.in_ + rng.normal(0, 1e-15, 5000))
    plot = ScoreHistogram.from_result(result_of(shaken, 1.0, pure_curve(1.0), threshold=0.5))
    assert len(plot.atoms) == 2


def test_two_scores_are_two_atoms_with_their_shares() -> None:
    result = coin_result()
    plot = ScoreHistogram.from_result(result)
    np.testing.assert_allclose(plot.atoms, [-math.log(3), math.log(3)])
    np.testing.assert_allclose(plot.atoms_in, [0.25, 0.75], atol=0.02)
    assert len(plot.edges) == 0


def test_shares_are_drawn_on_an_axis_that_ends_at_one() -> None:
    for name in ("gaussian", "two scores"):
        plot = ScoreHistogram.from_result(RESULTS[name])
        ax = plot.plot()
        assert max(ax.get_yticks()) <= 1.0 < ax.get_ylim()[1] < 2.0
        assert ("bin" in ax.get_ylabel()) == (len(plot.edges) > 0)
        assert "threshold of the bound" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_few_runs_get_few_bins() -> None:
    bins = [len(ScoreHistogram.from_result(gaussian_result(n=n)).edges) - 1 for n in (50, 500, 20_000)]
    assert bins == [7, 15, 48]


def test_rare_scores_between_two_atoms_are_no_stems() -> None:
    """Laplace noise with a small epsilon: thresholds are quantiles, and few of them lie between the two atoms."""
    result = laplace_result(0.1)
    plot = ScoreHistogram.from_result(dataclasses.replace(result, tally=result.tally.thin(60)))
    np.testing.assert_allclose(np.unique(plot.atoms.round(6)), [-0.1, 0.1])
    assert len(plot.edges) > 0
    assert plot.edges[-1] == pytest.approx(0.1)
    assert plot.out.sum() + plot.atoms_out.sum() == pytest.approx(1.0)


def test_infinite_scores_are_atoms_and_exceptional_outputs_are_named() -> None:
    plot = ScoreHistogram.from_result(odd_result())
    assert set(plot.atoms) == {-math.inf, math.inf}
    assert plot.atoms_in[-1] == pytest.approx(0.03)
    assert "raised ValueError: 0 on side 0 and 150 on side 1" in plot.caption
    assert {"∞", "−∞"} <= {text.get_text() for text in plot.plot().texts}


def test_heavy_tails_do_not_squeeze_the_rest_into_one_bin() -> None:
    plot = ScoreHistogram.from_result(heavy_result())
    assert np.max(plot.out) < 0.9
    assert plot.edges[-1] - plot.edges[0] < 200


# bound and claim


def test_the_x_axis_is_the_swept_epsilon_and_lines_are_the_rest() -> None:
    grid = [(k, e) for k in (4, 1) for e in (2.0, 0.5, 1.0)]
    results = [laplace_result(e / k, claim=e, n=500) for k, e in grid]
    plot = BoundClaim.from_sweep(sweep_of([{"m.k": k, "m.epsilon": e} for k, e in grid], results))
    assert [s.name for s in plot.series] == ["k = 4", "k = 1"]
    assert all(s.x == (0.5, 1.0, 2.0) for s in plot.series)
    assert plot.series[0].exact_epsilon == (0.125, 0.25, 0.5)
    assert plot.x_name == "epsilon of the m"
    assert plot.shared("claim") == (0.5, 1.0, 2.0)
    assert plot.shared("exact_epsilon") is None


def test_series_whose_parameters_read_alike_are_not_joined() -> None:
    grid = [(k, e) for k in (0.25, 0.25 + 1e-7) for e in (0.5, 1.0)]
    results = [laplace_result() for _ in grid]
    plot = BoundClaim.from_sweep(sweep_of([{"m.k": k, "m.epsilon": e} for k, e in grid], results))
    assert [series.x for series in plot.series] == [(0.5, 1.0)] * 2
    assert len({series.name for series in plot.series}) == 2


def named_sweep(results: list[AuditResult]) -> Any:
    names = ["classic", "analytic", "an extraordinarily long name that wants more than one line"]
    return sweep_of([{"mechanism.name": n} for n in names[: len(results)]], results)


def test_a_sweep_over_names_is_a_ladder_with_every_name_in_full() -> None:
    plot = overview(named_sweep([laplace_result(e, claim=1.0) for e in (0.7, 0.9, 1.4)]))
    assert isinstance(plot, LadderPlot)
    assert [rung.violation for rung in plot.rungs] == [False, False, True]
    labels = [label.get_text().replace("\n", " ") for label in plot.plot().get_yticklabels()]
    assert labels == ["classic", "analytic", "an extraordinarily long name that wants more than one line"]
    assert isinstance(overview(laplace_sweep((0.5, 1.0))), BoundClaim)
    with pytest.raises(ValueError, match=r"none of mechanism.name is a number"):
        BoundClaim.from_sweep(named_sweep([laplace_result()] * 2))


def test_exact_values_beyond_a_ladder_are_arrows_and_numbers() -> None:
    far = [dataclasses.replace(laplace_result(), exact_epsilon=truth) for truth in (1.0, 30.0, math.inf)]
    plot = overview(named_sweep(far))
    ax = plot.plot()
    assert 1.0 < ax.get_xlim()[1] < 1.5
    arrows = [text for text in ax.texts if getattr(text, "arrow_patch", None) is not None]
    assert len(arrows) == 2
    texts = [text.get_text() for text in ax.texts]
    assert texts[texts.index("exact") :][1:4] == ["1", "30", "∞"]
    assert "arrow" in plot.caption
    assert "exact" not in overview(named_sweep([dataclasses.replace(laplace_result(), exact_epsilon=None)] * 2)).caption


def test_refutation_at_another_delta_is_not_drawn_as_a_larger_epsilon() -> None:
    above, elsewhere = laplace_result(1.5, claim=1.0), elsewhere_result()
    assert elsewhere.refuted_elsewhere is elsewhere.curve_violation is not None
    assert above.refuted_elsewhere is None
    titles = [
        overview(make(results)).title
        for make in (named_sweep, lambda rs: sweep_of([{"a.epsilon": float(i)} for i, _ in enumerate(rs)], rs))
        for results in ([above, above], [above, elsewhere], [elsewhere, laplace_result()])
    ]
    assert titles == 2 * [
        "Refuted at 2 of 2 points",
        "Refuted at 2 of 2 points, at 1 of them at another delta",
        "Refuted at 1 of 2 points, at another delta",
    ]
    assert BoundClaim.from_result(elsewhere).title == "The claim is refuted, at another delta"
    ladder = overview(named_sweep([above, elsewhere]))
    assert "†: the claim is refuted at a delta other than" in ladder.caption
    assert "† 0.5" in [text.get_text() for text in ladder.plot().texts]
    assert "another delta" in BoundClaim.from_result(elsewhere).caption
    assert "another delta" not in BoundClaim.from_result(above).caption


def _one_by_chance(parameter: str) -> SweepResult:
    """Three refuted claims, one whose bound is above its claim by chance, one weak and one plainly consistent."""
    by_chance = dataclasses.replace(laplace_result(), p_value=0.04, verdict=Verdict.VIOLATION)
    by_chance = dataclasses.replace(by_chance, bounds=(dataclasses.replace(by_chance.bound, epsilon=1.01),))
    weak = dataclasses.replace(laplace_result(), detectable=2.0)
    results = [laplace_result(1.5, claim=1.0)] * 3 + [by_chance, weak, laplace_result()]
    values = [{"name": f"rung {i}"} if parameter == "case" else float(i) for i in range(len(results))]
    return sweep_of([{parameter: value} for value in values], results)


@pytest.mark.parametrize("parameter", ["case", "a.epsilon"])
def test_figures_count_and_mark_what_the_verdicts_say(parameter: str) -> None:
    """A bound above its claim that is not significant is marked, and not counted as refuted."""
    sweep = _one_by_chance(parameter)
    assert [point.verdict for point in sweep.points] == [Verdict.VIOLATION] * 3 + [Verdict.CONSISTENT] * 3
    plot = overview(sweep)
    assert plot.title == "Refuted at 3 of 6 points; 1 more bound is above its claim, but refutes nothing"
    assert "not significant after the correction for the number of audits" in plot.caption
    ax = plot.plot()
    legend = legend_of(ax)
    assert "consistent, weak" in legend
    if parameter == "case":
        numbers = [text.get_text() for text in ax.texts]
        marks = [text.split()[0] for text in numbers[numbers.index("bound") + 1 :][:6]]
        assert marks[:5] == ["✖", "✖", "✖", "*", "~"]
        assert "~: consistent, weak" in plot.caption
        assert len({bar.get_facecolor() for bar in ax.patches}) == 3
    else:
        assert {"violation", "above the claim, not significant"} <= set(legend)
        marked = sorted(len(line.get_xdata()) for line in ax.lines if line.get_linestyle() == "None")
        assert marked == [1, 1, 3]


def test_the_title_counts_violations() -> None:
    assert BoundClaim.from_sweep(broken_sweep()).title.endswith("at 2 of 3 points")
    shares = [math.floor(100 * point.result.bound.epsilon / point.result.claim) for point in laplace_sweep().points]
    title = BoundClaim.from_sweep(laplace_sweep()).title
    assert title == f"The lower bounds reach {min(shares)} to {max(shares)} % of the claims"
    assert BoundClaim.from_result(laplace_result(1.5, claim=1.0)).title == "The claim is refuted"


def leaning_result(**other: Any) -> AuditResult:
    """A bound that leans on a family of curves, and one that does not."""
    base = gaussian_result(**other)
    leaning = dataclasses.replace(base.bound, epsilon=0.9 * base.claim, assumptions=("a Gaussian curve",))
    free = dataclasses.replace(base.bound, epsilon=0.4 * base.claim)
    return dataclasses.replace(base, bounds=(leaning, free))


def test_plots_say_which_bound_assumes_a_family() -> None:
    result = leaning_result()
    profile = Profile.from_result(result)
    assert profile.free == 0.4 * result.claim
    assert legend_of(profile.plot())[3:] == ["bound at delta = 0.01", "bound, if in the family of the claim"]
    assert "is valid only if" in profile.caption
    alone = Profile.from_result(dataclasses.replace(result, bounds=result.bounds[:1]))
    assert legend_of(alone.plot())[3:] == ["bound, if in the family of the claim"]
    silent = Profile.from_result(gaussian_result())
    assert "family" not in silent.caption + "".join(legend_of(silent.plot()))
    bars = BoundClaim.from_result(result)
    rows = [label.get_text() for label in bars.plot().get_yticklabels()]
    assert rows[1:3] == ["lower bound, if in the family", "lower bound, nothing assumed"]
    assert all(f"“{row}”" in bars.caption for row in rows[1:3])
    assert "family" not in BoundClaim.from_result(gaussian_result()).caption


def legend_of(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_ceilings_far_above_do_not_flatten_the_plot() -> None:
    ax = BoundClaim.from_sweep(laplace_sweep((0.5, 1.0))).plot()
    assert ax.get_ylim()[1] < 1.5
    assert any(text.get_text().startswith("ceiling 8.") for text in ax.texts)


def test_hundreds_of_points_lines_and_bounds_of_zero_are_drawn() -> None:
    base = laplace_result()
    zero = dataclasses.replace(base, bounds=(dataclasses.replace(base.bound, epsilon=0.0),))
    for sweep in (
        sweep_of([{"seed": i} for i in range(300)], [base] * 300),
        sweep_of([{"a.k": k, "a.epsilon": e} for k in range(20) for e in (1.0, 100.0)], [base] * 40),
        sweep_of([{"audit.delta": d} for d in (1e-6, 1e-5)], [zero, zero]),
        sweep_of([{"a.flag": f} for f in (True, False)], [base, zero]),
        sweep_of([{"m.name": f"name-{i}"} for i in range(120)], [base] * 120),
    ):
        _svg_text(_figure(overview(sweep)), title="", description="")


def _figure(plot: Any) -> Any:
    figure = new_figure()
    plot.plot(figure.add_subplot())
    return figure


# files


SIMILAR = ("gaussian", "large claim", "coarse claim", "few trials", "detects nothing", "heavy tails")
"""Nothing is drawn of these that is not drawn of one of the others."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SIMILAR else n for n in RESULTS])
def test_the_overview_of_any_result_can_be_drawn(name: str) -> None:
    figure = draw_result(RESULTS[name])
    ElementTree.fromstring(_svg_text(figure, title="t", description="d"))
    assert len(figure.axes) == 4
    assert all(ax.get_title(loc="left") for ax in figure.axes)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return draw_all(_drawn_sweep(), tmp_path_factory.mktemp("run") / "figures")


def _drawn_sweep() -> Any:
    """A claim that is not kept and one that is."""
    points = broken_sweep().points[1:]
    assert [point.verdict for point in points] == [Verdict.VIOLATION, Verdict.CONSISTENT]
    return sweep_of([point.parameters for point in points], [point.result for point in points])


def test_each_plot_is_written_as_svg_and_png(drawn: list[Path]) -> None:
    stems = [f"audit-0{i}-{kind}" for i in (1, 2) for kind in ("tradeoff", "profile", "scores")]
    overview = ["bound-claim.svg", "bound-claim.png", "bound-claim-narrow.svg"]
    assert [path.name for path in drawn] == overview + [f"{stem}.{kind}" for stem in stems for kind in ("svg", "png")]
    assert all(path.is_file() for path in drawn)


def test_a_figure_is_drawn_once_for_each_of_its_two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure, drawn, draw = new_figure(), [], Figure.draw
    figure.add_subplot()
    monkeypatch.setattr(Figure, "draw", lambda self, to: drawn.append(type(to).__name__) or draw(self, to))
    assert len(save(figure, tmp_path / "one", title="t", description="d")) == 2
    assert drawn == ["MixedModeRenderer", "RendererAgg"]
    assert (figure.get_dpi(), figure.get_facecolor()) == (new_figure().get_dpi(), new_figure().get_facecolor())


def test_the_same_numbers_give_the_same_bytes(
    drawn: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpassay.experiments.present.plots.draw.shown", lambda points: [0])
    again = draw_all(_drawn_sweep(), tmp_path / "again")
    assert [p.name for p in again] == [p.name for p in drawn[:9]]
    assert [p.read_bytes() for p in again] == [p.read_bytes() for p in drawn[:9]]


def test_svgs_are_small_well_formed_and_described(drawn: list[Path]) -> None:
    for path in drawn:
        if path.suffix == ".svg":
            text = path.read_text()
            root = ElementTree.fromstring(text)
            title, caption = described(text)
            assert root.get("role") == "img"
            assert title
            assert caption
            assert "<text" in text
            assert "<metadata" not in text
            assert len(text) < 40_000


def test_every_colour_of_an_svg_has_a_dark_form(drawn: list[Path]) -> None:
    known = {colour.light for colour in PALETTE}
    for path in drawn:
        if path.suffix == ".svg":
            text = re.sub(r"<style>.*?</style>", "", path.read_text(), flags=re.DOTALL)
            used = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", text))
            assert used
            assert used <= known, path.name


def test_svgs_ask_for_nothing_from_elsewhere(drawn: list[Path]) -> None:
    for path in drawn:
        if path.suffix == ".svg":
            assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)"', path.read_text()))


def test_pngs_have_200_dots_an_inch(drawn: list[Path]) -> None:
    with Image.open(drawn[1]) as image:
        assert round(image.info["dpi"][0]) == 200
        assert image.size[0] == round(7.6 * 200)


def test_text_of_users_is_neither_formula_nor_markup(tmp_path: Path) -> None:
    bad = "$\\frac{</text><script>alert(1)</script> & $x_"
    result = dataclasses.replace(laplace_result(), mechanism=bad)
    names = [{"m.name": bad, "m.k": [1]}, {"m.name": "$", "m.k": [2]}]
    groups = [{"m.name": name, "m.$k$": k} for name in ("$\\frac{1}$ <b>", "b") for k in (1, 2)]
    sweeps = [sweep_of(names, [result] * 2), sweep_of(groups, [result] * 4)]
    for figure in (draw_result(result), *(_figure(overview(sweep)) for sweep in sweeps)):
        text = _svg_text(figure, title=bad, description=bad)
        ElementTree.fromstring(text)
        assert "<script" not in text
        assert described(text) == (bad, bad)


def test_only_some_audits_of_a_long_sweep_are_shown_violations_among_them() -> None:
    good, bad = laplace_result(n=200), laplace_result(3.0, claim=1.0, n=2000)
    points = sweep_of([{"k": i} for i in range(50)], [bad if i in (7, 11) else good for i in range(50)]).points
    assert [p.verdict is Verdict.VIOLATION for p in points].count(True) == 2
    chosen = shown(points)
    assert len(chosen) <= 6
    assert {0, 7, 11, 49} <= set(chosen)
    assert chosen == sorted(chosen)
    assert shown(points[:4]) == [0, 1, 2, 3]


def test_result_plot_draws_the_overview() -> None:
    assert len(laplace_result().plot().axes) == 4


def test_plots_touch_no_global_state_of_matplotlib() -> None:
    code = "import sys, dpassay.experiments.present.plots; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
