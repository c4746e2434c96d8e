"""The model of a released text set: its probabilities are those of the formula, and sum to one."""

import itertools

import numpy as np
import pytest

from dpassay.attacks.membership.released_texts import ORDER, release_log_probabilities
from dpassay.mechanisms.core import ParameterError


def by_formula(text, release, n_symbols):
    """The definition, by counting in whole strings."""
    rows = []
    for t, symbol in enumerate(text, start=1):
        whole, found = f"\n{text}", 1.0 / (n_symbols + 1)
        for k in range(min(t, ORDER) + 1):
            context = whole[t - k : t]
            after = [
                line[i + k] for line in (f"\n{r}" for r in release) for i in range(len(line) - k)
                if line[i : i + k] == context and i + k > 0
            ]  # fmt: skip
            if not after:
                break
            found = (after.count(symbol) + len(set(after)) * found) / (len(after) + len(set(after)))
        rows.append(np.log(found))
    return rows


def test_probabilities_are_those_of_the_formula():
    release = ["abracadabra", "a cad", "bra bra", "\nx"]
    texts = ["abra", "cadabracadabra", "zebra", "é", "\n\nx"]
    n_symbols = len(set("".join(release + texts)))
    for text, row in zip(texts, release_log_probabilities(texts, release), strict=True):
        assert row == pytest.approx(by_formula(text, release, n_symbols), abs=1e-12)


def test_the_probabilities_of_all_texts_of_a_length_leave_room_for_one_new_character():
    texts = ["".join(letters) for letters in itertools.product("ab", repeat=6)]
    rows = release_log_probabilities(texts, ["abababab", "aabb", ""])
    assert 0.5 < sum(np.exp(row.sum()) for row in rows) < 1.0


def test_what_was_released_once_is_likelier_and_other_texts_count_for_nothing():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcdefgh"), 12)) for _ in range(60)]
    rows = release_log_probabilities(texts, texts[:30])
    totals = np.array([row.sum() for row in rows])
    assert totals[:30].min() > totals[30:].max()
    alone = release_log_probabilities([*texts[40:41], "abcdefgh"], texts[:30])
    assert alone[0] == pytest.approx(rows[40], abs=1e-12)


@pytest.mark.parametrize(("texts", "release"), [([], ["a"]), (["a", ""], ["a"]), (["a"], []), (["a"], ["", ""])])
def test_no_text_is_refused(texts, release):
    with pytest.raises(ParameterError, match="must hold one text or more"):
        release_log_probabilities(texts, release)
