"""k-anonymous tables: what they promise by definition, on random tables."""

import math

import numpy as np
import pandas as pd
import pytest

from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.synthetic_data.anonymity import GeneralizedCells, global_recoding, mondrian


def random_table(seed, n=200):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 90, n),
            "zip": rng.choice([1, 2, 2, 2, 9], n),
            "sex": rng.choice(["f", "m"], n),
            "ill": rng.choice(list("abcdef"), n),
        }
    )


@pytest.mark.parametrize(("k", "diversity"), [(1, 1), (2, 1), (5, 3), (20, 4), (200, 1)])
def test_groups_have_k_people_and_l_values_and_partition_all_people(k, diversity):
    table = random_table(k)
    made = mondrian(table, ["age", "zip", "sex"], "ill", k=k, diversity=diversity)
    assert made.k >= k
    assert made.diversity >= diversity
    np.testing.assert_array_equal(made.locate(table), made.group)
    for group in range(made.n_groups):
        members = table[made.group == group]
        assert made.counts[group].sum() == len(members)
        assert members["age"].between(made.lower[group, 0], made.upper[group, 0]).all()
    assert len(made.to_frame()) == len(table)


def test_no_group_could_be_cut_further_by_one_attribute():
    made = mondrian(random_table(3), ["age"], "ill", k=10)
    ages = random_table(3)["age"]
    for group in range(made.n_groups):
        own = np.sort(ages[made.group == group].to_numpy())
        cuts = np.flatnonzero(np.diff(own) > 0) + 1
        best = cuts[np.abs(cuts - len(own) / 2).argmin()] if len(cuts) else 0
        assert min(best, len(own) - best) < 10


def test_unique_quasi_identifiers_are_halved_down_to_k():
    table = pd.DataFrame({"age": np.arange(64), "ill": ["x", "y"] * 32})
    assert mondrian(table, ["age"], "ill", k=4).sizes.tolist() == [4] * 16


def test_equal_quasi_identifiers_stay_together():
    made = mondrian(pd.DataFrame({"age": [5] * 9, "ill": list("abcabcabc")}), ["age"], "ill", k=2)
    assert (made.n_groups, made.k, made.diversity) == (1, 9, 3)
    assert made.entropy_diversity == pytest.approx(3.0)


def test_bands_are_what_they_say_and_hold_all():
    made = global_recoding(random_table(1), {"age": [0, 30, 60, 90], "zip": [1, 2, 10]}, "ill")
    assert set(made.to_frame()["age"]) == {"0-29", "30-59", "60-89"}
    np.testing.assert_array_equal(made.locate(random_table(1)), made.group)


def test_noisy_cells_count_each_person_once_and_move_as_the_noise_is_for():
    table = random_table(2)
    cells = GeneralizedCells({"age": [0, 45, 90], "zip": [1, 5, 10]}, "ill", tuple("abcdef"))
    counts = cells.table(cells.mechanism(1.0).answers(cells.records(table)))
    assert counts.shape == (4, 6)
    assert counts.sum() == len(table)
    assert counts[0, 0] == ((table["age"] < 45) & (table["zip"] < 5) & (table["ill"] == "a")).sum()
    assert (cells.mechanism(1.0).rate, cells.mechanism(1.0, "replace_one").rate) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("make", "argument", "said"),
    [
        (lambda t: mondrian(t, ["age"], "ill", k=201), "k", "at most the number of records, 200"),
        (lambda t: mondrian(t, ["age"], "ill", k=0), "k", "k must"),
        (lambda t: mondrian(t, ["age"], "ill", k=2, diversity=7), "diversity", "6"),
        (lambda t: mondrian(t, ["height"], "ill", k=2), "quasi_identifiers", "lacks 'height'"),
        (lambda t: mondrian(t, [], "ill", k=2), "quasi_identifiers", "at least one"),
        (lambda t: mondrian(t, "age", "ill", k=2), "quasi_identifiers", "in a list"),
        (lambda t: mondrian(t, ["age"], "illness", k=2), "sensitive", "lacks 'illness'"),
        (lambda t: mondrian(t.assign(age=math.nan), ["age"], "ill", k=2), "quasi_identifiers", "missing values"),
        (lambda t: mondrian(t[:0], ["age"], "ill", k=2), "table", "empty"),
        (lambda t: global_recoding(t, {"age": [0, 50]}, "ill"), "edges", "hold all records"),
        (lambda t: global_recoding(t, {"age": [50, 0]}, "ill"), "edges", "increasing"),
        (lambda t: GeneralizedCells({"age": [0, 90]}, "ill", ("a", "b")).records(t), "values", "lack c, d, e, f"),
    ],
)
def test_bad_input_is_named(make, argument, said):
    with pytest.raises(ParameterError, match=said) as caught:
        make(random_table(0))
    assert caught.value.argument == argument
