"""What every game that a configuration can play must do. A new one is tested by its line in the catalogue alone."""

from typing import get_args

import pytest
from tests.experiments.made_configs import refused
from typer.testing import CliRunner

from dpassay.audit.bounds.catalogue import choose_bounds
from dpassay.experiments.cli import app
from dpassay.experiments.config.sections import GAMES
from dpassay.experiments.config.tasks.base import PointTask
from dpassay.experiments.config.tasks.planning import games

every = pytest.mark.parametrize("name", list(games))
LAPLACE = '[mechanism]\nname = "laplace"\nepsilon = 1.0\n'


@every
def test_it_is_a_task_with_the_keys_of_its_game_the_evidence_and_the_count(name):
    task, fields = games.get(name), GAMES[name].model_fields
    assert issubclass(task, PointTask)
    assert get_args(fields["name"].annotation) == (name,)
    assert GAMES[name].counted in fields
    assert all(field.description for field in fields.values())
    assert choose_bounds("auto", reads=task.makes)


@every
def test_its_keys_are_checked_and_pointed_at(name):
    text = f'{LAPLACE}[game]\nname = "{name}"\nunknown_key = 1\n'
    assert "made.toml:6: unknown key of [game] 'unknown_key'" in refused(text)
    counted = GAMES[name].counted
    wrong = refused(text.replace("unknown_key = 1", f"{counted} = 0"))
    assert f"game.{counted} must be {GAMES[name].model_fields[counted].description}, but is 0" in wrong


def test_every_game_has_a_section_and_a_task():
    assert set(GAMES) == set(games)


@every
def test_a_wrong_name_is_an_error_and_the_command_line_lists_the_names(name):
    assert repr(name) in refused(f'{LAPLACE}[game]\nname = "no such game"\n')
    listed = CliRunner().invoke(app, ["list", "games"])
    assert listed.exit_code == 0
    assert name in listed.output
