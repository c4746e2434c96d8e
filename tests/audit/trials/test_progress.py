"""The progress bar, and the time of long work before it begins."""

import io
import time

import pytest
import rich.console

from dpassay.attacks.reconstruction import OneOf
from dpassay.audit import audit
from dpassay.audit.games.reconstruction import reconstruction_game
from dpassay.audit.trials.execution import announce
from dpassay.audit.trials.progress import ProgressBar, SilentReporter
from dpassay.mechanisms import KAryRandomizedResponse, Laplace, Neighbours, PureDP
from dpassay.mechanisms.core import Workers


def shown(monkeypatch, width):
    """Return the line of a bar with a long name and large numbers on a terminal of that width."""
    terminal = rich.console.Console

    def narrow(**options):
        return terminal(file=io.StringIO(), width=width, force_terminal=True, color_system=None, _environ={})

    monkeypatch.setattr(rich.console, "Console", narrow)
    bar = ProgressBar("[3/6] monotone = true, epsilon = 0.5")
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


# --- the time of long work, before it ---------------------------------------------------------------------------------

PAIR = Neighbours([1], [1, 1], "add_remove")


class EnoughError(Exception):
    """Ends an audit that has announced its time."""


class Ends(SilentReporter):
    def message(self, text):
        raise EnoughError(text)


def slow(dataset, rng):
    time.sleep(0.01)
    return sum(dataset) + rng.laplace()


def slow_loop(dataset, size, rng):
    time.sleep(0.001 * size)
    return sum(dataset) + rng.laplace(size=size)


def vectorised(dataset, size, rng):
    time.sleep(0.01)
    return sum(dataset) + rng.laplace(size=size)


@pytest.mark.parametrize(("function", "trials"), [(slow, 10**6), (slow_loop, 10**7)])
def test_long_audits_of_functions_announce_their_time_before_the_first_chunk(function, trials):
    with pytest.raises(EnoughError, match=r"about \d hours for .* runs"):
        audit(function, PAIR, claim=PureDP(1.0), trials=trials, progress=Ends())


def test_a_game_with_many_candidates_announces_its_time():
    """A run is fast, but each guess compares all candidates."""
    secret = OneOf.in_record([0], 0, range(3_000))
    with pytest.raises(EnoughError, match="about"):
        reconstruction_game(KAryRandomizedResponse(1.0, k=3_000), secret, n_rounds=30_000_000, seed=0, progress=Ends())


@pytest.mark.parametrize("audited", [Laplace(1.0), vectorised])
def test_short_audits_announce_nothing(audited):
    pair, claim = (None, None) if isinstance(audited, Laplace) else (PAIR, PureDP(1.0))
    audit(audited, pair, claim=claim, trials=2_000, seed=0, progress=Ends())


@pytest.mark.parametrize(("seconds", "n_lines"), [(200.0, 0), (400.0, 1)])
def test_without_progress_only_work_of_minutes_is_announced(seconds, n_lines, capsys):
    options = {"store": None, "n_jobs": 1, "workers": Workers.PROCESSES}
    announce(seconds, 1_000, 10, reporter=SilentReporter(), **options)
    assert capsys.readouterr().err.count("\n") == n_lines
    announce(4 * seconds, 1_000, 10, reporter=SilentReporter(), **{**options, "n_jobs": 4})
    assert capsys.readouterr().err.count("\n") == n_lines


def test_timing_changes_no_byte_and_makes_no_further_run_of_a_function(monkeypatch):
    calls = []

    def counting(dataset, rng):
        calls.append(1)
        return sum(dataset) + rng.laplace() + 1e-9 * len(calls)

    def results():
        calls.clear()
        library = audit(Laplace(1.0), trials=500, seed=0).to_json()
        return library, audit(counting, PAIR, claim=PureDP(1.0), trials=100, seed=0).to_json(), len(calls)

    before = results()
    for module in ("progress", "execution"):
        monkeypatch.setattr(f"dpassay.audit.trials.{module}.LONG_SECONDS", 0.0)
    monkeypatch.setattr("dpassay.audit.trials.progress.SILENT_SECONDS", 0.0)
    assert results() == before
