"""Pairs of record collections: building them, and telling neighbours from others."""

import copy

import numpy as np
import pandas as pd
import pytest

from dpassay.mechanisms.core.base import Neighbours
from dpassay.mechanisms.core.errors import NeighboursError, ParameterError
from dpassay.mechanisms.core.records import check_records, n_records, remove_record, replace_record, zero_record
from dpassay.mechanisms.core.relation import Relation

TABLE = pd.DataFrame({"age": [30, 50, 70], "pay": [1.5, np.nan, 2.5], "job": ["a", "b", "a"]})
NUMBERS = TABLE[["age", "pay"]].fillna(0.5)
COLLECTIONS = {
    "vector": np.array([3, 1, 2]),
    "matrix": np.arange(1.0, 7.0).reshape(3, 2),
    "images": np.arange(1, 13).reshape(3, 2, 2),
    "list": [3, 1, 2],
    "list of rows": [[1, 2], [3, 4], [5, 6]],
    "table": NUMBERS,
    "series": NUMBERS["pay"],
    "X and y": (np.arange(1.0, 7.0).reshape(3, 2), np.array([1, 2, 1])),
    "X table and y series": (NUMBERS, pd.Series([1, 2, 1])),
}
NEW = {
    "vector": 9,
    "matrix": [9.0, 9.5],
    "images": [[9, 9], [9, 9]],
    "list": 9,
    "list of rows": [9, 9],
    "table": [9, 9.5],
    "series": 9.5,
    "X and y": ([9.0, 9.5], 2),
    "X table and y series": ([9, 9.5], 2),
}


@pytest.mark.parametrize("name", COLLECTIONS)
@pytest.mark.parametrize("index", [0, 1, -1])
def test_a_removed_record_gives_neighbours(name, index):
    pair = remove_record(COLLECTIONS[name], index)
    assert pair.relation is Relation.ADD_REMOVE
    assert (n_records(pair.d0), n_records(pair.d1)) == (2, 3)
    check_records(pair)
    check_records(Neighbours(pair.d1, pair.d0, "add_remove"))


@pytest.mark.parametrize("name", COLLECTIONS)
def test_a_replaced_record_gives_neighbours(name):
    pair = replace_record(COLLECTIONS[name], 1, NEW[name])
    assert pair.relation is Relation.REPLACE_ONE
    assert n_records(pair.d0) == 3
    check_records(pair)


@pytest.mark.parametrize("name", COLLECTIONS)
def test_a_blanked_record_gives_neighbours(name):
    pair = zero_record(COLLECTIONS[name], 1)
    assert pair.relation is Relation.ZERO_OUT
    check_records(pair)
    with pytest.raises(NeighboursError):
        check_records(Neighbours(pair.d1, pair.d0, "zero_out"))


@pytest.mark.parametrize("name", COLLECTIONS)
@pytest.mark.parametrize("relation", list(Relation))
def test_equal_datasets_are_no_neighbours(name, relation):
    with pytest.raises(NeighboursError, match=f"under '{relation.value}'"):
        check_records(Neighbours(COLLECTIONS[name], COLLECTIONS[name], relation))


@pytest.mark.parametrize("name", COLLECTIONS)
def test_two_changed_records_are_refused(name):
    removed = remove_record(remove_record(COLLECTIONS[name], 0).d0, 0).d0
    with pytest.raises(NeighboursError, match="2 of d1 not in d0"):
        check_records(Neighbours(removed, COLLECTIONS[name], "add_remove"))
    replaced = replace_record(replace_record(COLLECTIONS[name], 0, NEW[name]).d0, 2, NEW[name]).d0
    with pytest.raises(NeighboursError, match="differ in exactly one"):
        check_records(Neighbours(replaced, COLLECTIONS[name], "replace_one"))


@pytest.mark.parametrize("name", COLLECTIONS)
def test_building_a_pair_leaves_the_dataset_unchanged(name):
    before = repr(COLLECTIONS[name])
    remove_record(COLLECTIONS[name], 0)
    replace_record(COLLECTIONS[name], 0, NEW[name])
    zero_record(COLLECTIONS[name], 0)
    assert repr(COLLECTIONS[name]) == before


def test_order_does_not_matter_when_records_are_added():
    check_records(Neighbours(np.array([3, 1]), np.array([1, 2, 3]), "add_remove"))
    check_records(Neighbours(TABLE.iloc[[2, 0]], TABLE, "add_remove"))


def test_equal_records_are_counted():
    check_records(Neighbours([1, 1], [1, 1, 1], "add_remove"))
    with pytest.raises(NeighboursError):
        check_records(Neighbours([1, 1], [1, 2, 2], "add_remove"))


def test_a_record_replaced_and_reordered_is_still_one_replacement():
    check_records(Neighbours([3, 1, 2], [1, 2, 9], "replace_one"))


def test_missing_values_equal_themselves_and_types_do_not_matter():
    check_records(Neighbours(np.array([np.nan, 1.0]), np.array([np.nan, 1.0, 2.0]), "add_remove"))
    check_records(Neighbours(np.array([1, 2]), np.array([1.0, 2.0, 3.5]), "add_remove"))
    check_records(Neighbours(TABLE.iloc[:2], TABLE, "add_remove"))
    check_records(Neighbours(np.array([0.0]), np.array([-0.0, 1.0]), "add_remove"))


def test_the_message_says_how_many_and_what_to_do():
    with pytest.raises(
        NeighboursError, match="d0 has 2 records, d1 has 2, and 2 of d0 are not in d1, 2 of d1 not in d0"
    ):
        check_records(Neighbours([1, 2], [3, 4], "add_remove"))
    with pytest.raises(NeighboursError, match="its relation is 'replace_one', not 'add_remove'"):
        check_records(Neighbours([1, 2], [1, 3], "add_remove"))
    with pytest.raises(NeighboursError, match=r"dpassay\.mechanisms\.core\.records\.replace_record"):
        check_records(Neighbours([1, 2], [1, 2, 3], "replace_one"))
    with pytest.raises(NeighboursError, match="record 0 of d0, the one that differs, is not all zeros"):
        check_records(Neighbours([5, 2], [1, 2], "zero_out"))


def test_label_and_row_are_one_record():
    X, y = COLLECTIONS["X and y"]
    with pytest.raises(NeighboursError):
        check_records(Neighbours((X[1:], y[:2]), (X, y), "add_remove"))


def test_other_columns_are_refused():
    with pytest.raises(NeighboursError, match="same columns"):
        check_records(Neighbours(np.zeros((2, 3)), np.zeros((3, 2)), "add_remove"))
    with pytest.raises(NeighboursError, match="different columns"):
        check_records(Neighbours(TABLE.rename(columns={"age": "years"}), TABLE, "add_remove"))


@pytest.mark.parametrize("pair", [(3, 4), ({"n": 3}, {"n": 9}), (np.float64(1), np.float64(9)), (([1], 2), ([1], 3))])
def test_what_is_no_collection_of_records_passes_if_it_differs(pair):
    check_records(Neighbours(*pair, "add_remove"))
    with pytest.raises(NeighboursError, match="d0 and d1 are the same"):
        check_records(Neighbours(pair[0], copy.deepcopy(pair[0]), "add_remove"))


@pytest.mark.parametrize(
    "kind", [tuple, set, frozenset, list, lambda r: "".join(map(str, r)), lambda r: tuple((i,) for i in r)]
)
def test_any_collection_is_checked(kind):
    check_records(Neighbours(kind(range(3)), kind(range(4)), "add_remove"))
    check_records(Neighbours(kind((1, 2)), kind((1, 3)), "replace_one"))
    with pytest.raises(NeighboursError, match="2 of d1 not in d0"):
        check_records(Neighbours(kind(range(2)), kind(range(4)), "add_remove"))
    with pytest.raises(NeighboursError, match="the same"):
        check_records(Neighbours(kind(range(2)), kind(range(2)), "replace_one"))


@pytest.mark.parametrize("pair", [([1], 3), ("a", ["a", "b"]), ({1}, [1, 2]), (np.zeros(2), {"a": 1})])
def test_different_kinds_are_no_neighbours(pair):
    with pytest.raises(NeighboursError, match=r"d0 is a .* and d1 is a .*same kind"):
        check_records(Neighbours(*pair, "add_remove"))


@pytest.mark.parametrize("index", [3, -4, 1.5, True, None])
def test_index_outside_the_records_is_refused(index):
    with pytest.raises(ParameterError, match="index must be a whole number from -3 to 2"):
        remove_record(COLLECTIONS["vector"], index)


def test_building_from_other_things_is_refused():
    with pytest.raises(ParameterError, match="collection of records"):
        remove_record(3, 0)
    with pytest.raises(ParameterError, match="replacement must have shape"):
        replace_record(np.zeros((2, 2)), 0, [1, 2, 3])
    with pytest.raises(ParameterError, match="numeric"):
        zero_record(["a", "b"], 0)
    with pytest.raises(ParameterError, match="numeric"):
        zero_record(TABLE, 0)


def test_a_replacement_keeps_the_fraction_of_its_numbers():
    assert replace_record(np.array([1, 2]), 0, 0.5).d0.tolist() == [0.5, 2.0]
    assert replace_record(TABLE, 0, {"age": 0.5, "pay": 1.0, "job": "z"}).d0["age"].tolist() == [0.5, 50.0, 70.0]


ONLY = [np.array([5]), np.array([[5.0, 6.0]]), [5], NUMBERS.iloc[:1], (np.ones((1, 2)), np.array([1]))]


@pytest.mark.parametrize("only", ONLY)
def test_the_only_record_can_be_removed(only):
    check_records(remove_record(only, 0))


def test_long_records_are_distinguished():
    images = np.random.default_rng(0).random((20, 28, 28))
    check_records(remove_record(images, 3))
    other = images.copy()
    other[3, 14, 14] += 1e-9
    check_records(Neighbours(other, images, "replace_one"))
    with pytest.raises(NeighboursError):
        check_records(Neighbours(images.copy(), images, "replace_one"))


def test_forms_may_be_mixed():
    check_records(Neighbours([[30, 1.5], [50, 0.5]], NUMBERS, "add_remove"))
    check_records(Neighbours(NUMBERS.to_numpy()[:2], NUMBERS, "add_remove"))


def test_a_large_table_is_checked_fast():
    large = np.random.default_rng(0).normal(size=(200_000, 5))
    check_records(remove_record(large, 100_000))
