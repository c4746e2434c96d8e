"""audit() of Laplace against drawing the same samples and sorting them in bare numpy; fixed cost; a second worker."""

from __future__ import annotations

import statistics
from functools import partial

import numpy as np
from benchmarks.measure import interleaved, ratio, report, seconds

from dpassay.audit import audit
from dpassay.audit.bounds.pair.joint import JointExact
from dpassay.audit.evidence.scores import PairCounts, Tally
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.power.power import detectable
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.accounting import LaplaceDP


def bare_numpy(n: int) -> None:
    """Draw and sort the same 2n samples, which no audit can avoid."""
    rng = np.random.default_rng(0)
    for centre in (0.0, 1.0):
        np.sort(rng.laplace(centre, 1.0, size=n))


def small(claim: float, seed: int) -> float:
    """Return the seconds of a small audit, nearly all of which are fixed cost."""
    return seconds(partial(audit, Laplace(epsilon=claim), trials=1_000, seed=seed))


def statistics_of(claim: float, n: int) -> None:
    """Compute bound, p-value and power of the default bound from given counts."""
    rates = 0.5 * np.exp([-claim, 0.0])
    tally = Tally(np.array([-np.inf, 0.5]), *(np.array([n, round(n * rate)]) for rate in rates), n, n)
    statement, counts = Statement(LaplaceDP(claim), 0.0), PairCounts(tally)
    fixed = JointExact(threshold=0.5).fix(statement, None, (n, n))
    fixed.lower_bound(counts)
    fixed.p_value(counts)
    detectable([JointExact()], statement, counts)


def main() -> None:
    for n in (1_000, 1_000_000):
        new = statistics.median(seconds(partial(statistics_of, claim, n)) for claim in np.linspace(0.5, 2.0, 9))
        report(f"bound, p-value and power of a new claim, {n:,} trials a side", new, 0.02, unit="s")
    first = statistics.median(small(claim, 0) for claim in np.linspace(0.5, 2.0, 9))
    again = statistics.median(small(2.0, seed) for seed in range(1, 22))
    report("audit(Laplace), 1,000 trials a side, a new claim", first, 0.02, unit="s")
    report("audit(Laplace), 1,000 trials a side, the same claim again", again, 0.02, unit="s")
    mechanism = Laplace(epsilon=1.0)
    n = 1_000_000
    audited, bare = interleaved(lambda: audit(mechanism, trials=n, seed=1), lambda: bare_numpy(n))
    report("audit(Laplace), 1,000,000 trials a side / draw and sort", ratio(audited, bare), 1.5)
    banded, bare = interleaved(
        lambda: audit(mechanism, trials=n, seed=1, bound="simultaneous-band"), lambda: bare_numpy(n), repeats=3
    )
    report("the same with the simultaneous band / draw and sort", ratio(banded, bare), 20.0)
    n = 10_000_000
    one, two = interleaved(
        lambda: audit(mechanism, trials=n, seed=1), lambda: audit(mechanism, trials=n, seed=1, n_jobs=2), repeats=5
    )
    report("audit(Laplace), 10,000,000 trials a side: 1 worker / 2", ratio(one, two), 1.6, smaller_is_better=False)
