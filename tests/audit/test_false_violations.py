"""A correct function is never called broken, wherever its noise comes from and however its runs depend on each other.

Every audit tests a claim that is exactly true, at a confidence at which one false alarm in 200 audits would be proof of
a fault: its chance is 1 in 5,000.
"""

import re
from collections import Counter

import joblib
import pytest
from tests.audit.dependent_functions import (
    DEPENDENT,
    INDEPENDENT,
    PAIR,
    antithetic,
    autoregressive_across_runs,
    autoregressive_within_calls,
    drifting,
    memoised,
    one_noise_a_call,
)

from dpassay.attacks.distinguishing import Threshold
from dpassay.audit import audit
from dpassay.mechanisms import PureDP
from dpassay.mechanisms.core import ReleaseError

pytestmark = pytest.mark.usefixtures("without_power")

BUILD = 1 - 1e-6
BACKENDS = {"processes": "loky", "threads": "threading"}
REFUSED = "refused"
QUICK = {"attack": Threshold(statistic="sum"), "bound": "clopper-pearson"}
"""The many audits learn a classifier; the fast ones take one number."""


def audited(make, seed, workers="one", **options):
    """The verdict, or `REFUSED` where the runs repeat each other or cannot be spread over processes."""
    given = {"trials": 1_000, "confidence": BUILD, "seed": seed} | options
    try:
        if workers == "one":
            return audit(make(seed), PAIR, claim=PureDP(1.0), **given).verdict.value
        with joblib.parallel_config(backend=BACKENDS[workers], n_jobs=2):
            return audit(make(seed), PAIR, claim=PureDP(1.0), n_jobs=None, **given).verdict.value
    except ReleaseError as error:
        if make in DEPENDENT and re.search("repeat each other|cannot be sent to worker processes", str(error)):
            return REFUSED
        raise


def all_audits():
    """206 audits: makers of functions, seeds, and where the runs are made."""
    for makers, seeds in ((INDEPENDENT, 4), (DEPENDENT, 6)):
        for make in makers:
            yield from ((make, seed, "one") for seed in range(seeds))
            yield from ((make, seeds, workers) for workers in BACKENDS)


@pytest.mark.usefixtures("few_chunks")
@pytest.mark.parametrize("make", INDEPENDENT)
def test_noise_that_is_drawn_anew_in_every_run_is_consistent(make):
    assert audited(make, 0, trials=200, **QUICK) == "consistent"


PLAINLY_USED_AGAIN = [memoised, antithetic, one_noise_a_call]


@pytest.mark.parametrize("make", [make for make in DEPENDENT if make not in PLAINLY_USED_AGAIN])
def test_noise_that_is_used_again_is_never_a_violation(make):
    assert audited(make, 0, trials=200, **QUICK) != "violation"


@pytest.mark.parametrize("make", PLAINLY_USED_AGAIN)
def test_noise_that_is_plainly_used_again_leaves_no_verdict(make):
    assert audited(make, 0, **QUICK) in {"dependent", REFUSED}


@pytest.mark.slow
def test_no_violation_in_two_hundred_audits_of_correct_functions():
    verdicts = {make: Counter() for make in (*INDEPENDENT, *DEPENDENT)}
    for make, seed, workers in all_audits():
        verdicts[make][audited(make, seed, workers)] += 1
    assert sum(counts.total() for counts in verdicts.values()) >= 200
    assert not any(counts["violation"] for counts in verdicts.values())
    assert all(set(verdicts[make]) == {"consistent"} for make in INDEPENDENT)


@pytest.mark.slow
@pytest.mark.parametrize("make", [one_noise_a_call, autoregressive_within_calls, autoregressive_across_runs, drifting])
def test_dependent_trials_leave_no_verdict_at_95_percent_either(make):
    verdicts = Counter(audited(make, seed, confidence=0.95, **QUICK) for seed in range(60))
    assert verdicts == {"dependent": 60}
