"""The figure of several attacks on synthetic tables: what it draws is what was measured."""

import numpy as np
import pytest

from dpassay.audit.metrics import gain
from dpassay.experiments.report.plots.gain import SuccessByAttack


def test_every_attack_stands_beside_its_baselines_and_the_title_counts_gains():
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
