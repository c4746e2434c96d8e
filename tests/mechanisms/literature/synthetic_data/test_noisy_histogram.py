"""Tables from a noisy histogram: the clamping bias, structural zeros, rows that are drawn, and wrong input."""

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError, RelationError
from dpassay.mechanisms.literature.synthetic_data import NoisyHistogramTable
from dpassay.mechanisms.literature.synthetic_data.noisy_histogram import drawn_cells

DOMAIN = {"sex": 2, "race": 3}
RECORDS = np.array([[0, 0]] * 40 + [[1, 2]] * 3)


def synthesiser(epsilon=1.0, **options):
    return NoisyHistogramTable(epsilon, DOMAIN, **options)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_clamping_gives_an_empty_cell_a_over_one_minus_a_squared_records(epsilon):
    a = np.exp(-epsilon / 2)
    expected = synthesiser(epsilon).expected_counts(RECORDS)
    np.testing.assert_allclose(expected[1:5], a / (1 - a**2))
    n = 40_000
    counts = synthesiser(epsilon).release(RECORDS, n, np.random.default_rng(0)).values
    spread = counts.std(axis=0) / np.sqrt(n)
    # A normal law of the mean; 5.2 standard errors leave 1e-6 over the six cells.
    assert (np.abs(counts.mean(axis=0) - expected) < 5.2 * spread).all()


def test_mean_of_a_clamped_count_is_that_of_its_law():
    z = np.arange(-400, 401)
    a = np.exp(-0.35)
    law = a ** np.abs(z) * (1 - a) / (1 + a)
    exact = [np.sum(np.maximum(0, c + z) * law) for c in (40, 0, 0, 0, 0, 3)]
    np.testing.assert_allclose(synthesiser(0.7).expected_counts(RECORDS), exact, rtol=1e-9)


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_counts_follow_their_law(relation):
    """Chi-square over the counts of two cells, the others summed out by their own mass."""
    mechanism = NoisyHistogramTable(1.2, {"a": 2}, relation=relation)
    records, n = np.array([[0], [0], [1]]), 20_000
    counts = mechanism.release(records, n, np.random.default_rng(3)).values
    grid = np.stack(np.meshgrid(np.arange(12), np.arange(12), indexing="ij"), axis=-1).reshape(-1, 2)
    expected = n * np.exp(mechanism.log_density(Outputs(grid), records))
    seen = np.bincount(np.ravel_multi_index(np.minimum(counts, 12).T, (13, 13)), minlength=169).reshape(13, 13)
    seen = seen[:12, :12].ravel()
    enough = expected >= 5
    chi2 = np.sum((seen - expected)[enough] ** 2 / expected[enough])
    assert stats.chi2.sf(chi2, enough.sum()) > 1e-6
    assert expected.sum() == pytest.approx(n, rel=1e-2)


def test_impossible_records_never_appear_and_cost_nothing():
    mechanism = synthesiser(0.5, impossible=((0, 1), (1, 1)))
    counts = mechanism.release(RECORDS, 500, np.random.default_rng(0)).values
    assert not counts[:, [1, 4]].any()
    assert counts[:, [2, 3]].any()
    assert mechanism.guarantee().epsilon(0.0) == pytest.approx(0.5)
    assert mechanism.expected_counts(RECORDS)[1] == 0.0
    wrong = counts[:2].copy()
    wrong[0, 4] = 1
    density = mechanism.log_density(Outputs(wrong), RECORDS)
    assert density[0] == -np.inf
    assert np.isfinite(density[1])
    with pytest.raises(ParameterError, match=r"hold no record that is impossible, but is holding \(1, 1\)"):
        mechanism.release(np.array([[1, 1]]), 1, np.random.default_rng(0))


def test_copies_have_the_counts_that_they_were_made_from():
    mechanism = synthesiser()
    counts = mechanism.release(RECORDS, 1, np.random.default_rng(0)).values[0]
    table = mechanism.copies(counts)
    assert table.shape == (counts.sum(), 2)
    assert mechanism.counts(table).tolist() == counts.tolist()


def test_rows_are_drawn_in_proportion_to_the_counts_of_their_own_run():
    counts = np.array([[1, 0, 3], [2, 5, 1], [2, 2, 0]])
    cells = drawn_cells(counts, 20_000, np.random.default_rng(0))
    for run, own in zip(cells, counts, strict=True):
        seen = np.bincount(run, minlength=3)
        assert (seen[own == 0] == 0).all()
        assert stats.chisquare(seen[own > 0], 20_000 * own[own > 0] / own.sum()).pvalue > 1e-6


def test_a_table_of_a_run_without_copies_is_uniform_over_what_is_possible():
    mechanism = NoisyHistogramTable(3.0, {"a": 3}, view="table", n_rows=300, impossible=((1,),), relation="add_remove")
    tables = mechanism.release(np.empty((0, 1)), 200, np.random.default_rng(0)).values
    assert tables.shape == (200, 300, 1)
    assert set(np.unique(tables)) == {0, 2}
    # Most runs have no copy at all; a run of one cell alone has a share of 0 or 1.
    shares = (tables[:, :, 0] == 0).mean(axis=1)
    assert np.median(shares) == pytest.approx(0.5, abs=0.1)


def test_a_table_has_as_many_rows_as_the_data_where_their_number_is_public():
    assert synthesiser(view="table").release(RECORDS, 2, np.random.default_rng(0)).values.shape == (2, 43, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"view": "copies"}, "unknown view 'copies'"),
        ({"view": "table", "relation": "add_remove"}, "n_rows is missing"),
        ({"n_rows": 0}, "n_rows must be"),
        ({"impossible": tuple((a, b) for a in (0, 1) for b in range(3))}, "impossible must leave at least two"),
        ({"impossible": ((0, 3),)}, "whole numbers from 0 to 2, in column 'race'"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ParameterError, match=message):
        synthesiser(**options)


def test_a_domain_too_large_for_memory_is_refused_with_its_size():
    with pytest.raises(ParameterError, match=r"would take 8,000\.0 GB"):
        NoisyHistogramTable(1.0, {f"a{i}": 10 for i in range(12)})


def test_wrong_pairs_are_refused():
    with pytest.raises(RelationError):
        synthesiser().bind(Neighbours(RECORDS[1:], RECORDS, "add_remove"))
    with pytest.raises(NeighboursError):
        synthesiser().bind(Neighbours(RECORDS[2:], RECORDS, "replace_one"))
    with pytest.raises(ParameterError, match=r"shape \(n_records, 2\)"):
        synthesiser().release(np.zeros((4, 3)), 1, np.random.default_rng(0))
