"""Queries: answers, and sensitivities by brute force over every neighbouring pair of a tiny domain."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from dpassay.mechanisms.core import ParameterError, Relation, UnknownNameError
from dpassay.mechanisms.noise.queries import Count, Histogram, Mean, MedianUtility, PrefixCounts, Query, Sum
from dpassay.mechanisms.noise.queries.catalogue import build, catalogue

DOMAIN = (-1.0, 0.0, 0.5, 2.0, 9.0)
QUERIES = [
    Count(above=0.25),
    Count(equals=2.0),
    Histogram(edges=(-2.0, 0.25, 3.0, 10.0)),
    Histogram(categories=DOMAIN),
    Sum(lower=-1.0, upper=2.0),
    Sum(lower=0.5, upper=2.0),
    Sum(lower=-1.0, upper=0.0),
    Mean(lower=0.0, upper=2.0, n_records=4),
    MedianUtility(candidates=(-0.5, 0.5, 1.0)),
]


def neighbours(relation: Relation, size: int = 3):
    """Every neighbouring pair of datasets of up to `size` records from the domain."""
    for records in itertools.product(DOMAIN, repeat=size):
        rest = records[1:]
        if relation is Relation.ADD_REMOVE:
            yield rest, records
        elif relation is Relation.REPLACE_ONE:
            yield from (((other, *rest), records) for other in DOMAIN)
        else:
            yield (0.0, *rest), records


def reached(query: Query, relation: Relation, norm: float) -> float:
    distances = (
        np.linalg.norm(np.atleast_1d(query(np.array(d1)) - query(np.array(d0))), ord=norm)
        for d0, d1 in neighbours(relation)
    )
    return float(max(distances))


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("norm", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_no_neighbours_lie_further_apart_than_the_sensitivity(query, relation, norm):
    assert reached(query, relation, norm) <= query.sensitivity(relation, norm=norm) + 1e-12


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("query", [q for q in QUERIES if not isinstance(q, MedianUtility)], ids=repr)
def test_some_neighbours_attain_the_sensitivity(query, relation):
    if query == Histogram(categories=DOMAIN) or not isinstance(query, Histogram):
        assert reached(query, relation, 1.0) == pytest.approx(query.sensitivity(relation, norm=1.0))
    assert reached(query, relation, math.inf) == pytest.approx(query.sensitivity(relation, norm=math.inf))


@pytest.mark.parametrize("query", QUERIES, ids=repr)
@pytest.mark.parametrize("relation", list(Relation))
def test_monotone_queries_never_move_both_ways(query, relation):
    both_ways = any(
        np.min(move) < 0 < np.max(move)
        for d0, d1 in neighbours(relation)
        for move in [np.atleast_1d(query(np.array(d1)) - query(np.array(d0)))]
    )
    assert not (query.monotone(relation) and both_ways)


def test_histogram_has_sensitivity_one_when_added_two_when_replaced():
    histogram = Histogram(edges=(0, 1, 2))
    assert histogram.sensitivity(Relation.ADD_REMOVE) == 1.0
    assert histogram.sensitivity(Relation.REPLACE_ONE) == 2.0
    assert histogram.sensitivity(Relation.REPLACE_ONE, norm=2) == pytest.approx(math.sqrt(2))


def test_histogram_is_numpys():
    values = np.random.default_rng(0).normal(size=500).round(1)
    edges = (-1.0, -0.5, 0.0, 2.0)
    np.testing.assert_array_equal(Histogram(edges=edges)(values), np.histogram(values, bins=edges)[0])


def test_columns_are_selected_in_tables_and_arrays():
    table = pd.DataFrame({"age": [30, 50, 70], "job": ["a", "b", "a"]})
    assert Count("age", above=40)(table) == 2.0
    assert Histogram("job", categories=("a", "b"))(table).tolist() == [2.0, 1.0]
    assert Count(0, above=40, below=60)(table[["age"]].to_numpy()) == 1.0
    assert Sum("age", lower=0, upper=60)(table) == 140.0


def test_missing_values_meet_no_condition_and_count_as_blank():
    values = [math.nan, 3.0]
    assert Count(above=0)(values) == 1.0
    assert Histogram(edges=(0, 5))(values).tolist() == [1.0]
    assert Sum(lower=1.0, upper=5.0)(values) == 4.0
    assert MedianUtility(candidates=(3.0, 4.0))(values).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("column", "dataset"), [("wages", pd.DataFrame({"age": [1]})), (3, np.zeros((2, 2))), (None, np.zeros((2, 2)))]
)
def test_missing_column_is_refused(column, dataset):
    with pytest.raises(ParameterError, match="column"):
        Count(column)(dataset)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Histogram(), "either edges or categories"),
        (lambda: Histogram(edges=(0, 1), categories=("a",)), "either edges or categories"),
        (lambda: Histogram(edges=(1, 1)), "strictly increasing"),
        (lambda: Histogram(categories=("a", "a")), "distinct"),
        (lambda: Sum(lower=1.0, upper=1.0), "lower must be below upper"),
        (lambda: MedianUtility(candidates=(1.0,)), "at least 2"),
    ],
)
def test_bad_options_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_catalogue_builds_every_query():
    assert build("count", column="age", above=3) == Count("age", above=3)
    classes = {name: getattr(catalogue.get(name), "__self__", catalogue.get(name)) for name in catalogue}
    assert all(issubclass(kind, Query) for kind in classes.values())
    with pytest.raises(UnknownNameError, match="Did you mean 'count'"):
        build("cuont")


@pytest.mark.parametrize(
    "query",
    [
        Sum("name", lower=0.0, upper=9.0),
        Mean("name", lower=0.0, upper=9.0, n_records=3),
        Histogram("name", edges=(0.0, 1.0, 2.0)),
        PrefixCounts("name", thresholds=(0.0, 1.0)),
        Count("name", above=1.0),
        Count("name", below=1.0),
    ],
    ids=lambda query: type(query).__name__,
)
def test_texts_in_a_column_of_numbers_are_named(query):
    table = pd.DataFrame({"name": ["31", "Ann", "44"]})
    with pytest.raises(ParameterError, match=r"column 'name' must hold numbers, but holds 'Ann' in record 1") as caught:
        query(table)
    assert caught.value.argument == "column"
