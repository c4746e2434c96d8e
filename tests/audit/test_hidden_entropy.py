"""Entropy that no audit sees, and noise that was drawn once, are no violation; a broken function still is one."""

import functools
import os

import numpy as np
import pytest
from tests.audit import hidden_entropy as hidden
from tests.audit.hidden_entropy import COUNTING, DRAWN_ANEW, DRAWN_ONCE, PAIR

from dpassay.audit import audit
from dpassay.mechanisms import PureDP
from dpassay.mechanisms.adapters.functions.first_runs import FirstRuns, address_of
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism

pytestmark = pytest.mark.usefixtures("without_power")

EPSILONS = (0.1, 1.0, 10.0, 20.0)
SHOWN = [
    hidden.at_construction,
    hidden.memoised_before,
    hidden.cached_before,
    hidden.by_the_hash_of_a_text,
    hidden.in_a_file,
    hidden.of_a_pool,
]
CERTAIN = 1 - 1e-6
"""Confidence of audits whose noise no seed fixes: a false violation is as rare as in every other random test."""
QUICK = {"attack": "threshold", "bound": "clopper-pearson", "trials": 200, "seed": 0}


def verdict(function, claim, **options):
    return audit(function, PAIR, claim=PureDP(claim), **QUICK | options).verdict.value


def named(makers):
    return pytest.mark.parametrize("make", makers, ids=lambda make: make.__name__)


@named(DRAWN_ANEW)
def test_noise_that_is_drawn_anew_out_of_sight_is_consistent(make):
    assert verdict(make(1.0), 1.0, confidence=CERTAIN) == "consistent"


@named(SHOWN)
def test_noise_that_was_drawn_once_is_never_a_violation(make):
    assert verdict(make(1.0), 1.0) != "violation"


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@named([*DRAWN_ANEW, *DRAWN_ONCE])
def test_no_violation_at_any_epsilon_in_either_of_two_audits(make, epsilon):
    function = make(epsilon)
    found = [verdict(function, epsilon, trials=trials, confidence=CERTAIN) for trials in (200, 1_000)]
    assert "violation" not in found
    if make in DRAWN_ANEW:
        assert found[0] == ("consistent" if epsilon < 5.0 else "underpowered")


def test_thirty_functions_are_asked():
    assert len({make.__name__ for make in (*DRAWN_ANEW, *DRAWN_ONCE)}) >= 30


@named(COUNTING)
def test_functions_that_count_calls_or_keep_a_log_get_their_own_verdict(make):
    function = make(10.0)
    assert verdict(function, 10.0) == "underpowered"
    assert verdict(function, 1.0) == "violation"


class Noise:
    """A bool, a short number, a dict, a row: drawn when it is made, and used in every run."""

    def __init__(self, value):
        self.value = value

    def __call__(self, dataset, rng):
        noise = self.value.get(len(dataset)) if isinstance(self.value, dict) else np.sum(self.value)
        return float(len(dataset) + noise)


@pytest.mark.parametrize("value", [True, 0.123456789, {2: 1, 3: 1}, np.ones(3)])
def test_noise_that_was_drawn_at_construction_is_no_violation(value):
    result = audit(Noise(value), PAIR, claim=PureDP(1.0), **QUICK)
    assert result.verdict.value == "dependent"
    assert "its attribute 'value' from before the audit" in result.dependence


SCALE = 0.731058578630005
RUNS = []


def exact(dataset, rng):
    return float(sum(dataset))


def with_a_constant(dataset, rng):
    return SCALE * len(dataset)


def with_a_fixed_seed(dataset, rng):
    return sum(dataset) + np.random.default_rng(0).laplace(scale=SCALE)


def with_a_log(dataset, rng):
    RUNS.append(rng.random())
    return len(dataset)


def of_many_runs(dataset, size, rng):
    return np.full(size, float(len(dataset)))


DETERMINISTIC = [
    exact,
    with_a_constant,
    with_a_fixed_seed,
    with_a_log,
    of_many_runs,
    lambda dataset, rng: float(len(dataset)),
    lambda dataset, rng: SCALE * len(dataset),
    lambda dataset: f"there are {len(dataset)}",
    functools.partial(exact),
]


@pytest.mark.parametrize("function", DETERMINISTIC)
def test_a_function_without_noise_is_a_violation_by_the_bound_when_trials_suffice(function):
    result = audit(function, PAIR, claim=PureDP(1.0), **QUICK)
    assert (result.verdict.value, result.refuted_by) == ("violation", "bound")


@pytest.mark.slow
@pytest.mark.parametrize("function", DETERMINISTIC)
def test_a_function_without_noise_is_underpowered_where_trials_do_not_suffice(function):
    assert verdict(function, 50.0) == "underpowered"
    assert verdict(function, 1.0) == "violation"


NOISE = float.fromhex(os.urandom(6).hex())
"""Drawn when this file is imported."""


def with_noise_of_the_import(dataset, rng):
    return len(dataset) + NOISE


@pytest.mark.parametrize("function", [with_noise_of_the_import, lambda dataset, rng: len(dataset) + NOISE])
def test_noise_that_is_drawn_at_import_is_no_violation(function):
    assert audit(function, PAIR, claim=PureDP(1.0), **QUICK).verdict.value == "dependent"


def first_runs(function) -> FirstRuns:
    return FunctionMechanism(function, claim=PureDP(1.0), neighbours=PAIR).first_runs


def test_what_a_function_holds_from_before_is_known_by_name():
    assert first_runs(exact).held == ()
    assert first_runs(with_a_constant).held == ()  # an import makes it anew
    assert first_runs(Noise(3)).held == ("its attribute 'value'",)
    assert first_runs(Noise(3)).written == first_runs(Noise(3)).held
    assert first_runs(Noise(0.123456789)).written == first_runs(Noise([1, 2])).written == ()
    assert first_runs(hidden.counting(1.0)).held == ("its closure 'epsilon'",)
    assert first_runs(hidden.cached_before(1.0)).held != ()
    assert first_runs(hidden.of_a_pool(1.0)).pools == ("its closure 'pool'",)
    assert first_runs(hidden.in_the_class(1.0)).changed == ("its class 'Memory' attribute 'kept'",)


def test_the_address_of_a_function_is_a_name_of_its_module():
    assert address_of(exact) == (__name__, __file__, "exact")
    assert address_of(lambda dataset: 0.0) is None
    assert address_of(np.sum) is None
