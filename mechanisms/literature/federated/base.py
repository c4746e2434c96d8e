"""Base class of federated learners: the options of a round, and the updates of clients.

    theta_(t,0) = theta_t,   theta_(t,k) = theta_(t,k-1) - local_rate * mean gradient of the client's records there
    update      = theta_(t,local_steps) - theta_t,   clipped to norm clip_norm

With one local step this is FedSGD, with more steps FedAvg (McMahan et al. 2017). An update without a finite norm, from
records that overflow, is replaced by zeros: NaN cannot be clipped, and would reveal the client in every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ...core.arrays import Floats
from ...core.base import Data, Dataset, Mechanism, Neighbours, example
from ...core.constraints import NonNegative, Positive, PositiveInt
from ...core.errors import AccountingError, ParameterError
from ...core.fingerprint import same_fields
from ...core.relation import Relation
from ...learning.dp_sgd.catalogue import build_model
from ...learning.dp_sgd.steps import clip_rows
from ...learning.models.architectures import LogisticRegression
from ...learning.models.base import Model
from ...learning.models.passes import Workspace, accumulate, backward, forward
from ...learning.models.trained import TrainedModels
from .clients import Client, read_clients

MAX_BLOCK_ENTRIES = 2**20
"""Size of the largest array of a block of runs."""


@dataclass(frozen=True, eq=False)
class FederatedLearner(Mechanism):
    """Base class of federated averaging, with its options, see `FederatedAveraging`, and the updates of clients."""

    _dataset = Data.TRAINING
    _example = example(model=LogisticRegression(2))

    model: Model | str
    _: KW_ONLY
    noise_multiplier: NonNegative
    rounds: PositiveInt = 1
    clip_norm: Positive | None = 1.0
    local_steps: PositiveInt = 1
    local_rate: Positive = 0.1
    server_rate: Positive = 1.0
    initial: ArrayLike | None = None
    n_features: int | None = None
    n_classes: int | None = None
    view: str
    relation: Relation

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.clip_norm is None and self.noise_multiplier:
            raise ParameterError(
                "noise_multiplier is relative to clip_norm, which is None. Give a clip_norm, or no noise.",
                argument=("clip_norm", "noise_multiplier"),
            )
        if self.initial is not None:
            object.__setattr__(self, "initial", tuple(np.asarray(self.initial, dtype=np.float64).ravel().tolist()))
        _ = self.start

    def __eq__(self, other: object) -> bool:
        return same_fields(self, other)

    def __hash__(self) -> int:
        return hash((type(self), self.rounds, float(self.noise_multiplier), self.relation))

    @cached_property
    def network(self) -> Model:
        """Model, built if it is given by name."""
        options = {"n_features": self.n_features, "n_classes": self.n_classes}
        return build_model(self.model, {name: value for name, value in options.items() if value is not None})

    @cached_property
    def start(self) -> Floats:
        """Flat parameters of the first model."""
        parameters = np.zeros(self.network.n_parameters) if self.initial is None else np.asarray(self.initial)
        if parameters.shape != (self.network.n_parameters,) or not np.isfinite(parameters).all():
            raise ParameterError(
                f"initial must hold {self.network.n_parameters} finite numbers, one for each parameter, but has shape "
                f"{parameters.shape}.",
                argument="initial",
            )
        return parameters

    @property
    def canary(self) -> Floats:
        """Update of the client of `worst_case`: clip_norm in the first weight."""
        update = np.zeros(self.network.n_parameters)
        update[0] = 1.0 if self.clip_norm is None else self.clip_norm
        return update

    @property
    def _deviation(self) -> float:
        """Standard deviation of the noise."""
        return self.noise_multiplier * (self.clip_norm or 1.0)

    def models(self, parameters: Floats) -> TrainedModels:
        """Return flat parameters `(n_models, n_parameters)` as models."""
        return TrainedModels(self.network, parameters)

    def client_updates(self, dataset: Dataset, parameters: Floats) -> Floats:
        """Return the clipped updates of all clients without noise, `(n_models, n_clients, n_parameters)`.

        Args:
            dataset: a list of clients.
            parameters: the models that the clients receive, `(n_models, n_parameters)`.
        """
        clients = read_clients(dataset, self.network)
        updates = np.zeros((len(parameters), len(clients), self.network.n_parameters))
        for index, client in enumerate(clients):
            updates[:, index] = self.clipped_update(client, parameters)
        return updates

    def clipped_update(self, client: Client, parameters: Floats) -> Floats:
        """Return the clipped update of one client on each model, `(n_models, n_parameters)`."""
        if client.update is not None:
            return np.broadcast_to(self._clip(client.update[None]), parameters.shape)
        return self._clip(self._local_training(client, parameters))

    def _clip(self, updates: Floats) -> Floats:
        if self.clip_norm is None:
            return updates
        return np.asarray(clip_rows("flat", updates, self.clip_norm, self.network))

    def _local_training(self, client: Client, parameters: Floats) -> Floats:
        """Return the change of the model in the local steps of a client."""
        theta, n = np.array(parameters), len(client.inputs)
        gradient, work = np.empty_like(theta), Workspace(np.dtype(np.float64))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for _ in range(self.local_steps if n else 0):
                activations = forward(self.network, theta, client.inputs, work)
                self.network.loss.derive(activations[-1], client.targets)
                deltas = backward(self.network, theta, activations, work)
                accumulate(self.network, client.inputs, activations, deltas, gradient, work)
                theta -= self.local_rate / n * gradient
            return theta - parameters

    def _blocks(self, size: int, clients: list[Client]) -> Iterator[slice]:
        """Yield the runs that advance together."""
        rows = max([1, *(len(client.inputs) for client in clients)])
        units = sum(layer.n_units for layer in self.network.layers)
        length = max(1, MAX_BLOCK_ENTRIES // max(rows * units, self.network.n_parameters, len(clients)))
        for start in range(0, size, length):
            yield slice(start, min(start + length, size))

    def _check_claim(self) -> None:
        """Raise `AccountingError` if there is no guarantee."""
        if not self.noise_multiplier or self.clip_norm is None:
            raise AccountingError(
                "updates without noise, or without clipping, have no finite epsilon: the update of a linear model "
                "shows its record. Give noise_multiplier > 0 and a clip_norm, or a claim to audit against.",
                argument="noise_multiplier",
            )

    def worst_case(self) -> Neighbours:
        """Return a pair whose side 1 is a single client that sends an update of norm clip_norm.

        On side 0 there is no client (add_remove), or it sends zeros (zero_out) or the opposite update (replace_one).
        """
        without = {
            Relation.ADD_REMOVE: [],
            Relation.ZERO_OUT: [0.0 * self.canary],
            Relation.REPLACE_ONE: [-self.canary],
        }[self.relation]
        return Neighbours(without, [self.canary], self.relation)


def log_gaussian(difference: Floats, deviation: float) -> Floats:
    """Return the log density of spherical Gaussian noise, summed over all axes except the first."""
    rows = difference.reshape(len(difference), -1)
    exponent = -0.5 * np.einsum("rp,rp->r", rows, rows) / deviation**2
    return np.asarray(exponent - rows.shape[1] * np.log(deviation * np.sqrt(2.0 * np.pi)))
