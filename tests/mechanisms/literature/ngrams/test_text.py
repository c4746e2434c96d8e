"""Counts of n-grams and the models made of them, against twins that slice strings."""

import itertools

import numpy as np
import pytest
from tests.mechanisms.literature.ngrams.claims_text import counted

from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.ngrams import Alphabet, NGramCounts, NGramModel
from dpassay.mechanisms.literature.ngrams.broken import ContributionNotBounded
from dpassay.mechanisms.literature.ngrams.model import planted_probability

TEXTS = ["abracadabra", "cab", "a", "", "dabcad", "barbara"]
LETTERS = Alphabet("abcdr")


def naive(texts, n, smoothing, context, symbol, size):
    """Probability of a symbol after a context, by counting strings again for every order."""
    grams = counted(texts, n, None)
    p = 1.0 / size
    for k in range(1, min(n, len(context) + 1) + 1):
        history = context[len(context) - k + 1 :]
        after = sum(c for gram, c in grams.items() if gram[n - k :] == history + symbol)
        before = sum(c for gram, c in grams.items() if gram[n - k : n - 1] == history)
        p = (after + smoothing * p) / (before + smoothing)
    return p


@pytest.mark.parametrize(("n", "most"), [(1, 2), (2, 3), (3, 1), (3, 99)])
def test_counts_are_those_of_a_loop_over_the_texts(n, most):
    counts = NGramCounts(n=n, alphabet="abcdr", contribution=most).counts(TEXTS)
    expected = counted(TEXTS, n, most)
    for i, gram in enumerate(map("".join, itertools.product("abcdr", repeat=n))):
        assert counts[i] == expected[gram]
    assert counts.sum() == expected.total()


def test_words_are_counted_as_characters_are():
    words = NGramCounts(n=2, alphabet=("no", "yes", "maybe"), contribution=2).counts(["yes no yes no", "maybe yes"])
    letters = NGramCounts(n=2, alphabet="nym", contribution=2).counts(["ynyn", "my"])
    np.testing.assert_array_equal(words, letters)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_probabilities_are_those_of_the_recursion_written_out(n):
    model = NGramModel.fit(TEXTS, n, LETTERS, smoothing=0.3)
    for text in ("abrac", "ddddd", "rcada"):
        (row,) = np.exp(model.log_probabilities([text]))
        expected = [naive(TEXTS, n, 0.3, text[:i], text[i], 5) for i in range(len(text))]
        np.testing.assert_allclose(row, expected, rtol=1e-12)


def test_tables_of_many_runs_give_the_models_of_each_run():
    mechanism = NGramCounts(1.0, n=3, alphabet="abcdr", contribution=9)
    exact = NGramModel.from_counts(mechanism.counts(TEXTS), 3, LETTERS)
    expected = NGramModel.fit([text[:11] for text in TEXTS], 3, LETTERS).log_probability(["bra", "ccc", "cadab"])
    np.testing.assert_allclose(exact.log_probability(["bra", "ccc", "cadab"]), [expected], rtol=1e-12)
    noisy = mechanism.release(TEXTS, 4, np.random.default_rng(0)).values
    together = NGramModel.from_counts(noisy, 3, LETTERS, least=2.0).log_probability(["bra", "ccc"])
    apart = [NGramModel.from_counts(run, 3, LETTERS, least=2.0).log_probability(["bra", "ccc"])[0] for run in noisy]
    np.testing.assert_array_equal(together, apart)


def test_next_symbol_probabilities_sum_to_one_and_agree_with_texts():
    model = NGramModel.fit(TEXTS, 3, LETTERS)
    contexts = LETTERS.encode(["abr", "rrr"]).tokens.reshape(2, 3)
    after = model.next_symbol(contexts)
    np.testing.assert_allclose(after.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.log(after[0]), model.conditional("abr", list("abcdr")), rtol=1e-9)
    np.testing.assert_allclose(model.next_symbol(contexts[:, :0]).sum(axis=1), 1.0, rtol=1e-12)


def test_planted_text_is_memorised_if_the_order_covers_its_context():
    """Known answer: 6 mails say "pin is" with other digits. With context enough, Pr[suffix] is its share of the
    texts that share the context; without a copy it is next to nothing."""
    texts = [f"the pin is {i}{i + 1}." for i in range(6)]
    probabilities = planted_probability(
        texts, "my pin is 97.", "my pin is ", "97", n=[2, 8, 9], copies=[0, 1, 30], smoothing=1e-6
    )
    assert probabilities.shape == (3, 3)
    assert (np.diff(probabilities, axis=1) > 0).all()
    # n = 8 sees "pin is " and cannot tell the record from the others: one of seven, or thirty of thirty-six
    assert probabilities[1, 1:] == pytest.approx([1 / 7, 30 / 36], rel=1e-4)
    assert probabilities[2, 1:] == pytest.approx([1 / 7, 30 / 36], rel=1e-4)
    longer = planted_probability(texts, "my pin is 97.", "my pin is ", "97", n=[10], copies=[0, 1], smoothing=1e-6)
    assert longer[0, 1] == pytest.approx(1.0, abs=1e-4)
    assert longer[0, 0] < 1e-3


def test_a_bound_that_is_not_applied_is_caught_and_its_twin_is_not(without_power):
    options = {"trials": 20_000, "confidence": 1 - 1e-6, "seed": 1}
    broken = ContributionNotBounded(0.5, n=2, alphabet="ab", contribution=1, text_length=6)
    assert audit(broken, **options).verdict is Verdict.VIOLATION
    right = NGramCounts(0.5, n=2, alphabet="ab", contribution=1)
    assert audit(right, neighbours=broken.worst_case(), **options).verdict is Verdict.CONSISTENT
    assert broken.exact_guarantee().epsilon(0.0) == pytest.approx(3.0, rel=1e-9)


def test_short_texts_count_for_nothing_and_are_refused_by_the_model():
    assert NGramCounts(n=3).counts(["ab", ""]).sum() == 0.0
    assert NGramCounts(n=3).counts([]).sum() == 0.0
    with pytest.raises(ParameterError, match="no text has more than 2 symbols"):
        NGramModel.fit(["ab", ""], 3, Alphabet("ab"))


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: Alphabet("aa"), "alphabet"),
        (lambda: Alphabet("a"), "alphabet"),
        (lambda: Alphabet(("a b", "c")), "alphabet"),
        (lambda: NGramCounts(alphabet="abc", n=40), "n"),
        (lambda: NGramCounts(relation="zero_out"), "relation"),
        (lambda: NGramCounts().counts(["abc"]), "texts"),
        (lambda: NGramCounts().counts([1, 2]), "texts"),
        (lambda: NGramModel.fit(["ab" * 40], 64, LETTERS), "n"),
        (lambda: NGramModel.from_counts(np.zeros(7), 2, LETTERS), "counts"),
        (lambda: NGramModel.fit(TEXTS, 2, LETTERS).log_probabilities(["ab", "abc"]), "texts"),
        (lambda: NGramModel.fit(TEXTS, 2, LETTERS).log_probabilities([]), "texts"),
        (lambda: NGramModel.fit(TEXTS, 2, LETTERS).log_probability(["a", ""]), "texts"),
        (lambda: ContributionNotBounded(contribution=4, text_length=4), "text_length"),
    ],
)
def test_bad_input_is_named(make, argument):
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.argument == argument
