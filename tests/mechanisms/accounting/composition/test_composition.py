"""Composition, groups and subsampling against known answers, against each other, and against products of laws."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from dpassay.mechanisms.accounting import (
    AdvancedComposition,
    ApproximateDP,
    BoundedRange,
    ConcentratedDP,
    ExactDP,
    GaussianDP,
    LaplaceDP,
    OptimalComposition,
    PrivacyLossDP,
    PureDP,
    RenyiDP,
    common_relation,
    compose,
    group,
    subsample,
    to_renyi,
)
from dpassay.mechanisms.accounting.composition.compose import ACCOUNTING
from dpassay.mechanisms.core import AccountingError, ParameterError, Relation, RelationError

DELTAS = np.geomspace(1e-9, 0.3, 10)


def response(epsilon):
    """Randomized response with this epsilon."""
    law = np.array([1.0, math.exp(epsilon)]) / (1.0 + math.exp(epsilon))
    return ExactDP(law, law[::-1])


# --- tightest -----------------------------------------------------------------------------------------------------

MIXED = {
    "laplace": [LaplaceDP(0.5)] * 100,
    "pure of two sizes": [PureDP(0.3)] * 5 + [PureDP(1.1)] * 3,
    "approximate and pure": [ApproximateDP(0.2, 1e-6)] * 9 + [PureDP(0.4)],
    "deltas that add up to 1": [ApproximateDP(0.5, 0.4)] * 2 + [ApproximateDP(0.1, 0.3)],
    "pure and gaussian": [PureDP(1.0), GaussianDP(1.0)],
    "pure and concentrated": [PureDP(1.0), ConcentratedDP(0.1)],
    "concentrated and renyi": [ConcentratedDP(0.1), RenyiDP((2.0, 8.0), (0.1, 0.5))],
    "bounded range of two sizes": [BoundedRange(0.5)] * 3 + [BoundedRange(0.6)],
    "pairs of laws": [response(0.5), ExactDP([0.2, 0.8], [0.3, 0.7]), PureDP(0.1)],
    "large": [LaplaceDP(1e300), PureDP(60.0)],
    "many kinds": [PureDP(0.01 + 0.001 * i) for i in range(150)],
}


@pytest.mark.parametrize("name", MIXED)
def test_default_is_never_above_any_theorem_that_applies(name):
    total, applied = compose(MIXED[name]), 0
    for accounting in ACCOUNTING[1:]:
        if accounting == "privacy-loss" and name in ("large", "many kinds"):
            continue
        try:
            other = compose(MIXED[name], accounting=accounting)
        except AccountingError:
            continue
        applied += 1
        grid = 1e-4 * math.sqrt(len(MIXED[name])) if accounting in ("optimal", "advanced") else 1e-12
        assert (total.epsilon(DELTAS) <= other.epsilon(DELTAS) * (1 + 1e-12) + grid).all(), accounting
        assert (total.delta([0.0, 0.5, 2.0]) <= other.delta([0.0, 0.5, 2.0]) + grid).all()
        assert (total.tradeoff([0.0, 0.1, 0.5]) >= other.tradeoff([0.0, 0.1, 0.5]) - grid).all()
    assert applied >= 1


def test_default_is_the_composition_of_randomized_responses():
    """Against the enumeration of all outputs of 8 responses of two sizes: never below, and above by 1e-4 at most."""
    sizes = [0.3] * 5 + [1.1] * 3
    laws = [np.ones(1), np.ones(1)]
    for size in sizes:
        p = 1.0 / (1.0 + math.exp(-size))
        laws = [np.outer(laws[0], [p, 1 - p]).ravel(), np.outer(laws[1], [1 - p, p]).ravel()]
    truth, claim = ExactDP(*laws), compose([PureDP(size) for size in sizes])
    epsilons, deltas = np.linspace(0.0, 4.7, 30), np.array([0.0, 1e-6, 1e-3, 0.1])
    assert (claim.delta(epsilons) >= truth.delta(epsilons) - 1e-12).all()
    assert (claim.epsilon(deltas) >= truth.epsilon(deltas) - 1e-9).all()
    assert_allclose(claim.epsilon(deltas), truth.epsilon(deltas), atol=1e-4)


def test_the_result_says_by_which_theorem():
    total = compose([LaplaceDP(0.1)] * 100)
    assert str(total) == (
        "TightestComposition(parts=100 x LaplaceDP(epsilon=0.1), theorems=privacy-loss, renyi, basic)"
    )
    assert (total.theorem(0.0), total.theorem(1e-6)) == ("basic", "privacy-loss")
    assert total.epsilon(0.0) == pytest.approx(10.0)
    assert total.epsilon(1e-6) == compose([LaplaceDP(0.1)] * 100, accounting="privacy-loss").epsilon(1e-6)
    assert total.default_delta == 0.0
    assert compose([LaplaceDP(0.1)] * 100) == total
    assert isinstance(compose([PureDP(0.1)] * 100), OptimalComposition)
    assert isinstance(compose([PureDP(1.0), ConcentratedDP(1.0)]), RenyiDP)
    assert isinstance(compose([PrivacyLossDP.laplace(1.0)] * 2), PrivacyLossDP)


def test_kinds_without_a_common_theorem_are_refused_by_default():
    with pytest.raises(AccountingError, match=r"ApproximateDP, ConcentratedDP.*guarantees of one family"):
        compose([ApproximateDP(1.0, 1e-6), ConcentratedDP(0.1)])
    with pytest.raises(AccountingError, match="AdvancedComposition, PureDP"):
        compose([AdvancedComposition((0.1,), (0.0,)), PureDP(1.0)])


# --- basic --------------------------------------------------------------------------------------------------------


def test_epsilons_and_deltas_add():
    parts = [PureDP(0.1), LaplaceDP(0.2), ApproximateDP(0.3, 1e-6), ApproximateDP(0.4, 2e-6)]
    total = compose(parts, accounting="basic")
    assert isinstance(total, ApproximateDP)
    assert_allclose([total.nominal_epsilon, total.nominal_delta], [1.0, 3e-6])
    assert compose(parts[:2], accounting="basic") == PureDP(0.1 + 0.2)


def test_a_pair_of_laws_counts_as_pure_under_basic():
    pair = ExactDP([0.25, 0.75], [0.75, 0.25])
    assert_allclose(compose([pair, PureDP(1.0)], accounting="basic").epsilon(0.0), 1.0 + math.log(3.0))


def test_mu_adds_in_squares_and_stays_exact():
    assert compose([GaussianDP(0.3), GaussianDP(0.4)]) == GaussianDP(0.5)
    assert compose([GaussianDP(0.3), GaussianDP(0.4, exact=False)]).exact is False


def test_rho_adds_and_divergences_add_order_by_order():
    assert compose([ConcentratedDP(0.25), ConcentratedDP(0.5)]) == ConcentratedDP(0.75)
    one, other = RenyiDP((2.0, 3.0, 8.0), (0.1, 0.2, 0.5)), RenyiDP((2.0, 4.0, 8.0), (0.5, 0.6, 1.0))
    assert compose([one, other]) == RenyiDP((2.0, 8.0), (0.6, 1.5))


@pytest.mark.parametrize("accounting", ACCOUNTING)
def test_a_single_guarantee_stays_as_it_is(accounting):
    single = PureDP(1.0, "add_remove")
    assert compose([single], accounting=accounting) is single


# --- advanced and optimal -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "expected"), [(1, 0.53065), (10, 1.71226), (30, 3.02912), (31, 3.08171), (100, 5.75652)]
)
def test_advanced_formula_known_answers(count, expected):
    """1/2 sum e^2 + sqrt(2 log(1/delta) sum e^2) at e 0.1, delta 1e-6; basic is better up to 30 mechanisms."""
    formula = AdvancedComposition((0.1,) * count, (0.0,) * count)
    mean, spread = formula.mean, math.sqrt(2.0 * math.log(1e6) * formula.sum_of_squares)
    assert_allclose(mean + spread, expected, atol=6e-6)
    basic = compose([PureDP(0.1)] * count, accounting="basic")
    assert formula.epsilon(1e-6) == min(mean + spread, basic.epsilon(1e-6))
    assert (mean + spread < 0.1 * count) == (count >= 31)


@pytest.mark.parametrize(("form", "expected"), [("concentrated", 5.75652), ("drv10", 6.30823), ("kov", 5.75611)])
def test_forms_of_advanced_composition(form, expected):
    """100 mechanisms of epsilon 0.1 at delta 1e-6: known answers; the last one by the formula."""
    total = compose([PureDP(0.1)] * 100, accounting="advanced", form=form)
    assert_allclose(total.epsilon(1e-6), expected, atol=6e-6)


def test_advanced_composition_of_different_approximate_guarantees():
    parts = [ApproximateDP(0.05, 1e-8)] * 50 + [ApproximateDP(0.1, 1e-7)] * 30 + [LaplaceDP(0.2)]
    squares = 50 * 0.05**2 + 30 * 0.1**2 + 0.2**2
    slack = 1e-5 - (50 * 1e-8 + 30 * 1e-7)
    expected = 0.5 * squares + math.sqrt(2.0 * math.log(1.0 / slack) * squares)
    assert_allclose(compose(parts, accounting="advanced").epsilon(1e-5), expected, rtol=1e-12)


def test_advanced_composition_gives_no_epsilon_without_delta_for_the_parts():
    total = compose([ApproximateDP(0.1, 1e-6)] * 10, accounting="advanced")
    assert total.epsilon(0.99e-5) == math.inf
    assert compose([PureDP(0.1)] * 10, accounting="advanced").epsilon(0.0) == pytest.approx(1.0)


@given(st.floats(0.01, 1.0), st.integers(2, 200), st.sampled_from(["concentrated", "drv10", "kov"]))
def test_optimal_is_never_above_advanced_or_basic(epsilon, count, form):
    parts = [PureDP(epsilon)] * count
    optimal, advanced = compose(parts, accounting="optimal"), compose(parts, accounting="advanced", form=form)
    assert (
        optimal.epsilon(DELTAS)
        <= np.minimum(advanced.epsilon(DELTAS), compose(parts, accounting="basic").epsilon(DELTAS)) + 1e-9
    ).all()
    grid = np.linspace(0.0, count * epsilon, 15)
    assert (optimal.delta(grid) <= advanced.delta(grid) + 1e-12).all()


@given(st.floats(0.05, 1.0), st.integers(2, 60))
def test_renyi_lies_between_optimal_and_concentrated_advanced(epsilon, count):
    parts = [PureDP(epsilon)] * count
    renyi = compose(parts, accounting="renyi").epsilon(DELTAS)
    assert (renyi >= compose(parts, accounting="optimal").epsilon(DELTAS) - 1e-9).all()
    slack = np.sqrt(2.0 * np.log(1.0 / DELTAS) * count) * epsilon
    assert (renyi <= 0.5 * count * epsilon**2 + slack + 1e-3).all()  # the orders are a grid


def test_a_formula_without_the_mean_is_not_a_theorem():
    """epsilon sqrt(2 k log(1/delta)) alone falls below the truth: 100 mechanisms of epsilon 1.5, delta 0.3."""
    optimal = compose([PureDP(1.5)] * 100, accounting="optimal").epsilon(0.3)
    assert 1.5 * math.sqrt(2 * 100 * math.log(1 / 0.3)) < optimal


@pytest.mark.parametrize("accounting", ["basic", "advanced", "optimal"])
@pytest.mark.parametrize(("count", "epsilon"), [(5, 0.3), (40, 0.1)])
def test_every_accounting_covers_repeated_randomized_response(accounting, count, epsilon):
    """The product law exactly: the number of truths is binomial."""
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    k = np.arange(count + 1)
    product = ExactDP(stats.binom.pmf(k, count, 1.0 - truth), stats.binom.pmf(k, count, truth))
    total = compose([PureDP(epsilon, exact=True)] * count, accounting=accounting)
    assert (total.epsilon(DELTAS) >= product.epsilon(DELTAS) - 1e-9).all()
    if accounting == "optimal":
        assert total.exact
        assert_allclose(total.epsilon(DELTAS), product.epsilon(DELTAS), atol=1e-9)


@given(st.lists(st.floats(0.01, 2.0), min_size=1, max_size=5), st.floats(0.01, 2.0), st.sampled_from(ACCOUNTING[:4]))
def test_one_more_mechanism_never_helps(epsilons, extra, accounting):
    if accounting == "optimal":
        epsilons, extra = [epsilons[0]] * len(epsilons), epsilons[0]
    fewer = compose([PureDP(e) for e in epsilons], accounting=accounting)
    more = compose([PureDP(e) for e in [*epsilons, extra]], accounting=accounting)
    if len(epsilons) > 1:  # a single one is not turned into the kind that the accounting returns
        assert (fewer.epsilon(DELTAS) <= more.epsilon(DELTAS) + 1e-9).all()
        rounding = 1e-10 if accounting == "tightest" else 1e-12  # privacy losses include a bound on rounding errors
        assert (fewer.delta(np.linspace(0, 5, 9)) <= more.delta(np.linspace(0, 5, 9)) + rounding).all()


@given(st.permutations([PureDP(0.3), LaplaceDP(0.5), GaussianDP(0.4), ConcentratedDP(0.1)]))
def test_order_of_composition_does_not_matter(parts):
    total = compose(parts, accounting="renyi")
    assert_allclose(total.epsilon(DELTAS), 1.0 * _ALL.epsilon(DELTAS), rtol=1e-12)


@pytest.mark.parametrize("kind", [PureDP, LaplaceDP, response])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-7, 1e-4])
def test_renyi_of_many_tiny_epsilons_stays_above_what_is_attained(kind, epsilon):
    """Randomized response attains what optimal composition says, and Laplace noise of tiny epsilon nearly does."""
    attained = compose([PureDP(epsilon)] * 200, accounting="optimal").delta(0.0)
    assert compose([kind(epsilon)] * 200, accounting="renyi").delta(0.0) > attained > 0.0


_ALL = compose([PureDP(0.3), LaplaceDP(0.5), GaussianDP(0.4), ConcentratedDP(0.1)], accounting="renyi")


def test_renyi_composition_keeps_to_the_orders_that_are_listed():
    sampled = RenyiDP.gaussian(2.0, sampling_probability=0.1, steps=10)
    total = compose([sampled, PureDP(0.5)], accounting="renyi")
    assert total.orders == sampled.orders
    assert total.relation is Relation.ADD_REMOVE
    assert_allclose(
        total.divergences, np.add(sampled.divergences, to_renyi(PureDP(0.5), orders=sampled.orders).divergences)
    )
    chosen = compose([GaussianDP(1.0), PureDP(0.5)], accounting="renyi", orders=[2.0, 8.0])
    assert chosen.orders == (2.0, 8.0)


# --- refusals -----------------------------------------------------------------------------------------------------


def test_relations_must_agree_and_none_adopts():
    assert common_relation([PureDP(1.0), PureDP(1.0)]) is None
    for accounting in ACCOUNTING:
        total = compose([PureDP(0.1), PureDP(0.1, "replace_one")], accounting=accounting)
        assert total.relation is Relation.REPLACE_ONE
        with pytest.raises(RelationError, match=r"PureDP.*'add_remove'.*'replace_one'.*one relation"):
            compose([PureDP(0.1, "add_remove"), PureDP(0.1, "replace_one")], accounting=accounting)


@pytest.mark.parametrize(
    ("parts", "accounting", "message"),
    [
        ([PureDP(1.0), GaussianDP(1.0)], "basic", "one family.*GaussianDP, PureDP.*accounting='renyi'"),
        ([PrivacyLossDP.laplace(1.0)] * 2, "basic", "'privacy-loss'"),
        ([PureDP(1.0), GaussianDP(1.0)], "advanced", "whole curve.*to_approximate"),
        ([PureDP(1.0), PureDP(2.0)], "optimal", "equal guarantees.*privacy-loss"),
        ([ApproximateDP(1.0, 1e-6)] * 2, "renyi", "Renyi DP.*privacy-loss"),
        ([ExactDP([0.0, 1.0], [0.5, 0.5])] * 2, "renyi", "cannot produce"),
        ([ConcentratedDP(1.0)] * 2, "privacy-loss", "ConcentratedDP.*accounting='renyi'"),
        ([RenyiDP((2.0,), (1.0,)), RenyiDP((3.0,), (1.0,))], "basic", "share no order"),
        ([RenyiDP((2.0,), (1.0,)), RenyiDP((3.0,), (1.0,))], "renyi", "share no finite order"),
        ([ApproximateDP(0.1, 0.5)] * 2, "basic", "deltas add up to 1"),
        ([ApproximateDP(0.1, 0.5)] * 2, "advanced", "deltas add up to 1"),
    ],
)
def test_compositions_without_a_theorem_are_refused_with_advice(parts, accounting, message):
    with pytest.raises(AccountingError, match=message):
        compose(parts, accounting=accounting)


def test_options_of_another_accounting_are_refused():
    with pytest.raises(ParameterError, match=r"unknown accounting 'moments'.*Known: advanced, basic"):
        compose([PureDP(1.0)], accounting="moments")
    with pytest.raises(ParameterError, match="at least one"):
        compose([])
    with pytest.raises(ParameterError, match="form belongs to accounting='advanced'"):
        compose([PureDP(1.0)] * 2, form="drv10")
    with pytest.raises(ParameterError, match="unknown form 'strong'"):
        compose([PureDP(1.0)] * 2, accounting="advanced", form="strong")
    with pytest.raises(ParameterError, match="interval belongs to"):
        compose([PureDP(1.0)] * 2, accounting="renyi", interval=1e-3)
    with pytest.raises(ParameterError, match="fixed_sides belongs to accounting='privacy-loss'"):
        compose([PureDP(1.0)] * 2, fixed_sides=True)


# --- groups -------------------------------------------------------------------------------------------------------


def test_group_privacy_of_each_kind():
    assert group(PureDP(0.5, "add_remove"), 3) == PureDP(1.5, "add_remove")
    assert group(LaplaceDP(0.5), 3) == LaplaceDP(1.5)
    assert group(GaussianDP(0.5), 3) == GaussianDP(1.5)
    assert group(ConcentratedDP(0.5), 3) == ConcentratedDP(4.5)
    grouped = group(ApproximateDP(0.5, 1e-6), 3)
    assert_allclose([grouped.nominal_epsilon, grouped.nominal_delta], [1.5, 1e-6 * math.expm1(1.5) / math.expm1(0.5)])
    assert group(ApproximateDP(0.0, 0.01), 3).nominal_delta == pytest.approx(0.03)


@pytest.mark.parametrize("curve", [GaussianDP(0.7), LaplaceDP(0.7)])
def test_group_curve_is_the_curve_applied_twice(curve):
    """Dong, Roth, Su (2019), Theorem 2.14: 1 - f is applied once for each step."""
    x = np.linspace(0.0, 1.0, 21)
    twice = 1.0 - curve.tradeoff(np.clip(1.0 - curve.tradeoff(x), 0.0, 1.0))
    assert_allclose(1.0 - group(curve, 2).tradeoff(x), twice, atol=1e-12)


def test_group_privacy_of_randomized_response_chains():
    """A ring of laws, neighbours epsilon apart: three steps apart the ratio is e^(3 epsilon) at most."""
    laws = [np.array([math.exp(0.2 * k), 1.0]) for k in range(4)]
    laws = [law / law.sum() for law in laws]
    step = max(ExactDP(a, b).epsilon(0.0) for a, b in itertools.pairwise(laws))
    assert ExactDP(laws[0], laws[3]).epsilon(0.0) <= group(PureDP(step), 3).epsilon(0.0) + 1e-12


@pytest.mark.parametrize("guarantee", [RenyiDP((2.0,), (1.0,)), ExactDP([0.5, 0.5], [0.6, 0.4])])
def test_unknown_group_privacy_is_refused(guarantee):
    with pytest.raises(AccountingError, match="known for PureDP, LaplaceDP"):
        group(guarantee, 2)


def test_group_arguments_are_checked():
    with pytest.raises(ParameterError, match="size must be a whole number >= 1, but is 0"):
        group(PureDP(1.0), 0)
    with pytest.raises(AccountingError, match="groups up to about 12"):
        group(ApproximateDP(1.0, 1e-5), 14)
    assert group(ApproximateDP(1.0, 1e-5), 12).nominal_delta < 1.0
    with pytest.raises(AccountingError):
        group(ApproximateDP(1.0, 1e-5), 13)


# --- subsampling --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "q", "expected"), [(1.0, 0.01, 0.0170369), (0.5, 0.1, 0.0628547)])
def test_subsampling_known_answers(epsilon, q, expected):
    assert_allclose(subsample(PureDP(epsilon), q, sampling="poisson").epsilon(0.0), expected, atol=6e-8)


def test_subsampled_randomized_response_attains_the_formula():
    e, q = 1.0, 0.1
    law = np.array([math.exp(e), 1.0]) / (1.0 + math.exp(e))
    mixed = q * law[::-1] + (1.0 - q) * law
    attained = ExactDP(law, mixed).epsilon(0.0)
    assert_allclose(subsample(PureDP(e), q, sampling="poisson").epsilon(0.0), attained, rtol=1e-12)


def test_subsampling_sets_the_relation_and_scales_delta():
    result = subsample(ApproximateDP(1.0, 1e-5), 0.1, sampling="fixed-size")
    assert_allclose([result.nominal_epsilon, result.nominal_delta], [math.log1p(0.1 * math.expm1(1.0)), 1e-6])
    assert result.relation is Relation.REPLACE_ONE
    with pytest.raises(RelationError, match="poisson sampling amplifies guarantees under 'add_remove'"):
        subsample(PureDP(1.0, "replace_one"), 0.1, sampling="poisson")
    with pytest.raises(AccountingError, match=r"PrivacyLossDP\.gaussian"):
        subsample(GaussianDP(1.0), 0.1, sampling="poisson")
    with pytest.raises(ParameterError, match="sampling_probability"):
        subsample(PureDP(1.0), 1.5, sampling="poisson")
    with pytest.raises(ParameterError, match="unknown sampling 'shuffle'"):
        subsample(PureDP(1.0), 0.5, sampling="shuffle")


def test_optimal_composition_is_what_compose_returns():
    assert compose([LaplaceDP(0.1, "add_remove")] * 3, accounting="optimal") == OptimalComposition(
        0.1, 0.0, count=3, relation="add_remove"
    )
