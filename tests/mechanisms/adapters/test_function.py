"""Python functions as mechanisms: ways of calling, exceptional outputs, refusals; objects named on the command line."""

import copy
import math
import pickle
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

from dpassay.mechanisms.accounting import PureDP
from dpassay.mechanisms.adapters.command import Command
from dpassay.mechanisms.adapters.functions.forms import RaisedException, ResultForm, by_name, usual_form
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.adapters.functions.guard import cut
from dpassay.mechanisms.adapters.functions.outcomes import collect, collect_array
from dpassay.mechanisms.adapters.functions.reading import read_result
from dpassay.mechanisms.adapters.functions.state import content_digest
from dpassay.mechanisms.adapters.functions.target import load_target, name_of, style_of
from dpassay.mechanisms.core.base import Neighbours, Workers
from dpassay.mechanisms.core.errors import (
    NeighboursError,
    ParameterError,
    RelationError,
    ReleaseError,
    UnknownNameError,
)

PAIR = Neighbours([1, 2], [1, 2, 3], "add_remove")
CLAIM = PureDP(1.0)


def one_run(dataset, rng):
    return len(dataset) + rng.laplace()


def many_runs(dataset, size, rng):
    return len(dataset) + rng.laplace(size=size)


def own_randomness(dataset):
    return float(len(dataset))


def wrap(function, **options):
    return FunctionMechanism(function, claim=CLAIM, neighbours=PAIR, **options)


def outcomes(function, size=8, side=1, **options):
    mechanism = wrap(function, **options)
    return mechanism.release(PAIR.side(side), size, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("function", "style"), [(one_run, "one-run"), (many_runs, "many-runs"), (own_randomness, "own-randomness")]
)
def test_function_is_called_as_its_parameters_say(function, style):
    mechanism = wrap(function)
    assert mechanism.style == style
    outputs = mechanism.release(PAIR.d1, 6, np.random.default_rng(0))
    assert outputs.values.shape == (6,)
    assert outputs.events is None
    assert outputs.values.dtype == np.float64


@pytest.mark.parametrize(
    ("function", "style"),
    [
        (lambda data, generator: 0, "one-run"),
        (lambda data, rng=None: 0, "one-run"),
        (lambda data, rng, epsilon=1.0: 0, "one-run"),
        (lambda data, n, rng: 0, "many-runs"),
        (lambda data, size=1, rng=None: 0, "many-runs"),
        (lambda data, scale=1.0: 0, "own-randomness"),
    ],
)
def test_default_arguments_do_not_confuse_the_call(function, style):
    assert style_of(function) == style


@pytest.mark.parametrize(
    ("function", "place", "name"),
    [
        (lambda rng, data: 0, 1, "rng"),
        (lambda data, size: 0, 2, "size"),
        (lambda size, data, rng: 0, 1, "size"),
        (lambda data, epsilon: 0, 2, "epsilon"),
        (lambda data, rng, size: 0, 2, "rng"),
    ],
)
def test_a_parameter_with_the_name_of_another_place_is_refused(function, place, name):
    with pytest.raises(ParameterError, match=rf"parameter {place} of <lambda> is called '{name}', but is given"):
        style_of(function)


@pytest.mark.parametrize("function", [lambda *args: 0, lambda data, *, rng: 0, lambda: 0, lambda a, b, c, d: 0])
def test_unclear_parameters_are_refused_with_a_way_out(function):
    with pytest.raises(ParameterError, match=r"release\(dataset, rng\).*style="):
        style_of(function)


def test_the_style_can_be_given():
    assert wrap(lambda *args: 1.0, style="one-run").style == "one-run"
    with pytest.raises(ParameterError, match="Did you mean 'one-run'"):
        wrap(one_run, style="onerun")


def test_same_seed_gives_the_same_outputs():
    for function in (one_run, many_runs):
        first, second = (wrap(function).release(PAIR.d1, 5, np.random.default_rng(7)).values for _ in range(2))
        np.testing.assert_array_equal(first, second)


def test_it_pickles():
    mechanism = wrap(one_run)
    again = pickle.loads(pickle.dumps(mechanism))
    assert again.release(PAIR.d1, 3, np.random.default_rng(0)).values.shape == (3,)
    assert again.form == mechanism.form


def test_it_runs_in_worker_processes_even_as_a_lambda():
    from joblib import Parallel, delayed

    mechanism = wrap(lambda dataset, rng: len(dataset) + rng.laplace())
    expected = mechanism.release(PAIR.d1, 4, np.random.default_rng(3)).values
    (result,) = Parallel(n_jobs=2)(delayed(mechanism.release)(PAIR.d1, 4, np.random.default_rng(3)) for _ in range(1))
    np.testing.assert_array_equal(result.values, expected)


def test_claim_pair_and_exact_guarantee_are_what_was_given():
    mechanism = wrap(one_run)
    assert mechanism.guarantee() is CLAIM
    assert mechanism.worst_case() is PAIR
    assert mechanism.exact_guarantee() is None
    assert mechanism.workers is wrap(many_runs).workers is Workers.PROCESSES
    assert wrap(own_randomness).workers is Workers.THIS_PROCESS
    assert "0x" not in str(mechanism.name)


# --- outcomes ---


def every_second(exceptional):
    """A function whose every second run has this exceptional output."""
    calls = iter(range(1_000_000))

    def release(dataset, rng):
        if next(calls) % 2 == 0:
            return 1.0
        if isinstance(exceptional, BaseException):
            raise exceptional
        return exceptional

    return release


@pytest.mark.parametrize(
    ("exceptional", "label"),
    [
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (10**400, cut(f"integer {hex(10**400)}")),
        (2**53 + 1, "integer 9007199254740993"),
        (None, "None"),
        ("abc", "text 'abc'"),
        (b"abc", "text b'abc'"),
        ([1.0, 2.0], "shape (2,)"),
        (np.zeros((2, 3)), "shape (2, 3)"),
        ([1.0, math.nan], "nan at 1"),
        ([1.0, None, math.inf], "None at 1; inf at 2"),
        ({"a": 1, "b": 2}, "keys a, b"),
        ({"a": 1, "b": None}, "None at 1"),
        ((1, "x"), "text 'x' at 1"),
        ((1, [2, 3]), "tuple of: (); (2,)"),
        ([], "shape (0,)"),
        (ValueError("no"), "raised ValueError: no"),
        (KeyError(), "raised KeyError"),
        (SystemExit(3), "raised SystemExit: 3"),
    ],
)
def test_exceptional_outputs_are_events_and_no_run_is_dropped(exceptional, label):
    outputs = outcomes(every_second(exceptional), form=ResultForm())
    assert outputs.values.shape == (8,)
    assert sorted(set(outputs.events)) == sorted({"", label})
    assert np.count_nonzero(outputs.events == label) == 4
    assert outputs.values[outputs.events != ""].tolist() == [0.0] * 4
    assert outputs.values[outputs.events == ""].tolist() == [1.0] * 4


def test_long_texts_are_cut():
    outputs = outcomes(every_second("x" * 200))
    assert max(map(len, outputs.events)) <= 70


def test_an_exception_on_one_side_only_is_an_outcome():
    def release(dataset, rng):
        if len(dataset) == 3:
            raise OverflowError
        return 0.0

    assert set(outcomes(release, side=1).events) == {"raised OverflowError"}
    assert outcomes(release, side=0).events is None


def test_texts_alone_are_outcomes():
    outputs = outcomes(lambda dataset, rng: rng.choice(["yes", "no"]), size=50)
    assert set(outputs.events) == {"text 'yes'", "text 'no'"}
    assert not outputs.values.any()


@pytest.mark.parametrize(
    ("result", "row"),
    [
        (True, [1.0]),
        (np.float32(2.5), [2.5]),
        (np.array(3), [3.0]),
        ([1, 2], [1.0, 2.0]),
        ((1, (2, 3)), [1.0, 2.0, 3.0]),
        ({"b": 1, "a": [2, 3]}, [2.0, 3.0, 1.0]),
        ([[1, 2], [3, 4]], [1.0, 2.0, 3.0, 4.0]),
        (pd.Series([1, 2]), [1.0, 2.0]),
        (pd.DataFrame({"a": [1], "b": [2]}), [1.0, 2.0]),
        ([True, 2.5], [1.0, 2.5]),
    ],
)
def test_numbers_of_any_form_become_a_row(result, row):
    outputs = outcomes(lambda dataset, rng: result, size=3)
    assert outputs.events is None
    np.testing.assert_array_equal(outputs.values.reshape(3, -1), [row] * 3)


def test_keys_are_matched_by_name_not_by_order():
    flip = every_second({"b": 2.0, "a": 1.0})
    outputs = outcomes(lambda dataset, rng: {"a": 1.0, "b": 2.0} if flip(dataset, rng) == 1.0 else {"b": 2.0, "a": 1.0})
    assert outputs.events is None
    np.testing.assert_array_equal(outputs.values[:, :2], [[1.0, 2.0]] * 8)
    assert len(np.unique(outputs.values[:, 2])) == 2  # the order is kept as a mark


def test_the_usual_form_does_not_depend_on_the_chunk():
    """Lengths vary from run to run: what is usual is fixed when the mechanism is built."""
    mechanism = wrap(lambda dataset, rng: np.zeros(rng.integers(1, 4)))
    shapes = {mechanism.release(PAIR.d1, 1, np.random.default_rng(seed)).values.shape for seed in range(20)}
    assert len(shapes) == 1


def test_a_result_that_cannot_be_read_is_refused():
    with pytest.raises(ReleaseError, match="of type object, which cannot be read"):
        wrap(lambda dataset, rng: object())
    with pytest.raises(ReleaseError, match="of type builtin_function_or_method"):
        wrap(lambda dataset, rng: len)


def test_arrays_are_read_as_lists_of_results_are():
    """The fast path for arrays against the slow one, run by run."""
    array = np.array([[1.0, 2.0], [np.nan, 1.0], [np.inf, -np.inf], [3.0, 4.0]])
    for form in (ResultForm((2,), "shape (2,)"), ResultForm()):
        fast, slow = collect_array(array, form), collect([*array, None], form)
        np.testing.assert_array_equal(fast.values, slow.values[:-1])
        np.testing.assert_array_equal(fast.events, slow.events[:-1])


def test_raised_stands_for_an_exception():
    assert collect([RaisedException("ValueError"), 1.0], ResultForm()).events.tolist() == ["raised ValueError", ""]


# --- outputs with one exceptional value ---

SUM = 3.25


@pytest.mark.parametrize(
    "exceptional",
    [
        lambda rng: {"status": "ok", "sum": SUM},
        lambda rng: (math.nan, SUM),
        lambda rng: (None, SUM),
        lambda rng: [math.inf, SUM],
        lambda rng: ("x", SUM),
        lambda rng: [SUM] * int(rng.integers(1, 5)),
        lambda rng: np.ma.masked_array([1.0, SUM], mask=[True, False]),
        lambda rng: np.array([rng.choice([math.nan, 1.0]), SUM]),
    ],
)
def test_one_exceptional_value_does_not_hide_the_others(exceptional):
    outputs = outcomes(lambda dataset, rng: exceptional(rng), size=20)
    assert outputs.events is None
    assert np.isfinite(outputs.values).all()
    assert (outputs.values == SUM).any(axis=1).all()


@pytest.mark.parametrize(
    "release",
    [
        lambda data, size, rng: np.column_stack([np.full(size, np.nan), np.full(size, SUM)]),
        lambda data, size, rng: np.ma.masked_array(np.full((size, 2), SUM), mask=[[True, False]] * size),
        lambda data, size, rng: {"status": ["ok"] * size, "sum": np.full(size, SUM)},
        lambda data, size, rng: pd.DataFrame({"status": ["ok"] * size, "sum": np.full(size, SUM)}),
        lambda data, size, rng: np.full((size, len(data)), SUM),
    ],
)
def test_one_exceptional_column_does_not_hide_the_others(release):
    outputs = outcomes(release, size=6)
    assert outputs.events is None
    assert (outputs.values == SUM).any(axis=1).all()


def test_whole_numbers_that_no_float_holds_stay_apart():
    numbers = [2**53 + k for k in range(6)]
    form = usual_form([read_result(n) for n in numbers])
    assert len(np.unique(collect(numbers, form).values, axis=0)) == 6


@pytest.mark.parametrize("form", [ResultForm(), ResultForm((2,), "shape (2,)"), ResultForm((3,), "shape (2,)", (1,))])
def test_the_sign_of_a_zero_is_kept_however_it_is_returned(form):
    rows = np.array([0.0, -0.0, 1.0]) if form.shape == () else np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, -0.0]])
    for outputs in (collect(rows.tolist(), form), collect(list(rows), form), collect_array(rows, form)):
        assert outputs.events is None
        flat = outputs.values.reshape(3, -1)
        assert flat[1, 0] < flat[0, 0] == 0.0 < flat[2, 0]
    assert not (rows < 0.0).any(), "what was returned was changed"


@pytest.mark.parametrize("result", ["the sum of all records is " * 4 + "{}", ValueError("the sum is " * 9 + "{}")])
def test_long_texts_that_differ_at_the_end_stay_apart(result):
    labels = set()
    for k in range(5):
        exceptional = result.format(k) if isinstance(result, str) else ValueError(str(result).format(k))
        labels |= set(outcomes(every_second(exceptional), form=ResultForm()).events)
    assert len(labels) == 6
    assert max(map(len, labels)) <= 60


def test_marked_and_padded_arrays_are_read_as_lists_of_results_are():
    array = np.array([[1.0, 2.0], [np.nan, 1.0], [np.inf, -np.inf], [3.0, 4.0]])
    for rows in (array[:2], [*array[:2], [1.0]], [[1.0, 2.0, 3.0], [1.0]], [[1.0], array[0, 0]]):
        form = usual_form([read_result(row) for row in rows])
        fast, slow = collect_array(array, form), collect([*array, None], form)
        np.testing.assert_array_equal(fast.values, slow.values[:-1])
        np.testing.assert_array_equal([""] * 4 if fast.events is None else fast.events, slow.events[:-1])


# --- datasets that are changed ---


@pytest.mark.parametrize(
    "release",
    [
        lambda data, rng: data.append(1) or 0.0,
        lambda data, size, rng: data.append(1) or rng.random(size),
        lambda data: data.append(1) or 0.0,
    ],
)
def test_a_function_that_changes_its_dataset_is_refused(release):
    pair = Neighbours([1, 2], [1, 2, 3], "add_remove")
    with pytest.raises(ReleaseError, match=r"changes its dataset.*work on a copy"):
        FunctionMechanism(release, claim=CLAIM, neighbours=pair)
    with pytest.raises(ReleaseError, match="changes its dataset"):
        FunctionMechanism(release, claim=CLAIM, neighbours=PAIR, form=ResultForm()).release(
            [1], 2, np.random.default_rng(0)
        )


@pytest.mark.parametrize("data", [np.arange(3.0), pd.DataFrame({"a": [1, 2]}), {"a": [1]}, (np.zeros(2), np.zeros(2))])
def test_a_change_of_any_dataset_is_noticed(data):
    before = content_digest(data)
    assert content_digest(copy.deepcopy(data)) == before
    part = data[0] if isinstance(data, tuple) else data
    if isinstance(part, pd.DataFrame):
        part.iloc[0, 0] = 7
    else:
        part["a" if isinstance(part, dict) else 0] = 7
    assert content_digest(data) != before


def test_names_are_what_people_call_the_function():
    assert wrap(partial(one_run)).name == "partial(one_run)"
    assert name_of(partial(one_run, scale=0.1)) == "partial(one_run, scale=0.1)"
    assert name_of(Command("Rscript a.R")) == "Rscript a.R"
    assert name_of("abc".join) == "str.join"


# --- many runs ---


@pytest.mark.parametrize(
    "function",
    [
        lambda data, size, rng: rng.laplace(size=(size, 2)),
        lambda data, size, rng: rng.integers(5, size=(size, 2)),
        lambda data, size, rng: rng.random((size, 2)) < 0.5,
        lambda data, size, rng: [rng.random(2) for _ in range(size)],
        lambda data, size, rng: {"a": rng.random(size), "b": rng.random((size, 1))},
        lambda data, size, rng: pd.DataFrame({"a": rng.random(size), "b": rng.random(size)}),
    ],
)
def test_many_runs_give_one_row_a_run(function):
    assert outcomes(function, size=6).values.shape == (6, 2)


def test_exceptional_outputs_among_many_runs_are_events():
    outputs = outcomes(lambda data, size, rng: np.where(np.arange(size) % 2, np.nan, 1.0), size=4, style="many-runs")
    assert outputs.events.tolist() == ["", "nan", "", "nan"]
    assert outputs.values.tolist() == [1.0, 0.0, 1.0, 0.0]
    outputs = outcomes(lambda data, size, rng: [None, "x", *[1.0] * (size - 2)], size=4, form=ResultForm())
    assert outputs.events.tolist() == ["None", "text 'x'", "", ""]


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda data, size, rng: rng.random(size + 1), r"\(3,\)"),
        (lambda data, size, rng: rng.random((3, size)), r"\(3, 2\)"),
        (lambda data, size, rng: 1.0, r"\(\)"),
        (lambda data, size, rng: [1.0], r"\(1,\)"),
    ],
)
def test_wrong_number_of_runs_is_refused_with_the_shape(function, shape):
    with pytest.raises(
        ReleaseError, match=rf"size=2 runs and returned shape {shape}: expected one row per run, \(2,\)"
    ):
        wrap(function)


def test_a_function_of_many_runs_that_always_raises_is_refused_and_shown():
    def release(dataset, size, rng):
        raise ValueError("singular matrix")

    with pytest.raises(
        ReleaseError, match=r"release\(dataset, 1, rng\) raised ValueError in each of 10.*singular matrix"
    ) as caught:
        wrap(release)
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_function_of_many_runs_that_raises_is_called_for_single_runs():
    def release(dataset, size, rng):
        noise = rng.laplace(size=size)
        if len(dataset) == 3 and (noise > 1.0).any():
            raise ValueError("too large")
        return noise

    mechanism = wrap(release)
    assert (mechanism.style, wrap(many_runs).style) == ("one-at-a-time", "many-runs")
    for side in (0, 1):
        outputs = mechanism.release(PAIR.side(side), 1_000, np.random.default_rng(0))
        raised = 0 if outputs.events is None else np.count_nonzero(outputs.events == "raised ValueError: too large")
        assert abs(raised - side * 1_000 * math.exp(-1.0) / 2.0) < 5 * math.sqrt(1_000 * 0.15 + 1) * side + 1


@pytest.mark.parametrize("style", [None, "many-runs"])
def test_repeated_calls_are_for_single_runs_unless_the_style_is_given(style):
    def restarting(dataset, size, rng):
        return len(dataset) + np.random.default_rng(7).laplace(size=size)

    assert wrap(restarting, style=style).style == (style or "one-at-a-time")


def test_equal_outputs_of_few_values_are_no_repetition():
    assert wrap(lambda dataset, size, rng: np.full(size, rng.random() < 0.5)).style == "many-runs"
    assert wrap(lambda dataset, size, rng: rng.random(size) < 0.01).style == "many-runs"


# --- refusals ---


def test_a_function_that_always_raises_shows_what_it_says_on_each_side():
    def release(dataset, rng):
        raise ValueError("abc" if len(dataset) == 2 else "xyz")

    expected = (
        r"raised ValueError in each of 10 first runs, on both sides: 'ValueError: xyz' on side 0, 'ValueError: abc'"
    )
    with pytest.raises(ReleaseError, match=expected):
        FunctionMechanism(release, claim=PureDP(1.0), neighbours=Neighbours([1], [1, 2], "add_remove"))


@pytest.mark.parametrize(
    ("release", "advice"),
    [
        (lambda dataset, rng: dataset.mean() + rng.laplace(), "the datasets are arrays"),
        (lambda dataset: dataset.mean(), "the datasets are arrays"),
        (lambda dataset, rng: sum(dataset) + rng.randn(), r"np\.random\.RandomState\(rng\.integers\(2\*\*32\)\)"),
        (lambda dataset, rng: np.random.default_rng([rng, 1]).laplace(), r"int\(rng\.integers\(2\*\*32\)\)"),
        (lambda dataset, rng: rng.betavariate(1, 2), r"random\.Random\("),
    ],
)
def test_a_call_that_returns_a_result_is_proposed(release, advice):
    with pytest.raises(ReleaseError, match=rf"first runs.* It returns a result if .*{advice}"):
        FunctionMechanism(release, claim=CLAIM, neighbours=Neighbours([1, 2], [1, 2, 3], "add_remove"))


@pytest.mark.parametrize(
    ("d0", "d1", "relation", "meant"),
    [
        ([], [0, 0, 0], "add_remove", "d0 = [] and d1 = [[0, 0, 0]]"),
        ([0, 0, 0], [1, 1, 1], "replace_one", "d0 = [[0, 0, 0]] and d1 = [[1, 1, 1]]"),
        (np.zeros((0, 2)), np.zeros(2), "add_remove", "d1 = array([[0., 0.]])"),
    ],
)
def test_a_record_that_is_given_as_a_dataset_is_recognised(d0, d1, relation, meant):
    with pytest.raises(NeighboursError, match=re.escape(meant)):
        FunctionMechanism(lambda data: 0, claim=CLAIM, neighbours=Neighbours(d0, d1, relation))


def test_other_datasets_are_not_taken_for_single_records():
    with pytest.raises(NeighboursError, match=r"^(?!.*one record, give).*$"):
        FunctionMechanism(lambda data: 0, claim=CLAIM, neighbours=Neighbours([1, 2], [3, 4, 5], "add_remove"))


def test_a_call_that_always_raises_is_a_mistake_and_shown():
    def release(dataset, rng):
        return rng.no_such_noise()

    with pytest.raises(ReleaseError, match=r"raised AttributeError in each of 10 first runs.*no_such_noise") as caught:
        wrap(release)
    assert isinstance(caught.value.__cause__, AttributeError)
    outputs = outcomes(release, form=ResultForm())
    assert all(event.startswith("raised AttributeError: ") for event in outputs.events)


def test_what_is_not_callable_is_refused():
    with pytest.raises(ParameterError, match="function must be callable"):
        wrap(3)


def test_claim_of_another_relation_is_refused():
    with pytest.raises(RelationError, match="replace_one"):
        FunctionMechanism(one_run, claim=PureDP(1.0, relation="replace_one"), neighbours=PAIR)


def test_pairs_of_records_are_checked_unless_that_is_switched_off():
    far = Neighbours([1], [1, 2, 3], "add_remove")
    with pytest.raises(NeighboursError, match=r"remove_record.*records=False"):
        FunctionMechanism(one_run, claim=CLAIM, neighbours=far).bind(far)
    FunctionMechanism(one_run, claim=CLAIM, neighbours=far, records=False).bind(far)
    with pytest.raises(RelationError):
        wrap(one_run).bind(Neighbours([1], [2], "replace_one"))


# --- targets ---


@pytest.fixture
def source(tmp_path, monkeypatch):
    path = tmp_path / "my_release.py"
    path.write_text(
        "import numpy as np\nSCALE = 2.0\n\n\n"
        "def release(dataset, rng):\n    return len(dataset) + rng.laplace(scale=SCALE)\n\n\n"
        "class Box:\n    @staticmethod\n    def release(dataset, rng):\n        return 0.0\n"
    )
    monkeypatch.chdir(tmp_path)
    return path


def test_target_in_a_file_is_found_and_runs_in_workers(source):
    from joblib import Parallel, delayed

    mechanism = wrap(load_target(f"{source}:release"))
    (result,) = Parallel(n_jobs=2)(delayed(mechanism.release)(PAIR.d1, 3, np.random.default_rng(0)) for _ in range(1))
    assert result.values.shape == (3,)
    assert load_target("my_release.py:Box.release")([], None) == 0.0


def test_target_in_a_module_is_found(source):
    assert load_target("math:sqrt")(4.0) == 2.0
    assert load_target("dpassay.mechanisms.noise.laplace:Laplace").__name__ == "Laplace"
    assert load_target("my_release:SCALE") == 2.0


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("math", ParameterError, "package.module:object"),
        (":sqrt", ParameterError, "package.module:object"),
        ("math:", ParameterError, "package.module:object"),
        ("nothing.py:release", ParameterError, "does not exist"),
        ("no_such_module:release", ParameterError, "there is no 'no_such_module'"),
        ("math:sqroot", UnknownNameError, "Did you mean 'sqrt'"),
        ("my_release.py:relaese", UnknownNameError, "Did you mean 'release'"),
        ("broken.py:release", ParameterError, "raised ZeroDivisionError"),
        ("leaves.py:release", ParameterError, "raised SystemExit: 0"),
        ("leaves:release", ParameterError, "raised SystemExit: 0"),
        ("typo.py:release", ParameterError, "raised SyntaxError"),
        ("needs.py:release", ParameterError, "raised ModuleNotFoundError: .*not_installed"),
        ("needs:release", ParameterError, "importing 'needs' failed.*not_installed"),
    ],
)
def test_targets_that_cannot_be_loaded_are_explained(source, text, error, message):
    source.with_name("broken.py").write_text("1 / 0\n")
    source.with_name("leaves.py").write_text("import sys\nsys.exit(0)\n")
    source.with_name("typo.py").write_text("def release(:\n")
    source.with_name("needs.py").write_text("import not_installed\n")
    with pytest.raises(error, match=message):
        load_target(text)


def test_entries_of_a_dict_are_ordered_independently_of_insertion():
    first, second = {1: 0.0, "1": 5.0}, {"1": 5.0, 1: 0.0}
    assert sorted(first, key=by_name) == sorted(second, key=by_name) == [1, "1"]
    assert sorted(["b", "a", 2], key=by_name) == [2, "a", "b"]
