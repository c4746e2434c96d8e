"""Every pair of a domain is a pair of neighbours in it; and what is declared in words is what is searched."""

import math
from itertools import islice

import numpy as np
import pytest

from dpassay.audit.search import AnswersDomain, Categories, Integers, Numbers, OneValue, Records, Vectors, domain_from
from dpassay.mechanisms.core import ParameterError, Relation, check_different, check_records

NUMERIC = [Numbers(0.0, 1.0), Numbers(), Numbers(0.0), Numbers(-1.0, 1.0, special=True), Integers(0, 10), Integers()]
VALUES = [*NUMERIC, Vectors(Numbers(0.0, 1.0), 3), Vectors(Integers(-1, 1), 4), Vectors(Numbers(), 2)]
RECORDS = [Records(values, *sizes) for values in VALUES for sizes in ((1, 10), (4, 4), (2, 3), (1, 1))]
ANSWERS = [
    AnswersDomain(),
    AnswersDomain(5),
    AnswersDomain(4, norm=2, sensitivity=3.0),
    AnswersDomain(6, norm=1, low=0.0, high=2.0),
    AnswersDomain(5, counts=True, low=0, high=5),
    AnswersDomain(3, low=0.0, high=1.0),
]


def made(domain, relation, n=25):
    """Patterns, random pairs, and steps from both."""
    rng = np.random.default_rng(0)
    sketches = [*domain.patterns(relation), *(domain.random(relation, rng) for _ in range(n))]
    steps = [domain.near(sketch, relation, rng) for sketch in sketches[-2 * n :]]
    steps += [domain.near(sketch, relation, rng) for sketch in steps]
    return [domain.neighbours(sketch, relation) for sketch in [*sketches, *steps]]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("domain", RECORDS, ids=str)
def test_lists_differ_in_one_record_and_have_the_declared_size(domain, relation):
    for pair in made(domain, relation):
        check_records(pair)
        assert domain.smallest <= len(pair.d1) <= domain.largest
        assert len(pair.d0) == len(pair.d1) - (relation is Relation.ADD_REMOVE)
        of = getattr(domain.of, "of", domain.of)
        exceptional = not all(map(math.isfinite, of.telling))
        for side in (pair.d1,) if relation is Relation.ZERO_OUT else (pair.d0, pair.d1):
            outside = ~((side >= of.low) & (side <= of.high))
            assert not outside.any() or (exceptional and not np.isfinite(side[outside]).any())


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("domain", ANSWERS, ids=str)
def test_answers_lie_the_sensitivity_apart_and_in_their_range(domain, relation):
    for pair in made(domain, relation):
        sides = [np.atleast_1d(side) for side in (pair.d0, pair.d1)]
        assert np.linalg.norm(sides[1] - sides[0], ord=domain.norm) == pytest.approx(domain.sensitivity)
        assert all((side >= domain.low).all() and (side <= domain.high).all() for side in sides)
        if domain.counts:
            assert all((side == np.round(side)).all() for side in sides)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("values", VALUES, ids=str)
def test_single_values_differ(values, relation):
    for pair in made(OneValue(values), relation):
        check_different(pair)


def test_categories_are_those_that_were_named():
    domain = Records(Categories(("a", "b", "c")), 1, 4)
    for relation in (Relation.ADD_REMOVE, Relation.REPLACE_ONE):
        for pair in made(domain, relation):
            check_records(pair)
            assert set(pair.d0) | set(pair.d1) <= {"a", "b", "c"}
    with pytest.raises(ParameterError, match="categories have no zero"):
        next(domain.patterns(Relation.ZERO_OUT))


def test_the_patterns_of_answers_are_those_of_the_literature():
    ones, norm = [1.0] * 4, math.inf
    seen = {
        (tuple(pair.d0), tuple(pair.d1))
        for sketch in AnswersDomain(4, norm=norm).patterns(Relation.ADD_REMOVE)
        for pair in [AnswersDomain(4, norm=norm).neighbours(sketch, Relation.ADD_REMOVE)]
    }
    others = "0111", "2111", "2000", "0222", "2200", "2222", "0000"
    assert {(tuple(ones), tuple(map(float, other))) for other in others} < seen
    assert ((1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.0)) in seen


def lists(text, n=60):
    domain = domain_from(text)
    pairs = (domain.neighbours(s, Relation.ADD_REMOVE) for s in islice(domain.patterns(Relation.ADD_REMOVE), n))
    return [(list(pair.d0), list(pair.d1)) for pair in pairs]


def test_the_patterns_of_lists_hold_what_breaks_code():
    results = lists("numbers 0..1")
    assert results[0] == ([], [1.0])
    assert ([], [0.0]) in results
    assert ([0.0], [0.0, 1.0]) in results
    assert ([1.0] * 9, [1.0] * 10) in results  # duplicates
    assert ([1.0, 0.0] * 4 + [1.0], [1.0, 0.0] * 4 + [1.0, 1.0]) in results
    records = [d1[-1] for _, d1 in lists("numbers")]
    assert {1e300, -1e300, math.inf, -math.inf} < set(records)
    assert any(math.isnan(record) for record in records)
    assert not any(math.isnan(d1[-1]) for _, d1 in results)
    assert any(math.isnan(d1[-1]) for _, d1 in lists("numbers 0..1; nan"))


# --- in words --------------------------------------------------------------------------------------------------------


def test_the_first_patterns_of_lists_have_odd_and_even_sizes_and_all_kinds_of_records():
    domain = Records(Numbers(-100.0, 100.0), smallest=1, largest=10)
    first = [sketch for sketch in islice(domain.patterns(Relation.ADD_REMOVE), 24) if sketch.common]
    assert {len(sketch.common) + 1 for sketch in first} == {2, 3, 5, 6, 9, 10}
    assert {sketch.record1 for sketch in first} >= {-100.0, 100.0}
    of_each = [{len(sketch.common) for sketch in first if sketch.record1 == record} for record in (-100.0, 100.0)]
    assert min(map(len, of_each)) >= 4  # the size does not depend on the record


@pytest.mark.parametrize(
    "domain", [*RECORDS, *ANSWERS, *map(OneValue, VALUES), Records(Categories(("a", "b")))], ids=str
)
def test_a_domain_reads_as_it_is_written(domain):
    assert domain_from(str(domain)) == domain
    assert domain_from(domain) is domain


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("numbers -0.5..1e3", {"kind": "numbers", "range": [-0.5, 1000.0]}),
        ("numbers 0..", {"kind": "numbers", "range": [0, math.inf]}),
        ("integers 0..10 x 5; 20 records", {"kind": "integers", "range": [0, 10], "length": 5, "records": 20}),
        ("categories a, b ,c; one value", {"kind": "categories", "names": ["a", "b", "c"], "one_value": True}),
        ("answers x 5; sensitivity 2.5; norm 2", {"kind": "answers", "length": 5, "sensitivity": 2.5, "norm": 2}),
        ("counts 0..5", {"kind": "counts", "range": [0, 5]}),
        ("numbers; 2..3 records", {"kind": "numbers", "records": [2, 3]}),
    ],
)
def test_a_line_and_a_table_say_the_same(text, table):
    assert domain_from(text) == domain_from(table)


def test_a_domain_may_lie_in_a_file(tmp_path):
    toml, plain = tmp_path / "domain.toml", tmp_path / "domain.json"
    toml.write_text('kind = "answers"\nlength = 3\nnorm = inf\n')
    plain.write_text('{"kind": "answers", "length": 3}')
    assert domain_from(f"@{toml}") == domain_from(f"@{plain}") == AnswersDomain(3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("number 0..1", "Did you mean 'numbers'"),
        ("numbers 0-1", "must be a kind and a range, such as 'numbers 0..1'"),
        ("numbers 1..0", "range must go from a smaller to a larger number, but goes from 1.0 to 0.0"),
        ("numbers a..b", "domain must have numbers, but has 'a'"),
        ("numbers 0..1; 5", "has the option '5', which is not 'N records'"),
        ("numbers 0..1; norm 1", "unknown option of numbers: 'norm'"),
        ("integers 0.5..1", "low must be a whole number"),
        ("categories a", "categories must be two or more different values"),
        ("answers; norm 3", "norm must be 1, 2 or inf, but is 3"),
        ("answers; 5 records", "unknown option of answers: 'records'"),
        ("answers 0..1; sensitivity 2", "range must be as wide as the sensitivity, 2"),
        ("counts; sensitivity 0.5", "sensitivity of counts must be a whole number"),
        ("@nowhere.toml", "domain cannot be read from the file 'nowhere.toml'"),
        ({"kind": "numbers", "range": [0]}, "cannot be read"),
        (7, "domain must be a line such as"),
    ],
)
def test_what_is_wrong_with_a_domain_is_named(given, message):
    with pytest.raises(ParameterError, match=message) as error:
        domain_from(given)
    assert error.value.argument
