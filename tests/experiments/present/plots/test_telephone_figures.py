"""Forms of figures for a telephone: narrow, readable, and with all texts inside."""

import pytest

from dpassay.experiments.present.plots import panels
from dpassay.experiments.present.plots.style import TELEPHONE, new_figure, save, style_axes

NAMES = [f"a rather long name of a bar, number {i}" for i in range(4)]


def bars(ax):
    ax.barh(NAMES, [1, 2, 3, 4])
    for i in range(4):
        ax.plot([0, 1], [0, i], label=f"an entry of the legend, {i}")
    style_axes(ax, title="A title of words that fill most of the width", x="x", y="", columns=4)


def columns(ax):
    ax.bar(range(4), [1, 2, 3, 4])
    style_axes(ax, title="Columns", x="x", y="y")
    ax.set_xticks(range(4), [name[:18] for name in NAMES])


@pytest.fixture
def narrow():
    figure = panels(columns, bars, alt="Columns, and bars.").narrow()
    figure.draw_without_rendering()
    return figure


def test_panels_lie_one_below_the_other(narrow):
    assert narrow.get_figwidth() == TELEPHONE
    first, second = (ax.get_window_extent() for ax in narrow.axes)
    assert first.y0 > second.y1
    assert narrow.alt == "Columns, and bars."


def test_titles_and_legends_stay_inside(narrow):
    texts = [*narrow.axes[1].get_legend().get_texts(), narrow.axes[0].title, narrow.axes[1].title]
    lines = [text for ax in narrow.axes for text in ax.get_children() if hasattr(text, "get_text") and text.get_text()]
    for text in (*texts, *lines):
        box = text.get_window_extent()
        assert not text.get_text() or (box.x0 >= narrow.bbox.x0 and box.x1 <= narrow.bbox.x1), text.get_text()


def test_names_of_ticks_that_would_overlap_are_turned(narrow):
    names = narrow.axes[0].get_xticklabels()
    assert {name.get_rotation() for name in names} == {50.0}
    assert {name.get_rotation() for name in narrow.axes[1].get_xticklabels()} == {0.0}


def test_only_figures_that_are_too_wide_have_two_forms(tmp_path):
    wide = save(panels(columns, alt="Columns."), tmp_path / "wide", title="Columns", description="")
    assert [path.name for path in wide] == ["wide.svg", "wide.png", "wide-narrow.svg"]
    assert "<title>Columns (narrow)</title>" in wide[-1].read_text()
    small = save(new_figure(4.0, 3.0), tmp_path / "small", title="Nothing", description="", pdf=True)
    assert [path.name for path in small] == ["small.svg", "small.png", "small.pdf"]
