"""Commands on files that other programs wrote; each imports the rest when it is called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import options as option
from .application import command

PANEL = "Files of other programs"


@command("coins", PANEL)
def coins_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="IDS",
            help="Text file with the id of one canary in each line, or a CSV. With --real: a table of records, in a "
            "format of `dpassay risk`. With --documents: canary documents, see `dpassay ask`.",
        ),
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
            help="Claimed epsilon: print what this number of canaries can show; if nothing, no coin is tossed.",
        ),
    ] = None,
    delta: Annotated[float, typer.Option(metavar="D", parser=option.real, help="Claimed delta, with --epsilon.")] = 0.0,
    real: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="New CSV for the records of the included units, of which a synthetic table is made."
        ),
    ] = None,
    holdout: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --real: new CSV for the records of the excluded units.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="With --real: column that names the unit, such as an account. Default: each row."
        ),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="New text file for the included canary documents, for the store of an assistant."
        ),
    ] = None,
    make: Annotated[
        int | None,
        typer.Option(metavar="N", help="With --documents: make canaries of N units, in the new file IDS."),
    ] = None,
    per_unit: Annotated[
        int, typer.Option(metavar="K", help="With --make: documents of each unit, such as a person.")
    ] = 1,
    keys: option.Keys = None,
    force: Annotated[
        bool, typer.Option("--force", help="Toss the coins even if so few canaries cannot contradict the claim.")
    ] = False,
) -> int:
    """Toss a fair coin for each canary, before training: which are in the run, and which are not.

    With --real and --holdout, for each unit of a table, before a synthetic table is made. With --documents, for each
    unit of canary documents, before an assistant is built.
    """
    claim = {"epsilon": epsilon, "delta": delta, "force": force}
    if documents is not None or make is not None:
        from .assistants import toss_documents

        return toss_documents(file, out, documents, make=make, per_unit=per_unit, seed=seed, **claim)
    if any(given is not None for given in (real, holdout, unit, keys)):
        from .table_coins import split

        return split(file, out, real, holdout, unit=unit, keys=keys, column=column, seed=seed, **claim)
    from ...audit.games.coins import Coins
    from ..data.score_files import read_ids
    from ..tasks.judgement import planned_for

    ids = read_ids(file, column=column)
    planned = planned_for(len(ids), epsilon, delta, out=out, force=force)
    coins = Coins.toss(ids, seed=seed, file=out)
    sys.stdout.write(
        f"{len(coins.included_ids):,} of {len(coins.ids):,} canaries are included: `included` in {out}\n"
        f"digest {coins.digest}\n\n{planned}"
        "Train with the included canaries only, and score all canaries with the same code. Then:\n"
        f"dpassay judge SCORES.csv --coins {out} --epsilon {'E' if epsilon is None else epsilon} --delta "
        f"{'D' if epsilon is None else delta}    (columns id, and loss or score)\n"
    )
    return 0


@command("judge", PANEL)
def judge_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV, NPZ, Parquet or JSON: columns score, side; or score, bit [run, canary]; or success (0 or 1); "
            "or, with --coins, id and score (higher = in) or loss (lower = in).",
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
    tossed: Annotated[
        bool,
        typer.Option(
            "--tossed",
            help="State that an independent fair coin decided each bit; asked for where the bits do not look like it.",
        ),
    ] = False,
    relation: Annotated[
        str | None, typer.Option(metavar="R", help="Relation in the result: add_remove, replace_one or zero_out.")
    ] = None,
    bound: option.BoundNames = None,
    negatives: option.Negatives = None,
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
    verbose: option.Verbose = False,
    markdown: option.Markdown = None,
    json_: option.JsonFile = None,
) -> int:
    """Audit a claim with a file of attack scores computed elsewhere."""
    from ..tasks.judgement import Judgement
    from .outcomes import finish
    from .outputs import OutputFiles

    return finish(Judgement.of(locals()), OutputFiles(markdown, json_), out=out, strict=strict, verbose=verbose)


@command("membership", PANEL)
def membership_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="NPZ: membership (models x records) and losses, logits, probabilities, rescaled_logits or scores; or "
            "CSV: model, record, member, and loss or score. Of one model: loss_train and loss_test, or a CSV without "
            "model and record. With a function as target: records, X_train, y_train, X_test, y_test, or a CSV: member, "
            "label, features.",
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="The audited model, by its name or number from 0 on; all others are references only. Or its function "
            "of a batch of records, PY_FILE:NAME. Default: every model in turn.",
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PY_FILE:NAME", help="Function of a model that saw none of the records, with --target; repeatable."
        ),
    ] = None,
    outputs: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="What the functions return: probabilities, log_probabilities or logits of classes, losses, "
            "predictions, rescaled_logits or scores.",
        ),
    ] = "probabilities",
    random_split: Annotated[
        bool, typer.Option("--random-split", help="State that chance alone decided which records the model saw.")
    ] = False,
    attack: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="See `dpassay list membership`; repeatable. Default: all that apply."),
    ] = None,
    fair: Annotated[
        bool, typer.Option("--fair", help="Each record was in each model by an independent fair coin.")
    ] = False,
    signal: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What the array scores is, such as margin. Default: not said."),
    ] = None,
    per_model: Annotated[bool, typer.Option("--per-model", help="Add the metrics of each model.")] = False,
    confidence: Annotated[
        float, typer.Option(metavar="C", parser=option.real, help="Confidence of each interval.")
    ] = 0.95,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory for numbers, figures and report. Default: none.")
    ] = None,
    verbose: option.Verbose = False,
    json_: option.JsonFile = None,
) -> int:
    """Attack shadow models trained elsewhere, and report how well each attack identifies members."""
    from ..tasks.membership import MembershipStudy
    from .outcomes import finish
    from .outputs import OutputFiles

    task, files = MembershipStudy.of(locals()), OutputFiles(json_file=json_)
    return finish(task, files, out=out, verbose=verbose or per_model)


@command("text", PANEL)
def text_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="JSONL, one text a line: log_probabilities of its tokens; optional id, text, member, "
            "reference_log_probabilities, means and standard_deviations, prefix_tokens, alternatives.",
        ),
    ],
    from_release: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Released texts, one a line, or JSONL with text: a model of them scores FILE, which has text, and no "
            "log_probabilities.",
        ),
    ] = None,
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
    bound: option.BoundNames = None,
    negatives: option.Negatives = None,
    confidence: Annotated[
        float, typer.Option(metavar="C", parser=option.real, help="Confidence of the bound and of each interval.")
    ] = 0.95,
    share: Annotated[float, typer.Option(metavar="K", help="Share of the tokens of min-k and min-k++.")] = 0.2,
    queries: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Queries n of the table of extraction; repeatable. Default: 1 to 100,000."),
    ] = None,
    p: Annotated[float, typer.Option("--p", metavar="P", help="Probability p of the table of extraction.")] = 0.5,
    zeros: Annotated[
        str,
        typer.Option(
            metavar="MEANING",
            help="Log probabilities of exactly 0 at one end of a text: padding, tokens (of probability 1), or auto.",
        ),
    ] = "auto",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory for scores, figures and reports. Default: none.")
    ] = None,
    strict: option.Strict = False,
    verbose: option.Verbose = False,
) -> int:
    """Attack a language model from the log probabilities of texts; with --coins, audit the claim of its training."""
    from ..tasks.texts import TextStudy
    from .outcomes import finish
    from .outputs import OutputFiles

    return finish(TextStudy.of(locals()), OutputFiles(), out=out, strict=strict, verbose=verbose)


@command("risk", PANEL)
def risk_command(
    real: Annotated[
        Path, typer.Argument(metavar="REAL", help="CSV, TSV, JSON lines, Parquet: records the table was made of.")
    ],
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
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column by which the holdout was split off: account, person, place. Default: by row."
        ),
    ] = None,
    keys: option.Keys = None,
    confidence: Annotated[
        float, typer.Option(metavar="C", parser=option.real, help="1 - C is the error of all findings together.")
    ] = 0.95,
    seed: Annotated[int, typer.Option(metavar="S", help="Seed of the random choices of the attacks.")] = 0,
    coins: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Coins that split the records, from `dpassay coins --real`: test a claim."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(metavar="E", parser=option.real, help="Claimed epsilon of the generator, with --coins."),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(metavar="D", parser=option.real, help="Claimed delta, with --coins. Default: 0.")
    ] = None,
    attack: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="With --coins: membership (default), copies, distance or density; repeatable. Chosen before looking; "
            "several share the significance.",
        ),
    ] = None,
    looks: option.Looks = 1,
    records: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="CSV of the real records that were found, with their values: keep it to yourself."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory for numbers and report. Default: none.")
    ] = None,
    strict: option.Strict = False,
    verbose: option.Verbose = False,
) -> int:
    """Measure what a synthetic table discloses about the records it was made of; exit with 1 on a finding.

    With --coins, test the claim of its generator; exit with 1 if the claim is refuted.
    """
    from ..tasks.table_risk import TableRisk
    from .outcomes import finish
    from .outputs import OutputFiles

    return finish(TableRisk.of(locals()), OutputFiles(records=records), out=out, strict=strict, verbose=verbose)


@command("ask", PANEL)
def ask_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="CANARIES",
            help="JSONL, one canary document a line: document, secret, question, optional unit. `dpassay coins` with "
            "--documents and --make makes it.",
        ),
    ],
    coins: Annotated[Path, typer.Option(metavar="FILE", help="Coins of their units, from `dpassay coins`.")],
    answers: Annotated[
        Path, typer.Option(metavar="FILE", help="JSONL of the answers; an interrupted run continues from it.")
    ],
    epsilon: Annotated[
        float,
        typer.Option(metavar="E", parser=option.real, help="Claimed epsilon of one unit, for all accounts together."),
    ],
    delta: Annotated[float, typer.Option(metavar="D", parser=option.real, help="Claimed delta.")] = 0.0,
    command: Annotated[
        str | None,
        typer.Option(
            metavar="LINE",
            help="Program of the assistant: a question on its standard input, DPASSAY_ACCOUNT in its environment, the "
            "answer on its standard output. Default: judge the answers in the file.",
        ),
    ] = None,
    lines: Annotated[
        bool,
        typer.Option(
            "--lines", help="The program is started once, and answers lines of JSON, prompt and account, with lines."
        ),
    ] = False,
    budget: Annotated[int | None, typer.Option(metavar="N", help="Largest number of questions.")] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Time limit of one answer.")] = 60.0,
    accounts: Annotated[
        int, typer.Option(metavar="K", help="Number of accounts that ask, and whose answers are combined.")
    ] = 1,
    signal: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="verbatim, overlap, probability or learned, chosen before looking. Default: the pilot chooses.",
        ),
    ] = None,
    pilot: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the units that are the pilot, and not counted.")
    ] = 0.2,
    confidence: Annotated[float, typer.Option(metavar="C", parser=option.real, help="Confidence of the bound.")] = 0.95,
    looks: option.Looks = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory for numbers, figures and report. Default: none.")
    ] = None,
    strict: option.Strict = False,
    verbose: option.Verbose = False,
    markdown: option.Markdown = None,
    json_: option.JsonFile = None,
) -> int:
    """Audit an assistant with retrieval or memory: ask for canary documents, some of which are in its store."""
    from ..tasks.assistants import AssistantAudit
    from .assistants import ask_program
    from .outcomes import finish
    from .outputs import OutputFiles

    task, files = AssistantAudit.of(locals()), OutputFiles(markdown, json_)
    files.check_writable()
    ask_program(task, command, lines=lines, budget=budget, timeout=timeout)
    return finish(task, files, out=out, strict=strict, verbose=verbose)
