"""Synthetic people: a population with places, birth dates and illnesses, and ratings with dates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from ...mechanisms.core import Floats, Ints, non_negative, positive, whole

if TYPE_CHECKING:
    import pandas as pd

YEAR = 1990
"""Year of the census that the population imitates."""
PEOPLE_PER_PLACE = 8465.0
"""People per ZIP code of the United States in 1990: 248.4 million in 29,343 places (Sweeney 2000, section 3)."""
FIVE_YEARS = (7.4, 7.3, 6.9, 7.2, 7.7, 8.6, 8.8, 8.0, 7.1, 5.5, 4.6, 4.2, 4.3, 4.1, 3.2, 2.5, 1.6)
"""Percentage of the population in each five years of age from 0 to 84, rounded; the rest is older."""
ILLNESSES = {
    "acne": (9, 0),
    "allergy": (10, 3),
    "anaemia": (4, 4),
    "arthritis": (1, 12),
    "asthma": (11, 3),
    "back pain": (8, 9),
    "bronchitis": (6, 6),
    "cancer": (1, 9),
    "cataract": (0, 8),
    "depression": (8, 4),
    "diabetes": (2, 10),
    "eczema": (7, 2),
    "fracture": (9, 4),
    "heart disease": (1, 14),
    "hepatitis": (2, 1),
    "HIV": (2, 1),
    "kidney stones": (2, 3),
    "migraine": (9, 2),
    "pneumonia": (3, 5),
    "ulcer": (5, 4),
}
"""Weights of illnesses among the young and among the old; invented."""


def age_shares() -> Floats:
    """Return the share of the population at each age, `(100,)`; from 85 on each year has 4/5 of the one before."""
    younger = np.repeat(np.asarray(FIVE_YEARS) / 5.0, 5)
    older = 0.8 ** np.arange(15)
    percentages = np.concatenate([younger, older * (100.0 - younger.sum()) / older.sum()])
    return np.asarray(percentages / percentages.sum())


def place_sizes(n_places: int, *, mean: float = PEOPLE_PER_PLACE, spread: float = 1.12) -> Floats:
    """Return the expected number of people in each ZIP code, `(n_places,)`: quantiles of a lognormal distribution.

    Args:
        n_places: >= 1.
        mean: people per place.
        spread: standard deviation of the logarithm; 0 makes all places equal. At 1.12 a person lives in a place of
            about 29,000 people on average, more than three times the average size: most people live in large places.
    """
    whole(1, n_places=n_places)
    positive(mean=mean)
    non_negative(spread=spread)
    sizes = np.exp(spread * ndtri((np.arange(n_places) + 0.5) / n_places))
    return np.asarray(sizes * (mean / sizes.mean()))


def people(*, n: int = 20_000, spread: float = 1.12, seed: int = 0) -> pd.DataFrame:
    """Generate a population: name, ZIP code, date of birth, age in 1990, sex, and one of twenty illnesses each.

    Places have 8,465 people on average, as ZIP codes had in 1990, and sizes that differ as `place_sizes` says; ages are
    those of that census, birthdays uniform over the year. Illnesses depend on age and sex.
    """
    import pandas as pd

    whole(1, n=n)
    whole(0, seed=seed)
    rng = np.random.default_rng(seed)
    sizes = place_sizes(max(1, math.ceil(n / PEOPLE_PER_PLACE)), spread=spread)
    age = rng.choice(100, size=n, p=age_shares())
    sex = rng.integers(2, size=n)
    first = (np.datetime64(f"{YEAR}") - age).astype("datetime64[Y]").astype("datetime64[D]")
    born = first - rng.integers(1, 366, size=n)  # in the year before: that many birthdays have passed by 1 January
    return pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "zip": 10_000 + rng.choice(len(sizes), size=n, p=sizes / sizes.sum()),
            "born": born.astype("datetime64[s]"),
            "age": age,
            "sex": np.array(["female", "male"])[sex],
            "illness": np.array(list(ILLNESSES))[_illness(age, sex, rng)],
        }
    )


def _illness(age: Ints, sex: Ints, rng: np.random.Generator) -> Ints:
    """Draw illnesses with weights interpolated by age between young and old; some depend on sex."""
    old = np.clip((age - 15.0) / 60.0, 0.0, 1.0)[:, None]
    young_and_old = np.array(list(ILLNESSES.values()), dtype=np.float64)
    shares = (1.0 - old) * young_and_old[:, 0] + old * young_and_old[:, 1]
    shares[:, list(ILLNESSES).index("migraine")] *= np.where(sex == 0, 1.5, 0.5)
    shares[:, list(ILLNESSES).index("heart disease")] *= np.where(sex == 0, 0.7, 1.3)
    steps = np.cumsum(shares, axis=1)
    drawn = (rng.random(len(age))[:, None] * steps[:, -1:] >= steps).sum(axis=1)
    return np.asarray(np.minimum(drawn, len(ILLNESSES) - 1))


def ratings(*, n: int = 2_000, n_items: int = 2_000, mean: float = 40.0, seed: int = 0) -> pd.DataFrame:
    """Generate ratings of films: person, item, stars from 1 to 5, and the day of the rating.

    The numbers of ratings of the people are lognormal; items are drawn by Zipf's law, item i with weight 1 / (i + 10),
    each at most once per person; stars depend on the item, and days are uniform over the 2,200 of the contest of 2006.
    """
    import pandas as pd

    whole(1, n=n, n_items=n_items)
    whole(0, seed=seed)
    positive(mean=mean)
    rng = np.random.default_rng(seed)
    n_ratings = np.clip(np.rint(mean * np.exp(0.8 * rng.standard_normal(n) - 0.32)), 3, n_items).astype(np.int64)
    weight = np.log(1.0 / (np.arange(n_items) + 10.0))
    rank = np.argsort(-(weight + rng.gumbel(size=(n, n_items))), axis=1)  # a draw without replacement for each person
    person = np.repeat(np.arange(n), n_ratings)
    place = np.arange(len(person)) - np.repeat(np.cumsum(n_ratings) - n_ratings, n_ratings)
    item = rank[person, place]
    quality = 3.6 + 0.5 * rng.standard_normal(n_items)
    stars = np.clip(np.rint(quality[item] + 1.0 * rng.standard_normal(len(item))), 1, 5).astype(np.int64)
    return pd.DataFrame({"person": person, "item": item, "stars": stars, "day": rng.integers(2_200, size=len(item))})
