"""The prior-aware attack on DP-SGD: identification of the training record among k candidates, from every noisy step.

    R_t = noisy sum of step t, minus the clipped gradients of the known records        g_t(z) = clipped gradient of z

    likelihood   sum over t of log p(R_t | z): the record with the largest posterior probability
    product      sum over t of <R_t, g_t(z)>, as in Hayes et al.; for shuffled batches the largest of each epoch

With full batches R_t = g_t(z) + noise, and the likelihood is exact: <R_t, g_t> minus |g_t|^2 / 2. It corrects
for gradients that are shorter than the clip norm, against which the product is biased.

Attainable success: let k clipped gradients have norm C and be constant, mu = sqrt(T) / noise_multiplier. If
they are at right angles, the success probability is s(mu) = integral of phi(u - mu) Phi(u)^(k - 1). If they
form a regular simplex (inner products -C^2 / (k - 1)), all distances are longer by sqrt(k / (k - 1)), and the success
probability is s(mu sqrt(k / (k - 1))); no better k gradients are known. The ceiling of the accountant,
Phi(Phi^-1(1 / k) + mu), would need a separate half-space for each guess: for k > 2 no k half-spaces of
probability 1 / k fill the space, so it is approached, not attained. `orthogonal_success` and `simplex_success` compute
how closely: for k = 10 a simplex attains at least 0.915 of the ceiling at every mu, right angles 0.866.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from scipy.special import log_ndtr, logsumexp

from ....mechanisms.core import AttackError, Floats, Ints, Outputs, ParameterError, non_negative, one_of_names, whole
from ....mechanisms.learning.base import TrainingData
from ....mechanisms.learning.dp_sgd.capabilities import SupportsRecordGradients, noise_strategy_of
from ....mechanisms.learning.dp_sgd.catalogue import samplings
from ...distinguishing.canary_attacks import trainer_of
from ...distinguishing.gradient_product import log_ratio, noisy_steps
from ...reconstruction.base import Guesser, OneOf, Reconstructor, SecretTarget, record_secret

SAMPLINGS = {"full-batch": "_steps", "poisson": "_steps", "fixed-size": "_exchanged", "shuffled": "_epochs"}
"""Sampling -> method that adds up its steps."""


@dataclass(frozen=True, kw_only=True)
class PriorAware(Reconstructor):
    """Guess of the record of k candidates that DP-SGD was trained on, with all other records known.

    Args:
        score: "likelihood" or "product".

    Raises:
        ParameterError: an unknown score.
        AttackError: not DP-SGD, no trajectory, no noise, a secret that is not one of several candidates for a known
            record, or a sampling scheme with unknown batches.

    Guarantees:
        * with full batches, and without projection, the likelihood is that of the whole trajectory: no guess is correct
          more often;
        * with Poisson, fixed-size and shuffled batches the sum of the known records is replaced by its mean: a fixed
          guess, but not the best one.

    References:
        Hayes, Mahloujifar and Balle (2023), "Bounding training data reconstruction in DP-SGD", section 3.2.

    Example:
        >>> from dpassay.mechanisms.learning import DPSGD, LogisticRegression
        >>> learner = DPSGD(LogisticRegression(2, bias=False), steps=4, noise_multiplier=0.5, sampling="full-batch",
        ...                 batch_size=1, view="trajectory")
        >>> secret = OneOf.in_record((np.zeros((3, 2)), np.ones(3)), 0, [([4.0, 0.0], 1), ([-4.0, 0.0], 1)])
        >>> guesser = PriorAware().fit(SecretTarget(learner, secret), np.random.default_rng(0))
        >>> guesser.guess(learner.release(secret.candidates[1], 5, np.random.default_rng(1))).tolist()
        [1, 1, 1, 1, 1]
    """

    score: Annotated[str, one_of_names("likelihood", "product")] = "likelihood"

    def check(self, target: SecretTarget) -> None:
        learner = self._learner(target)
        record_secret(target, "the prior-aware attack")
        if not learner.noise_multiplier:
            raise AttackError(
                "noise_multiplier is 0: steps without noise have no likelihood. Add noise, or recover the "
                "record from a gradient (dpassay.attacks.literature.training.invert_gradient)."
            )
        if noise_strategy_of(learner) is not None:
            raise AttackError(
                "the noise is correlated between steps, but the prior-aware attack adds up independent steps. Use "
                "noise='independent', or the attack 'gradient-product' on a pair.",
                argument="noise",
            )
        if _name_of(learner.scheme) not in SAMPLINGS:
            raise AttackError(
                f"sampling must be one of {', '.join(SAMPLINGS)} for the prior-aware attack, but is "
                f"{type(learner.scheme).__name__}."
            )

    def fit(self, target: SecretTarget, rng: np.random.Generator) -> Guesser:
        self.check(target)
        return PriorAwareGuesser(self._learner(target), record_secret(target, "the prior-aware attack"), self.score)

    def _learner(self, target: SecretTarget) -> SupportsRecordGradients:
        learner: SupportsRecordGradients = trainer_of(
            target.mechanism, SupportsRecordGradients, "the prior-aware attack"
        )
        if learner.view != "trajectory":
            raise AttackError(
                f"the prior-aware attack needs view 'trajectory', but the mechanism releases {learner.view!r}. Set "
                "view='trajectory'.",
                argument="view",
            )
        return learner


@dataclass(frozen=True, eq=False)
class PriorAwareGuesser:
    """Guesser of the record with the largest score.

    Args:
        learner: trainer that produced the trajectory.
        secret: the candidates, and the index of their record.
        score: see `PriorAware`.
    """

    learner: SupportsRecordGradients
    secret: OneOf
    score: str

    def guess(self, outputs: Outputs) -> Ints:
        """Return indices of candidates, `(size,)`, from trajectories `(size, steps + 1, n_parameters)`."""
        scores = np.nan_to_num(self.scores(outputs), nan=-np.inf)
        if self.score == "product":
            return np.asarray(scores.argmax(axis=1))
        best = scores.max(axis=1, keepdims=True)
        posterior = np.exp(np.where(np.isfinite(best), scores - best, 0.0)) * self.secret.probabilities
        close = np.eye(self.secret.k) if self.secret.close is None else np.asarray(self.secret.close, dtype=np.float64)
        return np.asarray((posterior @ close).argmax(axis=1))

    def scores(self, outputs: Outputs) -> Floats:
        """Return scores `(size, k)`: log likelihoods, up to a term common to all candidates, or products."""
        add: Callable[..., Floats] = getattr(self, SAMPLINGS[_name_of(self.learner.scheme)])
        return add(outputs)

    @cached_property
    def candidates(self) -> TrainingData:
        """The k candidate records."""
        records = [_split(candidate, self.secret.record)[0] for candidate in self.secret.candidates]
        gradients = [record.gradients for record in records if record.gradients is not None]
        return TrainingData(
            np.concatenate([record.X for record in records]),
            np.concatenate([record.y for record in records]),
            np.concatenate(gradients) if gradients else None,
        )

    @cached_property
    def others(self) -> TrainingData:
        """The known records."""
        return _split(self.secret.candidates[0], self.secret.record)[1]

    @property
    def variance(self) -> float:
        """Variance of the noise on a sum, in each coordinate."""
        return float((self.learner.noise_multiplier * self.learner.clip_norm) ** 2)

    def _steps(self, outputs: Outputs) -> Floats:
        """Add up steps that contain the record independently, with the same probability."""
        share = self.learner.scheme.inclusion_probability
        total = np.zeros((len(outputs), self.secret.k))
        for rest, gradients, _ in self._residuals(outputs, share):
            total += self._step_scores(rest, gradients, share)
        return total

    def _exchanged(self, outputs: Outputs) -> Floats:
        """Add up steps in which the record replaces another one, of which only the mean is known."""
        share = self._batch_share
        total = np.zeros((len(outputs), self.secret.k))
        for rest, gradients, mean in self._residuals(outputs, share):
            total += self._step_scores(rest, gradients - mean, share)
        return total

    def _epochs(self, outputs: Outputs) -> Floats:
        """Add up steps of which one per epoch contains the record."""
        share, n = self._batch_share, len(self.others) + 1
        length, total = max(1, math.ceil(1.0 / share - 1e-9)), np.zeros((len(outputs), self.secret.k))
        sizes = np.diff([*range(0, n, max(1, round(share * n))), n]) / n
        epoch: list[Floats] = []
        for rest, gradients, mean in self._residuals(outputs, share):
            weight = math.log(sizes[len(epoch)]) if self.score == "likelihood" else 0.0
            epoch.append(self._step_scores(rest, gradients - mean, 1.0) + weight)
            if len(epoch) == length:
                total, epoch = total + self._combined(epoch, 0.0), []
        if epoch:  # the record may be in the missing steps of the incomplete last epoch
            total += self._combined(epoch, 1.0 - float(sizes[: len(epoch)].sum()))
        return total

    def _combined(self, epoch: list[Floats], missing: float) -> Floats:
        """Combine steps of which one, or with probability `missing` none, contains the record."""
        if self.score == "product":
            return np.asarray(np.max(epoch, axis=0))
        missing_term = [np.full_like(epoch[0], math.log(missing))] if missing > 0.0 else []
        return np.asarray(logsumexp([*epoch, *missing_term], axis=0))

    def _step_scores(self, rest: Floats, shifts: Floats, probability: float) -> Floats:
        """Return the score of each candidate from one step, `(size, k)`."""
        if self.score == "product":
            return np.asarray(np.einsum("rp,rkp->rk", rest, shifts))
        return log_ratio(rest[:, None], shifts, self.variance, probability)

    def _residuals(self, outputs: Outputs, share: float) -> Any:
        """Yield for each step the residual, the gradients of the candidates, and the mean gradient of the others.

        The residual, `(size, P)`, is the noisy sum minus its known part; the gradients have shapes `(size, k, P)` and
        `(size, 1, P)`.
        """
        n = len(self.others) + 1
        sum_of_others = self.learner.clipped_sum_of(self.others)
        for at, noisy_sum in noisy_steps(self.learner, outputs, float(self.learner.scheme.divisor or n)):
            known_sum = sum_of_others(at)
            gradients = self.learner.clipped_gradients(self.candidates, at)
            yield noisy_sum - share * self._inflation * known_sum, gradients, known_sum[:, None] / max(1, n - 1)

    @property
    def _inflation(self) -> float:
        """Factor for the known records that fill the batch in place of the unknown record."""
        n, scheme = len(self.others) + 1, _name_of(self.learner.scheme)
        return n / max(1, n - 1) if SAMPLINGS[scheme] != "_steps" else 1.0

    @property
    def _batch_share(self) -> float:
        return float(self.learner.scheme.width(len(self.others) + 1)) / (len(self.others) + 1)


def _name_of(scheme: Any) -> str:
    """Return the catalogue name of a sampling scheme; "" for a scheme of external code."""
    path = f"{type(scheme).__module__}:{type(scheme).__qualname__}"
    return next((name for name, entry in samplings.entries.items() if entry == path), "")


def _split(dataset: Any, record: int | None) -> tuple[TrainingData, TrainingData]:
    """Return one record, and all others; the record may be a gradient record."""
    data = TrainingData.of(dataset)
    index = int(record or 0) % len(data)
    selected = np.arange(len(data)) == index
    sides = []
    for mask in (selected, ~selected):
        examples, gradient_mask = mask[: data.n_examples], mask[data.n_examples :]
        gradients = None if data.gradients is None or not gradient_mask.any() else data.gradients[gradient_mask]
        sides.append(TrainingData(data.X[examples], data.y[examples], gradients))
    return sides[0], sides[1]


# --- attainable success ----------------------------------------------------------------------------------------------


def orthogonal_success(mu: float, k: int) -> float:
    """Return the success of the best guess for k orthogonal gradients of norm C: Pr[u + mu > k - 1 standard normals].

    Args:
        mu: sqrt(steps) / noise_multiplier, >= 0.
        k: number of candidates, >= 2.

    Example:
        >>> round(orthogonal_success(0.0, 10), 12), round(orthogonal_success(1.0, 10), 3)
        (0.1, 0.341)
    """
    non_negative(mu=mu)
    whole(2, k=k)
    grid = np.linspace(-12.0, 12.0, 20_001)
    weights = np.exp(-0.5 * grid**2)
    return float(weights @ np.exp((k - 1) * log_ndtr(grid + mu)) / weights.sum())


def simplex_success(mu: float, k: int) -> float:
    """Return the success for k gradients at the corners of a regular simplex around 0: mu times sqrt(k / (k - 1)).

    Example:
        >>> from scipy.special import ndtr, ndtri
        >>> success, ceiling = simplex_success(1.0, 10), float(ndtr(ndtri(0.1) + 1.0))
        >>> round(success, 3), round(success / ceiling, 3)
        (0.358, 0.921)
    """
    whole(2, k=k)
    return orthogonal_success(mu * math.sqrt(k / (k - 1.0)), k)


def simplex(k: int, n_features: int) -> Floats:
    """Return k unit rows at the corners of a regular simplex around 0, `(k, n_features)`.

    Raises:
        ParameterError: fewer than k - 1 features, too few for such a simplex.

    Example:
        >>> (simplex(3, 2) @ simplex(3, 2).T).round(12).tolist()
        [[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]]
    """
    whole(2, k=k)
    if n_features < k - 1:
        raise ParameterError(
            argument="n_features", value=n_features, allowed=f"be at least {k - 1}, for a simplex of {k} corners"
        )
    centred = np.eye(k) - 1.0 / k
    basis = np.linalg.qr(centred[:, :-1])[0]  # of the space that contains the corners
    corners = centred @ basis * math.sqrt(k / (k - 1.0))
    return np.asarray(np.pad(corners, ((0, 0), (0, n_features - k + 1))))
