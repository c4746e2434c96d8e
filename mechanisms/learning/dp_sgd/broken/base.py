"""Intentionally broken DP-SGD: base classes and accounting.

The noise is in `dp_sgd_noise`, clipping and divisors in `dp_sgd_clipping`, sampling in `dp_sgd_sampling`, what is done
with a batch in `dp_sgd_batches`.

A broken trainer is `DPSGD` with one small method of its `Trainer` replaced, or with another claim. All options are
those of `DPSGD`, and all have defaults under which the bug shows: a claim of about epsilon = 1 at delta = 1e-5. Its
correct twin is `twin()`, the same options without the bug.

    worst_case        gradient records along one direction, `canary`, orthogonal to all other records
    view              the noisy sum of every step along it, in units of clip_norm (view "noisy_gradients")
    output_law        observations of a run without noise, plus noise: exact, so that "auto" uses the likelihood ratio
    exact_guarantee   the exact curve of the pair

An audit with 1,000 runs a side takes less than a second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property

import numpy as np

from ....accounting import GaussianDP
from ....accounting.broken import Broken, certain_leak
from ....core import Dataset, Floats, Guarantee, LogDensity, Neighbours, Outputs, ParameterError, PositiveInt, Relation
from ...base import MAX_ROUNDING, AnyFloats, TrainingData
from ...models import LogisticRegression, MultiLayerPerceptron
from ...models.base import Model
from ..mechanism import DPSGD
from ..sampling import FullBatch, Sampling
from ..training import Batch, Trainer

REGRESSION = LogisticRegression(4)
PERCEPTRON = MultiLayerPerceptron(4, hidden=(3,), n_outputs=2)
ALL_BY_FIVE = FullBatch(expected_batch_size=5)
ALL_BY_TEN = FullBatch(expected_batch_size=10)
"""Defaults of the broken trainers."""
UNBOUNDED_NORM = 20.0
"""Norm of a gradient record, in clip norms, where it is not bounded: epsilon grows with it without limit."""
OBSERVATION_TOLERANCE = 1e-4
"""Tolerance below which two observations are equal."""


@dataclass(frozen=True, eq=False)
class BrokenDPSGD(Broken, DPSGD):
    """Broken: base class of the broken trainers, itself correct.

    Args:
        all: as for `DPSGD`, with other defaults: logistic regression of 4 features, 4 full batches, noise multiplier
            7.46, so that the claim is epsilon = 1 at delta = 1e-5, and all noisy sums are observed.
    """

    correct_class = DPSGD

    model: Model | str = REGRESSION
    _: KW_ONLY
    steps: int = 4
    noise_multiplier: float = 7.46
    sampling: Sampling | str = ALL_BY_TEN
    view: str = "noisy_gradients"

    def twin(self) -> DPSGD:
        """Return the correct trainer with these options."""
        correct: DPSGD = super().twin()
        return correct

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`; None where it is not known."""
        return None

    @property
    def law_is_known(self) -> bool:
        """True if the law of the observations is known: the same batches in every run, and independent noise."""
        fixed = self.scheme.same_batches and self.step_noise.independent
        return self.view == "noisy_gradients" and fixed and self.noise_multiplier > 0.0

    def output_law(self) -> LogDensity | None:
        """Return the law of the noise around the observations of a run without noise, where `law_is_known`."""
        return _NoiseAroundCentre(self) if self.law_is_known else None

    @property
    def batch(self) -> float:
        """Public divisor of the sum of a batch; `ParameterError` if there is none."""
        if self.scheme.divisor is None:
            raise ParameterError("a broken trainer needs a public number to divide updates by. Give batch_size.")
        return self.scheme.divisor

    @property
    def reach(self) -> float:
        """Distance between the sums of a correct trainer on `worst_case()`, in clip norms."""
        return 2.0 if self.relation is Relation.REPLACE_ONE else 1.0

    def _requires(self, relation: Relation, why: str) -> None:
        """Raise `ParameterError` for another relation, and say why."""
        if self.relation is not relation:
            raise ParameterError(
                f"relation is {self.relation.value!r}, {why}. Choose {relation.value!r}.", argument="relation"
            )

    def _requires_independent_noise(self) -> None:
        """Raise `ParameterError` for noise that is correlated between steps."""
        if not self.step_noise.independent:
            raise ParameterError(
                f"noise must be 'independent', but is {self.noise!r}: the bug is in the batches, and its curve is "
                "known for independent noise. Use the default, or DPSGD.",
                argument="noise",
            )

    # --- for the trainers ---------------------------------------------------------------------------------------------

    def _pair(self, record: float, *others: float) -> Neighbours:
        """Return gradients along `canary`, in clip norms: `others` on both sides, and `record` on side 1.

        Side 0 has no record in its place (add_remove), or 0 (zero_out), or the opposite (replace_one).
        """
        absent = {Relation.ADD_REMOVE: [], Relation.ZERO_OUT: [0.0], Relation.REPLACE_ONE: [-record]}[self.relation]
        return Neighbours(self._along([*absent, *others]), self._along([record, *others]), self.relation)

    def _along(self, norms: Sequence[float]) -> TrainingData:
        return self._only_gradients(self.clip_norm * np.outer(norms, self.canary))

    def _gaussian(self, distance: float) -> Guarantee | None:
        """Return the curve of full batches whose sums differ by `distance` clip norms in every step, if observed."""
        if not (self.law_is_known and isinstance(self.scheme, FullBatch) and self.directions is None):
            return None
        return GaussianDP(distance * math.sqrt(self.steps) / self.noise_multiplier, relation=self.relation)

    def _revealed(self) -> Guarantee | None:
        """Return the curve of outputs that distinguish the sides with certainty.

        None if the law of the observations is unknown, or if all observed directions are orthogonal to the canary.
        """
        observed = bool(np.abs(self.seen_directions @ self.canary).max() > MAX_ROUNDING)
        return certain_leak(self.relation) if self.law_is_known and observed else None

    def _centre(self, data: TrainingData) -> AnyFloats:
        """Return the observations without noise, `(steps, m)`."""
        noiseless = replace(self, noise_multiplier=0.0)
        return np.asarray(noiseless.release(data, 1, np.random.default_rng(0)).values[0])

    def _noise_log_density(self, noise: AnyFloats) -> Floats:
        """Return the log density of the noise `(size, steps, m)` in the observations, up to a constant.

        The noise is independent Gaussian; directions that are not orthogonal are whitened.
        """
        whitened = noise @ np.linalg.inv(np.linalg.cholesky(self.seen_directions @ self.seen_directions.T)).T
        density: Floats = standard_log_density(whitened / self.noise_multiplier)
        return density


@dataclass(frozen=True, eq=False)
class _NoiseAroundCentre:
    """Law of the observations of `broken`, up to a constant."""

    broken: BrokenDPSGD

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of observations, `(size,)`."""
        centre = self.broken._centre(TrainingData.of(dataset))
        return self.broken._noise_log_density(outputs.values - centre)


class Unclipped(Trainer):
    """Trainer without clipping of the gradients, the base of trainers that clip another quantity."""

    def clip(self, found: list[AnyFloats], deltas: list[AnyFloats], batch: Batch) -> None:
        """Mask the records that are not in the batch, without clipping."""
        if batch.included is not None:
            for delta in deltas:
                delta *= batch.included[:, None, :]

    def _clipped_gradient_records(self) -> AnyFloats | None:
        return None if self.data.gradients is None else self.data.gradients.astype(self.dtype)


def standard_log_density(values: AnyFloats) -> Floats:
    """Return the log density of independent standard normals `(size, ...)`, one number per row, up to a constant."""
    rows = values.reshape(len(values), -1).astype(np.float64, copy=False)
    return np.asarray(-0.5 * np.einsum("ij,ij->i", rows, rows))


def where_zero(differences: AnyFloats, log_density: AnyFloats) -> Floats:
    """Return `log_density` `(size,)` where all `differences` of a row are 0, and -inf elsewhere."""
    rows = np.abs(differences).reshape(len(differences), -1)
    return np.where(rows.max(axis=1, initial=0.0) < OBSERVATION_TOLERANCE, log_density, -np.inf)


# --- accounting of correctly trained models ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MiscountedTrainer(BrokenDPSGD):
    """Base class of trainers with the law of the correct trainer and another claim."""

    def output_law(self) -> LogDensity | None:
        """Return the output law of the correct trainer."""
        return self.twin().output_law()


@dataclass(frozen=True, eq=False)
class ReplacedCountedAsAdded(MiscountedTrainer):
    """Broken: DP-SGD on neighbours with one record replaced, with the claim for one record added.

    A replaced record moves the sum by 2 clip_norm, from one clipped gradient to its opposite. The claim is that of
    noise_multiplier, but half of it is correct: with full batches mu is twice the claimed one.

    Args:
        all: as for `DPSGD`, with the relation replace_one.

    Example:
        >>> broken = ReplacedCountedAsAdded()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 2.16)
    """

    cause = "The accountant takes the sensitivity of an added record, clip_norm, and the report the other relation."
    source = (
        "google-deepmind/jax_privacy, docs/sharp_edges_dp_training_pitfalls.md, on the neighbouring relation; "
        'Ponomareva et al. (2023), "How to dp-fy ML", on the factor 2.'
    )

    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        super().__post_init__()
        self._requires(Relation.REPLACE_ONE, "for which the claim is correct")

    @cached_property
    def _claim(self) -> Guarantee:
        """Claim that would be correct if a replaced record moved the sum by clip_norm."""
        return replace(self.twin(), noise_multiplier=2.0 * self.noise_multiplier).guarantee()

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the correct trainer."""
        return self.twin().exact_guarantee()


@dataclass(frozen=True, eq=False)
class MicroStepsCounted(MiscountedTrainer):
    """Broken: DP-SGD with gradient accumulation in which every micro-step is counted as a step.

    A batch is processed in G parts that fit the memory. The claim holds, and is that of G times the steps: noise
    calibrated to it is too large. An audit must not flag it, and the bound stays far below the claim.

    Args:
        micro_batches: G, number of parts of a batch, >= 1; 1 is correct.
        all others: as for `DPSGD`. Default: noise multiplier 29.84.

    Example:
        >>> broken = MicroStepsCounted()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 0.22)
    """

    cause = "The budget is composed over all micro-steps, but noise is added once for the whole batch."
    source = "google-deepmind/jax_privacy, issues 234, 267 and 288."

    noise_multiplier: float = 29.84
    micro_batches: PositiveInt = 16

    @cached_property
    def _claim(self) -> Guarantee:
        """Claim that would be correct if each part were a step."""
        return replace(self.twin(), steps=self.steps * self.micro_batches).guarantee()

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the correct trainer."""
        return self.twin().exact_guarantee()
