"""Top k by peeling and in one shot: one law, its numbers, and its claim."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.accounting import ExactDP, to_renyi
from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError
from dpassay.mechanisms.literature.selection import GumbelTopK, PeelingTopK

FALSE_ALARM = 1e-6
COUNTS = np.array([3.0, 2.0, 1.0, 0.0])
RANKINGS = np.array(list(permutations(range(4), 2)))


def law(mechanism, dataset):
    return np.exp(mechanism.log_density(Outputs(RANKINGS), dataset))


def tally(mechanism, size=200_000, seed=1):
    chosen = mechanism.release(COUNTS, size, np.random.default_rng(seed)).values
    keys, wanted = chosen @ [4, 1], RANKINGS @ [4, 1]
    return np.array([np.count_nonzero(keys == key) for key in wanted])


def test_probabilities_of_ranked_lists_are_known():
    # e^3 / (e^3 + e^2 + e + 1) times e^2 / (e^2 + e + 1), and the other way round
    result = dict(zip(map(tuple, RANKINGS.tolist()), law(PeelingTopK(1.0, 4, 2, monotone=True), COUNTS), strict=True))
    assert result[0, 1] == pytest.approx(0.428358, abs=5e-7)
    assert result[1, 0] == pytest.approx(0.199880, abs=5e-7)
    assert sum(result.values()) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("kind", [PeelingTopK, GumbelTopK])
def test_lists_are_drawn_with_their_probability(kind):
    mechanism = kind(1.0, 4, 2, monotone=True)
    assert stats.chisquare(tally(mechanism), law(mechanism, COUNTS) * 200_000).pvalue > FALSE_ALARM


def test_one_shot_and_peeling_have_one_law_and_a_tenth_more_noise_differs():
    """A chi-square test of two samples of 200,000 ranked lists, with its power."""
    peeled, at_once = (tally(kind(1.0, 4, 2), seed=seed) for seed, kind in enumerate((PeelingTopK, GumbelTopK)))
    assert stats.chi2_contingency([peeled, at_once]).pvalue > FALSE_ALARM
    noisier = tally(GumbelTopK(1.0 / 1.1, 4, 2), seed=2)
    assert stats.chi2_contingency([peeled, noisier]).pvalue < FALSE_ALARM


def test_lists_of_all_candidates_and_of_one():
    everything = PeelingTopK(1.0, 4, 4)
    lists = np.array(list(permutations(range(4))))
    assert np.exp(everything.log_density(Outputs(lists), COUNTS)).sum() == pytest.approx(1.0, abs=1e-13)
    assert set(map(tuple, everything.release(COUNTS, 300, np.random.default_rng(0)).values)) <= set(map(tuple, lists))
    assert (GumbelTopK(1.0, 4, 1).release(COUNTS, 5, np.random.default_rng(0)).values.shape) == (5, 1)


def test_what_is_no_ranked_list_has_probability_zero():
    wrong = Outputs(np.array([[0.0, 0.0], [0.0, 4.0], [-1.0, 0.0], [0.5, 1.0]]))
    assert np.isneginf(PeelingTopK(1.0, 4, 2).log_density(wrong, COUNTS)).all()


def test_claims_hold_for_counts_that_move_in_one_direction():
    """One user adds 1 to any of the candidates: k epsilon, and k epsilon^2 / 8 an order. What came first decides who is
    left: the losses of two rounds spread over 3 epsilon, not 2."""
    mechanism, widest, largest = PeelingTopK(0.7, 4, 2, monotone=True), 0.0, 0.0
    orders = [1.5, 2.0, 8.0, 64.0]
    for start in (COUNTS, np.zeros(4), np.array([20.0, 20.0, 0.0, 0.0]), np.array([-9.0, -9.0, 0.0, 0.0])):
        for bits in range(1, 15):
            moved = start + [(bits >> i) & 1 for i in range(4)]
            p, q = law(mechanism, start), law(mechanism, moved)
            widest = max(widest, np.ptp(np.log(p / q)))
            largest = max(largest, ExactDP(p, q).epsilon(0.0))
            divergences = np.array(to_renyi(ExactDP(p, q), orders=orders).divergences)
            assert (divergences <= mechanism.concentrated().rho * np.array(orders)).all()
            levels = np.linspace(0.0, 1.3, 5)
            assert (ExactDP(p, q).delta(levels) <= mechanism.guarantee().delta(levels)).all()
    assert 0.99 * 2 * 0.7 < largest <= 2 * 0.7
    assert widest == pytest.approx(3 * 0.7, rel=1e-4)


def test_counts_that_move_both_ways_need_the_factor_two():
    """The rate of monotone counts, used where they move both ways, shows more than its claim; and such pairs are
    refused."""
    pair = Neighbours(np.array([-8.0, -8.0, 0.0, 0.0]), np.array([-7.0, -7.0, -1.0, -1.0]), "add_remove")
    monotone, general = (PeelingTopK(0.7, 4, 2, monotone=m) for m in (True, False))
    shown = [ExactDP(law(m, pair.d0), law(m, pair.d1)).epsilon(0.0) for m in (monotone, general)]
    assert shown[0] > 1.9 * monotone.guarantee().epsilon(0.0)
    assert shown[1] <= general.guarantee().epsilon(0.0)
    with pytest.raises(NeighboursError, match="change in both directions"):
        monotone.bind(pair)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_worst_case_shows_much_of_the_claim_and_of_three_times_the_rate(k):
    mechanism = GumbelTopK(0.5, 8, k)
    mechanism.bind(mechanism.worst_case())
    shown, claimed = mechanism.exact_guarantee().epsilon(0.0), mechanism.guarantee().epsilon(0.0)
    assert 0.55 * claimed < shown <= claimed == pytest.approx(0.5 * k)
    pair, faster, rankings = mechanism.worst_case(), GumbelTopK(1.5, 8, k), np.array(list(permutations(range(8), k)))
    log0, log1 = (faster.log_density(Outputs(rankings), side) for side in (pair.d0, pair.d1))
    assert ExactDP.of_logs(log0, log1).epsilon(0.01) > claimed
    assert mechanism.concentrated().rho == pytest.approx(k * 0.5**2 / 8)


def test_many_rounds_have_a_claim_but_no_enumeration():
    assert PeelingTopK(0.1, 100, 20).exact_guarantee() is None
    assert PeelingTopK(0.1, 100, 20).guarantee().epsilon(1e-6) < 1.2 < 2.0


def test_a_far_leader_leaves_the_other_rounds_as_they_are():
    """Beyond about 745 scales the probabilities of those that are left are 0 in floats."""
    for kind in (PeelingTopK, GumbelTopK):
        mechanism, seconds = kind(1.0, 3, 2), []
        for leader in (1490.0, 1491.0, 1e16, 1e308):
            chosen = mechanism.release([leader, 2.0, 0.0], 4000, np.random.default_rng(3)).values
            assert (chosen[:, 0] == 0).all()
            seconds.append(np.count_nonzero(chosen[:, 1] == 1))
        expected = 4000 / (1.0 + np.exp(-1.0))
        assert np.abs(np.array(seconds) - expected).max() < stats.norm.isf(FALSE_ALARM) * np.sqrt(1000.0)


def test_bad_numbers_of_candidates_are_refused():
    with pytest.raises(ParameterError, match="k must be at most 4"):
        PeelingTopK(1.0, 4, 5)
