"""Private fine-tuning: a head trained by DP-SGD on features learned from public records."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...core.arrays import Floats
from ...core.base import Data, Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...core.validation import numeric_rows
from ..base import AnyFloats, TrainingData
from ..models.architectures import LogisticRegression
from .capabilities import SupportsGradientCanaries
from .mechanism import DPSGD
from .sampling.full_batch import FullBatch

DEFAULT_TRAINER = DPSGD(
    LogisticRegression(2),
    steps=4,
    noise_multiplier=7.46,
    sampling=FullBatch(expected_batch_size=10),
    view="noisy_gradients",
)
PUBLIC_RECORDS = np.random.default_rng(0).normal(size=(40, 4)) * (4.0, 2.0, 1.0, 1.0)


@dataclass(frozen=True)
class FineTuning(Mechanism):
    """DP-SGD training of a head on frozen features that a public representation computes from private records.

        u = V (x - m) / |V (x - m)|      m: mean of the public records, V: their first principal components
        head: DP-SGD on (u, y)

    The representation depends on no private record, so that it needs no privacy budget. The claim does not cover the
    public records. Gradient records are gradients of the head, and are not encoded.

    Args:
        base: the head, a DPSGD whose model has as many features as there are components.
        public: public records `(n, n_features)`, more than components; None for 40 synthetic records with 4 features.
            In a config "rest" selects the records of [data] beyond n_records.

    Raises:
        ParameterError: another base; zero_out, because the features of a blank record are not blank; too few public
            records, or public records with fewer features than components.

    Guarantees:
        * The guarantee of the head for the private records; none for the public records.

    References:
        Tramer and Boneh (2021), "Differentially private learning needs better features (or much more data)"; Yu et al.
        (2022), "Differentially private fine-tuning of language models".

    Example:
        >>> mechanism = FineTuning()
        >>> round(mechanism.guarantee().epsilon(1e-5), 2)
        1.0
        >>> mechanism.encoded((PUBLIC_RECORDS[:3], np.zeros(3))).X.shape
        (3, 2)
    """

    _dataset = Data.TRAINING

    base: DPSGD = DEFAULT_TRAINER
    _: KW_ONLY
    public: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        trains_a_network = isinstance(self.base, SupportsGradientCanaries) and hasattr(self.base, "network")
        if not trains_a_network or self.base.relation is Relation.ZERO_OUT:
            raise ParameterError(
                "base must train a network by clipped gradients, as DPSGD does, under add_remove or replace_one, but "
                f"is {self.base!r}.",
                argument="base",
            )
        object.__setattr__(self, "relation", self.base.relation)
        rows = numeric_rows(public=PUBLIC_RECORDS if self.public is None else self.public)
        k = self.base.network.n_features
        if min(len(rows) - 1, rows.shape[1]) < k:
            raise ParameterError(
                f"public must have more than {k} rows of at least {k} features, one for each feature of the head, but "
                f"has shape {rows.shape}.",
                argument="public",
            )
        object.__setattr__(self, "public", tuple(map(tuple, rows.tolist())))

    @cached_property
    def n_features(self) -> int:
        """Number of features of a record before encoding."""
        return len(self.public[0])

    @cached_property
    def representation(self) -> tuple[Floats, Floats]:
        """Mean m `(n_features,)` and components V `(n_components, n_features)` of the public records."""
        return principal_components(np.array(self.public), self.base.network.n_features)

    def represented(self, data: TrainingData) -> tuple[Floats, Floats]:
        """Return the representation that encodes `data`: the public representation for any records."""
        return self.representation

    def encoded(self, dataset: Dataset) -> TrainingData:
        """Return the encoded records; gradient records are unchanged."""
        data = TrainingData.of(dataset)
        self._check_width(data)
        return _encode(data, *self.represented(data))

    def _check_width(self, data: TrainingData) -> None:
        if data.X.shape[1] != self.n_features:
            raise ParameterError(
                f"records must have {self.n_features} features, as the public records, but have {data.X.shape[1]}.",
                argument="X",
            )

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the outputs of the head on the encoded records."""
        return self.base.release(self.encoded(dataset), size, rng)

    def guarantee(self) -> Guarantee:
        """Return the guarantee of the head."""
        return self.base.guarantee()

    def worst_case(self) -> Neighbours:
        """Return the worst case of the head, a pair of gradient records."""
        pair = self.base.worst_case()
        no_features = np.empty((0, self.n_features))
        d0, d1 = (TrainingData(no_features, side.y, side.gradients) for side in (pair.d0, pair.d1))
        return Neighbours(d0, d1, pair.relation)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        """Return the mechanism for this pair: encoded, it is a pair for the head, see `DPSGD.bind`."""
        super().bind(neighbours)
        sides = [TrainingData.of(neighbours.side(side)) for side in (0, 1)]
        for data in sides:
            self._check_width(data)
        d0, d1 = (_encode(data, *self.representation) for data in sides)
        head = self.base.bind(Neighbours(d0, d1, neighbours.relation))
        return self if head is self.base else replace(self, base=head)

    def output_law(self) -> LogDensity | None:
        """Return the output law of the head, for records before encoding."""
        law = self.base.output_law()
        return None if law is None else _LawOfHead(self, law)

    # --- for adversaries: the capabilities of the head, on encoded records --------------------------------------------

    @property
    def view(self) -> str:
        """Released output of the head."""
        return self.base.view

    @property
    def n_parameters(self) -> int:
        """Number of flat parameters of the head."""
        return self.base.n_parameters

    @property
    def clip_norm(self) -> float:
        """Upper bound on the norm of the gradient of a record in the head."""
        return self.base.clip_norm

    @property
    def trains_as_stated(self) -> bool:
        """True if a private record influences the output only through its gradient."""
        return self.base.trains_as_stated

    def check_data(self, data: TrainingData) -> None:
        """Raise `ParameterError` for records that do not fit the representation or the head."""
        self.base.check_data(self.encoded(data))

    def count_classes(self, data: TrainingData) -> int:
        """Return the number of classes of the head."""
        return self.base.count_classes(data)

    def initial_models(self, data: TrainingData) -> None:
        """Return None: models of the head do not apply to records before encoding."""

    def losses(self, data: TrainingData, parameters: AnyFloats) -> Floats:
        """Return the loss of each example, `(n_models, n_examples)`."""
        return self.base.losses(self.encoded(data), parameters)


@dataclass(frozen=True, eq=False)
class _LawOfHead:
    """Output law of a head, for records before encoding."""

    tuning: FineTuning
    law: LogDensity

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output, `(size,)`."""
        return self.law.log_density(outputs, self.tuning.encoded(dataset))


def _encode(data: TrainingData, mean: Floats, components: Floats) -> TrainingData:
    """Return the components of each record, normalised to norm 1; zero components stay 0.

    Records are scaled by powers of two, so that no product overflows. The products are sums that do not depend on the
    other records, as those of BLAS may do in their last bits: two neighbouring datasets stay neighbours.
    """
    largest = np.abs(data.X).max(axis=1, initial=0.0, keepdims=True)
    scales = np.ldexp(1.0, -np.maximum(np.frexp(largest)[1], 0))
    encoded = np.einsum("nf,kf->nk", data.X * scales - mean * scales, components)
    encoded /= np.maximum(np.linalg.norm(encoded, axis=1, keepdims=True), 1e-300)
    return TrainingData(encoded, data.y, data.gradients)


def principal_components(X: AnyFloats, k: int) -> tuple[Floats, Floats]:
    """Return the mean `(n_features,)` and k principal components `(k, n_features)`, largest entries positive."""
    mean = X.mean(axis=0)
    rows = np.linalg.svd(X - mean, full_matrices=False)[2][:k]
    signs = np.sign(np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1))
    return np.asarray(mean, dtype=np.float64), np.asarray(rows * signs, dtype=np.float64)
