"""Functions as people write them, each with a leak in one part of its output, and what the evidence says of it."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pandas as pd

Stats = namedtuple("Stats", "mean variance n_used")


@dataclass
class Report:
    mean: float
    clipped: bool
    label: str = "ok"


def a_dict(data, rng):
    kind = "ok" if len(data) > 3 else str(rng.choice(["few", "none"]))
    return {"kind": kind, "mean": rng.laplace(0, 5)}


def nested(data, rng):
    return {
        "a": [rng.laplace(), rng.laplace(), len(data) + rng.laplace(0, 0.1)],
        "b": {"x": rng.laplace(), "y": "low"},
    }


def a_dataclass(data, rng):
    return Report(mean=rng.laplace(0, 5), clipped=bool(len(data) > 3) if rng.random() < 0.9 else bool(rng.integers(2)))


def named_tuple(data, rng):
    return Stats(rng.laplace(0, 5), rng.laplace(0, 5), len(data) + int(rng.integers(0, 2)))


def frame(data, rng):
    income = rng.laplace(0, 5, 3) + np.array([0.0, 0.0, 8.0 * len(data)])
    return pd.DataFrame({"age": rng.laplace(0, 5, 3), "income": income})


def series(data, rng):
    return pd.Series({"north": rng.laplace(0, 5), "south": len(data) + rng.laplace(0, 0.2), "west": rng.laplace(0, 5)})


def vector(data, rng):
    out = rng.laplace(0, 1, 10)
    out[3] += 2.0 * len(data)
    return out


def two_coordinates(data, rng):
    out = rng.laplace(0, 1, 10)
    out[3] += 1.5 * len(data)
    out[7] -= 1.5 * len(data)
    return out


def text(data, rng):
    return f"the answer is {rng.choice(['red', 'blue'])}" + (" for Ada" if len(data) > 3 and rng.random() < 0.7 else "")


def a_list(data, rng):
    return [rng.laplace() for _ in range(len(data) - 2 + int(rng.integers(0, 2)))]


def exception_type(data, rng):
    if rng.random() < 0.3:
        raise KeyError("Ada") if len(data) > 3 else ValueError("too few")
    return len(data) + rng.laplace(0, 10)


SAID = {
    a_dict: r"output\['kind'\] is 'ok' in 3,000 of 3,000 runs of side 1 and in none of side 0",
    nested: r"output\['a'\]\[2\] is at (most|least) 3\.",
    a_dataclass: r"output\.clipped",
    named_tuple: r"output\.n_used is [35]\.0\b.* in none of side",
    frame: r"^output\['income'\]\[2\] is at (most|least) 2\d\.\d+ in .* runs of side",
    series: r"^mostly output\['south'\] \((100|9\d) %.*; close to \"output\['south'\] is at (most|least) [34]\.",
    vector: r"^mostly coordinate 3 \((100|9\d) % of the effect\)",
    two_coordinates: r"^mostly coordinate (3 and coordinate 7|7 and coordinate 3) \((100|9\d) % of the effect\)",
    text: r"^a text with the words 'for' and 'Ada' \(2 texts of the pilot, no other\)$",
    a_list: r"the length of the output is [13]\.0.* in none of side",
    exception_type: r"^the event \"raised (KeyError: 'Ada'|ValueError: too few)\"$",
}
"""Function -> pattern of the rule in the evidence."""
