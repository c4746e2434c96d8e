"""Capabilities that attacks require of a trainer, one protocol each; read `learning.base` first.

    SupportsCanaries            accepts a record that the adversary chooses           canaries that are examples
    SupportsGradientCanaries    ... or a gradient record of bounded norm              canaries in random directions
    SupportsDiracCanaries       ... in the weight that reads one feature              Dirac canaries
    SupportsSubsets             ... and trains each run on a subset of the records    gradient canaries, trajectories
    SupportsNoisyGradients      ... and releases every noisy sum along directions     game of gradient canaries
    SupportsLosses              computes the loss on an example                       canary loss
    SupportsModels              ... and releases models, as flat parameters           canary direction
    SupportsTrajectory          ... after every step                                  gradient product
    SupportsRecordGradients     ... and the contribution of each of a few records     reconstruction, canary direction
    SupportsInitialParameters   starts from specified parameters                      worst-case initial parameters

A trainer implements those that it can. `require_capability` raises an error that names the missing members, and
`has_capability` returns a boolean. Membership attacks require a `Learner`, of `learning.base`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...core import Bools, Floats, Outputs, ParameterError, Relation
from ..base import AnyFloats, Classifiers, TrainingData
from ..models.base import Model
from .sampling.base import Sampling


@runtime_checkable
class SupportsCanaries(Protocol):
    """Trainer on records of which an adversary may choose one."""

    @property
    def relation(self) -> Relation:
        """Neighbouring relation."""

    def check_data(self, data: TrainingData) -> None:
        """Raise `ParameterError` for records that the trainer cannot use."""

    def count_classes(self, data: TrainingData) -> int:
        """Return the number of classes of a model that is trained on data of this kind."""

    def initial_models(self, data: TrainingData) -> Classifiers | None:
        """Return one model before training on data of this kind; None if its parameters are random or unknown."""


@runtime_checkable
class SupportsGradientCanaries(SupportsCanaries, Protocol):
    """Trainer that accepts gradient records, and bounds their norm."""

    @property
    def n_parameters(self) -> int:
        """Number of entries of a flat gradient."""

    @property
    def clip_norm(self) -> float:
        """Upper bound on the norm of the gradient of a record."""


@runtime_checkable
class SupportsDiracCanaries(SupportsGradientCanaries, Protocol):
    """Trainer whose first-layer weights can be located by feature."""

    def input_weights(self) -> NDArray[np.intp]:
        """Return the indices of the weights of the first layer in the flat parameters, `(n_units, n_features)`."""


@runtime_checkable
class SupportsSubsets(SupportsGradientCanaries, Protocol):
    """Trainer on noisy sums of batches, each run on a subset of the records."""

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of the noise on the sum / clip_norm."""

    @property
    def scheme(self) -> Sampling:
        """Sampling scheme of the batches."""

    def release_subsets(self, records: Any, inclusion: Bools, rng: np.random.Generator) -> Outputs:
        """Return the outputs of one run for each row of `inclusion`, `(n_runs, n_records)`, on its records only."""


@runtime_checkable
class SupportsNoisyGradients(SupportsSubsets, Protocol):
    """Trainer that releases the noisy sum of every step along directions, over clip_norm, `(n_runs, steps, m)`."""

    @property
    def steps(self) -> int:
        """Number of noisy sums in a run."""

    def no_examples(self) -> TrainingData:
        """Return data of the right shape without records; raise `ParameterError` if the shape is unknown."""

    def showing(self, directions: AnyFloats) -> Self:
        """Return this trainer with a view of the noisy sums along unit directions `(m, n_parameters)`."""


@runtime_checkable
class SupportsLosses(Protocol):
    """Trainer that releases models whose loss on an example can be computed."""

    @property
    def view(self) -> str:
        """Released output: "final", "trajectory", or another view."""

    @property
    def trains_as_stated(self) -> bool:
        """True if a record is known to influence the output through its clipped gradient only.

        Another trainer may leak elsewhere, for example by a divisor that depends on the data or by repeated noise.
        """

    def losses(self, data: TrainingData, parameters: AnyFloats) -> Floats:
        """Return the loss `(n_models, n_examples)` of each example under parameters `(n_models, n_parameters)`."""


@runtime_checkable
class SupportsModels(SupportsLosses, SupportsCanaries, Protocol):
    """Trainer that releases the flat parameters of the last iterate or of all iterates."""

    @property
    def n_parameters(self) -> int:
        """Number of flat parameters."""

    def initial_parameters(self) -> AnyFloats | None:
        """Return the flat parameters before the first step, `(n_parameters,)`; None if they are random."""

    def clipped_gradient(self, data: TrainingData, parameters: Floats) -> Floats:
        """Return the sum of the clipped gradients of a few records at parameters of shape `(n_runs, n_parameters)`."""


@runtime_checkable
class SupportsTrajectory(SupportsModels, SupportsSubsets, Protocol):
    """Trainer that releases every iterate of gradient descent with momentum, `(n_runs, steps + 1, n_parameters)`."""

    @property
    def network(self) -> Model:
        """Model that is trained."""

    @property
    def momentum(self) -> float:
        """Momentum coefficient in [0, 1)."""

    def rates(self) -> Floats:
        """Return the learning rate of each step, `(steps,)`."""

    def clipped_sum_of(self, data: TrainingData) -> Callable[[Floats], AnyFloats]:
        """Return a function from parameters to the sum of the clipped gradients of many records.

        The parameters and the sums have shape `(n_runs, n_parameters)`.
        """


@runtime_checkable
class SupportsRecordGradients(SupportsTrajectory, Protocol):
    """Trainer that computes the contribution of each of a few records to the noisy sum of a step."""

    def clipped_gradients(self, data: TrainingData, parameters: Floats) -> Floats:
        """Return the clipped gradient of each of a few records, `(n_runs, n_records, n_parameters)`.

        The parameters have shape `(n_runs, n_parameters)`.
        """


@runtime_checkable
class SupportsInitialParameters(Protocol):
    """Trainer that starts from specified public parameters."""

    @property
    def network(self) -> Model:
        """Model that is trained."""

    def starting_from(self, parameters: AnyFloats) -> Self:
        """Return this trainer started from flat parameters `(n_parameters,)`."""


@runtime_checkable
class SupportsCorrelatedNoise(Protocol):
    """Trainer whose noise may be correlated between steps; other trainers add independent noise."""

    def noise_strategy(self) -> Floats | None:
        """Return C, `(steps, steps)`, for noise C^-1 Z on the sums of the steps; None for independent noise."""


@runtime_checkable
class SupportsTrainer(Protocol):
    """Mechanism that makes another claim for the runs of a trainer."""

    @property
    def trainer(self) -> Any:
        """Trainer that is run."""


def trainer_of(mechanism: Any) -> Any:
    """Return the trainer inside `mechanism`, or `mechanism` if it wraps none."""
    return mechanism.trainer if isinstance(mechanism, SupportsTrainer) else mechanism


def noise_strategy_of(trainer: Any) -> Floats | None:
    """Return C for the noise C^-1 Z of a trainer; None for independent noise."""
    return trainer.noise_strategy() if isinstance(trainer, SupportsCorrelatedNoise) else None


def require_capability(mechanism: Any, capability: Any, purpose: str) -> Any:
    """Return the trainer of `mechanism` after checking that it has the capability.

    Args:
        mechanism: a trainer, or a mechanism that wraps one.
        capability: a protocol of this module.
        purpose: the feature that needs the capability, and the subject of the message: "a Dirac canary".

    Raises:
        ParameterError: the trainer lacks members of the protocol, which the message lists.

    Example:
        >>> from dpassay.mechanisms.noise.laplace import Laplace
        >>> require_capability(Laplace(1.0), SupportsInitialParameters, "a worst-case start")
        Traceback (most recent call last):
        ...
        dpassay.mechanisms.core.errors.ParameterError: a worst-case start needs a trainer with network and \
starting_from, which Laplace lacks. Use DPSGD, or a trainer that is SupportsInitialParameters \
(dpassay.mechanisms.learning.dp_sgd.capabilities).
    """
    trainer = trainer_of(mechanism)
    missing = [name for name in members(capability) if inspect.getattr_static(trainer, name, None) is None]
    if missing or isinstance(trainer, type):
        raise ParameterError(
            f"{purpose} needs a trainer with {_listed(missing or ['options'])}, which {_name(trainer)} lacks. Use "
            f"DPSGD, or a trainer that is {capability.__name__} (dpassay.mechanisms.learning.dp_sgd.capabilities)."
        )
    return trainer


def has_capability(mechanism: Any, capability: Any) -> bool:
    """Return True if the trainer of `mechanism` has the capability."""
    try:
        require_capability(mechanism, capability, "")
    except ParameterError:
        return False
    return True


def members(capability: Any) -> list[str]:
    """Return the names of the members that a protocol requires."""
    protocols = [base for base in capability.__mro__ if getattr(base, "_is_protocol", False) and base is not Protocol]
    return sorted({name for base in protocols for name in vars(base) if not name.startswith("_")})


def _listed(names: list[str]) -> str:
    """Return the names as one phrase, "a, b and c"."""
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def _name(trainer: Any) -> str:
    return trainer.__name__ if isinstance(trainer, type) else type(trainer).__name__
