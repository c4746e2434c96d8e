"""Texts that a language model writes by itself: by chance, or the likeliest ones."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...mechanisms.errors import ParameterError
from ...mechanisms.queries.base import Floats
from ...mechanisms.text.alphabet import Tokens
from ...mechanisms.text.model import NGramModel
from ...mechanisms.validation import positive, whole


@dataclass(frozen=True)
class Sampling:
    """Symbol after symbol by chance, after a prompt.

    Args:
        length: symbols of each text, the prompt included, >= 1.
        top_k: only so many likeliest symbols are drawn from at each place; None: all.
        temperature: probabilities to the power 1 / temperature are drawn from; below 1 the likely ones gain, > 0.

    Example:
        >>> model = NGramModel.fit(["abababab"], n=2, smoothing=1e-3)
        >>> Sampling(6, top_k=1).texts(model, 1, np.random.default_rng(0), prompt="a")
        ['ababab']
    """

    length: int
    _: KW_ONLY
    top_k: int | None = None
    temperature: float = 1.0

    def __post_init__(self) -> None:
        whole(1, length=self.length)
        positive(temperature=self.temperature)
        if self.top_k is not None:
            whole(1, top_k=self.top_k)

    def texts(
        self, model: NGramModel | Continuations, size: int, rng: np.random.Generator, *, prompt: str = ""
    ) -> list[str]:
        """`size` texts, each with the prompt at its start.

        Args:
            model: of one run; or its `Continuations` under these options, kept from an earlier call, which is faster.
            size: >= 1.
            rng: the only source of randomness.
            prompt: shorter than `length`.
        """
        whole(1, size=size)
        after = model if isinstance(model, Continuations) else Continuations(model, self)
        rows = np.tile(_prompt(after.model, prompt, self.length), (size, 1))
        while rows.shape[1] < self.length:
            rows = np.column_stack([rows, after.drawn(rows, rng)])
        return [after.model.alphabet.decode(row) for row in rows.tolist()]

    def weights(self, p: Floats) -> Floats:
        """Weights that symbols are drawn with, for rows of probabilities `(m, n_symbols)`."""
        if self.top_k is not None and self.top_k < p.shape[1]:
            least = np.partition(p, -self.top_k, axis=1)[:, -self.top_k, None]
            p = np.where(p >= least, p, 0.0)
        return np.asarray((p / p.max(axis=1, keepdims=True)) ** (1.0 / self.temperature))


class Continuations:
    """What comes next after each context that has occurred so far; most occur again and again.

    Args:
        model: of one run.
        sampling: how symbols are drawn.
    """

    def __init__(self, model: NGramModel, sampling: Sampling) -> None:
        self.model, self._sampling = model, sampling
        self._known: dict[bytes, Floats] = {}

    def drawn(self, rows: Tokens, rng: np.random.Generator) -> Tokens:
        """One symbol after each row `(m, length)`, by inversion of the distribution function."""
        steps = self._after(rows[:, max(0, rows.shape[1] - self.model.n + 1) :])
        found = (rng.random(len(rows))[:, None] * steps[:, -1:] >= steps).sum(axis=1)
        return np.asarray(np.minimum(found, steps.shape[1] - 1), dtype=np.int64)

    def _after(self, contexts: Tokens) -> Floats:
        """Cumulated weights after each context, `(m, n_symbols)`."""
        names = [context.tobytes() for context in np.ascontiguousarray(contexts)]
        new = {name: i for i, name in enumerate(names) if name not in self._known}
        if new:
            weights = self._sampling.weights(self.model.next_symbol(contexts[list(new.values())]))
            self._known |= dict(zip(new, np.cumsum(weights, axis=1), strict=True))
        return np.array([self._known[name] for name in names])


def beam_search(model: NGramModel, length: int, *, width: int, prompt: str = "") -> tuple[list[str], Floats]:
    """The likeliest continuations of a prompt, as far as a beam of so many texts finds them.

    Args:
        model: of one run.
        length: symbols of each text, the prompt included.
        width: texts that are kept after each symbol, >= 1. With as many as there are texts it is exact.
        prompt: shorter than `length`.

    Returns:
        Texts, and the log probability of each after the prompt, the likeliest first.

    Example:
        >>> model = NGramModel.fit(["the pin is 4711", "the sky is blue"], n=6)
        >>> beam_search(model, 15, width=3, prompt="the pin is ")[0][0]
        'the pin is 4711'
    """
    whole(1, length=length, width=width)
    rows, scores = _prompt(model, prompt, length)[None, :], np.zeros(1)
    while rows.shape[1] < length:
        every = scores[:, None] + np.log(model.next_symbol(rows))
        best = np.argsort(-every.ravel(), kind="stable")[:width]
        rows = np.column_stack([rows[best // every.shape[1]], best % every.shape[1]])
        scores = every.ravel()[best]
    return [model.alphabet.decode(row) for row in rows.tolist()], scores


def _prompt(model: NGramModel, prompt: str, length: int) -> Tokens:
    tokens = model.alphabet.encode([prompt]).tokens
    if len(tokens) >= length:
        raise ParameterError(
            f"length must be larger than the prompt, which has {len(tokens)} symbols, but is {length}.",
            argument="length",
        )
    return tokens
