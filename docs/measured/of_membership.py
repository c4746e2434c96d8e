"""Membership: docs/membership.md, and what README counts."""

from __future__ import annotations

import re
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


LABELS = {"bavaria-flat": 'bavaria(prior="flat")', "rmia-2": "rmia(gamma=2)"}
STATED: dict[tuple[str, str], str] = {
    ("loss", "purchase-like"): "1.4/0.1 1.4/0.1 1.4/0.1 1.4/0.1 1.4/0.1",
    ("lira", "purchase-like"): "- 19.0/6.7 23.5/10.2 26.8/12.3 31.2/15.1",
    ("bavaria", "purchase-like"): "19.6/6.6 25.4/11.3 28.4/14.0 30.2/15.1 32.0/16.9",
    ("bavaria-flat", "purchase-like"): "- 21.6/8.1 26.5/12.1 29.5/14.2 32.1/16.7",
    ("base", "purchase-like"): "20.8/5.8 21.6/9.6 24.2/12.5 26.1/13.3 28.2/15.6",
    ("rmia", "purchase-like"): "20.7/5.6 21.6/9.5 24.1/12.5 26.0/13.1 28.0/15.6",
    ("rmia-2", "purchase-like"): "19.6/5.8 20.7/9.1 22.4/10.9 23.8/11.6 24.9/13.0",
    ("loss", "digits"): "1.1/0.1 1.1/0.1 1.0/0.1 1.0/0.1 1.1/0.1",
    ("lira", "digits"): "- 3.1/1.0 3.9/1.5 4.7/2.1 5.9/2.6",
    ("bavaria", "digits"): "3.9/1.1 4.3/0.9 5.3/2.0 5.7/2.5 6.4/3.0",
    ("bavaria-flat", "digits"): "- 3.1/0.9 4.0/1.7 4.9/2.3 6.3/3.0",
    ("base", "digits"): "4.2/1.6 4.9/2.2 5.4/2.5 5.8/2.8 6.1/2.8",
    ("rmia", "digits"): "4.2/1.6 4.9/2.1 5.5/2.4 5.7/2.7 6.0/2.7",
    ("rmia-2", "digits"): "2.9/1.5 2.8/1.6 2.6/1.5 2.7/1.4 2.6/1.4",
}
"""TPR in per cent at 1 % and at .1 % FPR for each number of references; - if the attack needs more."""


def row_stated(attack: str, name: str) -> str:
    """Return the row of the page, with the numbers in braces."""
    cells = (re.sub(r"[\d.]+", r"{\g<0>}", cell).replace("/", " / ") for cell in STATED[attack, name].split())
    return f"| {name}, `{LABELS.get(attack, attack)}` | {' | '.join(cells)} |"


NUMBERS = (
    *(
        Number(f"{attack}-{name}", MEMBERSHIP, row_stated(attack, name), partial(row_of, attack, name), 0.6, 20)
        for attack, name in STATED
    ),
    Number("attacks", README, "(LiRA, RMIA and {15} others)", lambda: [len(membership.entries) - 2], 0),
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
