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

from ...errors import ParameterError
from ...guarantees.base import Guarantee
from ...relation import Relation
from ...validation import one_of, positive, unit_interval, whole
from ..dp_sgd.catalogue import samplings
from ..dp_sgd.sampling import Sampling


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
    """The guarantee of this many noisy sums of clipped gradients, all of them seen.

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
    scheme, relation = scheme_named(sampling), Relation.of(relation)
    chosen = chosen_accounting(sampling, accounting)
    given = {"sampling_probability": sampling_probability, "batches_per_epoch": batches_per_epoch}
    return scheme.account(
        0.5 * noise_multiplier if relation is Relation.REPLACE_ONE else noise_multiplier,
        steps=steps,
        relation=relation,
        accounting=chosen,
        **_rates(sampling, scheme, given),
    )


def scheme_named(sampling: str) -> type[Sampling]:
    """The class of that name in the catalogue; raises `ParameterError` for no such name."""
    one_of(samplings.entries, sampling=sampling)
    return samplings.get(sampling)


def chosen_accounting(sampling: str, accounting: str | None) -> str:
    """`accounting`, or the first for `sampling` if it is None; raises `ParameterError` if it does not know it."""
    known = scheme_named(sampling).accountants
    if accounting is None:
        return known[0]
    if accounting not in known:
        raise ParameterError(
            f"accounting is {accounting!r}, but {sampling!r} batches are accounted for by {' or '.join(known)}. The "
            "budget of one way of drawing batches is not that of another.",
            argument="accounting",
        )
    return accounting


def _rates(sampling: str, scheme: type[Sampling], given: dict[str, float | None]) -> dict[str, float]:
    """The numbers that the scheme is accounted for by; raises `ParameterError` for others, and where one is missing."""
    for name, value in given.items():
        if name not in scheme.rates and value not in (None, 1.0):
            owners = " and ".join(repr(other) for other in samplings if name in scheme_named(other).rates)
            raise ParameterError(
                f"{name} belongs to {owners}, but sampling is {sampling!r}: nothing is gained from it. Leave it out.",
                argument=name,
            )
    found = {}
    for name in scheme.rates:
        if (value := given[name]) is None:
            raise ParameterError(
                f"{name} is needed for {sampling!r} batches: a record is used once in this many.", argument=name
            )
        found[name] = value
    return found
