"""Linkage of sparse records: who is behind a number that rated these films, on about these days?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.anonymity.table import check_columns
from ...mechanisms.errors import ParameterError
from ...mechanisms.validation import non_negative, positive, whole

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

COLUMNS = ("person", "item", "stars", "day")


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings under numbers in the place of names, in the order of the items.

    Args:
        people: `(n_people,)` the numbers, distinct.
        person: `(n_ratings,)` places in `people`.
        items: `(n_items,)` the items that were rated, in order.
        starts: `(n_items + 1,)` where the ratings of each item begin.
        stars, day: `(n_ratings,)`.
    """

    people: NDArray[Any]
    person: Places
    items: NDArray[Any]
    starts: Places
    stars: Floats
    day: Floats

    @classmethod
    def of(cls, table: pd.DataFrame) -> Ratings:
        """From a table with the columns person, item, stars and day.

        Raises:
            ParameterError: a column is missing or has missing values, or there are no ratings.
        """
        check_columns(table, COLUMNS, "ratings")
        people, person = np.unique(table["person"].to_numpy(), return_inverse=True)
        order = np.argsort(table["item"].to_numpy(), kind="stable")
        items, starts = np.unique(table["item"].to_numpy()[order], return_index=True)
        stars, day = (table[name].to_numpy(dtype=np.float64)[order] for name in ("stars", "day"))
        return cls(people, person[order], items, np.append(starts, len(order)), stars, day)

    @cached_property
    def support(self) -> Places:
        """`(n_items,)` people who rated each item."""
        return np.diff(self.starts)

    def without(self, person: Any) -> Ratings:
        """What would be there, had this person rated nothing."""
        place = np.flatnonzero(self.people == person)
        keep = self.person != (place[0] if len(place) else -1)
        starts = np.concatenate([[0], np.cumsum(keep)])[self.starts]
        return Ratings(self.people, self.person[keep], self.items, starts, self.stars[keep], self.day[keep])


@dataclass(frozen=True, eq=False)
class Match:
    """What was found for one person.

    Args:
        person: the number that matches best, in `Ratings.people`; None where it does not stand out: no match.
        best: that number, whether or not it stands out.
        gap: by how many standard deviations of all scores the best one exceeds the second.
        scores: `(n_people,)` of all.
    """

    person: Any
    best: Any
    gap: float
    scores: Floats


@dataclass(frozen=True)
class ScoreboardRH:
    """Scores all records against what is known of one person, and names the best one if it stands out.

    With known ratings of items i, s_i stars on day t_i, the score of a record with s'_i and t'_i is

        sum over the known i in the record of  w_i (e^(-|s_i - s'_i| / stars) + e^(-|t_i - t'_i| / days)),
        w_i = 1 / ln(number of people who rated i),

    so that rare items tell most. The best record is a match if it exceeds the second best by `gap` standard deviations
    of all scores (the eccentricity), and else there is no match: whoever is not in the data should not be found there.
    (Narayanan and Shmatikov 2008, section 4, Scoreboard-RH, with their constants.) An item of a single person counts as
    one of two, since ln 1 = 0.

    Args:
        stars: by how many stars ratings may differ, > 0; those of their section 5 is 1.5.
        days: by how many days dates may differ, > 0; 30.
        gap: that makes a match, >= 0; 1.5.
        with_days: whether dates are known at all.

    Example:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"person": [7, 7, 8, 9], "item": [1, 2, 2, 2], "stars": [5, 1, 1, 3], "day": 0})
        >>> known = pd.DataFrame({"item": [1], "stars": [4], "day": [3]})
        >>> int(ScoreboardRH(gap=1.0).match(Ratings.of(table), known).person)
        7
    """

    _: KW_ONLY
    stars: float = 1.5
    days: float = 30.0
    gap: float = 1.5
    with_days: bool = True

    def __post_init__(self) -> None:
        positive(stars=self.stars, days=self.days)
        non_negative(gap=self.gap)

    def match(self, ratings: Ratings, known: pd.DataFrame) -> Match:
        """The record of the person of whom `known` is known.

        Args:
            ratings: what was published.
            known: item, stars and day of some ratings, not all of which need be right.

        Raises:
            ParameterError: nothing is known, a column is missing, or no known item occurs in the ratings.
        """
        scores = self.scores(ratings, known)
        second, first = np.partition(scores, -2)[-2:] if len(scores) > 1 else (0.0, scores[0])
        spread = float(scores.std())
        gap = float((first - second) / spread) if spread > 0.0 else 0.0
        best = ratings.people[int(scores.argmax())]
        return Match(best if gap >= self.gap and gap > 0.0 else None, best, gap, scores)

    def scores(self, ratings: Ratings, known: pd.DataFrame) -> Floats:
        """The score of each record, `(n_people,)`."""
        check_columns(known, COLUMNS[1:], "known")
        places = np.minimum(np.searchsorted(ratings.items, known["item"].to_numpy()), len(ratings.items) - 1)
        present = np.flatnonzero(ratings.items[places] == known["item"].to_numpy())
        if not len(present):
            raise ParameterError(
                f"known must have an item at least that somebody rated, but none of its {len(known)} occurs in the "
                "ratings. Check that both write the items in the same way.",
                argument="known",
            )
        stars, day = (known[name].to_numpy(dtype=np.float64) for name in ("stars", "day"))
        scores = np.zeros(len(ratings.people))
        for i in present:  # the few known items, not the people
            rows = slice(ratings.starts[places[i]], ratings.starts[places[i] + 1])
            alike = np.exp(-np.abs(ratings.stars[rows] - stars[i]) / self.stars)
            if self.with_days:
                alike += np.exp(-np.abs(ratings.day[rows] - day[i]) / self.days)
            np.add.at(scores, ratings.person[rows], alike / np.log(max(2, ratings.support[places[i]])))
        return scores


@dataclass(frozen=True)
class Knowledge:
    """What somebody knows of a person, made from the true record for an experiment.

    Args:
        n_known: items of the person that are known, >= 1; all of them where there are fewer.
        n_wrong: other items that are taken for items of the person, with ratings and dates at random.
        days: dates are known up to so many days, uniformly; None: not known at all.
        stars: ratings are known up to so many stars.
        popular: items among the so many most popular ones are not known; 0 excludes none.
    """

    n_known: int = 8
    _: KW_ONLY
    n_wrong: int = 0
    days: int | None = 14
    stars: int = 0
    popular: int = 0

    def __post_init__(self) -> None:
        whole(1, n_known=self.n_known)
        whole(0, n_wrong=self.n_wrong, stars=self.stars, popular=self.popular)
        if self.days is not None:
            whole(0, days=self.days)

    def of(self, table: pd.DataFrame, person: Any, rng: np.random.Generator) -> pd.DataFrame:
        """What is known of one person: item, stars, day.

        Args:
            table: the true ratings, with the columns person, item, stars and day.
            person: one of those in it.
            rng: chooses what is known.

        Raises:
            ParameterError: the person rated nothing that may be known.
        """
        rows = np.flatnonzero(table["person"].to_numpy() == person)
        items = table["item"].to_numpy()
        own = items[rows]
        if self.popular:
            most = table["item"].value_counts().index[: self.popular]
            rows = rows[~np.isin(own, most)]
        if not len(rows):
            raise ParameterError(
                f"person must be one who rated an item that may be known, but {person!r} did not.", argument="person"
            )
        known = table.iloc[rng.permutation(rows)[: self.n_known]][list(COLUMNS[1:])].copy()
        reach = self.days or 0
        known["day"] += rng.integers(-reach, reach + 1, size=len(known))
        known["stars"] += rng.integers(-self.stars, self.stars + 1, size=len(known))
        return self._with_wrong(known, table, own, rng) if self.n_wrong else known

    def _with_wrong(
        self, known: pd.DataFrame, table: pd.DataFrame, own: NDArray[Any], rng: np.random.Generator
    ) -> pd.DataFrame:
        import pandas as pd

        others = np.flatnonzero(~np.isin(table["item"].to_numpy(), own))
        wrong = table.iloc[others[rng.integers(len(others), size=self.n_wrong)]][list(COLUMNS[1:])].copy()
        wrong["day"] = rng.integers(table["day"].min(), table["day"].max() + 1, size=len(wrong))
        return pd.concat([known, wrong], ignore_index=True)


@dataclass(frozen=True, eq=False)
class Found:
    """How people were found, in their own ratings and in those of all others.

    Args:
        best_is_right: `(n_people,)` whether the best record is the true one.
        gap: `(n_people,)` by how much it stands out; see `Match`.
        gap_without: `(n_people,)` the same with the person's ratings taken out, where every match is false.
        least: the gap that makes a match.
    """

    best_is_right: NDArray[np.bool_]
    gap: Floats
    gap_without: Floats
    least: float

    @property
    def right(self) -> NDArray[np.bool_]:
        """`(n_people,)` matched, and with the true record."""
        return self._matched(self.gap) & self.best_is_right

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """`(n_people,)` matched with the record of another."""
        return self._matched(self.gap) & ~self.best_is_right

    @property
    def false(self) -> NDArray[np.bool_]:
        """`(n_people,)` matched though their ratings are not in the release."""
        return self._matched(self.gap_without)

    def at(self, gap: float) -> Found:
        """The same people, matched where the best record stands out by another gap."""
        return replace(self, least=gap)

    def gap_for(self, share: float) -> float:
        """The least gap at which at most this share of people are matched when they are not in the release.

        Fixed on some people, to be used on others: on those it was chosen with, the share looks a little too small.
        """
        ordered = np.sort(self.gap_without)[::-1]
        return float(np.nextafter(ordered[int(share * len(ordered))], np.inf))

    def _matched(self, gap: Floats) -> NDArray[np.bool_]:
        return np.asarray((gap >= self.least) & (gap > 0.0))


def find(
    table: pd.DataFrame,
    people: Sequence[Any],
    attack: ScoreboardRH,
    knowledge: Knowledge,
    rng: np.random.Generator,
) -> Found:
    """Attacks each of these people, with their ratings in the release and without.

    Args:
        table: all ratings, with the columns person, item, stars and day.
        people: whom to look for: a random sample, where the shares are to stand for all.
        attack: how.
        knowledge: what is known of each.
        rng: its only source of randomness.

    Raises:
        ParameterError: nobody to look for, or a person who rated nothing that may be known.
    """
    if not len(people):
        raise ParameterError("people must name one person at least, but are none.", argument="people")
    ratings = Ratings.of(table)
    attack = attack if knowledge.days is not None else replace(attack, with_days=False)
    right, gaps, without = np.zeros(len(people), dtype=np.bool_), np.zeros(len(people)), np.zeros(len(people))
    for place, person in enumerate(people):
        known = knowledge.of(table, person, rng)
        found = attack.match(ratings, known)
        right[place], gaps[place] = found.best == person, found.gap
        without[place] = attack.match(ratings.without(person), known).gap
    return Found(right, gaps, without, attack.gap)
