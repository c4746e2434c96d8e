"""Mechanisms that are made of others: the theorems, their conditions, and what is seen where one is missing."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms import Gaussian, Geometric, Laplace, Neighbours, Outputs
from dpassay.mechanisms.accounting import ApproximateDP, ExactDP, GaussianDP, PureDP, subsample
from dpassay.mechanisms.combinators import (
    Parallel,
    PostProcessed,
    Repeated,
    Subsampled,
    SubsampledDP,
    UserLevel,
    check_users,
    remove_user,
    replace_user,
    simplified_epsilon,
)
from dpassay.mechanisms.combinators.broken import VIOLATIONS, BrokenParallel, FixedSample
from dpassay.mechanisms.combinators.subsampled import MAX_SIMPLE_EPSILON
from dpassay.mechanisms.core import NeighboursError, ParameterError, RelationError
from dpassay.mechanisms.literature.statistics import NaiveBayesCounts
from dpassay.mechanisms.noise.discrete_gaussian import DiscreteGaussian
from dpassay.mechanisms.noise.queries import Count, Histogram, Sum

FALSE_ALARM = 1e-6


# --- samples ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "rate", "known"), [(1.0, 0.01, 0.0170369), (0.5, 0.1, 0.0628547)])
def test_amplified_epsilon_has_the_known_values(epsilon, rate, known):
    mechanism = Subsampled(Laplace(epsilon, query=Count()), rate=rate)
    assert mechanism.guarantee().epsilon(0.0) == pytest.approx(known, abs=5e-8)
    assert mechanism.exact_guarantee().epsilon(0.0) == pytest.approx(known, abs=5e-8)


@pytest.mark.parametrize("part", [PureDP(1.3), ApproximateDP(0.7, 1e-3)])
def test_amplified_curve_passes_through_the_point_of_the_theorem(part):
    curve, point = SubsampledDP(part, 0.2), subsample(part, 0.2, sampling="poisson")
    delta = point.default_delta
    assert curve.epsilon(delta) == pytest.approx(point.epsilon(delta), rel=1e-12)
    assert curve.default_delta == pytest.approx(delta)


def test_amplified_curve_is_that_of_the_mixture_for_symmetric_laws():
    p0, p1 = np.array([0.1, 0.3, 0.6]), np.array([0.6, 0.3, 0.1])
    t = np.linspace(0.0, 1.5, 20)
    for rate in (0.05, 0.5, 1.0):
        mixed = ExactDP(p0, (1.0 - rate) * p0 + rate * p1)
        np.testing.assert_allclose(SubsampledDP(ExactDP(p0, p1), rate).delta(t), mixed.delta(t), atol=1e-12)


def test_rate_one_is_the_mechanism_itself_and_far_tails_do_not_overflow():
    t = np.array([0.0, 0.5, 3.0])
    np.testing.assert_allclose(SubsampledDP(GaussianDP(1.0), 1.0).delta(t), GaussianDP(1.0).delta(t), rtol=1e-9)
    assert SubsampledDP(PureDP(800.0), 0.1).epsilon(0.0) == pytest.approx(800.0 + math.log(0.1))
    assert SubsampledDP(PureDP(1.0), 0.1).epsilon([0.2]).tolist() == [0.0]


def test_simplified_form_bounds_the_theorem_within_its_range_only():
    """2 q epsilon, up to the root of e^x - 1 = 2 x; at q = 1 it meets the theorem there."""
    assert simplified_epsilon(0.7, 0.03) == pytest.approx(0.042, rel=1e-12)
    assert 0.0 < 1.2564312 - MAX_SIMPLE_EPSILON < 1e-6
    assert simplified_epsilon(MAX_SIMPLE_EPSILON, 1.0) == pytest.approx(math.expm1(MAX_SIMPLE_EPSILON), rel=1e-6)
    for epsilon in np.linspace(0.01, MAX_SIMPLE_EPSILON, 30):
        for rate in (1e-4, 0.1, 1.0):
            assert math.log1p(rate * math.expm1(epsilon)) <= simplified_epsilon(float(epsilon), rate)
    assert math.expm1(MAX_SIMPLE_EPSILON + 1e-5) > 2.0 * (MAX_SIMPLE_EPSILON + 1e-5)
    with pytest.raises(ParameterError, match="at most"):
        simplified_epsilon(1.26, 0.1)


@pytest.mark.parametrize("sampling", ["poisson", "fixed-size"])
def test_samples_are_those_of_a_slow_twin(sampling):
    """One run at a time, records drawn one by one; the base shows how many of each kind there are."""
    data, size = np.array([1.0, 1.0, 2.0, 3.0]), 20_000
    relation = "add_remove" if sampling == "poisson" else "replace_one"
    base = Geometric(60.0, sensitivity=2, query=Histogram(categories=(1, 2, 3)), n_queries=3, relation=relation)
    mechanism = Subsampled(base, rate=0.5, sampling=sampling, n_records=4)
    values = mechanism.release(data, size, np.random.default_rng(0)).values
    seen: dict[tuple[int, ...], int] = {}
    for row in map(tuple, values.tolist()):
        seen[row] = seen.get(row, 0) + 1
    rng, twin = np.random.default_rng(1), {}
    for _ in range(size):
        taken = data[rng.random(4) < 0.5] if sampling == "poisson" else rng.choice(data, 2, replace=False)
        row = tuple(int((taken == kind).sum()) for kind in (1, 2, 3))
        twin[row] = twin.get(row, 0) + 1
    outcomes = sorted(set(seen) | set(twin))
    table = np.array([[counts.get(outcome, 0) for outcome in outcomes] for counts in (seen, twin)])
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM
    assert len(outcomes) == (12 if sampling == "poisson" else 4)


def test_density_is_the_mixture_over_samples():
    mechanism = Subsampled(Laplace(1.0, query=Sum()), rate=0.25)
    outputs = Outputs(np.array([-1.0, 0.3, 2.0]))
    laplace = stats.laplace
    by_hand = np.log(0.5625 * laplace(0).pdf(outputs.values) + 0.375 * laplace(1).pdf(outputs.values)
                     + 0.0625 * laplace(2).pdf(outputs.values))  # fmt: skip
    np.testing.assert_allclose(mechanism.log_density(outputs, np.ones(2)), by_hand)
    with pytest.raises(ParameterError, match="distinct samples"):
        mechanism.log_density(outputs, np.arange(20.0))


def test_a_sample_that_is_not_random_is_not_amplified():
    broken = FixedSample(1.0)
    assert broken.exact_guarantee().epsilon(0.0) == 1.0
    assert broken.twin().exact_guarantee().epsilon(0.0) == pytest.approx(broken.guarantee().epsilon(0.0))


# --- parts ------------------------------------------------------------------------------------------------------------


def test_each_mechanism_sees_its_part_alone():
    mechanism = Parallel(
        [Geometric(60.0, query=Count()), Geometric(60.0, query=Count()), Geometric(60.0, query=Count())]
    )
    values = mechanism.release([[0, 1.0], [2, 5.0], [2, 5.0]], 50, np.random.default_rng(0)).values
    np.testing.assert_array_equal(values, np.tile([1, 0, 2], (50, 1)))


def test_claim_is_the_worst_part_at_every_delta():
    parts = [Laplace(0.5, query=Count()), Gaussian(noise_multiplier=1.0, query=Count())]
    claim = Parallel(parts).guarantee()
    for delta in (0.0, 1e-6, 0.05, 0.3):
        assert claim.epsilon(delta) == max(part.guarantee().epsilon(delta) for part in parts)
    np.testing.assert_allclose(
        claim.tradeoff([0.1, 0.5]), np.min([p.guarantee().tradeoff([0.1, 0.5]) for p in parts], axis=0)
    )


@pytest.mark.parametrize("bases", [(0.26, 0.33), (0.33, 0.26), (0.26, 0.260_000_1)])
def test_claims_that_print_alike_are_not_one(bases):
    """What prints as `ExactDP(n_outputs=12)`, or as GaussianDP(mu=3.84615), is not yet the same curve."""
    for kind in (DiscreteGaussian, Gaussian):
        parts = [kind(noise_multiplier=noise, query=Count()) for noise in bases]
        claim = Parallel(parts).guarantee()
        each = np.array([part.guarantee().delta([0.0, 1.0, 4.0]) for part in parts])
        np.testing.assert_array_equal(claim.delta([0.0, 1.0, 4.0]), each.max(axis=0))


def test_parts_of_one_claim_have_that_claim():
    assert Parallel([Laplace(0.7, query=Count())] * 3).guarantee() == Laplace(0.7, query=Count()).guarantee()


def test_parts_of_records_that_are_replaced_are_refused():
    with pytest.raises(RelationError, match="add_remove"):
        Parallel([Laplace(1.0, query=Count(), relation="replace_one")])


@pytest.mark.parametrize("violation", VIOLATIONS)
def test_a_missing_condition_breaks_the_claim_and_the_twin_keeps_it(violation):
    broken = BrokenParallel(0.5, violation=violation)
    truths = {"overlap": 1.0, "order": 3.0, "shared-noise": math.inf, "forgotten-delta": math.inf}
    assert broken.exact_guarantee().epsilon(0.0) == pytest.approx(truths[violation])
    twin = broken.twin()
    assert twin.exact_guarantee().epsilon(0.0) <= 0.5 * (1 + 1e-12)
    data, outputs = broken.worst_case().d1, Outputs(np.random.default_rng(0).normal(size=(20, 2)))
    counts = Parallel([Laplace(0.5, query=Sum()), Laplace(0.5, query=Sum())])
    np.testing.assert_allclose(twin.log_density(outputs, data), counts.log_density(outputs, data))


# --- post-processing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["round", "sign", "non-negative"])
def test_named_functions_of_outputs(function):
    base, data = Laplace(1.0), 0.3
    raw = base.release(data, 200, np.random.default_rng(0)).values
    twin = {"round": [float(round(x)) for x in raw], "sign": [math.copysign(1, x) for x in raw],
            "non-negative": [max(x, 0.0) for x in raw]}[function]  # fmt: skip
    processed = PostProcessed(base, function).release(data, 200, np.random.default_rng(0)).values
    np.testing.assert_array_equal(processed, twin)


def test_largest_entry_and_functions_of_ones_own():
    base = Laplace(1.0, n_queries=3)
    values = PostProcessed(base, "argmax").release([0.0, 90.0, 0.0], 5, np.random.default_rng(0)).values
    assert values.tolist() == [1] * 5
    halves = PostProcessed(base, lambda values: values[:, 0] / 2)
    assert halves.release([0.0, 1.0, 2.0], 4, np.random.default_rng(0)).values.shape == (4,)
    with pytest.raises(ParameterError, match="one row per output"):
        PostProcessed(base, np.sum).release([0.0, 1.0, 2.0], 4, np.random.default_rng(0))


def test_exceptional_outputs_stay_what_they_are():
    from dpassay.mechanisms.literature.statistics.broken.clipping import NaNSurvivesClipping

    outputs = PostProcessed(NaNSurvivesClipping()).release([1.0, math.nan], 3, np.random.default_rng(0))
    assert outputs.events.tolist() == ["nan"] * 3


# --- naive Bayes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [1, 2, 5, 20])
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_naive_bayes_by_composition_has_the_same_noise(n_features, relation):
    mechanism = NaiveBayesCounts(0.1, n_values=(3,) * n_features, relation=relation)
    moved = n_features * (2 if relation == "replace_one" else 1)
    assert mechanism.scale == pytest.approx(moved / 0.1)
    composed = Repeated(Laplace(0.1 / moved, relation=relation), moved)
    assert composed.base.scale == pytest.approx(mechanism.scale)
    assert composed.guarantee().epsilon(0.0) == pytest.approx(0.1)


def test_counts_of_naive_bayes_move_by_what_the_noise_is_for():
    rng = np.random.default_rng(0)
    for relation, moved in (("add_remove", 3), ("replace_one", 6)):
        mechanism = NaiveBayesCounts(1.0, n_values=(2, 3, 2), n_classes=3, relation=relation)
        pair = mechanism.worst_case()
        largest = np.abs(mechanism.answers(pair.d1) - mechanism.answers(pair.d0)).sum()
        records = rng.integers(0, [3, 2, 3, 2], (30, 4))
        before = [records[0], records[1]] if relation == "replace_one" else [np.zeros((0, 4), dtype=int)]
        others = [
            mechanism.answers(np.vstack([rest, new])) - mechanism.answers(np.vstack([rest, old]))
            for rest, new, old in product((records[:5], records[5:9]), records, before)
        ]
        assert largest == moved
        assert 0 < max(np.abs(move).sum() for move in others) <= moved
        noise = mechanism.release(pair.d0, 20_000, rng).values - mechanism.answers(pair.d0).ravel()
        assert stats.kstest(noise.ravel()[:50_000], stats.laplace(scale=moved / 1.0).cdf).pvalue > 1e-6


def test_counts_and_classes_are_those_of_loops():
    mechanism = NaiveBayesCounts(1.0, n_values=(2, 3))
    records = np.random.default_rng(1).integers(0, [2, 2, 3], (60, 3))
    tables = [[[sum(1 for r in records if r[0] == t and r[j + 1] == v) for v in range(n)] for t in range(2)]
              for j, n in enumerate((2, 3))]  # fmt: skip
    np.testing.assert_array_equal(mechanism.answers(records), np.concatenate([np.ravel(table) for table in tables]))
    for x in [(a, b) for a in range(2) for b in range(3)]:
        scores = [
            sum(tables[0][t]) * math.prod(tables[j][t][x[j]] / sum(tables[j][t]) for j in range(2)) for t in (0, 1)
        ]
        assert mechanism.classify(mechanism.answers(records), [x])[0] == int(np.argmax(scores))


# --- users ------------------------------------------------------------------------------------------------------------


def test_records_beyond_the_bound_are_dropped_in_their_order():
    rng = np.random.default_rng(0)
    users, values = rng.integers(0, 6, 40), rng.normal(size=40)
    for most in (1, 3, 50):
        seen, kept = {}, []
        for user, value in zip(users.tolist(), values.tolist(), strict=True):
            seen[user] = seen.get(user, 0) + 1
            if seen[user] <= most:
                kept.append(value)
        assert UserLevel(most_records=most).bounded((users, values)).tolist() == kept
    assert UserLevel().bounded((users[:0], values[:0])).tolist() == []


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_claim_for_a_user_is_that_of_a_group_of_records(relation):
    for base, known in (
        (Laplace(0.4, query=Sum(), relation=relation), 1.2),
        (Gaussian(noise_multiplier=2.0, query=Sum(), relation=relation), GaussianDP(1.5).epsilon(1e-5)),
    ):
        mechanism = UserLevel(base)
        delta = 1e-5 if isinstance(base, Gaussian) else 0.0
        assert mechanism.guarantee().epsilon(delta) == pytest.approx(known)
        assert mechanism.exact_guarantee().epsilon(delta) == pytest.approx(known)
    assert UserLevel(Laplace(0.4, query=Count(), relation="add_remove"), record=9.0).exact_guarantee() is not None


def test_pairs_of_users_differ_in_one_user_with_all_records():
    data = (np.array([4, 5, 4, 6]), np.array([0.1, 0.2, 0.3, 0.4]))
    check_users(remove_user(data, 4))
    check_users(replace_user(data, 4, [0.9, 0.3]))
    one_record = Neighbours((data[0][1:], data[1][1:]), data, "add_remove")
    two_users = Neighbours((data[0][:1], data[1][:1]), data, "add_remove")
    changed_twice = Neighbours((data[0], data[1] + [1, 1, 0, 0]), data, "replace_one")
    for pair in (one_record, two_users, changed_twice, Neighbours(data, data, "replace_one")):
        with pytest.raises(NeighboursError, match="one user"):
            UserLevel(Laplace(1.0, query=Sum(), relation=pair.relation)).bind(pair)


class Uncapped(UserLevel):
    """Bug: the records of a user are not bounded."""

    def bounded(self, dataset):
        return np.asarray(dataset[1])


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_worst_case_has_more_records_than_are_used(relation):
    """A missing cap shows in the audit of the default pair."""
    losses = []
    for kind in (UserLevel, Uncapped):
        mechanism = kind(Laplace(0.5, query=Sum(), relation=relation), most_records=2)
        pair, outputs = mechanism.worst_case(), Outputs(np.array([-9.0, 9.0]))
        check_users(pair)
        ratios = mechanism.log_density(outputs, pair.d1) - mechanism.log_density(outputs, pair.d0)
        losses.append(np.abs(ratios).max())
    assert losses == pytest.approx([mechanism.guarantee().epsilon(0.0), 1.5])


@pytest.mark.parametrize("dtype", [float, object])
def test_missing_values_of_other_users_do_not_differ(dtype):
    users, values = np.array([4, 5, 4, 6]), np.array([0.1, np.nan, 0.3, np.nan], dtype=dtype)
    check_users(remove_user((users, values), 4))
    check_users(replace_user((users, values), 4, [0.9, 0.3]))
    check_users(replace_user((users, values), 5, [0.9]))
    mechanism = UserLevel()
    assert mechanism.bind(remove_user((users, values), 5)) is mechanism
    with pytest.raises(NeighboursError, match="one user"):
        check_users(Neighbours((users, values), (users, values.copy()), "replace_one"))


@pytest.mark.parametrize("users", [[1.0, np.nan], ["a", None], np.array(["2026", "NaT"], "M8[Y]")])
def test_records_without_an_owner_are_refused(users):
    with pytest.raises(ParameterError, match="users must have a name for each record, but entry 1 is missing"):
        UserLevel().bounded((np.asarray(users), np.ones(2)))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: UserLevel().bounded((np.array([1, "a"], dtype=object), np.ones(2))), "one type"),
        (lambda: Subsampled(Laplace(1.0, relation="replace_one")), "poisson sampling amplifies"),
        (lambda: Subsampled(rate=1.5), "rate must"),
        (lambda: Subsampled(1.0), "base must be a Mechanism"),
        (
            lambda: Subsampled(Laplace(1.0, relation="replace_one"), rate=0.3, sampling="fixed-size", n_records=4),
            "whole number",
        ),
        (lambda: Parallel([]), "bases must be"),
        (lambda: Parallel().parts([[2, 1.0]]), "part numbers from 0 to 1"),
        (lambda: FixedSample(n_records=15), "multiple of 10"),
        (lambda: PostProcessed(Laplace(1.0), "cube"), "function"),
        (lambda: PostProcessed(Laplace(1.0), 3), "function must be"),
        (lambda: PostProcessed("laplace"), "base must be a Mechanism"),
        (lambda: NaiveBayesCounts(n_values=()), "at least one feature"),
        (lambda: UserLevel(Laplace(1.0, relation="zero_out")), "zero_out"),
        (lambda: UserLevel().bounded([1.0]), "pair"),
        (lambda: UserLevel().bounded((np.zeros(2), np.zeros(3))), "the same length"),
        (lambda: remove_user((np.zeros(2), np.zeros(2)), 3), "owns none"),
        (lambda: replace_user((np.zeros(2), np.zeros(2)), 0, [1.0]), "each of the 2 records"),
        (lambda: NaiveBayesCounts().answers([[0, 0, 3]]), "whole numbers"),
    ],
)
def test_bad_options_and_data_are_refused(build, message):
    with pytest.raises((ParameterError, RelationError), match=message):
        build()


def test_pairs_are_checked_by_their_records():
    for mechanism in (Parallel(), BrokenParallel(), NaiveBayesCounts()):
        width = 3 if isinstance(mechanism, NaiveBayesCounts) else 2
        with pytest.raises(Exception, match="add_remove"):
            mechanism.bind(Neighbours(np.zeros((1, width)), np.zeros((4, width)), "add_remove"))
