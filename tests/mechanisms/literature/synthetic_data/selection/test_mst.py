"""MST: what it measures, what that costs, and the exact law of all that it shows."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats

from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.synthetic_data import (
    MST,
    CodedTable,
    DirectGenerator,
    SelectMeasureGenerate,
    TreeModel,
)
from dpassay.mechanisms.literature.synthetic_data.selection.compression import _nearest_counts, merged, present, spread
from dpassay.mechanisms.noise.queries.domain import Domain

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
BITS = Domain({"a": 2, "b": 2, "c": 2})
FALSE_ALARM = 1e-6


def table(domain=DOMAIN, n=300, seed=0):
    rng = np.random.default_rng(seed)
    leader = rng.integers(0, 2, n)
    columns = [np.where(rng.random(n) < 0.5, leader, rng.integers(0, size, n)) for size in domain.shape]
    return CodedTable.of(domain, np.column_stack(columns))


def losses(selection, pair, domain, size, seed=0):
    """Log ratio own side / other side of runs on both sides, and the runs."""
    tables = [CodedTable.of(domain, pair.side(side)) for side in (0, 1)]
    for side in (0, 1):
        rng = np.random.default_rng([seed, side])
        runs = selection.transcript(domain, selection.measure(tables[side], None, size, rng), size)
        own, other = (selection.log_density(runs, tables[s], None) for s in (side, 1 - side))
        yield own - other


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_three_equal_shares_pay_for_noise_and_choices(relation):
    selection, d = MST(0.6, relation=relation), 3
    noise, moved = selection.noise(DOMAIN), 1 if relation == "add_remove" else 2
    assert d * moved / (2 * noise.one_way**2) == pytest.approx(0.2)
    assert (d - 1) * moved / (2 * noise.two_way**2) == pytest.approx(0.2)
    epsilon = 2 * moved * noise.rate
    assert (d - 1) * epsilon**2 / 8 == pytest.approx(0.2)


def test_other_shares_of_the_budget_are_kept():
    selection = MST(0.6, shares=(0.5, 0.1, 0.4))
    noise = selection.noise(DOMAIN)
    assert 3 / (2 * noise.one_way**2) == pytest.approx(0.3)
    assert 2 * (2 * noise.rate) ** 2 / 8 == pytest.approx(0.06)
    assert 2 / (2 * noise.two_way**2) == pytest.approx(0.24)
    with pytest.raises(ParameterError, match="add up to 1"):
        MST(0.6, shares=(0.5, 0.5, 0.5))


def test_a_score_moves_by_one_for_a_record_and_by_two_for_a_replaced_one():
    selection, most = MST(0.3), [0.0, 0.0]
    for seed in range(20):
        data = table(n=12, seed=seed)
        rng = np.random.default_rng(seed)
        alone = [data.marginal((name,)) + rng.normal(0, 3, (4, size)) for name, size in DOMAIN.attributes]
        model = selection.model(alone, data)
        start = model.scores(data)
        for record in product(*map(range, DOMAIN.shape)):
            added = CodedTable.of(DOMAIN, np.vstack([data.records, record]))
            replaced = CodedTable.of(DOMAIN, np.vstack([data.records[1:], record]))
            for kind, other in enumerate((added, replaced)):
                most[kind] = max(most[kind], float(np.abs(model.scores(other) - start).max()))
    assert most == pytest.approx([1.0, 2.0])


def test_a_penalty_subtracts_the_expected_noise_of_existing_cells():
    data = table(n=60)
    paper, penalised = (MST(0.3, penalty=penalty) for penalty in (0.0, 1.0))
    deviation = paper.noise(DOMAIN).two_way
    alone = [
        np.array([[40.0, 20.0]]),
        np.array([[30.0, 0.0, 30.0]]),
        np.array([[30.0, 30.0]]),
    ]  # "b" merges one of three
    noise = np.random.default_rng(0).normal(0, deviation, (20_000, 6))
    cells = np.array([6, 4, 6])
    expected = np.abs(noise).sum(axis=1).mean() / 6 * cells
    difference = paper.model(alone, data).scores(data) - penalised.model(alone, data).scores(data)
    np.testing.assert_allclose(difference[0], expected, rtol=0.02)


def test_a_small_dependent_pair_is_chosen_before_a_large_pair_of_noise():
    """Two attributes of 40 values that are independent: their L1 distance is that of chance, which is noise."""
    domain, rng = Domain({"a": 40, "b": 40, "c": 2}), np.random.default_rng(0)
    c = rng.integers(0, 2, 5000)
    rows = np.column_stack(
        [rng.integers(0, 20, 5000) + 20 * (rng.random(5000) < 0.5 + 0.1 * c), rng.integers(0, 40, 5000), c]
    )
    data, often = CodedTable.of(domain, rows), []
    for penalty in (0.0, 1.0):
        selection = MST(1.0, penalty=penalty)
        shown = selection.transcript(domain, selection.measure(data, None, 20, rng), 20)
        often.append((shown[:, 0] > 0).mean())
    assert often == [1.0, 0.0]


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_density_ratios_average_to_one_and_the_claim_holds(compress, relation):
    """On a small table, where noise of the attributes moves scores, merged values and all."""
    size, data = 8_000, table(n=30).records
    domain, selection = DOMAIN, MST(0.3, compress=compress, relation=relation)
    other = data[:-1] if relation == "add_remove" else np.vstack([data[:-1], [[1, 2, 1]]])
    claim = selection.guarantee(domain)
    for loss in losses(selection, Neighbours(other, data, relation), domain, size):
        ratio = np.exp(-loss)
        assert abs(ratio.mean() - 1.0) < stats.norm.isf(FALSE_ALARM / 2) * ratio.std() / math.sqrt(size)
        for epsilon in (0.0, 0.5, 1.0):
            seen = np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - loss))).mean()
            assert seen <= claim.delta(epsilon) + math.sqrt(math.log(1 / FALSE_ALARM) / (2 * size))


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_exact_curve_is_what_the_densities_show_on_the_worst_case(relation):
    size, selection = 15_000, MST(0.5, relation=relation)
    truth, claim = selection.exact_guarantee(BITS), selection.guarantee(BITS)
    both = list(losses(selection, selection.worst_case(BITS), BITS, size))
    limit = math.sqrt(math.log(20 / FALSE_ALARM) / (2 * size))
    for epsilon in (0.0, 0.5, 1.0, 2.0, 3.0):
        seen = max(np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - loss))).mean() for loss in both)
        assert truth.delta(epsilon) == pytest.approx(seen, abs=limit)
        assert truth.delta(epsilon) <= claim.delta(epsilon)


def test_worst_case_comes_near_the_claim_and_choices_are_a_part_of_it():
    selection = MST(0.5)
    truth, claim = (one.epsilon(1e-5) for one in (selection.exact_guarantee(BITS), selection.guarantee(BITS)))
    assert 0.85 * claim < truth < claim
    assert truth > MST(0.5, relation="replace_one").exact_guarantee(BITS).epsilon(1e-5) * 1.1


def test_worst_case_fits_domains_of_any_shape_and_has_no_rare_values():
    for shape in ({"a": 2, "b": 5, "c": 3}, {"a": 2, "b": 2, "c": 2, "d": 4}, {"a": 3, "b": 2}):
        domain = Domain(shape)
        pair = MST(0.5).worst_case(domain)
        if len(domain.names) > 2:
            data = CodedTable.of(domain, pair.d0)
            assert min(data.marginal((name,)).min() for name in domain.names) > 4 * MST(0.5).noise(domain).one_way
    assert MST(0.5).exact_guarantee(Domain({"a": 2, "b": 2})) is None
    assert MST(1e-6).exact_guarantee(BITS) is None


def test_merged_values_keep_the_total_and_spread_evenly():
    counts, kept = np.array([[5.0, 1.0, 7.0, 2.0]]), np.array([[True, False, True, False]])
    np.testing.assert_array_equal(merged(counts, kept), [[5.0, 0.0, 7.0, 0.0, 3.0]])
    np.testing.assert_array_equal(spread(merged(counts, kept), kept), [[5.0, 1.5, 7.0, 1.5]])
    np.testing.assert_array_equal(present(kept), [[True, False, True, False, True]])
    assert not present(np.ones((1, 3), dtype=bool))[0, 3]


def test_nearest_counts_solve_the_quadratic_program():
    rng = np.random.default_rng(3)
    for _ in range(5):
        answers, variances = rng.normal(2, 6, (1, 5)), rng.uniform(0.5, 4, (1, 5))
        result = _nearest_counts(answers, variances, np.array([[True, True, False, True, True]]), np.array([9.0]))[0]
        solved = optimize.minimize(
            lambda x, a=answers[0], v=variances[0]: (((x - a) ** 2 / v)[[0, 1, 3, 4]]).sum(),
            np.full(5, 1.8) * [1.25, 1.25, 0, 1.25, 1.25],
            bounds=[(0, None), (0, None), (0, 0), (0, None), (0, None)],
            constraints={"type": "eq", "fun": lambda x: x.sum() - 9.0},
            options={"ftol": 1e-12},
        )
        np.testing.assert_allclose(result, solved.x, atol=1e-4)


def test_transcript_has_the_round_of_each_pair_and_the_measurements():
    selection, data = MST(0.3), table()
    measured = selection.measure(data, None, 6, np.random.default_rng(0))
    shown = selection.transcript(DOMAIN, measured, 6)
    assert shown.shape == (6, 3 + 7 + 16)
    assert (np.sort(shown[:, :3], axis=1) == [0, 1, 2]).all()
    for pair, columns in ((0, slice(10, 16)), (1, slice(16, 20)), (2, slice(20, 26))):
        assert ((shown[:, columns] != 0).any(axis=1) == (shown[:, pair] > 0)).all()


def test_tree_follows_the_dependences_where_there_is_budget():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 4000)
    b = np.where(rng.random(4000) < 0.9, a, 1 - a) + (rng.random(4000) < 0.1) * (a == 1)
    c = np.where(rng.random(4000) < 0.8, np.minimum(b, 1), rng.integers(0, 2, 4000))
    shown = SelectMeasureGenerate(DOMAIN, MST(1.0), DirectGenerator()).release(np.column_stack([a, b, c]), 20, rng)
    assert (shown.values[:, [0, 2]] > 0).all()


def test_a_pipeline_publishes_tables_and_is_audited_by_its_law():
    mechanism = SelectMeasureGenerate(DOMAIN, MST(0.3), TreeModel(), view="table", n_rows=40)
    assert mechanism.release(table().records, 5, np.random.default_rng(0)).values.shape == (5, 40, 3)
    assert mechanism.output_law() is None
    assert SelectMeasureGenerate(DOMAIN, MST(0.3), TreeModel()).output_law() is not None


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"rho": 0.0}, "rho"),
        ({"rho": 1.0, "relation": "zero_out"}, "relation"),
        ({"rho": 1.0, "compress": 1}, "compress"),
        ({"rho": 1.0, "penalty": -0.5}, "penalty"),
    ],
)
def test_bad_options_are_refused_by_name(options, argument):
    with pytest.raises(ParameterError) as caught:
        MST(**options)
    assert caught.value.argument == argument


def test_a_single_attribute_has_no_tree():
    with pytest.raises(ParameterError, match="at least two attributes"):
        SelectMeasureGenerate(Domain({"a": 2}), MST(1.0), DirectGenerator())
