"""Decoding of noisy counts, the attack in the reconstruction game, and what is guessed without the tables."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.attacks.literature.tables.blocks_by_hand import every_block

from dpassay.attacks.literature.tables import TablesReconstructor, decode, expected_block, identify_people
from dpassay.attacks.literature.tables.imputer import matched
from dpassay.attacks.reconstruction.base import FairBits, OneOf, SecretTarget
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.core import AttackError, ParameterError
from dpassay.mechanisms.literature.query_release.tables import (
    CensusDomain,
    Group,
    GroupCount,
    NoisyTables,
    SwappedTables,
    TableSet,
    group,
    rows_of,
)

FALSE_ALARM = 1e-6
SMALL = CensusDomain({"sex": ("female", "male"), "block": ("A", "B")}, ages=(20, 23))
CELLS = (group(block="A"), group(sex="female", block="A"), group(ages=(22, 23), block="A"), group(ages=20))
NOISY = NoisyTables(epsilon=2.0, tables=TableSet(SMALL, tuple(map(GroupCount, CELLS))))
PEOPLE = np.array([[20, 0, 0], [21, 1, 0], [22, 0, 1], [23, 1, 1]])
CANDIDATES = [(20, 0, 0), (23, 0, 0), (20, 1, 0), (23, 1, 0)]
SECRET = OneOf.in_record(PEOPLE, 1, CANDIDATES)


def test_decoded_block_fits_as_well_as_the_best_of_all_blocks():
    blocks = every_block(SMALL, 3)
    exact = np.array([NOISY.answers(block) for block in blocks])
    for noisy in NOISY.release(blocks[700], 10, np.random.default_rng(0)).values:
        result = decode(NOISY, noisy, n_people=3)
        assert result.optimal
        assert result.residual == np.abs(exact - noisy).sum(axis=1).min()
        assert np.abs(NOISY.answers(result.block) - noisy).sum() == result.residual
        assert len(result.block) == 3


def test_the_likeliest_block_is_the_one_with_the_largest_probability():
    blocks = every_block(SMALL, 2)
    outputs = NOISY.release(blocks[30], 5, np.random.default_rng(1))
    logs = np.array([NOISY.log_density(outputs, block) for block in blocks])
    for run, noisy in enumerate(outputs.values):
        block = decode(NOISY, noisy, n_people=2).block
        assert NOISY.log_density(outputs, block)[run] == pytest.approx(logs[:, run].max())


def test_decoding_checks_the_number_of_counts_and_the_time_limit():
    with pytest.raises(ParameterError, match="noisy must be 4 counts"):
        decode(NOISY, [1, 2], n_people=2)
    with pytest.raises(AttackError, match="no block was found within 1e-09 seconds"):
        decode(NOISY, [1, 2, 0, 1], n_people=2, seconds=1e-9)


def rate(mechanism, secret, n, **options):
    """Share of right guesses, n runs on each candidate."""
    rng = np.random.default_rng(5)
    guesser = TablesReconstructor(**options).fit(SecretTarget(mechanism, secret), rng)
    runs = [guesser.guess(mechanism.release(one, n, rng)) == i for i, one in enumerate(secret.candidates)]
    return float(np.mean(runs))


def test_exact_tables_reveal_the_drawn_person():
    exact = SwappedTables(NOISY.tables, share=0.0)
    assert rate(exact, SECRET, 2) == 1.0


def test_exact_tables_reveal_a_person_without_background_knowledge():
    """Two people in block A, one of whom is unknown: the tables of the block reveal both."""
    tables = TableSet(SMALL, rows_of([group(block="A"), group(sex="female", block="A")]))
    alone = OneOf.in_record(PEOPLE[1:], 0, CANDIDATES)
    assert rate(SwappedTables(tables, share=0.0), alone, 2, others_known=False) == 1.0


def test_success_under_noise_is_optimal_and_below_the_ceiling():
    """The guess with the largest probability of the output: worked out by sums over all outputs."""
    a = math.exp(-2.0 / NOISY.sensitivity)
    z = np.arange(-60, 61)
    law = (1 - a) / (1 + a) * a ** np.abs(z)
    two = OneOf.in_record(PEOPLE, 1, [(21, 0, 0), (21, 1, 0)])  # they differ in one count, by 1
    exact = np.maximum(law[1:], law[:-1]).sum() / 2 + (law[0] + law[-1]) / 4
    n = 20_000
    seen = rate(NOISY, two, n)
    assert abs(seen - exact) < stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(0.25 / (2 * n))
    assert rate(NOISY, SECRET, n) < math.exp(2.0) / (math.exp(2.0) + 3)


def test_the_discriminant_beats_the_nearest_tables_under_swapping():
    rng = np.random.default_rng(0)
    n = 30
    block = np.column_stack([rng.integers(20, 24, n), rng.integers(0, 2, n), np.arange(n) % 2])
    secret = OneOf.in_record(block, 0, CANDIDATES)
    groups = [group(sex=sex, block="A", ages=age) for sex in ("female", "male") for age in range(20, 24)]
    tables = TableSet(
        SMALL, tuple(map(GroupCount, [*groups, group(sex="female", block="A"), group(block="A", ages=23)]))
    )
    swapped = SwappedTables(tables, share=0.3)
    learned = rate(swapped, secret, 2000)
    outputs = [swapped.release(one, 2000, rng).values for one in secret.candidates]
    exact = [tables.of(one[None])[0] for one in secret.candidates]
    nearest = [
        np.abs(seen[:, None] - np.array(exact)).sum(axis=2).argmin(axis=1) == i for i, seen in enumerate(outputs)
    ]
    assert 0.25 < learned < 1.0
    assert learned > np.mean(nearest) - 0.02


def test_background_knowledge_never_reduces_success_under_noise():
    unknown, known = rate(NOISY, SECRET, 12, others_known=False), rate(NOISY, SECRET, 2000)
    assert unknown <= known + stats.norm.isf(FALSE_ALARM) * math.sqrt(0.25 / 48)


def test_other_secrets_and_mechanisms_are_refused():
    with pytest.raises(AttackError, match="needs noisy-tables or swapped-tables, but the mechanism is Laplace"):
        TablesReconstructor().fit(SecretTarget(Laplace(1.0), SECRET), np.random.default_rng(0))
    with pytest.raises(AttackError, match="candidates for a known record, but the secret is FairBits"):
        TablesReconstructor().fit(SecretTarget(NOISY, FairBits(PEOPLE, PEOPLE[::-1])), np.random.default_rng(0))


def test_the_expected_block_has_the_most_expected_matches():
    """Every list of three people in a world of eight types, over all blocks of three and their probabilities."""
    domain = CensusDomain({"sex": ("female", "male")}, ages=(30, 31))
    law = np.array([0.55, 0.2, 0.15, 0.1])
    blocks = every_block(domain, 3)
    weights = np.array([stats.multinomial.pmf(domain.histogram(block), 3, law) for block in blocks])
    assert weights.sum() == pytest.approx(1.0)
    result = [np.sum(weights * [matched(domain, b, guess).sum() for b in blocks]) for guess in blocks]
    assert np.sum(weights * [matched(domain, b, expected_block(domain, law, 3)).sum() for b in blocks]) == max(result)
    with pytest.raises(ParameterError, match="population must be 4 probabilities"):
        expected_block(domain, [0.5, 0.5], 3)


def test_people_found_in_tables_are_compared_with_the_baselines():
    domain = CensusDomain({"sex": ("female", "male")}, ages=(20, 50))
    block = domain.people([(21, "female"), (33, "female"), (50, "male")])
    result = identify_people(
        TableSet(domain, rows_of([Group(), group(sex="female")])),
        block,
        np.full(domain.n_types, 1 / domain.n_types),
        without_person=True,
    )
    assert result.finished
    assert result.certain.tolist() == result.likely.tolist() == [True, True, True]
    assert result.without_release.tolist() == [True, False, False]  # of equal types the list has the first: 20, 21, 22
    assert not result.without_person.any()
