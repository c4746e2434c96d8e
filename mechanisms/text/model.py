"""Language models from counts of n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ParameterError
from ..queries.base import Floats
from ..validation import non_negative, positive, whole
from .alphabet import Alphabet, Tokens


class Table(Protocol):
    """Counts by the number of an n-gram."""

    def of(self, keys: Tokens) -> Floats:
        """Counts, in the shape of the keys; for a table of many runs `(n_runs, *shape)`."""
        ...

    def after(self, contexts: Tokens, n_symbols: int) -> Floats:
        """Counts of all symbols after each context, `(m, n_symbols)`; for a table of one run."""
        ...

    def drop_first(self, n_after: int) -> Table:
        """Counts of what is left without the first symbol; there are `n_after` of those."""
        ...

    def drop_last(self, n_symbols: int) -> Table:
        """Counts of what is left without the last symbol: how often each context stands before any symbol."""
        ...


@dataclass(frozen=True, eq=False)
class Sparse:
    """Counts of the n-grams that occur, in increasing order of their numbers."""

    keys: Tokens
    counts: Floats

    def of(self, keys: Tokens) -> Floats:
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.counts[places], 0.0)

    def after(self, contexts: Tokens, n_symbols: int) -> Floats:
        first, end = (np.searchsorted(self.keys, (contexts + step) * n_symbols) for step in (0, 1))
        row = np.repeat(np.arange(len(contexts)), end - first)
        place = np.arange(len(row)) + np.repeat(first - np.cumsum(end - first) + (end - first), end - first)
        found = np.zeros((len(contexts), n_symbols))
        found[row, self.keys[place] % n_symbols] = self.counts[place]
        return found

    def drop_first(self, n_after: int) -> Sparse:
        return self._summed(self.keys % n_after)

    def drop_last(self, n_symbols: int) -> Sparse:
        return self._summed(self.keys // n_symbols)

    def _summed(self, keys: Tokens) -> Sparse:
        distinct, place = np.unique(keys, return_inverse=True)
        return Sparse(distinct, np.bincount(place, weights=self.counts).astype(np.float64))


@dataclass(frozen=True, eq=False)
class Dense:
    """Counts of all n-grams in many runs, shape `(n_runs, n_cells)`."""

    counts: Floats

    def of(self, keys: Tokens) -> Floats:
        return self.counts[:, keys]

    def after(self, contexts: Tokens, n_symbols: int) -> Floats:
        return np.asarray(self.counts[0].reshape(-1, n_symbols)[contexts])

    def drop_first(self, n_after: int) -> Dense:
        return Dense(self.counts.reshape(len(self.counts), -1, n_after).sum(axis=1))

    def drop_last(self, n_symbols: int) -> Dense:
        return Dense(self.counts.reshape(len(self.counts), -1, n_symbols).sum(axis=2))


@dataclass(frozen=True, eq=False)
class NGramModel:
    """A language model: which symbol comes next, given the n - 1 before it.

    The probability of symbol w after the context h of k - 1 symbols is an average of what was counted and what the
    model of the next lower order says, weighed as if s = `smoothing` more contexts had been seen:

        p_k(w | h) = (count(h w) + s p_{k-1}(w | h')) / (count(h) + s),    h' = h without its first symbol,

    down to p_0 = 1 / (symbols of the alphabet) (MacKay and Bando Peto 1995, section 3). A context that never occurred
    is left to the shorter one.

    Args:
        alphabet: of the texts.
        n: length of the n-grams.
        tables: counts of n-grams of length 1, ..., n.
        contexts: for each of them, how often what stands before its last symbol occurs.
        smoothing: s > 0.

    Build it with `NGramModel.fit` or `NGramModel.from_counts`.
    """

    alphabet: Alphabet
    n: int
    tables: tuple[Table, ...]
    contexts: tuple[Table, ...]
    smoothing: float

    @classmethod
    def fit(
        cls, texts: Sequence[str], n: int, alphabet: Alphabet | None = None, *, smoothing: float = 0.1
    ) -> NGramModel:
        """The model of exact counts: nothing is hidden.

        Args:
            texts: to learn from.
            n: length of the n-grams, >= 1.
            alphabet: of the texts; None takes the characters that they hold.
            smoothing: s > 0.

        Raises:
            ParameterError: no text of n symbols, a symbol that the alphabet lacks, or too many possible n-grams for a
                number each (2^63).

        Example:
            >>> model = NGramModel.fit(["abababab"], n=2, smoothing=0.1)
            >>> np.exp(model.log_probabilities(["ab"])).round(3).tolist()
            [[0.43, 0.99]]
        """
        alphabet = alphabet or Alphabet.of(texts)
        whole(1, n=n)
        positive(smoothing=smoothing)
        encoded = alphabet.encode(texts)
        longest = int(encoded.lengths.max(initial=0))
        if longest < n:
            raise ParameterError(
                f"n must be no longer than the longest text, but is {n}, and no text has more than {longest} symbols. "
                "Take a smaller n or longer texts.",
                argument="n",
            )
        if n * np.log2(len(alphabet)) >= 63.0:
            raise ParameterError(
                f"n must be small enough for {len(alphabet)}^n to stay below 2^63, but is {n}.", argument="n"
            )
        keys, counts = np.unique(encoded.ngrams(n, len(alphabet)), return_counts=True)
        return cls._of(alphabet, n, Sparse(keys, counts.astype(np.float64)), smoothing)

    @classmethod
    def from_counts(
        cls, counts: ArrayLike, n: int, alphabet: Alphabet, *, least: float = 0.0, smoothing: float = 0.1
    ) -> NGramModel:
        """The models of many tables of noisy counts at once: what `NGramCounts` releases.

        Args:
            counts: `(n_runs, n_cells)`, or `(n_cells,)` for one run.
            n, alphabet: of the table.
            least: counts up to it are taken for noise, and become 0; >= 0.
            smoothing: s > 0.

        Raises:
            ParameterError: a table of another size.
        """
        positive(smoothing=smoothing)
        non_negative(least=least)
        table = np.atleast_2d(np.asarray(counts, dtype=np.float64))
        if table.ndim != 2 or table.shape[1] != len(alphabet) ** n:
            raise ParameterError(
                f"counts must have shape (n_runs, {len(alphabet)}^{n}), but have shape {table.shape}.",
                argument="counts",
            )
        return cls._of(alphabet, n, Dense(np.where(table > least, table, 0.0)), smoothing)

    @classmethod
    def _of(cls, alphabet: Alphabet, n: int, table: Table, smoothing: float) -> NGramModel:
        tables = [table]
        for k in range(n - 1, 0, -1):
            tables.append(tables[-1].drop_first(len(alphabet) ** k))
        tables.reverse()
        return cls(alphabet, n, tuple(tables), tuple(each.drop_last(len(alphabet)) for each in tables), smoothing)

    def log_probabilities(self, texts: Sequence[str]) -> Floats:
        """Log probability of each symbol of texts of equal length, given what stands before it in its text.

        Args:
            texts: of the same number m >= 1 of symbols each.

        Returns:
            Shape `(n_texts, m)`; `(n_runs, n_texts, m)` for the models of many runs.

        Raises:
            ParameterError: no texts, or texts of different lengths.
        """
        encoded = self.alphabet.encode(texts)
        lengths = set(encoded.lengths.tolist())
        if len(lengths) != 1 or 0 in lengths:
            raise ParameterError(
                "texts must be one at least, and have the same number of symbols, at least one, but their lengths are "
                f"{sorted(lengths)}. Ask for texts of one length at a time.",
                argument="texts",
            )
        return np.log(self._probabilities(encoded.tokens.reshape(len(texts), -1)))

    def log_probability(self, texts: Sequence[str]) -> Floats:
        """Log probability of each text as a whole, of any lengths >= 1: shape `(n_texts,)`, `(n_runs, n_texts)` for
        many runs."""
        lengths = self.alphabet.encode(texts).lengths
        found: Floats = np.empty(0)
        for length in np.unique(lengths):
            here = np.flatnonzero(lengths == length)
            each = self.log_probabilities([texts[i] for i in here.tolist()]).sum(axis=-1)
            if not found.size:
                found = np.empty((*each.shape[:-1], len(texts)))
            found[..., here] = each
        return found

    def conditional(self, prefix: str, suffixes: Sequence[str]) -> Floats:
        """Log probability of each suffix after a prefix: shape `(n_suffixes,)`, `(n_runs, n_suffixes)` for many runs.

        Example:
            >>> model = NGramModel.fit(["the key is 42", "the sky is blue"], n=5)
            >>> bool(model.conditional("key is ", ["42"]) > model.conditional("key is ", ["24"]))
            True
        """
        joint = "" if self.alphabet.of_characters else " "
        whole_texts = [prefix + joint + suffix if prefix else suffix for suffix in suffixes]
        before = self.log_probability([prefix])[..., :1] if prefix else 0.0
        return np.asarray(self.log_probability(whole_texts) - before)

    def next_symbol(self, contexts: Tokens) -> Floats:
        """Probability of each symbol after each context, by a model of one run.

        Args:
            contexts: `(m, j)` numbers of the last symbols, j >= 0; the last n - 1 of them count.

        Returns:
            Shape `(m, n_symbols)`; each row sums to 1.
        """
        size, m = len(self.alphabet), len(contexts)
        p, context, weight = np.full((m, size), 1.0 / size), np.zeros(m, dtype=np.int64), 1
        for k in range(1, min(self.n, contexts.shape[1] + 1) + 1):
            if k > 1:
                context = context + contexts[:, contexts.shape[1] - k + 1] * weight
                weight *= size
            counts = self.tables[k - 1].after(context, size)
            p = (counts + self.smoothing * p) / (counts.sum(axis=1, keepdims=True) + self.smoothing)
        return p

    def _probabilities(self, tokens: Tokens) -> Floats:
        """Probability of each symbol given those before it in its row, `(*runs, m, length)`."""
        size, length = len(self.alphabet), tokens.shape[1]
        keys = tokens.copy()
        p = np.full(self.tables[0].of(keys).shape, 1.0 / size)
        for k in range(1, min(self.n, length) + 1):
            if k > 1:
                keys[:, k - 1 :] += tokens[:, : length - k + 1] * size ** (k - 1)
            here = keys[:, k - 1 :]
            count, context = self.tables[k - 1].of(here), self.contexts[k - 1].of(here // size)
            seen = p[..., k - 1 :]
            seen *= self.smoothing
            seen += count
            seen /= context + self.smoothing
        return p


def planted_probability(
    texts: Sequence[str], record: str, prefix: str, suffix: str, *, n: ArrayLike, copies: ArrayLike,
    smoothing: float = 0.1,
) -> NDArray[np.float64]:  # fmt: skip
    """Pr[suffix | prefix] by exact models, after a record was planted in the texts.

    Args:
        texts: without the record.
        record: the text that is planted; holds prefix and suffix.
        prefix, suffix: what the model is asked, and what it should not know.
        n: `(a,)` orders of the models.
        copies: `(b,)` how often the record is planted, >= 0; 0 is what the model guesses without it.
        smoothing: of the models.

    Returns:
        Shape `(a, b)`.
    """
    orders, times = np.atleast_1d(n), np.atleast_1d(copies)
    alphabet = Alphabet.of([*texts, record])
    found = np.empty((len(orders), len(times)))
    for i, order in enumerate(orders.tolist()):
        for j, number in enumerate(times.tolist()):
            model = NGramModel.fit([*texts, *[record] * number], order, alphabet, smoothing=smoothing)
            found[i, j] = np.exp(model.conditional(prefix, [suffix])[0])
    return found
