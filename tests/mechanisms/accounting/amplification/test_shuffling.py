"""Amplification by shuffling: the numerical bound, the formulas, the regimes, the choice of the local epsilon."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.accounting import ClonesDP, ExactDP
from dpassay.mechanisms.accounting.amplification import (
    large_epsilon_regime,
    largest_local_epsilon,
    local_epsilon_for,
    local_epsilon_rule,
    shuffled_epsilon,
    small_epsilon_regime,
)
from dpassay.mechanisms.accounting.amplification.clones import divergence
from dpassay.mechanisms.core import AccountingError, ParameterError


def two_laws(local_epsilon, n):
    """The laws of (clones of the first kind, of the second) on either side, entry by entry."""
    p0, p1 = np.zeros((n + 2, n + 2)), np.zeros((n + 2, n + 2))
    true = 1 / (1 + math.exp(-local_epsilon))
    for clones in range(n):
        for first in range(clones + 1):
            mass = stats.binom.pmf(clones, n - 1, math.exp(-local_epsilon)) * stats.binom.pmf(first, clones, 0.5)
            for law, chance in ((p0, true), (p1, 1 - true)):
                law[first + 1, clones - first] += mass * chance
                law[first, clones - first + 1] += mass * (1 - chance)
    return ExactDP(p0.ravel(), p1.ravel())


@pytest.mark.parametrize(("local_epsilon", "n"), [(0.3, 2), (1.0, 1), (1.0, 12), (2.5, 30), (6.0, 20)])
def test_clones_are_the_exact_divergence_of_their_two_laws(local_epsilon, n):
    exact, claim = two_laws(local_epsilon, n), ClonesDP(local_epsilon, n)
    epsilons = np.linspace(0.0, local_epsilon, 9)
    np.testing.assert_allclose(claim.delta(epsilons), exact.delta(epsilons), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(claim.epsilon([1e-6, 0.01, 0.1]), exact.epsilon([1e-6, 0.01, 0.1]), rtol=1e-9)
    fpr = np.linspace(0.0, 1.0, 21)
    gap = exact.tradeoff(fpr) - claim.tradeoff(fpr)
    assert np.all(gap > -1e-12)
    assert np.all(gap < 1e-3)


@pytest.mark.parametrize(  # computed by exact sums over the clones, and again here by another formula
    ("local_epsilon", "n", "epsilon"), [(4.0, 100_000, 0.16977), (4.0, 10_000, 0.60091), (1.0, 1000, 0.18241)]
)
def test_known_values_at_a_millionth(local_epsilon, n, epsilon):
    assert ClonesDP(local_epsilon, n).epsilon(1e-6) == pytest.approx(epsilon, abs=5e-6)


def test_value_lies_between_the_published_bounds_and_steps_go_up():
    # README of the program of Feldman, McMillan and Talwar: between 0.16754 and 0.17279 for these parameters
    exact = ClonesDP(4.0, 100_000).epsilon(1e-6)
    coarse = [ClonesDP(4.0, 100_000, step=step).epsilon(1e-6) for step in (1, 7, 100)]
    assert 0.16754 < exact < 0.17279
    assert exact == coarse[0] < coarse[1] < coarse[2] < 0.17279


@pytest.mark.parametrize("step", [2, 5, 50])
def test_steps_leave_no_count_of_clones_out(step):
    for local_epsilon, n in ((0.5, 12), (3.0, 30)):
        epsilons = np.linspace(0.0, local_epsilon, 7)
        exact, coarse = (ClonesDP(local_epsilon, n, step=s).delta(epsilons) for s in (1, step))
        assert np.all(coarse >= exact - 1e-15)
        assert coarse[0] > exact[0]


@pytest.mark.parametrize(("local_epsilon", "n"), [(0.5, 40), (3.0, 200)])
def test_divergence_falls_with_the_number_of_clones(local_epsilon, n):
    counts = np.arange(n, dtype=float)
    for epsilon in np.linspace(0.0, local_epsilon, 7):
        assert np.all(np.diff(divergence(counts, epsilon, local_epsilon)) <= 1e-14)


def test_groups_of_clone_counts_barely_increase_delta():
    few, many = ClonesDP(1.0, 10**6, step=1), ClonesDP(1.0, 10**6)
    assert many.step > 1
    assert 1e-7 < few.delta(0.0045) < many.delta(0.0045) < (1 + 1e-4) * few.delta(0.0045)


def test_epsilon_never_exceeds_the_local_epsilon():
    assert ClonesDP(1.5, 1).delta(0.5) == pytest.approx(ExactDP(*responses(1.5)).delta(0.5), rel=1e-12)
    for n in (1, 10, 10_000):
        assert ClonesDP(1.5, n).epsilon(0.0) == 1.5
        assert ClonesDP(1.5, n).delta([1.5, 2.0, math.inf]).tolist() == [0.0, 0.0, 0.0]


def responses(epsilon):
    p = 1 / (1 + math.exp(-epsilon))
    return [p, 1 - p], [1 - p, p]


@pytest.mark.parametrize(  # the factor-16 formula; Canonne (2022), equation (1)
    ("local_epsilon", "n", "epsilon"),
    [
        (0.5, 10_000, 0.17914),
        (1.0, 10_000, 0.38886),
        (2.0, 10_000, 0.82920),
        (math.log(3.0), 10_000, 0.43195),
        (1.0, 1000, 0.91750),
        (1.0, 9000, 0.40614),
    ],
)
def test_simplified_formula_has_its_known_values(local_epsilon, n, epsilon):
    assert shuffled_epsilon(local_epsilon, n, 1e-6, form="simplified") == pytest.approx(epsilon, abs=5e-6)


def test_formula_of_the_released_program_has_its_published_value():
    assert shuffled_epsilon(4.0, 100_000, 1e-6, form="released") == pytest.approx(0.5378040242374512, rel=1e-12)


@pytest.mark.parametrize("form", ["theorem", "simplified", "released"])
@pytest.mark.parametrize("n", [500, 10_000, 10**6])
@pytest.mark.parametrize("delta", [1e-3, 1e-8])
def test_formulas_are_never_below_the_numerical_bound(form, n, delta):
    for share in (0.02, 0.3, 0.7, 1.0):
        local = share * largest_local_epsilon(n, delta, form=form)
        if local > 0.0:
            assert ClonesDP(local, n).delta(shuffled_epsilon(local, n, delta, form=form)) < delta


def test_formulas_are_refused_where_they_do_not_hold():
    assert largest_local_epsilon(10_000, 1e-6) == pytest.approx(3.763, abs=5e-4)
    with pytest.raises(AccountingError, match=r"holds up to .* = 3\.763"):
        shuffled_epsilon(3.77, 10_000, 1e-6)
    with pytest.raises(AccountingError):
        shuffled_epsilon(0.01, 100, 1e-6)
    with pytest.raises(ParameterError, match="form"):
        shuffled_epsilon(1.0, 10_000, 1e-6, form="seed")


def test_regimes_are_the_limits_of_the_simplified_formula():
    assert small_epsilon_regime(0.5, 10_000, 1e-6) == pytest.approx(0.15596, abs=5e-6)
    n = 10**14
    for local, regime in ((1e-3, small_epsilon_regime), (12.0, large_epsilon_regime)):
        assert regime(local, n, 1e-6) == pytest.approx(shuffled_epsilon(local, n, 1e-6, form="simplified"), rel=2e-3)
    assert small_epsilon_regime(0.2, 4 * n, 1e-6) == pytest.approx(small_epsilon_regime(0.1, n, 1e-6))
    assert large_epsilon_regime(4.0, 100 * n, 1e-6) == pytest.approx(0.1 * large_epsilon_regime(4.0, n, 1e-6))


@pytest.mark.parametrize(("epsilon", "n"), [(0.2, 100_000), (1.0, 1000), (0.01, 1000), (3.0, 5)])
def test_chosen_local_epsilon_gives_back_the_target(epsilon, n):
    local = local_epsilon_for(epsilon, 1e-6, n)
    assert local >= epsilon
    assert ClonesDP(local, n).delta(epsilon) <= 1e-6
    assert ClonesDP(local * (1 + 1e-5), n).delta(epsilon) > 1e-6


def test_rule_of_thumb_grows_as_the_choice_does():
    """sqrt(n) in the first regime: four times the users, twice the local epsilon. Logarithmic in the second."""
    delta = 1e-6
    small = [(local_epsilon_for(1e-3, delta, n), local_epsilon_rule(1e-3, delta, n)) for n in (10**4, 4 * 10**4)]
    for chosen, rule in small:
        assert 1.0 < chosen / rule < 8.0  # the rule has no constants
    assert small[1][0] / small[0][0] == pytest.approx(2.0, rel=0.05)
    assert small[1][1] / small[0][1] == pytest.approx(2.0, rel=1e-12)
    large = [(local_epsilon_for(0.2, delta, n), local_epsilon_rule(0.2, delta, n)) for n in (10**5, 10**6)]
    assert large[1][0] - large[0][0] == pytest.approx(math.log(10), rel=0.05)
    assert large[1][1] - large[0][1] == pytest.approx(math.log(10), rel=1e-12)
    assert local_epsilon_rule(1.0, math.exp(-10.0), 10) == 1.0
