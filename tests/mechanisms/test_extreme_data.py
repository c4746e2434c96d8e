"""Every mechanism of the catalogue on data at the edges: one record, all records alike, many, and very large numbers.

The claim is for all pairs, not only for the worst case, and for floats, not for real numbers: on legal data each run
ends in finite numbers, or in an outcome that the law knows, without exceptions or warnings; losses stay within a pure
claim; densities and sampler agree; and a short audit finds nothing. What cannot be processed is refused on either side.

Each class states the kind of its dataset (`_dataset`). Training data: `learning/test_extreme_records.py`. Scores:
`selection/test_score_gaps.py`. Numbers of a user: test_bounded_mean.
"""

import math
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
from scipy import stats
from tests.mechanisms.test_conformance import sample

from dpassay.audit import audit
from dpassay.mechanisms.catalogue import catalogue, get
from dpassay.mechanisms.core import Data, DpassayError, Neighbours, Outputs, ParameterError, Relation

FALSE_ALARM, SIZE = 1e-6, 300

NAMES = [name for name in catalogue if not name.startswith("broken-")]


def names_of(*kinds):
    """The mechanisms with datasets of these kinds."""
    return [name for name in NAMES if get(name)._dataset in kinds]


FIXED = names_of(Data.VOTES)
"""Whose dataset has a shape that is public: the votes of each query."""
OTHERS = names_of(Data.RECORDS, Data.REALS, Data.VOTES)
ON_A_GRID = {"geometric", "discrete-gaussian", "grid-laplace"}
"""Whose answers have a largest one: beyond it a pair is refused."""
SLOW_LAWS = {"subsampled"}
"""Whose law cannot be summed on many records: it says so."""


def of_size(name, n):
    """The sample, for that many records where their number is public; None where it has no such size."""
    mechanism = sample(name)
    public = {field.name for field in fields(mechanism)} & {"n_records", "n_users"}
    return replace(mechanism, **{next(iter(public)): n}) if public and name not in FIXED else mechanism


def record_pairs(name, n):
    """Pairs of n records: all alike but one, and drawn from those of the worst case with one more, or one replaced."""
    pair, rng = sample(name).worst_case(), np.random.default_rng(n)
    relation = pair.relation
    records = np.unique(np.concatenate([np.asarray(pair.d0), np.asarray(pair.d1)]), axis=0)
    first, last = records[[0, -1]]
    mixed = records[rng.integers(len(records), size=n)]
    for start, record in ((np.repeat(first[None], n, 0), last), (np.repeat(last[None], n, 0), first), (mixed, first)):
        if relation is Relation.ADD_REMOVE:
            yield Neighbours(start[1:], start, relation)
            yield Neighbours(start, np.concatenate([start, record[None]]), relation)
        elif not np.array_equal(start[0], record):
            other = start.copy()
            other[0] = record
            yield Neighbours(start, other, relation)


@cache
def fewest_records(name):
    """The smallest number of records that the mechanism accepts; more than 25 are not needed."""
    for n in range(1, 26):
        with suppress(DpassayError):
            for pair in record_pairs(name, n):
                of_size(name, n).bind(pair).release(pair.d0, 1, np.random.default_rng(0))
            return n
    raise AssertionError(f"{name} refuses up to 25 records")


def check(mechanism, pair, *, impossible_values=False):
    """What the module promises, but for the audit."""
    mechanism = mechanism.bind(pair)
    law = mechanism.output_law()
    claimed = float(mechanism.guarantee().epsilon(0.0))
    for own, other in ((pair.d0, pair.d1), (pair.d1, pair.d0)):
        outputs = mechanism.release(own, SIZE, np.random.default_rng(5))
        assert len(outputs) == SIZE
        assert np.isfinite(outputs.values).all()
        assert outputs.events is None or impossible_values
        if law is None:
            continue
        density, beside = law.log_density(outputs, own), law.log_density(outputs, other)
        assert np.isfinite(density).all()
        assert not np.isnan(beside).any()
        if math.isfinite(claimed):
            assert (density - beside).max() <= claimed * (1.0 + 1e-6) + 1e-9
        ratio, bound = np.exp(np.minimum(beside - density, 20.0)), math.exp(min(claimed, 20.0))
        if bound < 3.0:  # E[q / p] = 1 for Y from p, and 0 <= q / p <= bound: Hoeffding's limit
            assert abs(ratio.mean() - 1.0) <= bound * math.sqrt(math.log(2.0 / FALSE_ALARM) / (2.0 * SIZE))


def check_audit(mechanism, pair):
    """At a confidence at which all of them together raise no false alarm."""
    delta = mechanism.guarantee().default_delta
    result = audit(
        mechanism,
        neighbours=pair,
        delta=1e-5 if delta is None else delta,
        trials=400,
        confidence=1.0 - FALSE_ALARM,
        seed=0,
    )
    assert result.verdict != "violation"


@pytest.mark.parametrize("name", [name for name in OTHERS if name not in FIXED])
def test_few_records_and_records_alike_leave_the_outputs_ordinary(name):
    fewest = fewest_records(name)
    for n in (fewest, 2 * fewest) if name == "teacher-votes" else (fewest, fewest + 1, 40):
        for pair in record_pairs(name, n):
            check(of_size(name, n), pair)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in OTHERS if name not in {*FIXED, *SLOW_LAWS}])
def test_many_records_leave_the_outputs_ordinary(name):
    n = 2_000 if name == "swapped-tables" else 100_000  # each run looks at each record
    for pair in record_pairs(name, n):
        check(of_size(name, n), pair)


@pytest.mark.parametrize("name", FIXED)
def test_votes_for_one_label_leave_the_outputs_ordinary(name):
    mechanism = sample(name)
    counts = np.array(mechanism.worst_case().d0)
    unanimous = np.zeros_like(counts)
    unanimous[:, 0] = counts[0].sum()
    moved = unanimous.copy()
    moved[:, 0] -= 1
    moved[:, -1] += 1
    check(mechanism, Neighbours(unanimous, moved, "replace_one"))


LARGEST = [1e308, -1e308, 1.7e308, 1e19, -(2.0**53), 5e-324, -5e-324]


@cache
def answer_pairs(name):
    """The worst case with a very large answer: the first, or the second where there are more."""
    pair = sample(name).worst_case()
    pairs = []
    for value in LARGEST:
        sides = [np.array(side, dtype=np.float64) for side in (pair.d0, pair.d1)]
        for side in sides:
            if side.ndim:
                side[1] = value
        if not sides[0].ndim:
            step = float(sides[1] - sides[0])
            up = np.array(value + step)
            sides = [np.array(value), up if up - value <= step else np.array(value)]
        pairs.append(Neighbours(*sides, pair.relation))
    return pairs


@pytest.mark.parametrize("name", names_of(Data.ANSWERS))
def test_very_large_answers_leave_the_outputs_ordinary_or_are_refused(name):
    refused = 0
    for pair in answer_pairs(name):
        mechanism = sample(name)
        try:
            mechanism.bind(pair)
        except ParameterError:
            refused += 1
            continue
        check(mechanism, pair, impossible_values=name == "first-good-enough")
    assert (refused > 0) == (name in ON_A_GRID)


@pytest.mark.parametrize("name", sorted(ON_A_GRID))
def test_pair_across_the_largest_answer_is_refused_in_both_directions(name):
    mechanism = sample(name)
    limit = 2.0**53 * getattr(mechanism, "granularity", 1.0)
    within, beyond = np.array(limit), np.array(np.nextafter(limit, math.inf))
    for d0, d1 in ((within, beyond), (beyond, within)):
        with pytest.raises(ParameterError, match=r"2\^53"):
            mechanism.bind(Neighbours(d0, d1, mechanism.relation))


@pytest.mark.parametrize("name", names_of(Data.CATEGORY))
def test_every_pair_of_categories_leaves_the_outputs_ordinary(name):
    mechanism = sample(name)
    for first in range(mechanism.n_categories):
        for second in range(mechanism.n_categories):
            if first != second:
                check(mechanism, Neighbours(first, second, mechanism.relation))


@pytest.mark.parametrize("name", names_of(Data.REALS))
def test_records_of_any_size_leave_the_outputs_ordinary(name):
    for value in (1e308, -1e308, 5e-324, -5e-324):
        n = 9
        start = np.linspace(0.0, 1.0, n)
        other = start.copy()
        other[3] = value
        if sample(name).relation is Relation.ADD_REMOVE:
            pairs = [Neighbours(start, np.append(start, value), "add_remove")]
            pairs += [Neighbours(np.full(n - 1, value), np.full(n, value), "add_remove")]
        else:
            all_alike = np.full(n, value)
            apart = all_alike.copy()
            apart[0] = -value
            pairs = [Neighbours(start, other, "replace_one"), Neighbours(all_alike, apart, "replace_one")]
        for pair in pairs:
            check(of_size(name, n), pair)


def test_user_text_and_graph_records_at_the_edges_are_ordinary():
    user_level = sample("user-level")
    for value in (1e308, -1e308, 5e-324):
        users, values = np.array([0, 0, 0, 1]), np.array([value, value, value, 0.5])
        check(user_level, Neighbours((users[3:], values[3:]), (users, values), "add_remove"))
    ngrams = sample("ngram-counts")
    for texts in ([], [""], ["a"], ["ab" * 500] * 20):
        check(ngrams, Neighbours(texts, [*texts, "ba" * 2000], "add_remove"))
    for name in ("triangle-count", "restricted-edge-count"):
        mechanism = sample(name)
        pair = mechanism.worst_case()
        check(mechanism, Neighbours(pair.d1, pair.d0, pair.relation))


@pytest.mark.parametrize("name", OTHERS)
def test_a_short_audit_of_records_alike_finds_no_violation(name, without_power):
    if name in FIXED:
        check_audit(sample(name), sample(name).worst_case())
        return
    n = {"teacher-votes": 20, "dual-query": 2}.get(name, max(30, fewest_records(name)))
    check_audit(of_size(name, n), next(iter(record_pairs(name, n))))


@pytest.mark.parametrize("name", [name for name in names_of(Data.ANSWERS) if name not in ON_A_GRID])
def test_a_short_audit_of_very_large_answers_finds_no_violation(name, without_power):
    pair = next(pair for pair in answer_pairs(name)[:1])
    if not np.array_equal(pair.d0, pair.d1):
        check_audit(sample(name), pair)


def test_a_mechanism_that_fails_on_extreme_data_is_caught():
    class Fails(type(sample("laplace"))):
        def release(self, dataset, size, rng):
            result = super().release(dataset, size, rng).values
            return Outputs(np.where(abs(dataset) > 1e300, np.nan, result))

    pair = answer_pairs("laplace")[0]
    with pytest.raises(AssertionError):
        check(Fails(0.8), pair)


def test_hoeffding_limit_is_a_false_alarm_once_in_a_million():
    draws = np.random.default_rng(0).random((200, SIZE)) * 2.0
    limit = 2.0 * math.sqrt(math.log(2.0 / FALSE_ALARM) / (2.0 * SIZE))
    assert (np.abs(draws.mean(axis=1) - 1.0) <= limit).all()
    assert stats.norm.sf(limit / math.sqrt(1.0 / 3.0 / SIZE)) < FALSE_ALARM
