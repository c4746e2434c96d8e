"""A mechanism that is run several times on the same dataset and releases all outputs."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..accounting import compose, self_composed
from ..core import Dataset, Floats, Guarantee, LogDensity, Outputs, PositiveInt, example
from ..noise.laplace import Laplace
from .base import OnSameDataset


@dataclass(frozen=True)
class Repeated(OnSameDataset):
    """`times` independent releases of one mechanism, with the guarantee that a composition theorem gives.

    Repeating a query is the simplest composition, and averaging the answers is the simplest attack on it.

    Args:
        base: the mechanism.
        times: number of releases, >= 1.
        accounting: the theorem, as for `dpassay.mechanisms.accounting.compose`: "tightest", "basic", "advanced",
            "optimal", "renyi" or "privacy-loss".
        form: of "advanced", as for `compose`; None for the others.

    Guarantees:
        * The claim holds for the joint output, by the theorem; it is exact if the theorem is, and otherwise an upper
          bound. `exact_guarantee()` is exact up to the grid of the privacy-loss distribution (1e-4 in epsilon per
          release).

    Example:
        >>> from dpassay.mechanisms import Laplace
        >>> mechanism = Repeated(Laplace(epsilon=0.5), times=4)
        >>> mechanism.release(0.0, 10, np.random.default_rng(0)).values.shape
        (10, 4)
        >>> mechanism.guarantee().epsilon(0.0)
        2.0
    """

    _example = example(base=Laplace(0.8), times=2)

    times: PositiveInt
    _: KW_ONLY
    accounting: str = "tightest"
    form: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._composed

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Run `size` rounds of `times` releases; values have shape `(size, times, ...)`."""
        outputs = self.base.release(dataset, size * self.times, rng)
        values = outputs.values.reshape(size, self.times, *outputs.values.shape[1:])
        return Outputs(values) if outputs.events is None else _joined(values, outputs.events.reshape(size, self.times))

    def guarantee(self) -> Guarantee:
        """Return the composed claim."""
        return self._composed

    @cached_property
    def _composed(self) -> Guarantee:
        return compose([self.base.guarantee()] * self.times, accounting=self.accounting, form=self.form)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the composition of the exact curves on the worst-case pair, by privacy-loss distributions."""
        once = self.base.exact_guarantee()
        return None if once is None else self_composed(once, self.times)

    def output_law(self) -> LogDensity | None:
        """Return the joint law of the independent releases, or None if the law of the base is not known."""
        law = self.base.output_law()
        return None if law is None else _Independent(law, self.times)


@dataclass(frozen=True)
class _Independent:
    """Joint law of `times` independent releases with the same law."""

    base: LogDensity
    times: int

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the sum of the log densities of the releases, shape `(size,)`."""
        releases = Outputs(outputs.values.reshape(-1, *outputs.values.shape[2:]))
        return np.asarray(self.base.log_density(releases, dataset).reshape(-1, self.times).sum(axis=1))


def _joined(values: NDArray[np.generic], events: NDArray[np.str_]) -> Outputs:
    """Return outputs with one event per round: the labels of its releases, "ok" if ordinary; "" if all are."""
    exceptional = (events != "").any(axis=1)
    labels = [", ".join(label or "ok" for label in row) if any(row) else "" for row in events.tolist()]
    zeroed = np.where(exceptional.reshape(-1, *[1] * (values.ndim - 1)), np.zeros((), dtype=values.dtype), values)
    return Outputs(zeroed, np.array(labels, dtype=np.str_))
