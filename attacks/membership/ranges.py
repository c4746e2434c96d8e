"""Several queries of a record: noisy or transformed copies, asked of each model.

A record with queries has one `Shadows` for each of them, `Shadows.queries`, beside the mean of its signals. LiRA and
BaVarIA add the log likelihood ratios of the queries. `RangeMembership` combines the scores of any attack: a record, of
which only a distorted copy is known, counts as a member if any point in a range around the copy was one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import numpy as np

from ...mechanisms.core import AttackError, Bools, Floats, UnitInterval, instance_of, one_of_names
from .base import MembershipAttack
from .likelihood_ratios import BASE
from .shadows import Shadows


@dataclass(frozen=True)
class RangeMembership(MembershipAttack):
    """Score of a range of queries around each record, from the scores of another attack at each query.

    Args:
        attack: the attack at each query.
        combine: over the queries, the "max", the "mean" or a "quantile" of the scores; or "weighted", one score of the
            linear combination of the signals that separates members best over all records (Fisher's discriminant),
            fitted for each target to the other models, for an attack with the option `signal`.
        quantile: in [0, 1], for "quantile": the smallest score that at least this share of the queries do not exceed.

    Raises:
        AttackError: models without several queries, or "weighted" with an attack without the option `signal`.

    Guarantees:
        * the score of a target does not use its bits, nor those of its complement.

    References:
        Tao and Shokri (2025), "Range membership inference attacks", SaTML: scores over samples of a range, of which a
        trimmed mean is taken; the maximum is its extreme case.

    Example:
        >>> from dpassay.attacks.membership import shadows_of
        >>> rng = np.random.default_rng(0)
        >>> member = rng.random((8, 200)) < 0.5
        >>> scores = rng.normal(size=(8, 200, 5))
        >>> scores[:, :, 2] += 4.0 * member  # one of the five points was in the training set
        >>> shadows = shadows_of(member, scores=scores)
        >>> from dpassay.attacks.membership.thresholds import LossThreshold
        >>> found = RangeMembership(LossThreshold(), combine="max").score(shadows)
        >>> bool(found[member].mean() > found[~member].mean() + 2)
        True
    """

    name: ClassVar[str] = "range"

    attack: Annotated[MembershipAttack, instance_of(MembershipAttack, "BASE()")] = field(default_factory=BASE)
    combine: Annotated[str, one_of_names("max", "mean", "quantile", "weighted")] = "max"
    quantile: UnitInterval = 0.9

    @property
    def references(self) -> str:
        return self.attack.references

    @property
    def minimum_references(self) -> int:
        return max(self.attack.minimum_references, 4 if self.combine == "weighted" else 0)

    def scores_of(self, shadows: Shadows) -> Floats:
        if not shadows.queries:
            raise AttackError(
                f"attack {self.name!r} needs several queries of each record: signals of shape (n_models, n_records, "
                "n_queries), as shadows_of takes them."
            )
        if self.combine == "weighted":
            return self._of_combined_signals(shadows)
        scores = np.stack([self.attack.score(query) for query in shadows.queries])
        if self.combine == "mean":
            return np.asarray(scores.mean(axis=0))
        share = 1.0 if self.combine == "max" else self.quantile
        index = max(int(np.ceil(share * len(scores))) - 1, 0)
        return np.asarray(np.sort(scores, axis=0)[index])

    def _of_combined_signals(self, shadows: Shadows) -> Floats:
        """Return the scores of one signal, a linear combination of those of the queries, for each target."""
        signal = getattr(self.attack, "signal", None)
        if signal is None:
            raise AttackError(
                f"attack {self.attack.name!r} has no option signal, which combine='weighted' combines. Use "
                "combine='max' or 'mean', or LiRA()."
            )
        values = np.stack([query.signal(signal) for query in shadows.queries])
        scores = np.full(shadows.inclusion.shape, np.nan)
        for target, partner in enumerate(shadows.partners):
            if partner < target:
                continue  # scored with its complement, by the same weights
            rest = np.setdiff1d(np.arange(len(shadows)), (target, partner))
            weights = discriminant(values[:, rest], shadows.inclusion[rest])
            combined = replace(
                shadows, signals={signal: np.tensordot(weights, values, 1)}, log_probabilities=None, queries=()
            )
            scores[[target, partner]] = self.attack.score(combined)[[target, partner]]
        return scores


def discriminant(values: Floats, inclusion: Bools) -> Floats:
    """Return Fisher's discriminant of members and non-members, the same for all records, `(n_queries,)`.

    Args:
        values: `(n_queries, n_models, n_records)`.
        inclusion: `(n_models, n_records)`; records with models on one side only are left out.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> inclusion = rng.random((50, 400)) < 0.5
        >>> values = rng.normal(size=(2, 50, 400)) + np.array([1.0, 0.0])[:, None, None] * inclusion
        >>> np.allclose(discriminant(values, inclusion), [1.0, 0.0], atol=0.1)
        True
    """
    both = inclusion.any(axis=0) & ~inclusion.all(axis=0)
    values, inside = values[:, :, both], inclusion[:, both]
    mean_in = (values * inside).sum(axis=1) / inside.sum(axis=0)
    mean_out = (values * ~inside).sum(axis=1) / (~inside).sum(axis=0)
    residuals = values - np.where(inside, mean_in[:, None], mean_out[:, None])
    flat = residuals.reshape(len(values), -1)
    freedom = max(inside.size - 2 * inside.shape[1], 1)
    covariance = flat @ flat.T / freedom
    ridge = 1e-6 * np.trace(covariance) / len(values) + 1e-300
    gap = (mean_in - mean_out).mean(axis=1)
    return np.asarray(np.linalg.solve(covariance + ridge * np.eye(len(values)), gap))
