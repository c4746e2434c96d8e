"""Searches without a stated relation: both are searched, and the verdicts are corrected together."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpassay.audit import Verdict
from dpassay.audit.bounds.numerics.binomial import quantile
from dpassay.audit.search import SearchResult, search
from dpassay.audit.search.relations import refuted_relations, relations_of, which_relations
from dpassay.mechanisms import Laplace, PureDP
from dpassay.mechanisms.core import NeighboursError, Relation

CHEAP = {"attacks": "threshold", "explore": 200, "budget": 2_000, "trials": 2_000, "seed": 1, "claim": PureDP(1.0)}


def sum_for_add_remove(dataset, size, rng):
    return np.sum(dataset) + rng.laplace(size=size)


@pytest.fixture(scope="module")
def found() -> SearchResult:
    return search(sum_for_add_remove, domain="integers -1..1", **CHEAP)


def test_the_result_says_for_which_relation_the_claim_is_refuted(found):
    assert found.relations == {"add_remove": False, "replace_one": True}
    assert (found.verdict, found.confirmed.relation) == (Verdict.VIOLATION, "replace_one")
    assert "It is refuted for replace_one only, and not for add_remove" in found.summary()
    assert "--relation replace_one" in found.confirmed.summary()
    assert found.ledger[-1].correction == "Holm over the relations"
    assert found.confirmed.confidence == pytest.approx(0.975)
    assert SearchResult.from_json(found.to_json()) == found


def test_the_same_seed_gives_the_same_bytes(found):
    assert search(sum_for_add_remove, domain="integers -1..1", **CHEAP).to_json() == found.to_json()


def test_a_stated_relation_is_searched_alone():
    for options in ({"relation": "add_remove"}, {"claim": PureDP(1.0, relation="add_remove")}):
        result = search(sum_for_add_remove, domain="integers -1..1", **CHEAP | options)
        assert (result.relations, result.verdict) == ({}, Verdict.CONSISTENT)
        assert result.confirmed.confidence == 0.95


def test_a_relation_without_pairs_is_left_out():
    def refuses_lists_of_equal_length(dataset, size, rng):
        if len(dataset) == 3:
            raise ValueError("three")
        return len(dataset) + rng.laplace(size=size)

    result = search(refuses_lists_of_equal_length, domain="numbers 0..1; 3 records", **CHEAP)
    assert list(result.relations) == ["add_remove"]
    with pytest.raises(NeighboursError):
        search(lambda dataset, size, rng: [][0], domain="numbers 0..1; 3 records", **CHEAP)


def test_relations_are_those_that_the_claim_may_be_about():
    assert relations_of(Laplace(1.0), None, None, records=True) == (Laplace(1.0).relation,)
    assert relations_of(len, PureDP(1.0), None, records=True) == (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    assert relations_of(len, PureDP(1.0), None, records=False) == (Relation.REPLACE_ONE,)
    assert relations_of(len, PureDP(1.0), "zero_out", records=True) == (Relation.ZERO_OUT,)


# --- Holm -------------------------------------------------------------------------------------------------------------


def confirmations(*p_values, significance, witness=None):
    """Confirmations whose verdict is that of half of the significance."""
    verdicts = [Verdict.VIOLATION if p <= significance / 2 else Verdict.CONSISTENT for p in p_values]
    made = [SimpleNamespace(verdict=v, p_value=p, witness=witness) for v, p in zip(verdicts, p_values, strict=True)]
    return dict(zip(("add_remove", "replace_one"), made, strict=True))


@pytest.mark.parametrize(
    ("p_values", "refuted"),
    [((0.02, 0.04), (True, True)), ((0.04, 0.04), (False, False)), ((0.02, 0.06), (True, False))],
)
def test_the_second_relation_is_tested_at_the_whole_significance(p_values, refuted):
    results = confirmations(*p_values, significance=0.05)
    assert tuple(refuted_relations(results, 0.05).values()) == refuted


def test_true_claims_are_refuted_for_some_relation_at_most_at_the_level():
    """P-values of true claims are uniform, here for both relations: Holm without a correction would give 0.36."""
    wrong, n = 0, 4_000
    for p_values in np.random.default_rng(0).random((n, 2)):
        wrong += any(refuted_relations(confirmations(*p_values, significance=0.2), 0.2).values())
    assert wrong <= quantile(1.0 - 1e-6, n, 0.2)


def test_sentences_name_the_relations():
    assert which_relations({"add_remove": True}) == which_relations({"a": False, "b": False}) == ""
    assert which_relations({"a": True, "b": True}) == "It is refuted for a and for b."
