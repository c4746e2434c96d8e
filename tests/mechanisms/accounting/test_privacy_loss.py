"""Privacy-loss distributions against dp-accounting's own answers, closed forms and printed numbers."""

import math
import subprocess
import sys

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as plds
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant
from numpy.testing import assert_allclose
from scipy import integrate, stats

from dpassay.mechanisms.accounting import (
    ApproximateDP,
    ExactDP,
    GaussianDP,
    LaplaceDP,
    OptimalComposition,
    PrivacyLossDP,
    PureDP,
    RenyiDP,
    compose,
)
from dpassay.mechanisms.core import AccountingError, ParameterError

DELTAS = np.geomspace(1e-9, 0.3, 10)


@pytest.fixture(scope="module")
def abadi():
    """q 0.01, noise multiplier 4, 10,000 steps."""
    return PrivacyLossDP.gaussian(4.0, sampling_probability=0.01, steps=10_000)


def test_abadi_et_al_setting(abadi):
    """0.947 at delta 1e-5: three digits, computed by two implementations. The README of PLD-Accountant (Koskela) prints
    delta(1) = 4.2435e-6 for it, by another grid."""
    assert_allclose(abadi.epsilon(1e-5), 0.947, atol=6e-4)
    assert_allclose(abadi.delta(1.0), 4.2435e-6, rtol=3e-3)


@pytest.mark.parametrize(
    ("q", "z", "steps", "expected"),
    [(0.01, 4.0, 40_000, 2.03), (256 / 60_000, 1.3, 4_687, 1.007), (256 / 60_000, 1.1, 14_062, 2.382)],
)
def test_published_settings(q, z, steps, expected):
    """Privacy-loss accounting of well-known DP-SGD settings at delta 1e-5, within 0.5 percent."""
    claim = PrivacyLossDP.gaussian(z, sampling_probability=q, steps=steps)
    assert_allclose(claim.epsilon(1e-5), expected, rtol=5e-3)
    assert claim.epsilon(1e-5) < RenyiDP.gaussian(z, sampling_probability=q, steps=steps).epsilon(1e-5)


def test_replace_one_with_samples_needs_a_custom_distribution():
    """The README of PLD-Accountant (Koskela) prints epsilon(1e-5) = 1.99312 for q 0.01, sigma 4, T 10,000, where a
    replaced record moves the sum by 2."""
    with pytest.raises(AccountingError, match=r"'replace_one' is not known.*from_pld"):
        PrivacyLossDP.gaussian(4.0, sampling_probability=0.01, relation="replace_one")
    one = plds.from_gaussian_mechanism(4.0, sampling_prob=0.01, neighboring_relation=NeighboringRelation.REPLACE_ONE)
    claim = PrivacyLossDP.from_pld(one.self_compose(10_000), relation="replace_one")
    assert_allclose(claim.epsilon(1e-5), 1.99312, atol=1e-4)


def test_numbers_are_those_of_dp_accounting(abadi):
    for delta in (1e-10, 1e-5, 0.01):
        assert_allclose(abadi.epsilon(delta), abadi.pld.get_epsilon_for_delta(delta), rtol=1e-7)
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        assert_allclose(abadi.delta(epsilon), abadi.pld.get_delta_for_epsilon(epsilon), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(("z", "steps"), [(1.0, 1), (10.0, 100), (0.5, 1)])
def test_full_batch_gaussian_is_the_closed_form_from_above(z, steps):
    claim, exact = PrivacyLossDP.gaussian(z, steps=steps), GaussianDP(math.sqrt(steps) / z)
    gap = claim.epsilon(DELTAS) - exact.epsilon(DELTAS)
    assert (gap >= -1e-9).all()
    assert (gap <= 1e-4).all()
    x = np.linspace(0.0, 1.0, 21)
    assert_allclose(claim.tradeoff(x), exact.tradeoff(x), atol=1e-6)
    assert (claim.tradeoff(x) <= exact.tradeoff(x) + 1e-12).all()


def test_full_batch_laplace_is_the_closed_form():
    x = np.linspace(0.0, 0.99, 12)
    assert_allclose(PrivacyLossDP.laplace(1.0).delta(x), LaplaceDP(1.0).delta(x), atol=1e-8)


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 0.9])
def test_sampled_gaussian_is_the_worse_direction_in_closed_form(epsilon):
    """The likelihood ratio 1 - q + q e^((2 x - 1) / (2 z^2)) grows with x: the worst events are tails."""
    q, z = 0.3, 0.8

    def tail(x, upper):
        """Probabilities of the tail beyond x under the base and under the mixture."""
        law = stats.norm.sf if upper else stats.norm.cdf
        base = law(x, scale=z)
        return base, (1.0 - q) * base + q * law(x, 1.0, z)

    def where_ratio_is(ratio):
        return 0.5 + z * z * math.log((ratio - 1.0 + q) / q)

    base, mixed = tail(where_ratio_is(math.exp(epsilon)), upper=True)
    remove, add = mixed - math.exp(epsilon) * base, 0.0
    if math.exp(-epsilon) > 1.0 - q:
        base, mixed = tail(where_ratio_is(math.exp(-epsilon)), upper=False)
        add = base - math.exp(epsilon) * mixed
    claim = PrivacyLossDP.gaussian(z, sampling_probability=q)
    assert_allclose(claim.delta(epsilon), max(remove, add), atol=1e-7)


def test_sampled_laplace_is_between_none_and_all():
    x = np.linspace(0.0, 0.8, 9)
    sampled = PrivacyLossDP.laplace(1.0, sampling_probability=0.1)
    assert (sampled.delta(x) <= LaplaceDP(1.0).delta(x)).all()
    assert_allclose(sampled.epsilon(1e-12), math.log1p(0.1 * math.expm1(1.0)), rtol=1e-3)  # amplification, attained


def test_optimal_composition_and_privacy_loss_agree():
    """Epsilons on and off the grid."""
    for epsilon, delta, count in [(0.1, 0.0, 100), (0.1234567, 0.0, 100), (0.37, 1e-6, 20)]:
        part = PureDP(epsilon) if delta == 0.0 else ApproximateDP(epsilon, delta)
        by_loss = compose([part] * count, accounting="privacy-loss")
        optimal = OptimalComposition(epsilon, delta, count=count)
        deltas = np.geomspace(1e-8 + 2 * delta * count, 0.3, 10)
        gap = by_loss.epsilon(deltas) - optimal.epsilon(deltas)
        assert (gap >= -1e-9).all()
        assert (gap <= 1e-6).all()


def test_composed_pairs_are_the_product_law():
    """Different parts, asymmetric ones included, against the enumerated product."""
    first = ExactDP([0.5, 0.3, 0.2], [0.2, 0.5, 0.3], "add_remove")
    second = ExactDP([0.6, 0.4], [0.9, 0.1], "add_remove")
    p0 = np.outer(np.outer(first.p0, first.p0), second.p0).ravel()
    p1 = np.outer(np.outer(first.p1, first.p1), second.p1).ravel()
    product = ExactDP(p0, p1, "add_remove")
    composed = compose([first, first, second], accounting="privacy-loss", fixed_sides=True)
    x = np.linspace(0.0, 3.0, 25)
    assert (composed.delta(x) >= product.delta(x) - 1e-13).all()
    assert_allclose(composed.delta(x), product.delta(x), atol=1e-4)
    assert_allclose(composed.delta(x[::5] + 0.0123), product.delta(x[::5] + 0.0123), atol=1e-7)


@pytest.mark.parametrize("relation", [None, "add_remove", "zero_out", "replace_one"])
def test_directions_may_mix_under_every_relation(relation):
    """A pair and its mirror image are the same guarantee, so that mechanisms with either law may be composed. Delta of
    the mixed product at 1 is 0.31409, and that of the product of one of them with itself 0.23353."""
    one, other = ExactDP([0.9, 0.1], [0.5, 0.5], relation), ExactDP([0.5, 0.5], [0.9, 0.1], relation)
    composed = compose([one, one], accounting="privacy-loss")
    assert composed.delta(1.0) > 0.31408
    assert compose([one, one], accounting="privacy-loss", fixed_sides=True).delta(1.0) == pytest.approx(
        0.23353, abs=1e-5
    )
    x = np.linspace(0.0, 2.0, 11)
    for second in (one, other):
        product = ExactDP(np.outer(one.p0, second.p0).ravel(), np.outer(one.p1, second.p1).ravel())
        assert (composed.delta(x) >= product.delta(x) - 1e-12).all()


def test_fixed_sides_give_the_product_law_of_one_pair_of_datasets():
    """In the worse direction; without them a guarantee has to cover more."""
    pair, coin = ExactDP([0.9, 0.1], [0.5, 0.5]), ExactDP([0.5, 0.5], [0.9, 0.1], "add_remove")
    composed = compose([pair, coin], accounting="privacy-loss", fixed_sides=True)
    assert composed.relation == "add_remove"
    product = ExactDP(np.outer(pair.p0, coin.p0).ravel(), np.outer(pair.p1, coin.p1).ravel())
    x = np.linspace(0.05, 2.0, 11)
    assert_allclose(composed.delta(x), product.delta(x), atol=1e-6)
    mixed = compose([pair, coin], accounting="privacy-loss")
    assert (mixed.delta(x[:5]) > product.delta(x[:5]) + 1e-3).all()


def test_mixed_kinds_compose_and_stay_above_the_gaussian_alone():
    parts = [GaussianDP(0.5), LaplaceDP(0.3), PureDP(0.1), PrivacyLossDP.gaussian(2.0)]
    total = compose(parts, accounting="privacy-loss")
    assert total.relation == "add_remove"
    assert (total.epsilon(DELTAS) > compose([GaussianDP(0.5), GaussianDP(0.5)]).epsilon(DELTAS)).all()
    assert (
        total.epsilon(DELTAS) < compose(parts[:3], accounting="renyi").epsilon(DELTAS) + GaussianDP(0.5).epsilon(1e-9)
    ).all()
    assert str(total).startswith("PrivacyLossDP(1 x GaussianDP(mu=0.5), 1 x LaplaceDP")


def test_laplace_composition_beats_every_other_accounting():
    """100 Laplace releases of epsilon 0.1 at delta 1e-6: 4.69 where optimal pure composition says 4.77."""
    exact = compose([LaplaceDP(0.1)] * 100, accounting="privacy-loss").epsilon(1e-6)
    others = [
        compose([LaplaceDP(0.1)] * 100, accounting=name).epsilon(1e-6) for name in ("optimal", "advanced", "basic")
    ]
    assert exact < others[0] < others[1] < others[2]
    assert_allclose(exact, 4.6927, atol=1e-3)


@pytest.mark.parametrize("epsilon", [0.1, 0.6, 1.7])
def test_two_laplace_releases_are_the_integral(epsilon):
    """Over the loss of the first release, under side 1: 1 with probability 1/2, -1 with e^-1 / 2, else a density."""

    def second(t):
        """delta of the second release at t, which may be negative."""
        return LaplaceDP(1.0).delta(t) if t >= 0.0 else -math.expm1(t) + math.exp(t) * LaplaceDP(1.0).delta(-t)

    spread, _ = integrate.quad(lambda loss: 0.25 * math.exp(0.5 * (loss - 1.0)) * second(epsilon - loss), -1.0, 1.0)
    expected = 0.5 * second(epsilon - 1.0) + 0.5 * math.exp(-1.0) * second(epsilon + 1.0) + spread
    assert_allclose(compose([LaplaceDP(1.0)] * 2, accounting="privacy-loss").delta(epsilon), expected, atol=1e-8)


def test_renyi_divergences_are_those_of_dp_accounting():
    orders = [2.0, 8.0, 32.0, 200.0]
    for q in (1.0, 0.01):
        accountant = RdpAccountant(orders)
        event = dp_event.GaussianDpEvent(2.0)
        accountant.compose(event if q == 1.0 else dp_event.PoissonSampledDpEvent(q, event), 300)
        mine = RenyiDP.gaussian(2.0, sampling_probability=q, steps=300, orders=orders)
        for delta in (1e-8, 1e-4):
            assert_allclose(mine.epsilon(delta), accountant.get_epsilon(delta), rtol=1e-9)


def test_zero_out_is_accounted_as_add_remove():
    one, other = (PrivacyLossDP.gaussian(2.0, sampling_probability=0.1, relation=r) for r in ("zero_out", "add_remove"))
    assert_allclose(one.epsilon(DELTAS), other.epsilon(DELTAS))


def test_bad_arguments_are_named():
    for options, message in [
        ({"sampling_probability": 0.0}, "sampling_probability must be"),
        ({"sampling_probability": 1.5}, "sampling_probability must lie in"),
        ({"steps": 0}, "steps must be a whole number >= 1"),
        ({"steps": 2.5}, "steps must be a whole number"),
        ({"interval": -1.0}, "interval must be"),
        ({"relation": "swap"}, "unknown relation"),
    ]:
        with pytest.raises(ParameterError, match=message):
            PrivacyLossDP.gaussian(1.0, **options)
    with pytest.raises(ParameterError, match="pld must be a PrivacyLossDistribution of dp_accounting, but is a float"):
        PrivacyLossDP.from_pld(0.5)


def test_another_version_of_dp_accounting_is_refused():
    class Elsewhere:
        def get_delta_for_epsilon(self, epsilon):
            return 0.0

    with pytest.raises(AccountingError, match="stores its losses elsewhere"):
        PrivacyLossDP.from_pld(Elsewhere()).epsilon(0.1)


def test_accountant_is_not_imported_before_it_is_used():
    code = (
        "import sys, dpassay.mechanisms.accounting as g; "
        "g.compose([g.PureDP(1.0)] * 2, accounting='optimal').epsilon(0.1); "
        "sys.exit(any(m in sys.modules for m in ('dp_accounting', 'scipy.stats', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_guarantees_of_one_recipe_are_equal_and_others_only_to_themselves():
    one, same, more = (PrivacyLossDP.laplace(1.0, steps=steps) for steps in (2, 2, 3))
    assert one == same
    assert hash(one) == hash(same)
    assert one != more
    assert PrivacyLossDP.from_pld(one.pld) != PrivacyLossDP.from_pld(one.pld)
    assert len({one, same, more}) == 2


def test_losses_are_computed_once_for_each_setting():
    setting = {"sampling_probability": 0.1, "interval": 0.01}
    for make in (PrivacyLossDP.gaussian, PrivacyLossDP.laplace):
        once, again, other = make(2.0, steps=3, **setting), make(2.0, steps=3, **setting), make(2.0, steps=4, **setting)
        assert once.pld is again.pld is not other.pld
        assert other.epsilon(1e-5) > once.epsilon(1e-5)
