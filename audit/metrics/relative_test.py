"""Are unlearned models nearer to retrained or to original ones? A metric, and no bound on epsilon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...attacks.distinguishing.classifier import Classifier
from ...mechanisms.core import Floats, Outputs, ParameterError, fixed, number, open_unit
from ..bounds.numerics import binomial
from .gain import Rate


@dataclass(frozen=True)
class RelativeTest:
    """Shares of models that a classifier of original against retrained models calls original.

    The classifier learned from other models than those that are counted; each interval is Clopper and Pearson's, and
    holds alone, for the classifier that was learned.

    Args:
        retrained, original, unlearned: the shares.
        confidence: of each interval.
    """

    retrained: Rate
    original: Rate
    unlearned: Rate
    confidence: float

    @property
    def position(self) -> float | None:
        """0 for the share of retrained models, 1 for that of original ones; None if these two do not differ."""
        if self.retrained.upper >= self.original.lower:
            return None
        return (self.unlearned.value - self.retrained.value) / (self.original.value - self.retrained.value)

    def summary(self) -> str:
        """Return the shares and the position as text."""
        lines = [f"models called original, with intervals at {number(100 * self.confidence)} %:"]
        for name in ("retrained", "unlearned", "original"):
            rate: Rate = getattr(self, name)
            lines.append(f"  {name:<10} {fixed(rate.value, 2)}  [{fixed(rate.lower, 2)}, {fixed(rate.upper, 2)}]")
        place = self.position
        told = "original and retrained models cannot be told apart: the test says nothing"
        if place is not None:
            told = f"position of the unlearned models: {fixed(place, 2)} (0 as retrained, 1 as original)"
        lines += [told, "no bound on epsilon"]
        return "\n".join(lines)


def relative_test(
    original: ArrayLike, retrained: ArrayLike, unlearned: ArrayLike, *, confidence: float = 0.95, seed: int = 0
) -> RelativeTest:
    """Return whether unlearned models look like retrained or like original ones.

    A classifier learns to tell the first half of the original models from that of the retrained ones, and is applied to
    the other halves and to the unlearned models. A position of 0 is no evidence of forgetting: a model may differ from
    both kinds in a way that this classifier does not read. An audit of the pair (unlearned, retrained) tests that.

    Args:
        original, retrained, unlearned: outputs of independent models, `(n, ...)` numbers, at least 60 original and 60
            retrained ones. Unlearned models come from trainings of their own, not from the original models given here.
        confidence: of each interval.
        seed: of the classifier.

    Raises:
        ParameterError: too few models, or outputs of different shapes.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> models = [rng.normal(centre, 1.0, (200, 2)) for centre in (3.0, 0.0, 1.5)]
        >>> result = relative_test(*models)
        >>> 0.3 < result.position < 0.7
        True
    """
    open_unit(confidence=confidence)
    models = {"original": np.asarray(original), "retrained": np.asarray(retrained), "unlearned": np.asarray(unlearned)}
    for name, values in models.items():
        least = 1 if name == "unlearned" else 2 * Classifier.minimum_pilot
        if len(values) < least:
            raise ParameterError(argument=name, value=len(values), allowed=f"have at least {least} models")
        if values.shape[1:] != models["original"].shape[1:]:
            allowed = f"have the shape of an original model, {models['original'].shape[1:]}"
            raise ParameterError(argument=name, value=values.shape[1:], allowed=allowed)
    halves = {name: np.array_split(models[name], 2) for name in ("retrained", "original")}
    pilot0, pilot1 = (Outputs(halves[name][0]) for name in ("retrained", "original"))
    scorer, _ = Classifier().fit_with_held_out(pilot0, pilot1, np.random.default_rng(seed))

    def share(values: Floats) -> Rate:
        n, level = len(values), 0.5 * (1.0 - confidence)
        k = int((scorer.score(Outputs(values)) > 0.0).sum())
        return Rate(k / n, float(binomial.lower(k, n, level)), float(binomial.upper(k, n, level)))

    return RelativeTest(
        share(halves["retrained"][1]), share(halves["original"][1]), share(models["unlearned"]), confidence
    )
