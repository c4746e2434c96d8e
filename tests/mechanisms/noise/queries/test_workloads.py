"""Marginals and workloads: answers by counting, and sensitivities by brute force over all pairs of records."""

import itertools
import math
import pickle

import numpy as np
import pytest

from dpassay.mechanisms.core import ParameterError, Relation
from dpassay.mechanisms.noise.gaussian import Gaussian
from dpassay.mechanisms.noise.laplace import Laplace
from dpassay.mechanisms.noise.queries import Domain, Marginals, Query, Workload
from dpassay.mechanisms.noise.queries.catalogue import build

DOMAIN = Domain({"sex": 2, "age": 3})
BITS = Domain({"a": 2, "b": 2, "c": 2})
QUERIES = [
    Marginals(DOMAIN, [("sex",), ("age",), ("age", "sex")]),
    Marginals(Domain({"sex": 2, "same": 1}), 1),
    Workload.identity(DOMAIN),
    Workload.total(DOMAIN),
    Workload.prefixes(DOMAIN),
    Workload.ranges(DOMAIN),
    Workload.marginals(DOMAIN, 1),
    Workload.parities(BITS, 2),
    Workload.random(DOMAIN, 7, seed=3),
    Workload(DOMAIN, [[1.0, 0.0, -2.0, 0.5, 0.0, 3.0], [0.0, 0.0, 1.0, 1.0, -1.0, 0.0]]),
]


def moves(query: Query, relation: Relation) -> list[np.ndarray]:
    """How far the answers move between any two neighbours; they are linear, so that the other records do not matter."""
    records = [[record] for record in itertools.product(*(range(n) for n in query.domain.shape))]
    if relation is Relation.ADD_REMOVE:
        return [query(record) - query([]) for record in records]
    others = records if relation is Relation.REPLACE_ONE else records[:1]
    return [query(record) - query(other) for record in records for other in others]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_sensitivity_is_the_furthest_that_any_neighbours_move(query, relation):
    for norm in (1.0, 2.0, math.inf):
        reached = max(np.linalg.norm(move, ord=norm) for move in moves(query, relation))
        assert query.sensitivity(relation, norm=norm) == pytest.approx(reached)
        assert query.sensitivity(relation.value, norm=norm) == query.sensitivity(relation, norm=norm)
    if relation is not Relation.ZERO_OUT:
        assert query.monotone(relation) == all(not move.min() < 0 < move.max() for move in moves(query, relation))


def test_answers_are_those_of_counting():
    records = np.random.default_rng(0).integers(0, 4, size=(30, 1))
    age, values = Domain({"age": 4}), records.ravel()
    assert Workload.prefixes(age)(records).tolist() == [np.sum(values <= v) for v in range(4)]
    between = [np.sum((values >= a) & (values <= b)) for a in range(4) for b in range(a, 4)]
    assert Workload.ranges(age)(records).tolist() == between
    bits = np.random.default_rng(1).integers(0, 2, size=(30, 3))
    parities = [np.sum(1 - 2 * (bits[:, i] ^ bits[:, j])) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert Workload.parities(BITS, 2)(bits).tolist() == parities


def test_boxes_are_ranges_of_every_attribute():
    records = np.random.default_rng(0).integers(0, DOMAIN.shape, size=(30, 2))
    boxes = [
        np.sum((records >= (s0, a0)).all(axis=1) & (records <= (s1, a1)).all(axis=1))
        for s0, s1 in itertools.combinations_with_replacement(range(2), 2)
        for a0, a1 in itertools.combinations_with_replacement(range(3), 2)
    ]
    assert Workload.ranges(DOMAIN)(records).tolist() == boxes


def test_marginals_are_the_same_counted_and_as_a_matrix():
    records = np.random.default_rng(0).integers(0, DOMAIN.shape, size=(30, 2))
    query = Marginals(DOMAIN, [("age", "sex"), ("sex",)])
    np.testing.assert_array_equal(query(records), Workload.marginals(DOMAIN, query.marginals)(records))
    both, sex = query.parts(np.stack([query(records), query(records[:5])]))
    assert (both.shape, sex.shape) == ((2, 6), (2, 2))
    np.testing.assert_array_equal(both.reshape(2, 3, 2).sum(axis=1), sex)


def test_noise_below_the_sensitivity_of_the_query_is_refused():
    query = Marginals(DOMAIN, 1)
    records = np.zeros((10, 2), int)
    laplace = Laplace(epsilon=1.0, query=query, n_queries=5, sensitivity=2.0)
    gaussian = Gaussian(noise_multiplier=1.0, query=query, n_queries=5, sensitivity=2.0, relation="replace_one")
    for mechanism in (laplace, gaussian):
        assert mechanism.release(records, 4, np.random.default_rng(0)).values.shape == (4, 5)
    with pytest.raises(ParameterError, match="Set sensitivity=4"):
        Laplace(epsilon=1.0, query=query, n_queries=5, sensitivity=2.0, relation="replace_one")


def test_workloads_with_equal_rows_are_equal_and_read_only():
    workload = Workload.prefixes(DOMAIN)
    again = pickle.loads(pickle.dumps(workload))
    assert workload == again == build("prefixes-workload", domain={"sex": 2, "age": 3})
    assert hash(workload) == hash(again)
    assert workload != Workload.identity(DOMAIN)
    with pytest.raises(ValueError, match="read-only"):
        workload.matrix[0, 0] = 5.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Workload(DOMAIN, np.zeros((2, 6))), "must not be all zeros"),
        (lambda: Workload(DOMAIN, np.ones((2, 5))), r"shape \(n_queries, 6\)"),
        (lambda: Workload(DOMAIN, np.full((2, 6), np.nan)), "finite numbers"),
        (lambda: Workload.ranges({"age": 5000}), "62,512,500,000 numbers would take 500.1 GB"),
        (lambda: Workload.parities(DOMAIN, 1), "two values"),
        (lambda: Marginals(DOMAIN, 3), "marginals must be at most 2, the number of attributes, but is 3"),
        (lambda: Marginals(DOMAIN, []), "marginals must be sets of distinct attributes"),
        (lambda: Marginals(DOMAIN, [("sex", "sex")]), "distinct attributes"),
        (lambda: Marginals(DOMAIN, ["sex"]), r"Give such as \[\('sex',\)\]"),
        (lambda: Marginals(DOMAIN, [("six",)]), "Did you mean 'sex'"),
        (lambda: Marginals({f"a{i}": 10 for i in range(12)}, 10), "GB are taken"),
    ],
)
def test_bad_workloads_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
