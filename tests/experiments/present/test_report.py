"""Reports: one page that stands alone, and Markdown for a CI summary."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.experiments.made_results import (
    broken_sweep,
    coin_result,
    elsewhere_result,
    gaussian_result,
    laplace_result,
    laplace_sweep,
    sweep_of,
)

from dpassay.audit import BitScores, audit_scores
from dpassay.audit.bounds.base import LedgerEntry
from dpassay.audit.bounds.pair.simultaneous import band
from dpassay.audit.evidence.game import Trials
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.results.audit_result import AuditResult
from dpassay.audit.results.plain import plain_table
from dpassay.audit.results.result_text import TextTable, Tone
from dpassay.experiments.ci.checked import _checked_claim
from dpassay.experiments.config.source import CONFIGS
from dpassay.experiments.config.sweep import folder_name
from dpassay.experiments.present.builds.badge import badge_text
from dpassay.experiments.present.pages import Drawn, write
from dpassay.experiments.present.plots import draw_all
from dpassay.experiments.present.plots.bound_claim import BoundClaim
from dpassay.experiments.present.plots.ladder import LadderPlot
from dpassay.experiments.present.plots.tradeoff import MARKED
from dpassay.experiments.present.results.sweep import SweepResult
from dpassay.experiments.present.results.sweep_text import checks, describe, share_text, verdict_headline
from dpassay.experiments.runs.writing import REPEAT_COMMAND
from dpassay.mechanisms.accounting import GaussianDP
from dpassay.mechanisms.core import number

EVIL = "<script>alert('1')</script> & \"quoted\" | *starred* `code` $x_"
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Config:
    """Stands for a configuration: all that a report wants of it is its text."""

    def __init__(self, text: str = 'title = "Laplace"\n\n[mechanism]\nname = "laplace"\n') -> None:
        self.text = text

    def to_toml(self) -> str:
        return self.text


class Page(HTMLParser):
    """What a browser would find, with complaints about what does not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def written(sweep: SweepResult, directory: Path, files: list[Path], config: str = "") -> list[Path]:
    """Write the page and the Markdown, as a run does."""
    about = {"title": sweep.title, "description": sweep.description, "command": REPEAT_COMMAND, "config": config}
    drawn = Drawn.of_sweep(files, len(sweep.points))
    return write(describe(sweep), directory, drawn, **about, origin=[("seed", str(sweep.seed))], checks=checks(sweep))


def column(table: TextTable | None, name: str) -> list[str]:
    """Return the cells of a column."""
    assert table is not None
    return [row[table.head.index(name)] for _, row in table.rows]


def report(sweep: SweepResult, directory: Path, config: Any = None, *, figures: bool = True) -> tuple[str, str]:
    """The page and the Markdown."""
    drawn = draw_all(sweep, directory / "figures") if figures else []
    text = (config or Config()).to_toml()
    html, markdown = written(sweep, directory, drawn, text)
    return html.read_text(encoding="utf-8"), markdown.read_text(encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def _without_pixels() -> Iterator[None]:
    """A page holds figures as SVG."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpassay.experiments.present.plots.style._png", lambda figure: b"")
        yield


@pytest.fixture(scope="module")
def violation(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return report(broken_sweep(), tmp_path_factory.mktemp("broken"))


@pytest.fixture(scope="module")
def leaning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report on two audits, one of which leans on a family."""
    folder = tmp_path_factory.mktemp("leaning")
    report(sweep_of([{"k": 1}, {"k": 2}], [_leaning(), laplace_result()]), folder)
    return folder


# the page


def test_the_page_needs_no_other_file(violation: tuple[str, str]) -> None:
    page = Page(violation[0])
    assert page.all("script") == [{}]
    assert not page.all("link")
    assert not page.all("img")
    links = [
        value
        for _, attributes in page.found
        for key, value in attributes.items()
        if key in ("src", "href", "xlink:href")
    ]
    assert all(link is not None and link.startswith("#") for link in links)
    assert "@import" not in violation[0]
    assert not re.search(r"url\((?!#)", violation[0])


def test_the_only_script_of_a_page_is_that_of_its_security_policy(violation: tuple[str, str]) -> None:
    """Text of a stranger that would become a script has another hash, and is not run."""
    (script,) = re.findall(r"<script>(.*?)</script>", violation[0], re.DOTALL)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', violation[0])
    assert policy is not None
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = dict(part.split(" ", 1) for part in policy[1].split("; "))
    assert allowed["default-src"] == "'none'"
    assert allowed["script-src"] == f"'sha256-{digest}'"
    assert not re.search(r"fetch|XMLHttpRequest|import\b|innerHTML|eval|https?:", script)


def test_points_of_a_figure_name_threshold_counts_and_bound(tmp_path: Path) -> None:
    result = laplace_result(1.0)
    html, _ = report(sweep_of([{}], [result]), tmp_path)
    tips = {}
    for svg in Page(html).all("svg"):
        if svg.get("data-marks"):
            width, height = map(float, str(svg["viewbox"]).split()[2:])
            marks = json.loads(str(svg["data-marks"]))
            assert all(0 <= x <= width and 0 <= y <= height for x, y, _ in marks)
            tips[str(svg["aria-label"])] = [text for _, _, text in marks]
    assert len(tips) == 2  # the trade-off curve and the scores
    curve = next(texts for texts in tips.values() if "event of the bound" in " ".join(texts))
    assert 20 <= len(curve) <= MARKED + 1
    false, true = result.bound.hits or (0, 0)
    (chosen,) = [text for text in curve if "event of the bound" in text]
    assert f"{true:,} of 20,000 runs" in chosen
    assert f"{false:,} of 20,000" in chosen
    assert chosen.endswith(f"epsilon ≥ {number(result.bound.epsilon, 4)}")
    of_band = band(result.tally, confidence=result.confidence).epsilon_lower(result.delta)
    shown = [float(re.search(r"epsilon ≥ ([\d.e-]+) \(band", text)[1]) for text in curve]  # type: ignore[index]
    assert 0.5 * of_band < max(shown) <= of_band + 5e-3


def test_the_page_is_well_formed_with_one_title_and_no_id_twice(violation: tuple[str, str]) -> None:
    page = Page(violation[0])
    ids = [attributes["id"] for _, attributes in page.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert len(page.all("h1")) == 1
    assert page.all("html")[0]["lang"] == "en"
    levels = [int(tag[1]) for tag, _ in page.found if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_markers_inside_the_figures_are_defined_in_the_page(violation: tuple[str, str]) -> None:
    defined = {a["id"] for _, a in Page(violation[0]).found if "id" in a}
    used = set(re.findall(r'xlink:href="#([^"]*)"|url\(#([^)]*)\)', violation[0]))
    assert used
    assert {a or b for a, b in used} <= defined


def test_every_figure_has_a_name_and_each_caption_stands_once(violation: tuple[str, str]) -> None:
    page = Page(violation[0])
    svgs = page.all("svg")
    assert len(svgs) == 11  # the overview also for narrow screens
    assert all(svg["role"] == "img" and svg["aria-label"] for svg in svgs)
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", violation[0], re.DOTALL)
    assert len(captions) >= 4
    assert len(captions) == len(set(captions))


def test_the_page_has_a_light_a_dark_and_a_printed_form(violation: tuple[str, str]) -> None:
    html = violation[0]
    assert "@media print" in html
    assert html.count("@media screen and (prefers-color-scheme:dark)") == 2
    assert "<style>" not in html[html.index("</style>") :]


def test_the_page_tells_question_answer_meaning_and_how_to_repeat(violation: tuple[str, str]) -> None:
    text = " ".join(Page(violation[0]).text.split())
    for wanted in (
        "Laplace, sensitivity forgotten",
        "Violation (2 of 3 claims)",
        "2 of 3 claims are refuted",
        "a lower confidence bound on the true epsilon",
        "chosen on pilot trials only",
        "Holm over 3",
        "trials are independent",
        "dpassay run config.toml",
        'name = "laplace"',
        "numpy",
    ):
        assert wanted in text


def test_the_same_result_gives_the_same_bytes(tmp_path: Path) -> None:
    sweep = sweep_of([{}], [coin_result()])
    drawn = draw_all(sweep, tmp_path / "figures")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    one, two = (written(sweep, tmp_path / name, drawn, Config().text) for name in ("a", "b"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_text_of_users_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    result = dataclasses.replace(
        laplace_result(),
        mechanism=EVIL,
        claim_name=EVIL,
        attack=EVIL,
        events={EVIL: (0, 3)},
        ledger=(LedgerEntry(EVIL, EVIL, EVIL),),
    )
    sweep = sweep_of([{"m.name": EVIL}, {"m.name": "b"}], [result, result], title=EVIL, description=EVIL, name=EVIL)
    html, markdown = report(sweep, tmp_path, Config(f"title = {json.dumps(EVIL)}"))
    page = Page(html)
    assert page.all("script") == [{}]  # its own
    assert page.text.count("<script>alert('1')</script>") >= 8
    outside = re.sub(r"```.*?```", "", markdown, flags=re.DOTALL)
    assert "<script>" not in outside
    rows = [line for line in outside.splitlines() if line.startswith("|")]
    columns = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert len(columns) == 1


def test_a_report_without_figures_is_still_a_report(tmp_path: Path) -> None:
    html, _ = report(sweep_of([{}], [coin_result()]), tmp_path, figures=False)
    assert not Page(html).all("svg")
    assert "These trials do not contradict the claim" in html


def test_a_long_sweep_lists_every_audit_and_pictures_some(tmp_path: Path) -> None:
    sweep = sweep_of([{"seed": i} for i in range(100)], [laplace_result(n=200)] * 100)
    html, markdown = report(sweep, tmp_path)
    assert html.count('<th scope="row"') >= 100
    assert "shows 6 of 100 audits" in " ".join(html.split())
    assert len(html) < 600_000
    assert "80 more rows" in markdown
    assert sum(line.startswith("| ") for line in markdown.splitlines()) == 20 + 2


def test_versions_come_from_the_run_where_it_noted_them(tmp_path: Path) -> None:
    (tmp_path / "environment.json").write_text(json.dumps({"versions": {"numpy": "0.0.7"}, "commit": "abc"}))
    html, _ = report(sweep_of([{}], [coin_result()]), tmp_path, figures=False)
    assert "numpy 0.0.7, commit abc" in html


def test_a_damaged_environment_does_not_stop_a_report(tmp_path: Path) -> None:
    (tmp_path / "environment.json").write_text('{"versions": [1')
    assert "numpy" in report(sweep_of([{}], [coin_result()]), tmp_path, figures=False)[0]


def test_a_warning_is_shown_once_with_how_many_audits_it_belongs_to(tmp_path: Path) -> None:
    warned = dataclasses.replace(coin_result(), warnings=("the trials lean on the weather.",))
    sweep = sweep_of([{"case": {"name": "one"}}, {"case": {"name": "two"}}], [warned, coin_result()])
    assert describe(sweep).warnings == ("(1 of 2 audits) the trials lean on the weather.",)
    for text in report(sweep, tmp_path, figures=False):
        assert text.replace("\\", "").count("(1 of 2 audits) the trials lean on the weather.") == 1
    assert describe(sweep_of([{}], [warned])).warnings == ("the trials lean on the weather.",)


def test_refutation_at_another_delta_is_shown_with_its_delta(tmp_path: Path) -> None:
    place = "at epsilon = 0.3 the claim promises delta <= 0.1, but these trials show delta >= 0.2"
    sweep = sweep_of(
        [{"case": {"name": "elsewhere"}}, {"case": {"name": "sound"}}], [elsewhere_result(), coin_result()]
    )
    shown = describe(sweep)
    assert column(shown.table, "verdict") == ["✖ violation †", "✓ consistent"]
    assert shown.notes == (f"† elsewhere: refuted at another delta than 0; {place}.",)
    assert [part.title for part in shown.parts] == ["elsewhere", "sound"]
    assert shown.parts[0].headline == "Violation: the claim is refuted at another delta than 0"
    assert f"The largest excess is at elsewhere: {place}." in shown.answer
    assert describe(sweep_of([{}], [elsewhere_result()])).answer.startswith("A" + place[1:])
    html, markdown = report(sweep, tmp_path, figures=False)
    assert " ".join(Page(html).text.split()).count(place.replace("<=", "≤").replace(">=", "≥")) == 3
    assert f"† elsewhere: refuted at another delta than 0; {place.replace('<=', '≤').replace('>=', '≥')}" in markdown
    row = sweep.to_frame().iloc[0]
    assert (row["refuted_epsilon"], row["refuted_delta"], row["refuted_delta_lower"]) == (0.3, 0.1, 0.2)


def test_the_answer_stands_before_the_question_in_full(violation: tuple[str, str]) -> None:
    html = violation[0]
    assert html.index("<h1>") < html.index('class="answer') < html.index('class="lead"') < html.index('id="result"')


# Markdown


def test_the_summary_of_a_violation_has_its_evidence(violation: tuple[str, str]) -> None:
    lines, parts = violation[1].splitlines(), describe(broken_sweep()).parts
    assert lines[0] == "## ✖ Violation (2 of 3 claims): Laplace, sensitivity forgotten"
    for part in parts:
        shown = sum(f"- {name}: " in violation[1] for name, _ in part.evidence)
        assert shown == (len(part.evidence) if part.tone is Tone.VIOLATION else shown)
    assert violation[1].count("- on side 1: ") == 2
    assert violation[1].index("| 2 |") < violation[1].index("| 4 |")


def test_the_summary_of_a_consistent_experiment_is_short(tmp_path: Path) -> None:
    _, markdown = report(laplace_sweep((0.5, 1.0)), tmp_path, figures=False)
    assert markdown.startswith("## ✓ Consistent (2 of 2 claims)")
    assert "on side 1" not in markdown
    assert len(markdown.splitlines()) <= 22


# sentences


@pytest.mark.usefixtures("without_power")
def test_a_bound_that_exceeds_the_claim_on_a_condition_states_it_with_the_verdict(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    bits = rng.random(1_000) < 0.5
    scores = BitScores(bits, np.clip(rng.normal(size=1_000) + 2.0 * bits, -0.9, 2.9))
    result = audit_scores(scores, claim=GaussianDP(1.66603), delta=1e-5, bound="one-run-independent")
    sweep = sweep_of([{}], [result])
    assert (result.verdict, sweep.verdict, result.bound.epsilon > result.claim) == (*[Verdict.CONSISTENT] * 2, True)
    said = (
        "These trials contradict the claim only if no randomness that all canaries share decides how much the run leaks"
    )
    assert said in describe(sweep).answer
    html, markdown = report(sweep, tmp_path, figures=False)
    assert all(said in text for text in (unescape(html), markdown))
    figure = BoundClaim.from_sweep(sweep)
    assert figure.conditional
    assert "rests on an assumption that no test can check" in figure.title
    assert badge_text(describe(sweep)) == "Consistent"
    assert _checked_claim("one", result).bound == result.refuting_bound.epsilon <= result.claim


def test_the_answer_names_the_gravest_violation() -> None:
    text = describe(broken_sweep())
    assert text.headline == "Violation (2 of 3 claims)"
    assert "2 of 3 claims are refuted" in text.answer
    assert "at epsilon = 2" in text.answer
    single = describe(sweep_of([{}], [laplace_result(1.5, claim=1.0)]))
    assert single.headline.startswith("Violation: epsilon >= 1.4")
    assert single.tone is Tone.VIOLATION


def test_the_answer_to_consistent_comes_with_power() -> None:
    assert "9 of 10 such audits detect a true epsilon of" in describe(sweep_of([{}], [coin_result()])).answer
    assert "detect a true epsilon of 1.05 times the claim" in describe(laplace_sweep((0.5, 1.0))).answer
    blind = dataclasses.replace(coin_result(), detectable=math.inf)
    assert "no excess over the claim can be detected" in describe(sweep_of([{}], [blind])).answer


def test_one_weak_claim_makes_an_experiment_weak(tmp_path: Path) -> None:
    weak = dataclasses.replace(laplace_result(), detectable=3.0)
    sweep = sweep_of([{"k": 1}, {"k": 2}], [weak, laplace_result()])
    text = describe(sweep)
    assert sweep.verdict is Verdict.CONSISTENT
    assert text.tone is Tone.WEAK
    assert text.headline == "Consistent, weak (1 of 2 claims): detects only epsilon above 3 times the claim"
    assert column(text.table, "verdict") == ["~ consistent, weak", "✓ consistent"]
    html, markdown = report(sweep, tmp_path, figures=False)
    assert 'class="answer weak"' in html
    assert '<tr class="weak">' in html
    assert markdown.startswith("## ~ Consistent, weak (1 of 2 claims)")
    assert sweep.to_frame()["weak"].tolist() == [True, False]


def test_the_answer_to_underpowered_says_what_the_trials_could_have_shown() -> None:
    result = laplace_result(9.0, n=100)
    assert result.verdict is Verdict.UNDERPOWERED
    assert "the largest bound is 3.3" in describe(sweep_of([{}], [result])).answer
    several = describe(_partly_underpowered(1)).answer
    assert "their bound is at most 3.3" in several
    assert "but 9 is claimed" in several


def _advice(**changes: Any) -> str:
    text = dataclasses.replace(laplace_result(), **changes).text()
    return " ".join((text.answer, *text.next_steps))


def _bound(epsilon: float) -> dict[str, Any]:
    return {"bounds": (dataclasses.replace(laplace_result().bound, epsilon=epsilon),)}


def test_the_gap_under_the_claim_is_explained_where_it_can_be() -> None:
    assert "tight" in _advice(**_bound(0.95)).lower()
    assert "0.6" in _advice(**_bound(0.5), exact_epsilon=0.6)
    assert "no attack is stronger" in _advice(**_bound(0.5), detectable=1.1, exact_epsilon=1.0)
    assert "a stronger attack or more trials" in _advice(**_bound(0.5), detectable=1.1, attack="classifier")
    assert "cannot distinguish the reasons" in _advice(**_bound(0.5), detectable=1.1, exact_epsilon=None)
    assert "try another attack" in _advice(**_bound(0.5), detectable=1.1, exact_epsilon=None)


def test_an_uninformative_attack_is_distinguished_from_too_few_trials() -> None:
    result = dataclasses.replace(laplace_result(), unseen=0.97, verdict=Verdict.UNDERPOWERED, **_bound(0.0))
    result.check()
    text = describe(sweep_of([{}], [result]))
    assert text.headline.startswith("Underpowered: the attack could not learn from the pilot: 97 % of the evaluation")
    assert "rounded numbers" in text.next_steps[0]


def test_an_audit_that_chance_explains_among_many_says_so() -> None:
    alone = dataclasses.replace(laplace_result(), p_value=0.03, verdict=Verdict.VIOLATION, **_bound(1.01))
    sweep = sweep_of([{"k": i} for i in range(5)], [alone] + [laplace_result(n=500)] * 4)
    assert sweep.points[0].verdict is Verdict.CONSISTENT
    text = describe(sweep)
    assert "not significant after the correction" in text.parts[0].answer
    assert text.parts[0].tone is Tone.CONSISTENT
    assert column(text.table, "verdict")[0] == "✓ consistent*"
    assert "* refuted individually, but not after the correction over 5 audits." in text.notes


def test_a_p_value_below_the_level_is_never_printed_as_the_level() -> None:
    slight = dataclasses.replace(laplace_result(), p_value=0.02475, verdict=Verdict.VIOLATION, **_bound(1.0004))
    sweep = sweep_of([{"k": 1}, {"k": 2}], [slight, laplace_result(n=500)])
    assert sweep.points[0].verdict is Verdict.VIOLATION
    assert column(describe(sweep).table, "corrected p")[0] == "0.0495"
    single = dataclasses.replace(slight, p_value=0.049996)
    assert "0.049996 against the claim" in single.summary()
    assert "epsilon is at least 1.0004, but at most 1 is claimed" in describe(sweep).answer


def test_only_a_violation_that_chance_often_gives_states_how_often() -> None:
    slight = dataclasses.replace(laplace_result(), p_value=0.02, verdict=Verdict.VIOLATION, **_bound(1.01))
    several = describe(sweep_of([{"k": 1}, {"k": 2}], [slight, laplace_result(n=500)])).answer
    assert "up to 1 in 20 experiments with right mechanisms only gives such a result" in several
    single = describe(sweep_of([{}], [slight])).answer
    assert "up to 1 in 20 audits of right mechanisms gives such a result" in single
    assert "gives such a result" not in describe(broken_sweep()).answer


def test_what_was_shown_of_a_claim_is_rounded_down() -> None:
    assert share_text(dataclasses.replace(laplace_result(), **_bound(0.99999))) == "99 %"
    assert share_text(dataclasses.replace(laplace_result(), **_bound(1.0))) == "100 %"
    assert share_text(dataclasses.replace(laplace_result(), claim=0.0)) == "-"


# tables


def test_the_table_leaves_out_what_is_unknown_or_the_same_everywhere() -> None:
    unknown = dataclasses.replace(laplace_result(), exact_epsilon=None)
    head = describe(sweep_of([{}], [unknown])).table.head  # type: ignore[union-attr]
    assert not {"exact", "corrected p"} & set(head)
    text = describe(sweep_of([{"k": 1}, {"k": 2}], [unknown, gaussian_result()]))
    assert text.table is not None
    assert {"k", "delta", "exact", "corrected p"} <= set(text.table.head)
    assert column(text.table, "exact")[0] == "-"
    assert ("attack", "likelihood-ratio") in text.details[-1].facts
    assert "mechanism" not in dict(text.facts)


def test_published_numbers_and_times_stand_beside_the_audits() -> None:
    cases = [{"name": "a", "published": {"StatDP": 0.1}}, {"name": "b", "published": {"DP-Sniper": 0.25}}]
    sweep = sweep_of([{"case": case} for case in cases], [laplace_result(), gaussian_result()])
    bare = describe(sweep).table
    assert bare is not None
    assert "time" not in bare.head
    assert column(bare, "StatDP") == ["0.1", "-"]
    assert column(bare, "DP-Sniper") == ["-", "0.25"]
    assert column(describe(sweep, {folder_name({"case": cases[0]}): 12.34}).table, "time") == ["12 s", "-"]
    table = sweep.to_frame()
    assert table["published_StatDP"].tolist()[0] == 0.1
    assert table["published_StatDP"].isna().tolist() == [False, True]
    unpublished = sweep_of([{"k": 1}, {"k": 2}], [laplace_result(), gaussian_result()])
    assert "time" not in describe(unpublished, {folder_name({"k": 1}): 3.0}).table.head  # type: ignore[union-attr]


KEPT = {"verdict": "consistent"}


def expecting(*verdicts: str | None, of_all: str | None = None) -> SweepResult:
    """A refuted claim, and one that is kept, with the verdicts that their cases expect, or all audits."""
    cases = [{"name": f"case {i}"} | ({"expected": {"verdict": v}} if v else {}) for i, v in enumerate(verdicts)]
    results = [laplace_result(1.5, claim=0.5), laplace_result()]
    return sweep_of([{"case": case} for case in cases], results, expected={"verdict": of_all} if of_all else {})


def test_a_violation_that_is_expected_is_still_one() -> None:
    text = describe(expecting("violation", "consistent"))
    assert (text.headline, text.tone) == ("Violation (1 of 2 claims); this experiment expects it", Tone.VIOLATION)
    assert text.next_steps == ()
    assert column(text.table, "verdict") == ["✖ violation", "✓ consistent"]
    assert verdict_headline(expecting("violation", "consistent")) == "Violation (1 of 2 claims)"
    assert describe(expecting("violation", None, of_all="consistent")) == text


def test_expected_verdicts_without_a_violation_leave_the_answer_as_it_is() -> None:
    parameters, results = [{"k": 1}, {"k": 2}], [laplace_result(), laplace_result(0.5)]
    stated, plain = (describe(sweep_of(parameters, results, **more)) for more in ({"expected": KEPT}, {}))
    assert stated.headline == f"{plain.headline}; this experiment expects it"
    assert (stated.answer, stated.tone) == (plain.answer, plain.tone)
    single = sweep_of([{}], [laplace_result(1.5, claim=0.5)], expected=KEPT)
    assert describe(single).answer.startswith("Not as expected: the verdict is violation, expected consistent. The ")
    assert describe(single).headline.endswith("; not the expected verdict")
    assert SweepResult.from_json(single.to_json()).expected == KEPT


def test_verdicts_that_are_not_expected_are_named() -> None:
    text = describe(expecting("violation", "violation"))
    assert text.headline == "Violation (1 of 2 claims); 1 of 2 verdicts not as expected"
    assert text.answer.startswith("Not as expected: case 1 is consistent, expected violation. 1 of 2 claims is")
    assert column(text.table, "verdict")[1] == "✓ consistent (expected: violation)"


def test_a_sweep_that_expects_nothing_or_not_everything_has_its_verdict() -> None:
    for verdicts in ((None, None), ("violation", None)):
        assert describe(expecting(*verdicts)).headline == "Violation (1 of 2 claims)"
    assert describe(expecting("consistent", None)).headline.endswith("; 1 of 2 verdicts not as expected")


def test_a_p_value_below_the_smallest_that_is_computed_says_so(tmp_path: Path) -> None:
    sweep = sweep_of([{}], [dataclasses.replace(laplace_result(1.5, claim=1.0), p_value=1e-12)])
    assert column(describe(sweep).table, "p-value") == ["<= 1e-10"]
    assert all("≤ 1e-10" in text for text in report(sweep, tmp_path, figures=False))


def _ledger(sweep: SweepResult) -> list[tuple[str, ...]]:
    table = describe(sweep).details[1].table
    assert table is not None
    return [cells for _, cells in table.rows]


def test_the_ledger_says_each_look_once_and_where_it_was_taken() -> None:
    first, second = (
        laplace_result(),
        dataclasses.replace(laplace_result(), ledger=(LedgerEntry("threshold", "9", "x"),)),
    )
    rows = _ledger(sweep_of([{"k": i} for i in range(3)], [first, first, second]))
    assert rows[0][0] == "sweep"
    assert ("pair", "1, fixed beforehand", "no correction needed", "k = 0; k = 1") in rows
    assert ("threshold", "9", "x", "k = 2") in rows
    assert len(rows) == len(set(rows)) == 5


def test_ledger_entries_that_differ_only_in_numbers_share_a_row() -> None:
    ledgers = [
        (LedgerEntry("family", "GaussianDP for some mu", f"fixed by the claim; mu >= {mu}"), LedgerEntry("k", *own))
        for mu, own in ((0.25, ("1,000 x", "y")), (1.75, ("20 x", "y")), (0, ("3 z", "y")))
    ]
    results = [dataclasses.replace(laplace_result(), ledger=ledger) for ledger in ledgers]
    assert _ledger(sweep_of([{"k": i} for i in range(3)], results))[1:] == [
        ("family", "GaussianDP for some mu", "fixed by the claim; mu >= 0 to 1.75", "every audit"),
        ("k", "20 to 1,000 x", "y", "k = 0; k = 1"),
        ("k", "3 z", "y", "k = 2"),
    ]


def test_two_swept_keys_with_the_same_last_word_keep_a_column_each() -> None:
    sweep = sweep_of([{"mechanism.epsilon": 1, "claim.epsilon": c} for c in (1, 2)], [laplace_result()] * 2)
    assert describe(sweep).table.head[:2] == (  # type: ignore[union-attr]
        "epsilon of the mechanism",
        "epsilon of the claim",
    )


def test_assumptions_of_every_bound_are_stated_once() -> None:
    leaning = dataclasses.replace(
        laplace_result().bound, method="gaussian", assumptions=("a Gaussian trade-off curve",)
    )
    result = dataclasses.replace(laplace_result(), bounds=(laplace_result().bound, leaning))
    text = describe(sweep_of([{"k": 1}, {"k": 2}], [result, result]))
    assert text.details[0].paragraphs.count("gaussian: a Gaussian trade-off curve") == 1
    (bounds,) = (section.table for section in text.parts[0].details if section.title == "All bounds")
    assert bounds is not None
    assert len(bounds.rows) == 2


def test_a_real_audit_goes_all_the_way(tmp_path: Path, without_power: None) -> None:
    from dpassay.audit import audit
    from dpassay.mechanisms import Laplace

    results = [
        audit(Laplace(epsilon=e), trials=4000, seed=1, bound=["clopper-pearson", "simultaneous-band"])
        for e in (0.5, 8.0)
    ]
    html, markdown = report(sweep_of([{"mechanism.epsilon": e} for e in (0.5, 8.0)], results), tmp_path)
    assert Page(html).all("svg")
    assert "simultaneous-band" in html
    assert markdown


# what the headline says, and what fits on a telephone


def _partly_underpowered(n_underpowered: int, n: int = 4) -> SweepResult:
    underpowered = laplace_result(9.0, n=100)
    results = [underpowered] * n_underpowered + [laplace_result()] * (n - n_underpowered)
    return sweep_of([{"case": {"name": f"rung {i}"}} for i in range(n)], results)


def test_a_ladder_with_one_rung_too_short_tells_what_was_tested(tmp_path: Path) -> None:
    sweep = _partly_underpowered(1)
    text = describe(sweep)
    assert (text.headline, text.tone) == ("Underpowered (1 of 4 claims)", Tone.UNDERPOWERED)
    assert text.answer.startswith("3 of 4 claims were tested, and these trials contradict none of them. The lower")
    assert "“rung 0” could not be tested: their bound is" in text.answer
    html, markdown = report(sweep, tmp_path, figures=False)
    assert "<title>Underpowered (1 of 4 claims): " in html
    assert markdown.startswith("## ? Underpowered (1 of 4 claims): ")
    assert "3 could not, such as “rung 0”" in describe(_partly_underpowered(3)).answer
    assert describe(_partly_underpowered(4)).answer.startswith("No outcome of these trials could have contradicted any")


def _leaning(claim: float = 2.0) -> AuditResult:
    base = laplace_result(claim)
    family = dataclasses.replace(base.bound, epsilon=0.9 * claim, assumptions=("a family",), method="accountant-family")
    return dataclasses.replace(base, bounds=(family, dataclasses.replace(base.bound, epsilon=0.4 * claim)))


def test_a_table_names_the_bound_with_a_family_and_the_one_without() -> None:
    text = describe(sweep_of([{"k": 1}, {"k": 2}], [_leaning(), laplace_result()]))
    assert column(text.table, "epsilon >=, if in the family") == ["1.8", "-"]
    assert column(text.table, "epsilon >=")[0] == "0.8"
    assert any("holds for every trade-off curve" in note for note in text.notes)
    assert "epsilon >=, if in the family" not in plain_table(
        describe(laplace_sweep((0.5, 1.0))).table  # type: ignore[arg-type]
    )
    assert "if the true trade-off curves are in the family that they assume, and 40 to" in text.answer


def test_no_column_is_for_bounds_that_no_audit_has() -> None:
    alone = dataclasses.replace(_leaning(), bounds=_leaning().bounds[:1])
    head = describe(sweep_of([{"k": 1}, {"k": 2}], [alone, alone])).table.head  # type: ignore[union-attr]
    assert [name for name in head if name.startswith("epsilon")] == ["epsilon >=, if in the family"]
    ax = LadderPlot.from_results({"a": alone, "b": alone}).plot()
    shown = [text.get_text() for text in [*ax.get_legend().get_texts(), *ax.texts]]
    assert [text for text in shown if "assumed" in text] == []


def test_narrow_screens_get_cards_that_name_every_cell(leaning: Path) -> None:
    html = (leaning / "report.html").read_text(encoding="utf-8")
    narrow = re.search(r"@media screen and \(max-width:640px\)\{(.*?)\n\}", html, re.DOTALL)
    assert narrow is not None
    assert "thead{display:none}" in narrow[1]
    assert "content:attr(data-label)" in narrow[1]
    assert ".drawing{overflow-x:auto}.drawing .dpassay-figure{min-width:calc(var(--width,0)*1.2px)}" in narrow[1]
    page = Page(html)
    cells = [*page.all("td"), *(cell for cell in page.all("th") if cell.get("scope") == "row")]
    assert cells
    assert all(cell["data-label"] for cell in cells)
    assert {"claim", "verdict", "epsilon ≥, if in the family"} <= {cell["data-label"] for cell in cells}


FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
FLAGS += ("--disable-background-networking", "--disable-component-update", "--disable-sync")
"""Options of a browser that shows a file, and nothing else."""


def browsed(probe: str, folder: Path) -> str:
    """Return what the script of a page beside report.html writes, between "found" and "end"."""
    (folder / "probe.html").write_text(probe)
    flags = [*FLAGS, "--dump-dom"]
    flags += ["--allow-file-access-from-files", "--virtual-time-budget=2000", f"--user-data-dir={folder / 'profile'}"]
    address = (folder / "probe.html").as_uri()
    done = subprocess.run(["chromium", *flags, address], capture_output=True, text=True, timeout=300, check=False)
    found = re.search(r"<p id=\"o\">found (.*?) end</p>", done.stdout)
    assert found is not None, done.stderr[-2000:]
    return found[1]


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no browser here; the test of the style sheet holds")
def test_only_figures_scroll_sideways_at_390_pixels(leaning: Path, tmp_path: Path) -> None:
    """Laid out by a browser: neither the page nor a table is wider than the screen; type of 7 pixels or more."""
    (tmp_path / "report.html").write_bytes((leaning / "report.html").read_bytes())
    probe = (
        "<iframe src='report.html' style='width:390px;height:900px;border:0'></iframe><p id=o></p><script>"
        "onload=()=>{const d=document.querySelector('iframe').contentDocument;document.title=[d.documentElement,"
        "...d.querySelectorAll('.wide')].map(e=>e.scrollWidth-e.clientWidth).join(' ')+' / '+"
        "[...d.querySelectorAll('.dpassay-figure')].filter(e=>e.clientWidth)"
        ".map(e=>e.clientWidth/e.viewBox.baseVal.width).join(' ');"
        "const t=[...d.querySelectorAll('.overview .narrow')].filter(e=>e.scrollWidth>e.clientWidth).length;"
        "document.getElementById('o').textContent='found '+document.title+' clipped: '+t+' end'}</script>"
    )
    found = browsed(probe, tmp_path)
    results = re.fullmatch(r"([-\d ]+) / ([\d. ]+) clipped: 0", found)
    assert results is not None, found
    over = [int(number) for number in results[1].split()]
    assert len(over) >= 2
    assert max(over) <= 0
    scales = [float(number) for number in results[2].split()]
    assert len(scales) >= 3
    assert 8 * min(scales) > 7  # the smallest type is 8 units


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no browser here")
def test_a_browser_shows_tips_and_sorts_tables(tmp_path: Path) -> None:
    """Each figure with marks shows one under the pointer; numbers are sorted as numbers, missing ones last."""
    claims = (10.0, 0.01175, 2.0)
    results = [dataclasses.replace(laplace_result(), claim=claim, exact_epsilon=None) for claim in claims]
    many = {"trials": Trials(1_000_000, 1000, 999_000), "delta": 1e-5, "exact_epsilon": 9.31e-10, "p_value": 1e-12}
    results[1] = dataclasses.replace(results[1], **many)  # with these columns the table is as wide as that of a run
    cases = [{"name": f"the long name of case {i} / broken", "expected": {"verdict": "violation"}} for i in range(3)]
    report(sweep_of([{"case": case} for case in cases], results), tmp_path)
    probe = (
        "<iframe src='report.html' style='width:1200px;height:900px'></iframe><p id=o></p><script>onload=()=>{"
        "const w=document.querySelector('iframe').contentWindow,d=w.document,o=[];"
        "for(const s of d.querySelectorAll('svg[data-marks]')){const r=s.getBoundingClientRect();"
        "const [x,y]=JSON.parse(s.dataset.marks)[9],k=r.width/s.viewBox.baseVal.width;"
        "s.dispatchEvent(new w.PointerEvent('pointermove',{clientX:r.left+x*k,clientY:r.top+y*k}));"
        "o.push(s.parentElement.querySelector('.tip').textContent===JSON.parse(s.dataset.marks)[9][2])}"
        "const t=d.querySelector('table.audits'),h=[...t.tHead.rows[0].cells],"
        "i=h.findIndex(c=>c.textContent==='claim');"
        "for(let n=0;n<2;n++){h[i].click();o.push([...t.tBodies[0].rows].map(r=>r.cells[i].textContent).join(' '))}"
        "o.push(t.parentElement.scrollWidth-t.parentElement.clientWidth);"
        "document.getElementById('o').textContent='found '+o.join(', ')+' end'}</script>"
    )
    no_column_is_cut = "0"
    assert browsed(probe, tmp_path) == ", ".join(["true"] * 6 + ["0.01175 2 10", "10 2 0.01175", no_column_is_cut])


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no browser here")
def test_one_audit_is_printed_on_two_pages(tmp_path: Path) -> None:
    report(
        sweep_of([{}], [laplace_result(1.5, claim=1.0)]), tmp_path, Config((CONFIGS / "laplace-count.toml").read_text())
    )
    pdf = tmp_path / "report.pdf"
    subprocess.run(
        [
            "chromium",
            *FLAGS,
            f"--user-data-dir={tmp_path / 'profile'}",
            "--no-pdf-header-footer",
            f"--print-to-pdf={pdf}",
            (tmp_path / "report.html").as_uri(),
        ],
        capture_output=True,
        timeout=300,
        check=True,
    )
    assert len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes())) == 2


def test_words_between_backticks_are_code_and_are_escaped(tmp_path: Path) -> None:
    warned = dataclasses.replace(laplace_result(1.0), warnings=("plan it: `looks<2>`.",))
    html, _ = report(sweep_of([{"seed": 0}], [warned]), tmp_path, figures=False)
    assert "plan it: <code>looks&lt;2&gt;</code>." in html
    assert "`" not in re.sub(r"<(svg|style|pre|script)\b.*?</\1>", "", html, flags=re.DOTALL)


@pytest.fixture(scope="module")
def consistent(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of two consistent audits."""
    return report(laplace_sweep((0.5, 1.0)), tmp_path_factory.mktemp("consistent"))[0]


def test_the_sign_of_a_verdict_stays_with_it(consistent: str) -> None:
    assert consistent.count(">✓\u00a0consistent</td>") == 2


def test_no_line_of_a_page_can_begin_with_a_per_cent_sign(consistent: str) -> None:
    prose = re.sub(r"<(svg|style|pre)\b.*?</\1>", "", consistent, flags=re.DOTALL)
    assert re.findall(r"\d %", prose) == []
    assert "95\u00a0% confidence" in prose


def test_titles_of_all_figures_of_a_report_differ(tmp_path: Path) -> None:
    results = [laplace_result(1.0)] * 2
    html, _ = report(sweep_of([{"seed": i} for i in range(2)], results), tmp_path)
    labels = [svg["aria-label"] for svg in Page(html).all("svg")]
    assert len(labels) == len(set(labels)) == 8
