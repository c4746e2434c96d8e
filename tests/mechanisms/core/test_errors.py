"""Errors carry what they are about, make their message from it, and travel between processes."""

import math
import pickle

import pytest

from dpassay.mechanisms.core import (
    AlwaysRaisesError,
    CallError,
    DependentTrialsError,
    DpassayError,
    ParameterError,
    SliceDoneError,
    UnknownNameError,
    counted,
    delta_range,
    errors,
    finite,
    non_negative,
    one_of,
    open_unit,
    plural,
    positive,
    unit_interval,
    unknown_name_message,
    whole,
)

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DpassayError)]
MADE = {
    CallError: lambda: CallError("audit", "too many positional arguments", "audit(release, pair)"),
    UnknownNameError: lambda: UnknownNameError("mechanism", "laplac", ["laplace"]),
    AlwaysRaisesError: lambda: AlwaysRaisesError("each of the first runs raised", same_on_both=True),
    SliceDoneError: lambda: SliceDoneError("3/100", 2, 40),
    DependentTrialsError: lambda: DependentTrialsError("Laplace", "two runs gave the same", "Draw noise in each run"),
}


def made(kind):
    return MADE.get(kind, lambda: kind("it is so.", argument=("a", "b"), value=3, allowed="be 4", owner="laplace"))()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_is_the_same_in_another_process(kind):
    error = made(kind)
    error.add_note("at mechanism.epsilon = 0.5")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (str(again), again.__dict__) == (str(error), error.__dict__)


def test_value_that_cannot_be_pickled_becomes_an_ellipsis():
    again = pickle.loads(pickle.dumps(ParameterError(argument="function", value=lambda: 0, allowed="be a Mechanism")))
    assert again.value is ...
    assert str(again).startswith("function must be a Mechanism, but is <function")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ParameterError(argument="delta", value=2, allowed="lie in [0, 1)"), "delta must lie in [0, 1), but is 2."),
        (ParameterError(argument="k", allowed="be even", advice="Try 4."), "k must be even. Try 4."),
        (ParameterError(argument="k", value=math.nan, shown="NaN", allowed="be even"), "k must be even, but is NaN."),
        (ParameterError("give one of both.", argument=("a", "b")), "give one of both."),
    ],
)
def test_a_message_is_made_from_argument_value_and_what_is_allowed(error, message):
    assert str(error) == message


@pytest.mark.parametrize(
    ("check", "value", "allowed"),
    [
        (finite, math.inf, "be a finite number"),
        (finite, "1", "be a finite number"),
        (positive, 0, "be a finite number > 0"),
        (positive, math.nan, "be a finite number > 0"),
        (non_negative, -1, "be a finite number >= 0"),
        (open_unit, 1.0, "lie strictly between 0 and 1"),
        (delta_range, 1.0, "lie in [0, 1)"),
        (unit_interval, 1.5, "lie in [0, 1]"),
        (lambda **given: whole(2, **given), 1, "be a whole number >= 2"),
        (lambda **given: counted(2, **given), 2.5, "be a whole number >= 2, such as 1000 or 1e5"),
        (lambda **given: one_of(["a", "b"], **given), "c", "be one of a, b"),
    ],
)
def test_a_check_says_what_it_checked_and_what_it_allows(check, value, allowed):
    with pytest.raises(ParameterError) as caught:
        check(thing=value)
    error = caught.value
    assert (error.argument, error.allowed) == ("thing", allowed)
    assert error.value is value


def test_of_many_names_the_nearest_five_are_shown_whatever_their_case():
    known = [f"attack-{i}" for i in range(100)]
    message = unknown_name_message("attack", "attack-7x", known)
    assert message.count("'attack-") == 6  # the unknown one, and five
    assert "Known" not in message
    assert unknown_name_message("attack", "ATTACK_7", known) == "unknown attack 'ATTACK_7'. Did you mean 'attack-7'?"
    assert "The nearest of 100 names: attack-" in unknown_name_message("attack", "zzz", known)


def test_of_few_names_all_are_shown():
    assert unknown_name_message("side", "IN", ["in", "out"]) == "unknown side 'IN'. Did you mean 'in'? Known: in, out."


@pytest.mark.parametrize(("n", "message"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1000, "1,000 runs")])
def test_one_is_counted_in_the_singular(n, message):
    assert plural(n, "run") == message
