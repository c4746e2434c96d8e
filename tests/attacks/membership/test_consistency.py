"""Memberships, outputs and labels that do not belong together, and right designs that are not warned of."""

import time

import numpy as np
import pytest
from scipy import special, stats

from dpassay.attacks.membership import shadows_of
from dpassay.attacks.membership.consistency import TEST_LEVEL, WARNING_LEVEL, consistency_warnings
from dpassay.attacks.membership.designs import Design
from dpassay.audit.metrics.membership import evaluate


def drawn(rng, design, m, n):
    if design == "pairs":
        half = rng.random((m // 2, n)) < 0.5
        return np.stack([half, ~half], axis=1).reshape(m, n)
    return rng.random((m, n)) < 0.5


def logits(rng, inclusion, leak, difficulty=1.5, run=0.0):
    """Outputs of models: the difficulty of a record, its own leak, and an offset of each run."""
    m, n = inclusion.shape
    noise = rng.normal(0.0, 0.7, (m, n)) + run * rng.normal(size=(m, 1))
    return rng.normal(1.0, difficulty, n) + noise + leak * rng.exponential(size=n) * inclusion


def doubts(inclusion, phi):
    return consistency_warnings(shadows_of(inclusion, rescaled_logits=phi))


MISTAKES = {
    "axes": lambda rng, inclusion, phi, _: (inclusion.T, phi.T),
    "models": lambda rng, inclusion, phi, _: (inclusion, np.roll(phi, 1, axis=0)),
    "two models": lambda rng, inclusion, phi, _: (inclusion, phi[[2, 1, 0, *range(3, len(phi))]]),
    "records": lambda rng, inclusion, phi, _: (inclusion, phi[:, rng.permutation(phi.shape[1])]),
    "run": lambda rng, inclusion, phi, design: (drawn(rng, design, *phi.shape), phi),
}
WORDS = {
    "axes": "models and records seem to be exchanged",
    "models": "models seem to be in another order",
    "two models": "models seem to be in another order",
    "records": "records seem to be in another order|membership seems to be that of another run",
    "run": "membership seems to be that of another run",
}


@pytest.mark.parametrize(
    ("mistake", "design", "m", "n"),
    [
        ("axes", "pairs", 16, 1000),
        ("axes", "bernoulli", 16, 1000),
        ("axes", "bernoulli", 10, 300),
        ("models", "pairs", 16, 600),
        ("models", "bernoulli", 16, 601),
        ("models", "bernoulli", 9, 400),
        ("two models", "bernoulli", 16, 600),
        ("records", "pairs", 16, 600),
        ("records", "bernoulli", 64, 300),
        ("run", "pairs", 16, 600),
        ("run", "pairs", 64, 200),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_mistake_is_warned_of_with_test_and_level(mistake, design, m, n, seed):
    rng = np.random.default_rng(seed)
    inclusion = drawn(rng, design, m, n)
    phi = logits(rng, inclusion, 2.2)
    assert not doubts(inclusion, phi)
    found = doubts(*MISTAKES[mistake](rng, inclusion, phi, design))
    assert len(found) >= 1
    text = " ".join(found)
    assert any(word in text for word in WORDS[mistake].split("|")), text
    assert f"level {WARNING_LEVEL:g}" in text


def test_two_modes_reveal_the_membership_of_another_run_without_pairs():
    rng = np.random.default_rng(0)
    inclusion = drawn(rng, "bernoulli", 32, 400)
    phi = rng.normal(size=400) + rng.normal(0.0, 0.5, inclusion.shape) + 4.0 * inclusion
    assert not doubts(inclusion, phi)
    (found,) = doubts(drawn(rng, "bernoulli", 32, 400), phi)
    assert "two modes" in found


def right_designs(rng):
    """Yield shadows of data that belong together: harmless models, canaries, people, other designs than coins."""
    design, m, n = rng.choice(["pairs", "bernoulli"]), int(rng.choice([4, 8, 16, 64])), int(rng.choice([20, 60, 200]))
    coins = drawn(rng, design, m, n)
    yield shadows_of(coins, rescaled_logits=logits(rng, coins, 0.0))
    yield shadows_of(coins, losses=rng.exponential(size=(m, n)))
    yield shadows_of(coins, scores=rng.standard_cauchy(size=(m, n)) + coins)
    yield shadows_of(coins, rescaled_logits=logits(rng, coins, rng.uniform(0.1, 5.0), run=rng.uniform(0.0, 1.0)))
    people = np.repeat(np.arange(n // 4), 4)
    together = drawn(rng, design, m, n // 4)[:, people]
    own = rng.normal(size=(m, n // 4))[:, people]
    yield shadows_of(together, rescaled_logits=logits(rng, together, rng.choice([0.0, 2.0])) + own)
    age = rng.random(n)
    nested = age < rng.uniform(0.3, 0.7, (m, 1))
    yield shadows_of(nested, rescaled_logits=logits(rng, nested, 1.0) + 4.0 * age)
    offline = np.zeros((m, n), dtype=bool)
    offline[0] = rng.random(n) < 0.5
    yield shadows_of(offline, rescaled_logits=logits(rng, offline, 2.0))
    yield labelled(rng, coins, 0.0)
    yield labelled(rng, coins, rng.uniform(0.2, 5.0))


def labelled(rng, inclusion, leak, labels="random", n_classes=5):
    """Models that predict natural classes well, and remember the labels that they were trained on by `leak`."""
    m, n = inclusion.shape
    natural = rng.integers(0, n_classes, n)
    given = rng.integers(0, n_classes, n) if labels == "random" else natural
    outputs = rng.normal(size=(n, n_classes)) + rng.normal(0.0, 0.5, (m, n, n_classes))
    outputs[:, np.arange(n), natural] += 3.0
    outputs[:, np.arange(n), given] += leak * inclusion
    return shadows_of(inclusion, labels=rng.permutation(given) if labels == "permuted" else given, logits=outputs)


@pytest.mark.parametrize("n_rounds", [12, pytest.param(250, marks=pytest.mark.slow)])
def test_right_designs_are_warned_of_at_most_at_the_level(n_rounds):
    rng = np.random.default_rng(3)
    warned = [bool(consistency_warnings(s) or s.warnings) for _ in range(n_rounds) for s in right_designs(rng)]
    assert sum(warned) <= stats.binom.isf(1e-6, len(warned), WARNING_LEVEL)


def test_people_are_one_coin_each():
    rng, warned = np.random.default_rng(7), 0
    for _ in range(40):
        people = np.repeat(np.arange(30), 10)
        together, own = drawn(rng, "bernoulli", 16, 30)[:, people], rng.normal(size=(16, 30))[:, people]
        warned += bool(doubts(together, logits(rng, together, 0.0) + 3.0 * own))
    assert warned <= stats.binom.isf(1e-6, 40, WARNING_LEVEL)


@pytest.mark.parametrize("leak", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("difficulty", [0.0, 1.0])
def test_a_thousand_runs_with_sixteen_canaries_are_no_mistake(leak, difficulty):
    rng = np.random.default_rng(4)
    coins = rng.random((1000, 16)) < 0.5
    balanced = np.argsort(rng.random((1000, 16)), axis=1) < 8
    for inclusion in (coins, balanced):
        assert not doubts(inclusion, logits(rng, inclusion, leak, difficulty, run=0.3))


def test_a_thousand_runs_take_seconds():
    rng = np.random.default_rng(5)
    inclusion = rng.random((1000, 16)) < 0.5
    shadows = shadows_of(inclusion, rescaled_logits=logits(rng, inclusion, 1.0))
    start = time.process_time()
    consistency_warnings(shadows)
    Design.of(shadows, np.arange(1000))
    assert time.process_time() - start < 5.0


@pytest.mark.parametrize("seed", range(3))
def test_labels_in_another_order_are_warned_of(seed):
    rng = np.random.default_rng(seed)
    inclusion = drawn(rng, "bernoulli", 16, 300)
    assert not labelled(rng, inclusion, 2.0, labels="natural").warnings
    (found,) = evaluate(labelled(rng, inclusion, 2.0, labels="permuted"), "loss").warnings
    assert "labels seem to be in another order" in found
    assert "permutation test" in found


def test_moments_of_labels_in_a_random_order_are_those_of_permutations():
    rng = np.random.default_rng(6)
    members, labels = rng.normal(size=(9, 3)), rng.integers(0, 3, 9)
    counts = np.bincount(labels, minlength=3)
    centred = members - (members @ counts / 9)[:, None]
    centred -= centred.mean(axis=0)
    gains = [centred[np.arange(9), rng.permutation(labels)].sum() for _ in range(20_000)]
    spread = np.sqrt(np.sum(centred**2 @ counts) / 8)
    assert abs(np.mean(gains)) < 5 * spread / np.sqrt(20_000)
    assert np.std(gains) == pytest.approx(spread, rel=0.03)


def test_each_of_five_tests_has_its_share_of_the_level():
    assert pytest.approx(WARNING_LEVEL) == 5 * TEST_LEVEL
    assert special.ndtri(TEST_LEVEL) < special.ndtri(WARNING_LEVEL) < 0
