"""Options that several commands share, or that would hide what a command does."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer


def whole(given: str | int) -> int:
    """A whole number, also as 1e5 or 100_000: what a configuration accepts too."""
    text = str(given)
    try:
        number = float(text)
    except ValueError:
        number = 0.5
    if not number.is_integer():
        raise typer.BadParameter(f"{text!r} is no whole number. Write 100000, 100_000 or 1e5.")
    return int(text.replace("_", "")) if text.replace("_", "").lstrip("+-").isdigit() else int(number)


Record = Annotated[
    bool,
    typer.Option(
        "--record",
        help="Also compare what a function does with its noise on both datasets: warnings, without statistics.",
    ),
]

# --- the claim and the pair -------------------------------------------------------------------------------------------

Target = Annotated[
    str | None, typer.Argument(help="A function or a mechanism: package.module:object or file.py:object.")
]
Program = Annotated[
    str | None,
    typer.Option(
        "--command",
        metavar="LINE",
        help='A program instead: it reads {"dataset": ..., "size": n, "seed": s} and writes n lines of JSON.',
    ),
]
Plain = Annotated[
    bool,
    typer.Option(
        "--plain",
        help="The program of --command reads the dataset, one record a line, and writes one release a line.",
    ),
]
Epsilon = Annotated[float | None, typer.Option(metavar="E", help="Claimed epsilon. Default: the mechanism's own.")]
Delta = Annotated[float | None, typer.Option(metavar="D", help="Claimed delta; the bound on epsilon is at this delta.")]
D0 = Annotated[str | None, typer.Option(metavar="JSON", help="The dataset without the record, or @FILE that holds it.")]
D1 = Annotated[str | None, typer.Option(metavar="JSON", help="The dataset with it, or @FILE.")]
Relation = Annotated[
    str | None,
    typer.Option(metavar="R", help="add_remove, replace_one or zero_out. Default: the mechanism's, or add_remove."),
]
Records = Annotated[
    bool, typer.Option(help="Treat the datasets as lists of records, and check that they are neighbours.")
]

Search = Annotated[
    str | None,
    typer.Option(
        metavar="DOMAIN",
        help="Find a bad pair instead of --d0 and --d1: 'numbers 0..1', 'integers 0..10 x 5; 20 records', "
        "'categories a,b,c; one value', 'answers x 5; norm inf', or @FILE.",
    ),
]
Budget = Annotated[
    int | None,
    typer.Option(metavar="N", parser=whole, help="Runs per side of all looks of a search (default: 120,000)."),
]

# --- trials, attack and bound -----------------------------------------------------------------------------------------

Trials = Annotated[int, typer.Option(metavar="N", parser=whole, help="Runs per side (on each dataset), such as 1e5.")]
Stop = Annotated[
    str | None,
    typer.Option(metavar="WHEN", help="'anytime': stop as soon as the claim is refuted. Default: run all trials."),
]
AttackName = Annotated[str, typer.Option(metavar="NAME", help="See `dpassay list attacks`.")]
BoundNames = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="See `dpassay list bounds`. Repeatable; the significance is divided among them."),
]
Confidence = Annotated[
    float, typer.Option(metavar="C", help="Confidence of the bound; a false alarm has probability at most 1 - C.")
]
Seed = Annotated[int, typer.Option(metavar="S", help="Seed of all randomness.")]
Timeout = Annotated[
    float | None,
    typer.Option(metavar="S", help="Seconds for one call of a function, or one batch of a program (default: 600)."),
]

# --- how it is run and shown ------------------------------------------------------------------------------------------

Jobs = Annotated[
    int, typer.Option("--jobs", "-j", metavar="N", help="Workers; -1: one per core. Results stay the same.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 3 when the trials are too few to show a violation.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the result.")]
Markdown = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Append a Markdown summary, as for $GITHUB_STEP_SUMMARY.")
]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the whole result as JSON.")]
WitnessFile = Annotated[
    Path | None, typer.Option("--witness", metavar="FILE", help="Write a violation as JSON that others can check.")
]


# --- in the words of the command line ---------------------------------------------------------------------------------

OF_ARGUMENTS = {
    **{
        name: name
        for name in ("attack", "bound", "confidence", "delta", "epsilon", "seed", "stop", "timeout", "trials")
    },
    **{"bounds": "bound", "domain": "search", "n_jobs": "jobs"},
}
"""Arguments of the library -> the options that set them."""


def in_options(message: str, arguments: Sequence[str], parameters: Collection[str]) -> str:
    """A message of the library in the options of a command: `n_jobs=1` is `--jobs 1` there.

    Args:
        message: about arguments of Python.
        arguments: those that are to blame, which may be named alone at the beginning of the message.
        parameters: of the function behind the command.

    Example:
        >>> in_options("delta must be given. Try delta=1e-5 and view='table'.", ["delta"], ["delta", "seed"])
        "--delta must be given. Try --delta 1e-5 and view='table'."
    """
    options = {name: f"--{option}" for name, option in OF_ARGUMENTS.items() if option in parameters}
    for name in arguments:
        if name in options:
            message = re.sub(rf"^{re.escape(name)}\b(?!=)", options[name], message)
    named = "|".join(map(re.escape, options))
    given = rf"(?<![\w.(-])({named})=('[^']*'|\"[^\"]*\"|[\w.+-]*\w)(?![\w(])"
    return re.sub(given, lambda found: f"{options[found[1]]} {_bare(found[2])}", message) if options else message


def _bare(value: str) -> str:
    """A value as it is written on a command line: quotes stay where there are blanks."""
    inner = value.strip("'\"")
    return value if " " in inner else inner
