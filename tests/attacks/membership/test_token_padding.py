"""Padding of texts: each kind is cut at either end, tokens of probability 1 stay, and doubt is refused."""

import math

import numpy as np
import pytest

from dpassay.attacks.membership.scored_texts import ScoredTexts
from dpassay.attacks.membership.token_signals import TEXT_SIGNALS, signal_of
from dpassay.audit.metrics.membership import evaluate_texts
from dpassay.mechanisms.core import ParameterError, UnknownNameError

VALUES = [0.0, -0.0, math.nan, -100.0, -1e4, float(np.finfo(np.float32).min)]
MEMBER = np.random.default_rng(1).random(400) < 0.5


def ragged(n=400, seed=0):
    """Texts of 10 to 200 tokens of which members have larger probabilities, with a reference and moments."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(10, 201, n)
    rows = [-rng.gamma(0.5, 2.2 if bit else 4.0, size) for bit, size in zip(MEMBER[:n], lengths, strict=True)]
    return {
        "log_probabilities": rows,
        "reference_log_probabilities": [-rng.gamma(0.5, 4.0, size) for size in lengths],
        "means": [row - 0.5 for row in rows],
        "standard_deviations": [np.full(size, 2.0) for size in lengths],
    }


def padded(fields, value, side):
    """The same texts as one array for each field."""
    longest = max(map(len, fields["log_probabilities"]))
    widths = [(longest - len(row)) * np.array([side == "start", side == "end"]) for row in fields["log_probabilities"]]
    return {
        name: np.array([np.pad(row, width, constant_values=value) for row, width in zip(rows, widths, strict=True)])
        for name, rows in fields.items()
    }


@pytest.mark.parametrize("side", ["start", "end"])
@pytest.mark.parametrize("value", VALUES)
def test_padded_texts_have_the_signals_of_their_tokens(value, side):
    fields = ragged(100)
    texts, other = ScoredTexts(**fields), ScoredTexts(**padded(fields, value, side))
    for name in set(TEXT_SIGNALS) - {"zlib", "exposure"}:
        assert signal_of(name, other).tolist() == signal_of(name, texts).tolist()
    assert texts.padding == ()
    assert len(other.padding) == 2
    assert f"at the {side} of" in other.padding[0]
    assert ("zeros='tokens'" in other.padding[0]) == (value == 0.0)


def test_zeros_read_as_tokens_hide_most_of_the_leak():
    fields = {"log_probabilities": ragged()["log_probabilities"]}
    aucs = [
        evaluate_texts(ScoredTexts(**padded(fields, 0.0, "end"), member=MEMBER, zeros=zeros), queries=())
        .membership["loss"]
        .auc
        for zeros in ("auto", "tokens")
    ]
    assert aucs[0] > 0.95
    assert aucs[1] < 0.75


def test_the_result_and_its_summary_state_what_was_cut():
    fields = {"log_probabilities": ragged(100)["log_probabilities"]}
    result = evaluate_texts(ScoredTexts(**padded(fields, 0.0, "end"), member=MEMBER[:100]), queries=())
    assert "padding of log_probabilities" in result.notes[0]
    assert "padding of log_probabilities" in result.summary()
    assert "padding was cut" in result.membership.design


def test_padding_differs_between_the_model_and_a_reference():
    fields = ragged(50)
    texts = ScoredTexts(**fields)
    mixed = padded(fields, 0.0, "end")
    mixed["reference_log_probabilities"] = padded(fields, -100.0, "start")["reference_log_probabilities"]
    assert signal_of("reference", ScoredTexts(**mixed)).tolist() == signal_of("reference", texts).tolist()


@pytest.mark.parametrize(
    "rows",
    [
        [[-1.0, 0.0], [-2.0, -1.0]],
        [[0.0, -1.0], [-2.0, -1.0]],
        [[-1.0, 0.0, 0.0]],
        [[-1.0, 0.0, 0.0, -1.0], [-2.0, -1.0, 0.0, 0.0]],
        [[0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0], [-2.0, -1.0, 0.0, 0.0]],
    ],
)
def test_single_zeros_and_zeros_as_between_other_tokens_are_tokens(rows):
    texts = ScoredTexts(rows)
    assert [row.tolist() for row in texts.tokens] == rows
    assert texts.padding == ()


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.3])
def test_probabilities_that_single_precision_rounds_to_1_are_tokens(share):
    for seed in range(20):
        rng = np.random.default_rng([seed, int(1_000 * share)])
        rows = [np.where(rng.random(n) < share, 0.0, -rng.exponential(size=n)) for n in rng.integers(10, 201, 50)]
        assert ScoredTexts(rows).padding == ()


def test_a_zero_at_the_start_of_every_text_is_no_token():
    texts = ScoredTexts([[0.0, -1.0], [0.0, -2.0, -3.0]], prefix_tokens=[1, 2])
    assert [row.tolist() for row in texts.tokens] == [[-1.0], [-2.0, -3.0]]
    assert texts.prefix_tokens == (0, 1)


@pytest.mark.parametrize(
    ("rows", "fields", "message"),
    [
        ([[-1.0, 0.0, -1.0, 0.0, 0.0, 0.0], [-1.0] * 5], {}, "between other tokens"),
        ([[0.0, 0.0, 0.0, -1.0], [-1.0, 0.0, -3.0]], {}, "between other tokens"),
        ([[-1.0, 0.0, 0.0], [-2.0] * 3], {"reference_log_probabilities": [[-1.0] * 3] * 2}, "the reference"),
        ([[0.0, 0.0, -1.0], [-2.0] * 3], {"reference_log_probabilities": [[-1.0] * 3] * 2}, "the reference"),
    ],
)
def test_zeros_that_may_be_either_need_a_word(rows, fields, message):
    with pytest.raises(ParameterError, match=message):
        ScoredTexts(rows, **fields)
    assert [len(row) for row in ScoredTexts(rows, zeros="tokens", **fields).tokens] == [len(row) for row in rows]
    assert len(ScoredTexts(rows, zeros="padding", **fields).tokens[0]) < len(rows[0])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"log_probabilities": [[-1.0, math.nan, -1.0], [-0.5]]}, "nan at index 1"),
        ({"log_probabilities": [[-1.0, -100.0, -1.0], [-0.5]]}, "the mark of ignored positions, .* -100 at index 1"),
        ({"log_probabilities": [[-1.0, -1e4, -1.0], [-0.5]]}, "-10000 at index 1"),
        ({"log_probabilities": [[-1.0, -math.inf], [-0.5]]}, "-inf at index 1"),
        ({"log_probabilities": [[-1.0, -1.0], [math.nan] * 3]}, "all 3 positions of text 1 .* are padding"),
        ({"log_probabilities": [[-1.0, -1.0], [0.0, 0.0]]}, "all 2 positions of text 1 .* are padding"),
        ({"log_probabilities": [[-1.0, -1.0], [-0.5]], "means": [[math.nan] * 2, [-1.0]]}, "given too|all 2"),
        ({"log_probabilities": [[math.nan] * 3 + [-1.0] * 9, [-0.5]], "prefix_tokens": [2, None]}, "prefix_tokens"),
    ],
)
def test_what_is_no_log_probability_is_refused_with_its_place(fields, message):
    with pytest.raises(ParameterError, match=message):
        ScoredTexts(**fields)


def test_an_unknown_meaning_of_zeros_is_refused():
    with pytest.raises(UnknownNameError, match="tokens"):
        ScoredTexts([[-1.0]], zeros="token")


def test_zeros_are_judged_without_membership():
    fields = ragged(40)
    one, other = (ScoredTexts(**padded(fields, 0.0, "end"), member=bits) for bits in (MEMBER[:40], ~MEMBER[:40]))
    assert [row.tolist() for row in one.tokens] == [row.tolist() for row in other.tokens]
