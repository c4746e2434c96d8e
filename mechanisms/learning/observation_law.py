"""The law of the observed noisy sums, where only gradient records matter: what the likelihood-ratio attack reads.

An observation is U S_t / clip_norm, with the m observed directions as rows of U and S_t the noisy clipped sum. A
gradient record g adds U g / clip_norm to every step that samples it, and the noise is N(0, noise_multiplier^2 U U^T).
What the examples add is left out: the density is exact if their gradients have no share in the observed directions, as
when there are none, or when the directions are weights of a feature that is 0 in all of them. Elsewhere it still ranks
outputs by a fixed rule, so that an audit with it is valid, if not the strongest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from mechanisms.errors import ParameterError
from mechanisms.learning.base import Floats, TrainingData
from mechanisms.learning.clipping import clip_rows
from mechanisms.learning.sampling import (
    CyclicBatches,
    FixedSizeSampling,
    FullBatch,
    PoissonSampling,
    Sampling,
    ShuffledEpochs,
)

if TYPE_CHECKING:
    from mechanisms.learning.dp_sgd import DPSGD

MOST_SUBSETS = 2**10
"""Subsets of gradient records that a Poisson sample may hold, each a Gaussian of its own."""


@dataclass(frozen=True, eq=False)
class Observations:
    """What the law depends on.

    Args:
        sampling: the scheme.
        shifts: what each record adds, examples first (0), in whitened units: noise has the unit covariance,
            `(n_records, m)`.
        whiten: `(m, m)`, observation -> whitened units.
    """

    sampling: Sampling
    shifts: Floats
    whiten: Floats

    @classmethod
    def of(cls, mechanism: DPSGD, data: TrainingData) -> Observations:
        """Raises `ParameterError` where there is no density: no noise, or directions that depend on each other."""
        if not mechanism.noise_multiplier:
            raise ParameterError(
                "noise_multiplier is 0: noise-free observations have no density. Choose an attack.",
                argument="noise_multiplier",
            )
        mechanism.network.check(data)
        directions = mechanism.directions
        covariance = mechanism.noise_multiplier**2 * directions @ directions.T
        if np.linalg.matrix_rank(covariance, hermitian=True) < len(covariance):
            raise ParameterError(
                f"the {len(directions)} observed directions are linearly dependent: their observations have no "
                "density. Observe independent ones."
            )
        whiten = np.linalg.inv(np.linalg.cholesky(covariance))
        shifts = np.zeros((len(data), len(directions)))
        if data.gradients is not None:
            clipped = clip_rows(mechanism.clipping, data.gradients, mechanism.clip_norm, mechanism.network)
            shifts[data.n_examples :] = clipped @ directions.T / mechanism.clip_norm @ whiten.T
        return cls(mechanism.scheme, shifts, whiten)


def log_density(values: Floats, law: Observations) -> NDArray[np.float64]:
    """Log density of observations `(size, steps, m)`, `(size,)`."""
    whitened = np.asarray(values, dtype=np.float64) @ law.whiten.T
    constant = np.linalg.slogdet(law.whiten)[1] - 0.5 * whitened.shape[2] * math.log(2.0 * math.pi)
    density: NDArray[np.float64] = _LAWS[type(law.sampling)](whitened, law) + whitened.shape[1] * constant
    return density


def _gaussian(values: Floats, centre: Floats) -> Floats:
    """-|value - centre|^2 / 2, `(size, steps)`."""
    difference = values - centre
    return -0.5 * np.asarray(np.einsum("rtm,rtm->rt", difference, difference))


def _full(values: Floats, law: Observations) -> Floats:
    return np.asarray(_gaussian(values, law.shifts.sum(axis=0)).sum(axis=1))


def _poisson(values: Floats, law: Observations) -> Floats:
    """Each step a mixture over the subsets of the records that add something."""
    rate = law.sampling.sampling_probability  # type: ignore[attr-defined]
    if rate == 1.0:
        return _full(values, law)
    shifts = law.shifts[np.any(law.shifts != 0.0, axis=1)]
    if 2 ** len(shifts) > MOST_SUBSETS:
        raise ParameterError(
            f"{len(shifts)} gradient records are observed: a Poisson sample of them has too many possible sums for a "
            f"density. Use at most {int(math.log2(MOST_SUBSETS))}, or another attack."
        )
    members = (np.arange(2 ** len(shifts))[:, None] >> np.arange(len(shifts))) & 1
    taken = members.sum(axis=1)
    weights = taken * math.log(rate) + (len(shifts) - taken) * math.log1p(-rate)
    terms = (weight + _gaussian(values, subset @ shifts) for weight, subset in zip(weights, members, strict=True))
    return np.asarray(reduce(np.logaddexp, terms).sum(axis=1))


def _fixed_size(values: Floats, law: Observations) -> Floats:
    """Each step a mixture of two: the odd record is sampled, or not."""
    size, n = law.sampling.batch_size, len(law.shifts)  # type: ignore[attr-defined]
    common, odd = _common_and_odd(law.shifts)
    usual = _gaussian(values, size * common)
    if odd is None:
        return np.asarray(usual.sum(axis=1))
    sampled = math.log(size / n) + _gaussian(values, size * common + odd - common)
    rest = math.log1p(-size / n) if size < n else -math.inf
    return np.asarray(np.logaddexp(rest + usual, sampled).sum(axis=1))


def _cyclic(values: Floats, law: Observations) -> Floats:
    """Every batch is known."""
    size = law.sampling.batch_size  # type: ignore[attr-defined]
    sums = np.add.reduceat(law.shifts, np.arange(0, len(law.shifts), size), axis=0)
    return np.asarray(_gaussian(values, sums[np.arange(values.shape[1]) % len(sums)]).sum(axis=1))


def _shuffled(values: Floats, law: Observations) -> Floats:
    """Each epoch a mixture over the batch that holds the odd record."""
    size, n = law.sampling.batch_size, len(law.shifts)  # type: ignore[attr-defined]
    common, odd = _common_and_odd(law.shifts)
    sizes = np.array([min(size, n - start) for start in range(0, n, size)])
    steps = np.arange(values.shape[1]) % len(sizes)
    centres = sizes[steps][:, None] * common
    usual = _gaussian(values, centres)
    if odd is None:
        return np.asarray(usual.sum(axis=1))
    gain = _gaussian(values, centres + odd - common) - usual + np.log(sizes / n)[steps]
    total = usual.sum(axis=1)
    for start in range(0, values.shape[1], len(sizes)):
        epoch = gain[:, start : start + len(sizes)]
        later = 1.0 - sizes[: epoch.shape[1]].sum() / n
        missing = np.full((len(values), 1), math.log(later) if later > 0.0 else -math.inf)
        total += logsumexp(np.concatenate([epoch, missing], axis=1), axis=1)
    return np.asarray(total)


def _common_and_odd(shifts: Floats) -> tuple[Floats, Floats | None]:
    """The shift that all records share, but for at most one; and that of the odd one, if there is one."""
    distinct, counts = np.unique(shifts, axis=0, return_counts=True)
    if len(distinct) > 2 or (len(distinct) == 2 and counts.min() > 1):
        raise ParameterError(
            "the density of these batches is known only if all records but one add the same to what is observed. Use "
            "such records, or another attack."
        )
    usual = int(counts.argmax())  # of two records either may be the odd one: the mixture is the same
    return distinct[usual], distinct[1 - usual] if len(distinct) == 2 else None


_LAWS: dict[type, Callable[[Any, Any], Floats]] = {
    FullBatch: _full,
    PoissonSampling: _poisson,
    FixedSizeSampling: _fixed_size,
    CyclicBatches: _cyclic,
    ShuffledEpochs: _shuffled,
}
