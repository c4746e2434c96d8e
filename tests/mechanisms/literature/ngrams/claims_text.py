"""Laws of counts of n-grams, worked out by hand; as in claims_statistics. N-grams are counted here by slicing."""

from collections import Counter
from itertools import product

from tests.mechanisms import claims_laws as laws
from tests.mechanisms.literature.statistics.claims_statistics import ROUNDING

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.ngrams import NGramCounts
from dpassay.mechanisms.literature.ngrams.broken import ContributionNotBounded


def counted(texts, n, most):
    """N-grams of texts, of each text the first ones."""
    counts = Counter()
    for text in texts:
        counts.update([text[i : i + n] for i in range(len(text) - n + 1)][:most])
    return counts


def law(counts, others, rate):
    """Of the noisy counts that differ between the sides, tails beyond both lumped."""
    moved = sorted(gram for gram in counts | others if counts[gram] != others[gram])
    each = []
    for gram in moved:
        ends = sorted((counts[gram], others[gram]))
        masses = laws.geometric(counts[gram], rate, *ends)
        each.append(masses[400 + ends[0] : 400 + ends[1] + 1])
    return laws.joint(*each)


def ngram_counts(kind=NGramCounts, bounded=True, **options):
    for relation, epsilon, c in product(("add_remove", "replace_one"), (0.5, 2.0), (1, 3)):
        mechanism = kind(epsilon, n=2, alphabet="abc", contribution=c, relation=relation, **options)
        length = c if bounded else mechanism.text_length
        s = 2 if relation == "replace_one" else 1
        worst = ("a" * (length + 1), "b" * (length + 1))
        for i, (text, other) in enumerate([worst, ("abca", "ccc"), ("ab" * 9, "b"), ("cab", "aca")]):
            common = ["aab", worst[1]]
            d0 = [*common, other] if relation == "replace_one" else common
            before, after = (counted(texts, 2, c if bounded else None) for texts in (d0, [*common, text]))
            if before == after:
                continue
            two = law(before, after, epsilon / (s * c)), law(after, before, epsilon / (s * c))
            yield mechanism, Neighbours(d0, [*common, text], relation), *two, ROUNDING, i == 0


CLAIMS = {
    "ngram-counts": ngram_counts,
    "broken-ngram-contribution": lambda: ngram_counts(ContributionNotBounded, bounded=False),
}
