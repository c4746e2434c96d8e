"""Are the trials independent? A test whose level is exact whatever the law of the outputs is.

Null: the scores of each side are independent and identically distributed, and the sides are independent of each other.
Fixed before looking: the plan of the chunks, the quadruples below, the events whose hits are counted, the weights.

    quadruples   Four scores a, b, c, d can be paired in three ways. A pairing is *apart* if one pair lies wholly below
                 the other. Under the null each of the three is apart with the same probability (any order of four
                 exchangeable scores is as likely as any other), and no two of them are. So among quadruples that do not
                 overlap and that have a pairing apart, "a with b, c with d" is Binomial(n, 1/3), ties or not.
                 neighbours   a, b were run one after the other, and c, d, some runs later: noise of a chunk, a drift,
                              an autoregression, pairs of opposite signs
                 places       a, b have one place in two chunks, and c, d the next place: a generator that starts again
                 sides        the same across the sides, whose laws differ: only b and d may swap, Binomial(n, 1/2)
                 Two of the three are read twice: by the scores, and by the outputs, which a digest puts in an order of
                 its own, so that equal outputs are seen where a coarse score hides them.
    chunks       the hits of an event in chunk c, with p_c ~ Beta(k q, k (1 - q)), q the rate of the chunks before,
                 against Binomial(n_c, p) with the best p: hits that scatter more between chunks than inside them

Each gives an e-value: a likelihood ratio of an alternative, mixed over its parameters, to the null or, for chunks, to
the largest likelihood under the null (universal inference). Its mean under the null is at most 1, also at a stopping
time, since it grows chunk by chunk. So is that of their weighted mean E, however they depend on each other, and
Pr[E >= 1 / a] <= a (Markov, Ville). Nothing is asymptotic: a false alarm is as rare as it says.

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

from ....mechanisms.base import Mechanism, Outputs
from ...evidence.scores import Floats
from ..plan import Chunk
from ..store import Arrays

Counts = NDArray[np.int64]

SHARE = 0.02
"""Of the significance of an audit, what a false alarm of this test may take."""
GAPS = (1, 4, 32, 256)
"""Pairs of neighbours between the two pairs of a quadruple."""
ROWS = 8192
"""Runs at the beginning of a chunk whose neighbours are compared: enough, and quick."""
HEAD = 128
"""Runs at the beginning of a chunk whose places are compared with those of other chunks."""
MOST_CHUNKS = 64
"""Chunks of a side, from the first on, whose places are compared with those of every other one."""
_SCATTER = np.geomspace(1.0, 1e7, 15)
"""Weights k of a chunk's own rate: from rates of all sizes to rates that differ by 1 in 3,000."""

SCORES, OUTPUTS = 0, 1
"""Rows of the first runs of a chunk."""
_LARGEST = 690.0
"""Logarithms of e-values beyond which a p-value is 0 to a float."""


@dataclass(frozen=True)
class Dependence:
    """Why trials are taken to be dependent.

    Args:
        kind: "neighbours", "places", "sides", "outputs", "chunks" or "memory".
        side: 0 or 1; None for both.
        p_value: at most so likely if the trials were independent; 0 where it is no question of chance.
        what: what was seen, a clause.
    """

    kind: str
    side: int | None
    p_value: float
    what: str

    def __str__(self) -> str:
        where = "on both sides" if self.side is None else f"on side {self.side}"
        chance = f" (p <= {self.p_value:.2g})" if self.p_value else ""
        return f"{self.what} {where}{chance}"


def order(outputs: Outputs, scores: Floats, events: Floats) -> Arrays:
    """What one chunk tells about the order of its runs: small, whatever the size of the chunk.

    Args:
        outputs: of the runs.
        scores: `(size,)` of these.
        events: `(k,)` thresholds of the events whose hits are counted.

    Returns:
        `together`, `(5, 2)`: for each gap, and for the outputs, quadruples that pair neighbours, and all apart;
        `head`, `(2, HEAD)` or less: the first scores, and the digests of the first outputs; `event_hits`, `(k,)`.
    """
    digests = _digests(outputs)
    near = [*(_neighbours(scores[:ROWS], gap) for gap in GAPS), _neighbours(digests, 1)]
    hits = np.array([np.count_nonzero(scores >= event) for event in events], dtype=np.int64)
    return {"together": np.array(near), "head": np.stack([scores[:HEAD], digests]), "event_hits": hits}


def independent_by_construction(mechanism: Mechanism) -> bool:
    """Whether a mechanism, and all that it is made of, draws every run from the stream that it is given: those of this
    library do, but for the ones that run other people's code."""
    module = type(mechanism).__module__
    if not module.startswith("dpassay.") or module.startswith("dpassay.mechanisms.external."):
        return False
    held: list[object] = (
        [getattr(mechanism, field.name) for field in fields(mechanism)] if is_dataclass(mechanism) else []
    )
    parts = [part for value in held for part in (value if isinstance(value, (list, tuple)) else [value])]
    return all(_is_own(part) for part in parts)


def _is_own(part: object) -> bool:
    if isinstance(part, Mechanism):
        return independent_by_construction(part)
    return not isinstance(part, (FunctionType, MethodType, partial))


class Independence:
    """Gathers what the chunks of one stage tell, in any order, and tests it.

    Args:
        events: `(k,)` thresholds of the events, fixed beforehand.
        pilot: the same of the pilot, whose trials are others: with its e-value F, the mean of E, F and E F is read.
    """

    def __init__(self, events: Iterable[float] = (), pilot: Independence | None = None) -> None:
        self._pilot = pilot
        self.events = np.unique(np.asarray([e for e in events if math.isfinite(e)], dtype=np.float64))
        self._seen: tuple[dict[int, tuple[int, Arrays]], dict[int, tuple[int, Arrays]]] = ({}, {})

    def add(self, chunk: Chunk, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """One finished chunk."""
        kept = {name: np.asarray(arrays[name]) for name in ("together", "head", "event_hits")}
        self._seen[chunk.side][chunk.index] = chunk.size, kept
        self.__dict__.pop("_found", None)

    def p_value(self) -> float:
        """At most how likely this much dependence is by chance, if there is none: 1 / E, at most 1."""
        return min(1.0, math.exp(-min(self._log_e, _LARGEST)))

    def dependence(self, significance: float) -> Dependence | None:
        """What was seen, if the trials are dependent at this significance; else None."""
        if (p_value := self.p_value()) > significance:
            return None
        stages = [self] if self._pilot is None else [self, self._pilot]
        (kind, side), _ = max((item for stage in stages for item in stage._found.items()), key=lambda item: item[1])
        return Dependence(kind, side, p_value, _WHAT[kind])

    def repeats(self) -> bool:
        """Whether the first outputs of the chunks come twice or more on average, on some side."""
        for side in (0, 1):
            heads = self._heads(side, OUTPUTS)
            seen = heads[~np.isnan(heads)]
            if len(seen) and 2 * len(np.unique(seen)) <= len(seen):
                return True
        return False

    @property
    def _log_e(self) -> float:
        own = _log_mean(list(self._found.values()))
        if self._pilot is None:
            return own
        return _log_mean([own, self._pilot._log_e, own + self._pilot._log_e])

    @cached_property
    def _found(self) -> dict[tuple[str, int | None], float]:
        """Logarithm of the e-value of each kind, on each side and on both together."""
        found: dict[tuple[str, int | None], float] = {("sides", None): self._across()}
        tests = (
            ("neighbours", self._near),
            ("places", self._places),
            ("outputs", self._outputs),
            ("chunks", self._chunks),
        )
        for kind, of_side in tests:
            out, in_ = of_side(0), of_side(1)
            both = [one + other for one, other in zip(out, in_, strict=True)]
            found |= {(kind, side): _log_mean(values) for side, values in ((0, out), (1, in_), (None, both)) if values}
        return found

    def _arrays(self, side: int) -> list[tuple[int, Arrays]]:
        return [self._seen[side][index] for index in sorted(self._seen[side])]

    def _together(self, side: int) -> Floats:
        counts = [np.zeros((len(GAPS) + 1, 2)), *(arrays["together"] for _, arrays in self._arrays(side))]
        return _log_e(np.sum(counts, axis=0), 1.0 / 3.0)

    def _near(self, side: int) -> list[float]:
        return list(self._together(side)[: len(GAPS)])

    def _outputs(self, side: int) -> list[float]:
        return [float(self._together(side)[-1]), *self._places(side, OUTPUTS)]

    def _heads(self, side: int, what: int) -> Floats:
        """`(chunks, HEAD)` scores or digests of outputs, NaN beyond the end of a chunk."""
        heads = np.full((min(len(self._seen[side]), MOST_CHUNKS), HEAD), np.nan)
        for row, (_, arrays) in zip(heads, self._arrays(side), strict=False):
            row[: arrays["head"].shape[1]] = arrays["head"][what]
        return heads

    def _places(self, side: int, what: int = SCORES) -> list[float]:
        """Every chunk against every other, and the first against the second, the third against the fourth, ... ."""
        heads = self._heads(side, what)
        one, other = np.triu_indices(len(heads), 1)
        pairs = _log_e(_same_places(heads[one], heads[other]), 1.0 / 3.0)
        half = len(heads) // 2
        disjoint = _same_places(heads[0 : 2 * half : 2], heads[1 : 2 * half : 2]).sum(axis=0)
        return [_log_mean(pairs, MOST_CHUNKS * (MOST_CHUNKS - 1) // 2), float(_log_e(disjoint, 1.0 / 3.0))]

    def _across(self) -> float:
        """Every chunk of side 0 against every chunk of side 1, and all of those with the same number."""
        out, in_ = self._heads(0, SCORES), self._heads(1, SCORES)
        one, other = np.indices((len(out), len(in_))).reshape(2, -1)
        pairs = _log_e(_same_places(out[one], in_[other], across=True), 0.5)
        both = min(len(out), len(in_))
        matching = _same_places(out[:both], in_[:both], across=True).sum(axis=0)
        return _log_mean([_log_mean(pairs, MOST_CHUNKS**2), float(_log_e(matching, 0.5))])

    def _chunks(self, side: int) -> list[float]:
        """For each event, how its hits scatter between chunks."""
        seen = self._arrays(side)
        if not seen:
            return [0.0] * len(self.events)
        sizes = np.array([size for size, _ in seen], dtype=np.float64)
        hits = np.array([arrays["event_hits"] for _, arrays in seen], dtype=np.float64)
        return [_log_scatter(hits[:, k], sizes) for k in range(len(self.events))]


_WHAT = {
    "neighbours": "runs resemble those before them more, or less, than runs further away",
    "places": "chunks of runs repeat each other's order, as when a generator starts again",
    "sides": "the runs of the two sides follow each other, as when both use the same noise",
    "outputs": "equal outputs come together, or keep apart, more than chance explains",
    "chunks": "results scatter more between chunks of runs than inside them",
}


def _apart(a: Floats, b: Floats, c: Floats, d: Floats) -> NDArray[np.bool_]:
    """Whether the pair a, b lies wholly below the pair c, d, or above."""
    one = np.maximum(a, b) < np.minimum(c, d)
    other = np.maximum(c, d) < np.minimum(a, b)
    return np.asarray(one | other)


def _neighbours(scores: Floats, gap: int) -> tuple[int, int]:
    """Quadruples of neighbours with `gap` pairs in between: those that pair neighbours, and all that are apart."""
    blocks = len(scores) // (4 * gap)
    cut = scores[: 4 * gap * blocks].reshape(blocks, 2, gap, 2)
    a, b, c, d = cut[:, 0, :, 0], cut[:, 0, :, 1], cut[:, 1, :, 0], cut[:, 1, :, 1]
    together = int(np.count_nonzero(_apart(a, b, c, d)))
    crossed = np.count_nonzero(_apart(a, c, b, d)) + np.count_nonzero(_apart(a, d, b, c))
    return together, together + int(crossed)


def _digests(outputs: Outputs) -> Floats:
    """A number for each of the first outputs, equal for equal ones, in an order that has nothing to do with them."""
    rows = np.ascontiguousarray(outputs.values[:HEAD])
    events = [""] * len(rows) if outputs.events is None else outputs.events[:HEAD].tolist()
    content = (row.tobytes() + event.encode(errors="surrogatepass") for row, event in zip(rows, events, strict=True))
    whole = [int.from_bytes(hashlib.blake2b(each, digest_size=6).digest(), "big") for each in content]
    return np.array(whole, dtype=np.float64)


def _same_places(one: Floats, other: Floats, *, across: bool = False) -> Counts:
    """For each pair of rows, quadruples at two places each: those that pair equal places, and all that are apart.

    Args:
        one, other: `(pairs, HEAD)` scores of two chunks.
        across: whether the chunks are of different sides, so that a and c may not trade places with b and d.
    """
    a, c, b, d = one[:, 0::2], one[:, 1::2], other[:, 0::2], other[:, 1::2]
    together = np.count_nonzero(_apart(a, b, c, d), axis=1)
    crossed = np.count_nonzero(_apart(a, d, b, c), axis=1)
    if not across:
        crossed = crossed + np.count_nonzero(_apart(a, c, b, d), axis=1)
    return np.stack([together, together + crossed], axis=-1)


def _log_e(counts: Counts, rate: float) -> Floats:
    """Log likelihood of (hits, n) along the last axis with a rate drawn from Beta(1/2, 1/2), less that with `rate`."""
    hits, misses = counts[..., 0], counts[..., 1] - counts[..., 0]
    mixed = special.betaln(hits + 0.5, misses + 0.5) - special.betaln(0.5, 0.5)
    return np.asarray(mixed - hits * math.log(rate) - misses * math.log1p(-rate))


def _log_scatter(hits: Floats, sizes: Floats) -> float:
    """Log e-value of hits that scatter between chunks, against one rate for all."""
    before_hits, before = np.cumsum(hits) - hits, np.cumsum(sizes) - sizes
    rate = (before_hits + 0.5) / (before + 1.0)
    a, b = _SCATTER[:, None] * rate, _SCATTER[:, None] * (1.0 - rate)
    scattered = special.betaln(hits + a, sizes - hits + b) - special.betaln(a, b)
    total, n = float(hits.sum()), float(sizes.sum())
    largest = special.xlogy(total, total / n) + special.xlogy(n - total, 1.0 - total / n)
    return _log_mean(scattered.sum(axis=1) - largest)


def _log_mean(logs: ArrayLike, planned: int | None = None) -> float:
    """Logarithm of the mean of e-values given by their logarithms; those of `planned` that are not there yet are 1.

    Their number is planned, and not that of those that are there, so that the mean stays an e-value when one stops.
    """
    given = np.asarray(logs, dtype=np.float64)
    missing = 0 if planned is None else planned - len(given)
    total = special.logsumexp(np.append(given, 0.0), b=np.append(np.ones(len(given)), missing))
    return float(total - math.log(len(given) + missing))
