"""Membership: docs/membership.md, and what README counts."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm
from stated import DOCS, Number

from dpassay.audit.metrics.membership.records import models_needed

MEMBERSHIP = DOCS / "membership.md"


def rate_at_a_thousandth() -> list[float]:
    """TPR at 0.1 % FPR with 100 non-members, N(2, 1) against N(0, 1): read off, and the truth."""
    rng = np.random.default_rng(0)
    thresholds = rng.normal(size=(4_000, 100)).max(axis=1)
    return [float(norm.sf(thresholds - 2.0).mean()), float(norm.sf(norm.isf(0.001) - 2.0))]


def of_pairs(alone: bool) -> int:
    """Models in pairs of complements that can expose one of 600 records."""
    return models_needed(600, pair_weight=1.0, one_sided=alone)


NUMBERS = (
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
