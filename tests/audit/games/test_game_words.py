"""The words of every game, and their use in results. A new game is tested through its line in `Game`."""

import re
from dataclasses import astuple

import numpy as np
import pytest

from dpassay.audit import audit_scores
from dpassay.audit.evidence.game import Game, Trials
from dpassay.audit.evidence.scores import BitScores, PairScores, Successes
from dpassay.mechanisms.accounting import PureDP

every = pytest.mark.parametrize("game", list(Game))


@every
def test_it_has_all_of_its_words(game):
    assert all(word is None or word for word in astuple(game.words))
    assert len(game.words.legend) == 2


@every
@pytest.mark.parametrize("runs", [1, 2_000])
def test_its_trials_are_said_with_their_numbers(game, runs):
    trials = Trials(per_side=runs, pilot=0, evaluation=runs, n_canaries=7)
    for said in (game.describe_trials(trials), game.short_trials(trials)):
        assert f"{runs:,}" in said
        assert not re.search(r"[{}]|None", said)


@pytest.mark.parametrize(
    ("evidence", "row"),
    [
        (PairScores(np.arange(20.0), np.arange(20.0)), "pair        neighbours under add_remove"),
        (
            BitScores([[True, False] * 20], [[1.0, 0.0] * 20]),
            "canaries    add_remove: each is in the run, or not",
        ),
        (
            Successes(3, 10, 0.5),
            "secret      add_remove: drawn from a known prior, independently in each round, and guessed",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_summary_describes_what_was_compared(evidence, row):
    table = audit_scores(evidence, claim=PureDP(1.0), relation="add_remove").summary().splitlines()
    assert any(line.startswith(row) for line in table)
    assert any(line.startswith("pair ") for line in table) == isinstance(evidence, PairScores)
