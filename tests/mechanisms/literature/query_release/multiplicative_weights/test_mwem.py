"""MWEM: a loop over runs and cells as its twin, the law of transcripts, accuracy, refusals."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.accounting import BoundedRange, ConcentratedDP, to_concentrated
from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError, Relation
from dpassay.mechanisms.literature.query_release.multiplicative_weights import MWEM, GaussianMWEM
from dpassay.mechanisms.literature.query_release.multiplicative_weights.mwem import GaussianChoiceDP
from dpassay.mechanisms.noise.queries import Workload

FALSE_ALARM = 1e-6
PREFIXES = Workload.prefixes({"age": 5})
SIGNED = Workload({"cell": 4}, [[1, -1, 0, 0.5], [0, 1, 1, 0], [0, 0, 2, 1]])
AGES = np.array([0, 1, 1, 3, 3, 3, 4])


def distributions(matrix, n, transcript, replays):
    """The distribution before each round and after the last: Hardt, Ligett and McSherry (2012), figure 1."""
    a, before = np.full(matrix.shape[1], 1.0 / matrix.shape[1]), []
    for done in range(len(transcript)):
        before.append(a)
        for place in [done, *[*range(done + 1)] * replays]:
            q, m = int(transcript[place][0]), transcript[place][1]
            c = max(abs(entry) for row in matrix for entry in row)
            a = np.array(
                [a[x] * math.exp(matrix[q][x] * (m - n * (matrix[q] @ a)) / (2 * n * c**2)) for x in range(len(a))]
            )
            a = a / a.sum()
    return [*before, a]


@pytest.mark.parametrize("replays", [0, 2])
@pytest.mark.parametrize("workload", [PREFIXES, SIGNED], ids=["prefixes", "signed"])
def test_law_and_distribution_are_those_of_a_loop(workload, replays):
    n, exact = 7, workload(np.minimum(AGES, 3))
    options = {"rounds": 3, "replays": replays, "epsilon": 2.0}
    outputs = {
        view: MWEM(workload, n, view=view, synthetic=kind, **options).release(
            np.minimum(AGES, 3), 20, np.random.default_rng(4)
        )
        for view, kind in (("transcript", "last"), ("distribution", "average"), ("answers", "last"))
    }
    mechanism = MWEM(workload, n, **options)
    log_density = mechanism.log_density(outputs["transcript"], np.minimum(AGES, 3))
    move = np.ptp(workload.matrix, axis=1).max()
    for run, transcript in enumerate(outputs["transcript"].values):
        before = distributions(workload.matrix, n, transcript, replays)
        np.testing.assert_allclose(outputs["distribution"].values[run], np.mean(before[:-1], axis=0), atol=1e-12)
        np.testing.assert_allclose(outputs["answers"].values[run], n * workload.matrix @ before[-1], atol=1e-10)
        total = 0.0
        for a, (query, noisy) in zip(before, transcript, strict=False):
            p = np.exp(2.0 / 6 / (2 * move) * np.abs(exact - n * workload.matrix @ a))
            total += math.log(p[int(query)] / p.sum())
            total += stats.laplace.logpdf(noisy, exact[int(query)], move * 6 / 2.0)
        assert log_density[run] == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("kind", [MWEM, GaussianMWEM])
@pytest.mark.parametrize("rounds", [2, 3])
def test_densities_of_two_datasets_agree_with_what_is_released(kind, rounds):
    """E[q(Y) / p(Y)] = 1 for Y from p, where the second and third choice hang on the measurements before."""
    budget = {"epsilon": 1.5} if kind is MWEM else {"rho": 0.1}
    mechanism = kind(PREFIXES, 7, rounds=rounds, replays=1, **budget)
    pair = Neighbours(AGES, np.array([4, 1, 1, 3, 3, 3, 4]), "replace_one")
    outputs = mechanism.release(pair.d0, 40_000, np.random.default_rng(5))
    ratio = np.exp(mechanism.log_density(outputs, pair.d1) - mechanism.log_density(outputs, pair.d0))
    assert abs(ratio.mean() - 1.0) < stats.norm.isf(FALSE_ALARM / 2) * ratio.std() / 200.0
    assert ratio.std() > 0.05


@pytest.mark.parametrize(
    "mechanism",
    [MWEM(SIGNED, 6, rounds=2, epsilon=3.0, relation="add_remove"), GaussianMWEM(PREFIXES, 6, rounds=2, rho=0.3)],
    ids=["laplace", "gaussian"],
)
def test_curve_of_two_rounds_is_the_hockey_stick_divergence_of_the_runs(mechanism):
    pair, size = mechanism.worst_case(), 40_000
    truth, limit = mechanism.exact_guarantee(), math.sqrt(math.log(20 / FALSE_ALARM) / (2 * size))
    for epsilon in (0.0, 0.3, 1.0):
        deltas = []
        for side in (0, 1):
            outputs = mechanism.release(pair.side(side), size, np.random.default_rng([6, side]))
            own, other = (mechanism.log_density(outputs, pair.side(s)) for s in (side, 1 - side))
            deltas.append(float(np.mean(np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - own + other))))))
        assert truth.delta(epsilon) == pytest.approx(max(deltas), abs=limit)
        assert truth.delta(epsilon) <= mechanism.guarantee().delta(epsilon)


def test_gaussian_budget_adds_up():
    mechanism = GaussianMWEM(PREFIXES, 7, rho=0.6, rounds=4, selection_share=0.25)
    selection = to_concentrated(BoundedRange(mechanism.selection_epsilon)).rho
    measurement = 0.5 * (mechanism.sensitivity / mechanism.noise_scale) ** 2
    assert 4 * selection == pytest.approx(0.15)
    assert 4 * measurement == pytest.approx(0.45)
    assert mechanism.guarantee() == ConcentratedDP(0.6, Relation.REPLACE_ONE)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("workload", [PREFIXES, SIGNED, Workload.parities({"a": 2, "b": 2}, 1)])
def test_move_is_the_sensitivity_of_one_answer(workload, relation):
    mechanism = MWEM(workload, 7, epsilon=1.0, relation=relation)
    assert mechanism.sensitivity == workload.sensitivity(relation, norm=math.inf)
    pair = mechanism.worst_case()
    assert np.abs(workload(pair.d1) - workload(pair.d0)).max() == mechanism.sensitivity


def test_error_falls_with_epsilon_and_rounds_below_plain_noise():
    """Ranges of 64 values, 2,080 queries: noise on each of them is of scale 1,056 / epsilon."""
    workload = Workload.ranges({"age": 64})
    ages = np.random.default_rng(0).binomial(63, 0.3, 2_000)
    exact = workload(ages)

    def error(**options):
        mechanism = MWEM(workload, 2_000, view="answers", synthetic="last", **options)
        return np.abs(mechanism.release(ages, 20, np.random.default_rng(1)).values - exact).max(axis=1).mean()

    none, few, many = (error(epsilon=20.0, rounds=rounds) for rounds in (1, 4, 16))
    assert none > few > many
    assert error(epsilon=0.3, rounds=8) > error(epsilon=1.0, rounds=8) > error(epsilon=20.0, rounds=8)
    assert error(epsilon=1.0, rounds=8) < workload.sensitivity(Relation.REPLACE_ONE) / 1.0


def test_choice_with_gaussian_noise_has_the_curve_of_its_densities():
    weights, distances = ([0.2, 0.5, 0.3], [0.4, 0.3, 0.3]), np.array([0.7, 0.0, 1.5])
    curve = GaussianChoiceDP(*weights, distances)
    x = np.linspace(-12, 14, 200_001)
    for epsilon in (0.0, 0.4, 1.0, 3.0):
        ways = []
        for first, second in (weights, weights[::-1]):
            excess = [
                np.maximum(0.0, b * stats.norm.pdf(x, d) - math.exp(epsilon) * a * stats.norm.pdf(x)).sum()
                * (x[1] - x[0])
                for a, b, d in zip(first, second, distances, strict=True)
            ]
            ways.append(sum(excess))
        assert curve.delta(epsilon) == pytest.approx(max(ways), abs=1e-6)


def test_non_transcripts_have_probability_zero():
    mechanism = MWEM(PREFIXES, 7, epsilon=1.0, rounds=1)
    values = np.array([[[5.0, 1.0]], [[-1.0, 1.0]], [[0.5, 1.0]], [[4.0, 1.0]]])
    assert np.isneginf(mechanism.log_density(Outputs(values), AGES)).tolist() == [True, True, True, False]


def test_number_of_records_is_public_unless_records_are_added():
    with pytest.raises(ParameterError, match="Set n_records=7"):
        MWEM(PREFIXES, 9, epsilon=1.0).release(AGES, 1, np.random.default_rng(0))
    assert len(MWEM(PREFIXES, 9, epsilon=1.0, relation="add_remove").release(AGES, 3, np.random.default_rng(0))) == 3


def test_pair_that_differs_in_two_records_is_refused():
    with pytest.raises(NeighboursError):
        MWEM(PREFIXES, 7, epsilon=1.0).bind(Neighbours(AGES, np.array([4, 4, 1, 3, 3, 3, 4]), "replace_one"))
