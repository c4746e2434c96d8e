"""Every form of a result says the same: terminal, Markdown, HTML, evidence card, JUnit, SARIF and badge."""

from __future__ import annotations

import dataclasses
import html
import io
import json
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from tests.audit.metrics.membership.test_language_models import memorised
from tests.experiments.made_results import broken_sweep, laplace_result, laplace_sweep, sweep_of
from tests.experiments.present.plots.test_plots_membership import result_of
from tests.experiments.runs.test_calibrate import PLAN

from dpassay.audit.api import audit
from dpassay.audit.bounds.pair.simultaneous import SimultaneousBand
from dpassay.audit.calibration.certificate import certify
from dpassay.audit.calibration.methods import BoundMethod
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.metrics import DisclosureGains, gain
from dpassay.audit.metrics.membership.language_models import evaluate_texts
from dpassay.audit.metrics.membership.result import MembershipResult
from dpassay.audit.metrics.table_risk import risk
from dpassay.audit.results.audit_result import AuditResult
from dpassay.audit.results.plain import plain
from dpassay.audit.results.refuting_event import RefutingEvent
from dpassay.audit.results.result_text import ResultText, Tone
from dpassay.audit.results.withheld import without_values
from dpassay.audit.results.witness import Witness, WitnessKind
from dpassay.audit.search import StressResult, stress
from dpassay.audit.search.hostile import FAMILIES
from dpassay.experiments.ci.findings import findings_of
from dpassay.experiments.cli import terminal
from dpassay.experiments.present.builds.badge import badge
from dpassay.experiments.present.builds.findings import Place
from dpassay.experiments.present.builds.junit import junit
from dpassay.experiments.present.builds.sarif import sarif
from dpassay.experiments.present.card.card import Origin, card_of
from dpassay.experiments.present.pages import Drawn, page, write
from dpassay.experiments.present.results.sweep import SweepResult
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.accounting import PureDP
from dpassay.mechanisms.core import number, p_value_text, typeset

PRIVATE = [f"private-{place}" for place in range(6)]
"""Values of people: datasets and outputs of a result."""
PLACE = Place("noise.py:release", Path("noise.py"), 4)


def _violation() -> AuditResult:
    event = RefutingEvent("output >= 2", 1.5, True, (PRIVATE[2],), (PRIVATE[3],))
    return dataclasses.replace(laplace_result(1.5, claim=1.0), datasets=(PRIVATE[0], PRIVATE[1]), deciding=event)


def _witnessed() -> AuditResult:
    witness = Witness.against(
        PureDP(1.0),
        kind=WitnessKind.IMPOSSIBLE_OUTPUT,
        what="side 1 gives an output that side 0 never gives",
        epsilon=math.inf,
        delta=0.0,
        outputs=((PRIVATE[4],), (PRIVATE[5],)),
    )
    return dataclasses.replace(laplace_result(), witnesses=(witness,), verdict=Verdict.VIOLATION)


def _underpowered() -> AuditResult:
    result = laplace_result(1.0, n=50)
    return dataclasses.replace(result, claim=9.0, verdict=Verdict.UNDERPOWERED, detectable=math.inf, p_value=1.0)


def _two_of_four() -> SweepResult:
    results = [_violation(), laplace_result(), laplace_result(3.0, claim=2.0), laplace_result(2.0, detectable=4.0)]
    return sweep_of([{"case": {"name": f"case {place}"}} for place in range(4)], results)


def _risk(n_copied: int, *, holdout: bool = True) -> Any:
    rng = np.random.default_rng(0)
    real, other, table = (
        pd.DataFrame({"age": rng.integers(18, 90, 200), "income": rng.lognormal(10, 0.6, 200).round()})
        for _ in range(3)
    )
    table.iloc[:n_copied] = real.iloc[:n_copied].to_numpy()
    return risk(real, table, other if holdout else None)


def _right(n: int) -> list[bool]:
    """One hundred guesses, the first n of them right."""
    return [place < n for place in range(100)]


def _gain_of_groups() -> DisclosureGains:
    overall, group = (gain(_right(n), without_release=_right(50), without_person=_right(60)) for n in (80, 95))
    return DisclosureGains(overall, {"old": group, "young": overall}, ("others",), 0.95)


def _of_two(dataset: list[str], rng: np.random.Generator) -> float:
    return len(dataset) % 3 + rng.laplace(scale=2)


def _leaking(dataset: list[str], rng: np.random.Generator) -> float:
    return dataset.count(PRIVATE[1]) + 0.01 * rng.laplace()


def _stressed(example: list[str], function: Callable[..., float] = _leaking) -> StressResult:
    kinds = [name for name in FAMILIES if name not in ("order", "missing", "new")]
    return stress(function, example, claim=PureDP(1.0), relation="add_remove", without=kinds, trials=120, seed=0)


MADE: dict[str, Callable[[], Any]] = {
    "violation": _violation,
    "usual": lambda: audit(Laplace(epsilon=2.0), claim=PureDP(0.5), attack="portfolio", trials=2_000, seed=0),
    "consistent": laplace_result,
    "weak": lambda: laplace_result(detectable=3.0),
    "underpowered": _underpowered,
    "dependent": lambda: laplace_result(verdict=Verdict.DEPENDENT, dependence="equal runs"),
    "witness": _witnessed,
    "sweep": lambda: laplace_sweep((0.5, 1.0)),
    "sweep refuted": broken_sweep,
    "sweep 2 of 4": _two_of_four,
    "stress": lambda: _stressed(PRIVATE),
    "stress passed": lambda: _stressed(["a", "b"], function=_of_two),
    "membership": result_of,
    "texts with coins": lambda: evaluate_texts(memorised()[1], coins=memorised()[0], claim=PureDP(2.0), delta=0.0),
    "risk clean": lambda: _risk(0),
    "risk leaking": lambda: _risk(60),
    "risk without holdout": lambda: _risk(60, holdout=False),
    "gain": lambda: gain(_right(90), without_release=_right(50), without_person=_right(60)),
    "no gain": lambda: gain(_right(60), without_release=_right(50), without_person=_right(59)),
    "gain of groups": _gain_of_groups,
    "certificate": lambda: certify(PLAN, [BoundMethod(SimultaneousBand())], seed=0),
}
MADE = {name: cache(make) for name, make in MADE.items()}
TONES = {
    "violation": Tone.VIOLATION, "usual": Tone.VIOLATION,
    "consistent": Tone.CONSISTENT, "weak": Tone.WEAK, "underpowered": Tone.UNDERPOWERED,
    "dependent": Tone.DEPENDENT, "witness": Tone.VIOLATION, "sweep": Tone.CONSISTENT, "sweep refuted": Tone.VIOLATION,
    "sweep 2 of 4": Tone.VIOLATION, "stress": Tone.VIOLATION, "stress passed": Tone.WEAK,
    "membership": Tone.PLAIN, "risk clean": Tone.CONSISTENT,
    "risk leaking": Tone.VIOLATION, "risk without holdout": Tone.UNDERPOWERED, "certificate": Tone.CONSISTENT,
    "texts with coins": Tone.VIOLATION, "gain": Tone.PLAIN, "no gain": Tone.PLAIN, "gain of groups": Tone.PLAIN,
}  # fmt: skip


def same(text: str) -> str:
    """Return text without escapes, tags, case and line breaks, typeset, so that its forms can be compared."""
    bare = re.sub(r"\\([\\`*_\[\]|~$#+.)-])", r"\1", text.replace("\u00a0", " ").replace("\u2011", "-"))
    return typeset(" ".join(bare.replace("`", "").split())).casefold()


def of_page(page: str) -> str:
    """Return the text of a page, without style, script and figures."""
    bare = re.sub(r"<(style|script|svg)\b.*?</\1>", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"</?code>", "", bare).replace("&nbsp;", " "))


def on_a_terminal(text: ResultText, monkeypatch: pytest.MonkeyPatch) -> str:
    out = io.StringIO()
    monkeypatch.setattr(terminal, "console", lambda: Console(file=out, width=1_000, highlight=False))
    terminal._show_text(text)
    return out.getvalue()


def audits_of(result: Any) -> SweepResult:
    return sweep_of([{}], [result]) if isinstance(result, AuditResult) else result


@pytest.mark.parametrize("name", MADE)
def test_every_form_says_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headline, answer, next steps and each number of the table stand in each form that shows them."""
    result = MADE[name]()
    text: ResultText = result.text()
    assert text.tone is TONES[name]
    said = [text.headline, text.answer, *text.next_steps, *text.conditions, *text.warnings]
    cells = [] if text.table is None else [cell for _, row in text.table.rows for cell in row]
    page_file, summary = write(text, tmp_path, Drawn(), title="A title", command="dpassay run x")
    shown = {
        "terminal": on_a_terminal(text, monkeypatch),
        "plain": plain(text),
        "page": of_page(page_file.read_text(encoding="utf-8")),
        "summary": html.unescape(summary.read_text(encoding="utf-8")),
    }
    for form, found in shown.items():
        seen = same(found)
        assert [sentence for sentence in said if same(sentence) not in seen] == [], form
        if form != "terminal":  # which has no room for some columns
            assert [cell for cell in cells if same(cell) not in seen] == [], form
    for form in ("plain", "page"):
        facts = [fact for _, fact in (*text.facts, *text.evidence, *text.examples)]
        seen = same(shown[form])
        assert [fact for fact in facts if same(fact) not in seen] == [], form
    if text.tone.sign:
        assert f"{text.tone.sign} " in shown["terminal"].splitlines()[len(text.conditions)]
        assert shown["summary"].partition("## ")[2].startswith(f"{text.tone.sign} ")
    assert f'class="answer {text.tone}"' in page_file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MADE)
def test_colour_is_never_the_only_sign_of_a_row(name: str) -> None:
    text: ResultText = MADE[name]().text()
    tables = [part.table for part in (text, *text.details) if part.table is not None]
    toned = [(tone, " ".join(row)) for table in tables for tone, row in table.rows if tone]
    for tone, row in toned:
        assert Tone(tone).sign in row or "- " in row, row
    if name in ("risk leaking", "sweep refuted"):
        assert Tone.VIOLATION in {tone for tone, _ in toned}


TECHNICAL = ("portfolio", "joint-exact", "score >=", "score <", "holm", "nuisance", "fingerprint")
"""Names of methods that no first screen shows; details do, and the glossary has them."""
DEFINED = "area under the roc curve ("
"""What stands before the first AUC."""


def first_screens(result: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What each form shows without its details."""
    text: ResultText = result.text()
    page_file, summary = write(text, folder, Drawn(), title="A title", command="dpassay run x")
    above, _, _ = of_page(page_file.read_text(encoding="utf-8")).partition("</section>")
    shown = {
        "terminal": on_a_terminal(text, monkeypatch),
        "plain": plain(text, details=False),
        "page": above,
        "summary": html.unescape(summary.read_text(encoding="utf-8")),
    }
    if isinstance(result, AuditResult | SweepResult | MembershipResult):
        made = card_of(audits_of(result), Origin("A title", "dpassay run x", {})).to_markdown()
        shown["card"] = made.partition("## Assumptions and choices")[0].partition("## What the run covers")[0]
    return {form: said.casefold() for form, said in shown.items()}


@pytest.mark.parametrize("name", MADE)
def test_first_screens_have_plain_words(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for form, said in first_screens(MADE[name](), tmp_path, monkeypatch).items():
        assert [word for word in TECHNICAL if word in said] == [], form
        before, *after = re.split(r"\bauc\b", said, maxsplit=1)
        assert not after or before.endswith(DEFINED), form


def test_details_name_the_methods() -> None:
    said = plain(MADE["usual"]().text())
    assert all(word in said for word in ("portfolio", "joint-exact", "score <", "nuisance"))


GLOSSARY = (Path(__file__).parents[3] / "docs/reference/glossary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["usual", "sweep 2 of 4", "dependent", "stress", "membership", "gain of groups"])
def test_what_details_print_is_in_the_glossary(name: str) -> None:
    """The names of facts, columns and choices, and the words that no first screen shows."""
    text: ResultText = MADE[name]().text()
    terms = {term for cell in re.findall(r"^\| ([^|]+?) \|", GLOSSARY, flags=re.MULTILINE) for term in cell.split(", ")}
    used = set()
    for part in (text, *text.parts):
        facts = [fact for section in part.details for fact in section.facts]
        tables = [table for table in (part.table, *(section.table for section in part.details)) if table is not None]
        used |= {fact for fact, _ in (*facts, *part.facts, *part.evidence)}
        used |= {said.partition(":")[0] for fact, said in facts if fact == "ledger"}
        used |= {column for table in tables for column in table.head}
        used |= {cells[0] for table in tables if table.head[0] == "choice" for _, cells in table.rows}
    of_the_user = {"case", "group", "guess", "in", "right"}
    assert used - of_the_user - terms == set()


def test_technical_words_are_in_the_glossary() -> None:
    assert [word for word in TECHNICAL if not word.startswith("score ") and word not in GLOSSARY.casefold()] == []


METRICS = ("membership", "texts", "risk", "certificate", "gain", "no gain")
AUDITS = [name for name in MADE if not name.startswith(METRICS)]
CARDS = [name for name in AUDITS if not name.startswith("stress")]


@pytest.mark.parametrize("name", [*CARDS, "membership"])
def test_a_card_says_what_the_report_says(name: str) -> None:
    result = audits_of(MADE[name]())
    text: ResultText = result.text()
    made = card_of(result, Origin("A title", "dpassay run x", {}))
    seen = same(html.unescape(made.to_markdown()))
    assert [sentence for sentence in (text.headline, *text.next_steps) if same(sentence) not in seen] == []
    on_page = same(of_page(page("card.html.j2", text=made.text(), title="Evidence card")))
    sentences = [sentence for sentence in made.text().sentences() if sentence]
    assert [sentence for sentence in sentences if same(sentence) not in on_page or same(sentence) not in seen] == []
    content = json.loads(made.to_json())
    assert (content["outcome"], content["tone"]) == (text.headline, text.tone.value)
    if isinstance(result, MembershipResult):
        return
    rows = [line for line in made.to_markdown().splitlines() if line.startswith("|")]
    for point in result.points:
        audit = point.result
        wanted = [number(audit.bound.epsilon), number(audit.ceiling), number(audit.detectable)]
        wanted.append(p_value_text(point.p_adjusted, 1.0 - audit.confidence))
        assert any(all(f"| {html.escape(cell)} |" in row for cell in wanted) for row in rows)
    table = text.table
    assert table is not None
    for tone, row in table.rows:
        verdict = row[-1].partition(" (")[0].rstrip("*† ")
        assert any(line.rstrip(" |").endswith(verdict) and Tone(tone).sign in line for line in rows)


@pytest.mark.parametrize("name", AUDITS)
def test_files_for_build_servers_say_what_the_report_says(name: str) -> None:
    result = MADE[name]()
    text: ResultText = _without_values(result).text()
    found = findings_of(result, PLACE)
    suites = same(" ".join([*_texts(junit(found))]))
    messages = [item["message"]["text"] for run in json.loads(sarif(found))["runs"] for item in run["results"]]
    parts = text.parts or (text,)
    attention = [part for part in parts if part.tone is not Tone.CONSISTENT]
    assert len(messages) == len(attention)
    for part in parts:
        assert all(same(said) in suites for said in (part.headline, part.answer, *part.next_steps))
    for part, message in zip(attention, messages, strict=True):
        seen = same(message)
        assert all(same(said) in seen for said in (part.headline, part.answer, *part.next_steps))
        assert all(same(fact) in seen for _, fact in part.evidence)
    shown = _texts(badge(result.text()))
    assert same(text.tone.label) in same(" ".join(shown))


def _without_values(result: AuditResult | SweepResult | StressResult) -> AuditResult | SweepResult | StressResult:
    """Return the result as build servers see it: without values of datasets and outputs."""
    if isinstance(result, StressResult):
        return result.without_values()
    if isinstance(result, AuditResult):
        return without_values(result)
    points = tuple(dataclasses.replace(point, result=without_values(point.result)) for point in result.points)
    return dataclasses.replace(result, points=points)


def _texts(xml: str) -> list[str]:
    """Return the texts and attributes of an XML file."""
    nodes = list(ElementTree.fromstring(xml).iter())
    return [text for node in nodes for text in (node.text or "", *node.attrib.values())]


@pytest.mark.parametrize("name", ["violation", "witness", "sweep 2 of 4"])
def test_values_of_people_stand_only_where_the_result_was_made(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = MADE[name]()
    text: ResultText = result.text()
    values = [
        value for value in PRIVATE if any(value in fact for part in (text, *text.parts) for _, fact in part.examples)
    ]
    assert len(values) == (2 if name == "witness" else 4)
    audits, found = audits_of(result), findings_of(result, PLACE)
    made = card_of(audits, Origin("A title", "dpassay run x", {}))
    page_file, summary = write(text, tmp_path, Drawn(), title="A title", command="dpassay run x")
    passed_on = {
        "summary": summary.read_text(encoding="utf-8"),
        "card": made.to_markdown(),
        "card.html": of_page(page("card.html.j2", text=made.text(), title="Evidence card")),
        "card.json": made.to_json(),
        "JUnit": junit(found),
        "SARIF": sarif(found),
        "badge": badge(result.text()),
        "CSV": audits.to_frame().to_csv(),
    }
    assert {form: [value for value in PRIVATE if value in shown] for form, shown in passed_on.items()} == {
        form: [] for form in passed_on
    }
    assert all(value in page_file.read_text(encoding="utf-8") for value in values)
    single = text.parts[0] if text.parts else text
    assert all(value in on_a_terminal(single, monkeypatch) for value in values)
