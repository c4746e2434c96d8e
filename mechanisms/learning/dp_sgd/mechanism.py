"""DP-SGD: stochastic gradient descent on clipped gradients with Gaussian noise, thousands of runs at once."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...core.arrays import Bools, Floats
from ...core.base import Data, Dataset, LogDensity, Mechanism, Neighbours, Outputs, example
from ...core.constraints import NonNegative, Positive, PositiveInt, one_of_names
from ...core.errors import AccountingError, ParameterError
from ...core.fingerprint import same_fields
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...core.validation import one_of, positive, whole
from ..base import MAX_ROUNDING, AnyFloats, TrainingData
from ..models.architectures import LogisticRegression
from ..models.base import Model
from ..models.trained import TrainedModels
from .adversaries import AdversaryViews
from .catalogue import MODEL_OPTIONS, SAMPLING_OPTIONS, build_model, build_noise, build_sampling, optimizers
from .directions import check_pair, check_seen, gradient_direction
from .noise.base import StepNoise
from .observation_law import ObservationLaw, view_curve
from .optimizers import Adam
from .sampling.base import Sampling
from .sampling.full_batch import FullBatch
from .steps import CLIPPINGS, ConstantSchedule, Schedule
from .training import Recipe, Trainer, checked_inclusion, claim_of

VIEWS = ("final", "trajectory", "noisy_gradients")
AVERAGES = ("last", "mean", "second-half")
DTYPES = ("float64", "float32")


@dataclass(frozen=True, eq=False)
class DPSGD(AdversaryViews, Mechanism):
    """DP-SGD: each step updates the parameters by the noisy sum of the clipped gradients of a batch.

        S_t     = sum over the batch of clip(gradient) + N(0, (noise_multiplier * clip_norm)^2 I)
        theta_t = theta_(t-1) - learning_rate_t * S_t / divisor

    The divisor is the (expected) batch size, a public constant. A dataset is an `(X, y)` pair or `TrainingData`, which
    may also hold gradient records.

    Args:
        model: a `Model`, or the name of one, which is built with `n_features`, `n_classes` and `hidden`.
        steps: >= 1.
        noise_multiplier: standard deviation of the noise on the sum / clip_norm, >= 0. Under replace_one, where the sum
            can change by 2 clip_norm, the guarantee uses half of it.
        noise: a `StepNoise`, or the name of one whose options have defaults: "independent", or correlated between steps
            by "tree", "banded" or "buffered-toeplitz" (`dpassay.mechanisms.learning.dp_sgd.noise`).
        clip_norm: largest norm of the gradient of a record, > 0.
        sampling: a scheme of `dpassay.mechanisms.learning.dp_sgd.sampling`, or "poisson" (with
            `sampling_probability` and `batch_size`, the expected one), "cyclic-poisson" (also `batches_per_epoch`),
            "truncated-poisson" (also `largest_batch`), "random-allocation" (with `batches_per_epoch`,
            `participations` and `batch_size`), "fixed-size", "shuffled", "cyclic" (with `batch_size`), or "full-batch"
            (with `batch_size`, the divisor; 1 for the sum).
        batch_size, sampling_probability, n_records, batches_per_epoch, participations, largest_batch: options of a
            sampling that is given by name.
        n_features, n_classes, hidden, activation: options of a model that is given by name. Public constants: the
            labels in the data must not change the model. `n_classes` of a perceptron is its number of outputs.
        learning_rate: a number > 0, or a `Schedule`.
        momentum: in [0, 1).
        optimizer: "sgd", "adam", or an `Adam`. An optimiser is post-processing, and does not change the claim.
        clipping: "flat", "per-layer" (each of L layers to clip_norm / sqrt(L)) or "none".
        projection: radius of the ball about 0 on which the parameters are projected after each step; None for none.
        averaging: for the view "final", of the iterates 1 .. steps: "last", "mean", or "second-half" (the mean of the
            second half).
        initial: "zeros", "random" (drawn for each run), or flat parameters `(n_parameters,)`; None for zeros, with
            hidden layers random.
        relation: add_remove, zero_out (a blank record, x = 0 and y = 0, or a gradient of 0, contributes nothing) or
            replace_one. None for the default of the sampling.
        dtype: "float64" or "float32", the data type of all arithmetic.
        view: the released output. "final": flat parameters `(size, n_parameters)`; "trajectory": the parameters before
            and after every step, `(size, steps + 1, n_parameters)`; "noisy_gradients": `(size, steps, m)`, the inner
            products of the noisy sums with the `directions`, divided by clip_norm, so that a record whose gradient is
            clip_norm times a direction adds 1 and independent noise has standard deviation noise_multiplier.
        directions: unit directions `(m, n_parameters)`; None for the direction in which the pair of an audit differs
            (`bind`), or, outside an audit, the direction of the canary of `worst_case`.

    Raises:
        ParameterError: a value out of range, or options that contradict each other.

    Guarantees:
        * The law of an output depends on the dataset only through its records: rate, divisor and noise are the same on
          both sides of a pair.
        * A run is independent of the others, and the outputs are a function of dataset, size and generator.
        * Norms of per-example gradients are exact (no gradient is materialised), clipping is per example.

    References:
        Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang (2016), Algorithm 1.

    Example:
        >>> from dpassay.mechanisms.learning.models import SoftmaxRegression
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(200, 5)), rng.integers(0, 3, size=200)
        >>> mechanism = DPSGD(SoftmaxRegression(5, 3), steps=50, noise_multiplier=2.0, sampling_probability=0.1,
        ...                   batch_size=20, learning_rate=0.5)
        >>> mechanism.release((X, y), 1000, rng).values.shape
        (1000, 18)
        >>> round(mechanism.guarantee().epsilon(1e-5), 2)
        1.65
    """

    _dataset = Data.TRAINING
    _example = example(
        model=LogisticRegression(2), steps=2, sampling=FullBatch(expected_batch_size=1), view="noisy_gradients"
    )

    model: Model | str
    _: KW_ONLY
    steps: PositiveInt
    noise_multiplier: NonNegative
    noise: StepNoise | str = "independent"
    clip_norm: Positive = 1.0
    sampling: Sampling | str = "poisson"
    batch_size: float | None = None
    sampling_probability: float | None = None
    n_records: int | None = None
    batches_per_epoch: int | None = None
    participations: int | None = None
    largest_batch: int | None = None
    n_features: int | None = None
    n_classes: int | None = None
    hidden: tuple[int, ...] | None = None
    activation: str | None = None
    learning_rate: float | Schedule = 0.1
    momentum: NonNegative = 0.0
    optimizer: Adam | str = "sgd"
    clipping: Annotated[str, one_of_names(*CLIPPINGS)] = "flat"
    projection: Positive | None = None
    averaging: Annotated[str, one_of_names(*AVERAGES)] = "last"
    initial: str | ArrayLike | None = None
    relation: Relation = None  # type: ignore[assignment]  # resolved on construction
    dtype: Annotated[str, one_of_names(*DTYPES)] = "float64"
    view: Annotated[str, one_of_names(*VIEWS)] = "final"
    directions: ArrayLike | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.momentum >= 1.0:
            message = f"momentum must be below 1, but is {self.momentum!r}: the steps would grow without limit."
            raise ParameterError(message, argument="momentum")
        if self.adam is not None and (self.momentum or self.view == "trajectory"):
            conflict = "momentum" if self.momentum else "view"
            raise ParameterError(
                f"optimizer is Adam, and {conflict} is {getattr(self, conflict)!r}: Adam has its own mean of "
                "gradients, and its iterates do not determine the noisy sums. Leave momentum out, choose another view.",
                argument=(conflict, "optimizer"),
            )
        if self.averaging != "last" and self.view != "final":
            raise ParameterError(
                f"averaging is {self.averaging!r}, but view {self.view!r} shows no average. Leave it out.",
                argument="averaging",
            )
        self._resolve_relation()
        self._check_divisor()
        for name in ("initial", "directions"):
            if getattr(self, name) is not None and not isinstance(getattr(self, name), str):
                object.__setattr__(self, name, self._read_only(name))
        _ = self.recipe

    # --- derived options ----------------------------------------------------------------------------------------------

    @cached_property
    def network(self) -> Model:
        """Model, built if it is given by name."""
        return build_model(self.model, self._set_options(MODEL_OPTIONS))

    @cached_property
    def scheme(self) -> Sampling:
        """Sampling scheme, built if it is given by name."""
        return build_sampling(self.sampling, self._set_options(SAMPLING_OPTIONS))

    @cached_property
    def step_noise(self) -> StepNoise:
        """Noise of the steps, built if it is given by name."""
        return build_noise(self.noise)

    @cached_property
    def schedule(self) -> Schedule:
        """Schedule of the learning rates."""
        if isinstance(self.learning_rate, Schedule):
            return self.learning_rate
        positive(learning_rate=self.learning_rate)
        return ConstantSchedule(self.learning_rate)

    @cached_property
    def adam(self) -> Adam | None:
        """Options of Adam, built if it is given by name; None for gradient descent."""
        if isinstance(self.optimizer, Adam):
            return self.optimizer
        one_of(("sgd", *optimizers), optimizer=self.optimizer)
        return None if self.optimizer == "sgd" else optimizers.build(self.optimizer)

    @cached_property
    def canary(self) -> Floats:
        """Unit direction of the gradient canary of `worst_case`.

        The first weight of the first unit; with clipping per layer, the first weight of every layer equally.
        """
        layers = self.network.layers if self.clipping == "per-layer" else self.network.layers[:1]
        direction = np.zeros(self.network.n_parameters)
        direction[[layer.start for layer in layers]] = len(layers) ** -0.5
        return direction

    @cached_property
    def seen_directions(self) -> Floats:
        """Observed directions, `(m, n_parameters)`."""
        return self.canary[None, :] if self.directions is None else np.asarray(self.directions)

    @cached_property
    def recipe(self) -> Recipe:
        return Recipe(
            model=self.network,
            sampling=self.scheme,
            rates=self.schedule.rates(self.steps),
            noise_multiplier=float(self.noise_multiplier),
            noise=self.step_noise,
            clip_norm=float(self.clip_norm),
            clipping=self.clipping,
            momentum=float(self.momentum),
            adam=self.adam,
            projection=self.projection,
            averaging=self.averaging,
            initial=self._initial(),
            ignore_blank=self.relation is Relation.ZERO_OUT,
            dtype=np.dtype(self.dtype),
        )

    # --- the mechanism ------------------------------------------------------------------------------------------------

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the outputs of `size` runs of training; see `view` for their shape."""
        whole(0, size=size)
        return self._release(TrainingData.of(dataset), size, rng, None)

    def release_subsets(self, records: Dataset, inclusion: Bools, rng: np.random.Generator) -> Outputs:
        """Return the outputs of one run for each row of `inclusion`, `(n_runs, n_records)`, on its records only."""
        data = TrainingData.of(records)
        mask = checked_inclusion(inclusion, len(data))
        return self._release(data, len(mask), rng, mask)

    def fit_subsets(self, records: Dataset, inclusion: Bools, rng: np.random.Generator) -> TrainedModels:
        """Train one model for each row of `inclusion`, `(n_models, n_records)`, for any view."""
        data = TrainingData.of(records)
        mask = checked_inclusion(inclusion, len(data))
        return TrainedModels(self.network, self._final(data, len(mask), rng, mask))

    def fit(self, dataset: Dataset, size: int, rng: np.random.Generator) -> TrainedModels:
        """Train `size` models on the whole dataset."""
        whole(0, size=size)
        return TrainedModels(self.network, self._final(TrainingData.of(dataset), size, rng, None))

    def guarantee(self) -> Guarantee:
        """Return the claim for this sampling and relation.

        Raises:
            AccountingError: no noise, no clipping, or a sampling that has no bound under the relation.
        """
        return self._claim

    @cached_property
    def _claim(self) -> Guarantee:
        return claim_of(self.recipe, self.relation, all_seen=self.shows_all)

    def worst_case(self) -> Neighbours:
        """Return a pair of gradient records along `canary`, with the largest gradient on side 1.

        Where other records change nothing, as for Poisson and full batches, this is the only record of side 1; on side
        0 it is missing (add_remove), blank (zero_out) or opposite (replace_one). For batches whose size is fixed or
        cut, all other records are opposite too (Chua et al. 2024).
        For cyclic batches the record is in the batch whose steps show the most under the noise of `noise`.
        """
        extreme = self.clip_norm * self.canary
        others = -np.tile(extreme, (self.scheme.worst_case_records - 1, 1))
        noise, place = self.step_noise, 0
        if not noise.independent:
            place = self.scheme.worst_case_place(noise.strategy(self.steps))
        without = {
            Relation.ADD_REMOVE: others,
            Relation.ZERO_OUT: np.insert(others, place, 0.0, axis=0),
            Relation.REPLACE_ONE: np.insert(others, place, -extreme, axis=0),
        }[self.relation]
        return Neighbours(
            self._only_gradients(without),
            self._only_gradients(np.insert(others, place, extreme, axis=0)),
            self.relation,
        )

    def bind(self, neighbours: Neighbours) -> DPSGD:
        """Return the mechanism for this pair, after checking that both sides fit the model.

        The sides must differ in one record, an example or a gradient record, and the view must show the difference.

        Raises:
            RelationError, NeighboursError: a pair that the claim does not cover, or whose difference view
                "noisy_gradients" does not show.
            ParameterError: data that do not fit the model or the sampling.
        """
        super().bind(neighbours)
        check_pair(self.recipe, neighbours)
        self.check_seen(neighbours)
        return self.observing(neighbours)

    def check_seen(self, neighbours: Neighbours) -> None:
        """Raise `NeighboursError` if the view does not show the difference of the pair."""
        if self.view == "noisy_gradients":
            check_seen(self.recipe, neighbours, None if self.directions is None else self.seen_directions)

    def observing(self, neighbours: Neighbours) -> DPSGD:
        """Return the mechanism that observes along the difference of the pair, unless directions are specified."""
        if self.view != "noisy_gradients" or self.directions is not None:
            return self
        direction = gradient_direction(self.recipe, neighbours)
        if direction is None or np.linalg.norm(self.seen_directions @ direction) > 1.0 - MAX_ROUNDING:
            return self
        return replace(self, directions=direction)

    @property
    def shows_all(self) -> bool:
        """True if the output determines the noisy sums along the canary: an exact claim is then attained."""
        if self.view == "trajectory":
            return self.projection is None and bool(self.recipe.rates.all())
        return self.view == "noisy_gradients" and self.directions is None

    def output_law(self) -> LogDensity | None:
        """Return the law of the observations; None for the other views, and where the law is not known.

        With correlated noise it is known for fixed batches, and for cyclic Poisson samples of at least as many blocks
        as the noise has bands.
        """
        noise = self.step_noise
        if self.view != "noisy_gradients":
            return None
        if not (noise.independent or self.scheme.knows_correlated(noise.strategy(self.steps))):
            return None
        return ObservationLaw(self.recipe, self.seen_directions)

    def white_box_guarantee(self) -> Guarantee | None:
        """Return the curve of the worst-case pair if all noisy sums are seen; None where it is not known.

        For Poisson sampling, this is the curve on the grid of the accountant, which is above the exact one by less than
        its stated precision.
        """
        if not (self.trains_as_stated and self.scheme.tight):
            return None
        try:
            worst = claim_of(self.recipe, self.relation, all_seen=True)
        except AccountingError:
            return None
        return worst if self.step_noise.independent or worst.exact else None

    def view_guarantee(self, neighbours: Neighbours) -> Guarantee | None:
        """Return the curve of the view on a pair, see `view_curve`; None where it is not known."""
        if not self.trains_as_stated:
            return None
        return view_curve(self.recipe, neighbours, self.seen_directions, view=self.view)

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """Return the exact curve of the view on a pair; None where it is not known, or only on a grid."""
        known = self.view_guarantee(neighbours)
        return known if known is not None and known.exact else None

    def __eq__(self, other: object) -> bool:
        return same_fields(self, other)

    def __hash__(self) -> int:
        return hash((type(self), self.steps, float(self.noise_multiplier), self.relation, self.view))

    # --- for adversaries ----------------------------------------------------------------------------------------------

    def showing(self, directions: AnyFloats) -> Self:
        """Return this mechanism with a view of the noisy sums along unit directions `(m, n_parameters)`."""
        return replace(self, view="noisy_gradients", directions=directions)

    def starting_from(self, parameters: AnyFloats) -> Self:
        """Return this mechanism started from flat parameters `(n_parameters,)`."""
        return replace(self, initial=parameters)

    # --- private ------------------------------------------------------------------------------------------------------

    def _release(self, data: TrainingData, size: int, rng: np.random.Generator, inclusion: Bools | None) -> Outputs:
        if self.view == "final":
            return Outputs(self._final(data, size, rng, inclusion))
        trainer = self.trainer_on(data)
        trajectory = self.view == "trajectory"
        shape = (self.steps + 1, self.network.n_parameters) if trajectory else (self.steps, self._n_observed)
        values = np.empty((size, *shape), dtype=self.dtype)
        directions = (self.seen_directions.T / self.clip_norm).astype(self.dtype)
        for runs, included in trainer.blocks(size, inclusion):
            for step, (total, parameters) in enumerate(trainer.train(runs.stop - runs.start, rng, included)):
                if trajectory:
                    values[runs, step + 1] = parameters
                else:
                    values[runs, step] = self._observed(trainer, total @ directions)
            if trajectory:
                values[runs, 0] = trainer.first
        return Outputs(values)

    @property
    def _n_observed(self) -> int:
        """Numbers that the view "noisy_gradients" shows of each step."""
        return len(self.seen_directions)

    def _observed(self, trainer: Trainer, along: AnyFloats) -> AnyFloats:
        """Return what the view shows of a step, from the noisy sums `along` the directions, in units of clip_norm."""
        return along

    def _final(self, data: TrainingData, size: int, rng: np.random.Generator, inclusion: Bools | None) -> AnyFloats:
        trainer = self.trainer_on(data)
        parameters = np.empty((size, self.network.n_parameters), dtype=self.dtype)
        for runs, included in trainer.blocks(size, inclusion):
            parameters[runs] = trainer.final(runs.stop - runs.start, rng, included)
        return parameters

    def _only_gradients(self, gradients: AnyFloats) -> TrainingData:
        return TrainingData(np.empty((0, self.network.n_features)), np.empty(0), gradients)

    def _initial(self) -> AnyFloats | None:
        initial = self.initial
        if initial is None:
            initial = "random" if self.network.hidden_widths else "zeros"
        if isinstance(initial, str):
            one_of(("zeros", "random"), initial=initial)
            return None if initial == "random" else np.zeros(self.network.n_parameters)
        return np.asarray(initial)

    def _set_options(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the options of these names that are not None."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def _resolve_relation(self) -> None:
        relation: Relation | str | None = self.relation
        if relation is None:
            relation = self.scheme.relation
        object.__setattr__(self, "relation", Relation.of(relation))

    def _check_divisor(self) -> None:
        if self.relation is Relation.ADD_REMOVE and self.scheme.divisor is None:
            raise ParameterError(
                "full batches under 'add_remove' need a public number to divide updates by, because the two sides have "
                "different numbers of records. Give FullBatch(expected_batch_size=...), or batch_size; 1 for the sum.",
                argument=("batch_size", "relation", "sampling"),
            )

    def _read_only(self, name: str) -> Floats:
        """Return `initial` or `directions` as a read-only array; raise `ParameterError` if the shape is wrong."""
        try:
            values = np.array(getattr(self, name), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"{name} must hold numbers, but is {getattr(self, name)!r}.", argument=name) from error
        expected: tuple[int, ...] = (self.network.n_parameters,)
        if name == "directions":
            values = np.atleast_2d(values)
            expected = (len(values), *expected)
        if values.shape != expected or not np.isfinite(values).all():
            raise ParameterError(
                f"{name} must hold finite numbers, one for each of the {self.network.n_parameters} parameters, but has "
                f"shape {values.shape}{'' if values.shape != expected else ' and holds infinite values or NaN'}.",
                argument=name,
            )
        if name == "directions" and np.any(np.abs(np.linalg.norm(values, axis=1) - 1.0) > 1e-6):
            raise ParameterError(
                f"directions must hold unit vectors, but their norms are {np.linalg.norm(values, axis=1)}. Divide "
                "each by its norm.",
                argument="directions",
            )
        values.flags.writeable = False
        return values
