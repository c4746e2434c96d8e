"""Rare labels speak together: leaving out one pilot run at a time shows what fresh runs will give."""

import math

import numpy as np
import pytest

from dpassay.attacks.distinguishing.low_level.labels import RARE, LabelOdds


def counts_of(n_labels=2_000, n=3_000, shared=0.5, seed=0):
    """Runs of labels drawn evenly: some from those of both sides, the others from those of one side."""
    rng = np.random.default_rng(seed)
    draws = [np.where(rng.random(n) < shared, 0, 1 + side) * n_labels + rng.integers(0, n_labels, n) for side in (0, 1)]
    return np.stack([np.bincount(side, minlength=3 * n_labels) for side in draws]), n_labels


def test_a_run_left_out_has_the_log_odds_that_its_label_would_have_without_it():
    counts, _ = counts_of()
    odds = LabelOdds.learn(counts, (3_000, 3_000))
    for label in np.flatnonzero((counts[1] > 0) & (counts.sum(axis=0) <= RARE))[:200]:
        a, b = counts[0, label], counts[1, label] - 1
        told = odds.classes[a, b]
        assert odds.left_out(np.array([label]), 1)[0] == (odds.own[label] if np.isnan(told) else told)


def test_a_class_has_the_log_odds_of_fresh_runs():
    """Brute force: of the fresh runs whose label the pilot saw a times on side 0 and b times on side 1."""
    counts, _ = counts_of()
    fresh, _ = counts_of(n=400_000, seed=1)
    odds = LabelOdds.learn(counts, (3_000, 3_000))
    for a, b in [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1)]:
        alike = (counts[0] == a) & (counts[1] == b)
        out, in_ = fresh[:, alike].sum(axis=1)
        assert math.exp(odds.classes[a, b]) == pytest.approx(in_ / out, rel=0.35)


def test_new_labels_have_the_odds_of_those_that_were_seen_once():
    counts = np.zeros((2, 130), dtype=np.int64)
    counts[0, :30], counts[1, 30:] = 1, 1
    odds = LabelOdds.learn(counts, (1_000, 1_000))
    assert odds.of_new() == pytest.approx(math.log(100.5 / 30.5))
    assert odds.by_class


def test_few_labels_keep_their_own_counts():
    counts = np.array([[0, 3, 90, 0], [2, 3, 80, 9]])
    odds = LabelOdds.learn(counts, (200, 200))
    assert not odds.by_class
    assert odds.of_labels().tolist() == pytest.approx([math.log(5.0), 0.0, math.log(80.5 / 90.5), math.inf])
    assert odds.of_new() == pytest.approx(math.log(94.5 / 93.5))
