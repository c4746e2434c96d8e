"""The text of the risks of a synthetic table."""

from __future__ import annotations

from ....mechanisms.core import confidence_text, listed, number, percent, percent_between, plural
from ...results.result_text import ResultText, Row, Section, TextTable, Tone
from .result import ALL_RECORDS, MemorisedRecords, RiskResult, SplitTest

SUCCESS_TEXTS: dict[str, str] = {
    "copies": "stand in the synthetic table, equal in every compared column",
    "near copies": "have a row of the synthetic table five times nearer than any other person",
    "singled out": "are singled out: a narrow description made from the synthetic table fits them and no other record",
    "linked": "are linked: they are the nearest record to a row of the synthetic table by each half of the columns",
    "membership": "are among the people (2 %, or more with ties) that the synthetic table comes nearest to",
    "identifiers": "have their identifier in the synthetic table",
}
"""What is said of the records about which an attack succeeds."""
_LIMITS = (
    "No epsilon: one synthetic table does not bound the privacy loss of its generator. Audit the generator itself, "
    "with many runs on two neighbouring tables.",
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
"""Largest number of comparisons of groups and columns in the table."""


def describe(result: RiskResult) -> ResultText:
    """Return the text of the risks: the findings, the comparisons, the exposed records and the limits."""
    columns = tuple((c.name, c.kind, f"{c.n_values:,}", percent(c.missing)) for c in result.columns)
    return ResultText(
        tone=_tone(result),
        headline=headline(result),
        answer=answer(result),
        facts=_facts(result),
        evidence=tuple(("finding", sentence) for sentence in sentences(result)),
        next_steps=next_steps(result),
        table=_comparisons(result),
        notes=notes(result),
        details=(
            Section("Exposed records", paragraphs=(EXPOSED.format(n=f"{result.n_exposed:,}"),), table=_exposed(result))
            if result.exposed
            else Section("Exposed records"),
            Section("What this cannot tell", paragraphs=limits(result)),
            Section(
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
    return Tone.CONSISTENT if result.safe_so_far else Tone.VIOLATION


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
    n = len(result.findings) + result.memorised_by_assumption
    first = _said(result, result.findings[0]) if result.findings else memorised_sentence(result.memorised, result.unit)
    return f"{plural(n, 'finding')}. {first}"


def next_steps(result: RiskResult) -> tuple[str, ...]:
    """Return what to do now, at most two sentences."""
    if not result.n_holdout:
        return ("Split off a holdout at random, make the table without it, and pass both.",)
    if result.safe_so_far:
        return ()
    return (
        "Do not publish this table.",
        "Look for rows that the generator draws or copies from the data, round or bin the columns that identify "
        "people, or use a generator with a privacy guarantee; then repeat with a new table.",
    )


def limits(result: RiskResult) -> tuple[str, ...]:
    """Return what the result cannot tell."""
    see = ": see the list of records" if result.exposed else ""
    return tuple(text.format(see=see) for text in _LIMITS)


def _said(result: RiskResult, c: SplitTest) -> str:
    return comparison_sentence(c, result.confidence, result.unit)


def sentences(result: RiskResult) -> tuple[str, ...]:
    """Sentences on the findings after the first one, which `answer` has: one each, and one on all groups."""
    whole = [_said(result, c) for c in result.findings[1:] if c.group == ALL_RECORDS]
    groups: dict[str, list[str]] = {}
    for c in result.findings[1:]:
        if c.group != ALL_RECORDS:
            groups.setdefault(c.group, []).append(c.attack)
    if groups:
        listed_groups = "; ".join(f"{group} ({', '.join(attacks)})" for group, attacks in groups.items())
        whole.append(f"Also within groups of records: {listed_groups}.")
    if result.findings and result.memorised_by_assumption:
        whole.append(memorised_sentence(result.memorised, result.unit))
    return tuple(whole)


def notes(result: RiskResult) -> tuple[str, ...]:
    """Facts that are no findings, and how to read the numbers."""
    texts, who = [], "units" if result.unit else "records"
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
            f"Each interval is of the share of real {who} about which the attack is right because the table was "
            f"made of them, and by itself has {confidence_text(result.confidence)} confidence; it assumes that this "
            f"has no effect on the holdout {who}."
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
    texts.append(
        f"Real records with a copy in the table, or under attack and with a near copy in it: {result.n_exposed:,}."
    )
    return tuple(texts)


def _comparisons(result: RiskResult) -> TextTable:
    """Return a row for each comparison; without a holdout there are fewer columns."""
    head = ("attack", "records", "real", "holdout", "without the table", "due to use", "p-value")
    kept = range(len(head)) if result.n_holdout else (0, 1, 2, 4)
    findings = set(map(id, result.findings))
    rows = [("violation" if id(c) in findings else "", cells(c)) for c in shown_comparisons(result)]
    caption = (
        "Records about which an attack is right. Due to use: share of the real records about which it is right because "
        "the table was made of them. P-values are corrected for all comparisons (Holm)."
    )
    shown = tuple((tone, tuple(row[place] or "-" for place in kept)) for tone, row in rows)
    return TextTable(tuple(head[place] for place in kept), shown, 2, caption)


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
        "Distance: to the nearest synthetic row, over that to the nearest different person. Less remote: share of "
        "people with nearer neighbours."
    )
    return TextTable(("row in real", "in the table", "people nearby", "less remote", "distance"), rows, 2, caption)


def comparison_sentence(c: SplitTest, confidence: float, unit: str = "") -> str:
    """Return the comparison in a sentence; `unit` is the column of the units that are counted, if not records."""
    column = c.attack.removeprefix("inferred: ")
    what = SUCCESS_TEXTS.get(c.attack, f"have {column} inferred from their other columns")
    who = "of the real records" if c.group == ALL_RECORDS else f"of the real records with {c.group}"
    who = "of the real outliers" if c.group == "outliers" else who
    if unit:
        within = "" if c.group == ALL_RECORDS else f" with {c.group.replace('outliers', 'an outlier')}"
        who, what = f"of the real units ({unit}){within}", f"have records that {what}"
    text = f"{percent(c.real)} {who} {what}"
    if c.lower is None or c.upper is None:
        return f"{text}."
    due = percent_between(c.lower, c.upper)
    return f"{text}; of the holdout {percent(c.holdout)}. Due to use: {due} ({confidence_text(confidence)} confidence)."


def memorised_sentence(agree: MemorisedRecords, unit: str = "") -> str:
    """Return the finding in a sentence, with its assumption."""
    one_each = f" (one of each {unit})" if unit else ""
    return (
        f"{plural(agree.n_real, 'real record')}{one_each}, and no holdout record, agree with a row of the table in "
        f"{listed(agree.columns)}, in which no two records and no two rows agree. Assumed: {ASSUMPTION} "
        f"{percent(agree.p_value, 2)}."
    )


def shown_comparisons(result: RiskResult) -> tuple[SplitTest, ...]:
    """Return the comparisons of a table: all records, and the smallest p-values of groups and columns."""
    order = sorted(result.parts, key=lambda c: (c.p_value is None, c.p_value or 0.0, -c.real))
    return (*result.overall, *order[:MAX_PARTS_SHOWN])


def cells(c: SplitTest) -> tuple[str, ...]:
    """Return the cells of a comparison: attack, records, real, holdout, without the table, due to use, p-value."""
    compared = c.n_holdout > 0
    due = "" if c.lower is None or c.upper is None else percent_between(c.lower, c.upper)
    return (
        c.attack,
        c.group,
        f"{c.hits_real:,}/{c.n_real:,} ({percent(c.real)})",
        f"{c.hits_holdout:,}/{c.n_holdout:,} ({percent(c.holdout)})" if compared else "",
        "" if c.baseline is None else percent(c.baseline),
        due,
        "" if c.p_adjusted is None else number(min(c.p_adjusted, 1.0), 2),
    )
