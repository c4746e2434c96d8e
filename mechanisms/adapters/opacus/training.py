"""Training for `OpacusTraining` by PyTorch and Opacus: import this module only if both are installed."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from opacus import PrivacyEngine
from opacus.accountants import create_accountant
from opacus.data_loader import DPDataLoader
from torch.utils.data import DataLoader, TensorDataset

from ...core import Floats, ParameterError, own_random_states, tensor_to_array
from ...learning.base import AnyFloats, TrainingData
from .options import OpacusOptions


def train(recipe: OpacusOptions, data: TrainingData, seed: int, view: str) -> Floats:
    """Return the result of one training: flat parameters `(n_parameters,)`, or `(steps, m)` noisy gradients."""
    with _one_thread(seed), _quiet():
        module = recipe.make_model()
        module.train()
        parameters = _trainable(module)
        if recipe.initial is not None:
            _load(parameters, np.asarray(recipe.initial))
        model, optimizer, loss, loader = _make_private(recipe, module, _dataset(data, parameters[0].dtype))
        device = parameters[0].device
        observed: list[Floats] = []
        if view == "noisy_gradients":
            _observe(optimizer, parameters, recipe, observed)
        gradients = None if data.gradients is None else torch.as_tensor(data.gradients).to(parameters[0])
        for _ in range(recipe.epochs):
            for batch in loader:
                X, y, gradient_index = (part.to(device) for part in batch)
                optimizer.zero_grad()
                loss(model(X), y).backward()
                if gradients is not None:
                    _put_in(gradients, gradient_index, parameters)
                optimizer.step()
        return np.array(observed) if view == "noisy_gradients" else _flat(parameters)


def claimed_epsilon(recipe: OpacusOptions, delta: float, accountant: str) -> float:
    """Return the epsilon of Opacus' own accountant after all steps."""
    epsilon_accountant = create_accountant(mechanism=accountant)
    with _quiet():
        for _ in range(recipe.steps):
            epsilon_accountant.step(
                noise_multiplier=recipe.noise_multiplier, sample_rate=1.0 / recipe.batches_per_epoch
            )
        return float(epsilon_accountant.get_epsilon(delta=delta))


def n_parameters(make_model: Callable[[], Any]) -> int:
    """Return the number of trainable parameters of the module."""
    with own_random_states():
        return sum(parameter.numel() for parameter in _trainable(make_model()))


def count_classes(make_model: Callable[[], Any], X: AnyFloats) -> int:
    """Return the number of classes, read from the output for one row of X: 2 for a module with one output."""
    with own_random_states():
        shape = tuple(_outputs(make_model(), X[:1]).shape[1:])
    if len(shape) > 1:
        raise ParameterError(f"the module must give one row of logits per record, but gives shape {shape}.")
    return 2 if shape in ((), (1,)) else int(shape[0])


def losses(recipe: OpacusOptions, data: TrainingData, parameters: NDArray[Any]) -> Floats:
    """Return the loss of each example under flat parameters `(n_models, n_parameters)`: `(n_models, n_examples)`."""
    loss_matrix = np.empty((len(parameters), data.n_examples))
    for model_losses, example_losses in zip(loss_matrix, _each_loss(recipe, data, parameters), strict=True):
        model_losses[:] = [float(loss.detach()) for loss, _ in example_losses]
    return loss_matrix


def clipped_gradients(recipe: OpacusOptions, data: TrainingData, parameters: NDArray[Any]) -> Floats:
    """Return the sum over examples of the clipped gradients at flat parameters `(n_models, n_parameters)`."""
    totals = np.zeros(parameters.shape)
    for total, example_losses in zip(totals, _each_loss(recipe, data, parameters), strict=True):
        for loss, trainable in example_losses:
            gradient = _flat(torch.autograd.grad(loss, trainable))
            total += gradient * (recipe.max_grad_norm / max(float(np.linalg.norm(gradient)), recipe.max_grad_norm))
    return totals


def _each_loss(
    recipe: OpacusOptions, data: TrainingData, parameters: NDArray[Any]
) -> Iterator[Iterator[tuple[torch.Tensor, list[Any]]]]:
    """Yield for each model the loss of each example as a separate batch, and the parameters that it depends on."""
    criterion = torch.nn.CrossEntropyLoss() if recipe.loss is None else recipe.loss
    with _one_thread(0):
        module = recipe.make_model()
        module.eval()
        trainable = _trainable(module)
        tensors = _dataset(TrainingData(data.X, data.y), trainable[0].dtype).tensors
        X, y, _ = (part.to(trainable[0].device) for part in tensors)
        for flat in parameters:
            _load(trainable, flat)
            yield ((criterion(module(X[i : i + 1]), y[i : i + 1]), trainable) for i in range(len(X)))


@dataclass(frozen=True, eq=False)
class OpacusClassifiers:
    """Trained modules of one shape: `dpassay.mechanisms.learning.base.Classifiers`.

    Args:
        make_model: function that returns the module.
        parameters: flat trainable parameters, `(n_models, n_parameters)`.
        n_classes: 2 for a module with one output, which is the logit.
    """

    make_model: Callable[[], Any]
    parameters: Floats
    n_classes: int

    @classmethod
    def of(cls, make_model: Callable[[], Any], parameters: Floats, X: AnyFloats) -> OpacusClassifiers:
        """Return the classifiers, with the number of classes read from the output for one row of X."""
        return cls(make_model, parameters, count_classes(make_model, X))

    def __len__(self) -> int:
        return len(self.parameters)

    def log_probabilities(self, X: AnyFloats) -> Floats:
        """Return the log probability of each class, `(n_models, n, n_classes)`."""
        log_p = np.empty((len(self), len(X), self.n_classes))
        with own_random_states():
            module = self.make_model()
            for model_log_p, flat in zip(log_p, self.parameters, strict=True):
                _load(_trainable(module), flat)
                logits = _outputs(module, X).double().reshape(len(X), -1)
                if logits.shape[1] == 1:
                    logits = torch.cat([torch.zeros_like(logits), logits], dim=1)
                model_log_p[:] = torch.log_softmax(logits, dim=1).numpy()
        return log_p


def _make_private(recipe: OpacusOptions, module: Any, dataset: TensorDataset) -> tuple[Any, Any, Any, Any]:
    """Return module, optimiser, loss and batches after Opacus' `make_private`."""
    loss = torch.nn.CrossEntropyLoss() if recipe.loss is None else recipe.loss
    public = recipe.constants == "public"
    loader: DataLoader[Any] = DataLoader(dataset, batch_size=recipe.batch_size, shuffle=True)
    if public and recipe.poisson_sampling:
        loader = DPDataLoader(dataset, sample_rate=recipe.sampling_probability)
    model, optimizer, *criterion, loader = PrivacyEngine().make_private(
        module=module,
        optimizer=recipe.make_optimizer(module.parameters()),
        criterion=loss,
        data_loader=loader,
        noise_multiplier=recipe.noise_multiplier,
        max_grad_norm=recipe.max_grad_norm,
        poisson_sampling=recipe.poisson_sampling and not public,
        grad_sample_mode=recipe.grad_sample_mode,
    )
    if public:
        optimizer.expected_batch_size = recipe.divisor
    return model, optimizer, criterion[0] if criterion else loss, loader


def _dataset(data: TrainingData, dtype: torch.dtype) -> TensorDataset:
    """Return the examples, then a blank for each gradient record, with its index among these, -1 for an example."""
    n = data.n_gradients
    X = np.concatenate([data.X, np.zeros((n, data.X.shape[1]))])
    y = np.concatenate([data.y, np.zeros(n, dtype=data.y.dtype)])
    gradient_index = np.concatenate([np.full(data.n_examples, -1), np.arange(n)])
    labels = torch.as_tensor(y, dtype=dtype if y.dtype.kind == "f" else torch.int64)
    return TensorDataset(torch.as_tensor(X, dtype=dtype), labels, torch.as_tensor(gradient_index))


def _put_in(gradients: torch.Tensor, gradient_index: torch.Tensor, parameters: list[Any]) -> None:
    """Replace the gradients of blanks by those of their gradient records."""
    rows = torch.nonzero(gradient_index >= 0).flatten()
    start = 0
    for parameter in parameters:
        part = gradients[gradient_index[rows], start : start + parameter.numel()]
        parameter.grad_sample[rows] = part.reshape(len(rows), *parameter.shape)
        start += parameter.numel()


def _observe(optimizer: Any, parameters: list[Any], recipe: OpacusOptions, observed: list[Any]) -> None:
    """Record the noisy gradient of each step along the observed directions, after Opacus' own step hook."""
    directions, scale = np.asarray(recipe.seen_directions), recipe.divisor / recipe.max_grad_norm
    step_hook = optimizer.step_hook

    def look(private_optimizer: Any) -> None:
        step_hook(private_optimizer)
        observed.append(scale * (directions @ _flat(parameter.grad for parameter in parameters)))

    optimizer.attach_step_hook(look)


def _trainable(module: Any) -> list[Any]:
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if not parameters:
        raise ParameterError(
            "make_model must make a module with trainable parameters, but it has none.", argument="make_model"
        )
    return parameters


def _flat(tensors: Iterable[torch.Tensor]) -> Floats:
    flat: Floats = tensor_to_array(torch.cat([tensor.flatten() for tensor in tensors]).double())
    return flat


def _load(parameters: list[Any], flat: NDArray[Any]) -> None:
    expected = sum(parameter.numel() for parameter in parameters)
    if flat.shape != (expected,):
        raise ParameterError(
            f"initial must have shape ({expected},), one number a parameter, but has {flat.shape}.", argument="initial"
        )
    values = torch.as_tensor(flat)
    with torch.no_grad():
        for parameter, part in zip(parameters, values.split([p.numel() for p in parameters]), strict=True):
            parameter.copy_(part.reshape(parameter.shape))


def _outputs(module: Any, X: AnyFloats) -> torch.Tensor:
    module.eval()
    with torch.no_grad():
        outputs: torch.Tensor = module(torch.as_tensor(X).to(_trainable(module)[0]))
    return outputs.cpu()


@contextmanager
def _one_thread(seed: int) -> Iterator[None]:
    """Run PyTorch on one thread and with this seed; both are global, and restored."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with own_random_states(seed):
            yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress messages about the secure mode, hooks, and empty first batches."""
    logger = logging.getLogger("opacus")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


__all__ = ["OpacusClassifiers", "claimed_epsilon", "n_parameters", "train"]
