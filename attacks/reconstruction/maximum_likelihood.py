"""The most probable secret, given the output: the optimal guess if the law of the outputs is known."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import AttackError, Dataset, Floats, Ints, LogDensity, Outputs
from ...mechanisms.local.base import LocalMechanism
from ..distinguishing.likelihood_ratio import required_law
from .base import FairBits, Guesser, OneOf, Reconstructor, SecretTarget

MAX_BITS = 10
"""Largest number of bits of which all 2^n columns are compared; local mechanisms take any number."""


@dataclass(frozen=True)
class MaximumLikelihood(Reconstructor):
    """Guess of the candidate with the largest likelihood, or posterior probability if the prior is not uniform.

    For a `OneOf` it is the guess with the largest posterior probability of being correct: argmax over g of the sum of
    prior(z) p(output | z) over the truths z that g is close to (Bayes; Balle, Cherubin and Hayes 2022, section 3).
    For `FairBits` the score of a bit is its posterior log odds, over all 2^n columns; under a local mechanism, where
    each message depends on one record only, those of its message. It reads `mechanism.output_law()` and learns
    nothing.

    Raises:
        AttackError: the output law of the mechanism is not known, or there are more than 10 bits that are not released
            one by one.

    Guarantees:
        * no other guess is correct more often, if `output_law` is the law that `release` draws from;
        * of equally probable guesses the first is returned.

    Example:
        >>> from dpassay.mechanisms import KAryRandomizedResponse
        >>> target = SecretTarget(KAryRandomizedResponse(epsilon=1.0, k=3), OneOf((0, 1, 2), prior=[0.2, 0.1, 0.7]))
        >>> guesser = MaximumLikelihood().fit(target, np.random.default_rng(0))
        >>> guesser.guess(Outputs(np.array([0, 1, 2]))).tolist()
        [2, 2, 2]
    """

    def check(self, target: SecretTarget) -> None:
        _law_of(target)
        local = isinstance(target.mechanism, LocalMechanism)
        if isinstance(target.secret, FairBits) and target.secret.n > MAX_BITS and not local:
            raise AttackError(
                f"the maximum-likelihood attack compares all columns of bits, of at most {MAX_BITS} bits, but the "
                f"secret has {target.secret.n}. Take fewer, or another attack."
            )

    def fit(self, target: SecretTarget, rng: np.random.Generator) -> Guesser:
        self.check(target)
        law, secret = _law_of(target), target.secret
        if isinstance(secret, FairBits) and isinstance(target.mechanism, LocalMechanism):
            zeros, ones = (target.mechanism.values(values) for values in (secret.zeros, secret.ones))
            return _LikeliestOfEach(law, zeros, ones)
        if isinstance(secret, FairBits):
            columns = np.array(list(product([False, True], repeat=secret.n)))
            return _MostProbableBits(law, tuple(secret.dataset(column) for column in columns), columns)
        if not isinstance(secret, OneOf):
            raise AttackError(f"the maximum-likelihood attack does not support the secret {type(secret).__name__}.")
        if secret.close is None:
            with np.errstate(divide="ignore"):
                logs = None if secret.is_uniform else np.log(secret.probabilities)
            return _Likeliest(law, secret.candidates, logs)
        return _ClosestToMost(law, secret)


@dataclass(frozen=True, eq=False)
class _Likeliest:
    """Guesser of the first candidate with the largest log density, plus its log prior."""

    law: LogDensity
    candidates: tuple[Dataset, ...]
    log_prior: Floats | None

    def guess(self, outputs: Outputs) -> Ints:
        guesses, best = np.zeros(len(outputs), dtype=np.int64), np.full(len(outputs), -np.inf)
        for index, candidate in enumerate(self.candidates):
            scores = self.law.log_density(outputs, candidate)
            if self.log_prior is not None:
                scores = scores + self.log_prior[index]
            guesses[scores > best] = index
            np.maximum(best, scores, out=best)
        return guesses


@dataclass(frozen=True, eq=False)
class _ClosestToMost:
    """Guesser of the first guess that is correct with the largest posterior probability."""

    law: LogDensity
    secret: OneOf

    def guess(self, outputs: Outputs) -> Ints:
        weights = _likelihoods(self.law, self.secret.candidates, outputs) * self.secret.probabilities
        return np.asarray((weights @ np.asarray(self.secret.close, dtype=np.float64)).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class _MostProbableBits:
    """Scores of the bits: posterior log odds, over all columns."""

    law: LogDensity
    datasets: tuple[Dataset, ...]
    columns: NDArray[Any]

    def guess(self, outputs: Outputs) -> Floats:
        weights = _likelihoods(self.law, self.datasets, outputs)
        weight1, weight0 = weights @ self.columns.astype(np.float64), weights @ (~self.columns).astype(np.float64)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(weight1) - np.log(weight0))


@dataclass(frozen=True, eq=False)
class _LikeliestOfEach:
    """Scores of the bits: log likelihood ratio of each message, value of a 1 against value of a 0."""

    law: LogDensity
    zeros: Ints
    ones: Ints

    def guess(self, outputs: Outputs) -> Floats:
        shape = (len(outputs), len(self.zeros))
        messages = Outputs(outputs.values.reshape(-1, *outputs.values.shape[2:]))
        values = np.unique([self.zeros, self.ones])
        logs = np.array([self.law.log_density(messages, value).reshape(shape) for value in values])
        records = np.arange(shape[1])
        log_p1, log_p0 = (logs[np.searchsorted(values, side), :, records].T for side in (self.ones, self.zeros))
        with np.errstate(invalid="ignore"):
            return np.where(log_p1 == log_p0, 0.0, log_p1 - log_p0)


def _likelihoods(law: LogDensity, datasets: tuple[Dataset, ...], outputs: Outputs) -> Floats:
    """Return densities `(size, k)` of the outputs under each dataset, over the largest; 1 if all are impossible."""
    logs = np.stack([law.log_density(outputs, dataset) for dataset in datasets], axis=1)
    best = logs.max(axis=1, keepdims=True)
    possible = np.isfinite(best)
    return np.exp(np.where(possible, logs - np.where(possible, best, 0.0), 0.0))


def _law_of(target: SecretTarget) -> LogDensity:
    return required_law(target.mechanism, "maximum-likelihood", "an attack that learns from runs")
