"""Laws of the sparse vector technique, by quadrature over the noisy threshold."""

import numpy as np
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.claims import CUT, case
from tests.mechanisms.selection.sparse_vector import sparse_vector_laws

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.selection.sparse_vector import AboveThreshold, NumericalSparseVector
from dpassay.mechanisms.selection.sparse_vector.broken import (
    BudgetOfThreshold,
    NeverStops,
    NoiseWithoutCount,
    NoQueryNoise,
    ReleasesTestedValue,
    TwoBrokenSparseVectors,
)

QUADRATURE = 1e-5
"""What the grid of thresholds may hide, or add."""


def sparse_vector(make, law, n_queries=(3, 4), hidden=QUADRATURE):
    """The worst case, a random pair, and one under another relation and sensitivity."""
    rng = np.random.default_rng(2)
    for n in n_queries:
        mechanism = make(n_queries=n, threshold=0.5)
        moved = make(n_queries=n, sensitivity=2.0, relation="replace_one")
        d0 = rng.normal(size=n)
        pairs = [(mechanism, mechanism.worst_case(), True)]
        pairs += [(mechanism, Neighbours(d0, d0 + rng.choice([-1.0, 0.3, 1.0], size=n), "add_remove"), False)]
        pairs += [(moved, Neighbours(d0, d0 + rng.choice([-2.0, 2.0], size=n), "replace_one"), False)]
        for one, pair, worst in pairs:
            yield case(one, pair, law(one, pair.d0), law(one, pair.d1), hidden, worst=worst, beyond=not worst)


def history_law(rho, nu, stop_after=99, redraw=False):
    """The law of answers, from scales in units of sensitivity / epsilon."""

    def law(m, queries):
        unit = m.sensitivity / m.epsilon
        result = sparse_vector_laws.answers(queries, m.threshold, rho * unit, nu * unit, stop_after, redraw)
        return np.array(list(result.values()))

    return law


def above_threshold():
    yield from sparse_vector(lambda **kw: AboveThreshold(1.1, **kw), history_law(2, 4, 1))
    yield from sparse_vector(lambda **kw: AboveThreshold(2.0, stop_after=2, **kw), history_law(2, 8, 2))
    yield from sparse_vector(
        lambda **kw: AboveThreshold(2.0, stop_after=2, redraw=True, **kw), history_law(4, 8, 2, redraw=True)
    )


def value_law(of, *scales):
    def law(m, queries):
        return of(queries, m.threshold, *(scale * m.sensitivity / m.epsilon for scale in scales))

    return law


def numerical_sparse_vector():
    law = value_law(sparse_vector_laws.answers_and_fresh_value, 3, 6, 3)
    yield from sparse_vector(lambda **kw: NumericalSparseVector(1.5, **kw), law, hidden=1e-4)


def broken_sparse_vector_tested_value():
    law = value_law(sparse_vector_laws.answers_and_tested_value, 2, 2)
    yield from sparse_vector(lambda **kw: ReleasesTestedValue(0.9, **kw), law, hidden=1e-4)


def broken_sparse_vector_two():
    def law(m, queries):
        unit = m.sensitivity / m.epsilon
        tested = sparse_vector_laws.answers_and_tested_value(queries, m.threshold, 2 * unit, 2 * unit, n_cells=1000)
        answers = sparse_vector_laws.answers(queries, m.threshold, 4 * unit, 4 / 3 * unit, 1)
        return laws.joint(tested, list(answers.values()))

    yield from sparse_vector(lambda **kw: TwoBrokenSparseVectors(0.47, **kw), law, (4,), hidden=CUT)


CLAIMS = {
    "above-threshold": above_threshold,
    "numerical-sparse-vector": numerical_sparse_vector,
    "broken-sparse-vector-tested-value": broken_sparse_vector_tested_value,
    "broken-sparse-vector-noise-without-count": lambda: sparse_vector(
        lambda **kw: NoiseWithoutCount(0.9, **kw), history_law(4, 4 / 3, 1)
    ),
    "broken-sparse-vector-budget-of-threshold": lambda: sparse_vector(
        lambda **kw: BudgetOfThreshold(0.9, stop_after=2, **kw), history_law(1, 4 / 4 ** (2 / 3), 2)
    ),
    "broken-sparse-vector-no-stop": lambda: sparse_vector(lambda **kw: NeverStops(0.9, **kw), history_law(2, 2)),
    "broken-sparse-vector-no-query-noise": lambda: sparse_vector(
        lambda **kw: NoQueryNoise(0.9, **kw), history_law(2, 0)
    ),
    "broken-sparse-vector-two": broken_sparse_vector_two,
}
