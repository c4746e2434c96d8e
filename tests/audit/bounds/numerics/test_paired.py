"""Limits of a paired difference: exact coverage over a grid of rates, brute force, and how tight they are."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpassay.audit.bounds.numerics import paired

N, LEVEL = 10, 0.2


def outcomes(n):
    return [(b, c) for b in range(n + 1) for c in range(n + 1 - b)]


@pytest.fixture(scope="module")
def limits():
    return {(b, c): paired.lower(b, c, N, LEVEL) for b, c in outcomes(N)}


@pytest.mark.parametrize("disagree", [0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0])
def test_limit_keeps_its_level_at_any_rate_of_disagreement(limits, disagree):
    for share in np.linspace(0.0, 1.0, 9):  # of the disagreements, won
        p, q = disagree * share, disagree * (1.0 - share)
        law = stats.multinomial(N, [p, q, max(0.0, 1.0 - p - q)])
        missed = math.fsum(law.pmf([b, c, N - b - c]) for (b, c), limit in limits.items() if limit > p - q + 1e-12)
        assert missed <= LEVEL, (p, q)


def test_level_is_nearly_used_up_somewhere(limits):
    missed = []
    for p in np.linspace(0.05, 0.95, 19):
        law = stats.multinomial(N, [p, (1.0 - p) / 2, (1.0 - p) / 2])
        gain = p - (1.0 - p) / 2
        missed.append(math.fsum(law.pmf([b, c, N - b - c]) for (b, c), limit in limits.items() if limit > gain))
    assert max(missed) > 0.75 * LEVEL


def test_limit_rises_with_wins_and_falls_with_losses(limits):
    for (b, c), limit in limits.items():
        slack = 5e-3  # the precision of the search
        assert limits.get((b + 1, c), 1.0) >= limit - slack
        assert limits.get((b, c + 1), -1.0) <= limit + slack


@pytest.mark.parametrize(("b", "c", "n"), [(8, 2, 12), (0, 5, 9), (10, 0, 14)])
def test_limit_is_rejected_by_brute_force_and_a_little_more_is_not(b, c, n):
    """The supremum over a fine grid of rates, with every outcome visited."""
    limit, level, gamma = paired.lower(b, c, n, 0.1), 0.1, 0.02 * 0.1
    low, high = stats.binomtest(b + c, n).proportion_ci(1.0 - gamma, method="exact")
    order = {each: paired._limit(*each, n) for each in outcomes(n) if each != (0, n)}
    event = np.array([each for each, limit in order.items() if limit >= order[b, c] - 1e-8])

    def highest(gain):
        pi = np.linspace(max(low, -gain), high, 150)
        win = (pi + np.minimum(gain, pi)) / 2
        parts = np.stack([win, pi - win, 1.0 - pi], axis=1).clip(0.0)
        counts = np.column_stack([event, n - event.sum(axis=1)])
        return max(stats.multinomial.pmf(counts, n, row / row.sum()).sum() for row in parts)

    assert highest(limit) <= level - gamma + 1e-6
    assert highest(limit + 0.02) > level - gamma


def test_no_cell_is_less_likely_than_the_rates_in_it():
    """On a cell of rates the event is bounded with few losses and many wins at once, and not sampled at its ends."""
    test = paired._Test.of(5, 2, 12, (0.2, 0.9), level=0.0)
    cells = np.array([[0.2, 0.5], [0.3, 0.9], [0.4, 0.41]])
    for gain in (-0.1, 0.1, 0.3):
        inside = np.linspace(cells[:, 0], cells[:, 1], 40)
        highest = np.array([test.probability(*paired._rates(column, gain)) for column in inside]).max(axis=0)
        for cell, probability in zip(cells, highest, strict=True):
            at = replace(test, level=float(probability) * (1.0 - 1e-9))
            assert len(at._too_likely(cell[np.newaxis], gain)) == 1


def test_known_values_and_edges():
    # with no disagreement at all in n rounds, nothing but c = 0 losses speaks: (1 + D)^n = what is left of the level
    expected = (0.98 * 0.025) ** (1 / 100) - 1.0
    assert paired.lower(0, 0, 100, 0.025) == pytest.approx(expected, abs=1e-3)
    assert paired.lower(0, 7, 7, 0.1) == -1.0
    assert paired.upper(7, 0, 7, 0.1) == 1.0
    # a perfect record against a useless one: Pr[all n won] = p^n, D = 2p - 1 where nothing ties
    assert paired.lower(50, 0, 50, 0.025) == pytest.approx(2 * (0.98 * 0.025) ** (1 / 50) - 1, abs=2e-3)


@pytest.mark.parametrize(("b", "c", "n"), [(300, 250, 1000), (40, 10, 1000), (90, 5, 5000), (2400, 2300, 10_000)])
def test_limit_is_within_a_tenth_of_the_normal_one(b, c, n):
    gain = (b - c) / n
    normal = stats.norm.isf(0.025) * math.sqrt((b + c) / n - gain**2) / math.sqrt(n)
    assert normal * 0.95 <= gain - paired.lower(b, c, n, 0.025) <= normal * 1.1


def test_beyond_the_largest_number_of_rounds_two_limits_share_the_level():
    n = paired.MAX_EXACT_ROUNDS + 1
    assert paired.lower(3000, 2000, n, 0.05) < 1000 / n
    assert paired.lower(3000, 2000, n, 0.05) == pytest.approx(
        stats.beta.ppf(0.025, 3000, n - 2999) - stats.beta.isf(0.025, 2001, n - 2000), rel=1e-6
    )
