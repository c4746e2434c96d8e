"""p-values of tracing: exact against brute force, coverage, and what breaks them."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.literature.tracing import (
    Homer,
    InnerProduct,
    PackedPeople,
    TracingLikelihoodRatio,
    p_values,
    trace,
)
from dpassay.attacks.literature.tracing.p_values import benjamini_hochberg
from dpassay.mechanisms.core import ParameterError, holm
from dpassay.mechanisms.literature.studies import Genomes, Tardos, Uniform

FALSE_ALARM = 1e-6
LEVEL = 0.2


def brute_force(linear, p, scores):
    """Every row in turn."""
    rows = np.array(list(product((0, 1), repeat=len(p))))
    masses = np.prod(np.where(rows == 1, p, 1 - p), axis=1)
    all_scores = linear.scores(rows)
    return np.array([masses[all_scores >= s - 1e-12].sum() for s in scores])


@pytest.mark.parametrize("statistic", [InnerProduct(), Homer(), TracingLikelihoodRatio()])
def test_exact_p_values_are_those_of_all_rows(statistic):
    rng = np.random.default_rng(1)
    p = rng.uniform(0.1, 0.9, 12)
    linear = statistic.linear(p + 0.2 * rng.standard_normal(12), p)
    scores = linear.scores(rng.integers(0, 2, (200, 12)))
    expected = brute_force(linear, p, scores)
    observed = p_values.exact(scores, linear, p)
    assert np.all(observed >= expected - 1e-12)
    # the shift of at most a few cells may take in a neighbouring row or two of the 4,096
    assert np.quantile(observed - expected, 0.9) < 2e-3
    assert np.all(p_values.chernoff(scores, linear, p) >= expected - 1e-12)


def test_exact_p_values_are_close_to_the_binomial_tail_far_out():
    """Equal slopes: the score is a Binomial count."""
    d, p = 2_000, np.full(2_000, 0.3)
    linear = InnerProduct().linear(p + 0.1, p)
    counts = np.array([600, 660, 700, 740, 760])
    rows = (np.arange(d) < counts[:, None]).astype(int)
    observed = p_values.exact(linear.scores(rows), linear, p)
    expected = stats.binom.sf(counts - 1, d, 0.3)
    assert np.all(observed >= expected)
    assert np.all(observed <= expected * 1.1 + 2e-13)
    bound = p_values.chernoff(linear.scores(rows), linear, p)
    assert np.all(bound >= expected)
    assert np.all(bound <= 25 * expected)


def test_the_normal_limit_fails_for_few_heavy_columns():
    """Rare ones: the tail is that of a count, far heavier than the normal one."""
    p = np.full(40, 0.02)
    linear = InnerProduct().linear(np.full(40, 0.1), p)
    scores = linear.scores(np.tri(41, 40, -1, dtype=int)[[4, 6]])
    exact, normal = p_values.exact(scores, linear, p), p_values.normal(scores, linear, p)
    expected = stats.binom.sf([3, 5], 40, 0.02)
    np.testing.assert_allclose(exact, expected, rtol=1e-6)
    assert np.all(normal < 0.1 * expected)


def test_empirical_p_values_count_the_reference_once():
    assert p_values.empirical([5.0, 9.0, 20.0, -1.0], np.arange(10.0)).tolist() == pytest.approx(
        [6 / 11, 2 / 11, 1 / 11, 1.0]
    )


def covered(p_values):
    """Whether p-values of non-members, one per study, are at or below LEVEL no more often than they may be."""
    n = len(p_values)
    return int((p_values <= LEVEL).sum()) <= stats.binom.isf(FALSE_ALARM, n, LEVEL)


def non_member_p_values(how, seed=0, studies=400, n=40, d=300, population=None, m=60):
    """p-values of one non-member in each study, by `how(released, non_member, frequencies, reference, study)`."""
    population = Uniform(seed=1) if population is None else population
    p, rng = population.frequencies(d), np.random.default_rng(seed)
    observed = []
    for _ in range(studies):
        people = population.people(n + m + 1, d, rng)
        study, reference, non_member = people[:n], people[n : n + m], people[n + m :]
        observed.append(how(study.mean(axis=0), non_member, p, reference, study)[0])
    return np.array(observed)


def by_frequencies(null, statistic=None):
    def how(q, y, p, _reference, _study):
        return trace(q, y, frequencies=p, null=null, statistic=statistic).p_values

    return how


def by_reference(q, y, _p, reference, _study):
    return trace(q, y, reference=reference).p_values


@pytest.mark.parametrize(
    ("null", "statistic"), [("normal", InnerProduct()), ("chernoff", Homer()), ("exact", TracingLikelihoodRatio())]
)
def test_p_values_of_non_members_keep_their_level(null, statistic):
    assert covered(non_member_p_values(by_frequencies(null, statistic), studies=120 if null == "exact" else 300, d=40))


def test_p_values_from_people_of_reference_keep_their_level():
    assert covered(non_member_p_values(by_reference))


def test_a_reference_used_twice_breaks_the_level():
    """The same people for frequencies and null: they differ from their own mean less than non-members do."""

    def twice(q, y, _p, reference, _study):
        return trace(q, y, frequencies=reference.mean(axis=0), reference=reference).p_values

    assert not covered(non_member_p_values(twice))


def test_frequencies_that_include_the_person_hide_the_person():
    """They draw the person's score down: members are no longer found (and it was no p-value before)."""

    def observed(with_person):
        rng, p = np.random.default_rng(0), Uniform(seed=1).frequencies(600)
        named = 0
        for _ in range(40):
            people = Uniform(seed=1).people(100, 600, rng)
            study, reference = people[:40], people[40:]
            source = np.concatenate([reference[:30], study[:1]]) if with_person else reference[:30]
            f = source.mean(axis=0)
            named += trace(study.mean(axis=0), study[:1], frequencies=f, reference=reference[30:]).p_values[0] <= 0.05
        assert len(p) == 600
        return named

    assert observed(with_person=False) > observed(with_person=True) + 10


@pytest.mark.parametrize("packed", [False, True])
def test_rounding_does_not_break_ties_with_the_reference(packed):
    """Sums of one row and of many are rounded differently, which must not decide who is higher."""
    rng = np.random.default_rng(5)
    for d in rng.integers(3, 400, 100):
        row, frequencies = rng.integers(0, 2, (1, d)), rng.uniform(0.1, 0.9, d)
        one = PackedPeople.of(row) if packed else row
        observed = trace(rng.random(d), one, frequencies=frequencies, reference=np.repeat(row, 19, axis=0))
        assert observed.p_values.tolist() == [1.0]


def test_only_the_empirical_null_holds_for_linked_columns():
    genomes = Genomes(block=50, linkage=0.98)
    assert not covered(non_member_p_values(by_frequencies("normal"), population=genomes, studies=250))
    assert covered(non_member_p_values(by_reference, population=genomes, studies=150, d=200))


def test_members_are_named_and_few_non_members():
    rng, population = np.random.default_rng(5), Tardos(seed=3)
    p, people = population.frequencies(4_000), population.people(600, 4_000, np.random.default_rng(6))
    released = people[:60].mean(axis=0) + 0.02 * rng.standard_normal(4_000)
    observed = trace(released, PackedPeople.of(people), frequencies=p)
    assert observed.null == "exact"
    assert (observed.holm()[:60] <= 0.01).all()
    assert (observed.holm()[60:] > 0.01).all()
    named = observed.benjamini_hochberg() <= 0.2
    assert named[:60].all()
    assert named[60:].sum() <= stats.binom.isf(FALSE_ALARM, 540, 0.04)


def test_holm_and_benjamini_hochberg_are_those_of_a_loop():
    p = np.random.default_rng(0).random(50) ** 3
    order = np.argsort(p)
    stepped = np.array([max((50 - j) * p[order[j]] for j in range(i + 1)) for i in range(50)])
    np.testing.assert_allclose(np.array(holm(p))[order], np.minimum(1.0, stepped))
    up = np.array([min(50 / (j + 1) * p[order[j]] for j in range(i, 50)) for i in range(50)])
    np.testing.assert_allclose(benjamini_hochberg(p)[order], np.minimum(1.0, up))


def test_notes_state_left_out_clipped_and_estimated_data():
    rng = np.random.default_rng(0)
    people = rng.integers(0, 2, (3, 40))
    p = np.where(np.arange(40) < 5, 0.0, 0.5)
    notes = trace(rng.normal(0.5, 1.0, 40), people, frequencies=p, statistic=Homer()).notes
    assert notes[0].startswith("5 of 40 columns are constant")
    assert "outside [0, 1]: clipped" in notes[1]
    assert not any("clipped" in note for note in trace(rng.normal(0.5, 1.0, 40), people, frequencies=p).notes)
    (said,) = trace(np.full(40, 0.5), people, reference=rng.integers(0, 2, (31, 40))).notes
    assert said == "frequencies are those of 15 people of reference; the other half gives the p-values"


PEOPLE = np.eye(3, dtype=int)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({}, "frequencies"),
        ({"reference": np.tile(PEOPLE, (6, 1))}, "reference"),
        ({"reference": np.tile(PEOPLE, (3, 1)), "frequencies": [0.5] * 3}, "reference"),
        ({"reference": PEOPLE[:, :2]}, "reference"),
        ({"frequencies": [0.5] * 3, "null": "empirical"}, "null"),
        ({"reference": np.tile(PEOPLE, (9, 1)), "null": "normal"}, "null"),
        ({"frequencies": [0.5] * 3, "null": "gaussian"}, "null"),
        ({"frequencies": [0.5] * 2}, "released"),
    ],
)
def test_inconsistent_options_are_refused(options, argument):
    with pytest.raises(ParameterError) as caught:
        trace([0.4, 0.5, 0.6], PEOPLE, **options)
    assert argument in np.ravel(caught.value.argument)
    assert math.isfinite(len(str(caught.value)))
