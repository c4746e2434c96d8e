"""Several tables joined by keys: the columns of a person, the leaks in relations, and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from tests.audit.metrics.table_risk import made_tables as made

from dpassay.audit.metrics import KeyedTable, TableKeys, risk, toss_table
from dpassay.mechanisms.accounting import PureDP
from dpassay.mechanisms.core import ParameterError

SHOP = TableKeys(
    "customers",
    {
        "items": KeyedTable(parent="orders"),
        "orders": KeyedTable(key="order", parent="customers", order="day"),
        "customers": KeyedTable(key="customer"),
    },
)


def sides(seed, n, share=0.0):
    rng = np.random.default_rng(seed)
    real, holdout = made.shop(rng, n), made.shop(rng, n, first=10**6)
    return real, made.copied_relations(rng, real, share), holdout


def small():
    """Return three persons: two, one and no visits, in the wrong order of days; the first visit has two tests."""
    visits = pd.DataFrame(
        {
            "visit": ["b", "a", "c"],
            "who": [7, 7, 8],
            "day": ["2024-01-11", "2024-01-01", "2024-03-01"],
            "ward": ["2", "1", "1"],
            "cost": [5.0, 7.0, np.nan],
        }
    )
    return {
        "persons": pd.DataFrame({"id": [7, 8, 9], "age": [30, 40, 50]}),
        "visits": visits,
        "tests": pd.DataFrame({"visit": ["a", "a"], "value": [1.5, 2.5]}),
    }


HOSPITAL = TableKeys(
    "persons",
    {
        "persons": KeyedTable(key="id"),
        "visits": KeyedTable(key="visit", parent="persons", foreign_key="who", order="day", categories=("ward",)),
        "tests": KeyedTable(parent="visits"),
    },
)


def test_the_columns_of_a_person_are_those_of_its_rows():
    joined = HOSPITAL.people(small(), small())
    table = joined["real"].set_index("id")
    first, second, third = (table.loc[number] for number in (7, 8, 9))
    assert (first["visits rows"], second["visits rows"], third["visits rows"]) == (2, 1, 0)
    days = [first[f"visits day: {which}"] - 19723 for which in ("min", "max")]
    assert days == [0, 10]
    assert [first[f"visits day gap: {which}"] for which in ("mean", "min", "max")] == [10, 10, 10]
    assert np.isnan(second["visits day gap: mean"])
    assert [first[f"visits cost: {which}"] for which in ("mean", "sum", "first", "last")] == [6, 12, 7, 5]
    assert [first[f"visits ward: {which}"] for which in ("sequence", "first", "last")] == ["1 > 2", "1", "2"]
    assert (first["visits ward: most frequent"], first["visits ward: values"]) == ("1", 2)
    assert [first[f"visits tests rows: {which}"] for which in ("first", "last", "sum")] == [2, 0, 2]
    assert first["tests value: mean"] == 2
    assert pd.isna(third["visits ward: first"])
    assert table["visits ward: first"].dtype == "category"
    assert joined["unit"] == "id"
    gaps = [f"visits day gap: {which}" for which in ("mean", "min", "max", "std")]
    assert joined["relations"]["visits gaps"] == ("visits rows", *gaps)
    assert joined["relations"]["visits sequences"] == ("visits ward: sequence",)
    assert "visits tests rows: first" in joined["relations"]["visits"]
    assert "tests" not in joined["relations"]


def test_the_order_of_the_files_tells_nothing():
    real, synthetic, holdout = sides(0, 80)
    for tables in (real, synthetic, holdout):
        tables["orders"]["day"] = tables["orders"]["day"].dt.year.astype(str)  # so that rows are tied
        tables["orders"].loc[tables["orders"]["amount"] < 10, "day"] = "1961"
    shuffled = {name: table.sample(frac=1.0, random_state=0) for name, table in real.items()}
    one, other = (SHOP.people(tables, synthetic, holdout) for tables in (real, shuffled))
    other["real"] = other["real"].sort_values("customer", ignore_index=True)
    pd.testing.assert_frame_equal(one["real"], other["real"], check_exact=True)


def test_no_success_depends_on_which_persons_are_real():
    real, synthetic, holdout = sides(1, 150, 0.2)
    one, other = risk(**SHOP.people(real, synthetic, holdout)), risk(**SHOP.people(holdout, synthetic, real))
    compared = [c for c in one.overall if c.attack.startswith("relation: ")]
    assert [c.attack for c in compared] == [f"relation: orders{kind}" for kind in ("", " gaps", " sequences")]
    for mine, theirs in zip(one.overall, other.overall, strict=True):
        if mine in compared:
            assert (mine.hits_real, mine.hits_holdout) == (theirs.hits_holdout, theirs.hits_real)


@pytest.mark.parametrize(("n_tables", "fewest"), [(1, 1), pytest.param(20, 18, marks=pytest.mark.slow)])
def test_copied_relations_with_new_attributes_are_found(n_tables, fewest):
    n_found = 0
    for seed in range(n_tables):
        result = risk(**SHOP.people(*sides([9, seed], 500, 0.05)))
        attacks = {found.attack for found in result.findings}
        n_found += "relation: orders" in attacks
        assert not attacks & {"copies", "near copies"}
        assert "orders alone" in result.text().answer or "relation: orders" not in attacks
    assert n_found >= fewest


@pytest.mark.parametrize("n_runs", [2, pytest.param(200, marks=pytest.mark.slow)])
def test_clean_tables_are_findings_within_the_level(n_runs):
    found = sum(risk(**SHOP.people(*sides([10, seed], 100)), confidence=0.8).leaks for seed in range(n_runs))
    assert binom.sf(found - 1, n_runs, 0.2) > 1e-6


def test_persons_are_the_units_of_coins():
    tables = made.shop(np.random.default_rng(0), 400)
    tossed = toss_table(tables["customers"], unit=SHOP.unit, seed=0)
    real, holdout = SHOP.split(tables, tossed.coins.included_ids)
    assert set(real["orders"]["customer"]) <= set(real["customers"]["customer"])
    assert len(real["items"]) + len(holdout["items"]) == len(tables["items"])
    assert set(real["items"]["order"]) == set(real["orders"]["order"])
    given = SHOP.people(real, {name: table[:] for name, table in real.items()}, holdout)
    result = risk(**given, coins=tossed.coins, claim=PureDP(2.0))
    assert result.verdict == "violation"
    assert result.audit.bound.n_trials == 400


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ({"visits": KeyedTable(parent="wards")}, "visits: unknown table 'wards'"),
        ({"visits": KeyedTable(key="visit")}, "visits must lead to persons, but has no parent"),
        ({"visits": KeyedTable(parent="persons"), "tests": KeyedTable(parent="visits")}, "visits must have a key"),
        (
            {"visits": KeyedTable(key="v", parent="tests"), "tests": KeyedTable(key="t", parent="visits")},
            "visits, tests and visits refer to each other",
        ),
        ({"persons": KeyedTable()}, "persons must have a key"),
        ({"persons": KeyedTable(key="id", order="age")}, "no parent and no order"),
        ({"persons": KeyedTable(key="id", parent="persons")}, "refer to each other"),
    ],
)
def test_keys_that_do_not_fit_are_refused(tables, problem):
    with pytest.raises(ParameterError, match=problem):
        TableKeys("persons", {"persons": KeyedTable(key="id"), **tables})
    with pytest.raises(ParameterError, match="unknown table 'people'"):
        TableKeys("people", {"persons": KeyedTable(key="id")})


def without(name):
    return lambda tables: {key: table for key, table in tables.items() if key != name}


def changed(name, change):
    return lambda tables: {**tables, name: change(tables[name])}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (without("tests"), "real: unknown table 'tests'"),
        (changed("visits", lambda table: table.drop(columns="who")), "visits of real: unknown column 'who'"),
        (changed("visits", lambda table: table.drop(columns="day")), "visits of real: unknown column 'day'"),
        (changed("visits", lambda table: table.drop(columns="cost")), "visits of synthetic must have the columns"),
        (changed("visits", lambda table: table.assign(day=list("xyz"))), "visits must have numbers or dates in day"),
        (changed("visits", lambda table: table.assign(who=[7, 8, 5])), "1 row .* another who, such as '5'"),
        (changed("visits", lambda table: table.assign(who=[7, 8, None])), "entry of who in each row, but row 3"),
        (changed("persons", lambda table: table.assign(id=[7, 8, 8])), "persons of real must have each id once"),
        (changed("visits", lambda table: table.assign(visit=["a", "a", "c"])), "must have each visit once"),
        (lambda tables: tables["persons"], "real must be a mapping"),
    ],
)
def test_tables_that_do_not_fit_are_refused(change, problem):
    synthetic = small()
    if "day" in problem and "have numbers" in problem:
        synthetic["visits"] = synthetic["visits"].assign(day=list("xyz"))
    with pytest.raises(ParameterError, match=problem):
        HOSPITAL.people(change(small()), synthetic)


def test_a_person_of_real_and_holdout_is_refused():
    with pytest.raises(ParameterError, match="share 3 values of id, such as '7'"):
        HOSPITAL.people(small(), small(), small())


def test_ignored_columns_are_left_out():
    keys = replace(
        HOSPITAL, tables={**HOSPITAL.tables, "visits": replace(HOSPITAL.tables["visits"], ignore=("cost", "ward"))}
    )
    assert not [name for name in keys.people(small(), small())["real"] if "cost" in name]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("person = ", "cannot be read as TOML"),
        ('person = "a"', "must have person"),
        ('person = "a"\n[tables.a]\nkeys = "id"', "tables.a: unknown name 'keys'. Did you mean 'key'"),
        ('person = "a"\n[tables.a]\nkey = ["id"]', "tables.a.key must be a name"),
        ('person = "a"\n[tables.a]\nkey = "id"\nignore = "b"', "tables.a.ignore must be a list of names"),
        ('person = "a"\n[tables]\na = 1', "tables.a must be a table"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path, text, problem):
    (tmp_path / "keys.toml").write_text(text)
    with pytest.raises(ParameterError, match=problem):
        TableKeys.load(tmp_path / "keys.toml")
