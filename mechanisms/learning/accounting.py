"""Which theorem accounts for which way of drawing batches: the guarantee of noisy gradient steps.

    sampling       accounting                                  relations
    poisson        privacy-loss, renyi, moments                add_remove, zero_out
    fixed-size     renyi (of its own, not that of Poisson)     zero_out, replace_one
    shuffled       gaussian: no amplification                  zero_out, replace_one
    cyclic         gaussian: no amplification                  zero_out, replace_one
    full-batch     gaussian                                    all three

The first accounting in a row is taken when none is named. Here a noise multiplier is the standard deviation of the
noise over the clipping norm C, as for DP-SGD. A record then moves a sum by C at most when it comes or goes, and by 2 C
when it is replaced: under replace_one the accountants get half of the noise multiplier.

Under zero_out the record of side 0 must add nothing to any sum, which is not the same as having zeros for features: the
gradient of a bias at such an example is not 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from mechanisms.base import Relation
from mechanisms.errors import ParameterError
from mechanisms.guarantees import GaussianDP, PrivacyLossDP, RenyiDP
from mechanisms.guarantees.base import Guarantee
from mechanisms.guarantees.deterministic_batches import deterministic_batches
from mechanisms.guarantees.fixed_size import fixed_size_gaussian
from mechanisms.guarantees.moments import MomentsDP
from mechanisms.validation import one_of, positive, unit_interval, whole

ACCOUNTING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "poisson": ("privacy-loss", "renyi", "moments"),
        "fixed-size": ("renyi",),
        "shuffled": ("gaussian",),
        "cyclic": ("gaussian",),
        "full-batch": ("gaussian",),
    }
)
"""Sampling -> the accountants that know it, the one to use first."""

_POISSON: Mapping[str, Callable[..., Guarantee]] = MappingProxyType(
    {"privacy-loss": PrivacyLossDP.gaussian, "renyi": RenyiDP.gaussian, "moments": MomentsDP.gaussian}
)


def steps_guarantee(
    noise_multiplier: float,
    *,
    sampling: str,
    steps: int,
    sampling_probability: float = 1.0,
    batches_per_epoch: int | None = None,
    relation: str | Relation = Relation.ADD_REMOVE,
    accounting: str | None = None,
) -> Guarantee:
    """The guarantee of so many noisy sums of clipped gradients, all of them seen.

    Args:
        noise_multiplier: standard deviation of the noise on the sum / clipping norm, > 0.
        sampling: "poisson", "fixed-size", "shuffled", "cyclic" or "full-batch".
        steps: >= 1.
        sampling_probability: for "poisson" and "fixed-size": the share of the records in a batch, in (0, 1].
        batches_per_epoch: for "shuffled" and "cyclic", and only for them: steps in which each record is used once.
        relation: the neighbouring relation; a row above lists which are known.
        accounting: one of those in the row; None for the first.

    Raises:
        ParameterError: a value out of range, or an accounting that does not know the sampling.
        AccountingError: a relation that no theorem here covers.

    Example:
        >>> round(steps_guarantee(1.0, sampling="poisson", sampling_probability=0.01, steps=100).epsilon(1e-5), 2)
        0.72
        >>> epoch = steps_guarantee(1.0, sampling="shuffled", batches_per_epoch=100, steps=100, relation="zero_out")
        >>> round(epoch.epsilon(1e-5), 2)
        4.38
    """
    positive(noise_multiplier=noise_multiplier, sampling_probability=sampling_probability)
    unit_interval(sampling_probability=sampling_probability)
    whole(1, steps=steps)
    one_of(ACCOUNTING, sampling=sampling)
    chosen = chosen_accounting(sampling, accounting)
    relation = Relation.of(relation)
    _check_batches(sampling, batches_per_epoch, sampling_probability)
    noise = 0.5 * noise_multiplier if relation is Relation.REPLACE_ONE else noise_multiplier
    if sampling == "full-batch":
        return GaussianDP(math.sqrt(steps) / noise, relation)
    if batches_per_epoch is not None:
        return deterministic_batches(noise, epochs=-(-steps // batches_per_epoch), order=sampling, relation=relation)
    account = fixed_size_gaussian if sampling == "fixed-size" else _POISSON[chosen]
    return account(noise, sampling_probability=sampling_probability, steps=steps, relation=relation)


def chosen_accounting(sampling: str, accounting: str | None) -> str:
    """`accounting`, or the first for `sampling` if it is None; raises `ParameterError` if it does not know it."""
    one_of(ACCOUNTING, sampling=sampling)
    known = ACCOUNTING[sampling]
    if accounting is None:
        return known[0]
    if accounting not in known:
        raise ParameterError(
            f"accounting is {accounting!r}, but {sampling!r} batches are accounted for by {' or '.join(known)}. The "
            "budget of one way of drawing batches is not that of another.",
            argument="accounting",
        )
    return accounting


def _check_batches(sampling: str, batches_per_epoch: int | None, sampling_probability: float) -> None:
    in_epochs = sampling in ("shuffled", "cyclic")
    if in_epochs and batches_per_epoch is None:
        raise ParameterError(
            f"batches_per_epoch is needed for {sampling!r} batches: a record is used once in so many.",
            argument="batches_per_epoch",
        )
    if not in_epochs and batches_per_epoch is not None:
        raise ParameterError(
            f"batches_per_epoch belongs to 'shuffled' and 'cyclic', but sampling is {sampling!r}.",
            argument="batches_per_epoch",
        )
    if sampling not in ("poisson", "fixed-size") and sampling_probability != 1.0:
        raise ParameterError(
            f"sampling_probability is {sampling_probability:g}, but {sampling!r} batches are not a random sample, and "
            "nothing is gained from it. Leave it out.",
            argument="sampling_probability",
        )
    if batches_per_epoch is not None:
        whole(1, batches_per_epoch=batches_per_epoch)
