import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd

from audit.describe import describe, fingerprint, label
from mechanisms.base import Neighbours


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


def test_closures_and_defaults_count():
    def adder(n):
        return lambda x, k=n: x + k

    def closed(n):
        return lambda x: x + n

    assert digest(adder(1)) == digest(adder(1))
    assert digest(adder(1)) != digest(adder(2))
    assert digest(closed(1)) != digest(closed(2))


def test_the_fingerprint_does_not_depend_on_hash_randomisation():
    code = (
        "from audit.describe import *; "
        "print(fingerprint(describe([lambda x: x in {'a','b','c','d'}, float('inf'), {'k': (1, 2)}])))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in "0123"
    }
    assert len(seen) == 1


def test_labels_are_short_and_leave_defaults_out():
    assert label(Option(1.0)) == "Option(epsilon=1)"
    assert label(Option(0.5, 2.0)) == "Option(epsilon=0.5, sensitivity=2)"
    assert "array(100,)" in label(Option(1.0, query=np.zeros(100)))
