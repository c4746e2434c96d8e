"""Base classes of mechanisms whose claim, exact curve and output law follow from their parameters.

PureMechanism    claims epsilon-DP, with epsilon its parameter `epsilon`
FiniteMechanism  has finitely many outputs, whose probabilities are known
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import Dataset, Floats, Guarantee, Ints, Mechanism, Outputs
from .kinds.approximate import PureDP
from .kinds.exact import ExactDP


class PureMechanism(Mechanism):
    """A mechanism that claims epsilon-DP, with epsilon its parameter `epsilon`."""

    epsilon: float

    def guarantee(self) -> Guarantee:
        """Return `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)


class FiniteMechanism(Mechanism):
    """A mechanism with finitely many outputs, whose probabilities are known; by default the numbers from 0 on."""

    @abstractmethod
    def log_probabilities(self, dataset: Dataset) -> Floats:
        """Return the log probability of each possible output under `dataset`, shape `(n_outputs,)`."""

    def probabilities(self, dataset: Dataset) -> Floats:
        """Return the probability of each possible output under `dataset`, shape `(n_outputs,)`."""
        return np.exp(self.log_probabilities(dataset))

    def _positions(self, values: NDArray[Any], n_outputs: int) -> Ints:
        """Return the position of each output in `log_probabilities`, shape `(size,)`; -1 for impossible outputs."""
        possible = (values >= 0) & (values < n_outputs) & (values == np.floor(values))
        return np.where(possible, values, -1).astype(np.int64)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output under `dataset`, shape `(size,)`; -inf for impossible outputs."""
        log_probabilities = self.log_probabilities(dataset)
        positions = self._positions(outputs.values, len(log_probabilities))
        return np.asarray(np.append(log_probabilities, -np.inf)[positions])

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`, from the probabilities of all outputs."""
        pair = self.worst_case()
        return ExactDP.of_logs(self.log_probabilities(pair.d0), self.log_probabilities(pair.d1), self.relation)
