"""Bound of audit(function) with the default attack against that of the best score, with the same bound and sizes.

    python -m benchmarks default_attack                        the twelve named cells, 8 seeds
    python -m benchmarks.bench_default_attack --seeds 40       with other numbers of seeds, trials, or cells
    python -m benchmarks.bench_default_attack --further        further noises, sizes and forms of the output

Each function adds noise to a vector and knows nothing of the audit. The best score is the log ratio of the two output
laws. Printed are the mean and the fifth percentile of the bounds, as shares of the mean bound of the best score.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from benchmarks.measure import report
from scipy import special, stats

from dpassay.attacks.base import Attack, Scorer, Target
from dpassay.attacks.function import FunctionScorer
from dpassay.audit import audit
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.accounting import ApproximateDP
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.core import Floats, Outputs

SIGMA = 3.7306316  # the analytic Gaussian mechanism at (1, 1e-5), sensitivity 1
Draw = Callable[[np.random.Generator, tuple[int, int], Floats], Any]


@dataclass(frozen=True, kw_only=True)
class BestScore(Attack):
    """The log ratio as score, at the sizes of an attack that learns."""

    minimum_pilot: ClassVar[int] = 30

    log_ratio: Callable[[Any], Any]

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        return FunctionScorer(self.log_ratio)


def laplace(rng: np.random.Generator, shape: tuple[int, int], centre: Floats) -> Floats:
    return centre + rng.laplace(size=shape)


def laplace_ratio(x: Floats, shift: Floats) -> Floats:
    """Return the sum of |x| - |x - shift|, without the rounding errors that would make it depend on low bits."""
    return (np.sign(shift) * (2.0 * np.clip(x, np.minimum(shift, 0.0), np.maximum(shift, 0.0)) - shift)).sum(axis=1)


def gaussian(rng: np.random.Generator, shape: tuple[int, int], centre: Floats) -> Floats:
    return centre + SIGMA * rng.normal(size=shape)


def gaussian_ratio(x: Floats, shift: Floats) -> Floats:
    return (x - shift / 2.0) @ shift / SIGMA**2


def geometric(rng: np.random.Generator, shape: tuple[int, int], centre: Floats) -> Floats:
    p = 1.0 - np.exp(-1.0)
    return centre + rng.geometric(p, shape) - rng.geometric(p, shape)


def discrete_gaussian(rng: np.random.Generator, shape: tuple[int, int], centre: Floats) -> Floats:
    support = np.arange(-40, 41)
    return centre + rng.choice(support, shape, p=special.softmax(-(support**2) / (2.0 * SIGMA**2)))


def clamped(rng: np.random.Generator, shape: tuple[int, int], centre: Floats) -> Floats:
    return np.clip(laplace(rng, shape, centre), -1.0, 2.0)


def clamped_ratio(x: Floats, shift: Floats) -> Floats:
    return laplace_ratio(x, shift)


def bounded(rng: np.random.Generator, shape: tuple[int, int], centre: Floats) -> Floats:
    """Laplace noise truncated to [-8, 8]."""
    return centre + _bounded_laplace.ppf(rng.random(shape))


class _Bounded:
    largest = 8.0

    def ppf(self, u: Floats) -> Floats:
        tail = np.exp(-self.largest)
        return np.asarray(stats.laplace.ppf(tail / 2.0 + u * (1.0 - tail)))


_bounded_laplace = _Bounded()


def bounded_ratio(x: Floats, shift: Floats) -> Floats:
    only1, only0 = (np.abs(x) > 8.0).any(axis=1), (np.abs(x - shift) > 8.0).any(axis=1)
    return np.where(only1, np.inf, np.where(only0, -np.inf, laplace_ratio(x, shift)))


def as_array(rows: Floats) -> Any:
    return rows


def as_dict(rows: Floats) -> Any:
    return {f"part {index}": column for index, column in enumerate(rows.T)}


def as_frame(rows: Floats) -> Any:
    import pandas as pd

    return pd.DataFrame(rows, columns=[f"column {index}" for index in range(rows.shape[1])])


@dataclass(frozen=True)
class Cell:
    """One function and its pair."""

    name: str
    draw: Draw
    ratio: Callable[[Floats, Floats], Floats]
    shift: tuple[float, ...]
    delta: float
    form: Callable[[Floats], Any] = as_array
    style: str = "many-runs"

    def mechanism(self) -> FunctionMechanism:
        shift, draw, form = np.array(self.shift), self.draw, self.form

        def release(dataset: Floats, size: int, rng: np.random.Generator) -> Any:
            return form(draw(rng, (size, len(shift)), np.asarray(dataset)))

        def one(dataset: Floats, rng: np.random.Generator) -> Any:
            return tuple(draw(rng, (1, len(shift)), np.asarray(dataset))[0])

        pair = Neighbours(np.zeros(len(shift)), shift, "replace_one")
        function = release if self.style == "many-runs" else one
        return FunctionMechanism(function, claim=ApproximateDP(1.0, self.delta), neighbours=pair, records=False)

    def best(self) -> BestScore:
        shift, ratio = np.array(self.shift), self.ratio
        return BestScore(log_ratio=lambda values: ratio(values.reshape(len(values), -1), shift))


def one_moves(d: int) -> tuple[float, ...]:
    return (1.0, *[0.0] * (d - 1))


def all_move(d: int, power: float) -> tuple[float, ...]:
    return (float(d**-power),) * d


NOISES = (("laplace", laplace, laplace_ratio, 0.0, 1.0), ("gaussian", gaussian, gaussian_ratio, 1e-5, 0.5))
"""Name, noise, log ratio, delta, and the power of d by which the shift of each of d numbers is divided."""


def named() -> list[Cell]:
    cells = []
    for d in (1, 4, 64):
        for moves in ("one", "all"):
            for name, draw, ratio, delta, power in NOISES:
                shift = one_moves(d) if moves == "one" else all_move(d, power)
                cells.append(Cell(f"{name}, d = {d}, {moves} moves", draw, ratio, shift, delta))
    return cells


def further() -> list[Cell]:
    opposite = (0.5, -0.5, 0.0, 0.0)
    cells = [
        Cell("geometric, d = 1", geometric, laplace_ratio, one_moves(1), 0.0),
        Cell("geometric, d = 4, one moves", geometric, laplace_ratio, one_moves(4), 0.0),
        Cell("discrete gaussian, d = 1", discrete_gaussian, gaussian_ratio, one_moves(1), 1e-5),
        Cell("discrete gaussian, d = 4, one moves", discrete_gaussian, gaussian_ratio, one_moves(4), 1e-5),
        Cell("laplace clamped, d = 1", clamped, clamped_ratio, one_moves(1), 0.0),
        Cell("laplace clamped, d = 4, one moves", clamped, clamped_ratio, one_moves(4), 0.0),
        Cell("laplace truncated at 8, d = 1", bounded, bounded_ratio, one_moves(1), 1e-3),
        Cell("laplace, d = 4, opposite", laplace, laplace_ratio, opposite, 0.0),
        Cell("gaussian, d = 4, opposite", gaussian, gaussian_ratio, tuple(np.sqrt(2.0) * np.array(opposite)), 1e-5),
        Cell("laplace, d = 4, a dict", laplace, laplace_ratio, one_moves(4), 0.0, as_dict),
        Cell("laplace, d = 4, a frame", laplace, laplace_ratio, one_moves(4), 0.0, as_frame),
        Cell("laplace, d = 4, a tuple of one run", laplace, laplace_ratio, one_moves(4), 0.0, style="one-run"),
    ]
    for d in (2, 16):
        for moves in ("one", "all"):
            for name, draw, ratio, delta, power in NOISES:
                shift = one_moves(d) if moves == "one" else all_move(d, power)
                cells.append(Cell(f"{name}, d = {d}, {moves} moves", draw, ratio, shift, delta))
    return cells


def measure(cells: list[Cell], seeds: int, trials: int) -> None:
    for cell in cells:
        mechanism, best = cell.mechanism(), cell.best()
        bounds, seconds = [], 0.0
        for seed in range(seeds):
            before = time.process_time()
            default = audit(mechanism, trials=trials, seed=seed, delta=cell.delta)
            seconds += time.process_time() - before
            ideal = audit(mechanism, trials=trials, seed=seed, delta=cell.delta, attack=best)
            bounds.append((default.bound.epsilon, ideal.bound.epsilon))
        found, reference = np.array(bounds).T
        mean = reference.mean()
        what = f"{cell.name}, {trials:,} trials: best {mean:.3f}, {seconds / seeds:.2f} s CPU"
        report(f"{what}; mean", found.mean() / mean, 0.95, unit="", smaller_is_better=False)
        if seeds >= 8:
            low, of_best = np.quantile(found, 0.05) / mean, np.quantile(reference, 0.05) / mean
            report(f"    fifth percentile (best {of_best:.3f})", low, 0.87, unit="", smaller_is_better=False)


def main(seeds: int = 8) -> None:
    measure(named(), seeds, 10_000)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--cells", default="", help="part of the names of the cells")
    parser.add_argument("--further", action="store_true")
    options = parser.parse_args()
    chosen = [cell for cell in (further() if options.further else named()) if options.cells in cell.name]
    measure(chosen, options.seeds, options.trials)
