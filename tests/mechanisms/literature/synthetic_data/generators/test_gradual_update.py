import numpy as np
import pytest
from scipy.stats import chi2, norm

from dpassay.mechanisms.literature.synthetic_data.generators.gradual_update import (
    _moves,
    _rounded,
    fitted_table,
    independent_table,
    update,
)

SHAPE = (2, 3, 4)


def shares(size=3, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(24), size=size).reshape(size, *SHAPE)


def counted(table, region):
    shape = tuple(SHAPE[a] for a in region)
    cells = np.ravel_multi_index(tuple(table[..., a] for a in region), shape)
    return np.stack([np.bincount(run, minlength=int(np.prod(shape))) for run in cells]).reshape(len(table), *shape)


def test_independent_columns_have_the_wanted_counts_and_no_order():
    rng, law = np.random.default_rng(0), shares()
    single = [law.sum(axis=axes) for axes in ((2, 3), (1, 3), (1, 2))]
    table = independent_table(single, 10_000, rng)
    for place, share in enumerate(single):
        assert np.abs(counted(table, (place,)) - 10_000 * share).max() < 1.0 + 1e-6
    expected = 10_000 * np.einsum("sa,sb,sc->sabc", *single)
    distance = ((counted(table, (0, 1, 2)) - expected) ** 2 / expected).sum()
    assert distance < chi2.isf(1e-6, 3 * 23)


def test_a_full_update_leaves_each_cell_within_a_record_of_what_is_wanted():
    rng, law = np.random.default_rng(0), shares()
    for region, target in [((0, 1, 2), law), ((0, 2), law.sum(axis=2))]:
        table = rng.integers(0, SHAPE, (3, 997, 3))
        update(table, region, target, 1.0, rng)
        assert np.abs(counted(table, region) - 997 * target).max() < 2.0


def test_half_an_update_moves_half_of_what_is_missing():
    rng, law = np.random.default_rng(0), shares()
    table = rng.integers(0, SHAPE, (3, 5_000, 3))
    before = counted(table, (0, 1, 2))
    update(table, (0, 1, 2), law, 0.5, rng)
    moved = counted(table, (0, 1, 2)) - before
    assert np.abs(moved - 0.5 * (5_000 * law - before)).max() < 1.0 + 1e-6


def test_cells_with_too_many_and_too_few_records_trade_within_their_run():
    rng = np.random.default_rng(0)
    missing = rng.normal(size=(200, 9)) * 5
    missing -= missing.mean(axis=1, keepdims=True)
    leave, enter = _moves(missing, 0.7, rng)
    np.testing.assert_array_equal(leave.sum(axis=1), enter.sum(axis=1))
    assert not ((leave > 0) & (missing >= 0)).any()
    assert not ((enter > 0) & (missing <= 0)).any()
    assert (leave <= np.ceil(np.abs(missing))).all()
    still, none = _moves(np.zeros((2, 3)), 1.0, rng)
    assert not still.any()
    assert not none.any()


def test_rounding_is_unbiased():
    rng, amounts = np.random.default_rng(0), np.array([0.3, 1.2, 0.0, 2.5])
    result = _rounded(np.tile(amounts, (20_000, 1)), np.full((20_000, 1), 4.0), rng)
    assert (result.sum(axis=1) == 4).all()
    error = np.abs(result.mean(axis=0) - amounts)
    assert (error <= norm.isf(1e-7) * 0.5 / np.sqrt(20_000)).all()


def test_overlapping_marginals_are_all_reached():
    rng, law = np.random.default_rng(0), shares()
    regions, targets = [(0, 1), (1, 2), (0, 2)], [law.sum(axis=3), law.sum(axis=1), law.sum(axis=2)]
    start = rng.integers(0, SHAPE, (3, 5_000, 3))
    table = fitted_table(start, regions, targets, sweeps=30, rng=rng)
    for region, target in zip(regions, targets, strict=True):
        assert np.abs(counted(table, region) / 5_000 - target).max() < 0.002


def test_moved_records_keep_other_attributes_or_copy_one_of_the_new_cell():
    """The first attribute is to become 1 everywhere; the second one tells who was copied, the third says nothing."""
    rng = np.random.default_rng(0)
    records = np.array([[0, 0, 0]] * 900 + [[1, 2, 3]] * 100)[None]
    update(records, (0,), np.array([[0.0, 1.0]]), 1.0, rng)
    assert (records[0, :, 0] == 1).all()
    rows, counts = np.unique(records[0, :900], axis=0, return_counts=True)
    assert rows.tolist() == [[1, 0, 0], [1, 2, 3]]
    assert abs(counts[0] - 450) < norm.isf(5e-7) * 15


def test_an_empty_cell_is_entered_by_records_that_keep_the_rest():
    rng = np.random.default_rng(0)
    records = np.array([[0, 2, 1]] * 10)[None]
    update(records, (0, 1), np.eye(6)[[3]].reshape(1, 2, 3), 1.0, rng)
    assert records[0].tolist() == [[1, 0, 1]] * 10


@pytest.mark.parametrize("n_rows", [1, 2, 7])
def test_small_tables_stay_in_the_domain(n_rows):
    rng, law = np.random.default_rng(0), shares(50)
    table = rng.integers(0, SHAPE, (50, n_rows, 3))
    fitted = fitted_table(table, [(0, 1), (2,)], [law.sum(axis=3), law.sum(axis=(1, 2))], sweeps=5, rng=rng)
    assert fitted.shape == (50, n_rows, 3)
    assert (fitted >= 0).all()
    assert (fitted < SHAPE).all()
