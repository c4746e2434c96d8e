import json
from dataclasses import replace
from functools import cache
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, hypergeom
from tests.audit.metrics.table_risk import made_tables as made

from dpassay.audit.metrics import RiskResult, risk
from dpassay.audit.metrics.table_risk.agreements import agreement_p_value
from dpassay.audit.metrics.table_risk.descriptions import EXPECTED_MATCHES, PER_ROW, singled_out
from dpassay.audit.metrics.table_risk.holdout import check_holdout
from dpassay.audit.metrics.table_risk.identifying import identifying_columns
from dpassay.audit.metrics.table_risk.risk import _memorised
from dpassay.audit.metrics.table_risk.splits import due_to_use, fewest_hits, p_value
from dpassay.audit.metrics.table_risk.successes import AttackedRecords, distances
from dpassay.audit.metrics.table_risk.tables import read_tables
from dpassay.audit.results.saved import digest
from dpassay.mechanisms.core import ParameterError


def rng_of(seed):
    return np.random.default_rng(seed)


@cache
def risk_of_copies(n, n_copies):
    """Return the risk of a table with copies of the first records: many tests ask about the same tables."""
    return risk(*made.copies(rng_of(0), n, n_copies / n))


def found(result):
    return {(c.attack, c.group) for c in result.findings}


def test_the_p_value_is_that_of_all_splits():
    hits = np.array([1, 1, 1, 0, 0, 0, 1, 0])
    rng = rng_of(0)
    as_many = np.mean([rng.permutation(hits)[:4].sum() >= 3 for _ in range(20_000)])
    assert p_value(3, 4, 1, 4) == pytest.approx(as_many, abs=0.015)


def test_records_due_to_use_are_covered_for_every_number_of_hits_by_chance():
    n_real, n_holdout, due, confidence = 30, 20, 6, 0.8
    for by_chance in range(20):
        k = np.arange(n_real - due + 1)
        weights = hypergeom.pmf(k, n_real + n_holdout, by_chance, n_real)
        limits = [
            due_to_use(i + due, n_real, max(by_chance - i, 0), n_holdout, confidence) if weight > 0 else (0, 1)
            for i, weight in zip(k, weights, strict=True)
        ]
        missed = [not low * n_real - 1e-9 <= due <= high * n_real + 1e-9 for low, high in limits]
        assert weights @ missed <= 1 - confidence + 1e-9


def test_the_fewest_hits_are_significant_and_one_less_is_not():
    k = fewest_hits(300, 100, 0.01)
    assert p_value(k, 300, 0, 100) <= 0.01 < p_value(k - 1, 300, 0, 100)
    assert fewest_hits(10, 10, 1e-9) is None


def linked_one_by_one(tables):
    """Return the linked records by the definition, one row and one distance at a time."""
    names, rows, records = list(tables.domain), tables.synthetic, tables.pooled

    def nearest(row, half):
        distance = np.zeros(len(records))
        for at, column in enumerate(tables.point_columns):
            if column in half:
                distance += np.abs(records.points[:, at] - rows.points[row, at])
        for at, column in enumerate(tables.category_columns):
            if column in half:
                distance += records.categories[:, at] != rows.categories[row, at]
        return set(np.flatnonzero(distance <= distance.min() + 1e-12))

    linked = set()
    for row in range(len(rows)):
        both = nearest(row, range(0, len(names), 2)) & nearest(row, range(1, len(names), 2))
        linked |= both if len(both) == 1 else set()
    return sorted(linked)


@pytest.mark.parametrize("make", [made.clean, made.clean_answers])
def test_links_are_those_of_each_row(make):
    real, synthetic, holdout = make(rng_of(0), 120)
    synthetic = pd.concat([real[:5], synthetic[:60]])
    if make is made.clean:
        real.loc[::7, "bmi"] = np.nan
    tables = read_tables(real, synthetic, holdout, ())
    linked, _ = AttackedRecords(tables, np.arange(240)).linked()
    assert np.flatnonzero(linked).tolist() == linked_one_by_one(tables)


@pytest.mark.parametrize("n", [100, 500])
def test_descriptions_of_independent_rows_fit_as_few_records_as_intended(n):
    rng, d = rng_of(0), 5
    records, rows = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    found = singled_out(records, rows, np.ones(d, dtype=bool), rng)
    assert binom.sf(found.sum() - 1, n * PER_ROW, EXPECTED_MATCHES) > 1e-6
    copied = singled_out(records, np.vstack([rows, records[:10]]), np.ones(d, dtype=bool), rng)
    assert copied[:10].all()


def test_a_value_that_many_records_have_singles_out_none_of_them():
    rng = rng_of(0)
    records = np.column_stack([rng.integers(5, size=300), np.arange(300) % 7, np.repeat([0, 1], 150)]).astype(float)
    assert not singled_out(records, records[:50], np.array([True, True, False]), rng).any()


def test_labels_do_not_change_who_is_singled_out_or_linked():
    real, synthetic, holdout = made.copies(rng_of(0), 150, 0.3)
    one, other = (
        AttackedRecords(read_tables(*t, ()), np.arange(300))
        for t in ((real, synthetic, holdout), (holdout, synthetic, real))
    )
    swapped = np.concatenate([np.arange(150, 300), np.arange(150)])
    assert np.array_equal(one.singled_out(0)[0], other.singled_out(0)[0][swapped])
    assert np.array_equal(one.linked()[0], other.linked()[0][swapped])


def test_types_are_inferred_from_numbers_dates_names_and_missing_entries():
    rng = rng_of(0)
    real, synthetic, holdout = made.clean(rng, 120)
    for table in (real, synthetic, holdout):
        table["name"] = [f"person {i}" for i in rng.integers(10**9, size=120)]
        table["country"] = "nowhere"
        table.loc[::5, "bmi"] = np.nan
    tables = read_tables(real.astype(str).replace("nan", ""), synthetic, holdout, ())
    kinds = {column.name: column.kind for column in tables.columns}
    assert kinds == {
        "age": "number",
        "income": "number",
        "bmi": "number",
        "sex": "category",
        "place": "category",
        "born": "date",
        "name": "identifier",
        "country": "constant",
    }
    assert {column.name: column.missing for column in tables.columns}["bmi"] == pytest.approx(0.2)


def test_named_categories_are_read_as_text():
    """The code 3 is the same in a column of integers, of floats (as missing entries make it) and of texts."""
    rng = rng_of(0)
    coded, named = (list(made.clean(rng_of(0), 120)) for _ in range(2))
    for code, text in zip(coded, named, strict=True):
        code["region"] = rng.integers(1, 9, size=120)
        text["region"] = "region " + code["region"].astype(str)
    assert dict(read_tables(*coded, ()).domain)["region"] == 8
    assert "region" in read_tables(*coded, ()).ordered
    coded[1]["region"] = coded[1]["region"].astype(float).astype(str)
    tables, expected = read_tables(*coded, (), ["region"]), read_tables(*named, ())
    assert [column.kind for column in tables.columns] == [column.kind for column in expected.columns]
    assert tables.labels["region"] == [str(code) for code in range(1, 9)]
    for one, other in ((tables.pooled, expected.pooled), (tables.synthetic, expected.synthetic)):
        assert all(np.array_equal(a, b) for a, b in zip(vars(one).values(), vars(other).values(), strict=True))
    groups = {c.group for c in risk(*coded, categories=["region"]).parts}
    assert groups >= {f"region = {code}" for code in range(1, 9)}


def test_named_categories_of_mostly_distinct_numbers_are_identifiers():
    tables = made.clean(rng_of(0), 120)
    numbers = rng_of(1).permutation(10**6)
    for i, table in enumerate(tables):
        table["number"] = numbers[120 * i : 120 * (i + 1)]
    kinds = {column.name: column.kind for column in read_tables(*tables, (), ["number"]).columns}
    assert kinds["number"] == "identifier"


OLD_PANDAS = pytest.mark.skipif(int(pd.__version__.partition(".")[0]) < 3, reason="reads 1e400 as text")


@pytest.mark.parametrize("infinity", [np.inf, -np.inf, "inf", pytest.param("1e400", marks=OLD_PANDAS)])
def test_a_column_of_numbers_with_an_infinite_one_is_refused(infinity):
    tables = dict(zip(("real", "synthetic", "holdout"), made.clean(rng_of(0), 120), strict=True))
    for name, table in tables.items():
        damaged = table.assign(bmi=table["bmi"].astype(object))
        damaged.loc[3, "bmi"] = infinity
        message = refused(name, **tables | {name: damaged})
        assert f"finite numbers in bmi, but row 4 has {infinity}" in message
    kinds = {
        column.name: column.kind for column in read_tables(*(tables | {name: damaged}).values(), (), ["bmi"]).columns
    }
    assert kinds["bmi"] == "identifier"


def test_labels_do_not_change_the_encoding():
    real, synthetic, holdout = made.clean(rng_of(0), 120)
    one, other = read_tables(real, synthetic, holdout, ()), read_tables(holdout, synthetic, real, ())
    swapped = np.concatenate([np.arange(120, 240), np.arange(120)])
    assert np.array_equal(one.pooled.codes, other.pooled.codes[swapped])
    assert np.array_equal(one.synthetic.points, other.synthetic.points)


def test_copies_are_found_and_their_interval_covers_the_share():
    result = risk_of_copies(400, 20)
    (copies,) = (c for c in result.overall if c.attack == "copies")
    assert ("copies", "all records") in found(result)
    assert ("membership", "all records") in found(result)
    assert copies.hits_real == 20
    assert copies.lower <= 0.05 <= copies.upper
    assert result.membership.tpr > 0.04
    assert {e.row for e in result.exposed if e.exact} <= set(range(1, 21))


def test_the_most_remote_of_all_copies_are_listed():
    """The copies that are not under attack are 300 records in order, the last of which is far from all others."""
    rng = rng_of(1)
    real, holdout, synthetic = (pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc")) for n in (400, 400, 100))
    real.iloc[-1] = [40.0, -40.0, 40.0]
    result = risk(real, pd.concat([synthetic, real.iloc[100:]]), holdout, n_attacked=100)
    assert result.exposed[0].row == 400
    assert result.n_exposed >= 300


@pytest.mark.parametrize("n", [100, 200])
def test_as_many_copies_as_the_report_says_are_a_finding_and_one_less_is_not(n):
    fewest = risk(*made.clean(rng_of(0), n)).fewest
    for k in (fewest, fewest - 1):
        result = risk_of_copies(n, k)
        assert result.fewest == fewest
        assert (("copies", "all records") in found(result)) == (k == fewest)


def test_a_leaked_group_is_the_worst_group():
    result = risk(*made.group(rng_of(0), 400))
    assert ("near copies", "place = c") in found(result)
    assert result.worst_group.group == "place = c"
    assert result.worst_group.lower > 0.8


@pytest.mark.parametrize("n_copies", [1, 2, 3, 5])
def test_three_memorised_records_are_a_finding_and_fewer_are_facts(n_copies):
    result = risk_of_copies(300, n_copies)
    assert all(c.attack == "membership" for c in result.findings)
    assert result.memorised_by_assumption == (n_copies >= 3)
    assert result.safe_so_far == (n_copies < 3)
    assert result.memorised.columns == ("income", "bmi", "born")
    counts = result.memorised
    assert (counts.n_real, counts.n_holdout, counts.n_record_pairs, counts.n_row_pairs) == (n_copies, 0, 0, 0)
    text = "Assumed: records and rows are independent draws" if n_copies >= 3 else "so do 0 pairs of records"
    assert text in result.summary()


def test_agreements_take_a_tenth_of_the_error_and_comparisons_the_rest(monkeypatch):
    result = risk_of_copies(300, 3)
    p = agreement_p_value(3, 300, 300, 300)
    assert result.memorised.p_value == p
    assert replace(result, confidence=1 - 10.01 * p).memorised_by_assumption
    assert not replace(result, confidence=1 - 9.99 * p).memorised_by_assumption
    tables = made.copies(rng_of(0), 150, 0.2)
    shared = risk_of_copies(150, 30).overall
    monkeypatch.setattr(import_module("dpassay.audit.metrics.table_risk.risk"), "CONTINUOUS_SHARE", 0.0)
    for one, other in zip(shared, risk(*tables).overall, strict=True):
        assert one.p_adjusted == pytest.approx(min(1.0, other.p_adjusted / 0.9), rel=1e-9, abs=0.0)
    assert shared[0].p_adjusted < 0.05


def test_a_memorised_outlier_is_a_fact_and_first_in_the_list():
    result = risk(*made.outlier(rng_of(0), 300))
    assert result.safe_so_far
    first = result.exposed[0]
    assert (first.row, first.exact, first.nearby) == (8, True, 0)


@pytest.mark.parametrize("other", ["holdout", "records", "rows"])
def test_an_agreement_of_others_makes_agreements_a_fact(other):
    real, synthetic, holdout = made.copies(rng_of(0), 100, 5 / 100)
    columns = ["income", "bmi", "born"]
    if other == "holdout":
        synthetic.loc[10, columns] = holdout.loc[10, columns]
    elif other == "records":
        real.loc[20, columns] = holdout.loc[20, columns]
    else:
        synthetic.loc[20, columns] = synthetic.loc[21, columns]
    assert risk(real, synthetic, holdout).memorised.p_value == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("make", [made.sums, made.addresses, made.shared, made.repeated])
def test_agreements_of_clean_tables_are_findings_as_rarely_as_stated(make):
    """Agreements of these laws are as frequent as makes the error large, whatever columns depend on each other."""
    n_tables, alarms, single, limit = 400, 0, 0, agreement_p_value(3, 60, 60, 60)
    for seed in range(n_tables):
        found = _memorised(read_tables(*make(rng_of(seed), 60), ()), seed)
        alarms += found.p_value <= limit
        single += found.n_real > 0 and found.n_holdout == 0
    assert binom.sf(alarms - 1, n_tables, limit) > 1e-6
    assert make is made.repeated or binom.sf(single - 1, n_tables, 0.05) < 1e-6, "one agreement would be found often"


def test_a_clean_table_has_no_finding():
    for tables in (made.clean(rng_of(0), 150), made.clean_answers(rng_of(0), 150)):
        result = risk(*tables)
        assert result.safe_so_far
        assert result.text().headline == "No leak found"


def test_without_a_holdout_there_are_facts_and_no_finding():
    real, synthetic, _ = made.copies(rng_of(0), 300, 0.3)
    result = risk(real, synthetic)
    assert not result.findings
    assert not result.leaks
    assert not result.safe_so_far
    assert result.fewest is None
    assert result.overall[0].hits_real == 90
    assert (
        result.text().headline == "No verdict, because there is no holdout; 90 of 300 real records stand in the table"
    )
    assert "leaked" not in result.text().table.head


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_table_that_is_the_real_one_leaks_all_records(shuffled):
    real, _, holdout = made.clean(rng_of(0), 150)
    result = risk(real, real.sample(frac=1, random_state=1) if shuffled else real, holdout)
    assert result.leaks
    assert "150 (100 %) of the real records stand in the synthetic table" in result.text().answer


def test_small_tables_are_compared():
    """Twelve copies in 75 records have p = 1.5e-4."""
    real, synthetic, holdout = made.copies(rng_of(0), 75, 12 / 75)
    result = risk(real, synthetic, holdout)
    assert ("copies", "all records") in found(result)
    assert result.overall[0].p_value == pytest.approx(1.5e-4, rel=0.1)
    assert result.membership is None
    for n in (2, 3, 6, 12):
        assert risk(*made.clean(rng_of(n), n)).safe_so_far


def test_identifiers_in_the_table_are_found():
    rng = rng_of(0)
    tables = made.clean(rng, 200)
    for table in tables:
        table["name"] = [f"person {i}" for i in rng.integers(10**9, size=200)]
    tables[1].loc[:19, "name"] = tables[0].loc[:19, "name"]
    assert ("identifiers", "all records") in found(risk(*tables))


def test_a_result_is_read_back_as_it_was():
    result = risk_of_copies(150, 30)
    assert RiskResult.from_json(result.to_json()) == result
    assert "What this cannot tell" in result.summary()
    assert len(result.to_frame()) == len(result.comparisons)


def refused(argument, *tables, **options):
    with pytest.raises(ParameterError) as caught:
        risk(*tables, **options)
    assert caught.value.argument == argument
    return str(caught.value)


def test_unusable_tables_are_refused_with_the_reason():
    real, synthetic, holdout = made.clean(rng_of(0), 200)
    assert "rows of real" in refused("holdout", real, synthetic, real)
    assert "rows of synthetic" in refused("holdout", real, synthetic, synthetic)
    overlap = pd.concat([holdout[:150], real[:50]])
    assert "50 of its 200" in refused("holdout", real, synthetic, overlap)
    assert "at least 2 rows" in refused("real", real[:1], synthetic, holdout)
    assert "lacks bmi" in refused("synthetic", real, synthetic.drop(columns="bmi"), holdout)
    assert "adds x" in refused("holdout", real, synthetic, holdout.assign(x=1))
    assert "is empty" in refused("real", real[:0], synthetic, holdout)
    assert "DataFrame" in refused("real", real.to_numpy(), synthetic, holdout)
    assert "ignore: unknown column 'nothing'. Known: age" in refused(
        "ignore", real, synthetic, holdout, ignore=["nothing"]
    )
    assert "name compared columns" in refused("categories", real, synthetic, holdout, categories=["nothing"])
    assert "be one of" in refused("secrets", real, synthetic, holdout, secrets=["nothing"])


def test_records_that_agree_by_chance_are_no_overlap():
    risk(*made.clean_answers(rng_of(1), 300))


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [made.clean, made.clean_answers, made.sums, made.addresses, made.shared, made.repeated]
)
def test_clean_tables_have_findings_no_more_often_than_stated(make):
    n_tables, n_found, n_refused = 200, 0, 0
    for seed in range(n_tables):
        try:
            n_found += risk(*make(rng_of(seed), 150), confidence=0.8).leaks
        except ParameterError as error:  # 1 in 1,000 splits looks like one by units
            n_refused += "split off by account" in str(error)
    assert binom.sf(n_found - 1, n_tables, 0.2) > 1e-6
    assert binom.sf(n_refused - 1, n_tables, 0.001) > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_planted_copies_are_found_in_every_table(share):
    for seed in range(20):
        assert ("copies", "all records") in found(risk(*made.copies(rng_of(seed), 400, share)))


@pytest.mark.slow
def test_one_copy_in_a_hundred_is_found_in_every_table():
    for seed in range(20):
        assert risk(*made.copies(rng_of(seed), 300, 0.01)).memorised_by_assumption


@pytest.mark.slow
def test_a_leaked_group_is_linked_in_every_table():
    for seed in range(10):
        assert ("linked", "place = c") in found(risk(*made.group(rng_of(seed), 400)))


@pytest.mark.slow
def test_half_copied_records_are_singled_out_as_often_as_computed():
    """Three of six columns are copied: of the descriptions with 1 to 6 random columns, 1/5 of those with two and 1/20
    of those with three use copied columns only. They are narrow and fit no other record, but for ties in two columns
    (at most 5 %). With three holdout records singled out on average a table without a finding has probability 1e-11.
    """
    n, n_copied, n_tables = 1_000, 300, 10
    each = 0.95 * (1 / 5 + 1 / 20) / 6
    fewest = binom.ppf(1e-6 / n_tables, n_copied, 1 - (1 - each) ** PER_ROW)
    for seed in range(n_tables):
        result = risk(*made.half_copies(rng_of(seed), n, n_copied / n))
        (singled,) = (c for c in result.overall if c.attack == "singled out")
        assert singled.hits_real >= fewest
        assert ("singled out", "all records") in found(result)
        assert ("copies", "all records") not in found(result)


OTHERWISE = {
    "a number of the row": (
        lambda t, start: t.assign(row=np.arange(start, start + len(t))),
        "holdout must be split off",
    ),
    "the name of the table": (lambda t, start: t.assign(part=f"part {min(start, 1)}"), "holdout must be split off"),
    "other codes": (lambda t, start: t.assign(sex=t["sex"].str.upper()) if start == 400 else t, "categories of real"),
    "other decimals": (
        lambda t, start: t.assign(bmi=t["bmi"].astype(str).str.replace(".", ",")) if start == 400 else t,
        "must have numbers in bmi",
    ),
}
"""Name -> function of a table and the number of its first row, 0 in real, 200 in holdout, 400 in synthetic; message."""


@pytest.mark.parametrize(("change", "message"), OTHERWISE.values(), ids=OTHERWISE)
def test_tables_that_write_or_number_their_rows_otherwise_are_refused(change, message):
    real, synthetic, holdout = made.copies(rng_of(0), 200, 0.5)
    with pytest.raises(ParameterError, match=message):
        risk(change(real, 0), change(synthetic, 400), change(holdout, 200))


def test_a_random_split_is_refused_at_most_at_the_level(monkeypatch):
    monkeypatch.setattr("dpassay.audit.metrics.table_risk.holdout.SPLIT_LEVEL", 0.2)
    monkeypatch.setattr("dpassay.audit.metrics.table_risk.holdout._units_show", lambda *_: False)
    rng, n, refused = rng_of(2), 30, 0
    for _ in range(n):
        pooled, synthetic = made.people(rng, 220), made.people(rng, 20)
        try:
            check_holdout(read_tables(pooled[:100], synthetic, pooled[100:], ()), by_row=True)
        except ParameterError as error:
            refused += "split off" in str(error)
    assert refused <= binom.isf(1e-6, n, 0.2)


def test_dates_with_the_day_first_agree_with_those_of_the_year_first():
    real, synthetic, holdout = made.copies(rng_of(1), 200, 0.5)
    real["born"], holdout["born"] = (t["born"].dt.strftime("%d.%m.%Y") for t in (real, holdout))
    assert risk(real, synthetic.assign(born=synthetic["born"].dt.strftime("%Y-%m-%d")), holdout).overall[0].real == 0.5


def test_the_largest_numbers_have_distances():
    real, synthetic, holdout = (
        t.assign(bmi=np.where(t["sex"] == "f", 1.0, -1.0) * 1.7e308) for t in made.copies(rng_of(3), 200, 0.5)
    )
    attacked = AttackedRecords(read_tables(real, synthetic, holdout, ()), np.arange(400))
    assert np.isfinite(attacked.ratio).all()


def written(tables, column, write):
    """Return tables with a column written otherwise: a function of the entry and the number of the table."""
    return [t.assign(**{column: [write(entry, i) for entry in t[column]]}) for i, t in enumerate(tables)]


def kinds_of(tables, **options):
    return {column.name: column.kind for column in read_tables(*tables, (), **options).columns}


def german(x):
    return f"{x:,.2f}".translate(str.maketrans(",.", ".,"))


@pytest.mark.parametrize(
    "write", [lambda x, _: f"{x:,.2f}", lambda x, _: german(x), lambda x, _: f"{x:.2f}".replace(".", ",")]
)
def test_numbers_with_commas_are_those_without(write):
    tables = made.copies(rng_of(0), 120, 0.3)
    tables[0].loc[3, "income"] = 1_234_567.25
    one, other = read_tables(*tables, ()), read_tables(*written(tables, "income", write), ())
    assert np.array_equal(one.pooled.points, other.pooled.points)
    assert np.array_equal(one.synthetic.exact, other.synthetic.exact)


def test_tables_with_commas_and_without_are_refused():
    tables = made.clean(rng_of(0), 120)
    for write in (
        lambda x, i: f"{x:,.0f}" if i == 1 else f"{x:.0f}",
        lambda x, i: f"{x:.3f}".replace(".", "," if i else "."),
    ):
        with pytest.raises(ParameterError, match="must have numbers in income"):
            read_tables(*written(tables, "income", write), ())


def test_codes_with_leading_zeros_are_no_quantities():
    tables = written(made.clean(rng_of(0), 120), "age", lambda age, _: f"{int(age):05}")
    assert kinds_of(tables)["age"] == "category"


def test_bytes_are_text_or_refused():
    tables = made.clean(rng_of(0), 120)
    for other in (
        written(tables, "sex", lambda sex, _: sex.encode()),
        written(tables, "sex", lambda s, i: s.encode() if i else s),
    ):
        assert kinds_of(other) == kinds_of(tables)
        assert np.array_equal(read_tables(*other, ()).pooled.exact, read_tables(*tables, ()).pooled.exact)
    assert "no UTF-8 text" in refused("real", *written(tables, "sex", lambda sex, _: sex.encode() + b"\xff"))


def by_unit(rng, n_units, rows, make):
    """Return real, synthetic and holdout tables of units with several rows each, and clean synthetic rows."""

    def draw(start):
        of = np.repeat(np.arange(n_units), rows)
        return make(rng, of).assign(unit=[f"unit {start + i}" for i in of])

    return draw(0), draw(n_units), draw(2 * n_units)


def transactions(rng, of):
    """Return transactions of accounts, which are alike within an account."""
    base, branch = rng.normal(size=of.max() + 1), rng.integers(8, size=of.max() + 1)
    amount = np.exp(3 + base[of] + 0.5 * rng.normal(size=len(of)))
    return pd.DataFrame({"amount": amount.round(2), "balance": (1e3 * base[of]).round(), "branch": branch[of]})


def visits(rng, of):
    """Return visits of persons."""
    age, height = rng.integers(18, 90, of.max() + 1), rng.normal(170, 10, of.max() + 1)
    return pd.DataFrame(
        {
            "age": age[of],
            "height": (height[of] + rng.normal(0, 0.2, len(of))).round(1),
            "pulse": rng.integers(55, 90, len(of)),
        }
    )


def flats(rng, of):
    """Return flats of places, whose rents differ."""
    level = rng.normal(size=of.max() + 1)
    return pd.DataFrame(
        {"rent": (900 + 200 * level[of] + 40 * rng.normal(size=len(of))).round(), "rooms": rng.integers(1, 6, len(of))}
    )


UNITS = {"account": (40, 5, transactions), "person": (60, 3, visits), "place": (12, 15, flats)}


@pytest.mark.parametrize("kind", UNITS)
def test_a_split_by_a_unit_is_refused_until_the_unit_is_named(kind):
    tables = by_unit(rng_of(0), *UNITS[kind])
    assert "unit, as unit (--unit on the command line)" in refused("holdout", *tables)
    result = risk(*tables, unit="unit")
    assert result.safe_so_far
    assert {c.n_real for c in result.overall} == {UNITS[kind][0]}
    assert "unit" not in {column.name for column in result.columns}


def test_a_split_by_rows_is_refused_as_rarely_as_stated():
    """Units of accounts, whose rows were split one by one."""
    refusals, n = 0, 20
    for seed in range(n):
        real, synthetic, holdout = by_unit(rng_of(seed), 20, 5, transactions)
        pooled = pd.concat([real, holdout]).drop(columns="unit").sample(frac=1, random_state=seed)
        try:
            check_holdout(read_tables(pooled[:100], synthetic.drop(columns="unit"), pooled[100:], ()), by_row=True)
        except ParameterError:
            refusals += 1
    assert binom.sf(refusals - 1, n, 0.001) > 1e-6


def test_a_unit_succeeds_if_one_of_its_rows_does():
    real, synthetic, holdout = by_unit(rng_of(0), 40, 5, transactions)
    columns = ["amount", "balance", "branch"]
    synthetic.loc[:59, columns] = real.loc[:59, columns]  # all rows of twelve accounts
    synthetic.loc[60, columns] = real.loc[100, columns]
    result = risk(real, synthetic.drop(columns="unit"), holdout, unit="unit")
    copies = result.overall[0]
    assert (copies.hits_real, copies.n_real, copies.hits_holdout, copies.n_holdout) == (13, 40, 0, 40)
    assert copies.p_value == pytest.approx(hypergeom.sf(12, 80, 13, 40))
    assert "of the real units (unit) have records that stand in" in result.text().answer
    assert RiskResult.from_json(result.to_json()) == result


def test_units_that_name_no_split_are_refused():
    real, synthetic, holdout = by_unit(rng_of(0), 40, 5, transactions)
    assert "unknown column 'branches'" in refused("unit", real, synthetic, holdout, unit="branches")
    assert "share 8 values of branch" in refused("unit", real, synthetic, holdout, unit="branch")
    missing = holdout.assign(unit=holdout["unit"].mask(holdout.index == 6))
    assert "row 7 has none" in refused("unit", real, synthetic, missing, unit="unit")


@pytest.mark.slow
@pytest.mark.parametrize("kind", UNITS)
def test_splits_by_units_are_detected_in_every_table_and_compared_at_the_level(kind):
    n_tables, leaks = 20, 0
    for seed in range(n_tables):
        tables = by_unit(rng_of(seed), *UNITS[kind])
        assert "another unit" in refused("holdout", *tables)
        leaks += risk(*tables, unit="unit", confidence=0.8).leaks
    assert binom.sf(leaks - 1, n_tables, 0.2) > 1e-6


def test_findings_about_the_same_records_are_one_leak_with_its_columns():
    rng = rng_of(0)

    def draw(n):
        return pd.DataFrame(
            {
                "age": rng.integers(18, 90, n),
                "income": rng.lognormal(10, 0.6, n).round(0),
                "sex": rng.choice(["f", "m"], n),
                "region": rng.choice(["north", "south"], n),
            }
        )

    real, holdout = draw(400), draw(400)
    copies = risk(real, pd.concat([draw(370), real[:30]]), holdout)
    assert len(copies.findings) > 5
    assert [cause.attack for cause in copies.causes] == ["copies"]
    assert copies.causes[0].n_records == 30
    assert set(range(1, 31)) == {record.row for record in copies.found if "copies" in record.attacks}
    assert "draws from the records" in copies.text().next_steps[0]
    pairs = draw(400)
    pairs[["age", "income"]] = real[["age", "income"]]
    kept = risk(real, pairs, holdout)
    (cause,) = (cause for cause in kept.causes if cause.attack == "singled out")
    assert cause.columns == ("age", "income")
    assert "Round or bin age and income" in " ".join(kept.text().next_steps)
    assert len(kept.text().next_steps) <= 2
    assert kept.records_frame(real)["income"].tolist() == [real["income"].iloc[r.row - 1] for r in kept.found]


def test_every_finding_names_the_columns_that_identify_its_records_or_says_that_it_cannot():
    rng = rng_of(0)

    def draw(n):
        numbers = {"age": rng.integers(18, 90, n), "income": rng.lognormal(10, 0.6, n).round(2)}
        names = {"id": [f"{number:08x}" for number in rng.integers(0, 2**32, n)]}
        return pd.DataFrame(numbers | {"sex": rng.choice(["f", "m"], n), "year": rng.integers(1940, 1960, n)} | names)

    real, holdout, table = draw(300), draw(300), draw(300)
    table.iloc[:40] = real.iloc[:40]
    result = risk(real, table, holdout)
    (cause,) = result.causes
    assert (cause.attack, cause.columns, cause.n_by, cause.n_examined) == ("copies", ("income",), 40, 40)
    named = {finding.attack: finding for finding in result.each}
    attacks = {"copies", "near copies", "singled out", "linked", "membership", "identifiers", "inferred: age"}
    assert attacks <= named.keys()
    for attack in ("copies", "near copies", "linked"):
        assert (named[attack].columns, named[attack].alone) == (("income",), True)
        assert 40 == named[attack].n_by <= named[attack].n_records
    assert "income" in named["singled out"].columns
    assert named["identifiers"].columns == ("id",)
    assert named["inferred: age"].n_by == 0
    text = result.text()
    assert "They are identified most often by income alone (40 of 40 records)." in text.answer
    (section,) = (section for section in text.details if section.title == "Findings of each leak")
    rows = {row[0]: row[1:] for _, row in section.table.rows}
    assert (rows["copies"], rows["linked"][0]) == (("income alone", "40 of 40 records"), "income alone")
    assert rows["inferred: age"] == ("not known", f"{named['inferred: age'].n_records} records")
    assert all("income" in record.columns for record in result.found if "copies" in record.attacks)
    assert RiskResult.from_json(result.to_json()) == result


@pytest.mark.parametrize("seed", range(4))
def test_a_row_is_nearer_to_its_record_than_to_any_other_by_the_identifying_columns_alone(seed):
    """Beside sums of distances, column by column, over all other records; no column of several would be enough."""
    rng = rng_of(seed)
    real, holdout, table = (
        pd.DataFrame({"a": rng.integers(0, 6, 40), "b": rng.choice(list("pqrs"), 40), "c": rng.integers(0, 200, 40)})
        for _ in range(3)
    )
    real.iloc[1] = real.iloc[0]  # which nothing tells apart
    table.iloc[:30] = real.iloc[:30]
    table.loc[5:9, "c"] += 1
    tables = read_tables(real, table, holdout, ())
    records, rows = np.arange(30), np.arange(30)
    by = identifying_columns(tables, records, rows)
    one = np.eye(3, dtype=bool)
    assert {int(used.sum()) for used in by} >= {0, 1, 2}
    for record, used in zip(records, by, strict=True):

        def others_as_near(columns, record=record):
            total = np.zeros(len(tables.real))
            for column in np.flatnonzero(columns):
                parts = tables.part(tables.synthetic[[record]], one[column]), tables.part(tables.pooled, one[column])
                ((_, distance),) = distances(*parts)
                total += distance[0]
            return int((np.delete(total, record) <= total[record] + 1e-12).sum())

        single = [others_as_near(column) for column in one]
        if used.any():
            assert others_as_near(used) == 0
            assert (used.sum() == 1) == (0 in single)
        else:
            assert others_as_near(np.ones(3, dtype=bool)) > 0


def test_a_result_of_an_older_version_opens_and_says_that_it_has_no_causes():
    result = risk_of_copies(200, 20)
    assert result.causes
    older = json.loads(result.to_json())
    for name in ("causes", "each", "found", "sha256"):
        del older[name]
    text = RiskResult.from_json(json.dumps(older | {"sha256": digest(older)})).text()
    assert text.headline == result.text().headline
    assert "Saved by an older version: no causes." in text.notes
    assert "Saved by an older version: no causes." not in result.text().notes
