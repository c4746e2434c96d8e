"""Guarantees of noisy gradient steps, for each sampling scheme, and the noise that a target epsilon needs.

    _steps_guarantee    the guarantee of a number of steps
    calibrate_noise    the smallest noise multiplier for a target (epsilon, delta)

    sampling            accounting                                  relations
    poisson             privacy-loss, renyi, moments                add_remove, zero_out
    cyclic-poisson      privacy-loss, renyi, moments                zero_out
    truncated-poisson   privacy-loss (not the bound for Poisson)    add_remove
    random-allocation   privacy-loss                                add_remove, zero_out
    fixed-size          renyi (not the bound for Poisson)           zero_out
    fixed-size          privacy-loss, renyi                         replace_one
    shuffled            gaussian: no amplification                  zero_out, replace_one
    cyclic              gaussian: no amplification                  zero_out, replace_one
    full-batch          gaussian                                    all three

The first accounting in a row is the default. Correlated noise has the accounting "gaussian" without amplification, but
"privacy-loss" for cyclic Poisson samples of as many blocks as the noise has bands, or more
(`dpassay.mechanisms.accounting.dp_sgd.correlated_noise`). The noise multiplier is the standard deviation
of the noise divided by the clipping norm C, as for DP-SGD. A record changes a sum by at most C when it is added or
removed, and by 2 C when it is replaced: under replace_one the accountants receive half of the noise multiplier.

Under zero_out the record of side 0 must add nothing to any sum. A record whose features are all zero does not satisfy
this: the gradient of a bias at such an example is not 0.
"""

from __future__ import annotations

from ...accounting.conversion.calibration import least_noise_multiplier
from ...accounting.kinds.renyi import check_steps
from ...core import AccountingError, Guarantee, ParameterError, Relation, one_of
from .catalogue import build_noise, samplings
from .noise.base import StepNoise
from .sampling.base import Sampling


def _steps_guarantee(
    noise_multiplier: float,
    *,
    sampling: str,
    steps: int,
    sampling_probability: float = 1.0,
    batches_per_epoch: int | None = None,
    participations: int = 1,
    largest_batch: int | None = None,
    n_records: int | None = None,
    relation: str | Relation = Relation.ADD_REMOVE,
    accounting: str | None = None,
    noise: StepNoise | str = "independent",
) -> Guarantee:
    """Return the guarantee of `steps` noisy sums of clipped gradients, all of which are released.

    Args:
        noise_multiplier: standard deviation of the noise on the sum / clipping norm, > 0.
        sampling: a name in the table.
        steps: >= 1.
        sampling_probability: for the Poisson schemes and "fixed-size": the share of the records in a batch (or in the
            part of a block), in (0, 1].
        batches_per_epoch: for "shuffled", "cyclic" and "cyclic-poisson": steps in which each record is used at most
            once; for "random-allocation": steps in which it is used `participations` times.
        participations: for "random-allocation".
        largest_batch, n_records: for "truncated-poisson": the size at which batches are cut, and the number of records
            of the larger dataset.
        relation: the neighbouring relation; the table above lists which are supported.
        accounting: one of those in the row of the table; None for the first. With correlated noise it is not used.
        noise: noise of the steps, as for `DPSGD`.

    Raises:
        ParameterError: a value out of range, or an accounting that does not cover the sampling.
        AccountingError: a relation that none of these theorems covers.

    Example:
        >>> round(_steps_guarantee(1.0, sampling="poisson", sampling_probability=0.01, steps=100).epsilon(1e-5), 2)
        0.72
        >>> epoch = _steps_guarantee(1.0, sampling="shuffled", batches_per_epoch=100, steps=100, relation="zero_out")
        >>> round(epoch.epsilon(1e-5), 2)
        4.38
    """
    check_steps(sampling_probability, steps, noise_multiplier=noise_multiplier)
    scheme, relation = _scheme_named(sampling), Relation.of(relation)
    chosen = _chosen_accounting(sampling, accounting, relation)
    rates = {
        "sampling_probability": sampling_probability,
        "batches_per_epoch": batches_per_epoch,
        "participations": participations,
        "largest_batch": largest_batch,
        "n_records": n_records,
    }
    return build_noise(noise).account(
        scheme,
        0.5 * noise_multiplier if relation is Relation.REPLACE_ONE else noise_multiplier,
        steps=steps,
        relation=relation,
        accounting=chosen,
        **_rates(sampling, scheme, rates),
    )


def _scheme_named(sampling: str) -> type[Sampling]:
    """Return the sampling class of that name; raise `ParameterError` for an unknown name."""
    one_of(samplings.entries, sampling=sampling)
    return samplings.get(sampling)


def _chosen_accounting(sampling: str, accounting: str | None, relation: Relation) -> str:
    """Return `accounting`, or the first for `sampling` if it is None; raise `ParameterError` if it is not supported."""
    known = _scheme_named(sampling).accountants_under(relation)
    if accounting is None:
        return known[0]
    if accounting not in known:
        raise ParameterError(
            f"accounting is {accounting!r}, but under {relation.value!r} {sampling!r} batches are accounted for by "
            f"{' or '.join(known)}. The guarantee of one sampling scheme does not hold for another.",
            argument="accounting",
        )
    return accounting


REQUIRED_RATES = {
    "batches_per_epoch": "a record is used once in this many",
    "largest_batch": "larger batches are cut",
    "n_records": "it determines how often batches are cut",
}
"""Reason for a rate without a default."""


def _rates(sampling: str, scheme: type[Sampling], values: dict[str, float | None]) -> dict[str, float]:
    """Return the sampling rates that the scheme needs; raise `ParameterError` for a superfluous or a missing one."""
    for name, value in values.items():
        if name not in scheme.rates and value not in (None, 1.0):
            owners = " and ".join(repr(other) for other in samplings if name in _scheme_named(other).rates)
            raise ParameterError(
                f"{name} belongs to {owners}, but sampling is {sampling!r}, which does not use it. Leave it out.",
                argument=name,
            )
    required = {}
    for name in scheme.rates:
        if (value := values[name]) is None:
            raise ParameterError(f"{name} is needed for {sampling!r} batches: {REQUIRED_RATES[name]}.", argument=name)
        required[name] = value
    return required


def calibrate_noise(
    *,
    epsilon: float,
    delta: float,
    sampling: str,
    steps: int,
    sampling_probability: float = 1.0,
    batches_per_epoch: int | None = None,
    participations: int = 1,
    largest_batch: int | None = None,
    n_records: int | None = None,
    relation: str | Relation = Relation.ADD_REMOVE,
    accounting: str | None = None,
    noise: StepNoise | str = "independent",
    tolerance: float = 1e-4,
) -> float:
    """Return the smallest noise multiplier for which `_steps_guarantee` is (epsilon, delta)-DP, rounded up.

    Args:
        epsilon: the target, > 0.
        delta: strictly between 0 and 1.
        tolerance: relative, > 0: by how much the result may exceed the smallest multiplier.
        all others: as for `_steps_guarantee`.

    Returns:
        Standard deviation of the noise on the sum / clipping norm.

    Raises:
        ParameterError, AccountingError: as for `_steps_guarantee`, or no amount of noise is enough.

    Guarantees:
        * `_steps_guarantee(returned, ...).epsilon(delta) <= epsilon`.

    Example:
        >>> setting = {"sampling": "full-batch", "steps": 100}
        >>> noise = calibrate_noise(epsilon=1.0, delta=1e-5, **setting)
        >>> round(noise, 3), _steps_guarantee(noise, **setting).epsilon(1e-5) <= 1.0
        (37.307, True)
    """

    def guarantee_of(noise_multiplier: float, accounting: str | None = accounting) -> Guarantee:
        return _steps_guarantee(
            noise_multiplier,
            sampling=sampling,
            steps=steps,
            sampling_probability=sampling_probability,
            batches_per_epoch=batches_per_epoch,
            participations=participations,
            largest_batch=largest_batch,
            n_records=n_records,
            relation=relation,
            accounting=accounting,
            noise=noise,
        )

    start = 1.0
    relation = Relation.of(relation)
    exact = _chosen_accounting(sampling, accounting, relation) == "privacy-loss"
    if exact and "renyi" in _scheme_named(sampling).accountants_under(relation):
        try:
            start = 0.95 * least_noise_multiplier(
                lambda noise: guarantee_of(noise, "renyi"), epsilon=epsilon, delta=delta, tolerance=0.01
            )
        except AccountingError:
            start = 1.0
    return least_noise_multiplier(guarantee_of, epsilon=epsilon, delta=delta, tolerance=tolerance, start=start)
