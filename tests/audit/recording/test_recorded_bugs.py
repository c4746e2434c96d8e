"""Bugs of libraries as short programs: the recorder names the faulty one only. See docs/reference/bugs.md."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from tests.audit.recorded_programs import RIGHT, WRONG

from dpassay.audit import record
from dpassay.mechanisms import GaussianDP, Neighbours, PureDP

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "bugs.md"
ONE_MORE = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")
TWO_OR_THREE = Neighbours([0.0, 0.0], [0.0, 0.0, 0.0], "add_remove")
CLASSES = Neighbours([0, 1, 0], [0, 1, 2, 0], "add_remove")
LOST = Neighbours([1.0, 2.0], [1.0, math.nan], "replace_one")
OUTLIER = Neighbours([1.0, -2.0, 3.0], [1.0, -2.0, 100.0], "replace_one")
LARGE = Neighbours([2.0**30, 2.0**30 - 1], [2.0**30, 2.0**30 - 1, 1.0], "add_remove")
ROUNDED = Neighbours([4096.0] * 4095 + [1.0001] * 4095, [4096.0] * 4096 + [1.0001] * 4095, "add_remove")
TURNED = Neighbours([0.0, -10.0], [30.0, -10.0], "zero_out")
LABELS = Neighbours([0, 0, 0, 0], [0, 0, 0, 1], "replace_one")
FIRST = Neighbours([0, 0, 0, 0], [1, 0, 0, 0], "replace_one")


def histogram_scale(d, rng, scale):
    return np.bincount(d, minlength=3) + rng.laplace(scale=scale, size=3)


def summed(d, rng, add, bound):
    """In units of the bound."""
    return add(np.clip(d, 0, bound)) / bound + rng.laplace()


def one_by_one(values):
    return float(np.cumsum(values, dtype=np.float32)[-1])


def int32(values):
    return int(values.astype(np.int64).sum().astype(np.int32))


def squares(d, rng, bound):
    result = float(np.square(np.clip(d, 0, 100)).sum())
    return result + rng.laplace(scale=bound**2) if bound else result


def clipped_sum(d, rng, values):
    return np.sum(values(np.asarray(d))) + rng.laplace(scale=10.0)


def histogram_of(d, rng, domain):
    return [d.count(value) + rng.laplace() for value in domain]


def sum_within(d, rng, bound):
    return np.clip(d, -bound, bound).sum() + rng.laplace(scale=bound)


def mean_by(d, rng, n):
    return (sum(d) + rng.laplace()) / n


def mean_by_count(d, rng, noisy):
    count = max(1.0, len(d) + rng.laplace(scale=2.0)) if noisy else len(d)
    scale = 2.0 if noisy else 1.0
    return (sum(d) + rng.laplace(scale=scale)) / count


def step(d, rng, total, deviation=1.0, divisor=2.0):
    """Of DP-SGD: records are gradients along one direction, the clip norm is 1."""
    return (total(np.asarray(d)) + rng.normal(scale=deviation, size=1)) / divisor


def of_each(gradients):
    return np.clip(gradients, -1, 1).sum()


def of_mean(gradients):
    return np.clip(gradients.mean(), -1, 1)


def raw_besides(gradients):
    return of_each(gradients) + gradients.mean()


def votes(d, rng, parts):
    return sum(max(d[i] for i in part) for part in parts) + rng.laplace(scale=1.0)


def counters(d, rng, deviations):
    return [
        value + rng.normal(scale=scale) if scale else value
        for value, scale in zip((len(d), 7.0), deviations, strict=True)
    ]


def choice(d, rng, sensitivity):
    scores = np.array([sum(d), -sum(d)])
    weights = np.exp(scores / (2 * sensitivity))
    return int(rng.choice(2, p=weights / weights.sum()))


APART = [[0], [1], [2], [3]]
PURE, NORMAL = PureDP(1.0), GaussianDP(1.0)
BUGS = {  # name -> program, pair, claim, its options in the faulty and the right form, what is found
    "histogram-scale-inverted": (histogram_scale, CLASSES, PureDP(0.5), {"scale": 0.5}, {"scale": 2.0}, "spent"),
    "sum-wrapped": (summed, LARGE, PURE, {"add": int32, "bound": 2**30}, {"add": math.fsum, "bound": 2**30}, "spent"),
    "sum-rounded": (
        summed, ROUNDED, PURE, {"add": one_by_one, "bound": 4096}, {"add": math.fsum, "bound": 4096}, "spent",
    ),
    "regression-upper-bound-ignored": (squares, OUTLIER, PURE, {"bound": 0.0}, {"bound": 100.0}, "no noise"),
    "clipped-copy-unused": (
        clipped_sum, OUTLIER, PURE, {"values": lambda v: v}, {"values": lambda v: np.clip(v, -5, 5)}, "spent",
    ),
    "nan-survives-clipping": (
        clipped_sum, LOST, PURE,
        {"values": lambda v: np.clip(v, -5, 5)}, {"values": lambda v: np.clip(np.nan_to_num(v), -5, 5)}, "distance",
    ),
    "divisor-of-data": (mean_by, ONE_MORE, PURE, {"n": None}, {"n": 3}, "parameters"),
    "mean-with-exact-counts": (mean_by_count, ONE_MORE, PURE, {"noisy": False}, {"noisy": True}, "parameters"),
    "bounds-from-data": (sum_within, OUTLIER, PureDP(2.0), {"bound": None}, {"bound": 3.0}, "parameters"),
    "domain-from-data": (histogram_of, CLASSES, PURE, {"domain": None}, {"domain": range(3)}, "control flow"),
    "expected-batch-size-of-data": (
        step, TWO_OR_THREE, NORMAL, {"total": of_each, "divisor": None}, {"total": of_each}, "parameters",
    ),
    "microbatch-mean-clipped": (step, TURNED, NORMAL, {"total": of_mean}, {"total": of_each}, "spent"),
    "mean-clipped": (step, TURNED, NORMAL, {"total": of_mean, "deviation": 0.5}, {"total": of_each}, "spent"),
    "noise-divided-twice": (step, TURNED, NORMAL, {"total": of_each, "deviation": 0.5}, {"total": of_each}, "spent"),
    "raw-mean-mixed-in": (step, TURNED, NORMAL, {"total": raw_besides}, {"total": of_each}, "spent"),
    "votes-same-part": (votes, LABELS, PURE, {"parts": [[3]] * 4}, {"parts": APART}, "spent"),
    "votes-teachers-kept": (votes, FIRST, PURE, {"parts": [[0], [0, 1], [0, 2], [3]]}, {"parts": APART}, "spent"),
    "votes-scale-inverted": (histogram_scale, CLASSES, PureDP(0.1), {"scale": 0.1}, {"scale": 10.0}, "spent"),
    "selection-sensitivity-halved": (
        choice, ONE_MORE, PureDP(0.5), {"sensitivity": 1.0}, {"sensitivity": 2.0}, "spent",
    ),
    "zero-sensitivity": (counters, ONE_MORE, NORMAL, {"deviations": (0, 0)}, {"deviations": (1.0, 0)}, "no noise"),
}  # fmt: skip
FROM_DATA = {"n": len, "divisor": len, "domain": lambda d: sorted(set(d)), "bound": lambda d: float(np.abs(d).max())}
"""What an option is taken to be where it is None: the mistake of four bugs."""


def recorded(name, *, faulty):
    program, pair, _claim, wrong, right, _kind = BUGS[name]
    options = wrong if faulty else right

    def run(dataset, rng):
        given = {key: FROM_DATA[key](dataset) if value is None else value for key, value in options.items()}
        return program(dataset, rng, **given)

    return record(run, pair)


@pytest.mark.parametrize("name", BUGS)
def test_the_faulty_program_is_named_and_its_twin_passes(name):
    claim, kind = BUGS[name][2], BUGS[name][-1]
    assert {finding.kind for finding in recorded(name, faulty=True).findings(claim)} == {kind}
    assert recorded(name, faulty=False).findings(claim) == ()


def test_the_page_on_bugs_says_which_the_recorder_sees():
    said = re.findall(r"recorder: ([^;|]*)", PAGE.read_text())
    assert sorted(name for cell in said for name in re.findall(r"`([^`]+)`", cell)) == sorted(BUGS)


@pytest.mark.parametrize(("program", "pair", "claim"), RIGHT)
def test_nothing_is_found_in_a_correct_program(program, pair, claim):
    assert [str(one) for one in record(program, pair).findings(claim)] == []


@pytest.mark.parametrize(("program", "pair", "claim", "kind"), WRONG)
def test_a_wrong_program_is_named(program, pair, claim, kind):
    assert {one.kind for one in record(program, pair).findings(claim)} == {kind}
