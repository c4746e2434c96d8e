"""Worst-case initial parameters: the canary is all that is left to learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...mechanisms.core import Floats, ParameterError, positive, whole
from ...mechanisms.learning.base import TrainingData
from ...mechanisms.learning.dp_sgd.mechanism import DPSGD
from ...mechanisms.learning.models.base import Model


def worst_case_initial(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    *,
    steps: int = 2000,
    learning_rate: float = 1.0,
    momentum: float = 0.9,
    margin: float = 1.0,
    seed: int = 0,
) -> Floats:
    """Return parameters for `DPSGD(initial=...)`, trained without privacy on public data.

    Initial parameters are public, and the guarantee holds for all of them. From these the gradients of natural records
    are close to 0, and stay so while the parameters move a little: only the canary is learned, and its share of the
    final model is not diluted.

    Args:
        model: model that will be trained.
        X, y: public examples from the same distribution, none of them private.
        steps, learning_rate, momentum: parameters of gradient descent on all examples.
        margin: factor on the last layer, and therefore on all logits, > 0: the larger, the closer to 0 are the
            gradients of correctly classified records.
        seed: seed of the parameters from which training starts.

    Returns:
        Flat parameters `(n_parameters,)`.

    Raises:
        ParameterError: a value out of range, data that the model cannot take, or training that diverges.

    References:
        Annamalai, De Cristofaro (2024), "Nearly tight black-box auditing of differentially private machine learning",
        arXiv:2405.14106. The factor `margin` is ours.

    Example:
        >>> from dpassay.mechanisms.learning.models import LogisticRegression
        >>> X, y = np.array([[1.0], [-1.0]]), np.array([1, 0])
        >>> bool(worst_case_initial(LogisticRegression(1), X, y, steps=50)[0] > 3.0)
        True
    """
    whole(0, seed=seed)
    positive(margin=margin)
    data = TrainingData(np.asarray(X), np.asarray(y))
    if not len(data):
        raise ParameterError("X has no records: give public examples to train on.", argument="X")
    trainer = DPSGD(
        model,
        steps=steps,
        noise_multiplier=0.0,
        clipping="none",
        sampling="full-batch",
        batch_size=len(data),
        learning_rate=learning_rate,
        momentum=momentum,
        initial="random",
    )
    parameters: NDArray[Any] = trainer.fit(data, 1, np.random.default_rng(seed)).parameters[0].astype(np.float64)
    parameters[model.layers[-1].span] *= margin
    if not np.isfinite(parameters).all():
        raise ParameterError(
            f"learning_rate = {learning_rate!r} is too large: training diverged. Try a tenth of it.",
            argument="learning_rate",
        )
    return parameters
