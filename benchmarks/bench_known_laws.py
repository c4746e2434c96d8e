"""Bound of mechanisms with a known law against that of the best event, which an oracle fixes and which has all trials.

    python -m benchmarks known_laws                            1,000 and 10,000 trials a side, 100 audits
    python -m benchmarks.bench_known_laws --trials 100000      with other numbers of trials, audits or pilot trials

The oracle knows the probabilities of all events {score >= t} and their complements; the best one has the largest mean
bound. An audit spends a part of the trials on the choice of its event. `--pilot` prints what other numbers of pilot
trials would give; "the best event" beside it is the bound of the best event with the remaining trials, so that the rest
of the difference is the cost of a choice by few trials.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from benchmarks.measure import report
from scipy import stats

from dpassay.attacks.base import Target
from dpassay.attacks.distinguishing import LikelihoodRatio
from dpassay.attacks.distinguishing.events import fit_scorer
from dpassay.audit.bounds.numerics.unconditional import Ordering
from dpassay.audit.bounds.pair.joint import JointExact
from dpassay.audit.bounds.pair.orientation import Exchanged
from dpassay.audit.bounds.pair.pilot import candidates
from dpassay.audit.bounds.pair.second_event import SECOND_SHARE, WithSecondEvent
from dpassay.audit.evidence.scores import PairScores, Tally
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.trials.plan import plan_trials
from dpassay.mechanisms import AboveThreshold, Gaussian, KAryRandomizedResponse, Laplace, Mechanism, Neighbours
from dpassay.mechanisms.core import Floats, Outputs

LEVEL = 0.05
POPULATION = 1_000_000
DRAWS = 128  # pairs of counts for the mean bound of an event
LAWS: dict[str, tuple[Mechanism, Neighbours | None, float]] = {
    "Laplace": (Laplace(epsilon=1.0), None, 0.0),
    "Gaussian": (Gaussian(epsilon=1.0, delta=1e-5), None, 1e-5),
    "10-ary response": (KAryRandomizedResponse(epsilon=1.0, k=10), None, 0.0),
    "histogram of 5 bins": (
        Laplace(epsilon=1.0, n_queries=5),
        Neighbours([9.0, 4, 7, 1, 3], [10.0, 4, 7, 1, 3], "add_remove"),
        0.0,
    ),
    "sparse vector, 5 queries": (AboveThreshold(epsilon=1.0, n_queries=5), None, 0.0),
    "sparse vector, 20 queries": (AboveThreshold(epsilon=1.0, n_queries=20), None, 0.0),
}
"""Mechanism, its pair (None: the worst case) and delta."""


@dataclass(eq=False)
class Law:
    """A mechanism, its pair, and the scores of its outputs by the log likelihood ratio."""

    mechanism: Mechanism
    pair: Neighbours
    delta: float

    @property
    def statement(self) -> Statement:
        return Statement(self.mechanism.guarantee(), delta=self.delta, confidence=1.0 - LEVEL)

    def scores(self, size: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        out, in_ = (self.mechanism.release(self.pair.side(side), size, rng) for side in (0, 1))
        nothing = Outputs(np.empty(0))
        scorer = fit_scorer(LikelihoodRatio(), Target(self.mechanism, self.pair), nothing, nothing, rng)
        return scorer.score(out), scorer.score(in_)

    @cached_property
    def population(self) -> Tally:
        return PairScores(*self.scores(POPULATION, np.random.default_rng(12345))).tally

    def best(self, n: int) -> float:
        """Return the largest expected bound of one event with `n` trials a side."""
        tally = self.population
        at = candidates(tally, per_side=150, tail=0)
        p, q = tally.hits_in[at] / tally.n_in, tally.hits_out[at] / tally.n_out
        return float(self.expected(np.concatenate([p, 1.0 - q]), np.concatenate([q, 1.0 - p]), n, LEVEL).max())

    def expected(self, p: Floats, q: Floats, n: int, level: float) -> Floats:
        """Return the mean of the ordering, which is nearly the bound, over the same quantiles of both counts."""
        u = stats.qmc.Sobol(2, seed=7).random(DRAWS)
        counts = stats.binom.ppf(u, n, np.stack([p, q], axis=1)[:, None])
        values = Ordering(level, self.delta).value(counts[..., 0], counts[..., 1], n, n)
        return np.asarray(np.maximum(values, 0.0).mean(axis=1))

    def audited(self, n: int, pilot: int, audits: int) -> float:
        """Return the mean expected bound of the events that the default bound chooses on `pilot` trials."""
        rates = []
        for seed in range(audits):
            chosen_on = PairScores(*self.scores(pilot, np.random.default_rng(seed)), are_log_ratios=True)
            fixed = JointExact().fix(self.statement, chosen_on, (n - pilot, n - pilot))
            rates.append(self.rates(fixed))
        p, q, level = np.array(rates).T
        bounds = [self.expected(p[level == one], q[level == one], n - pilot, one).sum() for one in np.unique(level)]
        return float(sum(bounds)) / audits

    def rates(self, fixed: Any) -> tuple[float, float, float]:
        """Return the probabilities of the event of a bound, on its likelier and the other side, and its level."""
        if isinstance(fixed, Exchanged):
            q, p, level = self.rates(fixed.inner)
            return 1.0 - q, 1.0 - p, level
        if isinstance(fixed, WithSecondEvent):
            return (*self.rates(fixed.first)[:2], (1.0 - SECOND_SHARE) * LEVEL)
        at = np.searchsorted(self.population.thresholds, fixed.event.threshold)
        q, p = (np.append(hits, 0)[at] / POPULATION for hits in (self.population.hits_out, self.population.hits_in))
        return (p, q, LEVEL) if fixed.event.direction == "in" else (1.0 - q, 1.0 - p, LEVEL)


def main(sizes: tuple[int, ...] = (1_000, 10_000), audits: int = 100, pilots: tuple[int, ...] = ()) -> None:
    for name, (mechanism, pair, delta) in LAWS.items():
        pair = mechanism.worst_case() if pair is None else pair
        law = Law(mechanism.bind(pair), pair, delta)
        for n in sizes:
            usual = plan_trials(n, bytes_per_run=8, learns=False, chooses=True, vectorised=True).pilot
            for pilot in pilots or (usual,):
                rest = law.best(n - pilot) / law.best(n)
                what = f"{name}, {n:,} trials, pilot {pilot:,} (best event {law.best(n):.3f}; with the rest {rest:.3f})"
                share = law.audited(n, pilot, audits) / law.best(n)
                report(what, share, 0.95 if n <= 1_000 else 0.98, unit="", smaller_is_better=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--audits", type=int, default=100)
    parser.add_argument("--pilot", type=int, nargs="+", default=[])
    options = parser.parse_args()
    main(tuple(options.trials), options.audits, tuple(options.pilot))
