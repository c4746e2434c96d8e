"""Options that several commands share, or that would hide what a command does."""

from __future__ import annotations

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


# --- the claim and the pair -------------------------------------------------------------------------------------------

Target = Annotated[
    str | None, typer.Argument(help="package.module:object or file.py:object; a function or a mechanism.")
]
Program = Annotated[
    str | None,
    typer.Option(
        "--command",
        metavar="LINE",
        help='Any executable instead: it reads {"dataset": ..., "size": n, "seed": s} and writes n lines of JSON.',
    ),
]
Epsilon = Annotated[float | None, typer.Option(metavar="E", help="The claim; default: the mechanism's own.")]
Delta = Annotated[float | None, typer.Option(metavar="D", help="Of the claim, and where it is tested.")]
D0 = Annotated[str | None, typer.Option(metavar="JSON", help="The dataset without the record, or @FILE that holds it.")]
D1 = Annotated[str | None, typer.Option(metavar="JSON", help="The dataset with it, or @FILE.")]
Relation = Annotated[str, typer.Option(metavar="R", help="add_remove, replace_one or zero_out.")]
Records = Annotated[
    bool, typer.Option(help="Whether the datasets are lists of records, and are checked to be neighbours.")
]

# --- trials, attack and bound -----------------------------------------------------------------------------------------

Trials = Annotated[int, typer.Option(metavar="N", parser=whole, help="Runs on each of the two datasets, such as 1e5.")]
Stop = Annotated[
    str | None,
    typer.Option(metavar="WHEN", help="'anytime': stop as soon as the claim is refuted. Default: run all trials."),
]
AttackName = Annotated[str, typer.Option(metavar="NAME", help="See `dpassay list attacks`.")]
BoundNames = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="See `dpassay list bounds`; repeatable: several share the significance."),
]
Confidence = Annotated[
    float, typer.Option(metavar="C", help="Of the bound; 1 - C is the probability of a false alarm.")
]
Seed = Annotated[int, typer.Option(metavar="S", help="Root of all randomness.")]
Timeout = Annotated[
    float | None,
    typer.Option(metavar="S", help="Seconds for one call of a function, or one batch of a program (default: 600)."),
]

# --- how it is run and shown ------------------------------------------------------------------------------------------

Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Workers; -1 is every core. Changes no number.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 3 when the trials could not have shown a violation.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the result.")]
Markdown = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Append a Markdown summary, as for $GITHUB_STEP_SUMMARY.")
]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the whole result.")]
