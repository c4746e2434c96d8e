"""Comparison of accountants: the epsilon that each one proves for the same training, against epochs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from ....mechanisms.accounting.dp_sgd.noisy_sgd import ACCOUNTANTS, epsilon_curves
from ....mechanisms.core import Floats, confidence_text
from .labels import number
from .style import BOUND, EndLabel, axes_or_new, end_labels, logarithmic, series_colour, style_axes

SHOWN = "lower bound of an audit"
DASHES = ((0, (5, 2)), "-", (0, (3, 1.5, 1, 1.5)), (0, (1, 1)))
"""Line styles in the order of `ACCOUNTANTS`, so that the lines can be distinguished without colours."""


@dataclass(frozen=True, eq=False)
class AccountantCurves:
    """Epsilon against epochs, one line for each accountant.

    Args:
        epochs: `(k,)` increasing, > 0.
        epsilon: accountant -> `(k,)`, from the loosest to the tightest.
        noise_multiplier, sampling_probability, delta: parameters of the training and delta of the guarantee.
        shown: (epochs, lower bound on epsilon) pairs from audits; may be empty.
        confidence: confidence of each of these bounds.
    """

    epochs: Floats
    epsilon: dict[str, Floats]
    noise_multiplier: float
    sampling_probability: float
    delta: float
    shown: tuple[tuple[float, float], ...] = ()
    confidence: float = 0.95

    @classmethod
    def of_setting(
        cls,
        noise_multiplier: float = 4.0,
        *,
        sampling_probability: float = 0.01,
        delta: float = 1e-5,
        largest: float = 400.0,
        points: int = 25,
        shown: tuple[tuple[float, float], ...] = (),
        confidence: float = 0.95,
    ) -> AccountantCurves:
        """Return the curves of DP-SGD with Poisson sampling from 1 to `largest` epochs.

        The defaults are the setting of Abadi et al. (2016), Figure 2.
        """
        steps = np.unique(np.round(np.geomspace(1.0, largest, points) / sampling_probability).astype(np.int64))
        curves = epsilon_curves(
            noise_multiplier, sampling_probability=sampling_probability, steps=steps.tolist(), delta=delta
        )
        epochs = np.asarray(steps * sampling_probability, dtype=np.float64)
        return cls(epochs, curves, noise_multiplier, sampling_probability, delta, shown, confidence)

    @property
    def title(self) -> str:
        """Ratio of the loosest to the tightest epsilon, as a sentence."""
        first, last = (self.epsilon[name][-1] for name in (ACCOUNTANTS[0], ACCOUNTANTS[-1]))
        return f"The same training, {number(first / last, 2)} times less epsilon: only the accountant differs"

    @property
    def caption(self) -> str:
        """Explanation of the figure."""
        dots = f". “{SHOWN}” holds with {confidence_text(self.confidence)} confidence" if self.shown else ""
        return (
            f"Epsilon at delta = {number(self.delta)} of DP-SGD with Poisson sampling, noise multiplier "
            f"{number(self.noise_multiplier)} and sampling probability {number(self.sampling_probability)}, against "
            "the number of epochs. All curves are upper bounds for the same noise: strong composition composes one "
            "(epsilon, delta) guarantee per step, the moments accountant adds Renyi divergences of integer orders, the "
            "curve below it converts them to epsilon more tightly, and the lowest composes the privacy-loss "
            f"distribution{dots}."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curves on logarithmic axes."""
        ax = axes_or_new(ax)
        labels = []
        for index, (name, values) in enumerate(self.epsilon.items()):
            colour = series_colour(index)
            ax.plot(self.epochs, values, color=colour.light, linewidth=1.8, linestyle=DASHES[index % len(DASHES)])
            labels.append(EndLabel(float(values[-1]), f"{name}: {number(float(values[-1]))}", colour))
        handles = []
        if self.shown:
            handles = ax.plot(*zip(*self.shown, strict=True), "o", color=BOUND.light, markersize=6, label=SHOWN)
        style_axes(ax, title=self.title, x="epochs", y=f"epsilon at delta = {number(self.delta)}", handles=handles)
        epsilons = np.concatenate([*self.epsilon.values(), [epsilon for _, epsilon in self.shown]])
        epochs = np.concatenate([self.epochs, [x for x, _ in self.shown]])
        logarithmic(ax.xaxis, float(epochs.min()) / 1.05, float(epochs.max()) * 1.05)
        logarithmic(
            ax.yaxis, 0.8 * float(epsilons[epsilons > 0].min()), 1.25 * float(epsilons.max()), zero=epsilons.min() <= 0
        )
        end_labels(ax, labels)
        return ax
