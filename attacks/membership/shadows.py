"""Shadow models: many models of random halves of the same records, and their signals on each record.

One inclusion matrix and one matrix per signal, `[model, record]`, serve every attack. Designs:

    pairs       model 2k + 1 is trained on the records that model 2k is not: each record is in half of the models
    bernoulli   each record is in each model according to an independent fair coin

Scored leave-one-out, a half-and-half design without pairs would leak the bit of the target: it is the bit that
completes the half. Here a target is scored without its complement, so the references are independent of its bits, and
scores of members and non-members have the same law if training leaks nothing.

`OtherModels` has the means, variances and medians over the other models for all targets at once, computed as sums minus
the share of the target, without a loop over targets: 64 models and 2,000 records take a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import AttackError, Bools, Floats, Ints, ParameterError, one_of, unknown_name_message, whole
from .signals import LABEL_ONLY_SIGNALS, LOSS_SIGNALS, RESIDUAL_SIGNAL, SIGNALS, WHITE_BOX_SIGNALS, from_loss

DESIGNS = ("pairs", "bernoulli")


@dataclass(frozen=True, eq=False)
class Shadows:
    """Models, their training sets, and their signals on the records: the input of a membership attack.

    Args:
        inclusion: `(n_models, n_records)` True where the record was in the training set of the model.
        y: `(n_records,)` labels; zeros if labels are not used.
        signals: name -> `(n_models, n_records)`, higher = more like a member; see
            `dpassay.attacks.membership.signals`. From "loss", minus the cross-entropy,
            the confidence exp(loss) and its logit are computed, which RMIA and LiRA use.
        log_probabilities: `(n_models, n_records, n_classes)`, from which missing signals are computed; or None.
        summaries: `(n_models, n_summaries)` numbers that describe each model as a whole, such as statistics of a
            synthetic table; or None.
        X: `(n_records, n_features)` features, for attacks that use them; or None.
        population: records that no model was trained on and that are not scored, with the signals of the same models.
        partner: `(n_models,)` index of the model that was trained on the complement, the model itself if there is
            none; None for no pairs.
        fair: whether each bit of each model, except for its complement, is an independent fair coin (a natural split is
            not): the bits of the other models are then independent of the bits of this one.
        queries: for several queries of each record, the shadows of each query, with the same models and records;
            `signals` are then the means over the queries.
        warnings: reasons to doubt that outputs, labels and membership belong together.

    Raises:
        ParameterError: inconsistent shapes, NaN, or partners that are not complements.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> inclusion = rng.random((4, 6)) < 0.5
        >>> shadows = Shadows(inclusion, np.zeros(6), {"loss": rng.normal(size=(4, 6)) + inclusion})
        >>> len(shadows), shadows.n_records, shadows.signal("loss").shape
        (4, 6, (4, 6))
    """

    inclusion: Bools
    y: NDArray[Any]
    signals: Mapping[str, Floats] = field(default_factory=dict)
    log_probabilities: Floats | None = None
    summaries: Floats | None = None
    X: NDArray[np.floating[Any]] | None = None
    population: Shadows | None = None
    partner: Ints | None = None
    fair: bool = False
    queries: tuple[Shadows, ...] = ()
    warnings: tuple[str, ...] = ()
    _cache: dict[str, Floats] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        inclusion, y = np.asarray(self.inclusion), np.asarray(self.y)
        if inclusion.ndim != 2 or inclusion.dtype != np.bool_:
            raise ParameterError(
                f"inclusion must be boolean, shape (n_models, n_records), but is {inclusion.dtype} of shape "
                f"{inclusion.shape}. One model is one row: inclusion[None, :].",
                argument="inclusion",
            )
        if y.shape != inclusion.shape[1:]:
            raise ParameterError(
                f"y must be one label per record, {inclusion.shape[1:]}, but has shape {y.shape}.", argument="y"
            )
        object.__setattr__(self, "inclusion", inclusion)
        object.__setattr__(self, "y", y)
        object.__setattr__(self, "signals", {k: self._checked(k, v, inclusion.shape) for k, v in self.signals.items()})
        if self.log_probabilities is not None:
            n_classes = np.shape(self.log_probabilities)[-1:]
            log_p = self._checked("log_probabilities", self.log_probabilities, (*inclusion.shape, *n_classes))
            object.__setattr__(self, "log_probabilities", log_p)
        if self.summaries is not None:
            n_summaries = np.shape(self.summaries)[-1:]
            summaries = self._checked("summaries", self.summaries, (len(inclusion), *n_summaries))
            object.__setattr__(self, "summaries", summaries)
        if self.X is not None and len(self.X) != len(y):
            raise ParameterError(f"X must have one row per record, {len(y)}, but has {len(self.X)}.", argument="X")
        if self.partner is not None:
            self._check_partner(np.asarray(self.partner))
        if any(not np.array_equal(query.inclusion, inclusion) for query in self.queries):
            raise ParameterError("queries must have the models and records of the shadows.", argument="queries")
        if self.population is not None and (self.population.inclusion.any() or len(self.population) != len(self)):
            raise ParameterError(
                "population must have records that are in no model, with the signals of the same models.",
                argument="population",
            )

    def _checked(self, name: str, values: Any, shape: tuple[int, ...]) -> Floats:
        array = np.asarray(values, dtype=np.float64)
        if array.shape != shape:
            raise ParameterError(f"{name} must have shape {shape}, but has shape {array.shape}.", argument=name)
        if np.isnan(array).any():
            raise ParameterError(
                f"{name} has NaN: a model that predicts NaN must be trained again or left out.", argument=name
            )
        return array

    def _check_partner(self, partner: NDArray[Any]) -> None:
        n = len(self.inclusion)
        if partner.shape != (n,) or not np.isin(partner, np.arange(n)).all():
            raise ParameterError(argument="partner", value=partner, allowed=f"be one index per model, 0 to {n - 1}")
        unpaired = partner == np.arange(n)
        complementary = (self.inclusion[partner] != self.inclusion).all(axis=1)
        if not ((partner[partner] == np.arange(n)) & (unpaired | complementary)).all():
            raise ParameterError(
                "partner must be, for each model, the model trained on exactly the other records.", argument="partner"
            )

    def __len__(self) -> int:
        """Return the number of models."""
        return len(self.inclusion)

    @property
    def n_records(self) -> int:
        return int(self.inclusion.shape[1])

    @property
    def paired(self) -> bool:
        """True if any model has a complement."""
        return self.partner is not None and bool((self.partner != np.arange(len(self))).any())

    @property
    def partners(self) -> Ints:
        """Index `(n_models,)` of the model left out with each target; the target itself if there is none."""
        return np.arange(len(self)) if self.partner is None else np.asarray(self.partner, dtype=np.int64)

    def signal(self, name: str) -> Floats:
        """Return a signal by name, `(n_models, n_records)`, higher = member; computed once.

        Raises:
            AttackError: these models do not have the signal.
            ParameterError: no signal has this name.
        """
        if name in self.signals:
            return self.signals[name]
        if name not in self._cache:
            self._cache[name] = self._computed(name)
        return self._cache[name]

    def _computed(self, name: str) -> Floats:
        """Compute a missing signal from the log probabilities, or from the loss if sufficient."""
        if self.log_probabilities is not None and name in SIGNALS:
            return SIGNALS[name](self.log_probabilities, self.y)
        if "loss" in self.signals and name in LOSS_SIGNALS:
            return from_loss(name, self.signals["loss"])
        raise self._missing(name)

    def _missing(self, name: str) -> Exception:
        if name not in (*SIGNALS, *WHITE_BOX_SIGNALS, *LABEL_ONLY_SIGNALS, RESIDUAL_SIGNAL):
            return ParameterError(
                unknown_name_message(
                    "signal", name, [*SIGNALS, *WHITE_BOX_SIGNALS, *LABEL_ONLY_SIGNALS, RESIDUAL_SIGNAL, *self.signals]
                ),
                argument="signal",
            )
        has = ", ".join(self.signals) or "none"
        why = "models without gradients do not have" if name in WHITE_BOX_SIGNALS else "these outputs do not give"
        if name in LABEL_ONLY_SIGNALS:
            why = "only models of LabelOnlyLearner(estimator) have"
        if name == RESIDUAL_SIGNAL:
            why = "only predictions of a regression have"
        return AttackError(f"signal {name!r} is one that {why}; they have {has}. Use another attack or signal.")

    def others(self, values: Floats, *, which: str = "out") -> OtherModels:
        """Return the values of the other models: those "in", those "out", or "all"; see `leave_one_out`."""
        masks = {"in": self.inclusion, "out": ~self.inclusion, "all": np.ones_like(self.inclusion)}
        return OtherModels(values, masks[which], self.partners)

    def take(self, models: Sequence[int] | Ints) -> Shadows:
        """Return the shadows of some models only; partners are kept if both are selected."""
        selected = np.asarray(models, dtype=np.int64)
        new_index = {int(model): i for i, model in enumerate(selected)}
        partner = np.array([new_index.get(int(self.partners[m]), i) for i, m in enumerate(selected)], dtype=np.int64)
        return replace(
            self,
            inclusion=self.inclusion[selected],
            signals={name: values[selected] for name, values in self.signals.items()},
            log_probabilities=None if self.log_probabilities is None else self.log_probabilities[selected],
            summaries=None if self.summaries is None else self.summaries[selected],
            population=None if self.population is None else self.population.take(selected),
            partner=partner,
            queries=tuple(query.take(selected) for query in self.queries),
        )


def draw_inclusion(n_models: int, n_records: int, rng: np.random.Generator, *, design: str = "pairs") -> NDArray[Any]:
    """Draw fair coins `(n_models, n_records)`: independent, or with each odd row the complement of the row before.

    Example:
        >>> draw_inclusion(4, 3, np.random.default_rng(0)).sum(axis=0)
        array([2, 2, 2])
    """
    one_of(DESIGNS, design=design)
    whole(1, n_models=n_models, n_records=n_records)
    if design == "bernoulli":
        return rng.random((n_models, n_records)) < 0.5
    if n_models % 2:
        raise ParameterError(
            f"n_models must be even for design 'pairs', but is {n_models}. Use design='bernoulli'.", argument="n_models"
        )
    half = rng.random((n_models // 2, n_records)) < 0.5
    return np.stack([half, ~half], axis=1).reshape(n_models, n_records)


@dataclass(frozen=True, eq=False)
class OtherModels:
    """Statistics of the models of a mask on each record, without the target and its partner.

    Args:
        values: `(n_models, n_records)` signals.
        mask: `(n_models, n_records)` models that are used for each record.
        partner: `(n_models,)` index of the model that is left out with each target; the target itself if there is none.
    """

    values: Floats
    mask: Bools
    partner: Ints

    @cached_property
    def count(self) -> Ints:
        """Number of references of each target and record, `(n_models, n_records)`."""
        return np.rint(self._less_own(self.mask.astype(np.float64))).astype(np.int64)

    @cached_property
    def mean(self) -> Floats:
        """Means, `(n_models, n_records)`; NaN without references."""
        return self._centre + self._divided(self._sum, self.count)

    @cached_property
    def sum_of_squares(self) -> Floats:
        """Sums of squared distances from the mean, `(n_models, n_records)`; 0 without references."""
        squares = self._less_own(self._deviations**2)
        return np.maximum(squares - np.nan_to_num(self._divided(self._sum**2, self.count)), 0.0)

    @cached_property
    def variance(self) -> Floats:
        """Unbiased variances, `(n_models, n_records)`; NaN with fewer than two references."""
        return self._divided(self.sum_of_squares, self.count - 1)

    @cached_property
    def pooled_variance(self) -> Floats:
        """Variance around the mean of each record, over all records, `(n_models, 1)`; NaN without references."""
        freedom = np.maximum(self.count - 1, 0).sum(axis=1, keepdims=True)
        return self._divided(self.sum_of_squares.sum(axis=1, keepdims=True), freedom)

    @cached_property
    def median(self) -> Floats:
        """Medians, `(n_models, n_records)`; NaN without references."""
        values = np.where(self.mask, self.values, np.inf)
        order, last = np.argsort(values, axis=0, kind="stable"), len(values) - 1
        ordered = np.take_along_axis(values, order, axis=0)
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.arange(len(order))[:, None], axis=0)
        own_rank = np.where(self.mask, rank, len(order))
        partner_rank = np.where((self.partner != np.arange(len(order)))[:, None], own_rank[self.partner], len(order))
        first_skipped, second_skipped = np.minimum(own_rank, partner_rank), np.maximum(own_rank, partner_rank)

        def reference_at(k: Ints) -> Floats:
            """Return the k-th reference value, skipping the ranks of the target and its partner."""
            k = k + (k >= first_skipped)
            return np.take_along_axis(ordered, np.clip(k + (k >= second_skipped), 0, last), axis=0)

        middle = 0.5 * (reference_at((self.count - 1) // 2) + reference_at(self.count // 2))
        return np.where(self.count > 0, middle, np.nan)

    @cached_property
    def _centre(self) -> Floats:
        """Centre of the values of each record, subtracted to keep sums of squares accurate."""
        return np.asarray(self.values.mean(axis=0))

    @cached_property
    def _deviations(self) -> Floats:
        return np.where(self.mask, self.values - self._centre, 0.0)

    @cached_property
    def _sum(self) -> Floats:
        return self._less_own(self._deviations)

    def _less_own(self, terms: Floats) -> Floats:
        """Return sums over models minus the terms of the target and its partner; terms outside the mask are 0."""
        terms = np.where(self.mask, terms, 0.0)
        partners = np.where((self.partner != np.arange(len(terms)))[:, None], terms[self.partner], 0.0)
        return np.asarray(terms.sum(axis=0) - terms - partners)

    def _divided(self, numerator: Floats, n: Ints) -> Floats:
        return np.where(n > 0, numerator / np.maximum(n, 1), np.nan)
