"""The audited mechanisms: the bugs of `dpassay run bugs` and the causes of false claims, each with its right twin."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpassay.audit.search.fitted import fitted
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.tasks.planning import plan_tasks
from dpassay.mechanisms import Mechanism, Neighbours
from dpassay.mechanisms.accounting import ApproximateDP, PureDP

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))
from tests.audit.search import false_claims  # noqa: E402

NAN = math.nan
HALF = [0.5] * 9
PAIRS: dict[str, tuple[Any, Any]] = {
    "nan_mean": ([NAN] * 9 + [0.0], [NAN] * 9 + [1.0]),
    "nan_variance": ([NAN] * 8 + [0.0, 0.0], [NAN] * 8 + [0.0, 1.0]),
    "nan_sum_far_from_0": ([100.2, NAN], [100.2, 100.5]),
    "sum_of_nan": ([0.2, 0.7], [0.2, NAN]),
    "median_that_underflows": ([0.5] * 2976, [0.5] * 2977),
    "naive_bayes": (false_claims.ROWS, np.array([[100.2, 1.0], *false_claims.ROWS[1:].tolist()])),
    "regression": ([[0.2, 0.4], [0.7, 0.6]], [[0.2, 0.4], [1.0, 1.0]]),
    "weighted_histogram": ([[0.2, 1.0]], [[0.2, 1.0], [0.9, 100.0]]),
    "histogram_of_data_bins": ([*HALF, 0.5], [*HALF, 1.0]),
    "bits_set_only": (3, 5),
    "subset_in_order": (3, 7),
    "sampled_attribute": ([0, 0, 0], [1, 1, 1]),
    "mean_of_nan": (HALF, [*HALF, NAN]),
    "federated_mean": ([[0.6, 0.2], [-1.0, 0.0]], [[0.6, 0.2], [1.0, 0.0]]),
    "clipped_update": ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
    "scalars_without_noise": (0.0, 1.0),
    "one_sided_count": (HALF, [*HALF, 0.5]),
    "mean_without_clamp": ([*HALF, 0.5], [*HALF, 1000.0]),
    "one_noise_for_all": ([[0.2, 0.4, 0.1], [0.0, 0.0, 0.0]], [[0.2, 0.4, 0.1], [1.0, 0.0, 0.0]]),
}
"""A pair that shows each cause. The one that never answers is not here: none of the methods can count it."""


@dataclass(frozen=True)
class Case:
    """A mechanism, its pair and its claim.

    Args:
        name: of the bug or cause, with what it is: "broken", "wasteful" or "twin".
        wrong: whether its claim is false.
    """

    name: str
    wrong: bool
    mechanism: Mechanism
    neighbours: Neighbours
    delta: float

    @property
    def epsilon(self) -> float:
        return float(self.mechanism.guarantee().epsilon(self.delta))


def bugs() -> list[Case]:
    made = []
    for task in plan_tasks(*Config.load("bugs")):
        name, mechanism = task.parameters["case"]["name"], task.mechanism
        pair = task.neighbours or mechanism.worst_case()
        delta = mechanism.guarantee().default_delta if task.delta is None else task.delta
        made.append(Case(name, name.endswith("broken"), mechanism.bind(pair), pair, delta))
    return made


def rounded(function: Callable[..., Any], dataset: Any, rng: np.random.Generator) -> Any:
    """Return an output of six digits: the low bits of floats would be a leak of the twins too."""
    output = np.asarray(function(dataset, rng))
    return np.round(output, 6) if output.dtype.kind == "f" else output


def causes() -> list[Case]:
    made = []
    for cause in false_claims.BY_DATA:
        if cause.name not in PAIRS:
            continue
        claim = ApproximateDP(cause.epsilon, cause.delta) if cause.delta else PureDP(cause.epsilon)
        d0, d1 = (np.array(data, float) if np.ndim(data) else data for data in PAIRS[cause.name])
        pair = Neighbours(d0, d1, cause.relation or ("add_remove" if np.size(d0) != np.size(d1) else "replace_one"))
        for kind, function in (("broken", cause.function), ("twin", cause.twin)):
            mechanism = fitted(partial(rounded, function), pair, claim=claim, records=cause.records, timeout=None)
            made.append(Case(f"{cause.name} / {kind}", kind == "broken", mechanism, pair, cause.delta))
    return made


def cases() -> list[Case]:
    return [*bugs(), *causes()]
