from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from dpassay.mechanisms.literature.synthetic_data import LocalConsistency, NoisyMarginal
from dpassay.mechanisms.literature.synthetic_data.generators.local_consistency import (
    _onto_simplex,
    _project_onto_polytope,
    overlaps,
)
from dpassay.mechanisms.noise.queries.domain import Domain

SHAPE = (2, 3, 2)
REGIONS = [(0, 1), (1, 2), (0, 2), (2,)]


def noisy(regions=REGIONS, shape=SHAPE, size=3, deviation=0.2, seed=0):
    """Shares of one distribution a run, with noise."""
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.ones(int(np.prod(shape))), size=size).reshape(size, *shape)
    exact = [law.sum(axis=tuple(1 + a for a in range(len(shape)) if a not in region)) for region in regions]
    return exact, [table + deviation * rng.normal(size=table.shape) for table in exact]


def disagreement(tables, regions=REGIONS, shape=SHAPE):
    worst = 0.0
    for overlap in overlaps(regions, shape):
        kept = [np.squeeze(t, axis=a) for t, a in zip(overlap.tables(tables), overlap.summed, strict=True)]
        worst = max(worst, *(float(np.abs(table - kept[0]).max()) for table in kept))
    return worst


def precisions_of(size=3, seed=5):
    return list(np.random.default_rng(seed).uniform(0.2, 3.0, (len(REGIONS), size)))


def test_overlaps_are_the_sets_in_which_regions_meet():
    result = {(o.regions, o.cells) for o in overlaps([(0, 1), (1, 2), (0, 1, 3), (4,)], (2, 3, 5, 7, 2))}
    assert result == {((0, 2), (1, 7)), ((0, 1, 2), (2, 5, 14))}


def test_nearest_point_of_the_simplex_is_that_of_a_quadratic_program():
    given = np.random.default_rng(0).normal(size=(6, 2, 3))
    result = _onto_simplex(given)
    for one, point in zip(given.reshape(6, -1), result.reshape(6, -1), strict=True):
        best = minimize(
            lambda p, one=one: ((p - one) ** 2).sum(), np.full(6, 1 / 6), bounds=[(0, 1)] * 6, tol=1e-12,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1.0},
        )  # fmt: skip
        np.testing.assert_allclose(point, best.x, atol=1e-5)
    assert (result >= 0.0).all()


def test_agreement_moves_tables_to_the_nearest_ones_that_agree():
    """What moved is orthogonal to every move that keeps the agreement, in the weighted product."""
    _, tables = noisy()
    precisions = precisions_of()
    (overlap,) = [o for o in overlaps(REGIONS, SHAPE) if len(o.regions) == 3]
    moved = [table.copy() for table in tables]
    overlap.make_agree(moved, precisions)
    kept = [np.squeeze(t, axis=a) for t, a in zip(overlap.tables(moved), overlap.summed, strict=True)]
    np.testing.assert_allclose(kept[0], kept[1])
    np.testing.assert_allclose(kept[0], kept[2])
    rng = np.random.default_rng(1)
    along = [rng.normal(size=table.shape) for table in tables]
    overlap.make_agree(along, precisions)
    product = sum(
        p * ((m - t) * a).reshape(len(p), -1).sum(axis=1)
        for p, m, t, a in zip(precisions, moved, tables, along, strict=True)
    )
    np.testing.assert_allclose(product, 0.0, atol=1e-12)


def agreements():
    """The local polytope of `REGIONS` as linear equations of all cells, the tables one after another."""
    sizes = [int(np.prod([SHAPE[a] for a in region])) for region in REGIONS]
    rows = []
    for i, j in combinations(range(len(REGIONS)), 2):
        shared = sorted(set(REGIONS[i]) & set(REGIONS[j]))
        for values in np.ndindex(*(SHAPE[a] for a in shared)):
            row = [np.zeros([SHAPE[a] for a in region]) for region in REGIONS]
            for k, sign in ((i, 1.0), (j, -1.0)):
                at = dict(zip(shared, values, strict=True))
                row[k][tuple(at.get(a, slice(None)) for a in REGIONS[k])] = sign
            rows.append(np.concatenate([part.ravel() for part in row]))
    sums = np.repeat(np.eye(len(REGIONS)), sizes, axis=1)
    return np.vstack([rows, sums]), np.concatenate([np.zeros(len(rows)), np.ones(len(REGIONS))])


def gain(found, tables, precisions, run):
    """How much further than `found` any point of the polytope lies in the direction of the answers; 0 at the nearest
    point and nowhere else. A linear program says."""
    pull = np.concatenate(
        [(p[run] * (t[run] - f[run])).ravel() for p, t, f in zip(precisions, tables, found, strict=True)]
    )
    matrix, right = agreements()
    best = linprog(-pull, A_eq=matrix, b_eq=right, bounds=(0, 1))
    return -best.fun - pull @ np.concatenate([table[run].ravel() for table in found])


def test_exact_projection_is_the_optimum_over_the_local_polytope():
    _, tables = noisy()
    precisions = precisions_of()
    near, nearest = (
        _project_onto_polytope(tables, precisions, overlaps(REGIONS, SHAPE), sweeps=400, exact=exact)
        for exact in (False, True)
    )
    assert disagreement(nearest) < 1e-9
    assert [gain(nearest, tables, precisions, run) for run in range(3)] == pytest.approx([0.0] * 3, abs=1e-7)
    assert max(gain(near, tables, precisions, run) for run in range(3)) > 1e-3  # the turns without memory


def test_turns_without_memory_end_in_the_polytope_too():
    _, tables = noisy()
    near = _project_onto_polytope(tables, precisions_of(), overlaps(REGIONS, SHAPE), sweeps=400, exact=False)
    assert disagreement(near) < 1e-9
    assert min(table.min() for table in near) >= 0.0


def test_what_agrees_already_stays():
    exact, _ = noisy()
    results = _project_onto_polytope(exact, precisions_of(), overlaps(REGIONS, SHAPE), sweeps=3, exact=True)
    for one, other in zip(results, exact, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_what_is_given_is_not_changed():
    _, tables = noisy()
    before = [table.copy() for table in tables]
    _project_onto_polytope(tables, precisions_of(), overlaps(REGIONS, SHAPE), sweeps=2, exact=True)
    for one, other in zip(tables, before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_distribution_of_the_same_total_is_nearer_to_the_answers():
    """The total 80 is given, the answers add up to 100: scaled to 100 the same shares are nearer."""
    rng, names = np.random.default_rng(7), ("ab", "bc", "ac")
    answers = [100.0 * table.reshape(1, -1) for table in noisy([(0, 1), (1, 2), (0, 2)], size=1, deviation=0.02)[1]]
    domain = Domain({"a": 2, "b": 3, "c": 2})
    measured = [NoisyMarginal(name, answer, 1.0) for name, answer in zip(names, answers, strict=True)]
    fitted = LocalConsistency(sweeps=2_000)._fit(domain, measured, np.array([80.0]), rng)
    loss = lambda counts: sum(((c - a) ** 2).sum() for c, a in zip(counts, answers, strict=True))  # noqa: E731
    found = [fitted.marginal(name) for name in names]
    assert loss([1.25 * counts for counts in found]) < loss(found)
    for law in rng.dirichlet(np.ones(12), 2_000).reshape(-1, 2, 3, 2):
        near = (
            0.9 * np.einsum("ab,c->abc", found[0].reshape(2, 3) / 80.0, found[1].reshape(3, 2).sum(0) / 80.0)
            + 0.1 * law
        )
        assert loss([80.0 * near.sum(axis).reshape(1, -1) for axis in (2, 0, 1)]) >= loss(found) - 1e-6
