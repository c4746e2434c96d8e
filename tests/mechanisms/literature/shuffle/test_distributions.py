"""Learning and testing distributions in each trust model: slopes of the error, power at a distance, privacy."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.accounting import ClonesDP
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.local import HadamardResponse, SubsetSelection
from dpassay.mechanisms.literature.shuffle import FrequencyLearner, UniformityTest, oracle_for
from dpassay.mechanisms.local import KAryRandomizedResponse

MODELS = {
    "non-private": {},
    "central": {"epsilon": 0.05},
    "local": {"epsilon": 1.0},
    "shuffle": {"epsilon": 0.3, "delta": 1e-6},
}


@pytest.mark.parametrize(
    ("model", "n", "in_n", "in_k"),
    [
        ("non-private", 2000, -0.5, 0.5),  # sqrt(k / n)
        ("central", 1000, -1.0, 1.0),  # k / (n epsilon): noise outweighs sampling
        ("local", 4000, -0.5, 1.0),  # k / (epsilon sqrt(n))
        ("shuffle", 4000, -1.0, 1.0),  # k sqrt(ln(1 / delta)) / (n epsilon)
    ],
)
def test_learning_error_has_the_slopes_of_the_rates(model, n, in_n, in_k):
    """The exponents of n and of k, from 32 to 64 values and from n to 4 n users; the tolerance is 7 standard errors."""
    rng = np.random.default_rng(1)

    def error(k, n):
        return FrequencyLearner(k, n, model=model, **MODELS[model]).mean_error(25, rng)

    few, many, wide = error(32, n), error(32, 4 * n), error(64, n)
    assert np.log(many / few) / np.log(4) == pytest.approx(in_n, abs=0.15)
    assert np.log(wide / few) / np.log(2) == pytest.approx(in_k, abs=0.25)


@pytest.mark.parametrize("model", MODELS)
def test_estimates_are_unbiased(model):
    rng, values = np.random.default_rng(2), np.repeat([0, 1, 2], [600, 300, 100])
    learner = FrequencyLearner(3, 1000, model=model, **MODELS[model])
    estimates = np.array([learner.estimate(values, rng) for _ in range(300)])
    error = estimates.std(axis=0, ddof=1) / np.sqrt(300)
    assert (np.abs(estimates.mean(axis=0) - [0.6, 0.3, 0.1]) <= 5.0 * error + 1e-12).all()


def test_oracle_has_the_smallest_variance_and_keeps_the_budget():
    for epsilon, k in itertools.product((0.3, 2.0, 6.0), (2, 16, 64)):
        kinds = [KAryRandomizedResponse] + [SubsetSelection, HadamardResponse] * (k > 2)
        least = min(kind(epsilon, k).frequency_variance(1 / k, 100) for kind in kinds)
        assert oracle_for(epsilon, k, 100).frequency_variance(1 / k, 100) == least
    shuffled = FrequencyLearner(8, 5000, model="shuffle", epsilon=0.4, delta=1e-6)
    assert shuffled.oracle.epsilon == shuffled.local_epsilon > 2.0
    assert 0.399 < ClonesDP(shuffled.local_epsilon, 5000).epsilon(1e-6) <= 0.4


def test_central_noise_has_the_scale_of_a_replaced_record():
    """The counts move by 2, the statistic of the test by 1 / max(n, k) at most: all small datasets."""
    rng = np.random.default_rng(3)
    learner = FrequencyLearner(4, 50, model="central", epsilon=0.5)
    noise = np.array([learner.estimate(np.zeros(50, dtype=int), rng) for _ in range(4000)]) - [1.0, 0, 0, 0]
    assert np.abs(noise).mean() * 50 == pytest.approx(4.0, rel=0.05)
    for k, n in ((2, 3), (3, 3), (4, 2), (2, 5)):
        exact = UniformityTest(k, n, alpha=0.2, model="non-private")
        values = np.array(list(itertools.product(range(k), repeat=n)))
        statistics = np.array([exact.statistic(row, rng) for row in values])
        neighbours = (values[:, None] != values).sum(axis=2) == 1
        largest = np.abs(statistics[:, None] - statistics)[neighbours].max()
        assert largest <= UniformityTest(k, n, alpha=0.2, model="central", epsilon=1.0).sensitivity + 1e-12
        assert largest > 0.3 / max(n, k)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "options"),
    [
        (97, {"k": 256, "model": "non-private"}),
        (227, {"k": 256, "model": "central", "epsilon": 0.1}),
        (1312, {"k": 16, "model": "shuffle", "epsilon": 0.2, "delta": 1e-6, "coins": "private"}),
        (1757, {"k": 16, "model": "local", "epsilon": 1.0, "coins": "private"}),
        (2591, {"k": 16, "model": "local", "epsilon": 1.0, "coins": "public"}),
    ],
)
def test_larger_error_rate_at_the_sizes_of_the_page_is_a_third(n, options):
    """docs/results/sample-complexity.md; 2,500 runs a side. Half as many users for public coins have a rate of .42."""
    rng = np.random.default_rng(1)
    sizes = [round(n * factor) for factor in (0.97, 0.99, 1.01, 1.03)]
    rates = np.mean(
        [UniformityTest(n_users=size, alpha=0.25, **options).error_rates(625, rng) for size in sizes], axis=0
    )
    limit = stats.norm.isf(1e-6 / 2) * math.sqrt(2 / 9 / 2500)
    assert max(rates) == pytest.approx(1 / 3, abs=limit)


@pytest.mark.parametrize(
    ("model", "coins", "n"),
    [
        ("non-private", None, 150),
        ("central", None, 200),
        ("local", "private", 16_000),
        ("local", "public", 24_000),
        ("shuffle", "private", 3000),
        ("shuffle", "public", 6000),
    ],
)
def test_uniformity_is_distinguished_from_distance_a_quarter(model, coins, n):
    """Both errors are at most 1/3 with that many users, and not with a tenth of them, on 32 values at epsilon 1."""
    rng = np.random.default_rng(4)
    options = {"alpha": 0.25, "model": model, "coins": coins}
    options |= {"epsilon": 1.0} if model != "non-private" else {}
    options |= {"epsilon": 0.5, "delta": 1e-6} if model == "shuffle" else {}
    assert max(UniformityTest(32, n, **options).error_rates(80, rng)) <= 1 / 3
    assert sum(UniformityTest(32, n // 10, **options).error_rates(80, rng)) > 1 / 2


@pytest.mark.parametrize("coins", ["private", "public"])
def test_squared_distance_is_unbiased(coins):
    """On a fixed distribution, over samples, messages and partitions: sum over v of (p_v - 1/k)^2."""
    rng, p = np.random.default_rng(5), np.array([0.4, 0.3, 0.2, 0.1])
    test = UniformityTest(4, 400, alpha=0.3, model="local", epsilon=2.0, coins=coins, n_groups=4)
    result = np.array([test.statistic(rng.choice(4, 400, p=p), rng) for _ in range(1500)])
    kept = 1.0 if coins == "private" else 2.0 / 3.0
    expected = kept * ((p - 0.25) ** 2).sum()
    assert abs(result.mean() - expected) < 5.0 * result.std() / np.sqrt(1500)
    assert result.mean() > 0.5 * expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.6}, "alpha must be at most"),
        ({"coins": "public", "n_parts": 3}, "n_parts must divide k"),
        ({"coins": None}, "coins is None"),
        ({"delta": 0.1}, "delta is 0.1"),
    ],
)
def test_wrong_options_are_named(options, message):
    given = {"alpha": 0.25, "model": "local", "epsilon": 1.0, "coins": "private"} | options
    with pytest.raises(ParameterError, match=message):
        UniformityTest(8, 100, **given)


def test_wrong_values_are_named():
    with pytest.raises(ParameterError, match="10 whole numbers from 0 to 3"):
        FrequencyLearner(4, 10, model="non-private").estimate(np.arange(10), np.random.default_rng(0))
