"""Entry point of the command line, and the commands that help.

The other commands are in files by what they take; importing a file registers its commands.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ...mechanisms.core import Tier
from . import audit_commands as audit_commands, file_commands as file_commands, result_commands as result_commands
from .application import MISTAKE, UNDERPOWERED, UNREAD, VIOLATION, app, command, print_error
from .streams import open_streams
from .supervisor import exit_code, raise_on_signals, supervised

PANEL = "Help"


@command("list", PANEL)
def list_command(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="KIND", help="Kind of entries to list, such as attacks. Default: list the kinds."),
    ] = None,
    tier: Annotated[Tier | None, typer.Option(help="Only mechanisms in this trust tier.")] = None,
) -> int:
    """List mechanisms, attacks, bounds, experiments, datasets, demos and more, with a one-line summary each."""
    from .listing import entries, kinds
    from .terminal import show_entries

    show_entries(kinds() if kind is None and tier is None else entries(kind or "mechanisms", tier))
    return 0


@command("demo", PANEL)
def demo_command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A name from `dpassay list demos`. Default: list them.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory for the HTML page, the notebook and the figures. Default: none."),
    ] = None,
    code: Annotated[bool, typer.Option("--code", help="Show the code too.")] = False,
    answers: Annotated[bool, typer.Option("--answers", help="Show the answer to the exercise too.")] = False,
    seed: Annotated[int | None, typer.Option(metavar="S", help="Seed. Default: that of the demo.")] = None,
) -> int:
    """Play a demo in the terminal."""
    from ..demos import get
    from ..demos.terminal import terminal
    from .listing import entries
    from .terminal import show_entries

    if name is None:
        show_entries(entries("demos"))
        return 0
    get(name).play(terminal(), seed=seed, out=out, code=code, answers=answers)
    return 0


@command("doctor", PANEL)
def doctor_command(
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> int:
    """Check the installation, with two short audits of known verdict; exit with 2 if something is wrong."""
    from .doctor import as_json, examine
    from .terminal import show_checks

    checks = list(examine())
    if json_:
        sys.stdout.write(as_json(checks))
    else:
        show_checks(checks)
    return MISTAKE if any(check.status == "failed" for check in checks) else 0


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="Show the version and the commit.")] = False,
) -> None:
    """Audit differential privacy: lower bounds on epsilon that hold with a stated confidence."""
    if version:
        import dpassay

        from ..present.results.provenance import commit

        known = commit()
        sys.stdout.write(f"dpassay {dpassay.__version__}{f' (commit {known})' if known else ''}\n")
        raise typer.Exit


def run_app(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    words = sys.argv[1:] if arguments is None else arguments
    open_streams()
    if not _runs_audited_code(words):
        sys.exit(_run(words))
    try:
        code = supervised(lambda: _run(words), unfinished=MISTAKE)
    except Exception as error:  # exit code 1 would report a violation
        traceback.print_exception(error)
        code = MISTAKE
    sys.exit(code)


def _runs_audited_code(words: list[str]) -> bool:
    """Return True if a command runs user code in this process."""
    options = {word.partition("=")[0] for word in words}
    return (words[:1] == ["check"] and ("--command" not in options or "--attack" in options)) or (
        words[:1] in (["run"], ["merge"]) and "--allow" in options
    )


def _run(words: list[str]) -> int:
    """Run a command and return its exit code."""
    out, err = open_streams()
    raise_on_signals()
    try:
        app(args=words, prog_name="dpassay")
        code = MISTAKE  # unreachable: the app always exits
    except SystemExit as error:
        code = _command_exit_code(error)
    except KeyboardInterrupt as error:
        code = exit_code(error)
    out.flush()
    if out.error is not None and code in (0, VIOLATION, UNDERPOWERED):
        code = UNREAD if isinstance(out.error, BrokenPipeError) else MISTAKE
        if code == MISTAKE:
            print_error(f"cannot write the result: {out.error.strerror}. Free space, or choose another place.")
    err.flush()
    return code


def _command_exit_code(error: SystemExit) -> int:
    """Return the exit code of a command, or `MISTAKE` if it did not end by returning one."""
    returned = isinstance(error.__context__, typer.Exit) or error.code == 0
    return error.code if isinstance(error.code, int) and (returned or error.code != VIOLATION) else MISTAKE
