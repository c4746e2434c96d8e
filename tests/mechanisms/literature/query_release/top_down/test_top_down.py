"""TopDown: what is released, what is refused, and the tables that are made of it."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from dpassay.audit import Verdict, audit
from dpassay.mechanisms.core import Neighbours, NeighboursError, ParameterError
from dpassay.mechanisms.literature.query_release.top_down import (
    LEVELS,
    GaussianTopDown,
    GeometricTopDown,
    Invariant,
    LevelQuery,
)
from dpassay.mechanisms.literature.query_release.top_down.broken import InvariantsIgnored
from dpassay.mechanisms.literature.query_release.top_down.post_processing import LeastSquares, _controlled_rounding

FALSE_ALARM = 1e-6
SMALL = {
    "geography": [2, 2],
    "domain": {"sex": 2, "age": 2},
    "structural_zeros": [{"sex": [1], "age": [1]}],
    "queries": [LevelQuery(level, ("sex", "age")) for level in LEVELS],
    "invariants": [Invariant("state"), Invariant("county", {"age": [1]})],
}
PEOPLE = np.repeat([[0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [2, 1, 0], [3, 0, 1]], [40, 25, 1, 3, 60, 2], axis=0)
"""County, sex, age: counties of 66, 3, 60 and 2 people."""


@pytest.fixture(scope="module")
def released():
    mechanism = GaussianTopDown(0.1, **SMALL)
    return mechanism, mechanism.release(PEOPLE, 400, np.random.default_rng(5)).values


# --- what is released -------------------------------------------------------------------------------------------------


def test_measurements_are_noisy_marginals_and_invariants_are_exact(released):
    mechanism, outputs = released
    answers, public = mechanism.plan.split(outputs)
    assert [answer.shape[1:] for answer in answers] == [(1, 3), (2, 3), (4, 3)]
    county = np.array([[40, 1, 25], [3, 0, 0], [0, 0, 60], [0, 2, 0]])  # (0, 0), (0, 1), (1, 0) of sex and age
    for answer, exact, sigma in zip(
        answers,
        (county.sum(axis=0)[None], county.reshape(2, 2, 3).sum(axis=1), county),
        mechanism.standard_deviations,
        strict=True,
    ):
        scores = (answer - exact).mean(axis=0) / (sigma / math.sqrt(len(outputs)))
        assert np.abs(scores).max() < stats.norm.isf(FALSE_ALARM / 2 / exact.size)
    assert (public[0] == [69, 62]).all()
    assert (public[1] == [1, 0, 0, 2]).all()


@pytest.mark.parametrize("view", ["least-squares", "non-negative", "whole"])
def test_tables_keep_invariants_and_sums_at_every_step(released, view):
    mechanism, outputs = released
    tables = mechanism.post_processing.tables(outputs[:60], step=view)
    np.testing.assert_allclose(tables["nation"][:, 0], tables["state"].sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(tables["state"], tables["county"].reshape(60, 2, 2, 3).sum(axis=2), atol=1e-9)
    np.testing.assert_allclose(tables["state"].sum(axis=2), np.tile([69, 62], (60, 1)), atol=1e-9)
    np.testing.assert_allclose(tables["county"][:, :, 1], np.tile([1, 0, 0, 2], (60, 1)), atol=1e-9)
    negative = min(table.min() for table in tables.values())
    assert negative < -1.0 if view == "least-squares" else negative >= (-1e-4 if view == "non-negative" else 0.0)
    if view == "whole":
        assert all((table == np.rint(table)).all() for table in tables.values())


def test_county_tables_are_zero_in_structural_zeros():
    values = GeometricTopDown(0.2, **SMALL, view="tables").release(PEOPLE, 20, np.random.default_rng(1)).values
    assert values.shape == (20, 4, 4)
    assert values.dtype.kind == "i"
    assert (values[:, :, 3] == 0).all()
    assert (values >= 0).all()
    assert (values.sum(axis=(1, 2)) == len(PEOPLE)).all()


def test_least_squares_errors_are_as_predicted_and_below_the_noise(released):
    mechanism, outputs = released
    tables = mechanism.post_processing.tables(outputs, step="least-squares")
    exact, predicted = mechanism.plan.counts(PEOPLE), mechanism.variances()
    for level, sigma in zip(LEVELS, mechanism.standard_deviations, strict=True):
        errors = tables[level] - mechanism.geography.sums(exact, "county", level)
        np.testing.assert_array_less(predicted[level], sigma**2)
        random = predicted[level] > 1e-9
        np.testing.assert_allclose(errors[:, ~random], 0.0, atol=1e-9)
        ratio = (errors**2).sum(axis=0)[random] / predicted[level][random]  # chi-square, but for whole numbers
        tail = FALSE_ALARM / 2 / ratio.size
        assert ratio.max() < stats.chi2.isf(tail, len(outputs))
        assert ratio.min() > stats.chi2.ppf(tail, len(outputs))


def test_non_negative_tables_are_biased_upwards_in_small_cells(released):
    mechanism, outputs = released
    linear, kept = (
        mechanism.post_processing.tables(outputs, step=step)["county"] for step in ("least-squares", "whole")
    )
    empty = mechanism.plan.counts(PEOPLE) == 0
    empty[:, 1] = False  # fixed by an invariant
    limit = stats.norm.isf(FALSE_ALARM) / math.sqrt(len(outputs))
    assert (np.abs(linear[:, empty].mean(axis=0)) < limit * linear[:, empty].std(axis=0)).all()
    assert (kept[:, empty].mean(axis=0) > limit * kept[:, empty].std(axis=0)).all()


# --- the numerics against slow twins ----------------------------------------------------------------------------------


def test_least_squares_are_those_of_a_general_solver():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(9, 6))
    hessian, sums = root.T @ root, np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1] * 6], dtype=float)
    gradient = rng.normal(size=(5, 6)) * 8
    values = np.array([[3.0, 2.0, 5.0]] * 5)
    for non_negative, bounds in ((False, None), (True, [(0, None)] * 6)):
        solutions = LeastSquares(hessian, sums).solve(gradient, values, non_negative=non_negative)
        for x, g in zip(solutions, gradient, strict=True):
            twin = optimize.minimize(
                lambda x, g=g: x @ hessian @ x / 2 - g @ x,
                np.full(6, 5 / 6),
                jac=lambda x, g=g: hessian @ x - g,
                bounds=bounds,
                constraints={"type": "eq", "fun": lambda x: sums[:2] @ x - [3, 2]},
                options={"ftol": 1e-14, "maxiter": 500},
            )
            np.testing.assert_allclose(x, twin.x, atol=2e-3)
        assert (solutions.min() < -0.1) != non_negative


def test_rounding_moves_as_little_as_any_rounding_with_these_sums():
    rng = np.random.default_rng(4)
    sums = np.vstack([np.kron(np.eye(2), np.ones(3)), np.tile(np.eye(3), 2)])
    values = rng.integers(0, 4, size=(30, 6)) @ sums.T  # of some whole table
    numbers = LeastSquares(np.eye(6), sums).solve(rng.uniform(0, 4, size=(30, 6)), values, non_negative=True)
    solutions = _controlled_rounding(numbers, sums, values)
    np.testing.assert_array_equal(solutions @ sums.T, values)
    low = np.floor(np.maximum(numbers, 0) + 1e-3)
    ways = np.array(np.meshgrid(*[(0, 1)] * 6)).reshape(6, -1).T
    for number, whole, base, value in zip(numbers, solutions, low, values, strict=True):
        fitting = [base + way for way in ways if np.array_equal((base + way) @ sums.T, value)]
        best = min(np.abs(way - number).sum() for way in fitting)
        assert np.abs(whole - number).sum() == pytest.approx(best, abs=0.02)  # what lies just below a whole number


# --- privacy ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("without_power")
def test_audit_within_a_state_approaches_the_exact_curve():
    mechanism = GaussianTopDown(0.5, **SMALL)
    result = audit(mechanism, trials=40_000, seed=3, delta=0.01, confidence=0.9999)
    assert result.verdict is Verdict.CONSISTENT
    exact = mechanism.exact_guarantee().epsilon(0.01)
    assert 0.75 * exact < result.bound.epsilon <= exact < mechanism.guarantee().epsilon(0.01)


@pytest.mark.usefixtures("without_power")
def test_audit_of_a_pair_that_differs_in_an_invariant_is_a_violation():
    result = audit(InvariantsIgnored(1.0, **SMALL), trials=4_000, seed=3, confidence=0.9999)
    assert result.verdict is Verdict.VIOLATION
    assert result.witness is not None


def test_noise_is_scaled_to_pairs_that_agree_on_the_invariants():
    """Who stays in a county moves none of its totals: only the marginal by sex is left to pay for."""
    queries = [LevelQuery("county"), LevelQuery("county", ("sex",))]
    options = {"geography": [3], "domain": {"sex": 2}, "structural_zeros": [], "queries": queries}
    free, kept = (
        GeometricTopDown(1.0, **options, invariants=each) for each in ([], [Invariant("nation", {"sex": [0]})])
    )
    assert free.affected_shares == 2
    assert kept.affected_shares == 2
    with pytest.raises(ParameterError, match="number of people of each county follow from the invariants"):
        GeometricTopDown(1.0, **options, invariants=[Invariant("county")])
    bound = GeometricTopDown(1.0, **options | {"queries": queries[1:]}, invariants=[Invariant("county")])
    assert bound.affected_shares == 1
    assert bound.exact_guarantee().epsilon(0.0) == pytest.approx(1.0)


def test_pairs_that_differ_in_an_invariant_are_refused_with_the_reason():
    mechanism = GaussianTopDown(0.1, **SMALL)
    moved = PEOPLE.copy()
    moved[0, 0] = 1
    mechanism.bind(Neighbours(PEOPLE, moved, "replace_one"))
    moved[0, 0] = 2
    with pytest.raises(NeighboursError, match=r"d0 has 69 people in state 0, d1 has 68.*agree on all of them"):
        mechanism.bind(Neighbours(PEOPLE, moved, "replace_one"))


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"geography": 3}, "number of counties of each state"),
        ({"geography": [2, 0]}, "number of counties of state 1 must be"),
        ({"domain": {"county": 2}}, "the geography adds it"),
        ({"domain": {"sex": 2, "age": 10**9}}, "would take"),
        ({"structural_zeros": [{"sex": [0, 1]}]}, "leave no possible cell"),
        ({"structural_zeros": [{"sex": [2]}]}, "from 0 to 1"),
        ({"queries": []}, "at least one query"),
        ({"queries": [{"level": "town"}]}, "level"),
        ({"queries": [{"of": "town"}]}, "dicts of level, attributes, share"),
        ({"queries": [LevelQuery("county", ("height",))]}, "height"),
        (
            {"queries": [LevelQuery("state"), LevelQuery("county")]},
            "number of people of each state follow from the invariants",
        ),
        ({"invariants": [Invariant("state", {"sex": 0}), Invariant("county", {"age": 0})]}, "sex 0 overlap"),
        ({"invariants": [Invariant("state", values=(3,))]}, "must have 2 values"),
        ({"relation": "add_remove"}, "everything is public.*relation='replace_one'"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        GaussianTopDown(0.1, **SMALL | options)


def test_contradictory_invariants_are_refused_and_named():
    invariants = [
        Invariant("nation", values=(10,)),
        Invariant("state", values=(4, 6)),
        Invariant("county", {"sex": [0]}, values=(3, 2, 1, 1)),
    ]
    with pytest.raises(ParameterError) as error:
        GaussianTopDown(0.1, **SMALL | {"invariants": invariants})
    named = "3 people with sex 0 in county 0; 2 people with sex 0 in county 1"
    assert f"4 people in state 0; {named}. Correct" in str(error.value)
    with pytest.raises(ParameterError, match=r"10 people in nation 0; 4 people in state 0; 7 people in state 1\."):
        GaussianTopDown(0.1, **SMALL | {"invariants": [invariants[0], Invariant("state", values=(4, 7))]})
    impossible = Invariant("nation", {"sex": [1], "age": [1]}, values=(1,))
    with pytest.raises(ParameterError, match="1 person with sex 1 and age 1 in nation 0 cannot hold: the structural"):
        GaussianTopDown(0.1, **SMALL | {"invariants": [impossible]})


def test_data_against_structural_zeros_or_invariants_are_refused():
    with pytest.raises(ParameterError, match=r"no record in a structural zero.*'county': 1, 'sex': 1, 'age': 1.*row 1"):
        GaussianTopDown(0.1, **SMALL).release([[0, 0, 0], [1, 1, 1]], 1, np.random.default_rng(0))
    given = GaussianTopDown(0.1, **SMALL | {"invariants": [Invariant("state", values=(1, 1))]})
    with pytest.raises(ParameterError, match="the dataset has 0 people in state 1, but the invariant fixes 1"):
        given.release([[0, 0, 0]], 1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="from 0 to 3, in column 'county'"):
        given.release([[7, 0, 0]], 1, np.random.default_rng(0))


def test_too_many_losses_are_not_listed():
    assert GaussianTopDown(1e-8, **SMALL).exact_guarantee() is None
    assert GaussianTopDown(0.1, **SMALL, view="tables").exact_guarantee() is None
