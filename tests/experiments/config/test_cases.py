"""What others have published of a case: words beside the numbers, which they do not change."""

import pytest

from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.source import Source
from dpassay.experiments.config.sweep import folder_name, point_seed, published, settings
from dpassay.mechanisms.core.errors import ConfigError

BARE = {"name": "a", "mechanism": {"epsilon": 0.5}}
CASE = BARE | {"published": {"StatDP": 0.1, "DP-Sniper": 0.09}}
OTHER = {"name": "b", "mechanism": {"epsilon": 1.0}}


def config_of(*cases):
    return Config.check({"mechanism": {"name": "laplace"}, "sweep": {"case": list(cases)}}, Source("made", "made.toml"))


def test_published_numbers_change_neither_seeds_nor_folders_nor_fingerprints():
    assert point_seed(3, {"case": CASE}) == point_seed(3, {"case": BARE})
    assert folder_name({"case": CASE}) == folder_name({"case": BARE})
    assert config_of(CASE, OTHER).fingerprint == config_of(BARE, OTHER).fingerprint
    assert config_of(CASE, OTHER).fingerprint != config_of(CASE, OTHER | {"name": "c"}).fingerprint


def test_published_numbers_are_kept_and_set_nothing():
    assert published({"case": CASE}) == {"StatDP": 0.1, "DP-Sniper": 0.09}
    assert published({"case": BARE}) == published({"mechanism.epsilon": 1.0}) == {}
    assert settings({"case": CASE}) == {"mechanism.epsilon": 0.5}
    assert config_of(CASE, OTHER).to_toml().count("StatDP") == 1


@pytest.mark.parametrize("wrong", [0.1, {"StatDP": "0.1"}, {"StatDP": True}, {"StatDP": float("inf")}])
def test_what_is_no_table_of_numbers_is_refused(wrong):
    with pytest.raises(ConfigError, match="published of the case 'a' must be a table from the name of a tool"):
        config_of(BARE | {"published": wrong}, OTHER)
