"""Intentionally broken federated averaging: the divisor, clipping or noise scale of another quantity."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...accounting import ExactDP, GaussianDP
from ...accounting.broken import Broken
from ...accounting.numerics.cells import radius_laws
from ...core import Floats, Guarantee, Neighbours, ParameterError, Positive, PositiveInt, Relation
from ...learning.dp_sgd.steps import clip_rows
from ...learning.models import LogisticRegression
from ...learning.models.base import Model
from . import FederatedAveraging, LocalNoiseAveraging
from .clients import Client

FOUR_FEATURES, NINE_FEATURES = LogisticRegression(4), LogisticRegression(9)
NOISE_MULTIPLIER = 3.73
"""Defaults: one round with the claim epsilon = 1 at delta = 1e-5."""


@dataclass(frozen=True, eq=False)
class BrokenAveraging(Broken, FederatedAveraging):
    """Broken: base class of the broken learners, itself correct.

    Args:
        all: as for `FederatedAveraging`, with other defaults: logistic regression of 4 features, noise multiplier 3.73.
    """

    correct_class = FederatedAveraging

    model: Model | str = FOUR_FEATURES
    _: KW_ONLY
    noise_multiplier: float = NOISE_MULTIPLIER

    def twin(self) -> FederatedAveraging:
        """Return the correct learner with these options."""
        correct: FederatedAveraging = super().twin()
        return correct

    def _only_add_remove(self) -> None:
        if self.relation is not Relation.ADD_REMOVE:
            raise ParameterError(
                f"relation must be 'add_remove' for {type(self).__name__}, but is {self.relation.value!r}. Use the "
                "default.",
                argument="relation",
            )


@dataclass(frozen=True, eq=False)
class RealisedClients(BrokenAveraging):
    """Broken: federated averaging that divides by the number of clients in the round.

        theta_(t+1) = theta_t + server_rate * S_t / (number of sampled clients; 1 for none)

    The noise is divided as well, so that its scale in all parameters leaks the number of clients, even if they have
    no data. With full participation of 2 clients against 3 and 10 parameters, epsilon is 21, for any noise.
    Correct: the expected number, a public constant (`dpassay.mechanisms.literature.federated.FederatedAveraging`).

    Args:
        n_clients: number of clients of the smaller side of the worst-case pair, all without data, >= 1.
        all others: as for `FederatedAveraging`. Defaults: logistic regression of 9 features, noise multiplier 3.73.

    Example:
        >>> broken = RealisedClients()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 21.0)
    """

    cause = "The sum is divided by the number of participating clients, as in plain FedAvg."
    source = "McMahan, Ramage, Talwar, Zhang (2018), section 2.2, on estimators with a data-dependent denominator."

    model: Model | str = NINE_FEATURES
    _: KW_ONLY
    n_clients: PositiveInt = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self._only_add_remove()

    def _divisors(self, n_taken: NDArray[Any]) -> Floats:
        """Return the number of sampled clients, at least 1."""
        return np.asarray(np.maximum(1.0, n_taken))

    def worst_case(self) -> Neighbours:
        """Return `n_clients` clients without data, and one more on side 1."""
        blank = [0.0 * self.canary] * self.n_clients
        return Neighbours(blank, [*blank, 0.0 * self.canary], self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve where all clients participate and each round is observed."""
        if self.sampling_probability < 1.0 or not self.noise_multiplier or (self.view == "final" and self.rounds > 1):
            return None
        numbers = self.rounds * self.network.n_parameters
        p0, p1 = radius_laws({float(self.n_clients): 1.0}, {self.n_clients + 1.0: 1.0}, numbers)
        p1[-1] = 0.0  # about 1e-40: beyond the last shell the privacy loss grows without limit
        return ExactDP(p0, p1, relation=self.relation)


@dataclass(frozen=True, eq=False)
class PerRecordClipping(BrokenAveraging):
    """Broken: FedSGD that clips the gradient of each record, with a client-level claim.

        update = sum over the client's records of clip(-local_rate * gradient)

    A client with m records moves the sum by m clip norms, and epsilon grows with m without limit. Correct: the
    update of the client is clipped (`dpassay.mechanisms.literature.federated.FederatedAveraging`).

    Args:
        n_records: number of identical records of the client of the worst-case pair, >= 1, with gradients > clip_norm.
        all others: as for `FederatedAveraging`; one local step.

    Example:
        >>> broken = PerRecordClipping()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 6.17)
    """

    cause = "Each record is clipped, as in DP-SGD, which protects one record and not a client."
    source = "McMahan, Ramage, Talwar, Zhang (2018), section 2: the unit of clipping is the unit of privacy."

    _: KW_ONLY
    n_records: PositiveInt = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        self._only_add_remove()
        if self.local_steps > 1:
            raise ParameterError(
                f"local_steps must be 1, as records are clipped in one step, but is {self.local_steps}. Use the "
                "default.",
                argument="local_steps",
            )

    def clipped_update(self, client: Client, parameters: Floats) -> Floats:
        """Return the sum of the clipped updates of each record."""
        if client.update is not None or self.clip_norm is None:
            return super().clipped_update(client, parameters)
        total = np.zeros_like(parameters)
        for index in range(len(client.inputs)):
            row = slice(index, index + 1)
            record = Client(client.inputs[row], client.targets[row], None, "")
            total += clip_rows("flat", self._local_training(record, parameters), self.clip_norm, self.network)
        return total

    def worst_case(self) -> Neighbours:
        """Return no client, and a client with `n_records` identical records whose gradient at 0 is above clip_norm."""
        X = np.zeros((self.n_records, self.network.n_features))
        X[:, 0] = 4.0 * (self.clip_norm or 1.0) / self.local_rate
        return Neighbours([], [(X, np.ones(self.n_records, dtype=np.int64))], self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a move by `n_records` clip norms, for one round from 0 with full participation."""
        started_at_zero = self.initial is None or not self.start.any()
        if self.rounds > 1 or self.sampling_probability < 1.0 or not started_at_zero or not self.noise_multiplier:
            return None
        return GaussianDP(self.n_records / self.noise_multiplier, self.relation)


@dataclass(frozen=True, eq=False)
class NoiseOfMeanOnSum(BrokenAveraging):
    """Broken: federated averaging that adds noise with the scale of the mean to the sum.

        S_t = sum of clipped updates + N(0, (noise_multiplier * clip_norm / expected_clients)^2 I)

    The noise is divided twice. The law is that of the correct learner
    (`dpassay.mechanisms.literature.federated.FederatedAveraging`) with the noise multiplier divided by
    `expected_clients`.

    Args:
        all: as for `FederatedAveraging`. Defaults: 10 expected clients, noise multiplier 3.73.

    Example:
        >>> broken = NoiseOfMeanOnSum()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 14.4)
    """

    cause = "Noise for the sensitivity of the mean, clip_norm / expected_clients, is added before the division."
    source = 'Tramer, Terzis, Steinke, Song, Jagielski, Carlini (2022), "Debugging differential privacy".'

    _: KW_ONLY
    expected_clients: float = 10.0

    @property
    def _deviation(self) -> float:
        """Standard deviation of the noise on the sum; equal to that of the mean, which is the bug."""
        return super()._deviation / self.expected_clients

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the actual noise."""
        return replace(self.twin(), noise_multiplier=self.noise_multiplier / self.expected_clients).exact_guarantee()


@dataclass(frozen=True, eq=False)
class SensitivityNotOfClip(Broken, LocalNoiseAveraging):
    """Broken: noise at the client that is calibrated to a stated sensitivity, and not to what clipping allows.

        message = clip(update) + N(0, (noise_multiplier * sensitivity)^2 I)

    The claim is that of `sensitivity`. One client replaced by another moves a message by up to 2 clip_norm: mu is
    2 clip_norm / sensitivity times the claimed one (clip_norm / sensitivity under zero_out). That is twice even if the
    clipping norm is given as sensitivity.

    Args:
        sensitivity: the stated sensitivity, > 0.
        all others: as for `LocalNoiseAveraging`. Defaults: logistic regression of 4 features, noise multiplier 3.73,
            clip_norm 1.

    Example:
        >>> broken = SensitivityNotOfClip()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 2.16)
    """

    cause = "Sensitivity and clipping norm are two options, and the noise is computed from the first."
    source = "adap/flower, LocalDpMod, whose clipping_norm and sensitivity are not compared."
    correct_class = LocalNoiseAveraging

    model: Model | str = FOUR_FEATURES
    _: KW_ONLY
    noise_multiplier: float = NOISE_MULTIPLIER
    sensitivity: Positive = 1.0

    @property
    def _factor(self) -> float:
        """Largest change of a message, in stated sensitivities."""
        reach = 2.0 if self.relation is Relation.REPLACE_ONE else 1.0
        return reach * (self.clip_norm or 1.0) / self.sensitivity

    @property
    def _deviation(self) -> float:
        return self.noise_multiplier * self.sensitivity

    def guarantee(self) -> Guarantee:
        """Return the claim, Gaussian DP with mu = sqrt(rounds) / noise_multiplier.

        Raises:
            AccountingError: no noise, or no clipping.
        """
        self._check_claim()
        return GaussianDP(math.sqrt(self.rounds) / self.noise_multiplier, self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a message that moves by as much as clipping allows, if all messages are observed."""
        if self.view != "messages" or not self.noise_multiplier:
            return None
        return GaussianDP(self._factor * math.sqrt(self.rounds) / self.noise_multiplier, self.relation)

    def twin(self) -> LocalNoiseAveraging:
        """Return the correct learner with this claim: its noise is calibrated to the clipping norm."""
        reach = 2.0 if self.relation is Relation.REPLACE_ONE else 1.0
        correct: LocalNoiseAveraging = super().twin()
        return replace(correct, noise_multiplier=reach * self.noise_multiplier)
