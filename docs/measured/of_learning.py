"""Private fine-tuning on MNIST: docs/mechanisms/federated.md."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from stated import DOCS, Number

from dpassay.experiments.data.datasets import load
from dpassay.experiments.data.images import oriented_gradients
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd.accounting import calibrate_noise
from dpassay.mechanisms.learning.dp_sgd.fine_tuning import FineTuning
from dpassay.mechanisms.learning.dp_sgd.mechanism import DPSGD
from dpassay.mechanisms.learning.models.architectures import SoftmaxRegression

N_PUBLIC, N_PRIVATE, N_COMPONENTS = 2_000, 3_000, 60
N_RUNS = 3
BATCH, CLIP, EPOCHS = 600, 1.0, 20
STEP = 4.0
"""Learning rate times clipping norm: a step of full clipped gradients has this length."""


@cache
def _images() -> tuple[tuple[Any, Any], ...]:
    """Public, private and test images as rows of norm 1, with their labels."""
    (X, y), (Z, z) = load("mnist"), load("mnist", part="test")
    X, Z = (np.asarray(images, dtype=np.float64) for images in (X, Z))
    X, Z = (images / np.linalg.norm(images, axis=1, keepdims=True) for images in (X, Z))
    cuts = np.cumsum([N_PUBLIC, N_PRIVATE])
    return (X[: cuts[0]], y[: cuts[0]]), (X[cuts[0] : cuts[1]], y[cuts[0] : cuts[1]]), (Z, z)


def accuracy(
    features: str, epsilon: float | None, *, batch: int = BATCH, clip: float = CLIP, epochs: int = EPOCHS
) -> float:
    """Return the mean accuracy of heads in per cent, at delta 1e-5; epsilon None trains without noise.

    Args:
        features: "pixels", "components" (60 of public images) or "gradients" (60 components of oriented gradients).
        epsilon: of the private images under add_remove.
        batch, epochs: expected batch size, and passes over the private images.
        clip: clipping norm; the learning rate is `STEP` / clip.
    """
    public, private, test = _images()
    n_features = public[0].shape[1] if features == "pixels" else N_COMPONENTS
    head = _head(n_features, N_PRIVATE, epsilon, batch, clip, epochs)
    records, judged = TrainingData.of(private), TrainingData.of(test)
    if features != "pixels":
        view = oriented_gradients if features == "gradients" else np.asarray
        tuning = FineTuning(head, public=view(public[0]))
        records, judged = (tuning.encoded((view(X), y)) for X, y in (private, test))
    models = head.fit(records, N_RUNS, np.random.default_rng(0))
    return 100.0 * float((models.log_probabilities(judged.X).argmax(axis=2) == judged.y).mean())


def _head(n_features: int, n_private: int, epsilon: float | None, batch: int, clip: float, epochs: int) -> DPSGD:
    """Return the training of a linear head with ten classes."""
    rate, steps = batch / n_private, epochs * n_private // batch
    setting: dict[str, Any] = {"sampling": "poisson", "steps": steps, "sampling_probability": rate}
    noise = 0.0 if epsilon is None else calibrate_noise(epsilon=epsilon, delta=1e-5, **setting)
    return DPSGD(
        SoftmaxRegression(n_features, 10),
        **setting,
        batch_size=batch,
        clip_norm=clip,
        noise_multiplier=noise,
        learning_rate=STEP / clip,
        averaging="second-half",
        dtype="float32",
    )


def digits_row(batch: int, clip: float) -> list[float]:
    """Return the accuracy on 400 digits after 5, 20 and 80 epochs on 900 private ones: epsilon 2, then no noise."""
    X, y = load("digits")
    public, private, test = X[1_300:], (X[:900], y[:900]), (X[900:1_300], y[900:1_300])
    found = []
    for epsilon in (2.0, None):
        for epochs in (5, 20, 80):
            head = _head(20, 900, epsilon, batch, clip, epochs)
            tuning = FineTuning(head, public=public)
            models = head.fit(tuning.encoded(private), 5, np.random.default_rng(0))
            judged = tuning.encoded(test)
            right = models.log_probabilities(judged.X).argmax(axis=2) == judged.y
            found.append(100.0 * float(right.mean()))
    return found


def row(epsilon: float | None) -> list[float]:
    """Return the accuracy on pixels, on public components and on components of oriented gradients."""
    return [accuracy(features, epsilon) for features in ("pixels", "components", "gradients")]


def grid_row(batch: int, clip: float) -> list[float]:
    """Return the accuracy on components of oriented gradients at epsilon 2 after 5, 20 and 80 epochs."""
    return [accuracy("gradients", 2.0, batch=batch, clip=clip, epochs=epochs) for epochs in (5, 20, 80)]


ROWS = {"2": 2.0, "3": 3.0, "8": 8.0, "none": None}
GRID = [(batch, clip) for batch in (150, 600, 3_000) for clip in (0.1, 1.0)]
SENTENCES = {
    "2": "| 2 | {80.8} | {84.0} | {92.9} |",
    "3": "| 3 | {81.1} | {84.3} | {93.2} |",
    "8": "| 8 | {81.4} | {84.4} | {93.3} |",
    "none": "| no noise | {81.6} | {84.5} | {93.3} |",
}
GRID_SENTENCES = (
    "| 150 | 0.1 | {91.1} | {94.4} | {93.8} |",
    "| 150 | 1.0 | {92.8} | {93.9} | {91.8} |",
    "| 600 | 0.1 | {82.8} | {91.5} | {94.4} |",
    "| 600 | 1.0 | {87.7} | {92.9} | {94.0} |",
    "| 3,000 | 0.1 | {73.6} | {81.2} | {90.0} |",
    "| 3,000 | 1.0 | {73.6} | {85.1} | {92.6} |",
)
DIGITS = {
    (45, 0.1): "| 45 | 0.1 | {89.1} | {90.2} | {85.4} | {92.3} | {95.2} | {96.0} |",
    (45, 1.0): "| 45 | 1.0 | {89.5} | {86.0} | {82.3} | {93.7} | {95.5} | {96.0} |",
    (180, 0.1): "| 180 | 0.1 | {85.7} | {90.2} | {90.5} | {84.7} | {92.7} | {95.2} |",
    (180, 1.0): "| 180 | 1.0 | {88.6} | {90.8} | {87.5} | {88.3} | {94.0} | {95.6} |",
    (900, 0.1): "| 900 | 0.1 | {82.5} | {84.0} | {90.3} | {83.5} | {84.5} | {91.2} |",
    (900, 1.0): "| 900 | 1.0 | {82.5} | {87.2} | {91.6} | {83.5} | {87.2} | {93.5} |",
}
PAGE = DOCS / "mechanisms" / "federated.md"
NUMBERS = (
    *(
        Number(f"digits-grid-{batch}-{clip}", PAGE, sentence, partial(digits_row, batch, clip), 0.06, 7)
        for (batch, clip), sentence in DIGITS.items()
    ),
    *(Number(f"fine-tuning-{name}", PAGE, SENTENCES[name], partial(row, ROWS[name]), 0.06, 20) for name in ROWS),
    *(
        Number(f"fine-tuning-grid-{batch}-{clip}", PAGE, sentence, partial(grid_row, batch, clip), 0.06, 30)
        for (batch, clip), sentence in zip(GRID, GRID_SENTENCES, strict=True)
    ),
)
