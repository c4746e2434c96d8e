"""Means of columns: what is released, its law, its claim, and the pairs that it takes."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats
from tests.mechanisms.noise.frequencies import p_value_of

from dpassay.mechanisms import Neighbours, Outputs
from dpassay.mechanisms.core import NeighboursError, ParameterError
from dpassay.mechanisms.literature.studies import ColumnMeans, ConstantFrequencies, Genomes, Study, Tardos, Uniform

FALSE_ALARM = 1e-6
KINDS = {
    "exact": {"noise": "none"},
    "rounded": {"noise": "none", "decimals": 1},
    "gaussian": {"scale": 0.1},
    "laplace": {"scale": 0.1, "noise": "laplace"},
    "rounded gaussian": {"scale": 0.1, "decimals": 1},
    "rounded laplace": {"scale": 0.1, "noise": "laplace", "decimals": 1},
}
every_kind = pytest.mark.parametrize("kind", list(KINDS))
P = np.array([0.5, 0.2, 0.9])
STUDY = Study(P, [1, 0, 1])


def means_of(kind, n=6, d=3, **options):
    return ColumnMeans(n, d, **KINDS[kind], **options)


def slow_law(kind, y, others, p, value, n=6):
    """Density or probability of a mean, worked out count by count."""
    noise = {"gaussian": stats.norm(scale=0.1), "laplace": stats.laplace(scale=0.1)}.get(kind.split()[-1])
    total = 0.0
    for k in range(others + 1):
        centre, mass = (k + y) / n, stats.binom.pmf(k, others, p)
        if noise is None:
            total += mass * (value == (round(centre, 1) if kind == "rounded" else centre))
        elif kind.startswith("rounded"):
            total += mass * (noise.cdf(value + 0.05 - centre) - noise.cdf(value - 0.05 - centre))
        else:
            total += mass * noise.pdf(value - centre)
    return total


@every_kind
def test_law_of_a_study_is_the_mixture_over_non_members(kind):
    means = means_of(kind)
    for study, others in ((STUDY, 5), (Study(P), 6)):
        person = np.zeros(3, dtype=int) if study.person is None else study.person
        values = means.release(study, 7, np.random.default_rng(0)).values
        densities = np.exp(means.column_log_density(values, study))
        expected = [[slow_law(kind, y, others, p, v) for y, p, v in zip(person, P, row, strict=True)] for row in values]
        np.testing.assert_allclose(densities, expected, rtol=1e-9)
        whole = means.log_density(Outputs(values), study)
        np.testing.assert_allclose(whole, np.log(expected).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("scale", [0.005, 0.05, 0.4])
def test_the_polynomial_is_the_plain_sum_also_far_out(scale):
    means = ColumnMeans(60, 3, scale=scale)
    masses = means._log_masses(STUDY, slice(None))
    values = np.random.default_rng(0).uniform(-1.0, 2.0, (200, 3))
    for part in (values, np.clip(values, 0.3, 0.6)):
        np.testing.assert_allclose(means._log_polynomial(part, masses), means._log_sum(part, masses), rtol=1e-10)


@every_kind
def test_runs_of_a_study_follow_its_law(kind):
    means, size = means_of(kind), 20_000
    values = means.release(STUDY, size, np.random.default_rng(1)).values
    noise = {"gaussian": stats.norm(scale=0.1), "laplace": stats.laplace(scale=0.1)}.get(kind)
    for j, (y, p) in enumerate(zip(STUDY.person, P, strict=True)):
        if noise is not None:
            centres, masses = (np.arange(6) + y) / 6, stats.binom(5, p).pmf(np.arange(6))
            uniform = noise.cdf(values[:, j, None] - centres) @ masses
            assert stats.kstest(uniform, "uniform").pvalue > FALSE_ALARM
            continue
        outputs = np.unique(values[:, j])
        masses = np.array([slow_law(kind, int(y), 5, p, v) for v in outputs])
        assert p_value_of(values[:, j], outputs, masses) > FALSE_ALARM


@every_kind
def test_values_that_cannot_be_published_are_impossible_only_without_noise(kind):
    values = np.array([[0.123, 0.5, 0.5], [-3.0, 0.5, 0.5]])
    possible = np.isfinite(means_of(kind).column_log_density(values, STUDY))[:, 0]
    assert possible.tolist() == [kind not in ("exact", "rounded")] * 2


def test_claims_are_those_of_the_sensitivities():
    for n, d, s in product((10, 100), (1, 50), (0.01, 0.2)):
        assert ColumnMeans(n, d, scale=s).guarantee().mu == pytest.approx(math.sqrt(d) / (n * s))
        laplace = ColumnMeans(n, d, scale=s, noise="laplace")
        assert laplace.guarantee().epsilon(0.0) == pytest.approx(d / (n * s))
    assert ColumnMeans(100, 50, noise_multiplier=2.0).guarantee().mu == 0.5
    assert ColumnMeans(100, 50, noise_multiplier=2.0, noise="laplace").guarantee().epsilon(0.0) == 0.5


@pytest.mark.parametrize("decimals", [None, 1, 2])
def test_means_without_noise_claim_nothing_and_leak_everything(decimals):
    means = ColumnMeans(10, 3, noise="none", decimals=decimals)
    assert means.guarantee().epsilon(1e-3) == math.inf
    d0, d1 = means.worst_case().d0, means.worst_case().d1
    output = means.release(d1, 1, np.random.default_rng(0))
    assert means.log_density(output, d1)[0] == 0.0
    assert means.log_density(output, d0)[0] == -math.inf


def test_rounding_counts_as_noise_only_where_it_loses_something():
    assert ColumnMeans(100, 3, noise="none", decimals=2).standard_deviation == 0.0
    assert ColumnMeans(100, 3, noise="none", decimals=1).standard_deviation == pytest.approx(0.1 / math.sqrt(12))
    assert ColumnMeans(100, 3, scale=0.03, decimals=1).standard_deviation == pytest.approx(math.hypot(0.03, 0.0288675))
    assert ColumnMeans(100, 3, noise="laplace", scale=0.03).standard_deviation == pytest.approx(0.03 * math.sqrt(2))


def test_population_gives_a_pair_with_and_without_a_member():
    means = ColumnMeans(10, 400, noise="none", population=Uniform(seed=3))
    pair = means.worst_case()
    assert pair.d0.person is None
    assert set(pair.d1.person.tolist()) == {0, 1}
    assert np.array_equal(pair.d0.frequencies, Uniform(seed=3).frequencies(400))
    assert means.bind(pair) is means
    assert means.exact_guarantee() is None
    again = means.worst_case()
    assert np.array_equal(again.d1.person, pair.d1.person)
    assert pair.d1.person.mean() == pytest.approx(pair.d1.frequencies.mean(), abs=0.1)


ROWS = np.zeros((6, 3), dtype=int)
MOVED = np.where(np.arange(6)[:, None] == 2, 1, ROWS)


@pytest.mark.parametrize(
    ("d0", "d1", "error", "says"),
    [
        (ROWS, ROWS, NeighboursError, "the same"),
        (Study(P), Study(P), NeighboursError, "the same"),
        (STUDY, Study(P, [1, 0, 1]), NeighboursError, "the same"),
        (Study(P), Study(P[::-1], [1, 0, 1]), NeighboursError, "same frequencies"),
        (ROWS, STUDY, NeighboursError, "two studies or two arrays"),
        (ROWS[:5], MOVED[:5], ParameterError, "n_records is 6"),
        (ROWS[:, :2], MOVED[:, :2], ParameterError, "3 columns"),
        (ROWS, 2 * MOVED, ParameterError, "zeros and ones"),
        (Study(P[:2]), Study(P[:2], [1, 0]), ParameterError, "n_attributes is 3"),
    ],
)
def test_non_neighbours_are_refused(d0, d1, error, says):
    with pytest.raises(error, match=says):
        means_of("gaussian").bind(Neighbours(d0, d1, "replace_one"))


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({}, "noise"),
        ({"scale": 0.1, "noise_multiplier": 1.0}, "scale"),
        ({"noise": "none", "scale": 0.1}, "scale"),
        ({"scale": 0.1, "population": "uniform"}, "population"),
    ],
)
def test_options_that_do_not_fit_are_named(options, argument):
    with pytest.raises(ParameterError) as caught:
        ColumnMeans(10, 3, **options)
    assert argument in np.ravel(caught.value.argument)


@pytest.mark.parametrize("wrong", [[0.5, 1.2], [-0.1], [math.nan], [[0.5]], []])
def test_frequencies_outside_the_unit_interval_are_refused(wrong):
    with pytest.raises(ParameterError, match="frequencies"):
        Study(wrong)


def test_frequencies_of_fingerprints_have_the_arcsine_law():
    t = 1.0 / 3000.0
    least = math.asin(math.sqrt(t))
    p = Tardos(coalition=10, seed=1).frequencies(20_000)
    cdf = (np.arcsin(np.sqrt(np.sort(p))) - least) / (math.pi / 2 - 2 * least)
    assert stats.kstest(cdf, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    "population", [ConstantFrequencies(value=0.3), Uniform(seed=2), Tardos(seed=2), Genomes(linkage=0.8)]
)
def test_people_have_the_frequencies_of_their_population(population):
    people = population.people(4_000, 60, np.random.default_rng(0))
    p = population.frequencies(60)
    z = (people.mean(axis=0) - p) / np.sqrt(p * (1 - p) / 4_000)
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 120)


def test_linked_columns_have_the_correlation_of_their_linkage():
    """With the same frequency p everywhere, columns j and j + k of a block have correlation linkage^k."""
    genomes = Genomes(block=10, linkage=0.8, population=ConstantFrequencies(value=0.3))
    r = np.corrcoef(genomes.people(40_000, 30, np.random.default_rng(4)).T)
    limit = stats.norm.isf(FALSE_ALARM) / math.sqrt(40_000)
    for k in (1, 2, 5):
        assert r[2, 2 + k] == pytest.approx(0.8**k, abs=limit)
    assert r[9, 10] == pytest.approx(0.0, abs=limit)
