"""Private estimators in the style of scikit-learn, such as those of diffprivlib, as mechanisms."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..accounting import ApproximateDP, PureDP
from ..core.base import Dataset, Mechanism, Neighbours, Outputs, Workers
from ..core.constraints import one_of_names
from ..core.errors import AccountingError, ParameterError, RelationError
from ..core.guarantee import Guarantee
from ..core.relation import Relation
from .functions.function import FunctionMechanism

VIEWS = ("parameters", "probabilities", "labels")
SEED_LIMIT = 2**32
"""Upper limit, exclusive, of the seeds of numpy's RandomState, which estimators take."""


@dataclass(frozen=True, eq=False)
class PrivateEstimator(Mechanism):
    """Estimator with `fit(X, y)` that claims privacy by its own randomness, trained once per run.

    In each run a copy of the estimator is seeded and fitted, and `view` selects the output. A fit that raises is an
    outcome like any other, and so is one of another shape, as when a class is missing: see
    `dpassay.mechanisms.adapters.functions.outcomes`. Warnings of single fits are suppressed; those of a first fit are
    shown once.

    Args:
        estimator: unfitted, with its privacy parameters. It is copied, never changed.
        neighbours: the pair: `(X, y)` on both sides, or just X.
        relation: the neighbouring relation of the estimator's claim, which no estimator states: an epsilon under one
            relation is a different guarantee than under another. diffprivlib treats the number of records as public:
            "replace_one". None takes the relation of `claim`, if it has one.
        claim: the claimed guarantee; None takes pure epsilon from `estimator.epsilon`, with `estimator.delta` if there
            is one above 0.
        view: the output of a run: "parameters" (the numbers in `attributes`), or, at the `queries`, "probabilities"
            (`predict_proba`) or "labels" (`predict`).
        attributes: names of attributes of the fitted estimator, whose values are released, concatenated.
        queries: `(n, n_features)`, public points; None takes the features of the records that only one side has.

    Raises:
        ParameterError: something that cannot be fitted or queried in this way; no relation, neither here nor in the
            claim.
        RelationError: the pair, or the claim, has another relation.
        AccountingError: no claim is given, and the estimator states no epsilon.
        ReleaseError: every first fit raises.
        NeighboursError: the pair is not neighbouring.

    Guarantees:
        * If the estimator (or a step of a pipeline) has a `random_state`, runs are a function of the generator;
          other estimators draw their own randomness, cannot be repeated, and run on one worker.

    Example:
        >>> from dpassay.mechanisms.adapters.private_estimator import PrivateEstimator
        >>> from dpassay.mechanisms.core.records import replace_record
        >>> class NoisyMean:
        ...     def __init__(self, epsilon=1.0, random_state=None):
        ...         self.epsilon, self.random_state = epsilon, random_state
        ...     def fit(self, X):
        ...         noise = np.random.RandomState(self.random_state).laplace(scale=1 / (len(X) * self.epsilon))
        ...         self.mean_ = np.clip(X, 0, 1).mean() + noise
        ...         return self
        >>> pair = replace_record(np.ones((10, 1)), 0, [0.0])
        >>> mechanism = PrivateEstimator(NoisyMean(epsilon=0.5), pair, relation="replace_one", attributes=["mean_"])
        >>> mechanism.release(pair.d1, 3, np.random.default_rng(0)).values.shape, mechanism.guarantee()
        ((3, 1), PureDP(epsilon=0.5, relation='replace_one'))
    """

    estimator: Any
    neighbours: Neighbours = field(repr=False)
    _: KW_ONLY
    relation: Relation = None  # type: ignore[assignment]  # resolved on construction
    claim: Guarantee | None = None
    view: Annotated[str, one_of_names(*VIEWS)] = "parameters"
    attributes: Sequence[str] = ("coef_", "intercept_")
    queries: ArrayLike | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise ParameterError(
                f"estimator must be an object with fit(X, y), such as LogisticRegression(epsilon=1.0), but is "
                f"{self.estimator!r}.",
                argument="estimator",
            )
        method = {"probabilities": "predict_proba", "labels": "predict"}.get(self.view)
        if method and not hasattr(self.estimator, method):
            raise ParameterError(
                f"view is {self.view!r}, but {type(self.estimator).__name__} has no {method}. Choose another view of "
                f"{', '.join(VIEWS)}.",
                argument="view",
            )
        if isinstance(self.attributes, str):
            raise ParameterError(
                f"attributes must be a list of names, but is one text. Try [{self.attributes!r}].",
                argument="attributes",
            )
        object.__setattr__(self, "attributes", tuple(self.attributes))
        self._resolve_relation()
        if method:
            object.__setattr__(self, "queries", self._queries())
        self._show_warnings()
        _ = self._function

    def __str__(self) -> str:
        return f"{type(self).__name__}({type(self.estimator).__name__}, view={self.view!r})"

    @property
    def workers(self) -> Workers:
        """Processes; `THIS_PROCESS` for an estimator that draws its own randomness."""
        return self._function.workers

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the outputs of `size` fits, made one after the other."""
        return self._function.release(dataset, size, rng)

    def guarantee(self) -> Guarantee:
        return self._claim

    def worst_case(self) -> Neighbours:
        """Return the given pair, which need not be the worst."""
        return self.neighbours

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        self._function.bind(neighbours)
        return self

    def _resolve_relation(self) -> None:
        """Set the relation of the claim, which the pair must also have."""
        stated: Relation | str | None = self.relation
        claimed = None if self.claim is None else self.claim.relation
        relation = claimed if stated is None else Relation.of(stated)
        if relation is None:
            raise ParameterError(
                f"relation is needed: what the epsilon of {type(self.estimator).__name__} holds for, which it does not "
                "state. Set relation='replace_one' if the number of records is public, as in diffprivlib, or "
                "'add_remove' or 'zero_out'.",
                argument="relation",
            )
        if claimed not in (None, relation):
            raise RelationError(
                f"relation is {relation.value!r}, but the claim {self.claim} holds for {Relation(claimed).value!r}. "
                "Give both the same.",
                argument="relation",
            )
        object.__setattr__(self, "relation", relation)
        super().bind(self.neighbours)

    @cached_property
    def _claim(self) -> Guarantee:
        if self.claim is not None:
            return self.claim
        epsilon, delta = (getattr(self.estimator, name, None) for name in ("epsilon", "delta"))
        if epsilon is None:
            raise AccountingError(
                f"{type(self.estimator).__name__} has no epsilon that could be read as its claim. Give claim=, such "
                "as PureDP(1.0)."
            )
        return ApproximateDP(epsilon, delta, self.relation) if delta else PureDP(epsilon, self.relation)

    @cached_property
    def _function(self) -> FunctionMechanism:
        """One fit as a function mechanism, which handles exceptional outputs."""
        fit: Any = partial(_fit_and_show, self.estimator, self.view, self.attributes, self.queries)
        states = _random_states(self.estimator)
        return FunctionMechanism(
            partial(_seeded, fit, states) if states else fit,
            claim=self._claim,
            neighbours=self.neighbours,
            style="one-run" if states else "own-randomness",
        )

    def _queries(self) -> NDArray[Any]:
        """Return the public points; raise `ParameterError` if there are none."""
        if self.queries is None:
            points = _only_on_one_side(*(_features(self.neighbours.side(side)) for side in (0, 1)))
        else:
            points = np.asarray(self.queries)
        if points.ndim < 2 or not len(points):
            raise ParameterError(
                f"queries must have shape (n, n_features), n >= 1, but have {points.shape}. Give the points at which "
                f"{self.view} are released.",
                argument="queries",
            )
        return points

    def _show_warnings(self) -> None:
        """Show the warnings of a first fit, which report leaks in addition to the noise, such as bounds from data."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                _fit(_copy(self.estimator, dict.fromkeys(_random_states(self.estimator), 0)), self.neighbours.d1)
            except Exception:
                return  # an outcome, or an error that the first runs explain
        for category, text in {(warning.category, str(warning.message)) for warning in caught}:
            if issubclass(category, UserWarning) or "privacy" in category.__name__.lower():
                warnings.warn(f"{type(self.estimator).__name__} warns: {text}", category, stacklevel=4)


def _seeded(fit: Any, states: Sequence[str], dataset: Dataset, rng: np.random.Generator) -> Any:
    """Return the result of one run with new random states."""
    seeds = rng.integers(SEED_LIMIT, size=len(states), dtype=np.uint32).tolist()
    return fit(dataset, dict(zip(states, seeds, strict=True)))


def _fit_and_show(
    estimator: Any,
    view: str,
    attributes: Sequence[str],
    queries: ArrayLike | None,
    dataset: Dataset,
    options: dict[str, int] | None = None,
) -> Any:
    """Return the released output of one run of a fitted copy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = _fit(_copy(estimator, options or {}), dataset)
        if view == "probabilities":
            return np.asarray(fitted.predict_proba(queries)).ravel()
        if view == "labels":
            return np.asarray(fitted.predict(queries)).ravel()
    missing = [name for name in attributes if not hasattr(fitted, name)]
    if missing:
        raise AttributeError(
            f"after fit, {type(fitted).__name__} has no {', '.join(missing)}. Name what it releases in attributes=."
        )
    return np.concatenate([np.asarray(getattr(fitted, name), dtype=np.float64).ravel() for name in attributes])


def _fit(estimator: Any, dataset: Dataset) -> Any:
    estimator.fit(*dataset) if isinstance(dataset, tuple) else estimator.fit(dataset)
    return estimator


def _copy(estimator: Any, options: dict[str, int]) -> Any:
    """Return an unfitted copy with these options."""
    if hasattr(estimator, "get_params"):
        from sklearn.base import clone

        return clone(estimator).set_params(**options)
    copied = copy.deepcopy(estimator)
    for name, value in options.items():
        setattr(copied, name, value)
    return copied


def _random_states(estimator: Any) -> tuple[str, ...]:
    """Return the names of the options that seed the estimator."""
    options = estimator.get_params() if hasattr(estimator, "get_params") else vars(estimator)
    return tuple(sorted(name for name in options if name.rpartition("__")[2] == "random_state"))


def _features(dataset: Dataset) -> NDArray[Any]:
    return np.asarray(dataset[0] if isinstance(dataset, tuple) else dataset)


def _only_on_one_side(features0: NDArray[Any], features1: NDArray[Any]) -> NDArray[Any]:
    """Return the rows that the other side lacks; repeated rows count once."""
    rows0, rows1 = ({row.tobytes(): row for row in np.ascontiguousarray(X)} for X in (features0, features1))
    rows = [row for key, row in rows0.items() if key not in rows1]
    rows += [row for key, row in rows1.items() if key not in rows0]
    return np.array(rows)


__all__ = ["PrivateEstimator"]
