"""A function of the user as an attack: the same scores as an attack of the library, and errors that say the cause."""

import numpy as np
import pytest

from dpassay.attacks import FunctionAttack
from dpassay.attacks.base import Target
from dpassay.attacks.catalogue import choose
from dpassay.audit import audit
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.core import AttackError, ParameterError

MECHANISM = Laplace(epsilon=1.0)


def value(outputs):
    return outputs


def reversed_value(outputs):
    return -outputs


def of_all(outputs):
    return outputs.mean()


def raising(outputs):
    raise ZeroDivisionError("no")


def missing(outputs):
    return np.where(outputs > 0, np.nan, outputs)


def test_a_function_gives_the_numbers_of_the_threshold_attack_whatever_its_sign():
    known = audit(MECHANISM, attack="threshold", trials=4_000, seed=0)
    for function in (value, reversed_value, FunctionAttack(value)):
        mine = audit(MECHANISM, attack=function, trials=4_000, seed=0)
        assert mine.bound.epsilon == pytest.approx(known.bound.epsilon, abs=0.05)
        assert mine.bound.epsilon > 0.7
    assert audit(MECHANISM, attack=value, trials=100, seed=0).attack == "value"


def test_a_function_runs_on_workers_and_its_code_is_in_the_fingerprint():
    here = audit(MECHANISM, attack=value, trials=1_000, seed=0)
    assert audit(MECHANISM, attack=value, trials=1_000, seed=0, n_jobs=2).bound == here.bound
    assert audit(MECHANISM, attack=reversed_value, trials=1_000, seed=0).fingerprint != here.fingerprint


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (of_all, "the attack of_all must return one number for each of"),
        (raising, "the attack raising raised ZeroDivisionError: no"),
        (missing, "the attack missing returned NaN"),
    ],
)
def test_scores_that_are_none_end_with_the_cause(function, said):
    with pytest.raises(AttackError, match=said):
        audit(MECHANISM, attack=function, trials=1_000, seed=0)


def test_what_is_no_function_is_refused():
    with pytest.raises(ParameterError, match="function must be callable"):
        FunctionAttack(3)
    with pytest.raises(ParameterError, match="attack must be"):
        choose(FunctionAttack, Target(MECHANISM, MECHANISM.worst_case()))
