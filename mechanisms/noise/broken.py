"""Intentionally broken additive noise: its scale is wrong, or it is missing."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

import numpy as np

from ..accounting import ApproximateDP, GaussianDP, LaplaceDP
from ..accounting.broken import Broken, BrokenPureDP
from ..core import Delta, Flag, Floats, Guarantee, Positive
from .calibration import CLASSIC_CONSTANTS, analytic_noise_multiplier, classic_noise_multiplier
from .counters import GaussianCounters
from .gaussian import Gaussian
from .laplace import Laplace


@dataclass(frozen=True)
class LaplaceInverseScale(BrokenPureDP, Laplace):
    """Broken: Laplace noise of scale sensitivity * epsilon, which should be sensitivity / epsilon.

    The claim is epsilon, but the release is 1/epsilon-DP: far too little noise for epsilon < 1, too much above, and
    correct at 1, where a test does not detect the bug.

    Args:
        epsilon: the claim, > 0; false below 1.

    Example:
        >>> broken = LaplaceInverseScale(epsilon=0.1)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 9)
        (0.1, 10.0)
    """

    cause = "The privacy parameter is passed to a function that expects a scale."
    source = "Ding, Wang, Wang, Zhang and Kifer (2018), algorithm 10, on a histogram."
    correct_class = Laplace

    @property
    def scale(self) -> float:
        """Scale of the noise; should be sensitivity / epsilon."""
        return self.sensitivity * self.epsilon

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve, of epsilon sensitivity / scale = 1 / epsilon."""
        return LaplaceDP(self.sensitivity / self.scale, relation=self.relation)


@dataclass(frozen=True)
class LaplaceUnitSensitivity(BrokenPureDP, Laplace):
    """Broken: Laplace noise of scale 1 / epsilon for every sensitivity.

    The claim is epsilon, but the release is (sensitivity * epsilon)-DP.

    Args:
        epsilon: the claim, > 0.
        sensitivity: the true sensitivity, > 0; the claim is false above 1.

    Example:
        >>> broken = LaplaceUnitSensitivity(epsilon=0.5, sensitivity=4.0)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 9)
        (0.5, 2.0)
    """

    cause = (
        "Noise for a count is added to a sum or to a vector, or a histogram whose records can be replaced "
        "(sensitivity 2) gets the noise of one whose records can only be added (1)."
    )
    source = "Dwork, McSherry, Nissim and Smith (2006), proposition 1, for the true epsilon."
    correct_class = Laplace

    _: KW_ONLY
    sensitivity: float = 2.0

    @property
    def scale(self) -> float:
        """Scale of the noise; should be sensitivity / epsilon."""
        return 1.0 / self.epsilon

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve, of epsilon sensitivity / scale = sensitivity * epsilon."""
        return LaplaceDP(self.sensitivity / self.scale, relation=self.relation)


@dataclass(frozen=True)
class ClassicGaussian(Broken, Gaussian):
    """Broken: Gaussian noise of the classic formula, used for any epsilon, with the claim (epsilon, delta).

        noise multiplier = sqrt(2 ln(1.25 / delta)) / epsilon

    This is a theorem for epsilon < 1, and true a little beyond: at delta = 1e-5 the claims 8, 10, 20 and 50 have the
    true epsilons 7.9, 10.4, 25.4 and 96.4. The larger delta, the earlier the claim becomes false. (`Gaussian` refuses
    such a calibration.)

    Args:
        epsilon, delta: the claim, epsilon > 0 and delta in (0, 1).
        correct: True for the correct twin, the analytic calibration.

    Example:
        >>> broken = ClassicGaussian(epsilon=20.0, delta=1e-5)
        >>> broken.guarantee().epsilon(1e-5), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (20.0, 25.4)
    """

    cause = "A formula that is stated for epsilon < 1 is used without that condition."
    source = (
        "adap/flower, LocalDpMod; Balle and Wang (2018) on the condition of the theorem (Dwork and Roth 2014, theorem "
        "3.22)."
    )

    epsilon: Positive = 8.0
    delta: Delta = 0.1
    _: KW_ONLY
    noise_multiplier: None = field(default=None, init=False)
    calibration: str = field(default="analytic", init=False)
    correct: Flag = False

    @cached_property
    def standard_deviation(self) -> float:
        classic = classic_noise_multiplier(self.epsilon, self.delta, CLASSIC_CONSTANTS["classic"])
        return self.sensitivity * (analytic_noise_multiplier(self.epsilon, self.delta) if self.correct else classic)

    def guarantee(self) -> Guarantee:
        """Return the claim, `ApproximateDP(epsilon, delta)`."""
        return ApproximateDP(self.epsilon, self.delta, relation=self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return `GaussianDP(sensitivity / standard deviation)`, the exact curve."""
        return GaussianDP(self.mu, relation=self.relation)

    def exact_curve(self, n_moved: int) -> Guarantee:
        """Return the exact curve: only the L2 distance matters."""
        return self.exact_guarantee()


@dataclass(frozen=True)
class ZeroSensitivityCounters(Broken, GaussianCounters):
    """Broken: Gaussian noise on counters, without any noise if one of them has sensitivity 0.

    Example:
        >>> ZeroSensitivityCounters(mu=1.0, sensitivities=(1.0, 0.0)).deviations.tolist()
        [0.0, 0.0]
    """

    cause = (
        "The allocation divides by every sensitivity; to avoid a division by zero, it returns no noise for all "
        "counters if one sensitivity is 0."
    )
    source = "privcount/privcount, issue 400."
    correct_class = GaussianCounters

    sensitivities: tuple[float, ...] = (1.0, 0.0)

    @property
    def deviations(self) -> Floats:
        """Standard deviation of the noise of each counter; 0 for all if one of them has sensitivity 0."""
        correct = super().deviations
        return correct if correct.all() else np.zeros_like(correct)

    def exact_guarantee(self) -> Guarantee:
        """Return `GaussianDP(mu)`; a vacuous guarantee if a counter of sensitivity 0 removes all noise."""
        if self.deviations.any():
            return self.guarantee()
        return ApproximateDP(0.0, 1.0 - 2**-53, relation=self.relation)
