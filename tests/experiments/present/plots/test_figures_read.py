"""Figures answer by themselves: no point is hidden, nothing is named by its colour, no title says nothing."""

from __future__ import annotations

import dataclasses
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.patches import Patch
from tests.experiments.made_results import (
    broken_sweep,
    coin_result,
    elsewhere_result,
    gaussian_result,
    laplace_result,
    laplace_sweep,
    sweep_of,
)

from dpassay.audit.evidence.scores import Tally
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.results.audit_result import AuditResult
from dpassay.experiments.present.plots import BoundClaim, LadderPlot, figure_of
from dpassay.experiments.present.plots.certificate import CertificateRow, MissRates, Power
from dpassay.experiments.present.plots.draw import draw_result, overview, plots_of
from dpassay.experiments.present.plots.scores import ScoreHistogram
from dpassay.experiments.present.plots.style import (
    CLAIM,
    EXACT,
    MUTED,
    VIOLATION,
    new_figure,
    series_colour,
    style_axes,
)

COLOURS = r"\b(black|grey|gray|red|blue|amber|green|dark|light|pale|purple|orange|shaded|thin|hollow|dotted|dashed)\b"


def family_result(share: float = 0.9, free: float = 0.4) -> AuditResult:
    """A bound that leans on a family, and one that assumes nothing."""
    base = gaussian_result()
    leaning = dataclasses.replace(base.bound, epsilon=share * base.claim, assumptions=("a Gaussian curve",))
    return dataclasses.replace(base, bounds=(leaning, dataclasses.replace(base.bound, epsilon=free * base.claim)))


def zero_result() -> AuditResult:
    base = laplace_result()
    return dataclasses.replace(base, bounds=(dataclasses.replace(base.bound, epsilon=0.0),), exact_epsilon=0.001)


def certainty() -> AuditResult:
    """Two scores, one a side: rates of exactly 0 and 1."""
    base = laplace_result(6.0)
    tally = Tally(np.array([-1.0, 1.0]), np.array([500, 0]), np.array([500, 500]), 500, 500)
    bound = dataclasses.replace(base.bound, threshold=1.0, hits=(0, 500))
    return dataclasses.replace(base, tally=tally, bounds=(bound,))


def grid(names: str, results: list[AuditResult]) -> Any:
    """A sweep along named cases, or along numbers."""
    values = [{"name": f"case {i}"} for i in range(3)] if names == "case" else [1.0, 2.0, 90.0]
    return sweep_of([{names: value} for value in values], results)


def plots() -> dict[str, Any]:
    """Every kind of figure, on results of every kind."""
    observed: dict[str, Any] = {}
    results = {
        "laplace": laplace_result(),
        "violation": laplace_result(1.5, claim=1.0),
        "large": laplace_result(6.0),
        "certain": certainty(),
        "family": family_result(),
        "coin": coin_result(),
    }
    for name, result in results.items():
        observed |= {f"{name} {kind}": plot for kind, plot in plots_of(result).items()}
        observed[f"{name} alone"] = overview(sweep_of([{}], [result]))
    mixed = [laplace_result(), zero_result(), laplace_result(0.02)]
    for names in ("case", "a.epsilon"):
        observed[f"zero along {names}"] = overview(grid(names, mixed))
        observed[f"family along {names}"] = overview(grid(names, [family_result(s, s / 3) for s in (0.2, 0.5, 0.9)]))
        observed[f"elsewhere along {names}"] = overview(grid(names, [elsewhere_result(), *mixed[:2]]))
    observed["sweep"] = overview(laplace_sweep())
    observed["broken sweep"] = overview(broken_sweep())
    observed["from zero"] = overview(sweep_of([{"a.k": k} for k in (0.0, 1.0, 90.0)], mixed))
    observed["power"] = Power(
        "a law", 0.0, 1.0, 0.95,
        (("ours", "bound", (100, 10_000), (0.0, 0.9)), ("best of all", "uncorrected", (100, 10_000), (9.0, 2.0))),
    )  # fmt: skip
    observed["misses"] = MissRates((CertificateRow("ours", "bound", ((0.0, True), (1.0, False)), 0.08),), 0.05)
    return observed


PLOTS = plots()
DRAWN: dict[str, Any] = {}


def drawn(name: str) -> Any:
    """The axes of a figure, drawn once."""
    if name not in DRAWN:
        figure = new_figure(7.6, 4.4)
        FigureCanvasAgg(figure)
        DRAWN[name] = PLOTS[name].plot(figure.add_subplot())
        figure.canvas.draw()
    return DRAWN[name]


def words(ax: Any) -> set[str]:
    """All that can be read on a figure, apart from its title."""
    legend = ax.get_legend()
    texts = [*ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels(), *(legend.get_texts() if legend else ())]
    return {" ".join(text.get_text().split()) for text in texts}


@pytest.mark.parametrize("name", PLOTS)
def test_no_axis_hides_a_point(name: str) -> None:
    ax = drawn(name)
    (left, right), (low, high) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    for line in ax.lines:
        data = np.ma.filled(np.ma.asarray(line.get_xydata(), dtype=float), np.nan)
        points = data[np.isfinite(data).all(axis=1)]
        inside_x = (points[:, 0] >= left) & (points[:, 0] <= right)
        inside_y = (points[:, 1] >= low) & (points[:, 1] <= high)
        in_x = line.get_transform() == ax.get_yaxis_transform() or inside_x.all()
        in_y = line.get_transform() == ax.get_xaxis_transform() or inside_y.all()
        assert in_x, (line.get_label(), points, (left, right))
        assert in_y, (line.get_label(), points, (low, high))
    for scale, lowest in ((ax.get_xscale(), left), (ax.get_yscale(), low)):
        assert scale != "log" or lowest > 0.0


@pytest.mark.parametrize("name", PLOTS)
def test_captions_name_what_is_written_and_never_a_colour(name: str) -> None:
    caption, readable = PLOTS[name].caption, words(drawn(name))
    assert not re.search(COLOURS, caption, re.IGNORECASE)
    for quoted in re.findall("“(.*?)”", caption):
        assert quoted in readable, (quoted, readable)


def test_every_kind_of_figure_quotes_its_legend() -> None:
    silent = [name for name, plot in PLOTS.items() if "“" not in plot.caption]
    assert not [name for name in silent if name.split()[-1] in ("tradeoff", "profile")]
    assert not [name for name in silent if name.startswith("family along")]


@pytest.mark.parametrize("name", PLOTS)
def test_the_ticks_of_an_axis_have_one_notation(name: str) -> None:
    ax = drawn(name)
    for scale, labels in ((ax.get_xscale(), ax.get_xticklabels()), (ax.get_yscale(), ax.get_yticklabels())):
        texts = {label.get_text() for label in labels} - {"", "0"}
        if scale in ("log", "symlog"):
            assert len({"10" in text and bool(re.search("[⁰¹²³⁴⁵⁶⁷⁸⁹]", text)) for text in texts}) == 1, texts


@pytest.mark.parametrize("name", [n for n in PLOTS if n.split()[-1] in ("tradeoff", "profile")])
def test_the_forbidden_region_is_named_where_no_line_can_cross_the_words(name: str) -> None:
    ax = drawn(name)
    assert "forbidden by the claim" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert "forbidden by the claim" not in [text.get_text() for text in ax.texts]
    renderer = ax.figure.canvas.get_renderer()
    assert ax.get_legend().get_window_extent(renderer).y0 >= ax.get_window_extent(renderer).y1 - 3.0
    title = ax.get_title(loc="left")
    (box,) = (t.get_window_extent(renderer) for t in (ax._left_title,) if title)
    assert box.y0 >= ax.get_legend().get_window_extent(renderer).y1 - 8.0


def test_what_was_never_seen_is_drawn_at_zero() -> None:
    for kind in ("tradeoff", "profile", "scores"):
        ax = drawn(f"certain {kind}")
        assert ax.get_ylim()[0] < 0.0
        assert ax.get_yticklabels()[0].get_text() == "0"
        assert ax.get_yscale() == "symlog"
    lines = [c for c in drawn("certain scores").collections if isinstance(c, LineCollection)]
    stems = [segment for line in lines for segment in line.get_segments()]
    assert {float(stem[1, 1]) for stem in stems} == {0.0, 1.0}
    along = drawn("zero along a.epsilon")
    assert (along.get_yscale(), along.get_yticklabels()[0].get_text()) == ("symlog", "0")
    assert any(0.0 in line.get_ydata() for line in along.lines if line.get_marker() == "o")
    ladder = drawn("zero along case")
    assert any(list(line.get_xdata()) == [0.0, 0.0] for line in ladder.lines)


def test_a_score_that_no_run_has_is_not_drawn() -> None:
    tally = Tally(np.array([-1.0, 0.0, 1.0]), np.array([500, 200, 200]), np.array([500, 300, 300]), 500, 500)
    plot = ScoreHistogram.from_result(dataclasses.replace(laplace_result(), tally=tally))
    assert plot.atoms.tolist() == [-1.0, 1.0]


def test_titles_answer_with_numbers_and_differ() -> None:
    kinds = ("laplace", "violation", "family", "coin")
    titles = [plot.title for name, plot in PLOTS.items() if name.split()[0] in kinds]
    assert len(set(titles)) == len(titles)
    assert all(re.search(r"\d", title) for title in titles if title != "The claim is refuted")


def test_the_title_of_the_scores_is_their_area_under_the_curve() -> None:
    rng = np.random.default_rng(0)
    out, in_ = rng.integers(0, 6, 300), rng.integers(1, 8, 200)
    thresholds = np.arange(8.0)
    tally = Tally(thresholds, *(np.array([np.sum(side >= t) for t in thresholds]) for side in (out, in_)), 300, 200)
    plot = ScoreHistogram.from_result(dataclasses.replace(laplace_result(), tally=tally))
    pairs = in_[:, None] - out[None, :]
    assert plot.auc == pytest.approx(np.mean(pairs > 0) + 0.5 * np.mean(pairs == 0), abs=1e-12)
    assert f"in {100 * plot.auc:.3g} % of all pairs" in plot.title


def test_titles_of_crossed_figures_quote_the_deepest_point() -> None:
    plot = PLOTS["violation tradeoff"]
    fpr, upper, allowed = plot.gap
    gaps = plot.claim_fnr - np.interp(plot.claim_fpr, plot.upper_fpr, plot.upper_fnr)
    assert allowed - upper == pytest.approx(np.max(gaps), abs=5e-3)
    assert np.interp(fpr, plot.claim_fpr, plot.claim_fnr) == pytest.approx(allowed, abs=1e-9)
    assert PLOTS["laplace tradeoff"].gap is None


def test_lines_of_a_sweep_differ_beyond_the_first_round_of_colours() -> None:
    results = [laplace_result(n=200)] * 24
    plot = overview(sweep_of([{"a.k": f"{k}", "a.epsilon": e} for k in range(12) for e in (1.0, 2.0)], results))
    ax = plot.plot()
    bounds = [line for line in ax.lines if line.get_marker() not in ("None", "X", "", None)]
    assert len({(line.get_color(), line.get_marker()) for line in bounds}) == len(bounds) == 12


def test_nine_lines_have_nine_colours_and_none_is_that_of_exact_values() -> None:
    assert len({series_colour(i) for i in range(9)}) == 9
    assert not {series_colour(i) for i in range(9)} & {EXACT, VIOLATION, CLAIM, MUTED}


def test_claims_that_are_exact_are_drawn_once() -> None:
    results = [laplace_result(e, n=200) for _ in range(3) for e in (1.0, 2.0)]
    ax = overview(sweep_of([{"a.k": f"{k}", "a.epsilon": e} for k in range(3) for e in (1.0, 2.0)], results)).plot()
    assert "claim, exact" in {text.get_text() for text in ax.texts}
    lines = [tuple(map(tuple, line.get_xydata())) for line in ax.lines if line.get_linestyle() == "--"]
    assert len(lines) == len(set(lines)) == 1


def test_every_row_of_a_long_ladder_is_named_beside_its_bar() -> None:
    names = [f"{'long-name-' * 6}{i} / {kind}" for i in range(37) for kind in ("broken", "twin")]
    results = [laplace_result(claim, n=200) for _ in range(37) for claim in (0.01, 1.0)]
    plot = overview(sweep_of([{"case": {"name": name}} for name in names], results))
    figure = new_figure(7.6, plot.height)
    ax = plot.plot(figure.add_subplot())
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(labels) == len(set(labels)) == 74
    assert all(label.endswith(name[-8:]) for label, name in zip(labels, names, strict=True))
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert all(above.y0 >= below.y1 - 1.0 for above, below in pairwise(boxes))
    assert ax.get_xscale() == "symlog"  # the claims differ by a factor of 100
    x, width = ax.transData.transform((0.01, 0.0))[0], ax.get_window_extent().width
    assert x - ax.transData.transform((0.0, 0.0))[0] > 0.02 * width


def test_the_ladder_of_similar_claims_is_linear() -> None:
    assert drawn("family along case").get_xscale() == "linear"


def test_neighbouring_axes_have_ticks_in_one_style() -> None:
    ax = new_figure(5.0, 4.0).add_subplot()
    ax.plot([0.0, 1.0], [0.0, 1.0])
    style_axes(ax, title="", x="", y="")
    assert [ax.xaxis.get_major_formatter().format_ticks(v) for v in ([0.0, 0.5, 1.0], [0.0, 0.1 + 0.2])] == [
        ["0", "0.5", "1"],
        ["0", "0.3"],
    ]


def test_the_heading_of_all_plots_of_an_audit_is_not_cut() -> None:
    figure = draw_result(dataclasses.replace(laplace_result(), mechanism="Word(option=1.0), " * 8))
    figure.draw_without_rendering()
    heading = figure._suptitle.get_window_extent()
    assert heading.x1 <= figure.bbox.width
    assert heading.y1 <= figure.bbox.height


def test_both_bounds_are_drawn_and_named() -> None:
    for names in ("case", "a.epsilon"):
        readable = words(drawn(f"family along {names}"))
        assert {"lower bound, if in the family", "lower bound, nothing assumed"} <= readable
    assert PLOTS["family along case"].title.endswith("if in the family; 6 to 30 % with nothing assumed")
    row = grid("case", [family_result()] * 3).to_frame().iloc[0]
    claim = family_result().claim
    assert row["epsilon_lower"] == row["epsilon_lower_in_family"] == pytest.approx(0.9 * claim)
    assert row["epsilon_lower_assumption_free"] == pytest.approx(0.4 * claim)
    plain = grid("case", [laplace_result()] * 3).to_frame()
    assert plain["epsilon_lower_in_family"].isna().all()
    assert (plain["epsilon_lower_assumption_free"] == plain["epsilon_lower"]).all()


def test_the_region_beyond_the_samples_of_a_claim_stays_forbidden() -> None:
    base = gaussian_result()
    far = dataclasses.replace(base, bounds=(dataclasses.replace(base.bound, epsilon=20.0),))
    plot = plots_of(far)["profile"]
    assert np.isnan(plot.claim[-1])
    known = plot.claim[~np.isnan(plot.claim)]
    assert (plot.allowed[np.isnan(plot.claim)] == known[-1]).all()
    ax = plot.plot()
    region = next(c for c in ax.collections if isinstance(c, PolyCollection))
    assert region.get_paths()[0].vertices[:, 0].max() == plot.epsilon[-1]


def test_numbers_of_a_ladder_stand_inside_the_figure() -> None:
    ax = drawn("family along case")
    renderer = ax.figure.canvas.get_renderer()
    width, height = ax.figure.get_size_inches() * ax.figure.dpi
    for text in ax.texts:
        box = text.get_window_extent(renderer)
        assert 0 <= box.x0 <= box.x1 <= width
        assert 0 <= box.y0 <= box.y1 <= height


def test_no_line_of_a_title_begins_with_a_lonely_sign() -> None:
    for length in range(60, 100):
        ax = new_figure(5.2, 3.9).add_subplot()
        title = "x" * (length // 3) + " word" * 5 + " 10 % " + "word " * 4 + "5 %"
        style_axes(ax, title=title, x="", y="", handles=[Patch(label="a")])
        assert not [line for line in ax.get_title(loc="left").splitlines() if line.startswith("%")]


def test_lines_of_single_audits_show_every_bound_and_each_verdict() -> None:
    results = [laplace_result(e, claim=1.0, n=n) for e, n in ((0.8, 100), (0.9, 1000), (1.0, 10_000))]
    lines = {
        "fair": {100: results[0], 10_000: results[2], 1000: results[1]},
        "biased": {1000: laplace_result(1.3, claim=1.0)},
    }
    plot = BoundClaim.from_results(lines, x="runs")
    ax = figure_of(plot).axes[0]
    low, high = ax.get_ylim()
    assert all(low < result.bound.epsilon < high for line in lines.values() for result in line.values())
    assert plot.series[0].x == (100, 1000, 10_000)
    assert plot.x_name == "runs"
    assert plot.series[1].violation == (lines["biased"][1000].verdict is Verdict.VIOLATION,)
    assert figure_of(plot).alt.startswith(plot.title)


def test_a_ladder_of_single_audits_has_their_names() -> None:
    results = {"right": laplace_result(1.0, claim=1.0), "wrong": laplace_result(2.0, claim=1.0)}
    ladder = LadderPlot.from_results(results)
    assert [rung.name for rung in ladder.rungs] == ["right", "wrong"]
    assert [rung.violation for rung in ladder.rungs] == [r.verdict is Verdict.VIOLATION for r in results.values()]
