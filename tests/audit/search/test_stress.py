"""Audits on hostile data: pairs, level, outcomes, the reported pair, and the causes of false claims that they find."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.audit.search.false_claims import BY_DATA, BY_RELATION, VALUES, Cause, bounded_sum, known

from dpassay.audit import StressResult, audit, stress
from dpassay.audit.search import PairOutcome
from dpassay.audit.search.hostile import FAMILIES
from dpassay.audit.search.hostile.forms import code_of, json_of
from dpassay.audit.search.hostile.pairs import hostile_pairs
from dpassay.mechanisms import Gaussian, Laplace, Neighbours
from dpassay.mechanisms.accounting import ApproximateDP, PureDP
from dpassay.mechanisms.core import ParameterError, Relation, ReleaseError, ResultError, check_different
from dpassay.mechanisms.core.records import check_records

BOTH = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
FEW = 240
"""Runs a side that show a difference of both sides without noise, and no more."""


def all_but(*families: str) -> list[str]:
    return [name for name in FAMILIES if name not in families]


def stressed(function: Any, example: Any = VALUES, *families: str, **options: Any) -> StressResult:
    """The audits of some families with few trials."""
    usual = {"claim": PureDP(1.0), "trials": FEW, "seed": 0, "confidence": 1 - 1e-6, "relation": "add_remove"}
    return stress(function, example, without=all_but(*families), **usual | options)


def noisy(dataset, rng):
    return np.sum(dataset) + rng.laplace()


# --- pairs ----------------------------------------------------------------------------------------------------

COLLECTIONS = {
    "array": (np.array([0.2, 0.7, 0.5]), (0, 1)),
    "list": ([0.2, 0.7, 0.5], None),
    "integers": (np.array([3, 1, 2]), (0, 5)),
    "texts": (["a", "b", "a"], ["a", "b", "c"]),
    "rows": (np.array([[0.2, 1.0], [0.3, 0.0]]), None),
    "dicts": ([{"age": 30.0, "sex": "m"}, {"age": 50.0, "sex": "f"}], {"age": (0, 100), "sex": ["m", "f"]}),
    "series": (pd.Series([0.2, 0.7, 0.5], name="x"), (0, 1)),
    "frame": (pd.DataFrame({"age": [30, 50], "sex": ["m", "f"]}), None),
    "arrays": ((np.array([[0.2, 1.0], [0.3, 0.0]]), np.array([1, 0])), [(0, 1), (0, 1), (0, 1)]),
    "lists": (([[0.2, 1.0], [0.3, 0.0]], ["a", "b"], [0.5, 0.1]), None),
    "frame and series": ((pd.DataFrame({"age": [30.0, 50.0]}), pd.Series([1, 0], name="y")), None),
}


@pytest.mark.parametrize("name", COLLECTIONS)
def test_pairs_are_neighbours_in_the_form_of_the_example(name: str) -> None:
    example, bounds = COLLECTIONS[name]
    made = hostile_pairs(example, BOTH, bounds=bounds)
    assert len(made.pairs) > 35
    for pair in made.pairs:
        check_records(pair.neighbours)
        if not pair.foreign:
            assert isinstance(pair.neighbours.d0, type(example))
            assert isinstance(pair.neighbours.d1, type(example))
    assert {pair.neighbours.relation for pair in made.pairs} == set(BOTH)
    assert [list(FAMILIES).index(pair.family) for pair in made.pairs] == sorted(
        list(FAMILIES).index(pair.family) for pair in made.pairs
    )


@pytest.mark.parametrize("name", ["arrays", "lists", "frame and series"])
def test_aligned_parts_keep_their_form_and_their_length(name: str) -> None:
    example, bounds = COLLECTIONS[name]
    hostile = set()
    for pair in hostile_pairs(example, BOTH, bounds=bounds).pairs:
        for side in (pair.neighbours.d0, pair.neighbours.d1):
            assert len({len(part) for part in side}) == 1
            assert pair.foreign or [type(part) for part in side] == [type(part) for part in example]
            hostile |= {at for at, part in enumerate(side) if "nan" in code_of(part)}
        assert json_of(pair.neighbours.d1) == ""  # the command line reads lists
    assert hostile == set(range(len(example)))


def test_a_label_that_may_be_nan_is_found_in_aligned_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    def moments(dataset, size, rng):
        features, labels = np.asarray(dataset[0], dtype=float), np.asarray(dataset[1], dtype=float)
        inside = np.where(np.isnan(features), 0.0, features).clip(0, 1)
        return (inside.sum(axis=1) * labels.clip(0, 1)).sum() + rng.laplace(scale=2, size=size)

    monkeypatch.setattr(sys.modules["dpassay.audit.search.stress"], "MAX_REFUTED", 1)  # each has its fresh processes
    example = (np.array([[0.2, 0.7], [0.4, 0.1], [0.9, 0.3]]), np.array([0.5, 1.0, 0.2]))
    result = stressed(moments, example, "nan", bounds=(0, 1))
    assert result.verdict.value == "violation"
    assert "np.array" in result.summary()


def test_all_kinds_of_data_occur() -> None:
    used = {
        pair.family
        for example, bounds in COLLECTIONS.values()
        for pair in hostile_pairs(example, BOTH, bounds=bounds).pairs
    }
    used |= {pair.family for pair in hostile_pairs(np.array([0.1, 0.2]), BOTH, records=False).pairs}
    used |= {pair.family for pair in hostile_pairs(VALUES, BOTH, bounds=(0, 1), takes_bounds=True).pairs}
    assert used == set(FAMILIES)


@pytest.mark.parametrize("example", [3, "a", 0.5, np.array([0.1, 0.2]), [0, 2, 1], {"w": np.array([0.1, 0.2])}])
def test_single_values_differ(example: Any) -> None:
    made = hostile_pairs(example, [Relation.REPLACE_ONE], records=False)
    assert len(made.pairs) >= 6
    for pair in made.pairs:
        check_different(pair.neighbours)


def test_no_pair_occurs_twice() -> None:
    made = hostile_pairs(VALUES, BOTH, bounds=(0, 1))
    texts = [(code_of(p.neighbours.d0), code_of(p.neighbours.d1), p.neighbours.relation) for p in made.pairs]
    assert len(set(texts)) == len(texts)


def test_names_of_pairs_hold_no_values() -> None:
    secret = np.array([0.123457, 0.765432])
    assert not [p.words for p in hostile_pairs(secret, BOTH).pairs if "123" in p.words or "765" in p.words]
    texts = ["private-a", "private-b"]
    assert not [p.words for p in hostile_pairs(texts, BOTH).pairs if "private" in p.words]


def test_whole_numbers_stay_whole_except_for_foreign_values() -> None:
    for pair in hostile_pairs(np.array([3, 1]), BOTH, bounds=(0, 5)).pairs:
        assert pair.foreign or pair.neighbours.d1.dtype.kind == "i"


@pytest.mark.parametrize(
    "dataset",
    [
        np.array([0.5] * 3000 + [1.0]),
        [1.0, math.nan, math.inf],
        [{"a": 1, "b": "x"}],
        np.array([[1, 2], [3, 4]]),
        "é'",
        (np.array([[1.0], [2.0]]), ["a", "b"]),
    ],
)
def test_code_of_a_dataset_makes_it_again(dataset: Any) -> None:
    again = eval(code_of(dataset), {"np": np, "nan": math.nan, "inf": math.inf})
    np.testing.assert_equal(again, dataset)


def test_long_datasets_have_no_json() -> None:
    assert json_of(np.zeros(3000)) == ""


@pytest.mark.parametrize(
    ("example", "options", "said"),
    [
        ([], {}, "no record"),
        ([object()], {}, "numbers, texts, or rows"),
        ((VALUES, VALUES[1:]), {}, "aligned parts"),
        ((0.2, 0.7), {}, "aligned parts"),
        (VALUES, {"bounds": (1, 0)}, "low < high"),
        (["a"], {"bounds": 3}, "list of all"),
        (VALUES, {"without": ["nans"]}, "nans"),
        (None, {}, "example"),
    ],
)
def test_what_cannot_be_used_is_named(example: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        stress(noisy, example, claim=PureDP(1.0), seed=0, **options)


# --- level ----------------------------------------------------------------------------------------------------


def test_the_significance_is_divided_among_all_pairs() -> None:
    result = stressed(bounded_sum, VALUES, "order", "missing", "thousands", confidence=0.9)
    assert result.n_tests == len(result.pairs) + 1  # and the place of the pair that runs may find
    assert 1 - result.reported.confidence <= 0.1 / result.n_tests
    assert 1 - result.reported.confidence > 0.0999 / result.n_tests
    assert any(f"/ {result.n_tests} for each" in entry.correction for entry in result.reported.ledger)


@pytest.mark.slow
def test_a_tight_claim_is_refuted_no_more_often_than_stated() -> None:
    """Randomised response on whether one record is there: all pairs of the orders and sizes are tight at claim 1."""

    def response(dataset, size, rng):
        return (len(dataset) % 2) ^ (rng.random(size) < 1 / (1 + math.e))

    n, wrong = 60, 0
    for seed in range(n):
        result = stressed(response, VALUES, "order", "sizes", seed=seed, confidence=0.8, trials=200)
        wrong += result.verdict.value == "violation"
    assert wrong <= 32  # binomial(60, .2): exceeded with probability below 1e-6


# --- outcomes -------------------------------------------------------------------------------------------------


def raises_on_nan(dataset, rng):
    if np.isnan(dataset).any():
        raise ValueError("NaN")
    return known(dataset).sum() + rng.laplace()


def test_an_exception_on_one_side_is_an_outcome() -> None:
    result = stressed(raises_on_nan, VALUES, "nan")
    by_words = {pair.words: pair.outcome for pair in result.pairs}
    assert by_words["one NaN"] is PairOutcome.VIOLATION
    assert result.pair.words == "one NaN"
    assert "ValueError" in result.summary()


def test_the_same_exception_on_both_sides_is_refused() -> None:
    def release(dataset, rng):
        if len(dataset) and np.isnan(np.asarray(dataset, dtype=float)).sum() > 50:
            raise ValueError("too many NaN")
        return known(dataset).sum() + rng.laplace()

    result = stressed(release, VALUES, "nan")
    assert {p.outcome for p in result.pairs if "others" in p.words} == {PairOutcome.REFUSED}
    assert result.verdict.value == "consistent"
    assert "pairs refused" in result.summary()


def test_code_that_raises_on_another_type_refuses_it() -> None:
    result = stressed(sum_of_floats, VALUES, "missing", "order")
    assert {pair.family: pair.outcome.value for pair in result.pairs} == {"missing": "refused", "order": "consistent"}


def sum_of_floats(dataset, rng):
    return dataset.clip(0, 1).sum() + rng.laplace()


def test_a_call_that_hangs_on_one_side_refutes_one_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are played here: only one pair is tested, since each of its runs takes a process and the limit."""
    sides: list[int] = []

    def answers(source, neighbours, style, call, seconds, *, number):
        sides.append(call.side)
        return bool(np.isfinite(neighbours.side(call.side)).all())

    def waits(dataset, rng):
        while not np.isfinite(dataset).all():
            time.sleep(0.01)
        return known(dataset).sum() + rng.laplace()

    monkeypatch.setattr("dpassay.audit.games.no_answer.answers_within", answers)
    result = stressed(waits, VALUES, "nan", "infinite", "order", timeout=0.1, confidence=0.95)
    outcomes = {name: [pair.outcome for pair in result.pairs if pair.family == name] for name in ("nan", "infinite")}
    assert outcomes["nan"].count(PairOutcome.VIOLATION) == 1
    assert set(outcomes["infinite"]) == {PairOutcome.NO_ANSWER}
    assert len(sides) == 3 + 2 * result.reported.trials.evaluation
    assert result.verdict.value == "violation"
    assert "no answer within 0.1 s" in result.summary()
    assert "no answer within the time limit" in result.summary(details=False)


def test_without_an_audited_pair_the_reason_is_said() -> None:
    def broken(dataset, rng):
        raise KeyError("x")

    with pytest.raises(ReleaseError, match=r"no pair could be audited.*KeyError"):
        stressed(broken, VALUES, "order")


def test_further_pairs_of_a_refuted_kind_are_not_needed() -> None:
    result = stressed(lambda dataset, rng: float(np.sum(dataset)), VALUES, "ordinary", "sizes", "equal")
    refuted = result.with_outcome(PairOutcome.VIOLATION)
    assert len({(pair.family, pair.relation) for pair in refuted}) == len(refuted) == 3
    assert result.with_outcome(PairOutcome.SKIPPED)


def test_the_reported_pair_is_the_shortest() -> None:
    result = stressed(lambda dataset, rng: float(np.sum(dataset)), VALUES, "ordinary", "sizes")
    assert result.pair.length == min(pair.length for pair in result.with_outcome(PairOutcome.VIOLATION))
    assert result.pair.family == "sizes"


def test_the_repetition_of_the_reported_pair_finds_it_again() -> None:
    result = stressed(sum_of_nan_many, VALUES, "nan")
    rows = dict(result.text().examples)
    names = {"audit": audit, "sum_of_nan_many": sum_of_nan_many, "PureDP": PureDP, "Neighbours": Neighbours, "np": np}
    imported, _, call = rows["in Python"].rpartition("; ")
    exec(imported, names)
    again = eval(call, names)
    assert (again.verdict, again.bound.epsilon) == (result.verdict, result.bound.epsilon)
    assert "--d1 '[" in rows["repeat"]
    assert "NaN]' --relation add_remove" in rows["repeat"]


def sum_of_nan_many(dataset, size, rng):
    return dataset.clip(0, 1).sum() + rng.laplace(size=size)


def test_bounds_far_from_0_reach_a_function_with_such_a_parameter() -> None:
    def release(dataset, rng, bounds=(0, 1)):
        low, high = bounds
        return np.nansum(dataset.clip(low, high)) + rng.laplace(scale=high - low)

    result = stressed(release, VALUES, "shifted", "ordinary", bounds=(0.0, 1.0), relation="replace_one")
    refuted = result.with_outcome(PairOutcome.VIOLATION)
    assert {pair.family for pair in refuted} == {"shifted"}
    assert result.pair.bounds == "(100.0, 101.0)"
    assert "bounds=(100.0, 101.0)" in dict(result.text().examples)["in Python"]


def test_the_number_of_records_that_changes_the_behaviour_is_found() -> None:
    def release(dataset, rng):
        if len(dataset) >= 777:
            raise OverflowError
        return known(dataset).sum() + rng.laplace()

    result = stressed(release, VALUES, "thousands", "order", trials=480)
    (found,) = result.with_outcome(PairOutcome.VIOLATION)
    assert found.code1 == "np.array([0.5] * 777)"


# --- relations and mechanisms ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cause", BY_RELATION, ids=lambda cause: cause.name)
def test_without_a_relation_the_result_says_for_which_the_claim_is_refuted(cause: Cause) -> None:
    relations = {"mean_with_exact_number": "add_remove", "sum_for_replace": "add_remove"}
    wrong = relations.get(cause.name, "replace_one")
    family, trials = ("sizes", 6_000) if cause.name == "mean_with_exact_number" else ("order", 1_000)
    result = stressed(
        cause.function, cause.example, family, relation=None, bounds=cause.bounds, trials=trials, confidence=0.999
    )
    assert result.relations == ("add_remove", "replace_one")
    assert [name for name in result.relations if result.refuted_for(name)] == [wrong]
    other = {"add_remove", "replace_one"} - {wrong}
    assert f"refuted for {wrong} only, and not for {other.pop()}" in result.text().answer


def test_the_relation_of_a_claim_is_taken() -> None:
    result = stressed(bounded_sum, VALUES, "order", claim=PureDP(1.0, relation="replace_one"), relation=None)
    assert result.relations == ("replace_one",)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("mechanism", [Laplace(epsilon=1.0), Gaussian(sensitivity=1.0, noise_multiplier=1.0)], ids=str)
def test_right_mechanisms_refuse_or_pass(mechanism: Any) -> None:
    result = stress(mechanism, trials=200, seed=0, delta=1e-5, without=["thousands"])
    assert result.verdict.value == "consistent"
    assert result.relations == (mechanism.relation.value,)


# --- saved ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def refuted() -> StressResult:
    return stressed(sum_of_nan_many, VALUES, "nan", "order")


def test_another_reported_pair_is_refused(refuted: StressResult) -> None:
    others = [place for place, pair in enumerate(refuted.pairs) if pair.outcome is PairOutcome.CONSISTENT]
    with pytest.raises(ResultError, match="reported"):
        StressResult.from_json(replace(refuted, index=others[0]).to_json())


def test_builds_get_no_values(refuted: StressResult) -> None:
    shown = "\n".join(refuted.without_values().text().sentences())
    assert "0.7" not in shown
    assert refuted.text().headline == refuted.without_values().text().headline
    assert "0.7" in refuted.summary()


def test_the_same_seed_gives_the_same_bytes(refuted: StressResult) -> None:
    assert stressed(sum_of_nan_many, VALUES, "nan", "order").to_json() == refuted.to_json()


# --- causes of false claims -----------------------------------------------------------------------------------


def run(cause: Cause, function: Any, **options: Any) -> StressResult:
    claim = ApproximateDP(cause.epsilon, cause.delta) if cause.delta else PureDP(cause.epsilon)
    usual = {"relation": cause.relation, "records": cause.records, "confidence": 1 - 1e-6, "seed": 0, "timeout": 2.0}
    return stress(function, cause.example, claim=claim, bounds=cause.bounds, **usual | options)


@pytest.mark.parametrize(
    "cause",
    [c for c in BY_DATA if c.name in ("one_sided_count", "clipped_update", "scalars_without_noise")],
    ids=lambda c: c.name,
)
def test_false_claims_are_found(cause: Cause) -> None:
    assert run(cause, cause.function, trials=FEW).verdict.value == "violation"


@pytest.mark.slow
@pytest.mark.parametrize("cause", [*BY_DATA, *BY_RELATION], ids=lambda cause: cause.name)
def test_false_claims_are_found_from_an_ordinary_example(cause: Cause, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["dpassay.audit.search.stress"], "MAX_REFUTED", 1)
    assert run(cause, cause.function).verdict.value == "violation"


@pytest.mark.slow
@pytest.mark.parametrize("cause", [cause for cause in BY_DATA if cause.twin is not None], ids=lambda cause: cause.name)
def test_right_twins_are_not_refuted(cause: Cause) -> None:
    result = run(cause, cause.twin, trials=200)
    assert result.with_outcome(PairOutcome.VIOLATION) == []
    assert result.verdict.value == "consistent"


def test_the_line_of_python_gives_the_bounds_and_their_imports_once():
    def release(dataset, rng, bounds):
        return np.clip(dataset, *bounds).sum() + (bounds[1] - bounds[0]) * rng.laplace()

    without = [family for family in FAMILIES if family not in ("ordinary", "shifted")]
    result = stress(
        lambda dataset, rng, bounds=(0, 1): release(dataset, rng, bounds),
        np.array([0.2, 0.7]),
        claim=PureDP(1.0), bounds=(0, 1), relation="add_remove", trials=200, seed=0, without=without,
    )  # fmt: skip
    (line,) = (text for label, text in result.text().examples if label == "in Python")
    assert line.startswith("from functools import partial; audit(partial(")
    assert line.count("partial(") == 1
