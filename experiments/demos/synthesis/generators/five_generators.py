# %% [markdown]
# # Five generators
#
# Marginals were measured with noise. What table explains them? Five ways to search, what each can and cannot do, and
# what it costs: McKenna, Miklau and Sheldon (2021). Generating reads the noisy answers only: it costs no privacy.

# %%
"""Five ways to make synthetic data of noisy marginals: what each can represent, misses, and costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from ....plots.style.canvas import style_axes
from ....plots.style.palette import BLUE, INK, SERIES
from ...lecture import Lecture
from .census import FIVE, Explained, census, explained, generators
from .comparison import OnTheCube, above_the_chord, compared, quick, search_spaces, slowdowns

# %% [markdown]
# ## 1. Eight cells
#
# Three attributes of two values. Small enough to know the best distribution, and to show what is none: three attributes
# of which each two always differ.


# %%
def eight_cells(lecture: Lecture) -> tuple[dict[str, OnTheCube], dict[str, float]]:
    """What each does on eight cells, and how often its loss lies above a chord."""
    found = {name: OnTheCube.of(generator) for name, generator in compared().items()}
    chords = {name: above_the_chord(space) for name, space in search_spaces().items()}
    lecture.chapter("1. Eight cells")
    lecture.say(
        """
        Distance: how far the fit is from a law that was measured without noise, largest error of a share. Misfit:
        smallest, over noisy and contradicting answers, as a share of the least that any distribution has; below 1
        something is fitted that no distribution can be. Excess: how much worse than the best, at the worst. Above the
        chord: how often the loss half-way between two points is above the mean of theirs; never, if the problem is
        convex.
        """
    )
    lecture.table(
        ["", "distance", "misfit", "excess", "above the chord"],
        [
            [
                name,
                f"{one.distance:.4f}",
                f"{one.spurious:.3f}",
                f"{one.excess:+.4f}",
                f"{chords[name]:.0%}" if name in chords else "-",
            ]
            for name, one in found.items()
        ],
    )
    lecture.say(
        """
        Clipped tables and marginals that only agree where they overlap fit what no distribution has. A table that is
        made of the latter (gradual update) does not. Tables with a softmax and networks are not convex, and come near
        the best, here, without always reaching it.
        """
    )
    return found, chords


# %% [markdown]
# ## 2. What time grows with


# %%
def growth(lecture: Lecture) -> dict[str, dict[str, float]]:
    """Time on a larger problem over that on a smaller one, by what is larger."""
    found = {name: slowdowns(generator) for name, generator in quick().items()}
    lecture.chapter("2. What time grows with")
    lecture.say(
        """
        Pairs in a chain, in a domain of 256 cells and of 65,536. Eleven attributes of eight values: ten pairs in a
        chain, or all ten of five. Marginals of 64 cells, and of 4,096. Time on the second, in times of that on the
        first:
        """
    )
    ladders = list(next(iter(found.values())))
    lecture.table(["", *ladders], [[name, *(_times(row[key]) for key in ladders)] for name, row in found.items()])
    return found


def _times(ratio: float) -> str:
    return "too large" if math.isnan(ratio) else f"{ratio:.1f}"


# %% [markdown]
# ## 3. A census
#
# Five marginals of fourteen attributes, noise of standard deviation 50 on every count.


# %%
def a_census(lecture: Lecture) -> dict[str, Explained]:
    """How each explains five marginals of a census."""
    what, table = census()
    found = explained(table, generators())
    lecture.chapter("3. Five marginals of a census")
    lecture.say(
        f"""
        {len(table):,} records of {what}; five marginals, 1/1000 concentrated DP together. Mean error of a cell, in
        records, of the answers and of what each generator makes of them; then of a table drawn from it:
        """
    )
    answers = next(iter(found.values())).answers
    names = [" x ".join(one) for one in FIVE.marginals]
    lecture.table(
        ["", *(f"{k + 1}" for k in range(len(names))), "seconds"],
        [["the noisy answers", *(f"{error:.0f}" for error in answers), ""]]
        + [
            [label, *(f"{error:.0f}" for error in errors), seconds]
            for name, one in found.items()
            for label, errors, seconds in (
                (name, one.errors, f"{one.seconds:.1f}"),
                ("  its table", one.table, ""),
            )
        ],
    )
    lecture.say("\n\n".join(f"{k + 1}: {name}." for k, name in enumerate(names)))
    return found


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture."""

    cube: dict[str, OnTheCube]
    chords: dict[str, float]
    growth: dict[str, dict[str, float]]
    census: dict[str, Explained]


def main(out: Path | None = None) -> Findings:
    """Five generators of synthetic data: what each can represent, what it gets wrong, and what it costs.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    cube, chords = eight_cells(lecture)
    found = Findings(cube, chords, growth(lecture), a_census(lecture))
    lecture.chapter("To take home")
    lecture.say(
        """
        Where the measured marginals form a small junction tree, the graphical model is exact and has the greatest
        entropy; where they do not, a network or a relaxed table answers all the same, and is checked by its misfit.
        Marginals that agree are not yet data.
        """
    )
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Two panels: errors by marginal, and time."""
    lecture.panels(
        "five-generators",
        lambda ax: _draw_errors(ax, found.census),
        lambda ax: _draw_seconds(ax, found.census),
        title="Five marginals of a census, explained",
        description="Left: mean error of a cell, by marginal and generator. Right: seconds of one fit.",
        size=(11.0, 4.6),
        widths=(2, 1),
    )


def _draw_errors(ax: Axes, census: dict[str, Explained]) -> None:
    shown = {"noisy answers": next(iter(census.values())).answers} | {name: one.errors for name, one in census.items()}
    width = 0.8 / len(shown)
    for k, ((name, errors), colour) in enumerate(zip(shown.items(), (INK, *SERIES), strict=True)):
        places = [place + (k - (len(shown) - 1) / 2) * width for place in range(len(errors))]
        ax.bar(places, errors, width=width, label=name, color=colour.light)
    ax.set_xticks(range(len(FIVE.marginals)), ["\n".join(one) for one in FIVE.marginals])
    style_axes(ax, title="Error of the fit", x="measured marginal", y="mean error of a cell (records)", columns=4)


def _draw_seconds(ax: Axes, census: dict[str, Explained]) -> None:
    ax.barh(range(len(census)), [one.seconds for one in census.values()], color=BLUE.light)
    ax.set_yticks(range(len(census)), list(census))
    ax.invert_yaxis()
    style_axes(ax, title="Time of one fit", x="seconds, one thread", y="")


# %%
if __name__ == "__main__":
    main()
