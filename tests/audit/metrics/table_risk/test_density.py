"""The attack by an auxiliary density of the table: its formula, its level and its power."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from tests.audit.metrics.table_risk import made_tables as made

from dpassay.audit.metrics import risk, toss_table
from dpassay.audit.metrics.table_risk import splits
from dpassay.audit.metrics.table_risk.claim import audit_claim
from dpassay.audit.metrics.table_risk.successes import BANDWIDTH, AttackedRecords
from dpassay.audit.metrics.table_risk.tables import read_tables
from dpassay.mechanisms.accounting import PureDP


def attacked(real, synthetic, holdout, **options):
    tables = read_tables(real, synthetic, holdout, (), **options)
    return AttackedRecords(tables, np.arange(len(tables.real)))


def overfitted(seed, n, width):
    rng = np.random.default_rng(seed)
    real, holdout = made.people(rng, n), made.people(rng, n)
    return real, made.smoothed(rng, real, width), holdout


def test_the_density_is_a_ratio_of_means_of_kernels():
    rng = np.random.default_rng(0)
    draw = lambda n, first: pd.DataFrame(  # noqa: E731
        {"x": rng.integers(0, 9, n), "y": rng.normal(size=n).round(2), "k": rng.choice(list("ab"), n)}
    ).assign(person=first + np.arange(n) // 2)
    found = attacked(draw(20, 0), draw(30, 99), draw(20, 50), unit="person")
    tables = found.tables

    def kernels(i, rows, others):
        gap = np.abs(tables.pooled.points[i] - rows.points).sum(axis=1)
        gap = gap + (tables.pooled.categories[i] != rows.categories).sum(axis=1)
        return np.exp(-gap / (BANDWIDTH * np.median(found.to_records[0])))[others].sum()

    for i in range(40):
        table = kernels(i, tables.synthetic, np.ones(30, dtype=bool))
        reference = kernels(i, tables.pooled, tables.unit != tables.unit[i])
        assert found.density[i] == pytest.approx(np.log(table / reference), abs=1e-8)


def test_the_density_reads_no_label():
    real, synthetic, holdout = overfitted(0, 60, 0.2)
    one, other = attacked(real, synthetic, holdout), attacked(holdout, synthetic, real)
    assert one.density.tolist() == np.roll(other.density, 60).tolist()
    assert one.dense().sum() == 30


@pytest.mark.parametrize("n_runs", [100, pytest.param(2_000, marks=pytest.mark.slow)])
def test_a_clean_table_is_denser_at_real_records_within_the_level(n_runs):
    few = 0
    for seed in range(n_runs):
        found = attacked(*made.clean(np.random.default_rng([6, seed]), 40))
        hits = found.dense()
        few += splits.p_value(int(hits[:40].sum()), 40, int(hits[40:].sum()), 40) <= 0.2
    assert binom.sf(few - 1, n_runs, 0.2) > 1e-6


@pytest.mark.parametrize(("n_tables", "fewest"), [(1, 1), pytest.param(20, 18, marks=pytest.mark.slow)])
def test_an_overfitted_generator_is_found(n_tables, fewest):
    n_found = 0
    for seed in range(n_tables):
        result = risk(*overfitted([7, seed], 400, 0.3))
        attacks = {found.attack for found in result.findings}
        n_found += "density" in attacks
        assert "copies" not in attacks
    assert n_found >= fewest


def test_a_claim_is_refuted_and_attacks_share_the_level():
    rng = np.random.default_rng(8)
    tossed = toss_table(made.people(rng, 800), seed=0)
    table = made.smoothed(rng, tossed.real, 0.1)
    given = {"coins": tossed.coins, "claim": PureDP(1.0), "attacks": ("density", "distance")}
    result = audit_claim(tossed.real, table, tossed.holdout, **given)
    assert result.verdict == "violation"
    assert result.confidence == pytest.approx(0.975)
