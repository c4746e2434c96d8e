"""Intentionally broken PATE: votes that one record moves too far, or queries that are not accounted for."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtri

from ...accounting import ExactDP, GaussianDP, PureDP
from ...accounting.broken import Broken, certain_leak
from ...core.arrays import Bools, Floats, Ints
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs, example, known_law
from ...core.constraints import Flag, OpenUnit, PositiveInt
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from . import GNMax, LNMax, PrivateEpsilon
from .aggregator import Aggregator
from .confident import CheckedGNMax, ConfidentGNMax
from .data_dependent_epsilon import data_dependent
from .disjoint_parts import TeacherVotes
from .vote_counts import Counts, as_neighbours, moved_vote


@dataclass(frozen=True)
class SamePartForAll(Broken, TeacherVotes):
    """Broken: noisy votes of teachers that are all trained on the last part of the data.

    A record of that part moves all the votes, where it should move one.

    Example:
        >>> broken = SamePartForAll(rate=0.1)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 4)
        (0.1, 0.8318)
    """

    cause = "The loop that trains the teachers indexes the parts by the variable of another loop."
    source = "vanderschaarlab/mlforhealthlabpub, issue 29 (PATE-GAN)."
    correct_class = TeacherVotes

    def teachers(self, labels: Ints) -> Ints:
        """Return equal votes of all teachers: the label of the nearest record of the last part."""
        return np.repeat(labels[self.n_teachers - 1], self.n_teachers)

    def worst_case(self) -> Neighbours:
        """Return labels in which the nearest record of the last part is 0 on side 0, and 1 on side 1."""
        d0 = np.zeros(self.n_teachers, dtype=np.int64)
        d1 = d0.copy()
        d1[-1] = 1
        return Neighbours(d0, d1, self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve between no votes for label 1 and all."""
        pair = self.worst_case()
        return self.aggregator.guarantee_between(self.votes(pair.d0), self.votes(pair.d1))


MAX_ROUNDS = 14
"""Largest number of rounds whose 2^rounds outputs are enumerated."""


@dataclass(frozen=True)
class TeachersKept(Broken, TeacherVotes):
    """Broken: noisy votes of teachers that get new random parts in every round, and keep what they learned before.

    After some rounds most teachers have seen every record, so that one record moves most of the votes, where it
    should move one. With `refit` the teachers are retrained: then every round has disjoint parts, one record moves
    one vote, and the claim holds, as it does for the fixed parts of `TeacherVotes`.

    Args:
        rounds: number of rounds, >= 1; one round is correct.
        refit: True for the correct twin, whose teachers start again in every round.

    Example:
        >>> broken = TeachersKept(rate=0.5)
        >>> pair, rng = broken.worst_case(), np.random.default_rng(0)
        >>> broken.guarantee().epsilon(0.0), broken.drawn_votes(pair.d1, 1, rng)[..., 1].tolist()
        (5.0, [[1, 2, 3, 4, 4, 4, 5, 5, 5, 5]])
        >>> round(broken.exact_guarantee().epsilon(0.0), 2)
        20.93
    """

    cause = "The records are partitioned again in every round, and teacher j continues training on the j-th part."
    source = "vanderschaarlab/synthcity, issue 275 (PATE-GAN)."

    _: KW_ONLY
    rounds: PositiveInt = 10
    refit: Flag = False

    def twin(self) -> TeachersKept:
        """Return the same teachers, which start again in every round."""
        return replace(self, refit=True)

    def output_law(self) -> LogDensity | None:
        """Return None: the law of the outputs is computed for the worst case only."""
        return None

    def labels(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Ints:
        """Return the labels of `size` runs, `(size, rounds)`, each from newly drawn parts."""
        return self.aggregator.answers(self.drawn_votes(dataset, size, rng), size, rng)

    def drawn_votes(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Counts:
        """Return the votes of each run for each label in each round, `(size, rounds, 2)`."""
        labels = self.records(dataset)
        nearest = np.full((size, self.n_teachers), labels.size)
        votes = np.empty((size, self.rounds), dtype=np.int64)
        for t in range(self.rounds):
            order = rng.permuted(np.broadcast_to(np.arange(labels.size), (size, labels.size)), axis=1)
            part = order.reshape(size, self.n_teachers, labels.size // self.n_teachers).min(axis=2)
            nearest = part if self.refit else np.minimum(nearest, part)
            votes[:, t] = labels[nearest].sum(axis=1)
        return np.stack([self.n_teachers - votes, votes], axis=-1)

    def worst_case(self) -> Neighbours:
        """Return labels 0, except for the nearest record on side 1: every teacher that has seen it votes 1."""
        d0 = np.zeros(self.n_teachers, dtype=np.int64)
        d1 = d0.copy()
        d1[0] = 1
        return Neighbours(d0, d1, self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve from the law of all bit vectors on the worst case; None beyond 14 rounds.

        The number v of teachers that have seen the nearest record is a Markov chain: it moves to v + 1 with probability
        1 - v / n_teachers.
        """
        from scipy.stats import laplace

        if self.rounds > MAX_ROUNDS:
            return None
        n_seen = np.arange(self.n_teachers + 1)
        ones = laplace.sf(self.n_teachers / 2 - n_seen, scale=1.0 / self.rate)
        stay = np.where(n_seen == 1, 1.0, 0.0) if self.refit else n_seen / self.n_teachers
        law = np.zeros((1, self.n_teachers + 1))
        law[0, 0] = 1.0
        for _ in range(self.rounds):
            law = law * stay + np.pad(law * (1.0 - stay), ((0, 0), (1, 0)))[:, :-1]
            law = np.concatenate([law * (1.0 - ones), law * ones])
        bit = ones[:1]
        law0 = np.ones(1)
        for _ in range(self.rounds):
            law0 = np.concatenate([law0 * (1.0 - bit), law0 * bit])
        return ExactDP(law0, law.sum(axis=1), relation=self.relation)


@dataclass(frozen=True)
class VoteScaleInverse(Broken, TeacherVotes):
    """Broken: noisy votes with Laplace noise of scale `rate`, which should be 1 / rate.

    The claim is `rate` per round, but the votes are 1 / rate-DP: too little noise for rates below 1, correct at 1.

    Example:
        >>> broken = VoteScaleInverse(rate=0.1)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 9)
        (0.1, 10.0)
    """

    cause = "The privacy parameter is passed to a function that expects a scale."
    source = "vanderschaarlab/mlforhealthlabpub, issue 36 (PATE-GAN)."
    correct_class = TeacherVotes

    @cached_property
    def aggregator(self) -> LNMax:
        """Noisy majority with noise of scale `rate`; should be 1 / rate."""
        return LNMax(1.0 / self.rate, draws="one", n_teachers=self.n_teachers, n_classes=2, n_queries=self.rounds)

    def guarantee(self) -> Guarantee:
        """Return `PureDP(rate * rounds)`, the claim of `TeacherVotes`."""
        return PureDP(self.rate * self.rounds, relation=self.relation)


@dataclass(frozen=True)
class AbstentionNotAccounted(Broken, ConfidentGNMax):
    """Broken: Confident-GNMax whose claim counts only the queries that were answered.

    An abstention is the result of a noisy check of the votes, too. The claim is that of max_answers checks and
    answers; n_queries checks are made.

    Where a check passes with a small probability, z standard deviations into the tail, a moved vote changes that
    probability by a factor of about e^(z / check_deviation). The number of queries until max_answers have passed is the
    sum of max_answers geometric variables: its logarithm moves by z / check_deviation, with a standard deviation of
    about 1 / sqrt(max_answers). That is z times as far as is accounted for. The exact curve includes all outcomes.

    Args:
        max_answers: number of answers that the claim accounts for, >= 1, less than n_queries.

    Example:
        >>> broken = AbstentionNotAccounted(200.0, 3.0, 30.0, n_queries=500)
        >>> claim, exact, correct = broken.guarantee(), broken.exact_guarantee(), ConfidentGNMax.guarantee(broken)
        >>> [round(guarantee.epsilon(1e-5), 3) for guarantee in (claim, exact, correct)]
        [3.16, 6.573, 58.786]
    """

    _example = example(check_deviation=1.0, n_queries=5, max_answers=1)

    cause = "The accountant counts a query only when a label is released."
    source = "Constructed; the accounting of Papernot et al. (2018) without the failed checks."
    correct_class = ConfidentGNMax

    _: KW_ONLY
    max_answers: int | None = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_answers is None or self.max_answers >= self.n_queries:
            raise ParameterError(
                f"max_answers must be below n_queries = {self.n_queries}, or every query is accounted for, but is "
                f"{self.max_answers}.",
                argument="max_answers",
            )

    @property
    def worst_lead(self) -> int:
        """Lead at which a check passes about max_answers times in n_queries."""
        assert self.max_answers is not None
        votes = self.threshold + self.check_deviation * float(ndtri(self.max_answers / self.n_queries))
        return max(0, math.floor(2.0 * votes) - self.n_teachers)

    def guarantee(self) -> Guarantee:
        """Return `GaussianDP(sqrt(2 rho))` with the rho of max_answers checks and answers."""
        assert self.max_answers is not None
        rho = 1.0 / (2.0 * self.check_deviation**2) + 1.0 / self.answer_deviation**2
        return GaussianDP(math.sqrt(2.0 * self.max_answers * rho), self.relation, exact=False)


@dataclass(frozen=True)
class CheckWithoutNoise(Broken, CheckedGNMax):
    """Broken: GNMax on the queries on which at least `threshold` teachers agree, counted without noise.

    A single vote can decide whether there is an answer: epsilon is infinite, and one query distinguishes the sides
    with certainty. The claim is that of the answers. `ConfidentGNMax` is correct: its check has noise, and is
    accounted for.

    Args:
        threshold: number of votes, more than half of n_teachers and at most all.
        check_deviation: standard deviation of the noise that the check should have; not used.
        answer_deviation: standard deviation of the noise of the answers, > 0.
        n_teachers, n_classes, n_queries: as for `ConfidentGNMax`.

    Example:
        >>> broken = CheckWithoutNoise(200.0, 150.0, 40.0, n_queries=5)
        >>> round(broken.guarantee().epsilon(1e-5), 4), broken.exact_guarantee().epsilon(1e-5)
        (0.2637, inf)
    """

    cause = "The check only selects queries, so that its cost is left out."
    source = "Constructed; the check of Papernot et al. (2018) without its noise."
    correct_class = ConfidentGNMax

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.n_teachers / 2 < self.threshold <= self.n_teachers:
            raise ParameterError(
                f"threshold must be above half of n_teachers = {self.n_teachers} and at most all, but is "
                f"{self.threshold:g}.",
                argument="threshold",
            )

    @property
    def worst_lead(self) -> int:
        """Largest lead at which the check fails: one vote is missing."""
        return 2 * (math.ceil(self.threshold) - 1) - self.n_teachers

    def passes(self, counts: Counts, size: int, rng: np.random.Generator) -> Bools:
        """Return True where at least `threshold` teachers agree, equal in every run."""
        return np.broadcast_to(self.support(counts) >= self.threshold, (size, self.n_queries))

    def log_passes(self, counts: Counts) -> tuple[Floats, Floats]:
        """Return the log probabilities of passing and failing: 0 and -inf, or -inf and 0."""
        above = np.where(self.support(counts) >= self.threshold, np.inf, -np.inf)
        return log_ndtr(above), log_ndtr(-above)

    def guarantee(self) -> Guarantee:
        """Return `GaussianDP(sqrt(2 n_queries) / answer_deviation)`: the guarantee of the answers without the check."""
        return GaussianDP(math.sqrt(2.0 * self.n_queries) / self.answer_deviation, self.relation, exact=False)


_VOTE_TOLERANCE = 1e-12


@dataclass(frozen=True)
class EpsilonOfVotes(Broken, Mechanism):
    """Broken: noisy labels, released with their data-dependent epsilon on the actual votes.

    A moved vote changes epsilon: the number distinguishes two tables of votes, and the true epsilon is infinite. The
    claim is that of the labels. `PrivateEpsilon` is correct: it releases the number with noise, and accounts
    for it; the data-independent claim can be released exactly.

    Args:
        aggregator: mechanism that releases the labels; the twin takes only those with Gaussian noise.
        delta: delta of the released epsilon, in (0, 1).

    Example:
        >>> from dpassay.mechanisms.literature.pate import GNMax
        >>> broken = EpsilonOfVotes(GNMax(40.0, n_classes=2, n_queries=200))
        >>> pair, rng = broken.worst_case(), np.random.default_rng(0)
        >>> [round(float(broken.release(d, 1, rng).values[0, -1]), 3) for d in (pair.d0, pair.d1)]
        [2.513, 2.414]
        >>> round(broken.guarantee().epsilon(1e-5), 3), broken.exact_guarantee().epsilon(1e-5)
        (1.993, inf)
    """

    _example = example(aggregator=GNMax(40.0, n_classes=2, n_queries=20))

    cause = "The data-dependent epsilon, a function of the votes without noise, is reported like any other."
    source = "Constructed; Papernot et al. (2018) release this number with noise."
    correct_class = PrivateEpsilon

    aggregator: Aggregator
    _: KW_ONLY
    delta: OpenUnit = 1e-5
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.aggregator, Aggregator):
            raise ParameterError(
                argument="aggregator", value=self.aggregator, allowed="be an aggregator of votes, such as GNMax(40.0)"
            )

    def epsilon(self, dataset: Dataset) -> float:
        """Return the data-dependent epsilon of these votes."""
        return data_dependent(self.aggregator, dataset).epsilon(self.delta)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return labels, and in the last column epsilon, shape `(size, n_queries + 1)`."""
        labels = self.aggregator.release(dataset, size, rng).values
        return Outputs(np.column_stack([labels, np.full(size, self.epsilon(dataset))]))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output, `(size,)`; -inf where epsilon is not that of these votes."""
        values = outputs.values
        law = known_law(self.aggregator)
        labels = law.log_density(Outputs(values[:, :-1]), dataset)
        return np.where(np.abs(values[:, -1] - self.epsilon(dataset)) < _VOTE_TOLERANCE, labels, -np.inf)

    def guarantee(self) -> Guarantee:
        """Return the guarantee of the labels."""
        return self.aggregator.guarantee()

    def worst_case(self) -> Neighbours:
        """Return identical queries, with votes for two labels, where a moved vote changes epsilon most."""
        base = self.aggregator
        pairs = [
            moved_vote(base.n_queries, base.n_classes, base.n_teachers, lead) for lead in range(0, base.n_teachers, 2)
        ]
        jumps = [abs(self.epsilon(votes0) - self.epsilon(votes1)) for votes0, votes1 in pairs]
        return as_neighbours(pairs[int(np.argmax(jumps))], self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the curve of a complete leak: the two epsilons of the worst case differ."""
        return certain_leak(self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        self.aggregator.bind(neighbours)
