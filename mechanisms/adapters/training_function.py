"""Any training function as a learner: `train(X, y, rng) -> model` in any framework, for shadow models.

    FunctionLearner    a function on arrays; the model is asked for probabilities, logits or losses
    TorchLearner       a function on tensors that returns a PyTorch module, which is asked for its logits

PyTorch is imported only when a `TorchLearner` trains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import special

from ..core import Bools, Floats, Ints, ParameterError, Relation, own_random_states, tensor_to_array
from ..learning.base import AnyFloats, TrainingData

Outputs = Callable[..., Any]
RECORDS_PER_QUERY = 4_096
"""Number of records that a PyTorch module is given at once."""


@dataclass(frozen=True, eq=False)
class FunctionLearner:
    """Learner that calls a training function on each subset of the records.

    The function must draw all its randomness from `rng`: only then do serial, parallel and resumed training give the
    same models. With several workers, which are processes, it must be defined in a module or be picklable.

    Args:
        train: `train(X, y, rng) -> model`, with X `(n, n_features)` or `(n, *shape)`, y `(n,)` whole numbers.
        probabilities: `probabilities(model, X)` -> `(n, n_classes)`, rows that sum to 1.
        logits: `logits(model, X)` -> `(n, n_classes)`, finite; better than probabilities, which single precision rounds
            to 1.
        losses: `losses(model, X, y)` -> `(n,)` cross-entropies, >= 0, for models whose outputs are not classes. At most
            one of the three is given; without any, the model's `predict_proba`, with its `classes_` if it has them.
        shape: shape of one record, such as (1, 28, 28), to which the features are reshaped; None for flat ones.

    Raises:
        ParameterError: `train` cannot be called, or more than one kind of output; on training, a model without outputs,
            or outputs of another shape, NaN, or out of range.

    Example:
        >>> def train(X, y, rng):
        ...     return np.stack([X[y == label].mean(axis=0) for label in (0, 1)])        # a mean for each class
        >>> def logits(means, X):
        ...     return -((X[:, None] - means) ** 2).sum(axis=2)
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
        >>> learner = FunctionLearner(train, logits=logits)
        >>> models = learner.fit_subsets(TrainingData(X, y), rng.random((3, 20)) < 0.8, rng)
        >>> models.log_probabilities(X).shape
        (3, 20, 2)
    """

    train: Callable[..., Any]
    _: KW_ONLY
    probabilities: Outputs | None = None
    logits: Outputs | None = None
    losses: Outputs | None = None
    shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not callable(self.train):
            raise ParameterError(
                argument="train", value=self.train, allowed="be a function train(X, y, rng) that returns a model"
            )
        options = {name: getattr(self, name) for name in ("probabilities", "logits", "losses")}
        chosen = {name: function for name, function in options.items() if function is not None}
        if len(chosen) > 1:
            raise ParameterError(f"give one of {', '.join(options)}, but {' and '.join(chosen)} are given.")
        for name, function in chosen.items():
            if not callable(function):
                raise ParameterError(argument=name, value=function, allowed="be a function of a model and records")

    @property
    def relation(self) -> Relation:
        """Relation between training with a record and without it: add_remove."""
        return Relation.ADD_REMOVE

    def check_data(self, data: TrainingData) -> None:
        """Raise `ParameterError` for gradient records, and for labels that are not classes."""
        if data.n_gradients:
            raise ParameterError("a training function learns from examples: gradient records need DPSGD.")
        if (data.y != np.rint(data.y)).any() or (data.y < 0).any():
            raise ParameterError(
                "y must be labels 0 .. n_classes - 1. Number the classes: np.unique(y, return_inverse=True)[1]."
            )
        if self.shape is not None and int(np.prod(self.shape)) != data.X.shape[1]:
            raise ParameterError(
                f"shape must have as many entries as a record has features, {data.X.shape[1]}, but is {self.shape}.",
                argument="shape",
            )

    def count_classes(self, data: TrainingData) -> int:
        """Return the number of classes in the labels of `data`."""
        return int(data.y.max(initial=0)) + 1

    def fit_subsets(
        self, records: TrainingData, inclusion: Bools, rng: np.random.Generator
    ) -> FunctionModels | FunctionLosses:
        """Return one model per row of `inclusion`, `(n_models, n_records)`; refuse an empty subset."""
        self.check_data(records)
        inclusion = np.asarray(inclusion, dtype=np.bool_)
        if inclusion.ndim != 2 or inclusion.shape[1] != len(records) or not inclusion.any(axis=1).all():
            raise ParameterError(
                f"inclusion must have shape (n_models, {len(records)}), with a record in each row, but has shape "
                f"{inclusion.shape}.",
                argument="inclusion",
            )
        X, y = self._shaped(records.X), records.y.astype(np.int64)
        streams = rng.spawn(len(inclusion))
        models = tuple(self._trained(X[rows], y[rows], own) for rows, own in zip(inclusion, streams, strict=True))
        if self.losses is not None:
            return FunctionLosses(models, self)
        return FunctionModels(models, self, self.count_classes(records))

    def _trained(self, X: AnyFloats, y: Ints, rng: np.random.Generator) -> Any:
        model = self.train(X, y, rng)
        if model is None:
            raise ParameterError("train must return a model, but returns None.", argument="train")
        return model

    def _shaped(self, X: AnyFloats) -> AnyFloats:
        return X if self.shape is None else X.reshape(len(X), *self.shape)

    def _log_probabilities(self, model: Any, X: AnyFloats, n_classes: int) -> AnyFloats:
        """Return the log probabilities of one model, `(n, n_classes)`."""
        shaped = self._shaped(X)
        if self.logits is not None:
            values = _checked(self.logits(model, shaped), (len(X), n_classes), "logits")
            if np.isinf(values).any():
                raise ParameterError("logits must be finite, but some are infinite.", argument="logits")
            return np.asarray(values - special.logsumexp(values, axis=1, keepdims=True))
        if self.probabilities is None and not hasattr(model, "predict_proba"):
            raise ParameterError(
                f"train must return a model with predict_proba, but returns {type(model).__name__}. Give one of "
                "probabilities, logits and losses to FunctionLearner.",
                argument="train",
            )
        ask = self.probabilities or (lambda trained, records: trained.predict_proba(records))
        values = np.asarray(tensor_to_array(ask(model, shaped)))
        if self.probabilities is None and hasattr(model, "classes_") and values.ndim == 2:
            placed = np.zeros((len(X), n_classes))
            placed[:, np.asarray(model.classes_, dtype=np.int64)] = values
            values = placed
        values = _checked(values, (len(X), n_classes), "probabilities")
        if (values < 0.0).any() or (np.abs(values.sum(axis=1) - 1.0) > 1e-2).any():
            raise ParameterError(
                f"probabilities must be >= 0 and sum to 1 in each row, but range from {values.min():.4g} to "
                f"{values.max():.4g}. If they are outputs before the softmax, give them as logits.",
                argument="probabilities",
            )
        with np.errstate(divide="ignore"):
            return np.log(values)


@dataclass(frozen=True, eq=False)
class FunctionModels:
    """Models of a training function with outputs for classes."""

    models: Sequence[Any]
    learner: FunctionLearner
    n_classes: int

    def __len__(self) -> int:
        return len(self.models)

    def log_probabilities(self, X: AnyFloats) -> Floats:
        """Return the log probability of each class, `(n_models, n, n_classes)`; -inf for 0."""
        return np.stack([self.learner._log_probabilities(model, X, self.n_classes) for model in self.models])


@dataclass(frozen=True, eq=False)
class FunctionLosses:
    """Models of a training function that give a loss for each record."""

    models: Sequence[Any]
    learner: FunctionLearner

    def __len__(self) -> int:
        return len(self.models)

    def signals(self, data: TrainingData) -> dict[str, Floats]:
        """Return minus the losses, `(n_models, n_records)`."""
        losses, X, y = self.learner.losses, self.learner._shaped(data.X), data.y.astype(np.int64)
        assert losses is not None
        values = np.stack([_checked(losses(model, X, y), (len(y),), "losses") for model in self.models])
        if (values < 0.0).any():
            raise ParameterError(
                f"losses must be cross-entropies, >= 0, but the lowest is {values.min():.4g}. If they are log "
                "probabilities of the label, change the sign.",
                argument="losses",
            )
        return {"loss": -values}


@dataclass(frozen=True, eq=False)
class TorchLearner(FunctionLearner):
    """Learner that calls a training function of PyTorch on each subset of the records.

    The generators of PyTorch, of the processor and of each GPU, are seeded from `rng` for each model, so that ordinary
    PyTorch code repeats, and have their former states afterwards. The module is asked for its logits on its own device,
    in evaluation mode, without gradients. On a GPU the last bits of sums may differ from run to run, unless `train`
    sets `torch.use_deterministic_algorithms(True)`.

    Args:
        train: `train(X, y, rng) -> torch.nn.Module`, with X a tensor of float32, `(n, n_features)` or `(n, *shape)`,
            and y a tensor of int64, `(n,)`, on the processor; train may send them and the module to a GPU.
        logits: None for the outputs of the module, `(n, n_classes)`.

    Example:
        >>> def train(X, y, rng):
        ...     model = torch.nn.Linear(X.shape[1], 2)
        ...     optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
        ...     for _ in range(100):
        ...         optimiser.zero_grad()
        ...         torch.nn.functional.cross_entropy(model(X), y).backward()
        ...         optimiser.step()
        ...     return model
        >>> learner = TorchLearner(train)
    """

    def _trained(self, X: AnyFloats, y: Ints, rng: np.random.Generator) -> Any:
        import torch

        with own_random_states(int(rng.integers(2**63))):
            inputs = torch.tensor(np.asarray(X, dtype=np.float32)), torch.tensor(y)
            model = super()._trained(*inputs, rng)
        if self.logits is None and self.probabilities is None and self.losses is None and not callable(model):
            raise ParameterError(
                f"train must return a PyTorch module, but returns {type(model).__name__}.", argument="train"
            )
        return model

    def _log_probabilities(self, model: Any, X: AnyFloats, n_classes: int) -> AnyFloats:
        if self.logits is not None or self.probabilities is not None:
            return super()._log_probabilities(model, X, n_classes)
        values = _checked(module_logits(model, self._shaped(X)), (len(X), n_classes), "logits")
        return np.asarray(values - special.logsumexp(values, axis=1, keepdims=True))


def module_logits(module: Any, X: AnyFloats) -> Floats:
    """Return the outputs of a PyTorch module on records, in evaluation mode, as float64.

    The records are sent to the device and in the type of the first parameter.
    """
    import torch

    training = module.training
    module.eval()
    like = next(iter(module.parameters()), torch.zeros(()))
    with torch.no_grad():
        batches = torch.tensor(np.asarray(X, dtype=np.float32)).split(RECORDS_PER_QUERY)
        outputs = torch.cat([module(batch.to(like)).double().cpu() for batch in batches])
    module.train(training)
    return np.asarray(outputs.numpy())


def _checked(values: Any, shape: tuple[int, ...], name: str) -> Floats:
    """Return outputs of a model as numbers of the expected shape."""
    array = np.asarray(tensor_to_array(values))
    if array.shape != shape or array.dtype.kind not in "biuf":
        axes = "(n_records, n_classes)" if len(shape) == 2 else "(n_records,)"
        raise ParameterError(
            f"{name} must be numbers of shape {axes} = {shape}, but are {array.dtype} of shape {array.shape}.",
            argument=name,
        )
    if np.isnan(array).any():
        raise ParameterError(
            f"{name} must not hold NaN, but do: the training has diverged. Lower the learning rate.", argument=name
        )
    return array.astype(np.float64)


__all__ = ["FunctionLearner", "FunctionLosses", "FunctionModels", "TorchLearner", "module_logits"]
