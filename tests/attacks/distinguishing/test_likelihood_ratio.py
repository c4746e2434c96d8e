"""The likelihood-ratio attack, and laws that an auditor assumes: optimal where right, valid where wrong."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.attacks.attack_laws import advantage, auc, outputs, rates

from dpassay.attacks.base import Target
from dpassay.attacks.distinguishing import AssumedLaw, LikelihoodRatio
from dpassay.attacks.distinguishing.likelihood_ratio import SCORE_RESOLUTION
from dpassay.audit import audit
from dpassay.mechanisms import Laplace, Neighbours, Outputs, PureDP
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.core import AttackError, LogDensity, ParameterError
from dpassay.mechanisms.noise.broken_floats import FloatLaplace

N = 200_000
QUANTILES = (np.arange(N) + 0.5) / N
NOTHING = Outputs(np.empty(0))


@dataclass(frozen=True)
class Noise:
    """Adds noise of a scipy law to the dataset, a number or a vector."""

    law: Any

    def output_law(self) -> LogDensity:
        return self

    def log_density(self, outputs: Outputs, dataset: Any) -> np.ndarray:
        each = self.law.logpdf(outputs.values - dataset)
        return each if each.ndim == 1 else each.sum(axis=1)


@dataclass(frozen=True)
class Table:
    """Gives out the log densities it was built with: dataset 0 or 1 chooses the column."""

    log_p: tuple[np.ndarray, np.ndarray]

    def output_law(self) -> LogDensity:
        return self

    def log_density(self, outputs: Outputs, dataset: int) -> np.ndarray:
        return self.log_p[dataset]


def scores_of(mechanism: Any, values: np.ndarray, d0: Any = 0.0, d1: Any = 1.0) -> np.ndarray:
    target = Target(mechanism, Neighbours(d0, d1, "add_remove"))
    return LikelihoodRatio().fit(target, NOTHING, NOTHING, np.random.default_rng(0)).score(Outputs(values))


def tpr_at(fpr: float, out: np.ndarray, in_: np.ndarray) -> float:
    all_fpr, all_tpr = rates(out, in_)
    return float(np.interp(fpr, all_fpr[::-1], all_tpr[::-1]))


def test_gaussian_scores_meet_the_exact_yardsticks() -> None:
    """mu = 1: AUC Phi(1/sqrt 2), advantage 2 Phi(1/2) - 1, TPR Phi(1 + Phi^-1(FPR))."""
    noise = stats.norm.ppf(QUANTILES)
    out, in_ = scores_of(Noise(stats.norm), noise), scores_of(Noise(stats.norm), noise + 1.0)
    assert auc(out, in_) == pytest.approx(stats.norm.cdf(np.sqrt(0.5)), abs=1e-5)
    assert advantage(out, in_) == pytest.approx(2 * stats.norm.cdf(0.5) - 1, abs=1e-5)
    for fpr, rounded in ((0.1, 0.389), (0.01, 0.0924), (0.001, 0.0183)):
        exact = stats.norm.cdf(1.0 + stats.norm.ppf(fpr))
        assert exact == pytest.approx(rounded, rel=3e-3)
        assert tpr_at(fpr, out, in_) == pytest.approx(exact, rel=3e-3)


def test_laplace_scores_meet_the_exact_yardsticks() -> None:
    """epsilon = 1: AUC 1 - (2 + e) exp(-e) / 4, advantage 1 - exp(-e / 2)."""
    noise = stats.laplace.ppf(QUANTILES)
    out, in_ = scores_of(Noise(stats.laplace), noise), scores_of(Noise(stats.laplace), noise + 1.0)
    assert auc(out, in_) == pytest.approx(1 - 3 * np.exp(-1.0) / 4, abs=1e-5)
    assert advantage(out, in_) == pytest.approx(1 - np.exp(-0.5), abs=1e-5)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, np.log(3.0), 7.3])
def test_the_atoms_of_laplace_scores_are_whole(epsilon: float) -> None:
    law = stats.laplace(scale=1.0 / epsilon)
    tail = 1.0 + law.ppf(0.5 + QUANTILES[::100] / 2.0)
    assert len(np.unique(law.logpdf(tail - 1.0) - law.logpdf(tail))) > 1, "without rounding the atom falls apart"
    assert len(np.unique(scores_of(Noise(law), tail))) == 1
    assert scores_of(Noise(law), tail)[0] == pytest.approx(epsilon, abs=SCORE_RESOLUTION)


def test_scores_of_a_vector_are_sums_over_its_coordinates() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(50, 4))
    d0, d1 = np.zeros(4), np.array([1.0, 0.0, -2.0, 0.5])
    naive = [
        sum(stats.norm.logpdf(x - b) - stats.norm.logpdf(x - a) for x, a, b in zip(row, d0, d1, strict=True))
        for row in values
    ]
    assert scores_of(Noise(stats.norm), values, d0, d1) == pytest.approx(naive, abs=SCORE_RESOLUTION)


def test_impossible_outputs_settle_the_side_and_never_give_nan() -> None:
    inf = np.inf
    table = Table((np.array([-inf, 0.0, -inf, 1.0, inf]), np.array([0.0, -inf, -inf, 3.0, inf])))
    assert scores_of(table, np.zeros(5), 0, 1).tolist() == [inf, -inf, 0.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("log_p", "message"),
    [
        (np.array([0.0, np.nan]), r"log_density is NaN for 1 of 2 outputs.*classifier"),
        (np.zeros((2, 3)), r"shape \(2,\), but returned shape \(2, 3\)"),
    ],
)
def test_nan_and_densities_of_coordinates_are_refused(log_p: np.ndarray, message: str) -> None:
    with pytest.raises(AttackError, match=message):
        scores_of(Table((log_p, np.zeros_like(log_p, shape=log_p.shape))), np.zeros(log_p.shape), 0, 1)


def test_swapping_the_sides_swaps_the_sign() -> None:
    values = np.random.default_rng(2).normal(size=100)
    forward, backward = (scores_of(Noise(stats.norm), values, *d) for d in ((0.0, 1.0), (1.0, 0.0)))
    assert forward == pytest.approx(-backward, abs=0.0)


def test_a_mechanism_without_a_law_is_refused_by_check_and_fit() -> None:
    pair = Neighbours([1], [1, 2], "add_remove")
    function = FunctionMechanism(lambda data, rng: rng.laplace(), claim=PureDP(1.0), neighbours=pair)
    target, attack, message = Target(function, pair), LikelihoodRatio(), r"of Function.* not known.*attack='classifier'"
    assert not attack.supports(target)
    with pytest.raises(AttackError, match=message):
        attack.check(target)
    with pytest.raises(AttackError, match=message):
        attack.fit(target, NOTHING, NOTHING, np.random.default_rng(0))


def test_the_scorer_pickles_and_learns_nothing() -> None:
    values = np.random.default_rng(3).normal(size=20)
    attack, target = LikelihoodRatio(), Target(Noise(stats.norm), Neighbours(0.0, 1.0, "add_remove"))  # type: ignore[arg-type]
    pilots = [outputs(np.zeros(5), np.ones(5)), outputs(np.ones(9), np.zeros(9))]
    scorers = [pickle.loads(pickle.dumps(attack.fit(target, *pilot, np.random.default_rng(0)))) for pilot in pilots]
    assert np.array_equal(scorers[0].score(Outputs(values)), scorers[1].score(Outputs(values)))
    assert LikelihoodRatio.minimum_pilot == 0


PAIR = Neighbours(np.zeros(2), np.array([0.0, 1.0]), "replace_one")


def noisy_sum(records, size, rng):
    return np.sum(records) + rng.laplace(0.0, 2.0, size=size)


def whole_noise(records, size, rng):
    return np.sum(records) + rng.geometric(0.4, size=size) - rng.geometric(0.4, size=size)


def verdict(function, law, claim=0.52):
    options = {"claim": PureDP(claim), "delta": 0.0, "trials": 20_000, "confidence": 1 - 1e-6, "seed": 0}
    return audit(function, PAIR, attack=AssumedLaw(law=law), **options)


def test_scores_are_the_likelihood_ratios_of_the_law():
    law, outputs, rng = Laplace(0.5), Outputs(np.linspace(-3, 4, 50)), np.random.default_rng(0)
    target, nothing = Target(law, law.worst_case()), Outputs(np.empty(0))
    scores = [
        attack.fit(target, nothing, nothing, rng).score(outputs) for attack in (AssumedLaw(law=law), LikelihoodRatio())
    ]
    np.testing.assert_array_equal(*scores)


def test_only_the_law_of_floats_refutes_float_noise(without_power):
    floats, real = FloatLaplace(0.5, sampler="numpy", query=np.sum), Laplace(0.5, query=np.sum)
    refuted = verdict(noisy_sum, floats)
    assert refuted.verdict.value == "violation"
    assert refuted.bound.epsilon > 5.0
    shown = verdict(noisy_sum, real)
    assert shown.verdict.value == "consistent"
    assert 0.4 < shown.bound.epsilon <= 0.5


def test_whole_noise_is_not_refuted_by_the_law_of_floats(without_power):
    """Its true epsilon is ln(1 / 0.6) = 0.511; its outputs are whole, and no law of floats gives them."""
    shown = verdict(whole_noise, FloatLaplace(0.5, sampler="numpy", query=np.sum))
    assert shown.verdict.value == "consistent"


def test_an_object_without_log_density_is_refused():
    with pytest.raises(ParameterError, match=r"law must have a method log_density.*but is 'laplace'"):
        AssumedLaw(law="laplace")
