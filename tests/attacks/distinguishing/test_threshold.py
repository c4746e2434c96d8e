from __future__ import annotations

import numpy as np
import pytest
from tests.attacks.attack_laws import TARGET, auc, naive_auc, outputs

from dpassay.attacks.distinguishing.threshold import Threshold, superiority
from dpassay.mechanisms.core import AttackError, Outputs, ParameterError

ROWS = np.array([[3.0, -4.0], [0.0, 2.0]])


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        ("sum", [-1.0, 2.0]),
        ("mean", [-0.5, 1.0]),
        ("norm", [5.0, 2.0]),
        ("max", [3.0, 2.0]),
        ("min", [-4.0, 0.0]),
        (1, [-4.0, 2.0]),
    ],
)
def test_the_score_is_the_statistic(statistic: str | int, expected: list[float]) -> None:
    scorer = Threshold(statistic=statistic).fit(TARGET, *outputs(ROWS, ROWS), np.random.default_rng(0))
    assert scorer.score(Outputs(ROWS)).tolist() == expected


@pytest.mark.parametrize("shift", [1.0, -1.0])
def test_the_sign_makes_side_1_the_higher_one(shift: float) -> None:
    rng = np.random.default_rng(1)
    out, in_ = rng.standard_cauchy(400), rng.standard_cauchy(400) + shift
    scorer = Threshold().fit(TARGET, *outputs(out, in_), rng)
    assert np.array_equal(scorer.score(Outputs(in_)), np.sign(shift) * in_)
    assert auc(*(scorer.score(o) for o in outputs(out, in_))) > 0.5


def test_superiority_is_twice_the_auc_less_1_ties_included() -> None:
    rng = np.random.default_rng(2)
    out, in_ = rng.integers(0, 5, 80).astype(float), rng.integers(1, 6, 60).astype(float)
    assert superiority(out, in_) == pytest.approx(2 * naive_auc(out, in_) - 1, abs=1e-12)
    assert superiority(out, in_) == pytest.approx(2 * auc(out, in_) - 1, abs=1e-12)


def test_only_the_norm_detects_a_change_of_variance() -> None:
    rng = np.random.default_rng(3)
    pilot = outputs(rng.normal(0, 1, 4_000), rng.normal(0, 2, 4_000))
    value, norm = (Threshold(statistic=s).fit(TARGET, *pilot, rng) for s in ("value", "norm"))
    assert auc(*(norm.score(o) for o in pilot)) > 0.65
    assert auc(*(value.score(o) for o in pilot)) < 0.55


@pytest.mark.parametrize(
    ("statistic", "message"), [("value", "reads outputs of one number.*'sum'"), (2, "from 0 to 1")]
)
def test_a_statistic_that_does_not_fit_the_outputs_is_refused(statistic: str | int, message: str) -> None:
    with pytest.raises(AttackError, match=message):
        Threshold(statistic=statistic).fit(TARGET, *outputs(ROWS, ROWS), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("statistic", "message"), [("summ", "Did you mean 'sum'"), (-1, "whole number >= 0"), (1.5, "whole number")]
)
def test_a_bad_statistic_is_refused(statistic: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Threshold(statistic=statistic)  # type: ignore[arg-type]


def test_an_empty_pilot_is_refused() -> None:
    with pytest.raises(AttackError, match=r"at least 1 ordinary pilot output per side.*got 0 and 2"):
        Threshold().fit(TARGET, *outputs(np.empty(0), np.zeros(2)), np.random.default_rng(0))
