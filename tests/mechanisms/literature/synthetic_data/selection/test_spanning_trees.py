"""Trees drawn by Kruskal's algorithm with noisy choices: against a walk through all sequences, one at a time."""

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.literature.synthetic_data.selection import spanning_trees as trees

FALSE_ALARM = 1e-6


def is_tree(edges, n_nodes):
    """Whether the edges reach every node, and close no circle on the way."""
    component = {node: {node} for node in range(n_nodes)}
    for a, b in edges:
        if component[a] is component[b]:
            return False
        together = component[a] | component[b]
        for node in together:
            component[node] = together
    return len(component[0]) == n_nodes


def by_hand(scores, rate, n_nodes):
    """Probability of each sequence of edges: all orders of all spanning trees, the choices weighed one by one."""
    edges = list(combinations(range(n_nodes), 2))
    result = {}
    for chosen in permutations(range(len(edges)), n_nodes - 1):
        if not is_tree([edges[e] for e in chosen], n_nodes):
            continue
        probability = 1.0
        for k, edge in enumerate(chosen):
            open_ = [
                e
                for e in range(len(edges))
                if e not in chosen[:k] and not _closes([edges[c] for c in chosen[:k]], edges[e], n_nodes)
            ]
            weights = {e: math.exp(rate * scores[e]) for e in open_}
            probability *= weights[edge] / sum(weights.values())
        result[chosen] = probability
    return result


def _closes(edges, edge, n_nodes):
    """Whether the edge joins two nodes that the edges join already."""
    reached, grew = {edge[0]}, True
    while grew:
        more = {b for a, b in edges if a in reached} | {a for a, b in edges if b in reached}
        grew = not more <= reached
        reached |= more
    return edge[1] in reached


@pytest.mark.parametrize("n_nodes", [2, 3, 4])
def test_sequences_and_probabilities_are_those_of_full_enumeration(n_nodes):
    rng = np.random.default_rng(n_nodes)
    scores = rng.normal(size=n_nodes * (n_nodes - 1) // 2)
    hand = by_hand(scores, 0.7, n_nodes)
    sequences = trees.law(n_nodes)
    assert sorted(map(tuple, sequences.tolist())) == sorted(hand)
    result = np.exp(trees.log_probability(np.tile(scores, (len(sequences), 1)), sequences, 0.7))
    np.testing.assert_allclose(result, [hand[tuple(one)] for one in sequences.tolist()], rtol=1e-12)
    assert sum(hand.values()) == pytest.approx(1.0)


def test_draws_follow_the_law_of_each_run():
    rng, size = np.random.default_rng(1), 40_000
    scores = np.array([[0.5, -1.0, 2.0, 0.0, 1.0, -0.3], [0.0, 1.5, 0.0, 0.0, -1.0, 1.0]])
    drawn = trees.draw(np.repeat(scores, size, axis=0), 0.6, rng)
    sequences = trees.law(4)
    place = {tuple(one): i for i, one in enumerate(sequences.tolist())}
    for row, own in zip(scores, np.split(drawn, 2), strict=True):
        seen = np.bincount([place[tuple(one)] for one in own.tolist()], minlength=len(place))
        expected = size * np.exp(trees.log_probability(np.tile(row, (len(place), 1)), sequences, 0.6))
        assert expected.min() > 5
        assert stats.chisquare(seen, expected).pvalue > FALSE_ALARM


def test_what_is_no_spanning_tree_has_probability_zero():
    circle = np.array([[0, 1, 3], [0, 0, 1], [0, 1, 2]])  # 0-1, 0-2, 1-2; an edge twice; a star, which is one
    result = trees.log_probability(np.zeros((3, 6)), circle, 1.0)
    assert np.isneginf(result).tolist() == [True, True, False]


def test_one_choice_costs_an_eighth_of_its_epsilon_squared():
    """The Renyi divergence of the sequences, for scores that move by at most one: n - 1 choices of epsilon = 2 rate."""
    rng, sequences, most = np.random.default_rng(2), trees.law(4), 0.0
    for _ in range(60):
        scores, rate = rng.normal(size=6) * rng.choice([0.1, 2.0]), rng.choice([0.05, 0.3, 1.0])
        moved = scores + rng.choice([-1.0, 1.0], 6)
        p, q = (trees.log_probability(np.tile(s, (len(sequences), 1)), sequences, rate) for s in (scores, moved))
        for order in (1.5, 2.0, 8.0):
            divergence = np.log(np.exp(order * p + (1 - order) * q).sum()) / (order - 1)
            limit = 3 * (2 * rate) ** 2 / 8 * order
            assert divergence <= limit * (1 + 1e-9)
            most = max(most, divergence / limit)
    assert most > 0.5
