"""Symbols of texts: characters, or words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError

Tokens = NDArray[np.int64]
"""Numbers of symbols, from 0 to the size of the alphabet - 1."""


@dataclass(frozen=True)
class Alphabet:
    """What texts are made of, fixed and public: characters, or words with spaces between them.

    Args:
        symbols: a string of different characters, or a sequence of different words without spaces; 2 at least.

    Raises:
        ParameterError: fewer than two symbols, one that stands twice, or a word that is empty or holds a space.

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
                f"alphabet must be a string of at least two different characters, or as many different words, but is "
                f"{self.symbols!r}.",
                argument="alphabet",
            )
        if not self.of_characters and any(word.split() != [word] for word in known):
            raise ParameterError(
                f"the words of the alphabet must be neither empty nor hold spaces, but are {self.symbols!r}.",
                argument="alphabet",
            )

    @classmethod
    def of(cls, texts: Sequence[str], *, words: bool = False) -> Alphabet:
        """The characters, or the words, of texts that are public: those of private texts are a secret themselves."""
        seen = {symbol for text in texts for symbol in (text.split() if words else text)}
        return cls(tuple(sorted(seen)) if words else "".join(sorted(seen)))

    def __len__(self) -> int:
        return len(self.symbols)

    @property
    def of_characters(self) -> bool:
        """Whether the symbols are characters, not words."""
        return isinstance(self.symbols, str)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {symbol: i for i, symbol in enumerate(self.symbols)}

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Texts as numbers.

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
                f"{error.args[0]!r}. Add it to the alphabet, or take it out of the texts.",
                argument="texts",
            ) from None
        return Encoded(tokens, np.array([len(text) for text in split], dtype=np.int64))

    def decode(self, tokens: Sequence[int] | Tokens) -> str:
        """The text of a row of numbers."""
        return ("" if self.of_characters else " ").join(self.symbols[i] for i in tokens)


@dataclass(frozen=True, eq=False)
class Encoded:
    """Texts as numbers, one after the other.

    Args:
        tokens: `(n_tokens,)` of all texts.
        lengths: `(n_texts,)`.
    """

    tokens: Tokens
    lengths: Tokens

    def ngrams(self, n: int, n_symbols: int, most: int | None = None) -> Tokens:
        """Numbers of the n-grams inside the texts, in order; of each text the first `most` only.

        The number of an n-gram is what its tokens say as digits to the base `n_symbols`, the first token first.
        """
        n_windows = len(self.tokens) - n + 1
        if n_windows <= 0:
            return np.empty(0, dtype=np.int64)
        keys = np.zeros(n_windows, dtype=np.int64)
        for j in range(n):
            keys = keys * n_symbols + self.tokens[j : j + n_windows]
        starts = np.cumsum(self.lengths) - self.lengths
        place = np.arange(len(self.tokens)) - np.repeat(starts, self.lengths)
        left = np.repeat(self.lengths, self.lengths) - place
        inside = left[:n_windows] >= n
        return keys[inside if most is None else inside & (place[:n_windows] < most)]
