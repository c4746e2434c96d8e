"""Training with Opacus as a mechanism: your module, your optimiser, its PrivacyEngine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...base import Dataset, LogDensity, Mechanism, Neighbours, Outputs, Workers
from ...errors import AccountingError, NeighboursError, ParameterError, ReleaseError, plural
from ...guarantees import ApproximateDP
from ...guarantees.base import Guarantee
from ...learning.base import TrainingData
from ...learning.dp_sgd.observation_law import Observations, log_density
from ...learning.dp_sgd.sampling import ShuffledEpochs
from ...learning.pairs import UNSEEN
from ...records import check_records
from ...relation import Relation
from ...validation import one_of, whole
from ..forms import Form, Raised
from ..outcomes import collect
from . import loading
from .options import ACCOUNTANTS
from .runs import OpacusRuns, seeds


@dataclass(frozen=True, eq=False)
class OpacusTraining(OpacusRuns, Mechanism):
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
            `module.parameters()`. "noisy_gradients": what a white-box adversary sees of a gradient record, `(size,
            steps, m)`: the noisy gradient of each step along the `directions`, times the public divisor /
            max_grad_norm, so that a record along one adds 1 and the noise has standard deviation noise_multiplier.
        directions: the observed unit directions, `(m, n_parameters)`; None for that in which the pair of an audit
            differs (`fitted_to`), or, outside of one, the first parameter.

    Raises:
        ParameterError: a value out of range; or the extra is missing: pip install ".[torch]".

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

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` trainings, one after the other."""
        whole(0, size=size)
        data = TrainingData.of(dataset)
        shape = (self.n_parameters,) if self.view == "final" else (self.steps, len(self.seen_directions))
        form = Form(shape, f"shape {shape}")
        if not size:
            return Outputs(np.empty((0, *shape)))
        return collect([self._run(data, seed) for seed in seeds(size, rng)], form)

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
        return ApproximateDP(loading.training().claimed_epsilon(self, delta, accountant), delta)

    def worst_case(self) -> Neighbours:
        """Not known for any module.

        Raises:
            ParameterError: always.
        """
        raise ParameterError(
            "neighbours must be given: nobody knows the worst case of any module. Try mechanism.canary_pair((X, y)), "
            "or dpassay.mechanisms.records.remove_record((X, y), index)."
        )

    def canary_pair(self, dataset: Dataset) -> Neighbours:
        """`dataset`, of n_records - 1 examples, without and with a record of the largest gradient along `direction`.

        Under replace_one, side 0 has the opposite one.
        """
        data = TrainingData.of(dataset)
        if len(data) != self.n_records - 1:
            raise ParameterError(
                f"dataset must leave room for the canary: n_records - 1 = {plural(self.n_records - 1, 'record')}, but "
                f"has {len(data)}. Give n_records={len(data) + 1}, or other data."
            )
        extreme = self.max_grad_norm * self.seen_directions[:1]
        other = [] if data.gradients is None else [data.gradients]
        without = [] if self.relation is Relation.ADD_REMOVE else [-extreme]
        d0, d1 = (
            TrainingData(data.X, data.y, np.concatenate([*other, *own]) if other or own else None)
            for own in (without, [extreme])
        )
        return Neighbours(d0, d1, self.relation)

    def fitted_to(self, neighbours: Neighbours) -> OpacusTraining:
        """Also that the larger side has `n_records`, both differ in one record, which the view can show, and a first
        model of either trains."""
        super().fitted_to(neighbours)
        sides = [TrainingData.of(neighbours.side(side)) for side in (0, 1)]
        check_records(Neighbours(_records(sides[0]), _records(sides[1]), neighbours.relation))
        if max(map(len, sides)) != self.n_records:
            raise ParameterError(
                f"n_records is {self.n_records}, but the larger dataset has {plural(max(map(len, sides)), 'record')}: "
                f"the claim would be that of another sampling rate. Give n_records={max(map(len, sides))}."
            )
        if self.view == "noisy_gradients":
            self._check_seen(neighbours)
        found = [self._run(data, seed=0) for data in sides]
        if all(isinstance(outcome, Raised) for outcome in found):
            raise ReleaseError(
                f"a first training raised {found[1].error} on both sides: {found[1].message}. An exception counts as "
                "an outcome only if some run succeeds; fix the module or its data."
            )
        return self._observing(neighbours)

    def _observing(self, neighbours: Neighbours) -> OpacusTraining:
        """View "noisy_gradients" without directions: along the gradient record in which the pair differs."""
        direction = None if self.view == "final" or self.directions is not None else self._direction_of(neighbours)
        if direction is None or abs(self.seen_directions[0] @ direction) > 1.0 - UNSEEN:
            return self
        return replace(self, directions=direction[None, :])

    def output_law(self) -> LogDensity | None:
        """That of the noisy gradients, where there is noise; not known for models."""
        return _ObservationLaw(self) if self.view == "noisy_gradients" and self.noise_multiplier else None

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
                "a claim of your own to audit against."
            )
        if isinstance(self.scheme, ShuffledEpochs) and self.relation is Relation.ADD_REMOVE:
            raise AccountingError(
                "poisson_sampling is False: no theorem here covers shuffled batches under 'add_remove', where a record "
                "more shifts the batches of the others. Use relation='replace_one', or give a claim to audit against, "
                "such as mechanism.opacus_claim(1e-5)."
            )
        relative = self.noise_multiplier / (2.0 if self.relation is Relation.REPLACE_ONE else 1.0)
        return self.scheme.guarantee(relative, steps=self.steps, relation=self.relation)

    def _check_seen(self, neighbours: Neighbours) -> None:
        """Raises `NeighboursError` where the observed directions see nothing of what differs: a leak would not show."""
        direction = self._direction_of(neighbours)
        seen = self.directions is None or direction is None or np.abs(self.seen_directions @ direction).max() > UNSEEN
        if direction is None or not seen:
            raise NeighboursError(
                "view 'noisy_gradients' shows noisy gradients along fixed directions, but d0 and d1 differ in an "
                "example, whose gradient changes with the parameters, or in a gradient record at right angles to them: "
                "no leak could be seen. Give mechanism.canary_pair((X, y)), `directions` along the record, or "
                "view='final'."
            )


@dataclass(frozen=True, eq=False)
class _ObservationLaw:
    """The law of the noisy gradients of `training`."""

    training: OpacusTraining

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density of noisy gradients, `(size,)`, if the examples contribute nothing along the directions."""
        training, data = self.training, TrainingData.of(dataset)
        directions = training.seen_directions
        shifts = np.zeros((len(data), len(directions)))
        shifts[data.n_examples :] = training._clipped(data) @ directions.T / training.max_grad_norm
        law = Observations.along(directions, training.noise_multiplier, training.scheme, shifts)
        return log_density(np.asarray(outputs.values), law)


def _records(data: TrainingData) -> list[bytes]:
    """One key a record; -0.0 counts as 0.0."""
    examples = np.column_stack([data.X, data.y]) + 0.0
    gradients = [] if data.gradients is None else [b"gradient" + (row + 0.0).tobytes() for row in data.gradients]
    return [row.tobytes() for row in examples] + gradients
