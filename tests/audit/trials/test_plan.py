import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpassay.audit.trials.plan import MAX_CHUNK_BYTES, TrialPlan, plan_trials
from dpassay.audit.trials.seeds import Stage, root_seed, stream
from dpassay.mechanisms.core import ParameterError


@given(
    trials=st.integers(10, 10_000_000),
    bytes_per_run=st.integers(1, 10**9),
    learns=st.booleans(),
    chooses=st.booleans(),
    vectorised=st.booleans(),
)
def test_every_trial_is_planned_once_and_the_pilot_stays_apart(trials, bytes_per_run, learns, chooses, vectorised):
    plan = plan_trials(trials, bytes_per_run=bytes_per_run, learns=learns, chooses=chooses, vectorised=vectorised)
    assert plan.pilot + plan.evaluation == plan.per_side == trials
    assert plan.evaluation >= trials // 2
    assert (plan.pilot > 0) == (learns or chooses or trials > 2_000_000)
    assert plan.chunk_size == 1 or plan.chunk_size * bytes_per_run <= MAX_CHUNK_BYTES


@given(pilot=st.integers(0, 500), evaluation=st.integers(1, 500), chunk_size=st.integers(1, 70))
def test_chunks_cover_each_side_without_gap_or_overlap(pilot, evaluation, chunk_size):
    plan = TrialPlan(pilot, evaluation, chunk_size)
    for stage, total in ((Stage.PILOT, pilot), (Stage.EVALUATION, evaluation)):
        for side in (0, 1):
            chunks = [chunk for chunk in plan.chunks(stage) if chunk.side == side]
            covered = [trial for chunk in chunks for trial in range(chunk.start, chunk.start + chunk.size)]
            assert covered == list(range(total))
    keys = [chunk.key for stage in (Stage.PILOT, Stage.EVALUATION) for chunk in plan.chunks(stage)]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("trials", [0, -5, 9, 2.5, "many", True, None])
def test_too_few_trials_are_refused_with_what_would_do(trials):
    with pytest.raises(ParameterError, match="trials must be"):
        plan_trials(trials, bytes_per_run=8, learns=False, chooses=True, vectorised=True)


def test_streams_of_stages_sides_and_chunks_never_meet():
    keys = [(stage, side, index) for stage in Stage for side in (0, 1) for index in range(50)]
    draws = {stream(3, *key).integers(2**63).item() for key in keys}
    assert len(draws) == len(keys)
    assert stream(3, Stage.PILOT, 1, 2).random() == stream(3, Stage.PILOT, 1, 2).random()


def test_seeds():
    assert root_seed(5) == 5
    assert root_seed(np.int64(5)) == 5
    assert root_seed(None) != root_seed(None)
    for wrong in (-1, 1.5, "x", True):
        with pytest.raises(ParameterError, match="seed must be a whole number >= 0"):
            root_seed(wrong)
