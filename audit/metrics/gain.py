"""Gain of an attack over its baselines, on the same people.

An attack that is right about many people does not imply a leak of the release. There are two baselines:

    without the release   a guess from prior knowledge: the prior, an imputation
    without the person    the same attack on a release of a population without the person: its success is learned from
                          the population

Only the gain matters, and the headline is the gain over the better baseline, min(gain over each). With gains g_1, g_2:

    lower limit   min of both lower limits, each at the whole level: the smaller gain is g_k for one k, and the headline
                  exceeds it only if the limit of g_k does (intersection-union, Berger 1982)
    upper limit   min of both upper limits, each at half the level: either may fall below the smaller gain

Gains are differences on the same people, so their intervals are paired: exact for right and wrong
(`dpassay.audit.bounds.numerics.paired`), by betting for scores in [0, 1] (`bounded_mean`). People (or rounds) must be
independent draws; the gain is then the mean over their population. Several people in one release are dependent through
it: the intervals are then about this release, and a release that is more accurate for all people appears as a gain.
Exchange two releases to avoid this, as `attribute_gain` does.

Residual risk: R = (r_attack - r_baseline) / (1 - r_baseline), the share of the people missed by the baseline that the
attack adds (Giomi et al. 2023). The two limits of its gain and of its baseline share the level of each end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...attacks.people.base import AttributeInference, People, Sensitive
from ...attacks.people.imputation import Imputation
from ...mechanisms.core import Bools, Floats, ParameterError, open_unit, points
from ..bounds.numerics import binomial, bounded_mean, paired
from ..results.saved import DrawnResult, require, within

Values = Bools | Floats

RELEASE, PERSON = "without the release", "without the person"


@dataclass(frozen=True)
class Rate:
    """A mean, and its interval at the confidence of the gain."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class BaselineGain:
    """Gain over one baseline.

    Args:
        baseline: "without the release" or "without the person".
        success: of the baseline.
        gain: of the attack over it, in [-1, 1].
        residual_risk: gain / (1 - success of the baseline); 0 where both always succeed.
    """

    baseline: str
    success: Rate
    gain: Rate
    residual_risk: Rate


@dataclass(frozen=True, eq=False, repr=False)
class Gain(DrawnResult):
    """Success of an attack and of its baselines.

    Args:
        attack: success of the attack.
        over: the gain over each baseline.
        headline: the gain over the better baseline.
        n: number of people, or of rounds.
        of: the unit of `n`, "people" or "rounds".
        exact: whether each value is right or wrong; else the values are scores in [0, 1].
        confidence: of each interval.
    """

    FORMAT: ClassVar[str] = "dpassay.gain"
    VERSION: ClassVar[int] = 1
    DESCRIBED_BY: ClassVar[str] = "audit.metrics.text"

    attack: Rate
    over: tuple[BaselineGain, ...]
    headline: Rate
    n: int
    of: str
    exact: bool
    confidence: float

    def __getitem__(self, baseline: str) -> BaselineGain:
        """Return the gain over one baseline; raise `ParameterError` for an unknown baseline."""
        for over in self.over:
            if over.baseline == baseline:
                return over
        names = ", ".join(over.baseline for over in self.over)
        raise ParameterError(f"baseline must be one of {names}, but is {baseline!r}.", argument="baseline")

    @property
    def better(self) -> BaselineGain:
        """Baseline with the larger observed success."""
        return max(self.over, key=lambda over: over.success.value)

    @property
    def significant(self) -> bool:
        """True if the gain over both baselines is positive, at the confidence."""
        return self.headline.lower > 0.0

    @property
    def minimum_detectable(self) -> float:
        """Smallest detectable gain: the length of the interval below the gain."""
        return self.headline.value - self.headline.lower

    def check(self, at: str = "") -> None:
        require(len(self.over) > 0, "over", "there is no baseline")
        within(0.0, 1.0, "", confidence=self.confidence)
        rates = [self.attack, self.headline, *(r for o in self.over for r in (o.success, o.gain, o.residual_risk))]
        for rate in rates:
            within(rate.lower, rate.upper, "", value=rate.value)
        within(0.0, 1.0, "attack", value=self.attack.value)

    def __repr__(self) -> str:
        gained = points(self.headline.value, self.headline.lower, self.headline.upper)
        return f"<Gain {gained} over {self.better.baseline}, {self.n:,} {self.of}>"


def gain(
    attack: ArrayLike,
    *,
    without_release: ArrayLike | None = None,
    without_person: ArrayLike | None = None,
    confidence: float = 0.95,
    of: str = "people",
) -> Gain:
    """Compute the gain of an attack from its success on each person, and that of the baselines.

    Args:
        attack: `(n,)` whether the attack is right about each person (booleans), or its score (numbers in [0, 1]).
        without_release: `(n,)` values of the guess without the release; None if there is none.
        without_person: `(n,)` values of the attack on a release of a population without the person; None if there is
            none. At least one of both baselines is needed.
        confidence: of each interval.
        of: unit of the values, for texts: "people", "rounds".

    Raises:
        ParameterError: no baseline, different lengths, no values, or values that are neither booleans nor in [0, 1].

    Guarantees:
        The interval of the headline contains the true gain over the better baseline with at least the confidence, and
        each other interval contains its true value, for every number of people.

    Example:
        >>> result = gain([True] * 70 + [False] * 30, without_release=[True] * 40 + [False] * 60)
        >>> result.significant, round(result.headline.lower, 2)
        (True, 0.21)
    """
    open_unit(confidence=confidence)
    arguments = {"attack": attack, "without_release": without_release, "without_person": without_person}
    baselines = {name: _values(name, values) for name, values in arguments.items() if values is not None}
    hit = baselines.pop("attack")
    if not baselines:
        raise ParameterError(
            "without_release and without_person must not both be missing: success alone does not show what the release "
            "leaks. Pass the guesses without the release, or from a release without the person.",
            argument="without_release",
        )
    for name, values in baselines.items():
        if len(values) != len(hit):
            raise ParameterError(
                f"{name} must have one value for each of the {len(hit)} {of} of attack, but has {len(values)}.",
                argument=name,
            )
    exact = all(values.dtype == np.bool_ for values in (hit, *baselines.values()))
    names = {"without_release": RELEASE, "without_person": PERSON}
    level = 1.0 - confidence
    over = tuple(_over(names[name], hit, values, level, exact) for name, values in baselines.items())
    uppers = [_gain_limits(hit, values, level / (2 * len(baselines)), exact)[1] for values in baselines.values()]
    headline = Rate(min(o.gain.value for o in over), min(o.gain.lower for o in over), min(uppers))
    return Gain(_rate(hit, level, exact), over, headline, len(hit), of, exact, confidence)


def attribute_gain(
    attack: AttributeInference,
    releases: tuple[Any, Any],
    people: tuple[People, People],
    sensitive: Sensitive,
    *,
    known: People,
    baseline: AttributeInference | None = None,
    confidence: float = 0.95,
) -> Gain:
    """Measure the gain of an attack on people in the data over the baselines.

    Each release is attacked about its own people, and serves as the release without the person for those of the other
    half. By chance one of two releases is more accurate for all people: as the two are exchanged, this effect cancels,
    and the gain measures what a release leaks about its own people only.

    Args:
        attack: the attribute inference attack.
        releases: two fitted models, or two synthetic tables, made in the same way.
        people: features `(n, d)` and labels `(n,)` of equally many people of the first and of the second release,
            disjoint random halves of one population.
        sensitive: the attribute to infer.
        known: other people of the same population, whose records the attacker knows.
        baseline: attack without the release, `Imputation()` if None.
        confidence: of each interval.

    Raises:
        AttackError: the attack cannot use the releases.
        ParameterError: not two releases, different numbers of people, or a value that is not one of `sensitive`.

    Guarantees:
        The intervals hold for these two releases, and for people from the population of those attacked.
    """
    if len(releases) != 2 or len(people) != 2 or len(np.asarray(people[0][1])) != len(np.asarray(people[1][1])):
        raise ParameterError(
            "releases and people must be two each, with equally many people, so that the quality of a release cancels: "
            "split the people at random, and make one release of each half.",
            argument=("releases", "people"),
        )
    guess = Imputation() if baseline is None else baseline
    pairs = [(releases[i], releases[1 - i], people[i]) for i in (0, 1)]
    return gain(
        np.concatenate([attack.correct(own, who, sensitive, known) for own, _, who in pairs]),
        without_release=np.concatenate([guess.correct(None, who, sensitive, known) for *_, who in pairs]),
        without_person=np.concatenate([attack.correct(other, who, sensitive, known) for _, other, who in pairs]),
        confidence=confidence,
    )


def _values(name: str, argument: ArrayLike) -> Values:
    """Return the booleans or numbers in [0, 1] of one argument."""
    values = np.asarray(argument)
    requirement = (
        f"{name} must be one boolean (right or wrong), or one number in [0, 1], for each of at least one person"
    )
    if values.ndim != 1 or not values.size or values.dtype.kind not in "biuf":
        raise ParameterError(f"{requirement}, but has shape {values.shape} and type {values.dtype}.", argument=name)
    outside = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(outside):
        place = int(outside[0])
        raise ParameterError(f"{requirement}, but at {place} is {values[place]}.", argument=name)
    return values.astype(np.float64) if values.dtype.kind == "f" else values.astype(np.bool_)


def _over(name: str, hit: Values, base: Values, level: float, exact: bool) -> BaselineGain:
    difference = float(np.mean(hit) - np.mean(base))
    success = _rate(base, level, exact)
    difference_rate = Rate(difference, *_gain_limits(hit, base, level / 2, exact))
    shared, base_shared = _gain_limits(hit, base, level / 4, exact), _rate(base, level / 2, exact)
    risk = Rate(
        _per_missed(difference, success.value, success.value),
        _per_missed(shared[0], base_shared.lower, base_shared.upper),
        min(1.0, _per_missed(shared[1], base_shared.upper, base_shared.lower)),
    )
    return BaselineGain(name, success, difference_rate, risk)


def _per_missed(difference: float, if_gain: float, if_loss: float) -> float:
    """Return difference / (1 - rate), at the rate for its sign; 0 / 0 is 0."""
    rate = if_gain if difference > 0.0 else if_loss
    if difference == 0.0:
        return 0.0
    return difference / (1.0 - rate) if rate < 1.0 else math.copysign(math.inf, difference)


def _rate(values: Values, level: float, exact: bool) -> Rate:
    """Return the mean with its two-sided interval."""
    mean, numbers = float(np.mean(values)), values.astype(np.float64)
    if not exact:
        return Rate(mean, bounded_mean.lower(numbers, level / 2), bounded_mean.upper(numbers, level / 2))
    k, n = np.count_nonzero(values), len(values)
    return Rate(mean, float(binomial.lower(k, n, level / 2)), float(binomial.upper(k, n, level / 2)))


def _gain_limits(hit: Values, base: Values, level: float, exact: bool) -> tuple[float, float]:
    """Return the lower and upper limit of the mean difference, each with error <= `level`."""
    if exact:
        wins, losses = int(np.count_nonzero(hit > base)), int(np.count_nonzero(hit < base))
        return paired.lower(wins, losses, len(hit), level), paired.upper(wins, losses, len(hit), level)
    half = 0.5 * (1.0 + hit.astype(np.float64) - base.astype(np.float64))
    return 2.0 * bounded_mean.lower(half, level) - 1.0, 2.0 * bounded_mean.upper(half, level) - 1.0
