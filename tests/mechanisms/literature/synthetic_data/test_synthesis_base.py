"""What selections and generators share: groups of runs, totals, the checks of marginals, and the mechanism."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpassay.audit import audit
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.core import NeighboursError, ParameterError
from dpassay.mechanisms.literature.synthetic_data import (
    CodedTable,
    DirectGenerator,
    FixedMarginals,
    NoisyMarginal,
    SelectMeasureGenerate,
)
from dpassay.mechanisms.literature.synthetic_data.base import _estimated_total, _groups_of_runs
from dpassay.mechanisms.noise.queries.domain import Domain

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
PAIRS = (("a", "b"), ("c", "a"))


def records(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, size, n) for size in DOMAIN.shape])


def mechanism(view="measurements", relation="add_remove", **options):
    selection = FixedMarginals(PAIRS, standard_deviation=5.0, relation=relation)
    return SelectMeasureGenerate(DOMAIN, selection, DirectGenerator(), view=view, **options)


def test_a_table_counts_its_records():
    data = records()
    counts = CodedTable.of(DOMAIN, data).marginal(("c", "a"))
    assert counts.tolist() == [np.sum((data[:, 2] == c) & (data[:, 0] == a)) for c in range(2) for a in range(2)]


def test_runs_with_equal_measurements_are_fitted_together_in_order():
    answers = np.arange(12.0).reshape(4, 3) + 50.0
    everywhere = NoisyMarginal(("b",), answers, 1.0)
    some = NoisyMarginal(("a",), np.array([[90.0, 10.0], [10.0, 90.0]]), np.array([1.0, 2.0]), runs=np.array([3, 1]))
    groups = _groups_of_runs([everywhere, some], 4)
    assert sorted(tuple(runs) for runs, _ in groups) == [(0, 2), (1, 3)]
    (both,) = [own for runs, own in groups if tuple(runs) == (1, 3)]
    np.testing.assert_array_equal(both[0].answers, answers[[1, 3]])
    np.testing.assert_array_equal(both[1].answers, [[10.0, 90.0], [90.0, 10.0]])
    np.testing.assert_array_equal(both[1].deviations, [2.0, 1.0])

    rng = np.random.default_rng(0)
    fitted = DirectGenerator().fit(DOMAIN, [everywhere, some], rng)
    for run in range(4):
        own = [everywhere.of_runs(np.array([run]))] + [some.of_runs(np.array([run]))] * (run in (1, 3))
        alone = DirectGenerator().fit(DOMAIN, own, rng)
        np.testing.assert_allclose(fitted.marginal(("a", "b"))[run], alone.marginal(("a", "b"))[0], rtol=1e-9)
        assert fitted.total[run] == alone.total[0]
    assert fitted.table(7, rng).shape == (4, 7, 3)


def test_number_of_records_is_the_best_unbiased_combination_of_the_sums():
    rng = np.random.default_rng(1)
    size, deviations = 20_000, (3.0, 8.0)
    measured = [
        NoisyMarginal(("b",), rng.normal([40.0, 30.0, 30.0], deviations[0], (size, 3)), deviations[0]),
        NoisyMarginal(("a",), rng.normal([60.0, 40.0], deviations[1], (size, 2)), deviations[1]),
    ]
    variances = [3 * deviations[0] ** 2, 2 * deviations[1] ** 2]
    best = 1.0 / sum(1.0 / v for v in variances)
    total = _estimated_total(measured, len(measured[0]))
    assert abs(total.mean() - 100.0) < 5.0 * np.sqrt(best / size)
    assert abs(total.var() / best - 1.0) < 5.0 * np.sqrt(2.0 / size)


def test_number_of_records_is_passed_on_or_estimated():
    data = records()
    rng = np.random.default_rng
    public = mechanism("table", "replace_one")
    assert public.release(data, 3, rng(0)).values.shape == (3, 200, 3)
    assert (public.synthesised(data, 3, rng(0)).total == 200.0).all()
    private = mechanism("table", n_rows=50)
    assert private.release(data, 3, rng(0)).values.shape == (3, 50, 3)
    assert len(set(private.synthesised(data, 3, rng(0)).total)) == 3
    with pytest.raises(ParameterError, match="number of records is private"):
        mechanism("table")


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_law_of_fixed_marginals_sees_the_cells_that_differ_and_no_others(noise):
    data = records()
    pair = Neighbours(data[1:], data, "add_remove")
    selection = FixedMarginals(PAIRS, standard_deviation=5.0, noise=noise)
    fitted = SelectMeasureGenerate(DOMAIN, selection, DirectGenerator()).bind(pair)
    cells = [DOMAIN.project(names).cells(data[:1, [DOMAIN.index(n) for n in names]])[0] for names in PAIRS]
    outputs = fitted.release(data, 100, np.random.default_rng(4))
    assert outputs.values.shape == (100, 10)
    loss = np.subtract(*(fitted.log_density(outputs, side) for side in (pair.d1, pair.d0)))
    assert np.ptp(loss) > 0.0
    outputs.values[:, np.setdiff1d(np.arange(10), (cells[0], 6 + cells[1]))] = 0.0
    again = np.subtract(*(fitted.log_density(outputs, side) for side in (pair.d1, pair.d0)))
    np.testing.assert_allclose(loss, again, atol=1e-12)


class QuietMarginals(FixedMarginals):
    """Bug: a fifth of the variance, in the only method that measures."""

    def measure(self, table, generator, size, rng):
        exact = [table.marginal(one) for one in self.candidates(table.domain)]
        measured = super().measure(table, generator, size, rng)
        return tuple(
            replace(one, answers=counts + math.sqrt(0.2) * (one.answers - counts))
            for one, counts in zip(measured, exact, strict=True)
        )


class LeakyMarginals(FixedMarginals):
    """Bug: the noise of a cell that the record is not in depends on whether it is there."""

    def measure(self, table, generator, size, rng):
        first, *others = super().measure(table, generator, size, rng)
        answers = first.answers.copy()
        answers[:, 1] += 1e3 * (len(table) % 2)
        return (replace(first, answers=answers), *others)


@pytest.mark.parametrize(
    ("selection", "attack"), [(QuietMarginals, "likelihood-ratio"), (LeakyMarginals, "classifier")]
)
def test_an_audit_of_measurements_runs_what_measures(selection, attack, without_power):
    results = [
        audit(
            SelectMeasureGenerate({"a": 3, "b": 2}, kind((("a", "b"),), standard_deviation=1.0), DirectGenerator()),
            attack=attack,
            trials=4_000,
            delta=1e-3,
            seed=0,
        )
        for kind in (FixedMarginals, selection)
    ]
    assert [one.verdict.value for one in results] == ["consistent", "violation"]


def test_marginals_of_the_view_are_the_shown_ones():
    shown = mechanism("marginals", shown=(("b",),)).release(records(), 2, np.random.default_rng(0)).values
    assert shown.shape == (2, 3)
    assert mechanism("marginals").release(records(), 2, np.random.default_rng(0)).values.shape == (2, 10)


@pytest.mark.parametrize(
    ("marginals", "message"),
    [
        ((), "is empty"),
        ((("a", "B"),), "attribute"),
        ((("a", "a"),), "different attributes"),
        (((),), "at least one each"),
        ((("a", "b"), ("b", "a")), "twice"),
    ],
)
def test_lists_of_marginals_that_make_no_sense_are_refused(marginals, message):
    with pytest.raises(ParameterError, match=message) as caught:
        SelectMeasureGenerate(DOMAIN, FixedMarginals(marginals, standard_deviation=1.0), DirectGenerator())
    assert caught.value.argument == "marginals"


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (np.array([[0, 0]]), "shape"),
        (np.array([[0, 3, 0]]), "row 0"),
        (np.array([[0.0, 0.5, 0.0]]), "bins"),
        (np.array([[0.0, np.nan, 0.0]]), "missing"),
    ],
)
def test_tables_that_do_not_fit_the_domain_are_refused(dataset, message):
    with pytest.raises(ParameterError, match=message):
        mechanism("table", n_rows=5).release(dataset, 2, np.random.default_rng(0))


def test_a_pair_that_differs_in_two_records_is_refused():
    with pytest.raises(NeighboursError):
        mechanism().bind(Neighbours(records()[2:], records(), "add_remove"))
