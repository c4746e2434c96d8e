"""Alphabets of texts: characters or words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core import Ints, ParameterError

Tokens = Ints
"""Indices of symbols, from 0 to the size of the alphabet - 1."""


@dataclass(frozen=True)
class Alphabet:
    """Fixed and public alphabet of texts: characters, or words separated by spaces.

    Args:
        symbols: a string of distinct characters, or a sequence of distinct words without spaces; at least 2.

    Raises:
        ParameterError: fewer than two symbols, a repeated symbol, or a word that is empty or holds a space.

    Example:
        >>> Alphabet("abc").encode(["cab"]).tokens.tolist(), Alphabet("abc").decode([2, 0, 1])
        ([2, 0, 1], 'cab')
        >>> Alphabet(("call", "me")).encode(["call me", "me"]).tokens.tolist()
        [0, 1, 1]
    """

    symbols: str | tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.symbols, str):
            object.__setattr__(self, "symbols", tuple(self.symbols))
        known = list(self.symbols)
        strings = all(isinstance(symbol, str) for symbol in known)
        if not strings or len(known) < 2 or len(set(known)) < len(known):
            raise ParameterError(
                f"alphabet must be a string of at least two different characters, or a sequence of at least two "
                f"different words, but is {self.symbols!r}.",
                argument="alphabet",
            )
        if not self.of_characters and any(word.split() != [word] for word in known):
            raise ParameterError(
                f"the words of the alphabet must be neither empty nor hold spaces, but are {self.symbols!r}.",
                argument="alphabet",
            )

    @classmethod
    def of(cls, texts: Sequence[str], *, words: bool = False) -> Alphabet:
        """Return the alphabet of the characters, or words, of public texts; those of private texts are private."""
        symbols = {symbol for text in texts for symbol in (text.split() if words else text)}
        return cls(tuple(sorted(symbols)) if words else "".join(sorted(symbols)))

    def __len__(self) -> int:
        return len(self.symbols)

    @property
    def of_characters(self) -> bool:
        """True if the symbols are characters, False if they are words."""
        return isinstance(self.symbols, str)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {symbol: i for i, symbol in enumerate(self.symbols)}

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Return texts as indices of symbols.

        Raises:
            ParameterError: not a collection of strings, or a symbol that the alphabet lacks.
        """
        wrong = isinstance(texts, str) or not all(isinstance(text, str) for text in texts)
        if wrong:
            raise ParameterError(f"texts must be a collection of strings, but are {texts!r}.", argument="texts")
        split: list[Sequence[str]] = [text if self.of_characters else text.split() for text in texts]
        try:
            tokens = np.array([self._number[symbol] for text in split for symbol in text], dtype=np.int64)
        except KeyError as error:
            kind = "character" if self.of_characters else "word"
            raise ParameterError(
                f"texts must be made of the {len(self)} symbols of the alphabet, but hold the {kind} "
                f"{error.args[0]!r}. Add it to the alphabet, or remove it from the texts.",
                argument="texts",
            ) from None
        return Encoded(tokens, np.array([len(text) for text in split], dtype=np.int64))

    def decode(self, tokens: Sequence[int] | Tokens) -> str:
        """Return the text of a row of indices."""
        return ("" if self.of_characters else " ").join(self.symbols[i] for i in tokens)


@dataclass(frozen=True, eq=False)
class Encoded:
    """Concatenated texts as indices of symbols.

    Args:
        tokens: `(n_tokens,)` indices of all texts, one text after the other.
        lengths: `(n_texts,)` numbers of symbols.
    """

    tokens: Tokens
    lengths: Tokens

    def ngrams(self, n: int, n_symbols: int, most: int | None = None) -> Tokens:
        """Return the indices of the n-grams inside the texts, in order; only the first `most` of each text.

        The index of an n-gram is the number whose digits to the base `n_symbols` are its tokens, the first token first.
        """
        n_windows = len(self.tokens) - n + 1
        if n_windows <= 0:
            return np.empty(0, dtype=np.int64)
        keys = np.zeros(n_windows, dtype=np.int64)
        for j in range(n):
            keys = keys * n_symbols + self.tokens[j : j + n_windows]
        starts = np.cumsum(self.lengths) - self.lengths
        positions = np.arange(len(self.tokens)) - np.repeat(starts, self.lengths)
        remaining = np.repeat(self.lengths, self.lengths) - positions
        inside = remaining[:n_windows] >= n
        return keys[inside if most is None else inside & (positions[:n_windows] < most)]
