"""Intentionally broken n-gram counts: the contribution of one text is not bounded."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from ...accounting.broken import Broken
from ...core import Dataset, Floats, Guarantee, Neighbours, whole
from .ngram_counts import NGramCounts, curve_of_moved_counts


@dataclass(frozen=True)
class ContributionNotBounded(Broken, NGramCounts):
    """Broken: n-gram counts with noise for `contribution` n-grams per text, but all n-grams counted.

    The claim is epsilon per person, but it holds only for `contribution` n-grams: for a text of m n-grams the true
    epsilon is m / contribution times the claim.

    Args:
        text_length: number of n-grams of the text in the worst case, > contribution. Longer texts leak more.

    Example:
        >>> broken = ContributionNotBounded(epsilon=0.5, contribution=1, text_length=6)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 9)
        (0.5, 3.0)
    """

    cause = "The bound on the contribution of a person determines the noise, but is not applied to the text."
    source = (
        "Wilson et al. (2020), section 2.2, and Amin, Kulesza, Munoz Medina and Vassilvitskii (2019), on bounded "
        "contributions."
    )
    correct_class = NGramCounts

    _: KW_ONLY
    text_length: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(self.contribution + 1, text_length=self.text_length)

    def counts(self, dataset: Dataset) -> Floats:
        """Return the exact counts of all n-grams, shape `(n_cells,)`; should be of the first ones of each text."""
        return self._counted(dataset, None)

    def worst_case(self) -> Neighbours:
        """Return a text of one n-gram, repeated `text_length` times."""
        return self._repeated(self.text_length)

    def exact_guarantee(self) -> Guarantee:
        """Return the curve of one count, or two for replace_one, that moves by `text_length`.

        Its epsilon at delta 0 is epsilon text_length / contribution.
        """
        return curve_of_moved_counts(self.noise.rate, self.text_length, self.relation)
