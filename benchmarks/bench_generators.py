"""Times of the generators: batches of runs, five marginals of a census, and larger problems against smaller ones."""

from __future__ import annotations

import math
import time
from itertools import combinations, pairwise

import numpy as np
from benchmarks.measure import interleaved, ratio, report
from threadpoolctl import threadpool_limits

from dpassay.experiments.demos import get
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.synthetic_data import (
    DirectGenerator,
    Generator,
    GeneratorNetwork,
    GradualUpdate,
    GraphicalModel,
    LocalConsistency,
    NoisyMarginal,
    RelaxedTable,
)
from dpassay.mechanisms.noise.queries import Domain

DOMAIN = Domain.of({"a": 3, "b": 4, "c": 3, "d": 2})
PAIRS = (("a", "b"), ("b", "c"), ("c", "d"))
RUNS = 100
TARGETS: dict[str, tuple[Generator, float]] = {
    "direct": (DirectGenerator(n_steps=200), 0.5),
    "graphical model": (GraphicalModel(n_steps=200), 0.5),
    "relaxed table": (RelaxedTable(n_rows=20, steps=50), 0.5),
    "generator network": (GeneratorNetwork(n_samples=20, hidden=(16,), steps=50), 0.6),
    "local consistency": (LocalConsistency(sweeps=50, n_rows=100), 0.1),
    "gradual update": (GradualUpdate(sweeps=50, n_rows=100, updates=10), 0.2),
}
"""Name -> generator, and target of the ratio of the time of its batch to that of the loop."""


def noisy(size: int) -> list[NoisyMarginal]:
    """Return noisy pair marginals of uniform data."""
    rng = np.random.default_rng(0)
    shapes = [(size, DOMAIN.project(names).n_cells) for names in PAIRS]
    return [
        NoisyMarginal(names, 1_000.0 / shape[1] + 10.0 * rng.normal(size=shape), 10.0)
        for names, shape in zip(PAIRS, shapes, strict=True)
    ]


def fit(generator: Generator, measured: list[NoisyMarginal]) -> None:
    fitted = generator.fit(DOMAIN, measured, np.random.default_rng(1))
    fitted.marginal(("a", "b"))


def chain(n_attributes: int, n_values: int) -> tuple[Domain, list[tuple[str, ...]]]:
    """Return the pairs of consecutive attributes, which form a tree."""
    domain = Domain.of({f"x{i}": n_values for i in range(n_attributes)})
    return domain, list(pairwise(domain.names))


LADDERS = {
    "65,536 cells / 256": (chain(8, 2), chain(16, 2), 5.0),
    "clique of five attributes / two": (
        chain(11, 8),
        (chain(11, 8)[0], list(combinations([f"x{i}" for i in range(5)], 2))),
        6.0,
    ),
    "marginals of 4,096 cells / 64": (chain(3, 8), chain(3, 64), 8.0),
}
"""Name -> smaller problem, larger problem, and target of the ratio; none for the direct method."""
QUICK: dict[str, Generator] = {
    "direct": DirectGenerator(),
    "graphical model": GraphicalModel(),
    "relaxed table (softmax)": RelaxedTable(n_rows=100, steps=50),
    "generator network": GeneratorNetwork(n_samples=100, hidden=(64,), steps=50),
    "local consistency": LocalConsistency(),
    "gradual update": GradualUpdate(n_rows=2_000),
}
"""Generators with few steps; the time is proportional to the number of steps."""


def seconds(generator: Generator, domain: Domain, marginals: list[tuple[str, ...]]) -> float:
    """Return the CPU time of one fit to noisy uniform data with one thread, NaN for a domain that is refused."""
    rng, measured = np.random.default_rng(2021), []
    for names in marginals:
        n = domain.project(names).n_cells
        measured.append(NoisyMarginal(names, 10_000.0 / n + 5.0 * rng.normal(size=(1, n)), 5.0))
    with threadpool_limits(1):
        start = time.process_time()
        try:
            generator.fit(domain, measured, rng).marginal(marginals[0])
        except ParameterError:
            return math.nan
        return time.process_time() - start


def main() -> None:
    together = noisy(RUNS)
    separate = [[marginal.of_runs(np.array([run])) for marginal in together] for run in range(RUNS)]
    with threadpool_limits(1):
        for name, (generator, target) in TARGETS.items():
            batch, loop = interleaved(
                lambda generator=generator: fit(generator, together),
                lambda generator=generator: [fit(generator, run) for run in separate],
                repeats=3,
            )
            report(f"{name}: {RUNS} runs together / one after another", ratio(batch, loop), target)
    found = get("five-generators").run()
    for name, taken in found.seconds.items():
        report(f"{name}: five marginals of {found.data}", taken, 30.0 if name == "graphical model" else 60.0, unit="s")
    for name, generator in QUICK.items():
        seconds(generator, *chain(3, 2))  # warm-up
        for what, (smaller, larger, target) in LADDERS.items():
            slower = seconds(generator, *larger) / seconds(generator, *smaller)
            if name == "direct":
                print(f"direct: {what:<56} {'too large' if math.isnan(slower) else f'{slower:.3f} x'}  no target")
            else:
                report(f"{name}: {what}", slower, target)


if __name__ == "__main__":
    main()
