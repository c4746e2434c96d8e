"""What every generator of the catalogue must do. A new one is tested by its catalogue line alone."""

import pickle

import numpy as np
import pytest

from dpassay.mechanisms.base import Outputs
from dpassay.mechanisms.errors import ParameterError
from dpassay.mechanisms.queries.domain import Domain
from dpassay.mechanisms.synthesis import FixedMarginals, Measured, SelectMeasureGenerate, Table
from dpassay.mechanisms.synthesis.catalogue import generators

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
PAIRS = (("b", "a"), ("b", "c"))
CELLS = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(2, 3, 2)

every = pytest.mark.parametrize("name", list(generators))


def measured(size=3, deviation=6.0, n=600.0, seed=1):
    rng = np.random.default_rng(seed)
    exact = (np.einsum("abc->ba", CELLS).ravel(), np.einsum("abc->bc", CELLS).ravel())
    return [
        Measured(names, n * counts + rng.normal(0.0, deviation, (size, 6)), deviation)
        for names, counts in zip(PAIRS, exact, strict=True)
    ]


def fit(name, *given, **options):
    return generators.build(name).fit(DOMAIN, *given, np.random.default_rng(2), **options)


@every
def test_marginals_add_up_to_the_total_and_are_close_to_what_was_measured(name):
    fitted = fit(name, measured())
    assert fitted.total.shape == (3,)
    for one in measured():
        found = fitted.marginal(one.attributes)
        assert found.shape == (3, 6)
        assert (found > -1e-6).all()
        np.testing.assert_allclose(found.sum(axis=1), fitted.total, rtol=1e-3)
        assert np.abs(found - one.answers).sum(axis=1).max() < 0.25 * 600.0
    assert fitted.marginal(("c", "a")).shape == (3, 4)


@every
def test_tables_are_coded_records_of_the_domain_close_to_the_fitted_marginals(name):
    fitted = fit(name, measured())
    tables = fitted.table(2000, np.random.default_rng(3))
    assert tables.shape == (3, 2000, 3)
    assert tables.dtype.kind == "i"
    for table in tables:
        DOMAIN.records(table)
    for names in (*PAIRS, ("a", "c")):
        counts = np.stack([Table(DOMAIN, table).marginal(names) for table in tables])
        expected = fitted.marginal(names) * (2000.0 / fitted.total[:, None])
        assert np.abs(counts - expected).sum(axis=1).max() < 0.15 * 2000.0


@every
def test_it_reads_the_answers_their_noise_and_the_public_domain_and_nothing_of_the_data(name):
    """The same answers of other data give the same bytes: what follows measuring is post-processing."""

    class Given(FixedMarginals):
        """Says what it is told to say, whatever the data are."""

        def measure(self, table, generator, size, rng):
            assert len(table) == 400
            return tuple(measured(size))

    selection = Given(PAIRS, standard_deviation=6.0)
    data = [np.random.default_rng(seed).integers(0, 2, (400, 3)) for seed in (4, 5)]
    for view in ("marginals", "table"):
        mechanism = SelectMeasureGenerate(DOMAIN, selection, generators.build(name), view=view, n_rows=50)
        found: list[Outputs] = [mechanism.release(records, 3, np.random.default_rng(6)) for records in data]
        assert found[0].values.tobytes() == found[1].values.tobytes()
    assert not np.array_equal(*data)


@every
def test_the_generator_of_random_numbers_decides_all_and_options_are_plain(name):
    one, other = (fit(name, measured()).table(20, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    generator = generators.build(name)
    assert pickle.loads(pickle.dumps(generator)) == generator
    assert "0x" not in repr(generator)


@pytest.mark.parametrize("name", [name for name in generators if name != "tree"])  # which takes no circle of pairs
def test_runs_may_have_measured_different_marginals(name):
    both = measured()
    part = Measured(("a", "c"), np.full((2, 4), 150.0), 6.0, runs=np.array([2, 0]))
    fitted = fit(name, [*both, part])
    assert fitted.marginal(("b", "a")).shape == (3, 6)
    assert np.abs(fitted.marginal(("a", "c"))[[0, 2]] - 150.0).max() < 90.0
    assert fitted.table(5, np.random.default_rng(0)).shape == (3, 5, 3)


@every
def test_a_public_number_of_records_is_kept_and_nothing_measured_is_refused(name):
    assert (fit(name, measured(), n_records=500).total == 500.0).all()
    with pytest.raises(ParameterError):
        fit(name, [])
