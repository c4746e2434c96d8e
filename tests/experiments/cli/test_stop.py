"""[audit] stop in a configuration."""

import pytest

from dpassay.experiments.runs.runner import run
from dpassay.mechanisms.core import ConfigError

CONFIG = """\
seed = 5
[mechanism]
name = "laplace"
epsilon = 2.0
[audit]
trials = 20_000
stop = "anytime"
[claim]
name = "pure"
epsilon = 1.0
"""


def test_an_experiment_stops_as_soon_as_the_claim_is_refuted(tmp_path, without_pictures):
    (tmp_path / "broken.toml").write_text(CONFIG)
    done = run(tmp_path / "broken.toml", out=tmp_path / "run")
    (point,) = done.result.points
    assert point.result.verdict == "violation"
    assert point.result.trials.per_side < 1_000
    assert 'stop = "anytime"' in (tmp_path / "run" / "config.toml").read_text()


def test_another_word_is_refused_with_its_place(tmp_path):
    (tmp_path / "broken.toml").write_text(CONFIG.replace("anytime", "soon"))
    with pytest.raises(ConfigError, match=r"audit\.stop must be 'anytime'"):
        run(tmp_path / "broken.toml", out=tmp_path / "run")


def test_a_bound_for_a_fixed_number_of_trials_is_refused(tmp_path):
    (tmp_path / "broken.toml").write_text(CONFIG.replace("stop =", 'bounds = ["clopper-pearson"]\nstop ='))
    with pytest.raises(ConfigError, match="clopper-pearson"):
        run(tmp_path / "broken.toml", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
