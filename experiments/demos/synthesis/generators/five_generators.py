# %% [markdown]
# # Five generators
#
# Marginals were measured with noise. Which table fits them? Five generators, their properties and running times:
# McKenna, Miklau and Sheldon (2021). Generation uses only the noisy answers: it has no privacy loss.

# %%
"""Five generators of synthetic data from noisy marginals: representable distributions, errors and running times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from ....report.plots.style import BLUE, INK, SERIES, style_axes
from ...demo import Demo
from .census import FIVE, CensusExplained, census, explained, generators
from .comparison import OnTheCube, above_the_chord, compared, quick, search_spaces, slowdowns

# %% [markdown]
# ## 1. Eight cells
#
# Three attributes of two values: the best distribution is known, and there are consistent marginals without a
# distribution, such as three attributes any two of which always differ.


# %%
def eight_cells(demo: Demo) -> tuple[dict[str, OnTheCube], dict[str, float]]:
    """Return the results of each generator on eight cells, and the convexity of its loss."""
    results = {name: OnTheCube.of(generator) for name, generator in compared().items()}
    chords = {name: above_the_chord(space) for name, space in search_spaces().items()}
    demo.chapter("1. Eight cells")
    demo.say(
        """
        Distance: largest error of a share after a fit to a distribution that is measured without noise. Misfit:
        smallest ratio to the loss of the best distribution, over noisy and inconsistent answers; a value below 1
        shows a fit that is not a distribution. Excess: largest relative excess over the best loss. Above the chord:
        how often the loss at the midpoint of two points exceeds the mean of their losses; never, if the problem is
        convex.
        """
    )
    demo.table(
        ["", "distance", "loss", "excess", "above the chord"],
        [
            [
                name,
                f"{result.distance:.4f}",
                f"{result.spurious:.3f}",
                f"{result.excess:+.4f}",
                f"{chords[name]:.0%}" if name in chords else "-",
            ]
            for name, result in results.items()
        ],
    )
    demo.say(
        """
        Clipped tables and locally consistent marginals fit answers that no distribution has. A table generated from the
        latter (gradual update) does not. Tables with a softmax and networks are not convex, and in this example come
        close to the optimum without always reaching it.
        """
    )
    return results, chords


# %% [markdown]
# ## 2. Scaling of the time


# %%
def growth(demo: Demo) -> dict[str, dict[str, float]]:
    """Return the ratio of the times on a larger and a smaller problem, by the property that is larger."""
    ratios = {name: slowdowns(generator) for name, generator in quick().items()}
    demo.chapter("2. Scaling of the time")
    demo.say(
        """
        Pairs in a chain, in a domain of 256 cells and of 65,536. Eleven attributes of eight values: ten pairs in a
        chain, or all ten pairs of five attributes. Marginals of 64 cells, and of 4,096. Time on the second problem
        divided by that on the first:
        """
    )
    ladders = list(next(iter(ratios.values())))
    demo.table(["", *ladders], [[name, *(_times(row[key]) for key in ladders)] for name, row in ratios.items()])
    return ratios


def _times(ratio: float) -> str:
    return "too large" if math.isnan(ratio) else f"{ratio:.1f}"


# %% [markdown]
# ## 3. A census
#
# Five marginals of fourteen attributes, noise of standard deviation 50 on every count.


# %%
def a_census(demo: Demo) -> dict[str, CensusExplained]:
    """Return the fit of each generator to five marginals of a census."""
    data, table = census()
    fits = explained(table, generators())
    demo.chapter("3. Five marginals of a census")
    demo.say(
        f"""
        {len(table):,} records of {data}; five marginals, 1/1000 concentrated DP together. Mean error of a cell, in
        records, of the noisy answers, of the fit of each generator, and of a table drawn from it:
        """
    )
    answers = next(iter(fits.values())).answers
    names = [" x ".join(marginal) for marginal in FIVE.marginals]
    demo.table(
        ["", *(f"{k + 1}" for k in range(len(names))), "seconds"],
        [["the noisy answers", *(f"{error:.0f}" for error in answers), ""]]
        + [
            [label, *(f"{error:.0f}" for error in errors), seconds]
            for name, fit in fits.items()
            for label, errors, seconds in (
                (name, fit.errors, f"{fit.seconds:.1f}"),
                ("  its table", fit.table, ""),
            )
        ],
    )
    demo.say("\n\n".join(f"{k + 1}: {name}." for k, name in enumerate(names)))
    return fits


# %%
@dataclass(frozen=True)
class FiveGeneratorsFindings:
    """Results of the demo."""

    cube: dict[str, OnTheCube]
    chords: dict[str, float]
    growth: dict[str, dict[str, float]]
    census: dict[str, CensusExplained]


def main(out: Path | None = None) -> FiveGeneratorsFindings:
    """Run the demo: representable distributions, errors and running times of five generators.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    cube, chords = eight_cells(demo)
    findings = FiveGeneratorsFindings(cube, chords, growth(demo), a_census(demo))
    demo.chapter("Conclusion")
    demo.say(
        """
        If the measured marginals form a small junction tree, the graphical model is exact and has maximum entropy;
        otherwise use a network or a relaxed table, and check its loss. Locally consistent marginals are not
        necessarily those of a dataset.
        """
    )
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: FiveGeneratorsFindings) -> None:
    """Draw two panels: errors by marginal, and time."""
    demo.panels(
        "five-generators",
        lambda ax: _draw_errors(ax, findings.census),
        lambda ax: _draw_seconds(ax, findings.census),
        title="Fits to five marginals of a census",
        description="Left: mean error of a cell, by marginal and generator. Right: seconds of one fit.",
        size=(11.0, 4.6),
        widths=(2, 1),
    )


def _draw_errors(ax: Axes, census: dict[str, CensusExplained]) -> None:
    series = {"noisy answers": next(iter(census.values())).answers} | {name: fit.errors for name, fit in census.items()}
    width = 0.8 / len(series)
    for k, ((name, errors), colour) in enumerate(zip(series.items(), (INK, *SERIES), strict=False)):
        places = [place + (k - (len(series) - 1) / 2) * width for place in range(len(errors))]
        ax.bar(places, errors, width=width, label=name, color=colour.light)
    ax.set_xticks(range(len(FIVE.marginals)), ["\n".join(marginal) for marginal in FIVE.marginals])
    style_axes(ax, title="Error of the fit", x="measured marginal", y="mean error of a cell (records)", columns=4)


def _draw_seconds(ax: Axes, census: dict[str, CensusExplained]) -> None:
    ax.barh(range(len(census)), [fit.seconds for fit in census.values()], color=BLUE.light)
    ax.set_yticks(range(len(census)), list(census))
    ax.invert_yaxis()
    style_axes(ax, title="Time of one fit", x="seconds, one thread", y="")


# %%
if __name__ == "__main__":
    main()
