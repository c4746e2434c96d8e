"""Intentionally broken representation: treated as public, but fitted to the private records."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ....accounting import GaussianDP
from ....accounting.broken import Broken
from ....core import Dataset, Floats, Guarantee, LogDensity, Neighbours, Outputs, ParameterError, Relation
from ...base import TrainingData
from ...models.architectures import LogisticRegression
from ..fine_tuning import FineTuning, principal_components
from ..mechanism import DPSGD
from ..sampling import FullBatch

ONE_STEP = DPSGD(
    LogisticRegression(1, bias=False),
    steps=1,
    noise_multiplier=3.73,
    clip_norm=0.5,
    sampling=FullBatch(expected_batch_size=10),
)


@dataclass(frozen=True)
class EncoderOfPrivateRecords(Broken, FineTuning):
    """Broken: fine-tuning with principal components of the public and the private records together.

    An outlier rotates the components, and changes the features of every record: all gradients move, where one
    should. Correct: `FineTuning`, with components of public records only.

    The head takes one full-batch step from zeros, so that its law is known: parameters with a different mean on each
    side, and the same Gaussian noise. The components, which would leak more, are not released.

    Args:
        base: training of the head: one full-batch step from given parameters, view "final", add_remove.

    Raises:
        ParameterError: another base.

    Example:
        >>> broken = EncoderOfPrivateRecords()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 34.0)
    """

    cause = "The features are fitted to all records, and only the training of the head is accounted for."
    source = "Constructed; a common mistake in private fine-tuning."
    correct_class = FineTuning

    base: DPSGD = ONE_STEP

    def __post_init__(self) -> None:
        super().__post_init__()
        base = self.base
        full = isinstance(base.scheme, FullBatch) and base.steps == 1 and base.recipe.initial is not None
        if not full or (base.view, base.relation) != ("final", Relation.ADD_REMOVE) or base.projection is not None:
            raise ParameterError(
                "base must take one full-batch step from given parameters, without projection, with view 'final', "
                f"under add_remove: the law is known only in this case, but base is {base!r}.",
                argument="base",
            )

    def represented(self, data: TrainingData) -> tuple[Floats, Floats]:
        """Return principal components of all records; should be those of the public records."""
        return principal_components(np.concatenate([np.array(self.public), data.X]), self.base.network.n_features)

    @property
    def trains_as_stated(self) -> bool:
        """False: a record affects the features of all others."""
        return False

    def worst_case(self) -> Neighbours:
        """Return ten records of class 1 along the first public component; side 1 also has an orthogonal outlier."""
        mean, components = principal_components(np.array(self.public), min(self.n_features, len(self.public) - 1))
        X = np.tile(mean + components[0] - components[1], (10, 1))
        outlier = mean + 1e4 * components[1]
        y = np.ones(11, dtype=np.int64)
        return Neighbours(TrainingData(X, y[:10]), TrainingData(np.vstack([X, outlier]), y), self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of two Gaussians: distance of the parameters on the worst case / standard deviation."""
        pair = self.worst_case()
        distance = float(np.linalg.norm(self.centre(pair.d1) - self.centre(pair.d0)))
        return GaussianDP(distance / self.deviation, relation=self.relation)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in each parameter."""
        recipe = self.base.recipe
        return float(recipe.rates[0] * recipe.noise_multiplier * recipe.clip_norm / (self.base.scheme.divisor or 1.0))

    def centre(self, dataset: Dataset) -> Floats:
        """Return the parameters without the noise, `(n_parameters,)`."""
        noiseless = replace(self.base, noise_multiplier=0.0)
        return np.asarray(noiseless.release(self.encoded(dataset), 1, np.random.default_rng(0)).values[0])

    def output_law(self) -> LogDensity | None:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of parameters, `(size,)`."""
        z = (outputs.values - self.centre(dataset)) / self.deviation
        constant = np.log(self.deviation) + 0.5 * np.log(2.0 * np.pi)
        return np.asarray(-0.5 * (z**2).sum(axis=1) - z.shape[1] * constant)
