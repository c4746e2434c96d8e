"""Laplace noise for many queries: known scales, how they grow, and that the wanted epsilon holds."""

import math

import numpy as np
import pytest

from dpassay.mechanisms.accounting import ConcentratedDP
from dpassay.mechanisms.combinators.repeated import Repeated
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.noise.calibration import concentrated_budget, laplace_scale
from dpassay.mechanisms.noise.laplace import Laplace


@pytest.mark.parametrize(
    ("n_queries", "basic", "concentrated"), [(10, 10.0, 17.214), (100, 100.0, 54.434), (1000, 1000.0, 172.137)]
)
def test_scales_of_many_queries_are_the_known_ones(n_queries, basic, concentrated):
    """epsilon 1, delta 1e-6: worked out by hand from rho = 1 / (4 ln(10^6) + 4)."""
    assert laplace_scale(1.0, 1e-6, n_queries) == basic
    assert laplace_scale(1.0, 1e-6, n_queries, composition="concentrated") == pytest.approx(concentrated, abs=5e-4)
    assert laplace_scale(2.0, 1e-6, n_queries, sensitivity=3.0) == 1.5 * n_queries


def test_concentrated_noise_is_the_smaller_one_from_thirty_queries_on():
    """More than 2 (ln(1 / delta) + epsilon) = 29.6."""
    scales = {k: laplace_scale(1.0, 1e-6, k, composition="concentrated") for k in (29, 30)}
    assert scales[29] > laplace_scale(1.0, 1e-6, 29)
    assert scales[30] < laplace_scale(1.0, 1e-6, 30)


@pytest.mark.parametrize(("composition", "slope"), [("basic", 1.0), ("concentrated", 0.5)])
def test_error_grows_with_the_number_of_queries_or_with_its_square_root(composition, slope):
    """Measured: the root of the mean square error of all answers, at 4 to 1,024 queries and a fixed budget."""
    rng, counts = np.random.default_rng(0), 4 ** np.arange(1, 6)
    errors = []
    for k in counts:
        scale = laplace_scale(1.0, 1e-6, int(k), composition=composition)
        mechanism = Laplace(1.0 / scale)
        errors.append(math.sqrt(np.mean(mechanism.release(0.0, 100_000, rng).values ** 2)))
        assert errors[-1] == pytest.approx(math.sqrt(2.0) * scale, rel=0.05)
    assert np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(slope, abs=0.02)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 0.1, 0.9])
def test_budget_of_concentrated_dp_keeps_the_wanted_epsilon(epsilon, delta):
    rho = concentrated_budget(epsilon, delta)
    assert rho + math.sqrt(4 * rho * math.log(1 / delta)) <= epsilon * (1 + 1e-12)
    assert ConcentratedDP(rho).epsilon(delta) <= epsilon
    most = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
    assert most / 4 <= rho <= most  # the largest that does, by the same conversion
    assert epsilon > 0.1 * math.log(1 / delta) or rho > 0.9 * most


def test_queries_with_this_noise_keep_the_wanted_epsilon_together():
    """By the whole law of the composition, in which this conversion loses nearly half."""
    scale = laplace_scale(1.0, 1e-3, 20, composition="concentrated")
    together = Repeated(Laplace(1.0 / scale), 20, accounting="privacy-loss").guarantee().epsilon(1e-3)
    assert 0.5 < together <= 1.0


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0.0, 1e-6, 3), {}, "epsilon must be"),
        ((1.0, 1.0, 3), {}, "delta must"),
        ((1.0, 0.0, 3), {"composition": "concentrated"}, "delta must"),
        ((1.0, 1e-6, 0), {}, "n_queries must be"),
        ((1.0, 1e-6, 3), {"composition": "advanced"}, "composition"),
    ],
)
def test_bad_arguments_are_refused(arguments, options, message):
    with pytest.raises(ParameterError, match=message):
        laplace_scale(*arguments, **options)
