"""A search in a declared domain finds what no one pointed it at, and says no more than it may."""

import math

import numpy as np
import pytest
from tests.audit.coverage import Coverage

from dpassay.audit import Verdict, audit
from dpassay.audit.bounds.pair.joint import JointExact
from dpassay.audit.search import SearchResult, search
from dpassay.mechanisms import KAryRandomizedResponse, Laplace, Neighbours, PureDP
from dpassay.mechanisms.catalogue import catalogue
from dpassay.mechanisms.core import FingerprintError, NeighboursError, ParameterError, RelationError
from dpassay.mechanisms.noise.broken import LaplaceInverseScale

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

CHEAP = {"attacks": "threshold", "explore": 200, "trials": 2_000, "seed": 1, "claim": PureDP(1.0)}

# --- broken mechanisms -----------------------------------------------------------------------------------------------

TOTALS = {"epsilon": 0.5, "geography": [1, 1], "domain": {"sex": 2}, "structural_zeros": []} | {
    "queries": [{"level": "county", "attributes": ["sex"]}],
    "invariants": [{"level": "state"}],
}
BROKEN = {
    "broken-laplace-scale": ({"epsilon": 0.5}, "answers"),
    "broken-laplace-sensitivity": ({"epsilon": 1.0, "n_queries": 5}, "answers x 5; sensitivity 2; norm 1"),
    "broken-duchi-range-assumed": ({"epsilon": 1.0}, "numbers -1.5..1.5; one value"),
    "broken-duchi-vector-ties": ({"epsilon": 1.0}, "numbers -1..1 x 2; 1 records"),
    "broken-randomized-response": ({"heads": 0.6}, "integers 0..1; one value"),
    "broken-bounds-from-data": ({}, "numbers 0..100"),
    "broken-clipped-copy-unused": ({}, "numbers -100..100"),
    "broken-divisor-of-data": ({}, "numbers 0..1"),
    "broken-domain-from-data": ({}, "integers 0..2"),
    "broken-local-sensitivity": ({}, "numbers 0..1; 3 records"),
    "broken-mean-with-exact-counts": ({}, "numbers 0..1"),
    "broken-nan-survives-clipping": ({}, "numbers -5..5; nan"),
    "broken-regression-upper-bound-ignored": ({}, "numbers -1..100"),
    "broken-entropies-pairs": ({"n_records": 5}, "integers 0..1 x 3; 5 records"),
    "broken-family-counts-roots": ({}, "integers 0..1 x 3"),
    "broken-sum-wrapped": ({}, "integers -2147483648..2147483647"),
    "broken-wishart-noise": ({}, "numbers -1..1 x 1"),
    "broken-fixed-sample": ({}, "numbers 0..1; 10 records"),
    "broken-parallel": ({}, "integers 0..1 x 2"),
    "broken-float-laplace": ({"epsilon": 1.0, "bits": 12}, "answers"),
    "broken-loop-count-released": ({"epsilon": 1.0}, "answers"),
    "broken-rounded-sum": ({"epsilon": 1.0, "dtype": "float16"}, "answers"),
    "broken-sparse-vector-no-query-noise": ({"epsilon": 1.0, "n_queries": 6}, "answers x 6"),
    "broken-zero-sensitivity": ({"mu": 1.0}, "answers x 2; norm 2"),
    "broken-subset-counts-not-composed": ({"epsilon": 0.5, "n_records": 8, "n_queries": 9}, "integers 0..1; 8 records"),
    "broken-laplace-matrix": ({"epsilon": 0.5}, "integers 0..7 x 1"),
    "broken-top-down-invariants": (TOTALS, "integers 0..1 x 2"),
    "broken-votes-same-part": ({"rate": 0.4}, "integers 0..1"),
    "broken-votes-scale": ({"rate": 0.4}, "integers 0..1"),
}
"""Every broken mechanism that takes plain data, and what it takes; none is told its pair."""
LONGER = {
    "broken-best-of-k": ({"epsilon": 0.5, "n_candidates": 3, "k": 20}, "answers x 3"),
    "broken-float-gaussian": ({"noise_multiplier": 1.0, "bits": 12}, "answers x 2; norm 2"),
    "broken-gaussian-matrix": ({"epsilon": 1.0, "delta": 1e-5}, "integers 0..7 x 1"),
    "broken-deniability-deterministic-test": ({"k": 4}, "integers 0..1 x 4; 4..9 records"),
    "broken-noisy-max-value-exponential": ({"epsilon": 0.5, "n_candidates": 5}, "answers x 5"),
    "broken-noisy-max-value-laplace": ({"epsilon": 1.0, "n_candidates": 20}, "answers x 20"),
    "broken-sparse-vector-no-stop": ({"epsilon": 1.0, "n_queries": 6}, "answers x 6"),
    "broken-sparse-vector-budget-of-threshold": ({"epsilon": 1.0, "n_queries": 6, "stop_after": 3}, "answers x 6"),
    "broken-sparse-vector-noise-without-count": ({"epsilon": 1.0, "n_queries": 6, "stop_after": 3}, "answers x 6"),
    "broken-votes-teachers-kept": ({"rate": 0.4}, "integers 0..1"),
}
"""Those whose search takes seconds."""
MISSED = {
    "broken-resampled": "a table of records",
    "broken-deniability-no-test": "a record alone of its kind among many that are equal",
    "broken-deniability-no-release-seen": "a record alone of its kind among many that are equal",
    "broken-ngram-contribution": "texts",
    "broken-histogram-at-threshold": "an event of probability near 1/20, on lists of one length",
    "broken-score-sensitivity-halved": "a table of two rows",
    "broken-sparse-vector-tested-value": "needs more trials than these",
    "broken-classic-gaussian": "needs more trials than these",
    "broken-sparse-vector-two": "needs more trials than these",
    "broken-mwem-unpaid-selection": "a workload and its records",
    "broken-online-weights-exact-errors": "a workload and its records",
    "broken-dual-query-samples-counted-once": "marginals and their records",
    "broken-sum-single-precision": "thousands of records of one size",
    "broken-votes-abstention-not-accounted": "a table of votes",
    "broken-federated-realised-clients": "lists of clients",
    "broken-federated-per-record-clipping": "lists of clients",
    "broken-federated-noise-of-mean": "lists of clients",
    "broken-federated-sensitivity-not-of-clip": "lists of clients",
    "broken-private-encoder": "records with a label",
    "broken-unlearning-one-record": "records with a label, several of which are forgotten",
    "broken-votes-epsilon-of-votes": "a table of votes",
    "broken-votes-check-without-noise": "a table of votes",
}
"""Not detected in these budgets, or not plain data."""
BUDGET = 60_000
"""Runs per side of all looks together."""


def test_no_broken_mechanism_on_plain_data_is_left_out():
    names = {name for name in catalogue if name.startswith("broken-") and not name.startswith("broken-dp-sgd-")}
    assert names == set(BROKEN) | set(LONGER) | set(MISSED)


@pytest.mark.parametrize("name", [*BROKEN, *(pytest.param(name, marks=pytest.mark.slow) for name in LONGER)])
def test_a_search_detects_each_broken_mechanism_within_the_budget(name):
    options, domain = (BROKEN | LONGER)[name]
    mechanism, delta = catalogue.build(name, **options), None if domain != "answers x 2; norm 2" else 1e-5
    scale = 2 if name in LONGER else 1  # their true epsilon is closer to the claim
    limits = {"budget": scale * BUDGET, "explore": 1_000, "trials": scale * 20_000, "confidence": 1 - 1e-6}
    result = search(mechanism, domain=domain, delta=delta, seed=1, **limits)
    assert result.verdict is Verdict.VIOLATION
    assert sum(look.trials for look in result.looks) <= scale * BUDGET


# --- planted faults --------------------------------------------------------------------------------------------------


def clipped_sum_that_lets_nan_through(dataset, size, rng):
    total = np.sum(np.minimum(np.maximum(dataset, 0.0), 1.0))
    return total + rng.laplace(size=size)


def number_of_repeats(dataset, size, rng):
    """A count of pairs of equal records, with the noise of a count of records."""
    _, counts = np.unique(dataset, return_counts=True)
    return float(np.sum(counts * (counts - 1) / 2)) + rng.laplace(size=size)


def raises_on_many(dataset, size, rng):
    """Refuses long lists, which tells that one record was the last that fitted."""
    if len(dataset) > 4:
        return [None] * size
    return len(dataset) + rng.laplace(size=size)


@pytest.mark.parametrize(
    ("function", "domain", "relation", "seen"),
    [
        (clipped_sum_that_lets_nan_through, "numbers 0..1; nan", None, "nan"),
        (number_of_repeats, "integers 0..20", None, ""),
        (raises_on_many, "numbers 0..1", None, "None"),
        pytest.param(number_of_repeats, "integers 0..20", "replace_one", "", marks=pytest.mark.slow),
    ],
)
def test_a_search_detects_planted_bugs(function, domain, relation, seen):
    result = search(function, domain=domain, relation=relation, **CHEAP)
    assert result.verdict is Verdict.VIOLATION
    assert result.relations.get("add_remove", True)
    assert relation in (None, result.confirmed.relation)
    assert not seen or any(seen in name for name in result.confirmed.events)


def test_a_histogram_without_empty_bins_violates_by_its_keys():
    def histogram(dataset, rng):
        return {key: dataset.count(key) + rng.laplace() for key in set(dataset)}

    result = search(histogram, domain="categories a,b,c", **CHEAP | {"attacks": "auto"})
    assert result.verdict is Verdict.VIOLATION
    assert (result.d0, result.d1) == ("[]", '["a"]')


def test_a_private_function_is_consistent_on_its_whole_domain():
    def clipped_sum(dataset, size, rng):
        return float(np.sum(dataset)) + rng.laplace(scale=2.0, size=size)

    result = search(clipped_sum, domain="integers 0..1 x 2; 3 records", budget=4_800, **CHEAP | {"explore": 200})
    assert result.verdict is Verdict.CONSISTENT
    assert len(result.looks) > 10


def test_steps_from_the_best_pair_reach_a_leak_between_the_patterns():
    def leaks_near_a_third(dataset, size, rng):
        closeness = math.exp(-(((float(dataset) - 1 / 3) / 0.15) ** 2))
        return rng.random(size) < 0.5 + 0.49 * closeness

    options = CHEAP | {"enough": 0, "relation": "replace_one", "explore": 300}
    result = search(leaks_near_a_third, domain="numbers 0..1; one value", budget=12_000, **options)
    best_pattern = max(look.epsilon for look in result.looks[:3])
    assert result.bound.epsilon > best_pattern + 1.0
    assert abs(min(float(result.d0), float(result.d1), key=lambda x: abs(x - 1 / 3)) - 1 / 3) < 0.05


# --- the level -------------------------------------------------------------------------------------------------------

MECHANISM = KAryRandomizedResponse(epsilon=1.0, k=6)  # all pairs are equally bad, as bad as a pure guarantee allows
QUESTION = {"bound": JointExact(threshold=0.5, direction="in"), "confidence": 0.8, "enough": 0}


def covered(bounds):
    bounds = np.array(bounds)
    return Coverage("search", "k-ary response", 1.0, len(bounds), int(np.sum(bounds > 1.0)), 0.2, bounds.mean())


def searches(repeats, n_looks):
    for seed in range(repeats):
        domain = "integers 0..5; one value"
        yield search(MECHANISM, domain=domain, explore=200, budget=200 * n_looks, trials=200, seed=seed, **QUESTION)


def at_full_confidence(result):
    """The bound on the very trials that made the winner win."""
    look = result.looks[result.winner]
    pair = Neighbours(int(result.d0), int(result.d1), "replace_one")
    options = {"bound": QUESTION["bound"], "confidence": 0.8, "trials": look.trials, "seed": look.seed}
    return audit(MECHANISM, pair, **options).bound.epsilon


@pytest.mark.slow
def test_confirmation_in_a_domain_keeps_its_level_unlike_the_best_look():
    result = list(searches(80, n_looks=20))
    assert covered([one.bound.epsilon for one in result]).holds
    assert not covered([at_full_confidence(one) for one in result]).holds


def test_confirmation_of_a_search_in_a_domain_keeps_its_level():
    result = list(searches(10, n_looks=5))
    assert covered([one.bound.epsilon for one in result]).holds
    assert all(one.confirmed.seed not in {look.seed for look in one.looks} for one in result)


# --- pairs that say nothing ------------------------------------------------------------------------------------------


def test_pairs_that_the_mechanism_refuses_are_skipped_and_counted():
    result = search(Laplace(epsilon=1.0, sensitivity=1.0), domain="numbers 0..4; one value", **CHEAP | {"claim": None})
    assert result.skipped["refused by the mechanism"] > 0
    assert result.verdict is Verdict.CONSISTENT
    assert "refused by the mechanism" in result.ledger[0].looked_at


def test_pairs_on_which_every_run_raises_the_same_are_skipped_and_counted():
    def needs_records(dataset, rng):
        if len(dataset) < 5:
            raise ValueError("too few records")
        return float(np.sum(dataset)) + rng.laplace(scale=3.0)

    with pytest.raises(NeighboursError, match=r"could be audited; the first was raised on both sides: .*too few"):
        search(needs_records, domain="numbers 0..1; 1..4 records", budget=4_000, **CHEAP)
    result = search(needs_records, domain="numbers 0..1; 3..8 records", budget=2_400, **CHEAP | {"enough": 0})
    assert result.skipped["raised on both sides"] > 0
    assert result.verdict is Verdict.VIOLATION  # four records raise, five do not


def test_exceptions_that_differ_between_the_sides_are_a_violation():
    def tells(dataset, rng):
        raise ValueError(f"{len(dataset)} records: {rng.integers(3)}")

    result = search(tells, domain="numbers 0..1", **CHEAP)
    assert result.verdict is Verdict.VIOLATION
    assert any("records" in event for event in result.confirmed.events)


def test_a_domain_of_other_data_is_refused_with_the_reason():
    with pytest.raises(NeighboursError, match=r"the first was refused by the mechanism: .*n_queries is 1"):
        search(Laplace(epsilon=1.0), domain="answers x 5", seed=0)


# --- budgets, bytes, words -------------------------------------------------------------------------------------------


def test_the_budget_is_used_and_the_best_pairs_are_looked_at_again():
    result = search(Laplace(1.0), domain="answers", explore=300, budget=12_000, trials=1_000, enough=0, seed=0)
    assert sum(look.trials for look in result.looks) == 12_000
    assert [look.trials for look in result.looks] == [300] * 28 + [1_200] * 3
    assert result.looks[result.winner].trials == 1_200
    assert len({look.candidate for look in result.looks[-3:]}) == 3


def test_a_clear_look_ends_the_search():
    result = search(LaplaceInverseScale(0.1), domain="answers", trials=5_000, seed=0)
    assert len(result.looks) == 1


def test_bytes_do_not_depend_on_workers_nor_interruptions(tmp_path):
    options = {"domain": "answers x 3; norm 1", "explore": 300, "budget": 3_000, "trials": 2_000, "seed": 5}
    mechanism = Laplace(epsilon=1.0, n_queries=3)
    plain = search(mechanism, **options).to_json()
    assert search(mechanism, store=tmp_path, **options).to_json() == plain
    assert search(mechanism, n_jobs=2, store=tmp_path, **options).to_json() == plain
    with pytest.raises(FingerprintError):
        search(mechanism, store=tmp_path, **options | {"domain": "answers x 3; norm 2"})
    again = SearchResult.from_json(plain)
    assert (again.to_json(), again.domain, again.skipped) == (plain, "answers x 3; sensitivity 1; norm 1", {})


def test_ledger_names_the_domain_and_the_pair():
    result = search(LaplaceInverseScale(0.1), domain="answers x 1", trials=500, seed=0)
    assert "answers x 1; sensitivity 1; norm inf" in result.ledger[0].looked_at
    pair = next(entry for entry in result.ledger if entry.what == "pair")
    assert f"d0 = {result.d0}, d1 = {result.d1}" in pair.looked_at
    assert "fixed beforehand" not in result.summary()


@pytest.mark.parametrize(
    ("mechanism", "options", "error", "message"),
    [
        (Laplace(1.0), {}, ParameterError, "pass candidates, a list of pairs, or a domain"),
        (Laplace(1.0), {"domain": "answers", "candidates": []}, ParameterError, "either candidates or a domain"),
        (Laplace(1.0), {"candidates": [Laplace(1.0).worst_case()], "budget": 5}, ParameterError, "budget is for a"),
        (Laplace(1.0), {"domain": "answers", "budget": 5}, ParameterError, "budget must be a whole number >= 2000"),
        (Laplace(1.0), {"domain": "answers", "enough": 2}, ParameterError, "enough must"),
        (Laplace(1.0), {"domain": "answers", "relation": "replace_one"}, RelationError, "holds for relation"),
        (number_of_repeats, {"domain": "numbers"}, ParameterError, "claim must be given"),
        (Laplace, {"domain": "numbers"}, ParameterError, "mechanism is the class Laplace"),
        (
            lambda x, y, z, w: 0,
            {"domain": "numbers", "claim": PureDP(1.0)},
            ParameterError,
            "cannot determine how to call",
        ),
    ],
)
def test_wrong_input_is_named_before_anything_runs(mechanism, options, error, message, monkeypatch):
    monkeypatch.setattr(Laplace, "release", lambda *_: pytest.fail("ran"))
    with pytest.raises(error, match=message):
        search(mechanism, **options, seed=0)
