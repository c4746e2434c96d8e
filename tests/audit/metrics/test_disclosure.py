"""Gains of disclosure: known answers, coverage where nothing is disclosed, what private releases allow."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.people import Majority
from dpassay.attacks.people.disclosure import AttributeDisclosure, Linkability, SinglingOut
from dpassay.audit.metrics import disclosure, most_gained, residual_risk
from dpassay.audit.metrics.residual_risk import of_counts
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.synthetic_data import DirectGenerator, FixedMarginals, SelectMeasureGenerate
from dpassay.mechanisms.noise.queries.domain import Domain

NAMES = [f"a{i}" for i in range(10)]
DOMAIN = Domain(dict.fromkeys(NAMES, 6))
ATTACKS = {
    "singling out": SinglingOut(DOMAIN, NAMES[:5], n_predicates=1_000, n_columns=8),
    "linkability": Linkability(DOMAIN, NAMES[:5], first=NAMES[:5], second=NAMES[5:]),
    "inference": AttributeDisclosure(DOMAIN, NAMES[:5], secret="a9"),
}


def population(n, seed):
    """Records whose attributes go together, a little."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, (n, 10)) + rng.integers(0, 3, (n, 1))


def halves(n=120):
    return population(n, 1), population(n, 2)


@pytest.mark.parametrize("name", ATTACKS)
def test_copies_disclose_nearly_all_people(name):
    people = halves()
    result = disclosure(ATTACKS[name], people, people, known=population(120, 3)).overall
    assert result.attack.value > 0.9
    assert result["without the person"].success.value < 0.35
    assert result.headline.lower > 0.4
    assert residual_risk(ATTACKS[name], people[0], *people).value > 0.9


@pytest.mark.parametrize("name", ATTACKS)
def test_tables_of_other_people_disclose_nothing(name):
    result = disclosure(ATTACKS[name], (population(120, 4), population(120, 5)), halves(), known=population(120, 3))
    assert not result.overall.significant
    assert result.overall.headline.lower < 0.0 < result.overall.headline.upper


def test_shuffled_columns_link_no_records():
    people = halves()
    rng = np.random.default_rng(0)
    shuffled = tuple(rng.permuted(half, axis=0) for half in people)
    result = disclosure(ATTACKS["linkability"], shuffled, people).overall
    assert result.attack.value < 0.05
    assert not result.significant


TWO = Domain({"seen": 2, "secret": 2, "group": 8})
GUESS = AttributeDisclosure(TWO, secret="secret", given=["seen"], baseline=Majority())
MIXED = np.array([[0, 0, 1], [0, 1, 2], [1, 1, 3]])
OTHERS = np.array([[0, 0, 2], [0, 1, 3], [1, 1, 4]])
ALIKE, OPPOSITE = np.array([[0, 0, 0], [1, 1, 0]]), np.array([[0, 1, 0], [1, 0, 0]])


def coins(n, rng, share=0.5):
    """The secret is what is seen, in a share of all people."""
    seen = rng.integers(0, 2, n)
    return np.column_stack([seen, np.where(rng.random(n) < share, seen, 1 - seen), rng.integers(0, 8, n)])


REPEATS = 100


def test_a_gain_is_rarely_significant_where_nothing_is_disclosed():
    """One table is right about 90 % of all people and the other about 10 %: luck, which cancels only in the swap."""
    rng, shown, known = np.random.default_rng(7), 0, coins(24, np.random.default_rng(9))
    for seed in range(REPEATS):
        people = coins(24, rng, 0.9), coins(24, rng, 0.9)
        result = disclosure(GUESS, (ALIKE, OPPOSITE), people, known=known, n_attacked=12, confidence=0.8, seed=seed)
        shown += result.overall["without the person"].gain.lower > 0
    assert shown <= stats.binom.isf(1e-6, REPEATS, 0.1)


def test_groups_with_more_people_of_one_half_do_not_gain():
    """All of the first half in a group and few of the second: the table of the first half is right about everybody."""
    rng = np.random.default_rng(0)
    people, known = (coins(200, rng, 1.0), coins(200, rng, 1.0)), coins(200, rng, 1.0)
    labels = np.zeros(200, dtype=int), np.arange(200) % 4
    result = disclosure(GUESS, (ALIKE, OPPOSITE), people, known=known, groups=labels, n_attacked=100)
    assert result.groups["0"].headline.value == 0.0
    assert result.groups["0"].n < 100
    assert result.left_out == ("1", "2", "3")


def test_the_worst_group_is_named_with_its_interval():
    """Only the rows of one group are copied."""
    people = halves(400)
    tables = [np.vstack([half[half[:, 0] == 0], population(400, 6 + k)]) for k, half in enumerate(people)]
    attack = AttributeDisclosure(DOMAIN, NAMES, secret="a9")
    result = disclosure(attack, tables, people, known=population(400, 3), groups="a0", n_attacked=200)
    name, worst = result.worst
    assert name == "a0 0"
    assert worst.headline.lower > 0.3 > result.overall.headline.value
    said = dict(result.text().facts)["worst group"]
    assert said.startswith("a0 0: gain +")
    assert [row[0] for _, row in result.text().details[0].table.rows] == list(result.groups)
    assert worst.confidence == pytest.approx(1 - 0.025 / len(result.groups))


@pytest.mark.parametrize("n_groups", [1, 4, 200])
def test_the_overall_error_does_not_depend_on_the_number_of_groups(n_groups):
    """Which is seen in the people, and goes with the gain: a half with more people of one group moves both."""
    rng = np.random.default_rng(8)
    people, known = (coins(200, rng), coins(200, rng)), coins(200, rng)
    labels = np.arange(200) % n_groups, np.arange(200) % n_groups
    result = disclosure(GUESS, (ALIKE, OPPOSITE), people, known=known, groups=labels, n_attacked=100)
    assert len(result.groups) == (n_groups if n_groups < 200 else 0)
    assert result.overall.confidence == pytest.approx(1 - 0.025)
    assert all(group.confidence == pytest.approx(1 - 0.025 / n_groups) for group in result.groups.values())


def test_a_published_interval_has_too_many_false_alarms():
    """Descriptions are no independent draws: here 16 attributes say the same, and 16 guesses are one."""
    names = [f"a{i}" for i in range(16)]
    attack, missed = SinglingOut(Domain(dict.fromkeys(names, 40)), kind="univariate"), 0
    for seed in range(REPEATS):
        rng = np.random.default_rng(seed)
        table, used, unused = (np.repeat(rng.integers(0, 40, (40, 1)), 16, axis=1) for _ in range(3))
        missed += residual_risk(attack, table, used, unused, level=0.8, seed=seed).interval[0] > 0
    assert missed > stats.binom.isf(1e-6, REPEATS, 0.1), missed


def test_risk_of_counts_is_the_published_formula():
    """Wilson's centre (70 + z^2/2) / (100 + z^2), z = 1.95996; errors propagated as in section 4 of the paper."""
    z2 = stats.norm.ppf(0.975) ** 2
    p1, p0 = (70 + z2 / 2) / (100 + z2), (40 + z2 / 2) / (100 + z2)
    result = of_counts((70, 100), (40, 100))
    assert result.value == pytest.approx((p1 - p0) / (1 - p0))
    assert result.attack[0] - result.attack[1] == pytest.approx(
        stats.binomtest(70, 100).proportion_ci(method="wilson").low
    )
    assert of_counts((10, 100), (90, 100)).value == 0.0
    assert of_counts((0, 0), (0, 0)).interval == (0.0, 1.0)
    assert result.label.startswith("no coverage: ")


@pytest.mark.parametrize("p0", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0, 30.0])
def test_what_epsilon_allows_is_what_randomised_response_reaches(epsilon, p0):
    """The test between two laws with densities of ratio e^epsilon, best at every p0 (Wasserman and Zhou 2010)."""
    share = 1.0 / (1.0 + math.exp(-epsilon))
    best = p0 / (1 - share) * share if p0 <= 1 - share else share + (p0 - 1 + share) / share * (1 - share)
    assert most_gained(epsilon, without_person=p0) == pytest.approx(best - p0, abs=1e-9)


def test_private_tables_gain_no_more_than_epsilon_allows():
    """Averaged over releases of small data: the true gain is a fraction of what is allowed, and copies exceed it."""
    domain = Domain({"a": 20, "b": 20, "c": 2})
    names = ("a", "b", "c")
    attack = AttributeDisclosure(domain, secret="c", baseline=Majority())
    selection = FixedMarginals((names,), standard_deviation=20.0, relation="replace_one")
    mechanism = SelectMeasureGenerate(domain, selection, DirectGenerator(), view="table")
    delta = 1e-3
    epsilon = mechanism.guarantee().epsilon(delta)
    gains, rng = [], np.random.default_rng(0)
    for seed in range(8):
        people = [rng.integers(domain.shape, size=(60, 3)) for _ in range(2)]
        tables = [mechanism.release(half, 1, rng).values[0] for half in people]
        known = rng.integers(domain.shape, size=(60, 3))
        result = disclosure(attack, tables, people, known=known, n_attacked=30, seed=seed).overall
        gains.append(result["without the person"].gain.value)
    allowed = most_gained(epsilon, delta=delta, without_person=0.5)
    error = np.std(gains) / math.sqrt(len(gains))
    assert np.mean(gains) - 5 * error < allowed < 0.1
    copied = disclosure(attack, people, people, known=known, n_attacked=30).overall
    assert copied["without the person"].gain.lower > allowed


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"people": (ALIKE, ALIKE[:1])}, "people"),
        ({"people": (ALIKE, ALIKE, ALIKE)}, "people"),
        ({"releases": (ALIKE,)}, "releases"),
        ({"releases": (ALIKE[:0], ALIKE)}, "people"),
        ({"people": (ALIKE + 7, ALIKE)}, "dataset"),
        ({"groups": "height"}, "attribute"),
        ({"groups": [[0, 1], [0]]}, "groups"),
        ({"releases": (ALIKE, ALIKE[::-1])}, "releases"),
        ({"people": (MIXED, MIXED[::-1])}, "people"),
        ({"releases": (OTHERS, ALIKE)}, "releases"),
        ({"known": OPPOSITE}, "known"),
        ({"known": MIXED[[2, 0, 1]]}, "known"),
        ({"confidence": 1.0}, "confidence"),
        ({"n_attacked": 0}, "n_attacked"),
    ],
)
def test_wrong_arguments_of_disclosure_are_named(change, named):
    given = {"releases": (ALIKE, OPPOSITE), "people": (MIXED, OTHERS), "known": MIXED[:1], **change}
    with pytest.raises(ParameterError) as caught:
        disclosure(GUESS, given.pop("releases"), given.pop("people"), **given)
    assert caught.value.argument == named


def test_one_table_given_twice_is_no_evidence_that_nothing_is_gained():
    """Thirty in a hundred rows are copies of people, and every gain cancels."""
    people = halves(200)
    table = np.vstack([people[0][:60], people[1][:60], population(280, 4)])
    for again in (table, table[::-1]):
        with pytest.raises(ParameterError, match="the same table twice: each is the release without the person"):
            disclosure(ATTACKS["singling out"], (table, again), people, known=population(120, 3))


def test_control_records_must_be_as_many_and_others():
    with pytest.raises(ParameterError, match="Leave some out"):
        residual_risk(GUESS, ALIKE, ALIKE, ALIKE[:1])
    with pytest.raises(ParameterError, match="equals the records of used"):
        residual_risk(GUESS, OPPOSITE, ALIKE, ALIKE[::-1])
    with pytest.raises(ParameterError, match="equals the records of released"):
        residual_risk(GUESS, OPPOSITE, ALIKE, OPPOSITE[::-1])
