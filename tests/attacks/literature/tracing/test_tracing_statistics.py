"""Statistics of tracing: slow twins, closed forms, and the separation of members and non-members."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.literature.tracing import (
    ExactLikelihoodRatio,
    Homer,
    InnerProduct,
    PackedPeople,
    TracingLikelihoodRatio,
    TruncatedProduct,
    expected_z,
    power,
)
from dpassay.attacks.literature.tracing.statistics import catalogue
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.studies import ColumnMeans, ConstantFrequencies, Tardos, Uniform

FALSE_ALARM = 1e-6
N, D = 100, 1_000
RUNS = 1_200
SPREAD = Uniform(seed=5)


def slow_homer(y, q, p):
    return sum(abs(a - c) - abs(a - b) for a, b, c in zip(y, np.clip(q, 0, 1), p, strict=True))


def slow_ratio(y, q, p):
    q = np.clip(q, 0.005, 0.995)
    return sum(math.log(b / c) if a else math.log((1 - b) / (1 - c)) for a, b, c in zip(y, q, p, strict=True))


def slow_truncated(y, q, p):
    a, b, c = (2 * np.asarray(x, dtype=float) - 1 for x in (y, q, p))
    return float(((a - c) * np.clip(b - c, -0.2, 0.2)).sum())


def slow_product(weigh):
    def slow(y, q, p):
        w = [weigh(c * (1 - c)) for c in p]
        top = sum(u * (a - c) * (b - c) for u, a, b, c in zip(w, y, q, p, strict=True))
        return top / math.sqrt(sum(u * u * c * (1 - c) * (b - c) ** 2 for u, b, c in zip(w, q, p, strict=True)))

    return slow


TWINS = {
    "homer": (Homer(), slow_homer),
    "likelihood-ratio": (TracingLikelihoodRatio(), slow_ratio),
    "truncated-product": (TruncatedProduct(), slow_truncated),
    "uniform": (InnerProduct(), slow_product(lambda v: 1.0)),
    "fingerprinting": (InnerProduct(weights="fingerprinting"), slow_product(lambda v: 1 / math.sqrt(v))),
    "best": (
        InnerProduct(weights="best", n_records=50, standard_deviation=0.1),
        slow_product(lambda v: 1 / (v / 50 + 0.01)),
    ),
}


def example(runs=4, people=9, d=23):
    rng = np.random.default_rng(3)
    p = rng.uniform(0.1, 0.9, d)
    return p + 0.3 * rng.standard_normal((runs, d)), rng.integers(0, 2, (people, d)), p


@pytest.mark.parametrize("name", list(TWINS))
def test_scores_are_those_of_a_loop_for_all_forms_of_arguments(name):
    statistic, slow = TWINS[name]
    released, people, p = example()
    expected = np.array([[slow(y, q, p) for y in people] for q in released])
    np.testing.assert_allclose(statistic.score(released, people, p), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(statistic.score(released[1], people, p), expected[1], rtol=1e-9, atol=1e-12)
    packed = PackedPeople.of(people)
    np.testing.assert_allclose(statistic.score(released, packed, p), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(statistic.score(released[1], packed, p), expected[1], rtol=1e-9, atol=1e-12)


def test_packed_people_need_one_bit_per_attribute_also_in_blocks():
    people = np.random.default_rng(0).integers(0, 2, (37, 1_003))
    whole = PackedPeople.of(people)
    parts = PackedPeople.of_blocks(people[i : i + 10] for i in range(0, 37, 10))
    assert np.array_equal(whole.bits, parts.bits)
    assert len(whole) == 37
    assert whole.bits.nbytes == 37 * 126
    slopes = np.random.default_rng(1).normal(size=1_003)
    np.testing.assert_allclose(whole.products(slopes), people @ slopes, rtol=1e-10)


@pytest.mark.parametrize("kind", [{"noise": "none"}, {"noise": "none", "decimals": 1}, {"scale": 0.05}])
def test_exact_ratio_is_that_of_the_laws_of_the_mechanism(kind):
    means = ColumnMeans(20, 12, population=Uniform(seed=1), **kind)
    pair = means.worst_case()
    outputs = means.release(pair.d1, 6, np.random.default_rng(0))
    seen = ExactLikelihoodRatio(means).score(outputs.values, pair.d1.person[None], pair.d1.frequencies)[:, 0]
    expected = means.log_density(outputs, pair.d1) - means.log_density(outputs, pair.d0)
    np.testing.assert_allclose(seen, expected, rtol=1e-9, atol=1e-9)


def test_standardised_homer_is_the_uniform_inner_product():
    released, people, p = example()
    inside = np.clip(released, 0.0, 1.0)
    both = [s.linear(inside, p).standardised(p).scores(people) for s in (Homer(), InnerProduct())]
    np.testing.assert_allclose(*both, atol=1e-12)


def drawn(population, standard_deviation, inside, rng):
    """People and the releases of studies that they are in, or not: `(RUNS, D)` each; whom the study has besides is new
    for each."""
    p = population.frequencies(D)
    people = population.people(RUNS, D, rng)
    counts = rng.binomial(N - inside, p, size=(RUNS, D)) + inside * people
    return people, counts / N + standard_deviation * rng.standard_normal((RUNS, D))


@pytest.fixture(scope="module")
def scored():
    """Scores of non-members and members by population, noise and statistic."""
    results = {}
    for name, population in (("half", ConstantFrequencies()), ("spread", SPREAD)):
        p = population.frequencies(D)
        for s in (0.0, 0.05):
            rng = np.random.default_rng([7, int(100 * s)])
            statistics = {
                "homer": Homer(),
                "uniform": InnerProduct(),
                "best": InnerProduct(weights="best", n_records=N, standard_deviation=s),
                "ratio": TracingLikelihoodRatio(),
            }
            sides = [drawn(population, s, inside, rng) for inside in (0, 1)]
            for key in TABLE[name, s]:
                lines = [statistics[key].linear(q, p) for _, q in sides]
                results[name, s, key] = [
                    np.einsum("rd,rd->r", line.slopes, y) + line.intercept
                    for line, (y, _) in zip(lines, sides, strict=True)
                ]
    return results


TABLE = {
    ("half", 0.0): {"homer": 3.162, "uniform": 3.162, "best": 3.162, "ratio": 3.162},
    ("half", 0.05): {"homer": 2.236, "uniform": 2.236, "best": 2.236},
    ("spread", 0.0): {"homer": 2.68, "uniform": 3.00, "best": 3.16, "ratio": 3.16},
    ("spread", 0.05): {"homer": 1.76, "uniform": 2.01, "best": 2.03},
}
KNOWN = {(*case, statistic): z for case, row in TABLE.items() for statistic, z in row.items()}
"""For n = 100, d = 1,000, frequencies 1/2 or uniform on (0.05, 0.95), by the formulas of the literature."""


def z_of(out, in_):
    return (in_.mean() - out.mean()) / out.std()


@pytest.mark.parametrize("key", list(KNOWN), ids=str)
def test_separation_of_members_is_that_of_the_formula(scored, key):
    population, s, statistic = key
    p = (ConstantFrequencies() if population == "half" else SPREAD).frequencies(D)
    if statistic == "homer":
        v = p * (1.0 - p)  # 2 sum v / n / sqrt(sum (v / n + s^2)) of the statistic inside [0, 1]
        formula = 2.0 * v.sum() / N / math.sqrt((v / N + s**2).sum())
    else:
        formula = expected_z(p, N, s, weights=1.0 if statistic == "uniform" else None)
    assert formula == pytest.approx(KNOWN[key], rel=0.01)  # one draw of the frequencies against their mean
    error = stats.norm.isf(FALSE_ALARM) * math.sqrt(2.0 / RUNS + formula**2 / (2.0 * RUNS))  # of normal scores
    assert z_of(*scored[key]) == pytest.approx(formula, abs=error)


@pytest.mark.parametrize("key", [key for key in KNOWN if key[2] in ("uniform", "best")], ids=str)
def test_true_positive_rate_at_fpr_1e_3_is_that_of_the_formula(scored, key):
    """Of the normalised product the null is standard normal, and the threshold 3.09 whatever the release."""
    p = (ConstantFrequencies() if key[0] == "half" else SPREAD).frequencies(D)
    expected = power(expected_z(p, N, key[1], weights=1.0 if key[2] == "uniform" else None), 0.001)
    out, in_ = scored[key]
    threshold = stats.norm.isf(0.001)
    assert abs((in_ > threshold).mean() - expected) < 0.02 + stats.norm.isf(FALSE_ALARM) * math.sqrt(0.25 / RUNS)
    assert (out > threshold).sum() <= stats.binom.isf(FALSE_ALARM, RUNS, 0.001)


@pytest.mark.parametrize("key", [key for key in KNOWN if key[2] in ("uniform", "best")], ids=str)
def test_normalised_products_of_non_members_are_standard_normal(scored, key):
    out = scored[key][0]
    assert stats.kstest(out, "norm").pvalue > FALSE_ALARM
    seen = np.bincount(np.digitize(out, stats.norm.ppf(np.arange(1, 20) / 20)), minlength=20)
    assert stats.chisquare(seen).pvalue > FALSE_ALARM


def test_best_weights_attain_the_closed_form_and_are_best():
    for population in (ConstantFrequencies(), SPREAD, Tardos()):
        p = population.frequencies(500)
        v = p * (1 - p)
        for s in (0.0, 0.02, 0.3):
            best = expected_z(p, N, s)
            assert best == pytest.approx(math.sqrt((v / (N * N * (v / N + s * s))).sum()), rel=1e-12)
            for w in (np.ones(500), 1 / np.sqrt(v), v):
                assert expected_z(p, N, s, weights=w) <= best * (1 + 1e-12)
    assert expected_z(SPREAD.frequencies(500), N) == pytest.approx(math.sqrt(500 / N), rel=1e-12)


def test_non_members_hide_a_person_at_least_as_much_as_noise():
    """z <= mu / 2, nearly attained at frequencies of 1/2 under much noise."""
    for population in (ConstantFrequencies(), SPREAD, Tardos()):
        for d, n, s in ((50, 10, 0.1), (2_000, 100, 0.01), (500, 1_000, 1.0)):
            mu = ColumnMeans(n, d, scale=s).guarantee().mu
            assert expected_z(population.frequencies(d), n, s) <= 0.5 * mu
    assert expected_z(np.full(500, 0.5), 100, 5.0) == pytest.approx(
        0.5 * ColumnMeans(100, 500, scale=5.0).guarantee().mu, 1e-4
    )


def test_the_exact_ratio_beats_the_plain_one_under_noise():
    """At one false alarm in twenty, under noise, frequencies near 0 and 1; members that one finds and the other does
    not, by the sign test."""
    n, d, s, runs = 20, 300, 0.1, 1_000
    population, rng = Tardos(coalition=10, seed=1), np.random.default_rng(2)
    p, sides, results = population.frequencies(d), [], []
    for inside in (0, 1):
        y = population.people(runs, d, rng)
        counts = rng.binomial(n - inside, p, size=(runs, d)) + inside * y
        sides.append((y, counts / n + s * rng.standard_normal((runs, d))))
    for statistic in (ExactLikelihoodRatio(ColumnMeans(n, d, scale=s)), TracingLikelihoodRatio()):
        lines = [statistic.linear(q, p) for _, q in sides]
        out, in_ = (
            np.einsum("rd,rd->r", line.slopes, y) + line.intercept for line, (y, _) in zip(lines, sides, strict=True)
        )
        results.append(in_ > np.quantile(out, 0.95))
    more, fewer = int((results[0] & ~results[1]).sum()), int((results[1] & ~results[0]).sum())
    assert stats.binom.sf(more - 1, more + fewer, 0.5) < FALSE_ALARM


@pytest.mark.parametrize("name", list(catalogue))
def test_constant_columns_have_no_effect(name):
    built = catalogue.build(name, **({"means": ColumnMeans(4, 4, scale=0.1)} if name.startswith("exact") else {}))
    with_constants = built.linear([0.4, 0.7, 0.3, 0.9], [0.0, 0.5, 1.0, 0.4])
    assert with_constants.slopes[[0, 2]].tolist() == [0.0, 0.0]
    if not name.startswith("exact"):
        without = built.linear([0.7, 0.9], [0.5, 0.4])
        assert with_constants.slopes[[1, 3]].tolist() == without.slopes.tolist()
        assert with_constants.intercept == pytest.approx(float(without.intercept))


@pytest.mark.parametrize("name", list(catalogue))
@pytest.mark.parametrize(
    ("released", "people", "p", "argument"),
    [
        ([0.5, 0.5], [[0, 1]], [0.0, 1.0], "frequencies"),
        ([0.5, 0.5], [[0, 1]], [0.5, 1.5], "frequencies"),
        ([0.5, 0.5], [[0, 1]], [0.5], "released"),
        ([0.5, math.nan], [[0, 1]], [0.5, 0.5], "released"),
        ([0.5, 0.5], [[0, 1, 1]], [0.5, 0.5], "people"),
        ([0.5, 0.5], [[0, 2]], [0.5, 0.5], "people"),
        ([0.5, 0.5], [0, 1], [0.5, 0.5], "people"),
    ],
)
def test_inconsistent_arguments_are_refused(name, released, people, p, argument):
    built = catalogue.build(name, **({"means": ColumnMeans(4, 2, scale=0.1)} if name.startswith("exact") else {}))
    with pytest.raises(ParameterError) as caught:
        built.score(released, people, p)
    assert argument in np.ravel(caught.value.argument)


def test_best_weights_need_the_number_of_people():
    with pytest.raises(ParameterError, match="give n_records"):
        InnerProduct(weights="best")
