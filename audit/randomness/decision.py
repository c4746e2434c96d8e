"""The decision on trials of a function of the user: whether a violation that they show may be counted.

A violation is counted only if the runs of one process are independent. Within a process this is tested on the trials
themselves (`audit.trials.independence`); noise that *all* runs of a process share is not seen there, but in the
experiment of `experiment`. In this order:

    the function cannot be created in another process   not counted if outputs repeat; else counted, with a note
    a file that the runs read changed since the start   not counted: the file may hold the noise of the first run
    common runs are equal everywhere                    counted, unless the copied function holds numbers that may be
                                                        noise drawn before, and its outputs repeat or never vary
    common runs differ                                  the test of independence, with a process in the place of a
                                                        chunk, on the own runs. If it rejects at `SHARED_LEVEL`,
                                                        `N_SINGLE` new runs a side, each in a process of its own, decide
                                                        alone, by the same bounds at the same confidence

**Why the level holds.** The steps only take violations back, or replace the trials by runs that are independent
whatever the function keeps in a process. `N_SINGLE` is fixed beforehand; scores come from the pilot and thresholds from
the own runs of the experiment, both from other processes than the new runs. Where runs are independent, the test takes
a violation back with probability `SHARED_LEVEL` at most, since it is an e-value. See `n_needed` in `experiment` for the
smallest probability of noise that the processes show.

**Outputs that never vary.** Null: the n trials of a side and the m own runs of fresh processes are independent and
identically distributed. If j of the n + m outputs differ from the one output of the trials, all places of the j are
equally likely, so all are among the fresh ones with probability C(m, j) / C(n + m, j). Two sides are tested: twice the
smaller probability. m does not depend on outputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...attacks.base import Scorer
from ..trials.independence import Dependence, Independence, order
from ..trials.plan import Chunk
from ..trials.repeated_outputs import DistinctOutputs, common_output_digest
from ..trials.seeds import Stage
from .experiment import FreshProcesses

SHARED_LEVEL = 1e-6
"""Probability at which independent runs are wrongly found to share noise."""
N_SINGLE = 64
"""Number of runs on each side, each in a process of its own, that decide where runs of a process share noise."""
LEAST_LOG = -700.0
"""Smallest logarithm of a p-value, which a float can hold."""
REPEATED = "every run in one process gave the same output, but a run in a fresh process gives another"


@dataclass(frozen=True)
class Doubt:
    """A reason why a violation may not be counted.

    Args:
        what: the reason, a clause.
        decides: True if runs in processes of their own can decide instead.
    """

    what: str
    decides: bool = False

    def dependence(self) -> Dependence:
        """Return the dependence that the result names."""
        return Dependence("memory", None, 0.0, self.what)


def doubt(
    fresh: FreshProcesses, unvarying: DistinctOutputs, *, repeats: bool, scorer: Scorer, events: Sequence[float]
) -> Doubt | None:
    """Return the reason to doubt a violation; None if there is none.

    Args:
        fresh: runs in fresh processes.
        unvarying: the outputs of the trials, if they never varied.
        repeats: True if outputs occur twice or more on average.
        scorer: scores the outputs.
        events: thresholds of the events of the bounds.
    """
    repeats = repeats or unvarying.differs
    if not fresh.can_run or fresh.source is None:
        where = "and the function cannot be created in a fresh process, which would show whether it was drawn once"
        return Doubt(f"outputs repeat, as if their noise were stored, {where}") if repeats else None
    if fresh.changed_files:
        files = " and ".join(fresh.changed_files[:2])
        return Doubt(f"the runs read {files}, which changed since the audit began and may hold earlier noise")
    if unvarying.differs and fresh.connections:
        return Doubt(f"every run gave the same output, and it reads from outside ({', '.join(fresh.connections)})")
    if unvarying.differs and fresh.source.holds(fresh.certified, draws=fresh.draws):
        return Doubt("every run gave the same output, and the function holds numbers that may be noise drawn before")
    if repeats and fresh.source.holds_pool(fresh.certified):
        return Doubt("outputs repeat, and the function holds numbers that may be a pool of noise drawn before")
    if fresh.repeats_here:
        return None
    test = _independence(fresh, scorer, events)
    if test.p_value() > SHARED_LEVEL:
        return None
    return Doubt("runs in one process share noise that is drawn once", decides=True)


def _independence(fresh: FreshProcesses, scorer: Scorer, events: Sequence[float]) -> Independence:
    """Return the test of independence on the own runs, with a process in the place of a chunk."""
    test = Independence(events)
    for index, sides in enumerate(fresh.own):
        for side, outputs in enumerate(sides):
            scores = np.asarray(scorer.score(outputs), dtype=np.float64)
            chunk = Chunk(Stage.PROBE, side, index, 0, len(outputs))
            test.add(chunk, order(outputs, scores, test.events))
    return test


def one_output(
    fresh: FreshProcesses, unvarying: DistinctOutputs, n_runs: int, significance: float
) -> Dependence | None:
    """Test the independence of `n_runs` trials a side whose outputs never varied; None unless the test rejects."""
    n_others, log_p_values = {}, {}
    for side in unvarying.sides if fresh.n else ():
        outputs = [sides[side] for sides in fresh.own]
        n_others[side] = sum(
            not unvarying.is_only(side, common_output_digest(part[i : i + 1]).tobytes())
            for part in outputs
            for i in range(len(part))
        )
        log_p_values[side] = _log_chance(n_others[side], sum(map(len, outputs)), n_runs)
    p_value = min(1.0, 2.0 * math.exp(max(min(log_p_values.values(), default=0.0), LEAST_LOG)))
    if p_value > significance:
        return None
    varying = [side for side, n in n_others.items() if n]
    return Dependence("memory", varying[0] if len(varying) == 1 else None, p_value, REPEATED)


def _log_chance(others: int, m: int, n: int) -> float:
    """Return the logarithm of C(m, j) / C(n + m, j), j the number of `others`."""
    return math.lgamma(m + 1) - math.lgamma(m - others + 1) - math.lgamma(n + m + 1) + math.lgamma(n + m - others + 1)
