"""The application: registration of commands, and exit codes.

Exit codes: 0 consistent, 1 violation (calibrate: a bound that misses too often; compare, and check with --baseline: a
new violation or less power; a violation that the baseline has too is 0), 2 no verdict: an error in the call,
the configuration or the machine, or trials that are not independent, 3 underpowered (with --strict), 130 interrupted
(143 by SIGTERM), 141 if the reader of the output closed it early. The codes 0, 1 and 3 are reserved for verdicts.
"""

from __future__ import annotations

import functools
import inspect
import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

import typer

from . import options as option
from .supervisor import exit_code

if TYPE_CHECKING:
    from ...audit.evidence.verdict import Verdict
    from ..ci.comparison import Comparison

P = ParamSpec("P")

VIOLATION, MISTAKE, UNDERPOWERED, UNREAD = 1, 2, 3, 141

app = typer.Typer(
    name="dpassay",
    help="Audit differential privacy: lower bounds on epsilon that hold with a stated confidence.",
    epilog="Exit codes: 0 consistent, 1 violation, 2 error or no verdict, 3 underpowered (--strict), 130 interrupted.",
    rich_markup_mode="markdown",  # in the other modes brackets are markup, and disappear
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(name: str, panel: str) -> Callable[[Callable[P, int]], Callable[P, None]]:
    """Register a command that returns its exit code; errors of dpassay become one message without a traceback.

    Args:
        name: word after `dpassay`.
        panel: heading under which `dpassay --help` lists the command.
    """

    def register(function: Callable[P, int]) -> Callable[P, None]:
        @app.command(name, rich_help_panel=panel)
        @functools.wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                code = function(*args, **kwargs)
            except KeyboardInterrupt as error:
                print_error("interrupted.")
                code = exit_code(error)
            except SystemExit as error:  # from audited code: its exit code says nothing about privacy
                cause = f"the audited code called sys.exit({error.code!r})."
                print_error(f"{cause} Remove this call, or guard it by __main__.")
                code = MISTAKE
            except BaseException as error:
                from ...mechanisms.core import DpassayError

                if isinstance(error, DpassayError):
                    message = option.in_options(str(error), error.arguments, inspect.signature(function).parameters)
                    print_error("\n  ".join([message, *_all_names(error), *getattr(error, "__notes__", ())]))
                else:  # exit code 1 would report a violation
                    traceback.print_exception(error)
                    print_error("unexpected error. Please report it with the lines above.")
                code = MISTAKE
            raise typer.Exit(code)

        return guarded

    return register


def exit_code_of(result: Any, *, strict: bool = False, compared: Comparison | None = None) -> int:
    """Return the exit code of a result: of its verdict; 0 without one, as for metrics of membership attacks.

    With a comparison, a violation that the baseline has too is no failure, and lost power is one. A question that is
    left unanswered, as by risks without a holdout, is a mistake, whose reason is printed.
    """
    if reason := getattr(result, "unanswered", ""):
        print_error(reason)
        return MISTAKE
    verdict: Verdict | None = result.verdict
    if compared is not None and verdict is not None and verdict.value != "dependent":
        if compared.failures:
            return VIOLATION
        if verdict.value == "violation":
            return 0
    codes = {"violation": VIOLATION, "underpowered": UNDERPOWERED if strict else 0, "dependent": MISTAKE}
    return 0 if verdict is None else codes.get(verdict.value, 0)


def print_progress(line: str) -> None:
    """Write a line to the standard error."""
    from ...mechanisms.core import line as one_line

    sys.stderr.write(one_line(line) + "\n")


def print_error(message: str) -> None:
    """Write a message to the standard error, with the name of the program."""
    from ...mechanisms.core import terminal

    sys.stderr.write(f"dpassay: {terminal(message)}\n")


def _all_names(error: Exception) -> list[str]:
    """Return the command that lists all names, for an unknown name among many."""
    from ...mechanisms.core import MAX_LISTED_NAMES, UnknownNameError
    from .listing import KINDS

    if not isinstance(error, UnknownNameError) or len(error.known) <= MAX_LISTED_NAMES:
        return []
    return [f"`dpassay list {kind}` lists them." for kind in (f"{error.kind}s", error.kind) if kind in KINDS][:1]
