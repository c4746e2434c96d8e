"""Graphical models: the best of all distributions, represented by the marginals of a junction tree (Private-PGM)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ....core import Floats, Ints, ParameterError, PositiveInt
from ....noise.queries.domain import Domain, check_memory
from ..base import FittedDistribution, Generator, NoisyMarginal
from .direct import MAX_BLOCK_ENTRIES, Projection, sampled_given, systematic_sample
from .junction_tree import JunctionTree
from .mirror_descent import MirrorDescentGenerator, Parts

_MIN_PROBABILITY = 1e-300
"""Probability below which a cell counts as empty."""


@dataclass(frozen=True)
class GraphicalModel(MirrorDescentGenerator):
    """Graphical model (Private-PGM): the distribution that `DirectGenerator` finds, without the whole domain.

    The measurements are marginals, so one best distribution, the one with the largest entropy, is a graphical model
    whose potentials are functions of the measured attributes. It is fitted by mirror descent, with the marginals
    by belief propagation in a junction tree, in logarithms, for all runs at once. (McKenna, Sheldon and Miklau 2019.)
    Time and memory grow with the number of cells of the junction tree.

    Args:
        n_steps: maximum number of steps of mirror descent, >= 1.
        tolerance: a run ends once 25 steps increase its log likelihood by less than this, > 0.

    Example:
        >>> from dpassay.mechanisms.literature.synthetic_data import NoisyMarginal
        >>> measured = [
        ...     NoisyMarginal(("a", "b"), np.array([[30.0, 0.0, 0.0, 10.0]]), 1.0),
        ...     NoisyMarginal(("b", "c"), np.array([[15.0, 15.0, 10.0, 0.0]]), 1.0),
        ... ]
        >>> fitted = GraphicalModel().fit(Domain({"a": 2, "b": 2, "c": 2}), measured, np.random.default_rng(0))
        >>> fitted.marginal(("a", "c")).round(1) + 0.0
        array([[15., 15., 10.,  0.]])
    """

    def _fit(
        self, domain: Domain, measured: Sequence[NoisyMarginal], total: Floats, rng: np.random.Generator
    ) -> JunctionTreeDistributions:
        tree = JunctionTree.of(domain, [measurement.attributes for measurement in measured])
        check_memory(len(total) * tree.n_cells, "the junction trees of all runs")
        beliefs = CliqueBeliefs(tree, measured)
        at_once = max(1, MAX_BLOCK_ENTRIES // tree.n_cells)
        blocks = []
        for block_start in range(0, len(total), at_once):
            runs = np.arange(block_start, min(block_start + at_once, len(total)))
            block_measurements = [measurement.of_runs(runs) for measurement in measured]
            start = [np.zeros_like(measurement.answers) for measurement in block_measurements]
            potentials = self._potentials(beliefs.marginals, block_measurements, total[runs], start)
            blocks.append(beliefs.cliques(potentials))
        return JunctionTreeDistributions(tree, total, [np.concatenate(parts) for parts in zip(*blocks, strict=True)])


class CliqueBeliefs:
    """Belief propagation: from potentials of the measured marginals to probabilities, run by run.

    A pass from the leaves to the root collects, in logarithms, the message of each subtree on the attributes shared
    with its parent; a pass back turns the messages into the probabilities of each clique. (Shafer and Shenoy 1990.)
    """

    def __init__(self, tree: JunctionTree, measured: Sequence[NoisyMarginal]) -> None:
        self._tree = tree
        self._domains = [tree.domain.project(names) for names in tree.cliques]
        self._inside: list[list[tuple[int, Projection]]] = [[] for _ in tree.cliques]
        for index, measurement in enumerate(measured):
            clique = tree.holder(measurement.attributes)
            assert clique is not None
            self._inside[clique].append((index, Projection(self._domains[clique], measurement.attributes)))
        self._up = [Projection(domain, names) for domain, names in zip(self._domains, tree.separators, strict=True)]
        self._in_parent = [
            None if parent < 0 else Projection(self._domains[parent], names)
            for parent, names in zip(tree.parents, tree.separators, strict=True)
        ]

    def cliques(self, potentials: Parts) -> list[Floats]:
        """Return the probabilities of the cells of each clique, shape `(size, n_cells)`."""
        size = len(potentials[0])
        logs = [np.zeros((size, *domain.shape)) for domain in self._domains]
        for log, inside in zip(logs, self._inside, strict=True):
            for index, projection in inside:
                log += projection.spread(potentials[index])
        messages: list[Floats] = [np.empty(0)] * len(logs)
        for clique in reversed(range(len(logs))):
            messages[clique] = self._up[clique].log_sums(logs[clique])
            if (in_parent := self._in_parent[clique]) is not None:
                logs[self._tree.parents[clique]] += in_parent.spread(messages[clique])
        probabilities: list[Floats] = []
        for clique, log in enumerate(logs):
            back = -messages[clique]
            if (in_parent := self._in_parent[clique]) is not None:
                back += np.log(np.maximum(in_parent.sums(probabilities[self._tree.parents[clique]]), _MIN_PROBABILITY))
            log += self._up[clique].spread(back)
            probabilities.append(np.exp(log, out=log).reshape(size, -1))
        return probabilities

    def marginals(self, potentials: Parts, _: Ints) -> Parts:
        """Return the probabilities of the cells of each measured marginal."""
        probabilities: dict[int, Floats] = {}
        for shares, inside in zip(self.cliques(potentials), self._inside, strict=True):
            for index, projection in inside:
                probabilities[index] = projection.sums(shares)
        return [probabilities[index] for index in range(len(probabilities))]


class JunctionTreeDistributions(FittedDistribution):
    """A distribution on a junction tree for each run: cliques are independent given their shared attributes.

    Args:
        tree: junction tree of the attributes.
        total: number of records in each run, shape `(size,)`.
        cliques: probabilities of the cells of each clique, shape `(size, n_cells)`.
    """

    def __init__(self, tree: JunctionTree, total: Floats, cliques: Sequence[Floats]) -> None:
        self.domain, self.total, self.tree, self.cliques = tree.domain, total, tree, list(cliques)

    def marginal(self, attributes: Sequence[str]) -> Floats:
        """Return expected counts, `(size, n_cells)`; attributes of several cliques are joined along the tree."""
        names = tuple(attributes)
        holder = self.tree.holder(names)
        if holder is not None:
            shares = Projection(self.domain.project(self.tree.cliques[holder]), names).sums(self.cliques[holder])
        else:
            check_memory(len(self.total) * self.domain.project(names).n_cells, "a marginal")
            shares = self._joined(names)
        return self.total[:, None] * shares

    def _joined(self, names: tuple[str, ...]) -> Floats:
        """Return probabilities of attributes that no single clique holds, summed from the leaves to the root."""
        places = {name: 1 + position for position, name in enumerate(self.domain.names)}
        factors_of: list[list[tuple[Floats, tuple[str, ...]]]] = [[] for _ in self.cliques]
        for clique in reversed(range(len(self.cliques))):
            clique_names, shared = self.tree.cliques[clique], self.tree.separators[clique]
            available = {name for _, inside in factors_of[clique] for name in inside} | set(clique_names)
            if clique and not (available - set(shared)) & set(names):
                continue  # given the shared attributes, the probabilities of this branch sum to 1
            remaining = (
                names
                if clique == 0
                else tuple(n for n in self.domain.names if n in available and n in {*names, *shared})
            )
            factors = [(self._given_parent(clique), clique_names), *factors_of[clique]]
            operands: list[Any] = [
                part for values, inside in factors for part in (values, [0, *(places[n] for n in inside)])
            ]
            joined = np.einsum(*operands, [0, *(places[n] for n in remaining)], optimize=len(factors) > 2)
            if clique == 0:
                return np.asarray(joined.reshape(len(joined), -1))
            factors_of[self.tree.parents[clique]].append((joined, remaining))
        raise AssertionError

    def _given_parent(self, clique: int) -> Floats:
        """Return probabilities of the cells of a clique given those shared with its parent, `(size, *shape)`."""
        domain = self.domain.project(self.tree.cliques[clique])
        shared = Projection(domain, self.tree.separators[clique])
        shares = self.cliques[clique]
        below = shared.spread(np.maximum(shared.sums(shares), _MIN_PROBABILITY))
        return np.asarray(shares.reshape(-1, *domain.shape) / below)

    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        """Return rows drawn clique by clique, given the attributes shared with the parent.

        Among the rows with equal shared attributes, each value occurs as often as expected, up to rounding.
        """
        size = len(self.total)
        rows = np.empty((size, n_rows, len(self.domain.names)), dtype=np.int64)
        for clique, names in enumerate(self.tree.cliques):
            shared = self.tree.separators[clique]
            new = tuple(name for name in names if name not in shared)
            projection = Projection(self.domain.project(names), (*shared, *new))
            n_new = self.domain.project(new).n_cells
            conditional = projection.sums(self.cliques[clique]).reshape(size, -1, n_new)
            if shared:
                cells = sampled_given(conditional, self.domain.cells(rows, shared), rng)
            else:
                cells = rng.permuted(systematic_sample(conditional[:, 0], n_rows, rng), axis=1)
            for name, codes in zip(new, np.unravel_index(cells, self.domain.project(new).shape), strict=True):
                rows[..., self.domain.index(name)] = codes
        return rows


@dataclass(frozen=True)
class MbiGraphicalModel(Generator):
    """Graphical models of mbi 2 (McKenna), one run at a time; `GraphicalModel` fits the same models, all runs at once.

    Tables are drawn as in `GraphicalModel`, because mbi draws from the global generator of numpy.

    Needs `pip install ".[pgm]"`, which brings jax. Set JAX_ENABLE_X64=1 before it is imported: in single
    precision, large tables stall its descent.

    Args:
        n_steps: number of steps of mirror descent in mbi, >= 1.
    """

    n_steps: PositiveInt = 1000

    def _fit(
        self, domain: Domain, measured: Sequence[NoisyMarginal], total: Floats, rng: np.random.Generator
    ) -> JunctionTreeDistributions:
        for measurement in measured:
            if measurement.noise != "gaussian":
                raise ParameterError(
                    argument="noise",
                    value=measurement.noise,
                    allowed="be 'gaussian'",
                    advice="GraphicalModel fits the other.",
                )
        try:
            mbi: Any = import_module("mbi")
        except ImportError as error:
            raise ParameterError(
                'MbiGraphicalModel needs mbi; in a copy of dpassay: pip install ".[pgm]". '
                "GraphicalModel needs no extra.",
                argument="generator",
            ) from error
        tree = JunctionTree.of(domain, [measurement.attributes for measurement in measured])
        fits = [self._fitted(mbi, domain, measured, run, float(n)) for run, n in enumerate(total)]
        cliques = [np.stack([fit.project(names).datavector() / fit.total for fit in fits]) for names in tree.cliques]
        return JunctionTreeDistributions(tree, total, [np.asarray(shares, dtype=np.float64) for shares in cliques])

    def _fitted(self, mbi: Any, domain: Domain, measured: Sequence[NoisyMarginal], run: int, total: float) -> Any:
        answers = [
            mbi.LinearMeasurement(measurement.answers[run], measurement.attributes, float(measurement.deviations[run]))
            for measurement in measured
        ]
        mbi_domain = mbi.Domain(domain.names, domain.shape)
        return mbi.estimation.MirrorDescent().estimate(mbi_domain, answers, known_total=total, iters=self.n_steps)
