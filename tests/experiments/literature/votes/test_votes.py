"""Teachers of a substitute for Glyph, and two rounds of PATE on their votes."""

import math

import numpy as np
import pytest

from dpassay.experiments.literature.votes import glyph_like
from dpassay.experiments.literature.votes.rounds import one_round, two_rounds
from dpassay.mechanisms.accounting import ConcentratedDP, GaussianDP
from dpassay.mechanisms.literature.pate import ConfidentGNMax


@pytest.fixture
def votes(monkeypatch):
    """Of 60 teachers, with nine classes."""
    for name, value in (("N_TEACHERS", 60), ("N_CLASSES", 9), ("N_RECORDS", 40), ("WRONG_LABELS", 0.1)):
        monkeypatch.setattr(glyph_like, name, value)
    return glyph_like.votes(300, n_judged=400, seed=1)


def test_teachers_of_the_stand_in_are_right_more_often_together_than_alone(votes):
    assert votes.counts.shape == (300, 9)
    assert (votes.counts.sum(axis=1) == 60).all()
    alone = (votes.counts[np.arange(300), votes.truth] / 60).mean()
    together = (votes.counts.argmax(axis=1) == votes.truth).mean()
    assert 0.5 < alone < together - 0.05
    assert votes.baseline == pytest.approx(0.9 + 0.1 / 9, abs=0.05)  # nine in ten labels are right


def test_probabilities_are_those_of_the_nearest_means():
    rng = np.random.default_rng(2)
    centres = 3.0 * np.eye(glyph_like.N_CLASSES, glyph_like.N_FEATURES, dtype=np.float32)
    labels = rng.integers(4, size=400)
    records = centres[labels] + rng.standard_normal((400, glyph_like.N_FEATURES), dtype=np.float32)
    said = glyph_like.probabilities(centres[:4], records, labels)
    np.testing.assert_allclose(said.sum(axis=1), 1.0)
    assert (said.argmax(axis=1) == np.arange(4)).all()
    assert (said[:, 4:] == 0.0).all()  # classes of no record


def test_rounds_add_up_what_they_cost(votes):
    row = two_rounds(votes, 35.0, 10.0, 4.0, n_first=150, confidence=0.8)
    rho = 300 / (2 * 10.0**2) + row.answered / 4.0**2
    assert row.for_all_votes == pytest.approx(ConcentratedDP(rho).textbook_epsilon(1e-5))
    assert row.claim == pytest.approx(GaussianDP(math.sqrt(2 * rho)).epsilon(1e-5))
    assert row.on_these_votes < row.claim < row.for_all_votes
    assert (row.asked, row.data) == (300, "glyph-like")


def test_a_second_round_needs_fewer_answers_for_as_good_a_student(votes):
    """The student is confirmed where the teachers do not contradict it, which costs the check alone."""
    aggregator = ConfidentGNMax(35.0, 10.0, 4.0, n_teachers=60, n_classes=9, n_queries=300)
    one, two = one_round(votes, aggregator), two_rounds(votes, 35.0, 10.0, 4.0, n_first=150, confidence=0.8)
    assert two.answered < 0.75 * one.answered
    assert two.student > one.student - 0.05
    assert two.claim < one.claim
