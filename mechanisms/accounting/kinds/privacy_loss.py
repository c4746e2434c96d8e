"""Privacy-loss distributions: numerical accounting by Google's dp-accounting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...core import AccountingError, ParameterError, Relation, parameter_text, positive
from ..numerics.composed_losses import composed_losses
from ..numerics.losses import LossProfile
from ..numerics.noise_losses import gaussian_losses, laplace_losses
from .profile import LossGuarantee
from .renyi import check_steps, poisson_relation

INTERVAL = 1e-4
"""Grid interval of privacy losses. Half of it takes twice the time and memory."""
MAX_LOSS_RANGE = 1380.0
"""Largest range of privacy losses on this grid; a wider range uses a coarser grid of a hundred thousand losses."""
_MAX_LOSSES = 2e8
_MAX_LOSS = 690.0


@dataclass(frozen=True)
class NoisySteps:
    """Composed noise on Poisson samples of the records: the arguments of `PrivacyLossDP.gaussian` and `.laplace`.

    Args:
        noise: "gaussian" or "laplace".
        ratio: sensitivity / scale of the noise of one step: 1 / noise_multiplier, or epsilon.
        sampling_probability, steps, relation, interval: as for these methods.
    """

    noise: str
    ratio: float
    sampling_probability: float
    steps: int
    relation: Relation
    interval: float

    def guarantee(self) -> PrivacyLossDP:
        """Return the guarantee of these steps."""
        scale = 1.0 / self.ratio if self.noise == "gaussian" else self.ratio
        make = PrivacyLossDP.gaussian if self.noise == "gaussian" else PrivacyLossDP.laplace
        options = {"sampling_probability": self.sampling_probability, "interval": self.interval}
        return make(scale, **options, steps=self.steps, relation=self.relation)


@dataclass(frozen=True, eq=False, repr=False)
class PrivacyLossDP(LossGuarantee):
    """The curve of a privacy-loss distribution of dp-accounting, on a grid and rounded pessimistically.

    Built by `gaussian`, `laplace`, `from_pld` or `compose(..., accounting="privacy-loss")`. If adding and removing a
    record lead to different losses, delta and epsilon are the larger of the two.

    Args:
        pld: a `dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution`.
        relation: the neighbouring relation; None adopts the relation of the pair.
        description: displayed text, such as "gaussian, noise_multiplier=4, steps=100".
        recipe: the steps from which the distribution was computed, if known; used to build families of guarantees.

    Guarantees:
        * An upper bound (`exact` is False), because losses are rounded up to the grid; above the exact epsilon by
          much less than the grid's interval per composition.
        * An upper bound in double precision too: compositions add a bound on the rounding errors of their transforms
          (`numerics.composed_losses`). Losses of probability 1e-22 per step, and 1e-22 per composition, count as
          infinite, so that epsilon is inf below that delta.

    References:
        Koskela, Jalko, Honkela (2020); Gopi, Lee, Wutschitz (2021); Doroshenko, Ghazi, Kamath, Kumar, Manurangsi
        (2022).

    Example:
        >>> claim = PrivacyLossDP.gaussian(4.0, sampling_probability=0.01, steps=1000)
        >>> print(claim)
        PrivacyLossDP(gaussian, noise_multiplier=4, sampling_probability=0.01, steps=1000)
        >>> round(claim.epsilon(1e-5), 3)
        0.272
    """

    pld: Any
    relation: Relation | None = None
    description: str = field(default="from_pld", kw_only=True)
    recipe: NoisySteps | None = field(default=None, kw_only=True)
    exact = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not hasattr(self.pld, "get_delta_for_epsilon"):
            raise ParameterError(
                f"pld must be a PrivacyLossDistribution of dp_accounting, but is a {type(self.pld).__name__}. "
                "Use PrivacyLossDP.gaussian(...), PrivacyLossDP.laplace(...), or one that dp_accounting.pld builds.",
                argument="pld",
            )

    def __eq__(self, other: object) -> bool:
        """Compare the recipes, so that results cached for a claim are found again."""
        if not isinstance(other, PrivacyLossDP):
            return NotImplemented
        return self is other or (self.recipe is not None and self._made_of == other._made_of)

    def __hash__(self) -> int:
        return object.__hash__(self) if self.recipe is None else hash(self._made_of)

    @property
    def _made_of(self) -> tuple[NoisySteps | None, Relation | None, bool, str]:
        return self.recipe, self.relation, self.exact, self.description

    @classmethod
    def from_pld(
        cls, pld: Any, *, relation: str | Relation | None = None, description: str = "from_pld"
    ) -> PrivacyLossDP:
        """Wrap a pessimistic privacy-loss distribution of dp-accounting, which the caller claims for `relation`."""
        return cls(pld, None if relation is None else Relation.of(relation), description=description)

    @classmethod
    def gaussian(
        cls,
        noise_multiplier: float,
        *,
        sampling_probability: float = 1.0,
        steps: int = 1,
        relation: str | Relation = Relation.ADD_REMOVE,
        interval: float | None = None,
    ) -> PrivacyLossDP:
        """Return the guarantee of the Gaussian mechanism on Poisson samples, composed with itself, as for DP-SGD.

        Args:
            noise_multiplier: standard deviation / L2 sensitivity under `relation`, > 0.
            sampling_probability: inclusion probability of each record in each step, in (0, 1].
            steps: number of compositions, >= 1.
            relation: add_remove or zero_out if records are sampled; any relation otherwise.
            interval: grid interval of the losses, > 0; None uses 1e-4, or 1e-5 of the range of losses if the range
                exceeds 1380.

        Raises:
            ParameterError: a value out of range.
            AccountingError: sampled records under replace_one.
        """
        check_steps(sampling_probability, steps, noise_multiplier=noise_multiplier)
        relation = poisson_relation(relation, sampling_probability)
        reach = gaussian_reach(1.0 / noise_multiplier, sampling_probability, steps)
        interval = fitting_interval(reach) if interval is None else checked_interval(interval, reach)
        pld = _composed("gaussian", float(noise_multiplier), float(sampling_probability), interval, steps)
        title = _title("gaussian", noise_multiplier=noise_multiplier, sampling_probability=sampling_probability)
        recipe = NoisySteps("gaussian", 1.0 / noise_multiplier, sampling_probability, steps, relation, interval)
        return cls(pld, relation, description=f"{title}, steps={steps}", recipe=recipe)

    @classmethod
    def laplace(
        cls,
        epsilon: float,
        *,
        sampling_probability: float = 1.0,
        steps: int = 1,
        relation: str | Relation = Relation.ADD_REMOVE,
        interval: float | None = None,
    ) -> PrivacyLossDP:
        """Return the guarantee of a scalar Laplace mechanism on Poisson samples, composed with itself.

        Args:
            epsilon: sensitivity / scale of the noise of one step without sampling, > 0.
            sampling_probability, steps, relation, interval: as for `gaussian`.

        Raises:
            ParameterError, AccountingError: as for `gaussian`.
        """
        check_steps(sampling_probability, steps, epsilon=epsilon)
        relation = poisson_relation(relation, sampling_probability)
        reach = composed_reach(epsilon, steps)
        interval = fitting_interval(reach) if interval is None else checked_interval(interval, reach)
        pld = _composed("laplace", 1.0 / epsilon, float(sampling_probability), interval, steps)
        title = _title("laplace", epsilon=epsilon, sampling_probability=sampling_probability)
        recipe = NoisySteps("laplace", epsilon, sampling_probability, steps, relation, interval)
        return cls(pld, relation, description=f"{title}, steps={steps}", recipe=recipe)

    @property
    def interval(self) -> float:
        """Grid interval of the losses."""
        return float(_read(self.pld, "_pmf_remove")._discretization)

    @cached_property
    def profiles(self) -> tuple[LossProfile, ...]:
        """Profiles of the losses: one if adding and removing a record lead to the same losses, else two."""
        remove, add = _read(self.pld, "_pmf_remove"), _read(self.pld, "_pmf_add")
        return (_profile(remove),) if remove is add else (_profile(remove), _profile(add))

    def _parameters(self) -> Mapping[str, Any]:
        return {"description": self.description}

    def __str__(self) -> str:
        return f"PrivacyLossDP({self.description})"


def fitting_interval(reach: float) -> float:
    """Return the default grid interval for losses with range `reach`."""
    return INTERVAL if reach <= MAX_LOSS_RANGE else 1e-5 * reach


def checked_interval(interval: float, reach: float) -> float:
    """Check that a requested interval does not lead to too many losses for the time and memory, and return it."""
    positive(interval=interval)
    if reach > _MAX_LOSSES * interval:
        raise ParameterError(
            f"interval = {interval:g} makes about {reach / interval:.2g} privacy losses, more than {_MAX_LOSSES:.2g}. "
            f"Give interval={float(f'{1e-5 * reach:.1g}')!r}, or leave it out.",
            argument="interval",
        )
    return interval


def composed_reach(largest: float, count: float) -> float:
    """Return the range of the sum of `count` losses, each of which lies between -`largest` and `largest`.

    The mean of a loss is at most largest^2 / 2, its standard deviation at most `largest`; 10 standard deviations hold
    all but e^-50.
    """
    return 2.0 * min(count * largest, 0.5 * count * largest**2 + 10.0 * math.sqrt(count) * largest)


def gaussian_reach(mu: float, q: float, steps: int) -> float:
    """Return the range of composed Gaussian losses on samples: moments by convexity in q, or by chi^2 if smaller."""
    single = mu * mu + 20.0 * mu
    chi_square = q * q * math.expm1(min(mu * mu, 700.0))
    mean, square = min(chi_square, 0.5 * q * mu * mu), min(chi_square, q * (0.25 * mu**4 + mu * mu))
    return min(steps * single, single + 2.0 * steps * mean + 20.0 * math.sqrt(steps * square))


@lru_cache(maxsize=32)
def _composed(noise: str, scale: float, sampling_probability: float, interval: float, steps: int) -> Any:
    """Return the composed privacy-loss distribution; cached, since one step takes a second or more."""
    if steps > 1:
        return composed_losses([(_composed(noise, scale, sampling_probability, interval, 1), steps)])
    if noise == "gaussian":
        return gaussian_losses(scale, sampling_probability, interval)
    if scale * _MAX_LOSS > 1.0:
        return laplace_losses(scale, sampling_probability, interval)
    from dp_accounting.pld.privacy_loss_distribution import from_laplace_mechanism

    return from_laplace_mechanism(  # e^loss must be a float to connect dots
        scale, sampling_prob=sampling_probability, value_discretization_interval=interval, use_connect_dots=False
    )


def _title(name: str, **values: float) -> str:
    return ", ".join([name, *(f"{key}={parameter_text(value)}" for key, value in values.items())])


def _read(pld: Any, attribute: str) -> Any:
    """Return a private attribute of dp-accounting.

    The public epsilon(delta) takes a Python loop over a hundred thousand losses per point, and the public vectorised
    delta subtracts nearly equal numbers.
    """
    if not hasattr(pld, attribute):
        raise AccountingError(
            f"this version of dp-accounting stores its losses elsewhere: {type(pld).__name__} has no {attribute!r}. "
            "Install dp-accounting 0.4.4 to 0.6."
        )
    return getattr(pld, attribute)


def _profile(pmf: Any) -> LossProfile:
    """Return the profile of dp-accounting's losses; negative rounding errors of one step count as 0."""
    dense = pmf.to_dense_pmf()
    probabilities = np.maximum(0.0, np.asarray(_read(dense, "_probs"), dtype=np.float64))
    first, step = _read(dense, "_lower_loss"), _read(dense, "_discretization")
    losses = (first + np.arange(len(probabilities))) * step
    return LossProfile.of(losses, probabilities, float(_read(dense, "_infinity_mass")))
