"""A test of the independence of trials, with a valid level for every law of the outputs.

Null: the scores of each side are independent and identically distributed, and the sides are independent of each other.
Fixed before looking: the plan of the chunks, the quadruples below, the events whose hits are counted, the weights.

    quadruples   Four scores a, b, c, d can be paired in three ways. A pairing is *separated* if one pair lies wholly
                 below the other. Under the null each of the three is separated with the same probability (all orders of
                 four exchangeable scores are equally likely), and no two of them are. So among quadruples that do not
                 overlap and that have a separated pairing, "a with b, c with d" is Binomial(n, 1/3), ties or not.
                 neighbours   a, b are consecutive runs, and so are c, d, some runs later: noise of a chunk, a drift,
                              an autoregression, pairs of opposite signs
                 places       a, b have one position in two chunks, c, d the next position: a generator that restarts
                 sides        like places, across the sides, whose laws differ: only b and d may swap, Binomial(n, 1/2)
                 Two of the three are tested twice: on the scores, and on the outputs in the order of a digest, which
                 detects equal outputs that a coarse score hides.
    chunks       the hits of an event in chunk c, with p_c ~ Beta(k q, k (1 - q)), q the rate of the chunks before,
                 against Binomial(n_c, p) with the best p: hits that vary more between chunks than within them

Each gives an e-value: a likelihood ratio of an alternative, mixed over its parameters, to the null or, for chunks, to
the largest likelihood under the null (universal inference). Its mean under the null is at most 1, also at a stopping
time, since it is updated chunk by chunk. So is the mean of their weighted average E, whatever their dependence, and
Pr[E >= 1 / a] <= a (Markov, Ville). Nothing is asymptotic: the false-alarm rate is at most the stated level.

References:
    Vovk and Wang (2021), Annals of Statistics 49, section 2: means of e-values.
    Wasserman, Ramdas and Balakrishnan (2020), PNAS 117, section 6: the likelihood ratio with a running estimate.
    Krichevsky and Trofimov (1981), IEEE Transactions on Information Theory 27: the Beta(1/2, 1/2) mixture.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, partial
from types import FunctionType, MethodType

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ...mechanisms.core import Bools, Floats, Ints, Mechanism, Outputs, number
from ...mechanisms.core.number_text import SMALLEST_SHOWN
from .array_files import Arrays, Expected
from .plan import Chunk

Counts = Ints

FALSE_ALARM_SHARE = 0.02
"""Share of the significance of an audit that is reserved for a false alarm of this test."""
QUADRUPLE_GAPS = (1, 4, 32, 256)
"""Pairs of neighbours between the two pairs of a quadruple."""
N_NEIGHBOUR_RUNS = 8192
"""Number of runs at the beginning of a chunk whose neighbours are compared."""
N_COMPARED_RUNS = 128
"""Number of runs at the beginning of a chunk that are compared with those of other chunks."""
N_COMPARED_CHUNKS = 64
"""Number of chunks of a side, from the first on, that are compared with every other one."""
_CONCENTRATIONS = np.geomspace(1.0, 1e7, 15)
"""Concentrations k of the chunk rates: from arbitrary rates to rates that differ by 1 in 3,000."""

SCORES, OUTPUTS = 0, 1
"""Rows of the array of the first runs of a chunk."""
_MAX_LOG_E_VALUE = 690.0
"""Logarithm of an e-value beyond which the p-value underflows."""


@dataclass(frozen=True)
class Dependence:
    """Evidence that trials are dependent.

    Args:
        kind: "neighbours", "places", "sides", "outputs", "chunks" or "memory".
        side: 0 or 1; None for both.
        p_value: p-value of the null that the trials are independent; 0 if the dependence was shown without statistics.
        what: description of the dependence, a clause.
    """

    kind: str
    side: int | None
    p_value: float
    what: str

    def __str__(self) -> str:
        if self.kind == "memory" and self.side is None and not self.p_value:
            return self.what
        where = "on both sides" if self.side is None else f"on side {self.side}"
        chance = f" (p <= {number(max(self.p_value, SMALLEST_SHOWN), 2)})" if self.p_value else ""
        return f"{self.what} {where}{chance}"


def order(outputs: Outputs, scores: Floats, events: Floats) -> Arrays:
    """Return statistics on the order of the runs of one chunk, of a size that does not grow with the chunk.

    Args:
        outputs: outputs of the runs.
        scores: `(size,)` scores of the runs.
        events: `(k,)` thresholds of the events whose hits are counted.

    Returns:
        `together`, `(5, 2)`: for each gap, and for the outputs, the numbers of separated quadruples that pair
        neighbours, and of all separated ones; `head`, `(2, N_COMPARED_RUNS)` or less: the first scores, and the digests
        of the first outputs; `event_hits`, `(k,)`.
    """
    digests = _digests(outputs)
    near = [*(_neighbours(scores[:N_NEIGHBOUR_RUNS], gap) for gap in QUADRUPLE_GAPS), _neighbours(digests, 1)]
    hits = np.array([np.count_nonzero(scores >= event) for event in events], dtype=np.int64)
    return {"together": np.array(near), "head": np.stack([scores[:N_COMPARED_RUNS], digests]), "event_hits": hits}


def expected_order(size: int | None, n_events: int) -> dict[str, Expected]:
    """Return the types and shapes of `order` for a chunk of so many runs; None for any number."""
    head = range(N_COMPARED_RUNS + 1) if size is None else min(size, N_COMPARED_RUNS)
    return {
        "together": Expected("i", (len(QUADRUPLE_GAPS) + 1, 2), most=2**53),
        "head": Expected("f", (2, head)),
        "event_hits": Expected("i", (n_events,), most=size if size is not None else 2**53),
    }


def order_of_sums(outputs: Outputs) -> Arrays:
    """Return `order` by the sum of the numbers of each output, without events."""
    with np.errstate(over="ignore", invalid="ignore"):  # a sum that is NaN never separates two runs
        sums = outputs.values.reshape(len(outputs), -1).sum(axis=1, dtype=np.float64)
    return order(outputs, sums, np.empty(0))


def independent_by_construction(mechanism: Mechanism) -> bool:
    """Return True if a mechanism and all its parts draw every run from the given stream.

    This holds for mechanisms of this library, except those that run user code.
    """
    module = type(mechanism).__module__
    if not module.startswith("dpassay.") or module.startswith("dpassay.mechanisms.adapters."):
        return False
    values: list[object] = (
        [getattr(mechanism, field.name) for field in fields(mechanism)] if is_dataclass(mechanism) else []
    )
    parts = [part for value in values for part in (value if isinstance(value, (list, tuple)) else [value])]
    return all(_is_library_code(part) for part in parts)


def _is_library_code(part: object) -> bool:
    if isinstance(part, Mechanism):
        return independent_by_construction(part)
    return not isinstance(part, (FunctionType, MethodType, partial))


class Independence:
    """The test of independence on the chunks of one stage, added in any order.

    Args:
        events: `(k,)` thresholds of the events, fixed beforehand.
        pilot: the test on the pilot, which has other trials: with its e-value F, the mean of E, F and E F is used.
    """

    def __init__(self, events: Iterable[float] = (), pilot: Independence | None = None) -> None:
        self._pilot = pilot
        self.events = np.unique(np.asarray([e for e in events if math.isfinite(e)], dtype=np.float64))
        self._added: tuple[dict[int, tuple[int, Arrays]], dict[int, tuple[int, Arrays]]] = ({}, {})

    def add(self, chunk: Chunk, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Add one finished chunk."""
        statistics = {name: np.asarray(arrays[name]) for name in ("together", "head", "event_hits")}
        self._added[chunk.side][chunk.index] = chunk.size, statistics
        self.__dict__.pop("_log_e_values", None)

    def p_value(self) -> float:
        """Return the p-value of the null that the trials are independent: 1 / E, at most 1."""
        return min(1.0, math.exp(-min(self._log_e, _MAX_LOG_E_VALUE)))

    def dependence(self, significance: float) -> Dependence | None:
        """Return the strongest evidence of dependence if the test rejects at this significance; else None."""
        if (p_value := self.p_value()) > significance:
            return None
        stages = [self] if self._pilot is None else [self, self._pilot]
        (kind, side), _ = max(
            (item for stage in stages for item in stage._log_e_values.items()), key=lambda item: item[1]
        )
        return Dependence(kind, side, p_value, _DEPENDENCE_TEXTS[kind])

    def repeats(self) -> bool:
        """Return True if the first outputs of the chunks occur twice or more on average, on either side."""
        for side in (0, 1):
            heads = self._heads(side, OUTPUTS)
            digests = heads[~np.isnan(heads)]
            if len(digests) and 2 * len(np.unique(digests)) <= len(digests):
                return True
        return False

    @property
    def _log_e(self) -> float:
        log_e = _log_mean(list(self._log_e_values.values()))
        if self._pilot is None:
            return log_e
        return _log_mean([log_e, self._pilot._log_e, log_e + self._pilot._log_e])

    @cached_property
    def _log_e_values(self) -> dict[tuple[str, int | None], float]:
        """Logarithm of the e-value of each kind, on each side and on both together."""
        log_e: dict[tuple[str, int | None], float] = {("sides", None): self._across()}
        tests = (
            ("neighbours", self._near),
            ("places", self._places),
            ("outputs", self._outputs),
            ("chunks", self._chunks),
        )
        for kind, of_side in tests:
            out, in_ = of_side(0), of_side(1)
            joint = [first + second for first, second in zip(out, in_, strict=True)]
            log_e |= {(kind, side): _log_mean(values) for side, values in ((0, out), (1, in_), (None, joint)) if values}
        return log_e

    def _arrays(self, side: int) -> list[tuple[int, Arrays]]:
        return [self._added[side][index] for index in sorted(self._added[side])]

    def _together(self, side: int) -> Floats:
        counts = [np.zeros((len(QUADRUPLE_GAPS) + 1, 2)), *(arrays["together"] for _, arrays in self._arrays(side))]
        return _log_e(np.sum(counts, axis=0), 1.0 / 3.0)

    def _near(self, side: int) -> list[float]:
        return list(self._together(side)[: len(QUADRUPLE_GAPS)])

    def _outputs(self, side: int) -> list[float]:
        return [float(self._together(side)[-1]), *self._places(side, OUTPUTS)]

    def _heads(self, side: int, kind: int) -> Floats:
        """Return `(chunks, N_COMPARED_RUNS)` scores or digests of outputs, NaN beyond the end of a chunk."""
        heads = np.full((min(len(self._added[side]), N_COMPARED_CHUNKS), N_COMPARED_RUNS), np.nan)
        for row, (_, arrays) in zip(heads, self._arrays(side), strict=False):
            row[: arrays["head"].shape[1]] = arrays["head"][kind]
        return heads

    def _places(self, side: int, kind: int = SCORES) -> list[float]:
        """Return log e-values of every chunk against every other, and of the chunks in disjoint consecutive pairs."""
        heads = self._heads(side, kind)
        first, second = np.triu_indices(len(heads), 1)
        pairs = _log_e(_same_places(heads[first], heads[second]), 1.0 / 3.0)
        half = len(heads) // 2
        disjoint = _same_places(heads[0 : 2 * half : 2], heads[1 : 2 * half : 2]).sum(axis=0)
        return [_log_mean(pairs, N_COMPARED_CHUNKS * (N_COMPARED_CHUNKS - 1) // 2), float(_log_e(disjoint, 1.0 / 3.0))]

    def _across(self) -> float:
        """Return the log e-value of every chunk of side 0 against every chunk of side 1, and of equal numbers."""
        out, in_ = self._heads(0, SCORES), self._heads(1, SCORES)
        first, second = np.indices((len(out), len(in_))).reshape(2, -1)
        pairs = _log_e(_same_places(out[first], in_[second], across=True), 0.5)
        n_common = min(len(out), len(in_))
        matching = _same_places(out[:n_common], in_[:n_common], across=True).sum(axis=0)
        return _log_mean([_log_mean(pairs, N_COMPARED_CHUNKS**2), float(_log_e(matching, 0.5))])

    def _chunks(self, side: int) -> list[float]:
        """Return the log e-value of the variation of hits between chunks, for each event."""
        chunks = self._arrays(side)
        if not chunks:
            return [0.0] * len(self.events)
        sizes = np.array([size for size, _ in chunks], dtype=np.float64)
        hits = np.array([arrays["event_hits"] for _, arrays in chunks], dtype=np.float64)
        return [_log_scatter(hits[:, k], sizes) for k in range(len(self.events))]


_DEPENDENCE_TEXTS = {
    "neighbours": "consecutive runs are more, or less, similar than distant runs",
    "places": "chunks of runs repeat each other's order, as if a generator restarted",
    "sides": "the runs of the two sides are correlated, as if both used the same noise",
    "outputs": "equal outputs cluster, or separate, more than chance explains",
    "chunks": "results vary more between chunks of runs than within them",
}


def _separated(a: Floats, b: Floats, c: Floats, d: Floats) -> Bools:
    """Return True where the pair a, b lies wholly below the pair c, d, or above."""
    below = np.maximum(a, b) < np.minimum(c, d)
    above = np.maximum(c, d) < np.minimum(a, b)
    return np.asarray(below | above)


def _neighbours(scores: Floats, gap: int) -> tuple[int, int]:
    """Count quadruples with `gap` pairs in between: separated ones that pair neighbours, and all separated ones."""
    blocks = len(scores) // (4 * gap)
    cut = scores[: 4 * gap * blocks].reshape(blocks, 2, gap, 2)
    a, b, c, d = cut[:, 0, :, 0], cut[:, 0, :, 1], cut[:, 1, :, 0], cut[:, 1, :, 1]
    together = int(np.count_nonzero(_separated(a, b, c, d)))
    crossed = np.count_nonzero(_separated(a, c, b, d)) + np.count_nonzero(_separated(a, d, b, c))
    return together, together + int(crossed)


def _digests(outputs: Outputs) -> Floats:
    """Return a number for each of the first outputs, equal for equal outputs, in a pseudorandom order."""
    rows = np.ascontiguousarray(outputs.values[:N_COMPARED_RUNS])
    events = outputs.labels[:N_COMPARED_RUNS].tolist()
    content = (row.tobytes() + event.encode(errors="surrogatepass") for row, event in zip(rows, events, strict=True))
    digests = [int.from_bytes(hashlib.blake2b(entry, digest_size=6).digest(), "big") for entry in content]
    return np.array(digests, dtype=np.float64)


def _same_places(first: Floats, second: Floats, *, across: bool = False) -> Counts:
    """Count the quadruples of each pair of rows: separated ones that pair equal positions, and all separated ones.

    Args:
        first, second: `(pairs, N_COMPARED_RUNS)` scores of two chunks.
        across: True if the chunks belong to different sides, so that only b and d are exchangeable.
    """
    a, c, b, d = first[:, 0::2], first[:, 1::2], second[:, 0::2], second[:, 1::2]
    together = np.count_nonzero(_separated(a, b, c, d), axis=1)
    crossed = np.count_nonzero(_separated(a, d, b, c), axis=1)
    if not across:
        crossed = crossed + np.count_nonzero(_separated(a, c, b, d), axis=1)
    return np.stack([together, together + crossed], axis=-1)


def _log_e(counts: Counts, rate: float) -> Floats:
    """Return the log likelihood ratio of (hits, n), along the last axis, of a Beta(1/2, 1/2) rate to `rate`."""
    hits, misses = counts[..., 0], counts[..., 1] - counts[..., 0]
    mixed = special.betaln(hits + 0.5, misses + 0.5) - special.betaln(0.5, 0.5)
    return np.asarray(mixed - hits * math.log(rate) - misses * math.log1p(-rate))


def _log_scatter(hits: Floats, sizes: Floats) -> float:
    """Return the log e-value of hits that vary between chunks, against a common rate."""
    before_hits, before = np.cumsum(hits) - hits, np.cumsum(sizes) - sizes
    rate = (before_hits + 0.5) / (before + 1.0)
    a, b = _CONCENTRATIONS[:, None] * rate, _CONCENTRATIONS[:, None] * (1.0 - rate)
    scattered = special.betaln(hits + a, sizes - hits + b) - special.betaln(a, b)
    total, n = float(hits.sum()), float(sizes.sum())
    largest = special.xlogy(total, total / n) + special.xlogy(n - total, 1.0 - total / n)
    return _log_mean(scattered.sum(axis=1) - largest)


def _log_mean(logs: ArrayLike, planned: int | None = None) -> float:
    """Return the logarithm of the mean of e-values, from their logarithms; missing ones of `planned` e-values are 1.

    The mean is over the planned number and not over the available ones, so that it is an e-value at a stopping time.
    """
    available = np.asarray(logs, dtype=np.float64)
    missing = 0 if planned is None else planned - len(available)
    largest = float(available.max(initial=0.0 if missing else -math.inf))
    total = float(np.exp(available - largest).sum()) + (missing * math.exp(-largest) if missing else 0.0)
    return largest + math.log(total) - math.log(len(available) + missing)
