"""What is drawn in the reconstruction game, and how well it is guessed blindly."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpassay.attacks.reconstruction import FairBits, OneOf
from dpassay.mechanisms.core import ParameterError, Relation, RelationError


def test_prior_success_is_that_of_the_best_of_all_guesses():
    rng = np.random.default_rng(0)
    for k in (2, 3, 7):
        prior, close = rng.dirichlet(np.ones(k)), rng.random((k, k)) < 0.5
        close[0, 0] = True
        blind = [sum(prior[truth] for truth in range(k) if close[truth, guess]) for guess in range(k)]
        assert OneOf(tuple(range(k)), prior, close).prior_success == pytest.approx(max(blind), rel=1e-12)
        assert OneOf(tuple(range(k)), prior).prior_success == pytest.approx(prior.max(), rel=1e-12)
        assert OneOf(tuple(range(k))).prior_success == 1 / k


def test_truths_are_drawn_with_the_probabilities_of_the_prior():
    prior = np.array([0.5, 0.3, 0.2])
    counts = OneOf((0, 1, 2), prior).draw(100_000, np.random.default_rng(1))
    assert stats.chisquare(counts, 100_000 * prior).pvalue > 1e-6


def test_each_bit_is_a_fair_coin_of_its_own():
    bits = FairBits.column(5).draw(20_000, np.random.default_rng(2))
    columns = bits @ (1 << np.arange(5))
    assert stats.chisquare(np.bincount(columns, minlength=32)).pvalue > 1e-6


def test_close_is_indexed_by_truth_and_guess():
    secret = OneOf((0, 1), close=[[True, True], [False, True]])
    truths, guesses = np.array([0, 0, 1, 1, 0, 1]), np.array([0, 1, 0, 1, -1, -1])
    assert secret.correct(truths, guesses).tolist() == [True, True, False, True, False, False]
    assert secret.prior_success == 1.0


@pytest.mark.parametrize("relation", Relation)
def test_neighbours_of_candidates_follow_the_relation(relation):
    pairs = list(OneOf.in_record(np.array([7, 8, 9]), 1, [1, 2, 3]).neighbours(relation))
    assert {tuple(pair.d1) for pair in pairs} <= {(7, 1, 9), (7, 2, 9), (7, 3, 9)}
    absent = {Relation.ADD_REMOVE: (7, 9), Relation.ZERO_OUT: (7, 0, 9), Relation.REPLACE_ONE: None}[relation]
    assert len(pairs) == 3
    assert absent is None or {tuple(pair.d0) for pair in pairs} == {absent}


def test_candidates_of_an_unknown_record_are_compared_pairwise():
    secret = OneOf((0, 1, 2, 3))
    assert len(list(secret.neighbours(Relation.REPLACE_ONE))) == 6
    with pytest.raises(RelationError, match=r"OneOf\.in_record"):
        secret.neighbours(Relation.ADD_REMOVE)
    pairs = list(OneOf((1, 2), reference=0).neighbours(Relation.ADD_REMOVE))
    assert [(pair.d0, pair.d1) for pair in pairs] == [(0, 1), (0, 2)]


def forms():
    table = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    other = pd.DataFrame({"a": [4, 5, 6], "b": ["p", "q", "r"]})
    yield [1, 2, 3], [4, 5, 6], lambda d: d, [1, 5, 6]
    yield np.eye(3), -np.eye(3), lambda d: d.diagonal().tolist(), [1, -1, -1]
    yield table, other, lambda d: list(d.itertuples(index=False, name=None)), [(1, "x"), (5, "q"), (6, "r")]
    yield table["a"], other["a"], list, [1, 5, 6]
    yield (np.eye(3), [1, 2, 3]), (np.eye(3), [4, 5, 6]), lambda d: d[1], [1, 5, 6]


@pytest.mark.parametrize(("zeros", "ones", "seen", "expected"), list(forms()))
def test_records_take_their_bits_in_every_form_of_dataset(zeros, ones, seen, expected):
    secret = FairBits(zeros, ones)
    assert secret.n == 3
    assert seen(secret.dataset(np.array([False, True, True]))) == expected
    changed = [seen(pair.d1) for pair in secret.neighbours(Relation.REPLACE_ONE)]
    assert [sum(a != b for a, b in zip(one, seen(zeros), strict=True)) for one in changed] == [1, 1, 1]


def test_secrets_pickle():
    assert pickle.loads(pickle.dumps(OneOf((0, 1), [0.3, 0.7]))).prior_success == 0.7
    assert pickle.loads(pickle.dumps(FairBits.column(3))).n == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OneOf((0,)), "candidates must be at least 2"),
        (lambda: OneOf.in_record([0], 0, [1]), "values must be at least 2"),
        (lambda: OneOf.in_record([0], 1, [1, 2]), "from -1 to 0, but is 1"),
        (lambda: OneOf((0, 1), [0.5, 0.6]), "sum to 1, but has shape .2,. and sum 1.1"),
        (lambda: OneOf((0, 1), [1.5, -0.5]), "prior must be 2 probabilities"),
        (lambda: OneOf((0, 1), close=[[1, 0]]), r"close .* shape \(2, 2\)"),
        (lambda: OneOf((0, 1), close=np.zeros((2, 2))), "with at least one"),
        (lambda: FairBits([0, 0], [1]), "equally many records, but have 2 and 1"),
        (lambda: FairBits(0, 1), "collections of equally many records"),
        (lambda: FairBits([0, 0], np.ones(2)), "same shape"),
        (lambda: FairBits(([0], [0]), [1]), "same form"),
    ],
)
def test_invalid_secrets_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_bits_have_no_neighbours_under_add_remove():
    with pytest.raises(RelationError, match="membership game"):
        FairBits.column(2).neighbours(Relation.ADD_REMOVE)
