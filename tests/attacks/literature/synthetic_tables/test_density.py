"""Densities of synthetic tables at a record: exact forms, naive twins, and the trap of a threshold at the median."""

import numpy as np
import pytest
from scipy import special, stats
from tests.attacks.attack_laws import auc

from dpassay.attacks.literature.synthetic_tables import DensityRatio, KnownRecords
from dpassay.attacks.literature.synthetic_tables.density import (
    DISTANCE_FLOOR,
    ESTIMATORS,
    NEIGHBOUR_RANK,
    VARIANCE_RIDGE,
)

GAUSSIAN = {"independent": 0.03, "gaussian": 0.01, "kernel": 0.02, "nearest": 0.02, "classifier": 0.01}
"""How far the AUC may lie from what it should be, with 4,000 rows and 4,000 known records."""


def drawn(n, mean, rng):
    return rng.normal(mean, 1.0, (n, 1))


@pytest.mark.parametrize("estimator", GAUSSIAN)
def test_two_normal_densities_one_apart_have_auc_0_7602(estimator):
    rng = np.random.default_rng(0)
    table, public = drawn(4_000, 0.0, rng)[None], drawn(4_000, 1.0, rng)
    # Quantiles instead of draws: no noise from the records.
    quantiles = stats.norm.ppf((np.arange(400) + 0.5) / 400)[:, None]
    records = np.concatenate([quantiles + 1.0, quantiles])
    observed = DensityRatio(estimator=estimator).signals(table, records, KnownRecords.of(public, records))[0]
    # The log of the distance to the third nearest row is that of a gamma variable, of variance trigamma(3).
    noise = 2 * special.polygamma(1, NEIGHBOUR_RANK) if estimator == "nearest" else 0.0
    best = stats.norm.cdf(1 / np.sqrt(2 * (1 + noise)))
    assert noise or best == pytest.approx(0.7602, abs=1e-4)
    assert auc(observed[:400], observed[400:]) == pytest.approx(best, abs=GAUSSIAN[estimator])


def test_the_density_alone_is_confounded_by_ordinary_records():
    """Both kinds of records were in; ordinary ones look like members, unless the known records count."""
    rng = np.random.default_rng(1)
    table, public = drawn(2_000, 0.0, rng)[None], drawn(2_000, 0.0, rng)
    records = np.linspace(-2.5, 2.5, 101)[:, None]
    known = KnownRecords.of(public, records)
    alone = DensityRatio(estimator="gaussian", calibrated=False).signals(table, records, known)[0]
    ratio = DensityRatio(estimator="gaussian").signals(table, records, known)[0]
    assert np.ptp(alone) > 2.5
    assert np.ptp(ratio) < 0.3


def test_estimates_are_those_of_loops():
    rng = np.random.default_rng(2)
    public, tables = rng.integers(0, 3, (40, 3)), rng.integers(0, 3, (4, 30, 3))
    records = np.concatenate([rng.integers(0, 3, (5, 3)), [[7, 7, 7]]])
    known = KnownRecords.of(public, records)
    shares = [
        [sum(np.log(((t[:, j] == x[j]).sum() + 0.5) / (30 + 0.5 * 4)) for j in range(3)) for x in records]
        for t in tables
    ]
    np.testing.assert_allclose(ESTIMATORS["independent"](tables, records, known), shares, rtol=1e-12)
    cells = [[np.log(((t == x).all(axis=1).sum() + 0.5) / 30) for x in records] for t in tables]
    np.testing.assert_allclose(ESTIMATORS["histogram"](tables, records, known), cells, rtol=1e-12)
    differ = [[[np.sum(row != x) for row in t] for x in records] for t in tables]
    width = 30 ** (-1 / 7)
    mean = [[np.log(np.mean(np.exp(-np.array(d) / (2 * width**2)))) for d in of] for of in differ]
    np.testing.assert_allclose(ESTIMATORS["kernel"](tables, records, known), mean, rtol=1e-12)
    third = [[-3 * np.log(np.sqrt(sorted(d)[2]) + DISTANCE_FLOOR) for d in of] for of in differ]
    np.testing.assert_allclose(ESTIMATORS["nearest"](tables, records, known), third, rtol=1e-12)


def test_the_gaussian_estimate_is_a_normal_log_density():
    rng = np.random.default_rng(3)
    public, tables, records = (
        rng.normal(size=(50, 2)) * [1, 20],
        rng.normal(size=(3, 40, 2)) * [1, 20],
        rng.normal(size=(4, 2)),
    )
    scale = public.std(axis=0)
    law = [
        stats.multivariate_normal(t.mean(axis=0), np.cov((t / scale).T, bias=True) + VARIANCE_RIDGE * np.eye(2))
        for t in tables
    ]
    exact = [
        stats.multivariate_normal(t.mean(axis=0) / scale, one.cov).logpdf(records / scale) + np.log(2 * np.pi)
        for t, one in zip(tables, law, strict=True)
    ]
    np.testing.assert_allclose(
        ESTIMATORS["gaussian"](tables, records, KnownRecords.of(public, records)), exact, rtol=1e-9
    )


def test_cells_of_many_columns_are_distinguished():
    """2^100 cells: more than one number has room for."""
    rng = np.random.default_rng(4)
    table = rng.integers(0, 2, (1, 5_000, 100))
    records = np.concatenate([table[0, :20], 1 - table[0, :20]])
    observed = ESTIMATORS["histogram"](table, records, KnownRecords.of(records, records))
    np.testing.assert_allclose(observed[0], np.log(np.repeat([1.5, 0.5], 20) / 5_000))


@pytest.mark.parametrize("kind", ["codes", "real"])
def test_the_classifier_is_a_ridge_logistic_regression(kind):
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(5)
    public, table = rng.integers(0, 3, (60, 2)), rng.integers(0, 2, (30, 2))
    if kind == "real":
        public, table = public + rng.random((60, 2)), table + rng.random((30, 2))
    records = public[:8]
    known = KnownRecords.of(public, records)

    def terms(rows):
        if kind == "codes":
            return np.column_stack([rows[:, j] == level for j in range(2) for level in (1, 2)])
        z = (rows - public.mean(axis=0)) / public.std(axis=0)
        return np.column_stack([z, z**2])

    rows, made = terms(np.concatenate([table, public])), np.repeat([1, 0], [30, 60])
    weights = np.where(made == 1, 2.0, 1.0)  # both kinds count alike
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=1_000).fit(rows, made, sample_weight=weights)
    observed = DensityRatio(estimator="classifier").signals(table[None], records, known)[0]
    np.testing.assert_allclose(observed, model.decision_function(terms(records)), atol=1e-4)


def test_a_threshold_at_the_median_assumes_half_members():
    """With one member in ten, two of five non-members are called members, however well the score separates them."""
    rng = np.random.default_rng(6)
    table, public = drawn(2_000, -4.0, rng)[None], drawn(2_000, 4.0, rng)
    records = np.concatenate([drawn(900, 4.0, rng), drawn(100, -4.0, rng)])
    observed = DensityRatio(estimator="gaussian").signals(table, records, KnownRecords.of(public, records))[0]
    assert auc(observed[:900], observed[900:]) > 0.999
    called = observed >= np.median(observed)
    assert called[900:].mean() == 1.0
    assert called[:900].mean() == pytest.approx(4 / 9, abs=0.01)
