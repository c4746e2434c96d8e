"""Distances to rows of a synthetic table: known answers, a naive twin, and the variants."""

import numpy as np
import pytest
from tests.attacks.attack_laws import auc
from tests.attacks.table_laws import PAIR, REPLACED, OneCopy, Synthesiser, sides, target

from dpassay.attacks.literature.synthetic_tables import ClosestRecord, KnownRecords, Neighbourhood
from dpassay.mechanisms.core import AttackError, Outputs

NOTHING = Outputs(np.empty((0, 1, 5), dtype=int))


class Copying(Synthesiser):
    """All records, in a random order."""

    def draw(self, table, shape, rng):
        return np.stack([rng.permutation(table) for _ in range(shape[0])])


def scores(attack, synthesiser, pair=PAIR, n=200):
    scorer = attack.fit(target(pair, synthesiser), NOTHING, NOTHING, np.random.default_rng(0))
    return [scorer.score(tables) for tables in sides(synthesiser, pair, n)]


@pytest.mark.parametrize("score", ["distance", "exponential", "calibrated"])
def test_a_generator_that_copies_every_row_has_auc_one(score):
    out, in_ = scores(ClosestRecord(score=score), Copying(), REPLACED)
    assert auc(out, in_) == 1.0
    assert in_.min() > out.max()


def test_a_copy_with_probability_c_has_tpr_c_at_fpr_0():
    n = 4_000
    out, in_ = scores(ClosestRecord(), OneCopy(n_rows=3), n=n)
    assert out.max() < 0.0
    # Hoeffding's bound: further from c than this with probability 1e-6.
    assert abs(np.mean(in_ == 0.0) - OneCopy.probability) < np.sqrt(np.log(2e6) / (2 * n))


def naive_distances(table, record, nominal, scale):
    return [
        np.sqrt(
            sum(
                float(a != b) if nominal[j] else ((a - b) / scale[j]) ** 2
                for j, (a, b) in enumerate(zip(*two, strict=True))
            )
        )
        for two in ((row, record) for row in table)
    ]


@pytest.mark.parametrize("nominal", [None, (0, 2)], ids=["real", "mixed"])
@pytest.mark.parametrize("neighbour", [1, 3])
def test_distances_are_those_of_a_loop(nominal, neighbour):
    rng = np.random.default_rng(0)
    tables, records, public = (rng.normal(size=shape).round(1) for shape in ((3, 10, 4), (6, 4), (20, 4)))
    known = KnownRecords.of(public, records, nominal)
    observed = ClosestRecord(neighbour=neighbour, nominal=nominal).signals(tables, records, known)
    codes = [nominal is not None and j in nominal for j in range(4)]
    naive = [
        [-sorted(naive_distances(table, record, codes, public.std(axis=0)))[neighbour - 1] for record in records]
        for table in tables
    ]
    np.testing.assert_allclose(observed, naive, rtol=1e-12)
    within = Neighbourhood(radius=1.5, nominal=nominal).signals(tables, records, known)
    near = [
        [np.mean(np.array(naive_distances(table, record, codes, public.std(axis=0))) <= 1.5) for record in records]
        for table in tables
    ]
    np.testing.assert_allclose(within, near)


def test_scores_of_many_records_are_made_in_pieces(monkeypatch):
    rng = np.random.default_rng(1)
    tables, records = rng.integers(0, 4, (7, 9, 3)), rng.integers(0, 4, (11, 3))
    known, attack = KnownRecords.of(records, records), ClosestRecord()
    whole = attack.signals(tables, records, known)
    monkeypatch.setattr("dpassay.attacks.literature.synthetic_tables.records.MAX_BATCH_ENTRIES", 40)
    assert np.array_equal(attack.in_pieces(tables, records, known), whole)


def test_scores_rank_tables_alike_and_calibration_adjusts_for_outliers():
    rng = np.random.default_rng(2)
    public, records = rng.normal(size=(200, 3)), np.array([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]])
    known = KnownRecords.of(public, records)
    tables = rng.normal(size=(50, 30, 3))
    plain, exponential, calibrated = (
        ClosestRecord(score=score).signals(tables, records, known)
        for score in ("distance", "exponential", "calibrated")
    )
    for other in (exponential, calibrated):
        assert np.array_equal(np.argsort(plain[:, 0]), np.argsort(other[:, 0]))
    gap = [np.abs(np.diff(observed.mean(axis=0)))[0] for observed in (plain, calibrated)]
    assert gap[1] < 0.1 * gap[0]


def test_the_radius_is_the_median_of_the_smallest_distances():
    rng = np.random.default_rng(3)
    public, tables = rng.normal(size=(60, 2)), rng.normal(size=(4, 25, 2))
    known = KnownRecords.of(public, public)
    closest = -ClosestRecord().signals(tables, public, known)
    for table, radius in zip(tables, np.median(closest, axis=1), strict=True):
        observed = Neighbourhood().signals(table[None], public, known)
        np.testing.assert_allclose(
            observed, Neighbourhood(radius=radius * (1 + 1e-9)).signals(table[None], public, known)
        )


def test_an_unknown_column_is_refused():
    with pytest.raises(AttackError, match="nominal must name columns from 0 to 4"):
        scores(ClosestRecord(nominal=(7,)), OneCopy())
