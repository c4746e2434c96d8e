"""Trials that repeat each other are refused; independent ones never are."""

import numpy as np
import pytest
from tests.audit.replayed_functions import restarts

from dpassay.audit import audit
from dpassay.audit.trials.plan import Chunk
from dpassay.audit.trials.repeated_outputs import ReplayGuard, signature
from dpassay.audit.trials.seeds import Stage
from dpassay.mechanisms import KAryRandomizedResponse, Laplace, Neighbours, Outputs, PureDP
from dpassay.mechanisms.core import ReleaseError

pytestmark = pytest.mark.usefixtures("without_power")

PAIR = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")
OPTIONS = {"claim": PureDP(1.0), "trials": 1_000, "seed": 0, "attack": "threshold"}


def restarts_later():
    """Restart the noise after some thousand runs."""
    mine, drawn = [np.random.default_rng(7)], [0]

    def release(dataset, size, rng):
        drawn[0] += size
        if drawn[0] > 700:
            mine[0], drawn[0] = np.random.default_rng(7), 0
        return sum(dataset) + mine[0].laplace(size=size)

    return release


def owner():
    mine = np.random.default_rng(7)
    return lambda dataset: sum(dataset) + mine.laplace()


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_generator_restarted_in_every_call_is_a_violation(n_jobs):
    result = audit(restarts, PAIR, **OPTIONS, n_jobs=n_jobs)
    assert (result.verdict.value, result.refuted_by) == ("violation", "bound")


def test_generator_restarted_in_every_process_is_refused():
    with pytest.raises(ReleaseError, match=r"the runs of .*restarts_later.* repeat each other"):
        audit(restarts_later(), PAIR, **OPTIONS)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_function_with_a_generator_of_its_own_is_audited_in_one_process(n_jobs):
    assert audit(owner(), PAIR, **OPTIONS, n_jobs=n_jobs).verdict.value == "consistent"


def carries(seed):
    mine = np.random.default_rng(seed)
    return lambda dataset, rng: sum(dataset) + mine.laplace()


def test_a_generator_in_a_closure_stays_in_one_process_and_is_named():
    result = audit(carries(3), PAIR, **OPTIONS, n_jobs=2)
    assert (result.verdict.value, result.dependence) == ("consistent", None)
    assert "a generator of its own" in result.warnings[0]


@pytest.mark.parametrize("mechanism", [Laplace(epsilon=1.0), KAryRandomizedResponse(epsilon=1.0, k=50)])
def test_honest_mechanisms_are_never_refused(mechanism):
    for seed in range(5):
        audit(mechanism, trials=3_000, seed=seed, bound="clopper-pearson")


@pytest.mark.parametrize("rare", [0.01, 0.05, 0.2])
def test_honest_runs_of_a_lopsided_law_are_never_refused(rare):
    rng, repeats = np.random.default_rng(0), ReplayGuard("x")
    for index in range(5_000):
        outputs = Outputs((rng.random(64) < rare).astype(float))
        repeats.check(Chunk(Stage.EVALUATION, 0, index, 0, 64), {"signature": signature(outputs)})


def test_even_coin_that_restarts_has_a_signature():
    flips = Outputs(np.tile([0.0, 1.0], 32))
    assert len(signature(flips)) == 16


def test_discrete_outputs_may_repeat():
    chunks = [Chunk(Stage.EVALUATION, 0, index, 0, 12) for index in range(2)]
    discrete = {"signature": signature(Outputs(np.tile([0.0, 1.0, 2.0], 4)))}
    continuous = {"signature": signature(Outputs(np.linspace(0, 1, 12)))}
    repeats = ReplayGuard("x")
    for chunk in chunks:
        repeats.check(chunk, discrete)
    repeats.check(chunks[0], continuous)
    with pytest.raises(ReleaseError, match="evaluation-0-000000 and evaluation-0-000001"):
        repeats.check(chunks[1], continuous)
