"""`--set KEY=VALUE`: what is read from it, and how it is laid over a configuration."""

import pytest

from dpassay.experiments.config.overrides import apply, parse_settings
from dpassay.mechanisms.core import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2),
        ("200_000", 200_000),
        ("1e-5", 1e-5),
        ("true", True),
        ("laplace", "laplace"),
        ("likelihood-ratio", "likelihood-ratio"),
        ("'quoted'", "quoted"),
        ("[0.5, 1]", [0.5, 1]),
        ('{name = "count", above = 15.0}', {"name": "count", "above": 15.0}),
    ],
)
def test_a_value_is_toml_or_a_bare_word(text, value):
    (result,) = parse_settings([f"mechanism.key = {text}"]).values()
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["mechanism.epsilon"], "--set mechanism.epsilon: write KEY=VALUE with a dotted key"),
        (["mechanism..epsilon=1"], "write KEY=VALUE"),
        (["=1"], "write KEY=VALUE"),
        (["a.b=1", "a.b=2"], "a.b is set twice"),
        (["a.b=[1, 2"], r"the value '\[1, 2' is neither valid TOML nor a plain word"),
        (["a.b="], "the value '' is neither"),
    ],
)
def test_a_setting_that_cannot_be_read_is_refused_with_its_text(settings, message):
    with pytest.raises(ConfigError, match=message):
        parse_settings(settings)


def test_settings_are_laid_over_a_copy():
    table = {"mechanism": {"name": "laplace"}}
    changed = apply(table, {"mechanism.epsilon": 2, "audit.trials": 10, "seed": 3})
    assert changed == {"mechanism": {"name": "laplace", "epsilon": 2}, "audit": {"trials": 10}, "seed": 3}
    assert table == {"mechanism": {"name": "laplace"}}


def test_a_setting_reaches_into_an_inline_table():
    changed = apply({"mechanism": {"query": {"name": "count", "above": 1}}}, {"mechanism.query.above": 2})
    assert changed["mechanism"]["query"] == {"name": "count", "above": 2}


def test_a_setting_of_the_sweep_keeps_the_dots_of_the_key():
    assert apply({}, {"sweep.mechanism.epsilon": [1, 2]}) == {"sweep": {"mechanism.epsilon": [1, 2]}}


def test_a_setting_below_a_plain_value_is_refused():
    with pytest.raises(ConfigError, match=r"cannot set audit\.trials\.max: audit\.trials is 10, not a table"):
        apply({"audit": {"trials": 10}}, {"audit.trials.max": 1})
