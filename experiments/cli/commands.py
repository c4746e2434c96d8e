"""The command line: parse, call, exit code. Everything else is imported by the command that needs it.

Exit codes: 0 consistent, 1 violation (calibrate: a bound that misses too often), 2 no verdict: a mistake in the call,
the configuration or the machine, or trials that are not independent, 3 underpowered (with --strict), 130 interrupted
(143 by SIGTERM), 141 where nobody read the output to its end. 0, 1 and 3 are verdicts: nothing else ends with them.
"""

from __future__ import annotations

import functools
import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, ParamSpec

import typer

from . import options as option
from .signals import exit_code, raise_on_signals
from .streams import open_streams
from .supervisor import supervised

if TYPE_CHECKING:
    from ...audit.evidence.verdict import Verdict

P = ParamSpec("P")

VIOLATION, MISTAKE, UNDERPOWERED, UNREAD = 1, 2, 3, 141
MISSES = VIOLATION
"""Of `dpassay calibrate`, when a bound exceeds the truth more often than it may."""
CHECK_CONFIDENCE = 1 - 1e-6
"""Of `dpassay check`, which is meant for builds: one false alarm in a million."""

app = typer.Typer(
    name="dpassay",
    help="Audit differential privacy: lower bounds on epsilon that hold with a stated confidence.",
    epilog="Exit codes: 0 consistent, 1 violation, 2 error or no verdict, 3 underpowered (--strict), 130 interrupted.",
    rich_markup_mode="markdown",  # in the other modes brackets are markup, and vanish
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(name: str) -> Callable[[Callable[P, int]], Callable[P, None]]:
    """Registers a command that returns its exit code; errors of ours become one message without a traceback."""

    def register(function: Callable[P, int]) -> Callable[P, None]:
        @app.command(name)
        @functools.wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                code = function(*args, **kwargs)
            except KeyboardInterrupt as error:
                _complain("interrupted.")
                code = exit_code(error)
            except SystemExit as error:  # from audited code: its exit code says nothing about privacy
                called = f"the audited code called sys.exit({error.code!r})."
                _complain(f"{called} Take that out, or guard it by __main__.")
                code = MISTAKE
            except BaseException as error:
                from ...mechanisms.errors import DpassayError

                if isinstance(error, DpassayError):
                    said = option.in_options(str(error), error.arguments, inspect.signature(function).parameters)
                    _complain("\n  ".join([said, *_all_names(error), *getattr(error, "__notes__", ())]))
                else:  # exit code 1 would say that a claim is violated
                    traceback.print_exception(error)
                    _complain("this error was not foreseen. Please report it with the lines above.")
                code = MISTAKE
            raise typer.Exit(code)

        return guarded

    return register


@command("run")
def run_command(
    config: Annotated[str, typer.Argument(help="A .toml file, or a name from `dpassay list experiments`.")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Run directory. Default: runs/NAME.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set a key, such as mechanism.epsilon=2; repeatable."),
    ] = None,
    jobs: option.Jobs = 1,
    strict: option.Strict = False,
    quiet: option.Quiet = False,
) -> int:
    """Run an experiment, or continue one that was interrupted."""
    from ..config.overrides import parse_settings
    from ..runs.runner import run
    from .terminal import show_run

    try:
        done = run(
            config,
            settings=parse_settings(set_ or []),
            out=out,
            n_jobs=jobs,
            progress=not quiet,
            tell=None if quiet else _tell,
        )
    except KeyboardInterrupt as error:
        _complain("interrupted. What was finished is kept: the same command continues from there.")
        return exit_code(error)
    show_run(done)
    return _exit_code(done.verdict, strict=strict)


@command("check")
def check_command(
    target: option.Target = None,
    program: option.Program = None,
    plain: option.Plain = False,
    epsilon: option.Epsilon = None,
    delta: option.Delta = None,
    d0: option.D0 = None,
    d1: option.D1 = None,
    relation: option.Relation = None,
    records: option.Records = True,
    search: option.Search = None,
    budget: option.Budget = None,
    trials: option.Trials = 100_000,
    stop: option.Stop = None,
    attack: option.AttackName = "auto",
    bound: option.BoundNames = None,
    confidence: option.Confidence = CHECK_CONFIDENCE,
    seed: option.Seed = 0,
    timeout: option.Timeout = None,
    record: option.Record = False,
    jobs: option.Jobs = 1,
    strict: option.Strict = False,
    quiet: option.Quiet = False,
    markdown: option.Markdown = None,
    json_: option.JsonFile = None,
    witness: option.WitnessFile = None,
) -> int:
    """Check the privacy claim of a function, a mechanism or a program, as a CI test does."""
    from ...audit.results.explained import Explained
    from ...mechanisms.errors import DpassayError, ParameterError
    from .check import Claimed, Sought, check, check_writable, write_summaries

    if search is None and budget is not None:
        raise ParameterError("--budget is for --search DOMAIN: give both, or leave it out.", argument="--budget")
    check_writable(markdown, json_, witness)
    claimed = Claimed(epsilon, delta, d0, d1, relation, records)
    result = check(
        target,
        program,
        claimed,
        trials=trials,
        stop=stop,
        attack=attack,
        bound=bound or "auto",
        confidence=confidence,
        seed=seed,
        n_jobs=jobs,
        timeout=timeout,
        plain=plain,
        sought=None if search is None else Sought(search, budget),
        recorded=record,
        progress=not quiet,
    )
    sys.stdout.write(result.summary() + "\n")
    write_summaries(result, markdown=markdown, json_file=json_)
    if witness is not None and result.refuted_by is not None:
        explained = Explained(through=(DpassayError,))
        explained.step(f"the file {witness}", lambda: result.to_witness(witness), None)
        for text in explained.warnings:
            _complain(text)
    return _exit_code(result.verdict, strict=strict)


@command("judge")
def judge_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV, NPZ or Parquet: columns score, side; or score, bit [run, canary]; or success (0 or 1).",
        ),
    ],
    epsilon: Annotated[float, typer.Option(metavar="E", help="Claimed epsilon.")],
    delta: Annotated[
        float, typer.Option(metavar="D", help="Claimed delta; the bound on epsilon is at this delta.")
    ] = 0.0,
    prior_success: Annotated[
        float | None,
        typer.Option(metavar="P", help="For a column success: probability that a guess without the output succeeds."),
    ] = None,
    relation: Annotated[
        str | None, typer.Option(metavar="R", help="Stated in the result: add_remove, replace_one or zero_out.")
    ] = None,
    bound: option.BoundNames = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            metavar="C", help="Confidence of the bound. Default: 0.95 for bits, else 0.999999, as `dpassay check`."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Seed of the choice of pilot rows.")] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="For numbers, figures, report; default: none.")
    ] = None,
    strict: option.Strict = False,
    markdown: option.Markdown = None,
    json_: option.JsonFile = None,
) -> int:
    """Audit a claim from a file of attack scores that other code has computed."""
    from .check import check_writable, write_summaries
    from .judge import Judgement
    from .terminal import show_files

    check_writable(markdown, json_)
    judged = Judgement(file, epsilon, delta, prior_success, relation, tuple(bound or ()), confidence, seed)
    result = judged.result
    sys.stdout.write(f"{result.summary()}\n\n{judged.assumed}\n")
    write_summaries(result, markdown=markdown, json_file=json_)
    if out is not None:
        show_files(judged.keep(out))
    return _exit_code(result.verdict, strict=strict)


@command("list")
def list_command(
    kind: Annotated[
        str | None, typer.Argument(help="What to list, such as attacks. Default: what can be listed.")
    ] = None,
) -> int:
    """List the mechanisms, attacks, bounds, experiments, datasets, demos and more, with one line on each."""
    from .listing import entries, kinds
    from .terminal import show_entries

    show_entries(kinds() if kind is None else entries(kind))
    return 0


@command("report")
def report_command(
    directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    strict: option.Strict = False,
) -> int:
    """Write the figures and reports of a finished run again, from its saved results."""
    from ..runs.runner import report
    from .terminal import show_run

    done = report(directory)
    show_run(done)
    return _exit_code(done.verdict, strict=strict)


@command("calibrate")
def calibrate_command(
    full: Annotated[
        bool, typer.Option("--full", help="100,000 trials per side, 2,000 audits per setting: hours.")
    ] = False,
    bound: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="See `dpassay list bounds`; repeatable. Default: all.")
    ] = None,
    repeats: Annotated[int | None, typer.Option(metavar="N", help="Audits per setting. Default: as planned.")] = None,
    peers: Annotated[bool, typer.Option("--peers", help="Measure jax-privacy too; needs the extra peers.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Default: runs/certificate.")] = None,
    seed: option.Seed = 0,
    jobs: option.Jobs = 1,
    quiet: option.Quiet = False,
) -> int:
    """Measure coverage and tightness of the bounds on distributions whose exact epsilon is known."""
    from ..runs.calibration import calibrate
    from .terminal import show_calibration

    done = calibrate(
        full=full,
        bounds=bound or (),
        repeats=repeats,
        peers=peers,
        seed=seed,
        out=out,
        n_jobs=jobs,
        progress=not quiet,
    )
    show_calibration(done)
    return 0 if done.certificate.holds else MISSES


@command("demo")
def demo_command(
    name: Annotated[str, typer.Argument(help="A name from `dpassay list demos`.")],
    out: Annotated[Path | None, typer.Option(help="A folder for its figure; by default none is drawn.")] = None,
) -> int:
    """Play a demo in the terminal."""
    from ..demos import get

    get(name)(out)
    return 0


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Audit differential privacy: lower bounds on epsilon that hold with a stated confidence."""
    if version:
        import dpassay

        sys.stdout.write(f"dpassay {dpassay.__version__}\n")
        raise typer.Exit


def run_app(arguments: list[str] | None = None) -> NoReturn:
    """Runs the command line; exits."""
    words = sys.argv[1:] if arguments is None else arguments
    open_streams()
    if _runs_audited_code(words):
        sys.exit(supervised(lambda: _run(words), unfinished=MISTAKE))
    sys.exit(_run(words))


def _runs_audited_code(words: list[str]) -> bool:
    """Whether a command runs Python code of other people in this process."""
    return words[:1] == ["check"] and not any(word.partition("=")[0] == "--command" for word in words)


def _run(words: list[str]) -> int:
    """Runs a command and returns its exit code."""
    out, err = open_streams()
    raise_on_signals()
    try:
        app(args=words, prog_name="dpassay")
        code = MISTAKE  # it always exits
    except SystemExit as error:
        code = _sure(error)
    except KeyboardInterrupt as error:
        code = exit_code(error)
    out.flush()
    if out.error is not None and code in (0, VIOLATION, UNDERPOWERED):
        code = UNREAD if isinstance(out.error, BrokenPipeError) else MISTAKE
        if code == MISTAKE:
            _complain(f"cannot write the result: {out.error.strerror}. Make room, or choose another place.")
    err.flush()
    return code


def _sure(error: SystemExit) -> int:
    """The exit code that a command returned; that of a mistake where it ended in another way."""
    returned = isinstance(error.__context__, typer.Exit) or error.code == 0
    return error.code if isinstance(error.code, int) and (returned or error.code != VIOLATION) else MISTAKE


def _exit_code(verdict: Verdict | None, *, strict: bool) -> int:
    """0 where nothing was claimed: metrics of membership attacks have no verdict."""
    codes = {"violation": VIOLATION, "underpowered": UNDERPOWERED if strict else 0, "dependent": MISTAKE}
    return 0 if verdict is None else codes.get(verdict.value, 0)


def _tell(line: str) -> None:
    from ...mechanisms.printable import line as one_line

    sys.stderr.write(one_line(line) + "\n")


def _all_names(error: Exception) -> list[str]:
    """Where all names are listed, for an unknown one among many."""
    from ...mechanisms.errors import LISTED, UnknownNameError
    from .listing import KINDS

    if not isinstance(error, UnknownNameError) or len(error.known) <= LISTED:
        return []
    return [f"`dpassay list {kind}` lists them." for kind in (f"{error.kind}s", error.kind) if kind in KINDS][:1]


def _complain(message: str) -> None:
    from ...mechanisms.printable import terminal

    sys.stderr.write(f"dpassay: {terminal(message)}\n")
