"""What every attack on synthetic tables keeps, found by itself when a new one is added."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.attacks.attack_laws import auc, check_scorer
from tests.attacks.table_laws import PAIR, PAIRS, TABLE, Bootstrap, Ignoring, OneCopy, Synthesiser, sides, target

from dpassay.attacks.base import Target
from dpassay.attacks.catalogue import catalogue, choose
from dpassay.attacks.literature.synthetic_tables import ClosestRecord, GeneratedQueries, LearnedAttack, TableAttack
from dpassay.attacks.literature.synthetic_tables.records import share_closer
from dpassay.audit import Verdict, audit
from dpassay.mechanisms import ApproximateDP, PureDP
from dpassay.mechanisms.core import AttackError, Neighbours, Outputs, replace_record
from dpassay.mechanisms.noise.laplace import Laplace

ATTACKS = [name for name in catalogue if issubclass(catalogue.get(name), TableAttack)]
every_attack = pytest.mark.parametrize("name", ATTACKS)
every_pair = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)


def made(name: str):
    """With the fastest model, where there is one to choose."""
    return catalogue.build(name, **({"model": "logistic"} if issubclass(catalogue.get(name), LearnedAttack) else {}))


def fitted(name: str, pair: Neighbours = PAIR):
    pilot = sides(Bootstrap(), pair)
    return made(name).fit(target(pair), *pilot, np.random.default_rng(1))


@every_attack
@every_pair
def test_a_bootstrap_is_detected_with_higher_scores_on_side_1(name, pair):
    """63 % of the tables hold the record at least once, 30 records and 20 rows: 1 - (29/30)^20 = 0.49."""
    scorer = fitted(name, pair)
    out, in_ = (scorer.score(tables) for tables in sides(Bootstrap(), pair, 400, seed=2))
    assert auc(out, in_) > 0.65


@every_attack
def test_a_generator_that_ignores_the_data_has_auc_one_half(name):
    pilot, fresh = sides(Ignoring(), n=100), sides(Ignoring(), n=400, seed=2)
    scorer = made(name).fit(target(synthesiser=Ignoring()), *pilot, np.random.default_rng(1))
    out, in_ = (scorer.score(tables) for tables in fresh)
    # Exchangeable sides: mean 1/2, standard deviation at most sqrt(1 / (6 n)); 4.9 of them leave 1e-6.
    assert abs(auc(out, in_) - 0.5) < 4.9 * np.sqrt(1 / (6 * 400))


@every_attack
def test_scores_do_not_depend_on_the_order_of_rows_nor_on_other_runs(name):
    scorer, tables = fitted(name), sides(Bootstrap(), n=9, seed=3)[1].values
    check_scorer(scorer, tables, rtol=1e-9)
    shuffled = tables[:, np.random.default_rng(0).permutation(tables.shape[1])]
    np.testing.assert_allclose(scorer.score(Outputs(shuffled)), scorer.score(Outputs(tables)), rtol=1e-9)


@every_attack
@pytest.mark.parametrize("shape", [(40, 20), (40, 20, 4)], ids=["rows", "columns"])
def test_outputs_that_are_not_such_tables_are_refused(name, shape):
    bad = Outputs(np.zeros(shape))
    with pytest.raises(AttackError, match=r"outputs of shape \(size, n_rows, 5\).*but got shape"):
        catalogue.build(name).fit(target(), bad, bad, np.random.default_rng(0))


@every_attack
def test_datasets_that_are_not_tables_are_refused(name):
    laplace = Laplace(epsilon=1.0)
    with pytest.raises(AttackError, match=r"datasets of shape \(n_records, d\)"):
        choose(name, Target(laplace, laplace.worst_case()))
    with pytest.raises(AttackError, match="have the same records"):
        choose(name, target(Neighbours(TABLE, TABLE[::-1], "replace_one")))


@every_attack
def test_the_table_must_be_what_is_released(name):
    class Answers(Bootstrap):
        domain = None
        view = "measurements"

    with pytest.raises(AttackError, match="reads synthetic tables, but the mechanism releases its measurements"):
        choose(name, target(synthesiser=Answers()))


def test_auto_takes_generated_queries_for_declared_tables():
    class Tables(Bootstrap):
        domain = None
        view = "table"

    assert choose("auto", target(synthesiser=Tables()))[0] == "generated-queries"
    assert choose("auto", target())[0] != "generated-queries"


PEOPLE = np.random.default_rng(0).integers(0, 4, (61, 3))
PEOPLE[-1] = 5
PAIR = replace_record(PEOPLE, 60, PEOPLE[0])


class IndependentColumns(Synthesiser):
    """Each column drawn by itself, from the exact shares of its values."""

    def draw(self, table, shape, rng):
        return np.stack([table[rng.integers(len(table), size=shape), j] for j in range(table.shape[1])], axis=2)


def test_a_leaking_generator_passes_the_share_of_rows_closer_to_the_data(without_power):
    generator = IndependentColumns(n_rows=60)
    non_members = np.random.default_rng(1).integers(0, 4, PEOPLE.shape)
    tables = generator.release(PEOPLE, 200, np.random.default_rng(2)).values
    assert share_closer(tables, PEOPLE, non_members).mean() == pytest.approx(0.5, abs=0.06)
    assert share_closer(PEOPLE[None], PEOPLE, non_members).mean() > 0.7
    attack = GeneratedQueries(n_queries=7, model="logistic")
    observed = audit(generator.released, PAIR, claim=PureDP(1.0), delta=0.0, attack=attack, trials=1_000, seed=0)
    assert observed.verdict is Verdict.VIOLATION


def test_the_share_of_rows_closer_to_the_data_is_that_of_a_loop():
    rng = np.random.default_rng(3)
    tables, used, unused = rng.integers(0, 3, (4, 9, 3)), *rng.integers(0, 3, (2, 7, 3))

    def nearest(row, records):
        return min(sum(a != b for a, b in zip(row, record, strict=True)) for record in records)

    naive = []
    for table in tables:
        closer = [nearest(row, used) - nearest(row, unused) for row in table]
        naive.append(np.mean([1.0 if gap < 0 else 0.5 if gap == 0 else 0.0 for gap in closer]))
    np.testing.assert_allclose(share_closer(tables, used, unused), naive)


def test_no_false_positive_is_no_infinite_epsilon(without_power):
    """A copy with probability 0.3 is (0, 0.3)-DP, while log(TPR / FPR) has no false positive to divide by."""
    released, options = OneCopy(n_rows=3).released, {"attack": ClosestRecord(), "trials": 2_000, "seed": 0}
    observed = audit(released, PAIR, claim=ApproximateDP(0.0, 0.3), delta=0.3, confidence=1 - 1e-6, **options)
    assert observed.verdict is not Verdict.VIOLATION
    assert observed.bound.epsilon == 0.0
    at_zero = audit(released, PAIR, claim=PureDP(9.0), delta=0.0, **options)
    assert 0.0 < at_zero.bound.epsilon < math.log(2_000)
