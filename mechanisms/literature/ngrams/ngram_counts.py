"""Noisy counts of n-grams, the basis of a private language model."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np

from ...accounting import ExactDP, PureMechanism
from ...core.arrays import Floats
from ...core.base import Data, Dataset, Neighbours
from ...core.constraints import AddOrReplace, Positive, PositiveInt
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import RecordsMechanism
from ...core.relation import Relation
from ...noise.base import NoisyQuery
from ...noise.geometric import Geometric
from .alphabet import Alphabet

MAX_CELLS = 2**22
"""Largest number of cells of a table of counts."""


@dataclass(frozen=True)
class NGramCounts(NoisyQuery, PureMechanism, RecordsMechanism):
    """Counts of all n-grams of an alphabet in texts, with two-sided geometric noise.

    A record is the whole text of one person. Only the first `contribution` n-grams of a record are counted, so that
    adding or removing the person changes the counts by at most c = `contribution` in L1 norm, and replacing the text by
    at most 2 c: Pr[Z = z] is proportional to e^(-epsilon |z| / (s c)) with s = 1 or 2. All possible n-grams are
    counted, including those that do not occur, so that the list of n-grams leaks nothing. (Counts with noise: Dwork,
    McSherry, Nissim and Smith 2006; bounded contributions: Wilson et al. 2020, section 2.2.)

    A language model is computed from the noisy counts (`NGramModel.from_counts`), which is post-processing.

    Args:
        epsilon: the claim, > 0.
        n: length of the n-grams, >= 1.
        alphabet: a string of characters, or a sequence of words; fixed and public. There are len(alphabet)^n counts, at
            most 2^22.
        contribution: number of n-grams of a record that are counted, >= 1.
        relation: add_remove or replace_one.

    Guarantees:
        * epsilon-DP for the whole text of a person. With add_remove it is attained on `worst_case()`, a text that
          repeats one n-gram: the curve is that of one count that changes by c.

    Example:
        >>> mechanism = NGramCounts(epsilon=1.0, n=2, alphabet="ab", contribution=3)
        >>> mechanism.counts(["abab", "bb"]).tolist()
        [0.0, 2.0, 1.0, 1.0]
        >>> mechanism.release(["abab", "bb"], 5, np.random.default_rng(0)).values.shape
        (5, 4)
    """

    _dataset = Data.OTHER

    epsilon: Positive = 1.0
    _: KW_ONLY
    n: PositiveInt = 2
    alphabet: str | tuple[str, ...] = "ab"
    contribution: PositiveInt = 1
    relation: AddOrReplace = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alphabet", Alphabet(self.alphabet).symbols)
        if self.n * math.log2(len(self.alphabet)) > math.log2(MAX_CELLS):
            raise ParameterError(
                f"n must be small enough for a table of at most {MAX_CELLS:,} counts, but is {self.n}, and "
                f"{len(self.alphabet)} symbols have {len(self.alphabet)}^{self.n} n-grams. Use a smaller n or a "
                "smaller alphabet.",
                argument="n",
            )

    @property
    def n_cells(self) -> int:
        """Number of released counts."""
        return int(len(self.alphabet) ** self.n)

    @property
    def sensitivity(self) -> int:
        """L1 sensitivity of the counts: c, or 2 c for replace_one."""
        return self.contribution * (2 if self.relation is Relation.REPLACE_ONE else 1)

    @cached_property
    def noise(self) -> Geometric:
        """Noise of each count."""
        return Geometric(self.epsilon, sensitivity=self.sensitivity)

    @property
    def n_moved(self) -> int:
        """Number of counts that differ between the sides of `worst_case()`: 1, or 2 for replace_one."""
        return 2 if self.relation is Relation.REPLACE_ONE else 1

    def counts(self, dataset: Dataset) -> Floats:
        """Return the exact counts of the first `contribution` n-grams of each text, shape `(n_cells,)`.

        The n-gram of cell i has the digits of i to the base of the size of the alphabet. A text shorter than n has no
        n-grams. It must not raise: an exception would leak the presence of the text.

        Raises:
            ParameterError: texts that are not strings, or hold other symbols.
        """
        return self._counted(dataset, self.contribution)

    def _counted(self, dataset: Dataset, max_per_text: int | None) -> Floats:
        """Return the counts of the first `max_per_text` n-grams of each text; None for all."""
        keys = Alphabet(self.alphabet).encode(list(dataset)).ngrams(self.n, len(self.alphabet), max_per_text)
        return np.bincount(keys, minlength=self.n_cells).astype(np.float64)

    def answers(self, dataset: Dataset) -> Floats:
        """Return the counts, see `counts`."""
        return self.counts(dataset)

    def worst_case(self) -> Neighbours:
        """Return a pair with a text of one n-gram, `contribution` times, which side 0 lacks or replaces."""
        return self._repeated(self.contribution)

    def _repeated(self, times: int) -> Neighbours:
        """Return a pair that differs in a text with `times` copies of one n-gram; both sides share two such texts."""
        separator = "" if isinstance(self.alphabet, str) else " "
        first, second = (separator.join([symbol] * (self.n + times - 1)) for symbol in self.alphabet[:2])
        d0 = [first, second]
        return Neighbours([*d0, second] if self.relation is Relation.REPLACE_ONE else d0, [*d0, first], self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of `worst_case()`: one count that changes by c, or two counts for replace_one."""
        return curve_of_moved_counts(self.noise.rate, self.contribution, self.relation)


def curve_of_moved_counts(rate: float, step: int, relation: Relation) -> ExactDP:
    """Return the exact curve of one count with geometric noise that changes by `step`; of two for replace_one.

    Args:
        rate: decrease of the log probability of the noise per unit.
        step: >= 1.
        relation: relation of the guarantee.
    """
    one_count = Geometric(rate * step, sensitivity=step).guarantee()
    assert isinstance(one_count, ExactDP)
    both = one_count.product(one_count) if relation is Relation.REPLACE_ONE else one_count
    return both.under(relation)
