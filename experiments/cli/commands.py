"""Commands of the command line, with their exit codes; each command imports the rest when it is called.

Exit codes: 0 consistent, 1 violation (calibrate: a bound that misses too often; compare, and check with --baseline: a
new violation or less power; a violation that the baseline has too is 0), 2 no verdict: an error in the call,
the configuration or the machine, or trials that are not independent, 3 underpowered (with --strict), 130 interrupted
(143 by SIGTERM), 141 if the reader of the output closed it early. The codes 0, 1 and 3 are reserved for verdicts.
"""

from __future__ import annotations

import functools
import inspect
import shlex
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec

import typer

from . import options as option
from .streams import open_streams
from .supervisor import exit_code, raise_on_signals, supervised

if TYPE_CHECKING:
    from ...audit.evidence.verdict import Verdict
    from ..pipeline.comparison import Comparison

P = ParamSpec("P")

VIOLATION, MISTAKE, UNDERPOWERED, UNREAD = 1, 2, 3, 141
MISSES = VIOLATION
"""Exit code of `dpassay calibrate` if a bound exceeds the exact epsilon more often than allowed."""
POWER_LOSS = 0.25
"""Default of --power-loss, as in `dpassay.experiments.pipeline.comparison`."""
CHECK_CONFIDENCE = 1 - 1e-6
"""Default confidence of `dpassay check`, for CI builds: one false alarm in a million."""

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


def command(name: str) -> Callable[[Callable[P, int]], Callable[P, None]]:
    """Register a command that returns its exit code; errors of dpassay become one message without a traceback."""

    def register(function: Callable[P, int]) -> Callable[P, None]:
        @app.command(name)
        @functools.wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                code = function(*args, **kwargs)
            except KeyboardInterrupt as error:
                _print_error("interrupted.")
                code = exit_code(error)
            except SystemExit as error:  # from audited code: its exit code says nothing about privacy
                cause = f"the audited code called sys.exit({error.code!r})."
                _print_error(f"{cause} Remove this call, or guard it by __main__.")
                code = MISTAKE
            except BaseException as error:
                from ...mechanisms.core.errors import DpassayError

                if isinstance(error, DpassayError):
                    message = option.in_options(str(error), error.arguments, inspect.signature(function).parameters)
                    _print_error("\n  ".join([message, *_all_names(error), *getattr(error, "__notes__", ())]))
                else:  # exit code 1 would report a violation
                    traceback.print_exception(error)
                    _print_error("unexpected error. Please report it with the lines above.")
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
    allow: option.Allow = None,
    pdf: option.Pdf = False,
    jobs: option.Jobs = 1,
    cluster: option.ClusterAt = None,
    slice: option.SliceOf = None,  # noqa: A002 - the name of the option, which messages use
    strict: option.Strict = False,
    quiet: option.Quiet = False,
    markdown: option.Markdown = None,
    junit: option.JunitFile = None,
    sarif: option.SarifFile = None,
) -> int:
    """Run an experiment, or continue one that was interrupted."""
    from ..config.overrides import parse_settings
    from ..runs.runner import run
    from .outcomes import refuse_results, refuse_without_claims, write_run
    from .outputs import OutputFiles
    from .terminal import show_run, show_slice

    files, settings = OutputFiles(markdown, None, junit, sarif), parse_settings(set_ or [])
    files.check_writable()
    refuse_without_claims(files, config, settings)
    execution: dict[str, Any] = {
        "settings": settings,
        "out": out,
        "n_jobs": jobs,
        "progress": not quiet,
        "report_line": None if quiet else _print_progress,
        "allow": tuple(allow or ()),
    }
    try:
        if slice is not None:
            from ...audit.trials.plan import Slice
            from ..runs.slices import run_slice

            refuse_results(files, cluster=cluster is not None, pdf=pdf, strict=strict)
            share = Slice.parse(slice)
            show_slice(share, run_slice(config, share, **execution))
            return 0
        done = run(config, pdf=pdf, cluster=cluster, **execution)
    except KeyboardInterrupt as error:
        _print_error("interrupted. Finished trials are saved: the same command continues from there.")
        return exit_code(error)
    show_run(done)
    write_run(files, done, config, strict=strict, report_line=_print_error)
    return _exit_code(done.verdict, strict=strict)


@command("merge")
def merge_command(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of all slices, from `dpassay run --slice`.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Run directory of the whole experiment.")],
    allow: option.Allow = None,
    pdf: option.Pdf = False,
    strict: option.Strict = False,
    quiet: option.Quiet = False,
) -> int:
    """Join the trials of all slices of an experiment, and judge them as one run."""
    from ..runs.slices import merge
    from .terminal import show_run

    report_line = None if quiet else _print_progress
    done = merge(directories, out, allow=tuple(allow or ()), progress=not quiet, report_line=report_line, pdf=pdf)
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
    baseline: option.Baseline = None,
    power_loss: option.PowerLoss = POWER_LOSS,
    markdown: option.Markdown = None,
    json_: option.JsonFile = None,
    junit: option.JunitFile = None,
    sarif: option.SarifFile = None,
    witness: option.WitnessFile = None,
) -> int:
    """Test the privacy claim of a function, a mechanism or a program, as in a CI build."""
    from ...audit.results.text import Explanations
    from ...mechanisms.core.errors import DpassayError, ParameterError
    from ..pipeline.findings import place_of_target
    from .check import Claimed, PairSearch, baseline_of, check
    from .outcomes import Baseline, write_check
    from .outputs import OutputFiles

    if search is None and budget is not None:
        raise ParameterError("--budget is for --search DOMAIN: give both, or leave it out.", argument="--budget")
    files = OutputFiles(markdown, json_, junit, sarif)
    files.check_writable(witness)
    earlier = Baseline(baseline_of(baseline), power_loss)
    claimed, began = Claimed(epsilon, delta, d0, d1, relation, records), time.monotonic()
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
        pair_search=None if search is None else PairSearch(search, budget),
        recorded=record,
        progress=not quiet,
    )
    seconds, compared = time.monotonic() - began, earlier.compared(result)
    sys.stdout.write(f"{result.summary()}\n{earlier.text(compared)}")
    place = place_of_target(target, program)
    write_check(files, result, compared, place, seconds=seconds, strict=strict, report_line=_print_error)
    if witness is not None and result.refuted_by is not None:
        explained = Explanations(through=(DpassayError,))
        explained.step(f"the file {witness}", lambda: result.to_witness(witness), None)
        for text in explained.warnings:
            _print_error(text)
    return _exit_code(result.verdict, strict=strict, compared=compared)


@command("coins")
def coins_command(
    file: Annotated[
        Path, typer.Argument(metavar="IDS", help="Text file with the id of one canary in each line, or a CSV.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="New JSON file for the coins.")],
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of a CSV with the ids. Default: id, or the only one.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="S", help="Seed of the coins. Default: the operating system draws them.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            metavar="E",
            parser=option.real,
            help="Claimed epsilon: print what this number of canaries could show. No coin changes.",
        ),
    ] = None,
    delta: Annotated[float, typer.Option(metavar="D", parser=option.real, help="Claimed delta, with --epsilon.")] = 0.0,
) -> int:
    """Toss a fair coin for each canary, before training: which are in the run, and which are not."""
    from ...audit.games.coins import Coins
    from .judge import plan, read_ids

    ids = read_ids(file, column=column)
    planned = "" if epsilon is None else f"{plan(len(ids), epsilon, delta)}\n\n"
    coins = Coins.toss(ids, seed=seed, file=out)
    sys.stdout.write(
        f"{len(coins.included_ids):,} of {len(coins.ids):,} canaries are included: `included` in {out}\n"
        f"digest {coins.digest}\n\n{planned}"
        "Train with the included canaries only, and score all canaries with the same code. Then:\n"
        f"dpassay judge SCORES.csv --coins {out} --epsilon {'E' if epsilon is None else f'{epsilon:g}'} --delta "
        f"{'D' if epsilon is None else f'{delta:g}'}    (columns id, and loss or score)\n"
    )
    return 0


@command("judge")
def judge_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV, NPZ or Parquet: columns score, side; or score, bit [run, canary]; or success (0 or 1); or, with "
            "--coins, id and score (higher = in) or loss (lower = in).",
        ),
    ],
    epsilon: Annotated[float, typer.Option(metavar="E", parser=option.real, help="Claimed epsilon.")],
    delta: Annotated[
        float,
        typer.Option(metavar="D", parser=option.real, help="Claimed delta; the bound on epsilon is at this delta."),
    ] = 0.0,
    prior_success: Annotated[
        float | None,
        typer.Option(metavar="P", help="For the column success: success probability of a guess without the output."),
    ] = None,
    coins: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Coins of the canaries of one run, from `dpassay coins`.")
    ] = None,
    looks: option.Looks = 1,
    relation: Annotated[
        str | None, typer.Option(metavar="R", help="Relation in the result: add_remove, replace_one or zero_out.")
    ] = None,
    bound: option.BoundNames = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            metavar="C",
            parser=option.real,
            help="Confidence of the bound. Default: 0.95 for bits, otherwise 0.999999, as in `dpassay check`.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Seed for the random choice of pilot rows.")] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory for numbers, figures and report. Default: none.")
    ] = None,
    strict: option.Strict = False,
    markdown: option.Markdown = None,
    json_: option.JsonFile = None,
) -> int:
    """Audit a claim with a file of attack scores computed elsewhere."""
    from .judge import Judgement
    from .outcomes import write_judged
    from .outputs import OutputFiles
    from .terminal import show_files

    files = OutputFiles(markdown, json_)
    files.check_writable()
    judged = Judgement(
        file, epsilon, delta, prior_success, relation, tuple(bound or ()), confidence, seed, coins, looks
    )
    result = judged.result
    sys.stdout.write(f"{result.summary()}\n\n{judged.assumption}\n")
    write_judged(files, result, judged.assumption, report_line=_print_error)
    if out is not None:
        show_files(judged.keep(out))
    return _exit_code(result.verdict, strict=strict)


@command("membership")
def membership_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="NPZ: membership (models x records) and losses, logits, probabilities or scores; or CSV: model, "
            "record, member, and loss or score.",
        ),
    ],
    attack: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="See `dpassay list membership`; repeatable. Default: all that apply."),
    ] = None,
    fair: Annotated[
        bool, typer.Option("--fair", help="Each record was in each model by an independent fair coin.")
    ] = False,
    confidence: Annotated[
        float, typer.Option(metavar="C", parser=option.real, help="Confidence of each interval.")
    ] = 0.95,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory for numbers, figures and report. Default: none.")
    ] = None,
) -> int:
    """Attack shadow models trained elsewhere, and report how well each attack identifies members."""
    from ...audit.metrics.membership import evaluate
    from ..data.shadow_files import load_shadows
    from .terminal import show_files

    named = load_shadows(file, fair=fair)
    result = evaluate(named.shadows, attack or None, confidence=confidence)
    sys.stdout.write(f"{result.summary()}\n")
    if out is not None:
        from ...mechanisms.core.fingerprint import describe, fingerprint
        from ..runs.kept import keep_membership

        words = [word for name in attack or () for word in ("--attack", name)]
        words += ["--fair"] * fair + ["--confidence", str(confidence)]
        command_line = shlex.join(["dpassay", "membership", file.name, *words])
        arrays = {"membership": named.shadows.inclusion, **named.shadows.signals}
        request = {"command": command_line, "shadows": fingerprint({"arrays": describe(arrays)})}
        show_files(keep_membership(result, named.ids, out, name=file.name, request=request, command=command_line))
    return 0


@command("text")
def text_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="JSONL, one text a line: log_probabilities of its tokens; optional id, text, member, "
            "reference_log_probabilities, means and standard_deviations, prefix_tokens, alternatives.",
        ),
    ],
    coins: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Coins of the texts of one run, from `dpassay coins`.")
    ] = None,
    looks: option.Looks = 1,
    epsilon: Annotated[
        float | None, typer.Option(metavar="E", parser=option.real, help="Claimed epsilon, with --coins.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(metavar="D", parser=option.real, help="Claimed delta, with --coins. Default: 0.")
    ] = None,
    signal: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Audited signal, chosen before looking: loss, zlib, min-k, min-k++, reference, reference-ratio or "
            "exposure. Default: reference-ratio if there is a reference, otherwise loss.",
        ),
    ] = None,
    relation: Annotated[
        str | None, typer.Option(metavar="R", help="With --coins: add_remove (default) or replace_one.")
    ] = None,
    confidence: Annotated[
        float, typer.Option(metavar="C", parser=option.real, help="Confidence of the bound and of each interval.")
    ] = 0.95,
    share: Annotated[float, typer.Option(metavar="K", help="Share of the tokens of min-k and min-k++.")] = 0.2,
    queries: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Queries n of the table of extraction; repeatable. Default: 1 to 100,000."),
    ] = None,
    p: Annotated[float, typer.Option("--p", metavar="P", help="Probability p of the table of extraction.")] = 0.5,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory for scores, figures and reports. Default: none.")
    ] = None,
    strict: option.Strict = False,
) -> int:
    """Attack a language model from the log probabilities of texts; with --coins, audit the claim of its training."""
    from .terminal import show_files
    from .texts import TextStudy

    study = TextStudy(
        file,
        coins,
        epsilon,
        delta,
        signal,
        relation,
        confidence,
        share,
        None if queries is None else tuple(queries),
        p,
        looks,
    )
    sys.stdout.write(f"{study.result.summary()}\n")
    if study.assumption:
        sys.stdout.write(f"\n{study.assumption}\n")
    for done in () if out is None else study.keep(out):
        show_files(done)
    return _exit_code(None if study.result.audit is None else study.result.audit.verdict, strict=strict)


@command("risk")
def risk_command(
    real: Annotated[Path, typer.Argument(metavar="REAL", help="CSV or Parquet: records the table was made of.")],
    synthetic: Annotated[Path, typer.Argument(metavar="SYNTHETIC", help="The synthetic table, with the same columns.")],
    holdout: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Other records, split off at random before the table was made. Default: facts only."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out, such as row numbers; repeatable.")
    ] = None,
    secret: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to infer; repeatable. Default: the first ten.")
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of codes, to read as text and not as numbers; repeatable."),
    ] = None,
    confidence: Annotated[
        float, typer.Option(metavar="C", parser=option.real, help="1 - C is the error of all findings together.")
    ] = 0.95,
    seed: Annotated[int, typer.Option(metavar="S", help="Seed of the random choices of the attacks.")] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory for numbers and report. Default: none.")
    ] = None,
) -> int:
    """Measure what a synthetic table discloses about the records it was made of; exit with 1 on a finding."""
    from ...audit.metrics import risk
    from ...mechanisms.core.printable import terminal
    from ..data.table_files import read_table
    from .terminal import show_files

    tables = {name: read_table(file, argument=name) for name, file in (("real", real), ("synthetic", synthetic))}
    if holdout is not None:
        tables["holdout"] = read_table(holdout, argument="holdout")
    result = risk(
        tables["real"],
        tables["synthetic"],
        tables.get("holdout"),
        ignore=tuple(ignore or ()),
        secrets=tuple(secret or ()),
        categories=tuple(category or ()),
        confidence=confidence,
        seed=seed,
    )
    sys.stdout.write(f"{terminal(result.summary())}\n")
    if out is not None:
        from ...mechanisms.core.fingerprint import fingerprint
        from ..runs.kept import keep_risk

        words = ["--holdout", holdout.name] if holdout is not None else []
        words += [
            word
            for option_, names in (("--ignore", ignore), ("--secret", secret), ("--category", category))
            for n in names or ()
            for word in (option_, n)
        ]
        words += ["--confidence", str(confidence), "--seed", str(seed)]
        line = shlex.join(["dpassay", "risk", real.name, synthetic.name, *words])
        digests = {name: fingerprint({"rows": table.to_csv(index=False)}) for name, table in tables.items()}
        show_files(keep_risk(result, out, name=synthetic.name, request={"command": line, **digests}, command=line))
    return VIOLATION if result.findings or result.memorised_by_assumption else 0


@command("list")
def list_command(
    kind: Annotated[
        str | None, typer.Argument(help="Kind of entries to list, such as attacks. Default: list the kinds.")
    ] = None,
) -> int:
    """List mechanisms, attacks, bounds, experiments, datasets, demos and more, with a one-line summary each."""
    from .listing import entries, kinds
    from .terminal import show_entries

    show_entries(kinds() if kind is None else entries(kind))
    return 0


@command("report")
def report_command(
    directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    pdf: option.Pdf = False,
    strict: option.Strict = False,
) -> int:
    """Regenerate the figures and reports of a finished run from its saved results."""
    from ..runs.again import report
    from .terminal import show_run

    done = report(directory, pdf=pdf)
    show_run(done)
    return _exit_code(done.verdict, strict=strict)


@command("card")
def card_command(
    directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    strict: option.Strict = False,
) -> int:
    """Write and print the evidence card of a finished run: claim, test, outcome, hashes and hazards."""
    from ...mechanisms.core.printable import terminal
    from ..runs.again import card

    made, done = card(directory)
    sys.stdout.write(terminal(made.to_markdown()))
    for file in done.files:
        _print_progress(str(file))
    return _exit_code(done.verdict, strict=strict)


@command("compare")
def compare_command(
    before: Annotated[
        Path,
        typer.Argument(
            metavar="RUN_A", help="Run directory, results.json, or file of `check --json` or `pytest --dp-save`."
        ),
    ],
    after: Annotated[Path, typer.Argument(metavar="RUN_B", help="The later result, in any of these forms.")],
    power_loss: option.PowerLoss = POWER_LOSS,
    markdown: option.Markdown = None,
) -> int:
    """Compare two results: exit with 1 for a new violation, or for less power."""
    from ..pipeline.comparison import compare
    from ..pipeline.saved_runs import load, run_notes
    from .outcomes import write_comparison
    from .outputs import OutputFiles
    from .terminal import show_comparison

    files = OutputFiles(markdown)
    files.check_writable()
    first, second = load(before), load(after)
    comparison = compare(first.checked, second.checked, power_loss=power_loss)
    notes = run_notes(first, second, comparison)
    show_comparison(comparison, notes)
    heading = f"dpassay compare: {before} and {after}"
    write_comparison(files, comparison, notes, heading=heading, report_line=_print_error)
    return VIOLATION if comparison.failures else 0


@command("badge")
def badge_command(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT", help="Run directory, results.json, or file of `check --json`.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="SVG file to write.")],
    label: Annotated[str, typer.Option(metavar="TEXT", help="Text on the left.")] = "dpassay",
) -> int:
    """Draw a badge with the verdict of a saved result."""
    from ..pipeline.badge import badge, badge_text
    from ..pipeline.saved_runs import load
    from .outputs import write_text

    checked = load(result).checked
    write_text(out, badge(checked, label=label))
    sys.stdout.write(f"{label}: {badge_text(checked)}\n")
    return 0


@command("calibrate")
def calibrate_command(
    full: Annotated[
        bool, typer.Option("--full", help="100,000 trials per side and 2,000 audits per setting; takes hours.")
    ] = False,
    published: Annotated[
        bool, typer.Option("--published", help="Measure rules of published audits too, on scores that leak nothing.")
    ] = False,
    bound: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="See `dpassay list bounds`; repeatable. Default: all.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(metavar="N", help="Audits per setting. Default: set by the plan.")
    ] = None,
    peers: Annotated[bool, typer.Option("--peers", help="Also measure jax-privacy; needs the extra jax.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Output directory. Default: runs/certificate.")
    ] = None,
    seed: option.Seed = 0,
    jobs: option.Jobs = 1,
    quiet: option.Quiet = False,
) -> int:
    """Measure coverage and tightness of the bounds on distributions with a known exact epsilon."""
    from ..runs.calibration import calibrate
    from .terminal import show_calibration

    done = calibrate(
        full=full,
        published=published,
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
    name: Annotated[str | None, typer.Argument(help="A name from `dpassay list demos`. Default: list them.")] = None,
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


@command("doctor")
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

        from ..report.results.provenance import commit

        known = commit()
        sys.stdout.write(f"dpassay {dpassay.__version__}{f' (commit {known})' if known else ''}\n")
        raise typer.Exit


def run_app(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    words = sys.argv[1:] if arguments is None else arguments
    open_streams()
    if _runs_audited_code(words):
        sys.exit(supervised(lambda: _run(words), unfinished=MISTAKE))
    sys.exit(_run(words))


def _runs_audited_code(words: list[str]) -> bool:
    """Return True if a command runs user code in this process."""
    options = {word.partition("=")[0] for word in words}
    return (words[:1] == ["check"] and "--command" not in options) or (
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
            _print_error(f"cannot write the result: {out.error.strerror}. Free space, or choose another place.")
    err.flush()
    return code


def _command_exit_code(error: SystemExit) -> int:
    """Return the exit code of a command, or `MISTAKE` if it did not end by returning one."""
    returned = isinstance(error.__context__, typer.Exit) or error.code == 0
    return error.code if isinstance(error.code, int) and (returned or error.code != VIOLATION) else MISTAKE


def _exit_code(verdict: Verdict | None, *, strict: bool, compared: Comparison | None = None) -> int:
    """Return the exit code of a verdict; 0 without one, as for metrics of membership attacks.

    With a comparison, a violation that the baseline has too is no failure, and lost power is one.
    """
    if compared is not None and verdict is not None and verdict.value != "dependent":
        if compared.failures:
            return VIOLATION
        if verdict.value == "violation":
            return 0
    codes = {"violation": VIOLATION, "underpowered": UNDERPOWERED if strict else 0, "dependent": MISTAKE}
    return 0 if verdict is None else codes.get(verdict.value, 0)


def _print_progress(line: str) -> None:
    from ...mechanisms.core.printable import line as one_line

    sys.stderr.write(one_line(line) + "\n")


def _all_names(error: Exception) -> list[str]:
    """Return the command that lists all names, for an unknown name among many."""
    from ...mechanisms.core.errors import LISTED, UnknownNameError
    from .listing import KINDS

    if not isinstance(error, UnknownNameError) or len(error.known) <= LISTED:
        return []
    return [f"`dpassay list {kind}` lists them." for kind in (f"{error.kind}s", error.kind) if kind in KINDS][:1]


def _print_error(message: str) -> None:
    from ...mechanisms.core.printable import terminal

    sys.stderr.write(f"dpassay: {terminal(message)}\n")
