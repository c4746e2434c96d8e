"""A generator learned from two parts of a table; the rest of the table are its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core import Dataset, Guarantee, Ints, ParameterError, Relation, positive
from ....noise.queries.domain import Domain
from .network import BayesianNetwork
from .parameters import NoisyFamilyCounts
from .release import DeniableRelease
from .seeds import SeedBasedSynthesis
from .structure import NoisyEntropies

SPLIT_SHARES = (0.25, 0.25, 0.5)


@dataclass(frozen=True, eq=False)
class LearnedGenerator:
    """A learned network, the mechanisms that learned it, and the remaining records as seeds.

    Args:
        network: a network learned with noise.
        structure, parameters: the two mechanisms that were run, each on a separate part.
        seeds: records `(n, m)` that were not used for learning.
    """

    network: BayesianNetwork
    structure: NoisyEntropies
    parameters: NoisyFamilyCounts
    seeds: Ints

    def release(self, resampled: Sequence[int], *, k: int, gamma: float, epsilon0: float) -> DeniableRelease:
        """Return the mechanism that releases a synthetic record from one of `seeds`; run it on `seeds`."""
        generator = SeedBasedSynthesis(self.network, tuple(resampled))
        return DeniableRelease(generator, k, gamma=gamma, epsilon0=epsilon0, relation=Relation.REPLACE_ONE)

    def guarantees(self) -> tuple[Guarantee, Guarantee]:
        """Return the guarantees of structure and of parameter learning, under replace_one.

        The parts are disjoint: a record that is replaced is in one of them, so the whole is as private as the
        least private of the three steps: two of learning, and the release (parallel composition).
        """
        return self.structure.guarantee(), self.parameters.guarantee()


def learn_generator(
    dataset: Dataset,
    domain: Domain | Any,
    *,
    rng: np.random.Generator,
    epsilon_entropy: float = 0.05,
    epsilon_table: float = 0.1,
    shares: Sequence[float] = SPLIT_SHARES,
    max_parents: int = 3,
    max_cells: int = 1000,
) -> LearnedGenerator:
    """Split a table at random in three; learn the structure of a network from the first part, tables from the second.

    Args:
        dataset: records over `domain`, at least two per part.
        domain: the attributes, public.
        rng: the only source of randomness.
        epsilon_entropy: epsilon of each entropy; see `NoisyEntropies`.
        epsilon_table: epsilon of each table; see `NoisyFamilyCounts`.
        shares: relative sizes of the three parts, > 0.
        max_parents, max_cells: limits on the parents of an attribute; see `NoisyEntropies`.

    Raises:
        ParameterError: a value is out of range, or a part has fewer than two records.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> from .network import markov_chain
        >>> truth = markov_chain(3)
        >>> learned = learn_generator(truth.sample(4000, rng), truth.domain, rng=rng, epsilon_entropy=1.0)
        >>> learned.network, len(learned.seeds)
        (BayesianNetwork(3 attributes, 2 edges), 2000)
    """
    known = Domain.of(domain)
    records = known.records(dataset)
    positive(**{f"shares[{i}]": share for i, share in enumerate(shares)})
    if len(shares) != 3:
        raise ParameterError(argument="shares", value=tuple(shares), allowed="be three numbers > 0")
    ends = np.round(np.cumsum(shares)[:-1] / np.sum(shares) * len(records)).astype(int)
    parts = np.split(records[rng.permutation(len(records))], ends)
    if min(map(len, parts)) < 2:
        raise ParameterError(
            f"the dataset must leave at least two records for each of the three parts, but has {len(records)}.",
            argument="dataset",
        )
    structure = NoisyEntropies(
        known, len(parts[0]), epsilon_each=epsilon_entropy, max_parents=max_parents, max_cells=max_cells
    )
    edges, order = structure.learn(structure.release(parts[0], 1, rng).values)
    parents = tuple(tuple(known.names[j] for j in np.flatnonzero(row)) for row in edges[0])
    parameters = NoisyFamilyCounts(
        known,
        parents,
        tuple(known.names[j] for j in order[0]),
        epsilon_each=epsilon_table,
        relation=Relation.REPLACE_ONE,
    )
    network = parameters.network(parameters.release(parts[1], 1, rng).values[0])
    return LearnedGenerator(network, structure, parameters, parts[2])
