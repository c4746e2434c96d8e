"""Commands on saved results; each imports the rest when it is called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import options as option
from .application import VIOLATION, command, exit_code_of, print_progress
from .audit_commands import POWER_LOSS

PANEL = "Saved results"


@command("report", PANEL)
def report_command(
    directory: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run directory, that of --out, or a file of --history.")
    ],
    pdf: option.Pdf = False,
    strict: option.Strict = False,
    verbose: option.Verbose = False,
) -> int:
    """Regenerate the figures and reports of a finished run, or show a history of builds."""
    if _is_file(directory):
        return _report_history(directory, pdf=pdf, strict=strict)
    from ..runs.again import report
    from .terminal import show_run

    done = report(directory, pdf=pdf)
    show_run(done, verbose=verbose)
    return exit_code_of(done.result, strict=strict)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, which is reported as that of a run directory
        return False


def _report_history(file: Path, *, pdf: bool, strict: bool) -> int:
    """Print a history of builds, and draw it beside its file; return the exit code of its last build."""
    from ..ci.history import History
    from ..present.plots.style import save
    from .terminal import show_history

    history = History.read(file)
    plot, figure = history.evidence_plot(), history.plot()
    files = save(figure, file.with_suffix(""), title=plot.title, description=plot.caption, pdf=pdf)
    show_history(history, files)
    return exit_code_of(history, strict=strict)


@command("card", PANEL)
def card_command(
    directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Write nothing: compare hashes and versions, make pages and verdict again; 1 if any differ.",
        ),
    ] = False,
    rerun: Annotated[bool, typer.Option("--rerun", help="With --verify: run all trials again too.")] = False,
    files: Annotated[
        Path, typer.Option(metavar="DIR", help="With --verify: folder of the files that were judged (default: here).")
    ] = Path(),
    allow: option.Allow = None,
    jobs: option.Jobs = 1,
    strict: option.Strict = False,
) -> int:
    """Write and print the evidence card of a finished run: claim, test, outcome, hashes and hazards."""
    from ...mechanisms.core import ParameterError, terminal
    from ..runs.again import card

    if verify:
        return _verified(directory, rerun, files, allow or [], jobs)
    if rerun or allow:
        raise ParameterError("--rerun and --allow are for --verify: add it.", argument="--verify")
    made, done = card(directory)
    sys.stdout.write(terminal(made.to_markdown()))
    for file in done.files:
        print_progress(str(file))
    return exit_code_of(done.result, strict=strict)


def _verified(directory: Path, rerun: bool, files: Path, allow: list[str], jobs: int) -> int:
    """Print the comparisons of a verification; return 0 if all agree."""
    from ...mechanisms.core import terminal
    from ..runs.verification import verify

    done = verify(directory, rerun=rerun, files=files, allow=allow, n_jobs=jobs)
    lines = [f"{'✓' if check.agrees else '✗'} {check.name:8}  {check.text}" for check in done.checks]
    sys.stdout.write(terminal("\n".join([*lines, done.text]) + "\n"))
    return 0 if done.agrees else VIOLATION


@command("compare", PANEL)
def compare_command(
    before: Annotated[
        Path,
        typer.Argument(
            metavar="RUN_A",
            help="Run directory, results.json, or file of `check --json`, `check --history` or `pytest --dp-save`.",
        ),
    ],
    after: Annotated[Path, typer.Argument(metavar="RUN_B", help="The later result, in any of these forms.")],
    power_loss: option.PowerLoss = POWER_LOSS,
    markdown: option.Markdown = None,
) -> int:
    """Compare two results: exit with 1 for a new violation, or for less power."""
    from ..ci.comparison import compare
    from ..ci.saved_runs import load, run_notes
    from ..ci.text import describe_comparison
    from ..present.builds.step_summary import section
    from .outputs import OutputFiles
    from .terminal import show_comparison

    files = OutputFiles(markdown)
    files.check_writable()
    first, second = load(before), load(after)
    comparison = compare(first.checked, second.checked, power_loss=power_loss)
    notes = run_notes(first, second, comparison)
    show_comparison(comparison, notes)
    files.write(section(describe_comparison(comparison, notes), heading=f"dpassay compare: {before} and {after}"))
    return VIOLATION if comparison.failures else 0


@command("badge", PANEL)
def badge_command(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT", help="Run directory, results.json, or file of `check --json`.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="SVG file to write.")],
    label: Annotated[str, typer.Option(metavar="TEXT", help="Text on the left.")] = "dpassay",
) -> int:
    """Draw a badge with the verdict of a saved result."""
    from ..ci.saved_runs import load
    from ..present.builds.badge import badge, badge_text
    from .outputs import write_text

    saved = load(result)
    text = (saved.result or saved.checked).text()
    write_text(out, badge(text, label=label))
    sys.stdout.write(f"{label}: {badge_text(text)}\n")
    return 0
