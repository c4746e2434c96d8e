"""Texts with the log probabilities of their tokens under a language model, checked.

Let m_t and s_t be mean and standard deviation of log Pr[z | tokens before t] for a token z drawn from the model. m_t is
minus the entropy of the model at t: an expectation under the model, not an average over the vocabulary. Since s_t^2 >=
Pr[z] (log Pr[z] - m_t)^2 for every token z, a log probability l_t is at most e^(-l_t / 2) standard deviations from m_t.
Moments that exceed this limit by more than rounding at more than `WRONG_MOMENTS` of the tokens are refused, such as
averages over the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...mechanisms.core import Floats, ParameterError, UnknownNameError, number
from .token_padding import IGNORED_VALUE, MASK_THRESHOLD, ZERO_MEANINGS, find_padding

POSITIVE_TOLERANCE = 1e-3
"""Largest log probability above 0 that counts as rounding (in half precision), and becomes 0."""
MIN_TEXT_LOG_PROBABILITY = -1e9
"""Smallest log probability of a whole text that is read."""
WRONG_MOMENTS = 0.01
"""Largest share of the tokens whose mean and standard deviation may contradict their probability, by rounding."""

Rows = tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class ScoredTexts:
    """Texts with the log probabilities of their tokens, as computed by a language model anywhere.

    All logarithms are natural. Fields are None if unknown; signals that need them are then not available.

    Args:
        log_probabilities: `(n_texts,)` arrays `(n_tokens,)`, each entry finite and <= 0. Padding at the ends of a text
            is cut here and in all arrays over the same tokens: token_padding.py.
        ids: `(n_texts,)` names, all different as text; None for 0, 1, ...
        texts: `(n_texts,)` strings, for zlib.
        reference_log_probabilities: `(n_texts,)` arrays, of any lengths: the reference may have other tokens.
        means, standard_deviations: `(n_texts,)` arrays `(n_tokens,)`, see `token_moments`.
        member: `(n_texts,)` booleans: whether each text was in the training data.
        prefix_tokens: `(n_texts,)` number of tokens that are given as a prompt, from 0 to n_tokens - 1; None for a text
            without a prompt.
        alternatives: `(n_texts,)` log probabilities of the other texts of the space that a canary was drawn from, each
            of the whole text; None for a text that is no canary.
        zeros: meaning of log probabilities of exactly 0 at one end of a text: "padding", "tokens" of probability 1, or
            "auto" to decide from the values.

    Attributes:
        padding: sentences on the padding that was cut.

    Raises:
        ParameterError: no texts, inconsistent lengths, values that cannot be log probabilities, or zeros that may be
            padding or tokens.

    Example:
        >>> texts = ScoredTexts([np.log([0.5, 0.25]), np.log([0.9, 0.9])], texts=["ab", "cd"])
        >>> texts.total.round(3)
        array([-2.079, -0.211])
    """

    log_probabilities: Sequence[ArrayLike]
    ids: Sequence[Any] | None = None
    texts: Sequence[str] | None = None
    reference_log_probabilities: Sequence[ArrayLike] | None = None
    means: Sequence[ArrayLike] | None = None
    standard_deviations: Sequence[ArrayLike] | None = None
    member: ArrayLike | None = None
    prefix_tokens: Sequence[int | None] | None = None
    alternatives: Sequence[ArrayLike | None] | None = None
    zeros: str = "auto"
    padding: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        n = len(self.log_probabilities)
        if n == 0:
            raise ParameterError(
                "log_probabilities must hold one array per text, but is empty.", argument="log_probabilities"
            )
        ids = tuple(map(str, range(n) if self.ids is None else self.ids))
        object.__setattr__(self, "ids", ids)
        for name in ("ids", "texts", "reference_log_probabilities", "means", "standard_deviations", "member",
                     "prefix_tokens", "alternatives"):  # fmt: skip
            values: Any = getattr(self, name)
            if values is not None and len(values) != n:
                raise ParameterError(f"{name} must have one entry per text, {n}, but has {len(values)}.", argument=name)
        _check_ids(ids)
        if self.zeros not in ZERO_MEANINGS:
            raise UnknownNameError("meaning of zeros", self.zeros, ZERO_MEANINGS)
        self._cut_padding()
        self._set("log_probabilities", _log_probabilities)
        self._set("reference_log_probabilities", _log_probabilities)
        self._set("alternatives", _log_probabilities)
        self._set_moments()
        self._set_member()
        self._check_texts()
        self._check_prefixes()
        self._check_constant()

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.log_probabilities)

    @property
    def names(self) -> tuple[str, ...]:
        """Ids of the texts."""
        assert self.ids is not None
        return tuple(self.ids)

    @property
    def tokens(self) -> Rows:
        """Log probabilities of the tokens, one array per text."""
        return tuple(np.asarray(row) for row in self.log_probabilities)

    @property
    def total(self) -> Floats:
        """Log probability of each whole text, `(n_texts,)`."""
        return np.array([row.sum() for row in self.tokens])

    @property
    def suffix_log_probability(self) -> Floats:
        """Log probability of each text after its prefix, `(n_texts,)`; NaN for texts without `prefix_tokens`."""
        prefixes = self.prefix_tokens or (None,) * len(self)
        return np.array(
            [math.nan if k is None else row[k:].sum() for row, k in zip(self.tokens, prefixes, strict=True)]
        )

    def _cut_padding(self) -> None:
        """Cut the positions at the ends of the texts that hold no token."""
        fields: dict[str, Any] = {
            name: getattr(self, name) for name in ("log_probabilities", "reference_log_probabilities")
        }
        moments = [values for values in self._moments if values is not None]
        for name, values in fields.items():
            if values is None:
                continue
            own = name == "log_probabilities"
            other = fields["reference_log_probabilities" if own else "log_probabilities"]
            found = find_padding(values, name, self.zeros, moments if own else (), () if other is None else other)
            for same in (name, "means", "standard_deviations") if own else (name,):
                if getattr(self, same) is not None:
                    object.__setattr__(self, same, found.cut(getattr(self, same)))
            if own and self.prefix_tokens is not None:
                prefixes = (self._cut_prefix(i, k, int(found.before[i])) for i, k in enumerate(self.prefix_tokens))
                object.__setattr__(self, "prefix_tokens", tuple(prefixes))
            object.__setattr__(self, "padding", (*self.padding, *found.statement(name)))

    def _cut_prefix(self, i: int, k: Any, before: int) -> Any:
        """Return the number of tokens of a prompt without the padding before it."""
        if k in (None, 0) or not before:
            return k
        if k < before:
            raise ParameterError(
                f"prefix_tokens must count the positions of the array, with the padding before the first token, but is "
                f"{k} for {self.names[i]!r}, which starts with {before} positions of padding. Cut the padding.",
                argument="prefix_tokens",
            )
        return k - before

    def _set(self, field: str, checked: Callable[[Any, str, str], Floats]) -> None:
        rows = getattr(self, field)
        if rows is not None:
            read = (
                None if row is None else checked(row, field, id_) for row, id_ in zip(rows, self.names, strict=True)
            )
            object.__setattr__(self, field, tuple(read))
            if field != "alternatives" and any(row is None for row in getattr(self, field)):
                raise ParameterError(f"{field} must have an array for every text.", argument=field)

    def _set_moments(self) -> None:
        if (self.means is None) != (self.standard_deviations is None):
            missing = "means" if self.means is None else "standard_deviations"
            raise ParameterError(
                f"{missing} must be given too: means and standard_deviations are used together.", argument=missing
            )
        self._set("means", _log_probabilities)
        self._set("standard_deviations", _numbers)
        if self.means is None or self.standard_deviations is None:
            return
        for id_, row, m, s in zip(self.names, self.tokens, self.means, self.standard_deviations, strict=True):
            _check_moments(id_, row, np.asarray(m), np.asarray(s))
        self._check_expectations()

    def _check_expectations(self) -> None:
        """Raise `ParameterError` if the moments cannot be expectations under the model."""
        tokens = np.concatenate(self.tokens)
        means, deviations = (np.concatenate(list(map(np.asarray, rows or ()))) for rows in self._moments)
        wrong = np.abs(tokens - means) > 1.25 * deviations * largest_z(tokens) + 0.05
        if wrong.mean() > WRONG_MOMENTS:
            raise ParameterError(
                "means and standard_deviations must be of the log probability of a token drawn from the model, but "
                f"contradict the log probability at {int(wrong.sum()):,} of {len(wrong):,} tokens: a token of "
                "probability p is at most p^(-1/2) standard deviations from the mean. Averages over the vocabulary do "
                "not weight by probability: see token_moments.",
                argument=("means", "standard_deviations"),
            )

    @property
    def _moments(self) -> tuple[Sequence[ArrayLike] | None, Sequence[ArrayLike] | None]:
        return self.means, self.standard_deviations

    def _set_member(self) -> None:
        if self.member is None:
            return
        member = np.asarray(self.member)
        if member.dtype.kind not in "biuf" or member.ndim != 1 or not np.isin(member, (0, 1)).all():
            raise ParameterError(
                "member must be True or False, or 1 and 0, for each text, but has other values.", argument="member"
            )
        object.__setattr__(self, "member", member.astype(np.bool_))

    def _check_texts(self) -> None:
        if self.texts is None:
            return
        for id_, text in zip(self.names, self.texts, strict=True):
            if not isinstance(text, str) or not text:
                raise ParameterError(
                    f"texts must be strings that are not empty, but that of {id_!r} is {text!r}.", argument="texts"
                )
        object.__setattr__(self, "texts", tuple(self.texts))

    def _check_prefixes(self) -> None:
        for id_, row, k in zip(
            self.names, self.tokens, self.prefix_tokens or (), strict=self.prefix_tokens is not None
        ):
            if k is not None and (isinstance(k, bool) or int(k) != k or not 0 <= k < len(row)):
                raise ParameterError(
                    f"prefix_tokens must be from 0 to {len(row) - 1} for {id_!r}, which has {len(row)} tokens, so that "
                    f"at least one follows, but is {k!r}.",
                    argument="prefix_tokens",
                )

    def _check_constant(self) -> None:
        loss = np.array([row.mean() for row in self.tokens])
        if len(loss) > 1 and np.ptp(loss) == 0.0:
            raise ParameterError(
                f"log_probabilities must differ between texts, but their mean is {loss[0]:.4g} for all {len(loss)} "
                "texts: the model was probably not evaluated.",
                argument="log_probabilities",
            )


def _check_ids(ids: tuple[str, ...]) -> None:
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        first = next(id_ for id_ in ids if id_ in seen or seen.add(id_))  # type: ignore[func-returns-value]
        raise ParameterError(f"ids must differ as text, but {first!r} occurs more than once.", argument="ids")


def _numbers(values: Any, field: str, id_: str) -> Floats:
    """Return a non-empty array of finite numbers."""
    try:
        row = np.asarray(values)
    except ValueError:
        row = np.empty(0, dtype=object)
    if row.dtype.kind not in "iuf" or row.ndim != 1 or row.size == 0:
        raise ParameterError(
            f"{field} must be a list of real numbers, at least one, but that of {id_!r} is {row.dtype} of shape "
            f"{row.shape}.",
            argument=field,
        )
    row = row.astype(np.float64)
    lowest = MIN_TEXT_LOG_PROBABILITY if field == "alternatives" else MASK_THRESHOLD
    unusable = ~(np.abs(row) < -lowest) | ((row == IGNORED_VALUE) & (field != "alternatives"))
    if unusable.any():
        place = int(np.flatnonzero(unusable)[0])
        mark = "" if field == "alternatives" else f", and not {number(IGNORED_VALUE)}, the mark of ignored positions"
        raise ParameterError(
            f"{field} must be finite, above {lowest:g}{mark}, but that of {id_!r} has {row[place]:g} at index {place}. "
            "Compute the log softmax in single or double precision; a token that is impossible for the model needs "
            "smoothing, and a position without a token is left out.",
            argument=field,
        )
    return row


def _log_probabilities(values: Any, field: str, id_: str) -> Floats:
    """Return finite numbers <= 0; rounding errors above 0 become 0."""
    row = _numbers(values, field, id_)
    above = row > POSITIVE_TOLERANCE
    if above.any():
        place = int(np.flatnonzero(above)[0])
        cause = "probabilities: take the natural logarithm" if (row <= 1.0).all() else "losses: change the sign"
        raise ParameterError(
            f"{field} must be natural logarithms of probabilities, <= 0, but that of {id_!r} has {row[place]:.4g} at "
            f"index {place}. These may be {cause}.",
            argument=field,
        )
    return np.minimum(row, 0.0)


def _check_moments(id_: str, tokens: Floats, means: Floats, deviations: Floats) -> None:
    for name, row in (("means", means), ("standard_deviations", deviations)):
        if row.shape != tokens.shape:
            raise ParameterError(
                f"{name} must have one entry per token, {len(tokens)} for {id_!r}, but has {len(row)}.", argument=name
            )
    if (deviations < 0.0).any():
        raise ParameterError(
            f"standard_deviations must be >= 0, but that of {id_!r} has {deviations.min():.4g}.",
            argument="standard_deviations",
        )


def largest_z(tokens: Floats) -> Floats:
    """Return the largest distance of tokens from the mean, in standard deviations: p^(-1/2)."""
    return np.exp(np.minimum(-0.5 * tokens, 20.0))


def token_moments(log_probabilities: ArrayLike) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the log probability of a token drawn from the model, for each position.

    Args:
        log_probabilities: `(..., n_tokens, vocabulary)` of all tokens that can follow, normalised; -inf is allowed.

    Returns:
        Two arrays `(..., n_tokens)`.

    Raises:
        ParameterError: probabilities that do not sum to 1.

    Example:
        >>> means, deviations = token_moments(np.log([[0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3]]))
        >>> means.round(4), deviations.round(4)
        (array([-1.0397, -1.0986]), array([0.3466, 0.    ]))
    """
    logs = np.asarray(log_probabilities, dtype=np.float64)
    p = np.exp(logs)
    total = p.sum(axis=-1) if logs.ndim else p
    if logs.ndim == 0 or not np.all(np.abs(total - 1.0) <= 1e-2):
        raise ParameterError(
            f"log_probabilities must be normalised over the vocabulary, the last axis, but have shape {logs.shape}, "
            f"and sums of probabilities from {np.min(total):.4g} to {np.max(total):.4g}. Apply log_softmax to logits.",
            argument="log_probabilities",
        )
    finite = np.where(p > 0.0, logs, 0.0)
    means = (p * finite).sum(axis=-1) / total
    variance = (p * (finite - means[..., None]) ** 2).sum(axis=-1) / total
    deviations = np.sqrt(variance)
    return np.minimum(means, 0.0), np.where(deviations < 1e-12, 0.0, deviations)
