"""The evidence that games produce and bounds read.

    distinguishing    run on d0 or on d1     PairScores, or PairCounts if there are too many for memory
    membership        a fair bit per canary  BitScores, one run or many
    reconstruction    draw a secret, guess   Successes

`Tally` is the common view: at each threshold, the number of scores of each side that reach it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...mechanisms.core.arrays import Bools, Floats, Ints
from ...mechanisms.core.constraints import NonNegativeInt, PositiveInt, UnitInterval, check_fields
from ...mechanisms.core.errors import ParameterError
from ...mechanisms.core.relation import Relation
from ...mechanisms.core.tensors import tensor_to_array
from ...mechanisms.core.validation import real_numbers

Counts = Ints


@dataclass(frozen=True, eq=False)
class Tally:
    """Hits of the events {score >= threshold} on both sides.

    Args:
        thresholds: `(m,)` strictly increasing; every score reaches the first one.
        hits_out: `(m,)` scores of side 0 at or above each threshold (false positives), non-increasing.
        hits_in: `(m,)` scores of side 1 at or above each threshold (true positives), non-increasing.
        n_out, n_in: scores on each side.
    """

    thresholds: Floats
    hits_out: Counts
    hits_in: Counts
    n_out: int
    n_in: int

    def thin(self, size: int, keep: float | None = None) -> Tally:
        """Return a tally of about `size` thresholds, evenly spread over the ranks; `keep` is kept if present."""
        if len(self.thresholds) <= size:
            return self
        ranks = np.linspace(0, self.n_out + self.n_in, size)
        rank = (self.n_out - self.hits_out) + (self.n_in - self.hits_in)
        chosen = np.unique(np.append(np.searchsorted(rank, ranks).clip(max=len(rank) - 1), len(rank) - 1))
        if keep is not None:
            chosen = np.union1d(chosen, np.flatnonzero(self.thresholds == keep))
        return Tally(self.thresholds[chosen], self.hits_out[chosen], self.hits_in[chosen], self.n_out, self.n_in)


@dataclass(frozen=True, eq=False)
class PairScores:
    """Scores of independent runs on the two sides, in the order in which they ran.

    Args:
        out: `(n_out,)` scores of side 0.
        in_: `(n_in,)` scores of side 1.
        are_log_ratios: True if the attack takes each score for the log likelihood ratio of its output. Only the choice
            of an event on pilot scores uses this.
    """

    out: Floats
    in_: Floats
    are_log_ratios: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("out", "in_"):
            scores = real_numbers(**{name: getattr(self, name)})
            if scores.ndim != 1:
                raise ParameterError(
                    f"{name} must be one score per run, shape (n,), but has shape {scores.shape}.", argument=name
                )
            if np.isnan(scores).any():
                raise ParameterError(
                    f"{name} holds NaN: give every run a score, including those with exceptional outputs.",
                    argument=name,
                )
            object.__setattr__(self, name, scores)

    @property
    def n_out(self) -> int:
        return len(self.out)

    @property
    def n_in(self) -> int:
        return len(self.in_)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of scores of side 0 and of side 1."""
        return self.n_out, self.n_in

    def hits(self, threshold: float) -> tuple[int, int]:
        """Return (false positives, true positives) of the event {score >= threshold}."""
        return int(np.count_nonzero(self.out >= threshold)), int(np.count_nonzero(self.in_ >= threshold))

    def exchanged(self) -> PairScores:
        """Return the scores with the sides exchanged."""
        return PairScores(self.in_, self.out)

    @cached_property
    def ordered(self) -> tuple[Floats, Floats]:
        """Both sides in increasing order."""
        return np.sort(self.out), np.sort(self.in_)

    @cached_property
    def tally(self) -> Tally:
        """Hits at every distinct score."""
        pooled = np.concatenate(self.ordered)
        order = np.argsort(pooled, kind="stable")  # merges the two ordered sides in linear time
        pooled = pooled[order]
        first = np.concatenate([np.ones(min(1, len(pooled)), dtype=bool), pooled[1:] != pooled[:-1]])
        below = np.flatnonzero(first)
        below_in = np.concatenate([[0], np.cumsum(order >= self.n_out)])[below]
        return Tally(pooled[below], self.n_out - (below - below_in), self.n_in - below_in, self.n_out, self.n_in)

    def thinned(self, size: int, keep: float | None = None) -> Tally:
        """Return the hits at about `size` thresholds, evenly spread over the ranks of both sides, and at `keep`.

        The result is similar to `tally.thin`, without the full tally, which takes longer than the trials.
        """
        if self.n_out + self.n_in <= size:
            return self.tally.thin(size, keep)
        spread = [side[np.linspace(0, len(side) - 1, size // 2).astype(np.int64)] for side in self.ordered if len(side)]
        return self._tally_at(np.unique(np.concatenate(spread + ([] if keep is None else [np.array([keep])]))))

    def _tally_at(self, thresholds: Floats) -> Tally:
        out, in_ = self.ordered
        hits_out, hits_in = (len(side) - np.searchsorted(side, thresholds) for side in (out, in_))
        return Tally(thresholds, hits_out, hits_in, len(out), len(in_))


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Hits on a grid of thresholds that was fixed on the pilot, so that memory does not grow with the trials."""

    tally: Tally

    @property
    def n_out(self) -> int:
        return self.tally.n_out

    @property
    def n_in(self) -> int:
        return self.tally.n_in

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of scores of side 0 and of side 1."""
        return self.n_out, self.n_in

    def exchanged(self) -> PairCounts:
        """Return the counts with the sides exchanged."""
        counts = self.tally
        return PairCounts(Tally(counts.thresholds, counts.hits_in, counts.hits_out, counts.n_in, counts.n_out))

    def thinned(self, size: int, keep: float | None = None) -> Tally:
        """Return `Tally.thin` of the tally."""
        return self.tally.thin(size, keep)

    def hits(self, threshold: float) -> tuple[int, int]:
        """Return (false positives, true positives) of {score >= threshold}; the threshold must be on the grid."""
        index = int(np.searchsorted(self.tally.thresholds, threshold))
        if index == len(self.tally.thresholds) or self.tally.thresholds[index] != threshold:
            raise ParameterError(
                f"threshold {threshold!r} is not on the grid that these scores were counted on.", argument="threshold"
            )
        return int(self.tally.hits_out[index]), int(self.tally.hits_in[index])


Scores = PairScores | PairCounts


@dataclass(frozen=True, eq=False)
class BitScores:
    """Scores of tossed bits: canaries that were in or out of a run, or records with one of two values.

    One run with many bits, or many runs. Each bit is an independent fair coin, tossed and recorded before its run. A
    score may depend on the output of its run and on public data (the canaries, earlier outputs), never on a bit.
    Canaries may be crafted, may be similar, and may influence each other's scores; runs draw independent randomness.

    Args:
        bits: `(n_runs, n_canaries)`, or `(n_canaries,)` for one run; True where the canary was in the run.
        scores: scores of the same shape, higher = in; infinite values are allowed, NaN is not.
        relation: relation of two datasets that differ in one bit: "add_remove" if a canary is present or absent,
            "replace_one" if a record has one of two values.

    Example:
        >>> one_run = BitScores(bits=[True, False, True], scores=[2.0, -1.0, 0.5])
        >>> one_run.n_runs, one_run.n_canaries, one_run.n_bits
        (1, 3, 3)
    """

    bits: Bools
    scores: Floats
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))
        bits, scores = np.asarray(tensor_to_array(self.bits)), real_numbers(scores=self.scores)
        if bits.ndim == 1 and scores.ndim == 1:  # one run
            bits, scores = bits[None, :], scores[None, :]
        if bits.ndim != 2 or bits.size == 0:
            raise ParameterError(
                f"bits must have shape (n_runs, n_canaries), or (n_canaries,) for one run, but has shape {bits.shape}.",
                argument="bits",
            )
        if bits.dtype != np.bool_ and (bits.dtype.kind == "c" or not np.isin(bits, (0, 1)).all()):
            raise ParameterError(
                "bits must be True (in) and False (out), or 1 and 0, but there are other values.", argument="bits"
            )
        if scores.shape != bits.shape:
            raise ParameterError(
                f"scores must have the shape of bits, {bits.shape}, but has shape {scores.shape}.", argument="scores"
            )
        if np.isnan(scores).any():
            raise ParameterError(
                "scores holds NaN: give every canary a score, including those of exceptional outputs.",
                argument="scores",
            )
        object.__setattr__(self, "bits", bits.astype(np.bool_))
        object.__setattr__(self, "scores", scores)

    @property
    def n_runs(self) -> int:
        return len(self.bits)

    @property
    def n_canaries(self) -> int:
        """Number of canaries in one run."""
        return int(self.bits.shape[1])

    @property
    def n_bits(self) -> int:
        """Number of bits of all runs together."""
        return int(self.bits.size)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of bits of all runs together, as a tuple."""
        return (self.n_bits,)

    def thinned(self, size: int, keep: float | None = None) -> Tally:
        """Return a tally of the canaries that were out (side 0) and in (side 1), at about `size` thresholds.

        The scores of one run are not independent, so bounds for runs on a pair are invalid for this tally.
        """
        return PairScores(out=self.scores[~self.bits], in_=self.scores[self.bits]).thinned(size, keep)


@dataclass(frozen=True)
class Successes:
    """Successful reconstructions in independent rounds, each with a fresh secret, a fresh run and one guess.

    Args:
        n_success: number of rounds with a guess within the tolerance that was fixed beforehand.
        n_runs: number of all rounds, including those with an exceptional output; >= 1.
        prior_success: best success without the output, in (0, 1]: the largest probability, over all guesses, that a
            secret drawn from the prior lies within the tolerance of the guess.
        uniform_on: number of candidates, with datasets that are neighbours of each other, on which the secret is
            uniform; 0 if there are no such candidates, None if unknown.
    """

    n_success: NonNegativeInt
    n_runs: PositiveInt
    prior_success: UnitInterval
    uniform_on: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.n_success > self.n_runs:
            raise ParameterError(
                f"n_success must be at most n_runs = {self.n_runs}, but is {self.n_success}.", argument="n_success"
            )
        if self.prior_success == 0.0:
            raise ParameterError(
                "prior_success must be above 0, but is 0: some guess comes close by chance. Widen the tolerance.",
                argument="prior_success",
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of rounds, as a tuple."""
        return (self.n_runs,)

    def thinned(self, size: int, keep: float | None = None) -> Tally:
        """Return a tally with one event on side 1, {the guess is close enough}; there are no runs on side 0."""
        out, in_ = np.zeros(2, dtype=np.int64), np.array([self.n_runs, self.n_success])
        return Tally(np.array([0.0, 1.0]), out, in_, 0, self.n_runs)
