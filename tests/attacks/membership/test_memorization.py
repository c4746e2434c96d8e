"""(n, p)-discoverable extraction, against the definition and against sampling."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.literature.extraction import TextSampling
from dpassay.attacks.membership.memorization import extractable, extraction_probability, queries_needed
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.ngrams import NGramModel


def naive_queries(p_z, p):
    """The smallest n with 1 - (1 - p_z)^n >= p, by counting up."""
    n = 1
    while 1.0 - (1.0 - p_z) ** n < p - 1e-12:
        n += 1
    return n


@pytest.mark.parametrize("p", [0.1, 0.5, 0.75, 0.99])
def test_queries_are_the_smallest_number_of_the_definition(p):
    p_z = np.array([1.0, 0.999, 0.75, 0.5, 0.3, 0.01, 0.003])
    found = queries_needed(np.log(p_z), p)
    assert found.tolist() == [naive_queries(value, p) for value in p_z.tolist()]
    for value, n in zip(p_z, found.astype(int).tolist(), strict=True):
        assert extractable(np.log(value), n, p) == 1.0
        assert n == 1 or extractable(np.log(value), n - 1, p) == 0.0


def test_probabilities_far_below_rounding_are_exact():
    assert extraction_probability(np.log(1e-30), 1_000) == pytest.approx(1e-27, rel=1e-12)
    assert queries_needed(np.log(1e-30), 0.5) == pytest.approx(math.log(2) * 1e30, rel=1e-9)
    assert queries_needed(-1e4, 0.5) == math.inf
    assert extractable(-1e4, 10**9, 0.5) == 0.0


def test_unknown_stays_unknown():
    assert np.isnan(extractable([math.nan], 1, 0.5)).all()
    assert np.isnan(queries_needed([math.nan], 0.5)).all()


def test_answers_of_a_model_contain_the_suffix_as_often_as_computed():
    """9 queries each, 2,000 times: binomial at a false-alarm rate of 1e-6."""
    model = NGramModel.fit(["the key is 42", "the key is 17", "the key is 99"], n=5)
    log_p = float(model.conditional("the key is ", ["42"])[0])
    answers = TextSampling(13).texts(model, 18_000, np.random.default_rng(0), prompt="the key is ")
    hits = np.array([text.endswith("42") for text in answers]).reshape(2_000, 9).any(axis=1).sum()
    expected = float(extraction_probability(log_p, 9))
    assert 0.5 < expected < 0.999
    assert stats.binomtest(int(hits), 2_000, expected).pvalue > 1e-6


@pytest.mark.parametrize(
    "call",
    [
        lambda: queries_needed(0.1, 0.5),
        lambda: queries_needed(-1.0, 1.0),
        lambda: queries_needed(-1.0, 0.0),
        lambda: extraction_probability(-1.0, 0),
        lambda: extractable(-1.0, 1.5, 0.5),
    ],
)
def test_values_outside_their_range_are_refused(call):
    with pytest.raises(ParameterError):
        call()
