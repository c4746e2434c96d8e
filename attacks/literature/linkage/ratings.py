"""Linkage of sparse records: identification of a person by a few ratings and approximate dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core.arrays import Bools, Floats, Ints
from ....mechanisms.core.constraints import NonNegative, NonNegativeInt, Options, Positive, PositiveInt
from ....mechanisms.core.errors import ParameterError
from ....mechanisms.literature.synthetic_data.anonymity.grouped_table import check_columns

if TYPE_CHECKING:
    import pandas as pd


RATING_COLUMNS = ("person", "item", "stars", "day")


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings with numbers instead of names, in the order of the items.

    Args:
        people: `(n_people,)` distinct numbers of the people.
        person: `(n_ratings,)` indices in `people`.
        items: `(n_items,)` rated items, sorted.
        starts: `(n_items + 1,)` index of the first rating of each item.
        stars, day: `(n_ratings,)` stars and day of each rating.
    """

    people: NDArray[Any]
    person: Ints
    items: NDArray[Any]
    starts: Ints
    stars: Floats
    day: Floats

    @classmethod
    def of(cls, table: pd.DataFrame) -> Ratings:
        """Return the ratings of a table with the columns person, item, stars and day.

        Raises:
            ParameterError: a column is missing or has missing values, or there are no ratings.
        """
        check_columns(table, RATING_COLUMNS, "ratings")
        people, person = np.unique(table["person"].to_numpy(), return_inverse=True)
        order = np.argsort(table["item"].to_numpy(), kind="stable")
        items, starts = np.unique(table["item"].to_numpy()[order], return_index=True)
        stars, day = (table[name].to_numpy(dtype=np.float64)[order] for name in ("stars", "day"))
        return cls(people, person[order], items, np.append(starts, len(order)), stars, day)

    @cached_property
    def support(self) -> Ints:
        """Number of people who rated each item, `(n_items,)`."""
        return np.diff(self.starts)

    def without(self, person: Any) -> Ratings:
        """Return the ratings without those of this person."""
        index = np.flatnonzero(self.people == person)
        others = self.person != (index[0] if len(index) else -1)
        starts = np.concatenate([[0], np.cumsum(others)])[self.starts]
        return Ratings(self.people, self.person[others], self.items, starts, self.stars[others], self.day[others])


@dataclass(frozen=True, eq=False)
class PersonMatch:
    """Result of the attack on one person.

    Args:
        person: the number that matches best, in `Ratings.people`; None if there is no match.
        best: that number, whether or not it is a match.
        gap: difference of the best and the second score, in standard deviations of all scores.
        scores: `(n_people,)` scores of all records.
    """

    person: Any
    best: Any
    gap: float
    scores: Floats


@dataclass(frozen=True)
class ScoreboardRH(Options):
    """Score of all records given some known ratings of a person; the best record is named if it stands out.

    With known ratings of items i, s_i stars on day t_i, the score of a record with s'_i and t'_i is

        sum over the known i in the record of  w_i (e^(-|s_i - s'_i| / stars) + e^(-|t_i - t'_i| / days)),
        w_i = 1 / ln(number of people who rated i),

    so that rare items have the largest weights. The best record is a match if it exceeds the second best by `gap`
    standard deviations of all scores (the eccentricity); otherwise there is no match, so that a person who is not in
    the data is not matched. (Narayanan and Shmatikov 2008, section 4, Scoreboard-RH, with their constants.) An item of
    a single person counts as an item of two, since ln 1 = 0.

    Args:
        stars: scale of differences in stars, > 0; their section 5 uses 1.5.
        days: scale of differences in days, > 0; they use 30.
        gap: smallest gap of a match, >= 0; they use 1.5.
        with_days: whether dates are known.

    Example:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"person": [7, 7, 8, 9], "item": [1, 2, 2, 2], "stars": [5, 1, 1, 3], "day": 0})
        >>> known = pd.DataFrame({"item": [1], "stars": [4], "day": [3]})
        >>> int(ScoreboardRH(gap=1.0).match(Ratings.of(table), known).person)
        7
    """

    _: KW_ONLY
    stars: Positive = 1.5
    days: Positive = 30.0
    gap: NonNegative = 1.5
    with_days: bool = True

    def match(self, ratings: Ratings, known: pd.DataFrame) -> PersonMatch:
        """Return the record of the person with these known ratings.

        Args:
            ratings: published ratings.
            known: item, stars and day of some ratings, which may contain errors.

        Raises:
            ParameterError: `known` is empty, a column is missing, or no known item occurs in the ratings.
        """
        scores = self.scores(ratings, known)
        second, first = np.partition(scores, -2)[-2:] if len(scores) > 1 else (0.0, scores[0])
        spread = float(scores.std())
        gap = float((first - second) / spread) if spread > 0.0 else 0.0
        best = ratings.people[int(scores.argmax())]
        return PersonMatch(best if gap >= self.gap and gap > 0.0 else None, best, gap, scores)

    def scores(self, ratings: Ratings, known: pd.DataFrame) -> Floats:
        """Return the score of each record, `(n_people,)`."""
        check_columns(known, RATING_COLUMNS[1:], "known")
        places = np.minimum(np.searchsorted(ratings.items, known["item"].to_numpy()), len(ratings.items) - 1)
        present = np.flatnonzero(ratings.items[places] == known["item"].to_numpy())
        if not len(present):
            raise ParameterError(
                f"known must have at least one rated item, but none of its {len(known)} occurs in the "
                "ratings. Check that both write the items in the same way.",
                argument="known",
            )
        stars, day = (known[name].to_numpy(dtype=np.float64) for name in ("stars", "day"))
        scores = np.zeros(len(ratings.people))
        for i in present:  # a loop over the known items, which are few; people are many
            rows = slice(ratings.starts[places[i]], ratings.starts[places[i] + 1])
            similarity = np.exp(-np.abs(ratings.stars[rows] - stars[i]) / self.stars)
            if self.with_days:
                similarity += np.exp(-np.abs(ratings.day[rows] - day[i]) / self.days)
            np.add.at(scores, ratings.person[rows], similarity / np.log(max(2, ratings.support[places[i]])))
        return scores


@dataclass(frozen=True)
class BackgroundKnowledge(Options):
    """Background knowledge of a person, made from the true record for an experiment.

    Args:
        n_known: number of known items of the person, >= 1; all if there are fewer.
        n_wrong: number of other items attributed to the person, with random ratings and dates.
        days: largest error of dates in days, uniform; None: dates are unknown.
        stars: largest error of ratings in stars.
        popular: number of most popular items that are never known; 0 excludes none.
    """

    n_known: PositiveInt = 8
    _: KW_ONLY
    n_wrong: NonNegativeInt = 0
    days: NonNegativeInt | None = 14
    stars: NonNegativeInt = 0
    popular: NonNegativeInt = 0

    def of(self, table: pd.DataFrame, person: Any, rng: np.random.Generator) -> pd.DataFrame:
        """Return the known ratings of one person: item, stars, day.

        Args:
            table: the true ratings, with the columns person, item, stars and day.
            person: a person in the table.
            rng: random generator that chooses the known ratings.

        Raises:
            ParameterError: the person has no rating that may be known.
        """
        rows = np.flatnonzero(table["person"].to_numpy() == person)
        items = table["item"].to_numpy()
        person_items = items[rows]
        if self.popular:
            popular_items = table["item"].value_counts().index[: self.popular]
            rows = rows[~np.isin(person_items, popular_items)]
        if not len(rows):
            raise ParameterError(
                f"person must be one who rated an item that may be known, but {person!r} did not.", argument="person"
            )
        known = table.iloc[rng.permutation(rows)[: self.n_known]][list(RATING_COLUMNS[1:])].copy()
        max_error = self.days or 0
        known["day"] += rng.integers(-max_error, max_error + 1, size=len(known))
        known["stars"] += rng.integers(-self.stars, self.stars + 1, size=len(known))
        return self._with_wrong(known, table, person_items, rng) if self.n_wrong else known

    def _with_wrong(
        self, known: pd.DataFrame, table: pd.DataFrame, person_items: NDArray[Any], rng: np.random.Generator
    ) -> pd.DataFrame:
        import pandas as pd

        others = np.flatnonzero(~np.isin(table["item"].to_numpy(), person_items))
        wrong = table.iloc[others[rng.integers(len(others), size=self.n_wrong)]][list(RATING_COLUMNS[1:])].copy()
        wrong["day"] = rng.integers(table["day"].min(), table["day"].max() + 1, size=len(wrong))
        return pd.concat([known, wrong], ignore_index=True)


@dataclass(frozen=True, eq=False)
class LinkageResult:
    """Results of the attack on several people, with and without their ratings in the release.

    Args:
        best_is_correct: mask `(n_people,)`: the best record is the true one.
        gap: `(n_people,)` gap of the best record; see `PersonMatch`.
        gap_without: `(n_people,)` gap without the person's ratings, where every match is false.
        least: smallest gap of a match.
    """

    best_is_correct: Bools
    gap: Floats
    gap_without: Floats
    least: float

    @property
    def correct(self) -> Bools:
        """Mask `(n_people,)` of people matched with the true record."""
        return self._matched(self.gap) & self.best_is_correct

    @property
    def wrong(self) -> Bools:
        """Mask `(n_people,)` of people matched with another record."""
        return self._matched(self.gap) & ~self.best_is_correct

    @property
    def false(self) -> Bools:
        """Mask `(n_people,)` of people matched without their ratings in the release."""
        return self._matched(self.gap_without)

    def at(self, gap: float) -> LinkageResult:
        """Return the results for another gap as the smallest gap of a match."""
        return replace(self, least=gap)

    def gap_for(self, share: float) -> float:
        """Return the smallest gap at which at most this share of people are matched when they are not in the release.

        Choose the gap on some people and use it on others: on the same people the share is a little too small.
        """
        ordered = np.sort(self.gap_without)[::-1]
        return float(np.nextafter(ordered[int(share * len(ordered))], np.inf))

    def _matched(self, gap: Floats) -> Bools:
        return np.asarray((gap >= self.least) & (gap > 0.0))


def link_people(
    table: pd.DataFrame,
    people: Sequence[Any],
    attack: ScoreboardRH,
    knowledge: BackgroundKnowledge,
    rng: np.random.Generator,
) -> LinkageResult:
    """Attack each of these people, with their ratings in the release and without.

    Args:
        table: all ratings, with the columns person, item, stars and day.
        people: people under attack: a random sample, if the shares are to represent all people.
        attack: the attack.
        knowledge: background knowledge of each person.
        rng: the only source of randomness.

    Raises:
        ParameterError: no people, or a person without a rating that may be known.
    """
    if not len(people):
        raise ParameterError("people must not be empty, but there is no person.", argument="people")
    ratings = Ratings.of(table)
    attack = attack if knowledge.days is not None else replace(attack, with_days=False)
    best_is_correct, gaps, gaps_without = (
        np.zeros(len(people), dtype=np.bool_),
        np.zeros(len(people)),
        np.zeros(len(people)),
    )
    for index, person in enumerate(people):
        known = knowledge.of(table, person, rng)
        match = attack.match(ratings, known)
        best_is_correct[index], gaps[index] = match.best == person, match.gap
        gaps_without[index] = attack.match(ratings.without(person), known).gap
    return LinkageResult(best_is_correct, gaps, gaps_without, attack.gap)
