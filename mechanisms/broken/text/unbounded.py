"""Wrong on purpose: counts of n-grams to which a text contributes more than the noise is for."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from ...base import Dataset, Neighbours
from ...guarantees.base import Guarantee
from ...queries.base import Floats
from ...text.ngram_counts import NGramCounts, moved_counts
from ...validation import whole


@dataclass(frozen=True)
class ContributionNotBounded(NGramCounts):
    """Broken: noise for `contribution` n-grams of a text, all of whose n-grams are counted.

    The slip: the bound on what a person contributes sets the noise, and nothing applies it to the text. It claims
    epsilon for a person and keeps it for `contribution` n-grams: a text of m n-grams has m / contribution times as
    much. (The case for bounding in code what is bounded in the proof: Wilson et al. 2020, section 2.2; Amin, Kulesza,
    Munoz Medina and Vassilvitskii 2019.) `NGramCounts` is right.

    Args:
        epsilon, n, alphabet, contribution, relation: as for `NGramCounts`.
        text_length: n-grams of the text in the worst case, > contribution. Longer texts leak more.

    Example:
        >>> broken = ContributionNotBounded(epsilon=0.5, contribution=1, text_length=6)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 9)
        (0.5, 3.0)
    """

    _: KW_ONLY
    text_length: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(self.contribution + 1, text_length=self.text_length)

    def counts(self, dataset: Dataset) -> Floats:
        """The exact counts of all n-grams of the texts, shape `(n_cells,)`; should be of the first ones."""
        return self._counted(dataset, None)

    def worst_case(self) -> Neighbours:
        """A text of one n-gram, `text_length` times."""
        return self._repeated(self.text_length)

    def exact_guarantee(self) -> Guarantee:
        """One count that moves by `text_length`, or two for replace_one: epsilon text_length / contribution."""
        return moved_counts(self.noise.rate, self.text_length, self.relation)
