"""Membership: docs/membership.md, and what README counts."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from scipy.stats import norm
from stated import DOCS, README, Number

from dpassay.attacks.membership.base import MembershipAttack
from dpassay.attacks.membership.catalogue import catalogue as membership
from dpassay.attacks.membership.likelihood_ratios import BASE, RMIA, BaVarIA, LiRA
from dpassay.attacks.membership.shadows import Shadows
from dpassay.attacks.membership.thresholds import LossThreshold
from dpassay.audit.games import train_shadows
from dpassay.audit.metrics.membership.records import models_needed
from dpassay.audit.metrics.membership.roc import Pooled
from dpassay.experiments.data.datasets import load
from dpassay.mechanisms import DPSGD
from dpassay.mechanisms.learning import MultiLayerPerceptron

MEMBERSHIP = DOCS / "membership.md"


def rate_at_a_thousandth() -> list[float]:
    """TPR at 0.1 % FPR with 100 non-members, N(2, 1) against N(0, 1): read off, and the truth."""
    rng = np.random.default_rng(0)
    thresholds = rng.normal(size=(4_000, 100)).max(axis=1)
    return [float(norm.sf(thresholds - 2.0).mean()), float(norm.sf(norm.isf(0.001) - 2.0))]


def of_pairs(alone: bool) -> int:
    """Models in pairs of complements that can expose one of 600 records."""
    return models_needed(600, pair_weight=1.0, one_sided=alone)


REFERENCES = (2, 4, 8, 16, 64)
SEEDS = (1, 2, 3, 4)
NETWORKS = {"purchase-like": (100, 64, 20, 300, 100), "digits": (64, 32, 10, 400, 65)}
"""Features, hidden units, classes, steps and batch size."""
COMPARED: dict[str, MembershipAttack] = {
    "loss": LossThreshold(),
    "lira": LiRA(),
    "bavaria": BaVarIA(),
    "bavaria-flat": BaVarIA(prior="flat"),
    "base": BASE(),
    "rmia": RMIA(),
    "rmia-2": RMIA(gamma=2.0),
}


@cache
def models_of(name: str, seed: int) -> Shadows:
    """Return 66 models of one dataset: 2,000 shoppers or 1,300 digits, half of them in each model."""
    n_features, hidden, n_classes, steps, batch = NETWORKS[name]
    learner = DPSGD(
        MultiLayerPerceptron(n_features=n_features, hidden=(hidden,), n_outputs=n_classes, activation="relu"),
        steps=steps,
        noise_multiplier=0.0,
        clipping="none",
        sampling="shuffled",
        batch_size=batch,
        learning_rate=0.1,
        momentum=0.9,
        dtype="float32",
    )
    X, y = load(name)
    n = {"purchase-like": 2_000, "digits": 1_300}[name]
    return train_shadows(learner, (X[:n], y[:n]), 66, seed=seed)


def rates_of(attack: MembershipAttack, name: str, n_references: int) -> list[float]:
    """Return the TPR in per cent at 1 % and .1 % FPR, over all targets of groups of n_references + 2 models."""
    scores, bits = [], []
    for shadows in (models_of(name, seed) for seed in SEEDS):
        size = n_references + 2  # the target and its complement are no references
        for first in range(0, len(shadows) - size + 1, size):
            group = shadows.take(np.arange(first, first + size))
            scores.append(attack.score(group))
            bits.append(group.inclusion)
    pooled = Pooled.of(np.concatenate(scores), np.concatenate(bits))
    return [100.0 * pooled.rate_at(fpr, 0.95).tpr for fpr in (0.01, 0.001)]


def row_of(attack: str, name: str) -> list[float]:
    """Return both rates for each number of references that the attack allows."""
    allowed = [n for n in REFERENCES if n >= max(COMPARED[attack].minimum_references, 2)]
    return [rate for n in allowed for rate in rates_of(COMPARED[attack], name, n)]


ROWS: dict[tuple[str, str], str] = {
}

NUMBERS = (
    *(
        Number(f"{attack}-{name}", MEMBERSHIP, row, partial(row_of, attack, name), 0.6, 20)
        for (attack, name), row in ROWS.items()
    ),
    Number("attacks", README, "(LiRA, RMIA and {13} others)", lambda: [len(membership.entries) - 2], 0),
    Number(
        "resolvable",
        MEMBERSHIP,
        "is {0.32} on average for two normal laws two standard deviations apart, where the truth is {0.14}",
        rate_at_a_thousandth,
        0.006,
    ),
    Number("models", MEMBERSHIP, "That takes models: {28} for these 600 records", lambda: [of_pairs(True)], 0),
    Number("models-references", MEMBERSHIP, "{30} for an attack with reference models", lambda: [of_pairs(False)], 0),
    Number("models-coins", MEMBERSHIP, "and Whitney, {22} models for 600 records", lambda: [models_needed(600)], 0),
)
