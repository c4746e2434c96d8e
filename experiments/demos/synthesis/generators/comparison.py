"""Measured properties of the generators: fits on a domain of eight cells, and scaling of the time.

The table of McKenna, Miklau and Sheldon (2021) has five rows. Each function of this module measures one row for one
generator: a number that is 0 (or 1, for ratios) if the answer is yes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from typing import TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from .....mechanisms.core.arrays import Floats
from .....mechanisms.core.errors import ParameterError
from .....mechanisms.noise.queries import Domain
from .....mechanisms.synthetic_data import Generator, NoisyMarginal
from .....mechanisms.synthetic_data.generators import (
    DirectGenerator,
    GeneratorNetwork,
    GradualUpdate,
    GraphicalModel,
    LocalConsistency,
    RelaxedTable,
    marginal_loss,
)
from .....mechanisms.synthetic_data.generators.generator_network import Network
from .....mechanisms.synthetic_data.generators.local_consistency import overlaps, project_onto_polytope
from .....mechanisms.synthetic_data.generators.product_mixtures import mixture_answers, softmax

Marginals: TypeAlias = Sequence[tuple[str, ...]]

SEED = 2021
CUBE = Domain.of({"a": 2, "b": 2, "c": 2})
PAIRS = (("a", "b"), ("b", "c"), ("a", "c"))
N_RECORDS = 1_000
N_PROBLEMS = 6
NOISE = 30.0
"""Standard deviation of a cell in `noisy_cube`."""
EXACT = DirectGenerator(n_steps=20_000, tolerance=1e-9)
"""Reference solution: a convex problem over all distributions."""


def compared() -> dict[str, Generator]:
    """Return the generators by their names in the tables, with settings for eight cells."""
    return {
        "direct": DirectGenerator(),
        "graphical model": GraphicalModel(),
        "relaxed table (softmax)": RelaxedTable(n_rows=50),
        "relaxed table (clipped)": RelaxedTable(n_rows=50, softmax=False, learning_rate=0.1),
        "generator network": GeneratorNetwork(n_samples=50, hidden=(64,), learning_rate=0.02),
        "local consistency": LocalConsistency(),
        "gradual update": GradualUpdate(n_rows=10_000),
    }


def random_laws(n_laws: int) -> Floats:
    """Draw distributions over the cube, uniform on the simplex, shape `(n_laws, 8)`."""
    return np.random.default_rng(SEED).dirichlet(np.ones(8), size=n_laws)


def exact_marginals(domain: Domain, laws: Floats, marginals: Marginals) -> list[Floats]:
    """Return the shares in the cells of each marginal, `(n_laws, n_cells)`."""
    records = domain.records_in(np.arange(domain.n_cells))
    cells = [domain.cells(records, names) for names in marginals]
    return [
        laws @ (cell[:, None] == np.arange(domain.project(names).n_cells))
        for names, cell in zip(marginals, cells, strict=True)
    ]


def noisy_cube() -> list[NoisyMarginal]:
    """Return noisy pair marginals of random distributions over the cube, one problem per run."""
    rng = np.random.default_rng([SEED, 1])
    shares = exact_marginals(CUBE, random_laws(N_PROBLEMS), PAIRS)
    return [
        NoisyMarginal(names, N_RECORDS * share + NOISE * rng.normal(size=share.shape), NOISE)
        for names, share in zip(PAIRS, shares, strict=True)
    ]


def frustrated_cube() -> list[NoisyMarginal]:
    """Return marginals in which any two of three attributes always differ: locally consistent, but unrealisable."""
    half = N_RECORDS / 2.0
    return [NoisyMarginal(names, np.array([[0.0, half, half, 0.0]]), NOISE) for names in PAIRS]


@cache
def least_loss() -> tuple[Floats, Floats]:
    """Return the smallest losses on the noisy problems, `(N_PROBLEMS,)`, and on the unrealisable one, `(1,)`."""
    rng = np.random.default_rng(SEED)
    problems = (noisy_cube(), frustrated_cube())
    noisy, frustrated = (marginal_loss(EXACT.fit(CUBE, problem, rng), problem) for problem in problems)
    return noisy, frustrated


@dataclass(frozen=True)
class OnTheCube:
    """Results of one generator on eight cells.

    Args:
        distance: largest error of a cell's share, over random distributions that are measured completely and without
            noise: about 0 if the search space includes the optimum (row 1).
        spurious: smallest ratio of the loss to that of the best distribution, over the unrealisable and the noisy
            problems: a value below 1 shows a fit that is not a distribution (row 2).
        excess: largest ratio of the loss to that of the best distribution on the noisy problems, minus 1: about 0 if
            the problem is solved (row 4).
    """

    distance: float
    spurious: float
    excess: float

    @classmethod
    def of(cls, generator: Generator) -> OnTheCube:
        """Measure this generator."""
        rng, laws = np.random.default_rng(SEED), random_laws(N_PROBLEMS)
        whole = generator.fit(CUBE, [NoisyMarginal(CUBE.names, N_RECORDS * laws, 1e-3)], rng)
        distance = np.abs(whole.marginal(CUBE.names) / whole.total[:, None] - laws).max()
        noisy, frustrated = (
            marginal_loss(generator.fit(CUBE, problem, rng), problem) / least
            for problem, least in zip((noisy_cube(), frustrated_cube()), least_loss(), strict=True)
        )
        return cls(float(distance), float(min(noisy.min(), frustrated.min())), float(noisy.max() - 1.0))


# --- row 3: search spaces, and convexity of the problem ---------------------------------------------------------------


@dataclass(frozen=True)
class SearchSpace:
    """Search space of a generator: points of a convex set, and the shares of the measured pairs at a point.

    Args:
        draw: draws that many random points, `(size, ...)`.
        answers: returns the concatenated shares of `PAIRS` at points, `(size, ...)`.
    """

    draw: Callable[[np.random.Generator, int], Floats]
    answers: Callable[[Floats], Floats]


def search_spaces() -> dict[str, SearchSpace]:
    """Return the search spaces of the generators of `compared` on the cube."""
    return {
        "direct": SearchSpace(
            lambda rng, size: rng.dirichlet(np.ones(8), size),
            lambda laws: np.concatenate(exact_marginals(CUBE, laws, PAIRS), axis=1),
        ),
        "relaxed table (softmax)": SearchSpace(
            lambda rng, size: rng.normal(size=(size, 10, 3, 2)), lambda logits: _of_rows(softmax(logits))
        ),
        "relaxed table (clipped)": SearchSpace(lambda rng, size: rng.random((size, 10, 3, 2)), _of_rows),
        "generator network": SearchSpace(lambda rng, size: rng.normal(size=(size, 4 * 8 + 8 * 6)), _of_networks),
        "local consistency": SearchSpace(_agreeing_pairs, lambda pairs: pairs),
    }


def _of_rows(rows: Floats) -> Floats:
    """Return the shares of the pairs in mixtures, `(size, r, 3 attributes, 2 values)`."""
    columns = {name: rows[:, :, place] for place, name in enumerate(CUBE.names)}
    return np.concatenate([mixture_answers([columns[name] for name in names]) for names in PAIRS], axis=1)


def _of_networks(parameters: Floats) -> Floats:
    """Return the shares of the pairs of networks with four latent and eight hidden units."""
    size = len(parameters)
    z = np.broadcast_to(np.random.default_rng(SEED).normal(size=(10, 4)), (size, 10, 4))
    first, second = parameters[:, :32].reshape(size, 4, 8), parameters[:, 32:].reshape(size, 8, 6)
    columns, _ = Network(z, (2, 2, 2)).forward([first, np.zeros((size, 1, 8)), second, np.zeros((size, 1, 6))])
    return _of_rows(np.stack(columns, axis=2))


def _agreeing_pairs(rng: np.random.Generator, size: int) -> Floats:
    """Return random shares of the three pairs that are consistent on their overlaps."""
    regions = [(0, 1), (1, 2), (0, 2)]
    initial = [rng.dirichlet(np.full(4, 0.5), size).reshape(size, 2, 2) for _ in regions]
    consistent = project_onto_polytope(
        initial, [np.ones(size)] * 3, overlaps(regions, CUBE.shape), sweeps=200, exact=True
    )
    return np.concatenate([table.reshape(size, -1) for table in consistent], axis=1)


def above_the_chord(space: SearchSpace, n_pairs: int = 400) -> float:
    """Return how often the loss at the midpoint of two random points exceeds the mean of their losses (row 3).

    The result is 0 if the loss is convex.
    """
    rng = np.random.default_rng([SEED, 3])
    first, second = space.draw(rng, n_pairs), space.draw(rng, n_pairs)
    targets = np.concatenate(exact_marginals(CUBE, rng.dirichlet(np.ones(8), size=n_pairs), PAIRS), axis=1)
    at_first, at_second, at_midpoint = (
        ((space.answers(points) - targets) ** 2).sum(axis=1) for points in (first, second, (first + second) / 2.0)
    )
    return float((at_midpoint > (at_first + at_second) / 2.0 + 1e-12).mean())


# --- row 5: scaling of the time ---------------------------------------------------------------------------------------


def chain(n_attributes: int, n_values: int) -> tuple[Domain, Marginals]:
    """Return the pairs of consecutive attributes, which form a tree."""
    domain = Domain.of({f"x{i}": n_values for i in range(n_attributes)})
    return domain, list(pairwise(domain.names))


def clique(n_attributes: int, n_values: int, n_others: int) -> tuple[Domain, Marginals]:
    """Return all pairs of the first attributes, which are one node of a junction tree."""
    domain = Domain.of({f"x{i}": n_values for i in range(n_attributes + n_others)})
    return domain, list(combinations(domain.names[:n_attributes], 2))


LADDERS = {
    "domain": (chain(8, 2), chain(16, 2)),
    "junction tree": (chain(11, 8), clique(5, 8, 6)),
    "largest marginal": (chain(3, 8), chain(3, 64)),
}
"""Two problems each: the second has a larger domain (65,536 instead of 256 cells), larger cliques (32,768 instead of 64
cells) with the same number of pairs and size of the domain, or larger marginals (4,096 instead of 64 cells)."""


def quick() -> dict[str, Generator]:
    """Return the generators with few steps; the time is proportional to the number of steps."""
    return {
        "direct": DirectGenerator(),
        "graphical model": GraphicalModel(),
        "relaxed table (softmax)": RelaxedTable(n_rows=100, steps=50),
        "generator network": GeneratorNetwork(n_samples=100, hidden=(64,), steps=50),
        "local consistency": LocalConsistency(),
        "gradual update": GradualUpdate(n_rows=2_000),
    }


def seconds(generator: Generator, domain: Domain, marginals: Marginals) -> float:
    """Return the CPU time of one fit to noisy uniform data and of one marginal, with one thread.

    NaN if the generator rejects the domain as too large.
    """
    rng, measured = np.random.default_rng(SEED), []
    for names in marginals:
        n_cells = domain.project(names).n_cells
        measured.append(NoisyMarginal(names, 10_000.0 / n_cells + 5.0 * rng.normal(size=(1, n_cells)), 5.0))
    with threadpool_limits(1):
        start = time.process_time()
        try:
            generator.fit(domain, measured, rng).marginal(marginals[0])
        except ParameterError:
            return math.nan
        return time.process_time() - start


def slowdowns(generator: Generator) -> dict[str, float]:
    """Return the time on the larger problem of each ladder divided by that on the smaller one (row 5)."""
    seconds(generator, *chain(3, 2))  # warm-up
    return {
        name: seconds(generator, *larger) / seconds(generator, *smaller) for name, (smaller, larger) in LADDERS.items()
    }
