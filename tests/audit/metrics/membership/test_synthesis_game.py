"""The membership game on synthesisers: known answers, the worst record beside the mean, and bounds that hold."""

import math

import numpy as np
import pytest
from tests.attacks.table_laws import Bootstrap, Ignoring
from tests.audit import calls

from dpassay.attacks.literature.synthetic_tables import ClosestRecord, DensityRatio, ShadowTables
from dpassay.attacks.membership.likelihood_ratios import LiRA
from dpassay.attacks.membership.thresholds import LossThreshold
from dpassay.audit.bounds.bits.one_run import OneRun
from dpassay.audit.games import membership_game, train_shadows
from dpassay.audit.metrics.membership import evaluate
from dpassay.mechanisms.adapters.estimator import EstimatorLearner
from dpassay.mechanisms.core import AttackError, Outputs, ParameterError, Relation, RelationError
from dpassay.mechanisms.literature.synthetic_data import (
    DirectGenerator,
    FixedMarginals,
    NoisyHistogramTable,
    SelectMeasureGenerate,
)

DISTINCT = np.arange(60)[:, None]


class AddRemoveBootstrap(Bootstrap):
    relation = Relation.ADD_REMOVE


def test_a_bootstrap_shows_63_percent_of_its_members_and_no_others():
    """Of m members and m rows 1 - (1 - 1/m)^m = 0.63 or more stand in the table."""
    signals = {"closest-record": ClosestRecord()}
    shadows = train_shadows(ShadowTables(Bootstrap(n_rows=30), signals), DISTINCT, 60, seed=0)
    shown = shadows.signal("closest-record") == 0.0
    assert not shown[~shadows.inclusion].any()
    sizes = shadows.inclusion.sum(axis=1)
    expected = np.sum(sizes * (1 - (1 - 1 / sizes) ** 30)) / sizes.sum()
    # Records of one table are negatively correlated: Hoeffding's bound holds all the more. False alarm 1e-6.
    assert abs(shown[shadows.inclusion].mean() - expected) < math.sqrt(math.log(2e6) / (2 * sizes.sum()))
    assert expected == pytest.approx(0.635, abs=0.005)


def test_no_attack_finds_members_of_a_generator_that_ignores_the_data():
    records = np.random.default_rng(1).integers(0, 4, (100, 3))
    shadows = train_shadows(ShadowTables(Ignoring(n_rows=20)), records, 32, seed=1)
    result = evaluate(shadows, [LiRA(signal=signal) for signal in shadows.signals], confidence=1 - 1e-6 / 7)
    for metrics in result.attacks:
        assert metrics.auc_lower < 0.5 < metrics.auc_upper


def outliers():
    """95 ordinary records, and 5 that have the values 4 to 8, one each, in all columns."""
    ordinary = np.random.default_rng(2).integers(0, 4, (95, 3))
    return np.concatenate([ordinary, np.repeat(np.arange(4, 9)[:, None], 3, axis=1)])


def test_the_worst_record_and_the_worst_group_stand_beside_the_mean():
    """Marginals of single columns hide who is ordinary, and show who is not."""
    domain = dict.fromkeys("abc", 9)
    selection = FixedMarginals(tuple((name,) for name in domain), standard_deviation=0.5)
    generator = SelectMeasureGenerate(domain, selection, DirectGenerator(), view="table", n_rows=300)
    learner = ShadowTables(generator, {"density": DensityRatio(calibrated=False)})
    shadows = train_shadows(learner, outliers(), 40, seed=2)
    groups = np.where(np.arange(100) < 95, "ordinary", "outlier")
    metrics = evaluate(shadows, [LiRA(signal="density")], groups=groups).attacks[0]
    by_group = {row.group: row for row in metrics.groups}
    assert by_group["ordinary"].auc < metrics.auc < 0.7
    assert by_group["outlier"].lower > 0.9
    assert set(metrics.records.exposed()) >= set(range(95, 100))
    assert metrics.records.auc[metrics.records.exposed()[0]] > 0.95
    assert metrics.rate_at(0.01).tpr < by_group["outlier"].rate.tpr


class Blurred(Bootstrap):
    """Rows near the records."""

    def draw(self, table, shape, rng):
        return super().draw(table, shape, rng) + 0.3 * rng.normal(size=(*shape, table.shape[1]))


@pytest.mark.parametrize("mode", ["online", "offline-tail"])
def test_own_laws_of_each_record_tell_more_than_one_threshold_for_all(mode):
    """Some row is always near an ordinary record, whether it was in or not."""
    rng = np.random.default_rng(3)
    records = np.concatenate([0.3 * rng.normal(size=(40, 2)), 5.0 * rng.normal(size=(40, 2))])
    learner = ShadowTables(Blurred(n_rows=80), {"closest-record": ClosestRecord()})
    shadows = train_shadows(learner, records, 64, seed=3)
    result = evaluate(shadows, [LiRA(mode=mode, signal="closest-record"), LossThreshold(signal="closest-record")])
    lira, loss = result.attacks
    assert lira.auc > loss.auc + 0.05
    assert lira.rate_at(0.1).tpr > loss.rate_at(0.1).tpr + 0.05


def test_calibrated_distances_vary_less_between_records():
    records = outliers() + np.random.default_rng(4).random((100, 3))
    signals = {"plain": ClosestRecord(), "calibrated": ClosestRecord(score="calibrated")}
    public = outliers()[:95] + np.random.default_rng(5).random((95, 3))
    shadows = train_shadows(ShadowTables(Bootstrap(n_rows=50), signals, public), records, 32, seed=4)
    spread = [np.abs(shadows.signal(name)[~shadows.inclusion]).mean() for name in ("plain", "calibrated")]
    assert spread[1] < spread[0]


def test_one_run_bound_holds_for_a_private_table_and_refutes_a_bootstrap():
    """20 games at significance 0.2: more than 14 misses have probability 2e-7."""
    private = NoisyHistogramTable(1.0, {"a": 60}, relation="add_remove", view="table", n_rows=100)
    attack = LossThreshold(signal="cell-density")
    misses = 0
    for seed in range(20):
        game = membership_game(ShadowTables(private), DISTINCT, attack=attack, seed=seed)
        misses += calls.lower_bound(OneRun(), game, delta=0.0, confidence=0.8).epsilon > 1.0
    assert misses <= 14
    broken = membership_game(ShadowTables(AddRemoveBootstrap(n_rows=60)), DISTINCT, n_runs=4, attack=attack, seed=0)
    assert calls.lower_bound(OneRun(), broken, delta=0.0, confidence=0.99).epsilon > 1.0


def test_signals_do_not_depend_on_which_records_were_in():
    """The known records are all those in question, or public ones."""
    learner = ShadowTables(Bootstrap(n_rows=10))
    rng = np.random.default_rng(6)
    data = learner.examples(DISTINCT)
    tables = learner.fit_subsets(data, rng.random((3, 60)) < 0.5, rng)
    assert tables.tables.dtype.kind == "i"
    assert all(values.shape == (3, 60) for values in tables.signals(data).values())


def test_tables_of_several_sizes_are_refused():
    class AllRows(Bootstrap):
        def release(self, dataset, size, rng):
            return Outputs(np.repeat(np.asarray(dataset)[None], size, axis=0))

    with pytest.raises(AttackError, match=r"of the same shape from every subset.*Fix the number of rows"):
        train_shadows(ShadowTables(AllRows()), DISTINCT, 8, seed=0)


def test_wrong_use_is_refused():
    with pytest.raises(ParameterError, match="signals must name at least one signal"):
        ShadowTables(Bootstrap(), {})
    replaced = NoisyHistogramTable(1.0, {"a": 60}, view="table", n_rows=9)
    with pytest.raises(RelationError, match="in this game a canary is in the run or not there at all"):
        membership_game(ShadowTables(replaced), DISTINCT, attack=LossThreshold(signal="density"), seed=0)
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(ParameterError, match=r"an \(X, y\) pair"):
        train_shadows(EstimatorLearner(KNeighborsClassifier(1)), DISTINCT, 4, seed=0)
