"""Privacy-loss distributions: the numerical accountant, by Google's dp-accounting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np

from ..errors import AccountingError, ParameterError
from ..relation import Relation
from ..validation import positive, unit_interval, whole
from .base import Floats
from .numerics.losses import LossProfile
from .profile import ProfileGuarantee
from .renyi import check_poisson

INTERVAL = 1e-4
"""Distance of the grid on which privacy losses are kept. Half of it costs twice the time and memory."""
REACH = 1380.0
"""Privacy losses that spread further are kept on a coarser grid, of a hundred thousand losses."""
_MOST_LOSSES = 2e8
_LARGEST = 690.0


@dataclass(frozen=True)
class NoisySteps:
    """Noise on a Poisson sample of the records, composed: what `PrivacyLossDP.gaussian` and `.laplace` were asked.

    Args:
        noise: "gaussian" or "laplace".
        ratio: sensitivity / scale of the noise of one step: 1 / noise_multiplier, or epsilon.
        sampling_probability, steps, relation, interval: as there.
    """

    noise: str
    ratio: float
    sampling_probability: float
    steps: int
    relation: Relation
    interval: float

    def guarantee(self) -> PrivacyLossDP:
        """The guarantee of these steps."""
        scale = 1.0 / self.ratio if self.noise == "gaussian" else self.ratio
        make = PrivacyLossDP.gaussian if self.noise == "gaussian" else PrivacyLossDP.laplace
        options = {"sampling_probability": self.sampling_probability, "interval": self.interval}
        return make(scale, **options, steps=self.steps, relation=self.relation)


@dataclass(frozen=True, eq=False, repr=False)
class PrivacyLossDP(ProfileGuarantee):
    """The curve of a privacy loss that dp-accounting keeps on a grid, rounded to the pessimistic side.

    Made by `gaussian`, `laplace`, `from_pld` or `compose(..., accounting="privacy-loss")`. Where adding and removing a
    record lead to different losses, delta and epsilon are the larger of the two.

    Args:
        pld: a `dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution`.
        relation: the neighbouring relation; None takes that of the pair it is compared on.
        description: for people, such as "gaussian, noise_multiplier=4, steps=100".
        recipe: the steps that it was computed for, where it was: what a family of such guarantees is made from.

    Guarantees:
        * An upper bound (`exact` is False), because losses are rounded up to the grid; above the exact epsilon by
          much less than the grid's interval per composition.
        * Composition moves up to 1e-15 of probability a time to an infinite loss, and works in double precision:
          deltas below about 1e-12 are not told apart reliably, and epsilon(0) is inf after a composition.

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
        if not hasattr(self.pld, "get_delta_for_epsilon"):
            raise ParameterError(
                f"pld must be a PrivacyLossDistribution of dp_accounting, but is a {type(self.pld).__name__}. "
                "Use PrivacyLossDP.gaussian(...), PrivacyLossDP.laplace(...), or one that dp_accounting.pld builds.",
                argument="pld",
            )
        self._set(relation=self.relation)

    def __eq__(self, other: object) -> bool:
        """Two of one recipe are one, so that what was computed for a claim is found again."""
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
        """Wraps a privacy-loss distribution of dp-accounting, which must be pessimistic. That it belongs to `relation`
        is the caller's claim."""
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
        """The Gaussian mechanism on a Poisson sample of the records, composed with itself: DP-SGD's accountant.

        Args:
            noise_multiplier: standard deviation / L2 sensitivity under `relation`, > 0.
            sampling_probability: of each record in each step, in (0, 1].
            steps: compositions, >= 1.
            relation: add_remove or zero_out when records are sampled; any of the three otherwise.
            interval: of the grid of losses, > 0; None takes 1e-4 and, where losses spread over more than 1380, 1e-5
                of that.

        Raises:
            ParameterError: a value out of range.
            AccountingError: sampled records under replace_one.
        """
        positive(noise_multiplier=noise_multiplier)
        relation = _check_steps(sampling_probability, steps, relation)
        reach = _gaussian_reach(1.0 / noise_multiplier, sampling_probability, steps)
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
        """A scalar Laplace mechanism on a Poisson sample of the records, composed with itself.

        Args:
            epsilon: sensitivity / scale of the noise of one step without sampling, > 0.
            sampling_probability, steps, relation, interval: as for `gaussian`.

        Raises:
            ParameterError, AccountingError: as for `gaussian`.
        """
        positive(epsilon=epsilon)
        relation = _check_steps(sampling_probability, steps, relation)
        reach = composed_reach(epsilon, steps)
        interval = fitting_interval(reach) if interval is None else checked_interval(interval, reach)
        pld = _composed("laplace", 1.0 / epsilon, float(sampling_probability), interval, steps)
        title = _title("laplace", epsilon=epsilon, sampling_probability=sampling_probability)
        recipe = NoisySteps("laplace", epsilon, sampling_probability, steps, relation, interval)
        return cls(pld, relation, description=f"{title}, steps={steps}", recipe=recipe)

    @property
    def interval(self) -> float:
        """Distance of the grid of losses."""
        return float(_read(self.pld, "_pmf_remove")._discretization)

    @cached_property
    def profiles(self) -> tuple[LossProfile, ...]:
        """One profile if adding and removing a record lead to the same losses, else two."""
        remove, add = _read(self.pld, "_pmf_remove"), _read(self.pld, "_pmf_add")
        return (_profile(remove),) if remove is add else (_profile(remove), _profile(add))

    def _parameters(self) -> Mapping[str, Any]:
        return {"description": self.description}

    def __str__(self) -> str:
        return f"PrivacyLossDP({self.description})"

    def _delta(self, epsilon: Floats) -> Floats:
        return reduce(np.maximum, [profile.delta(epsilon) for profile in self.profiles])

    def _epsilon(self, delta: Floats) -> Floats:
        return reduce(np.maximum, [profile.epsilon(delta) for profile in self.profiles])


def _check_steps(sampling_probability: float, steps: int, relation: str | Relation) -> Relation:
    positive(sampling_probability=sampling_probability)
    unit_interval(sampling_probability=sampling_probability)
    whole(1, steps=steps)
    relation = Relation.of(relation)
    if sampling_probability < 1.0:
        check_poisson(relation)
    return relation


def fitting_interval(reach: float) -> float:
    """Of a grid of losses that are spread over `reach`."""
    return INTERVAL if reach <= REACH else 1e-5 * reach


def checked_interval(interval: float, reach: float) -> float:
    """An interval that was asked for; refused where so many losses take too much time and memory."""
    positive(interval=interval)
    if reach > _MOST_LOSSES * interval:
        raise ParameterError(
            f"interval = {interval:g} makes about {reach / interval:.2g} privacy losses, more than {_MOST_LOSSES:.2g}. "
            f"Give interval={float(f'{1e-5 * reach:.1g}')!r}, or leave it out.",
            argument="interval",
        )
    return interval


def composed_reach(largest: float, count: float) -> float:
    """How far the sum of `count` losses spreads, each of which lies between -`largest` and `largest`: the mean is at
    most largest^2 / 2 a loss, its deviation at most `largest`; 10 deviations hold all but e^-50."""
    return 2.0 * min(count * largest, 0.5 * count * largest**2 + 10.0 * math.sqrt(count) * largest)


def _gaussian_reach(mu: float, q: float, steps: int) -> float:
    """The same for the Gaussian mechanism on samples: moments by convexity in q, and by chi^2 where that is less."""
    single = mu * mu + 20.0 * mu
    chi_square = q * q * math.expm1(min(mu * mu, 700.0))
    mean, square = min(chi_square, 0.5 * q * mu * mu), min(chi_square, q * (0.25 * mu**4 + mu * mu))
    return min(steps * single, single + 2.0 * steps * mean + 20.0 * math.sqrt(steps * square))


@lru_cache(maxsize=32)
def _composed(noise: str, scale: float, sampling_probability: float, interval: float, steps: int) -> Any:
    """Remembered, as one step takes a second or more, and a mechanism is asked for its claim many times."""
    from dp_accounting.pld import privacy_loss_distribution as plds

    if steps > 1:
        return _composed(noise, scale, sampling_probability, interval, 1).self_compose(steps)
    make = plds.from_gaussian_mechanism if noise == "gaussian" else plds.from_laplace_mechanism
    dots = noise == "gaussian" or scale * _LARGEST > 1.0  # e^loss of bounded losses must be a float to connect dots
    return make(
        scale,
        sampling_prob=sampling_probability,
        value_discretization_interval=interval,
        use_connect_dots=dots,
    )


def _title(name: str, **values: float) -> str:
    return ", ".join([name, *(f"{key}={value:g}" for key, value in values.items())])


def _read(thing: Any, attribute: str) -> Any:
    """An attribute that dp-accounting keeps to itself: its own inverse, epsilon(delta), takes a Python loop over a
    hundred thousand losses per point, and its vectorised delta subtracts nearly equal numbers."""
    if not hasattr(thing, attribute):
        raise AccountingError(
            f"this version of dp-accounting keeps its losses elsewhere: {type(thing).__name__} has no {attribute!r}. "
            "Install dp-accounting 0.4.4 to 0.6."
        )
    return getattr(thing, attribute)


def _profile(pmf: Any) -> LossProfile:
    """The profile of dp-accounting's losses. Rounding errors of its Fourier transform below 0 count as 0."""
    dense = pmf.to_dense_pmf()
    probabilities = np.maximum(0.0, np.asarray(_read(dense, "_probs"), dtype=np.float64))
    first, step = _read(dense, "_lower_loss"), _read(dense, "_discretization")
    losses = (first + np.arange(len(probabilities))) * step
    return LossProfile.of(losses, probabilities, float(_read(dense, "_infinity_mass")))
