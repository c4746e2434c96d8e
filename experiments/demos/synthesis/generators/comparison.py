"""What the ways to generate can and cannot do, measured: on a domain of eight cells, and by time on growing ones.

The table of McKenna, Miklau and Sheldon (2021) has five rows. Each function here measures one of them, for one
generator: a number that is 0 (or 1, for ratios) where the answer is yes.
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
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .....mechanisms.errors import ParameterError
from .....mechanisms.queries import Domain
from .....mechanisms.synthesis import Generator, Measured
from .....mechanisms.synthesis.generators import (
    DirectGenerator,
    GeneratorNetwork,
    GradualUpdate,
    GraphicalModel,
    LocalConsistency,
    RelaxedTable,
    misfit,
)
from .....mechanisms.synthesis.generators.local.polytope import overlaps, project
from .....mechanisms.synthesis.generators.mixtures import products
from .....mechanisms.synthesis.generators.mixtures.network import Network

Floats: TypeAlias = NDArray[np.float64]
Marginals: TypeAlias = Sequence[tuple[str, ...]]

SEED = 2021
CUBE = Domain.of({"a": 2, "b": 2, "c": 2})
PAIRS = (("a", "b"), ("b", "c"), ("a", "c"))
N_RECORDS = 1_000
N_PROBLEMS = 6
NOISE = 30.0
"""Standard deviation of a cell in `noisy_cube`."""
EXACT = DirectGenerator(n_steps=20_000, tolerance=1e-9)
"""Convex, and over all distributions: what the others are measured by."""


def compared() -> dict[str, Generator]:
    """The generators, by the names that the tables give them, of a size that suits eight cells."""
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
    """Distributions over the cube, uniform among all, shape `(n_laws, 8)`."""
    return np.random.default_rng(SEED).dirichlet(np.ones(8), size=n_laws)


def exact_marginals(domain: Domain, laws: Floats, marginals: Marginals) -> list[Floats]:
    """Shares in the cells of each marginal, `(n_laws, n_cells)`."""
    records = domain.records_in(np.arange(domain.n_cells))
    cells = [domain.cells(records, names) for names in marginals]
    return [
        laws @ (cell[:, None] == np.arange(domain.project(names).n_cells))
        for names, cell in zip(marginals, cells, strict=True)
    ]


def noisy_cube() -> list[Measured]:
    """Pairs of attributes of laws over the cube, each with Gaussian noise: one problem a run."""
    rng = np.random.default_rng([SEED, 1])
    shares = exact_marginals(CUBE, random_laws(N_PROBLEMS), PAIRS)
    return [
        Measured(names, N_RECORDS * share + NOISE * rng.normal(size=share.shape), NOISE)
        for names, share in zip(PAIRS, shares, strict=True)
    ]


def frustrated_cube() -> list[Measured]:
    """Each two of three attributes always differ, it says: marginals that agree, and that no distribution has."""
    half = N_RECORDS / 2.0
    return [Measured(names, np.array([[0.0, half, half, 0.0]]), NOISE) for names in PAIRS]


@cache
def least_misfit() -> tuple[Floats, Floats]:
    """The least that any distribution has on the noisy problems, `(N_PROBLEMS,)`, and on the contradiction, `(1,)`."""
    rng = np.random.default_rng(SEED)
    noisy, frustrated = (misfit(EXACT.fit(CUBE, one, rng), one) for one in (noisy_cube(), frustrated_cube()))
    return noisy, frustrated


@dataclass(frozen=True)
class OnTheCube:
    """What one generator does on eight cells.

    Args:
        distance: largest error of a cell's share, over random laws that are measured whole and without noise, each of
        which
            is then the only optimum: about 0 where the search space includes the optimum (row 1).
        spurious: smallest misfit on the contradiction and the noisy problems, over the least that any distribution has:
        below 1
            only what no distribution has can be (row 2).
        excess: largest misfit on the noisy problems over the least, less 1: about 0 where the problem is solved (row
        4).
    """

    distance: float
    spurious: float
    excess: float

    @classmethod
    def of(cls, generator: Generator) -> OnTheCube:
        """Measured for this generator."""
        rng, laws = np.random.default_rng(SEED), random_laws(N_PROBLEMS)
        whole = generator.fit(CUBE, [Measured(CUBE.names, N_RECORDS * laws, 1e-3)], rng)
        distance = np.abs(whole.marginal(CUBE.names) / whole.total[:, None] - laws).max()
        noisy, frustrated = (
            misfit(generator.fit(CUBE, one, rng), one) / least
            for one, least in zip((noisy_cube(), frustrated_cube()), least_misfit(), strict=True)
        )
        return cls(float(distance), float(min(noisy.min(), frustrated.min())), float(noisy.max() - 1.0))


# --- row 3: what is searched, and whether the problem is convex in it -------------------------------------------------


@dataclass(frozen=True)
class SearchSpace:
    """What a generator searches: points of a convex set, and the shares of the measured pairs at a point.

    Args:
        draw: that many points at random, `(size, ...)`.
        answers: of points, `(size, ...)`, the shares of `PAIRS`, one after another.
    """

    draw: Callable[[np.random.Generator, int], Floats]
    answers: Callable[[Floats], Floats]


def search_spaces() -> dict[str, SearchSpace]:
    """What the generators of `compared` search on the cube."""
    return {
        "direct": SearchSpace(
            lambda rng, size: rng.dirichlet(np.ones(8), size),
            lambda laws: np.concatenate(exact_marginals(CUBE, laws, PAIRS), axis=1),
        ),
        "relaxed table (softmax)": SearchSpace(
            lambda rng, size: rng.normal(size=(size, 10, 3, 2)), lambda logits: _of_rows(products.softmax(logits))
        ),
        "relaxed table (clipped)": SearchSpace(lambda rng, size: rng.random((size, 10, 3, 2)), _of_rows),
        "generator network": SearchSpace(lambda rng, size: rng.normal(size=(size, 4 * 8 + 8 * 6)), _of_networks),
        "local consistency": SearchSpace(_agreeing_pairs, lambda pairs: pairs),
    }


def _of_rows(rows: Floats) -> Floats:
    """Shares of the pairs in mixtures, `(size, r, 3 attributes, 2 values)`."""
    columns = {name: rows[:, :, place] for place, name in enumerate(CUBE.names)}
    return np.concatenate([products.answers([columns[name] for name in names]) for names in PAIRS], axis=1)


def _of_networks(parameters: Floats) -> Floats:
    """Shares of the pairs of networks with four latent and eight hidden units."""
    size = len(parameters)
    z = np.broadcast_to(np.random.default_rng(SEED).normal(size=(10, 4)), (size, 10, 4))
    first, second = parameters[:, :32].reshape(size, 4, 8), parameters[:, 32:].reshape(size, 8, 6)
    columns, _ = Network(z, (2, 2, 2)).forward([first, np.zeros((size, 1, 8)), second, np.zeros((size, 1, 6))])
    return _of_rows(np.stack(columns, axis=2))


def _agreeing_pairs(rng: np.random.Generator, size: int) -> Floats:
    """Shares of the three pairs that agree where they overlap."""
    regions = [(0, 1), (1, 2), (0, 2)]
    given = [rng.dirichlet(np.full(4, 0.5), size).reshape(size, 2, 2) for _ in regions]
    found = project(given, [np.ones(size)] * 3, overlaps(regions, CUBE.shape), sweeps=200, exact=True)
    return np.concatenate([table.reshape(size, -1) for table in found], axis=1)


def above_the_chord(space: SearchSpace, n_pairs: int = 400) -> float:
    """Row 3, convex: how often the loss half-way between two random points is above the mean of theirs, as it never is
    where the loss is convex."""
    rng = np.random.default_rng([SEED, 3])
    one, other = space.draw(rng, n_pairs), space.draw(rng, n_pairs)
    aims = np.concatenate(exact_marginals(CUBE, rng.dirichlet(np.ones(8), size=n_pairs), PAIRS), axis=1)
    at_one, at_other, between = (
        ((space.answers(points) - aims) ** 2).sum(axis=1) for points in (one, other, (one + other) / 2.0)
    )
    return float((between > (at_one + at_other) / 2.0 + 1e-12).mean())


# --- row 5: what time grows with --------------------------------------------------------------------------------------


def chain(n_attributes: int, n_values: int) -> tuple[Domain, Marginals]:
    """Each attribute with the next: a tree."""
    domain = Domain.of({f"x{i}": n_values for i in range(n_attributes)})
    return domain, list(pairwise(domain.names))


def clique(n_attributes: int, n_values: int, n_others: int) -> tuple[Domain, Marginals]:
    """Every pair of the first attributes: a junction tree has them all in one node."""
    domain = Domain.of({f"x{i}": n_values for i in range(n_attributes + n_others)})
    return domain, list(combinations(domain.names[:n_attributes], 2))


LADDERS = {
    "domain": (chain(8, 2), chain(16, 2)),
    "junction tree": (chain(11, 8), clique(5, 8, 6)),
    "largest marginal": (chain(3, 8), chain(3, 64)),
}
"""Two problems each: the second has a larger domain (65,536 cells for 256), larger cliques (32,768 cells for 64) of as
many pairs in a domain of the same size, or larger marginals (4,096 cells for 64)."""


def quick() -> dict[str, Generator]:
    """The generators with few steps, whose number time is only proportional to."""
    return {
        "direct": DirectGenerator(),
        "graphical model": GraphicalModel(),
        "relaxed table (softmax)": RelaxedTable(n_rows=100, steps=50),
        "generator network": GeneratorNetwork(n_samples=100, hidden=(64,), steps=50),
        "local consistency": LocalConsistency(),
        "gradual update": GradualUpdate(n_rows=2_000),
    }


def seconds(generator: Generator, domain: Domain, marginals: Marginals) -> float:
    """CPU time of one thread to fit one run of noisy uniform data, and to read one marginal of it; NaN where the domain
    is refused as too large."""
    rng, measured = np.random.default_rng(SEED), []
    for names in marginals:
        n_cells = domain.project(names).n_cells
        measured.append(Measured(names, 10_000.0 / n_cells + 5.0 * rng.normal(size=(1, n_cells)), 5.0))
    with threadpool_limits(1):
        start = time.process_time()
        try:
            generator.fit(domain, measured, rng).marginal(marginals[0])
        except ParameterError:
            return math.nan
        return time.process_time() - start


def slowdowns(generator: Generator) -> dict[str, float]:
    """Row 5, what time grows with: seconds on the larger problem of each ladder over those on the smaller one."""
    seconds(generator, *chain(3, 2))  # warm
    return {
        name: seconds(generator, *larger) / seconds(generator, *smaller) for name, (smaller, larger) in LADDERS.items()
    }
