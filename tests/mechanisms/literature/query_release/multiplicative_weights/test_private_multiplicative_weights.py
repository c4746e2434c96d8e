"""Private multiplicative weights online: a loop as its twin, the law of transcripts, the budget."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpassay.mechanisms.accounting import ConcentratedDP, PureDP
from dpassay.mechanisms.core import Neighbours, Outputs
from dpassay.mechanisms.literature.query_release.multiplicative_weights import PrivateMultiplicativeWeights
from dpassay.mechanisms.literature.query_release.multiplicative_weights.online import _log_comparison_probability
from dpassay.mechanisms.noise.queries import Workload
from dpassay.mechanisms.selection.sparse_vector import NumericalSparseVector

FALSE_ALARM = 1e-6
PREFIXES = Workload.prefixes({"age": 4})
AGES = np.array([0, 0, 0, 1, 3, 3])
TWO_UPDATES = {"epsilon": 4.0, "threshold": 1.0, "n_updates": 2}


def test_stretch_is_the_integral_over_the_threshold():
    queries, signs = np.array([[1.0, -2.0, 5.0], [0.3, 40.0, 0.3]]), np.array([[-1, 1, 0], [-1, -1, 1]])
    log_probabilities = _log_comparison_probability(queries, signs < 0, signs > 0, threshold=0.5, scales=(1.5, 4.0))
    for row, sign, log_p in zip(queries, signs, log_probabilities, strict=True):

        def chance(t, row=row, sign=sign):
            below = stats.laplace.cdf(t - row, scale=4.0)
            chances = np.where(sign == 0, 1, np.where(sign < 0, below, 1 - below))
            return stats.laplace.pdf(t, 0.5, 1.5) * np.prod(chances)

        exact = integrate.quad(chance, -60, 120, points=[0.5, *row], limit=500, epsabs=1e-13)[0]
        assert math.exp(log_p) == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize("delta", [None, 0.05])
def test_answers_are_those_of_a_loop_over_the_transcript(delta):
    options = {"delta": delta, **TWO_UPDATES}
    transcripts, answers = (
        PrivateMultiplicativeWeights(PREFIXES, 6, view=view, **options)
        .release(AGES, 50, np.random.default_rng(1))
        .values
        for view in ("transcript", "answers")
    )
    for transcript, answered in zip(transcripts, answers, strict=True):
        a = np.full(4, 0.25)
        for query, measured in enumerate(transcript):
            own = 6 * PREFIXES.matrix[query] @ a
            assert answered[query] == pytest.approx(measured or own, abs=1e-10)
            if measured:
                a = a * np.exp(PREFIXES.matrix[query] * (measured - own) / 12)
                a = a / a.sum()
        assert np.count_nonzero(transcript) <= 2
    assert set(np.count_nonzero(transcripts, axis=1)) >= {1, 2}


@pytest.mark.parametrize("delta", [None, 0.05])
def test_densities_of_two_datasets_agree_with_what_is_released(delta):
    mechanism, size = PrivateMultiplicativeWeights(PREFIXES, 6, delta=delta, **TWO_UPDATES), 2_000
    pair = Neighbours(AGES, np.array([0, 0, 3, 1, 3, 3]), "replace_one")
    outputs = mechanism.release(pair.d0, size, np.random.default_rng(2))
    ratio = np.exp(mechanism.log_density(outputs, pair.d1) - mechanism.log_density(outputs, pair.d0))
    assert abs(ratio.mean() - 1.0) < stats.norm.isf(FALSE_ALARM / 2) * ratio.std() / math.sqrt(size)
    assert ratio.std() > 0.05
    assert np.abs(np.log(ratio)).max() <= (mechanism.epsilon if delta is None else 99.0)


def test_noise_scales_are_those_of_the_sparse_vector():
    pure = PrivateMultiplicativeWeights(PREFIXES, 6, **TWO_UPDATES)
    assert pure.sparse_vector == NumericalSparseVector(4.0, 4, threshold=1.0, stop_after=2, relation="replace_one")
    assert pure.guarantee() == PureDP(4.0, relation="replace_one")
    approximate = PrivateMultiplicativeWeights(PREFIXES, 6, delta=1e-3, **TWO_UPDATES)
    rho = ConcentratedDP.for_budget(epsilon=4.0, delta=1e-3).rho
    assert 2 * approximate.sparse_vector.epsilon**2 / 2 == pytest.approx(rho)
    assert approximate.guarantee().epsilon(1e-3) <= 4.0


def test_delta_makes_many_updates_cheaper():
    options = {"epsilon": 1.0, "threshold": 1.0, "n_updates": 200}
    pure, approximate = (
        PrivateMultiplicativeWeights(PREFIXES, 6, delta=delta, **options).value_scale for delta in (None, 1e-6)
    )
    assert approximate < 0.6 * pure


def test_repeated_queries_need_few_updates():
    """Answers to a stream in which every query comes twice: the second half is better, with few updates."""
    workload = Workload.prefixes({"age": 32})
    twice = Workload({"age": 32}, np.tile(workload.matrix, (2, 1)))
    ages = np.random.default_rng(0).binomial(31, 0.2, 5_000)
    mechanism = PrivateMultiplicativeWeights(twice, 5_000, epsilon=5.0, threshold=400.0, n_updates=40, view="answers")
    answers = mechanism.release(ages, 20, np.random.default_rng(1)).values
    own = 5_000 * twice.matrix.mean(axis=1)
    assert np.abs(answers - twice(ages)).max(axis=1).mean() < 0.2 * np.abs(own - twice(ages)).max()


def test_more_updates_than_allowed_have_probability_zero():
    mechanism = PrivateMultiplicativeWeights(PREFIXES, 6, epsilon=4.0, threshold=1.0)
    log_probabilities = mechanism.log_density(Outputs(np.array([[0.0, 2.0, 1.0, 0.0], [0.0, 2.0, 0.0, 0.0]])), AGES)
    assert np.isneginf(log_probabilities).tolist() == [True, False]
