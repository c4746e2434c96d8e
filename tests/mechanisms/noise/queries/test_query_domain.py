"""Domains of coded records: cells, histograms, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.noise.queries import Domain, check_memory

DOMAIN = Domain({"sex": 2, "age": 4, "race": 3})
RECORDS = np.random.default_rng(0).integers(0, DOMAIN.shape, size=(50, 3))


def test_cells_are_numbered_in_nested_loops():
    every = DOMAIN.records_in(np.arange(DOMAIN.n_cells))
    np.testing.assert_array_equal(every, np.array(list(np.ndindex(2, 4, 3))))
    np.testing.assert_array_equal(DOMAIN.cells(every), np.arange(24))
    np.testing.assert_array_equal(DOMAIN.cells(RECORDS, ["race", "sex"]), RECORDS[:, 2] * 2 + RECORDS[:, 0])


def test_histogram_is_numpys_for_one_table_and_for_many():
    expected = np.histogramdd(RECORDS, bins=[np.arange(n + 1) - 0.5 for n in DOMAIN.shape])[0]
    np.testing.assert_array_equal(DOMAIN.histogram(RECORDS), expected.ravel())
    tables = np.stack([RECORDS[:25], RECORDS[25:]])
    each = np.stack([DOMAIN.histogram(table) for table in tables])
    np.testing.assert_array_equal(DOMAIN.histogram(tables), each)


def test_columns_are_selected_by_name_in_tables_by_place_in_arrays():
    table = pd.DataFrame(RECORDS, columns=DOMAIN.names)
    np.testing.assert_array_equal(DOMAIN.records(table.assign(extra=0.5)[["race", "extra", "age", "sex"]]), RECORDS)
    np.testing.assert_array_equal(DOMAIN.records(RECORDS.astype(float)), RECORDS)
    assert DOMAIN.records([]).shape == (0, 3)
    assert Domain({"age": 4}).records([3, 1]).tolist() == [[3], [1]]


def test_projection_keeps_the_given_order():
    assert DOMAIN.project(["race", "sex"]).attributes == (("race", 3), ("sex", 2))
    assert (DOMAIN.index("race"), DOMAIN.n_cells) == (2, 24)
    assert Domain({f"a{i}": 10 for i in range(30)}).n_cells == 10**30


def changed(column: str, row: int, value: object) -> pd.DataFrame:
    table = pd.DataFrame(RECORDS, columns=DOMAIN.names).astype(object)
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Domain({}), "attributes must have distinct names"),
        (lambda: Domain([("a", 2), ("a", 3)]), "attributes must have distinct names"),
        (lambda: Domain({"a": 0}), "number of values of a must be a whole number >= 1"),
        (lambda: Domain(["sex", "age"]), "attributes must have a name and a number of values each"),
        (lambda: Domain(3), "attributes must have a name and a number of values each"),
        (lambda: DOMAIN.index("rice"), "Did you mean 'race'"),
        (lambda: DOMAIN.project(["sex", "sex"]), "distinct names"),
        (lambda: DOMAIN.records(RECORDS[:, :2]), "one column for each of sex, age, race, but has shape"),
        (
            lambda: DOMAIN.records(changed("age", 0, 1).drop(columns="race")),
            "lacks an attribute of the domain: unknown column 'race'",
        ),
        (lambda: DOMAIN.records([[0, 1, 2], [0]]), "one column for each of sex, age, race, but has shape"),
        (lambda: DOMAIN.records(changed("age", 7, 4)), "0 to 3, in column 'age', but is 4 in row 7"),
        (lambda: DOMAIN.records(changed("age", 7, -1)), "in column 'age', but is -1 in row 7"),
        (lambda: DOMAIN.records(changed("age", 9, np.nan)), "nan in row 9. Give missing values a separate code"),
        (lambda: DOMAIN.records(changed("sex", 9, None)), "None in row 9. Give missing values a separate code"),
        (lambda: DOMAIN.records(changed("age", 3, 1.5)), "1.5 in row 3. Give its bins: numpy.digitize"),
        (lambda: DOMAIN.records(changed("sex", 3, "female")), "female in row 3. Code the values: pandas.Categorical"),
        (lambda: check_memory(10**10, "a histogram"), "10,000,000,000 numbers would take 80.0 GB"),
        (lambda: Domain({f"a{i}": 10 for i in range(30)}).histogram(np.zeros((1, 30), int)), "GB are taken"),
        (lambda: Domain({f"a{i}": 10 for i in range(30)}).cells(np.zeros((1, 30), int)), "Give fewer attributes"),
    ],
)
def test_non_codes_are_refused_with_column_and_row(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
