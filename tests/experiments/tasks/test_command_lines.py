"""The command line that a task states: it states each option that decides numbers, and asks the same question again."""

import inspect
import shlex
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from typer.testing import CliRunner

from dpassay.experiments.cli import app, audit_commands, file_commands
from dpassay.experiments.runs.calibration import Calibration
from dpassay.experiments.tasks.assistants import AssistantAudit
from dpassay.experiments.tasks.judgement import Judgement
from dpassay.experiments.tasks.membership import MembershipStudy
from dpassay.experiments.tasks.table_risk import TableRisk
from dpassay.experiments.tasks.texts import TextStudy
from dpassay.mechanisms.core import ParameterError

COMMANDS = {
    Judgement: file_commands.judge_command,
    TextStudy: file_commands.text_command,
    MembershipStudy: file_commands.membership_command,
    TableRisk: file_commands.risk_command,
    AssistantAudit: file_commands.ask_command,
    Calibration: audit_commands.calibrate_command,
}
OF_THE_OUTPUT = {"out", "strict", "markdown", "json_", "jobs", "quiet", "records", "verbose"}
"""Options that decide what is written where, and no number."""
OF_ASKING = {"command", "lines", "budget", "timeout"}
"""Options that decide how answers come into the file that is judged."""
NAMES = st.text("ab -'\"$;é", min_size=1, max_size=5).filter(lambda text: not text.startswith("-"))
NUMBERS = st.floats(1e-9, 0.999_999)
COUNTS = st.integers(2, 2**40)
BOUNDS = st.sampled_from(["clopper-pearson", "simultaneous-band", "betting"])
VALUES = {
    "Path": NAMES.map(lambda text: Path("folder") / f"{text}.csv"),
    "float": NUMBERS,
    "int": COUNTS,
    "str": NAMES,
    "bool": st.booleans(),
    "tuple[str, ...]": st.lists(NAMES, max_size=3).map(tuple),
    "tuple[int, ...]": st.lists(COUNTS, max_size=3).map(tuple),
}


def values(kind):
    """Values of all fields of a task; those with a default have it at times, unless the command line states them.

    The default of such a field may depend on the files, which do not exist.
    """
    strategies = {}
    for field in fields(kind):
        value = (
            BOUNDS.map(lambda bound: (bound,)) if field.name == "bound" else VALUES[field.type.removesuffix(" | None")]
        )
        always = field.default is MISSING or "stated" in field.metadata
        strategies[field.name] = value if always else st.one_of(st.just(field.default), value)
    return st.fixed_dictionaries(strategies)


@pytest.mark.parametrize("kind", COMMANDS)
def test_every_option_that_decides_numbers_is_a_field(kind):
    options = set(inspect.signature(COMMANDS[kind]).parameters) - OF_THE_OUTPUT - OF_ASKING
    assert options == {field.name for field in fields(kind)}


@pytest.mark.parametrize("kind", COMMANDS)
@given(data=st.data())
@settings(max_examples=15)
def test_command_line_asks_the_same_question(kind, data):
    try:
        task = kind(**data.draw(values(kind)))
    except ParameterError:  # options that do not fit
        return
    asked = []

    def stop(self, *given):
        asked.append(self)
        raise ParameterError("stopped.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "run", stop)
        patch.setattr("dpassay.audit.trials.folder.Folder.make", lambda self, name: self.root / name)
        words = shlex.split(task.command_line)
        done = CliRunner().invoke(app, words[1:])
    assert "stopped." in done.stderr, (words, done.output)
    for field in fields(kind):
        stated, again = getattr(task, field.name), getattr(asked[0], field.name)
        assert again == (Path(stated.name) if isinstance(stated, Path) else stated), words


@pytest.mark.parametrize("kind", COMMANDS)
def test_default_of_a_command_is_that_of_its_task(kind):
    parameters = inspect.signature(COMMANDS[kind]).parameters
    for field in fields(kind):
        if field.default is not MISSING:
            assert (parameters[field.name].default or field.default) == field.default
