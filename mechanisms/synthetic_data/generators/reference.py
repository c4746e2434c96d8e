"""Reference implementation of graphical models: the library mbi, with the interface of this package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ...core.arrays import Floats
from ...core.constraints import PositiveInt, check_fields
from ...core.errors import ParameterError
from ...noise.queries.domain import Domain
from ..base import Generator, Measured
from .graphical import JunctionTreeDistributions
from .junction_tree import JunctionTree


@dataclass(frozen=True)
class ReferenceModel(Generator):
    """Graphical models of mbi 2 (McKenna), one run at a time; `GraphicalModel` fits the same models, all runs at once.

    Tables are drawn as in `GraphicalModel`, because mbi draws from the global generator of numpy.

    Needs `pip install ".[pgm]"`, which brings jax. Set JAX_ENABLE_X64=1 before it is imported: in single
    precision, large tables stall its descent.

    Args:
        n_steps: number of steps of mirror descent in mbi, >= 1.
    """

    n_steps: PositiveInt = 1000

    def __post_init__(self) -> None:
        check_fields(self)

    def _fit(
        self, domain: Domain, measured: Sequence[Measured], total: Floats, rng: np.random.Generator
    ) -> JunctionTreeDistributions:
        for measurement in measured:
            if measurement.noise != "gaussian":
                raise ParameterError(
                    argument="noise",
                    value=measurement.noise,
                    allowed="be 'gaussian'",
                    advice="GraphicalModel fits the other.",
                )
        try:
            mbi: Any = import_module("mbi")
        except ImportError as error:
            raise ParameterError(
                'ReferenceModel needs mbi; in a copy of dpassay: pip install ".[pgm]". GraphicalModel needs no extra.',
                argument="generator",
            ) from error
        tree = JunctionTree.of(domain, [measurement.attributes for measurement in measured])
        fits = [self._fitted(mbi, domain, measured, run, float(n)) for run, n in enumerate(total)]
        cliques = [np.stack([fit.project(names).datavector() / fit.total for fit in fits]) for names in tree.cliques]
        return JunctionTreeDistributions(tree, total, [np.asarray(shares, dtype=np.float64) for shares in cliques])

    def _fitted(self, mbi: Any, domain: Domain, measured: Sequence[Measured], run: int, total: float) -> Any:
        answers = [
            mbi.LinearMeasurement(measurement.answers[run], measurement.attributes, float(measurement.deviations[run]))
            for measurement in measured
        ]
        mbi_domain = mbi.Domain(domain.names, domain.shape)
        return mbi.estimation.MirrorDescent().estimate(mbi_domain, answers, known_total=total, iters=self.n_steps)
