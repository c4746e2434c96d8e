"""Privacy amplification by subsampling."""

from __future__ import annotations

import math

from ...core import AccountingError, Guarantee, Relation, RelationError, one_of, positive, unit_interval
from ..conversion.convert import nominal
from ..kinds.approximate import ApproximateDP, PureDP

_RELATIONS = {"poisson": Relation.ADD_REMOVE, "fixed-size": Relation.REPLACE_ONE}


def subsample(guarantee: Guarantee, sampling_probability: float, *, sampling: str) -> PureDP | ApproximateDP:
    """Return the guarantee of running an (epsilon, delta)-DP mechanism on a secret random sample of the records.

    The result is (log(1 + q (e^epsilon - 1)), q delta)-DP.

    Args:
        guarantee: pure, Laplace or approximate, or a pair of finite distributions with a finite epsilon at delta 0.
        sampling_probability: q in (0, 1], the share of records in the sample.
        sampling: "poisson", each record independently, under add_remove; or "fixed-size", that share of the records
            without replacement, under replace_one. Shuffled batches are neither.

    Returns:
        A guarantee under the relation of the sampling.

    Raises:
        ParameterError: a value out of range.
        RelationError: the guarantee holds for a relation for which this sampling does not amplify by this formula.
        AccountingError: the guarantee is a whole curve.

    References:
        Balle, Barthe, Gaboardi (2018), Theorems 8 and 9; Kasiviswanathan et al. (2008).

    Example:
        >>> round(subsample(PureDP(1.0), 0.01, sampling="poisson").epsilon(0.0), 7)
        0.0170369
    """
    positive(sampling_probability=sampling_probability)
    unit_interval(sampling_probability=sampling_probability)
    one_of(_RELATIONS, sampling=sampling)
    relation = _RELATIONS[sampling]
    if guarantee.relation not in (None, relation):
        raise RelationError(
            f"{sampling} sampling amplifies guarantees under {relation.value!r}, but {guarantee} holds for "
            f"{Relation(guarantee.relation).value!r}. State the guarantee of the mechanism under {relation.value!r}."
        )
    pair = nominal(guarantee)
    if pair is None:
        raise AccountingError(
            f"this theorem amplifies (epsilon, delta) guarantees, but {guarantee} is a whole curve. For sampled "
            "Gaussian or Laplace noise use PrivacyLossDP.gaussian(..., sampling_probability=...) or .laplace(...)."
        )
    epsilon = math.log1p(sampling_probability * math.expm1(pair[0]))
    if pair[1] == 0.0:
        return PureDP(epsilon, relation)
    return ApproximateDP(epsilon, sampling_probability * pair[1], relation)
