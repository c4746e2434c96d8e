"""Singling out, linkability and attribute inference: slow twins, known answers, and what is refused."""

import numpy as np
import pytest

from dpassay.attacks.literature.attributes import CorrectAttribution
from dpassay.attacks.people import Majority
from dpassay.attacks.people.disclosure import (
    AttributeDisclosure,
    Linkability,
    PeopleGroups,
    Predicates,
    SinglingOut,
    nearest_rows,
)
from dpassay.mechanisms.core import AttackError, ParameterError
from dpassay.mechanisms.noise.queries.domain import Domain

DOMAIN = Domain({"age": 7, "sex": 2, "place": 5, "job": 4})
ORDERED = ("age", "job")


def records(n, seed):
    return np.random.default_rng(seed).integers(DOMAIN.shape, size=(n, 4))


def groups(n=40, m=60):
    return PeopleGroups(records(n, 1), records(m, 2), records(50, 3))


def slow_distance(a, b, names):
    total = 0.0
    for name in names:
        i = DOMAIN.index(name)
        total += abs(a[i] - b[i]) / (DOMAIN.shape[i] - 1) if name in ORDERED else float(a[i] != b[i])
    return total


def slow_neighbours(record, rows, names, k):
    far = [round(slow_distance(record, row, names), 9) for row in rows]
    return {i for i, d in enumerate(far) if d <= sorted(far)[k - 1]}


@pytest.mark.parametrize("k", [1, 3, 30])
def test_neighbours_are_those_of_loops_in_any_blocks(k, monkeypatch):
    monkeypatch.setattr(nearest_rows, "MAX_BLOCK_DISTANCES", 70)
    rows, some = records(30, 0), records(11, 4)
    attack = SinglingOut(DOMAIN, ORDERED)
    observed = np.vstack([near for _, near in nearest_rows.neighbours(some, rows, attack.scales(DOMAIN.names), k)])
    assert [set(np.flatnonzero(one)) for one in observed] == [slow_neighbours(r, rows, DOMAIN.names, k) for r in some]


@pytest.mark.parametrize("k", [1, 2])
def test_people_are_linked_as_loops_link_them(k):
    table, where = records(50, 0), groups()
    attack = Linkability(DOMAIN, ORDERED, first=["age", "place"], second=["job", "sex"], n_neighbours=k)
    first, second = attack.first, attack.second
    expected = []
    for person in where.people:
        near = slow_neighbours(person, table, first, k)
        others = [near & slow_neighbours(other, table, second, k) for other in where.bystanders[:3]]
        expected.append(bool(near & slow_neighbours(person, table, second, k)) and not any(others))
    few = PeopleGroups(where.people, where.bystanders[:3], where.known)
    assert attack.correct(table, few, np.random.default_rng(0)).tolist() == expected
    assert 0 < sum(expected) < len(expected)


@pytest.mark.parametrize("kind", ["univariate", "multivariate"])
def test_descriptions_match_one_row_and_the_people_of_a_loop(kind):
    table, where, rng = records(12, 0), groups(), np.random.default_rng(0)
    table[3, 0] = 6
    attack = SinglingOut(DOMAIN, ORDERED, kind=kind, n_predicates=40, n_columns=2)
    made = attack.predicates(table, rng)
    assert 0 < len(made) == len(made.distinct()) <= 40
    assert (made.counts(table) == 1).all()
    used = ((made.low > 0) | (made.high < np.array(DOMAIN.shape) - 1)).sum(axis=1)
    assert (used <= (1 if kind == "univariate" else 2)).all()
    fits = [
        [all(lo <= c <= hi for lo, c, hi in zip(*one, strict=True)) for one in pairs(made, i, where.people)]
        for i in range(len(made))
    ]
    assert made.matches(where.people).tolist() == fits


def pairs(made, i, people):
    return [(made.low[i], person, made.high[i]) for person in people]


def test_rare_values_and_extremes_are_those_of_one_row():
    table = np.array([[1, 0, 4, 0], [1, 0, 3, 0], [2, 0, 3, 0], [2, 0, 3, 0], [5, 0, 3, 0]])
    made = Predicates.rare(DOMAIN, table, [0, 3], 100, np.random.default_rng(0))
    ends = {
        (column, lo, hi)
        for low, high in zip(made.low, made.high, strict=True)
        for column, (lo, hi) in enumerate(zip(low, high, strict=True))
        if (lo, hi) != (0, DOMAIN.shape[column] - 1)
    }
    assert ends == {(2, 4, 4), (0, 5, 5), (0, 5, 6)}
    assert len(made) == 3


def test_random_descriptions_know_the_domain_only():
    made = Predicates.random(DOMAIN, [0, 3], 2, 4_000, np.random.default_rng(0))
    assert made.low.min(axis=0).tolist() == [0, 0, 0, 0]
    assert (made.low <= made.high).all()
    assert made.low.max(axis=0).tolist() == [6, 1, 4, 3]
    category = (made.low[:, 2] > 0) | (made.high[:, 2] < 4)
    assert (made.low[category, 2] == made.high[category, 2]).all()
    assert abs(category.mean() - 0.5) < 0.05


def test_a_person_is_singled_out_only_if_no_bystander_matches():
    people = records(40, 1)
    attack = SinglingOut(DOMAIN, ORDERED, n_columns=4)
    alone = attack.correct(people, PeopleGroups(people, people[:0], people[:0]), np.random.default_rng(0))
    beside_twins = attack.correct(people, PeopleGroups(people, people, people[:0]), np.random.default_rng(0))
    assert alone.mean() > 0.5
    assert not beside_twins.any()


def test_published_counts_are_of_descriptions_of_one_record():
    people = records(40, 1)
    attack = SinglingOut(DOMAIN, n_columns=4, n_predicates=30)
    where = PeopleGroups(people, people[:0], people[:0])
    assert attack.published_correct(people, where, np.random.default_rng(0)).all()
    twins = PeopleGroups(np.vstack([people, people]), people[:0], people[:0])
    assert not attack.published_correct(people, twins, np.random.default_rng(0)).any()


def test_linking_all_records_links_none():
    where = groups()
    attack = Linkability(DOMAIN, first=["age"], second=["place"])
    one_row, rng = records(1, 0), np.random.default_rng(0)
    assert attack.published_correct(one_row, where, rng).all()
    assert not attack.correct(one_row, where, rng).any()
    assert abs(np.mean([attack.baseline_correct(groups(40, 3), rng).mean() for _ in range(100)]) - 0.25) < 0.05


def test_the_guess_is_the_most_frequent_value_of_the_nearest_rows():
    table = np.array([[0, 0, 0, 1], [0, 0, 0, 2], [0, 0, 0, 2], [6, 1, 1, 3]])
    attack = AttributeDisclosure(DOMAIN, ORDERED, secret="job")
    people = np.array([[0, 0, 0, 2], [1, 0, 0, 2], [6, 1, 1, 0], [0, 0, 0, 1]])
    where = PeopleGroups(people, people[:0], people[:0])
    assert attack.correct(table, where, np.random.default_rng(0)).tolist() == [True, True, False, False]
    near = AttributeDisclosure(DOMAIN, ORDERED, secret="job", within=1)
    assert near.correct(table, where, np.random.default_rng(0)).tolist() == [True, True, False, True]


def test_other_attacks_and_baselines_can_be_used():
    where = groups()
    table = np.vstack([where.people, where.known])
    attack = AttributeDisclosure(DOMAIN, secret="job", attack=CorrectAttribution(), baseline=Majority())
    rng = np.random.default_rng(0)
    most = np.bincount(where.known[:, 3], minlength=4).argmax()
    assert (attack.baseline_correct(where, rng) == (where.people[:, 3] == most)).all()
    nearest = AttributeDisclosure(DOMAIN, secret="job").correct(table, where, rng)
    assert (attack.correct(table, where, rng) == nearest).mean() > 0.9
    with pytest.raises(AttackError, match="Give known="):
        attack.baseline_correct(PeopleGroups(where.people, where.bystanders, where.known[:0]), rng)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: SinglingOut(DOMAIN, n_columns=5), "n_columns"),
        (lambda: SinglingOut(DOMAIN, "age"), "ordered"),
        (lambda: SinglingOut(DOMAIN, ["age", "age"]), "ordered"),
        (lambda: SinglingOut(DOMAIN, ["height"]), "attribute"),
        (lambda: Linkability(DOMAIN, first=["age"], second=["age", "sex"]), "second"),
        (lambda: Linkability(DOMAIN, first=[], second=["age"]), "first"),
        (lambda: AttributeDisclosure(DOMAIN, secret="job", given=["job"]), "given"),
        (lambda: AttributeDisclosure(DOMAIN, secret="job", within=1), "within"),
        (lambda: AttributeDisclosure(DOMAIN, secret="height"), "attribute"),
        (lambda: AttributeDisclosure({"a": 2, "b": 1}, secret="b"), "secret"),
    ],
)
def test_invalid_options_are_refused(make, named):
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.argument == named
