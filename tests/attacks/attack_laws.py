"""Output laws with known likelihood ratios, and the power of scores at exact quantiles: shared by the attack tests."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from dpassay.attacks.base import Target
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.core import Outputs

TARGET = Target(Laplace(1.0), Laplace(1.0).worst_case())
"""For attacks that learn from the pilot alone."""
GRID = (np.arange(20_001) + 0.5) / 20_001


@dataclass(frozen=True)
class Law:
    """Two output laws that can be drawn from, and all that an optimal attack knows about them.

    `exact0` and `exact1` are outputs at equally likely quantiles of the two sides: noise-free evaluation outputs.
    """

    draw: Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]
    log_ratio: Callable[[np.ndarray], np.ndarray]
    exact0: np.ndarray
    exact1: np.ndarray


def continuous(law0: Any, law1: Any) -> Law:
    return Law(
        lambda n, rng: (law0.rvs(n, random_state=rng), law1.rvs(n, random_state=rng)),
        lambda x: law1.logpdf(x) - law0.logpdf(x),
        law0.ppf(GRID),
        law1.ppf(GRID),
    )


def finite(values: np.ndarray, p0: np.ndarray, p1: np.ndarray) -> Law:
    def quantiles(p: np.ndarray) -> np.ndarray:
        return values[np.searchsorted(np.cumsum(p), GRID).clip(max=len(p) - 1)]

    return Law(
        lambda n, rng: (rng.choice(values, n, p=p0), rng.choice(values, n, p=p1)),
        lambda x: np.log(p1 / p0)[np.searchsorted(values, x)],
        quantiles(p0),
        quantiles(p1),
    )


def k_ary(k: int, epsilon: float) -> Law:
    rest = 1.0 / (np.exp(epsilon) + k - 1.0)
    p0, p1 = np.full(k, rest), np.full(k, rest)
    p0[k // 2] *= np.exp(epsilon)
    p1[k // 3] *= np.exp(epsilon)
    return finite(np.arange(k), p0, p1)


LAWS = {
    "laplace": continuous(stats.laplace(0, 1), stats.laplace(1, 1)),
    "laplace, side 1 below": continuous(stats.laplace(0, 1), stats.laplace(-1, 1)),
    "gaussian": continuous(stats.norm(0, 1), stats.norm(1, 1)),
    "variance only": continuous(stats.norm(0, 1), stats.norm(0, 1.5)),
    "laplace scale only": continuous(stats.laplace(0, 1), stats.laplace(0, 0.5)),
    "cauchy": continuous(stats.cauchy(0, 1), stats.cauchy(1, 1)),
    "3-ary response": k_ary(3, 1.0),
    "50-ary response": k_ary(50, 3.0),
}


def auc(out: np.ndarray, in_: np.ndarray) -> float:
    out = np.sort(out)
    wins = np.searchsorted(out, in_, side="left") + np.searchsorted(out, in_, side="right")
    return float(wins.sum()) / (2.0 * len(out) * len(in_))


def naive_auc(out: np.ndarray, in_: np.ndarray) -> float:
    return float(np.mean((in_[:, None] > out) + 0.5 * (in_[:, None] == out)))


def rates(out: np.ndarray, in_: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """FPR and TPR of {score >= t} at every distinct score t."""
    thresholds = np.unique(np.concatenate([out, in_]))
    fpr = 1.0 - np.searchsorted(np.sort(out), thresholds) / len(out)
    tpr = 1.0 - np.searchsorted(np.sort(in_), thresholds) / len(in_)
    return fpr, tpr


def advantage(out: np.ndarray, in_: np.ndarray) -> float:
    fpr, tpr = rates(out, in_)
    return float((tpr - fpr).max())


def epsilon_of_common_events(out: np.ndarray, in_: np.ndarray) -> float:
    """Largest log ratio, either way, over the events {score >= t} and {score < t} of probability at least 1 %."""
    fpr, tpr = rates(out, in_)
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.log(tpr / fpr)[fpr >= 0.01]
        down = np.log((1.0 - fpr) / (1.0 - tpr))[1.0 - tpr >= 0.01]
    return float(max(up.max(initial=0.0), down.max(initial=0.0)))


def check_scorer(scorer: Any, values: np.ndarray, *, rtol: float = 0.0) -> None:
    """Check that each run has one float, never NaN, also alone and from a pickled scorer; outputs do not change."""
    fixed = values.copy()
    fixed.flags.writeable = False
    scores = scorer.score(Outputs(fixed))
    assert (scores.shape, scores.dtype) == ((len(values),), np.float64)
    assert not np.isnan(scores).any()
    again = pickle.loads(pickle.dumps(scorer))
    parts = [again.score(Outputs(part)) for part in (*np.split(fixed, [1, len(fixed) // 3]), fixed[:0])]
    np.testing.assert_allclose(np.concatenate(parts), scores, rtol=rtol, atol=1e-3 * rtol)


def outputs(*values: np.ndarray) -> tuple[Outputs, ...]:
    return tuple(Outputs(v) for v in values)
