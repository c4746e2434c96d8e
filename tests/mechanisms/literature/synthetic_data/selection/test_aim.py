"""AIM: what it may choose, what it spends, and the exact law of all that it shows."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms import ConcentratedDP
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.synthetic_data import AIM, CodedTable, DirectGenerator, SelectMeasureGenerate
from dpassay.mechanisms.literature.synthetic_data.generators.junction_tree import MEGABYTE, model_size
from dpassay.mechanisms.literature.synthetic_data.selection.aim import AIMCandidates, AveragedMeasurements
from dpassay.mechanisms.noise.queries.domain import Domain

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
GENERATOR = DirectGenerator(n_steps=60, tolerance=0.01)
FALSE_ALARM = 1e-6


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    leader = rng.integers(0, 2, n)
    columns = [np.where(rng.random(n) < 0.6, leader, rng.integers(0, size, n)) for size in DOMAIN.shape]
    return CodedTable.of(DOMAIN, np.column_stack(columns))


def runs(selection, data, size, seed=0):
    """Transcripts, one row a round: candidate, deviation, answers."""
    measured = selection.measure(data, GENERATOR, size, np.random.default_rng(seed))
    shown = selection.transcript(DOMAIN, measured, size)
    return shown, shown.reshape(size, selection.most_rounds(DOMAIN), -1)


def test_candidates_are_workload_parts_weighted_by_shared_attributes():
    selection = AIM(1.0, workload=(("c", "b"), ("a", "b")))
    assert selection.candidates(DOMAIN) == (("a",), ("b",), ("c",), ("a", "b"), ("b", "c"))
    assert selection.weights(DOMAIN).tolist() == [1.0, 2.0, 1.0, 3.0, 3.0]
    assert len(AIM(1.0, workload=3).candidates(DOMAIN)) == 7


@pytest.mark.parametrize(("relation", "measuring"), [("add_remove", 0.9), ("replace_one", 0.9), ("add_remove", 0.2)])
def test_every_run_spends_the_whole_budget_and_no_more(relation, measuring):
    """With 0.2, attributes cost so little that the budget is enough for more rounds than `rounds`."""
    selection = AIM(0.5, workload=2, rounds=9, measuring=measuring, relation=relation)
    moved = 1 if relation == "add_remove" else 2
    _, rounds = runs(selection, table(), 40)
    for run in rounds:
        costs = []
        for number, (candidate, deviation) in enumerate(run[run[:, 0] > 0, :2]):
            measuring = moved / (2 * deviation**2)
            costs.append(measuring)
            if number < 3:
                assert candidate == number + 1
            else:
                costs.append(float(selection.choice_epsilon(np.array(deviation))) ** 2 / 8)
        assert sum(costs) == pytest.approx(0.5)
    assert selection.guarantee(DOMAIN).epsilon(1e-6) == ConcentratedDP(0.5).epsilon(1e-6)


def test_a_transcript_has_room_for_what_the_single_attributes_leave():
    """Without a choice they cost half of a round each: 2.5 of 4 parts are left for two rounds more."""
    selection, data = AIM(0.5, workload=2, rounds=4, measuring=0.5), table()
    shown, rounds = runs(selection, data, 10)
    assert ((rounds[:, :, 0] > 0).sum(axis=1) == 5).all()
    assert np.isfinite(selection.log_density(shown, data, GENERATOR)).all()
    assert selection.most_rounds(DOMAIN) == 5


def test_noise_is_halved_where_little_is_learned():
    """Independent attributes and a large budget a round: the model hardly moves, so that few rounds are made."""
    rng = np.random.default_rng(0)
    data = CodedTable.of(DOMAIN, np.column_stack([rng.integers(0, n, 500) for n in DOMAIN.shape]))
    _, rounds = runs(AIM(0.5, workload=2, rounds=40), data, 10)
    used = (rounds[:, :, 0] > 0).sum(axis=1)
    assert (used < 20).all()
    deviations = rounds[0, 3 : used[0] - 1, 1]
    ratios = deviations[1:] / deviations[:-1]
    assert np.isclose(ratios, 0.5).any()
    assert (np.isclose(ratios, 0.5) | np.isclose(ratios, 1.0)).all()


def test_a_choice_follows_the_exponential_mechanism_worked_out_by_hand():
    selection, data = AIM(0.4, workload=2, rounds=8), table(80)
    cost = 0.4 / 8
    deviation = 1 / math.sqrt(2 * 0.9 * cost)
    epsilon = math.sqrt(8 * 0.1 * cost)
    one_run = selection.measure(data, GENERATOR, 1, np.random.default_rng(0))
    fitted = GENERATOR.fit(DOMAIN, one_run[:3], np.random.default_rng(0))
    weights = {
        names: sum(len({*names} & {*w}) for w in combinations("abc", 2)) for names in selection.candidates(DOMAIN)
    }
    scores = np.array(
        [
            weight
            * (
                np.abs(data.marginal(names) - fitted.marginal(names)[0]).sum()
                - math.sqrt(2 / math.pi) * deviation * len(data.marginal(names))
            )
            for names, weight in weights.items()
        ]
    )
    by_hand = np.exp(epsilon * scores / (2 * max(weights.values())))
    by_hand /= by_hand.sum()
    setting = AIMCandidates.of(selection, DOMAIN)
    collected = AveragedMeasurements(DOMAIN, setting.candidates, 1)
    for place, one in enumerate(one_run[:3]):
        collected.add(place, np.array([0]), one)
    spent = np.array([0.9 * 3 * cost + cost])
    odds = selection.log_odds(data, setting, setting.counts(fitted), collected, np.array([0]), np.array([cost]), spent)
    np.testing.assert_allclose(np.exp(odds[0]), by_hand, rtol=1e-9)


def test_density_ratios_average_to_one_and_the_claim_holds():
    """With a generator that stops early: the law is that of whatever it does."""
    size, selection, early = 1500, AIM(0.3, workload=2, rounds=6), DirectGenerator(n_steps=10)
    data = table(60)
    other = CodedTable.of(DOMAIN, data.records[1:])
    for own, against in ((data, other), (other, data)):
        shown = selection.transcript(DOMAIN, selection.measure(own, early, size, np.random.default_rng(0)), size)
        loss = np.subtract(*(selection.log_density(shown, one, early) for one in (own, against)))
        ratio = np.exp(-loss)
        assert abs(ratio.mean() - 1.0) < stats.norm.isf(FALSE_ALARM / 2) * ratio.std() / math.sqrt(size)
        assert loss.mean() <= 0.3 + 6 * loss.std() / math.sqrt(size)  # Renyi divergence of order 1
        assert loss.std() > 0.3


def test_choices_follow_the_odds_of_the_transcript():
    """log p(choice) + entropy of p averages to 0, whatever was measured before, if p is the law of the choice."""
    results = []

    class Watched(AIM):
        def log_odds(self, *args):
            results.append(super().log_odds(*args))
            return results[-1]

    size, early, data = 1000, DirectGenerator(n_steps=10), table(60)
    selection = Watched(4.0, workload=2, rounds=6, measuring=0.1)
    shown = selection.transcript(DOMAIN, selection.measure(data, early, size, np.random.default_rng(0)), size)
    rounds = shown.reshape(size, selection.most_rounds(DOMAIN), -1)[:, 3:, 0].astype(int)
    results.clear()
    selection.log_density(shown, data, early)
    surprise, variance = 0.0, 0.0
    for number, odds in enumerate(results):
        chosen = rounds[rounds[:, number] > 0, number] - 1
        chances = np.exp(odds)
        mean = (chances * odds).sum(axis=1)
        surprise += (odds[np.arange(len(chosen)), chosen] - mean).sum()
        variance += (chances * (odds - mean[:, None]) ** 2).sum()
    assert abs(surprise) < stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(variance)
    assert variance > 300


def test_marginals_that_make_the_model_too_large_are_left_out():
    selection = AIM(0.5, workload=3, rounds=8, largest_model=8.0 * 8 / MEGABYTE)
    _, rounds = runs(selection, table(), 20)
    sizes = [0, *map(len, selection.candidates(DOMAIN))]
    chosen = {sizes[number] for number in rounds[:, :, 0].astype(int).ravel()}
    assert chosen == {0, 1, 2} or chosen == {1, 2}


def test_a_limit_that_is_met_to_the_last_digit_is_met_in_the_law_as_well():
    """Half of the budget allows half of 24 cells, exactly: costs read from a transcript must not decide otherwise."""
    domain = Domain({"a": 2, "b": 3, "c": 2, "d": 2})
    data = CodedTable.of(domain, np.repeat(np.random.default_rng(0).integers(0, 2, size=(400, 1)), 4, axis=1))
    selection = AIM(0.37, workload=2, rounds=9, measuring=0.75, largest_model=8 * 24 / MEGABYTE)
    generator = DirectGenerator(n_steps=30, tolerance=0.1)
    shown = selection.transcript(domain, selection.measure(data, generator, 10, np.random.default_rng(1)), 10)
    assert np.isfinite(selection.log_density(shown, data, generator)).all()


def test_size_of_a_model_is_that_of_its_junction_tree():
    domain = Domain({"a": 2, "b": 3, "c": 5, "d": 7})

    def cells(*cliques):
        return round(model_size(domain, frozenset(cliques)) * MEGABYTE / 8)

    assert cells() == 2 + 3 + 5 + 7
    assert cells(("a", "b"), ("b", "c"), ("c", "d")) == 6 + 15 + 35
    assert cells(("a", "b"), ("b", "c"), ("a", "c")) == 30 + 7
    assert cells(("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")) in (30 + 70, 42 + 105)


def test_a_pipeline_with_a_deterministic_generator_is_audited_by_its_law():
    mechanism = SelectMeasureGenerate(DOMAIN, AIM(0.3, workload=2, rounds=5), GENERATOR)
    pair = mechanism.worst_case()
    outputs = mechanism.release(pair.d0, 30, np.random.default_rng(0))
    assert np.isfinite(mechanism.output_law().log_density(outputs, pair.d1)).all()
    assert mechanism.release(pair.d0, 0, np.random.default_rng(0)).values.shape == (0, outputs.values.shape[1])


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"rho": -1.0}, "rho"),
        ({"rho": 1.0, "measuring": 1.0}, "measuring"),
        ({"rho": 1.0, "rounds": 3}, "rounds"),
        ({"rho": 1.0, "relation": "zero_out"}, "relation"),
        ({"rho": 1.0, "workload": (("a", "x"),)}, "marginals"),
        ({"rho": 1.0, "largest_model": 0.0}, "largest_model"),
    ],
)
def test_bad_options_are_refused_by_name(options, argument):
    with pytest.raises(ParameterError) as caught:
        SelectMeasureGenerate(DOMAIN, AIM(**options), GENERATOR)
    assert caught.value.argument == argument
