"""Normal laws of the record's cells in some marginals."""

import numpy as np
import pytest
from scipy import stats
from tests.attacks.attack_laws import auc
from tests.attacks.table_laws import Bootstrap, sides, target

from dpassay.attacks.base import Target
from dpassay.attacks.catalogue import choose
from dpassay.attacks.literature.synthetic_tables import GeneratedQueries, MarginalLikelihood
from dpassay.mechanisms.core import AttackError, Outputs, ParameterError, remove_record
from dpassay.mechanisms.literature.synthetic_data import (
    DirectGenerator,
    FixedMarginals,
    NoisyHistogramTable,
    SelectMeasureGenerate,
)

PILOT = sides(Bootstrap(), n=300)
FRESH = sides(Bootstrap(), n=5, seed=4)[1]
MARGINALS = ((0,), (1, 3))


def fitted(**options):
    return MarginalLikelihood(**options).fit(target(), *PILOT, np.random.default_rng(0))


def counts(outputs):
    """The record is 9 in all columns."""
    return np.stack([(outputs.values[:, :, list(m)] == 9).all(axis=2).sum(axis=1) for m in MARGINALS], axis=1)


def test_the_score_is_the_log_ratio_of_independent_normal_laws():
    sides_ = [counts(pilot) for pilot in PILOT]
    sides_[0] = sides_[0].astype(float)
    x = counts(FRESH)
    exact = np.zeros(5)
    for sign, pilot in zip((-1, 1), sides_, strict=True):
        spread = np.sqrt(np.maximum(pilot.var(axis=0, ddof=1), 0.25))
        exact += sign * stats.norm.logpdf(x, pilot.mean(axis=0), spread).sum(axis=1)
    np.testing.assert_allclose(fitted(marginals=MARGINALS).score(FRESH), exact, rtol=1e-9)


def test_the_pooled_score_is_linear_discriminant_analysis():
    x0, x1 = (counts(pilot) for pilot in PILOT)
    within = np.cov(np.concatenate([x0 - x0.mean(axis=0), x1 - x1.mean(axis=0)]).T, ddof=2)
    covariance = 0.9 * within + 0.1 * np.diag(np.diag(within))
    covariance[np.diag_indices(2)] = np.maximum(np.diag(within), 0.25)
    law = [stats.multivariate_normal(x.mean(axis=0), covariance) for x in (x0, x1)]
    exact = law[1].logpdf(counts(FRESH)) - law[0].logpdf(counts(FRESH))
    np.testing.assert_allclose(fitted(marginals=MARGINALS, law="pooled").score(FRESH), exact, rtol=1e-9)


def test_all_columns_and_pairs_are_the_default_marginals():
    assert len(fitted().counts.queries) == 5 + 10


@pytest.mark.parametrize("marginals", [(), ((),)])
def test_empty_marginals_are_refused(marginals):
    with pytest.raises(ParameterError, match="marginals must hold at least one set"):
        MarginalLikelihood(marginals=marginals)


def test_an_unknown_column_and_a_small_pilot_are_refused():
    with pytest.raises(AttackError, match="marginals must name columns from 0 to 4"):
        fitted(marginals=((5,),))
    few = Outputs(PILOT[0].values[:29])
    with pytest.raises(AttackError, match=r"at least 30 ordinary pilot outputs per side .* got 29 and 29"):
        MarginalLikelihood().fit(target(), few, few, np.random.default_rng(0))


DOMAIN = {"a": 2, "b": 2, "c": 3, "d": 2}
MEASURED = tuple((name,) for name in DOMAIN)
RECORDS = np.vstack([np.zeros((40, 4), dtype=int), [[1, 1, 2, 1]]])
PAIR = remove_record(RECORDS, -1)
NOTHING = Outputs(np.empty((0, 1)))


def measured(view="measurements", deviation=1.0, **options):
    selection = FixedMarginals(MEASURED, standard_deviation=deviation)
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


def test_auto_attacks_counts_by_their_law_and_tables_by_queries():
    counts = NoisyHistogramTable(1.0, DOMAIN, relation="add_remove")
    assert choose("auto", Target(counts, PAIR))[0] == "likelihood-ratio"
    table = NoisyHistogramTable(1.0, DOMAIN, relation="add_remove", view="table", n_rows=30)
    assert choose("auto", Target(table, PAIR))[0] == "generated-queries"


@pytest.mark.parametrize(("n_rows", "share"), [(200, 0.95), (5, 0.3)])
def test_longer_tables_leak_more_of_the_answers(n_rows, share):
    deviation, n = 0.7, 800
    table = measured("table", deviation, n_rows=n_rows)
    target, pilot, fresh = Target(table, PAIR), sides(table, 400, 2), sides(table, n, 3)
    exact = stats.norm.cdf(2 / deviation / np.sqrt(2))
    for attack in (GeneratedQueries(model="logistic"), MarginalLikelihood(marginals=((0,), (1,), (2,), (3,)))):
        scorer = attack.fit(target, *pilot, np.random.default_rng(0))
        area = auc(*(scorer.score(outputs) for outputs in fresh))
        assert area - 0.5 > share * (exact - 0.5)
        assert area < exact + 4.9 * np.sqrt(exact * (1 - exact) / n)
        assert n_rows > 5 or area < exact - 0.05
