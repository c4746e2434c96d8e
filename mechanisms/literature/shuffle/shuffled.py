"""A local mechanism of n users, whose messages are released in random order."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, xlogy

from ...accounting import ClonesDP, ExactDP
from ...accounting.numerics.binomial import binomial_logs, convolved_logs, log_orders
from ...core.arrays import Floats, Ints
from ...core.base import Dataset, Mechanism, Neighbours, Outputs, example
from ...core.constraints import at_least
from ...core.errors import NeighboursError, ParameterError, plural
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...local.base import LocalMechanism
from ...local.randomized_response import RandomizedResponse

_MAX_MESSAGES = 4096
_MAX_HISTOGRAMS = 1_000_000
_MAX_BLOCK_ENTRIES = 2_000_000
"""Largest number of integers in the messages in memory at once."""


@dataclass(frozen=True)
class Shuffled(Mechanism):
    """A local mechanism run once by each of n users, whose messages are released anonymously in random order.

    The output is the count of each message, which is equivalent to the messages in random order. The dataset is the
    users' values, `(n_users,)`. Anonymity is not privacy by itself; it amplifies the guarantee of the local mechanism,
    and only if no message identifies its sender.

    Args:
        randomizer: a local mechanism with at most 4096 possible messages, whose guarantee is pure.
        n_users: number of users, >= 2.

    Guarantees:
        * `ClonesDP(local epsilon, n_users)` under `replace_one`: the theorem for all local mechanisms, an upper bound
          for each of them.
        * `exact_guarantee()`: the law of one user's two values among others who all hold the same third value (one of
          the two, if there is no third), summed over all counts; None if there are more than a million counts.
        * Densities are exact for two messages and any values, and for datasets in which all users but one hold the same
          value.

    References:
        Feldman, McMillan, Talwar (2021), "Hiding among the clones"; Cheu, Smith, Ullman, Zeber, Zhilyaev (2019) for
        the model.

    Example:
        >>> from dpassay.mechanisms import RandomizedResponse
        >>> mechanism = Shuffled(RandomizedResponse(1.0), n_users=10_000)
        >>> round(mechanism.guarantee().epsilon(1e-6), 4), round(mechanism.exact_guarantee().epsilon(1e-6), 4)
        (0.053, 0.0357)
        >>> mechanism.release(np.zeros(10_000), 3, np.random.default_rng(0)).values.shape
        (3, 2)
    """

    _example = example(randomizer=RandomizedResponse(0.8), n_users=5)

    randomizer: LocalMechanism
    n_users: Annotated[int, at_least(2)]
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.randomizer, LocalMechanism):
            raise ParameterError(
                f"randomizer must be a local mechanism, such as RandomizedResponse(1.0), but is {self.randomizer!r}.",
                argument="randomizer",
            )
        if self.randomizer.n_messages > _MAX_MESSAGES:
            raise ParameterError(
                f"{type(self.randomizer).__name__} has {self.randomizer.n_messages} possible messages, too many to "
                f"count each. Use a local mechanism with {_MAX_MESSAGES} at most.",
                argument="randomizer",
            )
        if not math.isfinite(self.randomizer.guarantee().epsilon(0.0)):
            raise ParameterError(
                f"randomizer must have a pure guarantee, but {type(self.randomizer).__name__} has epsilon = inf at "
                "delta = 0: the theorem does not apply to it.",
                argument="randomizer",
            )

    @cached_property
    def _channel(self) -> Floats:
        """Law of one message under each value, scaled to sum to 1."""
        channel = self.randomizer.channel()
        return np.asarray(channel / channel.sum(axis=1, keepdims=True))

    @cached_property
    def _keys(self) -> tuple[NDArray[np.void], Ints]:
        """Sorted keys of all messages, and their indices in `randomizer.messages()`."""
        keys = _keys_of(self.randomizer.messages().reshape(self.randomizer.n_messages, -1))
        order = np.argsort(keys)
        return keys[order], order

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the count of each message, in the order of `randomizer.messages()`: `(size, n_messages)`.

        Raises:
            ParameterError: the randomizer sent a message that is not one of its `messages()`.
        """
        values = self._values(dataset)
        counts = np.empty((size, self.randomizer.n_messages), dtype=np.int64)
        runs = max(1, _MAX_BLOCK_ENTRIES // (values.size * math.prod(self.randomizer.message_shape)))
        for start in range(0, size, runs):
            n = min(runs, size - start)
            counts[start : start + n] = self._counts(self.randomizer.release(values, n, rng).values)
        return Outputs(counts)

    def _counts(self, sent: NDArray[np.integer]) -> Ints:
        """Return the count of each message in each run of `(n_runs, n_users, *message_shape)`."""
        n_runs, n_messages = len(sent), self.randomizer.n_messages
        rows = sent.reshape(n_runs * self.n_users, -1)
        if self.randomizer.message_shape:
            sorted_keys, order = self._keys
            keys = _keys_of(rows)
            index = np.minimum(np.searchsorted(sorted_keys, keys), n_messages - 1)
            number, known = order[index], sorted_keys[index] == keys
        else:
            number = rows[:, 0].astype(np.int64)
            known = (rows[:, 0] >= 0) & (rows[:, 0] < n_messages)
        if not known.all():
            raise ParameterError(
                f"{type(self.randomizer).__name__} sent {rows[np.argmin(known)].tolist()}, which is none of its "
                f"{n_messages} messages. Correct its messages() or its release().",
                argument="randomizer",
            )
        run = np.repeat(np.arange(n_runs), self.n_users)
        return np.bincount(number + n_messages * run, minlength=n_messages * n_runs).reshape(n_runs, n_messages)

    def guarantee(self) -> Guarantee:
        """Return `ClonesDP` at the local epsilon."""
        return ClonesDP(self.randomizer.guarantee().epsilon(0.0), self.n_users, relation=self.relation)

    def worst_case(self) -> Neighbours:
        """Return a pair on which one user holds the values of the local worst case, and the others a third value.

        If there is no third value, the others hold the first.
        """
        pair = self.randomizer.worst_case()
        others = [v for v in range(self.randomizer.n_categories) if v not in (pair.d0, pair.d1)]
        d0 = np.full(self.n_users, others[0] if others else pair.d0)
        d1 = d0.copy()
        d0[0], d1[0] = pair.d0, pair.d1
        return Neighbours(d0, d1, self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        values0, values1 = self._values(neighbours.d0), self._values(neighbours.d1)
        counts0, counts1 = (np.bincount(v, minlength=self.randomizer.n_categories) for v in (values0, values1))
        if (moved := int(np.abs(counts0 - counts1).sum()) // 2) > 1:
            raise NeighboursError(
                f"both datasets must hold values of the same users, one of whom may differ, but at least {moved} do. "
                "Change one entry only.",
                argument="neighbours",
            )

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve on `worst_case()`; None if there are more than a million counts."""
        pair = self.worst_case()
        sent = Outputs(self.randomizer.messages())
        logs = [self.randomizer.log_density(sent, value) for value in (pair.d0[1], pair.d0[0], pair.d1[0])]
        mass, first, second = classes(*(log - logsumexp(log) for log in logs))
        counts = histograms(self.n_users, len(mass))
        if counts is None:
            return None
        common = log_orders(counts) + counts @ mass
        log0, log1 = (common + logsumexp(part - mass, b=counts, axis=1) for part in (first, second))
        return ExactDP.of_logs(log0 - logsumexp(log0), log1 - logsumexp(log1), relation=self.relation)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of the counts, shape `(size,)`; -inf if they do not sum to the users.

        Raises:
            ParameterError: more than two messages, and more than one user with a value other than the common one.
        """
        counts = outputs.values
        values, users = np.unique(self._values(dataset), return_counts=True)
        if counts.shape[1] == 2:
            log_p = self._of_two(counts, values, users)
        elif len(values) == 1 or (len(values) == 2 and users.min() == 1):
            common = int(np.argmax(users))
            log_p = self._with_one_other_value(counts, values[common], values[len(values) - 1 - common])
        else:
            raise ParameterError(
                f"the law of the shuffled messages of {type(self.randomizer).__name__} is computed only if all users "
                "but one hold the same value. Give such a dataset, or an attack that needs no densities, such as "
                "'classifier'."
            )
        possible = (counts >= 0).all(axis=1) & (counts.sum(axis=1) == self.n_users)
        return np.where(possible, log_p, -np.inf)

    def _of_two(self, counts: Ints, values: Ints, users: Ints) -> Floats:
        """Return the log probability for two messages: the count of the second is a sum of binomials, one per value."""
        law, sent = np.zeros(1), Outputs(self.randomizer.messages())
        for value, n in zip(values, users, strict=True):
            log_miss, log_hit = self.randomizer.log_density(sent, value)
            law = convolved_logs(law, binomial_logs(int(n), log_hit, log_miss))
        return np.asarray(law[np.clip(counts[:, 1], 0, self.n_users)])

    def _with_one_other_value(self, counts: Ints, common: int, other: int) -> Floats:
        """Return the log probability if all users but one hold `common`.

        The law if all held `common`, times the mean over the messages of Pr[message | other] / Pr[message | common]:
        each message may be that of the other user.
        """
        law, ratio = self._channel[common], self._channel[other] / self._channel[common]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(_log_multinomial(counts, law) + np.log(counts @ ratio / self.n_users))

    def _values(self, dataset: Dataset) -> Ints:
        values = self.randomizer.values(dataset)
        if values.shape != (self.n_users,):
            raise ParameterError(
                f"the dataset must hold the values of n_users = {plural(self.n_users, 'user')}, but has shape "
                f"{values.shape}: the guarantee depends on the number of users.",
                argument="n_users",
            )
        return values


def _log_multinomial(counts: Ints, law: Floats) -> Floats:
    """Return the log probability of counts `(size, n_messages)` of independent messages of one law, `(size,)`."""
    return np.asarray(log_orders(counts) + xlogy(counts, law).sum(axis=1))


def _keys_of(rows: NDArray[np.integer]) -> NDArray[np.void]:
    """Return each row of whole numbers as one key of bytes, which can be sorted and compared."""
    wide = np.ascontiguousarray(rows, dtype=np.int64)
    return wide.view(np.dtype((np.void, wide.itemsize * wide.shape[1]))).ravel()


def classes(common: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats, Floats]:
    """Return three laws on the same messages, with messages of equal likelihood ratios merged, without any loss.

    Takes log probabilities, each `(n_messages,)` and finite; returns log probabilities `(n_classes,)`.
    """
    ratios = np.round(np.stack([first - common, second - common], axis=1), 9)
    distinct, kind = np.unique(ratios, axis=0, return_inverse=True)
    merged = np.full((3, len(distinct)), -np.inf)
    for law, into in zip((common, first, second), merged, strict=True):
        np.logaddexp.at(into, kind.ravel(), law)
    return merged[0], merged[1], merged[2]


def histograms(n: int, kinds: int) -> Ints | None:
    """Return all counts of n messages of `kinds` kinds, `(n_ways, kinds)`; None if more than a million."""
    if math.comb(n + kinds - 1, kinds - 1) > _MAX_HISTOGRAMS:
        return None
    ways = np.zeros((1, 0), dtype=np.int64)
    for _ in range(kinds - 1):
        n_left = n - ways.sum(axis=1)
        repeated = np.repeat(ways, n_left + 1, axis=0)
        starts = np.repeat(np.cumsum(n_left + 1) - (n_left + 1), n_left + 1)
        ways = np.column_stack([repeated, np.arange(len(repeated)) - starts])
    return np.column_stack([ways, n - ways.sum(axis=1)])
