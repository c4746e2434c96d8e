import contextlib
import dataclasses
import inspect
import io
import re
import runpy
import shlex
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dpassay
from dpassay.attacks.base import Target
from dpassay.attacks.catalogue import catalogue as attacks
from dpassay.attacks.membership.catalogue import catalogue as membership
from dpassay.attacks.reconstruction.catalogue import catalogue as reconstruction
from dpassay.audit.bounds.bits.one_run_fdp import OneRunFDP
from dpassay.audit.bounds.catalogue import catalogue as bounds
from dpassay.audit.evidence.scores import BitScores
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.metrics.membership import MembershipResult
from dpassay.audit.metrics.table_risk import RiskResult, SplitTest
from dpassay.audit.results.audit_result import AuditResult
from dpassay.audit.results.result_text import ResultText, Tone
from dpassay.experiments.cli import app
from dpassay.experiments.config.command_table import task_of
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.sections import DataSection, MembershipSection
from dpassay.experiments.config.source import Source
from dpassay.experiments.config.tasks.build import load_data
from dpassay.experiments.config.tasks.planning import plan_tasks
from dpassay.experiments.demos import names as demos
from dpassay.experiments.present.terms import TERMS
from dpassay.experiments.runs.runner import run
from dpassay.mechanisms import accounting as guarantees
from dpassay.mechanisms.catalogue import catalogue as mechanisms
from dpassay.mechanisms.core import ConfigError, Relation
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.literature.synthetic_data.catalogue import generators
from dpassay.mechanisms.noise.laplace import Laplace

DOCS = Path(__file__).parents[2] / "docs"
DP_SGD = """
[data]
name = "digits"
n_records = 30
[audit]
delta = 1e-5
"""
OPTIONS = """
name = "dp-sgd"
model = "softmax-regression"
n_features = 64
n_classes = 10
steps = 5
noise_multiplier = 2.0
sampling = "full-batch"
batch_size = 30
"""


def page_named(name):
    """The page of a name, in the folder of its kind; names are unique over the folders, except for demos."""
    (page,) = (page for page in DOCS.glob(f"*/{name}.md") if page.parent.name != "demos")
    return page


@pytest.mark.parametrize("page", ["demos", "hazards", "learning"])
def test_what_a_page_takes_from_the_code_is_current(page):
    written = runpy.run_path(str(DOCS / "build.py"))[f"{page}_page"]()
    assert page_named(page).read_text() == written, "fix with: make docs"


def test_the_schemas_of_files_are_current():
    made = runpy.run_path(str(DOCS / "schemas.py"))
    written = {path.name: path.read_text() for path in made["FOLDER"].iterdir()}
    assert written == made["schemas"](), "fix with: make docs"


def test_the_list_of_demos_says_of_each_what_it_shows_how_long_it_takes_and_when_it_is_taught():
    rows = re.findall(r"^\| `[\w-]+` \| (.*) \|$", page_named("demos").read_text().split("<!-- list")[1], re.MULTILINE)
    assert len(rows) == len(demos())
    for row in rows:
        question, shows, seconds, hour = row.split(" | ")
        assert re.fullmatch(r"\[.*\?\]\(\.\./demos/[\w-]+\.md\)", question)
        assert len(shows) > 40
        assert re.fullmatch(r"\d+ s", seconds)
        assert 1 <= int(hour) <= 12


def test_tables_of_contents_are_current():
    build = runpy.run_path(str(DOCS / "build.py"))
    stale = [
        str(folder)
        for folder in build["folders"]()
        if (folder / "__init__.py").read_text() != build["contents"](folder)
    ]
    assert stale == [], "fix with: make docs"


def test_the_stable_names_are_those_of_the_package():
    listed = re.search(
        "<!-- stable -->(.*?)<!-- end -->", (DOCS / "reference" / "stability.md").read_text(), flags=re.DOTALL
    )[1]
    assert re.findall(r"`(\w+)`", listed) == dpassay.__all__


def test_the_citation_has_the_version_of_the_package():
    version = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (DOCS.parent / "CITATION.cff").read_text()


def test_the_config_in_the_docs_runs(tmp_path, without_power, without_pictures):
    page = page_named("config").read_text()
    blocks = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    example, cases, compared, verdicts, data, canary, secret, risk = blocks
    (tmp_path / "question.toml").write_text(example)
    done = run(tmp_path / "question.toml", settings={"audit.trials": 200}, out=tmp_path / "out")
    assert len(done.result.points) == 6
    X, y = load_data(DataSection(**tomllib.loads(data)["data"]))
    assert (len(X), set(y)) == (300, {0, 1})
    learned = DP_SGD + canary.replace("[mechanism]\n", "[mechanism]\n" + OPTIONS) + cases
    (tmp_path / "learned.toml").write_text(learned)
    config, source = Config.load(tmp_path / "learned.toml")
    assert [question.mechanism.view for question in plan_tasks(config, source)] == ["final", "noisy_gradients"]
    (tmp_path / "compared.toml").write_text('[mechanism]\nname = "laplace"\n[audit]\ntrials = 200\n' + compared)
    table = run(tmp_path / "compared.toml", out=tmp_path / "table").result.to_frame()
    assert table[["published_DP-Sniper", "published_StatDP"]].to_numpy().tolist() == [[0.098, 0.099]]
    of_all, stating = verdicts.split("\n", 1)
    made = f'{of_all}\n[mechanism]\nname = "laplace"\n[audit]\ntrials = 20_000\n{stating}'
    (tmp_path / "verdicts.toml").write_text(made)
    text = run(tmp_path / "verdicts.toml", out=tmp_path / "expected").result.text()
    assert text.headline.endswith("; this experiment expects it")
    (tmp_path / "secret.toml").write_text(secret)
    (point,) = run(tmp_path / "secret.toml", out=tmp_path / "guessed").result.points
    assert 0.97 < point.result.bound.epsilon < 1.0
    assert task_of("risk", Source("tables", "tables.toml", risk)).secret == ("illness",)


PAGES_OF_EXAMPLES = [
    "accountants",
    "assistants",
    "attacks-on-answers",
    "audits-audited",
    "below-the-truth",
    "census",
    "ci",
    "composition",
    "composition-theorems",
    "computer-lab",
    "disclosure",
    "evidence",
    "extraction",
    "federated",
    "first-audit",
    "forgetting",
    "generators",
    "hazards",
    "history",
    "independence",
    "inference",
    "language-models",
    "limits",
    "linkage",
    "local",
    "membership",
    "mst-aim",
    "multiplicative-weights",
    "noise",
    "one-run",
    "own-mechanisms",
    "pate",
    "plausible-deniability",
    "query-release",
    "reconstruction",
    "relations",
    "risk",
    "sample-complexity",
    "scores",
    "selection",
    "stress",
    "synthesis",
    "synthetic-data",
    "top-down",
    "tracing",
    "training-data",
    "tuning",
    "what-a-bound-is",
    "your-build",
    "your-function",
    "your-scores",
    "your-synthetic-table",
    "your-trainer",
]


def assert_blocks_print_what_they_say(page):
    for block in re.findall(r"```python\n(.*?)```", page_named(page).read_text(), flags=re.DOTALL):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(block, {})
        assert printed.getvalue().splitlines() == re.findall(r"^#> (.*)$", block, flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES_OF_EXAMPLES)
def test_each_block_of_a_page_stands_alone_and_prints_what_it_says(page, without_power, one_picture, without_pixels):
    assert_blocks_print_what_they_say(page)


def test_the_gate_on_the_page_on_assistants_ends_as_it_says(tmp_path, monkeypatch, one_picture, without_pixels):
    page = page_named("assistants").read_text()
    (program,) = re.findall(r"```py\n# assistant.py\n(.*?)```", page, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "assistant.py").write_text(program)
    commands = re.findall(r"```sh\n(.*?)\n```", page, flags=re.DOTALL)
    lines = [shlex.split(line.replace('"python ', f'"{sys.executable} ')) for line in commands]
    done = [CliRunner().invoke(app, line[1:]) for line in lines]
    assert [one.exit_code for one in done] == [0, 1], [one.output for one in done]
    assert "the largest bound is 3.08" in done[0].output
    assert "VIOLATION: epsilon >= 3.08, but at most 2 is claimed" in done[1].output


# --- the page on reading results, and the glossary --------------------------------------------------------------------

SCREENS = re.findall(r"^#> (.*)$", page_named("reading-results").read_text(), flags=re.MULTILINE)
STATEMENTS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in page_named("reading-results").read_text().split("| statement |")[1].splitlines()[2:]
]


def test_the_first_screens_are_those_of_real_results_with_their_power():
    assert_blocks_print_what_they_say("reading-results")


def test_every_tone_of_an_audit_has_a_screen_and_a_row_with_its_sign():
    page = page_named("reading-results").read_text()
    for tone in set(Tone) - {Tone.PLAIN}:
        assert any(tone.label.lower() in line.lower() for line in SCREENS), tone
        assert f"| {tone.sign} | {tone.label} | " in page


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda cells: cells[1].strip("`"))
def test_a_statement_stands_on_a_screen_and_names_a_field(statement):
    quoted, field, who, true, false = statement
    assert any(quoted.lower() in line.lower() for line in SCREENS)
    owner, _, name = field.strip("`").partition(".")
    of = {cls.__name__: cls for cls in (AuditResult, ResultText, MembershipResult, RiskResult, SplitTest)}[owner]
    assert name in {one.name for one in dataclasses.fields(of)} or isinstance(getattr(of, name), property)
    assert who in ("data owner", "privacy officer", "reviewer")
    assert true.endswith(".")
    assert re.match(r'"[^"]+": ', false), "a false conclusion in quotation marks, and why"


def test_ten_statements_or_more_are_about_audits_membership_and_risk():
    owners = [field.strip("`").partition(".")[0] for _, field, *_ in STATEMENTS]
    assert len(STATEMENTS) >= 10
    assert {"AuditResult", "MembershipResult", "RiskResult"} <= set(owners)


def terms_of_the_glossary():
    cells = re.findall(r"^\| ([^|]+?) \|", page_named("glossary").read_text(), flags=re.MULTILINE)
    return {*cells, *(term for cell in cells for term in cell.split(", "))}


def test_every_printed_term_is_in_the_glossary():
    """The terms of reports, the names of tones, and what stands before the text of each line of a first screen."""
    tones = {tone.label.rpartition(", ")[2].lower() for tone in Tone if tone.label}
    names = {line[:10].strip() for line in SCREENS if line[10:12] == "  " and line[:10].strip() not in ("", "attack")}
    assert {"next step", "bound", "event", "on side 1", "note"} <= names
    assert {*TERMS, *tones, *names} - terms_of_the_glossary() == set()


def test_every_demo_has_an_hour_of_the_course():
    hours = re.findall(
        r"^\* \*\*Demos\*\*: (.*?)^\* \*\*Before", page_named("course").read_text(), flags=re.DOTALL | re.MULTILINE
    )
    assert len(hours) == 12
    assert set(re.findall(r"`([\w-]+)`", " ".join(hours))) == set(demos())


def test_names_on_the_page_of_limits_are_those_of_the_package():
    """Classes in the column of what is here stand in a catalogue, or are exported by a room."""
    table = page_named("limits").read_text().split("| subject | here |")[1].split("Not here:")[0]
    named = set(re.findall(r"`([A-Z]\w+)`", table))
    assert len(named) >= 10
    listed = {path.partition(":")[2] for one in (mechanisms, generators) for path in one.entries.values()}
    assert named <= listed | set(dir(guarantees))


def test_the_config_of_the_page_on_reconstruction_runs(tmp_path, without_power, without_pictures):
    (example,) = re.findall(r"```toml\n(.*?)```", page_named("reconstruction").read_text(), flags=re.DOTALL)
    (tmp_path / "guess.toml").write_text(example)
    done = run(tmp_path / "guess.toml", settings={"game.n_rounds": 500}, out=tmp_path / "out")
    assert [point.result.recovery.prior for point in done.result.points] == [1 / 3] * 4
    assert done.verdict is Verdict.CONSISTENT


def test_the_config_of_the_page_on_query_release_runs(tmp_path, without_power, without_pictures):
    (example,) = re.findall(r"```toml\n(.*?)```", page_named("query-release").read_text(), flags=re.DOTALL)
    (tmp_path / "marginals.toml").write_text(example.replace("people.csv", str(tmp_path / "people.csv")))
    (tmp_path / "people.csv").write_text("age,sex,name\n3,0,a\n5,1,b\n7,1,c\n")
    done = run(tmp_path / "marginals.toml", out=tmp_path / "out")
    (point,) = done.result.points
    assert done.verdict is Verdict.CONSISTENT
    assert 0.8 <= point.result.bound.epsilon <= 1.0


# --- the page on learning ---------------------------------------------------------------------------------------------

LEARNING = page_named("learning").read_text()
WHOLE, ONE_RUN = re.findall(r"```toml\n(.*?)```", LEARNING, flags=re.DOTALL)


def rows_of(heading):
    """The cells of the table under the first row that begins with `heading`."""
    table = LEARNING[LEARNING.index(f"| {heading}") :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def names_in(cell):
    return re.findall(r"`([^`]+)`", cell)


def planned(**changes):
    """The one question of the whole config, with keys of its tables changed; None takes a key away."""
    config = tomllib.loads(WHOLE)
    for key, value in changes.items():
        table, _, name = key.partition("_")
        config[table] = {k: v for k, v in (config[table] | {name: value}).items() if v is not None}
    source = Source("page", "learning.md")
    (question,) = plan_tasks(Config.check(config, source), source)
    return question


def test_the_config_on_learning_shows_nearly_all_of_the_claim(without_power):
    task = planned(audit_trials=300)
    result = task.answer(task.run())
    assert result.verdict is Verdict.CONSISTENT
    assert 0.75 * result.claim < result.bound.epsilon <= result.claim


def test_the_config_of_one_run_shows_no_more_than_the_page_says(without_power):
    source = Source("page", "learning.md")
    (question,) = plan_tasks(Config.check(tomllib.loads(ONE_RUN), source), source)
    result = question.answer(question.run())
    assert result.verdict is Verdict.UNDERPOWERED
    assert 3.0 < result.bound.epsilon < result.ceiling < 8.7 < result.claim < 10.0
    stated, bits = Statement(question.mechanism.guarantee(), 1e-5, 0.95), np.arange(2000)[None, :] % 2
    most = OneRunFDP().fix(stated, None, (2000,)).lower_bound(BitScores(bits, bits))
    assert most.epsilon == most.ceiling == pytest.approx(8.7, abs=0.05)


def test_every_option_of_dp_sgd_is_on_the_page():
    listed = [name for row in rows_of("option | default") for name in names_in(row[0])]
    assert listed == [name for name in inspect.signature(DPSGD).parameters if name != "_"]


def test_attacks_on_the_page_see_the_views_and_canaries_of_their_row():
    seen = set()
    for view, _, *cells in rows_of("`view` | what the adversary sees"):
        for canary, cell in zip(("mislabelled", "dirac"), cells, strict=True):
            for attack in names_in(cell):
                planned(mechanism_view=names_in(view)[0], neighbours_canary=canary, attack_name=attack)
                seen.add(attack)
    noise = Laplace(1.0)
    target = Target(noise, noise.worst_case())
    own = {name for name in attacks if ".distinguishing." in attacks.entries[name]} - {"portfolio"}  # of external code
    assert seen == {name for name in own if not attacks.build(name).supports(target)} | {"likelihood-ratio"}


def test_samplings_on_the_page_have_claims_under_exactly_their_relations():
    for samplings, needs, relations in rows_of("`sampling` | needs"):
        every = {"mechanism_batch_size": 10, "mechanism_sampling_probability": 0.1, "mechanism_n_records": 100}
        every |= {"mechanism_batches_per_epoch": 10, "mechanism_participations": 2, "mechanism_largest_batch": 20}
        given = {key: value if key.removeprefix("mechanism_") in needs else None for key, value in every.items()}
        for sampling in names_in(samplings):
            options = {"mechanism_sampling": sampling, **given}
            assert planned(**options).mechanism.relation == names_in(relations)[0]
            for relation in Relation:
                with contextlib.nullcontext() if relation in names_in(relations) else pytest.raises(ConfigError):
                    planned(**options, mechanism_relation=relation.value)


OF_ONE_MODEL = ("target", "per_model")
"""Keys of [membership] that a study of one training procedure does not need."""


def test_the_config_on_the_page_on_membership_can_be_run():
    _, text = re.findall(r"```toml\n(.*?)```", page_named("membership").read_text(), flags=re.DOTALL)
    source = Source("page", "membership.md")
    (task,) = plan_tasks(Config.check(tomllib.loads(text), source), source)
    assert len(task.records[1]) == 400
    assert len(task.population[1]) == 300
    given = {name: getattr(task.section, name) for name in task.section.model_fields_set}
    assert set(given) == set(MembershipSection.model_fields) - {"by_attribute", *OF_ONE_MODEL}


def test_the_config_of_trained_models_on_the_page_on_membership_can_be_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    membership = np.random.default_rng(0).random((12, 90)) < 0.5
    np.savez("shadows.npz", membership=membership, losses=np.random.default_rng(1).exponential(size=(12, 90)))
    text, _ = re.findall(r"```toml\n(.*?)```", page_named("membership").read_text(), flags=re.DOTALL)
    source = Source("page", "membership.md")
    (task,) = plan_tasks(Config.check(tomllib.loads(text), source), source)
    result = task.answer(task.run())
    assert [metrics.attack for metrics in result.attacks] == ["lira", "rmia(mode='offline')"]


def test_the_config_on_the_page_on_synthetic_data_can_be_run(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", page_named("synthetic-data").read_text(), flags=re.DOTALL)
    (tmp_path / "who.toml").write_text(example)
    (task,) = plan_tasks(*Config.load(tmp_path / "who.toml"))
    others = {"by_label", "design", *OF_ONE_MODEL}
    assert set(task.section.model_fields_set) == set(MembershipSection.model_fields) - others
    assert len(task.records) == len(task.groups) == 150


# --- all pages --------------------------------------------------------------------------------------------------------

PAGES = [
    DOCS.parent / "README.md",
    DOCS.parent / "CONTRIBUTING.md",
    *sorted(page for page in DOCS.glob("[!_]*/*.md") if page.parent.name not in ("demos", "site")),
]


def anchors(page):
    """What a heading is linked by."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def assert_links_lead_somewhere(page, text):
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        file, _, heading = link.partition("#")
        there = page.parent / file if file else page
        assert there.exists(), link
        assert not heading or heading in anchors(there), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    assert_links_lead_somewhere(page, page.read_text())


@pytest.mark.parametrize("name", ["catalogue", "systems"])
def test_links_of_pages_that_are_made_for_the_site_lead_somewhere(name):
    written = runpy.run_path(str(DOCS / "build.py"))[f"{name}_page"]()
    assert len(written.splitlines()) > 100
    assert_links_lead_somewhere(DOCS / "reference" / f"{name}.md", written)


def test_every_page_is_linked_from_the_readme():
    readme = PAGES[0].read_text()
    paths = [
        page.relative_to(DOCS.parent).as_posix()
        for page in PAGES[2:]
        if page.parent.name not in ("decisions", "gallery", "site")
    ]
    assert [path for path in paths if f"({path})" not in readme] == []


def test_no_name_in_a_config_leads_to_other_peoples_code():
    """As the page on trust says: a config names parts of the library, and runs nothing else."""
    catalogues = [mechanisms, attacks, bounds, membership, reconstruction]
    places = [place for one in catalogues for place in one.entries.values()]
    assert len(places) > 50
    assert [place for place in places if place.startswith("dpassay.mechanisms.adapters")] == []


# --- numbers ----------------------------------------------------------------------------------------------------------

MEASURED = runpy.run_path(str(DOCS / "measured"), run_name="measured")


@pytest.mark.parametrize("number", MEASURED["NUMBERS"], ids=lambda number: number.name)
def test_a_number_stands_on_its_page_as_it_is_measured(number):
    assert number.is_on_its_page, "give docs/measured the sentence that the page has"
    if number.seconds <= 5:
        assert MEASURED["check"](number)
