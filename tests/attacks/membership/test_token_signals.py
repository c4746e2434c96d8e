"""Signals of texts, each against a naive twin, and the inputs that are refused."""

import math
import zlib

import numpy as np
import pytest

from dpassay.attacks.membership.scored_texts import ScoredTexts, token_moments
from dpassay.attacks.membership.token_signals import TEXT_SIGNALS, blind_features, default_signal, signal_of
from dpassay.mechanisms.core import AttackError, ParameterError, UnknownNameError

WORDS = ["a rather common sentence", "xq7 482913 kkkkkkkkkkkkkkkkkkkkkk", "b", "the the the the the the"]


def made(n=40, seed=0):
    """Texts of 1 to 30 tokens with all fields, from laws over 12 symbols; and the laws."""
    rng = np.random.default_rng(seed)
    rows, laws, references, alternatives = [], [], [], []
    for _ in range(n):
        length = int(rng.integers(1, 31))
        law = rng.dirichlet(np.full(12, 0.3), size=length) + 1e-9
        law /= law.sum(axis=1, keepdims=True)
        laws.append(law)
        rows.append(np.log(law[np.arange(length), rng.integers(12, size=length)]))
        references.append(np.log(rng.uniform(0.01, 0.9, int(rng.integers(1, 31)))))
        alternatives.append(rng.normal(rows[-1].sum(), 3.0, 15).clip(max=0.0))
    moments = [token_moments(np.log(law)) for law in laws]
    texts = ScoredTexts(
        rows,
        texts=[f"{WORDS[i % 4]} {i}" for i in range(n)],
        reference_log_probabilities=references,
        means=[mean for mean, _ in moments],
        standard_deviations=[deviation for _, deviation in moments],
        alternatives=alternatives,
    )
    return texts, laws


def naive(name, texts, i, law, share=0.2):
    """One signal of one text, from the formula in its paper, with plain loops."""
    row = [float(value) for value in texts.log_probabilities[i]]
    perplexity = math.prod(math.exp(value) for value in row) ** (-1.0 / len(row)) if len(row) < 20 else None
    log_perplexity = -sum(row) / len(row)
    if perplexity is not None:
        assert math.log(perplexity) == pytest.approx(log_perplexity)
    smallest = max(1, int(share * len(row) + 1e-9))
    reference = [float(value) for value in texts.reference_log_probabilities[i]]
    if name == "loss":
        return -log_perplexity
    if name == "zlib":
        return -log_perplexity / (8 * len(zlib.compress(texts.texts[i].encode())))
    if name == "min-k":
        return sum(sorted(row)[:smallest]) / smallest
    if name == "min-k++":
        scores = []
        for value, p in zip(row, law, strict=True):
            mean = sum(q * math.log(q) for q in p)
            variance = sum(q * (math.log(q) - mean) ** 2 for q in p)
            scores.append((value - mean) / math.sqrt(variance))
        return sum(sorted(scores)[:smallest]) / smallest
    if name == "reference":
        return (sum(row) - sum(reference)) / len(row)
    if name == "reference-ratio":
        return -log_perplexity / (-sum(reference) / len(reference))
    others = list(texts.alternatives[i])
    return math.log2(len(others) + 1) - math.log2(1 + sum(other >= sum(row) for other in others))


@pytest.mark.parametrize("name", TEXT_SIGNALS)
@pytest.mark.parametrize("share", [0.2, 1.0, 0.01])
def test_a_signal_is_the_formula_of_its_paper(name, share):
    texts, laws = made()
    expected = [naive(name, texts, i, laws[i], share) for i in range(len(texts))]
    assert signal_of(name, texts, share=share) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_signals_have_their_known_values():
    texts = ScoredTexts(
        [np.log([0.5, 0.125, 0.25]), np.log([0.5])],
        reference_log_probabilities=[np.log([0.25, 0.25, 0.25]), np.log([0.25])],
        alternatives=[np.log([0.5, 0.001, 0.0001]), None],
    )
    assert signal_of("loss", texts) == pytest.approx([-2 * math.log(2), -math.log(2)])
    assert signal_of("min-k", texts, share=0.4) == pytest.approx([math.log(0.125), math.log(0.5)])
    assert signal_of("min-k", texts, share=0.67) == pytest.approx([0.5 * math.log(0.125 * 0.25), math.log(0.5)])
    assert signal_of("reference", texts) == pytest.approx([0.0, math.log(2)])
    assert signal_of("reference-ratio", texts) == pytest.approx([-1.0, -0.5])
    assert signal_of("exposure", texts) == pytest.approx([1.0, math.nan], nan_ok=True)


def test_min_k_of_all_tokens_is_the_loss():
    texts, _ = made()
    assert signal_of("min-k", texts, share=1.0) == pytest.approx(signal_of("loss", texts))


def test_standardised_tokens_of_the_model_have_mean_0_variance_1():
    law = np.random.default_rng(1).dirichlet(np.ones(7), size=5)
    means, deviations = token_moments(np.log(law))
    z = (np.log(law) - means[:, None]) / deviations[:, None]
    assert (law * z).sum(axis=1) == pytest.approx(np.zeros(5), abs=1e-12)
    assert (law * z**2).sum(axis=1) == pytest.approx(np.ones(5))


def test_certain_and_uniform_positions_add_nothing():
    with np.errstate(divide="ignore"):
        means, deviations = token_moments(np.log([[1.0, 0.0, 0.0, 0.0], [0.25] * 4]))
    assert (deviations == 0.0).all()
    texts = ScoredTexts([[0.0, math.log(0.25)]], means=[means], standard_deviations=[deviations])
    assert signal_of("min-k++", texts, share=1.0).tolist() == [0.0]


def test_rounding_above_0_becomes_0():
    assert ScoredTexts([[1e-7, -1.0]]).tokens[0].tolist() == [0.0, -1.0]


def test_texts_are_prompted_by_their_prefix():
    texts = ScoredTexts([[-1.0, -2.0, -4.0], [-1.0]], prefix_tokens=[1, None])
    assert texts.suffix_log_probability == pytest.approx([-6.0, math.nan], nan_ok=True)


def test_the_default_signal_depends_on_the_fields_only():
    assert default_signal(ScoredTexts([[-1.0]])) == "loss"
    assert default_signal(ScoredTexts([[-1.0]], reference_log_probabilities=[[-1.0]])) == "reference-ratio"


def test_a_signal_without_its_field_is_an_error_that_names_the_field():
    texts = ScoredTexts([[-1.0], [-2.0]])
    needed = {
        "zlib": "text",
        "min-k++": "means",
        "exposure": "alternatives",
        "reference": "reference_log_probabilities",
    }
    for name, field in needed.items():
        with pytest.raises(AttackError, match=field):
            signal_of(name, texts)
    with pytest.raises(UnknownNameError):
        signal_of("min-k%", texts)
    with pytest.raises(AttackError, match="log perplexity of the reference, which is 0 for '0'"):
        signal_of("reference-ratio", ScoredTexts([[-1.0]], reference_log_probabilities=[[0.0]]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"log_probabilities": []}, "is empty"),
        ({"log_probabilities": [[]]}, "at least one"),
        ({"log_probabilities": [[-1.0, -math.inf]]}, "must be finite, above -1000"),
        ({"log_probabilities": [[-1.0]], "alternatives": [[-1e300]]}, "must be finite, above -1e.09"),
        ({"log_probabilities": [[-math.inf]]}, "must be finite"),
        ({"log_probabilities": [[1.0, 2.5]]}, "losses: change the sign"),
        ({"log_probabilities": [[0.5, 0.25]]}, "probabilities: take the natural logarithm"),
        ({"log_probabilities": [["a"]]}, "list of real numbers"),
        ({"log_probabilities": [[[-1.0]]]}, "list of real numbers"),
        ({"log_probabilities": [[-1.0], [-1.0]]}, "the same|must differ"),
        ({"log_probabilities": [None]}, "list of real numbers|for every text"),
        ({"ids": ["a"]}, "one entry per text, 2"),
        ({"ids": [1, "1"]}, "'1' occurs more than once"),
        ({"texts": ["a", ""]}, "not empty"),
        ({"texts": ["a", 1]}, "must be strings"),
        ({"member": [0, 2]}, "member must be"),
        ({"member": ["yes", "no"]}, "member must be"),
        ({"prefix_tokens": [2, 0]}, "from 0 to 1 for '0'"),
        ({"prefix_tokens": [-1, 0]}, "from 0 to 1"),
        ({"prefix_tokens": [0.5, 0]}, "from 0 to 1"),
        ({"means": [[-1.0, -1.0], [-1.0]]}, "standard_deviations must be given too"),
        ({"means": [[-1.0], [-1.0]], "standard_deviations": [[1.0], [1.0]]}, "one entry per token, 2 for '0'"),
        ({"means": [[-1.0, -1.0], [-1.0]], "standard_deviations": [[1.0, -1.0], [1.0]]}, "must be >= 0"),
        ({"means": [[-1.0, -9.0], [-1.0]], "standard_deviations": [[1.0, 0.0], [1.0]]}, "at 1 of 3 tokens"),
        ({"alternatives": [[1.0], None]}, "alternatives must be natural logarithms"),
        ({"reference_log_probabilities": [[-1.0], None]}, "for every text"),
    ],
)
def test_texts_that_cannot_be_scored_are_refused(fields, message):
    with pytest.raises(ParameterError, match=message):
        ScoredTexts(**({"log_probabilities": [[-1.0, -2.0], [-0.5]]} | fields))


@pytest.mark.parametrize("logits", [np.zeros((2, 3)), np.float64(0.0), np.log([[0.5, 0.2]])])
def test_moments_of_logits_are_refused(logits):
    with pytest.raises(ParameterError, match="normalised"):
        token_moments(logits)


@pytest.mark.parametrize("share", [0.0, 1.5, math.nan])
def test_a_share_outside_0_to_1_is_refused(share):
    with pytest.raises(ParameterError, match="share"):
        signal_of("min-k", ScoredTexts([[-1.0]]), share=share)


def test_features_without_a_model_are_lengths_and_words():
    assert blind_features(ScoredTexts([[-1.0, -2.0], [-1.0]])).tolist() == [[2.0], [1.0]]
    features = blind_features(ScoredTexts([[-1.0], [-2.0]], texts=["ab 12", "\ud800"]))
    assert features[0, :2].tolist() == [1.0, 5.0]
    assert np.isfinite(features).all()


def test_averages_over_the_vocabulary_are_no_moments():
    rng = np.random.default_rng(0)
    logs = np.log(rng.dirichlet(np.full(100, 0.05), size=(20, 10)) + 1e-12)
    rows = [[float(rng.choice(law, p=np.exp(law) / np.exp(law).sum())) for law in text] for text in logs]
    means, deviations = token_moments(logs)
    ScoredTexts(rows, means=means, standard_deviations=deviations)
    with pytest.raises(ParameterError, match="weight by probability"):
        ScoredTexts(rows, means=logs.mean(axis=-1), standard_deviations=logs.std(axis=-1))


def test_no_token_is_further_from_the_mean_than_its_probability_allows():
    rng = np.random.default_rng(0)
    logs = np.log(rng.dirichlet(np.full(10, 0.2), size=500) + 1e-9)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    means, deviations = token_moments(logs)
    assert (np.exp(logs) * (logs - means[:, None]) ** 2 <= deviations[:, None] ** 2 * (1 + 1e-9)).all()
    rounded = ScoredTexts(
        [[-1.0] * 150, [-2.0]], means=[[-1.1] * 150, [-2.0]], standard_deviations=[[1e-9] + [1.0] * 149, [0.0]]
    )
    assert signal_of("min-k++", rounded, share=1.0)[0] == pytest.approx((math.exp(0.5) + 149 * 0.1) / 150)
