"""Membership: docs/attacks/membership.md, and what README counts."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from stated import DOCS, Number

from dpassay.attacks.membership import RangeMembership, draw_inclusion, shadows_of
from dpassay.attacks.membership.base import MembershipAttack
from dpassay.attacks.membership.learned import QuantileRegression
from dpassay.attacks.membership.likelihood_ratios import BASE, RMIA, BaVarIA, LiRA
from dpassay.attacks.membership.queries import query_signals, train
from dpassay.attacks.membership.shadows import Shadows
from dpassay.attacks.membership.thresholds import LossThreshold
from dpassay.audit import BitScores, audit_scores
from dpassay.audit.games import train_shadows
from dpassay.audit.metrics.membership.records import models_needed
from dpassay.audit.metrics.membership.roc import Pooled
from dpassay.experiments.data.datasets import load
from dpassay.mechanisms import DPSGD, PureDP
from dpassay.mechanisms.core import Floats
from dpassay.mechanisms.learning import MultiLayerPerceptron
from dpassay.mechanisms.learning.base import TrainingData

MEMBERSHIP = DOCS / "attacks" / "membership.md"


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
NETWORKS = {
    "purchase-like": (100, 64, 20, 300, 100),
    "digits": (64, 32, 10, 400, 65),
    "adult": (318, 64, 2, 800, 100),
    "breast-cancer": (30, 32, 2, 800, 28),
}
"""Features, hidden units, classes, steps and batch size."""
N_RECORDS = {"purchase-like": 2_000, "digits": 1_300, "adult": 2_000, "breast-cancer": 568}
COMPARED: dict[str, MembershipAttack] = {
    "loss": LossThreshold(),
    "lira": LiRA(),
    "bavaria": BaVarIA(),
    "bavaria-flat": BaVarIA(prior="flat"),
    "base": BASE(),
    "rmia": RMIA(),
    "rmia-2": RMIA(gamma=2.0),
}


def learner_of(name: str, steps: int) -> DPSGD:
    """Return the network of a dataset."""
    n_features, hidden, n_classes, _, batch = NETWORKS[name]
    return DPSGD(
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


def records_of(name: str) -> tuple[Floats, NDArray[np.int64]]:
    """Return the first records of a dataset: codes one-hot, measurements standardised."""
    data, n = load(name), N_RECORDS[name]
    if isinstance(data, tuple):
        return np.asarray(data[0][:n]), data[1][:n]
    table = pd.DataFrame(data[:n])
    X, y = table.iloc[:, :-1], table.iloc[:, -1].to_numpy()
    coded = pd.get_dummies(X.astype("category"), dtype=float) if name == "adult" else (X - X.mean()) / X.std()
    return coded.to_numpy(), y


@cache
def models_of(name: str, seed: int) -> Shadows:
    """Return 66 models of one dataset, half of the records in each model."""
    return train_shadows(learner_of(name, NETWORKS[name][3]), records_of(name), 66, seed=seed)


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
    ("loss", "adult"): "1.0/0.1 1.0/0.1 1.0/0.1 1.0/0.1 1.0/0.1",
    ("lira", "adult"): "- 4.8/1.1 7.1/2.1 9.7/3.8 15.9/7.1",
    ("bavaria", "adult"): "7.4/2.0 11.2/2.0 13.4/4.9 14.7/6.6 16.4/7.8",
    ("bavaria-flat", "adult"): "- 6.5/1.5 10.2/3.5 13.4/5.7 16.4/7.7",
    ("base", "adult"): "10.3/3.0 10.3/4.6 12.0/5.3 12.9/6.1 13.8/6.8",
    ("rmia", "adult"): "10.2/3.0 10.2/4.6 11.9/5.3 12.8/6.0 13.7/6.7",
    ("rmia-2", "adult"): "10.0/3.0 10.0/4.2 10.5/4.7 11.0/4.9 11.3/5.4",
    ("loss", "breast-cancer"): "0.0/0.0 0.0/0.0 0.0/0.0 0.0/0.0 0.0/0.0",
    ("lira", "breast-cancer"): "- 1.2/0.1 1.3/0.2 1.3/0.4 3.6/1.3",
    ("bavaria", "breast-cancer"): "1.3/0.1 1.1/0.1 1.2/0.1 1.3/0.1 3.7/0.1",
    ("bavaria-flat", "breast-cancer"): "- 1.2/0.1 2.0/0.3 2.4/0.8 3.7/1.4",
    ("base", "breast-cancer"): "3.0/0.9 3.5/1.1 3.7/1.3 3.9/1.4 4.0/1.6",
    ("rmia", "breast-cancer"): "2.9/0.7 3.3/1.0 3.6/1.0 3.7/1.3 3.9/1.3",
    ("rmia-2", "breast-cancer"): "1.8/0.8 1.2/0.7 1.5/0.5 1.6/0.4 1.2/0.3",
}
"""TPR in per cent at 1 % and at .1 % FPR for each number of references; - if the attack needs more."""


def in_braces(row: str) -> str:
    """Return a row with its numbers in braces."""
    return re.sub(r"[\d.]+", r"{\g<0>}", row)


def row_stated(attack: str, name: str) -> str:
    """Return the row of the page, with the numbers in braces."""
    cells = (in_braces(cell).replace("/", " / ") for cell in STATED[attack, name].split())
    return f"| {name}, `{LABELS.get(attack, attack)}` | {' | '.join(cells)} |"


QUERIED = {
    "digits": ("digits, 1,300", 1_300, 400),
    "digits-copies": ("digits, 1,300, trained on the copies", 1_300, 1_000),
    "purchase-like": ("purchase-like, 2,000", 2_000, 300),
    "purchase-like-copies": ("purchase-like, 1,000, trained on the copies", 1_000, 600),
}
"""Words of the page, number of records, steps."""


def copies_of(name: str, X: Floats) -> list[Floats]:
    """Return the records and four copies: digits shifted by a pixel, or 3 % of the purchases flipped."""
    if name == "digits":
        images = X.reshape(-1, 8, 8)
        return [X, *(np.roll(images, by, axis=axis).reshape(len(X), -1) for axis in (1, 2) for by in (1, -1))]
    rng = np.random.default_rng(0)
    return [X, *(np.where(rng.random(X.shape) < 0.03, 1.0 - X, X) for _ in range(4))]


@cache
def queried(key: str) -> Shadows:
    """Return 34 models, and their signals on five queries of each record."""
    name, (_, n, steps) = key.removesuffix("-copies"), QUERIED[key]
    X, y = (values[:n] for values in load(name))
    copies = copies_of(name, np.asarray(X))
    data = TrainingData(np.concatenate(copies), np.tile(y, 5))
    rng = np.random.default_rng(1)
    member = draw_inclusion(34, n, rng)
    inside = np.tile(member, (1, 5))
    inside[:, n:] &= key.endswith("-copies")
    models, _ = train(learner_of(name, steps), data, inside, rng, data)
    log_p = query_signals(models, data, n_models=34)["log_probabilities"]
    by_query = np.moveaxis(log_p.reshape(34, 5, n, -1), 1, 2)
    return shadows_of(member, labels=y, log_probabilities=by_query)


def row_of_queries(key: str) -> list[float]:
    """Return the TPR of LiRA in per cent at 1 % FPR: one query, the mean signal, added ratios, Fisher's combination."""
    shadows, attack = queried(key), LiRA()
    mean = replace(shadows, queries=())
    scores = [attack.score(s) for s in (shadows.queries[0], mean, shadows)]
    scores.append(RangeMembership(attack, combine="weighted").score(shadows))
    return [100.0 * Pooled.of(found, shadows.inclusion).rate_at(0.01, 0.95).tpr for found in scores]


QUERY_ROWS = {
    "digits": "5.1 | 2.4 | 3.8 | 5.2",
    "digits-copies": "2.2 | 4.4 | 5.5 | 4.8",
    "purchase-like": "28.3 | 26.4 | 26.2 | 28.5",
    "purchase-like-copies": "50.5 | 54.8 | 54.9 | 54.9",
}


def bounds_in_one_run() -> list[float]:
    """Mean bound over 200 runs with 240 canaries, Laplace noise of epsilon 2: quantile regression, one threshold."""
    rng, n = np.random.default_rng(0), 240
    X = np.column_stack([np.arange(n) % 2, np.linspace(-1.0, 1.0, n)])
    bits = rng.random((200, n)) < 0.5
    signal = bits + rng.laplace(scale=0.5, size=bits.shape) + 6.0 * X[:, 0] + 3.0 * X[:, 1]
    shadows = Shadows(np.zeros_like(bits), np.zeros(n), {"loss": signal}, X=X)
    return [
        float(np.mean([audit_scores(BitScores(*run), claim=PureDP(2.0), delta=0.0).bound.epsilon for run in runs]))
        for attack in (QuantileRegression(signal="loss"), LossThreshold())
        for runs in [list(zip(bits[:, None], attack.score(shadows)[:, None], strict=True))]
    ]


NUMBERS = (
    Number(
        "one-run-quantiles",
        MEMBERSHIP,
        "the bound is {1.46} on average, and {0.04} with one threshold for all.",
        bounds_in_one_run,
        0.06,
        10,
    ),
    *(
        Number(
            f"queries-{key}",
            MEMBERSHIP,
            f"| {QUERIED[key][0]} | {in_braces(row)} |",
            partial(row_of_queries, key),
            1.0,
            10,
        )
        for key, row in QUERY_ROWS.items()
    ),
    *(
        Number(f"{attack}-{name}", MEMBERSHIP, row_stated(attack, name), partial(row_of, attack, name), 0.6, 20)
        for attack, name in STATED
    ),
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
