"""Votes of teachers: what one record moves, in the right ones and in the broken ones."""

import numpy as np
import pytest

from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.broken.pate import SamePartForAll, TeachersKept, VoteScaleInverse
from dpassay.mechanisms.core.errors import NeighboursError, ParameterError
from dpassay.mechanisms.learning.pate import TeacherVotes

LABELS = np.random.default_rng(5).integers(2, size=12)


def moved(mechanism, size=300):
    """Votes that one record moves at most, over all records, rounds and runs, where the parts are dealt alike."""
    most = 0
    for i in range(LABELS.size):
        other = LABELS.copy()
        other[i] = 1 - other[i]
        one, two = (mechanism.votes(d, size, np.random.default_rng(i)) for d in (LABELS, other))
        most = max(most, int(np.abs(one - two).max()))
    return most


def test_one_record_moves_one_vote_and_more_only_where_it_is_broken():
    options = {"rate": 1.0, "n_teachers": 4, "rounds": 3}
    assert moved(TeacherVotes(**options)) == 1
    assert moved(TeachersKept(**options, refit=True)) == 1
    assert moved(TeachersKept(**options)) == 3
    assert moved(SamePartForAll(**options)) == 4


def test_teachers_that_are_kept_have_seen_ever_more_records():
    broken = TeachersKept(0.5, rounds=30)
    votes = broken.votes(broken.worst_case().d1, 20_000, np.random.default_rng(0)).mean(axis=0)
    expected = 10 * (1 - 0.9 ** np.arange(1, 31))
    assert np.abs(votes - expected).max() < 6 * 1.5 / np.sqrt(20_000)


@pytest.mark.parametrize("broken", [SamePartForAll(0.1), VoteScaleInverse(0.1), TeachersKept(0.1)])
def test_a_broken_vote_is_caught_by_an_audit(broken, without_power):
    assert audit(broken, trials=40_000, confidence=0.9999, seed=0).verdict is Verdict.VIOLATION


@pytest.mark.parametrize("right", [TeacherVotes(0.1), TeacherVotes(0.1, rounds=10), TeachersKept(0.1, refit=True)])
def test_their_right_twins_are_not(right, without_power):
    assert audit(right, trials=40_000, confidence=0.9999, seed=0).verdict is Verdict.CONSISTENT


@pytest.mark.parametrize(
    ("pair", "error"),
    [
        (([0, 0], [0, 1, 1]), ParameterError),
        (([0, 2], [0, 1]), ParameterError),
        (([0, 0], [1, 1]), NeighboursError),
        (([0, 0], [0, 0]), NeighboursError),
    ],
)
def test_datasets_are_labels_of_which_one_differs(pair, error):
    with pytest.raises(error):
        TeacherVotes(1.0, n_teachers=2).bind(Neighbours(*pair, "replace_one"))
