"""Log probabilities of texts under a model of a released text set: what somebody sees who has the release alone.

The model predicts each character from those before it, up to `ORDER` of them. Let a context of k characters occur n
times in the release, followed by u different characters, and c times by this one. Then

    Pr_k = (c + u Pr_{k-1}) / (n + u),    Pr_{-1} = 1 / (number of different characters + 1),

for the contexts that occur at all (Witten and Bell 1991, method C, interpolated). A text that stands in the release, in
whole or in parts, has large probabilities. The model reads the release and the texts, and no coin: the scores of an
audit with coins are a function of the release, which is all that the bound asks for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ...mechanisms.core import Floats, ParameterError

ORDER = 7
"""Largest number of characters from which the next one is predicted."""
_START = "\n"


def release_log_probabilities(texts: Sequence[str], release: Sequence[str]) -> list[Floats]:
    """Return the natural logarithm of the probability of each character of each text.

    Time grows with the length of the release, memory with that of the texts.

    Args:
        texts: the texts to score, such as all canaries, none empty.
        release: the released texts, at least one that is not empty.

    Raises:
        ParameterError: no text, an empty one, or a release without text.

    Example:
        >>> released = ["the key of Ada is 4711", "the key of Bob is 1234"]
        >>> in_, out = release_log_probabilities(["the key of Ada is 4711", "the key of Eve is 9283"], released)
        >>> bool(in_.sum() > out.sum() + 20.0)
        True
    """
    if not len(texts) or not all(texts):
        raise ParameterError("texts must hold one text or more, none empty.", argument="texts")
    if not any(release):
        raise ParameterError("release must hold one text or more that is not empty.", argument="release")
    needed = {context for text in texts for _, contexts in _positions(text) for context in contexts}
    followers: dict[str, Counter[str]] = {context: Counter() for context in needed}
    for text in release:
        whole = _START + text
        for t in range(1, len(whole)):
            for start in range(t, max(-1, t - ORDER - 1), -1):
                counts = followers.get(whole[start:t])
                if counts is None:
                    break  # no longer context is needed: the ends of a needed context are needed too
                counts[whole[t]] += 1
    n_symbols = len(set().union(*release, *texts))
    sizes = {context: (counts.total(), len(counts)) for context, counts in followers.items() if counts}

    def probability(symbol: str, contexts: Sequence[str]) -> float:
        found = 1.0 / (n_symbols + 1)
        for context in contexts:
            if context not in sizes:
                break
            n, n_different = sizes[context]
            found = (followers[context][symbol] + n_different * found) / (n + n_different)
        return found

    return [np.log([probability(*position) for position in _positions(text)]) for text in texts]


def _positions(text: str) -> list[tuple[str, list[str]]]:
    """Return each character, and the contexts before it, from the empty one to the longest."""
    whole = _START + text
    return [(whole[t], [whole[t - k : t] for k in range(min(t, ORDER) + 1)]) for t in range(1, len(whole))]


__all__ = ["ORDER", "release_log_probabilities"]
