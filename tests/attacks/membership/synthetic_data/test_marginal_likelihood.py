"""Normal laws of the record's cells in some marginals."""

import numpy as np
import pytest
from scipy import stats
from tests.attacks.table_laws import Bootstrap, sides, target

from dpassay.attacks.membership.synthetic_data import MarginalLikelihood
from dpassay.mechanisms.core.base import Outputs
from dpassay.mechanisms.core.errors import AttackError, ParameterError

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


def test_the_pooled_score_is_linear_discriminant_analysis_with_a_shrunk_covariance():
    x0, x1 = (counts(pilot) for pilot in PILOT)
    within = np.cov(np.concatenate([x0 - x0.mean(axis=0), x1 - x1.mean(axis=0)]).T, ddof=2)
    covariance = 0.9 * within + 0.1 * np.diag(np.diag(within))
    covariance[np.diag_indices(2)] = np.maximum(np.diag(within), 0.25)
    law = [stats.multivariate_normal(x.mean(axis=0), covariance) for x in (x0, x1)]
    exact = law[1].logpdf(counts(FRESH)) - law[0].logpdf(counts(FRESH))
    np.testing.assert_allclose(fitted(marginals=MARGINALS, law="pooled").score(FRESH), exact, rtol=1e-9)


def test_without_marginals_all_columns_and_pairs_are_looked_at():
    assert len(fitted().counts.queries) == 5 + 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"law": "poisson"}, "unknown law 'poisson'"),
        ({"marginals": ()}, "marginals must hold at least one set"),
        ({"marginals": ((),)}, "marginals must hold at least one set"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ParameterError, match=message):
        MarginalLikelihood(**options)


def test_a_column_that_is_not_there_and_a_small_pilot_are_refused():
    with pytest.raises(AttackError, match="marginals must name columns from 0 to 4"):
        fitted(marginals=((5,),))
    few = Outputs(PILOT[0].values[:29])
    with pytest.raises(AttackError, match="at least 30 ordinary pilot tables per side, but got 29 and 29"):
        MarginalLikelihood().fit(target(), few, few, np.random.default_rng(0))
