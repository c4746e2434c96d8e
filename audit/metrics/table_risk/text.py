"""The text of the risks of a synthetic table."""

from __future__ import annotations

from dataclasses import replace

from ....mechanisms.core import confidence_text, listed, number, p_value_text, percent, percent_between, plural
from ...evidence.verdict import Verdict
from ...results.result_text import ResultText, Row, TextSection, TextTable, Tone, tone_of
from .result import ALL_RECORDS, DENSITY, MEMORISED, Cause, MemorisedRecords, RiskResult, SplitTest

SUCCESS_TEXTS: dict[str, str] = {
    "copies": "stand in the synthetic table, equal in every compared column",
    "near copies": "have a row of the synthetic table five times nearer than any other person",
    "singled out": "are singled out: a narrow description made from the synthetic table fits them and no other record",
    "linked": "are linked: they are the nearest record to a row of the synthetic table by each half of the columns",
    "membership": "are among the people (2 %, or more with ties) that the synthetic table comes nearest to",
    "identifiers": "have their identifier in the synthetic table",
    DENSITY: "are in the quarter of the people where the synthetic table is densest for the number of people there",
}
"""What is said of the records about which an attack succeeds."""
_LIMITS = (
    "No epsilon: without coins, one synthetic table does not bound the privacy loss of its generator. Let `dpassay "
    "coins` split the records before the table is made, or audit the generator itself, with many runs on two "
    "neighbouring tables.",
    "No finding is no proof of safety: other attacks, or an attacker who knows more, may succeed.",
    "The distance of a synthetic row to the closest record is no evidence of safety: a table may have no near copies "
    "and disclose every record in other ways.",
    "One or two memorised records cannot be significant, however exposed they are{see}.",
    "What the table tells about everyone (such as that smokers fall ill) counts as no leak: real and holdout records "
    "are inferred alike.",
    "The holdout must have been split off at random before the table was made. Records of another year or place differ "
    "from the real ones for other reasons.",
)
"""Limits of the report."""
EXPOSED = (
    "Real records with a copy or a near copy in the table, those with the fewest people nearby first, of {n} in all "
    "(near copies are looked for among the records under attack). These are facts, not findings: compare them with the "
    "holdout."
)
ASSUMPTION = (
    "records and rows are independent draws, each of any one law; repeated ones were not removed. A generator that "
    "draws from a law which depends on no single record then makes such agreements with probability at most"
)
MAX_PARTS_SHOWN = 12
"""Largest number of comparisons of groups and columns in a table."""
_AGAIN = "Toss new coins, and test another table with a higher confidence, before you call the generator wrong."
"""What to do about a refuted claim."""
_STEPS = {
    "copies": "Test the generator for rows and values that it draws from the records, and let it draw none",
    "near copies": "Test the generator for rows and values that it draws from the records, and let it draw none",
    MEMORISED: "Test the generator for rows and values that it draws from the records, and let it draw none",
    "singled out": "Round or bin {columns} before the table is made, or make the generator private",
    "linked": "Round or bin {columns} before the table is made, or make the generator private",
    "membership": "Use a generator with a privacy guarantee, or train it for fewer steps: it fits single records",
    "identifiers": "Remove {columns} from the table, or draw new values that depend on no record",
    DENSITY: "Use a generator with a privacy guarantee, or train it for fewer steps: it fits single records",
    "relation": "Draw {columns} of each person anew, or make the generator private",
    "inferred": "Bin {columns} before the table is made, or make the generator private",
}
"""What to do about a leak, by the attack that names it."""


_UNKNOWN = (
    "Which of the other columns reveal the value is not known: the nearest row is chosen by all of them together."
)
_EACH = (
    "Columns that identify the real records of each finding: by these alone a row of the table is nearer to the record "
    "than to any other one, real or holdout. For “singled out”: the columns of its narrow description. Not known for "
    "the inference of a value, which takes the nearest row by all other columns together."
)
OLDER = "Saved by an older version: no causes."


def describe(result: RiskResult) -> ResultText:
    """Return the text of the claim, if one is tested, then that of the risks."""
    risks = _risks(result)
    if result.audit is None:
        return risks
    claim = result.audit.text()
    return replace(
        claim,
        facts=(*claim.facts, ("comparison", f"{risks.headline}. {risks.answer}"), *risks.facts),
        evidence=(*claim.evidence, *risks.evidence),
        next_steps=(_AGAIN, *risks.next_steps[:1]) if result.audit.verdict is Verdict.VIOLATION else claim.next_steps,
        table=risks.table,
        notes=(*claim.notes, *risks.notes),
        details=(*risks.details, *claim.details),
    )


def _risks(result: RiskResult) -> ResultText:
    """Return the text of the risks: the findings, the comparisons, the exposed records and the limits."""
    columns = tuple((c.name, c.kind, f"{c.n_values:,}", percent(c.missing)) for c in result.columns)
    return ResultText(
        tone=_tone(result),
        headline=headline(result),
        answer=answer(result),
        facts=_facts(result),
        evidence=tuple(("finding", sentence) for sentence in sentences(result)[1:]),
        next_steps=next_steps(result),
        table=_comparisons(result),
        notes=notes(result),
        details=(
            TextSection(
                "Exposed records", paragraphs=(EXPOSED.format(n=f"{result.n_exposed:,}"),), table=_exposed(result)
            )
            if result.exposed
            else TextSection("Exposed records"),
            TextSection("Findings of each leak", tuple(_members(result)), table=_each(result)),
            TextSection("Groups and single columns", table=_parts(result)) if result.parts else TextSection("Groups"),
            TextSection("What this cannot tell", paragraphs=limits(result)),
            TextSection(
                "Columns",
                table=TextTable(
                    ("column", "type", "values", "missing"),
                    tuple(("", row) for row in columns),
                    2,
                    "Types that were inferred from all tables. Identifiers are compared by themselves, constants are "
                    "left out.",
                ),
            ),
        ),
    )


def _tone(result: RiskResult) -> Tone:
    if not result.n_holdout:
        return Tone.UNDERPOWERED
    return tone_of(Verdict.VIOLATION if result.leaks else Verdict.CONSISTENT)


def _facts(result: RiskResult) -> tuple[Row, ...]:
    holdout = f"{result.n_holdout:,} rows" if result.n_holdout else "none: no comparison is possible"
    return (
        ("real", f"{result.n_real:,} rows"),
        ("synthetic", f"{result.n_synthetic:,} rows"),
        ("holdout", holdout),
        ("attacked", f"{result.n_attacked:,} records; copies are counted in all"),
        ("confidence", confidence_text(result.confidence)),
    )


def headline(result: RiskResult) -> str:
    """Return the result in a few words."""
    if not result.n_holdout:
        (copies,) = (c for c in result.overall if c.attack == "copies")
        found = f"{copies.hits_real:,} of {copies.n_real:,} real records stand in the table"
        return f"No verdict, because there is no holdout; {found}"
    return "No leak found" if result.safe_so_far else "The table leaks records"


def answer(result: RiskResult) -> str:
    """Return the result in two or three sentences."""
    if not result.n_holdout:
        return (
            "Without records that the table was not made of, copies by chance cannot be told from leaks. The rates "
            "below are facts, not findings."
        )
    who = f"unit ({result.unit})" if result.unit else "record"
    if result.safe_so_far:
        fewest = f" At least {result.fewest:,} copied {who}s would be needed." if result.fewest else ""
        return f"No attack succeeds more often about real {who}s than about holdout {who}s.{fewest}"
    return f"{_count(result)} {sentences(result)[0]}"


def _count(result: RiskResult) -> str:
    """Return how many findings there are, and how many leaks they show."""
    n = len(result.findings) + result.memorised_by_assumption
    if not result.causes or n == 1:
        return f"{plural(n, 'finding')}."
    if len(result.causes) == 1:
        return f"{n:,} findings, about mostly the same {_who(result)}: one leak."
    return f"{n:,} findings show {plural(len(result.causes), 'leak')}."


def _who(result: RiskResult) -> str:
    return "units" if result.unit else "records"


def next_steps(result: RiskResult) -> tuple[str, ...]:
    """Return what to do now, at most two sentences."""
    if not result.n_holdout:
        return ("Split off a holdout at random, make the table without it, and pass both.",)
    if result.safe_so_far:
        return ()
    steps = list(dict.fromkeys(_step(cause) for cause in result.causes))
    if not steps:
        return ("Do not publish this table.",)
    return (f"Do not publish this table. {steps[0]}.", *(f"{step}." for step in steps[1:2]))


def _step(cause: Cause) -> str:
    """Return what to do about a leak."""
    columns = listed(cause.columns) or "the columns that identify people"
    return _STEPS[cause.attack.partition(":")[0]].format(columns=columns)


def limits(result: RiskResult) -> tuple[str, ...]:
    """Return what the result cannot tell."""
    see = ": see the list of records" if result.exposed else ""
    return tuple(text.format(see=see) for text in _LIMITS[result.audit is not None :])


def _said(result: RiskResult, c: SplitTest) -> str:
    return _comparison_sentence(c, result.confidence, result.unit)


def sentences(result: RiskResult) -> tuple[str, ...]:
    """Sentences on the leaks, one each: what was found, which columns identify these records, who else found them."""
    if not result.causes:  # of a file that names none
        rest = (_memorised_sentence(result.memorised, result.unit),) if result.memorised_by_assumption else ()
        return (*(_said(result, c) for c in result.findings), *rest)
    tests = {(c.attack, c.group): c for c in result.findings}
    said = []
    for cause in result.causes:
        test = tests.get(cause.findings[0])
        first = _memorised_sentence(result.memorised, result.unit) if test is None else _said(result, test)
        said.append(f"{first}{_identified(cause)}{_also(cause)}")
    return tuple(said)


def _identified(cause: Cause) -> str:
    """Return which columns identify the records of a leak."""
    if cause.n_by:
        return f" They are identified most often by {_columns(cause)} ({_share(cause)})."
    if cause.attack == "identifiers":
        return f" Identifiers: {listed(cause.columns)}."
    if cause.attack.startswith("inferred: "):
        return f" {_UNKNOWN}"
    return "" if cause.columns else " No column identifies them."


def _columns(cause: Cause) -> str:
    """Return the columns that identify most records of a finding, and whether others are needed."""
    how = "alone" if cause.alone and len(cause.columns) == 1 else "together" if cause.alone else "with other columns"
    return f"{listed(cause.columns)} {how}"


def _share(cause: Cause) -> str:
    """Return how many records they identify, of those that were looked at."""
    n = cause.n_examined or cause.n_records
    looked_at = f" looked at, of {cause.n_records:,}" if n < cause.n_records else ""
    return f"{cause.n_by:,} of {plural(n, 'record')}{looked_at}"


def _each(result: RiskResult) -> TextTable | None:
    """Return a row for each finding about all records, with the columns that identify its records."""
    rows = []
    for cause in result.each:
        named = _columns(cause) if cause.n_by else listed(cause.columns) or "no column"
        if cause.attack.startswith("inferred: "):
            named = "not known"
        share = _share(cause) if cause.n_by else plural(cause.n_records, "record")
        rows.append(("", (cause.attack, named, share)))
    return TextTable(("attack", "identified most often by", "real"), tuple(rows), 2, _EACH) if rows else None


def _also(cause: Cause) -> str:
    """Return the other attacks that find the records of a leak, and the number of groups with a finding."""
    others = dict.fromkeys(attack for attack, group in cause.findings[1:] if group == ALL_RECORDS)
    groups = {group for _, group in cause.findings[1:] if group != ALL_RECORDS}
    found = [*others, *([plural(len(groups), "group")] if groups else [])]
    return f" Mostly the same records: {', '.join(found)}." if found else ""


def _members(result: RiskResult) -> list[Row]:
    """Return the findings about groups, by leak, with the names of the groups."""
    rows: list[Row] = []
    for cause in result.causes:
        groups: dict[str, list[str]] = {}
        for attack, group in cause.findings[1:]:
            if group != ALL_RECORDS:
                groups.setdefault(group, []).append(attack)
        named = "; ".join(f"{group} ({', '.join(attacks)})" for group, attacks in groups.items())
        rows += [("groups", f"{cause.attack}: {named}")] if named else []
    return rows


def notes(result: RiskResult) -> tuple[str, ...]:
    """Facts that are no findings, and how to read the numbers."""
    texts, who = [OLDER] if result.leaks and not result.causes else [], "units" if result.unit else "records"
    if result.membership is not None:
        m = result.membership
        texts.append(
            f"Membership at 1 % false alarms: {percent(m.tpr)} of the real {who} are recognised "
            f"({percent_between(m.lower, m.upper)} at {confidence_text(result.confidence)} confidence, if {who} are "
            "independent draws); guessing recognises 1 %."
        )
    if result.n_holdout:
        texts.append(
            f"All findings together are false with probability at most {percent(1 - result.confidence)} if the "
            f"table does not depend on which {who} are real. Findings by comparison assume no law of the {who}."
        )
        texts.append(
            f"Leaked: the share of real {who} about which the attack is right because the table was "
            f"made of them, each interval by itself at {confidence_text(result.confidence)} confidence; it "
            f"assumes that this has no effect on the holdout {who}."
        )
        shown = "more than there are" if result.fewest is None else f"{result.fewest:,}"
        texts.append(f"Copied {who} needed for a finding by comparison, with none in the holdout: {shown}.")
    worst = result.worst_group
    if worst is not None:
        texts.append(f"Worst group ({worst.attack}): {_said(result, worst)}")
    agree = result.memorised
    if agree.n_real and not result.memorised_by_assumption:
        beside = f" and {agree.n_holdout:,} of the holdout" if result.n_holdout else ""
        texts.append(
            f"{plural(agree.n_real, 'real record')}{beside} agree with a row in {listed(agree.columns)}; so do "
            f"{plural(agree.n_record_pairs, 'pair')} of records and {plural(agree.n_row_pairs, 'pair')} of rows."
        )
    where = " `--records FILE` writes them with their values, for this machine only." if result.found else ""
    texts.append(
        f"Real records with a copy in the table, or under attack and with a near copy in it: {result.n_exposed:,}."
        f"{where}"
    )
    return tuple(texts)


def _comparisons(result: RiskResult) -> TextTable:
    """Return a row for each attack on all records, and for each other finding that names a leak."""
    named = {cause.findings[0] for cause in result.causes}
    parts = tuple(c for c in result.parts if (c.attack, c.group) in named or c.attack == DENSITY)
    return _table(
        result,
        (*result.overall, *parts),
        "Records about which an attack is right. Leaked: share of the real records about which it is right because the "
        "table was made of them. P-values are corrected for all comparisons.",
    )


def _parts(result: RiskResult) -> TextTable:
    """Return the comparisons of groups and single columns with the smallest p-values."""
    order = sorted(result.parts, key=lambda c: (c.p_value is None, c.p_value or 0.0, -c.real))
    left = len(order) - MAX_PARTS_SHOWN
    more = f"; {left:,} more in `to_frame()` or results.csv" if left > 0 else ""
    caption = f"Groups of records, and columns that are inferred{more}."
    return _table(result, tuple(order[:MAX_PARTS_SHOWN]), caption)


def _table(result: RiskResult, comparisons: tuple[SplitTest, ...], caption: str) -> TextTable:
    """Return a row for each comparison, and whether it is a finding; without a holdout there are fewer columns."""
    head = ("attack", "records", "real", "holdout", "without the table", "leaked", "p-value", "verdict")
    kept = range(len(head)) if result.n_holdout else (0, 1, 2, 4)
    findings = set(map(id, result.findings))
    rows = []
    for c in comparisons:
        tone = Tone.VIOLATION if id(c) in findings else None
        row = (*cells(c, result.confidence), f"{tone.sign} finding" if tone else "no finding")
        rows.append((tone or "", tuple(row[place] or "-" for place in kept)))
    return TextTable(tuple(head[place] for place in kept), tuple(rows), 2, caption)


def _exposed(result: RiskResult) -> TextTable:
    rows = tuple(
        (
            "",
            (
                f"{e.row:,}",
                "exact copy" if e.exact else "near copy",
                f"{e.nearby:,}",
                percent(e.remoteness),
                number(e.ratio, 2),
            ),
        )
        for e in result.exposed
    )
    caption = (
        f"Row 1 is the first record of {result.real_file or 'the real table'}, below its heading. Distance: to the "
        "nearest synthetic row, over that to the nearest different person. Less remote: share of people with nearer "
        "neighbours."
    )
    return TextTable(("row", "in the table", "people nearby", "less remote", "distance"), rows, 2, caption)


def _comparison_sentence(c: SplitTest, confidence: float, unit: str = "") -> str:
    """Return the comparison in a sentence; `unit` is the column of the units that are counted, if not records."""
    column = c.attack.removeprefix("inferred: ")
    what = SUCCESS_TEXTS.get(c.attack, f"have {column} inferred from their other columns")
    if c.attack.startswith("relation: "):
        what = f"have a row ten times nearer than any other person in {c.attack.removeprefix('relation: ')} alone"
    who = "of the real records" if c.group == ALL_RECORDS else f"of the real records with {c.group}"
    who = "of the real outliers" if c.group == "outliers" else who
    if unit:
        within = "" if c.group == ALL_RECORDS else f" with {c.group.replace('outliers', 'an outlier')}"
        who, what = f"of the real units ({unit}){within}", f"have records that {what}"
    text = f"{c.hits_real:,} ({percent(c.real)}) {who} {what}"
    if c.lower is None or c.upper is None:
        return f"{text}."
    leaked = f"{percent_between(c.lower, c.upper)} because the table was made of them"
    return f"{text}; of the holdout {percent(c.holdout)}: {leaked} ({confidence_text(confidence)} confidence)."


def _memorised_sentence(agree: MemorisedRecords, unit: str = "") -> str:
    """Return the finding in a sentence, with its assumption."""
    one_each = f" (one of each {unit})" if unit else ""
    return (
        f"{plural(agree.n_real, 'real record')}{one_each}, and no holdout record, agree with a row of the table in "
        f"{listed(agree.columns)}, in which no two records and no two rows agree. Assumed: {ASSUMPTION} "
        f"{percent(agree.p_value, 2)}."
    )


def cells(c: SplitTest, confidence: float) -> tuple[str, ...]:
    """Return the cells of a comparison: attack, records, real, holdout, without the table, leaked, p-value."""
    compared = c.n_holdout > 0
    leaked = "" if c.lower is None or c.upper is None else percent_between(c.lower, c.upper)
    return (
        c.attack,
        c.group,
        f"{c.hits_real:,}/{c.n_real:,} ({percent(c.real)})",
        f"{c.hits_holdout:,}/{c.n_holdout:,} ({percent(c.holdout)})" if compared else "",
        "" if c.baseline is None else percent(c.baseline),
        leaked,
        "" if c.p_adjusted is None else p_value_text(min(c.p_adjusted, 1.0), 1.0 - confidence),
    )
