"""Noisy projected SGD with one record in each step, and noise by strong composition."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from types import MappingProxyType
from typing import Annotated

import numpy as np
from scipy.special import expit

from ...accounting import ApproximateDP
from ...accounting.dp_sgd.fixed_size import fixed_size_gaussian
from ...accounting.dp_sgd.noisy_sgd import (
    LARGEST_STEP_EPSILON,
    largest_formula_epsilon,
    projected_sgd_standard_deviation,
    projected_sgd_step,
)
from ...core.arrays import Floats
from ...core.base import Data, Dataset, Mechanism, Neighbours, Outputs, example
from ...core.constraints import OpenUnit, Positive, PositiveInt, at_least, one_of_names
from ...core.errors import ParameterError, plural
from ...core.guarantee import Guarantee
from ...core.registry import Tier
from ...core.relation import Relation
from ...core.validation import positive
from ...learning.base import TrainingData
from ...learning.dp_sgd.steps import ConstantSchedule, Schedule
from .regularised_logistic import check_one_example, opposite_labels, replace_one_only

_LOSS_SLOPES: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {
        "linear": lambda margins: np.full_like(margins, -1.0),
        "logistic": lambda margins: np.asarray(-expit(-margins)),
        "squared": lambda margins: margins - 1.0,
    }
)
"""Derivative of each loss with respect to the margin m = w theta: -m, log(1 + e^-m), and (1 - m)^2 / 2."""
CLAIMS = ("formula", "renyi")


@dataclass(frozen=True)
class NoisyProjectedSGD(Mechanism):
    """Projected SGD on a sum of losses, with Gaussian noise in every step.

        theta_t = P(theta_(t-1) - rate_t (n g_I + N_t)),   I uniform on the n records,   N_t ~ N(0, sigma^2 1)

    g_I is the gradient of record I, clipped to norm `lipschitz`, and P the projection on the ball of that radius around
    the start, 0. By default sigma follows from strong composition for (epsilon, delta) and n^2 steps,

        sigma^2 = (64 n^2 L^2 / epsilon^2) log(2 n / delta) log(2 / delta),

    which is far more than necessary: the Renyi bound proves epsilon 0.061 where 1 is claimed (example below).

    Args:
        epsilon: the claim, > 0. For the formula at most 1.2564 sqrt(8 log(2 / delta)), 12.41 at delta = 1e-5, or more
            with more noise or fewer steps than the formula prescribes: before amplification by sampling, a step must be
            at most 1.2564-DP.
        delta: delta of the claim, strictly between 0 and 1.
        n_records: n, >= 2; public, because noise and steps depend on it.
        steps: T, >= 1; None for n^2, for which the formula was derived.
        standard_deviation: sigma, > 0, in units of n times a gradient; None for the formula.
        loss: with w = (2 y - 1) x: "linear", -w theta, "logistic", log(1 + exp(-w theta)), or "squared",
            (1 - w theta)^2 / 2. Labels are 0 and 1.
        lipschitz: L, > 0.
        learning_rate: learning rate of every step, > 0; or a schedule.
        radius: radius of the ball, > 0; None for no projection.
        view: "last", the last iterate, or "all", every iterate.
        claim: "formula" for (epsilon, delta) unchanged; or "renyi" for the bound for samples of fixed size at sigma.
        relation: replace_one.

    Raises:
        ParameterError: a value out of range; claim "formula" where the theorem does not apply (less noise or more steps
            than it requires, or too large an epsilon); on release, other labels, or a number of records other than
            `n_records`.

    Guarantees:
        * The formula leaves out the mean of the privacy loss: strictly it proves epsilon + epsilon^2 / (4 log(2 /
          delta)). Where it is accepted, the claim holds with a large margin, which the bound of claim="renyi" proves.
        * Runs advance together: no loop over runs.

    References:
        Bassily, Smith, Thakurta (2014), Algorithm 1; the formula is derived in
        `dpassay.mechanisms.accounting.dp_sgd.noisy_sgd`.

    Example:
        >>> mechanism = NoisyProjectedSGD(epsilon=1.0, n_records=30)
        >>> round(mechanism.sigma, 1), mechanism.n_steps
        (3312.6, 900)
        >>> round(NoisyProjectedSGD(epsilon=1.0, n_records=30, claim="renyi").guarantee().epsilon(1e-5), 3)
        0.061
    """

    _example = example(n_records=10)
    _tier = Tier.PROVISIONAL  # the law of the output is not known
    _dataset = Data.TRAINING

    epsilon: Positive
    delta: OpenUnit = 1e-5
    _: KW_ONLY
    n_records: Annotated[int, at_least(2)] = 30
    steps: PositiveInt | None = None
    standard_deviation: Positive | None = None
    loss: Annotated[str, one_of_names(*_LOSS_SLOPES)] = "linear"
    lipschitz: Positive = 1.0
    learning_rate: float | Schedule = 1.0
    radius: Positive | None = None
    view: Annotated[str, one_of_names("last", "all")] = "last"
    claim: Annotated[str, one_of_names(*CLAIMS)] = "formula"
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.learning_rate, Schedule):
            positive(learning_rate=self.learning_rate)
        self._check_formula()
        object.__setattr__(self, "relation", replace_one_only(self.relation, "NoisyProjectedSGD"))

    @property
    def n_steps(self) -> int:
        """Number of steps T."""
        return self.n_records**2 if self.steps is None else self.steps

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise, in units of n times a gradient."""
        if self.standard_deviation is not None:
            return self.standard_deviation
        return projected_sgd_standard_deviation(
            self.epsilon, self.delta, n_records=self.n_records, lipschitz=self.lipschitz
        )

    @property
    def noise_multiplier(self) -> float:
        """Noise multiplier sigma / (2 n L) relative to the sensitivity under replace_one."""
        return self.sigma / (2.0 * self.n_records * self.lipschitz)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the last iterates, `(size, n_features)`, or all iterates, `(size, steps, n_features)`."""
        rows = self._signed_rows(dataset)
        d = rows.shape[1]
        theta = np.zeros((size, d))
        iterates = np.empty((size, self.n_steps, d)) if self.view == "all" else None
        for step, rate in enumerate(self._rates()):
            chosen = rng.integers(self.n_records, size=size)
            update = rng.standard_normal((size, d))
            update *= self.sigma
            update += self.n_records * self._gradients(rows[chosen], theta)
            update *= rate
            theta -= update
            if self.radius is not None:
                theta *= np.minimum(1.0, self.radius / np.maximum(np.linalg.norm(theta, axis=1), 1e-300))[:, None]
            if iterates is not None:
                iterates[:, step] = theta
        return Outputs(theta if iterates is None else iterates)

    def _rates(self) -> Floats:
        rate = self.learning_rate
        return (rate if isinstance(rate, Schedule) else ConstantSchedule(rate)).rates(self.n_steps)

    def _gradients(self, rows: Floats, theta: Floats) -> Floats:
        """Return the clipped gradient of one record at each iterate, `(size, n_features)`; 0 where its norm is inf."""
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = _LOSS_SLOPES[self.loss](np.einsum("rd,rd->r", rows, theta))
            norms = np.abs(slopes) * np.sqrt(np.einsum("rd,rd->r", rows, rows))
            gradients = (slopes * np.minimum(1.0, self.lipschitz / np.maximum(norms, 1e-300)))[:, None] * rows
        return np.where(np.isfinite(norms)[:, None], gradients, 0.0)

    def _signed_rows(self, dataset: Dataset) -> Floats:
        """Return w = (2 y - 1) x, `(n_records, n_features)`."""
        data = TrainingData.of(dataset)
        if data.n_gradients or data.n_examples != self.n_records:
            raise ParameterError(
                f"the dataset must hold n_records = {plural(self.n_records, 'example')}, but holds "
                f"{plural(data.n_examples, 'example')} and {data.n_gradients} gradients. Set n_records, on which noise "
                "and steps depend, to the number of "
                "examples."
            )
        if not np.isin(data.y, (0, 1)).all():
            raise ParameterError(
                f"y must hold labels 0 and 1, but holds {np.unique(data.y)[:5].tolist()}.", argument="y"
            )
        return np.asarray((2.0 * data.y[:, None] - 1.0) * data.X, dtype=np.float64)

    def _check_formula(self) -> None:
        """Raise `ParameterError` unless there are at most n^2 steps, with at least the noise of the formula."""
        if self.claim != "formula":
            return
        formula_sd = projected_sgd_standard_deviation(
            self.epsilon, self.delta, n_records=self.n_records, lipschitz=self.lipschitz
        )
        if self.standard_deviation is not None and self.standard_deviation < formula_sd * (1.0 - 1e-9):
            raise ParameterError(
                f"claim 'formula' needs a standard_deviation of at least {formula_sd:.6g}, but it is "
                f"{self.standard_deviation:g}. Leave it out, or use claim='renyi', which accounts for the actual "
                "noise.",
                argument="claim",
            )
        if self.n_steps > self.n_records**2:
            raise ParameterError(
                f"claim 'formula' holds for at most n_records^2 = {self.n_records**2} steps, but steps is "
                f"{self.n_steps}. Use claim='renyi', which accounts for the actual steps.",
                argument="claim",
            )
        self._check_step()

    def _check_step(self) -> None:
        """Raise `ParameterError` where 2 q x does not bound a step that is x-DP before sampling at rate q."""
        step, _ = projected_sgd_step(
            self.sigma, self.delta, n_records=self.n_records, lipschitz=self.lipschitz, steps=self.n_steps
        )
        if step > LARGEST_STEP_EPSILON:
            largest = math.floor(100.0 * largest_formula_epsilon(self.delta)) / 100.0
            raise ParameterError(
                f"claim 'formula' is a theorem for epsilon up to {largest:g} at delta = {self.delta:g}, but epsilon is "
                f"{self.epsilon:g}: before sampling, a step would be {step:.5g}-DP, and the bound on the amplification "
                f"holds up to {LARGEST_STEP_EPSILON} only. Use a smaller epsilon, or claim='renyi', which accounts for "
                "the actual noise.",
                argument="claim",
            )

    def guarantee(self) -> Guarantee:
        """Return (epsilon, delta)-DP as the formula states it, or the Renyi bound for samples of fixed size."""
        if self.claim == "formula":
            return ApproximateDP(self.epsilon, self.delta, relation=self.relation)
        return fixed_size_gaussian(
            self.noise_multiplier, sampling_probability=1.0 / self.n_records, steps=self.n_steps, relation=self.relation
        ).calibrated_at(self.delta)

    def worst_case(self) -> Neighbours:
        """Return a pair with one feature and all records blank except one, whose gradient is L or -L."""
        return opposite_labels(self.n_records, self.lipschitz)

    def _check_pair(self, neighbours: Neighbours) -> None:
        for side in (0, 1):
            self._signed_rows(neighbours.side(side))
        check_one_example(neighbours)
