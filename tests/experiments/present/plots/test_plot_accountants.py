"""The figure of accountants against each other."""

import numpy as np
from numpy.testing import assert_allclose

from dpassay.experiments.present.plots.accountants import AccountantCurves
from dpassay.experiments.present.plots.style import _svg_text
from dpassay.mechanisms.accounting.dp_sgd.noisy_sgd import ACCOUNTANTS


def test_curves_hold_the_published_setting_from_one_epoch_to_four_hundred():
    curves = AccountantCurves.of_setting(points=4)
    assert tuple(curves.epsilon) == ACCOUNTANTS
    assert_allclose(curves.epochs[[0, -1]], [1.0, 400.0])
    last = [values[-1] for values in curves.epsilon.values()]
    assert_allclose(last, [38.637, 2.5759, 2.2129, 2.0334], rtol=2e-3)


def test_figure_names_every_line_with_its_last_value_and_marks_audits():
    epochs = np.array([1.0, 10.0])
    epsilon = {name: np.array([1.0, 3.0]) / (1 + i) for i, name in enumerate(ACCOUNTANTS)}
    curves = AccountantCurves(epochs, epsilon, 4.0, 0.01, 1e-5, shown=((5.0, 0.2),))
    ax = curves.plot()
    text = _svg_text(ax.figure, title=curves.title, description=curves.caption)
    for shown in ("strong composition: 3", "moments accountant: 1.5", "Renyi: 1", "privacy loss: 0.75", "1e-5"):
        assert shown in text
    assert "4 times" in curves.title
    assert "“lower bound of an audit”" in curves.caption
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["lower bound of an audit"]
    assert [line.get_marker() for line in ax.lines].count("o") == 1
    assert ax.get_ylim()[0] < 0.2
