"""What every attack on synthetic tables keeps, found by itself when a new one is added."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.attacks.attack_laws import auc
from tests.attacks.table_laws import PAIR, PAIRS, TABLE, Bootstrap, Ignoring, sides, target

from dpassay.attacks.base import Target
from dpassay.attacks.catalogue import build, catalogue, choose
from dpassay.attacks.membership.synthetic_data import LearnedAttack, TableAttack
from dpassay.mechanisms.core.base import Neighbours, Outputs
from dpassay.mechanisms.core.errors import AttackError
from dpassay.mechanisms.noise.laplace import Laplace

ATTACKS = [name for name in catalogue if issubclass(catalogue.get(name), TableAttack)]
every_attack = pytest.mark.parametrize("name", ATTACKS)
every_pair = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)


def made(name: str):
    """With the fastest model, where there is one to choose."""
    return build(name, **({"model": "logistic"} if issubclass(catalogue.get(name), LearnedAttack) else {}))


def fitted(name: str, pair: Neighbours = PAIR):
    pilot = sides(Bootstrap(), pair)
    return made(name).fit(target(pair), *pilot, np.random.default_rng(1))


@every_attack
@every_pair
def test_a_bootstrap_is_seen_and_a_higher_score_means_side_1(name, pair):
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
    whole = scorer.score(Outputs(tables))
    assert whole.shape == (9,)
    assert whole.dtype == np.float64
    assert not np.isnan(whole).any()
    shuffled = tables[:, np.random.default_rng(0).permutation(tables.shape[1])]
    np.testing.assert_allclose(scorer.score(Outputs(shuffled)), whole, rtol=1e-9)
    again = pickle.loads(pickle.dumps(scorer))
    parts = [again.score(Outputs(part)) for part in (tables[:2], tables[2:], tables[:0])]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-9)


@every_attack
@pytest.mark.parametrize("shape", [(40, 20), (40, 20, 4)], ids=["rows", "columns"])
def test_outputs_that_are_no_tables_of_these_columns_are_refused(name, shape):
    bad = Outputs(np.zeros(shape))
    with pytest.raises(AttackError, match=r"outputs of shape \(size, n_rows, 5\).*but got shape"):
        build(name).fit(target(), bad, bad, np.random.default_rng(0))


@every_attack
def test_datasets_that_are_no_tables_are_refused(name):
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


def test_auto_takes_the_generated_queries_where_a_mechanism_says_that_it_releases_tables():
    class Tables(Bootstrap):
        domain = None
        view = "table"

    assert choose("auto", target(synthesiser=Tables()))[0] == "generated-queries"
    assert choose("auto", target())[0] != "generated-queries"
