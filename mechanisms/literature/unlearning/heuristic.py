"""Unlearning of models that were trained with a random start and random batches: no method has a certificate."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from scipy.special import expit

from ...accounting import ApproximateDP
from ...core import Bools, Floats, Guarantee, NonNegative, Positive, PositiveInt, Tier, example, one_of_names
from .base import ForgettingMechanism, counted

_MAX_BLOCK_ENTRIES = 4_000_000  # numbers in the largest array of a block of runs


@dataclass(frozen=True)
class Unlearning(ForgettingMechanism):
    """Logistic regression by stochastic gradient descent, which forgets by one of the usual methods.

    Each run draws its own start and its own batches (with replacement), on both sides.

        method            what happens to the trained model
        retraining        it is replaced by one trained on the records that remain: the null
        sisa              each record is in one of `n_shards` shards, by chance; one model a shard, whose mean is
                          released; the models of shards with forgotten records are trained again: the null too
        newton            one step against the influence of the forgotten records: H^-1 (sum of their gradients +
                          k L w) / (n - k), with the second derivative H of the records that remain
        fine-tuning       `update_steps` more steps on the records that remain
        gradient-ascent   `update_steps` steps up the loss of the forgotten records
        nothing           nothing: it must be found

    "retraining" and "sisa" give both sides one distribution, since a record's shard does not depend on other records.

    Args:
        method: the name of a method.
        steps, update_steps: steps of training and of the update, >= 1.
        batch_size, learning_rate: of each step.
        start_deviation: standard deviation of the parameters at the start, >= 0.
        n_shards: shards of "sisa".

    Guarantees:
        * none is claimed: state the claim of the audit, such as `claim=ApproximateDP(1.0, 1e-5)`. For "retraining" and
          "sisa" every claim is true.

    References:
        SISA: Bourtoule et al. (2021), "Machine unlearning". The step against the influence: Guo et al. (2020).

    Example:
        >>> mechanism = Unlearning(n_records=50, n_forget=5, steps=20, method="sisa")
        >>> mechanism.release(mechanism.worst_case().d1, 3, np.random.default_rng(0)).values.shape
        (3, 1)
    """

    _tier = Tier.PROVISIONAL  # it claims nothing
    _example = example(n_records=20, n_forget=2, steps=5, batch_size=5)

    _: KW_ONLY
    method: Annotated[
        str, one_of_names("retraining", "sisa", "newton", "fine-tuning", "gradient-ascent", "nothing")
    ] = "retraining"
    steps: PositiveInt = 200
    update_steps: PositiveInt = 20
    batch_size: PositiveInt = 20
    learning_rate: Positive = 0.5
    start_deviation: NonNegative = 1.0
    n_shards: PositiveInt = 4

    def guarantee(self) -> Guarantee:
        """Return a void guarantee: delta is 1, up to rounding."""
        return ApproximateDP(0.0, 1.0 - 2**-53, self.relation)

    def exact_guarantee(self) -> None:
        """Return None: the exact curve is not known."""

    def _models(self, rows: Floats, size: int, rng: np.random.Generator) -> Floats:
        numbers = max(self.batch_size * rows.shape[1], len(rows)) * (self.n_shards if self.method == "sisa" else 1)
        step = max(1, _MAX_BLOCK_ENTRIES // numbers)
        blocks = [self._block(rows, min(step, size - start), rng) for start in range(0, size, step)]
        return np.concatenate([np.empty((0, rows.shape[1])), *blocks])

    def _block(self, rows: Floats, size: int, rng: np.random.Generator) -> Floats:
        rest, forgotten = rows[: self.n_rest], rows[self.n_rest :]
        if self.method == "sisa":
            return self._sisa(rows, size, rng)
        if not len(forgotten) or self.method == "retraining":
            return self._train(rest, size, rng)
        models = self._train(rows, size, rng)
        if self.method == "newton":
            return self._without_influence(models, rest, forgotten)
        if self.method == "fine-tuning":
            return self._descend(rest, models, self.update_steps, rng)
        if self.method == "gradient-ascent":
            for _ in range(self.update_steps):
                models = models + self.learning_rate * counted(forgotten).gradient_sums(models) / len(forgotten)
        return models

    def _train(self, rows: Floats, size: int, rng: np.random.Generator, members: Bools | None = None) -> Floats:
        start = self.start_deviation * rng.standard_normal((size, rows.shape[1]))
        return self._descend(rows, start, self.steps, rng, members)

    def _descend(
        self, rows: Floats, models: Floats, steps: int, rng: np.random.Generator, members: Bools | None = None
    ) -> Floats:
        """Return the models after some steps, `(size, n_features)`; `members`, `(size, n)`: the records of each."""
        shape = len(models), self.batch_size
        if members is not None:
            order, counts = np.argsort(~members, axis=1, kind="stable"), members.sum(axis=1)
            is_trained = (counts > 0)[:, None]
        for _ in range(steps):
            batch = rng.integers(len(rows), size=shape)
            if members is not None:
                batch = np.take_along_axis(order, (rng.random(shape) * counts[:, None]).astype(np.int64), axis=1)
            examples = rows[batch]
            weights = expit(-np.einsum("rbd,rd->rb", examples, models)) / self.batch_size
            ascent = np.einsum("rb,rbd->rd", weights if members is None else weights * is_trained, examples)
            models = models + self.learning_rate * (ascent - self.regularisation * models)
        return models

    def _sisa(self, rows: Floats, size: int, rng: np.random.Generator) -> Floats:
        shards = rng.integers(self.n_shards, size=(size, 1, len(rows)))
        members = (shards == np.arange(self.n_shards)[:, None]).reshape(-1, len(rows))
        models = self._train(rows, len(members), rng, members)
        affected = members[:, self.n_rest :].any(axis=1)
        rest = members[affected, : self.n_rest]
        models[affected] = self._train(rows[: self.n_rest], len(rest), rng, rest)
        return np.asarray(models.reshape(size, self.n_shards, -1).mean(axis=1))

    def _without_influence(self, models: Floats, rest: Floats, forgotten: Floats) -> Floats:
        n, k, examples = len(rest), len(forgotten), counted(rest)
        curvature = examples.hessian_sums(models) / n + self.regularisation * np.eye(models.shape[1])
        influence = (counted(forgotten).gradient_sums(models) + k * self.regularisation * models) / n
        return np.asarray(models + np.linalg.solve(curvature, influence[..., None])[..., 0])
