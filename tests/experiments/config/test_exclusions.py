"""Exclusions: two keys that cannot be set together are refused at the excluded one, and accepted one at a time."""

import tomllib
from itertools import product

import pytest
from tests.experiments.made_configs import refusal

from dpassay.experiments.config.exclusions import OF_AUDITS, OF_STUDIES
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.source import Source
from dpassay.mechanisms.core import ConfigError

MECHANISM = ['mechanism.name = "laplace"']
DATA, GAME = ['data.name = "digits"'], ['game.name = "reconstruction"', "game.n_rounds = 10"]
SET = {
    "attack": ['attack.name = "threshold"'],
    "audit.bounds": ['audit.bounds = ["betting"]'],
    "audit.delta": ["audit.delta = 0.1"],
    "audit.estimates": ['audit.estimates = ["plug-in"]'],
    "audit.stop": ['audit.stop = "anytime"'],
    "audit.trials": ["audit.trials = 1000"],
    "claim": ['claim.name = "pure"'],
    "data": DATA,
    "data.column": [*DATA, 'data.column = "label"'],
    "data.columns": [*DATA, 'data.columns = ["label"]'],
    "expected": ["expected.claim = 1.0"],
    "game": GAME,
    "game.name": GAME,
    "membership": ["membership.n_models = 2"],
    "neighbours": ["neighbours.record = 3"],
    "neighbours.canary": ['neighbours.canary = "dirac"'],
    "neighbours.d0": ["neighbours.d0 = 0.0"],
    "neighbours.d1": ["neighbours.d1 = 1.0"],
    "neighbours.record": ["neighbours.record = 3"],
    "neighbours.relation": ['neighbours.relation = "replace_one"'],
    "neighbours.replacement": ["neighbours.replacement = 1.0"],
    "search": ['search.domain = "numbers 0..1"'],
    "sweep": ["sweep.seed = [1, 2]"],
}
"""Lines that set a table or a key; one that is excluded by a new row needs an entry."""
PAIRS = [(rule, key) for rule in (*OF_STUDIES, *OF_AUDITS) for key in rule.excluded]


def check(lines):
    text = "\n".join(lines)
    return Config.check(tomllib.loads(text), Source("made", "made.toml", text))


@pytest.mark.parametrize(("rule", "key"), PAIRS, ids=[f"{key} next to {rule.given}" for rule, key in PAIRS])
def test_excluded_key_is_refused_at_its_line_and_accepted_alone(rule, key):
    given, excluded = [*MECHANISM, *SET[rule.given]], [*MECHANISM, *SET[key]]
    check(given)
    check(excluded)
    together = list(dict.fromkeys([*given, *excluded]))
    line = next(
        number for number, text in enumerate(together, start=1) if text.startswith(f"{key}") and text in SET[key]
    )
    with pytest.raises(ConfigError) as caught:
        check(together)
    message = rule.message.format(key=key, name=key.rpartition(".")[2])
    assert str(caught.value) == f"made.toml:{line}: {message}"


def test_each_pair_is_declared_once():
    pairs = [frozenset(pair) for rule in (*OF_STUDIES, *OF_AUDITS) for pair in product([rule.given], rule.excluded)]
    assert len(set(pairs)) == len(pairs) >= 26


@pytest.mark.parametrize("game", ["one-run", "reconstruction"])
def test_a_value_excludes_only_where_it_is_given(game):
    size = "game.n_canaries = 10" if game == "one-run" else "game.n_rounds = 10"
    lines = [*MECHANISM, f'game.name = "{game}"', size, *SET["neighbours.canary"]]
    if game == "one-run":
        assert check(lines).neighbours.canary.name == "dirac"
    else:
        with pytest.raises(ConfigError, match="uses only the record"):
            check(lines)


def test_exclusions_are_checked_at_each_point_of_a_sweep():
    swept = [*MECHANISM, *SET["neighbours.canary"], "neighbours.relation = 'add_remove'"]
    check([*swept, 'sweep."neighbours.record" = [3, 4]'])  # its points are checked when they are planned
    said = refusal("\n".join([*swept, 'sweep."neighbours.record" = [3, 4]']))
    assert said.startswith("made.toml:4: [neighbours] record cannot be combined with canary")
    assert said.endswith("at the point neighbours.record = 3 of the sweep")
