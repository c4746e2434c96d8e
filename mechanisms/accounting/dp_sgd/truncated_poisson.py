"""Gaussian noise on Poisson samples that are cut at a largest size B.

Let the larger dataset hold n records, one of which, x, is missing in the other, and let M be the size of the Poisson
sample of the n - 1 other records, which does not depend on x.

    M < B     no sample is cut: x takes part with probability q and adds its gradient, a shift by 1 sensitivity
    M >= B    the batch without x is a uniform subset A of B of the others. With x it is the same, except that x takes
              the place of a uniform member of A if it is sampled and survives the cut, with probability q B / (M + 1):
              a shift by up to 2 sensitivities. A and that member are independent of M, so that only the average of
              these probabilities counts, q' = E[q B / (M + 1) | M >= B] = (B / n) P(N > B) / P(M >= B), with N the
              size of the sample of all n records.

Given M < B or M >= B, which is public in the bound, and the records in the batch, both are Gaussian noise on Poisson
samples, at rate q with 1 sensitivity and at rate q' with 2. By joint convexity a step is dominated by their mixture,
whose privacy loss has the mixture of the two laws. Steps compose. (The same decomposition: Ganesh et al. 2025, with the
curve of a replaced record in the second case. Chua et al. 2024, Theorem 3.3, add (1 + e^epsilon) T P(N > B) to delta.)
"""

from __future__ import annotations

from ...core import AccountingError, Relation, parameter_text, whole
from ..kinds.privacy_loss import PrivacyLossDP, fitting_interval, gaussian_reach
from ..kinds.renyi import check_steps
from ..numerics.binomial import binomial_sf
from ..numerics.composed_losses import composed_losses


def truncated_poisson(
    noise_multiplier: float,
    *,
    sampling_probability: float,
    largest_batch: int,
    n_records: int,
    steps: int = 1,
    relation: str | Relation = Relation.ADD_REMOVE,
) -> PrivacyLossDP:
    """Return the guarantee of composed Gaussian noise on sums over truncated Poisson samples.

    Args:
        noise_multiplier: standard deviation / sensitivity, > 0.
        sampling_probability: q, inclusion probability of each record before the cut, in (0, 1].
        largest_batch: B, the largest size of a batch, >= 1.
        n_records: n, the number of records of the larger dataset, >= 1.
        steps: number of compositions, >= 1.
        relation: add_remove.

    Raises:
        ParameterError: a value out of range.
        AccountingError: another relation.

    Guarantees:
        * An upper bound; that of Poisson sampling if no sample can exceed B.

    Example:
        >>> options = {"sampling_probability": 0.1, "n_records": 1000, "steps": 10}
        >>> for largest_batch in (1000, 150, 120):
        ...     print(round(truncated_poisson(4.0, largest_batch=largest_batch, **options).epsilon(1e-5), 3))
        0.305
        0.305
        0.362
    """
    check_steps(sampling_probability, steps, noise_multiplier=noise_multiplier)
    whole(1, largest_batch=largest_batch, n_records=n_records)
    relation = Relation.of(relation)
    if relation is not Relation.ADD_REMOVE:
        raise AccountingError(
            f"truncated Poisson samples have no guarantee under {relation.value!r}: the record that takes the place of "
            "another may be in the batch as well. Use 'add_remove'.",
            argument="relation",
        )
    q = sampling_probability
    full = float(binomial_sf(largest_batch - 1, n_records - 1, q)) if largest_batch < n_records else 0.0
    if full == 0.0:
        return PrivacyLossDP.gaussian(noise_multiplier, sampling_probability=q, steps=steps, relation=relation)
    cut = largest_batch / n_records * float(binomial_sf(largest_batch, n_records, q)) / full
    cases = ((noise_multiplier, q), (0.5 * noise_multiplier, min(1.0, cut)))
    interval = max(fitting_interval(gaussian_reach(1.0 / s, rate, steps)) for s, rate in cases)
    plain, exchanged = (
        PrivacyLossDP.gaussian(s, sampling_probability=rate, interval=interval).pld for s, rate in cases
    )
    step = exchanged.compute_mixture(plain, full) if full < 1.0 else exchanged
    title = (
        f"truncated Poisson, noise_multiplier={parameter_text(noise_multiplier)}, "
        f"sampling_probability={parameter_text(q)}"
    )
    described = f"{title}, largest_batch={largest_batch}, n_records={n_records}, steps={steps}"
    return PrivacyLossDP.from_pld(composed_losses([(step, steps)]), relation=relation, description=described)
