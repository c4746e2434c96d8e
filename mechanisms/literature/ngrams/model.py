"""Language models from counts of n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...core import Floats, ParameterError, non_negative, positive, whole
from .alphabet import Alphabet, Tokens


class NGramTable(Protocol):
    """Counts by the index of an n-gram."""

    def of(self, keys: Tokens) -> Floats:
        """Return counts, in the shape of the keys; for a table of many runs `(n_runs, *shape)`."""

    def after(self, contexts: Tokens, n_symbols: int) -> Floats:
        """Return the counts of all symbols after each context, `(m, n_symbols)`; for a table of one run."""

    def drop_first(self, n_after: int) -> NGramTable:
        """Return the counts of the n-grams without their first symbol; there are `n_after` possible ones."""

    def drop_last(self, n_symbols: int) -> NGramTable:
        """Return the counts of the n-grams without their last symbol: of each context before any symbol."""


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """Counts of the n-grams that occur, in increasing order of their indices."""

    keys: Tokens
    counts: Floats

    def of(self, keys: Tokens) -> Floats:
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.counts[places], 0.0)

    def after(self, contexts: Tokens, n_symbols: int) -> Floats:
        first, end = (np.searchsorted(self.keys, (contexts + step) * n_symbols) for step in (0, 1))
        row = np.repeat(np.arange(len(contexts)), end - first)
        indices = np.arange(len(row)) + np.repeat(first - np.cumsum(end - first) + (end - first), end - first)
        table = np.zeros((len(contexts), n_symbols))
        table[row, self.keys[indices] % n_symbols] = self.counts[indices]
        return table

    def drop_first(self, n_after: int) -> SparseCounts:
        return self._summed(self.keys % n_after)

    def drop_last(self, n_symbols: int) -> SparseCounts:
        return self._summed(self.keys // n_symbols)

    def _summed(self, keys: Tokens) -> SparseCounts:
        distinct, inverse = np.unique(keys, return_inverse=True)
        return SparseCounts(distinct, np.bincount(inverse, weights=self.counts).astype(np.float64))


@dataclass(frozen=True, eq=False)
class DenseCounts:
    """Counts of all n-grams in many runs, shape `(n_runs, n_cells)`."""

    counts: Floats

    def of(self, keys: Tokens) -> Floats:
        return self.counts[:, keys]

    def after(self, contexts: Tokens, n_symbols: int) -> Floats:
        return np.asarray(self.counts[0].reshape(-1, n_symbols)[contexts])

    def drop_first(self, n_after: int) -> DenseCounts:
        return DenseCounts(self.counts.reshape(len(self.counts), -1, n_after).sum(axis=1))

    def drop_last(self, n_symbols: int) -> DenseCounts:
        return DenseCounts(self.counts.reshape(len(self.counts), -1, n_symbols).sum(axis=2))


@dataclass(frozen=True, eq=False)
class NGramModel:
    """N-gram language model: the probability of the next symbol given the n - 1 symbols before it.

    The probability of symbol w after the context h of k - 1 symbols is an average of the observed frequency and the
    probability under the model of the next lower order, with the weight of s = `smoothing` further contexts:

        p_k(w | h) = (count(h w) + s p_{k-1}(w | h')) / (count(h) + s),    h' = h without its first symbol,

    down to p_0 = 1 / (symbols of the alphabet) (MacKay and Bando Peto 1995, section 3). After a context that never
    occurred, the probability is that after the shorter context.

    Args:
        alphabet: alphabet of the texts.
        n: length of the n-grams.
        tables: counts of n-grams of length 1, ..., n.
        contexts: for each table, counts of the n-grams without their last symbol.
        smoothing: s > 0.

    Build it with `NGramModel.fit` or `NGramModel.from_counts`.
    """

    alphabet: Alphabet
    n: int
    tables: tuple[NGramTable, ...]
    contexts: tuple[NGramTable, ...]
    smoothing: float

    @classmethod
    def fit(
        cls, texts: Sequence[str], n: int, alphabet: Alphabet | None = None, *, smoothing: float = 0.1
    ) -> NGramModel:
        """Return the model of exact counts, without any privacy.

        Args:
            texts: training texts.
            n: length of the n-grams, >= 1.
            alphabet: alphabet of the texts; None for the characters that occur in them.
            smoothing: s > 0.

        Raises:
            ParameterError: no text of n symbols, a symbol that the alphabet lacks, or too many possible n-grams to
                index (2^63).

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
                "Use a smaller n or longer texts.",
                argument="n",
            )
        if n * np.log2(len(alphabet)) >= 63.0:
            raise ParameterError(
                f"n must be small enough for {len(alphabet)}^n to stay below 2^63, but is {n}.", argument="n"
            )
        keys, counts = np.unique(encoded.ngrams(n, len(alphabet)), return_counts=True)
        return cls._of(alphabet, n, SparseCounts(keys, counts.astype(np.float64)), smoothing)

    @classmethod
    def from_counts(
        cls, counts: ArrayLike, n: int, alphabet: Alphabet, *, least: float = 0.0, smoothing: float = 0.1
    ) -> NGramModel:
        """Return the models of many tables of noisy counts at once, as released by `NGramCounts`.

        Args:
            counts: `(n_runs, n_cells)`, or `(n_cells,)` for one run.
            n, alphabet: length of the n-grams and alphabet of the table.
            least: counts up to it are treated as noise, and become 0; >= 0.
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
        return cls._of(alphabet, n, DenseCounts(np.where(table > least, table, 0.0)), smoothing)

    @classmethod
    def _of(cls, alphabet: Alphabet, n: int, table: NGramTable, smoothing: float) -> NGramModel:
        tables = [table]
        for k in range(n - 1, 0, -1):
            tables.append(tables[-1].drop_first(len(alphabet) ** k))
        tables.reverse()
        return cls(alphabet, n, tuple(tables), tuple(table_k.drop_last(len(alphabet)) for table_k in tables), smoothing)

    def log_probabilities(self, texts: Sequence[str]) -> Floats:
        """Return the log probability of each symbol of texts of equal length, given the symbols before it.

        Args:
            texts: texts with an equal number m >= 1 of symbols.

        Returns:
            Shape `(n_texts, m)`; `(n_runs, n_texts, m)` for the models of many runs.

        Raises:
            ParameterError: no texts, or texts of different lengths.
        """
        encoded = self.alphabet.encode(texts)
        lengths = set(encoded.lengths.tolist())
        if len(lengths) != 1 or 0 in lengths:
            raise ParameterError(
                "texts must hold at least one text, with equal numbers of symbols, at least one, but their lengths are "
                f"{sorted(lengths)}. Pass texts of one length at a time.",
                argument="texts",
            )
        return np.log(self._probabilities(encoded.tokens.reshape(len(texts), -1)))

    def log_probability(self, texts: Sequence[str]) -> Floats:
        """Return the log probability of each whole text, of any lengths >= 1.

        Returns:
            Shape `(n_texts,)`; `(n_runs, n_texts)` for many runs.
        """
        lengths = self.alphabet.encode(texts).lengths
        log_probabilities: Floats = np.empty(0)
        for length in np.unique(lengths):
            indices = np.flatnonzero(lengths == length)
            joint = self.log_probabilities([texts[i] for i in indices.tolist()]).sum(axis=-1)
            if not log_probabilities.size:
                log_probabilities = np.empty((*joint.shape[:-1], len(texts)))
            log_probabilities[..., indices] = joint
        return log_probabilities

    def conditional(self, prefix: str, suffixes: Sequence[str]) -> Floats:
        """Return the log probability of each suffix after a prefix.

        Returns:
            Shape `(n_suffixes,)`; `(n_runs, n_suffixes)` for many runs.

        Example:
            >>> model = NGramModel.fit(["the key is 42", "the sky is blue"], n=5)
            >>> bool(model.conditional("key is ", ["42"]) > model.conditional("key is ", ["24"]))
            True
        """
        separator = "" if self.alphabet.of_characters else " "
        whole_texts = [prefix + separator + suffix if prefix else suffix for suffix in suffixes]
        before = self.log_probability([prefix])[..., :1] if prefix else 0.0
        return np.asarray(self.log_probability(whole_texts) - before)

    def next_symbol(self, contexts: Tokens) -> Floats:
        """Return the probability of each symbol after each context, by a model of one run.

        Args:
            contexts: `(m, j)` indices of the last symbols, j >= 0; only the last n - 1 matter.

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
        """Return the probability of each symbol given the symbols before it in its row, `(*runs, m, length)`."""
        size, length = len(self.alphabet), tokens.shape[1]
        keys = tokens.copy()
        p = np.full(self.tables[0].of(keys).shape, 1.0 / size)
        for k in range(1, min(self.n, length) + 1):
            if k > 1:
                keys[:, k - 1 :] += tokens[:, : length - k + 1] * size ** (k - 1)
            order_keys = keys[:, k - 1 :]
            count, context = self.tables[k - 1].of(order_keys), self.contexts[k - 1].of(order_keys // size)
            updated = p[..., k - 1 :]
            updated *= self.smoothing
            updated += count
            updated /= context + self.smoothing
        return p


def planted_probability(
    texts: Sequence[str], record: str, prefix: str, suffix: str, *, n: ArrayLike, copies: ArrayLike,
    smoothing: float = 0.1
) -> Floats:  # fmt: skip
    """Return Pr[suffix | prefix] by exact models, after a record was planted in the texts.

    Args:
        texts: texts without the record.
        record: the planted text, which holds prefix and suffix.
        prefix, suffix: the query to the model, and the secret that follows it.
        n: `(a,)` orders of the models.
        copies: `(b,)` numbers of planted copies, >= 0; 0 for the probability without the record.
        smoothing: smoothing of the models.

    Returns:
        Shape `(a, b)`.
    """
    orders, n_copies = np.atleast_1d(n), np.atleast_1d(copies)
    alphabet = Alphabet.of([*texts, record])
    probabilities = np.empty((len(orders), len(n_copies)))
    for i, order in enumerate(orders.tolist()):
        for j, number in enumerate(n_copies.tolist()):
            model = NGramModel.fit([*texts, *[record] * number], order, alphabet, smoothing=smoothing)
            probabilities[i, j] = np.exp(model.conditional(prefix, [suffix])[0])
    return probabilities
