"""audit() of Laplace against drawing the same samples and sorting them in bare numpy; fixed cost; a second worker."""

from __future__ import annotations

import statistics
from functools import partial

import numpy as np
from benchmarks.measure import interleaved, ratio, report, seconds

from dpassay.audit import audit
from dpassay.mechanisms import Laplace


def bare_numpy(n: int) -> None:
    """What cannot be avoided: the same 2n samples, sorted."""
    rng = np.random.default_rng(0)
    for centre in (0.0, 1.0):
        np.sort(rng.laplace(centre, 1.0, size=n))


def small(claim: float, seed: int) -> float:
    """Seconds of a small audit, which are nearly all fixed cost."""
    return seconds(partial(audit, Laplace(epsilon=claim), trials=1_000, seed=seed))


def main() -> None:
    first = statistics.median(small(claim, 0) for claim in np.linspace(0.5, 2.0, 9))
    again = statistics.median(small(2.0, seed) for seed in range(1, 22))
    report("audit(Laplace), 1,000 trials a side, a new claim", first, 0.1, unit="s")
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
