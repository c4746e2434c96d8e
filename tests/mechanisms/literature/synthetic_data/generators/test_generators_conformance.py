"""What every generator of the catalogue must do. A new one is tested by its catalogue line alone."""

import dataclasses
import pickle

import numpy as np
import pytest
from scipy.stats import norm

from dpassay.mechanisms.core import Outputs, ParameterError
from dpassay.mechanisms.literature.synthetic_data import (
    CodedTable,
    FixedMarginals,
    NoisyMarginal,
    SelectMeasureGenerate,
)
from dpassay.mechanisms.literature.synthetic_data.catalogue import generators
from dpassay.mechanisms.literature.synthetic_data.generators import RelaxedTable, marginal_loss
from dpassay.mechanisms.noise.queries.domain import Domain

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
PAIRS = (("b", "a"), ("b", "c"))
CELLS = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(2, 3, 2)

QUICK = {
    "relaxed-table": {"n_rows": 30, "steps": 200},
    "generator-network": {"n_samples": 30, "hidden": (24,), "steps": 200, "learning_rate": 0.03},
    "gradual-update": {"n_rows": 600},
    "local-consistency": {"n_rows": 600},
}
"""Options of those that would take longer."""

every = pytest.mark.parametrize("name", list(generators))


def build(name):
    return generators.build(name, **QUICK.get(name, {}))


def measured(size=3, deviation=6.0, n=600.0, seed=1):
    rng = np.random.default_rng(seed)
    exact = (np.einsum("abc->ba", CELLS).ravel(), np.einsum("abc->bc", CELLS).ravel())
    return [
        NoisyMarginal(names, n * counts + rng.normal(0.0, deviation, (size, 6)), deviation)
        for names, counts in zip(PAIRS, exact, strict=True)
    ]


def fit(name, *given, **options):
    return build(name).fit(DOMAIN, *given, np.random.default_rng(2), **options)


@every
def test_marginals_add_up_to_the_total_and_are_close_to_what_was_measured(name):
    fitted = fit(name, measured())
    assert fitted.total.shape == (3,)
    for one in measured():
        result = fitted.marginal(one.attributes)
        assert result.shape == (3, 6)
        assert (result > -1e-6).all()
        np.testing.assert_allclose(result.sum(axis=1), fitted.total, rtol=1e-3)
        assert np.abs(result - one.answers).sum(axis=1).max() < 0.25 * 600.0
    assert fitted.marginal(("c", "a")).shape == (3, 4)


@every
def test_tables_are_records_of_the_domain_close_to_the_fitted_marginals(name):
    fitted = fit(name, measured())
    tables = fitted.table(2000, np.random.default_rng(3))
    assert tables.shape == (3, 2000, 3)
    assert tables.dtype.kind == "i"
    for table in tables:
        DOMAIN.records(table)
    for names in (*PAIRS, ("a", "c")):
        counts = np.stack([CodedTable(DOMAIN, table).marginal(names) for table in tables])
        expected = fitted.marginal(names) * (2000.0 / fitted.total[:, None])
        assert np.abs(counts - expected).sum(axis=1).max() < 0.15 * 2000.0


@every
def test_a_generator_reads_answers_noise_and_domain_but_no_data(name):
    """The same answers of other data give the same bytes: what follows measuring is post-processing."""

    class Given(FixedMarginals):
        """Says what it is told to say, whatever the data are."""

        def measure(self, table, generator, size, rng):
            assert len(table) == 400
            return tuple(measured(size))

    selection = Given(PAIRS, standard_deviation=6.0)
    data = [np.random.default_rng(seed).integers(0, 2, (400, 3)) for seed in (4, 5)]
    for view in ("marginals", "table"):
        mechanism = SelectMeasureGenerate(DOMAIN, selection, build(name), view=view, n_rows=50)
        result: list[Outputs] = [mechanism.release(records, 3, np.random.default_rng(6)) for records in data]
        assert result[0].values.tobytes() == result[1].values.tobytes()
    assert not np.array_equal(*data)


@every
def test_the_generator_of_random_numbers_decides_all_and_options_are_plain(name):
    one, other = (fit(name, measured()).table(20, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    generator = build(name)
    assert pickle.loads(pickle.dumps(generator)) == generator
    assert "0x" not in repr(generator)


@pytest.mark.parametrize("name", [name for name in generators if name != "tree"])  # which takes no circle of pairs
def test_runs_may_have_measured_different_marginals(name):
    both = measured()
    part = NoisyMarginal(("a", "c"), np.full((2, 4), 150.0), 6.0, runs=np.array([2, 0]))
    fitted = fit(name, [*both, part])
    assert fitted.marginal(("b", "a")).shape == (3, 6)
    assert np.abs(fitted.marginal(("a", "c"))[[0, 2]] - 150.0).max() < 90.0
    assert fitted.table(5, np.random.default_rng(0)).shape == (3, 5, 3)


@every
def test_a_public_number_of_records_is_kept_and_no_measurement_is_refused(name):
    assert (fit(name, measured(), n_records=500).total == 500.0).all()
    with pytest.raises(ParameterError):
        fit(name, [])


# --- on a wider domain ------------------------------------------------------------------------------------------------

WIDER = Domain({"a": 2, "b": 3, "c": 2, "d": 4})
"""With an attribute that nothing is measured of."""
MEASURED = (("a", "b"), ("c", "b"), ("c",))
SPURIOUS = {"clipped"}
"""Whose marginals do not sum to the total: their rows are no distributions."""
DRAWS_ON_THE_WAY = {"gradual-update"}
"""Whose draws come in an order that depends on the number of runs: a batch is a loop in law only."""

GENERATORS = {name: build(name) for name in generators}
GENERATORS["clipped"] = RelaxedTable(n_rows=30, steps=200, learning_rate=0.1, softmax=False)
every_one = pytest.mark.parametrize("name", GENERATORS)


def answers(size=3, noise=2.0, seed=0, n_records=1_000):
    """Marginals of one law a run, measured with Gaussian noise."""
    rng = np.random.default_rng(seed)
    law = n_records * rng.dirichlet(np.ones(12), size=size).reshape(size, 2, 3, 2)
    exact = (law.sum(axis=3), law.sum(axis=1).transpose(0, 2, 1), law.sum(axis=(1, 2)))
    noisy = [table.reshape(size, -1) for table in exact]
    return [
        NoisyMarginal(names, table + noise * rng.normal(size=table.shape), noise)
        for names, table in zip(MEASURED, noisy, strict=True)
    ]


def one_run(measured, run):
    return [dataclasses.replace(one, answers=one.answers[run : run + 1]) for one in measured]


def fitted(name, measured, seed=0, **options):
    return GENERATORS[name].fit(WIDER, measured, np.random.default_rng(seed), **options)


def counts_of(fit, *more):
    return np.concatenate([fit.marginal(names) for names in (*MEASURED, *more)], axis=1)


@every_one
def test_measured_marginals_come_back(name):
    measured = answers()
    result = fitted(name, measured)
    for one in measured:
        assert np.abs(result.marginal(one.attributes) - one.answers).mean() < 6.0
    assert (marginal_loss(result, measured) < 40.0).all()


@every_one
def test_totals_are_estimated_from_the_answers_or_known(name):
    measured = answers(noise=5.0)
    sums = np.stack([one.answers.sum(axis=1) for one in measured])
    weights = 1.0 / np.array([6.0, 6.0, 2.0])
    np.testing.assert_allclose(fitted(name, measured).total, weights @ sums / weights.sum())
    np.testing.assert_allclose(fitted(name, measured, n_records=900).total, 900.0)


@every_one
def test_marginals_are_counts_that_sum_to_the_total(name):
    result = fitted(name, answers())
    for names in (*MEASURED, ("d",), ("d", "a", "c")):
        counts = result.marginal(names)
        assert counts.shape == (3, WIDER.project(names).n_cells)
        assert (counts >= 0.0).all()
        if name not in SPURIOUS:
            np.testing.assert_allclose(counts.sum(axis=1), result.total)


@every_one
def test_cells_stand_in_the_order_of_the_attributes(name):
    result = fitted(name, answers())
    one, other = result.marginal(("b", "a")).reshape(3, 3, 2), result.marginal(("a", "b")).reshape(3, 2, 3)
    np.testing.assert_allclose(one, other.transpose(0, 2, 1))


@every_one
def test_what_was_not_measured_is_about_uniform(name):
    shares = fitted(name, answers()).marginal(("d",)) / 1_000
    np.testing.assert_allclose(shares / shares.sum(axis=1, keepdims=True), 0.25, atol=0.01)


@every_one
def test_tables_are_records_of_the_domain_with_about_the_fitted_marginals(name):
    result = fitted(name, answers())
    for n_rows in (1, 4_000):
        table = result.table(n_rows, np.random.default_rng(1))
        assert table.shape == (3, n_rows, 4)
        assert table.dtype == np.int64
        assert (table >= 0).all()
        assert (table < WIDER.shape).all()
    if name in SPURIOUS:
        return
    for names in MEASURED:
        counts = WIDER.project(names).histogram(table[:, :, [WIDER.index(one) for one in names]])
        shares = result.marginal(names) / result.total[:, None]
        assert np.abs(counts / n_rows - shares).max() < norm.isf(1e-8) * 0.5 / np.sqrt(n_rows)


@every_one
def test_the_generator_of_random_numbers_decides_everything(name):
    measured = answers()
    first, again, other = (fitted(name, measured, seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(counts_of(first, ("a", "d")), counts_of(again, ("a", "d")))
    assert np.abs(counts_of(first) - counts_of(other)).mean() < 6.0
    draws = [model.table(50, np.random.default_rng(seed)) for model, seed in ((first, 1), (again, 1), (again, 2))]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()


@every_one
def test_a_batch_is_a_loop_over_runs(name):
    """Draw by draw where all draws are made before the fit; else to within what the table rounds."""
    measured, rng = answers(), np.random.default_rng(3)
    singles = np.concatenate([
        counts_of(GENERATORS[name].fit(WIDER, one_run(measured, run), rng)) for run in range(3)
    ])  # fmt: skip
    batch = counts_of(fitted(name, measured, 3))
    if name in DRAWS_ON_THE_WAY:
        assert np.abs(batch - singles).max() < 12 * 1_000 / 600
    else:
        np.testing.assert_allclose(batch, singles, rtol=1e-6, atol=1e-6)


@every_one
def test_runs_do_not_touch_each_other(name):
    """The answers of one run change; the others stay what they were, where the draws are the same."""
    measured = answers()
    changed = [dataclasses.replace(one, answers=one.answers.copy()) for one in measured]
    for one in changed:
        one.answers[1] = one.answers[1, ::-1]
    before, after = fitted(name, measured), fitted(name, changed)
    moved = np.abs(counts_of(before) - counts_of(after))
    assert moved[[0, 2]].max() <= (12 * 1_000 / 600 if name == "gradual-update" else 1e-9)
    assert moved[1].max() > 20.0


@every_one
def test_a_noisier_answer_weighs_less(name):
    """Two measurements of one attribute that contradict each other: the fit follows the one with less noise."""
    contradicting = [
        NoisyMarginal(("a",), np.array([[800.0, 200.0]]), 1.0), NoisyMarginal(("a", "c"), np.full((1, 4), 250.0), 100.0)
    ]  # fmt: skip
    result = fitted(name, contradicting, n_records=1_000).marginal(("a",))[0]
    assert result[0] > 790.0
    swapped = [dataclasses.replace(one, standard_deviation=101.0 - one.standard_deviation) for one in contradicting]
    assert fitted(name, swapped, n_records=1_000).marginal(("a",))[0, 0] < 510.0


@every_one
def test_options_out_of_range_are_refused_by_name(name):
    generator = GENERATORS[name]
    for field in dataclasses.fields(generator):
        if field.type in ("int", "float"):
            with pytest.raises(ParameterError, match=f"{field.name} must be a .* number >=? [01], but is 0"):
                dataclasses.replace(generator, **{field.name: 0 if field.type == "int" else 0.0})
