"""Datasets to learn from."""

import numpy as np
import pytest

from dpassay.experiments.config.sections import DataSection
from dpassay.experiments.config.tasks.build import load_data
from dpassay.experiments.data import examples
from dpassay.experiments.data.datasets import load
from dpassay.mechanisms.core import ParameterError


def section(**keys):
    return load_data(DataSection(**keys))


def test_a_table_splits_into_features_and_target():
    table = load("breast-cancer")
    X, y = section(name="breast-cancer", target="target")
    np.testing.assert_array_equal(X, table.drop(columns="target").to_numpy())
    np.testing.assert_array_equal(y, table["target"])
    assert section(name="wine", columns=["alcohol", "hue"], target="target")[0].shape == (178, 2)


def test_a_regression_keeps_its_real_targets():
    _, y = section(name="diabetes", target="target")
    np.testing.assert_array_equal(y, load("diabetes")["target"])


def test_texts_are_coded_by_rank():
    import pandas as pd

    table = pd.DataFrame({"colour": ["red", "blue", "red"], "size": [1, 2, 3], "label": ["b", "a", "b"]})
    X, y = examples.with_target(table, "label", name="t")
    assert X.tolist() == [[1, 1], [0, 2], [1, 3]]
    assert y.tolist() == [1, 0, 1]


def test_classes_are_renumbered_in_the_order_given():
    X, y = section(name="digits", classes=[8, 3])
    full, labels = load("digits")
    assert set(y) == {0, 1}
    np.testing.assert_array_equal(X[y == 0], full[labels == 8])
    np.testing.assert_array_equal(X[y == 1], full[labels == 3])


def test_scaled_columns_span_the_unit_interval_and_records_the_unit_ball():
    X, _ = section(name="breast-cancer", target="target", scale="columns")
    assert X.min(axis=0).tolist() == [0] * 30
    assert X.max(axis=0).tolist() == [1] * 30
    X, _ = section(name="breast-cancer", target="target", scale="records", n_records=100)
    assert len(X) == 100
    assert np.linalg.norm(X, axis=1).max() <= 1.0
    constant, _ = section(name="digits", scale="columns")
    assert np.isfinite(constant).all()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"name": "breast-cancer", "target": "tumour"}, "unknown column of dataset 'breast-cancer': 'tumour'"),
        ({"name": "digits", "target": "label"}, "is not a table: it has features and labels. Leave target out."),
        ({"name": "tax-survey", "scale": "columns"}, "scale needs features and labels"),
        ({"name": "digits", "classes": [1, 1]}, "classes must be different labels out of"),
        ({"name": "digits", "classes": [1, 12]}, "[1, 12]"),
        ({"name": "iris", "n_records": 500}, "n_records must be at most 150"),
    ],
)
def test_what_cannot_be_is_refused(keys, message):
    with pytest.raises(ParameterError) as caught:
        section(**keys)
    assert message in str(caught.value)
