"""Local mechanisms for means: messages, variances, error of the mean, refusals; and Duchi's twin without a range."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import integrate, stats
from tests.mechanisms.test_extreme_data import check

from dpassay.audit import audit
from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError
from dpassay.mechanisms.literature.local import Duchi, DuchiVector, Hybrid, Piecewise, SampledAttributes
from dpassay.mechanisms.literature.local.broken import RangeAssumed, TiesInBothSets

FALSE_ALARM = 1e-6
N = 200_000
VALUES = np.array([-1.0, -0.3, 0.0, 0.8, 1.0])
ONE_NUMBER = [kind(epsilon) for kind in (Duchi, Piecewise, Hybrid) for epsilon in (0.2, 1.0, 5.0)]
SEVERAL = [
    SampledAttributes(1.0, 5),
    SampledAttributes(6.0, 5),
    SampledAttributes(2.0, 5, kind="piecewise", n_sampled=3),
    SampledAttributes(2.0, 5, kind="duchi", n_sampled=5),
    DuchiVector(1.0, 5),
]
EVERY = [*ONE_NUMBER, *SEVERAL]
every = pytest.mark.parametrize("mechanism", EVERY, ids=str)


def check_moments(draws, mean, variance):
    """Limits of a normal law for both, at a false-alarm rate of 1e-6 for each of five numbers; along the first axis."""
    limit = stats.norm.isf(FALSE_ALARM / 10)
    assert (np.abs(draws.mean(axis=0) - mean) <= limit * np.sqrt(variance / len(draws))).all()
    kurtosis = stats.kurtosis(draws, axis=0, fisher=False)
    assert (np.abs(draws.var(axis=0) / variance - 1.0) <= limit * np.sqrt((kurtosis - 1.0) / len(draws)) + 1e-9).all()


@every
def test_messages_have_the_stated_mean_and_variance(mechanism):
    draws = getattr(mechanism, "factor", 1.0) * mechanism.release(VALUES, N, np.random.default_rng(0)).values
    check_moments(draws, VALUES, mechanism.message_variance(VALUES))
    with pytest.raises(AssertionError):
        check_moments(draws, VALUES + 0.2, mechanism.message_variance(VALUES))
    with pytest.raises(AssertionError):
        check_moments(draws, VALUES, 1.1 * mechanism.message_variance(VALUES))


@every
def test_error_of_the_mean_is_the_stated_one(mechanism):
    """Of 20 users, whose numbers are fixed; each of 20,000 rounds has its own estimate."""
    users = np.random.default_rng(1).uniform(-1.0, 1.0, size=(20, *mechanism.numbers_shape))
    estimates = mechanism.estimate_mean(mechanism.release(users, 20_000, np.random.default_rng(2)).values)
    assert estimates.shape == (20_000, *mechanism.numbers_shape)
    check_moments(estimates, users.mean(axis=0), mechanism.mean_variance(users))


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.0, 2.0, 4.0])
def test_variances_are_the_published_ones(epsilon):
    """Wang et al. (2019): lemma 1, equations 3 and 8, and corollary 2, on the largest variance."""
    h, e, x = math.exp(epsilon / 2), math.exp(epsilon), VALUES
    duchi = ((e + 1) / (e - 1)) ** 2 - x**2
    piecewise = x**2 / (h - 1) + (h + 3) / (3 * (h - 1) ** 2)
    hybrid = (h + 3) / (3 * h * (h - 1)) + (e + 1) ** 2 / (h * (e - 1) ** 2) + 0.0 * x if epsilon > 0.61 else duchi
    for kind, published in ((Duchi, duchi), (Piecewise, piecewise), (Hybrid, hybrid)):
        np.testing.assert_allclose(kind(epsilon).message_variance(x), published, rtol=1e-12)
    largest = {kind: kind(epsilon).message_variance(x).max() for kind in (Duchi, Piecewise, Hybrid)}
    assert largest[Hybrid] <= min(largest.values()) * (1 + 1e-12)
    assert (largest[Piecewise] < largest[Duchi]) == (epsilon > 1.29)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("x", [-1.0, 0.2, 1.0])
def test_density_of_piecewise_is_normalised_and_has_the_variance(epsilon, x):
    mechanism = Piecewise(epsilon)
    ends = [-mechanism.magnitude, *map(float, mechanism.interval(x)), mechanism.magnitude]

    def moment(power):
        def integrand(y):
            return y**power * math.exp(mechanism.log_density(Outputs(np.array([y])), x)[0])

        return sum(integrate.quad(integrand, low, high)[0] for low, high in pairwise(ends))

    assert moment(0) == pytest.approx(1.0, abs=1e-9)
    assert moment(1) == pytest.approx(x, abs=1e-9)
    assert moment(2) - x**2 == pytest.approx(float(mechanism.message_variance(x)), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
def test_messages_of_piecewise_have_their_law(epsilon):
    mechanism = Piecewise(epsilon)
    for x in (-1.0, 0.2):
        low, high = mechanism.interval(x)
        near, far = (math.exp(log_p) for log_p in (mechanism._log_density_near, mechanism._log_density_far))

        def cdf(y, low=low, high=high, near=near, far=far):
            inside = np.clip(y, low, high) - low
            return near * inside + far * (y + mechanism.magnitude - inside)

        values = mechanism.release(x, 50_000, np.random.default_rng(3)).values
        assert stats.kstest(values, cdf).pvalue > FALSE_ALARM


def test_hybrid_sends_each_kind_as_often_as_stated():
    assert Hybrid(0.609).p_piecewise == 0.0
    mechanism, two = Hybrid(1.0), Duchi(1.0).magnitude
    values = mechanism.release(0.5, 50_000, np.random.default_rng(4)).values
    n_duchi = np.count_nonzero(np.abs(values) == two)
    assert stats.binomtest(n_duchi, 50_000, math.exp(-0.5)).pvalue > FALSE_ALARM
    below, above = (Hybrid(0.6093524930273093 + step).message_variance(0.0) for step in (-1e-9, 1e-9))
    assert below == pytest.approx(above, rel=1e-7)  # the two largest variances are equal there


def test_each_set_of_numbers_is_sampled_equally_often():
    mechanism = SampledAttributes(6.0, 4)
    sent = mechanism.release(np.zeros(4), 30_000, np.random.default_rng(5)).values != 0.0
    assert mechanism.k == 2
    assert (sent.sum(axis=1) == 2).all()
    _, counts = np.unique(sent, axis=0, return_counts=True)
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_the_default_number_of_sampled_numbers_has_nearly_the_least_variance():
    for epsilon, d in ((1.0, 8), (6.0, 8), (12.0, 8), (20.0, 3)):
        largest = [
            SampledAttributes(epsilon, d, kind="piecewise", n_sampled=k).message_variance(1.0) for k in range(1, d + 1)
        ]
        default = SampledAttributes(epsilon, d, kind="piecewise").message_variance(1.0)
        assert default <= 1.1 * min(largest)
    everything = SampledAttributes(1.0, 8, n_sampled=8)
    assert everything.message_variance(0.0) > 5.0 * SampledAttributes(1.0, 8).message_variance(0.0)


def test_an_even_number_of_numbers_is_unbiased_too():
    """Then some vectors of signs have inner product 0 with those of the user."""
    mechanism, values = DuchiVector(1.0, 4), np.array([-1.0, -0.3, 0.8, 1.0])
    draws = mechanism.release(values, N, np.random.default_rng(6)).values
    check_moments(draws, values, mechanism.message_variance(values))


@pytest.mark.parametrize(
    ("d", "largest", "signed"), [(1, 1, 1), (2, 3, 1), (3, 4, 2), (4, 11, 3), (5, 16, 6), (6, 42, 10)]
)
def test_the_numbers_of_a_vector_of_signs_have_the_published_size(d, largest, signed):
    """(2^d + C (e^epsilon - 1)) / (binom (e^epsilon - 1)), C vectors of inner product >= 0 (Nguyen et al. 2016)."""
    for epsilon in (0.3, 2.0):
        published = (2**d + largest * math.expm1(epsilon)) / (signed * math.expm1(epsilon))
        assert DuchiVector(epsilon, d).magnitude == pytest.approx(published, rel=1e-12)
    ratio = DuchiVector(1.0, 401).magnitude / Duchi(1.0).magnitude
    assert ratio == pytest.approx(math.sqrt(math.pi * 401 / 2), rel=2e-3)
    assert DuchiVector(1.0, 1).magnitude == pytest.approx(Duchi(1.0).magnitude, rel=1e-12)


@pytest.mark.parametrize(("d", "true"), [(2, math.log(math.e + 1)), (3, 1.0), (4, math.log(math.e + 1)), (5, 1.0)])
def test_ties_in_both_sets_exceed_the_claim_for_an_even_number(d, true):
    broken, values = TiesInBothSets(1.0, d), np.linspace(-1.0, 0.8, d)
    assert broken.exact_guarantee().epsilon(0.0) == pytest.approx(true, rel=1e-12)
    draws = broken.release(values, N, np.random.default_rng(8)).values
    check_moments(draws, values, broken.message_variance(values))


def test_the_law_of_a_vector_of_signs_is_normalised_and_sampled():
    for d in (3, 4):
        mechanism, values = DuchiVector(1.5, d), np.linspace(-0.9, 1.0, d)
        table = mechanism.magnitude * np.array(list(product((-1.0, 1.0), repeat=d)))
        law = np.exp(mechanism.log_density(Outputs(table), values))
        assert law.sum() == pytest.approx(1.0, rel=1e-12)
        sent = mechanism.release(values, 50_000, np.random.default_rng(7)).values
        counts = [(sent == message).all(axis=1).sum() for message in table]
        assert stats.chisquare(counts, 50_000 * law).pvalue > FALSE_ALARM
        assert mechanism.log_density(Outputs(0.5 * table), values).max() == -np.inf


MEANS = [Duchi(1.0), Piecewise(1.0), Hybrid(1.0), SampledAttributes(1.0, 3), DuchiVector(1.0, 4)]


@pytest.mark.parametrize("mechanism", MEANS, ids=str)
def test_the_audit_comes_close_to_the_claim(mechanism):
    result = audit(mechanism, trials=40_000, seed=0)
    assert result.verdict.value == "consistent"
    assert result.bound.epsilon > 0.85


def test_the_audit_refutes_broken_mechanisms_and_not_their_twins():
    for broken in (RangeAssumed(1.0), TiesInBothSets(1.0)):
        assert audit(broken, trials=40_000, seed=0).verdict.value == "violation"
        assert audit(broken.twin(), trials=40_000, seed=0).verdict.value == "consistent"


@pytest.mark.parametrize("mechanism", [kind(0.8) for kind in (Duchi, Piecewise, Hybrid)], ids=str)
def test_every_pair_of_numbers_leaves_the_outputs_ordinary(mechanism):
    for pair in ((-1.0, 1.0), (0.0, -0.0), (5e-324, 1.0), (np.nextafter(1.0, 0.0), 1.0), (0.3, -0.3)):
        check(mechanism, Neighbours(*pair, "replace_one"))
    check(SampledAttributes(0.8, 2), Neighbours(np.array([5e-324, 1.0]), np.array([-1.0, 1.0]), "replace_one"))


@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid])
def test_numbers_outside_the_range_are_refused(kind):
    for dataset in (1.01, [0.0, -2.0], [], [[0.0]], "0", math.nan):
        with pytest.raises(ParameterError, match=r"\[-1, 1\]"):
            kind(1.0).release(dataset, 1, np.random.default_rng(0))


def test_several_numbers_have_their_shape():
    mechanism = SampledAttributes(1.0, 2)
    assert mechanism.release(np.zeros((3, 2)), 4, np.random.default_rng(0)).values.shape == (4, 3, 2)
    for dataset in (0.5, [0.5], [0.5, 1.1], [[0.5], [0.1]], np.zeros((1, 1, 2))):
        with pytest.raises(ParameterError, match=r"shape \(2,\) or shape \(n_users, 2\)"):
            mechanism.release(dataset, 1, np.random.default_rng(0))
    mechanism.bind(Neighbours([[0.0, 1.0], [0.0, 0.0]], [[1.0, 0.5], [0.0, 0.0]], "replace_one"))
    with pytest.raises(NeighboursError, match="2 users differ"):
        mechanism.bind(Neighbours([[0.0, 1.0], [0.0, 0.0]], [[1.0, 0.5], [0.0, 0.1]], "replace_one"))


@pytest.mark.parametrize("pair", [([0.0, 1.0], [1.0, 0.0]), ([0.0], [0.0, 1.0])])
def test_pairs_differ_in_one_user(pair):
    with pytest.raises(NeighboursError, match="same users"):
        Duchi(1.0).bind(Neighbours(*pair, "replace_one"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Piecewise(61.0), "epsilon must be at most 60 for Piecewise"),
        (lambda: Hybrid(61.0), "epsilon must be at most 60 for Hybrid"),
        (lambda: SampledAttributes(130.0, 2), "at most 60 for each of the 2 sampled numbers"),
        (lambda: SampledAttributes(1.0, 2, n_sampled=3), "n_sampled must be at most n_numbers = 2"),
        (lambda: SampledAttributes(1.0, 2, kind="laplace"), "unknown kind 'laplace'"),
    ],
)
def test_bad_options_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
