"""Small configurations, and what is said of those that cannot be run."""

import tomllib

from dpassay.experiments.config.overrides import apply
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.source import Source
from dpassay.experiments.config.tasks.planning import plan_tasks
from dpassay.mechanisms.core import ConfigError

STUDY = """\
title = "Who was in?"
description = "Some words."
seed = 3
[data]
name = "purchase-like"
n = 200
n_records = 60
[mechanism]
name = "dp-sgd"
model = "softmax-regression"
n_features = 100
n_classes = 20
steps = 60
noise_multiplier = 0.0
clipping = "none"
sampling = "full-batch"
batch_size = 30
learning_rate = 2.0
[membership]
n_models = 8
population = 50
attacks = ["loss", { name = "lira", mode = "offline-tail" }]
by_label = true
"""
GRADIENTS = """\
[data]
name = "digits"
n_records = 40
dead_features = 40
[neighbours]
canary = "dirac"
[mechanism]
name = "dp-sgd"
model = "softmax-regression"
n_features = 104
n_classes = 10
steps = 10
noise_multiplier = 4.0
sampling = "full-batch"
batch_size = 40
view = "noisy_gradients"
[game]
name = "one-run"
n_canaries = 400
[audit]
confidence = 0.95
delta = 1e-5
"""
EXAMPLES = (
    GRADIENTS.replace("dead_features = 40\n", "")
    .replace('"dirac"', '"mislabelled"')
    .replace("n_features = 104", "n_features = 64")
    .replace('view = "noisy_gradients"\n', "")
    .replace("n_canaries = 400", "n_canaries = 30")
)


def planned(text, **settings):
    source = Source("made", "made.toml", text, settings)
    return plan_tasks(Config.check(apply(tomllib.loads(text), settings), source), source)


def refusal(text, **settings):
    """What is said of it; None if it can be run."""
    try:
        planned(text, **settings)
    except ConfigError as error:
        return str(error)
    return None


def refused(text, **settings):
    result = refusal(text, **settings)
    assert result is not None
    return result


def line_of(text, start):
    return next(i for i, line in enumerate(text.splitlines(), start=1) if line.startswith(start))
