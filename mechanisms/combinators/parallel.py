"""Disjoint parts of the records, each with its own mechanism."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..accounting.kinds.profile import ProfileGuarantee
from ..core.arrays import Floats
from ..core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs, known_law
from ..core.errors import ParameterError, RelationError
from ..core.guarantee import Guarantee
from ..core.records import RecordsMechanism
from ..core.relation import Relation
from ..noise.base import AdditiveNoise
from ..noise.laplace import Laplace
from ..noise.queries.counts import Count

COUNTS: tuple[Mechanism, ...] = (Laplace(1.0, query=Count()), Laplace(0.5, query=Count()))
"""Two noisy counts with epsilon 1 and 0.5."""


@dataclass(frozen=True)
class Parallel(RecordsMechanism):
    """Parallel composition: mechanism j runs on the records of part j, and all outputs are released.

    Each record states its own part, so one added or removed record changes one part. The joint release is
    therefore as private as the least private mechanism, not as their sum. (McSherry 2009, theorem 4.)

    Args:
        bases: the mechanisms, one per part, at least 1; each takes an array of values.
        record: the value of the record of `worst_case()`.

    Raises:
        ParameterError: `bases` is empty or contains an object that is not a mechanism.
        RelationError: a mechanism has a guarantee for another relation than add_remove. When a record is replaced,
            two parts may change, and the two largest epsilons add up.

    Guarantees:
        * The largest of the guarantees at every epsilon, under add_remove. A dataset is an array `(n_records, 2)` of
          part numbers and values.
        * Parts must be disjoint and must not depend on other records, and the mechanisms must use independent
          randomness: `dpassay.mechanisms.combinators.broken` shows violations of these conditions.

    Example:
        >>> mechanism = Parallel()  # two counts, of epsilon 1 and 0.5
        >>> mechanism.guarantee().epsilon(0.0)
        1.0
        >>> mechanism.release([[0, 1.0], [1, 1.0], [1, 1.0]], 4, np.random.default_rng(0)).values.shape
        (4, 2)
    """

    bases: Sequence[Mechanism] = COUNTS
    _: KW_ONLY
    record: float = 1.0
    relation: Relation = field(default=Relation.ADD_REMOVE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bases", tuple(self.bases))
        if not self.bases or not all(isinstance(base, Mechanism) for base in self.bases):
            raise ParameterError(f"bases must be one Mechanism a part, but are {self.bases!r}.", argument="bases")
        for base in self.bases:
            if base.relation is not self.relation:
                raise RelationError(
                    f"parallel composition is a theorem for 'add_remove', but {base!r} has {base.relation.value!r}: a "
                    "record that is replaced may leave one part and enter another. Compose the two parts instead.",
                    argument="bases",
                )

    def parts(self, dataset: Dataset) -> list[Floats]:
        """Return the values of the records of each part."""
        records = np.asarray(dataset, dtype=np.float64)
        shaped = records.ndim == 2 and records.shape[1] == 2
        if not shaped or not np.isin(records[:, 0], np.arange(len(self.bases))).all():
            raise ParameterError(
                f"the dataset must have shape (n_records, 2), part numbers from 0 to {len(self.bases) - 1} and values, "
                f"but is {dataset!r}.",
                argument="dataset",
            )
        return [records[records[:, 0] == j, 1] for j in range(len(self.bases))]

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` joint outputs, `(size, n)`: the flattened outputs of all parts, concatenated."""
        outputs = [base.release(part, size, rng) for base, part in zip(self.bases, self.parts(dataset), strict=True)]
        if any(output.events is not None for output in outputs):
            raise ParameterError("a part gave exceptional outputs, which a joint output cannot hold.")
        return Outputs(np.concatenate([_rows(output.values) for output in outputs], axis=1))

    def output_law(self) -> LogDensity | None:
        """Return the product of the output laws of the parts, or None unless all are known."""
        return None if any(base.output_law() is None for base in self.bases) else self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the sum of the log densities of the parts, `(size,)`; each part must release one number."""
        if outputs.values.shape[1:] != (len(self.bases),):
            raise ParameterError(
                "the joint law is known for parts that release one number each, but outputs have shape "
                f"{outputs.values.shape}. Choose attack='classifier'."
            )
        total = np.zeros(len(outputs))
        for j, (base, part) in enumerate(zip(self.bases, self.parts(dataset), strict=True)):
            total += known_law(base).log_density(Outputs(outputs.values[:, j]), part)
        return total

    @cached_property
    def _largest(self) -> int:
        """Index of the part with the largest epsilon at the largest default delta of the claims (1e-6 if none)."""
        claims = [base.guarantee() for base in self.bases]
        delta = max(claim.default_delta or 0.0 for claim in claims) or 1e-6
        return int(np.argmax([claim.epsilon(delta) for claim in claims]))

    def guarantee(self) -> Guarantee:
        """Return the largest guarantee of the parts at every epsilon.

        If all parts have equal guarantees, that guarantee is returned itself.
        """
        claims: list[Guarantee] = []
        for base in self.bases:
            if (claim := base.guarantee()) not in claims:  # compare by value: different claims can print the same
                claims.append(claim)
        return claims[0] if len(claims) == 1 else LargestDP(tuple(claims))

    def worst_case(self) -> Neighbours:
        """Return a pair of no records and one record in the part with the largest epsilon."""
        return Neighbours(np.zeros((0, 2)), np.array([[self._largest, self.record]]), self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the part that the worst case changes, or None if it is unknown.

        It is known if that part adds noise to one answer and the record moves this answer by its full sensitivity.
        """
        base = self.bases[self._largest]
        return base.exact_guarantee() if moves_every_answer(base, np.zeros(0), np.array([self.record])) else None


def moves_every_answer(base: Mechanism, d0: Dataset, d1: Dataset, steps: int = 1) -> bool:
    """Return True if `base` adds noise to one answer, which moves by `steps` times its sensitivity from d0 to d1."""
    return isinstance(base, AdditiveNoise) and math.isclose(
        answer_shift(base, d0, d1), steps * base.sensitivity, rel_tol=1e-9
    )


def answer_shift(base: Mechanism, d0: Dataset, d1: Dataset) -> float:
    """Return the distance by which the single answer of `base` moves from d0 to d1; inf if there is no such answer."""
    if not isinstance(base, AdditiveNoise) or base.n_queries != 1:
        return math.inf
    return abs(float(base.answers(d1) - base.answers(d0)))


def _rows(values: NDArray[np.generic]) -> Floats:
    return np.asarray(values, dtype=np.float64).reshape(len(values), -1 if values.size else 1)


@dataclass(frozen=True, eq=False, repr=False)
class LargestDP(ProfileGuarantee):
    """Largest of several guarantees at every epsilon.

    This guarantee holds if at least one of `claims` holds and it is not known which one.
    """

    claims: tuple[Guarantee, ...]
    relation: Relation | None = None
    exact = False

    @property
    def default_delta(self) -> float | None:
        """Largest default delta of the claims; None if a claim has none."""
        default_deltas = [claim.default_delta for claim in self.claims]
        return None if None in default_deltas else max(delta for delta in default_deltas if delta is not None)

    def _delta(self, epsilon: Floats) -> Floats:
        return np.asarray(np.max([np.asarray(claim.delta(epsilon)) for claim in self.claims], axis=0))

    def _epsilon(self, delta: Floats) -> Floats:
        return np.asarray(np.max([np.asarray(claim.epsilon(delta)) for claim in self.claims], axis=0))

    def _tradeoff(self, fpr: Floats) -> Floats:
        return np.asarray(np.min([claim.tradeoff(fpr) for claim in self.claims], axis=0))

    def _parameters(self) -> Mapping[str, object]:
        return {"claims": " or ".join(map(str, self.claims))}
