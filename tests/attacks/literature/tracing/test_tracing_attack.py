"""Tracing on a pair of studies: scores, what it refuses, and bounds that stay below the claim."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.attacks.attack_laws import check_scorer

from dpassay.attacks.base import Target
from dpassay.attacks.catalogue import choose
from dpassay.attacks.literature.tracing import Tracing, expected_z
from dpassay.attacks.literature.tracing.statistics import catalogue
from dpassay.audit import Verdict, audit
from dpassay.mechanisms import GaussianDP, Laplace, Neighbours, Outputs
from dpassay.mechanisms.core import AttackError, ParameterError
from dpassay.mechanisms.literature.studies import ColumnMeans, ConstantFrequencies, Study, Uniform

NOTHING = Outputs(np.empty((0, 1)))
PRIVATE = ColumnMeans(20, 100, noise_multiplier=1.0, population=Uniform())
every_statistic = pytest.mark.parametrize("statistic", list(catalogue))


def fitted(means, **options):
    return Tracing(**options).fit(Target(means, means.worst_case()), NOTHING, NOTHING, np.random.default_rng(0))


def scores(means, runs, seed=0, **options):
    scorer, pair = fitted(means, **options), means.worst_case()
    rng = np.random.default_rng(seed)
    return [scorer.score(means.release(pair.side(side), runs, rng)) for side in (0, 1)]


@every_statistic
@pytest.mark.parametrize("kind", [{"noise": "none"}, {"scale": 0.05}], ids=["exact", "noisy"])
def test_members_score_higher(statistic, kind):
    out, in_ = scores(ColumnMeans(50, 400, population=Uniform(), **kind), 300, statistic=statistic)
    assert out.shape == in_.shape == (300,)
    assert np.isfinite([out, in_]).all()
    assert stats.mannwhitneyu(in_, out, alternative="greater").pvalue < 1e-6


@every_statistic
def test_scorers_score_each_run_independently(statistic):
    values = PRIVATE.release(PRIVATE.worst_case().d0, 7, np.random.default_rng(0)).values
    check_scorer(fitted(PRIVATE, statistic=statistic), values, rtol=1e-12)


def test_the_exact_ratio_is_what_auto_takes():
    target = Target(PRIVATE, PRIVATE.worst_case())
    assert choose("auto", target)[0] == "likelihood-ratio"
    outputs = PRIVATE.release(target.neighbours.d1, 5, np.random.default_rng(1))
    auto = choose("auto", target)[1].fit(target, NOTHING, NOTHING, np.random.default_rng(0)).score(outputs)
    np.testing.assert_allclose(fitted(PRIVATE, statistic="exact-likelihood-ratio").score(outputs), auto, atol=1e-8)


@pytest.mark.parametrize("multiplier", [0.3, 1.0, 3.0])
def test_measured_z_never_exceeds_mu(multiplier):
    """Nearly no non-members: the pair of the claim, except for one non-member."""
    runs = 2_000
    for n, value in ((2, 0.5), (50, 0.5), (50, 0.02)):
        means = ColumnMeans(n, 100, noise_multiplier=multiplier, population=ConstantFrequencies(value=value))
        out, in_ = scores(means, runs, seed=3)
        z = (in_.mean() - out.mean()) / out.std()
        assert z <= means.guarantee().mu + stats.norm.isf(1e-6) * math.sqrt(2.0 / runs)
        assert expected_z(np.full(100, value), n, means.noise_scale) <= means.guarantee().mu


@every_statistic
def test_private_means_keep_their_claim(statistic, without_power):
    result = audit(PRIVATE, attack=Tracing(statistic=statistic), trials=1_000, delta=1e-5, seed=1)
    assert result.verdict is Verdict.CONSISTENT
    assert result.bound.epsilon <= result.claim


@pytest.mark.parametrize("decimals", [None, 1], ids=["exact", "rounded"])
def test_exact_and_rounded_means_are_refuted_as_private_ones(decimals, without_power):
    means = ColumnMeans(50, 500, noise="none", decimals=decimals, population=Uniform())
    result = audit(means, attack="tracing", claim=GaussianDP(1.0), trials=1_000, delta=1e-5, seed=1)
    assert result.verdict is Verdict.VIOLATION
    assert result.attack == "tracing"


def test_rounded_means_leak_less_than_exact_ones(without_power):
    bounds = [
        audit(
            ColumnMeans(50, 150, noise="none", decimals=decimals, population=Uniform()),
            attack="tracing",
            claim=GaussianDP(1.0),
            trials=2_000,
            delta=1e-5,
            seed=2,
        ).bound.epsilon
        for decimals in (None, 1, 0)
    ]
    assert bounds[0] > bounds[1] > bounds[2]


@pytest.mark.parametrize(
    "pair",
    [
        Neighbours(0.0, 1.0, "replace_one"),
        Neighbours(Study([0.5]), Study([0.5]), "replace_one"),
        Neighbours(Study([0.5], [1]), Study([0.5]), "replace_one"),
    ],
    ids=["numbers", "no person", "no person on side 1"],
)
def test_a_pair_without_a_person_on_side_1_is_refused(pair):
    target = Target(ColumnMeans(5, 1, scale=0.1), pair)
    assert not Tracing().supports(target)
    with pytest.raises(AttackError, match="side 1 has a person"):
        Tracing().fit(target, NOTHING, NOTHING, np.random.default_rng(0))


def test_all_constant_columns_are_refused():
    target = Target(
        ColumnMeans(5, 2, scale=0.1), Neighbours(Study([0.0, 1.0]), Study([0.0, 1.0], [0, 1]), "replace_one")
    )
    with pytest.raises(ParameterError, match="every frequency is 0 or 1"):
        Tracing().check(target)


def test_statistics_that_read_the_mechanism_need_one_that_publishes_means():
    target = Target(Laplace(1.0), PRIVATE.worst_case())
    with pytest.raises(AttackError, match="Use statistic='homer'"):
        Tracing().check(target)
    Tracing(statistic="homer").check(target)
