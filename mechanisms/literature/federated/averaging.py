"""Federated averaging with noise at the server: DP-FedSGD and DP-FedAvg, many independent runs at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Bools, Floats
from ...core.base import Dataset, LogDensity, Neighbours, Outputs
from ...core.constraints import Positive, PositiveProbability, one_of_names
from ...core.errors import ParameterError, plural
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...core.validation import whole
from ...learning.dp_sgd.sampling.poisson import PoissonSampling
from .base import FederatedLearner, log_gaussian
from .clients import Client, check_clients, read_clients

MAX_CLIENTS = 10
"""Largest number of clients for which the density enumerates all samples."""


@dataclass(frozen=True, eq=False)
class FederatedAveraging(FederatedLearner):
    """Federated averaging with Gaussian noise at the server: user-level privacy for whole clients.

        S_t         = sum over sampled clients of clip(update at theta_t) + N(0, (noise_multiplier * clip_norm)^2 I)
        theta_(t+1) = theta_t + server_rate * S_t / expected_clients

    A dataset is a list of clients. A client is an `(X, y)` pair of all records, or a flat update that the client sends
    for every model. Each client takes part in each round with probability `sampling_probability`. With one local step
    this is FedSGD.

    Args:
        model: a `Model`, or the name of one, which is built with `n_features` and `n_classes`.
        noise_multiplier: standard deviation of the noise on the sum / clip_norm, >= 0. Under replace_one, where the sum
            can change by 2 clip_norm, the guarantee uses half of it.
        rounds: >= 1.
        clip_norm: largest norm of the update of a client, > 0; None does not clip, and makes no claim.
        local_steps: gradient steps of a client in a round, each on all records of the client, >= 1.
        local_rate: learning rate of the local steps, > 0.
        server_rate: factor of the average update, > 0.
        sampling_probability: probability that a client takes part in a round, in (0, 1].
        expected_clients: the public number by which sums are divided, > 0.
        initial: flat parameters of the first model, `(n_parameters,)`; None for zeros. Public.
        n_features, n_classes: options of a model that is given by name.
        view: "trajectory", all models that the server sends, including the first, `(size, rounds + 1, n_parameters)`;
            or "final", the last one, `(size, n_parameters)`.
        relation: the neighbouring relation; neighbours differ in one client with all its records.

    Raises:
        ParameterError: a value out of range; on release, a dataset that is not a list of clients of the model.

    Guarantees:
        * For any records of a client, the sum changes by at most clip_norm: local steps do not increase epsilon.
        * The law of the trajectory is exact: a Gaussian around the sum of the clipped updates at each model, or a
          mixture over samples of at most ten clients.
        * Runs advance together: no loop over runs.

    References:
        McMahan, Moore, Ramage, Hampson, Aguera y Arcas (2017), Algorithm 1; McMahan, Ramage, Talwar, Zhang (2018),
        Algorithm 1 with its fixed-denominator estimator.

    Example:
        >>> from dpassay.mechanisms.learning import LogisticRegression
        >>> rng = np.random.default_rng(0)
        >>> clients = [(rng.normal(size=(n, 5)), rng.integers(0, 2, size=n)) for n in (3, 8, 20)]
        >>> mechanism = FederatedAveraging(LogisticRegression(5), rounds=4, local_steps=3, noise_multiplier=2.0,
        ...                                sampling_probability=0.5, expected_clients=1.5)
        >>> mechanism.release(clients, 1000, rng).values.shape
        (1000, 5, 6)
        >>> round(mechanism.guarantee().epsilon(1e-5), 2)
        2.52
    """

    _: KW_ONLY
    sampling_probability: PositiveProbability = 1.0
    expected_clients: Positive = 1.0
    view: Annotated[str, one_of_names("trajectory", "final")] = "trajectory"
    relation: Relation = Relation.ADD_REMOVE

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the outputs of `size` runs of training; see `view` for their shape."""
        whole(0, size=size)
        clients = read_clients(dataset, self.network)
        models = self.rounds + 1 if self.view == "trajectory" else 1
        values = np.empty((size, models, self.network.n_parameters))
        for runs in self._blocks(size, clients):
            values[runs, 0] = self.start
            for step, parameters in enumerate(self._train(clients, runs.stop - runs.start, rng), start=1):
                values[runs, step if self.view == "trajectory" else 0] = parameters
        return Outputs(values if self.view == "trajectory" else values[:, 0])

    def _train(self, clients: list[Client], size: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield the models after each round, `(size, n_parameters)`, which the next round overwrites."""
        parameters = np.tile(self.start, (size, 1))
        for _ in range(self.rounds):
            sampled = np.ones((size, len(clients)), dtype=bool)
            if self.sampling_probability < 1.0:
                sampled = rng.random((size, len(clients))) < self.sampling_probability
            total = rng.standard_normal(parameters.shape)
            total *= self._deviation
            for index, client in enumerate(clients):
                runs = sampled[:, index]
                total[runs] += self.clipped_update(client, parameters[runs])
            total *= (self.server_rate / self._divisors(sampled.sum(axis=1)))[:, None]
            parameters += total
            yield parameters

    def _divisors(self, n_sampled: NDArray[Any]) -> Floats:
        """Return the divisor of each sum for these numbers of sampled clients: a public constant."""
        return np.full(n_sampled.shape, float(self.expected_clients))

    def guarantee(self) -> Guarantee:
        """Return the guarantee of the Gaussian on a Poisson sample of clients, composed over the rounds.

        Raises:
            AccountingError: no noise, no clipping, or a relation under which the sampling has no bound.
        """
        self._check_claim()
        relative = self.noise_multiplier / (2.0 if self.relation is Relation.REPLACE_ONE else 1.0)
        sampling = PoissonSampling(
            sampling_probability=self.sampling_probability, expected_batch_size=self.expected_clients
        )
        return sampling.guarantee(relative, steps=self.rounds, relation=self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        """Check that both sides are lists of clients of the model, and differ in one client."""
        check_clients(neighbours, self.network)

    def output_law(self) -> LogDensity | None:
        """Return the law of the trajectory, or of the final model after one round; None otherwise or without noise."""
        if not self.noise_multiplier or (self.view == "final" and self.rounds > 1):
            return None
        return TrajectoryLaw(self)


@dataclass(frozen=True)
class TrajectoryLaw:
    """Law of the models that the server of `learner` sends, as a `LogDensity`."""

    learner: FederatedAveraging

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of the models after the first, `(size,)`.

        Raises:
            ParameterError: samples of too many clients, or a dataset that is not a list of clients of the model.
        """
        learner = self.learner
        clients = read_clients(dataset, learner.network)
        values = np.asarray(outputs.values, dtype=np.float64)
        if learner.view == "final":
            values = np.stack([np.broadcast_to(learner.start, values.shape), values], axis=1)
        densities = np.zeros(len(values))
        for runs in learner._blocks(len(values), clients):
            for before, after in zip(range(learner.rounds), range(1, learner.rounds + 1), strict=True):
                densities[runs] += self._of_round(values[runs, before], values[runs, after], clients)
        return densities

    def _of_round(self, before: Floats, after: Floats, clients: list[Client]) -> Floats:
        learner, step = self.learner, after - before
        updates = [learner.clipped_update(client, before) for client in clients]
        terms = []
        for weight, members in self._samples(len(clients)):
            scale = learner.server_rate / float(learner._divisors(np.array([members.sum()]))[0])
            centre = sum((updates[index] for index in np.flatnonzero(members)), start=np.zeros_like(before))
            terms.append(weight + log_gaussian(step - scale * centre, scale * learner._deviation))
        return np.asarray(reduce(np.logaddexp, terms))

    def _samples(self, n: int) -> list[tuple[float, Bools]]:
        """Return the log probability and the membership mask of each sample of n clients."""
        rate = self.learner.sampling_probability
        if rate == 1.0:
            return [(0.0, np.ones(n, dtype=bool))]
        if n > MAX_CLIENTS:
            raise ParameterError(
                f"samples of {plural(n, 'client')} have too many possible sums for a density, which takes at most "
                f"{MAX_CLIENTS}. Use fewer clients, sampling_probability=1, or another attack."
            )
        subsets = (np.arange(2**n)[:, None] >> np.arange(n)) & 1 == 1
        counts = subsets.sum(axis=1)
        weights = counts * math.log(rate) + (n - counts) * math.log1p(-rate)
        return list(zip(weights.tolist(), subsets, strict=True))
