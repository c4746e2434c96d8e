"""Fits of a batch of runs together against one fit per run, for each generator, and five marginals of a census."""

from __future__ import annotations

import numpy as np
from benchmarks.measure import interleaved, ratio, report
from threadpoolctl import threadpool_limits

from dpassay.experiments.demos.synthesis.generators.census import census, explained, generators
from dpassay.mechanisms.noise.queries import Domain
from dpassay.mechanisms.synthetic_data import DirectGenerator, Generator, GeneratorNetwork, GradualUpdate, GraphicalModel, LocalConsistency, Measured, RelaxedTable

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


def noisy(size: int) -> list[Measured]:
    """Return noisy pair marginals of uniform data."""
    rng = np.random.default_rng(0)
    shapes = [(size, DOMAIN.project(names).n_cells) for names in PAIRS]
    return [
        Measured(names, 1_000.0 / shape[1] + 10.0 * rng.normal(size=shape), 10.0)
        for names, shape in zip(PAIRS, shapes, strict=True)
    ]


def fit(generator: Generator, measured: list[Measured]) -> None:
    fitted = generator.fit(DOMAIN, measured, np.random.default_rng(1))
    fitted.marginal(("a", "b"))


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
    data, table = census()
    for name, fit_ in explained(table, generators()).items():
        report(f"{name}: five marginals of {data}", fit_.seconds, 30.0 if name == "graphical model" else 60.0, unit="s")


if __name__ == "__main__":
    main()
