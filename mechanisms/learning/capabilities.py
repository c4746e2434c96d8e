"""What an adversary needs of a trainer, one capability a protocol: read base.py first.

    Learner                one classifier on each of many subsets (in base.py)   membership attacks, the membership game
    TakesCanaries          a record may be chosen by the adversary               canaries that are examples
    ClipsGradients         ... or be a gradient of known norm                    random directions
    HasInputWeights        ... in the weight that reads one feature              Dirac canaries
    ShowsNoisyGradients    ... and be seen in every noisy sum                    the gradient-canary game
    ShowsLosses            has a loss on an example                              canary loss
    ReleasesModels         ... and models come out, as flat parameters           canary direction
    ShowsTrajectory        ... those of every step                               gradient product
    ShowsEachGradient      ... and what each of a few records would add          prior-aware reconstruction
    StartsAnywhere         starts from parameters that are given                 worst-case initial parameters

A trainer implements what it can; `needed` asks, and names what is lacking.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..base import Outputs
from ..errors import ParameterError
from ..relation import Relation
from .base import Classifiers, Floats, TrainingData
from .dp_sgd.sampling import Sampling
from .models.base import Model


@runtime_checkable
class TakesCanaries(Protocol):
    """Trains on records of which an adversary may choose one."""

    @property
    def relation(self) -> Relation:
        """What may differ between neighbours."""
        ...

    def check_data(self, data: TrainingData) -> None:
        """Raises `ParameterError` for records that it cannot train on."""
        ...

    def count_classes(self, data: TrainingData) -> int:
        """How many classes the models that are trained on data like these tell apart."""
        ...

    def initial_models(self, data: TrainingData) -> Classifiers | None:
        """One model before any training on data like these; None where its parameters are drawn for every run, or not
        known."""
        ...


@runtime_checkable
class ClipsGradients(TakesCanaries, Protocol):
    """Takes gradient records, and bounds their norm."""

    @property
    def n_parameters(self) -> int:
        """Length of a flat gradient."""
        ...

    @property
    def clip_norm(self) -> float:
        """Largest norm of the gradient of a record."""
        ...


@runtime_checkable
class HasInputWeights(ClipsGradients, Protocol):
    """Knows which weights read which feature."""

    def input_weights(self) -> NDArray[np.intp]:
        """Place, in the flat parameters, of the weight by which a unit of the first layer reads a feature, `(n_units,
        n_features)`."""
        ...


@runtime_checkable
class ShowsNoisyGradients(ClipsGradients, Protocol):
    """Shows the noisy sum of every step along directions, each run on its own subset of the records."""

    @property
    def steps(self) -> int:
        """Noisy sums of a run."""
        ...

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of the noise on the sum / clip_norm."""
        ...

    @property
    def scheme(self) -> Sampling:
        """How batches are drawn."""
        ...

    def no_examples(self) -> TrainingData:
        """Data of the right shape that hold no record; raises `ParameterError` where that is not known."""
        ...

    def showing(self, directions: Floats) -> Self:
        """This trainer, with the view of the noisy sums along unit directions `(m, n_parameters)`."""
        ...

    def release_subsets(self, records: Any, inclusion: NDArray[np.bool_], rng: np.random.Generator) -> Outputs:
        """One run a row of `inclusion`, `(n_runs, n_records)`: noisy sums / clip_norm, `(n_runs, steps, m)`."""
        ...


@runtime_checkable
class ShowsLosses(Protocol):
    """Releases models of which the loss on an example can be asked."""

    @property
    def view(self) -> str:
        """What is released: "final", "trajectory", or something else."""
        ...

    @property
    def trains_as_stated(self) -> bool:
        """Whether a record is known to have no other trace than its clipped gradient: there is no better place to look.

        Another trainer may leak elsewhere, as by a divisor that depends on the data or a noise that comes twice.
        """
        ...

    def losses(self, data: TrainingData, parameters: Floats) -> NDArray[np.float64]:
        """Loss of each example under parameters `(n_models, n_parameters)`, `(n_models, n_examples)`."""
        ...


@runtime_checkable
class ReleasesModels(ShowsLosses, TakesCanaries, Protocol):
    """Releases flat parameters, of the last iterate or of all."""

    @property
    def n_parameters(self) -> int:
        """Length of the flat parameters."""
        ...

    def initial_parameters(self) -> Floats | None:
        """Flat parameters before the first step, `(n_parameters,)`; None where they are drawn for every run."""
        ...

    def clipped_gradient(self, data: TrainingData, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of the clipped gradients of a few records at parameters `(n_runs, n_parameters)`, of their shape."""
        ...


@runtime_checkable
class ShowsTrajectory(ReleasesModels, Protocol):
    """Releases every iterate of gradient descent with momentum on noisy sums."""

    @property
    def network(self) -> Model:
        """What is trained."""
        ...

    @property
    def scheme(self) -> Sampling:
        """How batches are drawn."""
        ...

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of the noise on the sum / clip_norm."""
        ...

    @property
    def clip_norm(self) -> float:
        """Largest norm of the gradient of a record."""
        ...

    @property
    def momentum(self) -> float:
        """In [0, 1)."""
        ...

    def rates(self) -> NDArray[np.float64]:
        """Learning rate of each step, `(steps,)`."""
        ...

    def clipped_sum_of(self, data: TrainingData) -> Callable[[NDArray[np.float64]], Floats]:
        """From parameters `(n_runs, n_parameters)` to the sum of the clipped gradients of many records, of their
        shape."""
        ...

    def release_subsets(self, records: Any, inclusion: NDArray[np.bool_], rng: np.random.Generator) -> Outputs:
        """One run a row of `inclusion`, `(n_runs, n_records)`: parameters, `(n_runs, steps + 1, n_parameters)`."""
        ...


@runtime_checkable
class ShowsEachGradient(ShowsTrajectory, Protocol):
    """Knows what each of a few records would add to the noisy sum of a step."""

    def clipped_gradients(self, data: TrainingData, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """The clipped gradient of each of a few records at parameters `(n_runs, n_parameters)`, `(n_runs, n_records,
        n_parameters)`."""
        ...


@runtime_checkable
class StartsAnywhere(Protocol):
    """Starts from public parameters."""

    @property
    def network(self) -> Model:
        """What is trained."""
        ...

    def starting_from(self, parameters: Floats) -> Self:
        """This trainer, started from flat parameters `(n_parameters,)`."""
        ...


@runtime_checkable
class WrapsTrainer(Protocol):
    """Another claim for the runs of a trainer."""

    @property
    def trainer(self) -> Any:
        """Whose runs they are."""
        ...


def trainer_of(mechanism: Any) -> Any:
    """The trainer that is meant: `mechanism`, or what it wraps."""
    return mechanism.trainer if isinstance(mechanism, WrapsTrainer) else mechanism


def needed(mechanism: Any, capability: Any, purpose: str) -> Any:
    """The trainer that is meant, if it has the capability.

    Args:
        mechanism: a trainer, or one inside another claim.
        capability: a protocol of this module.
        purpose: what needs it, the subject of the message: "a Dirac canary".

    Raises:
        ParameterError: it lacks something, which is named.

    Example:
        >>> from dpassay.mechanisms.noise.laplace import Laplace
        >>> needed(Laplace(1.0), StartsAnywhere, "a worst-case start")
        Traceback (most recent call last):
        ...
        dpassay.mechanisms.errors.ParameterError: a worst-case start needs a trainer with network and starting_from, \
which Laplace lacks. Use DPSGD, or a trainer that is StartsAnywhere (dpassay.mechanisms.learning.capabilities).
    """
    found = trainer_of(mechanism)
    lacking = [name for name in members(capability) if inspect.getattr_static(found, name, None) is None]
    if lacking or isinstance(found, type):
        raise ParameterError(
            f"{purpose} needs a trainer with {_listed(lacking or ['options'])}, which {_name(found)} lacks. Use "
            f"DPSGD, or a trainer that is {capability.__name__} (dpassay.mechanisms.learning.capabilities)."
        )
    return found


def has(mechanism: Any, capability: Any) -> bool:
    """Whether the trainer that is meant has the capability."""
    try:
        needed(mechanism, capability, "")
    except ParameterError:
        return False
    return True


def members(capability: Any) -> list[str]:
    """What a protocol asks for, by name."""
    protocols = [base for base in capability.__mro__ if getattr(base, "_is_protocol", False) and base is not Protocol]
    return sorted({name for base in protocols for name in vars(base) if not name.startswith("_")})


def _listed(names: list[str]) -> str:
    """All of them, so that who writes a trainer knows what is asked for."""
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def _name(thing: Any) -> str:
    return thing.__name__ if isinstance(thing, type) else type(thing).__name__
