"""What every game is called: a new one is tested by its line in `Game` alone."""

import re
from dataclasses import astuple

import pytest

from dpassay.audit.evidence.game import Game, Trials

every = pytest.mark.parametrize("game", list(Game))


@every
def test_it_has_all_of_its_words(game):
    assert all(word is None or word for word in astuple(game.words))
    assert len(game.words.legend) == 2


@every
@pytest.mark.parametrize("runs", [1, 2_000])
def test_its_trials_are_said_with_their_numbers(game, runs):
    trials = Trials(per_side=runs, pilot=0, evaluation=runs, n_canaries=7)
    for said in (game.counted(trials), game.cell(trials)):
        assert f"{runs:,}" in said
        assert not re.search(r"[{}]|None", said)
