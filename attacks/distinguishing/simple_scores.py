"""Scores that need little or no learning: log ratios of noise that is shifted, and statistics of the output.

    NoiseRatio   log ratio of Laplace or Gaussian noise around two centres, summed over the coordinates that move
    Statistic    a coordinate, its distance from the middle, a sum, norm, ordered coordinate, number of distinct values

Learned log odds vary where the true ones are flat, and the threshold is then chosen in that variation. The log ratio of
Laplace noise is flat beyond both centres: the value clipped to the interval between them.

    side 0: x = c + z, side 1: x = c + s + z, u = (x - c) / s
    Laplace noise of scale b:    sum of (2 u' - 1) |s| / b, with u' = u clipped to [0, 1]
    Gaussian noise of scale b:   sum of (2 u - 1) s^2 / (2 b^2)

The shift s is the difference of outputs at the same seed, if the first runs of a function found one, or is estimated on
the pilot. The centres and scales are estimated on the pilot. The two sides are coupled in the runs at the same seed,
which have a random stream of their own: they propose a score, and nothing is counted in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...mechanisms.core import NO_NAMES, Floats, Ints, OutputNames, Outputs, number
from ..learners.features import as_matrix, robust_scale
from .cross_fit import Proposer, Sides, best_events, calibrated_losses
from .simple_rules import interval_in_words

LAPLACE, GAUSSIAN = "laplace", "gaussian"
MOVES_FROM = 3.0
"""Smallest shift of a coordinate that counts as a move, in standard errors beyond those of the largest chance shift."""
EQUAL_SCALES = 5.0
"""Largest distance of scales that count as equal, in standard errors of the distance of two."""
SAME = 1e-9
"""Relative difference of weights up to which they count as equal: shifts at the same seed have rounding errors."""
SMALLEST_SCALE = 1e-9
"""Smallest scale of noise, relative to the shift."""
MAX_Z = 1e100
MAX_COORDINATES = 64
"""Largest number of coordinates of which statistics are tried one by one: those that differ most between the sides."""
MAX_ENTRIES = 2_000_000
"""Largest number of rows of a side times statistics."""
N_FINALISTS = 6
"""Number of statistics with the largest limits, of which the one with the smallest log loss is taken."""
MAX_CLIPPED = 5.0  # spreads at which a coordinate is clipped before the sides are compared


@dataclass(frozen=True, eq=False)
class NoiseRatio:
    """Scorer: the log ratio of noise of one kind around two centres, summed over the coordinates that move.

    Args:
        noise: "laplace" or "gaussian".
        columns: `(k,)` indices of the coordinates that move.
        centres: `(k,)` centres on side 0.
        shifts: `(k,)` centres on side 1 minus those on side 0, not 0.
        scales: `(k,)` scales: mean absolute deviations for Laplace noise, standard deviations for Gaussian noise.
        single: whether an output is one number.
        names: names of the numbers of an output, for descriptions.
    """

    noise: str
    columns: Ints
    centres: Floats
    shifts: Floats
    scales: Floats
    single: bool
    names: OutputNames = NO_NAMES

    @classmethod
    def fit(cls, rows: Sides, shift: Floats, *, likelier: bool = True) -> NoiseRatio | None:
        """Fit centres and scales to rows of both sides that differ by `shift`; return None if that is 0.

        Args:
            rows: rows of both sides.
            shift: `(n_coordinates,)` centres of side 1 minus those of side 0.
            likelier: takes the noise under which the rows are likelier; False the other one.
        """
        if not shift.any():
            return None
        columns = np.flatnonzero(shift)
        residuals = np.concatenate([rows[0][:, columns], rows[1][:, columns] - shift[columns]])
        centres = np.median(residuals, axis=0)
        smallest = SMALLEST_SCALE * np.abs(shift[columns])  # where there is no noise
        absolute = np.maximum(np.abs(residuals - centres).mean(axis=0), smallest)
        standard = np.maximum(residuals.std(axis=0), smallest)
        laplace, gaussian = np.log(2.0 * absolute) + 1.0, np.log(standard) + 0.5 * np.log(2.0 * np.pi * np.e)
        noise = LAPLACE if (laplace.sum() < gaussian.sum()) == likelier else GAUSSIAN
        scales = absolute if noise == LAPLACE else standard
        if np.ptp(np.log(scales)) <= EQUAL_SCALES * math.sqrt(2.0 / len(residuals)):
            scales = np.full_like(scales, scales.mean())
        return cls(noise, columns, centres, shift[columns], scales, rows[0].shape[1] == 1)

    def score(self, outputs: Outputs) -> Floats:
        """Return the log ratios of `outputs`, shape `(size,)`, natural logarithms."""
        return self.of_rows(as_matrix(outputs.values))

    def of_rows(self, rows: Floats) -> Floats:
        """Return the log ratios of `(size, n_coordinates)` rows."""
        with np.errstate(over="ignore"):
            units = (
                rows[:, self.columns] - self.centres
            ) / self.shifts  # 0 at the centre of side 0, 1 at that of side 1
            if self.noise == LAPLACE:
                units = np.clip(units, 0.0, 1.0)
            units = np.clip(2.0 * units - 1.0, -MAX_Z, MAX_Z)
            weights = self._weights
            if np.ptp(weights) <= SAME * weights.max():  # a sum of whole numbers beyond the centres, without rounding
                return np.asarray(weights[0] * units.sum(axis=1))
            return np.asarray((units * weights).sum(axis=1))

    def describe(self, threshold: float, *, above: bool = True) -> str:
        """Describe the outputs that score at or above the threshold, or below: an interval if one coordinate moves."""
        if len(self.columns) > 1:
            sign = ">=" if above else "<"
            return (
                f"log ratio of the two sides {sign} {number(threshold)}, by {self.noise.capitalize()} noise in "
                f"{len(self.columns):,} numbers of the output that move"
            )
        index = None if self.single else int(self.columns[0])
        at = float(self.centres[0] + 0.5 * self.shifts[0] * (1.0 + threshold / self._weights[0]))
        upper = above == (self.shifts[0] > 0.0)
        return f"{self.names.name(index)} is {interval_in_words(*((at, math.inf) if upper else (-math.inf, at)))}"

    def describes_outputs(self, threshold: float, *, above: bool = True) -> bool:
        """Return whether `describe` names an interval."""
        return len(self.columns) == 1

    @property
    def _weights(self) -> Floats:
        """Log ratio at the centre of side 1, for each coordinate."""
        ratio = np.abs(self.shifts) / self.scales
        return ratio if self.noise == LAPLACE else 0.5 * ratio**2


def _shift_of_medians(rows: Sides) -> Floats:
    """Return the differences of the medians of both sides, 0 where they are no more than chance."""
    middle0, middle1 = (np.median(side, axis=0) for side in rows)
    _, spreads = robust_scale(np.concatenate(rows))
    errors = 0.93 * spreads * np.sqrt(sum(1.0 / len(side) for side in rows))  # a median of normal noise, by its spread
    by_chance = np.sqrt(2.0 * np.log(len(spreads))) if len(spreads) > 1 else 0.0
    shift = middle1 - middle0
    return np.where(np.abs(shift) > (MOVES_FROM + by_chance) * errors, shift, 0.0)


def _shift_of_means(rows: Sides) -> Floats:
    """Return the differences of the means of both sides, of all coordinates."""
    return np.asarray(rows[1].mean(axis=0) - rows[0].mean(axis=0))


@dataclass(frozen=True, eq=False)
class Statistic:
    """Scorer: a statistic of the output, with the sign that makes side 1 higher on the pilot.

    Args:
        kind: "coordinate"; "distance", the distance of a coordinate from its middle; "order", the coordinate of a rank
            from the smallest one; "sum"; "norm", of coordinates on a common scale; or "values", the number of distinct
            coordinates.
        index: coordinate or rank.
        centres, scales: `(n_coordinates,)` pooled medians and spreads of the pilot.
        sign: 1 or -1.
        names: names of the numbers of an output, for descriptions.
    """

    kind: str
    index: int
    centres: Floats
    scales: Floats
    sign: float = 1.0
    names: OutputNames = NO_NAMES

    @classmethod
    def fit(cls, rows: Sides, delta: float) -> Statistic:
        """Return the statistic whose best event has the largest lower limit of the log ratio on these rows."""
        centres, scales = robust_scale(np.concatenate(rows))
        candidates = list(_statistics(rows, centres, scales))
        n = max(1, MAX_ENTRIES // len(candidates))
        rows = rows[0][:n], rows[1][:n]
        out, in_ = (np.column_stack([candidate.of_rows(side) for candidate in candidates]) for side in rows)
        events = best_events(out, in_, delta)
        finalists = sorted(range(len(events)), key=lambda index: -events[index].limit)[:N_FINALISTS]
        best = min(finalists, key=lambda index: float(calibrated_losses((out[:, index], in_[:, index])).mean()))
        return replace(candidates[best], sign=-1.0 if events[best].is_reversed else 1.0)

    def score(self, outputs: Outputs) -> Floats:
        """Return the scores of `outputs`, shape `(size,)`, in the unit of the statistic."""
        return self.of_rows(as_matrix(outputs.values))

    def of_rows(self, rows: Floats) -> Floats:
        """Return the statistic of `(size, n_coordinates)` rows, times the sign."""
        return self.sign * self._unsigned(rows)

    def _unsigned(self, rows: Floats) -> Floats:
        if self.kind == "coordinate":
            return rows[:, self.index]
        if self.kind == "distance":
            return np.asarray(np.abs(rows[:, self.index] - self.centres[self.index]))
        if self.kind == "order":
            return np.asarray(np.partition(rows, self.index, axis=1)[:, self.index])
        if self.kind == "sum":
            return np.asarray(np.clip(rows, -MAX_Z, MAX_Z).sum(axis=1))
        if self.kind == "norm":
            with np.errstate(over="ignore"):
                z = np.clip((rows - self.centres) / self.scales, -MAX_Z, MAX_Z)
            return np.asarray(np.sqrt(np.einsum("ij,ij->i", z, z)))
        return np.asarray(1.0 + (np.diff(np.sort(rows, axis=1), axis=1) != 0.0).sum(axis=1))

    def describe(self, threshold: float, *, above: bool = True) -> str:
        """Describe the outputs that score at or above the threshold, or below."""
        upper, at = above == (self.sign > 0.0), self.sign * threshold
        ends = (at, math.inf) if upper else (-math.inf, at)
        return f"{self._what} is {interval_in_words(*ends)}"

    def describes_outputs(self, threshold: float, *, above: bool = True) -> bool:
        """Return True: `describe` names an interval."""
        return True

    @property
    def _what(self) -> str:
        name = self.names.name(None if len(self.centres) == 1 else self.index)
        return {
            "coordinate": name,
            "distance": f"the distance of {name} from {number(float(self.centres[self.index]))}",
            "order": f"the coordinate of rank {self.index + 1} of {len(self.centres)}",
            "sum": "the sum of the coordinates",
            "norm": "the Euclidean norm of the coordinates, each on its scale,",
            "values": "the number of distinct coordinates",
        }[self.kind]


def _statistics(rows: Sides, centres: Floats, scales: Floats) -> Iterator[Statistic]:
    """Yield the statistics that are tried on outputs of these rows."""
    d = len(centres)
    columns = range(d) if d <= MAX_COORDINATES else _most_different(rows, centres, scales)
    for index in columns:
        yield Statistic("coordinate", int(index), centres, scales)
        yield Statistic("distance", int(index), centres, scales)
    if d == 1:
        return
    yield Statistic("sum", 0, centres, scales)
    yield Statistic("norm", 0, centres, scales)
    yield Statistic("values", 0, centres, scales)
    ranks = {0, 1, d // 4, d // 2, d - 1 - d // 4, d - 2, d - 1}
    for rank in sorted(ranks):
        yield Statistic("order", rank, centres, scales)


def _most_different(rows: Sides, centres: Floats, scales: Floats) -> Ints:
    """Return the coordinates whose clipped values, or absolute values, differ most between the sides in the mean."""
    z = [np.clip((side - centres) / scales, -MAX_CLIPPED, MAX_CLIPPED) for side in rows]
    differences = [np.abs(part(z[1]).mean(axis=0) - part(z[0]).mean(axis=0)) for part in (np.positive, np.abs)]
    return np.sort(np.argsort(-np.maximum(*differences), kind="stable")[:MAX_COORDINATES])


def proposers(shift: Floats, delta: float) -> list[Proposer]:
    """Return functions that propose a score for rows of both sides, the simplest first.

    Args:
        shift: `(n_coordinates,)` difference of the sides at the same seed, which is exact; 0 where there is none. If it
            is unknown, the shift is estimated on the rows.
        delta: of the claim.
    """
    known: tuple[Callable[[Sides], Floats], ...] = (lambda rows: shift,)
    shifts = known if shift.any() else (_shift_of_medians, _shift_of_means)

    def noise(rows: Sides, of: Callable[[Sides], Floats], likelier: bool) -> NoiseRatio | None:
        return NoiseRatio.fit(rows, of(rows), likelier=likelier)

    ratios: list[Proposer] = [partial(noise, of=of, likelier=likelier) for of in shifts for likelier in (True, False)]
    return [*ratios, partial(Statistic.fit, delta=delta)]
