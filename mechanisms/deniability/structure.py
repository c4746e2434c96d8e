"""Private structure learning: which attributes are the parents of which, from noisy entropies."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import Dataset, LogDensity, Neighbours, Outputs
from ..errors import ParameterError, plural
from ..guarantees.base import Guarantee
from ..queries.base import Floats
from ..queries.domain import Domain
from ..relation import Relation
from ..validation import one_of, open_unit, positive, whole
from .parts import LaplaceParts


def entropy_sensitivity(n_records: int) -> float:
    """Largest change of an entropy in bits when one of n records is replaced: log2 n - (1 - 1/n) log2 (n - 1).

    With f(c) = c log2 c, the entropy is log2 n - (1/n) sum of f(counts), and a replacement takes f(a) - f(a - 1) from
    the sum and adds f(b + 1) - f(b). These steps grow with the count, from 0 for the first record of a cell: the
    difference is largest where all records share a cell, and one leaves it for an empty one. It is below
    (log2 n + 1 / ln 2) / n.

    Example:
        >>> round(entropy_sensitivity(100), 7), round((math.log2(100) + 1 / math.log(2)) / 100, 7)
        (0.0807931, 0.0808655)
    """
    whole(1, n_records=n_records)
    n = n_records
    return 0.0 if n == 1 else (n * math.log2(n) - (n - 1) * math.log2(n - 1)) / n


@dataclass(frozen=True)
class NoisyEntropies(LaplaceParts):
    """Entropies of all attributes and of all pairs of them, with Laplace noise; and the structure that they suggest.

    There are m (m + 1) / 2 entropies of m attributes, each with noise of scale `entropy_sensitivity` / epsilon_each.
    From them the correlations 2 - 2 H(i, j) / (H(i) + H(j)) follow, and from these, by correlation-based feature
    selection, an order of the attributes and the parents of each (`learn_structure`): post-processing.

    (Bindschaedler, Shokri and Gunter 2017, section 3. There each attribute has a coarse copy, and m (m + 1) entropies
    are measured; here the attributes are as coarse as the domain has them. There the number of records is private and
    measured as well; here it is public, as it is under replace_one.)

    Args:
        domain: the attributes; a dict will do.
        n_records: n, a public number, >= 2.
        epsilon_each: of one entropy, > 0.
        delta: at which the claim is quoted, strictly between 0 and 1; far below 1 / n.
        view: "entropies", an output being all of them: those of the attributes, then those of the pairs in the order of
            `itertools.combinations`; or "structure": the matrix `(m, m)` that is 1 at [i, j] where j is a parent of i.
        max_parents, max_cells: of an attribute; cells are combinations of values of its parents.

    Guarantees:
        * (epsilon, delta)-DP under replace_one by advanced composition, for each delta. All entropies move by the
          sensitivity together on `worst_case()`.

    Example:
        >>> mechanism = NoisyEntropies(n_records=100, epsilon_each=0.1)
        >>> mechanism.n_parts, round(mechanism.scale, 6), round(mechanism.guarantee().epsilon(0.0), 6)
        (6, 0.807931, 0.6)
    """

    domain: Any = field(default_factory=lambda: Domain((("x1", 2), ("x2", 2), ("x3", 2))))
    n_records: int = 100
    _: KW_ONLY
    epsilon_each: float = 0.1
    delta: float = 1e-6
    view: str = "entropies"
    max_parents: int = 3
    max_cells: int = 1000
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", Domain.of(self.domain))
        whole(2, n_records=self.n_records)
        positive(epsilon_each=self.epsilon_each)
        open_unit(delta=self.delta)
        one_of(("entropies", "structure"), view=self.view)
        whole(0, max_parents=self.max_parents)
        whole(1, max_cells=self.max_cells)

    @property
    def n_parts(self) -> int:
        """m (m + 1) / 2."""
        m = len(self.domain.names)
        return m * (m + 1) // 2

    @property
    def scale(self) -> float:
        """`entropy_sensitivity(n_records)` / epsilon_each."""
        return entropy_sensitivity(self.n_records) / self.epsilon_each

    @property
    def moved(self) -> tuple[int, float]:
        """All of them, by the sensitivity."""
        return self.n_parts, self.epsilon_each

    def statistics(self, dataset: Dataset) -> Floats:
        """Entropies in bits of the attributes and of the pairs, shape `(n_parts,)`."""
        records = self.domain.records(dataset)
        if len(records) != self.n_records:
            raise ParameterError(
                f"the dataset has {plural(len(records), 'record')}, but n_records is {self.n_records:,}, a public "
                "number.",
                argument="n_records",
            )
        names = self.domain.names
        sets = [(name,) for name in names] + list(combinations(names, 2))
        return np.array([self._entropy(records, of) for of in sets])

    def _entropy(self, records: NDArray[np.int64], names: tuple[str, ...]) -> float:
        _, counts = np.unique(self.domain.cells(records, names), return_counts=True)
        return float(math.log2(len(records)) - (counts * np.log2(counts)).sum() / len(records))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` vectors of noisy entropies, `(size, n_parts)`, or learned structures, `(size, m, m)`."""
        noisy = super().release(dataset, size, rng)
        return noisy if self.view == "entropies" else Outputs(self.learn(noisy.values)[0].astype(np.int8))

    def learn(self, noisy: Floats) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Parents `(size, m, m)` and orders `(size, m)` from noisy entropies `(size, n_parts)`."""
        return learn_structure(noisy, self.domain.shape, self.max_parents, self.max_cells)

    def output_law(self) -> LogDensity | None:
        """Its own for entropies; not known for structures."""
        return self if self.view == "entropies" else None

    def exact_guarantee(self) -> Guarantee | None:
        """Of `worst_case()`, where the entropies are seen."""
        return super().exact_guarantee() if self.view == "entropies" else None

    def worst_case(self) -> Neighbours:
        """All records are the same on side 0; on side 1 one of them differs in all attributes."""
        d0 = np.zeros((self.n_records, len(self.domain.names)), dtype=np.int64)
        d1 = d0.copy()
        d1[-1] = np.array(self.domain.shape) - 1
        return Neighbours(d0, d1, self.relation)


def learn_structure(
    entropies: Floats, shape: tuple[int, ...], max_parents: int, max_cells: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Parents of each attribute by correlation-based feature selection, for many runs at once.

    The order starts with the attribute that is correlated with all others most, and goes on with the one that is
    correlated most with one that has its place. The parents of an attribute come before it: one after another is taken
    in, as long as the merit of the set grows,

        merit(P) = sum of corr(i, j) over j in P / sqrt(|P| + sum of corr(j, k) over j != k in P)     (Hall 1999)

    Args:
        entropies: `(size, m (m + 1) / 2)`, as `NoisyEntropies` lists them.
        shape: number of values of each attribute.
        max_parents, max_cells: of an attribute.

    Returns:
        `(size, m, m)`, True at [run, i, j] where j is a parent of i; and the order, `(size, m)`.
    """
    size, m = len(entropies), len(shape)
    corr = _correlations(entropies, m)
    runs, order = np.arange(size), np.empty((size, m), dtype=np.int64)
    placed, parents = np.zeros((size, m), dtype=bool), np.zeros((size, m, m), dtype=bool)
    order[:, 0] = corr.sum(axis=2).argmax(axis=1)
    placed[runs, order[:, 0]] = True
    for at in range(1, m):
        nearest = np.where(placed[:, np.newaxis, :], corr, -1.0).max(axis=2)
        order[:, at] = np.where(placed, -1.0, nearest).argmax(axis=1)
        parents[runs, order[:, at]] = _selected(corr, order[:, at], placed, shape, max_parents, max_cells)
        placed[runs, order[:, at]] = True
    return parents, order


def _correlations(entropies: Floats, m: int) -> Floats:
    """Symmetrical uncertainties in [0, 1], `(size, m, m)`, with zeros on the diagonal."""
    single = np.maximum(entropies[:, :m], 0.0)
    first, second = np.array(list(combinations(range(m), 2)), dtype=np.int64).reshape(-1, 2).T
    total = single[:, first] + single[:, second]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(total > 0.0, 2.0 - 2.0 * entropies[:, m:] / total, 0.0)
    corr = np.zeros((len(entropies), m, m))
    corr[:, first, second] = corr[:, second, first] = np.clip(values, 0.0, 1.0)
    return corr


def _selected(
    corr: Floats, child: NDArray[np.int64], allowed: NDArray[np.bool_], shape: tuple[int, ...], most: int, cells: int
) -> NDArray[np.bool_]:
    """Parents of `child` `(size,)` among `allowed` `(size, m)`, the same shape."""
    runs, m = np.arange(len(child)), len(shape)
    log_size, own = np.log(np.array(shape)), corr[np.arange(len(child)), child]
    chosen, best = np.zeros((len(child), m), dtype=bool), np.zeros(len(child))
    for _ in range(min(most, m - 1)):
        n_chosen = chosen.sum(axis=1, keepdims=True)
        to_child = (own * chosen).sum(axis=1, keepdims=True) + own
        among = np.einsum("rj,rjk,rk->r", chosen, corr, chosen)[:, np.newaxis]
        added = 2.0 * np.einsum("rjk,rk->rj", corr, chosen)
        merit = to_child / np.sqrt(n_chosen + 1.0 + among + added)
        fits = (chosen @ log_size)[:, np.newaxis] + log_size <= math.log(cells) + 1e-9
        merit = np.where(allowed & ~chosen & fits, merit, 0.0)
        new = merit.argmax(axis=1)
        grows = merit[runs, new] > best
        chosen[runs[grows], new[grows]] = True
        best = np.where(grows, merit[runs, new], best)
        if not grows.any():
            break
    return chosen
