"""Demos that are modules: their summaries, and the layout of their output."""

import pytest

from dpassay.experiments.demos import catalogue
from dpassay.experiments.demos.demo import Demo


@pytest.mark.parametrize("name", list(catalogue))
def test_every_demo_of_the_catalogue_has_a_main_with_a_summary(name):
    assert catalogue.get(name).__name__ == "main"
    assert catalogue.summary(name).endswith(".")


def test_brackets_in_a_demo_are_text_and_not_markup(capsys):
    Demo().say("a list [1, 2] and a [bold] word")
    assert "a list [1, 2] and a [bold] word" in capsys.readouterr().out
