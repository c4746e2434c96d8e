"""Every claim and exact curve of the catalogue, compared with independently derived output laws.

The cases are in the tables `CLAIMS` of the modules below this folder, next to the tests of each family: see `claims`.
On each pair the claim must hold, unless the mechanism is broken; on the worst case the exact curve must be that of the
laws. A new entry of the catalogue needs a case in any module of its family's tests, or a reason in EXCUSED.
"""

import math
from functools import cache
from importlib import import_module
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.claims import EPSILONS, RELATIONS, ROUNDING, as_case

from dpassay.mechanisms.accounting import (
    ApproximateDP,
    ConcentratedDP,
    ExactDP,
    GaussianDP,
    LaplaceDP,
    PrivacyLossDP,
    PureDP,
    RenyiDP,
    compose,
)
from dpassay.mechanisms.accounting.amplification.subsampling import subsample
from dpassay.mechanisms.accounting.composition.grouping import group
from dpassay.mechanisms.accounting.conversion.convert import to_approximate, to_privacy_loss, to_renyi
from dpassay.mechanisms.accounting.kinds.renyi import MomentsDP
from dpassay.mechanisms.catalogue import catalogue
from dpassay.mechanisms.noise.queries.base import Query
from dpassay.mechanisms.noise.queries.catalogue import catalogue as queries
from dpassay.mechanisms.selection import Exponential

# --- queries, whose sensitivities the mechanisms stand on -------------------------------------------------------------

VALUES = (-1.5, 0.0, 0.4, 2.0, 5.0)
"""Records; 0 is blank."""
QUERIES = {
    "count": ({}, {"above": 0.2}, {"below": 0.3}, {"equals": 0.0}),
    "histogram": ({"edges": (-2.0, 0.2, 3.0, 6.0)}, {"categories": (0.4, 2.0)}, {"categories": (5.0,)}),
    "sum": ({}, {"lower": -2.0, "upper": 3.0}, {"lower": 1.0, "upper": 4.0}, {"lower": -3.0, "upper": -1.0}),
    "mean": ({"n_records": 2}, {"lower": -2.0, "upper": 3.0, "n_records": 4}),
    "prefix-counts": ({"thresholds": (-1.0, 0.4, 3.0)}, {"thresholds": (9.0,)}),
    "median-utility": ({"candidates": (-1.0, 0.4, 3.0)}, {"candidates": (0.0, 2.0)}),
    "marginals": ({"domain": {"a": 3}, "marginals": 1}, {"domain": {"a": 3, "b": 1}, "marginals": (("a",), ("b",))}),
    "workload": ({"domain": {"a": 3}, "matrix": ((1.0, -2.0, 0.5), (0.0, 3.0, 3.0))},),
    **{f"{name}-workload": ({"domain": {"a": 3}},) for name in ("identity", "total", "prefixes", "ranges")},
    "marginals-workload": ({"domain": {"a": 3}, "sets": 1},),
    "parities-workload": ({"domain": {"a": 2}, "k": 1},),
    "random-workload": ({"domain": {"a": 3}, "n_queries": 3}, {"domain": {"a": 3}, "n_queries": 2, "seed": 1}),
}


def values_of(domain):
    """The records: of a domain, tuples of codes, the blank one first."""
    return list(np.ndindex(*domain.values())) if domain else VALUES


def neighbouring(relation, values=VALUES):
    """All pairs of up to 3 records, the one that differs in the last place."""
    for n in range(3):
        for others in combinations_with_replacement(values, n):
            for record, other in product(values, repeat=2):
                instead = {"add_remove": [], "zero_out": [0.0 * np.array(record)], "replace_one": [other]}[
                    relation.value
                ]
                yield np.array([*others, *instead]), np.array([*others, record])


@pytest.mark.parametrize("name", list(queries))
@pytest.mark.parametrize("relation", RELATIONS)
def test_answers_of_neighbours_lie_no_further_apart_than_the_sensitivity(name, relation):
    for options in QUERIES[name]:
        query = queries.build(name, **options)
        assert isinstance(query, Query)
        pairs = neighbouring(relation, values_of(options.get("domain")))
        moves = np.array([np.atleast_1d(query(d1)) - np.atleast_1d(query(d0)) for d0, d1 in pairs])
        for norm in (1.0, 2.0, math.inf):
            stated = query.sensitivity(relation, norm=norm)
            assert np.linalg.norm(moves, ord=norm, axis=1).max() <= stated * (1 + 1e-12), (query, norm)
        ranges = moves.max(axis=1) - moves.min(axis=1)
        assert ranges.max() <= query.range_sensitivity(relation) * (1 + 1e-12)
        if query.monotone(relation):
            assert not np.any((moves.min(axis=1) < 0) & (moves.max(axis=1) > 0))


# --- guarantees that are made from others -----------------------------------------------------------------------------


def random_pairs(n_pairs=6):
    rng = np.random.default_rng(4)
    for _ in range(n_pairs):
        k = int(rng.integers(2, 5))
        yield rng.dirichlet(np.full(k, 4.0)), rng.dirichlet(np.full(k, 4.0))


def accountings(p0, p1):
    """Guarantees of a pair of laws, with the accountings that compose them."""
    curve = ExactDP(p0, p1)
    epsilon = curve.epsilon(0.0)
    yield PureDP(epsilon), ("basic", "advanced", "optimal", "renyi", "privacy-loss")
    yield ApproximateDP(0.7 * epsilon, curve.delta(0.7 * epsilon)), ("basic", "advanced", "optimal", "privacy-loss")
    yield curve, ("basic", "renyi", "privacy-loss")
    yield to_renyi(curve), ("basic", "renyi")


def test_compositions_hold_for_the_joint_law():
    for p0, p1 in random_pairs():
        for times in (2, 3):
            joint = laws.shown(laws.joint(*[p0] * times), laws.joint(*[p1] * times), EPSILONS)
            mixed = laws.shown(laws.joint(p0, p1), laws.joint(p1, p0), EPSILONS)
            for part, known in accountings(p0, p1):
                for accounting in known:
                    claimed = compose([part] * times, accounting=accounting).delta(EPSILONS)
                    assert np.all(joint <= claimed + ROUNDING), (part, accounting, times)
                    assert np.all(mixed <= claimed + ROUNDING), (part, accounting, "the other way round")


def test_amplification_by_sampling_holds_for_the_sampled_law():
    """The record is in the sample with probability q."""
    for q in (0.05, 0.4, 1.0):
        for p0, p1 in random_pairs():
            curve = ExactDP(p0, p1)
            seen = laws.shown(p0, (1 - q) * p0 + q * p1, EPSILONS)
            for part in (PureDP(curve.epsilon(0.0)), ApproximateDP(0.3, curve.delta(0.3))):
                amplified = subsample(part, q, sampling="poisson")
                assert np.all(seen <= amplified.delta(EPSILONS) + ROUNDING), (q, part)
        p0, p1 = laws.normal(0.0, 1.0), laws.normal(0.6, 1.0)
        seen = laws.shown(p0, (1 - q) * p0 + q * p1, EPSILONS)
        exact = PrivacyLossDP.gaussian(1 / 0.6, sampling_probability=q).delta(EPSILONS)
        np.testing.assert_allclose(exact, seen, atol=1e-4)
        for claim in (RenyiDP, MomentsDP):
            result = claim.gaussian(1 / 0.6, sampling_probability=q).delta(EPSILONS)
            assert np.all(seen <= result + ROUNDING), (q, claim)


def test_group_privacy_holds_for_records_that_push_the_same_way():
    for size in (2, 3):
        for part, law in (
            (GaussianDP(0.4), lambda shift: laws.normal(0.4 * shift, 1.0)),
            (LaplaceDP(0.4), lambda shift: laws.laplace(0.4 * shift, 1.0)),
            (PureDP(0.4), lambda shift: laws.laplace(0.4 * shift, 1.0)),
            (ApproximateDP(0.2, GaussianDP(0.4).delta(0.2)), lambda shift: laws.normal(0.4 * shift, 1.0)),
            (ConcentratedDP(0.08), lambda shift: laws.normal(0.4 * shift, 1.0)),
        ):
            seen = laws.shown(law(0), law(size), EPSILONS)
            assert np.all(seen <= group(part, size).delta(EPSILONS) + ROUNDING), (part, size)


def test_conversions_never_promise_more_than_the_law_keeps():
    parts = [(ExactDP(p0, p1), laws.shown(p0, p1, EPSILONS)) for p0, p1 in random_pairs()]
    parts += [(GaussianDP(mu), laws.gaussian_shown(mu, EPSILONS)) for mu in (0.3, 2.0)]
    parts += [(LaplaceDP(e), laws.shown(laws.laplace(0.0, 1.0), laws.laplace(e, 1.0), EPSILONS)) for e in (0.3, 2.0)]
    for part, seen in parts:
        for made in (to_renyi(part), to_privacy_loss(part), to_approximate(part, delta=0.01)):
            assert np.all(seen <= made.delta(EPSILONS) + ROUNDING), (part, made)
    for epsilon, k in product((0.5, 3.0), (2, 4)):
        mechanism = Exponential(epsilon, k)
        pair = mechanism.worst_case()
        p0, p1 = (softmax(0.5 * epsilon * np.asarray(pair.side(side))) for side in (0, 1))
        assert np.all(laws.shown(p0, p1, EPSILONS) <= mechanism.bounded_range().delta(EPSILONS) + ROUNDING)


# --- the walk ---------------------------------------------------------------------------------------------------------

NO_SINGLE_WORST_CASE = {
    "exponential",  # it is one of a sequence that approaches the claim
    "shuffled",  # what the other users hold makes one dataset worse at some epsilons, another at others
}
HERE = Path(__file__).parent
EVERY = {
    name: make
    for path in sorted(HERE.rglob("*.py"))
    if "\nCLAIMS = {" in path.read_text()
    for name, make in import_module(".".join(path.relative_to(HERE.parents[1]).with_suffix("").parts)).CLAIMS.items()
}
EXCUSED: dict[str, str] = {
    "broken-zero-sensitivity": "it adds no noise: test_counters shows that nothing is hidden",
    "swapped-tables": "it claims nothing",
    "unlearning": "it claims nothing",
}
"""Name -> why its laws cannot be worked out again here."""
CLAIMS_HOLD = {
    *(name for name in EVERY if not name.startswith("broken-")),
    "broken-dp-sgd-noise-on-average",
    "broken-dp-sgd-noise-of-sum-on-mean",
    "broken-dp-sgd-micro-steps",
}
"""The others claim less than their laws show, for some pair."""


def test_every_mechanism_of_the_catalogue_is_worked_out_again_or_excused():
    assert set(EVERY) | set(EXCUSED) == set(catalogue)
    assert not set(EVERY) & set(EXCUSED)


@cache
def stated(mechanism, _identity):
    """What the claim and the truth allow at EPSILONS; None where there is no truth."""
    truth = mechanism.exact_guarantee()
    return mechanism.guarantee().delta(EPSILONS), None if truth is None else truth.delta(EPSILONS)


@pytest.mark.parametrize("name", EVERY)
def test_claims_and_exact_guarantees_are_what_the_laws_show(name):
    false_claims = worst_cases = 0
    for one in map(as_case, EVERY[name]()):
        mechanism = one.mechanism
        assert type(mechanism) is catalogue.get(name)
        mechanism.bind(one.pair)
        claim, truth = stated(mechanism, id(mechanism))
        excess = one.delta - claim
        false_claims += bool((excess > ROUNDING).any())
        worst_cases += one.worst
        if name in CLAIMS_HOLD:
            assert excess.max() <= ROUNDING, (mechanism, one.pair, one.delta, claim)
        if truth is None:
            continue
        if one.worst:
            np.testing.assert_allclose(one.delta, truth, atol=one.hidden, err_msg=str(mechanism))
        elif not one.beyond and name not in NO_SINGLE_WORST_CASE:
            assert np.all(one.delta <= truth + ROUNDING), (mechanism, one.pair, one.delta, truth)
    assert worst_cases > 0
    assert (false_claims > 0) == (name not in CLAIMS_HOLD)
