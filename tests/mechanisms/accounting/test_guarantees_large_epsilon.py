"""Every kind of guarantee at every epsilon up to a million: numbers, monotone, and no view below another."""

import math

import numpy as np
import pytest

from dpassay.mechanisms.accounting import (
    AdvancedComposition,
    ApproximateDP,
    BoundedRange,
    BoundedRangeComposition,
    ClonesDP,
    ConcentratedDP,
    ExactDP,
    GaussianDP,
    LaplaceDP,
    OptimalComposition,
    PrivacyLossDP,
    PureDP,
    compose,
    group,
    to_concentrated,
    to_privacy_loss,
    to_renyi,
)
from dpassay.mechanisms.accounting.kinds.two_laws import TwoCauchysDP, TwoGaussiansDP, TwoLaplacesDP
from dpassay.mechanisms.core import AccountingError, ParameterError
from dpassay.mechanisms.literature.synthetic_data.deniability import DeniabilityDP

EPSILONS = (1e-6, 1.0, 349.0, 351.0, 709.0, 711.0, 745.0, 1e6)
DELTAS = np.array([0.0, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9])
LEVELS = np.array([0.0, 1e-3, 1.0, 50.0, 300.0, 700.0, 720.0, 1e4, 1e6, 1e7, 1e300, np.inf])
RATES = np.array([0.0, 1e-300, 1e-9, 1e-3, 0.5, 0.9, 1.0])


def response(epsilon):
    log_lie = -epsilon - math.log1p(math.exp(-epsilon))
    return ExactDP.of_logs([-math.log1p(math.exp(-epsilon)), log_lie], [log_lie, -math.log1p(math.exp(-epsilon))])


KINDS = {
    "pure": PureDP,
    "approximate": lambda e: ApproximateDP(e, 1e-5),
    "laplace": LaplaceDP,
    "gaussian": lambda e: GaussianDP(math.sqrt(2.0 * e)),
    "concentrated": ConcentratedDP,
    "bounded range": BoundedRange,
    "exact": response,
    "renyi": lambda e: to_renyi(LaplaceDP(e)),
    "renyi of exact": lambda e: to_renyi(response(e)),
    "renyi of a range": lambda e: to_renyi(BoundedRange(e)),
    "concentrated of pure": lambda e: to_concentrated(PureDP(e)),
    **{form: lambda e, form=form: AdvancedComposition((e,) * 3, (0.0,) * 3, form) for form in ("drv10", "kov")},
    "optimal": lambda e: OptimalComposition(e, 1e-6, count=4),
    "ranges": lambda e: BoundedRangeComposition(e, count=3),
    "clones": lambda e: ClonesDP(e, 50),
    "deniability": lambda e: DeniabilityDP(20, 2.0, e),
    "two Laplaces": lambda e: TwoLaplacesDP(0.0, 1.0 / e, 1.0, 1.1 / e),
    "two Gaussians": lambda e: TwoGaussiansDP(0.0, 1.0 / math.sqrt(2.0 * e), 1.0, 1.1 / math.sqrt(2.0 * e)),
    "two Cauchys": lambda e: TwoCauchysDP(0.0, 1.0 / e, 1.0, 1.1 / e),
    "group": lambda e: group(GaussianDP(math.sqrt(e)), 3),
    "product": lambda e: response(e).product(response(e)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_all_views_are_numbers_and_monotone(kind):
    for each in EPSILONS:
        claim = KINDS[kind](each)
        epsilon, delta, fnr = np.asarray(claim.epsilon(DELTAS)), np.asarray(claim.delta(LEVELS)), claim.tradeoff(RATES)
        for view in (epsilon, delta, fnr):
            assert not np.isnan(view).any()
            finite = view[np.isfinite(view)]
            assert (np.diff(finite) <= 1e-9 * np.maximum(1.0, finite[1:])).all()
        assert np.isfinite(epsilon[max(1e-3, claim.default_delta or 0.0) <= DELTAS]).all() or kind == "deniability"
        assert ((delta >= 0.0) & (delta <= 1.0)).all()
        assert ((fnr >= 0.0) & (fnr <= 1.0 - RATES + 1e-12)).all()
        finite = np.isfinite(epsilon)
        assert (np.asarray(claim.delta(epsilon[finite])) <= DELTAS[finite] * (1.0 + 1e-6) + 1e-9 * each).all()


@pytest.mark.parametrize("epsilon", [711.0, 1e4, 1e6])
def test_privacy_losses_of_weak_noise_fit_a_grid_and_err_on_the_safe_side(epsilon):
    laplace, gaussian = PrivacyLossDP.laplace(epsilon), PrivacyLossDP.gaussian(1.0 / math.sqrt(2.0 * epsilon))
    for on_grid, exact in ((laplace, LaplaceDP(epsilon)), (gaussian, GaussianDP(math.sqrt(2.0 * epsilon)))):
        for delta in (1e-9, 1e-3, 0.5):
            bound, true = on_grid.epsilon(delta), exact.epsilon(delta)
            assert true - 1e-6 <= bound <= true * (1.0 + 1e-4)
    twice = compose([response(epsilon), PureDP(epsilon)], accounting="privacy-loss")
    assert 2.0 * epsilon - 1e-6 <= twice.epsilon(1e-12) <= 2.0 * epsilon * (1.0 + 1e-4)
    assert to_privacy_loss(BoundedRange(epsilon), interval=1.0).epsilon(1e-9) >= BoundedRange(epsilon).epsilon(1e-9)


def test_one_loss_of_weak_noise_needs_no_grid_between():
    assert to_privacy_loss(PureDP(1e6)).epsilon(1e-9) == pytest.approx(1e6, abs=1e-3)


def test_a_grid_that_no_machine_holds_is_refused_by_name():
    with pytest.raises(ParameterError, match="makes about 2e"):
        PrivacyLossDP.laplace(1e6, interval=1e-4)


def test_a_group_whose_delta_is_beyond_floats_is_refused_by_name():
    with pytest.raises(AccountingError, match="a delta of 1 or more guarantees nothing"):
        group(ApproximateDP(1e4, 1e-9), 3)
