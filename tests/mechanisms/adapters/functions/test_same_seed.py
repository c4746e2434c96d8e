"""The same seed on both sides: distances of noise-free parts, forms that differ, an rng that is never drawn from."""

import random
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from dpassay.audit import audit
from dpassay.mechanisms import Neighbours, PureDP
from dpassay.mechanisms.adapters import seed_everything
from dpassay.mechanisms.adapters.functions import state
from dpassay.mechanisms.adapters.functions.calls import seeded
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.adapters.functions.same_seed import compare
from dpassay.mechanisms.adapters.functions.state import ProcessState

PAIR = Neighbours([1.0, 3.0], [1.0, 3.0, 2.0], "add_remove")


def first_runs(function):
    return FunctionMechanism(function, claim=PureDP(1.0), neighbours=PAIR).first_runs


def one_sum(dataset, rng, sensitivity=2.0):
    return sum(dataset) + rng.laplace(scale=sensitivity)


def many_sums(dataset, size, rng):
    return sum(dataset) + rng.laplace(size=size)


def global_sum(dataset):
    return sum(dataset) + np.random.laplace()  # noqa: NPY002


def product(dataset, rng):
    return sum(dataset) * rng.laplace()


def pair_of_sums(dataset, rng):
    return np.array([sum(dataset), 2.0 * sum(dataset)]) + rng.normal(size=2)


@pytest.mark.parametrize("function", [one_sum, many_sums, global_sum])
def test_the_distance_of_the_parts_that_noise_is_added_to_is_measured(function):
    (note,) = first_runs(function).compared.notes
    assert note.startswith("with the same seed, the outputs of the two sides differ by 2 in every run")


def test_the_distance_of_vectors_is_told_in_both_norms():
    (note,) = first_runs(pair_of_sums).compared.notes
    assert "differ by 6 (sum of absolute values; 4.472 in the Euclidean norm)" in note


@pytest.mark.parametrize("function", [product, lambda data, rng: sum(data), lambda data, rng: rng.laplace()])
def test_nothing_is_said_of_noise_that_is_not_added_nor_of_equal_parts(function):
    assert first_runs(function).compared.notes == ()


def clamped(dataset, size, rng):
    return np.clip(sum(dataset) + rng.laplace(size=(size, 2)) * [1.0, 0.0], 2.0, 8.0)


def own_noise(dataset, rng):
    return sum(dataset) + np.random.default_rng().laplace()


def with_text(dataset, rng):
    return {"kind": "ok", "sum": sum(dataset) + rng.laplace()}


SHIFTS = {
    one_sum: (2.0,),
    many_sums: (2.0,),
    pair_of_sums: (2.0, 4.0),
    clamped: (2.0, 2.0),  # in most runs
    product: (),
    own_noise: (),  # no seed repeats it
    with_text: (),  # exceptional values are compared as forms only
}


@pytest.mark.parametrize("function", SHIFTS, ids=lambda function: function.__name__)
def test_the_shift_of_each_number_at_the_same_seed_is_kept(function):
    mechanism = FunctionMechanism(function, claim=PureDP(1.0), neighbours=PAIR)
    assert mechanism.same_seed_shift == pytest.approx(SHIFTS[function])


@pytest.mark.parametrize(("declared", "warned"), [(2.0, False), (3.0, False), (1.9, True), (1.0, True)])
def test_a_declared_sensitivity_below_the_distance_is_a_warning(declared, warned):
    warnings = first_runs(partial(one_sum, sensitivity=declared)).warnings
    assert warnings == (
        (
            f"sensitivity is {declared:g}, but the parts to which noise is added lie 2 apart on this pair: noise for a "
            "smaller distance gives less privacy than claimed.",
        )
        if warned
        else ()
    )


def test_forms_that_differ_under_the_same_seed_are_a_note_and_no_warning():
    def release(dataset, rng):
        if len(dataset) == 3 and rng.random() < 2.0:
            raise ValueError("three")
        return rng.random()

    seen = first_runs(release)
    assert seen.warnings == ()
    assert seen.compared.notes == (
        "with the same seed, side 0 gave shape () and side 1 raised ValueError: three: results of different forms in 4 "
        "of 4 runs.",
    )


def test_an_rng_that_is_never_drawn_from_is_a_warning():
    (warning,) = first_runs(lambda data, rng: float(sum(data))).warnings
    assert "the given rng was never drawn from" in warning
    assert first_runs(lambda data, rng: sum(data) + (len(data) == 3) * rng.laplace()).warnings == ()


def test_numbers_that_no_float_tells_apart_are_compared_without_a_warning():
    assert compare([1e308, -1e308], [-1e308, 1e308], print).notes == ()


class Torch(SimpleNamespace):
    """The part of torch that keeps a random state."""

    def __init__(self):
        super().__init__(state=np.zeros(1))

    def get_rng_state(self):
        return self.state.copy()

    def set_rng_state(self, state):
        self.state = state

    def manual_seed(self, seed):
        self.state = np.array([float(seed)])

    def rand(self):
        self.state = self.state + 1.0
        return float(np.random.default_rng(int(self.state[0])).random())


def test_the_random_state_of_torch_is_seeded_watched_and_put_back(monkeypatch):
    torch = Torch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    with seeded(7):
        assert torch.state == 7.0
        torch.rand()
    assert torch.state == 0.0
    process = ProcessState(5)
    assert torch.state == 5.0
    assert process.restore() == ()
    process = ProcessState(5)
    torch.rand()
    assert process.restore() == ("global random state of torch",)
    assert torch.state == 0.0
    seed_everything(np.random.default_rng(0))
    assert torch.state != 0.0
    assert process.restore() == ()
    assert torch.state == 0.0
    (note,) = first_runs(lambda data: sum(data) + torch.rand()).compared.notes
    assert "differ by 2 in every run" in note


class Numba(SimpleNamespace):
    """The part of numba that compiles; compiled functions have a random state of their own."""

    def __init__(self):
        super().__init__(seeds=[])

    def njit(self, function):
        return self.seeds.append


def test_the_random_state_of_compiled_functions_is_seeded(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", numba := Numba())
    monkeypatch.setattr(state, "_COMPILED", {})
    with seeded(7):
        seed_everything(np.random.default_rng(0))
    assert numba.seeds == [7, int(np.random.default_rng(0).integers(2**32))]


def test_a_function_that_seeds_everything_from_its_rng_repeats_its_runs_and_is_not_warned_of():
    def release(dataset, rng):
        seed_everything(rng)
        return sum(dataset) + np.random.laplace() + random.random()  # noqa: NPY002

    result = audit(release, Neighbours([1.0], [1.0, 1.0], "add_remove"), claim=PureDP(1.0), trials=200, seed=0)
    assert result.warnings == ()
    assert "differ by 1 in every run" in result.notes[0]
