"""Metrics of each model, and a test whether one of them leaks more or less than the others.

With every model a target in turn, the metrics are means over models. One overfitted model among sixteen harmless ones
moves such a mean little, and a harmless one among overfitted ones is not seen at all.

A model differs if its AUC is further than a margin of 0.1 from the mean of the other AUCs, beyond what chance explains:

    |AUC_m - mean of others| - 0.1 > z sqrt(V (1 + 1 / (M - 1))),       V = max(largest DeLong variance, spread^2)

with z the normal quantile at 0.001 / (2 M attacks): Bonferroni over M models, attacks and both directions. The spread
is the standard deviation of the other AUCs, the DeLong variance that of records like these under one model. The null
hypothesis allows models of one procedure to differ by the margin, which few models could not show to be chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from ....attacks.membership.shadows import Shadows
from ....mechanisms.core import Bools, Floats, fixed, number
from .records import GroupRow
from .roc import Pooled

AUC_MARGIN = 0.1
"""Difference of AUCs that models of one training procedure may have."""
WARNING_LEVEL = 0.001
"""Probability of a warning if no model differs by more than the margin, over all models and attacks."""
MODEL_FPR = 0.01
"""False positive rate of the rows of models."""


def model_rows(scores: Floats, shadows: Shadows, names: Sequence[str], *, confidence: float) -> tuple[GroupRow, ...]:
    """Return the metrics of each model with scores of members and of non-members, about this model alone.

    Args:
        scores: `(n_models, n_records)`, NaN where a score is missing.
        shadows: the models of the scores.
        names: of the models.
        confidence: of each interval.
    """
    rows = []
    for own, member, name in zip(scores, shadows.inclusion, names, strict=True):
        known = ~np.isnan(own)
        if len(np.unique(member[known])) == 2:
            pooled = Pooled.of(own, member)
            interval, rate = pooled.auc_interval(confidence), pooled.rate_at(MODEL_FPR, confidence)
            rows.append(GroupRow(name, pooled.n_in, pooled.n_out, pooled.auc, *interval, rate))
    return tuple(rows)


def odd_models(
    attacks: Sequence[str], scores: Sequence[Floats], inclusion: Bools, names: Sequence[str]
) -> tuple[str, ...]:
    """Return a warning that names the model that differs most from the others; none if no model differs.

    Args:
        attacks: names of the attacks.
        scores: of each attack, `(n_models, n_records)`, NaN where a score is missing.
        inclusion: `(n_models, n_records)`.
        names: of the models.

    References:
        DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44, for the variance of an AUC.
    """
    worst: tuple[float, str, int, float, float] | None = None
    differ: set[int] = set()
    for attack, own in zip(attacks, scores, strict=True):
        auc, variance = aucs(own, inclusion)
        known = np.flatnonzero(~np.isnan(auc))
        if len(known) < 2:
            continue
        n, values = len(known), auc[known]
        others = (values.sum() - values) / (n - 1)
        spread = np.zeros(n)
        if n > 2:
            squares = np.sum((values - values.mean()) ** 2) - (values - values.mean()) ** 2 * n / (n - 1)
            spread = np.maximum(squares, 0.0) / (n - 2)
        error = np.sqrt(np.maximum(variance[known].max(), spread) * n / (n - 1))
        z = -special.ndtri(WARNING_LEVEL / (2.0 * n * len(attacks)))
        excess = np.abs(values - others) - AUC_MARGIN - z * error
        differ |= set(known[excess > 0.0].tolist())
        place = int(np.argmax(excess))
        if excess[place] > 0.0 and (worst is None or excess[place] > worst[0]):
            worst = float(excess[place]), attack, int(known[place]), float(values[place]), float(others[place])
    if worst is None:
        return ()
    _, attack, place, value, mean = worst
    more = f" {len(differ)} models differ in this way." if len(differ) > 1 else ""
    return (
        f"model {names[place]} differs from the others: {attack} has AUC {fixed(value)} on it, and {fixed(mean)} on "
        f"average on the others (more than {AUC_MARGIN} apart; test at level {number(WARNING_LEVEL)} over all models "
        f"and attacks).{more} The table is a mean over all models, and describes neither. If one model is audited, "
        f"name it: --target {names[place]}, or evaluate(..., target={names[place]!r}); the others are then references "
        "only. --per-model shows each model.",
    )


def aucs(scores: Floats, inclusion: Bools) -> tuple[Floats, Floats]:
    """Return the AUC of each model and its DeLong variance, `(n_models,)`; NaN with fewer than two scores on a side.

    Example:
        >>> auc, variance = aucs(np.array([[3.0, 2.0, 1.0, 0.0]]), np.array([[True, False, True, False]]))
        >>> auc, variance
        (array([0.75]), array([0.125]))
    """
    from scipy.stats import rankdata

    known = ~np.isnan(scores)
    inside, outside = inclusion & known, ~inclusion & known
    n_in, n_out = (side.sum(axis=1, keepdims=True) for side in (inside, outside))
    last = np.where(known, scores, np.inf)
    overall = rankdata(last, axis=1)
    beaten = (overall - rankdata(np.where(inside, last, np.inf), axis=1)) / np.maximum(n_out, 1)
    lost = (overall - rankdata(np.where(outside, last, np.inf), axis=1)) / np.maximum(n_in, 1)
    auc = np.where(inside, beaten, 0.0).sum(axis=1, keepdims=True) / np.maximum(n_in, 1)
    squares_in = np.where(inside, (beaten - auc) ** 2, 0.0).sum(axis=1, keepdims=True)
    squares_out = np.where(outside, (lost - 1.0 + auc) ** 2, 0.0).sum(axis=1, keepdims=True)
    enough = (n_in > 1) & (n_out > 1)
    variance = squares_in / np.maximum(n_in * (n_in - 1), 1) + squares_out / np.maximum(n_out * (n_out - 1), 1)
    return np.where(enough, auc, np.nan)[:, 0], np.where(enough, variance, np.nan)[:, 0]
