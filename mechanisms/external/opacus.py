"""Training with Opacus as a mechanism: your module, your optimiser, its PrivacyEngine.

What PyTorch does is in `dpassay.mechanisms.external.opacus_training`, which is imported when a model is trained.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base import Dataset, LogDensity, Mechanism, Neighbours, Outputs, Workers
from ..errors import AccountingError, DpassayError, NeighboursError, ParameterError, ReleaseError
from ..guarantees import ApproximateDP
from ..guarantees.base import Guarantee
from ..learning.base import Floats, TrainingData
from ..learning.dp_sgd.sampling import PoissonSampling, Sampling, ShuffledEpochs
from ..learning.pairs import UNSEEN, differing
from ..records import check_records
from ..relation import Relation
from ..validation import non_negative, one_of, positive, whole
from .forms import Form, Raised
from .outcomes import collect

if TYPE_CHECKING:
    from .opacus_training import OpacusClassifiers

CONSTANTS = ("opacus", "public")
VIEWS = ("final", "observations")
RELATIONS = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
ACCOUNTANTS = ("prv", "rdp", "gdp")


@dataclass(frozen=True, eq=False)
class OpacusTraining(Mechanism):
    """A PyTorch module trained with Opacus' `PrivacyEngine.make_private`, one model a run, on one thread.

    A dataset is an `(X, y)` pair or `TrainingData`; X reaches the module in the type of its parameters, whole numbers y
    as int64. Gradient records stand in the batch like examples, and their gradient replaces that of the module before
    Opacus clips it. PyTorch's seed is drawn from `rng` for each run; the secure mode of Opacus is off, so that its
    floating-point noise is that of experiments.

    Args:
        make_model: makes a `torch.nn.Module`; random initial weights are drawn anew in each run. A function of a
            module, or a lambda.
        make_optimizer: parameters -> `torch.optim.Optimizer`.
        n_records: the public number of records, for which the claim is computed: that of the larger dataset of a pair.
        batch_size: of the `DataLoader` that is handed to Opacus; n_records for full batches.
        noise_multiplier: standard deviation of the noise on the sum of gradients / max_grad_norm, >= 0.
        max_grad_norm: largest norm of the gradient of a record, > 0.
        epochs: of `batches_per_epoch` steps each.
        loss: a module (outputs, y) -> mean loss of the batch; None for `torch.nn.CrossEntropyLoss()`.
        poisson_sampling: as for `make_private`; if False, batches are those of a shuffling `DataLoader`, and Opacus
            still counts them as Poisson: audit `claim=mechanism.opacus_claim(delta)` to see what that is worth.
        constants: "opacus", as it comes: `make_private` computes the sampling rate, the steps of an epoch and the
            number by which it divides gradients from the private dataset. "public": from `n_records`, on both sides.
        grad_sample_mode: as for `make_private`: "hooks", "ew", "functorch", or "ghost" (without gradient records).
        initial: flat parameters from which every run starts, `(n_parameters,)`; None for those of `make_model`.
        relation: add_remove, or replace_one, where a record can move a sum twice as far.
        view: what is released. "final": flat trainable parameters `(size, n_parameters)` in the order of
            `module.parameters()`. "observations": what a white-box adversary sees of a gradient record, `(size,
            steps)`: the noisy gradient of each step along `observed`, times the public divisor / max_grad_norm, so
            that a record along it adds 1 and the noise has standard deviation noise_multiplier.
        observed: the observed unit direction, `(n_parameters,)`; None for the first parameter.

    Raises:
        ParameterError: a value out of range; or the extra is missing: pip install "dpassay[torch]".

    Guarantees:
        * Runs are a function of dataset and generator, and leave the global random state of PyTorch as it was.
        * No run is dropped: one that raises, or ends in NaN, is an event.

    Example:
        >>> mechanism = OpacusTraining(
        ...     lambda: torch.nn.Linear(64, 10), make_optimizer=lambda p: torch.optim.SGD(p, lr=0.5),
        ...     n_records=500, batch_size=50, epochs=2, noise_multiplier=1.5)
        >>> mechanism.steps, mechanism.sampling_probability
        (20, 0.1)
        >>> round(mechanism.guarantee().epsilon(1e-5), 2)
        1.69
    """

    make_model: Callable[[], Any]
    _: KW_ONLY
    make_optimizer: Callable[[Any], Any]
    n_records: int
    batch_size: int
    noise_multiplier: float
    max_grad_norm: float = 1.0
    epochs: int = 1
    loss: Any = None
    poisson_sampling: bool = True
    constants: str = "opacus"
    grad_sample_mode: str = "hooks"
    initial: ArrayLike | None = field(default=None, repr=False)
    relation: Relation = Relation.ADD_REMOVE
    view: str = "final"
    observed: ArrayLike | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("make_model", "make_optimizer"):
            made = getattr(self, name)
            if not callable(made) or (hasattr(made, "state_dict") and not isinstance(made, type)):
                raise ParameterError(
                    f"{name} must be a function that makes a fresh one for each run, but is a {type(made).__name__}.",
                    argument=name,
                )
        whole(1, n_records=self.n_records, batch_size=self.batch_size, epochs=self.epochs)
        if self.batch_size > self.n_records:
            raise ParameterError(
                f"batch_size must be at most n_records, but is {self.batch_size} of {self.n_records}. For full batches "
                f"use batch_size={self.n_records}.",
                argument="batch_size",
            )
        non_negative(noise_multiplier=self.noise_multiplier)
        positive(max_grad_norm=self.max_grad_norm)
        one_of(CONSTANTS, constants=self.constants)
        one_of(VIEWS, view=self.view)
        one_of(RELATIONS, relation=str(self.relation))
        object.__setattr__(self, "relation", Relation.of(self.relation))

    # --- what the options mean ----------------------------------------------------------------------------------------

    @property
    def sampling_probability(self) -> float:
        """Of Poisson sampling: Opacus takes 1 / the length of the `DataLoader`, not batch_size / n_records."""
        return 1.0 / -(-self.n_records // self.batch_size)

    @property
    def batches_per_epoch(self) -> int:
        """Steps of an epoch: the length of the `DataLoader`, at times 1 less with Poisson sampling, where Opacus rounds
        1 / sampling_probability down."""
        return int(1.0 / self.sampling_probability) if self.poisson_sampling else round(1.0 / self.sampling_probability)

    @property
    def steps(self) -> int:
        """Of a whole training."""
        return self.epochs * self.batches_per_epoch

    @property
    def divisor(self) -> int:
        """By which a sum of gradients is divided: Opacus takes the expected batch size, rounded down."""
        return self.n_records // self.batches_per_epoch

    @property
    def scheme(self) -> Sampling:
        """How batches are drawn."""
        if self.poisson_sampling or self.batches_per_epoch == 1:
            return PoissonSampling(
                sampling_probability=self.sampling_probability, expected_batch_size=float(self.divisor)
            )
        return ShuffledEpochs(batch_size=self.batch_size, n_records=self.n_records)

    @cached_property
    def n_parameters(self) -> int:
        """Trainable numbers of the module."""
        return int(_torch().n_parameters(self.make_model))

    @cached_property
    def direction(self) -> NDArray[np.float64]:
        """The observed direction, that of the canary of `canary_pair`."""
        if self.observed is None:
            return np.array(np.arange(self.n_parameters) == 0, dtype=np.float64)
        found = np.asarray(self.observed, dtype=np.float64)
        if found.shape != (self.n_parameters,) or not abs(np.linalg.norm(found) - 1.0) < 1e-6:
            raise ParameterError(
                f"observed must be a unit vector of {self.n_parameters} numbers, one a parameter, but has shape "
                f"{found.shape} and norm {np.linalg.norm(found):.3g}.",
                argument="observed",
            )
        return found

    # --- the mechanism ------------------------------------------------------------------------------------------------

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` trainings, one after the other."""
        whole(0, size=size)
        data = TrainingData.of(dataset)
        shape = (self.n_parameters if self.view == "final" else self.steps,)
        form = Form(shape, f"shape {shape}")
        if not size:
            return Outputs(np.empty((0, *shape)))
        return collect([self._run(data, seed) for seed in _seeds(size, rng)], form)

    def fit_subsets(
        self, records: Dataset, inclusion: NDArray[np.bool_], rng: np.random.Generator
    ) -> OpacusClassifiers:
        """One model a row of `inclusion`, `(n_models, n_records)`, trained on its own records: a `Learner`.

        With `constants` "opacus" the sampling rate is that of the subset.
        """
        data = TrainingData.of(records)
        inclusion = np.asarray(inclusion, dtype=np.bool_)
        if inclusion.ndim != 2 or inclusion.shape[1] != len(data) or not inclusion.any(axis=1).all():
            raise ParameterError(
                f"inclusion must have shape (n_models, {len(data)}), one column a record and at least one record a "
                f"row, but has shape {inclusion.shape}.",
                argument="inclusion",
            )
        trained = [
            self._train(_subset(data, rows), seed, "final")
            for rows, seed in zip(inclusion, _seeds(len(inclusion), rng), strict=True)
        ]
        return _torch().OpacusClassifiers.of(self.make_model, np.array(trained), data.X)  # type: ignore[no-any-return]

    def guarantee(self) -> Guarantee:
        """Our own accountant's: Poisson or full batches by privacy-loss distributions; shuffled batches, under
        replace_one, without amplification.

        Raises:
            AccountingError: no noise; or shuffled batches under add_remove, where neighbours have other batches.
        """
        return self._claim

    def opacus_claim(self, delta: float, *, accountant: str = "prv") -> ApproximateDP:
        """What Opacus' `PrivacyEngine.get_epsilon(delta)` says of the same training, whatever the sampling.

        Args:
            delta: in (0, 1).
            accountant: "prv", "rdp" or "gdp", as for `PrivacyEngine`. The last is an approximation, no bound.
        """
        one_of(ACCOUNTANTS, accountant=accountant)
        return ApproximateDP(_torch().claimed_epsilon(self, delta, accountant), delta)

    def worst_case(self) -> Neighbours:
        """Not known for any module.

        Raises:
            ParameterError: always.
        """
        raise ParameterError(
            "neighbours must be given: nobody knows the worst case of any module. Try mechanism.canary_pair((X, y)), "
            "or mechanisms.records.remove_record((X, y), index).",
            argument="neighbours",
        )

    def canary_pair(self, dataset: Dataset) -> Neighbours:
        """`dataset`, of n_records - 1 examples, without and with a record of the largest gradient along `direction`.

        Under replace_one, side 0 has the opposite one.
        """
        data = TrainingData.of(dataset)
        if len(data) != self.n_records - 1:
            raise ParameterError(
                f"dataset must leave room for the canary: n_records - 1 = {self.n_records - 1} records, but has "
                f"{len(data)}. Give n_records={len(data) + 1}, or other data."
            )
        extreme = self.max_grad_norm * self.direction[None, :]
        other = [] if data.gradients is None else [data.gradients]
        without = [] if self.relation is Relation.ADD_REMOVE else [-extreme]
        d0, d1 = (
            TrainingData(data.X, data.y, np.concatenate([*other, *own]) if other or own else None)
            for own in (without, [extreme])
        )
        return Neighbours(d0, d1, self.relation)

    def fitted_to(self, neighbours: Neighbours) -> OpacusTraining:
        """The larger side has `n_records`, both differ in one record, which the view can show, and a first model of
        either trains."""
        super().fitted_to(neighbours)
        sides = [TrainingData.of(neighbours.side(side)) for side in (0, 1)]
        check_records(Neighbours(_records(sides[0]), _records(sides[1]), neighbours.relation))
        if max(map(len, sides)) != self.n_records:
            raise ParameterError(
                f"n_records is {self.n_records}, but the larger dataset has {max(map(len, sides))} records: the claim "
                f"would be that of another sampling rate. Give n_records={max(map(len, sides))}.",
                argument="n_records",
            )
        if self.view == "observations":
            self._check_seen(neighbours)
        found = [self._run(data, seed=0) for data in sides]
        if all(isinstance(outcome, Raised) for outcome in found):
            raise ReleaseError(
                f"a first training raised {found[1].error} on both sides: {found[1].message}. An exception counts as "
                "an outcome only if some run succeeds; fix the module or its data."
            )
        return self

    def output_law(self) -> LogDensity | None:
        """That of noisy observations; not known for the other view."""
        return _ObservationLaw(self) if self.view == "observations" and self.noise_multiplier else None

    @property
    def workers(self) -> Workers:
        """Processes: PyTorch is kept to one thread, and its random state is global."""
        return Workers.PROCESSES

    # --- private ------------------------------------------------------------------------------------------------------

    @cached_property
    def _claim(self) -> Guarantee:
        if not self.noise_multiplier:
            raise AccountingError(
                "noise_multiplier is 0: training without noise has no finite epsilon. Give a noise_multiplier > 0, or "
                "a claim of your own to audit against.",
                argument="noise_multiplier",
            )
        if isinstance(self.scheme, ShuffledEpochs) and self.relation is Relation.ADD_REMOVE:
            raise AccountingError(
                "poisson_sampling is False: no theorem here covers shuffled batches under 'add_remove', where a record "
                "more shifts the batches of the others. Use relation='replace_one', or give a claim to audit against, "
                "such as mechanism.opacus_claim(1e-5).",
                argument="poisson_sampling",
            )
        relative = self.noise_multiplier / (2.0 if self.relation is Relation.REPLACE_ONE else 1.0)
        return self.scheme.guarantee(relative, steps=self.steps, relation=self.relation)

    def _check_seen(self, neighbours: Neighbours) -> None:
        """Raises `NeighboursError` where the observed direction sees nothing of what differs: a leak would not show."""
        only0, only1 = differing(neighbours)
        moved = float(self._shifts(only1).sum() - self._shifts(only0).sum())
        if only0.n_examples or only1.n_examples or abs(moved) < UNSEEN:
            raise NeighboursError(
                "view 'observations' shows noisy gradients along one direction, but d0 and d1 differ in an example, "
                "whose gradient changes with the parameters, or in a gradient record at right angles to it: no leak "
                "could be seen. Give mechanism.canary_pair((X, y)), an `observed` along the record, or view='final'.",
                argument="view",
            )

    def _shifts(self, data: TrainingData) -> Floats:
        """What each record adds to an observation, `(n_records,)`, examples first (0)."""
        shifts = np.zeros(len(data))
        if data.gradients is not None:
            norms = np.linalg.norm(data.gradients, axis=1)
            shifts[data.n_examples :] = data.gradients @ self.direction / np.maximum(norms, self.max_grad_norm)
        return shifts

    def _run(self, data: TrainingData, seed: int) -> Any:
        """What one training releases, or `Raised` in its place."""
        try:
            return self._train(data, seed, self.view)
        except (DpassayError, MemoryError):
            raise
        except Exception as error:
            return Raised.by(error)

    def _train(self, data: TrainingData, seed: int, view: str) -> Floats:
        """One training: flat parameters, or observations."""
        if data.gradients is not None:
            self._check_gradients(data.gradients)
        trained: Floats = _torch().train(self, data, seed, view)
        return trained

    def _check_gradients(self, gradients: Floats) -> None:
        if "ghost" in self.grad_sample_mode:
            raise ParameterError(
                f"grad_sample_mode is {self.grad_sample_mode!r}, which makes no gradients of single records: gradient "
                "records cannot be put in. Use 'hooks', or examples alone.",
                argument="grad_sample_mode",
            )
        if gradients.shape[1] != self.n_parameters:
            raise ParameterError(
                f"gradients must have one number for each of the {self.n_parameters} trainable parameters, but have "
                f"shape {gradients.shape}.",
                argument="gradients",
            )


@dataclass(frozen=True, eq=False)
class _ObservationLaw:
    """The law of the noisy observations of `training`."""

    training: OpacusTraining

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density of observations, `(size,)`, if the examples contribute nothing along the observed direction."""
        from ..learning.dp_sgd.observation_law import Observations, log_density

        training, noise = self.training, self.training.noise_multiplier
        shifts = training._shifts(TrainingData.of(dataset))[:, None]
        law = Observations(training.scheme, shifts / noise, np.array([[1.0 / noise]]))
        return log_density(np.asarray(outputs.values)[:, :, None], law)


def _torch() -> Any:
    """The module that needs PyTorch and Opacus; raises `ParameterError` if they are not there."""
    try:
        return import_module("dpassay.mechanisms.external.opacus_training")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "opacus"):
            raise
        raise ParameterError(
            f"training with Opacus needs the package {error.name}, which is not installed. Install the extra: "
            'pip install "dpassay[torch]".',
        ) from error


def _seeds(size: int, rng: np.random.Generator) -> list[int]:
    seeds: list[int] = rng.integers(2**63, size=size, dtype=np.uint64).tolist()
    return seeds


def _subset(data: TrainingData, rows: NDArray[np.bool_]) -> TrainingData:
    examples, others = rows[: data.n_examples], rows[data.n_examples :]
    gradients = None if data.gradients is None else data.gradients[others]
    return TrainingData(data.X[examples], data.y[examples], gradients)


def _records(data: TrainingData) -> list[bytes]:
    """One key a record; -0.0 counts as 0.0."""
    examples = np.column_stack([data.X, data.y]) + 0.0
    gradients = [] if data.gradients is None else [b"gradient" + (row + 0.0).tobytes() for row in data.gradients]
    return [row.tobytes() for row in examples] + gradients


__all__ = ["OpacusTraining"]
