"""Numbers and arrays that remember their noise behave like any other, and noisy values are kept on a replay."""

import copy
import fractions
import json
import pickle
import statistics

import numpy as np
import pandas as pd
import pytest

from dpassay.audit import record
from dpassay.mechanisms import Neighbours, PureDP
from dpassay.mechanisms.adapters.recording.noisy import SCALARS, as_noisy, as_plain, at_last

ONE_MORE = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")


def two(d, rng):
    return np.full(2, len(d)) + rng.laplace(size=2)


USES = {  # what a program does with its noise -> what it spends; None where that cannot be known
    "a fraction": (lambda d, rng: fractions.Fraction(len(d) + rng.laplace()), 1.0),
    "JSON": (lambda d, rng: json.dumps({"n": len(d) + rng.laplace()}), None),
    "a pickle": (lambda d, rng: pickle.loads(pickle.dumps(len(d) + rng.laplace())), 1.0),
    "a pickled array": (lambda d, rng: pickle.loads(pickle.dumps(two(d, rng))), 2.0),
    "a copy": (lambda d, rng: copy.deepcopy([len(d) + rng.laplace()]), 1.0),
    "statistics": (lambda d, rng: statistics.mean([len(d) + rng.laplace(), 2.0]), 1.0),
    "a power": (lambda d, rng: (len(d) + rng.laplace()) ** -1, 1.0),
    "divmod": (lambda d, rng: divmod(len(d) + rng.laplace(), 2), 1.0),
    "a mask": (lambda d, rng: (lambda h: h[h > -1e9])(two(d, rng)), 2.0),
    "a product of matrices": (lambda d, rng: np.eye(2) @ two(d, rng), 2.0),
    "a stack": (lambda d, rng: np.vstack([two(d, rng)] * 2)[0], 2.0),
    "whole numbers": (lambda d, rng: (10 * two(d, rng)).astype(int), 2.0),
    "an item that is set": (lambda d, rng: (lambda h: [h.__setitem__(0, 0.0), h][1:])(two(d, rng)), None),
    "a list of noise": (lambda d, rng: [len(d) + noise for noise in rng.laplace(size=2).tolist()], 2.0),
    "noise row by row": (lambda d, rng: [len(d) + noise for noise in rng.laplace(size=(2, 1))], 2.0),
    "noise turned around": (lambda d, rng: np.full((3, 2), len(d)) + rng.laplace(size=(2, 3)).T, None),
    "an array in place": (lambda d, rng: np.add(two(d, rng), 1.0, out=np.zeros(2)), 2.0),
    "an array without dimensions": (lambda d, rng: np.array(len(d)) + rng.laplace(size=()), 1.0),
    "single precision": (lambda d, rng: np.float32(len(d)) + np.float32(rng.laplace()), None),
    "a series": (lambda d, rng: pd.Series(np.full(2, len(d))) + rng.laplace(size=2), 2.0),
    "noise plus a series": (lambda d, rng: rng.laplace(size=2) + pd.Series(np.full(2, len(d))), 2.0),
    "a series item by item": (lambda d, rng: pd.Series(np.full(2, len(d))).apply(lambda x: x + rng.laplace()), 2.0),
    "the largest noisy value": (lambda d, rng: two(d, rng).max(), None),
    "noise on noise": (lambda d, rng: len(d) + rng.laplace() + rng.laplace(), None),
    "a generator of its own": (lambda d, rng: len(d) + rng.spawn(1)[0].laplace(), 1.0),
    "a multinomial": (lambda d, rng: rng.multinomial(5, [0.5, 0.5]) + (len(d) + rng.laplace()), None),
    "slices in orders": (lambda d, rng: rng.permuted(two(d, rng).reshape(1, 2), axis=1), None),
}


@pytest.mark.parametrize("use", USES)
def test_noise_is_a_number_like_any_other(use):
    program, epsilon = USES[use]
    recorded = record(program, ONE_MORE)
    assert recorded.findings() == ()
    spent = recorded.spent()
    assert spent is None if epsilon is None else spent.epsilon(0.0) == pytest.approx(epsilon)


@pytest.mark.parametrize("kind", SCALARS)
def test_a_noisy_number_is_one_of_its_kind_and_plain_again(kind):
    made, draw = as_noisy(kind(3), None)
    assert isinstance(made, kind)
    assert type(as_plain(made)) is kind
    assert draw.result.tolist() == [3.0]
    assert made == 3
    assert hash(made) == hash(kind(3))


def test_a_replay_keeps_the_noisy_value_and_moves_the_noise_once():
    def program(value, noise):
        return value + noise, 2.0 * (value - noise)

    recorded, script = as_noisy(0.25, None)
    first = program(3.0, recorded)
    replayed, draw = as_noisy(0.25, script)
    second = program(5.0, replayed)
    assert at_last(second[0]) == first[0] == 3.25
    assert draw.shift.tolist() == [2.0]
    assert at_last(second[1]) == 2.0 * (5.0 - (0.25 - 2.0))  # the same noise hides one value only


@pytest.mark.parametrize("excess", [9e-9, 1e-5])
def test_an_excess_by_rounding_is_ignored_and_a_small_one_is_shown(excess):
    recorded = record(lambda d, rng: sum(d) + rng.laplace(scale=1.0 / (1.0 + excess)), ONE_MORE)
    results = [str(one) for one in recorded.findings(PureDP(1.0))]
    assert results == (
        [] if excess < 1e-6 else ["spent: the primitives compose to epsilon 1.00001 at delta 0, but 1 is claimed."]
    )


def test_shuffles_of_the_recorder_are_orders():
    for run in record(lambda d, rng: [rng.permutation(5).tolist(), rng.laplace() + len(d)], ONE_MORE).runs:
        assert sorted(run.outputs[0][:5]) == [0.0, 1.0, 2.0, 3.0, 4.0]
        assert run.outputs[0][:5] == run.outputs[1][:5]
