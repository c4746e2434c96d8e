"""The figures of gains: their numbers are the measured ones, and a result draws itself."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from dpassay.audit.metrics import gain
from dpassay.experiments.present.plots.gain import GainOverBaselines, SuccessByAttack, draw_gain


@pytest.fixture(scope="module")
def found():
    right = np.arange(60) < 40
    return gain(right, without_release=np.arange(60) < 20, without_person=right[::-1])


def test_figure_holds_the_attack_and_both_baselines(found):
    figure = GainOverBaselines.from_result(found)
    assert [name for name, _ in figure.rates] == ["attack", "without the release", "without the person"]
    assert figure.rates[0][1] == found.attack
    assert f"{100 * found.headline.value:+.1f} points" in figure.title
    assert "not bounds on epsilon" in figure.caption


def test_axes_are_named_and_every_rate_is_written(found):
    (ax,) = draw_gain(found).axes
    assert ax.get_xlabel() == "correct guesses, of 60 people (%)"
    assert [text.get_text() for text in ax.texts] == ["66.7 %", "33.3 %", "66.7 %"]
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "attack",
        "without the release",
        "without the person",
    ]


def test_the_package_says_that_it_draws_a_gain():
    project = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())
    place = project["project"]["entry-points"]["dpassay.drawings"]["Gain"]
    assert place == f"{draw_gain.__module__}:{draw_gain.__name__}"


def test_attacks_are_drawn_beside_baselines_and_the_title_counts_gains():
    right, other = np.arange(60) < 50, np.arange(60) < 10
    gains = {
        "linkability": gain(right, without_release=other, without_person=other),
        "inference": gain(right, without_person=right),
    }
    figure = SuccessByAttack(gains)
    assert figure.title == "1 of 2 attacks gain from the release"
    assert "not bounds on epsilon" in figure.caption
    ax = figure.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["linkability", "inference"]
    assert ax.get_xlabel() == "correct guesses, of 60 people (%)"
    assert [float(one.lines[0].get_xdata()[0]) for one in ax.containers] == pytest.approx(
        [100 * share for share in (50 / 60, 10 / 60, 10 / 60, 50 / 60, 50 / 60)]
    )
