"""Votes of nearest-neighbour teachers: the votes that one record moves, in the correct and the broken mechanisms."""

import numpy as np
import pytest

from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.core import NeighboursError, ParameterError
from dpassay.mechanisms.literature.pate import LNMax, TeacherVotes
from dpassay.mechanisms.literature.pate.broken import SamePartForAll, TeachersKept, VoteScaleInverse

LABELS = np.random.default_rng(5).integers(2, size=12)


def ones(mechanism, labels, size, seed):
    """Return the votes for label 1, `(rounds,)`, or `(size, rounds)` if the parts are random."""
    if isinstance(mechanism, TeachersKept):
        return mechanism.drawn_votes(labels, size, np.random.default_rng(seed))[..., 1]
    return mechanism.votes(labels)[:, 1]


def moved(mechanism, size=300):
    """Return the largest number of votes that one record moves, over all records, rounds and runs with equal parts."""
    largest = 0
    for i in range(LABELS.size):
        other = LABELS.copy()
        other[i] = 1 - other[i]
        largest = max(largest, int(np.abs(ones(mechanism, LABELS, size, i) - ones(mechanism, other, size, i)).max()))
    return largest


def test_one_record_moves_one_vote_and_more_only_in_the_broken_twins():
    options = {"rate": 1.0, "n_teachers": 4, "rounds": 3}
    assert moved(TeacherVotes(**options)) == 1
    assert moved(TeachersKept(**options, refit=True)) == 1
    assert moved(TeachersKept(**options)) == 3
    assert moved(SamePartForAll(**options)) == 4


def test_teachers_that_are_kept_see_more_records_in_every_round():
    broken = TeachersKept(0.5, rounds=30)
    votes = ones(broken, broken.worst_case().d1, 20_000, seed=0).mean(axis=0)
    expected = 10 * (1 - 0.9 ** np.arange(1, 31))
    assert np.abs(votes - expected).max() < 6 * 1.5 / np.sqrt(20_000)


@pytest.mark.parametrize("broken", [SamePartForAll(0.1), VoteScaleInverse(0.1), TeachersKept(0.1)])
def test_a_broken_vote_is_caught_by_an_audit(broken, without_power):
    """The bound of 4,000 trials is at least 1.5 times the claim for each of six other seeds."""
    assert audit(broken, trials=4_000, confidence=1 - 1e-6, seed=0).verdict is Verdict.VIOLATION


@pytest.mark.parametrize("right", [TeacherVotes(0.1), TeacherVotes(0.1, rounds=10), TeachersKept(0.1, refit=True)])
def test_correct_votes_are_consistent(right, without_power):
    assert audit(right, trials=4_000, confidence=1 - 1e-6, seed=0).verdict is Verdict.CONSISTENT


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


@pytest.mark.parametrize("n_teachers", [2, 5, 10])
def test_one_draw_aggregates_the_votes_of_teachers(n_teachers):
    teachers = TeacherVotes(0.3, n_teachers=n_teachers, rounds=4)
    aggregator = LNMax(0.3, draws="one", n_teachers=n_teachers, n_classes=2, n_queries=4)
    labels = np.tile(LABELS, n_teachers)
    release = [
        mechanism.release(dataset, 50, np.random.default_rng(1)).values
        for mechanism, dataset in ((teachers, labels), (aggregator, teachers.votes(labels)))
    ]
    np.testing.assert_array_equal(*release)
    assert teachers.exact_guarantee() == aggregator.exact_guarantee()


def test_one_draw_refuses_three_labels():
    with pytest.raises(ParameterError, match="n_classes is 3"):
        LNMax(0.3, draws="one", n_classes=3)
