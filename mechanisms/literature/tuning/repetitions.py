"""Random number of runs of a private algorithm whose best output is published.

With a fixed number K of runs the choice has almost K times the epsilon of one run. With a random number that is often
small it has two to three times this epsilon, for any mean: a good output does not reveal whether it was the best of
many runs. (Liu and Talwar 2019; Papernot and Steinke 2022.)
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ...accounting.conversion.convert import to_renyi
from ...accounting.kinds.approximate import PureDP
from ...accounting.kinds.renyi import RenyiDP
from ...core.arrays import Floats, Ints
from ...core.constraints import Finite, OpenUnit, Options, Positive, check_fields
from ...core.errors import AccountingError, ParameterError
from ...core.guarantee import Guarantee
from ...core.registry import named_in

_MAX_EXPONENT = 600.0
"""Largest log of stopping^-shape: e^700 is about the largest float."""


@named_in("dpassay.mechanisms.literature.tuning.catalogue:repetitions")
class Repetitions(Options):
    """Law of a number of runs; subclasses are frozen dataclasses."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Expected number of runs."""

    @property
    @abstractmethod
    def none(self) -> float:
        """Probability that the number of runs is 0."""

    @abstractmethod
    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Draw `size` independent numbers of runs."""

    @abstractmethod
    def log_weight(self, better: Floats) -> Floats:
        """Return ln E[K t^(K - 1)], the log factor on the density of an output for being the best one.

        Args:
            better: 1 - t, the probability that a run is better, with t the probability that it is worse.
        """

    @abstractmethod
    def guarantee(self, once: Guarantee) -> Guarantee:
        """Return the guarantee of the best of the runs, if one run has the guarantee `once`."""


@dataclass(frozen=True)
class NegativeBinomialRepetitions(Repetitions):
    """Negative binomial number of runs, at least one; `shape` 1 is the geometric law, 0 the logarithmic law.

    (Papernot and Steinke 2022, definition 1; the geometric case is Liu and Talwar 2019, algorithm 2.)

    Args:
        shape: eta of the paper, > -1; a larger value reduces the variance of the number, and increases epsilon.
        stopping: gamma of the paper, in (0, 1): for the geometric law the probability to stop after each run.

    Guarantees:
        * From epsilon-DP: (2 + shape) epsilon-DP (corollary 3), for any `stopping`.
        * From Renyi DP: theorem 2, at every order, with the best second order of the list.

    Example:
        >>> round(NegativeBinomialRepetitions(shape=1.0, stopping=0.1).mean, 9)
        10.0
        >>> NegativeBinomialRepetitions(shape=0.0).guarantee(PureDP(0.5)).epsilon(0.0)
        1.0
    """

    shape: Finite = 1.0
    stopping: OpenUnit = 0.1

    def __post_init__(self) -> None:
        check_fields(self)
        if self.shape <= -1.0:
            raise ParameterError(
                argument="shape", value=self.shape, allowed="be > -1", advice="1 is the geometric law."
            )
        if self.shape * -math.log(self.stopping) > _MAX_EXPONENT:
            raise ParameterError(
                f"shape must be at most {_MAX_EXPONENT / -math.log(self.stopping):.3g} with stopping = "
                f"{self.stopping!r}, but is {self.shape!r}: a larger stopping^-shape is not a float.",
                argument="shape",
            )

    @property
    def mean(self) -> float:
        """Expected number of runs, shape (1 - stopping) / (stopping (1 - stopping^shape))."""
        return float((1.0 - self.stopping) / self.stopping * self._factor / self.stopping**self.shape)

    @property
    def none(self) -> float:
        """Zero: there is always at least one run."""
        return 0.0

    @property
    def _factor(self) -> float:
        """Normalisation shape / (stopping^-shape - 1), and its limit at shape 0."""
        steps = -math.log(self.stopping)
        return 1.0 / steps if self.shape == 0.0 else self.shape / math.expm1(self.shape * steps)

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Draw `size` numbers of runs: by numpy if it has the law, else by inversion of the distribution function."""
        if self.shape == 1.0:
            return rng.geometric(self.stopping, size)
        if self.shape == 0.0:
            return rng.logseries(1.0 - self.stopping, size)
        if self.shape > 0.0:
            return self._positive(size, rng)
        return self._inverted(size, rng)

    def _positive(self, size: int, rng: np.random.Generator) -> Ints:
        """Draw negative binomial numbers, redrawing zeros."""
        numbers = rng.negative_binomial(self.shape, self.stopping, size)
        while (empty := np.flatnonzero(numbers == 0)).size:
            numbers[empty] = rng.negative_binomial(self.shape, self.stopping, empty.size)
        return numbers

    def _inverted(self, size: int, rng: np.random.Generator) -> Ints:
        """Draw by inversion of the distribution function, summed until the tail is below 1e-17.

        P[K = k + 1] / P[K = k] = (1 - stopping) (k + shape) / (k + 1).
        """
        longest = 64 + math.ceil(45.0 / -math.log1p(-self.stopping))
        k = np.arange(1.0, longest)
        first = math.log(self._factor) + math.log1p(-self.stopping)
        steps = np.log((1.0 - self.stopping) * (k + self.shape) / (k + 1.0))
        below = np.cumsum(np.exp(first + np.concatenate([[0.0], np.cumsum(steps)])))
        return 1 + np.searchsorted(below[:-1] / below[-1], rng.random(size), side="right").astype(np.int64)

    def log_weight(self, better: Floats) -> Floats:
        """Return the log derivative of E[t^K] = ((1 - (1 - stopping) t)^-shape - 1) / (stopping^-shape - 1)."""
        factor = self.stopping + (1.0 - self.stopping) * better
        return np.asarray(math.log1p(-self.stopping) + math.log(self._factor) - (1.0 + self.shape) * np.log(factor))

    def guarantee(self, once: Guarantee) -> Guarantee:
        """Return the guarantee by corollary 3 for pure DP, else by theorem 2."""
        if isinstance(once, PureDP) or once.default_delta == 0.0:
            return PureDP((2.0 + self.shape) * once.epsilon(0.0), relation=once.relation)
        base = to_renyi(once)
        orders, divergences = np.array(base.orders), np.array(base.divergences)
        second_terms = (1.0 - 1.0 / orders) * divergences + math.log(1.0 / self.stopping) / orders
        extra = (1.0 + self.shape) * min(second_terms.min(), math.log(1.0 / self.stopping))
        total = divergences + extra + math.log(self.mean) / (orders - 1.0)
        return RenyiDP(base.orders, tuple(total.tolist()), once.relation)


@dataclass(frozen=True)
class PoissonRepetitions(Repetitions):
    """Poisson number of runs; if it is 0, only this is published.

    Args:
        expected: mean number of runs, >= 1.

    Guarantees:
        * From any guarantee with Renyi divergences: Papernot and Steinke 2022, theorem 6, at every order > 1. There is
          no pure guarantee.

    Example:
        >>> PoissonRepetitions(expected=10.0).mean
        10.0
    """

    expected: Positive = 10.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.expected < 1.0:
            raise ParameterError(argument="expected", value=self.expected, allowed="be >= 1")

    @property
    def mean(self) -> float:
        """Expected number of runs, `expected`."""
        return self.expected

    @property
    def none(self) -> float:
        """Probability of no run, e^-mean."""
        return math.exp(-self.expected)

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Draw `size` independent Poisson numbers."""
        return rng.poisson(self.expected, size)

    def log_weight(self, better: Floats) -> Floats:
        """Return ln mean - mean * better."""
        return np.asarray(math.log(self.expected) - self.expected * np.asarray(better))

    def guarantee(self, once: Guarantee) -> Guarantee:
        """Return the guarantee by theorem 6, from the delta of one run at ln(1 + 1 / (order - 1))."""
        base = to_renyi(once)
        finite_orders = [order for order in base.orders if math.isfinite(order)]
        if not finite_orders:
            raise AccountingError(
                "a Poisson number of runs has no pure guarantee: list finite orders.", argument="repetitions"
            )
        orders = np.array(finite_orders)
        delta = np.array([once.delta(math.log1p(1.0 / (order - 1.0))) for order in finite_orders])
        total = np.array(base.divergences[: len(orders)]) + self.expected * delta
        total = np.maximum(total + math.log(self.expected) / (orders - 1.0), 0.0)
        return RenyiDP(tuple(finite_orders), tuple(total.tolist()), once.relation)
