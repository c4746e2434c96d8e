"""Training with Opacus as a mechanism: the user's module and optimiser, with Opacus' PrivacyEngine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...accounting import ApproximateDP
from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs, Workers
from ...core.errors import AccountingError, NeighboursError, ParameterError, ReleaseError, plural
from ...core.guarantee import Guarantee
from ...core.records import check_records
from ...core.relation import Relation
from ...core.validation import one_of, whole
from ...learning.base import MAX_ROUNDING, TrainingData
from ...learning.dp_sgd.observation_law import Observations, log_density
from ...learning.dp_sgd.sampling import ShuffledEpochs
from ..functions.forms import RaisedException, ResultForm
from ..functions.outcomes import collect
from .options import OPACUS_ACCOUNTANTS
from .runs import OpacusRuns, seeds


@dataclass(frozen=True, eq=False)
class OpacusTraining(OpacusRuns, Mechanism):
    """PyTorch module trained with Opacus' `PrivacyEngine.make_private`, one model per run, on one thread.

    A dataset is an `(X, y)` pair or `TrainingData`; X reaches the module in the type of its parameters, whole numbers y
    as int64. Gradient records are part of the batch like examples, and their gradient replaces that of the module
    before Opacus clips it. PyTorch's seed is drawn from `rng` for each run; the secure mode of Opacus is off, so its
    floating-point noise is suitable for experiments only.

    Args:
        make_model: function without arguments that returns a `torch.nn.Module`, called once per run, so that random
            initial weights are drawn in each run. A function of a module, or a lambda.
        make_optimizer: function from parameters to a `torch.optim.Optimizer`.
        n_records: the public number of records, for which the claim is computed: that of the larger dataset of a pair.
        batch_size: batch size of the `DataLoader` passed to Opacus; n_records for full batches.
        noise_multiplier: standard deviation of the noise on the sum of gradients / max_grad_norm, >= 0.
        max_grad_norm: largest norm of the gradient of a record, > 0.
        epochs: number of epochs, of `batches_per_epoch` steps each.
        loss: a module (outputs, y) -> mean loss of the batch; None for `torch.nn.CrossEntropyLoss()`.
        poisson_sampling: see `make_private`; if False, batches are those of a shuffling `DataLoader`, and Opacus
            still treats them as Poisson: audit `claim=mechanism.opacus_claim(delta)` to test this claim.
        constants: "opacus", unchanged: `make_private` computes the sampling rate, the steps of an epoch and the
            divisor of gradients from the private dataset. "public": from `n_records`, on both sides.
        grad_sample_mode: see `make_private`: "hooks", "ew", "functorch", or "ghost" (without gradient records).
        initial: flat parameters from which every run starts, `(n_parameters,)`; None for those of `make_model`.
        relation: add_remove, or replace_one, where a record can move a sum twice as far.
        view: the released output. "final": flat trainable parameters `(size, n_parameters)` in the order of
            `module.parameters()`. "noisy_gradients": the view of a white-box adversary on a gradient record, `(size,
            steps, m)`: the noisy gradient of each step along the `directions`, times the public divisor /
            max_grad_norm, so that a record along a direction adds 1 and the noise has standard deviation
            noise_multiplier.
        directions: the observed unit directions, `(m, n_parameters)`; None for the direction in which the pair of an
            audit differs (`bind`), or, outside of an audit, the first parameter.

    Raises:
        ParameterError: a value is out of range, or the extra is missing: pip install ".[torch]".

    Guarantees:
        * Runs are a function of dataset and generator, and do not change the global random state of PyTorch.
        * No run is dropped: a run that raises, or ends in NaN, is an event.

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
        """Return the outputs of `size` trainings, made one after the other."""
        whole(0, size=size)
        data = TrainingData.of(dataset)
        shape = (self.n_parameters,) if self.view == "final" else (self.steps, len(self.seen_directions))
        form = ResultForm(shape, f"shape {shape}")
        if not size:
            return Outputs(np.empty((0, *shape)))
        return collect([self._run(data, seed) for seed in seeds(size, rng)], form)

    def guarantee(self) -> Guarantee:
        """Return the claim of this library's accountant.

        Poisson or full batches are accounted for by privacy-loss distributions; shuffled batches, under replace_one,
        without amplification.

        Raises:
            AccountingError: no noise; or shuffled batches under add_remove, where a record changes other batches.
        """
        return self._claim

    def opacus_claim(self, delta: float, *, accountant: str = "prv") -> ApproximateDP:
        """Return the claim of Opacus' `PrivacyEngine.get_epsilon(delta)` for this training, whatever the sampling.

        Args:
            delta: in (0, 1).
            accountant: "prv", "rdp" or "gdp", see `PrivacyEngine`. The last is an approximation, not a bound.
        """
        one_of(OPACUS_ACCOUNTANTS, accountant=accountant)
        return ApproximateDP(self.library.claimed_epsilon(self, delta, accountant), delta)

    def worst_case(self) -> Neighbours:
        """Raise an error: the worst case is not known for arbitrary modules.

        Raises:
            ParameterError: always.
        """
        raise ParameterError(
            "neighbours must be given: the worst case of a module is not known. Try mechanism.canary_pair((X, y)), "
            "or dpassay.mechanisms.core.records.remove_record((X, y), index)."
        )

    def canary_pair(self, dataset: Dataset) -> Neighbours:
        """Return `dataset` without and with a record of the largest gradient along the first direction.

        `dataset` has n_records - 1 examples. Under replace_one, side 0 has the opposite record.
        """
        data = TrainingData.of(dataset)
        if len(data) != self.n_records - 1:
            raise ParameterError(
                f"dataset must leave room for the canary: n_records - 1 = {plural(self.n_records - 1, 'record')}, but "
                f"has {len(data)}. Set n_records={len(data) + 1}, or use other data."
            )
        canary = self.max_grad_norm * self.seen_directions[:1]
        other = [] if data.gradients is None else [data.gradients]
        without = [] if self.relation is Relation.ADD_REMOVE else [-canary]
        d0, d1 = (
            TrainingData(data.X, data.y, np.concatenate([*other, *extra]) if other or extra else None)
            for extra in (without, [canary])
        )
        return Neighbours(d0, d1, self.relation)

    def bind(self, neighbours: Neighbours) -> OpacusTraining:
        """Return the mechanism for this pair.

        In addition to the checks of the base class, the larger side must have `n_records`, both sides must differ in
        one record that the view can show, and a first model of at least one side must train.
        """
        super().bind(neighbours)
        sides = [TrainingData.of(neighbours.side(side)) for side in (0, 1)]
        check_records(Neighbours(_records(sides[0]), _records(sides[1]), neighbours.relation))
        if max(map(len, sides)) != self.n_records:
            raise ParameterError(
                f"n_records is {self.n_records}, but the larger dataset has {plural(max(map(len, sides)), 'record')}: "
                f"the claim would be that of another sampling rate. Set n_records={max(map(len, sides))}."
            )
        if self.view == "noisy_gradients":
            self._check_seen(neighbours)
        first_runs = [self._run(data, seed=0) for data in sides]
        if all(isinstance(outcome, RaisedException) for outcome in first_runs):
            raise ReleaseError(
                f"a first training raised {first_runs[1].error} on both sides: {first_runs[1].message}. An exception "
                "counts as an outcome only if some run succeeds; fix the module or its data."
            )
        return self._observing(neighbours)

    def _observing(self, neighbours: Neighbours) -> OpacusTraining:
        """Return the mechanism with default directions along the gradient record in which the pair differs."""
        direction = None if self.view == "final" or self.directions is not None else self._direction_of(neighbours)
        if direction is None or abs(self.seen_directions[0] @ direction) > 1.0 - MAX_ROUNDING:
            return self
        return replace(self, directions=direction[None, :])

    def output_law(self) -> LogDensity | None:
        """Return the law of the noisy gradients, if there is noise; None for models, whose law is not known."""
        return _ObservationLaw(self) if self.view == "noisy_gradients" and self.noise_multiplier else None

    @property
    def workers(self) -> Workers:
        """Processes: PyTorch is limited to one thread, and its random state is global."""
        return Workers.PROCESSES

    # --- private ------------------------------------------------------------------------------------------------------

    @cached_property
    def _claim(self) -> Guarantee:
        if not self.noise_multiplier:
            raise AccountingError(
                "noise_multiplier is 0: training without noise has no finite epsilon. Set noise_multiplier > 0, or "
                "pass a claim to audit against."
            )
        if isinstance(self.scheme, ShuffledEpochs) and self.relation is Relation.ADD_REMOVE:
            raise AccountingError(
                "poisson_sampling is False: no theorem here covers shuffled batches under 'add_remove', where an added "
                "record shifts the batches of the others. Use relation='replace_one', or pass a claim to audit "
                "against, such as mechanism.opacus_claim(1e-5)."
            )
        relative = self.noise_multiplier / (2.0 if self.relation is Relation.REPLACE_ONE else 1.0)
        return self.scheme.guarantee(relative, steps=self.steps, relation=self.relation)

    def _check_seen(self, neighbours: Neighbours) -> None:
        """Raise `NeighboursError` if the difference is orthogonal to all observed directions, which hides a leak."""
        direction = self._direction_of(neighbours)
        is_visible = (
            self.directions is None
            or direction is None
            or np.abs(self.seen_directions @ direction).max() > MAX_ROUNDING
        )
        if direction is None or not is_visible:
            raise NeighboursError(
                "view 'noisy_gradients' shows noisy gradients along fixed directions, but d0 and d1 differ in an "
                "example, whose gradient changes with the parameters, or in a gradient record at right angles to them: "
                "no leak could be seen. Use mechanism.canary_pair((X, y)), `directions` along the record, or "
                "view='final'."
            )


@dataclass(frozen=True, eq=False)
class _ObservationLaw:
    """Law of the noisy gradients of `training`."""

    training: OpacusTraining

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of noisy gradients, `(size,)`, if examples add nothing along the directions."""
        training, data = self.training, TrainingData.of(dataset)
        directions = training.seen_directions
        shifts = np.zeros((len(data), len(directions)))
        shifts[data.n_examples :] = training._clipped(data) @ directions.T / training.max_grad_norm
        law = Observations.along(directions, training.noise_multiplier, training.scheme, shifts)
        return log_density(np.asarray(outputs.values), law)


def _records(data: TrainingData) -> list[bytes]:
    """Return one key per record; -0.0 counts as 0.0."""
    examples = np.column_stack([data.X, data.y]) + 0.0
    gradients = [] if data.gradients is None else [b"gradient" + (row + 0.0).tobytes() for row in data.gradients]
    return [row.tobytes() for row in examples] + gradients
