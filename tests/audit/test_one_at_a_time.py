"""A function of many runs that raises is run again, one run at a time: an exception on one side is an outcome."""

import numpy as np
import pytest

from dpassay.audit import audit
from dpassay.audit.trials.independence import FALSE_ALARM_SHARE
from dpassay.mechanisms import Neighbours, PureDP
from dpassay.mechanisms.core import ManyRunsError, ReleaseError, percent

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

PAIR = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")
OPTIONS = {"claim": PureDP(1.0), "trials": 2_000, "seed": 0, "attack": "threshold", "bound": "clopper-pearson"}


def raising(limit, side):
    """Laplace noise of scale 1 on the sum; raises where noise is above `limit`, on one side."""

    def release(dataset, size, rng):
        noise = rng.laplace(size=size)
        if len(dataset) == 2 + side and (noise > limit).any():
            raise ValueError("too large")
        return sum(dataset) + noise

    return release


@pytest.mark.parametrize("side", [0, 1])
def test_an_exception_on_one_side_is_an_outcome(side):
    result = audit(raising(1.0, side), PAIR, **OPTIONS)
    assert list(result.events) == ["raised ValueError: too large"]
    counts = result.events["raised ValueError: too large"]
    assert counts[1 - side] == 0
    assert abs(counts[side] / result.trials.evaluation - np.exp(-1.0) / 2.0) < 0.06
    assert result.verdict.value == "violation"
    assert any("each run is a separate call" in note for note in result.notes)


def test_a_function_that_does_not_raise_keeps_its_style():
    result = audit(raising(1_000.0, 1), PAIR, **OPTIONS)
    assert (result.verdict.value, result.events) == ("consistent", {})
    assert not any("separate call" in note for note in result.notes)
    assert "audits" not in {entry.what for entry in result.ledger}


def test_a_rare_exception_repeats_all_trials_at_the_rest_of_the_level(tmp_path):
    """On two workers, from the store, and on one: the same."""
    limit = 5.5  # 2 of 1,000 runs: none of the first ones
    result = audit(raising(limit, 1), PAIR, **OPTIONS, n_jobs=2, store=tmp_path)
    (entry,) = [entry for entry in result.ledger if entry.what == "audits"]
    assert entry.correction == f"{percent(FALSE_ALARM_SHARE)} of the significance for the second"
    assert result.bound.confidence == pytest.approx(1.0 - 0.05 * FALSE_ALARM_SHARE * (1.0 - FALSE_ALARM_SHARE))
    counts = result.events["raised ValueError: too large"]
    assert counts[0] == 0 < counts[1] < 14
    again = audit(raising(limit, 1), PAIR, **OPTIONS, store=tmp_path)
    assert again.to_json() == result.to_json()
    assert audit(raising(limit, 1), PAIR, **OPTIONS).to_json() == result.to_json()


def test_a_function_that_raises_for_one_run_too_on_both_sides_is_refused():
    def broken(dataset, size, rng):
        raise ValueError("always")

    with pytest.raises(ReleaseError, match=r"raised ValueError in each of 10 first runs") as caught:
        audit(broken, PAIR, **OPTIONS)
    assert not isinstance(caught.value, ManyRunsError)
