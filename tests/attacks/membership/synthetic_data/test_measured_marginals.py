"""Known answers on measured marginals: the exact likelihood ratio, and what is lost by looking at the table only."""

import numpy as np
import pytest
from scipy import stats
from tests.attacks.attack_laws import auc

from dpassay.attacks.base import Target
from dpassay.attacks.catalogue import choose
from dpassay.attacks.membership.synthetic_data import GeneratedQueries, MarginalLikelihood
from dpassay.mechanisms.core.base import Outputs
from dpassay.mechanisms.core.records import remove_record
from dpassay.mechanisms.synthetic_data import (
    DirectGenerator,
    FixedMarginals,
    NoisyHistogramTable,
    SelectMeasureGenerate,
)

DOMAIN = {"a": 2, "b": 2, "c": 3, "d": 2}
MARGINALS = tuple((name,) for name in DOMAIN)
RECORDS = np.vstack([np.zeros((40, 4), dtype=int), [[1, 1, 2, 1]]])
PAIR = remove_record(RECORDS, -1)
NOTHING = Outputs(np.empty((0, 1)))


def measured(view="measurements", deviation=1.0, **options):
    selection = FixedMarginals(MARGINALS, standard_deviation=deviation)
    return SelectMeasureGenerate(DOMAIN, selection, DirectGenerator(), view=view, **options).bind(PAIR)


def sides(mechanism, n, seed):
    rng = np.random.default_rng(seed)
    return [mechanism.release(PAIR.side(side), n, rng) for side in (0, 1)]


def test_four_one_way_marginals_with_unit_noise_have_mu_two_and_auc_0_9214():
    mechanism, n = measured(), 20_000
    name, attack = choose("auto", Target(mechanism, PAIR))
    assert name == "likelihood-ratio"
    assert mechanism.guarantee().mu == pytest.approx(2.0)
    scorer = attack.fit(Target(mechanism, PAIR), NOTHING, NOTHING, np.random.default_rng(0))
    out, in_ = (scorer.score(outputs) for outputs in sides(mechanism, n, 1))
    best = stats.norm.cdf(2 / np.sqrt(2))
    assert best == pytest.approx(0.9214, abs=1e-4)
    # Hanley and McNeil's variance of an AUC is below AUC (1 - AUC) / n; 4.9 standard errors leave 1e-6.
    assert abs(auc(out, in_) - best) < 4.9 * np.sqrt(best * (1 - best) / n)


def test_counts_of_a_noisy_histogram_are_attacked_by_their_law_and_its_table_by_queries():
    counts = NoisyHistogramTable(1.0, DOMAIN, relation="add_remove")
    assert choose("auto", Target(counts, PAIR))[0] == "likelihood-ratio"
    table = NoisyHistogramTable(1.0, DOMAIN, relation="add_remove", view="table", n_rows=30)
    assert choose("auto", Target(table, PAIR))[0] == "generated-queries"


@pytest.mark.parametrize(("n_rows", "share"), [(200, 0.95), (5, 0.3)])
def test_attacks_on_a_long_table_see_nearly_all_that_the_answers_say_and_on_a_short_one_less(n_rows, share):
    deviation, n = 0.7, 800
    table = measured("table", deviation, n_rows=n_rows)
    target, pilot, fresh = Target(table, PAIR), sides(table, 400, 2), sides(table, n, 3)
    exact = stats.norm.cdf(2 / deviation / np.sqrt(2))
    for attack in (GeneratedQueries(model="logistic"), MarginalLikelihood(marginals=((0,), (1,), (2,), (3,)))):
        scorer = attack.fit(target, *pilot, np.random.default_rng(0))
        found = auc(*(scorer.score(outputs) for outputs in fresh))
        assert found - 0.5 > share * (exact - 0.5)
        assert found < exact + 4.9 * np.sqrt(exact * (1 - exact) / n)
        assert n_rows > 5 or found < exact - 0.05
