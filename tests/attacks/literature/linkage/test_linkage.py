"""Linkage: registers, sparse ratings, groups of k-anonymous tables, and noisy tables beside them."""

import math

import numpy as np
import pandas as pd
import pytest

from dpassay.attacks.literature.linkage import (
    BackgroundKnowledge,
    Ratings,
    ScoreboardRH,
    beliefs_from_counts,
    beliefs_from_groups,
    expected_unique_share,
    link,
    link_people,
    pigeonhole_share,
    prior_beliefs,
    unique_share,
)
from dpassay.experiments.data.people import age_shares, people, place_sizes, ratings
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.synthetic_data.anonymity import GeneralizedCells, global_recoding, mondrian

TRIPLE = ["zip", "born", "sex"]
BANDS = np.array([0, 12, 19, 25, 35, 45, 55, 65, 100])
"""Of ages, as in Sweeney (2000)."""
BIRTHS = np.repeat(age_shares() / 730, 730)
"""Probabilities of birth date and sex."""


@pytest.fixture(scope="module")
def equal():
    """A population in places of average size, all alike."""
    return people(n=84_650, spread=0.0, seed=1)


@pytest.fixture(scope="module")
def skewed():
    """A population in places of sizes that differ as those of ZIP codes do."""
    return people(n=169_300, seed=1)


def unique_by_hand(table, columns):
    rows = list(zip(*(table[column] for column in columns), strict=True))
    counts = {}
    for row in rows:
        counts[row] = counts.get(row, 0) + 1
    return sum(counts[row] == 1 for row in rows) / len(rows)


class TestUniqueness:
    def test_published_87_percent_are_reproduced(self, equal):
        # Sweeney (2000): 87.1 % of Americans live where ZIP code, birth date and sex may tell all apart
        assert unique_share(equal, TRIPLE) == pytest.approx(0.86, abs=0.01)
        sizes, possible = place_sizes(29_343), np.diff(BANDS) * 730
        bands = np.add.reduceat(age_shares(), BANDS[:-1])
        fits = np.multiply.outer(sizes, bands) <= possible
        assert (sizes / sizes.sum()) @ fits @ bands == pytest.approx(0.871, abs=0.002)

    def test_pigeonholes_are_counted_as_a_loop_counts(self, skewed):
        table = skewed[:3_000].assign(band=lambda t: np.digitize(t["age"], BANDS))
        groups = list(zip(table["zip"], table["band"], strict=True))
        limits = np.where(table["band"] > 3, 20, 40)
        expected = np.mean([groups.count(group) <= limit for group, limit in zip(groups, limits, strict=True)])
        assert pigeonhole_share(table, ["zip", "band"], limits) == pytest.approx(expected)
        assert 0.0 < expected < 1.0

    def test_fewer_people_are_unique_in_places_of_unequal_size(self, skewed):
        # Golle (2006) counts 61 % for 1990
        assert expected_unique_share(place_sizes(29_343), BIRTHS) == pytest.approx(0.689, abs=0.002)
        assert unique_share(skewed, TRIPLE) == pytest.approx(expected_unique_share(place_sizes(20), BIRTHS), abs=0.01)

    def test_the_formula_is_the_mean_over_simulated_places(self, equal):
        # a share of 84,650 people; 5 standard deviations of the multinomial are below 0.007
        assert unique_share(equal, TRIPLE) == pytest.approx(expected_unique_share([8465] * 10, BIRTHS), abs=0.007)
        assert expected_unique_share([1, 1], [0.5, 0.5]) == 1.0
        assert expected_unique_share([2], [0.5, 0.5]) == pytest.approx(0.5)
        assert expected_unique_share([5], [1.0]) == 0.0

    def test_coarser_values_make_fewer_people_unique(self, equal):
        year, region = equal["born"].dt.year, equal["zip"] // 10
        table = equal.assign(year=year, region=region)
        ladder = [TRIPLE, ["region", "born", "sex"], ["region", "year", "sex"]]
        shares = [unique_share(table, columns) for columns in ladder]
        assert shares[0] > 0.85 > 0.3 > shares[1] > shares[2]
        assert shares[2] < 0.001

    def test_shares_are_those_of_a_loop(self):
        table = people(n=300, seed=3)
        for columns in (["age"], ["zip", "age", "sex"], TRIPLE):
            assert unique_share(table, columns) == pytest.approx(unique_by_hand(table, columns))


class TestRegisters:
    def test_links_are_those_of_a_loop_and_correct_if_complete(self):
        register = people(n=4_000, seed=2)
        who = np.random.default_rng(0).permutation(4_000)[:300]
        visits = register.iloc[who][[*TRIPLE, "illness"]].reset_index(drop=True)
        links = link(visits, register, TRIPLE)
        key = {
            name: list(zip(*(table[c] for c in TRIPLE), strict=True))
            for name, table in (("v", visits), ("r", register))
        }
        for i, row in enumerate(key["v"]):
            alike = [j for j, other in enumerate(key["r"]) if other == row]
            assert links.n_matching[i] == len(alike)
            assert links.match[i] == (alike[0] if len(alike) == 1 else -1)
        assert links.correct(who).sum() == (links.match >= 0).sum()
        assert links.linked_share > 0.85
        assert links.guessing_share > links.linked_share
        assert link(visits, register, ["zip"]).guessing_share < 0.001

    def test_false_links_of_an_incomplete_register_are_counted(self):
        population_ = people(n=6_000, seed=4)
        rng = np.random.default_rng(1)
        listed = np.sort(rng.permutation(6_000)[:1_500])
        who = rng.permutation(6_000)[:400]
        place = np.full(6_000, -1)
        place[listed] = np.arange(1_500)
        links = link(population_.iloc[who], population_.iloc[listed], TRIPLE)
        right, named = links.correct(place[who]), links.match >= 0
        assert 0 < right.sum() < named.sum()
        assert not right[place[who] < 0].any()

    @pytest.mark.parametrize(
        ("make", "argument", "message"),
        [
            (lambda t: unique_share(t, ["zip", "height"]), "columns", "lacks 'height'"),
            (lambda t: unique_share(t, []), "columns", "at least one column"),
            (lambda t: unique_share(t[:0], ["zip"]), "table", "is empty"),
            (lambda t: unique_share(t.assign(zip=math.nan), ["zip"]), "columns", "missing values"),
            (lambda t: link(t, t.assign(zip=t["zip"] + 50_000), ["zip"]), "on", "overlap"),
            (lambda t: link(t, t.drop(columns="sex"), ["zip", "sex"]), "on", "lacks 'sex'"),
            (lambda t: expected_unique_share([], [1.0]), "sizes", "sizes"),
            (lambda t: expected_unique_share([3], [0.2]), "probabilities", "sum to 1"),
        ],
    )
    def test_invalid_input_is_refused(self, make, argument, message):
        with pytest.raises(ParameterError, match=message) as caught:
            make(people(n=20))
        assert caught.value.argument == argument


FILMS = ratings(n=600, n_items=600, mean=30.0, seed=3)


class TestRatings:
    def test_scores_are_those_of_the_formula(self):
        attack, published = ScoreboardRH(), Ratings.of(FILMS)
        known = BackgroundKnowledge(4, n_wrong=1).of(FILMS, 17, np.random.default_rng(0))
        scores = attack.scores(published, known)
        support = FILMS.groupby("item").size()
        for person in (17, 3, 88):
            own = FILMS[FILMS["person"] == person].set_index("item")
            expected = sum(
                (
                    math.exp(-abs(row.stars - own.stars[row.item]) / 1.5)
                    + math.exp(-abs(row.day - own.day[row.item]) / 30)
                )
                / math.log(max(2, support[row.item]))
                for row in known.itertuples()
                if row.item in own.index
            )
            assert scores[person] == pytest.approx(expected)
        match, ordered = attack.match(published, known), np.sort(scores)
        assert match.gap == pytest.approx((ordered[-1] - ordered[-2]) / scores.std())

    def test_a_few_dated_ratings_identify_nearly_all_people(self):
        rng = np.random.default_rng(0)
        who = rng.permutation(600)[:60]
        one, two, eight, noisy, undated = (
            link_people(FILMS, who, ScoreboardRH(), knowledge, rng)
            for knowledge in (
                *(BackgroundKnowledge(n_known) for n_known in (1, 2, 8)),
                BackgroundKnowledge(8, n_wrong=2, stars=1),
                BackgroundKnowledge(2, days=None),
            )
        )
        assert one.correct.mean() < two.correct.mean() <= eight.correct.mean()
        assert undated.correct.mean() < two.correct.mean()
        # of 60 at a true rate of 0.8 or less, 57 or more have probability 2e-4; seeds are fixed
        assert eight.correct.sum() >= 57
        assert noisy.correct.sum() >= 55
        assert eight.wrong.sum() == 0

    def test_a_gap_chosen_on_others_keeps_false_matches_rare(self):
        rng = np.random.default_rng(5)
        order = rng.permutation(600)
        first, second = (
            link_people(FILMS, who, ScoreboardRH(), BackgroundKnowledge(8), rng)
            for who in (order[:100], order[100:200])
        )
        assert second.false.mean() > 0.05
        strict = second.at(first.gap_for(0.02))
        assert strict.false.mean() <= 0.12  # at a true rate of 0.04, twice what is asked: probability 1e-3
        assert strict.correct.mean() > 0.9
        assert first.at(first.gap_for(0.0)).false.sum() == 0

    def test_equal_records_are_not_matched(self):
        alike = pd.DataFrame({"person": [1, 2, 3], "item": 7, "stars": 4, "day": 10})
        match = ScoreboardRH(gap=0.0).match(Ratings.of(alike), alike.loc[:0, ["item", "stars", "day"]])
        assert match.person is None
        assert match.gap == 0.0

    def test_without_a_person_the_other_ratings_stay(self):
        without, rest = Ratings.of(FILMS).without(5), Ratings.of(FILMS[FILMS["person"] != 5])
        assert without.support.sum() == rest.support.sum() == (FILMS["person"] != 5).sum()
        known = BackgroundKnowledge(3).of(FILMS, 9, np.random.default_rng(1))
        scores = ScoreboardRH().scores(without, known)
        np.testing.assert_allclose(np.delete(scores, 5), ScoreboardRH().scores(rest, known))
        assert scores[5] == 0.0

    @pytest.mark.parametrize(
        ("make", "argument"),
        [
            (lambda: BackgroundKnowledge(1).of(FILMS, "nobody", np.random.default_rng(0)), "person"),
            (lambda: Ratings.of(FILMS.drop(columns="day")), "ratings"),
            (
                lambda: link_people(FILMS, [], ScoreboardRH(), BackgroundKnowledge(1), np.random.default_rng(0)),
                "people",
            ),
            (
                lambda: ScoreboardRH().match(
                    Ratings.of(FILMS), pd.DataFrame({"item": [10**6], "stars": [1], "day": [1]})
                ),
                "known",
            ),
        ],
    )
    def test_invalid_input_is_refused(self, make, argument):
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.argument == argument


HOSPITAL = pd.DataFrame(
    {
        "name": ["Ruth", "Rebecca", "Rose", "Dora", "Ted", "Tim", "Tom", "Abe"],
        "age": [51, 55, 34, 38, 33, 35, 62, 67],
        "male": [0, 0, 0, 0, 1, 1, 1, 1],
        "illness": ["asthma", "ulcer", "flu", "migraine", "HIV", "HIV", "cancer", "flu"],
    }
)
DECADES = {"age": [30, 40, 50, 60, 70], "male": [0, 1, 2]}


class TestGroups:
    def test_a_group_with_two_illnesses_leaves_two(self):
        table = global_recoding(HOSPITAL, DECADES, "illness")
        rebecca = HOSPITAL[HOSPITAL["name"] == "Rebecca"]
        after = beliefs_from_groups([table], rebecca, prior_beliefs(HOSPITAL, "illness", rebecca))
        assert table.k == 2
        assert {after.values[i] for i in np.flatnonzero(after.possible[0])} == {"asthma", "ulcer"}
        assert not after.certain[0]

    def test_a_group_with_one_illness_reveals_it(self):
        table = global_recoding(HOSPITAL, DECADES, "illness")
        assert (table.k, table.diversity, table.constant_groups.sum(), table.constant_share) == (2, 1, 1, 0.25)
        men = HOSPITAL[HOSPITAL["name"].isin(["Ted", "Tim"])]
        after = beliefs_from_groups([table], men, prior_beliefs(HOSPITAL, "illness", men))
        assert after.certain.all()
        assert list(after.guess) == ["HIV", "HIV"]

    def test_a_second_table_leaves_the_illness_that_both_have_in_common(self):
        other = HOSPITAL.assign(illness=["flu", "ulcer", "flu", "HIV", "HIV", "flu", "flu", "flu"])
        two = [global_recoding(HOSPITAL, DECADES, "illness"), global_recoding(other, DECADES, "illness")]
        rebecca = HOSPITAL[HOSPITAL["name"] == "Rebecca"]
        after = beliefs_from_groups(two, rebecca, prior_beliefs(HOSPITAL, "illness", rebecca))
        assert after.certain[0]
        assert after.guess[0] == "ulcer"

    def test_beliefs_follow_bayes_rule(self):
        table = global_recoding(HOSPITAL, DECADES, "illness")
        someone = pd.DataFrame({"age": [52, 99], "male": [0, 0]})
        prior = prior_beliefs(HOSPITAL, "illness", someone)
        after = beliefs_from_groups([table], someone, prior)
        assert after.weights[0, after.values.index("asthma")] == pytest.approx(0.5)
        np.testing.assert_array_equal(after.weights[1], prior.weights[1])
        assert after.possible[1].all()

    def test_prior_beliefs_come_from_matching_people(self):
        men = pd.DataFrame({"age": [1], "male": [1]})
        women = pd.DataFrame({"age": [1], "male": [0]})
        of = {name: prior_beliefs(HOSPITAL, "illness", one, ["male"]) for name, one in (("m", men), ("w", women))}
        hiv = of["m"].values.index("HIV")
        assert (
            of["m"].weights[0, hiv] > prior_beliefs(HOSPITAL, "illness", men).weights[0, hiv] > of["w"].weights[0, hiv]
        )
        assert of["w"].weights.sum() == pytest.approx(1.0)

    @pytest.mark.parametrize("epsilon", [0.5, 2.0])
    def test_known_others_give_the_exact_likelihood_within_epsilon(self, epsilon):
        cells = GeneralizedCells(DECADES, "illness", tuple(sorted(set(HOSPITAL["illness"]))))
        mechanism, one = cells.mechanism(epsilon), HOSPITAL.iloc[[1]]
        outputs = mechanism.release(cells.records(HOSPITAL), 1, np.random.default_rng(0))
        prior = prior_beliefs(HOSPITAL, "illness", one)
        candidates = [
            HOSPITAL.assign(illness=[*HOSPITAL["illness"][:1], v, *HOSPITAL["illness"][2:]]) for v in prior.values
        ]
        law = np.array([mechanism.log_density(outputs, cells.records(each))[0] for each in candidates])
        without = cells.table(mechanism.answers(cells.records(HOSPITAL.drop(index=1))))
        posterior = beliefs_from_counts(
            [(cells.table(outputs.values[0]), mechanism.rate)],
            cells.cell(one),
            prior,
            others=[without[cells.cell(one)]],
        )
        expected = prior.weights[0] * np.exp(law - law.max())
        np.testing.assert_allclose(posterior.weights[0], expected / expected.sum(), rtol=1e-9)
        odds = posterior.weights[0] / prior.weights[0]
        assert odds.max() / odds.min() <= math.exp(2 * epsilon) * (1 + 1e-9)  # another value: two counts move

    @pytest.mark.parametrize(
        ("make", "argument"),
        [
            (lambda: beliefs_from_groups([], HOSPITAL, prior_beliefs(HOSPITAL, "illness", HOSPITAL)), "releases"),
            (
                lambda: beliefs_from_groups(
                    [global_recoding(HOSPITAL, DECADES, "illness")],
                    HOSPITAL.drop(columns="age"),
                    prior_beliefs(HOSPITAL, "illness", HOSPITAL),
                ),
                "people",
            ),
            (
                lambda: beliefs_from_groups(
                    [global_recoding(HOSPITAL, DECADES, "name")], HOSPITAL, prior_beliefs(HOSPITAL, "illness", HOSPITAL)
                ),
                "prior",
            ),
            (lambda: prior_beliefs(HOSPITAL, "disease", HOSPITAL), "population"),
            (lambda: beliefs_from_counts([], [0], prior_beliefs(HOSPITAL, "illness", HOSPITAL)), "releases"),
            (
                lambda: beliefs_from_counts(
                    [(np.ones((3, 2)), 1.0)], [0], prior_beliefs(HOSPITAL, "illness", HOSPITAL)
                ),
                "releases",
            ),
        ],
    )
    def test_invalid_input_is_refused(self, make, argument):
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.argument == argument


@pytest.fixture(scope="module")
def attacked():
    """150 people who are in two hospitals, and 2 x 450 others; two tables of others alone; the rest is public."""
    population = people(n=12_000, seed=5)
    population = population.assign(male=(population["sex"] == "male").astype(int), band=population["age"] // 10)
    order = np.random.default_rng(0).permutation(len(population))
    target, first, second, third, fourth, rest = (
        population.iloc[part] for part in np.split(order, [150, 600, 1050, 1650, 2250])
    )
    tables = [pd.concat([target, first]), pd.concat([target, second]), third, fourth]
    return target, tables, prior_beliefs(rest, "illness", target, ["band", "sex"])


def test_two_anonymous_tables_leak_more_than_one(attacked):
    target, tables, prior = attacked
    truth = target["illness"].to_numpy()
    published = [mondrian(table, ["zip", "age", "male"], "illness", k=4, diversity=2) for table in tables]
    assert all(table.k >= 4 and table.diversity >= 2 for table in published)
    both = beliefs_from_groups(published[:2], target, prior)
    one = beliefs_from_groups(published[:1], target, prior)
    without = beliefs_from_groups(published[2:], target, prior)
    rates = {
        name: each.correct(truth).mean() for name, each in (("2", both), ("1", one), ("0", without), ("prior", prior))
    }
    assert rates["2"] > rates["1"] + 0.08 > rates["prior"] + 0.16
    assert abs(rates["0"] - rates["prior"]) < 0.08
    expected = prior.weights.copy()
    for table in published[:2]:
        shares = table.counts / table.counts.sum(axis=1, keepdims=True)
        overall, columns = table.counts.sum(axis=0) / table.counts.sum(), [both.values.index(v) for v in table.values]
        for person, group in enumerate(table.locate(target)):
            if group >= 0:
                expected[person, columns] *= shares[group] / overall
    known = expected.sum(axis=1) > 0
    np.testing.assert_allclose(both.weights[known], (expected / expected.sum(axis=1, keepdims=True))[known])
    np.testing.assert_array_equal(both.possible[known], (expected > 0.0)[known])
    index = [both.values.index(value) for value in truth]
    assert both.possible[np.arange(150), index].all()  # the true illness is never ruled out
    assert both.correct(truth)[both.certain].all()
