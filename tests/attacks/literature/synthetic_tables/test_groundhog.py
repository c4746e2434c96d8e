"""Summary statistics of tables against numpy, table by table."""

import numpy as np
import pytest
from tests.attacks.table_laws import PAIR, REAL, target

from dpassay.attacks.literature.synthetic_tables import Groundhog, GroundhogMembership, ShadowTables
from dpassay.attacks.literature.synthetic_tables.groundhog import Statistics
from dpassay.attacks.literature.synthetic_tables.levels import Levels
from dpassay.attacks.membership.shadows import Shadows, draw_inclusion
from dpassay.audit.games import train_shadows
from dpassay.audit.metrics.membership import evaluate
from dpassay.mechanisms.core import AttackError, ParameterError
from dpassay.mechanisms.literature.synthetic_data import NoisyHistogramTable


def statistics(kind, tables, pair=PAIR):
    return Groundhog(statistics=kind).features(target(pair), tables, tables, np.random.default_rng(0)).of(tables)


def test_statistics_are_those_of_a_loop():
    tables = np.random.default_rng(0).integers(0, 4, (6, 20, 5)) + 0.0
    tables[0, :, 1] = 2.0  # a constant column
    naive = [[*t.mean(axis=0), *np.median(t, axis=0), *t.var(axis=0)] for t in tables]
    np.testing.assert_allclose(statistics("naive", tables), naive)
    levels = (0, 1, 2, 3, 9)
    shares = [[np.mean(t[:, j] == level) for j in range(5) for level in levels] for t in tables]
    np.testing.assert_allclose(statistics("histogram", tables), shares)
    with np.errstate(invalid="ignore"):
        correlations = [np.nan_to_num(np.corrcoef(t.T)[np.triu_indices(5, 1)]) for t in tables]
    np.testing.assert_allclose(statistics("correlation", tables), correlations, atol=1e-9)
    together = statistics("all", tables)
    assert together.shape == (6, 15 + 25 + 10)


@pytest.mark.parametrize("pair", [PAIR, REAL])
def test_statistics_do_not_depend_on_the_order_of_rows_in_any_digit(pair):
    """A tree may cut between two values that differ in the last digit alone."""
    rng = np.random.default_rng(2)
    tables = pair.d1[rng.integers(len(pair.d1), size=(200, 20))]
    shuffled = tables[:, rng.permutation(20)]
    features = Groundhog().features(target(pair), tables, tables, rng)
    np.testing.assert_array_equal(features.of(shuffled), features.of(tables))


def test_a_real_column_is_cut_into_ten_bins():
    tables = np.random.default_rng(1).random((40, 20, 5))
    shares = statistics("histogram", tables, REAL)
    assert shares.shape == (40, 50)
    np.testing.assert_allclose(shares.reshape(40, 5, 10).sum(axis=2), 1.0)


def shadows(seed, n_models=12, n_records=6, leak=0.0):
    """Models in pairs, with four summaries, of which the first follows record 0, and one that does not vary."""
    rng = np.random.default_rng(seed)
    inclusion = draw_inclusion(n_models, n_records, rng)
    summaries = rng.normal(size=(n_models, 4)) * [1.0, 10.0, 0.1, 0.0] + 3.0
    summaries[:, 0] += leak * inclusion[:, 0]
    return Shadows(inclusion, np.zeros(n_records), summaries=summaries, partner=np.arange(n_models) ^ 1, fair=True)


def test_it_is_the_ridge_regression_of_each_record_on_the_references():
    made, ridge = shadows(0), 0.7
    scores = GroundhogMembership(ridge=ridge).score(made)
    for place in range(len(made)):
        others = [model for model in range(len(made)) if model not in (place, place ^ 1)]
        known = made.summaries[others, :3]
        z = (known - known.mean(axis=0)) / known.std(axis=0)
        mine = (made.summaries[place, :3] - known.mean(axis=0)) / known.std(axis=0)
        for record in range(made.n_records):
            was_in = made.inclusion[others, record].astype(float)
            weights = np.linalg.solve(z.T @ z + 3 * ridge * np.eye(3), z.T @ (was_in - was_in.mean()))
            assert scores[place, record] == pytest.approx(mine @ weights, abs=1e-12)


def test_scores_do_not_depend_on_the_bits_of_the_target_pair():
    made = shadows(1)
    before = GroundhogMembership().score(made)
    for model in range(0, len(made), 2):
        turned = made.inclusion.copy()
        turned[model : model + 2] = ~turned[model : model + 2]
        other = Shadows(turned, made.y, summaries=made.summaries, partner=made.partner)
        after = GroundhogMembership().score(other)
        assert np.array_equal(after[model : model + 2], before[model : model + 2])
        assert not np.allclose(after, before)


def test_only_the_leaking_record_is_exposed():
    result = evaluate(shadows(2, n_models=80, leak=8.0), [GroundhogMembership()]).attacks[0].records
    assert result.auc[0] > 0.95
    assert result.exposed().tolist() == [0]


def test_summaries_do_not_depend_on_the_number_of_tables(tmp_path):
    records = np.random.default_rng(0).integers(0, 3, (30, 2))
    loose = NoisyHistogramTable(8.0, {"a": 3, "b": 3}, relation="add_remove", view="table", n_rows=40)
    tables = ShadowTables(loose, statistics="all")
    whole = train_shadows(tables, records, 6, seed=0)
    assert whole.summaries.shape == (6, 3 * 2 + 3 + 3 + 1)
    inclusion = whole.inclusion
    made = tables.fit_subsets(tables.examples(records), inclusion, np.random.default_rng(1))
    assert np.array_equal(made.summaries, Statistics.of_kind("all", Levels.learn(records)).of(made.tables))
    few = tables.fit_subsets(tables.examples(records), inclusion[:2], np.random.default_rng(1))
    assert np.array_equal(few.summaries, made.summaries[:2])
    assert whole.take([1, 4]).summaries.tolist() == whole.summaries[[1, 4]].tolist()


def test_missing_summaries_are_refused_with_advice():
    with pytest.raises(AttackError, match="statistics='all'"):
        GroundhogMembership().score(Shadows(np.ones((4, 2), bool), np.zeros(2)))
    with pytest.raises(ParameterError, match="summaries must have shape"):
        Shadows(np.ones((4, 2), bool), np.zeros(2), summaries=np.zeros((3, 5)))
