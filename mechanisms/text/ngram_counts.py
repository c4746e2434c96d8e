"""Noisy counts of n-grams: what a private language model is made of."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ..errors import ParameterError
from ..guarantees import ExactDP, PureDP
from ..guarantees.base import Guarantee
from ..noise.discrete.geometric import Geometric
from ..queries.base import Floats
from ..records import check_records
from ..relation import Relation
from ..validation import positive, whole
from .alphabet import Alphabet

MOST_CELLS = 2**22
"""Of a table of counts."""


@dataclass(frozen=True)
class NGramCounts(Mechanism):
    """How often each n-gram of an alphabet occurs in texts, each count plus two-sided geometric noise.

    A record is the whole text of one person. Its first `contribution` n-grams are counted and no others, so that adding
    or removing the person moves the counts by at most c = `contribution` in all, and replacing the text by at most 2 c:
    Pr[Z = z] is proportional to e^(-epsilon |z| / (s c)) with s = 1 or 2. All possible n-grams are counted, those that
    occur nowhere too, so that which of them are listed says nothing. (Counts with noise: Dwork, McSherry, Nissim and
    Smith 2006; bounded contributions: Wilson et al. 2020, section 2.2.)

    A language model is computed from the noisy counts (`NGramModel.from_counts`), which costs no more privacy.

    Args:
        epsilon: the claim, > 0.
        n: length of the n-grams, >= 1.
        alphabet: a string of characters, or a sequence of words; fixed and public. There are len(alphabet)^n counts, at
            most 2^22.
        contribution: n-grams of a record that are counted, >= 1.
        relation: add_remove or replace_one.

    Guarantees:
        * epsilon-DP for the whole text of a person. With add_remove attained on `worst_case()`, a text of one n-gram
          again and again: the curve is that of one count that moves by c.

    Example:
        >>> mechanism = NGramCounts(epsilon=1.0, n=2, alphabet="ab", contribution=3)
        >>> mechanism.counts(["abab", "bb"]).tolist()
        [0.0, 2.0, 1.0, 1.0]
        >>> mechanism.release(["abab", "bb"], 5, np.random.default_rng(0)).values.shape
        (5, 4)
    """

    epsilon: float = 1.0
    _: KW_ONLY
    n: int = 2
    alphabet: str | tuple[str, ...] = "ab"
    contribution: int = 1
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))
        positive(epsilon=self.epsilon)
        whole(1, n=self.n, contribution=self.contribution)
        object.__setattr__(self, "alphabet", Alphabet(self.alphabet).symbols)
        if self.n * math.log2(len(self.alphabet)) > math.log2(MOST_CELLS):
            raise ParameterError(
                f"n must be small enough for a table of at most {MOST_CELLS:,} counts, but is {self.n}, and "
                f"{len(self.alphabet)} symbols have {len(self.alphabet)}^{self.n} n-grams. Take a smaller n or a "
                "smaller alphabet.",
                argument="n",
            )
        if self.relation is Relation.ZERO_OUT:
            raise ParameterError(
                "relation must be add_remove or replace_one, but is zero_out: a text cannot be all zeros.",
                argument="relation",
            )

    @property
    def n_cells(self) -> int:
        """Counts that are released."""
        return int(len(self.alphabet) ** self.n)

    @property
    def sensitivity(self) -> int:
        """How far one record moves all counts together: c, or 2 c for replace_one."""
        return self.contribution * (2 if self.relation is Relation.REPLACE_ONE else 1)

    @cached_property
    def noise(self) -> Geometric:
        """What is added to each count."""
        return Geometric(self.epsilon, sensitivity=self.sensitivity)

    def counts(self, dataset: Dataset) -> Floats:
        """The exact counts of the first `contribution` n-grams of each text, shape `(n_cells,)`.

        A text shorter than n has none. That it is no error is part of the guarantee: an exception would tell of it.

        Raises:
            ParameterError: texts that are no strings, or hold other symbols.
        """
        return self._counted(dataset, self.contribution)

    def _counted(self, dataset: Dataset, most: int | None) -> Floats:
        """Counts of the first `most` n-grams of each text, or of all."""
        keys = Alphabet(self.alphabet).encode(list(dataset)).ngrams(self.n, len(self.alphabet), most)
        return np.bincount(keys, minlength=self.n_cells).astype(np.float64)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` tables of noisy counts, int64 of shape `(size, n_cells)`; the n-gram of cell i is i to the base of the
        size of the alphabet."""
        noisy = self.noise._draw((size, self.n_cells), rng)
        noisy += self.counts(dataset)
        return Outputs(noisy.astype(np.int64))

    def output_law(self) -> LogDensity:
        """Its own: see `log_density`."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log probability of each output under `dataset`, shape `(size,)`; -inf where a count is not whole."""
        noise = np.subtract(outputs.values, self.counts(dataset), dtype=np.float64)
        possible = (noise == np.rint(noise)).all(axis=1)
        return np.asarray(np.where(possible, self.noise._noise_log_density(noise).sum(axis=1), -np.inf))

    def guarantee(self) -> Guarantee:
        """`PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def worst_case(self) -> Neighbours:
        """A text of one n-gram, `contribution` times, which is missing on side 0 or is another such text."""
        return self._repeated(self.contribution)

    def _repeated(self, times: int) -> Neighbours:
        """A text that holds its n-gram so many times, besides one of each kind that both sides have."""
        joint = "" if isinstance(self.alphabet, str) else " "
        first, other = (joint.join([symbol] * (self.n + times - 1)) for symbol in self.alphabet[:2])
        d0 = [first, other]
        return Neighbours([*d0, other] if self.relation is Relation.REPLACE_ONE else d0, [*d0, first], self.relation)

    def exact_guarantee(self) -> Guarantee:
        """The exact curve of `worst_case()`: one count that moves by c, or two for replace_one."""
        return moved_counts(self.noise.rate, self.contribution, self.relation)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        check_records(neighbours)
        return self


def moved_counts(rate: float, step: int, relation: Relation) -> ExactDP:
    """The exact curve of one count with geometric noise that moves by `step`; for replace_one of two, apart.

    Args:
        rate: how fast the log probability of the noise falls.
        step: >= 1.
        relation: of the guarantee.
    """
    one = Geometric(rate * step, sensitivity=step).guarantee()
    assert isinstance(one, ExactDP)
    return one.product(one).under(relation) if relation is Relation.REPLACE_ONE else one.under(relation)
