"""Options of a training with Opacus, and the quantities that Opacus derives from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from ...core.arrays import Floats
from ...core.constraints import NonNegative, Positive, PositiveInt, check_fields, one_of_names
from ...core.errors import ParameterError, plural
from ...core.relation import Relation
from ...core.validation import one_of
from ...learning.dp_sgd.sampling import PoissonSampling, Sampling, ShuffledEpochs

CONSTANTS = ("opacus", "public")
VIEWS = ("final", "noisy_gradients")
OPACUS_RELATIONS = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
OPACUS_ACCOUNTANTS = ("prv", "rdp", "gdp")


@dataclass(frozen=True, eq=False)
class OpacusOptions:
    """Options of a training; see `OpacusTraining` for their meaning."""

    make_model: Callable[[], Any]
    _: KW_ONLY
    make_optimizer: Callable[[Any], Any]
    n_records: PositiveInt
    batch_size: PositiveInt
    noise_multiplier: NonNegative
    max_grad_norm: Positive = 1.0
    epochs: PositiveInt = 1
    loss: Any = None
    poisson_sampling: bool = True
    constants: Annotated[str, one_of_names(*CONSTANTS)] = "opacus"
    grad_sample_mode: str = "hooks"
    initial: ArrayLike | None = field(default=None, repr=False)
    relation: Relation = Relation.ADD_REMOVE
    view: Annotated[str, one_of_names(*VIEWS)] = "final"
    directions: ArrayLike | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("make_model", "make_optimizer"):
            factory = getattr(self, name)
            if not callable(factory) or (hasattr(factory, "state_dict") and not isinstance(factory, type)):
                raise ParameterError(
                    f"{name} must be a function that returns a new object for each run, but is a "
                    f"{type(factory).__name__}."
                )
        if self.batch_size > self.n_records:
            raise ParameterError(
                f"batch_size must be at most n_records, but is {self.batch_size} of {self.n_records}. For full batches "
                f"use batch_size={self.n_records}."
            )
        one_of(OPACUS_RELATIONS, relation=str(self.relation))
        object.__setattr__(self, "relation", Relation.of(self.relation))

    # --- what the options mean ----------------------------------------------------------------------------------------

    @property
    def sampling_probability(self) -> float:
        """Probability of Poisson sampling: Opacus uses 1 / len(`DataLoader`), not batch_size / n_records."""
        return 1.0 / -(-self.n_records // self.batch_size)

    @property
    def batches_per_epoch(self) -> int:
        """Number of steps of an epoch: the length of the `DataLoader`.

        With Poisson sampling it is sometimes 1 less, because Opacus rounds 1 / sampling_probability down.
        """
        return int(1.0 / self.sampling_probability) if self.poisson_sampling else round(1.0 / self.sampling_probability)

    @property
    def steps(self) -> int:
        """Number of steps of a whole training."""
        return self.epochs * self.batches_per_epoch

    @property
    def divisor(self) -> int:
        """Divisor of a sum of gradients: Opacus uses the expected batch size, rounded down."""
        return self.n_records // self.batches_per_epoch

    @property
    def scheme(self) -> Sampling:
        """Sampling scheme of the batches."""
        if self.poisson_sampling or self.batches_per_epoch == 1:
            return PoissonSampling(
                sampling_probability=self.sampling_probability, expected_batch_size=float(self.divisor)
            )
        return ShuffledEpochs(batch_size=self.batch_size, n_records=self.n_records)

    @property
    def library(self) -> Any:
        """Module that calls PyTorch and Opacus, imported when a model is trained."""
        return _load_training()

    @cached_property
    def n_parameters(self) -> int:
        """Number of trainable parameters of the module."""
        return int(self.library.n_parameters(self.make_model))

    @cached_property
    def seen_directions(self) -> Floats:
        """Observed directions, `(m, n_parameters)`; the first is that of the canary of `canary_pair`."""
        if self.directions is None:
            return np.array(np.arange(self.n_parameters) == 0, dtype=np.float64)[None, :]
        directions = np.atleast_2d(np.asarray(self.directions, dtype=np.float64))
        norms = np.linalg.norm(directions, axis=-1)
        if directions.ndim != 2 or directions.shape[1] != self.n_parameters or not (np.abs(norms - 1.0) < 1e-6).all():
            raise ParameterError(
                f"directions must be unit vectors of {plural(self.n_parameters, 'number')}, one per parameter, but "
                f"have shape {directions.shape} and norms {norms}."
            )
        return directions


def _load_training() -> Any:
    """Return the module `training`, which imports PyTorch and Opacus.

    Raises:
        ParameterError: PyTorch or Opacus is not installed.
    """
    try:
        return import_module("dpassay.mechanisms.adapters.opacus.training")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "opacus"):
            raise
        raise ParameterError(
            f"training with Opacus needs the package {error.name}, which is not installed. In a copy of "
            'dpassay: pip install ".[torch]".'
        ) from error
