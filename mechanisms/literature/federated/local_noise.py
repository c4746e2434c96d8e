"""Federated averaging with noise at the client, so that the server need not be trusted."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np

from ...accounting import GaussianDP
from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Neighbours, Outputs
from ...core.constraints import one_of_names
from ...core.errors import RelationError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...core.validation import whole
from .base import FederatedLearner, log_gaussian
from .clients import check_clients, read_clients


@dataclass(frozen=True, eq=False)
class LocalNoiseAveraging(FederatedLearner):
    """Federated averaging with Gaussian noise on the message of each client, without a trusted server.

        message_(t,i) = clip(update of client i at theta_t) + N(0, (noise_multiplier * clip_norm)^2 I)
        theta_(t+1)   = theta_t + server_rate * mean of the messages

    All clients take part in all rounds, and their number is public. The claim is for everything that one client sends:
    with n clients, the average has as much noise as that of a trusted server with sqrt(n) times the multiplier. Without
    noise this is ordinary federated learning, and makes no claim: `invert_gradient` of `dpassay.attacks.reconstruction`
    reconstructs the record of a client from its message.

    Args:
        model: a `Model`, or the name of one, which is built with `n_features` and `n_classes`.
        noise_multiplier: standard deviation of the noise of a message / clip_norm, >= 0. Under replace_one, where a
            message can change by 2 clip_norm, the guarantee uses half of it.
        server_rate: factor of the average message, > 0.
        rounds, clip_norm, local_steps, local_rate, initial, n_features, n_classes: as for `FederatedAveraging`.
        view: "messages", everything that the server receives, `(size, rounds, n_clients, n_parameters)`; or "final",
            the last model, `(size, n_parameters)`.
        relation: replace_one, or zero_out, under which the client of side 0 has no data.

    Raises:
        ParameterError: a value out of range; on release, a dataset that is not a list of clients of the model.
        RelationError: add_remove, under which the number of messages reveals the client.

    References:
        Duchi, Jordan, Wainwright (2013) for noisy gradients of individuals; McMahan et al. (2017) for the averaging.

    Example:
        >>> from dpassay.mechanisms.learning import LogisticRegression
        >>> mechanism = LocalNoiseAveraging(LogisticRegression(5), rounds=4, noise_multiplier=8.0)
        >>> round(mechanism.guarantee().epsilon(1e-5), 2)
        1.99
    """

    _: KW_ONLY
    view: Annotated[str, one_of_names("messages", "final")] = "messages"
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relation is Relation.ADD_REMOVE:
            raise RelationError(
                "relation is 'add_remove', but each client sends separate messages, whose number reveals the clients "
                "that take part. Choose 'replace_one' or 'zero_out', or FederatedAveraging, whose server adds the "
                "noise."
            )

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the outputs of `size` runs of training; see `view` for their shape."""
        whole(0, size=size)
        clients = read_clients(dataset, self.network)
        shows_messages = self.view == "messages"
        shape = (self.rounds, len(clients)) if shows_messages else ()
        values = np.empty((size, *shape, self.network.n_parameters))
        for runs in self._blocks(size, clients):
            parameters = np.tile(self.start, (runs.stop - runs.start, 1))
            for step in range(self.rounds):
                total = np.zeros_like(parameters)
                for index, client in enumerate(clients):
                    message = self._deviation * rng.standard_normal(parameters.shape)
                    message += self.clipped_update(client, parameters)
                    total += message
                    if shows_messages:
                        values[runs, step, index] = message
                parameters += self.server_rate / max(1, len(clients)) * total
            if not shows_messages:
                values[runs] = parameters
        return Outputs(values)

    def guarantee(self) -> Guarantee:
        """Return Gaussian DP with mu = sqrt(rounds) s / noise_multiplier, s = 1, or 2 under replace_one.

        Raises:
            AccountingError: no noise, or no clipping.
        """
        self._check_claim()
        relative_sensitivity = 2.0 if self.relation is Relation.REPLACE_ONE else 1.0
        return GaussianDP(math.sqrt(self.rounds) * relative_sensitivity / self.noise_multiplier, self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        """Check that both sides are lists of clients of the model, and differ in one client at one position."""
        check_clients(neighbours, self.network, in_place=True)

    def output_law(self) -> LogDensity | None:
        """Return the law of the messages; None for the final model, or without noise."""
        return MessageLaw(self) if self.noise_multiplier and self.view == "messages" else None


@dataclass(frozen=True)
class MessageLaw:
    """Law of the messages of the clients of `learner`, as a `LogDensity`; they determine each next model."""

    learner: LocalNoiseAveraging

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density, `(size,)`, of messages `(size, rounds, n_clients, n_parameters)`.

        The density is 0 for a number of clients other than that of the dataset.
        """
        learner = self.learner
        clients = read_clients(dataset, learner.network)
        values = np.asarray(outputs.values, dtype=np.float64)
        densities = np.zeros(len(values))
        if values.shape[2] != len(clients):
            return np.full(len(values), -np.inf)
        for runs in learner._blocks(len(values), clients):
            parameters = np.tile(learner.start, (runs.stop - runs.start, 1))
            for step in range(learner.rounds):
                messages: Floats = values[runs, step]
                for index, client in enumerate(clients):
                    noise = messages[:, index] - learner.clipped_update(client, parameters)
                    densities[runs] += log_gaussian(noise, learner._deviation)
                parameters += learner.server_rate / max(1, len(clients)) * messages.sum(axis=1)
        return densities
