"""Options of the commands, with their help texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer


def whole(text_or_number: str | int) -> int:
    """Return an integer, also from 1e5 or 100_000, as in a configuration."""
    text = str(text_or_number)
    try:
        number = float(text)
    except ValueError:
        number = 0.5
    if not number.is_integer():
        raise typer.BadParameter(f"{text!r} is not a whole number. Write 100000, 100_000 or 1e5.")
    return int(text.replace("_", "")) if text.replace("_", "").lstrip("+-").isdigit() else int(number)


def real(text_or_number: str | float) -> float:
    """Return a number, with a message that names what was given."""
    try:
        return float(text_or_number)
    except ValueError:
        raise typer.BadParameter(f"{text_or_number!r} is not a number. Write it as 0.5 or 1e-5.") from None


_MINUTES = {"s": 1 / 60, "m": 1.0, "h": 60.0}
"""Units of time -> minutes."""


def _minutes_of(text_or_number: str | float) -> float:
    """Return a time in minutes, from text such as 90s, 5m or 2h."""
    text = str(text_or_number).strip()
    try:
        value = float(text[:-1]) * _MINUTES[text[-1:]]
    except (KeyError, ValueError):
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise typer.BadParameter(f"{text!r} is not a time. Write it as 90s, 5m or 2h.")
    return value


Record = Annotated[
    bool,
    typer.Option(
        "--record",
        help="Also record how a function uses its noise on both datasets; differences are warnings.",
    ),
]

Keys = Annotated[
    Path | None,
    typer.Option(
        metavar="TOML",
        help="Keys of several tables, which are then folders with one file a table; the unit is the person.",
    ),
]

# --- the claim and the pair -------------------------------------------------------------------------------------------

Target = Annotated[
    str | None,
    typer.Argument(
        metavar="TARGET",
        help="Function, which runs in a process of its own, or mechanism, as package.module:object or file.py:object.",
    ),
]
Program = Annotated[
    str | None,
    typer.Option(
        "--command",
        metavar="LINE",
        help='Audit a program: it reads {"dataset": ..., "size": n, "seed": s} and writes n lines of JSON.',
    ),
]
Plain = Annotated[
    bool,
    typer.Option(
        "--plain",
        help="The program of --command reads the dataset, one record per line, and writes one output per line.",
    ),
]
Python = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="Interpreter of another environment, such as .venv/bin/python, that imports and runs the function: it "
        "needs Python 3.11 or later and numpy, and not dpassay.",
    ),
]
Epsilon = Annotated[
    float | None, typer.Option(metavar="E", parser=real, help="Claimed epsilon. Default: the claim of the mechanism.")
]
Delta = Annotated[
    float | None, typer.Option(metavar="D", parser=real, help="Claimed delta; the bound on epsilon is at this delta.")
]
D0 = Annotated[str | None, typer.Option(metavar="JSON", help="Dataset without the record (side 0), or @FILE.")]
D1 = Annotated[str | None, typer.Option(metavar="JSON", help="Dataset with the record (side 1), or @FILE.")]
Relation = Annotated[
    str | None,
    typer.Option(
        metavar="R", help="add_remove, replace_one or zero_out. Default: that of the mechanism, or add_remove."
    ),
]
Records = Annotated[
    bool, typer.Option(help="Treat the datasets as lists of records, and check that they are neighbours.")
]

Search = Annotated[
    str | None,
    typer.Option(
        metavar="DOMAIN",
        help="Search for a worst-case pair instead of --d0 and --d1: 'numbers 0..1', 'integers 0..10 x 5; 20 records', "
        "'categories a,b,c; one value', 'answers x 5; norm inf', or @FILE.",
    ),
]
Stress = Annotated[
    bool,
    typer.Option(
        "--stress",
        help="Audit data that break things (NaN, no record, thousands of equal records, values beyond the bounds), "
        "made from the example dataset --d0.",
    ),
]
Bounds = Annotated[
    str | None,
    typer.Option(
        metavar="JSON",
        help='With --stress: documented bounds, as [0, 1]; all categories, as ["a", "b"]; for rows, one of these a '
        "column.",
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(metavar="KIND", help="With --stress: a kind of data to leave out, such as nan; repeatable."),
]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="With --stress: write report.html and report.md there.")]
Budget = Annotated[
    int | None,
    typer.Option(metavar="N", parser=whole, help="Runs per side of the whole search (default: 120,000)."),
]

# --- trials, attack and bound -----------------------------------------------------------------------------------------

Trials = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        parser=whole,
        help="Runs per side (on each dataset), such as 1e5. Default: 100,000; 1,000 for each pair of --stress.",
    ),
]
For = Annotated[
    float | None,
    typer.Option(
        "--for",
        metavar="TIME",
        parser=_minutes_of,
        help="Run for this long, such as 90s, 5m or 2h, or until the claim is refuted.",
    ),
]
Stop = Annotated[
    str | None,
    typer.Option(metavar="WHEN", help="'anytime': stop as soon as the claim is refuted. Default: run all trials."),
]
AttackName = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="See `dpassay list attacks`; or code of yours that scores outputs: mine.py:score."
    ),
]
BoundNames = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="See `dpassay list bounds`. Repeatable; the significance level is divided among the bounds.",
    ),
]
Negatives = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        parser=real,
        help="For canaries: share of the guesses that are 'out', such as 0 to guess 'in' only. Default: half of them, "
        "'in' only and 'out' only, which share the significance.",
    ),
]
Confidence = Annotated[
    float,
    typer.Option(
        metavar="C", parser=real, help="Confidence of the bound; a false alarm has probability at most 1 - C."
    ),
]
Seed = Annotated[int, typer.Option(metavar="S", help="Seed of all randomness.")]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        help="Seconds for one call of a function, or one batch of a program (default: 600). A function that never "
        "answers on one dataset only is a violation.",
    ),
]

# --- execution and output ---------------------------------------------------------------------------------------------

Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", metavar="N", help="Number of workers; -1: one per core. The results do not depend on it."
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE",
        help="Let the config name code in this file or module, as in name = 'mine:release'. It runs with your "
        "rights; repeatable.",
    ),
]
ClusterAt = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="WHERE",
        help="Run trials on a Dask cluster: tcp://HOST:PORT of its scheduler, or local:N for N processes here.",
    ),
]
SliceOf = Annotated[
    str | None,
    typer.Option(
        "--slice",
        metavar="I/N",
        help="Run slice I of N only, as in an array job: trials without results, which `dpassay merge` joins.",
    ),
]
Pdf = Annotated[bool, typer.Option("--pdf", help="Draw the figures as PDF too, with embedded fonts.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 3 if the verdict is underpowered.")]
Looks = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="With --coins: planned number of audits with the same coins, of other scores or other training runs; they "
        "share the significance.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the result, no progress.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print the details too: power, methods, choices and corrections.")
]
Markdown = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Append a Markdown summary, such as to $GITHUB_STEP_SUMMARY.")
]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the complete result as JSON.")]
JunitFile = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML: one test case for each claim.")
]
SarifFile = Annotated[
    Path | None, typer.Option("--sarif", metavar="FILE", help="Write SARIF 2.1.0, for code scanning.")
]
Baseline = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A result of `dpassay check --json`: exit with 1 only for a new violation, or for less power.",
    ),
]
HistoryFile = Annotated[
    Path | None,
    typer.Option(
        "--history",
        metavar="FILE",
        help="Add this build to a history of builds with the same claim, such as audits.jsonl: exit with 1 also if the "
        "builds together refute the claim. Each build draws a seed of its own; --seed is for the first one.",
    ),
]
PowerLoss = Annotated[
    float,
    typer.Option(
        metavar="R",
        help="Allowed relative growth of the detectable excess over the claim: 0.25 is about 36 % fewer trials; inf "
        "allows any loss.",
    ),
]
WitnessFile = Annotated[
    Path | None,
    typer.Option(
        "--witness",
        metavar="FILE",
        help="Write the evidence of a violation as JSON that can be verified independently.",
    ),
]


# --- names of arguments in messages -----------------------------------------------------------------------------------

_SAME_NAME = """accounts allow attack bound budget cluster confidence delta epsilon ignore negatives p pilot python
queries repeats seed share slice stop timeout trials unit"""
OF_ARGUMENTS = {
    **{name: name for name in re.findall(r"\w+", _SAME_NAME)},
    **{"bounds": "bound", "categories": "category", "domain": "search", "n_jobs": "jobs", "secrets": "secret"},
}
"""Arguments of the library -> the options that set them."""


def in_options(message: str, arguments: Sequence[str], parameters: Collection[str]) -> str:
    """Return a message of the library with the options of a command: `n_jobs=1` becomes `--jobs 1`.

    Args:
        message: message about Python arguments.
        arguments: invalid arguments, whose names may begin the message.
        parameters: parameters of the function of the command.

    Example:
        >>> in_options("delta must be given. Try delta=1e-5 and view='table'.", ["delta"], ["delta", "seed"])
        "--delta must be given. Try --delta 1e-5 and view='table'."
        >>> in_options("it is Claim(epsilon=1, delta=1e-5).", [], ["delta"])
        'it is Claim(epsilon=1, delta=1e-5).'
    """
    options = {name: f"--{option}" for name, option in OF_ARGUMENTS.items() if option in parameters}
    options |= {name: f"--{name}" for name in ("bounds", "without") if name in parameters}  # of --stress
    for name in arguments:
        if name in options:
            message = re.sub(rf"^{re.escape(name)}\b(?!=)", options[name], message)
    named = "|".join(map(re.escape, options))
    assignment = rf"(?<![\w.(-])({named})=('[^']*'|\"[^\"]*\"|[\w.+-]*\w)(?![\w(])"
    calls = r"\w\([^()]*\)"  # such as ApproximateDP(epsilon=1.0, delta=1e-05): they stay as they are
    if not options:
        return message
    return re.sub(f"{calls}|{assignment}", lambda m: f"{options[m[1]]} {_bare(m[2])}" if m[1] else str(m[0]), message)


def _bare(value: str) -> str:
    """Return a value as written on a command line, with quotes only if it contains spaces."""
    inner = value.strip("'\"")
    return value if " " in inner else inner
