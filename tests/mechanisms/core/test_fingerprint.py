import cmath
import copy
import math
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpassay.mechanisms.core import Neighbours, describe, display_name, identity, opaque
from dpassay.mechanisms.core.fingerprint import fingerprint


@dataclass(frozen=True)
class Option:
    epsilon: float
    sensitivity: float = 1.0
    query: object = None


def digest(thing):
    return fingerprint(describe(thing))


def test_the_fingerprint_sees_every_change():
    base = Option(1.0, query=lambda x: x + 1)
    changed = [Option(2.0, query=base.query), Option(1.0, 2.0, query=base.query), Option(1.0, query=lambda x: x + 2)]
    assert len({digest(thing) for thing in [base, *changed]}) == 4


def test_the_fingerprint_sees_data():
    x = np.arange(5.0)
    frame = pd.DataFrame({"a": x, "b": list("vwxyz")})
    pairs = [Neighbours(x, x + 1, "replace_one"), Neighbours(x, x + 2, "replace_one"), Neighbours(x, x, "zero_out")]
    assert len({digest(pair) for pair in pairs}) == 3
    assert digest(frame) == digest(frame.copy())
    assert digest(frame) != digest(frame.rename(columns={"a": "c"}))
    assert digest(frame) != digest(frame.assign(a=x + 1))


def test_closures_and_defaults_change_the_fingerprint():
    def adder(n):
        return lambda x, k=n: x + k

    def closed(n):
        return lambda x: x + n

    assert digest(adder(1)) == digest(adder(1))
    assert digest(adder(1)) != digest(adder(2))
    assert digest(closed(1)) != digest(closed(2))


def test_the_fingerprint_does_not_depend_on_hash_randomisation():
    code = (
        "from dpassay.mechanisms.core.fingerprint import *; "
        "print(fingerprint(describe([lambda x: x in {'a','b','c','d'}, float('inf'), {'k': (1, 2)}])))"
    )
    fingerprints = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in "01"
    }
    assert len(fingerprints) == 1


def test_labels_are_short_and_leave_defaults_out():
    assert display_name(Option(1.0)) == "Option(epsilon=1)"
    assert display_name(Option(0.5, 2.0)) == "Option(epsilon=0.5, sensitivity=2)"
    assert "array(100,)" in display_name(Option(1.0, query=np.zeros(100)))


def release(dataset, size, rng, scale=1.0):
    return sum(dataset) + rng.laplace(scale=scale, size=size)


SCALE = 1.0


def reads_a_global(dataset, size, rng):
    return helped(dataset) + rng.laplace(scale=SCALE, size=size)


def helped(dataset):
    return sum(dataset)


class Callable:
    __slots__ = ("scale",)

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, dataset, rng):
        return self.scale

    def method(self, dataset, rng):
        return self.scale


def with_keyword(scale):
    def inner(dataset, rng, *, scale=scale):
        return scale

    return inner


def recursive(n):
    def factorial(k):
        return 1 if k < 2 else k * factorial(k - 1)

    return lambda dataset, rng: factorial(n)


@pytest.mark.parametrize(
    "make",
    [
        lambda scale: partial(release, scale=scale),
        Callable,
        lambda scale: Callable(scale).method,
        with_keyword,
        recursive,
        lambda scale: pd.Series([scale, 2.0]),
        lambda scale: {scale, 2.0},
        lambda scale: bytes([int(scale)]),
        lambda scale: {1: scale},
        lambda scale: [SimpleNamespace(scale=scale)],
    ],
)
def test_whatever_holds_a_number_differs_from_its_twin(make):
    assert digest(make(1.0)) == digest(make(1.0))
    assert digest(make(1.0)) != digest(make(3.0))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (math.sin, cmath.sin),
        (np.random.default_rng(1).normal, np.random.default_rng(2).normal),
        ([1].append, [2].append),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.array([1.0, 2.0], mask=[1, 0])),
        (pd.DataFrame({1: [0.0], "1": [1.0]}), pd.DataFrame({1: [5.0], "1": [1.0]})),
        (pd.DataFrame([[0.0, 1.0]], columns=["a", "a"]), pd.DataFrame([[5.0, 1.0]], columns=["a", "a"])),
        (pd.Series(["x"], dtype=pd.CategoricalDtype(["x"])), pd.Series(["x"], dtype=pd.CategoricalDtype(["x", "y"]))),
        (np.arange(5000.0), np.append(np.arange(4999.0), 4999.1)),
        (1.0, 1.0 + 1e-15),
    ],
)
def test_things_with_equal_names_or_text_have_different_fingerprints(one, other):
    assert identity(one) != identity(other)
    assert identity(one) == identity(copy.deepcopy(one) if not callable(one) else one)


def test_ufuncs_of_python_functions_are_opaque():
    assert opaque(describe(np.frompyfunc(lambda x: x + 1, 1, 1)))
    assert not opaque(describe(np.exp))


def test_globals_and_helpers_change_the_fingerprint(monkeypatch):
    before = digest(reads_a_global)
    assert digest(reads_a_global) == before
    monkeypatch.setitem(globals(), "SCALE", 0.1)
    changed = digest(reads_a_global)
    monkeypatch.setitem(globals(), "SCALE", 1.0)
    monkeypatch.setitem(globals(), "helped", lambda dataset: 2 * sum(dataset))
    assert len({before, changed, digest(reads_a_global)}) == 3


def test_methods_of_a_local_class_change_the_fingerprint():
    def version(factor):
        class Own:
            def release(self):
                return factor

        return Own()

    assert digest(version(1)) == digest(version(1))
    assert digest(version(1)) != digest(version(2))


def test_opaque_contents_are_reported(tmp_path):
    with (tmp_path / "x").open("w") as file:
        assert opaque(describe([1, {"a": file}])) == ["_io.TextIOWrapper"]
    assert opaque(describe([1, {"a": release}])) == []
