"""Empirical privacy curves of a mechanism whose output law is known."""

import numpy as np


def empirical_curves(mechanism, epsilons, *, runs, log_limit, pair=None):
    """Yield (mean, spread) for both directions: the larger mean estimates delta at each epsilon.

    A true mean lies beyond `spread` on one side with probability at most 2 e^-log_limit: empirical Bernstein for
    values in [0, 1] (Maurer, Pontil 2009, Theorem 4).
    """
    pair, law = pair or mechanism.worst_case(), mechanism.output_law()
    for side in (0, 1):
        outputs = mechanism.release(pair.side(side), runs, np.random.default_rng(side))
        own, other = (law.log_density(outputs, pair.side(s)) for s in (side, 1 - side))
        excess = np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilons[:, None] - (own - other))))
        spread = np.sqrt(2.0 * excess.var(axis=1, ddof=1) * log_limit / runs) + 7.0 * log_limit / (3.0 * (runs - 1))
        yield excess.mean(axis=1), spread
