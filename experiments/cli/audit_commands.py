"""Commands that run audits; each imports the rest when it is called."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as option
from .application import command, exit_code_of, print_error, print_progress
from .supervisor import exit_code

PANEL = "Audits"
POWER_LOSS = 0.25
"""Default of --power-loss, as in `dpassay.experiments.ci.comparison`."""
CHECK_CONFIDENCE = 1 - 1e-6
"""Default confidence of `dpassay check`, for CI builds: one false alarm in a million."""


@command("run", PANEL)
def run_command(
    config: Annotated[
        str, typer.Argument(metavar="CONFIG", help="A .toml file, or a name from `dpassay list experiments`.")
    ],
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
    verbose: option.Verbose = False,
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
        "report_line": None if quiet else print_progress,
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
        return _interrupted(error, "trials")
    show_run(done, verbose=verbose)
    write_run(files, done, config, strict=strict)
    return exit_code_of(done.result, strict=strict)


@command("merge", PANEL)
def merge_command(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of all slices, from `dpassay run --slice`.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Run directory of the whole experiment.")],
    allow: option.Allow = None,
    pdf: option.Pdf = False,
    strict: option.Strict = False,
    quiet: option.Quiet = False,
    verbose: option.Verbose = False,
) -> int:
    """Join the trials of all slices of an experiment, and judge them as one run."""
    from ..runs.slices import merge
    from .terminal import show_run

    report_line = None if quiet else print_progress
    done = merge(directories, out, allow=tuple(allow or ()), progress=not quiet, report_line=report_line, pdf=pdf)
    show_run(done, verbose=verbose)
    return exit_code_of(done.result, strict=strict)


@command("check", PANEL)
def check_command(
    target: option.Target = None,
    program: option.Program = None,
    plain: option.Plain = False,
    python: option.Python = None,
    epsilon: option.Epsilon = None,
    delta: option.Delta = None,
    d0: option.D0 = None,
    d1: option.D1 = None,
    relation: option.Relation = None,
    records: option.Records = True,
    search: option.Search = None,
    budget: option.Budget = None,
    stress: option.Stress = False,
    bounds: option.Bounds = None,
    without: option.Without = None,
    trials: option.Trials = None,
    stop: option.Stop = None,
    minutes: option.For = None,
    attack: option.AttackName = "auto",
    bound: option.BoundNames = None,
    confidence: option.Confidence = CHECK_CONFIDENCE,
    seed: option.Seed = 0,
    timeout: option.Timeout = None,
    record: option.Record = False,
    jobs: option.Jobs = 1,
    strict: option.Strict = False,
    quiet: option.Quiet = False,
    verbose: option.Verbose = False,
    baseline: option.Baseline = None,
    history: option.HistoryFile = None,
    power_loss: option.PowerLoss = POWER_LOSS,
    markdown: option.Markdown = None,
    json_: option.JsonFile = None,
    junit: option.JunitFile = None,
    sarif: option.SarifFile = None,
    witness: option.WitnessFile = None,
    out: option.Out = None,
) -> int:
    """Test the privacy claim of a function, a mechanism or a program, as in a CI build."""
    from ...audit.results.audit_result import AuditResult
    from ...audit.results.explanations import Explanations
    from ...mechanisms.core import DpassayError, ParameterError
    from ..present.builds.findings import place_of_target
    from .check import Claimed, PairSearch, Stress, add_build, baseline_of, check
    from .outcomes import Baseline, refuse_mixed, write_check, write_pages
    from .outputs import OutputFiles
    from .terminal import first_screen, history_lines

    if search is None and budget is not None:
        raise ParameterError("--budget is for --search DOMAIN: give both, or leave it out.", argument="--budget")
    refuse_mixed(
        stress,
        {"search": search, "record": record, "history": history},
        {"bounds": bounds, "without": without, "out": out},
    )
    if history is not None and (search is not None or baseline is not None):
        other = "--search: name the pair" if search is not None else "--baseline: compare with the file, as a baseline"
        raise ParameterError(f"--history cannot be combined with {other}.", argument="--history")
    files = OutputFiles(markdown, json_, junit, sarif)
    files.check_writable(witness, history)
    earlier = Baseline(baseline_of(baseline), power_loss)
    claimed, began = Claimed(epsilon, delta, d0, d1, relation, records), time.monotonic()
    audited = partial(
        check,
        target,
        program,
        claimed,
        trials=trials,
        stop=stop,
        minutes=minutes,
        attack=attack,
        bound=bound or "auto",
        confidence=confidence,
        n_jobs=jobs,
        timeout=timeout,
        plain=plain,
        python=python,
        pair_search=None if search is None else PairSearch(search, budget),
        hostile=Stress(bounds, tuple(without or ())) if stress else None,
        recorded=record,
        progress=not quiet,
    )
    result, builds = add_build(history, audited, seed, 1.0 - confidence)
    seconds, compared = time.monotonic() - began, earlier.compared(result)
    sys.stdout.write(f"{first_screen(result, verbose=verbose)}{earlier.text(compared)}{history_lines(builds)}")
    place = place_of_target(target, program)
    write_check(files, result, compared, builds, place, seconds=seconds, strict=strict)
    if out is not None:
        write_pages(result, out)
    reported = result if isinstance(result, AuditResult) else result.reported
    if witness is not None and reported.refuted_by is not None:
        explained = Explanations(through=(DpassayError,))
        explained.step(f"the file {witness}", lambda: reported.to_witness(witness), None)
        for text in explained.warnings:
            print_error(text)
    return exit_code_of(builds or result, strict=strict, compared=compared)


@command("calibrate", PANEL)
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
    from ...audit.trials.options import RunOptions
    from ..runs.calibration import Calibration
    from ..runs.kept import keep
    from .terminal import show_run

    task = Calibration.of(locals())
    try:
        done = keep(task, out or Path("runs") / "certificate", RunOptions(jobs, progress=not quiet))
    except KeyboardInterrupt as error:
        return _interrupted(error, "simulations")
    show_run(done)
    return exit_code_of(done.result)


def _interrupted(error: KeyboardInterrupt, saved: str) -> int:
    """Print that the finished work is saved; return the exit code."""
    print_error(f"interrupted. Finished {saved} are saved: the same command continues from there.")
    return exit_code(error)
