"""Private structure learning: the parents of each attribute, from noisy entropies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from typing import Annotated, Any

import numpy as np

from ....accounting import ApproximateDP
from ....accounting.numerics.laplace import laplace_log_density
from ....core.arrays import Bools, Floats, Ints
from ....core.base import Dataset, LogDensity, Neighbours, Outputs
from ....core.constraints import NonNegativeInt, OpenUnit, Positive, PositiveInt, at_least, one_of_names
from ....core.errors import ParameterError, plural
from ....core.guarantee import Guarantee
from ....core.relation import Relation
from ....core.validation import whole
from ....noise.laplace import draw_laplace
from ....noise.queries.domain import Domain
from .laplace_statistics import LaplaceStatistics


def entropy_sensitivity(n_records: int) -> float:
    """Return the largest change of an entropy of n records, in bits: log2 n - (1 - 1/n) log2 (n - 1).

    The change is for one replaced record. With f(c) = c log2 c, the entropy is log2 n - (1/n) sum of f(counts), and a
    replacement subtracts f(a) - f(a - 1) from the sum and adds f(b + 1) - f(b). These steps grow with the count, from 0
    for the first record of a cell: the difference is largest if all records share a cell and one moves to an empty
    cell. It is below (log2 n + 1 / ln 2) / n.

    Example:
        >>> round(entropy_sensitivity(100), 7), round((math.log2(100) + 1 / math.log(2)) / 100, 7)
        (0.0807931, 0.0808655)
    """
    whole(1, n_records=n_records)
    n = n_records
    return 0.0 if n == 1 else (n * math.log2(n) - (n - 1) * math.log2(n - 1)) / n


@dataclass(frozen=True)
class NoisyEntropies(LaplaceStatistics):
    """Entropies of all attributes and of all pairs of them, with Laplace noise, and the structure learned from them.

    There are m (m + 1) / 2 entropies of m attributes, each with noise of scale `entropy_sensitivity` / epsilon_each.
    From them the correlations 2 - 2 H(i, j) / (H(i) + H(j)) follow, and from these, by correlation-based feature
    selection, an order of the attributes and the parents of each (`learn_structure`): post-processing.
    (Bindschaedler, Shokri and Gunter 2017, section 3, which also has `buckets` and `epsilon_n`.)

    With `buckets` each attribute x_i has a coarse copy b_i, and there are m (m + 1) entropies: of the x_i, of the b_i
    and of the pairs (x_i, b_j), i != j. The copy stands for a parent: corr(i, j) = 2 - 2 H(x_i, b_j) / (H(x_i) +
    H(b_j)).

    With `epsilon_n` the number of records is private, and the relation is add_remove. It is released first, with
    Laplace noise of scale 1 / epsilon_n. As the sensitivity falls with n, the noise on the entropies is scaled for the
    lower limit noisy n - ln(1 / delta) / epsilon_n, which exceeds n with probability delta / 2. So

        epsilon = epsilon_n + epsilon_each sqrt(2 k ln(2 / delta)) + k epsilon_each (e^epsilon_each - 1),

    with k the number of entropies: half of delta is for the composition (Dwork, Rothblum and Vadhan 2010, theorem
    III.3), and half for the limit. (The source uses the noisy n itself, whose noise is too small where it exceeds n.)

    Args:
        domain: the attributes; may be a dict.
        n_records: n, >= 2: a public number; with `epsilon_n` the size of `worst_case()` only.
        epsilon_each: epsilon of one entropy, > 0.
        delta: delta at which the claim is quoted, strictly between 0 and 1; far below 1 / n.
        view: "entropies", an output with all entropies, after the noisy n if there is one: those of the attributes,
            then those of the pairs in the order of `itertools.combinations`, or with `buckets` those of the copies and
            of the pairs row by row; or "structure": the matrix `(m, m)` that is 1 at [i, j] if j is a parent of i.
        max_parents, max_cells: limits for each attribute; cells are combinations of values of its parents.
        buckets: for each attribute, the bucket 0, 1, ... of each of its values; a dict of lists. None: no copies.
        epsilon_n: epsilon of the number of records, > 0; None if this number is public.

    Guarantees:
        * (epsilon, delta)-DP by advanced composition: under replace_one for each delta, and with `epsilon_n` under
          add_remove at delta. All entropies move by the sensitivity together on `worst_case()`.

    Example:
        >>> mechanism = NoisyEntropies(n_records=100, epsilon_each=0.1)
        >>> mechanism.n_parts, round(mechanism.scale, 6), round(mechanism.guarantee().epsilon(0.0), 6)
        (6, 0.807931, 0.6)
    """

    domain: Any = field(default_factory=lambda: Domain((("x1", 2), ("x2", 2), ("x3", 2))))
    n_records: Annotated[int, at_least(2)] = 100
    _: KW_ONLY
    epsilon_each: Positive = 0.1
    delta: OpenUnit = 1e-6
    view: Annotated[str, one_of_names("entropies", "structure")] = "entropies"
    max_parents: NonNegativeInt = 3
    max_cells: PositiveInt = 1000
    buckets: Any = None
    epsilon_n: Positive | None = None
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "domain", Domain.of(self.domain))
        if self.buckets is not None:
            object.__setattr__(self, "buckets", _checked_buckets(self.buckets, self.domain))
        if self.epsilon_n is not None:
            object.__setattr__(self, "relation", Relation.ADD_REMOVE)

    @property
    def n_parts(self) -> int:
        """Number of entropies: m (m + 1) / 2, or twice that with `buckets`."""
        m = len(self.domain.names)
        return m * (m + 1) // (2 if self.buckets is None else 1)

    @property
    def scale(self) -> float:
        """Noise scale for a public number of records: `entropy_sensitivity(n_records)` / epsilon_each."""
        return entropy_sensitivity(self.n_records) / self.epsilon_each

    @property
    def n_moved(self) -> int:
        """Number of entropies, which all move."""
        return self.n_parts

    @property
    def step(self) -> float:
        """Move of each entropy in units of the scale."""
        return self.epsilon_each

    def answers(self, dataset: Dataset) -> Floats:
        """Return entropies in bits of the attributes, of their copies and of the pairs, shape `(n_parts,)`."""
        records = self.domain.records(dataset)
        if self.epsilon_n is None and len(records) != self.n_records:
            raise ParameterError(
                f"the dataset has {plural(len(records), 'record')}, but n_records is {self.n_records:,}, a public "
                "number.",
                argument="n_records",
            )
        names = self.domain.names
        if self.buckets is None:
            return np.array([_entropy(self.domain, records, of) for of in (*zip(names), *combinations(names, 2))])
        copies = tuple(f"{name} (bucket)" for name in names)
        sizes = [max(bucket) + 1 for bucket in self.buckets]
        both = Domain(tuple(zip(names + copies, (*self.domain.shape, *sizes), strict=True)))
        coarse = [np.array(bucket)[column] for bucket, column in zip(self.buckets, records.T, strict=True)]
        records = np.column_stack([records, *coarse])
        pairs = [(x, b) for i, x in enumerate(names) for j, b in enumerate(copies) if i != j]
        return np.array([_entropy(both, records, of) for of in (*zip(names), *zip(copies), *pairs)])

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` vectors of noisy entropies, or learned structures, `(size, m, m)`.

        A private number of records is released first in each vector.
        """
        noisy = super().release(dataset, size, rng) if self.epsilon_n is None else self._with_n(dataset, size, rng)
        return noisy if self.view == "entropies" else Outputs(self.learn(noisy.values)[0].astype(np.int8))

    def _with_n(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the noisy number of records and the noisy entropies, `(size, 1 + n_parts)`."""
        exact = self.answers(dataset)
        n = len(self.domain.records(dataset)) + draw_laplace(1.0 / self._epsilon_n, (size, 1), rng)
        return Outputs(np.hstack([n, exact + self._scales(n) * draw_laplace(1.0, (size, len(exact)), rng)]))

    @property
    def _epsilon_n(self) -> float:
        return self.epsilon_n or math.inf

    def _scales(self, noisy_n: Floats) -> Floats:
        """Return the scale of the noise on the entropies for each noisy number of records."""
        n = np.maximum(2.0, noisy_n + math.log(self.delta) / self._epsilon_n)
        return np.asarray((n * np.log2(n) - (n - 1.0) * np.log2(n - 1.0)) / n / self.epsilon_each)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`."""
        if self.epsilon_n is None:
            return super().log_density(outputs, dataset)
        n, scales = outputs.values[:, 0], self._scales(outputs.values[:, :1])
        noise = (outputs.values[:, 1:] - self.answers(dataset)) / scales
        log_n = laplace_log_density(n - len(self.domain.records(dataset)), 1.0 / self._epsilon_n)
        log_entropies = laplace_log_density(noise, 1.0).sum(axis=1) - self.n_parts * np.log(scales[:, 0])
        return np.asarray(log_n + log_entropies)

    def guarantee(self) -> Guarantee:
        """Return the advanced composition of all entropies, and with `epsilon_n` its sum with that of n at delta."""
        composed = super().guarantee()
        if self.epsilon_n is None:
            return composed
        return ApproximateDP(self.epsilon_n + composed.epsilon(0.5 * self.delta), self.delta, self.relation)

    def learn(self, noisy: Floats) -> tuple[Bools, Ints]:
        """Return parents `(size, m, m)` and orders `(size, m)` from noisy outputs of the view "entropies"."""
        entropies = noisy if self.epsilon_n is None else noisy[:, 1:]
        return learn_structure(entropies, self.domain.shape, self.max_parents, self.max_cells)

    def output_law(self) -> LogDensity | None:
        """Return the law of the entropies; None for structures, whose law is not known."""
        return self if self.view == "entropies" else None

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()` if the entropies are released and n is public; otherwise None."""
        return super().exact_guarantee() if self.view == "entropies" and self.epsilon_n is None else None

    def worst_case(self) -> Neighbours:
        """Return all records equal on side 0; on side 1 one of them, or one more, differs in all attributes."""
        d0 = np.zeros((self.n_records, len(self.domain.names)), dtype=np.int64)
        other = np.array(self.domain.shape) - 1
        if self.buckets is not None:
            other = np.array([np.not_equal(bucket, bucket[0]).argmax() for bucket in self.buckets])
        if self.epsilon_n is not None:
            return Neighbours(d0, np.vstack([d0, other]), self.relation)
        d1 = d0.copy()
        d1[-1] = other
        return Neighbours(d0, d1, self.relation)


def _entropy(domain: Domain, records: Ints, names: tuple[str, ...]) -> float:
    if not len(records):
        return 0.0
    _, counts = np.unique(domain.cells(records, names), return_counts=True)
    return float(math.log2(len(records)) - (counts * np.log2(counts)).sum() / len(records))


def _checked_buckets(buckets: Any, domain: Domain) -> tuple[tuple[int, ...], ...]:
    """Return the buckets of each attribute, in the order of `domain`."""
    advice = 'Write buckets={"age": [0, 0, 1, 1]} for 4 values in 2 buckets.'
    by_name = buckets if isinstance(buckets, Mapping) else dict(zip(domain.names, buckets, strict=False))
    if set(by_name) != set(domain.names):
        raise ParameterError(
            argument="buckets",
            value=sorted(by_name),
            allowed=f"have one entry for each of {domain.names}",
            advice=advice,
        )
    for name, n_values in domain.attributes:
        bucket = np.asarray(by_name[name])
        if bucket.shape != (n_values,) or bucket.dtype.kind not in "iu" or bucket.min() < 0 or np.ptp(bucket) == 0:
            raise ParameterError(
                argument=f"buckets[{name!r}]",
                value=by_name[name],
                allowed=f"be {n_values} whole numbers >= 0, at least two of them different",
                advice=advice,
            )
    return tuple(tuple(int(bucket) for bucket in by_name[name]) for name in domain.names)


def learn_structure(entropies: Floats, shape: tuple[int, ...], max_parents: int, max_cells: int) -> tuple[Bools, Ints]:
    """Return the parents of each attribute by correlation-based feature selection, for many runs at once.

    The order starts with the attribute with the largest sum of correlations to all others, and continues with the
    attribute with the largest correlation to one already in the order. The parents of an attribute come before it: they
    are added one by one, as long as the merit of the set grows,

        merit(P) = sum of corr(i, j) over j in P / sqrt(|P| + sum of corr(j, k) over j != k in P)     (Hall 1999)

    Args:
        entropies: `(size, m (m + 1) / 2)`, or `(size, m (m + 1))` with buckets, as `NoisyEntropies` lists them.
        shape: number of values of each attribute.
        max_parents, max_cells: limits for each attribute.

    Returns:
        `(size, m, m)`, True at [run, i, j] if j is a parent of i; and the order, `(size, m)`.
    """
    size, m = len(entropies), len(shape)
    corr = _correlations(entropies, m)
    runs, order = np.arange(size), np.empty((size, m), dtype=np.int64)
    placed, parents = np.zeros((size, m), dtype=bool), np.zeros((size, m, m), dtype=bool)
    order[:, 0] = corr.sum(axis=2).argmax(axis=1)
    placed[runs, order[:, 0]] = True
    for position in range(1, m):
        nearest = np.where(placed[:, np.newaxis, :], corr, -1.0).max(axis=2)
        order[:, position] = np.where(placed, -1.0, nearest).argmax(axis=1)
        parents[runs, order[:, position]] = _selected(corr, order[:, position], placed, shape, max_parents, max_cells)
        placed[runs, order[:, position]] = True
    return parents, order


def _correlations(entropies: Floats, m: int) -> Floats:
    """Return symmetrical uncertainties in [0, 1] of x_i and the copy of x_j, `(size, m, m)`, with a zero diagonal."""
    coarse = entropies.shape[1] == m * (m + 1) and m > 0
    single = np.maximum(entropies[:, :m], 0.0)
    copies = np.maximum(entropies[:, m : 2 * m], 0.0) if coarse else single
    first, second = (~np.eye(m, dtype=bool) if coarse else np.triu(np.ones((m, m), dtype=bool), 1)).nonzero()
    total = single[:, first] + copies[:, second]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(total > 0.0, 2.0 - 2.0 * entropies[:, -len(first) or m :] / total, 0.0)
    corr = np.zeros((len(entropies), m, m))
    corr[:, first, second] = np.clip(values, 0.0, 1.0)
    return corr if coarse else np.asarray(corr + corr.transpose(0, 2, 1))


def _selected(corr: Floats, child: Ints, allowed: Bools, shape: tuple[int, ...], max_parents: int, cells: int) -> Bools:
    """Return the parents of `child` `(size,)` among `allowed` `(size, m)`, the same shape."""
    runs, m = np.arange(len(child)), len(shape)
    log_size, child_corr = np.log(np.array(shape)), corr[np.arange(len(child)), child]
    chosen, best = np.zeros((len(child), m), dtype=bool), np.zeros(len(child))
    for _ in range(min(max_parents, m - 1)):
        n_chosen = chosen.sum(axis=1, keepdims=True)
        to_child = (child_corr * chosen).sum(axis=1, keepdims=True) + child_corr
        redundancy = np.einsum("rj,rjk,rk->r", chosen, corr, chosen)[:, np.newaxis]
        added = np.einsum("rjk,rk->rj", corr + corr.transpose(0, 2, 1), chosen)
        merit = to_child / np.sqrt(n_chosen + 1.0 + redundancy + added)
        fits = (chosen @ log_size)[:, np.newaxis] + log_size <= math.log(cells) + 1e-9
        merit = np.where(allowed & ~chosen & fits, merit, 0.0)
        new = merit.argmax(axis=1)
        grows = merit[runs, new] > best
        chosen[runs[grows], new[grows]] = True
        best = np.where(grows, merit[runs, new], best)
        if not grows.any():
            break
    return chosen
