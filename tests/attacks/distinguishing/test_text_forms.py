"""Texts that are always new are scored by their form: zeros at the end, spaces, exponents, case, separators."""

import numpy as np
import pytest

from dpassay.attacks.base import Target
from dpassay.attacks.distinguishing import Threshold
from dpassay.attacks.distinguishing.events import fit_scorer
from dpassay.attacks.distinguishing.low_level.text_forms import FormOdds, form_of
from dpassay.audit import audit
from dpassay.mechanisms import Laplace, Neighbours, Outputs, PureDP

PAIR = Neighbours([1.0], [1.0, 1.0], "add_remove")
LEAKS = {
    "zeros": (lambda x, n: f"{x:.4f}".rstrip("0"), lambda x, n: f"{x:.4f}"),
    "spaces": (lambda x, n: f"a count of {x:.6f}", lambda x, n: f"a count of  {x:.6f}"),
    "exponent": (lambda x, n: f"{x:.9f}", lambda x, n: f"{x:.9e}"),
    "case": (lambda x, n: f"id {n:x}", lambda x, n: f"id {n:X}"),
    "last": (lambda x, n: f"token {n}", lambda x, n: f"token {10 * (n // 10)}"),
    "separator": (lambda x, n: f"{n:,}", lambda x, n: f"{n:_}"),
    "length": (lambda x, n: f"{n:010d}", lambda x, n: f"{n:011d}"),
}


@pytest.mark.usefixtures("without_power", "few_chunks")
@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_in_the_form_of_new_texts_is_found(leak):
    def release(dataset, rng):
        return LEAKS[leak][len(dataset) - 1](len(dataset) + rng.laplace(), int(rng.integers(10**9)))

    result = audit(release, PAIR, claim=PureDP(1.0), trials=2_000, seed=0)
    assert (result.verdict.value, result.refuted_by) == ("violation", "bound")
    assert result.bound.epsilon > 2.0
    assert result.deciding.rule.startswith(("a text like ", "a text with the characters "))


@pytest.mark.usefixtures("without_power", "few_chunks")
def test_new_texts_of_equal_forms_show_nothing():
    result = audit(
        lambda d, rng: f"{rng.laplace():.6f}", PAIR, claim=PureDP(0.1), trials=2_000, seed=0, confidence=0.999
    )
    assert result.verdict.value == "underpowered"
    assert result.bound.epsilon < 0.1


def test_a_form_keeps_length_signs_and_the_last_character():
    assert form_of("text '-1.20'") == "aaaa '-0.00' ending in '0'"
    assert form_of("raised KeyError: 'Ada'") == "aaaaaa AaaAaaaa: 'Aaa' ending in 'a'"
    assert form_of("text 'a long one... #0123abcd") == form_of("text 'a long one")


def test_runs_are_left_out_of_the_odds_of_their_form():
    labels = np.array([f"text '{i}'" for i in range(10, 90) if i % 10 == 1] + [f"text 'a{i}'" for i in range(4)])
    counts = np.stack([np.zeros(len(labels), dtype=int), np.ones(len(labels), dtype=int)])
    odds = FormOdds.learn(labels, counts, (100, 100))
    assert odds.forms.tolist() == ["aaaa '00' ending in '1'"]  # four texts of the other forms are too few
    assert odds.of_new().tolist() == [np.inf]
    assert 0.0 < odds.left_out(np.array([0]), 1)[0] < np.inf
    assert odds.places(np.array(["text '51'", "text '5'"])).tolist() == [0, -1]


def test_known_texts_keep_their_own_score():
    outputs = [
        Outputs(np.zeros(200), np.array([*["text 'often'"] * 100, *(f"text '{side}{i:03d}'" for i in range(100))]))
        for side in (0, 1)
    ]
    mechanism = Laplace(epsilon=1.0)
    target = Target(mechanism, mechanism.worst_case())
    scorer = fit_scorer(Threshold(), target, *outputs, np.random.default_rng(0))
    often, new, other = scorer.score(Outputs(np.zeros(3), np.array(["text 'often'", "text '7777'", "text 'x'"])))
    assert abs(often) < 0.1
    assert np.isfinite([new, other]).all()
