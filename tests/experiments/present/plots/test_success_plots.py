"""Figures of reconstructions hold the success, the ceiling and the prior, for every kind of guarantee."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.experiments.made_results import sweep_of

from dpassay.audit import BitScores, Successes, audit_scores
from dpassay.audit.bounds.reconstruction import Reconstruction, allowed_success
from dpassay.audit.results.audit_result import AuditResult
from dpassay.experiments.present.plots import SuccessCeiling, SuccessSweep, draw_all
from dpassay.experiments.present.plots.draw import plots_of
from dpassay.experiments.present.plots.style import new_figure
from dpassay.mechanisms.accounting import (
    ApproximateDP,
    ConcentratedDP,
    GaussianDP,
    LaplaceDP,
    PrivacyLossDP,
    PureDP,
    RenyiDP,
)

pytestmark = pytest.mark.usefixtures("without_power")


def guessed(claim: Any, k: int = 60, n: int = 200, prior: float = 0.1, **options: Any) -> AuditResult:
    return audit_scores(Successes(k, n, prior), claim=claim, **({"delta": 1e-5} | options))


CLAIMS = {
    "pure": (PureDP(1.0), 0.1 * math.e),
    "approximate": (ApproximateDP(1.0, 1e-3), 0.1 * math.e + 1e-3),
    "Gaussian": (GaussianDP(1.0), stats.norm.cdf(stats.norm.ppf(0.1) + 1.0)),
    "Laplace": (LaplaceDP(1.0), 0.1 * math.e),
    "privacy loss": (PrivacyLossDP.gaussian(1.0), stats.norm.cdf(stats.norm.ppf(0.1) + 1.0)),
    "concentrated": (ConcentratedDP(0.5), None),
}
"""With the ceiling at a prior success of 0.1 in closed form, where there is one."""


@pytest.mark.parametrize("name", CLAIMS)
def test_the_ceiling_is_one_less_the_curve_at_the_prior_success(name: str) -> None:
    claim, expected = CLAIMS[name]
    result = guessed(claim, delta=1e-2)
    seen = result.recovery
    assert seen is not None
    assert seen.allowed == pytest.approx(1.0 - float(claim.tradeoff(0.1)), abs=1e-12)
    assert expected is None or seen.allowed == pytest.approx(expected, rel=1e-3)
    plot = SuccessCeiling.from_result(result)
    assert np.interp(0.1, plot.prior, plot.ceiling) == pytest.approx(seen.allowed, abs=2e-3)
    assert np.all(plot.ceiling >= plot.prior - 1e-9)
    plot.plot(new_figure().add_subplot())


def test_zcdp_allows_more_than_the_gaussian_noise_that_it_bounds() -> None:
    gaussian, *others = (
        allowed_success(one, 0.1) for one in (GaussianDP(1.0), ConcentratedDP(0.5), RenyiDP.gaussian(1.0))
    )
    assert gaussian < min(others)


def test_success_has_its_exact_interval() -> None:
    seen = guessed(PureDP(1.0), k=60, n=100).recovery
    assert seen is not None
    exact = stats.binomtest(60, 100).proportion_ci(0.95, method="exact")
    assert (seen.success, seen.prior) == (0.6, 0.1)
    assert (seen.lower, seen.upper) == pytest.approx((exact.low, exact.high), rel=1e-9)


def test_candidates_that_are_neighbours_of_each_other_have_a_lower_ceiling() -> None:
    result = guessed(PureDP(1.0), bound=Reconstruction(candidates=10))
    assert result.recovery is not None
    assert result.recovery.allowed == pytest.approx(math.e / (math.e + 9), rel=1e-9)
    plot = SuccessCeiling.from_result(result)
    assert plot.lower_here
    assert "neighbours of each other" in plot.caption
    assert not SuccessCeiling.from_result(guessed(PureDP(1.0))).lower_here


def bits(share: float, n: int = 400) -> BitScores:
    truth = np.arange(n) % 2 == 0
    right = np.arange(n) < share * n
    return BitScores(truth[None], np.where(right, 1.0, -1.0)[None] * np.where(truth, 1.0, -1.0), relation="replace_one")


@pytest.mark.parametrize(
    ("claim", "expected"), [(PureDP(1.0), math.e / (1 + math.e)), (GaussianDP(1.0), stats.norm.cdf(0.5))]
)
def test_bits_have_the_ceiling_of_one_of_two_neighbours_and_no_interval(claim: Any, expected: float) -> None:
    result = audit_scores(bits(0.6), claim=claim, delta=1e-5)
    seen = result.recovery
    assert seen is not None
    assert (seen.success, seen.prior) == (pytest.approx(0.6), 0.5)
    assert seen.allowed == pytest.approx(expected, rel=1e-9)
    assert math.isnan(seen.lower)
    assert list(plots_of(result)) == ["success", "scores"]
    assert "no interval" in SuccessCeiling.from_result(result).caption
    assert AuditResult.from_json(result.to_json()) == result


def test_a_result_that_recovered_nothing_has_no_such_figure() -> None:
    canaries = BitScores(bits(0.6).bits, bits(0.6).scores)
    result = audit_scores(canaries, claim=PureDP(1.0), delta=0.0)
    assert result.recovery is None
    assert "success" not in plots_of(result)
    with pytest.raises(ValueError, match="is not a reconstruction"):
        SuccessCeiling.from_result(result)


def test_a_sweep_is_drawn_along_its_number_with_a_line_for_each_rest(tmp_path: Any) -> None:
    points = [{"mechanism.epsilon": e, "game.n_rounds": n} for e in (0.5, 1.0) for n in (100, 200)]
    results = [guessed(PureDP(e), k=n // 10, n=n) for e in (0.5, 1.0) for n in (100, 200)]
    sweep = sweep_of(points, results)
    assert SuccessSweep.fits(sweep)
    plot = SuccessSweep.from_sweep(sweep)
    assert [[x for x, _ in row] for row in plot.lines.values()] == [[0.5, 1.0], [0.5, 1.0]]
    assert plot.title.startswith("The success rates reach ")
    files = draw_all(sweep_of(points[::2], results[::2]), tmp_path)
    assert {"success.svg", "audit-01-success.png"} <= {file.name for file in files}


def test_the_title_says_who_recovers_more_than_is_allowed() -> None:
    results = [guessed(PureDP(0.5), k=150), guessed(PureDP(1.0), k=20)]
    sweep = sweep_of([{"mechanism.epsilon": 0.5}, {"mechanism.epsilon": 1.0}], results)
    assert SuccessSweep.from_sweep(sweep).title == "1 of 2 attacks recover more than the claim allows"


@pytest.mark.parametrize("prior", [0.1, 1e-3])
def test_a_small_prior_gets_logarithmic_axes(prior: float) -> None:
    ax = SuccessCeiling.from_result(guessed(GaussianDP(1.0), prior=prior, k=20)).plot(new_figure().add_subplot())
    assert (ax.get_xscale() == "log") == (prior < 0.05)


def test_many_lines_are_named_by_their_values_and_the_axis_says_of_what() -> None:
    points = [
        ({"mechanism.n_records": n, "mechanism.scale": s, "game.n_rounds": r}, guessed(PureDP(1.0), n=r, k=r // 10))
        for n in (50, 100, 150)
        for s in (2.0, 4.0)
        for r in (100, 200, 300, 400)
    ]
    plot = SuccessSweep.from_sweep(sweep_of(*zip(*points, strict=True)))
    assert plot.varied == "n records · scale"
    assert list(plot.lines)[:2] == ["50 · 2", "50 · 4"]
    few = SuccessSweep.from_sweep(sweep_of(*zip(*points[:8], strict=True)))
    assert few.varied == ""
    assert list(few.lines) == ["n records = 50, scale = 2", "n records = 50, scale = 4"]


def test_the_title_counts_attacks_that_recover_more_than_allowed() -> None:
    points = [({"game.n_rounds": r}, guessed(PureDP(1.0), n=r, k=9 * r // 10)) for r in (100, 200)]
    assert (
        SuccessSweep.from_sweep(sweep_of(*zip(*points, strict=True))).title
        == "2 of 2 attacks recover more than the claim allows"
    )


def test_the_table_of_a_sweep_has_the_recovered_and_the_allowed_rate() -> None:
    rows = sweep_of(
        [{"game.n_rounds": r} for r in (100, 200)], [guessed(PureDP(1.0), n=r) for r in (100, 200)]
    ).to_frame()
    assert rows["success"].tolist() == [0.6, 0.3]
    assert rows["success_allowed"].tolist() == pytest.approx([0.1 * math.e] * 2)
    assert rows["success_prior"].tolist() == [0.1, 0.1]
    assert (rows["success_lower"] < rows["success"]).all()
