"""The progress bar."""

import io

import pytest
import rich.console

from dpassay.audit.trials.progress import Bar


def shown(monkeypatch, width):
    """Return the line of a bar with a long name and large numbers on a terminal of that width."""
    terminal = rich.console.Console

    def narrow(**options):
        return terminal(file=io.StringIO(), width=width, force_terminal=True, color_system=None, _environ={})

    monkeypatch.setattr(rich.console, "Console", narrow)
    bar = Bar("[3/6] monotone = true, epsilon = 0.5")
    bar.start("evaluation", 4_000_000)
    bar.advance(1_234_567, "epsilon >= 0.4321")
    bar._progress.update(bar._task, rate="1,234,567/s")
    page = narrow()
    page.print(bar._progress.get_renderable())
    bar.close()
    return page.file.getvalue()


@pytest.mark.parametrize("width", [80, 100, 140])
def test_numbers_are_whole_where_the_terminal_is_narrow(monkeypatch, width):
    line = shown(monkeypatch, width)
    assert line.count("\n") == 1
    for number in ("1234567/4000000", "1,234,567/s", "epsilon >= 0.4321", "[3/6] mo", "evaluation"):
        assert number in line
