"""What numbers do not show is kept where it varies: 1 or 1.0 or True, float32, the order of keys, a list or a tuple."""

import itertools
import time
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum

import numpy as np
import pandas as pd
import pytest

from dpassay.audit import Verdict, audit
from dpassay.mechanisms.accounting import PureDP
from dpassay.mechanisms.adapters.functions.forms import usual_form
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.adapters.functions.outcomes import collect, collect_array
from dpassay.mechanisms.adapters.functions.reading import read_result
from dpassay.mechanisms.adapters.functions.same_seed import same_outputs
from dpassay.mechanisms.core import Neighbours

PAIR = Neighbours([0], [0, 1], "add_remove")
SAME = {
    "1 and 1.0": (1, 1.0),
    "1 and True": (1, True),
    "float32": (1.0, np.float32(1.0)),
    "order of keys": ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}),
    "list and tuple": ([1.0, 2.0], (1.0, 2.0)),
    "list and array": ([1.0, 2.0], np.array([1.0, 2.0])),
    "arrays of float32": (np.ones(3), np.ones(3, dtype=np.float32)),
    "inside a dict": ({"a": 1, "b": [2.0]}, {"a": 1.0, "b": [2.0]}),
    "a list inside a tuple": (([1.0], [1.0, 2.0]), ((1.0,), [1.0, 2.0])),
}


COLOURS = Enum("COLOURS", "RED BLUE")
OTHERS = {
    "Decimal": (Decimal("1.5"), Decimal("2.5")),
    "date": (date(2026, 1, 1), date(2026, 1, 2)),
    "datetime": (datetime(2026, 1, 1, 1), datetime(2026, 1, 1, 2)),
    "timedelta": (timedelta(1), timedelta(2)),
    "datetime64": (np.datetime64("2026-01-01"), np.datetime64("2026-01-02")),
    "Timestamp": (pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-02")),
    "set": ({1, 2}, {1, 3}),
    "frozenset": (frozenset("ab"), frozenset("ac")),
    "dict_values": ({"a": 1}.values(), {"a": 2}.values()),
    "Enum": (COLOURS.RED, COLOURS.BLUE),
    "complex": (1 + 2j, 1 + 3j),
    "DataFrame": (pd.DataFrame({"a": [1.0], "b": ["x"]}), pd.DataFrame({"a": [1.0], "b": ["y"]})),
}
"""Pairs of results of less usual types, with different contents."""


@pytest.mark.parametrize("name", OTHERS)
def test_results_of_less_usual_types_are_outcomes(name):
    one, other = OTHERS[name]
    function = mechanism(lambda dataset, rng: one if len(dataset) == 1 else other)
    outputs, again, of_other = (
        function.release(side, 3, np.random.default_rng(0)) for side in (PAIR.d0, PAIR.d0, PAIR.d1)
    )
    assert same_outputs(outputs, again)
    assert not same_outputs(outputs, of_other)


def test_a_generator_is_read_as_a_list():
    function = mechanism(lambda dataset, rng: (value for value in (len(dataset), 2.0)))
    assert function.release(PAIR.d1, 2, np.random.default_rng(0)).values.tolist() == [[2.0, 2.0]] * 2
    zipped = mechanism(lambda dataset, rng: zip(dataset, dataset, strict=True))
    assert zipped.release(PAIR.d1, 1, np.random.default_rng(0)).events is None


def test_no_date_is_an_event():
    assert read_result(pd.NaT).label == "nan"
    assert read_result(np.datetime64("NaT")).label == "nan"


def mechanism(function):
    return FunctionMechanism(function, claim=PureDP(1.0), neighbours=PAIR)


@pytest.mark.parametrize("name", SAME)
def test_results_that_differ_in_their_types_alone_are_told_apart(name):
    one, other = SAME[name]
    function = mechanism(lambda dataset, rng: one if len(dataset) == 1 else other)
    outputs, of_other = (function.release(side, 3, np.random.default_rng(0)) for side in (PAIR.d0, PAIR.d1))
    assert outputs.events is None
    assert of_other.events is None
    assert (outputs.values != of_other.values).any()


@pytest.mark.parametrize("name", SAME)
def test_one_type_alone_adds_nothing(name):
    for result in SAME[name]:
        rows = [read_result(result)] * 4
        assert usual_form(rows).plain
        assert collect([result] * 4, usual_form(rows)).values.size == 4 * rows[0].numbers.size


@pytest.mark.parametrize("name", ["1 and 1.0", "1 and True", "float32", "order of keys", "list and tuple"])
def test_a_type_that_the_first_runs_did_not_show_is_an_event(name):
    usual, strange = SAME[name]
    events = collect([usual, strange, usual], usual_form([read_result(usual)])).events.tolist()
    assert [bool(label) for label in events] == [False, True, False]
    assert events[1].startswith("type ")


def test_a_number_of_another_type_inside_of_a_list_is_no_event():
    usual = usual_form([read_result([1.5, 2.5]), read_result([0.5, 0.25])])
    assert collect([[1.5, 2.5], [0, 0], [0, 1.5]], usual).events is None


def test_python_and_numpy_have_one_name_for_a_number():
    for alike in ((1.0, np.float64(1.0)), (1, np.int64(1)), (True, np.True_)):
        assert usual_form(map(read_result, alike)).plain
        assert collect(alike, usual_form([read_result(alike[0])])).events is None


def test_exceptional_values_have_no_type():
    form = usual_form(
        [read_result({"a": 1.0, "b": "x"}), read_result({"a": None, "b": 2.0}), read_result({"a": 1.0, "b": 2.0})]
    )
    assert not form.typed
    assert form.exceptional == (0, 1)


def test_many_runs_at_once_are_read_like_single_ones():
    form = usual_form([read_result(np.float64(1.0)), read_result(np.int64(2))])
    for array in (np.arange(4), np.arange(4.0), np.array([0.0, np.nan, 1.0])):
        fast, slow = collect_array(array, form), collect([*array, None], form)
        np.testing.assert_array_equal(fast.values, slow.values[:-1])
        assert (fast.events is None and not slow.events[:-1].any()) or fast.events.tolist() == slow.events[:-1].tolist()


def test_a_side_that_returns_whole_numbers_as_floats_is_caught(without_power):
    def release(dataset, rng):
        answer = round(sum(dataset) + rng.laplace(scale=2.0))
        return float(answer) if sum(dataset) else answer

    result = audit(release, PAIR, claim=PureDP(0.5), trials=2_000, seed=0)
    assert result.verdict is Verdict.VIOLATION
    assert result.bound.epsilon > 3.0


def test_a_type_that_varies_alike_on_both_sides_is_no_leak(without_power):
    def release(dataset, rng):
        return max(0, sum(dataset) + rng.laplace(scale=2.0))

    assert audit(release, PAIR, claim=PureDP(0.5), trials=2_000, seed=0).verdict is Verdict.CONSISTENT


def test_reading_many_numbers_of_two_types_takes_little_time():
    numbers = list(itertools.islice(itertools.cycle([0, 1.5]), 200_000))
    form = usual_form([read_result(0), read_result(1.5)])
    start = time.process_time()
    collect(numbers, form)
    assert time.process_time() - start < 1.0
