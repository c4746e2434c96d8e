"""What theory promises of DP-SGD: the guarantee for each way of sampling, or why there is none.

Seen are all noisy sums, in each of which a record of the batch counts at most clip_norm. In units of the sensitivity,
clip_norm or under replace_one twice that, the noise is s = noise_multiplier or noise_multiplier / 2.

    full batch   GaussianDP(sqrt(steps) / s)
    Poisson      the Gaussian on a Poisson sample, composed: a privacy-loss distribution
    fixed-size   its own Renyi bound
    cyclic       GaussianDP(sqrt(epochs) / s): a record is in one batch an epoch
    shuffled     the same, as an upper bound; never the number of Poisson sampling
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mechanisms.base import Relation
from mechanisms.errors import AccountingError
from mechanisms.guarantees import GaussianDP, PrivacyLossDP
from mechanisms.guarantees.base import Guarantee
from mechanisms.learning.sampling import (
    BatchSampling,
    CyclicBatches,
    FixedSizeSampling,
    FullBatch,
    PoissonSampling,
    ShuffledEpochs,
)

if TYPE_CHECKING:
    from mechanisms.learning.dp_sgd import DPSGD


def claim_of(mechanism: DPSGD) -> Guarantee:
    """The guarantee of `mechanism`; raises `AccountingError` where there is none."""
    if not mechanism.noise_multiplier:
        raise AccountingError(
            "noise_multiplier is 0: training without noise has no finite epsilon. Give a noise_multiplier > 0, or a "
            "claim of your own to audit against.",
            argument="noise_multiplier",
        )
    if mechanism.clipping == "none":
        raise AccountingError(
            "clipping is 'none': one record can move the sum without limit, and no noise hides that. Use 'flat' or "
            "'per-layer', or give a claim of your own to audit against.",
            argument="clipping",
        )
    relative = mechanism.noise_multiplier / (2.0 if mechanism.relation is Relation.REPLACE_ONE else 1.0)
    claim = _CLAIMS.get(type(mechanism.scheme))
    if claim is None:
        raise AccountingError(
            f"no guarantee is known for {type(mechanism.scheme).__name__}. Give a claim of your own to audit against."
        )
    return claim(mechanism, mechanism.scheme, relative)


def _full(mechanism: DPSGD, scheme: FullBatch, noise_multiplier: float) -> Guarantee:
    mu = math.sqrt(mechanism.steps) / noise_multiplier
    return GaussianDP(mu, relation=mechanism.relation, exact=_shows_all(mechanism))


def _poisson(mechanism: DPSGD, scheme: PoissonSampling, noise_multiplier: float) -> Guarantee:
    if scheme.sampling_probability == 1.0:
        return _full(mechanism, FullBatch(), noise_multiplier)
    return PrivacyLossDP.gaussian(
        noise_multiplier,
        sampling_probability=scheme.sampling_probability,
        steps=mechanism.steps,
        relation=mechanism.relation,
    )


def _fixed_size(mechanism: DPSGD, scheme: FixedSizeSampling, noise_multiplier: float) -> Guarantee:
    from mechanisms.guarantees.fixed_size import fixed_size_gaussian

    return fixed_size_gaussian(
        noise_multiplier,
        sampling_probability=scheme.batch_size / _n_records(scheme),
        steps=mechanism.steps,
        relation=mechanism.relation,
    )


def _batches(mechanism: DPSGD, scheme: BatchSampling, noise_multiplier: float) -> Guarantee:
    from mechanisms.guarantees.deterministic_batches import deterministic_batches

    epochs = math.ceil(mechanism.steps / math.ceil(_n_records(scheme) / scheme.batch_size))
    cyclic = isinstance(scheme, CyclicBatches)
    claim = deterministic_batches(
        noise_multiplier, epochs=epochs, order="cyclic" if cyclic else "shuffled", relation=mechanism.relation
    )
    return GaussianDP(claim.mu, relation=mechanism.relation, exact=cyclic and _shows_all(mechanism))


def _n_records(scheme: BatchSampling) -> int:
    if scheme.n_records is None:
        raise AccountingError(
            f"the guarantee of {type(scheme).__name__} depends on the number of records, which is not read from the "
            "data. Give n_records beside batch_size, a public constant."
        )
    return scheme.n_records


def _shows_all(mechanism: DPSGD) -> bool:
    """Whether what is released shows the noisy sums along the canary: the claim is then attained."""
    if mechanism.view == "trajectory":
        return mechanism.projection is None and bool(mechanism.recipe.rates.all())
    return mechanism.view == "observations" and mechanism.observed is None


_CLAIMS: dict[type, Callable[[Any, Any, float], Guarantee]] = {
    FullBatch: _full,
    PoissonSampling: _poisson,
    FixedSizeSampling: _fixed_size,
    CyclicBatches: _batches,
    ShuffledEpochs: _batches,
}
