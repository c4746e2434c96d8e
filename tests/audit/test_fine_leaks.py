"""Leaks that no smooth feature of an output shows are caught by "auto", and their correct twins are not."""

import numpy as np
import pytest
from scipy import stats
from tests.audit.fine_functions import FINE, PAIR, on_grid

from dpassay.attacks.distinguishing import Classifier, Portfolio
from dpassay.audit import Verdict, audit
from dpassay.audit.results import AuditResult
from dpassay.mechanisms.accounting import PureDP

SURE = 0.9999
FULL = 200_000
FEWER = {"low bits": 125_000, "raw value": 150_000, "16 bits": 40_000}
"""Trials of the fast test, where 12,000 are too few."""


def verdict(function, trials, seed, **options):
    return audit(function, PAIR, claim=PureDP(1.0), trials=trials, seed=seed, confidence=SURE, **options).verdict


@pytest.mark.usefixtures("without_power", "few_chunks")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in ("14 bits", "16 bits") else name for name in FINE]
)
def test_a_fine_leak_is_caught(name):
    assert verdict(FINE[name].broken, FEWER.get(name, 12_000), 0) is Verdict.VIOLATION


@pytest.mark.usefixtures("without_power", "few_chunks")
@pytest.mark.parametrize("function", {twins.correct for twins in FINE.values()}, ids=lambda function: function.__name__)
def test_its_correct_twin_is_not(function):
    assert verdict(function, 12_000, 0) is Verdict.CONSISTENT


@pytest.mark.slow
@pytest.mark.usefixtures("without_power", "few_chunks")
@pytest.mark.parametrize("name", FINE)
def test_it_is_caught_with_fifty_seeds(name):
    assert {verdict(FINE[name].broken, FULL, seed) for seed in range(50)} == {Verdict.VIOLATION}


@pytest.mark.slow
@pytest.mark.usefixtures("without_power", "few_chunks")
@pytest.mark.parametrize("name", FINE)
def test_its_twin_is_caught_with_none_of_them(name):
    assert {verdict(FINE[name].correct, FULL, seed) for seed in range(50)} == {Verdict.CONSISTENT}


def test_the_classifier_without_rules_misses_it():
    assert verdict(FINE["rounding"].broken, 12_000, 0, attack="classifier") is Verdict.CONSISTENT


# --- coverage of the whole path, rules included -----------------------------------------------------------------------

TRUTH = 0.5 + np.log(3.0)


def marked(dataset, size, rng):
    """Laplace noise of scale 2 on a grid; apart from it, a fifth decimal that is three times as likely on side 1.

    Its complement, four decimals, is 0.9 against 0.7: the true epsilon is that of the noise plus log 3.
    """
    fine = rng.random(size) < (0.3 if sum(dataset) else 0.1)
    grid = np.round(sum(dataset) + rng.laplace(scale=2.0, size=size), 2)
    return np.round(grid + 1e-5 * fine, 5)


@pytest.mark.usefixtures("without_power", "few_chunks")
@pytest.mark.parametrize("repeats", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_the_bound_on_a_leak_that_rules_see_rarely_exceeds_the_truth(repeats):
    attack = Portfolio(classifier=Classifier(model="logistic"))
    options = {"claim": PureDP(1.0), "trials": 4_000, "confidence": 0.8, "attack": attack}
    bounds = [audit(marked, PAIR, seed=seed, **options).bound.epsilon for seed in range(repeats)]
    assert sum(bound > TRUTH for bound in bounds) <= stats.binom.isf(1e-6, repeats, 0.2)
    assert np.median(bounds) > 1.0  # rules see it: noise alone has 0.5


# --- nothing to go on -------------------------------------------------------------------------------------------------


def text(dataset, rng):
    return f"{sum(dataset) + rng.laplace():.6f}"


def short_text(dataset, rng):
    return f"{sum(dataset) + rng.laplace():.0f}"


def fresh_label(dataset, rng):
    return rng.bytes(8).hex()


def raises_on_one_side(dataset, rng):
    if len(dataset) == 2 and rng.random() < 0.5:
        raise ValueError("too many")
    return rng.bytes(8).hex()


def salted_text(dataset, size, rng):
    return [f"label {sum(dataset)}-{salt}" for salt in rng.integers(0, 2**13, size)]


def salted_text_alike(dataset, size, rng):
    return [f"label {salt}" for salt in rng.integers(0, 2**13, size)]


@pytest.mark.usefixtures("without_power", "few_chunks")
def test_labels_of_one_side_are_caught_though_each_is_rare():
    assert verdict(salted_text, 20_000, 0) is Verdict.VIOLATION
    assert verdict(salted_text_alike, 20_000, 0) is Verdict.CONSISTENT


@pytest.mark.parametrize("function", [text, fresh_label])
def test_outputs_that_the_pilot_never_saw_are_not_called_consistent(function):
    result = audit(function, PAIR, claim=PureDP(1.0), trials=2_000, seed=0)
    assert result.verdict is Verdict.UNDERPOWERED
    assert result.unseen > 0.9
    assert "the attack could not learn from the pilot" in result.summary()
    assert AuditResult.from_json(result.to_json()) == result


def test_text_of_few_kinds_is_enough_to_go_on():
    result = audit(short_text, PAIR, claim=PureDP(1.0), trials=2_000, seed=0)
    assert result.verdict is Verdict.CONSISTENT
    assert result.unseen < 0.05


def test_a_violation_stays_one_whatever_the_pilot_never_saw():
    result = audit(raises_on_one_side, PAIR, claim=PureDP(0.5), trials=2_000, seed=0)
    assert result.verdict is Verdict.VIOLATION
    assert result.unseen > 0.7


# --- ordinary functions -----------------------------------------------------------------------------------------------


def laplace_sum(dataset, size, rng):
    return on_grid(sum(dataset) + rng.laplace(size=size))


def gaussian_vector(dataset, size, rng):
    return on_grid(0.3 * sum(dataset) + rng.normal(size=(size, 5)))


def geometric_count(dataset, size, rng):
    return sum(dataset) + rng.geometric(0.63, size) - rng.geometric(0.63, size)


def counts(dataset, size, rng):
    noise = rng.geometric(0.5, (size, 3)) - rng.geometric(0.5, (size, 3))
    return {"a": 7 + noise[:, 0], "b": 3 + noise[:, 1], "c": sum(dataset) + noise[:, 2]}


def mixture(dataset, size, rng):
    return on_grid(np.where(rng.random(size) < 0.3, rng.normal(4.0, 0.2, size), rng.normal(sum(dataset), 1.0, size)))


@pytest.mark.slow
@pytest.mark.usefixtures("without_power", "few_chunks")
@pytest.mark.parametrize("function", [laplace_sum, gaussian_vector, geometric_count, counts, mixture])
def test_rules_cost_ordinary_functions_at_most_two_per_cent(function):
    options = {"claim": PureDP(1.0), "delta": 1e-3, "trials": 150_000, "confidence": 0.95}
    means = [
        np.mean([audit(function, PAIR, seed=seed, attack=attack, **options).bound.epsilon for seed in range(10)])
        for attack in ("auto", "classifier")
    ]
    assert means[0] >= 0.98 * means[1]
