"""Computation of one bound, against drawing and sorting a million normal scores in bare numpy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from benchmarks.measure import against_sorting

from dpassay.audit.bounds import families
from dpassay.audit.bounds.base import Bound
from dpassay.audit.bounds.bits.one_run import OneRun, least_epsilon
from dpassay.audit.bounds.bits.one_run_fdp import OneRunFDP, _least_theta
from dpassay.audit.bounds.families import family_of
from dpassay.audit.bounds.numerics.unconditional import Ordering, UnconditionalTest
from dpassay.audit.bounds.pair.betting import Betting
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.bounds.pair.family import Family
from dpassay.audit.evidence.scores import BitScores, PairCounts, PairScores, Tally
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.power import power
from dpassay.mechanisms.accounting import ApproximateDP, GaussianDP, LaplaceDP, PrivacyLossDP, PureDP
from dpassay.mechanisms.core import Guarantee


def event(n: int) -> PairCounts:
    """Return the counts of an event of probability 0.16 without the record and 0.27 with it."""
    hits_out, hits_in = round(0.16 * n), round(0.27 * n)
    return PairCounts(Tally(np.array([0.0, 1.0]), np.array([n, hits_out]), np.array([n, hits_in]), n, n))


def one_bound(bound: Bound, claim: Guarantee, delta: float, scores: PairScores | PairCounts) -> None:
    bound.fix(Statement(claim, delta, 0.95), None, scores.sizes).lower_bound(scores)


def of_bits(bound: Bound, claim: Guarantee, scores: BitScores) -> None:
    families._computed.cache_clear()
    least_epsilon.cache_clear()
    _least_theta.cache_clear()
    bound.fix(Statement(claim, 1e-6, 0.95), None, scores.sizes[:1]).lower_bound(scores)


def power_of_bits(claim: Guarantee, n_bits: int) -> None:
    power._call.cache_clear()
    power.detectable_in_bits([OneRunFDP()], Statement(claim, 1e-5, 0.95), n_bits=n_bits)


def unconditional(n: int) -> None:
    test = UnconditionalTest(n // 2, n, int(0.184 * n), n, Ordering())
    test.p_value(test.epsilon_lower(0.0, 0.05), 0.0)


def chosen(out: np.ndarray, in_: np.ndarray) -> None:
    ClopperPearson().fix(Statement(PureDP(1.0), 0.0, 0.95), PairScores(out, in_), (len(out), len(in_)))


def works() -> dict[str, tuple[Callable[[], None], float]]:
    """Return name -> function to time and the target of its ratio."""
    rng = np.random.default_rng(0)
    bits = rng.random((1, 20_000)) < 0.5
    canaries = BitScores(bits, rng.normal(size=bits.shape) + 1.5 * bits)
    out, in_ = rng.normal(size=20_000), rng.normal(1.0, size=20_000)
    million = rng.laplace(size=1_000_000), rng.laplace(1.0, size=1_000_000)
    gaussian, laplace = GaussianDP(1.0), LaplaceDP(1.0)
    sampled = PrivacyLossDP.gaussian(1.0, sampling_probability=0.2)
    trained = PrivacyLossDP.gaussian(3.0, sampling_probability=1 / 11, steps=2200)
    few = BitScores(bits[:, :5000], canaries.scores[:, :5000])
    return {
        "one-run-fdp of a Gaussian claim, 20,000 canaries": (
            partial(of_bits, OneRunFDP(curve_family=family_of(gaussian)), gaussian, canaries), 2.0
        ),
        "one-run-fdp of a Laplace claim, 20,000 canaries": (
            partial(of_bits, OneRunFDP(curve_family=family_of(laplace)), laplace, canaries), 20.0
        ),
        "one-run-fdp of a DP-SGD claim, 5,000 canaries": (partial(of_bits, OneRunFDP(), trained, few), 40.0),
        "power of one-run-fdp on a DP-SGD claim, 5,000 canaries": (partial(power_of_bits, trained, 5000), 10.0),
        "one-run, 20,000 canaries": (partial(of_bits, OneRun(), ApproximateDP(1.0, 1e-6), canaries), 1.0),
        "joint exact test and p-value, 1,000,000,000 trials a side": (partial(unconditional, 10**9), 2.0),
        "accountant-family, 1,000,000 trials a side": (
            partial(one_bound, Family(threshold=1.0), gaussian, 1e-5, event(1_000_000)), 1.0
        ),
        "accountant-family of a sampled Gaussian, 10,000 a side": (
            partial(one_bound, Family(threshold=1.0), sampled, 1e-5, event(10_000)), 20.0
        ),
        "betting, 1,000,000 trials a side": (
            lambda: one_bound(Betting(), PureDP(1.0), 0.0, PairScores(*million)), 20.0
        ),
        "clopper-pearson, a threshold chosen on 20,000 trials a side": (partial(chosen, out, in_), 0.5),
    }  # fmt: skip


def main() -> None:
    for what, (work, target) in works().items():
        against_sorting(what, work, target)
