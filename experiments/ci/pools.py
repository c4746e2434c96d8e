r"""Pools of builds: when the e-values of many builds together refute a claim.

**Filtration and null.** F_k holds everything that is known after build k: outcomes, code, decisions. Build k draws its
trials from a seed of its own, and its bets are fixed on its pilot (`audit.bounds.pair.pilot_bet`). So each of its
e-values e_k(c), one for each stake c of a fixed grid, satisfies E[e_k(c) | F_(k-1)] <= 1 if the claim is true in build
k, whatever the builds before it were, and although code, pair, event and number of trials differ from build to build.
The null of a pool is: **the claim is true in every build of the pool.**

**One code.** The pool of a digest of the code holds the builds with this digest. Its evidence is

    M = average over c of  prod over its builds of e_k(c).

**All builds.** The pool holds the builds since its last alarm, s = 1, 2, ... within it. A bug may come late, after
builds whose e-values were far below 1, so that the bets begin at every build, with weights fixed beforehand:

    M = average over c of  sum over s of w_s prod over k >= s of e_k(c)  +  (1 - sum of w_s),    w_s = 6 / (pi^2 s^2).

Both are averages, with fixed weights, of products of factors whose expectation is at most 1 given the past. So under
its null each M is a non-negative supermartingale that starts at 1, and Pr[M ever reaches 1 / a] <= a (Ville 1939): no
correction for the number of builds or for looking after each. What the next build is, and whether there is one, may
depend on the past.

**Level.** Each kind of pool has half of the level. Within a kind, entry j has the share 6 / (pi^2 j^2): a digest that
is new, or that comes again after an alarm, begins the next entry of its kind, and so does the build after an alarm of
all builds. By the union bound, the probability that any entry whose null is true ever alarms is at most the level.

**No e-value.** A build whose trials are dependent, whose code has a generator of its own, or whose pilot outputs repeat
those of an earlier build, has e = 1 for every stake: the first two are decided before the evaluation or accounted for
(`PairRun._evidence`), the third on the pilot. A build that ends without a verdict has no line; the next one has its
seed, so that the same code gives the same evidence.

**Several scores, directions, pairs.** Two ways of scoring the same trials are averaged within the build, since the
average of e-values is one. The direction is fixed on the pilot. A searched pair would be covered if a search fixed it
before the evaluation; `dpassay check` refuses `--search` and `--stress` with a history, whose pairs differ in number.

References: Ville (1939), Etude critique de la notion de collectif. Waudby-Smith and Ramdas (2024), JRSS-B 86.
Ramdas, Gruenwald, Vovk and Shafer (2023), Statistical Science 38 (products and averages of e-values). Shin, Ramdas and
Rinaldo (2024), arXiv:2203.03532 (bets that begin at every time).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...audit.bounds.pair.pilot_bet import average_log
from ...mechanisms.core import Floats

POOL_WEIGHT = 0.5
"""Share of the level of each of the two kinds of pools."""


def weight(j: int) -> float:
    """Return 6 / (pi^2 j^2), j = 1, 2, ...; the sum is 1."""
    return 6.0 / (math.pi * j) ** 2


@dataclass(frozen=True)
class PoolEvidence:
    """The evidence of one pool after a build.

    Args:
        entry: number of the entry in its kind of pools, from 1.
        n_builds: number of builds in it.
        log_evidence: natural logarithm of the evidence M.
        log_limit: natural logarithm of the evidence at which the pool refutes the claim.
    """

    entry: int
    n_builds: int
    log_evidence: float
    log_limit: float

    @property
    def alarm(self) -> bool:
        """True if the evidence refutes that the claim is true in every build of the pool."""
        return self.log_evidence >= self.log_limit


@dataclass
class _Entry:
    """Products of one entry, one for each stake, and the weight that has not begun to bet."""

    number: int
    products: Floats
    waiting: float = 0.0
    n_builds: int = 0

    def multiply(self, log_e_values: Floats, level: float) -> PoolEvidence:
        self.n_builds += 1
        self.products = self.products + log_e_values
        evidence = float(np.logaddexp(average_log(self.products), _log(self.waiting)))
        limit = -math.log(level * POOL_WEIGHT * weight(self.number))
        return PoolEvidence(self.number, self.n_builds, evidence, limit)


@dataclass
class Pools:
    """The pools of a history, after the builds that were added.

    Args:
        level: probability that any alarm is false.
    """

    level: float
    _codes: dict[str, _Entry] = field(default_factory=dict, init=False)
    _n_codes: int = field(default=0, init=False)
    _all: _Entry | None = field(default=None, init=False)
    _n_all: int = field(default=0, init=False)

    def add(self, code: str, log_e_values: Sequence[float]) -> tuple[PoolEvidence, PoolEvidence]:
        """Add a build; return the evidence of its code and that of all builds."""
        logs = np.asarray(log_e_values, dtype=np.float64)
        return self._add_to_code(code, logs), self._add_to_all(logs)

    def _add_to_code(self, code: str, logs: Floats) -> PoolEvidence:
        if code not in self._codes:
            self._n_codes += 1
            self._codes[code] = _Entry(self._n_codes, np.zeros_like(logs))
        reached = self._codes[code].multiply(logs, self.level)
        if reached.alarm:
            del self._codes[code]
        return reached

    def _add_to_all(self, logs: Floats) -> PoolEvidence:
        if self._all is None:
            self._n_all += 1
            self._all = _Entry(self._n_all, np.full_like(logs, -math.inf), waiting=1.0)
        begun = weight(self._all.n_builds + 1)
        self._all.waiting = max(self._all.waiting - begun, 0.0)
        self._all.products = np.logaddexp(self._all.products, math.log(begun))
        reached = self._all.multiply(logs, self.level)
        if reached.alarm:
            self._all = None
        return reached


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf
