"""Rules from published audits, rebuilt from their descriptions, to measure how often they report a leak where none is.

    rule                                              source
    ten numbers of guesses                            audit script with arXiv 2503.06808: 10, 20, ..., 100 guesses "in"
    grid of guesses in and out                        ML Privacy Meter 2: numbers of guesses in steps of sqrt(m)
    200 thresholds, guesses in                        PANORAMIA (arXiv 2402.09477), first of its two searches
    threshold of most right guesses                   opake-auditing 0.16: every canary is guessed
    best threshold, Gaussian curve                    Nasr et al. (2023, arXiv 2302.07956), as in audits of DP-SGD since
    best event, bootstrap                             the raw counts of jax_privacy.auditing, BCa interval
    event fixed beforehand, Bayesian                  Zanella-Beguelin et al. (2023, arXiv 2206.05199)

None of these is a bound. The first six take the best of several numbers that were computed from the same scores, each
at the full confidence. The rules on one run are those of pure epsilon: the sources leave out the term of delta, or it
is negligible. For comparison, `LargestClopperPearson` and `LargestKatz` take the best of all thresholds.

A setting is also limited by its number of trials: `PublishedSetting.ceiling` is the largest epsilon that it can report.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from ...mechanisms.accounting import GaussianDP
from ...mechanisms.core.arrays import Ints
from ..bounds.bits.one_run import least_epsilon
from ..bounds.numerics.binomial import lower, upper
from ..bounds.numerics.rectangle import Rectangle
from ..evidence.scores import BitScores
from ..results.estimates.bootstrap import plug_in
from ..results.estimates.posterior import bayesian
from .methods import PUBLISHED, CoverageSetup, Method, Number, Sample

N_PANORAMIA_THRESHOLDS = 200
"""Number of thresholds of PANORAMIA's search."""
NUMBERS_OF_GUESSES = np.arange(10, 101, 10)
"""Numbers of guesses of the audit script."""
Counts = tuple[Ints, Ints]
"""Numbers of guesses, and of right ones."""


class OneRunRule:
    """Largest one-run bound over several numbers of guesses, each at the full confidence; not a valid bound.

    For each number r of guesses, v of them right, the bound at delta 0 is logit(g), with g the lower limit of Clopper
    and Pearson (1934) of the rate of right guesses (Steinke, Nasr and Jagielski 2023, Theorem 5.2).
    """

    name: ClassVar[str]
    kind: ClassVar[str] = PUBLISHED
    slow: ClassVar[bool] = False

    def epsilon(self, bits: BitScores, confidence: float) -> float:
        """Return the number that the rule reports."""
        guesses, right = self.counts(bits)
        return max(0.0, float(special.logit(lower(right, guesses, 1.0 - confidence).max())))

    @abstractmethod
    def counts(self, bits: BitScores) -> Counts:
        """Return the numbers of guesses that the rule tries, and how many of each are right."""

    def measure(self, setup: CoverageSetup) -> Number | None:
        """Return the measure; None at delta > 0, where the sources differ."""
        if setup.delta > 0.0:
            return None
        return Number(lambda sample: self.epsilon(sample.bits, setup.confidence))


class TenNumbersOfGuesses(OneRunRule):
    """Best of 10, 20, ..., 100 guesses, all "in"."""

    name = "ten numbers of guesses"

    def counts(self, bits: BitScores) -> Counts:
        return NUMBERS_OF_GUESSES, np.cumsum(_members(bits)[::-1])[NUMBERS_OF_GUESSES - 1]


class GridOfGuesses(OneRunRule):
    """Best of all pairs of numbers of guesses "in" and "out" on a grid with steps of sqrt(m)."""

    name = "grid of guesses in and out"

    def counts(self, bits: BitScores) -> Counts:
        members = _members(bits)
        n = len(members)
        ends = np.arange(0, n, int(np.sqrt(n)))
        outs, above = (ends[index] for index in np.triu_indices(len(ends), 1))
        below = np.concatenate([[0], np.cumsum(members)])
        return outs + n - above, outs - below[outs] + below[n] - below[above]


class ThresholdsOnTheScores(OneRunRule):
    """Best of 200 thresholds, evenly spaced between the extreme scores; all guesses are "in"."""

    name = "200 thresholds, guesses in"

    def counts(self, bits: BitScores) -> Counts:
        members, scores = _members(bits), np.sort(bits.scores, axis=None)
        places = np.searchsorted(scores, np.linspace(scores[0], scores[-1], N_PANORAMIA_THRESHOLDS))
        return len(members) - places, np.cumsum(members[::-1])[::-1][places]


class ThresholdOfMostRightGuesses(OneRunRule):
    """Every canary is guessed, by the threshold with the most right guesses."""

    name = "threshold of most right guesses"

    def counts(self, bits: BitScores) -> Counts:
        members = _members(bits)
        below = np.concatenate([[0], np.cumsum(members)])
        places = np.arange(len(below))
        best = int((places - below + below[-1] - below).max())
        return np.array([len(members)]), np.array([best])


@dataclass(frozen=True)
class PairRule:
    """A rule on the scores of both sides; not a valid bound.

    Args:
        name: of the rule.
        report: `(sample, setup) -> epsilon`.
        slow: whether it takes tens of milliseconds.
        at_zero: whether it gives a finite epsilon at delta 0.
    """

    name: str
    report: Callable[[Sample, CoverageSetup], float]
    slow: bool = False
    at_zero: bool = True
    kind: ClassVar[str] = PUBLISHED

    def measure(self, setup: CoverageSetup) -> Number | None:
        """Return the measure; None where the rule gives no finite epsilon."""
        if setup.delta == 0.0 and not self.at_zero:
            return None
        return Number(lambda sample: self.report(sample, setup))


def published_rules() -> list[Method]:
    """Return the rules of the table of this module.

    Example:
        >>> len(published_rules()), published_rules()[0].name
        (7, 'ten numbers of guesses')
    """
    one_run = (TenNumbersOfGuesses(), GridOfGuesses(), ThresholdsOnTheScores(), ThresholdOfMostRightGuesses())
    return [
        *one_run,
        PairRule("best threshold, Gaussian curve", _best_gaussian, at_zero=False),
        PairRule("best event, bootstrap", _bootstrap, slow=True),
        PairRule("event fixed beforehand, Bayesian", _posterior, slow=True),
    ]


def _members(bits: BitScores) -> Ints:
    """Return the bits in the order of their scores, the lowest first."""
    order = np.argsort(bits.scores, axis=None, kind="stable")
    return bits.bits.ravel()[order].astype(np.int64)


def _best_gaussian(sample: Sample, setup: CoverageSetup) -> float:
    """Return epsilon of the largest mu = Phi^-1(1 - FPR) - Phi^-1(FNR), each rate at its own upper limit."""
    tally, level = sample.whole.tally, 1.0 - setup.confidence
    fpr = upper(tally.hits_out, tally.n_out, level)
    fnr = upper(tally.n_in - tally.hits_in, tally.n_in, level)
    mu = float((special.ndtri(1.0 - fpr) - special.ndtri(fnr)).max())
    return float(GaussianDP(mu).epsilon(setup.delta)) if mu > 0.0 else 0.0


def _bootstrap(sample: Sample, setup: CoverageSetup) -> float:
    """Return the lower end of the interval that leaves the significance below it, a function of the scores."""
    level, rng = 2.0 * setup.confidence - 1.0, np.random.default_rng(0)
    return plug_in(sample.whole, rng=rng, delta=setup.delta, level=level).interval[0]


def _posterior(sample: Sample, setup: CoverageSetup) -> float:
    """Return the lower end of the credible interval, for the event above the median of the rehearsal."""
    tally = setup.rehearsal.tally
    middle = int(np.searchsorted(-(tally.hits_out + tally.hits_in), -0.5 * (tally.n_out + tally.n_in)))
    threshold, level = float(tally.thresholds[middle]), 2.0 * setup.confidence - 1.0
    return bayesian(sample.whole, threshold=threshold, delta=setup.delta, level=level).interval[0]


@dataclass(frozen=True)
class PublishedSetting:
    """Number of trials, confidence and delta of a published audit.

    Args:
        source: author, year, identifier.
        statistic: "rates" for limits on both error rates at one event, "gaussian" for the Gaussian curve through them,
            or "one run" for right guesses of canaries.
        n: trials on each side, or canaries in one run.
        confidence: in (0, 1). "rates" and "one run" keep it in total; "gaussian", as published, for each rate.
        delta: in [0, 1).
    """

    source: str
    statistic: str
    n: int
    confidence: float
    delta: float

    @property
    def ceiling(self) -> float:
        """Largest epsilon that the setting can report: that of an attack without errors.

        Example:
            >>> round(PublishedSetting("Jagielski et al. (2020)", "rates", 500, 0.99, 0.0).ceiling, 2)
            4.54
        """
        return _CEILINGS[self.statistic](self)

    @property
    def significance(self) -> float:
        """1 - confidence."""
        return 1.0 - self.confidence


def _rates(setting: PublishedSetting) -> float:
    n = setting.n
    best = Rectangle.at(0, n, n_out=n, n_in=n, significance=0.5 * setting.significance)
    return float(best.epsilon_lower(setting.delta))


def _gaussian(setting: PublishedSetting) -> float:
    limit = float(upper(0, setting.n, setting.significance))
    return float(GaussianDP(-2.0 * float(special.ndtri(limit))).epsilon(setting.delta))


def _one_run(setting: PublishedSetting) -> float:
    n = setting.n
    return least_epsilon(n, n, n, delta=setting.delta, significance=setting.significance, delta_term="published")


_CEILINGS: dict[str, Callable[[PublishedSetting], float]] = {
    "rates": _rates,
    "gaussian": _gaussian,
    "one run": _one_run,
}

SETTINGS = (
    PublishedSetting("Jagielski et al. (2020), 2006.07709", "rates", 500, 0.99, 0.0),
    PublishedSetting("Nasr et al. (2021), 2101.04535", "rates", 1000, 0.95, 0.0),
    PublishedSetting("Steinke et al. (2023), 2305.08846", "one run", 1000, 0.95, 1e-5),
    PublishedSetting("Steinke et al. (2023), 2305.08846", "one run", 5000, 0.95, 1e-5),
    PublishedSetting("Annamalai and De Cristofaro (2024), 2405.14106", "gaussian", 200, 0.95, 1e-5),
    PublishedSetting("Cebere et al. (2024), 2405.14457", "gaussian", 5000, 0.95, 1e-5),
    PublishedSetting("Agrawal et al. (2026), 2606.12733", "one run", 10_000, 0.95, 1e-5),
)
"""Settings of published audits. Numbers of models are taken for each side: a ceiling is too large where both count."""
