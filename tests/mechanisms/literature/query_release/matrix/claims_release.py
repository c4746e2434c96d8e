"""Laws of the matrix mechanism: two cells, two measurements, and what is published worked out by hand."""

from itertools import product

import numpy as np
from tests.mechanisms import claims_laws as laws

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.query_release.matrix import (
    ExplicitStrategy,
    GaussianMatrixMechanism,
    LaplaceMatrixMechanism,
)
from dpassay.mechanisms.literature.query_release.matrix.broken import (
    GaussianNoiseForWorkload,
    LaplaceNoiseForWorkload,
)
from dpassay.mechanisms.noise.queries import Workload

DOMAIN = {"value": 2}
PREFIXES = ((1.0, 0.0), (1.0, 1.0))
STRATEGIES = (((1.0, 0.0), (0.0, 1.0)), ((1.0, 1.0), (1.0, -1.0)), ((0.5, 0.0), (0.5, 1.0)), ((2.0, 0.0), (1.0, 0.5)))
PAIRS = {
    "add_remove": [([], [0], 0), ([], [1], 1), ([0, 1], [0, 1, 1], 1), ([1, 0], [0, 1, 0], 0)],
    "replace_one": [([0], [1], None), ([1, 0], [1, 1], None)],
}
"""For each relation two datasets, and the cell of the record that is added."""


def cases(kind, options, shown):
    """`shown(mechanism, moves, A, scale)` gives the two laws; the scale of the noise is worked out here."""
    for rows, (relation, pairs) in product(STRATEGIES, PAIRS.items()):
        workload = Workload(DOMAIN, PREFIXES)
        mechanism = kind(
            **options, workload=workload, strategy=ExplicitStrategy(Workload(DOMAIN, rows)), relation=relation
        )
        scaled_to = PREFIXES if "Workload" in kind.__name__ else rows
        moved = {cell: np.array(rows)[:, cell] for cell in (0, 1)} | {None: np.array(rows) @ (-1.0, 1.0)}
        far = {cell: np.array(scaled_to)[:, cell] for cell in (0, 1)} | {None: np.array(scaled_to) @ (-1.0, 1.0)}
        cells = (0, 1) if relation == "add_remove" else (None,)
        sensitivity = max(np.linalg.norm(far[cell], ord=kind.norm) for cell in cells)
        furthest = max(np.linalg.norm(moved[cell], ord=kind.norm) for cell in cells)
        for d0, d1, cell in pairs:
            pair = Neighbours(np.array(d0, int)[:, None], np.array(d1, int)[:, None], relation)
            is_worst = np.linalg.norm(moved[cell], ord=kind.norm) == furthest
            yield mechanism, pair, *shown(moved[cell], np.array(rows), sensitivity), is_worst


def laplace(kind):
    """Two numbers with Laplace noise; where two cells move as far in all, either may show more at a large delta."""
    for epsilon in (0.5, 1.5):
        for mechanism, pair, p0, p1, is_worst in cases(
            kind,
            {"epsilon": epsilon, "view": "measurements"},
            lambda moves, _, sensitivity, epsilon=epsilon: [
                laws.joint(*(laws.laplace(m * epsilon / sensitivity, 1.0, laws.COARSE) for m in side))
                for side in (np.zeros(2), moves)
            ],
        ):
            same = np.array_equal(mechanism.worst_case().d1[-1:], pair.d1[-1:]) or pair.relation == "replace_one"
            yield mechanism, pair, p0, p1, 4e-3, is_worst and same


def gaussian(kind):
    """The answers as one normal vector, whose means lie a Mahalanobis distance apart."""

    def shown(moves, rows, sensitivity, multiplier):
        maker = np.array(PREFIXES) @ np.linalg.inv(rows)
        covariance = (multiplier * sensitivity) ** 2 * maker @ maker.T
        distance = np.sqrt((maker @ moves) @ np.linalg.solve(covariance, maker @ moves))
        return laws.normal(0.0, 1.0), laws.normal(distance, 1.0)

    for multiplier in (0.7, 3.0):
        for mechanism, pair, p0, p1, is_worst in cases(
            kind, {"noise_multiplier": multiplier}, lambda *given, m=multiplier: shown(*given, m)
        ):
            yield mechanism, pair, p0, p1, 2e-5, is_worst


CLAIMS = {
    "laplace-matrix": lambda: laplace(LaplaceMatrixMechanism),
    "gaussian-matrix": lambda: gaussian(GaussianMatrixMechanism),
    "broken-laplace-matrix": lambda: laplace(LaplaceNoiseForWorkload),
    "broken-gaussian-matrix": lambda: gaussian(GaussianNoiseForWorkload),
}
