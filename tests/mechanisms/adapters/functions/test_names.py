"""The numbers of a result have the names that its author gave them, in the order in which they are read."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from dpassay.mechanisms import Neighbours, PureDP
from dpassay.mechanisms.adapters.functions.forms import OutputRow, ResultForm, usual_form
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.adapters.functions.names import MAX_NAMES, ResultNames, common_names, names_of
from dpassay.mechanisms.adapters.functions.outcomes import collect
from dpassay.mechanisms.adapters.functions.reading import read_result

PAIR = Neighbours([1.0], [1.0, 2.0], "add_remove")
Stats = namedtuple("Stats", "mean n")


@dataclass
class Report:
    mean: float
    parts: list
    label: str = "ok"


RESULTS = {
    "dict": ({"b": 1.0, "a": 2.0}, {"output['a']": 2.0, "output['b']": 1.0}),
    "keys of two types": ({1: 1.0, "1": 2.0}, {"output[1]": 1.0, "output['1']": 2.0}),
    "nested": (
        {"a": [1.0, (2.0, 3.0)], "b": {"c": np.ones((1, 2))}},
        {
            "output['a'][0]": 1.0,
            "output['a'][1][0]": 2.0,
            "output['a'][1][1]": 3.0,
            "output['b']['c'][0, 0]": 1.0,
            "output['b']['c'][0, 1]": 1.0,
        },
    ),
    "named tuple": (Stats(1.5, 3), {"output.mean": 1.5, "output.n": 3.0}),
    "dataclass": (
        Report(0.5, [1.0, 2.0]),
        {"output.mean": 0.5, "output.parts[0]": 1.0, "output.parts[1]": 2.0, "output.label": 0.0},
    ),
    "dataclass inside": ([Report(0.5, []), 7.0], {"output[0].mean": 0.5, "output[0].label": 0.0, "output[1]": 7.0}),
    "frame": (
        pd.DataFrame({"x": [1.0, 2.0], "y": [3, 4]}),
        {"output['x'][0]": 1.0, "output['y'][0]": 3.0, "output['x'][1]": 2.0, "output['y'][1]": 4.0},
    ),
    "series": (pd.Series({"north": 1.0, "south": 2.0}), {"output['north']": 1.0, "output['south']": 2.0}),
    "matrix": (np.array([[1.0, 2.0]]), {"output[0, 0]": 1.0, "output[0, 1]": 2.0}),
    "mixed list": ([1.0, "a", None], {"output[0]": 1.0, "output[1]": 0.0, "output[2]": 0.0}),
}


@pytest.mark.parametrize(("result", "expected"), RESULTS.values(), ids=RESULTS)
def test_each_number_has_the_name_of_its_place(result, expected):
    row = read_result(result)
    assert isinstance(row, OutputRow)
    named = ["".join(name) for name in names_of(result, row.numbers.size)]
    assert dict(zip(named, row.numbers.tolist(), strict=True)) == expected


@pytest.mark.parametrize("result", [1.0, np.ones(3), [1.0, 2.0], (1, 2), np.ones(MAX_NAMES + 1)], ids=str)
def test_plain_numbers_have_indices_only(result):
    names = names_of(result, np.size(result))
    assert names in ((), (("output", ""),))
    assert ResultNames(ResultForm(np.shape(result)), names).name(1 if np.ndim(result) else None) in (
        "coordinate 1",
        "the output",
    )


def test_a_part_is_what_contains_a_number():
    frame = RESULTS["frame"][0]
    names = ResultNames(ResultForm((2, 2)), names_of(frame, 4))
    assert [names.part(place) for place in range(4)] == ["output['x']", "output['y']"] * 2
    assert names.name(2) == "output['x'][1]"


def test_marks_belong_to_the_value_whose_text_they_stand_for():
    results = [{"kind": "ok", "mean": 1.5}, {"kind": "few", "mean": 2.5}]
    form = usual_form(map(read_result, results))
    outputs = collect(results, form)
    names = ResultNames(form, names_of(results[0], 2), outputs.texts)
    assert [names.name(place) for place in range(3)] == ["output['kind']", "output['mean']", "output['kind']"]
    assert [names.is_code(place) for place in range(3)] == [False, False, True]
    assert [names.value(2, row[2]) for row in outputs.values] == ["'ok'", "'few'"]
    assert [names.row(row) for row in outputs.values] == ["[kind = 'ok', mean = 1.5]", "[kind = 'few', mean = 2.5]"]
    assert ResultNames(form, names_of(results[0], 2)).row(outputs.values[0]) == "[kind = text, mean = 1.5]"


def test_lengths_and_forms_have_names_too():
    lists = usual_form(map(read_result, [[1.0], [1.0, 2.0]]))
    assert ResultNames(lists).name(2) == "the length of the output"
    assert not ResultNames(lists).is_code(2)
    results = [{"a": 1.0}, {"a": 1.0, "b": 2.0}]
    dicts = usual_form(map(read_result, results))
    names = ResultNames(dicts, common_names(names_of(result, len(result)) for result in results))
    placed = collect(results, dicts).values
    assert [names.name(place) for place in range(3)] == ["output['a']", "output['b']", "the form of the output"]
    assert [names.value(2, row[2]) for row in placed] == ["keys a", "keys a, b"]


def test_a_place_with_two_names_has_none():
    assert common_names([(("output['a']", ""),), (("output['b']", ""),)]) == (("number 0 of the output", ""),)
    assert common_names([(), (("output['b']", ""),)]) == ()


@pytest.mark.parametrize("many", [dict, pd.DataFrame], ids=["dict", "frame"])
def test_columns_of_many_runs_have_names(many):
    def release(data, size, rng):
        return many({"b": rng.normal(size=size), "a": len(data) + rng.normal(size=size)})

    mechanism = FunctionMechanism(release, claim=PureDP(1.0), neighbours=PAIR)
    names = mechanism._output_names({})
    order = ["a", "b"] if many is dict else ["b", "a"]
    assert [names.name(place) for place in range(2)] == [f"output[{key!r}]" for key in order]


def test_names_change_no_fingerprint_and_survive_pickling():
    import cloudpickle

    from dpassay.mechanisms.core import describe

    def release(data, rng):
        return {"a": rng.normal(), "b": float(len(data))}

    mechanism = FunctionMechanism(release, claim=PureDP(1.0), neighbours=PAIR)
    before = describe(mechanism)
    copy = cloudpickle.loads(cloudpickle.dumps(mechanism))
    assert copy._output_names({}).name(1) == "output['b']"
    object.__setattr__(mechanism, "named", ())
    assert describe(mechanism) == before


def test_a_result_that_cannot_be_read_twice_has_no_names():
    class Once(dict):
        reads = 0

        def __iter__(self):
            Once.reads += 1
            if Once.reads > 1:
                raise SystemExit("read twice")
            return super().__iter__()

    assert names_of(Once(a=1.0), 1) == (("output['a']", ""),)
    assert names_of(Once(a=1.0), 1) == ()
